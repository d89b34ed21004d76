"""
Reading and writing JSON, strictly, and taking ownership of it.

What this is
    The one reader for everything that comes as text (request bodies, lines of
    session files), the one function that copies JSON values given as Python
    objects, and the one writer.

Rules it obeys
    * Whatever is wrong becomes a `WireError` with a JSON path; no other
      exception escapes, for any input.
    * Decided answers for the corners of JSON: nesting deeper than 200, ``NaN``
      and infinities, duplicate keys, integers of more than 4,300 digits and
      keys that are no strings are refused.  Lone surrogates are accepted,
      because a stored history may hold them and rule A-JSON-01 has to be able
      to say so; they are written back as escapes.
    * A number written in an unusual way (``1.50``, ``1E3``) keeps its spelling
      from text to text.
    * Law L19: what the caller passed in is copied, never kept.

What is not here
    What the values mean: that is each dialect's business.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Final

from ..arguments import told
from ..errors import WireError
from ..model import Json

__all__ = ["MAX_DEPTH", "MAX_DIGITS", "MAX_NODES", "Spelled", "bounded", "copy_json", "decode", "dumps", "loads"]

MAX_DEPTH: Final = 200
"""Deepest nesting of lists and objects."""
MAX_DIGITS: Final = 4_300
"""Most digits of an integer."""
MAX_NODES: Final = 20_000_000
"""Most values in one text."""

_LARGEST: Final = 10**MAX_DIGITS
_SMALLEST: Final = -_LARGEST
_PLAIN: Final = frozenset({str, bool, type(None)})
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


class Spelled(float):
    """A number whose spelling is not the one Python would choose."""

    spelling: str

    def __new__(cls, spelling: str) -> Spelled:
        number = super().__new__(cls, spelling)
        number.spelling = spelling
        return number


def loads(text: str | bytes) -> Json:
    """
    Read one JSON value.

    Raises:
        WireError: the text is not JSON, or is JSON of a refused kind.

    >>> loads('{"a": [1, 2.50]}')
    {'a': [1, 2.5]}
    >>> loads('{"a": 1, "a": 2}')
    Traceback (most recent call last):
        ...
    compactlib.errors.WireError: $: the key 'a' occurs twice in one object
    """
    value = decode(text)
    opening = text.count(b"[") + text.count(b"{") if isinstance(text, bytes) else text.count("[") + text.count("{")
    if opening > MAX_DEPTH:  # else it cannot be nested so deep
        _measure(value)
    return value


def decode(text: str | bytes) -> Json:
    """
    Read one JSON value as `loads` does, but for its depth: whoever takes a part of it asks `bounded`, as of a part of an object.

    Raises:
        WireError: as `loads`.
    """
    if isinstance(text, bytes):
        try:
            text = text.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise WireError("$", f"not UTF-8 at byte {error.start}") from error
    try:
        value = json.loads(text, object_pairs_hook=_object, parse_float=_number, parse_constant=_constant)
    except json.JSONDecodeError as error:
        raise WireError("$", f"not JSON at line {error.lineno}, column {error.colno}: {error.msg}") from error
    except RecursionError as error:
        raise WireError("$", f"nested deeper than {MAX_DEPTH} levels") from error
    except WireError:
        raise
    except ValueError as error:
        raise WireError("$", f"an integer of more than {MAX_DIGITS} digits") from error
    if len(text) > MAX_NODES and sum(map(text.count, ",[{")) >= MAX_NODES:  # else there cannot be so many
        _measure(value)
    return value


def bounded(value: Json) -> Json:
    """
    The *value* itself, a part of what `decode` gave.

    Raises:
        WireError: it is nested too deep.
    """
    inside = value.values() if value.__class__ is dict else value if value.__class__ is list else ()
    for item in inside:
        if item.__class__ is dict or item.__class__ is list:
            _measure(value)
            break
    return value


def _object(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    made = dict(pairs)
    if len(made) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise WireError("$", f"the key {key!r} occurs twice in one object")
            seen.add(key)
    return made


def _number(spelling: str) -> float:
    number = float(spelling)
    return number if repr(number) == spelling else Spelled(spelling)


def _constant(name: str) -> float:
    raise WireError("$", f"{name} is not a JSON number")


def _measure(value: Json) -> None:
    """Refuse what is nested too deep or too large, level by level, without recursion."""
    level = [value] if value.__class__ in (dict, list) else []
    nodes = depth = 0
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            raise WireError("$", f"nested deeper than {MAX_DEPTH} levels")
        below: list[Json] = []
        for item in level:
            below.extend(item.values() if item.__class__ is dict else item)
        nodes += len(below)
        if nodes > MAX_NODES:
            raise WireError("$", f"more than {MAX_NODES} values")
        level = [item for item in below if item.__class__ is dict or item.__class__ is list]


def copy_json(value: Json, path: str = "$", depth: int = 0) -> Json:
    """
    A copy of *value* that shares nothing that can be changed.

    Raises:
        WireError: *value* holds something that JSON cannot.
    """
    kind = value.__class__
    if kind is dict and depth < MAX_DEPTH:
        for key, item in value.items():
            sort = item.__class__
            if key.__class__ is not str or not (sort in _PLAIN or (sort is int and _SMALLEST < item < _LARGEST)):
                break
        else:  # one level of plain values, as most arguments of calls are
            return value.copy()
    if kind in _PLAIN:
        return value
    if kind is int:
        if not _SMALLEST < value < _LARGEST:
            raise WireError(path, f"an integer of more than {MAX_DIGITS} digits")
        return value
    if kind is float or kind is Spelled:
        if kind is float and not math.isfinite(value):
            raise WireError(path, f"{value!r} is not a JSON number")
        return value
    if depth >= MAX_DEPTH:
        raise WireError("$", f"nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, dict):
        made = {}
        for key, item in value.items():
            if not isinstance(key, str):
                raise WireError(path, f"the key {key!r} is no string")
            made[key] = item if item.__class__ in _PLAIN else copy_json(item, f"{path}.{key}", depth + 1)
        return made
    if isinstance(value, list):
        return [
            item if item.__class__ in _PLAIN else copy_json(item, f"{path}[{index}]", depth + 1)
            for index, item in enumerate(value)
        ]
    if isinstance(value, str):  # subclasses: string enums, marked-up strings
        return str.__str__(value)
    if isinstance(value, int):
        return copy_json(int.__int__(value), path, depth)
    if isinstance(value, float):
        return copy_json(float.__float__(value), path, depth)
    raise WireError(path, f"a {kind.__name__} is not a JSON value")


def dumps(value: Json) -> str:
    """
    Write JSON compactly, keeping key order, spelling of numbers and letters.

    Lone surrogates become escapes, so the text can always be encoded.

    Raises:
        WireError: *value* holds something that JSON cannot, or too deep.
    """
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        if _has_spelled(value):
            text = "".join(_spell(value))
    except RecursionError as error:
        raise WireError("$", f"nested deeper than {MAX_DEPTH} levels") from error
    except (TypeError, ValueError) as error:
        raise WireError("$", f"no JSON value: {told(error)}") from error
    return text if text.isascii() else _SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _has_spelled(value: Json) -> bool:
    stack = [value]
    while stack:
        item = stack.pop()
        if item.__class__ is dict:
            stack.extend(item.values())
        elif item.__class__ is list:
            stack.extend(item)
        elif item.__class__ is Spelled:
            return True
    return False


def _spell(value: Json) -> Iterator[str]:
    if isinstance(value, Spelled):
        yield value.spelling
    elif isinstance(value, dict):
        comma = "{"
        for key, item in value.items():
            yield f"{comma}{json.dumps(key, ensure_ascii=False)}:"
            yield from _spell(item)
            comma = ","
        yield "}" if value else "{}"
    elif isinstance(value, list):
        comma = "["
        for item in value:
            yield comma
            yield from _spell(item)
            comma = ","
        yield "]" if value else "[]"
    else:
        yield json.dumps(value, ensure_ascii=False)
