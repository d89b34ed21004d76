"""
OpenAI's Responses API: wire shape <-> model.

Grammar (what is read; all else is a `WireError`)

    body    = {"input": string | [item*], "instructions"?: string, "tools"?: [tool*], ...}
    item    = message | call | output | {"type": string, ...} | {"id": string, ...}
    message = {"role": string, "type"?: "message", "content"?: string | [part*] | null, ...}
    call    = {"type": "function_call", "call_id": string, "name": string, "arguments"?: string, ...}
    output  = {"type": "function_call_output", "call_id": string, "output"?: string | [part*] | object, ...}
    part    = {"type": string, ...}

How it maps
    * One item is one message, so a response of the model (reasoning, words,
      calls) is a run of messages of the role `model`.  The output of a tool is
      a message of the role `tool` with one `Result`.
    * ``reasoning`` is `Reasoning`, its ``encrypted_content`` the seal; the words
      are those of its summary and its content, which go back as they came.
    * Calls that the caller runs (functions, custom tools, shells, the computer,
      patches, client tool search, requests for approval) are a `Call` with the
      id that their output names; arguments are kept as they came.
    * What OpenAI runs by itself (``web_search_call``, ``mcp_call``, ...) is a
      `Call`, and in the same message a `Result` where the item holds what came
      out.
    * ``compaction``, ``item_reference`` and every type not known here are one
      `Opaque` block in a message of the item's own role, else of the model's.
    * An ``input`` that is one string is one user message of the form ``lone``.

What is not here
    What is legal (`protocol`), which items belong to one response among it.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Any, Final

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
from .shapes import (
    LONE,
    ShapeError,
    Take,
    address,
    is_spelled,
    kind_of,
    objects_of,
    shape_of,
    spell,
    string,
    write,
)

__all__ = [
    "NAME",
    "parse_lone",
    "parse_messages",
    "parse_system",
    "parse_tools",
    "render_message",
]

NAME: Final = "openai-responses"

_ROLES: Final[dict[str, Role]] = {"user": "user", "assistant": "model", "system": "system", "developer": "developer"}
_CALLS: Final = {  # type -> the keys of the id and of the arguments, the name of the tool if it has no key
    "function_call": ("call_id", "arguments", ""),
    "custom_tool_call": ("call_id", "input", ""),
    "mcp_approval_request": ("id", "arguments", ""),
    "local_shell_call": ("call_id", "action", "local_shell"),
    "shell_call": ("call_id", "action", "shell"),
    "computer_call": ("call_id", "action", "computer"),
    "apply_patch_call": ("call_id", "operation", "apply_patch"),
    "tool_search_call": ("call_id", "arguments", "tool_search"),
}
_OUTPUTS: Final = {  # type -> the key of what came out
    "function_call_output": "output",
    "custom_tool_call_output": "output",
    "mcp_approval_response": "reason",
    "local_shell_call_output": "output",
    "shell_call_output": "output",
    "computer_call_output": "output",
    "apply_patch_call_output": "output",
    "tool_search_output": "tools",
}
_HOSTED: Final = {  # the same for what OpenAI runs by itself
    "mcp_call": ("id", "arguments", ""),
    "web_search_call": ("id", "action", "web_search"),
    "file_search_call": ("id", "queries", "file_search"),
    "code_interpreter_call": ("id", "code", "code_interpreter"),
    "image_generation_call": ("id", "revised_prompt", "image_generation"),
}
_CAME_OUT: Final = {  # type -> the key of what came out, in the item of the call itself
    "mcp_call": "output",
    "file_search_call": "results",
    "code_interpreter_call": "outputs",
    "image_generation_call": "result",
}
_TEXTS: Final = frozenset({"input_text", "output_text"})
_MEDIA: Final = {"input_image": "image", "input_file": "file", "input_audio": "audio", "computer_screenshot": "image"}
_MESSAGE: Final = frozenset({"type", "role", "content"})
_TEXT: Final = frozenset({"type", "text"})
_CALL_FIELDS: Final = {
    kind: frozenset({"type", id_key, key} if name else {"type", id_key, key, "name"})
    for kind, (id_key, key, name) in (_CALLS | _HOSTED).items()
}
_ITEM: Final = "item"
"""The form of a message that is an item of another type; its block has the item's shape."""
_FUNCTION_CALL: Final = wire("function_call", (), _ITEM)
_FUNCTION_OUTPUT: Final = wire("function_call_output", (), _ITEM)
# Shapes that were seen without residue; looked up first, because nearly all items are of these kinds.
_FUNCTION_CALLS: Final = shapes("function_call")
_FUNCTION_OUTPUTS: Final = shapes("function_call_output")


