"""A branch that is linked anew is one chain, in the order in which it was said."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest

from compactlib.dialects import parse
from compactlib.transcripts.lineage import Ancestor, Heir
from compactlib.transcripts.placing import Change
from compactlib.transcripts.relinking import Node, Tree
from compactlib.transcripts.straightening import Straight, straighten

SIZE = 4
AFTER = parse([{"role": "user", "content": [{"type": "text", "text": str(at)}]} for at in range(SIZE)], dialect="anthropic")
BLOCKS = [message.blocks[0] for message in AFTER.messages]
OLD = [Ancestor(at, 0, block) for at, block in enumerate(BLOCKS)]


def mint(_beside: int, _heirs: Sequence[Heir]) -> Node:
    """Nothing comes in these trees."""
    raise AssertionError


def straightened(tree: Tree, order: Sequence[int], *, silent: Sequence[int] = ()) -> Straight:
    """What becomes of the lines of a tree, if its first ones were said in this order."""
    new = [Heir(message, 0, BLOCKS[at], at) for message, at in enumerate(order)]
    change = Change(OLD, new, range(1, SIZE + 1), [False] * len(order), AFTER)
    return straighten(tree, change, mint, frozenset(), frozenset(silent))


def test_every_small_branch_becomes_one_chain() -> None:
    """Whatever its lines hung from, and in whatever order they stood; and no more lines move than have to."""
    names = "abcd"
    count = 0
    for order in itertools.permutations(range(SIZE)):
        for parents in itertools.product((None, "lost", *names), repeat=SIZE):
            tree = Tree(Node(at + 1, name, parent) for at, (name, parent) in enumerate(zip(names, parents, strict=True)))
            made = straightened(tree, order)
            nodes = [tree.nodes[at + 1] for at in order]
            arrived = {one.node: one.behind for one in made.arrivals}
            places = sorted(nodes, key=lambda node, arrived=arrived: arrived.get(node, node.line))  # type: ignore[misc]  # bound at once

            assert [node.parent for node in nodes[1:]] == [node.name for node in nodes[:-1]]
            assert nodes[0].parent in (None, "lost")
            assert [node for node in places if node not in arrived] == [node for node in nodes if node not in arrived]
            assert made.hidden is None or made.hidden.node is nodes[-1]
            if list(order) == sorted(order):
                assert arrived == {}
            count += 1

    assert count == 24 * 6**4


def test_a_link_over_lines_that_say_nothing_stays() -> None:
    """And one over a line that says something does not: that line would be read."""
    for silent, parent in ((5,), "x"), ((), "a"):
        tree = Tree([Node(1, "a", None), Node(2, "b", "x"), Node(3, "c", "b"), Node(4, "d", "c"), Node(5, "x", "a")])
        straightened(tree, range(SIZE), silent=silent)
        assert tree.nodes[2].parent == parent


@pytest.mark.parametrize(("parent", "silent", "is_hidden"), [("d", (5,), False), ("d", (), True), ("a", (5,), True)])
def test_another_branch_behind_the_last_line_is_named(parent: str, silent: tuple[int, ...], *, is_hidden: bool) -> None:
    """What hangs from the branch and says nothing belongs to it; anything else would be read in its place."""
    tree = Tree([Node(1, "a", None), Node(2, "b", "a"), Node(3, "c", "b"), Node(4, "d", "c"), Node(5, "x", parent)])
    made = straightened(tree, range(SIZE), silent=silent)

    assert made.arrivals == []
    assert (made.hidden is not None) is is_hidden
    assert [one.behind for one in made.with_leaf_last()] == [5] * is_hidden
