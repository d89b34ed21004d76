"""
Checks of the laws of honesty: L20 and L25.

They look at the summary, at what the summariser was shown, and at whose words
stand where.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

from .evidence import Evidence, evidence, last_replies
from .findings import Finding, broken
from .heads import earlier_prompts, folded, is_plain, sections, unquoted
from .record import Record
from .units import Unit

__all__ = ["one_summary", "text_stays_text"]

# --- L20 -------------------------------------------------------------------------------------------------------------


def one_summary(record: Record) -> Iterator[Finding]:
    """ONE-1: the output has one summary; ONE-2: the one before was shown once; ONE-3: what was done stays done."""
    if record.outcome != "compacted" and not record.exchanges:
        return
    seen = evidence(record)
    if record.outcome == "compacted" and record.rung != "clear":
        yield from _exactly_one(seen)
        yield from _done_stays_done(seen)
    yield from _shown_once(record, seen)


def _exactly_one(seen: Evidence) -> Iterator[Finding]:
    old = [at for at, kind in enumerate(seen.parts.kinds) if kind == "summary"]
    texts = {seen.before[at].blocks[0].raw for at in old if seen.before[at].blocks}
    again = sum(block.raw in texts for at, block in seen.new if at not in seen.summaries[:1])
    count = len(seen.summaries)
    if count != 1:
        yield from broken("ONE-1", f"the output has {count} summaries that can be recognised")
    elif again:
        yield from broken("ONE-1", "the summary before is still there beside the new one")
    elif re.search(r"(?:^|\n)\[compactlib summary v", seen.body):
        yield from broken("ONE-1", "the summary holds another one")


def _shown_once(record: Record, seen: Evidence) -> Iterator[Finding]:
    """In every request the current summary stands once, as a part of its own."""
    for exchange in record.exchanges or ():
        current = exchange.previous
        if exchange.part == 1 and seen.previous is not None and seen.previous.body.strip() not in current:
            yield from broken("ONE-2", "the summariser was not given the summary that it is to bring up to date")
        elif current.strip() and is_plain(current):
            count = unquoted(exchange.text).count(current.strip())
            copies = sum(current.strip() in block.text for unit in seen.before if unit.kind is None for block in unit.blocks)
            if not 1 <= count <= 1 + copies:  # a copy in the history is history
                yield from broken("ONE-2", f"the current summary was shown {count} times in part {exchange.part}")


_OPEN: Final = ("in progress", "blocked", "next step")


def _done_stays_done(seen: Evidence) -> Iterator[Finding]:
    if seen.previous is None:
        return
    done = _items(seen.previous.body, "done") - {"", "(none)"}
    open_now = {item for heading in _OPEN for item in _items(seen.body, heading)}
    replaced = [
        at for at in range(seen.cut) if at not in seen.kept and seen.parts.kinds[at] not in ("summary", "pin", "reminder")
    ]
    named = folded("\n".join(block.text for at in replaced for block in seen.before[at].blocks))
    for item in sorted(done & open_now):
        if item not in named:
            yield from broken("ONE-3", f"{item[:60]!r} was done and is unfinished again, though nothing speaks of it")


def _items(body: str, heading: str) -> set[str]:
    """The items of one section, folded, without bullets."""
    text = "\n".join(text for name, text in sections(body) if name.casefold() == heading)
    return {folded(re.sub(r"^(?:[-*+•]|[0-9]+\.) ", "", line)) for line in text.split("\n") if line[:1] not in (" ", ">")}


# --- L25 -------------------------------------------------------------------------------------------------------------


def text_stays_text(record: Record) -> Iterator[Finding]:
    """TEXT-1: what is shown is quoted; TEXT-2: headings and headers are ours; TEXT-3: a tool does not speak for a person."""
    if record.outcome != "compacted" and not record.exchanges:
        return
    seen = evidence(record)
    yield from _unquoted_lines(record, seen)
    if record.outcome == "compacted" and seen.summary:
        yield from _headings(record, seen)
        yield from _provenance(record, seen)


_BREAKS: Final = re.compile("[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_OURS: Final = re.compile(
    r"--- (?:message [0-9]+ · |[0-9,]+ pieces)|=== (?:Context|Previous record|Transcript|End of the transcript)"
)


def _unquoted_lines(record: Record, seen: Evidence) -> Iterator[Finding]:
    """No line of the conversation stands in a request as if it were one of the request's own."""
    lines = {line for unit in seen.before for block in unit.blocks for line in _BREAKS.split(block.text) if line.strip()}
    for exchange in record.exchanges or ():
        bare = [line for line in _BREAKS.split(exchange.text) if not line.startswith("> ")]
        free = [line for line in bare if line in lines and not _OURS.match(line)]
        twice = [line for line, count in Counter(line for line in bare if line.startswith("===")).items() if count > 1]
        for line in (free + twice)[:1]:
            yield from broken("TEXT-1", f"a line of the conversation was shown unquoted: {line[:60]!r}")


