"""Sections called otherwise, and blockers that stand once."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve

import compactlib as cl
from compactlib.summaries.rendering import SummaryRequest
from compactlib.summaries.schema import parse_sections, schema_for

from .test_digesting import long
from .test_rungs import BODY, compacted

HEADINGS = {"goal": "Цель", "orders": "Указания", "done": "Сделано", "next": "Дальше", "verbatim": "Дословно"}
POLICY = cl.Policy(window_tokens=32_000, headings=HEADINGS)


def test_headings_are_asked_for_read_and_written() -> None:
    """In the order of the schema."""
    asked: list[SummaryRequest] = []

    def answer(request: SummaryRequest) -> str:
        asked.append(request)
        return "## Цель\n- перенести\n\n## Указания\n(нет)\n\n## Сделано\n- таблицы\n\n## Дальше\n- остальное"

    outcome = compacted(cl.compact(long(), POLICY, when="now", summarise=answer))

    assert "## Сделано\n[" in asked[0].instructions
    assert asked[0].text.endswith('beginning with "## Цель". ===')
    assert "## Сделано\n- таблицы" in outcome.summary
    assert "## Done" not in outcome.summary


def test_usual_headings_are_still_read() -> None:
    """A summary made before the change, and a summariser that does not heed them."""
    outcome = compacted(cl.compact(long(), POLICY, when="now", summarise=lambda _: BODY))

    assert "## Сделано\n- tables" in outcome.summary


def test_extractive_summariser_carries_them_on() -> None:
    """Over three compactions nothing that was done is lost."""
    conversation = long()
    for _ in range(3):
        outcome = compacted(cl.compact(conversation, POLICY, when="now"))
        sections = parse_sections(outcome.summary, schema_for("full", HEADINGS))
        assert sections.missing == ()
        assert sections.body("done")
        conversation = cl.parse([*cl.render(outcome.conversation), *cl.render(long(6))], dialect="anthropic")
    assert outcome.summary.count("## Цель") == 1
    assert outcome.summary.count("First prompt:") == 1


@pytest.mark.parametrize(
    "headings",
    [
        {"goal": ""},
        {"goal": "two\nlines"},
        {"goal": "# Goal"},
        {"goal": "x" * 65},
        {"goal": "Changed files"},
        {"goal": 5},
        {5: "Goal"},
        "Goal",
        None,
    ],
)
def test_heading_that_is_none_is_refused(headings: Any) -> None:
    """When the policy is made."""
    with pytest.raises(cl.PolicyError, match="headings"):
        cl.Policy(window_tokens=8_000, headings=headings)


@pytest.mark.parametrize("headings", [{"goal": "Done"}, {"goal": "Цель", "done": "ЦЕЛЬ"}, {"nothing": "Цель"}])
def test_headings_that_do_not_fit_the_schema_are_refused(headings: dict[str, str]) -> None:
    """Two sections of one name could not be told apart."""
    with pytest.raises(cl.PolicyError, match="headings"):
        cl.compact(long(), evolve(POLICY, headings=headings), when="now")


def test_policy_keeps_headings_of_its_own() -> None:
    """Law L19."""
    mine = {"goal": "Ziel"}
    policy = cl.Policy(window_tokens=8_000, headings=mine)
    mine["goal"] = "two\nlines"

    assert policy.headings == {"goal": "Ziel"}


def test_blocker_stands_in_one_section() -> None:
    """What is named elsewhere too is taken out there, and counted."""
    reply = BODY + "\n\n## Blocked\n- the key is missing\n\n## Critical context\n- The key is missing.\n- other"
    outcome = compacted(cl.compact(long(), cl.Policy(window_tokens=32_000), when="now", summarise=lambda _: reply))
    told: Any = outcome.report["summary"]

    assert outcome.summary.lower().count("the key is missing") == 1
    assert "- other" in outcome.summary
    assert told["repeated"] == 1
