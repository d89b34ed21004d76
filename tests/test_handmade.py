"""
Conversations made by hand, with shapes that no dialect has: the documented errors leave the public functions, and no others.

Messages and blocks are public, and so is what `parse` keeps in them of the wire; who builds them alone can put anything there
that the constructors take.  ``COMPACTLIB_WHOLE=1`` runs many more.
"""

from __future__ import annotations

import functools
import os
import random
from collections.abc import Callable
from typing import Any, Final

import attrs
import pytest

import compactlib as cl
from compactlib.dialects import DIALECTS, WIRES, messages_key
from compactlib.model import (
    Block,
    Call,
    Conversation,
    Envelope,
    Media,
    Message,
    Opaque,
    Reasoning,
    Result,
    Role,
    Text,
    Tool,
    Wire,
)

SEEDS: Final = 600 if os.environ.get("COMPACTLIB_WHOLE") == "1" else 12

ROLES: Final[tuple[Role, ...]] = ("system", "developer", "user", "model", "tool", "other")
TAGS: Final = (
    "", "text", "tool_use", "tool_result", "thinking", "image", "user", "assistant", "tool", "model", "function", "custom",
    "function_call", "function_call_output", "reasoning", "functionCall", "functionResponse", "member", "json", "toolUse",
    "toolResult", "inlineData", "item_reference", "web_search_call", "mcp_call", "web_search_tool_result", "compaction",
    "local_shell_call_output", "agent", "x",
)  # fmt: skip
KEYS: Final = (
    "role", "content", "type", "text", "id", "name", "input", "tool_use_id", "parts", "call_id", "output", "arguments",
    "tool_calls", "tool_call_id", "function", "functionCall", "functionResponse", "response", "toolUse", "toolResult",
    "thinking", "signature", "source", "data", "message", "observation", "x",
)  # fmt: skip
FIELDS: Final = (
    "model", "tools", "system", "max_tokens", "thinking", "context_management", "instructions", "systemInstruction",
    "tool_choice", "generationConfig", "toolConfig",
)  # fmt: skip
FORMS: Final = ("", "string", "list", "null", "absent", "object", "single", "error", "item", "lone", "1", "2", "-1", "9" * 5000)
TEXTS: Final = ("", "x", "hello world " * 30, "\ud800", "[cleared", "line\n" * 500)
VALUES: Final[tuple[Any, ...]] = (
    None, 1, "x", {}, [], {"a": 1}, {"name": 1}, [1], {"type": "text", "text": "y"}, {"results": []}, True, {"type": 5},
    {"path": "a.py"}, '{"path": "a.py"}', "{", object(), {1: 2}, {1: 2, "a": 3}, {"path": object()}, float("nan"), 10**5000,
)  # fmt: skip
"""What stands where JSON does; the last ones are none."""


