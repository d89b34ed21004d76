"""
How one message is shown to a summariser.

What this is
    A message becomes *pieces*: a line of ours that says who speaks and what
    kind of thing it is, and the text to be quoted under it.

Rules it obeys
    Law L25 (a): every line of the conversation is prefixed ``> `` after line
    separators and control characters are escaped, so none of it can begin a
    delimiter or a heading.  What comes from the conversation into one of our
    own lines (names, ids, media types) is escaped and bounded (`label`).

    Seals are never shown; of media it is said that they are gone.  A
    shortened text keeps both ends, and our line above it says how much of it
    is shown, which no text of the conversation can forge.

What is not here
    How much of each text there is room for (`rendering`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import repeat
from typing import Final, Literal, TypeAlias

from ..model import Block, Call, Media, Message, Opaque, Origin, Reasoning, Result, Text
from ..text import ceiling, escape, floor, quote_lines
from ..tokens.jsontext import plain_json
from ..truncation import truncate

__all__ = [
    "KINDS",
    "Kind",
    "Piece",
    "argument_text",
    "calls_by_result",
    "label",
    "pieces_of",
    "shortened",
    "show",
    "with_origins",
]

Kind: TypeAlias = Literal["words", "output", "arguments", "reasoning", "stub"]
"""What a piece is: words of people and models, a tool's output, a call's arguments, reasoning, or nothing but our line."""

KINDS: Final[tuple[Kind, ...]] = ("words", "output", "arguments", "reasoning", "stub")

_MARKED_CHARS: Final = 600  # an excerpt of at least this size carries a marker

Piece: TypeAlias = tuple[str, str, Kind]
"""Our line above it, the text to quote, and what kind of text it is."""

_SPEAKERS: Final[dict[Origin, str]] = {
    Origin.HUMAN: "human",
    Origin.MODEL: "model",
    Origin.TOOL: "tool",
    Origin.ATTACHMENT: "attachment made by a tool",
    Origin.HARNESS: "harness, not a person",
    Origin.SYSTEM: "system",
    Origin.SUMMARY: "earlier summary, not a person",
    Origin.PIN: "pinned text",
    Origin.REMINDER: "reminder, not a person",
    Origin.ACK: "harness, not a person",
    Origin.UNKNOWN: "not known, perhaps a person",
}


_BY_ROLE: Final = {"model": Origin.MODEL, "tool": Origin.TOOL, "system": Origin.SYSTEM, "developer": Origin.SYSTEM}


def with_origins(message: Message) -> Iterator[tuple[Block, Origin]]:
    """
    Each block of a message with its origin.

    As stated in the message; where nothing is stated, what the role alone
    proves: a user-role text without a stated origin is of unknown origin, not
    a person's.
    """
    stated = message.origin
    blocks = message.blocks
    if isinstance(stated, tuple) and len(stated) == len(blocks):
        return zip(blocks, stated)  # noqa: B905  # of one length, as was just seen; asking again takes as long as all else here
    if isinstance(stated, Origin):
        return zip(blocks, repeat(stated))
    by_role = _BY_ROLE.get(message.role, Origin.UNKNOWN)
    return zip(blocks, (Origin.TOOL if isinstance(block, Result) else by_role for block in blocks), strict=True)


def label(text: str, *, limit_chars: int = 80) -> str:
    """
    A name from the conversation, safe inside one of our own lines.

    >>> print(label('read\\n=== End"'), label("x" * 99, limit_chars=5))
    read\\n=== End\\" xxxxx...
    """
    if len(text) <= limit_chars:
        return escape(text).replace('"', '\\"')
    return escape(text[:limit_chars]).replace('"', '\\"') + "..."


def argument_text(call: Call) -> str:
    """
    The arguments of a call as text: the model's own string, or compact JSON.

    >>> from compactlib.model import wire
    >>> argument_text(Call("c", "read", {"path": "a.py"}, wire("tool_use")))
    '{"path": "a.py"}'
    """
    if isinstance(call.arguments, str):
        return call.arguments
    try:
        return plain_json(call.arguments)
    except (TypeError, ValueError, RecursionError):
        return "(arguments that cannot be written as JSON)"


def calls_by_result(messages: Iterable[Message]) -> dict[int, Call]:
    """
    The call that each result answers, by ``id()`` of the result: the latest call before it with its id.

    Made for one look at messages that are kept alive by the caller.  A result
    whose call is not among *messages* is not in it.
    """
    answered: dict[int, Call] = {}
    called: dict[str, Call] = {}
    for message in messages:
        if isinstance(message.content, str):
            continue
        for block in message.content:
            if isinstance(block, Call):
                called[block.id] = block
            elif isinstance(block, Result) and block.call_id in called:
                answered[id(block)] = called[block.call_id]
    return answered


def pieces_of(message: Message, number: int, calls: dict[int, Call]) -> list[Piece]:
    """What is shown of one message: at least one piece, so that none is passed over in silence."""
    head = f"message {number} · "
    found: list[Piece] = [
        (head + told, text, kind)
        for block, origin in with_origins(message)
        for told, text, kind in _block_pieces(block, _SPEAKERS[origin], calls)
    ]
    return found or [(f"{head}{message.role}: nothing to show", "", "stub")]


def _block_pieces(block: Block, speaker: str, calls: dict[int, Call]) -> Iterator[Piece]:
    if isinstance(block, Text):
        yield speaker, block.text, "words"
    elif isinstance(block, Call):
        yield f'model calls "{label(block.name)}" (id "{label(block.id)}")', argument_text(block), "arguments"
    elif isinstance(block, Result):
        call = calls.get(id(block))
        tool = f'tool "{label(call.name)}"' if call else "a tool"
        failed = ", reporting an error" if block.is_error else ""
        yield f'{tool} answers (id "{label(block.call_id)}"){failed}', block.text, "output"
        for inner in () if isinstance(block.content, str) else block.blocks:
            if not isinstance(inner, Text):
                yield from _block_pieces(inner, tool, calls)
    elif isinstance(block, Media):
        where = f"about {len(block.data) * 3 // 4:,} bytes" if block.data else label(block.url or "elsewhere")
        what = f"{label(block.kind)} ({label(block.mime or 'type not said')}, {where})"
        yield f"{speaker}: {what}, not shown, no longer available", "", "stub"
    elif isinstance(block, Reasoning):
        if block.text:
            yield "the model's reasoning", block.text, "reasoning"
    else:
        opaque: Opaque = block
        yield f'{speaker}: a "{label(opaque.kind)}" block, not readable', "", "stub"


def shortened(text: str, limit_chars: int) -> tuple[str, int]:
    """*text* by head and tail around a marker, and how many of its characters are kept; nothing if no marker fits."""
    if len(text) <= limit_chars:
        return text, len(text)
    try:
        short = truncate(text, limit_chars=limit_chars, keep="both")
    except ValueError:
        return "", 0
    return short.text, len(text) - short.omitted_chars


def show(piece: Piece, limits: Mapping[Kind, int]) -> str:
    """
    One piece with our line above it.

    A shortened text is shown by head and tail.  Where a marker would be longer
    than what it stands between, a line of ours does its work.
    """
    head, text, kind = piece
    limit_chars = limits[kind]
    if kind == "stub":
        return f"--- {head}"
    if not text:
        return f"--- {head}: empty"
    if len(text) <= limit_chars:
        return f"--- {head}\n{quote_lines(text)}"
    if limit_chars < _MARKED_CHARS:
        start, stop = floor(text, limit_chars // 2), ceiling(text, len(text) - limit_chars // 2)
        kept = start + len(text) - stop
        shown = f"{quote_lines(text[:start])}\n--- (left out)\n{quote_lines(text[stop:])}"
    else:
        short, kept = shortened(text, limit_chars)
        shown = quote_lines(short)
    return f"--- {head}: {kept:,} of {len(text):,} characters shown\n{shown}"
