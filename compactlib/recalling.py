"""
What an agent offers its model: to fetch what was removed, and to put something away.

What this is
    `recall` gives back what a reference stands for, in pages; `stash` puts a
    text away under a name; `reference` puts a pointer with a few chosen lines
    or fields into a conversation in place of a file or a value.  `TOOLS` has
    their declarations as JSON schemas.

Rules it obeys
    * Law L25.  A reference is resolved only if this conversation issued it: a
      store may hold other sessions' secrets, and the model's word is not proof.
      A path is opened only below the roots that the caller gave, after its
      links were resolved, and only if it is an ordinary file of bounded size.
    * Law L11.  A page says which lines it holds, of how many, and how to get
      the next.
    * Searching is literal, whatever the case, and linear.  A pattern from a
      model can cost more time than it is worth, and so can a long literal one
      where `re` ignores case.
    * What the model asked wrongly is answered in words that it can act on,
      because an exception would only end its turn.

What is not here
    Stubs and markers (`stubs`, `markers`), and the stores (`store`).
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any, Final

from attrs import frozen

from .arguments import need, need_path, need_whole, shown
from .errors import PolicyError, StoreError
from .markers import REFERENCE, Issued
from .model import Json
from .store import Store, alias_of, fetch, keep, need_store
from .stubs import write_pointer
from .text import count_newlines, floor

__all__ = ["TOOLS", "Page", "Stashed", "recall", "reference", "stash"]

_PAGE_CHARS: Final = 8_000
_MATCHES: Final = 50
_MATCH_CHARS: Final = 300
_FILE_BYTES: Final = 64 * 1024 * 1024


@frozen
class Page:
    """
    A piece of what was removed.

    Attributes:
        text: what to show to the model; its first line says what it is.
        next: the arguments of the call that gives the next page, ``None`` if this is the last.
    """

    text: str
    next: dict[str, Json] | None = None


@frozen
class Stashed:
    """
    Something put away.

    Attributes:
        text: the pointer, to stand in the conversation.
        ref: its reference.
        issued: the reference with its characters and newlines, for the issued table.
    """

    text: str
    ref: str
    issued: dict[str, tuple[int, int]]


# --- recall ----------------------------------------------------------------------------------------------------------


def recall(
    ref: Json,
    store: Store,
    *,
    issued: Issued,
    lines: Json = None,
    search: Json = None,
    page_chars: int = _PAGE_CHARS,
) -> Page:
    """
    What *ref* stands for, or a page of it.

    The arguments that come from a model may be anything.

    Args:
        ref: a reference from a stub, a marker or a pointer.
        store: where it was put.
        issued: the references of this conversation.
        lines: ``"120-180"``: the first line, counted from 1, and the last; ``"120@8000-180"`` begins inside the first.
        search: only the lines that hold this text, whatever the case of its letters.
        page_chars: how much one page may show.

    Returns:
        The page; where *ref*, *lines* or *search* is no good, one that says so.

    Raises:
        StoreError: the store failed, or lost what it was given.
        PolicyError: *store* or *issued* is none, or *page_chars* is no number that makes sense.

    >>> from compactlib.store import MemoryStore, reference_of
    >>> store = MemoryStore()
    >>> ref = store.put(b"one\\ntwo\\nthree\\n")
    >>> print(recall(ref, store, issued={ref: (14, 3)}, lines="2-3").text)
    [lines 2 to 3 of 3]
    two
    three
    >>> recall(ref, store, issued={}).text
    '[no such reference was issued in this conversation]'
    """
    need_store(store)
    need("issued", issued, Mapping, "references with their sizes")
    need_whole("page_chars", page_chars, least=200)
    found = re.search(REFERENCE, ref) if isinstance(ref, str) else None
    key = "" if found is None else found[0]
    if key not in issued:
        return Page("[no such reference was issued in this conversation]")
    try:
        text = fetch(store, key).decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return Page("[what is stored there is no text]")
    whole = text.split("\n")
    if whole[-1] == "":
        whole.pop()
    wish = _range(lines, len(whole))
    if wish is None:
        return Page(f'[lines are given as "first-last", such as "1-{min(len(whole), 200)}"; there are {len(whole)}]')
    first, at, last = wish
    if search is not None:
        return _matches(key, whole, search, first, last, page_chars)
    return _lines(key, whole, first, at, last, page_chars)


def _range(lines: Json, count: int) -> tuple[int, int, int] | None:
    """The first line wished for, where in it to begin, and the last line, as far as they exist; ``None`` for nonsense."""
    if lines is None:
        return 1, 0, count
    wish = str(lines) if lines.__class__ is int and 0 < lines < 1_000_000_000 else lines
    if not isinstance(wish, str):
        return None
    found = re.fullmatch(r"\s*([0-9]{1,9})(?:@([0-9]{1,9}))?\s*(?:[-:,]\s*([0-9]{1,9})\s*)?", wish[:60])
    if found is None:
        return None
    first, last = int(found[1]), int(found[3] or found[1])
    return (first, int(found[2] or 0), min(last, count)) if 1 <= first <= last else None


def _lines(ref: str, whole: Sequence[str], first: int, at: int, last: int, page_chars: int) -> Page:
    """Whole lines as long as they fit; of a line that is longer than a page, a piece."""
    shown: list[str] = []
    used = 0
    number = first
    rest = 0  # where the line after those shown goes on
    while number <= last:
        line = whole[number - 1][at:]
        if shown and used + len(line) + 1 > page_chars:
            break
        if len(line) > page_chars:
            stop = floor(line, page_chars) or page_chars
            shown.append(line[:stop])
            rest = at + stop
            break
        shown.append(line)
        used += len(line) + 1
        at = 0
        number += 1
    if not shown:
        return Page(f"[no lines; there are {len(whole)}]")
    ended = number - 1 if not rest else number
    head = f"[lines {first} to {ended} of {len(whole)}]"
    if number > last:
        return Page("\n".join([head, *shown]))
    wish = f"{number}@{rest}-{last}" if rest else f"{number}-{last}"
    return Page("\n".join([head, *shown, f'[more follows: lines="{wish}"]']), {"ref": ref, "lines": wish})


def _matches(ref: str, whole: Sequence[str], search: Json, first: int, last: int, page_chars: int) -> Page:
    """The lines that hold *search*, with their numbers, as many as fit."""
    if not isinstance(search, str) or not search.strip():
        return Page("[there is nothing to search for]")
    sought = search.casefold()
    found = [number for number in range(first, last + 1) if sought in whole[number - 1].casefold()]
    shown: list[str] = []
    used = 0
    for number in found[:_MATCHES]:
        line = whole[number - 1]
        start = max(_where(line, sought) - _MATCH_CHARS // 2, 0) if len(line) > _MATCH_CHARS else 0
        piece = line[start : start + _MATCH_CHARS]
        text = f"{number}: {'...' if start else ''}{piece}{'...' if start + len(piece) < len(line) else ''}"
        if shown and used + len(text) + 1 > page_chars:
            break
        shown.append(text)
        used += len(text) + 1
    head = f"[{len(found)} of {max(last - first + 1, 0)} lines hold {json.dumps(search[:80])}]"
    if len(found) == len(shown):
        return Page("\n".join([head, *shown]))
    wish = f"{found[len(shown)]}-{last}"
    more = f'[{len(found) - len(shown)} more: lines="{wish}"]'
    return Page("\n".join([head, *shown, more]), {"ref": ref, "search": search, "lines": wish})


def _where(line: str, sought: str) -> int:
    """Where in *line* the text begins that is *sought* whatever the case; letters may be longer when their case is folded."""
    at = line.casefold().find(sought)
    if len(line.casefold()) == len(line):
        return at
    return next((place for place, length in enumerate(accumulate(map(len, map(str.casefold, line)))) if length > at), 0)


# --- stash and reference ---------------------------------------------------------------------------------------------


def stash(name: str, text: str, store: Store) -> Stashed:
    """
    Put *text* away under *name*.

    Raises:
        StoreError: it could not be stored.
        PolicyError: *name* or *text* is no text, or *store* is none.

    >>> from compactlib.store import MemoryStore
    >>> stash("order 4471", "pay by 30 November", MemoryStore()).text[:60]
    '[stored v1: "order 4471"; 18 chars, 0 lines; absence here is'
    """
    need("name", name, str, "a text")
    need("text", text, str, "a text")
    need_store(store)
    return _stored(name, text, store)


def reference(
    source: Json,
    store: Store,
    *,
    name: str = "",
    lines: Iterable[tuple[int, int]] = (),
    fields: Iterable[str] = (),
    roots: Iterable[str | os.PathLike[str]] = (),
) -> Stashed:
    """
    A pointer to a file or a JSON value, with chosen lines or fields of it.

    Args:
        source: the path of a file below one of *roots*, or any other JSON value than a string.
        store: where the whole is put.
        name: what to call it; the file's name if left out.
        lines: (first, last) pairs of lines to show, counted from 1.
        fields: dotted paths of fields to show, such as ``"order.items.0.price"``.
        roots: the directories in which files may be read.

    Raises:
        StoreError: it could not be stored, or the file not be read.
        PolicyError: the path is not below a root, is no ordinary file, or is too large; or an argument is not what it is
            declared to be.  One text in place of several is none: as roots, each of its letters would be one.

    >>> from compactlib.store import MemoryStore
    >>> made = reference({"order": {"id": 4471, "items": [1, 2]}}, MemoryStore(), name="order", fields=["order.id"])
    >>> made.text.split("\\n")[1]
    'order.id = 4471'
    """
    need_store(store)
    need("name", name, str, "a text")
    lines, fields, roots = _each_pair(lines), _each_text("fields", fields), _each_path(roots)
    value: Json = None
    if isinstance(source, str | os.PathLike):
        need_path("source", source)
        text = _read(Path(source), roots)
        name = name or Path(source).name
        if fields:
            try:
                value = json.loads(text)
            except (ValueError, RecursionError):
                value = None
    else:
        value = source
        try:
            text = json.dumps(source, ensure_ascii=False)
        except (TypeError, ValueError, RecursionError):
            raise PolicyError("source", "a path, or a JSON value") from None
    made = _stored(name or "value", text, store)
    whole = text.split("\n")
    shown = [
        f"{number}: {_shortened(whole[number - 1])}"
        for first, last in lines
        for number in range(max(first, 1), min(last, len(whole)) + 1)
    ]
    shown += [f"{path} = {_field(value, path)}" for path in fields]
    return Stashed("\n".join([made.text, *shown]), made.ref, made.issued)


def _several(name: str, values: Iterable[Any], wanted: str) -> tuple[Any, ...]:
    """The values of an argument that has several."""
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise PolicyError(name, f"{wanted}, not {shown(values)}")
    return tuple(values)


def _each_pair(lines: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    pairs = _several("lines", lines, "pairs of lines")
    for pair in pairs:
        if not isinstance(pair, tuple | list) or [type(one) for one in pair] != [int, int]:
            raise PolicyError("lines", f"pairs of lines, (first, last), not {shown(pair)}")
    return pairs


def _each_text(name: str, values: Iterable[str]) -> tuple[str, ...]:
    texts = _several(name, values, "texts")
    for text in texts:
        need(name, text, str, "texts")
    return texts


def _each_path(roots: Iterable[str | os.PathLike[str]]) -> tuple[Path, ...]:
    paths = _several("roots", roots, "directories, in a list")
    for path in paths:
        need_path("roots", path)
    return tuple(map(Path, paths))


def _stored(name: str, text: str, store: Store) -> Stashed:
    ref = keep(store, text.encode("utf-8", "surrogatepass"), name=name)
    size = (len(text), count_newlines(text))
    return Stashed(write_pointer(name, ref, *size, file=alias_of(store, ref, name)), ref, {ref: size})


def _shortened(line: str) -> str:
    """A line of bounded length that says when it is not whole."""
    return line if len(line) <= _MATCH_CHARS else line[: floor(line, _MATCH_CHARS)] + "..."


def _field(value: Json, path: str) -> str:
    """The field at a dotted path, as JSON."""
    for step in path.split("."):
        if isinstance(value, dict) and step in value:
            value = value[step]
        elif isinstance(value, list) and step.isdecimal() and len(step) < 10 and int(step) < len(value):
            value = value[int(step)]
        else:
            return "(no such field)"
    return _shortened(json.dumps(value, ensure_ascii=False))


def _read(path: Path, roots: Sequence[Path]) -> str:
    """A text file below one of *roots*."""
    try:
        real = path.resolve(strict=True)
        allowed = any(real.is_relative_to(root.resolve()) for root in roots)
        if not allowed:
            raise PolicyError("source", "a file below one of the roots", rule="L25", hint="name the directory in roots")
        number = os.open(real, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(number, "rb") as file:
            state = os.fstat(file.fileno())
            if not stat.S_ISREG(state.st_mode):
                raise PolicyError("source", "an ordinary file", rule="L25")
            if state.st_size > _FILE_BYTES:
                raise PolicyError("source", f"a file of at most {_FILE_BYTES:,} bytes, not {state.st_size:,}")
            return file.read().decode("utf-8", "replace")
    except (OSError, ValueError) as error:
        if isinstance(error, PolicyError):
            raise
        raise StoreError(f"the file cannot be read: {getattr(error, 'strerror', None) or error}") from error


TOOLS: Final[tuple[dict[str, Any], ...]] = (
    {
        "name": "recall",
        "description": (
            "Get back a tool output or text that was shortened or cleared from this conversation, by the reference that stands "
            "in its place. Gives a page and says how to get the next."
        ),
        "parameters": {
            "type": "object",
            "properties": {
                "ref": {"type": "string", "description": "The 64 hexadecimal digits behind ref=."},
                "lines": {"type": "string", "description": 'Which lines, such as "120-180". All from the first if left out.'},
                "search": {"type": "string", "description": "Only lines that hold this text, in any case of letters."},
            },
            "required": ["ref"],
        },
    },
    {
        "name": "stash",
        "description": "Put a long text away and keep a reference to it in the conversation in its place.",
        "parameters": {
            "type": "object",
            "properties": {
                "name": {"type": "string", "description": "What to call it, such as order 4471."},
                "text": {"type": "string", "description": "The text."},
            },
            "required": ["name", "text"],
        },
    },
)
"""The two tools as an agent declares them: name, description, and the JSON schema of the arguments."""
