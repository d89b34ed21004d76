"""Clearing, in both forms: every check accepts it, in every spelling, and old reasoning goes where it may."""

from __future__ import annotations

import os
from collections import Counter
from typing import Any, Final

import pytest
from attrs import evolve

import compactlib as cl
from compactlib.conformance.checks import judge
from compactlib.conformance.evidence import evidence
from compactlib.conformance.hiding import may_hide
from compactlib.conformance.record import Record
from compactlib.conformance.running import observe
from compactlib.model import Reasoning
from compactlib.options import Clearing
from compactlib.outcomes import Compacted, Outcome
from compactlib.store import MemoryStore
from compactlib.tokens import Memo
from compactlib.visible import effective, request_tokens, shown

from ..scenarios import Scenario, scenario, seeded
from ..spellings import SPELLINGS
from ..words import build, legal_words

CASES: Final = 60
"""Scenarios of each spelling."""
WHOLE: Final = os.environ.get("COMPACTLIB_WHOLE") == "1"


def observed(made: Scenario, options: Clearing) -> tuple[Outcome, set[str]]:
    """The outcome of clearing alone, and what is wrong with it."""
    record, outcome = recorded(made, options)
    return outcome, broken(record)


def broken(record: Record) -> set[str]:
    return {str(finding) for finding in judge(record) if finding.verdict == "broken"}


def recorded(made: Scenario, options: Clearing) -> tuple[Record, Outcome]:
    """Clearing alone, and its record."""
    store = MemoryStore()

    def compact(subject: cl.Conversation, policy: cl.Policy, **more: Any) -> Outcome:
        return cl.compact(subject, evolve(policy, clearing=options), **{**more, "rungs": ("clear",), "store": store})

    return observe(
        compact,
        made.conversation,
        evolve(made.policy, clearing=options),
        summarise=made.summarise,
        when="now",
        pins=made.pins,
        kinds=made.kinds,
        rungs=("clear",),
        store=store,
    )


def drawn(dialect: str, number: int) -> Scenario | None:
    """A scenario whose callbacks work."""
    made = scenario(seeded(f"clearing {dialect} {number}"), dialect=dialect)
    return None if made.features & {"bad-counter", "bad-reminder"} else made


def of_model(conversation: cl.Conversation, name: str) -> cl.Conversation:
    """The same conversation with a model; a bare list names none."""
    around = conversation.envelope
    fields = tuple((key, name if key == "model" else value) for key, value in around.fields or ())
    return conversation if around.fields is None else evolve(conversation, envelope=evolve(around, fields=fields))


def thoughts(conversation: cl.Conversation) -> int:
    return sum(isinstance(block, Reasoning) for message in conversation.messages for block in message.blocks)


