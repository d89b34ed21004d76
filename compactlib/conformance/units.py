"""
Wire bodies as the checks read them.

What this is
    `read` turns the messages of a wire body into *units*: plain values with a
    role, blocks, and the exact bytes they stand for.  One unit is one message,
    but for a fused head, which is taken apart into its pins, its summary, its
    reminders and its prompt.

Rules it obeys
    * It shares no code with the engine, its dialects included: it reads the
      wire again, from the providers' documents and from the published form of
      a summary's header.
    * Cache marks are not content; everything else is, key order included.

What is not here
    What a unit is in its place (`dividing`).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from typing import Final

from attrs import evolve, frozen

from ..model import Json
from .record import Origin
from .wires import Block, canonical, messages_of, read_messages, runs_on
from .wires.block import text_block

__all__ = ["Block", "Summary", "Unit", "read", "read_summary"]

_HEADER: Final = re.compile(r"\[compactlib summary v1 chars=([0-9]{1,9}) sha256=([0-9a-f]{16})\]\n")
_LAYOUT: Final = re.compile(
    r"^Layout: pins=([0-9]{1,6}) earlier=([0-9]{1,6}) reminders=([0-9]{1,6}) under-way=(yes|no)\n"
    r"(?:Joined:((?: [0-9]{1,9})+)\n)?\n",
    re.MULTILINE,
)
_BETWEEN: Final = "\n\n"
"""What stands between the parts of a head that is one text."""


@frozen
class Unit:
    """
    One message, or one part of a fused head.

    Attributes:
        index: the wire's index.
        role: ``system``, ``user``, ``model`` or ``tool``.
        blocks: in order.
        raw: the message as JSON with its keys in their order, cache marks apart; ``""`` for a part of a head.
        kind: what it is, where that is stated or told by the head's layout.
        runs_on: whether it continues the response of the model that the unit before it is of.
    """

    index: int
    role: str
    blocks: tuple[Block, ...]
    raw: str
    kind: Origin | None = None
    runs_on: bool = False

    @property
    def is_compaction(self) -> bool:
        """Whether it is the provider's own compaction object and nothing else."""
        return [block.kind for block in self.blocks] == ["compaction"]

    @property
    def raws(self) -> tuple[str, ...]:
        """Its blocks as canonical JSON: a string and a list of one text are the same."""
        return tuple(block.raw for block in self.blocks)

    @property
    def text(self) -> str:
        """Its words: text blocks alone."""
        return "\n".join(block.text for block in self.blocks if block.kind == "text")

    def of_kind(self, kind: str) -> tuple[Block, ...]:
        """Its blocks of one kind."""
        return tuple(block for block in self.blocks if block.kind == kind)


@frozen
class Summary:
    """
    A summary with a true header.

    Attributes:
        body: its sections.
        pins, earlier, reminders: how many blocks before and after it belong to the head.
        under_way: whether it says that the request after it is already being worked on.
        rest: what stands behind it in the same text.
        joined: the lengths of those blocks, where the head is one text.
    """

    body: str
    pins: int
    earlier: int
    reminders: int
    under_way: bool
    rest: str
    joined: tuple[int, ...] = ()


def read_summary(text: str) -> Summary | None:
    """The summary that *text* begins with, if its header, its length and its digest are right."""
    header = _HEADER.match(text)
    if header is None:
        return None
    whole = text[header.end() : header.end() + int(header[1])]
    digest = hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()
    layout = _LAYOUT.search(whole)
    if len(whole) != int(header[1]) or not digest.startswith(header[2]) or layout is None:
        return None
    pins, earlier, reminders = (int(layout[group]) for group in (1, 2, 3))
    rest = text[header.end() + len(whole) :]
    joined = tuple(map(int, (layout[5] or "").split()))
    return Summary(whole[layout.end() :], pins, earlier, reminders, layout[4] == "yes", rest, joined)


def read(body: Json, dialect: str, kinds: Sequence[Origin | None] | None = None) -> tuple[Unit, ...]:
    """
    The units of a body.

    Args:
        body: a request body, or a list of messages.
        dialect: whose wire shape it has.
        kinds: what each message is, where that is known.

    >>> [unit.role for unit in read([{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}], "anthropic")]
    ['user', 'model']
    """
    units: list[Unit] = []
    for index, (message, (role, blocks)) in enumerate(zip(messages_of(body, dialect), read_messages(body, dialect), strict=True)):
        kind = kinds[index] if kinds is not None and index < len(kinds) else None
        unit = Unit(index, role, tuple(blocks), canonical(message, ordered=True), kind)
        behind = units[-1] if units else None
        if runs_on(dialect) and role == "model" and behind is not None and behind.role == "model":
            unit = evolve(unit, runs_on=not (unit.is_compaction or behind.is_compaction))
        units.append(unit)
    return _with_head(units)


# --- The head --------------------------------------------------------------------------------------------------------


