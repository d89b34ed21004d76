"""Bedrock's Converse API: members are blocks, and come back as they were."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import compactlib as cl
from compactlib.model import Call, Media, Message, Opaque, Origin, Reasoning, Result, Text
from compactlib.protocol.profiles import PROFILES
from compactlib.summaries.head import Layout, user_message, write_summary
from compactlib.turns import divide

from .dialect_laws import check_reading, check_writing_back, deep, noise, recorded

DIALECT = "bedrock"
TEXT = {"text": "hi"}
CALL = {"toolUse": {"toolUseId": "t1", "name": "read", "input": {"path": "a.py"}}}
RESULT = {"toolResult": {"toolUseId": "t1", "content": [{"text": "x = 1"}], "status": "success"}}
SERVER_CALL = {"toolUse": {"input": {}, "type": "server_tool_use", "toolUseId": "s1", "name": "nova_code_interpreter"}}
SERVER_RESULT = {"toolResult": {"toolUseId": "s1", "content": [{"json": {"out": 1}}], "type": "nova_code_interpreter_result"}}
IMAGE = {"image": {"format": "png", "source": {"bytes": "AA=="}}}
PDF = {
    "document": {"format": "pdf", "name": "a", "source": {"s3Location": {"uri": "s3://b/a.pdf"}}, "citations": {"enabled": True}}
}
WORDS = {"document": {"format": "txt", "name": "a", "source": {"text": "words"}, "context": "c"}}
SEALED = {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "SIG"}}}
GUARDED = {"guardContent": {"text": {"qualifiers": ["query"], "text": "hi"}}}
CITED = {"citationsContent": {"citations": [{"title": "t"}], "content": [{"text": "said"}]}}
MARK = {"cachePoint": {"type": "default"}}
BLOCKS: list[Any] = [
    TEXT,
    {"text": ""},
    CALL,
    {"toolUse": {"name": "n", "toolUseId": "t"}},
    {"toolUse": {"toolUseId": "t", "name": "n", "input": [None, {"b": 1, "a": 2.5}], "x": 1}},
    SERVER_CALL,
    RESULT,
    {"toolResult": {"content": [], "toolUseId": "t1", "status": "error"}},
    {"toolResult": {"toolUseId": "t1", "status": None}},
    {"toolResult": {"toolUseId": "t1", "status": ["odd"]}},
    {"toolResult": {"toolUseId": "t1"}},
    {"toolResult": {"toolUseId": "t1", "content": None}},
    {"toolResult": {"toolUseId": "t1", "content": [{"json": {"a": [1, None]}}, {"json": None}, {"json": "words"}]}},
    {"toolResult": {"toolUseId": "t1", "content": [IMAGE, PDF, {"searchResult": {"title": "t"}}, {"text": "a", "x": 1}, RESULT]}},
    SERVER_RESULT,
    SEALED,
    {"reasoningContent": {"reasoningText": {"text": "hm"}}},
    {"reasoningContent": {"reasoningText": {"signature": None, "text": "hm", "x": 1}}},
    {"reasoningContent": {"redactedContent": "ENC"}},
    {"reasoningContent": {}},
    {"reasoningContent": {"reasoningText": None}},
    {"reasoningContent": {"reasoningText": {"text": "a"}, "redactedContent": "b"}},
    IMAGE,
    PDF,
    WORDS,
    {"video": {"source": {"bytes": "AA=="}, "format": "video/mp4"}},
    {"audio": {"source": {}}},
    GUARDED,
    {"guardContent": {"image": {"format": "png", "source": {"bytes": "AA=="}}}},
    {"guardContent": {"text": {"text": "hi"}, "x": 1}},
    CITED,
    {"citationsContent": {"content": [{"text": "a"}, {"text": "b"}], "citations": []}},
    {"citationsContent": {"content": [{"text": "a", "x": 1}]}},
    MARK,
    {"newThing": 5},
    {"text": "hi", "cachePoint": {"type": "default"}},
    {},
]


@pytest.mark.parametrize("block", BLOCKS)
def test_what_is_read_is_written_back(block: Any) -> None:
    """Every shape of a block, alone, among others and in the system prompt, with all its keys in order."""
    message = {"content": [TEXT, block], "role": "assistant", "x_mine": {"a": [1, 2.5, None]}}
    check_writing_back([{"role": "user", "content": [block]}], DIALECT)
    check_writing_back({"modelId": "m", "system": [block], "messages": [message], "toolConfig": None}, DIALECT)


def test_recorded_requests_are_written_back(shared: Path) -> None:
    """Every request that the provider has answered comes back as it was."""
    bodies = recorded(shared, DIALECT)
    for body in bodies:
        check_writing_back(body, DIALECT)

    assert len(bodies) > 100


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({}, "$.messages"),
        ({"messages": "hi"}, "$.messages"),
        ([5], "$.messages[0]"),
        ([{"content": []}], "$.messages[0].role"),
        ([{"role": "user", "content": "hi"}], "$.messages[0].content"),
        ([{"role": "user"}], "$.messages[0].content"),
        ([{"role": "user", "content": [TEXT]}, {"role": "user", "content": [TEXT, 5]}], "$.messages[1].content[1]"),
        ([{"role": "user", "content": [{"text": 5}]}], "$.messages[0].content[0].text"),
        ([{"role": "user", "content": [{"toolUse": 5}]}], "$.messages[0].content[0].toolUse"),
        ([{"role": "user", "content": [{"toolUse": {"name": "n"}}]}], "$.messages[0].content[0].toolUse.toolUseId"),
        ([{"role": "user", "content": [{"toolUse": {"toolUseId": "t"}}]}], "$.messages[0].content[0].toolUse.name"),
        ([{"role": "user", "content": [{"toolResult": {"content": []}}]}], "$.messages[0].content[0].toolResult.toolUseId"),
        (
            [{"role": "user", "content": [{"toolResult": {"toolUseId": "t", "content": "x"}}]}],
            "$.messages[0].content[0].toolResult.content",
        ),
        (
            [{"role": "user", "content": [{"toolResult": {"toolUseId": "t", "content": [{"text": 5}]}}]}],
            "$.messages[0].content[0].toolResult.content[0].text",
        ),
        ([{"role": "user", "content": [{"image": {"format": "png"}}]}], "$.messages[0].content[0].image.source"),
        (
            [{"role": "user", "content": [{"reasoningContent": {"reasoningText": {"text": 5}}}]}],
            "$.messages[0].content[0].reasoningContent.reasoningText.text",
        ),
        ({"messages": [], "system": "be brief"}, "$.system"),
        ({"messages": [], "system": [5]}, "$.system[0]"),
        ({"messages": [], "toolConfig": []}, "$.toolConfig"),
        ({"messages": [], "toolConfig": {"tools": {}}}, "$.toolConfig.tools"),
        ({"messages": [], "toolConfig": {"tools": [5]}}, "$.toolConfig.tools[0]"),
    ],
)
def test_a_wrong_shape_is_named_by_its_path(body: Any, path: str) -> None:
    """The error says where."""
    with pytest.raises(cl.WireError) as caught:
        cl.parse(body, dialect=DIALECT)

    assert caught.value.path == path


MEMBERS = sorted({member for block in BLOCKS for member in block} | {"json"})
INNER = ["toolUseId", "name", "input", "content", "status", "type", "source", "format", "bytes", "reasoningText", "signature"]
NOISE = noise(["user", "assistant", "server_tool_use", "t1"], MEMBERS + INNER)


@pytest.mark.parametrize(
    "body",
    [
        [{"role": "assistant", "content": [{"toolUse": {"toolUseId": "t", "name": "n", "input": deep()}}]}],
        [{"role": "user", "content": [{"toolResult": {"toolUseId": "t", "content": [{"json": deep()}]}}]}],
        [{"role": "user", "content": [deep()]}],
        {"messages": [], "toolConfig": deep()},
    ],
)
def test_what_is_nested_too_deep_is_refused(body: Any) -> None:
    """Wherever it stands, with a `WireError`."""
    with pytest.raises(cl.WireError, match="nested"):
        cl.parse(body, dialect=DIALECT)


@given(
    st.one_of(
        NOISE,
        st.lists(NOISE),
        st.lists(st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant"]), "content": st.lists(NOISE)})),
        st.fixed_dictionaries({"messages": st.lists(NOISE)}, optional={"system": NOISE, "toolConfig": NOISE}),
    )
)
def test_only_wire_errors_escape(body: Any) -> None:
    """Whatever is passed in, it is read or it is a `WireError`; what was read comes back."""
    check_reading(body, DIALECT)


@given(st.lists(st.tuples(st.sampled_from(["user", "assistant"]), st.lists(st.sampled_from(BLOCKS), max_size=4)), max_size=8))
def test_any_order_of_blocks_is_written_back(messages: list[tuple[str, list[Any]]]) -> None:
    """No block depends on its neighbours."""
    body = [{"role": role, "content": blocks} for role, blocks in messages]
    check_writing_back(body, DIALECT)
    check_reading(body, DIALECT)


def blocks_of(*blocks: Any) -> tuple[Any, ...]:
    """The model's blocks for some blocks of the wire."""
    [message] = cl.parse([{"role": "user", "content": list(blocks)}], dialect=DIALECT).messages
    return message.blocks


