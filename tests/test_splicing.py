"""Values put into the text of a JSON object, and everything else left as it was."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactlib.errors import WireError
from compactlib.transcripts.splicing import Record, records_of, splice, splice_items

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
objects = st.dictionaries(st.sampled_from(["a", "b", "c\n"]), values, max_size=3)
spacing = st.sampled_from([(",", ":"), (", ", ": "), (" ,\t", " : ")])


@given(around=objects, inner=objects, old=values, new=values, gaps=spacing)
def test_one_value_is_another_and_the_rest_is_the_same_text(
    around: dict[str, Any], inner: dict[str, Any], old: Any, new: Any, gaps: tuple[str, str]
) -> None:
    """Two keys deep, whatever stands around it and however it is spaced."""
    mark = "\x00here"
    shape = json.dumps({**around, "x": {**inner, "y": mark}}, separators=gaps)
    text = shape.replace(json.dumps(mark), json.dumps(old, separators=gaps))

    assert splice(text, {("x", "y"): new}) == shape.replace(
        json.dumps(mark), json.dumps(new, ensure_ascii=False, separators=(",", ":"))
    )
    assert splice(text, {("x", "no"): new, ("a", "b", "y", "z"): new}) == text


@given(items=st.lists(values, min_size=1, max_size=5), data=st.data(), gaps=spacing)
def test_items_stand_in_the_order_asked_for(items: list[Any], data: st.DataObject, gaps: tuple[str, str]) -> None:
    """Some left out, some replaced, some new beside others."""
    order = data.draw(st.permutations(range(len(items)))).copy()[: data.draw(st.integers(0, len(items)))]
    changed = {at: "changed" for at in order if data.draw(st.booleans())}
    news = st.sampled_from([([], []), ([], ["new", 1]), (["newer"], []), (["newer"], ["new", 1])])
    beside = {at: data.draw(news) for at in order if data.draw(st.booleans())}
    made = splice_items(json.dumps({"k": 1, "x": items}, separators=gaps), ("x",), order, changed, beside)
    expected = []
    for at in order:
        ahead, behind = beside.get(at, ([], []))
        expected += [*ahead, changed.get(at, items[at]), *behind]

    assert json.loads(made) == {"k": 1, "x": expected}


def test_lines_joined_are_the_file() -> None:
    """Whatever it ends in."""
    for data in (b"", b"\n", b"a", b"a\n", b"\n\na\r\n\x00"):
        assert b"\n".join(record.raw for record in records_of(data)) == data


def test_what_stands_around_an_object_stays() -> None:
    """A byte order mark, NUL bytes and a carriage return are not part of it."""
    record = Record(1, b'\xef\xbb\xbf{"a": 1}\0\r')

    assert record.value == {"a": 1}
    assert record.with_text('{"a": 2}') == b'\xef\xbb\xbf{"a": 2}\0\r'
    assert record.ending == b"\r"


@pytest.mark.parametrize("raw", [b"", b'{"a": 1}{"b": 2}', b'{"a": 1', b"[1]", b"\xff", b'{"a": NaN}', b'{"a": 1, "a": 1}'])
def test_what_is_no_whole_object_cannot_be_changed(raw: bytes) -> None:
    """The line is named."""
    with pytest.raises(WireError, match="line 7"):
        _ = Record(7, raw).value
