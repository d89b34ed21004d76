"""
Law L11, over generated texts: what an excerpt keeps, omits, claims and costs.

The laws:

* kept + omitted = original, in characters and newlines, also when an excerpt is shortened again;
* the result is at most the limit and shorter than the text, or it is the text;
* what is kept are slices of the text, and no character is split;
* with both sides kept, the tail has at least half, and the last line is whole where it fits;
* the marker says all that, and is believed only if it was issued and adds up;
* valid JSON stays valid JSON.

`broken` checks them without any code of the engine.  The saboteurs at the end
show that it notices what it is there for.
"""

from __future__ import annotations

import itertools
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Literal

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from compactlib import text as segmentation
from compactlib.errors import PolicyError
from compactlib.markers import read_marker
from compactlib.truncation import Truncated, truncate

REF, OTHER = "5f" * 32, "0a" * 32
FAKE = f"[truncated v1: omitted 10 of 90 chars, 1 of 3 lines; absence here is not absence there; ref={REF}]"
ATOMS = [
    *("\r\n", "e\u0301", "👩🏽\u200d❤\ufe0f\u200d👩🏻", "🇷🇺", "\u1112\u1161\u11ab", "क्षि", "\ud83d\ude00", "1\ufe0f\u20e3"),
    *("\x1b[31m", "\x1b]8;;https://example.org\x1b\\", "\x1b]0;title\x07"),
]
"""What may not be cut."""
PLAIN = [
    *("a", "word ", "я", "漢字", " ", "\n", "\n\n", "\t", "\ud800", "\x00", "[end of numbered lines]\n"),
    *("error: no such thing\n", "test_a FAILED\n", "Ошибка: нет файла\n", "0 errors\n", "a long line without an end " * 3, FAKE),
]
"""What may be cut anywhere."""


@st.composite
def texts(draw: st.DrawFn) -> tuple[str, set[int]]:
    """A text, and where it may be cut."""
    parts = draw(st.lists(st.tuples(st.sampled_from(ATOMS + PLAIN), st.integers(1, 15)), min_size=1, max_size=25))
    chunks = [chunk for chunk, count in parts for _ in range(count)]
    edges, at = {0}, 0
    for chunk in chunks:
        edges |= {at + len(chunk)} if chunk in ATOMS else set(range(at, at + len(chunk) + 1))
        at += len(chunk)
    return "".join(chunks), edges


PERCENT = st.integers(0, 110)
KEEPS: Any = st.sampled_from(["both", "head", "tail"])
SIGNALS = st.sampled_from([None, 0, 1, 5, 100])
REFS = st.sampled_from([None, OTHER])


