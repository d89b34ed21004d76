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

from collections.abc import Callable, Iterator
from json import JSONEncoder, encoder
from typing import Any, Final

from ..model import Json

__all__ = ["json_text", "plain_json"]

_encode: Final = JSONEncoder(ensure_ascii=False).encode


def _in_c() -> Callable[[Json, int], tuple[str, ...]] | None:
    """
    The encoder behind `JSONEncoder`, made once: to make it takes longer than to write the arguments of a call.

    Without a memory of what it is inside of, it ends a circle by a `RecursionError`.
    """
    make: Any = getattr(encoder, "c_make_encoder", None)
    if make is None:  # an interpreter without it
        return None
    sort_keys = skip_keys = False
    allow_nan = True
    made: Callable[[Json, int], tuple[str, ...]] = make(
        None, JSONEncoder().default, encoder.encode_basestring, None, ": ", ", ", sort_keys, skip_keys, allow_nan
    )
    return made


_pieces: Final = _in_c()

_WRITTEN_BITS: Final = 14_000
"""Integers of about 4,300 digits and more the interpreter does not write out by default."""


def json_text(value: Json) -> str:
    """
    The JSON text of *value*.

    >>> json_text({"path": "отчёт.txt", "limit": 200})
    '{"path": "отчёт.txt", "limit": 200}'
    """
    try:
        return plain_json(value)
    except (RecursionError, TypeError, ValueError):
        return "".join(_written(value))


def plain_json(value: Json) -> str:
    """
    The JSON text of a value that has one.

    Raises:
        RecursionError: it is too deep, or holds itself.
        TypeError: something in it is no JSON.
        ValueError: likewise.
    """
    return _encode(value) if _pieces is None else "".join(_pieces(value, 0))


_VALUE: Final = 0
_PIECE: Final = 1
_CLOSE: Final = 2


def _written(value: Json) -> Iterator[str]:
    """The pieces of the text.  The stack holds what is still to come: values, finished pieces, containers to be left."""
    inside: set[int] = set()
    stack: list[tuple[int, Json]] = [(_VALUE, value)]
    while stack:
        sort, item = stack.pop()
        if sort == _PIECE:
            yield item
        elif sort == _CLOSE:
            inside.discard(item)
        elif item.__class__ not in (dict, list, tuple):
            yield _scalar(item)
        elif id(item) in inside:
            yield "null"
        else:
            inside.add(id(item))
            stack.append((_CLOSE, id(item)))
            if item.__class__ is dict:
                entries = [(f"{_scalar(key if key.__class__ is str else json_text(key))}: ", held) for key, held in item.items()]
                yield "{"
                stack.append((_PIECE, "}"))
            else:
                entries = [("", held) for held in item]
                yield "["
                stack.append((_PIECE, "]"))
            for place in range(len(entries) - 1, -1, -1):
                lead, held = entries[place]
                stack += ((_VALUE, held), (_PIECE, f", {lead}" if place else lead))


def _scalar(value: Json) -> str:
    if value.__class__ is int and value.bit_length() > _WRITTEN_BITS:
        return "9" * (value.bit_length() * 30_103 // 100_000 + 1)  # by the logarithm of 2
    try:
        return _encode(value)
    except (RecursionError, TypeError, ValueError):
        return _encode(type(value).__name__)
