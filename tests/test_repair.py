"""Repair: each fix by itself, what is left and why, and the command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from compactlib.cli import main
from compactlib.dialects import parse, render
from compactlib.model import Call, Conversation, Message, Origin, wire
from compactlib.protocol.answering import UNKNOWN_OUTCOME
from compactlib.protocol.mending import IMAGE_MARKER, NO_CONTENT, NO_OUTPUT
from compactlib.protocol.repair import CONTINUE, Repaired, repair
from compactlib.protocol.rules import FIXES
from compactlib.protocol.validator import check

Json = Any
PNG: Final = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}


def user(*content: Json) -> Json:
    """A user message: one string, or blocks, strings among them as texts."""
    if len(content) == 1 and isinstance(content[0], str):
        return {"role": "user", "content": content[0]}
    return {"role": "user", "content": [text(one) if isinstance(one, str) else one for one in content]}


def model(*content: Json) -> Json:
    """The same of the model."""
    return {**user(*content), "role": "assistant"}


def text(words: str) -> Json:
    return {"type": "text", "text": words}


def call(key: str, **more: Json) -> Json:
    return {"type": "tool_use", "id": key, "name": "ls", "input": {}, **more}


def result(key: str, content: Json = "ok", **more: Json) -> Json:
    return {"type": "tool_result", "tool_use_id": key, "content": content, **more}


def unknown(key: str) -> Json:
    """The synthetic result, as a block."""
    return result(key, UNKNOWN_OUTCOME, is_error=True)


def thinking(signature: str = "SIG") -> Json:
    return {"type": "thinking", "thinking": "well", "signature": signature}


def tool(key: str, content: Json = "ok") -> Json:
    """A tool message of OpenAI Chat."""
    return {"role": "tool", "tool_call_id": key, "content": content}


def calls(*keys: str, arguments: str = "{}") -> Json:
    """An assistant message of OpenAI Chat."""
    made = [{"id": key, "type": "function", "function": {"name": "ls", "arguments": arguments}} for key in keys]
    return {"role": "assistant", "content": None, "tool_calls": made}


def mended(messages: Json, dialect: str = "anthropic", **options: Json) -> tuple[Json, list[str]]:
    """The repaired messages, and the names of the fixes; nothing is left."""
    made = repair(parse(messages, dialect=dialect), **options)
    assert made.left == ()
    return render(made.conversation), [fix.name for fix in made.fixes]


def left(messages: Json, dialect: str = "anthropic", **options: Json) -> tuple[Repaired, list[tuple[str, str]]]:
    """What came of it, and (rule, reason) of what is left."""
    made = repair(parse(messages, dialect=dialect), **options)
    return made, [(one.violation.rule, one.reason) for one in made.left]


# -- pairs ---------------------------------------------------------------------------------------------------------------


def test_dangling_calls_are_answered_at_the_front_of_the_next_user_message() -> None:
    found = mended([user("hi"), model(call("a"), call("b")), user("go on")])

    assert found == (
        [user("hi"), model(call("a"), call("b")), user(unknown("a"), unknown("b"), "go on")],
        ["synthesize-result"],
    )


def test_dangling_call_of_a_batch_is_answered_behind_the_results_that_are_there() -> None:
    found, _ = mended([user("hi"), model(call("a"), call("b")), user(result("b")), user("go on")])

    assert found[2:] == [user(result("b"), unknown("a")), user("go on")]


def test_dangling_calls_of_openai_are_answered_by_messages_behind_the_run() -> None:
    found, names = mended([user("hi"), calls("a", "b"), tool("b"), user("go on")], "openai-chat")

    assert (found[2:], names) == ([tool("b"), tool("a", UNKNOWN_OUTCOME), user("go on")], ["synthesize-result"])


def test_late_result_goes_back_to_its_call() -> None:
    found = mended([user("hi"), model(call("a")), user("wait"), model("ok"), user(result("a"), "so?")])

    assert found == (
        [user("hi"), model(call("a")), user(result("a"), "wait"), model("ok"), user(text("so?"))],
        ["hoist-results"],
    )


def test_result_goes_between_two_model_messages_and_neither_is_edited() -> None:
    """A-ORDER-01 needs no edit of a message where the words are in another one."""
    before = parse([user("hi"), model(thinking(), call("a")), model(thinking(), "done"), user(result("a"))], dialect="anthropic")
    after = repair(before).conversation

    assert render(after)[2:] == [user(result("a")), model(thinking(), "done")]
    assert [one in after.messages for one in before.messages[:3]] == [True, True, True]
    assert after.messages[1] is before.messages[1]
    assert after.messages[3] is before.messages[2]


def test_words_and_pictures_inside_a_batch_go_behind_it() -> None:
    picture = {
        "role": "user",
        "content": [text(IMAGE_MARKER), {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}],
    }
    found = mended([user("hi"), calls("a", "b"), tool("a"), picture, user("and?"), tool("b"), user("x")], "openai-chat")

    assert found == ([user("hi"), calls("a", "b"), tool("a"), tool("b"), picture, user("and?"), user("x")], ["hoist-results"])


def test_orphan_goes_and_the_words_beside_it_stay() -> None:
    found = mended([user("hi"), user(result("x"), "never touch prod"), model("ok"), user("x")])

    assert found == (
        [user("hi"), user(text("never touch prod")), model("ok"), user("x")],
        ["drop-orphan"],
    )


def test_first_of_two_results_stays() -> None:
    found = mended([user("hi"), model(call("a")), user(result("a", "1"), result("a", "2"))])

    assert found == ([user("hi"), model(call("a")), user(result("a", "1"))], ["dedup-result"])


def test_words_behind_a_call_go_before_it() -> None:
    found = mended([user("hi"), model(call("a"), "looking"), user(result("a"))])

    assert found == ([user("hi"), model("looking", call("a")), user(result("a"))], ["move-words"])


def test_echo_of_a_call_goes_and_another_call_with_its_id_is_renamed() -> None:
    found, names = mended([user("hi"), model(call("a"), call("a"), call("a", input={"p": 1})), user(result("a"))], close=True)
    first, second = found[1]["content"]

    assert names == ["drop-orphan", "synthesize-result", "rename-id"]
    assert (first, second["input"]) == (call("a"), {"p": 1})
    assert [one["tool_use_id"] for one in found[2]["content"]] == ["a", second["id"]]


def test_call_that_was_cut_off_is_dropped() -> None:
    cut = {**model("let me", call("a")), "stop_reason": "max_tokens"}

    assert mended([user("hi"), cut, user("go on")])[0][1]["content"] == [text("let me")]


def test_tool_message_without_an_id_gets_that_of_the_oldest_open_call() -> None:
    found, names = mended([user("hi"), calls("a", "b"), {"role": "tool", "content": "1"}, tool("b")], "openai-chat")

    assert (found[2], names) == ({"role": "tool", "content": "1", "tool_call_id": "a"}, ["rename-id"])


# -- the live end --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tail", [[], [user(result("b"))], [user(result("b"), PNG)]])
def test_pending_calls_are_answered_only_when_the_conversation_is_closed(tail: Json) -> None:
    """L4."""
    conversation = parse([user("hi"), model(call("a"), call("b")), *tail], dialect="anthropic")

    assert repair(conversation).conversation is conversation
    assert "synthesize-result" in [fix.name for fix in repair(conversation, close=True).fixes]


def test_reminder_behind_pending_calls_does_not_answer_them() -> None:
    """L4: only a person's words make a call dangle; the validator takes all words for a person's."""
    messages = [user("hi"), model(call("a")), user("<system-reminder>3 todos</system-reminder>")]
    made, reasons = left(messages)

    assert made.fixes == ()
    assert [(rule, reason.split(":")[0]) for rule, reason in reasons] in ([], [("A-PAIR-01", "the call is pending")])


# -- contents ------------------------------------------------------------------------------------------------------------


def test_illegal_id_is_renamed_with_its_result() -> None:
    found, names = mended([user("hi"), calls("a" * 70), tool("a" * 70)], "openai-chat")
    new = found[2]["tool_call_id"]

    assert (names, found[1]["tool_calls"][0]["id"]) == (["rename-id"], new)
    assert (len(new), new[:32]) == (40, "a" * 31 + "_")


def test_server_call_is_renamed_with_its_result() -> None:
    called = {"type": "server_tool_use", "id": "x.1", "name": "web_search", "input": {}}
    answered = {"type": "web_search_tool_result", "tool_use_id": "x.1", "content": []}
    found, names = mended([user("hi"), model(called, answered, "so"), user("x")])
    ids = found[1]["content"][0]["id"], found[1]["content"][1]["tool_use_id"]

    assert (names, ids[0]) == (["rename-id"], ids[1])
    assert ids[0].startswith("srvtoolu_x_1_")


def test_what_is_empty_goes_or_gets_a_placeholder() -> None:
    messages = [user(text(" ")), model(text(""), "a"), user(""), model(call("a")), user(result("a", [])), model("x"), user(" ")]

    assert mended(messages) == (
        [
            user(text(NO_CONTENT)),
            model(text("a")),
            model(call("a")),
            user(result("a", [text(NO_OUTPUT)])),
            model("x"),
        ],
        ["placeholder-text", "drop-empty", "placeholder-text", "drop-empty", "drop-empty"],
    )


def test_openai_message_without_content_goes() -> None:
    messages = [user("hi"), {"role": "assistant", "content": None}, {"role": "assistant", "content": "x", "tool_calls": []}]

    assert mended(messages, "openai-chat") == ([user("hi"), model("x")], ["drop-empty", "drop-empty"])


def test_picture_leaves_an_error() -> None:
    found = mended([user("hi"), model(call("a")), user(result("a", [text("no"), PNG], is_error=True), "look")])

    assert found[0][2] == user(result("a", [text("no")], is_error=True), PNG, "look")
    assert found[1] == ["move-image"]


def test_pictures_of_a_run_go_into_one_user_message_behind_it() -> None:
    """O-IMG-01, which depends on the model."""
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}
    body = {
        "model": "gpt-4o-mini",
        "messages": [user("hi"), calls("a", "b"), tool("a", [picture]), tool("b", [text("two"), picture]), user("x")],
    }
    found, names = mended(body, "openai-chat")

    assert names == ["move-image", "move-image"]
    assert found["messages"][2:] == [
        tool("a", [text("(see attached image)")]),
        tool("b", [text("two")]),
        user(IMAGE_MARKER, picture, picture),
        user("x"),
    ]


def test_arguments_that_are_no_object_are_kept_inside_one() -> None:
    found, names = mended([user("hi"), calls("a", arguments='{"p": "x'), tool("a")], "openai-chat")

    assert names == ["wrap-arguments"]
    assert json.loads(found[1]["tool_calls"][0]["function"]["arguments"]) == {"unparsed_arguments": '{"p": "x'}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [('{"p": 1}', {"p": 1}), ("", {}), (None, {}), ([1], {"unparsed_arguments": [1]})]
    + [(one, {"unparsed_arguments": one}) for one in ('{"p": NaN}', '{"p": 1e999}', "{", '{"p": ' + "[" * 300 + "]" * 300 + "}")],
)
def test_arguments_of_anthropic_are_an_object(arguments: Json, expected: Json) -> None:
    found = mended([user("hi"), model(call("a", input=arguments)), user(result("a"))])

    assert found == ([user("hi"), model(call("a", input=expected)), user(result("a"))], ["wrap-arguments"])


# -- seals ---------------------------------------------------------------------------------------------------------------


def test_unsigned_thinking_leaves_closed_turns_only() -> None:
    """L5."""
    closed = [user("hi"), model(thinking(""), "a"), user("next")]
    made, reasons = left([user("hi"), model(thinking(""), call("a")), user(result("a"))])

    assert mended(closed) == ([user("hi"), model(text("a")), user("next")], ["strip-seal"])
    assert (made.fixes, [rule for rule, _reason in reasons]) == ((), ["A-THINK-03"])
    assert "law L5" in reasons[0][1]


def test_sealed_message_is_named_not_edited() -> None:
    """A-ORDER-01 in one message of the current turn."""
    made, reasons = left([user("hi"), model(thinking(), call("a"), "so"), user(result("a"))])

    assert made.conversation.messages[1] is not None
    assert (made.fixes, [rule for rule, _reason in reasons]) == ((), ["A-ORDER-01"])


# -- neighbours, first and last ------------------------------------------------------------------------------------------


def test_strict_profile_gets_alternation_and_a_user_first() -> None:
    found = mended([model("a"), user("b"), user("c"), model("d"), model("e")], profile="anthropic-strict", close=True)

    assert found[0][:2] == [user(CONTINUE), model("a")]
    assert [len(message["content"]) for message in found[0][2:4]] == [2, 2]
    assert found[1] == ["merge-same-role", "merge-same-role", "insert-bridge"]


def test_message_is_appended_only_to_what_is_closed() -> None:
    messages = [user("hi"), model("done")]
    conversation = parse(messages, dialect="anthropic")
    made = repair(conversation, profile="anthropic-no-prefill", close=True)

    assert repair(conversation, profile="anthropic-no-prefill").conversation is conversation
    assert (render(made.conversation), made.conversation.messages[-1].origin) == ([*messages, user(CONTINUE)], Origin.HARNESS)
    assert left([user(result("x"))])[1][0][0] == "A-EMPTY-04"


# -- what is left, and the rest ------------------------------------------------------------------------------------------


def test_request_is_not_repaired_but_named() -> None:
    body = {"thinking": {"type": "enabled"}, "tool_choice": {"type": "any"}, "messages": [user("hi")]}
    made, reasons = left(body)

    assert (made.fixes, reasons) == ((), [("A-TC-01", "it concerns the request, not a message")])


def test_warnings_are_left_alone() -> None:
    conversation = parse([user("hi"), model(call("a"), call("b")), user(result("a")), user(result("b"))], dialect="anthropic")

    assert [(found.rule, found.level) for found in check(conversation)] == [("A-PAIR-03", "warning")]
    assert repair(conversation, close=True).conversation is conversation


def test_fused_head_survives_when_nothing_touches_it() -> None:
    parsed = parse([user("a"), user("b"), model("c"), user("d"), model(call("x")), user("e")], dialect="anthropic")
    fused = Conversation(parsed.dialect, parsed.messages, fused=(0, 2))
    made = repair(fused)

    assert (made.conversation.fused, made.fixes[0].index) == ((0, 2), 3)
    assert made.conversation.messages[:2] == parsed.messages[:2]


def test_a_message_that_loses_its_reasoning_loses_the_key_of_it() -> None:
    """Words, reasoning and calls are parted; what is left can be written, and nothing of it is there twice."""
    named = {"id": "abcdefghi", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
    said = {"role": "assistant", "content": "hi", "reasoning_content": "r", "tool_calls": [named]}
    messages = [{"role": "user", "content": "hi"}, said, {"role": "tool", "tool_call_id": "abcdefghi", "content": "x"}]
    made = repair(parse([*messages, {"role": "user", "content": "go"}], dialect="mistral"), close=True, profile="mistral-v3")
    written = render(made.conversation)

    assert [fix.name for fix in made.fixes] == ["move-words"]
    assert written[1] == {"role": "assistant", "content": "hi", "reasoning_content": "r"}
    assert written[2] == {"role": "assistant", "content": None, "tool_calls": [named]}


def test_unknown_profile_and_dialect_are_errors() -> None:
    conversation = parse([user("hi")], dialect="anthropic")
    with pytest.raises(ValueError, match="is called 'x'"):
        repair(conversation, profile="x")
    with pytest.raises(ValueError, match="is for openai-chat"):
        repair(conversation, profile="groq")


def test_every_fix_has_a_name_in_the_documentation() -> None:
    """The module and the chapter name the closed set, `rules.FIXES` among it; declaring tools is nobody's business here."""
    from compactlib.protocol import repair as module

    chapter = (Path(__file__).parents[1] / "spec" / "70-repair.md").read_text("utf-8")
    for name in set(FIXES) - {"add-tool-declaration"}:
        assert f"``{name}``" in str(module.__doc__)
        assert f"| `{name}` |" in chapter
    assert UNKNOWN_OUTCOME in chapter


