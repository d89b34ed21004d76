"""
How many tokens a text is, without a tokenizer.

What this is
    `estimate` is the offline counter: what OpenAI's o200k vocabulary makes of
    a text, give or take.  `counter_for` gives counters for families of models,
    each a little dear: to count too little overflows a window, to count too
    much only compacts a little early.

Rules it obeys
    * No text is free.
    * Law L16: a function of the text alone.  Lone surrogates and control
      characters have prices like everything else.
    * Linear time; for a long text a small part of what `str.split` takes.

How it works
    *Prices.*  A vocabulary made by byte-pair encoding holds what is frequent:
    a common word is one token, a rare letter breaks its word into pieces.  So
    every byte of the UTF-8 form has a price by its class, in hundredths of a
    token, and a text costs the sum.  The first byte of a character beyond ASCII
    tells the script and carries the price of the character; the bytes after it
    are free.

    *Rebate.*  The price of a small letter or a digit is that of the first in a
    word or number.  Each one directly after another of its sort is cheaper by
    the rebate: most of a word is its beginning.  Short texts, and those in
    other scripts, get the usual part of the rebate without a look at neighbours.

    *Two readings.*  Among words a number is dear, for dates and sizes are many
    small tokens.  In columns of figures, in hex and in base64 the characters
    share tokens.  So there is a second price list, "as figures", without
    rebate, and the cheaper reading counts.

    *The sums.*  The lower half of an Adler-32 checksum is the sum of the bytes
    modulo 65,521: translate each byte to its price, take the checksum of no
    more of them than can stay below the modulus, and the sum is made in C.
    Neighbours of one sort are counted as bits: give each sort a bit, read the
    bytes as one long integer, and look where it agrees with itself shifted by
    one byte.

    *Samples.*  Of a long text the first kilobyte is read whole, and of the rest
    short windows at even distances.

What is not here
    Messages, media, other blocks: `counting` and `media`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import gcd
from typing import Final, TypeAlias
from zlib import adler32

from ..arguments import need, shown
from ..errors import PolicyError

__all__ = ["FAMILIES", "Counter", "counter_for", "estimate", "unwrapped"]

Counter: TypeAlias = Callable[[str], int]
"""
Counts the tokens of one text.

