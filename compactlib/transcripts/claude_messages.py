"""
Claude Code sessions: how lines become messages.

What this is
    `messages_of` writes the chosen lines as Anthropic messages, with the
    origin of each that is not plain from its role.

Rules it obeys
    * One reply is written as several lines, a block each.  A line joins the
      message with its ``message.id`` only if nothing but results stands
      between; else it stays where it is, as another message with the same id,
      because moving it would part a later call from its result.
    * A block that was written twice (same message, same block) counts once.
    * Results go directly behind the message of their call, all in one user
      message and in the order they came; what a tool or the harness put
      between them follows.
    * What the API never got back is left out: failed replies (``<synthetic>``),
      results whose call is gone.
    * What the request had in the place of an old result (cleared, stored
      elsewhere) stands in its place here too.
    * A message typed while the model worked is stored as a ``queued_command``
      attachment and nowhere else: these are a person's words like any other.

What is not here
    Which lines are chosen (`claude_code`), and whose words they hold
    (`claude_rows`).
"""

from __future__ import annotations

import json
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from typing import Final

from attrs import frozen

from ..model import Json, Origin
from .claude_rows import Row, origin_of
from .drafts import Draft, Slot
from .lines import Problem

__all__ = ["UNNAMED", "Seen", "messages_of"]

UNNAMED: Final = "unnamed_"
"""How the id of a call begins that has none in the file."""

_CLEARED: Final = "[Old tool result content cleared]"


@frozen
class Seen:
    """
    What the model sees of the rows.

    Attributes:
        order: positions of the rows, in order.
        floor: the position of the compaction that holds, or -1.
        cleared: call id -> position of the clearing that emptied its result.
        replaced: call id -> the text that stood in the place of its result.
        compactions: how many compactions the file records.
    """

    order: tuple[int, ...]
    floor: int
    cleared: Mapping[str, int]
    replaced: Mapping[str, str]
    compactions: int


def messages_of(rows: Sequence[Row], seen: Seen, problems: list[Problem]) -> Draft:
    """The chosen *rows* as messages."""
    writer = _Writer(rows, seen, problems)
    for at in seen.order:
        writer.write(at, rows[at])
    entries = [entry for slot in writer.slots for entry in slot.entries()]
    meta: dict[str, Json] = {
        "model": writer.model,
        "reported_tokens": writer.reported_tokens,
        "compactions": seen.compactions,
        "cleared_results": writer.cleared_results,
        "left_out": dict(writer.left_out),
    }
    return Draft("claude-code", "anthropic", entries, problems, meta=meta, body=_body(rows))


