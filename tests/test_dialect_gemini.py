"""Google's Gemini API: contents are messages, and come back as they were."""

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

DIALECT = "gemini"
TEXT = {"text": "hi"}
CALL = {"functionCall": {"name": "read", "args": {"path": "a.py"}}}
SIGNED = {"functionCall": {"args": {}, "id": "f1", "name": "read"}, "thoughtSignature": "SIG"}
ANSWER = {"functionResponse": {"name": "read", "response": {"output": "x = 1"}}}
NAMED = {"functionResponse": {"id": "f1", "name": "read", "response": {"lines": 3, "ok": True}}}
IMAGE = {"inlineData": {"mimeType": "image/png", "data": "AA=="}}
VIDEO = {"file_data": {"file_uri": "https://x.example/v", "mime_type": "video/mp4"}, "video_metadata": {"fps": 1}}
THOUGHT = {"thought": True, "text": "hm", "thoughtSignature": "SIG"}
CODE = {"executableCode": {"id": "e", "language": "PYTHON", "code": "1+1"}, "thoughtSignature": "SIG"}
CODE_OUTPUT = {"codeExecutionResult": {"id": "e", "outcome": "OUTCOME_OK", "output": "2"}}
PARTS: list[Any] = [
    TEXT,
    {"text": ""},
    {"text": "hi", "thoughtSignature": "SIG"},
    {"text": "hi", "thought": False, "partMetadata": {"a": 1}},
    {"type": "text", "text": "hi"},
    THOUGHT,
    {"text": "hm", "thought": True},
    {"thought": True, "thought_signature": "SIG"},
    {"thoughtSignature": "SIG"},
    {"thoughtSignature": None, "thought": True, "text": "hm"},
    {"text": None, "functionCall": {"name": "n"}, "thought": None},
    CALL,
    SIGNED,
    {"thought_signature": "SIG", "function_call": {"name": "n", "args": {}}},
    {"functionCall": {}},
    {"functionCall": {"name": "", "id": "", "args": None}},
    {"functionCall": {"name": None, "id": None, "willContinue": True}, "functionCall.name": "x"},
    {"functionCall": {"id": "f1", "args": {"deep": [{"a": None}]}}},
    ANSWER,
    NAMED,
    {"function_response": {"response": {"result": ""}, "name": "n", "id": ""}},
    {"functionResponse": {"name": "n"}},
    {"functionResponse": {"name": None, "response": None, "parts": None}},
    {"functionResponse": {"name": "n", "response": {}, "scheduling": "SILENT"}},
    {"functionResponse": {"name": "n", "response": "words"}},
    {"functionResponse": {"name": "n", "response": {"": "x"}}},
    {"functionResponse": {"name": "n", "parts": [IMAGE, {"x": 1}, {"text": "y"}], "response": {"output": "see"}}},
    {"functionResponse": {"name": "n", "parts": [], "response": [1, 1.50]}},
    IMAGE,
    VIDEO,
    {"fileData": {"fileUri": "gs://b/a.pdf", "mimeType": "application/pdf"}},
    {"inlineData": {}},
    CODE,
    CODE_OUTPUT,
    {"toolCall": {"id": "t", "toolType": "FILE_SEARCH", "args": {}}},
    {"toolResponse": {"id": "t", "toolType": "FILE_SEARCH", "response": {"result": [{"text": "t"}]}}},
    {"newThing": {"x": 1}},
    {},
]


@pytest.mark.parametrize("part", PARTS)
def test_what_is_read_is_written_back(part: Any) -> None:
    """Every shape of a part, in a list, alone, and among others, with all its keys in order."""
    body = {"contents": [{"role": "model", "parts": [TEXT, part, CALL]}, {"parts": part, "role": "user"}], "tools": None}
    check_writing_back([{"role": "user", "parts": [part]}], DIALECT)
    check_writing_back(body, DIALECT)


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"role": "model"},
        {"role": "model", "parts": None},
        {"parts": [TEXT]},
        {"role": None, "parts": [TEXT]},
        {"parts": [TEXT], "role": "function"},
        {"role": "invalid_role", "parts": []},
        {"role": "user", "parts": [TEXT], "content": [TEXT], "x": None},
    ],
)
def test_odd_contents_are_written_back(content: Any) -> None:
    """Without a role, without parts, with more than both."""
    check_writing_back([content], DIALECT)


