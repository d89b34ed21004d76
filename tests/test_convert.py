"""A conversation for another provider: ids, arguments, instructions, batches, media, and every loss by name."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import compactlib as cl
from compactlib.converting import convert
from compactlib.dialects import DIALECTS
from compactlib.protocol.validator import _READERS, check

from .tongues import PICTURE, errors, renamed


def test_deep_values_do_not_become_too_deep() -> None:
    """What is nested as deep as may be read can still be read after the conversion, or is named."""
    deep: Any = {}
    for _ in range(190):
        deep = {"a": deep}
    call = {"type": "tool_use", "id": "t", "name": "f", "input": deep}
    body = {"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": [call]}], "max_tokens": 1}
    schema = {"type": "function", "function": {"name": "f", "parameters": deep}}
    for source, one in (("anthropic", body), ("openai-chat", {"messages": [], "tools": [schema]})):
        for target in DIALECTS:
            converted = convert(cl.parse(one, dialect=source), dialect=target)
            cl.parse(converted.body, dialect=target)
            if target != source:
                assert "arguments" in {loss.name for loss in converted.losses} or source != "anthropic" or target in _STRINGS


_STRINGS = {"openai-chat", "openai-responses", "mistral"}
"""The dialects in which arguments are a string, as deep as they may be."""


# -- ids -----------------------------------------------------------------------------------------------------------------


def session(*ids: str) -> list[dict[str, Any]]:
    """A chat in which each id is called and answered, one after the other."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "go"}]
    for number, key in enumerate(ids):
        function = {"name": "ls", "arguments": json.dumps({"n": number})}
        messages.append(
            {"role": "assistant", "content": None, "tool_calls": [{"id": key, "type": "function", "function": function}]}
        )
        messages.append({"role": "tool", "tool_call_id": key, "content": f"answer {number}"})
    return messages


def test_new_ids_are_legal_and_differ() -> None:
    """Ids that differ only where the target has no letters for it stay apart, at Mistral too."""
    ids = ("a.b", "a:b", "a b", "a_b", "functions.ls:0", "functions.ls:1", "x" * 40, "x" * 39 + "y")
    for target, language in (
        ("anthropic", r"[a-zA-Z0-9_-]{1,64}"),
        ("mistral", r"[a-zA-Z0-9]{9}"),
        ("bedrock", r"[a-zA-Z0-9_.:-]{1,64}"),
    ):
        converted = convert(cl.parse(session(*ids), dialect="openai-chat"), dialect=target)
        found = [call.id for message in converted.conversation.messages for call in message.calls]

        assert len(set(found)) == len(ids)
        assert all(re.fullmatch(language, one) for one in found)
        assert [dict(converted.id_map).get(old, old) for old in ids] == found
        assert errors(converted.conversation) == []


def test_legal_ids_stay_and_a_reused_one_pairs_by_position() -> None:
    """An id that comes again in another turn is the same id in both, and each result follows its own call."""
    body = session("call_1", "call_2", "call_1")
    converted = convert(cl.parse(body, dialect="openai-chat"), dialect="anthropic")

    assert converted.id_map == ()
    blocks = [message["content"][0] for message in converted.body[1:]]
    assert [one.get("id") or one["tool_use_id"] for one in blocks] == ["call_1", "call_1", "call_2", "call_2", "call_1", "call_1"]
    assert [one.get("input") or one["content"] for one in blocks] == [
        part for number in range(3) for part in ({"n": number}, f"answer {number}")
    ]


def test_a_reused_id_is_renamed_where_it_may_be_used_once() -> None:
    """Rule R-PAIR-04: at Responses a call is its id, so the second call with it gets another, and so does its output."""
    converted = convert(cl.parse(session("call_1", "call_2", "call_1"), dialect="openai-chat"), dialect="openai-responses")
    [(old, new)] = converted.id_map

    assert (old, [item["call_id"] for item in converted.body[1:]]) == ("call_1", ["call_1"] * 2 + ["call_2"] * 2 + [new] * 2)
    assert errors(converted.conversation) == []


