"""What Mistral's reader decides beyond the examples of its chapter: places, versions, and repair of what is broken."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from compactlib.dialects import parse, render
from compactlib.errors import WireError
from compactlib.protocol.profiles import PROFILES, takes_thinking
from compactlib.protocol.repair import repair
from compactlib.protocol.rules import RULES
from compactlib.protocol.validator import Validator, Violation, check
from compactlib.protocol.violation import in_order

from .property.test_repair_laws import broken_laws
from .strategies import build, histories
from .test_dialect_mistral import MESSAGES, NOISE

Messages = list[dict[str, Any]]

USER = {"role": "user", "content": "hi"}
SAID = {"role": "assistant", "content": "well"}
SYSTEM = {"role": "system", "content": "be brief"}
A, B = "aaaaaaaa1", "bbbbbbbb2"


def call(*ids: str, content: Any = "", name: str = "read", **more: Any) -> dict[str, Any]:
    calls = [{"id": key, "type": "function", "function": {"name": name, "arguments": "{}"}} for key in ids]
    return {"role": "assistant", "content": content, "tool_calls": calls, **more}


def tool(key: str, content: Any = "ok", **more: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": key, "content": content, **more}


def judged(messages: Any, profile: str = "mistral", *, mode: Any = "request") -> tuple[Violation, ...]:
    return check(parse(messages, dialect="mistral"), profile=profile, mode=mode)


def found(messages: Any, profile: str = "mistral", *, mode: Any = "request") -> list[tuple[str, str, str]]:
    """(rule, level, pointer) of each finding."""
    return [(one.rule, one.level, one.pointer) for one in judged(messages, profile, mode=mode)]


# -- pairs -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        pytest.param([USER, call(A, B), tool(B), tool(A)], [], id="any order"),
        pytest.param([USER, call(A), SAID, USER], [("M-COUNT-01", "/1/tool_calls/0")], id="talked past"),
        pytest.param([USER, call(A, B), tool(A)], [("M-COUNT-01", "/1/tool_calls/1")], id="one is missing"),
        pytest.param([USER, call(A), tool(A), tool(B)], [("M-COUNT-01", "/3")], id="one too many"),
        pytest.param([USER, call(A), tool(A), tool(A)], [("M-PAIR-02", "/3/tool_call_id")], id="twice"),
        pytest.param([USER, tool(A)], [("M-ORDER-01", "/1")], id="behind a user"),
        pytest.param([SYSTEM, tool(A)], [("M-ORDER-01", "/1")], id="behind the system"),
        pytest.param([tool(A), USER], [("M-COUNT-01", "/0"), ("M-ORDER-01", "/1/role")], id="first of all"),
        pytest.param([USER, call(A, B), tool(A), USER, tool(B)], [("M-ORDER-01", "/3")], id="an intruder"),
        pytest.param([USER, call(A), SYSTEM, tool(A)], [("M-ORDER-01", "/2/role")], id="the system intrudes"),
        pytest.param([USER, call(A), USER, SYSTEM, tool(A)], [("M-ORDER-01", "/2")], id="two intruders, one finding"),
        pytest.param([USER, call(A), SAID, tool(A)], [("M-COUNT-01", "/1/tool_calls/0"), ("M-PAIR-01", "/3")], id="late"),
        pytest.param([USER, call(A), tool(A), call(A), tool(A)], [], id="an id of another step"),
    ],
)
def test_each_fault_of_pairing_is_found_once_where_it_stands(messages: Messages, expected: list[tuple[str, str]]) -> None:
    """The rule and the place."""
    assert [(rule, pointer) for rule, _level, pointer in found(messages)] == expected


def test_a_result_without_an_id_answers_the_oldest_call() -> None:
    """So what is missing is found once: the id, and no unanswered call."""
    nameless = {"role": "tool", "content": "ok"}

    assert found([USER, call(A, B), nameless, tool(B)]) == [("M-TOOLID-01", "error", "/2")]
    assert found([USER, call(A), {**nameless, "tool_call_id": None}]) == [("M-TOOLID-01", "error", "/2")]


def test_what_a_person_types_behind_results_is_a_warning() -> None:
    """The service was recorded to accept it; behind an open batch it is the batch that is broken."""
    assert found([USER, call(A), tool(A), USER]) == [("M-ORDER-01", "warning", "/3/role")]
    assert found([USER, call(A, B), tool(A), USER], mode="history")[0][:2] == ("M-COUNT-01", "error")


@pytest.mark.parametrize(("version", "level"), [(3, "warning"), (5, "warning"), (11, "error"), (13, "error"), (15, "error")])
def test_older_versions_count_results_and_newer_ones_compare_ids(version: int, level: str) -> None:
    """A result under another id is enough where it is only counted."""
    rules = found([USER, call(A), tool(B)], f"mistral-v{version}")

    assert ("M-PAIR-01", level) in {one[:2] for one in rules}
    assert (level == "error") == any(one[1] == "error" for one in rules)


def test_twins_are_an_error_only_where_ids_are_compared() -> None:
    """Two calls of one message with one id."""
    twins = [USER, call(A, A), tool(A), tool(A)]

    assert found(twins) == [("M-ID-02", "error", "/1/tool_calls/1/id")]
    assert found(twins, "mistral-v3") == [("M-ID-02", "warning", "/1/tool_calls/1/id")]


def test_a_version_between_two_is_judged_as_the_older() -> None:
    """A profile made by hand may name any."""
    profile = evolve(PROFILES["mistral"], name="mine", version=12)
    conversation = parse([USER, call("call_1"), tool("call_1")], dialect="mistral")

    assert [one.rule for one in check(conversation, profile=profile)] == ["M-ID-01"]


# -- contents ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["", "call_1", "aaaaaaaa", "aaaaaaaaaa", "äaaaaaaaa", "aaaa aaaa", "aaaaaaaa\n"])
def test_ids_are_nine_letters_and_digits(key: str) -> None:
    """And nothing else, a line break at the end included."""
    assert ("M-ID-01", "error", "/1/tool_calls/0/id") in found([USER, call(key), tool(key)])


def test_newer_versions_take_any_id_but_none() -> None:
    """Empty, and the word that the published library writes for none."""
    for version in (13, 15):
        assert found([USER, call("call_1"), tool("call_1")], f"mistral-v{version}") == []
        assert ("M-ID-01", "error", "/1/tool_calls/0/id") in found([USER, call("null"), tool("null")], f"mistral-v{version}")


def test_names_of_calls_results_and_tools_are_one_language() -> None:
    """A long one is a warning in the history, because the service took back what the model had made."""
    declared = {"type": "function", "function": {"name": "a b", "parameters": {}}}
    long = "n" * 65

    assert found([USER, call(A, name=""), tool(A, name="x.y")]) == [
        ("M-NAME-01", "error", "/1/tool_calls/0/function/name"),
        ("M-NAME-01", "error", "/2/name"),
    ]
    assert found([USER, call(A, name=long), tool(A)])[0][1] == "warning"
    assert found([USER, call(A, name=long), tool(A)], "mistral-v11")[0][1] == "error"
    assert found({"messages": [USER], "tools": [declared]}) == [("M-NAME-01", "error", "")]


@pytest.mark.parametrize(
    ("message", "service", "newer"),
    [
        ({"role": "assistant", "content": ""}, "error", "warning"),
        ({"role": "assistant", "content": None}, "error", "warning"),
        ({"role": "assistant", "content": []}, "error", "warning"),
        ({"role": "assistant", "tool_calls": []}, "error", "warning"),
        ({"role": "assistant", "content": " "}, None, None),
    ],
)
def test_an_empty_answer_is_refused_by_the_service_only(message: Any, service: str | None, newer: str | None) -> None:
    """The published validators from version 5 on let it pass."""
    for profile, level in (("mistral", service), ("mistral-v3", service), ("mistral-v13", newer)):
        expected = [] if level is None else [("M-EITHER-01", level)]
        assert [one[:2] for one in found([USER, message, USER], profile)] == expected


def test_thinking_goes_back_to_models_that_take_it() -> None:
    """By name; of a model that is not known it is a warning, and the published validators go by their version."""
    thought = {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "x"}]}

    def levels(model: str, profile: str = "mistral") -> list[str]:
        return [one[1] for one in found({"model": model, "messages": [USER, thought, USER]}, profile)]

    assert levels("magistral-small-latest") == []
    assert levels("ministral-3b-2512") == ["error"]
    assert levels("mistral-large-latest") == ["warning"]
    assert (levels("", "mistral-v5"), levels("", "mistral-v11")) == (["error"], [])
    assert takes_thinking("mistral-small-latest") is True


def test_thinking_in_the_wrong_place_is_named_as_such() -> None:
    """Where no version takes it, it is a chunk of the wrong type."""
    chunk = {"type": "thinking", "thinking": "hm"}

    assert found([{"role": "user", "content": [chunk]}])[0][:2] == ("M-CHUNK-01", "warning")
    assert found([USER, call(A), tool(A, [chunk])], "mistral-v15")[0][:2] == ("M-CHUNK-01", "error")
    assert found([{"role": "system", "content": [chunk]}, USER]) == []


def test_roles_that_mistral_does_not_know_are_named() -> None:
    """OpenAI's developer and function among them."""
    assert found([{"role": "developer", "content": "x"}, USER]) == [("M-ROLE-01", "error", "/0/role")]
    assert ("M-ROLE-01", "error", "/2/role") in found([USER, call(A), {"role": "function", "name": "read", "content": "x"}])


