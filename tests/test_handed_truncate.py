"""
Reports of real faults in the shortening of texts, each reduced to an input and an expectation.

How their words map to `truncate`: ``limit_chars`` is itself, and so are the
defaults.  ``limit_bytes`` and ``limit_utf16`` are limits in another unit, which
is a counter: ``limit_tokens`` with one that counts bytes or UTF-16 units.
``output_max_chars`` leaves room for a marker; here the marker counts, so the
limit itself holds.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from compactlib.truncation import Truncated, truncate

COUNTERS: dict[str, Callable[[str], int]] = {
    "limit_bytes": lambda text: len(text.encode("utf-8", "surrogatepass")),
    "limit_utf16": lambda text: len(text.encode("utf-16-le", "surrogatepass")) // 2,
}


def shortened(given: dict[str, Any]) -> tuple[str, list[Truncated]]:
    """The text of a case, and its excerpt under each of its limits."""
    text = "".join(part * count for part, count in given["text_parts"])
    keep = given.get("keep", "both")
    made = [truncate(text, limit_tokens=given[unit], counter=COUNTERS[unit], keep=keep) for unit in COUNTERS if unit in given]
    if "limit_chars" in given:
        made.append(truncate(text, limit_chars=given["limit_chars"], keep=keep))
    return text, made


def meets(name: str, wanted: Any, made: Truncated, text: str, given: dict[str, Any]) -> bool:
    """Whether *made* is as expected; what is not known here is not met."""
    match name:
        case "output_contains":
            return all(part in made.text for part in wanted)
        case "output_endswith":
            return made.text.endswith(wanted)
        case "output_max_chars":
            return bool(len(made.text) <= min(wanted, given["limit_chars"]))
        case "marker_required":
            return bool(wanted == ("[truncated v1: omitted " in made.text))
        case "marker_matches":
            return re.search(wanted, made.text[made.text.index("[truncated v1: ") :].split("\n")[0]) is not None
        case "dropped_reported":
            return bool(wanted == (f"omitted {made.omitted_chars} of {len(text)} chars" in made.text))
        case "well_formed_unicode":
            return bool(wanted == (made.text == made.text.encode().decode()))
        case "raises":
            return wanted is False  # we came here
        case "structured" | "event":
            return bool(wanted.items() <= {"truncated": made.truncated, "original_chars": made.original_chars}.items())
    return False


def misses(given: dict[str, Any], expected: dict[str, Any]) -> list[str]:
    """Which of the expectations of a case, and which of its limits, do not hold."""
    text, all_made = shortened(given)
    found = [name for made in all_made for name, wanted in expected.items() if not meets(name, wanted, made, text, given)]
    for unit, counter in COUNTERS.items():
        found += [unit for made in all_made if counter(made.text) > given.get(unit, counter(made.text))]
    return found


def test_every_direct_report_of_a_wrong_truncation_is_answered(shared: Path) -> None:
    """All ten, by number."""
    lines = (shared / "cases" / "reports.jsonl").read_text("utf-8").splitlines()
    cases = [case for case in map(json.loads, lines) if (case["layer"], case["tier"]) == ("truncate", "direct")]

    assert [case["n"] for case in cases] == [118, 119, 120, 122, 125, 126, 128, 129, 130, 244]
    assert {case["n"]: [] for case in cases} == {case["n"]: misses(case["input"], case["expected"]) for case in cases}
