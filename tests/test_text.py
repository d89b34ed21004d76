"""Safe boundaries, lines, escaping and quoting; all of it with and without the regex package."""

from __future__ import annotations

import importlib.util
import re
import sys
import unicodedata
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactlib import text as subject
from compactlib.text import (
    CLUSTER_LIMIT_CHARS,
    ESCAPE_LIMIT_CHARS,
    SEGMENTATION_VERSION,
    ceiling,
    count_newlines,
    escape,
    floor,
    head_of_lines,
    quote_lines,
    segmenter,
    tail_of_lines,
)

HAS_REGEX = importlib.util.find_spec("regex") is not None


@pytest.fixture(params=["with regex", "without regex"], autouse=True)
def segmentation(request: pytest.FixtureRequest) -> Iterator[str]:
    """Each test here runs twice: with the regex package, and as if it were not installed."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "without regex":
            patch.setitem(sys.modules, "regex", None)
        elif not HAS_REGEX:
            pytest.skip("the regex package is not installed")
        subject._regex.cache_clear()
        yield request.param
    subject._regex.cache_clear()


WHOLE = {
    "a letter with one accent": "e\u0301",
    "a letter with thirty accents": "e" + "\u0301\u0323" * 15,
    "CRLF": "\r\n",
    "an emoji with a variation selector": "❤\ufe0f",
    "a keycap": "1\ufe0f\u20e3",
    "an emoji with a skin tone": "👍🏽",
    "a family": "👩🏽\u200d❤\ufe0f\u200d💋\u200d👩🏻",
    "a flag": "🇷🇺",
    "a flag of a region": "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
    "the rainbow flag": "🏳\ufe0f\u200d🌈",
    "a Hangul syllable of three jamo": "\u1112\u1161\u11ab",
    "a Hangul syllable and a trailing jamo": "\ud558\u11ab",
    "a Devanagari conjunct": "क्षि",
    "a Bengali conjunct with a nukta after the virama": "ক\u09cd\u09bcষ",
    "Thai AM": "กำ",
    "an Arabic number sign and its digit": "\u06001",
    "a surrogate pair as two code points": "\ud83d\ude00",
    "a family in surrogates": "\ud83d\udc69\u200d\ud83d\udc66",
    "a flag in surrogates": "\ud83c\uddf7\ud83c\uddfa",
    "a skin tone in surrogates": "\ud83d\udc4d\ud83c\udffd",
    "a colour": "\x1b[38;5;196m",
    "a colour in 8 bits": "\x9b31m",
    "a private mode": "\x1b[?25h",
    "a title ended by BEL": "\x1b]0;title\x07",
    "a link ended by ST": "\x1b]8;;https://example.org/a?b=c\x1b\\",
    "a link in 8 bits": "\x9d8;;https://example.org\x9c",
    "a device control string": "\x1bPq#0;2;0;0;0\x1b\\",
    "a charset": "\x1b(B",
    "a reset": "\x1bc",
    "a colour and the accent on its last letter": "\x1b[1m\u0301",
}


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("around", [("", ""), ("a", "b"), ("\n", "\n"), ("é", "é"), ("\x1b[0m", "\x1b[0m"), ("漢", "漢")])
def test_what_belongs_together_is_not_split(name: str, around: tuple[str, str]) -> None:
    """No boundary falls inside, one falls on each side, whatever stands around it."""
    before, after = around
    text = before + WHOLE[name] + after
    start, stop = len(before), len(before) + len(WHOLE[name])
    places = range(start + 1, stop)

    assert [start] * len(places) == [floor(text, place) for place in places]
    assert [stop] * len(places) == [ceiling(text, place) for place in places]
    assert (start, stop) == (floor(text, start), ceiling(text, stop))


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("🇷🇺🇫🇷", 2),  # between two flags
        ("a\r\r\n", 2),
        ("\n\u0301", 1),  # nothing combines with a newline
        ("\x1b\x1b[0m", 1),
        ("\x1b]unterminated text", 2),  # an introducer without an end is only itself
        ("\x1b]0;first\nsecond\x07", 5),  # a string ends with its line
        ("\ude00\ud83d", 1),  # the wrong way round
        ("\ud83da", 1),  # half of a pair
        ("한국", 1),
        ("가나", 1),
        ("नम", 1),
    ],
)
def test_what_only_looks_as_if_may_be_split(text: str, place: int) -> None:
    """Neighbours that do not belong together have a boundary between them."""
    assert (place, place) == (floor(text, place), ceiling(text, place))


def test_an_index_beyond_an_end_means_that_end() -> None:
    """Indices are clamped."""
    assert (floor("abc", -5), ceiling("abc", -5), floor("abc", 9), ceiling("abc", 9)) == (0, 0, 3, 3)
    assert (floor("", 0), ceiling("", 1)) == (0, 0)


def test_a_cluster_beyond_the_limit_is_cut_between_code_points() -> None:
    """The first part of an endless cluster is whole; after it any code point boundary will do, but no pair is split."""
    marks = "a" + "\u0301" * 500

    assert [floor(marks, place) for place in range(1, CLUSTER_LIMIT_CHARS)] == [0] * (CLUSTER_LIMIT_CHARS - 1)
    assert list(range(70, 400)) == [floor(marks, place) for place in range(70, 400)]
    assert floor("a" + "\ud83d\ude00\u200d" * 200, 302) == 301  # 302 is inside a pair


def test_an_escape_beyond_the_limit_is_text() -> None:
    """A string that does not end within the limit is not an escape."""
    short, long = ("\x1b]" + "x" * size + "\x07" for size in (ESCAPE_LIMIT_CHARS - 3, ESCAPE_LIMIT_CHARS + 1))

    assert (0, len(short)) == (floor(short, 2000), ceiling(short, 2000))
    assert (floor(long, 2000), ceiling(long, 2000)) == (2000, 2000)


HOSTILE = {
    "combining marks": "a" + "\u0301" * 1_000_000,
    "joiners": "👩\u200d" * 500_000,
    "flags": "\U0001f1e6" * 1_000_001,
    "flags in surrogates": "\ud83c\udde6" * 500_000,
    "one unterminated string": "\x1b]" + "x" * 1_000_000,
    "many unterminated strings": "\x1b]" * 500_000,
    "parameters": "\x1b[" + "1;" * 500_000,
    "string terminators": "\x1b\\" * 500_000,
    "viramas": "क्" * 500_000,
    "jamo": "\u1100" * 1_000_000,
    "high surrogates": "\ud800" * 1_000_000,
    "unassigned": "\u0378" * 1_000_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_boundary_depends_on_a_bounded_neighbourhood(name: str) -> None:
    """In a megabyte of hostile text the answer is that of its surroundings, so the cost does not depend on the size."""
    text = HOSTILE[name]
    for place in (1, 77, 4_999, 500_000, 500_001, len(text) - 1):
        low = floor(text, place)
        high = ceiling(text, place)

        assert place - ESCAPE_LIMIT_CHARS <= low <= place <= high <= place + ESCAPE_LIMIT_CHARS
        if place > 3 * ESCAPE_LIMIT_CHARS:
            start = place - 2 * ESCAPE_LIMIT_CHARS
            assert low - start == floor(text[start : place + 2 * ESCAPE_LIMIT_CHARS], place - start)


CHUNKS = [
    *WHOLE.values(),
    *("a", "я", "漢", "\n", "\r", " ", "\x1b", "\x1b]", "\x1b[", "\x9b", "\x07", "\x1b\\", "0;", "m"),
    *("\u0301", "\u200d", "\ufe0f", "\u094d", "\u0600", "\u200c", "\u0e33"),
    *("\ud83d", "\ude00", "🇷", "\u1100", "\u1161", "\u11a8", "क"),
]
TEXTS = st.lists(st.sampled_from(CHUNKS), max_size=30).map("".join)
ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\n\r\x18\x1a\x1b\x80-\x9f]*(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]*[0-~]"
)


def boundaries(text: str) -> set[int]:
    """All safe boundaries, found one by one."""
    return {place for place in range(len(text) + 1) if floor(text, place) == place}


@given(TEXTS, st.integers(-2, 90))
def test_floor_and_ceiling_are_the_nearest_boundaries(text: str, index: int) -> None:
    """Law of the two functions: nearest, on either side, and at the same places."""
    safe = boundaries(text)

    assert safe == {place for place in range(len(text) + 1) if ceiling(text, place) == place}
    assert max(place for place in safe if place <= min(max(index, 0), len(text))) == floor(text, index)
    assert min(place for place in safe if place >= min(max(index, 0), len(text))) == ceiling(text, index)


@given(TEXTS)
def test_escapes_are_those_that_a_terminal_reads_from_the_start(text: str) -> None:
    """Looking back from a place finds the same escapes as reading forward."""
    inside = {place for found in ESCAPES.finditer(text) for place in range(found.start() + 1, found.end())}

    assert set() == inside & boundaries(text)


def clusters(text: str) -> set[int]:
    """The boundaries of the regex package; surrogate pairs are read as the characters they are."""
    regex = pytest.importorskip("regex")
    at, stops = 0, {0}
    for cluster in regex.findall(r"\X", text):
        at += len(cluster)
        stops.add(at)
    return stops


ASSIGNED = st.characters(exclude_categories=["Cn", "Cs"])
JOINERS = [*CHUNKS[:17], "\u0301", "\u200d", "क", "\u094d", "🇷", "\u0600", "\u1cf5"]
MARKED = st.lists(st.one_of(st.sampled_from(JOINERS), ASSIGNED), max_size=12)


@given(MARKED.map("".join))
def test_no_boundary_falls_inside_a_cluster_of_the_regex_package(text: str) -> None:
    """The rules here join more than Unicode's where they differ, and never less."""
    if sys.modules.get("regex", False) is None:
        return  # there is nothing to compare with

    assert set() == boundaries(text) - clusters(text)