def test_calls_and_results_have_their_meaning() -> None:
    """What the model has words for is in its fields."""
    call, result = blocks_of(CALL, RESULT)

    assert isinstance(call, Call)
    assert (call.id, call.name, call.arguments, call.is_client) == ("t1", "read", {"path": "a.py"}, True)
    assert isinstance(result, Result)
    assert (result.call_id, result.text, result.wire.form, result.is_client) == ("t1", "x = 1", "success", True)


def test_what_bedrock_runs_is_no_client_call() -> None:
    """Call and result stand in the model's message, and nobody is to answer."""
    messages = cl.parse([{"role": "assistant", "content": [SERVER_CALL, SERVER_RESULT, TEXT]}], dialect=DIALECT).messages
    call, result, _ = messages[0].blocks

    assert (messages[0].calls, messages[0].results) == ((), ())
    assert isinstance(call, Call)
    assert isinstance(result, Result)
    assert (call.id, result.call_id, result.text) == ("s1", "s1", '{"out":1}')


def test_reasoning_has_its_seal() -> None:
    """A signature, redacted bytes, or none."""
    blocks = blocks_of(
        SEALED, {"reasoningContent": {"reasoningText": {"text": "hm"}}}, {"reasoningContent": {"redactedContent": "ENC"}}
    )

    assert [(block.text, block.seal) for block in blocks if isinstance(block, Reasoning)] == [
        ("hm", "SIG"),
        ("hm", None),
        ("", "ENC"),
    ]


