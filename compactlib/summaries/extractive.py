"""
The summariser that asks no model.

What this is
    `extractive` answers a `SummaryRequest` with a summary made of pieces of
    the conversation: prompts, orders, statements, commands, paths, decisive
    lines of outputs.  It is the default where no model is given, and the
    honest fake in tests.

Rules it obeys
    It never invents.  What stands in an item is a slice of the input behind a
    label of ours ("edited", "ran", "in the model's words"), so its output
    passes `acceptance.judge` whatever the input.

    It is deterministic and linear, works in English and Russian, and keeps to
    `max_tokens`, most important first.

    Law L20: with a previous summary it is an update.  What was done stays
    done; what was in progress or blocked goes when the transcript shows it
    settled; the rest is carried on as long as there is room.

How it works
    One pass over the messages collects *findings*: a section, a text and a
    rank.  Findings are then taken by rank, the newest first, until the room
    is used up; no section may take more than a third of it before all others
    have had their turn.  What was taken is written in the order of the
    conversation.

What is not here
    The words and tool names it goes by (`cues`), and summarisers that fail
    (`faults`).
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterable, Sequence
from typing import Final

from attrs import define, field, frozen

from ..model import Call, Message, Origin, Result, Text
from ..text import quote_lines
from ..tokens import Counter, estimate
from ..truncation import truncate
from .acceptance import FIRST_PROMPT, LATEST_PROMPT
from .cues import Deed, cues, decisive_line, deed, error_line, identifies, last_line, looks_failed, plan, sentences
from .rendering import SummaryRequest, calls_by_result, stated_origins
from .schema import EMPTY, SCHEMAS, Schema, Sections, item_text, parse_sections

__all__ = ["Extractive", "extractive"]

_LARGE_CHARS: Final = 2_000  # an output longer than this will hardly be read again: its decisive line matters
_FALLBACK: Final = {"doing": "next"}
_MOST_FILES: Final = 40


@frozen
class _Finding:
    """Something to say: where, what, how important (0 is most), and when it was found."""

    section: str
    text: str
    rank: int
    order: int


@define
class _Evidence:
    """What one pass over the messages has seen so far."""

    findings: list[_Finding] = field(factory=list)
    seen: set[str] = field(factory=set)
    prompts: list[str] = field(factory=list)
    pending: dict[int, Deed] = field(factory=dict)
    states: dict[tuple[str, str], tuple[bool, str, int]] = field(factory=dict)
    edits: Tally[str] = field(factory=Tally)
    reads: Tally[str] = field(factory=Tally)
    touched: dict[str, int] = field(factory=dict)
    plan: tuple[tuple[str, str], ...] = ()
    words: list[str] = field(factory=list)
    """Sentences of the last model message that had any."""
    order: int = 0

    def add(self, section: str, text: str, rank: int, *, label: str = "") -> None:
        """Note a finding unless the same words were found before."""
        key = " ".join(text.casefold().split())
        if key and key not in self.seen:
            self.seen.add(key)
            self.order += 1
            self.findings.append(_Finding(section, f"- {label}{text}", rank, self.order))


class Extractive:
    """
    A deterministic summariser.

    Not a model: it finds what is said in so many words and cannot tell what
    is meant.

    Args:
        counter: how tokens are counted, so that the summary keeps to its room.
    """

    def __init__(self, *, counter: Counter = estimate) -> None:
        self.counter = counter

    def __call__(self, request: SummaryRequest) -> str:
        """The summary, in the schema of the request, within its ``max_tokens`` if the headings fit at all."""
        schema = SCHEMAS.get(request.schema, SCHEMAS["full"])
        evidence = _gather(request.messages)
        _carry_on(evidence, parse_sections(request.previous, schema))
        return _write(evidence, schema, request, self.counter)


def extractive(request: SummaryRequest) -> str:
    """
    The default summariser: `Extractive` with the library's own estimate of tokens.

    >>> from compactlib.model import Message, Origin, wire
    >>> from compactlib.summaries.rendering import render_request
    >>> messages = [
    ...     Message("user", "Move ids to uuid. Never touch the billing table!", wire("user"), Origin.HUMAN),
    ...     Message("model", "I chose uuid4 because serial ids collide.", wire("assistant"), Origin.MODEL),
    ... ]
    >>> asked = render_request(messages, schema=SCHEMAS["full"], max_tokens=300, budget_tokens=8000, counter=estimate)
    >>> found = parse_sections(extractive(asked[0]), SCHEMAS["full"])
    >>> found.body("orders"), found.body("decisions"), found.body("blocked")
    ('- Never touch the billing table!', '- I chose uuid4 because serial ids collide.', '')
    """
    return Extractive()(request)


# --- Gathering -------------------------------------------------------------------------------------------------------


def _gather(messages: Sequence[Message]) -> _Evidence:
    evidence = _Evidence()
    calls = calls_by_result(messages)
    for message in messages:
        mixed = any(isinstance(block, Result) for block in message.blocks)
        for block, origin in zip(message.blocks, stated_origins(message), strict=True):
            if isinstance(block, Text):
                if origin is Origin.HUMAN:
                    _hear_person(evidence, block.text, beside_results=mixed)
                elif origin is Origin.MODEL:
                    _hear_model(evidence, block.text)
            elif isinstance(block, Call):
                _see_call(evidence, block)
            elif isinstance(block, Result):
                _see_result(evidence, calls.get(id(block)), block)
    _conclude(evidence)
    if not evidence.findings and not evidence.prompts:
        evidence.add("critical", f"{len(messages)} messages without words, results or known actions", 0)
    return evidence


def _hear_person(evidence: _Evidence, text: str, *, beside_results: bool) -> None:
    if not text.strip():
        return
    if not beside_results:
        evidence.prompts.append(text)
    for place, sentence in enumerate(sentences(text)):
        about = cues(sentence)
        if "rejected" in about:
            evidence.add("rejected", sentence, 2)
        elif sentence.endswith(("?", "？")):
            evidence.add("questions", sentence, 3, label="the person asked: ")
        elif "order" in about or (beside_results and place < 5):
            evidence.add("orders", sentence, 1)
        elif "decision" in about:
            evidence.add("decisions", sentence, 2)
        elif identifies(sentence):
            evidence.add("facts", sentence, 3)
        elif place == 0 and len(evidence.prompts) > 1:
            evidence.add("orders", sentence, 2)  # every later request, at least by its first sentence


def _hear_model(evidence: _Evidence, text: str) -> None:
    said = []
    for sentence in sentences(text):
        said.append(sentence)
        about = cues(sentence)
        if sentence.endswith(("?", "？")):
            evidence.add("questions", sentence, 4, label="the model asked: ")
        elif "rejected" in about:
            evidence.add("rejected", sentence, 3)
        elif "decision" in about:
            evidence.add("decisions", sentence, 2)
        elif "done" in about and "open" not in about:
            evidence.add("done", sentence, 3, label="in the model's words: ")
        elif identifies(sentence):
            evidence.add("facts", sentence, 4)
    if said:
        evidence.words = said


def _see_call(evidence: _Evidence, call: Call) -> None:
    entries = plan(call)
    if entries:
        evidence.plan = entries
    else:
        evidence.pending[id(call)] = deed(call)


def _see_result(evidence: _Evidence, call: Call | None, result: Result) -> None:
    act = evidence.pending.pop(id(call), None) if call is not None else None
    text = result.text
    if act is None:  # a task list was written, or the call was replaced earlier
        if call is None and text.strip():
            evidence.add("critical", last_line(text), 3, label="a tool ended with: ")
        return
    failed = result.is_error or looks_failed(text)
    line = (error_line(text) or last_line(text)) if failed else decisive_line(text)
    for name in act.objects or ("",):
        evidence.order += 1
        evidence.states[act.tool, name] = (failed, line, evidence.order)
        if failed or not name:
            continue
        if act.verb in ("edited", "read"):
            (evidence.edits if act.verb == "edited" else evidence.reads)[name] += 1
            evidence.touched[name] = evidence.order
    if failed or not line:
        return
    done = f"ran {_named(act)}; it ended with: " if act.verb == "ran" else f"{_named(act)} ended with: "
    if len(text) > _LARGE_CHARS:
        evidence.add("critical", line, 1, label=done)
        evidence.add("critical", last_line(text), 2, label=done)
    elif act.verb == "ran":
        evidence.add("done", line, 3, label=done)
    elif act.verb == "called":
        evidence.add("critical", line, 4, label=done)


def _named(act: Deed) -> str:
    """A call in few words."""
    tool = " ".join(act.tool[:60].split())
    return f"{tool} ({act.objects[0]})" if act.objects else tool


def _conclude(evidence: _Evidence) -> None:
    """What can be said only at the end: how things stand."""
    for section, text in evidence.plan:
        evidence.add(section, text, 1)
    for act in evidence.pending.values():
        evidence.add("doing", _named(act), 1, label="no answer yet from: ")
    for (tool, name), (failed, line, _) in evidence.states.items():
        if failed:
            shown = _named(Deed("", tool, (name,) if name else ()))
            evidence.add("blocked", f"{shown} failed: {line}" if line else f"{shown} failed", 1)
    for name in sorted(evidence.touched, key=lambda name: (name not in evidence.edits, -evidence.touched[name]))[:_MOST_FILES]:
        edits, reads = evidence.edits[name], evidence.reads[name]
        how = [f"edited {_times(edits)}"] * bool(edits) + [f"read {_times(reads)}"] * bool(reads)
        evidence.add("facts", f"{name}: {', '.join(how)}", 2 if edits else 4)
    steps = [sentence for sentence in evidence.words if "next" in cues(sentence)]
    for sentence in steps[-3:] or evidence.words[-1:]:
        evidence.add("next", sentence, 1, label="" if steps else "the model's last words: ")
    for sentence in evidence.words:
        about = cues(sentence)
        if "doing" in about:
            evidence.add("doing", sentence, 2)
        elif "blocked" in about:
            evidence.add("blocked", sentence, 2)


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times" if count < 100 else "many times"


# --- Updating --------------------------------------------------------------------------------------------------------


def _carry_on(evidence: _Evidence, before: Sections) -> None:
    """Add what the previous summary holds and the transcript has not settled."""
    fresh = {finding.section for finding in evidence.findings}
    settled = [name for (_, name), (failed, _, _) in evidence.states.items() if not failed and len(name) > 3]
    done = {_key(item) for item in before.items("done")}
    ranks = {"goal": 3, "orders": 1, "done": 3, "doing": 3, "blocked": 3, "next": 2, "questions": 5}
    carried: list[_Finding] = []
    for place, section in enumerate(before.schema.sections):
        key = section.key
        if key == "next" and "next" in fresh:
            continue
        items = before.items(key)
        for number, item in enumerate(items):
            text = _key(item)
            if item.startswith(FIRST_PROMPT) or text in evidence.seen:
                continue
            if key == "goal" and evidence.prompts and item_text(item).startswith(LATEST_PROMPT):
                continue
            if key in ("doing", "blocked", "next") and (text in done or any(name in item for name in settled)):
                continue
            if key == "facts" and item_text(item).rpartition(": ")[0] in evidence.touched:
                continue
            carried.append(_Finding(key, item, ranks.get(key, 4), number - len(items) - 1000 * (20 - place)))
    evidence.findings[:0] = carried


def _key(item: str) -> str:
    return " ".join(item_text(item).casefold().split())


# --- Writing ---------------------------------------------------------------------------------------------------------


def _write(evidence: _Evidence, schema: Schema, request: SummaryRequest, counter: Counter) -> str:
    room = request.max_tokens
    keys = [section.key for section in schema.sections]
    headings = {section.key: f"## {section.heading}" for section in schema.sections}
    frame = {key: counter(f"{heading}\n{EMPTY}\n\n") for key, heading in headings.items()}
    # A section without evidence says so, where the room is not needed for those with evidence.
    shown = set(keys) if sum(frame.values()) <= room // 3 else set(schema.required)
    room -= sum(frame[key] for key in shown)
    taken: dict[str, list[_Finding]] = {key: [] for key in keys}
    for finding in _goal(evidence, request, counter):
        taken["goal"].append(finding)
        room -= counter(finding.text + "\n")
    used: Tally[str] = Tally()
    share = room // 3
    ranked = sorted(evidence.findings, key=lambda finding: (finding.rank, -finding.order))
    late: list[_Finding] = []
    for finding, is_late in _in_turns(ranked, late):
        key = finding.section if finding.section in taken else _FALLBACK.get(finding.section, "critical")
        cost = counter(finding.text + "\n") + (0 if key in shown else frame[key])
        if cost > room:
            continue
        if not is_late and used[key] + cost > share:
            late.append(finding)
            continue
        taken[key].append(finding)
        shown.add(key)
        used[key] += cost
        room -= cost
    lines = []
    for key in keys:
        if key in shown:
            texts = [finding.text for finding in sorted(taken[key], key=lambda finding: finding.order)]
            lines.append("\n".join([headings[key], *(texts or [EMPTY])]))
    return "\n\n".join(lines)


def _in_turns(ranked: list[_Finding], late: list[_Finding]) -> Iterable[tuple[_Finding, bool]]:
    """All findings, and then once more those that had to wait."""
    for finding in ranked:
        yield finding, False
    for finding in late:
        yield finding, True


def _goal(evidence: _Evidence, request: SummaryRequest, counter: Counter) -> list[_Finding]:
    """The first prompt, quoted, and the latest."""
    before = parse_sections(request.previous, SCHEMAS["full"]).items("goal")
    first = next((item for item in before if item.startswith(FIRST_PROMPT)), "")
    prompts = evidence.prompts
    latest = prompts[-1] if prompts and (first or len(prompts) > 1) else ""
    if not first and prompts:
        limit_tokens = min(500, request.max_tokens // 6)
        limit_chars = len(prompts[0])
        text = prompts[0]
        while counter(text) > limit_tokens and limit_chars:
            limit_chars = min(limit_chars * 3 // 4, limit_tokens * 6)
            try:
                text = truncate(prompts[0], limit_chars=limit_chars, keep="both").text
            except ValueError:  # no room for both ends and a marker
                text, limit_chars = "", 0
        first = f"{FIRST_PROMPT}\n{quote_lines(text)}" if text else ""
    goal = [_Finding("goal", first, 0, -(10**9))] if first else []
    left = request.max_tokens // 6
    for place, sentence in enumerate(list(sentences(latest))[:3]):
        text = f"- {LATEST_PROMPT} {sentence}" if place == 0 else f"- {sentence}"
        left -= counter(text + "\n")
        if left < 0 and place:
            break
        goal.append(_Finding("goal", text, 0, place))
    return goal
