"""
How repairs write the calls and responses of a Gemini conversation.

What this is
    A few values made anew: a call with a signature, a response with a name, a
    response that says that nothing is known.  In this dialect the name of a
    response that has an id, and every signature, is residue beside the block.

What is not here
    When this is due: `answering`, `renaming`, `mending`.
"""

from __future__ import annotations

from typing import Final

from attrs import evolve

from ..model import Call, Json, Result, Text, Wire, wire
from .signatures import SENTINEL, SIGNATURES

__all__ = ["RESPONSES", "response_name", "signed_call", "unknown_response", "with_name", "without_parts", "wrapped"]

RESPONSES: Final = frozenset({"functionResponse", "function_response"})
"""How a response is called, in either spelling."""

_RESPONSE: Final = "functionResponse"
_OUTPUT: Final = wire("member", ("output",))
_ERROR: Final = wire("member", ("error",))


def response_name(result: Result) -> str:
    """The name that a response gives, ``""`` if it gives none."""
    shape = result.wire
    inner = shape.get(shape.tag)
    if isinstance(inner, dict) and "name" in inner:
        name = inner["name"]
        return name if isinstance(name, str) else ""
    return result.call_id if "name" in shape.keys else ""


def unknown_response(call: Call, text: str) -> Result:
    """A response to *call* that is an error and says *text*."""
    if call.id == call.name:
        shape = wire(_RESPONSE, (_RESPONSE, "name", "response"))
    else:
        shape = Wire(_RESPONSE, (_RESPONSE, "id", "name", "response"), ((_RESPONSE, {"name": call.name}),))
    return Result(call.id, (Text(text, _ERROR),), shape)


def with_name(result: Result, name: str) -> Result:
    """The response with this name; its id, where it has one, stays."""
    shape = result.wire
    count = shape.outside
    outer, inner = shape.keys[:count], shape.keys[count:]
    residue = dict(shape.get(shape.tag) or {})
    residue.pop("name", None)
    if not result.call_id:
        residue.pop("id", None)
        inner = tuple(key for key in inner if key != "id")
    else:
        residue["name"] = name
    if "name" not in inner:
        inner = ("name", *inner)
    rest: list[tuple[str, Json]] = [(key, value) for key, value in shape.rest if key != shape.tag]
    if residue:
        rest.append((shape.tag, residue))
    return evolve(result, call_id=result.call_id or name, wire=Wire(shape.tag, (*outer, *inner), tuple(rest), shape.form))


def wrapped(result: Result) -> Result:
    """The response as an object, whatever it was."""
    content = result.content
    blocks = (Text(content),) if isinstance(content, str) else content or ()
    made = tuple(evolve(part, wire=_OUTPUT) if isinstance(part, Text) else part for part in blocks)
    return evolve(result, content=made)


def without_parts(result: Result) -> Result:
    """The response without the key of the media in it, if none are left."""
    content = result.content
    if isinstance(content, tuple) and not all(isinstance(part, Text) for part in content):
        return result
    shape = result.wire
    count = shape.outside
    keys = (*shape.keys[:count], *(key for key in shape.keys[count:] if key != "parts"))
    return evolve(result, wire=evolve(shape, keys=keys))


def signed_call(call: Call, seal: str = SENTINEL) -> Call:
    """The call with this signature; with the one that stands for one that never was, if none is given."""
    shape = call.wire
    count = shape.outside
    rest = tuple((key, value) for key, value in shape.rest if key not in SIGNATURES)
    outer = tuple(key for key in shape.keys[:count] if key not in SIGNATURES)
    name = SIGNATURES["_" in shape.tag]  # in the spelling of its neighbour
    made = Wire(shape.tag, (*outer, name, *shape.keys[count:]), ((name, seal), *rest), str(len(outer) + 1))
    return evolve(call, wire=made)
