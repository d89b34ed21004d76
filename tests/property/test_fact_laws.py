"""Laws L21 and L22 over whole compactions: facts survive, claims are flagged."""

from __future__ import annotations

import hashlib
import json
import re
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import compactlib as cl
from compactlib.outcomes import Compacted
from compactlib.summaries.acceptance import Summary
from compactlib.summaries.extractive import Extractive
from compactlib.summaries.grounding import UNVERIFIED
from compactlib.summaries.rendering import SummaryRequest

from ..scenarios import LARGE, Scenario, scenario
from ..words import MAKERS

HASHES = re.compile(r"(?<![\w/.-])(?=[0-9]*[a-f])(?=[a-f]*[0-9])[0-9a-f]{8,40}(?![\w/.-])")
"""Found without the library's table: hashes that stand by themselves."""


def compacted(made: Scenario, summarise: object = None) -> Compacted | None:
    outcome = cl.compact(
        made.conversation,
        made.policy,
        when="now",
        pins=made.pins,
        reminders=made.reminders,
        summarise=summarise,  # type: ignore[arg-type]  # a callable, or nothing
    )
    return outcome if isinstance(outcome, Compacted) else None


@settings(suppress_health_check=LARGE, deadline=None, max_examples=200)
@given(st.randoms(use_true_random=False))
def test_the_account_of_the_facts_adds_up_and_is_true(random: Random) -> None:
    """Each hash of the input is in the output, or the account says that facts were left out."""
    made = scenario(random, fault="")
    outcome = compacted(made)
    if outcome is None:
        return
    counts = outcome.report["summary"]["anchors"]

    assert counts["found"] == counts["in_output"] + counts["written"] + counts["left"]
    if not counts["left"]:
        after = json.dumps(cl.render(outcome.conversation), ensure_ascii=False)
        replaced = outcome.before.messages[: outcome.before.position(outcome.cut)]
        said = {fact for message in replaced for fact in HASHES.findall(message.text)}
        assert [fact for fact in said if fact not in after] == []


@pytest.mark.parametrize("dialect", list(MAKERS))
def test_every_hash_of_a_long_session_is_in_the_output(dialect: str) -> None:
    """Forty of them, each said once by a tool or a model, none of which the summariser repeats."""
    maker = MAKERS[dialect]
    facts = [hashlib.sha256(str(number).encode()).hexdigest()[:12] + "ab1" for number in range(40)]
    messages = []
    for number, fact in enumerate(facts):
        messages += [
            maker.words("user", f"and the next one, please, {'so it goes, ' * 60}"),
            maker.calls([f"c{number:08}"]),
            maker.result(f"c{number:08}", f"built {fact} without fault, {'as always, ' * 60}", ""),
            maker.words("assistant", "it is built"),
        ]
    flat = [item for message in messages for item in (message if isinstance(message, list) else [message])]
    conversation = cl.parse(flat, dialect=dialect)
    reply = "## Goal\n(none)\n## Orders, constraints and preferences\n(none)\n## Done\n- all was built\n## Next step\n- go on"
    outcome = cl.compact(conversation, cl.Policy(window_tokens=64_000, tail_tokens=1_000), when="now", summarise=lambda _: reply)

    assert isinstance(outcome, Compacted)
    after = json.dumps(cl.render(outcome.conversation))
    assert [fact for fact in facts if fact not in after] == []
    assert outcome.report["summary"]["anchors"]["left"] == 0
    assert outcome.report["summary"]["anchors"]["written"] >= 30


@settings(suppress_health_check=LARGE, deadline=None, max_examples=100)
@given(st.randoms(use_true_random=False))
def test_an_invented_fact_never_passes_without_its_flag(random: Random) -> None:
    """Whatever else the summary says, in one part or in many."""
    made = scenario(random, fault="")

    def inventive(request: SummaryRequest) -> Summary:
        return Summary(Extractive(counter=made.policy.counter)(request) + "\n- see never/was/there.py and ffee00112233aa")

    outcome = compacted(made, inventive)
    if outcome is None or "never/was/there.py" not in outcome.summary:
        return
    for invented in ("never/was/there.py", "ffee00112233aa"):
        for found in re.finditer(re.escape(invented), outcome.summary):
            assert outcome.summary.startswith(f" {UNVERIFIED}", found.end())
