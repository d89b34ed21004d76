"""
Wrong compactors: the laws of asking and of what can be had again, L10, L14, L15, L18 and L24.

Each function says in a sentence what it does wrong; see `sabotage` for how.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final

from attrs import evolve

from ..budget import Policy
from ..driving import compact
from ..model import Conversation
from ..outcomes import Compacted, Outcome, Refused
from ..store import Store, reference_of
from ..summaries.acceptance import Summary
from ..summaries.extractive import Extractive
from ..summaries.rendering import SummaryRequest
from .sabotage import asking, breaks, in_transcript

__all__ = ["ASKING"]


class _Halving:
    """A store that keeps the first half of everything, and says that it kept all."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def put(self, data: bytes, name: str = "") -> str:
        self.store.put(data[: len(data) // 2], name)
        return reference_of(data)

    def get(self, reference: str) -> bytes:
        return self.store.get(reference)


@breaks("L10")
def stores_half(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
    """What is removed is stored as far as the disk has room, and nobody looks whether all of it is there."""
    store = options.pop("store", None)
    return compact(conversation, policy, store=None if store is None else _Halving(store), **options)


@breaks("L10")
def undoes_to_the_tail(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
    """It does not hold what it replaced: undoing gives back what was kept."""
    outcome = compact(conversation, policy, **options)
    if not isinstance(outcome, Compacted) or not outcome.summary:
        return outcome
    tail = conversation.messages[conversation.position(outcome.cut) :]
    return evolve(outcome, before=evolve(conversation, messages=tail, fused=(0, 0)))


@breaks("L10")
def quotes_the_settings(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
    """Its account quotes what stands around the messages, credentials and all."""
    outcome = compact(conversation, policy, **options)
    around = {name: value for name, value in conversation.envelope.fields or () if value is not None}
    return evolve(outcome, report={**outcome.report, "around": around})


@breaks("L14")
def asks_anyway(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
    """It asks for a summary to see whether it would help."""
    outcome = compact(conversation, policy, **options)
    ask = options.get("summarise")
    if ask is not None and isinstance(outcome, Refused) and outcome.reason in ("irreducible", "no-legal-cut"):
        request = SummaryRequest("Summarise.", "> all of it", "", 100, 1, 1, 1, "", "none", ())
        with suppress(Exception):
            ask(request)
        return evolve(outcome, report={**outcome.report, "asked": [{"part": 1}]})
    return outcome


@breaks("L14", "L24")
def asks_again_in_the_same_words(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
    """The better of two replies is taken, and both are the same."""
    ask = options.pop("summarise", None) or Extractive(counter=policy.counter)

    def twice(request: SummaryRequest) -> str | Summary:
        ask(request)
        reply: str | Summary = ask(request)
        return reply

    return compact(conversation, policy, summarise=twice, **options)


@breaks("L15")
def explains_at_length(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
    """The instructions grow, and nobody counts them."""
    window = policy.summariser_window_tokens or policy.window_tokens
    more = " Be careful." * window
    return asking(lambda request: evolve(request, instructions=request.instructions + more))(conversation, policy, **options)


def _without_first(lines: list[str]) -> list[str]:
    """All but the first message of a transcript."""
    starts = [at for at, line in enumerate(lines) if line.startswith("--- message ")]
    first = [at for at in starts if lines[at].split(" · ")[0] == lines[starts[0]].split(" · ")[0]] if starts else []
    stop = starts[len(first)] if len(first) < len(starts) else len(lines)
    return [*lines[: starts[0]], *lines[stop:]] if starts and stop < len(lines) else lines


@breaks("L15")
def skips_a_message(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
    """The oldest message is not shown: it is the oldest."""
    return asking(in_transcript(_without_first))(conversation, policy, **options)


@breaks("L18")
def says_that_the_head_is_unchanged(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
    """The cut is taken for the first message that changed."""
    outcome = compact(conversation, policy, **options)
    return evolve(outcome, first_changed=outcome.cut) if isinstance(outcome, Compacted) and outcome.cut else outcome


@breaks("L24")
def hides_what_failed(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
    """Only replies that were taken stand in the account."""
    outcome = compact(conversation, policy, **options)
    taken = [one for one in outcome.report["asked"] if one["verdict"] == "accepted"]
    return evolve(outcome, report={**outcome.report, "asked": taken})


ASKING: Final = (
    stores_half,
    undoes_to_the_tail,
    quotes_the_settings,
    asks_anyway,
    asks_again_in_the_same_words,
    explains_at_length,
    skips_a_message,
    says_that_the_head_is_unchanged,
    hides_what_failed,
)
"""The saboteurs of these laws."""
