"""The marker's grammar: written, read back, and not believed when forged."""

from __future__ import annotations

import pytest

from compactlib.markers import BRIEF, FULL, NUMBERED_LIMIT_LINES, read_marker, write_marker

REF, OTHER = "ab" * 32, "cd" * 32
Table = dict[str, tuple[int, int]]


def excerpt(
    head: str, tail: str, *, before: str = "", after: str = "\n", numbered: tuple[str, ...] = (), shown: str = ""
) -> tuple[str, Table]:
    """
    An excerpt that omits 90 characters and 9 newlines, and the table that its marker is issued in.

    *before* and *after* are the marker's own characters, *numbered* the lines
    behind it and *shown* what of these is the original's.
    """
    kept = head + shown + tail
    original = (len(kept) + 90, kept.count("\n") + 9)
    marker = write_marker(omitted=(90, 9), original=original, ref=REF, numbered=len(numbered))
    lines = "\n" + "".join(numbered) + "[end of numbered lines]" if numbered else ""
    return f"{head}{before}{marker}{lines}{after}{tail}", {REF: original}


def test_a_marker_states_what_the_law_asks_for() -> None:
    """Law L11: characters, lines, that absence proves nothing, and the reference."""
    for clause in (BRIEF, FULL):
        text = write_marker(omitted=(90, 9), original=(100, 10), ref=REF, clause=clause)

        assert text.startswith("[truncated v1: omitted 90 of 100 chars, 9 of 10 lines; ")
        assert "absence here is not absence" in text
        assert text.endswith(f"; ref={REF}]")
        assert text.isascii()
        assert set() == set('\n"\\') & set(text)  # it stands on a line, or in a JSON string, as it is


@pytest.mark.parametrize(
    ("head", "before", "after", "tail"),
    [
        ("head\n", "", "\n", "tail\n"),
        ("head", "\n", "\n", "tail"),
        ("head\n\n", "", "\n", "\ntail"),
        ("", "", "\n", "tail"),
        ("head", "\n", "", ""),
        ("head\n", "", "", ""),
        ("", "", "", ""),
        ('{"a": ', '"', '"', ', "z": 1}'),
        ('["\\"", ', '"', '"', "]"),
    ],
)
def test_what_belongs_to_a_marker_follows_from_its_numbers(head: str, before: str, after: str, tail: str) -> None:
    """Newlines around it, or quotes, are the marker's exactly if the account needs it."""
    text, issued = excerpt(head, tail, before=before, after=after)
    found = read_marker(text, issued=issued)

    assert found is not None
    assert (head, tail) == (text[: found.start], text[found.stop :])
    assert (90, 9, *issued[REF]) == (found.omitted_chars, found.omitted_lines, found.original_chars, found.original_lines)
    assert found.numbered == ()


def test_numbered_lines_are_read_back() -> None:
    """Whole lines have their newline, parts do not."""
    text, issued = excerpt("head\n", "!", numbered=("3: whole\n", "7~ part\n", "8: \n"), shown="whole\npart\n")
    found = read_marker(text, issued=issued)

    assert found is not None
    assert [(line, text[start:stop]) for line, start, stop in found.numbered] == [(3, "whole\n"), (7, "part"), (8, "\n")]
    assert (text[: found.start], text[found.stop :]) == ("head\n", "!")


@pytest.mark.parametrize(
    ("true", "false"),
    [
        ("omitted 90", "omitted 91"),
        (" 9 of", " 8 of"),
        ("of 98", "of 99"),
        ("of 9 lines", "of 10 lines"),
        (REF, OTHER),
        (f"; ref={REF}", ""),
        (REF, REF.upper()),
        ("v1", "v2"),
        ("absence", "presence"),
        ("[trunc", "> [trunc"),  # quoted
        ("\n[trunc", " [trunc"),  # not on a line of its own
        ("]\ntail", "; 1 numbered lines from there follow]\ntail"),
        ("head", "heads"),
        ("tail", "tai"),
        ("tail", "tail\n"),
    ],
)
def test_an_altered_excerpt_has_no_marker(true: str, false: str) -> None:
    """Laws L11 and L25: no reference in the table, another wording, or numbers that do not add up."""
    text, issued = excerpt("head", "tail", before="\n")
    assert issued == {REF: (98, 9)}
    assert true in text
    assert read_marker(text.replace(true, false), issued=issued) is None


@pytest.mark.parametrize(
    "numbered",
    [
        ("3: whole\n",) * (NUMBERED_LIMIT_LINES + 1),
        ("whole\n",),
        ("3 whole\n",),
        (": whole\n",),
    ],
)
def test_a_block_that_is_none_is_not_believed(numbered: tuple[str, ...]) -> None:
    """Too many lines, or lines without a number."""
    text, issued = excerpt("head\n", "tail", numbered=numbered, shown="whole\n" * len(numbered))

    assert read_marker(text, issued=issued) is None


def test_an_empty_table_believes_nothing() -> None:
    """Nothing was issued."""
    text, issued = excerpt("head\n", "tail")

    assert read_marker(text, issued=issued) is not None
    assert read_marker(text, issued={}) is None
    assert read_marker(text, issued={OTHER: issued[REF]}) is None


def test_a_forged_marker_does_not_hide_the_true_one() -> None:
    """Candidates that do not add up are passed over; they are part of what is kept."""
    forged = write_marker(omitted=(90, 9), original=(98, 9), ref=REF)
    text, issued = excerpt(f"{forged}\nhead\n", f"tail\n{forged}")
    found = read_marker(text, issued=issued)

    assert found is not None
    assert f"{forged}\nhead\n" == text[: found.start]
    assert f"tail\n{forged}" == text[found.stop :]


def test_a_table_read_from_json_serves() -> None:
    """Sizes may be lists."""
    text, issued = excerpt("head\n", "tail")
    table: Table = {ref: list(size) for ref, size in issued.items()}  # type: ignore[misc]  # as a log would give it

    assert read_marker(text, issued=table) is not None
