"""The Responses API: what its reader decides beyond the chapter's examples, and how its items are repaired."""

from __future__ import annotations

import json
from typing import Any

import pytest

from compactlib.dialects import parse, render
from compactlib.model import Origin
from compactlib.protocol.answering import UNKNOWN_OUTCOME
from compactlib.protocol.repair import repair
from compactlib.protocol.validator import Validator, check

Item = dict[str, Any]
ASK: Item = {"role": "user", "content": "Why does the build fail?"}
NEXT: Item = {"role": "user", "content": "And now?"}
SAID: Item = {"role": "assistant", "content": "Let me see."}
COMPACTED: Item = {"type": "compaction", "encrypted_content": "gAAAB3"}


def call(key: str, **fields: Any) -> Item:
    return {"type": "function_call", "call_id": key, "name": "ls", "arguments": "{}", **fields}


def output(key: str, value: Any = "ok", kind: str = "function_call_output", **fields: Any) -> Item:
    return {"type": kind, "call_id": key, "output": value, **fields}


def thought(key: str | None = "rs_1", **fields: Any) -> Item:
    return {"type": "reasoning", "summary": [], "encrypted_content": "gAAAB3", **({} if key is None else {"id": key}), **fields}


def found(items: list[Item], *, settings: Item | None = None, **options: Any) -> list[tuple[str, str, str]]:
    """(rule, level, pointer) of each finding in items, or in a body with these settings."""
    body: Any = items if settings is None else {**settings, "input": items}
    return [(one.rule, one.level, one.pointer) for one in check(parse(body, dialect="openai-responses"), **options)]


def rules(items: list[Item], **options: Any) -> list[str]:
    """The rules that are broken, errors and warnings."""
    return [rule for rule, level, _ in found(items, **options) if level != "info"]


# -- calls and outputs -------------------------------------------------------------------------------------------------

OTHERS: list[tuple[Item, Item]] = [
    ({"type": "custom_tool_call", "call_id": "a", "name": "sql", "input": "x"}, output("a", kind="custom_tool_call_output")),
    ({"type": "local_shell_call", "call_id": "a", "action": {}}, output("a", kind="local_shell_call_output")),
    ({"type": "local_shell_call", "call_id": "a", "action": {}}, output("a")),
    ({"type": "shell_call", "call_id": "a", "action": {}}, output("a", [{"stdout": "x"}], kind="shell_call_output")),
    (
        {"type": "apply_patch_call", "call_id": "a", "operation": {}},
        output("a", kind="apply_patch_call_output", status="completed"),
    ),
    (
        {"type": "computer_call", "call_id": "a", "action": {}},
        output("a", {"type": "computer_screenshot", "image_url": "x"}, kind="computer_call_output"),
    ),
    (
        {"type": "tool_search_call", "call_id": "a", "execution": "client", "arguments": {}},
        {"type": "tool_search_output", "call_id": "a", "execution": "client", "tools": []},
    ),
    ({"type": "tool_search_call", "call_id": "a", "execution": "client", "arguments": {}}, output("a")),
]


@pytest.mark.parametrize(("asked", "answer"), OTHERS, ids=[f"{one['type']}-{other['type']}" for one, other in OTHERS])
def test_each_kind_of_call_has_its_output(asked: Item, answer: Item) -> None:
    """A call is answered by what its kind is answered by, and open without it."""
    assert rules([ASK, asked, answer]) == []
    assert rules([ASK, asked, NEXT]) == ["R-PAIR-01"]
    assert rules([ASK, answer]) == ["R-PAIR-02"]


def test_an_output_of_another_kind_is_one_warning() -> None:
    """It pairs all the same, so nothing is open."""
    custom = {"type": "custom_tool_call", "call_id": "a", "name": "sql", "input": "x"}

    assert found([ASK, custom, output("a")]) == [("R-PAIR-02", "warning", "/2/type")]
    assert found([ASK, call("a"), output("a", kind="custom_tool_call_output")]) == [("R-PAIR-02", "warning", "/2/type")]


