"""
Tools that say nearly the same.

What this is
    `near_duplicates`, which finds pairs of declared tools whose descriptions
    and parameters share most of their words.  A model has to choose between
    such tools, and every request pays for both.

Rules it obeys
    * Linear in the size of the declarations, however many there are: nothing
      is compared that has not met before.

How it works
    A declaration is the set of its words.  Of each set some minima under
    different hash functions are taken; sets that share most words share a pair
    of minima almost surely, and only the first of those that share one is
    compared in full.

What is not here
    What to do about it.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Sequence
from typing import Final

from attrs import frozen

from ..model import Json, Tool

__all__ = ["Likeness", "near_duplicates"]

LIKE_PERCENT: Final = 80
"""From which share of common words on two tools are called near-duplicates."""

_BANDS: Final = 16
_FEWEST_WORDS: Final = 4
_MOST_WORDS: Final = 2_000
_WORD: Final = re.compile(r"\w{1,40}")
_KEYWORDS: Final = frozenset({"name", "type", "required"})
_MASK: Final = 2**32 - 1
_SEED: Final = 7919
_SPREAD: Final = 0x9E3779B1  # odd, so multiplying by it loses nothing modulo 2**32


@frozen
class Likeness:
    """Two tools by name, and how many of their words they share, in per cent."""

    one: str
    other: str
    percent: int


def near_duplicates(tools: Sequence[Tool]) -> tuple[Likeness, ...]:
    """
    Pairs of tools that say nearly the same, each tool with the first that it is like.

    >>> schema = {"type": "object", "properties": {"path": {"type": "string"}, "offset": {"type": "integer"}}}
    >>> near_duplicates([
    ...     Tool("read", {"name": "read", "description": "Read a file from the disk.", "input_schema": schema}),
    ...     Tool("cat", {"name": "cat", "description": "Read a file from disk.", "input_schema": schema}),
    ...     Tool("ls", {"name": "ls", "description": "List the entries of a directory by name."}),
    ... ])
    (Likeness(one='read', other='cat', percent=87),)
    """
    first: dict[tuple[int, int, int], int] = {}
    words = [_words(tool) for tool in tools]
    found = []
    for place, said in enumerate(words):
        if len(said) < _FEWEST_WORDS:
            continue
        met = {first.setdefault(band, place) for band in _bands(said)} - {place}
        likest = max(met, key=lambda earlier: (_percent(said, words[earlier]), -earlier), default=None)
        if likest is not None and _percent(said, words[likest]) >= LIKE_PERCENT:
            found.append(Likeness(tools[likest].name, tools[place].name, _percent(said, words[likest])))
    return tuple(found)


def _percent(one: frozenset[str], other: frozenset[str]) -> int:
    return 100 * len(one & other) // len(one | other)


def _bands(words: frozenset[str]) -> Iterator[tuple[int, int, int]]:
    """Pairs of minima; two sets share a pair with the square of the probability that two words are the same."""
    hashes = [zlib.crc32(word.encode("utf-8", "surrogatepass")) for word in words]
    for band in range(_BANDS):
        yield band, _least(hashes, 2 * band + 1), _least(hashes, 2 * band + 2)


def _least(hashes: list[int], seed: int) -> int:
    """The minimum under the hash function number *seed*."""
    return min(((value ^ seed * _SEED) * _SPREAD) & _MASK for value in hashes)


def _words(tool: Tool) -> frozenset[str]:
    """What a declaration says: its texts and the names of its parameters, without its own name and the words of JSON Schema."""
    said: set[str] = set()
    stack: list[tuple[Json, bool]] = [(tool.value, False)]
    while stack and len(said) < _MOST_WORDS:
        value, are_names = stack.pop()
        if isinstance(value, str):
            said.update(word.lower() for word in _WORD.findall(value[:20_000]))
        elif isinstance(value, list):
            stack.extend((item, False) for item in value)
        elif isinstance(value, dict):
            if are_names:
                said.update(key.lower() for key in value)
            below = value.items() if are_names else ((key, item) for key, item in value.items() if key not in _KEYWORDS)
            stack.extend((item, key == "properties") for key, item in below)
    return frozenset(said)
