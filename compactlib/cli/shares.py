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

from collections.abc import Mapping
from typing import Final

from attrs import evolve

from ..model import Call, Conversation, Media, Message, Opaque, Origin, Reasoning, Result
from ..tokens import Memo
from ..turns import divide, origins
from .printing import Segment

__all__ = ["KINDS", "segments", "shares"]

KINDS: Final[Mapping[str, str]] = {
    "system prompt": "bright_black",
    "tools": "grey58",
    "summary": "magenta",
    "pins and reminders": "bright_magenta",
    "prompts": "green",
    "harness": "dark_green",
    "model text": "blue",
    "calls": "cyan",
    "results": "yellow",
    "media": "bright_yellow",
    "reasoning, current turn": "red",
    "reasoning, closed turns": "dark_red",
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
