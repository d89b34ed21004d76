"""
Shortening a text: no text, limit or table makes `compactlib.truncate` break law L11.

What holds for every input:

1. There is an excerpt, or a `PolicyError` that names a limit under which there is one.
2. kept + omitted = original, in characters and newlines; the pieces are ranges of the text, in order.
3. The excerpt is within its limit and shorter than the text, or it is the text.
4. What reads it again believes its marker, and shortens it further against the same original.

A polyglot: pytest runs the property with Hypothesis, ``python fuzz/fuzz_truncate.py``
runs the same one under atheris.
"""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from compactlib.errors import PolicyError
from compactlib.markers import read_marker
from compactlib.truncation import Truncated, truncate

REF = "c0" * 32

_WORDS = st.sampled_from([
    "\n", "\r\n", "\r", "\x1b[31m", "\x1b]8;;", "\x1b\\", "\x07", "\x9b", "e\u0301", "\u200d", "👩", "🇷", "\ud83d", "\ude00",
    "\u1100", "\u094d", "क", "error: x\n", "FAILED\n", "0 errors\n",
    "[truncated v1: omitted ", "1 of 2 chars, 0 of 0 lines; ", f"; ref={REF}]",
    "\n[end of numbered lines]\n", "7: ", "7~ ", "[", "]", "{", "}", '"', ",", ":", "\\", "1", "null", " ",
])  # fmt: skip
TEXTS = st.lists(st.one_of(_WORDS, st.text(max_size=20)).flatmap(lambda word: st.integers(1, 60).map(word.__mul__)), max_size=30)
ARGUMENTS = st.fixed_dictionaries(
    {"limit_chars": st.integers(0, 2500)},
    optional={
        "limit_lines": st.integers(0, 60),
        "limit_tokens": st.integers(0, 900),
        "keep": st.sampled_from(["both", "head", "tail"]),
        "form": st.sampled_from(["text", "json", "auto"]),
        "signal_lines": st.integers(0, 100),
    },
)


def attempt(text: str, **arguments: Any) -> Truncated | None:
    """Fact 1."""
    try:
        return truncate(text, **arguments)
    except PolicyError as error:
        too_small = error
    assert int(str(too_small).rsplit(" ", 1)[-1]) > arguments[too_small.field]
    return None


def holds(words: list[str], arguments: dict[str, Any], less: int) -> None:
    """All the facts, for one text."""
    text = "".join(words)
    made = attempt(text, ref=REF, **arguments)
    if made is None:
        return
    edges = [edge for piece in made.pieces for edge in piece]
    kept = "".join(text[start:stop] for start, stop in made.pieces)

    assert edges == sorted(edges)
    assert (len(text), text.count("\n")) == (made.original_chars, made.original_lines)
    assert (len(text), text.count("\n")) == (len(kept) + made.omitted_chars, kept.count("\n") + made.omitted_lines)
    assert len(made.text) <= arguments["limit_chars"]
    assert made.text is text or len(made.text) < len(text)
    if not made.truncated:
        return

    issued = {REF: (len(text), text.count("\n"))}
    marker = read_marker(made.text, issued=issued)
    assert marker is not None
    again = attempt(made.text, issued=issued, limit_chars=len(made.text) * less // 100, keep=arguments.get("keep", "both"))
    if again is not None:
        assert (len(text), text.count("\n"), REF) == (again.original_chars, again.original_lines, again.ref)
        assert again.omitted_chars >= made.omitted_chars


@given(TEXTS, ARGUMENTS, st.integers(0, 100))
def test_any_text_is_shortened_by_the_law(words: list[str], arguments: dict[str, Any], less: int) -> None:
    """Whatever the text and the limit."""
    holds(words, arguments, less)


def main() -> None:
    """Fuzz until stopped."""
    from exploring import explore  # here, because it stands beside this file and in no package

    explore(__file__, "test_any_text_is_shortened_by_the_law")


if __name__ == "__main__":
    main()
