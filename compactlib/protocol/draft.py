"""
A conversation while it is being repaired.

What this is
    `Draft`, the working copy that the passes of `repair` share, `Fix`, what a
    pass says that it did, and the few ways in which a message is made anew.

Rules it obeys
    * Law L19.  Nothing that was passed in is changed; what no pass touched
      stays the very object that it was.
    * Law L5.  A model message of the current turn that holds reasoning is
      *sealed*, and no pass may edit it.  None is ever added to those of the
      input: a result that is put before a prompt does not open its turn again.
      One may leave, when a result is dropped that hid a prompt.

How it works
    The draft numbers messages as the wire does, like the validator's findings:
    the fused head of a compacted conversation is one message here, and falls
    apart again at the end if nothing touched it.

What is not here
    The passes: `answering`, `renaming`, `mending`, and `repair` itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeAlias

from attrs import evolve, frozen

from ..model import Block, Call, Conversation, Json, Message, Opaque, Origin, Reasoning, Result, Text, Wire, wire
from ..turns import divide
from .profiles import Profile
from .reader import Mode
from .signatures import SENTINELS, SIGNATURES
from .validator import check
from .violation import Violation

__all__ = [
    "Draft",
    "Fix",
    "Piece",
    "Slot",
    "pieces_of",
    "rebuilt",
    "spoken",
    "with_arguments",
    "with_id",
    "with_key",
    "without_key",
]

_SEALED_KINDS: Final = frozenset({"compaction", "fallback"})
_CHAT: Final = {"custom": "input", "function": "arguments"}
_GEMINI: Final = {"functionCall": "args", "function_call": "args"}
_FLAT: Final = {"function_call": "arguments"}


@frozen
class Fix:
    """
    One thing that was done.

    Attributes:
        name: one of the names that `repair` lists.
        rule: the rule that was broken, such as ``A-PAIR-01``.
        index: the message it was done to, as the wire of the *input* numbers
            it; ``None`` where there was no message.
        call_ids: the ids of the calls concerned, as they were.
        message: what was done, in one sentence.
    """

    name: str
    rule: str
    index: int | None
    call_ids: tuple[str, ...]
    message: str


Slot: TypeAlias = tuple[Message, "int | None"]
"""A message, and the index of the input's message that it is, or that it belongs to."""

Piece: TypeAlias = tuple[Block, "Origin | None"]
"""A block and its origin, as far as it was stated."""


class Draft:
    """
    The working copy.

    Attributes:
        profile: how the provider wants it.
        mode: as what it is to be valid.
        original: blocks of model messages as the provider returned them, by index of the input.
        slots: the messages.
        tools: the names of the declared tools.
        fixes: what was done so far.
    """

    __slots__ = ("_fused", "_input", "_kept", "_sealed", "fixes", "mode", "original", "profile", "slots", "tools")

    def __init__(self, conversation: Conversation, profile: Profile, mode: Mode, original: Mapping[int, Json]) -> None:
        self._input: Final = conversation
        self._kept: tuple[Message, ...] = ()  # sealed by the draft itself; a message that is gone must not give its identity away
        self.original: Final = original
        self.profile: Final = profile
        self.mode: Final[Mode] = mode
        self.tools: Final = frozenset(tool.name for tool in conversation.tools)
        self.fixes: list[Fix] = []
        messages = conversation.messages
        self._sealed = _sealed_of(conversation)
        start, stop = conversation.fused
        self._fused: Final = _one(messages[start:stop]) if stop - start > 1 else None
        if self._fused is not None:
            messages = (*messages[:start], self._fused, *messages[stop:])
        self.slots: list[Slot] = [(message, index) for index, message in enumerate(messages)]

    def is_sealed(self, message: Message) -> bool:
        """Whether law L5 forbids to edit it."""
        return id(message) in self._sealed

    def reseal(self) -> None:
        """Let go of the sealed messages whose turn turned out to be closed."""
        if self._sealed and self.fixes:
            self._sealed &= _sealed_of(self.conversation)

    def seal(self) -> None:
        """Seal what is sealed now, because what was lost of it was put back; only before anything else is done."""
        conversation = self.conversation
        self._kept = conversation.messages
        self._sealed = _sealed_of(conversation)

    def returned(self, source: int | None) -> list[Json] | None:
        """What the model returned at this index of the input, if it is known."""
        known = self.original.get(source) if source is not None else None
        return known if isinstance(known, list) else None

    def errors(self) -> tuple[Violation, ...]:
        """What the provider would refuse as it stands now."""
        original = self._original_now() if self.original else None
        found = check(self.conversation, mode=self.mode, profile=self.profile, original=original)
        return tuple(violation for violation in found if violation.level == "error")

    def _original_now(self) -> dict[int, Json]:
        """What was returned by the indices of now; of a message that became two nothing is known any more."""
        places: dict[int, list[int]] = {}
        for at, (message, source) in enumerate(self.slots):
            if message.role == "model" and source is not None and source in self.original:
                places.setdefault(source, []).append(at)
        return {at[0]: self.original[source] for source, at in places.items() if len(at) == 1}

    @property
    def conversation(self) -> Conversation:
        """The conversation as it stands now, the input itself if nothing was done."""
        if not self.fixes:
            return self._input
        messages = [message for message, _source in self.slots]
        fused = (0, 0)
        for at, message in enumerate(messages if self._fused is not None else ()):
            if message is self._fused:
                start, stop = self._input.fused
                messages[at : at + 1] = self._input.messages[start:stop]
                fused = (at, at + stop - start)
                break
        return evolve(self._input, messages=tuple(messages), fused=fused, settled=0)

    def say(self, name: str, rule: str, source: int | None, message: str, ids: Iterable[str] = ()) -> None:
        """Note what was done."""
        self.fixes.append(Fix(name, rule, source, tuple(ids), message))


