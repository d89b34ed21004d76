"""
What the dialects share: how one object's shape is taken apart and put together.

Each dialect module reads objects into model values and hands what it has no
field for to `shape_of`, which keeps key order and residue in a `Wire`; `write`
is the way back.  A wrong shape is a `ShapeError` whose path is relative to the
thing being read; the dialect adds where that stood.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from typing import TypeAlias

from ..model import Json, Wire, wire

__all__ = ["ShapeError", "Take", "kind_of", "shape_of", "string", "write"]

Take: TypeAlias = Callable[[Json], Json]
"""Makes a JSON value ours (or theirs): a copy, or the value itself when nobody else holds it."""


class ShapeError(Exception):
    """
    A wrong shape.  Internal: every public function turns it into a `WireError`.

    Attributes:
        path: JSON path relative to the thing being read, such as ``.content[2].id``.
        problem: what is wrong there.
    """

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(problem)
        self.path = path
        self.problem = problem


def kind_of(value: Json) -> str:
    """What *value* is, in JSON's words, for error messages."""
    if value is None:
        return "null or absent"
    names = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", int: "a number", float: "a number"}
    return names.get(value.__class__, f"a {type(value).__name__}")


def string(raw: dict[str, Json], key: str) -> str:
    """The string under *key*."""
    value = raw.get(key)
    if value.__class__ is not str:
        raise ShapeError(f".{key}", f"{key} is a string, not {kind_of(value)}")
    text: str = value
    return text


def shape_of(raw: dict[str, Json], tag: str, known: Set[str], take: Take, form: str = "") -> Wire:
    """The `Wire` of *raw*; everything under a key that is not *known* is residue."""
    keys = tuple(raw)
    if raw.keys() <= known:
        return wire(tag, keys, form)
    rest = tuple((key, take(value)) for key, value in raw.items() if key not in known)
    return Wire(tag, keys, rest, form)


def write(shape: Wire, known: dict[str, Json], give: Take) -> dict[str, Json]:
    """The object that had this *shape*: residue, and for the other keys the *known* values."""
    if not shape.rest:
        return {key: known[key] for key in shape.keys}
    rest = dict(shape.rest)
    return {key: give(rest[key]) if key in rest else known[key] for key in shape.keys}
