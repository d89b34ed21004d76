"""
Notable lines: the error in the middle of a thousand lines that say "ok".

What this is
    A fixed table of words that make a line worth keeping when the text around
    it is left out, the search for such lines, and the choice among them.

Rules it obeys
    * Every pattern is linear in the text (no nested repetition), and a line is
      looked at in bounded windows, however long it is.
    * What is found are ranges of the text, cut at safe boundaries.

How it works
    One search finds a word; its group is the rank: verdicts and crashes before
    errors before things missing.  A word that is denied by its neighbours
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
from typing import Final, TypeAlias

from .text import ceiling, floor

__all__ = ["SIGNAL_CHARS", "Signal", "choose_signals", "find_signals"]

SIGNAL_CHARS: Final = 400
"""The most that is taken of one line."""

Signal: TypeAlias = tuple[int, int, int]
"""A notable line: its rank (0 is the most notable), and its range in the text, the newline included if it is whole."""

_WORDS: Final = (
    # the verdict of a run, and what ends one
    r"FAIL|test result:|[Tt]raceback \(most|panicked|panic:|[Ff]atal|FATAL|core dumped|[Ss]egmentation fault|[Oo]ut of memory",
    r"exit(?:ed)?(?: with)?(?: code| status)[ :=]{0,3}-?[1-9]|non-zero exit",
    r"код(?:ом)? (?:возврата|выхода|завершения)[ :=]{0,3}-?[1-9]",
    # what went wrong
    r"[Ee]rror|ERR(?:OR|!)|[Ee]xception|[Ff]ail(?:ed|ure)|not ok |^E   ",
    r"[Оо]шибк|ОШИБК|[Ии]сключени|[Сс]бой|[Нн]е удалось|[Пп]ровал",
    r"错误|失败|エラー|오류",
    # what is missing or forbidden
    r"[Nn]ot found|No such file|[Pp]ermission denied|[Rr]efused|[Tt]imed out|[Uu]ndefined reference|[Нн]е найден|[Оо]тказано",
)
"""What makes a line notable; the place in the table is the rank."""

_DENIED_BEFORE: Final = r"(?:^|[^0-9.,])(?:0|[Nn]o|[Ww]ithout|[Бб]ез|[Нн]ет)[ \t]\Z"
_DENIED_AFTER: Final = r"\w{0,20}[\"']?[ \t]?[:=][ \t]?(?:0(?![0-9.,])|[Nn]one|null|[Ff]alse|нет)"
_WINDOW_CHARS: Final = 40


@functools.cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    words = "|".join(f"({alternatives})" for alternatives in _WORDS)
    return re.compile(words, re.MULTILINE), re.compile(_DENIED_BEFORE), re.compile(_DENIED_AFTER)


def find_signals(text: str, start: int = 0, stop: int | None = None) -> list[Signal]:
    """
    The notable lines of ``text[start:stop]``, in order.

    >>> text = "0 errors so far\\nE   assert 3 == 4\\nok\\ntest_a FAILED\\n"
    >>> [text[begin:end] for _, begin, end in find_signals(text)]
    ['E   assert 3 == 4\\n', 'test_a FAILED\\n']
    """
    stop = len(text) if stop is None else stop
    word, denied_before, denied_after = _patterns()
    no_digits = str.maketrans("", "", "0123456789")
    signals, kinds = [], set[str]()
    found = word.search(text, start, stop)
    while found is not None:
        at, after = found.span()
        before = text[max(start, at - _WINDOW_CHARS) : at]
        if not (denied_before.search(before) or denied_after.match(text, after, after + _WINDOW_CHARS)):
            begin = max(start, text.rfind("\n", start, at) + 1)
            after = end = text.find("\n", at, stop) + 1 or stop
            if end - begin > SIGNAL_CHARS:
                end -= text.endswith("\n", begin, end)
                begin = ceiling(text, max(begin, at - SIGNAL_CHARS // 4))
                end = floor(text, min(begin + SIGNAL_CHARS, end))
            kind = text[begin:end].translate(no_digits)
            rank = (found.lastindex or 1) - 1
            signals.append((rank + len(_WORDS) if kind in kinds else rank, begin, end))
            kinds.add(kind)
        found = word.search(text, after, stop)
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
            signal = same[-1 - place // 2 if place % 2 else place // 2]
            size = signal[2] - signal[1] + extra_chars
            if len(chosen) < count and size <= room_chars:
                room_chars -= size
                chosen.append(signal)
    return sorted(chosen, key=lambda signal: signal[1])
