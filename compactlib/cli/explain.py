"""
``compactlib explain``: a compaction step by step, each step with the law it obeys.

Rules it obeys
    * Nothing is written and no model is called: the extractive summariser
      answers, and what it was shown is what a model would be shown.
    * Each step says what was measured or decided, and why; the numbers are
      those of the outcome's own report, not made anew here.
"""

from __future__ import annotations

from typing import Any, Final

import click
from attrs import frozen

from ..budget import Policy
from ..cuts import legal_cuts
from ..dialects.reading import dumps
from ..driving import compact
from ..outcomes import Compacted, Outcome
from ..store import MemoryStore
from ..summaries.extractive import Extractive
from ..summaries.rendering import SummaryRequest
from ..turns import turns
from .describing import tried
from .digests import Digests, digests_made
from .options import (
    check_profile,
    counter_of,
    family_option,
    file_argument,
    format_option,
    input_option,
    profile_option,
)
from .policy import policy_for, policy_given, policy_options
from .printing import Page, count, number, print_json, shortened
from .reading import read_source, report_problems
from .redaction import account_of, as_json, redact_option, redacted

__all__ = ["explain"]

_CUTS_SHOWN: Final = 12
_CHECKED: Final = "checked by the validator: no rule is broken that the input did not break"


@frozen
class _Step:
    """One step: the laws it obeys, what it is called, and what came of it."""

    laws: str
    name: str
    lines: tuple[str, ...]


@click.command()
@file_argument
@policy_options
@click.option(
    "--when", type=click.Choice(["auto", "now", "overflow"]), default="now", show_default=True, help="Whether the trigger counts."
)
@click.option("--clear", "clears", is_flag=True, help="As with a store: old outputs are cleared first. Nothing is stored.")
@redact_option
@profile_option
@click.option("--shown", is_flag=True, help="Print what the summariser was shown, whole.")
@input_option
@family_option
@format_option
def explain(
    file: str,
    when: Any,
    clears: bool,
    redacts: bool,
    profile: str | None,
    shown: bool,
    input_format: str | None,
    family: str | None,
    output_format: str,
) -> int:
    """
    Say how FILE would be compacted, and why so.

    What was measured, which cuts are legal, which was chosen, what the
    summariser was shown, why its reply was taken, what the result is. Exit
    status 1 says that it would not be compacted.
    """
    policy = policy_given(counter=counter_of(family), profile=profile)
    source, secrets = redacted(read_source(file, input_format), redacts=redacts)
    report_problems(source)
    conversation = source.transcript.conversation
    check_profile(profile, conversation.dialect)
    policy = policy_for(source.transcript, policy)
    asked: list[tuple[SummaryRequest, str]] = []
    summariser = Extractive()

    def answer(request: SummaryRequest) -> str:
        reply = summariser(request)
        asked.append((request, reply))
        return reply

    digests = digests_made(conversation, policy, answer, when=when, has_store=clears)
    of_digests = tuple(asked)
    asked.clear()
    store = MemoryStore() if clears else None
    outcome = compact(conversation, policy, summarise=answer, when=when, store=store, digests=digests.texts)
    cuts = legal_cuts(conversation)
    divided = turns(conversation)
    steps = [
        *([] if secrets is None else [_Step("L5, L10", "what was redacted", (account_of(secrets),))]),
        _Step(
            "L2, L3",
            "how it divides",
            (
                (
                    f"{count(conversation.length, 'message')}, {count(len(divided), 'turn')}, "
                    f"{count(sum(len(turn.steps) for turn in divided), 'step')}"
                ),
            ),
        ),
        *_measured(outcome),
        _Step("L3", "where it may be cut", (_some("at prompts", cuts.turn), _some("between steps", cuts.step))),
        *_cleared(outcome),
        *_digested(outcome, digests),
        *([_Step("L6, L24", "what was tried", tuple(lines))] if (lines := tried(outcome)) else []),
        *_decided(outcome),
        *_asked(outcome, asked, policy),
        *_result(outcome),
        *_thinking(outcome),
    ]
    if output_format == "json":
        print_json(
            {
                "outcome": outcome.report["outcome"],
                "reason": outcome.reason,
                "steps": [{"laws": step.laws.split(", "), "name": step.name, "lines": list(step.lines)} for step in steps],
                "shown": [request.text for request, _ in (*of_digests, *asked)],
                "digests": digests.as_json(outcome),
                "report": outcome.report,
                **as_json(secrets),
            }
        )
    else:
        page = Page()
        for place, step in enumerate(steps, 1):
            page.line((f"{place}. {step.name}", "bold"), (f"  [{step.laws}]", "dim"))
            for line in step.lines:
                page.line(f"   {line}")
        if shown:
            for place, (request, _) in enumerate((*of_digests, *asked)):
                what = " for a digest" if place < len(of_digests) else ""
                page.line()
                page.line((f"--- shown{what}, part {request.part} of {request.parts}", "bold"))
                page.text(request.text)
    return 0 if isinstance(outcome, Compacted) else 1


