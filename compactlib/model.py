"""
Conversations as values: blocks, messages, tools.

What this is
    One neutral model for every provider's wire shape ("dialect").  A
    *conversation* is messages; a *message* is a role plus blocks; a *block* is
    text, media, a tool call, a tool result, reasoning, or something opaque.
    Everything is frozen: change a value with `attrs.evolve`, never in place.

Rules it obeys
    * Lossless.  Whatever the model has no word for stays beside the value it
      came with, as *residue* in its `Wire`, so that a dialect can write back
      exactly what it read: same keys, same order, same strings.
    * One message here is one message on the wire, and public indices are wire
      indices.  The one exception is the head of a compacted conversation in a
      dialect that fuses neighbours: see `Conversation.fused`.
    * Calls and results pair by position, never by id alone, because real
      transcripts reuse ids.  The model therefore stores no links; `turns`
      computes them for the engine and `protocol.validator` computes them,
      independently, for the checks.
    * JSON values inside (`Call.arguments`, residue, tool schemas) belong to
      the conversation.  Read them, do not edit them.

How it works
    Parsing a hundred thousand messages must not cost much more than
    `json.loads`, so classes have few fields, a message whose content was one
    string keeps that string and makes its text block only when asked, the
    key order of an object is one interned `Wire` shared by all objects of the
    same shape, and the five commonest classes have a fast maker beside their
    constructor (`new_message` and its like).

    It is one file, because blocks, messages and conversations name each other.

What is not here
    How a conversation divides into turns and steps (`turns`), what is legal
    (`protocol`), and how wire bodies are read and written (`dialects`).
"""

from __future__ import annotations

import enum
from typing import Any, Final, Literal, TypeAlias, get_args

from attrs import evolve, frozen

from .arguments import need, need_one_of, need_whole, shown
from .errors import PolicyError

__all__ = [
    "CLIENT_CALLS",
    "CLIENT_RESULTS",
    "Block",
    "Call",
    "Conversation",
    "Envelope",
    "Json",
    "Media",
    "Message",
    "Opaque",
    "Origin",
    "Reasoning",
    "Result",
    "Role",
    "Text",
    "Tool",
    "Wire",
    "mould",
    "need_conversation",
    "new_call",
    "new_message",
    "new_result",
    "new_text",
    "new_wire",
    "shapes",
    "wire",
]

Json: TypeAlias = Any
"""A JSON value: ``None``, a bool, a number, a string, or a list or dict of them."""

Role: TypeAlias = Literal["system", "developer", "user", "model", "tool", "other"]
"""
Who speaks, in neutral words.

``tool`` is a message that is nothing but a tool's answer (OpenAI Chat);
Anthropic carries results in ``user`` messages.  ``other`` is a role that the
dialect does not know; its own word is in `Message.wire`.
"""


class Origin(enum.Enum):
    """
    Where a block came from, which its role does not tell.

    Like every enum it raises ``ValueError`` for a word that is none of these.

    A tool's picture, a harness reminder and a summary all travel as ``user``
    messages; only a person's words are a prompt.
    """

    HUMAN = "human"
    MODEL = "model"
    TOOL = "tool"
    ATTACHMENT = "attachment"
    """Media made by a tool that the wire forces into a user-role message."""
    HARNESS = "harness"
    """Written by the program around the model: reminders, command output, notes of an interruption."""
    SYSTEM = "system"
    SUMMARY = "summary"
    PIN = "pin"
    REMINDER = "reminder"
    ACK = "ack"
    UNKNOWN = "unknown"
    """Not known: no boundary falls here, and yet it is kept as if a person had written it."""


