"""
One text made shorter: head, tail, and a marker that tells the truth.

What this is
    `truncate`, which shortens the text of one tool result (or any other text)
    to a limit, and `read_marker`, which recognises what it wrote.

Rules it obeys (all of law L11)
    * kept + omitted = original, in characters (code points) and in newline
      characters; what was shortened before is counted against its first
      original.
    * The result is at most the limit, marker included, and shorter than the
      text passed in; or it is that text.
    * What is kept are byte-identical slices, cut where `text.floor` and
      `text.ceiling` allow it.
    * A marker is believed only if its reference is in the caller's issued
      table and its numbers add up.  Anything else that looks like one is data.

How it works
    The excerpt is a prefix ``[0, head)``, a suffix ``[tail, end)`` and the
    marker between them.  A limit in lines, and the place of an earlier marker,
    say how far the prefix may reach and where the suffix may begin at the
    earliest; the room in characters is then divided.  The suffix gets at least
    half of it, because the end of a result (the compiler's errors, the total
    of a test run) is usually what matters.  A limit in tokens, which can only
    be measured, is met by trying rooms.

    Notable lines of the omitted middle (errors, failures, exit codes) may
    follow the marker, each with its line number.

    In JSON the marker replaces a run of whole values of one array or object,
    so that prefix, marker as a string, and suffix are valid JSON again.

Grammar of the marker, version 1
    ::

        [truncated v1: omitted N of N chars, N of N lines; CLAUSE(; ref=HEX64)(; N numbered lines from there follow)]

    CLAUSE is one of two fixed wordings of "absence here is not absence there".
    In text the marker stands on a line of its own, and the newlines around it
    that the original did not have are the marker's.  Each numbered line is
    ``N: `` and a whole line, or ``N~ `` and a part of one; then comes
    ``[end of numbered lines]``.  In JSON it is a string value.

What is not here
    Storing the original (the caller does that first, law L10, and passes the
    reference), keeping the issued table, and the place of a text: never put a
    truncated text into the arguments of a tool call (law L11).
"""

from __future__ import annotations

import functools
import json
import re
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from attrs import evolve, frozen

from .errors import PolicyError
from .text import ceiling, count_newlines, floor, head_of_lines, tail_of_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

__all__ = ["SIGNAL_LIMIT_LINES", "Issued", "Marker", "Truncated", "read_marker", "truncate"]

Issued: TypeAlias = "Mapping[str, tuple[int, int]]"
"""The issued table: for each reference this conversation gave out, the characters and newlines of what it stands for."""

SIGNAL_LIMIT_LINES: Final = 100
"""The most numbered lines one excerpt may have."""

_SIGNAL_CHARS: Final = 400  # the most that is kept of one notable line
_SIGNAL_DEFAULT_LINES: Final = 8
_SIGNAL_DEFAULT_CHARS: Final = 1 << 16  # texts up to here are searched for notable lines without being asked to
_LONG_CHARS: Final = 2_000  # from this limit on the marker explains itself at length
_JSON_DEPTH: Final = 200
_TRIES: Final = 12
_CLOSE_ENOUGH: Final = 0.98


@frozen
class Truncated:
    """
    A text, shortened or whole, with its account.

    Attributes:
        text: what to show.
        original_chars: code points of the original; of the first one, if the
            text passed in was itself a believed excerpt.
        original_lines: newline characters of it.
        omitted_chars: what of them is not shown.
        omitted_lines: likewise.
        ref: the reference by which the original can be fetched, if there is one.
        pieces: what is shown, as half-open ranges of the text passed in, in
            order; notable lines are pieces too.
    """

    text: str
    original_chars: int
    original_lines: int
    omitted_chars: int
    omitted_lines: int
    ref: str | None
    pieces: tuple[tuple[int, int], ...]

    @property
    def kept_chars(self) -> int:
        """The characters shown, markers apart."""
        return self.original_chars - self.omitted_chars

    @property
    def truncated(self) -> bool:
        """Whether anything of the original is not shown."""
        return self.omitted_chars > 0


