"""What `truncate` keeps, by example; the laws over all texts are in `property/test_truncation_laws.py`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from compactlib.errors import PolicyError
from compactlib.markers import read_marker
from compactlib.truncation import Truncated, truncate

REF = "5f" * 32
LOG = "".join(f"line {number}\n" for number in range(1, 1001))


def pieces(text: str, made: Truncated) -> list[str]:
    """What is shown."""
    return [text[start:stop] for start, stop in made.pieces]


def test_a_text_that_fits_is_the_same_object() -> None:
    """Nothing is done, and the account says so."""
    fitting: list[dict[str, Any]] = [{"limit_chars": len(LOG)}, {"limit_lines": 1000}, {"limit_tokens": 10**9}]
    for limits in [*fitting, {"limit_chars": 10**9, "limit_lines": 1000}]:
        made = truncate(LOG, **limits, ref=REF)

        assert made.text is LOG
        assert (len(LOG), 1000, 0, 0, REF, False) == (
            made.original_chars, made.original_lines, made.omitted_chars, made.omitted_lines, made.ref, made.truncated
        )  # fmt: skip
        assert pieces(LOG, made) == [LOG]
    assert truncate("", limit_chars=0, limit_lines=0, limit_tokens=0).pieces == ()


def test_head_and_tail_stand_around_the_marker() -> None:
    """Whole lines, the tail no shorter than the head, and the limit nearly used."""
    made = truncate(LOG, limit_chars=1000)
    head, tail = pieces(LOG, made)

    assert made.text.startswith("line 1\n")
    assert made.text.endswith("line 1000\n")
    numbers = f"{made.omitted_chars} of {len(LOG)} chars, {made.omitted_lines} of 1000 lines"
    assert made.text == f"{head}[truncated v1: omitted {numbers}; absence here is not absence there]\n{tail}"
    assert len(head) <= len(tail)
    assert 950 < len(made.text) <= 1000
    assert made.kept_chars == len(head) + len(tail)


def test_one_side_may_be_kept() -> None:
    """All room goes to it."""
    (head,) = pieces(LOG, truncate(LOG, limit_chars=1000, keep="head"))
    (tail,) = pieces(LOG, truncate(LOG, limit_chars=1000, keep="tail"))

    assert head.startswith("line 1\n")
    assert tail.endswith("\nline 1000\n")
    assert min(len(head), len(tail)) > 800


@pytest.mark.parametrize(("keep", "head", "tail"), [("both", 9, 10), ("head", 19, 0), ("tail", 0, 19)])
@pytest.mark.parametrize("end", ["", "unfinished"])
def test_a_limit_in_lines_counts_the_marker_too(keep: Any, head: int, tail: int, end: str) -> None:
    """Twenty lines, of which one is the marker's."""
    made = truncate(LOG + end, limit_lines=20, keep=keep)
    lines = made.text.splitlines()
    original = (LOG + end).splitlines()

    assert len(lines) == 20
    assert lines[:head] == original[:head]
    assert lines[20 - tail :] == original[len(original) - tail :]
    assert lines[head].startswith("[truncated v1: ")


def test_the_last_line_is_whole_where_it_fits() -> None:
    """The tail takes more than half for it, and the head gives way."""
    text = "first\n" + "middle\n" * 200 + "x" * 700 + "\n"
    made = truncate(text, limit_chars=900)

    assert pieces(text, made)[-1] == "x" * 700 + "\n"
    assert pieces(text, made)[0].startswith("first\n")


def test_one_endless_line_is_cut_on_both_sides() -> None:
    """Where no line ends there is no line to be whole."""
    text = "".join(f"{number}," for number in range(100_000))
    made = truncate(text, limit_chars=4000)
    head, tail = pieces(text, made)

    assert len(made.text) == 4000
    assert len(head) <= len(tail) <= len(head) + 1
    assert (made.original_lines, made.omitted_lines) == (0, 0)


def test_the_marker_explains_itself_where_there_is_room() -> None:
    """Two wordings of one statement."""
    assert "absence here is not absence there" in truncate(LOG, limit_chars=1999).text
    assert "absence here is not absence from the original" in truncate(LOG, limit_chars=2000).text


@pytest.mark.parametrize("name", ["limit_chars", "limit_lines", "limit_tokens"])
def test_an_impossible_limit_names_the_smallest_usable_one(name: str) -> None:
    """Law L11; the named limit works, and one less does not."""
    limit: dict[str, Any] = {name: 0}
    with pytest.raises(PolicyError, match="smallest usable limit is") as caught:
        truncate(LOG, **limit)
    limit[name] = int(str(caught.value).rsplit(" ", 1)[-1])
    made = truncate(LOG, **limit)

    assert (name, "L11") == (caught.value.field, caught.value.rule)
    assert made.pieces == ()
    assert (len(LOG), 1000) == (made.omitted_chars, made.omitted_lines)
    limit[name] -= 1
    with pytest.raises(PolicyError):
        truncate(LOG, **limit)


