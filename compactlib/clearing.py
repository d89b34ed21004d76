"""
Old tool output -> stubs that say how to get it back.

What this is
    `clear`, the second rung of the ladder: what tools said long ago is stored
    and replaced by a line.  The calls stay, the words of persons and of the
    model stay, and so does every message; only bodies change.

Rules it obeys
    * Law L10.  Each body is in the store before its stub is written; if one
      cannot be stored, nothing is changed.
    * Law L7.  Nothing in the protected tail is touched, and nothing that no
      later model message has seen.
    * Law L5.  No model message of the current turn is altered.
    * Law L11.  A stub states what is missing; arguments never hold a marker:
      they are emptied as a whole, and the stub of the result says so.
    * Law L18.  A lost cache must be worth it: it saves `clear_at_least_tokens`
      or reaches the target by itself, and then it goes down to the target.
    * What says that something failed stays, and so do the newest results.

How it works
    A *unit* is one thing that can be cleared by itself: a result's text, or
    one picture or document in it.  Units are taken in the order in which they
    are least missed, until the target is reached:

    1. exact duplicates of a later result; the copy below stays,
    2. what was asked again, or written, since: of all distractors this is the
       one most like the truth,
    3. pictures and documents, oldest first, the text beside them stays,
    4. texts, oldest first.

    What is not worth a stub is passed over and does not end the search.

What is not here
    When clearing is due and what comes after it (`planning`), and the form in
    which a provider does it itself (`protocol.context_edits`).
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Final, Literal, TypeAlias

from attrs import evolve, frozen

from .deeds import deed, file_name
from .markers import Issued
from .model import Block, Call, Conversation, Json, Media, Message, Opaque, Result, Text
from .options import Clearing
from .signals import looks_failed
from .store import Store, alias_of, keep, reference_of
from .stubs import NOTES, Stub, read_stub, write_stub
from .tokens import Memo, block_tokens
from .turns import Division, Kind

__all__ = ["Answer", "Cleared", "ClearedUnit", "answered", "clear", "protected_from"]

_BY_TEXT: Final = frozenset({"computer_call_output", "mcp_approval_response", "tool_search_output"})
"""Results that have a shape of their own and may not become a text."""

_ONE_ANSWER: Final = frozenset({"functionResponse", "function_response"})
"""Results that hold one answer beside their media, so that no stub can take the place of the media alone."""

_LEAST_CHARS: Final = 400  # a shorter body is hardly more than its stub


@frozen
class ClearedUnit:
    """
    One thing that was cleared.

    Attributes:
        position: of the message it stood in, in `Conversation.messages`.
        tool: the tool's name.
        ref: the reference of the whole.
        what: ``result``, ``arguments``, or what kind of media it was.
        saved_tokens: how much smaller the message is.
        why: ``duplicate``, ``superseded``, ``media`` or ``oldest``; of arguments that of their result.
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


@frozen
class Answer:
    """
    A result and the call that it answers.

    Attributes:
        position, place: the result's message, and its place among the blocks.
        call_position: the call's message.
        call: the call.
        result: the result.
    """

    position: int
    place: int
    call_position: int
    call: Call
    result: Result


def answered(messages: Sequence[Message]) -> Iterator[Answer]:
    """
    Each client result with its call, in order; linear.

    A result answers the nearest earlier message that has an unanswered call
    with its id, and in it the first such call.
    """
    waiting: dict[str, list[tuple[int, deque[Call]]]] = {}
    for position, message in enumerate(messages):
        content = message.content
        if isinstance(content, str):
            continue
        for place, block in enumerate(content):
            if isinstance(block, Call):
                if block.is_client:
                    stack = waiting.setdefault(block.id, [])
                    if not stack or stack[-1][0] != position:
                        stack.append((position, deque()))
                    stack[-1][1].append(block)
            elif isinstance(block, Result) and block.is_client and (stack := waiting.get(block.call_id, [])):
                at, calls = stack[-1]
                yield Answer(position, place, at, calls.popleft(), block)
                if not calls:
                    stack.pop()


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


