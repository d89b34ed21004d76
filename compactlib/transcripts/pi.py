"""
pi sessions, as Anthropic messages.

What this is
    The reader of ``~/.pi/agent/sessions/*/*.jsonl``, of all three versions of
    the format and of the agents that took it over.

Rules it obeys
    * The context is the way from the last entry to the root.  Version 1 has no
      ids and is one line of entries.
    * An entry that is written a second time, the same in all, is one entry.
    * Only the last compaction on that way counts: its summary, then the entries
      from the first kept one up to it, then what follows.  An older compaction
      among the kept entries is no message; one without a summary compacted
      nothing.
    * A run of results is one user message, as the request has it.
    * Aborted and failed replies stay as they are stored, calls without results
      and empty content included: the file is a record, and `compactlib.check`
      and `compactlib.repair` say and mend what a provider would refuse.
    * Reasoning of another provider, or without a signature, has no seal an
      Anthropic request could carry: what can be read of it is text.
    * A command run by the person (``!``), extension messages and summaries are
      the harness's words.

What is not here
    ``details``, ``partialJson``, usage by entry: they never reach the model.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

from attrs import frozen

from ..model import Json, Origin
from .branches import ROOT, UNLINKED, Node, leaf_of, tell_disorder, untangled, walk
from .drafts import Draft, Slot
from .lines import Line, Problem

__all__ = ["call_id", "read_pi", "reply_block", "result_block", "user_parts"]

_NOT_IN_AN_ID: Final = re.compile(r"[^a-zA-Z0-9_-]")
_ID_CHARS: Final = 64
_STRAY: Final = "results of no known call"
_CUT_SHORT: Final = frozenset({"aborted", "error"})


@frozen
class _Entry:
    """One line after the header."""

    line: int
    kind: str
    value: dict[str, Json]

    @property
    def message(self) -> dict[str, Json]:
        message = self.value.get("message")
        return message if isinstance(message, dict) else {}

    @property
    def role(self) -> str:
        """The role of its message, whatever the kind of line that holds it."""
        if self.kind == "message":
            return str(self.message.get("role"))
        return {"custom_message": "custom", "branch_summary": "branchSummary"}.get(self.kind, "")


@frozen
class _Context:
    """
    What the model sees.

    Attributes:
        entries: the compaction that holds, if there is one, then the rest in order.
        fresh: the position of the first entry after that compaction.
        compactions: how many there were on the way.
    """

    entries: tuple[_Entry, ...]
    fresh: int
    compactions: int


def read_pi(lines: Sequence[Line]) -> Draft:
    """The conversation as it would be sent next, and what could not be read."""
    problems: list[Problem] = []
    header: dict[str, Json] = {}
    entries: list[_Entry] = []
    known: dict[str, Json] = {}
    copies = 0
    for line in lines:
        name = line.value.get("id")
        if line.value.get("type") == "session":
            header = header or line.value
        elif isinstance(name, str) and known.setdefault(name, line.value) is not line.value and known[name] == line.value:
            copies += 1
        else:
            entries.append(_Entry(line.number, str(line.value.get("type")), line.value))
    nodes = untangled(_nodes(entries))
    way = walk(nodes, leaf_of(nodes, len(nodes) - 1, problems), problems)
    tell_disorder(nodes, way, problems)
    path = [entries[at] for at in way]
    context = _context(path, problems, 1 if header else 0)
    writer = _Writer(problems, context)
    for at, entry in enumerate(context.entries):
        writer.write(at, entry)
    meta: dict[str, Json] = {
        "session": header.get("id"),
        "cwd": header.get("cwd"),
        "model": writer.model,
        "reported_tokens": writer.reported_tokens,
        "compactions": context.compactions,
        "cleared_results": 0,
        "left_out": dict(writer.left_out + Counter({"repeated entry": copies, "another branch": len(entries) - len(path)})),
    }
    names = [entry.value.get("name") for entry in path if entry.kind == "session_info"]
    title = next((name for name in reversed(names) if isinstance(name, str) and name), None)
    made = [made for slot in writer.slots for made in slot.entries()]
    return Draft("pi", "anthropic", made, problems, title, meta)


def _nodes(entries: Sequence[_Entry]) -> list[Node]:
    places: dict[str, int] = {}
    for at, entry in enumerate(entries):
        name = entry.value.get("id")
        if isinstance(name, str):
            places.setdefault(name, at)
    nodes = []
    for at, entry in enumerate(entries):
        parent = entry.value.get("parentId", UNLINKED)
        if isinstance(parent, str):
            above = places.get(parent)
            missing = parent if above is None else None
            nodes.append(Node(entry.line, UNLINKED if above is None or above == at else above, missing))
        else:
            nodes.append(Node(entry.line, ROOT if parent is None else UNLINKED))
    return nodes


def _context(path: Sequence[_Entry], problems: list[Problem], header_lines: int) -> _Context:
    found = []
    for at, entry in enumerate(path):
        if entry.kind == "compaction":
            summary = entry.value.get("summary")
            if isinstance(summary, str) and summary.strip():
                found.append(at)
            else:
                problems.append(Problem(entry.line, "a compaction without a summary; the history before it stays"))
    if not found:
        return _Context(tuple(path), 0, 0)
    last = found[-1]
    compaction = path[last].value
    first = last
    name, index = compaction.get("firstKeptEntryId"), compaction.get("firstKeptEntryIndex")
    if isinstance(name, str):
        first = next((at for at in range(last) if path[at].value.get("id") == name), last)
    elif isinstance(index, int) and index > 0:  # version 1 counts lines, the header being number 0
        first = next((at for at in range(last) if path[at].line >= index + header_lines), last)
    if first == last and index is None:
        problems.append(Problem(path[last].line, "the entry from which on this compaction kept others is not before it"))
    return _Context((path[last], *path[first:last], *path[last + 1 :]), 1 + last - first, len(found))


class _Writer:
    """Takes the entries in order and keeps the messages made so far."""

    def __init__(self, problems: list[Problem], context: _Context) -> None:
        self.problems = problems
        self.context = context
        self.slots: list[Slot] = []
        self.model: str | None = None
        self.reported_tokens: int | None = None
        self.left_out: Counter[str] = Counter()
        self._reply = Slot("assistant")
        self._awaited: set[str] = set()  # the ids of its calls

    def write(self, at: int, entry: _Entry) -> None:
        role = entry.role
        holder = entry.message if entry.kind == "message" else entry.value
        if role == "toolResult":
            self._result(entry)
        elif entry.kind == "compaction" and (at > 0 or not self.context.compactions):
            self.left_out["older compaction"] += 1
        elif entry.kind == "compaction" or role in ("branchSummary", "compactionSummary"):
            summary = holder.get("summary")
            self._user(entry, f"<summary>\n{summary}\n</summary>" if isinstance(summary, str) else None, Origin.SUMMARY)
        elif role == "user":
            self._user(entry, holder.get("content"), Origin.HUMAN)
        elif role == "assistant":
            self._replied(entry, is_fresh=at >= self.context.fresh)
        elif role in ("custom", "hookMessage"):
            self._user(entry, holder.get("content"), Origin.HARNESS)
        elif role == "bashExecution" and not holder.get("excludeFromContext"):
            self._user(entry, _command_text(holder), Origin.HARNESS)
        else:
            self.left_out[entry.kind if entry.kind != "message" else f"message {role}"] += 1

    def _user(self, entry: _Entry, content: Json, origin: Origin) -> None:
        if isinstance(content, str) and content:
            self.slots.append(Slot("user", origin=origin, text=content, lines=[entry.line]))
        elif isinstance(content, list) and (blocks := user_parts(content)):
            self.slots.append(Slot("user", origin=origin, blocks=blocks, lines=[entry.line] * len(blocks)))

    def _replied(self, entry: _Entry, *, is_fresh: bool) -> None:
        message = entry.message
        api, model = str(message.get("api", "anthropic")), message.get("model")
        self.model = model if isinstance(model, str) else self.model
        if is_fresh and message.get("stopReason") not in _CUT_SHORT:
            self.reported_tokens = _reported(message.get("usage")) or self.reported_tokens
        self._reply, self._awaited = Slot("assistant"), set()
        content = message.get("content")
        for block in content if isinstance(content, list) else ():
            made = reply_block(block, api) if isinstance(block, dict) else None
            if made is not None:
                self._reply.add(made, entry.line)
                if made.get("type") == "tool_use" and isinstance(made["id"], str):
                    self._awaited.add(made["id"])
        if not self._reply.blocks:
            self._reply.lines.append(entry.line)
        self.slots.append(self._reply)

    def _result(self, entry: _Entry) -> None:
        block = result_block(entry.message)
        name = block["tool_use_id"]
        if isinstance(name, str) and name in self._awaited:
            self._reply.answer(block, entry.line)
        else:
            if not self.slots or self.slots[-1].name != _STRAY:
                self.slots.append(Slot("user", _STRAY))
            self.slots[-1].add(block, entry.line)


def reply_block(block: dict[str, Json], api: str) -> dict[str, Json] | None:
    """One block of a reply as Anthropic has it; ``None`` where there is nothing to send."""
    kind = block.get("type")
    if kind == "toolCall":
        return {"type": "tool_use", "id": call_id(block.get("id")), "name": block.get("name"), "input": block.get("arguments")}
    if kind == "thinking":
        text, seal = block.get("thinking"), block.get("thinkingSignature")
        if "anthropic" in api and isinstance(seal, str) and seal:
            if block.get("redacted") is True:
                return {"type": "redacted_thinking", "data": seal}
            return {"type": "thinking", "thinking": text, "signature": seal}
        return {"type": "text", "text": text} if isinstance(text, str) and text.strip() else None
    if kind == "text":
        return {"type": "text", "text": block.get("text")} if block.get("text") != "" else None
    return block


def result_block(message: dict[str, Json]) -> dict[str, Json]:
    """A message that is a result, as Anthropic has it."""
    block = {"type": "tool_result", "tool_use_id": call_id(message.get("toolCallId")), "content": _answer(message)}
    if message.get("isError") is True:
        block["is_error"] = True
    return block


def call_id(name: Json) -> Json:
    """An id that Anthropic's pattern accepts; other providers write longer ones, with other characters."""
    if not isinstance(name, str) or (len(name) <= _ID_CHARS and not _NOT_IN_AN_ID.search(name)):
        return name
    return _NOT_IN_AN_ID.sub("_", name)[:_ID_CHARS]


