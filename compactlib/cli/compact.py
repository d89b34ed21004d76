"""
``compactlib compact``: a conversation made smaller, and the account of it.

Rules it obeys
    * The input is never written over.  ``--out`` is written aside, synced and
      renamed, so a file of that name is whole at every moment.
    * A refusal is an answer: it says in words what could not be done and why.
    * No model is called unless the command line names one.  The account says
      who wrote the summary and what was asked for it, also where it failed
      (law L24).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, assert_never

import click

from ..budget import Policy
from ..dialects import render, render_messages
from ..dialects.reading import dumps
from ..driving import compact as run_compaction
from ..model import Json, Origin
from ..outcomes import Compacted, Outcome, Refused, Unchanged
from ..protocol.context_edits import edits_in
from ..store import DirectoryStore
from ..visible import effective
from .describing import spelled_out, tried
from .digests import Digests, digests_made
from .log import log_option, log_outcome, refuse_log
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
from .printing import Page, Piece, Segment, count, number, per_cent, print_json, shortened
from .reading import Source, read_source, report_problems
from .redaction import account_of, as_json, redact_option, redacted
from .shares import KINDS, segments, shares
from .summarising import Metered, asked_given, summariser_options
from .writing import OutPath, refuse_out, write_aside

__all__ = ["compact"]

_SUMMARY_LINES: Final = 24
_CLEARED_SHOWN: Final = 5
_SAID: Final = {
    "below-trigger": "it is small enough already",
    "auto-off": "automatic compaction is switched off",
    "nothing-new": "it was compacted before, and nothing has come since",
    "overhead-exceeds-threshold": "system prompt and tools alone leave no room for a conversation",
    "irreducible": "what has to stay is as large as all of it",
    "no-legal-cut": "there is no place where it may be cut",
    "store-failed": "what was to be cleared could not be stored",
    "prefix-at-provider": "the history before it is kept by the provider",
    "internal-invalid": "the result would break a rule of the provider",
    "summary-failed": "the summariser gave no summary that could be taken",
}
"""Reasons, as one would say them; what follows a colon is told beside them."""


@click.command()
@file_argument
@policy_options
@summariser_options
@click.option("--out", type=OutPath(path_type=Path, dir_okay=False), help="Write the new conversation to this file.")
@log_option
@click.option("--focus", metavar="TEXT", help="What the summary is to pay attention to.")
@click.option(
    "--store",
    metavar="DIR",
    type=OutPath(file_okay=False, path_type=Path),
    help="Clear old outputs first, and keep them here.",
)
@redact_option
@profile_option
@click.option("--show", is_flag=True, help="Print the new conversation whole, as the model will see it.")
@input_option
@family_option
@format_option
def compact(
    file: str,
    out: Path | None,
    log: Path | None,
    focus: str | None,
    store: Path | None,
    redacts: bool,
    profile: str | None,
    show: bool,
    input_format: str | None,
    family: str | None,
    output_format: str,
) -> int:
    """
    Replace the older part of FILE by a summary.

    The summary is made from the text itself and no model is called, unless
    --summariser names one. With --store old outputs of tools are cleared first,
    each kept there and fetched back by "expand"; if that is enough, nothing is
    summarised. What the new conversation looks like is written to --out, in the
    dialect of the input. Exit status 1 says that it was not compacted, and why.
    """
    counter = counter_of(family)
    policy = policy_given(counter=counter, profile=profile)
    summariser = Metered(asked_given(counter=counter), counter)
    source, secrets = redacted(read_source(file, input_format), redacts=redacts)
    report_problems(source)
    if out is not None:
        refuse_out(out, file)
    if log is not None:
        refuse_log(log, file, out)
    conversation = source.transcript.conversation
    check_profile(profile, conversation.dialect)
    policy = policy_for(source.transcript, policy)
    kept = None if store is None else DirectoryStore(store)
    digests = digests_made(conversation, policy, summariser, has_store=kept is not None)
    outcome = run_compaction(
        conversation, policy, summarise=summariser, when="now", focus=focus, store=kept, digests=digests.texts
    )
    if log is not None:
        log_outcome(log, outcome, summariser=summariser.asked.name)
    if out is not None and isinstance(outcome, Compacted):
        write_aside(out, dumps(render(outcome.request)))
    if output_format == "json":
        print_json({**_as_json(outcome, summariser, digests), **as_json(secrets)})
    else:
        page = Page()
        _show_outcome(page, source, outcome, policy, "" if secrets is None else account_of(secrets))
        if isinstance(outcome, Compacted):
            _show_result(page, outcome, summariser, digests)
            if show:
                _show_whole(page, outcome)
            elif outcome.summary:
                _show_summary(page, outcome.summary)
            page.line(f"written: {out}" if out is not None else "nothing was written; --out FILE writes the new conversation")
            if log is not None:
                page.line(f"logged: {log}")
            if out is not None and _asked_for(outcome) and outcome.request is outcome.conversation:
                page.line(
                    "it is a list of messages, which has no place for what is to be asked for; the request needs it all the same"
                )
        elif summariser.requests:
            rows = [*_digest_rows(digests, outcome), ("cost", _cost(summariser))]
            page.table([((name, "bold"), said) for name, said in rows])
    return 0 if isinstance(outcome, Compacted) else 1


def _as_json(outcome: Outcome, summariser: Metered, digests: Digests) -> Json:
    return {
        "summariser": summariser.asked.name,
        "outcome": outcome.report["outcome"],
        "reason": outcome.reason,
        "before_tokens": outcome.before_tokens,
        "after_tokens": outcome.after_tokens,
        "cut": outcome.cut if isinstance(outcome, Compacted) else None,
        "digests": digests.as_json(outcome),
        "ask_for": _asked_for(outcome),
        "betas": list(outcome.betas) if isinstance(outcome, Compacted) else [],
        "messages": render_messages(outcome.conversation),
        "report": outcome.report,
    }


# --- The account -----------------------------------------------------------------------------------------------------


def _show_outcome(page: Page, source: Source, outcome: Outcome, policy: Policy, told: str) -> None:
    """What came of it, and before and after by kind."""
    transcript = source.transcript
    what = transcript.format if transcript.format == transcript.dialect else f"{transcript.format}, {transcript.dialect}"
    page.line((source.name, "bold"), f"  {what}, {count(transcript.conversation.length, 'message')}")
    if told:
        page.line(f"  {told}")
    page.line()
    before, after = number(outcome.before_tokens), number(outcome.after_tokens)
    divided = [shares(effective(transcript.conversation, counter=policy.counter), policy.counter)]
    match outcome:
        case Compacted():
            share = per_cent(outcome.after_tokens, outcome.before_tokens)
            page.line(("compacted", "bold green"), f"  {before} -> {after} tokens, {share} of what it was")
            edits = None if outcome.edits is None else edits_in(outcome.edits["edits"])
            divided.append(shares(effective(outcome.conversation, counter=policy.counter, edits=edits), policy.counter))
        case Unchanged():
            page.line(("unchanged", "bold yellow"), f"  {before} tokens: {_SAID[outcome.reason]}")
        case Refused():
            said = _SAID.get(outcome.reason.partition(":")[0], "it could not be done")
            page.line(("refused", "bold red"), f"  {before} tokens: {said}")
            page.line(f"  {outcome.reason}: {outcome.why}")
        case _:
            assert_never(outcome)
    page.line()
    _show_bars(page, divided, policy.window_tokens)
    _show_kinds(page, divided, policy.window_tokens)
    if isinstance(outcome, Refused) and (outcome.irreducible or tried(outcome)):
        page.table([*_tried_rows(outcome), *([["what has to stay", _parts(outcome)]] if outcome.irreducible else [])])
        page.line()


def _show_bars(page: Page, divided: list[dict[str, int]], window: int) -> None:
    if not page.is_terminal:
        return
    longest = max(window, *(sum(found.values()) for found in divided))
    for name, found in zip(("before", "after"), divided, strict=False):
        page.line(f"  {name:<6}  ", page.bar(segments(found), of=longest, columns=page.width - 12))
    page.line((f"  {'window':<6}  ", "dim"), page.bar([Segment(window, "bright_black")], of=longest, columns=page.width - 12))
    page.line()


def _show_kinds(page: Page, divided: list[dict[str, int]], window: int) -> None:
    """Tokens by kind, and what they are of the window."""
    heads = ["tokens"]
    for name in ("before", "after")[: len(divided)]:
        heads += [name, "of window"]
    rows: list[list[Piece]] = [[(head, "dim") for head in heads]]
    rows += [
        [page.entry(kind, style), *_figures(divided, kind, window)]
        for kind, style in KINDS.items()
        if any(kind in found for found in divided)
    ]
    sums = [{"sum": sum(found.values())} for found in divided]
    rows.append([("whole request", "bold"), *_figures(sums, "sum", window)])
    page.table(rows, right=(1, 2, 3, 4))
    page.line()


def _figures(divided: list[dict[str, int]], kind: str, window: int) -> list[Piece]:
    figures: list[Piece] = []
    for found in divided:
        tokens = found.get(kind, 0)
        figures += [number(tokens), per_cent(tokens, window)] if tokens else ["-", ""]
    return figures


def _show_result(page: Page, outcome: Compacted, summariser: Metered, digests: Digests) -> None:
    """Where it was cut and why, what went, and what it cost."""
    report = outcome.report
    rows = [*_tried_rows(outcome), *_cleared_rows(outcome)]
    if report["cut"] is not None:
        rows += _summary_rows(outcome)
    if report["sizes"] is not None:
        rows += _target_rows(outcome)
    rows += _asked_rows(outcome)
    rows += _digest_rows(digests, outcome)
    rows.append(("cost", _cost(summariser)))
    if outcome.first_changed is None:
        first = min((part.start for part in outcome.dropped), default=0)
        rows.append(("cache", f"no message differs; the provider's cache ends before message {first}, where hiding begins"))
    else:
        rows.append(("cache", f"the request differs from message {outcome.first_changed} on; a cached prefix ends there"))
    page.table([((name, "bold"), said) for name, said in rows])
    page.line()


def _tried_rows(outcome: Outcome) -> list[tuple[str, str]]:
    """What the rungs came to, where several were tried."""
    return [("" if place else "tried", line) for place, line in enumerate(tried(outcome))]


def _digest_rows(digests: Digests, outcome: Outcome) -> list[tuple[str, str]]:
    """Which turns have a digest, and what became of it (law L24)."""
    return [("" if place else "digests", line) for place, line in enumerate(digests.lines(outcome))]


def _cost(summariser: Metered) -> str:
    """Who was asked, how often, and for how much; in the provider's own figures too, where it gave some."""
    asked = summariser.asked
    if not summariser.requests:
        return "no model was called, and no summary was asked for"
    who = asked.name if asked.is_model else f"no model was called; {asked.name} summariser"
    work = f"{number(summariser.read_tokens)} tokens read in {count(summariser.requests, 'request')}"
    told = f"{who}, {work}, {number(summariser.written_tokens)} written"
    figures = ", ".join(f"{name} {number(figure)}" for name, figure in summariser.usage.items())
    return f"{told}; by its own account {figures}" if figures else told


