"""
Conversations for chat templates: sides in turn, and where there are no tools, calls and results as words.

What this is
    The passes over slots for the profiles of servers that write a conversation
    into a chat template (rules V-ALT-01, V-ALT-02, V-SYS-01): `worded` writes
    calls and results as words, `unpictured` takes pictures out of results,
    `instructed` brings the instructions where the template takes them, `headed`
    makes the head of a compacted conversation one text, and `in_turns` lets the
    sides take turns.

Rules it obeys
    * Law L3.  Results that are words of a user-role message keep the origin
      ``tool``, so no turn begins there and no cut falls before them.
    * Law L25.  A tool's words stand behind a mark that says how many characters
      they have, so they cannot forge another; and they are never joined to a
      person's, whose authority they would gain: a word of the model's stands
      between.
    * Law L20.  The head is recognised afterwards: the line that tells its parts
      apart is written anew.
    * Each change is a named loss.

How it works
    ::

        [call call_1 of read chars=20]              in the model's message
        {"path": "build.log"}

        [result of call_1 chars=2]                  in the user's message behind it
        ok

    A mark names the id and the tool in quotes where they are no plain words; a
    failed result is ``[failed result of ...]``.

What is not here
    Who wants it so (`protocol.profiles`), and one string for each message
    (`writing`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from attrs import evolve

from ..model import Block, Call, Conversation, Media, Origin, Result, Text
from ..protocol.alternation import BRIDGE
from ..protocol.repair import CONTINUE
from ..summaries.head import read_summary, write_summary
from ..turns import Kind, divide
from .losses import Losses
from .slots import Piece, Slot, note

__all__ = ["headed", "in_turns", "instructed", "one_text", "unpictured", "worded"]

_PLAIN: Final = re.compile(r"[\w.:/-]+")
_HEAD: Final = frozenset({Origin.PIN, Origin.SUMMARY, Origin.REMINDER})
_OF_TOOLS: Final = frozenset({Origin.TOOL, Origin.ATTACHMENT})
_BY_KIND: Final = {Kind.ATTACHMENT: Origin.ATTACHMENT, Kind.HARNESS: Origin.HARNESS}


# -- calls and results as words ----------------------------------------------------------------------------------------


def worded(slots: Sequence[Slot], losses: Losses) -> list[Slot]:
    """The slots with calls and results as words; results hold no media any more (`carriers.move`)."""
    out = []
    for slot in slots:
        if not any(isinstance(block, Call | Result) for block, _origin in slot.pieces):
            out.append(slot)
            continue
        pieces: list[Piece] = []
        for block, origin in slot.pieces:
            if isinstance(block, Call):
                pieces.append((Text(_mark(f"call {_word(block.id)} of {_word(block.name)}", str(block.arguments))), origin))
            elif isinstance(block, Result):
                what = "failed result" if block.is_error else "result"
                pieces.append((Text(_mark(f"{what} of {_word(block.call_id)}", block.text)), Origin.TOOL))
            else:
                pieces.append((block, origin))
        what = "calls are" if slot.side == "model" else "results are"
        for position in (slot.position, *slot.others):
            losses.at("words", position, f"{what} plain words now: the template has no form for them")
        out.append(Slot(slot.side, tuple(pieces), slot.position))
    return out


def _mark(what: str, text: str) -> str:
    """*text* behind a line that says what it is and how long."""
    return f"[{what} chars={len(text)}]\n{text}"


def _word(name: str) -> str:
    """An id or a name in a mark."""
    return name if _PLAIN.fullmatch(name) else repr(name)


def one_text(slots: Sequence[Slot], conversation: Conversation, losses: Losses) -> None:
    """Name the messages whose texts, or those of a result, will be one, but for the head, which is told apart again."""
    for slot in slots:
        blocks = [block for block, _origin in slot.pieces]
        results = (block.blocks for block in blocks if isinstance(block, Result))
        is_head = conversation.messages[slot.position].origin in _HEAD
        if not is_head and any(map(_is_joined, (blocks, *results))):
            losses.at("grouping", slot.position, "its texts are one now")


def _is_joined(blocks: Sequence[Block]) -> bool:
    """Whether several texts become one, because there is nothing else beside them."""
    texts = sum(isinstance(block, Text) for block in blocks)
    return texts > 1 and not any(isinstance(block, Media) for block in blocks)


def unpictured(slots: Sequence[Slot], conversation: Conversation, losses: Losses) -> list[Slot]:
    """The slots without the pictures of tools: no user message may follow results, and results are words."""
    kinds = divide(conversation).kinds
    out = []
    for slot in slots:
        media = [block for block, _origin in slot.pieces if isinstance(block, Media)]
        is_carrier = bool(media) and slot.side == "user" and not slot.has_results and kinds[slot.position] is Kind.ATTACHMENT
        if is_carrier:
            losses.at("media", slot.position, "what tools produced besides words was left out: the template has no place for it")
            continue
        pieces: list[Piece] = []
        for block, origin in slot.pieces:
            if isinstance(block, Result) and any(isinstance(part, Media) for part in block.blocks):
                losses.at("media", slot.position, "a medium in a result was left out: the template has no place for it")
                content = tuple(note(part.kind) if isinstance(part, Media) else part for part in block.blocks)
                block = evolve(block, content=content)
            pieces.append((block, origin))
        out.append(evolve(slot, pieces=tuple(pieces)))
    return out


# -- instructions, and the head ----------------------------------------------------------------------------------------


def instructed(slots: Sequence[Slot], losses: Losses, *, has_role: bool) -> list[Slot]:
    """The slots with all instructions in one that stands first, or, where there is no such role, in the first of a user's."""
    told = [slot for slot in slots if slot.side == "system"]
    rest = [slot for slot in slots if slot.side != "system"]
    if not told:
        return rest
    behind = next((at for at, slot in enumerate(slots) if slot.side != "system"), len(slots))
    for slot in slots[behind:]:
        if slot.side == "system":
            losses.at("order", slot.position, "instructions from among the messages stand before them now")
    pieces = tuple(piece for slot in told for piece in slot.pieces)
    if len(pieces) > 1:
        losses.around("grouping", "", "all instructions are one text now")
    first = evolve(told[0], pieces=pieces)
    if has_role:
        return [first, *rest]
    for slot in told:
        losses.at("role", slot.position, "instructions are the beginning of the first user message now")
    words = tuple((block, Origin.HARNESS) for block, _origin in pieces)
    return [Slot("user", words, told[0].position), *rest]


