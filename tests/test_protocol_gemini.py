"""Gemini beyond the order of contents: how responses find their calls, what a model decides, signatures, parts, repairs."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactlib.dialects import parse, render
from compactlib.model import Conversation, Message, Text, wire
from compactlib.protocol.answering import UNKNOWN_OUTCOME
from compactlib.protocol.profiles import gemini_version
from compactlib.protocol.repair import repair
from compactlib.protocol.signatures import SENTINEL
from compactlib.protocol.validator import check
from compactlib.protocol.violation import in_order

HI = {"role": "user", "parts": [{"text": "hi"}]}
SIGNED = {"thoughtSignature": "c2ln"}
PICTURE = {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}}


def call(name: str = "ls", call_id: str = "", **beside: Any) -> dict[str, Any]:
    """A part with a call."""
    return {"functionCall": {**({"id": call_id} if call_id else {}), "name": name, "args": {}}, **beside}


def answer(name: str | None = "ls", call_id: str = "", **more: Any) -> dict[str, Any]:
    """A part with a response."""
    named = {} if name is None else {"name": name}
    return {"functionResponse": {**({"id": call_id} if call_id else {}), **named, "response": {"output": "ok"}, **more}}


def text(words: str = "words") -> dict[str, Any]:
    """A part with words."""
    return {"text": words}


def model(*parts: Any) -> dict[str, Any]:
    """A content of the model's."""
    return {"role": "model", "parts": list(parts)}


def user(*parts: Any) -> dict[str, Any]:
    """A content of the user's."""
    return {"role": "user", "parts": list(parts)}


def found(
    contents: Any, profile: str | None = None, *, original: Any = None, mode: Any = "request"
) -> list[tuple[str, str, str]]:
    """(rule, level, pointer) of all findings but info, unless they are about signatures."""
    parsed = parse(contents, dialect="gemini")
    return [
        (one.rule, one.level, one.pointer)
        for one in check(parsed, profile=profile, original=original, mode=mode)
        if one.level != "info"
    ]


def rules(contents: Any, profile: str | None = None, **facts: Any) -> list[str]:
    """The rules of all findings but info."""
    return [rule for rule, _level, _pointer in found(contents, profile, **facts)]


