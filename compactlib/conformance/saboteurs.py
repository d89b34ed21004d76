"""
Compactors that are wrong on purpose, one thing each.

What this is
    `SABOTEURS`: for each law at least one compactor that breaks it.  The
    checks must blame that law and, besides it, only laws that cannot be kept
    while it is broken so (`Saboteur.also`).  They are the test of the checks,
    and examples of what goes wrong elsewhere.

Rules it obeys
    * Each is the library's own compactor with one thing changed, so that what
      is blamed is that thing.
    * Each has the signature of `compactlib.compact`.  Where it has no chance
      to do harm it does none.

What is not here
    Faults of summarisers: see `compactlib.summaries.faults`.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from attrs import evolve, frozen

from ..budget import Policy
from ..driving import compact
from ..model import Block, Call, Conversation, Media, Message, Origin, Reasoning, Text
from ..outcomes import Compacted, Outcome, Refused, Unchanged
from ..summaries.acceptance import Summary
from ..summaries.extractive import Extractive
from ..summaries.head import read_summary, user_message, write_summary
from ..summaries.rendering import SummaryRequest
from ..tokens import Memo
from ..turns import Kind, divide
from .running import Compact

__all__ = ["SABOTEURS", "Saboteur"]


@frozen
class Saboteur:
    """
    A compactor that breaks one law.

    Attributes:
        name: what it does, in few words.
        law: the law it breaks.
        also: laws that cannot be kept while that one is broken so.
        compact: the compactor.
    """

    name: str
    law: str
    also: frozenset[str]
    compact: Compact


_MADE: dict[str, Saboteur] = {}


def _breaks(law: str, *also: str) -> Callable[[Compact], Compact]:
    """Registers a compactor as a saboteur of *law*."""

    def register(made: Compact) -> Compact:
        name: str = getattr(made, "__name__", "").strip("_").replace("_", "-")
        _MADE[name] = Saboteur(name, law, frozenset(also), made)
        return made

    return register


# --- Changing what an honest compaction made -------------------------------------------------------------------------


def _remade(
    outcome: Compacted, policy: Policy, messages: Sequence[Message], *, fused: tuple[int, int] | None = None
) -> Compacted:
    """The outcome with other messages, and sizes that are right again; the honest one if that would miss the target."""
    made = outcome.conversation
    changed = evolve(made, messages=tuple(messages), fused=fused or made.fused, settled=len(messages))
    sizes = outcome.report["sizes"]
    after = Memo(policy.counter).request(changed)
    over = max(after - sizes["target"], 0)
    if over and outcome.reason == "target-met":
        return outcome
    return evolve(
        outcome,
        conversation=changed,
        after_tokens=after,
        over_by_tokens=over,
        reason="above-target" if over else "target-met",
        fits=after <= sizes["budget"],
    )


def _head_stop(outcome: Compacted) -> int:
    """How many messages of the result stand before the tail."""
    before = outcome.before
    return len(outcome.conversation.messages) - (len(before.messages) - before.position(outcome.cut))


def _in_head(outcome: Compacted, policy: Policy, extra: Message) -> Compacted:
    """The outcome with one more message at the beginning of its head."""
    messages = outcome.conversation.messages
    start, stop = outcome.conversation.fused
    at = start if stop else next(at for at, message in enumerate(messages) if message.role == "user")
    return _remade(outcome, policy, (*messages[:at], extra, *messages[at:]), fused=(start, stop + 1) if stop else None)


def _with_body(outcome: Compacted, policy: Policy, change: Callable[[str], str]) -> Compacted:
    """The outcome with other sections in its summary."""
    messages = list(outcome.conversation.messages)
    at = next(at for at, message in enumerate(messages) if message.origin is Origin.SUMMARY)
    first, *rest = messages[at].blocks
    head = read_summary(first.text) if isinstance(first, Text) else None
    if head is None:
        return outcome
    text = write_summary(change(head.body), head.layout)
    messages[at] = user_message((Text(text), *rest), Origin.SUMMARY, form=messages[at].wire.form)
    return _remade(outcome, policy, messages)


def _user(outcome: Compacted, *blocks: Block, origin: Origin) -> Message:
    """A message of the head, as this dialect writes them."""
    summary = next(message for message in outcome.conversation.messages if message.origin is Origin.SUMMARY)
    return user_message(blocks, origin, form=summary.wire.form and "string")


# --- L1 to L5: the protocol ------------------------------------------------------------------------------------------


@_breaks("L1", "L2", "L7")
def _drops_a_result(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
    """One answered call of the tail loses its answer."""
    outcome = compact(conversation, policy, **options)
    if not isinstance(outcome, Compacted):
        return outcome
    messages = outcome.conversation.messages
    for at in range(_head_stop(outcome), len(messages) - 1):
        whole = messages[at].blocks
        if messages[at].results and messages[at + 1].role == "model":
            kept = tuple(block for block in whole if block is not messages[at].results[0])
            return _remade(
                outcome, policy, (*messages[:at], *([evolve(messages[at], content=kept)] if kept else []), *messages[at + 1 :])
            )
    return outcome


@_breaks("L2")
def _keeps_an_old_picture(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
    """An attachment of a step that went is kept, because pictures matter."""
    outcome = compact(conversation, policy, **options)
    if isinstance(outcome, Compacted):
        kinds = divide(conversation).kinds
        for at in reversed(range(conversation.position(outcome.cut))):
            media = any(isinstance(block, Media) for block in conversation.messages[at].blocks)
            if kinds[at] is Kind.ATTACHMENT and media and not conversation.fused[1]:
                messages = outcome.conversation.messages
                start = next(place for place, message in enumerate(messages) if message.role == "user")
                first, last = outcome.conversation.fused
                moved = (first + 1, last + 1) if last else None
                return _remade(outcome, policy, (*messages[:start], conversation.messages[at], *messages[start:]), fused=moved)
    return outcome


@_breaks("L3", "L2")
def _cuts_at_a_picture(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
    """The last user-role message is taken for the person's, picture or not."""
    outcome = compact(conversation, policy, **options)
    if not isinstance(outcome, Compacted):
        return outcome
    kinds = divide(conversation).kinds
    cut = conversation.position(outcome.cut)
    at = next((at for at in range(cut, len(kinds)) if kinds[at] is Kind.ATTACHMENT), None)
    pictures = at is not None and any(isinstance(block, Media) for block in conversation.messages[at].blocks)
    if at is None or not pictures or any(kind is Kind.PROMPT for kind in kinds[cut:]):
        return outcome
    messages = outcome.conversation.messages
    made = _remade(outcome, policy, (*messages[: _head_stop(outcome)], *conversation.messages[at:]))
    return evolve(made, cut=conversation.wire_index(at))


