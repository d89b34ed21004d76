"""
The commands, put together, and what becomes of an error.

What this is
    The click group, and `run`, which turns everything that can happen into an
    exit status.

Rules it obeys
    * A `CompactlibError`, an `OSError` and wrong usage are one line (and a
      hint) on standard error and status 2; so is a defect of ours, which is
      called one.

What is not here
    The commands: one module each.
"""

from __future__ import annotations

import contextlib
import sys
import traceback
from pathlib import Path

import click

from .. import __version__
from ..errors import CompactlibError
from .check import check
from .compact import compact
from .convert import convert
from .cuts import cuts
from .expand import expand
from .explain import explain
from .printing import complain
from .repair import repair
from .rules import rules
from .stats import stats
from .truncate import truncate
from .vendor import vendor

__all__ = ["group", "run"]


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="compactlib", message="%(prog)s %(version)s")
def group() -> None:
    """
    Context compaction for tool-using agents.

    FILE is a session file, a request body or a list of messages, "-" for
    standard input, or example:NAME for a session that comes with compactlib.

    Exit status: 0 fine, 1 findings or not compacted, 2 could not run.
    """


for _command in (check, repair, convert, compact, explain, expand, cuts, stats, truncate, rules, vendor):
    group.add_command(_command)


def run(arguments: list[str]) -> int:
    """
    Run one command line.

    Returns:
        What the command returned, or 2 if it could not run.

    Raises:
        OSError: what is printed could not be.
    """
    try:
        with group.make_context("compactlib", arguments) as context:
            status = group.invoke(context)
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return 2
    except click.ClickException as error:
        at = error.ctx if isinstance(error, click.UsageError) else None
        return _failed(error.format_message(), usage="" if at is None else at.get_usage())
    except CompactlibError as error:
        return _failed(str(error))
    except OSError as error:
        if error.filename is None:  # it is the output, which has no name
            raise
        return _failed(f"{error.filename}: {error.strerror or error}")
    except Exception as error:  # noqa: BLE001  # a person at a terminal is told of a defect in one line, and where it is
        place = traceback.extract_tb(error.__traceback__)[-1]
        return _failed(f"a defect of compactlib at {Path(place.filename).name}:{place.lineno}: {type(error).__name__}: {error}")
    return status if isinstance(status, int) else 0


def _failed(why: str, *, usage: str = "") -> int:
    if usage:
        with contextlib.suppress(OSError):
            sys.stderr.write(f"{usage}\n")
    complain(f"compactlib: {why}")
    return 2
