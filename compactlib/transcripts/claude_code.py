"""
Claude Code sessions: which lines the model still sees.

What this is
    The reader of ``~/.claude/projects/*/*.jsonl`` and of a sub-agent's
    ``agent-*.jsonl``.  This module finds the living lines; `claude_messages`
    turns them into Anthropic messages.

Rules it obeys
    * Lines are a tree (``parentUuid``), and lines that are no conversation
      (``system``, ``progress``, ``attachment``) are links of it, so they are
      walked through and dropped afterwards.
    * Ids are global: of two lines with one ``uuid`` the first counts.
    * A sub-agent's lines inside a session are another conversation and are
      left out; a file of nothing else is that conversation.
    * A compaction replaces what stands before it by its summary, except the
      messages it names as preserved.  Only the last one on the living branch
      counts, older summaries are gone, and a boundary without a summary
      replaces nothing.
    * Parallel calls: results hang from their own fragment of the reply, so the
      way from leaf to root passes by some of them.  Results of calls on the
      branch, and fragments of replies on it, are fetched afterwards.

How it works
    Rows (lines in the tree) -> the path from the last row to the nearest
    boundary -> plus preserved, fragments, results -> in file order, which is
    the order of writing, unless a line stands before its own parent.

What is not here
    ``toolUseResult``, half of the file: it is for the screen, never for the
    model.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from attrs import evolve, frozen

from ..model import Json
from .branches import ROOT, UNLINKED, Node, leaf_of, tree_order, untangled, walk
from .claude_messages import Seen, messages_of
from .claude_rows import Row
from .drafts import Draft
from .lines import Line, Problem

__all__ = ["read_claude_code"]

_LINKED: Final = frozenset({"user", "assistant", "attachment", "system", "progress"})
_SAID: Final = frozenset({"user", "assistant", "attachment"})


@frozen
class _Boundary:
    """
    A compaction that took effect.

    Attributes:
        at: its position among the rows.
        summary: the position of the summary, or ``None`` where the preserved messages are all there is.
        preserved: positions before it that stay.
        tail: with a preserved *segment*, the position of its last row; else ``ROOT``.
        head_uuid: and the id of its first.
    """

    at: int
    summary: int | None
    preserved: frozenset[int] = frozenset()
    tail: int = ROOT
    head_uuid: str = ""


def read_claude_code(lines: Sequence[Line]) -> Draft:
    """The conversation as it would be sent next, and what could not be read."""
    problems: list[Problem] = []
    left_out: Counter[str] = Counter()
    rows = _rows(lines, left_out, problems)
    seen = _seen(rows, lines, problems, left_out)
    draft = messages_of(rows, seen, problems)
    draft.meta = {**_facts(rows), **draft.meta, "left_out": dict(left_out + Counter(draft.meta["left_out"]))}
    draft.title = _title(lines, rows)
    return draft


def _rows(lines: Iterable[Line], left_out: Counter[str], problems: list[Problem]) -> list[Row]:
    rows: list[Row] = []
    known: dict[str, dict[str, Json]] = {}
    for line in lines:
        value: dict[str, Json] = line.value
        kind, uuid = str(value.get("type")), value.get("uuid")
        if not isinstance(uuid, str):
            if kind not in ("user", "assistant"):
                left_out[kind] += 1
                continue
            uuid = f"line {line.number}"
        elif kind not in _LINKED and "parentUuid" not in value:
            left_out[kind] += 1
            continue
        if uuid in known:
            left_out["repeated uuid"] += 1
            if known[uuid].get("message") != value.get("message"):
                problems.append(Problem(line.number, "an earlier line with its uuid says something else; left out"))
            continue
        known[uuid] = value
        rows.append(Row(line.number, kind, uuid, value))
    main = [row for row in rows if row.value.get("isSidechain") is not True]
    if not any(row.kind in _SAID for row in main) or _are_one_agents(rows):
        return rows
    if len(main) < len(rows):
        left_out["sidechain"] += len(rows) - len(main)
    return main


def _are_one_agents(rows: Sequence[Row]) -> bool:
    """Whether each line names the same agent, as in a sub-agent's file."""
    name = rows[0].value.get("agentId")
    return isinstance(name, str) and all(row.value.get("agentId") == name for row in rows)


