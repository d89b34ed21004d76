"""
The shares of a request, as they are listed and drawn.

What this is
    `shares` is `compactlib.tokens.divide` with all tools as one share; `KINDS`
    is the order and the colours.

What is not here
    Counting: `compactlib.tokens`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ..model import Conversation
from ..tokens import Counter, divide
from .printing import Segment

__all__ = ["KINDS", "segments", "shares"]

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
    "frames": "bright_white",
}
"""Each kind of content and the colour it is drawn in."""


def shares(conversation: Conversation, counter: Counter) -> dict[str, int]:
    """Tokens by kind, in the order of `KINDS`, without kinds that do not occur."""
    found = divide(conversation, counter)
    found["tools"] = sum(tokens for name, tokens in found.items() if name.startswith("tool: "))
    return {kind: found[kind] for kind in KINDS if found.get(kind)}


def segments(found: Mapping[str, int]) -> list[Segment]:
    """Shares as the stretches of a bar; what is no content is grey, and what is free is hollow."""
    return [Segment(tokens, KINDS.get(name, "bright_black"), "░" if name == "free" else "█") for name, tokens in found.items()]
