"""
Where new and moved lines stand in the log of a changed conversation.

What this is
    `arrivals` puts lines into the tree of a session, and says which line of the
    file each of them follows.

Rules it obeys
    * Law L2.  A result stands behind the reply that called it and the results
      that are there already, before anything that was said next.
    * Other blocks stand behind what was said before them.
    * Each result is a line; new words that neighbour in a message are one.

How it works
    The lines of a reply and of its results are a *step*.  What comes is put
    behind the last of its step, and is then the last itself.

What is not here
    The tree (`relinking`), and what is written on the lines (`rewriting`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeAlias

from attrs import Factory, define, frozen

from ..errors import WireError
from ..model import Call, Conversation, Result
from .lineage import Ancestor, Heir
from .relinking import Node, Tree

__all__ = ["Arrival", "Change", "Mint", "arrivals", "called_by"]

Mint: TypeAlias = "Callable[[int, tuple[Heir, ...]], Node]"
"""From the line whose facts hold for a new one too, and what that is to hold, to its node."""


@frozen
class Change:
    """
    What became of a conversation that was read from lines.

    Attributes:
        old, new: its blocks, before and after.
        lines: the line of each old block.
        moves: for each new block whether its line is another one now.
        after: the new conversation.
    """

    old: Sequence[Ancestor]
    new: Sequence[Heir]
    lines: Sequence[int]
    moves: Sequence[bool]
    after: Conversation

    def line_of(self, heir: Heir) -> int:
        """The line of a block that is not new."""
        return self.lines[heir.ancestor]

    def is_reply(self, heir: Heir) -> bool:
        """Whether the model says it."""
        return self.after.messages[heir.message].role == "model"


@frozen
class Arrival:
    """
    A line that stands where none stood.

    Attributes:
        behind: the line of the file that it follows, 0 for none; of several that follow one the first is given first.
        node: its place in the tree.
        heirs: what it holds; one that is not new has moved with its line.
        call: the call that it answers, if it is a result.
        beside: the line whose facts hold for it too.
    """

    behind: int
    node: Node
    heirs: tuple[Heir, ...]
    call: Heir | None
    beside: int


def called_by(change: Change) -> dict[int, Heir]:
    """For each result, by its place in the order, its call: the last open one of its name that is not new itself."""
    open_: dict[str, Heir] = {}
    found: dict[int, Heir] = {}
    for at, heir in enumerate(change.new):
        block = heir.block
        if change.is_reply(heir):
            if isinstance(block, Call) and block.is_client and not heir.is_new:
                open_[block.id] = heir
        elif isinstance(block, Result) and block.is_client and (call := open_.pop(block.call_id, None)) is not None:
            found[at] = call
    return found


def arrivals(tree: Tree, change: Change, mint: Mint) -> Iterator[Arrival]:
    """
    Put into *tree* what comes.

    Args:
        tree: without the lines that went, and those that move.
        mint: makes the node of a new line.

    Raises:
        WireError: there is no line to stand by.
    """
    return _Placer(tree, change, mint).place()


@define(eq=False)
class _Step:
    """
    Lines that belong together.

    Attributes:
        nodes: the lines.
        last: the last of them in the file; one that came is behind the line it follows.
        stop: the place of the last block that stood there already, in the order of the new conversation.
        before: the line that has to follow what comes next, once something has come.
    """

    nodes: set[Node] = Factory(set)
    last: Node | None = None
    stop: int = -1
    before: Node | None = None

    def add(self, node: Node) -> None:
        self.nodes.add(node)
        if self.last is None or node.line >= self.last.line:
            self.last = node


class _Placer:
    """Puts the lines of one file in."""

    def __init__(self, tree: Tree, change: Change, mint: Mint) -> None:
        self.tree: Final = tree
        self.change: Final = change
        self.mint: Final = mint
        self.stands: Final = [
            None if heir.is_new or moves else tree.nodes[change.line_of(heir)]
            for heir, moves in zip(change.new, change.moves, strict=True)
        ]
        self.steps: Final[defaultdict[int, _Step]] = defaultdict(_Step)  # by the message that the reply was
        self.calls: Final = self._pairs()
        self.ahead: Final = self._ahead()

    def _pairs(self) -> dict[int, tuple[Heir, _Step]]:
        """For each result, by its place in the order, its call and the step of both; the steps hold what stands already."""
        found: dict[int, tuple[Heir, _Step]] = {}
        called = called_by(self.change)
        for at, (heir, node) in enumerate(zip(self.change.new, self.stands, strict=True)):
            step = None
            if self.change.is_reply(heir):
                step = None if heir.is_new else self.steps[self.change.old[heir.ancestor].message]
            elif (call := called.get(at)) is not None:
                step = self.steps[self.change.old[call.ancestor].message]
                found[at] = call, step
            if step is not None and node is not None:
                step.add(node)
                step.stop = at
        return found

    def _ahead(self) -> list[Node | None]:
        """For each place in the order the first line, at it or behind it, that stands where it stood."""
        ahead: list[Node | None] = [None] * (len(self.stands) + 1)
        for at in range(len(self.stands) - 1, -1, -1):
            ahead[at] = self.stands[at] or ahead[at + 1]
        return ahead

    def place(self) -> Iterator[Arrival]:
        change = self.change
        near = _Step()  # what words that come now stand behind: the last words, or the last reply with its results
        words: list[Heir] = []
        for at, heir in enumerate(change.new):
            node = self.stands[at]
            if node is not None:
                if change.is_reply(heir):
                    near = self.steps[change.old[heir.ancestor].message]
                elif at not in self.calls:
                    near = _Step({node}, node)
            elif at in self.calls:
                call, step = self.calls[at]
                yield self._put((heir,), step, step.before or self.ahead[step.stop + 1], call)
            elif change.moves[at] or not change.is_reply(heir):
                words.append(heir)
                if change.moves[at] or not self._goes_on(at):
                    made = self._put(tuple(words), near, self.ahead[at + 1], None)
                    near = _Step({made.node}, made.node)
                    words = []
                    yield made

    def _goes_on(self, at: int) -> bool:
        """Whether the words at this place are on one line with those at the next."""
        after = at + 1
        if after == len(self.stands) or after in self.calls or self.change.moves[after]:
            return False
        one, other = self.change.new[at], self.change.new[after]
        return other.is_new and one.message == other.message

    def _put(self, heirs: tuple[Heir, ...], step: _Step, before: Node | None, call: Heir | None) -> Arrival:
        first = heirs[0]
        if step.last is not None:
            behind = beside = step.last.line
        elif before is not None:  # it comes first of all
            behind, beside = before.line - 1, before.line
        else:
            raise WireError("$", "nothing was said in it that a new line could stand by")
        if call is not None:
            beside = self.change.line_of(call)
        node = self.mint(beside, heirs) if first.is_new else self.tree.nodes[self.change.line_of(first)]
        step.before = self.tree.put(node, behind=step.last, group=step.nodes, before=before)
        step.add(node)
        return Arrival(behind, node, heirs, call, beside)
