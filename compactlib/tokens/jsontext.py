"""
The JSON text of a value, however deep it is.

What this is
    `json_text`: what the standard encoder writes, in Unicode letters, for any
    value that a conversation may hold.

Rules it obeys
    * It never raises and never recurses: 10,000 levels, integers of 5,000
      digits, values inside themselves and things that are no JSON all have
      some text, because whatever has been put into a conversation is counted.

How it works
    The standard encoder does it in C.  Where that gives up, the same text is
    written with a stack of our own; there a container inside itself is
    ``null`` and a thing that is no JSON is the name of its type.

What is not here
    Canonical JSON, for digests: `compactlib.record`.
"""

from __future__ import annotations

from collections.abc import Iterator
from json import JSONEncoder
from typing import Final

from ..model import Json

__all__ = ["json_text"]

_encode: Final = JSONEncoder(ensure_ascii=False).encode

_DIGITS: Final = 4_300
"""More digits than these the interpreter does not write out by default."""


def json_text(value: Json) -> str:
    """
    The JSON text of *value*.

    >>> json_text({"path": "отчёт.txt", "limit": 200})
    '{"path": "отчёт.txt", "limit": 200}'
    """
    if value.__class__ is str:
        return _encode(value)
    try:
        return _encode(value)
    except (RecursionError, TypeError, ValueError):
        return "".join(_written(value))


def _written(value: Json) -> Iterator[str]:
    """The pieces of the text.  The stack holds what is still to be written: pieces, and containers with their place."""
    open_containers: set[int] = set()
    stack: list[tuple[str, Json, Iterator[Json]] | Json] = []
    current: Json = value
    while True:
        if current.__class__ in (dict, list, tuple) and id(current) not in open_containers:
            open_containers.add(id(current))
            yield "{" if current.__class__ is dict else "["
            stack.append((current, iter(list(current.items()) if current.__class__ is dict else current), ""))
        else:
            yield _scalar(current) if current.__class__ not in (dict, list, tuple) else "null"
        while stack:
            container, rest, comma = stack.pop()
            for item in rest:
                stack.append((container, rest, ", "))
                yield comma
                if container.__class__ is dict:
                    key, current = item
                    yield _encode(key if key.__class__ is str else _scalar(key)) + ": "
                else:
                    current = item
                break
            else:
                open_containers.discard(id(container))
                yield "}" if container.__class__ is dict else "]"
                continue
            break
        else:
            return


def _scalar(value: Json) -> str:
    if value.__class__ is int and value.bit_length() > _DIGITS * 3:
        return "9" * (value.bit_length() * 301 // 1_000)
    try:
        return _encode(value)
    except (RecursionError, TypeError, ValueError):
        return _encode(type(value).__name__)