def test_gemini_pairs_by_order_where_names_do_not_fit() -> None:
    """Rule G-NAME-01: a response under any name answers the call before it; what it was called is told."""
    call = {"functionCall": {"name": "ls", "args": {}}}
    answer = {"functionResponse": {"name": "call_77", "response": {"output": "a.py"}}}
    body = [{"role": "user", "parts": [{"text": "go"}]}, {"role": "model", "parts": [call]}, {"role": "user", "parts": [answer]}]
    converted = convert(cl.parse(body, dialect="gemini"), dialect="openai-chat")

    assert converted.body[2]["tool_call_id"] == converted.body[1]["tool_calls"][0]["id"]
    assert [(loss.name, loss.index) for loss in converted.losses] == [("name", 2)]
    assert "'call_77' is one of 'ls' now" in converted.losses[0].message


def test_what_is_appended_renames_nothing_before() -> None:
    """Law L18: a conversion of a longer conversation begins with the conversion of the shorter one."""
    body = session(*(f"functions.ls:{number}" for number in range(20)))
    for target in DIALECTS:
        whole = convert(cl.parse(body, dialect="openai-chat"), dialect=target).body
        for stop in range(1, len(body), 2):
            part = convert(cl.parse(body[:stop], dialect="openai-chat"), dialect=target).body

            assert whole[: len(part)] == part


def test_calls_without_ids_are_told_apart() -> None:
    """Two calls of one function, as Gemini writes them, get ids of their own, and their answers in order."""
    calls = [{"functionCall": {"name": "ls", "args": {"n": number}}} for number in range(2)]
    answers = [{"functionResponse": {"name": "ls", "response": {"output": f"answer {number}"}}} for number in range(2)]
    body = [{"role": "user", "parts": [{"text": "go"}]}, {"role": "model", "parts": calls}, {"role": "user", "parts": answers}]
    converted = convert(cl.parse(body, dialect="gemini"), dialect="openai-chat")
    made = [call["id"] for call in converted.body[1]["tool_calls"]]

    assert len(set(made)) == 2
    assert [(one["tool_call_id"], one["content"]) for one in converted.body[2:]] == list(
        zip(made, ["answer 0", "answer 1"], strict=True)
    )
    assert converted.id_map == (("ls", made[0]), ("ls", made[1]))


def test_names_of_tools_are_renamed_everywhere() -> None:
    """A name that the target has no letters for is another name in declarations, calls and choice, and that is named."""
    call = {"functionCall": {"id": "c1", "name": "fs.read", "args": {}}}
    body = {
        "contents": [{"role": "user", "parts": [{"text": "go"}]}, {"role": "model", "parts": [call]}],
        "tools": [
            {
                "functionDeclarations": [
                    {"name": "fs.read", "parameters": {"type": "OBJECT", "properties": {"type": {"type": "STRING"}}}}
                ]
            }
        ],
        "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["fs.read"]}},
    }
    converted = convert(cl.parse(body, dialect="gemini"), dialect="anthropic")
    name = converted.body["tools"][0]["name"]

    assert re.fullmatch(r"fs_read_[0-9a-f]{8}", name)
    assert converted.body["tools"][0]["input_schema"] == {"type": "object", "properties": {"type": {"type": "string"}}}
    assert converted.body["tool_choice"] == {"type": "tool", "name": name}
    assert converted.body["messages"][1]["content"][0]["name"] == name
    assert [loss.name for loss in converted.losses] == ["name"]


# -- what crosses --------------------------------------------------------------------------------------------------------


def losses_of(body: Any, source: str, target: str) -> list[tuple[str, str]]:
    converted = convert(cl.parse(body, dialect=source), dialect=target)
    return [(loss.name, loss.pointer) for loss in converted.losses]


