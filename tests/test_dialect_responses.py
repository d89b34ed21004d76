"""OpenAI's Responses API: items are messages, and come back as they were."""

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

DIALECT = "openai-responses"
USER = {"role": "user", "content": "hi"}
CALL = {"type": "function_call", "call_id": "c1", "name": "read", "arguments": '{"path":  "a.py"}'}
OUTPUT = {"type": "function_call_output", "call_id": "c1", "output": "x = 1"}
SUMMARY = [{"type": "summary_text", "text": "look"}]
REASONING = {"type": "reasoning", "id": "rs_1", "summary": SUMMARY, "encrypted_content": "ENC"}
TEXT = {"type": "input_text", "text": "a"}
IMAGE = {"type": "input_image", "image_url": "data:image/png;base64,AA==", "detail": "low"}
PDF = {"file_data": "data:application/pdf;base64,AA==", "filename": "a.pdf", "type": "input_file"}
SOUND = {"type": "input_audio", "input_audio": {"data": "AA==", "format": "wav"}}
SAID = {"type": "output_text", "text": "a", "annotations": [], "logprobs": []}
SCREEN = {"type": "computer_screenshot", "image_url": "data:image/png;base64,AA=="}
SHELL = {"type": "local_shell_call", "call_id": "c1", "id": "l", "action": {"type": "exec", "command": ["ls"]}}
CLICK = {"type": "computer_call", "id": "cu", "call_id": "c1", "action": {"type": "click", "x": 1, "y": 2}}
CUSTOM = {"type": "custom_tool_call", "call_id": "c1", "name": "grep", "input": "TODO"}
ASKED = {"type": "mcp_approval_request", "id": "a", "name": "n", "arguments": "{}", "server_label": "s"}
ALLOWED = {"type": "mcp_approval_response", "approval_request_id": "a", "approve": False, "reason": "no"}
MCP = {"type": "mcp_call", "id": "m", "name": "n", "arguments": "{}", "server_label": "s"}
SEARCH = {"type": "tool_search_call", "call_id": "c1", "execution": "client", "arguments": {"query": "q"}}
FOUND = {"type": "tool_search_output", "call_id": "c1", "execution": "client", "tools": [{"type": "function", "name": "n"}]}
ITEMS: list[Any] = [
    USER,
    {"content": "hi", "role": "user", "type": "message", "x_mine": {"a": [1, 2.5, None]}},
    {"role": "user", "content": None},
    {"role": "user", "content": []},
    {"type": None, "role": "developer", "content": "d"},
    {"type": "message", "role": "assistant"},
    {"role": "tool", "tool_call_id": "c", "content": "r"},
    {"role": "user", "content": [TEXT, {"text": "b", "type": "text"}, {"type": "new_thing", "x": 1}]},
    {"id": "msg_1", "role": "assistant", "status": "completed", "phase": "final", "content": [SAID], "type": "message"},
    {"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]},
    {"role": "user", "content": [IMAGE, {"type": "input_image", "image_url": None, "file_id": "f"}]},
    {"role": "user", "content": [PDF, {"type": "input_file", "file_url": "https://x.example/a.pdf"}, SOUND]},
    CALL,
    {"arguments": "", "id": "fc_1", "status": None, "namespace": "n", **CALL},
    {"type": "function_call", "call_id": "c1", "name": "read"},
    CUSTOM,
    SHELL,
    {"type": "local_shell_call_output", "id": "l", "output": "{}"},
    {"type": "local_shell_call_output", "call_id": "c1", "output": "{}"},
    {"type": "shell_call", "call_id": "c1", "action": {"commands": ["ls"]}},
    {"type": "shell_call_output", "call_id": "c1", "output": [{"stdout": "a.py", "stderr": ""}]},
    CLICK,
    {"type": "computer_call_output", "call_id": "c1", "output": SCREEN},
    {"type": "apply_patch_call", "call_id": "c1", "operation": {"type": "delete_file", "path": "a"}},
    {"type": "apply_patch_call_output", "call_id": "c1", "status": "failed"},
    SEARCH,
    FOUND,
    {"type": "tool_search_call", "call_id": None, "execution": "server", "arguments": {}},
    {"type": "tool_search_output", "call_id": None, "execution": "server", "tools": []},
    ASKED,
    ALLOWED,
    {"type": "mcp_list_tools", "id": "m", "server_label": "s", "tools": []},
    {**MCP, "output": "came out", "error": None},
    {"type": "mcp_call", "name": "n", "arguments": "{}", "output": None},
    {"type": "web_search_call", "id": "w", "action": {"type": "search", "query": "q"}, "status": "completed"},
    {"type": "file_search_call", "id": "f", "queries": ["q"], "results": [{"file_id": "f", "text": "t", "score": 0.5}]},
    {"type": "code_interpreter_call", "id": "c", "code": "1+1", "outputs": [{"type": "logs", "logs": "2"}]},
    {"type": "image_generation_call", "id": "i", "result": "AA==", "revised_prompt": "a cat"},
    {"type": "image_generation_call", "id": "i", "": 1},
    OUTPUT,
    {"type": "function_call_output", "call_id": "c1"},
    {"call_id": "c1", "output": None, "type": "function_call_output", "id": None},
    {**OUTPUT, "output": []},
    {**OUTPUT, "output": [TEXT, IMAGE]},
    {**OUTPUT, "output": {"odd": [1]}},
    {**OUTPUT, "output": 5},
    {**OUTPUT, "output": {"type": ["odd"]}},
    {**OUTPUT, "output": [{"type": {}}]},
    {"type": "custom_tool_call_output", "call_id": "c1", "output": "r"},
    REASONING,
    {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "t"}], "encrypted_content": None},
    {"type": "reasoning", "id": "rs_1"},
    {"type": "compaction", "id": "cmp_1", "encrypted_content": "ENC"},
    {"type": "compaction_trigger"},
    {"type": "item_reference", "id": "rs_1"},
    {"id": "rs_1"},
    {"type": "additional_tools", "role": "developer", "tools": []},
    {"type": "from_the_future", "call_id": "c", "role": 5},
]


