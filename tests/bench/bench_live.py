"""
Live: the full check before every request, as a conversation grows by 2,000 messages.

Each append feeds the validator, counts the message and asks whether it is time
to compact.  Bars: the second half costs at most 1.2 times the first; the whole
at most 1/100 of what langchain-core's token-counting check costs when it does
the same in the same run (it counts everything again each time).
"""

from __future__ import annotations

import time
from typing import Any

import compactlib as cl
from compactlib.budget import Policy, sizes
from compactlib.protocol.validator import Validator
from compactlib.tokens import Tally

from . import ROUNDS, Row
from .corpus import large_body

COUNT = 2_000


def live(messages: tuple[cl.Message, ...]) -> tuple[float, float]:
    """Seconds of the first and of the second half."""
    policy = Policy(window_tokens=1_000_000)
    trigger = sizes(policy, overhead_tokens=0).trigger
    validator = Validator("anthropic")
    tally = Tally(policy.counter)
    halves = []
    asked = 0
    start = time.perf_counter()
    for number, message in enumerate(messages, 1):
        validator.feed(message)
        tally.append(message)
        # what is asked before each request: is it valid as it stands, and is it time
        validator.finish()
        asked += tally.tokens > trigger
        if number in (COUNT // 2, COUNT):
            halves.append(time.perf_counter() - start)
            start = time.perf_counter()
    return halves[0], halves[1]


def langchain(body: list[dict[str, Any]]) -> float | None:
    """Seconds that langchain-core's check needs for the same, or ``None`` where it is not installed."""
    try:
        from langchain_core.messages import convert_to_messages
        from langchain_core.messages.utils import count_tokens_approximately
    except ImportError:
        return None
    messages = convert_to_messages(body)
    start = time.perf_counter()
    for number in range(1, COUNT + 1):
        count_tokens_approximately(messages[:number])
    return time.perf_counter() - start


def run() -> list[Row]:
    """Ratios: name, value, what it is to be."""
    messages = cl.parse(large_body(COUNT)["messages"], dialect="anthropic").messages
    rounds = sorted(live(messages) for _ in range(ROUNDS))
    first, second = rounds[ROUNDS // 2]
    rows: list[Row] = [
        ("second half, of the first", second / first, "at most 1.2"),
        ("microseconds a message", (first + second) / COUNT * 1e6, "reported"),
    ]
    theirs = langchain(large_body(COUNT, "openai-chat")["messages"])
    if theirs is None:
        return [*rows, ("langchain-core is not installed: not measured", 0.0, "at most 0.01")]
    return [*rows, ("all of it, of langchain-core's check", (first + second) / theirs, "at most 0.01")]
