"""
Calls and their results, side by side as every provider wants them.

What this is
    `arrange`, which pairs calls with results by position, brings each batch
    together, and gives every call its id in the target's language.

Rules it obeys
    * Law L2.  The calls of a batch, and then their results, stand together:
      one model slot, and one user slot that begins with the results.
    * A result answers the nearest earlier open call with its id, so an id that
      is used again in another turn pairs with its own call.
    * Law L4.  Pending calls stay open.  A call that was passed over is
      answered, as in a repair: its outcome is unknown.  What stands for a
      medium that could not be carried over would be a person's words behind
      pending calls, and pass them over: it goes into the result before it.
    * Linear in the number of blocks.

How it works
    One pass.  A *batch* is a model slot with calls; model slots that follow it
    while nothing is answered yet belong to it where the source takes them as
    one (joined neighbours, items of one response).  Results go to their batch
    from wherever they stand; other blocks stay where they are.

What is not here
    Media in results (`carriers`), and who may speak first or last (`writing`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from functools import cached_property
from typing import Final

from attrs import evolve

from ..model import Block, Call, Conversation, Media, Origin, Result, Text
from ..protocol.answering import UNKNOWN_OUTCOME
from ..protocol.violation import quote
from ..recognition import is_marker
from ..turns import Division, Kind, divide
from .losses import Losses
from .naming import Names
from .slots import FAILED, Piece, Slot, is_note

__all__ = ["arrange"]


class _Batch:
    """A run of model slots, the calls in it that are open, and their results."""

    __slots__ = ("answered", "beside", "notes", "open", "pieces", "positions", "results", "used")

    def __init__(self, position: int, pieces: list[Piece], used: set[str]) -> None:
        self.positions = [position]
        self.pieces = pieces
        self.used = used  # the ids of its calls in the input
        self.open: dict[str, deque[Call]] = {}  # by the id in the input; the calls have their new ones
        self.results: list[Piece] = []
        self.notes: dict[int, list[Block]] = {}  # which of the results ends in which notes of media
        self.answered: dict[int, None] = {}  # where its results stood, in order
        self.beside: list[Piece] = []


def arrange(slots: list[Slot], conversation: Conversation, ids: Names, tools: Names, losses: Losses) -> list[Slot]:
    """
    The slots with every batch together, calls and results under their new ids.

    Args:
        slots: as they crossed.
        conversation: where they come from.
        ids, tools: the ids of calls and the names of tools in the target's language.
        losses: where what was changed is noted.
    """
    arranger = _Arranger(conversation, ids, tools, losses)
    for slot in slots:
        if slot.side == "model":
            arranger.model(slot)
        elif slot.has_results or any(isinstance(block, Result) for block, _origin in slot.pieces):
            arranger.answers(slot)
        else:
            arranger.said(slot)
    arranger.close()
    return arranger.written()


def _is_attached(block: Block) -> bool:
    """Whether a block beside results is a tool's picture or what announces it, and nobody's words."""
    return isinstance(block, Media) or (isinstance(block, Text) and is_marker(block.text))


def _noted(piece: Piece, notes: list[Block]) -> Piece:
    """A result that ends in these notes."""
    result, origin = piece
    if not isinstance(result, Result):
        return piece
    parts = [*(block for block in result.blocks if block != Text("")), *notes]
    words = [part.text for part in parts if isinstance(part, Text)]
    return evolve(result, content="\n".join(words) if len(words) == len(parts) else tuple(parts)), origin


class _Arranger:
    """The pass."""

    def __init__(self, conversation: Conversation, ids: Names, tools: Names, losses: Losses) -> None:
        self.conversation: Final = conversation
        self.is_itemised: Final = conversation.dialect == "openai-responses"
        self.ids: Final = ids
        self.tools: Final = tools
        self.losses: Final = losses
        self.out: list[Slot | _Batch] = []
        self.open: dict[str, list[_Batch]] = {}  # id -> the batches with open calls of it, the nearest last
        self.count = 0  # calls that had no id of their own
        self.batch: _Batch | None = None  # the last to which media in a slot of their own belong,
        self.media: Slot | None = None  # and that slot

    @cached_property
    def division(self) -> Division:
        """How the input divides; seldom asked for."""
        return divide(self.conversation)

    # -- reading ---------------------------------------------------------------------------------------------------------

    def model(self, slot: Slot) -> None:
        """A model slot: a batch of its own, or more of the one before it; results in it are answers as others are."""
        results = tuple(piece for piece in slot.pieces if isinstance(piece[0], Result))
        if results:
            said = tuple(piece for piece in slot.pieces if not isinstance(piece[0], Result))
            if self.conversation.dialect != "atif":  # where they always do
                self.losses.at(
                    "role", slot.position, "results that stood in a message of the model's are in one of the user's now"
                )
            if said:
                self.model(evolve(slot, pieces=said))
            self.answers(Slot("user", results, slot.position))
            return
        olds = [block for block, _origin in slot.pieces if isinstance(block, Call)]
        last = self.out[-1] if self.out else None
        joins = isinstance(last, _Batch) and not last.results and (last.open or (self.is_itemised and olds))
        used: set[str] = last.used if joins and isinstance(last, _Batch) else set()
        pieces = [(self._named(block, used) if isinstance(block, Call) else block, origin) for block, origin in slot.pieces]
        news = [block for block, _origin in pieces if isinstance(block, Call)]
        if joins and isinstance(last, _Batch):
            batch = last
            batch.pieces += pieces
            batch.positions.append(slot.position)
            if not self.is_itemised:
                self.losses.at("grouping", slot.position, "joined to the model's message before it, whose calls were open")
        else:
            batch = _Batch(slot.position, pieces, used)
            self.out.append(batch)
        for old, new in zip(olds, news, strict=True):
            waiting = batch.open.get(old.id)
            if waiting is None:
                batch.open[old.id] = waiting = deque()
                self.open.setdefault(old.id, []).append(batch)
            waiting.append(new)

    def _named(self, call: Call, used: set[str]) -> Call:
        """The call under its new id and name; *used* are the ids of its batch, in which no two are called alike."""
        if call.wire.form == "unnamed" or call.id in used:
            new = self.ids.fresh(call.id if call.id in used else call.name, self.count)
            self.count += 1
        else:
            new = self.ids.once(call.id)
            used.add(call.id)
        name = self.tools.of(call.name)
        return call if new == call.id and name == call.name else Call(new, name, call.arguments, call.wire)

    def answers(self, slot: Slot) -> None:
        """A slot with results: each goes to its batch."""
        last = self.out[-1] if self.out else None
        others: list[Piece] = []
        is_first = True
        for block, origin in slot.pieces:
            if not isinstance(block, Result):
                others.append((block, origin))
                continue
            batch = self._batch_of(block, last)
            by_order = batch is not None and bool(block.call_id) and block.call_id not in batch.open
            if batch is None:
                self.losses.at(
                    "orphan", slot.position, f"a result for {quote(block.call_id)}, whose call is not here, was left out"
                )
                continue
            if batch is not last or (others and isinstance(last, _Batch)):
                self.losses.at("order", slot.position, "a result stands directly behind its call now")
            elif is_first and batch.results and not slot.is_tool:
                self.losses.at("grouping", slot.position, "its results are in one message with those before them")
            is_first = False
            call = self._answered(batch, block)
            if by_order:
                words = f"a result named {quote(block.call_id)} is one of {quote(call.name)} now, which it answers by its place"
                self.losses.at("name", slot.position, words)
            batch.answered.setdefault(slot.position)
            batch.results.append((Result(call.id, block.content, block.wire), origin))
        if others and isinstance(last, _Batch) and last.results and not is_first:
            last.beside += self._attached(last, others, slot.position) if last.open else others
        elif others:
            self.out.append(evolve(slot, pieces=tuple(others), is_tool=False))

    def said(self, slot: Slot) -> None:
        """A slot of words and media; one of a tool's media, perhaps behind others of them, belongs to the batch before it."""
        last = self.out[-1] if self.out else None
        batch = last if isinstance(last, _Batch) else self.batch if last is not None and last is self.media else None
        waits = slot.side == "user" and batch is not None and bool(batch.results and batch.open)
        if waits and batch is not None and self.division.kinds[slot.position] is Kind.ATTACHMENT:
            slot = evolve(slot, pieces=tuple(self._attached(batch, slot.pieces, slot.position)))
            self.batch, self.media = batch, slot if slot.pieces else self.media
        if slot.pieces:
            self.out.append(slot)

    def _attached(self, batch: _Batch, pieces: Sequence[Piece], position: int) -> list[Piece]:
        """What stands behind results while calls are pending, if nobody said any of it: media, and no notes of lost ones."""
        kept = [piece for piece in pieces if not is_note(piece[0])]
        if not all(_is_attached(block) for block, _origin in kept):
            return list(pieces)
        if len(kept) < len(pieces):
            notes = batch.notes.setdefault(len(batch.results) - 1, [])
            notes += [block for block, _origin in pieces if is_note(block)]
            self.losses.at("grouping", position, "what stands for a medium is in the result before it: calls are pending")
            if not any(isinstance(block, Media) for block, _origin in kept):
                return []  # nothing is left to announce
        if any(isinstance(block, Text) for block, _origin in kept):
            return kept
        return [(block, origin or Origin.ATTACHMENT) for block, origin in kept]  # some target may want words; they are nobody's

    def _batch_of(self, result: Result, last: Slot | _Batch | None) -> _Batch | None:
        """The nearest batch in which a call with the result's id is open; else the last, where results go by their order."""
        batches = self.open.get(result.call_id)
        if batches:
            return batches[-1]
        goes_by_order = self.conversation.dialect == "gemini" or not result.call_id  # rule G-NAME-01: any name will do there
        return last if goes_by_order and isinstance(last, _Batch) and last.open else None

    def _answered(self, batch: _Batch, result: Result) -> Call:
        """The call that a result of this batch answers; it is open no more."""
        key = result.call_id if result.call_id in batch.open else next(iter(batch.open))
        waiting = batch.open[key]
        call = waiting.popleft()
        if not waiting:
            del batch.open[key]
            batches = self.open[key]
            batches.pop()  # the nearest, which is this one
            if not batches:
                del self.open[key]
        return call

    # -- writing ---------------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Answer what was passed over."""
        if not self.open:
            return
        pending = {position for position, _ordinal in self.division.pending}
        live = next((one for one in reversed(self.out) if isinstance(one, _Batch)), None)
        for batch in self.out:
            if not isinstance(batch, _Batch) or not batch.open or (batch is live and not pending.isdisjoint(batch.positions)):
                continue
            if batch is self.out[-1] and all(_is_attached(block) for block, _origin in batch.beside):
                continue
            for waiting in batch.open.values():
                for call in waiting:
                    words = f"the call {quote(call.id)} was answered: its outcome is unknown"
                    self.losses.at("unanswered", batch.positions[0], words)
                    batch.results.append((Result(call.id, UNKNOWN_OUTCOME, FAILED), Origin.HARNESS))

    def written(self) -> list[Slot]:
        """All slots, batch by batch."""
        slots: list[Slot] = []
        for one in self.out:
            if isinstance(one, Slot):
                slots.append(one)
                continue
            calls = [piece for piece in one.pieces if isinstance(piece[0], Call)]
            words = [piece for piece in one.pieces if not isinstance(piece[0], Call)]
            pieces = [*words, *calls]
            if any(new is not old for new, old in zip(pieces, one.pieces, strict=True)):
                self.losses.at("order", one.positions[0], "the model's words stand before its calls now")
            slots.append(Slot("model", tuple(pieces), one.positions[0], others=tuple(one.positions[1:])))
            for place, notes in one.notes.items():
                one.results[place] = _noted(one.results[place], notes)
            if one.results:
                first, *others = one.answered or {one.positions[0]: None}
                slots.append(Slot("user", (*one.results, *one.beside), first, others=tuple(others)))
        return slots
