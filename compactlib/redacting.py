"""
Secrets taken out of a conversation at the entrance, so that nothing behind it ever sees them.

What this is
    `redact`, from a conversation to a conversation, and `redact_message`, the
    same for one message that is about to enter.  Whatever comes after it
    (admission, compaction, the store, the summariser, reports, conversion) is
    given what comes out of it, so no other module knows of secrets, and no
    sink has to be watched.

Rules it obeys
    * Law L10.  What is removed later is the redacted text.  Each redaction is
      counted (`Redacted.found`) and visible (a mark stands in its place).
    * Law L5.  Reasoning is never altered, nor is a model's message of the
      current turn, nor a call that is signed.  A secret that stays there is
      told in `Redacted.left`.
    * What the provider ran by itself, and what the model has no words for, is
      not altered either: nobody here knows what it would break.  Nor are ids
      and names of calls: a mark is none that a provider takes, and of a pair
      one side may be in the current turn.
    * What is valid stays valid: no block comes or goes, and arguments that are
      JSON stay JSON.
    * Neither a result nor an error holds a secret.
    * A provider that binds reasoning to what stands before it refuses what was
      redacted after it was made: `Redacted.thinking` is what the request has to
      say (A-THINK-07).  At the entrance nothing was made yet.
    * A conversation without secrets comes back as the same object, and so does
      one that was redacted before.

How it works
    One pass over the messages.  Texts are masked by `masking.mask`, arguments
    and values that were spelled out as text by `mask_json`.  A summary of ours
    is written anew, because its header has a digest of it.

What is not here
    What a secret looks like (`credentials`).  Media, but for documents that
    are plain text.  What a caller passes in beside a conversation: pins are
    places in it, but reminders, digests and the focus are words of the
    caller's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from attrs import evolve, frozen

from .arguments import need
from .dialects.reading import dumps, loads
from .errors import WireError
from .masking import Masked, Redactor, mask, mask_json, need_redactor
from .model import (
    Block,
    Call,
    Conversation,
    Envelope,
    Json,
    Media,
    Message,
    Opaque,
    Origin,
    Reasoning,
    Result,
    Text,
    Tool,
    need_conversation,
)
from .protocol.binding import betas_for, dropping
from .summaries.head import read_earlier, read_summary, write_earlier, write_summary
from .turns import divide

__all__ = ["Found", "Left", "Redacted", "RedactedMessage", "redact", "redact_message"]

_OF_FILES: Final = frozenset({"observation", "tool_call"})
"""Calls and results of trajectories (ATIF), which stand in the model's step although the agent ran them."""
_SIGNATURES: Final = frozenset({"thoughtSignature", "thought_signature"})
_SYSTEM: Final = frozenset({"instructions", "system", "systemInstruction", "systemPrompt", "system_instruction"})
_TOOLS: Final = frozenset({"toolConfig", "tools"})
_WORDS: Final = frozenset({"", "text"})
_DESCRIPTIONS: Final = frozenset({"description"})
_HEADED: Final = (Origin.PIN, Origin.SUMMARY, Origin.REMINDER)
"""What a head that is one text is made of, and its summary counts."""


@frozen
class Found:
    """
    A secret that was taken out.

    Attributes:
        index: the wire index of its message; ``None`` for what stands around the messages.
        kind: what it was, in the redactor's words.
        chars: how long it was.
    """

    index: int | None
    kind: str
    chars: int


@frozen
class Left:
    """
    A secret that stays where it is, because what holds it may not be altered.

    Attributes:
        index: the wire index of its message; ``None`` for what stands around the messages.
        kind: what it is, in the redactor's words.
        chars: how long it is.
        why: ``reasoning``, ``signed`` or ``current turn`` (law L5); ``provider``, what the provider ran by itself;
            ``setting``, what the request needs; ``address``, of media; ``json``, a key or a number; ``id``, that or the name
            of a call; ``unknown``, a block or field that the model has no words for.
    """

    index: int | None
    kind: str
    chars: int
    why: str


