"""
Asking for the summary: one request, or parts in order.

What this is
    `ask` yields the requests that show a summariser everything that is
    replaced, and judges each reply.

Rules it obeys
    * Law L14.  The identical request is never sent twice: one that was refused
      as too long is divided anew, one whose reply was too long says so.  Two
      requests more than there are parts may be made, and one to ask again.
    * Law L15.  Request and reply fit the summariser's own window; over the
      parts each message is shown exactly once.
    * Law L20.  The previous summary enters once; each part continues the
      summary of the one before.

What is not here
    What a summariser is shown (`summaries.rendering`), and what a reply must
    be (`summaries.acceptance`).
"""

from __future__ import annotations

from collections import deque
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
_SHARES: Final = (2, 4)  # a half, then a quarter, of what was shown when a model refused it as too long
_NO_OTHER_FORM: Final = frozenset({Code.TIMEOUT, Code.OVERLOADED, Code.TOO_LONG})  # another request would fail likewise
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
        under_way: the place among them from which on they are work on the latest prompt, if that is still going on.
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
    under_way: int | None = None
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
        # What is asked for leaves room for what is added, and in a smaller window for what is shown.
        max_tokens=min(plan.sizes.asked_tokens, ceiling * 3 // 4, window // 4),
        window_tokens=window,
        previous=plan.previous,
        context=_context(kept, window // 8 * 3),
        under_way=plan.under_way,
        persons=plan.persons,
        standing=account.standing(plan),
        irreducible=plan.irreducible,
        plan=plan,
    )


def ceiling_of(account: Account, plan: Plan) -> int:
    """How long the body of the summary may be, in tokens."""
    return plan.sizes.summary - account.memo.counter(write_summary("", plan.layout))


class _Spare:
    """
    What may be asked besides one request a part (law L14).

    Attributes:
        shares: of what was shown when a model first refused a request as too long: what is shown next.  Each is one request;
            one in the other form takes the place of one.
        shown_tokens: how much that was.
        again: whether a reply that was too long may still be asked for again.
    """

    def __init__(self) -> None:
        self.shares = list(_SHARES)
        self.shown_tokens = 0
        self.again = True

    def window(self, shown_tokens: int, other_tokens: int, limit_tokens: int | None) -> int:
        """
        The window after a request was refused: the size that the model named, if that is less, or else the next rung.

        Args:
            shown_tokens: how much was shown.
            other_tokens: instructions and the reply that was asked for, which are as long in every request.
            limit_tokens: what the model named.
        """
        self.shown_tokens = self.shown_tokens or shown_tokens
        rung = min(self.shown_tokens // self.shares.pop(0), shown_tokens // 2) + other_tokens
        return limit_tokens if limit_tokens is not None and 0 < limit_tokens < shown_tokens + other_tokens else rung


def ask(account: Account, question: Question) -> Generator[AskSummary, Any, Accepted | Rejected]:
    """
    Ask for a summary, in the form that the policy names, and in the other where that form does not do.

    Raises:
        CannotPlanError: no request fits the summariser's window.
    """
    spare, window = _Spare(), min(question.window_tokens, account.learned_tokens or question.window_tokens)
    if question.plan is not None and account.policy.summary_form == "suffix":
        verdict = yield from _ask_at_the_end(account, question, question.plan, window, spare)
        if verdict is not None:
            if isinstance(verdict, Accepted) or verdict.code in _NO_OTHER_FORM:
                return verdict
            account.why_form = f"{verdict.code.value}: {verdict.why}"
            if verdict.code is Code.PROMPT_TOO_LONG:
                asked = account.memo.counter(account.requests[-1].text) + question.max_tokens
                window = min(window, spare.window(account.before_tokens, asked, verdict.limit_tokens))
            else:
                del spare.shares[0]
    return (yield from _ask_in_parts(account, question, window, spare))


def _ask_at_the_end(
    account: Account, question: Question, plan: Plan, window: int, spare: _Spare
) -> Generator[AskSummary, Any, Accepted | Rejected | None]:
    """The suffix form: one request, and once more where its reply was too long; ``None`` where it cannot be used."""
    why = ""
    while True:
        request = suffixed(account, plan, question.schema, max_tokens=question.max_tokens, window_tokens=window, why=why)
        if isinstance(request, str):
            account.why_form = request
            return None
        reply: Reply = yield AskSummary(request)
        verdict = judge_reply(account, question, request, reply, question.previous)
        account.note_asked(request, reply, verdict)
        if isinstance(verdict, Accepted) or verdict.code is not Code.TOO_LONG or not spare.again:
            return verdict
        spare.again, why = False, verdict.why


def _ask_in_parts(
    account: Account, question: Question, window: int, spare: _Spare
) -> Generator[AskSummary, Any, Accepted | Rejected]:
    """
    The serialised form.

    What was accepted is not shown again; where the model refuses a part as too
    long, all that is left is divided anew for a smaller window.
    """
    counter, running, at, parts = account.memo.counter, question.previous, 0, 0
    left = deque(_rendered(account, question, window, running, at, parts))
    verdict: Accepted | Rejected | None = None
    while left:
        request: SummaryRequest | None = left.popleft()
        if isinstance(verdict, Accepted) and request is not None:
            request = continued(request, running, budget_tokens=window, counter=counter)
        if request is None:
            why = f"the running summary leaves no room in the summariser's window of {window}"
            raise CannotPlanError(f"summary-failed:{Code.NO_ROOM.value}", why, question.irreducible)
        verdict = yield from _ask_once(account, question, request, running, spare)
        if isinstance(verdict, Accepted):
            running, at, parts = verdict.body, at + len(request.messages), parts + 1
            account.learned_tokens = window if window < question.window_tokens else None
        elif verdict.code is Code.PROMPT_TOO_LONG and spare.shares:
            shown, asked = counter(account.requests[-1].text), counter(account.requests[-1].instructions) + question.max_tokens
            window = spare.window(shown, asked, verdict.limit_tokens)
            left = deque(_rendered(account, question, window, running, at, parts))
        else:
            return verdict
    if verdict is None:
        why = f"not even a shortened transcript fits the summariser's window of {window}"
        raise CannotPlanError(f"summary-failed:{Code.NO_ROOM.value}", why, question.irreducible)
    return verdict


def _ask_once(
    account: Account, question: Question, request: SummaryRequest, running: str, spare: _Spare
) -> Generator[AskSummary, Any, Accepted | Rejected]:
    """One request, and a second one where the reply was too long, once for each question."""
    while True:
        reply: Reply = yield AskSummary(request)
        verdict = judge_reply(account, question, request, reply, running)
        account.note_asked(request, reply, verdict)
        if isinstance(verdict, Accepted) or verdict.code is not Code.TOO_LONG or not spare.again:
            return verdict
        spare.again, request = False, again(request, verdict.why)


def _rendered(account: Account, question: Question, window: int, running: str, at: int, parts: int) -> tuple[SummaryRequest, ...]:
    """The requests for what has not been shown and accepted yet, behind *parts* that were."""
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
        under_way=None if question.under_way is None else question.under_way - at,
        first=at,
        parts_before=parts,
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
        limit = reply.limit_tokens
        return Rejected(Code(reply.code), reply.why, limit if type(limit) is int else None)
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
