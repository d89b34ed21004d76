"""
What is sealed, put back as the model returned it.

What this is
    The first pass of `repair`, for a caller who knows what the provider
    returned: altered, cut and lost reasoning, signatures and encrypted content
    are taken from there.

Rules it obeys
    * Law L5.  To put back is the one repair of a sealed message of the current
      turn, because it undoes an edit.  Nothing sealed is ever taken away, so a
      message that has more of it than the model returned is left.
    * Only messages that the validator named are touched, and in them only what
      is sealed and what a seal stands on.
    * What was returned is believed only of the message that it is about.
      Whatever is not sealed has to be the same, word for word and call for
      call, as far as it is still there.
    * Law L19.  What the caller passed in is copied.

How it works
    *Anthropic*: the sealed blocks stand where they stood among the others.
    *Gemini*: a signature belongs to its part, so the one is found by the other.
    *OpenAI Responses*: an item is found by its id.

What is not here
    What cannot be told without the original, and so is not found (`validator`).
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Final

from attrs import evolve

from ..model import Block, Call, Json, Message, Opaque, Reasoning, Text, Wire
from .draft import Draft, Piece, pieces_of, rebuilt, with_key
from .parts import signed_call
from .seals import SEALED, sealed_of
from .signatures import SENTINELS, SIGNATURES, signed, signed_json
from .violation import Violation

__all__ = ["restore"]

_Restorer = Callable[[Message, list[Json]], Message]
"""From a message, and what the model returned, to the message with what is sealed put back; itself if that cannot be done."""

_RULES: Final = frozenset(
    {"A-THINK-01", "A-THINK-02", "A-THINK-03", "A-THINK-05", "G-BATCH-01", "G-SIG-01", "G-SIG-02", "R-ENC-01", "R-STORE-01"}
)


def restore(draft: Draft, errors: tuple[Violation, ...]) -> None:
    """Put back what is sealed in the messages that *errors* name."""
    how = _RESTORERS.get(draft.profile.dialect)
    named: dict[int, Violation] = {}
    for one in errors if how is not None else ():
        if one.rule in _RULES and one.index is not None:
            named.setdefault(one.index, one)
    for at, one in named.items():
        message, source = draft.slots[at]
        returned = draft.returned(source)
        if returned is None or how is None:
            continue
        try:
            made = how(message, returned)
        except (RecursionError, TypeError, ValueError):  # what is said to have been returned is no JSON
            continue
        if made is not message:
            draft.slots[at] = made, source
            words = "put back what is sealed, as the model returned it"
            draft.say("restore-seal", one.rule, source, words, (call.id for call in made.calls))


# -- Anthropic ---------------------------------------------------------------------------------------------------------


def _among_others(message: Message, returned: list[Json]) -> Message:
    """The message with the sealed blocks of *returned*, where they stood among the blocks that it still has."""
    mine = pieces_of(message)
    held = [piece for piece in mine if _is_sealed(piece[0])]
    others = [piece for piece in mine if not _is_sealed(piece[0])]
    wanted = [value for value in returned if _is_sealed_json(value)]
    if len(held) > len(wanted):
        return message  # more than was returned: of another message, perhaps
    kept = {sealed_of((piece[0],))[0][1:]: piece for piece in held}
    pieces: list[Piece] = []
    place = 0
    for value in returned:
        if _is_sealed_json(value):
            made = _sealed_block(value)
            if made is None:
                return message
            pieces.append(kept.get(sealed_of((made,))[0][1:], (made, None if not mine else mine[0][1])))
        elif place < len(others) and _is_same(others[place][0], value):
            pieces.append(others[place])
            place += 1
    if place < len(others):
        return message  # it says what the model is not known to have said
    after = rebuilt(message, pieces)
    return after if sealed_of(after.blocks) == sealed_of(returned) else message


def _is_sealed(block: Block) -> bool:
    return isinstance(block, Reasoning) or (isinstance(block, Opaque) and block.kind == "fallback")


def _is_sealed_json(value: Json) -> bool:
    return isinstance(value, dict) and value.get("type") in SEALED


def _is_same(block: Block, value: Json) -> bool:
    """Whether a block is the one that was returned."""
    if not isinstance(value, dict):
        return False
    if isinstance(block, Text):
        return value.get("type") == "text" and value.get("text") == block.text
    if isinstance(block, Call):
        return value.get("type") == block.wire.tag and value.get("id") == block.id and value.get("name") == block.name
    kind = block.kind if isinstance(block, Opaque) else block.wire.tag
    return bool(value.get("type") == kind)


def _sealed_block(value: dict[str, Json]) -> Block | None:
    """A sealed block as it was returned; ``None`` if it is damaged itself."""
    kind = value["type"]
    if kind == "fallback":
        return Opaque(kind, deepcopy(value))
    words, key = (value.get("thinking"), "signature") if kind == "thinking" else ("", "data")
    seal = value.get(key)
    if not isinstance(words, str) or not isinstance(seal, str) or not seal:
        return None
    known = {"type", "thinking", key} if kind == "thinking" else {"type", key}
    rest = tuple((name, deepcopy(one)) for name, one in value.items() if name not in known)
    return Reasoning(words, seal, Wire(kind, tuple(value), rest))


# -- Gemini ------------------------------------------------------------------------------------------------------------


def _part_by_part(message: Message, returned: list[Json]) -> Message:
    """The message with each signature on its part, and each part as its signature knows it."""
    left: dict[int, tuple[Json, str, Json]] = {}
    by_seal: dict[str, deque[int]] = {}
    by_content: dict[str, deque[int]] = {}
    for at, part in enumerate(returned):
        found = signed_json(part)
        if found is not None:
            left[at] = part, *found
            by_seal.setdefault(found[0], deque()).append(at)
            by_content.setdefault(_spelled(found[1]), deque()).append(at)
    pieces = pieces_of(message)
    waiting = []
    for place, (block, _origin) in enumerate(pieces):
        mine = signed(block)
        if mine is not None and mine[0] in SENTINELS:
            continue
        same = by_seal.get(mine[0]) if mine is not None else None
        if mine is not None and same and left[same[0]][2] == mine[1]:
            del left[same.popleft()]
        else:
            waiting.append((place, mine))
    for place, mine in waiting:
        block, origin = pieces[place]
        says = mine[1] if mine is not None else (block.name, block.arguments) if isinstance(block, Call) else None
        for known in (by_seal.get(mine[0]) if mine is not None else None, by_content.get(_spelled(says))):
            while known and known[0] not in left:
                known.popleft()
            made = _signed_anew(block, *left[known[0]]) if known else None
            if made is not None and known:
                pieces[place] = made, origin
                del left[known.popleft()]
                break
    return rebuilt(message, pieces)


def _spelled(content: Json) -> str:
    """What a signature stands on, so that it can be looked up."""
    return json.dumps(content, sort_keys=True, default=str)


def _signed_anew(block: Block, part: Json, seal: str, content: Json) -> Block | None:
    """The block as the part that was returned, if it is that one: it has its signature, or says the same."""
    mine = signed(block)
    if mine is not None and mine[0] == seal:
        if isinstance(block, Opaque):
            return Opaque(block.kind, deepcopy(part))
        if isinstance(block, Text | Reasoning) and isinstance(content, str):
            return evolve(block, text=content)
        if isinstance(block, Call) and isinstance(content, tuple) and content[0] == block.name:
            return evolve(block, arguments=deepcopy(content[1]))
        return None
    says = mine[1] if mine is not None else (block.name, block.arguments) if isinstance(block, Call) else None
    if says is None or says != content or isinstance(block, Opaque):
        return None
    if isinstance(block, Reasoning):
        return evolve(block, seal=seal)
    if mine is None and isinstance(block, Call):
        return signed_call(block, seal)
    if isinstance(block, Text | Call):
        shape = block.wire
        return evolve(block, wire=evolve(shape, rest=tuple((key, seal if key in SIGNATURES else one) for key, one in shape.rest)))
    return None


# -- OpenAI Responses --------------------------------------------------------------------------------------------------


def _by_id(message: Message, returned: list[Json]) -> Message:
    """The item with the encrypted content that the one with its id had."""
    block = message.content[0] if message.content else ""
    key: Json = None
    if isinstance(block, Reasoning):
        key = block.wire.get("id")
    elif isinstance(block, Opaque) and isinstance(block.value, dict):
        key = block.value.get("id")
    if not isinstance(key, str) or isinstance(message.content, str):
        return message
    item = next((one for one in returned if isinstance(one, dict) and one.get("id") == key), {})
    seal = item.get("encrypted_content")
    if not isinstance(seal, str):
        return message
    if isinstance(block, Reasoning):
        made: Block = evolve(block, seal=seal, wire=with_key(block.wire, "encrypted_content"))
    elif isinstance(block, Opaque) and block.kind == item.get("type"):  # a reference to an item has none
        made = Opaque(block.kind, {**block.value, "encrypted_content": seal})
    else:
        return message
    return message if made == block else evolve(message, content=(made, *message.content[1:]))


_RESTORERS: Final[Mapping[str, _Restorer]] = {
    "anthropic": _among_others,
    "gemini": _part_by_part,
    "openai-responses": _by_id,
}
"""How it is done where a validator compares with what was returned."""
