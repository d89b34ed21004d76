"""
Laws L3 and L4 through the whole engine, against the reference model.

The cut that a compaction reports is the one that brute force finds with the
same sizes; and a call that nobody answered forbids nothing.
"""

from __future__ import annotations

from collections import Counter
from itertools import accumulate, pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import compactlib as cl
from compactlib.outcomes import Compacted, Refused
from compactlib.summaries.rendering import SummaryRequest
from compactlib.tokens import Memo

from .. import reference
from ..strategies import WIRES, broken, build, histories

REPLY = "## Goal\n(none)\n## Orders, constraints and preferences\n(none)\n## Done\n- so far\n## Next step\n- go on"


def counter(text: str) -> int:
    """What the messages say is large, by a number in them; what a compaction writes is as large as it is."""
    words = text.split(" ")
    return 60 + 37 * int(words[-1]) % 400 if words[-1].isdecimal() and len(words) < 6 else (len(text) + 7) // 8


def answer(request: SummaryRequest) -> str:
    return REPLY


@st.composite
def large(draw: st.DrawFn) -> tuple[list[reference.Piece], str]:
    """Pieces, and the words that give their sizes."""
    pieces = draw(st.one_of(histories(max_turns=5, max_steps=6), broken()))
    return pieces, draw(st.sampled_from(["word", "other words"]))


@pytest.mark.parametrize("dialect", WIRES)
@given(made=large(), window=st.sampled_from([2_300, 3_000, 5_000]), when_needed=st.booleans())
@settings(max_examples=150)
def test_the_cut_is_the_one_that_brute_force_finds(
    dialect: str, made: tuple[list[reference.Piece], str], window: int, when_needed: bool
) -> None:
    """Index, kind and size of the tail, for legal and broken conversations."""
    pieces, words = made
    conversation = cl.parse(build(pieces, dialect, words=words), dialect=dialect)
    starts = list(accumulate((len(build([piece], dialect)) for piece in pieces), initial=0))  # of each piece on the wire
    policy = cl.Policy(window_tokens=window, counter=counter, schema="brief", step_cuts="when-needed" if when_needed else "never")
    outcome = cl.compact(conversation, policy, summarise=answer, when="now")
    report = outcome.report
    if report["cut"] is None:
        return
    memo = Memo(counter)
    weights = [memo.messages(conversation.messages[start:stop]) for start, stop in pairwise(starts)]
    runs_on = dialect == "openai-responses"
    expected = reference.choice(pieces, weights, report["sizes"]["tail"], step_cuts=when_needed, runs_on=runs_on)

    assert expected is not None
    assert report["cut"]["index"] == starts[expected[0]]
    assert (report["cut"]["kind"], report["cut"]["tail_tokens"]) == expected[1:]


@given(made=large(), window=st.sampled_from([2_300, 3_000, 5_000]))
@settings(max_examples=100)
def test_a_dangling_call_forbids_nothing(made: tuple[list[reference.Piece], str], window: int) -> None:
    """Law L4: answered by a message of the same size, or not answered: the same turn cuts, the same kind of outcome."""
    pieces, words = made
    whole = [*pieces, ("calls", "late"), ("results", "late"), ("prompt", ""), ("text", ""), ("prompt", ""), ("text", "")]
    at = len(pieces) + 1
    answered = cl.parse(build(whole, "anthropic", words=words), dialect="anthropic")
    dangling = cl.parse(build([*whole[:at], ("harness", ""), *whole[at + 1 :]], "anthropic", words=words), dialect="anthropic")
    (result,) = answered.messages[at].results
    around = Memo(counter).message(answered.messages[at]) - counter(result.text)

    def same_size(text: str) -> int:
        return Memo(counter).message(dangling.messages[at]) - around if text == result.text else counter(text)

    policy = cl.Policy(window_tokens=window, counter=same_size, schema="brief")
    first = cl.compact(answered, policy, summarise=answer, when="now")
    second = cl.compact(dangling, policy, summarise=answer, when="now")

    assert cl.legal_cuts(answered).turn == cl.legal_cuts(dangling).turn
    assert first.before_tokens == second.before_tokens
    assert type(first) is type(second)


def test_the_premises_hold() -> None:
    """Both kinds of cut, cuts where nothing fits, and refusals for want of a cut are among what is drawn."""
    seen: Counter[str] = Counter()

    @given(made=large(), window=st.sampled_from([2_300, 3_000, 5_000]))
    @settings(max_examples=200, derandomize=True, database=None)
    def count(made: Any, window: int) -> None:
        pieces, words = made
        conversation = cl.parse(build(pieces, "anthropic", words=words), dialect="anthropic")
        policy = cl.Policy(window_tokens=window, counter=counter, schema="brief")
        outcome = cl.compact(conversation, policy, summarise=answer, when="now")
        seen[type(outcome).__name__] += 1
        if isinstance(outcome, Compacted):
            seen[outcome.report["cut"]["kind"]] += 1
            seen["nothing fits"] += "nothing fits" in outcome.report["cut"]["why"]
            seen["dangling"] += bool(outcome.report["dangling"])
        elif isinstance(outcome, Refused):
            seen[outcome.reason] += 1

    count()

    assert {name: seen[name] for name in ("turn", "step", "nothing fits", "no-legal-cut", "irreducible") if seen[name] < 2} == {}
