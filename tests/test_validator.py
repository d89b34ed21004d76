"""The validator as its callers see it: places, order, increments, modes, origins, hostile input."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve

from compactlib.dialects import parse
from compactlib.errors import PolicyError
from compactlib.model import Call, Conversation, Message, Origin, wire
from compactlib.protocol.validator import Validator, Violation, check
from compactlib.protocol.violation import in_order


def user(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def use(key: str, **fields: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": key, "name": "ls", "input": {}, **fields}


def result(key: str, content: Any = "ok", **fields: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": key, "content": content, **fields}


def text(words: str, **fields: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **fields}


IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
HI = user(text("hi"))


def found(messages: Any, **options: Any) -> list[tuple[str, str, str]]:
    """(rule, level, pointer) of each finding in Anthropic messages or a body."""
    return [(v.rule, v.level, v.pointer) for v in check(parse(messages, dialect="anthropic"), **options)]


def rules(messages: Any, **options: Any) -> list[str]:
    return [rule for rule, level, _ in found(messages, **options) if level == "error"]


def chat(messages: list[Any], **options: Any) -> list[tuple[str, str, str]]:
    return [(v.rule, v.level, v.pointer) for v in check(parse(messages, dialect="openai-chat"), **options)]


def function(key: str, arguments: Any = "{}", name: str = "ls") -> dict[str, Any]:
    return {"id": key, "type": "function", "function": {"name": name, "arguments": arguments}}


class TestPlaces:
    def test_a_pointer_leads_into_what_was_parsed(self) -> None:
        """Into a body through its messages, into a bare list without."""
        messages = [HI, assistant(text("a"), use("t1"))]

        assert found(messages) == [("A-PAIR-01", "error", "/1/content/1")]
        assert found({"messages": messages}) == [("A-PAIR-01", "error", "/messages/1/content/1")]

    def test_findings_are_in_order_of_place_by_number(self) -> None:
        """The tenth block comes after the second, whatever their digits."""
        pointers = [pointer for _, _, pointer in found([user(*[text("")] * 11)])]

        assert pointers == [f"/0/content/{place}" for place in range(11)]

    def test_a_request_level_finding_has_no_place(self) -> None:
        """It concerns settings, so it comes first and points nowhere."""
        body = {"messages": [user(text(""))], "thinking": {"type": "enabled"}, "tool_choice": {"type": "any"}}
        first = check(parse(body, dialect="anthropic"))[0]

        assert (first.rule, first.index, first.pointer) == ("A-TC-01", None, "")

    def test_unanswered_calls_are_one_finding_a_message(self) -> None:
        """It names all ids, and points to the first call without a result."""
        (one,) = check(parse([HI, assistant(use("a"), use("b"), use("c")), user(result("a"))], dialect="anthropic"))

        assert (one.rule, one.pointer, one.call_ids) == ("A-PAIR-01", "/1/content/1", ("b", "c"))
        assert one.expected == "results for 'b' and 'c' directly behind message 1, before anything else"

    def test_a_fused_head_is_one_message(self) -> None:
        """Indices and pointers are the wire's: blocks of the head count on."""
        parsed = parse([user(text("one")), user(text("two"), text("")), assistant(use("a"))], dialect="anthropic")
        fused = evolve(parsed, fused=(0, 2))

        assert [(v.index, v.pointer) for v in check(fused)] == [(0, "/0/content/2"), (1, "/1/content/0")]
        judge = Validator(fused)
        assert [v.pointer for v in judge.feed(*fused.messages[:2])] == ["/0/content/2"]


class TestIncrements:
    def test_finish_changes_nothing(self) -> None:
        """It may be asked after each message, and says what the end would break there."""
        judge = Validator("anthropic")
        ends = []
        for message in parse(
            [HI, assistant(use("a"), use("b")), user(result("a")), user(result("b"))], dialect="anthropic"
        ).messages:
            judge.feed(message)
            ends.append([v.call_ids for v in judge.finish() if v.rule == "A-PAIR-01"])

        assert ends == [[], [("a", "b")], [("b",)], []]

    def test_expected_names_the_open_calls(self) -> None:
        """At any moment the validator says what may come now."""
        judge = Validator("anthropic")
        assert judge.expected == "a user message"
        for message in parse([HI, assistant(use("a"))], dialect="anthropic").messages:
            judge.feed(message)

        assert judge.expected == "the results of the open calls, before anything else: 'a'"

    def test_an_unknown_dialect_or_a_foreign_profile_is_the_callers_mistake(self) -> None:
        """Both are named."""
        with pytest.raises(PolicyError, match="'smoke-signals' can be read and written, and not yet be judged"):
            Validator("smoke-signals")
        with pytest.raises(PolicyError, match="'openai' is for openai-chat, not for anthropic"):
            Validator("anthropic", profile="openai")


