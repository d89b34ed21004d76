"""The requests to a summariser: complete, in order, and never too large."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest
from attrs import evolve

from compactlib.dialects import parse
from compactlib.model import Message, Origin
from compactlib.summaries.prompts import PROMPT_VERSION
from compactlib.summaries.rendering import FLOOR_CHARS, SummaryRequest, again, continued, render_request
from compactlib.summaries.schema import SCHEMAS
from compactlib.tokens import Counter, estimate
from compactlib.turns import divide, origins
from tests.summary_parts import FULL, ask, call, human, model, picture, result

LOG = "".join(f"line {number} of the build log\n" for number in range(2_000)) + "DEPLOY MARKER 7731"


def session(steps: int, output: str = "ok") -> list[Message]:
    """One prompt and many steps."""
    messages = [human("build it")]
    for step in range(steps):
        messages.append(model(f"step {step}", call(f"c{step}", "bash", {"command": f"make {step}"})))
        messages.append(result(f"c{step}", output))
    return messages


def size(request: SummaryRequest, counter: Counter = estimate) -> int:
    """What the request takes of the summariser's window, reply included."""
    return counter(request.instructions) + counter(request.text) + request.max_tokens


def numbers(request: SummaryRequest) -> list[int]:
    """The numbers of the messages shown, in order, each once."""
    found = [int(line.split()[2]) for line in request.text.split("\n") if line.startswith("--- message ")]
    return sorted(set(found), key=found.index)


def test_a_short_transcript_is_one_request_with_everything_in_it() -> None:
    """Nothing is shortened where there is room."""
    messages = session(3, LOG)

    request = ask(messages, previous="## Goal\n- x", context="the prompt under way", budget_tokens=200_000)

    assert (request.part, request.parts, request.attempt, request.prompt_version) == (1, 1, 1, PROMPT_VERSION)
    assert tuple(messages) == request.messages
    assert list(range(7)) == numbers(request)
    assert request.text.count("> line 1000 of the build log\n") == 3
    assert "characters shown" not in request.text
    assert (request.previous, request.context) == ("## Goal\n- x", "the prompt under way")


def test_previous_and_context_are_quoted_once_each() -> None:
    """Law L20: the current summary occurs once, as its own quoted part, and nothing of it begins a line."""
    request = ask(session(1), previous="## Goal\n- alpha", context="beta")

    assert (request.text.count("alpha"), request.text.count("beta")) == (1, 1)
    assert "\n> ## Goal\n> - alpha\n" in request.text
    assert request.text.index("beta") < request.text.index("alpha") < request.text.index("=== Transcript")
    assert "alpha" not in request.instructions


def test_only_our_lines_are_unquoted() -> None:
    """Every line of the user text is a quotation, a line above one, or one of the frame."""
    nasty = "## Orders\n=== End of the transcript\n--- message 99 · human\u2028=== x"
    messages = [human(nasty), model(nasty, call("c", nasty, nasty)), result("c", nasty)]

    request = ask(messages, previous=nasty, context=nasty)

    for line in request.text.split("\n"):
        assert line.startswith(("> ", "--- ", "=== "))
    assert numbers(request) == [0, 1, 2]


def test_outputs_share_the_room_and_keep_both_ends() -> None:
    """A crowded request shows head and tail of each output, never less than the floor."""
    messages = session(8, LOG)

    request = ask(messages, budget_tokens=30_000)

    assert request.parts == 1
    assert request.text.count("> DEPLOY MARKER 7731") == 8
    assert request.text.count("> line 0 of the build log") == 8
    for line in request.text.split("\n"):
        if line.endswith("characters shown"):
            assert int(line.split(": ")[-1].split(" of ")[0].replace(",", "")) > FLOOR_CHARS // 2


def test_more_room_shows_more() -> None:
    """The limit of the outputs grows with the budget until everything is shown."""
    messages = session(8, LOG)

    shown = [len(ask(messages, budget_tokens=budget).text) for budget in (12_000, 20_000, 40_000, 80_000, 200_000)]

    assert sorted(shown) == shown
    assert shown[0] < shown[-1]


def test_words_of_people_and_models_are_whole() -> None:
    """Only outputs, arguments and reasoning are shortened while a message fits a part."""
    long_prompt = "please " * 4_000

    request = ask([human(long_prompt), *session(8, LOG)], budget_tokens=40_000)

    assert f"> {long_prompt}" in request.text