@frozen(weakref_slot=False)
class Wire:
    """
    How one object looked on the wire, apart from what the model has words for.

    Attributes:
        tag: the object's own type or role word (``"tool_use"``, ``"assistant"``).
        keys: its keys, in order.
        rest: residue: (key, value) for each key the model has no field for.
        form: which of several spellings was used, in the dialect's own words
            (``"null"`` for a null content beside calls, and so on).

    Raises:
        PolicyError: on construction, for a value that is none of these.  Whether
            a dialect writes such a shape is seen when it is written.
    """

    tag: str
    keys: tuple[str, ...] = ()
    rest: tuple[tuple[str, Json], ...] = ()
    form: str = ""

    def __attrs_post_init__(self) -> None:
        need("wire", self.keys, tuple, "its keys in a tuple")
        need("wire", self.rest, tuple, "its residue in a tuple")
        try:
            "".join((self.tag, self.form, *self.keys, *[key for key, _ in self.rest]))  # the fastest look at them all
        except (TypeError, ValueError):
            raise PolicyError("wire", "a tag, keys, pairs of key and value, and a form, of which one is something else") from None

    @property
    def outside(self) -> int:
        """How many of its keys are of the outer object, where it is the shape of one inside another, under its tag."""
        form = self.form
        return int(form) if form.isdecimal() and len(form) < 9 else 1

    def get(self, key: str, default: Json = None) -> Json:
        """The residual value under *key*, else *default*."""
        for name, value in self.rest:
            if name == key:
                return value
        return default


_WIRES: Final[dict[tuple[str, str], dict[tuple[str, ...], Wire]]] = {}
_WIRES_LIMIT: Final = 4096  # hostile input must not grow the tables without bound
_count = 0


def shapes(tag: str, form: str = "") -> dict[tuple[str, ...], Wire]:
    """The shared `Wire` values without residue of one kind of object, by their keys; for reading."""
    known = _WIRES.get((tag, form))
    if known is None:
        known = {}
        if len(_WIRES) < _WIRES_LIMIT:
            _WIRES[tag, form] = known
    return known


def wire(tag: str, keys: tuple[str, ...] = (), form: str = "") -> Wire:
    """
    The shared `Wire` without residue for this shape.

    >>> wire("user", ("role", "content")) is wire("user", ("role", "content"))
    True
    """
    global _count
    table = shapes(tag, form)
    known = table.get(keys)
    if known is None:
        known = Wire(tag, keys, (), form)
        if _count < _WIRES_LIMIT:
            table[keys] = known
            _count += 1
    return known


_PLAIN_TEXT: Final = wire("text", ("type", "text"))


@frozen(weakref_slot=False)
class Text:
    """Words."""

    text: str
    wire: Wire = _PLAIN_TEXT

    def __attrs_post_init__(self) -> None:
        _need_texts(self, "text")
        need("wire", self.wire, Wire, "a Wire")


@frozen
class Media:
    """
    A picture, a document, a sound.

    Attributes:
        kind: ``image``, ``document``, ``audio``, ``video`` or ``file``.
        mime: its media type where the wire says so, else ``""``.
        data: its bytes in base64 as received, or ``None`` when it stands elsewhere.
        url: where it stands (an address or a file id), or ``None``.
        source: the dialect's own value for it, written back as it is.
    """

    kind: str
    mime: str
    data: str | None
    url: str | None
    source: Json
    wire: Wire

    def __attrs_post_init__(self) -> None:
        _need_texts(self, "kind", "mime")
        need("data", self.data, str | None, "a text, or None")
        need("url", self.url, str | None, "a text, or None")
        need("wire", self.wire, Wire, "a Wire")


CLIENT_CALLS: Final = frozenset(
    {
        "apply_patch_call",
        "computer_call",
        "custom",
        "custom_tool_call",
        "function",
        "functionCall",
        "function_call",
        "local_shell_call",
        "mcp_approval_request",
        "shell_call",
        "toolUse",
        "tool_search_call",
        "tool_use",
    }
)
"""The wire's words for calls that the caller runs; see `Call.is_client`."""

CLIENT_RESULTS: Final = frozenset(
    {
        "apply_patch_call_output",
        "computer_call_output",
        "custom_tool_call_output",
        "function",
        "functionResponse",
        "function_call_output",
        "function_response",
        "local_shell_call_output",
        "mcp_approval_response",
        "shell_call_output",
        "tool",
        "toolResult",
        "tool_result",
        "tool_search_output",
    }
)
"""The wire's words for their results; see `Result.is_client`."""


