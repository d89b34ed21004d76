"""
One text made shorter: head, tail, and a marker that tells the truth.

What this is
    `truncate`, which shortens the text of one tool result, or any other text,
    to a limit.

Rules it obeys (law L11)
    * kept + omitted = original, in characters (code points) and in newline
      characters; what was shortened before is counted against its first
      original.
    * The result is at most the limit, marker included, and shorter than the
      text passed in; or it is that text.
    * What is kept are byte-identical slices, cut where `text.floor` and
      `text.ceiling` allow it.

How it works
    An excerpt is a prefix ``[0, head)``, a suffix ``[tail, end)``, and between
    them the marker, which notable lines of what is left out may follow.  A
    limit in lines, and the place of an earlier marker, say how far the prefix
    may reach and where the suffix may begin; then the room in characters is
    divided.  The suffix gets at least half, because the end of a result (the
    compiler's errors, the total of a test run) is usually what matters.  A
    limit in tokens can only be measured, so it is met by trying rooms.

    In JSON the marker replaces a run of whole values of one array or object,
    so that prefix, marker as a string, and suffix are valid JSON again.

What it costs
    Text: one count of the newlines, and work in what is kept.  Notable lines:
    one search.  Tokens: a handful of counts.  JSON: a few times its parsing.

What is not here
    What a marker looks like and when one is believed (`markers`), what makes a
    line notable (`signals`), where JSON has its values (`jsontext`), storing the original (the caller does that first,
    law L10, and passes the reference).  Never put a truncated text into the
    arguments of a tool call (law L11).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from attrs import evolve, frozen

from .arguments import LARGEST, need_one_of, shown
from .errors import PolicyError
from .jsontext import Values, find_containers, run_to_omit
from .markers import BRIEF, CLOSING, FULL, NUMBERED_LIMIT_LINES, REFERENCE, Issued, Marker, read_marker, write_marker
from .signals import Signal, choose_signals, find_signals
from .text import ceiling, count_newlines, floor, head_of_lines, tail_of_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["Issued", "Marker", "Truncated", "read_marker", "truncate"]

_SIGNAL_DEFAULT_LINES: Final = 8
_SIGNAL_DEFAULT_CHARS: Final = 1 << 16  # texts up to here are searched for notable lines without being asked to
_EXPLAIN_CHARS: Final = 2_000  # from this room on the marker explains itself at length
_TRIES: Final = 12
_CLOSE_ENOUGH: Final = 0.98  # of a limit that can only be met by trying
_JSON_SHARE: Final = 0.5  # of the limit; "auto" takes the text form if whole values fill less


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


# --- Excerpts ----------------------------------------------------------------

_Keep: TypeAlias = Literal["both", "head", "tail"]

_Reach: TypeAlias = tuple[int, int]
"""How far the prefix may go, and where the suffix may begin."""


class _Excerpts:
    """All excerpts of one text: what stays the same while sizes are tried."""

    def __init__(
        self,
        text: str,
        *,
        lines: int,
        room: int,
        keep: _Keep,
        seen: Marker | None,
        ref: str | None,
        clause: str,
        signal_lines: int,
    ) -> None:
        self.text = text
        self.end = len(text)
        self.room = room  # no excerpt may be larger
        self.keep = keep
        self.seen = seen
        self.hole: _Reach = (self.end, 0) if seen is None else (seen.start, seen.stop)  # left out in any case
        self.original = (self.end, lines) if seen is None else (seen.original_chars, seen.original_lines)
        self.ref = ref if seen is None else seen.ref
        self.clause = clause
        self.signal_lines = signal_lines
        self.last_line_chars = self.end - (text.rfind("\n", 0, max(self.end - 1, 0)) + 1)

    def whole(self) -> Truncated:
        """The text as it is, which may be an excerpt already."""
        if self.seen is None:
            return Truncated(self.text, *self.original, 0, 0, self.ref, ((0, self.end),) if self.text else ())
        around = [(0, self.seen.start), *(line[1:] for line in self.seen.numbered), (self.seen.stop, self.end)]
        return self.account(around)

    def account(self, pieces: Iterable[tuple[int, int]]) -> Truncated:
        """The account of showing *pieces*; its text is still the whole one."""
        kept = tuple((start, stop) for start, stop in pieces if start < stop)
        chars = self.original[0] - sum(stop - start for start, stop in kept)
        if self.seen is None and chars < self.end // 2:  # count the smaller part
            edges = [0, *(edge for piece in kept for edge in piece), self.end]
            lines = sum(map(self.newlines, edges[::2], edges[1::2]))
        else:
            lines = self.original[1] - sum(self.newlines(*piece) for piece in kept)
        return Truncated(self.text, *self.original, chars, lines, self.ref, kept)

    def newlines(self, start: int, stop: int) -> int:
        """The newlines in a range."""
        return count_newlines(self.text, start, stop)

    def marker(self, omitted: tuple[int, int] | None = None, *, numbered: int = 0) -> str:
        """The marker for what is *omitted*; without that, the longest there can be."""
        omitted = self.original if omitted is None else omitted
        return write_marker(omitted=omitted, original=self.original, ref=self.ref, clause=self.clause, numbered=numbered)

    # Where the prefix ends and the suffix begins

    def reach(self, lines: int | None) -> _Reach:
        """The reach if *lines* lines may be kept, or any number of them."""
        head_stop, tail_start = self.hole
        if lines is not None:
            head_lines = {"head": lines, "tail": 0, "both": lines // 2}[self.keep]
            if self.keep == "both" and self.seen is not None:  # one side may have less than its share
                in_head, in_tail = _shown_lines(self.text[:head_stop]), _shown_lines(self.text[tail_start:])
                head_lines = max(min(head_lines, in_head), lines - in_tail)
            head_stop = min(head_stop, head_of_lines(self.text, head_lines))
            tail_start = max(tail_start, tail_of_lines(self.text, lines - head_lines))
        return 0 if self.keep == "tail" else head_stop, self.end if self.keep == "head" else tail_start

    def split(self, room: int, reach: _Reach) -> tuple[int, int]:
        """Where the prefix ends and the suffix begins, if together they may have *room* characters."""
        head_stop, tail_start = reach
        room = max(room, 0)
        # The suffix gets half, or its last line if that fits, or all that the prefix cannot use.
        share = max(room - room // 2, self.last_line_chars if self.last_line_chars <= room else 0, room - head_stop)
        tail = max(self.end - share, tail_start)
        if tail > tail_start:
            tail = ceiling(self.text, tail)
            newline = self.text.find("\n", tail - 1, tail + (self.end - tail) // 4)
            tail = newline + 1 if newline >= 0 else tail
        # The prefix gets the rest, but no more than the suffix unless that has all it can have.
        used = self.end - tail
        head = min(room - used if tail == tail_start else min(room - used, used), head_stop, tail)
        if head < head_stop:
            head = floor(self.text, head)
            newline = self.text.rfind("\n", head - head // 4, head)
            head = newline + 1 if newline >= 0 else head
        return head, tail

    # Notable lines

    @functools.cached_property
    def signals(self) -> list[Signal]:
        """All candidates: the numbered lines of an earlier excerpt, which come first, and what a search finds."""
        head, tail = self.hole
        if self.seen is None:
            return find_signals(self.text)
        earlier = [(0, start, stop) for _, start, stop in self.seen.numbered]
        return [*find_signals(self.text, 0, head), *earlier, *find_signals(self.text, tail)]

    def line_number(self, at: int) -> int:
        """The number, counted from 1, that the line at *at* has in the original."""
        if self.seen is not None:
            for line, start, _ in self.seen.numbered:
                if start == at:
                    return line
            if at >= self.seen.stop:
                return self.original[1] - count_newlines(self.text, at) + 1
        return count_newlines(self.text, 0, at) + 1

    # The two forms of an excerpt

    def in_text(self, room: int, lines: int | None = None) -> Truncated:
        """The excerpt of at most *room* characters and *lines* lines; the marker alone where not even that fits."""
        lines = None if lines is None else max(lines - 1, 0)  # one is the marker's
        numbered: list[Signal] = []
        count = self.signal_lines if lines is None else min(self.signal_lines, lines // 4)
        if count > 0 and self.signals:
            own = len(self.marker(numbered=count)) + len(CLOSING) + len("\n" * 3)
            extra = len(f"{self.original[1] + 1}: \n")
            share = (room - own) // 4
            head, tail = self.split(room - own - share, self.reach(None if lines is None else lines - count - 1))
            inside = [signal for signal in self.signals if head <= signal[1] and signal[2] <= tail]
            numbered = choose_signals(inside, count=count, room_chars=share, extra_chars=extra)
        if numbered:  # their size is known now: what they do not need goes to prefix and suffix
            share = sum(stop - start + extra for _, start, stop in numbered)
            head, tail = self.split(room - own - share, self.reach(None if lines is None else lines - len(numbered) - 1))
            numbered = [signal for signal in numbered if head <= signal[1] and signal[2] <= tail]
        else:
            head, tail = self.split(room - len(self.marker()) - len("\n" * 2), self.reach(lines))
        return self.compose(head, tail, [(start, stop) for _, start, stop in numbered])

    def compose(self, head: int, tail: int, numbered: Iterable[tuple[int, int]] = ()) -> Truncated:
        """Prefix, marker with its numbered lines, suffix."""
        text = self.text
        lines = []
        for start, stop in numbered:
            is_whole = text[stop - 1] == "\n"
            lines.append(f"{self.line_number(start)}{':' if is_whole else '~'} {text[start:stop]}{'' if is_whole else chr(10)}")
        made = self.account([(0, head), *numbered, (tail, self.end)])
        parts = [
            text[:head],
            "\n" if head > 0 and text[head - 1] != "\n" else "",
            self.marker((made.omitted_chars, made.omitted_lines), numbered=len(lines)),
            *(("\n", *lines, CLOSING) if lines else ()),
            "\n" if tail < self.end else "",
            text[tail:],
        ]
        return evolve(made, text="".join(parts))

    @functools.cached_property
    def containers(self) -> list[Values]:
        """The arrays and objects of the text, if it is JSON, that are large enough to leave something out of."""
        return find_containers(self.text, least_chars=self.end - self.room)

    def in_json(self, room: int) -> Truncated | None:
        """The excerpt of at most *room* characters that is valid JSON, ``None`` where there is none."""
        room -= len(self.marker()) + len('""')
        head_stop, tail_start = self.hole
        gaps = []
        for values in self.containers:
            last_head = values[0][0] if self.keep == "tail" else head_stop
            first_tail = values[-1][1] if self.keep == "head" else tail_start
            gap = run_to_omit(values, head_stop=last_head, tail_start=first_tail, end=self.end, room_chars=room)
            if gap is not None:
                gaps.append(gap)
        if not gaps:
            return None
        head, tail = min(gaps, key=lambda gap: gap[1] - gap[0])
        made = self.account([(0, head), (tail, self.end)])
        marker = self.marker((made.omitted_chars, made.omitted_lines))
        return evolve(made, text=f'{self.text[:head]}"{marker}"{self.text[tail:]}')


# --- Limits ------------------------------------------------------------------


class _Limits:
    """What a result may measure, in each unit that has a limit."""

    def __init__(self, chars: int | None, lines: int | None, tokens: int | None, counter: Callable[[str], int] | None) -> None:
        given = {"limit_chars": chars, "limit_lines": lines, "limit_tokens": tokens}
        self.of = {name: limit for name, limit in given.items() if limit is not None}
        self.counter = counter
        for name, limit in self.of.items():
            if type(limit) is not int or not 0 <= limit <= LARGEST:
                raise PolicyError(name, f"a limit is an int of at least 0, not {shown(limit)}", rule="L11")
        if not self.of:
            raise PolicyError("limit_chars", "no limit is given", rule="L11", hint="or limit_lines, or limit_tokens")

    def sizes(self, result: str, *, newlines: int | None = None) -> dict[str, int]:
        """What *result*, whose *newlines* may be known, measures in the units that have a limit."""
        measure: dict[str, Callable[[str], int]] = {
            "limit_chars": len,
            "limit_lines": functools.partial(_shown_lines, newlines=newlines),
            "limit_tokens": self.count_tokens,
        }
        return {name: measure[name](result) for name in self.of}

    def load(self, result: str, *, newlines: int | None = None) -> float:
        """How much of its tightest limit *result* fills; it fits if that is at most 1."""
        sizes = self.sizes(result, newlines=newlines)
        return max(size / limit if (limit := self.of[name]) else 2.0 * size for name, size in sizes.items())

    def too_small(self, text: str, marker: str) -> PolicyError:
        """The error for a *text* that does not fit when its shortest excerpt, a *marker*, does not do either."""
        smallest = self.sizes(text)
        if len(marker) < len(text):
            smallest = {name: min(size, smallest[name]) for name, size in self.sizes(marker).items()}
        name = max(smallest, key=lambda name: smallest[name] - self.of[name])
        problem = f"{self.of[name]} is too small even for a marker; the smallest usable limit is {smallest[name]}"
        return PolicyError(name, problem, rule="L11")

    def count_tokens(self, text: str) -> int:
        if self.counter is None:
            from .tokens import estimate  # here, because most limits are not in tokens

            return estimate(text)
        try:
            size = self.counter(text)
        except Exception as error:
            raise PolicyError("counter", f"it raised {type(error).__name__} for a text of {len(text)} characters") from error
        if type(size) is not int or not 0 <= size <= LARGEST:
            raise PolicyError("counter", f"a counter returns an int of at least 0, not {shown(size)}")
        return size


def _shown_lines(text: str, newlines: int | None = None) -> int:
    """The lines a reader sees: *newlines*, and what follows the last one."""
    return (count_newlines(text) if newlines is None else newlines) + (text != "" and not text.endswith("\n"))


def _is_reference(ref: object) -> bool:
    return isinstance(ref, str) and re.fullmatch(REFERENCE, ref) is not None


def _largest(build: Callable[[int], Truncated | None], limits: _Limits, room: int, guess: int) -> Truncated | None:
    """
    The largest of the excerpts that *build* makes for up to *room* characters and that fits, as nearly as a few tries find it.

    Sizes in tokens are about proportional to characters, so the next try is a
    proportion of the last; every third one halves what is left, in case they are not.
    """
    best: Truncated | None = None
    low, high, at = 0, room + 1, min(max(guess, 1), room)
    for attempt in range(1, _TRIES + 1):
        made = build(at)
        load = 0.0 if made is None else limits.load(made.text)
        if load > 1:
            high = at
        else:
            low = at
            if made is not None and (best is None or made.omitted_chars <= best.omitted_chars):
                best = made
            if load >= _CLOSE_ENOUGH:
                break
        if high - low <= 1:
            break
        at = (low + high) // 2 if attempt % 3 == 0 or load == 0 else int(at / load)
        at = min(max(at, low + 1), high - 1)
    return best


# --- The public function -----------------------------------------------------


def truncate(
    text: str,
    *,
    limit_chars: int | None = None,
    limit_lines: int | None = None,
    limit_tokens: int | None = None,
    keep: Literal["both", "head", "tail"] = "both",
    ref: str | None = None,
    signal_lines: int | None = None,
    counter: Callable[[str], int] | None = None,
    form: Literal["text", "json", "auto"] = "text",
    issued: Issued | None = None,
) -> Truncated:
    """
    Shorten *text* to a limit, keeping its head and tail around a truthful marker.

    Law L11.  A tool's output must not fill the window, and an excerpt that is
    mistaken for the whole is worse than none; so the marker states what is
    missing, that it may matter, and where it is.

    Args:
        text: anything; never the arguments of a tool call, where no marker may stand.
        limit_chars: the most code points of the result, marker included.
        limit_lines: the most lines of the result, marker and numbered lines included.
        limit_tokens: the most *counter* may say of the result.  At least one
            limit is due; of several each holds.
        keep: ``"both"`` gives the tail at least half of what is kept (the head
            no more than the tail), ``"head"`` and ``"tail"`` all to one side.
        ref: the reference under which the caller stored the whole, 64 hexadecimal digits.
        signal_lines: how many notable lines of the omitted middle to keep, by
            number; not in JSON.  Left out, it is 8 with ``keep="both"`` and a
            text of at most 65,536 characters, where the search costs little, else 0.
        counter: tokens of a text, any other unit as well
            (``lambda text: len(text.encode())`` makes a limit in bytes); the
            library's estimate if left out.
        form: ``"json"`` leaves valid JSON valid wherever whole values can be
            left out so that the limit is met; ``"auto"`` does so if that fills
            half the limit.  Otherwise, and for all else, the text form is used.
        issued: the references this conversation gave out, with the size of
            what they stand for.  A text that is an excerpt with one of them is
            counted against that original, and keeps its reference.

    Returns:
        The text passed in if it fits, else an excerpt shorter than it.

    Raises:
        PolicyError: (a `ValueError`) if an argument is impossible, if *counter*
            raises or does not count, or if the text is too long and the
            shortest marker too, naming the smallest usable limit.

    A build's log of some 30,000 tokens, of which the end matters:

    >>> log = "".join(f"[{n:4}/2400] compiling module_{n}.c with -O2 -Wall -o build/m{n}.o\\n" for n in range(2400))
    >>> short = truncate(log + "link: undefined symbol 'main'\\n", keep="tail", limit_lines=200)
    >>> print(short.text[:70])
    [truncated v1: omitted 147516 of 161010 chars, 2202 of 2401 lines; thi
    >>> short.text.count("\\n"), short.text.splitlines()[-1]
    (200, "link: undefined symbol 'main'")
    """
    if not isinstance(text, str):
        raise PolicyError("text", f"a str, not {type(text).__name__}")
    if counter is not None and not callable(counter):
        raise PolicyError("counter", f"something that can be called, not {shown(counter)}")
    limits = _Limits(limit_chars, limit_lines, limit_tokens, counter)
    need_one_of("keep", keep, ("both", "head", "tail"))
    need_one_of("form", form, ("text", "json", "auto"))
    if ref is not None and not _is_reference(ref):
        raise PolicyError("ref", f"a reference is 64 lower-case hexadecimal digits, not {shown(ref)}", rule="L25")
    if signal_lines is None:
        signal_lines = _SIGNAL_DEFAULT_LINES if keep == "both" and len(text) <= _SIGNAL_DEFAULT_CHARS else 0
    if type(signal_lines) is not int or not 0 <= signal_lines <= NUMBERED_LIMIT_LINES:
        raise PolicyError("signal_lines", f"an int from 0 to {NUMBERED_LIMIT_LINES}, not {shown(signal_lines)}")

    if issued is not None and not isinstance(issued, Mapping):
        raise PolicyError("issued", f"references with their sizes, not {shown(issued)}", rule="L11")

    newlines = count_newlines(text)
    seen = read_marker(text, issued=issued) if issued else None
    room = min(limits.of.get("limit_chars", len(text)), len(text) - 1)
    excerpts = _Excerpts(
        text,
        lines=newlines,
        room=room,
        keep=keep,
        seen=seen,
        ref=ref,
        clause=FULL if min(room, 3 * limits.of.get("limit_tokens", room)) >= _EXPLAIN_CHARS else BRIEF,
        signal_lines=signal_lines,
    )
    load = limits.load(text, newlines=newlines)
    if load <= 1:
        return excerpts.whole()

    best: Truncated | None = None
    guess = int(len(text) / load)
    if form == "json" or (form == "auto" and text.lstrip()[:1] in ("{", "[")):
        best = _largest(excerpts.in_json, limits, room, guess)
        if form == "auto" and best is not None and limits.load(best.text) < _JSON_SHARE:
            best = None
    if best is None and limit_lines != 0:
        build = functools.partial(excerpts.in_text, lines=limit_lines)
        best = build(room) if limit_tokens is None else _largest(build, limits, room, guess)
    if best is None or len(best.text) > room:
        excerpts.clause = BRIEF
        best = excerpts.compose(0, len(text))  # the shortest excerpt there is: the marker alone
        if len(best.text) > room or limits.load(best.text) > 1:
            raise limits.too_small(text, best.text)
    return best
