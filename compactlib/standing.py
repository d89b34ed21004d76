"""
Orders that hold for the whole session, proposed as pins.

What this is
    `propose_pins` finds sentences in which a person says what is to hold from
    now on ("never push to main", "отвечай только по-русски") and names the
    blocks they stand in, ready for ``compact(pins=...)``.

Rules it obeys
    * Law L8.  What is pinned survives every compaction word for word.
    * Law L25.  Only what a person typed is looked at: a tool's output that
      gives orders proposes nothing.
    * It proposes; the caller decides.  A proposal says how much the pin costs,
      because a pin is a whole block.

What is not here
    What becomes of pins (`planning`).
"""

from __future__ import annotations

from typing import Final

from attrs import frozen

from .model import Conversation, Origin, Text, need_conversation
from .summaries.cues import cues, sentences
from .tokens import Counter, estimate
from .turns import Kind, divide, origins

__all__ = ["ProposedPin", "propose_pins"]

_LONGEST_CHARS: Final = 20_000  # an order stands in words, not in what was pasted


@frozen
class ProposedPin:
    """
    A block that holds a standing order.

    Attributes:
        pin: (message, block) as the wire numbers them, for ``compact(pins=...)``.
        orders: the sentences, as they were typed.
        tokens: what the pin would take of every request.
    """

    pin: tuple[int, int]
    orders: tuple[str, ...]
    tokens: int


def propose_pins(conversation: Conversation, *, counter: Counter = estimate) -> tuple[ProposedPin, ...]:
    """
    The blocks in which persons gave orders for the whole session, in order.

    Args:
        conversation: where to look; what is pinned already is not proposed again.
        counter: counts tokens.

    Raises:
        PolicyError: *conversation* is none.

    >>> from compactlib.dialects import parse
    >>> messages = [{"role": "user", "content": "Fix the login. Never push to main!"}]
    >>> [found] = propose_pins(parse(messages, dialect="anthropic"))
    >>> found.pin, found.orders
    ((0, 0), ('Never push to main!',))
    """
    need_conversation(conversation)
    division = divide(conversation)
    found: list[ProposedPin] = []
    known: set[str] = {message.text for at, message in enumerate(conversation.messages) if division.kinds[at] is Kind.PIN}
    for at, message in enumerate(conversation.messages):
        kind = division.kinds[at]
        if kind not in (Kind.PROMPT, Kind.PROMPT_TEXT, Kind.RESULT):
            continue
        index = conversation.wire_index(at)
        first = conversation.position(index)
        before = sum(len(one.blocks) for one in conversation.messages[first:at])  # of the same message on the wire
        for place, (block, origin) in enumerate(zip(message.blocks, origins(message, kind), strict=True)):
            if not isinstance(block, Text) or origin is not Origin.HUMAN or len(block.text) > _LONGEST_CHARS:
                continue
            orders = tuple(sentence for sentence in sentences(block.text) if "standing" in cues(sentence))
            if orders and block.text not in known:
                known.add(block.text)
                found.append(ProposedPin((index, before + place), orders, counter(block.text)))
    return tuple(found)
