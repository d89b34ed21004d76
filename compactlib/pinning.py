"""
Pins: what stays verbatim outside the summary, wherever it stood.

What this is
    From the caller's pins, and those that a head holds already, to blocks with
    their places (`pinned`) and to the one message that they are in the head
    (`pin_message`).

Rules it obeys
    * Law L8.  Each pin stands exactly once, in the order of first appearance.
      A call or a result is quoted, because it is illegal without its step.
    * A pin that is not there is a `PolicyError`.

How it works
    Pins are named by their place on the wire, where a fused head is one
    message: its blocks are counted through.

What is not here
    Which room pins have (`planning`), and which could be pins (`standing`).
"""

from __future__ import annotations

from collections.abc import Sequence

from .errors import PolicyError
from .model import Block, Call, Conversation, Media, Message, Opaque, Origin, Result, Text
from .protocol.profiles import Profile
from .summaries.head import user_message
from .summaries.transcript import argument_text
from .tasks import Pin
from .turns import Division, Kind

__all__ = ["pin_message", "pinned", "texts_to_pin", "wholly_pinned"]


def pinned(conversation: Conversation, division: Division, pins: Sequence[Pin]) -> list[tuple[int, int, Block]]:
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
        first, last = conversation.position(index), conversation.position(index + 1)  # a fused head is one message on the wire
        spots = [(at, one) for at in range(first, last) for one in range(len(messages[at].blocks))]
        if place is not None and not 0 <= place < len(spots):
            raise PolicyError("pins", f"message {index} has no block {place}")
        for at, one in spots if place is None else spots[place : place + 1]:
            if division.kinds[at] not in (Kind.SUMMARY, Kind.REMINDER) and not _is_mark(messages[at].blocks[one]):
                named.add((at, one))
    return [(at, place, _spoken(messages[at], place)) for at, place in [*sorted(held), *sorted(named - held)]]


def texts_to_pin(texts: Sequence[str], pins: Sequence[tuple[int, int, Block]]) -> list[Text]:
    """Those of the *texts* of a policy that are not pinned already, by a compaction before or by the caller."""
    known = {block.text for _, _, block in pins if isinstance(block, Text)}
    return [Text(text) for text in texts if text not in known]


def _is_mark(block: Block) -> bool:
    """Whether a block only marks where a cached prefix ends (Bedrock); it goes with what it marks."""
    return isinstance(block, Opaque) and block.kind == "cachePoint"


def _spoken(message: Message, place: int) -> Block:
    """A block as a user can say it: what only the model's words carry (citations, signatures, their type) stays behind."""
    block = message.blocks[place]
    return Text(block.text) if isinstance(block, Text) and message.role == "model" else block


def wholly_pinned(messages: tuple[Message, ...], places: set[tuple[int, int]]) -> set[int]:
    """Messages of words and media that are pinned whole, so that nothing in them needs another place."""
    return {
        at
        for at, _ in places
        if all(
            _is_mark(block) or ((at, place) in places and isinstance(block, Text | Media))
            for place, block in enumerate(messages[at].blocks)
        )
    }


def pin_message(blocks: Sequence[Block], profile: Profile) -> Message:
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
    return user_message(made, Origin.PIN, profile)
