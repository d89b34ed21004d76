"""OpenAI Chat Completions, and Mistral, which speaks it with other parts: results are messages of their own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from ...model import Json
from .block import ROLES, Block, canonical, text_block, words_of

__all__ = ["read"]

_ROLES: Final = {**ROLES, "developer": "system", "tool": "tool", "function": "tool"}
_MEDIA: Final = {
    "image": "image",
    "image_url": "image",
    "input_audio": "audio",
    "audio_url": "audio",
    "video_url": "video",
    "document_url": "document",
    "file": "file",
}


def read(messages: list[Json]) -> Iterator[tuple[str, list[Block]]]:
    """Role and blocks of each message."""
    for message in messages:
        role = _ROLES.get(message["role"], "other")
        yield role, list(_blocks(message, role))


def _blocks(message: dict[str, Any], role: str) -> Iterator[Block]:
    content = message.get("content")
    if role == "tool":
        key = message.get("tool_call_id") or ""
        yield Block("result", canonical({"answers": key, "content": content}), words_of(content), key)
        return
    thought = next((key for key in ("reasoning_content", "reasoning") if isinstance(message.get(key), str)), None)
    if thought is not None:  # some write it under both
        yield Block("reasoning", canonical({thought: message[thought]}), message[thought])
    if isinstance(content, str):
        yield text_block(content)
    elif isinstance(content, list):
        yield from map(_part, content)
    for call in message.get("tool_calls") or ():
        yield Block("call", canonical(call), _arguments(call.get("function")), call.get("id") or "")
    if isinstance(message.get("function_call"), dict):
        yield Block("call", canonical(message["function_call"]), _arguments(message["function_call"]))


def _part(raw: dict[str, Any]) -> Block:
    kind = raw["type"]
    same = canonical(raw)
    if kind == "text":
        return Block("text", same, raw["text"])
    if kind in ("thinking", "redacted_thinking"):
        return Block(
            "reasoning", same, raw["thinking"] if isinstance(raw.get("thinking"), str) else words_of(raw.get("thinking"))
        )
    if kind in _MEDIA:
        return Block("media", same, _MEDIA[kind])
    if kind == "tool_use":  # left there by some clients, in another dialect's words
        return Block("call", same, json.dumps(raw.get("input"), ensure_ascii=False), raw["id"])
    return Block("other", same)


def _arguments(function: Json) -> str:
    """The arguments of a call: the string that the model wrote, or JSON with its keys in their order."""
    value = function.get("arguments") if isinstance(function, dict) else None
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