@frozen(weakref_slot=False)
class Call:
    """
    A tool invocation by the model.

    Attributes:
        id: the wire's id; not unique (see the module's rules).
        name: the tool's name.
        arguments: as received: a JSON value (Anthropic), or the very string
            the model wrote (OpenAI), which is never parsed and written anew.
    """

    id: str
    name: str
    arguments: Json
    wire: Wire

    def __attrs_post_init__(self) -> None:
        _need_texts(self, "id", "name")
        need("wire", self.wire, Wire, "a Wire")

    @property
    def is_client(self) -> bool:
        """Whether the caller runs it; server and MCP calls are answered inside the model's own message."""
        return self.wire.tag in CLIENT_CALLS


@frozen(weakref_slot=False)
class Result:
    """
    The answer to a call.

    Attributes:
        call_id: the id it answers.
        content: one string, blocks, or ``None`` where the wire had none.
    """

    call_id: str
    content: str | tuple[Block, ...] | None
    wire: Wire

    def __attrs_post_init__(self) -> None:
        _need_texts(self, "call_id")
        if self.content is not None:
            _need_content(self.content)
        need("wire", self.wire, Wire, "a Wire")

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The content as blocks."""
        content = self.content
        if isinstance(content, str):
            return (Text(content),)
        return content or ()

    @property
    def text(self) -> str:
        """The words of the result, its text blocks joined by newlines."""
        content = self.content
        if isinstance(content, str):
            return content
        return "\n".join(block.text for block in content or () if isinstance(block, Text))

    @property
    def is_error(self) -> bool:
        """Whether the tool reported a failure."""
        return self.wire.form == "error" or (bool(self.wire.rest) and self.wire.get("is_error") is True)

    @property
    def is_client(self) -> bool:
        """Whether it answers a call that the caller runs; see `Call.is_client`."""
        return self.wire.tag in CLIENT_RESULTS


@frozen
class Reasoning:
    """
    The model's thinking.

    Attributes:
        text: what can be read of it, perhaps nothing.
        seal: the provider's signature or encrypted form, ``None`` if it has none.
            Sealed reasoning goes back byte for byte or not at all (law L5).
    """

    text: str
    seal: str | None
    wire: Wire

    def __attrs_post_init__(self) -> None:
        _need_texts(self, "text")
        need("seal", self.seal, str | None, "a text, or None")
        need("wire", self.wire, Wire, "a Wire")


@frozen
class Opaque:
    """
    A block the model has no word for, kept whole.

    Attributes:
        kind: the wire's type word (``"compaction"``, ``"container_upload"``).
        value: the block as received.
    """

    kind: str
    value: Json

    def __attrs_post_init__(self) -> None:
        _need_texts(self, "kind")


Block: TypeAlias = Text | Media | Call | Result | Reasoning | Opaque
"""One piece of a message."""

_BLOCKS: Final = get_args(Block)
_ROLES: Final = get_args(Role)


def _need_texts(value: object, *names: str) -> None:
    for name in names:
        need(name, getattr(value, name), str, "a text")


def _need_blocks(name: str, value: object) -> None:
    need(name, value, tuple, "a tuple of blocks")
    for block in value if isinstance(value, tuple) else ():
        if not isinstance(block, _BLOCKS):
            raise PolicyError(name, f"a tuple of blocks, and one is {shown(block)}")


def _need_content(value: object) -> None:
    if not isinstance(value, str):
        _need_blocks("content", value)


@frozen(weakref_slot=False)
class Message:
    """
    One message.

    Attributes:
        role: who speaks.
        content: one string, or blocks.
        wire: how it looked.
        origin: where it came from if somebody said so: one `Origin` for the
            whole message, one for each block, or ``None``, which leaves it to
            `turns` to find out.

    Raises:
        PolicyError: on construction, for a value that is none of these.
    """

    role: Role
    content: str | tuple[Block, ...]
    wire: Wire
    origin: Origin | tuple[Origin, ...] | None = None

    def __attrs_post_init__(self) -> None:
        need_one_of("role", self.role, _ROLES)
        _need_content(self.content)
        need("wire", self.wire, Wire, "a Wire")
        origin = self.origin
        if origin is not None and not all(
            isinstance(one, Origin) for one in (origin if isinstance(origin, tuple) else (origin,))
        ):
            raise PolicyError("origin", f"an Origin, or one for each block, not {shown(origin)}")

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The content as blocks."""
        content = self.content
        return (new_text(content, _PLAIN_TEXT),) if isinstance(content, str) else content

    @property
    def calls(self) -> tuple[Call, ...]:
        """The client tool calls in it, in order."""
        if isinstance(self.content, str):
            return ()
        return tuple(block for block in self.content if isinstance(block, Call) and block.is_client)

    @property
    def results(self) -> tuple[Result, ...]:
        """The answers to client calls in it, in order."""
        if isinstance(self.content, str):
            return ()
        return tuple(block for block in self.content if isinstance(block, Result) and block.is_client)

    @property
    def text(self) -> str:
        """The words in it (text blocks only), joined by newlines."""
        if isinstance(self.content, str):
            return self.content
        return "\n".join(block.text for block in self.content if isinstance(block, Text))