# -- the command ---------------------------------------------------------------------------------------------------------


def test_command_shows_the_change_and_writes_beside(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, out = tmp_path / "in.json", tmp_path / "out.json"
    source.write_text(json.dumps([user("hi"), model(call("a")), user("go\u202e on"), model("x")]), "utf-8")
    content = source.read_bytes()

    assert main(["repair", str(source), "--diff", "--out", str(out)]) == 0
    said = capsys.readouterr().out
    assert "synthesize-result A-PAIR-01 answered 'a'" in said
    assert '\n-{"role":"user","content":"go\\u202e on"}\n+{"role":"user","content":[{"type":"tool_result"' in said
    assert "\n@@ -2,3 +2,3 @@\n" in said
    assert source.read_bytes() == content
    assert json.loads(out.read_text("utf-8"))[2] == user(unknown("a"), "go\u202e on")
    assert main(["repair", str(out)]) == 0
    assert "nothing to repair" in capsys.readouterr().out


def test_command_says_what_is_left(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "in.json"
    source.write_text(json.dumps([user("hi"), model(thinking(""), call("a")), user(result("a"))]), "utf-8")

    assert main(["repair", str(source)]) == 1
    assert "left A-THINK-03" in capsys.readouterr().out
    assert main(["repair", str(source), "--format", "json"]) == 1
    said = json.loads(capsys.readouterr().out)
    assert ([one["rule"] for one in said["left"]], said["fixes"], len(said["messages"])) == (["A-THINK-03"], [], 3)
    assert main(["repair", str(source), "--out", str(source)]) == 2
    assert main(["repair", str(tmp_path / "none")]) == 2


def test_command_closes_what_is_pending(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "in.json"
    source.write_text(json.dumps([user("hi"), model(call("a"))]), "utf-8")

    assert main(["repair", str(source)]) == 0
    assert "1 call is pending" in capsys.readouterr().out
    assert main(["repair", str(source), "--close"]) == 0
    assert "synthesize-result" in capsys.readouterr().out


# -- Groq ----------------------------------------------------------------------------------------------------------------


def test_list_of_texts_becomes_one_string_for_groq() -> None:
    """O-CONTENT-01, its case string-only: no word is lost, and a user's list stays."""
    parts = [text("looking"), {**text("now"), "cache_control": {"type": "ephemeral"}}, text("")]
    messages = [user("hi", "there"), {**calls("a"), "content": parts}, tool("a"), model(text("so"))]
    found = mended(messages, "openai-chat", profile="groq")

    assert found == (
        [user("hi", "there"), {**calls("a"), "content": "looking\n\nnow"}, tool("a"), model("so")],
        ["merge-same-role", "merge-same-role"],
    )


def test_list_without_words_beside_calls_is_null_for_groq() -> None:
    """Only where it is refused: one model took none."""
    body = {"model": "qwen-qwq-32b", "messages": [user("hi"), {**calls("a"), "content": []}, tool("a")]}
    found, names = mended(body, "openai-chat", profile="groq")

    assert (found["messages"][1:], names) == ([calls("a"), tool("a")], ["merge-same-role"])


def test_list_that_holds_more_than_texts_is_left() -> None:
    """A refusal cannot be joined to words without becoming words."""
    messages = [user("hi"), model(text("so"), {"type": "refusal", "refusal": "no"})]

    assert left(messages, "openai-chat", profile="groq")[1] == [("O-CONTENT-01", "no safe fix applies here")]


@pytest.mark.parametrize(
    ("dialect", "tag"),
    [
        ("anthropic", "tool_use"),
        ("openai-chat", "function"),
        ("openai-responses", "function_call"),
        ("gemini", "functionCall"),
        ("bedrock", "toolUse"),
        ("mistral", "function"),
    ],
)
def test_argument_that_holds_itself_comes_to_an_end(dialect: str, tag: str) -> None:
    """It can only be made by hand, and no fix can write it; whatever was wrong with it stays named."""
    loop: list[Any] = []
    loop.append(loop)
    calling = Message("model", (Call("c1", "f", {"a": loop}, wire(tag)),), wire("assistant"))
    conversation = Conversation(dialect, (Message("user", "hi", wire("user")), calling))
    made = repair(conversation)

    assert loop in made.conversation.messages[1].calls[0].arguments["a"]
    assert {one.rule for one in check(made.conversation)} <= {one.rule for one in check(conversation)}
