"""Named policies: rows of fields, and every law holds under every name."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any, Final

import attrs
import pytest

import compactlib as cl
from compactlib.conformance.checks import judge
from compactlib.conformance.record import Record
from compactlib.conformance.running import observe
from compactlib.errors import PolicyError
from compactlib.outcomes import Compacted, Refused
from compactlib.policies import POLICIES, describe, policy_fields
from compactlib.summaries.rendering import SummaryRequest
from compactlib.summaries.schema import SCHEMAS

from .scenarios import Scenario, scenario, seeded

EXAMPLES: Final = 150

GIVEN: Final = ("window_tokens", "counter", "profile")
"""What a scenario's own policy hands over to a named one."""


def named(name: str, made: Scenario) -> cl.Policy:
    return cl.Policy.named(name, **{field: getattr(made.policy, field) for field in GIVEN})


def run(name: str, number: int, **more: Any) -> tuple[Scenario, Record, cl.Outcome]:
    made = scenario(seeded(f"policies {name} {number}"))
    record, outcome = observe(
        cl.compact,
        made.conversation,
        named(name, made),
        **made.given,
        repeat=number % 10 == 0,
        **more,
    )
    return made, record, outcome


# --- The table -------------------------------------------------------------------------------------------------------


def test_the_names_are_those_of_the_specification() -> None:
    assert list(POLICIES) == ["structured", "anchored", "ladder", "trim", "summarise-old", "server"]


@pytest.mark.parametrize("name", POLICIES)
def test_a_row_is_fields_that_differ_from_the_defaults_and_a_reason(name: str) -> None:
    """Every field exists and changes something, but for the two halves of a trigger; the reason is one sentence."""
    row = POLICIES[name]
    plain = cl.Policy(window_tokens=200_000)
    same = {field for field, value in row.fields.items() if getattr(plain, field) == value}

    assert same <= {"schema", "trigger_of"}
    assert row.fields.keys() <= {field.name for field in attrs.fields(cl.Policy)} - set(GIVEN)
    assert re.fullmatch(r"[A-Z][^.]*\.", row.why)
    assert row.practice


@pytest.mark.parametrize("name", POLICIES)
def test_a_row_holds_no_number_of_tokens(name: str) -> None:
    """A size that is right for one window is wrong for another, so shares and counts stand there, and nothing."""
    row = POLICIES[name]
    sizes = {field: value for field, value in row.fields.items() if field.endswith("_tokens")}
    clearing = row.fields.get("clearing", cl.Clearing())

    assert sizes == {}
    assert clearing.trigger_tokens is None
    assert not clearing.clear_at_least_tokens


def test_the_sources_disagreements_are_resolved_in_more_than_one_way() -> None:
    """Trigger, rungs, tail and schema: for each there are rows that differ."""
    policies = [cl.Policy.named(name, window_tokens=200_000) for name in POLICIES]

    for field in ("trigger_of", "trigger_percent", "rungs", "tail_turns", "tail_messages", "schema", "on_overflow"):
        assert len({getattr(policy, field) for policy in policies}) > 1, field
    assert {policy.schema for policy in policies} == set(SCHEMAS)


@pytest.mark.parametrize("name", POLICIES)
def test_a_name_is_a_policy_at_every_window(name: str) -> None:
    """And the sizes are in order: overhead, summary, extras and tail below the target, below the trigger, below the budget."""
    for window in range(4_000, 2_000_000, 19_997):
        policy = cl.Policy.named(name, window_tokens=window)
        for overhead in (0, window // 20, window // 5):
            known = cl.sizes(policy, overhead_tokens=overhead)
            assert overhead + known.summary + known.extras + known.tail <= known.target < known.trigger < known.budget


# --- Asking by name --------------------------------------------------------------------------------------------------


def test_fields_that_are_given_go_before_those_of_the_name() -> None:
    policy = cl.Policy.named("anchored", window_tokens=100_000, schema="brief", tail_turns=5)

    assert (policy.schema, policy.tail_turns, policy.trigger_of, policy.trigger_percent) == ("brief", 5, "window", 80)


@pytest.mark.parametrize("given", [{"trigger_tokens": 50_000}, {"trigger_percent": 60}, {"trigger_of": "budget"}])
def test_whoever_says_when_to_start_says_all_of_it(given: dict[str, Any]) -> None:
    """A share of the table and a number of the caller's would contradict each other."""
    policy = cl.Policy.named("summarise-old", window_tokens=100_000, **given)
    plain = cl.Policy(window_tokens=100_000, **given)

    assert [getattr(policy, field) for field in ("trigger_tokens", "trigger_percent", "trigger_of")] == [
        getattr(plain, field) for field in ("trigger_tokens", "trigger_percent", "trigger_of")
    ]


def test_a_name_and_a_model_go_together() -> None:
    """`policy_fields` gives what any other way of making a policy takes."""
    policy = cl.Policy.for_model("claude-sonnet-4-5", **policy_fields("ladder"))

    assert (policy.window_tokens, policy.digest_every_turns, policy.on_overflow) == (200_000, 1, "snip")


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("Anchor", "did you mean anchored?"),
        ("summarize-old", "did you mean summarise-old?"),
        ("x" * 5_000, "there are structured, "),
        ("nope", "there are structured, "),
        ("claude", "there are structured, "),
    ],
)
def test_an_unknown_name_is_an_error_that_helps(name: str, hint: str) -> None:
    with pytest.raises(PolicyError, match=re.escape(hint)) as caught:
        cl.Policy.named(name, window_tokens=100_000)

    assert caught.value.field == "policy"
    assert len(str(caught.value)) < 250


