"""
Small-scope exhaustion: the compactor on every legal conversation up to a length.

The words are those of `words`: letters are relations, so that a word stands
for every conversation of its shape.  Each is compacted under three budgets
with three replies of the summariser; the short ones with every reply there is.
Nothing is drawn at random and nothing is left out, and the counts say so.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import compactlib as cl
from compactlib import asking
from compactlib import compaction as engine
from compactlib.asking import Reply, question_of
from compactlib.conformance.checks import judge
from compactlib.conformance.record import Exchange, Limits, Origin, Record
from compactlib.dialects import render
from compactlib.planning import plan
from compactlib.summaries.acceptance import Code, Summary
from compactlib.summaries.faults import CODES, FAULTS
from compactlib.summaries.rendering import SummaryRequest, render_request
from compactlib.summaries.schema import SCHEMAS
from compactlib.tasks import Task
from compactlib.tokens import Memo

from ..words import build, legal_words

MESSAGE_TOKENS = 400


def counter(text: str) -> int:
    """The words of these conversations are large; what a compaction writes is as large as it is."""
    return MESSAGE_TOKENS if text.startswith(("words", "output")) else (len(text) + 7) // 8


POLICIES = {
    "nothing fits": cl.Policy(window_tokens=1_800, reserve_tokens=0, counter=counter, schema="brief"),
    "some fits": cl.Policy(window_tokens=3_000, reserve_tokens=0, counter=counter, schema="brief"),
    "all fits": cl.Policy(window_tokens=9_000, reserve_tokens=0, counter=counter, schema="brief"),
}

GOOD = "## Goal\n(none)\n## Orders, constraints and preferences\n(none)\n## Done\n- the work so far\n## Next step\n- go on"
REPLIES: dict[str, Reply] = {
    "good": GOOD,
    "empty": "",
    "not an end": Summary(GOOD, stop="max_tokens"),
}
MORE_REPLIES: dict[str, Reply] = {
    "whitespace": " \n",
    "null": "null",
    "refusal": "I'm sorry, but I can't help with that.",
    "tool call": Summary("", tool_calls=1),
    "continuation": "I'll run the tests again.",
    "headings": "## Goal\n- something",
    "all empty": GOOD.replace("- the work so far", "(none)").replace("- go on", "(none)"),
    "too long": f"{GOOD}\n- {'and so on ' * 2_000}",
    "failed": cl.SummaryFailed("exception", "out of order"),
    "late": cl.SummaryFailed("timeout", "no reply"),
}
WHOLE = os.environ.get("COMPACTLIB_WHOLE") == "1"
EVERY = 5
"""
Up to this length every word meets every budget and reply, beyond it one of them in turn.

All with ``COMPACTLIB_WHOLE=1``, and then words of seven letters too.
"""

LAWS = ("L1", "L2", "L3", "L4", "L6", "L7", "L8", "L9", "L12", "L13", "L20")


def once(work: Callable[..., Any], same: Callable[..., object]) -> Callable[..., Any]:
    """*work*, done once as long as *same* finds nothing new in what is given."""
    last: tuple[object, Any, object] | None = None

    def done(*given: Any, **options: Any) -> Any:
        nonlocal last
        key = same(*given, **options)
        if last is None or last[0] != key:
            last = key, work(*given, **options), given  # kept, so that no other object gets its id
        return last[1]

    return done


@pytest.fixture(autouse=True)
def one_question(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is decided and asked before there is a reply depends on none: it is worked out once for all replies."""
    monkeypatch.setattr(engine, "plan", once(plan, lambda conversation, policy, *_, **__: (id(conversation), id(policy))))
    monkeypatch.setattr(engine, "question_of", once(question_of, lambda account, made: id(made)))
    monkeypatch.setattr(
        asking,
        "render_request",
        once(render_request, lambda messages, **options: (id(messages), options["budget_tokens"], options["previous"])),
    )


def kinds(word: str, dialect: str) -> tuple[Origin, ...]:
    """What the letters are; a picture that follows results, or another such picture, is a tool's."""
    found: list[Origin] = []
    for letter in word:
        if letter == "i":
            behind = found[-1] if found else None
            is_tools = dialect not in ("anthropic", "bedrock") or behind in ("result", "attachment")
            found.append("attachment" if is_tools else "prompt")
        else:
            found.append({"p": "prompt", "a": "result", "n": "result", "r": "result"}.get(letter, "model"))  # type: ignore[arg-type]  # words of the vocabulary
        if letter == "d" and dialect == "openai-responses":
            found.append("model")  # a call is an item there
    return tuple(found)


