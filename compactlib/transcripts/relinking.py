"""
The tree of a log while lines are taken out of it and put into it.

What this is
    Each line of both session formats names its parent.  `Tree` knows who hangs
    from whom, and keeps the chain whole when a line goes or comes.

Rules it obeys
    * A line that goes hands its children to its parent.  Where its link says
      nothing, or names no line of the file, readers go on at the line before
      it, and so its children hang from that.
    * A line that comes stands, on the living branch, between what has to be
      before it and all that followed; only the lines that hung there are linked
      anew, and every other line stays as it is.
    * A compaction's cut in the chain stays a cut.
    * In a file without ids the order of the lines is all there is.

What is not here
    Bytes: which links changed is asked of `Node.is_relinked`.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from typing import Final

__all__ = ["Node", "Tree"]


class Node:
    """
    A line of the tree.

    Attributes:
        line: its number in the file; of a new line, that of the line it stands behind (0 for none).
        name: its id, if it has one.
        parent: the id of its parent.
        is_loose: whether its link says nothing, so that it belongs to the line before it.
    """

    __slots__ = ("_first_parent", "is_loose", "is_new", "line", "name", "parent")

    def __init__(self, line: int, name: str | None, parent: str | None, *, is_new: bool = False, is_loose: bool = False) -> None:
        self.line = line
        self.name: Final = name
        self.parent = parent
        self.is_new: Final = is_new
        self.is_loose: Final = is_loose
        self._first_parent: Final = parent

    @property
    def is_relinked(self) -> bool:
        """Whether it has another parent than its line says."""
        return self.parent != self._first_parent


class Tree:
    """The lines of one file; of two with one id the first counts."""

    def __init__(self, nodes: Iterable[Node]) -> None:
        self.nodes: Final = {node.line: node for node in nodes}
        self._by_name: Final[dict[str, Node]] = {}
        self._children: Final[dict[str, dict[Node, None]]] = {}
        self._instead: Final[dict[int, str | None]] = {}  # line that was taken out -> from what its children hang
        for node in self.nodes.values():
            if node.name is not None:
                self._by_name.setdefault(node.name, node)
            self.hang(node, node.parent)

    def names(self) -> Set[str]:
        """Every id in use."""
        return self._by_name.keys()

    def add(self, node: Node) -> None:
        """Let a new line be known by its id."""
        if node.name is not None:
            self._by_name[node.name] = node

    def take(self, node: Node) -> None:
        """Take a line out: its children hang from its parent; lines are taken in the order of the file."""
        parent = node.parent
        if node.is_loose or (parent is not None and parent not in self._by_name):
            parent = self._before(node.line)
        self._instead[node.line] = parent
        for child in self.children(node):
            self.hang(child, parent if parent != child.name else self._before(min(node.line, child.line)))
        if node.name is not None and self._by_name.get(node.name) is node:
            del self._by_name[node.name]

    def _before(self, line: int) -> str | None:
        """The id of the nearest line before this one that has one; of what was taken out that of what it hung from."""
        while (line := line - 1) > 0:
            if line in self._instead:
                return self._instead[line]
            above = self.nodes.get(line)
            if above is not None and above.name is not None and self._by_name.get(above.name) is above:
                return above.name
        return None

    def lost_end(self) -> Node | None:
        """
        The last line of all, if it was taken out and the one that is the last now is not what it hung from.

        Readers follow the living branch from the last line, which would be another then.
        """
        named = [node for node in self.nodes.values() if node.name is not None]
        end = max(named, key=lambda node: node.line, default=None)
        if end is None or end.line not in self._instead:
            return None
        left = max(self._by_name.values(), key=lambda node: node.line, default=None)
        return None if left is None or left.name == self._instead[end.line] else end

    def parent(self, node: Node) -> Node | None:
        """The line that it hangs from, if the file has it."""
        return None if node.parent is None else self._by_name.get(node.parent)

    def above(self, node: Node) -> set[Node]:
        """All lines that it hangs from; in a file without ids all that stand before it."""
        if node.name is None:
            return {other for other in self.nodes.values() if other.line < node.line}
        found: set[Node] = set()
        at = self.parent(node)
        while at is not None and at not in found:
            found.add(at)
            at = self.parent(at)
        return found

    def end(self, without: Set[Node]) -> Node | None:
        """The last line of the file that has an id, of all that were not taken out and are not among *without*."""
        left = [node for node in self._by_name.values() if not node.is_new and node not in without]
        return max(left, key=lambda node: node.line, default=None)

    def instead_of(self, node: Node) -> str | None:
        """The id of the line from which what hung from one that was taken out hangs now."""
        return self._instead[node.line]

    def put(self, node: Node, *, behind: Node | None, group: Set[Node], before: Node | None) -> Node | None:
        """
        Put a line in.

        Args:
            node: the line, which is in the tree already if it was taken out to be moved.
            behind: the last line that has to be before it, in the order of the file.
            group: all lines that have to be before it.
            before: the first line of the conversation that comes after it.

        Returns:
            The line of the living branch that hangs from it now, which is nearer than *before*; else *before*.
        """
        node.line = 0 if behind is None else behind.line
        if node.name is None:
            return before
        self.add(node)
        holder, branch = self._fork(behind, group, before)
        children = [] if holder is None else self.children(holder)
        followers = [child for child in children if child not in group and child.line > node.line]
        if holder is not None:
            self.hang(node, holder.name)
        else:
            self.hang(node, None if branch is None else branch.parent)
        for child in followers if branch is None else (*followers, branch):
            self.hang(child, node.name)
        return branch or before

    def _fork(self, behind: Node | None, group: Set[Node], before: Node | None) -> tuple[Node | None, Node | None]:
        """The line that a new one hangs from, and the line of the living branch that hangs there now, if it has to change."""
        if behind is None:
            return None, before
        branch, lowest = before, 0
        while branch is not None and branch.parent is not None:
            above = self._by_name.get(branch.parent)
            if above is None:  # the line that it hung from is lost
                return behind, branch
            if above in group or above is behind:
                return above, branch
            lowest = lowest or min((node.line for node in group), default=behind.line)
            if not lowest <= above.line < branch.line:  # past the group: another way leads to what comes after
                break
            if above.line < behind.line:  # it would hang from a line that stands behind it
                return above, branch
            branch = above
        return behind, None

    def children(self, node: Node) -> list[Node]:
        """The lines that hang from it, in the order of the file."""
        if node.name is None or self._by_name.get(node.name) is not node:
            return []
        return [child for child in self._children.get(node.name, ()) if child.parent == node.name]

    def hang(self, node: Node, parent: str | None) -> None:
        """Let a line hang from another, or from none."""
        node.parent = parent
        if parent is not None:
            self._children.setdefault(parent, {})[node] = None
