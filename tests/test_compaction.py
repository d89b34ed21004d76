"""The engine step by step: layout, what is kept, what is asked, how it ends."""

from __future__ import annotations

from typing import Any

import pytest

import compactlib as cl
from compactlib.compaction import compaction
from compactlib.model import Conversation, Origin, Text
from compactlib.outcomes import AskSummary, Compacted, Refused, SummaryFailed, Unchanged
from compactlib.summaries.acceptance import Summary
from compactlib.summaries.faults import CODES, FAULTS
from compactlib.summaries.head import read_summary
from compactlib.summaries.rendering import SummaryRequest
from compactlib.tasks import Task

from .test_turns import call, chat, model, result, text, user

BODY = """## Goal
Migrate the schema.

## Orders, constraints and preferences
(none)

## Done
- looked at the files

## In progress
(none)

## Blocked
(none)

## Decisions
(none)

## Rejected and cancelled
(none)

## Identifiers, errors and files
(none)

## Open questions
(none)

## Next step
- go on

## Critical context
(none)
"""


def words(count: int, seed: str = "w") -> str:
    return " ".join(f"{seed}{number}" for number in range(count))


def by_words(text_: str) -> int:
    """One token a word: sizes that a reader can check."""
    return len(text_.split())


POLICY = cl.Policy(window_tokens=4_000, reserve_tokens=0, counter=by_words, summariser_window_tokens=100_000)


def answer(request: SummaryRequest) -> str:
    del request
    return BODY


def turn(number: int, size: int = 300) -> list[dict[str, Any]]:
    name = f"c{number}"
    return [
        user(f"prompt {number}: " + words(20, f"p{number}")),
        model(text("looking"), call(name)),
        user(result(name, words(size, f"r{number}"))),
        model(text("done with " + words(30, f"m{number}"))),
    ]


def long_conversation(turns: int = 12, dialect: str = "anthropic", **settings: Any) -> Conversation:
    messages = [message for number in range(turns) for message in turn(number)]
    return cl.parse({**settings, "messages": messages} if settings else messages, dialect=dialect)


def compacted(outcome: cl.Outcome) -> Compacted:
    assert isinstance(outcome, Compacted), (outcome.reason, getattr(outcome, "why", ""))
    return outcome


def test_a_turn_cut_keeps_the_longest_tail_that_fits() -> None:
    """Summary, then the turn's prompt, then whole steps: the same objects as before."""
    conversation = long_conversation()
    outcome = compacted(cl.compact(conversation, POLICY, summarise=answer))
    messages = outcome.conversation.messages
    kept = conversation.messages[outcome.cut :]

    assert outcome.kept_prompt is None
    assert outcome.reason == "target-met"
    assert outcome.after_tokens <= outcome.report["sizes"]["target"]
    assert messages[0].origin is Origin.SUMMARY
    assert all(one is other for one, other in zip(messages[1:], kept, strict=True))
    assert kept[0].text.startswith("prompt ")


def test_a_step_cut_keeps_its_prompt_verbatim() -> None:
    """One prompt and many steps: the prompt stands between the summary and the kept steps, the same object."""
    steps = [message for number in range(20) for message in turn(number)[1:3]]
    conversation = cl.parse([user("the one prompt"), *steps], dialect="anthropic")
    outcome = compacted(cl.compact(conversation, POLICY, summarise=answer))
    messages = outcome.conversation.messages

    assert outcome.kept_prompt == 0
    assert messages[1] is conversation.messages[0]
    assert messages[2] is conversation.messages[outcome.cut]
    assert "under-way=yes" in messages[0].text


def test_the_head_is_one_message_on_an_anthropic_wire_and_several_elsewhere() -> None:
    """Fusing is the dialect's business; indices are the wire's."""
    outcome = compacted(cl.compact(long_conversation(), POLICY, summarise=answer, reminders=["two files changed"]))
    first = cl.render(outcome.conversation)[0]

    assert [block["type"] for block in first["content"]] == ["text"] * 4  # summary, earlier prompts, reminder, prompt
    assert outcome.conversation.length == len(cl.render(outcome.conversation))


def test_a_second_compaction_replaces_the_first_summary() -> None:
    """Law L20: shown once as the previous summary, and gone from the output; the wire lies between the two."""
    first = compacted(cl.compact(long_conversation(), POLICY, summarise=answer))
    again = cl.render(first.conversation) + [message for number in range(20, 32) for message in turn(number)]
    conversation = cl.parse(again, dialect="anthropic")
    shown: list[SummaryRequest] = []

    def remember(request: SummaryRequest) -> str:
        shown.append(request)
        return BODY.replace("looked at the files", "looked at the files\n- and more")

    second = compacted(cl.compact(conversation, POLICY, summarise=remember))
    [request] = shown

    assert request.previous == first.summary
    assert request.text.count("looked at the files") == 1
    summaries = [message for message in second.conversation.messages if message.origin is Origin.SUMMARY]
    assert len(summaries) == 1
    assert read_summary(summaries[0].text) is not None