class TestOrigins:
    @pytest.mark.parametrize("origin", [Origin.HARNESS, Origin.ATTACHMENT, Origin.UNKNOWN])
    def test_calls_stay_pending_behind_a_note(self, origin: Origin) -> None:
        """Law L4: harness messages and attachments leave a frontier open."""
        parsed = parse([HI, assistant(use("a")), user(text("reminder"))], dialect="anthropic", origins={2: origin})

        assert check(parsed, mode="history") == ()
        assert [v.rule for v in check(parsed)] == ["A-PAIR-01"]

    def test_calls_dangle_behind_a_person(self) -> None:
        """Whoever is not named is a person."""
        assert rules([HI, assistant(use("a")), user(text("never mind"))], mode="history") == ["A-PAIR-01"]

    def test_a_picture_with_a_marker_is_an_attachment(self) -> None:
        """In OpenAI's dialect a tool's picture is a user message; a person's words beside one make it a prompt."""
        picture = {"type": "image_url", "image_url": {"url": "https://e.x/a.png"}}
        head: list[Any] = [{"role": "user", "content": "hi"}, {"role": "assistant", "tool_calls": [function("a"), function("b")]}]
        head.append({"role": "tool", "tool_call_id": "a", "content": "(see attached image)"})
        marked = {"role": "user", "content": [{"type": "text", "text": "Attached image(s) from tool result:"}, picture]}
        spoken = {"role": "user", "content": [{"type": "text", "text": "look at this"}, picture]}

        assert chat([*head, marked], mode="history") == []
        assert chat([*head, spoken], mode="history") == [("O-PAIR-01", "error", "/1/tool_calls/1")]
        assert chat([*head, marked, {"role": "tool", "tool_call_id": "b", "content": "ok"}]) == [("O-PAIR-03", "error", "/3")]


class TestAnthropic:
    @pytest.mark.parametrize(
        ("messages", "expected"),
        [
            ([HI, assistant(use("a")), user(text("x"), result("a"))], ["A-PAIR-04"]),
            ([HI, assistant(use("a"), text("x")), user(result("a"))], ["A-ORDER-01"]),
            ([HI, assistant(use("a")), assistant(text("x")), user(result("a"))], ["A-ORDER-01"]),
            ([HI, assistant(use("a"), use("a")), user(result("a"), result("a"))], ["A-ID-01"]),
            ([HI, assistant(use("a")), user(result("a"), result("a"))], ["A-PAIR-05"]),
            ([HI, assistant(), user(text("go"))], ["A-EMPTY-03"]),
            ([HI, assistant()], []),
            ([HI, assistant(use("a")), user(result("a", []))], ["A-EMPTY-05"]),
            ([HI, assistant(use("a")), user(result("a", "", is_error=True))], ["A-EMPTY-06"]),
            ([HI, assistant(use("a")), user(result("a", [IMAGE], is_error=True))], ["A-IMG-01"]),
            ([HI, assistant({"type": "thinking", "thinking": "x", "signature": ""}, text("y")), HI], ["A-THINK-03"]),
            ([HI, assistant({"type": "thinking", "thinking": "x", "signature": "s"}), HI], ["A-THINK-06"]),
            ([HI, assistant({"type": "thinking", "thinking": "x", "signature": "s"}), assistant(text("y")), HI], []),
            ([HI, assistant(use("a", input={"x": [{"y": "cut \ud83d"}]})), user(result("a"))], ["A-JSON-01"]),
            ([{"role": "robot", "content": "hi"}], ["A-ROLE-02"]),
            ([user(*[IMAGE] * 101)], ["A-IMG-02"]),
            ([user({**IMAGE, "_px": [8001, 10]})], ["A-IMG-03"]),
            ([user(*[{**IMAGE, "_px": [2001, 10]}] * 20)], []),
            ([user(*[{**IMAGE, "_px": [2001, 10]}] * 21)], ["A-IMG-03"] * 21),
        ],
    )
    def test_each_fault_is_one_error(self, messages: list[Any], expected: list[str]) -> None:
        """The smallest conversation with the fault, and beside it the nearest without."""
        assert rules(messages) == expected

    def test_server_calls_may_wait_in_two_places(self) -> None:
        """Beside a client call, with the result in the next answer, and at the very end; nowhere else."""
        server = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
        answer = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}

        assert rules([HI, assistant(server, use("a")), user(result("a")), assistant(answer, text("x")), HI]) == []
        assert rules([HI, assistant(text("x"), server)]) == []
        assert rules([HI, assistant(text("x"), server), HI]) == ["A-SRV-01"]
        assert rules([HI, assistant(answer, text("x")), HI]) == ["A-SRV-02"]

    def test_the_open_tool_loop_begins_with_thinking(self) -> None:
        """A-THINK-01 holds for the loop at the end, until the user speaks, and only while thinking is enabled."""
        loop = [HI, assistant(use("a")), user(result("a"))]

        assert rules({"thinking": {"type": "enabled"}, "messages": loop}) == ["A-THINK-01"]
        assert rules({"thinking": {"type": "adaptive"}, "messages": loop}) == []
        assert rules({"thinking": {"type": "enabled"}, "messages": [*loop[:2], user(result("a"), text("go on"))]}) == []

    def test_marks_are_counted_over_the_whole_request(self) -> None:
        """Tools, system and messages share four; a null is none; the fifth is where the finding stands."""
        mark = {"cache_control": {"type": "ephemeral"}}
        body = {
            "tools": [{"name": "ls", **mark}],
            "system": [text("s", **mark)],
            "messages": [
                user(text("a", **mark), text("b", cache_control=None)),
                assistant(text("c", **mark)),
                user(text("d", **mark)),
            ],
        }

        assert found(body) == [("A-CACHE-01", "error", "/messages/2/content/0/cache_control")]


