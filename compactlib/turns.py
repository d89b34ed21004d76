"""
How a conversation divides: turns, steps, attachments, frontier.

What this is
    One linear pass over the messages that says what each of them is
    (`Kind`), which calls were answered, and where turns and steps begin and
    end.  Whatever cuts, drops or shows messages works on this division.

Rules it obeys
    * Law L2.  A *step* is the smallest run of messages that begins at a model
      message and is closed under "answers", "is called by", "belongs to the
      same batch" and "is an attachment of".
    * Law L3.  Only a *prompt*, a user-role message written by a person, begins
      a turn.  An attachment, a result, a bridge, a harness message never does.
    * Law L4.  A call is *pending* if it is unanswered, belongs to the last
      model message, and nothing follows but results of its batch, their
      attachments and harness messages.  Every other unanswered call is
      *dangling*.
    * Calls and results pair by position (`pairing`).

How it works
    *Image pseudo-messages.*  Several wire formats cannot hold an image in a
    tool's result, so clients send it in a user message after the results.  It
    is recognised by structure (user role, media, no words but known marker
    texts, directly after results, perhaps with a bridge between) and, without
    a marker, by its link to a result that lacks what it should hold.  Where
    that is ambiguous the message is *not* a boundary; the other mistake would
    tear a step apart.

    *Harness texts* (reminders, output of the client's own commands, notes of
    an interruption) are recognised by the tags and phrases that clients use;
    the tables are in `recognition`.

    Recognition removes boundaries, never protection: a person can type
    ``<system-reminder>``.  `Division.last_person` therefore names the last
    message that *could* be a person's (law L8).

What is not here
    Which cuts are legal (`cuts`) and whether a provider would accept the
    conversation (`protocol`, which pairs calls by itself and shares no code
    with this module).
"""

from __future__ import annotations

import enum
import sys
import types
from typing import Final

from attrs import frozen

from .model import Conversation, Media, Message, Opaque, Origin, Result, Text, mould, need_conversation
from .pairing import Pairing, PairingByPlace
from .recognition import PLAIN_STARTS, is_bridge, is_harness, is_marker, is_placeholder

__all__ = ["Division", "Kind", "Step", "Turn", "divide", "origins", "turns"]


class Kind(enum.Enum):
    """What a message is, in the words of the design."""

    SYSTEM = "system"
    PROMPT = "prompt"
    PROMPT_TEXT = "prompt-text"
    """A person's words between two results of one batch: no boundary, and kept like a prompt."""
    MODEL = "model"
    RESULT = "result"
    """Holds results; perhaps a person's words or reminders beside them."""
    ATTACHMENT = "attachment"
    HARNESS = "harness"
    SUMMARY = "summary"
    PIN = "pin"
    REMINDER = "reminder"
    PREAMBLE = "preamble"
    """A harness message before the first prompt: environment, instruction files."""
    OTHER = "other"
    """Of unknown origin: no boundary, and kept as if a person had written it."""


@frozen(weakref_slot=False)
class Step:
    """Messages ``start`` to ``stop`` (half-open): a model message, its results, their attachments."""

    start: int
    stop: int


_StepMould: Final = mould(Step)


def _new_step(start: int, stop: int) -> Step:
    """`Step`, made faster (see `model.mould`)."""
    made = _StepMould()
    made.start = start
    made.stop = stop
    made.__class__ = Step
    finished: Step = made
    return finished


@frozen
class Turn:
    """Messages ``start`` to ``stop`` (half-open): a prompt and the steps it led to."""

    start: int
    stop: int
    steps: tuple[Step, ...]


@frozen
class Division:
    """
    How the messages of one conversation divide.  Indices are positions in `Conversation.messages`.

    Attributes:
        kinds: what each message is.
        turns: from the first prompt to the end, without gaps.
        steps: all steps, also those before the first prompt.
        pending: unanswered calls of the frontier, as (message, ordinal among its client calls).
        dangling: all other unanswered calls, likewise.
        head_stop: where the head and the preamble end: the first prompt or model message.
        current_turn: the last prompt, or `head_stop` if there is none.
        last_person: the last message that could be a person's, if any.
    """

    kinds: tuple[Kind, ...]
    turns: tuple[Turn, ...]
    steps: tuple[Step, ...]
    pending: tuple[tuple[int, int], ...]
    dangling: tuple[tuple[int, int], ...]
    head_stop: int
    current_turn: int
    last_person: int | None


