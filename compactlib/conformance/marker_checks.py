"""
Checks of law L11: what a marker says of a text is true, and what is shown in part says so.

The texts of the input are the originals; so are those that a summary before
quoted, and what digests stand for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from .evidence import Evidence, evidence, last_replies
from .findings import Finding, broken
from .heads import Excerpt, earlier_digests, earlier_prompts, excerpts, folded, is_plain, shown
from .loss_checks import words_with_media
from .record import Record

__all__ = ["markers_true"]

_MARKER: Final = "[truncated v1: omitted "
_FOLLOWED: Final = "[digest of what followed]\n"  # how a digest begins where it is shown to a summariser
_ENOUGH_CHARS: Final = 40  # a beginning of this length tells one text from another


def markers_true(record: Record) -> Iterator[Finding]:
    """MARK-1: kept and omitted make up the original; MARK-2: what is shown in part says so, and shows both ends."""
    if record.outcome != "compacted" and not record.exchanges:
        return
    seen = evidence(record)
    originals = [block.text for unit in seen.before for block in unit.blocks if block.kind != "media"]
    originals += map(words_with_media, seen.before)
    behind = [text for original in originals for text in earlier_prompts(original) or ()]
    behind += [f"{_FOLLOWED}{text}" for original in originals for text in earlier_digests(original)]
    originals += behind
    yield from _false_markers(record, seen, originals)
    replies = last_replies(record)
    if not replies or record.outcome != "compacted":
        return
    everything = "\n".join(exchange.text for exchange in replies)
    told = {int(total.replace(",", "")) for total in re.findall(r" of ([0-9,]+) characters shown", everything)}
    told |= {int(total) for total in re.findall(r"omitted [0-9]+ of ([0-9]+) chars", everything)}
    copy = "\n".join(shown(everything)) or everything
    pinned = {index for index, _ in record.pins}
    for at in range(seen.cut):
        stays = at in seen.kept or seen.before[at].index in (*pinned, *record.cleared)
        if stays or seen.parts.kinds[at] in ("summary", "pin", "reminder", "system"):
            continue
        for block in seen.before[at].blocks:
            text = block.text
            if block.kind not in ("text", "result") or text in everything or not _shown_in_part(text, copy, told):
                continue
            start = text[:_ENOUGH_CHARS]
            if sum(start in other for other in originals) > 2 or any(start in exchange.previous for exchange in replies):
                continue  # what is shown may be the same beginning of another text, or an excerpt in the summary before
            index = seen.before[at].index
            yield from broken("MARK-2", f"of {len(text)} characters of message {index} a part was shown as if it were all")


def _shown_in_part(text: str, copy: str, told: set[int]) -> bool:
    """Whether the beginning of *text* was shown and its end was not, or its middle is missing without a word."""
    if len(text) < 4 * _ENOUGH_CHARS or not is_plain(text) or text in copy or text[:_ENOUGH_CHARS] not in copy:
        return False
    return len(text) not in told or text.rstrip("\n")[-_ENOUGH_CHARS // 2 :] not in copy


def _false_markers(record: Record, seen: Evidence, originals: list[str]) -> Iterator[Finding]:
    places = [
        (f"part {exchange.part} of what was shown", piece)
        for exchange in record.exchanges or ()
        for piece in shown(exchange.text)
        if _MARKER in piece and folded(piece) not in folded(exchange.previous) + "\n" + folded(exchange.context)
    ]
    if record.outcome == "compacted":
        for at, block in seen.new:
            if block.kind != "text" or seen.after[at].kind == "reminder":
                continue
            quoted = shown(block.text)
            places += [(f"message {seen.after[at].index} of the output", piece) for piece in quoted or [block.text]]
    for where, piece in places:
        for excerpt in excerpts(piece):
            if not _is_data(excerpt, originals) and not any(excerpt.is_true_of(text) for text in originals):
                claim = f"{excerpt.omitted_chars} of {excerpt.original_chars} characters"
                yield from broken("MARK-1", f"in {where} a marker says {claim}, and no text bears it out")


def _is_data(excerpt: Excerpt, originals: list[str]) -> bool:
    """Whether the marker stood in the input already, or cannot be compared because of what was escaped around it."""
    return any(excerpt.marker in text for text in originals) or not all(
        is_plain(text) for text in originals if len(text) == excerpt.original_chars
    )
