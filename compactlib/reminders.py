"""
Reminders from live state: what an agent has to know besides its history.

What this is
    `reminder` makes of a list, or of what returns one, a reminder for
    ``compact(reminders=...)``: open todos, running jobs, loaded skills.

Rules it obeys
    * A reminder is made anew at each compaction and stands in the head exactly
      once; the one before goes.
    * Law L25.  Items are data: each is one line, escaped and bounded, and they
      cannot end the list or begin another.
    * What has no room is counted.

What is not here
    The list of changed files, which the engine derives from calls by itself
    (`summaries.changed`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final, TypeAlias

from .arguments import need
from .errors import PolicyError
from .text import escape

__all__ = ["LIMIT_CHARS", "Items", "reminder"]

LIMIT_CHARS: Final = 2_000
"""The longest reminder."""

_ITEM_CHARS: Final = 300
_NAME_CHARS: Final = 40

Items: TypeAlias = "Collection[str] | Callable[[], Collection[str]]"
"""What is to be listed, or what returns it when a compaction needs it."""


def reminder(name: str, items: Items) -> Callable[[], str]:
    """
    A reminder with a name.

    Args:
        name: what the items are, such as ``todos``, ``running jobs`` or ``loaded skills``.
        items: texts, or what returns them; it is called once a compaction.

    Returns:
        What gives its text, ``""`` where there is nothing to list, and then nothing is put into the head.

    Raises:
        PolicyError: *name* is no plain words, or *items* are no texts; the latter also when it is called.

    >>> print(reminder("todos", ["fix the login", "run the tests"])())
    [compactlib todos v1: 2]
    - fix the login
    - run the tests
    """
    need("name", name, str, "a name")
    if not (0 < len(name) <= _NAME_CHARS and name.replace(" ", "").isalpha() and name == name.strip()):
        raise PolicyError("name", f"at most {_NAME_CHARS} letters and spaces, not {name[:_NAME_CHARS]!r}")
    if not callable(items):
        _need_texts(items)

    def text() -> str:
        return _written(name, _need_texts(items() if callable(items) else items))

    return text


def _need_texts(items: object) -> Collection[str]:
    if isinstance(items, str | bytes | Mapping) or not isinstance(items, Collection):
        raise PolicyError("items", f"texts, not {type(items).__name__}")
    for item in items:
        if not isinstance(item, str):
            raise PolicyError("items", f"texts, not {type(item).__name__}")
    return items


def _written(name: str, items: Iterable[str]) -> str:
    lines = [f"- {escape(item[:_ITEM_CHARS])}" for item in items if item.strip()]
    if not lines:
        return ""
    head = f"[compactlib {name} v1: {len(lines)}]"
    room = LIMIT_CHARS - len(head) - len("\n[999999999 more]")
    shown: list[str] = []
    for line in lines:
        room -= len(line) + 1
        if room < 0:
            break
        shown.append(line)
    left = len(lines) - len(shown)
    return "\n".join([head, *shown, *([f"[{left} more]"] if left else [])])
