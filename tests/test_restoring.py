"""What is sealed is put back as the model returned it: of each dialect, in each way to lose it, and nothing else."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

import compactlib as cl
from compactlib.protocol.signatures import SENTINELS

from .tongues import stories, tell

Json = Any
FIELDS: Final = {"anthropic": "messages", "gemini": "contents", "openai-responses": "input"}
PROFILES: Final = {"anthropic": None, "gemini": "gemini-3", "openai-responses": None}
SEALS: Final = ("signature", "thoughtSignature", "encrypted_content")
ASK: Final = {"role": "user", "content": "q"}
CALL: Final = {"type": "tool_use", "id": "t1", "name": "read", "input": {}}
ANSWER: Final = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "ok"}]}


def thinking(words: str = "well", signature: str = "SIG") -> Json:
    return {"type": "thinking", "thinking": words, "signature": signature}


def said(*content: Json) -> Json:
    return {"role": "assistant", "content": list(content)}


def sealed_in(value: Json) -> list[Json]:
    """Every object in *value* that has a seal of its own, in order."""
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    own = isinstance(value, dict) and any(key in value and value[key] not in SENTINELS for key in SEALS)
    return [*([value] if own else []), *(one for item in inside for one in sealed_in(item))]


def returned(body: Json, dialect: str) -> dict[int, Json]:
    """What the model said, by its place on the wire."""
    field = FIELDS[dialect]
    if dialect == "openai-responses":
        return {at: [item] for at, item in enumerate(body[field]) if item.get("role") != "user"}
    key = "parts" if dialect == "gemini" else "content"
    return {
        at: one[key] for at, one in enumerate(body[field]) if one["role"] in ("assistant", "model") and isinstance(one[key], list)
    }


@pytest.mark.parametrize("dialect", FIELDS)
@given(data=st.data())
def test_what_was_damaged_is_as_it_was(dialect: str, data: st.DataObject) -> None:
    """Whatever is cut or forged where the validator looks: after the repair the body is the one that was returned."""
    body = deepcopy(tell(data.draw(stories(dialect=dialect)), dialect))
    for number, one in enumerate(sealed_in(body)):
        one.update({key: f"seal{number}=" for key in SEALS if key in one})
        one.update({"id": f"rs_{number}"} if one.get("type") == "reasoning" else {})
    original = deepcopy(returned(body, dialect))
    whole = cl.parse(deepcopy(body), dialect=dialect)
    profile = PROFILES[dialect]
    before = {found.rule for found in cl.check(whole, mode="history", profile=profile) if found.level == "error"}

    for one in sealed_in(body):
        key = next(key for key in SEALS if key in one)
        one[key] = data.draw(st.sampled_from([one[key], one[key][:-3], "forged"]))
    damaged = cl.parse(deepcopy(body), dialect=dialect)
    named = [found for found in cl.check(damaged, mode="history", profile=profile, original=original) if found.level == "error"]
    repaired = cl.repair(damaged, profile=profile, original=original)
    places = {found.index for found in named if found.rule not in before}

    assert repaired == cl.repair(cl.parse(deepcopy(body), dialect=dialect), profile=profile, original=original)
    assert {fix.index for fix in repaired.fixes} >= places
    if not before:
        assert {fix.name for fix in repaired.fixes} <= {"restore-seal"}
        assert repaired.left == ()
        after = cl.render(repaired.conversation)
        wanted, given_ = cl.render(whole), cl.render(damaged)
        for at, message in enumerate(after[FIELDS[dialect]]):
            assert message == (wanted if at in places else given_)[FIELDS[dialect]][at]
        again = cl.repair(repaired.conversation, profile=profile, original=original)
        assert (again.conversation is repaired.conversation, again.fixes) == (True, ())
        assert cl.repair(whole, profile=profile, original=original).conversation is whole


def restored(messages: Json, original: Json, dialect: str = "anthropic", **options: Json) -> tuple[Json, list[str], list[str]]:
    """The messages, the names of the fixes, and the rules of what is left."""
    made = cl.repair(cl.parse(messages, dialect=dialect), original=original, **options)
    return cl.render(made.conversation), [fix.name for fix in made.fixes], [one.violation.rule for one in made.left]


@pytest.mark.parametrize(
    "damaged",
    [
        [thinking("we..."), CALL],
        [thinking(signature="S"), CALL],
        [thinking(signature=""), CALL],
        [{"type": "thinking", "thinking": "well"}, CALL],
        [CALL],
    ],
)
def test_thinking_of_the_current_turn_is_put_back(damaged: Json) -> None:
    """A-THINK-01, A-THINK-02, A-THINK-03, under way, where nothing else may be done."""
    good = [ASK, said(thinking(), CALL), ANSWER]
    body = [ASK, said(*damaged), ANSWER]

    assert restored(body, {1: [thinking(), CALL]}) == (good, ["restore-seal"], [])


def test_redacted_and_fallback_blocks_stand_where_they_stood() -> None:
    """A-THINK-05 too."""
    hidden, back = (
        {"type": "redacted_thinking", "data": "ENC"},
        {"type": "fallback", "from": {"model": "a"}, "to": {"model": "b"}},
    )
    text = {"type": "text", "text": "so"}
    good = [hidden, back, thinking(), text, CALL]

    for damaged in (
        [hidden, thinking(), text, CALL],
        [text, CALL],
        [back, hidden, thinking(), text, CALL],
        [hidden, text, back, CALL],
    ):
        assert restored([ASK, said(*damaged), ANSWER], {1: good})[0][1] == said(*good)


@pytest.mark.parametrize(
    "original",
    [
        [thinking("other"), {**CALL, "id": "t2"}],
        [thinking(), {"type": "text", "text": "x"}, {**CALL, "name": "ls"}],
        [thinking(signature=""), CALL],
        [{"type": "thinking", "thinking": 10**5000, "signature": "SIG"}, CALL],
        [CALL],
        [{"type": []}, {"type": {}}, None, 5, "x"],
        [{"type": "redacted_thinking"}],
    ],
)
def test_original_of_another_message_is_not_believed(original: Json) -> None:
    """Nothing is edited, and what is left says so (law L5)."""
    body = [ASK, said(thinking(signature="S"), CALL), ANSWER]
    conversation = cl.parse(body, dialect="anthropic")
    made = cl.repair(conversation, original={1: original})

    assert made.conversation is conversation
    assert [one.violation.rule for one in made.left] == ["A-THINK-02"]


def test_more_than_was_returned_is_left() -> None:
    """Two replies that were merged: which of the thinking is whose is not known, and none is taken away."""
    body = [ASK, said(thinking("a"), {"type": "text", "text": "x"}, thinking("b"), CALL), ANSWER]
    conversation = cl.parse(body, dialect="anthropic")
    made = cl.repair(conversation, original={1: [thinking("a"), {"type": "text", "text": "x"}, CALL]})

    assert made.conversation is conversation
    assert [one.violation.rule for one in made.left] == ["A-THINK-02"]


def test_forged_thinking_of_a_closed_turn_is_put_back_or_goes() -> None:
    """A-THINK-03."""
    text = {"type": "text", "text": "x"}
    body = [ASK, said(thinking(signature="S"), text), ASK, said(text), ASK]
    conversation = cl.parse(body, dialect="anthropic")

    assert cl.check(conversation) == ()
    assert [(one.rule, one.pointer) for one in cl.check(conversation, original={1: [thinking(), text]})] == [
        ("A-THINK-03", "/1/content/0")
    ]
    assert restored(body, {1: [thinking(), text]}) == ([ASK, said(thinking(), text), *body[2:]], ["restore-seal"], [])
    assert restored(body, {1: [text]}) == ([ASK, said(text), *body[2:]], ["strip-seal"], [])


def test_original_is_of_the_indices_of_the_input() -> None:
    """What a repair puts in before the message does not shift it."""
    body = [ASK, said({**CALL, "id": "t0"}), ASK, said(thinking(signature="S"), CALL), ANSWER]
    messages, names, left = restored(body, {3: [thinking(), CALL]})

    assert (messages[3], names, left) == (said(thinking(), CALL), ["restore-seal", "synthesize-result"], [])


def test_what_was_passed_in_is_neither_changed_nor_shared() -> None:
    """Law L19."""
    block = {"type": "fallback", "from": {"model": "a"}}
    original = {1: [block, {**thinking(), "extra": {"a": [1]}}, CALL]}
    copy = deepcopy(original)
    conversation = cl.parse([ASK, said(CALL), ANSWER], dialect="anthropic")
    made = cl.repair(conversation, original=original)
    block["from"]["model"] = "b"  # type: ignore[index]  # it is a dict

    assert cl.render(made.conversation)[1]["content"] == copy[1]
    assert cl.render(conversation)[1] == said(CALL)


GEMINI_CALL: Final = {"functionCall": {"name": "read", "args": {"path": "a"}}, "thoughtSignature": "c2ln"}


@pytest.mark.parametrize(
    "damaged",
    [
        {**GEMINI_CALL, "thoughtSignature": "Zm9y"},
        {"functionCall": GEMINI_CALL["functionCall"]},
        {**GEMINI_CALL, "functionCall": {"name": "read", "args": {"path": "b"}}},
    ],
)
def test_signature_is_put_back_on_its_part(damaged: Json) -> None:
    """G-SIG-01 and G-SIG-02; the sentinel is for what nobody knows."""
    contents = [
        {"role": "user", "parts": [{"text": "q"}]},
        {"role": "model", "parts": [damaged]},
        {"role": "user", "parts": [{"functionResponse": {"name": "read", "response": {"output": "ok"}}}]},
    ]
    messages, names, left = restored(contents, {1: [GEMINI_CALL]}, "gemini", profile="gemini-3")

    assert (messages[1]["parts"], names, left) == ([GEMINI_CALL], ["restore-seal"], [])


def test_encrypted_content_is_put_back_by_the_id_of_its_item() -> None:
    """R-ENC-01; the item whose reasoning is gone loses its id (R-REAS-02)."""
    thought = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "ENC"}
    call = {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "read", "arguments": "{}"}
    answer = {"type": "function_call_output", "call_id": "c", "output": "ok"}
    original = {1: [thought, call], 2: [thought, call]}
    messages, names, left = restored([ASK, {**thought, "encrypted_content": "EN"}, call, answer], original, "openai-responses")
    assert (messages[1], names, left) == (thought, ["restore-seal"], [])

    messages, names, left = restored([ASK, call, answer], original, "openai-responses")
    assert ("id" in messages[1], names, left) == (False, ["strip-id"], [])


def test_lost_encrypted_content_is_put_back_where_nothing_is_stored() -> None:
    """R-STORE-01: the item has the key again; a reference to it stays one."""
    thought = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "ENC"}
    call = {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "read", "arguments": "{}"}
    answer = {"type": "function_call_output", "call_id": "c", "output": "ok"}
    for lost in ({"type": "reasoning", "id": "rs_1", "summary": []}, {**thought, "encrypted_content": None}):
        body = {"store": False, "input": [ASK, lost, call, answer]}
        made = cl.repair(cl.parse(body, dialect="openai-responses"), original={1: [thought, call]})

        assert ([fix.name for fix in made.fixes], made.left) == (["restore-seal"], ())
        assert cl.render(made.conversation)["input"][1] == thought

    body = {"store": False, "input": [ASK, {"type": "item_reference", "id": "rs_1"}, {"role": "user", "content": "on"}]}
    made = cl.repair(cl.parse(body, dialect="openai-responses"), original={1: [thought]})
    assert "encrypted_content" not in json.dumps(cl.render(made.conversation))


def test_report_of_one_cut_signature_is_answered_by_who_knows_the_original(shared: Path) -> None:
    """Case 50: 36 of 37 blocks are fine, and one was cut at capture."""
    lines = (shared / "cases" / "reports.jsonl").read_text("utf-8").splitlines()
    case = next(case for case in map(json.loads, lines) if case["n"] == 50)
    messages = case["input"]["messages"]
    original = {
        1: messages[1]["content"],
        3: [{**messages[3]["content"][0], "signature": "QUJDREVGR0g="}, messages[3]["content"][1]],
    }
    made, names, left = restored(messages, original, close=True)
    signatures = [one["content"][0]["signature"] for one in made if one["role"] == "assistant"]

    assert (names, left) == (["restore-seal"], [])
    assert (signatures[:1], set(signatures) & set(case["expected"]["removed_signatures"])) == (
        case["expected"]["kept_signatures"],
        set(),
    )


def test_hostile_originals_cost_no_more_than_they_are_long() -> None:
    """Nested too deep, no JSON at all, or ten thousand parts of one signature."""
    deep: Json = []
    for _ in range(100_000):
        deep = [deep]
    contents = [
        {"role": "user", "parts": [{"text": "q"}]},
        {"role": "model", "parts": [GEMINI_CALL] * 10_000},
        {"role": "user", "parts": [{"functionResponse": {"name": "read", "response": {}}}] * 10_000},
    ]
    for part in (
        {"functionCall": {"name": "read", "args": deep}, "thoughtSignature": "c2ln"},
        {"functionCall": {"name": "read", "args": {1: object()}}, "thoughtSignature": "c2ln"},
        {"functionCall": {"name": "read", "args": {}}, "thoughtSignature": "c2ln"},
        {"functionCall": {"name": "read", "args": {}}, "thoughtSignature": "eA=="},
    ):
        made = cl.repair(cl.parse(contents, dialect="gemini"), profile="gemini-3", original={1: [part] * 10_000})
        assert {one.violation.rule for one in made.left} <= {"G-SIG-02"}
