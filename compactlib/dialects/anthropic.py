"""
The Anthropic Messages API: wire shape <-> model.

Grammar (what is read; all else is a `WireError`)

    body      = {"messages": [message*], "system"?: string | [block*], "tools"?: [tool*], ...}
    message   = {"role": string, "content": string | [block*], ...}
    block     = {"type": string, ...}

How it maps
    * ``tool_use`` is a `Call`, ``tool_result`` a `Result` in a user message.
      Server and MCP tools (``server_tool_use``, ``mcp_tool_use`` and their
      ``*_tool_result``) are the same two classes inside the model's message;
      their `Wire.tag` tells them apart.
    * ``thinking`` and ``redacted_thinking`` are `Reasoning`; the signature or
      the encrypted data is the seal.
    * ``image`` and ``document`` are `Media`.  Every other type is `Opaque`.
    * ``cache_control``, ``is_error``, ``citations`` and whatever else a block
      carries is residue in its `Wire`.

What is not here
    What is legal (`protocol`).  A body that breaks a rule but has the right
    shape is read, so that the rule can be named.
"""

from __future__ import annotations

from typing import Final

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
    shapes,
    wire,
)
from .shapes import ShapeError, Take, blocks_of, kind_of, objects_of, shape_of, string, write

__all__ = ["NAME", "parse_messages", "parse_system", "parse_tools", "render_message"]

NAME: Final = "anthropic"

# What most objects look like, in the two usual orders: as documented, and sorted.  To compare one key or two tells which it
# is, in 0.07 us, where to ask the table of shapes by all keys takes 0.18.
_WORDS: Final[dict[str, Role]] = {"user": "user", "assistant": "model", "system": "system"}
_ROLES: Final[dict[str, tuple[Role, Wire, Wire]]] = {
    word: (role, wire(word, ("role", "content")), wire(word, ("content", "role"))) for word, role in _WORDS.items()
}
"""The wire's word -> the role, and the shape of a message of two keys: with the role first, and with the content first."""
_TEXT: Final = wire("text", ("type", "text"))
_TEXT_FIRST: Final = wire("text", ("text", "type"))
_TOOL_USE: Final = wire("tool_use", ("type", "id", "name", "input"))
_TOOL_USE_SORTED: Final = wire("tool_use", ("id", "input", "name", "type"))
_TOOL_RESULT: Final = wire("tool_result", ("type", "tool_use_id", "content"))
_TOOL_RESULT_SORTED: Final = wire("tool_result", ("content", "tool_use_id", "type"))
_MESSAGE_KEYS: Final = frozenset({"role", "content"})
_MEDIA: Final = frozenset({"image", "document"})
_CALLS: Final = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})
_CALL_FIELDS: Final = frozenset({"type", "id", "name", "input"})
_RESULT_FIELDS: Final = frozenset({"type", "tool_use_id", "content"})
_FIELDS: Final[dict[str, frozenset[str]]] = {
    "text": frozenset({"type", "text"}),
    "thinking": frozenset({"type", "thinking", "signature"}),
    "redacted_thinking": frozenset({"type", "data"}),
    "media": frozenset({"type", "source"}),
}