@frozen
class Redacted:
    """
    A conversation without its secrets.

    Attributes:
        conversation: the conversation; the very one that was passed in if nothing was found.
        found: what was taken out.
        left: what stays.
        thinking: what the request has to say of thinking from now on, because reasoning stands behind what was redacted and
            the model refuses it otherwise (A-THINK-07): the value of ``thinking``, as in `Compacted`.
    """

    conversation: Conversation
    found: tuple[Found, ...]
    left: tuple[Left, ...]
    thinking: Mapping[str, Json] | None = None

    @property
    def betas(self) -> tuple[str, ...]:
        """The beta headers that `thinking` needs."""
        return betas_for(self.thinking)


@frozen
class RedactedMessage:
    """
    A message without its secrets.

    Attributes:
        message: the message; the very one that was passed in if nothing was found.
        found: what was taken out; the index is 0.
        left: what stays; the index is 0.
    """

    message: Message
    found: tuple[Found, ...]
    left: tuple[Left, ...]


def redact(conversation: Conversation, *, redactor: Redactor | None = None) -> Redacted:
    """
    Take the secrets out of a conversation.

    Args:
        conversation: the conversation.
        redactor: finds them in a text: gives ``(start, stop, kind)`` for each.  `known_secrets` by default, which a
            redactor of one's own may begin with.

    Raises:
        PolicyError: *conversation* is none, or the redactor failed or did not give places in the text.

    >>> from compactlib.dialects import parse, render
    >>> redacted = redact(parse([{"role": "user", "content": "use password=hunter2 there"}], dialect="openai-chat"))
    >>> render(redacted.conversation)[0]["content"], redacted.found
    ('use password=[redacted v1: password, 7 chars] there', (Found(index=0, kind='password', chars=7),))
    """
    need_conversation(conversation)
    hand = _Hand(need_redactor(redactor))
    around = hand.around(conversation)
    division = divide(conversation)
    messages = []
    for position, message in enumerate(conversation.messages):
        hand.index = conversation.wire_index(position)
        is_open = message.role == "model" and position >= division.current_turn and conversation.dialect != "atif"
        messages.append(hand.message(message, is_open=is_open))
    if not hand.found:
        return Redacted(conversation, (), tuple(hand.left))
    made = evolve(around, messages=_joined_again(messages, conversation.fused))
    return Redacted(made, tuple(hand.found), tuple(hand.left), dropping(conversation, made))


def redact_message(message: Message, *, redactor: Redactor | None = None) -> RedactedMessage:
    """
    Take the secrets out of one message before it enters.

    To be called before `compactlib.admit`, which stores what is large: a store
    forgets nothing.  What the model said belongs to the current turn and stays
    as it is until that is over.

    Raises:
        PolicyError: *message* is none, or the redactor failed or did not give places in the text.

    >>> from compactlib.model import wire
    >>> output = Result("c1", "DB_HOST=db DB_PASSWORD=hunter2", wire("tool"))
    >>> redact_message(Message("tool", (output,), wire("tool"))).message.results[0].text
    'DB_HOST=db DB_PASSWORD=[redacted v1: password, 7 chars]'
    """
    need("message", message, Message, "a Message")
    hand = _Hand(need_redactor(redactor))
    hand.index = 0
    made = hand.message(message, is_open=message.role == "model")
    return RedactedMessage(made, tuple(hand.found), tuple(hand.left))


