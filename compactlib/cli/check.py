"""
``compactlib check``: what a provider would refuse, as a linter says it.
"""

from __future__ import annotations

from collections import Counter
from typing import Final, Literal

import click

from ..model import Conversation, Json
from ..protocol.profiles import PROFILES
from ..protocol.rules import RULES, Level
from ..protocol.validator import Violation
from ..protocol.validator import check as violations_of
from .options import format_option, input_option
from .printing import LEVEL_STYLES, Page, Piece, count, print_json
from .reading import Source, read_sources, report_problems

__all__ = ["check"]

_LEVELS: Final[tuple[Level, ...]] = ("error", "warning", "info")


@click.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@input_option
@click.option(
    "--mode",
    type=click.Choice(["request", "history"]),
    help="Whether it is sent now, or may end with open calls.  [default: history for a session, else request]",
)
@click.option("--profile", metavar="NAME", type=click.Choice(list(PROFILES)), help="The route.  [default: the dialect's own]")
@click.option("--strict", is_flag=True, help="Let warnings count: what some route, model or version refuses.")
@format_option
def check(
    files: tuple[str, ...],
    input_format: str | None,
    mode: Literal["request", "history"] | None,
    profile: str | None,
    strict: bool,
    output_format: str,
) -> int:
    """
    Check that a provider would accept FILE.

    Each finding names the rule ("compactlib rules ID" explains it), what was
    expected, what the provider answers, and the safe fix if there is one.
    Exit status 1 says that there are errors.
    """
    found: list[tuple[Source, int, Violation]] = []
    judged: list[str] = []
    messages = 0
    for file in files:
        for source in read_sources(file, input_format):
            report_problems(source)
            conversation = source.transcript.conversation
            reading = mode or ("request" if source.transcript.format == source.transcript.dialect else "history")
            found.extend(_findings(source, _checked(conversation, reading, profile)))
            judged.append(f"{source.transcript.dialect}, as a {reading}")
            messages += conversation.length
    counts = Counter(violation.level for _, _, violation in found)
    is_valid = not counts["error"] and not (strict and counts["warning"])
    if output_format == "json":
        print_json({"valid": is_valid, "violations": [_as_json(*finding) for finding in found]})
        return 0 if is_valid else 1
    page = Page()
    for finding in found:
        _show(page, *finding)
    said = ", ".join(_counted(counts[level], level) for level in _LEVELS if counts[level]) or "valid"
    style = next((LEVEL_STYLES[level] for level in _LEVELS if counts[level]), "bold green")
    page.line((said, style), f": {count(messages, 'message')} ({'; '.join(dict.fromkeys(judged))})")
    return 0 if is_valid else 1


def _checked(conversation: Conversation, mode: Literal["request", "history"], profile: str | None) -> tuple[Violation, ...]:
    if profile is not None and PROFILES[profile].dialect != conversation.dialect:
        raise click.UsageError(f"the profile {profile} is not one of {conversation.dialect}", click.get_current_context())
    return violations_of(conversation, mode=mode, profile=profile)


def _findings(source: Source, violations: tuple[Violation, ...]) -> list[tuple[Source, int, Violation]]:
    """Each violation with its line: that of the file, else the index of the message, else 1."""
    lines = source.lines if violations else ()
    return [
        (source, 1 if one.index is None else lines[one.index] if one.index < len(lines) else one.index, one) for one in violations
    ]


def _show(page: Page, source: Source, line: int, violation: Violation) -> None:
    level = (violation.level, LEVEL_STYLES[violation.level])
    page.line((f"{source.name}:{line}:", "bold"), " ", level, f" {violation.rule} {violation.message}")
    rows: list[tuple[str, Piece]] = [("at", violation.pointer)] if violation.pointer else []
    rows.append(("expected", violation.expected))
    rule = RULES.get(violation.rule)
    if rule is not None and rule.error:
        rows.append(("provider", (_filled(rule.error.partition("\n")[0], violation), "italic")))
    if violation.fix is not None:
        rows.append(("fix", violation.fix))
    page.table([((name, "dim"), text) for name, text in rows], indent="    ")


def _counted(found: int, level: Level) -> str:
    return f"{found} info" if level == "info" else count(found, level)


def _filled(answer: str, violation: Violation) -> str:
    """The provider's words with the index and the ids of this violation in them, as far as they are sure to be meant."""
    if violation.index is not None:
        answer = answer.replace("messages.{n}", f"messages.{violation.index}")
    if violation.call_ids:
        answer = answer.replace("{ids}", ", ".join(violation.call_ids[:3])).replace("{id}", violation.call_ids[0])
    return answer


def _as_json(source: Source, line: int, violation: Violation) -> Json:
    return {
        "rule": violation.rule,
        "law": violation.law,
        "level": violation.level,
        "index": violation.index,
        "pointer": violation.pointer,
        "message": violation.message,
        "expected": violation.expected,
        "fix": violation.fix,
        "file": source.name,
        "line": line,
    }
