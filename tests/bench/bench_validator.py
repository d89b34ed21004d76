"""
What checking costs, as ratios to `json.loads` of the same text in the same run.

The garbage collector is off on both sides and parsing is not counted.  Each
figure is the median of ratios of two measurements made one right after the
other, in time of the processor.  The last rows are hostile inputs and what
doubling them does: two is linear, four would be quadratic.
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
from compactlib.protocol.repair import repair
from compactlib.protocol.validator import Validator, check

from . import Row, median_ratio

__all__ = ["DIALECTS", "hostile_body", "long_body", "run", "seconds"]

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
    """What feeding a thousand messages costs at the end, as a ratio to what it costs from the tenth message on."""
    judge = Validator(conversation, profile=profile)
    messages = conversation.messages
    stop = len(messages) - _FED
    for message in messages[:10]:
        judge.feed(message)
    early = timed(lambda: [judge.feed(message) for message in messages[10 : 10 + _FED]])
    for message in messages[10 + _FED : stop]:
        judge.feed(message)
    return timed(lambda: [judge.feed(message) for message in messages[stop:]]) / early


# -- inputs on which careless code is quadratic ------------------------------------------------------------------------

_EMPTY: dict[str, dict[str, Any]] = {
    "bedrock": {"text": ""},
    "gemini": {"text": ""},
    "openai-responses": {"type": "input_text", "text": ""},
}
HOSTILE = {"open calls": 5_000, "one prefix": 5_000, "one id": 5_000, "empty blocks": 25_000, "results": 25_000}
"""Each kind, and how much of it there is before it is doubled."""


def hostile_body(dialect: str, kind: str, size: int) -> list[dict[str, Any]]:
    """One prompt, and *size* calls or results or blocks in as few messages as the dialect can."""
    if kind == "empty blocks":
        blocks = [_EMPTY.get(dialect, {"type": "text", "text": ""})] * size
        return [{"role": "user", "parts" if dialect == "gemini" else "content": blocks}]
    prefix = "x" * 200 if kind == "one prefix" else "c"
    ids = ["abcdefghi" if kind == "one id" else f"{prefix}{place:08d}" for place in range(size)]
    said = _step(dialect, ids, "now", "ok")
    if kind == "open calls":
        said = [one for one in said if one["role"] in ("assistant", "model")] if "role" in said[-1] else said[:-size]
    elif kind == "one prefix" and dialect not in ("anthropic", "bedrock", "gemini"):
        said[-size:] = said[: -size - 1 : -1]  # the last call is answered first
    return [_words(dialect, "user", "go on"), *said]


def run() -> list[Row]:
    """Measure."""
    routes = (*zip(DIALECTS, DIALECTS, strict=True), ("openai-chat", "strict-template"))
    return [*(row for route in routes for row in _against_reading(*route)), *_doubled()]


def _against_reading(dialect: str, profile: str) -> list[Row]:
    gc.collect()  # what other dialects left behind would stand in the way
    body = long_body(dialect)
    text = json.dumps(body, ensure_ascii=False)
    conversation = parse(body, dialect=dialect)
    judging = partial(check, conversation, mode="history", profile=profile)
    assert not judging()
    ratio = median_ratio(partial(timed, judging), partial(timed, partial(json.loads, text)))
    remark = f"{len(body):,} messages, {len(text.encode()) / 1e6:.0f} MB; at most 1, better 0.5"
    growth = median(_growth(conversation, profile) for _ in range(_ROUNDS))
    return [
        (f"check / json.loads, {profile}", ratio, remark),
        (f"feed, the last thousand / from the tenth on, {profile}", growth, "at most 1.3"),
    ]


def _doubled() -> list[Row]:
    rows: list[Row] = []
    for dialect in DIALECTS:
        for kind, size in HOSTILE.items():
            texts = [json.dumps(hostile_body(dialect, kind, times * size)) for times in (1, 2)]
            small, large = (parse(text, dialect=dialect) for text in texts)
            works: tuple[tuple[str, Callable[[], object], Callable[[], object]], ...] = (
                ("parse", partial(parse, texts[0], dialect=dialect), partial(parse, texts[1], dialect=dialect)),
                ("check", partial(check, small), partial(check, large)),
                ("repair", partial(repair, small, close=True), partial(repair, large, close=True)),
            )
            for name, less, more in works:
                ratio = median_ratio(partial(timed, more), partial(timed, less), rounds=3)
                rows.append((f"{name}, {2 * size:,} {kind}, {dialect}", ratio, "2 is linear"))
    return rows


if __name__ == "__main__":
    for what, figure, remark in run():
        print(f"{what:60} {figure:6.2f}   {remark}")
