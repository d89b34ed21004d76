"""
How far the rules agree with what providers said: the tables of chapter 27, counted from recordings and handed cases.

``python -m tests.agreement`` counts and writes them into the chapter; the variable ``COMPACTLIB_SHARED`` says where the
recordings are.  The chapter holds counts only.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

from compactlib.dialects import parse, render
from compactlib.protocol.profiles import PROFILES
from compactlib.protocol.rules import find
from compactlib.protocol.validator import check

from . import test_handed_protocol as validation
from . import test_handed_repair as repairs
from .test_recorded import recorded

__all__ = ["CHAPTER", "TABLES", "place"]

CHAPTER: Final = Path(__file__).parent.parent / "spec" / "27-agreement.md"
DIALECTS: Final = ("anthropic", "openai-chat", "openai-responses", "gemini", "bedrock", "mistral")
ROUTES: Final = {"vertex": "gemini-vertex"}
"""What the recordings call a provider, where the profile has another name."""


def _profile(entry: dict[str, Any]) -> str:
    """The profile of the provider that answered, if there is one, else that of the dialect."""
    name: str = ROUTES.get(entry["provider"], entry["provider"])
    known = PROFILES.get(name)
    return name if known is not None and known.dialect == entry["dialect"] else str(entry["dialect"])


def _words_of_rules(entry: dict[str, Any]) -> set[str]:
    """The rules of a dialect whose words the provider answered, but for sizes, which only a caller who counted can judge."""
    prefix = {"openai-responses": "R-"}.get(entry["dialect"], entry["dialect"][0].upper() + "-")
    named = {rule.id for rule in find(json.dumps(entry.get("error"))) if rule.core != "C15" or "SIZE" not in rule.id}
    return {rule for rule in named if rule.startswith(prefix) or prefix == "O-"}


def _rows(header: Iterable[str], rows: Iterable[tuple[Any, ...]]) -> str:
    """A table in Markdown, its first column text."""
    names = list(header)
    lines = [f"| {' | '.join(names)} |", f"| --- {'| --: ' * (len(names) - 1)}|"]
    return "\n".join(
        [*lines, *(f"| {' | '.join(f'{cell:,}' if isinstance(cell, int) else cell for cell in row)} |" for row in rows)]
    )


def recorded_table(shared: Path) -> str:
    """Recorded requests by dialect: what the provider said, and what the rules say."""
    rows = []
    for dialect in DIALECTS:
        count: Counter[str] = Counter()
        for entry in recorded(shared, dialect):
            conversation = parse(entry["body"], dialect=dialect)
            levels: dict[str, set[str]] = {"error": set(), "warning": set(), "info": set()}
            for one in check(conversation, profile=_profile(entry)):
                levels[one.level].add(one.rule)
            count["all"] += 1
            count["same"] += json.dumps(render(conversation)) == json.dumps(entry["body"])
            if entry["status"] == 200:
                count["accepted"] += 1
                count["error"] += bool(levels["error"])
                count["warning"] += bool(levels["warning"])
                continue
            known = _words_of_rules(entry)
            count["refused"] += 1
            count["seen"] += bool(known)
            count["explained"] += bool(known & (levels["error"] | levels["warning"]))
        keys = ("all", "same", "accepted", "error", "warning", "refused", "seen", "explained")
        rows.append((dialect, *(count[key] for key in keys)))
    rows.append(("all", *(sum(column) for column in list(zip(*rows, strict=True))[1:])))
    header = ("dialect", "recorded", "written back identically", "accepted", "with an error", "with a warning")
    return _rows((*header, "refused", "for what a rule says", "found by that rule"), rows)


def labelled_table(shared: Path) -> str:
    """The handed cases by dialect: what their label says, and what the rules say."""
    count: dict[str, Counter[str]] = {}
    for case in validation.labelled(shared):
        refused, named, _found = validation.verdict(case)
        row = count.setdefault(case["dialect"], Counter())
        row["valid" if case["valid"] else "violating"] += 1
        row["clean"] += case["valid"] and not refused
        row["caught"] += not case["valid"] and refused and named
    rows = [(name, row["valid"], row["clean"], row["violating"], row["caught"]) for name, row in sorted(count.items())]
    rows.append(("all", *(sum(column) for column in list(zip(*rows, strict=True))[1:])))
    return _rows(("dialect", "valid", "without an error", "violating", "caught by the rule they name"), rows)


def reported_table(shared: Path) -> str:
    """The direct reports of real faults: how many are answered as they expect."""
    rows = []
    layers: tuple[tuple[str, list[dict[str, Any]], Callable[[dict[str, Any]], list[str]]], ...] = (
        ("validate", validation.reported(shared), validation.misses),
        ("repair", repairs.reported(shared), repairs.misses),
    )
    for layer, reports, misses in layers:
        met = [not misses(report) for report in reports]
        rows.append((layer, len(met), sum(met)))
    return _rows(("layer", "reports", "answered as expected"), rows)


TABLES: Final[dict[str, Callable[[Path], str]]] = {
    "recorded": recorded_table,
    "labelled": labelled_table,
    "reported": reported_table,
}
"""Each table by its name, and what counts it."""


def place(name: str) -> tuple[str, str, str]:
    """The chapter taken apart: before a table, the table, after it."""
    text = CHAPTER.read_text("utf-8")
    opening, closing = f"<!-- table {name}: made by tests/agreement.py -->\n", f"<!-- end of table {name} -->"
    start = text.index(opening) + len(opening)
    stop = text.index(closing)
    return text[:start], text[start:stop].strip("\n"), text[stop:]


def main() -> None:
    """Count, and write every table into the chapter."""
    shared = Path(os.environ["COMPACTLIB_SHARED"])
    for name, make in TABLES.items():
        before, _, after = place(name)
        CHAPTER.write_text(f"{before}\n{make(shared)}\n\n{after}", "utf-8")


if __name__ == "__main__":
    main()
