"""
Media that a result may not carry, and the messages that carry them instead.

What this is
    `fold` puts media that travel in a user message back into the results that
    they belong to; `move` takes them out again where the target demands it.

Rules it obeys
    * A medium in a result leaves a line behind, ``(see attached image)``, and
      goes into a user message that begins with a marker, as clients write it.
      So `turns` knows it for an attachment, and folding finds every place again.
    * Only a recognised pseudo-message is folded, one that a marker announces;
      and only where it is certain which result each medium belongs to.
    * Law L2.  The carrier stands directly behind its batch.

How it works
    The n-th line ``(see attached image)`` in the results of a batch stands for
    the n-th medium behind them.  Where there is no such line a lone result
    takes all; that is named, because the way back would write the line.

What is not here
    Media that the target cannot hold at all: `crossing`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from attrs import evolve

from ..model import Block, Conversation, Media, Origin, Result, Text
from ..protocol.mending import IMAGE_MARKER
from ..protocol.profiles import Profile
from ..recognition import is_marker
from ..turns import Kind, divide
from .losses import Losses
from .slots import Piece, Slot

__all__ = ["carries", "fold", "move"]

_HOLE: Final = "(see attached image)"


def carries(target: Profile) -> Callable[[Result, Media], bool]:
    """Whether a result may carry a medium."""
    kinds = target.result_media
    words_only_if_error = target.dialect == "anthropic"  # rule A-IMG-01

    def may(result: Result, media: Media) -> bool:
        return media.kind in kinds and not (words_only_if_error and result.is_error)

    return may


# -- into results ------------------------------------------------------------------------------------------------------


def fold(slots: list[Slot], conversation: Conversation, target: Profile, losses: Losses) -> list[Slot]:
    """The slots with media back in their results, where *target* allows it."""
    if not target.result_media or not any(_announces(block) for slot in slots for block, _origin in slot.pieces):
        return slots
    kinds = divide(conversation).kinds
    may = carries(target)
    out: list[Slot] = []
    for slot in slots:
        batch = out[-1] if out else None
        folded = None
        if slot.has_results:
            results = [piece for piece in slot.pieces if isinstance(piece[0], Result)]
            folded = _folded(slot, results, slot.pieces[len(results) :], may, losses)
        elif batch is not None and kinds[slot.position] is Kind.ATTACHMENT and isinstance(batch.pieces[-1][0], Result):
            folded = _folded(batch, batch.pieces, slot.pieces, may, losses)
            if folded is not None:
                out.pop()
        out.append(slot if folded is None else folded)
    return out


def _announces(block: Block) -> bool:
    """Whether a block is what clients write before media that a result could not hold."""
    return isinstance(block, Text) and bool(block.text.strip()) and is_marker(block.text)


def _folded(
    batch: Slot, results: Sequence[Piece], beside: Sequence[Piece], may: Callable[[Result, Media], bool], losses: Losses
) -> Slot | None:
    """
    The slot of a batch, its results with the media that stand behind a marker in what is beside them.

    Gives ``None`` where it is not certain where they belong, or not allowed.
    """
    if not beside or not _announces(beside[0][0]):
        return None
    pictures = []
    for block, _origin in beside[1:]:
        if not isinstance(block, Media):
            break
        pictures.append(block)
    rest = beside[1 + len(pictures) :]
    lines = sum(_lines(block) for block, _origin in results)
    if not pictures or (lines != len(pictures) and (lines or len(results) > 1)):
        return None
    waiting = iter(pictures)
    is_told_apart = bool(lines)
    folded: list[Piece] = []
    for block, origin in results:
        if not isinstance(block, Result):
            return None
        parts = [part for one in block.blocks for part in _filled(one, waiting)]
        if not lines:
            parts += pictures
        if any(isinstance(part, Media) and not may(block, part) for part in parts):
            return None
        is_told_apart = is_told_apart and not (len(block.blocks) > 1 and _lines(block))
        folded.append((_with(block, parts), origin))
    if not is_told_apart:
        losses.at("grouping", batch.position, "media were put into a result in which no line of its words stood for them")
    return evolve(batch, pieces=(*folded, *rest))


def _lines(block: Block) -> int:
    """How many lines of a result stand for media."""
    return sum(part.text.split("\n").count(_HOLE) for part in _texts(block)) if isinstance(block, Result) else 0


def _texts(result: Result) -> list[Text]:
    return [part for part in result.blocks if isinstance(part, Text)]


def _filled(part: Block, waiting: Iterator[Media]) -> Iterator[Block]:
    """A part of a result with media in the place of the lines that stand for them."""
    if not isinstance(part, Text) or _HOLE not in part.text:
        if part != Text(""):
            yield part
        return
    kept: list[str] = []
    for line in part.text.split("\n"):
        if line != _HOLE:
            kept.append(line)
            continue
        if kept:
            yield Text("\n".join(kept))
            kept = []
        yield next(waiting)
    if kept:
        yield Text("\n".join(kept))


def _with(result: Result, parts: list[Block]) -> Result:
    if len(parts) == 1 and isinstance(parts[0], Text):
        return evolve(result, content=parts[0].text)
    return evolve(result, content=tuple(parts) if parts else "")


# -- out of results ----------------------------------------------------------------------------------------------------


def move(slots: list[Slot], target: Profile, losses: Losses) -> list[Slot]:
    """The slots with media that results may not carry behind them; where results are messages of their own, words too."""
    may = carries(target)
    beside = target.results == "user"
    out: list[Slot] = []
    for slot in slots:
        if not slot.has_results:
            out.append(slot)
            continue
        media: list[Piece] = []
        results = [_emptied(piece, media, may) for piece in slot.pieces if isinstance(piece[0], Result)]
        others = slot.pieces[len(results) :]
        carrier: tuple[Piece, ...] = ((Text(IMAGE_MARKER), Origin.ATTACHMENT), *media) if media else ()
        if beside:
            out.append(evolve(slot, pieces=(*results, *carrier, *others)) if media else slot)
            continue
        if others:
            losses.at("grouping", slot.position, "what stood beside results is a message of its own now")
        out.append(evolve(slot, pieces=tuple(results)) if media or others else slot)
        out += [evolve(slot, pieces=pieces) for pieces in (carrier, others) if pieces]
    return out


def _emptied(piece: Piece, media: list[Piece], may: Callable[[Result, Media], bool]) -> Piece:
    """A result without the media that it may not carry, which are added to *media*."""
    block, origin = piece
    if not isinstance(block, Result) or isinstance(block.content, str):
        return piece
    parts: list[Block] = []
    is_open = False  # whether the text before ends in a line that stands for a medium
    before = len(media)
    for part in block.blocks:
        is_moved = isinstance(part, Media) and not may(block, part)
        if is_moved:
            media.append((part, Origin.ATTACHMENT))
        line = _HOLE if is_moved else part.text if isinstance(part, Text) else None
        last = parts[-1] if parts else None
        if line is not None and isinstance(last, Text) and (is_moved or is_open):
            parts[-1] = Text(f"{last.text}\n{line}")
        else:
            parts.append(part if line is None else Text(line))
        is_open = is_moved
    return piece if len(media) == before else (_with(block, parts), origin)
