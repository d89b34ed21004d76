"""OpenAI Responses: everything is an item, and a response of the model is a run of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from ...model import Json
from .block import ROLES, Block, canonical, spelled, text_block, words_of

__all__ = ["read"]

_ROLES: Final = {**ROLES, "developer": "system"}
_TEXTS: Final = ("input_text", "output_text", "text")
_MEDIA: Final = {"input_image": "image", "input_file": "file", "input_audio": "audio", "computer_screenshot": "image"}
_CALLS: Final = {  # what the caller is to run -> where its arguments stand
    "function_call": "arguments",
    "custom_tool_call": "input",
    "mcp_approval_request": "arguments",
    "local_shell_call": "action",
    "shell_call": "action",
    "computer_call": "action",
    "apply_patch_call": "operation",
    "tool_search_call": "arguments",
}
_OUTPUTS: Final = {  # what answers it -> where it says what came out
    "function_call_output": "output",
    "custom_tool_call_output": "output",
    "mcp_approval_response": "reason",
    "local_shell_call_output": "output",
    "shell_call_output": "output",
    "computer_call_output": "output",
    "apply_patch_call_output": "output",
    "tool_search_output": "tools",
}


def read(items: list[Json]) -> Iterator[tuple[str, list[Block]]]:
    """Role and blocks of each item."""
    for item in items:
        kind = item.get("type", "message" if "role" in item else "item_reference")
        if kind == "message" or kind is None:
            content = item.get("content")
            blocks = [text_block(content)] if isinstance(content, str) else [_part(part) for part in content or ()]
            yield _ROLES.get(item["role"], "other"), blocks
        elif kind in _CALLS and not _is_hosted(item, kind):
            arguments = item.get(_CALLS[kind])
            text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
            yield (
                "model",
                [Block("call", canonical(item), text, item["id"] if kind == "mcp_approval_request" else item["call_id"])],
            )
        elif kind in _OUTPUTS and not _is_hosted(item, kind):
            key = item.get("approval_request_id") or item.get("call_id") or item.get("id") or ""
            yield "tool", [Block("result", canonical(item), _words(item.get(_OUTPUTS[kind])), key)]
        elif kind == "reasoning":
            yield "model", [Block("reasoning", canonical(item), words_of(item.get("summary"), ("summary_text",)))]
        else:
            what = "compaction" if kind == "compaction" and item.get("encrypted_content") else "other"
            yield _ROLES.get(item.get("role"), "model"), [Block(what, canonical(item))]


def _is_hosted(item: dict[str, Any], kind: str) -> bool:
    """Whether OpenAI has searched for tools by itself."""
    return kind.startswith("tool_search") and (item.get("execution") == "server" or item.get("call_id") is None)


def _part(raw: dict[str, Any]) -> Block:
    kind = raw["type"]
    if kind in _TEXTS:
        return text_block(raw["text"]) if len(raw) == 2 else Block("text", canonical(raw), raw["text"])
    if kind in _MEDIA:
        return Block("media", canonical(raw), _MEDIA[kind])
    return Block("other", canonical(raw))


def _words(output: Json) -> str:
    """What came out, in words."""
    if isinstance(output, str) or output is None:
        return output or ""
    if isinstance(output, list) and all(isinstance(part, dict) and "type" in part for part in output):
        return words_of(output, _TEXTS)
    return spelled(output)
