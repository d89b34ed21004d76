"""
Reports of real faults in clearing, in stored text and in whole sessions, each reduced to an input and an expectation.

Every report about cutting, clearing, summarising, truncating and storing is
accounted for here (`ELSEWHERE`, `LATER`); the ones about clearing, and those
that need an adapter, are run here.

How their words map to ours: texts in the reports are short, and a short text
is not worth a stub, so each result that a report does not give a size is made
long.  ``keep_last_calls`` is `Clearing.keep`; ``clear_results_older_than``
counts turns, and all results here are older; ``min_chars`` is what a stub costs
anyway.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import pytest
from attrs import evolve

import compactlib as cl
from compactlib.admission import admit
from compactlib.conformance.checks import judge
from compactlib.conformance.running import observe
from compactlib.model import Call, Conversation, Media, Message, Origin, Result, Text, wire
from compactlib.options import Admission, Clearing, Limit
from compactlib.outputs import answered
from compactlib.store import MemoryStore
from compactlib.stubs import read_stub
from compactlib.summaries.acceptance import Summary
from compactlib.summaries.rendering import SummaryRequest, render_request
from compactlib.summaries.schema import SCHEMAS, parse_sections
from compactlib.tokens import MESSAGE_TOKENS, Anchor
from compactlib.transcripts.lines import read_content

LAYERS: Final = ("cut", "clear", "summarise", "truncate", "store")
ELSEWHERE: Final = {
    "test_cuts.py": (1, 3, 4, 8, 9, 14, 91, 92, 206, 209, 258),
    "test_dialect_gemini.py": (13,),
    "test_dialect_responses.py": (71,),
    "test_dialect_bedrock.py": (158, 184),
    "test_handed_summarise.py": (66, 69, 72, 73, 80, 81, 82, 93, 177, 178, 181, 217, 220, 223, 231, 232, 246, 247),
    "test_handed_truncate.py": (118, 119, 120, 122, 125, 126, 128, 129, 130, 244),
    "test_log.py": (179, 189, 190, 193),
}
LONG: Final = "said the tool again and again, and all of it was well\n" * 40


def reports(shared: Path) -> dict[int, dict[str, Any]]:
    """The reports of these layers, by number."""
    cases = map(json.loads, (shared / "cases" / "reports.jsonl").read_text("utf-8").splitlines())
    return {case["n"]: case for case in cases if case["layer"] in LAYERS}


def test_every_report_is_accounted_for(shared: Path) -> None:
    """Run here, run elsewhere, or named with the reason why not; none twice."""
    elsewhere = [number for numbers in ELSEWHERE.values() for number in numbers]
    named = [*CLEAR, *SCENARIOS, *elsewhere]

    assert sorted(named) == sorted(reports(shared))


# --- Clearing --------------------------------------------------------------------------------------------------------

CLEAR: Final = (84, 144, 146, 147, 149, 255, 256, 259, 260)


def long(value: Any) -> Any:
    """The same with every short result made long, and without annotations."""
    if isinstance(value, list):
        return [long(item) for item in value]
    if not isinstance(value, dict):
        return value
    found = {key: long(item) for key, item in value.items() if key[:2] != "x_"}
    if (found.get("type") == "tool_result" and isinstance(found["content"], str)) or found.get("role") == "tool":
        found["content"] = padded(found["content"])
    elif "toolResult" in found:
        found["toolResult"]["content"] = [{"text": padded(part["text"])} for part in found["toolResult"]["content"]]
    return found


def padded(text: str) -> str:
    return text if len(text) > 400 else f"{text}\n{LONG}{text}"


def as_written(value: Any) -> Any:
    """The same without annotations alone."""
    if isinstance(value, list):
        return [as_written(item) for item in value]
    return {key: as_written(item) for key, item in value.items() if key[:2] != "x_"} if isinstance(value, dict) else value


def cleared_ids(conversation: Conversation, issued: Mapping[str, tuple[int, int]]) -> list[str]:
    """The calls whose results are stubs, media or text."""
    return [
        answer.call.id
        for answer in answered(conversation.messages)
        if any(isinstance(block, Text) and read_stub(block.text, issued=issued) for block in answer.result.blocks)
    ]


@pytest.mark.parametrize("number", CLEAR)
def test_reports_about_clearing(shared: Path, number: int) -> None:
    """What is cleared, what stays, and that no call is torn from its result."""
    case = reports(shared)[number]
    given, expected, policy = case["input"], dict(case["expected"]), case["input"]["policy"]
    dialect = case["dialect"] if case["dialect"] != "neutral" else "anthropic"
    keeps_size = number == 147  # of a short and a long output the long one goes
    subject = cl.parse(as_written(given["messages"]) if keeps_size else long(given["messages"]), dialect=dialect)
    keep = policy.get("keep_last_calls", policy.get("keep_images", 0))
    options = Clearing(keep=keep, clear_at_least_tokens=policy.get("clear_at_least"), exclude_tools=policy.get("keep", ()))
    record, outcome = observe(
        cl.compact,
        subject,
        cl.Policy(window_tokens=4_000, target_tokens=2, tail_tokens=1, clearing=options),
        when="now",
        store=MemoryStore(),
        rungs=["clear"],
        repeat=False,
    )

    assert [str(one) for one in judge(record) if one.verdict == "broken"] == []
    made = outcome.conversation
    ids = cleared_ids(made, outcome.issued if isinstance(outcome, cl.Compacted) else {})
    text = json.dumps(cl.render(made))
    assert len(made.messages) == expected.pop("messages_after", len(subject.messages))
    assert set(expected.pop("ids_cleared", expected.pop("ids_cleared_total", ids))) <= set(ids)
    assert not set(expected.pop("ids_kept", ())) & set(ids)
    assert all(words in text for words in (*expected.pop("text_kept", ()), *expected.pop("known_resources", ())))
    if expected.pop("pairs_intact", False) or expected.pop("status_unchanged", False):
        assert cl.check(made, mode="history") == cl.check(subject, mode="history")
    if number == 84:
        held = [answer for answer in answered(made.messages) if any(isinstance(block, Media) for block in answer.result.blocks)]
        assert (len(held), [one.call.id for one in held]) == (expected.pop("images_left"), [expected.pop("image_kept_in")])
        assert ids == expected.pop("placeholder_in")
    if number == 260:
        (answer,) = answered(made.messages)
        assert len(answer.result.text) <= expected.pop("placeholder_max_chars")
        assert len(given["messages"][2]["content"]) - len(answer.result.text) >= expected.pop("saved_chars_min")
    if number == 255:
        # nothing drops one block; what goes goes together, because both are of one step
        (step, _) = cl.turns(subject)[0].steps
        inside = subject.messages[step.start : step.stop]
        calls = {block.id for message in inside for block in message.blocks if isinstance(block, Call)}
        assert calls == set(expected.pop("dropped_call_ids"))
        assert set(expected.pop("dropped_result_ids")) <= calls
    assert expected.pop("first_role", "user") == "user"
    assert expected == {}


# --- Reports that need an adapter ------------------------------------------------------------------------------------


def _spoken(*texts: str) -> list[dict[str, Any]]:
    """A person and the model in turns."""
    return [{"role": ("user", "assistant")[at % 2], "content": text} for at, text in enumerate(texts)]


def _compacted(outcome: cl.Outcome) -> cl.Compacted:
    assert isinstance(outcome, cl.Compacted), outcome
    return outcome


GOOD: Final = "## Goal\n(none)\n## Orders, constraints and preferences\n(none)\n## Done\n- so far {}\n## Next step\n- go on"
POLICY: Final = cl.Policy(window_tokens=8_000, schema="brief")


def _saying(number: int) -> Callable[[SummaryRequest], str]:
    """A summariser that says each time something else."""
    return lambda _: GOOD.format(number)


def parts_of_a_long_span(given: Any, expected: Any) -> None:
    """65: a span three times as long as the summariser's window is shown in parts that each fit."""
    count = 400
    size: int = given["span_tokens"] // count

    def counter(text: str) -> int:
        return text.count("thousands of words") * size + len(text) // 4

    shown = [Message("model", f"{at}: thousands of words", wire("assistant"), Origin.MODEL) for at in range(count)]
    window = given["summariser_window"] - given["reserve"]
    requests = render_request(shown, schema=SCHEMAS["brief"], max_tokens=2_000, budget_tokens=window, counter=counter)

    assert len(requests) >= expected["summariser_calls_min"]
    largest = max(counter(one.instructions) + counter(one.text) + one.max_tokens for one in requests)
    assert largest <= expected["max_prompt_tokens"]
    assert [message for one in requests for message in one.messages] == shown