def test_arguments_cross_as_the_same_value() -> None:
    """A string becomes its object, numbers in their own spelling; what is no object is wrapped and named."""
    body = session("c1")
    body[1]["tool_calls"][0]["function"]["arguments"] = '{"n": 1.50, "x": [1E3]}'
    converted = convert(cl.parse(json.dumps(body), dialect="openai-chat"), dialect="anthropic")
    assert '"input":{"n":1.50,"x":[1E3]}' in converted.body
    assert converted.losses == ()
    for broken in ('{"n": ', "[1]", '{"a": NaN}', '{"a": 1, "a": 2}'):
        body[1]["tool_calls"][0]["function"]["arguments"] = broken
        converted = convert(cl.parse(body, dialect="openai-chat"), dialect="anthropic")

        assert converted.body[1]["content"][0]["input"] == {"unparsed_arguments": broken}
        assert [(loss.name, loss.pointer) for loss in converted.losses] == [("arguments", "/1/tool_calls/0")]
        same = convert(cl.parse(body, dialect="openai-chat"), dialect="mistral")
        assert same.body[1]["tool_calls"][0]["function"]["arguments"] == broken


def test_each_loss_is_named_with_its_place() -> None:
    """Seals, marks, citations, the provider's own tools and blocks, and a document that nobody else has."""
    body = {
        "model": "claude", "max_tokens": 9, "top_k": 3,
        "tools": [{"type": "web_search_20250305", "name": "web_search"}],
        "messages": [
            {"role": "user", "content": [
                {"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}},
                {"type": "document", "source": {"type": "file", "file_id": "file_1"}},
            ]},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
                {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}},
                {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
                {"type": "container_upload", "file_id": "file_2"},
                {"type": "text", "text": "found", "citations": [{"type": "char_location"}]},
            ]},
        ],
    }  # fmt: skip
    assert losses_of(body, "anthropic", "openai-chat") == [
        ("tool", "/tools/0"), ("setting", "/model"), ("setting", "/top_k"),
        ("cache-mark", "/messages/0/content/0"), ("media", "/messages/0/content/1"),
        ("seal", "/messages/1/content/0"), ("server-tool", "/messages/1/content/1"),
        ("opaque", "/messages/1/content/3"), ("citation", "/messages/1/content/4"),
    ]  # fmt: skip


def test_halves_of_characters_are_replaced() -> None:
    """Rule A-JSON-01: a lone surrogate, in words or in arguments, is U+FFFD afterwards, and that is named."""
    body = session("c1")
    body[0]["content"] = "a\ud800"
    body[1]["tool_calls"][0]["function"]["arguments"] = '{"x": ["\\ud800"]}'
    converted = convert(cl.parse(body, dialect="openai-chat"), dialect="anthropic")

    assert converted.body[0]["content"] == "a\ufffd"
    assert converted.body[1]["content"][0]["input"] == {"x": ["\ufffd"]}
    assert [(loss.name, loss.index) for loss in converted.losses] == [("character", 0), ("character", 1)]
    assert errors(converted.conversation) == []


def test_instructions_stand_where_the_target_wants_them() -> None:
    """Among the messages or beside them; those from the middle go beside, and that is named."""
    body = [
        {"role": "developer", "content": "be brief"},
        {"role": "user", "content": "hi"},
        {"role": "system", "content": "be kind"},
        {"role": "assistant", "content": "ok"},
    ]
    converted = convert(cl.parse(body, dialect="openai-chat"), dialect="bedrock")
    assert converted.body["system"] == [{"text": "be brief"}, {"text": "be kind"}]
    assert [message["role"] for message in converted.body["messages"]] == ["user", "assistant"]
    assert [(loss.name, loss.index) for loss in converted.losses] == [("order", 2)]
    back = convert(converted.conversation, dialect="openai-responses")
    assert [item["role"] for item in back.body["input"]] == ["system", "system", "user", "assistant"]


