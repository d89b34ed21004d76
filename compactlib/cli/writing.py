"""
Writing what a command made.

What this is
    The two functions behind every ``--out``.

Rules it obeys
    * Nobody ever sees half a file: it is written aside, synced and renamed.
    * The file that was read is never written over.

What is not here
    What is written, and printing (`printing`).
"""

from __future__ import annotations

import os
from pathlib import Path

import click

__all__ = ["refuse_input", "write_aside"]


def refuse_input(out: Path, file: str) -> None:
    """Refuse to write over the file that was read."""
    try:
        is_input = file != "-" and out.samefile(file)
    except OSError:
        return
    if is_input:
        raise click.UsageError("--out is the input itself; name another file", click.get_current_context())


def write_aside(out: Path, text: str) -> None:
    """Write aside, sync, rename: whoever looks sees the old file or the new one, and never half of it."""
    aside = out.with_name(f".{out.name}.{os.getpid()}")
    try:
        with aside.open("x", encoding="utf-8") as file:
            file.write(text + "\n")
            file.flush()
            os.fsync(file.fileno())
        aside.replace(out)
    finally:
        aside.unlink(missing_ok=True)
