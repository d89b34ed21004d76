"""
Messages of MCP's ``sampling/createMessage``: wire shape <-> model.

Grammar (what is read; all else is a `WireError`)

    params    = {"messages": [message*], "systemPrompt"?: string, "tools"?: [tool*], ...}
    message   = {"role": string, "content": block | [block*] | string, ...}
    block     = {"type": string, ...}

How it maps
    * ``tool_use`` is a `Call`, ``tool_result`` a `Result` in a user message, as
      at Anthropic; what a result answers is its ``toolUseId``.
    * A content that is one block and no list has the form ``single``.
    * ``image`` and ``audio`` are `Media`.  Every other type is `Opaque`, and so
      is a block without what its type has, so that rule S-TYPE-01 can name it.
    * ``structuredContent``, ``isError``, ``annotations`` and ``_meta`` are
      residue.

What is not here
    What is legal (`protocol`), and the JSON-RPC message around the params.
"""

from __future__ import annotations

from typing import Final

from ..errors import WireError
from ..model import Block, Call, Json, Media, Message, Opaque, Result, Role, Text, Tool
from .shapes import ShapeError, Take, kind_of, objects_of, shape_of, string, write

__all__ = ["NAME", "parse_messages", "parse_system", "parse_tools", "render_message"]

NAME: Final = "mcp-sampling"

_ROLES: Final[dict[str, Role]] = {"user": "user", "assistant": "model"}
_MEDIA: Final = frozenset({"image", "audio"})
_MESSAGE: Final = frozenset({"role", "content"})
_TEXT: Final = frozenset({"type", "text"})
_MEDIUM: Final = frozenset({"type", "data", "mimeType"})
_CALL: Final = frozenset({"type", "id", "name", "input"})
_RESULT: Final = frozenset({"type", "toolUseId", "content"})


def parse_messages(raw: list[Json], take: Take) -> list[Message]:
    """
    The messages of a request.

    Raises:
        WireError: with the path of the first wrong shape.
    """
    messages: list[Message] = []
    try:
        messages.extend(_parse_message(item, take) for item in raw)  # what was read before an error stays, and is counted
    except ShapeError as error:
        raise WireError(f"$.messages[{len(messages)}]{error.path}", error.problem) from None
    return messages


def parse_system(fields: dict[str, Json]) -> tuple[Block, ...]:
    """The ``systemPrompt``."""
    value = fields.get("systemPrompt")
    if value is None:
        return ()
    if not isinstance(value, str):
        raise WireError("$.systemPrompt", f"systemPrompt is a string, not {kind_of(value)}")
    return (Text(value),)


def parse_tools(fields: dict[str, Json]) -> tuple[Tool, ...]:
    """The ``tools``."""
    tools = objects_of(fields.get("tools"), "$.tools")
    return tuple(Tool(name if isinstance(name := tool.get("name"), str) else "", tool) for tool in tools)


def _parse_message(raw: Json, take: Take) -> Message:
    if raw.__class__ is not dict:
        raise ShapeError("", f"a message is an object, not {kind_of(raw)}")
    word = string(raw, "role")
    content = raw.get("content")
    form = ""
    if content.__class__ is dict:
        form = "single"
        content = (_parse_block(content, take, ".content", is_inside=False),)
    elif content.__class__ is list:
        content = tuple([_parse_block(block, take, f".content[{at}]", is_inside=False) for at, block in enumerate(content)])
    elif content.__class__ is str:
        form = "string"
    else:
        raise ShapeError(".content", f"content is a block or a list of blocks, not {kind_of(content)}")
    return Message(_ROLES.get(word, "other"), content, shape_of(raw, word, _MESSAGE, take, form))


def _parse_block(raw: Json, take: Take, path: str, *, is_inside: bool) -> Block:
    """One block, at *path* of its message; inside a result there are no calls and no further results."""
    if raw.__class__ is not dict:
        raise ShapeError(path, f"a block is an object, not {kind_of(raw)}")
    kind = raw.get("type")
    if kind.__class__ is not str:
        raise ShapeError(f"{path}.type", f"a block's type is a string, not {kind_of(kind)}")
    if kind == "text" and raw.get("text").__class__ is str:
        return Text(raw["text"], shape_of(raw, kind, _TEXT, take))
    if kind in _MEDIA and raw.get("data").__class__ is raw.get("mimeType").__class__ is str:
        return Media(kind, raw["mimeType"], raw["data"], None, None, shape_of(raw, kind, _MEDIUM, take))
    if not is_inside:
        if kind == "tool_use" and raw.get("id").__class__ is raw.get("name").__class__ is str:
            return Call(raw["id"], raw["name"], take(raw.get("input")), shape_of(raw, kind, _CALL, take))
        if kind == "tool_result" and raw.get("toolUseId").__class__ is str:
            return _parse_result(raw, kind, take, path)
    return Opaque(kind, take(raw))


def _parse_result(raw: dict[str, Json], kind: str, take: Take, path: str) -> Result:
    content = raw.get("content")
    parts: str | tuple[Block, ...] | None
    if content.__class__ is list:
        inside = f"{path}.content"
        parts = tuple([_parse_block(part, take, f"{inside}[{at}]", is_inside=True) for at, part in enumerate(content)])
    elif content.__class__ is str or content is None:
        parts = content
    else:
        raise ShapeError(f"{path}.content", f"a result's content is a list of blocks, not {kind_of(content)}")
    form = "error" if raw.get("isError") is True else ""
    return Result(raw["toolUseId"], parts, shape_of(raw, kind, _RESULT, take, form))


def render_message(message: Message, give: Take) -> dict[str, Json]:
    """One message of the request, in a fresh dict."""
    content = message.content
    made: Json = content if message.wire.form == "string" else [_render_block(block, give) for block in message.blocks]
    if message.wire.form == "single" and isinstance(made, list) and len(made) == 1:
        made = made[0]
    return write(message.wire, {"role": message.wire.tag, "content": made}, give)


def _render_block(block: Block, give: Take) -> Json:
    if isinstance(block, Text):
        return write(block.wire, {"type": "text", "text": block.text}, give)
    if isinstance(block, Media):
        return write(block.wire, {"type": block.wire.tag, "data": block.data, "mimeType": block.mime}, give)
    if isinstance(block, Call):
        fields = {"type": block.wire.tag, "id": block.id, "name": block.name, "input": give(block.arguments)}
        return write(block.wire, fields, give)
    if isinstance(block, Result):
        content: Json = block.content
        if isinstance(content, tuple):
            content = [_render_block(part, give) for part in content]
        return write(block.wire, {"type": block.wire.tag, "toolUseId": block.call_id, "content": content}, give)
    return give(block.value) if isinstance(block, Opaque) else None
