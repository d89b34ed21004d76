"""
Amazon Bedrock's Converse API: wire shape <-> model.

Grammar (what is read; all else is a `WireError`)

    body    = {"messages": [message*], "system"?: [block*], "toolConfig"?: {"tools"?: [tool*], ...}, ...}
    message = {"role": string, "content": [block*], ...}
    block   = {MEMBER: value}, an object whose only key says what it is
    tool    = {"toolSpec": {"name": string, ...}} | {MEMBER: value}

How it maps
    * ``toolUse`` is a `Call`, ``toolResult`` a `Result` in a user message, whose
      ``status`` is its form (``success``, ``error``).  Tools that Bedrock runs by itself are the same two
      inside the model's message; the ``type`` that tells them apart is their
      `Wire.tag`.
    * ``reasoningContent`` is `Reasoning`; the signature or the redacted bytes
      are the seal.
    * ``image``, ``document``, ``video`` and ``audio`` are `Media`.
    * ``guardContent`` with a text, and ``citationsContent`` with one, are
      `Text`: a person's or the model's words with a mark around them.
    * ``json`` in a result is `Text`, its JSON spelled out.
    * Every other member (``cachePoint``, ``searchResult``, ...) is `Opaque`, and
      so is a block with any other number of members.

What is not here
    What is legal (`protocol`).
"""

from __future__ import annotations

from collections.abc import Callable
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
    new_call,
    new_message,
    new_result,
    new_text,
    shapes,
    wire,
)
from .shapes import ShapeError, Take, blocks_of, is_spelled, kind_of, objects_of, shape_of, spell, string, write

__all__ = ["NAME", "parse_messages", "parse_system", "parse_tools", "render_message"]

NAME: Final = "bedrock"

