"""
What the record of one compaction shows, worked out once for all checks.

What this is
    `evidence` reads both bodies of a record and finds out where each piece of
    the output came from.

Rules it obeys
    * It believes bytes, not claims: a message was kept if its bytes are in the
      output.  The compactor's own word counts only for what cannot be seen.

How it works
    The tail is what both bodies have in common at their end, back to the cut
    if the compactor names it.  What stands before it in the output is told by
    kind (summary, pin, reminder) or else looked up among the messages of the
    input, from the end.  What is left is new, and is looked at block by block.

What is not here
    Whether any of it is right (`checks`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import lru_cache

from attrs import frozen

from .dividing import Parts, divide
from .heads import stubs
from .record import Exchange, Record
from .units import Block, Summary, Unit, read, read_summary

__all__ = ["Evidence", "evidence", "last_replies", "paired"]


@frozen
class Evidence:
    """
    What a record shows.

    Attributes:
        before, after: the units of both bodies.
        parts: how the input divides.
        came_from: for each unit of the output the unit of the input it is, or ``None``.
        kept: the units of the input that are in the output.
        altered: for a unit of the output that is none of the input's, the one it was made of.
        cleared: for a unit of the output that differs from that of the input in what tools gave or were given or in
            reasoning that is gone, and of which the compactor says that it cleared it, that unit; it counts as kept.
        cut: the unit of the input at which the common tail begins; its length if there is none.
        head: how many units of the output stand before that tail.
        summaries: units of the output that are a summary.
        summary: the text of the first of them.
        read: the same taken apart, if it has our header.
        previous: the summary in the head of the input, if there is one.
    """

    before: tuple[Unit, ...]
    after: tuple[Unit, ...]
    parts: Parts
    came_from: tuple[int | None, ...]
    kept: frozenset[int]
    altered: Mapping[int, int]
    cleared: Mapping[int, int]
    cut: int
    head: int
    summaries: tuple[int, ...]
    summary: str
    read: Summary | None
    previous: Summary | None

    @property
    def new(self) -> tuple[tuple[int, Block], ...]:
        """(unit, block) for what stands in the output and was no message of the input."""
        return tuple((at, block) for at, unit in enumerate(self.after) if self.came_from[at] is None for block in unit.blocks)

    @property
    def body(self) -> str:
        """The sections of the new summary, without its header if that is ours."""
        return self.summary if self.read is None else self.read.body


@lru_cache(maxsize=4)
def evidence(record: Record) -> Evidence:
    """What *record* shows."""
    before = read(record.before, record.dialect, record.kinds)
    after = read(record.after, record.dialect, record.made_kinds)
    parts = divide(before, record.dialect)
    tail = _common_tail(before, after, record.cleared, is_all=record.rung == "clear")
    if record.cut is not None:  # what stands before the cut and is equal may be something else
        tail = min(tail, sum(unit.index >= record.cut for unit in before))
    came_from = _trace(before, after, tail, record.kept_prompt, record.cleared)
    summaries = tuple(at for at, unit in enumerate(after) if unit.kind == "summary" and came_from[at] is None)
    words = [block.text for at in summaries[:1] for block in after[at].blocks if block.kind == "text"]
    summary = words[0] if words else ""
    return Evidence(
        before,
        after,
        parts,
        came_from,
        frozenset(at for at in came_from if at is not None),
        _altered(before, after, came_from),
        {at: back for at, back in enumerate(came_from) if back is not None and not _same(before[back], after[at])},
        len(before) - tail,
        len(after) - tail,
        summaries,
        summary,
        read_summary(summary),
        _previous(before, parts),
    )


def _same(one: Unit, other: Unit, cleared: Collection[int] = ()) -> bool:
    """
    Byte for byte; a unit that was fused into a head has only its blocks to be compared.

    Of a message of the input that was *cleared*, results and calls are compared by their ids alone, a stub may stand for a
    picture, and reasoning may be gone.
    """
    if one.index in cleared and one.role == other.role and (pairs := paired(one, other)):
        return all(old.raw == new.raw or _may_be(old, new) for old, new in pairs if new is not None)
    if one.raw and other.raw:
        return one.raw == other.raw
    return one.role == other.role and one.raws == other.raws


def _may_be(old: Block, new: Block) -> bool:
    """Whether *new* is what clearing can leave of *old*."""
    if old.kind == "media":
        return new.kind == "text" and bool(stubs(new.text))
    return old.kind == new.kind and old.kind in ("call", "result") and old.id == new.id


def paired(one: Unit, other: Unit) -> list[tuple[Block, Block | None]]:
    """The blocks of *one*, each with what it is in *other*: reasoning may be gone.  Nothing, if more than that is gone."""
    if len(one.blocks) == len(other.blocks):
        return list(zip(one.blocks, other.blocks, strict=True))
    left = iter(other.blocks)
    if len(one.blocks) - len(one.of_kind("reasoning")) != len(other.blocks):
        return []
    return [(block, None if block.kind == "reasoning" else next(left)) for block in one.blocks]


def _common_tail(before: tuple[Unit, ...], after: tuple[Unit, ...], cleared: Collection[int], *, is_all: bool) -> int:
    """How many units at the end are the same; a head is passed over only if nothing but clearing was done."""
    count = 0
    for one, other in zip(reversed(before), reversed(after), strict=False):
        if not _same(one, other, cleared) or (one.kind in ("summary", "pin", "reminder") and not is_all):
            break
        count += 1
    return count


def _trace(
    before: tuple[Unit, ...], after: tuple[Unit, ...], tail: int, claimed: int | None, cleared: Collection[int]
) -> tuple[int | None, ...]:
    """
    Where each unit of the output comes from: the tail one by one, the rest in order from the end, then anywhere.

    Of messages that are equal byte for byte, the prompt that the compactor *claimed* to have kept is the one.
    """
    came_from: list[int | None] = [None] * len(after)
    shift = len(before) - len(after)
    for at in range(len(after) - tail, len(after)):
        came_from[at] = at + shift
    bound = len(before) - tail
    head = [at for at in reversed(range(len(after) - tail)) if after[at].kind not in ("summary", "pin", "reminder")]
    for at in head:
        same = [back for back in range(bound - 1, -1, -1) if _same(before[back], after[at], cleared)]
        found = next((back for back in same if before[back].index == claimed), same[0] if same else None)
        if found is not None:
            came_from[at] = bound = found
    taken = set(came_from)
    for at in head:
        if came_from[at] is None:
            found = next(
                (back for back, unit in enumerate(before) if back not in taken and _same(unit, after[at], cleared)), None
            )
            came_from[at] = found
            taken.add(found)
    return tuple(came_from)


def _altered(before: tuple[Unit, ...], after: tuple[Unit, ...], came_from: tuple[int | None, ...]) -> dict[int, int]:
    """Messages that share a call, a result or a block with one of the input that is gone, or stand where it would."""
    lost = [back for back in range(len(before)) if back not in came_from]
    marks = {back: _marks(before[back]) for back in lost}
    found: dict[int, int] = {}
    for at, unit in enumerate(after):
        if came_from[at] is None and unit.kind not in ("summary", "pin", "reminder"):
            mine = _marks(unit)
            opposite = at + len(before) - len(after)
            twin = next((back for back in reversed(lost) if before[back].role == unit.role and mine & marks[back]), None)
            if twin is None and unit.role == "model" and opposite in lost and before[opposite].role == "model":
                twin = opposite
            if twin is not None:
                found[at] = twin
    return found


def _marks(unit: Unit) -> set[str]:
    return {f"{block.kind} {block.id or block.raw}" for block in unit.blocks if block.kind != "reasoning"}


def _previous(before: tuple[Unit, ...], parts: Parts) -> Summary | None:
    """The summary in the head, which ends at the first prompt."""
    for unit, kind in zip(before, parts.kinds, strict=True):
        if unit.is_compaction:
            continue
        if kind in ("model", "prompt"):
            break
        if kind == "summary":
            return read_summary(unit.blocks[0].text) or Summary(unit.text, 0, 0, 0, under_way=False, rest="")
    return None


def last_replies(record: Record) -> list[Exchange]:
    """The last exchange about each part: the one that counts."""
    last: dict[int, Exchange] = {}
    for exchange in record.exchanges or ():
        last[exchange.part] = exchange
    return list(last.values())
