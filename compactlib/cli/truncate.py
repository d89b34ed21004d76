"""
``compactlib truncate``: one text, shortened, with a marker that says what is missing.
"""

from __future__ import annotations

import sys
from typing import Literal

import click

from ..truncation import truncate as shorten
from .options import format_option, size
from .printing import Page, print_json
from .reading import read_text

__all__ = ["truncate"]


@click.command()
@click.argument("file", metavar="[FILE]", default="-")
@click.option("--limit-chars", type=size, help="The most characters, marker included.")
@click.option("--limit-lines", type=size, help="The most lines, marker included.")
@click.option("--limit-tokens", type=size, help="The most tokens, as estimated.")
@click.option("--keep", type=click.Choice(["both", "head", "tail"]), default="both", show_default=True, help="Which end to keep.")
@click.option("--signal-lines", type=click.IntRange(0, 100), help="The most lines about errors to keep from the middle.")
@click.option("--raw", is_flag=True, help="Print what is kept byte for byte, for a pipe; a terminal would act on some of it.")
@format_option
def truncate(
    file: str,
    limit_chars: int | None,
    limit_lines: int | None,
    limit_tokens: int | None,
    keep: Literal["both", "head", "tail"],
    signal_lines: int | None,
    raw: bool,
    output_format: str,
) -> int:
    """
    Shorten a text, by default standard input.

    At least one limit is due. The marker in the middle states how much is
    missing, and that what is absent here may be present there.
    """
    if limit_chars is limit_lines is limit_tokens is None:
        raise click.UsageError("a limit is due: --limit-chars, --limit-lines or --limit-tokens", click.get_current_context())
    if raw and output_format != "text":
        raise click.UsageError("--raw prints bytes, and JSON has none; one of the two", click.get_current_context())
    short = shorten(
        read_text(file, errors="surrogateescape" if raw else "replace"),
        limit_chars=limit_chars,
        limit_lines=limit_lines,
        limit_tokens=limit_tokens,
        keep=keep,
        signal_lines=signal_lines,
    )
    if output_format == "json":
        print_json(
            {
                "text": short.text,
                "truncated": short.truncated,
                "original_chars": short.original_chars,
                "original_lines": short.original_lines,
                "omitted_chars": short.omitted_chars,
                "omitted_lines": short.omitted_lines,
            }
        )
    elif raw:
        sys.stdout.flush()
        sys.stdout.buffer.write(short.text.encode("utf-8", "surrogateescape"))
        sys.stdout.buffer.flush()
    else:
        Page().text(short.text)
    return 0
