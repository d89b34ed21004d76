"""
Messages free of any provider's wire.

What this is
    `Slot`, a message on its way from one dialect to another, and the ways in
    which its blocks are made.

Rules it obeys
    * A slot holds `Text`, `Media`, `Call` and `Result` and nothing else, and
      their `Wire` means nothing any more: only `Result.is_error` is read.
    * Law L8, L20.  What was said about the origin of a block goes with it.

How it works
    Results stand in ``user`` slots, first of all, as at Anthropic.  A dialect
    in which they are messages of their own takes them out again.

What is not here
    Where slots come from (`crossing`) and where they go (`writing`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

from attrs import frozen

from ..model import Block, Message, Origin, Result, Text, wire

__all__ = ["ANSWER", "CALL", "FAILED", "Piece", "Slot", "is_note", "note", "pieces_of", "stated"]

CALL: Final = wire("tool_use")
ANSWER: Final = wire("tool_result")
FAILED: Final = wire("tool_result", (), "error")
_NOTE: Final = wire("left-out")

Piece: TypeAlias = tuple[Block, "Origin | None"]
"""A block and its origin, as far as it was stated."""


@frozen
class Slot:
    """
    One message.

    Attributes:
        side: who speaks.
        pieces: what is said.
        position: which message of the input it is, or belongs to.
        is_tool: whether it was a message of nothing but a tool's answer.
        others: other messages of the input that it is made of, whose calls or results are in it.
    """

    side: Literal["system", "user", "model"]
    pieces: tuple[Piece, ...]
    position: int
    is_tool: bool = False
    others: tuple[int, ...] = ()

    @property
    def has_results(self) -> bool:
        """Whether it answers calls."""
        return bool(self.pieces) and isinstance(self.pieces[0][0], Result)


def stated(pieces: Sequence[Piece]) -> Origin | tuple[Origin, ...] | None:
    """The origin of a message of these pieces; ``None`` if none is stated."""
    known = {origin for _block, origin in pieces}
    if known <= {None}:
        return None
    if len(known) == 1:
        return known.pop()
    return tuple(origin or (Origin.TOOL if isinstance(block, Result) else Origin.HUMAN) for block, origin in pieces)


def note(what: str) -> Text:
    """What stands in the place of something that could not be carried over."""
    return Text(f"[left out: {what}]", _NOTE)


def is_note(block: Block) -> bool:
    """Whether a block is such a note, and nobody's words."""
    return isinstance(block, Text) and block.wire is _NOTE


def pieces_of(message: Message) -> list[Piece]:
    """The blocks of a message of the input, each with its origin."""
    origin = message.origin
    blocks = message.blocks
    if isinstance(origin, tuple):
        return [(block, origin[place] if place < len(origin) else None) for place, block in enumerate(blocks)]
    return [(block, origin) for block in blocks]