def test_recorded_requests_are_written_back(shared: Path) -> None:
    """Every request that the provider has answered comes back as it was."""
    bodies = recorded(shared, DIALECT)
    for body in bodies:
        check_writing_back(body, DIALECT)

    assert len(bodies) > 270


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({}, "$.contents"),
        ({"contents": "hi"}, "$.contents"),
        ([5], "$.contents[0]"),
        ([{"role": 5, "parts": []}], "$.contents[0].role"),
        ([{"role": "user", "parts": "hi"}], "$.contents[0].parts"),
        ([{"role": "user", "parts": [TEXT]}, {"role": "user", "parts": [TEXT, "hi"]}], "$.contents[1].parts[1]"),
        ([{"role": "user", "parts": [{"text": 5}]}], "$.contents[0].parts[0].text"),
        ([{"role": "user", "parts": [{"text": 5, "thought": True}]}], "$.contents[0].parts[0].text"),
        ([{"role": "user", "parts": [{"functionCall": []}]}], "$.contents[0].parts[0].functionCall"),
        ([{"role": "user", "parts": [{"functionCall": {"name": 5}}]}], "$.contents[0].parts[0].functionCall.name"),
        ([{"role": "user", "parts": [{"functionResponse": {"id": 5}}]}], "$.contents[0].parts[0].functionResponse.id"),
        ([{"role": "user", "parts": [{"functionResponse": {"parts": {}}}]}], "$.contents[0].parts[0].functionResponse.parts"),
        ([{"role": "user", "parts": [{"functionResponse": {"parts": [5]}}]}], "$.contents[0].parts[0].functionResponse.parts[0]"),
        ([{"role": "user", "parts": [{"inlineData": "AA=="}]}], "$.contents[0].parts[0].inlineData"),
        ({"contents": [], "systemInstruction": "be brief"}, "$.systemInstruction"),
        ({"contents": [], "system_instruction": {"parts": "x"}}, "$.system_instruction.parts"),
        ({"contents": [], "systemInstruction": {"parts": [5]}}, "$.systemInstruction.parts[0]"),
        ({"contents": [], "tools": {}}, "$.tools"),
        ({"contents": [], "tools": [{"functionDeclarations": [5]}]}, "$.tools[0].functionDeclarations[0]"),
    ],
)
def test_a_wrong_shape_is_named_by_its_path(body: Any, path: str) -> None:
    """The error says where."""
    with pytest.raises(cl.WireError) as caught:
        cl.parse(body, dialect=DIALECT)

    assert caught.value.path == path


INNER = ["id", "name", "args", "response", "parts", "output", "code", "data", "mimeType", "fileUri", "role", "contents"]
NOISE = noise(["user", "model", "function", "SIG"], sorted({key for part in PARTS for key in part} | set(INNER)))


@pytest.mark.parametrize(
    "body",
    [
        [{"parts": [{"functionCall": {"name": "n", "args": deep()}}]}],
        [{"parts": [{"functionResponse": {"name": "n", "response": deep()}}]}],
        [{"parts": [{"text": "x", "partMetadata": deep()}]}],
        {"contents": [], "systemInstruction": deep()},
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
        st.lists(st.fixed_dictionaries({"parts": st.lists(NOISE)}, optional={"role": NOISE})),
        st.fixed_dictionaries({"contents": st.lists(NOISE)}, optional={"systemInstruction": NOISE, "tools": NOISE}),
    )
)
def test_only_wire_errors_escape(body: Any) -> None:
    """Whatever is passed in, it is read or it is a `WireError`; what was read comes back."""
    check_reading(body, DIALECT)


@given(st.lists(st.tuples(st.sampled_from(["user", "model"]), st.lists(st.sampled_from(PARTS), max_size=4)), max_size=8))
def test_any_order_of_parts_is_written_back(contents: list[tuple[str, list[Any]]]) -> None:
    """No part depends on its neighbours."""
    body = [{"role": role, "parts": parts} for role, parts in contents]
    check_writing_back(body, DIALECT)
    check_reading(body, DIALECT)


def blocks_of(*parts: Any) -> tuple[Any, ...]:
    """The blocks that some parts are."""
    [message] = cl.parse([{"role": "user", "parts": list(parts)}], dialect=DIALECT).messages
    return message.blocks


def test_contents_have_their_roles() -> None:
    """A content without a role is a person's."""
    contents = [{"parts": [TEXT]}, *({"role": role, "parts": []} for role in ("user", "model", "function", "tester"))]

    assert [message.role for message in cl.parse(contents, dialect=DIALECT).messages] == [
        "user",
        "user",
        "model",
        "tool",
        "other",
    ]