def headed(slots: list[Slot], conversation: Conversation) -> list[Slot]:
    """The slots with the head of a compacted conversation as one, whose summary says where its parts begin."""
    messages = conversation.messages
    start = next((at for at, slot in enumerate(slots) if messages[slot.position].origin in _HEAD), None)
    if start is None:
        return slots
    stop = start
    while stop < len(slots) and messages[slots[stop].position].origin in _HEAD:
        stop += 1
    head = [(block, messages[slot.position].origin) for slot in slots[start:stop] for block, _origin in slot.pieces]
    place = next((at for at, (_block, origin) in enumerate(head) if origin is Origin.SUMMARY), None)
    if place is None:
        return slots
    said = head[place][0]
    known = read_summary(said.text) if isinstance(said, Text) else None
    if known is None:
        return slots
    if all(isinstance(block, Text) for block, _origin in head):
        lengths = tuple(len(block.text) for at, (block, _origin) in enumerate(head) if at != place and isinstance(block, Text))
        summary = Text(write_summary(known.body, evolve(known.layout, joined_chars=lengths)))
        head[place] = summary, Origin.SUMMARY
    pieces: tuple[Piece, ...] = tuple((block, origin if isinstance(origin, Origin) else None) for block, origin in head)
    return [*slots[:start], Slot("user", pieces, slots[start].position), *slots[stop:]]


# -- in turn -----------------------------------------------------------------------------------------------------------


def in_turns(slots: Sequence[Slot], conversation: Conversation, losses: Losses, *, apart: bool) -> list[Slot]:
    """
    The slots with the sides in turn, a user's first.

    Args:
        slots: as they are written otherwise.
        conversation: where they come from.
        losses: where what was changed is noted.
        apart: whether calls and results do not count, because the template has forms for them.
    """
    division = divide(conversation)
    kinds, last_person = division.kinds, division.last_person
    out: list[Slot] = []
    spoke = earlier = ""  # the side that spoke last, of those that count, and the one before
    for slot in (_stated(slot, kinds[slot.position], is_last=slot.position == last_person) for slot in slots):
        if slot.side == "system" or slot.has_results:
            out.append(slot)
            continue
        last = out[-1] if out and out[-1].side == slot.side and not out[-1].has_results else None
        if last is not None and (slot.side == "model" or _may_join(last, slot)):
            out[-1] = evolve(last, pieces=(*last.pieces, *slot.pieces))
            losses.at("grouping", slot.position, "joined to the message before it, of the same side")
            if spoke == "model" and not _side(out[-1], apart=apart):
                spoke = earlier  # the model's words are beside calls now, and do not count
            continue
        side = _side(slot, apart=apart)
        if slot.side == "model" and not any(one.side != "system" for one in out):
            out.append(Slot("user", ((Text(CONTINUE), Origin.HARNESS),), slot.position))
            losses.at("added", slot.position, "a user message stands before the model's, which stood first")
            spoke = "user"
        elif side == "user" and spoke == "user":
            out.append(Slot("model", ((Text(BRIDGE), Origin.ACK),), slot.position))
            losses.at("added", slot.position, "a word of the model's stands between two user messages")
        out.append(slot)
        if side:
            spoke, earlier = side, spoke
    return out


def _stated(slot: Slot, kind: Kind, *, is_last: bool) -> Slot:
    """The slot with the origin that its place tells, where nobody stated one; what may be a person's last words stays so (L8)."""
    known = _BY_KIND.get(kind) if slot.side == "user" and not slot.has_results else None
    if known is None or any(origin is not None for _block, origin in slot.pieces):
        return slot
    return evolve(slot, pieces=tuple((block, Origin.UNKNOWN if is_last else known) for block, _origin in slot.pieces))


def _side(slot: Slot, *, apart: bool) -> str:
    """Whose turn it took, ``""`` if it does not count."""
    calls = apart and any(isinstance(block, Call) for block, _origin in slot.pieces)
    return "" if calls or slot.has_results or slot.side == "system" else slot.side


def _may_join(first: Slot, second: Slot) -> bool:
    """Whether two messages of a user's may become one: never a tool's words and a person's."""
    sides = [{origin for _block, origin in slot.pieces} for slot in (first, second)]
    of_tools = [bool(origins & _OF_TOOLS) for origins in sides]
    of_persons = [bool(origins & {None, Origin.HUMAN, Origin.UNKNOWN}) for origins in sides]
    return not (any(of_tools) and any(of_persons))
