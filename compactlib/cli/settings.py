"""
What a project says in its ``pyproject.toml`` under ``[tool.compactlib]``.

What this is
    `Projects` finds and reads the options that hold for a file.

Rules it obeys
    * A project file belongs to whoever wrote the repository.  It chooses among
      rules and nothing else: nothing in it is run, opened or sent.
    * The nearest ``pyproject.toml`` upwards of the file that has the table
      holds; one without it says nothing.
    * What is not understood is an error that names it: a misspelled option
      that is passed over in silence would switch off a check.

How it works
    ``select`` and ``ignore`` are lists of rules; ``per-file-ignores`` is a
    table from patterns to such lists.  A pattern is matched against the name
    of a file, and against its path from the directory of the project file.

What is not here
    What a selection means (`selection`), and the command line, which wins.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from attrs import frozen

from ..errors import PolicyError, WireError
from ..model import Json
from .selection import prefixes

__all__ = ["NAME", "Projects", "Settings"]

NAME: Final = "pyproject.toml"
"""What a project file is called."""

_TABLE: Final = "tool.compactlib"
_KEYS: Final = ("ignore", "per-file-ignores", "select")
_LARGEST_BYTES: Final = 1 << 20


@frozen
class Settings:
    """
    What a project asks for.

    Attributes:
        select, ignore: prefixes of rules.
        per_file: (pattern, prefixes ignored in the files that it matches).
        root: the directory of the project file.
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    per_file: tuple[tuple[str, tuple[str, ...]], ...] = ()
    root: Path = Path()

    def ignored_in(self, file: Path) -> tuple[str, ...]:
        """What is ignored in one file besides."""
        try:
            inside = file.resolve().relative_to(self.root).as_posix()
        except (OSError, ValueError):
            inside = file.name
        matching = (
            ignored for pattern, ignored in self.per_file if fnmatchcase(inside, pattern) or fnmatchcase(file.name, pattern)
        )
        return tuple(prefix for ignored in matching for prefix in ignored)


class Projects:
    """The project files of one run; each is read once."""

    def __init__(self) -> None:
        self._known: Final[dict[Path, Settings]] = {}

    def settings_for(self, file: Path) -> Settings:
        """
        The settings that hold for *file*.

        Raises:
            WireError: a project file on the way is no TOML, or too large.
            PolicyError: it asks for what there is not.
            OSError: it cannot be read.
        """
        directory = file.resolve().parent
        found = self._known.get(directory)
        if found is None:
            found = self._known[directory] = _settings_in(directory)
        return found


def _settings_in(directory: Path) -> Settings:
    for place in (directory, *directory.parents):
        path = place / NAME
        if path.is_file() and (table := _table(path)) is not None:
            return _settings(path, table)
    return Settings()


def _table(path: Path) -> Json:
    """What stands under the table's name; ``None`` if it is not there."""
    if path.stat().st_size > _LARGEST_BYTES:
        raise WireError(str(path), f"is larger than {_LARGEST_BYTES} bytes")
    try:
        value: Json = tomllib.loads(path.read_bytes().decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise WireError(str(path), f"is no TOML: {error}") from error
    for name in _TABLE.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _settings(path: Path, table: Json) -> Settings:
    if not isinstance(table, dict):
        raise PolicyError(f"{path}: {_TABLE}", "is no table")
    for key in table:
        if key not in _KEYS:
            raise PolicyError(f"{path}: {_TABLE}.{key}", "is no option", hint=f"there are {', '.join(_KEYS)}")
    per_file = table.get("per-file-ignores", {})
    if not isinstance(per_file, Mapping):
        raise PolicyError(f"{path}: {_TABLE}.per-file-ignores", "is no table of patterns and lists of rules")
    where = f"{path}: {_TABLE}"
    return Settings(
        _rules(table.get("select", []), f"{where}.select"),
        _rules(table.get("ignore", []), f"{where}.ignore"),
        tuple((pattern, _rules(names, f"{where}.per-file-ignores.{pattern}")) for pattern, names in per_file.items()),
        path.resolve().parent,
    )


def _rules(value: Json, where: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise PolicyError(where, "is no list of rules")
    return prefixes(value, where=where)