# -- the same values, made faster -----------------------------------------------------------------------------------------
#
# A frozen class refuses assignment, so the constructor that attrs writes for it goes around the class, field by field.
# That takes 0.55 us for a message, where reading a hundred thousand of them makes a quarter of a million values.  Each of
# the five commonest classes therefore has a *mould*: a class with the same slots that is not frozen.  An instance is filled
# by plain assignments, which the interpreter specialises, and then becomes one of the frozen class: 0.19 us, and from there
# on nothing tells it from one that the constructor made.  Only what has the same slots and no slot for weak references, as
# these five, may change its class.


def mould(frozen_class: Any) -> Any:
    """A class with the slots of *frozen_class* that is not frozen, for makers like the ones below."""
    return type(f"_{frozen_class.__name__}Mould", (), {"__slots__": frozen_class.__slots__})


_WireMould: Final = mould(Wire)
_TextMould: Final = mould(Text)
_CallMould: Final = mould(Call)
_ResultMould: Final = mould(Result)
_MessageMould: Final = mould(Message)


def new_wire(tag: str, keys: tuple[str, ...], rest: tuple[tuple[str, Json], ...], form: str = "") -> Wire:
    """`Wire`, made faster."""
    made = _WireMould()
    made.tag = tag
    made.keys = keys
    made.rest = rest
    made.form = form
    made.__class__ = Wire
    finished: Wire = made
    return finished


def new_text(text: str, wire: Wire) -> Text:
    """`Text`, made faster."""
    made = _TextMould()
    made.text = text
    made.wire = wire
    made.__class__ = Text
    finished: Text = made
    return finished


def new_call(call_id: str, name: str, arguments: Json, wire: Wire) -> Call:
    """`Call`, made faster."""
    made = _CallMould()
    made.id = call_id
    made.name = name
    made.arguments = arguments
    made.wire = wire
    made.__class__ = Call
    finished: Call = made
    return finished


def new_result(call_id: str, content: str | tuple[Block, ...] | None, wire: Wire) -> Result:
    """`Result`, made faster."""
    made = _ResultMould()
    made.call_id = call_id
    made.content = content
    made.wire = wire
    made.__class__ = Result
    finished: Result = made
    return finished


def new_message(
    role: Role, content: str | tuple[Block, ...], wire: Wire, origin: Origin | tuple[Origin, ...] | None = None
) -> Message:
    """`Message`, made faster."""
    made = _MessageMould()
    made.role = role
    made.content = content
    made.wire = wire
    made.origin = origin
    made.__class__ = Message
    finished: Message = made
    return finished


# -- conversations ---------------------------------------------------------------------------------------------------------


@frozen
class Tool:
    """
    A tool declared to the model.

    Attributes:
        name: its name, ``""`` where the declaration has none.
        value: the declaration as received; sent, and paid for, with every request.
    """

    name: str
    value: Json

    def __attrs_post_init__(self) -> None:
        _need_texts(self, "name")


@frozen
class Envelope:
    """
    What stood around the messages.

    Attributes:
        kind: what `parse` was given and `render` gives back: a ``dict`` (request
            body), a bare ``list`` of messages, or JSON text as ``str`` or ``bytes``.
        fields: the body's (key, value) pairs in order, with ``None`` at the
            place of the messages; ``None`` when there was only a list.
    """

    kind: Literal["dict", "list", "str", "bytes"] = "list"
    fields: tuple[tuple[str, Json], ...] | None = None

    def __attrs_post_init__(self) -> None:
        need_one_of("kind", self.kind, ("dict", "list", "str", "bytes"))
        need("fields", self.fields, tuple | None, "pairs of key and value")
        for pair in self.fields or ():
            need("fields", pair, tuple, "pairs of key and value")
            need_whole("fields", len(pair), least=2, most=2)
            need("fields", pair[0], str, "keys that are texts")

    def get(self, key: str, default: Json = None) -> Json:
        """The body's value under *key*, else *default*."""
        for name, value in self.fields or ():
            if name == key:
                return value
        return default


