"""
Where in a JSON document each message stands.

What this is
    `message_places`, and `message_lines` without the columns, for findings that an editor can jump to: JSON parsers keep
    no positions.

How it works
    The standard decoder reads one value after the other (`raw_decode`) and
    says where it ended; only the way to the messages is walked by hand.

What is not here
    Logs of one record a line: their reader knows the lines.
"""

from __future__ import annotations

import json
import re
from typing import Final

__all__ = ["message_lines", "message_places"]

_SPACE: Final = re.compile(r"[ \t\r\n]*")
_DECODER: Final = json.JSONDecoder()
_WAY: Final = {"messages": "[", "contents": "[", "input": "[", "body": "{"}
"""Keys that lead to the messages, and what opens their value: of a request body, and of what was recorded around one."""


def message_lines(document: str) -> tuple[int, ...]:
    r"""
    The line of each message, counted from 1; empty if *document* is none with messages.

    >>> message_lines('{"messages": [\n{"role": "user"},\n\n{"role": "user"}]}')
    (2, 4)
    """
    return tuple(line for line, _column in message_places(document))


def message_places(document: str) -> tuple[tuple[int, int], ...]:
    r"""
    Line and column of each message, counted from 1; empty if *document* is none with messages.

    >>> message_places('{"messages": [\n {"role": "user"}, {"role": "user"}]}')
    ((2, 2), (2, 20))
    """
    try:
        starts = _starts(document, _skip(document, 0))
    except (ValueError, IndexError, RecursionError):
        return ()
    places = []
    line, begin, seen = 1, 0, 0  # the line, and where it begins
    for start in starts:
        newlines = document.count("\n", seen, start)
        if newlines:
            line += newlines
            begin = document.rindex("\n", seen, start) + 1
        seen = start
        places.append((line, start - begin + 1))
    return tuple(places)


def _skip(document: str, at: int) -> int:
    found = _SPACE.match(document, at)
    return at if found is None else found.end()


def _starts(document: str, at: int) -> list[int]:
    """Where the messages begin in the list, or the object that leads to one, at *at*."""
    if document[at] == "[":
        return _items(document, at)
    if document[at] != "{":
        return []
    at = _skip(document, at + 1)
    while document[at] != "}":
        key, at = _DECODER.raw_decode(document, at)
        at = _skip(document, _skip(document, at) + 1)
        if _WAY.get(key) == document[at]:
            return _starts(document, at)
        _, at = _DECODER.raw_decode(document, at)
        at = _skip(document, at)
        if document[at] == ",":
            at = _skip(document, at + 1)
    return []


def _items(document: str, at: int) -> list[int]:
    starts = []
    at = _skip(document, at + 1)
    while document[at] != "]":
        starts.append(at)
        _, at = _DECODER.raw_decode(document, at)
        at = _skip(document, at)
        if document[at] == ",":
            at = _skip(document, at + 1)
    return starts