def _with_head(units: list[Unit]) -> tuple[Unit, ...]:
    """The same units with the head of an earlier compaction taken apart, if there is one."""
    for at, unit in enumerate(units):
        if unit.role == "system" or unit.kind in ("pin", "reminder", "summary") or unit.is_compaction:
            continue
        if unit.role != "user":
            break
        if len(unit.blocks) == 1 and unit.blocks[0].kind == "text":
            parts = _of_one_text(unit, unit.blocks[0].text)
            if parts:
                return (*units[:at], *parts, *units[at + 1 :])
        for place, block in enumerate(unit.blocks):
            summary = read_summary(block.text) if block.kind == "text" else None
            if summary is None:
                continue
            if place == 0 and len(unit.blocks) == 1 + summary.earlier and not summary.rest:
                return _separate(units, at, summary)
            if summary.pins <= place:
                return (*units[:at], *_apart(unit, place, summary), *units[at + 1 :])
    return tuple(units)


def _separate(units: list[Unit], at: int, summary: Summary) -> tuple[Unit, ...]:
    """Each part of the head is its own message; a second summary among them is none the less one."""
    made = list(units)
    made[at] = evolve(units[at], kind="summary")
    if summary.pins and at and len(units[at - 1].blocks) == summary.pins:
        made[at - 1] = evolve(units[at - 1], kind="pin")
    for after in range(at + 1, len(units)):
        if units[after].role != "user":
            break
        if read_summary(units[after].blocks[0].text if units[after].blocks else "") is not None:
            made[after] = evolve(units[after], kind="summary")
        elif after <= at + summary.reminders:
            made[after] = evolve(units[after], kind="reminder")
    return tuple(made)


def _apart(unit: Unit, place: int, summary: Summary) -> Iterator[Unit]:
    """The parts of a head that is one message."""
    blocks = unit.blocks
    stop = place + 1 + summary.earlier
    rest = stop + summary.reminders
    parts: list[tuple[tuple[Block, ...], Origin | None]] = [
        (blocks[: place - summary.pins], "harness"),
        (blocks[place - summary.pins : place], "pin"),
        (blocks[place:stop], "summary"),
        *((blocks[after : after + 1], "reminder") for after in range(stop, rest)),
    ]
    second = read_summary(blocks[rest].text) if rest < len(blocks) else None
    if second is not None:
        parts.append((blocks[rest : rest + 1 + second.earlier], "summary"))
        rest += 1 + second.earlier
    parts.append((blocks[rest:], unit.kind or "prompt"))
    for part, kind in parts:
        if part:
            yield Unit(unit.index, unit.role, part, "", kind)


def _of_one_text(unit: Unit, text: str) -> list[Unit]:
    """The parts of a head that is one text, by the lengths that its summary states; none if it is no such head."""
    for found in _HEADER.finditer(text):
        start = found.start()
        summary = read_summary(text[start:])
        if summary is None or (not summary.joined and not summary.rest and not start):
            continue
        lengths = summary.joined if len(summary.joined) == summary.pins + summary.earlier + summary.reminders else ()
        words = text[start : len(text) - len(summary.rest)]
        pins = _pieces(text[:start][::-1], lengths[: summary.pins][::-1])
        after = _pieces(summary.rest, lengths[summary.pins :])
        if pins is None or after is None:
            pins, after = ([], text[:start][::-1]), ([], summary.rest)
        quoted, reminders = after[0][: summary.earlier], after[0][summary.earlier :]
        parts: list[tuple[list[str], Origin | None]] = [
            ([pins[1][::-1].removesuffix(_BETWEEN)], "harness"),
            ([pin[::-1] for pin in reversed(pins[0])], "pin"),
            ([words, *quoted], "summary"),
            *(([reminder], "reminder") for reminder in reminders),
        ]
        rest = after[1].removeprefix(_BETWEEN)
        second = read_summary(rest)
        if second is not None:
            parts.append(([rest[: len(rest) - len(second.rest)]], "summary"))
            rest = second.rest.removeprefix(_BETWEEN)
        parts.append(([rest], unit.kind or "prompt"))
        return [
            Unit(unit.index, unit.role, tuple(map(text_block, piece)), "", kind)
            for piece, kind in parts
            if piece and (len(piece) > 1 or piece[0])
        ]
    return []


def _pieces(text: str, lengths: Sequence[int]) -> tuple[list[str], str] | None:
    """The pieces of these lengths at the beginning of *text*, each behind two newlines, and what is left."""
    pieces = []
    for length in lengths:
        if not text.startswith(_BETWEEN) or len(text) < len(_BETWEEN) + length:
            return None
        pieces.append(text[len(_BETWEEN) : len(_BETWEEN) + length])
        text = text[len(_BETWEEN) + length :]
    return (pieces, text) if not text or text.startswith(_BETWEEN) else None