class TestPairing:
    @pytest.mark.parametrize(
        ("calls", "answers", "expected"),
        [
            ([call("a", "1"), call("a", "2")], [answer("a", "2"), answer("a", "1")], []),
            ([call("a"), call("b")], [answer("b"), answer("a")], []),
            ([call("a"), call("a")], [answer("a"), answer("a")], []),
            ([call("a", "1"), call("b", "2")], [answer("b"), answer("a")], []),
            ([call("a"), call("b")], [answer("b", "x1"), answer("a", "x2")], []),
            ([call("a"), call("b")], [answer("call_1"), answer("call_2")], []),
            ([call("a", "1"), call("b", "2")], [answer("b", "x"), answer("a", "1")], ["G-ID-01"]),
            ([call("a", "1")], [answer("a", "1"), answer("a", "1")], ["G-COUNT-02"]),
            ([call("a", "1"), call("b", "2")], [answer("a", "1"), answer("a", "1")], ["G-ID-01"]),
            ([call("a", "1"), call("a", "1")], [answer("a", "1"), answer("a", "1")], []),
            ([call("a"), call("b")], [text(), answer("b"), PICTURE, answer("a"), text()], []),
            ([call("a"), text(), call("b"), SIGNED], [answer("a"), answer("b")], []),
        ],
    )
    def test_a_response_finds_its_call(self, calls: list[Any], answers: list[Any], expected: list[str]) -> None:
        """By the id, else by the name, else by its place in the turn; and it may stand anywhere in it."""
        assert rules([HI, model(*calls), user(*answers)]) == expected

    def test_turns_are_what_is_counted(self) -> None:
        """However a turn is cut into contents, and whether its responses have a role of their own."""
        parts = [call("a"), call("b"), call("c")]
        whole = [HI, model(*parts), user(*(answer(name) for name in "abc"))]
        split = [HI, *(model(part) for part in parts), user(answer("a")), user(text()), user(answer("b"), answer("c"))]

        assert rules(whole) == rules(split) == []
        assert rules(split[:-1]) == ["G-COUNT-01"] * 2  # one for each content whose calls are open

    def test_names_that_differ_are_told_and_no_more(self) -> None:
        """A response that bears an id of the client's own as its name is worth an info."""
        (one,) = check(parse([HI, model(call("read")), user(answer("call_7"))], dialect="gemini"), profile="gemini-2.5")

        assert (one.rule, one.level) == ("G-NAME-01", "info")
        assert "'call_7'" in one.message

    @pytest.mark.parametrize("mode", ["request", "history"])
    def test_a_fault_says_where_the_calls_are(self, mode: str) -> None:
        """A partial answer is one finding, at the calls, with the ids or names that are left."""
        contents = [HI, model(call("a", "1"), call("b"), call("c", "3")), user(answer("b"), text("stop")), model(text()), HI]
        (one,) = check(parse({"contents": contents}, dialect="gemini"), mode=mode, profile="gemini-2.5")  # type: ignore[arg-type]  # one of the two

        assert (one.rule, one.pointer, one.call_ids) == ("G-COUNT-01", "/contents/1/parts/0", ("1", "3"))

    def test_calls_at_the_live_end_may_wait(self) -> None:
        """Law L4: until a person speaks, and then they are late only if some were answered."""
        calls = [HI, model(call("a"), call("b"))]

        for behind in ([], [user(answer("a"))], [user(answer("a")), user(text("Tool result image:"), PICTURE)]):
            assert rules([*calls, *behind], mode="history") == []
            assert rules([*calls, *behind]) == ["G-COUNT-01"]
        assert found([*calls, user(answer("a"), text("stop"))], mode="history") == [("G-COUNT-01", "error", "/1/parts/1")]
        assert found([*calls, user(text("stop"))], mode="history") == [("G-COUNT-01", "warning", "/1/parts/0")]
        assert rules([*calls, user(text("<system-reminder>3 todos</system-reminder>"))], mode="history") == []

    def test_ten_thousand_responses_to_nothing_are_found_one_by_one(self) -> None:
        """Many calls of one name, answered backwards by ids, and as many responses too many."""
        count = 10_000
        calls = model(*(call("a", str(place)) for place in range(count)))
        answers = [answer("b", f"x{place}") for place in reversed(range(2 * count))]
        rules_found = rules([HI, calls, user(*answers)])

        assert (rules_found.count("G-ID-01"), rules_found.count("G-COUNT-02")) == (count, count)


