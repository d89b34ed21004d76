"""How a summariser is asked: again with less, at the end of the agent's own request, and never twice the same."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

import compactlib as cl
from compactlib.conformance.checks import judge
from compactlib.conformance.running import observe
from compactlib.dialects import messages_key
from compactlib.outcomes import Compacted, Refused, SummaryFailed
from compactlib.summaries.acceptance import Code, Summary
from compactlib.summaries.rendering import SummaryRequest
from compactlib.summarisers import CommandSummariser
from compactlib.tokens import estimate

from .spellings import SPELLINGS
from .test_digesting import long
from .test_rungs import BODY, compacted
from .test_turns import call, model, result, user

POLICY = cl.Policy(window_tokens=32_000)
SUFFIX = evolve(POLICY, summary_form="suffix")


class Model:
    """A summariser with a window of its own, which remembers what it was asked."""

    def __init__(self, window_tokens: int, *, tells: bool = False) -> None:
        self.window_tokens = window_tokens
        self.tells = tells
        self.requests: list[SummaryRequest] = []
        self.accepted: list[SummaryRequest] = []

    def __call__(self, request: SummaryRequest) -> str:
        self.requests.append(request)
        if estimate(request.instructions) + estimate(request.text) + request.max_tokens > self.window_tokens:
            raise cl.PromptTooLongError("too long", limit_tokens=self.window_tokens if self.tells else None)
        self.accepted.append(request)
        return BODY.replace("- tables", f"- tables up to part {len(self.accepted)}")


def shown_once(requests: list[SummaryRequest]) -> bool:
    """Whether these show messages in order, each once."""
    places = [place for one in requests for place in range(one.first, one.first + len(one.messages))]
    return places == list(range(len(places)))


@pytest.mark.parametrize("tells", [False, True])
@pytest.mark.parametrize("window", [20_000, 12_000, 9_000])
def test_model_that_takes_less_is_shown_less(window: int, *, tells: bool) -> None:
    """Law L15: each message once among what was accepted; what was learned is told."""
    model_ = Model(window, tells=tells)
    outcome = compacted(cl.compact(long(), evolve(POLICY, summariser_window_tokens=100_000), when="now", summarise=model_))

    assert shown_once(model_.accepted)
    assert len({(one.instructions, one.text) for one in model_.requests}) == len(model_.requests)
    report: Any = outcome.report
    learned = report["learned"]["summariser_window_tokens"] if report["learned"] else None
    assert (learned is None) == (len(model_.requests) == len(model_.accepted))
    if tells and len(model_.requests) > 1:
        assert len(model_.requests) - len(model_.accepted) == 1
        assert learned == window


@pytest.mark.parametrize("window", [8_000, 4_000])
def test_small_model_may_summarise_for_a_large_one(window: int) -> None:
    """Law L15: the reply that is asked for takes a quarter of its window at most, and leaves room for what is shown."""
    model_ = Model(window)
    policy = evolve(POLICY, window_tokens=400_000, summariser_window_tokens=window, tail_tokens=4_000)

    compacted(cl.compact(long(), policy, when="now", summarise=model_))

    assert model_.requests == model_.accepted
    assert shown_once(model_.accepted)


class Script:
    """A summariser that answers as it is told, request by request, and well when nothing is left to tell it."""

    def __init__(self, *kinds: str, limit_tokens: Any = None) -> None:
        self.kinds = list(kinds)
        self.limit_tokens = limit_tokens
        self.requests: list[SummaryRequest] = []
        self.accepted: list[SummaryRequest] = []

    def __call__(self, request: SummaryRequest) -> str | Summary:
        self.requests.append(request)
        kind = self.kinds.pop(0) if self.kinds else "ok"
        if kind == "long":
            raise cl.PromptTooLongError("too long", limit_tokens=self.limit_tokens)
        if kind in FAILURES:
            raise FAILURES[kind]
        if kind in REPLIES:
            return REPLIES[kind]
        self.accepted.append(request)
        return GOOD.replace("- tables", f"- tables up to part {len(self.accepted)}")


GOOD = BODY.replace("## Orders\n", "## Orders, constraints and preferences\n")
FAILURES: dict[str, Exception] = {
    "raise": RuntimeError("no"),
    "timeout": TimeoutError("late"),
    "overloaded": cl.OverloadedError("busy"),
    "media": cl.MediaRefusedError("no pictures"),
}
REPLIES: dict[str, str | Summary] = {
    "empty": "",
    "too-long": GOOD + "\n- word" * 9_000,
    "tool": Summary("", tool_calls=1),
    "stop": Summary(GOOD, stop="length"),
    "prose": "Sure, next I will do the rest.",
}


def broken(record: Any, *laws: str) -> list[str]:
    """What is said to be broken of these laws."""
    return [str(one) for one in judge(record) if one.verdict == "broken" and one.law in laws]


def test_what_is_left_is_divided_anew() -> None:
    """Parts are counted on, and what was accepted is not shown again (law L15)."""
    script = Script("ok", "long")
    policy = evolve(POLICY, summariser_window_tokens=16_000)
    record, outcome = observe(cl.compact, long(60), policy, summarise=script, when="now", repeat=False)

    assert isinstance(outcome, Compacted)
    assert shown_once(script.accepted)
    places = [(one.part, one.parts) for one in script.requests]
    whole = len(script.accepted)
    assert places[1] == (2, places[0][1])
    assert places[2:] == [(part, whole) for part in range(2, whole + 1)]
    assert script.requests[2].previous == script.requests[1].previous != ""
    assert "of the transcript" not in script.requests[2].instructions
    assert broken(record, "L6", "L14", "L15", "L24") == []


@pytest.mark.parametrize("limit", [200_000, 0, -5, True, 2.5, "8000", None])
def test_limit_that_says_nothing_leaves_the_ladder(limit: Any) -> None:
    """One above what was sent means that the model counts otherwise."""
    script = Script("long", limit_tokens=limit)
    outcome = compacted(cl.compact(long(), evolve(POLICY, summariser_window_tokens=60_000), when="now", summarise=script))
    first, second = (estimate(one.text) for one in script.requests[:2])

    assert second <= first // 2
    assert shown_once(script.accepted)
    assert outcome.report["learned"] is not None


def test_limit_that_leaves_no_room_ends_it() -> None:
    """Law L14: no answer could help."""
    script = Script("long", limit_tokens=300)
    outcome = cl.compact(long(), evolve(POLICY, summariser_window_tokens=60_000), when="now", summarise=script)

    assert outcome.reason == "summary-failed:prompt-too-long"
    assert len(script.requests) == 1
    assert outcome.report["learned"] is None


def test_what_was_learned_is_remembered_by_the_caller() -> None:
    """One line; the next compaction begins with it."""
    model_ = Model(12_000)
    policy = evolve(POLICY, summariser_window_tokens=60_000)
    outcome = compacted(cl.compact(long(), policy, when="now", summarise=model_))
    assert len(model_.requests) > len(model_.accepted)

    learned: Any = outcome.report["learned"]
    again = Model(12_000)
    compacted(cl.compact(long(), evolve(policy, **(learned or {})), when="now", summarise=again))
    assert len(again.requests) == len(again.accepted)


def test_what_was_learned_holds_for_the_other_turns_too() -> None:
    """A digest is asked for as a summary is; the second turn is not refused again."""
    turn = [user("Go."), *(one for step in range(40) for one in work(step)), model("Done.")]
    conversation = cl.parse([*turn, *turn, user("And?")], dialect="anthropic")
    policy = cl.Policy(window_tokens=32_000, digest_every_turns=1, summary_form="suffix")
    refused: list[SummaryRequest] = []
    shown: list[SummaryRequest] = []

    def answer(request: SummaryRequest) -> str:
        if estimate(request.text) > 6_000:
            refused.append(request)
            raise cl.PromptTooLongError("too long", limit_tokens=7_500)
        shown.append(request)
        return f"## Done\n- part {len(shown)}"

    made = cl.digest(conversation, policy, summarise=answer)

    assert len(refused) == 1
    assert made.failed == {}
    assert {one["form"] for one in made.asked} == {"serialised"}
    assert [one["verdict"] for one in made.asked].count("prompt-too-long") == 1


def work(step: int) -> list[dict[str, Any]]:
    return [model(call(f"w{step}")), user(result(f"w{step}", f"row {step} copied\n" * 60))]


def test_digest_that_is_too_long_is_asked_for_once_more() -> None:
    """With the numbers; then the turn stays as it is."""
    asked: list[SummaryRequest] = []

    def answer(request: SummaryRequest) -> str:
        asked.append(request)
        return "## Done\n" + "- and so it went on\n" * 2_000

    made = cl.digest(long(1), cl.Policy(window_tokens=32_000, digest_every_turns=1), summarise=answer)

    assert [one.attempt for one in asked] == [1, 2]
    assert "at most" in asked[1].instructions
    assert made.digests == {}
    assert "too-long" in made.failed[0]


def test_answer_for_a_summariser_may_say_it_too() -> None:
    """Whoever drives the engine without exceptions."""
    asked: list[SummaryRequest] = []

    def answer(request: SummaryRequest) -> Any:
        asked.append(request)
        return SummaryFailed("prompt-too-long", "413") if len(asked) == 1 else GOOD

    async def awaited(request: SummaryRequest) -> Any:
        return answer(request)

    policy = evolve(POLICY, summariser_window_tokens=60_000)
    called = compacted(cl.compact(long(), policy, when="now", summarise=answer))
    asked.clear()
    other = compacted(asyncio.run(cl.acompact(long(), policy, when="now", summarise=awaited)))

    assert called.report == other.report
    assert called.report["learned"] is not None


def test_what_was_cleared_stays_and_so_does_what_was_learned() -> None:
    """Law L6: the rung that finished is a transition of its own."""
    script = Script("long", "ok", "empty")
    policy = evolve(POLICY, summariser_window_tokens=60_000, clearing=cl.Clearing(keep=60))
    outcome = cl.compact(long(60), policy, when="now", summarise=script, store=cl.MemoryStore())

    assert isinstance(outcome, Compacted)
    assert outcome.report["rung"] == "clear"
    assert outcome.report["rungs"][-1]["reason"] == "summary-failed:empty"
    assert outcome.report["learned"] is not None
    assert len(outcome.report["asked"]) == len(script.requests) == 3


def test_ladder_ends() -> None:
    """Law L14: after a quarter nobody is asked again, and everything is as it was (law L6)."""
    model_ = Model(10)
    conversation = long()
    outcome = cl.compact(conversation, evolve(POLICY, summariser_window_tokens=100_000), when="now", summarise=model_)

    assert isinstance(outcome, Refused)
    assert outcome.reason == "summary-failed:prompt-too-long"
    assert outcome.conversation is conversation
    assert 1 < len(model_.requests) <= 3
    assert outcome.report["learned"] is None


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (cl.OverloadedError("busy"), "overloaded"),
        (cl.MediaRefusedError("no pictures"), "media"),
        (TimeoutError("late"), "timeout"),
        (cl.SummariserError("no"), "exception"),
    ],
)
def test_other_failures_are_not_asked_again(error: Exception, code: str) -> None:
    """Waiting is for whoever has a clock."""
    asked: list[SummaryRequest] = []

    def answer(request: SummaryRequest) -> str:
        asked.append(request)
        raise error

    outcome = cl.compact(long(), POLICY, when="now", summarise=answer)

    assert outcome.reason == f"summary-failed:{code}"
    assert len(asked) == 1


KINDS = ("ok", "long", *FAILURES, *REPLIES)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.sampled_from(KINDS), max_size=9),
    st.sampled_from([POLICY, SUFFIX]),
    st.sampled_from([11_000, 16_000, 60_000]),
    st.sampled_from([None, 12_000]),
)
def test_whatever_fails_at_whatever_request(kinds: list[str], policy: cl.Policy, window: int, limit: int | None) -> None:
    """No request is sent twice, none is larger than its window, few are sent, all are told, and a refusal changes nothing."""
    conversation = LONG
    script = Script(*kinds, limit_tokens=limit)
    policy = evolve(policy, summariser_window_tokens=window)
    record, outcome = observe(cl.compact, conversation, policy, summarise=script, when="now", repeat=False)
    asked: Any = outcome.report["asked"]

    assert broken(record, "L6", "L14", "L15", "L24") == []
    assert len({(one.instructions, one.text) for one in script.requests}) == len(script.requests)
    assert [one["verdict"] for one in asked].count("too-long") <= 2
    serialised = [one for one in script.accepted if one.form == "serialised"]
    assert shown_once(serialised)
    assert isinstance(outcome, Compacted) or outcome.conversation is conversation
    assert (outcome.report["why_form"] is None) == (policy.summary_form == "serialised" or asked[-1]["form"] == "suffix")


LONG = long(32)


@pytest.mark.parametrize("policy", [POLICY, SUFFIX], ids=["serialised", "suffix"])
def test_few_requests_are_made_whatever_fails(policy: cl.Policy) -> None:
    """Law L14: two more than there are parts, and one to ask again; all scripts of up to three failures of four kinds."""
    conversation, most = long(24), 0
    for length in range(4):
        for kinds in itertools.product(("long", "raise", "empty", "too-long"), repeat=length):
            script = Script(*kinds)
            cl.compact(conversation, evolve(policy, summariser_window_tokens=20_000), when="now", summarise=script)
            beyond = len(script.requests) - max(one.parts for one in script.requests)
            most = max(most, beyond)
            assert beyond <= 3, kinds
    assert most == 2  # the third needs a part that was accepted


# --- At the end of the agent's own request -----------------------------------------------------------------------------


def asked_by(
    conversation: cl.Conversation, policy: cl.Policy, answer: Callable[[SummaryRequest], str | Summary] = lambda _: BODY
) -> tuple[cl.Outcome, list[SummaryRequest]]:
    requests: list[SummaryRequest] = []

    def noted(request: SummaryRequest) -> str | Summary:
        requests.append(request)
        return answer(request)

    return cl.compact(conversation, policy, when="now", summarise=noted), requests


def test_prefix_is_what_the_agent_sends_byte_for_byte() -> None:
    """Law L18; and one legal message stands behind it."""
    body = {"model": "claude", "max_tokens": 9, "system": "You help.", "messages": cl.render(long())}
    conversation = cl.parse(body, dialect="anthropic")
    outcome, [request] = asked_by(conversation, SUFFIX)

    assert isinstance(outcome, Compacted)
    assert request.form == "suffix"
    assert {key: value for key, value in request.body.items() if key != "messages"} == {
        key: value for key, value in body.items() if key != "messages"
    }
    assert json.dumps(request.body["messages"][:-1]) == json.dumps(body["messages"])
    assert request.body["messages"][-1]["role"] == "user"
    assert not [one for one in cl.check(cl.parse(request.body, dialect="anthropic")) if one.level == "error"]
    assert outcome.report["asked"][0]["form"] == "suffix"
    assert outcome.report["why_form"] is None


@pytest.mark.parametrize("dialect", SPELLINGS)
def test_form_is_legal_or_left_in_every_dialect(dialect: str) -> None:
    """Law L1; what the agent sends stands before the question as it is (law L18); where the form is left the report says why."""
    from .scenarios import scenario, seeded  # it is heavy

    used = left = 0
    for number in range(25):
        made = scenario(seeded(f"{dialect} {number}"), dialect=dialect)
        if made.features & {"bad-counter", "bad-reminder"}:
            continue
        wide = evolve(made.policy, summary_form="suffix", summariser_window_tokens=1_000_000)
        outcome, requests = asked_by(made.conversation, wide if number % 2 else evolve(made.policy, summary_form="suffix"))
        for request in requests:
            if request.form == "suffix":
                used += 1
                sent = cl.parse(request.body, dialect=made.conversation.dialect)
                before, after = sent_messages(made.conversation), sent_messages(sent)
                assert json.dumps(after[:-1]) == json.dumps(before)
                assert after[-1]["role"] == "user"
                known = {one.rule for one in cl.check(made.conversation, profile=made.policy.profile) if one.level != "info"}
                found = {one.rule for one in cl.check(sent, profile=made.policy.profile) if one.level != "info"}
                assert found <= known
            elif outcome.report["why_form"] is not None:
                left += 1

    assert used > 0
    assert left > 0


def sent_messages(conversation: cl.Conversation) -> list[Any]:
    body = cl.render(conversation)
    body = json.loads(body) if isinstance(body, str | bytes) else body
    messages: list[Any] = body if isinstance(body, list) else body[messages_key(conversation.dialect)]
    return messages


def test_pending_calls_are_no_place_for_it() -> None:
    """The other form serves."""
    conversation = cl.parse([*cl.render(long()), model(call("open"))], dialect="anthropic")
    outcome, [request] = asked_by(conversation, SUFFIX)

    assert request.form == "serialised"
    assert "not answered" in outcome.report["why_form"]


def test_what_does_not_fit_is_asked_in_the_other_form() -> None:
    """Law L15."""
    outcome, requests = asked_by(long(), evolve(SUFFIX, summariser_window_tokens=12_000))

    assert {one.form for one in requests} == {"serialised"}
    assert "does not fit" in outcome.report["why_form"]


@pytest.mark.parametrize("first", [Summary("", tool_calls=1), "Sure, next I will do the rest.", ""])
def test_no_summary_leads_to_the_other_form_once(first: str | Summary) -> None:
    """With the reason."""
    outcome, requests = asked_by(long(), evolve(SUFFIX, window_tokens=100_000), lambda one: first if one.body else BODY)

    assert [one.form for one in requests] == ["suffix", "serialised"]
    assert isinstance(outcome, Compacted)
    assert outcome.report["why_form"]


def test_refused_medium_is_not_shown_in_the_other_form() -> None:
    """The transcript of ours names it."""

    def answer(request: SummaryRequest) -> str:
        if request.body:
            raise cl.MediaRefusedError("no pictures")
        return BODY

    outcome, requests = asked_by(long(), evolve(SUFFIX, window_tokens=100_000), answer)

    assert isinstance(outcome, Compacted)
    assert [one["verdict"] for one in outcome.report["asked"]] == [Code.MEDIA.value, "accepted"]
    assert len(requests) == 2


def test_question_names_where_the_record_ends() -> None:
    """By the first words of the message that stays."""
    conversation = long()
    outcome, [request] = asked_by(conversation, evolve(SUFFIX, window_tokens=100_000))

    assert isinstance(outcome, Compacted)
    first = conversation.messages[outcome.kept_prompt if outcome.kept_prompt is not None else outcome.cut]
    assert f'the message that begins with "{first.text[:20]}' in request.text


def test_record_ends_behind_the_steps_that_are_replaced() -> None:
    """After a step cut the request stays, and what was done of it until the cut is for the record."""
    conversation = cl.parse([user("Do the whole."), *(one for step in range(120) for one in work(step))], dialect="anthropic")
    policy = cl.Policy(window_tokens=64_000, summariser_window_tokens=200_000, tail_tokens=4_000, summary_form="suffix")
    outcome, [request] = asked_by(conversation, policy)

    assert isinstance(outcome, Compacted)
    assert outcome.kept_prompt == 0
    assert f'the message that calls "read" (id "w{(outcome.cut - 1) // 2}"), number {outcome.cut + 1} of the 241' in request.text
    assert "The request under way" in request.text
    assert len(request.messages) == outcome.cut - 1


TOOLS: dict[str, Any] = {
    "anthropic": [{"name": "read", "input_schema": {"type": "object"}}],
    "openai-chat": [{"type": "function", "function": {"name": "read", "parameters": {"type": "object"}}}],
}
CHOICES = [
    ("anthropic", None, None),
    ("anthropic", {"type": "auto"}, {"type": "auto"}),
    ("anthropic", {"type": "any"}, {"type": "none"}),
    ("anthropic", {"type": "tool", "name": "read"}, {"type": "none"}),
    ("openai-chat", None, "none"),
    ("openai-chat", "required", "none"),
    ("openai-chat", {"type": "function", "function": {"name": "read"}}, "none"),
]


@pytest.mark.parametrize(("dialect", "given", "sent"), CHOICES)
def test_calls_are_ruled_out_where_that_costs_nothing(dialect: str, given: Any, sent: Any) -> None:
    """At Anthropic another choice makes the cached messages worthless; one that forces a call has to go."""
    pairs = [
        ({"role": "user", "content": f"Task {n}"}, {"role": "assistant", "content": f"Row {n} copied. " * 150}) for n in range(60)
    ]
    messages = [*(one for pair in pairs for one in pair), {"role": "user", "content": "And?"}]
    body = {"model": "m", "tools": TOOLS[dialect], "messages": messages, **({} if given is None else {"tool_choice": given})}
    outcome, [request] = asked_by(cl.parse(body, dialect=dialect), evolve(SUFFIX, window_tokens=100_000))

    assert isinstance(outcome, Compacted)
    assert request.form == "suffix"
    assert request.body.get("tool_choice") == sent
    assert request.body["tools"] == body["tools"]
    assert json.dumps(request.body["messages"][:-1]) == json.dumps(messages)
    assert not [one for one in cl.check(cl.parse(request.body, dialect=dialect)) if one.level != "info"]


FORCED = [
    ("gemini", {"toolConfig": {"functionCallingConfig": {"mode": "ANY"}}}, False),
    ("gemini", {"toolConfig": {"functionCallingConfig": {"mode": "AUTO"}}}, True),
    ("bedrock", {"toolConfig": {"tools": [], "toolChoice": {"any": {}}}}, False),
    ("bedrock", {"toolConfig": {"tools": [], "toolChoice": {"auto": {}}}}, True),
]


@pytest.mark.parametrize(("dialect", "setting", "used"), FORCED)
def test_call_that_cannot_be_ruled_out_leaves_the_form(dialect: str, setting: dict[str, Any], *, used: bool) -> None:
    """The model could not do anything else."""
    key, part = ("contents", "parts") if dialect == "gemini" else ("messages", "content")
    other = "model" if dialect == "gemini" else "assistant"
    pairs = [
        ({"role": "user", part: [{"text": f"Task {n}"}]}, {"role": other, part: [{"text": "Row copied. " * 200}]})
        for n in range(60)
    ]
    body = {key: [*(one for pair in pairs for one in pair), {"role": "user", part: [{"text": "And?"}]}], **setting}
    outcome, [request] = asked_by(cl.parse(body, dialect=dialect), evolve(SUFFIX, window_tokens=100_000))

    assert isinstance(outcome, Compacted)
    assert (request.form == "suffix") is used
    assert (outcome.report["why_form"] is None) is used
    if used:
        assert request.body[key][:-1] == body[key]
        assert request.body["toolConfig"] == body["toolConfig"]


def test_record_that_is_not_in_what_is_sent_is_asked_in_the_other_form() -> None:
    """Law L20: the previous record is shown, once."""
    outcome, _ = asked_by(long(), evolve(SUFFIX, window_tokens=100_000))
    assert isinstance(outcome, Compacted)
    conversation = cl.parse([*cl.render(outcome.conversation), *cl.render(long())], dialect="anthropic")

    def once_more(previous: str | None) -> tuple[cl.Outcome, list[SummaryRequest]]:
        requests: list[SummaryRequest] = []

        def answer(one: SummaryRequest) -> str:
            requests.append(one)
            return GOOD.replace("- tables", "- tables\n- more")

        policy = evolve(SUFFIX, window_tokens=100_000)
        return cl.compact(conversation, policy, when="now", summarise=answer, previous=previous), requests

    _, [found] = once_more(None)
    _, [told] = once_more(outcome.summary)
    other, [else_told] = once_more(GOOD.replace("- tables", "- tables of another record"))

    assert found.form == told.form == "suffix"
    assert found.previous == outcome.summary
    assert "It stands at the beginning of the conversation" in found.text
    assert else_told.form == "serialised"
    assert "previous record" in str(other.report["why_form"])


@pytest.mark.parametrize("error", [TimeoutError("late"), cl.OverloadedError("busy")])
def test_waiting_is_for_the_caller(error: Exception) -> None:
    """The other form would meet the same."""
    script = Script("failing")

    def answer(request: SummaryRequest) -> str:
        script.requests.append(request)
        raise error

    outcome = cl.compact(long(), evolve(SUFFIX, window_tokens=100_000), when="now", summarise=answer)

    assert isinstance(outcome, Refused)
    assert len(script.requests) == 1


def test_refusal_of_what_only_this_form_sends_leads_to_the_other() -> None:
    """A provider may refuse the body for reasons of its own."""
    script = Script("raise")
    outcome = cl.compact(long(), evolve(SUFFIX, window_tokens=100_000), when="now", summarise=script)

    assert isinstance(outcome, Compacted)
    assert [one.form for one in script.requests] == ["suffix", "serialised"]


def test_reply_that_is_too_long_in_both_forms_is_asked_for_once_more_in_all() -> None:
    """Law L14."""
    script = Script("too-long", "empty", "too-long")
    outcome = cl.compact(long(), evolve(SUFFIX, window_tokens=100_000), when="now", summarise=script)

    assert outcome.reason == "summary-failed:too-long"
    assert [one.form for one in script.requests] == ["suffix", "suffix", "serialised"]
    first, second = (one.body for one in script.requests[:2])
    assert json.dumps(first[:-1]) == json.dumps(second[:-1])
    assert "Write it once more" in str(second[-1]["content"])


def test_question_that_comes_back_is_an_echo() -> None:
    """It has all the headings."""
    outcome, requests = asked_by(long(), evolve(SUFFIX, window_tokens=100_000), lambda one: one.text if one.body else GOOD)

    assert isinstance(outcome, Compacted)
    assert [one["verdict"] for one in outcome.report["asked"]] == ["echo", "accepted"]
    assert len(requests) == 2


def test_awaited_and_called_are_the_same_in_this_form() -> None:
    """One engine."""

    async def answer(request: SummaryRequest) -> str:
        return "" if request.body else GOOD

    policy = evolve(SUFFIX, window_tokens=100_000)
    called, _ = asked_by(long(), policy, lambda one: "" if one.body else GOOD)
    awaited = asyncio.run(cl.acompact(long(), policy, when="now", summarise=answer))

    assert awaited.report == called.report
    assert cl.render(awaited.conversation) == cl.render(called.conversation)


def test_summariser_that_is_shown_transcripts_does_not_take_the_question_alone() -> None:
    """It would write a record of a conversation that it never saw."""
    command = CommandSummariser(["printf", "%s", GOOD])
    outcome = cl.compact(long(), evolve(SUFFIX, window_tokens=100_000), when="now", summarise=command)

    assert isinstance(outcome, Compacted)
    assert [one["form"] for one in outcome.report["asked"]] == ["suffix", "serialised"]
    assert "exception" in str(outcome.report["why_form"])


# --- Brought up to date ------------------------------------------------------------------------------------------------


def record_of(done: Sequence[str], doing: Sequence[str], following: Sequence[str]) -> str:
    sections = {"Done": done, "In progress": doing, "Next step": following}
    written = "\n\n".join(f"## {name}\n" + "\n".join(f"- {item}" for item in items) for name, items in sections.items())
    return f"## Goal\n(none)\n\n## Orders, constraints and preferences\n(none)\n\n{written}"


@pytest.mark.parametrize("form", ["serialised", "suffix"])
def test_three_rounds_move_what_is_done_and_never_bring_it_back(form: Any) -> None:
    """Law L20: the record enters once, work in progress becomes done, and what is done stays done."""
    replies = [
        record_of(["the schema was drafted"], ["copying the rows"], ["copy the rows"]),
        record_of(["the schema was drafted", "copying the rows"], ["building the index"], ["build the index"]),
        record_of(["building the index"], ["copying the rows"], ["the schema was drafted", "announce it"]),
    ]
    conversation, previous = long(), ""
    policy = cl.Policy(window_tokens=100_000, schema="structured", summary_form=form)
    for reply in replies:
        requests: list[SummaryRequest] = []

        def answer(request: SummaryRequest, reply: str = reply, requests: list[SummaryRequest] = requests) -> str:
            requests.append(request)
            return reply

        outcome = compacted(cl.compact(conversation, policy, when="now", summarise=answer))
        [request] = requests
        assert request.form == form
        assert request.previous == previous
        sent = request.text if form == "serialised" else json.dumps(request.body)
        assert sent.count("the schema was drafted") == (1 if previous else 0)
        previous = outcome.summary
        conversation = cl.parse([*cl.render(outcome.conversation), *cl.render(long(8))], dialect="anthropic")

    told: Any = outcome.report["summary"]
    done, _, rest = outcome.summary.partition("## In progress")
    assert told["reopened"] == 2
    assert "- copying the rows [reopened]" in done
    assert "- the schema was drafted [reopened]" in done
    assert "copying the rows" not in rest
    assert "the schema was drafted" not in rest
    assert "- announce it" in rest