def test_nothing_happens_below_the_trigger_nor_again_without_news() -> None:
    """Law L17: the same object, and nobody is asked."""

    def never(request: SummaryRequest) -> str:
        raise AssertionError("asked")

    small = long_conversation(2)
    outcome = cl.compact(small, POLICY, summarise=never)
    assert isinstance(outcome, Unchanged)
    assert (outcome.reason, outcome.conversation is small) == ("below-trigger", True)
    done = compacted(cl.compact(long_conversation(), POLICY, summarise=answer)).conversation
    again = cl.compact(done, POLICY, summarise=never, when="now")
    assert isinstance(again, Unchanged)
    assert (again.reason, again.conversation is done) == ("nothing-new", True)


def test_auto_off_is_said() -> None:
    """A switched-off automatic compaction is no silent no-op, and a person may still ask."""
    off = cl.Policy(window_tokens=4_000, reserve_tokens=0, counter=by_words, auto=False)

    assert cl.compact(long_conversation(), off, summarise=answer).reason == "auto-off"
    assert isinstance(cl.compact(long_conversation(), off, summarise=answer, when="now"), Compacted)


ALWAYS = sorted(name for name, code in CODES.items() if code and name not in ("not-smaller", "same-as-previous", "reopen"))


@pytest.mark.parametrize("fault", ALWAYS)
def test_a_failed_summary_changes_nothing(fault: str) -> None:
    """Law L6: the same object comes back, the reason names the fault."""
    conversation = long_conversation()
    conversation = cl.parse([user("what does this setting do?"), *cl.render(conversation)], dialect="anthropic")
    outcome = cl.compact(conversation, POLICY, summarise=FAULTS[fault])
    code = CODES[fault]

    assert isinstance(outcome, Refused), outcome.reason
    assert code is not None
    assert (outcome.reason, outcome.conversation is conversation) == (f"summary-failed:{code.value}", True)


def test_the_previous_summary_again_is_no_summary() -> None:
    """Law L6: something was to be added."""
    first = compacted(cl.compact(long_conversation(), POLICY, summarise=answer))
    again = cl.render(first.conversation) + [message for number in range(20, 32) for message in turn(number)]
    conversation = cl.parse(again, dialect="anthropic")
    outcome = cl.compact(conversation, POLICY, summarise=FAULTS["same-as-previous"])

    assert (outcome.reason, outcome.conversation is conversation) == ("summary-failed:same-as-previous", True)


def test_a_result_that_is_not_smaller_is_not_applied() -> None:
    """Law L12: measured as assembled, not promised by the plan."""
    messages = [*turn(0, size=230), *(message for number in range(1, 4) for message in turn(number))]
    conversation = cl.parse(messages, dialect="anthropic")
    policy = cl.Policy(
        window_tokens=4_000, reserve_tokens=0, counter=by_words, tail_tokens=1_200, summariser_window_tokens=100_000
    )
    outcome = cl.compact(conversation, policy, summarise=lambda request: BODY + words(240), when="now")

    assert (outcome.reason, outcome.conversation is conversation) == ("summary-failed:not-smaller", True)


def test_what_is_no_exception_passes_through() -> None:
    """An interrupt is the caller's; the conversation is untouched because nothing is ever edited."""

    def interrupted(request: SummaryRequest) -> str:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cl.compact(long_conversation(), POLICY, summarise=interrupted)


def test_a_reply_that_is_too_long_is_asked_for_once_more() -> None:
    """With other instructions, because an identical request is never sent twice (law L14)."""
    asked: list[SummaryRequest] = []

    def long_then_short(request: SummaryRequest) -> str:
        asked.append(request)
        return BODY + words(3_000) if len(asked) == 1 else BODY

    compacted(cl.compact(long_conversation(), POLICY, summarise=long_then_short))

    assert [request.attempt for request in asked] == [1, 2]
    assert asked[0].instructions != asked[1].instructions


def test_pins_and_reminders_have_their_places() -> None:
    """Pins before the summary, reminders after it, and a pinned result is quoted."""
    conversation = long_conversation()
    outcome = compacted(
        cl.compact(conversation, POLICY, summarise=answer, pins=[0, (2, 0)], reminders=[lambda: "live state", " "])
    )
    origins = [message.origin for message in outcome.conversation.messages[:3]]
    pins = outcome.conversation.messages[0]

    assert origins == [Origin.PIN, Origin.SUMMARY, Origin.REMINDER]
    assert pins.blocks[0] == Text(conversation.messages[0].text)
    assert "[pinned result of c0]" in pins.text
    again = cl.parse(cl.render(outcome.conversation), dialect="anthropic")
    assert [message.origin for message in again.messages[:3]] == origins