@given(MARKED.map("".join), st.text(max_size=4))
def test_both_segmenters_agree_on_assigned_characters(text: str, more: str) -> None:
    """Law L16: with and without the package the boundaries differ on unassigned characters only."""
    text += "".join(char for char in more if unicodedata.category(char) != "Cn")
    found = []
    for module in (subject._regex(), None):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(subject, "_regex", lambda module=module: module)
            found.append(boundaries(text))

    assert found[0] == found[1]


def test_the_regex_package_adds_what_this_python_does_not_know(segmentation: str) -> None:
    """A mark younger than the tables of the standard library is joined if the package knows it."""
    young = "\U00010efd"  # ARABIC SMALL LOW WORD SAKTA, Unicode 15
    if unicodedata.category(young) != "Cn":
        pytest.skip("this Python knows the mark itself")

    assert (segmentation == "without regex") == (floor(f"ب{young}", 1) == 1)


def test_the_segmenter_is_named(segmentation: str) -> None:
    """The record can say what was in use (law L16)."""
    tables = f"compactlib-{SEGMENTATION_VERSION} unicode-{unicodedata.unidata_version}"

    assert segmenter().startswith(tables)
    assert (segmentation == "with regex") == (" regex-" in segmenter())


# --- Lines -------------------------------------------------------------------


