"""Notable lines: which words make one, what denies them, and the choice."""

from __future__ import annotations

import pytest

from compactlib import signals as subject
from compactlib.signals import SIGNAL_CHARS, choose_signals, find_signals, looks_failed


def lines(text: str) -> list[str]:
    """The notable lines of *text*."""
    return [text[start:stop] for _, start, stop in find_signals(text)]


@pytest.mark.parametrize(
    "line",
    [
        "test bad_case ... FAILED",
        "test result: FAILED. 299 passed; 1 failed",
        "E   assert 3 == 4",
        "E       AssertionError: 3 != 4",
        "Traceback (most recent call last):",
        "ValueError: bad",
        "java.lang.NullPointerException: x",
        "thread 'main' panicked at src/main.rs:3:5",
        "error[E0382]: borrow of moved value",
        "\x1b[31merror\x1b[0m: expected ;",
        "npm ERR! code ELIFECYCLE",
        "Process finished with exit code 137",
        "make: *** [all] Error 2",
        "10 failed, 390 passed",
        "1.0 failed to parse",
        "Segmentation fault (core dumped)",
        "bash: foo: command not found",
        "ld: undefined reference to `main'",
        "Ошибка: файл не найден",
        "Программа завершилась с кодом 3",
        "не удалось открыть файл",
        "错误：文件不存在",
        "status: failed",
        "the piano error",
        "errors: 10",
    ],
)
def test_lines_that_say_that_something_failed_are_found(line: str) -> None:
    """In the middle, at the beginning and at the end of a text."""
    assert [f"{line}\n"] == lines(f"ok\n{line}\nok\n")
    assert [line] == lines(f"ok\n{line}")
    assert line.startswith("E ") or [f"{line}\n"] == lines(f"{line}\nok")


@pytest.mark.parametrize(
    "line",
    [
        "all is well",
        "0 errors, 0 warnings",
        "400 passed, 0 failed",
        "errors: 0",
        '"error": null,',
        "error=None",
        "no errors found",
        "finished without error",
        "exit code: 0",
        "exited with code 0",
        "exit status 0",
        "без ошибок",
        "ошибок: нет",
        "Terr\u200bor",
    ],
)
def test_lines_that_deny_it_are_not(line: str) -> None:
    """A word whose neighbours say that there was none."""
    assert lines(f"ok\n{line}\nok\n") == []


def test_a_denied_word_does_not_deny_the_next() -> None:
    """Each word has its own neighbours."""
    assert lines("0 errors, then a fatal one\n") == ["0 errors, then a fatal one\n"]


def test_of_a_long_line_the_neighbourhood_is_taken() -> None:
    """However long the line, its piece holds the word and cuts no character."""
    text = "é" * 5000 + "👩\u200d👩" * 50 + " error: here " + "👩\u200d👩" * 5000 + "\nok\n"
    (piece,) = lines(text)

    assert len(piece) <= SIGNAL_CHARS
    assert " error: here " in piece
    assert not piece.startswith("\u200d")
    assert not piece.endswith(("\u200d", "\n"))


def test_the_search_can_be_bounded() -> None:
    """Lines are those of the range."""
    text = "error one\nerror two\nerror three\n"

    assert [signal[1:] for signal in find_signals(text, 10, 20)] == [(10, 20)]
    assert [signal[1:] for signal in find_signals(text, 10, 17)] == [(10, 17)]
    assert find_signals(text, 11, 17) == []


def test_repetitions_rank_below_everything_else() -> None:
    """A line that differs from an earlier one in digits alone gives way to another kind."""
    text = "error 1\nerror 2\nerror 3\nnot found\n"
    chosen = choose_signals(find_signals(text), count=2, room_chars=1000)

    assert [text[start:stop] for _, start, stop in chosen] == ["error 1\n", "not found\n"]


def test_the_choice_prefers_rank_then_both_ends() -> None:
    """Verdicts first; of equals the first, the last, the second."""
    text = "".join(f"error in {name}\n" for name in "abcdef") + "FAILED g\n"
    signals = find_signals(text)

    assert [text[start:stop] for _, start, stop in choose_signals(signals, count=1, room_chars=99)] == ["FAILED g\n"]
    chosen = choose_signals(signals, count=4, room_chars=999)
    assert [text[start:stop] for _, start, stop in chosen] == ["error in a\n", "error in b\n", "error in f\n", "FAILED g\n"]


def test_what_has_no_room_is_left_out() -> None:
    """A long line gives way to a short one of lower rank."""
    signals = [(0, 0, 300), (1, 300, 320)]

    assert choose_signals(signals, count=9, room_chars=100, extra_chars=6) == [(1, 300, 320)]
    assert choose_signals(signals, count=9, room_chars=25, extra_chars=6) == []


def test_the_table_has_no_word_twice() -> None:
    """Nor one that another word of the same rank already finds."""
    for words in subject._WORDS:
        assert [(word, other) for word in words for other in words if word is not other and word in other] == []


@pytest.mark.parametrize("text", ["Error: no", "Traceback (most recent call last):", "x\nexit code: 2", "Exited with code 1"])
def test_an_output_that_says_it_failed(text: str) -> None:
    """By its first words or its exit code."""
    assert looks_failed(text)


@pytest.mark.parametrize("text", ["", "errors: 0", "exit code: 0", "no error", "the text speaks of a fatal error"])
def test_an_output_that_does_not(text: str) -> None:
    """An error that is only mentioned, a code of zero."""
    assert not looks_failed(text)
