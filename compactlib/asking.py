"""
Asking for the summary: one request, or parts in order.

What this is
    `ask` yields the requests that show a summariser everything that is
    replaced, and judges each reply.

Rules it obeys
    * Law L14.  The identical request is never sent twice.
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
from .summaries.acceptance import Accepted, Code, Rejected, Summary, judge
from .summaries.grounding import Standing
from .summaries.head import write_summary
from .summaries.provenance import said_by_persons
from .summaries.rendering import SummaryRequest, again, continued, render_request
from .summaries.schema import SCHEMAS, Schema, Sections, render_sections
from .truncation import truncate
from .turns import Kind

__all__ = ["Question", "Reply", "ask", "bare_headings", "ceiling_of", "judge_reply", "question_of"]

_LEAST_CONTEXT_CHARS: Final = 240  # a shorter excerpt is hardly more than its marker
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


def question_of(account: Account, plan: Plan) -> Question:
    """
    What is asked for a plan.

    Raises:
        CannotPlanError: no summary could be short enough.
    """
    policy, counter = account.policy, account.memo.counter
    schema = SCHEMAS[policy.schema]
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
    )


def ceiling_of(account: Account, plan: Plan) -> int:
    """How long the body of the summary may be, in tokens."""
    return plan.sizes.summary - account.memo.counter(write_summary("", plan.layout))


def ask(account: Account, question: Question) -> Generator[AskSummary, Any, Accepted | Rejected]:
    """
    Ask for a summary, part by part; one part may be asked for again when its reply was too long.

    Raises:
        CannotPlanError: no request fits the summariser's window.
    """
    counter, window = account.memo.counter, question.window_tokens
    requests = render_request(
        question.messages,
        schema=question.schema,
        max_tokens=question.max_tokens,
        budget_tokens=window,
        counter=counter,
        previous=question.previous,
        context=question.context,
        focus=account.task.focus,
        language=account.policy.language,
        step_cut=question.step_cut,
        first=0,
    )
    if not requests:
        why = f"not even a shortened transcript fits the summariser's window of {window}"
        raise CannotPlanError(f"summary-failed:{Code.NO_ROOM.value}", why, question.irreducible)
    running = question.previous
    verdict: Accepted | Rejected | None = None
    asked_again = False
    for planned in requests:
        request: SummaryRequest | None = planned
        if planned.part > 1:
            request = continued(planned, running, budget_tokens=window, counter=counter)
        while request is not None:
            reply: Reply = yield AskSummary(request)
            verdict = judge_reply(account, question, request, reply, running)
            account.note_asked(request, reply, verdict)
            if isinstance(verdict, Accepted):
                running = verdict.body
                break
            if verdict.code is not Code.TOO_LONG or asked_again:
                return verdict
            asked_again = True
            request = again(request, verdict.why)
        if request is None:
            why = f"the running summary leaves no room in the summariser's window of {window}"
            raise CannotPlanError(f"summary-failed:{Code.NO_ROOM.value}", why, question.irreducible)
    if verdict is None:
        raise CannotPlanError("irreducible", "there is nothing to show to a summariser", question.irreducible)
    return verdict


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
        return Rejected(Code(reply.code), reply.why)
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
