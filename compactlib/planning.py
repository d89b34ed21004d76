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
    * A message without any words is nobody's, and is not kept.

What is not here
    Pins (`pinning`), what the summary stands for (`replacing`), and asking,
    assembling and checking (`compaction`).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Final, Literal

from attrs import evolve, field, frozen

from .arguments import told
from .budget import SMALLEST_SUMMARY_TOKENS, Policy, Sizes, sizes
from .bulk import Bulk, lightest_tail
from .collapsing import collapse_at, entries, turn_key
from .cuts import Choice, Cuts, choose, find_cuts, tail_tokens
from .errors import PolicyError
from .model import Block, Conversation, Message, Origin, Text
from .outcomes import Part
from .persons import all_words, quoted, said_before, says, tokens_owed
from .pinning import pin_message, pinned, texts_to_pin, wholly_pinned
from .protocol.profiles import Profile, profile_named
from .replacing import CompactionObject, no_longer_kept, opaque_in, previous_record, replaced_by
from .summaries.changed import LIMIT_CHARS, changed_files, read_changed, write_changed
from .summaries.head import Layout, user_message
from .tasks import Reminder, Rung, Task
from .tokens import Memo
from .turns import Division, Kind, divide
from .visible import hides_behind, sizes_seen

__all__ = ["CannotPlanError", "Plan", "bound_of", "overhead_tokens", "plan", "profile_of"]

_ROUNDS: Final = 16
"""How often a cut is chosen at most, each time with room for what the cut before would leave in the head."""

_ELSEWHERE: Final = ("previous_response_id", "conversation")
"""Fields of a body that stand for messages which are not in it (OpenAI Responses)."""


@frozen(kw_only=True)
class Plan:
    """
    Everything that is decided before a model is asked.

    The cut is chosen on the sizes of the messages as the model sees them
    (``seen``), or, where the provider would not hide the same after the cut, as
    they are sent.
    """

    profile: Profile
    division: Division
    sizes: Sizes
    choice: Choice
    weights: Literal["seen", "sent"]
    system: tuple[Message, ...]
    preamble: tuple[Message, ...]
    opaque: tuple[Message, ...]
    pins: tuple[Message, ...]
    reminders: tuple[Message, ...]
    prompt: tuple[Message, ...]
    earlier: tuple[Block, ...]
    previous: str
    replaced: tuple[Message, ...] = field(repr=False)
    under_way: int | None
    persons: tuple[str, ...] = field(repr=False)
    irreducible: tuple[Part, ...]

    @property
    def layout(self) -> Layout:
        """What stands around the summary."""
        pins = [block for message in self.pins for block in message.blocks]
        reminders = [block for message in self.reminders for block in message.blocks]
        joined = [*pins, *self.earlier, *reminders] if self.profile.fuse == "text" else []
        return Layout(
            pins=len(pins),
            earlier=len(self.earlier),
            reminders=len(reminders),
            under_way=bool(self.prompt),
            joined_chars=tuple(len(block.text) if isinstance(block, Text) else 0 for block in joined),
        )


class CannotPlanError(Exception):
    """It cannot be done; internal, every public function turns it into `Refused`."""

    def __init__(self, reason: str, why: str, irreducible: tuple[Part, ...] = ()) -> None:
        super().__init__(why)
        self.reason = reason
        self.why = why
        self.irreducible = irreducible


def profile_of(conversation: Conversation, policy: Policy) -> Profile:
    """
    How the provider of *conversation* wants to be spoken to.

    Raises:
        PolicyError: the policy's profile is another dialect's, or no model is ever sent such a conversation.
    """
    profile = profile_named(policy.profile or conversation.dialect)
    if not profile.is_sent:
        raise PolicyError(
            "conversation", f"{profile.dialect} is a record of what was done, no request: there is nothing to compact"
        )
    if profile.dialect != conversation.dialect:
        raise PolicyError("profile", f"{profile.name!r} is for {profile.dialect}, not for {conversation.dialect}")
    return profile


def overhead_tokens(conversation: Conversation, memo: Memo) -> int:
    """System prompt and tools, the system messages that stand first, and the provider's compaction object."""
    messages = conversation.messages
    opaque = opaque_in(messages)
    standing = list(opaque.kept) if opaque is not None else []
    for message in messages[0 if opaque is None or opaque.at else 1 :]:
        if message.role not in ("system", "developer"):
            break
        standing.append(message)
    return memo.overhead(conversation) + memo.messages(standing)


