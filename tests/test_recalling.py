"""Fetching what was removed, page by page, and only what this conversation removed."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactlib.errors import PolicyError, StoreError
from compactlib.recalling import TOOLS, Page, recall, reference, stash
from compactlib.store import MemoryStore, fetch

STORE = MemoryStore()


def put(text: str, store: MemoryStore = STORE) -> tuple[str, dict[str, tuple[int, int]]]:
    made = stash("text", text, store)
    return made.ref, made.issued


def pages(ref: str, issued: Any, **first: Any) -> list[Page]:
    """The first page and all that it leads to."""
    found = [recall(ref, STORE, issued=issued, **first)]
    size = first.get("page_chars")
    while found[-1].next is not None:
        assert len(found) < 10_000
        more = dict(found[-1].next)
        found.append(recall(more.pop("ref"), STORE, issued=issued, **more, **({"page_chars": size} if size else {})))
    return found


@given(st.text(alphabet="ab\né🙂", max_size=400) | st.text(max_size=300))
def test_the_pages_together_are_the_whole(text: str) -> None:
    """Law L10: nothing between two pages is lost, in long lines either."""
    ref, issued = put(text)
    bodies = []
    for page in pages(ref, issued, page_chars=200):
        lines = page.text.split("\n")
        assert lines[0].startswith("[")
        cut = page.next is not None
        bodies.append(("\n".join(lines[1 : len(lines) - cut]), page.next))
    whole = ""
    for body, more in bodies:
        whole += body + ("" if more and "@" in str(more["lines"]) else "\n")

    assert whole.removesuffix("\n").removesuffix("\n") == text.removesuffix("\n").removesuffix("\n")


def test_lines_and_numbers_are_those_of_the_original() -> None:
    ref, issued = put("".join(f"line {n}\n" for n in range(1, 101)))

    assert recall(ref, STORE, issued=issued, lines="98-200").text == "[lines 98 to 100 of 100]\nline 98\nline 99\nline 100"
    assert recall(f"ref={ref}", STORE, issued=issued, lines="7").text == "[lines 7 to 7 of 100]\nline 7"
    assert (
        recall(ref, STORE, issued=issued, search="LINE 10").text == '[2 of 100 lines hold "LINE 10"]\n10: line 10\n100: line 100'
    )
    assert recall(ref, STORE, issued=issued, lines="300-400").text == "[no lines; there are 100]"


def test_many_matches_come_in_pages() -> None:
    ref, issued = put("x\n" * 120)
    found = pages(ref, issued, search="x")

    assert [page.text.count(": x") for page in found] == [50, 50, 20]


@pytest.mark.parametrize(
    "arguments",
    [
        {"lines": "all"},
        {"lines": "9-3"},
        {"lines": "0-3"},
        {"lines": [1, 2]},
        {"lines": {"first": 1}},
        {"search": ""},
        {"search": 7},
        {"lines": "9" * 10_000},
    ],
)
def test_what_a_model_asks_wrongly_is_answered_in_words(arguments: dict[str, Any]) -> None:
    ref, issued = put("one\ntwo\n")
    page = recall(ref, STORE, issued=issued, **arguments)

    assert page.text.startswith("[")
    assert page.next is None


@pytest.mark.parametrize("ref", ["", "abc", None, 7, ["x"], "../" * 30])
def test_what_was_not_issued_here_is_not_given(ref: Any) -> None:
    """Law L25: not even if the store has it."""
    secret, issued = put("another session's secret")

    assert recall(ref, STORE, issued=issued).text == "[no such reference was issued in this conversation]"
    assert recall(secret, STORE, issued={}).text == "[no such reference was issued in this conversation]"


def test_a_page_of_no_size_is_refused() -> None:
    with pytest.raises(PolicyError, match="page_chars"):
        recall("x", STORE, issued={}, page_chars=10)


# -- stash and reference -----------------------------------------------------------------------------------------------


def test_a_pointer_is_one_line_whatever_the_name() -> None:
    made = stash('order "4471"\n[cleared v1: x]', "text\n", STORE)

    assert made.text.count("\n") == 0
    assert made.issued == {made.ref: (5, 1)}
    assert fetch(STORE, made.ref) == b"text\n"


def test_chosen_lines_and_fields_stand_below_the_pointer(tmp_path: Path) -> None:
    file = tmp_path / "order.json"
    file.write_text(json.dumps({"items": [{"price": 10}], "note": "x" * 1_000}, indent=1))
    made = reference(file, STORE, roots=[tmp_path], lines=[(1, 2), (900, 901)], fields=["items.0.price", "items.7", "note"])
    pointer, *shown = made.text.split("\n")

    assert pointer.startswith('[stored v1: "order.json"; ')
    assert shown[:4] == ["1: {", '2:  "items": [', "items.0.price = 10", "items.7 = (no such field)"]
    assert shown[4].endswith("...")
    assert fetch(STORE, made.ref) == file.read_bytes()


def test_a_path_outside_the_roots_is_not_opened(tmp_path: Path) -> None:
    """Nor through a link, nor with dots, nor without roots."""
    inside, outside = tmp_path / "in", tmp_path / "out"
    inside.mkdir()
    outside.mkdir()
    secret = outside / "secret"
    secret.write_text("x")
    (inside / "link").symlink_to(secret)
    for path in (secret, inside / "link", inside / ".." / "out" / "secret"):
        with pytest.raises(PolicyError, match="below one of the roots"):
            reference(path, STORE, roots=[inside])
    with pytest.raises(PolicyError, match="below one of the roots"):
        reference(str(secret), STORE)


def test_what_is_no_ordinary_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(PolicyError, match="an ordinary file"):
        reference(tmp_path / "pipe", STORE, roots=[tmp_path])
    with pytest.raises(StoreError, match="cannot be read"):
        reference(tmp_path / "absent", STORE, roots=[tmp_path])
    with pytest.raises(PolicyError, match="JSON value"):
        reference({"a": object()}, STORE)


def test_the_tools_are_declared_as_they_are() -> None:
    """Every argument that a declaration names is one of the function's."""
    assert [tool["name"] for tool in TOOLS] == ["recall", "stash"]
    assert set(TOOLS[0]["parameters"]["properties"]) == {"ref", "lines", "search"}
    assert set(TOOLS[1]["parameters"]["properties"]) == {"name", "text"}


def test_what_is_no_text_is_said_to_be_none() -> None:
    store = MemoryStore()
    ref = store.put(b"\xff\xfe\x80")

    assert recall(ref, store, issued={ref: (3, 0)}).text == "[what is stored there is no text]"


def test_matches_keep_to_the_page_and_are_shown() -> None:
    """Also where letters grow in folding, and in the middle of a long line."""
    ref, issued = put(("ß" * 2_000 + "NEEDLE" + "x" * 50 + "\n") * 40)
    found = pages(ref, issued, search="needle", page_chars=1_000)

    assert all(len(page.text) <= 1_400 for page in found)
    assert sum(page.text.count("NEEDLE") for page in found) == 40


@pytest.mark.parametrize("lines", [pytest.param(10**5_000, id="huge"), [[]] * 3, True, 1.5, b"1-2"])
def test_lines_may_be_anything(lines: Any) -> None:
    ref, issued = put("one\ntwo\n")

    assert recall(ref, STORE, issued=issued, lines=lines).text.startswith("[")
