"""
Asking for the summary: one request, or parts in order.

What this is
    `ask` yields the requests that show a summariser everything that is
    replaced, and judges each reply.

Rules it obeys
    * Law L14.  The identical request is never sent twice: one that was refused
      as too long is divided anew, one whose reply was too long says so.
    * Law L15.  Request and reply fit the summariser's own window; over the
      parts each message is shown exactly once.
    * Law L20.  The previous summary enters once; each part continues the
      summary of the one before.

What is not here
    What a summariser is shown (`summaries.rendering`), and what a reply must
    be (`summaries.acceptance`).
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any, Final, TypeAlias

from attrs import field, frozen

from .account import Account
from .model import Message
from .outcomes import AskSummary, Part, SummaryFailed
from .persons import person_words
from .planning import CannotPlanError, Plan
from .suffixing import suffixed
from .summaries.acceptance import Accepted, Code, Rejected, Summary, judge
from .summaries.grounding import Standing
from .summaries.head import write_summary
from .summaries.provenance import said_by_persons
from .summaries.rendering import SummaryRequest, again, continued, render_request
from .summaries.schema import Schema, Sections, render_sections, schema_for
from .truncation import truncate
from .turns import Kind

__all__ = ["Question", "Reply", "ask", "bare_headings", "ceiling_of", "judge_reply", "question_of"]

_LEAST_CONTEXT_CHARS: Final = 240  # a shorter excerpt is hardly more than its marker
_SHRINKS: Final = (3, 2, 1)  # quarters of a request that a model refused as too long
_NO_OTHER_FORM: Final = frozenset({Code.EXCEPTION, Code.TIMEOUT, Code.OVERLOADED})  # another request would fail likewise
_LEAST_SAID_TOKENS: Final = 32  # what a summary has to be able to say besides its headings

Reply: TypeAlias = "str | Summary | SummaryFailed"
"""What the engine is sent for an `AskSummary`."""


@frozen(kw_only=True)
class Question:
    """
    What a summariser is asked, before it is divided into requests.

    Attributes:
        messages: what is to be shown, each message once.
        schema: the sections wanted.
        ceiling_tokens: the largest body that is taken.
        max_tokens: how long a reply is asked for.
        window_tokens: what request and reply may be together (law L15).
        previous: the body to be brought up to date.
        context: texts that stay and help understanding.
        step_cut: whether the latest prompt is still being worked on.
        persons: what persons wrote, for comparison.
        standing: what stays in the conversation, which bears claims out.
        irreducible: what to name if it cannot be asked.
        plan: of a compaction, which alone can be asked for at the end of the agent's own request.
    """

    messages: tuple[Message, ...] = field(repr=False)
    schema: Schema
    ceiling_tokens: int
    max_tokens: int
    window_tokens: int
    previous: str = ""
    context: str = field(default="", repr=False)
    step_cut: bool = False
    persons: tuple[str, ...] = field(default=(), repr=False)
    standing: Standing = field(repr=False)
    irreducible: tuple[Part, ...] = ()
    plan: Plan | None = field(default=None, repr=False)


def question_of(account: Account, plan: Plan) -> Question:
    """
    What is asked for a plan.

    Raises:
        CannotPlanError: no summary could be short enough.
    """
    policy, counter = account.policy, account.memo.counter
    schema = schema_for(policy.schema, policy.headings)
    ceiling = ceiling_of(account, plan)
    least = counter(bare_headings(schema)) + _LEAST_SAID_TOKENS
    if ceiling < least:
        why = f"a summary may have {ceiling} tokens, and its headings with a few words take {least}"
        raise CannotPlanError("irreducible", why, plan.irreducible)
    window = policy.summariser_window_tokens or plan.sizes.window
    kept = [message.text for message in plan.pins]
    kept += [person_words(message, Kind.PROMPT, verbatim=False) for message in plan.prompt]
    return Question(
        messages=plan.replaced,
        schema=schema,
        ceiling_tokens=ceiling,
        max_tokens=min(plan.sizes.asked_tokens, ceiling * 3 // 4),  # what is asked for leaves room for what is added
        window_tokens=window,
        previous=plan.previous,
        context=_context(kept, window // 8 * 3),
        step_cut=bool(plan.prompt),
        persons=plan.persons,
        standing=account.standing(plan),
        irreducible=plan.irreducible,
        plan=plan,
    )


def ceiling_of(account: Account, plan: Plan) -> int:
    """How long the body of the summary may be, in tokens."""
    return plan.sizes.summary - account.memo.counter(write_summary("", plan.layout))


def ask(account: Account, question: Question) -> Generator[AskSummary, Any, Accepted | Rejected]:
    """
    Ask for a summary, in the form that the policy names, and in the other where that form does not do.

    Raises:
        CannotPlanError: no request fits the summariser's window.
    """
    if question.plan is not None and account.policy.summary_form == "suffix":
        verdict = yield from _ask_at_the_end(account, question, question.plan)
        if verdict is not None:
            return verdict
    return (yield from _ask_in_parts(account, question))


def _ask_at_the_end(account: Account, question: Question, plan: Plan) -> Generator[AskSummary, Any, Accepted | Rejected | None]:
    """The suffix form: one request, and once more where its reply was too long; ``None`` where it does not do."""
    why = ""
    while True:
        request = suffixed(
            account, plan, question.schema, max_tokens=question.max_tokens, window_tokens=question.window_tokens, why=why
        )
        if isinstance(request, str):
            account.why_form = request
            return None
        reply: Reply = yield AskSummary(request)
        verdict = judge_reply(account, question, request, reply, question.previous)
        account.note_asked(request, reply, verdict)
        if isinstance(verdict, Accepted) or verdict.code in _NO_OTHER_FORM:
            return verdict
        if verdict.code is not Code.TOO_LONG or why:
            account.why_form = f"{verdict.code.value}: {verdict.why}"
            return None
        why = verdict.why


def _ask_in_parts(account: Account, question: Question) -> Generator[AskSummary, Any, Accepted | Rejected]:
    """
    The serialised form.

    What is refused as too long is divided anew, for a window by a ladder that
    is fixed, or that the model named; what was accepted is not shown again.
    """
    counter, window = account.memo.counter, question.window_tokens
    running, at, begun = question.previous, 0, len(account.requests)
    shrinks = iter(_SHRINKS)
    while True:
        verdict: Accepted | Rejected | None = None
        for planned in _rendered(account, question, window, running, at):
            request = planned if planned.part == 1 else continued(planned, running, budget_tokens=window, counter=counter)
            if request is None:
                why = f"the running summary leaves no room in the summariser's window of {window}"
                raise CannotPlanError(f"summary-failed:{Code.NO_ROOM.value}", why, question.irreducible)
            verdict = yield from _ask_once(account, question, request, running, begun)
            if isinstance(verdict, Rejected):
                break
            running, at = verdict.body, at + len(request.messages)
        if verdict is None:
            why = f"not even a shortened transcript fits the summariser's window of {window}"
            raise CannotPlanError(f"summary-failed:{Code.NO_ROOM.value}", why, question.irreducible)
        if isinstance(verdict, Accepted) or verdict.code is not Code.PROMPT_TOO_LONG:
            return verdict
        refused = account.requests[-1]
        size = counter(refused.instructions) + counter(refused.text) + refused.max_tokens
        quarters = next(shrinks, 0)
        smaller = size * quarters // 4 if verdict.limit_tokens is None else min(verdict.limit_tokens, size - 1)
        if not quarters or not _rendered(account, question, smaller, running, at):
            return verdict
        account.learned_tokens = window = smaller


def _ask_once(
    account: Account, question: Question, request: SummaryRequest, running: str, begun: int
) -> Generator[AskSummary, Any, Accepted | Rejected]:
    """One request, and once for each question (whose requests began at *begun*) a second one where the reply was too long."""
    while True:
        reply: Reply = yield AskSummary(request)
        verdict = judge_reply(account, question, request, reply, running)
        repeated = any(one.attempt > 1 for one in account.requests[begun:])
        account.note_asked(request, reply, verdict)
        if isinstance(verdict, Accepted) or verdict.code is not Code.TOO_LONG or repeated or request.attempt > 1:
            return verdict
        request = again(request, verdict.why)


def _rendered(account: Account, question: Question, window: int, running: str, at: int) -> tuple[SummaryRequest, ...]:
    """The requests for what has not been shown and accepted yet."""
    return render_request(
        question.messages[at:],
        schema=question.schema,
        max_tokens=question.max_tokens,
        budget_tokens=window,
        counter=account.memo.counter,
        previous=running,
        context=question.context,
        focus=account.task.focus,
        language=account.policy.language,
        step_cut=question.step_cut,
        first=at,
    )


def _context(texts: Sequence[str], limit_chars: int) -> str:
    """What stays and helps understanding, each text shortened by itself to an equal share (law L11)."""
    share = limit_chars // max(len(texts), 1) - 2
    shown = [truncate(text, limit_chars=share).text for text in texts if share >= _LEAST_CONTEXT_CHARS]
    return "\n\n".join(shown)


def bare_headings(schema: Schema) -> str:
    """The shortest text that has the headings a reply must have."""
    return render_sections(Sections(schema, tuple("" if part.key in schema.required else None for part in schema.sections)))


def judge_reply(account: Account, question: Question, request: SummaryRequest, reply: Reply, running: str) -> Accepted | Rejected:
    """
    Whether *reply* may stand for the messages of *request*.

    Args:
        account: of this run.
        question: what was asked, as a whole.
        request: the part of it.
        reply: the answer.
        running: the body that was to be brought up to date.
    """
    if isinstance(reply, SummaryFailed):
        return Rejected(Code(reply.code), reply.why, reply.limit_tokens)
    return judge(
        reply,
        request=request,
        schema=question.schema,
        ceiling_tokens=question.ceiling_tokens,
        counter=account.memo.counter,
        previous=running,
        replaced_has_prompt=any(said_by_persons(request.messages)),
        human_texts=question.persons,
        standing=question.standing,
    )