def test_calls_and_responses_pair_by_id_or_name() -> None:
    """The key is the id where the wire has one, else the name."""
    call, signed, answer, named = blocks_of(CALL, SIGNED, ANSWER, NAMED)

    assert isinstance(call, Call)
    assert (call.id, call.name, call.arguments, call.is_client) == ("read", "read", {"path": "a.py"}, True)
    assert isinstance(signed, Call)
    assert (signed.id, signed.name, signed.wire.get("thoughtSignature")) == ("f1", "read", "SIG")
    assert isinstance(answer, Result)
    assert (answer.call_id, answer.text, answer.is_client) == ("read", "x = 1", True)
    assert isinstance(named, Result)
    assert (named.call_id, named.text) == ("f1", '{"lines":3,"ok":true}')


def test_signatures_stay_with_their_part() -> None:
    """Of a thought it is the seal; elsewhere it is residue."""
    text, thought, alone = blocks_of({"text": "hi", "thoughtSignature": "A"}, THOUGHT, {"thoughtSignature": "B"})

    assert isinstance(text, Text)
    assert text.wire.get("thoughtSignature") == "A"
    assert isinstance(thought, Reasoning)
    assert (thought.text, thought.seal) == ("hm", "SIG")
    assert isinstance(alone, Reasoning)
    assert (alone.text, alone.seal) == ("", "B")


def test_what_google_runs_is_no_client_call() -> None:
    """Nobody is to answer it; code and output can be read."""
    code, output = blocks_of(CODE, CODE_OUTPUT)

    assert isinstance(code, Call)
    assert (code.id, code.name, code.arguments, code.is_client) == ("e", "executableCode", "1+1", False)
    assert isinstance(output, Result)
    assert (output.call_id, output.text, output.is_client) == ("e", "2", False)


def test_media_have_an_address_or_data() -> None:
    """In a content and beside a response, in either spelling."""
    image, video, result, unknown = blocks_of(
        IMAGE, VIDEO, {"functionResponse": {"name": "n", "response": {}, "parts": [IMAGE]}}, {"newThing": 1}
    )

    assert isinstance(image, Media)
    assert (image.kind, image.mime, image.data, image.url) == ("image", "image/png", "AA==", None)
    assert isinstance(video, Media)
    assert (video.kind, video.mime, video.data, video.url) == ("video", "video/mp4", None, "https://x.example/v")
    assert isinstance(result, Result)
    assert result.blocks[1] == image
    assert unknown == Opaque("newThing", {"newThing": 1})


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        ({"output": "long"}, {"output": "cut"}),
        ({"result": "long"}, {"result": "cut"}),
        ({"lines": 3, "ok": True}, {"output": "cut"}),
        ("long", "cut"),
    ],
)
def test_a_response_can_be_given_other_words(response: Any, expected: Any) -> None:
    """What was shortened goes back under the key it had; what was no string goes under ``output``."""
    [result] = blocks_of({"functionResponse": {"name": "read", "response": response}})
    [text] = result.blocks
    message = Message("user", (Result("read", (Text("cut", text.wire),), result.wire),), cl.model.wire("user", ("role", "parts")))

    [made] = cl.render(cl.model.Conversation(DIALECT, (message,)))
    assert made["parts"] == [{"functionResponse": {"name": "read", "response": expected}}]


def test_a_stub_takes_the_place_of_a_response() -> None:
    """A result that was cleared is an object again, and holds no media any more."""
    [result] = blocks_of({"functionResponse": {"name": "read", "response": {"a": 1}, "parts": [IMAGE]}})
    message = Message("user", (Result("read", "[cleared]", result.wire),), cl.model.wire("user", ("role", "parts")))

    [made] = cl.render(cl.model.Conversation(DIALECT, (message,)))
    assert made["parts"] == [{"functionResponse": {"name": "read", "response": {"output": "[cleared]"}, "parts": []}}]


