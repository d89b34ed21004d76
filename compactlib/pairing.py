"""
Which calls are open, and where something may begin.

What this is
    The registers of `turns.divide`.  `Pairing` is told of calls and results in
    order; it pairs them, and knows the places where a step or a turn may begin.

Rules it obeys
    * Calls and results pair by position: a result answers the nearest earlier
      unanswered call with its id, and no call that a person has since talked
      past (Responses alone lets results come at any distance).  The same id in
      another turn never matters.  Where ids are optional (Gemini), a result
      answers a call of the model's turn right before it or none, and one whose
      name fits no call answers the first open one there.
    * Law L2.  What a call and its result hold together nothing may divide.

How it works
    *Calls.*  One open call for each id in `open`; only ids that several open
    calls share have lists, in `crowded`.

    *Places.*  A message *opens* if a step or a turn may begin with it.  When a
    result comes, nothing may begin behind its call, up to and including the
    result's own message.  Messages come in order, so what that takes away
    stands at the end of the list: each place is added once and taken away at
    most once, and the whole is linear.

What is not here
    What a message is (`turns`), and what a provider makes of it (`protocol`,
    which pairs calls by itself and shares no code with this module).
"""

from __future__ import annotations

from collections import deque

from .model import CLIENT_CALLS, CLIENT_RESULTS, Block, Call, Result

__all__ = ["Pairing", "PairingByPlace"]


class Pairing:
    """
    The calls of a conversation as far as it has been read.

    Attributes:
        open: id -> (message, ordinal among its client calls), while only one call with the id is open.
        crowded: the same for ids that several open calls share, by message.
        openers: the messages with which something may begin.
        enclosed: those with which nothing may begin any more.
        given_up: the calls that a person talked past before the model went on.
        passed: whether a person has spoken while calls were open.
    """

    __slots__ = ("_server", "crowded", "enclosed", "given_up", "open", "openers", "passed")

    def __init__(self) -> None:
        self.open: dict[str, tuple[int, int]] = {}
        self.crowded: dict[str, list[tuple[int, deque[int]]]] = {}
        self.openers: list[int] = []
        self.enclosed: list[int] = []
        self.given_up: list[tuple[int, int]] = []
        self.passed = False
        self._server: dict[str, int] = {}

    @property
    def is_open(self) -> bool:
        """Whether any call is open."""
        return bool(self.open or self.crowded)

    def calls(self, position: int, content: tuple[Block, ...]) -> None:
        """A model message: note its calls."""
        ordinal = 0
        for block in content:
            if not isinstance(block, Call):
                continue
            call_id, wire = block.id, block.wire
            if wire.tag not in CLIENT_CALLS:
                self._server[call_id] = position
                continue
            if call_id in self.open or self.crowded:
                self._call_again(call_id, position, ordinal)
            else:
                self.open[call_id] = (position, ordinal)
            ordinal += 1
            if wire.rest:
                caller = wire.get("caller")  # a program run by the provider made this call
                start = self._server.get(caller.get("tool_id", "")) if isinstance(caller, dict) else None
                if start is not None and start != position:
                    self.enclose(start)

    def results(self, content: tuple[Block, ...]) -> int:
        """A user-role or tool message: close what it answers; how many of its blocks are results."""
        count = 0
        openers = self.openers
        for block in content:
            if not isinstance(block, Result) or block.wire.tag not in CLIENT_RESULTS:
                continue
            count += 1
            opened = self.open.pop(block.call_id, None)
            if opened is None:
                self._answer_other(block.call_id)
            elif openers and openers[-1] > opened[0]:
                self.enclose(opened[0])
        return count

    def enclose(self, start: int) -> None:
        """Nothing may begin behind *start*, as far as has been read."""
        while self.openers and self.openers[-1] > start:
            self.enclosed.append(self.openers.pop())

    def give_up(self) -> None:
        """A person spoke and the model went on: what is open stays unanswered."""
        self.given_up += self.unanswered()
        self.open.clear()
        self.crowded.clear()
        self.passed = False

    def unanswered(self) -> list[tuple[int, int]]:
        """The open calls as (message, ordinal)."""
        crowded = [(start, one) for groups in self.crowded.values() for start, ordinals in groups for one in ordinals]
        return [*self.open.values(), *crowded]

    def _call_again(self, call_id: str, position: int, ordinal: int) -> None:
        """A call, while ids are crowded or its own is in use."""
        if call_id not in self.open and call_id not in self.crowded:
            self.open[call_id] = (position, ordinal)
            return
        groups = self.crowded.setdefault(call_id, [])
        if call_id in self.open:
            start, first = self.open.pop(call_id)
            groups.append((start, deque((first,))))
        if groups[-1][0] == position:
            groups[-1][1].append(ordinal)
        else:
            groups.append((position, deque((ordinal,))))

    def _answer_other(self, call_id: str) -> None:
        """A result with an id that is not in `open`: of crowded calls it answers the first of the nearest message."""
        groups = self.crowded.get(call_id)
        if groups is None:
            return
        start, ordinals = groups[-1]
        ordinals.popleft()
        if not ordinals:
            groups.pop()
            if not groups:
                del self.crowded[call_id]
        self.enclose(start)


class PairingByPlace(Pairing):
    """The same where a call need not have an id, nor a result the name of its call."""

    __slots__ = ("_last", "_latest")

    def __init__(self) -> None:
        super().__init__()
        self._latest: deque[str] = deque()  # what the model called last, in order
        self._last = -1

    def calls(self, position: int, content: tuple[Block, ...]) -> None:
        """A model message: note its calls, and their order."""
        if position != self._last + 1:
            self._latest.clear()
            if self.is_open:
                self.give_up()
        super().calls(position, content)
        self._latest.extend(block.id for block in content if isinstance(block, Call) and block.is_client)
        self._last = position

    def _answer_other(self, call_id: str) -> None:
        """The same, and the id of no open call means the first open one of the latest."""
        if call_id in self.crowded:
            super()._answer_other(call_id)
            return
        while self._latest:
            key = self._latest.popleft()
            if key in self.open:
                self.enclose(self.open.pop(key)[0])
                return
            if key in self.crowded:
                super()._answer_other(key)
                return
