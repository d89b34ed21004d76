"""Legal cuts and the choice among them, against brute force and against handed cases."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

import compactlib as cl
from compactlib.cuts import choose, find_cuts
from compactlib.model import Text
from compactlib.turns import divide

from . import reference
from .strategies import broken, build, histories
from .test_turns import PNG, call, model, result, text, user


@given(st.one_of(histories(), broken()))
def test_the_reference_model_finds_the_same_cuts(pieces: list[reference.Piece]) -> None:
    """Law L3, both kinds of cut, legal and broken conversations."""
    cuts = cl.legal_cuts(cl.parse(build(pieces, "anthropic"), dialect="anthropic"))

    assert (list(cuts.turn), list(cuts.step)) == reference.cuts(pieces)


@given(st.one_of(histories(), broken()), st.data())
def test_the_reference_model_makes_the_same_choice(pieces: list[reference.Piece], data: st.DataObject) -> None:
    """Law L3's exact rule, over every limit, by trying every cut."""
    weights = data.draw(st.lists(st.integers(1, 60), min_size=len(pieces), max_size=len(pieces)))
    limit = data.draw(st.integers(0, 400))
    when: Any = data.draw(st.sampled_from(["when-needed", "never"]))
    conversation = cl.parse(build(pieces, "anthropic"), dialect="anthropic")
    division = divide(conversation)
    found = choose(division, find_cuts(conversation, division), weights, limit_tokens=limit, step_cuts=when)
    expected = reference.choice(pieces, weights, limit, step_cuts=when == "when-needed")

    assert (None if found is None else (found.position, found.kind, found.tail_tokens)) == expected


@given(st.one_of(histories(), broken()))
def test_cuts_are_increasing_disjoint_and_inside(pieces: list[reference.Piece]) -> None:
    """Neither 0 nor the length, and no index twice."""
    conversation = cl.parse(build(pieces, "openai-chat"), dialect="openai-chat")
    cuts = cl.legal_cuts(conversation)

    for found in (cuts.turn, cuts.step):
        assert list(found) == sorted(set(found))
        assert all(0 < at < conversation.length for at in found)
    assert not set(cuts.turn) & set(cuts.step)


def test_a_new_prompt_after_a_long_turn_does_not_leave_a_tail_of_nothing() -> None:
    """Three hundred steps and then one short prompt: the turn cut fits, and is passed over for a step cut."""
    pieces: list[reference.Piece] = [("prompt", "")]
    for number in range(300):
        pieces += [("calls", f"c{number}"), ("results", f"c{number}")]
    pieces.append(("prompt", ""))
    conversation = cl.parse(build(pieces, "anthropic"), dialect="anthropic")
    division = divide(conversation)
    found = choose(division, find_cuts(conversation, division), [10] * len(pieces), limit_tokens=1_000)

    assert found is not None
    assert (found.kind, found.prompt, found.tail_tokens) == ("step", 0, 990 + 10)


def test_one_prompt_and_hundreds_of_steps_is_cut_between_steps() -> None:
    """The normal case of an autonomous agent; without step cuts there is no cut."""
    pieces: list[reference.Piece] = [("prompt", "")] + [("text", "")] * 300
    conversation = cl.parse(build(pieces, "anthropic"), dialect="anthropic")
    division = divide(conversation)
    cuts = find_cuts(conversation, division)
    found = choose(division, cuts, [10] * 301, limit_tokens=205)

    assert found is not None
    assert (found.position, found.kind, found.prompt) == (282, "step", 0)
    assert choose(division, cuts, [10] * 301, limit_tokens=205, step_cuts="never") is None


THOUGHT = {"type": "thinking", "thinking": "t", "signature": "S"}


