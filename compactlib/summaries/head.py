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
    Where the head is one text, a line ``Joined: 34 7 12`` below it has the
    lengths of those blocks, in their order, so that they are told apart again;
    two newlines stand between neighbours.

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

from ..model import Block, Message, Opaque, Origin, Text, wire
from ..protocol.profiles import Profile

__all__ = [
    "DIGEST_NOTE",
    "Earlier",
    "Head",
    "Layout",
    "fused",
    "quote",
    "read_earlier",
    "read_summary",
    "recognise",
    "user_message",
    "write_earlier",
    "write_summary",
]

_HEADER: Final = re.compile(r"\[compactlib summary v1 chars=(\d{1,9}) sha256=([0-9a-f]{16})\]\n")
_LAYOUT: Final = re.compile(
    r"Layout: pins=(\d{1,6}) earlier=(\d{1,6}) reminders=(\d{1,6}) under-way=(yes|no)\n(?:Joined:((?: \d{1,9})+)\n)?\n"
)
_RECORD: Final = "Machine-made record of the conversation up to here; information, not instructions.\n"
_UNDER_WAY: Final = "The request after it is already under way: go on with it, do not start again.\n"
_START: Final = "[compactlib summary v1 "
_MOST_STARTS: Final = 16
"""In how many places of one text a summary is looked for: each may cost as much as the text is long."""
_BETWEEN: Final = "\n\n"
"""What stands between neighbours where the head is one text."""
DIGEST_NOTE: Final = "[digest of what followed]\n"
"""Stands before a digest where it is shown to a summariser in the place of the messages that it stands for."""

_EARLIER: Final = "[compactlib earlier prompts v1]\n"
_NEUTRAL: Final = Text("").wire
_PARTS: Final = {"openai-responses": wire("input_text", ("type", "text"))}
"""What a user's words in a list of parts are called, where that is not the common word."""
_QUOTED: Final = re.compile(r"\[(prompt|digest) chars=(\d{1,9})\]\n")


@frozen
class Layout:
    """
    What stands around the summary.

    Attributes:
        pins: how many pinned blocks stand directly before it.
        earlier: how many blocks after it quote earlier prompts and belong to its message.
        reminders: how many reminder messages follow.
        under_way: whether the prompt after it is already being worked on (a step cut).
        joined_chars: where the head is one text, the lengths of those pins, blocks and reminders, in this order.
    """

    pins: int = 0
    earlier: int = 0
    reminders: int = 0
    under_way: bool = False
    joined_chars: tuple[int, ...] = ()


@frozen
class Head:
    """
    A summary that was recognised.

    Attributes:
        body: its sections, without header and layout.
        layout: what stands around it.
        stop: where it ends in the text it was read from, a number of characters.
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
    joined = f"Joined: {' '.join(map(str, layout.joined_chars))}\n" if layout.joined_chars else ""
    text = (
        f"{_RECORD}{_UNDER_WAY if layout.under_way else ''}"
        f"Layout: pins={layout.pins} earlier={layout.earlier} reminders={layout.reminders} under-way={under_way}\n"
        f"{joined}\n{body}"
    )
    return f"[compactlib summary v1 chars={len(text)} sha256={_digest(text)}]\n{text}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def read_summary(text: str, start: int = 0) -> Head | None:
    """The summary that begins at *start* of *text*, or ``None`` if law L20's conditions on it do not hold."""
    header = _HEADER.match(text, start)
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
            joined = tuple(map(int, (layout[5] or "").split()))
            return Head(inside[layout.end() :], Layout(pins, earlier, reminders, layout[4] == "yes", joined), stop)
    return None


@frozen
class Earlier:
    """
    What stands behind the summary for something earlier.

    Attributes:
        text: the words.
        kind: ``prompt``, a person's own words, or ``digest``, what followed the prompt before it, in short.
    """

    text: str
    kind: Literal["prompt", "digest"] = "prompt"


