"""
``--log``: what a compaction did, appended to a log.

Rules it obeys
    * Law L10.  The record holds the messages that went, so the compaction can be
      undone by it alone; it is on the disk before anything else is written.
    * Law L17.  What was not changed leaves no record.
    * A log that is the input, or is to be written by ``--out``, is refused
      before any work is done.

What is not here
    How records are kept (`compactlib.log`).
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import click

from .. import __version__
from ..dialects import render_messages
from ..dialects.reading import dumps
from ..log import Log
from ..outcomes import Outcome, Unchanged
from .writing import OutPath, refuse_out

__all__ = ["log_option", "log_outcome", "refuse_log"]

log_option: Final = click.option(
    "--log",
    type=OutPath(path_type=Path, dir_okay=False),
    help="Append to this file what was done, and the messages that went.",
)


def refuse_log(log: Path, file: str, out: Path | None) -> None:
    """
    Refuse, before any work is done, a log that is something else as well.

    Raises:
        click.UsageError: it is the input, the output, or where this process prints.
        OSError: it is no ordinary file, or cannot be looked at.
    """
    refuse_out(log, file, option="--log")
    context = click.get_current_context()
    if log.is_symlink():
        raise click.UsageError("--log is a link, which is not followed; name the file itself", context)
    if out is not None and os.path.realpath(log) == os.path.realpath(out):
        raise click.UsageError("--log is --out itself; name another file", context)


def log_outcome(log: Path, outcome: Outcome, *, summariser: str) -> None:
    """
    Append the record of a compaction that was made or refused.

    Raises:
        CompactlibError: it cannot be written.
    """
    if isinstance(outcome, Unchanged):
        return
    before, after = render_messages(outcome.undo()), render_messages(outcome.conversation)
    old, new = ([dumps(message) for message in messages] for messages in (before, after))
    start = _alike(old, new)
    end = _alike(old[start:][::-1], new[start:][::-1])
    Log(log).append(
        {
            "kind": "compaction",
            "version": __version__,
            "summariser": summariser,
            "report": outcome.report,
            "index": start,
            "removed": before[start : len(before) - end],
            "added": after[start : len(after) - end],
        }
    )


def _alike(old: list[str], new: list[str]) -> int:
    """How many of both are the same, from the beginning."""
    return next(
        (place for place, (one, other) in enumerate(zip(old, new, strict=False)) if one != other), min(len(old), len(new))
    )