def outcome_of(
    conversation: cl.Conversation,
    policy: cl.Policy,
    reply: Reply | Callable[[SummaryRequest], Reply],
    *,
    previous: str | None = None,
) -> tuple[cl.Outcome, int]:
    """The outcome, and how often somebody was asked."""
    running = engine.compaction(conversation, policy, Task(when="now", previous=previous))
    asked = 0
    try:
        event = next(running)
        while True:
            asked += 1
            assert isinstance(event, cl.AskSummary)
            event = running.send(reply(event.request) if callable(reply) else reply)
    except StopIteration as stop:
        outcome: cl.Outcome = stop.value
        return outcome, asked


def record_of(
    word: str, dialect: str, conversation: cl.Conversation, policy: cl.Policy, outcome: cl.Compacted, *, said: str = GOOD
) -> Record:
    memo = Memo(policy.counter)
    sizes = outcome.report["sizes"]
    return Record(
        dialect=dialect,
        before=render(conversation),
        after=render(outcome.conversation),
        outcome="compacted",
        reason=outcome.reason,
        when="now",
        limits=Limits(target=sizes["target"], tail=sizes["tail"], budget=sizes["budget"], room=sizes["room"]),
        cut=outcome.cut,
        kept_prompt=outcome.kept_prompt,
        over_by_tokens=outcome.over_by_tokens,
        irreducible_tokens=outcome.irreducible_tokens,
        fits=outcome.fits,
        dangling=outcome.report["dangling"],
        facts_left=outcome.report["summary"]["anchors"]["left"],
        known_headings=tuple(section.heading for section in SCHEMAS[policy.schema].sections),
        kinds=kinds(word, dialect),
        kinds_told=False,
        sizes=tuple(map(memo.message, conversation.messages)),
        before_tokens=memo.request(conversation),
        after_tokens=memo.request(outcome.conversation),
        exchanges=(Exchange(text="", reply=said),),
    )


def tried(dialect: str, length: int, replies: dict[str, Reply]) -> Iterator[tuple[str, str, str, cl.Outcome, int]]:
    """(word, policy, reply, outcome, requests) for all there are, each judged."""
    for number, word in enumerate(legal_words(length, dialect=dialect)):
        conversation = cl.parse(build(word, dialect), dialect=dialect)
        pairs = [(name, said) for name in POLICIES for said in replies]
        if len(word) > EVERY and not WHOLE:  # one of them for each word, in turn
            pairs = pairs[number % len(pairs) :][:1]
        unasked = set()  # where no reply is wanted, none of the others is ever seen
        for name, said in pairs:
            if name in unasked:
                continue
            policy, reply = POLICIES[name], replies[said]
            outcome, asked = outcome_of(conversation, policy, reply)
            unasked.update([] if asked else [name])
            if isinstance(outcome, cl.Compacted):
                findings = judge(record_of(word, dialect, conversation, policy, outcome), laws=LAWS)
                assert [str(one) for one in findings if one.verdict == "broken"] == [], (word, name)
            else:
                assert outcome.conversation is conversation, (word, name, said)
            yield word, name, said, outcome, asked


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("dialect", "length", "count"),
    [
        *(
            [("anthropic", 7, 10_957), ("openai-chat", 7, 12_149)]
            if WHOLE
            else [("anthropic", 6, 2_926), ("openai-chat", 6, 3_194)]
        ),
        ("openai-responses", 5, 1_611),
        ("gemini", 5, 1_751),
        ("bedrock", 5, 627),
        ("mistral", 5, 618),
    ],
)
def test_every_law_holds_on_every_legal_word(dialect: str, length: int, count: int) -> None:
    """Three budgets, three replies; a good reply is taken wherever one is asked for, a bad one never."""
    words = set()
    reasons: Counter[str] = Counter()
    for word, _, said, outcome, asked in tried(dialect, length, REPLIES):
        words.add(word)
        reasons[outcome.reason] += 1
        if not asked:
            assert isinstance(outcome, cl.Refused)
        elif said == "good":
            assert isinstance(outcome, cl.Compacted) or outcome.reason == "summary-failed:not-smaller", word
        else:
            assert outcome.reason == f"summary-failed:{'empty' if said == 'empty' else 'stop'}", word

    assert len(words) == count
    assert set(reasons) == {
        "target-met", "above-target", "irreducible", "no-legal-cut", "summary-failed:empty", "summary-failed:stop",
    }  # fmt: skip


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("dialect", "length", "count"),
    [
        ("anthropic", 5, 781),
        ("openai-chat", 5, 839),
        ("openai-responses", 4, 308),
        ("gemini", 4, 292),
        ("bedrock", 4, 168),
        ("mistral", 4, 162),
    ],
)
def test_every_reply_meets_every_short_word(dialect: str, length: int, count: int) -> None:
    """Four messages or five: whatever the summariser says, the conversation is compacted by a summary or comes back as it was."""
    words = set()
    for word, _, said, outcome, asked in tried(dialect, length, MORE_REPLIES):
        words.add(word)
        code = outcome.reason.partition(":")[2]

        assert isinstance(outcome, cl.Refused)
        assert (code in {code.value for code in Code}) == bool(asked), (word, said)
        assert asked <= (2 if said == "too long" else 1), (word, said)

    assert len(words) == count


