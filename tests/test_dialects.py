"""Wire shapes and the model: lossless both ways, and clear about wrong shapes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import compactlib as cl
from compactlib.model import Call, Media, Opaque, Origin, Reasoning, Result, Text

from .strategies import DIALECTS, broken, build, histories

ANTHROPIC: list[Any] = [
    [],
    [{"role": "user", "content": "hi"}],
    [{"content": "hi", "role": "user", "x_mine": {"a": [1, 2.5, None]}}],
    [{"role": "user", "content": [{"text": "hi", "type": "text", "cache_control": {"type": "ephemeral"}}]}],
    [{"role": "assistant", "content": [{"type": "thinking", "thinking": "", "signature": "S"}, {"type": "text", "text": "x"}]}],
    [{"role": "assistant", "content": [{"type": "thinking", "thinking": "t", "signature": None}]}],
    [{"role": "assistant", "content": [{"type": "redacted_thinking", "data": "ENC"}]}],
    [{"role": "assistant", "content": [{"input": {"b": 1, "a": 2}, "name": "n", "id": "i", "type": "tool_use"}]}],
    [{"role": "assistant", "content": [{"type": "tool_use", "id": "i", "name": "n"}]}],
    [{"role": "assistant", "content": [{"type": "tool_use", "id": "i", "name": "n", "input": {}, "caller": {"type": "direct"}}]}],
    [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "i"}]}],
    [{"role": "user", "content": [{"tool_use_id": "i", "content": None, "type": "tool_result", "is_error": False}]}],
    [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "i", "content": [{"type": "text", "text": "a"}]}]}],
    [
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "i", "content": [{"type": "tool_reference", "tool_name": "t"}]}],
        }
    ],
    [{"role": "user", "content": [{"type": "image", "source": {"type": "url", "url": "https://x.example/a.png"}}]}],
    [
        {
            "role": "assistant",
            "content": [{"type": "web_search_tool_result", "tool_use_id": "s", "content": [{"type": "web_search_result"}]}],
        }
    ],
    [
        {
            "role": "assistant",
            "content": [{"type": "advisor_tool_result", "tool_use_id": "s", "content": {"type": "advisor_result"}}],
        }
    ],
    [{"role": "assistant", "content": [{"type": "compaction", "content": "then", "encrypted_content": None}]}],
    [{"role": "system", "content": [{"type": "tool_addition", "tool": {"type": "tool_reference"}}]}],
    [{"role": "bot", "content": []}],
]
OPENAI: list[Any] = [
    [{"role": "system", "content": "s"}, {"role": "developer", "content": [{"type": "text", "text": "d"}]}],
    [{"role": "assistant", "content": None}],
    [{"role": "assistant"}],
    [{"role": "assistant", "content": "", "tool_calls": []}],
    [{"role": "assistant", "content": "x", "tool_calls": None, "tool_call_id": None, "name": None, "function_call": None}],
    [{"role": "assistant", "content": None, "refusal": "no"}],
    [{"role": "assistant", "reasoning_content": "r", "content": "c"}],
    [{"role": "assistant", "content": "c", "reasoning": "r", "reasoning_details": [{"type": "reasoning.text"}]}],
    [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "i", "type": "function", "function": {"name": "n", "arguments": "{ }"}}],
        }
    ],
    [
        {
            "role": "assistant",
            "tool_calls": [{"function": {"arguments": "{}", "name": "n", "strict": True}, "index": 0, "id": None}],
        }
    ],
    [{"role": "assistant", "content": "c", "tool_calls": [{"id": "i", "type": "custom", "custom": {"name": "n", "input": "x"}}]}],
    [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "i", "type": "function", "function": {"name": "n", "arguments": {"a": 1}}}],
        }
    ],
    [
        {"role": "assistant", "content": None, "function_call": {"name": "n", "arguments": "{}"}},
        {"role": "function", "name": "n", "content": "r"},
    ],
    [{"role": "tool", "tool_call_id": "i", "content": "r"}],
    [{"role": "tool", "content": [{"type": "text", "text": "r"}]}],
    [{"role": "tool", "tool_call_id": None, "content": None}],
    [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AA==", "detail": "low"}}]}],
    [{"role": "user", "content": [{"type": "image_url", "image_url": "https://x.example/a.png"}]}],
    [{"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "AA==", "format": "wav"}}]}],
    [{"role": "user", "content": [{"type": "file", "file": {"file_id": "f"}}, {"type": "new_thing", "x": 1}]}],
    [{"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "n", "input": {}}], "tool_calls": []}],
]


@pytest.mark.parametrize(
    ("dialect", "body"), [("anthropic", body) for body in ANTHROPIC] + [("openai-chat", body) for body in OPENAI]
)
def test_what_is_read_is_written_back(dialect: str, body: Any) -> None:
    """``render(parse(x))`` is x, with the same keys in the same order, as objects and as text."""
    text = json.dumps(body)

    assert json.dumps(cl.render(cl.parse(body, dialect=dialect))) == text
    assert json.dumps({"m": cl.render(cl.parse(body, dialect=dialect))}) == json.dumps({"m": body})
    assert json.dumps(json.loads(cl.render(cl.parse(text, dialect=dialect)))) == text
    assert json.dumps(json.loads(cl.render(cl.parse(text.encode(), dialect=dialect)))) == text


@given(st.sampled_from(DIALECTS), st.one_of(histories(), broken()), st.booleans())
def test_drawn_conversations_are_written_back(dialect: str, pieces: Any, thinking: bool) -> None:
    """The same for whole conversations, legal and broken."""
    body = {"model": "m", "messages": build(pieces, dialect, thinking=thinking), "max_tokens": 5}

    assert json.dumps(cl.render(cl.parse(body, dialect=dialect))) == json.dumps(body)


def test_recorded_requests_are_written_back(shared: Path) -> None:
    """Every request that a provider has answered comes back as it was."""
    seen = 0
    for dialect in DIALECTS:
        for name in (dialect, f"{dialect}-more"):
            for line in (shared / "corpus/recorded" / f"{name}.jsonl").read_text("utf-8").splitlines():
                body = json.loads(line)["body"]
                seen += 1

                assert json.dumps(cl.render(cl.parse(body, dialect=dialect))) == json.dumps(body)

    assert seen > 900


@pytest.mark.parametrize(
    ("dialect", "body", "path"),
    [
        ("anthropic", 5, "$"),
        ("anthropic", {"messages": None}, "$.messages"),
        ("anthropic", {}, "$.messages"),
        ("anthropic", [5], "$.messages[0]"),
        ("anthropic", [{"content": "x"}], "$.messages[0].role"),
        ("anthropic", [{"role": "user", "content": None}], "$.messages[0].content"),
        ("anthropic", [{"role": "user", "content": "x"}, {"role": "user", "content": ["x"]}], "$.messages[1].content[0]"),
        ("anthropic", [{"role": "user", "content": [{"type": "text"}]}], "$.messages[0].content[0].text"),
        (
            "anthropic",
            [{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": 1}]}],
            "$.messages[0].content[1].type",
        ),
        (
            "anthropic",
            [{"role": "assistant", "content": [{"type": "tool_use", "id": 1, "name": "n"}]}],
            "$.messages[0].content[0].id",
        ),
        (
            "anthropic",
            [
                {
                    "role": "user",
                    "content": [{"type": "tool_result", "tool_use_id": "i", "content": [{"type": "text", "text": None}]}],
                }
            ],
            "$.messages[0].content[0].content[0].text",
        ),
        ("anthropic", {"messages": [], "system": 5}, "$.system"),
        ("anthropic", {"messages": [], "tools": [5]}, "$.tools[0]"),
        ("openai-chat", [{"role": "user", "content": 5}], "$.messages[0].content"),
        ("openai-chat", [{"role": "user", "content": [{"type": "text", "text": 1}]}], "$.messages[0].content[0].text"),
        ("openai-chat", [{"role": "assistant", "tool_calls": {}}], "$.messages[0].tool_calls"),
        ("openai-chat", [{"role": "assistant", "tool_calls": [{"id": "i"}]}], "$.messages[0].tool_calls[0].function"),
        ("openai-chat", [{"role": "assistant", "tool_calls": [{"function": {}}]}], "$.messages[0].tool_calls[0].function.name"),
        ("openai-chat", [{"role": "tool", "tool_call_id": 5, "content": "x"}], "$.messages[0].tool_call_id"),
        ("nobody", [], "$"),
    ],
)
def test_a_wrong_shape_is_named_by_its_path(dialect: str, body: Any, path: str) -> None:
    """The error says where."""
    with pytest.raises(cl.WireError) as caught:
        cl.parse(body, dialect=dialect)

    assert caught.value.path == path


NOISE = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=5)
    | st.sampled_from(["text", "tool_use", "assistant", "user", "tool"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["role", "content", "type", "text", "id", "name", "input", "tool_calls", "function", "source", "tool_use_id"]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=25,
)


@given(st.sampled_from(DIALECTS), st.one_of(NOISE, st.lists(NOISE), st.fixed_dictionaries({"messages": st.lists(NOISE)})))
def test_only_wire_errors_escape(dialect: str, body: Any) -> None:
    """Whatever is passed in, it is read or it is a `WireError`; what was read comes back."""
    try:
        conversation = cl.parse(body, dialect=dialect)
    except cl.WireError:
        return

    assert cl.render(conversation) == body


@given(st.binary(max_size=60) | st.text(max_size=60))
def test_text_that_is_no_body_is_a_wire_error(text: str | bytes) -> None:
    """The same for any text and any bytes."""
    try:
        cl.parse(text, dialect="anthropic")
    except cl.WireError:
        return

    assert json.loads(text) == []


@pytest.mark.parametrize("dialect", DIALECTS)
def test_deep_arguments_are_refused_with_a_wire_error(dialect: str) -> None:
    """Ten thousand levels inside a call's arguments, as objects and as text."""
    deep: Any = {}
    for _ in range(10_000):
        deep = {"a": deep}
    call = {"id": "i", "type": "function", "function": {"name": "n", "arguments": deep}}
    block = {"type": "tool_use", "id": "i", "name": "n", "input": deep}
    body = (
        [{"role": "assistant", "content": [block]}] if dialect == "anthropic" else [{"role": "assistant", "tool_calls": [call]}]
    )

    with pytest.raises(cl.WireError, match="nested"):
        cl.parse(body, dialect=dialect)


