"""
The words by which the extractive summariser goes.

What this is
    Tables, and the few functions that read them: what a sentence is about
    (`cues`), where sentences begin and end (`sentences`), and which line of an
    output decides (`decisive_line`).

Rules it obeys
    Every string that comes out is a slice of the string that went in: nothing
    is reworded, so nothing can be invented (law L9).

    Every pattern is linear, and an output is looked at only near its two
    ends, so a hostile one costs no more than its length.

How it works
    A cue is one word or a few in a row, in English or Russian, all forms
    spelled out.  Sentences are divided into words once, and each word is
    looked up; there is no grammar.  That is crude, and it is meant to be:
    what is found is quoted, so the reader sees what was really said.

What is not here
    What a call did (`deeds`), and what becomes of the findings (`extractive`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Final

from ..signals import find_signals
from ..text import shortened

__all__ = [
    "LONGEST_CHARS",
    "cues",
    "decisive_line",
    "identifies",
    "is_total",
    "last_line",
    "notable_line",
    "sentences",
]

LONGEST_CHARS: Final = 300
"""A longer sentence is cut at a word."""

_ENDS_CHARS: Final = 4_000  # how far into either end of an output is looked

_CUES: Final[dict[str, str]] = {
    "order": (
        "must, never, always, don't, dont, do not, only, prefer, preferably, avoid, make sure, ensure, should, shouldn't, "
        "need to, needs to, has to, have to, required, at least, at most, no more than, keep, without, instead of, "
        "forbidden, not allowed, important, i want, i'd like, i like, "
        "нужно, надо, нельзя, всегда, никогда, должен, должна, должно, должны, обязательно, только, не трогай, не "
        "трогайте, не меняй, не меняйте, не делай, не делайте, не удаляй, не удаляйте, предпочитаю, предпочтительно, "
        "лучше, пусть, без, запрещено, важно, хочу, хотелось бы, следует, избегай, избегайте, сохрани, оставь, используй, "
        "используйте, не используй"
    ),
    # what is to hold for the whole session
    "standing": (
        "never, always, from now on, at all times, under no circumstances, no matter what, don't ever, do not ever, "
        "ever again, for the rest of, throughout, answer only, reply only, respond only, write only, only answer, only reply, "
        "only use, use only, only write, answer in, reply in, respond in, "
        "никогда, всегда, отныне, впредь, ни в коем случае, ни при каких, отвечай только, пиши только, отвечай на, пиши на, "
        "отвечайте только, пишите только, используй только, используйте только, только на, только по"
    ),
    "done": (
        "done, fixed, implemented, added, created, completed, finished, updated, removed, renamed, refactored, migrated, "
        "merged, committed, pushed, installed, configured, resolved, wrote, passes, passed, now works, succeeded, "
        "successfully, deployed, verified, "
        "готово, сделано, сделал, сделала, исправил, исправила, исправлено, добавил, добавила, добавлено, реализовал, "
        "реализовано, создал, создала, создано, завершил, завершено, закончил, обновил, обновила, обновлено, удалил, "
        "удалено, переименовал, проходят, прошли, теперь работает, успешно, установил, настроил, написал, написала, "
        "перенёс, перенес, проверено"
    ),
    # what makes a statement of completion none
    "open": (
        "not, isn't, aren't, wasn't, haven't, hasn't, yet, will, i'll, let, going, need, needs, must, should, if, when, "
        "once, until, todo, cannot, can't, couldn't, fails, failed, try, want, before, "
        "не, ещё, еще, нужно, надо, буду, будет, если, когда, пока, сначала, осталось, чтобы"
    ),
    "blocked": (
        "blocked, blocker, cannot, can't, couldn't, unable, waiting for, waiting on, fails, failing, denied, missing, not "
        "found, no such, stuck, broken, need access, "
        "не могу, не удалось, не удаётся, не удается, падает, ждём, ждем, жду, заблокировано, нет доступа, не хватает, не "
        "работает"
    ),
    "decision": (
        "because, decided, chose, chosen, instead of, rather than, therefore, the reason, due to, opted, settled on, "
        "going with, agreed, "
        "потому что, так как, поскольку, решил, решила, решили, решено, выбрал, выбрали, выбрано, вместо, поэтому, из за, "
        "договорились"
    ),
    "rejected": (
        "rejected, discarded, abandoned, gave up, reverted, cancelled, canceled, won't work, doesn't work, does not work, "
        "didn't work, did not work, not worth, ruled out, won't use, will not use, never mind, "
        "отказались, отказался, отменил, отменили, отменено, отмена, откатил, откатили, не будем, не подходит, не "
        "подошло, не подошёл, не сработало, отклонено, отклонил, передумал"
    ),
    "next": (
        "next, then, i'll, i will, let me, let's, now, remaining, remains, todo, still need, going to, afterwards, "
        "теперь, далее, дальше, затем, потом, следующий, следующим, следующее, следующая, осталось, сейчас, буду, сделаю"
    ),
    "doing": (
        "working on, in progress, currently, in the middle, started, partially, half, "
        "работаю, в процессе, начал, начала, частично"
    ),
}
"""For each kind of sentence the words that mark it, English and Russian, separated by commas."""


@cache
def _index() -> dict[str, list[tuple[str, str]]]:
    """Every cue, with a space on either side, and its kind, under its first word; of one word ``""``, which stands everywhere."""
    index: dict[str, list[tuple[str, str]]] = {}
    for kind, phrases in _CUES.items():
        for phrase in phrases.split(", "):
            first, _, more = phrase.partition(" ")
            index.setdefault(first, []).append((f" {phrase} " if more else "", kind))
    return index


@cache
def _pattern(name: str) -> re.Pattern[str]:
    """The patterns of this module, compiled when first needed."""
    return re.compile(
        {
            "word": r"[^\W\d_]+(?:'[^\W\d_]+)?",
            "stop": r"\s(?<=[.!?…]\s)\s*",
            "identifier": (
                r"(?=[\da-fvA-Z])\b(?:[0-9a-f]{8}-[0-9a-f]{4}-|(?=[a-f]{0,39}[0-9])(?=[0-9]{0,39}[a-f])[0-9a-f]{7,40}\b"
                r"|v?\d{1,9}\.\d{1,9}\.\d{1,9}\b|[A-Z][A-Z0-9]{1,9}-\d{2,9}\b)|https?://\S{4}|#(?<!\w#)\d{1,9}\b"
                r"|№ ?\d|\d ?(?:₽|\$|€|%|руб|[KMG]i?B\b|ms\b)|\$ ?\d"
            ),
            "hint of one": r"\d|://",  # one or the other stands in each of them
            # in texts of small letters; each begins with a set of characters, by which the search skips all others
            "verdict": (
                r"[tbpfто](?<!\w.)(?:(?<=t)ests?:|(?<=b)uild (?:success|fail)"
                r"|(?<=p)assed\b|(?<=f)ailed\b|(?<=т)естов\b|(?<=о)шибок\b)"
            ),
            "count": r"\d(?<!\w\d)\d{0,8} (?:errors?|tests?|skipped|warnings?|problems?)\b",
            "bullet": r"(?:[-+•*]|#{1,6}|\d{1,3}[.)])\s+",
            # what begins a line of a pasted log or listing: times, prompts, brackets, stack frames
            "pasted": r"\d+[.:]\d|[^\w\s\"'«“„「『《¿¡№*`(/~.@-]"
            r"|at \w+[.(]|\d+[→|]|npm |drwx|-rw|\w*(?:Error|Exception|Warning):",
        }[name]
    )


_APART: Final = {code: " " for code in range(128) if not chr(code).isalpha()}
"""What stands between words of ASCII: without an apostrophe these need no pattern, which takes four times as long."""


def cues(sentence: str) -> frozenset[str]:
    """
    What a sentence is about: any of the keys of the cue table.

    >>> sorted(cues("We chose uuid because serial ids collide.")), sorted(cues("Не трогай миграции"))
    (['decision'], ['open', 'order'])
    """
    small = sentence.lower().replace("’", "'")
    words = small.translate(_APART).split() if small.isascii() and "'" not in small else _pattern("word").findall(small)
    index = _index()
    begun = index.keys() & words
    if not begun:
        return frozenset()
    spoken = f" {' '.join(words)} "
    return frozenset([kind for word in begun for phrase, kind in index[word] if phrase in spoken])


def identifies(sentence: str) -> bool:
    """
    Whether a sentence holds an address, a hash, a version, a ticket or a number with its unit.

    >>> identifies("see PAY-1203"), identifies("see below")
    (True, False)
    """
    return _pattern("hint of one").search(sentence) is not None and _pattern("identifier").search(sentence) is not None


def sentences(text: str) -> Iterator[str]:
    """
    The sentences of a text, each a slice of one line, without bullets.

    Fenced code, quotations and lines that look like pasted output are passed over.

    >>> list(sentences("Use uuid keys. Never int!\\n- keep src/a.py\\n```\\nx = 1\\n```"))
    ['Use uuid keys.', 'Never int!', 'keep src/a.py']
    """
    bullet, pasted, stop = map(_pattern, ("bullet", "pasted", "stop"))
    fenced = False
    for line in text.splitlines():
        bare = line.strip()
        if bare.startswith("```"):
            fenced = not fenced
        elif bare and not fenced:
            begun = None if bare[0].isalpha() else bullet.match(bare)
            rest = bare[begun.end() :] if begun else bare
            if pasted.match(rest):
                continue
            for sentence in map(shortened, stop.split(rest)):
                if sentence[:1].isalnum() or any(map(str.isalnum, sentence)):
                    yield sentence


# --- Outputs ---------------------------------------------------------------------------------------------------------


_VERDICTS: Final = ("passed", "failed", "test:", "tests:", "build ", "ошибок", "тестов")
"""What must stand in a text for it to be searched for a verdict."""

_COUNTED: Final = (" error", " test", " skipped", " warning", " problem")
"""What must stand behind a digit for a text to be searched for a count."""


def _lines(end: str) -> Iterator[str]:
    """The lines of the end of an output that say something, last first; an empty numbered line of a file does not."""
    for line in map(str.strip, reversed(end.splitlines())):
        if any(map(str.isalnum, line[:80])) and line[-1] not in "→|":
            yield line


def _end(line: str) -> str:
    """The end of a line, where in a long one the news is."""
    if len(line) <= LONGEST_CHARS:
        return line
    at = len(line) - LONGEST_CHARS
    space = line.find(" ", at, at + 80)
    return line[space + 1 if space >= 0 else at :]


def last_line(text: str) -> str:
    """
    The last line that says something, ``""`` if none does.

    >>> last_line("loading\\nTOTAL 17\\n}\\n")
    'TOTAL 17'
    """
    return _end(next(_lines(text[-_ENDS_CHARS:]), ""))


def notable_line(text: str) -> str:
    """
    The most notable line near the ends of an output, the last of several, totals last; ``""`` if there is none.

    >>> notable_line("0 errors, ValueError: no key"), notable_line("fine")
    ('0 errors, ValueError: no key', '')
    """
    for end in (text[-_ENDS_CHARS:], text[: min(_ENDS_CHARS, len(text) - _ENDS_CHARS)] if len(text) > _ENDS_CHARS else ""):
        lines = [(rank, end[start:stop].strip()) for rank, start, stop in find_signals(end)]
        if lines:
            return shortened(min(reversed(lines), key=lambda line: (is_total(line[1]), line[0]))[1])
    return ""


def decisive_line(text: str) -> str:
    """
    The line of an output that most likely decides: the last with totals, else the last that says something.

    >>> decisive_line("a.py ok\\n12 passed, 1 failed\\nsee log")
    '12 passed, 1 failed'
    """
    end = text[-_ENDS_CHARS:]
    if _counts(end):
        for line in filter(is_total, _lines(end)):
            return _end(line)
    return last_line(end)


def is_total(line: str) -> bool:
    """
    Whether a line counts what passed and failed.

    >>> is_total("12 passed, 1 failed"), is_total("E   AssertionError")
    (True, False)
    """
    return _counts(line[: 2 * LONGEST_CHARS])


def _counts(text: str) -> bool:
    """Whether *text* says how many passed or failed."""
    small = text.lower()
    if any(map(small.__contains__, _VERDICTS)) and _pattern("verdict").search(small) is not None:
        return True
    return any(_follows_digit(word, small) for word in _COUNTED if word in small) and _pattern("count").search(small) is not None


def _follows_digit(word: str, text: str) -> bool:
    """Whether a digit stands before *word* anywhere in *text*."""
    at = text.find(word)
    while at >= 0 and not text[at - 1 : at].isdecimal():
        at = text.find(word, at + 1)
    return at >= 0
