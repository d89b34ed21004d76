"""
What the tokens of a request go to, kind by kind.

What this is
    `divide` splits a request as the provider charges it.

Rules it obeys
    * Every token is in exactly one share: the shares add up to `Memo.request`.
    * Recognition may be wrong about who wrote a text, never about how long it
      is: the kinds come from `turns`, the sizes from the blocks.

What is not here
    Drawing it: the command ``compactlib stats``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ..model import Block, Call, Conversation, Media, Opaque, Origin, Reasoning, Result
from ..turns import divide as find_division
from ..turns import origins
from .counting import block_tokens, checked, frame_tokens, tool_tokens
from .estimator import Counter

__all__ = ["KINDS", "divide"]

KINDS: Final = (
    "system prompt",
    "summary",
    "pins and reminders",
    "prompts",
    "harness",
    "model text",
    "calls",
    "results",
    "media",
    "reasoning, current turn",
    "reasoning, closed turns",
    "other",
    "frames",
)
"""The shares, in the order in which they are listed.  After the first come the tools, each as ``tool: NAME``."""

_BY_ORIGIN: Final[Mapping[Origin, str]] = {
    Origin.SYSTEM: "system prompt",
    Origin.SUMMARY: "summary",
    Origin.PIN: "pins and reminders",
    Origin.REMINDER: "pins and reminders",
    Origin.HUMAN: "prompts",
    Origin.UNKNOWN: "prompts",
    Origin.MODEL: "model text",
    Origin.ATTACHMENT: "media",
}


def divide(conversation: Conversation, counter: Counter) -> dict[str, int]:
    """
    Tokens by kind, without kinds that do not occur.

    ``frames`` is what messages cost besides their blocks, residual fields
    included.  Tools of one name share a share.

    Raises:
        PolicyError: *counter* misbehaves.

    >>> from compactlib.dialects import parse
    >>> divide(parse([{"role": "user", "content": "Run the tests."}], dialect="anthropic"), len)
    {'prompts': 14, 'frames': 4}
    """
    counter = checked(counter)
    division = find_division(conversation)
    found = {KINDS[0]: sum(block_tokens(block, counter) for block in conversation.system)}
    for tool in conversation.tools:
        name = f"tool: {tool.name}"
        found[name] = found.get(name, 0) + tool_tokens(tool, counter)
    found |= dict.fromkeys(KINDS[1:], 0)
    for position, (message, kind) in enumerate(zip(conversation.messages, division.kinds, strict=True)):
        found["frames"] += frame_tokens(message, counter)
        is_closed = position < division.current_turn
        for block, origin in zip(message.blocks, origins(message, kind), strict=True):
            found[_share(block, origin, is_closed=is_closed)] += block_tokens(block, counter)
    return {name: tokens for name, tokens in found.items() if tokens}


def _share(block: Block, origin: Origin, *, is_closed: bool) -> str:
    if isinstance(block, Call):
        return "calls"
    if isinstance(block, Result):
        return "results"
    if isinstance(block, Reasoning):
        return "reasoning, closed turns" if is_closed else "reasoning, current turn"
    if isinstance(block, Media):
        return "media"
    if isinstance(block, Opaque):
        return "summary" if block.kind == "compaction" else "other"
    return _BY_ORIGIN.get(origin, "harness")
