"""
Checks of the laws about facts: L21, L22 and L23.

They look for facts of a few plain kinds, which anybody can find again by the
same patterns: hashes, paths of files.  A compactor may keep more than these.
What they need is in the record: what went in, what came out, and what the
output says of itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from .evidence import Evidence, evidence
from .findings import Finding, broken
from .heads import behind, earlier_digests, earlier_prompts, references
from .record import Record

__all__ = ["claims_flagged", "facts_survive", "is_list", "one_list_of_files"]

_HASH: Final = re.compile(r"(?<![\w/.=\\-])(?=[0-9]{0,39}[a-f])(?=[a-f]{0,39}[0-9])[0-9a-f]{12,40}(?![\w/.-])")
_NAMED: Final = re.compile(r"(?<!\S)[\w-]{1,40}=((?=[0-9]{0,39}[a-f])(?=[a-f]{0,39}[0-9])[0-9a-f]{12,40})(?!\S)")
"""A hash behind its name, as in ``checksum=9f3a61c07be2d845``, which is a word by itself."""
_PATH: Final = re.compile(r"(?<![\w/.~+@-])(?:[\w.+@-]{1,60}/){1,12}[\w+@-]{1,60}\.[a-z]{1,5}(?![\w/.-])")
_LEFT_OUT: Final = re.compile(r"\b[1-9][0-9]{0,8} (?:more\b|facts were left out)")
_FLAG: Final = re.compile(r"[\"'`)\]»”]{0,2} ?\[(?:unverified|contradicted|not verified)\b")
_LIST: Final = re.compile(r"\[compactlib changed files v1: [0-9]{1,9}\]\n")
_KEPT: Final = "## Kept verbatim"
_MORE: Final = re.compile(r"\[[0-9]{1,9} more\]")


def facts_survive(record: Record) -> Iterator[Finding]:
    """FACT-1: each hash of what was replaced is in the output, or output or outcome say that facts were left out."""
    if record.outcome != "compacted" or record.facts_left:
        return
    seen = evidence(record)
    output = "\n".join(block.raw for unit in seen.after for block in unit.blocks)
    output += "\n".join(behind(references(output), record.stored or {}))
    if _LEFT_OUT.search(seen.body):
        return
    old = seen.previous.body if seen.previous is not None else ""
    # what the summary before said in its own words the next may leave out; what it kept verbatim it may not
    carried = old.partition(f"\n{_KEPT}\n")[2]
    for unit in seen.before[: seen.cut]:
        for block in unit.blocks:
            text = block.text.replace(old, carried) if old else block.text
            for fact in _hashes(text) if block.kind in ("text", "result", "call") else ():
                if fact not in output:
                    yield from broken("FACT-1", f"{fact} of message {unit.index} is nowhere in the output")
                    return


def _hashes(text: str) -> Iterator[str]:
    for pattern in (_HASH, _NAMED):
        yield from (found[found.lastindex or 0] for found in pattern.finditer(text))


def claims_flagged(record: Record) -> Iterator[Finding]:
    """CLAIM-1: each hash and path that the summary names stood in the input, or has its flag directly behind it."""
    if record.outcome != "compacted":
        return
    seen = evidence(record)
    known = _said(record, seen)
    body = "\n".join(line for line in seen.body.split("\n") if not line.startswith("> "))  # quotations may be cut anywhere
    for pattern in (_HASH, _PATH):
        for found in pattern.finditer(body):
            if found[0] not in known and not _FLAG.match(body, found.end()):
                yield from broken("CLAIM-1", f"the summary names {found[0]!r}, which nothing bears out, without a flag")
                return


def _said(record: Record, seen: Evidence) -> str:
    """All that went in, but claims that the summary before had flagged itself."""
    old = seen.previous.body if seen.previous is not None else ""
    flagged = {found[0] for pattern in (_HASH, _PATH) for found in pattern.finditer(old) if _FLAG.match(old, found.end())}
    texts = [block.text for unit in seen.before for block in unit.blocks if unit.kind != "summary"]
    texts += [old, *record.reminders, *record.pinned_texts]
    quoted = [block.text for unit in seen.before if unit.kind == "summary" for block in unit.blocks]
    texts += [text for one in quoted for text in (*(earlier_prompts(one) or ()), *earlier_digests(one))]
    said = "\n".join(texts)
    for claim in flagged:
        if claim not in "\n".join(text for text in texts if text is not old):
            said = said.replace(claim, "")
    return said


def one_list_of_files(record: Record) -> Iterator[Finding]:
    """FILES-1: there is at most one list of changed files, it is no part of the summary, and each file stood in a call."""
    if record.outcome != "compacted":
        return
    seen = evidence(record)
    lists = [block.text for unit in seen.after for block in unit.blocks if block.kind == "text" and is_list(block.text)]
    if len(lists) > 1:
        yield from broken("FILES-1", f"the output has {len(lists)} lists of changed files")
    if _LIST.search(seen.body):
        yield from broken("FILES-1", "the list of changed files stands in the summary")
    known = "\n".join(block.text for unit in seen.before for block in unit.blocks)
    for text in lists:
        for line in text.split("\n")[1:]:
            if line not in known and not _MORE.fullmatch(line) and line.isprintable() and "\\" not in line:
                yield from broken("FILES-1", f"the list names {line[:80]!r}, which no call names")
                return


def is_list(text: str) -> bool:
    """Whether a text has the published form of the list of changed files."""
    return _LIST.match(text) is not None
