"""
Every public name with its signature, in one committed file.

``python -m tests.test_public`` writes ``public.txt`` anew.  A change of that file
is a change of the contract and is looked at as one.
"""

from __future__ import annotations

import enum
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, get_origin

import attrs
import pytest

import compactlib

SNAPSHOT: Final = Path(__file__).parent / "public.txt"
HEADER: Final = "# Every public name of compactlib, written by: python -m tests.test_public\n"


def described(name: str, value: Any) -> Iterator[str]:
    """A name in the words of its definition: a line, and one for each member of a class that its signature does not name."""
    if is_alias(value):
        yield f"{name} = {value}"
    elif isinstance(value, type) and issubclass(value, enum.Enum):
        yield f"enum {name}: {', '.join(member.name for member in value)}"
    elif isinstance(value, type):
        bases = ", ".join(base.__name__ for base in value.__bases__ if base is not object)
        yield f"class {name}{f'({bases})' if bases else ''}{signature(value)}"
        yield from members(value)
    elif callable(value) and not isinstance(value, type(compactlib)):
        yield f"def {name}{signature(value)}"
    elif callable(value):  # a module that can be called
        yield f"def {name}{signature(value.__call__)}"
    else:
        yield f"{name}: {type(value).__name__}"


def is_alias(value: Any) -> bool:
    """Whether it is another name for a type, which may look as if it could be called."""
    return value is Any or get_origin(value) is not None


def members(owner: type) -> Iterator[str]:
    """The public methods and properties that a class defines itself."""
    for name, member in sorted(vars(owner).items()):
        if name.startswith("_") or (attrs.has(owner) and name in attrs.fields_dict(owner)):
            continue
        if isinstance(member, classmethod):
            yield f"    classmethod {name}{signature(getattr(owner, name))}"
        elif isinstance(member, property):
            returns = inspect.signature(member.fget).return_annotation if member.fget else ""
            yield f"    property {name} -> {returns}"
        elif inspect.isfunction(member):
            yield f"    def {name}{signature(member)}"


def signature(value: Any) -> str:
    """A signature on one line: annotations as they were written, functions as defaults by their name; a protocol has none."""
    if getattr(value, "_is_protocol", False):
        return ""
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return ""
    written = []
    starred = False
    for one in found.parameters.values():
        if one.name == "self":
            continue
        if one.kind is one.KEYWORD_ONLY and not starred:
            written.append("*")
            starred = True
        default = getattr(one.default, "__name__", repr(one.default))
        if attrs.has(type(one.default)):  # its repr may hold sets, which have no order
            default = f"{type(one.default).__name__}()"
        stars = "**" if one.kind is one.VAR_KEYWORD else ""
        written.append(f"{stars}{one.name}: {one.annotation}{'' if one.default is one.empty else f' = {default}'}")
    returns = "" if found.return_annotation in (None, "None", found.empty) else f" -> {found.return_annotation}"
    return f"({', '.join(written)}){returns}"


def snapshot() -> str:
    """The whole text."""
    lines = [line for name in sorted(compactlib.__all__) for line in described(name, getattr(compactlib, name))]
    return HEADER + "\n".join(lines) + "\n"


def test_public_names_are_those_of_the_snapshot() -> None:
    """Names and signatures are what is committed."""
    assert snapshot() == SNAPSHOT.read_text("utf-8")


def test_names_are_sorted_and_have_homes() -> None:
    """``__all__`` is in order, and each name in it is found where the table says."""
    assert compactlib.__all__ == sorted(compactlib.__all__)
    assert set(compactlib.__all__) == set(compactlib._HOMES)


def functions() -> list[str]:
    """The public names that are called for what they do, not for what they make."""
    values = ((name, getattr(compactlib, name)) for name in sorted(compactlib.__all__))
    return [name for name, value in values if callable(value) and not isinstance(value, type) and not is_alias(value)]


@pytest.mark.parametrize("name", functions())
def test_defaults_are_keyword_only(name: str) -> None:
    """A parameter with a default is named by the caller, so that it can change its place."""
    parameters = inspect.signature(getattr(compactlib, name)).parameters.values()
    kinds = {one.name: one.kind for one in parameters if one.default is not one.empty}

    assert {name for name, kind in kinds.items() if kind is not inspect.Parameter.KEYWORD_ONLY} == set()


FOREIGN: Final = {"Any", "Callable", "Iterable", "Iterator", "Literal", "Mapping", "None", "PathLike", "Sequence"}
PASSED_ON: Final = {"Call", "Edit", "Items", "Json", "Profile"}
"""What a caller hands on, or writes as a literal, and need not name."""


@pytest.mark.parametrize("name", functions())
def test_types_of_a_public_function_are_public(name: str) -> None:
    """Whoever wraps one can write down what it takes and gives, and needs no name that is private."""
    value = getattr(compactlib, name)
    found = inspect.signature(getattr(value, name, value))  # the module `turns` can be called
    written = " ".join(map(str, [*(one.annotation for one in found.parameters.values()), found.return_annotation]))

    assert set(re.findall(r"\b[A-Z]\w+", written)) - FOREIGN - PASSED_ON <= set(compactlib.__all__)


if __name__ == "__main__":
    SNAPSHOT.write_text(snapshot(), "utf-8")
