"""Anthropic Messages: results stand in user messages, as blocks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from ...model import Json
from .block import ROLES, Block, canonical, text_block, words_of

__all__ = ["read"]

_MEDIA: Final = frozenset({"image", "document"})


def read(messages: list[Json]) -> Iterator[tuple[str, list[Block]]]:
    """Role and blocks of each message."""
    for message in messages:
        content = message.get("content")
        blocks = [text_block(content)] if isinstance(content, str) else [_block(raw) for raw in content or ()]
        yield ROLES.get(message["role"], "other"), blocks


def _block(raw: dict[str, Any]) -> Block:
    kind = raw["type"]
    same = canonical(raw)
    if kind == "text":
        return Block("text", same, raw["text"])
    if kind == "tool_use":
        caller = raw.get("caller")
        made_by = caller.get("tool_id", "") if isinstance(caller, dict) else ""
        return Block("call", same, json.dumps(raw.get("input"), ensure_ascii=False), raw["id"], made_by)
    if kind == "tool_result":
        return Block("result", same, words_of(raw.get("content")), raw["tool_use_id"])
    if kind in ("thinking", "redacted_thinking"):
        return Block("reasoning", same, raw.get("thinking", ""))
    if kind in _MEDIA:
        return Block("media", same, kind)
    if kind == "compaction" and raw.get("content") is not None:  # one without content has failed
        return Block("compaction", same)
    return Block("other", same, id=raw["id"] if isinstance(raw.get("id"), str) else "")
