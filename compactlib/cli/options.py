"""
What commands have in common on the command line.

What this is
    The argument FILE, the options ``--format`` and ``--input-format``, and
    sizes as people write them.

What is not here
    What a command does with them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final, TypeVar

import click

from ..transcripts import FORMATS

__all__ = ["SIZE", "Size", "file_argument", "format_option", "input_option", "window_options"]

_Command = TypeVar("_Command", bound=Callable[..., Any])

_SPELLING: Final = re.compile(r"([0-9]+(?:[_,][0-9]{3})*|[0-9]{1,9}\.[0-9]{1,9})([km]?)", re.IGNORECASE)
_UNITS: Final = {"": 1, "k": 1_000, "m": 1_000_000}
_MOST: Final = 10**12


class Size(click.ParamType):
    """
    A number of tokens: ``32000``, ``32_000``, ``32k``, ``1.5M``.

    ``k`` is a thousand, as in the names of models' windows.

    >>> SIZE.convert("32k", None, None), SIZE.convert("1.5M", None, None), SIZE.convert("32_000", None, None)
    (32000, 1500000, 32000)
    """

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number; a usage error for anything else."""
        if isinstance(value, int):
            return value
        found = _SPELLING.fullmatch(str(value).strip())
        if found is None or len(found[1]) > 20:
            self.fail(f"{value!r} is no size; write 32000, 32_000, 32k or 1M", param, ctx)
        size = Decimal(re.sub("[_,]", "", found[1])) * _UNITS[found[2].lower()]
        if size != int(size) or size > _MOST:
            self.fail(f"{value!r} is no whole number of tokens up to {_MOST}", param, ctx)
        return int(size)


SIZE: Final = Size()

file_argument: Final = click.argument("file", metavar="FILE")
"""A path, ``-`` for standard input, or ``example:NAME``."""

format_option: Final = click.option(
    "--format", "output_format", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Print for people or for programs."
)

input_option: Final = click.option(
    "--input-format",
    "--dialect",
    "input_format",
    type=click.Choice(FORMATS),
    help="What FILE is: a session, or a request body or messages of a dialect. Told from its content when left out.",
)


def window_options(*, required: bool) -> Callable[[_Command], _Command]:
    """``--window`` and ``--reserve``."""

    def add(command: _Command) -> _Command:
        reserve = click.option("--reserve", type=SIZE, help="Tokens kept for the answer.  [default: a quarter of the window, at most 32k]")
        window = click.option("--window", type=SIZE, required=required, help="The model's window in tokens, such as 32k, 200k or 1M.")
        return window(reserve(command))

    return add
