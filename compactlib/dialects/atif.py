"""
Trajectories in ATIF, the format of agent evaluations (Harbor): steps <-> messages.

Grammar (what is read; all else is a `WireError`)

    body        = {"schema_version": string, "steps": [step*], ...}
    step        = {"source"?: string, "message"?: string | [part*] | null, "reasoning_content"?: string | null,
                   "tool_calls"?: [call*] | null, "observation"?: observation | null, ...}
    call        = {"tool_call_id": string, "function_name": string, "arguments": any, ...}
    observation = {"results": [result*], ...}
    result      = {"source_call_id"?: string | null, "content"?: string | [part*] | null, ...}
    part        = {"type": string, ...}

How it maps
    * A step is one message; its blocks are, in this order: reasoning, the
      message's parts, calls, results.  `Wire.form` says what the message was
      (``string``, ``list``, ``null``, ``absent``).
    * Calls are answered in their own step, as those of a provider's own tools
      are, so none of them is ever open (`Call.is_client`).
    * ``image`` parts are `Media` whose address is a path beside the file.
    * ``step_id``, ``timestamp``, ``metrics`` and whatever else a step carries is
      residue.

What is not here
    What is legal (`protocol`).  A trajectory is a file and no request: it is
    judged and written back, and compacted only after a conversion.
"""

from __future__ import annotations

from typing import Final

from attrs import evolve

from ..errors import WireError
from ..model import Block, Call, Json, Media, Message, Opaque, Reasoning, Result, Role, Text, Tool, wire
from .shapes import ShapeError, Take, kind_of, objects_of, shape_of, string, write

__all__ = ["NAME", "parse_messages", "parse_system", "parse_tools", "render_message"]

NAME: Final = "atif"

_ROLES: Final[dict[str, Role]] = {"user": "user", "agent": "model", "system": "system"}
_TEXT: Final = frozenset({"type", "text"})
_IMAGE: Final = frozenset({"type", "source"})
_CALL: Final = frozenset({"tool_call_id", "function_name", "arguments"})
_REASONING: Final = wire("reasoning_content")


def parse_messages(raw: list[Json], take: Take) -> list[Message]:
    """
    The steps of a trajectory.

    Raises:
        WireError: with the path of the first wrong shape.
    """
    messages: list[Message] = []
    try:
        messages.extend(_parse_step(item, take) for item in raw)  # what was read before an error stays, and is counted
    except ShapeError as error:
        raise WireError(f"$.steps[{len(messages)}]{error.path}", error.problem) from None
    return messages


def parse_system(fields: dict[str, Json]) -> tuple[Block, ...]:
    """Nothing: instructions are steps."""
    del fields
    return ()


def parse_tools(fields: dict[str, Json]) -> tuple[Tool, ...]:
    """The agent's ``tool_definitions``, which have the shape of OpenAI's functions."""
    agent = fields.get("agent")
    made = []
    for tool in objects_of(agent.get("tool_definitions"), "$.agent.tool_definitions") if isinstance(agent, dict) else ():
        inner = tool.get("function")
        name = inner.get("name") if isinstance(inner, dict) else tool.get("name")
        made.append(Tool(name if isinstance(name, str) else "", tool))
    return tuple(made)


def _parse_step(raw: Json, take: Take) -> Message:
    if raw.__class__ is not dict:
        raise ShapeError("", f"a step is an object, not {kind_of(raw)}")
    known = {"message"}
    word = raw.get("source")
    if isinstance(word, str):
        known.add("source")
    else:
        word = ""
    blocks: list[Block] = []
    thought = raw.get("reasoning_content")
    if isinstance(thought, str):
        known.add("reasoning_content")
        blocks.append(Reasoning(thought, None, _REASONING))
    said = raw.get("message")
    if isinstance(said, str):
        form = "string"
        blocks.append(Text(said))
    elif isinstance(said, list):
        form = "list"
        blocks += _parse_parts(said, take, ".message")
    elif said is None:
        form = "null" if "message" in raw else "absent"
    else:
        raise ShapeError(".message", f"a message is a string or a list of parts, not {kind_of(said)}")
    for key, read in (("tool_calls", _parse_calls), ("observation", _parse_observation)):
        if raw.get(key) is not None:
            known.add(key)
            blocks += read(raw[key], take)
    shape = shape_of(raw, word, known, take, form)
    beside = raw.get("observation")
    if isinstance(beside, dict) and beside.keys() != {"results"}:  # what else it holds, with a hole for the results
        kept = {key: None if key == "results" else take(value) for key, value in beside.items()}
        shape = evolve(shape, rest=(*shape.rest, ("observation", kept)))
    if form == "string" and len(blocks) == 1:
        return Message(_ROLES.get(word, "other"), str(said), shape)
    return Message(_ROLES.get(word, "other"), tuple(blocks), shape)


