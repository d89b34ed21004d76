"""
What the summariser is shown.

What this is
    `render_request` turns replaced messages into `SummaryRequest` values: a
    system text (from `prompts`) and one user text, without tool blocks, so
    that any chat model can take it.  A long transcript becomes several
    requests, called parts, each of which continues the summary of the one
    before (`continued`).

Rules it obeys
    Law L25 (a): the conversation is quoted line by line (`transcript`), so the
    lines without prefix are ours alone.

    Law L15: instructions, text and reply together fit the summariser's own
    budget.  Over the parts each message is shown exactly once, in order; one
    too big for a part is shown by head and tail, with a marker.

    Law L20: the previous summary occurs once, as its own quoted part.

    What a tool printed is shown by head *and* tail and never below
    `FLOOR_CHARS`, because the line that matters is usually the last.

How it works
    Texts of people and models are shown whole.  Outputs, arguments and
    reasoning share what is left: the largest common limit is taken at which
    the number of parts is still the smallest possible, so that a summariser
    with room to spare sees everything and one without sees both ends of
    everything.  A message that exceeds a whole part is squeezed by lowering
    the limit for all its texts.

What is not here
    How one message looks (`transcript`); deciding what is replaced, and calling a model (`compaction`); hiding
    secrets (the caller's redaction runs before).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

from attrs import evolve, field, fields, frozen

from ..model import Message
from ..text import quote_lines
from ..tokens import Counter, estimate
from .prompts import PARAGRAPHS, PROMPT_VERSION, instructions
from .schema import Schema, other_headings, schema_for
from .transcript import KINDS, Kind, Piece, calls_by_result, label, pieces_of, shortened, show

__all__ = ["FLOOR_CHARS", "SummaryRequest", "again", "continued", "render_request"]

FLOOR_CHARS: Final = 2_000
"""What is shown of each output at least, unless its message alone exceeds a part."""

_REASONING_CHARS: Final = 600
_LEAST_CHARS: Final = 40  # below this a text is left out rather than shortened
_SLACK_TOKENS: Final = 64  # for `again` at least, and for counters that are not quite additive
_WHY_CHARS: Final = 120  # of the reason in `again`
_MOST_TRIES: Final = 4
_LEAST_ROOM_TOKENS: Final = 64  # less than this of a transcript is not worth a model call

_END: Final = '=== End of the transcript. Write the record now, beginning with "## {heading}". ==='
_TRANSCRIPT: Final = "=== Transcript"

_Group: TypeAlias = tuple[int, list[str]]
"""One part: the index of its first message, and its messages as they are shown."""


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
        headings: of sections that are not called as usual, by their keys.
        first: the index of the first of `messages` in its conversation.
        under_way: the place among `messages` from which on they are work on the latest prompt, which is still going on;
            ``None`` if it is not.
        form: ``serialised``, or ``suffix``: then `body` is to be sent as it is, and nothing else.
        body: of a suffix request the agent's own request with the question behind it, in its dialect.
        counter: counts the tokens that `max_tokens` is in.  It is the caller's function, and not pickled with the rest.
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
    headings: tuple[tuple[str, str], ...] = ()
    first: int = 0
    under_way: int | None = None
    form: Literal["serialised", "suffix"] = "serialised"
    body: Any = None
    counter: Counter = field(default=estimate, repr=False, eq=False)

    def __getstate__(self) -> dict[str, Any]:
        return {part.name: getattr(self, part.name) for part in fields(SummaryRequest) if part.name != "counter"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in {**state, "counter": estimate}.items():
            object.__setattr__(self, name, value)

    @property
    def sections(self) -> Schema:
        """The sections asked for."""
        return schema_for(self.schema, dict(self.headings))


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
    under_way: int | None = None,
    first: int = 0,
    parts_before: int = 0,
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
        under_way: where in *messages* the work on the latest prompt begins, which is still going on; ``None`` if it is not.
        first: index of the first message in its conversation.
        parts_before: how many parts were shown and accepted before these; they are counted on.

    Returns:
        One request, or several parts in order.  Each part after the first has
        to be passed through `continued` with the accepted reply to the part
        before.  An empty tuple if there is nothing to show, or if not even a
        shortened transcript fits the budget: then nobody is to be asked.

    >>> from compactlib.model import Origin, wire
    >>> from compactlib.summaries.schema import SCHEMAS
    >>> prompt = Message("user", "Ship it.\\n## Orders\\n=== End", wire("user"), Origin.HUMAN)
    >>> [request] = render_request([prompt], schema=SCHEMAS["brief"], max_tokens=100, budget_tokens=9000, counter=len)
    >>> print(request.text)
    === Transcript: messages 0 to 0 ===
    --- message 0 · human
    > Ship it.
    > ## Orders
    > === End
    === End of the transcript. Write the record now, beginning with "## Goal". ===
    """
    if not messages:
        return ()
    pieces = _all_pieces(messages, first)
    shown_context = shortened(context, budget_tokens * 3 // 8)[0] if context else ""
    before = _frame(shown_context, previous)

    def told(part: int, parts: int) -> str:
        return instructions(
            schema,
            max_tokens=max_tokens,
            focus=focus,
            language=language,
            step_cut=under_way is not None,
            first_step=None if under_way is None else first + under_way,
            part=part,
            parts=parts,
            has_previous=bool(previous) or part > 1,
            has_context=bool(shown_context),
        )

    def request(group: _Group, part: int, parts: int) -> SummaryRequest:
        start, shown = group
        part, parts = part + parts_before, parts + parts_before
        return SummaryRequest(
            instructions=told(part, parts),
            text=before + _transcript(shown, first + start, part, parts, schema),
            context=shown_context,
            max_tokens=max_tokens,
            part=part,
            parts=parts,
            attempt=1,
            previous=previous,
            prompt_version=PROMPT_VERSION,
            messages=tuple(messages[start : start + len(shown)]),
            schema=schema.name,
            headings=other_headings(schema),
            first=first + start,
            under_way=None if under_way is None else max(under_way - start, 0),
            counter=counter,
        )

    # Later parts show the reply to the part before, which may be as long as
    # the ceiling, instead of the previous summary.
    fixed = counter(_transcript([], first, 99, 99, schema)) + max_tokens + _spare(counter)
    alone = budget_tokens - fixed - counter(before) - counter(told(1, 1) if not parts_before else told(2, 99))
    running = max(counter(before), counter(_frame(shown_context, "")) + max_tokens * 3 // 2)
    each = budget_tokens - fixed - running - counter(told(2, 99))
    for _ in range(_MOST_TRIES):
        groups = _distribute(pieces, alone, each, counter)
        if groups is None:
            return ()
        requests = tuple(request(group, part, len(groups)) for part, group in enumerate(groups, 1))
        # Sizes were sums of parts; a counter need not be additive.
        over = max(counter(one.instructions) + counter(one.text) for one in requests) + max_tokens - budget_tokens
        if over <= 0:
            return requests
        # Less than what was shown, for room that was left over helps nobody.
        most = max(sum(map(counter, shown)) for _, shown in groups)
        alone, each = (min(room, most) - over - _SLACK_TOKENS for room in (alone, each))
    return ()


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
    schema = request.sections
    frame = _frame(request.context, running)
    # L25: quoted lines cannot begin with our words, so this is where it starts.
    transcript = request.text[("\n" + request.text).index("\n" + _TRANSCRIPT) :]
    limit = budget_tokens - request.max_tokens - counter(request.instructions) - _spare(counter)
    room = counter(transcript) - counter(_transcript([], request.first, request.part, request.parts, schema))
    for _ in range(_MOST_TRIES):  # the whole text is measured: a counter need not be additive
        text = frame + transcript
        over = counter(text) - limit
        if over <= 0:
            return evolve(request, text=text, previous=running)
        shown = _squeezed_all(_all_pieces(request.messages, request.first), room - over, counter)
        if shown is None:
            return None
        room = min(room - over, sum(map(counter, shown)))
        transcript = _transcript(shown, request.first, request.part, request.parts, schema)
    return None


def _spare(counter: Counter) -> int:
    """What a request leaves free, so that it still fits when it is made `again`."""
    return max(_SLACK_TOKENS, counter("\n\n" + PARAGRAPHS["again"].format(why="x" * (_WHY_CHARS + len("...")))))


def again(request: SummaryRequest, why: str) -> SummaryRequest:
    """
    The same question once more, saying why the last reply was not taken.

    A model is never sent the identical request twice (law L14).

    Args:
        why: a short reason, as in `acceptance.Rejected`.
    """
    reason = PARAGRAPHS["again"].format(why=label(why, limit_chars=_WHY_CHARS))
    return evolve(request, instructions=f"{request.instructions}\n\n{reason}", attempt=request.attempt + 1)


# --- All messages ----------------------------------------------------------------------------------------------------


def _sharing(limit_chars: int) -> dict[Kind, int]:
    """Limits in characters when outputs and arguments share what is left, and words are whole."""
    return {
        "words": 1 << 62,
        "output": limit_chars,
        "arguments": limit_chars,
        "reasoning": _REASONING_CHARS,
        "stub": 0,
    }


def _all_pieces(messages: Sequence[Message], first: int) -> list[list[Piece]]:
    calls = calls_by_result(messages)
    return [pieces_of(message, first + index, calls) for index, message in enumerate(messages)]


def _show_message(message: list[Piece], limits: Mapping[Kind, int]) -> str:
    """All pieces of one message, each line with its newline."""
    return "".join(f"{show(piece, limits)}\n" for piece in message)


def _distribute(pieces: list[list[Piece]], room_alone: int, room_each: int, counter: Counter) -> list[_Group] | None:
    """
    Divide the messages into as few parts as possible, and show as much as these hold.

    Args:
        pieces: of each message.
        room_alone: tokens for the messages if there is one part.
        room_each: tokens for those of each part if there are several.
        counter: counts tokens.
    """

    if room_alone < _LEAST_ROOM_TOKENS:
        return None
    limit_chars = FLOOR_CHARS
    limits = _sharing(limit_chars)
    shown = [_show_message(message, limits) for message in pieces]
    sizes = [counter(text) for text in shown]

    def divided() -> list[_Group] | None:
        if sum(sizes) <= room_alone:
            return [(0, shown.copy())]
        return _pack(pieces, shown.copy(), sizes.copy(), room_each, counter)

    best = divided()
    longest = [max((len(text) for _, text, kind in message if kind != "words"), default=0) for message in pieces]
    while best is not None and limit_chars < max(longest, default=0):
        limits = _sharing(2 * limit_chars)
        for at, chars in enumerate(longest):
            if chars > limit_chars:  # the others were shown whole
                shown[at] = _show_message(pieces[at], limits)
                sizes[at] = counter(shown[at])
        limit_chars *= 2
        wider = divided()
        if wider is None or len(wider) > len(best):
            break
        best = wider
    return best


def _pack(pieces: list[list[Piece]], shown: list[str], sizes: list[int], room: int, counter: Counter) -> list[_Group] | None:
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


def _squeezed(message: list[Piece], room: int, counter: Counter) -> str:
    """One message within *room* tokens if that is possible: first shorter texts, then fewer of them."""
    limit_chars = max((len(text) for _, text, _ in message), default=0)
    while limit_chars > _LEAST_CHARS:
        limit_chars = max(limit_chars // 2, _LEAST_CHARS)
        text = _show_message(message, dict.fromkeys(KINDS, limit_chars))
        if counter(text) <= room:
            return text
    lines = [show(piece, dict.fromkeys(KINDS, _LEAST_CHARS)) for piece in message]
    keep = (len(lines) - 1) // 2
    while True:
        left_out = f"--- {len(lines) - 2 * keep:,} pieces of one message, not shown"
        text = "\n".join([*lines[:keep], left_out, *lines[len(lines) - keep :]]) + "\n"
        if keep == 0 or counter(text) <= room:
            return text
        keep //= 2


def _squeezed_all(pieces: list[list[Piece]], room: int, counter: Counter) -> list[str] | None:
    """All messages of one part within *room* tokens: those above an equal share share what the others leave."""
    if room < _LEAST_ROOM_TOKENS:
        return None
    shown = [_show_message(message, _sharing(FLOOR_CHARS)) for message in pieces]
    sizes = [counter(text) for text in shown]
    share = room // len(shown)
    spare = room - sum(min(size, share) for size in sizes)
    for index, size in enumerate(sizes):
        if size > share:
            shown[index] = _squeezed(pieces[index], share + spare, counter) if size > share + spare else shown[index]
            spare -= max(counter(shown[index]) - share, 0)
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


def _transcript(shown: list[str], first: int, part: int, parts: int, schema: Schema) -> str:
    which = f", part {part} of {parts}" if parts > 1 else ""
    head = f"{_TRANSCRIPT}: messages {first} to {first + len(shown) - 1}{which} ==="
    return "".join([head, "\n", *shown, _END.format(heading=schema.sections[0].heading)])