def parse_messages(raw: list[Json], take: Take) -> list[Message]:
    """
    The messages of a body.

    Raises:
        WireError: with the path of the first wrong shape.
    """
    messages: list[Message] = []
    append = messages.append
    blocks: list[Block] | None = None  # those of the message being read
    try:
        for item in raw:
            blocks = None
            if item.__class__ is not dict:
                raise ShapeError("", f"a message is an object, not {kind_of(item)}")
            role = item.get("role")
            if role.__class__ is not str:
                raise ShapeError(".role", f"a role is a string, not {kind_of(role)}")
            content = item.get("content")
            if content.__class__ is list:
                blocks = []
                for block in content:
                    blocks.append(_parse_block(block, take))
                content = tuple(blocks)
                blocks = None
            elif content.__class__ is not str:
                raise ShapeError(".content", f"content is a string or a list of blocks, not {kind_of(content)}")
            known = _ROLES.get(role)
            if known is None:
                append(Message("other", content, shape_of(item, role, _MESSAGE_KEYS, take)))
                continue
            neutral, role_first, content_first = known
            if len(item) == 2:
                first, _ = item
                shape = role_first if first == "role" else content_first
            else:
                shape = shape_of(item, role, _MESSAGE_KEYS, take)
            append(new_message(neutral, content, shape))
    except ShapeError as error:
        where = f"$.messages[{len(messages)}]" + (f".content[{len(blocks)}]" if blocks is not None else "")
        raise WireError(where + error.path, error.problem) from None
    return messages


def parse_system(fields: dict[str, Json]) -> tuple[Block, ...]:
    """The ``system`` parameter: a string or a list of blocks."""
    value = fields.get("system")
    if value is None:
        return ()
    if isinstance(value, str):
        return (Text(value),)
    if not isinstance(value, list):
        raise WireError("$.system", f"system is a string or a list of blocks, not {kind_of(value)}")
    return blocks_of(value, "$.system", _parse_block)


def parse_tools(fields: dict[str, Json]) -> tuple[Tool, ...]:
    """The ``tools`` parameter."""
    tools = objects_of(fields.get("tools"), "$.tools")
    return tuple(Tool(name if isinstance(name := tool.get("name"), str) else "", tool) for tool in tools)


def _parse_block(raw: Json, take: Take) -> Block:
    if raw.__class__ is not dict:
        raise ShapeError("", f"a block is an object, not {kind_of(raw)}")
    kind = raw.get("type")
    if kind == "text":
        text = raw.get("text")
        if text.__class__ is not str:
            raise ShapeError(".text", f"text is a string, not {kind_of(text)}")
        if len(raw) == 2:
            first, _ = raw
            return new_text(text, _TEXT if first == "type" else _TEXT_FIRST)
        return new_text(text, shape_of(raw, kind, _FIELDS["text"], take))
    if kind == "tool_use":
        name, call_id = raw.get("name"), raw.get("id")
        if len(raw) == 4 and name.__class__ is str and call_id.__class__ is str:
            first, second, third, fourth = raw
            if first == "type" and second == "id" and third == "name" and fourth == "input":
                return new_call(call_id, name, take(raw["input"]), _TOOL_USE)
            if first == "id" and second == "input" and third == "name":
                return new_call(call_id, name, take(raw["input"]), _TOOL_USE_SORTED)
        return _parse_call(raw, kind, take)
    if kind == "tool_result":
        content, call_id = raw.get("content"), raw.get("tool_use_id")
        if len(raw) == 3 and content.__class__ is str and call_id.__class__ is str:
            first, second, _ = raw
            if second == "tool_use_id":
                return new_result(call_id, content, _TOOL_RESULT if first == "type" else _TOOL_RESULT_SORTED)
        return _parse_result(raw, kind, take)
    if kind.__class__ is not str:
        raise ShapeError(".type", f"a block's type is a string, not {kind_of(kind)}")
    if kind == "thinking":
        seal = raw.get("signature")
        if seal is not None and seal.__class__ is not str:
            raise ShapeError(".signature", f"a signature is a string, not {kind_of(seal)}")
        # a null signature is residue, so that it is written back as it was
        known = _FIELDS["thinking"] if seal is not None else _FIELDS["thinking"] - {"signature"}
        return Reasoning(string(raw, "thinking"), seal, shape_of(raw, kind, known, take))
    if kind == "redacted_thinking":
        return Reasoning("", string(raw, "data"), shape_of(raw, kind, _FIELDS["redacted_thinking"], take))
    if kind in _MEDIA:
        return _parse_media(raw, kind, take)
    if kind in _CALLS:
        return _parse_call(raw, kind, take)
    if kind.endswith("_tool_result") and raw.get("tool_use_id").__class__ is str:
        return _parse_result(raw, kind, take)
    return Opaque(kind, take(raw))


