"""What Bedrock's reader decides beyond the examples of its chapter: places, families, server tools, and repair."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactlib.dialects import parse, render
from compactlib.errors import WireError
from compactlib.protocol.profiles import BEDROCK_FAMILIES, bedrock_family
from compactlib.protocol.repair import repair
from compactlib.protocol.rules import RULES
from compactlib.protocol.validator import Validator, Violation, check
from compactlib.protocol.violation import in_order

from .property.test_repair_laws import broken_laws
from .strategies import build, histories
from .test_dialect_bedrock import BLOCKS, NOISE

Block = dict[str, Any]
Messages = list[dict[str, Any]]

CLAUDE = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
NOVA = "us.amazon.nova-pro-v1:0"
LLAMA = "us.meta.llama3-3-70b-instruct-v1:0"
TOOLS = {"tools": [{"toolSpec": {"name": "read", "inputSchema": {"json": {"type": "object"}}}}]}
PDF: Block = {"document": {"format": "pdf", "name": "a", "source": {"bytes": "AA=="}}}
VIDEO: Block = {"video": {"format": "mp4", "source": {"bytes": "AA=="}}}
IMAGE: Block = {"image": {"format": "png", "source": {"bytes": "AA=="}}}
CACHE: Block = {"cachePoint": {"type": "default"}}
THOUGHT: Block = {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "S"}}}


def use(key: str, **more: Any) -> Block:
    return {"toolUse": {"toolUseId": key, "name": "read", "input": {}, **more}}


def result(key: str, *content: Block, **more: Any) -> Block:
    return {"toolResult": {"toolUseId": key, "content": list(content) or [{"text": "ok"}], **more}}


def user(*blocks: Block | str) -> Block:
    return {"role": "user", "content": [{"text": one} if isinstance(one, str) else one for one in blocks]}


def said(*blocks: Block | str) -> Block:
    return {**user(*blocks), "role": "assistant"}


def judged(messages: Any, profile: str = "bedrock", *, model: str = "", mode: Any = "request") -> tuple[Violation, ...]:
    body = {"modelId": model, "messages": messages, "toolConfig": TOOLS} if model else messages
    return check(parse(body, dialect="bedrock"), profile=profile, mode=mode)


def found(messages: Any, profile: str = "bedrock", *, model: str = "", mode: Any = "request") -> list[tuple[str, str]]:
    """(rule, pointer in the messages) of each finding that is more than worth knowing."""
    start = len("/messages") if model else 0
    return [(one.rule, one.pointer[start:]) for one in judged(messages, profile, model=model, mode=mode) if one.level != "info"]


HI = user("hi")


# -- pairs -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        pytest.param([HI, said(use("a"), use("b")), user(result("b"), result("a"), "go")], [], id="any order, words behind"),
        pytest.param([HI, said(use("a")), user("no")], [("B-PAIR-01", "/1/content/0/toolUse")], id="no result"),
        pytest.param(
            [HI, said("x", use("a")), said("on"), HI],
            [("B-ORDER-02", "/2/content/0"), ("B-PAIR-01", "/1/content/1/toolUse")],
            id="talked past",
        ),
        pytest.param(
            [HI, said(use("a"), use("b")), user(result("a")), user(result("b"))], [("B-PAIR-02", "/3/content/0")], id="split"
        ),
        pytest.param(
            [HI, said(use("a")), user("wait"), user(result("a"))], [("B-PAIR-02", "/3/content/0")], id="a message between"
        ),
        pytest.param([HI, said(use("a")), user("wait", result("a"))], [("B-ORDER-01", "/2/content/1")], id="words before"),
        pytest.param([HI, said(use("a")), user(CACHE, result("a"))], [], id="a cache point is no content"),
        pytest.param([user(result("a"))], [("B-PAIR-03", "/0/content/0")], id="orphan"),
        pytest.param([HI, said(use("a")), user(result("a"), result("a"))], [("B-PAIR-03", "/2/content/1")], id="twice"),
        pytest.param(
            [HI, said(use("a"), use("a")), user(result("a"), result("a"))],
            [("B-ID-01", "/1/content/1/toolUse/toolUseId")],
            id="twins",
        ),
        pytest.param([HI, said(use("a")), user(result("a")), said(use("a")), user(result("a"))], [], id="an id of another step"),
        pytest.param([user(use("a")), user(result("a"))], [("B-ROLE-01", "/0/content/0")], id="a call of the user's"),
        pytest.param([HI, said(use("a"), result("a")), HI], [("B-ROLE-01", "/1/content/1")], id="a result of the model's"),
    ],
)
def test_each_fault_of_pairing_is_found_once_where_it_stands(messages: Messages, expected: list[tuple[str, str]]) -> None:
    """The rule and the place."""
    assert sorted(found(messages)) == sorted(expected)


def server(key: str) -> tuple[Block, Block]:
    return use(key, type="server_tool_use"), result(key, {"json": {"out": "4"}}, type="nova_code_interpreter_result")


def test_pairs_of_server_tools_stand_inside_the_models_message() -> None:
    """As they were recorded, beside a client's call too."""
    call, answer = server("s")

    assert found([HI, said(call, answer, use("a")), user(result("a"), "go")]) == []
    assert found([HI, said(call), said(answer, "It is 4."), HI]) == []
    assert [(one.rule, one.level) for one in judged([HI, said(call, "It is 4."), HI])] == [("B-PAIR-01", "warning")]
    assert found([HI, said(answer), HI]) == [("B-PAIR-03", "/1/content/0")]