def parse_lone(text: str) -> Message:
    """The message that a plain string in place of the items stands for."""
    return Message("user", text, wire("user", ("role", "content"), LONE))


def parse_messages(raw: list[Json], take: Take) -> list[Message]:
    """
    The items of a body.

    Raises:
        WireError: with the path of the first wrong shape.
    """
    messages: list[Message] = []
    append = messages.append
    try:
        for item in raw:
            if item.__class__ is not dict:
                raise ShapeError("", f"an item is an object, not {kind_of(item)}")
            kind = item.get("type")
            content = item.get("content")
            if content.__class__ is str and len(item) == 2 and (role := item.get("role")).__class__ is str:
                shape = shapes(role, "string").get(tuple(item)) or wire(role, tuple(item), "string")
                append(new_message(_ROLES.get(role, "other"), content, shape))  # the plainest there is
            elif kind == "function_call":
                append(new_message("model", (_parse_function_call(item, kind, take),), _FUNCTION_CALL))
            elif kind == "function_call_output":
                append(new_message("tool", (_parse_output(item, kind, take),), _FUNCTION_OUTPUT))
            elif kind is None or kind == "message":
                append(_parse_message(item, kind, take))
            elif kind.__class__ is not str:
                raise ShapeError(".type", f"an item's type is a string, not {kind_of(kind)}")
            else:
                append(_parse_item(item, kind, take))
    except ShapeError as error:
        raise WireError(f"$.input[{len(messages)}]{error.path}", error.problem) from None
    return messages


def parse_system(fields: dict[str, Json]) -> tuple[Block, ...]:
    """The ``instructions`` parameter."""
    value = fields.get("instructions")
    if value is None:
        return ()
    if not isinstance(value, str):
        raise WireError("$.instructions", f"instructions is a string, not {kind_of(value)}")
    return (Text(value),)


def parse_tools(fields: dict[str, Json]) -> tuple[Tool, ...]:
    """The ``tools`` parameter."""
    tools = objects_of(fields.get("tools"), "$.tools")
    return tuple(Tool(name if isinstance(name := tool.get("name"), str) else "", tool) for tool in tools)


# -- reading: messages -------------------------------------------------------------------------------------------------


def _parse_message(raw: dict[str, Json], kind: str | None, take: Take) -> Message:
    role, content = raw.get("role"), raw.get("content")
    if role.__class__ is not str:
        if kind is None and role is None and raw.get("id").__class__ is str:
            return _opaque(raw, "item_reference", take)  # whose type may be left out
        raise ShapeError(".role", f"a role is a string, not {kind_of(role)}")
    speaker = _ROLES.get(role, "other")
    if content.__class__ is str:
        return new_message(speaker, content, shape_of(raw, role, _known(raw, kind), take, "string"))
    if content is None:
        return Message(speaker, (), shape_of(raw, role, _known(raw, kind) - {"content"}, take, "null"))
    if content.__class__ is not list:
        raise ShapeError(".content", f"content is a string or a list of parts, not {kind_of(content)}")
    blocks = _parse_parts(content, ".content", take)
    return new_message(speaker, blocks, shape_of(raw, role, _known(raw, kind), take, "list"))


def _known(raw: dict[str, Json], kind: str | None) -> frozenset[str]:
    """The keys of a message item that the model has words for; a null type is residue."""
    return _MESSAGE if kind is not None or "type" not in raw else _MESSAGE - {"type"}


def _parse_parts(raw: list[Json], path: str, take: Take) -> tuple[Block, ...]:
    made: list[Block] = []
    for place, part in enumerate(raw):
        try:
            made.append(_parse_part(part, take))
        except ShapeError as error:
            raise ShapeError(f"{path}[{place}]{error.path}", error.problem) from None
    return tuple(made)


def _parse_part(raw: Json, take: Take) -> Block:
    if raw.__class__ is not dict:
        raise ShapeError("", f"a part is an object, not {kind_of(raw)}")
    kind = raw.get("type")
    if kind.__class__ is not str:
        raise ShapeError(".type", f"a part's type is a string, not {kind_of(kind)}")
    if kind in _TEXTS:
        return new_text(string(raw, "text"), shapes(kind).get(tuple(raw)) or shape_of(raw, kind, _TEXT, take))
    if kind == "text":  # as it is called elsewhere; the word is residue, so that it stays
        return Text(string(raw, "text"), shape_of(raw, kind, _TEXT - {"type"}, take))
    if kind in _MEDIA:
        return _parse_media(raw, kind, take)
    return Opaque(kind, take(raw))


