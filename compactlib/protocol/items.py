"""
Items of the Responses API, brought in order.

What this is
    The passes of `repair` for a dialect whose messages are items: calls and
    their outputs (`answer_items`), and what an item says of itself
    (`mend_items`).

Rules it obeys
    * Only what the validator named is touched.  Outputs stay where they stand,
      for they may stand anywhere.  Where a route wants them behind their calls
      they are led there, and the calls of a response are put last in it.
    * Law L4.  A pending call is not named, and so not answered.
    * Law L5.  Sealed reasoning of the current turn is never edited.  It goes
      only where nothing of its response follows: then the whole step goes.
    * Never a success is invented.  What cannot be written without one, a
      screenshot, is not written.

How it works
    The calls of a run stand together, and behind them the outputs that are
    there.  What is made stands behind those.  The table `_MADE` says how an
    unknown outcome is written for each kind of call.

What is not here
    Renaming calls (`renaming`).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from attrs import evolve

from ..model import Call, Json, Message, Opaque, Origin, Reasoning, Result, Text, Wire, wire
from .automaton import Breach
from .draft import Draft, Slot, with_key, without_key
from .violation import Violation, quote, quote_all

__all__ = ["answer_items", "mend_items"]

_ITEM: Final = "item"
_UNPARSED: Final = "unparsed_arguments"

_Maker: TypeAlias = Callable[[str, str], Result]


def _plain(kind: str) -> _Maker:
    """The maker of an output that is one string."""
    shape = wire(kind, ("type", "call_id", "output"))
    return lambda key, text: Result(key, text, shape)


def _patch(key: str, text: str) -> Result:
    shape = Wire("apply_patch_call_output", ("type", "call_id", "status", "output"), (("status", "failed"),))
    return Result(key, text, shape)


def _shell(key: str, text: str) -> Result:
    said = [{"stdout": "", "stderr": text, "outcome": {"type": "timeout"}}]
    spelled = Text(json.dumps(said, ensure_ascii=False, separators=(",", ":")), Wire("json", (), (("json", said),)))
    return Result(key, (spelled,), wire("shell_call_output", ("type", "call_id", "output"), "value"))


def _search(key: str, text: str) -> Result:
    del text  # it has room for tools alone
    keys = ("type", "call_id", "execution", "status", "tools")
    shape = Wire("tool_search_output", keys, (("execution", "client"), ("status", "incomplete")), "value")
    return Result(key, (Opaque("tools", []),), shape)


_MADE: Final[Mapping[str, _Maker]] = {
    "function_call": _plain("function_call_output"),
    "custom_tool_call": _plain("custom_tool_call_output"),
    "local_shell_call": _plain("local_shell_call_output"),
    "apply_patch_call": _patch,
    "shell_call": _shell,
    "tool_search_call": _search,
}
"""How an output says that nothing is known, by the kind of its call."""


# -- calls and outputs -------------------------------------------------------------------------------------------------


def answer_items(draft: Draft, errors: tuple[Violation, ...], *, unknown: str) -> None:
    """Drop outputs that answer nothing, answer calls that dangle with *unknown*, lead outputs to their calls if need be."""
    named: dict[str, set[int]] = {}
    for one in errors:
        if one.index is not None:
            named.setdefault(one.rule, set()).add(one.index)
    opened, stray, repeat, apart = (
        named.get(draft.profile.breaches[breach][0], set())
        for breach in (Breach.OPEN, Breach.STRAY, Breach.REPEAT, Breach.BETWEEN)
    )
    if apart and _calls_last(draft):
        return  # the places that the errors name are not the same any more
    gone = _echoes(draft, repeat)
    gone |= {at for at in stray | repeat if draft.slots[at][0].role == "tool"}
    if gone:
        _leave_out(draft, gone, stray)  # which can make one response of two
    elif opened or apart:
        _write(draft, opened, _moves(draft) if apart else {}, unknown)


def _calls_last(draft: Draft) -> bool:
    """Let the calls of each response stand behind all else of it; tell whether one did not."""
    out: list[Slot] = []
    response: list[Slot] = []
    for slot in (*draft.slots, None):
        if slot is not None and slot[0].role == "model":
            response.append(slot)
            continue
        ordered = sorted(response, key=lambda one: _call(one[0]) is not None)
        if any(new is not old for new, old in zip(ordered, response, strict=True)):
            words = "moved what stood behind the calls of its response in front of them"
            ids = (call.id for message, _source in response for call in message.calls)
            draft.say("move-words", draft.profile.breaches[Breach.ORDER][0], response[0][1], words, ids)
        out += ordered if slot is None else [*ordered, slot]
        response = []
    changed = any(new is not old for new, old in zip(out, draft.slots, strict=True))
    draft.slots = out
    return changed


def _leave_out(draft: Draft, gone: set[int], stray: set[int]) -> None:
    """Drop outputs and echoes."""
    rules = draft.profile.breaches
    for at in sorted(gone):
        message, source = draft.slots[at]
        call = _call(message)
        ids = (call.id,) if call is not None else tuple(result.call_id for result in message.results)
        if call is not None:
            draft.say("drop-orphan", rules[Breach.DUPLICATE][0], source, f"dropped an echo of {quote_all(ids)}", ids)
        elif at in stray:
            words = f"dropped an output for {quote_all(ids)}, which answers no call"
            draft.say("drop-orphan", rules[Breach.STRAY][0], source, words, ids)
        else:
            words = f"dropped an output for {quote_all(ids)}, which is not the first"
            draft.say("dedup-result", rules[Breach.REPEAT][0], source, words, ids)
    draft.slots = [slot for at, slot in enumerate(draft.slots) if at not in gone]


def _write(draft: Draft, opened: set[int], moves: dict[int, int], unknown: str) -> None:
    """Write the items anew: *moves* leads from an output to the last call of the run that it goes behind."""
    late: dict[int, list[int]] = {}
    for at, run in moves.items():
        late.setdefault(run, []).append(at)
    out: list[Slot] = []
    missing: list[int] = []
    last = -1  # the last call of the run that is being read
    answered = False  # whether outputs stand behind it
    for at, slot in enumerate(draft.slots):
        call = _call(slot[0])
        is_output = slot[0].role == "tool"
        if last >= 0 and (answered or call is None) and not is_output:  # the run is over, and its outputs
            out += _behind(draft, missing, late.get(last, []), unknown)
            missing, last = [], -1
        answered = is_output
        if call is not None:
            last = at
            missing += [at] if at in opened else []
        if at not in moves:
            out.append(slot)
    draft.slots = out + _behind(draft, missing, late.get(last, []), unknown)


def _call(message: Message) -> Call | None:
    """The call that an item is, if the client runs it."""
    calls = message.calls
    return calls[0] if calls else None


def _echoes(draft: Draft, named: set[int]) -> set[int]:
    """The named calls without output that repeat another of their response, id, arguments and all: they never ran."""
    found: set[int] = set()
    if not named:
        return found
    messages = [message for message, _source in draft.slots]
    lacking = Counter(call.id for message in messages for call in message.calls)
    lacking.subtract(result.call_id for message in messages for result in message.results)
    said: dict[str, tuple[str, Json]] = {}
    for at, message in enumerate(messages):
        call = _call(message)
        if message.role != "model":
            said = {}
        elif call is not None:
            if at in named and lacking[call.id] > 0 and said.get(call.id) == (call.name, call.arguments):
                lacking[call.id] -= 1
                found.add(at)
            said.setdefault(call.id, (call.name, call.arguments))
    return found


def _moves(draft: Draft) -> dict[int, int]:
    """The outputs that do not stand directly behind the run of their call, and the last call of that run."""
    opened: dict[str, list[int]] = {}  # id -> the runs of the open calls with it
    ends: list[int] = []  # the last call of each run
    found: dict[int, int] = {}
    speaks = behind = False  # whether a run is being read, or the outputs behind it
    for at, (message, _source) in enumerate(draft.slots):
        call = _call(message)
        if call is not None:
            ends[len(ends) - speaks :] = [at]
            opened.setdefault(call.id, []).append(len(ends) - 1)
            speaks = behind = True
            continue
        speaks = False
        if message.role != "tool":
            behind = False
            continue
        for result in message.results:
            runs = opened.get(result.call_id)
            run = runs.pop() if runs else -1
            if run >= 0 and not (behind and run == len(ends) - 1):
                found[at] = run
    return {at: ends[run] for at, run in found.items()}


def _behind(draft: Draft, missing: list[int], late: list[int], unknown: str) -> list[Slot]:
    """The outputs that come behind a run: those that were led to it, and those that say that nothing is known."""
    rules = draft.profile.breaches
    out: list[Slot] = [draft.slots[at] for at in late]
    if out:
        ids = tuple(result.call_id for message, _source in out for result in message.results)
        words = f"led the outputs of {quote_all(ids)} to their calls"
        draft.say("hoist-results", rules[Breach.BETWEEN][0], draft.slots[late[0]][1], words, ids)
    for at in missing:
        message, source = draft.slots[at]
        call = message.calls[0]
        make = _MADE.get(call.wire.tag)
        if make is not None:
            result = make(call.id, unknown)
            words = f"answered {quote(call.id)}: the outcome is unknown"
            draft.say("synthesize-result", rules[Breach.OPEN][0], source, words, (call.id,))
            out.append((Message("tool", (result,), wire(result.wire.tag, (), _ITEM), Origin.TOOL), source))
    return out


# -- what an item says of itself ---------------------------------------------------------------------------------------


def mend_items(draft: Draft, errors: tuple[Violation, ...]) -> None:
    """Mend the items that *errors* name, one fault of each at a time."""
    named: dict[int, Violation] = {}
    for one in errors:
        if one.index is not None and one.rule in _MENDERS:
            named.setdefault(one.index, one)
    gone = set()
    for at, one in named.items():
        name, words, mend = _MENDERS[one.rule]
        message, source = draft.slots[at]
        if draft.is_sealed(message) and not (mend is _drop and _ends_response(draft, at)):
            continue
        made = mend(message)
        if made is message:
            continue
        draft.say(name, one.rule, source, words, one.call_ids)
        if made is None:
            gone.add(at)
        else:
            draft.slots[at] = made, source
    if gone:
        draft.slots = [slot for at, slot in enumerate(draft.slots) if at not in gone]


def _ends_response(draft: Draft, at: int) -> bool:
    """Whether nothing of its response stands behind an item; outputs may stand between."""
    for place in range(at + 1, len(draft.slots)):
        role = draft.slots[place][0].role
        if role != "tool":
            return role != "model"
    return True


def _drop(message: Message) -> Message | None:
    del message
    return None


def _drop_empty(message: Message) -> Message | None:
    return message if message.content else None


def _without_id(message: Message) -> Message:
    """The item without its own id, where that may be left out."""
    block = message.content[0] if message.content and message.wire.form == _ITEM else None
    if block is None or isinstance(block, str):
        shape = without_key(message.wire, "id")
        return evolve(message, wire=shape) if shape != message.wire else message
    if isinstance(block, Opaque):
        if block.kind == "item_reference" or not isinstance(block.value, dict):
            return message
        return evolve(message, content=(Opaque(block.kind, {key: value for key, value in block.value.items() if key != "id"}),))
    if isinstance(block, Call | Result | Reasoning):
        shape = without_key(block.wire, "id")
        is_named = block.wire.get("id") is None or (isinstance(block, Reasoning) and block.seal is None)
        return message if is_named else evolve(message, content=(evolve(block, wire=shape), *message.content[1:]))
    return message


def _arguments(message: Message) -> Message:
    """Arguments as their kind of call has them: the text of an object, or for a search the object."""
    call = _call(message)
    if call is None:
        return message
    value = call.arguments
    if call.wire.tag == "tool_search_call":
        made: Json = value if isinstance(value, dict) else {_UNPARSED: value}
        try:
            read = json.loads(value) if isinstance(value, str) else value
        except (ValueError, RecursionError):
            read = None
        made = read if isinstance(read, dict) else made
    else:
        try:
            made = json.dumps(value if isinstance(value, dict) else {} if value is None else {_UNPARSED: value})
        except (TypeError, ValueError, RecursionError):  # made by hand, of what is no JSON
            return message
    return evolve(message, content=(evolve(call, arguments=made, wire=with_key(call.wire, "arguments")),))


# rule -> (name of the fix, what was done, how)
_MENDERS: Final[Mapping[str, tuple[str, str, Callable[[Message], Message | None]]]] = {
    "R-ARGS-01": ("wrap-arguments", "wrote arguments as their kind of call wants them", _arguments),
    "R-CONTENT-01": ("drop-empty", "dropped a message without content", _drop_empty),
    "R-DUP-01": ("strip-id", "removed an id that another item has too", _without_id),
    "R-ID-01": ("strip-id", "removed an id that no item of its type can have", _without_id),
    "R-REAS-02": ("strip-id", "removed the id of an item whose reasoning is not there", _without_id),
    "R-REAS-01": ("drop-orphan", "dropped reasoning without what it led to", _drop),
    "R-STORE-01": ("drop-orphan", "dropped what is named by its id alone and was not stored", _drop),
}
