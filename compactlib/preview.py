"""
What a compaction would do, before anybody is asked.

What this is
    `plan` runs a compaction whose summaries are written by the extractive
    summariser and whose store is thrown away, and says what it came to.

Rules it obeys
    * Nothing is stored, no model is called, and the conversation stays.
    * It is the same engine, so what it shows is what is done: the rungs, the
      cut and what goes depend on sizes alone.

What is not here
    What a model would write: the size of its summary is given as a range.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from attrs import field, frozen

from .asking import bare_headings
from .budget import Policy
from .driving import check_arguments, compact
from .markers import Issued
from .model import Conversation, Json
from .outcomes import Compacted, Dropped, Outcome
from .store import MemoryStore, Store
from .summaries.extractive import Extractive
from .summaries.rendering import SummaryRequest
from .summaries.schema import schema_for
from .tasks import Pin, Reminder, Rung, When
from .tokens.counting import checked
from .tokens.usage import Anchor

__all__ = ["Preview", "plan"]

_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})


@frozen(kw_only=True)
class Preview:
    """
    What would happen.

    Attributes:
        outcome: ``compacted``, ``unchanged`` or ``refused``.
        reason: why, as the outcome itself would say.
        rungs: which rungs would change something, in their order.
        before_tokens: size of the whole request.
        after_tokens: its smallest and largest size afterwards; a summary may be anything between.
        cut, kept_prompt: where the tail would begin in the input, and the prompt kept before it; see `Compacted`.
        dropped: what would go.
        requests: what a summariser would be shown; a later part shows what the extractive summariser said of those before.
        report: the whole account, as JSON.
    """

    outcome: str
    reason: str
    rungs: tuple[str, ...]
    before_tokens: int
    after_tokens: tuple[int, int]
    cut: int | None
    kept_prompt: int | None
    dropped: tuple[Dropped, ...]
    requests: tuple[SummaryRequest, ...] = field(repr=False)
    report: dict[str, Json] = field(repr=False)


def plan(
    conversation: Conversation,
    policy: Policy,
    *,
    when: When = "auto",
    focus: str | None = None,
    pins: Sequence[Pin] = (),
    reminders: Sequence[Reminder] = (),
    store: Store | bool = False,
    anchor: Anchor | None = None,
    issued: Issued | None = None,
    previous: str | None = None,
    digests: Mapping[str, str] = _NOTHING,
    rungs: Sequence[Rung] | None = None,
) -> Preview:
    """
    Show what `compact` would do with the same arguments.

    Args:
        conversation, policy, when, focus, pins, reminders, anchor, issued, previous, digests, rungs: as for `compact`.
        store: whether there will be one; nothing is put into it.

    Raises:
        PolicyError: as `compact`.

    >>> from compactlib.dialects import parse
    >>> conversation = parse([{"role": "user", "content": "hi"}], dialect="anthropic")
    >>> plan(conversation, Policy(window_tokens=8_000)).reason
    'below-trigger'
    """
    requests: list[SummaryRequest] = []
    check_arguments(conversation, policy)
    extractive = Extractive()

    def answer(request: SummaryRequest) -> str:
        requests.append(request)
        return extractive(request)

    outcome = compact(
        conversation,
        policy,
        summarise=answer,
        when=when,
        focus=focus,
        pins=pins,
        reminders=reminders,
        store=None if store is False or store is None else MemoryStore(),
        anchor=anchor,
        issued=issued,
        previous=previous,
        digests=digests,
        rungs=rungs,
    )
    word: Any = outcome.report["outcome"]
    changed = outcome if isinstance(outcome, Compacted) else None
    return Preview(
        outcome=word,
        reason=outcome.reason,
        rungs=() if changed is None else tuple(dict.fromkeys(one.rung for one in changed.dropped)),
        before_tokens=outcome.before_tokens,
        after_tokens=_after(outcome, policy),
        cut=None if changed is None else changed.cut,
        kept_prompt=None if changed is None else changed.kept_prompt,
        dropped=() if changed is None else changed.dropped,
        requests=tuple(requests),
        report=outcome.report,
    )


def _after(outcome: Outcome, policy: Policy) -> tuple[int, int]:
    """The smallest and the largest size that a summary could lead to."""
    if not isinstance(outcome, Compacted) or outcome.report["rung"] != "summarise":
        return outcome.after_tokens, outcome.after_tokens
    summary: Any = outcome.report["summary"]
    sizes: Any = outcome.report["sizes"]
    rest = outcome.after_tokens - summary["tokens"]
    least = checked(policy.counter)(bare_headings(schema_for(policy.schema, policy.headings)))
    return rest + min(least, summary["tokens"]), rest + max(sizes["summary"], summary["tokens"])
