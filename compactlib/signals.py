"""
Notable lines: the error in the middle of a thousand lines that say "ok".

What this is
    A fixed table of words that make a line worth keeping when the text around
    it is left out, the search for such lines, and the choice among them.

Rules it obeys
    * Linear in the text: words are found one by one, and a line is looked at
      in bounded windows, however long it is.
    * What is found are ranges of the text, cut at safe boundaries.

How it works
    Words have ranks: verdicts and crashes come before errors before things
    missing.  They are literals, because `str.find` takes a millisecond for a
    million characters and a regular expression of them all four hundred.  A word that is denied by its neighbours
    (``0 errors``, ``failed=0``, ``без ошибок``) is passed over.  A line that
    differs from an earlier one in digits alone is a repetition and ranks below
    all others.  Of a very long line the neighbourhood of the word is taken.

What is not here
    Understanding.  A line that says in other words that something failed is
    not found, and a line about error handling is.
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Final, TypeAlias

from .text import ceiling, floor

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["SIGNAL_CHARS", "Signal", "choose_signals", "find_signals", "looks_failed"]

SIGNAL_CHARS: Final = 400
"""The most that is taken of one line."""

Signal: TypeAlias = tuple[int, int, int]
"""A notable line: its rank (0 is the most notable), and its range in the text, the newline included if it is whole."""

_WORDS: Final[tuple[tuple[str, ...], ...]] = (
    # the verdict of a run, and what ends one
    ("FAIL", "test result:", "Traceback (most", "panicked", "panic:", "fatal", "Fatal", "FATAL"),
    ("core dumped", "egmentation fault", "out of memory", "Out of memory"),
    ("exit code", "exit status", "exited with code", "exited with status", "non-zero exit"),
    ("код возврата", "код выхода", "с кодом"),
    # what went wrong
    ("error", "Error", "ERROR", "ERR!", "xception", "failed", "Failed", "failure", "Failure", "not ok ", "\nE   "),
    ("ошибк", "Ошибк", "ОШИБК", "сключени", "сбой", "Сбой", "е удалось", "провал", "错误", "失败", "エラー", "오류"),
    # what is missing or forbidden
    ("not found", "Not found", "No such file", "ermission denied", "refused", "timed out", "ndefined reference"),
    ("е найден", "тказано"),
)  # fmt: skip
"""What makes a line notable; the place in the table is the rank.  A ``\\n`` belongs to the line before."""

_BEFORE_CHARS: Final = len("-without ")
_AFTER_CHARS: Final = 40
_STATUS_CHARS: Final = 300  # from either end of an output: there its exit status stands


@functools.cache
def _denials() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """What directly before or after a word says that there was none."""
    return (
        re.compile(r"(?<![\w.,])(?:0|[Nn]o|[Ww]ithout|[Бб]ез|[Нн]ет)[ \t]\Z"),
        re.compile(r"\w{0,20}[\"']?[ \t]?[:= ][ \t]?(?:0(?![0-9.,])|[Nn]one\b|null\b|[Ff]alse\b|нет\b)"),
    )


def _places(text: str, word: str, at: int, start: int, stop: int) -> Iterator[tuple[int, int]]:
    """The lines of ``text[start:stop]``, from *at* on, in which *word* stands undenied: where each begins, and where the word."""
    before, after = _denials()
    while at >= 0:
        end = at + len(word)
        if before.search(text[max(start, at - _BEFORE_CHARS) : at]) or after.match(text, end, end + _AFTER_CHARS):
            at = text.find(word, end, stop)
            continue
        at += word.startswith("\n")
        yield max(start, text.rfind("\n", start, at) + 1), at
        newline = text.find("\n", at, stop)
        at = text.find(word, newline, stop) if newline >= 0 else -1


def find_signals(text: str, start: int = 0, stop: int | None = None) -> list[Signal]:
    """
    The notable lines of ``text[start:stop]``, in order.

    >>> text = "0 errors so far\\nE   assert 3 == 4\\nok\\ntest_a FAILED\\n"
    >>> [text[begin:end] for _, begin, end in find_signals(text)]
    ['E   assert 3 == 4\\n', 'test_a FAILED\\n']
    """
    stop = len(text) if stop is None else stop
    lines: dict[int, tuple[int, int]] = {}  # by where a line begins: rank, and where the first word of that rank stands
    for rank, words in enumerate(_WORDS):
        for word in words:
            first = text.find(word, start, stop)
            if first >= 0:  # most words stand nowhere
                for begin, at in _places(text, word, first, start, stop):
                    lines.setdefault(begin, (rank, at))
    no_digits = str.maketrans("", "", "0123456789")
    signals, kinds = [], set[str]()
    for begin, (rank, at) in sorted(lines.items()):
        end = text.find("\n", at, stop) + 1 or stop
        if end - begin > SIGNAL_CHARS:
            end -= text.endswith("\n", begin, end)
            begin = ceiling(text, max(begin, at - SIGNAL_CHARS // 4))
            end = floor(text, min(begin + SIGNAL_CHARS, end))
        kind = text[begin:end].translate(no_digits)
        signals.append((rank + len(_WORDS) if kind in kinds else rank, begin, end))
        kinds.add(kind)
    return signals


def choose_signals(signals: list[Signal], *, count: int, room_chars: int, extra_chars: int = 0) -> list[Signal]:
    """
    The most notable of *signals*, in the order of the text.

    Within a rank the first and the last come before those between them: the
    first error is often the cause of the others, the last one is what ended
    the run.

    Args:
        count: at most so many.
        room_chars: at most so many characters of them together.
        extra_chars: what each takes up besides its own characters.

    >>> choose_signals([(2, 0, 9), (0, 9, 20), (2, 20, 29), (2, 29, 38)], count=3, room_chars=100)
    [(2, 0, 9), (0, 9, 20), (2, 29, 38)]
    """
    chosen: list[Signal] = []
    for rank in sorted({signal[0] for signal in signals}):
        same = [signal for signal in signals if signal[0] == rank]
        for place in range(len(same)):
            if len(chosen) == count:
                break
            signal = same[-1 - place // 2 if place % 2 else place // 2]
            size = signal[2] - signal[1] + extra_chars
            if size <= room_chars:
                room_chars -= size
                chosen.append(signal)
    return sorted(chosen, key=lambda signal: signal[1])


@functools.cache
def _exit_status() -> re.Pattern[str]:
    return re.compile(r"(?i)\bexit(?:ed)?(?: with)?[ _]?(?:code|status)?\"?[:= ]+-?[1-9]")


def looks_failed(text: str) -> bool:
    """
    Whether an output says by itself that the call failed; the wire's error flag is another matter.

    >>> looks_failed("Error: no such file"), looks_failed("exit code: 2"), looks_failed("0 errors")
    (True, True, False)
    """
    start = text[:200].lstrip()[:20].lower()
    if start.startswith(("error", "traceback", "fatal", "exception", "failed", "ошибка", "permission denied", "command failed")):
        return not start.startswith(("errors: 0", "error: none", "failed: 0"))
    ends = text if len(text) <= _STATUS_CHARS else f"{text[:_STATUS_CHARS]}\n{text[-_STATUS_CHARS:]}"
    return ("xit" in ends or "XIT" in ends) and _exit_status().search(ends) is not None
