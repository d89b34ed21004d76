"""Checks of the laws of stability: L16, L17 and L19."""

from __future__ import annotations

from collections.abc import Iterator

from .findings import Finding, broken, unknown
from .record import Record

__all__ = ["deterministic", "idle", "input_untouched"]


def deterministic(record: Record) -> Iterator[Finding]:
    """SAME-1: the same input gives the same output, reasons and requests."""
    if record.repeated is None:
        yield from unknown("SAME-1", "it was not run twice")
    elif record.repeated != record.digest:
        yield from broken("SAME-1", "a second run of the same differs")


def idle(record: Record) -> Iterator[Finding]:
    """NOOP-1: below the trigger nothing is done; NOOP-2: nor when there is nothing new."""
    before, trigger = record.before_tokens, record.limits.trigger
    if record.when == "auto" and before is not None and trigger is not None and record.reason != "auto-off":
        if before <= trigger and (record.outcome != "unchanged" or record.exchanges):
            yield from broken("NOOP-1", f"{before} tokens are not above the trigger of {trigger}, and something was done")
        elif before > trigger and record.reason == "below-trigger":
            yield from broken("NOOP-1", f"{before} tokens are above the trigger of {trigger}, and nothing was done")
    if record.outcome == "compacted":
        if record.again is None:
            yield from unknown("NOOP-2", "the result was not compacted again")
        elif record.again != ("unchanged", True):
            outcome, same = record.again
            yield from broken("NOOP-2", f"compacting the result at once: {outcome}, {'the same' if same else 'another'} object")


def input_untouched(record: Record) -> Iterator[Finding]:
    """INPUT-1: what was passed in is as it was."""
    if record.mutated is None:
        yield from unknown("INPUT-1", "nobody looked at the input afterwards")
    elif record.mutated:
        yield from broken("INPUT-1", "the conversation that was passed in has been changed")
