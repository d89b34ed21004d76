"""
The desk at which the example session is written: an invented working tree, tools over it, and the log they leave.

`Desk` writes lines as Claude Code does: a block of a reply a line, results hanging from their own
call, ``toolUseResult`` beside them, and lines that are no conversation between them.  Everything is a
function of the story: no clock, no random number, no file is read.
"""

from __future__ import annotations

import base64
import difflib
import hashlib
import json
import struct
import zlib
from typing import Any, Final

from project import FILES

SESSION: Final = "5b0c3c9e-2f7e-4d0a-9d6b-6e1f0a7c4242"
ROOT: Final = "/home/vera/src/perevoz"
MODEL: Final = "claude-sonnet-4-5-20250929"


class Dice:
    """Numbers that look random and are the same on every machine (a linear congruential generator)."""

    def __init__(self, seed: int) -> None:
        self._state = seed

    def below(self, limit: int) -> int:
        self._state = (self._state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self._state >> 33) % limit

    def between(self, low: int, high: int) -> int:
        return low + self.below(high - low + 1)

    def one_of(self, items: Any) -> Any:
        return items[self.below(len(items))]

    def hexadecimal(self, digits: int) -> str:
        return "".join("0123456789abcdef"[self.below(16)] for _ in range(digits))


def picture(bars: list[int], color: tuple[int, int, int]) -> str:
    """A small bar chart as a PNG in base64; stored, not compressed, so that no library version changes a byte."""
    width, height = len(bars) * 3, max(bars) + 2
    rows = []
    for y in range(height):
        row = bytearray(b"\0")
        for x in range(width):
            inside = x % 3 < 2 and height - y <= bars[x // 3]
            row += bytes(color if inside else (250, 250, 248))
        rows.append(bytes(row))
    raw = b"".join(rows)
    stored = b"\x78\x01\x01" + struct.pack("<HH", len(raw), len(raw) ^ 0xFFFF) + raw + struct.pack(">I", zlib.adler32(raw))

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    png = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", stored) + chunk(b"IEND", b"")
    return base64.b64encode(png).decode()


def image(data: str) -> dict[str, Any]:
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}


def numbered(text: str, start: int = 1) -> str:
    return "\n".join(f"{number:6}→{line}" for number, line in enumerate(text.splitlines(), start))


class Call:
    """A tool call of the story with the result it gets."""

    def __init__(self, name: str, arguments: dict[str, Any], result: Any, *, failed: bool = False, screen: Any = None) -> None:
        self.name = name
        self.arguments = arguments
        self.result = result
        self.failed = failed
        self.screen = screen