class Hand:
    """Who makes values by hand, and what comes to mind."""

    def __init__(self, seed: int) -> None:
        self.random: Final = random.Random(seed)  # noqa: S311 - the same every time, and no secret

    def one(self, *values: Any) -> Any:
        return self.random.choice(values)

    def wire(self) -> Wire:
        keys = tuple(self.random.sample(KEYS, self.random.randint(0, 4)))
        residue = self.random.sample(KEYS, self.one(0, 0, 0, 1, 2))
        return Wire(self.one(*TAGS), keys, tuple((key, self.one(*VALUES)) for key in residue), self.one(*FORMS))

    def block(self, *, depth: int = 0) -> Block:
        kind = self.one(Text, Opaque, Media, Call, Reasoning, *([Result] * 2 if depth < 3 else []))
        if kind is Text:
            return Text(self.one(*TEXTS), self.wire())
        if kind is Opaque:
            return Opaque(self.one(*TAGS), self.one(*VALUES))
        if kind is Media:
            data, url = self.one(None, "AA==", "x"), self.one(None, "http://x.example", "data:x")
            return Media(self.one("image", "audio", "x"), self.one("", "image/png"), data, url, self.one(*VALUES), self.wire())
        if kind is Call:
            return Call(self.one("", "c1", "c2"), self.one("bash", "read", ""), self.one(*VALUES), self.wire())
        if kind is Reasoning:
            return Reasoning(self.one(*TEXTS), self.one(None, "", "abcd"), self.wire())
        inside = tuple(self.block(depth=depth + 1) for _ in range(self.one(0, 1, 2)))
        return Result(self.one("", "c1", "c2"), self.one(None, inside, *TEXTS), self.wire())

    def message(self) -> Message:
        blocks = tuple(self.block() for _ in range(self.one(0, 1, 2, 3)))
        origin = self.one(None, None, *cl.Origin, (cl.Origin.HUMAN,), ())
        return Message(self.one(*ROLES), self.one(blocks, blocks, self.one(*TEXTS)), self.wire(), origin)

    def altered(self, message: Message) -> Message:
        """A message of a dialect, one thing in it made by hand."""
        blocks = list(message.blocks)
        at = self.random.randrange(len(blocks) + 1)
        do = self.one("role", "wire", "insert", "block", "block wire", "value")
        if do == "role":
            return attrs.evolve(message, role=self.one(*ROLES))
        if do == "wire":
            return attrs.evolve(message, wire=self.wire())
        block = self.block() if at == len(blocks) or do in ("insert", "block") else blocks[at]
        if do == "value" and isinstance(block, Call):
            block = attrs.evolve(block, arguments=self.one(*VALUES))
        elif do == "value" and isinstance(block, Media):
            block = attrs.evolve(block, source=self.one(*VALUES))
        elif block in blocks and not isinstance(block, Opaque):
            block = attrs.evolve(block, wire=self.wire())
        blocks[at : at + (do != "insert")] = [block]
        return attrs.evolve(message, content=tuple(blocks))

    def conversation(self, dialect: str) -> Conversation:
        """One of nothing but hand-made messages, or one of the dialect with a few of them in it."""
        kept = BASES.get(dialect)
        if kept is None or self.one(0, 1):
            kept = Conversation(dialect, tuple(self.message() for _ in range(self.one(0, 1, 3, 8))))
        else:
            messages = list(kept.messages)
            for at in self.random.sample(range(len(messages)), self.one(1, 2, 6)):
                messages[at] = self.one(self.altered(messages[at]), self.message())
            kept = attrs.evolve(kept, messages=tuple(messages))
        given = [(key, self.one(*VALUES)) for key in (messages_key(dialect), *self.random.sample(FIELDS, 3))]
        start, stop = sorted(self.random.choices(range(len(kept.messages) + 1), k=2))
        return attrs.evolve(
            kept,
            system=self.one((), (self.block(),)),
            tools=self.one((), (Tool(self.one("bash", ""), self.one(*VALUES)),)),
            envelope=self.one(kept.envelope, Envelope(self.one("dict", "list", "str", "bytes"), tuple(given))),
            fused=self.one((0, 0), (0, 0), (start, stop)),
            settled=self.one(0, 0, 3, 1000),
        )


def base() -> Conversation:
    """A conversation of Anthropic's that has to be compacted."""
    messages: list[dict[str, Any]] = []
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
    for turn in range(10):
        asked = {"path": f"src/{turn % 3}.py", "why": "to see it, " * 40}
        read = {"type": "tool_use", "id": f"c{turn}", "name": "read", "input": asked}
        look = {"type": "tool_use", "id": f"d{turn}", "name": "look", "input": {}}
        thought = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
        rows = {"type": "tool_result", "tool_use_id": f"c{turn}", "content": "row copied\n" * 200}
        seen = {"type": "tool_result", "tool_use_id": f"d{turn}", "content": [{"type": "text", "text": "seen " * 100}, picture]}
        messages += [
            {"role": "user", "content": f"Migrate table t{turn}."},
            {"role": "assistant", "content": [thought, {"type": "text", "text": "Yes."}, read, look]},
            {"role": "user", "content": [rows, seen]},
            {"role": "assistant", "content": f"Table t{turn} is done."},
        ]
    return cl.parse({"model": "claude-opus-4-5", "max_tokens": 100, "messages": messages}, dialect="anthropic")


BASES: Final = {dialect: cl.parse(cl.convert(base(), dialect=dialect).body, dialect=dialect) for dialect in DIALECTS}
POLICY: Final = cl.Policy(window_tokens=4000)
EDITING: Final = attrs.evolve(POLICY, clearing=cl.Clearing(form="edit"))

ASKED: Final[dict[str, Callable[[Conversation], object]]] = {
    "render": cl.render,
    "check": cl.check,
    "check at rest": lambda conversation: cl.check(conversation, mode="history"),
    "repair": cl.repair,
    "turns": lambda conversation: cl.turns(conversation),
    "cuts": cl.legal_cuts,
    "effective": cl.effective,
    "redact": cl.redact,
    "pins": cl.propose_pins,
    "digest": lambda conversation: cl.digest(conversation, POLICY),
    "plan": lambda conversation: cl.plan(conversation, POLICY, when="now"),
    "compact": lambda conversation: cl.compact(conversation, POLICY, when="now"),
    "clear": lambda conversation: cl.compact(conversation, POLICY, when="now", rungs=("clear",), store=cl.MemoryStore()),
    "hide": lambda conversation: cl.compact(conversation, EDITING, when="now", rungs=("clear",)),
    "admit": lambda conversation: [cl.admit(one, POLICY, store=cl.MemoryStore()) for one in conversation.messages],
    **{f"convert to {dialect}": functools.partial(cl.convert, dialect=dialect) for dialect in DIALECTS},
}


