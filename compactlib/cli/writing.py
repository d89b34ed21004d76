"""
Writing what a command made.

What this is
    The option ``--out`` and the two functions behind it.

Rules it obeys
    * Nobody ever sees half a file: it is written aside, synced and renamed.
    * Neither the file that was read nor one that this process prints into is
      written over.
    * Only an ordinary file is replaced; a device, a pipe or a directory is
      refused.  A link stays one, and the file it leads to is written.
    * A file that is replaced keeps its mode, and its owner where that is
      allowed; a new one gets what the umask allows.
    * An error names the file that was asked for.

What is not here
    What is written, and printing (`printing`).
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
import sys
from pathlib import Path
from typing import IO, Any

import click

from .reading import EXAMPLE

__all__ = ["OutPath", "refuse_out", "write_aside"]


class OutPath(click.Path):
    """The name of a file or directory that is written to."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Refuse what is not meant: an empty name is the directory one is in; a dash and an example are read, and no files."""
        if not value:
            self.fail("the name is empty", param, ctx)
        if str(value) == "-":
            self.fail("standard output is not written to; name a file", param, ctx)
        if str(value).startswith(EXAMPLE):
            self.fail(f"by that name an example is read; ./{value} is a file", param, ctx)
        if "\0" in str(value):
            self.fail("a name has no NUL in it", param, ctx)
        return super().convert(value, param, ctx)


def refuse_out(out: Path, file: str, *, option: str = "--out") -> None:
    """
    Refuse, before any work is done, to write over what was read, over what is printed into, or over what is no file.

    Args:
        out: what is to be written.
        file: what was read, as the command line has it.
        option: which names *out*.

    Raises:
        click.UsageError: *out* is one of these.
        OSError: it cannot be looked at.
    """
    found = _standing(out, then="is not replaced" if option == "--out" else "is not appended to")
    if found is None:
        return
    context = click.get_current_context()
    try:
        is_input = os.path.samestat(found, _stat_of(sys.stdin) if file == "-" else os.stat(file))
    except (OSError, ValueError):
        is_input = False
    if is_input:
        raise click.UsageError(f"{option} is the input itself; name another file", context)
    for name, stream in (("output", sys.stdout), ("error", sys.stderr)):
        with contextlib.suppress(OSError, ValueError):
            if os.path.samestat(found, _stat_of(stream)):
                raise click.UsageError(f"{option} is standard {name} itself; name another file", context)


def _stat_of(stream: IO[str] | None) -> os.stat_result:
    if stream is None:
        raise OSError(errno.EBADF, "is closed")
    return os.fstat(stream.fileno())


def _standing(out: Path, *, then: str = "is not replaced") -> os.stat_result | None:
    """What stands at *out*, or where a link there leads to; ``None`` for nothing; no ordinary file is an error, and *then*."""
    try:
        found = os.stat(out)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, f"is no ordinary file, and {then}", str(out))
    if not os.access(out, os.W_OK):
        raise PermissionError(errno.EACCES, "may not be written to", str(out))
    return found


def write_aside(out: Path, content: str | bytes) -> None:
    """
    Write aside, sync, rename: whoever looks sees the old file or the new one, and never half of it.

    Args:
        out: where to; a link is followed.
        content: text, which is ended by a newline, or bytes, which are written as they are.

    Raises:
        OSError: it could not be written; nothing has changed.
    """
    standing = _standing(out)
    target = Path(os.path.realpath(out))
    aside = target.with_name(f".{os.getpid()}-{secrets.token_hex(4)}")  # short: the name itself may be as long as any
    try:
        with aside.open("xb") as file:
            if standing is not None:
                with contextlib.suppress(OSError, AttributeError):  # another's file; a system without owners
                    os.chown(aside, standing.st_uid, standing.st_gid)
                aside.chmod(stat.S_IMODE(standing.st_mode))
            file.write(content if isinstance(content, bytes) else f"{content}\n".encode())
            file.flush()
            os.fsync(file.fileno())
        aside.replace(target)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(out)) from error
    finally:
        with contextlib.suppress(OSError):
            aside.unlink(missing_ok=True)