_ROLES: Final[dict[str, Role]] = {"user": "user", "assistant": "model", "system": "system"}
_MESSAGE_KEYS: Final = frozenset({"role", "content"})
_CALL_FIELDS: Final = frozenset({"toolUseId", "name", "input"})
_RESULT_FIELDS: Final = frozenset({"toolUseId", "content"})
_RESULT_FIELDS_WITH_STATUS: Final = _RESULT_FIELDS | {"status"}
_CALLS: Final = shapes("toolUse")
_TEXT: Final = wire("text", ("text",))
_DOCUMENTS: Final = {
    "csv": "text/csv",
    "html": "text/html",
    "md": "text/markdown",
    "pdf": "application/pdf",
    "txt": "text/plain",
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
            if content.__class__ is not list:
                raise ShapeError(".content", f"content is a list of blocks, not {kind_of(content)}")
            blocks = []
            for block in content:
                blocks.append(_parse_block(block, take))
            content, blocks = tuple(blocks), None
            shape = shapes(role).get(tuple(item)) or shape_of(item, role, _MESSAGE_KEYS, take)
            append(new_message(_ROLES.get(role, "other"), content, shape))
    except ShapeError as error:
        where = f"$.messages[{len(messages)}]" + (f".content[{len(blocks)}]" if blocks is not None else "")
        raise WireError(where + error.path, error.problem) from None
    return messages


def parse_system(fields: dict[str, Json]) -> tuple[Block, ...]:
    """The ``system`` parameter: a list of blocks."""
    value = fields.get("system")
    if value is None:
        return ()
    if not isinstance(value, list):
        raise WireError("$.system", f"system is a list of blocks, not {kind_of(value)}")
    return blocks_of(value, "$.system", _parse_block)


def parse_tools(fields: dict[str, Json]) -> tuple[Tool, ...]:
    """The tools in ``toolConfig``; a cache mark among them is none."""
    config = fields.get("toolConfig")
    if config is None:
        return ()
    if not isinstance(config, dict):
        raise WireError("$.toolConfig", f"toolConfig is an object, not {kind_of(config)}")
    made = []
    for tool in objects_of(config.get("tools"), "$.toolConfig.tools"):
        inner = tool.get("toolSpec", tool.get("systemTool"))
        name = inner.get("name") if isinstance(inner, dict) else None
        if "cachePoint" not in tool:
            made.append(Tool(name if isinstance(name, str) else "", tool))
    return tuple(made)


def _parse_block(raw: Json, take: Take) -> Block:
    if raw.__class__ is not dict:
        raise ShapeError("", f"a block is an object, not {kind_of(raw)}")
    if len(raw) != 1:
        value = take(raw)
        return Opaque(next(iter(value), ""), value)
    text = raw.get("text")
    if text.__class__ is str:
        return new_text(text, _TEXT)
    [(member, value)] = raw.items()
    if member == "text":
        raise ShapeError(".text", f"text is a string, not {kind_of(value)}")
    read = _READERS.get(member)
    if read is None:
        return Opaque(member, take(raw))
    if value.__class__ is not dict:
        raise ShapeError(f".{member}", f"{member} is an object, not {kind_of(value)}")
    try:
        return read(value, take) or Opaque(member, take(raw))
    except ShapeError as error:
        raise ShapeError(f".{member}{error.path}", error.problem) from None


def _parse_call(raw: dict[str, Json], take: Take) -> Call:
    call_id, name = raw.get("toolUseId"), raw.get("name")
    shape = _CALLS.get(tuple(raw))
    if shape is None or call_id.__class__ is not str or name.__class__ is not str:
        tag = "server_tool_use" if raw.get("type") == "server_tool_use" else "toolUse"
        call_id, name, shape = string(raw, "toolUseId"), string(raw, "name"), shape_of(raw, tag, _CALL_FIELDS, take)
    return new_call(call_id, name, take(raw.get("input")), shape)


def _parse_result(raw: dict[str, Json], take: Take) -> Result:
    kind, content, status = raw.get("type"), raw.get("content"), raw.get("status")
    if content is not None and content.__class__ is not list:
        raise ShapeError(".content", f"a result's content is a list of blocks, not {kind_of(content)}")
    parts: list[Block] = []
    for place, item in enumerate(content or ()):
        try:
            parts.append(_parse_nested(item, take))
        except ShapeError as error:
            raise ShapeError(f".content[{place}]{error.path}", error.problem) from None
    known, form = _RESULT_FIELDS, ""
    if status == "success" or status == "error":
        known, form = _RESULT_FIELDS_WITH_STATUS, status
    tag = kind if isinstance(kind, str) else "toolResult"
    shape = shapes(tag, form).get(tuple(raw)) or shape_of(raw, tag, known, take, form)
    return new_result(string(raw, "toolUseId"), None if content is None else tuple(parts), shape)


def _parse_nested(raw: Json, take: Take) -> Block:
    """A block inside a result: words and media are understood, all else is opaque, so nesting ends here."""
    if raw.__class__ is dict and len(raw) == 1 and "text" not in raw:
        [member] = raw
        if member == "json":
            return spell(take(raw["json"]), "json")
        if member in ("toolUse", "toolResult", "reasoningContent"):
            return Opaque(member, take(raw))
    return _parse_block(raw, take)


def _parse_reasoning(raw: dict[str, Json], take: Take) -> Reasoning | None:
    if raw.keys() == {"redactedContent"}:
        return Reasoning("", string(raw, "redactedContent"), wire("redactedContent", tuple(raw)))
    inner = raw.get("reasoningText")
    if len(raw) != 1 or inner.__class__ is not dict:
        return None
    seal = inner.get("signature")
    is_sealed = seal.__class__ is str  # a null signature is residue, so that it is written back as it was
    shape = shape_of(inner, "reasoningText", {"text", "signature"} if is_sealed else {"text"}, take)
    try:
        return Reasoning(string(inner, "text"), seal if is_sealed else None, shape)
    except ShapeError as error:
        raise ShapeError(f".reasoningText{error.path}", error.problem) from None


def _parse_guarded(raw: dict[str, Json], take: Take) -> Text | None:
    inner = raw.get("text")
    if len(raw) != 1 or inner.__class__ is not dict or inner.get("text").__class__ is not str:
        return None
    return Text(inner["text"], shape_of(inner, "guardContent", {"text"}, take))


def _parse_cited(raw: dict[str, Json], take: Take) -> Text | None:
    match raw.get("content"):
        case [{"text": str(text), **others}] if not others:
            return Text(text, shape_of(raw, "citationsContent", {"content"}, take))
    return None


def _media(kind: str) -> Callable[[dict[str, Json], Take], Media]:
    def read(raw: dict[str, Json], take: Take) -> Media:
        source = raw.get("source")
        if source.__class__ is not dict:
            raise ShapeError(".source", f"a source is an object, not {kind_of(source)}")
        style, data, place = raw.get("format"), source.get("bytes"), source.get("s3Location")
        url = place.get("uri") if isinstance(place, dict) else None
        mime = ""
        if isinstance(style, str):
            mime = _DOCUMENTS.get(style, "") if kind == "document" else style if "/" in style else f"{kind}/{style}"
        return Media(
            kind,
            mime,
            data if isinstance(data, str) else None,
            url if isinstance(url, str) else None,
            take(source),
            shape_of(raw, kind, {"source"}, take),
        )

    return read


_READERS: Final[dict[str, Callable[[dict[str, Json], Take], Block | None]]] = {
    "toolUse": _parse_call,
    "toolResult": _parse_result,
    "reasoningContent": _parse_reasoning,
    "guardContent": _parse_guarded,
    "citationsContent": _parse_cited,
    **{kind: _media(kind) for kind in ("image", "document", "video", "audio")},
}
"""What reads the value of a member; ``None`` for a value that only a later version of the API knows."""


def render_message(message: Message, give: Take) -> dict[str, Json]:
    """One message of the body, in a fresh dict."""
    made = [_render_block(block, give) for block in message.blocks]
    return write(message.wire, {"role": message.wire.tag, "content": made}, give)


def _render_block(block: Block, give: Take) -> Json:
    if isinstance(block, Text):
        return _render_text(block, give)
    if isinstance(block, Call):
        fields = {"toolUseId": block.id, "name": block.name, "input": give(block.arguments)}
        return {"toolUse": write(block.wire, fields, give)}
    if isinstance(block, Result):
        parts = None if block.content is None else [_render_block(part, give) for part in block.blocks]
        fields = {"toolUseId": block.call_id, "content": parts, "status": block.wire.form}
        return {"toolResult": write(block.wire, fields, give)}
    if isinstance(block, Reasoning):
        inner: Json = block.seal
        if block.wire.tag == "reasoningText":
            inner = write(block.wire, {"text": block.text, "signature": block.seal}, give)
        return {"reasoningContent": {block.wire.tag: inner}}
    if isinstance(block, Media):
        return {block.kind: write(block.wire, {"source": give(block.source)}, give)}
    return give(block.value)


def _render_text(block: Text, give: Take) -> Json:
    tag = block.wire.tag
    if tag == "guardContent":
        return {tag: {"text": write(block.wire, {"text": block.text}, give)}}
    if tag == "citationsContent":
        return {tag: write(block.wire, {"content": [{"text": block.text}]}, give)}
    if tag == "json" and is_spelled(block):
        return {tag: give(block.wire.get(tag))}
    return {"text": block.text}
