"""
Lines of a log as they stand, and values in them put in place of others.

What this is
    `Record`, one line of a file byte for byte, and `splice`, which changes
    some values in the text of a JSON object and leaves every other character
    as it is: numbers keep their spelling, strings their escapes.

Rules it obeys
    * Nothing is written anew but what was asked for.
    * A line that holds anything but one whole object (a torn record, two of
      them) can stay, and cannot be changed; `parted` gives each record a line.
    * Bytes that are no UTF-8 stay, wherever they are not asked to go.

How it works
    The standard decoder reads one value after the other and says where it
    ended; only the way to the values that change is walked by hand.

What is not here
    What the values mean: `forms`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from ..dialects.reading import dumps, loads
from ..errors import WireError
from ..model import Json
from .lines import seam

__all__ = ["Path", "Record", "parted", "records_of", "splice", "splice_items"]

Path: TypeAlias = tuple[str, ...]
"""Keys that lead from a record to a value in it."""

_SPACE: Final = re.compile(r"[ \t\r\n]*")
_DECODER: Final = json.JSONDecoder()
_AROUND: Final = b"\0 \t\r"
_BOM: Final = b"\xef\xbb\xbf"


class Record:
    """
    One line of a file.

    Attributes:
        number: counted from 1.
        raw: its bytes, without the newline.
    """

    __slots__ = ("_read", "number", "raw")

    def __init__(self, number: int, raw: bytes) -> None:
        self.number: Final = number
        self.raw: Final = raw
        self._read: tuple[str, dict[str, Json]] | None = None

    @property
    def value(self) -> dict[str, Json]:
        """
        The object on the line.

        Raises:
            WireError: it is not one whole object.
        """
        return self._whole()[1]

    @property
    def is_whole(self) -> bool:
        """Whether there is one whole object on it."""
        try:
            self._whole()
        except WireError:
            return False
        return True

    @property
    def text(self) -> str:
        """The text of the object; raises as `value` does."""
        return self._whole()[0]

    def _whole(self) -> tuple[str, dict[str, Json]]:
        if self._read is None:
            start = len(_BOM) if self.raw.startswith(_BOM) else 0
            body = self.raw[start:].strip(_AROUND)
            try:
                text = body.decode(errors="surrogateescape")
                value = loads(body.decode(errors="replace"))  # as it is read
            except WireError as error:
                raise WireError(f"line {self.number}", "does not hold one whole record, and would have to be changed") from error
            if not isinstance(value, dict):
                raise WireError(f"line {self.number}", "is no object, and would have to be changed")
            self._read = text, value
        return self._read

    def with_text(self, text: str) -> bytes:
        """The line with *text* in place of its object."""
        start = self.raw.find(b"{")
        stop = self.raw.rfind(b"}") + 1
        return self.raw[:start] + text.encode(errors="surrogateescape") + self.raw[stop:]

    @property
    def ending(self) -> bytes:
        """What a line of its own kind ends in before the newline."""
        return b"\r" if self.raw.endswith(b"\r") else b""


def records_of(data: bytes) -> list[Record]:
    """The lines of a file; joined by newlines they are the file."""
    return [Record(number, raw) for number, raw in enumerate(data.split(b"\n"), 1)]


def parted(data: bytes) -> bytes:
    r"""
    The file with a newline where a whole record begins behind a torn one, or behind another.

    >>> parted(b'{"type":"us{"type":"user"}\n{"type":"user"}')
    b'{"type":"us\n{"type":"user"}\n{"type":"user"}'
    """
    made = []
    for record in records_of(data):
        found = None if record.is_whole else seam(record.raw.rstrip(_AROUND))
        if found is None:
            made.append(record.raw)
        else:
            place, _value = found
            made += [record.raw[:place] + record.ending, record.raw[place:]]
    return b"\n".join(made)


def splice(text: str, values: Mapping[Path, Json]) -> str:
    """
    The object with these values in place of its own; a key that it lacks is left out.

    >>> splice('{"a": 1.50, "b": {"c": "\\\\u00e9", "d": []}}', {("b", "d"): [1]})
    '{"a": 1.50, "b": {"c": "\\\\u00e9", "d": [1]}}'
    """
    found = [(place, values[path]) for path in values if (place := _place(text, path)) is not None]
    return _replaced(text, [(start, stop, dumps(value)) for (start, stop), value in found])


def splice_items(
    text: str,
    path: Path,
    order: Sequence[int],
    values: Mapping[int, Json],
    beside: Mapping[int, tuple[list[Json], list[Json]]],
) -> str:
    """
    The object with other items in the list at *path*.

    Args:
        order: which of the old items stand there, in order.
        values: what stands in the place of some of them.
        beside: what is new, by the old item that it stands before, or behind.

    >>> splice_items('{"a": [1.0, 2.0, 3.0]}', ("a",), [0, 2], {2: 9}, {0: ([6], [7])})
    '{"a": [6, 1.0, 7, 9]}'
    """
    outer = _place(text, path)
    if outer is None:
        return text
    items = [(start, stop) for _at, start, stop in _members(text, outer[0])]
    own = {at: dumps(values[at]) if at in values else text[items[at][0] : items[at][1]] for at in order}
    gap = text[items[0][1] : items[1][0]] if len(items) > 1 else ","
    written: list[str] = []
    for at in order:
        ahead, behind = beside.get(at, ((), ()))
        written += [*map(dumps, ahead), own[at], *map(dumps, behind)]
    first, last = (items[0][0], items[-1][1]) if items else (outer[0] + 1, outer[1] - 1)
    return _replaced(text, [(first, last, gap.join(written))])


def _replaced(text: str, pieces: list[tuple[int, int, str]]) -> str:
    made = []
    at = 0
    for start, stop, piece in sorted(pieces):
        made += [text[at:start], piece]
        at = stop
    return "".join([*made, text[at:]])


def _place(text: str, path: Path) -> tuple[int, int] | None:
    """Where the value at *path* stands in the object *text*."""
    start, stop = 0, len(text)
    for name in path:
        if text[start] != "{":
            return None
        for key, first, last in _members(text, start):
            if key == name:
                start, stop = first, last
                break
        else:
            return None
    return start, stop


def _members(text: str, at: int) -> Iterator[tuple[str | int, int, int]]:
    """(key or position, start, stop) of each value of the valid object or list that begins at *at*."""
    is_object = text[at] == "{"
    at = _skip(text, at + 1)
    count = 0
    while text[at] not in "}]":
        key: str | int = count
        if is_object:
            key, at = _DECODER.raw_decode(text, at)
            at = _skip(text, _skip(text, at) + 1)
        _value, stop = _DECODER.raw_decode(text, at)
        yield key, at, stop
        count += 1
        at = _skip(text, stop)
        if text[at] == ",":
            at = _skip(text, at + 1)


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return at if found is None else found.end()
