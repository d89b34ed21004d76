"""
Reports of real faults in summarising, each reduced to a conversation and an expectation.

How they map to `compact`: a person asks (``when="now"``), and the texts of a
case are declared large, because a summary of three letters cannot be smaller
than they are.  ``pinned_state`` is live state and comes back as reminders;
``previous_summary`` stands in the head, as a compaction would have left it, and
a prompt follows the messages, because with nothing new nobody is asked.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

import compactlib as cl
from compactlib.conformance.checks import judge
from compactlib.conformance.record import Record
from compactlib.conformance.running import observe
from compactlib.dialects import render
from compactlib.model import Conversation, Origin, Text
from compactlib.protocol.profiles import PROFILES
from compactlib.summaries.extractive import Extractive
from compactlib.summaries.head import Layout, user_message, write_summary
from compactlib.summaries.rendering import SummaryRequest

OTHERWISE = {
    178: "a result is given, and no compactor: `test_a_result_without_the_prompt_is_blamed`",
    231: "a summary is given: `test_quotations_that_nobody_said_are_flagged`",
    232: "likewise",
    235: "redaction at the entrance, which is not here yet",
}
"""Cases in which nobody compacts, and one that cannot be run."""
LARGE_TOKENS = 1_500


def texts_of(value: Any) -> set[str]:
    """Every string in a case's messages."""
    if isinstance(value, str):
        return {value}
    if isinstance(value, dict):
        return set().union(*map(texts_of, value.values()), set())
    return set().union(*map(texts_of, value), set()) if isinstance(value, list) else set()


def clean(value: Any) -> Any:
    """The messages without annotations, which no provider knows."""
    if isinstance(value, dict):
        return {key: clean(item) for key, item in value.items() if not key.startswith("x_")}
    return [clean(item) for item in value] if isinstance(value, list) else value


def conversation_of(given: dict[str, Any], dialect: str) -> Conversation:
    conversation = cl.parse(clean(given["messages"]), dialect=dialect)
    if "previous_summary" not in given:
        return conversation
    text = write_summary(given["previous_summary"], Layout())
    summary = user_message((Text(text),), Origin.SUMMARY, PROFILES[dialect])
    (prompt,) = cl.parse([{"role": "user", "content": "go on"}], dialect=dialect).messages
    return evolve(conversation, messages=(summary, *conversation.messages, prompt))


def summariser(given: dict[str, Any], counter: Callable[[str], int]) -> Callable[[SummaryRequest], str]:
    """What the case says that it does; the extractive one if it says nothing."""
    told = given.get("summariser", {})
    if "error" in told:

        def fails(request: SummaryRequest) -> str:
            raise TimeoutError("no reply") if told["error"] == "timeout" else ValueError(told["error"])

        return fails
    if "blocks" in told:
        return lambda request: "".join(block.get("text", "") for block in told["blocks"])
    if "output_items" in told:
        return lambda request: "".join(item.get("text", "") for item in told["output_items"])
    if "returns" in told:
        return lambda request: str(told["returns"])
    return Extractive(counter=counter)


def met(name: str, wanted: Any, outcome: cl.Outcome, asked: list[SummaryRequest], given: dict[str, Any]) -> bool:
    """Whether one expectation holds; one that is not known here does not."""
    body = json.dumps(render(outcome.conversation), ensure_ascii=False)
    shown = "\n".join(request.text for request in asked)
    match name:
        case "history_unchanged":
            return not isinstance(outcome, cl.Compacted)
        case "compacted":
            return isinstance(outcome, cl.Compacted) is wanted
        case "error_code":
            return outcome.reason in ("summary-failed:empty", "summary-failed:whitespace") and wanted == "empty_summary"
        case "active_summary_contains":
            return str(wanted) in body
        case "summary_not_contains":
            return not any(word in body for word in wanted)
        case "summariser_called":
            return bool(asked) is wanted
        case "summariser_input_nonempty":
            return all(request.messages for request in asked) and bool(asked)
        case "summariser_input_single_user_message":
            return all(isinstance(request.text, str) for request in asked) and bool(asked)
        case "summariser_input_has_tool_blocks":
            return any(word in shown for word in ('"tool_use"', '"tool_calls"', "functionCall", "functionResponse")) is wanted
        case "summariser_input_contains":
            return all(word in shown for word in wanted)
        case "summariser_input_max_chars":
            return all(len(request.text) <= wanted for request in asked) and bool(asked)
        case "rendered_note_matches":
            return re.search(wanted, shown) is not None
        case "output_contains":
            return all(word in body for word in wanted)
        case "occurrences":
            return {body.count(word) for word in given["wanted"]} == {wanted}
        case "system_unchanged":
            system = [message for message in given["messages"] if message["role"] == "system"]
            return [message for message in json.loads(body) if message["role"] == "system"] == system
    return False


