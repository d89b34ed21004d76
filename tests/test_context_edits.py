"""Edits of the context as values, and what is said of those that are wrong."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactlib.dialects import parse
from compactlib.protocol.context_edits import BETAS, ClearThinking, ClearToolUses, Compact, Edit, read_edits
from compactlib.protocol.validator import check

TOOLS, THINKING, COMPACT, SUMMARIZE = BETAS
HI = [{"role": "user", "content": "hi"}]


def edits(*listed: Any, **fields: Any) -> tuple[Edit, ...]:
    return read_edits(parse({"messages": HI, "context_management": {"edits": list(listed)}, **fields}, dialect="anthropic"))


def found(*listed: Any, **fields: Any) -> list[tuple[str, str]]:
    """(rule, level) of each finding."""
    body = {"messages": HI, "context_management": {"edits": list(listed)}, **fields}
    return [(one.rule, one.level) for one in check(parse(body, dialect="anthropic"))]


def test_an_edit_that_names_only_its_type_has_the_documented_defaults() -> None:
    """A hundred thousand tokens and three uses; one turn; a hundred and fifty thousand tokens."""
    assert edits({"type": TOOLS}, {"type": THINKING}, {"type": COMPACT}) == (ClearToolUses(), ClearThinking(), Compact())
    assert (ClearToolUses().trigger, ClearToolUses().keep_tool_uses) == (100_000, 3)
    assert (ClearThinking().keep_turns, Compact().trigger_tokens) == (1, 150_000)


def test_every_field_is_read() -> None:
    """Into units that say what they are."""
    tools = {
        "type": TOOLS,
        "trigger": {"type": "tool_uses", "value": 9},
        "keep": {"type": "tool_uses", "value": 2},
        "clear_at_least": {"type": "input_tokens", "value": 5_000},
        "exclude_tools": ["memory"],
        "clear_tool_inputs": ["read"],
    }
    compact = {
        "type": COMPACT,
        "trigger": {"type": "input_tokens", "value": 60_000},
        "instructions": "Keep names.",
        "pause_after_compaction": True,
    }

    assert edits(tools, {"type": THINKING, "keep": {"type": "thinking_turns", "value": 4}}, compact) == (
        ClearToolUses(
            trigger=9,
            unit="tool_uses",
            keep_tool_uses=2,
            clear_at_least_tokens=5_000,
            exclude_tools=frozenset({"memory"}),
            clear_inputs=frozenset({"read"}),
        ),
        ClearThinking(keep_turns=4),
        Compact(trigger_tokens=60_000, instructions="Keep names.", pauses=True),
    )
    assert (
        edits({"type": THINKING, "keep": "all"}, {"type": THINKING, "keep": {"type": "all"}})
        == (ClearThinking(keep_turns=None),) * 2
    )


@pytest.mark.parametrize(
    "edit",
    [
        {"type": TOOLS, "trigger": 80_000},
        {"type": TOOLS, "trigger": {"type": "thinking_turns", "value": 1}},
        {"type": TOOLS, "trigger": {"type": "tool_uses", "value": -1}},
        {"type": TOOLS, "trigger": {"type": "tool_uses", "value": True}},
        {"type": TOOLS, "keep": {"type": "input_tokens", "value": 1}},
        {"type": TOOLS, "exclude_tools": "memory"},
        {"type": TOOLS, "clear_tool_inputs": "all"},
        {"type": TOOLS, "tigger": {"type": "tool_uses", "value": 1}},
        {"type": THINKING, "keep": 2},
        {"type": THINKING, "keep": {"type": "thinking_turns", "value": 0}},
        {"type": COMPACT, "trigger": {"type": "input_tokens", "value": 49_999}},
        {"type": COMPACT, "instructions": ["x"]},
        {"type": COMPACT, "pause_after_compaction": 1},
    ],
)
def test_an_odd_field_is_an_error_and_the_edit_is_no_value(edit: Any) -> None:
    """The finding names the beta that the edit needs."""
    body = {"messages": HI, "thinking": {"type": "adaptive"}, "context_management": {"edits": [edit]}}
    (one,) = check(parse(body, dialect="anthropic"))

    assert (one.rule, one.level) == ("A-CTX-02", "error")
    assert f"beta {BETAS[edit['type']]}" in one.message
    assert edits(edit) == ()


@pytest.mark.parametrize(("listed", "level"), [("all", "error"), ([7], "error"), ([{"type": "clear_01"}], "warning")])
def test_what_is_no_known_edit_is_named(listed: Any, level: str) -> None:
    """A type that is not in the list may be newer than it."""
    body = {"messages": HI, "context_management": {"edits": listed}}

    assert [(one.rule, one.level) for one in check(parse(body, dialect="anthropic"))] == [("A-CTX-02", level)]


def test_clearing_thinking_needs_thinking() -> None:
    """Said in the request, or what the model does unasked."""
    assert found({"type": THINKING}, thinking={"type": "enabled", "budget_tokens": 2_000}) == []
    assert found({"type": THINKING}, thinking={"type": "disabled"}) == [("A-CTX-01", "error")]
    assert found({"type": THINKING}, model="claude-sonnet-4-6") == [("A-CTX-01", "error")]
    assert found({"type": THINKING}, model="claude-opus-5") == []
    assert found({"type": THINKING}, model="claude-opus-5", thinking={"type": "disabled"}) == [("A-CTX-01", "error")]


@pytest.mark.parametrize(
    ("model", "kind", "is_known"),
    [
        ("claude-opus-4-7", COMPACT, True),
        ("us.anthropic.claude-sonnet-4-6-v1:0", COMPACT, True),
        ("claude-mythos-preview", COMPACT, True),
        ("claude-sonnet-4-5-20250929", COMPACT, False),
        ("claude-sonnet-4-5-20250929", TOOLS, True),
        ("claude-3-7-sonnet-20250219", TOOLS, False),
        ("my-proxy", TOOLS, False),
    ],
)
def test_an_edit_on_a_model_that_is_not_known_to_support_it_is_a_warning(model: str, kind: str, is_known: bool) -> None:
    """A body without a model is not judged."""
    assert found({"type": kind}, model=model) == ([] if is_known else [("A-CTX-03", "warning")])
    assert found({"type": kind}) == []


@pytest.mark.parametrize(
    ("fields", "is_listed"),
    [
        ({"betas": ["compact-2026-01-12"]}, True),
        ({"anthropic_beta": "context-management-2025-06-27, compact-2026-01-12"}, True),
        ({"anthropic_beta": ["context-management-2025-06-27"]}, False),
        ({"betas": []}, False),
        ({}, True),
    ],
)
def test_betas_that_stand_in_the_body_hold_that_of_the_edit(fields: Any, is_listed: bool) -> None:
    """Where none are listed there, they are in a header that nobody sees here."""
    assert found({"type": COMPACT}, **fields) == ([] if is_listed else [("A-CTX-04", "warning")])


def test_clearing_thinking_comes_first() -> None:
    """Wherever else it stands, it is refused."""
    thinks = {"thinking": {"type": "adaptive"}}

    assert found({"type": THINKING}, {"type": TOOLS}, **thinks) == []
    assert found({"type": TOOLS}, {"type": THINKING}, **thinks) == [("A-CTX-05", "error")]


@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        ({"type": SUMMARIZE}, []),
        ({"type": SUMMARIZE, "instructions": None}, []),
        ({"type": SUMMARIZE, "instructions": "Keep names."}, []),
        ({"type": SUMMARIZE, "instructions": 7}, [("A-CTX-02", "error")]),
        ({"type": SUMMARIZE, "trigger": None}, [("A-CTX-02", "error")]),
        ({"type": TOOLS}, [("A-CTX-02", "warning")]),
        ("summarize", [("A-CTX-02", "error")]),
    ],
)
def test_the_field_that_asks_for_a_summary_is_judged_like_an_edit(field: Any, wrong: Any) -> None:
    """And it is none."""
    assert found(compaction=field) == wrong
    assert found({"type": SUMMARIZE}) == [("A-CTX-02", "warning")]
    assert edits({"type": SUMMARIZE}) == ()


def test_a_summary_when_asked_has_a_beta_and_models_of_its_own() -> None:
    """The older beta does not bring it."""
    field = {"type": SUMMARIZE}

    assert found(compaction=field, model="claude-sonnet-5", betas=["compact-2026-09-04"]) == []
    assert found(compaction=field, betas=["compact-2026-01-12"]) == [("A-CTX-04", "warning")]
    assert found(compaction=field, model="claude-sonnet-4-5") == [("A-CTX-03", "warning")]
    assert found({"type": COMPACT}, model="claude-sonnet-5") == [("A-CTX-03", "warning")]


@pytest.mark.parametrize(
    ("fields", "wrong"),
    [
        ({"context_management": [{"type": "compaction", "compact_threshold": 9_000}], "truncation": "auto"}, []),
        ({"context_management": [{"type": "compaction"}], "truncation": None}, []),
        ({"context_management": [{"type": "compaction", "compact_threshold": 0.5}]}, [("R-CTX-01", "error")]),
        ({"context_management": [{"type": "clearing"}]}, [("R-CTX-01", "warning")]),
        ({"context_management": [7]}, [("R-CTX-01", "error")]),
        ({"context_management": {"edits": []}}, [("R-CTX-01", "error")]),
        ({"truncation": "middle"}, [("R-CTX-02", "warning")]),
        ({"truncation": True}, [("R-CTX-02", "error")]),
    ],
)
def test_what_responses_is_asked_for_is_judged(fields: Any, wrong: Any) -> None:
    """A type or a strategy that is not known may be newer."""
    assert [(one.rule, one.level) for one in check(parse({"input": HI, **fields}, dialect="openai-responses"))] == wrong


def test_an_entry_of_responses_is_a_compaction() -> None:
    """At a threshold, or at one that it leaves to the provider."""
    listed = [{"type": "compaction", "compact_threshold": 9_000}, {"type": "compaction"}, {"type": "clearing"}, 7]
    asked = parse({"input": HI, "context_management": listed}, dialect="openai-responses")

    assert read_edits(asked) == (Compact(trigger_tokens=9_000), Compact(trigger_tokens=None))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["type", "value", "keep", "trigger"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(JSON, st.sampled_from([TOOLS, THINKING, COMPACT]))
def test_any_json_may_stand_there(value: Any, kind: str) -> None:
    """Nothing escapes, and a single edit is a value exactly if nothing is said of its shape."""
    for listed in (value, [value], [{"type": kind, "trigger": value}], [{"type": kind, "keep": value}]):
        conversation = parse({"messages": HI, "context_management": {"edits": listed}}, dialect="anthropic")
        is_odd = any(one.rule == "A-CTX-02" for one in check(conversation))
        values = read_edits(conversation)

        assert not (is_odd and isinstance(listed, list) and len(listed) == 1 and values)
        assert is_odd or len(values) == len(listed or ())
