"""
``compactlib rules``: the rules of the message protocol, listed, explained, and found by a provider's error.
"""

from __future__ import annotations

import difflib

import click

from ..dialects import WIRES
from ..errors import PolicyError
from ..model import Json
from ..protocol.profiles import PROFILES
from ..protocol.rules import RULES, Rule, find, message_index
from .options import format_option
from .printing import LEVEL_STYLES, Page, print_json
from .reading import read_stdin

__all__ = ["rules"]

_EVIDENCE = {
    "V": "the provider's own words were read",
    "D": "a document or an official type says so",
    "C": "the code of a client relies on it",
    "K": "hearsay",
}


@click.command()
@click.argument("rule_id", metavar="[ID]", required=False)
@click.option("--dialect", type=click.Choice(tuple(WIRES)), help="Only the rules of this dialect.")
@click.option("--error", "error_text", metavar="TEXT", help='Explain what a provider answered; "-" is standard input.')
@click.option("--profiles", is_flag=True, help="List the routes that --profile of other commands can name.")
@format_option
def rules(rule_id: str | None, dialect: str | None, error_text: str | None, profiles: bool, output_format: str) -> int:
    """
    List the rules, or explain one.

    ID is a rule's, or what several begin with (A-PAIR), which are listed.
    With --error: the rules that explain what a provider answered, which message
    it speaks of, and the repair; exit status 1 says that no rule is known.
    """
    if (rule_id is not None) + (error_text is not None) + profiles > 1:
        raise click.UsageError("one of ID, --error and --profiles at a time", click.get_current_context())
    if dialect is not None and (error_text is not None or profiles):
        raise click.UsageError("--dialect narrows a list of rules", click.get_current_context())
    if profiles:
        return _show_profiles(output_format)
    index = None
    if error_text is not None:
        pasted = read_stdin().decode("utf-8", "replace") if error_text == "-" else error_text
        found = find(pasted)
        index = message_index(pasted)
    else:
        found = tuple(rule for rule in _named(rule_id or "") if dialect in (None, rule.dialect))
    if output_format == "json":
        spoken_of = {} if error_text is None else {"index": index}
        print_json([{**_as_json(rule), **spoken_of} for rule in found])
    elif error_text is None and (rule_id or "").upper() not in RULES:
        Page().table([rule.id, (rule.level, LEVEL_STYLES[rule.level]), rule.statement] for rule in found)
    else:
        page = Page()
        if index is not None:
            page.line(f"It speaks of message {index}, counted from 0.")
        if not found:
            page.line("No rule is known that explains this.")
        elif index is not None:
            page.line()
        for place, rule in enumerate(found):
            if place:
                page.line()
            _explain(page, rule)
        fix = next((rule.fix for rule in found if rule.fix is not None), None)
        if error_text is not None and fix is not None:
            page.line()
            page.line(f"compactlib repair FILE does what is safe: {fix}.")
    return 0 if found else 1


def _show_profiles(output_format: str) -> int:
    """Each profile by its dialect; a dialect's own first."""
    by_dialect: dict[str, list[str]] = {}
    for profile in PROFILES.values():
        by_dialect.setdefault(profile.dialect, []).append(profile.name)
    if output_format == "json":
        print_json(by_dialect)
    else:
        Page().table([[dialect, name] for dialect, names in by_dialect.items() for name in names], indent="")
    return 0


def _named(rule_id: str) -> tuple[Rule, ...]:
    """The rule with this id, or those whose ids begin so."""
    if rule_id.upper() in RULES:
        return (RULES[rule_id.upper()],)
    found = tuple(rule for rule in RULES.values() if rule.id.startswith(rule_id.upper()))
    if not found:
        near = difflib.get_close_matches(rule_id[:40].upper(), RULES, n=3)
        hint = f"did you mean {', '.join(near)}?" if near else "compactlib rules lists them all"
        raise PolicyError("ID", f"no rule is called {rule_id}", hint=hint)
    return found


def _explain(page: Page, rule: Rule) -> None:
    page.line((rule.id, "bold"), "  ", (rule.level, LEVEL_STYLES[rule.level]), f"  {rule.dialect}")
    page.line()
    page.paragraph(rule.statement, indent="  ")
    page.line()
    if rule.error:
        how = f"What the provider answers (HTTP status {rule.status}):" if rule.status else "What is answered, not over HTTP:"
        page.line(f"  {how}")
        page.paragraph(rule.error, indent="    ", style="italic")
        page.line()
    for case, level, why in rule.variants:
        page.line("  ", (level, LEVEL_STYLES[level]), f" in the case {case}: {why}")
    if rule.variants:
        page.line()
    page.table(
        [
            ["serves", f"law {rule.law}, common rule {rule.core}"],
            ["safe fix", rule.fix or "none"],
            ["evidence", f"{rule.evidence}: {_EVIDENCE[rule.evidence]}"],
            ["seen in", rule.source],
        ]
    )


def _as_json(rule: Rule) -> Json:
    return {
        "id": rule.id,
        "dialect": rule.dialect,
        "level": rule.level,
        "statement": rule.statement,
        "error": rule.error,
        "status": rule.status,
        "fix": rule.fix,
        "law": rule.law,
        "core": rule.core,
        "evidence": rule.evidence,
        "source": rule.source,
        "variants": [{"case": case, "level": level, "why": why} for case, level, why in rule.variants],
    }
