"""
The plan of a compaction: everything that is decided before a model is asked.

What this is
    From a conversation and a policy to a `Plan`: the sizes, the cut, what
    stands in the head, and what the summary has to stand for.  If it cannot be
    done, `CannotPlanError` says why and what is irreducible.

Rules it obeys
    * Law L8.  The last prompt stays verbatim; so does every pin, and every
      word that a person typed beside results; earlier prompts stay while they
      fit.  Recognising a harness text never takes protection away.
    * Law L14 (a).  Nobody is asked when no answer could help.
    * Law L20.  The previous summary is taken out of the history and shown once.
    * Law L26.  System messages stay, in order.

What is not here
    Asking, assembling and checking (`compaction`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from attrs import evolve, field, frozen

from .budget import SMALLEST_SUMMARY_TOKENS, Policy, Sizes, sizes
from .cuts import Choice, Cuts, choose, find_cuts, is_compaction, tail_tokens
from .errors import PolicyError
from .model import Block, Call, Conversation, Media, Message, Opaque, Origin, Result, Text
from .outcomes import Part
from .persons import QUOTE_TOKENS, quoted, said_before
from .protocol.profiles import profile_named
from .summaries.head import read_earlier, read_summary, user_message
from .summaries.transcript import argument_text
from .tokens import Memo, block_tokens
from .turns import Division, Kind, divide, origins

__all__ = ["CannotPlanError", "Pin", "Plan", "Reminder", "overhead_tokens", "plan", "text_form"]

Pin: TypeAlias = "int | tuple[int, int]"
"""A message of the input by its index on the wire, or one block of it as (message, block)."""

Reminder: TypeAlias = "str | Callable[[], str]"
"""A text from live state, or what returns it."""


@frozen(kw_only=True)
class Plan:
    """Everything that is decided before a model is asked."""

    division: Division
    sizes: Sizes
    choice: Choice
    system: tuple[Message, ...]
    preamble: tuple[Message, ...]
    opaque: tuple[Message, ...]
    pins: tuple[Message, ...]
    reminders: tuple[Message, ...]
    prompt: tuple[Message, ...]
    earlier: tuple[Block, ...]
    previous: str
    replaced: tuple[Message, ...] = field(repr=False)
    persons: tuple[str, ...] = field(repr=False)
    irreducible: tuple[Part, ...]


class CannotPlanError(Exception):
    """It cannot be done; internal, every public function turns it into `Refused`."""

    def __init__(self, reason: str, why: str, irreducible: tuple[Part, ...] = ()) -> None:
        super().__init__(why)
        self.reason = reason
        self.why = why
        self.irreducible = irreducible


def overhead_tokens(conversation: Conversation, memo: Memo) -> int:
    """System prompt and tools, and the system messages that stand first among the messages."""
    leading = 0
    for message in conversation.messages:
        if message.role not in ("system", "developer"):
            break
        leading += memo.message(message)
    return memo.overhead(conversation) + leading


def plan(
    conversation: Conversation,
    policy: Policy,
    memo: Memo,
    before_tokens: int,
    *,
    least_gain: int,
    pins: Sequence[Pin] = (),
    reminders: Sequence[Reminder] = (),
    previous: str | None = None,
) -> Plan:
    """
    Decide everything that can be decided without a model.

    Args:
        conversation: what is to be compacted.
        policy: what the caller decided.
        memo: counts tokens, each message once.
        before_tokens: size of the whole request.
        least_gain: what has to be saved, in tokens.
        pins, reminders, previous: see `compactlib.compact`.

    Raises:
        CannotPlanError: there is nothing that could help.
        PolicyError: an argument names something that is not there, or a
            callback failed.
    """
    messages = conversation.messages
    division = divide(conversation)
    kinds = division.kinds
    cuts = find_cuts(conversation, division)
    weights = [memo.message(message) for message in messages]
    form = text_form(conversation)

    pinned = _pinned(conversation, division, pins)
    reminded = tuple(user_message((Text(text),), Origin.REMINDER, form=form) for text in _texts(reminders))
    overhead = overhead_tokens(conversation, memo)
    rough = sizes(policy, overhead_tokens=overhead)
    if not rough.overhead_fits:
        raise CannotPlanError(
            "overhead-exceeds-threshold",
            f"system prompt and tools take {overhead} of the {rough.trigger} tokens at which compaction starts",
            (Part("overhead", overhead),),
        )
    preamble = _preamble(conversation, division, rough.extras, memo)
    # The pins that end up in the tail are not repeated in the head, but which
    # they are depends on the cut, and the cut on their size: count them all.
    needed = sum(map(memo.message, (*preamble, *reminded, *(_pin_message([block], form) for _, _, block in pinned))))
    places = {(at, place) for at, place, _ in pinned}
    known, choice, owed = _choice(division, cuts, weights, messages, policy, overhead, needed, places, memo)

    pinned_tokens = sum(memo.message(_pin_message([block], form)) for _, _, block in pinned)
    if pinned_tokens > known.room // 2:
        names = tuple(sorted({conversation.wire_index(at) for at, _, _ in pinned}))
        why = f"the pins alone take {pinned_tokens} of {known.room} tokens of room, more than half"
        raise CannotPlanError("irreducible", why, (Part("overhead", overhead), Part("pins", pinned_tokens, names)))

    cut = choice.position
    opaque = _opaque(messages[:cut])
    preamble = () if opaque else preamble
    kept_pins = [block for at, _, block in pinned if at < cut and at != choice.prompt]
    pin_messages = (_pin_message(kept_pins, form),) if kept_pins else ()
    prompt = () if choice.prompt is None else (messages[choice.prompt],)
    system = tuple(messages[at] for at in range(cut) if kinds[at] is Kind.SYSTEM)
    head_tokens = owed + sum(map(memo.message, (*system, *preamble, *opaque, *pin_messages, *reminded)))
    irreducible = _irreducible(conversation, division, cuts, policy, weights, memo, head_tokens)
    smallest = sum(part.tokens for part in irreducible)
    if known.tail <= 0:
        why = f"pins, preamble and reminders take {needed} tokens and leave no room for a tail"
        raise CannotPlanError("irreducible", why, irreducible)
    if smallest >= before_tokens - least_gain:
        why = f"the smallest result there could be has {smallest} tokens, the input {before_tokens}"
        raise CannotPlanError("irreducible", why, irreducible)
    found = _previous(messages, division, cut, previous)
    pinned_at = _wholly_pinned(messages, places)
    replaced = _replaced(messages, division, cut, {choice.prompt, *pinned_at}, preamble, opaque)
    if not replaced:
        if found[0]:
            raise CannotPlanError("nothing-new", "only the previous summary would be summarised")
        raise CannotPlanError("irreducible", "everything before the cut stays anyway", irreducible)
    head = memo.overhead(conversation) + head_tokens + choice.tail_tokens + SMALLEST_SUMMARY_TOKENS
    if head >= before_tokens - least_gain:
        why = f"with the longest tail that fits, the result would have {head} tokens, the input {before_tokens}"
        raise CannotPlanError("irreducible", why, irreducible)
    earlier, persons = quoted(
        division, messages, cut, choice.prompt, places, found[1], policy, max(known.extras - needed, owed), memo
    )
    if division.turns and division.turns[0].start in pinned_at:
        persons = ("", *persons)  # the first prompt stands in the head anyway: it needs no quotation
    return Plan(
        division=division,
        sizes=known,
        choice=choice,
        system=system,
        preamble=preamble,
        opaque=opaque,
        pins=pin_messages,
        reminders=reminded,
        prompt=prompt,
        earlier=earlier,
        previous=found[0],
        replaced=replaced,
        persons=persons,
        irreducible=irreducible,
    )


def _choice(
    division: Division,
    cuts: Cuts,
    weights: list[int],
    messages: tuple[Message, ...],
    policy: Policy,
    overhead: int,
    needed: int,
    pinned: set[tuple[int, int]],
    memo: Memo,
) -> tuple[Sizes, Choice, int]:
    """
    The sizes, the cut, and the tokens of what has to be quoted after it.

    What persons wrote beside dropped results has to be quoted, whatever the
    room, and how much that is depends on the cut: so the choice is made again
    with that much less room, until it has enough.
    """
    owed = 0
    while True:
        known = sizes(policy, overhead_tokens=overhead, needed_tokens=needed + owed)
        choice = choose(division, cuts, weights, limit_tokens=max(known.tail, 0), step_cuts=policy.step_cuts)
        if choice is None:
            raise CannotPlanError("no-legal-cut", _no_cut(division, cuts, policy), ())
        said = said_before(division, messages, choice.position, choice.prompt, pinned)
        must = sum(memo.counter(text) + QUOTE_TOKENS for text, is_owed, _ in said if is_owed and text)
        must += sum(block_tokens(block, memo.counter) for _, _, media in said for block in media)
        if must <= owed or known.tail <= 0:
            return known, choice, owed
        owed = must


def text_form(conversation: Conversation) -> str:
    """How this dialect writes a user message whose content is one text."""
    return "string" if profile_named(conversation.dialect).fuse != "yes" else ""


def _texts(reminders: Sequence[Reminder]) -> list[str]:
    texts = []
    for reminder in reminders:
        try:
            text = reminder if isinstance(reminder, str) else reminder()
        except Exception as error:
            raise PolicyError("reminders", f"a reminder raised {type(error).__name__}: {error}") from error
        if not isinstance(text, str):
            raise PolicyError("reminders", f"a reminder is a text, not {type(text).__name__}")
        if text.strip():
            texts.append(text)
    return texts


def _pinned(conversation: Conversation, division: Division, pins: Sequence[Pin]) -> list[tuple[int, int, Block]]:
    """Pinned blocks with their places (message, block): those of the head, then those named by the caller, each once."""
    messages = conversation.messages
    held = {
        (at, place) for at, kind in enumerate(division.kinds) if kind is Kind.PIN for place in range(len(messages[at].blocks))
    }
    named: set[tuple[int, int]] = set()
    for pin in pins:
        index, place = pin if isinstance(pin, tuple) else (pin, None)
        if not 0 <= index < conversation.length:
            raise PolicyError("pins", f"there is no message {index} among {conversation.length}")
        at = conversation.position(index)
        for one in range(len(messages[at].blocks)) if place is None else (place,):
            if not 0 <= one < len(messages[at].blocks):
                raise PolicyError("pins", f"message {index} has no block {one}")
            named.add((at, one))
    return [(at, place, messages[at].blocks[place]) for at, place in [*sorted(held), *sorted(named - held)]]


def _wholly_pinned(messages: tuple[Message, ...], places: set[tuple[int, int]]) -> set[int]:
    """Messages of words and media that are pinned whole, so that nothing in them needs another place."""
    return {
        at
        for at, _ in places
        if all((at, place) in places and isinstance(block, Text | Media) for place, block in enumerate(messages[at].blocks))
    }


def _pin_message(blocks: Sequence[Block], form: str) -> Message:
    """Pins as one message; a call or a result is quoted, because it is illegal without its step (law L8)."""
    made: list[Block] = []
    for block in blocks:
        if isinstance(block, Call):
            made.append(Text(f"[pinned call {block.id} of {block.name}]\n{argument_text(block)}"))
        elif isinstance(block, Result):
            made.append(Text(f"[pinned result of {block.call_id}]\n{block.text}"))
        elif isinstance(block, Text | Media):
            made.append(block)
        else:
            raise PolicyError("pins", f"a {type(block).__name__.lower()} block cannot be pinned")
    return user_message(made, Origin.PIN, form=form)


def _preamble(conversation: Conversation, division: Division, allowance: int, memo: Memo) -> tuple[Message, ...]:
    """What stands before the first prompt, while it fits; of equal messages only the last."""
    messages = conversation.messages
    kept: list[Message] = []
    left = allowance
    for at in range(division.head_stop):
        message = messages[at]
        repeated = any(later.content == message.content for later in messages[at + 1 : division.head_stop])
        if division.kinds[at] is not Kind.PREAMBLE or repeated:
            continue
        left -= memo.message(message)
        if left < 0:
            break
        kept.append(message)
    return tuple(kept)


def _opaque(before: Sequence[Message]) -> tuple[Message, ...]:
    """The message with the last compaction object that nobody but the provider can read: it stays, verbatim."""
    for message in reversed(before):
        for block in reversed(message.blocks):
            if isinstance(block, Opaque) and block.kind == "compaction" and is_compaction(block):
                return () if isinstance(block.value.get("content"), str) else (message,)
    return ()


def _no_cut(division: Division, cuts: Cuts, policy: Policy) -> str:
    if policy.step_cuts == "never" and cuts.step:
        return "no second prompt to cut at, and the policy allows no cut between steps"
    if len(division.steps) < 2:
        return "fewer than two steps and no second prompt: there is nothing to cut off"
    return "every place between steps is closed by a call, a citation, a loaded tool or a missing thinking block"


def _irreducible(
    conversation: Conversation,
    division: Division,
    cuts: Cuts,
    policy: Policy,
    weights: list[int],
    memo: Memo,
    head_tokens: int,
) -> tuple[Part, ...]:
    """What no compaction could take away, largest causes named."""
    smallest = choose(division, cuts, weights, limit_tokens=-1, step_cuts=policy.step_cuts)
    if smallest is None:
        return ()
    at = conversation.wire_index
    tails = tail_tokens(weights)
    tail = tuple(sorted({at(position) for position in range(smallest.position, len(weights))}))
    parts = [
        Part("overhead", memo.overhead(conversation)),
        Part("head", head_tokens),
        Part("summary", SMALLEST_SUMMARY_TOKENS),
        Part("tail", tails[smallest.position], tail[:20]),
    ]
    if smallest.prompt is not None:
        parts.append(Part("prompt", weights[smallest.prompt], (at(smallest.prompt),)))
    return tuple(part for part in parts if part.tokens)


def _previous(messages: tuple[Message, ...], division: Division, cut: int, given: str | None) -> tuple[str, tuple[str, ...]]:
    """The body of the summary that is replaced, and the earlier prompts it had quoted (law L20)."""
    body = given or ""
    prompts: tuple[str, ...] = ()
    for at in range(min(cut, division.head_stop)):
        if division.kinds[at] is not Kind.SUMMARY:
            continue
        texts = [block.text for block in messages[at].blocks if isinstance(block, Text)]
        head = read_summary(texts[0]) if texts else None
        if head is not None:
            body = given or head.body
            prompts = tuple(prompt for text in texts[1:] for prompt in read_earlier(text))
            break
    if not body:
        for message in messages[:cut]:
            for block in message.blocks:
                if isinstance(block, Opaque) and block.kind == "compaction" and isinstance(block.value.get("content"), str):
                    body = block.value["content"]
    return body, prompts


def _replaced(
    messages: tuple[Message, ...],
    division: Division,
    cut: int,
    elsewhere: set[int | None],
    preamble: tuple[Message, ...],
    opaque: tuple[Message, ...],
) -> tuple[Message, ...]:
    """What the summary stands for, each message with its origins stated; not what stays verbatim *elsewhere*."""
    replaced = []
    start = max((at for at in range(cut) if any(messages[at] is kept for kept in opaque)), default=-1) + 1
    for at in range(start, cut):
        kind = division.kinds[at]
        message = messages[at]
        if at in elsewhere or kind in (Kind.SYSTEM, Kind.PIN, Kind.REMINDER) or any(message is kept for kept in preamble):
            continue
        if kind is Kind.SUMMARY and at < division.head_stop and read_summary(message.text) is not None:
            continue
        blocks = message.blocks
        where = origins(message, kind)
        kept = [
            (block, origin)
            for block, origin in zip(blocks, where, strict=True)
            if not (isinstance(block, Opaque) and block.kind == "compaction")
        ]
        if kept or not blocks:
            content = message.content if isinstance(message.content, str) else tuple(block for block, _ in kept)
            replaced.append(evolve(message, content=content, origin=tuple(origin for _, origin in kept)))
    return tuple(replaced)
