"""Checks of the laws of stability: L16 to L19."""

from __future__ import annotations

from collections.abc import Iterator

from .evidence import Evidence, evidence
from .findings import Finding, broken, unknown
from .record import Record
from .units import Unit

__all__ = ["deterministic", "idle", "input_untouched", "prefix_kept"]


def deterministic(record: Record) -> Iterator[Finding]:
    """SAME-1: the same input gives the same output, reasons and requests."""
    if record.repeated is None:
        yield from unknown("SAME-1", "it was not run twice", "repeated")
    elif record.repeated != record.digest:
        yield from broken("SAME-1", "a second run of the same differs")


def idle(record: Record) -> Iterator[Finding]:
    """NOOP-1: below the trigger nothing is done; NOOP-2: nor when there is nothing new."""
    before, trigger = record.before_tokens, record.limits.trigger
    if (record.cleared or record.edits is not None) and record.limits.clearing is not None:
        trigger = record.limits.clearing
    if record.when == "auto" and before is not None and trigger is not None and record.reason != "auto-off":
        if before <= trigger and (record.outcome != "unchanged" or record.exchanges):
            yield from broken("NOOP-1", f"{before} tokens are not above the trigger of {trigger}, and something was done")
        elif before > trigger and record.reason == "below-trigger":
            yield from broken("NOOP-1", f"{before} tokens are above the trigger of {trigger}, and nothing was done")
    if record.outcome == "compacted":
        if record.again is None:
            yield from unknown("NOOP-2", "the result was not compacted again", "again")
        elif record.again != ("unchanged", True):
            outcome, same = record.again
            yield from broken("NOOP-2", f"compacting the result at once: {outcome}, {'the same' if same else 'another'} object")


def prefix_kept(record: Record) -> Iterator[Finding]:
    """PREFIX-1: what is said to be unchanged is, and no more has changed; PREFIX-2: clearing is worth what it costs."""
    if record.outcome != "compacted":
        if record.first_changed is not None:
            yield from broken("PREFIX-1", f"nothing was done, and message {record.first_changed} is said to have changed")
        return
    seen = evidence(record)
    first = _first_changed(seen)
    if record.edits is not None and first is not None:
        yield from broken("PREFIX-1", f"the provider is asked to hide what is old, and message {first} differs all the same")
    if record.first_changed is not None and record.first_changed != first:
        yield from broken("PREFIX-1", f"message {first} is the first that differs, and {record.first_changed} is said to be")
    before, after = record.before_tokens, record.after_tokens
    least, target = record.limits.clear_at_least, record.limits.target
    if record.rung != "clear" or before is None or after is None or least is None or target is None:
        return
    if before - after < least and after > target:
        yield from broken("PREFIX-2", f"clearing saved {before - after} tokens, fewer than {least}, and {after} are left")


def _first_changed(seen: Evidence) -> int | None:
    """The first message of the input at which the blocks of both bodies differ."""
    ours, theirs = _blocks(seen.before), _blocks(seen.after)
    for (index, *one), (_, *other) in zip(ours, theirs, strict=False):
        if one != other:
            return int(index)
    return int(ours[len(theirs)][0]) if len(ours) > len(theirs) else None


def _blocks(units: tuple[Unit, ...]) -> list[tuple[int, str, str]]:
    return [(unit.index, unit.role, block.raw) for unit in units for block in unit.blocks]


def input_untouched(record: Record) -> Iterator[Finding]:
    """INPUT-1: what was passed in is as it was."""
    if record.mutated is None:
        yield from unknown("INPUT-1", "nobody looked at the input afterwards", "mutated")
    elif record.mutated:
        yield from broken("INPUT-1", "the conversation that was passed in has been changed")
