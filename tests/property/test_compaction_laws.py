"""
All laws, over random compactions.

Plain random ones from fixed seeds, thousands in each dialect: every outcome is
judged by every check, and the premises are counted, because a law that never
had the chance to be broken has not been tested.
Hypothesis draws more of the same and shrinks what it finds.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

import compactlib as cl
from compactlib.conformance.checks import Finding, judge
from compactlib.conformance.record import Record
from compactlib.conformance.running import observe
from compactlib.model import Block, Call, Conversation
from compactlib.options import Clearing
from compactlib.store import MemoryStore

from ..premises import OFTEN, premises, seldom
from ..scenarios import LARGE, Scenario, scenario, seeded
from ..spellings import SPELLINGS

WHOLE = os.environ.get("COMPACTLIB_WHOLE") == "1"
"""Whether to run all of them; a sample that is the same each time otherwise."""
EXAMPLES = dict.fromkeys(("anthropic", "openai-chat"), 5_000 if WHOLE else 2_000)
FEWER = 1_500 if WHOLE else 500
"""In every other dialect, and for templates."""
SELDOM = {500: 125}
"""One in so many scenarios has to hold a premise that seldom holds, in a hundred where nothing else is said."""
STORED = {"anthropic": 300, "openai-chat": 300}
STORED_FEWER = 120
"""With a store."""
REPEATED = 10
"""Every tenth is run twice; more runs in other processes are in `test_stability_laws`."""


def run(made: Scenario, *, repeat: bool = False, **more: Any) -> tuple[Record, cl.Outcome]:
    return observe(cl.compact, made.conversation, made.policy, **made.given, repeat=repeat, **more)


def broken(record: Record) -> list[Finding]:
    return [finding for finding in judge(record) if finding.verdict == "broken"]


@pytest.mark.parametrize("name", SPELLINGS)
def test_every_law_holds_for_every_outcome(name: str) -> None:
    """No check finds anything, no exception escapes, and every premise held often enough to mean something."""
    held: Counter[str] = Counter()
    undecided: Counter[str] = Counter()
    examples = EXAMPLES.get(name, FEWER)
    for number in range(examples):
        made = scenario(seeded(f"{name} {number}"), dialect=name)
        record, outcome = run(made, repeat=number % REPEATED == 0)
        findings = judge(record)

        assert [str(finding) for finding in findings if finding.verdict == "broken"] == [], f"Random('{name} {number}')"
        held.update(set(premises(made, record, outcome)))
        undecided.update({finding.rule for finding in findings if finding.rule != "SAME-1" or number % REPEATED == 0})

    rarely = seldom(SPELLINGS[name])
    assert {premise: held[premise] for premise in OFTEN if held[premise] < examples * 5 // 100} == {}
    assert {premise: held[premise] for premise in rarely if held[premise] < examples // SELDOM.get(examples, 100)} == {}
    assert held["internal-invalid"] == 0
    assert {rule: count for rule, count in undecided.items() if count > examples // 100} == {}


def _with_long_arguments(conversation: Conversation) -> Conversation:
    """The same with calls that write a page, so that emptying their arguments saves something."""

    def longer(block: Block) -> Block:
        if not isinstance(block, Call) or not block.is_client:
            return block
        page = f"page of {block.id} " * 40
        if isinstance(block.arguments, str):
            return evolve(block, arguments=json.dumps({**json.loads(block.arguments), "text": page}))
        return evolve(block, arguments={**block.arguments, "text": page})

    messages = (
        message if isinstance(message.content, str) else evolve(message, content=tuple(map(longer, message.content)))
        for message in conversation.messages
    )
    return evolve(conversation, messages=tuple(messages))


@pytest.mark.parametrize("name", SPELLINGS)
def test_every_law_holds_for_what_is_stored(name: str) -> None:
    """The same with a store: outputs are cleared, what is replaced is put away, and all of it can be fetched again (law L10)."""
    held: Counter[str] = Counter()
    examples = STORED.get(name, STORED_FEWER)
    for number in range(examples):
        random = seeded(f"stored {name} {number}")
        made = scenario(random, dialect=name)
        options = Clearing(keep=random.choice((0, 1, 3)), clear_tool_inputs=random.random() < 0.5)
        rungs: Any = random.choice((None, None, ["clear"], ["summarise"]))
        made = evolve(made, policy=evolve(made.policy, clearing=options))
        if random.random() < 0.3:
            made = evolve(made, conversation=_with_long_arguments(made.conversation))
        record, outcome = run(made, store=MemoryStore(), rungs=rungs)

        assert [str(finding) for finding in broken(record)] == [], f"Random('stored {name} {number}')"
        if isinstance(outcome, cl.Compacted):
            held[f"{record.rung}{' after clearing' if record.cleared and record.rung != 'clear' else ''}"] += 1
            held.update({unit["what"] for unit in outcome.report["cleared"]})

    tools = () if SPELLINGS[name].results_are_text else ("clear", "summarise after clearing", "result", "arguments")
    assert {premise: held[premise] for premise in ("summarise", *tools) if held[premise] < examples // 50} == {}


@given(st.randoms(use_true_random=False))
@settings(max_examples=150, suppress_health_check=LARGE)
def test_every_law_holds_for_what_hypothesis_draws(random: Any) -> None:
    """The same, with shrinking."""
    record, _ = run(scenario(random))

    assert broken(record) == []
