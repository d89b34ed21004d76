"""
How to make a wrong compactor out of the right one.

What this is
    `breaks` makes a `Saboteur` of a function; the other functions change what
    an honest compaction made, or what it asked, and leave all else as it was.

Rules it obeys
    * What is changed stays consistent in itself: sizes are measured again, a
      summary gets a true header.  So nothing but the one fault is blamed.

What is not here
    The faults (`protocol_saboteurs` and its neighbours).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from attrs import evolve, frozen

from ..assembling import first_changed
from ..budget import Policy
from ..driving import compact
from ..model import Block, Conversation, Message, Origin, Text
from ..outcomes import Compacted, Outcome
from ..protocol.profiles import profile_named
from ..summaries.extractive import Extractive
from ..summaries.head import read_summary, user_message, write_summary
from ..summaries.rendering import SummaryRequest
from ..tokens import Memo
from .running import Compact

__all__ = [
    "Saboteur",
    "asking",
    "breaks",
    "head_stop",
    "in_head",
    "in_transcript",
    "remade",
    "summaries",
    "user",
    "with_body",
]


@frozen
class Saboteur:
    """
    A compactor that breaks one law.

    Attributes:
        name: what it does, in few words.
        law: the law it breaks.
        also: laws that cannot be kept while that one is broken so.
        compact: the compactor.
    """

    name: str
    law: str
    also: frozenset[str]
    compact: Compact


def breaks(law: str, *also: str) -> Callable[[Compact], Saboteur]:
    """Makes a saboteur of *law* out of a function, under the function's name."""

    def made(function: Compact) -> Saboteur:
        name: str = getattr(function, "__name__", "")
        return Saboteur(name.replace("_", "-"), law, frozenset(also), function)

    return made


def remade(outcome: Compacted, policy: Policy, messages: Sequence[Message], *, fused: tuple[int, int] | None = None) -> Compacted:
    """The outcome with other messages, and sizes that are right again; the honest one if that would be too large."""
    made = outcome.conversation
    changed = evolve(made, messages=tuple(messages), fused=fused or made.fused, settled=len(messages))
    sizes = outcome.report["sizes"]
    after = Memo(policy.counter).request(changed)
    over = max(after - sizes["target"], 0)
    if (over and outcome.reason == "target-met") or after >= outcome.before_tokens:
        return outcome
    return evolve(
        outcome,
        conversation=changed,
        after_tokens=after,
        over_by_tokens=over,
        reason="above-target" if over else "target-met",
        fits=after <= sizes["budget"],
        first_changed=first_changed(outcome.before, changed),
    )


def head_stop(outcome: Compacted) -> int:
    """How many messages of the result stand before the tail."""
    before = outcome.before
    return len(outcome.conversation.messages) - (len(before.messages) - before.position(outcome.cut))


def in_head(outcome: Compacted, policy: Policy, extra: Message) -> Compacted:
    """The outcome with one more message at the beginning of its head."""
    messages = outcome.conversation.messages
    start, stop = outcome.conversation.fused
    at = start if stop else next(at for at, message in enumerate(messages) if message.role == "user")
    return remade(outcome, policy, (*messages[:at], extra, *messages[at:]), fused=(start, stop + 1) if stop else None)


def with_body(outcome: Compacted, policy: Policy, change: Callable[[str], str]) -> Compacted:
    """The outcome with other sections in its summary."""
    messages = list(outcome.conversation.messages)
    at = next(at for at, message in enumerate(messages) if message.origin is Origin.SUMMARY)
    first, *rest = messages[at].blocks
    head = read_summary(first.text) if isinstance(first, Text) else None
    if head is None:
        return outcome
    text = write_summary(change(head.body), head.layout)
    if policy.counter(text) > outcome.report["sizes"]["summary"]:
        return outcome
    messages[at] = user(outcome, Text(text), *rest, origin=Origin.SUMMARY)
    return remade(outcome, policy, messages)


def user(outcome: Compacted, *blocks: Block, origin: Origin) -> Message:
    """A message of the head, as this dialect writes them."""
    return user_message(blocks, origin, profile_named(outcome.report["profile"]))


def summaries(conversation: Conversation) -> Iterator[Message]:
    for message in conversation.messages:
        if message.origin is Origin.SUMMARY:
            yield message


def asking(change: Callable[[SummaryRequest], SummaryRequest]) -> Compact:
    """A compactor that asks otherwise."""

    def made(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
        ask = options.pop("summarise", None) or Extractive(counter=policy.counter)
        return compact(conversation, policy, summarise=lambda request: ask(change(request)), **options)

    return made


def in_transcript(change: Callable[[list[str]], list[str]]) -> Callable[[SummaryRequest], SummaryRequest]:
    """Changes the lines of the transcript in a request, and leaves what stands before it."""

    def changed(request: SummaryRequest) -> SummaryRequest:
        before, found, after = request.text.rpartition("\n=== Transcript")
        lines = (found + after).split("\n")
        return evolve(request, text=before + "\n".join(change(lines)))

    return changed
