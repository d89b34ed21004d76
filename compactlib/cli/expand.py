"""
``compactlib expand``: what a reference stands for.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import click

from ..markers import REFERENCE
from ..recalling import recall
from ..store import DirectoryStore, fetch
from .options import format_option
from .printing import Page, print_json

__all__ = ["expand"]


@click.command()
@click.argument("reference", metavar="REF")
@click.option(
    "--store", type=click.Path(exists=True, file_okay=False, path_type=Path), required=True, help="Where it was stored."
)
@click.option("--lines", metavar="FIRST-LAST", help="Only these lines, counted from 1.")
@click.option("--search", metavar="TEXT", help="Only lines that hold TEXT, in any case of letters.")
@click.option("--raw", is_flag=True, help="Print the bytes as they are, for a pipe; a terminal would act on some of them.")
@format_option
def expand(reference: str, store: Path, lines: str | None, search: str | None, raw: bool, output_format: str) -> int:
    """
    Show what REF stands for: the reference in a stub, a marker or a pointer.

    A page at a time; its last line says how to get the next. Exit status 1
    says that the lines or the text do not exist.
    """
    found = re.search(REFERENCE, reference)
    if found is None:
        raise click.UsageError("REF has 64 hexadecimal digits, as behind ref= in a stub", click.get_current_context())
    ref = found[0]
    if raw and (output_format != "text" or lines is not None or search is not None):
        message = "--raw prints all bytes as they are; it goes with none of --format, --lines and --search"
        raise click.UsageError(message, click.get_current_context())
    kept = DirectoryStore(store)
    data = fetch(kept, ref)
    if raw:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return 0
    text = data.decode("utf-8", "surrogatepass")
    page = recall(ref, kept, issued={ref: (len(text), text.count("\n"))}, lines=lines, search=search)
    head, *shown = page.text.split("\n")
    if output_format == "json":
        print_json({"ref": ref, "chars": len(text), "page": page.text, "next": page.next})
    else:
        out = Page()
        for line in (head, *shown):
            out.line(line)
    return 0 if shown else 1
