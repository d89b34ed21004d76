"""
What is expensive in a conversation, and what is worth changing about it.

What this is
    The declared tools with the calls made to them, the large results with what
    carrying them along has cost, and the advice that follows.

What is not here
    How it is shown: `stats`.
"""

from __future__ import annotations

from collections import Counter as Multiset
from typing import Final

from attrs import frozen

from ..budget import Sizes
from ..model import Call, Conversation, Result
from ..tokens import Counter, block_tokens, tool_tokens
from .likeness import near_duplicates
from .printing import number, per_cent

__all__ = ["LARGE_TOKENS", "Advice", "LargeResult", "ToolUse", "advice", "large_results", "tool_uses"]

LARGE_TOKENS: Final = 1_000
"""From which size on a result is called large."""

_OUTPUT_LIMITS: Final = ("max_tokens", "max_completion_tokens")
_OVERHEAD_PERCENT: Final = 10
"""Above which share of the budget the overhead is warned about."""


@frozen
class ToolUse:
    """A declared tool: its size, which every request pays, and how often it was called."""

    name: str
    tokens: int
    calls: int


@frozen
class LargeResult:
    """
    A result that requests carry along.

    Attributes:
        index: its message.
        tool: the tool that gave it.
        tokens: its size.
        later_requests: how many requests were made with it in them.
        carried_tokens: the product: what it has cost so far.
    """

    index: int
    tool: str
    tokens: int
    later_requests: int
    carried_tokens: int


@frozen
class Advice:
    """Something that is worth changing: a stable code, and a sentence."""

    code: str
    text: str


def tool_uses(conversation: Conversation, counter: Counter) -> list[ToolUse]:
    """The declared tools, the largest first."""
    calls = Multiset(block.name for message in conversation.messages for block in message.blocks if isinstance(block, Call))
    uses = [ToolUse(tool.name, tool_tokens(tool, counter), calls[tool.name]) for tool in conversation.tools]
    return sorted(uses, key=lambda use: (-use.tokens, use.name))


def large_results(conversation: Conversation, counter: Counter) -> list[LargeResult]:
    """The large results, those that were carried furthest first."""
    left = sum(message.role == "model" for message in conversation.messages)
    names: dict[str, str] = {}
    found = []
    for position, message in enumerate(conversation.messages):
        left -= message.role == "model"
        for block in message.blocks:
            if isinstance(block, Call):
                names[block.id] = block.name
            elif isinstance(block, Result):
                tokens = block_tokens(block, counter)
                if tokens >= LARGE_TOKENS:
                    tool = names.get(block.call_id, "")
                    found.append(LargeResult(conversation.wire_index(position), tool, tokens, left, tokens * left))
    return sorted(found, key=lambda result: (-result.carried_tokens, -result.tokens, result.index))


def advice(conversation: Conversation, tools: list[ToolUse], total_tokens: int, known: Sizes | None) -> list[Advice]:
    """What is worth changing; *known* are the sizes that follow from the window, if it was given."""
    found = [] if known is None else _about_the_window(conversation, total_tokens, known)
    sized = {tool.name: tool.tokens for tool in tools}
    for pair in near_duplicates(conversation.tools):
        saved = number(min(sized[pair.one], sized[pair.other]))
        text = f"the tools {pair.one} and {pair.other} share {pair.percent} % of their words"
        found.append(Advice("near-duplicate-tools", f"{text}; one of the two would save {saved} tokens a request"))
    return found


def _about_the_window(conversation: Conversation, total_tokens: int, known: Sizes) -> list[Advice]:
    found = []
    budget = f"the budget of {number(known.budget)} tokens"
    if total_tokens > known.budget:
        found.append(Advice("over-budget", f"the request is {number(total_tokens - known.budget)} tokens above {budget}"))
    if known.overhead * 100 > known.budget * _OVERHEAD_PERCENT:
        share = per_cent(known.overhead, known.budget)
        found.append(Advice("overhead", f"system prompt and tools take {share} of {budget}; every request pays for them"))
    asked = max((value for value in map(conversation.setting, _OUTPUT_LIMITS) if type(value) is int), default=0)
    if known.reserve < asked:
        text = f"the reserve of {number(known.reserve)} is below the {number(asked)} tokens that the request allows the answer"
        found.append(Advice("reserve", text))
    return found
