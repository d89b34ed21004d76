"""
Wrong compactors: the laws of the protocol and of loss, broken by clearing in either form.

Each function says in a sentence what it does wrong; see `sabotage` for how.
"""

from __future__ import annotations

from typing import Any, Final

from attrs import evolve

from ..budget import Policy
from ..driving import compact
from ..model import Conversation, Json, Reasoning
from ..outcomes import Compacted, Outcome
from ..protocol.context_edits import edits_in
from ..tokens import Memo
from ..visible import request_tokens
from .sabotage import breaks, remade

__all__ = ["CLEARING"]

_TOOLS: Final = "clear_tool_uses_20250919"


def _clearing(conversation: Conversation, policy: Policy, options: dict[str, Any], **clearing: Any) -> Outcome:
    """Clearing alone, in one of its forms; the policy that others see stays as it is."""
    return compact(conversation, evolve(policy, clearing=evolve(policy.clearing, **clearing)), **{**options, "rungs": ("clear",)})


def _asked(conversation: Conversation, policy: Policy, options: dict[str, Any], **clearing: Any) -> Compacted | None:
    """An honest outcome that asks the provider, where it can be asked."""
    outcome = _clearing(conversation, policy, options, form="edit", **clearing)
    return outcome if isinstance(outcome, Compacted) and outcome.edits is not None else None


def _otherwise(outcome: Compacted, policy: Policy, **fields: Json) -> Compacted:
    """The outcome whose edit of results says something else, and sizes that are right again; itself if nothing is saved."""
    edits: Any = (outcome.edits or {}).get("edits")
    made: list[Json] = [{**edit, **fields} if edit["type"] == _TOOLS else edit for edit in edits]
    after = request_tokens(outcome.conversation, Memo(policy.counter), edits=edits_in(made))
    sizes = outcome.report["sizes"]
    over = max(after - sizes["target"], 0)
    if after >= outcome.before_tokens:
        return outcome
    return evolve(
        outcome,
        edits={**(outcome.edits or {}), "edits": made},
        after_tokens=after,
        over_by_tokens=over,
        reason="above-target" if over else "target-met",
        fits=after <= sizes["budget"],
    )


@breaks("L7")
def hides_the_newest(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
    """The provider is asked to keep nothing, the tail and what was never read included."""
    outcome = _asked(conversation, policy, options)
    if outcome is None:
        return compact(conversation, policy, **options)
    return _otherwise(outcome, policy, keep={"type": "tool_uses", "value": 0}, trigger={"type": "input_tokens", "value": 1})


@breaks("L7")
def clears_the_newest(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
    """What was read last is cleared with the rest."""
    if options.get("store") is None:
        return compact(conversation, policy, **options)
    return _clearing(conversation, evolve(policy, tail_tokens=1), options, keep=0)


@breaks("L1")
def forgets_the_beta(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
    """It asks for edits and does not say which header they need."""
    outcome = _asked(conversation, policy, options)
    return compact(conversation, policy, **options) if outcome is None else evolve(outcome, betas=())


@breaks("L5")
def empties_arguments_under_way(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
    """Arguments are hidden with the results, whatever turn they are of."""
    outcome = _asked(conversation, policy, options)
    return compact(conversation, policy, **options) if outcome is None else _otherwise(outcome, policy, clear_tool_inputs=True)


@breaks("L8")
def hides_a_pin(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
    """Results are results, and nobody looks whether one was pinned."""
    outcome = _asked(conversation, policy, {**options, "pins": ()})
    return compact(conversation, policy, **options) if outcome is None else outcome


@breaks("L10")
def hides_without_storing(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
    """The provider hides it, so it need not be kept."""
    outcome = _asked(conversation, policy, {**options, "store": None})
    return compact(conversation, policy, **options) if outcome is None else outcome


@breaks("L5", "L1", "L7", "L9")
def shortens_old_thoughts(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
    """Of old reasoning the first words stay, under the old seal."""
    if options.get("store") is None:
        return compact(conversation, policy, **options)
    outcome = _clearing(conversation, policy, options, thinking_keep_turns=1)
    if not isinstance(outcome, Compacted):
        return outcome
    messages = list(outcome.conversation.messages)
    for at, old in enumerate(conversation.messages):
        if len(old.blocks) > len(messages[at].blocks):
            short = [evolve(block, text=block.text[:4]) for block in old.blocks if isinstance(block, Reasoning)]
            messages[at] = evolve(messages[at], content=(*short, *messages[at].blocks))
    return remade(outcome, policy, messages)


@breaks("L10")
def forgets_old_thoughts(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
    """Old reasoning goes, and nothing leads back to it."""
    if options.get("store") is None:
        return compact(conversation, policy, **options)
    outcome = _clearing(conversation, policy, options, thinking_keep_turns=1)
    if not isinstance(outcome, Compacted):
        return outcome
    lost = {unit["ref"] for unit in outcome.report["cleared"] if unit["what"] == "reasoning"}
    return evolve(
        outcome,
        issued={ref: size for ref, size in outcome.issued.items() if ref not in lost},
        dropped=tuple(evolve(part, ref=None) if part.ref in lost else part for part in outcome.dropped),
    )


CLEARING: Final = (
    hides_the_newest,
    clears_the_newest,
    forgets_the_beta,
    empties_arguments_under_way,
    hides_a_pin,
    hides_without_storing,
    shortens_old_thoughts,
    forgets_old_thoughts,
)
"""The saboteurs of these laws."""