@pytest.fixture(params=["with regex", "without regex"], autouse=True)
def segmenter(request: pytest.FixtureRequest) -> Iterator[None]:
    """Each law holds with the regex package and without."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "without regex":
            patch.setitem(sys.modules, "regex", None)
        segmentation._regex.cache_clear()
        yield
    segmentation._regex.cache_clear()


# --- The checks --------------------------------------------------------------

MIDDLE = re.compile(
    r"\n?\[truncated v1: omitted (\d+) of (\d+) chars, (\d+) of (\d+) lines; [^\n\]]*absence here is not absence [^\n\]]*?"
    r"(?:; ref=([0-9a-f]{64}))?"
    r"(?:; (\d+) numbered lines from there follow\]\n((?:\d+[:~] [^\n]*\n)*)\[end of numbered lines)?\]\n?"
)


def shown_lines(text: str) -> int:
    """Lines as a reader counts them."""
    return len(re.findall(r"[^\n]*\n|[^\n]+", text))


def broken(
    text: str,
    made: Truncated,
    *,
    edges: set[int] | None = None,
    keep: str = "both",
    ref: str | None = None,
    limits: Mapping[str, int] = MappingProxyType({}),
) -> set[str]:
    """The clauses of the law that *made*, an excerpt of the first original *text*, breaks."""
    found = set()
    if len(made.text) > limits.get("limit_chars", len(made.text)):
        found.add("limit")
    if shown_lines(made.text) > limits.get("limit_lines", shown_lines(made.text)):
        found.add("limit")
    kept = "".join(text[start:stop] for start, stop in made.pieces)
    if len(kept) + made.omitted_chars != len(text) or len(kept) != made.kept_chars or made.original_chars != len(text):
        found.add("sum of characters")
    if kept.count("\n") + made.omitted_lines != text.count("\n") or made.original_lines != text.count("\n"):
        found.add("sum of lines")
    if made.text == text:
        return found | ({"whole"} if made.truncated or made.omitted_lines else set())
    if len(made.text) >= len(text):
        found.add("longer than the original")
    if any(edge not in edges for piece in made.pieces for edge in piece) if edges is not None else False:
        found.add("split")

    # The first and the last piece are head and tail, or numbered lines that happen to stand at an end of the text.
    heads = [piece[1] for piece in made.pieces[:1] if piece[0] == 0] + [0]
    tails = [len(text) - piece[0] for piece in made.pieces[-1:] if piece[1] == len(text)] + [0]
    marker = None
    for head, tail in itertools.product(heads, tails):
        if marker is None and made.text.startswith(text[:head]) and made.text.endswith(text[len(text) - tail :]):
            marker = MIDDLE.fullmatch(made.text, head, len(made.text) - tail)
            ends = (head, tail)
    if marker is None:
        return found | {"marker or slices"}
    head, tail = ends
    claims = tuple(int(marker[group]) for group in range(1, 5))
    if claims != (made.omitted_chars, len(text), made.omitted_lines, text.count("\n")) or marker[5] != ref:
        found.add("marker")
    lines = text.split("\n")
    numbered = re.findall(r"(\d+)([:~]) ([^\n]*\n)", marker[7] or "")
    if len(numbered) != int(marker[6] or 0) or len(numbered) > limits.get("signal_lines", 100):
        found.add("marker")
    for number, sort, line in numbered:
        whole = lines[int(number) - 1]
        if whole + "\n" != line if sort == ":" else line[:-1] not in whole:
            found.add("numbered lines")
    if keep == "both" and "limit_lines" not in limits and head > tail:
        found.add("tail")
    if (keep == "head" and tail) or (keep == "tail" and head):
        found.add("side")
    return found


def attempt(text: str, **arguments: Any) -> Truncated | None:
    """The excerpt, or ``None`` after a look at the error that says that there is none."""
    try:
        return truncate(text, **arguments)
    except PolicyError as error:
        name, smallest = error.field, int(str(error).rsplit(" ", 1)[-1])
        assert smallest > arguments[name]
        if sum(arguments.get(limit) is not None for limit in ("limit_chars", "limit_lines", "limit_tokens")) == 1:
            assert truncate(text, **{**arguments, name: smallest}).text
            with pytest.raises(PolicyError):
                truncate(text, **{**arguments, name: smallest - 1})
        return None


# --- The laws ----------------------------------------------------------------


def test_an_excerpt_by_characters_keeps_the_law() -> None:
    """All clauses, any text, any limit; and enough of the examples are really shortened, refused, or left whole."""
    seen: Counter[str] = Counter()

    @settings(max_examples=200, derandomize=True)
    @given(texts(), PERCENT, KEEPS, SIGNALS, REFS)
    def law(made_of: tuple[str, set[int]], percent: int, keep: str, signal_lines: int | None, ref: str | None) -> None:
        text, edges = made_of
        limit_chars = len(text) * percent // 100
        made = attempt(text, limit_chars=limit_chars, keep=keep, signal_lines=signal_lines, ref=ref)
        seen["all"] += 1
        if made is None:
            seen["refused"] += 1
            return

        assert set() == broken(text, made, edges=edges, keep=keep, ref=ref, limits={"limit_chars": limit_chars})
        assert (made.text is text) == (len(text) <= limit_chars)
        seen["whole" if made.text is text else "shortened"] += 1
        seen["numbered"] += "numbered lines from there" in made.text.replace(FAKE, "")

    law()

    assert seen["shortened"] >= seen["all"] / 10
    assert min(seen[kind] for kind in ("refused", "whole", "numbered")) >= seen["all"] / 50


@given(texts(), PERCENT, st.one_of(st.none(), st.integers(0, 3000)), KEEPS, SIGNALS)
def test_an_excerpt_by_lines_keeps_the_law(
    made_of: tuple[str, set[int]], percent: int, limit_chars: int | None, keep: str, signal_lines: int | None
) -> None:
    """All clauses; two limits hold both."""
    text, edges = made_of
    limit_lines = shown_lines(text) * percent // 100
    made = attempt(text, limit_lines=limit_lines, limit_chars=limit_chars, keep=keep, signal_lines=signal_lines)
    if made is not None:
        limits = {"limit_lines": limit_lines} | ({} if limit_chars is None else {"limit_chars": limit_chars})

        assert set() == broken(text, made, edges=edges, keep=keep, limits=limits)
        assert (made.text is text) == (shown_lines(text) <= limit_lines and (limit_chars is None or len(text) <= limit_chars))


COUNTERS: list[Callable[[str], int]] = [
    lambda text: len(text) // 4 + 1,
    lambda text: len(text.encode("utf-8", "surrogatepass")),
    lambda text: len(text.split()),
    lambda text: sum(3 if ord(char) > 127 else 1 for char in text),
    lambda text: 7,
]


@given(texts(), PERCENT, st.sampled_from(COUNTERS), KEEPS)
def test_an_excerpt_by_tokens_keeps_the_law(
    made_of: tuple[str, set[int]], percent: int, counter: Callable[[str], int], keep: Literal["both", "head", "tail"]
) -> None:
    """All clauses, whatever counts, and with few counts."""
    text, edges = made_of
    limit_tokens = counter(text) * percent // 100
    counts = 0

    def counted(text: str) -> int:
        nonlocal counts
        counts += 1
        return counter(text)

    made = attempt(text, limit_tokens=limit_tokens, counter=counter, keep=keep)
    if made is not None:
        assert set() == broken(text, made, edges=edges, keep=keep)
        assert counter(made.text) <= limit_tokens
        assert (made.text is text) == (counter(text) <= limit_tokens)
        assert made == truncate(text, limit_tokens=limit_tokens, counter=counted, keep=keep)
        assert counts <= 14


@given(st.integers(100, 5000), st.sampled_from(["word ", "a line of a log\n", "слово ", "漢字"]))
def test_most_of_a_limit_in_tokens_is_used(limit_tokens: int, words: str) -> None:
    """A few tries come near the limit."""
    counter = COUNTERS[3]
    made = truncate(words * 5000, limit_tokens=limit_tokens * 3, counter=counter)

    assert counter(made.text) > limit_tokens * 3 * 0.9


@given(texts(), PERCENT, PERCENT, KEEPS, KEEPS, SIGNALS, st.booleans())
def test_shortening_again_counts_against_the_first_original(
    made_of: tuple[str, set[int]],
    percent: int,
    less: int,
    keep: Literal["both", "head", "tail"],
    then: Literal["both", "head", "tail"],
    signal_lines: int | None,
    by_lines: bool,
) -> None:
    """An excerpt of an excerpt is an excerpt of the original: sums, slices, line numbers and reference."""
    text, _ = made_of
    limit_chars = len(text) * percent // 100
    first = attempt(text, limit_chars=limit_chars, keep=keep, ref=REF, signal_lines=signal_lines)
    if first is None or not first.truncated:
        return
    issued = {REF: (len(text), text.count("\n"))}
    same = truncate(first.text, limit_chars=limit_chars, issued=issued)

    assert same.text is first.text
    assert evolve(first, pieces=()) == evolve(same, pieces=())

    name, size = ("limit_lines", shown_lines(first.text)) if by_lines else ("limit_chars", len(first.text))
    limits = {name: size * less // 100}
    second = attempt(first.text, **limits, keep=then, issued=issued, signal_lines=signal_lines)
    if second is None:
        return
    in_original = evolve(second, pieces=tuple(original_places(text, first, second)))
    side = keep if keep == then != "both" else "any"

    assert set() == broken(text, in_original, keep=side, ref=REF, limits=limits)
    marker = read_marker(second.text, issued=issued)
    assert marker is not None
    assert (second.omitted_chars, second.omitted_lines) == (marker.omitted_chars, marker.omitted_lines)


def original_places(text: str, first: Truncated, second: Truncated) -> Iterator[tuple[int, int]]:
    """Where the pieces of *second*, which are ranges of the text of *first*, stand in *text*."""
    marker = read_marker(first.text, issued={REF: (len(text), text.count("\n"))})
    assert marker is not None
    for start, stop in second.pieces:
        if stop <= marker.start:
            yield start, stop
        elif start >= marker.stop:
            yield start - len(first.text) + len(text), stop - len(first.text) + len(text)
        else:  # a numbered line
            line = next(line for line, begin, _ in marker.numbered if begin == start)
            begin = sum(len(before) + 1 for before in text.split("\n")[: line - 1])
            begin = text.index(first.text[start:stop], begin)
            yield begin, begin + stop - start


@given(texts(), PERCENT)
def test_a_marker_is_believed_only_if_it_was_issued_and_adds_up(made_of: tuple[str, set[int]], percent: int) -> None:
    """A copy in other text, another size, another number or an unknown reference make it data."""
    text, _ = made_of
    made = attempt(text, limit_chars=len(text) * percent // 100, ref=OTHER)
    if made is None or not made.truncated:
        return
    sizes = (len(text), text.count("\n"))
    known = {OTHER: sizes, REF: (90, 3)}
    marker = read_marker(made.text, issued=known)

    assert marker is not None
    assert (made.omitted_chars, made.omitted_lines) == (marker.omitted_chars, marker.omitted_lines)
    assert read_marker(made.text, issued={}) is None
    assert read_marker(made.text, issued={OTHER: (sizes[0] + 1, sizes[1])}) is None
    assert read_marker(made.text + "x", issued={OTHER: sizes}) is None
    assert read_marker("x" + made.text, issued={OTHER: sizes}) is None
    copied = f"{made.text}\n{made.text}"
    again = truncate(copied, limit_chars=len(copied), issued=known)
    assert (again.original_chars, again.omitted_chars) == (len(copied), 0)


NUMBERS = st.one_of(st.integers(), st.floats(allow_nan=False, allow_infinity=False))
SCALARS = st.one_of(st.none(), st.booleans(), NUMBERS, st.text(max_size=50))
JSON = st.recursive(SCALARS, lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text(max_size=9), inner)), max_leaves=15)


@given(st.lists(JSON, min_size=1, max_size=12), st.sampled_from([None, 1, 4]), st.integers(0, 1500), KEEPS, st.booleans(), REFS)
def test_valid_json_stays_valid(
    values: list[Any], indent: int | None, limit: int, keep: str, by_lines: bool, ref: str | None
) -> None:
    """The result is JSON: slices of the text around one string, which stands for a run of whole values."""
    text = json.dumps({"values": values, "total": len(values)}, indent=indent, ensure_ascii=False)
    limits = {"limit_lines": limit // 20} if by_lines else {"limit_chars": limit}
    made = attempt(text, **limits, keep=keep, form="json", ref=ref)
    if made is None or made.text is text:
        return
    if '"[truncated v1: ' not in made.text:  # no run of values is long enough
        assert set() == broken(text, made, keep=keep, ref=ref, limits=limits)
        return
    (_, head), (tail, _) = made.pieces
    marker = made.text[head : len(made.text) - len(text) + tail]
    replaced = json.loads(made.text)

    assert broken(text, made, ref=ref, limits=limits) <= {"marker or slices"}  # the checks of the marker are for the text form
    assert f"omitted {made.omitted_chars} of {len(text)} chars" in json.loads(marker)
    assert list(replaced) in (["values", "total"], ["values"], ["total"])


@given(JSON.map(lambda value: json.dumps([value] * 40)), st.integers(200, 1500))
def test_shortened_json_is_shortened_again(text: str, less: int) -> None:
    """The second marker takes the place of the first, and the account is that of the first original."""
    first = attempt(text, limit_chars=2000, form="json", ref=REF)
    if first is None or not first.truncated or not first.text.startswith("["):
        return
    issued = {REF: (len(text), 0)}
    second = attempt(first.text, limit_chars=less, form="json", issued=issued)
    if second is None or not second.text.startswith("[") or second.text.startswith("[truncated"):
        return

    assert second.text.count("[truncated v1: ") == 1
    assert json.loads(second.text)
    assert second.kept_chars == sum(stop - start for start, stop in second.pieces)
    assert (second.original_chars, second.ref) == (len(text), REF)
    assert text.startswith(second.text[: second.text.index('"[trunc')])


@pytest.mark.parametrize(
    "text",
    [
        "a" + "\u0301" * 1_000_000,
        "\x1b]" + "x" * 1_000_000,
        "\x1b]" * 400_000,
        "🇷🇺" * 400_000,
        "\ud83c\uddf7\ud83c\uddfa" * 200_000,
        "error\n" * 150_000,
        "0 errors " * 100_000,
        "error " * 150_000,
        "\n" * 1_000_000,
        FAKE * 9_000,
        (FAKE + "\n") * 9_000,
        "[truncated v1: omitted " * 40_000,
        '["' + '\\"' * 400_000,
        "[" * 500_000,
        "[" * 150 + "[1]," * 100_000 + "1" + "]" * 150,
        "9" * 900_000,
    ],
    ids=lambda text: ascii(text[:6]),
)
@pytest.mark.parametrize("form", ["text", "json"])
def test_hostile_megabytes_are_shortened(text: str, form: Literal["text", "json"]) -> None:
    """No input takes more than linear time; each keeps the law."""
    made = truncate(text, limit_chars=20_000, signal_lines=8, issued={REF: (90, 3)}, form=form)

    found = broken(text, made, limits={"limit_chars": 20_000})
    assert set() == found - ({"marker or slices"} if '"[trunc' in made.text else set())  # its checks are for the text form
    assert made.kept_chars > 15_000


# --- Saboteurs ---------------------------------------------------------------


def head_only(text: str, limit_chars: int) -> Truncated:
    """Keeps the first part alone and calls it both."""
    return truncate(text, limit_chars=limit_chars, keep="head")


def liar(text: str, limit_chars: int) -> Truncated:
    """Says that less is missing than is."""
    made = truncate(text, limit_chars=limit_chars)
    fewer = made.text.replace(f"omitted {made.omitted_chars} ", f"omitted {made.omitted_chars - 1} ")
    return evolve(made, text=fewer, omitted_chars=made.omitted_chars - 1)


def quiet_liar(text: str, limit_chars: int) -> Truncated:
    """Counts right, and writes something else."""
    made = truncate(text, limit_chars=limit_chars)
    return evolve(made, text=made.text.replace(f"omitted {made.omitted_chars} ", "omitted 1 "))


def without_newlines(text: str, limit_chars: int) -> Truncated:
    """Forgets the lines."""
    return evolve(truncate(text, limit_chars=limit_chars), omitted_lines=0)


def splitter(text: str, limit_chars: int) -> Truncated:
    """Cuts wherever the limit falls."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("compactlib.truncation.floor", lambda text, index: index)
        patch.setattr("compactlib.truncation.ceiling", lambda text, index: index)
        return truncate(text, limit_chars=limit_chars)


