"""Reasoning of closed turns: which of it may go, where, and how it comes back."""

from __future__ import annotations

import json
from typing import Any

import pytest

import compactlib as cl
from compactlib.clearing import clear
from compactlib.model import Reasoning
from compactlib.options import Clearing
from compactlib.protocol.profiles import PROFILES, profile_named
from compactlib.store import MemoryStore, fetch
from compactlib.thoughts import old_thoughts
from compactlib.tokens import Memo
from compactlib.turns import divide

THOUGHT = "First the log, then the rule that makes it. " * 20


def chat(turns: str) -> cl.Conversation:
    """Turns of OpenAI Chat, each with reasoning in every answer: ``c`` with a call, ``w`` with words alone."""
    messages: list[dict[str, Any]] = []
    for number, turn in enumerate(turns):
        messages.append({"role": "user", "content": f"prompt {number}"})
        if turn == "c":
            function = {"name": "read", "arguments": "{}"}
            call = {"id": f"c{number}", "type": "function", "function": function}
            messages.append({"role": "assistant", "content": None, "reasoning_content": THOUGHT, "tool_calls": [call]})
            messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": "ok"})
        messages.append({"role": "assistant", "content": f"answer {number}", "reasoning_content": THOUGHT})
    return cl.parse(messages, dialect="openai-chat")


def anthropic(*turns: list[Any]) -> cl.Conversation:
    """A prompt and an answer of these blocks for each turn."""
    messages: list[dict[str, Any]] = []
    for blocks in turns:
        messages += [{"role": "user", "content": "go on"}, {"role": "assistant", "content": blocks}]
    return cl.parse(messages, dialect="anthropic")


def thinking(words: str = THOUGHT) -> dict[str, Any]:
    return {"type": "thinking", "thinking": words, "signature": "SIG"}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def going(conversation: cl.Conversation, *, keep: int = 1, profile: str | None = None, untouched: Any = ()) -> list[int]:
    """The indices of the messages whose reasoning may go."""
    known = profile_named(profile or conversation.dialect)
    return old_thoughts(conversation, divide(conversation), known, keep_turns=keep, untouched=untouched)


def test_turns_beyond_the_newest_lose_it_oldest_first() -> None:
    """All of a turn, and never that of the current one."""
    subject = chat("ccwc")

    assert going(subject, profile="openai") == [1, 3, 5, 7, 9]
    assert going(subject, keep=3, profile="openai") == [1, 3]
    assert going(subject, keep=4, profile="openai") == []


def test_a_turn_without_reasoning_is_not_counted() -> None:
    """Of the turns that hold some the newest keep it, as the provider's own edit counts."""
    subject = anthropic([thinking(), text("a")], [thinking(), text("b")], [text("c")], [text("d")])

    assert going(subject) == [1]
    assert going(subject, keep=2) == []


@pytest.mark.parametrize(
    ("profile", "goes"),
    [
        ("openai", [1, 3, 5, 7, 9]),
        ("groq", [1, 3, 5, 7, 9]),
        ("openai-chat", [9]),
        ("deepseek", [9]),
        ("kimi", [9]),
        ("openai-local", [9]),
    ],
)
def test_what_may_go_is_for_the_profile_to_say(profile: str, goes: list[int]) -> None:
    """DeepSeek and Moonshot want back what stands in turns with calls (D-REAS-01, K-REAS-01)."""
    assert going(chat("ccwc"), profile=profile) == goes


def test_every_profile_says_what_may_go() -> None:
    """An item of Responses stands for itself, and its followers name it (R-REAS-02)."""
    assert {name for name, one in PROFILES.items() if one.old_reasoning == "nothing"} >= {"openai-responses"}
    assert {one.old_reasoning for name, one in PROFILES.items() if one.dialect == "anthropic"} == {"blocks"}
    assert {name for name, one in PROFILES.items() if one.edits} == {
        name for name, one in PROFILES.items() if one.dialect == "anthropic"
    }


def test_a_message_with_nothing_else_to_say_keeps_it() -> None:
    """It would be empty (A-EMPTY-03), and no message goes (law L2)."""
    subject = anthropic([thinking()], [thinking(), text(" ")], [thinking(), text("c")], [thinking(), text("d")])

    assert going(subject) == [5]


def test_what_is_pinned_keeps_it() -> None:
    """What is pinned is not cleared."""
    subject = anthropic([thinking(), text("a")], [thinking(), text("b")], [thinking(), text("c")])

    assert going(subject, untouched={1}) == [3]


def cleared(subject: cl.Conversation, store: MemoryStore, *, share: float = 0.0, profile: str | None = None) -> Any:
    memo = Memo(len)
    size = memo.request(subject)
    return clear(
        subject,
        divide(subject),
        memo,
        store,
        options=Clearing(thinking_keep_turns=1),
        before_tokens=size,
        target_tokens=int(size * share),
        tail_tokens=0,
        least_gain_tokens=0,
        issued={},
        profile=None if profile is None else profile_named(profile),
    )


def test_it_goes_until_the_target_is_reached() -> None:
    """The oldest first, and no more than is needed."""
    subject = anthropic(*([thinking(), text(name)] for name in "abcdef"))
    made = cleared(subject, MemoryStore(), share=0.6)

    assert [unit.position for unit in made.units] == [1, 3, 5]
    assert {unit.what for unit in made.units} == {"reasoning"}


@pytest.mark.parametrize("profile", ["anthropic", "openai", "groq"])
def test_each_comes_back_as_the_wire_had_it(profile: str) -> None:
    """Law L10: no marker can stand in its place, so the outcome alone has the reference."""
    dialect = profile_named(profile).dialect
    subject = chat("ccw") if dialect == "openai-chat" else anthropic(*([thinking(), text(name)] for name in "abc"))
    store = MemoryStore()
    made = cleared(subject, store, profile=profile)
    wire: Any = cl.render(subject)

    assert made.issued.keys() == {unit.ref for unit in made.units}
    for unit in made.units:
        kept = json.loads(fetch(store, unit.ref))
        if dialect == "openai-chat":
            assert kept["reasoning_content"] == wire[unit.position]["reasoning_content"]
        else:
            assert kept["content"] == [thinking()]
    after: Any = cl.render(made.conversation)
    for unit in made.units:
        assert "reasoning_content" not in after[unit.position]
        assert THOUGHT not in json.dumps(after[unit.position])
    again = cl.parse(after, dialect=dialect)
    assert cl.render(again) == after
    assert cl.check(again, profile=profile) == cl.check(made.conversation, profile=profile)
    left = [at for at, message in enumerate(made.conversation.messages) if any(isinstance(b, Reasoning) for b in message.blocks)]
    assert min(left) >= divide(subject).turns[-1].start
