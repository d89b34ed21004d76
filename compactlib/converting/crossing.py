"""
What of a message crosses to another provider, and what does not.

What this is
    `cross`, which reads the messages of a conversation into slots: words,
    media, calls of the caller's tools and their results.

Rules it obeys
    * Whatever does not cross is a named loss; nothing goes in silence but what
      says nothing: null and empty fields, ids and states of items, and empty
      words beside others.
    * Law L5.  Seals bind reasoning to its provider, so no reasoning crosses,
      signed or not.
    * Arguments cross as the target wants them: as the very string that the
      model wrote from one provider that takes strings to another, else as the
      same JSON value.
    * Law L9.  Nothing is invented: where a medium cannot be held a note says so.

How it works
    Block by block, by tables: which fields mean nothing, which are a mark, a
    seal, a citation.  What has no entry is a field that is lost.

What is not here
    Pairs and order (`batches`), media in results (`carriers`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from typing import Final, Literal

from attrs import evolve

from ..dialects.reading import copy_json, dumps, loads
from ..errors import WireError
from ..model import Block, Call, Conversation, Json, Media, Message, Opaque, Origin, Reasoning, Result, Text
from ..protocol.openai_chat import is_json
from ..protocol.signatures import SENTINELS
from ..protocol.violation import quote
from .losses import Losses
from .media import fit, plain_media
from .slots import ANSWER, CALL, FAILED, Piece, Slot, note, pieces_of

__all__ = ["UNPARSED", "cross", "is_shallow", "without_halves", "words_of_system"]

UNPARSED: Final = "unparsed_arguments"
"""The key under which arguments that are no JSON object stand as a whole."""

_HALVES: Final = re.compile("[\ud800-\udfff]")
_NO_OUTPUT: Final = "(no output)"
_DEEPEST: Final = 100  # levels of a value that moves; with those around it less than is read
_OBJECT_ARGUMENTS: Final = frozenset({"anthropic", "gemini", "bedrock"})
_NO_ERROR_FLAG: Final = frozenset({"openai-chat", "openai-responses", "mistral"})
_NO_BLANKS: Final = frozenset({"anthropic", "bedrock"})
_FUNCTIONS: Final = frozenset({"tool_call", "tool_use", "function", "functionCall", "function_call", "toolUse"})
_SIDES: Final[Mapping[str, Literal["system", "user", "model"]]] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "model": "model",
}
_APPROVALS: Final = frozenset({"mcp_approval_request", "mcp_approval_response"})
_MEANINGLESS: Final = frozenset({"id", "isError", "status", "step_id", "type", "index", "is_error", "json"})
_BY_FIELD: Final = {
    "cache_control": "cache-mark",
    "citations": "citation",
    "annotations": "citation",
    "thoughtSignature": "seal",
    "thought_signature": "seal",
    "reasoning": "reasoning",
    "reasoning_content": "reasoning",
    "reasoning_details": "reasoning",
}


def cross(conversation: Conversation, dialect: str, losses: Losses, *, tells_errors: bool = False) -> list[Slot]:
    """
    The messages as slots for *dialect*; a message of which nothing crosses has none.

    Args:
        conversation: what is converted.
        dialect: the target.
        losses: where what does not cross is noted.
        tells_errors: whether words will say of a result that it is an error, so that it is no loss that nothing else can.
    """
    crossing = _Crossing(conversation, dialect, losses, tells_errors=tells_errors)
    slots: list[Slot] = []
    for position, message in enumerate(conversation.messages):
        slot = crossing.message(position, message)
        if slot is None:
            continue
        if conversation.dialect == "atif":
            slots += _observed(slot)
            continue
        if slot.side == "model" or not any(isinstance(block, Call) for block, _origin in slot.pieces):
            slots.append(slot)
        else:
            losses.at("role", position, "calls that stood in a message of another side are in one of the model's now")
            slots += _divided(slot)
    return slots


def _divided(slot: Slot) -> Iterator[Slot]:
    """A slot that is not the model's, with the calls in it in slots of the model's."""
    for is_call, run in groupby(slot.pieces, key=lambda piece: isinstance(piece[0], Call)):
        pieces = tuple(run)
        yield Slot("model", pieces, slot.position) if is_call else evolve(slot, pieces=pieces)


def _observed(slot: Slot) -> list[Slot]:
    """
    A step of ATIF: what was said and called with the results of these calls, and in a user's message what else was observed.

    Where a result names no call, the calls that are left are answered in order.
    """
    waiting = [block.id for block, _origin in slot.pieces if isinstance(block, Call)]
    named = {block.call_id for block, _origin in slot.pieces if isinstance(block, Result)}
    unnamed = [key for key in waiting if key not in named]
    kept: list[Piece] = []
    seen: list[Piece] = []
    for block, origin in slot.pieces:
        if not isinstance(block, Result):
            kept.append((block, origin))
            continue
        key = block.call_id or (unnamed.pop(0) if unnamed else "")
        if key in waiting:
            waiting.remove(key)
            kept.append((evolve(block, call_id=key), origin))
        else:
            seen += [(part, Origin.TOOL) for part in block.blocks if part != Text("")]
    return [evolve(slot, pieces=tuple(kept))] * bool(kept) + [Slot("user", tuple(seen), slot.position)] * bool(seen)


def words_of_system(conversation: Conversation, losses: Losses) -> list[str]:
    """The instructions that stand beside the messages, one text a block."""
    words = []
    for place, block in enumerate(conversation.system):
        if not isinstance(block, Text):
            kind = block.kind if isinstance(block, Opaque | Media) else type(block).__name__.lower()
            name = "cache-mark" if kind == "cachePoint" else "media" if isinstance(block, Media) else "opaque"
            losses.around(name, "/system", f"block {place} of the instructions, {quote(kind)}, was left out")
            continue
        for key, name in _lost(block.wire.rest):
            losses.around(name, "/system", f"{quote(key)} of block {place} of the instructions was left out")
        if block.text:
            words.append(without_halves(block.text))
            if words[-1] is not block.text:
                losses.around("character", "/system", f"halves of characters in block {place} of the instructions were replaced")
    return words


def _lost(rest: Iterable[tuple[str, Json]]) -> list[tuple[str, str]]:
    """The fields of a residue that say something, each with the name of the loss that it is."""
    found = []
    for key, value in rest:
        if value is None or value is False or key in _MEANINGLESS:
            continue
        if isinstance(value, str | list | dict) and (not value or (isinstance(value, str) and value in SENTINELS)):
            continue
        found.append((key, _BY_FIELD.get(key, "field")))
    return found


class _Crossing:
    """Reads messages, one after the other."""

    def __init__(self, conversation: Conversation, dialect: str, losses: Losses, *, tells_errors: bool) -> None:
        self.source: Final = conversation.dialect
        self.dialect: Final = dialect
        self.losses: Final = losses
        self.no_blanks: Final = dialect in _NO_BLANKS
        self.no_error_flag: Final = dialect in _NO_ERROR_FLAG and not tells_errors
        self.arguments: Final[Callable[[Call], tuple[Json, bool]]] = (
            _as_object if dialect in _OBJECT_ARGUMENTS else _as_json if dialect == "openai-chat" else _as_string
        )
        self.server: set[str] = set()  # ids of calls that the provider ran

    def message(self, position: int, message: Message) -> Slot | None:
        """The slot of a message, if anything of it crosses."""
        role = message.role
        content = message.content
        if (
            isinstance(content, str)
            and content.isascii()
            and not content.isspace()
            and content
            and role in _SIDES
            and not message.wire.rest
        ):
            return Slot(_SIDES[role], tuple(pieces_of(message)), position)  # as most messages
        before = self.losses.count
        pieces: list[Piece] = []
        if role == "other":
            self.losses.at("role", position, f"the role {quote(message.wire.tag)} is written as a user's")
        if message.wire.rest:
            self._fields(position, message, pieces)
        for place, (block, origin) in enumerate(pieces_of(message)):
            made = self._block(position, place, block)
            if made is not None:
                pieces.append((made, origin))
        if not pieces:
            if self.losses.count == before:
                self.losses.at("empty", position, "the message says nothing and was left out")
            return None
        return Slot(_SIDES.get(role, "user"), tuple(pieces), position, role == "tool")

    def _fields(self, position: int, message: Message, pieces: list[Piece]) -> None:
        """What stands beside the content of a message; a refusal is the model's words."""
        for key, name in _lost(message.wire.rest):
            if key == "refusal" and isinstance(message.wire.get(key), str):
                pieces.append((Text(message.wire.get(key)), None))
            elif key != "name" or message.role != "tool":
                self.losses.at(name, position, f"the field {quote(key)} was left out")

    def _block(self, position: int, place: int, block: Block) -> Block | None:
        match block:
            case Text():
                return self._text(position, place, block)
            case Call():
                return self._call(position, place, block)
            case Result():
                return self._result(position, place, block)
            case Media():
                return self._media(position, place, block)
            case Reasoning():
                if block.seal not in SENTINELS:
                    name, what = ("reasoning", "") if block.seal is None else ("seal", "sealed ")
                    self.losses.at(name, position, f"{what}reasoning of {len(block.text):,} characters was left out", place)
                return None
            case Opaque():
                return self._opaque(position, place, block)

    def _residue(self, position: int, place: int, rest: tuple[tuple[str, Json], ...], tag: str, known: str = "") -> None:
        """Name the fields of a block that are lost; those of the object in it under *tag* stand one level down."""
        for key, value in rest:
            inner = value.items() if key == tag and isinstance(value, dict) else ((key, value),)
            for word, name in _lost(inner):
                if word == known:
                    continue
                self.losses.at(name, position, f"the field {quote(word)} was left out", place)

    def _text(self, position: int, place: int, block: Text) -> Text | None:
        shape = block.wire
        if shape.rest:
            self._residue(position, place, shape.rest, "")
        if shape.tag in ("guardContent", "citationsContent"):
            name = "field" if shape.tag == "guardContent" else "citation"
            self.losses.at(name, position, f"the words of {shape.tag} are plain now", place)
        if not block.text:
            return None
        if self.no_blanks and block.text.isspace():
            self.losses.at("empty", position, "a text of white space was left out", place)
            return None
        return self._whole(position, place, block)

    def _whole(self, position: int, place: int, block: Text) -> Text:
        """The text with whole characters only."""
        whole = without_halves(block.text)
        if whole is block.text:
            return block
        self.losses.at("character", position, "halves of characters were replaced", place)
        return Text(whole)

    def _call(self, position: int, place: int, block: Call) -> Call | None:
        if not block.is_client and self.source != "atif":
            self.server.add(block.id)
            self.losses.at("server-tool", position, f"the provider's own call of {quote(block.name)} was left out", place)
            return None
        tag = block.wire.tag
        if tag in _APPROVALS:
            self.losses.at("opaque", position, f"a request for approval to call {quote(block.name)} was left out", place)
            return None
        if block.wire.rest:
            self._residue(position, place, block.wire.rest, tag)
        if tag not in _FUNCTIONS:
            self.losses.at("tool", position, f"a call of the kind {tag} is a function call now", place)
        try:
            arguments, is_whole = self.arguments(block)
        except WireError as error:  # only a call that was made by hand
            words = f"the arguments of {quote(block.id)} are no JSON: {error.problem}"
            raise WireError(self.losses.path(position), words) from error
        if not is_whole:
            self.losses.at("arguments", position, "arguments that are no JSON object were put into one", place)
        whole = without_halves(arguments)
        if whole is not arguments:
            self.losses.at("character", position, "halves of characters in arguments were replaced", place)
        has_id = bool(block.id) and (self.source != "gemini" or "id" in block.wire.keys)
        return Call(block.id, block.name, whole, CALL if has_id else evolve(CALL, form="unnamed"))

    def _result(self, position: int, place: int, block: Result) -> Result | None:
        tag = block.wire.tag
        if not block.is_client and self.source != "atif":
            if block.call_id not in self.server:
                self.losses.at("server-tool", position, "the result of a provider's own call was left out", place)
            return None
        if tag in _APPROVALS:
            self.losses.at("opaque", position, "an answer to a request for approval was left out", place)
            return None
        if block.wire.rest:
            self._residue(position, place, block.wire.rest, tag, known="name")
        is_error = block.is_error
        parts: list[Block] = []
        for part in block.blocks:
            if isinstance(part, Text) and part.wire.tag == "member" and part.wire.keys == ("error",):
                is_error = True
            made = self._part(position, place, part)
            if made is not None:
                parts.append(made)
        if is_error and self.no_error_flag:
            self.losses.at("error-flag", position, "nothing says any more that the result is an error", place)
        if (
            is_error
            and self.no_blanks
            and not any(isinstance(part, Media) or (isinstance(part, Text) and part.text.strip()) for part in parts)
        ):
            self.losses.at("added", position, "an error without words was given some", place)
            parts = [Text(_NO_OUTPUT)]
        content: str | tuple[Block, ...] = tuple(parts)
        if len(parts) <= 1 and not (parts and isinstance(parts[0], Media)):
            content = parts[0].text if parts and isinstance(parts[0], Text) else ""
        return Result(block.call_id, content, FAILED if is_error else ANSWER)

    def _part(self, position: int, place: int, part: Block) -> Block | None:
        """One part of a result."""
        if isinstance(part, Text):
            if part.wire.rest and part.wire.tag != "json":
                self._residue(position, place, part.wire.rest, "")
            return self._whole(position, place, part) if part.text else None
        if isinstance(part, Media):
            return self._media(position, place, part)
        if isinstance(part, Call):
            self.losses.at("opaque", position, f"a call of {quote(part.name)} inside a result was left out", place)
            return None
        return self._block(position, place, part)

    def _media(self, position: int, place: int, block: Media) -> Block | None:
        rest = block.wire.rest
        if rest and block.wire.get("thought") is True:
            self.losses.at("reasoning", position, "a picture that the model thought in was left out", place)
            return None
        if rest:
            self._residue(position, place, tuple(item for item in rest if item[0] not in ("title", "name", "format")), "")
        detail = block.source.get("detail") if isinstance(block.source, dict) else None
        if detail not in (None, "auto"):
            self.losses.at("field", position, f"the field {quote('detail')} was left out", place)
        plain = plain_media(block)
        held = None if plain is None else fit(plain, self.dialect)
        if held is None:
            what = block.kind if plain is None else plain.kind
            why = "its bytes are at its provider" if plain is None else f"{self.dialect} cannot hold it so"
            self.losses.at(
                "media", position, f"a medium, {what} {plain.mime if plain else block.mime}, was left out: {why}", place
            )
            return note(what)
        return held

    def _opaque(self, position: int, place: int, block: Opaque) -> Block | None:
        if block.kind in ("cachePoint", "cache_control"):
            self.losses.at("cache-mark", position, "a mark for the prompt cache was left out", place)
            return None
        value = block.value.get("content") if block.kind == "compaction" and isinstance(block.value, dict) else None
        if isinstance(value, str) and value:
            self.losses.at("opaque", position, "the provider's own compaction is plain words now", place)
            return Text(value)
        self.losses.at("opaque", position, f"a block of the kind {quote(block.kind)} was left out", place)
        return None


