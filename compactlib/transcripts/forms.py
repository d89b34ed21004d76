"""
How either program writes down what was said.

What this is
    A `Form` for each session format: where a line holds what the model sees,
    how that reads as Anthropic blocks, what it becomes when a block changes,
    and how a line is written that the program did not live to write.

Rules it obeys
    * A line of ours looks like one of the program's, with the facts of the
      session (folder, version, branch) taken from the line it belongs to.  It
      has that line's time, because we have no clock (law L16).
    * Only what changed in a block changes in its item: what the reader left
      out or put in another place stays as the file has it.
    * Words that only the repair needed are marked as the harness's, so that no
      reader takes them for a person's (law L9).

What is not here
    Which lines are written, and where: `rewriting`.
"""

from __future__ import annotations

import hashlib
import uuid
from abc import ABC, abstractmethod
from collections.abc import Mapping, Set
from typing import ClassVar, Final

from attrs import frozen

from ..model import Json
from .pi import call_id, reply_block, result_block, user_parts
from .splicing import Path

__all__ = ["FORMS", "Form", "Held"]

_Object = dict[str, Json]


@frozen
class Held:
    """
    What a line holds of the conversation.

    Attributes:
        path: where in the record it stands.
        items: the items of the list there, or the one value.
        blocks: what each reads as; ``None`` where it is nothing to the model.
        is_list: whether there is a list.
    """

    path: Path
    items: tuple[Json, ...]
    blocks: tuple[_Object | None, ...]
    is_list: bool = True


class Form(ABC):
    """
    One session format, as far as writing goes.

    Attributes:
        name_key, parent_key: where a line has its id, and that of its parent.
        backward: other keys that name a line; where that goes they name the one before it.
        forward: and those that then name the one after it.
        number_key: the key that names a line by its number, the first being 0; ``""`` if there is none.
        outside: the types of lines that have an id and are no part of the tree.
        has_end: whether there is a line that says nothing, and that readers take for the end of a branch.
    """

    name_key: ClassVar[str]
    parent_key: ClassVar[str]
    backward: ClassVar[tuple[str, ...]]
    forward: ClassVar[tuple[str, ...]]
    number_key: ClassVar[str]
    outside: ClassVar[frozenset[str]] = frozenset()
    has_end: ClassVar[bool] = False

    @abstractmethod
    def held(self, value: _Object) -> Held | None:
        """What a line holds; ``None`` where words are made of it when it is read."""

    @abstractmethod
    def is_loose(self, value: _Object) -> bool:
        """Whether a line's link to its parent says nothing: then readers take it for what follows the line before."""

    def is_silent(self, value: _Object) -> bool:
        """Whether a line is a link of the chain and nothing else."""
        return self.held(value) is None

    @abstractmethod
    def is_head(self, value: _Object) -> bool:
        """Whether a compaction made the line, so that it is read before the place where it stands."""

    @abstractmethod
    def edited(self, item: Json, old: _Object, new: _Object) -> Json:
        """The item that was read as *old*, to be read as *new*."""

    def made(self, block: _Object) -> _Object:
        """The item of a reply that reads as *block*."""
        return block

    @abstractmethod
    def name_of(self, digest: bytes) -> str:
        """An id as the program writes it."""

    def mint(self, used: Set[str], *seed: str) -> str:
        """An id that is not in use, always the same for the same seed."""
        attempt = 0
        while True:
            told = "\n".join(("compactlib repair", *seed, str(attempt)))
            made = self.name_of(hashlib.sha256(told.encode("utf-8", "surrogatepass")).digest())
            if made not in used:
                return made
            attempt += 1

    @abstractmethod
    def result(self, block: _Object, call: _Object, beside: _Object, link: Mapping[str, Json]) -> _Object:
        """The line of a result; *call* is the item of its call on the line *beside*, *link* says where it hangs."""

    def end(self, beside: _Object, link: Mapping[str, Json]) -> _Object | None:
        """That line; ``None`` if there is none."""
        del beside, link
        return None

    @abstractmethod
    def words(self, blocks: list[_Object], beside: _Object, link: Mapping[str, Json]) -> _Object:
        """The line of words and media that are nobody's."""