def _cleared_rows(outcome: Compacted) -> list[tuple[str, str]]:
    """What was cleared or is to be hidden, the largest first."""
    cleared = sorted((part for part in outcome.dropped if part.rung == "clear"), key=lambda part: -part.tokens)
    rows = [
        (
            "" if place else "cleared" if outcome.edits is None else "hidden",
            f"message {part.start}, {number(part.tokens)} tokens" + (f", ref={part.ref}" if part.ref else ""),
        )
        for place, part in enumerate(cleared[:_CLEARED_SHOWN])
    ]
    left = cleared[_CLEARED_SHOWN:]
    if left:
        rows.append(("", f"and {count(len(left), 'more output')}, {number(sum(part.tokens for part in left))} tokens"))
    told: Any = outcome.report["edits"]
    if outcome.edits is not None and told["failed"]:
        rows.append(
            ("", f"{number(told['failed'])} of them say that something failed; the provider cannot be told to leave them")
        )
    if outcome.edits is not None and told["spared"]:
        rows.append(("", f"{number(told['spared'])} stay because a pinned result is of the same tool"))
    if outcome.edits is None and told is not None:
        rows.append(("", f"the provider was not asked to hide them: {told['why']}"))
    return rows


def _asked_rows(outcome: Compacted) -> list[tuple[str, str]]:
    """What the request has to say besides its messages; --out writes it."""
    rows = [("ask for", f"{name} = {dumps(value)}") for name, value in _asked_for(outcome).items()]
    has_header = outcome.betas and outcome.conversation.dialect != "bedrock"
    return [*rows, ("header", f"anthropic-beta: {','.join(outcome.betas)}")] if has_header else rows