Any callable will do.  It is asked for one block at a time and the answers are
added up; the joined text of a conversation is never counted, because what a
byte-pair encoding makes of two texts is not what it makes of both together.
"""

Prices: TypeAlias = Mapping[str, tuple[bytes, tuple[int, ...]]]
"""By class: its bytes, and the price in hundredths of a token for each column, a family with something to measure against."""

_DIGITS: Final = b"0123456789"
_LETTERS: Final = bytes({*range(65, 91), *range(97, 123)})
_OTHERS: Final = bytes({*range(128)} - {*_DIGITS} - {*_LETTERS})

# The first reading, the rebate that goes with it, and the second reading.
# fmt: off
AS_WORDS: Final[Prices] = {
    #                             bytes                               openai anthropic deepseek qwen llama
    "space":                     (b" ",                              (   8,    8,    4,    8,    8)),
    "newline":                   (b"\n",                             ( 108,  160,  128,  108,  108)),
    "tab":                       (b"\t",                             (  40,   40,   32,   32,   32)),
    "other control":             (bytes({*range(32), 127} - {9, 10}), (  40,   60,   40,   40,   40)),
    "digit":                     (_DIGITS,                           ( 132,  156,  124,  184,  136)),
    "frequent letter":           (b"aeilnorst",                      (  68,   72,   68,   68,   68)),
    "letter":                    (b"bcdfghkmpuwy",                   (  76,   88,   80,   76,   76)),
    "rare letter":               (b"jqvxz",                          ( 180,  192,  192,  184,  180)),
    "capital":                   (b"ACDEGHILMNOPRSTUW",              (  20,   84,   24,   12,   16)),
    "rare capital":              (b"BFJKQVXYZ",                      ( 104,  192,  104,  156,  136)),
    "light punctuation":         (b"&()*,/:;=@^`{}~",                (  20,   56,   28,   20,   16)),
    "punctuation":               (b"\"'<>[].-_+#?!",                 (  56,   84,   52,   48,   52)),
    "heavy punctuation":         (b"$%\\|",                          ( 132,  164,  156,  124,  124)),
    "continuation":              (bytes(range(0x80, 0xC2)),          (   0,    0,    0,    0,    0)),
    "Latin beyond ASCII, Greek": (bytes(range(0xC2, 0xD0)),          (  96,  112,  156,  148,  156)),
    "Cyrillic":                  (bytes(range(0xD0, 0xD4)),          (  28,   60,   32,   36,   32)),
    "Hebrew, Arabic":            (bytes(range(0xD4, 0xE0)),          (  60,  100,   60,   60,   60)),
    "Indic, Thai, Georgian":     (b"\xe0\xe1",                       (  48,  100,   48,   48,   48)),
    "signs, wide forms":         (b"\xe2\xee\xef",                   (  88,  120,   88,   88,   88)),
    "kana":                      (b"\xe3",                           (  72,   84,   68,   64,   68)),
    "Han":                       (bytes(range(0xE4, 0xEA)),          (  80,  112,   60,   68,   76)),
    "Hangul":                    (bytes(range(0xEA, 0xEE)),          (  72,  136,   84,   80,   72)),
    "emoji and beyond":          (bytes(range(0xF0, 0x100)),         ( 160,  160,  160,  160,  160)),
}
REBATE: Final =                                                     (  64,   60,   64,   64,   64)
AS_FIGURES: Final[Prices] = {
    "digit":                     (_DIGITS,                           (  48,   48,   48,  104,   52)),
    "letter":                    (_LETTERS,                          (  76,  104,   76,   72,   76)),
    "other ASCII":               (_OTHERS,                           (  60,   56,   60,   60,   56)),
    "each byte beyond ASCII":    (bytes(range(0x80, 0x100)),         (  64,   64,   64,   64,   64)),
}
# fmt: on

SORTS: Final = bytes(1 if 97 <= byte < 123 else 2 if 48 <= byte < 58 else 0 for byte in range(256))
"""A bit for small letters, one for digits."""

_UNIT: Final = 4
"""Every price is a multiple of it: the smaller the numbers, the more of them one checksum adds."""

_HIGHEST: Final = 192
_CHUNK: Final = 65_520 * _UNIT // _HIGHEST
"""So many bytes at the highest price stay below the modulus of Adler-32."""

_SHORT_CHARS: Final = 512
"""Up to here, and where other scripts prevail, to look at neighbours costs more time than it is worth."""

_WHOLE_CHARS: Final = 1_024
_WINDOW_CHARS: Final = 64
_STRIDE_CHARS: Final = 251  # prime, so that the windows do not keep step with the rows of a table
_WINDOWS: Final = 256
"""From so many windows on they grow no more in number, only in distance."""

_UNMEASURED: Final = (0, 2, 3, 4)

FAMILIES: Final[Mapping[str, tuple[tuple[int, ...], int]]] = {
    "openai": ((0,), 105),
    "anthropic": ((1,), 100),
    "deepseek": ((2,), 105),
    "qwen": ((3,), 105),
    "llama": ((4,), 105),
    "gemini": (_UNMEASURED, 105),
    "mistral": (_UNMEASURED, 105),
    "generic": (_UNMEASURED, 110),
}
"""
For each family of models its columns in the tables, and what is charged, in per cent.

