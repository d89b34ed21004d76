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
from collections.abc import Callable
from typing import Final

import compactlib as cl
from compactlib.tokens import Memo, Tally, estimate

from . import Row, median_ratio
from .corpus import large_body
from .measure_tokens import DATA

__all__ = ["run"]

MESSAGES: Final = 100_000
CHARS: Final = 200_000
"""Length of the text of each kind."""


def seconds(work: Callable[[], object], *, times: int = 1) -> float:
    """How long *work* takes, the collector off."""
    enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        begun = time.perf_counter()
        for _ in range(times):
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


def _against_split() -> list[Row]:
    texts = _texts()
    mixed = "".join(text[start : start + 4_000] for start in range(0, CHARS, 4_000) for text in texts.values())
    rows = [
        (
            "estimate / split, one mixed text",
            median_ratio(lambda: seconds(lambda: estimate(mixed)), lambda: seconds(mixed.split)),
            f"at most 0.2; {len(mixed):,} characters",
        ),
        (
            "estimate / split, all kinds",
            median_ratio(
                lambda: sum(seconds(lambda text=text: estimate(text), times=5) for text in texts.values()),
                lambda: sum(seconds(text.split, times=5) for text in texts.values()),
            ),
            f"at most 0.2; {CHARS:,} characters each",
        ),
    ]
    parts = [text[start : start + 10_000] for text in texts.values() for start in range(0, 50_000, 10_000)]
    rows.append(
        (
            "estimate / split, texts of 10,000 characters",
            median_ratio(
                lambda: seconds(lambda: [estimate(part) for part in parts]),
                lambda: seconds(lambda: [part.split() for part in parts]),
            ),
            "reported: of these a third is read",
        )
    )
    rows += [
        (
            f"  estimate / split, {kind}",
            median_ratio(
                lambda text=text: seconds(lambda: estimate(text), times=5), lambda text=text: seconds(text.split, times=5)
            ),
            "reported",
        )
        for kind, text in texts.items()
    ]
    small = mixed * 2
    large = mixed * 20
    rows.append(
        (
            "estimate, ten times the text",
            median_ratio(lambda: seconds(lambda: estimate(large)), lambda: seconds(lambda: estimate(small))),
            "at most 10",
        )
    )
    return rows


def _against_json() -> list[Row]:
    rows: list[Row] = []
    for dialect in ("anthropic", "openai-chat"):
        body = large_body(MESSAGES, dialect)
        text = json.dumps(body, ensure_ascii=False)
        conversation = cl.parse(body, dialect=dialect)
        ratio = median_ratio(lambda: seconds(lambda: Memo().request(conversation)), lambda: seconds(lambda: json.loads(text)))  # noqa: B023 - called at once
        rows.append(
            (f"count / json.loads, {dialect}", ratio, f"at most 0.9; {MESSAGES:,} messages, {len(text.encode()) / 1e6:.0f} MB")
        )

        def live(start: int, stop: int) -> float:
            tally = Tally()
            messages = conversation.messages[start:stop]  # noqa: B023 - called at once
            return seconds(lambda: [tally.append(message) for message in messages])

        half = MESSAGES // 2
        rows.append(
            (
                f"tally, second half / first half, {dialect}",
                median_ratio(lambda: live(half, MESSAGES), lambda: live(0, half)),
                "at most 1.2",
            )
        )
    return rows


def run() -> list[Row]:
    """What was measured, the ratio, and what it is to be."""
    return _against_split() + _against_json()