class TestModels:
    @pytest.mark.parametrize(
        ("name", "version"),
        [
            ("gemini-2.0-flash", (2, 0)),
            ("models/gemini-2.5-pro-preview-05-06", (2, 5)),
            ("google/gemini-3-pro-preview", (3, 0)),
            ("gemini-3.1-flash-lite", (3, 1)),
            ("gemini-1.5-pro-002", (1, 5)),
            ("gemini-live-2.5-flash", (2, 5)),
            ("gemini-flash-latest", None),
            ("gemini-pro", None),
            ("gemma-3-27b", None),
            ("", None),
        ],
    )
    def test_the_name_tells_the_version(self, name: str, version: tuple[int, int] | None) -> None:
        """What has no version is not guessed at."""
        assert gemini_version(name) == version

    @pytest.mark.parametrize(
        ("contents", "levels"),
        [
            # what it is about, and what 2.5, an unknown model, 3 and 3.6 say
            ([HI, model(call()), user(answer())], [[], [], ["G-SIG-01 error"], ["G-SIG-01 error"]]),
            (
                [HI, model(call()), user(text()), model(text()), HI],
                [["G-COUNT-01 warning"], ["G-COUNT-01 warning"], ["G-COUNT-01 error"], ["G-COUNT-01 error"]],
            ),
            ([HI, model(text())], [["G-END-01 warning"], ["G-END-01 warning"], ["G-END-01 error"], ["G-END-01 error"]]),
            (
                [HI, model(call(**SIGNED)), {"role": "function", "parts": [answer()]}],
                [[], ["G-ROLE-01 warning"], [], ["G-ROLE-01 error"]],
            ),
            (
                [HI, model(call(**SIGNED)), user(answer(parts=[PICTURE]))],
                [["G-IMG-01 error"], ["G-IMG-01 warning"], [], []],
            ),
            ([{"role": "system", "parts": [text()]}, HI], [["G-ROLE-01 error"]] * 3 + [["G-ROLE-01 warning"]]),
        ],
    )
    def test_the_model_decides(self, contents: list[Any], levels: list[list[str]]) -> None:
        """Named in the body; the two profiles that stand for a model say the same."""
        names = ["gemini-2.5-flash", None, "gemini-3-pro-preview", "models/gemini-3.6-flash"]
        for name, expected in zip(names, levels, strict=True):
            body = {"contents": contents} if name is None else {"model": name, "contents": contents}

            assert [f"{rule} {level}" for rule, level, _ in found(body)] == expected
        for profile, expected in (("gemini-2.5", levels[0]), ("gemini-3", levels[2])):
            assert [f"{rule} {level}" for rule, level, _ in found(contents, profile)] == expected

    def test_an_unknown_model_is_only_told_of_signatures(self) -> None:
        """Info, because up to 2.5 they are optional."""
        (one,) = check(parse([HI, model(call()), user(answer())], dialect="gemini"))

        assert (one.rule, one.level) == ("G-SIG-01", "info")


class TestSignatures:
    step = (model(call(**SIGNED)), user(answer()))

    @pytest.mark.parametrize(
        ("contents", "expected"),
        [
            ([model(call(**SIGNED), call()), user(answer(), answer())], []),
            ([model(call(), call(**SIGNED)), user(answer(), answer())], ["G-SIG-01"]),
            ([model(text(), call(thought_signature="c2ln")), user(answer())], []),
            ([model(call(thoughtSignature=SENTINEL)), user(answer())], []),
            ([model(call(thoughtSignature="")), user(answer())], ["G-SIG-01"]),
            ([model({**text(), **SIGNED}, call()), user(answer())], ["G-SIG-01"]),
            ([model(call(**SIGNED)), model(call()), user(answer(), answer())], []),
            ([*step, model(call()), user(answer())], ["G-BATCH-01"]),
            ([*step, model(text(), call()), user(answer())], ["G-SIG-01"]),
            ([*step, model(call()), user(answer()), model(call()), user(answer())], ["G-BATCH-01"] * 2),
            ([model(call()), user(answer()), model(text()), HI, *step], []),
            ([model(call()), user(answer(), text("and now?"))], []),
            ([model(call()), user(answer()), user(PICTURE)], ["G-SIG-01"]),
            ([model(call()), user(answer()), model(text()), user(PICTURE)], []),
            ([model(call()), user(answer()), user(text(""))], ["G-SIG-01", "G-EMPTY-03"]),
        ],
    )
    def test_the_first_call_of_each_step_of_the_current_turn_is_signed(self, contents: list[Any], expected: list[str]) -> None:
        """A turn begins with the last text of the user's; media alone begin one only where no responses stand."""
        assert rules([HI, *contents], "gemini-3") == expected

    def test_a_turn_that_is_over_is_not_looked_at_in_a_history(self) -> None:
        """It will be closed by whatever the user says; a turn that is not over still has to go on."""
        loop = [HI, model(call()), user(answer())]

        assert rules(loop, "gemini-3", mode="history") == ["G-SIG-01"]
        assert rules([*loop, model(text())], "gemini-3", mode="history") == []

    @pytest.mark.parametrize(
        ("mine", "is_altered"),
        [
            ([text("a"), call(**SIGNED)], False),
            ([text("a"), call(thoughtSignature="b3RoZXI=")], True),
            ([{**text("a"), **SIGNED}, call()], True),
            ([text("a"), call("rm", **SIGNED)], True),
            ([text("a"), call()], False),
            ([text("a"), call(thoughtSignature=SENTINEL)], False),
            ([call(**SIGNED), call(**SIGNED)], True),
        ],
    )
    def test_a_signature_stays_on_its_part(self, mine: list[Any], *, is_altered: bool) -> None:
        """As far as the caller says what the model returned, and while the turn lasts."""
        contents = [HI, model(*mine), user(*(answer() for part in mine if "functionCall" in part))]
        original = {1: [text("a"), call(**SIGNED)]}

        assert ("G-SIG-02" in rules(contents, "gemini-3", original=original)) == is_altered
        assert "G-SIG-02" not in rules([*contents, model(text()), HI], "gemini-3", original=original)

    def test_thoughts_and_lone_signatures_are_compared_too(self) -> None:
        """Each kind of part that can be signed."""
        parts = [{**text("hm"), "thought": True, **SIGNED}, SIGNED, {"executableCode": {"code": "1"}, **SIGNED}]

        assert rules([HI, model(*parts), HI, model(*parts), user(PICTURE)], original={3: parts}) == []
        assert rules([HI, model(*parts[1:]), user(PICTURE)], original={1: [{**text("hm"), **SIGNED}]}) == []  # closed
        altered = [{**parts[0], "text": "hmm"}]
        assert rules([HI, model(*altered)], "gemini-2.5", original={1: parts}) == ["G-END-01", "G-SIG-02"]