def _seen(rows: Sequence[Row], lines: Sequence[Line], problems: list[Problem], left_out: Counter[str]) -> Seen:
    """Which rows the model sees, in order, and what it sees in the place of some results."""
    places = {row.uuid: place for place, row in enumerate(rows)}
    boundaries = _boundaries(rows, places, problems)
    nodes = untangled([_node(place, row, places, boundaries) for place, row in enumerate(rows)])
    last = next((at for at in range(len(rows) - 1, -1, -1) if rows[at].kind in _SAID or at in boundaries), ROOT)
    leaf = leaf_of(nodes, last, problems)

    keepers: dict[int, list[_Boundary]] = {}
    for boundary in boundaries.values():
        for place in (*boundary.preserved, boundary.tail):
            keepers.setdefault(place, []).append(boundary)
    live: _Boundary | None = None

    def stops(at: int, came: int) -> bool:
        nonlocal live
        live = boundaries.get(at) or next((it for it in reversed(keepers.get(at, ())) if at < it.at < came), None)
        return live is not None

    path = walk(nodes, leaf, problems, stops=stops)
    chosen = set(path)
    floor = lowest = ROOT
    if live is not None:
        floor = live.at
        preserved = live.preserved or _segment(live, rows, nodes, problems)
        lowest = min(preserved, default=floor)
        chosen |= preserved
        chosen -= {at for at in chosen if rows[at].is_summary}  # older ones are gone, and this one goes first
    removed = {places.get(uuid, ROOT) for at in path for uuid in rows[at].strings("snipMetadata", "removedUuids")}
    chosen |= _recovered(rows, chosen, nodes, lowest, problems)
    left_out["another branch"] = sum(rows[at].kind != "system" for at in range(lowest + 1, len(rows)) if at not in chosen)
    order = tree_order(nodes, chosen - removed, problems)
    if live is not None and live.summary is not None:
        order.insert(0, live.summary)

    cleared: dict[str, int] = {}
    for at in path:
        for call_id in rows[at].strings("microcompactMetadata", "compactedToolIds"):
            cleared[call_id] = at
    return Seen(tuple(order), floor, cleared, _replacements(lines), len(boundaries))


def _node(place: int, row: Row, places: dict[str, int], boundaries: dict[int, _Boundary]) -> Node:
    parent = row.value.get("parentUuid")
    if row.is_boundary and place not in boundaries:
        parent = parent or row.value.get("logicalParentUuid")  # no compaction after all: history goes on before it
        if not isinstance(parent, str) or parent not in places:
            return Node(row.line, UNLINKED)
    if not isinstance(parent, str):
        # only something said to the model starts a conversation; a reply or a result without parent lost its link
        starts = "parentUuid" in row.value and row.kind != "assistant" and not row.answers_something
        return Node(row.line, ROOT if starts else UNLINKED)
    above = places.get(parent)
    if above is None:
        return Node(row.line, UNLINKED, missing=parent)
    return Node(row.line, UNLINKED if above == place else above)


def _boundaries(rows: Sequence[Row], places: dict[str, int], problems: list[Problem]) -> dict[int, _Boundary]:
    """The compactions that took effect, by position."""
    found: dict[int, _Boundary] = {}
    open_at = ROOT
    for at, row in enumerate(rows):
        if row.is_boundary:
            open_at = at
            found[at] = _boundary(at, row, places, problems)
        elif row.is_summary:
            if open_at >= 0 and found[open_at].summary is None:
                found[open_at] = evolve(found[open_at], summary=at)
            else:
                found[at] = _Boundary(at, at)
                problems.append(
                    Problem(row.line, "a summary whose compaction is not in the file; what that preserved is not known")
                )
    for at in [at for at, it in found.items() if it.summary is None and not it.preserved and it.tail < 0]:
        del found[at]
        problems.append(Problem(rows[at].line, "a compaction without a summary; the history before it stays"))
    return found


