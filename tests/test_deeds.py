"""What a call did, read from its name and its arguments."""

from __future__ import annotations

from typing import Any

import pytest

from compactlib.deeds import deed, plan
from tests.summary_parts import call


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("Read", {"file_path": "a.py"}, ("read", "a.py")),
        ("Edit", '{"file_path": "a.py", "old_string": "x"}', ("edited", "a.py")),
        ("str_replace_based_edit_tool", {"command": "view", "path": "a.py"}, ("read", "a.py")),
        ("str_replace_based_edit_tool", {"command": "str_replace", "path": "a.py"}, ("edited", "a.py")),
        ("Bash", {"command": "pytest -q\necho done"}, ("ran", "pytest -q")),
        ("Bash", {"command": "ls -la src"}, ("looked", "ls -la src")),
        ("Bash", {"command": "cat a > b"}, ("ran", "cat a > b")),
        ("shell", {"command": ["bash", "-lc", "make all"]}, ("ran", "make all")),
        ("apply_patch", "*** Begin Patch\n*** Update File: src/a.py\n@@\n*** End Patch", ("edited", "src/a.py")),
        ("WebSearch", {"query": "uuid"}, ("looked", "uuid")),
        ("createIssue", {"title": "x", "name": "bug"}, ("called", "bug")),
        ("weather", {}, ("called",)),
        ("weather", "sunny", ("called", "sunny")),
        ("weather", '{"broken', ("called", '{"broken')),
        ("weather", None, ("called",)),
    ],
)
def test_what_a_call_did(name: str, arguments: Any, expected: tuple[str, ...]) -> None:
    """By the words of its name and the usual keys of its arguments."""
    act = deed(call("c", name, arguments))

    assert (act.verb, *act.objects) == expected
    assert act.tool == name


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (
            {"todos": [{"content": "a", "status": "done"}, {"content": "b", "status": "active"}, {"content": "c"}]},
            (("done", "a"), ("doing", "b")),
        ),
        ('{"plan": [{"step": "a", "status": "todo"}, {"step": "b", "status": "cancelled"}]}', (("next", "a"), ("rejected", "b"))),
        ({"todos": "a"}, ()),
        ({"items": [1, {"status": None}, {"status": "done"}]}, ()),
        ("text", ()),
    ],
)
def test_a_task_list_is_read(arguments: Any, expected: tuple[tuple[str, str], ...]) -> None:
    """Whatever its tool and keys are called."""
    assert plan(call("c", "TodoWrite", arguments)) == expected


def test_deep_arguments_do_no_harm() -> None:
    """JSON deeper than the recursion limit is a string like any other."""
    deep = "[" * 100_000

    assert deed(call("c", "bash", deep)).verb == "ran"
    assert plan(call("c", "bash", deep)) == ()