def test_a_text_shorter_than_any_marker_is_whole_or_refused() -> None:
    """No excerpt of it would be shorter than it."""
    assert truncate("a\nb\nc", limit_lines=3).text == "a\nb\nc"
    with pytest.raises(PolicyError, match=r"limit_lines: 2 .* smallest usable limit is 3"):
        truncate("a\nb\nc", limit_lines=2)


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({}, "limit_chars"),
        ({"limit_chars": -1}, "limit_chars"),
        ({"limit_lines": True}, "limit_lines"),
        ({"limit_tokens": 1.5}, "limit_tokens"),
        ({"limit_chars": 9, "keep": "middle"}, "keep"),
        ({"limit_chars": 9, "form": "xml"}, "form"),
        ({"limit_chars": 9, "ref": "5f"}, "ref"),
        ({"limit_chars": 9, "ref": REF + "\n"}, "ref"),
        ({"limit_chars": 9, "signal_lines": 101}, "signal_lines"),
        ({"limit_chars": 9, "signal_lines": -1}, "signal_lines"),
        ({"limit_tokens": 9, "counter": lambda text: -1}, "counter"),
        ({"limit_tokens": 9, "counter": lambda text: 1.0}, "counter"),
    ],
)
def test_impossible_arguments_are_refused(arguments: dict[str, Any], field: str) -> None:
    """By name, whatever the text."""
    with pytest.raises(PolicyError) as caught:
        truncate("text", **arguments)

    assert field == caught.value.field


def test_any_unit_that_can_be_counted_can_be_a_limit() -> None:
    """Bytes, for one."""
    text = "→" * 2000
    made = truncate(text, limit_tokens=2000, counter=lambda text: len(text.encode()))

    assert 1900 < len(made.text.encode()) <= 2000


