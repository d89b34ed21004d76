"""
MCP's ``sampling/createMessage``, message by message.

What this is
    The `Reader` of dialect ``mcp-sampling``: which events a message is, and
    the S-rules.  A server asks a client for a model's words this way, and a
    client refuses what breaks them before any model sees it.

How it works
    Each message stands for itself.  Results stand in user messages that hold
    nothing else, directly behind their calls.  What stands beside results is
    found once (S-ONLY-01) and does not meet the automaton.

What is not here
    What the client's model demands: that is its provider's dialect.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from attrs import evolve

from ..model import Block, Call, Json, Media, Message, Opaque, Origin, Result, Text
from .automaton import Breach, Event
from .reader import NEXT, PLACE_BITS, Mode, Reader, reads_like_harness
from .violation import Violation, quote

__all__ = ["McpSamplingReader"]

_USER, _MODEL = map(int, (Event.USER, Event.MODEL))
_PROMPT, _NOTE, _WORDS = map(int, (Event.PROMPT, Event.NOTE, Event.WORDS))
_ALONE: Final = 1 << 24  # the position of a call that is its message's content
_BLOCKS: Final = "text, image, audio, tool_use or tool_result"
_PARTS: Final = "text, image, audio, resource_link or resource"
_LINKS: Final = {"resource_link": ("name", "uri"), "resource": ("resource",)}
_FIELDS: Final = {
    "text": "a text",
    "image": "data and a mimeType",
    "audio": "data and a mimeType",
    "tool_use": "an id and a name",
    "tool_result": "a toolUseId",
}


class McpSamplingReader(Reader):
    """Reads the messages of a sampling request."""

    RESULTS_STAND = "in a user message directly behind message {}, and nothing else there"

    def read(self, messages: Iterable[Message]) -> None:
        """Read the next messages."""
        machine = self.machine
        message = None
        for message in messages:
            at = machine.at + NEXT
            is_model = message.role == "model"
            if machine.begin(_MODEL if is_model else _USER, at) is Breach.OPEN:
                self.found += self._unanswered(machine.abandoned)
            if message.role == "other":
                self.report("S-TYPE-01", "/role", f"the role is {quote(message.wire.tag)}", "user or assistant")
            if message.wire.form == "string":
                self.report("S-TYPE-01", "/content", "the content is a string", "a block, or a list of blocks", case="string")
            blocks = message.blocks
            answers = sum(isinstance(block, Result) for block in blocks)
            if answers and (is_model or answers < len(blocks)):
                self._mixed(message)
            for place, block in enumerate(blocks):
                self._block(message, block, self._path(message, place), place, is_apart=bool(answers))
        self.last = message or self.last

    def _path(self, message: Message, place: int) -> str:
        is_alone = message.wire.form == "string" or (message.wire.form == "single" and len(message.blocks) == 1)
        return "/content" if is_alone else f"/content/{place}"

    def _mixed(self, message: Message) -> None:
        """Results stand where something else does, or where only the model speaks."""
        if message.role == "model":
            place = next(at for at, block in enumerate(message.blocks) if isinstance(block, Result))
            words, expected = f"message {self.index}, the assistant's, has results", "them in a user message of their own"
        else:
            place = next(at for at, block in enumerate(message.blocks) if not isinstance(block, Result))
            words, expected = f"message {self.index} has results and something else", "results alone, the rest in another message"
        self.report("S-ONLY-01", self._path(message, place), words, expected)
        if message.role == "model":
            self._unmendable()

    def _unmendable(self) -> None:
        """The last finding has no safe fix, though its rule has one for other faults."""
        self.found[-1] = evolve(self.found[-1], fix=None)

    def _block(self, message: Message, block: Block, path: str, place: int, *, is_apart: bool) -> None:
        """One block of a message; where that is odd already (*is_apart*) only calls and results meet the automaton."""
        machine = self.machine
        if isinstance(block, Result):
            breach = machine.result(block.call_id)
            if breach is not None and message.role != "model":
                self._result_breach(breach, block.call_id, path)
            self._result(block, path)
        elif isinstance(block, Call):
            breach = machine.call(block.id, place if path[-1].isdecimal() else _ALONE)
            if message.role != "model":
                words = f"the call {quote(block.id)} stands in a message of the user's"
                self.report("S-BAL-01", path, words, "it in an assistant message", ids=(block.id,))
                self._unmendable()
            elif breach is Breach.DUPLICATE:
                words = f"the id {quote(block.id)} was used in this message already"
                expected = "an id of its own for each call"
                self.report("S-BAL-01", f"{path}/id", words, expected, case="same-id", ids=(block.id,))
                self._unmendable()
            if block.arguments.__class__ is not dict:
                words = f"the input of the call {quote(block.id)} is no object"
                self.report("S-TYPE-01", f"{path}/input", words, "an object", ids=(block.id,))
        else:
            if isinstance(block, Opaque):
                self._odd(block, path, _BLOCKS)
            if message.role == "model":
                machine.see(_WORDS)
            elif not is_apart:
                machine.see(_PROMPT if self._is_spoken(message, block, place) else _NOTE)

    def _is_spoken(self, message: Message, block: Block, place: int) -> bool:
        """Whether a block of a user message is a person's, so that open calls dangle behind it (law L4)."""
        origin = message.origin
        if isinstance(origin, tuple):
            return place < len(origin) and origin[place] is Origin.HUMAN
        if origin is not None:
            return origin is Origin.HUMAN
        return not (isinstance(block, Media) or (isinstance(block, Text) and reads_like_harness(block.text)))

    def _result_breach(self, breach: Breach, key: str, path: str) -> None:
        shown = quote(key)
        call = f"message {self.machine.place >> PLACE_BITS}"
        if breach is Breach.REPEAT:
            words, expected = f"the call {shown} of {call} is answered twice", "one result for each call"
        elif breach is Breach.STRAY:
            words = f"the result for {shown} answers no call of the assistant message before it"
            expected = "its call there"
        else:
            words = f"the result for {shown} does not stand in the message behind its call, {call}"
            expected = "all results of a message in the one behind it"
        self.breach(breach, path, words, expected, ids=(key,))

    # -- types -----------------------------------------------------------------------------------------------------

    def _result(self, block: Result, path: str) -> None:
        content = block.content
        if not isinstance(content, tuple):
            what = "a string" if isinstance(content, str) else "null" if "content" in block.wire.keys else "absent"
            words = f"the content of the result for {quote(block.call_id)} is {what}"
            self.report("S-TYPE-01", path, words, "a list of blocks", case="string" if what == "a string" else None)
            return
        for place, part in enumerate(content):
            if isinstance(part, Opaque):
                self._odd(part, f"{path}/content/{place}", _PARTS, is_inside=True)
        structured: Json = block.wire.get("structuredContent")
        if structured is not None and structured.__class__ is not dict:
            words = f"the structuredContent of the result for {quote(block.call_id)} is no object"
            self.report("S-TYPE-01", f"{path}/structuredContent", words, "an object")

    def _odd(self, block: Opaque, path: str, allowed: str, *, is_inside: bool = False) -> None:
        """A block that has none of the types, or not what its type has."""
        value = block.value
        wanted = _LINKS.get(block.kind) if is_inside else None
        if wanted is not None and all(key in value for key in wanted):
            return
        if wanted is not None:
            words, expected = f"a block of type {quote(block.kind)} lacks what its type has", " and ".join(wanted)
        elif block.kind in _FIELDS and not (is_inside and block.kind.startswith("tool_")):
            words, expected = f"a block of type {quote(block.kind)} lacks what its type has", _FIELDS[block.kind]
        else:
            where = "a block inside a result" if is_inside else "a block"
            words, expected = f"{where} has the type {quote(block.kind)}", allowed
        self.report("S-TYPE-01", path, words, expected)

    # -- the end ---------------------------------------------------------------------------------------------------

    def ending(self, mode: Mode) -> list[Violation]:
        """What it would break to end here.  Nothing changes."""
        return self._unanswered(self.machine.open) if self._end_breach(mode) is Breach.OPEN else []

    def _call_path(self, position: int) -> str:
        return f"/content/{position}" if position < _ALONE else "/content"
