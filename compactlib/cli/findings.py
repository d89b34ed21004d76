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
from typing import Final

from attrs import frozen

from ..protocol.rules import RULES
from ..protocol.validator import Violation
from .reading import Source

__all__ = ["Finding", "answer_of", "located"]

_INDEX: Final = re.compile(r"\b(messages?|contents|input)\[\{n\}\]")


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
    """What the provider answers, with the index and the ids of this violation in it as far as they are sure to be meant."""
    rule = RULES.get(violation.rule)
    answer = "" if rule is None else rule.error.partition("\n")[0]
    if violation.index is not None:
        index = str(violation.index)
        answer = answer.replace("messages.{n}", f"messages.{index}")
        if answer.count("[{n}]") == 1:  # where there are two, they are two messages
            answer = _INDEX.sub(lambda found: f"{found[1]}[{index}]", answer)
    if violation.call_ids:
        answer = answer.replace("{ids}", ", ".join(violation.call_ids[:3])).replace("{id}", violation.call_ids[0])
    return answer