def pictures_beside_words(given: Any, expected: Any) -> None:
    """139: of a mixed result the picture goes and the words stay."""
    source = {"type": "base64", "media_type": "image/png", "data": "iVBORw0K" * 4_000}
    blocks = [{"type": "text", "text": given["result_blocks"][0]["text"]}, {"type": "image", "source": source}]
    call = {"type": "tool_use", "id": "a", "name": "shot", "input": {}}
    messages = [
        {"role": "user", "content": "look"},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": blocks}]},
        {"role": "assistant", "content": "seen"},
    ]
    policy = cl.Policy(window_tokens=1_000, tail_tokens=1, clearing=Clearing(keep=0))
    subject = cl.parse(messages, dialect="anthropic")
    outcome = _compacted(cl.compact(subject, policy, when="now", store=MemoryStore(), rungs=["clear"]))
    (answer,) = answered(outcome.conversation.messages)
    first, *rest = answer.result.blocks

    assert {"type": "text", "text": first.text if isinstance(first, Text) else ""} in expected["blocks_after"]
    assert len(rest) == expected["placeholder_count"]
    assert all(isinstance(block, Text) and read_stub(block.text, issued=outcome.issued) for block in rest)


def pins_through_many_passes(given: Any, expected: Any) -> None:
    """218: what is pinned is there once after each of three compactions."""
    (pin,) = given["pinned"]
    conversation = cl.parse(_spoken(pin, "word " * 2_000, "more", "word " * 2_000, "and on", "ok"), dialect="anthropic")
    pins: list[int] = [0]
    for number in range(given["passes"]):
        outcome = _compacted(cl.compact(conversation, POLICY, when="now", pins=pins, summarise=_saying(number)))
        said = json.dumps(cl.render(outcome.conversation))
        assert all(words in said for words in expected["output_contains"])
        assert said.count(pin) == expected["occurrences"]
        more = _spoken(f"go on {number}", "word " * 3_000, "and", "ok")
        messages = (*outcome.conversation.messages, *cl.parse(more, dialect="anthropic").messages)
        conversation, pins = evolve(outcome.conversation, messages=messages), []


