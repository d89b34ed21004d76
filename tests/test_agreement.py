"""Chapter 27 says what is counted today."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from .agreement import TABLES, place


@pytest.mark.parametrize("name", TABLES)
def test_the_tables_of_agreement_are_what_is_counted(shared: Path, name: str) -> None:
    """Run ``python -m tests.agreement`` after a change of the rules, and say why in the log of changes."""
    assert place(name)[1] == TABLES[name](shared)


def test_what_was_accepted_has_no_error_and_everything_is_written_back() -> None:
    """The committed figures themselves: no false error, no loss, no refusal that a rule says and does not find."""
    for line in place("recorded")[1].splitlines()[2:]:
        _dialect, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        everything, same, accepted, error, _warning, refused, seen, found = (int(cell.replace(",", "")) for cell in cells)

        assert (everything, same) == (accepted + refused, everything)
        assert error == 0
        assert found == seen


def test_the_chapter_holds_counts_only() -> None:
    """No body, no answer, no name of a model or a project."""
    rows = [line for name in TABLES for line in place(name)[1].splitlines()[2:]]

    assert all(re.fullmatch(r"\| [a-z-]+ (\| [0-9,]+ )+\|", row) for row in rows)