def overfull(text: str, limit_chars: int) -> Truncated:
    """Adds the marker on top of the limit."""
    return truncate(text, limit_chars=limit_chars + 50)


def silent(text: str, limit_chars: int) -> Truncated:
    """Leaves the marker out."""
    made = truncate(text, limit_chars=limit_chars)
    return evolve(made, text=text[: made.pieces[0][1]] + text[made.pieces[-1][0] :])


def tidy(text: str, limit_chars: int) -> Truncated:
    """Improves what it keeps."""
    made = truncate(text, limit_chars=limit_chars)
    return evolve(made, text=made.text.replace("\x1b[31m", "     "))


SABOTEURS: dict[Callable[[str, int], Truncated], set[str]] = {
    head_only: {"tail"},
    liar: {"sum of characters"},
    quiet_liar: {"marker"},
    without_newlines: {"sum of lines"},
    splitter: {"split"},
    overfull: {"limit"},
    silent: {"marker or slices"},
    tidy: {"marker or slices"},
}


@pytest.mark.parametrize("saboteur", SABOTEURS, ids=lambda saboteur: saboteur.__name__)
def test_each_wrong_truncator_is_caught_by_its_clause(saboteur: Callable[[str, int], Truncated]) -> None:
    """The checks above blame what is wrong, and the engine itself passes the same examples."""
    chunks = ["\x1b[31m", "👩🏽\u200d❤\ufe0f\u200d👩🏻", "e\u0301", "one line of it\n"] * 100
    text = "".join(chunks)
    edges = {sum(map(len, chunks[:count])) for count in range(len(chunks) + 1)}
    edges |= {place for found in re.finditer("one line of it\n", text) for place in range(*found.span())}
    blamed = set()
    for limit_chars in range(200, 300):
        limits = {"limit_chars": limit_chars}
        assert set() == broken(text, truncate(text, limit_chars=limit_chars), edges=edges, limits=limits)
        blamed |= broken(text, saboteur(text, limit_chars), edges=edges, limits=limits)

    assert blamed >= SABOTEURS[saboteur]
    assert blamed <= SABOTEURS[saboteur] | {"marker"}
