r"""
The stub that stands for a tool's output that was cleared.

What this is
    The one grammar of stubs: `write_stub`, and `read_stub`, which recognises
    what was written.  A stub stands for a whole text, picture or document; the
    marker that stands for the middle of a text is in `markers`.

Rules it obeys
    * A stub says what is missing and how large it was, that absence here is
      not absence there, and how the whole can be fetched (laws L10, L11).
    * It is believed only if its reference is in the issued table of this
      conversation, with the size that was issued.  Text that merely looks like
      one is data (law L25).
    * Names and sources come from the transcript.  They are written as JSON
      strings in ASCII, cut to a bounded length, so none of them can end the
      stub, begin a line, or pass for another field.

Grammar, version 1
    ::

        [cleared v1: WHAT of TOOL( for SOURCE)?; N chars, N lines; CLAUSE; ref=HEX64(; file=PATH)?(; NOTE)*]

    WHAT is ``result`` or a kind of media, TOOL, SOURCE and PATH are JSON
    strings, CLAUSE is `markers.BRIEF`, NOTE is one of `NOTES` or ``arguments emptied, ref=HEX64``.

What is not here
    What is cleared, and when (`clearing`).
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator
from typing import Final

from attrs import frozen

from .markers import BRIEF, REFERENCE, Issued

__all__ = ["NOTES", "Stub", "read_pointers", "read_stub", "references_in", "write_pointer", "write_stub"]

NOTES: Final = (
    "an identical result stands below",
    "the same was asked again below",
    "the file was written below",
)
"""Why what was cleared is not the last word."""

_OPENING: Final = "[cleared v1: "
_NAME_CHARS: Final = 64
_SOURCE_CHARS: Final = 200


@frozen
class Stub:
    """
    What a stub says.

    Attributes:
        what: ``result``, or what kind of media it was.
        tool: the tool's name, perhaps cut.
        ref: the reference of the whole.
        chars: its length in code points, as it was stored.
        lines: its newline characters.
        source: where the tool had it from, such as a path or an address; ``""`` if the call did not say.
        file: where a file tool finds it; ``""`` if it has no such place.
        note: one of `NOTES`, or ``""``.
        arguments_ref: the reference of the call's arguments, where these were emptied.
    """

    what: str
    tool: str
    ref: str
    chars: int
    lines: int
    source: str = ""
    file: str = ""
    note: str = ""
    arguments_ref: str = ""


def write_stub(stub: Stub) -> str:
    """
    The stub's text, one line.

    >>> write_stub(Stub("result", "read", "5f" * 32, 31204, 812, source="src/app.py"))[:72]
    '[cleared v1: result of "read" for "src/app.py"; 31204 chars, 812 lines; '
    """
    source = f" for {_quoted(stub.source, _SOURCE_CHARS)}" if stub.source else ""
    parts = [
        f"{_OPENING}{stub.what} of {_quoted(stub.tool, _NAME_CHARS)}{source}",
        f"{stub.chars} chars, {stub.lines} lines",
        BRIEF,
        f"ref={stub.ref}",
    ]
    if stub.file:
        parts.append(f"file={json.dumps(stub.file)}")
    if stub.note:
        parts.append(stub.note)
    if stub.arguments_ref:
        parts.append(f"arguments emptied, ref={stub.arguments_ref}")
    return "; ".join(parts) + "]"


def references_in(text: str) -> tuple[str, str]:
    """
    The references of what *text* stands for and of the arguments that were emptied with it, if it looks like a stub.

    Nobody vouches for them: to tell one text from another, not to fetch anything.

    >>> references_in(write_stub(Stub("result", "read", "5f" * 32, 9, 1))) == ("5f" * 32, ""), references_in("row 1")
    (True, ('', ''))
    """
    found = _pattern().fullmatch(text) if text.startswith(_OPENING) else None
    return (found[6], found[9] or "") if found is not None else ("", "")


def write_pointer(name: str, ref: str, chars: int, lines: int, *, file: str = "") -> str:
    """
    The line that stands for something that was put away under a name.

    >>> write_pointer("order 4471", "5f" * 32, 900, 12)[:46]
    '[stored v1: "order 4471"; 900 chars, 12 lines;'
    """
    place = f"; file={json.dumps(file)}" if file else ""
    return f"[stored v1: {_quoted(name, _SOURCE_CHARS)}; {chars} chars, {lines} lines; {BRIEF}; ref={ref}{place}]"


def _was_issued(issued: Issued, ref: str, *, chars: int, lines: int) -> bool:
    """Whether *ref* was given out for something of this size; a table that was saved as JSON has lists for pairs."""
    return ref in issued and tuple(issued[ref]) == (chars, lines)


def read_pointers(text: str, *, issued: Issued) -> Iterator[tuple[str, str]]:
    """
    The pointers in *text* that are to be believed: the name and the reference of each.

    >>> text = write_pointer("order 4471", "5f" * 32, 900, 12)
    >>> list(read_pointers(text, issued={"5f" * 32: (900, 12)})) == [("order 4471", "5f" * 32)]
    True
    >>> list(read_pointers(text, issued={}))
    []
    """
    for found in _pointer().finditer(text) if issued and "[stored v1: " in text else ():
        if _was_issued(issued, found[4], chars=int(found[2]), lines=int(found[3])):
            try:
                yield json.loads(found[1]), found[4]
            except ValueError:  # an escape that JSON does not know
                continue


@functools.cache
def _pointer() -> re.Pattern[str]:
    """A pointer.  A string ends at the first quote that may begin another pointer, so searching is linear."""
    string = r'"(?:[^"\\\n]|\\[^\n])*"'
    return re.compile(
        rf"\[stored v1: ({string}); ([0-9]{{1,15}}) chars, ([0-9]{{1,15}}) lines; {re.escape(BRIEF)}; ref=({REFERENCE})"
        rf"(?:; file={string})?\]"
    )


def _quoted(text: str, limit_chars: int) -> str:
    return json.dumps(text if len(text) <= limit_chars else text[: limit_chars - 3] + "...")


@functools.cache
def _pattern() -> re.Pattern[str]:
    """A stub.  Each part excludes what follows it, so matching is linear."""
    string = r'"(?:[^"\\\n]|\\[^\n])*"'
    notes = "|".join(map(re.escape, NOTES))
    return re.compile(
        rf"{re.escape(_OPENING)}([a-z]{{1,16}}) of ({string})(?: for ({string}))?; ([0-9]{{1,15}}) chars, ([0-9]{{1,15}}) lines; "
        rf"{re.escape(BRIEF)}; ref=({REFERENCE})(?:; file=({string}))?(?:; ({notes}))?"
        rf"(?:; arguments emptied, ref=({REFERENCE}))?\]"
    )


def read_stub(text: str, *, issued: Issued) -> Stub | None:
    """
    What *text* says if it is a stub, and one to be believed.

    >>> text = write_stub(Stub("image", "screenshot", "5f" * 32, 90_000, 0, note=NOTES[1]))
    >>> read_stub(text, issued={"5f" * 32: (90_000, 0)}).note
    'the same was asked again below'
    >>> read_stub(text, issued={}) is None, read_stub(text, issued={"5f" * 32: (7, 0)}) is None
    (True, True)
    """
    found = _pattern().fullmatch(text) if issued and text.startswith(_OPENING) else None
    if found is None or not _was_issued(issued, found[6], chars=int(found[4]), lines=int(found[5])):
        return None
    if found[9] is not None and found[9] not in issued:
        return None
    try:
        tool, source, file = (json.loads(part) if part else "" for part in (found[2], found[3], found[7]))
    except ValueError:
        return None
    return Stub(found[1], tool, found[6], int(found[4]), int(found[5]), source, file, found[8] or "", found[9] or "")
