"""
The one list of changed files.

What this is
    `changed_files` reads from the calls which files were written, and
    `write_changed` makes the reminder that lists them; `read_changed` reads
    the list of the compaction before, so that it covers them all.

Rules it obeys
    * Law L23.  The list stands in one reminder behind the summary and nowhere
      else: newest first, each file once, at most `LIMIT_CHARS`, and what does
      not fit is counted.
    * It is derived from calls, never from what somebody said of them.
    * Paths are a transcript's words (law L25): one line each, escaped, bounded.

What is not here
    Taking such a list out of a reply (`schema`), and what a call did (`deeds`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from ..deeds import deed
from ..model import Message
from ..text import escape

__all__ = ["LIMIT_CHARS", "as_listed", "changed_files", "read_changed", "write_changed"]

LIMIT_CHARS: Final = 2_000
"""The longest list."""

_PATH_CHARS: Final = 200
_HEADER: Final = re.compile(r"\[compactlib changed files v1: ([0-9]{1,9})\]")
_MORE: Final = re.compile(r"\[([0-9]{1,9}) more\]")


def changed_files(messages: Iterable[Message]) -> tuple[str, ...]:
    """
    The files that calls in *messages* wrote, the newest first, each once.

    A call that was refused, or never ran, counts as well: that a file may have
    changed is what has to be remembered.

    >>> from compactlib.model import Call, wire
    >>> calls = [Call(path, "edit", {"path": path}, wire("tool_use")) for path in ("a.py", "b.py", "a.py")]
    >>> changed_files([Message("model", tuple(calls), wire("assistant"))])
    ('a.py', 'b.py')
    """
    found: dict[str, None] = {}
    for message in messages:
        for call in message.calls:
            did = deed(call)
            if did.verb == "edited":
                for path in did.objects:
                    found.pop(path, None)
                    found[path] = None
    return tuple(reversed(found))


def as_listed(path: str) -> str:
    """A path as it stands in the list: one line, bounded."""
    return escape(path[:_PATH_CHARS])


def write_changed(files: Iterable[str], *, more: int = 0, limit_chars: int = LIMIT_CHARS) -> str:
    """
    The reminder that lists *files*, ``""`` if there are none.

    Args:
        files: paths, the newest first.
        more: how many further ones an earlier list had no room for.
        limit_chars: the longest list; ``""`` if not even one file fits.

    >>> print(write_changed(["src/a.py", "b.py"]))
    [compactlib changed files v1: 2]
    src/a.py
    b.py
    """
    names = list(dict.fromkeys(map(as_listed, files)))
    if not names:
        return ""
    lines = [f"[compactlib changed files v1: {len(names) + more}]"]
    room = limit_chars - len(lines[0]) - len("\n[999999999 more]")
    shown = 0
    for name in names:
        if len(name) + 1 > room:
            break
        room -= len(name) + 1
        lines.append(name)
        shown += 1
    if not shown:
        return ""
    left = len(names) - shown + more
    if left:
        lines.append(f"[{left} more]")
    return "\n".join(lines)


def read_changed(text: str) -> tuple[tuple[str, ...], int] | None:
    """
    The files of a list that `write_changed` made, and how many more it counted; ``None`` if *text* is none.

    >>> read_changed("[compactlib changed files v1: 9]\\na.py\\nb.py\\n[7 more]")
    (('a.py', 'b.py'), 7)
    """
    header, *lines = text.split("\n")
    found = _HEADER.fullmatch(header)
    if found is None or not lines:
        return None
    last = _MORE.fullmatch(lines[-1])
    more = int(last[1]) if last else 0
    names = tuple(lines[:-1] if last else lines)
    return (names, more) if int(found[1]) == len(names) + more else None
