"""
Roles that have to take turns, made to.

What this is
    The pass of `repair` for the routes that refuse two messages of one side:
    chat templates (V-ALT-01, V-ALT-02) and deepseek-reasoner (D-ALT-01).

Rules it obeys
    * Law L4.  Behind pending calls nothing is touched: their results are still
      to come, and stand before all that is there now.
    * Law L5.  Sealed messages are not joined; a message is put between.
    * Law L8.  Joining loses no word: texts are joined by an empty line, and
      what is no text keeps its place as a part.
    * Linear time: messages are gathered first and joined once.

How it works
    Neighbours become one message.  Where they are no neighbours, because calls
    and results stand between, the model's words go into its next message with
    calls, and between two of the user's goes the shortest message there is.

What is not here
    Who has to take turns (`compatible`), and neighbours that the provider joins
    by itself (`repair`).
"""

from __future__ import annotations

from typing import Final

from ..model import Block, Call, Message, Origin, Reasoning, Text, Wire, wire
from ..turns import divide
from .draft import Draft, Slot, pieces_of, spoken
from .violation import Violation

__all__ = ["ALTERNATION", "BETWEEN", "BRIDGE", "alternate"]

ALTERNATION: Final = frozenset({"D-ALT-01", "V-ALT-01", "V-ALT-02"})
"""The rules that this pass mends."""

BRIDGE: Final = "."
"""What the model is made to say between two user messages that cannot be joined; clients do the same."""

BETWEEN: Final = "\n\n"
"""What stands between texts that become one."""


def alternate(draft: Draft, errors: tuple[Violation, ...], *, prompt: str) -> None:
    """
    Let the sides take turns, where *errors* say that they do not.

    Args:
        draft: the working copy.
        errors: what the provider refuses.
        prompt: what a user message says that is only there because one has to be.
    """
    named = {
        one.index: one.rule
        for one in errors
        if one.rule in ALTERNATION and one.index is not None and one.fix is not None  # a tool's message has no fix
    }
    if named and _has_pending(draft):
        live = max(at for at, (message, _source) in enumerate(draft.slots) if message.role == "model")
        named = {at: rule for at, rule in named.items() if at <= live}
    if named:
        draft.slots = _Turns(draft, named, prompt).write()


class _Turns:
    """Writes the messages anew, each as a group of those that become one."""

    def __init__(self, draft: Draft, named: dict[int, str], prompt: str) -> None:
        self._draft: Final = draft
        self._named: Final = named
        self._prompt: Final = prompt
        self._groups: list[list[Slot]] = []
        self._last = -1  # the group of the last message that counts

    def write(self) -> list[Slot]:
        """The messages, with the sides in turn."""
        apart = "V-ALT-02" in self._named.values()
        for at, slot in enumerate(self._draft.slots):
            message = slot[0]
            rule = self._named.get(at)
            if rule is None or not self._settle(slot, rule):
                self._groups.append([slot])
            counts = message.role == "user" or (message.role == "model" and not (apart and message.calls))
            if counts or rule is not None:
                self._last = len(self._groups) - 1
        return [_joined(group) if len(group) > 1 else group[0] for group in self._groups if group]

    def _settle(self, slot: Slot, rule: str) -> bool:
        """Mend what stands before a message whose turn it is not; tell whether it has become part of another."""
        groups, draft = self._groups, self._draft
        message, source = slot
        side = message.role
        after = self._last + 1
        if self._last >= 0 and after == len(groups) and self._may_join(groups[-1], [slot]):
            draft.say("merge-same-role", rule, source, "joined a message to the one before it, of the same side")
            groups[-1].append(slot)
            return True
        if self._last >= 0 and side == "model" and after < len(groups) and self._may_join(groups[self._last], groups[after]):
            # words before a message with calls: they become its words, and calls do not count
            said = groups[after][0][1]
            draft.say("merge-same-role", rule, said, "joined a message to the one before it, of the same side")
            groups[after] = groups[self._last] + groups[after]
            groups[self._last] = []
            return False
        if side == "model":
            draft.say("insert-bridge", rule, source, "put a user message before the model's, whose turn it was not")
            groups.append([(spoken(draft.profile.dialect, self._prompt), source)])
        else:
            draft.say("insert-bridge", rule, source, "put a message of the model between two of the user's")
            words = Message("model", BRIDGE, wire("assistant", ("role", "content"), "string"), Origin.ACK)
            groups.append([(words, source)])
        return False

    def _may_join(self, first: list[Slot], second: list[Slot]) -> bool:
        messages = [message for message, _source in (*first[-1:], *second)]
        if not first or len({message.role for message in messages}) > 1 or any(map(self._draft.is_sealed, messages)):
            return False
        return sum(any(_is_old(block) for block in message.blocks) for message in messages) < 2


