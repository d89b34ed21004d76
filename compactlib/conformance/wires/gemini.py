"""
Gemini: contents with parts, where a call need not have an id.

A response names its call by id where the call has one, else by the tool's
name; calls of one name are answered in order.  A response whose name fits no
call of the turn before it answers the first one there that no other
response of its own content names.  Calls of earlier turns cannot be answered.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from ...model import Json
from .block import Block, canonical, spelled

__all__ = ["read"]

_ROLES: Final = {"": "user", "user": "user", "model": "model", "function": "tool"}
_OWN: Final = ("executableCode", "executable_code", "toolCall", "tool_call", "codeExecutionResult", "toolResponse")
_KINDS: Final = {"image": "image", "audio": "audio", "video": "video", "application": "document", "text": "document"}


def read(contents: list[Json]) -> Iterator[tuple[str, list[Block]]]:
    """Role and blocks of each content."""
    made: list[tuple[str, list[Block]]] = []
    for content in contents:
        role = content.get("role") or ""
        parts = content.get("parts") or []
        made.append((_ROLES.get(role, "other"), [_part(part) for part in ([parts] if isinstance(parts, dict) else parts)]))
    return iter(_named(made))


def _named(made: list[tuple[str, list[Block]]]) -> list[tuple[str, list[Block]]]:
    """The same, each response with the id of the call it answers."""
    asked: list[str] = []  # what the model called in its turn before, as long as nothing has answered it
    run_on = False
    for role, blocks in made:
        if role == "model":
            asked = [*(asked if run_on else ()), *(block.id for block in blocks if block.kind == "call")]
        run_on = role == "model"
        named = [block.id for block in blocks if block.kind == "result" and block.id in asked]
        free = list(asked)
        for key in named:
            if key in free:
                free.remove(key)
        for at, block in enumerate(blocks):
            if block.kind != "result":
                continue
            if block.id not in asked:
                blocks[at] = block = Block(block.kind, block.raw, block.text, free.pop(0) if free else "")
            if block.id in asked:
                asked.remove(block.id)
    return made


def _part(raw: dict[str, Any]) -> Block:
    same = canonical(raw)
    text = raw.get("text")
    if isinstance(text, str):
        return Block("reasoning" if raw.get("thought") is True else "text", same, text)
    call = raw.get("functionCall", raw.get("function_call"))
    if isinstance(call, dict):
        key = call.get("id") or call.get("name") or ""
        return Block("call", same, json.dumps(call.get("args"), ensure_ascii=False), key)
    answer = raw.get("functionResponse", raw.get("function_response"))
    if isinstance(answer, dict):
        return Block("result", same, _words(answer.get("response")), answer.get("id") or answer.get("name") or "")
    media = next(
        (raw[key] for key in ("inlineData", "inline_data", "fileData", "file_data") if isinstance(raw.get(key), dict)), None
    )
    if media is not None:
        mime = str(media.get("mimeType", media.get("mime_type", "")))
        if raw.get("thought") is True:  # a picture that the model thought in
            return Block("reasoning", same)
        return Block("media", same, _KINDS.get(mime.partition("/")[0], "file"))
    if not any(key in raw for key in _OWN) and any(key in raw for key in ("thoughtSignature", "thought_signature", "thought")):
        return Block("reasoning", same)
    return Block("other", same)


def _words(response: Json) -> str:
    """What a tool said: the string, where that is all there is."""
    if isinstance(response, dict) and len(response) == 1:
        [only] = response.values()
        if isinstance(only, str):
            return only
    return response if isinstance(response, str) else "" if response is None else spelled(response)