def test_only_a_body_can_lack_its_tools() -> None:
    """A bare list says nothing about tools; where a body lacks them, the first block that needs them is named."""
    messages = [HI, said("x", use("a")), user(result("a"))]

    assert found(messages) == []
    assert found({"messages": messages}) == [("B-TOOLCFG-01", "/messages/1/content/1")]
    assert found({"messages": messages, "toolConfig": TOOLS}) == []


# -- families ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("anthropic.claude-v2", "anthropic"),
        (CLAUDE, "anthropic"),
        ("global.anthropic.claude-opus-4-5-20251101-v1:0", "anthropic"),
        ("arn:aws:bedrock:us-east-1::foundation-model/amazon.titan-text-express-v1", "amazon"),
        ("bedrock/us.deepseek.r1-v1:0", "deepseek"),
        ("moonshotai.kimi-k2.5", "moonshotai"),
        ("openai.gpt-oss-120b-1:0", "openai"),
        ("qwen.qwen3-32b-v1:0", "qwen"),
        ("arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc", None),
        ("claude-sonnet-4-5", None),
        ("", None),
    ],
)
def test_the_family_is_read_from_every_kind_of_name(model: str, family: str | None) -> None:
    """Ids, profiles of a region, ARNs; what names no maker is not guessed at."""
    assert bedrock_family(model) == family
    assert family is None or family in BEDROCK_FAMILIES


@pytest.mark.parametrize(
    ("model", "words", "calls"),
    [
        (CLAUDE, "warning", "warning"),
        ("qwen.qwen3-32b-v1:0", "warning", "warning"),
        (NOVA, "error", "error"),
        ("", "warning", "error"),
    ],
)
def test_who_may_speak_first_depends_on_the_family(model: str, words: str, calls: str) -> None:
    """A body without a name was accepted once, when the model began with words."""
    for first, level in ((said("hello"), words), (said(use("a")), calls)):
        second = user(result("a")) if first["content"][0].get("toolUse") else HI
        assert [(one.rule, one.level) for one in judged([first, second], model=model)] == [("B-START-01", level)]


def test_the_model_is_looked_for_in_the_body_then_in_the_profile() -> None:
    """As AWS's libraries pass it, or as others do."""
    messages = [said("hello"), HI]

    def level(body: Any, profile: str = "bedrock") -> str:
        return judged(body, profile)[0].level

    assert level({"modelId": NOVA, "messages": messages}) == "error"
    assert level({"model": NOVA, "messages": messages}) == "error"
    assert level(messages, "bedrock-amazon") == "error"
    assert level({"modelId": CLAUDE, "messages": messages}, "bedrock-amazon") == "warning"


def test_results_stand_alone_for_some_families() -> None:
    """Also over neighbours, which are one turn; an assistant message between is what they want."""
    step = [HI, said(use("a"))]
    beside = [*step, user(result("a"), "go")]
    neighbours = [*step, user(result("a")), user("go")]

    assert found(beside, model=NOVA) == found(beside) == []
    assert found(beside, model=LLAMA) == [("B-COLOC-01", "/2/content")]
    assert found(neighbours, model=LLAMA) == [("B-COLOC-01", "/3/content")]
    assert found([*step, user(result("a")), said("."), user("go")], model=LLAMA) == []
    assert found(beside, "bedrock-results-alone") == found(beside, "bedrock-meta") == [("B-COLOC-01", "/2/content")]