def _asked_for(outcome: Outcome) -> dict[str, Json]:
    """The fields of a request by which its provider is asked for something."""
    if not isinstance(outcome, Compacted):
        return {}
    fields = {"context_management": outcome.edits, "thinking": outcome.thinking}
    asked: dict[str, Json] = {name: dict(value) for name, value in fields.items() if value is not None}
    if asked and outcome.conversation.dialect == "bedrock":  # among the fields of the model, and so is the header
        return {"additionalModelRequestFields": {**asked, "anthropic_beta": list(outcome.betas)}}
    return asked


def _summary_rows(outcome: Compacted) -> list[tuple[str, str]]:
    """Where it was cut and why, what went, and what stands for it."""
    report = outcome.report
    kept = f"; its prompt, message {outcome.kept_prompt}, is kept" if outcome.kept_prompt is not None else ""
    went = [part for part in outcome.dropped if part.rung != "clear"]
    rows = [
        ("cut", f"{report['cut']['kind']} cut at message {outcome.cut}{kept}"),
        ("", str(report["cut"]["why"])),
        *(("dropped", f"messages {part.start} to {part.stop - 1}, {number(part.tokens)} tokens") for part in went),
        ("kept", f"{number(report['cut']['tail_tokens'])} tokens verbatim from message {outcome.cut} on"),
    ]
    if report["head"]["earlier_prompts"]:
        and_digests = " and digests" if report["rung"] == "collapse" else ""
        rows.append(("", f"earlier prompts verbatim{and_digests}, {number(report['head']['earlier_prompts'])} tokens"))
    told = report["summary"]
    stands_for = count(told["replaced_messages"], "message")
    before = " and the summary before it" if told["had_previous"] else ""
    rows.append(
        ("marker" if report["rung"] == "snip" else "summary", f"{number(told['tokens'])} tokens for {stands_for}{before}")
    )
    facts = told["anchors"]
    where = f"{number(facts['in_output'])} stand elsewhere, {number(facts['written'])} are kept verbatim"
    rows.append(("facts", f"{count(facts['found'], 'fact')} in what was replaced: {where}, {number(facts['left'])} are left out"))
    flags = told["unverified"] + told["contradicted"] + told["unseen"] + told["unrun"]
    if flags:
        rows.append(("", f"{count(flags, 'claim')} of the summary flagged, because nothing bears them out"))
    return rows