class _Writer:
    """Takes the rows in order and keeps the messages made so far."""

    def __init__(self, rows: Sequence[Row], seen: Seen, problems: list[Problem]) -> None:
        self.seen = seen
        self.problems = problems
        self.slots: list[Slot] = []
        self.model: str | None = None
        self.reported_tokens: int | None = None
        self.cleared_results = 0
        self.left_out: Counter[str] = Counter()
        self._written: set[tuple[str, str]] = set()
        self._open: dict[str, list[Slot]] = {}
        self._unnamed: deque[str] = deque()
        self._answers: dict[str, Json] = {}
        present = set(seen.order)
        self._gone = {call_id for at, row in enumerate(rows) if at not in present for call_id in row.call_ids}

    def write(self, at: int, row: Row) -> None:
        if row.kind == "assistant":
            self._reply(at, row)
        elif row.kind == "user":
            self._said(at, row)
        elif row.kind == "attachment":
            self._attached(row)
        else:
            self.left_out[row.kind] += 1

    # -- replies

    def _reply(self, at: int, row: Row) -> None:
        if row.is_synthetic:
            self.left_out["failed reply"] += 1
            return
        model, usage = row.message.get("model"), row.message.get("usage")
        self.model = model if isinstance(model, str) else self.model
        if isinstance(usage, dict) and at > self.seen.floor:  # counted before a compaction, it would ask for the next one
            self.reported_tokens = _reported(usage)
        fresh = [block for block in _content_blocks(row) if self._is_fresh(block, row)]
        if not fresh:
            return
        slot = self.slots[-1] if self.slots else Slot("user")
        is_same = slot.role == "assistant" and slot.name == row.message_id is not None
        if not is_same or (slot.results and fresh[0].get("type") != "tool_use"):  # A-ORDER-01: nothing but calls after a call
            slot = Slot("assistant", row.message_id)
            self.slots.append(slot)
        for block in fresh:
            if block.get("type") == "tool_use":
                block = self._named(block, row)
                self._open.setdefault(block["id"], []).append(slot)
            slot.add(block, row.line)

    def _is_fresh(self, block: dict[str, Json], row: Row) -> bool:
        if block.get("type") == "text" and block.get("text") == "":
            return False
        if row.message_id is None:
            return True
        call_id = block.get("id") if block.get("type") == "tool_use" else None
        mark = (row.message_id, call_id if isinstance(call_id, str) else _canonical(block))
        if mark in self._written:
            self.left_out["repeated block"] += 1
            return False
        self._written.add(mark)
        return True

    def _named(self, block: dict[str, Json], row: Row) -> dict[str, Json]:
        if isinstance(block.get("id"), str):
            return block
        made = f"{UNNAMED}{row.line}_{len(self._open)}"
        self._unnamed.append(made)
        self.problems.append(Problem(row.line, f"a call without an id; it is called {made}"))
        return {**block, "id": made}

    # -- what was said to the model

    def _said(self, at: int, row: Row) -> None:
        content = row.message.get("content")
        origin = origin_of(row)
        if isinstance(content, str):
            self._add_text(content, row.line, origin)
            return
        if not isinstance(content, list):
            self.problems.append(Problem(row.line, "nothing was said in it; left out"))
        others: list[dict[str, Json]] = []
        for block in _content_blocks(row):
            if block.get("type") == "tool_result":
                self._result(at, row, block)
            elif block.get("type") != "text" or block.get("text") != "":
                others.append(block)
        self._add_blocks(others, row.line, origin)

    def _add_text(self, text: str, line: int, origin: Origin) -> None:
        if text:
            self.slots.append(Slot("user", origin=origin, text=text, lines=[line]))

    def _add_blocks(self, blocks: list[dict[str, Json]], line: int, origin: Origin) -> None:
        if blocks:
            self.slots.append(Slot("user", origin=origin, blocks=blocks, lines=[line] * len(blocks)))

    def _result(self, at: int, row: Row, block: dict[str, Json]) -> None:
        call_id = block.get("tool_use_id")
        if not isinstance(call_id, str):
            call_id = self._unnamed.popleft() if self._unnamed else f"{UNNAMED}{row.line}"
            self.problems.append(Problem(row.line, f"a result without the id of its call; taken for {call_id}"))
            block = {**block, "tool_use_id": call_id}
        shown = self._as_shown(at, call_id, block)
        waiting = self._open.get(call_id)
        if waiting:
            waiting.pop().answer(shown, row.line)
            self._answers[call_id] = block.get("content")
        elif call_id in self._answers:
            if self._answers[call_id] != block.get("content"):
                self.problems.append(Problem(row.line, f"a second result for call {call_id!r}; the first one counts"))
            self.left_out["repeated result"] += 1
        elif call_id in self._gone:
            self.problems.append(Problem(row.line, f"the call {call_id!r} is no longer in the conversation; its result left out"))
        else:
            self._add_blocks([shown], row.line, Origin.TOOL)

    def _as_shown(self, at: int, call_id: str, block: dict[str, Json]) -> dict[str, Json]:
        if self.seen.cleared.get(call_id, -1) > at:
            self.cleared_results += 1
            return {**block, "content": _CLEARED}
        if call_id in self.seen.replaced:
            return {**block, "content": self.seen.replaced[call_id]}
        return block

    def _attached(self, row: Row) -> None:
        held = row.value.get("attachment")
        attachment = held if isinstance(held, dict) else {}
        kind = str(attachment.get("type"))
        prompt = attachment.get("prompt")
        if kind == "queued_command" and prompt and _is_typed(attachment):
            if isinstance(prompt, str):
                self._add_text(prompt, row.line, Origin.HUMAN)
            elif isinstance(prompt, list):
                self._add_blocks([block for block in prompt if isinstance(block, dict)], row.line, Origin.HUMAN)
        elif kind != "prompt_snapshot":
            shown = _rendered(row, attachment, kind)
            for text in shown:
                self._add_text(text, row.line, Origin.HARNESS)
            if not shown:
                self.left_out[f"attachment {kind}"] += 1


def _content_blocks(row: Row) -> tuple[dict[str, Json], ...]:
    content = row.message.get("content")
    if isinstance(content, str) and content:
        return ({"type": "text", "text": content},)
    return row.blocks


def _canonical(block: dict[str, Json]) -> str:
    return json.dumps(block, sort_keys=True)


def _reported(usage: dict[str, Json]) -> int | None:
    keys = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
    counts = [usage.get(key) for key in keys]
    total = sum(count for count in counts if isinstance(count, int) and not isinstance(count, bool))
    return total or None


def _body(rows: Sequence[Row]) -> dict[str, Json] | None:
    """The request around the messages, where the session recorded its system prompt and tools; the last record holds."""
    found: dict[str, Json] = {}
    for row in rows:
        attachment = row.value.get("attachment")
        if isinstance(attachment, dict) and attachment.get("type") == "prompt_snapshot":
            system, tools = attachment.get("systemPrompt"), attachment.get("tools")
            texts = [text for text in system if isinstance(text, str) and text] if isinstance(system, list) else []
            named = [tool for tool in tools if isinstance(tool, dict) and "name" in tool] if isinstance(tools, list) else []
            if texts:
                found["system"] = [{"type": "text", "text": text} for text in texts]
            if named:
                found["tools"] = named
    return {**found, "messages": []} if found else None


def _is_typed(attachment: dict[str, Json]) -> bool:
    origin = attachment.get("origin")
    if isinstance(origin, dict):
        return bool(origin.get("kind") == "human")
    return bool(attachment.get("commandMode", "prompt") == "prompt")


def _rendered(row: Row, attachment: dict[str, Json], kind: str) -> list[str]:
    """What the model was shown of an attachment: the record of it, else the words of a notification or the file itself."""
    record = row.value.get("rendered")
    if isinstance(record, list):
        texts = [item.get("content") for item in record if isinstance(item, dict)]
        return [text for text in texts if isinstance(text, str) and text]
    prompt = attachment.get("prompt")
    if kind == "queued_command" and isinstance(prompt, str):
        return [prompt]
    content = attachment.get("content")
    held = content.get("file") if isinstance(content, dict) else None
    text = held.get("content") if isinstance(held, dict) else None
    if kind == "file" and isinstance(text, str) and text:
        return [f"{attachment.get('filename')}:\n{text}"]
    return []
