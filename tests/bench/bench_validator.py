"""
What checking costs, as ratios to `json.loads` of the same text in the same run.

The garbage collector is off on both sides and parsing is not counted.  Each
figure is the median of five.
"""

from __future__ import annotations

import gc
import json
import time
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any

from compactlib.dialects import parse
from compactlib.model import Conversation
from compactlib.protocol.validator import Validator, check

__all__ = ["long_body", "run"]

_MESSAGES = 100_000
_ROUNDS = 5
_STEPS_PER_TURN = 8
_RUSSIAN = "Прочитал файл и понял, в чём дело: тест ждёт другой ответ. "
_ENGLISH = "I read the file and see what is wrong: the test expects another answer. "
_LOG = "2026-11-29 12:00:00 INFO worker.pool: task finished in 12.5 ms, 3 retries left\n"


def long_body(dialect: str, messages: int = _MESSAGES) -> list[dict[str, Any]]:
    """A long agent session: turns of several steps, every third step with two calls; 330 bytes a message."""
    found: list[dict[str, Any]] = []
    step = 0
    while len(found) < messages:
        request = f"Request {step}: make the tests of module {step % 97} pass. " + "Please. " * 12
        found.append(_words(dialect, "user", request))
        for _ in range(_STEPS_PER_TURN):
            step += 1
            prefix = "" if dialect == "mistral" else "call_"
            ids = [f"{prefix}{step:08d}{letter}" for letter in ("ab" if step % 3 == 0 else "a")]
            words = _RUSSIAN * 2 if step % 5 == 0 else _ENGLISH
            found += _step(dialect, ids, words, _LOG * 3)
        found.append(_words(dialect, "assistant", "Done. " * 20))
    return found[:messages]


def _words(dialect: str, role: str, words: str) -> dict[str, Any]:
    if dialect == "gemini":
        return {"role": "model" if role == "assistant" else role, "parts": [{"text": words}]}
    return {"role": role, "content": [{"text": words}] if dialect == "bedrock" else words}


def _step(dialect: str, ids: list[str], words: str, log: str) -> list[dict[str, Any]]:
    arguments = {"path": "src/module/file.py", "limit": 200, "pattern": "def test_"}
    if dialect == "anthropic":
        calls = [{"type": "tool_use", "id": key, "name": "read_file", "input": arguments} for key in ids]
        results = [{"type": "tool_result", "tool_use_id": key, "content": log} for key in ids]
        return [{"role": "assistant", "content": [{"type": "text", "text": words}, *calls]}, {"role": "user", "content": results}]
    if dialect == "bedrock":
        uses = [{"toolUse": {"toolUseId": key, "name": "read_file", "input": arguments}} for key in ids]
        given = [{"toolResult": {"toolUseId": key, "content": [{"text": log}], "status": "success"}} for key in ids]
        return [{"role": "assistant", "content": [{"text": words}, *uses]}, {"role": "user", "content": given}]
    if dialect == "gemini":
        parts = [{"functionCall": {"id": key, "name": "read_file", "args": arguments}} for key in ids]
        signed = {**parts[0], "thoughtSignature": "c2lnbmF0dXJl" * 8}
        answers = [{"functionResponse": {"id": key, "name": "read_file", "response": {"output": log}}} for key in ids]
        return [{"role": "model", "parts": [{"text": words}, signed, *parts[1:]]}, {"role": "user", "parts": answers}]
    text = json.dumps(arguments)
    if dialect == "openai-responses":
        echo = {"type": "function_call", "name": "read_file", "arguments": text, "status": "completed"}
        return [
            {"role": "assistant", "content": words},
            *({**echo, "call_id": key, "id": f"fc_{key}"} for key in ids),
            *({"type": "function_call_output", "call_id": key, "output": log} for key in ids),
        ]
    calls = [{"id": key, "type": "function", "function": {"name": "read_file", "arguments": text}} for key in ids]
    return [
        {"role": "assistant", "content": words, "tool_calls": calls},
        *({"role": "tool", "tool_call_id": key, "content": log} for key in ids),
    ]


def seconds(work: Callable[[], object], rounds: int = _ROUNDS) -> float:
    """The median time of *work*."""
    times = []
    enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        for _ in range(rounds):
            begun = time.perf_counter()
            work()
            times.append(time.perf_counter() - begun)
    finally:
        if enabled:
            gc.enable()
    return median(times)


def _feed_all(conversation: Conversation) -> list[float]:
    """How long the first and the last tenth took to feed."""
    judge = Validator(conversation)
    feed = judge.feed
    tenth = len(conversation.messages) // 10
    times = []
    for part in range(10):
        begun = time.perf_counter()
        for message in conversation.messages[part * tenth : (part + 1) * tenth]:
            feed(message)
        times.append(time.perf_counter() - begun)
    return [times[1], times[-1]]


def _hostile(kind: str, size: int) -> Conversation:
    """Inputs on which careless code is quadratic."""
    ids = [("x" * 200 if kind == "prefix" else "c") + str(place) for place in range(size)]
    calls = [{"type": "tool_use", "id": "same" if kind == "twins" else key, "name": "ls", "input": {}} for key in ids]
    results = [{"type": "tool_result", "tool_use_id": call["id"], "content": "ok"} for call in reversed(calls)]
    if kind == "empty":
        return parse([{"role": "user", "content": [{"type": "text", "text": ""}] * size}], dialect="anthropic")
    body: list[dict[str, Any]] = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": calls}]
    body += [{"role": "user", "content": [result]} for result in results]
    return parse(body, dialect="anthropic")


def run() -> list[tuple[str, float, str]]:
    """(what, figure, remark) for each measurement."""
    rows: list[tuple[str, float, str]] = []
    for dialect in ("anthropic", "openai-chat", "openai-responses", "gemini", "bedrock", "mistral"):
        body = long_body(dialect)
        text = json.dumps(body, ensure_ascii=False)
        size = len(text.encode())
        conversation = parse(body, dialect=dialect)
        assert not check(conversation, mode="history")
        reading = seconds(partial(json.loads, text))
        checking = seconds(partial(check, conversation, mode="history"))
        remark = f"{len(body):,} messages, {size / 1e6:.0f} MB, {checking / len(body) * 1e9:.0f} ns a message; at most 0.5"
        rows.append((f"check / json.loads, {dialect}", checking / reading, remark))
        first, last = (median(times) for times in zip(*(_feed_all(conversation) for _ in range(_ROUNDS)), strict=True))
        rows.append((f"feed, last tenth / second tenth, {dialect}", last / first, "1 is flat"))
    for kind in ("open calls", "prefix", "twins", "empty"):
        small, large = _hostile(kind, 10_000), _hostile(kind, 40_000)
        ratio = seconds(partial(check, large)) / seconds(partial(check, small))
        rows.append((f"hostile, four times the {kind}", ratio, "4 is linear"))
    return rows


if __name__ == "__main__":
    for what, figure, remark in run():
        print(f"{what:48} {figure:6.2f}   {remark}")