def test_a_crlf_is_one_newline_and_a_lone_cr_is_none() -> None:
    """Law L11: lines are counted as newline characters."""
    assert count_newlines("a\r\nb\nc\rd\u2028e\x0b\r\r\n") == 3
    assert count_newlines("a\nb\nc", 2, 5) == 1


@given(st.text(alphabet="a\n\r", max_size=60), st.integers(-1, 70))
def test_heads_and_tails_have_as_many_lines_as_asked_for(text: str, count: int) -> None:
    """The first and the last lines are those that splitting finds."""
    lines = [line for line in re.split(r"(?<=\n)", text) if line]
    wanted = max(count, 0)

    assert "".join(lines[:wanted]) == text[: head_of_lines(text, count)]
    assert "".join(lines[len(lines) - wanted :] if wanted < len(lines) else lines) == text[tail_of_lines(text, count) :]


@pytest.mark.parametrize("width", [0, 1, 7, 63, 64, 5_000, 40_000])
def test_long_texts_are_divided_like_short_ones(width: int) -> None:
    """Strides change nothing but the time."""
    text = ("x" * width + "\n") * (200_000 // (width + 1))
    for count in (1, 2, text.count("\n") - 1, text.count("\n"), text.count("\n") + 1):
        size = min(count, text.count("\n")) * (width + 1)

        assert (size, len(text) - size) == (head_of_lines(text, count), tail_of_lines(text, count))


# --- Escaping and quoting ----------------------------------------------------

EVERYTHING = "".join(map(chr, range(0x110000)))


def test_nothing_that_acts_on_a_terminal_is_left() -> None:
    """Over all code points: controls, separators, bidirectional controls, tags and surrogates are shown, others kept."""
    shown = escape(EVERYTHING)
    left = set(EVERYTHING) & set(shown)

    assert {"\t"} == {char for char in left if unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp")}
    assert set() == {char for char in left if unicodedata.bidirectional(char)[-1:] in ("E", "O", "F", "I")}  # LRE, RLO, PDF...
    assert set() == left & set("\u061c\u200e\u200f\U000e0041")
    assert {"é", "я", "漢", "😀", "\u200d", "\\"} <= left
    shown.encode()  # a lone surrogate would fail here


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("a\nb\r\n\rc\td", "a\\nb\\r\\n\\rc\td"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("\x85\u2028\u2029", "\\x85\\u2028\\u2029"),
        ("\ud83d", "\\ud83d"),
        ("\U000e0041", "\\U000e0041"),
        ("C:\\new", "C:\\new"),
    ],
)
def test_what_would_act_is_shown(text: str, shown: str) -> None:
    """Escapes are those of Python."""
    assert shown == escape(text)


def test_newlines_may_be_kept() -> None:
    """LF and CRLF go through when asked; a CR that would overwrite its line does not."""
    assert escape("a\nb\r\n\rc", keep_newlines=True) == "a\nb\r\n\\rc"


@given(st.one_of(TEXTS, st.text()))
def test_each_line_of_a_quotation_is_prefixed(text: str) -> None:
    """Law L25 (a): whatever anybody calls a line, it begins with the prefix."""
    quoted = quote_lines(text)

    assert quoted.split("\n") == quoted.splitlines()
    assert all(line.startswith("> ") for line in quoted.splitlines())
    assert text.count("\n") + 1 == len(quoted.splitlines())
    quoted.encode()


def test_a_quotation_keeps_what_does_no_harm() -> None:
    """Words, tabs, backslashes and directions of writing are not changed."""
    text = "tab\t\\ שלום\u200f 😀 e\u0301"

    assert f"> {text}" == quote_lines(text)
    assert quote_lines("a\n") == "> a\n> "
    assert quote_lines("") == "> "