def test_words_with_a_mark_around_them_are_words() -> None:
    """Guarded and cited texts; a message of nothing else is a prompt like any other."""
    assert [block.text for block in blocks_of(GUARDED, CITED) if isinstance(block, Text)] == ["hi", "said"]
    assert [kind.value for kind in divide(cl.parse([{"role": "user", "content": [GUARDED]}], dialect=DIALECT)).kinds] == [
        "prompt"
    ]


def test_media_have_an_address_or_data() -> None:
    """And a media type, as far as the format tells."""
    made = blocks_of(
        IMAGE, PDF, WORDS, {"video": {"source": {"bytes": "AA=="}, "format": "video/mp4"}}, {"audio": {"source": {}}}
    )

    assert [(block.kind, block.mime, block.data, block.url) for block in made if isinstance(block, Media)] == [
        ("image", "image/png", "AA==", None),
        ("document", "application/pdf", None, "s3://b/a.pdf"),
        ("document", "text/plain", None, None),
        ("video", "video/mp4", "AA==", None),
        ("audio", "", None, None),
    ]


def test_what_has_no_word_is_opaque() -> None:
    """Under the name of its first member."""
    assert blocks_of(MARK, {"text": "hi", "x": 1}, {}) == (
        Opaque("cachePoint", MARK),
        Opaque("text", {"text": "hi", "x": 1}),
        Opaque("", {}),
    )


