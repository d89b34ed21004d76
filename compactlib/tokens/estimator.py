"""
How many tokens a text is, without a tokenizer.

What this is
    `estimate` is the offline counter: what OpenAI's o200k vocabulary makes of
    a text, give or take.  `counter_for` gives counters for families of models,
    each a little dear: to count too little overflows a window, to count too
    much only compacts a little early.

Rules it obeys
    * No text is free, and up to `_WHOLE_CHARS` a longer text never costs less.
    * Law L16: a function of the text alone.  Lone surrogates and control
      characters have prices like everything else.
    * Linear time; for a long text a small part of what `str.split` takes.

How it works
    *Prices.*  A vocabulary made by byte-pair encoding holds what is frequent:
    a common letter is usually swallowed by the word around it, a rare one
    breaks the word into pieces.  So every byte of the UTF-8 form has a price by
    its class, in hundredths of a token, and a text costs the sum.  The first
    byte of a character beyond ASCII tells the script and carries the price of
    the character; the bytes after it are free.

    *Two readings.*  Among words a digit is dear, for dates and sizes are many
    small tokens.  In columns of figures, in hex and in base64 the digits share
    tokens by threes.  So there are two price lists, "as words" and "as
    figures", and the cheaper reading counts.

    *The sum.*  The lower half of an Adler-32 checksum is the sum of the bytes
    modulo 65,521.  Translate each byte to its price, take the checksum of no
    more of them than can stay below the modulus, and the sum is made in C.

    *Samples.*  Of a long text the first kilobyte is read whole, and of the rest
    short windows at even distances.

What is not here
    Messages, media, other blocks: `counting` and `media`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias
from zlib import adler32

from ..errors import PolicyError

__all__ = ["FAMILIES", "Counter", "counter_for", "estimate"]

Counter: TypeAlias = Callable[[str], int]
"""
Counts the tokens of one text.

Any callable will do.  It is asked for one block at a time and the answers are
added up; the joined text of a conversation is never counted, because what a
byte-pair encoding makes of two texts is not what it makes of both together.
"""

Prices: TypeAlias = Mapping[str, tuple[bytes, tuple[int, ...]]]
"""By class: its bytes, and for each of `_MEASURED` the price in hundredths of a token."""

_DIGITS: Final = b"0123456789"
_LETTERS: Final = bytes({*range(65, 91), *range(97, 123)})
_OTHERS: Final = bytes({*range(128)} - {*_DIGITS} - {*_LETTERS})

_MEASURED: Final = ("openai", "anthropic", "deepseek", "qwen", "llama")
"""Families with a vocabulary, or the reconstruction of one, to fit prices to: the columns of the tables."""

# fmt: off
_AS_WORDS: Final[Prices] = {
    #                             bytes                               openai  anthr. deeps.  qwen  llama
    "space":                     (b" ",                              (   4,      8,     8,     8,     8)),
    "newline":                   (b"\n",                             ( 148,    132,   124,   136,   136)),
    "tab":                       (b"\t",                             (  36,     40,    32,    32,    32)),
    "other control":             (bytes({*range(32), 127} - {9, 10}), ( 40,     60,    40,    40,    40)),
    "digit":                     (_DIGITS,                           ( 112,    140,   100,   160,   116)),
    "frequent letter":           (b"aeilnorst",                      (  12,     16,     8,    12,     8)),
    "letter":                    (b"bcdfghkmpuwy",                   (  32,     60,    44,    32,    40)),
    "rare letter":               (b"jqvxz",                          ( 160,    160,   160,   160,   160)),
    "capital":                   (b"ACDEGHILMNOPRSTUW",              (  20,     92,    28,    20,    20)),
    "rare capital":              (b"BFJKQVXYZ",                      ( 160,    160,   156,   160,   160)),
    "light punctuation":         (b"&()*,/:;=@^`{}~",                (  16,     68,    32,    20,    24)),
    "punctuation":               (b"\"'<>[].-_+#?!",                 (  52,     84,    52,    48,    44)),
    "heavy punctuation":         (b"$%\\|",                          ( 160,    160,   152,   128,   136)),
    "continuation":              (bytes(range(0x80, 0xC2)),          (   0,      0,     0,     0,     0)),
    "Latin beyond ASCII, Greek": (bytes(range(0xC2, 0xD0)),          ( 104,    152,   160,   160,   160)),
    "Cyrillic":                  (bytes(range(0xD0, 0xD4)),          (  28,     52,    32,    36,    32)),
    "Hebrew, Arabic":            (bytes(range(0xD4, 0xE0)),          (  60,    100,    60,    60,    60)),
    "Indic, Thai, Georgian":     (b"\xe0\xe1",                       (  48,    100,    48,    48,    48)),
    "signs, wide forms":         (b"\xe2\xee\xef",                   (  88,    120,    88,    88,    88)),
    "kana":                      (b"\xe3",                           (  72,     84,    68,    68,    68)),
    "Han":                       (bytes(range(0xE4, 0xEA)),          (  76,    116,    60,    64,    76)),
    "Hangul":                    (bytes(range(0xEA, 0xEE)),          (  68,    136,    80,    80,    72)),
    "emoji and beyond":          (bytes(range(0xF0, 0x100)),         ( 160,    160,   160,   160,   160)),
}
_AS_FIGURES: Final[Prices] = {
    "digit":                     (_DIGITS,                           (  52,     56,    60,   112,    48)),
    "letter":                    (_LETTERS,                          (  72,    104,    76,    68,    80)),
    "other ASCII":               (_OTHERS,                           (  56,     48,    48,    44,    60)),
    "each byte beyond ASCII":    (bytes(range(0x80, 0x100)),         (  64,     64,    64,    64,    64)),
}
# fmt: on

_UNIT: Final = 4
"""Every price is a multiple of it: the smaller the numbers, the more of them one checksum adds."""

_CHUNK: Final = 65_520 * _UNIT // 160
"""So many bytes at the highest price stay below the modulus of Adler-32."""

_WHOLE_CHARS: Final = 1_024
_WINDOW_CHARS: Final = 64
_STRIDE_CHARS: Final = 251  # prime, so that the windows do not keep step with the rows of a table
_WINDOWS: Final = 256
"""From so many windows on they grow no more in number, only in distance."""

_UNMEASURED: Final = tuple(column for column, family in enumerate(_MEASURED) if family != "anthropic")

FAMILIES: Final[Mapping[str, tuple[tuple[int, ...], int]]] = {
    **{family: ((column,), 105) for column, family in enumerate(_MEASURED)},
    "gemini": (_UNMEASURED, 105),
    "mistral": (_UNMEASURED, 105),
    "generic": (_UNMEASURED, 110),
}
"""
For each family of models the columns of the tables, and what is charged, in per cent.

