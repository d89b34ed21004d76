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

from . import Row, median_ratio
from .corpus import large_body, sorted_keys

COUNT = 100_000


def cold(body: Any, dialect: str) -> Any:
    """
    Everything that is done once for a conversation that comes from outside.

    What was made is given back, so that it is taken apart outside the
    measurement, as what `json.loads` made is.
    """
    conversation = cl.parse(body, dialect=dialect)
    violations = cl.check(conversation)
    memo, weights = count(conversation)
    division = divide(conversation)
    cuts = find_cuts(conversation, division)
    return conversation, violations, memo, division, cuts, choose(division, cuts, weights, limit_tokens=100_000)


def count(conversation: Conversation) -> tuple[Memo, list[int]]:
    """The size of each message."""
    memo = Memo(cl.estimate)
    return memo, memo.sizes(conversation.messages)


def seconds(work: Callable[[], Any], *, collect: bool = False) -> float:
    """Processor time of one run."""
    gc.collect()
    if not collect:
        gc.disable()
    start = time.process_time()
    result = work()
    spent = time.process_time() - start
    gc.enable()
    del result
    return spent


def ratio(work: Callable[[], Any], reference: Callable[[], Any], *, collect: bool = False, rounds: int = 5) -> float:
    """The median of *rounds* ratios, each of two runs one right after the other."""
    return median_ratio(partial(seconds, work, collect=collect), partial(seconds, reference, collect=collect), rounds=rounds)


def run() -> list[Row]:
    """Ratios: name, value, what it is to be."""
    rows: list[Row] = []
    for dialect in ("anthropic", "openai-chat"):
        body = large_body(COUNT, dialect)
        text = json.dumps(body, ensure_ascii=False)
        loads = partial(json.loads, text)
        whole = partial(cold, body, dialect)
        megabytes = len(text.encode()) / 1e6
        rows.append((f"{dialect}, {COUNT} messages, {megabytes:.0f} MB, of json.loads", ratio(whole, loads), "at most 3.2"))
        rows += [(f"  {name}", ratio(work, loads, rounds=3), "") for name, work in _parts(body, dialect)]
        rows.append((f"{dialect}, sorted keys", ratio(partial(cold, sorted_keys(body), dialect), loads), "at most 3.2"))
        tenth = partial(cold, large_body(COUNT // 10, dialect), dialect)
        rows.append((f"{dialect}, ten times the messages", ratio(whole, tenth), "at most 12"))
        rows.append((f"{dialect}, collector on", ratio(whole, loads, collect=True, rounds=3), "reported"))
        rows += _memory(text, dialect)
    return rows


def _parts(body: Any, dialect: str) -> list[tuple[str, Callable[[], Any]]]:
    conversation = cl.parse(body, dialect=dialect)
    division = divide(conversation)
    return [
        ("parse", partial(cl.parse, body, dialect=dialect)),
        ("check", partial(cl.check, conversation)),
        ("count", partial(count, conversation)),
        ("divide", partial(divide, conversation)),
        ("cuts", partial(find_cuts, conversation, division)),
    ]


def _memory(text: str, dialect: str) -> list[Row]:
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
        (f"{dialect}, memory of the model alone, of the dictionaries", alone / dictionaries, "at most 0.8"),
        (f"{dialect}, memory of both, of the dictionaries", both / dictionaries, "at most 1.3"),
    ]
