"""
Checks of the laws of the protocol: L1 to L5, and L26.

Each function looks at one record and yields what is wrong with it.  The
validator is the judge for L1; everything else is worked out here from the
wire.  Only a compaction can break these laws: if nothing was done, `untouched`
(law L6) has the word.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Final, Literal

from ..errors import WireError
from ..model import Json
from .dividing import choose, legal_cuts
from .evidence import Evidence, evidence
from .findings import Finding, broken, unknown
from .hiding import may_hide
from .record import Record
from .wires import without_messages

__all__ = ["boundaries", "frontier", "seals", "system_untouched", "validity", "whole_steps"]


# --- L1 --------------------------------------------------------------------------------------------------------------

_MISPLACED: Final = frozenset({"C2", "C4", "C5"})
"""
Common rules that name one fault by what stands around it.

A result that came late, twice or out of order is one without a call when that
call is gone.
"""
_COUNTED: Final = "M-COUNT-01"
"""The same where results are counted: one too many."""

_MISPLACED_RESULT: Final = "a misplaced result"
"""What all of these are."""

_PLACELESS: Final = frozenset({"A-CACHE-01", "A-IMG-02", "A-JSON-01", "B-TOOLCFG-01"})
"""What has no place: what a whole request has too much of, or lacks, which is one fault before and after; and words as quoted."""


def validity(record: Record) -> Iterator[Finding]:
    """VALID-1: no violation, warnings too, that its rule did not have there before; VALID-2: nor by what is asked for."""
    if record.outcome != "compacted":
        return
    yield from _edits(record)
    seen = evidence(record)
    mode: Literal["history", "request"] = "history" if seen.parts.pending else "request"
    try:
        after = _violations(record.after if record.request is None else record.request, record, mode)
        before = Counter(
            (fault, index, level) for fault, _, index, level in _violations(_thinking_as_asked(record), record, mode)
        )
    except WireError as error:
        yield from broken("VALID-1", f"the output cannot even be read: {error}")
        return
    for fault, rule, index, level in after:
        sources = {seen.before[back].index for back in _sources(seen, index)} | ({None} if index is None else set())
        wanted = ["error"] if level == "error" and fault != _MISPLACED_RESULT else ["warning", "error"]
        match = next((key for source in sources for one in wanted if before[key := (fault, source, one)] > 0), None)
        if match is None:
            yield from broken("VALID-1", f"message {index} of the output breaks {rule}, which none of the input did so there")
        else:
            before[match] -= 1


def _thinking_as_asked(record: Record) -> Json:
    """The input with what the output says of thinking: whether the model thinks is no doing of a compaction."""
    before, request = record.before, record.request
    if isinstance(before, dict) and isinstance(request, dict) and "thinking" in request:
        return {**before, "thinking": request["thinking"]}
    return before


_EDITS: Final = "A-CTX-"
"""What the rules about edits of the context have in common."""
_NEED_A_BODY: Final = frozenset({"A-CTX-01", "A-CTX-03"})
"""Those that need to know the model, or whether it thinks."""


def _edits(record: Record) -> Iterator[Finding]:
    """Whether the request may ask for the edits of the record, with the betas that are named for them."""
    if record.edits is None:
        return
    has_body = isinstance(record.before, dict)
    around: dict[str, Json] = {**record.before} if isinstance(record.before, dict) else {"messages": record.before}
    listed = around.get("betas")
    betas: list[Json] = [*listed] if isinstance(listed, list) else []
    asked = {**around, "context_management": record.edits, "betas": [*betas, *record.betas]}
    before = [rule for _, rule, *_where in _violations(around, record, "history")]
    for _, rule, *_where in _violations(asked, record, "history"):
        if rule in before:
            before.remove(rule)
        elif rule.startswith(_EDITS) and (has_body or rule not in _NEED_A_BODY):
            yield from broken("VALID-2", f"the request that asks for the edits breaks {rule}, which it did not before")


def _violations(body: Json, record: Record, mode: Literal["history", "request"]) -> list[tuple[str, str, int | None, str]]:
    """What a request breaks: the fault, which is the rule for most, the rule, the message if it has a place, the level."""
    from ..dialects import parse
    from ..protocol.rules import RULES
    from ..protocol.validator import check

    found = check(parse(body, dialect=record.dialect), mode=mode, profile=record.profile)
    same = {rule.id: _MISPLACED_RESULT for rule in RULES.values() if rule.core in _MISPLACED or rule.id == _COUNTED}
    said = [one for one in found if one.level != "info"]
    return [(same.get(one.rule, one.rule), one.rule, None if one.rule in _PLACELESS else one.index, one.level) for one in said]


def _sources(seen: Evidence, index: int | None) -> list[int]:
    found = (seen.came_from[at] for at, unit in enumerate(seen.after) if unit.index == index)
    return [back for back in found if back is not None]


# --- L2 --------------------------------------------------------------------------------------------------------------


def whole_steps(record: Record) -> Iterator[Finding]:
    """STEP-1: a step is kept or dropped whole."""
    if record.outcome != "compacted":
        return
    seen = evidence(record)
    there = seen.kept | set(seen.altered.values())
    for start, stop in seen.parts.steps:
        if seen.before[start].of_kind("compaction"):
            continue  # nobody but the provider can read it, so it stays whatever becomes of its step
        members = {at for at in range(start, stop) if seen.parts.kinds[at] in ("prompt", "model", "result", "attachment")}
        kept = members & there
        if kept and kept != members:
            say = unknown if None in seen.parts.kinds[start:stop] else broken  # something else may begin inside it
            lost = ", ".join(str(seen.before[at].index) for at in sorted(members - kept))
            yield from say(
                "STEP-1", f"of the step at {seen.before[start].index} the messages {lost} are gone and others are there"
            )


# --- L3 --------------------------------------------------------------------------------------------------------------


def boundaries(record: Record) -> Iterator[Finding]:
    """CUT-1 the tail begins with a turn or a step; CUT-2 with its prompt kept; CUT-3 and it is the right one."""
    if record.outcome != "compacted" or record.rung == "clear":  # which cuts nothing off
        return
    seen = evidence(record)
    parts = seen.parts
    cut = seen.cut if record.cut is None else next((at for at, unit in enumerate(seen.before) if unit.index == record.cut), -1)
    if not 0 <= cut < len(seen.before):
        yield from broken("CUT-1", "nothing of the conversation's end was kept: the end is no cut")
        return
    kind, index = parts.kinds[cut], seen.before[cut].index
    if cut not in parts.starts:
        if kind is None or not parts.is_clear:
            yield from unknown("CUT-1", f"message {index}, where the tail begins, may or may not be a prompt", "kinds")
        else:
            yield from broken("CUT-1", f"the tail begins at message {index}, which is a {kind} and begins nothing")
        return
    if record.cut is not None and kind == "prompt" and cut == parts.starts[0]:
        say = broken if parts.is_clear else unknown
        yield from say("CUT-1", f"the cut at {index} has no history before it")
    yield from _kept_prompt(record, seen, cut)
    yield from _choice(record, seen, cut)


def _kept_prompt(record: Record, seen: Evidence, cut: int) -> Iterator[Finding]:
    parts = seen.parts
    if parts.kinds[cut] == "prompt":
        return
    prompt = parts.prompt_of(cut)
    if not parts.is_clear:
        yield from unknown("CUT-2", "some message may or may not be the prompt of the turn that was cut", "kinds")
    elif prompt is not None and prompt not in seen.kept:
        yield from broken(
            "CUT-2", f"the turn was cut at {seen.before[cut].index} and its prompt, {seen.before[prompt].index}, is gone"
        )
    elif prompt is not None and record.cut is not None and seen.cut <= cut:
        place = seen.came_from.index(prompt)
        if place != seen.head + (cut - seen.cut) - 1:
            yield from broken("CUT-2", f"the prompt {seen.before[prompt].index} does not stand directly before the tail")


def _choice(record: Record, seen: Evidence, cut: int) -> Iterator[Finding]:
    limit, sizes = record.limits.tail, record.sizes
    if limit is None or sizes is None or record.cut is None or record.rung == "collapse":  # digests decide how far it goes
        return
    cuts = (
        legal_cuts(seen.before, seen.parts, sizes, record.before, record.dialect, record.profile)
        if len(sizes) == len(seen.before)
        else None
    )
    if cuts is None:
        yield from unknown("CUT-3", "not every message is of known kind and size", "kinds", "sizes")
        return
    best = choose(cuts, limit_tokens=limit, step_cuts=record.limits.step_cuts)
    if best is None or best.at != cut:
        right = (
            "there is none" if best is None else f"{best.kind} cut {seen.before[best.at].index} of {best.tokens} tokens is right"
        )
        yield from broken("CUT-3", f"cut at {record.cut} with {limit} tokens allowed: {right}")
    elif record.kept_prompt != (None if best.prompt is None else seen.before[best.prompt].index):
        yield from broken("CUT-3", f"the compactor says that it kept prompt {record.kept_prompt}")


# --- L4 --------------------------------------------------------------------------------------------------------------


def frontier(record: Record) -> Iterator[Finding]:
    """LIVE-1: the step of a pending call is in the tail; LIVE-2: a dangling call stops nothing, and is counted."""
    if record.outcome != "compacted" and record.reason != "no-legal-cut":
        return
    seen = evidence(record)
    parts = seen.parts
    if record.outcome == "compacted" and parts.pending and seen.cut > parts.pending[0][0]:
        yield from broken("LIVE-1", f"message {seen.before[parts.pending[0][0]].index} has pending calls and is not in the tail")
    if record.reason == "no-legal-cut" and parts.dangling:
        cuts = legal_cuts(seen.before, parts, [0] * len(seen.before), record.before, record.dialect, record.profile)
        if cuts is None:
            yield from unknown("LIVE-2", "some message is of unknown kind", "kinds")
        elif any(cut.kind == "turn" or record.limits.step_cuts for cut in cuts):
            yield from broken("LIVE-2", f"refused for want of a cut, and {seen.before[cuts[0].at].index} is one")
    if record.outcome == "compacted" and record.dangling is not None and parts.is_clear:
        dropped = sum(at < seen.cut for at, _ in parts.dangling)
        if dropped != record.dangling and record.cut == (seen.before[seen.cut].index if seen.cut < len(seen.before) else None):
            yield from broken("LIVE-2", f"{dropped} dangling calls were dropped and {record.dangling} are reported")


# --- L5 --------------------------------------------------------------------------------------------------------------


def seals(record: Record) -> Iterator[Finding]:
    """SEAL-1: reasoning is kept byte for byte or goes with its step, the current turn is whole; SEAL-2: and hidden in no part."""
    if record.outcome != "compacted":
        return
    seen = evidence(record)
    for hidden in may_hide(record):
        if hidden.what != "result" and hidden.at >= seen.parts.current_turn:
            say, index = broken if seen.parts.is_clear else unknown, seen.before[hidden.at].index
            yield from say("SEAL-2", f"{hidden.what} of message {index}, which is of the current turn, may be hidden")
    known = {block.raw for unit in seen.before for block in unit.of_kind("reasoning")}
    current = seen.parts.current_turn
    for back in seen.cleared.values():
        if back >= current and seen.before[back].role == "model":
            yield from broken("SEAL-1", f"message {seen.before[back].index} is of the current turn and has been altered")
    for at, unit in enumerate(seen.after):
        if seen.came_from[at] is not None:
            continue
        if any(block.raw not in known for block in unit.of_kind("reasoning")):
            yield from broken("SEAL-1", f"message {unit.index} of the output holds reasoning that the model did not write so")
            continue
        twin = seen.altered.get(at)
        if twin is not None and (twin >= current or unit.of_kind("reasoning")) and seen.before[twin].of_kind("reasoning"):
            yield from broken("SEAL-1", f"message {seen.before[twin].index} was sealed and has been altered")
    sealed = [at for at in range(current, len(seen.before)) if seen.before[at].of_kind("reasoning")]
    models = [at for at in range(current, len(seen.before)) if seen.parts.kinds[at] == "model"]
    kept = [at for at in models if at in seen.kept or at in seen.altered.values()]
    if sealed and kept and kept != models[len(models) - len(kept) :]:
        yield from broken("SEAL-1", "what was kept of the current turn is not its end")


# --- L26 -------------------------------------------------------------------------------------------------------------


def system_untouched(record: Record) -> Iterator[Finding]:
    """SYSTEM-1: what stands around the messages is as it was; SYSTEM-2: system messages stay, in order, first."""
    if record.outcome != "compacted":
        return
    around = [json.dumps(without_messages(body, record.dialect)) for body in (record.before, record.after)]
    if around[0] != around[1]:
        yield from broken("SYSTEM-1", "the fields around the messages, system text and tools among them, have changed")
    seen = evidence(record)
    before = [unit.raw for unit in seen.before if unit.role == "system"]
    after = [unit.raw for unit in seen.after if unit.role == "system"]
    first = sum(unit.role == "system" for unit in seen.before[: seen.cut])
    if before != after:
        yield from broken("SYSTEM-2", f"the input has {len(before)} system messages, and the output does not have the same")
    elif any(unit.role != "system" for unit in [unit for unit in seen.after if not unit.is_compaction][:first]):
        yield from broken("SYSTEM-2", "something stands in front of the system messages")
