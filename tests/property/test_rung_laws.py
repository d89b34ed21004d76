"""Collapse and snip, and the summary after them: each is a transition of its own, and the checks judge it as such."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

import pytest
from attrs import evolve

import compactlib as cl
from compactlib.conformance.checks import judge
from compactlib.conformance.running import observe
from compactlib.outcomes import Compacted, Outcome
from compactlib.tasks import Rung

from ..scenarios import Scenario, scenario, seeded
from ..spellings import SPELLINGS

CASES: Final = 60
"""Scenarios of each spelling."""


def compacted_by(
    rung: Rung, made: Scenario, conversation: cl.Conversation, *, is_second: bool = False
) -> tuple[Outcome, set[str]]:
    """The outcome of one rung, and the laws that it breaks."""
    digests: dict[str, str] = {}

    def compact(subject: cl.Conversation, policy: cl.Policy, **options: Any) -> Outcome:
        if rung == "collapse":
            digests.update(cl.digest(subject, evolve(policy, digest_every_turns=1)).digests)
        return cl.compact(subject, policy, rungs=(rung,), digests=digests, **options)

    record, outcome = observe(
        compact,
        conversation,
        made.policy,
        summarise=made.summarise,
        when="now" if is_second else made.when,
        pins=() if is_second else made.pins,
        reminders=() if is_second else made.reminders,
        kinds=None if is_second else made.kinds,
    )
    record = evolve(record, digests=tuple(digests.values()))
    return outcome, {str(finding) for finding in judge(record) if finding.verdict == "broken"}


@pytest.mark.parametrize("dialect", SPELLINGS)
@pytest.mark.parametrize("rung", ["collapse", "snip"])
def test_rung_keeps_every_law(rung: Rung, dialect: str) -> None:
    """And so does the summary of what it left."""
    outcomes: Counter[str] = Counter()
    for number in range(CASES):
        made = scenario(seeded(f"{dialect} {number}"), dialect=dialect)
        if made.features & {"bad-counter", "bad-reminder"}:
            continue
        outcome, wrong = compacted_by(rung, made, made.conversation)
        outcomes[type(outcome).__name__] += 1

        assert wrong == set(), number
        if isinstance(outcome, Compacted):
            assert outcome.report["rung"] == rung
            from_wire = cl.parse(cl.render(outcome.conversation), dialect=made.conversation.dialect)
            second, wrong = compacted_by("summarise", made, from_wire, is_second=True)
            outcomes[f"then {type(second).__name__}"] += 1

            assert wrong == set(), number

    assert outcomes["Compacted"] >= CASES // 6
    assert outcomes["then Compacted"] >= 1


@pytest.mark.parametrize("dialect", SPELLINGS)
def test_refused_size_keeps_every_law(dialect: str) -> None:
    """A provider found a request too long that fits a window four times as large: its size is the window then."""
    reasons: Counter[str] = Counter()
    for number in range(CASES // 2):
        made = scenario(seeded(f"{dialect} too long {number}"), dialect=dialect)
        if made.features & {"bad-counter", "bad-reminder"}:
            continue
        policy = evolve(made.policy, window_tokens=4 * made.policy.window_tokens)
        record, outcome = observe(
            cl.compact, made.conversation, policy, summarise=made.summarise, when="overflow", kinds=made.kinds
        )
        reasons[outcome.reason] += 1

        assert [str(finding) for finding in judge(record) if finding.verdict == "broken"] == [], number
        sizes = outcome.report["sizes"]
        reasons["learned"] += sizes is not None and sizes["window"] < policy.window_tokens

    assert reasons["learned"] >= CASES // 4
    assert reasons["target-met"] >= 3