_PERSONS: Final = frozenset({Origin.HUMAN, Origin.UNKNOWN})
"""Origins of which nobody can say that no person wrote it."""

_BY_ORIGIN: Final = {
    Origin.HUMAN: Kind.PROMPT,
    Origin.MODEL: Kind.MODEL,
    Origin.TOOL: Kind.RESULT,
    Origin.ATTACHMENT: Kind.ATTACHMENT,
    Origin.HARNESS: Kind.HARNESS,
    Origin.SYSTEM: Kind.SYSTEM,
    Origin.SUMMARY: Kind.SUMMARY,
    Origin.PIN: Kind.PIN,
    Origin.REMINDER: Kind.REMINDER,
    Origin.ACK: Kind.HARNESS,
    Origin.UNKNOWN: Kind.OTHER,
}

_ORIGINS: Final = {
    Kind.SYSTEM: Origin.SYSTEM,
    Kind.PROMPT: Origin.HUMAN,
    Kind.PROMPT_TEXT: Origin.HUMAN,
    Kind.MODEL: Origin.MODEL,
    Kind.RESULT: Origin.HUMAN,  # of what stands beside the results
    Kind.ATTACHMENT: Origin.ATTACHMENT,
    Kind.HARNESS: Origin.HARNESS,
    Kind.SUMMARY: Origin.SUMMARY,
    Kind.PIN: Origin.PIN,
    Kind.REMINDER: Origin.REMINDER,
    Kind.PREAMBLE: Origin.HARNESS,
    Kind.OTHER: Origin.UNKNOWN,
}


def divide(conversation: Conversation) -> Division:
    """
    Say what each message is and where turns and steps begin and end.

    The cost is linear in the number of blocks.

    >>> from compactlib.dialects import parse
    >>> division = divide(parse([
    ...     {"role": "user", "content": "list the files"},
    ...     {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "ls", "input": {}}]},
    ...     {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "a.py"}]},
    ...     {"role": "assistant", "content": "There is one."},
    ... ], dialect="anthropic"))
    >>> [kind.value for kind in division.kinds], division.steps
    (['prompt', 'model', 'result', 'model'], (Step(start=1, stop=3), Step(start=3, stop=4)))
    """
    messages = conversation.messages
    kinds: list[Kind] = []
    append = kinds.append
    pairing = PairingByPlace() if conversation.dialect == "gemini" else Pairing()
    opens = pairing.openers.append  # model messages and prompts: where steps and turns may begin
    person: int | None = None
    itemised = conversation.dialect == "openai-responses"  # a response of the model is a run of messages there
    model, prompt, result = Kind.MODEL, Kind.PROMPT, Kind.RESULT  # the loop is hot and members are slow to look up
    for position, message in enumerate(messages):
        role = message.role
        content = message.content
        if role == "model":
            if not (itemised and kinds and kinds[-1] is model and _goes_on(messages[position - 1], message)):
                opens(position)
            append(model)
            if pairing.passed and not itemised:  # where each item stands for itself a result may come at any distance
                pairing.give_up()
            if not isinstance(content, str):
                pairing.calls(position, content)
        elif role == "user" or role == "tool":
            if isinstance(content, str):
                if message.origin is None and content[:1] in PLAIN_STARTS:  # as most prompts
                    append(prompt)
                    opens(position)
                    pairing.passed = pairing.is_open
                    person = position
                    continue
            else:
                results = pairing.results(content)
                if results:
                    append(result)
                    if results < len(content) and not _stated(message):
                        person = position
                    continue
            kind, certain = _user_kind(position, message, kinds, messages)
            append(kind)
            if kind is prompt:
                opens(position)
                pairing.passed = pairing.is_open
            elif kind is Kind.ATTACHMENT and position > 1 and kinds[position - 1] is model and is_bridge(messages[position - 1]):
                pairing.enclose(position - 2)  # a bridge between results and their attachment belongs to the step of the results
            if not certain and _says_something(message):
                person = position
        else:
            append(Kind.OTHER if role == "other" else Kind.SYSTEM)
    for position in pairing.enclosed:
        if kinds[position] is prompt:
            kinds[position] = Kind.PROMPT_TEXT
    return _assemble(messages, kinds, pairing, person, itemised=itemised)


