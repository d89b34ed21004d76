"""
What the tokens of a request go to, kind by kind.

What this is
    `shares` divides a request as the provider counts it; `KINDS` is the order
    in which kinds are listed and drawn.

Rules it obeys
    * Every token of the request is in exactly one share: they add up to the
      size that the compactor sees.

What is not here
    Counting: `compactlib.tokens`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from attrs import evolve

from ..model import Block, Call, Conversation, Media, Message, Opaque, Origin, Reasoning, Result
from ..tokens import Memo
from ..turns import divide, origins
from .printing import Segment

__all__ = ["KINDS", "result_tokens", "segments", "shares", "tool_tokens"]

KINDS: Final[Mapping[str, str]] = {
    "system prompt": "bright_cyan",
    "tools": "bright_blue",
    "summary": "magenta",
    "pins and reminders": "bright_magenta",
    "prompts": "green",
    "harness": "bright_green",
    "model text": "blue",
    "calls": "cyan",
    "results": "yellow",
    "media": "bright_yellow",
    "reasoning, current turn": "red",
    "reasoning, closed turns": "bright_red",
    "other": "white",
}
"""Each kind of content and the colour it is drawn in."""

_BY_ORIGIN: Final = {
    Origin.SYSTEM: "system prompt",
    Origin.SUMMARY: "summary",
    Origin.PIN: "pins and reminders",
    Origin.REMINDER: "pins and reminders",
    Origin.HUMAN: "prompts",
    Origin.UNKNOWN: "prompts",
    Origin.MODEL: "model text",
}


def shares(conversation: Conversation, memo: Memo) -> dict[str, int]:
    """
    Tokens by kind, in the order of `KINDS`, without kinds that do not occur.

    What a message costs besides its blocks goes to the kind of its first block.
    """
    division = divide(conversation)
    found = dict.fromkeys(KINDS, 0)
    found["tools"] = sum(tool_tokens(conversation, memo))
    found["system prompt"] = memo.overhead(conversation) - found["tools"]
    for position, (message, kind) in enumerate(zip(conversation.messages, division.kinds, strict=True)):
        closed = position < division.current_turn
        pairs = zip(message.blocks, origins(message, kind), strict=True)
        kinds = [_kind(block, origin, closed=closed) for block, origin in pairs] or ["other"]
        left = memo.message(message)
        for block, name in zip(message.blocks[1:], kinds[1:], strict=True):
            tokens = memo.message(evolve(message, content=(block,)))
            found[name] += tokens
            left -= tokens
        found[kinds[0]] += left
    return {name: tokens for name, tokens in found.items() if tokens}


def _kind(block: Block, origin: Origin, *, closed: bool) -> str:
    if isinstance(block, Call):
        return "calls"
    if isinstance(block, Result):
        return "results"
    if isinstance(block, Reasoning):
        return "reasoning, closed turns" if closed else "reasoning, current turn"
    if isinstance(block, Media):
        return "media"
    if isinstance(block, Opaque):
        return "summary" if block.kind == "compaction" else "other"
    return _BY_ORIGIN.get(origin, "harness")


def tool_tokens(conversation: Conversation, memo: Memo) -> list[int]:
    """Tokens of each declared tool, in order."""
    return [memo.counter(json.dumps(tool.value, ensure_ascii=False)) for tool in conversation.tools]


def result_tokens(message: Message, result: Result, memo: Memo) -> int:
    """Tokens of one result of a message."""
    return memo.message(evolve(message, content=(result,)))


def segments(found: Mapping[str, int]) -> list[Segment]:
    """Shares as the stretches of a bar; what is no content is grey, and what is free is hollow."""
    return [
        Segment(tokens, KINDS.get(name, "bright_black"), "░" if name == "free" else "█") for name, tokens in found.items()
    ]