def _some(what: str, places: tuple[int, ...]) -> str:
    head = ", ".join(map(str, places[:_CUTS_SHOWN]))
    more = f" and {number(len(places) - _CUTS_SHOWN)} more" if len(places) > _CUTS_SHOWN else ""
    return f"{what}: {head}{more}" if places else f"{what}: nowhere"


def _measured(outcome: Outcome) -> list[_Step]:
    sizes = outcome.report["sizes"]
    lines = [f"the whole request has {number(outcome.before_tokens)} tokens"]
    if sizes is not None:
        lines += [
            (
                f"of a window of {number(sizes['window'])}, {number(sizes['reserve'])} are reserved for the answer: "
                f"the budget is {number(sizes['budget'])}"
            ),
            (
                f"compaction starts above {number(sizes['trigger'])} and aims at {number(sizes['target'])}, "
                f"of which system and tools take {number(sizes['overhead'])}"
            ),
            f"room: tail {number(sizes['tail'])}, summary {number(sizes['summary'])}, extras {number(sizes['extras'])}",
        ]
    return [_Step("L13, L14", "what was measured", tuple(lines))]


def _cleared(outcome: Outcome) -> list[_Step]:
    edits: Any = outcome.report["edits"] or {"form": "rewrite", "why": None}
    units: Any = outcome.report["cleared"] if edits["form"] == "rewrite" else edits["hidden"]
    if not units:
        return []
    lines = [_unit_line(unit) for unit in units[:_CUTS_SHOWN]]
    lines += [f"and {number(len(units) - len(lines))} more"] if len(units) > len(lines) else []
    total = f"{count(len(units), 'output')}, {number(sum(unit['saved_tokens'] for unit in units))} tokens"
    if edits["form"] == "rewrite":
        why = [] if edits["why"] is None else [f"the provider is not asked to hide them: {edits['why']}"]
        told = (f"{total}; each is stored before its stub is written", *why, *lines)
        return [_Step("L7, L10, L11", "what was cleared", told)]
    told = (f"{total}; the provider is asked to hide them, and no message is changed", *lines, *_asked_lines(edits))
    return [_Step("L5, L7, L10, L18", "what is hidden", told)]


def _unit_line(unit: Any) -> str:
    of = f" of {shortened(unit['tool'], 40)}" if unit["tool"] else ""
    return f"message {unit['position']}: {unit['what']}{of}, {unit['why']}, {number(unit['saved_tokens'])} tokens"


def _asked_lines(edits: Any) -> list[str]:
    """What the request has to say, and in what it differs from what stubs would do."""
    lines = [f"{number(edits['failed'])} of them say that something failed; the provider cannot be told to leave them"]
    lines = lines if edits["failed"] else []
    if edits["spared"]:
        lines.append(f"{number(edits['spared'])} stay because a pinned result is of the same tool")
    lines.append(f"the request has to ask for context_management = {dumps(edits['context_management'])}")
    lines.append(f"and to have the header anthropic-beta: {','.join(edits['betas'])}")
    return lines


def _thinking(outcome: Outcome) -> list[_Step]:
    told: Any = outcome.report.get("thinking")
    if told is None:
        return []
    lines = (
        "the model refuses reasoning behind what was changed, unless it is told to leave it out (A-THINK-07)",
        f"this request and all later ones have to say thinking = {dumps(told['thinking'])}",
        f"and to have the beta {','.join(told['betas'])}",
    )
    return [_Step("L5", "what the request has to say", lines)]


