"""What holds in every dialect, as functions that the tests of each dialect call with their own bodies."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from hypothesis import strategies as st

import compactlib as cl

__all__ = ["check_reading", "check_writing_back", "deep", "noise", "recorded", "spoil"]

_LEAVES: Final = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5)
)


def check_writing_back(body: Any, dialect: str) -> None:
    """``render(parse(x))`` is x, with the same keys in the same order, from objects, text and bytes; and nothing is shared."""
    text = json.dumps(body)
    conversation = cl.parse(json.loads(text), dialect=dialect)

    assert json.dumps(cl.render(conversation)) == text
    assert json.dumps(json.loads(cl.render(cl.parse(text, dialect=dialect)))) == text
    assert json.dumps(json.loads(cl.render(cl.parse(text.encode(), dialect=dialect)))) == text

    passed_in = json.loads(text)
    conversation = cl.parse(passed_in, dialect=dialect)
    spoil(passed_in)
    spoil(cl.render(conversation))

    assert json.dumps(cl.render(conversation)) == text


def check_reading(body: Any, dialect: str) -> None:
    """Whatever is passed in, it is read or it is a `WireError`; what was read is divided, cut, and comes back."""
    try:
        conversation = cl.parse(body, dialect=dialect)
    except cl.WireError:
        return
    cl.legal_cuts(conversation)

    assert json.dumps(cl.render(conversation)) == json.dumps(body)


def noise(words: Sequence[str], keys: Sequence[str]) -> st.SearchStrategy[Any]:
    """JSON that looks like a dialect and is none: its *words* as values, its *keys* as keys, anything anywhere."""
    return st.recursive(
        _LEAVES | st.sampled_from(words),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(keys), inner, max_size=5),
        max_leaves=25,
    )


def deep() -> Any:
    """An object of ten thousand levels, which nobody may read."""
    value: Any = {}
    for _ in range(10_000):
        value = {"a": value}
    return value


def recorded(shared: Path, dialect: str) -> list[Any]:
    """The recorded request bodies of a dialect, accepted and refused."""
    names = (dialect, f"{dialect}-more")
    lines = [line for name in names for line in (shared / "corpus/recorded" / f"{name}.jsonl").read_text("utf-8").splitlines()]
    return [json.loads(line)["body"] for line in lines]


def spoil(value: Any) -> None:
    """Empty every list and object in *value*."""
    for item in list(value.values()) if isinstance(value, dict) else list(value) if isinstance(value, list) else ():
        spoil(item)
    if isinstance(value, dict | list):
        value.clear()
