"""
How many tokens blocks, messages and requests are.

What this is
    `block_tokens` and `message_tokens` for one value; `Memo`, which counts each
    message once; `Tally`, the running total of a live conversation.

Rules it obeys
    * A size is the sum over blocks plus a constant for each message.  The
      joined text is never counted: a byte-pair encoding is not additive.
    * Every block costs something: media by the provider's rule, sealed
      reasoning by the length of its seal, what cannot be read by its JSON text.
    * A counter is foreign code.  If it raises or returns anything but a whole
      number of at least 0, the error is a `PolicyError` of the field
      ``counter`` and nothing else.

How it works
    Frames are what a provider writes around content: the role and the ends of
    a message, the name and the id of a call.  They are small constants, the
    same for every dialect.

    *Reasoning.*  Providers charge the thinking that a seal stands for, and of
    that the readable text is often only an abstract.  So the larger counts: the
    words, or the seal taken as base64 of the thinking at four bytes a token,
    less 650 bytes of wrapping.

    *Residue.*  Fields that the model has no word for are sent too, and counted
    by their JSON text, save those that carry nothing for the model to read.

What is not here
    What the provider said it was: `usage`.  Shares by kind: `division`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from ..arguments import LARGEST, need, need_whole, shown
from ..errors import PolicyError
from ..model import Block, Call, Conversation, Media, Message, Reasoning, Result, Text, Tool, Wire
from .estimator import Counter, estimate, unwrapped
from .jsontext import json_text
from .media import media_size

__all__ = ["MESSAGE_TOKENS", "Memo", "Tally", "block_tokens", "checked", "frame_tokens", "message_tokens", "tool_tokens"]

MESSAGE_TOKENS: Final = 4
"""The frame of a message: its role and its two ends."""

CALL_TOKENS: Final = 8
"""The frame of a call besides its name and arguments, which are counted as one text."""

RESULT_TOKENS: Final = 6
"""The frame of a result besides its content."""

SEAL_TOKENS: Final = 16
"""The least that sealed reasoning costs."""

_SILENT: Final = frozenset(
    {"cache_control", "caller", "detail", "id", "index", "is_error", "item_id", "phase", "status", "strict", "type", "weight"}
)
"""Residual fields that the model never reads."""


class _Checked:
    """A foreign counter whose every answer is looked at."""

    __slots__ = ("_counter",)

    def __init__(self, counter: Counter) -> None:
        if not callable(counter):
            raise PolicyError("counter", f"something that can be called, not {shown(counter)}")
        self._counter = counter

    def __call__(self, text: str) -> int:
        try:
            size = self._counter(text)
        except Exception as error:
            raise PolicyError("counter", f"it raised {type(error).__name__} for a text of {len(text)} characters") from error
        if type(size) is not int:  # a bool or a float would spread silently through sums
            raise PolicyError("counter", f"it returned a {type(size).__name__}, not an int")
        if not 0 <= size <= LARGEST:
            raise PolicyError("counter", f"it returned {shown(size)} for a text of {len(text)} characters")
        return size


def checked(counter: Counter) -> Counter:
    """The same counter if it is one of ours, else one that raises `PolicyError` whenever *counter* misbehaves."""
    if isinstance(counter, _Checked):
        return counter
    return unwrapped(counter) or _Checked(counter)


def block_tokens(block: Block, counter: Counter) -> int:
    """
    The tokens of one block.

    Raises:
        PolicyError: *counter* misbehaves.

    >>> from compactlib.model import wire
    >>> block_tokens(Text("The tests pass now."), estimate)
    5
    >>> block_tokens(Reasoning("", "A" * 8_000, wire("redacted_thinking")), estimate)
    1337
    """
    return _block(block, checked(counter))


def message_tokens(message: Message, counter: Counter) -> int:
    """
    The tokens of one message: those of its blocks, and its frame.

    Raises:
        PolicyError: *counter* misbehaves.

    >>> from compactlib.model import wire
    >>> message_tokens(Message("user", "The tests pass now.", wire("user")), estimate)
    9
    """
    return _message(message, checked(counter))


def tool_tokens(tool: Tool, counter: Counter) -> int:
    """The tokens of a declared tool: of its JSON text, which is its own frame."""
    return checked(counter)(json_text(tool.value))


def frame_tokens(message: Message, counter: Counter) -> int:
    """What *message* costs besides its blocks: its frame, and the fields that the model has no word for."""
    return MESSAGE_TOKENS + _residue(message.wire, checked(counter))


def _message(message: Message, counter: Counter) -> int:
    content = message.content
    size = frame_tokens(message, counter) if message.wire.rest else MESSAGE_TOKENS
    if isinstance(content, str):
        return size + counter(content)
    for block in content:
        size += _block(block, counter)
    return size


def _block(block: Block, counter: Counter) -> int:
    """In order of frequency: this is asked for every block of every conversation."""
    if isinstance(block, Text):
        size = counter(block.text)
    elif isinstance(block, Call):
        arguments = block.arguments
        size = CALL_TOKENS + counter(f"{block.name} {arguments if isinstance(arguments, str) else json_text(arguments)}")
    elif isinstance(block, Result):
        content = block.content
        size = RESULT_TOKENS
        if isinstance(content, str):
            size += counter(content)
        elif content is not None:
            size += _parts(content, counter)
    elif isinstance(block, Reasoning):
        size = counter(block.text)
        if block.seal is not None:
            size = max(size, _seal(block.seal))
    elif isinstance(block, Media):
        size = media_size(block, counter).tokens
    else:
        return counter(json_text(block.value))
    return size + _residue(block.wire, counter) if block.wire.rest else size


def _parts(content: tuple[Block, ...], counter: Counter) -> int:
    """The blocks of a result.  A result inside a result, which no wire format has, is not followed for ever."""
    size = 0
    left = list(content)
    while left:
        block = left.pop()
        if isinstance(block, Result) and isinstance(block.content, tuple):
            size += RESULT_TOKENS
            left += block.content
        else:
            size += _block(block, counter)
    return size


def _seal(seal: str) -> int:
    return max((len(seal) * 3 // 4 - 650) // 4, SEAL_TOKENS)


def _residue(wire: Wire, counter: Counter) -> int:
    return sum([counter(json_text(value)) for key, value in wire.rest if key not in _SILENT and value not in (None, [], {}, "")])


class Memo:
    """
    Counts each message once.

    Messages are told apart by identity and kept alive, so that no other can
    take the place of one that was counted.  Give the same memo to everything
    that looks at one conversation, and `keep` what is left after a compaction.

    Attributes:
        counter: counts one text; see `checked`.
    """

    __slots__ = ("_held", "_sizes", "counter")

    def __init__(self, counter: Counter = estimate) -> None:
        self.counter: Final = checked(counter)
        self._sizes: dict[int, int] = {}
        self._held: list[Message] = []

    def message(self, message: Message) -> int:
        """The tokens of one message."""
        key = id(message)
        size = self._sizes.get(key)
        if size is None:
            size = self._sizes[key] = _message(message, self.counter)
            self._held.append(message)
        return size

    def messages(self, messages: Sequence[Message]) -> int:
        """The tokens of several messages together."""
        return sum(self.sizes(messages))

    def sizes(self, messages: Sequence[Message]) -> list[int]:
        """The tokens of each of several messages; of many new ones faster than one by one."""
        known, counter = self._sizes, self.counter
        fresh = [message for message in messages if id(message) not in known] if known else messages
        sizes = [_message(message, counter) for message in fresh]
        known.update(zip(map(id, fresh), sizes, strict=True))
        self._held += fresh
        return sizes if fresh is messages else [known[id(message)] for message in messages]

    def overhead(self, conversation: Conversation) -> int:
        """
        What every request carries before its first message: system blocks and tool declarations.

        System messages that stand among the messages, and a provider's opaque
        compaction object, are messages here; whoever counts them as overhead
        adds `message` of them.
        """
        counter = self.counter
        size = sum(_block(block, counter) for block in conversation.system)
        return size + sum(tool_tokens(tool, counter) for tool in conversation.tools)

    def request(self, conversation: Conversation) -> int:
        """The tokens of the whole request: overhead and all messages."""
        return self.overhead(conversation) + self.messages(conversation.messages)

    def keep(self, messages: Iterable[Message]) -> None:
        """Forget all messages but these, so that what a compaction dropped does not stay in memory."""
        sizes = self._sizes
        self._held = [message for message in messages if id(message) in sizes]
        self._sizes = {id(message): sizes[id(message)] for message in self._held}


class Tally:
    """
    The running total of a live conversation, in O(size of the message) for each one appended.

    Does not keep the messages and cannot take one back: after a compaction
    begin a new one.

    Attributes:
        tokens: of all that was appended, and the overhead it began with.
        length: how many messages were appended.

    Raises:
        PolicyError: an argument is not what it is declared to be, or the
            counter misbehaves.

    >>> from compactlib.model import wire
    >>> tally = Tally(overhead_tokens=100)
    >>> tally.append(Message("user", "The tests pass now.", wire("user")))
    9
    >>> tally.tokens
    109
    """

    __slots__ = ("counter", "length", "tokens")

    def __init__(self, counter: Counter = estimate, *, overhead_tokens: int = 0) -> None:
        need_whole("overhead_tokens", overhead_tokens)
        self.counter: Final = checked(counter)
        self.tokens = overhead_tokens
        self.length = 0

    def append(self, message: Message) -> int:
        """Add *message*; its own tokens come back."""
        need("message", message, Message, "a Message")
        size = _message(message, self.counter)
        self.tokens += size
        self.length += 1
        return size