def _digested(outcome: Outcome, digests: Digests) -> list[_Step]:
    lines = digests.lines(outcome)
    return [_Step("L6, L24", "which old turns have digests", tuple(lines))] if lines else []


def _decided(outcome: Outcome) -> list[_Step]:
    cut = outcome.report["cut"]
    if cut is None and isinstance(outcome, Compacted):
        return [_Step("L14", "what was decided", ("clearing was enough: no message goes, and no model is asked",))]
    if cut is None:
        why = getattr(outcome, "why", "")
        return [_Step("L6, L14", "what was decided", (f"{outcome.report['outcome']}: {outcome.reason}", *([why] if why else [])))]
    lines = [
        f"a {cut['kind']} cut at message {cut['index']}: {cut['why']}",
        f"{number(cut['tail_tokens'])} tokens stay verbatim from there on",
    ]
    if cut["kept_prompt"] is not None:
        lines.append(f"the prompt of that turn, message {cut['kept_prompt']}, stays before them")
    if outcome.report["dangling"]:
        lines.append(f"{count(outcome.report['dangling'], 'call')} before it was never answered; that forbids no cut")
    if outcome.report["pending"]:
        lines.append(f"{count(outcome.report['pending'], 'call')} at the end may still be answered, and stays")
    return [_Step("L3, L4, L7, L8", "where it was cut, and why", tuple(lines))]


def _asked(outcome: Outcome, asked: list[tuple[SummaryRequest, str]], policy: Policy) -> list[_Step]:
    steps = []
    for (request, reply), verdict in zip(asked, outcome.report["asked"], strict=False):
        tokens = policy.counter(request.instructions) + policy.counter(request.text)
        last = request.first + len(request.messages) - 1
        lines = [
            (
                f"part {request.part} of {request.parts}: messages {request.first} to {last} of what is replaced, "
                f"{number(tokens)} tokens, each message once, every line quoted"
            ),
            f"asked for at most {number(request.max_tokens)} tokens; the reply has {number(policy.counter(reply))}",
            f"verdict: {verdict['verdict']}",
        ]
        steps.append(_Step("L15, L25", "what the summariser was shown", tuple(lines)))
    told = outcome.report["summary"]
    if told is not None:
        facts = told["anchors"]
        kept = (
            f"facts: {number(facts['found'])} found, {number(facts['in_output'])} stand in the output, "
            f"{number(facts['written'])} written down beside it, {number(facts['left'])} left out"
        )
        if outcome.report["rung"] != "summarise":
            return [*steps, _Step("L8, L20, L21", "what stands for what went", (kept,))]
        lines = [
            (
                f"{count(told['moved'], 'item')} moved because no person said it, {number(told['reopened'])} put back as done, "
                f"{number(told['escaped'])} escaped"
            ),
            (
                f"flags: {number(told['unverified'])} unverified, {number(told['contradicted'])} contradicted, "
                f"{number(told['unseen'])} not shown, {number(told['unrun'])} by a call that was never made"
            ),
            kept,
        ]
        steps.append(_Step("L20, L21, L22, L25", "why the reply was taken, and what was done to it", tuple(lines)))
    return steps


def _result(outcome: Outcome) -> list[_Step]:
    if not isinstance(outcome, Compacted):
        return [_Step("L6", "the result", ("the conversation that was passed in, the same object",))]
    sizes: Any = outcome.report["head"] or {}
    head = ", ".join(f"{name.replace('_', ' ')} {number(size)}" for name, size in sizes.items() if size)
    lines = [
        f"{number(outcome.before_tokens)} -> {number(outcome.after_tokens)} tokens: {outcome.reason}",
        *([] if outcome.report["head"] is None else [f"the head, in tokens: {head or 'the summary alone'}"]),
        *([] if outcome.report["rung"] == "clear" else [_CHECKED]),
        "no message differs" if outcome.first_changed is None else f"it differs from message {outcome.first_changed} on",
    ]
    return [_Step("L1, L12, L13, L18", "the result", tuple(lines))]
