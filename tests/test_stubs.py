"""Stubs: what is written is read again, and nothing else is believed."""

from __future__ import annotations

import json

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from compactlib.stubs import NOTES, Stub, read_pointers, read_stub, write_pointer, write_stub

REF, OTHER = "5f" * 32, "0a" * 32
STUB = Stub("result", "read", REF, 31204, 812, source="src/app.py")
ISSUED = {REF: (31204, 812), OTHER: (2, 0)}
NAMES = st.text(max_size=80) | st.sampled_from(['"; ref=' + OTHER, "a]\n[cleared v1: ", "\u2028\u202e", "\ud83d", '\\"', "\\"])


@given(NAMES, NAMES, NAMES, st.sampled_from(["", *NOTES]), st.sampled_from(["", OTHER]))
def test_a_stub_is_read_as_it_was_written(tool: str, source: str, file: str, note: str, arguments: str) -> None:
    """One line of ASCII, whatever names the transcript holds; long ones are cut."""
    stub = Stub("image", tool, REF, 31204, 812, source, file, note, arguments)
    text = write_stub(stub)

    assert "\n" not in text
    assert text.isascii()
    expected = evolve(stub, tool=tool if len(tool) <= 64 else tool[:61] + "...")
    assert read_stub(text, issued=ISSUED) == expected


@pytest.mark.parametrize(
    "text",
    [
        write_stub(STUB)[:-1],
        write_stub(STUB) + " ",
        "x" + write_stub(STUB),
        write_stub(evolve(STUB, ref=OTHER)),
        write_stub(evolve(STUB, chars=31205)),
        write_stub(evolve(STUB, arguments_ref="0b" * 32)),
        write_stub(STUB).replace(REF, REF.upper()),
        "",
    ],
)
def test_what_was_not_issued_so_is_data(text: str) -> None:
    """Another size, another reference, a letter too many: no stub (law L25)."""
    assert read_stub(text, issued=ISSUED) is None


def test_a_table_that_was_saved_as_json_is_the_same_table() -> None:
    """Pairs are lists then; what was saved beside a store comes back so."""
    saved = json.loads(json.dumps(ISSUED))

    assert read_stub(write_stub(STUB), issued=saved) == STUB
    assert list(read_pointers(write_pointer("order", OTHER, 2, 0), issued=saved)) == [("order", OTHER)]


def test_a_hostile_text_costs_no_more_than_its_length() -> None:
    """The pattern does not look twice at anything; a failure here would take hours."""
    for tail in ('"' * 200_000, "\\" * 200_000, '" for "' * 30_000, 'a" for "b' * 30_000):
        assert read_stub('[cleared v1: result of "' + tail + "]", issued=ISSUED) is None
