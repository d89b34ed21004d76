"""
What persons said before a cut, and what of it is quoted in the head.

What this is
    `said_before` finds the words (and the media that could be a person's
    last), `quoted` chooses what stands in the head and writes it.

Rules it obeys
    * Law L8.  Words typed beside results, and the last message that could be a
      person's, are quoted whatever the room; earlier prompts newest first,
      while they fit.  Nothing that stands verbatim elsewhere (the kept prompt,
      pins) is quoted again.

What is not here
    How the quotation looks (`summaries.head`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from itertools import islice
from typing import Final

from attrs import frozen

from .budget import Policy
from .model import Block, Media, Message, Origin, Result, Text
from .summaries.head import Earlier, quote, write_earlier
from .tokens import Memo, block_tokens
from .turns import Division, Kind, origins

__all__ = ["Said", "all_words", "person_words", "quoted", "said_before", "says", "tokens_owed"]

_MOST_TRIES: Final = 4
_PERSONS: Final = (Origin.HUMAN, Origin.UNKNOWN)
"""Origins whose words are kept like a person's."""


def quoted(
    division: Division,
    messages: tuple[Message, ...],
    cut: int,
    prompt: int | None,
    pinned: set[tuple[int, int]],
    quoted: tuple[str, ...],
    policy: Policy,
    allowance: int,
    memo: Memo,
) -> tuple[Block, ...]:
    """
    What persons wrote before the cut, as far as it is quoted in the head.

    The kept *prompt* and *pinned* blocks stay verbatim anyway and are not quoted.
    """
    said = said_before(division, messages, cut, prompt, pinned)
    media = tuple(block for one in said for block in one.media)
    owed = tokens_owed(said, memo)
    room = allowance - owed
    everything = [*((text, False) for text in quoted), *((one.text, one.is_owed) for one in said if one.text)]
    whole = ""
    for _ in range(_MOST_TRIES):
        kept = _newest(everything, room if policy.retain_prompts else -1, memo)
        whole = write_earlier([Earlier(text) for text in kept]) if kept else ""
        # sizes were sums of parts, and a counter need not be additive
        over = memo.counter(whole) + sum(block_tokens(block, memo.counter) for block in media) - max(allowance, owed)
        if over <= 0 or room < 0:
            break
        room -= over
    else:
        kept = _newest(everything, -1, memo)
        whole = write_earlier([Earlier(text) for text in kept]) if kept else ""
    return (*((Text(whole),) if whole else ()), *media)


def _newest(everything: Sequence[tuple[str, bool]], room: int, memo: Memo) -> list[str]:
    """The texts that must be quoted, and of the others the newest for which there is *room*, in order."""
    kept: list[str] = []
    fits = room >= 0
    for text, must in reversed(everything):
        cost = 0 if must else memo.counter(quote(Earlier(text)))
        fits = fits and cost <= room
        if must or fits:
            kept.append(text)
            room -= cost
    return kept[::-1]


def all_words(
    division: Division, messages: tuple[Message, ...], cut: int, prompt: int | None, quoted: tuple[str, ...]
) -> tuple[str, ...]:
    """What persons wrote up to the *cut*, its own prompt included, and what was *quoted* of them before; for comparison."""
    everything = list(quoted)
    for at in _speaking(division, messages, cut):
        last = at == division.last_person
        everything += (
            [person_words(messages[at], division.kinds[at], verbatim=True)]
            if last
            else _person_texts(messages[at], division.kinds[at])
        )
    if prompt is None and cut < len(messages) and division.kinds[cut] is Kind.PROMPT:
        everything += _person_texts(messages[cut], Kind.PROMPT)
    return tuple(everything)


def _speaking(division: Division, messages: tuple[Message, ...], stop: int) -> Iterator[int]:
    """The messages before *stop* that hold, or could hold, a person's words."""
    model, result, last = Kind.MODEL, Kind.RESULT, division.last_person  # most are of these kinds
    for at, kind in enumerate(islice(division.kinds, stop)):
        if kind is result:
            for block in messages[at].blocks:
                if not (isinstance(block, Result) and block.is_client):
                    yield at
                    break
        elif at == last or (kind is not model and kind in (Kind.PROMPT, Kind.PROMPT_TEXT, Kind.OTHER)):
            yield at


@frozen
class Said:
    """
    What a person said before a cut, and stands nowhere else.

    Attributes:
        at: the message.
        text: the words.
        is_owed: whether they must be quoted, whatever the room.
        media: what must stay beside them.
    """

    at: int
    text: str
    is_owed: bool
    media: tuple[Block, ...]


def said_before(
    division: Division, messages: tuple[Message, ...], cut: int, prompt: int | None, pinned: Set[tuple[int, int]]
) -> list[Said]:
    """What persons said before the *cut* and stands nowhere else."""
    said: list[Said] = []
    for at in _speaking(division, messages, cut):
        if at == prompt:
            continue
        kind = division.kinds[at]
        last = at == division.last_person
        blocks = messages[at].blocks
        free = {place for place in range(len(blocks)) if (at, place) not in pinned}
        text = person_words(messages[at], kind, verbatim=last, only=free)
        keeps_media = last and kind is not Kind.PREAMBLE
        media = tuple(blocks[place] for place in sorted(free) if isinstance(blocks[place], Media)) if keeps_media else ()
        said.append(Said(at, text, last or kind in (Kind.PROMPT_TEXT, Kind.RESULT), media))
    return said


def says(message: Message) -> bool:
    """Whether a message holds anything but white space."""
    return any(not isinstance(block, Text) or block.text.strip() for block in message.blocks)


def tokens_owed(said: list[Said], memo: Memo) -> int:
    """What has to be quoted of what was `said_before`, whatever the room."""
    texts = [quote(Earlier(one.text)) for one in said if one.is_owed and one.text]
    tokens = memo.counter(write_earlier(())) + sum(map(memo.counter, texts)) if texts else 0
    return tokens + sum(block_tokens(block, memo.counter) for one in said for block in one.media)


def person_words(message: Message, kind: Kind, *, verbatim: bool, only: Set[int] | None = None) -> str:
    """
    What a person wrote, or could have written, in a message; media as stubs.

    Args:
        message: the message.
        kind: what it is.
        verbatim: whether to believe no recognition: every text counts, and media are kept elsewhere.
        only: the places of the blocks to look at, if not of all.
    """
    pieces = []
    for place, (block, origin) in enumerate(zip(message.blocks, origins(message, kind), strict=True)):
        if isinstance(block, Result) or (only is not None and place not in only):
            continue
        if isinstance(block, Text) and (verbatim or origin in _PERSONS):
            pieces.append(block.text)
        elif isinstance(block, Media) and not verbatim and origin in _PERSONS:
            pieces.append(f"[{block.kind} not kept]")
    return "\n".join(pieces)


def _person_texts(message: Message, kind: Kind) -> list[str]:
    """The texts that a person wrote, or could have written, each by itself."""
    where = origins(message, kind)
    return [
        block.text for block, origin in zip(message.blocks, where, strict=True) if isinstance(block, Text) and origin in _PERSONS
    ]
