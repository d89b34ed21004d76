"""
What the summariser is shown.

What this is
    `render_request` turns replaced messages into `SummaryRequest` values: a
    system text (from `prompts`) and one user text, without tool blocks, so
    that any chat model can take it.  A long transcript becomes several
    requests, called parts, each of which continues the summary of the one
    before (`continued`).

Rules it obeys
    Law L25 (a): every line of the conversation is prefixed ``> `` after line
    separators and control characters are escaped, so none of it can begin a
    delimiter or a heading.  The lines without prefix are ours alone.

    Law L15: instructions, text and reply together fit the summariser's own
    budget.  Over the parts each message is shown exactly once, in order; one
    too big for a part is shown by head and tail, with a marker.

    Law L20: the previous summary occurs once, as its own quoted part.

    What a tool printed is shown by head *and* tail and never below
    `FLOOR_CHARS`, because the line that matters is usually the last.  Seals
    are never shown; of media it is said that they are gone.

How it works
    Texts of people and models are shown whole.  Outputs, arguments and
    reasoning share what is left: the largest common limit is taken at which
    the number of parts is still the smallest possible, so that a summariser
    with room to spare sees everything and one without sees both ends of
    everything.  A message that exceeds a whole part is squeezed by lowering
    the limit for all its texts.

What is not here
    Deciding what is replaced, and calling a model (`compaction`); hiding
    secrets (the caller's redaction runs before).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal, TypeAlias

from attrs import evolve, frozen

from ..model import Block, Call, Media, Message, Opaque, Origin, Reasoning, Result, Text
from ..text import escape, quote_lines
from ..tokens import Counter
from ..truncation import truncate
from .prompts import PARAGRAPHS, PROMPT_VERSION, instructions
from .schema import Schema

__all__ = [
    "FLOOR_CHARS",
    "SummaryRequest",
    "again",
    "argument_text",
    "calls_by_result",
    "continued",
    "label",
    "stated_origins",
    "render_request",
]

FLOOR_CHARS: Final = 2_000
"""What is shown of each output at least, unless its message alone exceeds a part."""

_REASONING_CHARS: Final = 600
_LEAST_CHARS: Final = 240  # below this a text is left out rather than shortened: the marker needs room
_SLACK_TOKENS: Final = 64  # for `again`, and for counters that are not quite additive
_LEAST_ROOM_TOKENS: Final = 64  # less than this of a transcript is not worth a model call

_END: Final = '=== End of the transcript. Write the record now, beginning with "## Goal". ==='
_TRANSCRIPT: Final = "=== Transcript"

_Kind: TypeAlias = Literal["words", "output", "arguments", "reasoning", "stub"]
_KINDS: Final[tuple[_Kind, ...]] = ("words", "output", "arguments", "reasoning", "stub")
_Piece: TypeAlias = tuple[str, str, _Kind]
"""Our line above it, the text to quote, and what kind of text it is."""


@frozen
class SummaryRequest:
    """
    One question to a summariser.

    A model needs two of the fields: `instructions` as the system text and
    `text` as the only user message.  The others are parts of those two in a
    form that programs can use, and are *not* to be sent in addition.

    Attributes:
        instructions: the system text.
        text: everything shown: context, previous summary, transcript, quoted.
        context: kept text shown for understanding only; inside `text` too.
        max_tokens: how long the reply may be.
        part: which part of the transcript this is, counted from 1.
        parts: how many parts there are.
        attempt: counted from 1; a repeated question differs in its instructions.
        previous: the body of the summary to be brought up to date, or ``""``;
            inside `text` too, once.
        prompt_version: the version of the prompt (`prompts.PROMPT_VERSION`).
        messages: the messages shown in this part, each with its origin stated.
        schema: the name of the schema asked for.
        first: the index of the first of `messages` in its conversation.
    """

    instructions: str
    text: str
    context: str
    max_tokens: int
    part: int
    parts: int
    attempt: int
    previous: str
    prompt_version: str
    messages: tuple[Message, ...]
    schema: str = "full"
    first: int = 0


def render_request(
    messages: Sequence[Message],
    *,
    schema: Schema,
    max_tokens: int,
    budget_tokens: int,
    counter: Counter,
    previous: str = "",
    context: str = "",
    focus: str | None = None,
    language: str | None = None,
    step_cut: bool = False,
    first: int = 0,
) -> tuple[SummaryRequest, ...]:
    """
    The requests that show all of *messages* to a summariser, each message once.

    Args:
        messages: what is replaced, each message with its origin stated.
        schema: the sections wanted.
        max_tokens: length of the reply asked for.
        budget_tokens: what one request and its reply may be together (law L15).
        counter: how the summariser's tokens are counted.
        previous: body of the summary being replaced, ``""`` if there is none.
        context: text that stays in the conversation and helps understanding
            (the prompt under way, pins); shortened if it is long.
        focus: the caller's wish, passed into the instructions.
        language: the language asked for, the person's own if left out.
        step_cut: whether the latest prompt is still being worked on.
        first: index of the first message in its conversation.

    Returns:
        One request, or several parts in order.  Each part after the first has
        to be passed through `continued` with the accepted reply to the part
        before.  An empty tuple if there is nothing to show, or if not even a
        shortened transcript fits the budget: then nobody is to be asked.
    """
    if not messages:
        return ()
    calls = calls_by_result(messages)
    pieces = [list(_pieces(message, first + index, calls)) for index, message in enumerate(messages)]
    shown_context = _shorten(context, budget_tokens // 8 * 3)[0] if context else ""

    def told(part: int, parts: int) -> str:
        return instructions(
            schema,
            max_tokens=max_tokens,
            focus=focus,
            language=language,
            step_cut=step_cut,
            part=part,
            parts=parts,
            has_previous=bool(previous) or part > 1,
            has_context=bool(shown_context),
        )

    def room(parts: int) -> int:
        """What the transcript of each of *parts* parts may take."""
        frame = counter(_frame(shown_context, previous)) + counter(told(min(2, parts), parts))
        if parts > 1:
            # Later parts show the reply to the part before, which may be as
            # long as the ceiling, instead of the previous summary.
            frame = max(frame, counter(_frame(shown_context, "")) + counter(told(2, parts)) + max_tokens * 3 // 2)
        return budget_tokens - max_tokens - frame - _SLACK_TOKENS

    groups = _distribute(pieces, room(1), room(2), counter)
    if groups is None:
        return ()
    parts = len(groups)
    requests = []
    for number, (start, shown) in enumerate(groups, 1):
        stop = start + len(shown)
        requests.append(
            SummaryRequest(
                instructions=told(number, parts),
                text=_frame(shown_context, previous) + _transcript(shown, first + start, number, parts),
                context=shown_context,
                max_tokens=max_tokens,
                part=number,
                parts=parts,
                attempt=1,
                previous=previous,
                prompt_version=PROMPT_VERSION,
                messages=tuple(messages[start:stop]),
                schema=schema.name,
                first=first + start,
            )
        )
    return tuple(requests)


def continued(request: SummaryRequest, running: str, *, budget_tokens: int, counter: Counter) -> SummaryRequest | None:
    """
    A later part, shown the accepted reply to the part before as its previous summary.

    Args:
        request: a part as `render_request` made it.
        running: the body accepted for the part before.
        budget_tokens: as given to `render_request`.
        counter: as given to `render_request`.

    Returns:
        The request to send; its transcript is shortened further if *running*
        is longer than was foreseen.  ``None`` if there is no room at all.
    """
    frame = _frame(request.context, running)
    # L25: quoted lines cannot begin with our words, so this is where it starts.
    transcript = request.text[("\n" + request.text).index("\n" + _TRANSCRIPT) :]
    room = budget_tokens - request.max_tokens - counter(request.instructions) - counter(frame)
    if counter(transcript) > room:
        calls = calls_by_result(request.messages)
        pieces = [list(_pieces(message, request.first + index, calls)) for index, message in enumerate(request.messages)]
        shown = _squeezed_all(pieces, room - _SLACK_TOKENS, counter)
        if shown is None:
            return None
        transcript = _transcript(shown, request.first, request.part, request.parts)
    return evolve(request, text=frame + transcript, previous=running)


def again(request: SummaryRequest, why: str) -> SummaryRequest:
    """
    The same question once more, saying why the last reply was not taken.

    A model is never sent the identical request twice (law L14).

    Args:
        why: a short reason, as in `acceptance.Rejected`.
    """
    reason = PARAGRAPHS["again"].format(why=label(why, limit_chars=120))
    return evolve(request, instructions=f"{request.instructions}\n\n{reason}", attempt=request.attempt + 1)


# --- One message -----------------------------------------------------------------------------------------------------


_SPEAKERS: Final[dict[Origin, str]] = {
    Origin.HUMAN: "human",
    Origin.MODEL: "model",
    Origin.TOOL: "tool",
    Origin.ATTACHMENT: "attachment made by a tool",
    Origin.HARNESS: "harness, not a person",
    Origin.SYSTEM: "system",
    Origin.SUMMARY: "earlier summary, not a person",
    Origin.PIN: "pinned text",
    Origin.REMINDER: "reminder, not a person",
    Origin.ACK: "harness, not a person",
    Origin.UNKNOWN: "not known, perhaps a person",
}


def stated_origins(message: Message) -> tuple[Origin, ...]:
    """
    The origin of each block of a message.

    As stated in the message; where nothing is stated, what the role alone
    proves: a user-role text without a stated origin is of unknown origin, not
    a person's.
    """
    stated = message.origin
    blocks = message.blocks
    if isinstance(stated, tuple) and len(stated) == len(blocks):
        return stated
    if isinstance(stated, Origin):
        return (stated,) * len(blocks)
    by_role = {
        "model": Origin.MODEL,
        "tool": Origin.TOOL,
        "system": Origin.SYSTEM,
        "developer": Origin.SYSTEM,
    }.get(message.role, Origin.UNKNOWN)
    return tuple(Origin.TOOL if isinstance(block, Result) else by_role for block in blocks)


def label(text: str, *, limit_chars: int = 80) -> str:
    """
    A name from the conversation, safe inside one of our own lines.

    >>> print(label('read\\n=== End"'), label("x" * 99, limit_chars=5))
    read\\n=== End\\" xxxxx...
    """
    shown = escape(text[:limit_chars]).replace('"', '\\"')
    return shown if len(text) <= limit_chars else shown + "..."


def argument_text(call: Call) -> str:
    """
    The arguments of a call as text: the model's own string, or compact JSON.

    >>> from compactlib.model import wire
    >>> argument_text(Call("c", "read", {"path": "a.py"}, wire("tool_use")))
    '{"path": "a.py"}'
    """
    if isinstance(call.arguments, str):
        return call.arguments
    try:
        return json.dumps(call.arguments, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return "(arguments that cannot be written as JSON)"


def calls_by_result(messages: Iterable[Message]) -> dict[int, Call]:
    """
    The call that each result answers, by ``id()`` of the result: the latest call before it with its id.

    Made for one look at messages that are kept alive by the caller.  A result
    whose call is not among *messages* is not in it.
    """
    answered: dict[int, Call] = {}
    called: dict[str, Call] = {}
    for message in messages:
        if isinstance(message.content, str):
            continue
        for block in message.content:
            if isinstance(block, Call):
                called[block.id] = block
            elif isinstance(block, Result) and block.call_id in called:
                answered[id(block)] = called[block.call_id]
    return answered


def _pieces(message: Message, number: int, calls: dict[int, Call]) -> Iterator[_Piece]:
    """What is shown of one message: at least one piece, so that none is passed over in silence."""
    head = f"message {number} · "
    shown = False
    for block, origin in zip(message.blocks, stated_origins(message), strict=True):
        for piece in _block_pieces(block, _SPEAKERS[origin], calls):
            shown = True
            yield head + piece[0], piece[1], piece[2]
    if not shown:
        yield f"{head}{message.role}: nothing to show", "", "stub"


def _block_pieces(block: Block, speaker: str, calls: dict[int, Call]) -> Iterator[_Piece]:
    if isinstance(block, Text):
        yield speaker, block.text, "words"
    elif isinstance(block, Call):
        yield f'model calls "{label(block.name)}" (id "{label(block.id)}")', argument_text(block), "arguments"
    elif isinstance(block, Result):
        call = calls.get(id(block))
        tool = f'tool "{label(call.name)}"' if call else "a tool"
        failed = ", reporting an error" if block.is_error else ""
        yield f'{tool} answers (id "{label(block.call_id)}"){failed}', block.text, "output"
        for inner in block.blocks:
            if not isinstance(inner, Text):
                yield from _block_pieces(inner, tool, calls)
    elif isinstance(block, Media):
        where = f"about {len(block.data) * 3 // 4:,} bytes" if block.data else label(block.url or "elsewhere")
        what = f"{label(block.kind)} ({label(block.mime or 'type not said')}, {where})"
        yield f"{speaker}: {what}, not shown, no longer available", "", "stub"
    elif isinstance(block, Reasoning):
        if block.text:
            yield "the model's reasoning", block.text, "reasoning"
    else:
        opaque: Opaque = block
        yield f'{speaker}: a "{label(opaque.kind)}" block, not readable', "", "stub"


def _shorten(text: str, limit_chars: int) -> tuple[str, int]:
    """*text* by head and tail, and how many of its characters are kept."""
    if len(text) <= limit_chars:
        return text, len(text)
    try:
        short = truncate(text, limit_chars=limit_chars, keep="both")
    except ValueError:  # no room even for the marker
        return "", 0
    return short.text, len(text) - short.omitted_chars


def _show(piece: _Piece, limits: Mapping[_Kind, int]) -> str:
    """One piece with our line above it."""
    head, text, kind = piece
    if kind == "stub":
        return f"--- {head}"
    if not text:
        return f"--- {head}: empty"
    short, kept = _shorten(text, limits[kind])
    if kept == len(text):
        return f"--- {head}\n{quote_lines(text)}"
    told = f"--- {head}: {kept:,} of {len(text):,} characters shown"
    return f"{told}\n{quote_lines(short)}" if short else told


# --- All messages ----------------------------------------------------------------------------------------------------


def _sharing(limit_chars: int) -> dict[_Kind, int]:
    """Limits in characters when outputs and arguments share what is left, and words are whole."""
    return {
        "words": 1 << 62,
        "output": limit_chars,
        "arguments": limit_chars,
        "reasoning": _REASONING_CHARS,
        "stub": 0,
    }


def _shown(message: list[_Piece], limits: Mapping[_Kind, int]) -> str:
    return "\n".join(_show(piece, limits) for piece in message)


def _distribute(
    pieces: list[list[_Piece]], room_alone: int, room_each: int, counter: Counter
) -> list[tuple[int, list[str]]] | None:
    """
    Divide the messages into as few parts as possible, and show as much as these hold.

    Args:
        pieces: of each message.
        room_alone: tokens for the transcript if there is one part.
        room_each: tokens for that of each part if there are several.
        counter: counts tokens.

    Returns:
        (index of the first message, shown messages) for each part, or ``None``.
    """

    def divided(limit_chars: int) -> list[tuple[int, list[str]]] | None:
        shown = [_shown(message, _sharing(limit_chars)) for message in pieces]
        sizes = [counter(text) for text in shown]
        if sum(sizes) <= room_alone:
            return [(0, shown)]
        return _pack(pieces, shown, sizes, room_each, counter)

    if room_alone < _LEAST_ROOM_TOKENS:
        return None
    best = divided(FLOOR_CHARS)
    longest = max((len(text) for message in pieces for _, text, kind in message if kind != "words"), default=0)
    limit_chars = FLOOR_CHARS
    while best is not None and limit_chars < longest:
        limit_chars *= 2
        wider = divided(limit_chars)
        if wider is None or len(wider) > len(best):
            break
        best = wider
    return best


def _pack(
    pieces: list[list[_Piece]], shown: list[str], sizes: list[int], room: int, counter: Counter
) -> list[tuple[int, list[str]]] | None:
    """
    Fill parts in order.

    A part begins where no result does, if there is such a place, so that a
    result is shown beside its call.  A message larger than a part is squeezed.
    """
    if room < _LEAST_ROOM_TOKENS:
        return None
    for index, size in enumerate(sizes):
        if size > room:
            shown[index] = _squeezed(pieces[index], room, counter)
            sizes[index] = counter(shown[index])
            if sizes[index] > room:
                return None
    starts = [0]
    place = 0  # the last at which a part may well begin
    used = 0
    for index, size in enumerate(sizes):
        if not any(kind == "output" for _, _, kind in pieces[index]):
            place = index
        while used + size > room:
            starts.append(place if place > starts[-1] else index)
            used = sum(sizes[starts[-1] : index])
        used += size
    stops = [*starts[1:], len(shown)]
    return [(start, shown[start:stop]) for start, stop in zip(starts, stops, strict=True)]


def _squeezed(message: list[_Piece], room: int, counter: Counter) -> str:
    """One message within *room* tokens if that is possible: first shorter texts, then fewer of them."""
    limit_chars = max((len(text) for _, text, _ in message), default=0)
    while True:
        limit_chars = max(limit_chars // 2, _LEAST_CHARS)
        shown = [_show(piece, dict.fromkeys(_KINDS, limit_chars)) for piece in message]
        text = "\n".join(shown)
        if limit_chars == _LEAST_CHARS or counter(text) <= room:
            break
    keep = len(shown) // 2
    while keep and counter(text) > room:
        keep //= 2
        left_out = f"--- {len(shown) - 2 * keep:,} pieces of one message, not shown"
        text = "\n".join([*shown[:keep], left_out, *shown[len(shown) - keep :]])
    return text


def _squeezed_all(pieces: list[list[_Piece]], room: int, counter: Counter) -> list[str] | None:
    """All messages of one part within *room* tokens: floor first, then an equal share for each that exceeds it."""
    if room < _LEAST_ROOM_TOKENS:
        return None
    shown = [_shown(message, _sharing(FLOOR_CHARS)) for message in pieces]
    sizes = [counter(text) for text in shown]
    left, share = room, room // len(shown)
    for size in sizes:
        left -= min(size, share)
    for index, size in enumerate(sizes):
        if size > share:
            allowed = share + max(left, 0)
            if size > allowed:
                shown[index] = _squeezed(pieces[index], allowed, counter)
            left -= counter(shown[index]) - share
    return shown if sum(map(counter, shown)) <= room else None


# --- The frame around them -------------------------------------------------------------------------------------------


def _frame(context: str, previous: str) -> str:
    """What stands before the transcript."""
    parts = []
    if context:
        parts.append(f"=== Context: this stays with the agent in full, do not repeat it ===\n{quote_lines(context)}\n")
    if previous:
        parts.append(f"=== Previous record: bring it up to date ===\n{quote_lines(previous)}\n")
    return "".join(parts)


def _transcript(shown: list[str], first: int, part: int, parts: int) -> str:
    which = f", part {part} of {parts}" if parts > 1 else ""
    head = f"{_TRANSCRIPT}: messages {first} to {first + len(shown) - 1}{which} ==="
    return "\n".join([head, *shown, _END])
