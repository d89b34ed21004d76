"""Sessions of agents, generated: healthy ones, and the ways in which they break."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

Line = dict[str, Any]


class _Claude:
    """Writes a Claude Code session line by line, in either recorded shape of parallel calls."""

    def __init__(self, *, is_forked: bool) -> None:
        self.is_forked = is_forked
        self.lines: list[Line] = []
        self.leaf: str | None = None

    def add(self, kind: str, parent: str | None, **more: Any) -> str:
        name = f"00000000-0000-4000-8000-{len(self.lines):012d}"
        facts = {"isSidechain": False, "cwd": "/w", "sessionId": "s", "version": "2.1.6"}
        self.lines.append(
            {"parentUuid": parent, **facts, "type": kind, **more, "uuid": name, "timestamp": "2026-01-01T00:00:00Z"}
        )
        self.leaf = name
        return name

    def prompt(self, text: str) -> None:
        self.add("user", self.leaf, message={"role": "user", "content": text})

    def note(self) -> None:
        self.add("system", self.leaf, subtype="turn_duration", durationMs=1.50)

    def reply(self, number: int, texts: list[str], calls: int) -> None:
        name = f"msg_{number}"
        blocks: list[Line] = [{"type": "text", "text": text} for text in texts]
        blocks += [{"type": "tool_use", "id": f"toolu_{number}_{at}", "name": "Bash", "input": {"n": at}} for at in range(calls)]
        callers = []
        for block in blocks:
            message = {"id": name, "type": "message", "role": "assistant", "model": "m", "content": [block], "stop_reason": None}
            holder = self.add("assistant", self.leaf, message=message, requestId=f"req_{number}")
            if block["type"] == "tool_use":
                callers.append(holder)
        for at, caller in enumerate(callers):
            content = [{"tool_use_id": f"toolu_{number}_{at}", "type": "tool_result", "content": f"out {number} {at}"}]
            parent = caller if self.is_forked else self.leaf
            result = {"message": {"role": "user", "content": content}, "toolUseResult": {"stdout": "é"}}
            self.add("user", parent, **result, sourceToolAssistantUUID=caller)


class _Pi:
    """Writes a pi session, with a tree or (version 1) without."""

    def __init__(self, *, is_tree: bool) -> None:
        self.is_tree = is_tree
        self.lines: list[Line] = [{"type": "session", **({"version": 3} if is_tree else {}), "id": "s", "cwd": "/w"}]
        self.leaf: str | None = None

    def add(self, kind: str, **more: Any) -> None:
        name = f"{len(self.lines):08x}"
        link = {"id": name, "parentId": self.leaf} if self.is_tree else {}
        self.lines.append({"type": kind, **link, "timestamp": "2026-01-01T00:00:00.000Z", **more})
        self.leaf = name

    def prompt(self, text: str) -> None:
        self.add("message", message={"role": "user", "content": [{"type": "text", "text": text}], "timestamp": 1})

    def note(self) -> None:
        self.add("thinking_level_change", thinkingLevel="off")

    def reply(self, number: int, texts: list[str], calls: int) -> None:
        content: list[Line] = [{"type": "text", "text": text} for text in texts]
        content += [
            {"type": "toolCall", "id": f"call|{number}|{at}", "name": "bash", "arguments": {"n": at}} for at in range(calls)
        ]
        self.add("message", message={"role": "assistant", "api": "openai-responses", "content": content, "timestamp": 2})
        for at in range(calls):
            said = [{"type": "text", "text": f"out {number} {at}"}]
            result = {"role": "toolResult", "toolCallId": f"call|{number}|{at}", "toolName": "bash", "content": said}
            self.add("message", message={**result, "isError": False, "timestamp": 3})


FORMATS = ("claude-code linear", "claude-code forked", "pi tree", "pi list")


@st.composite
def sessions(draw: st.DrawFn, *, words: tuple[str, ...] = ("Hello.",)) -> list[Line]:
    """The lines of a healthy session; with blank *words* one whose texts may be refused."""
    kind = draw(st.sampled_from(FORMATS))
    writer = _Claude(is_forked="forked" in kind) if "claude" in kind else _Pi(is_tree="tree" in kind)
    number = 0
    for turn in range(draw(st.integers(1, 3))):
        writer.prompt(f"prompt {turn}")
        for _step in range(draw(st.integers(1, 3))):
            number += 1
            texts = draw(st.lists(st.sampled_from(words), max_size=2, unique=True))
            calls = draw(st.integers(0 if texts else 1, 3))
            writer.reply(number, texts, calls)
            if draw(st.booleans()):
                writer.note()
    return writer.lines


def holds_result(line: Line) -> bool:
    """Whether a line is a result."""
    message = line.get("message", {})
    return message.get("role") == "toolResult" or '"tool_result"' in json.dumps(message)


def holds_call(line: Line) -> bool:
    """Whether a line has a call."""
    text = json.dumps(line.get("message", {}))
    return '"tool_use"' in text or '"toolCall"' in text


def written(lines: list[Line], *, ends: bool = True) -> bytes:
    """The file, with blanks in it that a rewriting would lose."""
    return "\n".join(json.dumps(line, ensure_ascii=False, separators=(", ", ":")) for line in lines).encode() + (
        b"\n" if ends else b""
    )


@st.composite
def broken_sessions(draw: st.DrawFn) -> bytes:
    """A session with results or calls lost, results written twice or late, blank texts, and the writer dead in the middle."""
    lines = draw(sessions(words=("Hello.", " ", "\n\n", "Well.")))
    for _damage in range(draw(st.integers(1, 3))):
        results = [at for at, line in enumerate(lines) if holds_result(line)]
        others = [at for at, line in enumerate(lines) if holds_call(line)]
        kind = draw(st.sampled_from(("drop", "drop", "twice", "late", "call", "cut")))
        if kind in ("drop", "twice", "late") and results:
            at = draw(st.sampled_from(results))
            line = lines[at]
            if kind == "drop":
                del lines[at]
            elif kind == "twice":
                names = [key for key in ("uuid", "id") if key in line]
                lines.insert(at + 1, {**line, **{key: f"{line[key]}x" for key in names}})
            elif "uuid" not in line and "id" not in line:
                lines.append(lines.pop(at))
        elif kind == "call" and others:
            del lines[draw(st.sampled_from(others))]
        elif kind == "cut" and len(lines) > 3:
            del lines[draw(st.integers(3, len(lines) - 1)) :]
    data = written(lines, ends=draw(st.booleans()))
    return data + draw(st.sampled_from((b"", b"", b'{"type":"user","uu')))