def test_signatures_and_files_in_s3_go_to_those_who_take_them() -> None:
    """Where the family is not known, a signature is let pass and a file is a warning."""
    thoughtful = [HI, said(THOUGHT, "x"), HI]
    stored = [user("see", {"image": {"format": "png", "source": {"s3Location": {"uri": "s3://b/a.png"}}}})]
    place = "/1/content/0/reasoningContent/reasoningText/signature"

    assert found(thoughtful) == found(thoughtful, model=CLAUDE) == []
    assert found(thoughtful, model=NOVA) == [("B-SIG-01", place)]
    assert [[one.level for one in judged(stored, model=model)] for model in (NOVA, CLAUDE, "")] == [[], ["error"], ["warning"]]
    assert found(stored) == [("B-SRC-01", "/0/content/1/image/source")]


def test_an_order_that_anthropic_refuses_is_an_error_for_its_models() -> None:
    """For all others it is a warning."""
    before = [HI, said(use("a")), user("wait", result("a"))]
    behind = [HI, said(use("a"), "so"), user(result("a"))]

    for messages, rule in ((before, "B-ORDER-01"), (behind, "B-ORDER-02")):
        levels = [(one.rule, one.level) for model in (CLAUDE, NOVA) for one in judged(messages, model=model)]
        assert levels == [(rule, "error"), (rule, "warning")]


def test_who_may_end_depends_on_tools_and_model() -> None:
    """With tools nobody goes on with the model's words; without, older Claudes do."""
    messages = [HI, said("because")]

    def level(body: Any) -> list[str]:
        return [one.level for one in judged(body)]

    assert level({"messages": messages, "toolConfig": TOOLS}) == ["error"]
    assert level({"messages": messages, "modelId": CLAUDE}) == []
    assert level({"messages": messages, "modelId": "anthropic.claude-opus-4-6-v1"}) == ["error"]
    assert level(messages) == level({"messages": messages, "modelId": NOVA}) == ["info"]
    assert judged(messages, mode="history") == ()


# -- contents ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        pytest.param([user("hi", " ")], [("B-BLANK-01", "/0/content/1/text")], id="blank"),
        pytest.param([user("\u2003")], [("B-BLANK-01", "/0/content/0/text")], id="blank in Unicode"),
        pytest.param([user("ñ")], [], id="not ASCII"),
        pytest.param([user()], [("B-EMPTY-01", "/0/content")], id="nothing"),
        pytest.param([HI, said(), HI], [("B-EMPTY-01", "/1/content")], id="nothing of the model's"),
        pytest.param([user(PDF)], [("B-DOC-01", "/0/content/0")], id="a document alone"),
        pytest.param([user(PDF, PDF, "read")], [], id="documents and a text"),
        pytest.param([HI, said(use("a")), user(result("a", PDF))], [], id="a document in a result"),
        pytest.param(
            [HI, said(use("a")), user(result("a"), PDF)], [("B-DOC-01", "/2/content/1")], id="a document beside a result"
        ),
        pytest.param(
            [HI, said(use("a")), user(result("a", VIDEO))], [("B-MEDIA-01", "/2/content/0/toolResult/content/0")], id="video"
        ),
        pytest.param([HI, said(use("a")), user(result("a", {"searchResult": {}}))], [], id="search results"),
        pytest.param(
            [HI, said(use("a")), user(result("a", use("b")))], [("B-MEDIA-01", "/2/content/0/toolResult/content/0")], id="nested"
        ),
        pytest.param(
            [HI, said(use("a")), user(result("a", {"json": [1]}))],
            [("B-JSON-01", "/2/content/0/toolResult/content/0/json")],
            id="json",
        ),
        pytest.param(
            [HI, said(use("a", input=[])), user(result("a"))], [("B-INPUT-01", "/1/content/0/toolUse/input")], id="input"
        ),
        pytest.param(
            [HI, said(use("a", name="x.y")), user(result("a"))], [("B-NAME-01", "/1/content/0/toolUse/name")], id="name"
        ),
        pytest.param(
            [HI, said(use("a" * 65)), user(result("a" * 65))], [("B-ID-02", "/1/content/0/toolUse/toolUseId")], id="long id"
        ),
        pytest.param([HI, said(use("")), user(result(""))], [("B-ID-02", "/1/content/0/toolUse/toolUseId")], id="empty id"),
        pytest.param([{"role": "tool", "content": [{"text": "x"}]}], [("B-ROLE-02", "/0/role")], id="role"),
    ],
)
def test_what_a_message_may_contain(messages: Messages, expected: list[tuple[str, str]]) -> None:
    """The rule and the place."""
    assert found(messages) == expected


