"""
Checks of the laws about asking: L14, L15 and L24.

They look at the exchanges with the summariser: how many there were, how large
they were, and what was shown in them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from .evidence import Evidence, evidence, last_replies
from .findings import Finding, broken, unknown
from .heads import is_plain
from .record import Record

__all__ = ["asks_no_more", "fits_window", "pays_for_all"]

_BEFORE_ASKING: Final = frozenset(
    {
        "below-trigger", "auto-off", "nothing-new", "overhead-exceeds-threshold", "irreducible", "no-legal-cut", "no-digest",
        "prefix-at-provider",
    }
)  # fmt: skip


# --- L14 -------------------------------------------------------------------------------------------------------------


def asks_no_more(record: Record) -> Iterator[Finding]:
    """ASK-1: nobody is asked where no answer could help; ASK-2: no question is asked twice; ASK-3: nor too many."""
    exchanges = record.exchanges or ()
    if not exchanges:
        return
    stated, before = record.irreducible_tokens, record.before_tokens
    gain = 1 if record.when in ("now", "overflow") else max(record.limits.min_gain or 1, 1)
    if record.outcome != "compacted" and record.reason in _BEFORE_ASKING:
        yield from broken("ASK-1", f"{len(exchanges)} requests were made, and the outcome is {record.reason!r}")
    elif stated is not None and before is not None and not record.cleared and stated >= before - gain:
        yield from broken("ASK-1", f"of {before} tokens {stated} were said to be irreducible, and somebody was asked")
    asked = [(exchange.instructions, exchange.text) for exchange in exchanges]
    for at, exchange in enumerate(exchanges):
        if exchange.error is None and asked[at] in asked[at + 1 :]:
            yield from broken("ASK-2", f"the request for part {exchange.part} was answered and made again")
            break
    parts = max(exchange.parts for exchange in exchanges)
    if len(exchanges) > parts + 3:
        yield from broken("ASK-3", f"{len(exchanges)} requests were made for {parts} parts")


# --- L15 -------------------------------------------------------------------------------------------------------------


def fits_window(record: Record) -> Iterator[Finding]:
    """WINDOW-1: each request leaves room for its reply; WINDOW-2: over the parts each message is shown once, in order."""
    if record.exchanges is None:
        if record.outcome == "compacted":
            yield from unknown("WINDOW-1", "what the summariser was shown is not known", "exchanges")
        return
    window = record.limits.summariser
    for exchange in record.exchanges:
        if window is not None and exchange.tokens is not None and exchange.tokens + (exchange.max_tokens or 0) > window:
            size = f"{exchange.tokens} tokens and a reply of {exchange.max_tokens or 0}"
            yield from broken("WINDOW-1", f"part {exchange.part} has {size}, and the window {window}")
    shows_parts = all(exchange.form != "suffix" for exchange in last_replies(record))  # else the conversation is shown as sent
    if record.outcome == "compacted" and record.exchanges and shows_parts:
        yield from _shown_once(record, evidence(record))


_BEGINNING_CHARS: Final = 16  # of a text; shorter pieces are shown of nothing that is shown at all
_LEFT_OUT: Final = " pieces of one message, not shown"


def _shown_once(record: Record, seen: Evidence) -> Iterator[Finding]:
    """Messages are known by the beginnings of their texts, if nothing else begins so."""
    transcripts = [exchange.text.rpartition("\n=== Transcript")[2] or exchange.text for exchange in last_replies(record)]
    everything = "".join(f"\n{text}" for text in transcripts)
    pinned = {index for index, _ in record.pins}
    latest = -1
    cut = record.cut if record.cut is not None else next((unit.index for unit in seen.before[seen.cut :]), len(seen.before))
    for at, text in _beginnings(seen):
        index = seen.before[at].index
        stays = at in seen.kept or index in pinned or index in record.cleared or index == record.kept_prompt
        if index >= cut or stays or seen.parts.kinds[at] in ("summary", "pin", "reminder", "system"):
            continue
        count = everything.count(f"\n> {text}") + everything.count(f"\n{text}")  # whether it is quoted is for law L25
        place = max(everything.find(f"\n> {text}"), everything.find(f"\n{text}"))
        if count > 1:
            yield from broken("WINDOW-2", f"message {index} was shown {count} times: {text!r}")
        elif not count and _LEFT_OUT not in everything:
            yield from broken("WINDOW-2", f"message {index} was replaced, and never shown: {text!r}")
        elif count and place < latest:
            yield from broken("WINDOW-2", f"message {index} was shown before what stands before it")
        else:
            latest = max(latest, place)
            continue
        return


def _beginnings(seen: Evidence) -> list[tuple[int, str]]:
    """(unit, beginning) of the first text of each message that nothing else in the conversation repeats."""
    found = []
    said = "\n".join(block.text for unit in seen.before for block in unit.blocks)
    for at, unit in enumerate(seen.before):
        texts = [block.text for block in unit.blocks if block.kind in ("text", "result") and block.text]
        start = texts[0][:_BEGINNING_CHARS] if texts else ""
        is_ours = start.startswith(("---", "===", "[cleared v1:"))  # so a request begins its own lines, and more may be cleared
        if len(start) == _BEGINNING_CHARS and not is_ours and "\n" not in start and is_plain(start) and said.count(start) == 1:
            found.append((at, start))
    return found


# --- L24 -------------------------------------------------------------------------------------------------------------


def pays_for_all(record: Record) -> Iterator[Finding]:
    """PAID-1: every request stands in the account, answered or not."""
    if record.exchanges is not None and record.paid is not None and record.paid != len(record.exchanges):
        yield from broken("PAID-1", f"{len(record.exchanges)} requests were made, and {record.paid} stand in the account")
