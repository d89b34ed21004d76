"""
The way from the last line of a log back to its first.

What this is
    Both session formats are trees written to an append-only file: each line
    names its parent, and a rewind or an edited prompt starts a new branch
    while the old one stays in the file.  `walk` follows the living branch,
    which ends at the line that `leaf_of` gives.

Rules it obeys
    * A parent that is not in the file (a scrubbed line, a broken one) does not
      end the walk: it goes on at the line before, and says so.  Ending there
      is how a naive reader loses all that came earlier.
    * A log is appended to, so a line stands behind its parent.  Where it does
      not, lines have changed places, and links tell more than places do: a
      last line from which others hang is not the last that was said.
    * Parents that form a circle do not end the walk either.  The link of the
      first line of a circle is the wrong one, and says nothing.
    * "The line before" is the nearest one that does not itself hang from the
      way so far.
    * Linear time, and an end for every input: each line is visited once.

What is not here
    What a line means, and which lines start a conversation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from itertools import pairwise
from typing import Final

from attrs import evolve, frozen

from .lines import Problem

__all__ = ["ROOT", "UNLINKED", "Node", "leaf_of", "tell_disorder", "tree_order", "untangled", "walk"]

ROOT: Final = -1
"""The parent of a node that has none: a conversation starts here."""
UNLINKED: Final = -2
"""The parent of a node whose link says nothing: it belongs to whatever stands before it."""


@frozen
class Node:
    """
    One line as a node of the tree.

    Attributes:
        line: its number in the file.
        parent: the position of its parent among the nodes, `ROOT` or `UNLINKED`.
        missing: the parent's id, if the file does not hold it.
        closes: whether its link said that it hangs from what hangs from it.
    """

    line: int
    parent: int
    missing: str | None = None
    closes: bool = False


def untangled(nodes: Sequence[Node]) -> Sequence[Node]:
    """
    The nodes without circles: of each the link of the first line goes.

    >>> [node.parent for node in untangled([Node(1, ROOT), Node(2, 2), Node(3, 1)])]
    [-1, -2, 1]
    """
    if all(node.parent < at for at, node in enumerate(nodes)):
        return nodes
    wrong: set[int] = set()
    met: dict[int, int] = {}  # each line that was met, and from which line on
    for start in range(len(nodes)):
        at = start
        while at >= 0 and at not in met:
            met[at] = start
            at = nodes[at].parent
        if at >= 0 and met[at] == start:
            first, on = at, nodes[at].parent
            while on != at:
                first, on = min(first, on), nodes[on].parent
            wrong.add(first)
    return [evolve(node, parent=UNLINKED, closes=True) if at in wrong else node for at, node in enumerate(nodes)]


def leaf_of(nodes: Sequence[Node], last: int, problems: list[Problem]) -> int:
    """
    The line at which the living branch ends: the last one, or what hangs from it by the longest way.

    Args:
        nodes: without circles.
        last: the position of the last line that may be the end.

    >>> leaf_of([Node(1, ROOT), Node(2, 2), Node(3, 0)], 2, [])
    1
    """
    if last < 0 or all(node.parent != last for node in nodes[:last]):
        return last
    depths: dict[int, int] = {last: 0}  # how far each line is from the last one; -1 if it does not hang from it
    for start in range(last):
        way = []
        at = start
        while at >= 0 and at not in depths:
            way.append(at)
            at = nodes[at].parent
        depth = depths.get(at, -1)
        for at in reversed(way):
            depth = depth + 1 if depth >= 0 else -1
            depths[at] = depth
    leaf = max(range(last + 1), key=lambda at: (depths[at], at))
    line = nodes[leaf].line
    problems.append(Problem(nodes[last].line, f"it stands last, but other lines hang from it; read up to line {line}"))
    return leaf


def tree_order(nodes: Sequence[Node], chosen: Set[int], problems: list[Problem]) -> list[int]:
    """
    The chosen positions in the order of the file, but none before its parent.

    >>> tree_order([Node(1, ROOT), Node(2, 2), Node(3, 0)], {0, 1, 2}, [])
    [0, 2, 1]
    """
    order: list[int] = []
    done: set[int] = set()
    for start in sorted(chosen):
        way = []
        at = start
        while at in chosen and at not in done:
            done.add(at)
            way.append(at)
            at = nodes[at].parent
        order += reversed(way)
    tell_disorder(nodes, order, problems)
    return order


def tell_disorder(nodes: Sequence[Node], order: Sequence[int], problems: list[Problem]) -> None:
    """Name the first line that is read before one that stands before it."""
    line = next((nodes[at].line for at, after in pairwise(order) if after < at), None)
    if line is not None:
        problems.append(Problem(line, "a line before it hangs from it; read in the order of the tree"))


def walk(
    nodes: Sequence[Node], leaf: int, problems: list[Problem], *, stops: Callable[[int, int], bool] | None = None
) -> list[int]:
    """
    The positions from the root (or from where *stops* says so) to *leaf*.

    Args:
        nodes: without circles.
        stops: called with a position and the position the walk came from
            (``-1`` for the leaf); true ends the walk before that position.

    >>> walk([Node(1, ROOT), Node(2, 0), Node(3, 0)], 2, [])
    [0, 2]
    """
    path: list[int] = []
    above: dict[int, int] = {}  # of each line that was visited the next one upwards that may not have been
    joint = 0  # how long the way was when it last went on at the line before
    at, came = leaf, -1
    while at >= 0:
        if at in above:  # what the way was joined to hangs from the way itself
            del path[joint:]
            came = path[-1]
            at = _line_before(came, above)
            continue
        if stops is not None and stops(at, came):
            break
        path.append(at)
        above[at] = at - 1
        node = nodes[at]
        if node.missing is not None and at > 0:
            problems.append(Problem(node.line, f"its parent {node.missing[:40]!r} is not in the file; joined to the line before"))
        if node.closes:
            problems.append(Problem(node.line, "its parents form a circle; its link counts for nothing"))
        came, at = at, node.parent
        if at == UNLINKED:
            joint = len(path)
            at = _line_before(came, above)
    path.reverse()
    return path


def _line_before(at: int, above: dict[int, int]) -> int:
    """The nearest line before this one that was not visited."""
    passed = []
    while at in above:
        passed.append(at)
        at = above[at]
    above.update(dict.fromkeys(passed, at))
    return at
