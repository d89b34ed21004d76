"""
What a provider may hide when it is asked to, worked out a second time.

What this is
    `may_hide` reads the edits of a record (``clear_tool_uses_20250919`` and
    ``clear_thinking_20251015``) and says which blocks of the conversation may
    be hidden by them.

Rules it obeys
    * Where the provider's documents leave two readings, both are taken: what
      is hidden in one of them may be hidden.  Uses of its own tools may be
      counted with the others or not; a size may be exceeded; what is to be
      cleared at least may be there.
    * What the request of the input asks for by itself, and still does, is not
      the compactor's.
    * It shares no code with the engine, and reads the wire again.

What is not here
    Whether that is right (`checks`), and whether the edits are legal: for that
    there is the validator.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any, Final

from attrs import evolve, frozen

from ..model import Json
from .evidence import evidence
from .record import Record
from .units import Block, Unit

__all__ = ["Hidden", "may_hide", "tool_of"]

_OWN_TOOLS: Final = ('"type": "server_tool_use"', '"type": "mcp_tool_use"')


@frozen
class Hidden:
    """
    One block that may be hidden.

    Attributes:
        at: its unit of the input.
        place: its place among the unit's blocks.
        block: the block.
        what: ``result``, ``arguments`` or ``reasoning``.
        is_new: whether nothing that the input asks for may hide it, too.
    """

    at: int
    place: int
    block: Block
    what: str
    is_new: bool = True


@lru_cache(maxsize=4)
def may_hide(record: Record) -> tuple[Hidden, ...]:
    """What may be hidden by the edits of *record* that its input did not ask for."""
    own = _edits_of(record.before.get("context_management") if isinstance(record.before, dict) else None)
    made = [edit for edit in _edits_of(record.edits) if edit not in own]
    if not made:
        return ()
    units = evidence(record).before
    before: set[tuple[int, int]] = set()
    for edit in own:
        with suppress(Exception):  # one of a wrong shape hides nothing
            before |= {(one.at, one.place) for one in _hidden(units, [edit])}
    return tuple(evolve(one, is_new=(one.at, one.place) not in before) for one in _hidden(units, made))


def _edits_of(management: Json) -> list[Any]:
    edits = management.get("edits") if isinstance(management, dict) else None
    return edits if isinstance(edits, list) else []


def tool_of(block: Block) -> str:
    """The name of the tool that a block calls."""
    name = json.loads(block.raw).get("name")
    return name if isinstance(name, str) else ""


def _hidden(units: Sequence[Unit], edits: Sequence[Any]) -> list[Hidden]:
    found: dict[tuple[int, int], Hidden] = {}
    for edit in edits:
        if edit["type"] == "clear_tool_uses_20250919":
            for counted in (False, True):
                found |= {(one.at, one.place): one for one in _results(units, edit, counted=counted)}
        elif edit["type"] == "clear_thinking_20251015":
            found |= {(one.at, one.place): one for one in _thoughts(units, edit)}
    return [found[key] for key in sorted(found)]


def _results(units: Sequence[Unit], edit: dict[str, Any], *, counted: bool) -> Iterator[Hidden]:
    """What goes with the oldest uses, the provider's own *counted* or not."""
    uses = [
        (at, place, block)
        for at, unit in enumerate(units)
        for place, block in enumerate(unit.blocks)
        if block.kind == "call" or (counted and block.kind == "other" and any(word in block.raw for word in _OWN_TOOLS))
    ]
    trigger = edit.get("trigger", {"type": "input_tokens"})
    if trigger["type"] == "tool_uses" and len(uses) <= trigger["value"]:
        return
    keep = edit.get("keep", {"value": 3})["value"]
    inputs = edit.get("clear_tool_inputs") or ()
    for at, place, block in uses[: max(len(uses) - keep, 0)]:
        tool = tool_of(block)
        if tool in (edit.get("exclude_tools") or ()):
            continue
        if inputs is True or tool in (inputs or ()):
            yield Hidden(at, place, block, "arguments")
        for behind in range(at + 1, len(units)):
            answers = [there for there, one in enumerate(units[behind].blocks) if one.kind == "result" and one.id == block.id]
            if answers:
                yield Hidden(behind, answers[0], units[behind].blocks[answers[0]], "result")
                break


def _thoughts(units: Sequence[Unit], edit: dict[str, Any]) -> Iterator[Hidden]:
    """The reasoning of all turns that hold some but the newest; a turn ends where a user does not only answer."""
    keep = edit.get("keep", {"value": 1})
    if keep in ("all", {"type": "all"}):
        return
    turns: list[list[Hidden]] = [[]]
    for at, unit in enumerate(units):
        if unit.role == "user" and any(block.kind != "result" for block in unit.blocks):
            turns.append([])
        turns[-1] += [Hidden(at, place, one, "reasoning") for place, one in enumerate(unit.blocks) if one.kind == "reasoning"]
    thinking = [turn for turn in turns if turn]
    for turn in thinking[: max(len(thinking) - keep["value"], 0)]:
        yield from turn
