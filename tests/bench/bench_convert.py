"""
Converting a conversation, as a ratio to `json.loads` of the same text in the same run.

The last rows are hostile inputs at four times the size: a ratio of about four is linear.
"""

from __future__ import annotations

import json
from functools import partial
from typing import Any, Final

import compactlib as cl
from compactlib.converting import convert

from . import Row
from .bench_validator import seconds
from .corpus import large_body

__all__ = ["run"]

_MESSAGES: Final = 20_000
_PAIRS: Final = (
    ("anthropic", "openai-chat"),
    ("anthropic", "gemini"),
    ("openai-chat", "anthropic"),
    ("openai-chat", "mistral"),
    ("openai-chat", "openai-responses"),
)
_SMALL: Final = 2_000


def _hostile(kind: str, size: int) -> cl.Conversation:
    """Inputs on which careless code is quadratic."""
    ids = ["same" if kind == "twins" else f"{'x' * 60}{place}" for place in range(size)]
    calls: list[Any] = [{"id": key, "type": "function", "function": {"name": "ls", "arguments": "{}"}} for key in ids]
    answers: list[Any] = [{"role": "tool", "tool_call_id": key, "content": "(see attached image)"} for key in reversed(ids)]
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    marker = {"type": "text", "text": "Attached image(s) from tool result:"}
    carrier = {"role": "user", "content": [marker, *([picture] * size)]}
    marked = {"role": "user", "content": [{"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}] * size}
    tail = {"pictures": [*answers, carrier], "open": [], "marks": [*answers, marked]}.get(kind, answers)
    return cl.parse([{"role": "user", "content": "go"}, {"role": "assistant", "tool_calls": calls}, *tail], dialect="openai-chat")


def run() -> list[Row]:
    """Measure."""
    rows: list[Row] = []
    for source, target in _PAIRS:
        text = json.dumps(large_body(_MESSAGES, source), ensure_ascii=False)
        conversation = cl.parse(json.loads(text), dialect=source)
        work = partial(convert, conversation, dialect=target)
        ratio = seconds(work) / seconds(partial(json.loads, text))
        rows.append((f"{source} to {target} / json.loads", ratio, f"{_MESSAGES:,} messages; reading the result included"))
    for kind in ("open", "twins", "prefix", "pictures", "marks"):
        small, large = (partial(convert, _hostile(kind, size), dialect="anthropic") for size in (_SMALL, 4 * _SMALL))
        rows.append((f"hostile, four times the {kind}", seconds(large) / seconds(small), "4 is linear"))
    return rows
