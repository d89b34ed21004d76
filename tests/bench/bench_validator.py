"""
What checking costs, as ratios to `json.loads` of the same text in the same run.

The garbage collector is off on both sides and parsing is not counted.  Each
figure is the median of ratios of two measurements made one right after the
other, in time of the processor.  Hostile inputs: `bench_growth`.
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

from . import Row, median_ratio

__all__ = ["DIALECTS", "long_body", "run", "seconds", "step", "timed", "words"]

DIALECTS = ("anthropic", "openai-chat", "openai-responses", "gemini", "bedrock", "mistral")

_MESSAGES = 100_000
_ROUNDS = 5
_FED = 1_000
_STEPS_PER_TURN = 8
_RUSSIAN = "Прочитал файл и понял, в чём дело: тест ждёт другой ответ. "
_ENGLISH = "I read the file and see what is wrong: the test expects another answer. "
_LOG = "2026-11-29 12:00:00 INFO worker.pool: task finished in 12.5 ms, 3 retries left\n"


def long_body(dialect: str, messages: int = _MESSAGES) -> list[dict[str, Any]]:
    """A long agent session: turns of several steps, every third step with two calls; 330 bytes a message."""
    found: list[dict[str, Any]] = []
    number = 0
    while len(found) < messages:
        request = f"Request {number}: make the tests of module {number % 97} pass. " + "Please. " * 12
        found.append(words(dialect, "user", request))
        for _ in range(_STEPS_PER_TURN):
            number += 1
            prefix = "" if dialect == "mistral" else "call_"
            ids = [f"{prefix}{number:08d}{letter}" for letter in ("ab" if number % 3 == 0 else "a")]
            said = _RUSSIAN * 2 if number % 5 == 0 else _ENGLISH
            found += step(dialect, ids, said, _LOG * 3)
        found.append(words(dialect, "assistant", "Done. " * 20))
    return found[:messages]


def words(dialect: str, role: str, text: str) -> dict[str, Any]:
    """A message of nothing but words."""
    if dialect == "gemini":
        return {"role": "model" if role == "assistant" else role, "parts": [{"text": text}]}
    return {"role": role, "content": [{"text": text}] if dialect == "bedrock" else text}


def step(dialect: str, ids: list[str], said: str, log: str) -> list[dict[str, Any]]:
    """Words of the model, a call with each of *ids*, and its result."""
    arguments = {"path": "src/module/file.py", "limit": 200, "pattern": "def test_"}
    if dialect == "anthropic":
        calls = [{"type": "tool_use", "id": key, "name": "read_file", "input": arguments} for key in ids]
        results = [{"type": "tool_result", "tool_use_id": key, "content": log} for key in ids]
        return [{"role": "assistant", "content": [{"type": "text", "text": said}, *calls]}, {"role": "user", "content": results}]
    if dialect == "bedrock":
        uses = [{"toolUse": {"toolUseId": key, "name": "read_file", "input": arguments}} for key in ids]
        given = [{"toolResult": {"toolUseId": key, "content": [{"text": log}], "status": "success"}} for key in ids]
        return [{"role": "assistant", "content": [{"text": said}, *uses]}, {"role": "user", "content": given}]
    if dialect == "gemini":
        parts = [{"functionCall": {"id": key, "name": "read_file", "args": arguments}} for key in ids]
        signed = {**parts[0], "thoughtSignature": "c2lnbmF0dXJl" * 8}
        answers = [{"functionResponse": {"id": key, "name": "read_file", "response": {"output": log}}} for key in ids]
        return [{"role": "model", "parts": [{"text": said}, signed, *parts[1:]]}, {"role": "user", "parts": answers}]
    text = json.dumps(arguments)
    if dialect == "openai-responses":
        echo = {"type": "function_call", "name": "read_file", "arguments": text, "status": "completed"}
        return [
            {"role": "assistant", "content": said},
            *({**echo, "call_id": key, "id": f"fc_{key}"} for key in ids),
            *({"type": "function_call_output", "call_id": key, "output": log} for key in ids),
        ]
    calls = [{"id": key, "type": "function", "function": {"name": "read_file", "arguments": text}} for key in ids]
    return [
        {"role": "assistant", "content": said, "tool_calls": calls},
        *({"role": "tool", "tool_call_id": key, "content": log} for key in ids),
    ]


def timed(work: Callable[[], object]) -> float:
    """How long *work* takes once, the collector off."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        begun = time.process_time()
        work()
        return time.process_time() - begun
    finally:
        if enabled:
            gc.enable()


def seconds(work: Callable[[], object], rounds: int = _ROUNDS) -> float:
    """The median time of *work*."""
    return median(timed(work) for _ in range(rounds))


def _growth(conversation: Conversation, profile: str) -> float:
    """What feeding a thousand messages costs at the end, as a ratio to what it costs from the tenth message on; least times."""
    times = [_feeding(conversation, profile) for _ in range(_ROUNDS)]
    return min(late for _early, late in times) / min(early for early, _late in times)


def _feeding(conversation: Conversation, profile: str) -> tuple[float, float]:
    judge = Validator(conversation, profile=profile)
    messages = conversation.messages
    stop = len(messages) - _FED
    for message in messages[:10]:
        judge.feed(message)
    early = timed(lambda: [judge.feed(message) for message in messages[10 : 10 + _FED]])
    for message in messages[10 + _FED : stop]:
        judge.feed(message)
    return early, timed(lambda: [judge.feed(message) for message in messages[stop:]])


def run() -> list[Row]:
    """Measure."""
    routes = (*zip(DIALECTS, DIALECTS, strict=True), ("openai-chat", "strict-template"))
    return [row for route in routes for row in _against_reading(*route)]


def _against_reading(dialect: str, profile: str) -> list[Row]:
    gc.collect()  # what other dialects left behind would stand in the way
    body = long_body(dialect)
    text = json.dumps(body, ensure_ascii=False)
    conversation = parse(body, dialect=dialect)
    judging = partial(check, conversation, mode="history", profile=profile)
    assert not judging()
    ratio = median_ratio(partial(timed, judging), partial(timed, partial(json.loads, text)))
    remark = f"{len(body):,} messages, {len(text.encode()) / 1e6:.0f} MB; at most 1, better 0.5"
    growth = _growth(conversation, profile)
    return [
        (f"check / json.loads, {profile}", ratio, remark),
        (f"feed, the last thousand / from the tenth on, {profile}", growth, "at most 1.3"),
    ]


if __name__ == "__main__":
    for what, figure, remark in run():
        print(f"{what:60} {figure:6.2f}   {remark}")