def _patched(item: _Object, old: _Object, new: _Object) -> _Object:
    """*item* with what differs between *old* and *new*."""
    made = {key: value for key, value in item.items() if key in new or key not in old}
    return {**made, **{key: value for key, value in new.items() if key not in old or old[key] != value}}


# -- Claude Code -------------------------------------------------------------------------------------------------------

_SESSION_FACTS: Final = frozenset({
    "agentId", "cwd", "entrypoint", "gitBranch", "isSidechain", "sessionId", "slug", "teamName", "userType", "version",
})  # fmt: skip


class _ClaudeCode(Form):
    name_key = "uuid"
    parent_key = "parentUuid"
    backward = ("logicalParentUuid", "leafUuid")
    forward = ()
    number_key = ""

    def held(self, value: _Object) -> Held | None:
        if value.get("type") == "attachment":
            path: Path = ("attachment", "prompt")
            attachment = value.get("attachment")
            content = attachment.get("prompt") if isinstance(attachment, dict) else None
        else:
            path = ("message", "content")
            message = value.get("message")
            content = message.get("content") if isinstance(message, dict) else None
        if isinstance(content, list):
            return Held(path, tuple(content), tuple(block if isinstance(block, dict) else None for block in content))
        if isinstance(content, str):
            return Held(path, (content,), ({"type": "text", "text": content},), is_list=False)
        return None

    def is_loose(self, value: _Object) -> bool:
        if isinstance(value.get(self.parent_key), str):
            return False
        held = self.held(value)
        answers = held is not None and any(block is not None and block.get("type") == "tool_result" for block in held.blocks)
        return self.parent_key not in value or value.get("type") == "assistant" or answers

    def is_head(self, value: _Object) -> bool:
        return value.get("isCompactSummary") is True

    def edited(self, item: Json, old: _Object, new: _Object) -> Json:
        if isinstance(item, str):
            return new.get("text")
        return _patched(item, old, new)

    def name_of(self, digest: bytes) -> str:
        return str(uuid.UUID(bytes=digest[:16], version=4))

    def result(self, block: _Object, call: _Object, beside: _Object, link: Mapping[str, Json]) -> _Object:
        del call
        made = self._line([block], beside, link)
        if block.get("is_error") is True:
            made["toolUseResult"] = f"Error: {block.get('content')}"
        if isinstance(beside.get("uuid"), str):
            made["sourceToolAssistantUUID"] = beside["uuid"]
        return made

    def words(self, blocks: list[_Object], beside: _Object, link: Mapping[str, Json]) -> _Object:
        return {**self._line(blocks, beside, link), "isMeta": True}

    def _line(self, blocks: list[_Object], beside: _Object, link: Mapping[str, Json]) -> _Object:
        facts = {key: value for key, value in beside.items() if key in _SESSION_FACTS}
        parent = {key: value for key, value in link.items() if key == self.parent_key}
        name = {key: value for key, value in link.items() if key == self.name_key}
        when = {"timestamp": beside["timestamp"]} if "timestamp" in beside else {}
        return {**parent, **facts, "type": "user", "message": {"role": "user", "content": blocks}, **name, **when}


# -- pi ----------------------------------------------------------------------------------------------------------------

_OURS: Final = "compactlib"
_THOUGHTS: Final = ("redacted_thinking", "thinking")


