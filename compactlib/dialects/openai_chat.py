"""
OpenAI Chat Completions, and what is compatible with it: wire shape <-> model.

Grammar (what is read; all else is a `WireError`)

    body      = {"messages": [message*], "tools"?: [tool*], ...}
    message   = {"role": string, "content"?: string | [part*] | null, ...}
    assistant = message with "tool_calls"?: [call*] | null, "reasoning_content"?: string | null
    tool      = message with "tool_call_id"?: string
    call      = {"id"?: string, "type"?: "function", "function": {"name": string, "arguments"?: string}}

How it maps
    * A tool message holds one `Result`; a run of them answers one batch.
    * The blocks of an assistant message are, in this order: reasoning, the
      content's parts, its calls.  `Wire.form` says what the content was
      (``string``, ``list``, ``null``, ``absent``).
    * ``arguments`` is the very string the model wrote, never parsed and
      written anew.  Where a body holds an object there, that object is kept,
      so that rule O-ARGS-01 can name it.
    * Keys padded with ``null``, as data sets have them, are residue and mean
      the same as absent keys.
    * The old ``function_call`` and role ``function`` are a call and a result
      without an id.

What is not here
    What is legal (`protocol`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from ..errors import WireError
from ..model import (
    Block,
    Call,
    Json,
    Media,
    Message,
    Opaque,
    Reasoning,
    Result,
    Role,
    Text,
    Tool,
    Wire,
    new_call,
    new_message,
    new_result,
    new_text,
    wire,
)
from .shapes import ShapeError, Take, address, kind_of, objects_of, shape_of, shape_of_nested, string, write, write_nested

__all__ = [
    "NAME",
    "ReadPart",
    "parse_messages",
    "parse_part",
    "parse_system",
    "parse_tools",
    "read_media",
    "read_messages",
    "render_message",
]

NAME: Final = "openai-chat"

ReadPart: TypeAlias = Callable[[Json, Take], Block]
"""Reads one part of a content; dialects like this one bring their own."""

_ROLES: Final[dict[str, Role]] = {
    "user": "user",
    "assistant": "model",
    "tool": "tool",
    "function": "tool",
    "system": "system",
    "developer": "developer",
}
# What most objects look like, in the usual orders: as documented, and sorted.  To compare one key or two tells which it is,
# in 0.07 us, where to ask the table of shapes by all keys takes 0.18.
_WORDS: Final[dict[str, tuple[Role, Wire, Wire]]] = {
    word: (role, wire(word, ("role", "content"), "string"), wire(word, ("content", "role"), "string"))
    for word, role in _ROLES.items()
    if role != "tool"
}
"""The wire's word -> the role, and the shape of words alone: with the role first, and with the content first."""
_PLAIN_TEXT: Final = wire("text", ("type", "text"))
_CALLING: Final = wire("assistant", ("role", "content", "tool_calls"), "string")
_CALLING_SORTED: Final = wire("assistant", ("content", "role", "tool_calls"), "string")
_ANSWER: Final = wire("tool", ("role", "tool_call_id", "content"), "string")
_ANSWER_SORTED: Final = wire("tool", ("content", "role", "tool_call_id"), "string")
_FUNCTION_CALL: Final = wire("function", ("id", "type", "function", "name", "arguments"), "3")
_FUNCTION_CALL_SORTED: Final = wire("function", ("function", "id", "type", "arguments", "name"), "3")
_REASONING: Final = ("reasoning_content", "reasoning")
_MEDIA: Final = {"image_url": "image", "input_audio": "audio", "file": "file", "video_url": "video"}
_CALL_KINDS: Final = {"function": "arguments", "custom": "input"}  # the wire's word for a call -> its arguments' key
_FUNCTION: Final = frozenset({"name", "arguments"})
_TOOL: Final = wire("tool")


def parse_messages(raw: list[Json], take: Take) -> list[Message]:
    """
    The messages of a body.

    Raises:
        WireError: with the path of the first wrong shape.
    """
    return read_messages(raw, take, parse_part)


