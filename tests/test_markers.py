"""The marker's grammar: written, read back, and not believed when forged."""

from __future__ import annotations

import pytest

from compactlib.markers import BRIEF, FULL, NUMBERED_LIMIT_LINES, Marker, read_marker, write_marker

REF = "ab" * 32
ISSUED = {REF: (100, 10)}


def marker(omitted: tuple[int, int] = (90, 9), *, numbered: int = 0, ref: str | None = REF) -> str:
    """A marker of an original of 100 characters and 10 newlines."""
    return write_marker(omitted=omitted, original=(100, 10), ref=ref, numbered=numbered)


def test_a_marker_states_what_the_law_asks_for() -> None:
    """Law L11: characters, lines, that absence proves nothing, and the reference."""
    for clause in (BRIEF, FULL):
        text = write_marker(omitted=(90, 9), original=(100, 10), ref=REF, clause=clause)

        assert text.startswith("[truncated v1: omitted 90 of 100 chars, 9 of 10 lines; ")
        assert "absence here is not absence" in text
        assert text.endswith(f"; ref={REF}]")
        assert "\n" not in text
        assert text.isascii()
        assert not set('"\\') & set(text)  # it stands in a JSON string as it is


@pytest.mark.parametrize(
    ("text", "extent"),
    [
        (f"12345\n{marker()}\n678\n", (5, None)),  # both newlines are the marker's, or the first is the text's: 9 of 10 decide
        (f"12345678\n{marker()}\nx", (9, None)),
        (f"{marker()}\n123456789\n", (0, None)),
        (f"123456789\n{marker()}", (10, None)),
        (f"1234567890\n{marker((90, 10))}", (10, None)),
        (f'["1", "{marker((90, 10))}"]', (6, -1)),
    ],
)
def test_what_belongs_to_a_marker_follows_from_its_numbers(text: str, extent: tuple[int, int | None]) -> None:
    """Newlines around it, or quotes, are the marker's as far as the account needs it."""
    text = text if "[" in text[:1] and '"' in text[:2] else text
    found = read_marker(text, issued=ISSUED)

    assert found is not None
    assert 100 == len(text) - (found.stop - found.start) + found.omitted_chars
    assert 10 == text.count("\n") - text.count("\n", found.start, found.stop) + found.omitted_lines
    assert extent[0] == found.start


def test_numbered_lines_are_read_back() -> None:
    """Whole lines have their newline, parts do not."""
    text = f"head\n{marker((84, 9), numbered=2)}\n3: whole\n7~ part\n[end of numbered lines]\n!"
    found = read_marker(text, issued=ISSUED)

    assert isinstance(found, Marker)
    assert [(3, "whole\n"), (7, "part")] == [(line, text[start:stop]) for line, start, stop in found.numbered]
    assert ("head\n", "!") == (text[: found.start], text[found.stop :])


@pytest.mark.parametrize(
    "text",
    [
        f"12345\n{marker((91, 9))}\n678\n",  # a character too many
        f"12345\n{marker((90, 8))}\n678\n",  # a line too few
        f"12345\n{marker().replace('of 100', 'of 101')}\n678\n",  # another size than the one issued
        f"12345\n{marker(ref='cd' * 32)}\n678\n",  # not issued
        f"12345\n{marker(ref=None)}\n678\n",  # no reference
        f"12345\n{marker().replace('v1', 'v2')}\n678\n",  # another version
        f"12345\n{marker().replace('absence', 'presence')}\n678\n",
        f"12345\n> {marker()}\n678\n",  # quoted
        f"12345 {marker()}\n678\n",  # not on a line of its own
        f"12345\n{marker(numbered=1)}\n678\n",  # says that lines follow
        f"12345\n{marker(numbered=NUMBERED_LIMIT_LINES + 1)}\n" + "1: \n" * (NUMBERED_LIMIT_LINES + 1) + "[end of numbered lines]\n678\n",
        f"1234\n{marker()}\n{marker()}\n678\n",
        "[truncated v1: omitted ",
        "",
    ],
)
def test_what_only_looks_like_a_marker_is_data(text: str) -> None:
    """Laws L11 and L25: no reference in the table, or numbers that do not add up."""
    assert read_marker(text, issued=ISSUED) is None


def test_a_forged_marker_does_not_hide_the_true_one() -> None:
    """Candidates that do not add up are passed over."""
    text = f"{marker((1, 1))}\n{marker()}"
    issued = {REF: (len(marker()) + 1 + 90, 10)}
    true = write_marker(omitted=(90, 9), original=issued[REF], ref=REF)
    text = text.replace(marker(), true)
    found = read_marker(text, issued=issued)

    assert found is not None
    assert text.index(true) == found.start


def test_a_table_read_from_json_serves() -> None:
    """Sizes may be lists."""
    table: dict[str, tuple[int, int]] = {REF: [100, 10]}  # type: ignore[dict-item]  # as a log would give it

    assert read_marker(f"123456789\n{marker()}", issued=table) is not None
