"""What is asked of a provider, put into requests: in all its fields, and held when the conversation grows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

import compactlib as cl
from compactlib.errors import PolicyError
from compactlib.holding import hold, with_betas
from compactlib.model import Reasoning
from compactlib.options import Clearing
from compactlib.outcomes import Compacted
from compactlib.visible import CLEARED, effective

TOOLS = "clear_tool_uses_20250919"
THINKING = "clear_thinking_20251015"
BETA = "context-management-2025-06-27"
LOG = "line of a long log, all is well\n" * 60
POLICY = cl.Policy(window_tokens=16_000, reserve_tokens=4_000, clearing=Clearing(form="edit", thinking_keep_turns=1))


def body(steps: int, *, turn: int = 6, **fields: Any) -> dict[str, Any]:
    """A request with that many steps, each with thinking; each so many are a *turn*."""
    messages: list[dict[str, Any]] = []
    for number in range(steps):
        if number % turn == 0:
            messages += [{"role": "assistant", "content": "so far"}] if number else []
            messages.append({"role": "user", "content": "go on"})
        call = {"type": "tool_use", "id": f"c{number}", "name": "read", "input": {"path": f"{number}.txt"}}
        thought = {"type": "thinking", "thinking": f"I read {number}. " * 9, "signature": f"S{number}"}
        said = {"type": "tool_result", "tool_use_id": f"c{number}", "content": f"{number} {LOG}"}
        messages += [{"role": "assistant", "content": [thought, call]}, {"role": "user", "content": [said]}]
    messages.append({"role": "assistant", "content": "done"})
    around = {"model": "claude-opus-4-6", "thinking": {"type": "adaptive"}, "max_tokens": 1}
    return {**around, "messages": messages, **fields}


def parsed(wire: Any) -> cl.Conversation:
    return cl.parse(wire, dialect="anthropic")


def hidden(conversation: cl.Conversation) -> list[Any]:
    """What of the conversation its model does not see: calls whose results are hidden, and thoughts."""
    seen = effective(conversation)
    gone: list[Any] = [one.call_id for message in seen.messages for one in message.results if one.text == CLEARED]
    left = {block.seal for message in seen.messages for block in message.blocks if isinstance(block, Reasoning)}
    thoughts = [block.seal for message in conversation.messages for block in message.blocks if isinstance(block, Reasoning)]
    return [*gone, *(one for one in thoughts if one not in left)]


def test_what_is_hidden_stays_the_same_when_the_conversation_grows() -> None:
    """Law L18.  Sent unchanged, the edits hide one more result for each that came, and the thinking of one more turn."""
    outcome = cl.compact(parsed(body(30)), POLICY, rungs=("clear",), when="now")
    assert isinstance(outcome, Compacted)
    later = parsed(body(43))
    held = later.with_setting("context_management", outcome.edits_for(later))
    unheld = later.with_setting("context_management", dict(outcome.edits or {}))

    assert hidden(held) == hidden(outcome.request) != []
    assert len(hidden(unheld)) > len(hidden(held)) + 12
    assert outcome.edits_for(outcome.conversation) == outcome.edits


def test_a_conversation_that_has_not_grown_is_asked_for_the_same() -> None:
    """Nor one that became shorter: nothing that was kept is given up."""
    asked = {"edits": [{"type": TOOLS, "keep": {"type": "tool_uses", "value": 5}}], "note": 1}

    assert hold(asked, parsed(body(9)), parsed(body(9))) == asked
    assert hold(asked, parsed(body(9)), parsed(body(3))) == asked


def test_what_the_request_asked_for_by_itself_stays_as_it_is() -> None:
    """It may be meant to move with the conversation."""
    own = {"type": THINKING, "keep": {"type": "thinking_turns", "value": 1}}
    made = {"type": TOOLS, "trigger": {"type": "tool_uses", "value": 5}, "keep": {"type": "tool_uses", "value": 5}}
    earlier = parsed(body(9, context_management={"edits": [own]}))

    assert hold({"edits": [own, made]}, earlier, parsed(body(30)))["edits"] == [
        own,
        {**made, "trigger": {"type": "tool_uses", "value": 26}, "keep": {"type": "tool_uses", "value": 26}},
    ]


@pytest.mark.parametrize(
    "edit",
    [
        {"type": TOOLS, "trigger": {"type": "input_tokens", "value": 9}, "clear_at_least": {"type": "input_tokens", "value": 9}},
        {"type": THINKING, "keep": "all"},
        {"type": THINKING, "keep": {"type": "all"}},
        {"type": TOOLS, "keep": {"type": "tool_uses", "value": True}},
        {"type": TOOLS, "keep": {"type": ["tool_uses"], "value": 1}},
        {"type": "new_20270101", "exclude_tools": ["read"]},
        "no edit",
        None,
    ],
)
def test_what_is_not_counted_from_the_end_stays(edit: Any) -> None:
    """Sizes, all turns, and what nobody knows."""
    assert hold({"edits": [edit]}, parsed(body(3)), parsed(body(30)))["edits"] == [edit]


@pytest.mark.parametrize(
    ("listed", "then"),
    [
        ({"betas": ["x-1"]}, {"betas": ["x-1", BETA]}),
        ({"betas": [BETA]}, {"betas": [BETA]}),
        ({"anthropic_beta": f"x-1, {BETA}"}, {"anthropic_beta": f"x-1, {BETA}"}),
        ({"anthropic_beta": "x-1"}, {"anthropic_beta": f"x-1,{BETA}"}),
        ({}, {}),
    ],
)
def test_a_body_that_lists_its_betas_lists_those_of_its_edits(listed: dict[str, Any], then: dict[str, Any]) -> None:
    """A-CTX-04; where it lists none they are headers, and the outcome names them."""
    outcome = cl.compact(parsed(body(30, **listed)), POLICY, rungs=("clear",), when="now")
    assert isinstance(outcome, Compacted)

    assert {name: outcome.request.setting(name) for name in then} == then
    assert cl.check(outcome.request, mode="history") == ()
    assert outcome.betas == (BETA,)


def test_a_bare_list_has_no_place_for_it() -> None:
    """The caller makes the body."""
    conversation = parsed([{"role": "user", "content": "hi"}])

    assert with_betas(conversation, [BETA]).with_setting("context_management", {"edits": []}) is conversation


def test_without_edits_nothing_is_held() -> None:
    """And what is no conversation is an error."""
    outcome = cl.compact(parsed(body(30)), POLICY, rungs=("clear",), when="now", store=cl.MemoryStore())
    assert isinstance(outcome, Compacted)
    plain = cl.compact(parsed(body(30)), cl.Policy(window_tokens=16_000), when="now")
    assert isinstance(plain, Compacted)

    assert plain.edits_for(plain.conversation) is None
    with pytest.raises(PolicyError, match="conversation"):
        outcome.edits_for("none")  # type: ignore[arg-type]  # that is the mistake


def test_the_chapter_shows_what_is_done() -> None:
    """Its two pieces of Python run as they stand there, one after the other."""
    text = (Path(__file__).parents[1] / "spec" / "53-recoverable.md").read_text("utf-8")
    chapter = text.partition("# Clearing in the provider's own words\n")[2].partition("\n# ")[0]
    first, second = re.findall(r"```python\n(.*?)```", chapter, re.DOTALL)
    names: dict[str, Any] = {"cl": cl, "conversation": parsed(body(30)), "policy": evolve(POLICY, rungs=("clear",))}
    exec(first, names)  # noqa: S102 - it is our own chapter
    names["later"] = parsed(body(43))
    exec(second, names)  # noqa: S102 - as above

    assert names["headers"] == {"anthropic-beta": BETA}
    assert hidden(names["later"]) == hidden(names["outcome"].request) == hidden(parsed(names["body"])) != []