def cancelled_stays_cancelled(given: Any, expected: Any) -> None:
    """219: what the task list says was cancelled is no next step."""
    (name,) = given["state"]["cancelled"]
    todos = {"todos": [{"content": name, "status": "cancelled"}]}
    call = {"type": "tool_use", "id": "a", "name": "TodoWrite", "input": todos}
    messages = [
        {"role": "user", "content": "plan it"},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "ok"}]},
        *_spoken("go on", "word " * 4_000, "and", "ok")[1:],
        {"role": "user", "content": "go on"},
    ]
    policy = evolve(POLICY, schema="full")
    outcome = _compacted(cl.compact(cl.parse(messages, dialect="anthropic"), policy, when="now"))
    sections = parse_sections(outcome.summary, SCHEMAS["full"])

    assert [item for item in sections.items("next") if name in item] == expected["rendered_sections"]["next"]
    assert any(name in item for item in sections.items("rejected"))


def wishes_reach_the_summariser(given: Any, expected: Any) -> None:
    """225: standing instructions and those of this one time are both in the request."""
    asked: list[SummaryRequest] = []

    def summarise(request: SummaryRequest) -> str:
        asked.append(request)
        return GOOD.format("")

    focus = "; ".join(given["instructions"].values())
    messages = _spoken("do it", "word " * 4_000, "and", "ok", "go on")
    _compacted(cl.compact(cl.parse(messages, dialect="anthropic"), POLICY, when="now", focus=focus, summarise=summarise))

    assert all(words in request.instructions for request in asked for words in expected["summariser_input_contains"])


