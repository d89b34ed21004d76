"""
Sealed reasoning in an Anthropic conversation: whole, unaltered, in its place.

Rules A-THINK-01 to A-THINK-07 and law L5.  What counts is the *current loop*:
the model's messages since the user last said something.  There the provider
wants thinking as it was returned, first of all in the loop's first message;
before it, thinking may be gone.  Whether blocks are as they were returned can
only be told where the caller says what was returned; whether they stand behind what
they stood behind then, only where a summary shows that they do not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from ..model import Block, Json, Message, Opaque, Origin, Reasoning
from .automaton import State
from .reader import Mode, Reader
from .violation import Violation

__all__ = ["SEALED", "Seals", "sealed_of"]

_THINKING: Final = frozenset({"thinking", "redacted_thinking"})
SEALED: Final = _THINKING | {"fallback"}
"""The types of what stands in its place unaltered."""


class Seals:
    """
    What a reader remembers of thinking.

    Attributes:
        fresh: the user spoke, and the model has not answered yet.
        looped: the loop has called a tool.
        compares: it is known what the provider returned.
        bound: the provider checks what stands before thinking (A-THINK-07); and nothing was found yet.
    """

    __slots__ = (
        "_altered",
        "_first",
        "_forged",
        "_opening",
        "_opens",
        "_original",
        "_reader",
        "_summary",
        "_thinking",
        "_trailing",
        "bound",
        "compares",
        "fresh",
        "looped",
    )

    def __init__(self, reader: Reader, thinking: str, original: Mapping[int, Json], *, bound: bool) -> None:
        self._reader: Final = reader
        self._thinking: Final = thinking
        self._original: Final = original
        self.fresh = True
        self.looped = False
        self.compares: Final = bool(original)
        self.bound = bound
        self._summary = -1  # the last message that holds a summary
        self._first = -1  # the loop's first message,
        self._opens = False  # which begins with thinking
        self._opening = ""  # and where it begins
        self._trailing: tuple[int, int] | None = None  # (message, position) of thinking that ends the last assistant message
        self._altered: list[Violation] = []  # messages of the loop whose seals are not as they were returned,
        self._forged: list[Violation] = []  # and the signatures among them that the model never gave

    def begin(self, content: str | tuple[Block, ...]) -> None:
        """The first model message since the user last spoke."""
        self.fresh = self.looped = False
        self._first = self._reader.index
        self._opens = bool(content) and (isinstance(content[0], Reasoning) or _is_compaction(content[0]))
        self._opening = "/content/0" if content and not isinstance(content, str) else "/content"
        self._reader.found += self._forged  # what was altered in a closed loop is not looked at, but signatures are
        self._altered, self._forged = [], []

    def meet(self, block: Reasoning, path: str) -> None:
        """A thinking block at *path* of the message being read."""
        if not block.seal:
            self._reader.report(
                "A-THINK-03", path, "a thinking block without its signature", "the block as the model returned it, or none"
            )
        if block.wire.rest and block.wire.get("cache_control") is not None:
            self._reader.report(
                "A-CACHE-03", path + "/cache_control", "a cache mark on a thinking block", "the mark on another block"
            )
        if self.bound and self._summary >= 0:
            self.bound = False  # once: what holds for one block holds for all behind it
            words = f"thinking behind the summary in message {self._summary}, which did not stand there if it is older"
            self._reader.report("A-THINK-07", path, words, "none, or thinking.block_binding that drops it")

    def note(self, origin: Origin | None) -> None:
        """Words of this origin stand in the message being read."""
        if origin is Origin.SUMMARY:
            self._summary = self._reader.index

    def hide(self, block: Opaque) -> None:
        """Before the provider's own summary nothing counts any more; what follows it was made behind it."""
        if block.kind == "compaction" and isinstance(block.value, dict) and block.value.get("content"):
            self._summary = -1

    def trail(self, position: int) -> None:
        """The message being read ends in thinking."""
        self._trailing = self._reader.index, position

    def settle(self, *, model_goes_on: bool) -> None:
        """The next message begins: an assistant turn that ended in thinking has, or has not, gone on."""
        if not model_goes_on:
            self._reader.found += self._ends_in_thinking()
        self._trailing = None

    def compare(self, message: Message) -> None:
        """L5: what is sealed in the message being read stands as it was returned."""
        index = self._reader.index
        original = self._original.get(index)
        if not isinstance(original, list):
            return
        mine, theirs = sealed_of(message.blocks), sealed_of(original)
        if mine == theirs:
            return
        thinking, returned = ([entry[1:] for entry in blocks if entry[1] in _THINKING] for blocks in (mine, theirs))
        moved = [entry[1] for entry in mine] != [entry[1] for entry in theirs]
        rule, what = ("A-THINK-05", "fallback") if thinking == returned and moved else ("A-THINK-02", "thinking")
        words = f"the {what} blocks of message {index} are not as the model returned them"
        self._altered.append(self._reader.violation(rule, index, "/content", words, "all of them, unaltered, at their places"))
        given = {entry[1:] for entry in theirs}
        for place, block in enumerate(message.blocks):
            if not isinstance(block, Reasoning) or block.wire.tag != "thinking":
                continue  # of other blocks no refusal is known
            if block.seal and ("thinking", block.text, block.seal) not in given:
                words, expected = "a thinking block that does not have the signature that the model gave it", "both as returned"
                path = f"/content/{place}"
                self._forged.append(self._reader.violation("A-THINK-03", index, path, words, expected))

    def ending(self, mode: Mode) -> list[Violation]:
        """What it would break to end here."""
        found = [*self._altered, *self._ends_in_thinking()]
        reader = self._reader
        speaks_last = reader.machine.state is State.MODEL
        if speaks_last and mode == "request" and self._thinking in ("disabled", "unsaid") and reader.last is not None:
            case = "unsaid" if self._thinking == "unsaid" else None
            if any(isinstance(block, Reasoning) for block in reader.last.blocks):
                words = "the last message holds thinking, and thinking is off"
                found.append(reader.violation("A-THINK-04", reader.index, "/content", words, "none, or thinking on", case=case))
        rule = reader.profile.opening
        in_force = self._thinking == "enabled" and (mode == "request" if speaks_last else self.looped)
        if rule is not None and in_force and not self.fresh and not self._opens:
            words = f"thinking is enabled, and message {self._first}, which begins this turn, does not begin with it"
            found.append(reader.violation(rule, self._first, self._opening, words, "a thinking or redacted_thinking block first"))
        return found

    def _ends_in_thinking(self) -> list[Violation]:
        if self._trailing is None:
            return []
        index, position = self._trailing
        words = f"message {index} ends in thinking"
        return [self._reader.violation("A-THINK-06", index, f"/content/{position}", words, "text or a call behind the thinking")]


def _is_compaction(block: object) -> bool:
    """Whether it is the provider's own summary, which stands for whatever the turn began with."""
    return isinstance(block, Opaque) and block.kind == "compaction"


def _as_json(block: Block | Json) -> Json:
    """As much of a block as tells whether what is sealed was altered; what is JSON as it is."""
    if isinstance(block, Reasoning):
        return {"type": block.wire.tag, "thinking": block.text, "signature": block.seal, "data": block.seal}
    return block.value if isinstance(block, Opaque) else block


def sealed_of(blocks: Iterable[Block | Json]) -> list[tuple[bool, str, str, str]]:
    """The thinking and fallback blocks in order, of a message or as returned: (something else before it, type, text, seal)."""
    found = []
    other = False
    for block in map(_as_json, blocks):
        kind = block.get("type") if isinstance(block, dict) else None
        if isinstance(block, dict) and isinstance(kind, str) and kind in SEALED:
            text = block.get("thinking") if kind == "thinking" else ""
            seal = block.get("data" if kind == "redacted_thinking" else "signature")
            found.append((other, kind, text if isinstance(text, str) else "", seal if isinstance(seal, str) else ""))
            other = False
        else:
            other = True
    return found
