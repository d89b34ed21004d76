"""Reading and writing JSON: the decided answers for its corners."""

from __future__ import annotations

import enum
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactlib.dialects.reading import MAX_DEPTH, Spelled, bounded, copy_json, decode, dumps, loads
from compactlib.errors import WireError

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


class Colour(enum.StrEnum):
    RED = "red"


@given(JSON)
def test_text_and_value_are_the_same_json(value: Any) -> None:
    """What is written is read back, and the standard reader agrees."""
    text = dumps(value)

    assert loads(text) == value
    assert json.loads(text) == value


@given(JSON)
def test_a_copy_is_equal_and_shares_no_container(value: Any) -> None:
    """Law L19: changing the original after the copy changes nothing in the copy."""
    before = json.dumps(value)
    copy = copy_json(value)
    _spoil(value)

    assert json.dumps(copy) == before


def _spoil(value: Any) -> None:
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        _spoil(item)
    if isinstance(value, dict | list):
        value.clear()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[" * 10_000 + "]" * 10_000, "nested deeper"),
        ('{"a":' * 10_000 + "1" + "}" * 10_000, "nested deeper"),
        ("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1), "nested deeper"),
        ("[NaN]", "NaN is not a JSON number"),
        ("[-Infinity]", "-Infinity is not a JSON number"),
        ('{"a": 1, "b": {"c": 1, "c": 2}}', "'c' occurs twice"),
        ("9" * 5_000, "4300 digits"),
        ('{"a": 1', "line 1, column 8"),
        ("", "not JSON"),
        (b"\xff\xfe", "not UTF-8 at byte 0"),
        ('{"a": 1}]', "not JSON"),
    ],
)
def test_what_is_refused_says_why(text: str | bytes, problem: str) -> None:
    """Every refusal is a `WireError` that names the trouble."""
    with pytest.raises(WireError, match=problem):
        loads(text)


def test_nesting_up_to_the_limit_is_read() -> None:
    """The limit itself is legal."""
    assert loads("[" * MAX_DEPTH + "]" * MAX_DEPTH) is not None


@given(JSON)
def test_a_part_of_what_was_read_is_held_against_the_limit(value: Any) -> None:
    """`bounded` gives the very value, or refuses what `copy_json` refuses: nesting, counted from the part."""
    read = decode(dumps({"part": value}))["part"]
    deep: Any = value
    for _ in range(MAX_DEPTH + 1):
        deep = [deep]

    assert bounded(read) is read
    for limited in (bounded, copy_json):
        with pytest.raises(WireError, match="nested deeper"):
            limited(deep)


def test_lone_surrogates_are_read_and_written_as_escapes() -> None:
    """A stored history may hold half an emoji; it survives and can be encoded."""
    value = loads(r'"\ud83d"')

    assert value == "\ud83d"
    assert dumps({value: value}) == r'{"\ud83d":"\ud83d"}'
    assert dumps([value]).encode()


@pytest.mark.parametrize("spelling", ["1.50", "1E3", "1e999", "0.1000", "-0.0"])
def test_a_number_keeps_its_spelling(spelling: str) -> None:
    """From text to text, an unusual spelling stays."""
    assert dumps(loads(f'{{"a":[{spelling}]}}')) == f'{{"a":[{spelling}]}}'


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (float("nan"), "nan is not a JSON number"),
        (float("inf"), "inf is not a JSON number"),
        ({1: 2}, "the key 1 is no string"),
        ({"a": [], 1: 2}, "the key 1 is no string"),
        ([b"x"], "a bytes is not a JSON value"),
        ((1,), "a tuple is not a JSON value"),
        ([10**5_000], "4300 digits"),
    ],
)
def test_objects_that_are_no_json_are_refused(value: Any, problem: str) -> None:
    """The copy refuses what could not have come from a wire, with its path."""
    with pytest.raises(WireError, match=problem):
        copy_json(value)


def test_subclasses_become_plain_values() -> None:
    """Enums and the like are taken for what they hold."""
    copied = copy_json([Colour.RED, Spelled("1.50")])

    assert copied == ["red", 1.5]
    assert type(copied[0]) is str


def test_a_deep_object_is_refused_not_crashed_on() -> None:
    """Ten thousand levels given as Python lists end as `WireError`."""
    value: list[Any] = []
    for _ in range(10_000):
        value = [value]

    with pytest.raises(WireError, match="nested deeper"):
        copy_json(value)