@_breaks("L3")
def _cuts_short(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
    """It keeps less of the tail than it is allowed to, to be on the safe side."""
    honest = compact(conversation, policy, **options)
    tail = (honest.report.get("sizes") or {}).get("tail", 0)
    if not isinstance(honest, Compacted) or tail < 8:
        return honest
    short = compact(conversation, evolve(policy, tail_tokens=tail // 3), **{**options, "summarise": None})
    if not isinstance(short, Compacted) or short.cut == honest.cut or short.reason != "target-met":
        return honest
    made = _with_body(short, policy, lambda _: honest.summary)  # what the summariser said to the honest one
    return evolve(made, report={**short.report, "sizes": honest.report["sizes"]})


@_breaks("L4", "L5", "L7")
def _forgets_the_frontier(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
    """A call that is still running is tidied away."""
    outcome = compact(conversation, policy, **options)
    pending = divide(conversation).pending
    if not isinstance(outcome, Compacted) or not pending:
        return outcome
    lost = len(conversation.messages) - pending[0][0]
    messages = outcome.conversation.messages
    return _remade(outcome, policy, messages[:-lost]) if len(messages) - lost > _head_stop(outcome) else outcome


@_breaks("L4")
def _stops_at_a_dangling_call(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
    """One unanswered call anywhere, and nothing may be cut."""
    outcome = compact(conversation, policy, **options)
    if isinstance(outcome, Compacted) and divide(conversation).dangling:
        return Refused(
            conversation=conversation,
            reason="no-legal-cut",
            why="some call is open",
            before_tokens=outcome.before_tokens,
            report=outcome.report,
        )
    return outcome


@_breaks("L5", "L1", "L7")
def _strips_thinking(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
    """Thoughts of the past are no use, it thinks."""
    outcome = compact(conversation, policy, **options)
    if isinstance(outcome, Compacted) and not divide(conversation).pending:
        messages = list(outcome.conversation.messages)
        current = len(messages) - (len(conversation.messages) - divide(conversation).current_turn)
        for at in range(max(_head_stop(outcome), current), len(messages)):
            kept = tuple(block for block in messages[at].blocks if not isinstance(block, Reasoning))
            if len(kept) < len(messages[at].blocks) and kept and conversation.dialect == "anthropic":
                messages[at] = evolve(messages[at], content=kept)
                return _remade(outcome, policy, messages)
    return outcome


# --- L6 to L9, L11, L26: loss ----------------------------------------------------------------------------------------


@_breaks("L6")
def _believes_an_empty_summary(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
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


@_breaks("L6")
def _drops_on_failure(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
    """It failed, says the outcome, and half of the conversation is gone."""
    outcome = compact(conversation, policy, **options)
    if isinstance(outcome, Refused) and outcome.reason.startswith("summary-failed"):
        half = conversation.messages[len(conversation.messages) // 2 :]
        return evolve(outcome, conversation=evolve(conversation, messages=half, fused=(0, 0)))
    return outcome


@_breaks("L7")
def _loses_the_newest_words(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
    """The last thing the model said is left out, because it will say it again."""
    outcome = compact(conversation, policy, **options)
    if isinstance(outcome, Compacted):
        messages = outcome.conversation.messages
        last = messages[-1]
        is_thinking = any(isinstance(block, Reasoning) for block in last.blocks)
        if last.role == "model" and not last.calls and not is_thinking and len(messages) - 1 > _head_stop(outcome):
            return _remade(outcome, policy, messages[:-1])
    return outcome


@_breaks("L7", "L9")
def _tidies_the_tail(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
    """Words in the tail are trimmed."""
    outcome = compact(conversation, policy, **options)
    if isinstance(outcome, Compacted):
        messages = list(outcome.conversation.messages)
        for at in range(_head_stop(outcome), len(messages)):
            content = messages[at].content
            if isinstance(content, str) and messages[at].role == "model" and len(content) > 4:
                messages[at] = evolve(messages[at], content=content[:-3])
                return _remade(outcome, policy, messages)
    return outcome


@_breaks("L8", "L3")
def _loses_the_last_prompt(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
    """The request under way stands in the summary, surely."""
    outcome = compact(conversation, policy, **options)
    if not isinstance(outcome, Compacted) or outcome.kept_prompt is None:
        return outcome
    if divide(conversation).current_turn > conversation.position(outcome.cut):
        return outcome
    at = _head_stop(outcome) - 1
    messages = outcome.conversation.messages
    start, stop = outcome.conversation.fused
    return _remade(outcome, policy, (*messages[:at], *messages[at + 1 :]), fused=(start, stop - 1) if stop else None)


@_breaks("L8")
def _loses_words_beside_results(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
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
    text = write_summary(head.body, evolve(head.layout, earlier=0))
    messages[at] = user_message((Text(text),), Origin.SUMMARY, form=messages[at].wire.form and "string")
    return _remade(outcome, policy, messages)


@_breaks("L8")
def _pins_twice(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
    """What is pinned is copied to the head, wherever it stands."""
    outcome = compact(conversation, policy, **options)
    if isinstance(outcome, Compacted):
        for index, place in options.get("pins", ()):
            block = conversation.messages[conversation.position(index)].blocks[place]
            if isinstance(block, Text):
                return _in_head(outcome, policy, _user(outcome, block, origin=Origin.PIN))
    return outcome


@_breaks("L9")
def _understands(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
    """An acknowledgement is put into a person's mouth."""
    outcome = compact(conversation, policy, **options)
    if not isinstance(outcome, Compacted):
        return outcome
    return _in_head(outcome, policy, _user(outcome, Text("Understood, I will go on from here."), origin=Origin.HARNESS))


@_breaks("L9")
def _improves_the_summary(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
    """A line is added to what the summariser wrote."""
    outcome = compact(conversation, policy, **options)
    if not isinstance(outcome, Compacted):
        return outcome
    return _with_body(outcome, policy, lambda body: f"{body}\n- all tests pass on every platform")


def _asking(change: Callable[[SummaryRequest], SummaryRequest]) -> Compact:
    """A compactor that asks otherwise."""

    def made(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
        ask = options.pop("summarise", None) or Extractive(counter=policy.counter)
        return compact(conversation, policy, summarise=lambda request: ask(change(request)), **options)

    return made


def _transcript(change: Callable[[list[str]], list[str]]) -> Callable[[SummaryRequest], SummaryRequest]:
    """Changes the lines of the transcript in a request, and leaves what stands before it."""

    def changed(request: SummaryRequest) -> SummaryRequest:
        before, found, after = request.text.rpartition("\n=== Transcript")
        lines = (found + after).split("\n")
        return evolve(request, text=before + "\n".join(change(lines)))

    return changed


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


@_breaks("L11")
def _shows_the_first_500_characters(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
    """The summariser sees the beginning of each result and is not told so."""
    return _asking(_transcript(_first_500))(conversation, policy, **options)


@_breaks("L11")
def _lies_in_a_marker(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
    """A marker says that nearly nothing is missing."""

    def lie(lines: list[str]) -> list[str]:
        return [re.sub(r"^(> \[truncated v1: omitted )[0-9]+", r"\g<1>1", line) for line in lines]

    return _asking(_transcript(lie))(conversation, policy, **options)


@_breaks("L26")
def _edits_the_system_text(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
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


@_breaks("L26")
def _moves_a_system_message(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
    """System messages go behind the summary, nearer to the end."""
    outcome = compact(conversation, policy, **options)
    if not isinstance(outcome, Compacted) or conversation.dialect != "openai-chat":
        return outcome
    messages = outcome.conversation.messages
    first = [message for message in messages[: _head_stop(outcome)] if message.role in ("system", "developer")]
    if not first:
        return outcome
    rest = [message for message in messages[: _head_stop(outcome)] if message.role not in ("system", "developer")]
    kept = len(rest) - (outcome.kept_prompt is not None)
    return _remade(outcome, policy, (*rest[:kept], *first, *rest[kept:], *messages[_head_stop(outcome) :]))


# --- L12, L13: size --------------------------------------------------------------------------------------------------


@_breaks("L12", "L3", "L13", "L8")
def _keeps_everything(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
    """The summary is put in front, and nothing is taken away."""
    outcome = compact(conversation, policy, **options)
    if not isinstance(outcome, Compacted) or options.get("pins") or next(_summaries(conversation), None) is not None:
        return outcome
    messages = outcome.conversation.messages
    head = messages[: _head_stop(outcome) - (outcome.kept_prompt is not None)]
    old = [message for message in conversation.messages if not any(message is kept for kept in head)]
    made = evolve(outcome.conversation, messages=(*head, *old), fused=(0, 0), settled=len(head) + len(old))
    return evolve(outcome, conversation=made)


@_breaks("L13")
def _calls_it_met(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
    """Above the target, and it says nothing."""
    outcome = compact(conversation, policy, **options)
    return evolve(outcome, reason="target-met", over_by_tokens=0) if isinstance(outcome, Compacted) else outcome


# --- L16, L17, L19: stability ----------------------------------------------------------------------------------------


@_breaks("L16")
def _throws_dice(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
    """Every request is signed with a number that no other has, as a date would be."""
    signed = random.random()  # noqa: S311 - that is the fault
    return _asking(lambda request: evolve(request, instructions=f"{request.instructions}\n\nRun {signed}."))(
        conversation, policy, **options
    )


@_breaks("L17")
def _is_eager(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
    """Below the trigger is near enough."""
    outcome = compact(conversation, policy, **options)
    if isinstance(outcome, Unchanged) and outcome.reason == "below-trigger":
        early = compact(conversation, policy, **{**options, "when": "now"})
        if isinstance(early, Compacted) and early.before_tokens - early.after_tokens > policy.window_tokens // 20:
            return early
    return outcome


@_breaks("L17")
def _cannot_stop(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
    """It does not remember that there is nothing new."""
    outcome = compact(conversation, policy, **options)
    if isinstance(outcome, Compacted):
        return evolve(outcome, conversation=evolve(outcome.conversation, settled=0))
    return outcome


@_breaks("L19")
def _scribbles_on_the_input(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
    """Arguments of old calls are emptied in place."""
    outcome = compact(conversation, policy, **options)
    if isinstance(outcome, Compacted):
        for message in conversation.messages[: conversation.position(outcome.cut)]:
            for block in message.blocks:
                if isinstance(block, Call) and isinstance(block.arguments, dict):
                    block.arguments.clear()
    return outcome


# --- L20, L25: honesty -----------------------------------------------------------------------------------------------


def _summaries(conversation: Conversation) -> Iterator[Message]:
    for message in conversation.messages:
        if message.origin is Origin.SUMMARY:
            yield message


@_breaks("L20")
def _keeps_both_summaries(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
    """The summary before is kept beside the new one."""
    outcome = compact(conversation, policy, **options)
    old = next(_summaries(conversation), None)
    if not isinstance(outcome, Compacted) or old is None or outcome.reason != "target-met":
        return outcome
    messages = outcome.conversation.messages
    start, stop = outcome.conversation.fused
    at = _head_stop(outcome) - (outcome.kept_prompt is not None)
    return _remade(outcome, policy, (*messages[:at], old, *messages[at:]), fused=(start, stop + 1) if stop else None)


@_breaks("L20")
def _shows_the_summary_twice(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
    """The summary before is shown as a record and as a message."""

    def twice(request: SummaryRequest) -> SummaryRequest:
        if not request.previous:
            return request
        quoted = "> " + request.previous.replace("\n", "\n> ")
        return evolve(request, text=f"{request.text}\n--- message 0 · earlier summary, not a person\n{quoted}")

    return _asking(twice)(conversation, policy, **options)


@_breaks("L20", "L9")
def _starts_again(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
    """What was done is to be done next."""
    outcome = compact(conversation, policy, **options)
    old = next(_summaries(conversation), None)
    head = read_summary(old.blocks[0].text) if old is not None and isinstance(old.blocks[0], Text) else None
    if not isinstance(outcome, Compacted) or head is None:
        return outcome
    done = head.body.partition("## Done\n")[2].split("\n")[0]
    if not done.startswith("- ") or any(done[2:] in message.text for message in conversation.messages[1 : outcome.cut]):
        return outcome
    return _with_body(outcome, policy, lambda body: body.replace("## Next step\n", f"## Next step\n{done}\n"))


@_breaks("L25")
def _does_not_quote(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
    """The transcript is shown as it is."""
    bare = _transcript(lambda lines: [line.removeprefix("> ") for line in lines])
    return _asking(bare)(conversation, policy, **options)


@_breaks("L25", "L9")
def _obeys_tools(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
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
    return _with_body(outcome, policy, lambda body: body.replace(heading, f"{heading}- {order}\n"))


@_breaks("L25", "L9")
def _honours_every_heading(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
    """Whatever looks like a heading in a quoted line is one."""
    outcome = compact(conversation, policy, **options)
    if not isinstance(outcome, Compacted):
        return outcome
    return _with_body(outcome, policy, lambda body: re.sub(r"(?m)^(?:- )?\\(?=#)", "", body))


SABOTEURS: Final[Mapping[str, Saboteur]] = MappingProxyType(_MADE)
"""Every saboteur by its name."""
