"""
Files into JSON values, whatever happened to the file.

What this is
    The floor under every reader of this wing: bytes become one document or
    numbered lines, and what cannot be read is named by its line number while
    the rest is read.

Rules it obeys
    * Lines end at ``\\n`` and nowhere else.  Python's ``splitlines`` also breaks
      at U+2028, U+0085 and form feeds, which stand unescaped inside JSON
      strings, and would tear healthy lines apart.
    * One JSON value is at most 64 MiB, one file at most 20 million values;
      see `compactlib.dialects.reading` for depth, digits and duplicate keys.
    * Linear time: a broken line is scanned a fixed number of times.

How it works
    An append-only log breaks in few ways.  Its last line is torn when the
    writer died; the next writer appends to the torn piece, so a whole record
    follows on the same line; a file system that lost power leaves NUL bytes;
    a masking script leaves one line that is no JSON.  Each has its own words
    in a `Problem`.

What is not here
    What the lines mean, and whether the file is one of ours: `sniffing`.
"""

from __future__ import annotations

import itertools
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from attrs import frozen

from ..dialects.reading import MAX_NODES, loads
from ..errors import WireError
from ..model import Json

__all__ = ["MAX_VALUE_BYTES", "Content", "Line", "Problem", "as_utf8", "read_bytes", "read_content", "seam"]

MAX_VALUE_BYTES: Final = 64 * 1024 * 1024
"""The largest JSON value (a line, or a whole document) that is read."""

_RECORD_START: Final = re.compile(rb'\{"(?:type|parentUuid|uuid|id|sessionId|timestamp|role)":')
_STARTS_TRIED: Final = 8  # a broken line is read from at most so many places
_STRUCTURE: Final = (b",", b":", b"[", b"{")
_BLANK: Final = b"\0 \t\r\n"


@frozen
class Problem:
    """
    Something in the file that could not be taken as it stands.

    Attributes:
        line: the number of the line, counted from 1.
        text: what was found and what was done about it.
        is_unread: whether something of the file was not read that may be of the conversation.
        is_torn: whether that is a record which its writer did not finish.
    """

    line: int
    text: str
    is_unread: bool = False
    is_torn: bool = False

    def __str__(self) -> str:
        return f"line {self.line}: {self.text}"


@frozen
class Line:
    """One JSON value of the file and the number of the line it stands on."""

    number: int
    value: Json


@frozen
class Content:
    """
    What stood in a file.

    Attributes:
        lines: the values in order; one for a document.
        problems: what could not be read.
        is_document: whether the file is one JSON value rather than one a line.
    """

    lines: tuple[Line, ...]
    problems: tuple[Problem, ...] = ()
    is_document: bool = False


def read_bytes(source: str | os.PathLike[str] | bytes) -> bytes:
    """
    The bytes of a file, or *source* itself when it is bytes.

    Raises:
        WireError: the file cannot be read; the path is the file's name.
    """
    if isinstance(source, bytes):
        return source
    try:
        return Path(source).read_bytes()
    except OSError as error:
        name = os.fspath(source)
        hint = "content is passed as bytes, a name as str" if name.lstrip().startswith(("{", "[")) else None
        raise WireError(name[:200], f"cannot be read: {error.strerror or error}", hint=hint) from error
    except ValueError as error:  # a NUL or a lone surrogate in the name
        raise WireError(repr(source)[:200], f"is no file name: {error}") from error


def read_content(data: bytes) -> Content:
    """
    One document, or the lines of a log.

    Raises:
        WireError: nothing in it is JSON, or it is larger than is read.

    >>> content = read_content(b'{"a": 1}\\n{"b": 2}\\n{"c"')
    >>> [line.value for line in content.lines]
    [{'a': 1}, {'b': 2}]
    >>> print(content.problems[0])
    line 3: cut off in the middle of a record, as when the writer died; not read
    """
    data = as_utf8(data)
    body = data.strip(_BLANK)
    if not body:
        raise WireError("$", "the file holds nothing but NUL bytes" if b"\0" in data else "the file is empty")
    first, _, rest = body.partition(b"\n")
    if not rest or not _is_value(first):
        try:
            return Content((Line(1, _loads(body)),), is_document=True)
        except WireError as error:
            refusal = error  # perhaps a log whose first line is broken
    else:
        refusal = None
    lines: list[Line] = []
    problems: list[Problem] = []
    budget = _Budget(data)
    for number, raw, is_last in _numbered(data):
        for value in _read_line(number, raw, problems, is_last=is_last):
            if isinstance(value, dict):
                budget.spend(number, value)
                lines.append(Line(number, value))
            else:
                problems.append(Problem(number, "JSON, but no object; not read", is_unread=True))
    if not lines:
        raise refusal or WireError(f"line {problems[0].line}", problems[0].text)
    return Content(tuple(lines), tuple(problems))