def without_halves(value: Json) -> Json:
    """
    A value without lone surrogates, which no provider reads; itself if it has none.

    >>> without_halves("a\\ud800b") == "a\\ufffdb"
    True
    """
    if isinstance(value, str):
        if value.isascii():
            return value
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            return _HALVES.sub("\ufffd", value)
        return value
    if isinstance(value, list):
        items = [without_halves(item) for item in value]
        return items if any(new is not old for new, old in zip(items, value, strict=True)) else value
    if isinstance(value, dict):
        made = {without_halves(key): without_halves(item) for key, item in value.items()}
        is_same = all(key in made and made[key] is item for key, item in value.items())
        return value if is_same else made
    return value


# -- arguments ---------------------------------------------------------------------------------------------------------


def _as_object(call: Call) -> tuple[Json, bool]:
    """The arguments as an object, and whether they are one."""
    value = call.arguments
    if isinstance(value, dict) and is_shallow(value):
        return copy_json(value), True
    if value is None or value == "":
        return {}, True
    if isinstance(value, str) and call.wire.tag in _FUNCTIONS:
        try:
            read = loads(value)
        except WireError:
            read = None
        if isinstance(read, dict) and is_shallow(read):
            return read, True
    return {UNPARSED: value if isinstance(value, str) else dumps(copy_json(value))}, False


def _as_string(call: Call) -> tuple[Json, bool]:
    """The arguments as a string, and whether they are what they were."""
    value = call.arguments
    if isinstance(value, str) and call.wire.tag in _FUNCTIONS:
        return value, True
    if value is None:
        return "{}", True
    if isinstance(value, dict):
        return dumps(copy_json(value)), True
    return dumps({UNPARSED: copy_json(value)}), False


def _as_json(call: Call) -> tuple[Json, bool]:
    """The arguments as a string that is JSON, or empty, and whether they are what they were."""
    text, is_whole = _as_string(call)
    return (text, is_whole) if not text or is_json(text) else (dumps({UNPARSED: text}), False)  # rule O-ARGS-01


def is_shallow(value: Json) -> bool:
    """Whether a value is not nested deeper than it may be where others stand around it."""
    level = [value] if isinstance(value, dict | list) else []
    for _depth in range(_DEEPEST):
        level = [
            item for one in level for item in (one.values() if isinstance(one, dict) else one) if isinstance(item, dict | list)
        ]
        if not level:
            return True
    return False