def plan(
    conversation: Conversation,
    policy: Policy,
    task: Task,
    memo: Memo,
    before_tokens: int,
    *,
    least_gain: int,
    rung: Rung = "summarise",
    bulk: Bulk | None = None,
) -> Plan:
    """
    Decide everything that can be decided without a model.

    Args:
        conversation: what is to be compacted.
        policy: what the caller decided for all conversations.
        task: what is wanted of this compaction.
        memo: counts tokens, each message once.
        before_tokens: size of the whole request.
        least_gain: what has to be saved, in tokens.
        rung: who writes the summary: a summariser, the digests (``collapse``), or nobody (``snip``).
        bulk: what the request weighs, if that is limited.

    Raises:
        CannotPlanError: there is nothing that could help.
        PolicyError: an argument names something that is not there, or a
            callback failed.
    """
    messages = conversation.messages
    if conversation.dialect == "openai-responses" and any(conversation.setting(name) is not None for name in _ELSEWHERE):
        raise CannotPlanError("prefix-at-provider", "the history before these messages is kept by the provider")
    profile = profile_of(conversation, policy)
    division = divide(conversation)
    kinds = division.kinds
    cuts = find_cuts(conversation, division, profile=profile)
    weights = sizes_seen(conversation, memo)

    pins = pinned(conversation, division, task.pins)
    overhead = overhead_tokens(conversation, memo)
    rough = sizes(policy, overhead_tokens=overhead)
    texts = [*_changed_files(messages, division, policy, rough), *_texts(task.reminders)]
    reminded = tuple(user_message((Text(text),), Origin.REMINDER, profile) for text in texts)
    if not rough.overhead_fits:
        raise CannotPlanError(
            "overhead-exceeds-threshold",
            f"system prompt and tools take {overhead} of the {rough.trigger} tokens at which compaction starts",
            (Part("overhead", overhead),),
        )
    opaque = opaque_in(messages)
    preamble = _preamble(conversation, division, rough.extras, memo) if opaque is None else ()
    # The pins that end up in the tail are not repeated in the head, but which
    # they are depends on the cut, and the cut on their size: count them all.
    always = texts_to_pin(policy.pins, pins)
    pinned_tokens = sum(memo.message(pin_message([block], profile)) for block in [*always, *(block for _, _, block in pins)])
    needed = pinned_tokens + memo.messages((*preamble, *reminded))
    places = {(at, place) for at, place, _ in pins}
    standing = _standing(kinds, weights, opaque)
    light = lightest_tail(bulk, conversation, policy, weights)
    known, choice, owed = _choice(
        division, cuts, weights, messages, policy, overhead, needed, places, standing, memo, rung, light
    )
    by: Literal["seen", "sent"] = "seen"
    if weights != (whole := memo.sizes(messages)) and not hides_behind(conversation, choice.position, memo):
        weights, by = whole, "sent"  # the provider would not hide it any more
        known, choice, owed = _choice(
            division, cuts, weights, messages, policy, overhead, needed, places, standing, memo, rung, light
        )
    collapse = None
    if rung == "collapse":
        collapse = collapse_at(
            messages,
            division,
            cuts,
            weights,
            task.digests,
            latest=choice.position,
            target_tokens=known.target,
            head_tokens=overhead + needed + standing[choice.position] + memo.messages(messages[: division.head_stop]),
            memo=memo,
        )
        if collapse is None:
            raise CannotPlanError("no-digest", "no old turn has a digest and ends where a cut is legal")
        choice, owed = collapse.choice, 0

    if pinned_tokens > known.room // 2:
        names = tuple(sorted({conversation.wire_index(at) for at, _, _ in pins}))
        why = f"the pins alone take {pinned_tokens} of {known.room} tokens of room, more than half"
        raise CannotPlanError("irreducible", why, (Part("overhead", overhead), Part("pins", pinned_tokens, names)))

    cut = choice.position
    held = [block for at, _, block in pins if kinds[at] is Kind.PIN]
    named = [block for at, _, block in pins if kinds[at] is not Kind.PIN and at < cut and at != choice.prompt]
    kept_pins = [*held, *always, *named]
    pin_messages = (pin_message(kept_pins, profile),) if kept_pins else ()
    prompt = () if choice.prompt is None or not says(messages[choice.prompt]) else (messages[choice.prompt],)
    system = tuple(messages[at] for at in range(cut) if kinds[at] is Kind.SYSTEM)
    compacted = () if opaque is None else opaque.kept
    head_tokens = owed + memo.messages((*system, *preamble, *compacted, *pin_messages, *reminded))
    irreducible = _irreducible(conversation, division, cuts, policy, weights, memo, head_tokens)
    smallest = sum(part.tokens for part in irreducible)
    if known.tail <= 0 and light is None:
        why = f"pins, preamble and reminders take {needed} tokens and leave no room for a tail"
        raise CannotPlanError("irreducible", why, irreducible)
    if smallest >= before_tokens - least_gain:
        why = f"the smallest result there could be has {smallest} tokens, the input {before_tokens}"
        raise CannotPlanError("irreducible", why, irreducible)
    previous, before = previous_record(messages, division, cut, task.previous)
    pinned_at = wholly_pinned(messages, places)
    found = replaced_by(messages, division, cut, {choice.prompt, *pinned_at}, preamble, opaque)
    replaced = tuple(found.values())
    prompts = tuple(one.text for one in before if one.kind == "prompt")
    persons = all_words(division, messages, cut, choice.prompt, prompts)
    if collapse is not None:
        earlier = entries(division, messages, collapse, before, places)
    else:
        allowance = max(known.extras - needed - standing[cut], owed)
        earlier = quoted(division, messages, cut, choice.prompt, places, prompts, policy, allowance, memo)
        replaced = (*no_longer_kept(before, earlier), *replaced)
    under_way = len(replaced) - sum(at > choice.prompt for at in found) if prompt and choice.prompt is not None else None
    if not replaced:
        if previous:
            raise CannotPlanError("nothing-new", "only the previous summary would be summarised")
        why = f"everything before the cut stays anyway: the tail may have {known.tail} tokens, and {choice.tail_tokens} are there"
        raise CannotPlanError("irreducible", f"{why}; a smaller tail_tokens leaves something to be summarised", irreducible)
    head = memo.overhead(conversation) + head_tokens + choice.tail_tokens + SMALLEST_SUMMARY_TOKENS
    if head >= before_tokens - least_gain:
        why = f"with the longest tail that fits, the result would have {head} tokens, the input {before_tokens}"
        raise CannotPlanError("irreducible", why, irreducible)
    if division.turns and division.turns[0].start in pinned_at:
        persons = ("", *persons)  # the first prompt stands in the head anyway: it needs no quotation
    return Plan(
        profile=profile,
        division=division,
        sizes=known,
        choice=choice,
        weights=by,
        system=system,
        preamble=preamble,
        opaque=compacted,
        pins=pin_messages,
        reminders=reminded,
        prompt=prompt,
        earlier=earlier,
        previous=previous,
        replaced=replaced,
        under_way=under_way,
        persons=persons,
        irreducible=irreducible,
    )