@frozen
class Marker:
    """
    A believed marker.

    Attributes:
        ref: the reference, found in the issued table.
        start: where in the text the marker's own characters begin.
        stop: where they end, numbered lines included.
        original_chars: size of the first original.
        original_lines: its newline characters.
        omitted_chars: what the text around the marker does not show.
        omitted_lines: likewise.
        numbered: the numbered lines as (line number, start, stop) in the text.
    """

    ref: str
    start: int
    stop: int
    original_chars: int
    original_lines: int
    omitted_chars: int
    omitted_lines: int
    numbered: tuple[tuple[int, int, int], ...]


# --- The marker --------------------------------------------------------------

_OPENING: Final = "[truncated v1: omitted "
_BRIEF: Final = "absence here is not absence there"
_FULL: Final = "this is an excerpt: absence here is not absence from the original, and the same request is cut the same way"
_CLOSING: Final = "[end of numbered lines]"
_REF: Final = "[0-9a-f]{64}"


def _marker(omitted: tuple[int, int], original: tuple[int, int], clause: str, ref: str | None, numbered: int) -> str:
    pointer = f"; ref={ref}" if ref is not None else ""
    follow = f"; {numbered} numbered lines from there follow" if numbered else ""
    chars, lines = (f"{part} of {whole}" for part, whole in zip(omitted, original, strict=True))
    return f"{_OPENING}{chars} chars, {lines} lines; {clause}{pointer}{follow}]"


@functools.cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """A marker with a reference, and a numbered line.  Each part excludes the next, so matching is linear."""
    number = "([0-9]{1,15})"
    head = rf"{re.escape(_OPENING)}{number} of {number} chars, {number} of {number} lines; (?:{_BRIEF}|{_FULL})"
    return (
        re.compile(rf"{head}; ref=({_REF})(?:; ([0-9]{{1,3}}) numbered lines from there follow)?\]"),
        re.compile(rf"{number}(?:: ([^\n]*\n)|~ ([^\n]*)\n)"),
    )


def _numbered(text: str, at: int, count: int) -> tuple[int, list[tuple[int, int, int]]] | None:
    """The *count* numbered lines from *at* on, and where their closing line ends."""
    found = []
    for _ in range(count):
        line = _patterns()[1].match(text, at)
        if line is None:
            return None
        found.append((int(line[1]), *(line.span(2) if line[2] is not None else line.span(3))))
        at = line.end()
    return (at + len(_CLOSING), found) if text.startswith(_CLOSING, at) else None


def _extents(text: str, start: int, stop: int) -> Iterable[tuple[int, int]]:
    """What may belong to a marker whose line is ``[start, stop)``: the quotes of JSON, or newlines set around it."""
    if text[start - 1 : start] == '"' == text[stop : stop + 1]:
        yield start - 1, stop + 1
    if stop == len(text) or text[stop] == "\n":
        stop = min(stop + 1, len(text))
        if start == 0 or text[start - 1] == "\n":
            yield start, stop
        if start > 0 and text[start - 1] == "\n":
            yield start - 1, stop


def read_marker(text: str, *, issued: Issued) -> Marker | None:
    """
    The marker in *text* that is to be believed, if there is one.

    Law L11: the reference must be in *issued*.  Besides, the original's size
    must be the one issued, and what stands around the marker plus what it says
    is missing must be exactly that, so that a marker copied into other text,
    or one with altered numbers, is data as well.

    >>> ref = "5f" * 32
    >>> short = truncate("a line of a log\\n" * 100, limit_chars=600, ref=ref)
    >>> read_marker(short.text, issued={ref: (1600, 100)}).omitted_chars == short.omitted_chars
    True
    >>> read_marker(short.text, issued={}) is None
    True
    """
    newlines = -1
    at = text.find(_OPENING) if issued else -1
    while at >= 0:
        found = _patterns()[0].match(text, at)
        at = text.find(_OPENING, at + 1)
        if found is None or found[5] not in issued:
            continue
        omitted_chars, chars, omitted_lines, lines = (int(found[group]) for group in range(1, 5))
        stop, numbered = found.end(), list[tuple[int, int, int]]()
        if found[6] is not None:
            block = _numbered(text, stop + 1, int(found[6])) if int(found[6]) <= SIGNAL_LIMIT_LINES else None
            if block is None:
                continue
            stop, numbered = block
        shown = sum(end - begin for _, begin, end in numbered)
        for first, last in _extents(text, found.start(), stop):
            if (chars, lines) != issued[found[5]] or len(text) - (last - first) + shown + omitted_chars != chars:
                continue
            if newlines < 0:
                newlines = count_newlines(text)
            own = count_newlines(text, first, last) - sum(count_newlines(text, begin, end) for _, begin, end in numbered)
            if newlines - own + omitted_lines == lines:
                return Marker(found[5], first, last, chars, lines, omitted_chars, omitted_lines, tuple(numbered))
    return None


