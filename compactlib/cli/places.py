"""
Where in a JSON document each message stands.

What this is
    `message_places`, and `message_lines` without the columns, for findings that an editor can jump to, and `fault_line`
    for what is refused: JSON parsers keep no positions.

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

from ..dialects.reading import MAX_DEPTH, MAX_DIGITS

__all__ = ["fault_line", "message_lines", "message_places"]

_SPACE: Final = re.compile(r"[ \t\r\n]*")
_DECODER: Final = json.JSONDecoder()
_TOKEN: Final = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[][{}:,]|[^][{}:,"\s]+', re.DOTALL)
_WAY: Final = {"messages": "[", "contents": "[", "input": "[", "steps": "[", "body": "{", "params": "{"}
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


def fault_line(document: str, problem: str) -> int | None:
    r"""
    The line of what `compactlib.dialects.reading` refused in well-formed JSON, where its error has no place.

    Args:
        document: the text.
        problem: what was said of it.

    >>> fault_line('{"a": 1,\n "a": 2}', "the key 'a' occurs twice in one object")
    2
    """
    try:
        at = _fault(document, problem)
    except (ValueError, IndexError):
        return None
    return None if at is None else document.count("\n", 0, at) + 1


def _fault(document: str, problem: str) -> int | None:
    keys: list[set[str]] = []  # of each object or list that is open
    twice: list[int | None] = []  # where a key of it came again
    text = (0, '""')
    for found in _TOKEN.finditer(document):
        at, word = found.start(), found[0]
        if word[0] == '"':
            text = (at, word)
        elif word == ":":
            key = json.loads(text[1])
            if key in keys[-1] and twice[-1] is None:
                twice[-1] = text[0]
            keys[-1].add(key)
        elif word in "[{":
            keys.append(set())
            twice.append(None)
            if len(keys) > MAX_DEPTH:
                return at if problem.startswith("nested") else None
        elif word in "]}":
            keys.pop()
            again = twice.pop()
            if again is not None and "occurs twice" in problem:
                return again
        elif problem.startswith(f"{word} ") or (len(word) > MAX_DIGITS and "digits" in problem):
            return at
    return None


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
