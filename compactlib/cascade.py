"""
The ladder: what is cheap and can be taken back comes first.

What this is
    `cascade` runs the rungs of a compaction in their order.  It is a generator
    like `compaction`, which its higher rungs are: it yields what is asked, is
    sent answers, and ends with one `Outcome`.

Rules it obeys
    * Each rung runs only if the one before did not reach the target.
    * Law L6.  A rung that finished is a transition of its own and stays: if the
      summary then fails, what was cleared is cleared, and the report says what
      failed.
    * Law L10.  Clearing that changes messages needs a store; without one only
      messages as a whole are removed, and the outcome holds them.
    * Law L17.  At or below its trigger a rung does nothing.
    * What is pinned is not cleared.

How it works
    *clear* has a trigger of its own, half the budget, below that of the
    summary: what can be fetched back is cleared early, what is summarised is
    summarised late.  Where the policy wants it and the provider can, it is only
    asked to hide the same (`editing`); if that is not enough, the next rung
    begins with the input, because edits that a summary would follow are not
    needed any more.  *collapse* needs digests.  If they are enough, no model
    is asked.  *snip* runs only where the caller named it, or where a provider
    said that the prompt is too long, the policy allows it and the rungs before
    did not bring the request below the budget.

    A provider that refuses a request of a size that should fit has a smaller
    window than was thought, or counts more tokens: the size that was refused
    takes the place of the window (`_learned`).

What is not here
    What is cleared (`clearing`, `editing`) and how messages are replaced (`compaction`).
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from typing import Any, Final

from attrs import asdict, evolve

from .account import Account
from .budget import Policy, Sizes, sizes
from .bulk import bulk_of
from .clearing import Cleared, ClearedUnit, clear
from .compaction import Answer, Event, compaction, is_due
from .editing import ask_to_hide, form_of
from .errors import PolicyError, StoreError
from .model import Block, Conversation, Json
from .outcomes import Compacted, Dropped, Outcome, Refused
from .planning import overhead_tokens, profile_of
from .protocol.binding import betas_for, dropping
from .tasks import RUNGS, Pin, Rung, Task
from .tokens import Corrected, Memo
from .turns import divide
from .visible import request_tokens

__all__ = ["cascade"]

_MOST_OFF: Final = 8
"""How many times a report may be what was counted, or the reverse: more than any script, number or picture makes of it."""


def cascade(conversation: Conversation, policy: Policy, task: Task) -> Generator[Event, Answer, Outcome]:
    """
    Make one conversation smaller, rung by rung; see `compactlib.compact`.

    Yields:
        `AskSummary` and `AskReview`, to be answered as `compaction` says.

    Returns:
        The outcome.

    Raises:
        PolicyError: an argument names something that is not there.
    """
    try:
        policy, task = _measured(conversation, policy, task)
        policy = _learned(conversation, policy, task)
    except PolicyError as error:
        if error.field != "counter":
            raise
    account = Account(conversation, policy, task)
    made: Compacted | None = None  # by the rungs so far
    last: Outcome | None = None  # of the last rung that ran
    tried: list[dict[str, Json]] = []
    of_asking: dict[str, Json] = {}
    for rung in _rungs(account):
        if made is not None and _is_enough(made, task):
            break
        if rung == "snip" and rung not in (task.rungs or policy.rungs or ()) and isinstance(last, Compacted) and last.fits:
            break
        asked = made is None or made.edits is not None  # nothing has been changed so far
        current = conversation if made is None or asked else made.conversation
        further = task if made is None or asked else _after(task, made)
        if rung == "clear":
            outcome: Outcome = _cleared(account)
        else:
            fresh = current if asked else evolve(current, settled=0)
            outcome = yield from compaction(fresh, policy, further, rung=rung)
        if rung == "summarise":  # L24: whatever comes of the rungs behind it
            of_asking = {name: outcome.report[name] for name in ("asked", "why_form", "learned")}
        try:
            if isinstance(outcome, Compacted):
                made = outcome if made is None or asked else _joined(made, outcome, account.memo)
        except PolicyError as error:  # the counter's, which has counted all of it before
            outcome = account.refused("callback:counter", str(error), ())
        tried.append(_told(account, rung, outcome))
        last = outcome
        if isinstance(outcome, Refused) and outcome.reason == "store-failed":
            break
    # L6: "a rung that finished before it is an own transition with its own record and stays"
    final = made if made is not None else last if last is not None else account.unchanged("below-trigger")
    return evolve(final, report={**final.report, **of_asking, "rungs": tried})


def _told(account: Account, rung: Rung, outcome: Outcome) -> dict[str, Json]:
    """What a rung tried and what came of it, for the report."""
    return {
        "rung": rung,
        "form": None if rung != "clear" else "edit" if _can_ask(account) else "rewrite",
        "outcome": outcome.report["outcome"],
        "reason": outcome.reason,
        "after_tokens": outcome.after_tokens,
    }


def _rungs(account: Account) -> tuple[Rung, ...]:
    """The rungs to run, in their order."""
    policy, task = account.policy, account.task
    can_clear = task.store is not None or _can_ask(account)
    if "clear" in (task.rungs or policy.rungs or ()) and not can_clear:
        raise PolicyError("store", "clearing needs one, because what is cleared has to be kept", rule="L10")
    if task.rungs is not None:
        return tuple(rung for rung in RUNGS if rung in task.rungs)
    runs = {
        "clear": policy.auto and can_clear,
        "collapse": bool(task.digests),
        "summarise": True,
        "snip": False,
    }
    if policy.rungs is not None:
        runs = {rung: rung in policy.rungs for rung in RUNGS}
    runs["snip"] |= task.when == "overflow" and policy.on_overflow == "snip"
    return tuple(rung for rung in RUNGS if runs[rung])


def _can_ask(account: Account) -> bool:
    """Whether clearing changes no message."""
    conversation, policy = account.conversation, account.policy
    if policy.clearing.form == "rewrite" or account.is_heavy:
        return False
    return form_of(conversation, profile_of(conversation, policy), policy.clearing, model=policy.model)[0] == "edit"


def _is_enough(made: Compacted, task: Task) -> bool:
    """Whether the rungs so far reached the target; by itself, a compaction also rests below its trigger."""
    known: Any = made.report["sizes"]
    limit: int = max(known["target"], known["trigger"]) if task.when == "auto" else known["target"]
    bulk: Any = made.report["bulk"]
    return made.after_tokens <= limit and (bulk is None or made.fits)


def _after(task: Task, made: Compacted) -> Task:
    """The task for the rung after *made*: references that are known now, and pins where they stand now."""
    gone = made.before.length - made.conversation.length
    pins: list[Pin] = []
    for pin in task.pins:
        index, place = pin if isinstance(pin, tuple) else (pin, None)
        if index < made.cut:  # it stands in the head, where it is known as a pin
            continue
        if place is None:
            pins.append(index - gone)
        else:  # behind the head, where that is one message with it
            head = len(_blocks(made.conversation, index - gone)) - len(_blocks(made.before, index))
            pins.append((index - gone, place + head))
    previous = task.previous if made.cut == 0 else None
    issued = {**(task.issued or {}), **made.issued}
    is_stale = made.thinking is not None
    return evolve(task, pins=pins, previous=previous, anchor=None, issued=issued, is_stale=is_stale)


def _blocks(conversation: Conversation, index: int) -> list[Block]:
    """The blocks of one message of the wire."""
    messages = conversation.messages[conversation.position(index) : conversation.position(index + 1)]
    return [block for message in messages for block in message.blocks]


def _measured(conversation: Conversation, policy: Policy, task: Task) -> tuple[Policy, Task]:
    """
    The policy with a counter that agrees with what the provider reported, and the task without the report.

    Only where something may be due: the counting takes as long as the rest of
    a look that finds nothing to do.  A report that no counter can be so far
    from is of something else, and believed in nothing.
    """
    anchor = task.anchor
    stop = None if anchor is None else anchor.covered(conversation)
    if anchor is None or stop is None:
        return policy, evolve(task, anchor=None)
    if task.when == "auto":
        known = sizes(policy, overhead_tokens=0)
        if anchor.size(conversation, Memo(policy.counter)) <= min(known.trigger, known.clearing):
            return policy, task
    covered = evolve(conversation, messages=conversation.messages[:stop], fused=(0, 0), settled=0)
    # What does not depend on the counter, pictures and a constant for each message, is right as it is.
    fixed, counted = (request_tokens(covered, Memo(counter)) for counter in (lambda _: 0, policy.counter))
    reported, counted = anchor.reported_tokens - fixed, counted - fixed
    if counted > 0 and counted <= reported * _MOST_OFF and reported <= counted * _MOST_OFF:
        policy = evolve(policy, counter=Corrected(policy.counter, reported, counted))
    return policy, evolve(task, anchor=None)


def _learned(conversation: Conversation, policy: Policy, task: Task) -> Policy:
    """The policy, with the size that a provider refused in the place of the window."""
    if task.when != "overflow":
        return policy
    memo = Memo(policy.counter)
    refused = request_tokens(conversation, memo)
    if refused > sizes(policy, overhead_tokens=0).budget:
        return policy
    return evolve(
        policy,
        window_tokens=max(refused, 1),
        reserve_tokens=None,
        trigger_tokens=None,
        trigger_of="budget",
        target_tokens=None,
        tail_tokens=None,
    )


def _cleared(account: Account) -> Outcome:
    """What comes of the first rung."""
    conversation, policy, task, memo = account.conversation, account.policy, account.task, account.memo
    try:
        account.before_tokens = request_tokens(conversation, memo)
        account.sizes = known = sizes(policy, overhead_tokens=overhead_tokens(conversation, memo))
        if not policy.auto and task.when != "now":
            return account.unchanged("auto-off")
        if task.when == "auto" and not is_due(account, known.clearing):
            return account.unchanged("below-trigger")
        if conversation.settled and conversation.settled == len(conversation.messages):
            return account.unchanged("nothing-new")
        if _can_ask(account):
            return _asked(account, known)
        cleared = _clear(account, known)
    except StoreError as error:
        return account.refused("store-failed", str(error), ())
    except PolicyError as error:
        if error.field != "counter":
            raise
        return account.refused("callback:counter", str(error), ())
    if cleared is None:
        return account.refused("irreducible", "no old output is left that could be cleared", ())
    return _by_clearing(account, known, cleared)


def _clear(account: Account, known: Sizes) -> Cleared | None:
    conversation, policy, task = account.conversation, account.policy, account.task
    if task.store is None:
        raise PolicyError("store", "clearing needs one, because what is cleared has to be kept", rule="L10")
    excess_bytes, excess_media = (0, 0) if account.bulk is None else account.bulk.excess(policy)
    return clear(
        conversation,
        divide(conversation),
        account.memo,
        task.store,
        options=policy.clearing,
        before_tokens=account.before_tokens,
        target_tokens=known.target,
        tail_tokens=0 if account.is_heavy else max(known.tail, 0),
        least_gain_tokens=_least(account, known),
        issued=task.issued or {},
        excess_media=excess_media,
        excess_bytes=excess_bytes,
        untouched=_pinned(account),
        profile=profile_of(conversation, policy),
    )


def _least(account: Account, known: Sizes) -> int:
    """What clearing has to save."""
    least = account.policy.clearing.clear_at_least_tokens
    return least if least is not None else known.min_gain if account.task.when == "auto" else 1


def _pinned(account: Account) -> set[int]:
    """The positions of the messages that the caller pinned."""
    return {account.conversation.position(pin if isinstance(pin, int) else pin[0]) for pin in account.task.pins}


def _asked(account: Account, known: Sizes) -> Outcome:
    """The outcome of asking the provider to hide what clearing would clear."""
    conversation, policy, task = account.conversation, account.policy, account.task
    hiding = ask_to_hide(
        conversation,
        divide(conversation),
        account.memo,
        task.store,
        profile=profile_of(conversation, policy),
        options=policy.clearing,
        before_tokens=account.before_tokens,
        target_tokens=known.target,
        tail_tokens=max(known.tail, 0),
        least_gain_tokens=_least(account, known),
        untouched=_pinned(account),
        model=policy.model,
    )
    if hiding is None:
        return account.refused("irreducible", "no old output is left that the provider could be asked to hide", ())
    told = {
        "form": "edit",
        "why": None,
        "context_management": hiding.edits,
        "betas": list(hiding.betas),
        "hidden": _units_in(account, hiding.units),
        "failed": hiding.failed,
        "spared": hiding.spared,
    }
    return _without_summary(
        account,
        known,
        conversation,
        hiding.after_tokens,
        hiding.units,
        report={"edits": told},
        first_changed=None,
        issued=hiding.issued,
        edits=hiding.edits,
        betas=hiding.betas,
    )


def _why_rewritten(account: Account) -> dict[str, Any] | None:
    """Why messages were changed although the policy would have had the provider asked; ``None`` if it would not."""
    conversation, policy = account.conversation, account.policy
    if policy.clearing.form == "rewrite":
        return None
    why = form_of(conversation, profile_of(conversation, policy), policy.clearing, model=policy.model)[1]
    return {"form": "rewrite", "why": why or "the body is too heavy, and an edit takes nothing out of it"}


def _by_clearing(account: Account, known: Sizes, cleared: Cleared) -> Outcome:
    """The outcome of clearing alone."""
    conversation, made = account.conversation, cleared.conversation
    after = request_tokens(made, account.memo)
    if after >= account.before_tokens:  # an edit that the provider made is not due any more
        return account.refused("irreducible", "what could be cleared is hidden by the provider already", ())
    thinking = dropping(conversation, made, model=account.policy.model)
    report = {
        "cleared": _units_in(account, cleared.units),
        "edits": _why_rewritten(account),
        "thinking": thinking,
    }
    first = min(conversation.wire_index(one.position) for one in cleared.units)
    return _without_summary(
        account,
        known,
        made,
        after,
        cleared.units,
        report=report,
        first_changed=first,
        issued=cleared.issued,
        thinking=thinking,
        betas=betas_for(thinking),
    )


def _units_in(account: Account, units: Sequence[ClearedUnit]) -> list[dict[str, Any]]:
    """What was cleared, or is to be hidden, for a report: by the wire's numbers."""
    return [{**asdict(one), "position": account.conversation.wire_index(one.position)} for one in units]


