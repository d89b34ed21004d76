"""
Asking for the summary at the end of the agent's own request.

What this is
    `suffixed` makes the request that the agent would send anyway, with one
    user message behind it that asks for the record.  A provider that has the
    agent's request in its cache reads it at the price of the cache.

Rules it obeys
    * Law L18.  What the provider has cached is not touched: messages, system
      prompt and tools are rendered as they are, and one message follows.
    * Law L1.  The validator says that the request is legal; where one message
      more would break a rule, the form is not used.
    * Law L15.  Request and reply fit the summariser's window.
    * Tools stay declared, because to take them away would miss the cache; the
      text forbids calling them, and a reply that calls one is refused.

How it works
    The model sees the whole conversation, also what stays.  So the text says
    where the record ends: before the message that it quotes.

What is not here
    The other form, a transcript of our own (`summaries.rendering`), and when
    one is taken for the other (`asking`).
"""

from __future__ import annotations

from typing import Final

from attrs import evolve

from .account import Account
from .dialects import render
from .model import Conversation, Message, Origin, Text
from .planning import Plan
from .protocol.validator import check
from .summaries.head import user_message
from .summaries.prompts import PARAGRAPHS, PROMPT_VERSION, instructions
from .summaries.rendering import SummaryRequest
from .summaries.schema import Schema, other_headings
from .summaries.transcript import label

__all__ = ["suffixed"]

_QUOTED_CHARS: Final = 200


def suffixed(
    account: Account, plan: Plan, schema: Schema, *, max_tokens: int, window_tokens: int, why: str = ""
) -> SummaryRequest | str:
    """
    The request in this form, or why it can not be had.

    Args:
        account: of this run.
        plan: what was decided.
        schema: the sections wanted.
        max_tokens: how long the reply may be.
        window_tokens: what request and reply may be together.
        why: of a second attempt, why the first reply was not taken.
    """
    conversation, memo = account.conversation, account.memo
    if plan.division.pending:
        return "calls at the end are not answered yet"
    told = instructions(
        schema,
        max_tokens=max_tokens,
        focus=account.task.focus,
        language=account.policy.language,
        step_cut=bool(plan.prompt),
        has_previous=bool(plan.previous),
        stop=_where(conversation, plan),
    )
    if why:
        told = f"{told}\n\n{PARAGRAPHS['again'].format(why=label(why, limit_chars=120))}"
    asking = user_message((Text(told),), Origin.HARNESS, plan.profile)
    made = evolve(conversation, messages=(*conversation.messages, asking))
    if memo.request(made) + max_tokens > window_tokens:
        return f"the whole request does not fit the window of {window_tokens}"
    known = {(violation.rule, violation.index) for violation in check(conversation, profile=plan.profile)}
    broken = [
        violation.rule
        for violation in check(made, profile=plan.profile)
        if violation.level == "error" and (violation.rule, violation.index) not in known
    ]
    if broken:
        return f"a message behind the last one breaks {broken[0]}"
    return SummaryRequest(
        instructions="",
        text=told,
        context="",
        max_tokens=max_tokens,
        part=1,
        parts=1,
        attempt=2 if why else 1,
        previous=plan.previous,
        prompt_version=PROMPT_VERSION,
        messages=plan.replaced,
        schema=schema.name,
        headings=other_headings(schema),
        first=0,
        form="suffix",
        body=render(made),
    )


def _where(conversation: Conversation, plan: Plan) -> str:
    """What names the first message that the record does not cover."""
    first: Message = conversation.messages[plan.choice.prompt if plan.choice.prompt is not None else plan.choice.position]
    words = first.text.strip() or "; ".join(call.name for call in first.calls)
    return label(words, limit_chars=_QUOTED_CHARS)