def _parse_parts(raw: list[Json], take: Take, path: str) -> list[Block]:
    made: list[Block] = []
    for place, part in enumerate(raw):
        where = f"{path}[{place}]"
        if part.__class__ is not dict:
            raise ShapeError(where, f"a part is an object, not {kind_of(part)}")
        kind, source = part.get("type"), part.get("source")
        if kind == "text" and isinstance(part.get("text"), str):
            made.append(Text(part["text"], shape_of(part, kind, _TEXT, take)))
        elif kind == "image" and isinstance(source, dict):
            mime, place_of = source.get("media_type"), source.get("path")
            mime = mime if isinstance(mime, str) else ""
            url = place_of if isinstance(place_of, str) else None
            made.append(Media(kind, mime, None, url, take(source), shape_of(part, kind, _IMAGE, take)))
        else:
            made.append(Opaque(kind if isinstance(kind, str) else "", take(part)))
    return made


def _parse_calls(raw: Json, take: Take) -> list[Block]:
    if not isinstance(raw, list):
        raise ShapeError(".tool_calls", f"tool_calls is a list or null, not {kind_of(raw)}")
    made: list[Block] = []
    for place, call in enumerate(raw):
        where = f".tool_calls[{place}]"
        if call.__class__ is not dict:
            raise ShapeError(where, f"a call is an object, not {kind_of(call)}")
        try:
            call_id, name = string(call, "tool_call_id"), string(call, "function_name")
        except ShapeError as error:
            raise ShapeError(where + error.path, error.problem) from None
        made.append(Call(call_id, name, take(call.get("arguments")), shape_of(call, "tool_call", _CALL, take)))
    return made


def _parse_observation(raw: Json, take: Take) -> list[Block]:
    if not isinstance(raw, dict):
        raise ShapeError(".observation", f"an observation is an object or null, not {kind_of(raw)}")
    results = raw.get("results")
    if not isinstance(results, list):
        raise ShapeError(".observation.results", f"results is a list, not {kind_of(results)}")
    made: list[Block] = []
    for place, result in enumerate(results):
        where = f".observation.results[{place}]"
        if result.__class__ is not dict:
            raise ShapeError(where, f"a result is an object, not {kind_of(result)}")
        known = {"content"}
        call_id, content = result.get("source_call_id"), result.get("content")
        if isinstance(call_id, str):
            known.add("source_call_id")
        elif call_id is not None:
            raise ShapeError(f"{where}.source_call_id", f"a source_call_id is a string or null, not {kind_of(call_id)}")
        if isinstance(content, list):
            content = tuple(_parse_parts(content, take, f"{where}.content"))
        elif content is not None and not isinstance(content, str):
            raise ShapeError(f"{where}.content", f"content is a string, a list of parts or null, not {kind_of(content)}")
        made.append(Result(call_id or "", content, shape_of(result, "observation", known, take)))
    return made


def render_message(message: Message, give: Take) -> dict[str, Json]:
    """One step of the trajectory, in a fresh dict."""
    shape = message.wire
    calls: list[Json] = []
    results: list[Json] = []
    parts: list[Json] = []
    known: dict[str, Json] = {"source": shape.tag, "message": None, "tool_calls": calls, "observation": {"results": results}}
    for block in message.blocks:
        if isinstance(block, Reasoning):
            known["reasoning_content"] = block.text
        elif isinstance(block, Call):
            fields = {"tool_call_id": block.id, "function_name": block.name, "arguments": give(block.arguments)}
            calls.append(write(block.wire, fields, give))
        elif isinstance(block, Result):
            content = block.content
            body: Json = [_render_part(part, give) for part in content] if isinstance(content, tuple) else content
            results.append(write(block.wire, {"source_call_id": block.call_id, "content": body}, give))
        elif isinstance(block, Text) and shape.form == "string":
            known["message"] = block.text
        else:
            parts.append(_render_part(block, give))
    if shape.form == "list":
        known["message"] = parts
    beside = shape.get("observation")
    if isinstance(beside, dict):
        known["observation"] = {key: results if key == "results" else give(value) for key, value in beside.items()}
        shape = evolve(shape, rest=tuple(item for item in shape.rest if item[0] != "observation"))
    return write(shape, known, give)


def _render_part(block: Block, give: Take) -> Json:
    if isinstance(block, Text):
        return write(block.wire, {"type": "text", "text": block.text}, give)
    if isinstance(block, Media):
        return write(block.wire, {"type": block.wire.tag, "source": give(block.source)}, give)
    return give(block.value) if isinstance(block, Opaque) else None
