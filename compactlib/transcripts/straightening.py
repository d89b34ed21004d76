"""
The living branch of a log as one straight chain.

What this is
    `straighten` gives the lines of a changed conversation their places and
    links without asking how the file said so far what follows what.  It is for
    logs in which that cannot be said by a few links (`placing`): parents that
    form a circle, replies whose lines stand in any order, a dead branch that
    would be read once the last line of the living one is gone.

Rules it obeys
    * Each line hangs from the one that was said before it, directly or over
      lines that are links and nothing else; a link that says so already stays.
    * In the file the lines stand in the order in which they were said.  The
      most that can stay where they are do; each other one goes behind the line
      it follows.
    * Readers begin at the last line of all.  Where that is one of another
      branch, `Straight.hidden` says so.
    * A line that a compaction made is read before its place, and stays there.
    * Law L2.  A made-up result is a line behind its reply and the results that
      are there, since the changed conversation has it there.

What is not here
    The tree (`relinking`), and what is written on the lines (`rewriting`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from itertools import groupby
from typing import Final

from attrs import frozen

from .lineage import Heir, increasing
from .placing import Arrival, Change, Mint, called_by
from .relinking import Node, Tree

__all__ = ["Piece", "Straight", "straighten"]


@frozen
class Piece:
    """
    A line of the branch.

    Attributes:
        node: its place in the tree.
        heirs: what it holds.
        call: the call that it answers, if it is a result.
        beside: the line that it is; of a new one that whose facts hold for it too.
    """

    node: Node
    heirs: tuple[Heir, ...]
    call: Heir | None
    beside: int


@frozen
class Straight:
    """
    Where the lines of the branch stand.

    Attributes:
        arrivals: those that come or stand elsewhere now; each other line stays where it is.
        hidden: the last line of the branch, if one of another branch stands last in the file.
        end: which line that is.
    """

    arrivals: list[Arrival]
    hidden: Piece | None = None
    end: int = 0

    def with_leaf_last(self) -> list[Arrival]:
        """The arrivals, the last line of the branch behind all others."""
        leaf = self.hidden
        if leaf is None:
            return self.arrivals
        others = [one for one in self.arrivals if one.node is not leaf.node]
        return [*others, Arrival(self.end, leaf.node, leaf.heirs, leaf.call, leaf.beside)]


def straighten(tree: Tree, change: Change, mint: Mint, heads: Set[int], silent: Set[int]) -> Straight:
    """
    Link the living branch in *tree* anew, one line behind the other.

    Args:
        tree: without the lines that went.
        mint: makes the node of a new line.
        heads: the lines that are read before their place.
        silent: the lines that are links of the chain and nothing else.
    """
    chain = _chain(tree, list(_pieces(tree, change, mint)), heads)
    if not chain:
        return Straight([])
    above = _Above(tree, {piece.node for piece in chain}, silent)
    _link(tree, chain, above)
    return _placed(tree, chain, heads, above)


def _pieces(tree: Tree, change: Change, mint: Mint) -> Iterator[Piece]:
    """The lines of the branch, in the order of the changed conversation."""
    called = called_by(change)
    beside = next((change.line_of(heir) for heir in change.new if not heir.is_new), 0)
    given: set[int] = set()

    def kind(place: tuple[int, Heir]) -> tuple[int, int]:
        """What neighbours have in common that stand on one line: new words of one message."""
        at, heir = place
        is_apart = not heir.is_new or at in called or change.is_reply(heir)
        return heir.message, at if is_apart else -1

    for _kind, places in groupby(enumerate(change.new), kind):
        at, heir = next(places)
        if not heir.is_new:
            beside = change.line_of(heir)
            if beside not in given:
                given.add(beside)
                yield Piece(tree.nodes[beside], (heir,), None, beside)
        elif not change.is_reply(heir):  # what is new in a reply stands on the line before it
            heirs = (heir, *(other for _at, other in places))
            call = called.get(at)
            facts = beside if call is None else change.line_of(call)
            if facts:
                node = mint(facts, heirs)
                tree.add(node)
                yield Piece(node, heirs, call, facts)


def _chain(tree: Tree, pieces: Sequence[Piece], heads: Set[int]) -> list[Piece]:
    """The lines from the root to the leaf: a compaction stands behind what it kept."""
    chain = [piece for piece in pieces if piece.beside not in heads or piece.node.is_new]
    for piece in pieces:
        if piece.beside in heads and not piece.node.is_new:
            kept = tree.above(piece.node)
            places = [at for at, other in enumerate(chain) if other.node in kept]
            chain.insert(places[-1] + 1 if places else 0, piece)
    return chain


class _Above:
    """The living line from which another hangs, directly or over lines that are links and nothing else."""

    def __init__(self, tree: Tree, living: Set[Node], silent: Set[int]) -> None:
        self.tree: Final = tree
        self.living: Final = living
        self.silent: Final = silent
        self.known: Final[dict[Node, Node | None]] = {}

    def __call__(self, node: Node) -> Node | None:
        passed = []
        at = self.tree.parent(node)
        while at is not None and at not in self.living and at not in self.known and at.line in self.silent:
            self.known[at] = None  # if they form a circle
            passed.append(at)
            at = self.tree.parent(at)
        found = at if at in self.living else None if at is None else self.known.get(at)
        self.known.update(dict.fromkeys(passed, found))
        return found


def _link(tree: Tree, chain: Sequence[Piece], above: _Above) -> None:
    named = [piece.node for piece in chain if piece.node.name is not None]
    for at, node in enumerate(named):
        if at == 0:
            if node.is_new:
                tree.hang(node, next((other.parent for other in named if not other.is_new), None))
            elif above(node) is not None:  # it hung from what follows it
                tree.hang(node, None)
        elif node.is_new or above(node) is not named[at - 1]:
            tree.hang(node, named[at - 1].name)


def _placed(tree: Tree, chain: Sequence[Piece], heads: Set[int], above: _Above) -> Straight:
    old = [piece.node for piece in chain if not piece.node.is_new]
    free = [node for node in old if node.name is None or node.line not in heads]
    stays = [free[at] for at in increasing([node.line for node in free])]
    fixed, moving = set(stays), set(free).difference(stays)
    made = []
    behind = stays[0].line - 1 if stays else chain[0].beside
    for piece in chain:
        if piece.node in fixed:
            behind = piece.node.line
        elif piece.node.is_new or piece.node in moving:
            made.append(Arrival(behind, piece.node, piece.heirs, piece.call, piece.beside))
    leaf, end = chain[-1], tree.end(moving)
    if end is None or end is leaf.node or end.line <= behind or (end.line in above.silent and above(end) is leaf.node):
        return Straight(made)
    return Straight(made, leaf, end.line)
