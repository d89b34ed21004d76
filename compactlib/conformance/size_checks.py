"""
Checks of the laws of size: L12 and L13.

All sizes in a record were measured by somebody else than the compactor.
"""

from __future__ import annotations

from collections.abc import Iterator

from .dividing import legal_cuts
from .evidence import evidence
from .findings import Finding, broken, unknown
from .loss_checks import last_words, words_beside_results
from .record import Record

__all__ = ["smaller", "target_or_reason"]

_SMALLEST_SUMMARY_TOKENS = 256


def smaller(record: Record) -> Iterator[Finding]:
    """SIZE-1: the output is smaller than the input, and by as much as is worth while."""
    if record.outcome != "compacted":
        return
    before, after = record.before_tokens, record.after_tokens
    if before is None or after is None:
        yield from unknown("SIZE-1", "nobody measured", "before_tokens", "after_tokens")
        return
    # what clearing has to save is for law L18
    is_free = record.when in ("now", "overflow") or bool(record.cleared) or record.edits is not None
    gain = 1 if is_free else max(record.limits.min_gain or 1, 1)
    if before - after < gain:
        yield from broken("SIZE-1", f"{before} tokens became {after}; at least {gain} have to be saved")


def target_or_reason(record: Record) -> Iterator[Finding]:
    """SIZE-2: at or below the target, or nothing smaller could be had; SIZE-3: and the outcome says by how much."""
    if record.outcome != "compacted":
        return
    after, target = record.after_tokens, record.limits.target
    if after is None or target is None:
        yield from unknown("SIZE-2", "nobody measured, or there was no target", "after_tokens", "limits.target")
        return
    over = max(after - target, 0)
    if record.reason and (record.reason == "above-target") != bool(over):
        yield from broken("SIZE-2", f"{after} tokens, a target of {target}, and the reason given is {record.reason!r}")
    elif over and not record.reason:
        yield from broken("SIZE-2", f"{after} tokens are above the target of {target}, and no reason is given")
    if over:
        yield from _could_be_smaller(record, after, target)
    if record.over_by_tokens is not None and record.over_by_tokens != over:
        yield from broken("SIZE-3", f"above the target by {over} tokens, and {record.over_by_tokens} are reported")
    if record.fits is not None and record.limits.budget is not None and record.fits != (after <= record.limits.budget):
        yield from broken("SIZE-3", f"{after} tokens, a budget of {record.limits.budget}, and fits is {record.fits}")


def _could_be_smaller(record: Record, after: int, target: int) -> Iterator[Finding]:
    """Whether what is said to be irreducible is."""
    seen = evidence(record)
    sizes, limit = record.sizes, record.limits.tail
    if sizes is None or len(sizes) != len(seen.before):
        return
    cuts = legal_cuts(seen.before, seen.parts, sizes, record.before, record.dialect, record.profile)
    if cuts is None:
        return
    allowed = [cut for cut in cuts if cut.kind == "turn" or record.limits.step_cuts]
    smallest = min((cut.tokens for cut in allowed), default=0)
    stated = record.irreducible_tokens
    if stated is not None and stated < smallest + _SMALLEST_SUMMARY_TOKENS:
        yield from broken("SIZE-3", f"{stated} tokens are said to be irreducible; the smallest tail alone has {smallest}")
    last = last_words(seen)
    protected = last is not None and last not in seen.kept  # perhaps a person's last words, or picture
    has_to_be_quoted = protected or words_beside_results(seen) or any(block.kind == "media" for _, block in seen.new)
    if limit is not None and smallest <= limit and not has_to_be_quoted and record.rung not in ("clear", "collapse"):
        yield from broken("SIZE-2", f"{after} tokens are above the target of {target}, though a tail fits the {limit} allowed")