@pytest.mark.parametrize(
    ("settings", "expected"),
    [({"thinking": {"type": "enabled"}}, (1, 4)), ({"thinking": {"type": "disabled"}}, (1, 2, 4)), ({}, (1, 2, 4))],
)
def test_thinking_closes_steps_that_do_not_begin_with_it(settings: dict[str, Any], expected: tuple[int, ...]) -> None:
    """Law L5 and rule A-THINK-01, in the current turn."""
    messages = [
        user("q"),
        model(THOUGHT, text("a")),
        model(call("x")),
        user(result("x")),
        model(THOUGHT, text("b")),
    ]

    assert cl.legal_cuts(cl.parse({**settings, "messages": messages}, dialect="anthropic")).step == expected


def test_a_bare_list_with_thinking_in_its_last_turn_is_cut_as_if_thinking_were_on() -> None:
    """The setting is not known, so the stricter reading holds."""
    messages = [user("q"), model(THOUGHT, text("a")), model("b"), model(THOUGHT, text("c"))]

    assert cl.legal_cuts(cl.parse(messages, dialect="anthropic")).step == (1, 3)


def test_no_cut_before_a_compaction_object() -> None:
    """Providers ignore what stands before it, so a summary there would not be seen; a failed one does not count."""
    done = {"type": "compaction", "content": "so far"}
    failed = {"type": "compaction", "content": None}
    messages = [user("a"), model("b"), user("c"), model(done, text("d")), user("e"), model(failed, text("f")), user("g")]
    cuts = cl.legal_cuts(cl.parse(messages, dialect="anthropic"))

    assert (cuts.turn, cuts.step) == ((4, 6), (5,))


def test_no_cut_between_a_loaded_tool_and_its_last_call() -> None:
    """The tail would call a tool that nothing declares."""
    reference_ = {"type": "tool_result", "tool_use_id": "s", "content": [{"type": "tool_reference", "tool_name": "late"}]}
    messages = [
        user("a"),
        model(call("s", "search")),
        user(reference_),
        model(call("x", "late")),
        user(result("x")),
        model("ok"),
        user("b"),
    ]
    tools = [{"name": "search"}, {"name": "late", "defer_loading": True}]

    assert cl.legal_cuts(cl.parse({"tools": tools, "messages": messages}, dialect="anthropic")).step == (1, 5)
    assert cl.legal_cuts(cl.parse({"tools": [{"name": "late"}], "messages": messages}, dialect="anthropic")).step == (1, 3, 5)


def test_no_cut_between_a_document_and_its_citation_by_number() -> None:
    """Dropping the document would make the number point at another one."""
    document = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "x"}}
    cited = {"type": "text", "text": "so", "citations": [{"type": "char_location", "document_index": 0}]}
    messages = [user(document, text("read")), model("a"), user("b"), model(cited), user("c"), model("d")]

    cuts = cl.legal_cuts(cl.parse(messages, dialect="anthropic"))

    assert (cuts.turn, cuts.step) == ((4,), (5,))


def test_an_image_is_no_cut() -> None:
    """Neither a turn nor a step begins at an attachment."""
    messages = [user("a"), model(call("x", "read")), user(result("x", "")), user(PNG), model("b")]

    assert cl.legal_cuts(cl.parse(messages, dialect="anthropic")).turn == ()


def test_handed_cases(shared: Path) -> None:
    """Every reported case about cuts in these dialects gives the expected cuts."""
    checked = 0
    for line in (shared / "cases/reports.jsonl").read_text("utf-8").splitlines():
        case = json.loads(line)
        if case["layer"] != "cut" or case["tier"] != "direct" or case["dialect"] not in ("anthropic", "neutral", "openai-chat"):
            continue
        dialect = "openai-chat" if case["dialect"] == "openai-chat" else "anthropic"
        conversation = cl.parse(case["input"]["messages"], dialect=dialect)
        cuts = cl.legal_cuts(conversation)
        division = divide(conversation)
        end = set() if division.pending else {conversation.length}
        allowed = sorted({0, *cuts.turn, *cuts.step, *end})
        checked += _compare(case, allowed, division, conversation)

    assert checked == 11