def _is_old(block: Block) -> bool:
    """Whether it is a call of the old kind, of which a message can hold one."""
    return isinstance(block, Call) and block.wire.tag == "function_call"


def _has_pending(draft: Draft) -> bool:
    """Whether calls at the live end may still be answered."""
    if draft.mode == "request" or not any(message.calls for message, _source in draft.slots):
        return False
    return bool(divide(draft.conversation).pending)


def _joined(group: list[Slot]) -> Slot:
    """The one message that these of one side become: reasoning, words and parts, calls."""
    messages = [message for message, _source in group]
    first = messages[0]
    pieces = [piece for message in messages for piece in pieces_of(message)]
    thoughts = [block for block, _origin in pieces if isinstance(block, Reasoning)]
    calls = [piece for piece in pieces if isinstance(piece[0], Call)]
    said = [piece for piece in pieces if not isinstance(piece[0], Reasoning | Call)]
    is_plain = all(isinstance(block, Text) and not block.wire.rest for block, _origin in said)
    if is_plain:
        text = BETWEEN.join(block.text for block, _origin in said if isinstance(block, Text) and block.text)
        origins = {origin for _block, origin in said}
        spoken_by = next(iter(origins)) if len(origins) == 1 else Origin.HUMAN if first.role == "user" else None
        said = [(Text(text), spoken_by)] if said else []
    form = ("string" if said else first.wire.form) if is_plain else "list"
    kept = [*([(_one(thoughts), None)] if thoughts else []), *said, *calls]
    known = [origin for _block, origin in kept]
    stated = None if not any(known) else tuple(origin or Origin.HUMAN for origin in known)
    shape = _shape(messages, form)
    blocks = tuple(block for block, _origin in kept)
    if form == "string" and len(blocks) == 1 and isinstance(blocks[0], Text):
        return Message(first.role, blocks[0].text, shape, stated[0] if stated else None), group[0][1]
    return Message(first.role, blocks, shape, stated), group[0][1]


def _one(thoughts: list[Reasoning]) -> Reasoning:
    """The reasoning of a message, for which there is one key."""
    if len(thoughts) == 1:
        return thoughts[0]
    return Reasoning(BETWEEN.join(thought.text for thought in thoughts if thought.text), None, thoughts[0].wire)


def _shape(messages: list[Message], form: str) -> Wire:
    """The keys of all, the residue of whichever has it first."""
    keys = dict.fromkeys(key for message in messages for key in message.wire.keys)
    if form != "absent":
        keys.setdefault("content")
    tags = [block.wire.tag for message in messages for block in message.blocks if isinstance(block, Reasoning)]
    for other in {*tags} - {*tags[:1]}:  # they became one
        keys.pop(other, None)
    rest: dict[str, object] = {}
    for message in messages:
        for key, value in message.wire.rest:
            if key not in tags:  # null in one of them, and reasoning in another
                rest.setdefault(key, value)
    if any(message.calls for message in messages):  # null in one of them, and calls in another
        rest.pop("tool_calls", None)
    return Wire(messages[0].wire.tag, tuple(keys), tuple(rest.items()), form)