class _Hand:
    """
    Goes through a conversation and remembers what it met.

    Attributes:
        index: the wire index of the message it is at.
        found, left: as in `Redacted`.
    """

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._ids: dict[str, tuple[tuple[str, int], ...]] = {}  # an id stands twice, a name many times
        self.index: int | None = None
        self.found: list[Found] = []
        self.left: list[Left] = []

    # -- what was met -------------------------------------------------------------------------------------------------

    def _take(self, masked: Masked) -> str:
        self.found += [Found(self.index, kind, chars) for kind, chars in masked.found]
        self.left += [Left(self.index, kind, chars, "json") for kind, chars in masked.kept]
        return masked.text

    def _words(self, text: str) -> str:
        return self._take(mask(text, self._redactor))

    def _leave(self, text: str, why: str) -> None:
        self.left += [Left(self.index, kind, chars, why) for kind, chars in mask(text, self._redactor).found]

    def _leave_id(self, text: str) -> None:
        if text not in self._ids:
            self._ids[text] = mask(text, self._redactor).found
        self.left += [Left(self.index, kind, chars, "id") for kind, chars in self._ids[text]]

    def _leave_value(self, value: Json, why: str) -> None:
        text = value if isinstance(value, str) else _written(value)
        masked = mask_json(text, self._redactor)
        self.left += [Left(self.index, kind, chars, why) for kind, chars in (*masked.found, *masked.kept)]

    # -- around the messages ------------------------------------------------------------------------------------------

    def around(self, conversation: Conversation) -> Conversation:
        """The instructions and the descriptions of tools redacted; of settings it is only said where a secret stands."""
        envelope, views = conversation.envelope, self
        if envelope.fields is not None:
            envelope = Envelope(envelope.kind, tuple((name, self._field(name, value)) for name, value in envelope.fields))
            views = _Hand(self._redactor)  # they say the same again: nothing is counted twice
        system = tuple(map(views.block, conversation.system))
        tools = tuple(Tool(tool.name, views.value(tool.value, under=_DESCRIPTIONS)) for tool in conversation.tools)
        return evolve(conversation, envelope=envelope, system=system, tools=tools) if self.found else conversation

    def _field(self, name: str, value: Json) -> Json:
        if name in _SYSTEM:
            return self.value(value, under=_WORDS)
        if name in _TOOLS:
            return self.value(value, under=_DESCRIPTIONS)
        if value is not None:
            self._leave_value(value, "setting")
        return value

    def value(self, value: Json, *, under: frozenset[str] | None = None, why: str = "setting") -> Json:
        """A JSON value with its strings redacted, or those under these keys; of the others it is said that they stay."""
        written = _written(value)
        masked = mask_json(written, self._redactor, under=under) if written else Masked("")
        made = value
        if masked.found:
            try:
                made = loads(masked.text)
            except WireError:  # it was made by hand, of what is no JSON
                return value
        self._take(masked)
        if under is not None:
            self.left += [Left(self.index, *one, why) for one in mask_json(masked.text, self._redactor).found]
        return made

    # -- messages -----------------------------------------------------------------------------------------------------

    def message(self, message: Message, *, is_open: bool) -> Message:
        """A message with its blocks redacted; one of the current turn that the model wrote is only looked at."""
        if message.wire.rest:
            self._leave_value(dict(message.wire.rest), "unknown")
        content = message.content
        if isinstance(content, str):
            if is_open:
                self._leave(content, "current turn")
                return message
            words = self._text(content)
            return message if words is content else evolve(message, content=words)
        look: Callable[[Block], Block] = self._only_look if is_open else self.block
        blocks = tuple(map(look, content))
        return message if _same(blocks, content) else evolve(message, content=blocks)

    def _only_look(self, block: Block) -> Block:
        before = len(self.found)
        self.block(block)
        self.left += [Left(one.index, one.kind, one.chars, "current turn") for one in self.found[before:]]
        del self.found[before:]
        return block

    def block(self, block: Block) -> Block:
        """A block redacted, or the same if it holds no secret or may not be altered."""
        match block:
            case Text():
                return self._text_block(block)
            case Result():
                return self._result(block)
            case Call():
                return self._call(block)
            case Media():
                return self._media(block)
            case Reasoning():
                self._leave(block.text, "reasoning")
            case Opaque():
                self._leave_value(block.value, "unknown")
        return block

    def _text_block(self, block: Text) -> Text:
        shape = block.wire
        if shape.rest:
            (tag, value), *others = shape.rest
            if tag == shape.tag and _written(value) == block.text:  # a value that was spelled out
                made = self.value(value)
                return block if made is value else Text(dumps(made), evolve(shape, rest=((tag, made), *others)))
            if not _SIGNATURES.isdisjoint(shape.keys):
                self._leave(block.text, "signed")
                return block
            self._leave_value(dict(shape.rest), "unknown")
        words = self._text(block.text)
        return block if words is block.text else evolve(block, text=words)

    def _text(self, text: str) -> str:
        """Words; where they are a summary of ours, or what we quoted behind one, what counts their letters is written anew."""
        summary = read_summary(text)
        if summary is not None and write_summary(summary.body, summary.layout) == text:
            body = self._words(summary.body)
            return text if body is summary.body else write_summary(body, summary.layout)
        earlier = read_earlier(text)
        if earlier and write_earlier(earlier) == text:
            entries = [evolve(entry, text=self._words(entry.text)) for entry in earlier]
            return text if entries == [*earlier] else write_earlier(entries)
        return self._words(text)

    def _result(self, result: Result) -> Result:
        self._leave_id(result.call_id)
        if not (result.is_client or result.wire.tag in _OF_FILES):
            self._leave_value([_texts_of(result), dict(result.wire.rest)], "provider")
            return result
        if result.wire.rest:
            self._leave_value(dict(result.wire.rest), "unknown")
        content = result.content
        if isinstance(content, str):
            words = self._words(content)
            return result if words is content else evolve(result, content=words)
        if content is None:
            return result
        blocks = tuple(map(self.block, content))
        return result if _same(blocks, content) else evolve(result, content=blocks)

    def _call(self, call: Call) -> Call:
        arguments, rest = call.arguments, dict(call.wire.rest)
        self._leave_id(call.id)
        self._leave_id(call.name)
        why = "" if call.is_client or call.wire.tag in _OF_FILES else "provider"
        if not _SIGNATURES.isdisjoint(rest):
            why = "signed"
        if why:
            self._leave_value(arguments, why)
        if rest:
            self._leave_value(rest, why or "unknown")
        if why:
            return call
        if isinstance(arguments, str):
            made: Json = self._take(mask_json(arguments, self._redactor))
        else:
            made = self.value(arguments)
        return call if made is arguments else evolve(call, arguments=made)

    def _media(self, media: Media) -> Media:
        if media.wire.rest:
            self._leave_value(dict(media.wire.rest), "unknown")
        if media.url is not None:
            self._leave(media.url, "address")
        source = media.source
        if not isinstance(source, dict):
            return media
        kind = source.get("type")
        key = "data" if kind == "text" else "content" if kind == "content" else "text"  # of documents that are words
        inner = source.get(key)
        made = self._words(inner) if isinstance(inner, str) else self.value(inner, under=_WORDS, why="unknown")
        if made is inner:
            return media
        return evolve(media, source={**source, key: made}, data=made if media.data == inner else media.data)