class TestOpenAIChat:
    @pytest.mark.parametrize(
        ("calls", "results", "expected"),
        [
            ([function("a")], ["a"], []),
            ([function("a", "{")], ["a"], [("O-ARGS-01", "error")]),
            ([function("a", "")], ["a"], [("O-ARGS-01", "warning")]),
            ([function("a", '{"n": ' + "1" * 9000 + "}")], ["a"], []),
            ([function("a", "[" * 100_000)], ["a"], [("O-ARGS-01", "error")]),
            ([function("a", {"x": 1})], ["a"], [("O-ARGS-01", "error")]),
            ([function("a", name="fs.read")], ["a"], [("O-NAME-01", "error")]),
            ([function("i" * 41)], ["i" * 41], [("O-ID-01", "error")]),
            ([function("a"), function("b")], ["b"], [("O-PAIR-01", "error")]),
            ([function("a")], ["a", "x"], [("O-PAIR-02", "error")]),
            ([function("a"), function("a")], ["a", "a"], [("O-PAIR-04", "error")]),
            ([function("a")], [None], [("O-TOOLMSG-01", "error")]),
        ],
    )
    def test_each_fault_is_one_finding(self, calls: list[Any], results: list[Any], expected: list[tuple[str, str]]) -> None:
        """Calls, their results, and what is wrong with them."""
        answers = [{"role": "tool", "content": "ok", **({} if key is None else {"tool_call_id": key})} for key in results]
        messages = [{"role": "user", "content": "hi"}, {"role": "assistant", "tool_calls": calls}, *answers]

        assert [(rule, level) for rule, level, _ in chat(messages)] == expected

    def test_a_call_without_result_is_found_once(self) -> None:
        """However long the model goes on behind it."""
        said = {"role": "assistant", "content": "on"}
        opened = {"role": "assistant", "tool_calls": [function("a")]}
        messages = [{"role": "user", "content": "hi"}, opened, said, said, said]

        assert chat(messages) == [("O-PAIR-01", "error", "/1/tool_calls/0")]
        assert chat(messages, profile="openai-local") == [("O-PAIR-01", "warning", "/1/tool_calls/0")]

    def test_the_old_kind_of_call_pairs_by_order(self) -> None:
        """`function_call` and role `function` have no ids; what is missing there is a warning."""
        call = {"role": "assistant", "content": None, "function_call": {"name": "ls", "arguments": "{}"}}
        answer = {"role": "function", "name": "ls", "content": "ok"}

        assert chat([{"role": "user", "content": "hi"}, call, answer, call, answer]) == []
        assert chat([{"role": "user", "content": "hi"}, call]) == [("O-PAIR-01", "warning", "/1/function_call")]


class TestHostileInput:
    def test_ids_cannot_speak_to_a_terminal(self) -> None:
        """Escapes, line breaks and bidi marks are spelled out in messages; the id itself is given as it is."""
        key = "a\n\x1b[2J\u202e" + "x" * 5000
        (one, *_) = check(parse([HI, user(result(key))], dialect="anthropic"))

        assert "\\n\\x1b[2J\\u202e" in one.message
        assert one.message.isprintable()
        assert len(one.message) < 200
        assert one.call_ids == (key,)

    def test_a_message_made_by_hand_is_judged(self) -> None:
        """Model values need not have come from a wire."""
        shape = wire("assistant")
        messages = (Message("model", (Call("a", "ls", None, wire("tool_use")),), shape), Message("tool", (), shape))

        assert {v.rule for v in check(Conversation("anthropic", messages))} >= {"A-INPUT-01", "A-PAIR-01", "A-ROLE-02"}
        assert check(Conversation("openai-chat", messages[1:])) == ()

    def test_nothing_is_changed_and_the_answer_is_always_the_same(self) -> None:
        """Two checks of one conversation are equal, and sorted as they stand."""
        parsed = parse([user(text("")), assistant(use("a")), user(text(" "), result("b"))], dialect="anthropic")
        first: tuple[Violation, ...] = check(parsed)

        assert first == check(parsed) == in_order(reversed(first))