def test_the_old_kind_of_call_has_no_id_and_is_told_so() -> None:
    """It pairs all the same, so nothing else is wrong."""
    legacy = {"role": "assistant", "content": None, "function_call": {"name": "read", "arguments": "{}"}}

    assert found([USER, legacy, tool("")]) == [("M-ID-01", "error", "/1/function_call")]


# -- the end -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([], ["M-START-01"]),
        ([SAID], ["M-START-01"]),
        ([SYSTEM], []),
        ([USER, SAID], ["M-LAST-01"]),
        ([USER, {**SAID, "prefix": True}], []),
        ([USER, {**SAID, "prefix": False}], ["M-LAST-01"]),
        ([SAID, USER], []),
        ([USER, SYSTEM], []),
    ],
)
def test_a_request_ends_with_the_user(messages: Messages, expected: list[str]) -> None:
    """Or with a prefix; a history may end with the model."""
    assert [rule for rule, _level, _pointer in found(messages)] == expected
    if messages:
        assert found(messages, mode="history") == []


def test_a_prefix_is_judged_when_the_next_message_comes() -> None:
    """Until then it may be the last; the versions refuse it, the service does not."""
    judge = Validator("mistral")
    conversation = parse([USER, {**SAID, "prefix": True}, USER], dialect="mistral")
    rules = [[one.rule for one in judge.feed(message)] for message in conversation.messages]

    assert rules == [[], [], ["M-PREFIX-01"]]
    assert found([USER, {**SAID, "prefix": True}, USER]) == [("M-PREFIX-01", "warning", "/1/prefix")]
    assert found([USER, {**SAID, "prefix": True}, USER], "mistral-v13")[0][1] == "error"


