"""
The append-only log: a record a line, each bound to all that stands before it.

What this is
    `Log`, a file of JSON Lines to which records (JSON objects) are appended, and
    `Logged`, what is read from one.

Rules it obeys
    * Law L10.  No byte of the file is changed or taken away, not even what a
      crash left.  `Log.append` returns when the record is on the disk.
    * A torn record spoils itself and no other: a newline is put behind it, it is
      not read, and its line is named.  A whole one without a newline counts.
    * Two writers never mix.  A record is one write of one line under an
      exclusive lock; the second waits.  Windows has none, and may only read.
    * Law L25.  What is read may be hostile: a line has at most 64 MiB, and the
      limits of `compactlib.dialects.reading` hold.  Links are not followed.

How it works
    Our records begin with ``{"preceding":"DIGEST"``, the *seal* of what precedes:
    the SHA-256 of every byte from the beginning of the sealed line before, or of
    the file, up to this line.  So the chain covers what carries no digest, foreign
    records and damaged lines, and a change breaks the next seal.  What begins so is
    a sealed line, whole or torn.  A writer reads back to the last one, no further.

What is not here
    What the records say; proof, for a chain shows accidents and no intent.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO, Final

from attrs import frozen

from .arguments import need, need_path, need_whole
from .dialects.reading import copy_json, dumps, loads
from .errors import LogError, PolicyError, StoreError, WireError
from .model import Json
from .store import as_store_error, folder, open_ordinary, reference_of

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]  # and nothing of it is asked then

__all__ = ["LINE_BYTES", "Log", "Logged"]

LINE_BYTES: Final = 64 * 1024 * 1024
"""The longest line of a log."""

_KEY: Final = "preceding"
_UNSEALED: Final = "0" * 64
_SEALED: Final = re.compile(rb'^\{"preceding":"([0-9a-f]{64})"', re.MULTILINE)


@frozen
class Logged:
    """
    What stands in a log.

    Attributes:
        records: by the numbers of their lines, counted from 1, in order, and without their seals.
        damaged: the lines that hold no record, each with what is wrong.
        broken: the lines whose seal does not fit: between it and the one before something was changed, lost or put in.
    """

    records: Mapping[int, dict[str, Json]]
    damaged: tuple[LogError, ...] = ()
    broken: tuple[LogError, ...] = ()


class Log:
    """
    A file to which any number of processes append records.

    It is opened for each call, so a `Log` may be shared by threads and inherited by children.

    Args:
        path: of the file; made with its first record, readable by its owner alone.
        line_bytes: the longest line that is written or read.

    Raises:
        PolicyError: *path* is none, or the limit is no whole number from 256 on.

    >>> import tempfile
    >>> log = Log(Path(tempfile.mkdtemp(), "session.jsonl"))
    >>> log.append({"id": 1})
    >>> _ = log.path.write_bytes(log.path.read_bytes() + b'{"id": 2, "te')  # a writer died
    >>> log.append({"id": 3})
    >>> log.read().records, [damage.line for damage in log.read().damaged]
    ({1: {'id': 1}, 3: {'id': 3}}, [2])
    """

    def __init__(self, path: str | os.PathLike[str], *, line_bytes: int = LINE_BYTES) -> None:
        need_path("path", path)
        need_whole("line_bytes", line_bytes, least=256)
        self.path: Final = Path(path)
        self._line_bytes: Final = line_bytes

    def append(self, record: Mapping[str, Json]) -> None:
        """
        Append one record; it is on the disk when this returns.

        Raises:
            PolicyError: *record* is no dictionary, or has the key ``preceding``, which is the log's own.
            WireError: it holds something that JSON cannot, or that would not be read back.
            StoreError: it cannot be written.  A piece of it may stand in the file then, which is a damaged line.
        """
        need("record", record, dict, "a JSON object")
        if _KEY in record:
            raise PolicyError("record", f"the key {_KEY!r} is the log's own")
        text = dumps(copy_json({_KEY: _UNSEALED, **record})).encode()
        loads(text)
        if len(text) > self._line_bytes:
            raise StoreError(f"a record of {len(text)} bytes is too long for {self.path}: a line has {self._line_bytes}")
        with as_store_error(f"append to {self.path}"), self._opened(os.O_RDWR | os.O_APPEND | os.O_CREAT) as stream:
            before = _last_sealed(stream)
            gap = b"\n" if before and not before.endswith(b"\n") else b""
            line = gap + text.replace(_UNSEALED.encode(), reference_of(before + gap).encode(), 1) + b"\n"
            if (written := os.write(stream.fileno(), line)) != len(line):
                raise StoreError(f"{self.path} took {written} of {len(line)} bytes: the record is torn", rule="L10")
            os.fsync(stream.fileno())
            if not before:  # a new file: its name as well
                with folder(self.path.parent) as handle:
                    os.fsync(handle)

    def read(self) -> Logged:
        """
        All records, and which lines hold none; nothing of a file that is not there.

        Raises:
            StoreError: it cannot be read.
        """
        records: dict[int, dict[str, Json]] = {}
        damaged: list[LogError] = []
        broken: list[LogError] = []
        hasher, line, is_cut = hashlib.sha256(), 0, False
        if not os.path.lexists(self.path):
            return Logged(records)
        with as_store_error(f"read {self.path}"), self._opened(os.O_RDONLY) as stream:
            for data in iter(lambda: stream.readline(self._line_bytes + 1), b""):
                is_rest, is_cut = is_cut, len(data) > self._line_bytes and not data.endswith(b"\n")
                seal = None if is_rest else _SEALED.match(data)
                line += not is_rest
                if seal is not None and hasher.hexdigest().encode() != seal[1]:
                    broken.append(LogError(line, "what precedes is not what preceded when it was written"))
                hasher = hasher if seal is None else hashlib.sha256()
                hasher.update(data)
                if is_rest or data.isspace():
                    continue
                try:
                    records[line] = _record(data, cut_at=self._line_bytes if is_cut else None, is_sealed=seal is not None)
                except WireError as error:
                    damaged.append(LogError(line, error.problem))
        return Logged(records, tuple(damaged), tuple(broken))

    @contextmanager
    def _opened(self, flags: int) -> Iterator[BinaryIO]:
        """The file, locked: against other writers, and before it is written to against readers too."""
        if fcntl is None and flags != os.O_RDONLY:
            raise StoreError("this system has no locks to keep two writers apart, so nothing is appended")
        with os.fdopen(open_ordinary(self.path, flags), "rb") as stream, ExitStack() as locked:
            if fcntl is not None:
                fcntl.flock(stream, fcntl.LOCK_SH if flags == os.O_RDONLY else fcntl.LOCK_EX)
                locked.callback(fcntl.flock, stream, fcntl.LOCK_UN)  # a child that was forked meanwhile has the file open, too
            yield stream


def _last_sealed(stream: BinaryIO) -> bytes:
    """What stands from the last sealed line on, or all of it without one; the blocks grow, so the cost is linear."""
    start = size = stream.seek(0, os.SEEK_END)
    block, data = 1 << 16, b""
    while start:
        start = max(0, size - block)
        stream.seek(start)
        data = stream.read()
        found = [seal.start() for seal in _SEALED.finditer(data, min(start, 1))]  # at 1 the byte before tells a line's beginning
        if found:
            return data[found[-1] :]
        block *= 4
    return data


def _record(data: bytes, *, cut_at: int | None, is_sealed: bool) -> dict[str, Json]:
    """The record on a line, without its seal."""
    if cut_at is not None:
        raise WireError("$", f"longer than {cut_at} bytes")
    try:
        record = loads(data.rstrip(b"\r\n"))
    except WireError as error:
        raise WireError("$", error.problem.replace("at line 1, ", "at ")) from error
    if not isinstance(record, dict):
        raise WireError("$", "a record is a JSON object")
    return {key: value for key, value in record.items() if key != _KEY} if is_sealed else record
