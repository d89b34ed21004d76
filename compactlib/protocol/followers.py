"""
Reasoning items of the Responses API, and what must follow them.

Rules R-REAS-01, R-REAS-02, R-STORE-01, R-ENC-01 and R-ENC-02, and law L5.  A
stored item is known to the provider by its id, together with what stood before
and behind it.  So reasoning with an id wants its follower, and where items are
stored (``store`` is not false) it does not take a message without an id for
one.  Outputs may stand between.  What no request shows, what was returned, is
compared where the caller says it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ..model import Call, Message, Opaque, Reasoning
from .reader import Reader
from .violation import Violation, quote

__all__ = ["TEXT_CHARS", "Followers"]

TEXT_CHARS: Final = 10_485_760
"""How long one string may be."""

_O_SERIES: Final = ("o1", "o3", "o4")


class Followers:
    """
    What a reader remembers of reasoning.

    Args:
        reader: whose it is.
        ids: the ids of items that were met; the reader fills it.
        lax: the case of routes that are not OpenAI's own, or ``None``.
        stores: whether the provider stores items.

    Attributes:
        waiting: (index, id) of reasoning that nothing follows yet.
    """

    __slots__ = ("_ids", "_lax", "_loose", "_reader", "_stores", "waiting")

    def __init__(self, reader: Reader, ids: Mapping[str, int], *, lax: str | None, stores: bool) -> None:
        self._reader: Final = reader
        self._ids: Final = ids
        self._lax: Final = lax
        self._stores: Final = stores
        self._loose: Final = lax or ("o-series" if reader.around.model.startswith(_O_SERIES) else None)
        self.waiting: tuple[int, str | None] | None = None

    def meet(self, block: Reasoning) -> None:
        """A reasoning item."""
        key = block.wire.get("id")
        self.waiting = self._reader.index, key if isinstance(key, str) else None
        if block.seal is None:
            if isinstance(key, str) and not self._stores:
                self.is_lost(f"the reasoning {quote(key)} is named by its id alone, without its encrypted content")
        elif len(block.seal) > TEXT_CHARS:
            self.long_seal(block.seal, None)

    def follow(self, message: Message) -> None:
        """A message of the model's; any other item of it is a follower without more ado."""
        if self.waiting is None:
            return
        (index, key), self.waiting = self.waiting, None
        if key is not None and self._stores and not isinstance(message.wire.get("id"), str):
            words = f"the message behind the reasoning {quote(key)} has no id, by which the provider would know it"
            reader = self._reader
            reader.found.append(reader.violation("R-REAS-01", index, "", words, "the message with its id", case=self._loose))

    def end(self) -> None:
        """Somebody else speaks, so the response is over."""
        self._reader.found += self.ending()
        self.waiting = None

    def ending(self) -> list[Violation]:
        """What it would break if the response ended here."""
        if self.waiting is None:
            return []
        index, key = self.waiting
        words = f"the reasoning {'without an id' if key is None else quote(key)} is followed by no item of its response"
        case = self._lax or ("without-id" if key is None else None)
        expected = "the item it was returned with, or neither"
        return [self._reader.violation("R-REAS-01", index, "", words, expected, case=case)]

    def is_lost(self, words: str) -> None:
        """R-STORE-01: something is named that nobody keeps."""
        self._reader.report("R-STORE-01", "", f"{words}, and store is false", "the item itself, or none", case=self._lax)

    def long_seal(self, seal: str, case: str | None) -> None:
        """R-ENC-02: encrypted content is too long."""
        words = f"the encrypted content has {len(seal):,} characters"
        self._reader.report("R-ENC-02", "/encrypted_content", words, f"at most {TEXT_CHARS:,}", case=case)

    def compare(self, message: Message) -> None:
        """L5: what is sealed reads as it was returned, and an item that goes by its id has its reasoning before it."""
        reader = self._reader
        returned = reader.around.original.get(reader.index)
        if not isinstance(returned, list):
            return
        key, seal = _id_and_seal(message)
        before = None  # the reasoning that stood before the item
        for item in returned:
            if not isinstance(item, dict):
                continue
            if key is not None and item.get("id") == key:
                if seal is not None and item.get("encrypted_content") not in (None, seal):
                    words = f"the encrypted content of {quote(key)} is not as it was returned"
                    reader.report("R-ENC-01", "/encrypted_content", words, "it as it was returned")
                if isinstance(before, str) and before not in self._ids and self._stores:
                    words = f"the item {quote(key)} is sent without the reasoning {quote(before)} of its response"
                    reader.report("R-REAS-02", "/id", words, "the reasoning before it, or the item without its id")
                return
            if item.get("type") == "reasoning":
                before = item.get("id")


def _id_and_seal(message: Message) -> tuple[str | None, str | None]:
    """The id of an item and its encrypted content, as far as it has them."""
    block = message.content[0] if message.content and message.wire.form == "item" else ""
    if isinstance(block, Opaque) and isinstance(block.value, dict):
        key, seal = block.value.get("id"), block.value.get("encrypted_content")
    elif isinstance(block, Reasoning):
        key, seal = block.wire.get("id"), block.seal
    elif isinstance(block, Call):
        key, seal = block.wire.get("id") if block.is_client else block.id, None
    else:
        key, seal = message.wire.get("id"), None
    return (key if isinstance(key, str) else None), (seal if isinstance(seal, str) else None)