# --- Notable lines -----------------------------------------------------------

_SIGNALS: Final = (
    # the verdict of a run, and what ends one
    r"FAIL|test result:|[Tt]raceback \(most|panicked|panic:|[Ff]atal|FATAL|core dumped|[Ss]egmentation fault|[Oo]ut of memory|OOM"
    r"|exit(?:ed)?(?: with)?(?: code| status)[ :=]*-?[1-9]|non-zero exit|код(?:ом)? (?:возврата|выхода|завершения)[ :=]*-?[1-9]",
    # what went wrong
    r"[Ee]rror|ERR(?:OR|!)|[Ee]xception|[Ff]ail(?:ed|ure)|not ok |[Оо]шибк|ОШИБК|[Ии]сключени|[Сс]бой|[Нн]е удалось|[Пп]ровал|错误|失败|エラー",
    # what is missing or forbidden
    r"[Nn]ot found|No such file|[Pp]ermission denied|[Rr]efused|[Tt]imed out|[Uu]ndefined reference|[Нн]е найден|[Оо]тказано",
)
"""What makes a line notable, by rank.  Literals and single characters only, so a search is linear."""


@functools.cache
def _signal_patterns() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """A notable word (its group is its rank), and what before or after one says that there is none."""
    return (
        re.compile("|".join(f"({words})" for words in _SIGNALS)),
        re.compile(r"(?:^|[^0-9.])(?:0|[Nn]o|[Ww]ithout|[Бб]ез|[Нн]ет)[ \t]\Z"),
        re.compile(r"\w{0,20}[\"']?[ \t]?[:=][ \t]?(?:0(?![0-9.])|[Nn]one|null|[Ff]alse|нет)"),
    )


_Hit: TypeAlias = tuple[int, int, int]
"""A notable line: how notable (0 most), start, stop."""


