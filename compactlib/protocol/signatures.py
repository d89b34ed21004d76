"""
Thought signatures in a Gemini conversation: there, unaltered, in their places.

Rules G-SIG-01, G-SIG-02 and G-BATCH-01, and law L5.  What counts is the
*current turn*: everything behind the last text of the user's, whoever wrote it.
There each *step*, a turn of the model's with calls, has a signature on its first
call, from Gemini 3 on; calls beside it have none.  A call without, alone and
directly behind a signed step, looks like a batch that was torn into steps.

Whether a signature is the one that came with its part can only be told where
the caller says what was returned.  Google documents one for calls that come
from elsewhere (`SENTINEL`), which is always in order.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from ..model import Block, Call, Json, Message, Opaque, Reasoning, Text
from .reader import PLACE_BITS, Reader
from .violation import Violation, quote

__all__ = ["LONE", "SENTINEL", "SENTINELS", "SIGNATURES", "Signatures", "signed", "signed_json"]

SENTINEL: Final = "skip_thought_signature_validator"
"""What stands in place of a signature that never was, or was lost."""

SENTINELS: Final = frozenset({SENTINEL, "context_engineering_is_the_way_to_go"})
"""All that Google takes in this way."""

SIGNATURES: Final = ("thoughtSignature", "thought_signature")
"""How the field is called, in either spelling."""

LONE: Final = 1 << 31
"""The position of a part that stands where the list of parts stands."""

_FIRST_STRICT: Final = (3, 0)


class Signatures:
    """
    What a reader remembers of thought signatures.

    Attributes:
        compares: it is known what the provider returned.
    """

    __slots__ = ("_altered", "_case", "_is_strict", "_reader", "_signed", "_unsigned", "compares")

    def __init__(self, reader: Reader, version: tuple[int, int] | None) -> None:
        self._reader: Final = reader
        self._is_strict: Final = version is None or version >= _FIRST_STRICT
        self._case: Final = None if version is not None else "unknown-model"
        self.compares: Final = bool(reader.around.original)
        self._signed = False  # a step of the current turn was signed
        self._unsigned: list[tuple[int, Call, bool]] = []  # (place, call, whether it looks torn off) of those that are not
        self._altered: list[Violation] = []

    def restart(self) -> None:
        """The user says something: what was before is no longer looked at."""
        self._signed = False
        if self._unsigned or self._altered:
            self._unsigned, self._altered = [], []

    def step(self, block: Call, position: int) -> None:
        """The first call of a turn of the model's, in the message being read."""
        if not self._is_strict:
            return
        for key, value in block.wire.rest:
            if key in SIGNATURES and value:
                self._signed = True
                return
        is_torn = self._signed and position in (0, LONE)
        self._unsigned.append((self._reader.machine.at + position, block, is_torn))

    def compare(self, message: Message, start: int) -> None:
        """L5: what is signed in the message being read is as it was returned."""
        original = self._reader.around.original.get(self._reader.index)
        if not isinstance(original, list):
            return
        returned: dict[str, deque[Json]] = {}
        for part in original:
            theirs = signed_json(part)
            if theirs is not None:
                returned.setdefault(theirs[0], deque()).append(theirs[1])
        for position, block in enumerate(message.blocks, start):
            mine = signed(block)
            if mine is None or mine[0] in SENTINELS:
                continue
            known = returned.get(mine[0])
            if known and known.popleft() == mine[1]:
                continue
            path = "/parts" if position >= LONE else f"/parts/{position}"
            words = f"a signed part of content {self._reader.index} is not as the model returned it"
            expected = "the part with its signature, unaltered, in its place"
            self._altered.append(self._reader.violation("G-SIG-02", self._reader.index, path, words, expected))

    def ending(self) -> list[Violation]:
        """What it would break to send it as it is."""
        found = list(self._altered)
        for place, block, is_torn in self._unsigned:
            index, position = place >> PLACE_BITS, place & ((1 << PLACE_BITS) - 1)
            path = "/parts" if position >= LONE else f"/parts/{position}"
            rule = "G-BATCH-01" if is_torn else "G-SIG-01"
            behind = ", directly behind one that is signed" if is_torn else ""
            words = f"content {index} is a step whose first call {quote(block.id)} has no thought signature{behind}"
            expected = "parallel calls in one content" if is_torn else "the signature that came with it"
            found.append(self._reader.violation(rule, index, path, words, expected, case=self._case, ids=(block.id,)))
        return found


def signed(block: Block) -> tuple[str, Json] | None:
    """The signature of a part, and what it stands on."""
    if isinstance(block, Opaque):
        return signed_json(block.value)
    if isinstance(block, Reasoning):
        return None if not block.seal else (block.seal, block.text)
    seal = next((block.wire.get(key) for key in SIGNATURES if block.wire.get(key)), None)
    if not isinstance(seal, str):
        return None
    if isinstance(block, Text):
        return seal, block.text
    return seal, (block.name, block.arguments) if isinstance(block, Call) else None


def signed_json(part: Json) -> tuple[str, Json] | None:
    """The same of a part as it was returned."""
    if not isinstance(part, dict):
        return None
    seal = next((part[key] for key in SIGNATURES if part.get(key)), None)
    if not isinstance(seal, str):
        return None
    call = part.get("functionCall", part.get("function_call"))
    if isinstance(call, dict):
        return seal, (call.get("name"), call.get("args"))
    if isinstance(part.get("text"), str) or part.keys() <= {"thought", *SIGNATURES}:
        return seal, part.get("text", "")
    return seal, None
