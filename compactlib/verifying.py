"""
Whether a compaction made anything illegal that was not so before.

What this is
    `new_violations` compares what the validator says of the result with what
    it said of the input.

Rules it obeys
    * Law L1.  A valid input gives a valid output; a broken one gains no new
      violation.  The validator shares no code with the compactor.

How it works
    A violation of the result is known if the same rule was broken in the same
    message of the input, and no less: a warning does not become an error.  Some
    rules name one fault by what stands around it: a result that came late is a
    stray when its call went.  They count as one.

What is not here
    The rules (`protocol`).
"""

from __future__ import annotations

from collections import Counter as Multiset
from typing import Final, Literal

from .model import Conversation
from .planning import Plan
from .protocol.rules import RULES
from .protocol.validator import check

__all__ = ["new_violations"]

_MISPLACED: Final = frozenset({"C2", "C4", "C5"})
"""
Common rules that name one fault by what stands around it.

A result that came late, twice or out of order is a stray when its call went.
"""
_COUNTED: Final = "M-COUNT-01"
"""The same where results are counted: one too many."""
_PLACELESS: Final = frozenset({"A-CACHE-01", "A-IMG-02", "A-JSON-01", "B-TOOLCFG-01"})
"""
Rules of which one fault may be noticed elsewhere.

What a whole request has too much of, or lacks: it is no more than before.  And
half a character in words that are quoted, as they are, in the head (law L8).
"""


def new_violations(before: Conversation, after: Conversation, plan: Plan) -> list[str]:
    """Violations of the result that the same rule did not have in the same message of the input (law L1)."""
    mode: Literal["request", "history"] = "history" if plan.division.pending else "request"
    found = [violation for violation in check(after, mode=mode, profile=plan.profile) if violation.level != "info"]
    if not found:
        return []
    known: Multiset[tuple[str, int | None, str]] = Multiset(
        (_fault(violation.rule), None if violation.rule in _PLACELESS else violation.index, violation.level)
        for violation in check(before, mode=mode, profile=plan.profile)
        if violation.level != "info"
    )
    came_from = {id(message): before.wire_index(at) for at, message in enumerate(before.messages)}
    wrong = []
    for violation in found:
        sources: set[int | None] = {None}
        if violation.index is not None and violation.rule not in _PLACELESS:
            first = after.position(violation.index)
            last = after.position(violation.index + 1)
            sources = {came_from.get(id(message)) for message in after.messages[first:last]}
        rule = _fault(violation.rule)
        levels = ("warning", "error") if violation.level == "warning" else ("error", "warning")[: 1 + (rule == "misplaced")]
        match = next((key for source in sources for level in levels if known[key := (rule, source, level)] > 0), None)
        if match is None:
            wrong.append(f"{violation.rule} at message {violation.index}: {violation.message}")
        else:
            known[match] -= 1
    return wrong


def _fault(rule: str) -> str:
    """What is wrong where *rule* is broken, under one name for the rules that name one fault."""
    known = RULES.get(rule)
    return "misplaced" if rule == _COUNTED or (known is not None and known.core in _MISPLACED) else rule
