"""The way from the last line of a log back to its first, on every small tree."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from compactlib.transcripts.branches import ROOT, UNLINKED, Node, leaf_of, tree_order, untangled, walk
from compactlib.transcripts.lines import Problem


def trees(size: int) -> Iterator[list[Node]]:
    """All trees of so many lines, with every parent a line can name but itself."""
    choices = [[ROOT, UNLINKED, *(other for other in range(size) if other != at)] for at in range(size)]
    for parents in itertools.product(*choices):
        yield [Node(at + 1, parent) for at, parent in enumerate(parents)]


def circles(nodes: list[Node]) -> set[int]:
    """The first line of each circle, found line by line."""
    found = set()
    for start in range(len(nodes)):
        way, at = [start], nodes[start].parent
        while at >= 0 and at not in way:
            way.append(at)
            at = nodes[at].parent
        if at >= 0:
            found.add(min(way[way.index(at) :]))
    return found


def way_to(nodes: list[Node], leaf: int) -> list[int]:
    """`walk` without a thought of time."""
    path: list[int] = []
    visited: set[int] = set()
    joint, at = 0, leaf
    while at >= 0:
        if at in visited:
            path = path[:joint]
            at = max((other for other in range(path[-1]) if other not in visited), default=ROOT)
            continue
        path.append(at)
        visited.add(at)
        at = nodes[at].parent
        if at == UNLINKED:
            joint = len(path)
            at = max((other for other in range(path[-1]) if other not in visited), default=ROOT)
    return path[::-1]


def test_every_small_tree_is_walked_as_told() -> None:
    """Once each line, from the root to the leaf, and over every circle."""
    count = 0
    for size in range(1, 6):
        for nodes in trees(size):
            free = list(untangled(nodes))
            assert {at for at, node in enumerate(free) if node.closes} == circles(nodes)
            assert not circles(free)
            path = walk(free, size - 1, [])
            assert path == way_to(free, size - 1)
            assert len(set(path)) == len(path)
            assert path[-1] == size - 1
            count += 1

    assert count == 1 * 2 + 3**2 + 4**3 + 5**4 + 6**5


def test_the_leaf_is_the_end_of_the_longest_way_from_the_last_line() -> None:
    """And the last line itself wherever all stand behind their parents."""
    for size in range(1, 6):
        for nodes in trees(size):
            free = list(untangled(nodes))
            problems: list[Problem] = []
            leaf = leaf_of(free, size - 1, problems)
            depths = []
            for at in range(size):
                depth, up = 0, at
                while up >= 0 and up != size - 1:
                    depth, up = depth + 1, free[up].parent
                depths.append(depth if up == size - 1 else -1)
            assert leaf == max(range(size), key=lambda at, found=depths: (found[at], at))  # type: ignore[misc]  # bound at once
            assert bool(problems) == (leaf != size - 1)
            if all(node.parent < at for at, node in enumerate(free)):
                assert leaf == size - 1


def test_no_line_stands_before_its_parent() -> None:
    """In the order of the tree; and the order of the file is kept where it is one."""
    for nodes in trees(4):
        free = list(untangled(nodes))
        for chosen in ({0, 1, 2, 3}, {0, 2, 3}, {1, 3}):
            problems: list[Problem] = []
            order = tree_order(free, chosen, problems)
            assert bool(problems) == (order != sorted(chosen))
            assert set(order) == chosen
            assert len(order) == len(chosen)
            place = {at: number for number, at in enumerate(order)}
            assert all(place[free[at].parent] < place[at] for at in chosen if free[at].parent in chosen)
            if all(free[at].parent < at for at in chosen):
                assert order == sorted(chosen)


def test_what_a_circle_cuts_is_joined_to_the_line_before() -> None:
    """Nothing that came earlier is lost, and the line is named."""
    problems: list[Problem] = []
    nodes = untangled([Node(1, ROOT), Node(2, 0), Node(3, 4), Node(4, 2), Node(5, 3)])

    assert walk(nodes, 4, problems) == [0, 1, 2, 3, 4]
    assert [str(problem) for problem in problems] == ["line 3: its parents form a circle; its link counts for nothing"]


def test_a_hundred_thousand_hostile_links_have_an_end() -> None:
    """Many circles, and lines before them that hang from what follows: each line is visited once."""
    size = 100_000
    links = [size - 1 - at % 7 if at % 3 == 0 and at < size // 2 else at + 1 if at % 2 == 0 else at - 1 for at in range(size)]
    nodes = untangled([Node(at + 1, min(link, size - 1) if link != at else UNLINKED) for at, link in enumerate(links)])
    path = walk(nodes, leaf_of(nodes, size - 1, []), [])

    assert len(set(path)) == len(path) > size // 2
    assert len(tree_order(nodes, set(range(size)), [])) == size
