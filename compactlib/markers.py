"""
The marker that stands for what an excerpt leaves out.

What this is
    The one grammar of omission markers: `write_marker`, and `read_marker`,
    which recognises what was written.

Rules it obeys
    * A marker says how much is missing, in characters and newlines, that
      absence from the excerpt is not absence from the original, and where the
      original can be fetched if it was stored (law L11).
    * A marker is believed only if its reference is in the issued table of this
      conversation.  Text that merely looks like one is data (laws L11, L25).

Grammar, version 1
    ::

        [truncated v1: omitted N of N chars, N of N lines; CLAUSE(; ref=HEX64)(; N numbered lines from there follow)]

    CLAUSE is one of two fixed wordings, `BRIEF` and `FULL`.  In text the
    marker stands on a line of its own, and those newlines around it that the
    original did not have are the marker's.  Numbered lines follow it directly,
    each ``N: `` and a whole line or ``N~ `` and a part of one, and then
    ``[end of numbered lines]``.  In JSON the marker is a string value.

How a forged one is told
    Beside the reference, the original's size must be the one issued, and what
    stands around the marker plus what it says is missing must make up exactly
    that.  So a genuine marker copied into other text is data too.

What is not here
    Which part of a text is left out (`truncation`), and who keeps the table.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, TypeAlias

from attrs import frozen

from .text import count_newlines

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["BRIEF", "CLOSING", "FULL", "NUMBERED_LIMIT_LINES", "REFERENCE", "Issued", "Marker", "read_marker", "write_marker"]

Issued: TypeAlias = Mapping[str, tuple[int, int]]
"""The issued table: for each reference this conversation gave out, the characters and newlines of what it stands for."""

NUMBERED_LIMIT_LINES: Final = 100
"""The most numbered lines one marker may have."""

REFERENCE: Final = "[0-9a-f]{64}"
"""What a reference looks like, as a regular expression (law L25 e)."""

BRIEF: Final = "absence here is not absence there"
FULL: Final = "this is an excerpt: absence here is not absence from the original, and the same request is cut the same way"
CLOSING: Final = "[end of numbered lines]"
_OPENING: Final = "[truncated v1: omitted "


@frozen
class Marker:
    """
    A believed marker.

    Attributes:
        ref: the reference, found in the issued table.
        start: where in the text the marker's own characters begin.
        stop: where they end, numbered lines included.
        original_chars: size of the first original.
        original_lines: its newline characters.
        omitted_chars: how much of it the text does not show.
        omitted_lines: likewise, in newline characters.
        numbered: the numbered lines as (line number, start, stop) in the text.
    """

    ref: str
    start: int
    stop: int
    original_chars: int
    original_lines: int
    omitted_chars: int
    omitted_lines: int
    numbered: tuple[tuple[int, int, int], ...]


def write_marker(
    *, omitted: tuple[int, int], original: tuple[int, int], ref: str | None = None, clause: str = BRIEF, numbered: int = 0
) -> str:
    """
    The marker's own line, without newlines around it.

    Args:
        omitted: characters and newlines that are not shown.
        original: characters and newlines of the first original.
        ref: the reference of the original.
        clause: `BRIEF` or `FULL`.
        numbered: how many numbered lines the caller puts behind it.

    >>> write_marker(omitted=(900, 30), original=(1000, 34))
    '[truncated v1: omitted 900 of 1000 chars, 30 of 34 lines; absence here is not absence there]'
    """
    chars, lines = (f"{part} of {whole}" for part, whole in zip(omitted, original, strict=True))
    pointer = f"; ref={ref}" if ref is not None else ""
    follow = f"; {numbered} numbered lines from there follow" if numbered else ""
    return f"{_OPENING}{chars} chars, {lines} lines; {clause}{pointer}{follow}]"


@functools.cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """A marker with a reference, and a numbered line.  Each part excludes the next, so matching is linear."""
    number = "([0-9]{1,15})"
    head = rf"{re.escape(_OPENING)}{number} of {number} chars, {number} of {number} lines; (?:{BRIEF}|{FULL})"
    return (
        re.compile(rf"{head}; ref=({REFERENCE})(?:; ([0-9]{{1,3}}) numbered lines from there follow)?\]"),
        re.compile(rf"{number}(?:: ([^\n]*\n)|~ ([^\n]*)\n)"),
    )


def _numbered_lines(text: str, at: int, count: int) -> tuple[int, list[tuple[int, int, int]]] | None:
    """Where the block of *count* numbered lines at *at* ends, and the lines."""
    if count > NUMBERED_LIMIT_LINES:
        return None
    found = []
    for _ in range(count):
        line = _patterns()[1].match(text, at)
        if line is None:
            return None
        found.append((int(line[1]), *line.span(3 if line[2] is None else 2)))
        at = line.end()
    return (at + len(CLOSING), found) if text.startswith(CLOSING, at) else None


def _extents(text: str, start: int, stop: int) -> Iterable[tuple[int, int]]:
    """What may be the marker's own if its line is ``[start, stop)``: quotes in JSON, in text the newlines set around it."""
    before, after = text[start - 1 : start], text[stop : stop + 1]
    if before == after == '"':
        yield start - 1, stop + 1
    if before in ("", "\n") and after in ("", "\n"):
        yield start, stop + len(after)
        yield start - len(before), stop + len(after)


def read_marker(text: str, *, issued: Issued) -> Marker | None:
    """
    The marker in *text* that is to be believed, if there is one.

    Law L11: only if its reference is in *issued* and its numbers add up, see
    the head of this module.  Linear in the text, whatever it holds.

    >>> marker = write_marker(omitted=(90, 9), original=(100, 10), ref="5f" * 32)
    >>> read_marker(f"begin\\n{marker}\\nend.", issued={"5f" * 32: (100, 10)}).omitted_lines
    9
    >>> read_marker(f"begin\\n{marker}\\nend of it", issued={"5f" * 32: (100, 10)}) is None  # does not add up
    True
    >>> read_marker(f"begin\\n{marker}\\nend.", issued={}) is None
    True
    """
    newlines = -1  # of the whole text, counted once and only when all else is right
    at = text.find(_OPENING) if issued else -1
    while at >= 0:
        found = _patterns()[0].match(text, at)
        at = text.find(_OPENING, at + 1)
        if found is None or found[5] not in issued:
            continue
        omitted_chars, chars, omitted_lines, lines = (int(found[group]) for group in range(1, 5))
        if (chars, lines) != tuple(issued[found[5]]):
            continue
        stop, numbered = found.end(), list[tuple[int, int, int]]()
        if found[6] is not None:
            block = _numbered_lines(text, stop + 1, int(found[6])) if text.startswith("\n", stop) else None
            if block is None:
                continue
            stop, numbered = block
        shown_chars = sum(end - begin for _, begin, end in numbered)
        shown_lines = sum(text[end - 1] == "\n" for _, _, end in numbered)
        for first, last in _extents(text, found.start(), stop):
            if len(text) - (last - first) + shown_chars + omitted_chars != chars:
                continue
            newlines = count_newlines(text) if newlines < 0 else newlines
            if newlines - count_newlines(text, first, last) + shown_lines + omitted_lines == lines:
                return Marker(found[5], first, last, chars, lines, omitted_chars, omitted_lines, tuple(numbered))
    return None