@pytest.mark.parametrize("item", ITEMS)
def test_what_is_read_is_written_back(item: Any) -> None:
    """Every shape of an item, alone and among others, with all its keys in order."""
    check_writing_back([item], DIALECT)
    check_writing_back({"model": "m", "input": [USER, item, CALL], "instructions": None, "tools": None, "store": False}, DIALECT)


def test_a_plain_string_is_one_user_message() -> None:
    """And stays a string as long as it is alone."""
    body = {"input": "hi", "model": "m"}
    check_writing_back(body, DIALECT)
    conversation = cl.parse(body, dialect=DIALECT)
    [message] = conversation.messages
    answered = Message("model", "hello", cl.parse([{"role": "assistant", "content": ""}], dialect=DIALECT).messages[0].wire)

    assert (message.role, message.text) == ("user", "hi")
    longer = cl.model.Conversation(DIALECT, (message, answered), envelope=conversation.envelope)
    assert cl.render(longer)["input"] == [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]


def test_recorded_requests_are_written_back(shared: Path) -> None:
    """Every request that the provider has answered, and every whole one of the corpus, comes back as it was."""
    bodies = recorded(shared, DIALECT)
    bodies += [
        json.loads(path.read_text("utf-8")) for path in sorted((shared / "corpus/openai_responses_requests").glob("*.json"))
    ]
    for body in bodies:
        check_writing_back(body, DIALECT)

    assert len(bodies) > 330


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({}, "$.input"),
        ({"input": None}, "$.input"),
        ({"messages": []}, "$.input"),
        ({"input": 5}, "$.input"),
        (["hi"], "$.input[0]"),
        ([{}], "$.input[0].role"),
        ([{"type": "message"}], "$.input[0].role"),
        ([{"type": 5}], "$.input[0].type"),
        ([{"role": 5, "content": "x"}], "$.input[0].role"),
        ([{"role": "user", "content": {}}], "$.input[0].content"),
        ([{"role": "user", "content": "a"}, {"role": "user", "content": ["x"]}], "$.input[1].content[0]"),
        ([{"role": "user", "content": [{"text": "x"}]}], "$.input[0].content[0].type"),
        ([{"role": "user", "content": [{"type": "input_text", "text": None}]}], "$.input[0].content[0].text"),
        ([{"type": "function_call", "name": "n", "arguments": ""}], "$.input[0].call_id"),
        ([{"type": "function_call", "call_id": "c", "arguments": ""}], "$.input[0].name"),
        ([{"type": "mcp_call", "id": "m"}], "$.input[0].name"),
        ([{"type": "function_call_output", "call_id": None, "output": "x"}], "$.input[0].call_id"),
        ([{**OUTPUT, "output": [{"type": "input_text", "text": 5}]}], "$.input[0].output[0].text"),
        ([{"type": "mcp_approval_response", "approve": True}], "$.input[0].approval_request_id"),
        ({"input": [], "instructions": []}, "$.instructions"),
        ({"input": [], "tools": {}}, "$.tools"),
        ({"input": [], "tools": [5]}, "$.tools[0]"),
    ],
)
def test_a_wrong_shape_is_named_by_its_path(body: Any, path: str) -> None:
    """The error says where."""
    with pytest.raises(cl.WireError) as caught:
        cl.parse(body, dialect=DIALECT)

    assert caught.value.path == path


