"""
The algorithm: replace what is old by one summary, or leave everything as it is.

What this is
    `compaction` is a generator.  It yields `AskSummary` and is sent a reply,
    and ends with an `Outcome`.  It calls no model, clock or network, so the
    same code serves blocking and async callers, tests and the conformance
    suite (`driving` has the two short loops that everybody needs).

Rules it obeys
    * Law L1.  The result is checked by the validator, which shares no code
      with this module, before anybody sees it.
    * Laws L2, L3.  It drops everything before one legal cut, and the cut is
      chosen on sizes alone.
    * Law L6.  Until the last line nothing has happened: every failure returns
      the conversation that was passed in.
    * Law L10.  With a store, what is replaced is stored before it is replaced.
    * Laws L12 to L14.  Nobody is asked when no answer could help; the result
      is measured as assembled, and is smaller by what makes it worth while.

How it works
    *plan* (sizes, cut, what stands in the head) -> *ask* (one request, or
    parts in order) -> *append* what has to survive verbatim -> *assemble* ->
    *verify* -> *review*, if the caller wants to see it.

    The three rungs that replace messages differ in who writes the summary.  To
    *summarise*, a model is asked; to *collapse*, the digests of the turns stand
    beside their prompts; to *snip*, one line says what went.

What is not here
    What a reply must be (`summaries.acceptance`), clearing, the order of the
    rungs (`cascade`), and the live loop.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from typing import Final, TypeAlias

from attrs import asdict

from .account import Account
from .appendix import store_replaced, with_appendix
from .asking import Question, Reply, ask, bare_headings, ceiling_of, judge_reply, question_of
from .assembling import assemble, dropped, first_changed
from .budget import Policy, sizes
from .bulk import bulk_of
from .errors import PolicyError, StoreError
from .model import Conversation, Text
from .outcomes import REASONS, AskReview, AskSummary, Compacted, Outcome, Refused, Review, Vetoed
from .planning import CannotPlanError, Plan, overhead_tokens, plan
from .protocol.binding import betas_for, dropping, with_thinking
from .summaries.acceptance import Accepted, Code, Rejected
from .summaries.schema import Sections, parse_sections, render_sections, schema_for
from .tasks import Rung, Task
from .verifying import new_violations
from .visible import request_tokens

__all__ = ["Answer", "Event", "compaction", "is_due"]

_SNIPPED: Final = re.compile(r"- of the \d+ messages before this record, \d+ were dropped without a summary")

_COUNTS: Final = ("moved", "reopened", "escaped", "unverified", "contradicted", "unseen", "unrun", "repeated")
"""What was done to a reply, as `Accepted` counts it."""

Event: TypeAlias = AskSummary | AskReview
"""What the engine asks."""

Answer: TypeAlias = "Reply | Review"
"""What it is sent: a `Reply` for `AskSummary`, a `Review` for `AskReview`."""


def compaction(
    conversation: Conversation, policy: Policy, task: Task, *, rung: Rung = "summarise"
) -> Generator[Event, Answer, Outcome]:
    """
    Replace what is old in one conversation.

    Args:
        conversation: what to compact.
        policy: what the caller decided for all conversations.
        task: what is wanted of this compaction.
        rung: ``summarise``, ``collapse`` or ``snip``.

    Yields:
        `AskSummary`, to be answered by the reply (`str` or `Summary`) or by
        `SummaryFailed`; `AskReview`, if the task is ``reviewed``.

    Returns:
        The outcome.

    Raises:
        PolicyError: an argument names something that is not there.
    """
    account = Account(conversation, policy, task)
    try:
        account.before_tokens = before = request_tokens(conversation, account.memo)
        known = sizes(policy, overhead_tokens=overhead_tokens(conversation, account.memo))
        if task.when == "auto" and not is_due(account, known.trigger):
            return account.unchanged("below-trigger")
        if task.when != "now" and not policy.auto:  # off means off, whoever noticed that it is due
            return account.unchanged("auto-off")
        if conversation.settled and conversation.settled == len(conversation.messages) and task.when != "overflow":
            return account.unchanged("nothing-new")
        least_gain = known.min_gain if task.when == "auto" and not account.is_heavy else 1
        account.plan = made = plan(
            conversation, policy, task, account.memo, before, least_gain=least_gain, rung=rung, bulk=account.bulk
        )
        if rung != "summarise":
            sections = _written(account, made, rung)
            return _finish(account, made, sections, rung, least_gain)
        question = question_of(account, made)
        accepted = yield from ask(account, question)
        outcome = _judged(account, made, accepted, least_gain)
        if isinstance(outcome, Compacted) and task.reviewed:
            review = yield AskReview(outcome)
            return _reviewed(account, made, question, outcome, review, least_gain)
        return outcome
    except CannotPlanError as refusal:
        if refusal.reason in REASONS["unchanged"]:
            return account.unchanged(refusal.reason)
        return account.refused(refusal.reason, refusal.why, refusal.irreducible)
    except StoreError as error:
        return account.refused("store-failed", str(error), ())
    except PolicyError as error:
        if error.field not in ("counter", "reminders"):
            raise
        return account.refused(f"callback:{error.field}", str(error), ())


def is_due(account: Account, trigger_tokens: int) -> bool:
    """Whether a request is above the trigger, or heavier than the policy allows."""
    return account.is_heavy or _seen_tokens(account) > trigger_tokens


def _seen_tokens(account: Account) -> int:
    """
    How large the request is for its model.

    What a provider reported, and the estimate of what came after; without a
    report, or with a counter that agrees with it, our own count.
    """
    anchor = account.task.anchor
    return account.before_tokens if anchor is None else anchor.size(account.conversation, account.memo)


def _written(account: Account, plan: Plan, rung: Rung) -> Sections:
    """What stands in the place of a summary that nobody was asked for."""
    schema = schema_for(account.policy.schema, account.policy.headings)
    sections = parse_sections(plan.previous or bare_headings(schema), schema).without("verbatim")
    if rung == "collapse":
        note = "- the turns below stand for themselves: each prompt as it was written, then a digest of what followed it"
    else:
        before = account.conversation.wire_index(plan.choice.position - 1) + 1
        note = f"- of the {before} messages before this record, {len(plan.replaced)} were dropped without a summary"
    items = [item for item in sections.items("critical") if item != note and not _SNIPPED.fullmatch(item)]
    sections = sections.with_items("critical", [*items, note])
    needed, ceiling = account.memo.counter(render_sections(sections)), ceiling_of(account, plan)
    if needed > ceiling:
        why = f"a summary may have {ceiling} tokens, and what has to stand in it takes {needed}"
        raise CannotPlanError("irreducible", why, plan.irreducible)
    return sections


def _judged(account: Account, plan: Plan, verdict: Accepted | Rejected, least_gain: int) -> Outcome:
    """What comes of a verdict."""
    if isinstance(verdict, Rejected):
        return account.refused(f"summary-failed:{verdict.code.value}", verdict.why, plan.irreducible)
    counts = {name: getattr(verdict, name) for name in _COUNTS}
    return _finish(account, plan, verdict.sections, "summarise", least_gain, counts)


def _reviewed(account: Account, plan: Plan, question: Question, outcome: Compacted, review: Answer, least_gain: int) -> Outcome:
    """What comes of it when the caller has looked at the outcome: it, nothing, or an edited summary."""
    if isinstance(review, Vetoed):
        return account.refused("vetoed", review.why or "the review did not let it pass", plan.irreducible)
    if not isinstance(review, str) or review == outcome.summary:
        return outcome
    verdict = judge_reply(account, question, account.requests[-1], review, question.previous)
    if isinstance(verdict, Rejected) and verdict.code is not Code.SAME:
        why = f"the edited summary is none: {verdict.why}"
        return account.refused(f"summary-failed:{verdict.code.value}", why, plan.irreducible)
    return _judged(account, plan, verdict, least_gain)


def _finish(
    account: Account, plan: Plan, sections: Sections, rung: Rung, least_gain: int, counts: dict[str, int] | None = None
) -> Compacted | Refused:
    """Assemble the result, verify it, and give the account."""
    conversation, memo = account.conversation, account.memo
    cut = plan.choice.position
    kept = (*plan.opaque, *plan.system, *plan.preamble, *plan.prompt)
    ref = store_replaced(account, cut, kept)
    body, anchors = with_appendix(
        account, plan, sections, ref=ref, least_gain=least_gain, assemble=lambda text: assemble(conversation, plan, text)
    )
    made = assemble(conversation, plan, body)
    after = request_tokens(made, memo)
    if account.before_tokens - after < least_gain:
        why = f"the result has {after} tokens, the input {account.before_tokens}; at least {least_gain} have to be saved"
        return account.refused("summary-failed:not-smaller", why, plan.irreducible)
    thinking = dropping(conversation, made, model=account.policy.model)
    before, result = (one if thinking is None else with_thinking(one, thinking) for one in (conversation, made))
    wrong = new_violations(before, result, plan)  # what the setting breaks is broken where the model does so unasked, too
    if wrong:
        return account.refused("internal-invalid", "; ".join(wrong[:5]), plan.irreducible)
    bulk = bulk_of(made, account.policy)
    gone = dropped(conversation, made, cut, memo, rung=rung, ref=ref)
    over = max(after - plan.sizes.target, 0)
    reason = "above-target" if over else "target-met"
    report = account.report(
        "compacted",
        reason,
        after,
        rung=rung,
        bulk=None if bulk is None else asdict(bulk),
        dropped=[asdict(part) for part in gone],
        thinking=thinking,
        summary={
            "tokens": memo.counter(body),
            **(counts or dict.fromkeys(_COUNTS, 0)),
            "anchors": anchors,
            "replaced_messages": len(plan.replaced),
            "had_previous": bool(plan.previous),
        },
        head={
            "system": sum(map(memo.message, plan.system)),
            "preamble": sum(map(memo.message, plan.preamble)),
            "pins": sum(map(memo.message, plan.pins)),
            "earlier_prompts": sum(memo.counter(block.text) for block in plan.earlier if isinstance(block, Text)),
            "reminders": sum(map(memo.message, plan.reminders)),
            "prompt": sum(map(memo.message, plan.prompt)),
        },
    )
    at = conversation.wire_index
    return Compacted(
        conversation=made,
        reason=reason,
        before_tokens=account.before_tokens,
        after_tokens=after,
        first_changed=first_changed(conversation, made),
        report=report,
        cut=at(cut),
        kept_prompt=None if plan.choice.prompt is None else at(plan.choice.prompt),
        dropped=gone,
        summary=body,
        irreducible=plan.irreducible,
        over_by_tokens=over,
        fits=after <= plan.sizes.budget and (bulk is None or not bulk.exceeds(account.policy)),
        issued=dict(account.issued),
        thinking=thinking,
        betas=betas_for(thinking),
        before=conversation,
    )