def test_handed_cases(shared: Path) -> None:
    """Every direct case about summarising ends as expected, in its dialect, and no check finds anything."""
    checked = []
    for line in (shared / "cases" / "reports.jsonl").read_text("utf-8").splitlines():
        case = json.loads(line)
        if (case["layer"], case["tier"]) != ("summarise", "direct") or case["n"] in OTHERWISE:
            continue
        checked.append(case["n"])
        run_case(case)

    assert checked == [66, 69, 72, 73, 80, 81, 82, 93, 177, 181, 217, 220, 223, 246, 247]


def run_case(case: dict[str, Any]) -> None:
    given, expected = dict(case["input"]), case["expected"]
    dialect = case["dialect"] if case["dialect"] in PROFILES else "anthropic"
    given["messages"] = given.get("messages", given.get("contents"))
    if case["n"] == 177:  # one exchange is nothing to summarise, and nobody would be asked
        given["messages"] = [*given["messages"] * 2, given["messages"][0]]
    large = texts_of(given["messages"])

    def counter(text: str) -> int:
        return LARGE_TOKENS if text in large else (len(text) + 3) // 4

    conversation = conversation_of(given, dialect)
    asked: list[SummaryRequest] = []
    answer = summariser(given, counter)

    def ask(request: SummaryRequest) -> str:
        asked.append(request)
        return answer(request)

    todo = given.get("pinned_state", {}).get("todo", [])
    pins = [(index, 0) for index, message in enumerate(given["messages"]) if message.get("x_pinned")]
    policy = cl.Policy(window_tokens=16_000, tail_tokens=LARGE_TOKENS * 2, counter=counter, schema="brief")
    options: dict[str, Any] = {"when": "now", "pins": pins, "reminders": ["\n".join(todo)] if todo else []}
    record, outcome = observe(cl.compact, conversation, policy, summarise=ask, repeat=False, **options)

    assert [str(one) for one in judge(record) if one.verdict == "broken"] == [], case["n"]
    given = {**given, "wanted": expected.get("output_contains", ())}
    assert [name for name, wanted in expected.items() if not met(name, wanted, outcome, asked, given)] == [], case["n"]
    if given.get("async"):

        async def later(request: SummaryRequest) -> str:
            return answer(request)

        awaited = asyncio.run(cl.acompact(conversation, policy, summarise=later, **options))
        assert (awaited.reason, awaited.conversation is conversation) == (outcome.reason, True)


def handed(shared: Path, number: int) -> dict[str, Any]:
    """One case."""
    lines = (shared / "cases" / "reports.jsonl").read_text("utf-8").splitlines()
    found: dict[str, Any] = next(case for case in map(json.loads, lines) if case["n"] == number)
    return found


def test_a_result_without_the_prompt_is_blamed(shared: Path) -> None:
    """178: of what was there before, the checks miss what the case says is missing."""
    case = handed(shared, 178)
    given, expected = case["input"], case["expected"]
    kinds: tuple[Any, ...] = ("harness", "prompt", "model")
    record = Record(
        dialect=case["dialect"], before=given["messages"], after=given["result_candidate"], outcome="compacted", kinds=kinds
    )
    blamed = [str(one) for one in judge(record, laws=["L8"]) if one.verdict == "broken"]

    assert bool(blamed) is not expected["postcondition_ok"]
    assert [given["messages"][1]["content"]] == expected["missing"]
    assert "message 1" in blamed[0]


@pytest.mark.parametrize("number", [231, 232])
def test_quotations_that_nobody_said_are_flagged(shared: Path, number: int) -> None:
    """231, 232: and one that the summary before had stays as it is."""
    case = handed(shared, number)
    given, expected = case["input"], case["expected"]
    words = "".join(f"- {line}\n" for line in given["summary"].split("\n"))
    reply = f"## Goal\n(none)\n## Orders, constraints and preferences\n(none)\n## Done\n{words}## Next step\n- go on"
    filler = [{"role": "assistant", "content": "and so on " * 600}, {"role": "user", "content": "go on"}]
    subject = cl.parse([*given["messages"], *filler], dialect="anthropic")
    previous = f"## Goal\n(none)\n## Critical context\n- {given['previous_summary']}" if "previous_summary" in given else None
    policy = cl.Policy(window_tokens=4_000, tail_tokens=40, schema="brief")
    outcome = cl.compact(subject, policy, when="now", summarise=lambda _: reply, previous=previous)

    assert isinstance(outcome, cl.Compacted), outcome
    flagged = [line for line in outcome.summary.split("\n") if "[unverified]" in line]
    assert [quote for quote in expected["unsupported_quotes"] if not any(quote in line for line in flagged)] == []
    assert len(flagged) == len(expected["unsupported_quotes"])