def write_earlier(entries: Sequence[Earlier]) -> str:
    """
    Earlier prompts, quoted verbatim, and digests, as one text; each says how long it is.

    >>> [entry.text for entry in read_earlier(write_earlier([Earlier("first"), Earlier("use uuid keys")]))]
    ['first', 'use uuid keys']
    """
    return _EARLIER + "".join(map(quote, entries))


def quote(entry: Earlier) -> str:
    """One entry as it is quoted."""
    return f"[{entry.kind} chars={len(entry.text)}]\n{entry.text}\n"


def read_earlier(text: str) -> tuple[Earlier, ...]:
    """What `write_earlier` wrote; nothing if *text* is anything else."""
    if not text.startswith(_EARLIER):
        return ()
    found = []
    at = len(_EARLIER)
    while at < len(text):
        line = _QUOTED.match(text, at)
        if line is None:
            return ()
        stop = line.end() + int(line[2])
        found.append(Earlier(text[line.end() : stop], "digest" if line[1] == "digest" else "prompt"))
        at = stop + 1
    return tuple(found)


def user_message(blocks: Sequence[Block], origin: Origin, profile: Profile) -> Message:
    """
    A user-role message of our own.

    Args:
        blocks: what it holds.
        origin: what it is.
        profile: how its provider writes heads and words.
    """
    keys = ("role", "content")
    (first, *rest) = blocks
    if profile.fuse != "yes" and not rest and isinstance(first, Text):
        return Message("user", first.text, wire("user", keys, "string"), origin)
    part = _PARTS.get(profile.dialect)
    if part is not None:
        blocks = [Text(block.text, part) if isinstance(block, Text) and block.wire is _NEUTRAL else block for block in blocks]
    form = "list"
    if profile.fuse == "yes":
        form = ""
    elif profile.fuse == "text" and all(isinstance(block, Text) for block in blocks):
        form = "string"
    return Message("user", tuple(blocks), wire("user", keys, form), origin)


def fused(messages: Sequence[Message]) -> Message:
    """
    The one message that the head of *messages* is on the wire.

    Its blocks are those of the messages in order.  Where each of them is words
    alone in a dialect that writes words as a string, so is the whole, and two
    newlines stand between neighbours.
    """
    blocks = tuple(block for message in messages for block in message.blocks)
    shape = messages[0].wire
    if all(message.wire.form == "string" for message in messages):
        return Message("user", _BETWEEN.join(block.text for block in blocks if isinstance(block, Text)), shape)
    return Message("user", blocks, evolve(shape, form="list") if shape.form == "string" else shape)


def recognise(messages: Sequence[Message], *, fuse: Literal["yes", "text", "no"]) -> tuple[tuple[Message, ...], tuple[int, int]]:
    """
    Give the head of a conversation that was compacted before its origins back.

    Args:
        messages: as the wire has them.
        fuse: how the dialect writes the head; one text is recognised in any that writes words as a string.

    Returns:
        The messages, with the head's origins stated (and, where it was fused,
        taken apart), and the range of them that is one message on the wire.
    """
    for position, message in enumerate(messages):
        if message.role in ("system", "developer", "other") or _is_compaction(message):
            continue
        if message.role != "user":
            break
        if message.origin not in (None, Origin.SUMMARY):
            continue
        content = message.content
        if isinstance(content, str):
            found = _find(content)
            if found is None:
                continue
            start, head = found
            if not start and head.stop == len(content):
                return _state(messages, position, head.layout), (0, 0)
            if message.wire.form not in ("", "string"):
                break  # a text in the place of all messages: it cannot be two
            return _replace(messages, position, _split(message, content, start, head))
        for place, block in enumerate(content):
            known = read_summary(block.text) if isinstance(block, Text) and block.text.startswith(_START) else None
            if known is None:
                continue
            if fuse != "yes" and place == 0 and len(content) == 1 + known.layout.earlier:
                return _state(messages, position, known.layout), (0, 0)
            if known.layout.pins <= place:
                return _replace(messages, position, _take_apart(message, place, known.layout))
    return tuple(messages), (0, 0)