def as_utf8(data: bytes) -> bytes:
    """*data* without a byte order mark, and in UTF-8 where a shell wrote UTF-16."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace").encode("utf-8", "surrogatepass")
    return data.removeprefix(b"\xef\xbb\xbf")


def _is_value(text: bytes) -> bool:
    try:
        _loads(text)
    except WireError:
        return False
    return True


def _numbered(data: bytes) -> Iterator[tuple[int, bytes, bool]]:
    """(number, bytes, whether the file ends in the middle of it) for each line that is not blank."""
    start, number, size = 0, 0, len(data)
    while start < size:
        number += 1
        stop = data.find(b"\n", start)
        raw = data[start : stop if stop >= 0 else size]
        if raw.strip():
            yield number, raw, stop < 0
        start = stop + 1 if stop >= 0 else size


def _read_line(number: int, raw: bytes, problems: list[Problem], *, is_last: bool) -> Iterator[Json]:
    """The values on one line: one for a healthy line, and whatever can be saved of a broken one."""
    text = raw.strip(_BLANK)
    if len(text) < len(raw) and b"\0" in raw:
        nuls = raw.count(b"\0")
        problems.append(Problem(number, f"{nuls} NUL bytes, as after a loss of power; left out"))
        if not text:
            return
    try:
        yield _loads(text)
        return
    except WireError as error:
        why, cause = error.problem, error.__cause__
    if isinstance(cause, UnicodeDecodeError):
        whole = text.decode("utf-8", "replace")
        text = whole.encode()
        if not (is_last and whole.endswith("\ufffd")):  # a torn last line may end inside a letter
            problems.append(Problem(number, f"{why}; U+FFFD put in its place"))
        try:
            yield _loads(text)
            return
        except WireError as error:
            why, cause = error.problem, error.__cause__
    found = seam(text)
    if found is not None:
        place, saved = found
        if _is_value(text[:place]):
            problems.append(Problem(number, "two records on one line; both read"))
            yield _loads(text[:place])
        else:
            torn = f"a torn record of {place} bytes before a whole one; the whole one read"
            problems.append(Problem(number, torn, is_unread=True, is_torn=True))
        yield saved
        return
    is_torn = is_last and text.startswith(b"{") and isinstance(cause, json.JSONDecodeError)
    if is_torn:
        why = "cut off in the middle of a record, as when the writer died"
    why = why.replace("not JSON at line 1, ", "not JSON at ", 1)  # of the one line that it is
    problems.append(Problem(number, f"{why}; not read", is_unread=True, is_torn=is_torn))


def seam(text: bytes) -> tuple[int, Json] | None:
    """Where on a line a whole record begins that has something before it and nothing behind, and that record."""
    for match in itertools.islice(_RECORD_START.finditer(text, 1), _STARTS_TRIED):
        try:
            return match.start(), _loads(text[match.start() :])
        except WireError:
            continue
    return None


def _loads(text: bytes) -> Json:
    """One value within the limits of size."""
    if len(text) > MAX_VALUE_BYTES:
        raise WireError("$", f"a value of more than {MAX_VALUE_BYTES} bytes")
    if len(text) > MAX_NODES and sum(text.count(mark) for mark in _STRUCTURE) > MAX_NODES:
        raise WireError("$", f"more than {MAX_NODES} values")
    return loads(text)


class _Budget:
    """
    Counts the values of a file against `MAX_NODES`.

    Structural characters bound the number of values from above and cost next
    to nothing to count; only a file that could be too large is counted exactly.
    """

    def __init__(self, data: bytes) -> None:
        self.left = MAX_NODES
        self.is_exact = sum(data.count(mark) for mark in _STRUCTURE) > MAX_NODES

    def spend(self, number: int, value: Json) -> None:
        if not self.is_exact:
            return
        stack = [value]
        while stack:
            item = stack.pop()
            self.left -= 1
            if item.__class__ is dict:
                stack.extend(item.values())
            elif item.__class__ is list:
                stack.extend(item)
        if self.left < 0:
            raise WireError(f"line {number}", f"more than {MAX_NODES} values in the file")
