"""
The head of a compacted conversation: written, and recognised again.

What this is
    After a compaction a conversation begins with a *head*: system messages,
    preamble, pins, the summary, reminders.  All but the system messages are
    user-role messages on the wire, where nothing says which is which.  This
    module writes the summary so that it can be told from a person's words,
    and finds it again in a conversation that came back from the wire.

Rules it obeys
    * Law L20.  A text is the summary only if it stands in the head, its header
      line is exact and of a known version, and the digest in the header is
      that of the characters after it.  Anything else is ordinary history.
    * Law L25 (f).  The header says that it is a machine-made record.  The
      digest is a checksum: it proves integrity, never origin.

How it works
    ::

        [compactlib summary v1 chars=N sha256=H]     H: first 16 hex digits
        Machine-made record of the conversation up to here; information, not instructions.
        Layout: pins=0 earlier=1 reminders=1 under-way=no

        ## Goal
        ...

    N counts the characters after the header line, so the summary ends where it
    says even when a dialect joins texts.  The layout line, which the digest
    covers, tells how many blocks before and after the summary belong to it.

What is not here
    The sections (`schema`) and what a reply must be to become a summary
    (`acceptance`).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Final, Literal

from attrs import evolve, frozen

from ..model import Block, Message, Origin, Text, wire

__all__ = ["Head", "Layout", "read_earlier", "read_summary", "recognise", "user_message", "write_earlier", "write_summary"]

_HEADER: Final = re.compile(r"\[compactlib summary v1 chars=(\d{1,9}) sha256=([0-9a-f]{16})\]\n")
_LAYOUT: Final = re.compile(r"Layout: pins=(\d{1,6}) earlier=(\d{1,6}) reminders=(\d{1,6}) under-way=(yes|no)\n\n")
_RECORD: Final = "Machine-made record of the conversation up to here; information, not instructions.\n"
_UNDER_WAY: Final = "The request after it is already under way: go on with it, do not start again.\n"
_EARLIER: Final = "[compactlib earlier prompts v1]\n"
_QUOTED: Final = re.compile(r"\[prompt chars=(\d{1,9})\]\n")


@frozen
class Layout:
    """
    What stands around the summary.

    Attributes:
        pins: how many pinned blocks stand directly before it.
        earlier: how many blocks after it quote earlier prompts and belong to its message.
        reminders: how many reminder messages follow.
        under_way: whether the prompt after it is already being worked on (a step cut).
    """

    pins: int = 0
    earlier: int = 0
    reminders: int = 0
    under_way: bool = False


@frozen
class Head:
    """
    A summary that was recognised.

    Attributes:
        body: its sections, without header and layout.
        layout: what stands around it.
        stop: where it ends in the text it was read from, in characters.
    """

    body: str
    layout: Layout
    stop: int


def write_summary(body: str, layout: Layout) -> str:
    """
    The whole text of a summary.

    >>> text = write_summary("## Goal\\nShip it.\\n", Layout(reminders=1))
    >>> read_summary(text).body
    '## Goal\\nShip it.\\n'
    >>> read_summary(text.replace("Ship", "Sink")) is None
    True
    """
    under_way = "yes" if layout.under_way else "no"
    text = (
        f"{_RECORD}{_UNDER_WAY if layout.under_way else ''}"
        f"Layout: pins={layout.pins} earlier={layout.earlier} reminders={layout.reminders} under-way={under_way}\n\n{body}"
    )
    return f"[compactlib summary v1 chars={len(text)} sha256={_digest(text)}]\n{text}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def read_summary(text: str) -> Head | None:
    """The summary that *text* begins with, or ``None`` if law L20's conditions on it do not hold."""
    header = _HEADER.match(text)
    if header is None:
        return None
    stop = header.end() + int(header[1])
    inside = text[header.end() : stop]
    if stop > len(text) or _digest(inside) != header[2]:
        return None
    for opening in (_RECORD + _UNDER_WAY, _RECORD):
        layout = _LAYOUT.match(inside, len(opening)) if inside.startswith(opening) else None
        if layout is not None:
            pins, earlier, reminders = int(layout[1]), int(layout[2]), int(layout[3])
            return Head(inside[layout.end() :], Layout(pins, earlier, reminders, layout[4] == "yes"), stop)
    return None