def test_what_the_provider_runs_needs_no_output() -> None:
    """Its own tools, its own search for tools, a request for approval that was not answered yet."""
    searched = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {}}
    loaded: Item = {"type": "tool_search_call", "call_id": None, "execution": "server", "arguments": {}}
    approval = {"type": "mcp_approval_request", "id": "mcpr_1", "name": "rm", "arguments": "{}", "server_label": "s"}
    granted = {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": True}

    assert rules([ASK, searched, loaded, SAID]) == []
    assert rules([ASK, approval, granted]) == []
    assert found([ASK, approval, NEXT]) == [("R-PAIR-01", "warning", "/1")]
    assert found([ASK, granted]) == [("R-PAIR-02", "error", "/1/approval_request_id")]


def test_a_call_waits_as_long_as_it_must() -> None:
    """However many items stand between, an output is never too late, and each call without one is one error at the end."""
    between = [SAID, NEXT, call("b"), output("b"), {"role": "developer", "content": "Be brief."}]

    assert rules([ASK, call("a"), *between, output("a")]) == []
    assert found([ASK, call("a"), call("c"), *between]) == [
        ("R-PAIR-01", "error", "/1"),
        ("R-PAIR-01", "error", "/2"),
        ("R-PAIR-03", "info", "/3"),
    ]


def test_calls_and_outputs_that_stand_apart_are_told_once() -> None:
    """One note for all calls that were made before it, and another for those made after."""
    apart = [call("a"), call("b"), SAID, NEXT, output("a"), output("b")]

    assert [rule for rule, _, _ in found([ASK, *apart])] == ["R-PAIR-03"]
    assert [rule for rule, _, _ in found([ASK, *apart, call("c"), SAID, output("c")])] == ["R-PAIR-03"] * 2


@pytest.mark.parametrize(
    ("items", "dangling"),
    [
        ([ASK, call("a"), call("b")], []),
        ([ASK, call("a"), call("b"), output("a")], []),
        ([ASK, call("a"), call("b"), output("a"), SAID], ["b"]),
        ([ASK, call("a"), NEXT], ["a"]),
        ([ASK, call("a"), {"role": "user", "content": "<system-reminder>3 todos</system-reminder>"}], []),
        ([ASK, call("a"), NEXT, call("b")], ["a"]),
        ([ASK, call("a"), NEXT, call("b"), output("a")], []),
    ],
)
def test_a_history_keeps_open_what_the_last_response_called(items: list[Item], dangling: list[str]) -> None:
    """Law L4: unless a person has spoken since."""
    violations = check(parse(items, dialect="openai-responses"), mode="history")

    assert [key for one in violations if one.level == "error" for key in one.call_ids] == dangling


def test_an_origin_says_whether_a_person_has_spoken() -> None:
    """A note of the client's leaves the call pending; whoever is not named is a person."""
    parsed = parse([ASK, call("a"), NEXT], dialect="openai-responses", origins={2: Origin.HARNESS})

    assert check(parsed, mode="history") == ()
    assert [one.rule for one in check(parsed)] == ["R-PAIR-01"]


@pytest.mark.parametrize(
    "settings", [{"previous_response_id": "resp_1"}, {"conversation": "conv_1"}, {"conversation": {"id": "c"}}]
)
def test_a_call_may_lie_at_the_provider(settings: Item) -> None:
    """Where the conversation goes on from what is stored, an output without its call is a note."""
    assert found([output("a")], settings=settings) == [("R-STORE-02", "info", ""), ("R-PAIR-02", "info", "/input/0/call_id")]
    assert rules([output("a"), output("a")], settings=settings) == []
    assert rules([output("a")], settings=dict.fromkeys(settings)) == ["R-PAIR-02"]
    assert rules([output("a"), {"type": "item_reference", "id": "fc_1"}, output("b")]) == ["R-PAIR-02"]


def test_the_validator_says_what_may_come() -> None:
    """At any moment, and names what is open."""
    judge = Validator("openai-responses")
    assert judge.expected == "anything but an output"
    for message in parse([ASK, call("a")], dialect="openai-responses").messages:
        judge.feed(message)

    assert judge.expected == "anything, and before it is sent the outputs of 'a'"


# -- reasoning ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("items", "settings", "expected"),
    [
        ([thought(), SAID, NEXT], {}, [("R-REAS-01", "error")]),
        ([thought(), SAID, NEXT], {"model": "gpt-5"}, [("R-REAS-01", "error")]),
        ([thought(), SAID, NEXT], {"model": "o3-mini"}, [("R-REAS-01", "warning")]),
        ([thought(), SAID, NEXT], {"model": "grok-4.3"}, [("R-REAS-01", "warning")]),
        ([thought(), SAID, NEXT], {"store": False}, []),
        ([thought(None), SAID, NEXT], {}, []),
        ([thought(), {**SAID, "id": "msg_1"}, NEXT], {}, []),
        ([thought(), call("a"), output("a")], {}, []),
        ([thought(), thought("rs_2"), call("a"), output("a")], {}, []),
        ([thought(), {"type": "web_search_call", "id": "ws_1", "action": {}}, NEXT], {}, []),
        ([call("a"), thought(), output("a"), call("b"), output("b")], {}, []),
        ([thought(), COMPACTED, NEXT], {}, []),
        ([thought(), {"type": "item_reference", "id": "msg_1"}, NEXT], {}, []),
        ([thought(), NEXT], {"store": False}, [("R-REAS-01", "error")]),
        ([thought(), {"role": "developer", "content": "x"}, NEXT], {}, [("R-REAS-01", "error")]),
        ([thought(None), NEXT], {}, [("R-REAS-01", "warning")]),
        ([thought()], {}, [("R-REAS-01", "error")]),
        ([thought(encrypted_content=None), call("a"), output("a")], {"store": False}, [("R-STORE-01", "error")]),
        ([thought(None, encrypted_content=None), call("a"), output("a")], {"store": False}, []),
    ],
)
def test_reasoning_wants_its_follower(items: list[Item], settings: Item, expected: list[tuple[str, str]]) -> None:
    """By its id, by what is stored, and by who is asked."""
    grave = [(rule, level) for rule, level, _ in found([ASK, *items], settings=settings) if level != "info"]

    assert grave == expected


