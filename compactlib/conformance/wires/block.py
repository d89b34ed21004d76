"""One block of a message, and JSON in one spelling."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final

from attrs import frozen

from ...model import Json

__all__ = ["ROLES", "Block", "canonical", "is_mark", "spelled", "text_block", "words_of"]

ROLES: Final = {"user": "user", "assistant": "model", "system": "system"}
"""What the roles of most dialects are; every other is ``other``."""

_SORTED: Final = json.JSONEncoder(sort_keys=True).encode
_ORDERED: Final = json.JSONEncoder().encode
_MARK: Final = "cache_control"
_MARK_BLOCK: Final = "cachePoint"


@frozen
class Block:
    """
    One block.

    Attributes:
        kind: ``text``, ``media``, ``call``, ``result``, ``reasoning``, ``compaction`` (an object that stands for what the
            provider has compacted) or ``other``.
        raw: the block as canonical JSON, cache marks apart.
        text: its words; of a result, those of its content; of a call, its arguments; of media, what they are.
        id: of the call that it is or answers.
        caller: id of the server tool that made the call.
    """

    kind: str
    raw: str
    text: str = ""
    id: str = ""
    caller: str = ""


def canonical(value: Json, *, ordered: bool = False) -> str:
    """*value* as JSON without cache marks; keys sorted unless their order is to count."""
    write = _ORDERED if ordered else _SORTED
    text = write(value)
    return write(_unmarked(value)) if _MARK in text or _MARK_BLOCK in text else text


def _unmarked(value: Json) -> Json:
    if isinstance(value, list):
        return [_unmarked(item) for item in value if not is_mark(item)]
    if isinstance(value, dict):
        return {key: _unmarked(item) for key, item in value.items() if key != _MARK}
    return value


def is_mark(value: Json) -> bool:
    """Whether a block of Bedrock's is a cache mark and nothing else."""
    return isinstance(value, dict) and set(value) == {_MARK_BLOCK}


def text_block(text: str) -> Block:
    """Words that stand as a string where blocks could stand: the same as one block of them."""
    return Block("text", canonical({"type": "text", "text": text}), text)


def words_of(content: Json, kinds: Iterable[str] = ("text",)) -> str:
    """The words in the content of a result."""
    if isinstance(content, str):
        return content
    parts: list[Any] = [part for part in content or () if isinstance(part, dict)]
    return "\n".join(part["text"] for part in parts if part.get("type") in kinds and isinstance(part.get("text"), str))


def spelled(value: Json) -> str:
    """A value as compact JSON with its keys in their order: what stands for a result that is no text."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