def _without_summary(
    account: Account,
    known: Sizes,
    made: Conversation,
    after_tokens: int,
    units: Sequence[ClearedUnit],
    *,
    report: dict[str, Any],
    **more: Any,
) -> Compacted:
    """The outcome of a rung that left every message in its place; *more* are fields of `Compacted`."""
    conversation = account.conversation
    at = conversation.wire_index
    over = max(after_tokens - known.target, 0)
    bulk = bulk_of(made, account.policy)
    reason = "above-target" if over else "target-met"
    dropped = tuple(Dropped(at(one.position), at(one.position) + 1, "clear", one.saved_tokens, one.ref or None) for one in units)
    told = account.report(
        "compacted",
        reason,
        after_tokens,
        rung="clear",
        bulk=None if bulk is None else asdict(bulk),
        dropped=[asdict(one) for one in dropped],
        **report,
    )
    return Compacted(
        conversation=evolve(made, settled=len(conversation.messages)),
        reason=reason,
        before_tokens=account.before_tokens,
        after_tokens=after_tokens,
        report=told,
        cut=0,
        kept_prompt=None,
        dropped=dropped,
        summary="",
        irreducible=(),
        over_by_tokens=over,
        fits=after_tokens <= known.budget and (bulk is None or not bulk.exceeds(account.policy)),
        before=conversation,
        **more,
    )