def test_what_was_returned_is_compared_where_it_is_known() -> None:
    """The reasoning before an item that goes by its id, and the seals; nothing is said of what is not known."""
    returned = [thought(), call("a", id="fc_1")]
    cut = [ASK, call("a", id="fc_1"), output("a")]

    assert rules(cut) == []
    assert rules(cut, original={1: returned}) == ["R-REAS-02"]
    assert rules(cut, original={1: returned}, settings={"store": False}) == []
    assert rules([ASK, *returned, output("a")], original={1: returned, 2: returned}) == []
    assert rules([ASK, thought(encrypted_content="other"), call("a"), output("a")], original={1: returned}) == ["R-ENC-01"]
    assert rules([{**COMPACTED, "id": "cmp_1"}, ASK], original={0: [{**COMPACTED, "id": "cmp_1"}]}) == []
    assert rules([{**COMPACTED, "id": "cmp_1", "encrypted_content": "x"}], original={0: [{**COMPACTED, "id": "cmp_1"}]}) == [
        "R-ENC-01"
    ]
    assert rules([ASK, SAID], original={1: "nonsense", 7: [None]}) == []


# -- contents ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        (call("a", arguments=' {"a": 1} '), []),
        (call("a", arguments=""), []),
        (call("a", arguments='{"a": '), [("R-ARGS-01", "warning", "/1/arguments")]),
        (call("a", arguments="[" * 100_000), [("R-ARGS-01", "warning", "/1/arguments")]),
        (call("a", arguments={"a": 1}), [("R-ARGS-01", "error", "/1/arguments")]),
        ({"type": "function_call", "call_id": "a", "name": "ls"}, [("R-ARGS-01", "error", "/1")]),
        (call("a", name=""), [("R-NAME-01", "error", "/1/name")]),
        (call("a", id="fc_" + "x" * 61), []),
        (call("a", id="fc_" + "x" * 62), [("R-ID-01", "error", "/1/id")]),
        (call("a", id=None), []),
        (
            {"type": "tool_search_call", "call_id": "a", "execution": "client", "arguments": "{}"},
            [("R-ARGS-01", "error", "/1/arguments")],
        ),
        (
            {"type": "custom_tool_call", "call_id": "a", "name": "x y", "input": ""},
            [("R-NAME-01", "error", "/1/name"), ("R-PAIR-02", "warning", "/2/type")],
        ),
    ],
)
def test_each_fault_of_a_call_is_one_finding(item: Item, expected: list[tuple[str, str, str]]) -> None:
    """Arguments, name and id, each where it stands."""
    assert found([ASK, item, output("a")]) == expected