def test_pins_that_leave_no_room_are_named() -> None:
    """The outcome says what is irreducible; nobody is asked."""
    huge = cl.parse([user(words(2_000)), *(message for number in range(12) for message in turn(number))], dialect="anthropic")
    outcome = cl.compact(huge, POLICY, summarise=answer, pins=[0])

    assert isinstance(outcome, Refused)
    assert outcome.reason == "irreducible"


@pytest.mark.parametrize("pin", [99, -1, (0, 5)])
def test_a_pin_that_is_not_there_is_an_error(pin: Any) -> None:
    """A misplaced pin is the caller's mistake and said so."""
    with pytest.raises(cl.PolicyError, match="pins"):
        cl.compact(long_conversation(), POLICY, summarise=answer, pins=[pin])


def test_callbacks_that_fail_refuse_and_change_nothing() -> None:
    """A counter or a reminder that raises or returns nonsense."""
    conversation = long_conversation()
    counters: list[Any] = [lambda text: -1, lambda text: 1.5, lambda text: None, lambda text: 1 // 0]
    for counter in counters:
        policy = cl.Policy(window_tokens=4_000, counter=counter)
        outcome = cl.compact(conversation, policy, summarise=answer)
        assert (outcome.reason, outcome.conversation is conversation) == ("callback:counter", True)
    outcome = cl.compact(conversation, POLICY, summarise=answer, reminders=[lambda: 1 // 0])  # type: ignore[list-item, return-value]
    assert (outcome.reason, outcome.conversation is conversation) == ("callback:reminders", True)


def test_overhead_that_leaves_nothing_is_refused_before_anybody_is_asked() -> None:
    """And the outcome says by how much."""
    tools = [{"name": "t", "description": words(3_500), "input_schema": {}}]
    outcome = cl.compact(long_conversation(tools=tools), POLICY, summarise=answer)

    assert isinstance(outcome, Refused)
    assert outcome.reason == "overhead-exceeds-threshold"


def test_one_step_larger_than_everything_is_irreducible() -> None:
    """There is no legal cut that helps, and the outcome names the messages."""
    conversation = cl.parse([user("go"), model(call("a")), user(result("a", words(5_000)))], dialect="anthropic")
    outcome = cl.compact(conversation, POLICY, summarise=answer)

    assert isinstance(outcome, Refused)
    assert outcome.reason == "irreducible"
    assert outcome.irreducible_tokens > 5_000
    assert {1, 2} <= {index for part in outcome.irreducible for index in part.messages}


def test_a_conversation_of_one_message_has_no_legal_cut() -> None:
    """And that is said."""
    conversation = cl.parse([user(words(5_000))], dialect="anthropic")

    assert cl.compact(conversation, POLICY, summarise=answer).reason == "no-legal-cut"


def test_words_typed_beside_results_are_quoted_when_their_step_goes() -> None:
    """Law L8: they are a person's words."""
    mixed = user(result("x", words(300)), text("use uuid keys"))
    messages = [user("go"), model(call("x")), mixed, *(message for number in range(12) for message in turn(number))]
    outcome = compacted(cl.compact(cl.parse(messages, dialect="anthropic"), POLICY, summarise=answer))

    assert "use uuid keys" in outcome.conversation.messages[0].blocks[1].text  # type: ignore[union-attr]  # a text


def test_system_messages_stay_in_order_at_the_front() -> None:
    """Law L26, where they stand among the messages."""
    turns = [
        message
        for number in range(12)
        for message in chat(
            ("user", f"prompt {number}"), ("calls", [f"c{number}"]), ("tool", (f"c{number}", words(300))), ("assistant", "ok")
        )
    ]
    body = [{"role": "system", "content": "one"}, *turns[:8], {"role": "developer", "content": "two"}, *turns[8:]]
    outcome = compacted(cl.compact(cl.parse(body, dialect="openai-chat"), POLICY, summarise=answer))

    assert [message["content"] for message in cl.render(outcome.conversation)[:2]] == ["one", "two"]
    assert outcome.conversation.messages[2].origin is Origin.SUMMARY


def test_the_engine_is_a_generator_that_asks_and_is_answered() -> None:
    """Sans-I/O: whoever drives it decides where the reply comes from."""
    engine = compaction(long_conversation(), POLICY, Task())
    event = next(engine)

    assert isinstance(event, AskSummary)
    with pytest.raises(StopIteration) as stop:
        engine.send(Summary(BODY))
    assert isinstance(stop.value.value, Compacted)


def test_a_failure_that_is_sent_is_an_outcome() -> None:
    """A driver says that the summariser did not answer."""
    engine = compaction(long_conversation(), POLICY, Task())
    next(engine)
    with pytest.raises(StopIteration) as stop:
        engine.send(SummaryFailed("timeout", "after 60 s"))

    assert stop.value.value.reason == "summary-failed:timeout"


def test_undo_gives_the_input_object() -> None:
    """Law L10."""
    conversation = long_conversation()

    assert compacted(cl.compact(conversation, POLICY, summarise=answer)).undo() is conversation


def test_an_outcome_has_no_truth_value() -> None:
    """Three answers do not fit into two."""
    with pytest.raises(TypeError, match="neither true nor false"):
        bool(cl.compact(long_conversation(), POLICY, summarise=answer))


def test_the_conversation_passed_in_is_never_changed() -> None:
    """Law L19."""
    conversation = long_conversation()
    before = cl.render(conversation)
    cl.compact(conversation, POLICY, summarise=answer)

    assert cl.render(conversation) == before


def test_the_report_is_json_with_the_same_keys_for_every_outcome() -> None:
    """Programs can rely on it."""
    import json

    outcomes: list[cl.Outcome] = [
        cl.compact(long_conversation(), POLICY, summarise=answer),
        cl.compact(long_conversation(2), POLICY, summarise=answer),
        cl.compact(long_conversation(), POLICY, summarise=FAULTS["empty"]),
    ]
    for outcome in outcomes:
        assert json.loads(json.dumps(outcome.report)) == outcome.report
    assert len({tuple(sorted(set(outcome.report) - {"why"})) for outcome in outcomes}) == 1


def test_a_pinned_prompt_stands_once() -> None:
    """Law L8: in the pins, not in the quotations beside them, also when its content was one string."""
    conversation = long_conversation()
    outcome = compacted(cl.compact(conversation, POLICY, summarise=answer, pins=[0]))
    body = str(cl.render(outcome.conversation)[0])

    assert body.count(conversation.messages[0].text) == 1


# -- wishes for the tail -----------------------------------------------------------------------------------------------


def tail_of(outcome: cl.Outcome) -> tuple[int, str]:
    assert isinstance(outcome, Compacted)
    return outcome.report["cut"]["tail_tokens"], outcome.report["cut"]["bound"]


def test_a_wish_lengthens_the_tail_as_far_as_there_is_room_and_never_shortens_it() -> None:
    """The outcome names the bound that decided."""
    conversation = long_conversation(40)
    options: dict[str, Any] = {"window_tokens": 32_000, "counter": len, "tail_tokens": 500}
    plain = cl.compact(conversation, cl.Policy(**options), when="now", summarise=answer)
    turns = cl.compact(conversation, cl.Policy(**options, tail_turns=2), when="now", summarise=answer)
    messages = cl.compact(conversation, cl.Policy(**options, tail_messages=9), when="now", summarise=answer)
    all_ = cl.compact(conversation, cl.Policy(**options, tail_turns=40), when="now", summarise=answer)
    none = cl.compact(conversation, cl.Policy(**options, tail_turns=1), when="now", summarise=answer)

    assert tail_of(plain)[1] == "tail_tokens"
    assert tail_of(turns)[1] == tail_of(messages)[1] == "wish"
    assert tail_of(plain)[0] < tail_of(turns)[0] < tail_of(all_)[0]
    assert tail_of(all_)[1] == "room"
    assert tail_of(none)[0] >= tail_of(plain)[0]
    assert isinstance(all_, Compacted)
    assert all_.reason == "target-met"


def test_system_message_that_may_not_stand_first_is_not_moved() -> None:
    """Anthropic takes one among the others alone: law L26 has no place for it, so no cut falls behind it."""
    added = {"type": "tool_addition", "tool": {"type": "tool_reference", "name": "read"}}
    first, *others = cl.render(long_conversation())
    conversation = cl.parse([first, {"role": "system", "content": [added]}, *others], dialect="anthropic")
    outcome = cl.compact(conversation, POLICY, when="now", summarise=answer)

    assert isinstance(outcome, Refused)
    assert outcome.reason == "no-legal-cut"
    assert outcome.conversation is conversation


def test_instructions_in_the_middle_stay_in_the_middle() -> None:
    """Where they are plain words, which newer models take there: what stands before them is compacted, they are not moved."""
    messages = cl.render(long_conversation())
    at = cl.legal_cuts(long_conversation()).turn[2]
    told = {"role": "system", "content": "The build was fixed meanwhile."}
    conversation = cl.parse([*messages[:at], told, *messages[at:]], dialect="anthropic")
    outcome = cl.compact(conversation, POLICY, when="now", summarise=answer)

    assert isinstance(outcome, Compacted)
    assert max(*cl.legal_cuts(conversation).turn, *cl.legal_cuts(conversation).step) < at
    assert {(one.rule, one.level) for one in cl.check(outcome.conversation, mode="history")} == {
        ("A-ROLE-02", "warning"), ("A-ALT-01", "info")
    }  # fmt: skip
