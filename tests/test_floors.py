"""
The law of floors, over the imports that really stand in the modules.

A module imports only from floors below its own; inside a package of one floor
nothing goes round in a circle; the core knows attrs and the standard library
and nothing else; the validator shares no code with the engine (law L1).
Imports inside functions count like all others: a lazy import is an import.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

import compactlib
from compactlib.cli.vendor import WINGS

PACKAGE: Final = Path(compactlib.__file__).parent

FLOORS: Final = (
    ("errors",),
    ("arguments",),
    ("model",),
    ("models",),
    ("recognition",),
    ("pairing",),
    ("turns",),
    ("tokens",),
    ("text",),
    ("protocol",),
    ("options",),
    ("policies",),
    ("budget",),
    ("visible",),
    ("cuts", "holding"),
    ("credentials", "deeds", "jsontext", "markers", "signals"),
    ("masking", "stubs"),
    ("truncation",),
    ("store",),
    ("admission", "outputs", "recalling"),
    ("summaries",),
    ("dialects",),
    ("log", "redacting", "thoughts"),
    ("clearing",),
    ("editing",),
    ("bulk",),
    ("outcomes",),
    ("reminders", "tasks"),
    ("persons", "standing"),
    ("collapsing", "pinning", "replacing"),
    ("planning",),
    ("account",),
    ("suffixing",),
    ("appendix", "asking", "assembling", "verifying"),
    ("compaction",),
    ("cascade",),
    ("ledger",),
    ("record",),
    ("session",),
    ("checkpoints",),
    ("manifests",),
    ("driving",),
    ("digesting", "preview"),
    ("converting",),
    ("transcripts",),
    ("summarisers",),
    ("evaluation",),
    ("conformance",),
    ("integrations",),
    ("cli",),
    ("__main__",),
)
"""From the ground up; rooms on one floor do not know each other."""

HEIGHTS: Final = {name: height for height, names in enumerate(FLOORS) for name in names}

THIRD_PARTY: Final = {
    "cli": {"attrs", "click", "rich"},
    "conformance": {"attrs", "cattrs"},
    "summarisers": {"anthropic", "attrs", "openai"},
    "text": {"attrs", "regex"},
    "transcripts": {"attrs", "cattrs"},
}
"""What a room may import besides the standard library; attrs alone where it is not named."""


def modules() -> dict[str, Path]:
    """Every module of the package by its dotted name below it; ``""`` is the package itself."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES: Final = modules()


def imports(name: str) -> Iterator[tuple[int, str, str]]:
    """(line, ``"own"`` or ``"other"``, what) for each import of a module; what is ours by its name below the package."""
    path = MODULES[name]
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, "other", alias.name
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.lineno, "other", node.module or ""
        elif isinstance(node, ast.ImportFrom):
            above = [part for part in package if part][: len(package) - node.level + 1]
            base = [*above, *(node.module or "").split(".")] if node.module else above
            for alias in node.names:
                whole = ".".join([*base, alias.name])
                yield node.lineno, "own", whole if whole in MODULES else ".".join(base)


@pytest.mark.parametrize("name", [name for name in MODULES if name])
def test_module_imports_only_from_below(name: str) -> None:
    """What a module imports lies below it, or in its own room."""
    room = name.split(".")[0]
    wrong = [
        f"line {line}: {target or 'the package itself'}"
        for line, kind, target in imports(name)
        if kind == "own" and target.split(".")[0] != room and not (room in WINGS and not target)
        if HEIGHTS.get(target.split(".")[0], 99) >= HEIGHTS[room]
    ]

    assert wrong == []


@pytest.mark.parametrize("name", [name for name in MODULES if name])
def test_module_imports_no_strangers(name: str) -> None:
    """Besides the standard library the core imports attrs alone, and `text` regex."""
    room = name.split(".")[0]
    allowed = THIRD_PARTY.get(room, {"attrs"}) | sys.stdlib_module_names
    others = [(line, target) for line, kind, target in imports(name) if kind == "other"]
    wrong = [f"line {line}: {target}" for line, target in others if target.split(".")[0] not in allowed]

    assert wrong == []


def test_rooms_have_no_circles() -> None:
    """No module imports itself by way of others, not even inside one package."""
    below = {name: {target for _, kind, target in imports(name) if kind == "own" and target} - {name} for name in MODULES if name}
    while leaves := [name for name, targets in below.items() if not targets & below.keys()]:
        for name in leaves:
            del below[name]

    assert below == {}


def test_package_imports_nothing_when_it_is_loaded() -> None:
    """What the package itself names stands under ``TYPE_CHECKING``, so that importing it is cheap."""
    tree = ast.parse(MODULES[""].read_text("utf-8"))
    eager = [node for node in tree.body if isinstance(node, ast.ImportFrom) and node.level]

    assert eager == []


def test_validator_shares_no_code_with_the_engine() -> None:
    """Law L1: whatever the validator reaches knows neither how turns are found nor how cuts are chosen."""
    reached: set[str] = set()
    ahead = {"protocol.validator"}
    while ahead:
        reached |= ahead
        ahead = {target for name in ahead for _, kind, target in imports(name) if kind == "own"} - reached

    assert {name.split(".")[0] for name in reached} <= {"arguments", "errors", "model", "models", "protocol", "text"}


def test_every_room_has_a_floor() -> None:
    """No module is on no floor, and the wings are the top floors."""
    rooms = {name.split(".")[0] for name in MODULES if name}

    assert rooms - HEIGHTS.keys() == set()
    assert set(list(HEIGHTS)[-len(WINGS) :]) == set(WINGS)


def test_law_sees_an_import_upwards() -> None:
    """The reading of imports finds relative ones, in functions as well, with the module they mean."""
    found = {target for _, kind, target in imports("dialects") if kind == "own"}

    assert {"errors", "model", "summaries.head", "dialects.reading"} <= found
