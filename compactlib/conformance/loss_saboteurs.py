"""
Wrong compactors: the laws of loss, L6 to L9, L11 and L26.

Each function says in a sentence what it does wrong; see `sabotage` for how.
"""

from __future__ import annotations

import re
from typing import Any, Final

from attrs import evolve

from ..budget import Policy
from ..driving import compact
from ..model import Conversation, Origin, Reasoning, Text
from ..outcomes import Compacted, Outcome, Refused
from ..summaries.acceptance import Summary
from ..summaries.extractive import Extractive
from ..summaries.head import read_summary, write_summary
from ..summaries.rendering import SummaryRequest
from ..turns import divide
from .sabotage import asking, breaks, head_stop, in_head, in_transcript, remade, user, with_body

__all__ = ["LOSS"]


@breaks("L6")
def believes_an_empty_summary(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
    """Whatever is no summary is replaced by one of its own making, in silence."""
    ask = options.pop("summarise", None) or Extractive(counter=policy.counter)
    own = Extractive(counter=policy.counter)

    def replied(request: SummaryRequest) -> str | Summary:
        try:
            reply = ask(request)
        except Exception:  # noqa: BLE001 - that is the fault
            return own(request)
        text = reply.text if isinstance(reply, Summary) else reply
        return reply if text and text.strip() else own(request)

    return compact(conversation, policy, summarise=replied, **options)


@breaks("L6")
def drops_on_failure(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
    """It failed, says the outcome, and half of the conversation is gone."""
    outcome = compact(conversation, policy, **options)
    if isinstance(outcome, Refused) and outcome.reason.startswith("summary-failed"):
        half = conversation.messages[len(conversation.messages) // 2 :]
        return evolve(outcome, conversation=evolve(conversation, messages=half, fused=(0, 0)))
    return outcome


@breaks("L7")
def loses_the_newest_words(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
    """The last thing the model said is left out, because it will say it again."""
    outcome = compact(conversation, policy, **options)
    if isinstance(outcome, Compacted):
        messages = outcome.conversation.messages
        last = messages[-1]
        is_thinking = any(isinstance(block, Reasoning) for block in last.blocks)
        is_alone = last.role == "model" and messages[-2].role != "model"
        if is_alone and not last.calls and not is_thinking and len(messages) - 1 > head_stop(outcome):
            return remade(outcome, policy, messages[:-1])
    return outcome


@breaks("L7", "L9")
def tidies_the_tail(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
    """Words in the tail are trimmed."""
    outcome = compact(conversation, policy, **options)
    if isinstance(outcome, Compacted):
        messages = list(outcome.conversation.messages)
        for at in range(head_stop(outcome), len(messages)):
            content = messages[at].content
            if isinstance(content, str) and messages[at].role == "model" and len(content) > 4:
                messages[at] = evolve(messages[at], content=content[:-3])
                return remade(outcome, policy, messages)
    return outcome


@breaks("L8", "L3")
def loses_the_last_prompt(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
    """The request under way stands in the summary, surely."""
    outcome = compact(conversation, policy, **options)
    if not isinstance(outcome, Compacted) or outcome.kept_prompt is None:
        return outcome
    if divide(conversation).current_turn > conversation.position(outcome.cut):
        return outcome
    at = head_stop(outcome) - 1
    messages = outcome.conversation.messages
    start, stop = outcome.conversation.fused
    return remade(outcome, policy, (*messages[:at], *messages[at + 1 :]), fused=(start, stop - 1) if stop else None)


@breaks("L8")
def loses_words_beside_results(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
    """Earlier prompts are not quoted, nor what was typed while a tool was running."""
    outcome = compact(conversation, policy, **options)
    if not isinstance(outcome, Compacted):
        return outcome
    messages = list(outcome.conversation.messages)
    at = next(at for at, message in enumerate(messages) if message.origin is Origin.SUMMARY)
    first = messages[at].blocks[0]
    head = read_summary(first.text) if isinstance(first, Text) else None
    if head is None or not head.layout.earlier:
        return outcome
    layout = head.layout
    joined = (*layout.joined_chars[: layout.pins], *layout.joined_chars[layout.pins + layout.earlier :])
    text = write_summary(head.body, evolve(layout, earlier=0, joined_chars=joined))
    messages[at] = user(outcome, Text(text), origin=Origin.SUMMARY)
    return remade(outcome, policy, messages)


@breaks("L8")
def pins_twice(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
    """What is pinned is copied to the head, wherever it stands."""
    outcome = compact(conversation, policy, **options)
    if isinstance(outcome, Compacted):
        for index, place in options.get("pins", ()):
            block = conversation.messages[conversation.position(index)].blocks[place]
            if isinstance(block, Text):
                return in_head(outcome, policy, user(outcome, block, origin=Origin.PIN))
    return outcome


@breaks("L9")
def understands(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
    """An acknowledgement is put into a person's mouth."""
    outcome = compact(conversation, policy, **options)
    if not isinstance(outcome, Compacted) or outcome.report["head"]["preamble"]:
        return outcome
    return in_head(outcome, policy, user(outcome, Text("Understood, I will go on from here."), origin=Origin.HARNESS))


@breaks("L9")
def improves_the_summary(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
    """A line is added to what the summariser wrote."""
    outcome = compact(conversation, policy, **options)
    if not isinstance(outcome, Compacted):
        return outcome
    return with_body(outcome, policy, lambda body: f"{body}\n- all tests pass on every platform")


def _first_500(lines: list[str]) -> list[str]:
    """Of everything that is quoted, the first 500 characters."""
    shown: list[str] = []
    room = 500
    for line in lines:
        is_quoted = line.startswith("> ")
        room = room if is_quoted else 500
        if not is_quoted or room > 0:
            shown.append(line[: room + 2] if is_quoted else line)
        room -= len(line)
    return shown


@breaks("L11")
def shows_the_first_500_characters(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
    """The summariser sees the beginning of each result and is not told so."""
    return asking(in_transcript(_first_500))(conversation, policy, **options)


@breaks("L11")
def lies_in_a_marker(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
    """A marker says that nearly nothing is missing."""

    def lie(lines: list[str]) -> list[str]:
        return [re.sub(r"^(> \[truncated v1: omitted )[0-9]+", r"\g<1>1", line) for line in lines]

    return asking(in_transcript(lie))(conversation, policy, **options)


@breaks("L26")
def edits_the_system_text(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
    """It knows better what stands around the messages."""
    outcome = compact(conversation, policy, **options)
    fields = conversation.envelope.fields
    if not isinstance(outcome, Compacted) or fields is None:
        return outcome
    told = tuple(
        (key, f"{value[:-1]}!" if key in ("system", "model") and isinstance(value, str) else value) for key, value in fields
    )
    envelope = evolve(conversation.envelope, fields=told)
    return evolve(outcome, conversation=evolve(outcome.conversation, envelope=envelope))


@breaks("L26")
def moves_a_system_message(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
    """System messages go behind the summary, nearer to the end."""
    outcome = compact(conversation, policy, **options)
    if not isinstance(outcome, Compacted) or conversation.dialect != "openai-chat" or outcome.conversation.fused[1]:
        return outcome
    messages = outcome.conversation.messages
    first = [message for message in messages[: head_stop(outcome)] if message.role in ("system", "developer")]
    if not first:
        return outcome
    rest = [message for message in messages[: head_stop(outcome)] if message.role not in ("system", "developer")]
    kept = len(rest) - (outcome.kept_prompt is not None)
    return remade(outcome, policy, (*rest[:kept], *first, *rest[kept:], *messages[head_stop(outcome) :]))


LOSS: Final = (
    believes_an_empty_summary,
    drops_on_failure,
    loses_the_newest_words,
    tidies_the_tail,
    loses_the_last_prompt,
    loses_words_beside_results,
    pins_twice,
    understands,
    improves_the_summary,
    shows_the_first_500_characters,
    lies_in_a_marker,
    edits_the_system_text,
    moves_a_system_message,
)
"""The saboteurs of these laws."""