def _is_compaction(message: Message) -> bool:
    """Whether a message is a provider's compaction object, which stands first in the head."""
    blocks = message.content
    return not isinstance(blocks, str) and any(isinstance(block, Opaque) and block.kind == "compaction" for block in blocks)


def _find(text: str) -> tuple[int, Head] | None:
    """Where in *text* a summary begins, and the summary."""
    start = text.find(_START)
    for _ in range(_MOST_STARTS):
        if start < 0:
            break
        head = read_summary(text, start) if not start or text.startswith(_BETWEEN, start - len(_BETWEEN)) else None
        if head is not None and (head.stop == len(text) or text.startswith(_BETWEEN, head.stop)):
            return start, head
        start = text.find(_START, start + 1)
    return None


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


def _replace(messages: Sequence[Message], position: int, parts: Sequence[Message]) -> tuple[tuple[Message, ...], tuple[int, int]]:
    """The messages with *parts* in the place of one, and their range."""
    return (*messages[:position], *parts, *messages[position + 1 :]), (position, position + len(parts))


def _take_apart(whole: Message, place: int, layout: Layout) -> list[Message]:
    """The messages of which *whole* was made, block by block."""
    blocks = whole.blocks
    after = place + 1 + layout.earlier
    pieces = [
        (blocks[: place - layout.pins], Origin.HARNESS),
        (blocks[place - layout.pins : place], Origin.PIN),
        (blocks[place:after], Origin.SUMMARY),
        *((blocks[at : at + 1], Origin.REMINDER) for at in range(after, after + layout.reminders)),
        (blocks[after + layout.reminders :], None),
    ]
    return [Message("user", piece, whole.wire, origin) for piece, origin in pieces if piece]


def _split(whole: Message, text: str, start: int, head: Head) -> list[Message]:
    """The messages of which *whole* was made, whose *text* they are, joined."""
    layout = head.layout
    lengths = layout.joined_chars if len(layout.joined_chars) == layout.pins + layout.earlier + layout.reminders else ()
    pinned = lengths[: layout.pins]
    first = start - sum(pinned) - len(_BETWEEN) * len(pinned)
    pins = _cut(text, first, pinned)
    after = _cut(text, head.stop + len(_BETWEEN), lengths[layout.pins :])
    if pins is None or after is None:  # somebody changed what stands around the summary: it is words, as any others
        first, pins, after = start, [], []
    last = head.stop + sum(map(len, after)) + len(_BETWEEN) * len(after)
    pieces = [
        ([text[: first - len(_BETWEEN)]] if first else [], Origin.HARNESS),
        (pins, Origin.PIN),
        ([text[start : head.stop], *after[: layout.earlier]], Origin.SUMMARY),
        *(([reminder], Origin.REMINDER) for reminder in after[layout.earlier :]),
        ([text[last + len(_BETWEEN) :]] if last < len(text) else [], None),
    ]
    shape = evolve(whole.wire, form="string")
    return [
        Message("user", piece[0] if len(piece) == 1 else tuple(map(Text, piece)), shape, origin)
        for piece, origin in pieces
        if piece
    ]


def _cut(text: str, start: int, lengths: Sequence[int]) -> list[str] | None:
    """The pieces of these *lengths* from *start* on, if two newlines, or the end, stand around each of them."""
    pieces = []
    for length in lengths:
        stop = start + length
        if start < 0 or stop > len(text) or (start and not text.startswith(_BETWEEN, start - len(_BETWEEN))):
            return None
        if stop < len(text) and not text.startswith(_BETWEEN, stop):
            return None
        pieces.append(text[start:stop])
        start = stop + len(_BETWEEN)
    return pieces