def _goes_on(before: Message, message: Message) -> bool:
    """Whether an item of the model's belongs to the response of the item *before*, and is no place to cut at."""
    return not (_is_compacted(before) or _is_compacted(message))


def _says_something(message: Message) -> bool:
    """Whether a message holds anything but white space."""
    return any(not isinstance(block, Text) or block.text.strip() for block in message.blocks)


def _is_compacted(message: Message) -> bool:
    """Whether a message is a provider's compaction object: the place behind it can be cut."""
    return any(isinstance(block, Opaque) and block.kind == "compaction" for block in message.blocks)


def _user_kind(position: int, message: Message, kinds: list[Kind], messages: tuple[Message, ...]) -> tuple[Kind, bool]:
    """What a message without results is, and whether it is certain that no person wrote it."""
    origin = message.origin
    content = message.content
    if origin is not None:
        kind = _kind_of(origin)
        return kind, kind not in (Kind.PROMPT, Kind.OTHER)
    if isinstance(content, str):
        return _words_kind((content,)), False
    return _block_kind(message, position, kinds, messages)


def _stated(message: Message) -> bool:
    """Whether somebody said of each block that no person wrote it."""
    origin = message.origin
    if origin is None:
        return False
    return _PERSONS.isdisjoint(origin if isinstance(origin, tuple) else (origin,))


def _kind_of(origin: Origin | tuple[Origin, ...]) -> Kind:
    if not isinstance(origin, tuple):
        return _BY_ORIGIN[origin]
    if Origin.HUMAN in origin:
        return Kind.PROMPT
    return _BY_ORIGIN[origin[0]] if origin else Kind.HARNESS


def _words_kind(texts: tuple[str, ...]) -> Kind:
    """A message of nothing but words."""
    if all(map(is_harness, texts)):
        return Kind.HARNESS
    if texts and all(map(is_marker, texts)) and any(text.strip() for text in texts):
        return Kind.ATTACHMENT  # the media are gone, the marker is left
    return Kind.PROMPT


def _block_kind(message: Message, position: int, kinds: list[Kind], messages: tuple[Message, ...]) -> tuple[Kind, bool]:
    """A message of blocks without results: prompt, attachment or harness, and whether that is certain."""
    texts = tuple(block.text for block in message.blocks if isinstance(block, Text))
    media = sum(isinstance(block, Media) for block in message.blocks)
    if not media:
        is_unknown = bool(message.content) and not texts  # blocks of a kind that nobody here knows
        return (Kind.OTHER if is_unknown else _words_kind(texts)), False
    if all(map(is_marker, texts)):
        marked = any(text.strip() for text in texts)
        run = _after_results(position, kinds, messages)
        if run or _follows_attachment(position, kinds):
            # a marker, or a result that lacks what this message holds, makes it certain
            return Kind.ATTACHMENT, marked or media <= _lacking(run, messages)
        if marked:
            return Kind.ATTACHMENT, False  # its results were cut away
    return Kind.PROMPT, False


def _after_results(position: int, kinds: list[Kind], messages: tuple[Message, ...]) -> range:
    """The run of results directly before *position*, perhaps with one bridge between; empty if there is none."""
    stop = position
    if stop and kinds[stop - 1] is Kind.MODEL and is_bridge(messages[stop - 1]):
        stop -= 1
    start = stop
    while start and kinds[start - 1] is Kind.RESULT:
        start -= 1
    return range(start, stop)


def _follows_attachment(position: int, kinds: list[Kind]) -> bool:
    """Whether the message before is an attachment: some clients send one message for each picture."""
    return position > 0 and kinds[position - 1] is Kind.ATTACHMENT


def _lacking(run: range, messages: tuple[Message, ...]) -> int:
    """How many results of the run say, or show by saying nothing, that what they hold stands elsewhere."""
    count = 0
    for position in run:
        for result in messages[position].results:
            has_media = any(isinstance(block, Media) for block in result.blocks)
            count += not has_media and is_placeholder(result.text)
    return count