def _parse_media(raw: dict[str, Json], kind: str, take: Take) -> Media:
    sound = raw.get("input_audio")
    inline = sound.get("data") if isinstance(sound, dict) else raw.get("file_data")
    mime, data, url = address(inline if inline is not None else raw.get("image_url", raw.get("file_url")))
    if inline is not None and data is None:
        data, url = url, None
    if isinstance(sound, dict) and isinstance(sound.get("format"), str):
        mime = f"audio/{sound['format']}"
    if url is None and data is None and isinstance(raw.get("file_id"), str):
        url = raw["file_id"]
    source = {key: take(value) for key, value in raw.items() if key != "type"}
    return Media(_MEDIA[kind], mime, data, url, source, wire(kind, tuple(raw)))


# -- reading: other items ----------------------------------------------------------------------------------------------


def _parse_item(raw: dict[str, Json], kind: str, take: Take) -> Message:
    if kind in _OUTPUTS and not _is_hosted_search(raw, kind):
        return Message("tool", (_parse_output(raw, kind, take),), wire(kind, (), _ITEM))
    blocks: tuple[Block, ...]
    if kind in _CALLS and not _is_hosted_search(raw, kind):
        blocks = (_parse_call(raw, kind, take),)
    elif kind == "reasoning":
        blocks = (_parse_reasoning(raw, kind, take),)
    elif kind in _HOSTED:
        blocks = _parse_hosted(raw, kind, take)
    else:
        return _opaque(raw, kind, take)
    return Message("model", blocks, wire(kind, (), _ITEM))


def _is_hosted_search(raw: dict[str, Json], kind: str) -> bool:
    """Whether OpenAI searched for tools by itself; call and output then have no id, and nobody is to answer."""
    return kind in ("tool_search_call", "tool_search_output") and (raw.get("execution") == "server" or raw.get("call_id") is None)


def _opaque(raw: dict[str, Json], kind: str, take: Take) -> Message:
    role = raw.get("role")
    speaker = _ROLES.get(role, "model") if isinstance(role, str) else "model"
    return Message(speaker, (Opaque(kind, take(raw)),), wire(kind, (), _ITEM))


def _parse_function_call(raw: dict[str, Json], kind: str, take: Take) -> Call:
    call_id, name, arguments = raw.get("call_id"), raw.get("name"), raw.get("arguments")
    if not (call_id.__class__ is name.__class__ is arguments.__class__ is str):
        return _parse_call(raw, kind, take)
    shape = _FUNCTION_CALLS.get(tuple(raw)) or shape_of(raw, kind, _CALL_FIELDS[kind], take)
    return new_call(call_id, name, arguments, shape)


def _parse_call(raw: dict[str, Json], kind: str, take: Take) -> Call:
    id_key, key, name = _CALLS[kind]
    shape = shape_of(raw, kind, _CALL_FIELDS[kind], take)
    return new_call(string(raw, id_key), name or string(raw, "name"), take(raw.get(key)), shape)


def _parse_output(raw: dict[str, Json], kind: str, take: Take) -> Result:
    shape = _FUNCTION_OUTPUTS.get(tuple(raw)) if kind == "function_call_output" else None
    if shape is not None and raw["call_id"].__class__ is raw.get("output").__class__ is str:  # as nearly all outputs are
        return new_result(raw["call_id"], raw["output"], shape)
    id_key, key = _id_key(kind, raw), _OUTPUTS[kind]
    content, form = raw.get(key), ""
    if content.__class__ is not str:
        content, form = _parse_content(content, key, take)
    return new_result(string(raw, id_key), content, shape_of(raw, kind, {"type", id_key, key}, take, form))


def _id_key(kind: str, keys: Container[str]) -> str:
    """Where an output says which call it answers."""
    if kind == "mcp_approval_response":
        return "approval_request_id"
    return "id" if kind == "local_shell_call_output" and "call_id" not in keys else "call_id"


def _parse_content(raw: Json, key: str, take: Take) -> tuple[tuple[Block, ...] | None, str]:
    """What came out of a tool, if it is not one string, and the form in which it was written."""
    if raw is None:
        return None, ""
    if key == "tools":
        return (Opaque(key, take(raw)),), "value"
    if raw.__class__ is dict and raw.get("type") == "computer_screenshot":
        return (_parse_part(raw, take),), "object"  # a picture of the computer's screen
    if raw.__class__ is list and all(part.__class__ is dict and part.get("type").__class__ is str for part in raw):
        return _parse_parts(raw, f".{key}", take), "list"
    return (spell(take(raw), "json"),), "value"


