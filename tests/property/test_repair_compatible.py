"""
The laws of repair on the routes that demand something beyond OpenAI Chat.

The laws and the wounds are those of `test_repair_laws`; what is left there to
the provider's own joining is done here by the pass itself.  Where texts are
joined to one, no word is lost if it stands in the text that it became part of.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactlib.dialects import parse, render
from compactlib.model import Conversation
from compactlib.protocol.alternation import ALTERNATION
from compactlib.protocol.profiles import PROFILES
from compactlib.protocol.repair import Repaired, repair
from compactlib.turns import divide

from ..words import conversations, words
from .test_repair_laws import Messages, broken_laws, said, wounded

DIALECT = "openai-chat"
ROUTES = [name for name, profile in PROFILES.items() if profile.demands and profile.dialect == DIALECT]
L8 = "L8: no word is lost"


def laws(before: Conversation, made: Repaired, *, close: bool, profile: str) -> list[str]:
    """The laws that a repair breaks; words that stand inside a joined text are not lost."""
    broken = broken_laws(before, made, close=close, profile=profile)
    if L8 in broken and any(fix.name == "merge-same-role" for fix in made.fixes):
        after = said(made.conversation.messages)
        lost = said(before.messages) - after
        if all(any(role == other and text in whole for other, whole in after) for role, text in lost):
            broken.remove(L8)
    return broken


@st.composite
def with_reasoning(draw: st.DrawFn) -> Messages:
    """Wounded messages, some of the model's with reasoning under either key."""
    messages = draw(wounded(DIALECT))
    for message in messages:
        if message["role"] == "assistant" and draw(st.booleans()):
            message[draw(st.sampled_from(["reasoning_content", "reasoning"]))] = draw(st.sampled_from(["let me see", "", None]))
    return messages


@pytest.mark.parametrize("profile", ROUTES)
def test_repair_of_several_faults_keeps_every_law(profile: str) -> None:
    """Whatever is broken, closed or not."""

    @given(with_reasoning(), st.booleans(), st.sampled_from([None, "enabled", "disabled"]))
    def holds(messages: Messages, close: bool, thinking: str | None) -> None:
        body: Any = {"messages": messages, **({} if thinking is None else {"thinking": {"type": thinking}})}
        conversation = parse(body, dialect=DIALECT)
        made = repair(conversation, close=close, profile=profile)

        assert laws(conversation, made, close=close, profile=profile) == []

        twin = repair(parse(body, dialect=DIALECT), close=close, profile=profile)
        assert (twin.fixes, twin.left, render(twin.conversation)) == (made.fixes, made.left, render(made.conversation))

    holds()


def repair_words(profile: str) -> tuple[int, list[tuple[str, list[str]]]]:
    """Repair every word up to four letters: how many conversations they are, and which broke a law or left what can be mended."""
    count = 0
    wrong = []
    for word, messages in conversations(words(4), DIALECT):
        conversation = parse(messages, dialect=DIALECT)
        close = bool(count % 2)
        made = repair(conversation, close=close, profile=profile)
        broken = laws(conversation, made, close=close, profile=profile)
        waits = not close and bool(divide(made.conversation).pending)
        for one in made.left:
            violation = one.violation
            # behind pending calls nothing is touched (law L4), and a template without tools has no form for their results
            may_stay = (waits and violation.rule in ALTERNATION) or violation.fix is None
            if (close or made.conversation.messages) and not may_stay:
                broken.append(violation.rule)
        if broken:
            wrong.append((word, broken))
        count += 1
    return count, wrong


@pytest.mark.exhaustive
@pytest.mark.parametrize("profile", ROUTES)
def test_every_word_is_repaired(profile: str) -> None:
    """Of all words of up to four letters, which are 2,248 conversations, nothing stays that can be mended."""
    assert repair_words(profile) == (2_248, [])


def test_many_neighbours_are_joined_once() -> None:
    """Ten thousand messages of one side become one; each is read once."""
    messages = [{"role": "user", "content": f"words {place}"} for place in range(10_000)]
    made = repair(parse(messages, dialect=DIALECT), profile="strict-template")
    (one,) = made.conversation.messages

    assert Counter(fix.name for fix in made.fixes) == {"merge-same-role": 9_999}
    assert one.text == "\n\n".join(f"words {place}" for place in range(10_000))
