"""Words that the extractive summariser goes by."""

from __future__ import annotations

import pytest

from compactlib.summaries.cues import (
    LONGEST_CHARS,
    cues,
    decisive_line,
    identifies,
    last_line,
    notable_line,
    sentences,
)
from compactlib.text import shortened


@pytest.mark.parametrize(
    ("sentence", "kind"),
    [
        ("Never push to main!", "order"),
        ("Please don’t touch it", "order"),
        ("Make sure the tests pass", "order"),
        ("Не трогай миграции", "order"),
        ("Нужно всегда гонять тесты", "order"),
        ("I added the index.", "done"),
        ("Исправил парсер.", "done"),
        ("I cannot reach the server", "blocked"),
        ("Не удалось подключиться", "blocked"),
        ("We chose uuid because ids collide", "decision"),
        ("Решили взять uuid, потому что id совпадают", "decision"),
        ("Redis was ruled out", "rejected"),
        ("От redis отказались", "rejected"),
        ("Next, the tests", "next"),
        ("Теперь тесты", "next"),
        ("I am working on the parser", "doing"),
    ],
)
def test_a_sentence_is_known_by_its_words(sentence: str, kind: str) -> None:
    """English and Russian, one word or several."""
    assert kind in cues(sentence)


@pytest.mark.parametrize("sentence", ["The donep thing", "This is mustard", "nevertheless it is", "", "12345", "непокорный"])
def test_a_part_of_a_word_is_no_cue(sentence: str) -> None:
    """Only whole words count."""
    assert cues(sentence) == frozenset()


def test_an_unfinished_statement_is_marked_open() -> None:
    """ "Not fixed yet" has the word of completion and the word against it."""
    assert {"done", "open"} <= cues("The parser is not fixed yet")
    assert {"done", "open"} <= cues("Ещё не исправлено")


def test_sentences_are_slices_of_lines() -> None:
    """Bullets, headings and numbers go; fences, quotations and pasted output are passed over."""
    text = "# Plan\n1. Use uuid keys. Never int!\n- keep src/a.py…\n```\ncode\n```\n> quoted\n12:30:01 x\n=> y\nОшибка. Почини"

    found = list(sentences(text))

    assert found == ["Plan", "Use uuid keys.", "Never int!", "keep src/a.py…", "Ошибка.", "Почини"]
    assert all(sentence in text for sentence in found)


def test_a_fence_that_is_never_closed_hides_the_rest() -> None:
    """The rest of the text is code then."""
    assert list(sentences("a b c\n```\nd e f")) == ["a b c"]


def test_long_sentences_are_cut_between_words() -> None:
    """From the front, at most the limit; a single word without an end is not cut at all."""
    assert shortened("word " * 100) == ("word " * 60).strip()[:LONGEST_CHARS]
    assert shortened("x" * 1_000) == ""
    assert shortened("语" * 1_000) == "语" * LONGEST_CHARS


@pytest.mark.parametrize(
    "sentence",
    ["see https://a.example/b", "commit 3f2a91c", "version 1.20.3", "ticket PAY-1203", "fixes #42", "1 234,50 ₽", "takes 30 ms"],
)
def test_identifiers_are_known(sentence: str) -> None:
    """Addresses, hashes, versions, tickets, amounts."""
    assert identifies(sentence)


@pytest.mark.parametrize("sentence", ["nothing here", "deadbeef", "1234567", "utf-8", "step 2 of 3"])
def test_common_words_and_numbers_are_none(sentence: str) -> None:
    """A word of hexadecimal letters and a plain number are no hash."""
    assert not identifies(sentence)


def test_the_decisive_line_of_an_output() -> None:
    """Totals before the last line; the last line that says something before brackets and blanks."""
    assert decisive_line("ok\n3 passed, 1 failed in 0.2s\nreport written") == "3 passed, 1 failed in 0.2s"
    assert decisive_line('{\n  "port": 8080\n}\n') == '"port": 8080'
    assert decisive_line("x\n" * 20_000 + "DEPLOY MARKER 7731\n\n") == "DEPLOY MARKER 7731"
    assert decisive_line("") == ""
    assert last_line("12→\n 13→") == ""
    assert last_line("word " * 1_000 + "the end").endswith(" the end")


def test_the_notable_line_of_an_output() -> None:
    """The worst of it, near either end."""
    assert notable_line("start\nValueError: no key 'a'\n" + "at frame\n" * 5) == "ValueError: no key 'a'"
    assert notable_line("fatal: no repository\n" + "x\n" * 9_000) == "fatal: no repository"
    assert notable_line("all is well\n0 errors") == ""