def _boundary(at: int, row: Row, places: dict[str, int], problems: list[Problem]) -> _Boundary:
    meta = row.value.get("compactMetadata")
    if not isinstance(meta, dict):
        problems.append(Problem(row.line, "a compaction without its record; what it preserved is not known"))
        meta = {}
    kept = meta.get("preservedMessages")
    if isinstance(kept, dict):
        uuids = kept.get("uuids") or kept.get("allUuids")
        named = {places.get(uuid, at) for uuid in uuids if isinstance(uuid, str)} if isinstance(uuids, list) else set()
        return _Boundary(at, None, frozenset(place for place in named if place < at))
    segment = meta.get("preservedSegment")
    if isinstance(segment, dict):
        tail, head = places.get(str(segment.get("tailUuid")), ROOT), segment.get("headUuid")
        if tail < at and isinstance(head, str):
            return _Boundary(at, None, tail=tail, head_uuid=head)
    return _Boundary(at, None)


def _segment(boundary: _Boundary, rows: Sequence[Row], nodes: Sequence[Node], problems: list[Problem]) -> set[int]:
    """The rows of a preserved segment, from its head to its tail."""
    if boundary.tail < 0:
        return set()

    def is_past_head(_at: int, came: int) -> bool:
        return came >= 0 and rows[came].uuid == boundary.head_uuid

    path = walk(nodes, boundary.tail, [], stops=is_past_head)
    if path and rows[path[0]].uuid == boundary.head_uuid:
        return set(path)
    problems.append(Problem(rows[boundary.at].line, "the messages this compaction preserved are not in the file"))
    return set()


def _recovered(rows: Sequence[Row], chosen: set[int], nodes: Sequence[Node], lowest: int, problems: list[Problem]) -> set[int]:
    """What belongs to the chosen rows and does not lie on their path: fragments, results, and what hangs from results."""
    ids = {rows[at].message_id for at in chosen} - {None}
    off_path = [at for at in range(lowest + 1, len(rows)) if at not in chosen]
    found = {at for at in off_path if rows[at].message_id in ids}
    asked: dict[str, int] = {}
    answered: set[str] = set()
    for at in sorted(chosen | found):
        for call_id in rows[at].call_ids:
            asked.setdefault(call_id, at)
        answered.update(rows[at].answered_ids)
    for at in off_path:
        row = rows[at]
        if any(
            (asked.get(call_id, at) < at or asked.get(call_id) == nodes[at].parent) and call_id not in answered
            for call_id in row.answered_ids
        ):
            answered.update(row.answered_ids)
            found.add(at)
        elif nodes[at].parent in found and row.hangs_on:
            found.add(at)
        elif nodes[at].parent in chosen and row.answered_ids and not any(call_id in asked for call_id in row.answered_ids):
            problems.append(Problem(row.line, "a result beside the branch, and its call is not on it; left out"))
    return found


def _replacements(lines: Iterable[Line]) -> dict[str, str]:
    """What the model saw in the place of results that were stored elsewhere, by call id."""
    found: dict[str, str] = {}
    for line in lines:
        entries = line.value.get("replacements") if line.value.get("type") == "content-replacement" else None
        for entry in entries if isinstance(entries, list) else ():
            if isinstance(entry, dict) and isinstance(entry.get("toolUseId"), str) and isinstance(entry.get("replacement"), str):
                found[entry["toolUseId"]] = entry["replacement"]
    return found


def _facts(rows: Sequence[Row]) -> dict[str, Json]:
    facts: dict[str, Json] = {}
    for name, key in (("session", "sessionId"), ("cwd", "cwd")):
        told = (row.value[key] for row in reversed(rows) if isinstance(row.value.get(key), str))
        facts[name] = next(told, None)
    return facts


def _title(lines: Iterable[Line], rows: Sequence[Row]) -> str | None:
    """The name a person gave, else the machine's; a ``summary`` line names the leaf it points to, perhaps of another file."""
    uuids = {row.uuid for row in rows}
    titles: dict[str, Json] = {}
    for line in lines:
        value = line.value
        kind = value.get("type")
        if kind == "custom-title":
            titles["a"] = value.get("customTitle")
        elif kind == "ai-title":
            titles["b"] = value.get("aiTitle")
        elif kind == "summary" and str(value.get("leafUuid")) in uuids:
            titles["c"] = value.get("summary")
    return next((text for _, text in sorted(titles.items()) if isinstance(text, str) and text), None)
