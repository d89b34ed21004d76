"""
Text that is cut, counted and shown without being damaged.

What this is
    Where a string may be cut (`floor`, `ceiling`), how its lines are counted,
    and the two ways in which untrusted text leaves the library: `escape` for a
    terminal, `quote_lines` for a model.

Rules it obeys
    * A cut never falls inside a user-perceived character (combining and ZWJ
      sequences, variation selectors, skin tones, flags, Hangul syllables,
      Indic conjuncts), a surrogate pair - also one that stands in a `str` as
      two code points -, a CRLF, or a terminal escape.
    * Lines are counted as newline characters; CRLF is one (law L11).
    * Untrusted text stays text: it cannot move a cursor, reverse a line, or
      begin a line of its own (law L25 a).
    * The same text gives the same boundaries everywhere (law L16), see below.

How it works
    Two neighbours are *joined* when no cut may fall between them.  Each
    character has a role and joins are decided from two roles, with three
    looks further back: flags come in pairs, a conjunct needs its linker, and
    an escape is found from its introducer.  Where Unicode's rule needs a table
    that the standard library lacks, the rule here joins more than Unicode does
    (all that follows a ZWJ, all letters after a virama), never less.

    The roles come from `unicodedata`, whose version is Python's.  The `regex`
    package, where it is installed, is asked only about characters that this
    Python calls unassigned, and can only add a join.  So both agree on every
    assigned character by construction.  `segmenter` names what is in use.

    All looks are bounded, so that hostile text costs no more than other text:
    a cluster of more than `CLUSTER_LIMIT_CHARS` may be cut between any two of
    its code points beyond that, an escape or a run of flags longer than
    `ESCAPE_LIMIT_CHARS` is text like any other.

What is not here
    Widths, words, normalisation, and the removal of escapes.
"""

from __future__ import annotations

import functools
import importlib
import re
import unicodedata
from typing import Any, Final, Literal, TypeAlias

__all__ = [
    "CLUSTER_LIMIT_CHARS",
    "ESCAPE_LIMIT_CHARS",
    "SEGMENTATION_VERSION",
    "ceiling",
    "count_newlines",
    "escape",
    "floor",
    "head_of_lines",
    "quote_lines",
    "segmenter",
    "shortened",
    "tail_of_lines",
]

SEGMENTATION_VERSION: Final = 1
"""Version of the rules in this module; a change to them that moves a boundary raises it (law L16)."""

CLUSTER_LIMIT_CHARS: Final = 64
"""The longest character that is never cut, in code points.  A family with skin tones has 15, a stacked accent has 30."""

ESCAPE_LIMIT_CHARS: Final = 4096
"""The longest terminal escape, and the longest run of flags, that is never cut, in code points."""

# --- Roles -------------------------------------------------------------------

_Role: TypeAlias = Literal[
    "control", "extend", "zwj", "prepend", "flag", "L", "V", "T", "LV", "LVT", "letter", "unassigned", "other"
]  # fmt: skip

_JOINED: Final = frozenset(
    [
        ("L", "L"), ("L", "V"), ("L", "LV"), ("L", "LVT"),  # a Hangul syllable: leading consonants,
        ("LV", "V"), ("LV", "T"), ("V", "V"), ("V", "T"),  # vowels,
        ("LVT", "T"), ("T", "T"),  # trailing consonants
    ]
)  # fmt: skip
"""Pairs of roles between which no cut falls, apart from the rules of `_joined` that hold for whole rows or columns."""

