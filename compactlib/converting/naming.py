"""
Ids and names in another provider's language.

What this is
    The languages of call ids and of tool names, one row a dialect, and
    `Names`, which maps what a conversation uses into one of them.

Rules it obeys
    * What is legal already stays as it is.
    * Injective: two names never become one, whatever they look like.
    * Law L16.  A new name is a function of the old one; only where it is taken
      already by a name that came earlier does it depend on that.  So it does
      not change when the conversation grows, and a cached prefix stays good.

How it works
    ``functions.ls:0`` becomes ``functions_ls_0_`` and eight digits of a hash;
    at Mistral, whose ids are nine letters and digits, a hash alone.

What is not here
    Which call a result belongs to: `batches`, by position.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Final

from attrs import frozen

__all__ = ["ANY", "IDS", "NAMES", "Language", "Names"]


@frozen
class Language:
    """
    What ids, or names, may look like.

    Attributes:
        legal: matches the whole of each of them.
        other: one character that stands in no new one.
        kept_chars: how much of the old one is kept before the hash.
        hash_chars: how long the hash is.
        digits: what the hash is written with.
        is_once: whether each may be used once only in a conversation.
    """

    legal: re.Pattern[str]
    other: re.Pattern[str] = re.compile(r"[^a-zA-Z0-9_-]")
    kept_chars: int = 31
    hash_chars: int = 8
    digits: str = "0123456789abcdef"
    is_once: bool = False


_BASE62: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

ANY: Final = Language(re.compile(r".*", re.DOTALL))
"""The language of names that stay as they are."""

IDS: Final[Mapping[str, Language]] = {
    "anthropic": Language(re.compile(r"[a-zA-Z0-9_-]{1,64}")),
    "openai-chat": Language(re.compile(r".{1,40}", re.DOTALL)),
    "openai-responses": Language(re.compile(r".{1,64}", re.DOTALL), is_once=True),  # rule R-PAIR-04
    "gemini": Language(re.compile(r".{1,64}", re.DOTALL)),
    "bedrock": Language(re.compile(r"[a-zA-Z0-9_.:-]{1,64}")),
    "mistral": Language(re.compile(r"[a-zA-Z0-9]{9}"), kept_chars=0, hash_chars=9, digits=_BASE62),
}
"""The languages of call ids; where only a length is laid down, every character will do."""

_WORD: Final = Language(re.compile(r"[a-zA-Z0-9_-]{1,64}"))
NAMES: Final[Mapping[str, Language]] = {
    "anthropic": _WORD,
    "openai-chat": _WORD,
    "openai-responses": _WORD,
    "gemini": Language(re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}")),
    "bedrock": _WORD,
    "mistral": _WORD,
}
"""The languages of tool names."""

_EMPTY: Final = "call"


class Names:
    """
    A map into a language, made as names come along.

    >>> names = Names(IDS["bedrock"])
    >>> names.of("toolu_1"), names.of("functions.ls:0"), names.of("a b")
    ('toolu_1', 'functions.ls:0', 'a_b_e862b113')
    >>> names.changed
    (('a b', 'a_b_e862b113'),)
    """

    __slots__ = ("_known", "_language", "_taken", "_unnamed", "_uses")

    def __init__(self, language: Language) -> None:
        self._language: Final = language
        self._known: dict[str, str] = {}
        self._taken: set[str] = set()
        self._uses: dict[str, int] = {}
        self._unnamed: list[tuple[str, str]] = []

    def of(self, old: str) -> str:
        """What *old* is called in the language."""
        known = self._known.get(old)
        if known is not None:
            return known
        if old not in self._taken and self._language.legal.fullmatch(old):
            made = old
            self._taken.add(old)
        else:
            made = self._mint(old, old)
        self._known[old] = made
        return made

    def once(self, old: str) -> str:
        """What the next thing that is called *old* is called; another name each time, where the language demands that."""
        number = self._uses[old] = self._uses.get(old, -1) + 1
        return self.fresh(old, number) if number and self._language.is_once else self.of(old)

    def fresh(self, word: str, number: int) -> str:
        """A name for the *number*-th thing that is a *word*, and has no name of its own."""
        made = self._mint(word, f"{word}\n{number}\n")
        self._unnamed.append((word, made))
        return made

    @property
    def changed(self) -> tuple[tuple[str, str], ...]:
        """What is called otherwise now, as (old, new), in the order of its appearance."""
        renamed = [(old, new) for old, new in self._known.items() if old != new]
        return (*renamed, *self._unnamed)

    def _mint(self, old: str, seed: str) -> str:
        language = self._language
        kept = ""
        if language.kept_chars:
            kept = language.other.sub("_", old[: language.kept_chars]) or _EMPTY
            kept = f"{kept if not kept[0].isdecimal() and kept[0] != '-' else '_' + kept[1:]}_"
        attempt = 0
        while True:
            digest = hashlib.sha256(f"{seed}\n{attempt}".encode("utf-8", "surrogatepass")).digest()
            made = kept + _spell(int.from_bytes(digest, "big"), language)
            if made not in self._taken:
                self._taken.add(made)
                return made
            attempt += 1


def _spell(number: int, language: Language) -> str:
    base = len(language.digits)
    spelled = ""
    for _ in range(language.hash_chars):
        number, rest = divmod(number, base)
        spelled += language.digits[rest]
    return spelled
