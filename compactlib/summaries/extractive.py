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
from collections.abc import Container, Sequence
from itertools import islice
from typing import Final

from attrs import define, field, frozen

from ..deeds import Deed, deed, plan
from ..model import Call, Message, Origin, Result, Text
from ..signals import looks_failed
from ..text import floor
from ..tokens import Counter
from .cues import (
    LONGEST_CHARS,
    cues,
    decisive_line,
    identifies,
    is_total,
    last_line,
    notable_line,
    sentences,
)
from .head import DIGEST_NOTE
from .provenance import FIRST_PROMPT, LATEST_PROMPT, carried_quotation, quotation, visible
from .rendering import SummaryRequest
from .schema import DIGEST, EMPTY, Schema, Sections, item_text, parse_sections, says_nothing
from .transcript import calls_by_result, with_origins

__all__ = ["Extractive", "extractive"]

_LARGE_CHARS: Final = 2_000  # an output longer than this will hardly be read again: its decisive line matters
_LONG_AGO: Final = 10**9
_CARRIED_RANKS: Final = {"goal": 3, "orders": 1, "done": 3, "turn": 3, "doing": 3, "blocked": 3, "next": 2, "questions": 5}
_FALLBACK: Final = {"doing": "next", "turn": "done"}  # where a section is not asked for: this one, else critical context
_MOST_FILES: Final = 40
_RECENT_CALLS: Final = 12  # a failure among these still stands in the way; an older one was lived with
_ASKING: Final = ("?", "？")


@frozen
class _Finding:
    """Something to say: where, what, how important (0 is most), and when it was found."""

    section: str
    text: str
    rank: int
    order: int


@frozen
class _State:
    """How the latest of several equal calls ended."""

    act: Deed
    failed: bool
    text: str
    order: int


@define
class _Evidence:
    """What one pass over the messages has seen so far."""

    goes_on: bool
    findings: list[_Finding] = field(factory=list)
    seen: set[str] = field(factory=set)
    heard: set[str] = field(factory=set)
    """The sentences of the model that are no questions: one that is said again says nothing new."""
    prompts: list[str] = field(factory=list)
    questions: list[tuple[str, str]] = field(factory=list)
    """(label, sentence), since the last prompt: what was asked before has been answered or is moot."""
    pending: dict[int, Deed] = field(factory=dict)
    states: dict[tuple[str, str], _State] = field(factory=dict)
    edits: Tally[str] = field(factory=Tally)
    reads: Tally[str] = field(factory=Tally)
    touched: dict[str, int] = field(factory=dict)
    plan: tuple[tuple[str, str], ...] = ()
    last_words: tuple[str, ...] = ()
    """The sentences of the last model message that had any."""
    order: int = 0
    turn_from: int | None = None
    """The order from which on everything was done for the prompt under way."""

    def add(self, section: str, text: str, rank: int, *, label: str = "", order: int | None = None) -> None:
        """Note a finding, control characters made visible, unless the same words were found before."""
        text = visible(text)
        key = " ".join(text.casefold().split())
        if key and key not in self.seen:
            self.seen.add(key)
            self.order += 1
            order = self.order if order is None else order
            if section == "done" and self.turn_from is not None and order > self.turn_from:
                section = "turn"
            self.findings.append(_Finding(section, f"- {label}{text}", rank, order))


class Extractive:
    """
    A deterministic summariser.

    Not a model: it finds what is said in so many words and cannot tell what
    is meant.

    Args:
        counter: how tokens are counted, so that the summary keeps to its room; as the request says, if left out.
    """

    def __init__(self, *, counter: Counter | None = None) -> None:
        self.counter = counter

    def __call__(self, request: SummaryRequest) -> str:
        """The summary, in the schema of the request, within its ``max_tokens`` if the headings fit at all."""
        schema = request.sections
        before = parse_sections(visible(request.previous), schema)
        evidence = _gather(request.messages, goes_on=bool(request.previous), under_way=request.under_way)
        _carry_on(evidence, before, "turn" if request.under_way == 0 else "done")
        return _write(evidence, schema, request, before, self.counter or request.counter)


