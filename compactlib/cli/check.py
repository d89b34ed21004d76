"""
``compactlib check``: what a provider would refuse, as a linter says it.

Rules it obeys
    * The command line wins over a project's settings, option by option.
    * A file that cannot be read is named, with the line where that is known,
      and the others are judged.  The status is 2 then, whatever they are: half
      a verdict is none.  A line that cannot be read is a fault of its file,
      and counts as an error.

What is not here
    The forms of other programs (`formats`), and what a project may ask for
    (`settings`).
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Literal

import click

from ..model import Conversation, Json
from ..protocol.rules import RULES, Level
from ..protocol.validator import Violation
from ..protocol.validator import check as violations_of
from .findings import Finding, answer_of, located
from .formats import github, junit, sarif
from .options import check_profile, input_option, profile_option
from .originals import original_option, read_original
from .printing import LEVEL_STYLES, Page, Piece, complain, count, print_json
from .reading import EXAMPLE, Source, UnreadError, read_sources, report_problems, unread_in
from .selection import Selection, prefixes
from .settings import NAME, Projects, Settings

__all__ = ["check"]

_LEVELS: Final[tuple[Level, ...]] = ("error", "warning", "info")
_FORMATS: Final = ("text", "json", "junit", "sarif", "github")


@click.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@input_option
@click.option(
    "--mode",
    type=click.Choice(["request", "history"]),
    help="Whether it is sent now, or may end with open calls.  [default: history for a session, else request]",
)
@original_option
@profile_option
@click.option("--select", metavar="RULES", multiple=True, help="Ask about these rules only: ids or prefixes such as A-PAIR.")
@click.option("--ignore", metavar="RULES", multiple=True, help="Do not ask about these.")
@click.option("--strict", is_flag=True, help="Let warnings count: what some route, model or version refuses.")
@click.option("--skip-others", is_flag=True, help="Pass over files that are no conversation, and say so.")
@click.option("--statistics", is_flag=True, help="Count the findings by rule instead of listing them.")
@click.option(
    "--output-format",
    "--format",
    "output_format",
    type=click.Choice(_FORMATS),
    default="text",
    show_default=True,
    help="Print for people or for programs.",
)
def check(
    files: tuple[str, ...],
    input_format: str | None,
    mode: Literal["request", "history"] | None,
    original: str | None,
    profile: str | None,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    strict: bool,
    skip_others: bool,
    statistics: bool,
    output_format: str,
) -> int:
    """
    Check that a provider would accept FILE.

    Each finding names the rule ("compactlib rules ID" explains it), what was
    expected, what the provider answers, and the safe fix if there is one.
    Exit status 1 says that there are errors or lines that could not be read,
    2 that a file could not be read.
    What a project asks for stands in its pyproject.toml under
    [tool.compactlib].
    """
    if statistics and output_format not in ("text", "json"):
        raise click.UsageError(f"--statistics has no form {output_format}", click.get_current_context())
    if original is not None and len(files) > 1:
        raise click.UsageError("--original is of one FILE", click.get_current_context())
    asked = Selection(prefixes(select, where="--select"), prefixes(ignore, where="--ignore"))
    projects = Projects()
    found: list[Finding] = []
    unread: list[UnreadError] = []
    lines: list[UnreadError] = []
    names: list[str] = []
    judged: list[str] = []
    messages = 0
    for file in files:
        chosen = _selection(asked, Settings() if file.startswith(EXAMPLE) else projects.settings_for(_place(file)), file)
        sources: tuple[Source, ...] = ()
        try:
            sources = read_sources(file, input_format, skip_others=skip_others and file != "-")
        except UnreadError as error:
            unread.append(error)
            complain(f"compactlib: {error}")
            continue
        if not sources:
            complain(f"{file}: no conversation that is known; passed over")
            continue
        for source in sources:
            report_problems(source)
            lines.extend(unread_in(source))
            conversation = source.transcript.conversation
            reading = mode or ("request" if source.transcript.format == source.transcript.dialect else "history")
            violations = _checked(conversation, reading, profile, read_original(original, source))
            found.extend(located(source, [one for one in violations if chosen.covers(one.rule)]))
            names.append(source.name)
            judged.append(f"{source.transcript.dialect}, as a {reading}")
            messages += conversation.length
    counts = Counter(one.violation.level for one in found)
    is_valid = not counts["error"] and not (strict and counts["warning"]) and not (unread or lines)
    missed = [*unread, *lines]
    if output_format == "json":
        listed = {"statistics": _statistics(found)} if statistics else {"violations": [_as_json(one) for one in found]}
        print_json({"valid": is_valid, **listed, "unread": [_unread_as_json(one) for one in missed]})
    elif output_format == "sarif":
        print_json(sarif(found, missed))
    elif output_format == "junit":
        sys.stdout.write(junit(found, names, missed, failing=frozenset({"error", "warning"} if strict else {"error"})))
    elif output_format == "github":
        sys.stdout.write(github(found, missed))
    elif judged or not unread:
        page = Page()
        if statistics:
            _show_statistics(page, _statistics(found))
        else:
            for one in found:
                _show(page, one)
        said = ", ".join(_counted(counts[level], level) for level in _LEVELS if counts[level]) or (
            "incomplete" if lines else "valid"
        )
        style = next((LEVEL_STYLES[level] for level in _LEVELS if counts[level]), "bold red" if lines else "bold green")
        if judged:
            lacking = [count(len(some), what) for some, what in ((lines, "line"), (unread, "file")) if some]
            failed = f"; {' and '.join(lacking)} could not be read" if lacking else ""
            page.line((said, style), f": {count(messages, 'message')} ({'; '.join(dict.fromkeys(judged))}){failed}")
        else:
            page.line("nothing was checked")
    return 2 if unread else 0 if is_valid else 1


def _place(file: str) -> Path:
    """The file, for the search of a project; standard input belongs to the directory one is in."""
    return Path(NAME if file == "-" else file)


def _selection(asked: Selection, project: Settings, file: str) -> Selection:
    """What is asked about in one file; who selects on the command line is not held by what the project ignores everywhere."""
    ignored = asked.ignore or (() if asked.select else project.ignore)
    return Selection(asked.select or project.select, (*ignored, *project.ignored_in(_place(file))))


def _checked(
    conversation: Conversation, mode: Literal["request", "history"], profile: str | None, original: dict[int, Json] | None
) -> tuple[Violation, ...]:
    check_profile(profile, conversation.dialect)
    return violations_of(conversation, mode=mode, profile=profile, original=original)


def _show(page: Page, one: Finding) -> None:
    violation = one.violation
    level = (violation.level, LEVEL_STYLES[violation.level])
    page.line((f"{one.file}:{one.shown_line}:", "bold"), " ", level, f" {violation.rule} {violation.message}")
    rows: list[tuple[str, Piece]] = [("at", violation.pointer)] if violation.pointer else []
    rows.append(("expected", violation.expected))
    if answer := answer_of(violation):
        rows.append(("provider", (answer, "italic")))
    if violation.fix is not None:
        rows.append(("fix", violation.fix))
    page.table([((name, "dim"), text) for name, text in rows], indent="    ")


def _counted(found: int, level: Level) -> str:
    return f"{found} info" if level == "info" else count(found, level)


def _statistics(found: Sequence[Finding]) -> list[Json]:
    """The rules that were broken, the most often first; one that has two levels stands in two rows."""
    counts = Counter((one.violation.rule, one.violation.level, one.violation.fix) for one in found)
    rows = sorted(counts.items(), key=lambda row: (-row[1], row[0][0], _LEVELS.index(row[0][1]), row[0][2] or ""))
    return [{"rule": rule, "level": level, "count": times, "fix": fix} for (rule, level, fix), times in rows]


def _show_statistics(page: Page, rows: list[Json]) -> None:
    page.table(
        [
            [
                str(row["count"]),
                row["rule"],
                (row["level"], LEVEL_STYLES[row["level"]]),
                row["fix"] or "-",
                _statement(row["rule"]),
            ]
            for row in rows
        ],
        right=(0,),
        indent="",
    )


def _statement(rule_id: str) -> str:
    rule = RULES.get(rule_id)
    return "" if rule is None else rule.statement


def _unread_as_json(one: UnreadError) -> Json:
    return {"file": one.file, "line": one.line, "message": one.problem}


def _as_json(one: Finding) -> Json:
    violation = one.violation
    return {
        "rule": violation.rule,
        "law": violation.law,
        "level": violation.level,
        "index": violation.index,
        "pointer": violation.pointer,
        "message": violation.message,
        "expected": violation.expected,
        "fix": violation.fix,
        "file": one.file,
        "line": one.shown_line,
    }
