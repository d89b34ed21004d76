"""
The FILE of every command: a path, ``-``, or the name of a bundled example.

What this is
    `read_source` turns FILE into a `Source`, `read_text` into plain text;
    `UnreadError` is why it could not.

Rules it obeys
    * ``-`` is standard input, read as bytes, whatever the locale says.
    * ``example:NAME`` is a session that comes with the library, so that the
      first command anybody runs needs no file of theirs.
    * Whatever is wrong is said with the name of the file, and with its line
      where that is known.
    * A file that can be read in part is read in part; what could not be read
      is in `Source.transcript.problems`, and `report_problems` says it on
      standard error.

What is not here
    Formats: `compactlib.transcripts`.
"""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from attrs import field, frozen

from ..errors import WireError
from ..transcripts import Transcript, read, read_all
from ..transcripts.lines import read_bytes, read_content
from ..transcripts.sniffing import sniff
from .places import fault_line, message_places
from .printing import complain

__all__ = [
    "EXAMPLE",
    "Source",
    "UnreadError",
    "about",
    "examples",
    "read_source",
    "read_sources",
    "read_stdin",
    "read_text",
    "report_problems",
    "unread_in",
]

EXAMPLE: Final = "example:"
"""What the name of a bundled example begins with."""

_STDIN: Final = "<stdin>"
_MOST_PROBLEMS: Final = 100
_LINE: Final = re.compile(r"\bline ([0-9]+)\b")
_BYTE: Final = re.compile(r"not UTF-8 at byte ([0-9]+)")
_HERE: Final = Path(__file__).resolve().parent
_PLACES: Final = (_HERE / "examples", _HERE.parents[1] / "spec" / "examples")
"""Where examples are: in an installed package, and in a checkout."""


class UnreadError(WireError):
    """
    A file that could not be read.

    Attributes:
        file: what it is called.
        line: where, counted from 1; ``None`` if that is not known.
    """

    def __init__(self, file: str, line: int | None, problem: str, *, hint: str | None = None) -> None:
        super().__init__(file if line is None else f"{file}:{line}", problem, hint=hint)
        self.file: Final = file
        self.line: Final = line


@contextlib.contextmanager
def about(name: str, content: bytes = b"") -> Iterator[None]:
    """
    Whatever is found to be wrong with its shape is said of the file *name*.

    Raises:
        UnreadError: in the place of a `WireError`.
    """
    try:
        yield
    except UnreadError:
        raise
    except WireError as error:
        line = _line_of(error, content)
        is_placed = error.path in ("$", name[:200]) or _LINE.fullmatch(error.path)
        problem = error.problem if is_placed else f"{error.path}: {error.problem}"
        raise UnreadError(name, line, problem, hint=error.hint) from error


def _line_of(error: WireError, content: bytes) -> int | None:
    """The line that an error about *content* speaks of."""
    if found := _LINE.fullmatch(error.path) or (_LINE.search(error.problem) if error.problem.startswith("not JSON at") else None):
        return int(found[1])
    if found := _BYTE.match(error.problem):
        return content.count(b"\n", 0, int(found[1])) + 1
    return fault_line(content.decode("utf-8", "replace"), error.problem) if error.path == "$" else None


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
        UnreadError: it cannot be read, or holds several conversations.
    """
    name, content = _content(file)
    with about(name, content):
        return Source(name, read(content, format=input_format), content)


def read_sources(file: str, input_format: str | None, *, skip_others: bool = False) -> tuple[Source, ...]:
    """
    Every conversation in FILE; a log of requests that each continue the one before is one conversation.

    Args:
        file: FILE.
        input_format: what it is; told from its content when left out.
        skip_others: whether there is none in a file that is of no format that is read.

    Raises:
        UnreadError: it cannot be read.
    """
    name, content = _content(file)
    if skip_others and not _is_conversation(content):
        return ()
    with about(name, content):
        try:
            return (Source(name, read(content, format=input_format), content),)
        except WireError:
            transcripts = read_all(content, format=input_format)
            if len(transcripts) < 2:
                raise
    return tuple(Source(name, transcript, content) for transcript in transcripts)


def _is_conversation(content: bytes) -> bool:
    """Whether it is of a format that is read, however broken."""
    try:
        sniff(read_content(content))
    except WireError:
        return False
    return True


def read_text(file: str, *, errors: str = "replace") -> str:
    """
    FILE as text.

    Args:
        file: FILE.
        errors: what becomes of bytes that are no UTF-8, for a log may hold anything; ``surrogateescape`` keeps them.

    Raises:
        UnreadError: it cannot be read.
    """
    return _content(file)[1].decode("utf-8", errors)


def report_problems(source: Source) -> None:
    """Say on standard error what could not be read."""
    problems = source.transcript.problems
    for problem in problems[:_MOST_PROBLEMS]:
        complain(f"{source.name}:{problem.line}: {problem.text}")
    if len(problems) > _MOST_PROBLEMS:
        complain(f"{source.name}: and {len(problems) - _MOST_PROBLEMS} more lines with problems")


def unread_in(source: Source) -> list[UnreadError]:
    """
    The lines of a conversation of which something was not read, each by itself.

    A torn record of a session is none of them: its agent reads past it as well, and the last may still be written.
    """
    read = source.transcript
    is_session = read.format != read.dialect
    lost = [one for one in read.problems if one.is_unread and not (is_session and one.is_torn)]
    return [UnreadError(source.name, one.line, one.text) for one in lost]


def examples() -> dict[str, Path]:
    """The bundled examples by name."""
    found = (path for place in _PLACES for suffix in (".json", ".jsonl") for path in sorted(place.glob(f"*{suffix}")))
    return {path.stem: path for path in found}


def read_stdin() -> bytes:
    """
    All of standard input.

    Raises:
        UnreadError: it is closed, or cannot be read.
    """
    if sys.stdin is None:
        raise UnreadError(_STDIN, None, "is closed; there is nothing to be read")
    try:
        return sys.stdin.buffer.read()
    except OSError as error:
        raise UnreadError(_STDIN, None, f"cannot be read: {error.strerror or error}") from error


def _content(file: str) -> tuple[str, bytes]:
    if file == "-":
        return _STDIN, read_stdin()
    if not file:
        raise UnreadError("FILE", None, "the name is empty")
    if not file.startswith(EXAMPLE):
        with about(file):
            return file, read_bytes(file)
    known = examples()
    path = known.get(file.removeprefix(EXAMPLE))
    if path is None:
        names = ", ".join(EXAMPLE + name for name in sorted(known)) or "none in this installation"
        raise UnreadError(file, None, "there is no such example", hint=f"there are: {names}")
    return file, read_bytes(path)