class TestParts:
    @pytest.mark.parametrize(
        ("part", "expected"),
        [
            ({}, [("G-EMPTY-02", "error", "/1/parts/0")]),
            ({"text": None}, [("G-EMPTY-02", "error", "/1/parts/0")]),
            ({"videoMetadata": {"fps": 1}}, [("G-EMPTY-02", "error", "/1/parts/0")]),
            ({"newThing": 1}, [("G-EMPTY-02", "warning", "/1/parts/0")]),
            ({"newThing": None}, [("G-EMPTY-02", "error", "/1/parts/0")]),
            ({"thought": True}, [("G-EMPTY-02", "error", "/1/parts/0")]),
            ({"thought": True, **SIGNED}, []),
            (SIGNED, []),
            (text(""), [("G-EMPTY-03", "warning", "/1/parts/0/text")]),
            ({**text(""), **SIGNED}, []),
            ({**text(), "inlineData": {}}, [("G-PART-01", "error", "/1/parts/0")]),
            ({**text(), "inlineData": None}, []),
            ({**PICTURE, "fileData": {}}, [("G-PART-01", "error", "/1/parts/0")]),
            ({**PICTURE, "videoMetadata": {}}, []),
            ({"executableCode": {"code": "1"}, "codeExecutionResult": {}}, [("G-PART-01", "error", "/1/parts/0")]),
        ],
    )
    def test_a_part_has_one_kind_of_data(self, part: Any, expected: list[Any]) -> None:
        """Neither none nor two; what is null is not there."""
        assert found([HI, model(part), HI]) == expected

    @pytest.mark.parametrize(
        ("first", "second", "expected"),
        [
            ({"name": "ls", "args": None}, {"name": "ls", "response": {}}, []),
            (
                {"name": "ls", "args": "{}"},
                {"name": "ls", "response": {"a": [1]}},
                [("G-ARGS-01", "/1/parts/0/functionCall/args")],
            ),
            ({"name": "ls"}, {"name": "ls", "response": "ok"}, [("G-RESP-02", "/2/parts/0/functionResponse/response")]),
            ({"name": "ls"}, {"name": "ls", "response": [{"a": 1}]}, [("G-RESP-02", "/2/parts/0/functionResponse/response")]),
            ({"name": "ls"}, {"name": "", "response": {}}, [("G-NAME-01", "/2/parts/0/functionResponse")]),
            ({"name": "ls", "id": "a"}, {"id": "a", "name": None}, [("G-NAME-01", "/2/parts/0/functionResponse")]),
            ({"name": "ls", "id": "a"}, {"id": "a"}, [("G-NAME-01", "/2/parts/0/functionResponse")]),
            ({"name": "ls", "id": None}, {"id": "", "name": "ls"}, []),
        ],
    )
    def test_calls_and_responses_hold_objects_and_responses_names(self, first: Any, second: Any, expected: list[Any]) -> None:
        """In either spelling of the keys."""
        contents = [HI, model({"functionCall": first}), user({"functionResponse": second})]

        assert [(rule, pointer) for rule, _level, pointer in found(contents)] == expected
        snake = json.loads(
            json.dumps(contents).replace("functionCall", "function_call").replace("functionResponse", "function_response")
        )
        assert [rule for rule, _level, _pointer in found(snake)] == [rule for rule, _pointer in expected]

    def test_a_lone_part_has_the_pointer_of_the_list(self) -> None:
        """``parts`` may be one object, and then the place is where it stands."""
        contents = [HI, {"role": "model", "parts": call()}, {"role": "user", "parts": {"functionResponse": {"response": "ok"}}}]

        assert [pointer for _rule, _level, pointer in found(contents, "gemini-3")] == [
            "/1/parts",
            "/2/parts/functionResponse",
            "/2/parts/functionResponse/response",
        ]
        assert found(contents[:2], "gemini-2.5") == [("G-COUNT-01", "error", "/1/parts")]

    def test_a_conversation_made_by_hand_is_judged(self) -> None:
        """Model values need not have come from a wire."""
        shape = wire("user", ("role", "content"))
        messages = (Message("user", "hi", shape), Message("model", (), wire("model")), Message("user", (Text(""),), shape))

        assert [one.rule for one in check(Conversation("gemini", messages))] == ["G-EMPTY-01", "G-EMPTY-03"]