def _written(value: Json) -> str:
    """A value as JSON; nothing of one that was made by hand and is none."""
    try:
        return dumps(value)
    except (TypeError, ValueError, RecursionError):
        return ""


def _texts_of(result: Result) -> Json:
    return [getattr(block, "text", getattr(block, "value", None)) for block in result.blocks]


def _same(made: Sequence[Block], given: Sequence[Block]) -> bool:
    return all(one is other for one, other in zip(made, given, strict=True))


def _joined_again(messages: list[Message], head: tuple[int, int]) -> tuple[Message, ...]:
    """The messages; where the head is one text, its summary says how long its neighbours are now."""
    inside = range(*head)
    lengths = {origin: _lengths(messages[at] for at in inside if messages[at].origin is origin) for origin in _HEADED}
    for at in inside:
        message = messages[at]
        first = message.blocks[0] if message.origin is Origin.SUMMARY and message.content else None
        summary = read_summary(first.text) if isinstance(first, Text) else None
        if isinstance(first, Text) and summary is not None and summary.layout.joined_chars:
            joined = (*lengths[Origin.PIN], *lengths[Origin.SUMMARY][1:], *lengths[Origin.REMINDER])
            text = write_summary(summary.body, evolve(summary.layout, joined_chars=joined))
            if text != first.text:
                content = text if isinstance(message.content, str) else (evolve(first, text=text), *message.content[1:])
                messages[at] = evolve(message, content=content)
    return tuple(messages)


def _lengths(messages: Iterable[Message]) -> tuple[int, ...]:
    return tuple(len(block.text) for message in messages for block in message.blocks if isinstance(block, Text))
