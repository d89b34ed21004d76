"""Mistral's chat completions: chunks are blocks, and come back as they were."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import compactlib as cl
from compactlib.model import Media, Opaque, Reasoning, Result, Text
from compactlib.turns import divide

from .dialect_laws import check_reading, check_writing_back, deep, noise, recorded

DIALECT = "mistral"
USER = {"role": "user", "content": "hi"}
THINKING = {
    "type": "thinking",
    "thinking": [{"type": "text", "text": "hm"}, {"type": "reference", "reference_ids": [1]}],
    "closed": True,
}
CALL = {"id": "aaaaaaaa1", "type": "function", "function": {"name": "read", "arguments": '{"path":  "a.py"}'}, "index": 0}
RESULT = {"role": "tool", "tool_call_id": "aaaaaaaa1", "name": "read", "content": "x = 1"}
THOUGHTFUL = {"role": "assistant", "content": [{"thinking": "hm", "type": "thinking"}], "tool_calls": [CALL]}
REFERRING = {"role": "assistant", "content": [{"type": "reference", "reference_ids": [1, 2]}], "tool_calls": None}
CALLING = {"role": "assistant", "content": "", "tool_calls": [CALL], "prefix": True}
MESSAGES: list[Any] = [
    USER,
    {"role": "system", "content": [{"type": "text", "text": "think"}, THINKING]},
    {"role": "user", "content": [{"type": "image_url", "image_url": "https://x.example/a.png"}]},
    {"role": "user", "content": [{"image_url": {"url": "data:image/png;base64,AA==", "detail": "low"}, "type": "image_url"}]},
    {
        "role": "user",
        "content": [{"type": "document_url", "document_url": "data:application/pdf;base64,AA==", "document_name": "a"}],
    },
    {"role": "user", "content": [{"type": "audio_url", "audio_url": {"url": "https://x.example/a.mp3"}}]},
    {"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "AA==", "format": "wav"}}]},
    {"role": "user", "content": [{"type": "input_audio", "input_audio": "AA=="}]},
    {"role": "user", "content": [{"type": "file", "file_id": "f"}, {"type": "new_thing", "x": 1}]},
    {"role": "assistant", "content": [THINKING, {"type": "text", "text": "x"}], "prefix": False},
    THOUGHTFUL,
    REFERRING,
    CALLING,
    {"role": "assistant", "tool_calls": [{"function": {"arguments": {"a": 1}, "name": "n"}, "id": "null", "type": None}]},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{**CALL, "function.name": "x", "function": {"name": "n", "a\x1fb": 1}}],
    },
    RESULT,
    {"role": "tool", "content": [{"type": "text", "text": "x"}, THINKING], "tool_call_id": "aaaaaaaa1", "name": "read"},
    {"role": "tool", "content": ""},
]


@pytest.mark.parametrize("message", MESSAGES)
def test_what_is_read_is_written_back(message: Any) -> None:
    """Every shape of a message, alone and among others, with all its keys in order."""
    check_writing_back([message], DIALECT)
    check_writing_back({"model": "m", "messages": [USER, message], "tools": [{"type": "web_search"}], "n": 1}, DIALECT)


def test_recorded_requests_are_written_back(shared: Path) -> None:
    """Every request that the provider has answered comes back as it was."""
    bodies = recorded(shared, DIALECT)
    for body in bodies:
        check_writing_back(body, DIALECT)

    assert len(bodies) == 70


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({}, "$.messages"),
        ([5], "$.messages[0]"),
        ([{"role": "user", "content": 5}], "$.messages[0].content"),
        ([{"role": "user", "content": ["x"]}], "$.messages[0].content[0]"),
        ([{"role": "user", "content": [{"type": 5}]}], "$.messages[0].content[0].type"),
        ([USER, {"role": "assistant", "content": [{"type": "thinking"}]}], "$.messages[1].content[0].thinking"),
        ([{"role": "assistant", "tool_calls": [{"id": 5, "function": {"name": "n"}}]}], "$.messages[0].tool_calls[0].id"),
        ({"messages": [], "tools": [5]}, "$.tools[0]"),
    ],
)
def test_a_wrong_shape_is_named_by_its_path(body: Any, path: str) -> None:
    """The error says where."""
    with pytest.raises(cl.WireError) as caught:
        cl.parse(body, dialect=DIALECT)

    assert caught.value.path == path


KEYS = [
    "role",
    "content",
    "type",
    "text",
    "thinking",
    "tool_calls",
    "function",
    "name",
    "arguments",
    "id",
    "tool_call_id",
    "prefix",
]
NOISE = noise(["user", "assistant", "tool", "text", "thinking", "document_url"], [*KEYS, "document_url", "function.name"])


@pytest.mark.parametrize(
    "body",
    [
        [{"role": "assistant", "content": [{"type": "thinking", "thinking": [deep()]}]}],
        [{"role": "assistant", "tool_calls": [{"function": {"name": "n", "arguments": deep()}}]}],
    ],
)
def test_what_is_nested_too_deep_is_refused(body: Any) -> None:
    """Wherever it stands, with a `WireError`."""
    with pytest.raises(cl.WireError, match="nested"):
        cl.parse(body, dialect=DIALECT)


@given(st.one_of(NOISE, st.lists(NOISE), st.fixed_dictionaries({"messages": st.lists(NOISE)}, optional={"tools": NOISE})))
def test_only_wire_errors_escape(body: Any) -> None:
    """Whatever is passed in, it is read or it is a `WireError`; what was read comes back."""
    check_reading(body, DIALECT)


@given(st.lists(st.sampled_from(MESSAGES), max_size=8))
def test_any_order_of_messages_is_written_back(messages: list[Any]) -> None:
    """No message depends on its neighbours."""
    check_writing_back(messages, DIALECT)
    check_reading(messages, DIALECT)


def test_a_thinking_chunk_is_reasoning_where_it_stands() -> None:
    """It has words and no seal, and what else it holds is residue."""
    [message] = cl.parse([{"role": "assistant", "content": [{"type": "text", "text": "x"}, THINKING]}], dialect=DIALECT).messages
    text, thinking = message.blocks

    assert text == Text("x")
    assert isinstance(thinking, Reasoning)
    assert (thinking.text, thinking.seal, thinking.wire.get("closed")) == ("hm", None, True)


def test_media_have_an_address_or_data() -> None:
    """Pictures, documents and sound; what is a reference is opaque."""
    blocks = [block for message in cl.parse(MESSAGES[2:8], dialect=DIALECT).messages for block in message.blocks]
    [reference] = cl.parse([REFERRING], dialect=DIALECT).messages[0].blocks

    assert [(block.kind, block.mime, block.data, block.url) for block in blocks if isinstance(block, Media)] == [
        ("image", "", None, "https://x.example/a.png"),
        ("image", "image/png", "AA==", None),
        ("document", "application/pdf", "AA==", None),
        ("audio", "", None, "https://x.example/a.mp3"),
        ("audio", "audio/wav", "AA==", None),
        ("audio", "", "AA==", None),
    ]
    assert reference == Opaque("reference", {"type": "reference", "reference_ids": [1, 2]})


def test_calls_and_results_have_their_meaning() -> None:
    """As in the dialect it is made after; the prefix and a tool's name are residue."""
    asked, answered = cl.parse([CALLING, RESULT], dialect=DIALECT).messages
    [result] = answered.blocks

    assert (asked.calls[0].id, asked.calls[0].arguments) == ("aaaaaaaa1", '{"path":  "a.py"}')
    assert asked.wire.get("prefix") is True
    assert isinstance(result, Result)
    assert (result.call_id, result.text, answered.wire.get("name")) == ("aaaaaaaa1", "x = 1", "read")


def test_steps_and_cuts() -> None:
    """A step with a thought, its result, and the next turn."""
    messages = [USER, THOUGHTFUL, RESULT, {"role": "assistant", "content": "done"}, USER, {"role": "assistant", "content": "x"}]
    conversation = cl.parse(messages, dialect=DIALECT)

    assert [(step.start, step.stop) for step in divide(conversation).steps] == [(1, 3), (3, 4), (5, 6)]
    assert cl.legal_cuts(conversation) == cl.cuts.Cuts(turn=(4,), step=(1, 3, 5))