def _standing(kinds: tuple[Kind, ...], weights: list[int], opaque: CompactionObject | None) -> list[int]:
    """For each position the tokens of the system messages before it, but those that stand first, which are overhead."""
    first = 0 if opaque is None or opaque.at else 1
    while first < len(kinds) and kinds[first] is Kind.SYSTEM:
        first += 1
    later = (
        weight if kind is Kind.SYSTEM and at >= first else 0 for at, (kind, weight) in enumerate(zip(kinds, weights, strict=True))
    )
    return list(accumulate(later, initial=0))


def _choice(
    division: Division,
    cuts: Cuts,
    weights: list[int],
    messages: tuple[Message, ...],
    policy: Policy,
    overhead: int,
    needed: int,
    pinned: set[tuple[int, int]],
    standing: list[int],
    memo: Memo,
    rung: Rung,
    light: int | None,
) -> tuple[Sizes, Choice, int]:
    """
    The sizes, the cut, and the tokens of what has to be quoted after it.

    What persons wrote beside dropped results has to be quoted, whatever the
    room, and system messages stay (those that stand first are overhead): how
    much that is depends on the cut.  So the choice is made again with that much
    less room, until it has enough; at last with room for all there is.
    """
    room = rounds = 0
    while True:
        known = _with_wishes(sizes(policy, overhead_tokens=overhead, needed_tokens=needed + room), policy, division, weights)
        if rung == "snip":  # what goes is lost to the model, so no more goes than has to
            known = evolve(known, tail=known.tail_room)
        if light is not None:
            known = evolve(known, tail=min(known.tail, light))
        choice = choose(division, cuts, weights, limit_tokens=max(known.tail, 0), step_cuts=policy.step_cuts)
        if choice is None:
            raise CannotPlanError("no-legal-cut", _no_cut(division, cuts, policy), ())
        owed = tokens_owed(said_before(division, messages, choice.position, choice.prompt, pinned), memo)
        rounds += 1
        if owed + standing[choice.position] <= room or known.tail <= 0 or rounds > _ROUNDS:
            return known, choice, owed
        room = owed + standing[choice.position]
        if rounds == _ROUNDS:
            room = tokens_owed(said_before(division, messages, len(messages), None, pinned), memo) + standing[-1]


