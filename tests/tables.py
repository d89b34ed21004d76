"""
The executed tables of the specification: made from the code, compared in the tests.

``python -m tests.tables`` writes them into their chapters.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from compactlib import models, policies
from compactlib.budget import Policy, sizes
from compactlib.dialects import parse
from compactlib.tokens import Memo
from compactlib.visible import effective

SPEC = Path(__file__).parent.parent / "spec"


def sizes_table() -> str:
    """Sizes at windows from 4,096 to two million."""
    rows = ["| window | reserve | budget | trigger | overhead | target | room | summary | extras | tail |", "|---" * 10 + "|"]
    for window in (4_096, 8_192, 16_384, 32_768, 65_536, 131_072, 200_000, 400_000, 1_000_000, 2_000_000):
        for overhead in (0, 12_000):
            found = sizes(Policy(window_tokens=window), overhead_tokens=overhead)
            head = f"| {window:,} | {found.reserve:,} | {found.budget:,} | {found.trigger:,} | {overhead:,} "
            rest = (found.target, found.room, found.summary, found.extras, found.tail)
            refused = "| refused: overhead-exceeds-threshold | | | | |"
            rows.append(head + ("| " + " | ".join(f"{size:,}" for size in rest) + " |" if found.overhead_fits else refused))
    return "\n".join(rows)


def fixed_tail_table() -> str:
    """What a tail of 20,000 tokens, right for one window, does to larger ones."""
    rows = [
        "| window | budget | trigger | tail | kept after summarising | the same with a fixed tail of 20,000 |",
        "|---" * 6 + "|",
    ]
    for window in (128_000, 200_000, 1_000_000):
        own = sizes(Policy(window_tokens=window, reserve_tokens=32_000), overhead_tokens=0)
        fixed = sizes(Policy(window_tokens=window, reserve_tokens=32_000, tail_tokens=20_000), overhead_tokens=0)
        cells = []
        for found in (own, fixed):
            kept = min(found.tail, 20_000 if found is fixed else found.tail) + found.asked_tokens
            cells.append(f"{kept:,} of {found.trigger:,}: {100 - kept * 100 // found.trigger} % thrown away")
        rows.append(f"| {window:,} | {own.budget:,} | {own.trigger:,} | {own.tail:,} | {cells[0]} | {cells[1]} |")
    return "\n".join(rows)


def seen_table() -> str:
    """One session of twelve steps, as sent and as seen, under each edit."""
    log = "12:04:31 build.c:88: error: field 'size' has incomplete type\n" * 40
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Why does the build fail?"}]
    for number in range(12):
        call = {"type": "tool_use", "id": f"c{number}", "name": "read", "input": {"path": f"logs/{number}.txt"}}
        thought = {"type": "thinking", "thinking": f"The log {number} will tell.", "signature": "c2ln" * 400}
        messages.append({"role": "assistant", "content": [thought, call]})
        messages.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"c{number}", "content": log}]})
        if number in (3, 7):
            messages.append({"role": "assistant", "content": [{"type": "text", "text": "A header is missing."}]})
            messages.append({"role": "user", "content": "And the next log?"})
    compacted = [dict(message) for message in messages]
    block = {"type": "compaction", "content": "Logs 0 to 8 name a missing header."}
    compacted[-6] = {**compacted[-6], "content": [block, *compacted[-6]["content"]]}
    clear: dict[str, Any] = {"type": "clear_tool_uses_20250919", "trigger": {"type": "input_tokens", "value": 8_000}}
    some = {"clear_at_least": {"type": "input_tokens", "value": 50_000}}
    cases: tuple[tuple[str, list[dict[str, Any]], list[dict[str, Any]]], ...] = (
        ("nothing", messages, []),
        ("a compaction block before the last three steps", compacted, []),
        ("clear_tool_uses, trigger 8,000", messages, [clear]),
        ("the same, arguments too", messages, [{**clear, "clear_tool_inputs": True}]),
        ("the same, at least 50,000", messages, [{**clear, **some}]),
        ("clear_thinking, keep 1 turn", messages, [{"type": "clear_thinking_20251015"}]),
        ("both", messages, [{"type": "clear_thinking_20251015"}, clear]),
    )
    rows = ["| what the provider does | messages sent | seen | tokens sent | seen |", "| --- | --: | --: | --: | --: |"]
    for name, sent, edits in cases:
        body = {"model": "claude-opus-4-6", "thinking": {"type": "adaptive"}, "messages": sent}
        whole = parse({**body, "context_management": {"edits": edits}}, dialect="anthropic")
        seen = effective(whole)
        figures = (len(whole.messages), len(seen.messages), Memo().request(whole), Memo().request(seen))
        rows.append(f"| {name} | " + " | ".join(f"{figure:,}" for figure in figures) + " |")
    return "\n".join(rows)


def named_table() -> str:
    """Every named policy at one window."""
    rows = ["| policy | rungs | trigger | target | summary | tail | prefers |", "|---" * 7 + "|"]
    for name in policies.POLICIES:
        policy = Policy.named(name, window_tokens=200_000)
        found = sizes(policy, overhead_tokens=12_000)
        rungs = ", ".join(policy.rungs) if policy.rungs else "those that can"
        wishes = [
            f"{count} {what}" for count, what in ((policy.tail_turns, "turns"), (policy.tail_messages, "messages")) if count
        ]
        tail = f"{found.tail:,}" + (f", or {found.tail_room:,}" if wishes else "")
        cells = (f"`{name}`", rungs, f"{found.trigger:,}", f"{found.target:,}", f"{found.summary:,}", tail, " ".join(wishes))
        rows.append("| " + " | ".join(cells) + " |")
    return "\n".join(rows)


TABLES: dict[str, tuple[str, Callable[[], str]]] = {
    "sizes": ("50-budget.md", sizes_table),
    "fixed-tail": ("50-budget.md", fixed_tail_table),
    "models": ("54-models.md", models.describe),
    "seen": ("54-models.md", seen_table),
    "policies": ("55-policies.md", policies.describe),
    "named": ("55-policies.md", named_table),
}
"""Each table by its name: the chapter it stands in, and what makes it."""


def place(name: str) -> tuple[str, str, str]:
    """A chapter taken apart: before the table, the table, after it."""
    chapter, _ = TABLES[name]
    text = (SPEC / chapter).read_text("utf-8")
    opening, closing = f"<!-- table {name}: made by tests/tables.py -->\n", f"<!-- end of table {name} -->"
    start = text.index(opening) + len(opening)
    stop = text.index(closing)
    return text[:start], text[start:stop].strip("\n"), text[stop:]


def main() -> None:
    """Write every table into its chapter."""
    for name, (chapter, make) in TABLES.items():
        before, _, after = place(name)
        (SPEC / chapter).write_text(f"{before}\n{make()}\n\n{after}", "utf-8")


if __name__ == "__main__":
    main()