_Why: TypeAlias = Literal["duplicate", "superseded", "media", "oldest"]


@frozen
class _Unit:
    """One thing that can be cleared: block *part* of an answer's content, or its one text where that is -1."""

    answer: Answer
    part: int
    data: bytes
    text: str | None
    what: str


def _units(answer: Answer, issued: Issued) -> Iterator[_Unit]:
    """What of a result can be cleared by itself."""
    content = answer.result.content
    if answer.result.wire.tag in _BY_TEXT:
        return
    if isinstance(content, str):
        if read_stub(content, issued=issued) is None:
            yield _Unit(answer, -1, _bytes_of(content), content, "result")
        return
    blocks = content or ()
    if answer.result.wire.tag in _ONE_ANSWER and any(not isinstance(block, Text) for block in blocks):
        values = [getattr(block, "text", getattr(block, "source", getattr(block, "value", None))) for block in blocks]
        yield _Unit(answer, -1, _json_of(values), None, "result")
        return
    for part, block in enumerate(blocks):
        if isinstance(block, Text):
            if read_stub(block.text, issued=issued) is None:
                yield _Unit(answer, part, _bytes_of(block.text), block.text, "result")
        elif isinstance(block, Media):
            yield _Unit(answer, part, _json_of(block.source), None, block.kind)
        elif isinstance(block, Opaque) and block.kind not in ("tool_reference", "search_result"):
            yield _Unit(answer, part, _json_of(block.value), None, "result")