@given(st.sampled_from(DIALECTS), histories())
def test_nothing_is_shared_with_the_caller(dialect: str, pieces: Any) -> None:
    """Law L19: spoiling what was passed in, or what came out, changes nothing."""
    body = {"model": "m", "messages": build(pieces, dialect)}
    text = json.dumps(body)
    conversation = cl.parse(body, dialect=dialect)
    _spoil(body)
    _spoil(cl.render(conversation))

    assert json.dumps(cl.render(conversation)) == text


def _spoil(value: Any) -> None:
    for item in list(value.values()) if isinstance(value, dict) else list(value) if isinstance(value, list) else ():
        _spoil(item)
    if isinstance(value, dict | list):
        value.clear()


def test_anthropic_blocks_have_their_meaning() -> None:
    """What the model has words for is in its fields."""
    [first, second] = cl.parse(
        [
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "t", "signature": "S"},
                    {"type": "text", "text": "x"},
                    {"type": "tool_use", "id": "i", "name": "n", "input": {"a": 1}},
                    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "i", "content": "r", "is_error": True},
                    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}},
                    {"type": "container_upload", "file_id": "f"},
                ],
            },
        ],
        dialect="anthropic",
    ).messages
    reasoning, text, call, server = first.blocks
    result, image, opaque = second.blocks

    assert isinstance(reasoning, Reasoning)
    assert (reasoning.text, reasoning.seal) == ("t", "S")
    assert isinstance(text, Text)
    assert isinstance(call, Call)
    assert (call.id, call.name, call.arguments, call.is_client) == ("i", "n", {"a": 1}, True)
    assert isinstance(server, Call)
    assert not server.is_client
    assert first.calls == (call,)
    assert isinstance(result, Result)
    assert (result.call_id, result.text, result.is_error) == ("i", "r", True)
    assert second.results == (result,)
    assert isinstance(image, Media)
    assert (image.kind, image.mime, image.data) == ("image", "image/png", "AA==")
    assert isinstance(opaque, Opaque)
    assert opaque.kind == "container_upload"