def test_the_expected_is_said_in_words() -> None:
    """What may come now."""
    judge = Validator("mistral")
    for message in parse([USER, call(A)], dialect="mistral").messages:
        judge.feed(message)

    assert judge.expected == f"the results of the open calls, before anything else: {A!r}"


# -- repair ------------------------------------------------------------------------------------------------------------


def repaired(messages: Messages, profile: str = "mistral") -> tuple[list[str], Messages]:
    made = repair(parse(messages, dialect="mistral"), close=True, profile=profile)

    assert made.left == ()
    return [fix.name for fix in made.fixes], render(made.conversation)


def test_ids_of_other_providers_become_nine_characters() -> None:
    """Call and result together, two long ids with one beginning apart."""
    names = ["toolu_01AbCdEfGhIjKl", "toolu_01AbCdEfGhIjKm"]
    fixes, messages = repaired([USER, call(*names), tool(names[1]), tool(names[0])])
    ids = [one["id"] for one in messages[1]["tool_calls"]]

    assert fixes == ["rename-id", "rename-id"]
    assert len(set(ids)) == 2
    assert [len(key) for key in ids] == [9, 9]
    assert [messages[2]["tool_call_id"], messages[3]["tool_call_id"]] == ids[::-1]


def test_a_system_message_behind_the_model_gets_a_user_message_before_it() -> None:
    """No system text is moved."""
    fixes, messages = repaired([USER, SAID, SYSTEM, USER])

    assert fixes == ["insert-bridge"]
    assert [one["role"] for one in messages] == ["user", "assistant", "user", "system", "user"]


def test_words_and_calls_are_parted_for_version_3() -> None:
    """The words stand in a message before the calls."""
    fixes, messages = repaired([USER, call(A, content="I look."), tool(A), USER], "mistral-v3")

    assert fixes == ["move-words"]
    assert messages[1] == {"role": "assistant", "content": "I look."}
    assert messages[2]["content"] is None
    assert len(messages[2]["tool_calls"]) == 1