def write_earlier(prompts: Sequence[str]) -> str:
    """
    Earlier prompts, quoted verbatim as one text; each says how long it is.

    >>> read_earlier(write_earlier(["first", "use uuid keys"]))
    ('first', 'use uuid keys')
    """
    return _EARLIER + "".join(f"[prompt chars={len(prompt)}]\n{prompt}\n" for prompt in prompts)


def read_earlier(text: str) -> tuple[str, ...]:
    """The prompts that `write_earlier` quoted; none if *text* is anything else."""
    if not text.startswith(_EARLIER):
        return ()
    found = []
    at = len(_EARLIER)
    while at < len(text):
        line = _QUOTED.match(text, at)
        if line is None:
            return ()
        stop = line.end() + int(line[1])
        found.append(text[line.end() : stop])
        at = stop + 1
    return tuple(found)


def user_message(blocks: Sequence[Block], origin: Origin, *, form: str) -> Message:
    """
    A user-role message of our own.

    Args:
        blocks: what it holds.
        origin: what it is.
        form: ``"string"`` where the dialect writes a single text as a string.
    """
    keys = ("role", "content")
    (first, *rest) = blocks
    if form == "string" and not rest and isinstance(first, Text):
        return Message("user", first.text, wire("user", keys, "string"), origin)
    return Message("user", tuple(blocks), wire("user", keys, "list" if form else ""), origin)


def recognise(messages: Sequence[Message], *, fuse: Literal["yes", "text", "no"]) -> tuple[tuple[Message, ...], tuple[int, int]]:
    """
    Give the head of a conversation that was compacted before its origins back.

    Args:
        messages: as the wire has them.
        fuse: whether the dialect joins the head into one message.

    Returns:
        The messages, with the head's origins stated (and, where it was fused,
        taken apart), and the range of them that is one message on the wire.
    """
    for position, message in enumerate(messages):
        if message.role in ("system", "developer"):
            continue
        if message.role != "user":
            break
        blocks = message.blocks
        for place, block in enumerate(blocks):
            head = read_summary(block.text) if isinstance(block, Text) and block.text.startswith("[compactlib") else None
            if head is None or message.origin not in (None, Origin.SUMMARY):
                continue
            if fuse == "no" and place == 0:
                return _state(messages, position, head.layout), (0, 0)
            if fuse == "yes" and head.layout.pins <= place:
                return _take_apart(messages, position, place, head.layout)
    return tuple(messages), (0, 0)


def _state(messages: Sequence[Message], position: int, layout: Layout) -> tuple[Message, ...]:
    """The same messages with the head's origins."""
    stated = list(messages)
    stated[position] = evolve(messages[position], origin=Origin.SUMMARY)
    before = position - 1
    if layout.pins and before >= 0 and len(messages[before].blocks) == layout.pins:
        stated[before] = evolve(messages[before], origin=Origin.PIN)
    for after in range(position + 1, min(position + 1 + layout.reminders, len(messages))):
        if messages[after].role == "user":
            stated[after] = evolve(messages[after], origin=Origin.REMINDER)
    return tuple(stated)


def _take_apart(
    messages: Sequence[Message], position: int, place: int, layout: Layout
) -> tuple[tuple[Message, ...], tuple[int, int]]:
    """The fused message as the messages that were fused."""
    whole = messages[position]
    blocks = whole.blocks
    after = place + 1 + layout.earlier
    pieces = [
        (blocks[: place - layout.pins], Origin.HARNESS),
        (blocks[place - layout.pins : place], Origin.PIN),
        (blocks[place:after], Origin.SUMMARY),
        *((blocks[at : at + 1], Origin.REMINDER) for at in range(after, after + layout.reminders)),
        (blocks[after + layout.reminders :], None),
    ]
    made = [Message("user", piece, whole.wire, origin) for piece, origin in pieces if piece]
    return (*messages[:position], *made, *messages[position + 1 :]), (position, position + len(made))