def _with_wishes(known: Sizes, policy: Policy, division: Division, weights: list[int]) -> Sizes:
    """The sizes with a tail that holds the turns and messages wished for, as far as there is room."""
    starts = []
    if policy.tail_turns is not None and division.turns:
        starts.append(division.turns[-min(policy.tail_turns, len(division.turns))].start)
    if policy.tail_messages is not None:
        starts.append(max(len(weights) - policy.tail_messages, 0))
    wished = sum(weights[min(starts) :]) if starts else 0
    return known if wished <= known.tail else evolve(known, tail=min(wished, known.tail_room))


def bound_of(policy: Policy, known: Sizes, *, plain_tokens: int) -> str:
    """
    Which bound decided how long the tail may be.

    Args:
        policy: what the caller decided.
        known: the sizes of this compaction.
        plain_tokens: how long the tail could have been without wishes.
    """
    if known.tail > plain_tokens:
        return "room" if known.tail == known.tail_room else "wish"
    return "tail_tokens" if policy.tail_tokens is not None and known.tail == policy.tail_tokens else "share"


def _texts(reminders: Sequence[Reminder]) -> list[str]:
    texts = []
    for reminder in reminders:
        try:
            text = reminder if isinstance(reminder, str) else reminder()
        except Exception as error:
            raise PolicyError("reminders", f"a reminder raised {told(error)}") from error
        if not isinstance(text, str):
            raise PolicyError("reminders", f"a reminder is a text, not {type(text).__name__}")
        if text.strip():
            texts.append(text)
    return texts


def _changed_files(messages: tuple[Message, ...], division: Division, policy: Policy, known: Sizes) -> list[str]:
    """L23: the one list of changed files, from the calls and from the list of the compaction before."""
    if not policy.list_changed_files:
        return []
    earlier: list[str] = []
    more = 0
    for at in range(division.head_stop):
        if division.kinds[at] is Kind.REMINDER:
            found = read_changed(messages[at].text)
            if found is not None:
                earlier, more = list(found[0]), found[1]
    files = dict.fromkeys((*changed_files(messages), *earlier))
    text = write_changed(files, more=more, limit_chars=min(LIMIT_CHARS, known.extras))  # a token has a character or more
    return [text] if text else []


def _preamble(conversation: Conversation, division: Division, allowance: int, memo: Memo) -> tuple[Message, ...]:
    """What stands before the first prompt, while it fits; of equal messages only the last."""
    messages = conversation.messages[: division.head_stop]
    contents = [turn_key((message,)) for message in messages]
    last = {content: at for at, content in enumerate(contents)}
    kept: list[Message] = []
    left = allowance
    for at, message in enumerate(messages):
        if division.kinds[at] is not Kind.PREAMBLE or not says(message) or last[contents[at]] > at:
            continue
        left -= memo.message(message)
        if left < 0:
            break
        kept.append(message)
    return tuple(kept)


def _no_cut(division: Division, cuts: Cuts, policy: Policy) -> str:
    if policy.step_cuts == "never" and cuts.step:
        return "no second prompt to cut at, and the policy allows no cut between steps"
    if len(division.steps) < 2:
        return "fewer than two steps and no second prompt: there is nothing to cut off"
    return "every place is closed by a call, a citation, a loaded tool, a missing thinking block or instructions in the middle"


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
