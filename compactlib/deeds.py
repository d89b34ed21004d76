"""
What a call did, as far as its name and arguments tell.

What this is
    `deed` reads a tool call as a person would: it edited ``a.py``, it ran
    ``pytest -q``.  `plan` reads the task list that some tools write.

Rules it obeys
    * Tools have no common names, so names are taken apart into words and
      looked up in small tables.  What no table knows was merely ``called``.
    * Every string that comes out is a slice of the arguments, of bounded
      length; it is as hostile as they are (law L25).
    * Linear in the arguments, and nothing escapes, whatever they hold.

What is not here
    What came of the call: its result says that.
"""

from __future__ import annotations

import json
import re
from functools import cache, lru_cache
from typing import Any, Final

from attrs import frozen

from .model import Call
from .text import shortened

__all__ = ["Deed", "deed", "file_name", "plan"]


@cache
def _pattern(name: str) -> re.Pattern[str]:
    """The patterns of this module, compiled when first needed."""
    return re.compile({"patched": r"(?m)^\*\*\* (?:Add|Update|Delete) File: (.{1,400})$", "name": r"[A-Z]?[a-z]+|[A-Z]+"}[name])


_WRITES: Final = frozenset(
    {"edit", "write", "create", "patch", "replace", "insert", "apply", "update", "delete", "rename", "move", "save", "append"}
)
_READS: Final = frozenset({"read", "view", "open", "cat", "grep", "glob", "search", "ls", "list", "find", "fetch", "get", "show"})
_LOOKS: Final = frozenset({"ls", "cat", "head", "tail", "find", "grep", "rg", "pwd", "cd", "echo", "which", "sed", "wc", "tree"})
_RUNS: Final = frozenset({"bash", "shell", "exec", "execute", "run", "terminal", "command", "cmd", "powershell", "python"})
_PATHS: Final = ("file_path", "path", "filePath", "filename", "file", "notebook_path", "target_file", "absolute_path")
_COMMANDS: Final = ("command", "cmd", "script", "code")
_OTHERS: Final = ("url", "query", "pattern", "name", "id", "description", "prompt", "input")
_SHELLS: Final = frozenset({"bash", "sh", "zsh", "cmd", "powershell"})
_VERBS: Final = {"view": "read", "create": "edited", "str_replace": "edited", "insert": "edited", "undo_edit": "edited"}


@frozen
class Deed:
    """
    What a call did, as far as its name and arguments tell.

    Attributes:
        verb: ``"edited"`` or ``"read"`` a file; ``"ran"`` a command;
            ``"looked"`` for something; else ``"called"``.
        tool: the tool's name.
        objects: what it did it to: paths, a command, or the most telling argument.
    """

    verb: str
    tool: str
    objects: tuple[str, ...]


def _arguments(call: Call) -> Any:
    """The arguments as a JSON value; the string itself if they are not JSON."""
    raw = call.arguments
    if isinstance(raw, str) and raw[:1] in ("{", "["):
        try:
            return json.loads(raw)
        except (ValueError, RecursionError):
            return raw
    return raw


def deed(call: Call) -> Deed:
    """
    What a call did.

    >>> from compactlib.model import wire
    >>> deed(Call("1", "Edit", '{"file_path": "a.py"}', wire("function")))
    Deed(verb='edited', tool='Edit', objects=('a.py',))
    >>> deed(Call("2", "shell", {"command": ["pytest", "-q"]}, wire("tool_use"))).objects
    ('pytest -q',)
    """
    verb = _verb(call.name[:100])
    values = _arguments(call)
    if not isinstance(values, dict):
        values = {"input": values}
    patch = values.get("input")
    patched = tuple(_pattern("patched").findall(patch)) if isinstance(patch, str) else ()
    if patched:
        return Deed("edited", call.name, patched)
    paths = _value(values, _PATHS)
    command = values.get("command")
    if isinstance(command, str) and command in _VERBS:
        return Deed(_VERBS[command], call.name, paths)
    commands = _value(values, _COMMANDS)
    if commands and verb != "edited":
        looks = commands[0].split(maxsplit=1)[0] in _LOOKS and not set("&;>") & set(commands[0])
        return Deed("looked" if looks else "ran", call.name, commands)
    if not paths:
        verb = {"edited": "called", "read": "looked"}.get(verb, verb)
    return Deed(verb, call.name, paths or commands or _value(values, _OTHERS))


@lru_cache(maxsize=256)
def _verb(name: str) -> str:
    """What a tool does, as far as its name tells."""
    words = {word.lower() for word in _pattern("name").findall(name)}
    return "edited" if words & _WRITES else "ran" if words & _RUNS else "read" if words & _READS else "called"


def file_name(did: Deed, extension: str) -> str:
    """
    A readable name for what a call gave: the tool's, and that of what it looked at.  A wish, not yet harmless.

    >>> file_name(Deed("read", "read", ("src/app.py",)), "txt")
    'read app.py.txt'
    """
    about = did.objects[0].replace("\\", "/").rstrip("/").rpartition("/")[2] if did.objects else ""
    return f"{did.tool} {about}.{extension}"


def _value(values: dict[Any, Any], keys: tuple[str, ...]) -> tuple[str, ...]:
    """The first telling value under one of *keys*, as at most one string."""
    for key in [key for key in keys if key in values]:
        value = values[key]
        if isinstance(value, list) and all(isinstance(part, str) for part in value):
            value = value[-1] if len(value) > 2 and value[0] in _SHELLS else " ".join(value[:50])
        if isinstance(value, str) and (line := _first_line(value)):
            return line
    return ()


def _first_line(text: str) -> tuple[str, ...]:
    start = text[:4_000].strip()
    line = shortened(start.splitlines()[0]) if start else ""
    return (line,) if line else ()


_STATES: Final = {
    "completed": "done",
    "done": "done",
    "in_progress": "doing",
    "in progress": "doing",
    "active": "doing",
    "pending": "next",
    "todo": "next",
    "not_started": "next",
    "cancelled": "rejected",
    "canceled": "rejected",
    "blocked": "blocked",
}


def plan(call: Call) -> tuple[tuple[str, str], ...]:
    """
    The entries of a task list that a call writes, as (section, text); empty for any other call.

    >>> from compactlib.model import wire
    >>> plan(Call("1", "TodoWrite", {"todos": [{"content": "tests", "status": "pending"}]}, wire("tool_use")))
    (('next', 'tests'),)
    """
    if isinstance(call.arguments, str) and "[" not in call.arguments:  # most are told without being read
        return ()
    values = _arguments(call)
    if not isinstance(values, dict):
        return ()
    found = []
    for value in values.values():
        for entry in value[:100] if isinstance(value, list) else ():
            if not isinstance(entry, dict):
                continue
            section = _STATES.get(str(entry.get("status", "")).lower())
            text = _value(entry, ("content", "step", "title", "text", "task", "subject", "description"))
            if section and text:
                found.append((section, text[0]))
    return tuple(found)
