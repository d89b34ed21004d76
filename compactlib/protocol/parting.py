"""
What may not stand together, put apart.

What this is
    The pass of `repair` for providers with a table of what may stand beside or
    behind what: results alone in a message (B-COLOC-01, S-ONLY-01), content or
    calls but not both (M-EITHER-01), no system message behind the model's
    (M-ORDER-01).

Rules it obeys
    * Law L4.  Behind pending calls nothing is put: their results come first.
    * Law L5.  Sealed messages are not divided.
    * Law L8.  No word is lost, and all keep their order.

How it works
    A message is divided into two, or one is put between: the shortest that
    there is, marked as the harness's own.

What is not here
    Neighbours of one side that have to be one message (`repair`, `alternation`).
"""

from __future__ import annotations

from typing import Final

from attrs import evolve

from ..model import Call, Message, Origin, Result, Text, wire
from ..turns import divide
from .draft import Draft, Slot, pieces_of, rebuilt, spoken
from .violation import Violation

__all__ = ["part"]

_DOT: Final = "."
_RULES: Final = frozenset({"B-COLOC-01", "M-EITHER-01", "M-ORDER-01", "S-ONLY-01"})


def part(draft: Draft, errors: tuple[Violation, ...], *, prompt: str) -> None:
    """
    Put apart what *errors* say may not stand together.

    Args:
        draft: the working copy.
        errors: what the provider refuses.
        prompt: what a user message says that is only there because one has to be.
    """
    named = {one.index: one for one in errors if one.rule in _RULES and one.index is not None}
    live = _live_end(draft) if named else None
    if live is not None:
        named = {index: one for index, one in named.items() if index <= live}
    if not named:
        return
    out: list[Slot] = []
    for at, slot in enumerate(draft.slots):
        one = named.get(at)
        out += [slot] if one is None else _parted(draft, slot, one, prompt)
    draft.slots = out


def _live_end(draft: Draft) -> int | None:
    """The last model message, if calls of its batch are pending; behind it nothing may be put."""
    models = [at for at, (message, _source) in enumerate(draft.slots) if message.role == "model"]
    if draft.mode == "request" or not models or not divide(draft.conversation).pending:
        return None
    return models[-1]


def _parted(draft: Draft, slot: Slot, one: Violation, prompt: str) -> list[Slot]:
    message, source = slot
    if one.rule == "M-ORDER-01":
        if one.fix != "insert-bridge":
            return [slot]
        draft.say("insert-bridge", one.rule, source, "put a user message before a system message that stood behind the model's")
        return [(spoken(draft.profile.dialect, prompt), source), slot]
    if draft.is_sealed(message):
        return [slot]
    if one.rule == "S-ONLY-01":
        return _results_first(draft, slot) if message.role == "user" else [slot]
    if one.rule == "B-COLOC-01":
        return _results_alone(draft, slot) if message.role == "user" else [slot]
    return _words_alone(draft, slot)


def _results_alone(draft: Draft, slot: Slot) -> list[Slot]:
    """Results, a word of the model's, and what stood beside them."""
    message, source = slot
    pieces = pieces_of(message)
    results = [piece for piece in pieces if isinstance(piece[0], Result)]
    others = [piece for piece in pieces if not isinstance(piece[0], Result)]
    if not others:
        return [slot]
    bridge = Message("model", (Text(_DOT),), wire("assistant", ("role", "content")), Origin.ACK)
    draft.say("insert-bridge", "B-COLOC-01", source, "put a word of the model's between results and what stood beside them")
    parts: list[Slot] = [(rebuilt(message, results), source)] if results else []
    return [*parts, (bridge, source), (rebuilt(message, others), source)]


def _results_first(draft: Draft, slot: Slot) -> list[Slot]:
    """Results, and what stood beside them in the next message."""
    message, source = slot
    pieces = pieces_of(message)
    results = [piece for piece in pieces if isinstance(piece[0], Result)]
    others = [piece for piece in pieces if not isinstance(piece[0], Result)]
    if not (results and others):
        return [slot]
    draft.say("move-words", "S-ONLY-01", source, "moved what stood beside results into a message behind them")
    return [(rebuilt(message, results), source), (rebuilt(message, others), source)]


def _words_alone(draft: Draft, slot: Slot) -> list[Slot]:
    """The model's words in a message, and its calls in the next."""
    message, source = slot
    pieces = pieces_of(message)
    calls = [piece for piece in pieces if isinstance(piece[0], Call)]
    words = [piece for piece in pieces if not isinstance(piece[0], Call)]
    if not (calls and words):
        return [slot]
    draft.say("move-words", "M-EITHER-01", source, "moved words beside calls into a message before them")
    calling = rebuilt(message, calls)
    return [(rebuilt(message, words), source), (evolve(calling, wire=evolve(calling.wire, form="null")), source)]
