"""
Cold: from a parsed body to a chosen cut, against `json.loads` of the same text.

Parse to the model, check, count, divide, find the cuts and choose one.  The
garbage collector is off on both sides, because its passes cost more with every
object that is alive anywhere; with it on is reported beside.  Bars: 3.2 times
`json.loads` (aim 2.5), growth per tenfold at most 12; memory of the model at
most 0.8 of the dictionaries, with them alive 1.3.
"""

from __future__ import annotations

import gc
import json
import statistics
import time
import tracemalloc
from collections.abc import Callable
from functools import partial
from typing import Any

import compactlib as cl
from compactlib.cuts import choose, find_cuts
from compactlib.model import Conversation
from compactlib.tokens import Memo
from compactlib.turns import divide

from .corpus import large_body, sorted_keys

COUNT = 100_000


def cold(body: Any, dialect: str) -> Any:
    """Everything that is done once for a conversation that comes from outside."""
    conversation = cl.parse(body, dialect=dialect)
    violations = cl.check(conversation)
    weights = count(conversation)
    division = divide(conversation)
    return violations, choose(division, find_cuts(conversation, division), weights, limit_tokens=100_000)


def count(conversation: Conversation) -> list[int]:
    """The size of each message."""
    memo = Memo(cl.estimate)
    return [memo.message(message) for message in conversation.messages]


def timed(work: Callable[[], Any], *, collect: bool = False, rounds: int = 5) -> float:
    """Median seconds of *rounds*."""
    times = []
    for _ in range(rounds):
        gc.collect()
        if not collect:
            gc.disable()
        start = time.perf_counter()
        result = work()
        times.append(time.perf_counter() - start)
        gc.enable()
        del result
    return statistics.median(times)


def run() -> list[tuple[str, float, str]]:
    """Ratios: name, value, remark."""
    rows = []
    for dialect in ("anthropic", "openai-chat"):
        body = large_body(COUNT, dialect)
        text = json.dumps(body, ensure_ascii=False)
        megabytes = len(text.encode()) / 1e6
        loads = timed(partial(json.loads, text))
        total = timed(partial(cold, body, dialect))
        rows.append((f"cold {dialect}", total / loads, f"of json.loads; {COUNT} messages, {megabytes:.0f} MB; bar 3.2"))
        rows += _parts(body, dialect, loads)
        rows.append((f"cold {dialect}, sorted keys", timed(partial(cold, sorted_keys(body), dialect)) / loads, "bar 3.2"))
        small = timed(partial(cold, large_body(COUNT // 10, dialect), dialect))
        rows.append((f"cold {dialect}, growth", total / small, "per tenfold; bar 12"))
        collected = timed(partial(cold, body, dialect), collect=True, rounds=3)
        loads = timed(partial(json.loads, text), collect=True, rounds=3)
        rows.append((f"cold {dialect}, collector on", collected / loads, "of json.loads with it on; reported"))
        rows += _memory(text, dialect)
    return rows


def _parts(body: Any, dialect: str, loads: float) -> list[tuple[str, float, str]]:
    conversation = cl.parse(body, dialect=dialect)
    division = divide(conversation)
    works: list[tuple[str, Callable[[], Any]]] = [
        ("parse", partial(cl.parse, body, dialect=dialect)),
        ("check", partial(cl.check, conversation)),
        ("count", partial(count, conversation)),
        ("divide", partial(divide, conversation)),
        ("cuts", partial(find_cuts, conversation, division)),
    ]
    return [(f"  {name}", timed(work, rounds=3) / loads, "of json.loads") for name, work in works]


def _memory(text: str, dialect: str) -> list[tuple[str, float, str]]:
    gc.collect()
    tracemalloc.start()
    body = json.loads(text)
    dictionaries = tracemalloc.get_traced_memory()[0]
    conversation = cl.parse(body, dialect=dialect)
    both = tracemalloc.get_traced_memory()[0]
    body = None
    gc.collect()
    alone = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    del body, conversation
    return [
        (f"memory {dialect}, model alone", alone / dictionaries, "of the parsed dictionaries; bar 0.8"),
        (f"memory {dialect}, both alive", both / dictionaries, "of the parsed dictionaries; bar 1.3"),
    ]
