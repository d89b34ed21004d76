"""
What the dialects share: how one object's shape is taken apart and put together.

Each dialect module reads objects into model values and hands what it has no
field for to `shape_of`, which keeps key order and residue in a `Wire`; `write`
is the way back.  `shape_of_nested` and `write_nested` do the same for an object
whose words stand one level down (``{"function": {"name": ...}}``).  A wrong
shape is a `ShapeError` whose path is relative to the thing being read; the
dialect adds where that stood.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from typing import Any, Final, TypeAlias

from ..arguments import shown
from ..errors import WireError
from ..model import Block, Json, Text, Wire, new_wire, wire
from .reading import dumps

__all__ = [
    "LONE",
    "ShapeError",
    "Take",
    "address",
    "blocks_of",
    "is_spelled",
    "keep",
    "kind_of",
    "objects_of",
    "shape_of",
    "shape_of_nested",
    "spell",
    "string",
    "write",
    "write_nested",
]

Take: TypeAlias = Callable[[Json], Json]
"""Makes a JSON value ours (or theirs): a copy, or the value itself when nobody else holds it."""

LONE: Final = "lone"
"""The form of a message whose text stood where the list of messages stands."""


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


def keep(value: Json) -> Json:
    """The `Take` of a value that nobody else holds."""
    return value


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


# -- one object ------------------------------------------------------------------------------------------------------------


def shape_of(raw: dict[str, Json], tag: str, known: Set[str], take: Take, form: str = "") -> Wire:
    """The `Wire` of *raw*; everything under a key that is not *known* is residue."""
    keys = tuple(raw)
    if raw.keys() <= known:
        return wire(tag, keys, form)
    _need_names(keys)
    return new_wire(tag, keys, tuple([(key, take(value)) for key, value in raw.items() if key not in known]), form)


def _need_names(keys: tuple[Any, ...]) -> None:
    """Refuse keys that JSON has not, which a body of Python objects may have."""
    try:
        "".join(keys)
    except TypeError:
        odd = next(key for key in keys if not isinstance(key, str))
        raise ShapeError("", f"the key {shown(odd)} is no string") from None


def write(shape: Wire, known: dict[str, Json], give: Take) -> dict[str, Json]:
    """The object that had this *shape*: residue, and for the other keys the *known* values."""
    if not shape.rest:
        return {key: known[key] for key in shape.keys}
    rest = dict(shape.rest)
    return {key: give(rest[key]) if key in rest else known[key] for key in shape.keys}


# -- an object inside an object --------------------------------------------------------------------------------------------


def shape_of_nested(raw: dict[str, Json], tag: str, known: Set[str], known_inside: Set[str], take: Take) -> Wire:
    """
    The `Wire` of *raw* and of the object in it under the key *tag*.

    Its keys are those of *raw*, then those of the inner object; the form says
    how many are of *raw*, where that is not one.  Residue of the inner object
    stands together under *tag*.

    >>> shape_of_nested({"call": {"name": "ls", "x": 1}, "y": 2}, "call", set(), {"name"}, keep).rest
    (('y', 2), ('call', {'x': 1}))
    """
    inner: dict[str, Json] = raw[tag]
    keys = (*raw, *inner)
    count = len(raw)
    rest: list[tuple[str, Json]] = []
    if count > 1:
        for key, value in raw.items():
            if key != tag and key not in known:
                rest.append((key, take(value)))
    if not inner.keys() <= known_inside:
        rest.append((tag, {key: take(value) for key, value in inner.items() if key not in known_inside}))
    form = "" if count == 1 else str(count)
    if not rest:
        return wire(tag, keys, form)
    _need_names(keys)
    return new_wire(tag, keys, tuple(rest), form)


def write_nested(shape: Wire, known: dict[str, Json], known_inside: dict[str, Json], give: Take) -> dict[str, Json]:
    """The object that had this *shape*, as `write` does it."""
    count = shape.outside
    rest = dict(shape.rest)
    beneath: dict[str, Json] = rest.pop(shape.tag, {})
    inner = {key: give(beneath[key]) if key in beneath else known_inside[key] for key in shape.keys[count:]}
    return {key: inner if key == shape.tag else give(rest[key]) if key in rest else known[key] for key in shape.keys[:count]}


# -- words that are no strings on the wire ---------------------------------------------------------------------------------


def spell(value: Json, tag: str) -> Text:
    """
    A JSON value as words, so that it is counted, shown and shortened like others; the value stays beside them.

    >>> spell({"degrees": 21}, "json").text
    '{"degrees":21}'
    """
    return Text(dumps(value), new_wire(tag, (), ((tag, value),)))


def is_spelled(text: Text) -> bool:
    """Whether *text* still is what `spell` made, so that its value and not its words go back."""
    rest = text.wire.rest
    return bool(rest) and rest[0][0] == text.wire.tag and dumps(rest[0][1]) == text.text


def address(value: Json) -> tuple[str, str | None, str | None]:
    """
    Media type, data and address of what an address says; a ``data:`` address holds the first two.

    >>> address("data:image/png;base64,AA=="), address("https://x.example/a.png")
    (('image/png', 'AA==', None), ('', None, 'https://x.example/a.png'))
    """
    if not isinstance(value, str):
        return "", None, None
    if not value.startswith("data:"):
        return "", None, value
    header, _, payload = value[5:].partition(",")
    return header.partition(";")[0], payload, None


# -- what stands around the messages ---------------------------------------------------------------------------------------


def objects_of(value: Json, path: str) -> list[dict[str, Json]]:
    """
    The objects in the list *value*, which stands at *path*; none if it is null or absent.

    Raises:
        WireError: it is something else.
    """
    if value is None:
        return []
    if not isinstance(value, list):
        raise WireError(path, f"{path[2:]} is a list, not {kind_of(value)}")
    for index, item in enumerate(value):
        if not isinstance(item, dict):
            raise WireError(f"{path}[{index}]", f"what stands in {path[2:]} is an object, not {kind_of(item)}")
    return value


def blocks_of(value: list[Json], path: str, read: Callable[[Json, Take], Block]) -> tuple[Block, ...]:
    """
    The blocks in the list *value*, which stands at *path*, each read by *read*.

    Raises:
        WireError: with the path of the first wrong shape.
    """
    made: list[Block] = []
    for index, item in enumerate(value):
        try:
            made.append(read(item, keep))
        except ShapeError as error:
            raise WireError(f"{path}[{index}]{error.path}", error.problem) from None
    return tuple(made)
