"""Clearing, in both forms: every check accepts it, in every spelling, and old reasoning goes where it may."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

import pytest
from attrs import evolve

import compactlib as cl
from compactlib.conformance.checks import judge
from compactlib.conformance.running import observe
from compactlib.model import Reasoning
from compactlib.options import Clearing
from compactlib.outcomes import Compacted, Outcome
from compactlib.protocol.context_edits import with_edits
from compactlib.store import MemoryStore
from compactlib.tokens import Memo
from compactlib.visible import effective, request_tokens

from ..scenarios import Scenario, scenario, seeded
from ..spellings import SPELLINGS

CASES: Final = 60
"""Scenarios of each spelling."""


def observed(made: Scenario, options: Clearing) -> tuple[Outcome, set[str]]:
    """The outcome of clearing alone, and what is wrong with it."""
    store = MemoryStore()

    def compact(subject: cl.Conversation, policy: cl.Policy, **more: Any) -> Outcome:
        return cl.compact(subject, evolve(policy, clearing=options), **{**more, "rungs": ("clear",), "store": store})

    record, outcome = observe(
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
    return outcome, {str(finding) for finding in judge(record) if finding.verdict == "broken"}


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


def test_every_check_accepts_what_the_provider_is_asked_to_hide() -> None:
    """The messages are as they were, and a request with the edits breaks no rule that the input did not break."""
    met: Counter[str] = Counter()
    options = Clearing(form="edit", keep=1, clear_tool_inputs=True, thinking_keep_turns=1)
    for number in range(4 * CASES):
        made = drawn("anthropic", number)
        if made is None:
            continue
        made = evolve(made, conversation=of_model(made.conversation, "claude-opus-4-6"))
        outcome, wrong = observed(made, options)

        assert wrong == set(), number
        if isinstance(outcome, Compacted):
            assert outcome.edits is not None
            assert outcome.first_changed is None
            assert outcome.conversation.messages == made.conversation.messages
            asked = with_edits(outcome.conversation, dict(outcome.edits))
            before = {(one.rule, one.index) for one in cl.check(made.conversation, mode="history")}
            assert {(one.rule, one.index) for one in cl.check(asked, mode="history")} <= before
            met.update({unit["what"] for unit in outcome.report["edits"]["hidden"]})
            if asked.envelope.fields is not None:
                assert thoughts(effective(asked, counter=made.policy.counter)) <= thoughts(made.conversation)
                met["bodies"] += 1

    assert min(met[what] for what in ("result", "arguments", "reasoning", "bodies")) >= CASES // 6


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
        subject = with_edits(of_model(made.conversation, "claude-opus-4-6"), {"edits": [edit]})
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

        assert {str(finding) for finding in judge(record) if finding.verdict == "broken"} == set(), number
        assert outcome.before_tokens == request_tokens(subject, memo) <= whole
        met["hidden"] += outcome.before_tokens < whole
        if isinstance(outcome, Compacted) and outcome.before_tokens < whole:
            cut: Any = outcome.report["cut"]
            met[cut["weights"]] += 1

    assert met["hidden"] >= CASES
    assert met["seen"] >= CASES // 6
    assert met["sent"] >= CASES // 12