FAULT_LETTERS = 6 if WHOLE else 5
EVERY_FAULT = 6 if WHOLE else 3
"""Up to this length every word meets every fault and budget, beyond it one of them in turn."""
WITH_PREVIOUS = ("same-as-previous", "reopen")
"""Faults that need a summary to be brought up to date."""
TAKEN = ("not-smaller", "forge-section", "invent-path", "drop-anchor", "same-as-previous", "reopen")
"""Faults whose replies may be taken: made harmless, flagged, or no fault where much is replaced."""


def faulty(fault: str, said: list[str]) -> Callable[[SummaryRequest], Reply]:
    """A summariser with this fault, as the short loops around the engine ask it, and what it *said*."""

    def answer(request: SummaryRequest) -> Reply:
        try:
            reply = FAULTS[fault](request)
            said.append(reply.text if isinstance(reply, Summary) else reply)
            return reply
        except TimeoutError as error:
            return cl.SummaryFailed("timeout", str(error))
        except Exception as error:  # noqa: BLE001 - law L6: any exception is a failed reply
            return cl.SummaryFailed("exception", str(error))

    return answer


@pytest.mark.exhaustive
@pytest.mark.parametrize(("dialect", "counts"), [("anthropic", {5: 781, 6: 2_926}), ("openai-chat", {5: 839, 6: 3_194})])
def test_every_fault_meets_every_word(dialect: str, counts: dict[int, int]) -> None:
    """Every summariser with a fault, every budget: a failure by its code, or a summary that breaks no law."""
    words = 0
    reasons: dict[str, Counter[str]] = {fault: Counter() for fault in FAULTS}
    for word in legal_words(FAULT_LETTERS, dialect=dialect):
        words += 1
        plain = cl.parse(build(word, dialect), dialect=dialect)
        later = cl.parse(build(word, dialect), dialect=dialect)  # what is decided is remembered for an object
        pairs = [(policy, fault) for policy in POLICIES.values() for fault in FAULTS]
        for policy, fault in pairs if len(word) <= EVERY_FAULT else [pairs[words % len(pairs)]]:
            again = fault in WITH_PREVIOUS
            subject, previous = (later, GOOD) if again else (plain, None)
            said: list[str] = []
            outcome, asked = outcome_of(subject, policy, faulty(fault, said), previous=previous)
            if isinstance(outcome, cl.Compacted):
                assert fault in TAKEN
                if not again:
                    findings = judge(record_of(word, dialect, subject, policy, outcome, said=said[-1]), laws=LAWS)
                    assert [str(one) for one in findings if one.verdict == "broken"] == [], (word, fault)
            else:
                assert outcome.conversation is subject, (word, fault)
                assert outcome.reason.startswith("summary-failed:") == bool(asked), (word, fault)
                reasons[fault][outcome.reason] += bool(asked)

    assert words == counts[FAULT_LETTERS]
    for fault, code in CODES.items():
        failed = {reason.partition(":")[2] for reason in reasons[fault] if reasons[fault][reason]}
        wanted = {"headings" if fault == "answer" else code.value} if code is not None else set()  # nobody asked anything
        assert failed <= {*wanted, "not-smaller"} if fault in TAKEN else failed == wanted, fault