def read_messages(raw: list[Json], take: Take, read_part: ReadPart) -> list[Message]:
    """`parse_messages`, with what the parts of a content are left to *read_part*."""
    messages: list[Message] = []
    append = messages.append
    try:
        for item in raw:
            if item.__class__ is not dict:
                raise ShapeError("", f"a message is an object, not {kind_of(item)}")
            word, content = item.get("role"), item.get("content")
            if word.__class__ is not str:
                raise ShapeError(".role", f"a role is a string, not {kind_of(word)}")
            if content.__class__ is str or content is None:
                made = _plain_message(item, word, content, take)
                if made is not None:
                    append(made)
                    continue
            append(_parse_message(item, word, content, take, read_part))
    except ShapeError as error:
        raise WireError(f"$.messages[{len(messages)}]{error.path}", error.problem) from None
    return messages


def _plain_message(raw: dict[str, Json], word: str, content: str | None, take: Take) -> Message | None:
    """Words alone, words and calls, or one answer, and nothing besides: most of all messages.  ``None`` if it is more."""
    if len(raw) == 2:
        if content is None or word not in _WORDS:
            return None
        role, role_first, content_first = _WORDS[word]
        first, _ = raw
        return new_message(role, content, role_first if first == "role" else content_first)
    if len(raw) != 3:
        return None
    first, second, third = raw
    if word == "tool":
        call_id = raw.get("tool_call_id")
        if content is None or call_id.__class__ is not str:
            return None
        if first == "role" and second == "tool_call_id":
            shape = _ANSWER
        elif first == "content" and second == "role":
            shape = _ANSWER_SORTED
        else:
            shape = wire("tool", (first, second, third), "string")
        return new_message("tool", (new_result(call_id, content, _TOOL),), shape)
    if word == "assistant" and raw.get("tool_calls").__class__ is list:
        if content is None:
            if "content" not in raw:
                return None
            shape = wire("assistant", (first, second, third), "null")
            return new_message("model", _parse_calls(raw["tool_calls"], take), shape)
        if third == "tool_calls":
            shape = _CALLING if first == "role" else _CALLING_SORTED
        else:
            shape = wire("assistant", (first, second, third), "string")
        return new_message("model", (new_text(content, _PLAIN_TEXT), *_parse_calls(raw["tool_calls"], take)), shape)
    return None


def parse_system(fields: dict[str, Json]) -> tuple[Block, ...]:
    """Nothing: system messages stand among the messages."""
    del fields
    return ()


def parse_tools(fields: dict[str, Json]) -> tuple[Tool, ...]:
    """The ``tools`` parameter."""
    made = []
    for tool in objects_of(fields.get("tools"), "$.tools"):
        inner = tool.get(str(tool.get("type")), tool.get("function"))
        name = inner.get("name") if isinstance(inner, dict) else tool.get("name")
        made.append(Tool(name if isinstance(name, str) else "", tool))
    return tuple(made)


def _parse_message(raw: dict[str, Json], word: str, content: Json, take: Take, read_part: ReadPart) -> Message:
    role = _ROLES.get(word, "other")
    known = {"role", "content"}
    parts: str | tuple[Block, ...] | None
    if content.__class__ is str:
        form, parts = "string", content
    elif content.__class__ is list:
        form, parts = "list", _parse_parts(content, take, read_part)
    elif content is None:
        form, parts = ("null" if "content" in raw else "absent"), None
    else:
        raise ShapeError(".content", f"content is a string, a list of parts or null, not {kind_of(content)}")
    if role == "tool":
        call_id = raw.get("tool_call_id")
        if call_id is not None:
            if call_id.__class__ is not str:
                raise ShapeError(".tool_call_id", f"a tool_call_id is a string, not {kind_of(call_id)}")
            known.add("tool_call_id")
        result = Result(call_id or "", parts, wire(word))
        return Message(role, (result,), shape_of(raw, word, known, take, form))
    blocks: list[Block] = []
    if role == "model":
        blocks.extend(_parse_reasoning(raw, known))
    if isinstance(parts, str):
        blocks.append(Text(parts))
    elif parts is not None:
        blocks.extend(parts)
    if role == "model":
        blocks.extend(_parse_all_calls(raw, known, take))
    shape = shape_of(raw, word, known, take, form)
    if form == "string" and len(blocks) == 1:
        return Message(role, content, shape)
    return Message(role, tuple(blocks), shape)


