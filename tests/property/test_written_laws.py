"""
What the library wrote is judged as it will be read.

Cleared and shortened results, repairs, compacted heads and converted bodies
hold words that never stood on a wire.  The validator must say of them what it
will say of what `render` makes of them: rule by rule, place by place.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

import compactlib as cl
from compactlib.admission import admit
from compactlib.clearing import clear
from compactlib.model import Conversation, Json
from compactlib.options import Clearing
from compactlib.protocol.profiles import PROFILES
from compactlib.protocol.validator import Mode
from compactlib.store import MemoryStore
from compactlib.tokens import Memo
from compactlib.turns import divide

from ..scenarios import LARGE, Scenario, scenario
from ..strategies import WIRES, broken, build
from ..tongues import stories, tell

MODES: tuple[Mode, ...] = ("request", "history")
Judgement = list[tuple[str, str, int | None, str]]


def unsaid(conversation: Conversation) -> Conversation:
    """The conversation without what no wire can tell: where its words came from."""
    return evolve(conversation, messages=tuple(evolve(message, origin=None) for message in conversation.messages))


def judged(conversation: Conversation, profile: str | None) -> list[Judgement]:
    """(rule, level, index, pointer) of each finding, by mode."""
    return [
        [(one.rule, one.level, one.index, one.pointer) for one in cl.check(conversation, mode=mode, profile=profile)]
        for mode in MODES
    ]


def check_written(conversation: Conversation, profile: str | None = None) -> None:
    """What is found in a conversation is what is found in its body."""
    read = cl.parse(cl.render(conversation), dialect=conversation.dialect)

    assert judged(unsaid(conversation), profile) == judged(read, profile)


# -- how the library changes a conversation ----------------------------------------------------------------------------


def cleared(conversation: Conversation) -> Conversation:
    """All old outputs gone, and the arguments of closed turns."""
    memo = Memo(len)
    size = memo.request(conversation)
    made = clear(
        conversation,
        divide(conversation),
        memo,
        MemoryStore(),
        options=Clearing(keep=0, clear_tool_inputs=True),
        before_tokens=size,
        target_tokens=0,
        tail_tokens=0,
        least_gain_tokens=0,
        issued={},
    )
    return conversation if made is None else made.conversation


def admitted(conversation: Conversation) -> Conversation:
    """Every output shortened that has any length."""
    policy = cl.Policy(window_tokens=4_000, counter=len)
    store = MemoryStore()
    messages = tuple(admit(message, policy, store).message for message in conversation.messages)
    return evolve(conversation, messages=messages)


def repaired(conversation: Conversation) -> Conversation:
    """Sent at once, whatever was missing."""
    return cl.repair(conversation, close=True).conversation


CHANGES: tuple[Callable[[Conversation], Conversation], ...] = (cleared, admitted, repaired)


def compacted(made: Scenario) -> Conversation:
    """What a compaction leaves."""
    outcome = cl.compact(made.conversation, made.policy, when="now", pins=made.pins)
    return outcome.conversation


_RESULTS = {"tool", "tool_result", "toolResult", "function_call_output", "functionResponse"}


def answered(body: Json, answer: Callable[[str], str], *, inside: bool = False) -> Json:
    """The body with other words in its results, wherever its dialect has them."""
    if isinstance(body, list):
        return [answered(item, answer, inside=inside) for item in body]
    if not isinstance(body, dict):
        return body
    inside = inside or bool(_RESULTS & {str(body.get("type")), str(body.get("role")), *body})
    words = ("content", "error", "output", "text") if inside else ()
    return {
        key: answer(item) if key in words and isinstance(item, str) else answered(item, answer, inside=inside)
        for key, item in body.items()
    }


def _long(text: str) -> str:
    return "\n".join(f"{text} {number}" for number in range(300))


def _none(text: str) -> str:
    del text
    return ""


ANSWERS: tuple[Callable[[str], str], ...] = (_long, _long, str, _none)


# -- laws --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", WIRES)
@settings(max_examples=40)
@given(data=st.data())
def test_what_was_changed_is_judged_as_it_will_be_read(dialect: str, data: st.DataObject) -> None:
    """Valid stories with pictures in results, and pieces with one fault, cleared, shortened and repaired in any order."""
    if data.draw(st.booleans()):
        body: Json = tell(data.draw(stories(dialect=dialect)), dialect)
    else:
        body = build(data.draw(broken()), dialect, thinking=data.draw(st.booleans()))
    body = answered(body, data.draw(st.sampled_from(ANSWERS)))
    conversation = cl.parse(body, dialect=dialect)
    for change in data.draw(st.permutations(CHANGES)):
        conversation = change(conversation)

        check_written(conversation)
    profiles = [name for name, profile in PROFILES.items() if profile.dialect == dialect]
    profile = data.draw(st.sampled_from(profiles))
    check_written(conversation, profile)
    check_written(cl.repair(conversation, close=True, profile=profile).conversation, profile)


@pytest.mark.parametrize("dialect", WIRES)
@settings(suppress_health_check=LARGE, deadline=None, max_examples=15)
@given(random=st.randoms(use_true_random=False))
def test_what_was_compacted_is_judged_as_it_will_be_read(dialect: str, random: Random) -> None:
    """Heads, cleared tails and repaired ones."""
    made = scenario(random, dialect=dialect, fault="")
    conversation = compacted(made)

    check_written(conversation)
    for change in CHANGES:
        check_written(change(conversation))


@pytest.mark.parametrize("dialect", WIRES)
@settings(max_examples=40)
@given(data=st.data())
def test_what_was_converted_is_judged_as_it_will_be_read(dialect: str, data: st.DataObject) -> None:
    """From every other dialect."""
    source = data.draw(st.sampled_from([name for name in WIRES if name != dialect]))
    conversation = cl.parse(tell(data.draw(stories(dialect=source)), source), dialect=source)

    check_written(cl.convert(conversation, dialect=dialect).conversation)
    for change in CHANGES:
        check_written(change(cl.convert(conversation, dialect=dialect).conversation))
