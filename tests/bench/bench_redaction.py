"""
Looking for secrets, as a ratio to `json.loads` of the same conversation in the same run.

The other rows are beginnings of secrets over and over at twice the size, in the
processor's time: a ratio of about two is linear.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from functools import partial
from typing import Final

import compactlib as cl
from compactlib.credentials import known_secrets

from ..test_credentials import SECRETS
from . import Row, median_ratio
from .bench_validator import seconds
from .corpus import large_body

__all__ = ["run"]

_MESSAGES: Final = 20_000
_SIZE: Final = 100_000


def _cpu(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def run() -> list[Row]:
    """Measure."""
    rows: list[Row] = []
    for dialect in ("anthropic", "openai-chat"):
        text = json.dumps(large_body(_MESSAGES, dialect), ensure_ascii=False)
        conversation = cl.parse(json.loads(text), dialect=dialect)
        ratio = seconds(partial(cl.redact, conversation)) / seconds(partial(json.loads, text))
        rows.append((f"{dialect}, nothing to be found / json.loads", ratio, f"{_MESSAGES:,} messages"))
    worst = 0.0, ""
    for secret, _, _ in SECRETS:
        for stop in (len(secret) // 2, len(secret) - 1):
            once, twice = (
                partial(lambda text: list(known_secrets(text)), secret[:stop] * (n // stop)) for n in (_SIZE, 2 * _SIZE)
            )
            worst = max(worst, (median_ratio(partial(_cpu, twice), partial(_cpu, once)), secret[:stop][:24]))
    rows.append((f"{worst[1]!r}, 200 KB / 100 KB", worst[0], "the worst beginning; about 2"))
    return rows
