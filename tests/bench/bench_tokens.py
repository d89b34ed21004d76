"""
What counting costs.

The estimator against `str.split` of the same text, and counting a whole
conversation against `json.loads` of the same body.  The garbage collector is
off on both sides; each figure is the median of five ratios, each of two
measurements made one right after the other.
"""

from __future__ import annotations

import gc
import json
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Final

import compactlib as cl
from compactlib.model import Message
from compactlib.tokens import Memo, Tally, estimate

from . import Row, median_ratio
from .corpus import large_body
from .measure_tokens import DATA

__all__ = ["run"]

MESSAGES: Final = 100_000
CHARS: Final = 200_000
"""Length of the text of each kind."""


def seconds(work: Callable[[], object]) -> float:
    """How long *work* takes, the collector off."""
    enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        begun = time.perf_counter()
        work()
        return time.perf_counter() - begun
    finally:
        if enabled:
            gc.enable()


def _texts() -> dict[str, str]:
    """One long text of each kind: its sample over and over."""
    found = {}
    for path in sorted(DATA.glob("*.txt")):
        sample = path.read_text("utf-8")
        found[path.stem] = (sample * (CHARS // len(sample) + 1))[:CHARS]
    return found


def _estimating(texts: Iterable[str]) -> Callable[[], float]:
    chosen = list(texts)
    return lambda: seconds(lambda: [estimate(text) for text in chosen])


def _splitting(texts: Iterable[str]) -> Callable[[], float]:
    chosen = list(texts)
    return lambda: seconds(lambda: [text.split() for text in chosen])


def _against_split() -> list[Row]:
    texts = _texts()
    mixed = "".join(text[start : start + 4_000] for start in range(0, CHARS, 4_000) for text in texts.values())
    pages = [text[start : start + 10_000] for text in texts.values() for start in range(0, 50_000, 10_000)]
    sets = {
        f"one mixed text of {len(mixed):,} characters": ([mixed], "at most 0.2"),
        f"{CHARS:,} characters of each kind": (list(texts.values()), "at most 0.2"),
        "texts of 10,000 characters": (pages, "reported: up to 64,000 a third is read"),
        **{kind: ([text] * 5, "reported") for kind, text in texts.items()},
    }
    rows = [
        (f"estimate / split, {name}", median_ratio(_estimating(of), _splitting(of)), remark)
        for name, (of, remark) in sets.items()
    ]
    growth = median_ratio(_estimating([mixed * 10]), _estimating([mixed]))
    return [*rows, ("estimate, ten times the text", growth, "at most 10")]


def _appending(messages: Sequence[Message]) -> Callable[[], float]:
    def append_all() -> None:
        tally = Tally()
        for message in messages:
            tally.append(message)

    return lambda: seconds(append_all)


def _against_json(dialect: str) -> list[Row]:
    body = large_body(MESSAGES, dialect)
    text = json.dumps(body, ensure_ascii=False)
    conversation = cl.parse(body, dialect=dialect)
    count = median_ratio(lambda: seconds(lambda: Memo().request(conversation)), lambda: seconds(lambda: json.loads(text)))
    half = MESSAGES // 2
    growth = median_ratio(_appending(conversation.messages[half:]), _appending(conversation.messages[:half]))
    return [
        (f"count / json.loads, {dialect}", count, f"at most 0.9; {MESSAGES:,} messages, {len(text.encode()) / 1e6:.0f} MB"),
        (f"tally, second half / first half, {dialect}", growth, "at most 1.2"),
    ]


def run() -> list[Row]:
    """What was measured, the ratio, and what it is to be."""
    return [*_against_split(), *_against_json("anthropic"), *_against_json("openai-chat")]
