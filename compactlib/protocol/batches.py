"""
Calls and their results as they stand: who answers whom.

What this is
    The reading half of the repair of pairs.  The messages are divided into
    *batches*, model messages and all that stands up to the next, and each
    result is led to the call that it answers.

Rules it obeys
    * Law L2.  Calls and results pair by position: a result answers the first
      open call with its id in the nearest batch before it.
    * Linear time, also where ten thousand calls share one id.

How it works
    Model messages that the provider would join are one batch, unless the later
    goes on with words while the earlier has called: then they are two, so that
    the results can go between and no message needs an edit.

What is not here
    What is done about it: `answering`.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from ..model import Block, Call, Message, Result, Wire
from .automaton import Neighbours
from .draft import Draft
from .parts import response_name

__all__ = ["Batch", "OpenCall", "is_words", "read_batches"]


class OpenCall:
    """
    A client call, and where its result is.

    Attributes:
        batch: the number of its batch.
        at, place: its message, and its position among the blocks there.
        answer: (message, position) of its result; ``None`` while it has none.
    """

    __slots__ = ("answer", "at", "batch", "call", "place")

    def __init__(self, batch: int, at: int, place: int, call: Call) -> None:
        self.batch: Final = batch
        self.at: Final = at
        self.place: Final = place
        self.call: Final = call
        self.answer: tuple[int, int] | None = None


class Batch:
    """
    Model messages, their calls, and all messages up to the next batch; the very first may have no model message.

    Attributes:
        models, rest: indices of messages.
        calls: in order.
    """

    __slots__ = ("calls", "models", "rest")

    def __init__(self) -> None:
        self.models: list[int] = []
        self.calls: list[OpenCall] = []
        self.rest: list[int] = []


class _Open:
    """The open calls by id, those of the nearest batch last, and for results without an id the batch's own in order."""

    def __init__(self) -> None:
        self.by_id: dict[str, list[deque[OpenCall]]] = {}
        self.answered: set[str] = set()  # ids answered in the batch being read
        self._queue: deque[OpenCall] = deque()
        self._by_name: dict[str, deque[OpenCall]] | None = None  # the batch's calls; made when it is asked for

    def add(self, calls: list[OpenCall]) -> None:
        """A batch's calls, at once."""
        self.answered.clear()
        self._queue = deque(calls)
        self._by_name = None
        groups: dict[str, deque[OpenCall]] = {}
        for one in calls:
            groups.setdefault(one.call.id, deque()).append(one)
        for key, group in groups.items():
            self.by_id.setdefault(key, []).append(group)

    def take(self, key: str, *, batch: int | None = None) -> OpenCall | None:
        """The call that a result with this id answers; if *batch* is given, only one of that batch."""
        groups = self.by_id.get(key)
        if not groups or (batch is not None and groups[-1][0].batch != batch):
            return None
        found = groups[-1].popleft()
        if not groups[-1]:
            groups.pop()
        self.answered.add(key)
        return found

    def meant(self, key: str, name: str, *, batch: int) -> str:
        """
        The id of the open call that a result means where results are counted.

        It is the one with this id, else the oldest of this name, else the
        oldest; *key* itself where none of the batch is open.
        """
        groups = self.by_id.get(key)
        if groups and groups[-1][0].batch == batch:
            return key
        if self._by_name is None:
            self._by_name = {}
            for one in self._queue:
                self._by_name.setdefault(one.call.name, deque()).append(one)
        same = self._by_name.get(name, ())
        while same and same[0].answer is not None:
            same.popleft()
        oldest = same[0].call.id if same else self.oldest()
        return key if oldest is None else oldest

    def oldest(self) -> str | None:
        """The id of the batch's oldest open call."""
        while self._queue and self._queue[0].answer is not None:
            self._queue.popleft()
        return self._queue[0].call.id if self._queue else None


def read_batches(draft: Draft) -> tuple[list[Batch], dict[tuple[int, int], OpenCall | str]]:
    """The batches, and for each result, by (message, position), the call it answers, or the fix that is due: its dropping."""
    batches = _divide(draft)
    counts = draft.profile.neighbours is Neighbours.COUNTED
    found: dict[tuple[int, int], OpenCall | str] = {}
    opened = _Open()
    for number, batch in enumerate(batches):
        opened.add(batch.calls)
        for at in (*batch.models, *batch.rest):
            message = draft.slots[at][0]
            if isinstance(message.content, str):
                continue
            for place, block in enumerate(message.content):
                if not isinstance(block, Result) or not block.is_client or message.role in ("system", "developer", "other"):
                    continue
                key = block.call_id
                if not counts and _names_no_call(message, block):
                    oldest = opened.oldest()
                    key = key if oldest is None else oldest
                repeats = key in opened.answered
                is_misplaced = message.role == "model"  # it answers, and stays where it is
                if counts and not is_misplaced:
                    key = opened.meant(key, response_name(block), batch=number)
                    repeats = bool(batch.calls)
                call = opened.take(key, batch=number if is_misplaced else None)
                if call is not None:
                    call.answer = at, place
                if not is_misplaced:
                    found[at, place] = call if call is not None else "dedup-result" if repeats else "drop-orphan"
    return batches, found


def _divide(draft: Draft) -> list[Batch]:
    joins = draft.profile.neighbours is not Neighbours.SEPARATE
    counts = draft.profile.neighbours is Neighbours.COUNTED
    batches = [Batch()]
    for at, (message, _source) in enumerate(draft.slots):
        batch = batches[-1]
        if message.role != "model":
            batch.rest.append(at)
            continue
        goes_on = bool(batch.calls) and not counts and any(map(is_words, message.blocks))
        is_new = not joins or bool(batch.rest) or goes_on
        if is_new and (batch.models or batch.rest):
            batch = Batch()
            batches.append(batch)
        batch.models.append(at)
        number = len(batches) - 1
        for place, block in enumerate(message.blocks):
            if isinstance(block, Call) and block.is_client:
                batch.calls.append(OpenCall(number, at, place, block))
    return batches


def is_words(block: Block) -> bool:
    """Whether it is anything but a client's call or its result."""
    return not (isinstance(block, Call | Result) and block.is_client)


def _names_no_call(message: Message, block: Result) -> bool:
    """Whether a tool message leaves out which call it answers."""
    return message.role == "tool" and (message.wire.tag == "function" or (not block.call_id and not _has_id(message.wire)))


def _has_id(shape: Wire) -> bool:
    return "tool_call_id" in shape.keys and shape.get("tool_call_id", "") is not None
