"""
Which block of a changed conversation is which of the one it was made from.

What this is
    `descent` gives the blocks of a conversation after a repair, each with the
    block that it was before, and `is_same` tells whether two conversations say
    the same.

Rules it obeys
    * What a repair did not touch is the same object, so it is known and is not
      guessed.  Only what it made anew is looked for, by what an edit leaves
      alone: a call's id or its arguments, a result's id or its content, the seal
      of a thought or its words.
    * A block without an ancestor is new; an ancestor that no block descends
      from is gone.  A wrong guess would cost the bookkeeping of a line, never
      a word of the conversation.
    * Linear, but for the search of what moved (n log n).

What is not here
    Lines: `rewriting`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Final, TypeAlias

from attrs import define, frozen

from ..dialects import render_messages
from ..dialects.shapes import keep
from ..model import Block, Call, Conversation, Json, Media, Reasoning, Result, Text

__all__ = ["Ancestor", "Heir", "descent", "first_difference", "increasing", "is_same"]

_NONE: Final = -1
_Key: TypeAlias = Hashable


@frozen
class Ancestor:
    """A block of the conversation before: where it stood, and what it was."""

    message: int
    place: int
    block: Block


@define
class Heir:
    """
    A block of the conversation after.

    Attributes:
        message, place: where it stands.
        ancestor: the number of the block that it was, or -1 if it is new.
        has_moved: whether it stands elsewhere among the blocks that stayed.
    """

    message: int
    place: int
    block: Block
    ancestor: int = _NONE
    has_moved: bool = False

    @property
    def is_new(self) -> bool:
        return self.ancestor == _NONE


def descent(before: Conversation, after: Conversation) -> tuple[list[Ancestor], list[Heir]]:
    """
    The blocks of both, in order.

    >>> from attrs import evolve
    >>> from compactlib.dialects import parse
    >>> old = parse([{"role": "user", "content": [{"type": "text", "text": word} for word in "ab"]}], dialect="anthropic")
    >>> message = old.messages[0]
    >>> new = evolve(old, messages=(evolve(message, content=message.blocks[:0:-1]),))
    >>> [(heir.block.text, heir.ancestor) for heir in descent(old, new)[1]]
    [('b', 1)]
    """
    old = [Ancestor(at, place, block) for at, one in enumerate(before.messages) for place, block in enumerate(one.blocks)]
    new = [Heir(at, place, block) for at, one in enumerate(after.messages) for place, block in enumerate(one.blocks)]
    _recognise(before, after, old, new)
    free = _Free(old, new)
    for heir in new:
        if heir.is_new and isinstance(heir.block, Text):  # a message that is one string makes its block anew when asked
            heir.ancestor = free.take(("text", heir.block.text))
    for heir in new:
        if heir.is_new:
            heir.ancestor = next((found for key in _edit_keys(heir.block) if (found := free.take(key)) >= 0), _NONE)
    _placeholders(old, new, free)
    stayed = [heir for heir in new if not heir.is_new]
    in_order = set(increasing([heir.ancestor for heir in stayed]))
    for at, heir in enumerate(stayed):
        heir.has_moved = at not in in_order
    return old, new


def _recognise(before: Conversation, after: Conversation, old: Sequence[Ancestor], new: Sequence[Heir]) -> None:
    """What is the same object is the same block."""
    starts: dict[int, int] = {}
    objects: dict[int, int] = {}
    for at, ancestor in enumerate(old):
        message = before.messages[ancestor.message]
        starts.setdefault(id(message), at)
        if not isinstance(message.content, str):
            objects.setdefault(id(ancestor.block), at)
    for heir in new:
        message = after.messages[heir.message]
        start = starts.get(id(message))
        heir.ancestor = objects.get(id(heir.block), _NONE) if start is None else start + heir.place


class _Free:
    """The ancestors that nothing descends from yet, by what they may be known by."""

    def __init__(self, old: Sequence[Ancestor], new: Iterable[Heir]) -> None:
        taken = {heir.ancestor for heir in new}
        self.left = {at for at in range(len(old)) if at not in taken}
        self._by_key: defaultdict[_Key, deque[int]] = defaultdict(deque)
        for at in sorted(self.left):
            block = old[at].block
            for key in (("text", block.text),) if isinstance(block, Text) else _edit_keys(block, is_old=True):
                self._by_key[key].append(at)

    def take(self, key: _Key) -> int:
        """The first that is known by *key*, which is free no more; -1 if there is none."""
        waiting = self._by_key.get(key)
        while waiting:
            at = waiting.popleft()
            if at in self.left:
                self.left.discard(at)
                return at
        return _NONE


def _edit_keys(block: Block, *, is_old: bool = False) -> Iterator[_Key]:
    """What an edit leaves alone; the content of a result is only ever replaced where it says nothing, or holds parts."""
    if isinstance(block, Call):
        if isinstance(block.arguments, dict | list):  # others may be one object in many places
            yield "arguments", block.name, id(block.arguments)
        yield "call", block.name, block.id
    elif isinstance(block, Result):
        if block.content:
            yield "content", id(block.content)
        if not is_old or isinstance(block.content, tuple) or not block.text.strip():
            yield "result", block.call_id
    elif isinstance(block, Reasoning):  # to put it back gives its words to a seal, or its seal to words
        if block.seal:
            yield "seal", block.seal
        if block.text.strip():
            yield "thought", block.text


def _placeholders(old: Sequence[Ancestor], new: Sequence[Heir], free: _Free) -> None:
    """A new text where a picture or an empty text has gone stands for it."""
    at = 0
    for heir in new:
        if heir.is_new and isinstance(heir.block, Text):
            while at in free.left and not _is_void(old[at].block):  # it is gone
                at += 1
            if at in free.left:
                free.left.discard(at)
                heir.ancestor = at
        if not heir.is_new:
            at = heir.ancestor + 1


def _is_void(block: Block) -> bool:
    return isinstance(block, Media) or (isinstance(block, Text) and not block.text.strip())


def increasing(numbers: Sequence[int]) -> list[int]:
    """
    The positions of a longest run of *numbers* that only grows.

    Patience sorting: the end of the best run of each length, and from each
    number a link to the one before it in its run.

    >>> increasing([3, 0, 1, 4, 2])
    [1, 2, 4]
    """
    ends: list[int] = []
    tops: list[int] = []
    links: list[int] = []
    for at, number in enumerate(numbers):
        length = bisect_left(ends, number)
        ends[length : length + 1] = [number]
        links.append(tops[length - 1] if length else _NONE)
        tops[length : length + 1] = [at]
    run = []
    at = tops[-1] if tops else _NONE
    while at >= 0:
        run.append(at)
        at = links[at]
    return run[::-1]


# -- the same conversation ---------------------------------------------------------------------------------------------


def is_same(one: Conversation, other: Conversation) -> bool:
    """
    Whether both say the same words in the same order, and answer each call alike.

    How blocks are shared out among neighbouring messages of one side does not
    matter, nor do results count as words: where a result may stand follows
    from its call, and providers join what is said by one side in a row.  Blank
    texts say nothing: beside results they may stay, and alone they may not.
    """
    return _said(one) == _said(other)


def first_difference(one: Conversation, other: Conversation) -> tuple[int, int]:
    """Where in *one*, by message and block, something stands that *other* does not say there; its last block if none does."""
    words, results = _said(other)
    rest = {key: deque(found) for key, found in results.items()}
    count = 0
    at = (0, 0)
    for index, place, role, block in _blocks_of(one):
        at = index, place
        if block.get("type") == "tool_result":
            left = rest.get(block.get("tool_use_id"))
            if not left or left.popleft() != _answer(block):
                break
        elif _says_something(block):
            if words[count : count + 1] != [(role, block)]:
                break
            count += 1
    return at


def _said(conversation: Conversation) -> tuple[list[Json], dict[Json, list[Json]]]:
    words: list[Json] = []
    results: dict[Json, list[Json]] = {}
    for _index, _place, role, block in _blocks_of(conversation):
        if block.get("type") == "tool_result":
            results.setdefault(block.get("tool_use_id"), []).append(_answer(block))
        elif _says_something(block):
            words.append((role, block))
    return words, results


def _says_something(block: dict[str, Json]) -> bool:
    return block.get("type") != "text" or not isinstance(block.get("text"), str) or bool(block["text"].strip())


def _blocks_of(conversation: Conversation) -> Iterator[tuple[int, int, str, dict[str, Json]]]:
    """Each block as the wire has it, with its message, its place there and who says it."""
    for index, message in enumerate(render_messages(conversation, keep)):
        content = message["content"]
        for place, block in enumerate([{"type": "text", "text": content}] if isinstance(content, str) else content):
            yield index, place, message["role"], block


def _answer(block: dict[str, Json]) -> Json:
    """A result, however its words are spelled."""
    return {**block, "content": _plain(block.get("content"))}


def _plain(content: Json) -> Json:
    """A result's content; texts alone are one string, as a reader that joins them gives it."""
    if isinstance(content, list) and all(part.get("type") == "text" and len(part) == 2 for part in content):
        return "\n".join(part["text"] for part in content)
    return content
