"""
Wrong compactors: the laws of the protocol, L1 to L5.

Each function says in a sentence what it does wrong; see `sabotage` for how.
"""

from __future__ import annotations

from typing import Any, Final

from attrs import evolve

from ..budget import Policy
from ..driving import compact
from ..model import Conversation, Media, Reasoning
from ..outcomes import Compacted, Outcome, Refused
from ..turns import Kind, divide
from .sabotage import breaks, head_stop, remade, with_body

__all__ = ["PROTOCOL"]


@breaks("L1", "L2", "L7")
def drops_a_result(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
    """One answered call of the tail loses its answer."""
    outcome = compact(conversation, policy, **options)
    if not isinstance(outcome, Compacted):
        return outcome
    messages = outcome.conversation.messages
    for at in range(head_stop(outcome), len(messages) - 1):
        whole = messages[at].blocks
        if messages[at].results and messages[at + 1].role == "model":
            kept = tuple(block for block in whole if block is not messages[at].results[0])
            return remade(
                outcome, policy, (*messages[:at], *([evolve(messages[at], content=kept)] if kept else []), *messages[at + 1 :])
            )
    return outcome


@breaks("L2")
def keeps_an_old_picture(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
    """An attachment of a step that went is kept, because pictures matter."""
    outcome = compact(conversation, policy, **options)
    if isinstance(outcome, Compacted):
        kinds = divide(conversation).kinds
        for at in reversed(range(conversation.position(outcome.cut))):
            media = any(isinstance(block, Media) for block in conversation.messages[at].blocks)
            if kinds[at] is Kind.ATTACHMENT and media and not conversation.fused[1]:
                messages = outcome.conversation.messages
                start = next(place for place, message in enumerate(messages) if message.role == "user")
                first, last = outcome.conversation.fused
                moved = (first + 1, last + 1) if last else None
                return remade(outcome, policy, (*messages[:start], conversation.messages[at], *messages[start:]), fused=moved)
    return outcome


@breaks("L3", "L2", "L15")
def cuts_at_a_picture(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
    """The last user-role message is taken for the person's, picture or not."""
    outcome = compact(conversation, policy, **options)
    if not isinstance(outcome, Compacted):
        return outcome
    kinds = divide(conversation).kinds
    cut = conversation.position(outcome.cut)
    at = next((at for at in range(cut, len(kinds)) if kinds[at] is Kind.ATTACHMENT), None)
    pictures = at is not None and any(isinstance(block, Media) for block in conversation.messages[at].blocks)
    if at is None or not pictures or any(kind is Kind.PROMPT for kind in kinds[cut:]):
        return outcome
    lost = conversation.messages[cut:at]
    if any(message.role == "user" and len(message.blocks) > len(message.results) for message in lost):
        return outcome  # a person may have said it, and that is another law's
    messages = outcome.conversation.messages
    made = remade(outcome, policy, (*messages[: head_stop(outcome)], *conversation.messages[at:]))
    return evolve(made, cut=conversation.wire_index(at))


@breaks("L3", "L15")
def cuts_short(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
    """It keeps less of the tail than it is allowed to, to be on the safe side."""
    honest = compact(conversation, policy, **options)
    tail = (honest.report.get("sizes") or {}).get("tail", 0)
    if not isinstance(honest, Compacted) or tail < 8:
        return honest
    short = compact(conversation, evolve(policy, tail_tokens=tail // 3), **{**options, "summarise": None})
    if not isinstance(short, Compacted) or short.cut == honest.cut or short.reason != "target-met":
        return honest
    made = with_body(short, policy, lambda _: honest.summary)  # what the summariser said to the honest one
    return evolve(made, report={**short.report, "sizes": honest.report["sizes"], "asked": honest.report["asked"]})


@breaks("L4", "L5", "L7")
def forgets_the_frontier(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
    """A call that is still running is tidied away."""
    outcome = compact(conversation, policy, **options)
    division = divide(conversation)
    if not isinstance(outcome, Compacted) or not division.pending:
        return outcome
    lost = len(conversation.messages) - max(one.start for one in division.steps if one.start <= division.pending[0][0])
    messages = outcome.conversation.messages
    return remade(outcome, policy, messages[:-lost]) if len(messages) - lost > head_stop(outcome) else outcome


@breaks("L4", "L14")
def stops_at_a_dangling_call(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
    """One unanswered call anywhere, and nothing may be cut."""
    outcome = compact(conversation, policy, **options)
    if isinstance(outcome, Compacted) and divide(conversation).dangling:
        return Refused(
            conversation=conversation,
            reason="no-legal-cut",
            why="some call is open",
            before_tokens=outcome.before_tokens,
            report=outcome.report,
        )
    return outcome


@breaks("L5", "L1", "L7")
def strips_thinking(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
    """Thoughts of the past are no use, it thinks."""
    outcome = compact(conversation, policy, **options)
    if isinstance(outcome, Compacted) and not divide(conversation).pending:
        messages = list(outcome.conversation.messages)
        current = len(messages) - (len(conversation.messages) - divide(conversation).current_turn)
        for at in range(max(head_stop(outcome), current), len(messages)):
            kept = tuple(block for block in messages[at].blocks if not isinstance(block, Reasoning))
            if len(kept) < len(messages[at].blocks) and kept and conversation.dialect == "anthropic":
                messages[at] = evolve(messages[at], content=kept)
                return remade(outcome, policy, messages)
    return outcome


PROTOCOL: Final = (
    drops_a_result,
    keeps_an_old_picture,
    cuts_at_a_picture,
    cuts_short,
    forgets_the_frontier,
    stops_at_a_dangling_call,
    strips_thinking,
)
"""The saboteurs of these laws."""