def _parse_reasoning(raw: dict[str, Json], known: set[str]) -> list[Block]:
    for key in _REASONING:
        text = raw.get(key)
        if text.__class__ is str:
            known.add(key)
            return [Reasoning(text, None, wire(key))]
    return []


def _parse_all_calls(raw: dict[str, Json], known: set[str], take: Take) -> list[Block]:
    """Those in ``tool_calls``, and one of the old kind."""
    made: list[Block] = []
    calls = raw.get("tool_calls")
    if calls.__class__ is list:
        known.add("tool_calls")
        made.extend(_parse_calls(calls, take))
    elif calls is not None:
        raise ShapeError(".tool_calls", f"tool_calls is a list or null, not {kind_of(calls)}")
    legacy = raw.get("function_call")
    if legacy.__class__ is dict:
        known.add("function_call")
        shape = shape_of(legacy, "function_call", _FUNCTION, take)
        made.append(Call("", _name(legacy, ".function_call"), take(legacy.get("arguments")), shape))
    return made


def _parse_calls(raw: list[Json], take: Take) -> tuple[Call, ...]:
    made: list[Call] = []
    for place, call in enumerate(raw):
        try:
            made.append(_parse_call(call, take))
        except ShapeError as error:
            raise ShapeError(f".tool_calls[{place}]{error.path}", error.problem) from None
    return tuple(made)


def _parse_call(raw: Json, take: Take) -> Call:
    if raw.__class__ is not dict:
        raise ShapeError("", f"a tool call is an object, not {kind_of(raw)}")
    inner = raw.get("function")
    if inner.__class__ is dict and len(raw) == 3 and len(inner) == 2 and raw.get("type") == "function":
        call_id, name, arguments = raw.get("id"), inner.get("name"), inner.get("arguments")
        if call_id.__class__ is name.__class__ is arguments.__class__ is str:  # as nearly all calls are
            first, second, third = raw
            first_inside, second_inside = inner
            if first == "id" and second == "type" and first_inside == "name":
                shape = _FUNCTION_CALL
            elif first == "function" and second == "id" and first_inside == "arguments":
                shape = _FUNCTION_CALL_SORTED
            else:
                shape = wire("function", (first, second, third, first_inside, second_inside), "3")
            return new_call(call_id, name, arguments, shape)
    return _parse_odd_call(raw, take)


def _parse_odd_call(raw: dict[str, Json], take: Take) -> Call:
    """A call that lacks something, holds something more, or is of another kind."""
    kind = raw.get("type", "function")
    tag = kind if isinstance(kind, str) and kind in _CALL_KINDS else "function"
    inner = raw.get(tag)
    if inner.__class__ is not dict:
        raise ShapeError(f".{tag}", f"{tag} is an object, not {kind_of(inner)}")
    call_id = raw.get("id")
    if call_id is not None and call_id.__class__ is not str:
        raise ShapeError(".id", f"a call's id is a string, not {kind_of(call_id)}")
    key = _CALL_KINDS[tag]
    name = _name(inner, f".{tag}")
    arguments = inner.get(key)
    known = set()
    if call_id is not None:
        known.add("id")
    if kind == tag:
        known.add("type")
    shape = shape_of_nested(raw, tag, known, {"name", key}, take)
    return Call(call_id or "", name, arguments if arguments.__class__ is str else take(arguments), shape)


def _name(inner: dict[str, Json], path: str) -> str:
    try:
        return string(inner, "name")
    except ShapeError as error:
        raise ShapeError(path + error.path, error.problem) from None


def _parse_parts(raw: list[Json], take: Take, read_part: ReadPart) -> tuple[Block, ...]:
    made: list[Block] = []
    for place, part in enumerate(raw):
        try:
            made.append(read_part(part, take))
        except ShapeError as error:
            raise ShapeError(f".content[{place}]{error.path}", error.problem) from None
    return tuple(made)


