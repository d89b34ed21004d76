"""
Ids that are used twice or cannot be written, given new names.

What this is
    The pass of `repair` that renames a call and its result together.

Rules it obeys
    * Injective: two calls never get one id, and no id that is in use is given.
    * Law L16.  A new id is a function of the old one and of how many calls with
      it stood before, so it does not change when the conversation grows, and a
      cached prefix stays good.
    * Law L5.  The calls of a sealed message keep their ids.

How it works
    ``functions.ls:0`` becomes ``functions_ls_0_`` and eight digits of a hash.
    When this pass runs, calls and results have been paired (`answering`), so
    both ends are known by position.

What is not here
    Ids for another provider's language, which a conversion needs.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from typing import Final

from attrs import evolve

from ..model import Call, Message, Result
from .automaton import Breach
from .batches import read_batches
from .draft import Draft, pieces_of, rebuilt, with_id, with_key
from .parts import with_name
from .violation import Violation, quote

__all__ = ["rename_ids"]

_RULES: Final = frozenset({"A-ID-02", "B-ID-02", "M-ID-01", "O-ID-01", "R-ID-02"})
_ITEM: Final = "item"  # where a call is the whole message
_NAME_RULE: Final = "G-NAME-01"
_SERVER_RULE: Final = "A-ID-03"
_SERVER_PREFIX: Final = "srvtoolu_"
_KEPT_CHARS: Final = 31  # with a separator and the digits of the hash 40, which every provider takes
_HASH_CHARS: Final = 8
_SHORT: Final = {"mistral": 9}
"""How many letters and digits an id has to have, where it may be nothing else."""


def rename_ids(draft: Draft, errors: tuple[Violation, ...]) -> None:
    """Rename the calls that *errors* name for their ids."""
    duplicate = draft.profile.breaches.get(Breach.DUPLICATE, ("", None))[0]
    wanted: dict[int, dict[str, str]] = {}  # message -> position on the wire -> rule
    servers: dict[str, str] = {}
    for violation in errors:
        if violation.rule == _SERVER_RULE:
            servers.update(dict.fromkeys(violation.call_ids, violation.rule))
        elif violation.index is not None and (violation.rule in _RULES or violation.rule == duplicate):
            where = re.search(r"/((?:content|tool_calls)/[0-9]+)", violation.pointer)
            wanted.setdefault(violation.index, {})[_ITEM if where is None else where[1]] = violation.rule
    if wanted:
        _rename_calls(draft, wanted)
    nameless = {(one.index, _part_of(one)) for one in errors if one.rule == _NAME_RULE and one.index is not None}
    if nameless:
        _name_responses(draft, nameless)
    if servers:
        _rename_server_calls(draft, servers)


def _rename_calls(draft: Draft, wanted: dict[int, dict[str, str]]) -> None:
    batches, _found = read_batches(draft)
    calls = [one for batch in batches for one in batch.calls]
    used = _ids(message for message, _source in draft.slots)
    before: dict[str, int] = {}
    new: dict[tuple[int, int], str] = {}
    ordinals: dict[int, int] = {}
    for one in calls:
        old = one.call.id
        count = before[old] = before.get(old, -1) + 1
        ordinal = ordinals[one.at] = ordinals.get(one.at, -1) + 1
        message, source = draft.slots[one.at]
        places = wanted.get(one.at, {})
        rule = places.get(f"content/{one.place}") or places.get(f"tool_calls/{ordinal}") or places.get(_ITEM)
        if rule is None or draft.is_sealed(message):
            continue
        if one.answer is not None and draft.is_sealed(draft.slots[one.answer[0]][0]):
            continue
        short = _SHORT.get(draft.profile.dialect)
        name = _mint(old, count, used, "call") if short is None else _mint_short(old, count, used, short)
        new[one.at, one.place] = name
        if one.answer is not None:
            new[one.answer] = name
        draft.say("rename-id", rule, source, f"renamed the call {quote(old)} and its result to {quote(name)}", (old,))
    _apply(draft, new)


def _part_of(violation: Violation) -> int:
    """The position of the part that a finding is about."""
    steps = violation.pointer.split("/")
    place = steps[steps.index("parts") + 1]
    return int(place) if place.isdecimal() else 0


def _name_responses(draft: Draft, nameless: set[tuple[int, int]]) -> None:
    """Give these responses, (message, position), the names of their calls."""
    found = read_batches(draft)[1]
    for at, place in sorted(nameless):
        call = found.get((at, place))
        if call is None or isinstance(call, str) or not call.call.name:
            continue
        message, source = draft.slots[at]
        pieces = pieces_of(message)
        block, origin = pieces[place]
        if isinstance(block, Result):
            pieces[place] = with_name(block, call.call.name), origin
            draft.slots[at] = rebuilt(message, pieces), source
            words = f"called a response {quote(call.call.name)}, as its call is called"
            draft.say("rename-id", _NAME_RULE, source, words, (call.call.id,))


def _rename_server_calls(draft: Draft, servers: dict[str, str]) -> None:
    used = _ids(message for message, _source in draft.slots)
    new: dict[tuple[int, int], str] = {}
    names: dict[str, str] = {}
    for at, (message, source) in enumerate(draft.slots):
        if message.role != "model" or draft.is_sealed(message) or isinstance(message.content, str):
            continue
        for place, block in enumerate(message.content):
            if not isinstance(block, Call | Result) or block.is_client:
                continue
            old = block.id if isinstance(block, Call) else block.call_id
            if old in servers and isinstance(block, Call):
                names[old] = _mint(old, 0, used, "call", prefix=_SERVER_PREFIX)
                words = f"renamed the call {quote(old)} and its result to {quote(names[old])}"
                draft.say("rename-id", servers[old], source, words, (old,))
            if old in names:
                new[at, place] = names[old]
    _apply(draft, new)


def _ids(messages: Iterable[Message]) -> set[str]:
    blocks = (block for message in messages if not isinstance(message.content, str) for block in message.content)
    return {block.id if isinstance(block, Call) else block.call_id for block in blocks if isinstance(block, Call | Result)}


def _mint(old: str, count: int, used: set[str], empty: str, *, prefix: str = "") -> str:
    """A legal id for the call number *count* (from 0) with the id *old*; it is in *used* afterwards."""
    bare = old.removeprefix(prefix)
    kept = re.sub(r"[^a-zA-Z0-9_]" if prefix else r"[^a-zA-Z0-9_-]", "_", bare[: _KEPT_CHARS - len(prefix)]) or empty
    attempt = 0
    while True:
        seed = f"{old}\n{count}\n{attempt}".encode("utf-8", "surrogatepass")
        made = f"{prefix}{kept}_{hashlib.sha256(seed).hexdigest()[:_HASH_CHARS]}"
        if made not in used:
            used.add(made)
            return made
        attempt += 1


def _mint_short(old: str, count: int, used: set[str], chars: int) -> str:
    """The same where an id is so many letters and digits and nothing else: all of them are a hash."""
    attempt = 0
    while True:
        seed = f"{old}\n{count}\n{attempt}".encode("utf-8", "surrogatepass")
        made = hashlib.sha256(seed).hexdigest()[:chars]
        if made not in used:
            used.add(made)
            return made
        attempt += 1


def _apply(draft: Draft, new: dict[tuple[int, int], str]) -> None:
    """Write the new ids, (message, position) -> id."""
    by_message: dict[int, dict[int, str]] = {}
    for (at, place), name in new.items():
        by_message.setdefault(at, {})[place] = name
    for at, names in by_message.items():
        message, source = draft.slots[at]
        pieces = pieces_of(message)
        for place, name in names.items():
            block, origin = pieces[place]
            if isinstance(block, Call):
                pieces[place] = with_id(block, name), origin
            elif isinstance(block, Result):
                pieces[place] = evolve(block, call_id=name), origin
        made = rebuilt(message, pieces)
        if made.role == "tool" and made.wire.tag == "tool":  # where the id stands in the message, it may not have stood there
            made = evolve(made, wire=with_key(made.wire, "tool_call_id"))
        draft.slots[at] = made, source