def _joined(first: Compacted, then: Compacted, memo: Memo) -> Compacted:
    """One outcome of two rungs, in the indices of the input."""
    gone = first.before.length - first.conversation.length  # so far; the messages from the first cut on have moved by as many
    dropped = (*first.dropped, *_further(first, then, gone, memo))
    cut: Any = then.report["cut"]
    kept_prompt = None if then.kept_prompt is None else then.kept_prompt + gone
    firsts = [one for one in (first.first_changed, then.first_changed) if one is not None]
    report: dict[str, Any] = {
        **then.report,
        "before_tokens": first.before_tokens,
        "cleared": first.report["cleared"],
        "edits": first.report["edits"],
        "cut": cut if cut is None else {**cut, "index": then.cut + gone, "kept_prompt": kept_prompt},
        "dropped": [asdict(one) for one in dropped],
    }
    return evolve(
        then,
        before=first.before,
        before_tokens=first.before_tokens,
        first_changed=min(firsts, default=None),
        cut=then.cut + gone,
        kept_prompt=kept_prompt,
        dropped=dropped,
        report=report,
        issued={**first.issued, **then.issued},
    )


def _further(first: Compacted, then: Compacted, gone: int, memo: Memo) -> Iterator[Dropped]:
    """What the second of two rungs took of the input; the head that the first had made is no part of it."""
    between = first.conversation
    tail = len(first.before.messages) - first.before.position(first.cut) if first.cut else len(between.messages)
    kept = {id(message) for message in then.conversation.messages}
    theirs = {id(message): at for at, message in enumerate(first.before.messages)}
    heads = [0] * between.length  # tokens of what was put before the tail, by where it stands on the wire
    for at, message in enumerate(between.messages[: len(between.messages) - tail]):
        if id(message) in kept:
            continue
        tokens = memo.message(message)
        heads[between.wire_index(at)] += tokens
        if id(message) in theirs:  # the input's, kept by the first rung alone
            index = first.before.wire_index(theirs[id(message)])
            yield Dropped(index, index + 1, then.report["rung"], tokens, then.dropped[0].ref)
    stays = first.cut - gone if first.cut else 0
    stays += first.cut > 0 and then.kept_prompt == stays  # one message with the head, and not dropped with it
    for one in then.dropped:
        if one.stop > stays:
            tokens = one.tokens - sum(heads[one.start : one.stop])
            yield evolve(one, start=max(one.start, stays) + gone, stop=one.stop + gone, tokens=tokens)
