"""
Wrong compactors: the laws of size and stability, L12, L13, L16, L17 and L19.

Each function says in a sentence what it does wrong; see `sabotage` for how.
"""

from __future__ import annotations

import random
from typing import Any, Final

from attrs import evolve

from ..budget import Policy
from ..driving import compact
from ..model import Call, Conversation
from ..outcomes import Compacted, Outcome, Unchanged
from .sabotage import asking, breaks, head_stop, summaries

__all__ = ["STABILITY"]


@breaks("L12", "L3", "L13", "L8")
def keeps_everything(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
    """The summary is put in front, and nothing is taken away."""
    outcome = compact(conversation, policy, **options)
    if not isinstance(outcome, Compacted) or options.get("pins") or next(summaries(conversation), None) is not None:
        return outcome
    messages = outcome.conversation.messages
    head = messages[: head_stop(outcome) - (outcome.kept_prompt is not None)]
    old = [message for message in conversation.messages if not any(message is kept for kept in head)]
    made = evolve(outcome.conversation, messages=(*head, *old), fused=(0, 0), settled=len(head) + len(old))
    return evolve(outcome, conversation=made)


@breaks("L13")
def calls_it_met(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
    """Above the target, and it says nothing."""
    outcome = compact(conversation, policy, **options)
    return evolve(outcome, reason="target-met", over_by_tokens=0) if isinstance(outcome, Compacted) else outcome


@breaks("L16")
def throws_dice(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
    """Every request is signed with a number that no other has, as a date would be."""
    signed = random.random()  # noqa: S311 - that is the fault
    return asking(lambda request: evolve(request, instructions=f"{request.instructions}\n\nRun {signed}."))(
        conversation, policy, **options
    )


@breaks("L17", "L14", "L24")
def is_eager(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
    """Below the trigger is near enough."""
    outcome = compact(conversation, policy, **options)
    if isinstance(outcome, Unchanged) and outcome.reason == "below-trigger":
        early = compact(conversation, policy, **{**options, "when": "now"})
        if isinstance(early, Compacted) and early.before_tokens - early.after_tokens > policy.window_tokens // 20:
            return early
    return outcome


@breaks("L17")
def cannot_stop(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
    """It does not remember that there is nothing new."""
    outcome = compact(conversation, policy, **options)
    if isinstance(outcome, Compacted):
        return evolve(outcome, conversation=evolve(outcome.conversation, settled=0))
    return outcome


@breaks("L19", "L3", "L10")
def scribbles_on_the_input(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
    """Arguments of old calls are emptied in place."""
    outcome = compact(conversation, policy, **options)
    if isinstance(outcome, Compacted):
        for message in conversation.messages[: conversation.position(outcome.cut)]:
            for block in message.blocks:
                if isinstance(block, Call) and isinstance(block.arguments, dict):
                    block.arguments.clear()
    return outcome


STABILITY: Final = (
    keeps_everything,
    calls_it_met,
    throws_dice,
    is_eager,
    cannot_stop,
    scribbles_on_the_input,
)
"""The saboteurs of these laws."""