def parse_part(raw: Json, take: Take) -> Block:
    """One part of a content."""
    if raw.__class__ is not dict:
        raise ShapeError("", f"a part is an object, not {kind_of(raw)}")
    kind = raw.get("type")
    if kind == "text":
        text = raw.get("text")
        if text.__class__ is not str:
            raise ShapeError(".text", f"text is a string, not {kind_of(text)}")
        return Text(text, wire("text", tuple(raw)) if len(raw) == 2 else shape_of(raw, "text", {"type", "text"}, take))
    if kind.__class__ is not str:
        raise ShapeError(".type", f"a part's type is a string, not {kind_of(kind)}")
    if kind in _MEDIA:
        return read_media(raw, kind, _MEDIA[kind], take)
    if kind == "tool_use" and isinstance(raw.get("id"), str) and isinstance(raw.get("name"), str):
        # some clients leave Anthropic's call beside their own; it is a call all the same
        return Call(raw["id"], raw["name"], take(raw.get("input")), shape_of(raw, kind, {"type", "id", "name", "input"}, take))
    return Opaque(kind, take(raw))


def read_media(raw: dict[str, Json], tag: str, kind: str, take: Take) -> Media:
    """A part whose value, under its own type word *tag*, says where something of a *kind* is, or is it."""
    source = raw.get(tag)
    url = source
    inline = style = None
    if isinstance(source, dict):
        url, inline = source.get("url", source.get("file_id")), source.get("data", source.get("file_data"))
        style = source.get("format")
    elif tag == "input_audio" and isinstance(source, str) and "://" not in source[:16]:
        url, inline = None, source  # the sound itself
    mime, data, place = address(url)
    if data is None and isinstance(inline, str):
        mime, data, bare = address(inline)
        data = bare if data is None else data
        mime = mime or (f"{kind}/{style}" if isinstance(style, str) else "")
    return Media(kind, mime, data, place, take(source), shape_of(raw, tag, {"type", tag}, take))


def render_message(message: Message, give: Take) -> dict[str, Json]:
    """One message of the body, in a fresh dict."""
    known: dict[str, Json] = {"role": message.wire.tag, "content": None, "tool_calls": []}
    content = message.content
    if isinstance(content, str):
        known["content"] = content
    elif message.role == "tool":
        for result in content:  # there is exactly one
            if isinstance(result, Result):
                parts = result.content
                known["tool_call_id"] = result.call_id
                known["content"] = [_render_part(part, give) for part in parts] if isinstance(parts, tuple) else parts
    else:
        known.update(_render_blocks(content, message.wire.form, give))
    return write(message.wire, known, give)


def _render_blocks(blocks: tuple[Block, ...], form: str, give: Take) -> dict[str, Json]:
    made: dict[str, Any] = {"tool_calls": []}
    parts: list[Json] = []
    for block in blocks:
        if isinstance(block, Reasoning) and block.wire.tag in _REASONING:
            made[block.wire.tag] = block.text
        elif isinstance(block, Call) and block.wire.tag == "function_call":
            made["function_call"] = write(block.wire, {"name": block.name, "arguments": give(block.arguments)}, give)
        elif isinstance(block, Call) and block.wire.tag in _CALL_KINDS:
            made["tool_calls"].append(_render_call(block, give))
        elif form == "string" and isinstance(block, Text):
            made["content"] = block.text
        else:
            parts.append(_render_part(block, give))
    if form == "list":
        made["content"] = parts
    return made


def _render_call(call: Call, give: Take) -> dict[str, Json]:
    tag = call.wire.tag
    inside = {"name": call.name, _CALL_KINDS[tag]: give(call.arguments)}
    return write_nested(call.wire, {"id": call.id, "type": tag}, inside, give)


def _render_part(block: Block, give: Take) -> Json:
    if isinstance(block, Text):
        return write(block.wire, {"type": "text", "text": block.text}, give)
    if isinstance(block, Media):
        return write(block.wire, {"type": block.wire.tag, block.wire.tag: give(block.source)}, give)
    if isinstance(block, Reasoning):  # a chunk of the content
        return write(block.wire, {"type": block.wire.tag}, give)
    if isinstance(block, Call):
        fields = {"type": block.wire.tag, "id": block.id, "name": block.name, "input": give(block.arguments)}
        return write(block.wire, fields, give)
    return give(block.value) if isinstance(block, Opaque) else None
