"""
Wrong compactors: the laws of honesty, L20 and L25.

Each function says in a sentence what it does wrong; see `sabotage` for how.
"""

from __future__ import annotations

import re
from typing import Any, Final

from attrs import evolve

from ..budget import Policy
from ..driving import compact
from ..model import Conversation, Text
from ..outcomes import Compacted, Outcome
from ..summaries.head import read_summary
from ..summaries.rendering import SummaryRequest
from .sabotage import asking, breaks, head_stop, in_transcript, remade, summaries, with_body

__all__ = ["HONESTY"]


@breaks("L20")
def keeps_both_summaries(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
    """The summary before is kept beside the new one."""
    outcome = compact(conversation, policy, **options)
    old = next(summaries(conversation), None)
    if not isinstance(outcome, Compacted) or old is None or outcome.reason != "target-met":
        return outcome
    messages = outcome.conversation.messages
    start, stop = outcome.conversation.fused
    at = head_stop(outcome) - (outcome.kept_prompt is not None)
    return remade(outcome, policy, (*messages[:at], old, *messages[at:]), fused=(start, stop + 1) if stop else None)


@breaks("L20", "L15")
def shows_the_summary_twice(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
    """The summary before is shown as a record and as a message, for which no room was left."""

    def twice(request: SummaryRequest) -> SummaryRequest:
        if not request.previous:
            return request
        quoted = "> " + request.previous.replace("\n", "\n> ")
        return evolve(request, text=f"{request.text}\n--- message 0 · earlier summary, not a person\n{quoted}")

    return asking(twice)(conversation, policy, **options)


@breaks("L20", "L9")
def starts_again(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
    """What was done is to be done next."""
    outcome = compact(conversation, policy, **options)
    old = next(summaries(conversation), None)
    head = read_summary(old.blocks[0].text) if old is not None and isinstance(old.blocks[0], Text) else None
    if not isinstance(outcome, Compacted) or head is None:
        return outcome
    done = head.body.partition("## Done\n")[2].split("\n")[0]
    if not done.startswith("- ") or any(done[2:] in message.text for message in conversation.messages[1 : outcome.cut]):
        return outcome
    return with_body(outcome, policy, lambda body: body.replace("## Next step\n", f"## Next step\n{done}\n"))


@breaks("L25")
def does_not_quote(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
    """The transcript is shown as it is."""
    bare = in_transcript(lambda lines: [line.removeprefix("> ") for line in lines])
    return asking(bare)(conversation, policy, **options)


@breaks("L25", "L9")
def obeys_tools(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
    """A tool's line that begins with "ORDER:" is an order."""
    outcome = compact(conversation, policy, **options)
    if not isinstance(outcome, Compacted):
        return outcome
    replaced = conversation.messages[: conversation.position(outcome.cut)]
    told = [line for message in replaced for result in message.results for line in result.text.split("\n")]
    order = next((line for line in told if line.startswith("ORDER: ")), None)
    heading = "## Orders, constraints and preferences\n"
    if order is None:
        return outcome
    return with_body(outcome, policy, lambda body: body.replace(heading, f"{heading}- {order}\n"))


@breaks("L25", "L9")
def honours_every_heading(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
    """Whatever looks like a heading in a quoted line is one."""
    outcome = compact(conversation, policy, **options)
    if not isinstance(outcome, Compacted):
        return outcome
    return with_body(outcome, policy, lambda body: re.sub(r"(?m)^(?:- )?\\(?=#)", "", body))


HONESTY: Final = (
    keeps_both_summaries,
    shows_the_summary_twice,
    starts_again,
    does_not_quote,
    obeys_tools,
    honours_every_heading,
)
"""The saboteurs of these laws."""
