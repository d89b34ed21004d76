"""
The ladder: what is cheap and can be taken back comes first.

What this is
    `cascade` runs the rungs of a compaction in their order.  It is a generator
    like `compaction`, which is its last rung: it yields `AskSummary`, is sent
    replies, and ends with one `Outcome`.

Rules it obeys
    * Each rung runs only if the one before did not reach the target.
    * Law L6.  A rung that finished is a transition of its own and stays: if the
      summary then fails, what was cleared is cleared, and the report says what
      failed.
    * Law L10.  Clearing needs a store; without one only messages as a whole
      are removed, and the outcome holds them.
    * Law L17.  At or below its trigger a rung does nothing.
    * What is pinned is not cleared.

How it works
    *clear* has a trigger of its own, half the budget, below that of the
    summary: what can be fetched back is cleared early, what is summarised is
    summarised late.  If clearing is enough, no model is asked.

What is not here
    What is cleared (`clearing`) and how the summary comes about (`compaction`).
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

from attrs import asdict, evolve

from .budget import Policy, Sizes, sizes
from .clearing import Cleared, clear
from .compaction import Reply, Run, compaction, seen_tokens
from .errors import PolicyError, StoreError
from .markers import Issued
from .model import Conversation
from .outcomes import AskSummary, Compacted, Dropped, Outcome, Refused
from .planning import Pin, Reminder, overhead_tokens
from .store import Store
from .tokens import Memo
from .turns import divide

__all__ = ["RUNGS", "Rung", "cascade"]

Rung: TypeAlias = Literal["clear", "summarise"]

RUNGS: Final[tuple[Rung, ...]] = ("clear", "summarise")
"""The rungs there are, in their order."""


def cascade(
    conversation: Conversation,
    policy: Policy,
    *,
    when: Literal["auto", "now"] = "auto",
    focus: str | None = None,
    pins: Sequence[Pin] = (),
    reminders: Sequence[Reminder] = (),
    store: Store | None = None,
    issued: Issued | None = None,
    previous: str | None = None,
    rungs: Sequence[Rung] | None = None,
    run: str = "",
) -> Generator[AskSummary, Reply, Outcome]:
    """
    Make one conversation smaller, rung by rung; see `compactlib.compact` for the arguments.

    Yields:
        `AskSummary`: to be answered by the reply, or by `SummaryFailed`.

    Returns:
        The outcome.

    Raises:
        PolicyError: an argument names something that is not there, or clearing
            is asked for without a store.
    """
    chosen = _rungs(rungs, store)
    cleared: Cleared | None = None
    before_tokens = 0
    known: Sizes | None = None
    if store is not None and "clear" in chosen and policy.auto:
        try:
            memo = Memo(policy.counter)
            before_tokens = memo.request(conversation)
            known = sizes(policy, overhead_tokens=overhead_tokens(conversation, memo))
            is_new = not conversation.settled or conversation.settled != len(conversation.messages)
            if is_new and (when == "now" or seen_tokens(conversation, memo, before_tokens) > known.clearing):
                cleared = _clear(conversation, policy, memo, store, known, before_tokens, when, pins, issued or {})
        except StoreError as error:
            return _store_failed(conversation, policy, when, run, before_tokens, error)
        except PolicyError as error:
            if error.field != "counter":
                raise
    known_refs = {**(issued or {}), **(cleared.issued if cleared is not None else {})}
    further = {
        "issued": known_refs,
        "when": when,
        "focus": focus,
        "pins": pins,
        "reminders": reminders,
        "previous": previous,
        "run": run,
    }
    if cleared is None or known is None:
        if "summarise" in chosen:
            return (yield from compaction(conversation, policy, **further))  # type: ignore[arg-type]  # the arguments, as they came
        return _nothing_to_clear(conversation, policy, when, run, before_tokens)
    alone = _by_clearing(conversation, policy, when, run, known, before_tokens, cleared)
    enough = alone.after_tokens <= (known.target if when == "now" else max(known.target, known.trigger))
    if enough or "summarise" not in chosen:
        return alone
    after = yield from compaction(cleared.conversation, policy, **further)  # type: ignore[arg-type]  # see above
    if isinstance(after, Compacted):
        return _joined(alone, after)
    # L6: "a rung that finished before it is an own transition with its own record and stays"
    why = {"outcome": after.report["outcome"], "reason": after.reason}
    return evolve(alone, report={**alone.report, "asked": after.report["asked"], "then": why})


def _rungs(rungs: Sequence[Rung] | None, store: Store | None) -> tuple[Rung, ...]:
    if rungs is None:
        return RUNGS if store is not None else ("summarise",)
    unknown = [rung for rung in rungs if rung not in RUNGS]
    if unknown or not rungs:
        raise PolicyError("rungs", f"some of {', '.join(RUNGS)}, not {rungs!r}")
    if "clear" in rungs and store is None:
        raise PolicyError("store", "clearing needs one, because what is cleared has to be kept", rule="L10")
    return tuple(rung for rung in RUNGS if rung in rungs)


def _clear(
    conversation: Conversation,
    policy: Policy,
    memo: Memo,
    store: Store,
    known: Sizes,
    before_tokens: int,
    when: str,
    pins: Sequence[Pin],
    issued: Issued,
) -> Cleared | None:
    least = policy.clearing.clear_at_least_tokens
    if least is None:
        least = 1 if when == "now" else known.min_gain
    pinned = {conversation.position(pin if isinstance(pin, int) else pin[0]) for pin in pins}
    return clear(
        conversation,
        divide(conversation),
        memo,
        store,
        options=policy.clearing,
        before_tokens=before_tokens,
        target_tokens=known.target,
        tail_tokens=max(known.tail, 0),
        least_gain_tokens=least,
        issued=issued,
        untouched=pinned,
    )


def _by_clearing(
    conversation: Conversation, policy: Policy, when: str, run: str, known: Sizes, before_tokens: int, cleared: Cleared
) -> Compacted:
    """The outcome of clearing alone."""
    at = conversation.wire_index
    after = before_tokens - cleared.saved_tokens
    over = max(after - known.target, 0)
    dropped = tuple(Dropped(at(one.position), at(one.position) + 1, "clear", one.saved_tokens, one.ref) for one in cleared.units)
    units = [{**asdict(one), "position": at(one.position)} for one in cleared.units]
    account = Run(conversation, policy, when, run)
    account.before_tokens = before_tokens
    account.sizes = known
    reason = "above-target" if over else "target-met"
    return Compacted(
        conversation=evolve(cleared.conversation, settled=len(conversation.messages)),
        reason=reason,
        before_tokens=before_tokens,
        after_tokens=after,
        first_changed=min(at(one.position) for one in cleared.units),
        report=account.report("compacted", reason, after, cleared=units, dropped=[asdict(one) for one in dropped]),
        cut=0,
        kept_prompt=None,
        dropped=dropped,
        summary="",
        irreducible=(),
        over_by_tokens=over,
        fits=after <= known.budget,
        issued=cleared.issued,
        before=conversation,
    )


def _joined(first: Compacted, then: Compacted) -> Compacted:
    """One outcome of two rungs."""
    dropped = (*first.dropped, *then.dropped)
    report: Mapping[str, Any] = {
        **then.report,
        "before_tokens": first.before_tokens,
        "cleared": first.report["cleared"],
        "dropped": [asdict(one) for one in dropped],
    }
    return evolve(
        then,
        before=first.before,
        before_tokens=first.before_tokens,
        first_changed=min(first.first_changed, then.first_changed),
        dropped=dropped,
        report=dict(report),
        issued={**first.issued, **then.issued},
    )


def _store_failed(
    conversation: Conversation, policy: Policy, when: str, run: str, before_tokens: int, error: StoreError
) -> Refused:
    account = Run(conversation, policy, when, run)
    account.before_tokens = before_tokens
    return account.refused("store-failed", str(error), ())


def _nothing_to_clear(conversation: Conversation, policy: Policy, when: str, run: str, before_tokens: int) -> Outcome:
    """What comes of it where clearing alone is allowed and there is nothing to clear."""
    account = Run(conversation, policy, when, run)
    account.before_tokens = before_tokens or account.memo.request(conversation)
    known = sizes(policy, overhead_tokens=overhead_tokens(conversation, account.memo))
    if not policy.auto and when == "auto":
        return account.unchanged("auto-off")
    if when == "auto" and account.before_tokens <= known.clearing:
        return account.unchanged("below-trigger")
    if conversation.settled and conversation.settled == len(conversation.messages):
        return account.unchanged("nothing-new")
    return account.refused("irreducible", "no old output is left that could be cleared", ())