Of several columns the dearest price of each class is taken: that is the way to
count for a vocabulary that nobody has offline, and for a model that is not known.
"""


def _table(prices: Prices, columns: Sequence[int]) -> bytes:
    """The price of each byte, in units."""
    table = bytearray(256)
    for letters, row in prices.values():
        for letter in letters:
            table[letter] = max(row[column] for column in columns) // _UNIT
    return bytes(table)


def _sum(prices: bytes) -> int:
    if len(prices) <= _CHUNK:
        return adler32(prices, 0) & 0xFFFF
    return sum([adler32(prices[at : at + _CHUNK], 0) & 0xFFFF for at in range(0, len(prices), _CHUNK)])


def _read(text: str, words: bytes, figures: bytes, least: int) -> int:
    """What *text* costs, in units; *least* is the lowest price in *figures*."""
    try:
        data = text.encode()
    except UnicodeEncodeError:
        data = text.encode("utf-8", "surrogatepass")
    cost = _sum(data.translate(words))
    if cost > least * len(data):  # else the second reading cannot be the cheaper one
        return min(cost, _sum(data.translate(figures)))
    return cost


def _read_samples(text: str, words: bytes, figures: bytes, least: int) -> int:
    """What a long *text* costs, in units, judged by its beginning and by windows of the rest."""
    length = len(text)
    stride = max(_STRIDE_CHARS, length // _WINDOWS)
    windows = "".join([text[at : at + _WINDOW_CHARS] for at in range(_WHOLE_CHARS, length, stride)])
    head = _read(text[:_WHOLE_CHARS], words, figures, least)
    return head + _read(windows, words, figures, least) * (length - _WHOLE_CHARS) // len(windows)


def _counter(columns: Sequence[int], per_cent: int) -> Counter:
    words, figures = _table(_AS_WORDS, columns), _table(_AS_FIGURES, columns)
    least = min(figures)
    per_token = 100 * 100 // _UNIT

    def count(text: str) -> int:
        read = _read if len(text) <= _WHOLE_CHARS else _read_samples
        return -(-read(text, words, figures, least) * per_cent // per_token)

    return count


_OWN: Final[dict[str, Counter]] = {}


def counter_for(family: str) -> Counter:
    """
    A counter for a family of models, with a bias to over-count.

    `openai`, `deepseek`, `qwen` and `llama` are fitted to their vocabularies,
    `anthropic` to a reconstruction of its own from published counts; all are
    then charged 5 % more.  `gemini` and `mistral`, whose vocabularies are not
    to be had offline, take for each class the dearest price of the others, and
    `generic`, for a model that is not known, charges 10 % more on top.

    The same counter comes back for the same family.

    Raises:
        PolicyError: *family* is none of `FAMILIES`.

    >>> text = "The tests pass; the timeout was too short for the slow path."
    >>> {family: counter_for(family)(text) for family in ("openai", "anthropic", "generic")}
    {'openai': 15, 'anthropic': 20, 'generic': 20}
    """
    known = _OWN.get(family)
    if known is None:
        if family not in FAMILIES:
            raise PolicyError("family", f"{family!r} is none of {', '.join(sorted(FAMILIES))}")
        known = _OWN[family] = _counter(*FAMILIES[family])
    return known


_WORDS: Final = _table(_AS_WORDS, (0,))
_FIGURES: Final = _table(_AS_FIGURES, (0,))
_LEAST: Final = min(_FIGURES)


def estimate(text: str) -> int:
    """
    The tokens of a text by the measure of o200k, as near as can be told without its vocabulary.

    Chapter 50 of the specification says how near: a median error of about 5 %
    over prose, code, JSON, logs and tool output in several scripts.

    >>> estimate("The tests pass now."), estimate("Тесты проходят."), estimate("")
    (5, 5, 0)
    """
    read = _read if len(text) <= _WHOLE_CHARS else _read_samples
    return -(-read(text, _WORDS, _FIGURES, _LEAST) * _UNIT // 100)
