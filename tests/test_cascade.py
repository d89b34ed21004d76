"""The ladder: clearing first, the summary only if that is not enough, and each rung stands for itself."""

from __future__ import annotations

import re
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import compactlib as cl
from compactlib.errors import PolicyError, StoreError
from compactlib.model import Conversation
from compactlib.options import Clearing
from compactlib.outcomes import Compacted, Refused, Unchanged
from compactlib.store import MemoryStore, fetch
from compactlib.summaries.extractive import Extractive
from compactlib.summaries.rendering import SummaryRequest
from compactlib.tokens import Memo

from .scenarios import LARGE, scenario

POLICY = cl.Policy(window_tokens=16_000, reserve_tokens=4_000)


def long(steps: int, words: int = 400) -> Conversation:
    """A prompt, and steps whose outputs are all different."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Read all of it."}]
    for number in range(steps):
        call = {"type": "tool_use", "id": f"c{number}", "name": "read", "input": {"path": f"{number}.txt"}}
        text = f"part {number} " + "of the same old log " * (words // 5)
        messages.append({"role": "assistant", "content": [call]})
        messages.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"c{number}", "content": text}]})
    return cl.parse([*messages, {"role": "assistant", "content": "That was all."}], dialect="anthropic")


def nobody(request: SummaryRequest) -> str:
    raise AssertionError("no model is to be asked")


def compacted(outcome: cl.Outcome) -> Compacted:
    assert isinstance(outcome, Compacted), outcome
    return outcome


def test_where_clearing_is_enough_no_model_is_asked() -> None:
    subject = long(22)
    store = MemoryStore()
    outcome = compacted(cl.compact(subject, POLICY, summarise=nobody, store=store))

    assert (outcome.reason, outcome.cut, outcome.summary) == ("target-met", 0, "")
    assert outcome.after_tokens <= outcome.report["before_tokens"] == outcome.before_tokens
    assert {dropped.rung for dropped in outcome.dropped} == {"clear"}
    assert all(fetch(store, dropped.ref or "") for dropped in outcome.dropped)
    assert set(outcome.issued) == {dropped.ref for dropped in outcome.dropped}
    assert outcome.undo() is subject
    assert cl.check(outcome.conversation, mode="history") == ()


def test_it_starts_at_half_the_budget_and_goes_to_the_target() -> None:
    """Below, the same object comes back; above, the summary has not been due yet."""
    small, middle = long(12), long(15)
    known = cl.compact(small, POLICY, summarise=nobody, store=MemoryStore())
    assert isinstance(known, Unchanged)
    assert known.before_tokens <= 6_000

    outcome = compacted(cl.compact(middle, POLICY, summarise=nobody, store=MemoryStore()))
    assert 6_000 < outcome.before_tokens <= 9_000
    assert outcome.after_tokens <= 5_400


def test_without_a_store_nothing_is_cleared() -> None:
    assert isinstance(cl.compact(long(15), POLICY, summarise=nobody), Unchanged)


def test_where_it_is_not_enough_the_summary_follows_and_both_are_accounted_for() -> None:
    subject = long(60)
    policy = cl.Policy(window_tokens=16_000, reserve_tokens=4_000, clearing=Clearing(keep=40))
    outcome = compacted(cl.compact(subject, policy, store=MemoryStore()))

    assert {dropped.rung for dropped in outcome.dropped} == {"clear", "summarise"}
    assert outcome.before_tokens == outcome.report["before_tokens"] > 20_000
    assert outcome.cut > 0
    assert outcome.summary
    assert outcome.undo() is subject


def test_if_the_summary_fails_what_was_cleared_stays() -> None:
    """Law L6: a rung that finished is its own transition."""
    subject = long(60)
    policy = cl.Policy(window_tokens=16_000, reserve_tokens=4_000, clearing=Clearing(keep=40))

    def broken(request: SummaryRequest) -> str:
        raise OSError("no network")

    outcome = compacted(cl.compact(subject, policy, summarise=broken, store=MemoryStore()))
    assert (outcome.reason, outcome.cut) == ("above-target", 0)
    assert [(one["rung"], one["form"], one["outcome"], one["reason"]) for one in outcome.report["rungs"]] == [
        ("clear", "rewrite", "compacted", "above-target"),
        ("summarise", None, "refused", "summary-failed:exception"),
    ]
    assert outcome.over_by_tokens > 0


def test_a_store_that_fails_changes_nothing() -> None:
    class Full(MemoryStore):
        def put(self, data: bytes, name: str = "") -> str:
            raise StoreError("disk full")

    subject = long(22)
    outcome = cl.compact(subject, POLICY, summarise=nobody, store=Full())
    assert isinstance(outcome, Refused)
    assert (outcome.reason, outcome.conversation is subject) == ("store-failed", True)


def test_a_second_time_there_is_nothing_new() -> None:
    store = MemoryStore()
    outcome = compacted(cl.compact(long(22), POLICY, store=store))
    again = cl.compact(outcome.conversation, POLICY, summarise=nobody, store=store, issued=outcome.issued, when="now")

    assert isinstance(again, Unchanged)
    assert again.reason == "nothing-new"


def test_a_pin_is_not_cleared() -> None:
    subject = long(22)
    outcome = compacted(cl.compact(subject, POLICY, store=MemoryStore(), pins=[2, (4, 0)]))

    assert outcome.conversation.messages[2] is subject.messages[2]
    assert outcome.conversation.messages[4] is subject.messages[4]


@pytest.mark.parametrize(("rungs", "store"), [(["clear"], None), ([], MemoryStore()), (["melt"], MemoryStore())])
def test_impossible_rungs_are_refused(rungs: Any, store: Any) -> None:
    with pytest.raises(PolicyError):
        cl.compact(long(2), POLICY, rungs=rungs, store=store)


def test_clearing_alone_says_when_it_could_not_help() -> None:
    spoken = cl.parse(
        [{"role": "user", "content": "word " * 12_000}, {"role": "assistant", "content": "ok"}], dialect="anthropic"
    )
    outcome = cl.compact(spoken, POLICY, rungs=["clear"], store=MemoryStore())

    assert isinstance(outcome, Refused)
    assert outcome.reason == "irreducible"


@settings(suppress_health_check=LARGE, deadline=None, max_examples=100)
@given(st.randoms(use_true_random=False), st.sampled_from(["auto", "now"]))
def test_with_a_store_every_outcome_is_smaller_valid_and_true(random: Random, when: Any) -> None:
    """Laws L1, L10, L12 over the whole ladder, on conversations of every dialect."""
    made = scenario(random, fault="")
    store = MemoryStore()
    outcome = cl.compact(
        made.conversation,
        made.policy,
        when=when,
        pins=made.pins,
        reminders=made.reminders,
        store=store,
        summarise=Extractive(counter=made.policy.counter),
    )
    if not isinstance(outcome, Compacted):
        assert outcome.conversation is made.conversation
        return
    assert outcome.after_tokens < outcome.before_tokens
    assert outcome.undo() is made.conversation
    for ref, (chars, _lines) in outcome.issued.items():
        assert len(fetch(store, ref).decode("utf-8", "surrogatepass")) == chars
    before = {violation.rule for violation in cl.check(made.conversation, mode="history", profile=made.policy.profile)}
    after = cl.check(outcome.conversation, mode="history", profile=made.policy.profile)
    assert {violation.rule for violation in after if violation.level == "error"} <= before


def test_what_was_cleared_and_then_replaced_can_still_be_fetched() -> None:
    """Law L10: the section of facts leads to it, also after the next compaction."""
    store = MemoryStore()
    policy = cl.Policy(window_tokens=32_000, reserve_tokens=4_000, clearing=Clearing(keep=60))
    first = compacted(cl.compact(long(90), policy, store=store))
    refs = [dropped.ref or "" for dropped in first.dropped if dropped.rung == "clear"]

    listed = [ref for ref in refs if f": ref={ref}" in first.summary]
    [index] = re.findall(r"- and more: \d+ facts and \d+ references: ref=([0-9a-f]{64})", first.summary)
    assert listed
    assert all(ref in listed or f": ref={ref}" in fetch(store, index).decode() for ref in refs)
    assert all(fetch(store, ref) for ref in listed)

    messages = [*cl.render(first.conversation), *cl.render(long(90))]
    second = compacted(cl.compact(cl.parse(messages, dialect="anthropic"), policy, store=store, issued=first.issued))
    assert any(f": ref={ref}" in second.summary for ref in listed)


def test_what_the_provider_hides_by_itself_does_not_trigger() -> None:
    """A request with a compaction block is as large as what the model sees of it."""
    block = {"type": "compaction", "content": "All of it was read."}
    messages = [*cl.render(long(60)), {"role": "user", "content": "go on"}]
    messages += [
        {"role": "assistant", "content": [block, {"type": "text", "text": "Going on."}]},
        {"role": "user", "content": "and?"},
    ]
    subject = cl.parse({"model": "claude-sonnet-4-6", "messages": messages}, dialect="anthropic")
    outcome = cl.compact(subject, POLICY, summarise=nobody, store=MemoryStore())

    assert isinstance(outcome, Unchanged)
    assert outcome.reason == "below-trigger"
    assert outcome.before_tokens < 1_000 < 20_000 < Memo().request(subject)
