"""
What was true of a compaction: the premises under which a law says anything.

A law that was only ever tested where it could not fail has not been tested.
So each property test counts, by these names, how often it had the chance.
"""

from __future__ import annotations

from collections.abc import Iterator

from compactlib.conformance.evidence import Evidence, evidence
from compactlib.conformance.record import Record
from compactlib.outcomes import REASONS, Compacted, Outcome, Refused
from compactlib.summaries.acceptance import Code

from .scenarios import Scenario
from .spellings import Spelling

__all__ = ["OFTEN", "premises", "seldom"]

OFTEN = ("cut by turn", "cut by step")
"""Each of these holds in at least 5 % of all examples."""

ELSEWHERE = ("prefix-at-provider",)
"""These only where a body can say that the history is kept by the provider."""

TOOLS = (
    "parallel batch at the cut",
    "attachment at the cut",
    "mixed message",
    "frontier",
    "dangling call",
    "sealed current turn",
)
"""These only where calls and results are more than words."""

TWO_OF_A_SIDE = ("attachment at the cut", "mixed message")
"""And these only where two messages of one side may be neighbours."""

SELDOM = (
    "previous summary",
    "pins",
    "reminders",
    *TOOLS,
    "broken input",
    *(f"summary-failed:{code.value}" for code in Code if code not in (Code.PROMPT_TOO_LONG, Code.MEDIA, Code.OVERLOADED)),
    *(
        reason
        for reason in REASONS["refused"]
        if reason not in ("summary-failed", "callback", "internal-invalid", "store-failed", "no-digest", "vetoed", *ELSEWHERE)
    ),
    "callback:counter",
    "callback:reminders",
    "above-target",
    "below-trigger",
)
"""
Each of these in at least 1 %.

``internal-invalid`` is no premise: it would be a bug that the validator caught.  ``store-failed`` needs a store,
``no-digest`` digests, and ``vetoed`` somebody who looks.
"""


def seldom(spelling: Spelling) -> tuple[str, ...]:
    """The rarer premises that a wire shape can have."""
    never: tuple[str, ...] = TOOLS if spelling.results_are_text else TWO_OF_A_SIDE if spelling.alternates else ()
    never += () if spelling.may_dangle else ("dangling call",)
    names = tuple(name for name in SELDOM if name not in never)
    return names + (ELSEWHERE if spelling.dialect == "openai-responses" else ())


def premises(scenario: Scenario, record: Record, outcome: Outcome) -> Iterator[str]:
    """The names of all premises that held, with a change wherever the name is not that of a reason."""
    yield outcome.reason
    if isinstance(outcome, Refused):
        yield "refused"
    if not isinstance(outcome, Compacted):
        return
    seen = evidence(record)
    yield f"cut by {outcome.report['cut']['kind']}"
    if seen.previous is not None:
        yield "previous summary"
    for name in ("pins", "reminders"):
        if outcome.report["head"][name]:
            yield name
    yield from _at_the_cut(seen)
    gone = [at for at in range(seen.cut) if at not in seen.kept]
    if any(seen.parts.kinds[at] == "result" and seen.before[at].text.strip() for at in gone) or any(
        seen.parts.kinds[at] == "prompt" and at not in seen.parts.starts for at in gone
    ):
        yield "mixed message"
    if seen.parts.pending:
        yield "frontier"
    if any(at in gone for at, _ in seen.parts.dangling):
        yield "dangling call"
    if any(unit.of_kind("reasoning") for unit in seen.before[seen.parts.current_turn :]):
        yield "sealed current turn"
    if "broken" in scenario.features:
        yield "broken input"


def _at_the_cut(seen: Evidence) -> Iterator[str]:
    """What stands in the step before the cut and in the one behind it."""
    before = [step for step in seen.parts.steps if step[1] == seen.cut]
    after = [step for step in seen.parts.steps if step[0] == seen.cut]
    steps = [seen.before[start:stop] for start, stop in before + after]
    kinds = [seen.parts.kinds[at] for start, stop in before + after for at in range(start, stop)]
    if any(sum(len(unit.of_kind("call")) for unit in step) > 1 for step in steps):
        yield "parallel batch at the cut"
    if "attachment" in kinds:
        yield "attachment at the cut"