def _parse_call(raw: dict[str, Json], kind: str, take: Take) -> Call:
    shape = shapes(kind).get(tuple(raw)) or shape_of(raw, kind, _CALL_FIELDS, take)
    return Call(string(raw, "id"), string(raw, "name"), take(raw.get("input")), shape)


def _parse_result(raw: dict[str, Json], kind: str, take: Take) -> Result:
    content = raw.get("content")
    form = ""
    blocks: str | tuple[Block, ...] | None
    if content.__class__ is str or content is None:
        blocks = content
    elif content.__class__ is list:
        parts: list[Block] = []
        for place, item in enumerate(content):
            try:
                parts.append(_parse_nested(item, take))
            except ShapeError as error:
                raise ShapeError(f".content[{place}]{error.path}", error.problem) from None
        blocks = tuple(parts)
    elif content.__class__ is dict and kind != "tool_result":
        form = "object"  # server tools answer with one object
        blocks = (Opaque(str(content.get("type", "")), take(content)),)
    else:
        raise ShapeError(".content", f"a result's content is a string or a list of blocks, not {kind_of(content)}")
    shape = shapes(kind, form).get(tuple(raw)) or shape_of(raw, kind, _RESULT_FIELDS, take, form)
    return Result(string(raw, "tool_use_id"), blocks, shape)


def _parse_nested(raw: Json, take: Take) -> Block:
    """A block inside a result: text and media are understood, all else is opaque, so nesting ends here."""
    if raw.__class__ is not dict:
        raise ShapeError("", f"a block is an object, not {kind_of(raw)}")
    kind = raw.get("type")
    if kind.__class__ is not str:
        raise ShapeError(".type", f"a block's type is a string, not {kind_of(kind)}")
    if kind == "text" or kind in _MEDIA:
        return _parse_block(raw, take)
    return Opaque(kind, take(raw))


def _parse_media(raw: dict[str, Json], kind: str, take: Take) -> Media:
    source = raw.get("source")
    if source.__class__ is not dict:
        raise ShapeError(".source", f"a source is an object, not {kind_of(source)}")
    mime, data, url = source.get("media_type"), source.get("data"), source.get("url", source.get("file_id"))
    return Media(
        kind,
        mime if isinstance(mime, str) else "",
        data if isinstance(data, str) else None,
        url if isinstance(url, str) else None,
        take(source),
        shape_of(raw, kind, _FIELDS["media"], take),
    )


def render_message(message: Message, give: Take) -> dict[str, Json]:
    """One message of the body, in a fresh dict."""
    content = message.content
    made = content if isinstance(content, str) else [_render_block(block, give) for block in content]
    return write(message.wire, {"role": message.wire.tag, "content": made}, give)


def _render_block(block: Block, give: Take) -> Json:
    if isinstance(block, Text):
        return write(block.wire, {"type": "text", "text": block.text}, give)
    if isinstance(block, Call):
        fields = {"type": block.wire.tag, "id": block.id, "name": block.name, "input": give(block.arguments)}
        return write(block.wire, fields, give)
    if isinstance(block, Result):
        content: Json = block.content
        if isinstance(content, tuple):
            content = [_render_block(part, give) for part in content]
            if block.wire.form == "object":
                content = content[0]
        return write(block.wire, {"type": block.wire.tag, "tool_use_id": block.call_id, "content": content}, give)
    if isinstance(block, Reasoning):
        fields = {"type": block.wire.tag, "thinking": block.text, "signature": block.seal, "data": block.seal}
        return write(block.wire, fields, give)
    if isinstance(block, Media):
        return write(block.wire, {"type": block.wire.tag, "source": give(block.source)}, give)
    return give(block.value)
