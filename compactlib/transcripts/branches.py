"""
The way from the last line of a log back to its first.

What this is
    Both session formats are trees written to an append-only file: each line
    names its parent, and a rewind or an edited prompt starts a new branch
    while the old one stays in the file.  `walk` follows the living branch.

Rules it obeys
    * A parent that is not in the file (a scrubbed line, a broken one) does not
      end the walk: it goes on at the line before, and says so.  Ending there
      is how a naive reader loses all that came earlier.
    * Linear time, and an end for every input: a line is visited once, so a
      circle of parents is left where it closes.

What is not here
    What a line means, and which lines start a conversation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from attrs import frozen

from .lines import Problem

__all__ = ["ROOT", "UNLINKED", "Node", "walk"]

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
    """

    line: int
    parent: int
    missing: str | None = None


def walk(
    nodes: Sequence[Node], leaf: int, problems: list[Problem], *, stops: Callable[[int, int], bool] | None = None
) -> list[int]:
    """
    The positions from the root (or from where *stops* says so) to *leaf*.

    Args:
        stops: called with a position and the position the walk came from
            (``-1`` for the leaf); true ends the walk before that position.

    >>> walk([Node(1, ROOT), Node(2, 0), Node(3, 0)], 2, [])
    [0, 2]
    """
    path: list[int] = []
    seen: set[int] = set()
    at, came = leaf, -1
    while at >= 0 and not (stops is not None and stops(at, came)):
        if at in seen:
            problems.append(Problem(nodes[at].line, "its parents form a circle; the conversation is taken to start here"))
            break
        seen.add(at)
        path.append(at)
        node = nodes[at]
        if node.missing is not None and at > 0:
            problems.append(Problem(node.line, f"its parent {node.missing[:40]!r} is not in the file; joined to the line before"))
        came, at = at, at - 1 if node.parent == UNLINKED else node.parent
    path.reverse()
    return path
