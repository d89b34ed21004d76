"""Tools that say nearly the same are found, and others are not."""

from __future__ import annotations

import random
from typing import Final

from compactlib.cli.likeness import near_duplicates
from compactlib.model import Tool

WORDS: Final = [f"word{number}" for number in range(2_000)]


def tool(name: str, words: list[str]) -> Tool:
    """A tool that says these words."""
    return Tool(name, {"name": name, "description": " ".join(words), "input_schema": {"type": "object"}})


def test_every_near_duplicate_is_found() -> None:
    """Of 40 words 4 exchanged: all 300 copies are found, each with its original; nothing else is."""
    dice = random.Random(1)  # noqa: S311  # sampling words, not keeping secrets
    originals = [tool(f"t{number}", dice.sample(WORDS, 40)) for number in range(300)]
    copies = []
    for number, original in enumerate(originals):
        words = original.value["description"].split()
        copies.append(tool(f"c{number}", [*words[:36], *dice.sample(WORDS, 4)]))
    found = near_duplicates([*originals, *copies])

    assert [(pair.one, pair.other) for pair in found] == [(f"t{number}", f"c{number}") for number in range(300)]
    assert all(80 <= pair.percent < 100 for pair in found)


def test_boilerplate_makes_no_likeness() -> None:
    """Two tools of one parameter each are not alike for being JSON Schema."""
    schemas = [{"type": "object", "properties": {name: {"type": "string"}}, "required": [name]} for name in ("path", "query")]
    tools = [
        Tool("read", {"name": "read", "description": "Read a file from the disk.", "input_schema": schemas[0]}),
        Tool("search", {"name": "search", "description": "Search the web for pages.", "input_schema": schemas[1]}),
    ]

    assert near_duplicates(tools) == ()


def test_many_equal_tools_are_each_named_once() -> None:
    """A thousand of the same are 999 pairs with the first, not half a million."""
    found = near_duplicates([tool(f"t{number}", WORDS[:30]) for number in range(1_000)])

    assert [pair.other for pair in found] == [f"t{number}" for number in range(1, 1_000)]
    assert {(pair.one, pair.percent) for pair in found} == {("t0", 100)}


def test_shape_of_a_declaration_does_not_matter() -> None:
    """Declarations without a description, of other dialects, or of no sensible shape are no failure."""
    nested = {"function": {"name": "c", "parameters": {"properties": None}}}
    tools = [Tool("a", None), Tool("b", []), Tool("c", nested), Tool("", 7)]

    assert near_duplicates(tools) == ()