@frozen
class Conversation:
    """
    System blocks, tool declarations and messages, in one dialect.

    Attributes:
        dialect: the name of the wire shape, such as ``"anthropic"``.
        messages: in order.
        system: the system blocks that stand outside the messages.  A view:
            what is written back is the envelope's own value (law L26).
        tools: the declared tools, likewise.
        envelope: everything else of the body.
        fused: half-open range of messages that are one message on the wire.
            Only the head of a compacted conversation is ever fused, so this is
            ``(0, 0)`` for everything else.
        settled: how many messages it had when a compaction made it; while it
            has as many, there is nothing new to compact (law L17).

    Raises:
        PolicyError: on construction, for a value that is none of these.
    """

    dialect: str
    messages: tuple[Message, ...]
    system: tuple[Block, ...] = ()
    tools: tuple[Tool, ...] = ()
    envelope: Envelope = Envelope()
    fused: tuple[int, int] = (0, 0)
    settled: int = 0

    def __attrs_post_init__(self) -> None:
        _need_texts(self, "dialect")
        _need_all("messages", self.messages, Message)
        _need_blocks("system", self.system)
        _need_all("tools", self.tools, Tool)
        need("envelope", self.envelope, Envelope, "an Envelope")
        need_whole("settled", self.settled)
        fused = self.fused
        need("fused", fused, tuple, "a half-open range of the messages")
        if list(map(type, fused)) != [int, int] or not 0 <= fused[0] <= fused[1] <= len(self.messages):
            raise PolicyError("fused", f"a half-open range of the messages, not {shown(fused)}")

    @property
    def length(self) -> int:
        """How many messages the wire has."""
        return self.wire_index(len(self.messages))

    def wire_index(self, position: int) -> int:
        """
        The wire's index of the message at *position* in `messages`.

        Raises:
            TypeError: *position* is no number.
        """
        start, stop = self.fused
        if position <= start:
            return position
        if position < stop:
            return start
        return position - max(stop - start - 1, 0)

    def position(self, index: int) -> int:
        """
        The first position in `messages` of the wire's message *index*.

        Raises:
            TypeError: *index* is no number.
        """
        start, stop = self.fused
        return index if index <= start else index + max(stop - start - 1, 0)

    def setting(self, name: str, default: Json = None) -> Json:
        """A field of the request body, such as ``model`` or ``thinking``."""
        return self.envelope.get(name, default)

    def with_setting(self, name: str, value: Json) -> Conversation:
        """
        The conversation with *value* as a field of its request body; itself if it has no body, but messages alone.

        >>> from compactlib.dialects import parse, render
        >>> render(parse({"model": "m", "messages": []}, dialect="anthropic").with_setting("thinking", {"type": "adaptive"}))
        {'model': 'm', 'messages': [], 'thinking': {'type': 'adaptive'}}
        """
        need("name", name, str, "the name of a field")
        fields = self.envelope.fields
        if fields is None:
            return self
        pairs = fields if any(key == name for key, _ in fields) else (*fields, (name, None))
        made = tuple((key, value if key == name else old) for key, old in pairs)
        return evolve(self, envelope=evolve(self.envelope, fields=made))


def _need_all(name: str, value: tuple[object, ...], kind: type) -> None:
    need(name, value, tuple, f"a tuple of class {kind.__name__}")
    if not set(map(type, value)) <= {kind} and not all(isinstance(one, kind) for one in value):  # the first is fast
        raise PolicyError(name, f"a tuple of class {kind.__name__}, and one is of another")


def need_conversation(value: object) -> None:
    """
    Refuse what is no `Conversation`.

    Raises:
        PolicyError: it is none; the field is ``conversation``.
    """
    need("conversation", value, Conversation, "a Conversation, as `parse` gives it")