def _headings(record: Record, seen: Evidence) -> Iterator[Finding]:
    found = [heading for heading, _ in sections(seen.body)][1:]
    known = record.known_headings
    twice = [heading for heading, count in Counter(found).items() if count > 1]
    strange = [heading for heading in found if known is not None and heading not in known]
    for heading in (twice + strange)[:1]:
        yield from broken("TEXT-2", f"the summary has a section {heading!r} that is not its own")
    forged = re.search(
        r"(?<!\\)\[compactlib (?:summary|earlier)|\bref=[0-9a-f]{64}|(?<!\\)\[truncated v1:",
        _without_issued(_without_quotations(seen.body), record),
    )
    if forged:
        yield from broken("TEXT-2", f"the summary holds {forged[0]!r}, which was never issued")


def _without_quotations(body: str) -> str:
    """*body* without the lines that quote the first prompt, whose marker is ours."""
    return "\n".join(line for line in body.split("\n") if not line.startswith("> "))


def _without_issued(body: str, record: Record) -> str:
    """*body* without the references that were given out (law L10 looks at what is behind them)."""
    known = {*record.given, *(record.stored or ())}
    return re.sub(r"\bref=([0-9a-f]{64})", lambda found: "" if found[1] in known else found[0], body)


def _provenance(record: Record, seen: Evidence) -> Iterator[Finding]:
    tellers = ("prompt", None) if record.kinds_told else ("prompt", "harness", "attachment", None)
    said = [
        block.text
        for at, unit in enumerate(seen.before)
        if unit.role == "user"
        for block in unit.blocks
        if block.kind == "text" and (seen.parts.kinds[at] in tellers or unit.of_kind("result"))
    ]
    said += [text for unit in seen.before if unit.kind == "summary" for text in _quoted_in(unit)]
    carried = sections(seen.previous.body) if seen.previous is not None else []
    carried += [section for exchange in last_replies(record) for section in sections(exchange.previous)]
    proven = folded("\n".join([*said, *(text for heading, text in carried if heading in record.quoting_headings)]))
    quoting = [text for heading, text in sections(seen.body) if heading in record.quoting_headings]
    for line in "\n".join(quoting).split("\n"):
        words = _words(line)
        if words and words not in proven and not line.startswith("> "):
            yield from broken("TEXT-3", f"the summary puts words into a person's mouth: {line[:60]!r}")


def _quoted_in(unit: Unit) -> list[str]:
    """The prompts that stand behind a summary, in a person's own words."""
    return [text for block in unit.blocks for text in earlier_prompts(block.text) or ()]


def _words(line: str) -> str:
    """What a line of a quoting section says that the person said."""
    words = folded(re.sub(r"^\s*(?:[-*+•]|[0-9]+\.) ", "", line))
    words = re.sub(r"^(?:first|latest) prompt: ?", "", words)
    words = re.sub(r" ?(?:\(message [^)]*\)|\[unverified\]|\[reopened\]|\(cut\))$", "", words)
    return "" if words == "(none)" else words.strip("\"'` .!…")
