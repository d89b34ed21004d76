"""
Old turns -> their prompts and digests.

What this is
    The third rung of the ladder: a *digest*, made when a turn ended, takes the
    place of what followed its prompt.  Here are the name of a turn (`turn_key`),
    which turns can have a digest (`closed_turns`), how far a conversation is
    collapsed (`collapse_at`), and what then stands behind the summary (`entries`).

Rules it obeys
    * Law L3.  It ends at a turn cut, and whole turns collapse, oldest first.
    * Law L8.  Every prompt of a collapsed turn stays word for word, media
      included, and so does what a person wrote beside results.
    * Law L16.  The name of a turn is made of what it says, so the same turn
      has the same digest in every process.
    * Law L25.  A digest is text: what in it looks like a marker, a reference or
      a header is escaped, as in a summary, whoever wrote it.
    * Law L6.  A digest of white space is none.
    * What the tail of a summary would keep is not collapsed.

How it works
    The head's block of earlier prompts takes the digests in, each behind its
    prompt, so one summary stays one (law L20), and whoever reads the head back
    finds them.  At the next summary they are what is shown in the place of the
    messages that they stand for: a message is condensed at most twice, once
    into its digest and once into the summary.

What is not here
    Asking for digests (`digesting`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import accumulate

from attrs import frozen

from .cuts import Choice, Cuts, tail_tokens
from .model import Block, Call, Json, Media, Message, Result, Text
from .outputs import answered, bytes_of, is_one_answer, json_of, values_of
from .persons import said_before
from .store import reference_of
from .stubs import references_in
from .summaries.acceptance import harmless
from .summaries.head import Earlier, quote, write_earlier
from .thoughts import is_thought
from .tokens import Memo
from .turns import Division, Kind, Turn

__all__ = ["Collapse", "closed_turns", "collapse_at", "entries", "turn_key"]


def turn_key(messages: Sequence[Message]) -> str:
    """
    The name of a turn: 64 hex digits that depend on what its messages say, and on nothing that clearing changes.

    What can be cleared is in it by its reference, which is all that a stub leaves, and reasoning is not in it at all.
    So nobody has to vouch for a stub here: who writes one by hand gains what to say the same again would have gained.

    Raises:
        WireError: a message was made by hand, and holds what JSON cannot.

    >>> from compactlib.model import wire
    >>> len(turn_key([Message("user", "hi", wire("user"))]))
    64
    """
    emptied = {
        (answer.call_position, answer.call_place): ref
        for answer in answered(messages)
        if answer.call.arguments in ("{}", {})
        for ref in (references_in(part.text)[1] for part in answer.result.blocks if isinstance(part, Text))
        if ref
    }
    said: list[Json] = []
    for at, message in enumerate(messages):
        blocks = [_plain(block, emptied.get((at, place))) for place, block in enumerate(message.blocks) if not is_thought(block)]
        said.append([message.role, blocks])
    return reference_of(json_of(said))


def _plain(block: Block, arguments_ref: str | None) -> Json:
    """What a block says, as JSON, and of what can be cleared the reference."""
    if isinstance(block, Text):
        ref, _ = references_in(block.text)
        return ref or ["text", block.text]
    if isinstance(block, Call):
        return ["call", block.id, block.name, arguments_ref or _reference(block)]
    if isinstance(block, Result):
        parts = [reference_of(values_of(block.blocks))] if is_one_answer(block) else [_reference(part) for part in block.blocks]
        return ["result", block.call_id, block.is_error, parts]
    return _reference(block)


def _reference(block: Block) -> str:
    """By what a store would know what can be cleared of a block."""
    if isinstance(block, Text):
        ref, _ = references_in(block.text)
        return ref or reference_of(bytes_of(block.text))
    if isinstance(block, Call):
        return reference_of(bytes_of(block.arguments) if isinstance(block.arguments, str) else json_of(block.arguments))
    return reference_of(json_of(block.source if isinstance(block, Media) else getattr(block, "value", None)))


def closed_turns(division: Division) -> tuple[Turn, ...]:
    """The turns that are over: all but the last."""
    return division.turns[:-1]


@frozen
class Collapse:
    """
    How far a conversation is collapsed.

    Attributes:
        choice: where the tail begins.
        digests: the digest of each collapsed turn, by the position where the turn ends.
    """

    choice: Choice
    digests: Mapping[int, str]


def collapse_at(
    messages: tuple[Message, ...],
    division: Division,
    cuts: Cuts,
    weights: Sequence[int],
    digests: Mapping[str, str],
    *,
    latest: int,
    target_tokens: int,
    head_tokens: int,
    memo: Memo,
) -> Collapse | None:
    """
    How far to collapse: as few turns as reach the target, or all that can be.

    Args:
        messages: the conversation's.
        division: how they divide.
        cuts: the legal cuts, as positions.
        weights: tokens of each message.
        digests: digests by the names of their turns.
        latest: the position from which on nothing is touched.
        target_tokens: what the whole request is to have.
        head_tokens: what stands before the tail anyway.
        memo: counts tokens.

    Returns:
        ``None`` where no turn can be collapsed.
    """
    legal = set(cuts.turn)
    said = iter(said_before(division, messages, latest, None, set()))
    one = next(said, None)
    found: dict[int, str] = {}
    sizes: list[int] = []
    stops: list[int] = []
    for turn in closed_turns(division):
        text = digests.get(turn_key(messages[turn.start : turn.stop])) if turn.stop <= latest else None
        if text is None or not text.strip():  # law L6: what says nothing stands for nothing
            break
        text = harmless(text, ())[0]  # law L25: the caller's digests may be anybody's
        found[turn.stop] = text
        size = memo.counter(quote(Earlier(text, "digest")))
        while one is not None and one.at < turn.stop:
            size += memo.counter(quote(Earlier(one.text)))
            one = next(said, None)
        sizes.append(size)
        stops.append(turn.stop)
    tails = tail_tokens(weights)
    best = None
    for stop, spent in zip(stops, accumulate(sizes), strict=True):
        if stop in legal:
            best = stop
            if head_tokens + spent + tails[stop] <= target_tokens:
                break
    if best is None:
        return None
    taken = {stop: text for stop, text in found.items() if stop <= best}
    why = f"{len(taken)} turns have digests, and that is enough" if best != stops[-1] else "all turns with digests"
    return Collapse(Choice(best, "turn", None, tails[best], why), taken)


def entries(
    division: Division,
    messages: tuple[Message, ...],
    collapse: Collapse,
    before: Sequence[Earlier],
    pinned: Set[tuple[int, int]],
) -> tuple[Block, ...]:
    """
    What stands behind the summary after a collapse: prompts with their digests, in order, and the prompts' media.

    Args:
        division: how the messages divide.
        messages: the conversation's.
        collapse: how far it goes.
        before: what stood there already.
        pinned: blocks that stay verbatim elsewhere, as (message, block).
    """
    cut = collapse.choice.position
    made = list(before)
    media: list[Block] = []
    stops = iter(sorted(collapse.digests))
    stop = next(stops, None)
    for one in said_before(division, messages, cut, None, pinned):
        while stop is not None and stop <= one.at:
            made.append(Earlier(collapse.digests[stop], "digest"))
            stop = next(stops, None)
        if one.text:
            made.append(Earlier(one.text))
        if division.kinds[one.at] is Kind.PROMPT:
            media += one.media or _media(messages[one.at], one.at, pinned)
    while stop is not None:
        made.append(Earlier(collapse.digests[stop], "digest"))
        stop = next(stops, None)
    return (Text(write_earlier(made)), *media)


def _media(message: Message, at: int, pinned: Set[tuple[int, int]]) -> Iterator[Block]:
    """The pictures and documents of a message that are not pinned."""
    return (block for place, block in enumerate(message.blocks) if isinstance(block, Media) and (at, place) not in pinned)
