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
      more would break a rule, the form is not used.  Nor is it where reasoning
      is bound to what a rung before this one changed (A-THINK-07).
    * Law L15.  Request and reply fit the summariser's window.
    * Law L20.  The previous record is in what is sent, or the form is not used.
    * Tools stay declared, because to take them away would miss the cache; the
      text forbids calling them, ``tool_choice`` does where the dialect has a
      word for it that costs nothing, and a reply that calls one is refused.

How it works
    The model sees the whole conversation, also what stays.  So the text says
    where the record ends: before the message that it quotes and counts.

    At Anthropic another ``tool_choice`` makes the cached messages worthless, and
    Gemini's ``NONE`` is as if no tool were declared: there it is left as it is.
    Where it forces a call it has to change, or the form is not used.

What is not here
    The other form, a transcript of our own (`summaries.rendering`), and when
    one is taken for the other (`asking`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from attrs import evolve

from .account import Account
from .dialects import render
from .model import Conversation, Json, Message, Opaque, Origin, Text
from .planning import Plan
from .protocol.validator import check
from .summaries.head import user_message
from .summaries.prompts import PARAGRAPHS, PROMPT_VERSION, instructions
from .summaries.rendering import SummaryRequest
from .summaries.schema import Schema, other_headings
from .summaries.transcript import label

__all__ = ["suffixed"]

_QUOTED_CHARS: Final = 200

_NONE: Final = {"anthropic": {"type": "none"}, "mistral": "none", "openai-chat": "none", "openai-responses": "none"}
"""How each dialect says that no tool may be called, where it can."""


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
    if account.task.is_stale:  # the setting would miss the cache, and no body has its beta
        return "its reasoning is bound to what was cleared, and the model would refuse it (A-THINK-07)"
    if account.task.previous is not None and not _holds(conversation.messages[: plan.choice.position], plan.previous):
        return "the previous record does not stand in the conversation"
    quiet = _without_calls(conversation)
    if quiet is None:
        return "the request forces a call, and its dialect has no word against it"
    told = instructions(
        schema,
        max_tokens=max_tokens,
        focus=account.task.focus,
        language=account.policy.language,
        step_cut=plan.under_way is not None,
        has_previous=bool(plan.previous),
        stop=_where(conversation, plan),
    )
    if why:
        told = f"{told}\n\n{PARAGRAPHS['again'].format(why=label(why, limit_chars=120))}"
    asking = user_message((Text(told),), Origin.HARNESS, plan.profile)
    made = evolve(quiet, messages=(*conversation.messages, asking))
    if memo.request(made) + max_tokens > window_tokens:
        return f"the whole request does not fit the window of {window_tokens}"
    known = {(violation.rule, violation.index) for violation in check(conversation, profile=plan.profile)}
    broken = [
        violation.rule
        for violation in check(made, profile=plan.profile)
        if violation.level != "info" and (violation.rule, violation.index) not in known
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
        under_way=plan.under_way,
        form="suffix",
        body=render(made),
        counter=memo.counter,
    )


def _where(conversation: Conversation, plan: Plan) -> str:
    """What names the first message that the record does not cover: its own words, and its number."""
    first = conversation.messages[plan.choice.position]
    words = first.text.strip()
    what = "the message"
    if words:
        what = f'the message that begins with "{label(words, limit_chars=_QUOTED_CHARS)}"'
    elif first.calls:
        what = f'the message that calls "{label(first.calls[0].name)}" (id "{label(first.calls[0].id)}")'
    return f"{what}, number {conversation.wire_index(plan.choice.position) + 1} of the {conversation.length} before this one"


def _holds(messages: Iterable[Message], record: str) -> bool:
    """Whether the *record* is among what these messages say."""
    for message in messages:
        for block in message.blocks:
            if isinstance(block, Text) and record in block.text:
                return True
            if isinstance(block, Opaque) and isinstance(block.value, dict) and block.value.get("content") == record:
                return True
    return False


def _without_calls(conversation: Conversation) -> Conversation | None:
    """The same request, calls ruled out where that costs nothing or where it forces one; ``None`` where they cannot be."""
    none = _NONE.get(conversation.dialect)
    forces = _forces_a_call(conversation)
    if none is None or not conversation.tools or (conversation.dialect == "anthropic" and not forces):
        return None if forces else conversation
    fields = dict(conversation.envelope.fields or ()) | {"tool_choice": none}
    return evolve(conversation, envelope=evolve(conversation.envelope, fields=tuple(fields.items())))


def _forces_a_call(conversation: Conversation) -> bool:
    """Whether the request makes the model call a tool."""
    if conversation.dialect == "gemini":
        config = conversation.setting("toolConfig") or conversation.setting("tool_config")
        choice = _under(config, "functionCallingConfig") or _under(config, "function_calling_config")
        return bool(_under(choice, "mode") == "ANY")
    if conversation.dialect == "bedrock":
        choice = _under(conversation.setting("toolConfig"), "toolChoice")
        return _under(choice, "any") is not None or _under(choice, "tool") is not None
    choice = conversation.setting("tool_choice")
    return bool(choice in ("any", "required") or _under(choice, "type") in ("any", "function", "tool"))


def _under(value: Json, key: str) -> Json:
    return value.get(key) if isinstance(value, dict) else None