def one_list_of_files(given: Any, expected: Any) -> None:
    """226: over two compactions the list of files names each once, and is bounded."""
    conversation = cl.parse([], dialect="anthropic")
    for number in range(given["passes"] + 1):
        paths = ["a.py", "b.py"] if not number else given["read_files"]
        more: list[dict[str, Any]] = [{"role": "user", "content": f"go on {number}"}]
        for path in paths:
            call = {"type": "tool_use", "id": path, "name": "edit", "input": {"path": path}}
            more.append({"role": "assistant", "content": [call]})
            more.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": path, "content": "word " * 1_500}]})
        more += _spoken("and", "ok")[::-1]
        messages = (*conversation.messages, *cl.parse(more, dialect="anthropic").messages)
        subject = evolve(conversation, messages=messages)
        outcome = _compacted(cl.compact(subject, POLICY, when="now", summarise=_saying(number)))
        conversation = outcome.conversation
    lists = [message.text for message in conversation.messages if message.origin is Origin.REMINDER]

    assert len(lists) == expected["list_blocks"]
    assert {path: lists[0].split("\n").count(path) for path in expected["file_occurrences"]} == expected["file_occurrences"]
    assert len(lists[0]) <= expected["list_chars_max"]


def larger_is_not_taken(given: Any, expected: Any) -> None:
    """229: a summary that makes the conversation larger replaces nothing."""
    grows = given["after_tokens"] - given["before_tokens"]
    subject = cl.parse(_spoken("do it", "word " * 60, "and", "ok", "go on"), dialect="anthropic")
    outcome = cl.compact(
        subject,
        cl.Policy(window_tokens=200_000, tail_tokens=10, schema="brief"),
        when="now",
        summarise=lambda _: GOOD.format("word " * grows),
    )

    assert isinstance(outcome, cl.Compacted) is expected["accepted"]
    assert (outcome.conversation is subject) is expected["history_unchanged"]


def failures_are_paid_for(given: Any, expected: Any) -> None:
    """238: what an empty reply cost stands in the report."""
    told = given["summariser"]
    subject = cl.parse(_spoken("do it", "word " * 4_000, "and", "ok", "go on"), dialect="anthropic")
    outcome = cl.compact(subject, POLICY, when="now", summarise=lambda _: Summary(told["returns"], usage=told["usage"]))

    assert (outcome.conversation is subject) is expected["history_unchanged"]
    assert [one["usage"] for one in outcome.report["asked"]] == [expected["reported_usage"]]


def keys_are_redacted_at_the_entrance(given: Any, expected: Any) -> None:
    """235: what the caller's redactor finds in an output is neither shown to the summariser nor in what it wrote."""
    call = {"type": "tool_use", "id": "t1", "name": "env", "input": {}}
    asked, answer = given["messages"]
    messages = [asked, {"role": "assistant", "content": [call]}, answer, *_spoken("go on", "word " * 4_000, "and", "ok")[1:]]
    redactor = re.compile(given["redactor"])
    subject = cl.parse([*messages, {"role": "user", "content": "go on"}], dialect="anthropic")
    made = cl.redact(subject, redactor=lambda text: [(*found.span(), "key") for found in redactor.finditer(text)])
    shown: list[str] = []

    def summarise(request: SummaryRequest) -> str:
        shown.append(f"{request.instructions}{request.text}{request.previous}")
        (line,) = [line for line in request.text.splitlines() if "API_KEY" in line]
        return GOOD.format(line.strip("> |"))

    store = MemoryStore()
    outcome = _compacted(cl.compact(made.conversation, POLICY, when="now", summarise=summarise, store=store))

    assert [one.index for one in made.found] == [2]
    assert "[redacted v1: key, " in outcome.summary
    assert not [words for words in expected["summariser_input_not_contains"] if words in "".join(shown)]
    assert not [words for words in expected["summary_not_contains"] if words in outcome.summary]