_RANGES: Final[dict[_Role, tuple[tuple[int, int], ...]]] = {
    "prepend": (
        (0x0600, 0x0605), (0x06DD, 0x06DD), (0x070F, 0x070F), (0x0890, 0x0891), (0x08E2, 0x08E2), (0x0D4E, 0x0D4E),
        (0x1CF5, 0x1CF6), (0x110BD, 0x110BD), (0x110CD, 0x110CD), (0x111C2, 0x111C3), (0x113D1, 0x113D1), (0x1193F, 0x1193F),
        (0x11941, 0x11941), (0x11A3A, 0x11A3A), (0x11A84, 0x11A89), (0x11D46, 0x11D46), (0x11F02, 0x11F02),
    ),
    "extend": (
        (0x0E33, 0x0E33), (0x0EB3, 0x0EB3),  # Thai and Lao AM
        (0x200C, 0x200C), (0xFF9E, 0xFF9F), (0x1F3FB, 0x1F3FF), (0xE0020, 0xE007F),  # non-joiner, kana marks, skin tones, tags
    ),
    "zwj": ((0x200D, 0x200D),),
    "flag": ((0x1F1E6, 0x1F1FF),),
    "L": ((0x1100, 0x115F), (0xA960, 0xA97C)),
    "V": ((0x1160, 0x11A7), (0xD7B0, 0xD7C6), (0x16D63, 0x16D63), (0x16D67, 0x16D6A)),
    "T": ((0x11A8, 0x11FF), (0xD7CB, 0xD7FB)),
}  # fmt: skip
"""Roles that the general category does not tell."""

_BY_CATEGORY: Final[dict[str, _Role]] = {
    "Mn": "extend", "Mc": "extend", "Me": "extend", "Lo": "letter", "Cn": "unassigned",
    "Cc": "control", "Cf": "control", "Zl": "control", "Zp": "control",
}  # fmt: skip

_FLAGS: Final = "".join(map(chr, range(0x1F1E6, 0x1F200)))
_LINKER_CLASS: Final = 9  # the combining class of viramas, which bind the consonant after them
_REGEX_CONTEXT_CHARS: Final = 16


@functools.lru_cache(maxsize=4096)
def _role(char: str) -> _Role:
    """What *char* does to its neighbours."""
    code = ord(char)
    if 0xAC00 <= code <= 0xD7A3:
        return "LVT" if (code - 0xAC00) % 28 else "LV"
    for role, ranges in _RANGES.items():
        if any(first <= code <= last for first, last in ranges):
            return role
    return _BY_CATEGORY.get(unicodedata.category(char), "other")


# --- Joins -------------------------------------------------------------------


def _is_pair(text: str, index: int) -> bool:
    """Whether *index* falls inside two code points that are one: a surrogate pair or a CRLF."""
    before, after = text[index - 1], text[index]
    return (before == "\r" and after == "\n") or ("\ud800" <= before <= "\udbff" and "\udc00" <= after <= "\udfff")


