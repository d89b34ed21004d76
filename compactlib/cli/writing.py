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


def write_aside(out: Path, content: str | bytes) -> None:
    """
    Write aside, sync, rename: whoever looks sees the old file or the new one, and never half of it.

    Args:
        content: text, which is ended by a newline, or bytes, which are written as they are.
    """
    aside = out.with_name(f".{out.name}.{os.getpid()}")
    try:
        with aside.open("xb") as file:
            file.write(content if isinstance(content, bytes) else f"{content}\n".encode())
            file.flush()
            os.fsync(file.fileno())
        aside.replace(out)
    finally:
        aside.unlink(missing_ok=True)