# -- whatever is read is judged ----------------------------------------------------------------------------------------

NAMES = st.sampled_from(["a", "b", "", "c1", "c2"])
INNER = st.one_of(st.none(), st.just({}), st.just({"output": "x"}), st.just("x"), st.just([1]), st.just({"a": {"b": None}}))
BESIDE = st.fixed_dictionaries(
    {},
    optional={
        "thoughtSignature": st.sampled_from(["S", "", SENTINEL]),
        "thought": st.booleans(),
        "x": INNER,
        "inlineData": INNER,
    },
)
PARTS = st.one_of(
    st.tuples(st.sampled_from([text(), text(""), PICTURE, {}, {"executableCode": {"code": "1"}}]), BESIDE),
    st.tuples(
        st.fixed_dictionaries({}, optional={"id": NAMES, "name": NAMES, "args": INNER}).map(
            lambda inner: {"functionCall": inner}
        ),
        BESIDE,
    ),
    st.tuples(
        st.fixed_dictionaries(
            {}, optional={"id": NAMES, "name": NAMES, "response": INNER, "parts": st.just([PICTURE, {"y": 1}])}
        ).map(lambda inner: {"functionResponse": inner}),
        BESIDE,
    ),
).map(lambda pair: {**pair[0], **pair[1]})
CONTENTS = st.lists(
    st.fixed_dictionaries(
        {},
        optional={"role": st.sampled_from(["user", "model", "function", "robot"]), "parts": st.lists(PARTS, max_size=4) | PARTS},
    ),
    max_size=6,
)
PROFILES = st.sampled_from(["gemini", "gemini-2.5", "gemini-3", "gemini-strict", "gemini-vertex"])


def resolve(body: Any, pointer: str) -> Any:
    """What a JSON pointer leads to."""
    for step in pointer.split("/")[1:]:
        body = body[int(step)] if isinstance(body, list) else body[step]
    return body


