"""
Hostile shapes at two sizes: what twice the input costs, as a ratio.

Two is linear, four is quadratic; at most 2.5.  Each time is the least of
several.  The hostile messages stand at the beginning, and what follows them is
long enough that a compaction replaces them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

import compactlib as cl

from . import Row
from .bench_compaction import least
from .bench_validator import DIALECTS, step, words

__all__ = ["run"]

_TIMES: Final = 2
_SIZES: Final = {"open calls": 5_000, "one prefix": 5_000, "one id": 5_000, "results": 50_000, "empty blocks": 500_000}
"""Each kind, and how much of it there is before it is doubled."""

_EMPTY: Final[Mapping[str, Any]] = {
    "bedrock": {"text": ""},
    "gemini": {"text": ""},
    "openai-responses": {"type": "input_text", "text": ""},
}
_POLICY: Final = cl.Policy(window_tokens=100_000)


def hostile(dialect: str, kind: str, size: int) -> list[dict[str, Any]]:
    """One prompt, and *size* calls or results or blocks in as few messages as the dialect can."""
    if kind == "empty blocks":
        blocks = [_EMPTY.get(dialect, {"type": "text", "text": ""})] * size
        return [{"role": "user", "parts" if dialect == "gemini" else "content": blocks}]
    prefix = "x" * 200 if kind == "one prefix" else "c"
    ids = ["abcdefghi" if kind == "one id" else f"{prefix}{place:08d}" for place in range(size)]
    said = step(dialect, ids, "now", "ok")
    if kind == "open calls":
        said = [one for one in said if one["role"] in ("assistant", "model")] if "role" in said[-1] else said[:-size]
    elif kind == "one prefix" and dialect not in ("anthropic", "bedrock", "gemini"):
        said[-size:] = said[: -size - 1 : -1]  # the last call is answered first
    return [words(dialect, "user", "go on"), *said]


def ordinary(dialect: str) -> list[dict[str, Any]]:
    """A prompt and steps that fill a tail."""
    found = [words(dialect, "assistant", "Done."), words(dialect, "user", "Now the other half, please.")]
    for number in range(100):
        found += step(dialect, [f"z{number:08d}"], "I read on. " * 40, "a line of output\n" * 60)
    return [*found, words(dialect, "assistant", "Done.")]


def run() -> list[Row]:
    """Measure."""
    rows: list[Row] = []
    for dialect in DIALECTS:
        for kind, size in _SIZES.items():
            small, large = (_works(dialect, kind, times * size) for times in (1, 2))
            rows += [
                (
                    f"{name}, {2 * size:,} {kind}, {dialect}",
                    least(large[name], _TIMES) / least(small[name], _TIMES),
                    "at most 2.5",
                )
                for name in small
            ]
    return rows


def _works(dialect: str, kind: str, size: int) -> dict[str, Callable[[], object]]:
    body = hostile(dialect, kind, size)
    text, whole = json.dumps(body), [*body, *ordinary(dialect)]
    conversation, long = (cl.parse(one, dialect=dialect) for one in (text, whole))
    return {
        "parse": partial(cl.parse, text, dialect=dialect),
        "check": partial(cl.check, conversation),
        "repair": partial(cl.repair, conversation, close=True),
        "compact": partial(cl.compact, long, _POLICY, when="now"),
    }
