"""
Wire shapes <-> the model: `parse` and `render`.

What this is
    The front door of the dialects.  Each dialect is a module, loaded by name
    when it is asked for: four functions (`parse_messages`, `parse_system`,
    `parse_tools`, `render_message`).  The key of its messages is in its profile.

Rules it obeys
    * ``render(parse(x)) == x`` for every body of the right shape, key order
      and every string included.
    * A wrong shape is a `WireError` with a JSON path, never another exception.
    * Law L19: what was passed in is copied and what is given out is fresh.
    * Law L20: the head that a compaction wrote is recognised again.

What is not here
    What is legal: `compactlib.check`.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from types import ModuleType
from typing import Any, Final

from attrs import evolve

from ..arguments import shown, told
from ..errors import PolicyError, WireError
from ..model import Conversation, Envelope, Json, Message, Origin, need_conversation
from ..protocol.profiles import PROFILES
from ..summaries.head import fused, recognise
from .reading import bounded, copy_json, decode, dumps
from .shapes import LONE, Take, keep, kind_of

__all__ = ["DIALECTS", "WIRES", "messages_key", "parse", "render", "render_messages"]

DIALECTS: Final = {
    "anthropic": "anthropic",
    "openai-chat": "openai_chat",
    "openai-responses": "openai_responses",
    "gemini": "gemini",
    "bedrock": "bedrock",
    "mistral": "mistral",
}
"""The known dialects and the modules that speak them."""

WIRES: Final = {**DIALECTS, "mcp-sampling": "mcp_sampling", "atif": "atif"}
"""Every wire shape that is read, written and judged: the dialects, what programs ask each other (MCP sampling), files (ATIF)."""


def _module(dialect: str) -> ModuleType:
    try:
        name = WIRES[dialect]
    except (KeyError, TypeError):
        raise WireError("$", f"no dialect is called {shown(dialect)}", hint=f"known are {', '.join(WIRES)}") from None
    return importlib.import_module(f".{name}", __name__)


def messages_key(dialect: str) -> str:
    """
    The key of the messages in a body of *dialect*.

    Raises:
        WireError: no dialect has this name.

    >>> messages_key("anthropic"), messages_key("openai-responses"), messages_key("gemini")
    ('messages', 'input', 'contents')
    """
    _module(dialect)
    return PROFILES[dialect].messages_key


def parse(body: Any, *, dialect: str, origins: Mapping[int, Origin] | None = None) -> Conversation:
    """
    Read a request body, or a list of messages, into a `Conversation`.

    Args:
        body: a ``dict`` with the dialect's messages, a bare ``list`` of
            them, or either as JSON in a ``str`` or ``bytes``.  `render` gives
            back the same kind.
        dialect: whose wire shape it is, such as ``"anthropic"``.
        origins: where messages came from, by index, where the caller knows.
            What is not named is found out by `compactlib.turns`.

    Raises:
        WireError: the shape is wrong; the error names the place.
        PolicyError: *origins* are none.

    >>> conversation = parse([{"role": "user", "content": "hi"}], dialect="anthropic")
    >>> conversation.messages[0].text
    'hi'
    >>> parse([{"role": "user", "content": None}], dialect="anthropic")
    Traceback (most recent call last):
        ...
    compactlib.errors.WireError: $.messages[0].content: content is a string or a list of blocks, not null or absent
    """
    if origins is not None:
        _check_origins(origins)
    try:
        return _parse(body, _module(dialect), dialect, origins or {})
    except RecursionError:
        raise WireError("$", "nested too deep to be read") from None


def _check_origins(origins: Any) -> None:
    """Whether they are what they are declared to be, an `Origin` for each index of a message, or one for each of its blocks."""
    if not isinstance(origins, Mapping):
        raise PolicyError("origins", f"an Origin for each index, not {type(origins).__name__}")
    for index, origin in origins.items():
        each = origin if isinstance(origin, tuple) else (origin,)
        if not isinstance(index, int) or not all(isinstance(one, Origin) for one in each):
            raise PolicyError("origins", f"an Origin for each index, not {shown(index)}: {shown(origin)}")


def _parse(body: Any, module: ModuleType, dialect: str, origins: Mapping[int, Origin]) -> Conversation:
    take: Take = copy_json
    kind = type(body).__name__
    if isinstance(body, str | bytes):
        kind = "bytes" if isinstance(body, bytes) else "str"
        body = decode(body)
        take = bounded
    elif isinstance(body, dict):
        kind = "dict"
    elif isinstance(body, list):
        kind = "list"
    place = PROFILES[dialect].messages_key
    raw = body.get(place) if isinstance(body, dict) else body
    is_lone = isinstance(raw, str) and isinstance(body, dict) and hasattr(module, "parse_lone")
    if not isinstance(raw, list) and not is_lone:
        where = f"$.{place}" if isinstance(body, dict) else "$"
        raise WireError(where, f"a body is a list of messages or an object that holds one, not {kind_of(raw)}")
    messages: list[Message] = [module.parse_lone(raw)] if is_lone else module.parse_messages(raw, take)
    for index, origin in origins.items():
        if not 0 <= index < len(messages):
            raise WireError("$", f"origins names message {index} of {len(messages)}")
        messages[index] = evolve(messages[index], origin=origin)
    system: tuple[Any, ...] = ()
    tools: tuple[Any, ...] = ()
    fields: tuple[tuple[str, Json], ...] | None = None
    if isinstance(body, dict):
        copied = {key: None if key == place else take(value) for key, value in body.items()}
        for key in copied:
            if not isinstance(key, str):
                raise WireError("$", f"the key {key!r} is no string")
        system = module.parse_system(copied)
        tools = module.parse_tools(copied)
        fields = tuple(copied.items())
    found, head = recognise(messages, fuse=PROFILES[dialect].fuse)
    envelope = Envelope(kind, fields)  # type: ignore[arg-type]  # one of four names, see above
    return Conversation(dialect, found, system, tools, envelope, head)


def render(conversation: Conversation) -> Any:
    """
    Write a conversation in its dialect, as the kind of thing it was parsed from.

    Raises:
        PolicyError: *conversation* is none.
        WireError: no dialect is called as its `dialect` says, or a message
            that was made by hand has a shape that the dialect has not; the
            error names it.

    >>> body = {"model": "m", "messages": [{"content": "hi", "role": "user"}]}
    >>> render(parse(body, dialect="openai-chat")) == body
    True
    """
    need_conversation(conversation)
    kind = conversation.envelope.kind
    give: Take = keep if kind in ("str", "bytes") else copy_json
    body: Json = render_messages(conversation, give)
    fields = conversation.envelope.fields
    if fields is not None:
        place = messages_key(conversation.dialect)
        messages = conversation.messages
        if len(messages) == 1 and messages[0].wire.form == LONE and isinstance(messages[0].content, str):
            body = messages[0].content
        body = {key: body if key == place else give(value) for key, value in fields}
    if kind == "str":
        return dumps(body)
    if kind == "bytes":
        return dumps(body).encode("utf-8")
    return body


def render_messages(conversation: Conversation, give: Take = copy_json) -> list[Json]:
    """
    Only the messages, as the wire has them: the fused head is one message.

    Raises:
        WireError: as `render`.
    """
    write = _module(conversation.dialect).render_message
    start, stop = conversation.fused
    messages = conversation.messages
    if stop > start:
        messages = (*messages[:start], fused(messages[start:stop]), *messages[stop:])
    made: list[Json] = []
    try:
        made.extend(write(message, give) for message in messages)  # what was written before an error stays, and is counted
    except WireError as error:
        place = f"$.{PROFILES[conversation.dialect].messages_key}[{len(made)}]"
        raise WireError(place + error.path[1:], error.problem, hint=error.hint) from None
    except (AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        # a key that the shape names and no dialect's word gives, a value of another kind: made by hand, for `parse` makes none
        place = f"$.{PROFILES[conversation.dialect].messages_key}[{len(made)}]"
        hint = "messages made by `parse` have the shapes of their dialect, and `convert` gives them those of another"
        raise WireError(place, f"its wire has a shape that {conversation.dialect} has not: {told(error)}", hint=hint) from None
    return made
