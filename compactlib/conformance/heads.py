"""
What a compactor wrote into the head, taken apart.

What this is
    Readers for the published forms of what is written, not copied: quoted
    earlier prompts, sections of a summary, excerpts with their markers.  And
    `plain`, which makes two texts comparable that were escaped differently.

Rules it obeys
    * Nothing here is shared with the code that writes these forms.

What is not here
    The header of a summary (`units`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from attrs import frozen

__all__ = [
    "EARLIER",
    "Excerpt",
    "Stub",
    "behind",
    "earlier_digests",
    "earlier_prompts",
    "excerpts",
    "folded",
    "is_plain",
    "references",
    "sections",
    "shown",
    "stubs",
    "unquoted",
]

EARLIER: Final = "[compactlib earlier prompts v1]\n"
_QUOTED: Final = re.compile(r"\[(prompt|digest) chars=([0-9]{1,9})\]\n")
_MARKER: Final = re.compile(
    r"\[truncated v1: omitted ([0-9]+) of ([0-9]+) chars, ([0-9]+) of ([0-9]+) lines; [^\]\n]*?"
    r"(?:; ([0-9]+) numbered lines from there follow)?\]"
)
_STUB: Final = re.compile(
    r"\[cleared v1: ([a-z]{1,16}) of [^\n]*?; ([0-9]{1,15}) chars, ([0-9]{1,15}) lines; [^\n]*?; ref=([0-9a-f]{64})"
    r"(?:; file=[^\n]*?)??(?:; [a-z ]{1,60})??(?:; arguments emptied, ref=([0-9a-f]{64}))?\]"
)
_REF: Final = re.compile(r"\bref=([0-9a-f]{64})\b")
_NUMBERED: Final = re.compile(r"[0-9]+(?:: ([^\n]*\n)|~ ([^\n]*)\n)")
_ESCAPES: Final = re.compile(r"(?<=\[)\\(?=[a-z])|(?<=ref=)\\(?=[0-9a-f])|(?<=ref: )\\(?=[0-9a-f])")
_CLOSING: Final = "[end of numbered lines]"
_CONTROLS: Final = re.compile(r"\\+(?:x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8}|r)|[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")
_FLATTEN: Final = str.maketrans({"“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "‘": "'", "’": "'", "\\": None})


def earlier_prompts(text: str) -> list[str] | None:
    """The prompts quoted in a text of that form, ``None`` if it is none."""
    quoted = _entries(text)
    return None if quoted is None else [said for kind, said in quoted if kind == "prompt"]


def earlier_digests(text: str) -> list[str]:
    """The digests that stand beside them."""
    return [said for kind, said in _entries(text) or () if kind == "digest"]


def _entries(text: str) -> list[tuple[str, str]] | None:
    if not text.startswith(EARLIER):
        return None
    found, at = [], len(EARLIER)
    while at < len(text):
        line = _QUOTED.match(text, at)
        if line is None or line.end() + int(line[2]) > len(text):
            return None
        found.append((line[1], text[line.end() : line.end() + int(line[2])]))
        at = line.end() + int(line[2]) + 1
    return found


def sections(body: str) -> list[tuple[str, str]]:
    """(heading, text) of each section; what stands before the first has the heading ``""``."""
    found: list[tuple[str, list[str]]] = [("", [])]
    for line in body.split("\n"):
        if re.match(r"#{1,6}\s", line):
            found.append((line.lstrip("#").strip(), []))
        else:
            found[-1][1].append(line)
    return [(heading, "\n".join(lines)) for heading, lines in found]


def unquoted(text: str) -> str:
    """*text* without the sign of quotation at the beginning of its lines."""
    return "\n".join(line.removeprefix("> ") for line in text.split("\n"))


def shown(text: str) -> list[str]:
    """The quoted blocks of a request, each without its signs of quotation."""
    blocks: list[list[str]] = [[]]
    for line in text.split("\n"):
        if line.startswith("> "):
            blocks[-1].append(line[2:])
        elif blocks[-1]:
            blocks.append([])
    return ["\n".join(lines) for lines in blocks if lines]


def is_plain(text: str) -> bool:
    """Whether no way of quoting changes a character of it."""
    return text.replace("\n", "").replace("\t", "").isprintable()


def folded(text: str) -> str:
    """*text* for comparison: case, quotation marks, control characters, backslashes and white space do not count."""
    return " ".join(_CONTROLS.sub("", text).translate(_FLATTEN).casefold().split())


def references(text: str) -> list[str]:
    """The references that a text names, each once."""
    return list(dict.fromkeys(_REF.findall(text)))


def behind(refs: Iterable[str], stored: Mapping[str, str]) -> list[str]:
    """All that is *stored* behind these references, and behind those that are named in it."""
    found: dict[str, str] = {}
    left = list(refs)
    while left:
        ref = left.pop()
        if ref in stored and ref not in found:
            found[ref] = stored[ref]
            left += references(stored[ref])
    return list(found.values())


@frozen
class Stub:
    """
    What stands for an output that was cleared.

    Attributes:
        text: its own words.
        what: ``result``, or a kind of media.
        chars, lines: of what it stands for, as it claims.
        ref: by which that can be fetched.
        arguments_ref: by which the arguments of the call can be fetched, if they were emptied.
    """

    text: str
    what: str
    chars: int
    lines: int
    ref: str
    arguments_ref: str


def stubs(text: str) -> list[Stub]:
    """The stubs in a text, whoever wrote them."""
    return [Stub(one[0], one[1], int(one[2]), int(one[3]), one[4], one[5] or "") for one in _STUB.finditer(text)]


@frozen
class Excerpt:
    """
    A text with a marker in it.

    Attributes:
        heads, tails: the readings of what stands before and after it: a newline beside it may be the marker's own,
            and what looked like a marker may have been escaped (law L25).
        numbered_chars: of the lines from the middle that are shown in it.
        omitted_chars, original_chars, omitted_lines, original_lines: what it claims.
        marker: its own words.
    """

    heads: tuple[str, ...]
    tails: tuple[str, ...]
    numbered_chars: int
    omitted_chars: int
    original_chars: int
    omitted_lines: int
    original_lines: int
    marker: str

    def is_true_of(self, original: str) -> bool:
        """Whether kept and omitted make up *original*, and what is kept is its beginning and its end."""
        if len(original) != self.original_chars or original.count("\n") != self.original_lines:
            return False
        return any(
            original.startswith(head)
            and original.endswith(tail)
            and len(head) + len(tail) + self.numbered_chars + self.omitted_chars == len(original)
            for head in self.heads
            for tail in self.tails
        )


def excerpts(text: str) -> Iterator[Excerpt]:
    """Each marker in *text*, read as if *text* were an excerpt with this one marker."""
    for found in _MARKER.finditer(text):
        start, stop = found.span()
        numbered = 0
        if found[5]:
            stop += 1
            for _ in range(int(found[5])):
                line = _NUMBERED.match(text, stop)
                if line is None:
                    break
                numbered += len(line[1] or line[2] or "")
                stop = line.end()
            stop += len(_CLOSING) if text.startswith(_CLOSING, stop) else 0
        head, tail = text[:start], text[stop:]
        omitted, original, lost, lines = (int(found[group]) for group in range(1, 5))
        yield Excerpt(_readings(head, -1), _readings(tail, 1), numbered, omitted, original, lost, lines, found[0])


def _readings(text: str, newline: int) -> tuple[str, ...]:
    """*text* as it is and without escapes, each with and without the newline at its end (-1) or its beginning (1)."""
    both = (text, _ESCAPES.sub("", text))
    return (*both, *(one[:-1] if newline < 0 else one[1:] for one in both))