def _target_rows(outcome: Compacted) -> list[tuple[str, str]]:
    target = number(outcome.report["sizes"]["target"])
    if not outcome.over_by_tokens:
        return [("target", f"{target} tokens, met")]
    fits = "it fits the budget" if outcome.fits else "it does not fit the budget"
    rows = [("target", f"{target} tokens, missed by {number(outcome.over_by_tokens)}; {fits}")]
    return [*rows, ("", f"what has to stay: {_parts(outcome)}")] if outcome.irreducible else rows


def _parts(outcome: Compacted | Refused) -> str:
    return ", ".join(f"{part.name} {number(part.tokens)}" for part in outcome.irreducible)


def _show_summary(page: Page, summary: str) -> None:
    """The first lines of the summary."""
    lines = summary.splitlines()
    for line in lines[:_SUMMARY_LINES]:
        page.line("  ", (shortened(line, page.width - 2), "bold" if line.startswith("#") else ""))
    if len(lines) > _SUMMARY_LINES:
        page.line((f"  … and {count(len(lines) - _SUMMARY_LINES, 'more line')}; --show prints all", "dim"))
    page.line()


def _show_whole(page: Page, outcome: Compacted) -> None:
    """The new conversation, message by message."""
    conversation = outcome.conversation
    for position, message in enumerate(conversation.messages):
        origin = f", {message.origin.value}" if isinstance(message.origin, Origin) else ""
        page.line((f"--- message {conversation.wire_index(position)}: {message.role}{origin}", "bold"))
        for block in message.blocks:
            page.text(spelled_out(block))
        page.line()