class Desk:
    def __init__(self) -> None:
        self.files = dict(FILES)
        self.committed = dict(FILES)
        self.lines: list[dict[str, Any]] = []
        self._parent: str | None = None
        self._count = 0
        self._seconds = 0
        self._chars = 12_000  # of the request so far, the overhead included

    # -- the log

    def _id(self, kind: str) -> str:
        self._count += 1
        return hashlib.sha256(f"{kind} {self._count}".encode()).hexdigest()

    def _time(self, step: int) -> str:
        self._seconds += step
        hours, rest = divmod(7 * 3600 + 42 * 60 + self._seconds, 3600)
        return f"2026-02-17T{hours:02}:{rest // 60:02}:{rest % 60:02}.{self._count * 37 % 1000:03}Z"

    def _write(self, kind: str, seconds: int, *, parent: str | None, **more: Any) -> str:
        digest = self._id("line")
        uuid = f"{digest[:8]}-{digest[8:12]}-4{digest[13:16]}-a{digest[17:20]}-{digest[20:32]}"
        self.lines.append({
            "parentUuid": parent, "isSidechain": False, "type": kind, **more, "uuid": uuid, "timestamp": self._time(seconds),
            "userType": "external", "entrypoint": "cli", "cwd": ROOT, "sessionId": SESSION, "version": "2.1.212",
            "gitBranch": "schema-42",
        })  # fmt: skip
        return uuid

    def aside(self, **line: Any) -> None:
        """A line outside the tree."""
        self.lines.append({**line, "sessionId": SESSION})

    def note(self, kind: str, **more: Any) -> None:
        """A line in the tree that is no conversation."""
        self._parent = self._write(kind, 1, parent=self._parent, **more)

    def prompt(self, content: Any, *, meta: bool = False) -> None:
        """What somebody typed (or, with *meta*, what the client adds to it)."""
        self._chars += len(json.dumps(content, ensure_ascii=False)) if isinstance(content, str) else 800
        more = {"isMeta": True} if meta else {"promptId": self._id("prompt")[:32]}
        message = {"role": "user", "content": content}
        self._parent = self._write("user", 2 if meta else 180, parent=self._parent, message=message, **more)

    def queued(self, text: str) -> None:
        """Typed while the model worked."""
        self.aside(type="queue-operation", operation="enqueue", content=text)
        held = {"type": "queued_command", "prompt": text, "commandMode": "prompt", "origin": {"kind": "human"}}
        self.note("attachment", attachment=held)

    def failed_request(self) -> None:
        self.note("system", subtype="api_error", level="error", retryAttempt=1, retryInMs=544)
        content = [{"type": "text", "text": "API Error: 529 overloaded, retrying"}]
        message = {"id": self._id("message")[:24], "role": "assistant", "model": "<synthetic>", "content": content}
        self.note("assistant", isApiErrorMessage=True, message=message)

    def reply(self, *parts: Any, thinking: str | None = None) -> None:
        """One reply of the model: perhaps thinking, texts, calls; then the results, each hanging from its call."""
        name, request = f"msg_01{self._id('message')[:20]}", f"req_011{self._id('request')[:18]}"
        written = 0
        calls: list[tuple[str, str, Call]] = []

        def fragment(block: dict[str, Any]) -> str:
            nonlocal written
            written += len(json.dumps(block, ensure_ascii=False))
            fresh = min(self._chars // 8, 9_000)
            usage = {
                "input_tokens": 5,
                "cache_creation_input_tokens": fresh,
                "cache_read_input_tokens": self._chars * 10 // 27 - fresh,
                "output_tokens": written * 10 // 36,
                "service_tier": "standard",
            }
            message = {
                "model": MODEL, "id": name, "type": "message", "role": "assistant", "content": [block],
                "stop_reason": None, "stop_sequence": None, "usage": usage,
            }  # fmt: skip
            self._parent = self._write("assistant", 3, parent=self._parent, message=message, requestId=request)
            return self._parent

        if thinking is not None:
            seal = base64.b64encode(hashlib.sha512(thinking.encode()).digest() * 3).decode()
            fragment({"type": "thinking", "thinking": thinking, "signature": f"Er0{seal}"})
        for part in parts:
            if isinstance(part, str):
                fragment({"type": "text", "text": part})
            else:
                call_id = f"toolu_01{self._id('call')[:22]}"
                block = {"type": "tool_use", "id": call_id, "name": part.name, "input": part.arguments}
                calls.append((fragment(block), call_id, part))
        self._chars += written
        for parent, call_id, part in calls:
            result: dict[str, Any] = {"tool_use_id": call_id, "type": "tool_result", "content": part.result}
            if part.failed:
                result["is_error"] = True
            more: dict[str, Any] = {} if part.screen is None else {"toolUseResult": part.screen}
            if part.name == "Bash" and len(calls) == 1:
                self.note("progress", data={"type": "bash_progress", "elapsedTimeSeconds": 2}, toolUseID=call_id)
                parent = self._parent or parent
            self._parent = self._write(
                "user", 4, parent=parent, message={"role": "user", "content": [result]}, sourceToolAssistantUUID=parent, **more
            )
            self._chars += len(json.dumps(part.result, ensure_ascii=False)) if isinstance(part.result, str) else 600

    # -- the tools

    def read(self, path: str, *, start: int = 1, lines: int | None = None) -> Call:
        text = "\n".join(self.files[path].splitlines()[start - 1 : None if lines is None else start - 1 + lines])
        more: dict[str, Any] = {} if lines is None else {"offset": start, "limit": lines}
        screen = {"type": "text", "file": {"filePath": f"{ROOT}/{path}", "content": text, "numLines": text.count("\n") + 1}}
        return Call("Read", {"file_path": f"{ROOT}/{path}", **more}, numbered(text, start), screen=screen)

    def write(self, path: str, text: str) -> Call:
        verb = "updated" if path in self.files else "created"
        self.files[path] = text
        arguments = {"file_path": f"{ROOT}/{path}", "content": text}
        return Call("Write", arguments, f"File {verb}: {ROOT}/{path}", screen={"type": verb})

    def edit(self, path: str, old: str, new: str) -> Call:
        before = self.files[path]
        if before.count(old) != 1:
            raise ValueError(f"{path}: {old!r} occurs {before.count(old)} times")
        after = before.replace(old, new)
        self.files[path] = after
        at = before[: before.index(old)].count("\n")
        shown = after.splitlines()[max(at - 3, 0) : at + new.count("\n") + 5]
        result = f"{path} was edited. The lines around the change:\n{numbered(chr(10).join(shown), max(at - 3, 0) + 1)}"
        arguments = {"file_path": f"{ROOT}/{path}", "old_string": old, "new_string": new}
        return Call("Edit", arguments, result, screen={"filePath": f"{ROOT}/{path}", "originalFile": None, "structuredPatch": []})

    def grep(self, pattern: str, *words: str) -> Call:
        """A search; *words* are what to look for in the tree."""
        found = [
            f"{path}:{number}:{line}"
            for path in sorted(self.files)
            for number, line in enumerate(self.files[path].splitlines(), 1)
            if any(word in line for word in words)
        ]
        result = "\n".join(found) or "No matches found"
        return Call("Grep", {"pattern": pattern, "output_mode": "content", "-n": True}, result, screen={"numMatches": len(found)})

    def bash(self, command: str, output: str, *, why: str, failed: bool = False) -> Call:
        screen: Any = f"Error: {output[:200]}" if failed else {"stdout": output[:400], "stderr": "", "interrupted": False}
        return Call("Bash", {"command": command, "description": why}, output, failed=failed, screen=screen)

    def diff(self) -> str:
        """What ``git diff`` says since the last commit."""
        parts = []
        for path in sorted(self.files.keys() | self.committed.keys()):
            before, after = self.committed.get(path, ""), self.files.get(path, "")
            if before != after:
                lines = difflib.unified_diff(before.splitlines(), after.splitlines(), f"a/{path}", f"b/{path}", lineterm="")
                parts.append(f"diff --git a/{path} b/{path}\n" + "\n".join(lines))
        return "\n".join(parts)

    def commit(self, message: str) -> Call:
        changed = sorted(path for path in self.files if self.files[path] != self.committed.get(path))
        self.committed = dict(self.files)
        digest = hashlib.sha256("".join(self.files.values()).encode()).hexdigest()[:7]
        lines = "\n".join(f" create or change {path}" for path in changed)
        command = f"git add -A && git commit -q -m {json.dumps(message)} && git log -1 --stat --format='%h %s'"
        return self.bash(command, f"{digest} {message}\n{lines}\n {len(changed)} files changed", why="Commit this step")
