"""
Conversations for property tests, in every dialect, whose kinds are known by construction.

`histories` draws a list of pieces (see `reference`) that begins with a prompt
and is legal: calls are answered in the messages that follow, in any split.
`broken` draws one that breaks one thing.  `build` turns pieces into a wire
body of a dialect.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from .reference import Piece
from .spellings import MARKER, SPELLINGS, Call, Result, Spelling

__all__ = ["DIALECTS", "WIRES", "WORDS", "broken", "build", "histories", "weights"]

DIALECTS = ("anthropic", "openai-chat")
"""The two in which each piece is one message, but for results."""

WIRES = tuple(name for name, spelling in SPELLINGS.items() if spelling.dialect == name)
"""All six."""

WORDS = st.text(alphabet="abcdefgh ñжш中日語😀\n", min_size=1, max_size=40).map(lambda text: text.strip() or "word")


@st.composite
def steps(draw: st.DrawFn, used: list[int]) -> list[Piece]:
    """One step: words alone, or calls and their results, perhaps with an attachment or a reminder."""
    if draw(st.booleans()):
        return [("text", "")]
    count = draw(st.integers(1, 3))
    names = []
    for _ in range(count):
        used[0] += 1
        names.append(f"c{used[0]}")
    answered = draw(st.permutations(names))
    split = draw(st.integers(0, count - 1)) if draw(st.booleans()) else 0
    pieces: list[Piece] = [("calls", ",".join(names))]
    groups = [answered[:split], answered[split:]] if split else [answered]
    pieces += [("results", ",".join(group)) for group in groups]
    if draw(st.integers(0, 5)) == 0:
        pieces.append(("attachment", ""))
    if draw(st.integers(0, 5)) == 0:
        pieces.append(("harness", ""))
    return pieces


@st.composite
def histories(draw: st.DrawFn, *, max_turns: int = 4, max_steps: int = 4, frontier: bool = True) -> list[Piece]:
    """A legal conversation of whole turns, perhaps with calls pending at the end."""
    used = [0]
    pieces: list[Piece] = []
    for _ in range(draw(st.integers(1, max_turns))):
        pieces.append(("prompt", ""))
        for _ in range(draw(st.integers(0, max_steps))):
            pieces += draw(steps(used))
    if frontier and draw(st.integers(0, 4)) == 0:
        pieces.append(("calls", f"p{used[0]},q{used[0]}"))
        if draw(st.booleans()):
            pieces.append(("results", f"q{used[0]}"))
    return pieces


@st.composite
def broken(draw: st.DrawFn) -> list[Piece]:
    """A conversation with one fault: a result lost, doubled or without its call, or calls that nobody answered."""
    pieces = draw(histories(frontier=False))
    fault = draw(st.sampled_from(["lose", "double", "stray", "dangle"]))
    results = [at for at, (kind, _) in enumerate(pieces) if kind == "results"]
    if fault == "stray" or not results:
        at = draw(st.integers(1, len(pieces)))
        return [*pieces[:at], ("results", "nobody"), *pieces[at:]]
    at = draw(st.sampled_from(results))
    if fault == "double":
        return [*pieces[: at + 1], pieces[at], *pieces[at + 1 :]]
    if fault == "lose":
        return [*pieces[:at], *pieces[at + 1 :]]
    return [*pieces[:at], ("prompt", ""), *pieces[at + 1 :]]


def weights(pieces: list[Piece]) -> st.SearchStrategy[list[int]]:
    """A size for each message."""
    return st.lists(st.integers(1, 50), min_size=len(pieces), max_size=len(pieces))


_REMINDER = "<system-reminder>three todos are open</system-reminder>"


def build(pieces: Sequence[Piece], dialect: str, *, words: str = "word", thinking: bool = False) -> list[dict[str, Any]]:
    """The wire messages of *pieces*; *dialect* is the name of one of `SPELLINGS`."""
    spelling = SPELLINGS[dialect]
    return [
        message for at, piece in enumerate(pieces) for message in _spelled(spelling, piece, f"{words} {at}", thinking=thinking)
    ]


def _spelled(spelling: Spelling, piece: Piece, words: str, *, thinking: bool) -> list[dict[str, Any]]:
    kind, detail = piece
    thought = f"about {words}" if thinking else ""
    calls = [Call(spelling.id(name), "read", {"path": f"{name}.py"}) for name in detail.split(",")]
    if kind == "prompt":
        return [spelling.user(f"please: {words}")]
    if kind == "text":
        return spelling.model(f"said: {words}", thought=thought, in_blocks=True)
    if kind == "calls":
        return spelling.model("", calls, thought=thought)
    if kind == "results":
        texts = [f"{name}: {words}" for name in detail.split(",")]
        return spelling.results([Result(call, text) for call, text in zip(calls, texts, strict=True)])
    if kind == "attachment":
        return [spelling.user(MARKER, picture=True)]
    return [spelling.user(_REMINDER)]