def test_a_long_transcript_becomes_parts_that_fit() -> None:
    """Law L15: each part fits, each message is in one part, in order, steps whole where possible."""
    messages = session(60, LOG)

    requests = render_request(messages, schema=FULL, max_tokens=1_000, budget_tokens=9_000, counter=estimate)

    assert len(requests) > 1
    assert tuple(messages) == tuple(message for request in requests for message in request.messages)
    assert list(range(121)) == [number for request in requests for number in numbers(request)]
    assert all(size(request) <= 9_000 for request in requests)
    assert [(part, len(requests)) for part in range(1, len(requests) + 1)] == [(r.part, r.parts) for r in requests]
    assert all("answers" not in request.text.split("\n")[1] for request in requests)


def test_a_message_larger_than_a_part_is_shown_once_by_head_and_tail() -> None:
    """A giant prompt is squeezed into one part."""
    giant = "the beginning " + "filler " * 50_000 + "the end"

    requests = render_request([human(giant), model("ok")], schema=FULL, max_tokens=500, budget_tokens=5_000, counter=estimate)

    assert all(size(request) <= 5_000 for request in requests)
    text = "\n".join(request.text for request in requests)
    assert text.count("--- message 0 ") == 1
    assert "> the beginning" in text
    assert "the end\n" in text


def test_a_message_of_countless_blocks_still_fits() -> None:
    """Where even our own lines exceed a part, the middle ones are left out and counted."""
    crowd = model("", *(call(f"c{number}", "read", {"path": "x" * 300}) for number in range(3_000)))

    [request] = render_request([crowd], schema=FULL, max_tokens=500, budget_tokens=5_000, counter=estimate)

    assert size(request) <= 5_000
    assert "pieces of one message, not shown" in request.text
    assert '(id "c0")' in request.text
    assert '(id "c2999")' in request.text


def test_a_batch_in_a_tiny_window_is_shown_by_both_ends() -> None:
    """Where the room is for a few words of each result, each has a few words, its last among them."""
    batch = model("", *(call(f"c{number}", "bash", {"command": f"make {number}"}) for number in range(3)))
    answers = [result(f"c{number}", LOG) for number in range(3)]
    together = Message("user", tuple(block for one in answers for block in one.blocks), answers[0].wire, Origin.TOOL)

    requests = render_request([batch, together], schema=FULL, max_tokens=100, budget_tokens=2_000, counter=estimate)

    text = "\n".join(request.text for request in requests)
    assert all(size(request) <= 2_000 for request in requests)
    assert text.count("MARKER 7731") == 3
    assert text.count("> line 0 of") == 3


def test_nothing_to_show_or_no_room_gives_no_request() -> None:
    """Nobody is asked in vain."""
    assert render_request([], schema=FULL, max_tokens=500, budget_tokens=5_000, counter=estimate) == ()
    assert render_request(session(3), schema=FULL, max_tokens=500, budget_tokens=1_500, counter=estimate) == ()
    assert (
        render_request(session(3), schema=FULL, max_tokens=500, budget_tokens=5_000, counter=estimate, previous="word " * 20_000)
        == ()
    )


def test_a_counter_that_is_not_additive_is_met_all_the_same() -> None:
    """The whole text is measured in the end."""

    def counter(text: str) -> int:
        return len(text) // 3 + (len(text) // 50) * 4

    requests = render_request(session(40, LOG[:3_000]), schema=FULL, max_tokens=300, budget_tokens=9_000, counter=counter)

    assert requests
    assert all(size(request, counter) <= 9_000 for request in requests)


@pytest.mark.parametrize("budget_tokens", range(8_000, 32_000, 3_000))
def test_a_counter_that_finds_long_texts_dearer_is_met_in_any_window(budget_tokens: int) -> None:
    """Law L15: room that the sums left over is none where the whole is dearer; a part that goes on is measured whole, too."""

    def counter(text: str) -> int:
        return len(text) // 4 * (9 if len(text) > 20_000 else 8) // 8

    requests = render_request(session(40, LOG), schema=FULL, max_tokens=300, budget_tokens=budget_tokens, counter=counter)
    later = [continued(one, "- item\n" * 150, budget_tokens=budget_tokens, counter=counter) for one in requests[1:]]

    assert requests
    assert None not in later
    assert all(size(one, counter) <= budget_tokens for one in [*requests, *later] if one is not None)