def test_system_and_tools_are_views_of_the_envelope() -> None:
    """They can be read, in either spelling, and what is written back is what was received."""
    bodies: list[Any] = [
        {
            "systemInstruction": {"role": "user", "parts": [{"text": "be brief"}]},
            "tools": [{"functionDeclarations": [{"name": "f"}, {"name": "g"}]}, {"googleSearch": {}}],
            "contents": [],
        },
        {
            "contents": [],
            "system_instruction": {"parts": {"text": "be brief"}},
            "tools": [{"function_declarations": [{"name": "f"}, {"name": "g"}]}, {"google_search": {}}],
        },
    ]
    for body in bodies:
        conversation = cl.parse(body, dialect=DIALECT)

        assert [block.text for block in conversation.system if isinstance(block, Text)] == ["be brief"]
        assert [tool.name for tool in conversation.tools] == ["f", "g", ""]
        check_writing_back(body, DIALECT)
    assert cl.parse({"contents": [], "systemInstruction": {}}, dialect=DIALECT).system == ()


def contents(*pieces: tuple[str, list[Any]]) -> list[Any]:
    """Wire contents from (role, parts)."""
    return [{"role": role, "parts": parts} for role, parts in pieces]


def test_calls_of_one_name_pair_in_order() -> None:
    """Without ids, in one content and over two; and the same name in the next turn is another call."""
    one = {"functionCall": {"name": "a", "args": {}}}
    answer = {"functionResponse": {"name": "a", "response": {"output": "x"}}}
    conversation = cl.parse(
        contents(
            ("user", [TEXT]), ("model", [one, one]), ("user", [answer, answer]), ("model", [one]), ("model", [one]),
            ("user", [answer, answer]), ("user", [TEXT]), ("model", [one]),
        ),
        dialect=DIALECT,
    )  # fmt: skip
    division = divide(conversation)

    assert [(step.start, step.stop) for step in division.steps] == [(1, 3), (3, 6), (7, 8)]
    assert (division.pending, division.dangling) == (((7, 0),), ())
    assert cl.legal_cuts(conversation) == cl.cuts.Cuts(turn=(6,), step=(1, 3, 7))


def test_media_beside_responses_begin_no_turn() -> None:
    """A content of responses and a picture is one message of results."""
    conversation = cl.parse(
        contents(("user", [TEXT]), ("model", [CALL]), ("user", [ANSWER, IMAGE]), ("model", [TEXT])), dialect=DIALECT
    )

    assert [kind.value for kind in divide(conversation).kinds] == ["prompt", "model", "result", "model"]


def test_the_handed_case_of_cuts_holds(shared: Path) -> None:
    """Case 13: an abandoned call does not switch cuts off."""
    [case] = [
        case for line in (shared / "cases/reports.jsonl").read_text("utf-8").splitlines() if (case := json.loads(line))["n"] == 13
    ]
    conversation = cl.parse(case["input"], dialect=DIALECT)
    cuts = cl.legal_cuts(conversation)

    assert [at for at, _ in divide(conversation).dangling] == case["expected"]["abandoned_calls"]
    assert set(case["expected"]["cut_allowed_includes"]) <= {*cuts.turn, *cuts.step, len(conversation.messages)}


def test_a_head_is_written_as_one_content_and_recognised() -> None:
    """Messages that were made here are written in this dialect's words, and taken apart again."""
    pins = user_message([Text("pin one"), blocks_of(IMAGE)[0]], Origin.PIN, PROFILES[DIALECT])
    summary = user_message([Text(write_summary("## Goal\nShip.\n", Layout(pins=2)))], Origin.SUMMARY, PROFILES[DIALECT])
    [prompt, answer] = cl.parse(contents(("user", [TEXT]), ("model", [TEXT])), dialect=DIALECT).messages
    made = cl.model.Conversation(DIALECT, (pins, summary, prompt, answer), fused=(0, 3))
    body = cl.render(made)
    again = cl.parse(body, dialect=DIALECT)

    assert [list(content) for content in body] == [["role", "parts"], ["role", "parts"]]
    assert body[0]["parts"][:2] == [{"text": "pin one"}, IMAGE]
    assert body[0]["parts"][3] == TEXT
    assert [message.origin for message in again.messages] == [Origin.PIN, Origin.SUMMARY, None, None]
    assert again.fused == (0, 3)
    assert cl.render(again) == body


def test_a_fused_head_is_whole_although_its_first_content_had_no_parts() -> None:
    """Nothing is lost to a shape."""
    empty, prompt = cl.parse([{"role": "user"}, {"role": "user", "parts": [TEXT]}], dialect=DIALECT).messages

    assert cl.render(cl.model.Conversation(DIALECT, (empty, prompt), fused=(0, 2))) == [{"role": "user", "parts": [TEXT]}]