def test_a_result_can_be_given_other_words() -> None:
    """A stub is a text block; a spelled value that was shortened is one too, and one that was not is a value."""
    [result] = blocks_of(
        {"toolResult": {"toolUseId": "t1", "content": [{"json": {"a": 1}}, {"json": {"b": 2}}], "status": "success"}}
    )
    first, second = result.blocks
    shape = cl.model.wire("user", ("role", "content"))
    stub = Message("user", (Result("t1", "[cleared]", result.wire),), shape)
    short = Message("user", (Result("t1", (Text('{"a', first.wire), second), result.wire),), shape)

    [one, other] = cl.render(cl.model.Conversation(DIALECT, (stub, short)))
    assert one["content"] == [{"toolResult": {"toolUseId": "t1", "content": [{"text": "[cleared]"}], "status": "success"}}]
    assert other["content"][0]["toolResult"]["content"] == [{"text": '{"a'}, {"json": {"b": 2}}]


def test_system_and_tools_are_views_of_the_envelope() -> None:
    """They can be read, and what is written back is what was received; a cache mark is no tool."""
    body = {
        "toolConfig": {
            "tools": [{"toolSpec": {"name": "f", "inputSchema": {"json": {}}}}, MARK, {"systemTool": {"name": "g"}}, {}]
        },
        "system": [{"text": "be brief"}, MARK],
        "messages": [],
    }
    conversation = cl.parse(body, dialect=DIALECT)

    assert [tool.name for tool in conversation.tools] == ["f", "g", ""]
    assert conversation.system[1] == Opaque("cachePoint", MARK)
    assert [block.text for block in conversation.system if isinstance(block, Text)] == ["be brief"]
    check_writing_back(body, DIALECT)


def test_the_handed_cases_of_cuts_hold(shared: Path) -> None:
    """Cases 158 and 184: results stay with their calls, and a tail can begin with a person's message."""
    lines = (shared / "cases/reports.jsonl").read_text("utf-8").splitlines()
    cases = {case["n"]: case for case in map(json.loads, lines) if case["n"] in (158, 184)}
    window, pruned = (cl.parse({"messages": cases[n]["input"]["messages"]}, dialect=DIALECT) for n in (158, 184))
    cuts = cl.legal_cuts(pruned)

    assert cases[158]["expected"]["tail_start_adjusted"] in cl.legal_cuts(window).turn
    assert sorted({0, *cuts.turn, *cuts.step, len(pruned.messages)}) == cases[184]["expected"]["cut_allowed_at"]


def test_a_head_is_written_as_one_message_and_recognised() -> None:
    """Messages that were made here are written in this dialect's words, and taken apart again."""
    pins = user_message([Text("pin one"), blocks_of(IMAGE)[0]], Origin.PIN, PROFILES[DIALECT])
    summary = user_message([Text(write_summary("## Goal\nShip.\n", Layout(pins=2)))], Origin.SUMMARY, PROFILES[DIALECT])
    wire_messages = [{"role": "user", "content": [TEXT]}, {"role": "assistant", "content": [TEXT]}]
    prompt, answer = cl.parse(wire_messages, dialect=DIALECT).messages
    body = cl.render(cl.model.Conversation(DIALECT, (pins, summary, prompt, answer), fused=(0, 3)))
    again = cl.parse(body, dialect=DIALECT)

    assert body[0]["content"][:2] == [{"text": "pin one"}, IMAGE]
    assert body[0]["content"][3] == TEXT
    assert [message.origin for message in again.messages] == [Origin.PIN, Origin.SUMMARY, None, None]
    assert again.fused == (0, 3)
    assert cl.render(again) == body
