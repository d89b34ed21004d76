"""
What a conversion could not carry over, as values.

What this is
    `Loss`, one thing that the target does not have or has elsewhere, the
    closed list of their names, and `Losses`, which collects them.

Rules it obeys
    * Each loss has a name from the list, so that a program can tell those it
      accepts from those that it does not.
    * A loss names the place in the *input*: the message as its wire numbers
      it, and a JSON pointer.

How it works
    Pointers differ between dialects and are needed for few blocks, so those of
    a message are made when something in it is lost, once for all its blocks.

What is not here
    What is carried and what is not: the other modules of this package.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from attrs import frozen

from ..model import Call, Conversation, Message, Reasoning, Result, Text
from ..protocol.profiles import PROFILES

__all__ = ["LOSSES", "Loss", "Losses"]

LOSSES: Final[Mapping[str, str]] = {
    "added": "something was put in because the target demands it: a user message that stands first, words beside a document",
    "arguments": "arguments that are no JSON object were put into one, whole",
    "cache-mark": "a mark for the provider's prompt cache was left out",
    "character": "halves of characters (lone surrogates), which no provider reads, were replaced by U+FFFD",
    "citation": "citations or annotations of a text were left out",
    "empty": "words that are empty, or white space alone, were left out, and perhaps their message",
    "error-flag": "the target cannot say that a result is an error; its words stayed",
    "field": "a field that the target has no word for was left out",
    "grouping": "what was one message is several now, or the other way round",
    "media": "a picture, document or sound that the target cannot hold was replaced by a note",
    "name": "a tool, or its result, has another name now: the target's are made of other characters, or are told by the call",
    "opaque": "a block of a kind that only its provider knows was left out",
    "order": "something stands in another place now",
    "orphan": "a result whose call is not here was left out",
    "reasoning": "the model's thinking was left out: a provider takes back none but its own",
    "role": "a message of a role that the target does not have was written as a user's, or a call or result changed sides",
    "seal": "a signature, or thinking that is signed or encrypted, was left out",
    "server-tool": "a call that the provider ran by itself was left out, with its result",
    "setting": "a setting of the request was left out",
    "tool": "a tool, or a call, is declared in another way now, or not at all",
    "unanswered": "a call that nobody answered was given a result: its outcome is unknown",
    "words": "calls or results are words of the model's and a user's now, because the target has no form for them",
}
"""Every name of a loss, and what it means."""


@frozen
class Loss:
    """
    One thing that did not come through a conversion as it was.

    Attributes:
        name: one of `LOSSES`.
        index: the message of the input, as its wire numbers it; ``None`` where
            it concerns what stands around the messages.
        pointer: a JSON pointer into the input.
        message: what was lost or changed, in one sentence.
    """

    name: str
    index: int | None
    pointer: str
    message: str


class Losses:
    """The losses of one conversion."""

    __slots__ = ("_around", "_conversation", "_found", "_known", "_root")

    def __init__(self, conversation: Conversation) -> None:
        self._conversation: Final = conversation
        key = PROFILES[conversation.dialect].messages_key
        self._root: Final = "" if conversation.envelope.fields is None else f"/{key}"
        self._around: list[Loss] = []
        self._found: list[Loss] = []
        self._known: tuple[int, list[str]] = (-1, [])

    def around(self, name: str, pointer: str, message: str) -> None:
        """Something around the messages was lost."""
        self._around.append(Loss(name, None, pointer, message))

    def at(self, name: str, position: int, message: str, place: int | None = None) -> None:
        """Something was lost in the message at *position*: the block at *place*, or as a whole."""
        if self._known[0] != position:
            self._known = position, self._pointers(position)
        pointers = self._known[1]
        pointer = pointers[-1] if place is None or place >= len(pointers) - 1 else pointers[place]
        self._found.append(Loss(name, self._conversation.wire_index(position), pointer, message))

    def sorted(self) -> tuple[Loss, ...]:
        """All of them: those around the messages, then message by message."""
        return (*self._around, *sorted(self._found, key=_index))

    def path(self, position: int) -> str:
        """The JSON path of the message at *position*."""
        return f"${self._root.replace('/', '.')}[{self._conversation.wire_index(position)}]"

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self._around) + len(self._found)

    def _pointers(self, position: int) -> list[str]:
        """The pointers of the blocks of a message, and last that of the message."""
        conversation = self._conversation
        message = conversation.messages[position]
        root = f"{self._root}/{conversation.wire_index(position)}"
        if len(conversation.messages) == 1 and message.wire.form == "lone":
            return [self._root, self._root]
        start, stop = conversation.fused
        before = 0
        if start <= position < stop:
            before = sum(len(one.blocks) for one in conversation.messages[start:position])
        return [*_pointers(conversation.dialect, message, root, before), root]


def _index(loss: Loss) -> int:
    return -1 if loss.index is None else loss.index


def _pointers(dialect: str, message: Message, root: str, before: int) -> list[str]:
    if dialect == "openai-responses" and message.wire.form == "item":
        return [root] * len(message.blocks)
    if dialect == "gemini":
        return [f"{root}/parts/{before + place}" for place in range(len(message.blocks))]
    if isinstance(message.content, str):
        return [f"{root}/{'message' if dialect == 'atif' else 'content'}"]
    if dialect == "atif":
        return _in_step(message, root)
    if dialect == "mcp-sampling" and message.wire.form == "single" and len(message.content) == 1:
        return [f"{root}/content"]
    if dialect not in ("openai-chat", "mistral"):
        return [f"{root}/content/{before + place}" for place in range(len(message.content))]
    made = []
    parts, calls = before, 0
    for block in message.content:
        if isinstance(block, Call) and block.wire.tag == "function_call":
            made.append(f"{root}/function_call")
        elif isinstance(block, Call) and block.wire.tag != "tool_use":
            made.append(f"{root}/tool_calls/{calls}")
            calls += 1
        elif isinstance(block, Reasoning) and block.wire.tag != "thinking":
            made.append(f"{root}/{block.wire.tag}")
        elif message.role == "tool" or (isinstance(block, Text) and message.wire.form == "string"):
            made.append(f"{root}/content")
        else:
            made.append(f"{root}/content/{parts}")
            parts += 1
    return made


def _in_step(message: Message, root: str) -> list[str]:
    """The pointers of the blocks of a step in ATIF."""
    made = []
    counts = dict.fromkeys(("message", "tool_calls", "observation/results"), 0)
    for block in message.blocks:
        key = "tool_calls" if isinstance(block, Call) else "observation/results" if isinstance(block, Result) else "message"
        if isinstance(block, Reasoning):
            made.append(f"{root}/{block.wire.tag}")
        elif key == "message" and message.wire.form == "string":
            made.append(f"{root}/message")
        else:
            made.append(f"{root}/{key}/{counts[key]}")
            counts[key] += 1
    return made
