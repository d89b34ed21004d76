"""
``compactlib repair``: a conversation that a provider refuses, made one that it takes.

Rules it obeys
    * The input is never written over.  ``--out`` is written aside, synced and
      renamed, so a file of that name is whole at every moment.
    * Without ``--out`` nothing is written: what would be done is said, and with
      ``--diff`` shown.
    * A session is written back as that session; what cannot be is refused, and
      nothing is written.
    * What could not be mended is said, with the reason, and is exit status 1.

How it works
    The diff has one line of JSON for each message, and of a session the lines
    of the file.  What stayed is the same object, or the same line, so it need
    not be searched for: the lines in common are the longest run of unchanged
    ones that keep their order.

What is not here
    Which repairs there are: `compactlib.protocol.repair`.  How a session is
    written back: `compactlib.transcripts.rewriting`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from pathlib import Path
from typing import Final

import click

from ..dialects import render, render_messages
from ..dialects.reading import dumps
from ..model import Conversation, Json
from ..protocol.repair import Fix, Left, Repaired
from ..protocol.repair import repair as repair_conversation
from ..transcripts.forms import FORMS
from ..transcripts.lineage import increasing
from ..transcripts.lines import as_utf8
from ..transcripts.rewriting import rewrite
from ..turns import divide
from .describing import asked_of_it, bound_to
from .options import check_profile, file_argument, format_option, input_option, profile_option
from .originals import original_option, read_original
from .printing import Page, Piece, count, print_json
from .reading import Source, about, read_source, report_problems
from .writing import OutPath, refuse_out, write_aside

__all__ = ["repair"]

_CONTEXT_MESSAGES: Final = 1
_STYLES: Final = {"-": "red", "+": "green", " ": "dim"}


@click.command()
@file_argument
@click.option("--diff", is_flag=True, help="Show the change: the lines of a session, else one line for each message.")
@click.option("--out", type=OutPath(path_type=Path, dir_okay=False), help="Write the repaired session or conversation here.")
@click.option("--close", is_flag=True, help="Make it ready to be sent: answer pending calls, let a user message stand last.")
@original_option
@profile_option
@input_option
@format_option
def repair(
    file: str,
    diff: bool,
    out: Path | None,
    close: bool,
    original: str | None,
    profile: str | None,
    input_format: str | None,
    output_format: str,
) -> int:
    """
    Mend what a provider would refuse in FILE.

    Only what breaks a rule is touched, and only where that is safe. A call
    without a result is answered by an error that says that its outcome is
    unknown. The input stays as it is. --out writes what the input was: a
    request body, a list of messages, or the session of an agent, in which all
    lines that are not concerned stay as they are. With --original altered
    reasoning is put back as the provider returned it. Exit status 1 says that
    something is left that has no safe repair.
    """
    source = read_source(file, input_format)
    report_problems(source)
    conversation = source.transcript.conversation
    check_profile(profile, conversation.dialect)
    if out is not None:
        refuse_out(out, file)
    returned = read_original(original, source)
    repaired = repair_conversation(conversation, close=close, profile=profile, original=returned)

    def mended(one: Conversation) -> Conversation:
        if one is conversation:
            return repaired.conversation
        return repair_conversation(one, close=close, profile=profile, original=returned).conversation

    session = None
    if source.transcript.format in FORMS and (diff or out is not None):
        with about(source.name):
            session = rewrite(source.content, source.transcript, mended)
    if out is not None:
        write_aside(out, dumps(render(repaired.conversation)) if session is None else session)
    if output_format == "json":
        print_json(_as_json(repaired))
    else:
        _show(source, repaired, diff=diff, out=out, close=close, session=session)
    return 1 if repaired.left else 0


def _as_json(repaired: Repaired) -> Json:
    return {
        "fixes": [_fix_as_json(fix) for fix in repaired.fixes],
        "left": [_left_as_json(one) for one in repaired.left],
        **asked_of_it(repaired),
        "messages": render_messages(repaired.conversation),
    }


def _fix_as_json(fix: Fix) -> Json:
    return {
        "name": fix.name,
        "rule": fix.rule,
        "index": fix.index,
        "call_ids": list(fix.call_ids),
        "message": fix.message,
    }


def _left_as_json(left: Left) -> Json:
    found = left.violation
    return {"rule": found.rule, "index": found.index, "pointer": found.pointer, "message": found.message, "reason": left.reason}


# --- What is shown ---------------------------------------------------------------------------------------------------


def _show(source: Source, repaired: Repaired, *, diff: bool, out: Path | None, close: bool, session: bytes | None) -> None:
    page = Page()
    lines = source.lines if repaired.fixes else ()
    for fix in repaired.fixes:
        line = 1 if fix.index is None else lines[fix.index] if fix.index < len(lines) else fix.index
        page.line((f"{source.name}:{line}:", "bold"), " ", (fix.name, "green"), f" {fix.rule} {fix.message}")
    for one in repaired.left:
        at = "" if one.violation.index is None else f" (message {one.violation.index} of the repaired)"
        page.line((f"{source.name}:", "bold"), " ", ("left", "bold red"), f" {one.violation.rule} {one.violation.message}{at}")
        page.line(("    why  ", "dim"), one.reason)
    if diff and repaired.fixes:
        for pieces in _diff(source, repaired.conversation) if session is None else _session_diff(source.content, session):
            page.line(*pieces)
    page.line(*_verdict(repaired))
    if repaired.thinking is not None:
        page.line(bound_to(repaired))
    if not close and (pending := _pending(repaired.conversation)):
        verb, them = ("is", "it") if pending == 1 else ("are", "them")
        page.line(f"{count(pending, 'call')} {verb} pending; --close answers {them}")
    if out is not None:
        page.line(f"written: {out}" if session is None else f"written: {out}, a {source.transcript.format} session")
    elif repaired.fixes:
        page.line("nothing was written; --out FILE writes the repaired conversation")


def _pending(conversation: Conversation) -> int:
    """How many calls may still be answered."""
    if not any(message.calls for message in conversation.messages):
        return 0
    return len(divide(conversation).pending)


def _verdict(repaired: Repaired) -> list[Piece]:
    left = f"{count(len(repaired.left), 'error')} left"
    if not repaired.fixes:
        return [(left, "bold red")] if repaired.left else [("nothing to repair", "bold green")]
    fixes = len(repaired.fixes)
    said = f": {fixes:,} fix{'' if fixes == 1 else 'es'}"
    return [("repaired", "bold yellow" if repaired.left else "bold green"), f"{said}, {left}" if repaired.left else said]


def _diff(source: Source, after: Conversation) -> Iterator[list[Piece]]:
    """What became of the messages, one line of JSON each."""
    before = source.transcript.conversation
    old, new = ([dumps(message) for message in render_messages(one)] for one in (before, after))
    return _unified(old, new, _identities(before), _identities(after))


def _session_diff(before: bytes, after: bytes) -> Iterator[list[Piece]]:
    """What became of the lines of a file."""
    old, new = (as_utf8(content).decode("utf-8", "replace").split("\n") for content in (before, after))
    return _unified(old, new, _numbered(old), _numbered(new))


def _unified(old: Sequence[str], new: Sequence[str], *keys: Sequence[Hashable]) -> Iterator[list[Piece]]:
    """A unified diff; *keys* tell for either side which lines are the same."""
    rows: list[tuple[str, int, int]] = []  # sign, and how many lines of either side stand before it
    at = to = 0
    for one, other in [*_unchanged(*keys), (len(old), len(new))]:
        rows += [("-", place, to) for place in range(at, one)]
        rows += [("+", one, place) for place in range(to, other)]
        if one < len(old):
            rows.append((" ", one, other))
        at, to = one + 1, other + 1
    yield [("--- before", "bold")]
    yield [("+++ after", "bold")]
    for start, stop in _hunks([row[0] != " " for row in rows]):
        sizes = [sum(sign in signs for sign, _at, _to in rows[start:stop]) for signs in (" -", " +")]
        yield [(f"@@ -{rows[start][1] + 1},{sizes[0]} +{rows[start][2] + 1},{sizes[1]} @@", "cyan")]
        for sign, at, to in rows[start:stop]:
            text = new[to] if sign == "+" else old[at]
            yield [(sign + text, _STYLES[sign])]


def _hunks(changed: list[bool]) -> Iterator[tuple[int, int]]:
    """Half-open ranges of rows that hold all changed ones, each with its context."""
    start = stop = -1
    for place, is_changed in enumerate(changed):
        if not is_changed:
            continue
        if start < 0 or place - _CONTEXT_MESSAGES > stop:
            if start >= 0:
                yield start, stop
            start = max(place - _CONTEXT_MESSAGES, 0)
        stop = min(place + _CONTEXT_MESSAGES + 1, len(changed))
    if start >= 0:
        yield start, stop


def _unchanged(before: Sequence[Hashable], after: Sequence[Hashable]) -> list[tuple[int, int]]:
    """The longest run of lines that are the same in the same order, as (index before, index after)."""
    place = {key: index for index, key in enumerate(before)}
    pairs = [(place[key], index) for index, key in enumerate(after) if key in place]
    return [pairs[at] for at in increasing([index for index, _other in pairs])]


def _numbered(lines: Sequence[str]) -> list[tuple[str, int]]:
    """Each line, and how many like it stand before it."""
    seen: Counter[str] = Counter()
    made = []
    for line in lines:
        made.append((line, seen[line]))
        seen[line] += 1
    return made


def _identities(conversation: Conversation) -> list[int]:
    """The identity of each message of the wire; that of a fused head is its first message's."""
    start, stop = conversation.fused
    inside = range(start + 1, stop)
    return [id(message) for at, message in enumerate(conversation.messages) if at not in inside]