def _bytes_of(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _json_of(value: Json) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


# --- In which order --------------------------------------------------------------------------------------------------


def _asked(call: Call) -> tuple[str, str]:
    """Two calls with the same value asked for the same."""
    arguments = call.arguments
    return call.name, arguments if isinstance(arguments, str) else json.dumps(arguments, sort_keys=True)


def _superseded(answers: Sequence[Answer]) -> dict[int, str]:
    """For each answer, by its number, that is not the last word: why not.  One pass from the end."""
    found: dict[int, str] = {}
    asked: set[tuple[str, str]] = set()
    whole: set[tuple[str, str]] = set()  # (tool, path) of later reads that name a path and nothing else
    written: set[str] = set()
    for number in range(len(answers) - 1, -1, -1):
        answer = answers[number]
        call = answer.call
        key, did = _asked(call), deed(call)
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
    answers: Sequence[Answer], allowed: Callable[[int], bool], issued: Issued
) -> Iterator[tuple[int, _Why, str, list[_Unit], int | None]]:
    """
    The units of *answers* in the order in which they are least missed.

    Number of the answer, why, note, units, and of a duplicate the number of the newest copy.
    """
    units = {number: list(_units(answer, issued)) for number, answer in enumerate(answers) if allowed(number)}
    last: dict[tuple[bytes, ...], int] = {}  # the newest answer with this content, whether or not it may be cleared
    for number, answer in enumerate(answers):
        parts = units[number] if number in units else list(_units(answer, issued))
        if parts:
            last[tuple(unit.data for unit in parts)] = number
    superseded = _superseded(answers)
    taken: set[int] = set()
    for number, parts in units.items():
        copy = last[tuple(unit.data for unit in parts)] if parts else number
        if copy > number:
            taken.add(number)
            yield number, "duplicate", NOTES[0], parts, copy
    for number, parts in units.items():
        if parts and number in superseded and number not in taken:
            taken.add(number)
            yield number, "superseded", superseded[number], parts, None
    for number, parts in units.items():
        if number not in taken:
            yield number, "media", "", [unit for unit in parts if unit.text is None], None
    for number, parts in units.items():
        if number not in taken:
            yield number, "oldest", "", [unit for unit in parts if unit.text is not None], None


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
) -> Cleared | None:
    """
    Replace old tool output by stubs, until the request has *target_tokens* or nothing is left to clear.

    Args:
        conversation: the conversation.
        division: how it divides.
        memo: counts its messages.
        store: where the bytes go.
        options: what the caller decides.
        before_tokens: size of the whole request.
        target_tokens: the size it aims for.
        tail_tokens: how much at the end is not touched.
        least_gain_tokens: what it has to save, unless it reaches the target.
        issued: the references given out before.
        untouched: positions of messages that stay as they are, such as pins.
        excess_media, excess_bytes: how many media and bytes the request has beyond its limits; they go first, and are worth
            clearing by themselves.

    Returns:
        What was done, or ``None`` where that would not be worth it.

    Raises:
        StoreError: something could not be stored; nothing was changed.
        PolicyError: the counter misbehaves.
    """
    messages = conversation.messages
    answers = list(answered(messages))
    stop = protected_from(division, memo.sizes(messages), tail_tokens=tail_tokens)
    models = [at for at, kind in enumerate(division.kinds) if kind is Kind.MODEL]
    seen_before = models[-1] if models else 0  # what stands before the last model message was seen by it
    newest = len(answers) - options.keep

    def allowed(number: int) -> bool:
        answer = answers[number]
        if number >= newest or answer.position >= min(stop, seen_before) or answer.call.name in options.exclude_tools:
            return False
        if answer.position in untouched or answer.call_position in untouched:
            return False
        return not (answer.result.is_error or looks_failed(answer.result.text))

    chosen: dict[tuple[int, int], list[tuple[_Unit, Stub, _Why]]] = {}
    numbers: set[int] = set()
    copies: dict[int, int] = {}  # of a duplicate that is cleared, the copy that its stub names
    saved = 0
    lighter = excess_media > 0 or excess_bytes > 0
    for number, why, note, parts, copy in _in_order(answers, allowed, issued):
        for unit in parts:
            helps = before_tokens - saved > target_tokens or excess_bytes > 0 or (excess_media > 0 and unit.text is None)
            if not helps:
                continue
            stub = _stub_of(unit, store, note)
            line = write_stub(stub)
            gain = _unit_tokens(unit, memo) - memo.counter(line)
            if gain > 0 and (len(unit.data) >= _LEAST_CHARS or unit.text is None):
                answer = answers[number]
                chosen.setdefault((answer.position, answer.place), []).append((unit, stub, why))
                numbers.add(number)
                if copy is not None:
                    copies[number] = copy
                saved += gain
                excess_bytes -= max(len(unit.data) - 2 * len(line), 0)  # it may stand escaped
                excess_media -= unit.text is None
    for number in (number for number, copy in copies.items() if copy in numbers):  # L11: it does not stand there any more
        at = answers[number].position, answers[number].place
        chosen[at] = [(unit, evolve(stub, note=""), why) for unit, stub, why in chosen[at]]
    if not chosen or (saved < least_gain_tokens and before_tokens - saved > target_tokens and not lighter):
        return None
    return _carried_out(conversation, division, memo, store, options, chosen)


def _unit_tokens(unit: _Unit, memo: Memo) -> int:
    content = unit.answer.result.content
    if isinstance(content, str):
        return memo.counter(content)
    blocks = content or ()
    return sum(block_tokens(block, memo.counter) for block in (blocks if unit.part < 0 else blocks[unit.part : unit.part + 1]))


def _stub_of(unit: _Unit, store: Store, note: str) -> Stub:
    call = unit.answer.call
    did = deed(call)
    ref = reference_of(unit.data)
    shown = unit.text if unit.text is not None else unit.data.decode("utf-8", "surrogatepass")
    file = alias_of(store, ref, _name_of(unit))
    source = did.objects[0] if did.objects else ""
    return Stub(unit.what, call.name, ref, len(shown), shown.count("\n"), source, file, note)


def _name_of(unit: _Unit) -> str:
    return file_name(unit.answer.call, "json" if unit.text is None else "txt")