def test_pictures_leave_tool_messages_where_they_are_refused() -> None:
    """They stand in a user message behind the run."""
    image = {"type": "image_url", "image_url": "data:image/png;base64,AA=="}
    fixes, messages = repaired([USER, call(A, B), tool(A, [image]), tool(B)], "mistral-v13")

    assert fixes == ["move-image"]
    assert [one["role"] for one in messages] == ["user", "assistant", "tool", "tool", "user"]
    assert messages[4]["content"][1] == image


def test_thinking_leaves_closed_turns_of_a_model_that_refuses_it() -> None:
    """The current turn is left as it is, and named."""
    thought = {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "x"}]}
    body = {"model": "ministral-3b-latest", "messages": [USER, thought, USER, thought, USER]}
    made = repair(parse(body, dialect="mistral"), close=True)

    assert {fix.name for fix in made.fixes} == {"strip-seal"}
    assert "thinking" not in json.dumps(render(made.conversation)["messages"][1])


# -- many faults at once -----------------------------------------------------------------------------------------------


@st.composite
def wounded(draw: st.DrawFn) -> Messages:
    """The messages of a legal conversation, with one to five wounds."""
    messages = build(draw(histories()), "mistral", thinking=draw(st.booleans()))
    for _ in range(draw(st.integers(1, 5))):
        at = draw(st.integers(0, len(messages) - 1)) if messages else 0
        kind = draw(st.sampled_from(["lose", "double", "move", "insert", "empty", "rename", "twin", "prefix"]))
        if kind == "insert" or not messages:
            role = draw(st.sampled_from(["user", "assistant", "system"]))
            messages.insert(at, {"role": role, "content": draw(st.sampled_from(["wait", "", None, []]))})
        elif kind == "lose":
            messages.pop(at)
        elif kind == "double":
            messages.insert(at, copy.deepcopy(messages[draw(st.integers(0, len(messages) - 1))]))
        elif kind == "move":
            messages.insert(draw(st.integers(0, len(messages) - 1)), messages.pop(at))
        elif kind == "empty":
            messages[at]["content"] = draw(st.sampled_from(["", None, []]))
        elif kind == "rename":
            old, new = (draw(st.sampled_from(["0000000c1", "0000000c2", "call_1", ""])) for _ in "on")
            messages[:] = json.loads(json.dumps(messages).replace(json.dumps(old), json.dumps(new)))
        elif kind == "prefix" and messages[at]["role"] == "assistant":
            messages[at]["prefix"] = draw(st.booleans())
        elif kind == "twin" and messages[at].get("tool_calls"):
            messages[at]["tool_calls"] *= 2
    return messages


@given(wounded(), st.booleans(), st.sampled_from(["mistral", "mistral-v3", "mistral-v5", "mistral-v11", "mistral-v15"]))
def test_repair_of_several_faults_keeps_every_law(messages: Messages, close: bool, profile: str) -> None:
    """Whatever is broken, in whichever version, closed or not."""
    conversation = parse(messages, dialect="mistral")
    made = repair(conversation, close=close, profile=profile)

    assert broken_laws(conversation, made, close=close, profile=profile) == []


@given(histories(), st.booleans())
def test_a_valid_history_comes_back_as_the_same_object(pieces: list[Any], thinking: bool) -> None:
    """With pending calls at its end or without."""
    conversation = parse(build(pieces, "mistral", thinking=thinking), dialect="mistral")

    assert [one for one in check(conversation, mode="history") if one.level == "error"] == []
    assert repair(conversation).conversation is conversation


@given(st.lists(st.sampled_from(MESSAGES) | NOISE, max_size=6), st.sampled_from(["mistral", "mistral-v3", "mistral-v15"]))
def test_whatever_is_read_is_judged_and_repaired(messages: Messages, profile: str) -> None:
    """No exception but that of a wrong shape, rules that exist, places that exist, and an order."""
    try:
        conversation = parse(messages, dialect="mistral")
    except WireError:
        return
    violations = check(conversation, profile=profile)

    assert {one.rule for one in violations} <= set(RULES)
    assert violations == in_order(violations)
    for one in violations:
        place: Any = messages
        for step in one.pointer.split("/")[1:]:
            place = place[int(step)] if isinstance(place, list) else place[step]
    made = repair(conversation, profile=profile)
    assert repair(made.conversation, profile=profile).conversation is made.conversation