class _Pi(Form):
    name_key = "id"
    parent_key = "parentId"
    backward = ("fromId", "targetId")
    forward = ("firstKeptEntryId",)
    number_key = "firstKeptEntryIndex"
    outside = frozenset({"session"})
    has_end = True

    def held(self, value: _Object) -> Held | None:
        message = value.get("message")
        if value.get("type") == "custom_message":
            path: Path = ("content",)
            holder, role = value, "custom"
        elif value.get("type") == "message" and isinstance(message, dict):
            path = ("message", "content")
            holder, role = message, str(message.get("role"))
        else:
            return None
        if role == "toolResult":
            return Held(("message",), (message,), (result_block(holder),), is_list=False)
        content = holder.get("content")
        if isinstance(content, str) and role in ("user", "custom", "hookMessage"):
            return Held(path, (content,), ({"type": "text", "text": content},), is_list=False)
        if not isinstance(content, list) or role not in ("user", "custom", "hookMessage", "assistant"):
            return None
        if role == "assistant":
            api = str(holder.get("api", "anthropic"))
            return Held(
                path, tuple(content), tuple(reply_block(item, api) if isinstance(item, dict) else None for item in content)
            )
        return Held(path, tuple(content), tuple(next(iter(user_parts([item])), None) for item in content))

    def is_loose(self, value: _Object) -> bool:
        parent = value.get(self.parent_key, False)
        return parent is not None and not isinstance(parent, str)

    def is_silent(self, value: _Object) -> bool:
        return value.get("type") not in ("message", "custom_message", "branch_summary", "compaction")

    def is_head(self, value: _Object) -> bool:
        return value.get("type") == "compaction"

    def edited(self, item: Json, old: _Object, new: _Object) -> Json:
        if isinstance(item, str):
            return new.get("text")
        kind = new.get("type")
        if kind == "tool_use":
            names = {"id": "id", "input": "arguments"}
            return {**item, **{names[key]: new[key] for key in names if old.get(key) != new.get(key)}}
        if kind == "tool_result":
            made = dict(item)
            if old.get("tool_use_id") != new.get("tool_use_id"):
                made["toolCallId"] = new.get("tool_use_id")
            if old.get("content") != new.get("content"):
                made["content"] = _pi_parts(new.get("content"))
            if old.get("is_error") != new.get("is_error"):
                made["isError"] = new.get("is_error") is True
            return made
        if kind in _THOUGHTS:
            return {**item, **self.made(new)}
        return _pi_parts([new])[0]

    def made(self, block: _Object) -> _Object:
        if block.get("type") == "thinking":
            return {"type": "thinking", "thinking": block.get("thinking"), "thinkingSignature": block.get("signature")}
        if block.get("type") == "redacted_thinking":
            return {"type": "thinking", "thinking": "", "thinkingSignature": block.get("data"), "redacted": True}
        return block

    def name_of(self, digest: bytes) -> str:
        return digest.hex()[:8]

    def result(self, block: _Object, call: _Object, beside: _Object, link: Mapping[str, Json]) -> _Object:
        own = call.get("id")
        name = own if call_id(own) == block.get("tool_use_id") else block.get("tool_use_id")
        message: _Object = {
            "role": "toolResult",
            "toolCallId": name,
            "toolName": call.get("name"),
            "content": _pi_parts(block.get("content")),
            "isError": block.get("is_error") is True,
        }
        reply = beside.get("message")
        if isinstance(reply, dict) and "timestamp" in reply:
            message["timestamp"] = reply["timestamp"]
        return {"type": "message", **link, **_time(beside), "message": message}

    def words(self, blocks: list[_Object], beside: _Object, link: Mapping[str, Json]) -> _Object:
        said = {"customType": _OURS, "content": _pi_parts(blocks), "display": True}
        return {"type": "custom_message", **link, **_time(beside), **said}

    def end(self, beside: _Object, link: Mapping[str, Json]) -> _Object | None:
        return {"type": "custom", **link, **_time(beside), "customType": _OURS}


def _pi_parts(content: Json) -> list[Json]:
    """Anthropic's texts and pictures as pi writes them."""
    if not isinstance(content, list):
        return [{"type": "text", "text": content}] if content else []
    made = []
    for part in content:
        source = part.get("source")
        if part.get("type") == "image" and isinstance(source, dict) and source.get("type") == "base64":
            part = {"type": "image", "data": source.get("data"), "mimeType": source.get("media_type")}
        made.append(part)
    return made


def _time(beside: _Object) -> _Object:
    return {"timestamp": beside["timestamp"]} if "timestamp" in beside else {}


FORMS: Final[Mapping[str, Form]] = {"claude-code": _ClaudeCode(), "pi": _Pi()}
"""The formats that are written back, by name."""