def test_a_blank_text_is_let_pass_where_it_was_accepted() -> None:
    """Beside a cache point it is a warning, inside a result worth knowing."""
    levels = [one.level for one in judged([user("hi", "", CACHE)])]

    assert levels == ["warning"]
    assert [one.level for one in judged([HI, said(use("a")), user(result("a", {"text": " "}))])] == ["info"]


def test_an_error_says_what_it_is() -> None:
    """An empty list is legal where nothing failed."""
    empty = {"toolResult": {"toolUseId": "a", "content": []}}
    failed = {"toolResult": {"toolUseId": "a", "content": [], "status": "error"}}

    assert found([HI, said(use("a")), user(empty)]) == []
    assert found([HI, said(use("a")), user(failed)]) == [("B-EMPTY-02", "/2/content/0/toolResult/content")]


def test_no_message_is_no_conversation() -> None:
    """The service's own words are that a user message has to begin."""
    assert found([]) == [("B-START-01", "")]


def test_what_may_come_is_said_in_words() -> None:
    """While a call is open."""
    judge = Validator("bedrock")
    for message in parse([HI, said(use("a"))], dialect="bedrock").messages:
        judge.feed(message)

    assert judge.expected == "the results of the open calls, before anything else: 'a'"


def test_recorded_refusals_of_histories_are_explained(shared: Path) -> None:
    """By the rule whose words they are; the model stands in the name of the recording."""
    expected = {"s3Uri": "B-SRC-01", "video content block": "B-MEDIA-01", "extraneous key [toolResult]": "B-MEDIA-01"}
    explained = []
    for line in (shared / "corpus" / "recorded" / "bedrock.jsonl").read_text("utf-8").splitlines():
        entry = json.loads(line)
        rule = next((rule for words, rule in expected.items() if words in json.dumps(entry.get("error"))), None)
        if entry["status"] != 200 and rule:
            model = CLAUDE if "claude" in entry["cassette"] else NOVA
            body = parse({"modelId": model, **entry["body"]}, dialect="bedrock")
            explained.append(rule)

            assert {one.rule for one in check(body) if one.level == "error"} == {rule}
    assert sorted(explained) == ["B-MEDIA-01", "B-MEDIA-01", "B-SRC-01"]


# -- repair ------------------------------------------------------------------------------------------------------------


def repaired(messages: Any, profile: str = "bedrock") -> tuple[list[str], Messages]:
    made = repair(parse(messages, dialect="bedrock"), close=True, profile=profile)

    assert made.left == ()
    return [fix.name for fix in made.fixes], render(made.conversation)


def test_split_results_are_brought_into_one_message() -> None:
    """What stood in a message of its own stands beside the first, and the empty message goes."""
    fixes, messages = repaired([HI, said(use("a"), use("b")), user(result("a")), user(result("b"), "go")])

    assert fixes == ["hoist-results"]
    assert messages[2] == user(result("a"), result("b"))
    assert messages[3] == user("go")


def test_a_synthetic_result_has_bedrocks_own_shape() -> None:
    """It says that it is an error and that nothing is known."""
    fixes, messages = repaired([HI, said(use("a")), user("go on")])
    made = messages[2]["content"][0]["toolResult"]

    assert fixes == ["synthesize-result"]
    assert list(made) == ["toolUseId", "content", "status"]
    assert (made["toolUseId"], made["status"]) == ("a", "error")
    assert "unknown" in made["content"][0]["text"]


def test_results_and_words_are_parted_where_they_must_be() -> None:
    """By the shortest word of the model's."""
    fixes, messages = repaired([HI, said(use("a")), user(result("a"), "go")], "bedrock-meta")

    assert fixes == ["insert-bridge"]
    assert messages[2:] == [user(result("a")), said("."), user("go")]


def test_contents_are_mended_in_place() -> None:
    """Blank texts go, documents get a word, odd JSON is spelled out, arguments are wrapped, video leaves the result."""
    bad = [HI, said(" ", use("a", input="{")), user(result("a", {"json": [1]}, VIDEO), PDF)]
    fixes, messages = repaired(bad)

    assert sorted(fixes) == ["drop-empty", "move-image", "placeholder-text", "placeholder-text", "wrap-arguments"]
    assert messages[1] == said(use("a", input={"unparsed_arguments": "{"}))
    assert messages[2]["content"] == [result("a", {"text": "[1]"}), VIDEO, {"text": "(see attached document)"}, PDF]


def test_signatures_leave_closed_turns_of_other_families() -> None:
    """The words of the reasoning stay."""
    body = {"modelId": NOVA, "messages": [HI, said(THOUGHT, "x"), HI]}
    made = repair(parse(body, dialect="bedrock"), close=True)

    assert [fix.name for fix in made.fixes] == ["strip-seal"]
    assert render(made.conversation)["messages"][1]["content"][0] == {"reasoningContent": {"reasoningText": {"text": "hm"}}}


