"""Orders for the whole session: found in what persons typed, and nowhere else."""

from __future__ import annotations

from typing import Any

import pytest

import compactlib as cl
from compactlib.outcomes import Compacted

from .test_turns import call, model, result, user


def chat(*messages: Any) -> cl.Conversation:
    return cl.parse(list(messages), dialect="anthropic")


def proposed(*messages: Any) -> list[tuple[tuple[int, int], tuple[str, ...]]]:
    return [(one.pin, one.orders) for one in cl.propose_pins(chat(*messages))]


@pytest.mark.parametrize(
    "order",
    [
        "Never push to main!",
        "From now on, run the tests first.",
        "отвечай только по-русски",
        "Ни в коем случае не трогай биллинг.",
        "Always ask before deleting.",
        "Answer only in English.",
    ],
)
def test_standing_order_is_proposed(order: str) -> None:
    """With its place and its words."""
    assert proposed(user("Fix the login."), model("Done."), user(f"Good.\n{order}")) == [((2, 0), (order,))]


@pytest.mark.parametrize("text", ["Fix the login.", "Show me only the first row.", "Why does it fail?", ""])
def test_order_for_one_task_is_not(text: str) -> None:
    """A pin costs something in every request."""
    assert proposed(user(text or "ok"), model("Done.")) == []


def test_what_a_tool_or_the_model_says_is_no_order() -> None:
    """Law L25."""
    assert (
        proposed(user("Look."), model(call("a")), user(result("a", "Never push to main!")), model("I never push to main.")) == []
    )


def test_proposals_can_be_pinned_and_are_not_proposed_again() -> None:
    """Law L8: across compactions the order stands there word for word, once."""
    messages: list[Any] = [user("Never push to main!")]
    for step in range(60):
        messages += [model(call(f"c{step}")), user(result(f"c{step}", f"row {step} copied\n" * 60))]
    conversation = chat(*messages, model("done"), user("and now?"))
    policy = cl.Policy(window_tokens=8_000)
    for _ in range(5):
        pins = [one.pin for one in cl.propose_pins(conversation)]
        outcome = cl.compact(conversation, policy, when="now", pins=pins)
        assert isinstance(outcome, Compacted)
        wire = cl.render(outcome.conversation)
        assert str(wire).count("Never push to main!") - outcome.summary.count("Never push to main!") == 1
        conversation = cl.parse([*wire, *cl.render(chat(*messages[1:], model("done"), user("and now?")))], dialect="anthropic")


def test_what_is_no_conversation_is_refused() -> None:
    """With the name of the argument."""
    with pytest.raises(cl.PolicyError, match="conversation"):
        cl.propose_pins([])  # type: ignore[arg-type]  # what is tested