def test_names_of_declared_functions_are_judged() -> None:
    """Of functions, and of nothing else."""
    tools = [{"type": "function", "name": "fs.read"}, {"type": "web_search"}, {"type": "function", "name": "ls"}]

    assert found([ASK], settings={"tools": tools}) == [("R-NAME-01", "error", "")]
    assert found([ASK], settings={"tools": tools, "model": "grok-4.3"}) == [("R-NAME-01", "warning", "")]


def test_a_plain_string_is_the_place_of_its_fault() -> None:
    """An input that is one string has no index to point into."""
    long = parse({"input": "x" * 10_485_761}, dialect="openai-responses")

    assert [(one.rule, one.pointer) for one in check(long)] == [("R-SIZE-02", "/input")]
    assert check(parse({"input": "hi"}, dialect="openai-responses")) == ()


def test_an_item_made_by_hand_is_judged_and_ids_cannot_speak_to_a_terminal() -> None:
    """Hostile ids are spelled out in the message and given as they are beside it."""
    key = "a\n\x1b[2J\u202e" + "x" * 5000
    (one, *_) = check(parse([ASK, output(key)], dialect="openai-responses"))

    assert one.message.isprintable()
    assert len(one.message) < 200
    assert one.call_ids == (key,)


# -- repair ------------------------------------------------------------------------------------------------------------


def mended(items: list[Item], settings: Item | None = None, **options: Any) -> tuple[list[Item], list[str]]:
    """The repaired items, and the names of the fixes; nothing is left."""
    body: Any = items if settings is None else {**settings, "input": items}
    made = repair(parse(body, dialect="openai-responses"), **options)
    assert made.left == ()
    rendered = render(made.conversation)
    return (rendered if settings is None else rendered["input"]), [fix.name for fix in made.fixes]


@pytest.mark.parametrize("asked", [one for one, _ in OTHERS if one["type"] != "computer_call"], ids=lambda one: str(one["type"]))
def test_each_kind_of_call_is_answered_in_its_own_way(asked: Item) -> None:
    """The outcome is unknown, in words where there is room for words, and what was written is read again as it was."""
    items, names = mended([ASK, asked, NEXT])
    text = json.dumps(items[2])

    assert names == ["synthesize-result"]
    assert UNKNOWN_OUTCOME in text or asked["type"] == "tool_search_call"
    assert "completed" not in text
    assert render(parse(items, dialect="openai-responses")) == items


def test_a_screenshot_is_not_invented() -> None:
    """A call of the computer stays open, and the reason is told."""
    made = repair(parse([ASK, {"type": "computer_call", "call_id": "a", "action": {}}, NEXT], dialect="openai-responses"))

    assert [(one.violation.rule, one.reason) for one in made.left] == [("R-PAIR-01", "no safe fix applies here")]


def test_outputs_stay_where_they_stand() -> None:
    """Only calls without one are answered, behind their run and what stands there."""
    items = [ASK, call("a"), call("b"), call("c"), output("b"), NEXT, output("a")]

    assert mended(items)[0] == [*items[:5], output("c", UNKNOWN_OUTCOME), *items[5:]]


def test_a_route_through_chat_gets_its_batches() -> None:
    """What stood among the calls goes before them, outputs behind them."""
    items = [ASK, call("a"), SAID, call("b"), NEXT, output("b"), output("a")]

    assert mended(items, profile="responses-through-chat") == (
        [ASK, SAID, call("a"), call("b"), output("b"), output("a"), NEXT],
        ["move-words", "hoist-results"],
    )


