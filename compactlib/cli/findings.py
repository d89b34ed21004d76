"""
What ``compactlib check`` found, with the place where an editor can jump to.

What this is
    `Finding`, one violation in one file.

Rules it obeys
    * A line is the file's own, or it is not said: an annotation on the wrong
      line is worse than one on none.

What is not here
    How findings are printed: `check` for people, `formats` for programs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Final

from attrs import frozen

from ..protocol.rules import RULES
from ..protocol.validator import Violation
from .printing import shortened
from .reading import Source

__all__ = ["Finding", "answer_of", "located"]

_ID_CHARS: Final = 80
_NAME: Final = re.compile("[A-Za-z_]+")
_COMPOUND: Final = re.compile("[a-z]+(?:_[a-z]+)+")
_HOLE: Final = re.compile(r"\{([a-z]+)\}")
_MESSAGE: Final = re.compile(r"\b(?:messages?|contents|input)([.[/]| index )\Z")
"""What stands before the number of a message."""
_ITEM: Final = re.compile(r"\b([A-Za-z_]+)[.[/]\Z")
"""What stands before the number of a part of a message."""


@frozen
class Finding:
    """
    One violation.

    Attributes:
        file: what the file is called.
        line, column: where its message begins, counted from 1; ``None`` if that is not known.
        violation: what it is.
    """

    file: str
    line: int | None
    column: int | None
    violation: Violation

    @property
    def shown_line(self) -> int:
        """A number for a person: that of the line, else of the message, else 1."""
        index = self.violation.index
        return self.line if self.line is not None else index if index is not None else 1


def located(source: Source, violations: Iterable[Violation]) -> Iterator[Finding]:
    """The violations of one conversation, with their lines."""
    places: tuple[tuple[int, int], ...] | None = None
    for one in violations:
        if places is None:
            places = source.places
        known = one.index is not None and one.index < len(places)
        line, column = places[one.index or 0] if known else (None, None)
        yield Finding(source.name, line, column, one)


def answer_of(violation: Violation) -> str:
    """
    What the provider answers: of several texts the one that fits the place, with what this violation knows put into it.

    What varies and is not known is shown as ``...``.

    >>> found = Violation("A-ID-02", "L2", "error", 3, "/messages/3/content/1/tool_use_id", "", "")
    >>> answer_of(found)
    "messages.3.content.1.tool_result.tool_use_id: String should match pattern '^[a-zA-Z0-9_-]+$'"
    """
    rule = RULES.get(violation.rule)
    if rule is None or not rule.error:
        return ""
    named = set(_NAME.findall(violation.pointer))
    meant = set(_COMPOUND.findall(violation.message))
    told = max(rule.error.splitlines(), key=lambda text: (_shared(text, named), _shared(text, meant)))
    return _HOLE.sub(lambda hole: _filling(hole, violation), told)


def _shared(text: str, words: set[str]) -> int:
    return len(words & set(_NAME.findall(text)))


def _filling(hole: re.Match[str], violation: Violation) -> str:
    """What stands in one hole of a provider's text."""
    before, name = hole.string[: hole.start()], hole[1]
    known: list[str] = []
    if name == "n" and violation.index is not None and (found := _MESSAGE.search(before)):
        if found[1] != "[" or hole.string.count("[{n}]") == 1:  # where there are two, they are two messages
            known = [str(violation.index)]
    elif name in ("k", "j") and (found := _ITEM.search(before)):
        parts = violation.pointer.split("/")
        numbers = [number for word, number in pairwise(parts) if word == found[1] and number.isdecimal()]
        known = numbers[:1] if name == "k" else numbers[1:2]
    elif name in ("id", "ids"):
        first = before.count("{id}")  # a second id is another call's
        known = [shortened(one, _ID_CHARS) for one in violation.call_ids[first : first + (1 if name == "id" else 3)]]
    return ", ".join(known) or "..."