WORDS = ["message", "user", "assistant", "developer", "input_text", "output_text", "text", "input_image"]
TYPES = [item["type"] for item in ITEMS if isinstance(item.get("type"), str)]
NOISE = noise(WORDS + TYPES, sorted({key for item in ITEMS for key in item} | {"text", "image_url", "file_id"}))


@pytest.mark.parametrize(
    "body",
    [
        [{**CALL, "arguments": deep()}],
        [{**OUTPUT, "output": deep()}],
        [{"type": "compaction", "x": deep()}],
        {"input": [], "metadata": deep()},
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
        st.fixed_dictionaries({"input": NOISE | st.lists(NOISE)}, optional={"instructions": NOISE, "tools": NOISE}),
    )
)
def test_only_wire_errors_escape(body: Any) -> None:
    """Whatever is passed in, it is read or it is a `WireError`; what was read comes back."""
    check_reading(body, DIALECT)


@given(st.lists(st.sampled_from(ITEMS), max_size=12))
def test_any_order_of_items_is_written_back(items: list[Any]) -> None:
    """No item depends on its neighbours."""
    check_writing_back(items, DIALECT)
    check_reading(items, DIALECT)


def only(item: Any) -> Message:
    """The message that one item is."""
    [message] = cl.parse([item], dialect=DIALECT).messages
    return message


def test_items_have_their_roles() -> None:
    """What a person, the model and a tool say, and what is opaque."""
    items = [
        USER,
        {"role": "developer", "content": "d"},
        REASONING,
        CALL,
        OUTPUT,
        {"type": "compaction", "encrypted_content": "E"},
    ]
    items += [{"id": "rs_1"}, {"type": "additional_tools", "role": "developer", "tools": []}, {"role": "tool", "content": "x"}]
    messages = cl.parse(items, dialect=DIALECT).messages

    assert [message.role for message in messages] == [
        "user", "developer", "model", "model", "tool", "model", "model", "developer", "other",
    ]  # fmt: skip
    assert [type(message.blocks[0]) for message in messages[2:8]] == [Reasoning, Call, Result, Opaque, Opaque, Opaque]
    assert [block.kind for block in (messages[5].blocks[0], messages[6].blocks[0]) if isinstance(block, Opaque)] == [
        "compaction",
        "item_reference",
    ]


