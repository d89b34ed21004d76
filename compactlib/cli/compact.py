"""
``compactlib compact``: a conversation made smaller, and the account of it.

Rules it obeys
    * The input is never written over.  ``--out`` is written aside, synced and
      renamed, so a file of that name is whole at every moment.
    * A refusal is an answer: it says in words what could not be done and why.
    * No model is called.  The extractive summariser writes the summary, and
      the account says so.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import click

from ..budget import Policy
from ..dialects import render
from ..dialects.reading import dumps
from ..driving import compact as run_compaction
from ..model import Conversation, Json, Message, Origin
from ..outcomes import Compacted, Outcome, Refused, Unchanged
from ..summaries.extractive import Extractive
from ..summaries.rendering import SummaryRequest
from .describing import spelled_out
from .options import file_argument, format_option, input_option, window_options
from .printing import Page, Piece, Segment, count, number, per_cent, print_json
from .reading import Source, read_source, report_problems
from .shares import STYLES, shares

__all__ = ["compact"]

_SUMMARY_LINES: Final = 24
_SAID: Final = {
    "below-trigger": "it is small enough already",
    "auto-off": "automatic compaction is switched off",
    "nothing-new": "it was compacted before, and nothing has come since",
}


@click.command()
@file_argument
@window_options(required=True)
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Write the new conversation to this file.")
@click.option("--focus", metavar="TEXT", help="What the summary is to pay attention to.")
@click.option("--show", is_flag=True, help="Print the new conversation whole, as the model will see it.")
@input_option
@format_option
def compact(
    file: str,
    window: int,
    reserve: int | None,
    out: Path | None,
    focus: str | None,
    show: bool,
    input_format: str | None,
    output_format: str,
) -> int:
    """
    Replace the older part of FILE by a summary.

    The summary is made from the text itself; no model is called. What the new
    conversation looks like is written to --out, in the dialect of the input.
    Exit status 1 says that it was not compacted, and why.
    """
    source = read_source(file, input_format)
    report_problems(source)
    if out is not None:
        _refuse_input(out, file)
    conversation = source.transcript.conversation
    policy = Policy(window_tokens=window, reserve_tokens=reserve)
    summariser = _Metered(Extractive(counter=policy.counter), policy)
    outcome = run_compaction(conversation, policy, summarise=summariser, when="now", focus=focus)
    if out is not None and isinstance(outcome, Compacted):
        _write(out, dumps(render(outcome.conversation)))
    if output_format == "json":
        print_json(_as_json(outcome))
    else:
        page = Page()
        _show_outcome(page, source, outcome, policy, summariser)
        if isinstance(outcome, Compacted):
            _show_result(page, outcome, out, show=show)
    return 0 if isinstance(outcome, Compacted) else 1


class _Metered:
    """A summariser, and what was asked of it."""

    def __init__(self, summarise: Extractive, policy: Policy) -> None:
        self.summarise = summarise
        self.policy = policy
        self.requests = self.read_tokens = self.written_tokens = 0

    def __call__(self, request: SummaryRequest) -> str:
        reply = self.summarise(request)
        self.requests += 1
        self.read_tokens += self.policy.counter(request.instructions) + self.policy.counter(request.text)
        self.written_tokens += self.policy.counter(reply)
        return reply


def _refuse_input(out: Path, file: str) -> None:
    try:
        is_input = file != "-" and out.samefile(file)
    except OSError:
        return
    if is_input:
        raise click.UsageError("--out is the input itself; name another file", click.get_current_context())


def _write(out: Path, text: str) -> None:
    """Write aside, sync, rename: whoever looks sees the old file or the new one, and never half of it."""
    aside = out.with_name(f".{out.name}.{os.getpid()}")
    try:
        with aside.open("x", encoding="utf-8") as file:
            file.write(text + "\n")
            file.flush()
            os.fsync(file.fileno())
        aside.replace(out)
    finally:
        aside.unlink(missing_ok=True)


def _as_json(outcome: Outcome) -> Json:
    body = render(outcome.conversation)
    messages = body["messages"] if isinstance(body, dict) else body
    return {
        "outcome": outcome.report["outcome"],
        "reason": outcome.reason,
        "before_tokens": outcome.before_tokens,
        "after_tokens": outcome.after_tokens,
        "cut": outcome.cut if isinstance(outcome, Compacted) else None,
        "messages": messages,
        "report": outcome.report,
    }


def _show_outcome(page: Page, source: Source, outcome: Outcome, policy: Policy) -> None:
    """The headline, and before and after by kind."""
    transcript = source.transcript
    what = transcript.format if transcript.format == transcript.dialect else f"{transcript.format}, {transcript.dialect}"
    page.line((source.name, "bold"), f"  {what}, {count(outcome.before.length, 'message')}")
    page.line()
    match outcome:
        case Compacted():
            page.line(
                ("compacted", "bold green"),
                f"  {number(outcome.before_tokens)} -> {number(outcome.after_tokens)} tokens",
                f", {per_cent(outcome.after_tokens, outcome.before_tokens)} of what it was",
            )
        case Unchanged():
            page.line(("unchanged", "bold yellow"), f"  {number(outcome.before_tokens)} tokens: {_SAID[outcome.reason]}")
        case Refused():
            page.line(("refused", "bold red"), f"  {outcome.reason}: {outcome.why}")
    page.line()
