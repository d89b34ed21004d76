"""
Law L6: whatever fails, the conversation is as it was, and the outcome says what failed.

Every fault that a summariser can have meets random conversations, with and
without a previous summary, sync and async.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import compactlib as cl
from compactlib.conformance.checks import judge
from compactlib.conformance.running import observe
from compactlib.dialects import render
from compactlib.outcomes import Compacted, Refused
from compactlib.summaries.acceptance import Code, Summary
from compactlib.summaries.faults import CODES
from compactlib.summaries.rendering import SummaryRequest

from ..scenarios import FAULTY, LARGE, Scenario, scenario, seeded

EXPECTED: dict[str, Code | None] = {
    **CODES,
    "echo": Code.ECHO,
    "headings": Code.HEADINGS,
    "negative": Code.REFUSAL,
    "padded": None,
    "plain": None,
}
"""The code of each fault; ``None`` where the reply is taken, with the fault made harmless."""
SOMETIMES = frozenset({"not-smaller", "same-as-previous", "answer", "reopen", "cut-off"})
"""Faults that are one only under a condition of their own."""
ALWAYS_POSSIBLE = frozenset({Code.TOO_LONG, Code.NO_ROOM, Code.SAME, Code.EMPTY, Code.NOT_SMALLER})
"""What can also happen to a reply that is right, in a room that is too small for it."""


def outcome_of(made: Scenario, **more: Any) -> cl.Outcome:
    options = {"summarise": made.summarise, "when": made.when, "pins": made.pins, "reminders": made.reminders, **more}
    return cl.compact(made.conversation, made.policy, **options)


@pytest.mark.parametrize("fault", FAULTY)
def test_each_fault_is_told_by_its_code(fault: str) -> None:
    """A failing reply is refused under its code, one that is made harmless is taken; the rest is as it was."""
    codes: Counter[str] = Counter()
    for number in range(60):
        made = scenario(seeded(f"{fault} {number}"), fault=fault)
        record, outcome = observe(
            cl.compact, made.conversation, made.policy, summarise=made.summarise, when=made.when,
            pins=made.pins, reminders=made.reminders, kinds=made.kinds, repeat=False,
        )  # fmt: skip

        assert [str(one) for one in judge(record) if one.verdict == "broken"] == []
        if not record.exchanges:
            continue
        codes[outcome.reason.partition(":")[2] or "taken"] += 1
        if not isinstance(outcome, Compacted):
            assert outcome.conversation is made.conversation

    expected = EXPECTED[fault]
    possible = {code.value for code in ALWAYS_POSSIBLE}
    if expected is None:
        assert codes["taken"] > 5
        assert set(codes) <= {"taken", *possible}
    elif fault in SOMETIMES:
        assert set(codes) <= {"taken", expected.value, Code.HEADINGS.value, *possible}
    else:
        assert codes[expected.value] > 5
        assert set(codes) <= {expected.value, *possible}


class Stopped(BaseException):
    """Not an error: somebody pressed a key, or cancelled the task."""


@given(st.randoms(use_true_random=False))
@settings(max_examples=60, suppress_health_check=LARGE)
def test_what_is_no_error_passes_through(random: Any) -> None:
    """An interrupt is not a failed reply; and nothing has been changed when it comes."""
    made = scenario(random, fault="")
    before = render(made.conversation)

    def interrupted(request: SummaryRequest) -> str:
        raise Stopped

    try:
        outcome = outcome_of(made, summarise=interrupted)
    except Stopped:
        outcome = None

    assert outcome is None or not isinstance(outcome, Compacted)
    assert render(made.conversation) == before


@given(st.randoms(use_true_random=False), st.sampled_from(sorted(FAULTY)))
@settings(max_examples=100, suppress_health_check=LARGE)
def test_awaited_and_called_are_the_same(random: Any, fault: str) -> None:
    """One algorithm serves both; the report too is the same."""
    made = scenario(random, fault=fault)
    called = outcome_of(made)

    async def answer(request: SummaryRequest) -> str | Summary:
        return made.summarise(request)

    awaited = asyncio.run(
        cl.acompact(made.conversation, made.policy, summarise=answer, when=made.when, pins=made.pins, reminders=made.reminders)
    )

    assert awaited.report == called.report
    assert render(awaited.conversation) == render(called.conversation)


@given(st.randoms(use_true_random=False), st.text(max_size=400))
@settings(max_examples=200, suppress_health_check=LARGE)
def test_any_text_at_all_is_taken_or_refused(random: Any, reply: str) -> None:
    """No reply makes the engine raise, and none is believed that is no summary."""
    made = scenario(random, fault="")
    outcome = outcome_of(made, summarise=lambda request: reply)

    if isinstance(outcome, Refused) and outcome.reason.startswith("summary-failed:"):
        assert outcome.reason.partition(":")[2] in {code.value for code in Code}
    if isinstance(outcome, Compacted):
        assert "## Goal" in reply
