"""Digests of turns that are over, and the conversation collapsed to them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from attrs import evolve

import compactlib as cl
from compactlib.collapsing import turn_key
from compactlib.model import Text
from compactlib.outcomes import Compacted, Refused
from compactlib.stubs import Stub, write_stub
from compactlib.summaries.head import read_earlier
from compactlib.summaries.rendering import SummaryRequest

from .test_handmade import BASES
from .test_turns import call, model, result, user

POLICY = cl.Policy(window_tokens=32_000, trigger_tokens=9_000, digest_every_turns=1)


def long(turns: int = 20, dialect: str = "anthropic") -> cl.Conversation:
    """Turns of three steps each, and a last prompt."""
    messages: list[dict[str, Any]] = []
    for turn in range(turns):
        messages.append(user(f"Task {turn}: migrate table t{turn}."))
        for step in range(3):
            messages += [model(call(f"c{turn}_{step}")), user(result(f"c{turn}_{step}", f"row {turn} {step} copied\n" * 60))]
        messages.append(model(f"Table t{turn} is done, 60 rows."))
    return cl.parse([*messages, user("And?")], dialect=dialect)


def nobody(request: SummaryRequest) -> str:
    raise AssertionError(f"nobody is to be asked, and was: {request.part}")


def test_every_turn_that_is_over_gets_one_digest() -> None:
    """The last turn is not over."""
    made = cl.digest(long(), POLICY)

    assert len(made.digests) == len(made.made) == len(made.asked) == 20
    assert made.failed == {}


def test_the_same_turn_is_never_digested_twice() -> None:
    """Also where the conversation has grown, and came back from the wire."""
    first = cl.digest(long(), POLICY)
    grown = cl.parse([*cl.render(long()), model("Yes."), user("Good.")], dialect="anthropic")
    second = cl.digest(grown, POLICY, digests=first.digests)

    assert len(second.made) == 1
    assert second.unused == ()
    assert {key: second.digests[key] for key in first.digests} == dict(first.digests)


@pytest.mark.parametrize("dialect", BASES)
def test_digest_outlives_the_clearing_of_its_turn(dialect: str) -> None:
    """Results, pictures, arguments, reasoning: whatever of it became a stub that the caller kept; nobody is asked again."""
    clearing = cl.Clearing(clear_tool_inputs=True, thinking_keep_turns=1)
    policy = evolve(POLICY, window_tokens=4_000, trigger_tokens=None, tail_tokens=100, clearing=clearing)
    made = cl.digest(BASES[dialect], policy)
    cleared = cl.compact(BASES[dialect], policy, when="now", rungs=("clear",), store=cl.MemoryStore())
    again = cl.digest(cleared.conversation, policy, digests=made.digests, summarise=nobody)

    assert isinstance(cleared, Compacted)
    whats = {unit["what"] for unit in cleared.report["cleared"]}
    assert whats >= {"result", "arguments"} | ({"reasoning"} if dialect == "anthropic" else set())
    assert (dict(again.digests), again.unused, again.failed) == (dict(made.digests), (), {})


def test_name_of_a_turn_depends_on_all_that_it_says() -> None:
    """What a tool said, what it was asked and what was said of it, also where it is a stub that stands for it."""
    ref = "5f" * 32
    stub = write_stub(Stub("result", "bash", ref, 9, 1))
    said = [
        [user("Go."), model(call("c1")), user(result("c1", "ok")), model("Done.")],
        [user("Go."), model(call("c1")), user(result("c1", "no")), model("Done.")],
        [user("Go."), model(call("c1", tool="rm")), user(result("c1", "ok")), model("Done.")],
        [user("Go."), model(call("c1")), user(result("c1", "ok")), model("Failed.")],
        [user("Go."), model(call("c1")), user(result("c1", stub)), model("Done.")],
        [user("Go."), model(call("c1")), user(result("c1", stub.replace(ref, "6f" * 32))), model("Done.")],
    ]

    assert len({turn_key(cl.parse(turn, dialect="anthropic").messages) for turn in said}) == len(said)


def test_digest_that_serves_nothing_is_named() -> None:
    """Law L24: it was paid for."""
    assert cl.digest(long(), POLICY, digests={"0" * 64: "old"}).unused == ("0" * 64,)


def test_digest_that_a_turn_collapsed_to_serves() -> None:
    """It stands in the head, in memory and on the wire, and is given no more."""
    made = cl.digest(long(), POLICY)
    collapsed = cl.compact(long(), POLICY, when="now", rungs=("collapse",), digests=made.digests)
    assert isinstance(collapsed, Compacted)
    for conversation in (collapsed.conversation, cl.parse(cl.render(collapsed.conversation), dialect="anthropic")):
        again = cl.digest(conversation, POLICY, digests={**made.digests, "0" * 64: "old"})

        assert again.unused == ("0" * 64,)
        assert len(again.digests) < len(made.digests)


@pytest.mark.parametrize(("every", "made"), [(None, 0), (1, 5), (5, 5), (6, 0)])
def test_digests_are_made_when_enough_turns_are_over(every: int | None, made: int) -> None:
    """None without a number, because they cost."""
    assert len(cl.digest(long(5), evolve(POLICY, digest_every_turns=every)).digests) == made


def test_digest_that_is_refused_is_not_there() -> None:
    """Law L6: the turn stays as it is, and the request stands in the account."""

    def answer(request: SummaryRequest) -> str:
        if "Task 3" in request.text:
            raise TimeoutError("after 60 s")
        return "## Done\n- it was migrated"

    made = cl.digest(long(6), POLICY, summarise=answer)

    assert len(made.digests) == 5
    assert list(made.failed) == [3 * 8]
    assert [asked["verdict"] for asked in made.asked].count("timeout") == 1


def test_digest_with_an_awaited_summariser() -> None:
    """The same engine."""

    async def answer(request: SummaryRequest) -> str:
        return "## Done\n- it was migrated"

    assert len(asyncio.run(cl.adigest(long(3), POLICY, summarise=answer)).digests) == 3


def collapsed(conversation: cl.Conversation, policy: cl.Policy = POLICY, **options: Any) -> Compacted:
    digests = cl.digest(conversation, policy).digests
    outcome = cl.compact(conversation, policy, digests=digests, **options)
    assert isinstance(outcome, Compacted)
    return outcome


def entries(conversation: cl.Conversation) -> list[tuple[str, str]]:
    """What stands behind the summary."""
    texts = [block.text for message in conversation.messages for block in message.blocks if isinstance(block, Text)]
    return [(entry.kind, entry.text) for text in texts for entry in read_earlier(text)]


def test_collapse_asks_nobody_and_keeps_every_prompt() -> None:
    """Law L8: each prompt as it was typed, and its digest behind it."""
    outcome = collapsed(long(), summarise=nobody)
    kept = entries(outcome.conversation)

    assert outcome.report["rung"] == "collapse"
    assert [kind for kind, _ in kept[:4]] == ["prompt", "digest", "prompt", "digest"]
    assert [text for kind, text in kept if kind == "prompt"] == [
        f"Task {turn}: migrate table t{turn}." for turn in range(len(kept) // 2)
    ]
    assert cl.check(outcome.conversation) == ()


def test_what_was_cleared_of_a_turn_makes_its_digest_no_less_true() -> None:
    """The rungs run in one go: clearing alters what a turn says, and its digest is found all the same."""
    policy = evolve(POLICY, trigger_tokens=4_000, target_tokens=2_500, tail_tokens=600)
    outcome = collapsed(long(), policy, summarise=nobody, store=cl.MemoryStore(), when="now")

    assert {part.rung for part in outcome.dropped} == {"clear", "collapse"}
    assert entries(outcome.conversation)[:2] == entries(collapsed(long(), policy, summarise=nobody).conversation)[:2]


def test_a_prompt_that_is_kept_is_not_dropped() -> None:
    """A summary behind a collapse: the prompt of the turn that is cut stands in one message with the head."""
    policy = evolve(POLICY, trigger_tokens=4_000, target_tokens=2_500, tail_tokens=600)
    steps = [(model(call(f"last{n}")), user(result(f"last{n}", "row\n" * 900))) for n in range(6)]
    conversation = cl.parse([*cl.render(long()), *(message for step in steps for message in step)], dialect="anthropic")
    outcome = collapsed(conversation, policy, when="now")

    assert [part.rung for part in outcome.dropped] == ["collapse", "summarise"]
    assert outcome.kept_prompt == 160
    assert [part for part in outcome.dropped if part.start <= 160 < part.stop] == []


def test_no_more_turns_collapse_than_have_to() -> None:
    """Oldest first, until the target is reached."""
    small = collapsed(long(8), evolve(POLICY, target_tokens=8_000, trigger_tokens=9_000), summarise=nobody)
    smaller = collapsed(long(8), evolve(POLICY, target_tokens=6_500, trigger_tokens=9_000), summarise=nobody)

    assert 0 < len(entries(small.conversation)) < len(entries(smaller.conversation))
    assert small.reason == smaller.reason == "target-met"


def test_a_turn_without_a_digest_ends_it() -> None:
    """Nothing behind it collapses, so that the order of things stays."""
    conversation = long()
    digests = dict(cl.digest(conversation, POLICY).digests)
    del digests[list(digests)[2]]
    outcome = cl.compact(conversation, POLICY, digests=digests, rungs=["collapse"])

    assert isinstance(outcome, Compacted)
    assert [kind for kind, _ in entries(outcome.conversation)] == ["prompt", "digest"] * 2


def test_without_digests_there_is_nothing_to_collapse_to() -> None:
    """And it says so."""
    outcome = cl.compact(long(), POLICY, rungs=["collapse"])

    assert isinstance(outcome, Refused)
    assert outcome.reason == "no-digest"


@pytest.mark.parametrize("dialect", ["anthropic"])
def test_digests_feed_the_next_summary_and_each_is_shown_once(dialect: str) -> None:
    """In the place of the messages that they stand for: the raw text is not shown again."""
    shown: list[str] = []

    def answer(request: SummaryRequest) -> str:
        shown.append(request.text)
        return "## Goal\n- go on\n\n## Orders\n(none)\n\n## Done\n- tables\n\n## Next step\n- the rest"

    first = collapsed(long(dialect=dialect))
    back = cl.parse(cl.render(first.conversation), dialect=dialect)
    second = cl.compact(back, POLICY, when="now", summarise=answer, rungs=["summarise"])

    assert isinstance(second, Compacted)
    assert "".join(shown).count("[digest of what followed]") == len(entries(first.conversation)) // 2
    assert "row 0 0 copied\n> row 0 0 copied" not in "".join(shown)
    assert not any(kind == "digest" for kind, _ in entries(second.conversation))


def test_collapse_goes_on_where_it_stopped() -> None:
    """A second collapse carries the first one's digests on, word for word."""
    first = collapsed(long(12), evolve(POLICY, target_tokens=8_500), rungs=["collapse"])
    grown = cl.parse(
        [*cl.render(first.conversation)[:-1], *cl.render(long(12))],
        dialect="anthropic",
    )
    second = collapsed(grown, when="now", rungs=["collapse"])

    assert entries(second.conversation)[: len(entries(first.conversation))] == entries(first.conversation)
    assert len(entries(second.conversation)) > len(entries(first.conversation))


def test_a_pin_in_the_tail_is_found_again_after_a_collapse() -> None:
    """Later rungs count messages anew; pins are the input's."""
    conversation = long()
    pin = conversation.length - 1
    outcome = collapsed(conversation, evolve(POLICY, target_tokens=2_000), pins=[pin], when="now")

    assert outcome.report["rung"] == "summarise"
    assert str(cl.render(outcome.conversation)).count("And?") == 1
