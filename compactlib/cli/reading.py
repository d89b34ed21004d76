"""
The FILE of every command: a path, ``-``, or the name of a bundled example.

What this is
    `read_source` turns FILE into a `Source`, `read_text` into plain text.

Rules it obeys
    * ``-`` is standard input, read as bytes, whatever the locale says.
    * ``example:NAME`` is a session that comes with the library, so that the
      first command anybody runs needs no file of theirs.
    * A file that can be read in part is read in part; what could not be read
      is in `Source.transcript.problems`, and `report_problems` says it on
      standard error.

What is not here
    Formats: `compactlib.transcripts`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from attrs import field, frozen

from ..errors import WireError
from ..text import escape
from ..transcripts import Transcript, read, read_all
from ..transcripts.lines import read_bytes, read_content
from ..transcripts.sniffing import sniff
from .places import message_places

__all__ = ["EXAMPLE", "Source", "examples", "is_conversation", "read_source", "read_sources", "read_text", "report_problems"]

EXAMPLE: Final = "example:"
"""What the name of a bundled example begins with."""

_MOST_PROBLEMS: Final = 100
_HERE: Final = Path(__file__).resolve().parent
_PLACES: Final = (_HERE / "examples", _HERE.parents[1] / "spec" / "examples")
"""Where examples are: in an installed package, and in a checkout."""


@frozen
class Source:
    """
    One conversation that was read.

    Attributes:
        name: what it is called in messages.
        transcript: what was in it.
    """

    name: str
    transcript: Transcript
    content: bytes = field(repr=False)

    @property
    def lines(self) -> tuple[int, ...]:
        """The line of the file on which each message begins, counted from 1; empty if that is not known."""
        return tuple(line for line, _column in self.places)

    @property
    def places(self) -> tuple[tuple[int, int], ...]:
        """Line and column of each message, counted from 1; empty if they are not known."""
        known = self.transcript.lines
        if any(line > 1 for line in known):
            return tuple((line, 1) for line in known)
        return message_places(self.content.decode("utf-8", "replace"))


def read_source(file: str, input_format: str | None) -> Source:
    """
    The conversation in FILE.

    Raises:
        WireError: it cannot be read, or holds several conversations.
    """
    name, content = _content(file)
    return Source(name, read(content, format=input_format), content)


def read_sources(file: str, input_format: str | None) -> tuple[Source, ...]:
    """
    Every conversation in FILE; a log of requests that each continue the one before is one conversation.

    Raises:
        WireError: it cannot be read.
    """
    name, content = _content(file)
    try:
        return (Source(name, read(content, format=input_format), content),)
    except WireError:
        transcripts = read_all(content, format=input_format)
        if len(transcripts) < 2:
            raise
    return tuple(Source(name, transcript, content) for transcript in transcripts)


def is_conversation(file: str) -> bool:
    """Whether FILE is of a format that is read, however broken; said by its content."""
    try:
        sniff(read_content(_content(file)[1]))
    except WireError:
        return False
    return True


def read_text(file: str) -> str:
    """FILE as text; bytes that are no UTF-8 are replaced, because a log may hold anything."""
    return _content(file)[1].decode("utf-8", "replace")


def report_problems(source: Source) -> None:
    """Say on standard error what could not be read."""
    problems = source.transcript.problems
    for problem in problems[:_MOST_PROBLEMS]:
        sys.stderr.write(escape(f"{source.name}:{problem.line}: {problem.text}") + "\n")
    if len(problems) > _MOST_PROBLEMS:
        sys.stderr.write(escape(f"{source.name}: and {len(problems) - _MOST_PROBLEMS} more lines with problems") + "\n")


def examples() -> dict[str, Path]:
    """The bundled examples by name."""
    found = (path for place in _PLACES for suffix in (".json", ".jsonl") for path in sorted(place.glob(f"*{suffix}")))
    return {path.stem: path for path in found}


def _content(file: str) -> tuple[str, bytes]:
    if file == "-":
        return "<stdin>", sys.stdin.buffer.read()
    if not file.startswith(EXAMPLE):
        return file, read_bytes(file)
    known = examples()
    path = known.get(file.removeprefix(EXAMPLE))
    if path is None:
        names = ", ".join(EXAMPLE + name for name in sorted(known)) or "none in this installation"
        raise WireError(file, "there is no such example", hint=f"there are: {names}")
    return file, read_bytes(path)
