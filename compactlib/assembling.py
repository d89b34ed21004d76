"""
The new conversation: what stands in the head, and the tail as it was.

What this is
    From a plan and the text of a summary to the result, and what of the input
    is gone from it.

Rules it obeys
    * Law L7.  From the cut on, the messages of the result are the same objects.
    * Law L9.  Every block is one of the input's, a pin, a reminder or the summary.
    * Law L18.  The first message at which the request differs is named.

How it works
    The result is, in every dialect and for both kinds of cut::

        system* preamble* pins? summary reminder* prompt? tail

    with the prompt in its slot after a step cut, and at the beginning of the
    tail after a turn cut.  So the last words before the kept steps are always
    a person's, and no user-role text stands after the first kept step, which
    several providers refuse.

What is not here
    Where the text comes from (`asking`, `appendix`).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, repeat
from typing import Any

from attrs import evolve

from .model import Conversation, Origin, Text
from .outcomes import Dropped
from .persons import says
from .planning import Plan
from .summaries.head import user_message, write_summary
from .tokens import Memo

__all__ = ["assemble", "dropped", "first_changed"]


def assemble(conversation: Conversation, plan: Plan, body: str) -> Conversation:
    """The result with *body* as its summary."""
    fuse = plan.profile.fuse
    summary = user_message((Text(write_summary(body, plan.layout)), *plan.earlier), Origin.SUMMARY, plan.profile)
    strangers = () if fuse == "no" else tuple(message for message in plan.preamble if message.role != "user")
    preamble = tuple(message for message in plan.preamble if message.role == "user") if strangers else plan.preamble
    head = (*preamble, *plan.pins, summary, *plan.reminders)
    tail = conversation.messages[plan.choice.position :]
    before = (*plan.opaque, *plan.system, *strangers)
    messages = (*before, *head, *plan.prompt, *tail)
    fused = (0, 0)
    if fuse != "no":
        stop = len(before) + len(head)
        stop += stop < len(messages) and (bool(plan.prompt) or (plan.choice.kind == "turn" and says(tail[0])))
        fused = (len(before), stop)
    return evolve(conversation, messages=messages, fused=fused, settled=len(messages))


def dropped(
    before: Conversation, after: Conversation, cut: int, memo: Memo, *, rung: str, ref: str | None
) -> tuple[Dropped, ...]:
    """Which messages went, as ranges of the wire's indices; *rung* took them, and *ref* holds them."""
    kept = {id(message) for message in after.messages}
    runs: list[tuple[int, int, int]] = []
    for position, message in enumerate(before.messages[:cut]):
        if id(message) in kept:
            continue
        index = before.wire_index(position)
        tokens = memo.message(message)
        if runs and index in (runs[-1][1] - 1, runs[-1][1]):
            runs[-1] = (runs[-1][0], index + 1, runs[-1][2] + tokens)
        else:
            runs.append((index, index + 1, tokens))
    return tuple(Dropped(start, stop, rung, tokens, ref) for start, stop, tokens in runs)


def first_changed(before: Conversation, after: Conversation) -> int:
    """The least message of the input at which the rendered blocks differ (law L18)."""

    def blocks(conversation: Conversation) -> Iterator[tuple[int, Any]]:
        for at, message in enumerate(conversation.messages):
            for block in message.blocks:
                yield conversation.wire_index(at), (message.role, block.text if isinstance(block, Text) else block)

    last = 0
    theirs = chain((said for _, said in blocks(after)), repeat(None))  # what they have no more of differs
    for (index, one), other in zip(blocks(before), theirs, strict=False):
        if one != other:
            return index
        last = index
    return last