def _assemble(
    messages: tuple[Message, ...],
    kinds: list[Kind],
    pairing: Pairing,
    person: int | None,
    *,
    itemised: bool,
) -> Division:
    """Turns and steps from the places where they begin."""
    length = len(messages)
    starts = pairing.openers
    if starts and _is_compacted(messages[starts[0]]) and len(messages[starts[0]].content) == 1:
        del starts[0]  # a provider's compaction object at the beginning is of the head
    head_stop = starts[0] if starts else length
    for position in range(head_stop):
        if kinds[position] in (Kind.HARNESS, Kind.OTHER, Kind.ATTACHMENT):
            kinds[position] = Kind.PREAMBLE
    steps: list[Step] = []
    turns: list[Turn] = []
    opened = -1  # the prompt of the turn being read
    first_step = 0
    prompt = Kind.PROMPT
    for start, stop in zip(starts, [*starts[1:], length], strict=False):
        if kinds[start] is not prompt:
            steps.append(_new_step(start, stop))
            continue
        if opened >= 0:
            turns.append(Turn(opened, start, tuple(steps[first_step:])))
        opened, first_step = start, len(steps)
    if opened >= 0:
        turns.append(Turn(opened, length, tuple(steps[first_step:])))
    pending, dangling = _frontier(messages, kinds, pairing, itemised=itemised)
    return Division(
        tuple(kinds), tuple(turns), tuple(steps), pending, dangling, head_stop, opened if opened >= 0 else head_stop, person
    )


def _frontier(
    messages: tuple[Message, ...], kinds: list[Kind], pairing: Pairing, *, itemised: bool
) -> tuple[tuple[tuple[int, int], ...], tuple[tuple[int, int], ...]]:
    """The unanswered calls, pending and dangling."""
    left = pairing.unanswered()
    last = len(kinds) - 1
    while last >= 0 and kinds[last] is not Kind.MODEL:
        kind = kinds[last]
        if kind is Kind.RESULT:
            passed = any(isinstance(block, Text) and not is_harness(block.text) for block in messages[last].blocks)
        else:
            passed = kind not in (Kind.ATTACHMENT, Kind.HARNESS, Kind.SYSTEM)
        last = -1 if passed else last - 1
    first = last
    while itemised and first > 0 and kinds[first - 1] is Kind.MODEL:
        first -= 1
    pending = tuple(sorted(call for call in left if first <= call[0] <= last))
    dangling = tuple(sorted(pairing.given_up + [call for call in left if not first <= call[0] <= last]))
    return pending, dangling


def origins(message: Message, kind: Kind) -> tuple[Origin, ...]:
    """
    Where each block of a message came from: as stated, else as its kind and its words tell.

    >>> from compactlib.dialects import parse
    >>> [message] = parse([{"role": "user", "content": [
    ...     {"type": "text", "text": "<system-reminder>3 todos</system-reminder>"},
    ...     {"type": "text", "text": "fix the tests"},
    ... ]}], dialect="anthropic").messages
    >>> [origin.value for origin in origins(message, Kind.PROMPT)]
    ['harness', 'human']
    """
    stated = message.origin
    blocks = message.blocks
    if isinstance(stated, Origin):
        return (stated,) * len(blocks)
    if stated is not None and len(stated) == len(blocks):
        return stated
    by_kind = _ORIGINS[kind]
    if by_kind is not Origin.HUMAN and kind is not Kind.RESULT:
        return tuple([Origin.TOOL if isinstance(block, Result) else by_kind for block in blocks])
    found = []
    for block in blocks:
        if isinstance(block, Result):
            found.append(Origin.TOOL)
        elif by_kind is Origin.HUMAN and isinstance(block, Text) and is_harness(block.text):
            found.append(Origin.HARNESS)
        elif kind is Kind.RESULT and isinstance(block, Media):
            found.append(Origin.ATTACHMENT)
        else:
            found.append(by_kind)
    return tuple(found)


def turns(conversation: Conversation) -> tuple[Turn, ...]:
    """
    The turns of a conversation, in the indices of the wire.

    They cover everything from the first prompt to the end without gaps; what
    stands before is the head.

    Raises:
        PolicyError: *conversation* is none.
    """
    need_conversation(conversation)
    at = conversation.wire_index

    def step(part: Step) -> Step:
        return Step(at(part.start), at(part.stop))

    return tuple(Turn(at(turn.start), at(turn.stop), tuple(map(step, turn.steps))) for turn in divide(conversation).turns)


class _Callable(types.ModuleType):
    """`compactlib.turns` names both this module and its function; calling the module calls the function."""

    def __call__(self, conversation: Conversation) -> tuple[Turn, ...]:
        return turns(conversation)


sys.modules[__name__].__class__ = _Callable
