"""Bedrock Converse: a block is an object whose only key says what it is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from ...model import Json
from .block import ROLES, Block, canonical, is_mark, spelled

__all__ = ["read"]

_MEDIA: Final = ("image", "document", "video", "audio")


def read(messages: list[Json]) -> Iterator[tuple[str, list[Block]]]:
    """Role and blocks of each message; cache marks are none."""
    for message in messages:
        yield (
            ROLES.get(message["role"], "other"),
            [_block(raw) for raw in message.get("content") or () if not is_mark(raw)],
        )


def _block(raw: dict[str, Any]) -> Block:
    same = canonical(raw)
    member = next(iter(raw), "")
    value = raw.get(member)
    if member == "text":
        return Block("text", same, raw["text"])
    if not isinstance(value, dict):
        return Block("other", same)
    if member == "toolUse" and value.get("type") != "server_tool_use":
        return Block("call", same, json.dumps(value.get("input"), ensure_ascii=False), value["toolUseId"])
    if member == "toolResult" and "type" not in value:
        said = [_words(part) for part in value.get("content") or () if "json" in part or "text" in part]
        return Block("result", same, "\n".join(said), value["toolUseId"])
    if member == "reasoningContent":
        return Block("reasoning", same, value.get("reasoningText", {}).get("text", ""))
    if member in _MEDIA:
        return Block("media", same, member)
    guarded = value.get("text") if member == "guardContent" else None
    if isinstance(guarded, dict):
        return Block("text", same, guarded["text"])
    if member == "citationsContent" and len(value.get("content") or ()) == 1:
        return Block("text", same, value["content"][0].get("text", ""))
    return Block("other", same)


def _words(part: dict[str, Any]) -> str:
    return spelled(part["json"]) if "json" in part else str(part["text"])