def test_several_limits_hold_together() -> None:
    """The tightest decides."""
    made = truncate(LOG, limit_chars=5000, limit_lines=400, limit_tokens=300, counter=lambda text: len(text) // 10)

    assert len(made.text) // 10 <= 300
    assert truncate(LOG, limit_chars=700, limit_lines=400) == truncate(LOG, limit_chars=700)


# --- Notable lines -----------------------------------------------------------

MIDDLE = LOG.replace("line 500\n", "test bad ... FAILED\n").replace("line 600\n", "error: " + "x" * 1000 + "\n")


def test_notable_lines_of_the_middle_follow_the_marker_with_their_numbers() -> None:
    """Whole lines with a colon, parts of lines with a tilde; all of them are pieces."""
    made = truncate(MIDDLE, limit_chars=2500)
    _, whole, part, _ = pieces(MIDDLE, made)

    assert "; 2 numbered lines from there follow]\n500: test bad ... FAILED\n600~ error: xxx" in made.text
    assert whole == "test bad ... FAILED\n"
    assert f"600~ {part}\n[end of numbered lines]\n" in made.text
    assert MIDDLE.count("\n") == made.omitted_lines + sum(piece.count("\n") for piece in pieces(MIDDLE, made))


def test_notable_lines_are_looked_for_where_that_is_cheap_or_asked_for() -> None:
    """By default with both sides kept and up to 65,536 characters."""
    long = MIDDLE + "line\n" * 14_000

    assert "500: " in truncate(MIDDLE, limit_lines=50).text
    assert "500: " not in truncate(MIDDLE, limit_lines=50, signal_lines=0).text
    assert "500: " not in truncate(MIDDLE, limit_lines=50, keep="tail").text
    assert "500: " in truncate(MIDDLE, limit_lines=50, keep="tail", signal_lines=1).text
    assert "500: " not in truncate(long, limit_lines=50).text
    assert "500: " in truncate(long, limit_lines=50, signal_lines=3).text


def test_notable_lines_count_against_a_limit_in_lines() -> None:
    """So do the marker and the line that ends them."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    text = "".join(f"error in {one}{other}\n" for one in letters for other in letters)
    made = truncate(text, limit_lines=40, signal_lines=100)

    assert len(made.text.splitlines()) == 40
    assert "; 9 numbered lines" in made.text


# --- Again -------------------------------------------------------------------


def test_an_excerpt_is_shortened_as_its_original() -> None:
    """Sizes, line numbers and the reference are those of the first text."""
    first = truncate(MIDDLE, limit_chars=3000, ref=REF)
    issued = {REF: (first.original_chars, first.original_lines)}
    second = truncate(first.text, limit_chars=1500, issued=issued)
    head, whole, tail = pieces(first.text, second)

    assert (len(MIDDLE), 1000, REF) == (second.original_chars, second.original_lines, second.ref)
    assert len(MIDDLE) == second.omitted_chars + len(head + whole + tail)
    assert MIDDLE.startswith(head)
    assert MIDDLE.endswith(tail)
    assert "\n500: test bad ... FAILED\n" in second.text
    assert second.text.count("[truncated v1: ") == 1
    assert f"of {len(MIDDLE)} chars" in second.text


def test_without_the_table_an_excerpt_is_a_text_like_any_other() -> None:
    """Its marker is data."""
    first = truncate(LOG, limit_chars=3000, ref=REF)
    second = truncate(first.text, limit_chars=1500)

    assert (len(first.text), None) == (second.original_chars, second.ref)


def test_an_excerpt_with_a_side_missing_keeps_it_missing() -> None:
    """The new marker covers the place of the old one."""
    first = truncate(LOG, limit_chars=3000, keep="head", ref=REF)
    second = truncate(first.text, limit_chars=1500, keep="both", issued={REF: (len(LOG), 1000)})

    assert second.text.startswith("line 1\n")
    assert second.text.endswith("]")
    assert len(pieces(first.text, second)[0]) > 1200


def test_notable_lines_of_what_an_excerpt_loses_are_numbered_as_in_the_original() -> None:
    """Before the old marker by counting from the start, behind it from the end."""
    text = LOG.replace("line 90\n", "error at ninety\n").replace("line 930\n", "FAILED near the end\n")
    first = truncate(text, limit_chars=4000, ref=REF, signal_lines=0)
    second = truncate(first.text, limit_chars=1000, issued={REF: (len(text), 1000)})

    assert "\n90: error at ninety\n930: FAILED near the end\n" in second.text


# --- JSON --------------------------------------------------------------------

ROWS: dict[str, Any] = {"status": "ok", "rows": [{"id": number, "name": f"row {number}"} for number in range(500)], "total": 500}


@pytest.mark.parametrize("indent", [None, 2])
def test_json_loses_whole_values(indent: int | None) -> None:
    """A run of them, in the middle of the list that is too long, and no more than has to go."""
    text = json.dumps(ROWS, indent=indent)
    made = truncate(text, limit_chars=1000, form="json", ref=REF)
    value = json.loads(made.text)
    rows = value["rows"]
    head = rows.index(marker_of(made))
    tail = len(rows) - head - 1

    assert (value["status"], value["total"]) == ("ok", 500)
    assert [*ROWS["rows"][:head], marker_of(made), *ROWS["rows"][-tail:]] == rows
    assert made.pieces[0][1] <= len(text) - made.pieces[1][0] + 60  # the tail has half, as nearly as whole rows allow
    assert 900 < len(made.text) <= 1000
    assert read_marker(made.text, issued={REF: (len(text), text.count("\n"))}) is not None


def marker_of(made: Truncated) -> str:
    """The marker as its JSON value."""
    start = made.text.index("[truncated v1: ")
    return made.text[start : made.text.index("]", start) + 1]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (json.dumps({"a": 1, "log": "x" * 5000, "z": [2]}), {"a": 1, "z": [2]}),
        (json.dumps({"deep": {"er": [[0, "y" * 3000, 1]]}, "n": None}), {"deep": {"er": [[0, 1]]}, "n": None}),
        (json.dumps([{"k": '\\"]},' * 900}, True]), [{}, True]),
    ],
)
def test_the_marker_takes_the_place_of_the_value_that_is_too_large(text: str, kept: Any) -> None:
    """Nothing else is touched."""
    made = truncate(text, limit_chars=400, form="json")
    marker = marker_of(made)

    def without(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: without(inner) for key, inner in value.items() if inner != marker}
        return [without(inner) for inner in value if inner != marker] if isinstance(value, list) else value

    assert kept == without(json.loads(made.text))


@pytest.mark.parametrize("keep", ["head", "tail"])
def test_json_can_keep_one_side(keep: Any) -> None:
    """Of the list that is too long."""
    rows = json.loads(truncate(json.dumps(ROWS), limit_chars=1000, form="json", keep=keep).text)["rows"]

    assert isinstance(rows[-1 if keep == "head" else 0], str)
    assert len(rows) > 10


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(ROWS)[:-1],
        json.dumps("one string " * 500),
        json.dumps([1, float("nan")] * 500),
        "[" * 300 + "1, " * 900 + "1" + "]" * 300,
        "[" * 100_000 + "]" * 100_000,
        "{} " * 2000,
    ],
    ids=["torn", "one string", "NaN", "too deep", "far too deep", "several values"],
)
@pytest.mark.parametrize("form", ["json", "auto"])
def test_what_is_no_json_or_cannot_stay_it_is_text(text: str, form: Any) -> None:
    """The text form serves for everything."""
    assert truncate(text, limit_chars=1000, form=form) == truncate(text, limit_chars=1000)


def test_auto_takes_the_form_that_shows_more() -> None:
    """A list of rows stays JSON; of one huge string nothing would be left."""
    string = json.dumps({"log": "x" * 5000})

    assert json.loads(truncate(json.dumps(ROWS), limit_chars=1000, form="auto").text)
    assert json.loads(truncate(string, limit_chars=1000, form="json").text)
    assert truncate(string, limit_chars=1000, form="auto") == truncate(string, limit_chars=1000)
    assert truncate(LOG, limit_chars=1000, form="auto") == truncate(LOG, limit_chars=1000)


def test_huge_integers_and_surrogates_are_json() -> None:
    """No number is too long for it, and no character."""
    text = f'["{chr(0xD800)}", {"9" * 10_000}, "{"😀" * 50}", 1, 2, 3]'
    made = truncate(text, limit_chars=1000, form="json")

    assert made.text.startswith('["\ud800", "[truncated v1: ')
    assert made.text.endswith(f', "{"😀" * 50}", 1, 2, 3]')
