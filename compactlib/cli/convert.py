"""
``compactlib convert``: a conversation for another provider, and what did not come through.

Rules it obeys
    * The input is never written over.  ``--out`` is written aside, synced and
      renamed, so a file of that name is whole at every moment.
    * Every loss is listed, by name and place, and is exit status 1.  So is what
      the other provider would refuse of the result: that was wrong before.
    * What cannot be judged is said to be unjudged.

What is not here
    What is carried and what is not: `compactlib.converting`.
"""

from __future__ import annotations

from pathlib import Path

import click

from ..converting import LOSSES, Converted, Loss
from ..converting import convert as convert_conversation
from ..dialects import DIALECTS
from ..dialects.reading import dumps
from ..errors import PolicyError
from ..model import Json
from ..protocol.validator import Violation, check
from .options import check_profile, file_argument, format_option, input_option, profile_option
from .printing import Page, count, print_json
from .reading import Source, read_source, report_problems
from .redaction import account_of, as_json, redact_option, redacted
from .writing import OutPath, refuse_out, write_aside

__all__ = ["convert"]


@click.command()
@file_argument
@click.option("--to", "dialect", type=click.Choice(list(DIALECTS)), required=True, help="Whose wire shape it is to have.")
@click.option("--out", type=OutPath(path_type=Path, dir_okay=False), help="Write the converted conversation to this file.")
@profile_option
@redact_option
@input_option
@format_option
def convert(
    file: str,
    dialect: str,
    out: Path | None,
    profile: str | None,
    redacts: bool,
    input_format: str | None,
    output_format: str,
) -> int:
    """
    Write FILE for another provider.

    Calls, results, pictures, instructions, tools and simple settings are
    written as the other provider wants them, ids are renamed where it has
    others; with --profile also as that route wants it, for a chat template say.
    Everything that has no place there is listed. Exit status 1 says that
    something is.
    """
    check_profile(profile, dialect)
    source, secrets = redacted(read_source(file, input_format), redacts=redacts)
    report_problems(source)
    if out is not None:
        refuse_out(out, file)
    converted = convert_conversation(source.transcript.conversation, dialect=dialect, profile=profile)
    refused = _refused(converted, profile)
    if out is not None:
        body = converted.body
        write_aside(out, body if isinstance(body, str | bytes) else dumps(body))
    if output_format == "json":
        print_json({**_as_json(converted, refused), **as_json(secrets)})
    else:
        _show(source, converted, refused, out, "" if secrets is None else account_of(secrets))
    return 1 if converted.losses or refused else 0


def _refused(converted: Converted, profile: str | None) -> tuple[Violation, ...] | None:
    """What the provider would refuse of a stored conversation; ``None`` where nobody can tell."""
    try:
        found = check(converted.conversation, mode="history", profile=profile)
    except PolicyError:
        return None
    return tuple(violation for violation in found if violation.level == "error")


def _as_json(converted: Converted, refused: tuple[Violation, ...] | None) -> Json:
    return {
        "dialect": converted.conversation.dialect,
        "losses": [_loss_as_json(loss) for loss in converted.losses],
        "id_map": [list(pair) for pair in converted.id_map],
        "refused": None if refused is None else [_violation_as_json(one) for one in refused],
        "body": converted.body,
    }


def _loss_as_json(loss: Loss) -> Json:
    return {"name": loss.name, "index": loss.index, "pointer": loss.pointer, "message": loss.message}


def _violation_as_json(found: Violation) -> Json:
    return {"rule": found.rule, "index": found.index, "pointer": found.pointer, "message": found.message}


def _show(source: Source, converted: Converted, refused: tuple[Violation, ...] | None, out: Path | None, told: str) -> None:
    page = Page()
    lines = source.lines if converted.losses else ()
    for loss in converted.losses:
        line = 1 if loss.index is None else lines[loss.index] if loss.index < len(lines) else loss.index
        page.line((f"{source.name}:{line}:", "bold"), " ", (loss.name, "yellow"), f" {loss.pointer} {loss.message}")
    for found in refused or ():
        page.line(("refused", "bold red"), f" {found.rule} {found.message} (message {found.index} of the converted)")
    for name in sorted({loss.name for loss in converted.losses}):
        page.line((f"  {name:<12}", "dim"), LOSSES[name])
    dialect = converted.conversation.dialect
    said = f": {source.transcript.dialect} to {dialect}, {count(converted.conversation.length, 'message')}"
    losses = f", {len(converted.losses):,} loss{'' if len(converted.losses) == 1 else 'es'}"
    renamed = f", {count(len(converted.id_map), 'id')} renamed" if converted.id_map else ""
    page.line(("converted", "bold yellow" if converted.losses or refused else "bold green"), said + losses + renamed)
    if told:
        page.line(told)
    if refused is None:
        page.line(f"whether {dialect} would take it was not judged: no reader of it is here")
    page.line(f"written: {out}" if out is not None else "nothing was written; --out FILE writes the converted conversation")