def test_a_call_in_mistral_is_not_followed_by_instructions() -> None:
    """Rule M-ORDER-01: instructions behind results go behind the prompt."""
    body = [*session("abcDE0001"), {"role": "system", "content": "be kind"}, {"role": "assistant", "content": "ok"}]
    converted = convert(cl.parse(body, dialect="openai-chat"), dialect="mistral")

    assert [message["role"] for message in converted.body] == ["user", "system", "assistant", "tool", "assistant"]
    assert [(loss.name, loss.index) for loss in converted.losses] == [("order", 3)]


def test_interleaved_items_come_together() -> None:
    """An output that stands far behind its call, as Responses allows, is directly behind it elsewhere, and that is named."""
    items = [
        {"role": "user", "content": "go"},
        {"type": "function_call", "call_id": "a", "name": "ls", "arguments": "{}"},
        {"type": "function_call", "call_id": "b", "name": "ls", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "b", "output": "B"},
        {"role": "user", "content": "and?"},
        {"type": "function_call_output", "call_id": "a", "output": "A"},
    ]
    converted = convert(cl.parse(items, dialect="openai-responses"), dialect="openai-chat")

    assert [message.get("tool_call_id", message["role"]) for message in converted.body] == ["user", "assistant", "b", "a", "user"]
    assert [(loss.name, loss.index) for loss in converted.losses] == [("order", 5)]


def test_a_result_without_its_call_and_a_call_without_result_are_named() -> None:
    """The one is left out; the other is answered, unless it may still be: its outcome is unknown."""
    stray = [*session("a"), {"role": "tool", "tool_call_id": "zz", "content": "lost"}]
    assert losses_of(stray, "openai-chat", "anthropic") == [("orphan", "/3")]
    dangling = [*session("a")[:2], {"role": "user", "content": "go on"}, {"role": "assistant", "content": "fine"}]
    converted = convert(cl.parse(dangling, dialect="openai-chat"), dialect="anthropic")
    assert [loss.name for loss in converted.losses] == ["unanswered"]
    assert errors(converted.conversation) == []
    pending = session("a")[:2]
    assert losses_of(pending, "openai-chat", "anthropic") == []


def test_pictures_leave_results_and_come_back() -> None:
    """A picture in a result travels behind the batch where it must, and is put back to its very place."""
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PICTURE}}
    calls: list[Any] = [{"type": "tool_use", "id": key, "name": "shot", "input": {}} for key in ("a", "b")]
    results = [
        {
            "type": "tool_result",
            "tool_use_id": "a",
            "content": [{"type": "text", "text": "one"}, picture, {"type": "text", "text": "two"}],
        },
        {"type": "tool_result", "tool_use_id": "b", "content": [picture, picture]},
    ]
    body = [{"role": "user", "content": "go"}, {"role": "assistant", "content": calls}, {"role": "user", "content": results}]
    conversation = cl.parse(body, dialect="anthropic")
    for target in ("openai-chat", "mistral", "gemini"):
        there = convert(conversation, dialect=target)
        back = convert(there.conversation, dialect="anthropic")

        assert there.losses == back.losses == ()
        assert renamed(back.body, tuple((new, old) for old, new in there.id_map)) == body
    chat = convert(conversation, dialect="openai-chat").body
    assert chat[2]["content"] == "one\n(see attached image)\ntwo"
    assert chat[4]["content"][0]["text"] == "Attached image(s) from tool result:"


def test_a_picture_by_a_person_is_not_put_into_a_result() -> None:
    """Without a marker nothing is certain, so a picture that follows results stays a message."""
    body = [
        *session("a"),
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PICTURE}"}}]},
    ]
    converted = convert(cl.parse(body, dialect="openai-chat"), dialect="anthropic")

    assert [message["role"] for message in converted.body] == ["user", "assistant", "user", "user"]


def test_documents_cross_as_text_or_bytes() -> None:
    """A document of plain text is the same words everywhere, and has its title."""
    document = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "ж"}, "title": "notes"}
    body = [{"role": "user", "content": [{"type": "text", "text": "read"}, document]}]
    for target in ("openai-chat", "openai-responses", "bedrock"):
        there = convert(cl.parse(body, dialect="anthropic"), dialect=target)

        assert convert(there.conversation, dialect="anthropic").body == body
        assert there.losses == ()