def test_what_is_no_name_is_an_error_too() -> None:
    with pytest.raises(PolicyError, match="the name of a policy"):
        cl.Policy.named(["ladder"], window_tokens=100_000)  # type: ignore[arg-type]  # that is the mistake


def test_the_table_of_the_specification_has_a_row_for_each() -> None:
    rows = describe().splitlines()[2:]

    assert [row.split("`")[1] for row in rows] == list(POLICIES)
    assert all(row.count("|") == 5 for row in rows)


# --- Rungs as a field ------------------------------------------------------------------------------------------------


def test_rungs_of_a_policy_stand_in_the_order_of_the_ladder() -> None:
    assert cl.Policy(window_tokens=9_000, rungs=["snip", "clear"]).rungs == ("clear", "snip")


@pytest.mark.parametrize("rungs", [(), ("climb",), "snip", ("snip", 1), ([],), 5, {"snip": 1}])
def test_what_is_no_rung_is_refused(rungs: Any) -> None:
    with pytest.raises(PolicyError, match="clear, collapse, summarise, snip") as caught:
        cl.Policy(window_tokens=9_000, rungs=rungs)

    assert caught.value.field == "rungs"


def nobody(request: SummaryRequest) -> str:
    raise AssertionError("no model is to be asked")


def many(turns: int = 30) -> cl.Conversation:
    messages = [{"role": role, "content": f"{role} {n} " * 400} for n in range(turns) for role in ("user", "assistant")]
    return cl.parse(messages, dialect="anthropic")


def test_trim_asks_no_model_and_leaves_a_marker() -> None:
    outcome = cl.compact(many(), cl.Policy.named("trim", window_tokens=32_000), summarise=nobody)

    assert isinstance(outcome, Compacted)
    assert {dropped.rung for dropped in outcome.dropped} == {"snip"}
    assert re.search(r"\d+ were dropped without a summary", outcome.summary)
    assert outcome.undo().length == 60


def test_summarise_old_clears_nothing_though_there_is_a_store() -> None:
    outcome = cl.compact(many(), cl.Policy.named("summarise-old", window_tokens=32_000), store=cl.MemoryStore())

    assert isinstance(outcome, Compacted)
    assert {dropped.rung for dropped in outcome.dropped} == {"summarise"}


def test_rungs_of_a_call_go_before_those_of_its_policy() -> None:
    policy = cl.Policy.named("trim", window_tokens=32_000)
    outcome = cl.compact(many(), policy, rungs=("summarise",))

    assert isinstance(outcome, Compacted)
    assert {dropped.rung for dropped in outcome.dropped} == {"summarise"}


def test_a_policy_that_clears_needs_a_store() -> None:
    """As a call that names the rung does."""
    with pytest.raises(PolicyError, match="store"):
        cl.compact(many(), cl.Policy(window_tokens=32_000, rungs=("clear",)))


@pytest.mark.parametrize("name", POLICIES)
def test_on_overflow_only_those_policies_snip_that_say_so(name: str) -> None:
    """The summariser fails, and the provider refused the request: dropped is only what a policy allows to be dropped."""

    def broken(request: SummaryRequest) -> str:
        raise RuntimeError("out of order")

    subject = many()
    outcome = cl.compact(subject, cl.Policy.named(name, window_tokens=32_000), summarise=broken, when="overflow")

    if name in ("ladder", "trim"):
        assert isinstance(outcome, Compacted)
        assert {dropped.rung for dropped in outcome.dropped} == {"snip"}
    else:
        assert isinstance(outcome, Refused)
        assert outcome.conversation is subject


# --- The laws --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", POLICIES)
def test_every_law_holds_under_every_name(name: str) -> None:
    """Random conversations of every dialect, every fault of a summariser: no check finds anything broken."""
    outcomes: Counter[str] = Counter()
    for number in range(EXAMPLES):
        _, record, outcome = run(name, number)
        broken = [str(finding) for finding in judge(record) if finding.verdict == "broken"]
        outcomes[str(outcome.report["outcome"])] += 1

        assert broken == [], f"policies {name} {number}"
    assert outcomes["compacted"] >= EXAMPLES // 3


@pytest.mark.parametrize("name", POLICIES)
def test_with_a_store_nothing_is_lost_under_any_name(name: str) -> None:
    """Valid if it was, smaller, undone to the same object, the last prompt as it was, and every reference fetched."""
    cleared = 0
    for number in range(EXAMPLES // 2):
        made = scenario(seeded(f"policies stored {name} {number}"))
        store = cl.MemoryStore()
        subject = made.conversation
        outcome = cl.compact(
            subject,
            named(name, made),
            summarise=made.summarise,
            when=made.when,
            pins=made.pins,
            reminders=made.reminders,
            store=store,
        )
        if not isinstance(outcome, Compacted):
            assert outcome.conversation is subject
            continue
        before = {(v.rule, v.level) for v in cl.check(subject, mode="history")}
        after = {(v.rule, v.level) for v in cl.check(outcome.conversation, mode="history") if v.level == "error"}
        prompts = [subject.messages[subject.position(at)].text for at, kind in enumerate(made.kinds) if kind == "prompt"]

        assert after <= before
        assert outcome.after_tokens < outcome.before_tokens
        assert outcome.undo() is subject
        assert not prompts or any(prompts[-1] in message.text for message in outcome.conversation.messages)
        assert all(cl.fetch(store, ref) for ref in outcome.issued)
        cleared += any(dropped.rung == "clear" for dropped in outcome.dropped)

    assert (cleared > 0) == (name not in ("trim", "summarise-old"))