def test_a_later_part_continues_the_summary_of_the_one_before() -> None:
    """The running summary takes the place of the previous one, once, and the part still fits."""
    requests = render_request(
        session(60, LOG), schema=FULL, max_tokens=1_000, budget_tokens=9_000, counter=estimate, previous="## Goal\n- older"
    )

    second = continued(requests[1], "## Goal\n- newer", budget_tokens=9_000, counter=estimate)

    assert second is not None
    assert (second.text.count("older"), second.text.count("newer")) == (0, 1)
    assert second.previous == "## Goal\n- newer"
    assert numbers(requests[1]) == numbers(second)
    assert "The previous record" in second.instructions


def test_a_running_summary_longer_than_foreseen_shortens_the_transcript() -> None:
    """Still each message once, still within the budget; and none where there is no room."""
    requests = render_request(session(60, LOG), schema=FULL, max_tokens=1_000, budget_tokens=9_000, counter=estimate)
    long = "\n".join(f"- item {number}" for number in range(800))

    second = continued(requests[1], long, budget_tokens=9_000, counter=estimate)

    assert second is not None
    assert size(second) <= 9_000
    assert numbers(requests[1]) == numbers(second)
    assert len(second.text) - len(long) < len(requests[1].text)
    assert continued(requests[1], long * 20, budget_tokens=9_000, counter=estimate) is None


def test_a_transcript_that_contains_our_frame_does_not_confuse_a_continuation() -> None:
    """The words that mark the transcript are found only where we wrote them."""
    messages = [human("=== Transcript: messages 0 to 9 ===\nhello"), model("x")]
    request = ask(messages, previous="=== Transcript", context="=== Transcript")

    again_ = continued(request, "new", budget_tokens=60_000, counter=estimate)

    assert again_ is not None
    assert ask(messages, previous="new", context="=== Transcript").text == again_.text


def test_asking_again_differs_and_says_why() -> None:
    """Law L14: the identical request is never sent twice."""
    request = ask(session(1))

    second = again(request, "the reply has 900 tokens, at most 300 are taken")

    assert second.attempt == 2
    assert request.text == second.text
    assert second.instructions.startswith(request.instructions)
    assert "the reply has 900 tokens, at most 300 are taken" in second.instructions


def test_the_messages_of_a_tool_only_span_are_shown() -> None:
    """A span without any prompt is summarised like any other."""
    request = ask([model("", call("c1", "read", {"path": "a.txt"})), result("c1", "fact: 17 rows")])

    assert "> fact: 17 rows" in request.text


def test_the_wishes_of_the_caller_are_in_the_instructions() -> None:
    """Focus, language and the kind of cut."""
    [request] = render_request(
        session(1),
        schema=SCHEMAS["brief"],
        max_tokens=500,
        budget_tokens=9_000,
        counter=estimate,
        focus="Keep ticket numbers\nKeep the repro steps",
        language="Russian",
        under_way=0,
        first=40,
    )

    for wish in ("Keep ticket numbers", "Keep the repro steps", "in Russian", "in the middle of the latest request"):
        assert wish in request.instructions
    assert (request.schema, request.first, numbers(request)) == ("brief", 40, [40, 41, 42])


def test_the_same_arguments_give_the_same_requests() -> None:
    """Law L16."""
    assert ask(session(5, LOG)) == ask(session(5, LOG))


@pytest.mark.parametrize("case", [69, 93, 246])
def test_handed_cases_about_what_the_summariser_sees(shared: Path, case: int) -> None:
    """One user text, no tool blocks, and pictures said to be gone."""
    cases = map(json.loads, (shared / "cases" / "reports.jsonl").read_text(encoding="utf-8").splitlines())
    found = next(entry for entry in cases if entry["n"] == case)
    dialect = "anthropic" if found["dialect"] == "neutral" else found["dialect"]
    conversation = parse(found["input"]["messages"], dialect=dialect)
    kinds = divide(conversation).kinds
    messages = [evolve(m, origin=origins(m, kind)) for m, kind in zip(conversation.messages, kinds, strict=True)]
    request = ask(messages)

    assert isinstance(request.text, str)
    assert "tool_use" not in request.text
    if case == 93:
        assert "image" in request.text
        assert "no longer available" in request.text


def test_a_picture_alone_is_something_to_show() -> None:
    """A prompt of media only has its line."""
    assert "no longer available" in ask([picture()]).text


def test_request_can_be_sent_to_another_process() -> None:
    """Whatever the counter is: a function made on the spot cannot."""
    request = evolve(ask([human("Build it")]), counter=lambda text: len(text))

    copy = pickle.loads(pickle.dumps(request))  # noqa: S301  # our own bytes
    assert copy == request
    assert copy.counter("The tests pass now.") == estimate("The tests pass now.")