def _sealed_of(conversation: Conversation) -> frozenset[int]:
    """The identities of the model messages of the current turn that hold reasoning."""
    messages = conversation.messages
    held = [at for at, message in enumerate(messages) if message.role == "model" and _has_seal(message)]
    current = divide(conversation).current_turn if held else 0
    return frozenset(id(messages[at]) for at in held if at >= current)


def _has_seal(message: Message) -> bool:
    return any(map(_is_seal, message.blocks))


def _is_seal(block: Block) -> bool:
    """Whether it is reasoning, or the provider's own, or carries a thought signature."""
    if isinstance(block, Opaque):
        return block.kind in _SEALED_KINDS
    return isinstance(block, Reasoning) or any(_is_signature(block.wire.get(key)) for key in SIGNATURES)


def _is_signature(value: Json) -> bool:
    """Whether it is a provider's, and not the word that stands for a lost one."""
    return bool(value) and not (isinstance(value, str) and value in SENTINELS)


def _one(messages: Sequence[Message]) -> Message:
    """The one message that these are on the wire."""
    first = messages[0]
    return rebuilt(evolve(first, content=()), [piece for message in messages for piece in pieces_of(message)])


# -- making messages ---------------------------------------------------------------------------------------------------


def pieces_of(message: Message) -> list[Piece]:
    """The blocks of a message, each with its origin."""
    origin = message.origin
    blocks = message.blocks
    if isinstance(origin, tuple):
        return [(block, origin[place] if place < len(origin) else None) for place, block in enumerate(blocks)]
    return [(block, origin) for block in blocks]


def rebuilt(message: Message, pieces: Sequence[Piece]) -> Message:
    """
    The message with these pieces in place of its own; itself if they are its own.

    Origins stay unstated where the message stated none.
    """
    content = message.content
    blocks = tuple(block for block, _origin in pieces)
    if isinstance(content, str):
        if len(blocks) == 1 and isinstance(blocks[0], Text) and blocks[0].text == content:
            return message
    elif len(blocks) == len(content) and all(new is old for new, old in zip(blocks, content, strict=True)):
        return message
    known = [origin for _block, origin in pieces]
    origin: Origin | tuple[Origin, ...] | None = None
    if any(one is not None for one in known) and not (message.origin is None and content):
        stated = tuple(one or (Origin.TOOL if isinstance(block, Result) else Origin.HUMAN) for block, one in pieces)
        origin = stated[0] if len(set(stated)) == 1 else stated
    shape = message.wire
    if message.role == "model" and "tool_calls" in shape.keys and not any(isinstance(block, Call) for block in blocks):
        shape = without_key(shape, "tool_calls")
    kept = {block.wire.tag for block in blocks if isinstance(block, Reasoning)}
    for block in message.blocks:
        if isinstance(block, Reasoning) and block.wire.tag in shape.keys and block.wire.tag not in kept:
            shape = without_key(shape, block.wire.tag)  # it stood under a key of the message
    return Message(message.role, blocks, shape, origin)


def spoken(dialect: str, text: str) -> Message:
    """A user message of the library's own."""
    form = "string" if dialect in ("mistral", "openai-chat", "openai-responses") else ""
    return Message("user", text, wire("user", ("role", "content"), form), Origin.HARNESS)


def with_key(shape: Wire, key: str) -> Wire:
    """The shape with this key, which the model has a field for, written from now on."""
    rest = tuple((name, value) for name, value in shape.rest if name != key)
    keys = shape.keys if key in shape.keys else (*shape.keys, key)
    return Wire(shape.tag, keys, rest, shape.form)


def with_id(call: Call, call_id: str) -> Call:
    """The call with this id, written also where it had none; only calls of OpenAI Chat and its kin can have none."""
    if call.wire.tag not in _CHAT:
        return evolve(call, id=call_id)
    return evolve(call, id=call_id, wire=_nested_with_key(call.wire, "id", inside=False))


def with_arguments(call: Call, arguments: Json, dialect: str) -> Call:
    """The call with these arguments, written also where it had none."""
    tag, shape = call.wire.tag, call.wire
    key = (_GEMINI if dialect == "gemini" else _CHAT).get(tag)
    if key is None:
        return evolve(call, arguments=arguments, wire=with_key(shape, _FLAT.get(tag, "input")))
    return evolve(call, arguments=arguments, wire=_nested_with_key(shape, key, inside=True))


def _nested_with_key(shape: Wire, key: str, *, inside: bool) -> Wire:
    """`with_key` of a shape whose last keys are those of the object in it under its tag, or of that object."""
    count = shape.outside
    outer = Wire(shape.tag, shape.keys[:count], shape.rest)
    inner = Wire(shape.tag, shape.keys[count:], tuple((shape.get(shape.tag) or {}).items()))
    if inside:
        inner = with_key(inner, key)
    else:
        outer = with_key(outer, key)
    rest = tuple(one for one in outer.rest if one[0] != shape.tag) + (((shape.tag, dict(inner.rest)),) if inner.rest else ())
    return Wire(shape.tag, (*outer.keys, *inner.keys), rest, "" if len(outer.keys) == 1 else str(len(outer.keys)))


def without_key(shape: Wire, key: str) -> Wire:
    """The shape without this key."""
    rest = tuple((name, value) for name, value in shape.rest if name != key)
    return Wire(shape.tag, tuple(name for name in shape.keys if name != key), rest, shape.form)
