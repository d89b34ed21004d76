"""
Everything the command prints goes through here.

What this is
    `Page`, on which a command writes its lines, tables and bars, `print_json`,
    and `complain` for what is said beside the output.

Rules it obeys
    * Law L25.  Every string that is printed has passed `compactlib.text.escape`:
      the page does it itself, so a command cannot forget it.
    * Without a terminal there is no colour and no bar, and no line is folded;
      all that is said is said in words and numbers.  ``NO_COLOR`` is honoured.
    * JSON is ASCII: whatever a terminal would act on stands in it as an escape.

How it works
    A *piece* is a string, a string with a style, or several of these as one.
    `rich` colours pieces and knows whether there is a terminal; its markup and
    its guesses are off.  Without a terminal there is nothing to colour, and a
    line is written as it is, which costs far less.

What is not here
    What is said: one module for each command.
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Collection, Iterable, Sequence
from typing import IO, Final, TypeAlias

from attrs import frozen
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from ..model import Json
from ..text import escape, floor

__all__ = [
    "LEVEL_STYLES",
    "Page",
    "Piece",
    "Run",
    "Segment",
    "complain",
    "count",
    "number",
    "per_cent",
    "print_json",
    "shortened",
]


@frozen
class Run:
    """Several styled strings that are one piece."""

    parts: tuple[tuple[str, str], ...] = ()


Piece: TypeAlias = "str | tuple[str, str] | Run"
"""A string, a string and the style it is shown in, or several of these."""

LEVEL_STYLES: Final = {"error": "bold red", "warning": "yellow", "info": "cyan"}
"""How levels and outcomes are coloured."""


@frozen
class Segment:
    """A stretch of a bar: how much, in which style, made of what."""

    size: int
    style: str
    glyph: str = "█"


class _Console(Console):
    """A console that leaves it to `main` what to do when the reader has gone."""

    def on_broken_pipe(self) -> None:
        """Called while the error is being handled."""
        raise  # the error that is being handled


class Page:
    """
    What a command writes on.

    Attributes:
        is_terminal: whether somebody looks at it.
        width: how many columns there are for a bar.
    """

    def __init__(self, stream: IO[str] | None = None) -> None:
        self._console = _Console(file=stream, highlight=False, markup=False, emoji=False, soft_wrap=True)
        self.is_terminal = self._console.is_terminal
        self.width = max(20, min(self._console.width, 100))

    def line(self, *pieces: Piece) -> None:
        """One line."""
        self._print(_joined(pieces))

    def _print(self, parts: Sequence[tuple[str, str]]) -> None:
        """One line of words that are escaped."""
        if self.is_terminal:
            self._console.print(Text.assemble(*parts))
        else:
            self._console.file.write("".join([words for words, _style in parts]) + "\n")

    def paragraph(self, text: str, *, indent: str = "", style: str = "") -> None:
        """Text of several lines, each with the indent before it."""
        for line in text.split("\n"):
            self.line((f"{indent}{line}".rstrip(), style))

    def text(self, text: str) -> None:
        """A text as it is, escaped and nothing else; ended by a newline."""
        self._console.file.write(escape(text, keep_newlines=True) + ("" if text.endswith("\n") else "\n"))

    def table(self, rows: Iterable[Sequence[Piece]], *, right: Collection[int] = (), indent: str = "  ") -> None:
        """
        Rows with their columns lined up.

        Args:
            rows: of pieces; rows may be shorter than others.
            right: the columns that are aligned to the right.
            indent: what stands before each row.
        """
        lines = [[_joined([piece]) for piece in row] for row in rows]
        sizes = [[sum(map(_columns, cell)) for cell in row] for row in lines]
        widths: dict[int, int] = {}
        for measured in sizes:
            for column, size in enumerate(measured):
                widths[column] = max(widths.get(column, 0), size)
        for row, measured in zip(lines, sizes, strict=True):
            line = [(indent, "")]
            for column, cell in enumerate(row):
                gap = "  " if column else ""
                blanks = " " * (widths[column] - measured[column])
                line += [(gap + blanks if column in right else gap, ""), *cell, ("" if column in right else blanks, "")]
            while line and not (words := line[-1][0].rstrip()):
                line.pop()
            if line:
                line[-1] = (words, line[-1][1])
            self._print(line)

    def bar(self, segments: Iterable[Segment], *, of: int, columns: int) -> Run:
        """
        A bar, as a piece of a table; empty without a terminal.

        Args:
            segments: in order; whatever is not zero gets at least one column.
            of: the size that *columns* stand for.
            columns: how long the bar would be then.
        """
        if not self.is_terminal or of <= 0:
            return Run()
        made = []
        done = drawn = 0
        for segment in segments:
            done += segment.size
            length = max(round(columns * min(done, of) / of) - drawn, 1 if segment.size else 0)
            made.append((segment.glyph * length, segment.style))
            drawn += length
        return Run(tuple(made))

    def entry(self, name: str, style: str) -> Run:
        """A name in a table under a bar, with the colour of its stretch before it; the name alone without a terminal."""
        return Run((("■ ", style), (name, "")) if self.is_terminal else ((name, ""),))


def _joined(pieces: Iterable[Piece]) -> list[tuple[str, str]]:
    """The pieces with their words escaped."""
    made: list[tuple[str, str]] = []
    for piece in pieces:
        parts = piece.parts if isinstance(piece, Run) else (piece if isinstance(piece, tuple) else (piece, ""),)
        made += [(escape(words), style) for words, style in parts]
    return made


def _columns(part: tuple[str, str]) -> int:
    words = part[0]
    return len(words) if words.isascii() else cell_len(words)


def complain(text: str) -> None:
    """One line on standard error, escaped; where nobody can be told, nothing happens."""
    with contextlib.suppress(OSError):
        sys.stderr.write(f"{escape(text)}\n")


def print_json(value: Json) -> None:
    """One JSON value on standard output, in ASCII (DEL included), ended by a newline."""
    sys.stdout.write(json.dumps(value, indent=2).replace("\x7f", "\\u007f") + "\n")


def number(tokens: int) -> str:
    """A number as it is read: ``12,345``."""
    return f"{tokens:,}"


def count(items: int, noun: str) -> str:
    """
    How many of something.

    >>> count(1, "message"), count(2000, "reply")
    ('1 message', '2,000 replies')
    """
    if items == 1:
        return f"1 {noun}"
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{items:,} {plural}"


def per_cent(part: int, whole: int) -> str:
    """
    A share as it is read; never ``0 %`` for something.

    >>> per_cent(1, 3), per_cent(1, 100_000), per_cent(0, 9), per_cent(-1, 4)
    ('33.3 %', '< 0.1 %', '0.0 %', '-25.0 %')
    """
    if part and abs(part) * 1000 < whole:
        return "< 0.1 %"
    return f"{100 * part / whole:.1f} %" if whole else ""


def shortened(text: str, limit_chars: int) -> str:
    """*text* on one line, cut with an ellipsis when it is longer than the limit."""
    line = " ".join(text[: 4 * limit_chars].split())
    return line if len(line) <= limit_chars else line[: floor(line, limit_chars - 1)] + "…"
