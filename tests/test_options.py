"""Options: every value has an effect or is refused by name."""

from __future__ import annotations

from typing import Any

import pytest

from compactlib.errors import PolicyError
from compactlib.options import Admission, Clearing, Limit


@pytest.mark.parametrize(
    ("make", "name", "value"),
    [
        (Clearing, "keep", -1),
        (Clearing, "keep", True),
        (Clearing, "trigger_tokens", 1.5),
        (Clearing, "exclude_tools", "read"),
        (Clearing, "exclude_tools", [1]),
        (Clearing, "exclude_tools", True),
        (Clearing, "clear_tool_inputs", 1),
        (Limit, "limit_tokens", 0),
        (Limit, "limit_lines", "9"),
        (Limit, "keep", "middle"),
        (Admission, "limit", 2_000),
        (Admission, "tools", 7),
        (Admission, "tools", {"read": 7}),
        (Admission, "report_tools", "Task"),
        (Admission, "report_tokens", 0),
        (Admission, "batch_tokens", -3),
    ],
)
def test_an_impossible_option_is_refused_by_name(make: Any, name: str, value: Any) -> None:
    with pytest.raises(PolicyError, match=f"^{name}: ") as caught:
        make(**{name: value})

    assert caught.value.field == name


def test_names_may_come_in_any_collection() -> None:
    assert Clearing(exclude_tools=["a", "b"]) == Clearing(exclude_tools={"b", "a"})
    assert Clearing(clear_tool_inputs=("a",)).clear_tool_inputs == frozenset({"a"})