@pytest.mark.parametrize(
    ("items", "kept", "names"),
    [
        ([ASK, output("x"), NEXT], [0, 2], ["drop-orphan"]),
        ([ASK, call("a"), output("a"), output("a", "again")], [0, 1, 2], ["dedup-result"]),
        ([ASK, call("a"), call("a"), output("a")], [0, 1, 3], ["drop-orphan"]),
        ([ASK, thought(), call("a"), output("a"), thought("rs_2")], [0, 1, 2, 3], ["drop-orphan"]),
        ([ASK, thought(), NEXT], [0, 2], ["drop-orphan"]),
        ([ASK, thought(), SAID, NEXT], [0, 2, 3], ["drop-orphan"]),
        ([ASK, {"role": "assistant", "content": None}, NEXT], [0, 2], ["drop-empty"]),
    ],
)
def test_what_answers_or_holds_nothing_goes(items: list[Item], kept: list[int], names: list[str]) -> None:
    """And all else stays as it was."""
    assert mended(items) == ([items[at] for at in kept], names)


def test_nothing_is_named_by_its_id_alone_where_nothing_is_stored() -> None:
    """The reference goes, and the output whose call it may have been."""
    items = [ASK, {"type": "item_reference", "id": "fc_1"}, output("a"), NEXT]

    assert mended(items, {"store": False}) == ([ASK, NEXT], ["drop-orphan", "drop-orphan"])


def test_ids_of_items_are_left_out_where_they_are_wrong() -> None:
    """Calls keep their call_id, messages and outputs their words."""
    items = [ASK, call("a", id="call_1"), output("a", id="x" * 70), {**SAID, "id": "msg_1"}, NEXT, {**SAID, "id": "msg_1"}]

    assert mended(items) == ([ASK, call("a"), output("a"), {**SAID, "id": "msg_1"}, NEXT, SAID], ["strip-id"] * 3)


def test_a_call_id_that_comes_again_is_renamed_with_its_output() -> None:
    """The second call gets an id of its own, and so does one that is too long."""
    items, names = mended([ASK, call("a"), output("a", "1"), NEXT, call("a"), output("a", "2"), call("b" * 65), output("b" * 65)])
    ids = [item["call_id"] for item in items if "call_id" in item]

    assert names == ["rename-id", "rename-id"]
    assert ids[:2] == ["a", "a"]
    assert ids[2] == ids[3] != "a"
    assert ids[4] == ids[5] != "b" * 65
    assert rules(items) == []


@pytest.mark.parametrize(
    ("item", "arguments"),
    [
        (call("a", arguments={"a": 1}), '{"a": 1}'),
        (call("a", arguments=[1]), '{"unparsed_arguments": [1]}'),
        ({"type": "function_call", "call_id": "a", "name": "ls"}, "{}"),
        ({"type": "tool_search_call", "call_id": "a", "execution": "client", "arguments": '{"q": 1}'}, {"q": 1}),
        ({"type": "tool_search_call", "call_id": "a", "execution": "client", "arguments": "{"}, {"unparsed_arguments": "{"}),
    ],
)
def test_arguments_are_written_as_their_kind_wants_them(item: Item, arguments: Any) -> None:
    """Text of an object, or the object."""
    items, names = mended([ASK, item, output("a")])

    assert (items[1]["arguments"], names) == (arguments, ["wrap-arguments"])


def test_reasoning_of_the_current_turn_stays_with_its_message() -> None:
    """Law L5: it is not taken from what followed it, and the reason is told."""
    made = repair(parse([ASK, thought(), SAID], dialect="openai-responses"))

    assert made.fixes == ()
    assert [one.violation.rule for one in made.left] == ["R-REAS-01"]
    assert "law L5" in made.left[0].reason


def test_pending_calls_are_answered_only_when_the_conversation_is_closed() -> None:
    """Law L4: a history may end at a frontier."""
    items = [ASK, thought(), call("a"), call("b"), output("b")]

    assert mended(items) == (items, [])
    assert mended(items, close=True)[0] == [*items, output("a", UNKNOWN_OUTCOME)]