def _parse_reasoning(raw: dict[str, Json], kind: str, take: Take) -> Reasoning:
    seal = raw.get("encrypted_content")
    texts = [
        part["text"]
        for key in ("summary", "content")
        if raw.get(key).__class__ is list
        for part in raw[key]
        if part.__class__ is dict and part.get("text").__class__ is str
    ]
    if seal.__class__ is str:
        return Reasoning("\n".join(texts), seal, shape_of(raw, kind, {"type", "encrypted_content"}, take))
    return Reasoning("\n".join(texts), None, shape_of(raw, kind, {"type"}, take))


def _parse_hosted(raw: dict[str, Json], kind: str, take: Take) -> tuple[Block, ...]:
    id_key, key, name = _HOSTED[kind]
    known = _CALL_FIELDS[kind]
    call_id = raw.get(id_key)
    if call_id.__class__ is not str:
        call_id, known = "", known - {id_key}
    came_out = _CAME_OUT.get(kind, "")
    answer = raw.get(came_out) if came_out else None
    if answer is not None:
        known |= {came_out}
    call = Call(call_id, name or string(raw, "name"), take(raw.get(key)), shape_of(raw, kind, known, take))
    if answer is None:
        return (call,)
    content: str | tuple[Block, ...] = answer if answer.__class__ is str else (spell(take(answer), "json"),)
    if kind == "image_generation_call" and answer.__class__ is str:
        content = (Media("image", "", answer, None, answer, wire("")),)
    return call, Result(call_id, content, wire(f"{kind}_output", (), "value"))


# -- writing -----------------------------------------------------------------------------------------------------------


def render_message(message: Message, give: Take) -> Json:
    """One item of the body, in a fresh dict."""
    content = message.content
    if message.wire.form == _ITEM and not isinstance(content, str):
        return _render_item(message.wire.tag, content, give)
    made: Json = content
    if not isinstance(content, str):
        made = [_render_part(block, message.role, give) for block in content]
    return write(message.wire, {"type": "message", "role": message.wire.tag, "content": made}, give)


def _render_item(kind: str, blocks: tuple[Block, ...], give: Take) -> Json:
    first, *more = blocks
    if isinstance(first, Opaque):
        return give(first.value)
    fields: dict[str, Json] = {"type": kind}
    if isinstance(first, Reasoning):
        fields["encrypted_content"] = first.seal
        return write(first.wire, fields, give)
    if isinstance(first, Result):
        id_key, key = _id_key(kind, first.wire.keys), _OUTPUTS[kind]
        fields |= {id_key: first.call_id, key: _render_content(first, give)}
        return write(first.wire, fields, give)
    if isinstance(first, Call):
        id_key, key, _ = _CALLS.get(kind) or _HOSTED[kind]
        fields |= {id_key: first.id, "name": first.name, key: give(first.arguments)}
        for result in more:
            if isinstance(result, Result):
                fields[_CAME_OUT[kind]] = _render_content(result, give)
        return write(first.wire, fields, give)
    return None  # no item has another block


def _render_content(result: Result, give: Take) -> Json:
    content = result.content
    if not isinstance(content, tuple):
        return content
    form = result.wire.form
    if len(content) == 1:
        [block] = content
        if form == "object":
            return _render_part(block, "tool", give)
        if form == "value":
            return _render_value(block, give)
    return [_render_part(block, "tool", give) for block in content]


def _render_value(block: Block, give: Take) -> Json:
    """What stands by itself, without the object of a part around it."""
    if isinstance(block, Text):
        return give(block.wire.get("json")) if is_spelled(block) else block.text
    if isinstance(block, Media):
        return give(block.source)
    return give(block.value) if isinstance(block, Opaque) else None


def _render_part(block: Block, role: Role, give: Take) -> Json:
    if isinstance(block, Text):
        # words that were made here do not know yet what the wire calls them
        kind = block.wire.tag if block.wire.tag in _TEXTS else "output_text" if role == "model" else "input_text"
        return write(block.wire, {"type": kind, "text": block.text}, give)
    if isinstance(block, Media):
        source: dict[str, Any] = block.source
        return write(block.wire, {"type": block.wire.tag, **{key: give(value) for key, value in source.items()}}, give)
    return give(block.value) if isinstance(block, Opaque) else None