def user_parts(content: list[Json]) -> list[dict[str, Json]]:
    """Text and pictures as Anthropic blocks."""
    made: list[dict[str, Json]] = []
    for part in content:
        if not isinstance(part, dict):
            continue
        if part.get("type") == "image":
            source = {"type": "base64", "media_type": part.get("mimeType"), "data": part.get("data")}
            made.append({"type": "image", "source": source})
        elif part.get("type") != "text":
            made.append(part)
        elif part.get("text") != "":
            made.append({"type": "text", "text": part.get("text")})
    return made


def _answer(message: dict[str, Json]) -> Json:
    """A result's content: one string if it is words, blocks if there is a picture among them."""
    content = message.get("content")
    if not isinstance(content, list):
        return content
    texts = [part.get("text") for part in content if isinstance(part, dict) and part.get("type") == "text"]
    words = [text for text in texts if isinstance(text, str)]
    return "\n".join(words) if len(words) == len(content) else user_parts(content)


def _command_text(message: dict[str, Json]) -> str:
    """A command the person ran and its output, in words."""
    output, code = message.get("output"), message.get("exitCode")
    text = f"Ran `{message.get('command')}`\n" + (f"```\n{output}\n```" if output else "(no output)")
    if message.get("cancelled") is True:
        return text + "\n\n(cancelled)"
    return text + (f"\n\nexit code {code}" if isinstance(code, int) and code else "")


def _reported(usage: Json) -> int | None:
    if not isinstance(usage, dict):
        return None
    counts = [usage.get(key) for key in ("input", "cacheRead", "cacheWrite", "output")]
    return sum(count for count in counts if isinstance(count, int) and not isinstance(count, bool)) or None
