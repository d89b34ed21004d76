"""Window arithmetic: the chain of sizes, its growth, and what a policy refuses."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import compactlib as cl
from compactlib.budget import Policy, due, sizes
from compactlib.errors import PolicyError
from compactlib.options import Clearing
from compactlib.policies import POLICIES

from . import tables

OVERHEADS = (lambda window: 0, lambda window: window // 50, lambda window: window // 10, lambda window: window // 5)
WINDOWS = sorted({*range(4_000, 2_000_001, 997), *range(4_000, 60_000, 101)})


def test_the_sizes_form_a_chain_at_every_window() -> None:
    """Overhead, summary, extras and tail fit the target, which is below the trigger, which is below the budget."""
    for window in WINDOWS:
        policy = Policy(window_tokens=window)
        for overhead in (*(share(window) for share in OVERHEADS), window // 3, 12_000):
            found = sizes(policy, overhead_tokens=overhead)
            if not found.overhead_fits:
                continue

            assert found.tail > 0
            assert overhead + found.summary + found.extras + found.tail <= found.target < found.trigger < found.budget
            assert found.budget == window - found.reserve


def test_no_size_falls_when_the_window_grows() -> None:
    """With a fixed overhead every size is monotone."""
    for overhead in (0, 1_000, 12_000):
        before: tuple[int, ...] = ()
        for window in WINDOWS:
            found = sizes(Policy(window_tokens=window), overhead_tokens=overhead)
            if not found.overhead_fits:
                assert not before
                continue
            now = (found.reserve, found.budget, found.trigger, found.target, found.summary, found.extras, found.tail)

            assert not before or all(small <= large for small, large in zip(before, now, strict=True))
            before = now


@pytest.mark.parametrize(
    ("window", "overhead", "expected"),
    [
        (4_096, 0, (1_024, 3_072, 2_304, 1_382, 276, 138, 968)),
        (8_192, 768, (2_048, 6_144, 4_608, 3_072, 460, 230, 1_614)),
        (32_768, 12_000, (8_192, 24_576, 18_432, 15_859, 771, 385, 2_703)),
        (131_072, 12_000, (32_000, 99_072, 74_304, 49_382, 7_476, 3_738, 20_000)),
        (200_000, 12_000, (32_000, 168_000, 126_000, 80_400, 13_680, 6_840, 33_600)),
        (1_000_000, 12_000, (32_000, 968_000, 726_000, 440_400, 16_000, 16_000, 100_000)),
        (2_000_000, 12_000, (32_000, 1_968_000, 1_476_000, 890_400, 16_000, 16_000, 196_800)),
    ],
)
def test_known_sizes(window: int, overhead: int, expected: tuple[int, ...]) -> None:
    """The published table."""
    found = sizes(Policy(window_tokens=window), overhead_tokens=overhead)

    assert (found.reserve, found.budget, found.trigger, found.target, found.summary, found.extras, found.tail) == expected


def test_a_heavy_overhead_is_named() -> None:
    """Twelve thousand tokens of tools leave nothing of a small window."""
    assert not sizes(Policy(window_tokens=16_384), overhead_tokens=12_000).overhead_fits
    assert sizes(Policy(window_tokens=32_768), overhead_tokens=12_000).overhead_fits


def test_large_pins_shorten_the_tail_and_nothing_else() -> None:
    """What is kept anyway comes out of the tail."""
    policy = Policy(window_tokens=16_384)
    plain, pinned = (sizes(policy, overhead_tokens=0, needed_tokens=needed) for needed in (0, 2_000))

    assert (plain.target, plain.summary) == (pinned.target, pinned.summary)
    assert pinned.tail == plain.tail - (2_000 - plain.extras)


@given(st.integers(1, 10_000_000), st.integers(0, 10_000_000))
def test_any_window_and_overhead_have_sizes(window: int, overhead: int) -> None:
    """Tiny windows are arithmetic too: nothing raises and nothing but the tail is negative."""
    found = sizes(Policy(window_tokens=window), overhead_tokens=overhead)

    assert min(found.reserve, found.trigger, found.room, found.summary, found.extras, found.min_gain) >= 0
    assert found.summary <= found.room


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"window_tokens": 0}, "window_tokens"),
        ({"window_tokens": True}, "window_tokens"),
        ({"window_tokens": 1.5}, "window_tokens"),
        ({"window_tokens": 8_000, "reserve_tokens": 8_000}, "reserve_tokens"),
        ({"window_tokens": 8_000, "reserve_tokens": -1}, "reserve_tokens"),
        ({"window_tokens": 8_000, "trigger_tokens": 6_000}, "trigger_tokens"),
        ({"window_tokens": 8_000, "target_tokens": 5_000}, "target_tokens"),
        ({"window_tokens": 8_000, "tail_tokens": 4_000}, "tail_tokens"),
        ({"window_tokens": 8_000, "step_cuts": "always"}, "step_cuts"),
        ({"window_tokens": 8_000, "schema": "long"}, "schema"),
        ({"window_tokens": 8_000, "counter": None}, "counter"),
        ({"window_tokens": 8_000, "auto": 1}, "auto"),
        ({"window_tokens": 8_000, "language": 5}, "language"),
    ],
)
def test_a_policy_refuses_what_is_impossible(settings: dict[str, Any], field: str) -> None:
    """Every refusal names its field."""
    with pytest.raises(cl.PolicyError) as caught:
        Policy(**settings)

    assert caught.value.field == field


@pytest.mark.parametrize("name", [None, *POLICIES])
def test_equal_policies_are_one_key(name: str | None) -> None:
    """Whatever their headings and limits, and told apart by them all the same."""

    def made(heading: str) -> Policy:
        fields: dict[str, Any] = {"window_tokens": 64_000, "headings": {"goal": heading}}
        fields["admission"] = cl.Admission(tools={heading: cl.Limit(limit_lines=5)})
        return Policy(**fields) if name is None else Policy.named(name, **fields)

    assert len({made("Ziel"), made("Ziel")}) == 1
    assert len({made("Ziel"), made("But")}) == 2


def test_unknown_names_are_refused() -> None:
    """A misspelled field is no silent default."""
    with pytest.raises(TypeError, match="keep_tokens"):
        Policy(window_tokens=8_000, keep_tokens=5)  # type: ignore[call-arg]  # the point of the test


@pytest.mark.parametrize(
    ("settings", "field", "expected"),
    [
        ({"trigger_tokens": 4_000}, "trigger", 4_000),
        ({"target_tokens": 2_000}, "target", 2_000),
        ({"tail_tokens": 500}, "tail", 500),
        ({"reserve_tokens": 0}, "budget", 8_000),
    ],
)
def test_every_size_given_has_its_effect(settings: dict[str, Any], field: str, expected: int) -> None:
    """What is accepted is used."""
    assert getattr(sizes(Policy(window_tokens=8_000, **settings), overhead_tokens=0), field) == expected


@pytest.mark.parametrize("name", sorted(tables.TABLES))
def test_the_tables_of_the_specification_are_what_the_code_says(name: str) -> None:
    """Run ``python -m tests.tables`` after a change of the formulas, and say why in the log of changes."""
    assert tables.place(name)[1] == tables.TABLES[name][1]()


FORMS: list[dict[str, Any]] = [
    {"trigger_percent": 80},
    {"trigger_percent": 80, "trigger_of": "window"},
    {"trigger_percent": 100, "trigger_of": "window"},
    {"trigger_percent": 100},
    {"trigger_tokens": 2_000, "trigger_of": "history"},
]


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_trigger_keeps_the_chain(form: dict[str, Any]) -> None:
    """Whatever the window and the overhead, it is clamped below the budget, and above the target."""
    for window in range(4_000, 2_000_000, 9_973):
        policy = Policy(window_tokens=window, **form)
        for overhead in (0, window // 50, window // 10, window // 5):
            found = sizes(policy, overhead_tokens=overhead)
            if not found.overhead_fits:
                continue
            assert overhead + found.summary + found.extras + found.tail <= found.target < found.trigger < found.budget


def test_a_trigger_is_a_share_of_what_it_says() -> None:
    def trigger(**form: Any) -> int:
        return sizes(Policy(window_tokens=100_000, reserve_tokens=20_000, **form), overhead_tokens=3_000).trigger

    assert trigger() == 60_000
    assert trigger(trigger_percent=50) == 40_000
    assert trigger(trigger_percent=50, trigger_of="window") == 50_000
    assert trigger(trigger_tokens=30_000) == 30_000
    assert trigger(trigger_tokens=30_000, trigger_of="history") == 33_000
    assert trigger(trigger_percent=80, trigger_of="window") == 70_000, "clamped: the summary needs its room"


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"trigger_percent": 0}, "trigger_percent"),
        ({"trigger_percent": 101}, "trigger_percent"),
        ({"trigger_percent": 50, "trigger_tokens": 4_000}, "trigger_percent"),
        ({"trigger_of": "history"}, "trigger_of"),
        ({"trigger_of": "window", "trigger_tokens": 4_000}, "trigger_of"),
        ({"trigger_of": "day"}, "trigger_of"),
    ],
)
def test_a_trigger_without_sense_is_refused(fields: dict[str, Any], name: str) -> None:
    with pytest.raises(PolicyError, match=f"^{name}: "):
        Policy(window_tokens=32_000, **fields)


def test_due_is_above_the_trigger_and_not_at_it() -> None:
    policy = Policy(window_tokens=100_000)
    limit = sizes(policy, overhead_tokens=500).trigger

    assert not due(policy, tokens=limit, overhead_tokens=500)
    assert due(policy, tokens=limit + 1, overhead_tokens=500)


def test_clearing_starts_at_half_the_budget() -> None:
    assert sizes(Policy(window_tokens=100_000), overhead_tokens=0).clearing == 37_500
    assert sizes(Policy(window_tokens=100_000, clearing=Clearing(trigger_tokens=9)), overhead_tokens=0).clearing == 9