@pytest.mark.parametrize("dialect", WIRES)
def test_only_documented_errors_leave(dialect: str) -> None:
    """Whatever is asked about it: an answer, or a documented error that says something."""
    for seed in range(SEEDS):
        conversation = Hand(seed).conversation(dialect)
        for name, ask in ASKED.items():
            try:
                ask(conversation)
            except cl.CompactlibError as error:
                assert str(error), (name, seed)  # noqa: PT017  # the error is one of two right answers


@pytest.mark.parametrize("dialect", WIRES)
def test_foreign_shape_is_named_by_its_message(dialect: str) -> None:
    """A key that no block of the dialect gives: the error says in which message, and asks whether it was to be converted."""
    good = cl.parse([], dialect=dialect)
    foreign = Message("user", (Text("x", Wire("text", ("type", "nobody's"))),), Wire("user", ("role", "nobody's")))
    blank = Message("user", (), Wire("user", ("x",), (("x", 1),)))

    with pytest.raises(cl.WireError, match=f"that {dialect} has not: KeyError.*`convert`") as caught:
        cl.render(attrs.evolve(good, messages=(blank, foreign)))

    assert caught.value.path == f"$.{messages_key(dialect)}[1]"


def test_value_that_is_no_json_is_named_by_its_message() -> None:
    """The path is that of the message and goes on inside it."""
    odd = Message("user", (Opaque("x", {"a": [object()]}),), Wire("user", ("role", "content")))

    with pytest.raises(cl.WireError) as caught:
        cl.render(Conversation("anthropic", (BASES["anthropic"].messages[0], odd)))

    assert caught.value.path == "$.messages[1].a[0]"


def test_lone_message_of_blocks_is_a_list_like_any_other() -> None:
    """No block leaves `render` as it is."""
    lone = Message("user", (Text("x"),), Wire("user", ("role", "content"), form="lone"))
    made = cl.render(Conversation("openai-responses", (lone,), envelope=Envelope("dict", (("input", None),))))

    assert made == {"input": [{"role": "user", "content": [{"type": "input_text", "text": "x"}]}]}


@pytest.mark.parametrize(
    "fields",
    [
        {"tag": 5},
        {"tag": "x", "form": None},
        {"tag": "x", "keys": ["a"]},
        {"tag": "x", "keys": ("a", 1)},
        {"tag": "x", "rest": {"a": 1}},
        {"tag": "x", "rest": ("a",)},
        {"tag": "x", "rest": ((1, 2),)},
        {"tag": "x", "rest": (("a", 1, 2),)},
    ],
)
def test_wire_of_another_kind_is_refused(fields: dict[str, Any]) -> None:
    """A tag, keys, pairs and a form, or a `PolicyError` that names the wire."""
    with pytest.raises(cl.PolicyError) as caught:
        Wire(**fields)

    assert caught.value.field == "wire"


@pytest.mark.parametrize(
    ("dialect", "message", "path"),
    [
        ("anthropic", {"role": "user", "content": "x", 1: 2}, "$.messages[0]"),
        ("anthropic", {"role": "user", "content": [{"type": "text", "text": "x", 1: 2}]}, "$.messages[0].content[0]"),
        ("openai-chat", {"role": "assistant", "tool_calls": [{"function": {"name": "n", 1: 2}}]}, "$.messages[0].tool_calls[0]"),
        ("openai-responses", {"role": "user", "content": "x", 1: 2}, "$.input[0]"),
        ("gemini", {"role": "user", "parts": [{"text": "x", 1: 2}]}, "$.contents[0].parts[0]"),
        ("bedrock", {"role": "user", "content": [{"text": "x"}], 1: 2}, "$.messages[0]"),
    ],
)  # fmt: skip
def test_key_that_is_no_string_is_a_wire_error(dialect: str, message: dict[Any, Any], path: str) -> None:
    """JSON has none, wherever in a body it stands."""
    with pytest.raises(cl.WireError, match="the key 1 is no string") as caught:
        cl.parse([message], dialect=dialect)

    assert caught.value.path == path