def readable(contents: Any) -> Conversation | None:
    """The conversation, if it has the right shape."""
    try:
        return parse(contents, dialect="gemini")
    except ValueError:
        return None


@given(CONTENTS, PROFILES, st.sampled_from(["request", "history"]))
def test_every_finding_has_its_place(contents: Any, profile: str, mode: Any) -> None:
    """Whatever is read is judged, in order, and each pointer leads somewhere."""
    conversation = readable(contents)
    if conversation is None:
        return
    every = check(conversation, profile=profile, mode=mode, original={1: [call(**SIGNED)]})

    assert every == in_order(every)
    for one in every:
        assert one.message.isprintable()
        if one.index is not None:
            resolve(contents, one.pointer)


@given(CONTENTS, PROFILES, st.booleans())
def test_repair_leaves_what_it_names_and_nothing_else(contents: Any, profile: str, close: bool) -> None:
    """L1 and L9: valid or named, repairing twice is repairing once, and what is made up says that nothing is known."""
    conversation = readable(contents)
    if conversation is None:
        return
    made = repair(conversation, close=close, profile=profile)
    mode: Any = "request" if close else "history"
    errors = [one for one in check(made.conversation, profile=profile, mode=mode) if one.level == "error"]

    assert [one.violation for one in made.left] == errors
    assert repair(made.conversation, close=close, profile=profile).conversation is made.conversation
    assert (made.conversation is conversation) == (not made.fixes)
    said = {result.text for message in conversation.messages for result in message.results}
    after = {result.text for message in made.conversation.messages for result in message.results}
    assert after - said <= {UNKNOWN_OUTCOME, "(see attached image)"}
    again = parse(render(made.conversation), dialect="gemini")
    assert [one for one in check(again, profile=profile, mode=mode) if one.level == "error"] == errors