def _carried_out(
    conversation: Conversation,
    division: Division,
    memo: Memo,
    store: Store,
    options: Clearing,
    chosen: dict[tuple[int, int], list[tuple[_Unit, Stub, _Why]]],
) -> Cleared:
    """Store everything, then build the new messages."""
    messages = list(conversation.messages)
    issued: dict[str, tuple[int, int]] = {}
    units: list[ClearedUnit] = []
    # law L10: everything is stored before anything is replaced
    emptied: dict[tuple[int, int], tuple[Answer, str]] = {}
    for at, group in sorted(chosen.items()):
        for unit, stub, _why in group:
            keep(store, unit.data, name=_name_of(unit))
            issued[stub.ref] = (stub.chars, stub.lines)
        answer = group[0][0].answer
        data = _arguments_to_empty(answer, division, options)
        if data is not None and _is_worth_emptying(data, [stub for _, stub, _ in group], memo):
            ref = keep(store, data, name=f"{answer.call.name} arguments.json")
            shown = data.decode("utf-8", "surrogatepass")
            issued[ref] = (len(shown), shown.count("\n"))
            emptied[at] = (answer, ref)
    for (position, place), group in sorted(chosen.items()):
        before = memo.message(messages[position])
        arguments_ref = emptied[position, place][1] if (position, place) in emptied else ""
        parts = {unit.part: write_stub(evolve(stub, arguments_ref=arguments_ref)) for unit, stub, _ in group}
        messages[position] = _with_stubs(messages[position], place, parts)
        saved = before - memo.message(messages[position])
        for unit, stub, why in group:
            units.append(ClearedUnit(position, stub.tool, stub.ref, unit.what, saved, why))
            saved = 0  # what a message saves is told once
    for answer, ref in emptied.values():
        before = memo.message(messages[answer.call_position])
        messages[answer.call_position] = _without_arguments(messages[answer.call_position], answer.call)
        saved = before - memo.message(messages[answer.call_position])
        units.append(ClearedUnit(answer.call_position, answer.call.name, ref, "arguments", saved, "oldest"))
    units.sort(key=lambda unit: unit.position)
    made = evolve(conversation, messages=tuple(messages))
    return Cleared(made, tuple(units), sum(unit.saved_tokens for unit in units), issued)


def _with_stubs(message: Message, place: int, parts: dict[int, str]) -> Message:
    """The message with these parts of the result at *place* replaced."""
    blocks = list(message.blocks)
    result = blocks[place]
    if not isinstance(result, Result):
        raise AssertionError("answered() names results only")
    content: str | tuple[Block, ...]
    if -1 in parts:
        content = parts[-1]
    else:
        content = tuple(Text(parts[at]) if at in parts else block for at, block in enumerate(result.blocks))
    blocks[place] = evolve(result, content=content)
    return evolve(message, content=tuple(blocks))


def _arguments_to_empty(answer: Answer, division: Division, options: Clearing) -> bytes | None:
    """The arguments of an answer's call if they are to be emptied, and there is something to empty."""
    call = answer.call
    tools = options.clear_tool_inputs
    if answer.call_position >= division.current_turn or not (tools is True or (tools and call.name in tools)):
        return None
    if call.wire.tag not in ("function", "function_call", "functionCall", "toolUse", "tool_use"):
        return None  # the input of others is no JSON object
    data = _bytes_of(call.arguments) if isinstance(call.arguments, str) else _json_of(call.arguments)
    return data if len(data) > len("{}") else None


def _is_worth_emptying(data: bytes, stubs: Sequence[Stub], memo: Memo) -> bool:
    """Whether arguments cost more than what their stubs have to say of them."""
    ref = reference_of(data)
    longer = sum(memo.counter(write_stub(evolve(stub, arguments_ref=ref))) - memo.counter(write_stub(stub)) for stub in stubs)
    return memo.counter(data.decode("utf-8", "surrogatepass")) - memo.counter("{}") > longer


def _without_arguments(message: Message, call: Call) -> Message:
    empty: Json = "{}" if isinstance(call.arguments, str) else {}
    blocks = tuple(evolve(block, arguments=empty) if block is call else block for block in message.blocks)
    return evolve(message, content=blocks)
