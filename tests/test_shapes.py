"""Taking objects apart and putting them together: keys, order and residue."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import compactlib as cl
from compactlib.dialects.shapes import (
    ShapeError,
    address,
    blocks_of,
    is_spelled,
    keep,
    objects_of,
    shape_of,
    shape_of_nested,
    spell,
    string,
    write,
    write_nested,
)
from compactlib.model import Block, Text

KEYS = st.sampled_from(["call", "name", "id", "call.name", "", "a\x1fb", "2"])
OBJECTS = st.dictionaries(KEYS, st.none() | st.integers() | st.lists(st.integers()))
KNOWN = st.sets(KEYS)


@given(OBJECTS, KNOWN)
def test_an_object_comes_back(raw: dict[str, Any], known: set[str]) -> None:
    """From the values of what is known and the residue, in the order of its keys."""
    made = write(shape_of(raw, "call", known, keep), {key: raw[key] for key in known & raw.keys()}, keep)

    assert json.dumps(made) == json.dumps(raw)


@given(OBJECTS, OBJECTS, KNOWN, KNOWN, st.integers(0, 3))
def test_an_object_in_an_object_comes_back(
    outer: dict[str, Any], inner: dict[str, Any], known: set[str], known_inside: set[str], at: int
) -> None:
    """Wherever it stands, and whatever keys the two have in common."""
    pairs = [pair for pair in outer.items() if pair[0] != "call"]
    raw = dict([*pairs[:at], ("call", inner), *pairs[at:]])
    known -= {"call"}
    shape = shape_of_nested(raw, "call", known, known_inside, keep)
    made = write_nested(
        shape, {key: raw[key] for key in known & raw.keys()}, {key: inner[key] for key in known_inside & inner.keys()}, keep
    )

    assert json.dumps(made) == json.dumps(raw)


@pytest.mark.parametrize(
    "call",
    [
        {"id": "i", "type": "function", "function": {"name": "n", "arguments": "{}"}, "function.name": "other"},
        {"id": "i", "type": "function", "function": {"name": "n", "arguments": "{}", "a\x1fb": 1}},
        {"function": {"arguments": "{}", "function": {}, "name": "n"}, "id": "i", "name": "other"},
        {"function": {"arguments": "{}", "name": "n"}, "type": ["function"]},
    ],
)
def test_no_key_of_a_call_is_taken_for_another(call: Any) -> None:
    """Keys with dots and separators, one name outside and inside, and a type that is none."""
    body = [{"role": "assistant", "content": None, "tool_calls": [call]}]

    assert json.dumps(cl.render(cl.parse(body, dialect="openai-chat"))) == json.dumps(body)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_a_spelled_value_is_kept_until_its_words_are_changed(value: Any) -> None:
    """Its words are its JSON, and other words are no longer it."""
    text = spell(value, "json")

    assert json.loads(text.text) == value
    assert text.wire.get("json") == value
    assert is_spelled(text)
    assert not is_spelled(Text(text.text + " ", text.wire))
    assert not is_spelled(Text(text.text))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("data:image/png;base64,AA==", ("image/png", "AA==", None)),
        ("data:,words", ("", "words", None)),
        ("data:", ("", "", None)),
        ("https://x.example/data:a,b", ("", None, "https://x.example/data:a,b")),
        (None, ("", None, None)),
        ({"url": "x"}, ("", None, None)),
    ],
)
def test_an_address_holds_data_or_says_where(value: Any, expected: Any) -> None:
    """Media type, data, address."""
    assert address(value) == expected


def test_wrong_shapes_are_named_by_their_path() -> None:
    """Relative to what is read, or from the root where that is known."""

    def read(raw: Any, take: Any) -> Block:
        return Text(take(string(raw, "text")))

    with pytest.raises(ShapeError) as inside:
        string({"text": None}, "text")
    with pytest.raises(cl.WireError) as around:
        blocks_of([{"text": "a"}, {"text": 5}], "$.system", read)
    with pytest.raises(cl.WireError) as among:
        objects_of([{}, 5], "$.tools")

    assert (inside.value.path, inside.value.problem) == (".text", "text is a string, not null or absent")
    assert str(around.value) == "$.system[1].text: text is a string, not a number"
    assert str(among.value) == "$.tools[1]: what stands in tools is an object, not a number"
    assert objects_of(None, "$.tools") == []