class TestRepair:
    @pytest.mark.parametrize(
        ("contents", "expected", "names"),
        [
            (
                [HI, model(call("a", "1"), call("b")), user(answer("a", "1"), text("go on"))],
                [
                    HI,
                    model(call("a", "1"), call("b")),
                    user(answer("a", "1"), answer("b", response={"error": UNKNOWN_OUTCOME}), text("go on")),
                ],
                ["synthesize-result"],
            ),
            (
                [HI, model(call("a", "1"))],
                [HI, model(call("a", "1")), user(answer("a", "1", response={"error": UNKNOWN_OUTCOME}))],
                ["synthesize-result"],
            ),
            ([user(answer(), text("hi"))], [HI], ["drop-orphan"]),
            ([HI, model(call()), user(answer(), answer("b"))], [HI, model(call()), user(answer())], ["dedup-result"]),
            (
                [HI, model(call("b")), user(text()), model(text()), user(answer("b"), text("so"))],
                [HI, model(call("b")), user(answer("b"), text()), model(text()), user(text("so"))],
                ["hoist-results"],
            ),
            ([model(call()), user(answer())], [user(text("Continue.")), model(call()), user(answer())], ["insert-bridge"]),
            ([HI, model(), user(text("so"))], [HI, user(text("so"))], ["drop-empty"]),
            ([HI, model({}, text()), HI], [HI, model(text()), HI], ["drop-empty"]),
            (
                [HI, model({"functionCall": {"name": "ls", "args": '{"a": 1}'}}), user(answer())],
                [HI, model({"functionCall": {"name": "ls", "args": {"a": 1}}}), user(answer())],
                ["wrap-arguments"],
            ),
            (
                [HI, model(call()), user(answer(response="ok"))],
                [HI, model(call()), user(answer(response={"output": "ok"}))],
                ["wrap-arguments"],
            ),
            (
                [HI, model(call("ls", "c")), user(answer(None, "c"))],
                [HI, model(call("ls", "c")), user({"functionResponse": {"name": "ls", "id": "c", "response": {"output": "ok"}}})],
                ["rename-id"],
            ),
            ([HI, model(call()), user(answer(""))], [HI, model(call()), user(answer())], ["rename-id"]),
        ],
    )
    def test_each_fault_is_mended(self, contents: Any, expected: Any, names: list[str]) -> None:
        """The smallest conversation with the fault, and what is sent instead."""
        made = repair(parse(contents, dialect="gemini"), close=True)

        assert render(made.conversation) == expected
        assert ([fix.name for fix in made.fixes], made.left) == (names, ())

    def test_a_lost_signature_is_replaced_by_the_sentinel(self) -> None:
        """Beside the call, in its spelling; a message that holds any signature is sealed and stays as it is."""
        contents = [HI, model(text(), call()), user(answer()), model({"function_call": {"name": "b"}}), user(answer("b"))]
        made = repair(parse(contents, dialect="gemini"), profile="gemini-3")
        calls = [part for content in render(made.conversation) for part in content["parts"] if "name" in str(part)]

        assert [fix.name for fix in made.fixes] == ["sentinel-seal"] * 2
        assert calls[0] == call(thoughtSignature=SENTINEL)
        assert calls[2] == {"function_call": {"name": "b"}, "thought_signature": SENTINEL}
        sealed = repair(parse([HI, model({**text(), **SIGNED}, call()), user(answer())], dialect="gemini"), profile="gemini-3")
        assert (sealed.fixes, [one.violation.rule for one in sealed.left]) == ((), ["G-SIG-01"])

    def test_media_leave_a_response_that_may_not_hold_them(self) -> None:
        """They stand behind the responses, in the same content."""
        contents = [HI, model(call()), user(answer(parts=[PICTURE]), text("look"))]
        made = repair(parse(contents, dialect="gemini"), profile="gemini-2.5")

        assert render(made.conversation)[2] == user(answer(), PICTURE, text("look"))

    def test_silence_is_left_alone_where_another_fault_is_mended(self) -> None:
        """A batch without any response is a warning, and warnings are not repaired."""
        silent = [HI, model(call("a")), user(text("stop")), model(text())]
        made = repair(parse([*silent, user(answer("b"), text())], dialect="gemini"))

        assert render(made.conversation) == [*silent, user(text())]


# -- what the provider did ---------------------------------------------------------------------------------------------


def test_what_a_known_model_accepted_is_no_error(shared: Path) -> None:
    """Where a recording's name tells the model, its requests are in order for that model's profile too."""
    judged, wrong = {"gemini-2.5": 0, "gemini-3": 0}, []
    for name in ("gemini", "gemini-more"):
        for line in (shared / "corpus" / "recorded" / f"{name}.jsonl").read_text("utf-8").splitlines():
            entry = json.loads(line)
            told = re.search(r"(?:gemini|google)[-_]?([23])(?:[._-]\d)?(?!\d)", entry.get("path") or entry.get("cassette") or "")
            if told is None or entry["status"] != 200:
                continue
            profile = "gemini-3" if told[1] == "3" else "gemini-2.5"
            judged[profile] += 1
            errors = [one for one in check(parse(entry["body"], dialect="gemini"), profile=profile) if one.level == "error"]
            wrong += [(entry.get("path"), one) for one in errors]

    assert wrong == []
    assert judged["gemini-2.5"] >= 70
    assert judged["gemini-3"] >= 40


def test_the_refusal_of_a_role_is_explained(shared: Path) -> None:
    """The one recorded refusal that concerns a history is an error of the rule that stands for its words."""
    entries = [
        json.loads(line)
        for name in ("gemini", "gemini-more")
        for line in (shared / "corpus" / "recorded" / f"{name}.jsonl").read_text("utf-8").splitlines()
    ]
    refused = [entry for entry in entries if entry["status"] != 200 and "valid role" in json.dumps(entry["error"])]

    assert len(refused) == 1
    assert found(refused[0]["body"]) == [("G-ROLE-01", "error", "/contents/0/role")]