def test_nothing_is_declared_by_a_repair() -> None:
    """L26: what is missing from the request is named."""
    body = {"messages": [HI, said(use("a")), user(result("a"))]}
    made = repair(parse(body, dialect="bedrock"), close=True)

    assert [one.violation.rule for one in made.left] == ["B-TOOLCFG-01"]
    assert made.fixes == ()


# -- many faults at once -----------------------------------------------------------------------------------------------


@st.composite
def wounded(draw: st.DrawFn) -> Messages:
    """The messages of a legal conversation, with one to five wounds."""
    messages = build(draw(histories()), "bedrock", thinking=draw(st.booleans()))
    for _ in range(draw(st.integers(1, 5))):
        at = draw(st.integers(0, len(messages) - 1)) if messages else 0
        kind = draw(st.sampled_from(["lose", "double", "move", "insert", "empty", "rename", "shuffle", "spoil", "part"]))
        if kind == "insert" or not messages:
            blocks: list[Block | str] = draw(st.sampled_from([["wait"], [" "], [], [PDF], [result("nobody"), "and this"]]))
            messages.insert(at, draw(st.sampled_from([user, said]))(*blocks))
        elif kind == "lose":
            messages.pop(at)
        elif kind == "double":
            messages.insert(at, copy.deepcopy(messages[draw(st.integers(0, len(messages) - 1))]))
        elif kind == "move":
            messages.insert(draw(st.integers(0, len(messages) - 1)), messages.pop(at))
        elif kind == "empty":
            messages[at]["content"] = draw(st.sampled_from([[], [{"text": ""}]]))
        elif kind == "rename":
            old, new = (draw(st.sampled_from(["c1", "c2", "functions read", "", "x" * 70])) for _ in "on")
            messages[:] = json.loads(json.dumps(messages).replace(json.dumps(old), json.dumps(new)))
        elif kind == "shuffle":
            messages[at]["content"] = list(draw(st.permutations(messages[at]["content"])))
        elif kind == "part":
            held = messages[at]["content"]
            cut = draw(st.integers(0, len(held)))
            messages[at : at + 1] = [{**messages[at], "content": held[:cut]}, {**messages[at], "content": held[cut:]}]
        else:
            for block in messages[at]["content"]:
                if "toolUse" in block:
                    block["toolUse"]["input"] = draw(st.sampled_from(["{", '{"a": 1}', None, [1]]))
                elif "toolResult" in block:
                    block["toolResult"].update(
                        draw(st.sampled_from([{"content": [], "status": "error"}, {"content": [VIDEO, IMAGE]}]))
                    )
    return messages


PROFILES = ["bedrock", "bedrock-anthropic", "bedrock-amazon", "bedrock-meta", "bedrock-strict", "bedrock-results-alone"]


@given(wounded(), st.booleans(), st.sampled_from(PROFILES))
def test_repair_of_several_faults_keeps_every_law(messages: Messages, close: bool, profile: str) -> None:
    """Whatever is broken, for whichever family, closed or not."""
    conversation = parse(messages, dialect="bedrock")
    made = repair(conversation, close=close, profile=profile)

    assert broken_laws(conversation, made, close=close, profile=profile) == []


@given(histories(), st.booleans())
def test_a_valid_history_comes_back_as_the_same_object(pieces: list[Any], thinking: bool) -> None:
    """With pending calls at its end or without."""
    conversation = parse(build(pieces, "bedrock", thinking=thinking), dialect="bedrock")
    errors = [one for one in check(conversation, mode="history") if one.level == "error"]

    assert {one.rule for one in errors} <= {"B-PAIR-02"}  # where the results of a batch were dealt over messages
    assert errors or repair(conversation).conversation is conversation


ANY_MESSAGE = st.fixed_dictionaries(
    {
        "role": st.sampled_from(["user", "assistant", "system", "tool"]),
        "content": st.lists(st.sampled_from([*BLOCKS, use("t1"), result("t1")]) | NOISE, max_size=4),
    }
)


@given(st.lists(ANY_MESSAGE, max_size=6), st.sampled_from(["bedrock", "bedrock-meta", "bedrock-strict"]))
def test_whatever_is_read_is_judged_and_repaired(messages: Messages, profile: str) -> None:
    """No exception but that of a wrong shape, rules that exist, places that exist, and an order."""
    try:
        conversation = parse(messages, dialect="bedrock")
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
