"""Which block was which, after a repair."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from compactlib.dialects import parse
from compactlib.model import Conversation
from compactlib.protocol.repair import repair
from compactlib.transcripts.lineage import descent, increasing, is_same

PROMPT = {"role": "user", "content": "go"}


def call(*names: str) -> dict[str, Any]:
    return {"role": "assistant", "content": [{"type": "tool_use", "id": name, "name": "ls", "input": {}} for name in names]}


def results(*names: str, content: Any = "ok", **more: Any) -> dict[str, Any]:
    block = {"type": "tool_result", "content": content, **more}
    return {"role": "user", "content": [{**block, "tool_use_id": name} for name in names]}


def conversation(*messages: Any) -> Conversation:
    return parse(list(messages), dialect="anthropic")


def fates(before: Conversation) -> list[tuple[str, int, bool]]:
    """For each block after the repair its kind, its ancestor, and whether it moved."""
    new = descent(before, repair(before, close=True).conversation)[1]
    return [(type(heir.block).__name__, heir.ancestor, heir.has_moved) for heir in new]


@given(st.lists(st.integers(0, 6), max_size=7, unique=True))
def test_the_longest_run_is_as_long_as_any(numbers: list[int]) -> None:
    """Compared with all runs there are."""
    found = [numbers[at] for at in increasing(numbers)]
    runs = (run for size in range(len(numbers) + 1) for run in itertools.combinations(numbers, size) if list(run) == sorted(run))

    assert found == sorted(found)
    assert len(found) == max(map(len, runs))


def test_a_made_up_result_is_new_and_the_words_it_joined_are_the_same() -> None:
    """The prompt was one string, and is a block of another message now."""
    assert fates(conversation(PROMPT, call("t"), {"role": "user", "content": "on"})) == [
        ("Text", 0, False), ("Call", 1, False), ("Result", -1, False), ("Text", 2, False),
    ]  # fmt: skip


def test_a_call_and_a_result_with_a_new_id_are_the_same() -> None:
    """Arguments and content are what they are known by."""
    assert fates(conversation(PROMPT, call("a.b"), results("a.b"), call("a:b"), results("a:b"), PROMPT)) == [
        ("Text", 0, False), ("Call", 1, False), ("Result", 2, False),
        ("Call", 3, False), ("Result", 4, False), ("Text", 5, False),
    ]  # fmt: skip


def test_a_result_that_was_filled_is_the_same() -> None:
    """An error without content gets some."""
    assert fates(conversation(PROMPT, call("t"), results("t", content="", is_error=True), PROMPT))[2] == ("Result", 2, False)


def test_a_made_up_result_is_not_the_one_that_came_too_early() -> None:
    """A result before its call answers nothing; what answers the call is new, though the id is the same."""
    assert fates(conversation(PROMPT, call("x"), results("x", "t"), call("t"), PROMPT)) == [
        ("Text", 0, False), ("Call", 1, False), ("Result", 2, False),
        ("Call", 4, False), ("Result", -1, False), ("Text", 5, False),
    ]  # fmt: skip


def test_what_was_led_back_has_moved() -> None:
    """One of the blocks that changed places is the one that moved; the others stayed."""
    found = fates(conversation(PROMPT, call("t"), PROMPT, {"role": "assistant", "content": "wait"}, results("t"), PROMPT))

    assert Counter(moved for _kind, _ancestor, moved in found) == {False: 5, True: 1}
    assert [ancestor for _kind, ancestor, _moved in found][:3] == [0, 1, 4]


def test_results_may_stand_anywhere_in_their_run() -> None:
    """Where they stand follows from their calls; what they say, and what else is said, must be the same."""
    one = conversation(PROMPT, call("a"), call("b"), results("a", "b"))
    same = conversation(PROMPT, call("a"), results("a"), call("b"), results("b", content=[{"type": "text", "text": "ok"}]))

    assert is_same(one, same)
    assert not is_same(one, conversation(PROMPT, call("a"), call("b"), results("a")))
    assert not is_same(one, conversation(PROMPT, call("b"), call("a"), results("a", "b")))
    assert not is_same(one, conversation(PROMPT, call("a", "b"), results("a", "b", content="no")))
