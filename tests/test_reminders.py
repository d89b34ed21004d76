"""Reminders from live state: in the head once, made anew, and their items stay data."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import compactlib as cl
from compactlib.outcomes import Compacted
from compactlib.reminders import LIMIT_CHARS

from .test_digesting import long

POLICY = cl.Policy(window_tokens=32_000)


def test_reminder_is_made_anew_and_stands_once() -> None:
    """Across compactions, behind the summary, from what is so now."""
    todos = ["fix the login", "run the tests"]
    live = [cl.reminder("todos", lambda: todos), cl.reminder("running jobs", ["build 7"])]
    conversation = long()
    for number in range(3):
        outcome = cl.compact(conversation, POLICY, when="now", reminders=live)
        assert isinstance(outcome, Compacted)
        wire = cl.render(outcome.conversation)
        assert str(wire).count("[compactlib todos v1:") == str(wire).count("[compactlib running jobs v1: 1]") == 1
        assert f"[compactlib todos v1: {2 - number}]" in str(wire) or not todos
        todos.pop() if len(todos) > 1 else None
        if number == 1:
            break
        conversation = cl.parse([*wire, *cl.render(long())], dialect="anthropic")


def test_nothing_to_list_is_nothing_in_the_head() -> None:
    """An empty list is no reminder."""
    assert cl.reminder("todos", [])() == cl.reminder("todos", ["", "  "])() == ""


@given(st.lists(st.text(max_size=400), max_size=40))
def test_items_are_data(items: list[str]) -> None:
    """Law L25: one line each, within the limit, and all of them are accounted for."""
    text = cl.reminder("todos", items)()
    told = [item for item in items if item.strip()]
    lines = text.split("\n")

    assert len(text) <= LIMIT_CHARS
    if told:
        more = int(lines.pop()[1:].split()[0]) if lines[-1].endswith(" more]") and not lines[-1].startswith("- ") else 0
        assert lines[0] == f"[compactlib todos v1: {len(told)}]"
        assert all(line.startswith("- ") for line in lines[1:])
        assert len(lines) - 1 + more == len(told)


@pytest.mark.parametrize("name", ["", "a]b", " todos", "x" * 41, "todos\n", 5])
def test_name_is_plain_words(name: Any) -> None:
    """It stands in a header."""
    with pytest.raises(cl.PolicyError, match="name"):
        cl.reminder(name, [])


@pytest.mark.parametrize("items", ["abc", [5], 5, {"a": "b"}, None])
def test_items_are_texts(items: Any) -> None:
    """Or what returns texts: then it is found when it is called, and the compaction is refused."""
    with pytest.raises(cl.PolicyError, match="items"):
        cl.reminder("todos", items)
    outcome = cl.compact(long(), POLICY, when="now", reminders=[cl.reminder("todos", lambda: items)])

    assert outcome.reason == "callback:reminders"