def extractive(request: SummaryRequest) -> str:
    """
    The default summariser: `Extractive`, which counts tokens as the request says.

    >>> from compactlib.model import Message, Origin, wire
    >>> from compactlib.summaries.rendering import render_request
    >>> from compactlib.summaries.schema import SCHEMAS
    >>> from compactlib.tokens import estimate
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


def _gather(messages: Sequence[Message], *, goes_on: bool, under_way: int | None = None) -> _Evidence:
    """One pass over the messages; *goes_on* if there were others before them, *under_way* as in `SummaryRequest`."""
    evidence = _Evidence(goes_on=goes_on)
    calls = calls_by_result(messages)
    for place, message in enumerate(messages):
        if place == under_way:
            evidence.turn_from = evidence.order
        mixed = any(isinstance(block, Result) for block in message.blocks)
        for block, origin in with_origins(message):
            if isinstance(block, Text):
                if origin is Origin.HUMAN:
                    _hear_person(evidence, block.text, beside_results=mixed)
                elif origin is Origin.MODEL:
                    _hear_model(evidence, block.text)
                elif origin is Origin.HARNESS and block.text.startswith(DIGEST_NOTE):
                    _read_digest(evidence, block.text)
            elif isinstance(block, Call):
                _see_call(evidence, block)
            elif isinstance(block, Result):
                _see_result(evidence, calls.get(id(block)), block)
    _conclude(evidence)
    return evidence


def _hear_person(evidence: _Evidence, text: str, *, beside_results: bool) -> None:
    if not text.strip():
        return
    if not beside_results:
        evidence.prompts.append(text)
        evidence.questions.clear()
    # The first prompt is quoted as a whole; of a later one, at least the first sentence.
    named = len(evidence.prompts) < 2 and not evidence.goes_on
    for sentence in sentences(text):
        about = cues(sentence)
        if "rejected" in about:
            evidence.add("rejected", sentence, 2)
        elif sentence.endswith(_ASKING):
            evidence.questions.append(("the person asked: ", sentence))
        elif "order" in about or (beside_results and _says_much(sentence)):
            evidence.add("orders", sentence, 1)
        elif "decision" in about:
            evidence.add("decisions", sentence, 2)
        elif identifies(sentence):
            evidence.add("facts", sentence, 3)
        elif not named and _says_much(sentence):
            evidence.add("orders", sentence, 2)
        else:
            continue
        named = True
    if text.count("\n") > 3 and (line := notable_line(text)):
        evidence.add("facts", line, 2, label="the person showed: ")


def _hear_model(evidence: _Evidence, text: str) -> None:
    said = tuple(sentences(text))
    for sentence in said:
        if sentence.endswith(_ASKING):
            evidence.questions.append(("the model asked: ", sentence))
            continue
        if sentence in evidence.heard or not _says_much(sentence) or sentence.endswith(":"):
            continue
        evidence.heard.add(sentence)
        about = cues(sentence)
        if "rejected" in about:
            evidence.add("rejected", sentence, 3)
        elif "decision" in about:
            evidence.add("decisions", sentence, 2)
        elif "done" in about and "open" not in about:
            evidence.add("done", sentence, 3, label="in the model's words: ")
        elif identifies(sentence):
            evidence.add("facts", sentence, 4)
    if said:
        evidence.last_words = said


def _read_digest(evidence: _Evidence, text: str) -> None:
    """What a digest says of its turn stands here as it stood there."""
    digest = parse_sections(text, DIGEST)
    for section in digest.schema.sections:
        for item in digest.items(section.key):
            evidence.add(section.key, item_text(item), 3)


def _says_much(sentence: str) -> bool:
    """Whether a sentence can be understood by itself; scripts without spaces get the benefit of the doubt."""
    return sentence.count(" ") > 1 or (len(sentence) > 5 and sentence[0] >= "\u2e80")


def _see_call(evidence: _Evidence, call: Call) -> None:
    entries = plan(call)
    if entries:
        evidence.plan = entries
    else:
        evidence.pending[id(call)] = deed(call)


def _see_result(evidence: _Evidence, call: Call | None, result: Result) -> None:
    text = result.text
    act = Deed("called", "a tool whose call was replaced earlier", ())
    if call is not None:
        if id(call) not in evidence.pending:  # it wrote a task list, or was answered before
            return
        act = evidence.pending.pop(id(call))
    failed = result.is_error or looks_failed(text)
    for name in act.objects or ("",):
        evidence.order += 1
        evidence.states.pop((act.tool, name), None)  # so that the latest stand last
        evidence.states[act.tool, name] = _State(act, failed, text, evidence.order)
        if name and not failed and act.verb in ("edited", "read"):
            (evidence.edits if act.verb == "edited" else evidence.reads)[name] += 1
            evidence.touched[name] = evidence.order


def _conclude(evidence: _Evidence) -> None:
    """What can be said only at the end: how things stand."""
    for section, text in evidence.plan:
        evidence.add(section, text, 1)
    for act in evidence.pending.values():
        evidence.add("doing", _named(act), 1, label="no answer yet from: ")
    for asker, sentence in evidence.questions:
        evidence.add("questions", sentence, 3, label=asker)
    _conclude_deeds(evidence)
    _conclude_files(evidence)
    words = evidence.last_words
    steps = [sentence for sentence in words if "next" in cues(sentence)]
    for sentence in steps[-3:] or words[-1:]:
        evidence.add("next", sentence, 1, label="" if steps else "the model's last words: ")
    for sentence in words:
        about = cues(sentence)
        if "doing" in about or "blocked" in about:
            evidence.add("doing" if "doing" in about else "blocked", sentence, 2)


def _conclude_deeds(evidence: _Evidence) -> None:
    """The latest outcome of each call: what failed and was not repeated with success, and what outputs came to."""
    earlier = len(evidence.states) - _RECENT_CALLS
    for age, state in enumerate(evidence.states.values()):
        act, text = state.act, state.text
        named = _named(act)
        if state.failed:
            why = [notable_line(text) or last_line(text), decisive_line(text)]
            lines = [line for line in dict.fromkeys(why) if line and (line is why[0] or is_total(line))]
            what = f"{named} failed: {'; '.join(lines)}" if lines else f"{named} failed"
            if age >= earlier and act.verb not in ("looked", "read"):
                evidence.add("blocked", what, 1, order=state.order)
            else:
                evidence.add("facts", what, 4, order=state.order)
            continue
        line = "" if act.verb == "edited" else decisive_line(text)
        if not line:
            continue
        large = len(text) > _LARGE_CHARS
        label = f"ran {named}; it ended with: " if act.verb == "ran" else f"{named} ended with: "
        if act.verb == "ran" and not large:
            evidence.add("done", line, 3, label=label, order=state.order)
        else:
            rank = {"looked": 2, "read": 3}.get(act.verb, 1) + (0 if large else 3)
            evidence.add("critical", line, rank, label=label, order=state.order)
            if large:
                evidence.add("critical", last_line(text), rank, label=label, order=state.order)
                evidence.add("critical", notable_line(text), rank + 1, label=f"{named} printed: ", order=state.order)


def _conclude_files(evidence: _Evidence) -> None:
    """Which files were touched, and how: the edited and the latest first."""
    names = sorted(evidence.touched, key=lambda name: (name in evidence.edits, evidence.touched[name]), reverse=True)
    for name in names[:_MOST_FILES]:
        edits, reads = evidence.edits[name], evidence.reads[name]
        how = [f"edited {_times(edits)}"] * bool(edits) + [f"read {_times(reads)}"] * bool(reads)
        evidence.add("facts", f"{name}: {', '.join(how)}", 2 if edits else 4, order=evidence.touched[name])


def _named(act: Deed) -> str:
    """A call in few words."""
    tool = " ".join(act.tool[:60].split())
    return f"{tool} ({act.objects[0]})" if act.objects else tool


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times" if count < 100 else "many times"


# --- Updating --------------------------------------------------------------------------------------------------------


def _carry_on(evidence: _Evidence, before: Sections, turn: str) -> None:
    """Add what the previous summary holds and the transcript has not settled; what was under way then belongs to *turn* now."""
    fresh = {finding.section for finding in evidence.findings}
    settled = {name for (_, name), state in evidence.states.items() if not state.failed}
    done = {_key(item) for item in before.items("done")}
    carried: list[_Finding] = []
    for section in before.schema.sections:
        key = section.key
        if section.is_ours:
            continue
        if (key == "next" and "next" in fresh) or (key == "questions" and evidence.prompts):
            continue
        for number, item in enumerate(before.items(key)):
            text = _key(item)
            if not text or item.startswith(FIRST_PROMPT) or text in evidence.seen:
                continue
            if key == "goal" and evidence.prompts and item_text(item).startswith(LATEST_PROMPT):
                continue
            if key in ("doing", "blocked", "next") and (text in done or _is_about(item, settled)):
                continue
            if key == "facts" and item_text(item).rpartition(": ")[0] in evidence.touched:
                continue
            section_now = turn if key == "turn" else key
            carried.append(_Finding(section_now, f"- {item_text(item)}", _CARRIED_RANKS.get(key, 4), number - _LONG_AGO))
    for number, line in enumerate(before.preamble.splitlines()):  # a summary that is not of our making
        bare = line.strip()
        if not says_nothing(bare):
            carried.append(_Finding("critical", f"- {bare[: floor(bare, LONGEST_CHARS)]}", 3, number - _LONG_AGO))
    evidence.findings[:0] = carried


def _is_about(item: str, names: Container[str]) -> bool:
    """Whether an item names in brackets one of the things that calls were made on; see `_named`."""
    inside = item.partition(" (")[2]
    return any(inside[:at] in names for at, char in enumerate(inside[: 2 * LONGEST_CHARS]) if char == ")")


def _key(item: str) -> str:
    return " ".join(item_text(item).casefold().split())


# --- Writing ---------------------------------------------------------------------------------------------------------


def _write(evidence: _Evidence, schema: Schema, request: SummaryRequest, before: Sections, counter: Counter) -> str:
    room = request.max_tokens
    asked = schema.asked(step_cut=request.under_way is not None)
    keys = [section.key for section in asked]
    headings = {section.key: f"## {section.heading}" for section in asked}
    frame = {key: counter(f"{heading}\n{EMPTY}\n\n") for key, heading in headings.items()}
    # A section without evidence says so, where the room is not needed for those with evidence.
    shown = set(keys) if sum(frame.values()) <= room // 3 else set(schema.required)
    room -= sum(frame[key] for key in shown)
    taken: dict[str, list[_Finding]] = {key: [] for key in keys}
    for finding in _goal(evidence, request, before, counter) if "goal" in taken else ():
        taken["goal"].append(finding)
        room -= counter(finding.text + "\n")
    used: Tally[str] = Tally()
    telling = [finding for finding in evidence.findings if not says_nothing(finding.text)]  # someone may plan "none"
    if "orders" not in taken:  # a digest stands beside its prompt
        telling = [finding for finding in telling if finding.section != "orders"]
    waiting = sorted(telling, key=lambda finding: (finding.rank, -finding.order))
    for share in (room // 3, room):
        late: list[_Finding] = []
        for finding in waiting:
            key = next(key for key in (finding.section, _FALLBACK.get(finding.section), "critical") if key in taken)
            cost = counter(finding.text + "\n") + (0 if key in shown else frame[key])
            if cost > room:
                continue
            if used[key] + cost > share:
                late.append(finding)
                continue
            taken[key].append(finding)
            shown.add(key)
            used[key] += cost
            room -= cost
        waiting = late
    if not any(taken.values()):  # a summary that says nothing at all would be refused
        nothing = f"- messages replaced: {len(request.messages)}, none of which could be quoted"
        taken["critical"].append(_Finding("critical", nothing, 0, 0))
        shown.add("critical")
    lines = []
    for key in keys:
        if key in shown:
            texts = [finding.text for finding in sorted(taken[key], key=lambda finding: finding.order)]
            lines.append("\n".join([headings[key], *(texts or [EMPTY])]))
    return "\n\n".join(lines)


def _goal(evidence: _Evidence, request: SummaryRequest, before: Sections, counter: Counter) -> list[_Finding]:
    """The first prompt, quoted, and the beginning of the latest."""
    prompts = evidence.prompts
    limit_tokens = request.max_tokens // 6
    first = carried_quotation(before, limit_tokens, counter)
    goes_on = bool(first or request.previous)  # then the first prompt is not among these
    latest = prompts[-1] if prompts and (goes_on or len(prompts) > 1) else ""
    if not goes_on and prompts:
        first = quotation(prompts[0], limit_tokens, counter)
    goal = [_Finding("goal", first, 0, -_LONG_AGO)] if first else []
    openings = [(f"{LATEST_PROMPT} ", latest)]
    if not first and not goes_on and prompts:  # no room for both its ends and a marker
        openings.insert(0, ("", prompts[0]))
    for label, prompt in openings:
        left = limit_tokens
        for sentence in islice(sentences(prompt), 3):
            text = f"- {label}{visible(sentence)}"
            left -= counter(text + "\n")
            if left < 0:
                break
            goal.append(_Finding("goal", text, 0, len(goal)))
            label = ""
    return goal
