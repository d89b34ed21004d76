"""
Checks of the laws of loss: L6 to L9.

What a person said counts as a person's wherever that cannot be ruled out:
recognising a harness text never takes protection away (law L8).
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from .evidence import Evidence, evidence, last_replies, paired
from .fact_checks import is_list
from .findings import Finding, broken, unknown
from .heads import earlier_digests, earlier_prompts, folded, is_plain, sections, stubs
from .hiding import may_hide
from .record import Exchange, Origin, Record
from .units import Block, Unit

__all__ = [
    "last_words",
    "nothing_invented",
    "prompts_kept",
    "tail_verbatim",
    "untouched",
    "words_beside_results",
    "words_with_media",
]

_REASONS: Final = {
    "compacted": ("target-met", "above-target"),
    "unchanged": ("below-trigger", "auto-off", "vetoed", "nothing-new"),
    "refused": (
        "overhead-exceeds-threshold", "irreducible", "no-legal-cut", "no-digest", "vetoed", "prefix-at-provider", "invalid-input",
        "suspended",
        "store-failed", "internal-invalid", "raced",
    ),
}  # fmt: skip
_CODES: Final = frozenset(
    {
        "exception", "timeout", "prompt-too-long", "media", "overloaded",
        "stop", "refusal", "tool-call", "empty", "whitespace", "null-like", "echo", "continuation",
        "answer", "headings", "too-long", "same-as-previous", "not-smaller", "no-room",
    }
)  # fmt: skip
_NULLS: Final = frozenset({"null", "none", "undefined", "n/a", "ok", "done"})
_STOPS: Final = frozenset({"end", "end_turn", "stop", "completed", "eos"})


# --- L6 --------------------------------------------------------------------------------------------------------------


def untouched(record: Record) -> Iterator[Finding]:
    """FAIL-1 nothing done is nothing changed; FAIL-2 a failed reply replaces nothing; FAIL-3 the reason is one of a list."""
    if record.outcome != "compacted":
        if json.dumps(record.before) != json.dumps(record.after):
            yield from broken("FAIL-1", f"the outcome is {record.outcome}, and the conversation has changed")
        elif record.same_object is False:
            yield from broken("FAIL-1", f"the outcome is {record.outcome}, and another object came back")
    yield from _failed_replies(record)
    yield from _reason(record)


def _failed_replies(record: Record) -> Iterator[Finding]:
    if record.outcome != "compacted" or record.rung == "clear":  # which replaces no message
        return
    if record.exchanges is None:
        yield from unknown("FAIL-2", "what the summariser replied is not known", "exchanges")
    for exchange in last_replies(record):
        fault = failed(exchange, record)
        if fault:
            yield from broken("FAIL-2", f"the reply to part {exchange.part} {fault}, and history was replaced")
    ceiling, tokens = record.limits.summary, record.summary_tokens
    if ceiling is not None and tokens is not None and tokens > ceiling:
        yield from broken("FAIL-2", f"the summary has {tokens} tokens, at most {ceiling} are allowed")


def failed(exchange: Exchange, record: Record) -> str:
    """Why a reply is no summary, as far as that is a matter of fact; ``""`` if it may be one."""
    reply = exchange.reply
    if exchange.error is not None:
        return f"is an error ({exchange.error})"
    if reply is None or not reply:
        return "is empty"
    if exchange.tool_calls:
        return "calls a tool"
    if exchange.stop.lower() not in _STOPS:
        return f"was stopped by {exchange.stop!r}"
    if not reply.strip():
        return "is nothing but white space"
    if reply.strip(" \n\"'`.*").lower() in _NULLS:
        return f"is nothing but {reply.strip()!r}"
    found = {heading.casefold() for heading, _ in sections(reply)}
    missing = [heading for heading in record.headings or () if heading.casefold() not in found]
    if missing and exchange.part == exchange.parts:
        return f"lacks the heading {missing[0]!r}"
    if exchange.previous and reply.strip() == exchange.previous.strip() and _shows_a_prompt(exchange, record):
        return "is the previous summary again"
    return ""


def _shows_a_prompt(exchange: Exchange, record: Record) -> bool:
    """Whether a prompt is among what is shown, which must change the summary."""
    seen = evidence(record)
    gone = [at for at in seen.parts.starts if at < seen.cut and seen.parts.kinds[at] == "prompt" and at not in seen.kept]
    starts = [seen.before[at].text.split("\n")[0][:60] for at in gone]
    transcript = exchange.text.rpartition("=== Transcript")[2]  # what stands before it is context
    return any(len(start) > 8 and f"\n> {start}" in transcript for start in starts)


def _reason(record: Record) -> Iterator[Finding]:
    reason = record.reason
    if not reason:
        return
    head, _, rest = reason.partition(":")
    if record.outcome == "refused" and head == "summary-failed":
        if rest not in _CODES:
            yield from broken("FAIL-3", f"{rest!r} is no code of a failed summary")
    elif not (record.outcome == "refused" and head == "callback" and rest) and reason not in _REASONS[record.outcome]:
        yield from broken("FAIL-3", f"{reason!r} is no reason for {record.outcome}")
    last = last_replies(record)[-1:]
    fault = failed(last[0], record) if last and record.outcome == "refused" else ""
    if fault and head != "summary-failed":
        yield from broken("FAIL-3", f"the reply {fault}, and the reason given is {reason!r}")


# --- L7 --------------------------------------------------------------------------------------------------------------


def tail_verbatim(record: Record) -> Iterator[Finding]:
    """TAIL-1: from the cut on, every message is as it was; TAIL-2: clearing spares the tail, TAIL-3: and what is new."""
    if record.outcome != "compacted":
        return
    seen = evidence(record)
    yield from _cleared_tail(record, seen)
    yield from _cleared_new(record, seen)
    if record.cut is not None and seen.cut < len(seen.before) and seen.before[seen.cut].index > record.cut:
        changed = seen.before[seen.cut - 1].index
        yield from broken("TAIL-1", f"the tail begins at {record.cut}, and message {changed} is not in its place as it was")
    elif record.cut is not None and seen.cut == len(seen.before):
        yield from broken("TAIL-1", f"the tail begins at {record.cut}, and the last message is not as it was")
    elif record.same_tail is False:
        yield from broken("TAIL-1", "the messages of the tail are equal and not the same")


def _cleared_tail(record: Record, seen: Evidence) -> Iterator[Finding]:
    """Nothing is cleared or hidden in the last tail tokens, from the beginning of the step that they begin in."""
    limit, sizes = record.limits.tail, record.sizes
    if record.rung != "clear" or limit is None or sizes is None or len(sizes) != len(seen.before):
        return
    first = len(sizes)
    while first and sum(sizes[first - 1 :]) <= limit:
        first -= 1
    first = next((start for start, stop in seen.parts.steps if start < first < stop), first)
    for back in _without_outputs(record, seen):
        if back >= first:
            yield from broken("TAIL-2", f"message {seen.before[back].index} is of the last {limit} tokens and has been cleared")


def _without_outputs(record: Record, seen: Evidence) -> list[int]:
    """The messages whose outputs were cleared, or may be hidden."""
    hidden = {one.at for one in may_hide(record) if one.what == "result"}
    return sorted(hidden | {back for back in seen.cleared.values() if seen.before[back].role != "model"})


def _cleared_new(record: Record, seen: Evidence) -> Iterator[Finding]:
    """Nothing is cleared or hidden that the model has not seen, and none of the newest results."""
    last = max((at for at, unit in enumerate(seen.before) if unit.role == "model"), default=0)
    for back in _without_outputs(record, seen):
        if back > last:
            yield from broken("TAIL-3", f"message {seen.before[back].index} was never seen by the model and has been cleared")
    spots = [(at, place) for at, unit in enumerate(seen.before) for place, one in enumerate(unit.blocks) if one.kind == "result"]
    newest = spots[max(len(spots) - (record.limits.newest_results or 0), 0) :]
    for at, _ in sorted(_cleared_blocks(record, seen).intersection(newest)):
        yield from broken("TAIL-3", f"message {seen.before[at].index} holds one of the newest results, which has been cleared")


def _cleared_blocks(record: Record, seen: Evidence) -> set[tuple[int, int]]:
    """(unit, place) of every block that was cleared, or may be hidden."""
    gone = {(one.at, one.place) for one in may_hide(record)}
    for at, back in seen.cleared.items():
        pairs = paired(seen.before[back], seen.after[at])
        gone |= {(back, place) for place, (old, new) in enumerate(pairs) if new is None or old.raw != new.raw}
    return gone


# --- L8 --------------------------------------------------------------------------------------------------------------


def prompts_kept(record: Record) -> Iterator[Finding]:
    """PROMPT-1 last prompt; PROMPT-2 words beside results; PROMPT-3 earlier prompts; PIN-1, PIN-2, PIN-3 pins."""
    if record.outcome != "compacted":
        return
    seen = evidence(record)
    new_texts = [block.text for _, block in seen.new if block.kind == "text"]
    yield from _last_prompt(record, seen, new_texts)
    for at, text in words_beside_results(seen):
        if not any(text in new for new in new_texts):
            yield from broken("PROMPT-2", f"words of a person in message {seen.before[at].index} are gone: {text[:60]!r}")
    yield from _earlier(record, seen, new_texts)
    yield from _pins(record, seen)


def _last_prompt(record: Record, seen: Evidence, new_texts: list[str]) -> Iterator[Finding]:
    kinds = seen.parts.kinds
    last = last_words(seen, ("prompt", "result", None) if record.kinds_told else ("prompt", "result", "harness", None))
    if last is None or last in seen.kept:
        return
    unit = seen.before[last]
    media = {block.raw for _, block in seen.new} | {raw for at in seen.kept for raw in seen.before[at].raws}
    lost = [block for block in unit.blocks if block.kind == "text" and not any(block.text in new for new in new_texts)]
    lost += [block for block in unit.blocks if block.kind == "media" and block.raw not in media]
    if kinds[last] == "prompt" and last in seen.parts.starts:
        yield from broken("PROMPT-1", f"the last prompt, message {unit.index}, is not in the output as it was")
    elif lost:
        announced = all(block.text.lower().lstrip().startswith(_MARKERS) for block in unit.of_kind("text"))
        doubtful = kinds[last] is None or (kinds[last] == "result" and announced)
        say = unknown if doubtful and unit.of_kind("media") else broken  # a picture may be a tool's
        yield from say("PROMPT-1", f"message {unit.index} may be a person's last words, and {len(lost)} blocks of it are gone")


def last_words(
    seen: Evidence, kinds: Sequence[Origin | None] = ("prompt", "result", "attachment", "harness", None)
) -> int | None:
    """The last unit of these kinds in which there is anything that a person can have sent."""

    def may_be_said(unit: Unit) -> bool:
        if unit.kind == "result" and not unit.of_kind("result"):
            return False  # a tool's words where results are no blocks
        return bool(unit.text.strip() or (unit.of_kind("media") and not unit.of_kind("result")))

    attached = {stop for _, stop in seen.parts.spans}
    first = min(seen.parts.starts, default=0)  # a picture behind it with no results it could belong to may be a person's
    candidates = [
        at
        for at, (unit, kind) in enumerate(zip(seen.before, seen.parts.kinds, strict=True))
        if unit.role == "user" and may_be_said(unit)
        if kind in kinds or (kind == "attachment" and "harness" in kinds and at > first and at not in attached)
    ]
    return candidates[-1] if candidates else None


_MARKERS: Final = ("attached ", "tool result")
"""How the line begins that clients write before the pictures of a tool."""


def words_beside_results(seen: Evidence) -> list[tuple[int, str]]:
    """(unit, text) for the words that a person wrote inside a step, of the steps that went."""
    found = []
    for at, unit in enumerate(seen.before[: seen.cut]):
        inside = unit.of_kind("result") or (seen.parts.kinds[at] == "prompt" and at not in seen.parts.starts)
        if inside and at not in seen.kept:
            texts = [block.text for block in unit.of_kind("text")]
            nobodys = ("<", "[", *_MARKERS) if unit.of_kind("media") else ("<", "[")
            found += [(at, text) for text in texts if text.strip() and not text.lower().lstrip().startswith(nobodys)]
    return found


def _earlier(record: Record, seen: Evidence, new_texts: list[str]) -> Iterator[Finding]:
    """Of the prompts that went, the newest are quoted: none is passed over for an older one."""
    quoted = next((prompts for prompts in map(earlier_prompts, new_texts) if prompts is not None), [])
    kinds = seen.parts.kinds
    gone = [at for at in seen.parts.starts if at < seen.cut and kinds[at] == "prompt" and at not in seen.kept]
    pinned = {index for index, _ in record.pins}
    texts = [seen.before[at].text for at in gone if not seen.before[at].of_kind("media") and seen.before[at].index not in pinned]
    times = Counter(unit.text for unit in seen.before)
    missed = None
    for text in reversed(texts):
        if text in quoted and missed is not None and times[text] == 1:
            yield from broken("PROMPT-3", f"an older prompt is quoted and a newer one is not: {missed[:60]!r}")
            return
        if text not in quoted:
            missed = text if missed is None else missed


def _pins(record: Record, seen: Evidence) -> Iterator[Finding]:
    old = [(at, block) for at, unit in enumerate(seen.before) if unit.kind == "pin" for block in unit.blocks]
    named = [(at, block) for at, block in ((_place(seen, index), place) for index, place in record.pins) if at is not None]
    pinned = old + [(at, seen.before[at].blocks[place]) for at, place in named if place < len(seen.before[at].blocks)]
    for at, pin in pinned[len(old) :]:
        copies = sum(_is_copy(block, pin) for _, block in seen.new)
        copies += sum(pin.kind == "text" and pin.text in (earlier_prompts(block.text) or ()) for _, block in seen.new)
        copies += at in seen.kept
        # a block may be named that is a pin already
        alike = [(place, block) for place, block in pinned if _is_copy(block, pin)]
        wanted = {(place, id(block)) for place, block in alike if place == at or place not in seen.kept}
        if copies != max(len(wanted), 1):
            index = seen.before[at].index
            yield from broken("PIN-1", f"{pin.text[:40]!r} of message {index} was pinned and stands {copies} times in the output")
    for text in record.pinned_texts if seen.summaries else ():
        stands = sum(block.text == text for unit in seen.after if unit.kind == "pin" for block in unit.blocks)
        is_named = any(pin.kind == "text" and pin.text == text for _, pin in pinned)
        if stands != 1 and not is_named:
            yield from broken("PIN-1", f"{text[:40]!r} was pinned and stands {stands} times among the pins")
    yield from _cleared_pins(record, seen)
    tokens, room = record.pinned_tokens, record.limits.room
    if tokens is not None and room is not None and tokens > room // 2:
        yield from broken("PIN-2", f"pins take {tokens} of the {room} tokens there is room for, which is more than half")


def _cleared_pins(record: Record, seen: Evidence) -> Iterator[Finding]:
    """No pinned block is cleared where it stands, or may be hidden."""
    gone = _cleared_blocks(record, seen)
    for index, place in record.pins:
        if (_place(seen, index), place) in gone:
            yield from broken("PIN-3", f"block {place} of message {index} was pinned and has been cleared")


def _place(seen: Evidence, index: int) -> int | None:
    return next((at for at, unit in enumerate(seen.before) if unit.index == index), None)


def _is_copy(block: Block, pinned: Block) -> bool:
    """Whether *block* is *pinned*, or what a pinned call or result is written as, because it is illegal without its step."""
    if pinned.kind in ("call", "result"):
        return pinned.text in block.text and (block.kind == pinned.kind or block.text.startswith("[pinned "))
    return block.raw == pinned.raw or (pinned.kind == block.kind == "text" and block.text == pinned.text)


# --- L9 --------------------------------------------------------------------------------------------------------------


def nothing_invented(record: Record) -> Iterator[Finding]:
    """NEW-1: every block is of the input, a pin, a reminder or the summary; NEW-2: and the summary is the reply."""
    if record.outcome != "compacted":
        return
    seen = evidence(record)
    known = {raw for unit in seen.before for raw in unit.raws}
    texts = {block.text for unit in seen.before for block in unit.blocks if block.kind == "text"}
    for at, block in seen.new:
        if block.raw in known or (block.kind == "text" and block.text in texts):
            continue
        if not _is_ours(record, seen, at, block):
            shown_text = block.text[:60] if block.text else block.raw[:60]
            yield from broken("NEW-1", f"message {seen.after[at].index} of the output holds what nobody wrote: {shown_text!r}")
    yield from _cleared_parts(seen)
    yield from _summary_is_reply(record, seen)


def _cleared_parts(seen: Evidence) -> Iterator[Finding]:
    """What was cleared is a stub now, or no arguments at all, or gone."""
    for at, back in seen.cleared.items():
        for old, new in paired(seen.before[back], seen.after[at]):
            if new is None or old.raw == new.raw or (new.kind == "call" and new.text in ("{}", "")):
                continue
            if not (new.kind in ("result", "text") and _stubs_alone(old.text, new.text)):
                yield from broken("NEW-1", f"message {seen.after[at].index} holds what nobody said: {new.text[:60]!r}")


def _stubs_alone(old: str, new: str) -> bool:
    """Whether every line of *new* is a stub or a line of *old*."""
    made = {stub.text for stub in stubs(new)}
    lines = set(old.split("\n"))
    return bool(made) and all(line in made or line in lines for line in new.split("\n"))


def _is_ours(record: Record, seen: Evidence, at: int, block: Block) -> bool:
    if block.kind != "text":
        return False
    kind = seen.after[at].kind
    if kind == "summary":
        quoted = earlier_prompts(block.text)
        if block is seen.after[at].blocks[0]:
            return True
        known = {*record.digests, *(one for unit in seen.before for held in unit.blocks for one in earlier_digests(held.text))}
        is_known = known.issuperset(earlier_digests(block.text))
        return quoted is not None and is_known and all(_was_said(text, seen) for text in quoted)
    if kind == "reminder":
        return block.text in record.reminders or is_list(block.text)  # whether the list is true is for L23
    if kind == "pin" and block.text in record.pinned_texts:
        return True
    if kind == "pin" and block.text.startswith("[pinned "):
        pinned = [one for unit in seen.before for one in unit.blocks if one.kind in ("call", "result")]
        return any(one.text in block.text for one in pinned)
    return False


def _was_said(text: str, seen: Evidence) -> bool:
    """Whether a quotation is made of lines of the input; media are named in brackets."""
    said = "\n".join(block.text for unit in seen.before for block in unit.blocks if block.kind == "text")
    pieces = re.split(r"(?:^|\n)\[\w+ not kept\](?:\n|$)", text)
    return all(piece in said for piece in pieces)


_OWN_LINES: Final = ("first prompt:", "latest prompt:", "(none)", "")
_FLAGS: Final = re.compile(r" ?\[(?:reopened|unverified|contradicted: [^\]\n]*|not verified: [^\]\n]*)\]")
_FACTS: Final = "Kept verbatim"
_LEFT: Final = re.compile(
    r"and more: [0-9]+ facts (?:were left out\b.*|and [0-9]+ references: ref=[0-9a-f]{64})"
    r"|the messages before message [0-9]+ as they were: ref=[0-9a-f]{64}"
)


def _summary_is_reply(record: Record, seen: Evidence) -> Iterator[Finding]:
    replies = last_replies(record)
    if not replies or any(failed(exchange, record) for exchange in replies) or len(seen.summaries) != 1:
        return  # other rules have the word
    reply = folded(_FLAGS.sub("", replies[-1].reply or ""))  # it may repeat the flags of the summary before
    prompts = folded("\n".join(map(words_with_media, seen.before)))
    before = folded("\n".join(exchange.previous for exchange in replies) + (seen.previous.body if seen.previous else ""))
    for heading, text in sections(seen.body):
        if not heading and seen.read is None:
            continue  # another compactor's header
        if heading == _FACTS and heading in (record.known_headings or ()):
            yield from _facts_stood_there(record, seen, text)
            continue
        for line in text.split("\n"):
            words = folded(_FLAGS.sub("", re.sub(r"^\s*(?:[-*+•]|[0-9]+\.|>)\s+", "", line)))
            words = re.sub(r"^reported by [^:]*: ", "", words).strip(" -")
            if words in _OWN_LINES or words in reply or "[truncated v1:" in words or _is_numbered(words):
                continue
            if line.startswith("> ") and (words in prompts or words in before or not is_plain(prompts)):
                continue
            yield from broken("NEW-2", f"the summary says what the reply did not: {line[:60]!r}")


def _facts_stood_there(record: Record, seen: Evidence, text: str) -> Iterator[Finding]:
    """What the library adds to a reply by itself is a slice of what was said, or was in the summary before."""
    texts = [block.text for unit in seen.before for block in unit.blocks]
    texts += [json.dumps(json.loads(block.raw), ensure_ascii=False) for unit in seen.before for block in unit.of_kind("other")]
    everything = folded("\n".join(texts).replace("⏎", " "))
    for line in text.split("\n"):
        item = line.strip().removeprefix("- ")
        kind, _, clause = item.partition(": ")
        if item.rpartition(": ref=")[2] in (record.stored or ()):
            continue  # a way back; what stands behind it is for law L10
        if item in _OWN_LINES or _LEFT.fullmatch(item) or folded((clause or kind).replace("⏎", " ")) in everything:
            continue
        yield from broken("NEW-2", f"a fact that nobody stated was added: {line[:60]!r}")


def _is_numbered(words: str) -> bool:
    return words == "[end of numbered lines]" or re.match(r"[0-9]+[:~]", words) is not None


def words_with_media(unit: Unit) -> str:
    """The words of a message in which media are named in brackets, which is how a prompt is quoted (law L8)."""
    pieces = []
    for block in unit.blocks:
        if block.kind == "media":
            pieces.append(f"[{block.text} not kept]")
        elif block.kind == "text":
            pieces.append(block.text)
    return "\n".join(pieces)
