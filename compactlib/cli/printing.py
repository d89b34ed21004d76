"""
Everything the command prints goes through here.

What this is
    `Page`, on which a command writes its lines, tables and bars, and
    `print_json`.

Rules it obeys
    * Law L25.  Every string that is printed has passed `compactlib.text.escape`:
      the page does it itself, so a command cannot forget it.
    * Without a terminal there is no colour and no bar, and no line is folded;
      all that is said is said in words and numbers.  ``NO_COLOR`` is honoured.
    * JSON is ASCII: whatever a terminal would act on stands in it as an escape.

How it works
    A *piece* is a string, or a string with a style.  `rich` colours pieces and
    knows whether there is a terminal; its markup and its guesses are off.

What is not here
    What is said: one module for each command.
"""

from __future__ import annotations

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

__all__ = ["LEVEL_STYLES", "Page", "Piece", "Segment", "count", "number", "per_cent", "print_json", "shortened"]

Piece: TypeAlias = "str | tuple[str, str]"
"""A string, or a string and the style it is shown in."""

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

    def line(self, *pieces: Piece | Text) -> None:
        """One line."""
        self._console.print(_joined(pieces))

    def paragraph(self, text: str, *, indent: str = "", style: str = "") -> None:
        """Text of several lines, each with the indent before it."""
        for line in text.split("\n"):
            self.line((f"{indent}{line}".rstrip(), style))

    def text(self, text: str) -> None:
        """A text as it is, escaped and nothing else; ended by a newline."""
        self._console.file.write(escape(text, keep_newlines=True) + ("" if text.endswith("\n") else "\n"))

    def table(self, rows: Iterable[Sequence[Piece | Text]], *, right: Collection[int] = (), indent: str = "  ") -> None:
        """
        Rows with their columns lined up.

        Args:
            rows: of pieces; rows may be shorter than others.
            right: the columns that are aligned to the right.
            indent: what stands before each row.
        """
        lines = [[_joined([piece]) for piece in row] for row in rows]
        widths: dict[int, int] = {}
        for row in lines:
            for column, cell in enumerate(row):
                widths[column] = max(widths.get(column, 0), cell_len(cell.plain))
        for row in lines:
            line = Text(indent)
            for column, cell in enumerate(row):
                blanks = " " * (widths[column] - cell_len(cell.plain))
                gap = "  " if column else ""
                line.append(gap + blanks if column in right else gap)
                line.append_text(cell)
                line.append("" if column in right else blanks)
            line.rstrip()
            self._console.print(line)

    def bar(self, segments: Iterable[Segment], *, of: int, columns: int) -> Text:
        """
        A bar, as a piece of a table; empty without a terminal.

        Args:
            segments: in order; whatever is not zero gets at least one column.
            of: the size that *columns* stand for.
            columns: how long the bar would be then.
        """
        made = Text()
        if not self.is_terminal or of <= 0:
            return made
        done = drawn = 0
        for segment in segments:
            done += segment.size
            length = max(round(columns * min(done, of) / of) - drawn, 1 if segment.size else 0)
            made.append(segment.glyph * length, segment.style)
            drawn += length
        return made

    def entry(self, name: str, style: str) -> Text:
        """A name in a table under a bar, with the colour of its stretch before it; the name alone without a terminal."""
        return _joined([("■ ", style), name] if self.is_terminal else [name])


def _joined(pieces: Iterable[Piece | Text]) -> Text:
    made = Text()
    for piece in pieces:
        if isinstance(piece, Text):
            made.append_text(piece)
        else:
            words, style = piece if isinstance(piece, tuple) else (piece, "")
            made.append(escape(words), style or None)
    return made


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
    A share as it is read; never ``0 %`` for something nor ``100 %`` for less than all.

    >>> per_cent(1, 3), per_cent(1, 100_000), per_cent(0, 9)
    ('33.3 %', '< 0.1 %', '0.0 %')
    """
    if part and part * 1000 < whole:
        return "< 0.1 %"
    return f"{100 * part / whole:.1f} %" if whole else ""


def shortened(text: str, limit_chars: int) -> str:
    """*text* on one line, cut with an ellipsis when it is longer than the limit."""
    line = " ".join(text[: 4 * limit_chars].split())
    return line if len(line) <= limit_chars else line[: floor(line, limit_chars - 1)] + "…"