def reports_of_agents_share_a_limit(given: Any, expected: Any) -> None:
    """239: seven long reports in one batch are all there, and together within the limit of the batch."""
    results = tuple(Result(f"c{at}", "x" * size, wire("tool_result")) for at, size in enumerate(given["results"]))
    limits = Admission(limit=Limit(limit_tokens=given["per_result_limit"]), batch_tokens=given["batch_limit"])
    policy = cl.Policy(window_tokens=400_000, counter=len, admission=limits)
    made = admit(Message("user", results, wire("user")), policy, MemoryStore())

    assert sum(len(result.text) for result in made.message.results) <= expected["total_max"]
    assert all(result.text for result in made.message.results) is expected["all_results_present"]
    assert len(made.message.results) == len(results)


def accepted(conversation: Conversation) -> bool:
    """Whether a provider would take it as a request."""
    return not any(one.level == "error" for one in cl.check(conversation))


def newest_result_stays(given: Any, expected: Any) -> None:
    """164: asked to clear every result, it clears none that the model has not seen, and no call is left alone."""
    subject = cl.parse(long(given["messages"]), dialect="anthropic")
    policy = cl.Policy(window_tokens=4_000, target_tokens=2, tail_tokens=1, clearing=Clearing(keep=0))
    outcome = _compacted(cl.compact(subject, policy, when="now", store=MemoryStore(), rungs=["clear"]))
    made = outcome.conversation

    assert cleared_ids(made, outcome.issued) == ["t1"]
    assert accepted(made) is expected["valid_after"]
    assert made.messages[-1].role == expected["last_role"]
    assert [one.call_id for one in made.messages[-1].results] == given["policy"]["drop_results"]