def _find_signals(text: str, start: int, stop: int) -> list[_Hit]:
    """The notable lines of ``text[start:stop]`` in order.  A line that differs from an earlier one in digits alone ranks lower."""
    word, none_before, none_after = _signal_patterns()
    hits, kinds = [], set[str]()
    digits = dict.fromkeys(map(ord, "0123456789"))
    found = word.search(text, start, stop)
    while found is not None:
        at, after = found.span()
        if not (none_before.search(text[max(0, at - 10) : at]) or none_after.match(text, after, after + 40)):
            begin = max(start, text.rfind("\n", start, at) + 1)
            after = text.find("\n", at, stop) + 1 or stop
            end = after
            if end - begin > _SIGNAL_CHARS:
                begin = ceiling(text, max(begin, at - _SIGNAL_CHARS // 4))
                end = floor(text, min(begin + _SIGNAL_CHARS, end - text.endswith("\n", begin, end)))
            kind = text[begin:end].translate(digits)
            rank = (found.lastindex or 1) - 1
            hits.append((rank + len(_SIGNALS) if kind in kinds else rank, begin, end))
            kinds.add(kind)
        found = word.search(text, after, stop)
    return hits


# --- JSON --------------------------------------------------------------------

_Container: TypeAlias = list[tuple[int, int]]
"""The values of an array or object, as ranges of the text."""


def _refuse_constant(name: str) -> Any:
    raise ValueError(name)  # NaN and the infinities are not JSON


def _json_containers(text: str, least: int) -> list[_Container]:
    """The arrays and objects of *text* that take up at least *least* characters; none if it is not JSON."""
    try:
        json.loads(text, parse_int=float, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return []
    large: list[_Container] = []
    open_: list[tuple[int, bool, _Container]] = []
    is_key = False
    for token in re.finditer(r'"(?:[^"\\]++|\\.)*+"|[][{},:]|[^][{},:"\s]++', text):
        char = text[token.start()]
        if char in "[{":
            open_.append((token.start(), char == "{", []))
            if len(open_) > _JSON_DEPTH:
                return []
            is_key = char == "{"
        elif char in "]}":
            start, _, values = open_.pop()
            if values and token.end() - start >= least:
                large.append(values)
            if open_:
                open_[-1][2].append((start, token.end()))
        elif char in ",:":
            is_key = char == "," and open_[-1][1]
        elif open_ and not is_key:
            open_[-1][2].append(token.span())
    return large


def _json_gap(values: _Container, total: int, room: int, head_stop: int, tail_start: int) -> tuple[int, int] | None:
    """
    The run of *values* to leave out so that at most *room* of *total* characters remain, as a range.

    The run begins at or before *head_stop* and ends at or after *tail_start*.
    The end of the text is served first.
    """
    starts = [start for start, _ in values if start <= head_stop]
    stops = [stop for _, stop in values if stop >= tail_start]
    if not starts or not stops or starts[0] + total - stops[-1] > room:
        return None
    share = max(room - room // 2, room - starts[-1])
    tail = next((stop for stop in stops if total - stop <= min(share, room - starts[0])), stops[-1])
    head = max((start for start in starts if start < tail and start + total - tail <= room), default=starts[0])
    tail = next((stop for stop in stops if stop > head and head + total - stop <= room), tail)
    return head, tail


# --- The excerpt -------------------------------------------------------------


class _Excerpts:
    """All excerpts of one text: what stays the same while sizes are tried."""

    def __init__(
        self, text: str, *, keep: str, original: tuple[int, int], seen: Marker | None, ref: str | None, clause: str, signal_lines: int
    ) -> None:
        self.text = text
        self.end = len(text)
        self.keep = keep
        self.original = original
        self.seen = seen
        self.ref = ref
        self.clause = clause
        self.signal_lines = signal_lines
        self.hole = (seen.start, seen.stop) if seen is not None else (self.end, 0)  # what is left out in any case
        self.last_line = self.end - tail_of_lines(text, 1)

    @functools.cached_property
    def hits(self) -> list[_Hit]:
        """Candidates for numbered lines: those of the earlier excerpt, then what a search finds."""
        if self.signal_lines == 0:
            return []
        head, tail = self.hole
        if self.seen is None:
            return _find_signals(self.text, 0, self.end)
        earlier = [(0, start, stop) for _, start, stop in self.seen.numbered]
        return [*_find_signals(self.text, 0, head), *earlier, *_find_signals(self.text, tail, self.end)]

    def line_number(self, at: int) -> int:
        """The number, counted from 1, that the line at *at* has in the original."""
        if self.seen is None or at < self.seen.start:
            return count_newlines(self.text, 0, at) + 1
        if at >= self.seen.stop:
            return self.original[1] - count_newlines(self.text, at) + 1
        return next(line for line, start, _ in self.seen.numbered if start == at)

    def account(self, pieces: Iterable[tuple[int, int]]) -> Truncated:
        """The account of showing *pieces*; its text is still the whole one."""
        kept = tuple((start, stop) for start, stop in pieces if start < stop)
        chars, lines = self.original
        chars -= sum(stop - start for start, stop in kept)
        lines -= sum(count_newlines(self.text, start, stop) for start, stop in kept)
        return Truncated(self.text, *self.original, chars, lines, self.ref, kept)

    def marker(self, omitted: tuple[int, int], *, numbered: int = 0) -> str:
        return _marker(omitted, self.original, self.clause, self.ref, numbered)

    # Where the prefix ends and the suffix begins.

    def reach(self, lines: int | None) -> tuple[int, int]:
        """How far the prefix may go and where the suffix may begin, if *lines* lines may be kept."""
        head_stop, tail_start = self.hole
        if lines is not None:
            in_head, in_tail = (_count_lines(self.text, *part) for part in ((0, head_stop), (tail_start, self.end)))
            head_lines = {"head": lines, "tail": 0, "both": max(min(lines // 2, in_head), lines - in_tail)}[self.keep]
            head_stop = min(head_stop, head_of_lines(self.text, head_lines))
            tail_start = max(tail_start, tail_of_lines(self.text, max(0, lines - head_lines)))
        if self.keep == "head":
            return head_stop, self.end
        return (0 if self.keep == "tail" else head_stop), tail_start

    def split(self, room: int, reach: tuple[int, int]) -> tuple[int, int]:
        """Where the prefix ends and the suffix begins, if together they may have *room* characters."""
        head_stop, tail_start = reach
        room = max(room, 0)
        # At least half for the end of the text, its last line whole if that fits, and what the prefix cannot use.
        share = max(room - room // 2, self.last_line if self.last_line <= room else 0, room - head_stop)
        tail = max(self.end - share, tail_start)
        if tail > tail_start:
            tail = ceiling(self.text, tail)
            newline = self.text.find("\n", tail - 1, tail + (self.end - tail) // 4)
            tail = newline + 1 if newline >= 0 else tail
        used = self.end - tail
        share = room - used if tail == tail_start else min(room - used, used)
        head = min(share, head_stop, tail)
        if head < head_stop:
            head = floor(self.text, head)
            newline = self.text.rfind("\n", head - head // 4, head)
            head = newline + 1 if newline >= 0 else head
        return head, tail

    # The two forms of an excerpt.

    def in_text(self, room: int, lines: int | None = None) -> Truncated:
        """The excerpt of at most *room* characters and *lines* lines, or the marker alone if that is longer."""
        lines = None if lines is None else lines - 1  # the marker's
        most = len(self.marker(self.original))
        head, tail = self.split(room - most - 2, self.reach(lines))
        numbered: list[_Hit] = []
        if self.hits:
            most = len(self.marker(self.original, numbered=self.signal_lines)) + len(_CLOSING) + 4
            width = len(str(self.original[1])) + 3
            count = self.signal_lines if lines is None else min(self.signal_lines, lines // 4 - 1)
            share = (room - most) // 4
            head, tail = self.split(room - most - share, self.reach(None if lines is None else lines - count - 1))
            numbered = _choose(self.hits, head, tail, count, share, width)
            if numbered:  # now that their size is known, give the rest back
                share = sum(stop - start + width for _, start, stop in numbered)
                rest = None if lines is None else lines - len(numbered) - 1
                head, tail = self.split(room - most - share, self.reach(rest))
                numbered = [hit for hit in numbered if head <= hit[1] and hit[2] <= tail]
            else:
                most = len(self.marker(self.original))
                head, tail = self.split(room - most - 2, self.reach(lines))
        return self.compose(head, tail, [(start, stop) for _, start, stop in numbered])

    def compose(self, head: int, tail: int, numbered: list[tuple[int, int]]) -> Truncated:
        """Prefix, marker with numbered lines, suffix."""
        text, end = self.text, self.end
        made = self.account([(0, head), *numbered, (tail, end)])
        parts = [text[:head], "" if head == 0 or text[head - 1] == "\n" else "\n"]
        parts.append(self.marker((made.omitted_chars, made.omitted_lines), numbered=len(numbered)))
        if numbered:
            parts.append("\n")
            for start, stop in numbered:
                whole = text[stop - 1] == "\n"
                parts.append(f"{self.line_number(start)}{':' if whole else '~'} {text[start:stop]}{'' if whole else chr(10)}")
            parts.append(_CLOSING)
        parts += ["\n" if tail < end else "", text[tail:]]
        return evolve(made, text="".join(parts))

    @functools.cached_property
    def containers(self) -> list[_Container]:
        """The arrays and objects that hold the earlier marker, if there is one."""
        head, tail = self.hole
        least = tail - head if self.seen is not None else 2
        return [values for values in _json_containers(self.text, least)]

    def in_json(self, room: int) -> Truncated | None:
        """The excerpt of at most *room* characters that is valid JSON, ``None`` where there is none."""
        room -= len(self.marker(self.original)) + 2
        best: tuple[int, int] | None = None
        for values in self.containers:
            head_stop, tail_start = self.hole
            head_stop = values[0][0] if self.keep == "tail" else head_stop
            tail_start = values[-1][1] if self.keep == "head" else tail_start
            gap = _json_gap(values, self.end, room, head_stop, tail_start)
            if gap is not None and (best is None or gap[1] - gap[0] < best[1] - best[0]):
                best = gap
        if best is None:
            return None
        made = self.account([(0, best[0]), (best[1], self.end)])
        marker = self.marker((made.omitted_chars, made.omitted_lines))
        return evolve(made, text=f'{self.text[: best[0]]}"{marker}"{self.text[best[1] :]}')