def _merged(text: str) -> str:
    """*text* with surrogate pairs turned into the characters they stand for."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def _joined(text: str, index: int) -> bool:
    """Whether the characters before and after *index*, which is inside the text, belong together (escapes apart)."""
    before, after = text[index - 1], text[index]
    if before < "\u0300" > after:
        return before == "\r" and after == "\n"
    if _is_pair(text, index):
        return True
    if "\udc00" <= before <= "\udfff" and index > 1 and _is_pair(text, index - 1):
        before = _merged(text[index - 2 : index])
    if "\ud800" <= after <= "\udbff" and index + 1 < len(text) and _is_pair(text, index + 1):
        after = _merged(text[index : index + 2])
    left, right = _role(before), _role(after)
    if left == "control" or right == "control":
        return False
    if right in ("extend", "zwj") or left in ("zwj", "prepend") or (left, right) in _JOINED:
        return True
    if left == right == "flag":
        run = _merged(text[max(0, index - ESCAPE_LIMIT_CHARS) : index])
        return (len(run) - len(run.rstrip(_FLAGS))) % 2 == 1
    if right == "letter" and left == "extend" and _follows_linker(text, index):
        return True
    return (left == "unassigned" or right == "unassigned") and _joined_by_regex(text, index)


def _follows_linker(text: str, index: int) -> bool:
    """Whether among the marks directly before *index* there is a virama, or a mark that is prepended."""
    for char in _merged(text[max(0, index - CLUSTER_LIMIT_CHARS) : index])[::-1]:
        if unicodedata.combining(char) == _LINKER_CLASS or _role(char) == "prepend":
            return True
        if _role(char) not in ("extend", "zwj"):
            break
    return False


@functools.cache
def _regex() -> Any:
    """The `regex` package, ``None`` where it is not installed.  Loaded when the first unassigned character is met."""
    try:
        return importlib.import_module("regex")
    except ImportError:
        return None


def _joined_by_regex(text: str, index: int) -> bool:
    """Whether `regex`, which knows younger characters, joins the neighbours of *index*."""
    regex = _regex()
    if regex is None:
        return False
    left = _merged(text[max(0, index - _REGEX_CONTEXT_CHARS) : index])
    at, stops = 0, set()
    for cluster in regex.findall(r"\X", left + _merged(text[index : index + _REGEX_CONTEXT_CHARS])):
        at += len(cluster)
        stops.add(at)
    return len(left) not in stops


# --- Escapes -----------------------------------------------------------------

_INTRODUCERS: Final = "\x1b\x90\x98\x9b\x9d\x9e\x9f"


@functools.cache
def _escape_pattern() -> re.Pattern[str]:
    """A whole terminal escape.  Its parts exclude each other, so matching is linear; a string ends with its line."""
    return re.compile(
        r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
        r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\n\r\x18\x1a\x1b\x80-\x9f]*(?:\x07|\x1b\\|\x9c)"  # OSC and other strings
        r"|\x1b[ -/]*[0-~]"  # ESC and one more, perhaps with intermediates
    )


def _introducer(text: str, low: int, index: int) -> int:
    """Where the last introducer in ``[low, index)`` stands, else -1."""
    if text.isascii():  # which a string knows of itself
        return text.rfind("\x1b", low, index)
    return max(text.rfind(char, low, index) for char in _INTRODUCERS)


def _escape_stop(text: str, start: int) -> int:
    """Where the escape introduced at *start* ends; *start* itself if it is none."""
    found = _escape_pattern().match(text, start, start + ESCAPE_LIMIT_CHARS) if start >= 0 else None
    return found.end() if found else start


def _escape_around(text: str, index: int) -> tuple[int, int] | None:
    """The terminal escape inside of which *index* falls, as a range."""
    low = max(0, index - ESCAPE_LIMIT_CHARS)
    start = _introducer(text, low, index)
    stop = _escape_stop(text, start)
    if text.startswith("\x1b\\", start if start >= 0 else index):  # the terminator of a string around it?
        outer = _introducer(text, low, start)
        if _escape_stop(text, outer) == stop:
            start = outer
    return (start, stop) if start < index < stop else None


# --- Boundaries --------------------------------------------------------------


def floor(text: str, index: int) -> int:
    """
    The largest safe boundary that is at most *index*.

    An index beyond an end of the text means that end.  Looks at a
    neighbourhood of bounded size, whatever the text.

    >>> floor("na\\u0308h", 2)  # between a letter and its dots
    1
    >>> floor("\\x1b[31mred", 3), floor("a\\r\\nb", 2)
    (0, 1)
    """
    if index <= 0 or index >= len(text):
        return min(max(index, 0), len(text))
    at = index
    while at > 0:
        escape_ = _escape_around(text, at)
        if escape_ is not None:
            return escape_[0]
        if not _joined(text, at):
            return at
        at -= 1
        if index - at > CLUSTER_LIMIT_CHARS:  # deep inside an endless cluster, where any code point will do
            return index - _is_pair(text, index)
    return 0


def ceiling(text: str, index: int) -> int:
    """
    The smallest safe boundary that is at least *index*.

    >>> ceiling("na\\u0308h", 2), ceiling("\\x1b[31mred", 3)
    (3, 5)
    """
    if index <= 0 or index >= len(text):
        return min(max(index, 0), len(text))
    while index < len(text) and floor(text, index) != index:
        escape_ = _escape_around(text, index)
        index = escape_[1] if escape_ is not None else index + 1
    return index


def segmenter() -> str:
    """
    Which rules and which tables decide where a character ends, for the record (law L16).

    Two segmenters may differ on characters that one of their tables calls
    unassigned, and on nothing else.

    >>> segmenter().startswith("compactlib-1 unicode-")
    True
    """
    regex = _regex()
    tables = f"compactlib-{SEGMENTATION_VERSION} unicode-{unicodedata.unidata_version}"
    return tables if regex is None else f"{tables} regex-{regex.__version__}"


# --- Lines -------------------------------------------------------------------

_STRIDE_CHARS: Final = 8**5  # long ways are gone in strides, counting, because finding each newline is slow


def count_newlines(text: str, start: int = 0, stop: int | None = None) -> int:
    """
    The newline characters in ``text[start:stop]``; CRLF is one, a lone CR none.

    >>> count_newlines("a\\r\\nb\\nc")
    2
    """
    return text.count("\n", start, len(text) if stop is None else stop)


def head_of_lines(text: str, count: int) -> int:
    """
    Where the first *count* lines end, their last newline included.

    >>> head_of_lines("a\\nb\\nc", 2), head_of_lines("a\\nb\\nc", 9)
    (4, 5)
    """
    at, stride = 0, _STRIDE_CHARS
    while at < len(text) and count > 0:
        found = text.count("\n", at, at + stride)
        if found < count or stride == 1:
            count -= found
            at += stride
        else:
            stride //= 8
    return min(at, len(text))


def tail_of_lines(text: str, count: int) -> int:
    """
    Where the last *count* lines begin.  A newline at the very end ends a line and begins none.

    >>> tail_of_lines("a\\nb\\nc\\n", 2), tail_of_lines("a\\nb\\nc", 9)
    (2, 0)
    """
    if count <= 0:
        return len(text)
    at, stride = len(text) - text.endswith("\n"), _STRIDE_CHARS
    while at > 0:
        found = text.count("\n", max(0, at - stride), at)
        if found < count:
            count -= found
            at -= stride
        elif stride > 1:
            stride //= 8
        else:
            return at
    return 0


# --- Showing untrusted text --------------------------------------------------


@functools.cache
def _dangerous(*, to_terminal: bool) -> re.Pattern[str]:
    """The characters that do something instead of being seen; a CR before a newline is part of it."""
    commanding = r"\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff"
    deceiving = r"\u061c\u200e\u200f\u202a-\u202e\u2066-\u206f\ufff9-\ufffb\U000e0000-\U000e007f"
    return re.compile(rf"[{commanding}{deceiving if to_terminal else ''}\r](?!(?<=\r)\n)")


def _visible(found: re.Match[str]) -> str:
    return found.group().encode("unicode_escape").decode("ascii")


def escape(text: str, *, keep_newlines: bool = False) -> str:
    """
    *text* as it may be printed to a terminal: what would act is shown instead.

    The one function through which text of a transcript is printed.  Escaped
    are C0 and C1 controls and DEL (so every terminal escape), line and
    paragraph separators, bidirectional controls, invisible tags, and lone
    surrogates, which cannot be encoded.  Tabs stay.  Not meant to be undone:
    a backslash stays one backslash.

    Args:
        text: anything.
        keep_newlines: let LF and CRLF through, for text of several lines.

    >>> print(escape("\\x1b[2Jgone\\u202e\\n"))
    \\x1b[2Jgone\\u202e\\n
    """
    if text.isprintable():
        return text
    text = _dangerous(to_terminal=True).sub(_visible, text)
    return text if keep_newlines else text.replace("\r", "\\r").replace("\n", "\\n")


def quote_lines(text: str) -> str:
    """
    *text* as quoted data for a model: each line begins with ``> ``.

    Law L25 (a): separators and control characters are escaped first, so no
    line of it can begin a delimiter or a heading, whatever counts as a line
    break.  CRLF becomes LF, tabs stay, lone surrogates are escaped because no
    request can carry them.

    >>> print(quote_lines("one\\u2028# two\\r\\n## three"))
    > one\\u2028# two
    > ## three
    """
    if not text.replace("\n", "").isprintable():
        text = _dangerous(to_terminal=False).sub(_visible, text).replace("\r\n", "\n")
    return "> " + text.replace("\n", "\n> ")


def shortened(text: str, *, limit_chars: int = 300) -> str:
    """
    At most *limit_chars* from the front, cut between words; ``""`` if there is no such place.

    >>> shortened("short"), len(shortened("word " * 100))
    ('short', 299)
    """
    if len(text) <= limit_chars:
        return text.strip()
    at = limit_chars
    while at and text[at].isalnum() and text[at] < "\u2e80":
        at -= 1
    return text[:at].strip()
