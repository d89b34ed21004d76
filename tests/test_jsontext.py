"""JSON as text: the places of its values, and the run that is left out."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactlib.jsontext import DEPTH_LIMIT, find_containers, run_to_omit

NUMBERS = st.one_of(st.integers(), st.floats(allow_nan=False, allow_infinity=False))
SCALARS = st.one_of(st.none(), st.booleans(), NUMBERS, st.text(max_size=9))
JSON = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=5), inner), max_leaves=25)


def children(value: Any) -> list[list[Any]]:
    """The values of each container that has some, inner containers first."""
    inside = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    return [found for inner in inside for found in children(inner)] + ([inside] if inside else [])


@given(JSON, st.sampled_from([None, 0, 3]), st.booleans())
def test_all_values_are_found_where_they_stand(value: Any, indent: int | None, ascii_only: bool) -> None:
    """Each range, read as JSON, is the value; as a reader that builds them finds them."""
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    found = [[json.loads(text[start:stop]) for start, stop in values] for values in find_containers(text)]

    assert children(value) == found


@given(st.lists(JSON, min_size=1, max_size=4), st.integers(0, 80))
def test_small_containers_are_stepped_over(values: list[Any], least_chars: int) -> None:
    """Those that are large enough are found all the same, with all their values."""
    text = json.dumps(values)
    everything = find_containers(text)
    large = find_containers(text, least_chars=least_chars)

    assert large == [container for container in everything if container in large]
    spans = [(container, container[-1][1] - container[0][0]) for container in everything]
    assert all(container in large for container, span in spans if span >= least_chars)
    assert (len(text) >= least_chars) == (everything[-1] in large)  # the outermost one


@pytest.mark.parametrize(
    "text",
    ["", " ", "{", "[1,]", "{'a': 1}", "[NaN]", "[-Infinity]", "[1] [2]", '["\t"]', "[" * 201 + "]" * 201, "[" * 10**6],
    ids=lambda text: ascii(text[:12]),
)
def test_what_is_no_json_has_no_containers(text: str) -> None:
    """Nor has what is nested too deeply."""
    assert find_containers(text) == []


def test_scalars_and_empty_containers_have_no_values() -> None:
    """There is nothing to leave out of them."""
    assert [values for text in ("1", '"[1, 2]"', "null", "[]", "{}") for values in find_containers(text)] == []
    assert find_containers("[[], {}]") == [[(1, 3), (5, 7)]]


def test_the_deepest_legal_nesting_is_read() -> None:
    """One level less than too many."""
    assert len(find_containers("[" * DEPTH_LIMIT + "1" + "]" * DEPTH_LIMIT)) == DEPTH_LIMIT


RUNS = st.lists(st.integers(1, 30), min_size=1, max_size=12)


@given(RUNS, st.integers(0, 400), st.data())
def test_the_run_is_of_whole_values_and_long_enough(sizes: list[int], room_chars: int, data: st.DataObject) -> None:
    """It leaves at most the room, spans what it has to, and another value more would not fit."""
    places = [sum(sizes[:count]) + 2 * count + 1 for count in range(len(sizes))]
    values = list(zip(places, (place + size for place, size in zip(places, sizes, strict=True)), strict=True))
    end = values[-1][1] + 1
    head_stop = data.draw(st.sampled_from([end, *places]))
    tail_start = data.draw(st.sampled_from([0, *(stop for _, stop in values if stop > head_stop or head_stop == end)]))
    run = run_to_omit(values, head_stop=head_stop, tail_start=tail_start, end=end, room_chars=room_chars)
    legal = [
        (start, stop)
        for start, _ in values
        for _, stop in values
        if start < stop and start <= head_stop and stop >= tail_start and start + end - stop <= room_chars
    ]

    assert (run is None) == (legal == [])
    if run is not None:
        assert run in legal
        assert [other for other in legal if other != run and run[0] <= other[0] and other[1] <= run[1]] == []