# -- together with the rest ----------------------------------------------------------------------------------------------


def test_kind_of_the_body_stays() -> None:
    """A list stays a list, text stays text, unless instructions need a place beside the messages."""
    plain = [{"role": "user", "content": "hi"}]
    assert convert(cl.parse(plain, dialect="anthropic"), dialect="openai-chat").body == plain
    assert isinstance(convert(cl.parse(json.dumps(plain).encode(), dialect="anthropic"), dialect="gemini").body, bytes)
    led = [{"role": "system", "content": "be brief"}, *plain]
    assert convert(cl.parse(led, dialect="openai-chat"), dialect="anthropic").body == {"system": "be brief", "messages": plain}


def test_the_same_dialect_is_no_conversion() -> None:
    """The conversation itself comes back, with nothing lost."""
    conversation = cl.parse([{"role": "user", "content": "hi"}], dialect="anthropic")
    converted = convert(conversation, dialect="anthropic")

    assert (converted.conversation, converted.losses, converted.id_map) == (conversation, (), ())


@pytest.mark.parametrize("target", DIALECTS)
def test_a_compacted_conversation_keeps_its_summary(target: str) -> None:
    """Law L20: what a compaction made is known again in any dialect, and nothing new is there to compact (law L17)."""
    conversation = cl.load("spec/examples/migration.jsonl")
    policy = cl.Policy(window_tokens=32_000)
    outcome = cl.compact(conversation, policy, when="now")
    converted = convert(outcome.conversation, dialect=target)
    kinds = {message.origin for message in converted.conversation.messages}
    again = cl.parse(json.loads(json.dumps(converted.body)), dialect=target)

    assert cl.Origin.SUMMARY in kinds
    assert cl.Origin.SUMMARY in {message.origin for message in again.messages}
    assert isinstance(cl.compact(converted.conversation, policy, when="now"), cl.Unchanged)
    assert errors(converted.conversation) == []


@pytest.mark.parametrize("target", [dialect for dialect in DIALECTS if dialect != "anthropic"])
def test_a_converted_conversation_is_compacted(target: str) -> None:
    """Conversion and compaction compose: what was converted compacts to something valid."""
    conversation = convert(cl.load("spec/examples/migration.jsonl"), dialect=target).conversation
    outcome = cl.compact(conversation, cl.Policy(window_tokens=32_000), when="now")

    assert isinstance(outcome, cl.Compacted)
    assert errors(outcome.conversation) == []


def test_an_unknown_dialect_is_a_wire_error() -> None:
    """As when parsing."""
    with pytest.raises(cl.WireError, match="no dialect"):
        convert(cl.parse([], dialect="anthropic"), dialect="smoke-signals")


@pytest.mark.parametrize("source", DIALECTS)
def test_recorded_bodies_stay_valid(shared: Path, source: str) -> None:
    """What a provider accepted is valid for every other after a conversion, or a loss says why it is not."""
    judged = 0
    for name in (source, f"{source}-more"):
        for line in (shared / "corpus" / "recorded" / f"{name}.jsonl").read_text("utf-8").splitlines():
            entry = json.loads(line)
            try:
                conversation = cl.parse(entry["body"], dialect=source)
            except cl.WireError:
                continue
            is_valid = entry["status"] == 200 and not [one for one in _found(conversation) if one.level == "error"]
            for target in DIALECTS:
                converted = convert(conversation, dialect=target)
                if not is_valid:
                    continue
                wrong = [(one.rule, one.message) for one in _found(converted.conversation) if one.level == "error"]
                judged += 1

                assert not wrong or {loss.name for loss in converted.losses} & {"orphan", "opaque"}, (target, wrong, entry)
    assert judged > 60 * 5


def _found(conversation: cl.Conversation) -> tuple[cl.Violation, ...]:
    return check(conversation, mode="history") if conversation.dialect in _READERS else ()
