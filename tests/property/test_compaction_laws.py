"""
All laws, over random compactions.

Ten thousand plain random ones, five thousand in each dialect, from fixed
seeds: every outcome is judged by every check, and the premises are counted,
because a law that never had the chance to be broken has not been tested.
Hypothesis draws more of the same and shrinks what it finds.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import compactlib as cl
from compactlib.conformance.checks import Finding, judge
from compactlib.conformance.record import Record
from compactlib.conformance.running import observe

from ..premises import OFTEN, SELDOM, premises
from ..scenarios import LARGE, Scenario, scenario, seeded
from ..strategies import DIALECTS

EXAMPLES = 5_000
REPEATED = 10
"""Every tenth is run twice; more runs in other processes are in `test_stability_laws`."""


def run(made: Scenario, *, repeat: bool = False) -> tuple[Record, cl.Outcome]:
    return observe(
        cl.compact,
        made.conversation,
        made.policy,
        summarise=made.summarise,
        when=made.when,
        pins=made.pins,
        reminders=made.reminders,
        kinds=made.kinds,
        repeat=repeat,
    )


def broken(record: Record) -> list[Finding]:
    return [finding for finding in judge(record) if finding.verdict == "broken"]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_law_holds_for_every_outcome(dialect: str) -> None:
    """No check finds anything, no exception escapes, and every premise held often enough to mean something."""
    held: Counter[str] = Counter()
    undecided: Counter[str] = Counter()
    for number in range(EXAMPLES):
        made = scenario(seeded(f"{dialect} {number}"), dialect=dialect)
        record, outcome = run(made, repeat=number % REPEATED == 0)
        findings = judge(record)

        assert [str(finding) for finding in findings if finding.verdict == "broken"] == [], f"Random('{dialect} {number}')"
        held.update(set(premises(made, record, outcome)))
        undecided.update({finding.rule for finding in findings if finding.rule != "SAME-1" or number % REPEATED == 0})

    assert {name: held[name] for name in OFTEN if held[name] < EXAMPLES * 5 // 100} == {}
    assert {name: held[name] for name in SELDOM if held[name] < EXAMPLES // 100} == {}
    assert held["internal-invalid"] == 0
    assert {rule: count for rule, count in undecided.items() if count > EXAMPLES // 100} == {}


@given(st.randoms(use_true_random=False))
@settings(max_examples=150, suppress_health_check=LARGE)
def test_every_law_holds_for_what_hypothesis_draws(random: Any) -> None:
    """The same, with shrinking."""
    record, _ = run(scenario(random))

    assert broken(record) == []