def test_reasoning_has_a_seal_and_words() -> None:
    """The encrypted content is the seal; the words are those of summary and content."""
    [sealed] = only(REASONING).blocks
    [open_one] = only({"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "t"}]}).blocks

    assert isinstance(sealed, Reasoning)
    assert (sealed.text, sealed.seal, sealed.wire.get("id")) == ("look", "ENC", "rs_1")
    assert isinstance(open_one, Reasoning)
    assert (open_one.text, open_one.seal) == ("t", None)


@pytest.mark.parametrize(
    ("item", "call_id", "name", "arguments"),
    [
        (CALL, "c1", "read", '{"path":  "a.py"}'),
        (CUSTOM, "c1", "grep", "TODO"),
        (SHELL, "c1", "local_shell", {"type": "exec", "command": ["ls"]}),
        (CLICK, "c1", "computer", {"type": "click", "x": 1, "y": 2}),
        (ASKED, "a", "n", "{}"),
        (SEARCH, "c1", "tool_search", {"query": "q"}),
    ],
)
def test_what_the_caller_runs_is_a_client_call(item: Any, call_id: str, name: str, arguments: Any) -> None:
    """With the id that the output names, and the arguments as they came."""
    [call] = only(item).calls

    assert (call.id, call.name, call.arguments) == (call_id, name, arguments)


def test_what_openai_runs_is_no_client_call() -> None:
    """Nobody is to answer it, and what came out stands beside it."""
    ran = only({**MCP, "output": "came out"})
    searched = only({"type": "tool_search_call", "call_id": None, "execution": "server", "arguments": {}})
    call, result = ran.blocks

    assert (ran.calls, searched.calls) == ((), ())
    assert isinstance(call, Call)
    assert isinstance(result, Result)
    assert (call.name, result.call_id, result.text) == ("n", "m", "came out")


def test_outputs_have_words_and_pictures() -> None:
    """A string, parts, one picture, or values without a type, which are spelled out."""
    [parts] = only({**OUTPUT, "output": [{"type": "input_text", "text": "a"}, IMAGE]}).results
    [screen] = only({"type": "computer_call_output", "call_id": "c", "output": {**IMAGE, "type": "computer_screenshot"}}).results
    [shell] = only({"type": "shell_call_output", "call_id": "c", "output": [{"stdout": "a.py"}]}).results
    [image] = screen.blocks

    assert [type(block) for block in parts.blocks] == [Text, Media]
    assert isinstance(image, Media)
    assert (image.kind, image.mime, image.data) == ("image", "image/png", "AA==")
    assert shell.text == '[{"stdout":"a.py"}]'


def test_a_result_can_be_given_other_words() -> None:
    """A stub takes the place of a text, of parts and of values, in the shape of the output."""
    for item in (OUTPUT, {**OUTPUT, "output": [IMAGE]}, {**OUTPUT, "output": {"a": 1}}):
        conversation = cl.parse([item], dialect=DIALECT)
        [result] = conversation.messages[0].results
        stub = Message("tool", (Result(result.call_id, "[cleared]", result.wire),), conversation.messages[0].wire)

        assert cl.render(cl.model.Conversation(DIALECT, (stub,))) == [{**item, "output": "[cleared]"}]


def test_media_have_an_address_or_data() -> None:
    """By which they are counted and fetched."""
    made = only(
        {
            "role": "user",
            "content": [
                IMAGE,
                PDF,
                {"type": "input_file", "file_url": "https://x.example/a.pdf"},
                SOUND,
                {"type": "input_image", "file_id": "f"},
            ],
        }
    ).blocks

    assert [(block.kind, block.mime, block.data, block.url) for block in made if isinstance(block, Media)] == [
        ("image", "image/png", "AA==", None),
        ("file", "application/pdf", "AA==", None),
        ("file", "", None, "https://x.example/a.pdf"),
        ("audio", "audio/wav", "AA==", None),
        ("image", "", None, "f"),
    ]


def test_instructions_and_tools_are_views_of_the_envelope() -> None:
    """They can be read, and what is written back is what was received."""
    body = {"instructions": "be brief", "input": [], "tools": [{"type": "function", "name": "f"}, {"type": "web_search"}]}
    conversation = cl.parse(body, dialect=DIALECT)

    assert conversation.system == (Text("be brief"),)
    assert [tool.name for tool in conversation.tools] == ["f", ""]
    check_writing_back(body, DIALECT)


def test_steps_are_closed_over_distance() -> None:
    """Rule R-PAIR-03: other items may stand between a call and its output, and no cut does."""
    said = {"type": "message", "role": "assistant", "content": "working"}
    conversation = cl.parse([USER, CALL, said, OUTPUT, said, {"role": "user", "content": "next"}], dialect=DIALECT)

    assert [(step.start, step.stop) for step in divide(conversation).steps] == [(1, 4), (4, 5)]
    assert cl.legal_cuts(conversation).turn == (5,)
    assert cl.legal_cuts(conversation).step == (1, 4)


def test_approval_is_a_pair() -> None:
    """A request for approval and its response stand or go together."""
    items = [USER, ASKED, ALLOWED, {"role": "assistant", "content": "done"}]

    assert cl.legal_cuts(cl.parse(items, dialect=DIALECT)).step == (1, 3)


def test_the_handed_case_of_cuts_holds(shared: Path) -> None:
    """Case 71: an output is never cut off from its call."""
    [case] = [
        case for line in (shared / "cases/reports.jsonl").read_text("utf-8").splitlines() if (case := json.loads(line))["n"] == 71
    ]
    conversation = cl.parse(case["input"], dialect=DIALECT)
    cuts = cl.legal_cuts(conversation)

    assert sorted({0, *cuts.turn, *cuts.step, len(conversation.messages)}) == case["expected"]["cut_allowed_at"]


def test_a_head_is_written_in_items_and_recognised() -> None:
    """Separate user messages; a message of several blocks has parts that the API knows."""
    pins = user_message([Text("pin one"), Text("pin two")], Origin.PIN, PROFILES[DIALECT])
    summary = user_message([Text(write_summary("## Goal\nShip.\n", Layout(pins=2)))], Origin.SUMMARY, PROFILES[DIALECT])
    body = cl.render(cl.model.Conversation(DIALECT, (pins, summary)))
    again = cl.parse(body, dialect=DIALECT)

    assert body[0] == {
        "role": "user",
        "content": [{"type": "input_text", "text": "pin one"}, {"type": "input_text", "text": "pin two"}],
    }
    assert [message.origin for message in again.messages] == [Origin.PIN, Origin.SUMMARY]
