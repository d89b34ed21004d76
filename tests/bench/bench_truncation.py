"""
Shortening a text of a million characters, as a ratio to hashing it.

One call of `truncate` costs at most three times ``sha256(text.encode())``,
whatever the text, limit and side; the search for notable lines and the parsing
of JSON are apart.  The last rows are those, and hostile texts at twice the size:
a ratio of about two is linear.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from compactlib.text import escape, quote_lines
from compactlib.truncation import truncate

from . import Row, median_ratio

_SIZE: Final = 1_000_000
_TIMES: Final = 3

_TEXTS: Final = {
    "log": "2026-11-02 12:00:01 INFO worker.py:123 processed item 1234 in 0.5 s\n",
    "Russian log": "2026-11-02 ИНФО обработчик: обработан элемент 1234 за 0.5 с\n",
    "Chinese": "处理完成日志记录系统\n",
    "emoji": "👩🏽\u200d❤\ufe0f\u200d👩🏻 ",
    "colours": "\x1b[32mok\x1b[0m test_one_of_many\r\n",
    "one line": "x",
    "newlines": "\n",
}
_LIMITS: Final[tuple[dict[str, Any], ...]] = (
    {"limit_chars": 10_000},
    {"limit_chars": 900_000},
    {"limit_lines": 200},
    {"limit_lines": 10_000},
    {"limit_tokens": 5_000},
)
_HOSTILE: Final = {
    "combining marks": "\u0301",
    "unterminated escapes": "\x1b]",
    "flags": "🇷",
    "markers": "[truncated v1: omitted 1 of 2 chars, 0 of 1 lines; absence here is not absence there; ref=" + "5f" * 32 + "]\n",
}


def _seconds(work: Callable[[], object]) -> float:
    """The quickest of a few runs."""
    times = []
    for _ in range(_TIMES):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def _ratio(ours: Callable[[], object], theirs: Callable[[], object]) -> float:
    return median_ratio(partial(_seconds, ours), partial(_seconds, theirs))


def run() -> list[Row]:
    """Measure."""
    rows: list[Row] = []
    for name, chunk in _TEXTS.items():
        text = (chunk * (_SIZE // len(chunk) + 1))[:_SIZE]
        hashing = partial(lambda text: hashlib.sha256(text.encode()).digest(), text)
        worst = {str(limit): _ratio(partial(truncate, text, **limit), hashing) for limit in _LIMITS}
        limit = max(worst, key=lambda limit: worst[limit])
        rows.append((f"{name}, dearest limit {limit} / sha256", worst[limit], "<= 3"))
        signals = _ratio(partial(truncate, text, limit_chars=10_000, signal_lines=8), hashing)
        rows.append((f"{name}, notable lines / sha256", signals, "reported"))
        rows.append((f"{name}, escape / sha256", _ratio(partial(escape, text), hashing), "reported"))
        rows.append((f"{name}, quote_lines / sha256", _ratio(partial(quote_lines, text), hashing), "reported"))
    body = json.dumps([{"id": number, "name": f"row {number}", "tags": ["a", "b"]} for number in range(20_000)])
    in_json = _ratio(partial(truncate, body, limit_chars=10_000, form="json"), partial(json.loads, body))
    rows.append(("JSON form / json.loads", in_json, "reported"))
    for name, chunk in _HOSTILE.items():
        short, long = (chunk * (size // len(chunk)) for size in (_SIZE, 2 * _SIZE))
        issued = {"5f" * 32: (2, 1)}
        ours, theirs = (partial(truncate, text, limit_chars=10_000, signal_lines=8, issued=issued) for text in (long, short))
        rows.append((f"{name}, 2 MB / 1 MB", _ratio(ours, theirs), "about 2"))
    return rows