def test_openai_arguments_are_the_string_the_model_wrote() -> None:
    """Not parsed, not written anew."""
    [message] = cl.parse(
        [{"role": "assistant", "tool_calls": [{"id": "i", "function": {"name": "n", "arguments": '{"a":  1}'}}]}],
        dialect="openai-chat",
    ).messages

    assert message.calls[0].arguments == '{"a":  1}'


def test_origins_are_taken_from_the_caller() -> None:
    """And a name for a message that is not there is an error."""
    body = [{"role": "user", "content": "hi"}]

    assert cl.parse(body, dialect="anthropic", origins={0: Origin.HARNESS}).messages[0].origin is Origin.HARNESS
    with pytest.raises(cl.WireError, match="message 1 of 1"):
        cl.parse(body, dialect="anthropic", origins={1: Origin.HUMAN})


def test_system_and_tools_are_views_of_the_envelope() -> None:
    """They can be read, and what is written back is what was received."""
    body = {
        "tools": [{"name": "n", "input_schema": {}}, {"type": "web_search_20250305", "name": "web_search"}],
        "system": [{"type": "text", "text": "be brief"}],
        "messages": [],
    }
    conversation = cl.parse(body, dialect="anthropic")

    assert [tool.name for tool in conversation.tools] == ["n", "web_search"]
    assert [block.text for block in conversation.system if isinstance(block, Text)] == ["be brief"]
    assert json.dumps(cl.render(conversation)) == json.dumps(body)
    [tool] = cl.parse({"tools": [{"type": "function", "function": {"name": "f"}}], "messages": []}, dialect="openai-chat").tools
    assert tool.name == "f"