Of several columns the dearest price of each class is taken: so one counts for a
vocabulary that nobody has offline, and for a model that is not known.
"""


def _table(prices: Prices, columns: Sequence[int]) -> bytes:
    """The price of each byte in units, the dearest of *columns*."""
    table = bytearray(256)
    for letters, row in prices.values():
        for letter in letters:
            table[letter] = max(row[column] for column in columns) // _UNIT
    return bytes(table)


def _sum(prices: bytes) -> int:
    if len(prices) <= _CHUNK:
        return adler32(prices, 0) & 0xFFFF
    return sum([adler32(prices[at : at + _CHUNK], 0) & 0xFFFF for at in range(0, len(prices), _CHUNK)])


def _flattened(words: bytes, rebate: int) -> bytes:
    """The prices of a text where neighbours are not looked at: with the part of the rebate that is usual."""
    table = bytearray(words)
    for byte, sort in enumerate(SORTS):
        if sort:
            table[byte] -= rebate * 4 // 5 if sort == 1 else rebate // 2
    return bytes(table)


def _counter(columns: Sequence[int], per_cent: int) -> Counter:
    """A counter by the dearest prices of *columns*.  What it needs is at hand as local names, for it is asked very often."""
    words, figures = _table(AS_WORDS, columns), _table(AS_FIGURES, columns)
    rebate = min(REBATE[column] for column in columns) // _UNIT
    flat = _flattened(words, rebate)
    least = min(figures)
    shared = gcd(per_cent, 100 * 100 // _UNIT)
    charged, one = per_cent // shared, 100 * 100 // _UNIT // shared  # what a unit of price comes to, and a token
    almost_one = one - 1  # added, so that the division rounds up
    from_bytes = int.from_bytes

    def read(text: str) -> int:
        """What all of *text* costs, in units."""
        try:
            data = text.encode()
        except UnicodeEncodeError:
            data = text.encode("utf-8", "surrogatepass")
        if len(data) - len(text) <= len(text) >> 3:  # mostly ASCII
            sorts = from_bytes(data.translate(SORTS), "little")
            cost = _sum(data.translate(words)) - rebate * (sorts & sorts >> 8).bit_count()
        else:
            cost = _sum(data.translate(flat))
        if cost > least * len(data):  # else the second reading cannot be the cheaper one
            return min(cost, _sum(data.translate(figures)))
        return cost

    def read_samples(text: str) -> int:
        """What a long *text* costs, in units, judged by its beginning and by windows of the rest."""
        length = len(text)
        stride = max(_STRIDE_CHARS, length // _WINDOWS)
        windows = "".join([text[at : at + _WINDOW_CHARS] for at in range(_WHOLE_CHARS, length, stride)])
        return read(text[:_WHOLE_CHARS]) + read(windows) * (length - _WHOLE_CHARS) // len(windows)

    def count(text: str) -> int:
        try:  # which costs nothing; to look at every text first would be felt
            if len(text) > _SHORT_CHARS:
                cost = read(text) if len(text) <= _WHOLE_CHARS else read_samples(text)
            else:  # most texts: all in one place, for to call a function takes as long as to add the prices up
                try:
                    data = text.encode()
                except UnicodeEncodeError:
                    data = text.encode("utf-8", "surrogatepass")
                prices = data.translate(flat)
                length = len(prices)
                cost = adler32(prices, 0) & 0xFFFF if length <= _CHUNK else _sum(prices)
                if cost > least * length:
                    cost = min(cost, _sum(data.translate(figures)))
        except (AttributeError, TypeError):
            raise PolicyError("text", f"a text, not {shown(text)}") from None
        return (cost * charged + almost_one) // one

    return count


_COUNTERS: Final[dict[str, Counter]] = {}


def counter_for(family: str) -> Counter:
    """
    A counter for a family of models, with a bias to over-count.

    `openai`, `deepseek`, `qwen` and `llama` are fitted to their vocabularies
    and charged 5 % more.  `anthropic` is fitted to what is known of its dearest
    generation, which makes a quarter more tokens than the ones before; it keeps
    to 3 to 4 characters a token in English prose and 1 to 2 in Russian.
    `gemini` and `mistral`, with no vocabulary to measure, take for each class
    the dearest price of those four and charge 5 % more; `generic`, for a
    model that is not known, 10 %.

    The same counter comes back for the same family.

    Raises:
        PolicyError: *family* is none of `FAMILIES`.

    >>> text = "The tests pass; the timeout was too short for the slow path."
    >>> {family: counter_for(family)(text) for family in ("openai", "anthropic", "generic")}
    {'openai': 13, 'anthropic': 17, 'generic': 14}
    """
    need("family", family, str, "the name of a family")
    known = _COUNTERS.get(family)
    if known is None:
        if family not in FAMILIES:
            raise PolicyError("family", f"{shown(family)} is none of {', '.join(sorted(FAMILIES))}")
        known = _COUNTERS[family] = _counter(*FAMILIES[family])
    return known


_estimate: Final = _counter((0,), 100)


def estimate(text: str) -> int:
    """
    The tokens of a text by the measure of o200k, as near as can be told without its vocabulary.

    Chapter 52 of the specification says how near: a median error of about 5 %
    over prose, code, JSON, logs and tool output in several scripts.

    Raises:
        PolicyError: *text* is none; so do the counters of `counter_for`.

    >>> estimate("The tests pass now."), estimate("Тесты проходят."), estimate("")
    (5, 5, 0)
    """
    return _estimate(text)


def unwrapped(counter: Counter) -> Counter | None:
    """*counter* without any wrapping if it is one of ours, which keep their word; else ``None``."""
    if counter is estimate or counter is _estimate:
        return _estimate
    return counter if any(counter is own for own in _COUNTERS.values()) else None
