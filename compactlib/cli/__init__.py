"""
The command ``compactlib``.

What this is
    `main` runs one command line and returns its exit status: 0 fine, 1 findings
    or not compacted, 2 could not run.

Rules it obeys
    * No traceback ever: what goes wrong ends as one line on standard error.
    * The tables and bars are for people; ``--format json`` is the contract.

How it works
    One module for each command, put together in `commands`.  They need click
    and rich (the extra ``cli``), so nothing is imported before `main` knows
    that both are there.

What is not here
    Anything that a program would want: the command only reads, asks the core,
    and prints.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """
    Run the command line *arguments*, the process's own if left out.

    Returns:
        The exit status; 130 after an interrupt, 141 when whoever read the
        output has gone, as a shell reports these two.
    """
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115  # it is closed with the process, as the real one would be
    if sys.stdout is None:
        sys.stderr.write("compactlib: standard output is closed\n")
        return 2
    try:
        import click
        import rich
    except ImportError as error:
        sys.stderr.write(f"compactlib: the command needs the package {error.name!r}: pip install 'compactlib[cli]'\n")
        return 2
    del click, rich
    from .commands import run
    from .printing import complain

    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a terminal that cannot show a letter shows its number
    try:
        status = run(sys.argv[1:] if arguments is None else list(arguments))
        sys.stdout.flush()
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        _let_go()
        return 141
    except OSError as error:
        _let_go()
        complain(f"compactlib: standard output cannot be written: {error.strerror or error}")
        return 2
    return status


def _let_go() -> None:
    """Nothing is left to be flushed at exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