def reasoning_goes_with_its_turn(given: Any, expected: Any) -> None:
    """174: of Responses no reasoning goes by itself; with its turn it does, and that of the turn under way stays."""
    messages = [{**item, "summary": []} if item["type"] == "reasoning" else item for item in given["input"]]
    subject = cl.parse(messages, dialect="openai-responses")
    large = {
        block.text for message in subject.messages for block in (*message.blocks, *message.results) if hasattr(block, "text")
    }
    policy = evolve(POLICY, tail_tokens=2_600, counter=lambda text: 1_200 if text in large else (len(text) + 3) // 4)
    outcome = _compacted(cl.compact(subject, policy, when="now", summarise=_saying(0)))
    body = cl.render(outcome.conversation)

    assert [item["id"] for item in body if item.get("type") == "reasoning"] == expected["reasoning_ids_left"]
    assert accepted(outcome.conversation) is expected["pairs_intact"]


def every_kind_of_reasoning_goes(given: Any, expected: Any) -> None:
    """257: where a model thinks in pictures, too, they go with its other thoughts, and no picture that it gave does."""
    picture = {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo=" * 300}}
    kinds = {
        "reasoning": {"text": "hm " * 2_000, "thought": True},
        "reasoning-file": {**picture, "thought": True},
        "text": {"text": "said"},
        "file": picture,
    }
    turn = [
        {"role": "user", "parts": [{"text": "go on"}]},
        {"role": "model", "parts": [kinds[one["type"]] for one in given["parts"]]},
    ]
    subject = cl.parse([*turn, *turn, turn[0]], dialect="gemini")
    policy = cl.Policy(window_tokens=4_000, target_tokens=2, tail_tokens=1, clearing=Clearing(keep=0, thinking_keep_turns=1))
    record, outcome = observe(cl.compact, subject, policy, when="now", store=MemoryStore(), rungs=["clear"], repeat=False)
    parts = cl.render(outcome.conversation)[1]["parts"]

    assert [str(one) for one in judge(record) if one.verdict == "broken"] == []
    assert [name for one in parts for name, part in kinds.items() if part == one] == expected["parts_left_types"]


def view_and_log_are_apart(given: Any, expected: Any) -> None:
    """263: what the model is to see is another value than what was said; the one never takes the place of the other."""
    subject = cl.parse(_spoken("m1 " * 3_000, "m2 " * 3_000, "m3"), dialect="anthropic")
    said = [message.text.split()[0] for message in subject.messages]
    outcome = _compacted(cl.compact(subject, POLICY, when="now", summarise=_saying(0)))

    assert said == given["log_before"]
    assert [message.text[:2] for message in outcome.conversation.messages if message.origin is None] == given["view"][1:]
    assert [message.text.split()[0] for message in subject.messages] == expected["log_after"]
    assert outcome.undo() is subject


def damaged_log_is_read_on(given: Any, expected: Any) -> None:
    """187, 191, 195: a line that cannot be read is named, and the records after it are."""
    made = read_content(given["file_text"].encode("utf-8"))
    ids = [line.value["id"] for line in made.lines]

    assert ids == expected.get("record_ids", expected.get("record_ids_ideal"))
    assert set(expected.get("record_ids_include", ())) <= set(ids)
    assert [problem.line for problem in made.problems] == expected.get("bad_lines", [])
    assert not expected.get("raises", False)
    assert expected.get("findings_include", ["unreadable_line"]) == ["unreadable_line"]


def measured_sizes_decide(given: Any, expected: Any) -> None:
    messages = [{"role": "user", "content": "x" * (tokens - MESSAGE_TOKENS)} for tokens in given["estimates"]]
    conversation = cl.parse(messages, dialect="openai-chat")
    policy = cl.Policy(window_tokens=1_000_000, tail_tokens=given["keep_tokens"], counter=len, retain_prompts=False)
    anchor = Anchor(given["measured_total"], len(messages))

    for measured, kept in ((None, 3), (anchor, expected["kept_messages"])):
        outcome = cl.compact(conversation, policy, when="now", anchor=measured)
        assert isinstance(outcome, cl.Compacted)
        assert conversation.length - outcome.cut == kept
    corrected = outcome.report["corrected"]
    assert isinstance(corrected, dict)
    assert round(corrected["reported_tokens"] / corrected["counted_tokens"], 2) == expected["scale"]


SCENARIOS: Final[dict[int, Callable[[Any, Any], None]]] = {
    65: parts_of_a_long_span,
    115: measured_sizes_decide,
    139: pictures_beside_words,
    164: newest_result_stays,
    174: reasoning_goes_with_its_turn,
    187: damaged_log_is_read_on,
    191: damaged_log_is_read_on,
    195: damaged_log_is_read_on,
    218: pins_through_many_passes,
    219: cancelled_stays_cancelled,
    225: wishes_reach_the_summariser,
    226: one_list_of_files,
    229: larger_is_not_taken,
    235: keys_are_redacted_at_the_entrance,
    238: failures_are_paid_for,
    239: reports_of_agents_share_a_limit,
    257: every_kind_of_reasoning_goes,
    263: view_and_log_are_apart,
}


@pytest.mark.parametrize("number", SCENARIOS)
def test_reports_of_numbers_and_sequences(shared: Path, number: int) -> None:
    """Each through an adapter that says in a sentence what it does."""
    case = reports(shared)[number]

    SCENARIOS[number](case["input"], case["expected"])
