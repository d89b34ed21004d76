"""
What commands have in common on the command line.

What this is
    The argument FILE, the options ``--format``, ``--input-format`` and
    ``--profile``, and sizes as people write them.

What is not here
    What a command does with them.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final, TypeVar

import click

from ..protocol.profiles import PROFILES
from ..tokens import FAMILIES, Counter, counter_for, estimate
from ..transcripts import FORMATS

__all__ = [
    "check_profile",
    "counter_of",
    "family_option",
    "file_argument",
    "format_option",
    "input_option",
    "profile_option",
    "size",
    "window_options",
]

_Command = TypeVar("_Command", bound=Callable[..., Any])

_SPELLING: Final = re.compile(r"([0-9]+(?:[_,][0-9]{3})*|[0-9]+\.[0-9]+)([km]?)", re.IGNORECASE)
_UNITS: Final = {"": 1, "k": 1_000, "m": 1_000_000}
_LONGEST_CHARS: Final = 12


def size(text: str) -> int:
    """
    A number of tokens as people write it; ``k`` is a thousand, as in the names of models' windows.

    >>> size("32k"), size("1.5M"), size("32_000"), size("200000")
    (32000, 1500000, 32000, 200000)
    """
    found = _SPELLING.fullmatch(text.strip())
    if found is None or len(found[1]) > _LONGEST_CHARS:
        raise click.BadParameter(f"{text!r} is no size; write 32000, 32_000, 32k or 1M")
    value = Decimal(re.sub("[_,]", "", found[1])) * _UNITS[found[2].lower()]
    if value != int(value):
        raise click.BadParameter(f"{text!r} is no whole number")
    return int(value)


file_argument: Final = click.argument("file", metavar="FILE")
"""A path, ``-`` for standard input, or ``example:NAME``."""

format_option: Final = click.option(
    "--format",
    "output_format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Print for people or for programs.",
)

input_option: Final = click.option(
    "--input-format",
    "--dialect",
    "input_format",
    metavar="FORMAT",
    type=click.Choice(FORMATS),
    help=f"What FILE is: a session, or a request body or messages of a dialect; {', '.join(FORMATS)}.  [default: by content]",
)


def _known_profile(ctx: click.Context, param: click.Parameter, name: str | None) -> str | None:
    if name is not None and name not in PROFILES:
        near = difflib.get_close_matches(name[:40].casefold(), PROFILES, n=3, cutoff=0.5)
        hint = f"did you mean {', '.join(near)}? " if near else ""
        raise click.BadParameter(f"none is called {name!r}; {hint}compactlib rules --profiles lists them", ctx, param)
    return name


profile_option: Final = click.option(
    "--profile",
    metavar="NAME",
    callback=_known_profile,
    help='The route it is sent by; "compactlib rules --profiles" lists them.  [default: the dialect\'s own]',
)


def check_profile(name: str | None, dialect: str) -> None:
    """
    Refuse a profile of another dialect.

    Raises:
        click.UsageError: it is one; those of *dialect* are named.
    """
    if name is not None and PROFILES[name].dialect != dialect:
        others = ", ".join(profile.name for profile in PROFILES.values() if profile.dialect == dialect)
        raise click.UsageError(f"the profile {name} is none of {dialect}, which has {others}", click.get_current_context())


family_option: Final = click.option(
    "--family",
    type=click.Choice(sorted(FAMILIES)),
    help="Count tokens as this family of models does, a little dear.  [default: an even estimate]",
)


def counter_of(family: str | None) -> Counter:
    """The counter for ``--family``."""
    return estimate if family is None else counter_for(family)


def window_options(*, required: bool) -> Callable[[_Command], _Command]:
    """``--window`` and ``--reserve``."""

    def add(command: _Command) -> _Command:
        reserve = click.option("--reserve", type=size, help="Room for the answer.  [default: a quarter, at most 32k]")
        window = click.option("--window", type=size, required=required, help="The model's window: 32k, 200k, 1M.")
        return window(reserve(command))

    return add