@pytest.mark.parametrize("dialect", SPELLINGS)
def test_every_check_accepts_what_is_cleared(dialect: str) -> None:
    """Results, pictures in messages behind them, arguments, reasoning; and the counts show that there were such."""
    met: Counter[str] = Counter()
    options = Clearing(keep=1, clear_tool_inputs=True, thinking_keep_turns=1)
    for number in range(CASES):
        made = drawn(dialect, number)
        if made is None:
            continue
        outcome, wrong = observed(made, options)

        assert wrong == set(), number
        if isinstance(outcome, Compacted):
            met.update({unit["what"] for unit in outcome.report["cleared"]})

    assert met["result"] >= (CASES // 6 if dialect != "strict-template-no-tools" else 0)
    if dialect not in ("openai-responses", "strict-template-no-tools"):
        assert met["reasoning"] >= 1


ASKING: Final = (
    Clearing(form="edit", keep=1, clear_tool_inputs=True, thinking_keep_turns=1),
    Clearing(form="edit", keep=0, thinking_keep_turns=2),
    Clearing(form="edit", exclude_tools=("bash",), clear_tool_inputs=("edit",)),
)
MODELS: Final = ("claude-opus-4-6", "claude-sonnet-4-5")
"""One that keeps the thinking of old turns, and one that drops it unasked."""


def askable(number: int, *, model: str = MODELS[0]) -> Scenario | None:
    """A scenario of a provider that can be asked, by a model that is known to do so."""
    made = drawn("anthropic", number)
    return None if made is None else evolve(made, conversation=of_model(made.conversation, model))


def test_every_check_accepts_what_the_provider_is_asked_to_hide() -> None:
    """The messages are as they were, and a request with the edits breaks no rule that the input did not break."""
    met: Counter[str] = Counter()
    for number in range((6 if WHOLE else 3) * CASES):
        made = askable(number, model=MODELS[number % 2])
        if made is None:
            continue
        record, outcome = recorded(made, ASKING[number % 3])

        assert broken(record) == set(), number
        if isinstance(outcome, Compacted):
            assert outcome.edits is not None
            assert outcome.first_changed is None
            assert outcome.conversation.messages == made.conversation.messages
            asked = outcome.request
            before = {(one.rule, one.index) for one in cl.check(made.conversation, mode="history")}
            assert {(one.rule, one.index) for one in cl.check(asked, mode="history")} <= before
            told = outcome.report["edits"]["hidden"]
            assert {unit["position"] for unit in told} <= {evidence(record).before[one.at].index for one in may_hide(record)}
            met.update({unit["what"] for unit in told})
            met["pins"] += bool(made.pins)
            if asked.envelope.fields is not None:
                assert thoughts(effective(asked, counter=made.policy.counter)) <= thoughts(
                    effective(made.conversation, counter=made.policy.counter)
                )
                met["bodies"] += 1

    assert min(met[what] for what in ("result", "arguments", "reasoning", "bodies", "pins")) >= CASES // 8


def test_the_whole_ladder_keeps_every_law_where_a_provider_is_asked() -> None:
    """By itself, too: each rung at its own trigger, and the next begins with what came in."""
    met: Counter[str] = Counter()
    for number in range(2 * CASES):
        made = askable(number)
        if made is None:
            continue
        policy = evolve(made.policy, clearing=ASKING[number % 3])
        record, outcome = observe(
            cl.compact, made.conversation, policy, summarise=made.summarise, when=made.when, pins=made.pins, kinds=made.kinds,
            repeat=False,
        )  # fmt: skip

        assert broken(record) == set(), number
        if isinstance(outcome, Compacted):
            assert (outcome.edits is None) == (record.rung != "clear")
            assert outcome.undo() is made.conversation
            met["asked" if outcome.edits is not None else "summarised"] += 1
            met["failed behind it"] += outcome.report["rungs"][-1]["outcome"] != "compacted"
            low = outcome.before_tokens <= outcome.report["sizes"]["trigger"]
            met["below the trigger of a summary"] += low and made.when == "auto"

    assert met["asked"] >= CASES // 4
    assert met["summarised"] >= CASES // 12
    assert met["failed behind it"] >= CASES // 12
    assert met["below the trigger of a summary"] >= 3


def hidden(conversation: cl.Conversation, counter: Any, length: int) -> list[tuple[int, int]]:
    """Which of the first *length* messages their model sees in part, and how many blocks it sees unchanged."""
    seen = shown(conversation, counter=counter)[:length]
    return [
        (at, 0 if new is None else sum(block in old.blocks for block in new.blocks))
        for at, (old, new) in enumerate(zip(conversation.messages, seen, strict=False))
        if new is not old
    ]


def test_what_is_hidden_stays_hidden_and_nothing_more_when_the_conversation_grows() -> None:
    """Laws L7, L18: over thirty more uses; the same edits unchanged would hide what was to stay."""
    met: Counter[str] = Counter()
    more = [
        message
        for number in range(30)
        for message in (
            {"role": "user", "content": f"and number {number}?"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": f"m{number}", "name": "read", "input": {"n": number}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"m{number}", "content": "a b c d e f " * 20}]},
            {"role": "assistant", "content": "seen"},
        )
    ]
    grown = cl.parse(more, dialect="anthropic").messages
    for number in range(2 * CASES):
        made = askable(number)
        if made is None or made.conversation.envelope.fields is None or made.features & {"frontier", "broken"}:
            continue
        outcome = cl.compact(
            made.conversation, evolve(made.policy, clearing=ASKING[number % 3]), when="now", rungs=("clear",), pins=made.pins
        )
        if not isinstance(outcome, Compacted):
            continue
        count, counter = len(outcome.conversation.messages), made.policy.counter
        later = evolve(outcome.conversation, messages=(*outcome.conversation.messages, *grown))
        held = later.with_setting("context_management", outcome.edits_for(later))
        unheld = later.with_setting("context_management", dict(outcome.edits or {}))

        assert hidden(held, counter, len(later.messages)) == hidden(outcome.request, counter, count), number
        met["held"] += 1
        met["more"] += hidden(unheld, counter, count) != hidden(held, counter, count)

    assert met["held"] >= CASES // 6
    assert met["more"] >= CASES // 12


def large(text: str) -> int:
    """The words of these conversations are large, and what stands for them is not."""
    return 400 if text.startswith(("words", "output")) else (len(text) + 7) // 8


BUDGETS: Final = {
    "nothing fits": cl.Policy(window_tokens=400, reserve_tokens=0, counter=large, tail_tokens=1),
    "some fits": cl.Policy(window_tokens=2_000, reserve_tokens=0, counter=large, tail_tokens=400),
    "all fits": cl.Policy(window_tokens=20_000, reserve_tokens=0, counter=large),
}


@pytest.mark.exhaustive
def test_every_legal_word_is_asked_for_by_the_laws() -> None:
    """Up to five messages, three budgets, two policies: one of them for each word in turn, all with ``COMPACTLIB_WHOLE=1``."""
    met: Counter[str] = Counter()
    words = 0
    for word in legal_words(5, dialect="anthropic"):
        words += 1
        conversation = cl.parse({"max_tokens": 1, "messages": build(word, "anthropic")}, dialect="anthropic")
        pairs = [(name, keep) for name in BUDGETS for keep in (0, 1)]
        for name, keep in pairs if WHOLE else pairs[words % len(pairs) :][:1]:
            policy = evolve(BUDGETS[name], clearing=Clearing(form="edit", keep=keep, clear_tool_inputs=True))
            record, outcome = observe(
                cl.compact, conversation, policy, when="now", rungs=("clear",), store=MemoryStore(), repeat=False
            )
            assert broken(record) == set(), (word, name, keep)
            assert outcome.conversation.messages is conversation.messages
            met[f"{name} {outcome.report['outcome']}"] += 1
            if isinstance(outcome, Compacted):
                before = {one.rule for one in cl.check(conversation, mode="history")}
                assert {one.rule for one in cl.check(outcome.request, mode="history")} <= before
                again = cl.compact(outcome.conversation, policy, when="now", rungs=("clear",))
                assert (again.reason, again.conversation) == ("nothing-new", outcome.conversation)
                repeated = cl.compact(evolve(outcome.request, settled=0), policy, when="now", rungs=("clear",))
                assert isinstance(repeated, cl.Refused), (word, name, keep)  # nothing is left to ask for

    assert words == 781
    assert met["nothing fits compacted"] >= 10
    assert met["some fits compacted"] >= 1
    assert met["all fits refused"] >= 100
    assert met["all fits compacted"] == 0


def hiding(uses: int, keep: int) -> dict[str, Any]:
    """An edit that hides results."""
    trigger = {"type": "tool_uses", "value": uses}
    return {"type": "clear_tool_uses_20250919", "trigger": trigger, "keep": {"type": "tool_uses", "value": keep}}


HIDING: Final = (
    hiding(2, 1),
    hiding(12, 2),
    {"type": "clear_thinking_20251015", "keep": {"type": "thinking_turns", "value": 1}},
)


def test_counting_and_cutting_go_by_what_the_model_sees() -> None:
    """Every law holds where the request has edits of its own, by the sizes that its model sees."""
    met: Counter[str] = Counter()
    for number in range(4 * CASES):
        made = drawn("anthropic", number)
        if made is None or made.conversation.envelope.fields is None:
            continue
        thinks = made.conversation.setting("thinking") is not None
        edit = HIDING[number % 3] if thinks else HIDING[number % 2]
        subject = of_model(made.conversation, "claude-opus-4-6").with_setting("context_management", {"edits": [edit]})
        memo = Memo(made.policy.counter)
        whole = memo.request(subject)
        record, outcome = observe(
            cl.compact,
            subject,
            made.policy,
            summarise=made.summarise,
            when="now",
            pins=made.pins,
            reminders=made.reminders,
            kinds=made.kinds,
        )

        assert broken(record) == set(), number
        assert outcome.before_tokens == request_tokens(subject, memo) <= whole
        met["hidden"] += outcome.before_tokens < whole
        if isinstance(outcome, Compacted) and outcome.before_tokens < whole:
            cut: Any = outcome.report["cut"]
            met[cut["weights"]] += 1

    assert met["hidden"] >= CASES
    assert met["seen"] >= CASES // 6
    assert met["sent"] >= CASES // 12