KNOWN: Final = frozenset(
    {
        "abandoned_ids", "cut_allowed_at", "cut_allowed_includes", "cut_allowed_max", "cut_exists", "cut_forbidden_at",
        "in_flight", "kept_call_ids", "kept_images", "must_answer_before_compaction", "preserve_first_effective",
        "retry_without_change", "snip_adjusted_in", "snip_allowed", "text_kept", "turn_count", "turn_starts",
    }
)  # fmt: skip
"""Every expectation that is compared below; a case with another would pass unread."""


def _body_after(conversation: cl.Conversation) -> str:
    """What is left of a conversation when as little is kept as can be; each of its texts is declared large."""
    large = {block.text for message in conversation.messages for block in message.blocks if isinstance(block, Text)}
    policy = cl.Policy(
        window_tokens=16_000, tail_tokens=1, schema="brief", counter=lambda text: 1_500 if text in large else (len(text) + 3) // 4
    )
    return json.dumps(cl.render(cl.compact(conversation, policy, when="now").conversation))


def _compare(case: Any, allowed: list[int], division: Any, conversation: Any) -> int:
    expected = case["expected"]
    assert expected.keys() <= KNOWN, case["n"]
    names = {at: [block.id for block in conversation.messages[at].calls] for at in range(len(conversation.messages))}
    if "cut_allowed_at" in expected:
        assert allowed == expected["cut_allowed_at"], case["n"]
    if "cut_forbidden_at" in expected:
        assert not set(allowed) & set(expected["cut_forbidden_at"]), case["n"]
    if "cut_allowed_includes" in expected:
        assert set(expected["cut_allowed_includes"]) <= set(allowed), case["n"]
    if "turn_starts" in expected:
        assert [turn.start for turn in division.turns] == expected["turn_starts"], case["n"]
    if "cut_exists" in expected:
        assert (len(allowed) > 1) == expected["cut_exists"], case["n"]
    if "kept_call_ids" in expected:
        assert [names[at][ordinal] for at, ordinal in division.pending] == expected["kept_call_ids"], case["n"]
    if "abandoned_ids" in expected:
        assert [names[at][ordinal] for at, ordinal in division.dangling] == expected["abandoned_ids"], case["n"]
    if "snip_allowed" in expected:
        snip = case["input"]["snip"]
        assert (snip["from"] in allowed and snip["to"] in allowed) == expected["snip_allowed"], case["n"]
        for start, stop in expected["snip_adjusted_in"]:
            assert {start, stop} <= set(allowed), case["n"]
    if "preserve_first_effective" in expected:  # the first legal cut that leaves as many messages as asked for
        wanted = case["input"]["preserve_first"]
        assert min(at for at in allowed if at >= wanted) == expected["preserve_first_effective"], case["n"]
    if "cut_allowed_max" in expected:  # the last prompt must be kept: at or before it, or behind it with the prompt
        assert division.turns[-1].start == expected["cut_allowed_max"], case["n"]
    if "kept_images" in expected:
        assert _body_after(conversation).count('"image/png"') == expected["kept_images"], case["n"]
    if "must_answer_before_compaction" in expected:  # they are pending, and so never summarised away (law L4)
        assert [names[at][ordinal] for at, ordinal in division.pending] == expected["must_answer_before_compaction"], case["n"]
        assert all(f'"{key}"' in _body_after(conversation) for key in expected["must_answer_before_compaction"]), case["n"]
    if "in_flight" in expected:
        assert [names[at][ordinal] for at, ordinal in division.pending] == expected["in_flight"], case["n"]
    if "retry_without_change" in expected:  # of what a naive cut leaves, a repair changes the request
        naive = cl.parse(case["input"]["messages"][case["input"]["naive_cut"] :], dialect=conversation.dialect)
        assert (cl.repair(naive).conversation is naive) == expected["retry_without_change"], case["n"]
    if "text_kept" in expected:
        assert all(text in _body_after(conversation) for text in expected["text_kept"]), case["n"]
    if "turn_count" in expected:
        assert len(division.turns) == expected["turn_count"], case["n"]
    return 1
