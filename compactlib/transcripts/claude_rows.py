"""
Claude Code sessions: one line, and who wrote what it says.

What this is
    `Row` is a line that is part of the session's tree, with the few questions
    that both halves of the reader ask of it; `origin_of` says whose words a
    user line holds.

Rules it obeys
    * Only a person's words are a prompt.  Commands, reminders, notes of an
      interruption and task notifications are the harness's; a command line
      with words typed behind it is of unknown origin, so it is kept like a
      prompt and bounds nothing; media in an ``isMeta`` line are an attachment.
    * A foreign summary is a summary and no prompt, but it lacks the header of
      law L20: it is history, shown to the next summariser once and then gone.
    * What the line says of itself (``origin.kind``) is believed.

What is not here
    ``toolUseResult``: it is for the screen, never for the model.
"""

from __future__ import annotations

import re
from typing import Final

from attrs import field, frozen

from ..model import Json, Origin
from ..recognition import is_harness

__all__ = ["Row", "origin_of"]

_SYNTHETIC: Final = "<synthetic>"
_TYPED_ARGUMENTS: Final = re.compile(r"<command-args>\s*[^\s<]")
_MEDIA: Final = frozenset({"image", "document"})


@frozen
class Row:
    """
    One line that is part of the tree.

    Attributes:
        line: its number in the file.
        kind: its ``type``.
        uuid: its id, or a made-up one where the file has none.
        value: the line.
        message: the API message in it, ``{}`` if there is none.
        blocks: the blocks of that message.
    """

    line: int
    kind: str
    uuid: str
    value: dict[str, Json]
    message: dict[str, Json] = field(init=False)
    blocks: tuple[dict[str, Json], ...] = field(init=False)

    @message.default
    def _message(self) -> dict[str, Json]:
        message = self.value.get("message")
        return message if isinstance(message, dict) else {}

    @blocks.default
    def _blocks(self) -> tuple[dict[str, Json], ...]:
        content = self.message.get("content")
        return tuple(block for block in content if isinstance(block, dict)) if isinstance(content, list) else ()

    @property
    def message_id(self) -> str | None:
        """What ties the fragments of one reply together."""
        if self.kind != "assistant":
            return None
        for found in (self.message.get("id"), self.value.get("requestId")):
            if isinstance(found, str) and found:
                return found
        return None

    @property
    def is_boundary(self) -> bool:
        return self.kind == "system" and self.value.get("subtype") == "compact_boundary"

    @property
    def is_summary(self) -> bool:
        return self.kind == "user" and self.value.get("isCompactSummary") is True

    @property
    def is_synthetic(self) -> bool:
        """A failed request, written down in the shape of a reply."""
        return self.value.get("isApiErrorMessage") is True or self.message.get("model") == _SYNTHETIC

    @property
    def call_ids(self) -> list[str]:
        if self.kind != "assistant":
            return []
        return [block["id"] for block in self.blocks if block.get("type") == "tool_use" and isinstance(block.get("id"), str)]

    @property
    def answers_something(self) -> bool:
        return self.kind == "user" and any(block.get("type") == "tool_result" for block in self.blocks)

    @property
    def answered_ids(self) -> list[str]:
        if self.kind != "user":
            return []
        found = [block.get("tool_use_id") for block in self.blocks if block.get("type") == "tool_result"]
        return [call_id for call_id in found if isinstance(call_id, str)]

    @property
    def hangs_on(self) -> bool:
        """Whether it belongs to the line before it rather than starting something."""
        return self.kind in ("attachment", "progress", "system") or (self.kind == "user" and self.value.get("isMeta") is True)

    def strings(self, key: str, inner: str) -> list[str]:
        """The strings of the list under ``value[key][inner]``."""
        holder = self.value.get(key)
        items = holder.get(inner) if isinstance(holder, dict) else None
        return [item for item in items if isinstance(item, str)] if isinstance(items, list) else []


def origin_of(row: Row) -> Origin:
    """Who wrote what a user line says besides results."""
    value = row.value
    if row.is_summary:
        return Origin.SUMMARY
    if value.get("isMeta") is True:
        return Origin.ATTACHMENT if any(block.get("type") in _MEDIA for block in row.blocks) else Origin.HARNESS
    content = row.message.get("content")
    texts = [content] if isinstance(content, str) else [block.get("text") for block in row.blocks if block.get("type") == "text"]
    words = [text for text in texts if isinstance(text, str) and text.strip()]
    if words and all(is_harness(text) for text in words):
        return Origin.UNKNOWN if any(_TYPED_ARGUMENTS.search(text) for text in words) else Origin.HARNESS
    source = value.get("origin")
    kind = source.get("kind") if isinstance(source, dict) else "human"
    return Origin.HUMAN if kind == "human" else Origin.HARNESS
