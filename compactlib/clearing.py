"""
Old tool output -> stubs that say how to get it back.

What this is
    `clear`, the second rung of the ladder: what tools said long ago is stored
    and replaced by a line.  The calls stay, the words of persons and of the
    model stay, and so does every message; only bodies change.  If the policy
    says so, old reasoning goes as well.

Rules it obeys
    * Law L10.  Each body is in the store before its stub is written; if one
      cannot be stored, nothing is changed.
    * Law L7.  Nothing in the protected tail is touched, and nothing that no
      later model message has seen.
    * Law L5.  No model message of the current turn is altered, and reasoning
      goes as whole blocks.  Nothing can stand in its place: the outcome alone
      has its reference.
    * Law L11.  A stub states what is missing; arguments never hold a marker:
      they are emptied as a whole, and the stub of the result says so.
    * Law L18.  A lost cache must be worth it: it saves `clear_at_least_tokens`
      or reaches the target by itself, and then it goes down to the target.
    * What says that something failed stays, and so do the newest results.
    * What the provider hides by itself is not cleared: it would save nothing.

How it works
    Reasoning of turns beyond the newest goes first, oldest first.  Then come
    the *pieces*, each of which can be cleared by itself: a result's text, one
    picture or document in it or in the message that a client sent behind it.
    They are taken in the order in which they are least missed, until the
    target is reached:

    1. exact duplicates of a later result; the copy below stays,
    2. what was asked again, or written, since: of all distractors this is the
       one most like the truth,
    3. pictures and documents, oldest first, the text beside them stays,
    4. texts, oldest first.

    What is not worth a stub is passed over and does not end the search.

What is not here
    When clearing is due and what comes after it (`cascade`), and the form in
    which a provider is asked to do it (`editing`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Final, Literal, TypeAlias

from attrs import evolve, frozen

from .deeds import file_name
from .markers import Issued
from .model import Block, Call, Conversation, Json, Message, Origin, Result, Text
from .options import Clearing
from .outputs import Answer, Piece, answered, attachments, bytes_of, json_of, pieces_of
from .protocol.profiles import Profile, profile_named
from .signals import looks_failed
from .store import Store, alias_of, keep, reference_of
from .stubs import NOTES, Stub, write_stub
from .thoughts import old_thoughts, thought_of, without_reasoning
from .tokens import Memo, block_tokens
from .turns import Division, Kind
from .visible import shown, sizes_seen

__all__ = ["Cleared", "ClearedUnit", "clear", "clearable", "protected_from"]

_LEAST_CHARS: Final = 400  # a shorter body is hardly more than its stub


@frozen
class ClearedUnit:
    """
    One thing that was cleared.

    Attributes:
        position: of the message it stood in, in `Conversation.messages`.
        tool: the tool's name.
        ref: the reference of the whole.
        what: ``result``, ``arguments``, ``reasoning``, or what kind of media it was.
        saved_tokens: how much smaller the message is.
        why: ``duplicate``, ``superseded``, ``media`` or ``oldest``.
    """

    position: int
    tool: str
    ref: str
    what: str
    saved_tokens: int
    why: str


@frozen
class Cleared:
    """
    What came of clearing.

    Attributes:
        conversation: the new one.
        units: what was cleared, in order of position.
        saved_tokens: by how much it is smaller.
        issued: the references that were given out, with the characters and newlines of what they stand for.
    """

    conversation: Conversation
    units: tuple[ClearedUnit, ...]
    saved_tokens: int
    issued: dict[str, tuple[int, int]]


# --- What may be cleared ---------------------------------------------------------------------------------------------


def protected_from(division: Division, weights: Sequence[int], *, tail_tokens: int) -> int:
    """
    Where the protected tail begins: the last *tail_tokens*, down to the beginning of the step that they begin in (law L7).
    """
    position, size = len(weights), 0
    while position and size + weights[position - 1] <= tail_tokens:
        position -= 1
        size += weights[position]
    inside = [step.start for step in division.steps if step.start < position < step.stop]
    return inside[0] if inside else position


def clearable(
    conversation: Conversation,
    division: Division,
    memo: Memo,
    answers: Sequence[Answer],
    *,
    options: Clearing,
    tail_tokens: int,
    untouched: Collection[int] = (),
) -> tuple[int, tuple[bool, ...]]:
    """
    The position from which on nothing may be cleared, and for each answer whether it may be, as far as that depends on it.

    Raises:
        PolicyError: the counter misbehaves.
    """
    stop = protected_from(division, sizes_seen(conversation, memo), tail_tokens=tail_tokens)
    models = [at for at, kind in enumerate(division.kinds) if kind is Kind.MODEL]
    stop = min(stop, models[-1] if models else 0)  # what stands before the last model message was seen by it
    newest = len(answers) - options.keep
    return stop, tuple(
        number < newest
        and answer.position < stop
        and answer.call.name not in options.exclude_tools
        and answer.position not in untouched
        and answer.call_position not in untouched
        and not (answer.result.is_error or looks_failed(answer.result.text))
        for number, answer in enumerate(answers)
    )


_Why: TypeAlias = Literal["duplicate", "superseded", "media", "oldest"]


@frozen
class _Choice:
    """A piece that is cleared, of the answer with this number; its stub, and why."""

    number: int
    piece: Piece
    stub: Stub
    why: _Why


_Chosen: TypeAlias = "dict[tuple[int, int], list[_Choice]]"
"""By message and block."""


# --- In which order --------------------------------------------------------------------------------------------------


def _asked(call: Call) -> tuple[str, str | bytes]:
    """Two calls with the same value asked for the same."""
    arguments = call.arguments
    return call.name, arguments if isinstance(arguments, str) else json_of(arguments, is_sorted=True)


def _superseded(answers: Sequence[Answer]) -> dict[int, str]:
    """For each answer, by its number, that is not the last word: why not.  One pass from the end."""
    found: dict[int, str] = {}
    asked: set[tuple[str, str | bytes]] = set()
    whole: set[tuple[str, str]] = set()  # (tool, path) of later reads that name a path and nothing else
    written: set[str] = set()
    for number in range(len(answers) - 1, -1, -1):
        answer = answers[number]
        call = answer.call
        key, did = _asked(call), answer.did
        target = did.objects[0] if did.objects and did.verb in ("read", "edited") else ""
        if did.verb != "edited":
            if key in asked or (target and (call.name, target) in whole):
                found[number] = NOTES[1]
            elif target and target in written:
                found[number] = NOTES[2]
        if answer.result.is_error or looks_failed(answer.result.text):
            continue  # what failed says nothing about what was true before
        asked.add(key)
        if target and did.verb == "edited":
            written.update(did.objects)
        elif target and isinstance(call.arguments, dict) and len(call.arguments) == 1:
            whole.add((call.name, target))
    return found


def _in_order(
    answers: Sequence[Answer], pieces: Sequence[list[Piece]], allowed: Callable[[int, Piece], bool]
) -> Iterator[tuple[int, _Why, str, list[Piece], int | None]]:
    """
    The pieces of *answers* in the order in which they are least missed.

    Number of the answer, why, note, pieces, and of a duplicate the number of the newest copy.
    """
    units = {
        number: [piece for piece in parts if allowed(number, piece)]
        for number, parts in enumerate(pieces)
        if any(allowed(number, piece) for piece in parts)
    }
    last: dict[tuple[bytes, ...], int] = {}  # the newest answer with this content, whether or not it may be cleared
    for number, parts in enumerate(pieces):
        if parts:
            last[tuple(piece.data for piece in parts)] = number
    superseded = _superseded(answers)
    taken: set[int] = set()
    for number, parts in units.items():
        copy = last[tuple(piece.data for piece in pieces[number])]
        if copy > number:
            taken.add(number)
            yield number, "duplicate", NOTES[0], parts, copy
    for number, parts in units.items():
        if number in superseded and number not in taken:
            taken.add(number)
            yield number, "superseded", superseded[number], parts, None
    for number, parts in units.items():
        if number not in taken:
            yield number, "media", "", [piece for piece in parts if piece.text is None], None
    for number, parts in units.items():
        if number not in taken:
            yield number, "oldest", "", [piece for piece in parts if piece.text is not None], None


# --- Clearing --------------------------------------------------------------------------------------------------------


def clear(
    conversation: Conversation,
    division: Division,
    memo: Memo,
    store: Store,
    *,
    options: Clearing,
    before_tokens: int,
    target_tokens: int,
    tail_tokens: int,
    least_gain_tokens: int,
    issued: Issued,
    untouched: Collection[int] = (),
    excess_media: int = 0,
    excess_bytes: int = 0,
    profile: Profile | None = None,
) -> Cleared | None:
    """
    Replace old tool output by stubs, until the request has *target_tokens* or nothing is left to clear.

    Args:
        conversation: the conversation.
        division: how it divides.
        memo: counts its messages.
        store: where the bytes go.
        options: what the caller decides.
        before_tokens: size of the whole request, as the model sees it.
        target_tokens: the size it aims for.
        tail_tokens: how much at the end is not touched.
        least_gain_tokens: what it has to save, unless it reaches the target.
        issued: the references given out before.
        untouched: positions of messages that stay as they are, such as pins.
        excess_media, excess_bytes: how many media and bytes the request has beyond its limits; they go first, and are worth
            clearing by themselves.
        profile: what the provider allows; the dialect's own way if not given.

    Returns:
        What was done, or ``None`` where that would not be worth it.

    Raises:
        StoreError: something could not be stored; nothing was changed.
        PolicyError: the counter misbehaves.
    """
    profile = profile_named(conversation.dialect) if profile is None else profile
    messages = conversation.messages
    seen = shown(conversation, counter=memo.counter)
    lighter = excess_media > 0 or excess_bytes > 0
    thoughts: dict[int, Message] = {}  # what is left of messages whose reasoning goes
    saved = 0
    if options.thinking_keep_turns is not None:
        keep = options.thinking_keep_turns
        for at in old_thoughts(conversation, division, profile, keep_turns=keep, untouched=untouched):
            left = without_reasoning(messages[at])
            gain = memo.message(messages[at]) - memo.message(left)
            if before_tokens - saved > target_tokens and gain > 0 and seen[at] is messages[at]:
                thoughts[at] = left
                saved += gain
    answers = list(answered(messages))
    attached = attachments(messages, division.kinds, answers)
    pieces = [pieces_of(answer, messages, attached.get(number, ()), issued) for number, answer in enumerate(answers)]
    stop, allowed = clearable(
        conversation, division, memo, answers, options=options, tail_tokens=tail_tokens, untouched=untouched
    )

    def may_go(number: int, piece: Piece) -> bool:
        position, place = piece.spot
        if not allowed[number] or position >= stop or position in untouched:
            return False
        if piece.at is not None and position == division.last_person:
            return False  # perhaps a person's picture (law L8)
        message = seen[position]
        return message is messages[position] or (
            message is not None and message.blocks[place] is messages[position].blocks[place]
        )

    chosen: _Chosen = {}
    numbers: set[int] = set()
    copies: dict[int, int] = {}  # of a duplicate that is cleared, the copy that its stub names
    for number, why, note, parts, copy in _in_order(answers, pieces, may_go):
        for piece in parts:
            helps = before_tokens - saved > target_tokens or excess_bytes > 0 or (excess_media > 0 and piece.text is None)
            if not helps:
                continue
            stub = _stub_of(piece, store, note)
            line = write_stub(stub)
            gain = _piece_tokens(piece, messages, memo) - memo.counter(line)
            if gain > 0 and (len(piece.data) >= _LEAST_CHARS or piece.text is None):
                chosen.setdefault(piece.spot, []).append(_Choice(number, piece, stub, why))
                numbers.add(number)
                if copy is not None:
                    copies[number] = copy
                saved += gain
                excess_bytes -= max(len(piece.data) - 2 * len(line), 0)  # it may stand escaped
                excess_media -= piece.text is None
    gone = {number for number, copy in copies.items() if copy in numbers}
    for group in chosen.values():  # L11: what a stub names as a copy has to stand there
        group[:] = [evolve(one, stub=evolve(one.stub, note="")) if one.number in gone else one for one in group]
    if (not chosen and not thoughts) or (saved < least_gain_tokens and before_tokens - saved > target_tokens and not lighter):
        return None
    return _carried_out(conversation, division, memo, store, options, chosen, thoughts)


def _piece_tokens(piece: Piece, messages: Sequence[Message], memo: Memo) -> int:
    if piece.at is not None:
        return block_tokens(messages[piece.at[0]].blocks[piece.at[1]], memo.counter)
    content = piece.answer.result.content
    if isinstance(content, str):
        return memo.counter(content)
    blocks = content or ()
    part = piece.part
    return sum(block_tokens(block, memo.counter) for block in (blocks if part < 0 else blocks[part : part + 1]))


def _stub_of(piece: Piece, store: Store, note: str) -> Stub:
    did = piece.answer.did
    ref = reference_of(piece.data)
    shown = piece.text if piece.text is not None else piece.data.decode("utf-8", "surrogatepass")
    file = alias_of(store, ref, _name_of(piece))
    source = did.objects[0] if did.objects else ""
    return Stub(piece.what, did.tool, ref, len(shown), shown.count("\n"), source, file, note)


def _name_of(piece: Piece) -> str:
    return file_name(piece.answer.did, "json" if piece.text is None else "txt")


def _carried_out(
    conversation: Conversation,
    division: Division,
    memo: Memo,
    store: Store,
    options: Clearing,
    chosen: _Chosen,
    thoughts: dict[int, Message],
) -> Cleared:
    """Store everything, then build the new messages."""
    messages = list(conversation.messages)
    issued: dict[str, tuple[int, int]] = {}
    units: list[ClearedUnit] = []

    def stored(data: bytes, name: str) -> str:
        ref = keep(store, data, name=name)
        shown = data.decode("utf-8", "surrogatepass")
        issued[ref] = (len(shown), shown.count("\n"))
        return ref

    # law L10: everything is stored before anything is replaced
    emptied: dict[tuple[int, int], tuple[Answer, str]] = {}
    thought_refs = {at: stored(thought_of(conversation, messages[at]), f"reasoning {at}.json") for at in thoughts}
    for at, group in sorted(chosen.items()):
        for one in group:
            stored(one.piece.data, _name_of(one.piece))
        answer = group[0].piece.answer
        data = _arguments_to_empty(answer, division, options) if group[0].piece.at is None else None
        if data is not None and _is_worth_emptying(data, [one.stub for one in group], memo):
            emptied[at] = (answer, stored(data, f"{answer.call.name} arguments.json"))
    instead: dict[int, dict[int, Block]] = {}  # by message and place: a message of many results is made anew once

    def put(position: int, place: int, new: Block) -> int:
        """Have *new* stand at a place; what that saves."""
        instead.setdefault(position, {})[place] = new
        return block_tokens(messages[position].blocks[place], memo.counter) - block_tokens(new, memo.counter)

    for position, left in thoughts.items():
        saved = memo.message(messages[position]) - memo.message(left)
        units.append(ClearedUnit(position, "", thought_refs[position], "reasoning", saved, "oldest"))
    for (position, place), group in sorted(chosen.items()):
        arguments_ref = emptied[position, place][1] if (position, place) in emptied else ""
        parts = {one.piece.part: write_stub(evolve(one.stub, arguments_ref=arguments_ref)) for one in group}
        saved = put(position, place, _with_stubs(messages[position].blocks[place], parts))
        for one in group:
            units.append(ClearedUnit(position, one.stub.tool, one.stub.ref, one.piece.what, saved, one.why))
            saved = 0  # what a block saves is told once
    for answer, ref in emptied.values():
        position = answer.call_position
        saved = put(position, answer.call_place, _without_arguments(answer.call))
        units.append(ClearedUnit(position, answer.call.name, ref, "arguments", saved, "oldest"))
    for position, news in instead.items():
        messages[position] = _with_news(messages[position], news)
    for position in thoughts:
        messages[position] = without_reasoning(messages[position])
    units.sort(key=lambda unit: unit.position)
    made = evolve(conversation, messages=tuple(messages))
    return Cleared(made, tuple(units), sum(unit.saved_tokens for unit in units), issued)


def _with_news(message: Message, news: dict[int, Block]) -> Message:
    """The message with other blocks at these places."""
    blocks = message.blocks
    origin = message.origin
    if any(not isinstance(blocks[place], Call | Result) for place in news):  # a picture of a tool's: the text says it no more
        origin = origin or Origin.ATTACHMENT
    return evolve(message, content=tuple(news.get(place, block) for place, block in enumerate(blocks)), origin=origin)


def _with_stubs(block: Block, parts: dict[int, str]) -> Block:
    """A result with these parts of it replaced, or what stands for a picture."""
    if not isinstance(block, Result):
        return Text(parts[-1])
    if -1 in parts:
        return evolve(block, content=parts[-1])
    return evolve(block, content=tuple(Text(parts[at]) if at in parts else part for at, part in enumerate(block.blocks)))


def _arguments_to_empty(answer: Answer, division: Division, options: Clearing) -> bytes | None:
    """The arguments of an answer's call if they are to be emptied, and there is something to empty."""
    call = answer.call
    tools = options.clear_tool_inputs
    if answer.call_position >= division.current_turn or not (tools is True or (tools and call.name in tools)):
        return None
    if call.wire.tag not in ("function", "function_call", "functionCall", "toolUse", "tool_use"):
        return None  # the input of others is no JSON object
    data = bytes_of(call.arguments) if isinstance(call.arguments, str) else json_of(call.arguments)
    return data if len(data) > len("{}") else None


def _is_worth_emptying(data: bytes, stubs: Sequence[Stub], memo: Memo) -> bool:
    """Whether arguments cost more than what their stubs have to say of them."""
    ref = reference_of(data)
    longer = sum(memo.counter(write_stub(evolve(stub, arguments_ref=ref))) - memo.counter(write_stub(stub)) for stub in stubs)
    return memo.counter(data.decode("utf-8", "surrogatepass")) - memo.counter("{}") > longer


def _without_arguments(call: Call) -> Call:
    empty: Json = "{}" if isinstance(call.arguments, str) else {}
    return evolve(call, arguments=empty)
