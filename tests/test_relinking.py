"""The chain of a log while lines come and go."""

from __future__ import annotations

from compactlib.transcripts.relinking import Node, Tree


def tree(*links: tuple[str, str | None]) -> Tree:
    return Tree(Node(line, name, parent) for line, (name, parent) in enumerate(links, 1))


def chain(found: Tree) -> dict[str | None, str | None]:
    return {node.name: node.parent for node in found.nodes.values()}


def test_the_children_of_a_line_that_goes_hang_from_its_parent() -> None:
    """Also where its parent goes too, and where it is the root."""
    found = tree(("a", None), ("b", "a"), ("c", "b"), ("d", "c"), ("e", "b"))
    for line in (2, 3):
        found.take(found.nodes[line])

    assert {name: chain(found)[name] for name in "de"} == {"d": "a", "e": "a"}
    found.take(found.nodes[1])
    assert chain(found)["d"] is None


def test_a_line_comes_between() -> None:
    """What followed hangs from it; who is before it in the file, or of its group, does not."""
    found = tree(("a", None), ("b", "a"), ("r", "a"), ("s", "b"))
    new = Node(3, "new", None)
    found.put(new, behind=found.nodes[3], group={found.nodes[line] for line in (1, 2, 3)}, before=found.nodes[4])

    assert (new.parent, chain(found)["s"], chain(found)["r"], chain(found)["b"]) == ("b", "new", "a", "a")
    assert [line for line, node in found.nodes.items() if node.is_relinked] == [4]


def test_a_line_in_front_is_the_root() -> None:
    """And has the parent that the first one had."""
    found = tree(("a", "elsewhere"), ("b", "a"))
    new = Node(0, "new", None)
    found.put(new, behind=None, group=set(), before=found.nodes[1])

    assert (new.parent, chain(found)) == ("elsewhere", {"a": "new", "b": "a"})


def test_a_cut_in_the_chain_stays_a_cut() -> None:
    """What comes after hangs from a compaction, and not from the new line before it."""
    found = tree(("a", None), ("cut", None), ("summary", "cut"), ("b", "summary"))
    new = Node(1, "new", None)
    found.put(new, behind=found.nodes[1], group={found.nodes[1]}, before=found.nodes[4])

    assert (new.parent, chain(found)["b"], chain(found)["cut"]) == ("a", "summary", None)


def test_a_circle_of_parents_ends() -> None:
    """Nothing hangs for ever."""
    found = tree(("a", "b"), ("b", "a"), ("c", "c"))
    found.put(Node(3, "new", None), behind=found.nodes[3], group={found.nodes[3]}, before=found.nodes[2])
    found.take(found.nodes[1])

    assert chain(found)["a"] == "b"


def test_children_of_a_line_whose_parent_is_lost_hang_from_the_line_before() -> None:
    """Readers go on there; also from several such in a row, and where nothing stands before."""
    found = tree(("a", None), ("b", "gone"), ("c", "lost"), ("d", "a"), ("e", "c"))
    for line in (2, 3):
        found.take(found.nodes[line])
    assert chain(found)["e"] == "a"

    found = tree(("a", "gone"), ("b", "a"), ("c", "a"))
    found.take(found.nodes[1])
    assert (chain(found)["b"], chain(found)["c"]) == (None, None)


def test_the_end_is_lost_where_another_branch_stands_last() -> None:
    found = tree(("a", None), ("b", "a"), ("c", "a"))
    found.take(found.nodes[3])
    assert found.lost_end() is found.nodes[3]

    found = tree(("a", None), ("b", "a"), ("c", "b"))
    found.take(found.nodes[3])
    assert found.lost_end() is None


def test_a_line_does_not_hang_from_one_behind_it() -> None:
    """What says nothing and stood before the place of the new line stays before it."""
    found = tree(("a", None), ("b", "a"), ("note", "b"), ("r", "a"), ("e", "note"))
    new = Node(4, "new", None)
    found.put(new, behind=found.nodes[4], group={found.nodes[line] for line in (1, 2, 4)}, before=found.nodes[5])

    assert (new.parent, chain(found)["e"], chain(found)["note"]) == ("note", "new", "b")


def test_a_child_that_was_its_parents_parent_hangs_from_the_line_before() -> None:
    found = tree(("a", None), ("r", "b"), ("b", "r"))
    found.take(found.nodes[2])

    assert chain(found)["b"] == "a"
