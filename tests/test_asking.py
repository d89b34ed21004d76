"""How a summariser is asked: again with less, at the end of the agent's own request, and never twice the same."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

import compactlib as cl
from compactlib.outcomes import Compacted, Refused
from compactlib.summaries.acceptance import Code, Summary
from compactlib.summaries.rendering import SummaryRequest
from compactlib.tokens import estimate

from .spellings import SPELLINGS
from .test_digesting import long
from .test_rungs import BODY, compacted
from .test_turns import call, model

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


def test_ladder_ends() -> None:
    """Law L14: after a quarter nobody is asked again, and everything is as it was (law L6)."""
    model_ = Model(10)
    conversation = long()
    outcome = cl.compact(conversation, evolve(POLICY, summariser_window_tokens=100_000), when="now", summarise=model_)

    assert isinstance(outcome, Refused)
    assert outcome.reason == "summary-failed:prompt-too-long"
    assert outcome.conversation is conversation
    assert 1 < len(model_.requests) <= 4


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


@settings(max_examples=60)
@given(
    st.lists(st.sampled_from(["ok", "long", "raise", "empty", "too-long", "tool"]), max_size=8), st.sampled_from([POLICY, SUFFIX])
)
def test_whatever_fails_at_whatever_request(script: list[str], policy: cl.Policy) -> None:
    """The same request is never sent twice, and a refusal changes nothing."""
    conversation = long()
    seen: list[str] = []
    replies = iter(script)

    def answer(request: SummaryRequest) -> str | Summary:
        seen.append(json.dumps([request.instructions, request.text, request.body is None]))
        kind = next(replies, "ok")
        if kind == "long":
            raise cl.PromptTooLongError("too long")
        if kind == "raise":
            raise RuntimeError("no")
        others: dict[str, str | Summary] = {"empty": "", "too-long": BODY + "\n- word" * 9_000, "tool": Summary("", tool_calls=1)}
        return others.get(kind, BODY)

    outcome = cl.compact(conversation, evolve(policy, summariser_window_tokens=60_000), when="now", summarise=answer)

    assert len(seen) == len(set(seen)) == len(outcome.report["asked"])
    assert isinstance(outcome, Compacted) or outcome.conversation is conversation


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
    """And where it is left the report says why."""
    from .scenarios import scenario, seeded  # it is heavy

    used = left = 0
    for number in range(25):
        made = scenario(seeded(f"{dialect} {number}"), dialect=dialect)
        if made.features & {"bad-counter", "bad-reminder"}:
            continue
        outcome, requests = asked_by(made.conversation, evolve(made.policy, summary_form="suffix"))
        for request in requests:
            if request.form == "suffix":
                used += 1
                before = {one.rule for one in cl.check(made.conversation) if one.level == "error"}
                after = {
                    one.rule
                    for one in cl.check(cl.parse(request.body, dialect=made.conversation.dialect))
                    if one.level == "error"
                }
                assert after <= before
            elif outcome.report["why_form"] is not None:
                left += 1

    assert used + left > 0


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
