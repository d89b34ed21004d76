r"""
A whole compaction, clearing, and facts, as ratios to what reading the same text costs in the same run.

The collector is off, and each time is the least of several, because others work
on the machine too.  Bars: 10,000 messages compacted by the extractive
summariser in 30 times `json.loads` (aim 15), ten times as many in 12 times
that; twice the results cleared in about twice the time, in both forms, each in
a message of its own or all in one; facts found and claims judged over a million
characters in 15 times ``re.findall(r"\w+", text)``.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

import compactlib as cl
from compactlib.model import Message, Origin, Result, wire
from compactlib.options import Clearing
from compactlib.summaries.facts import find_anchors
from compactlib.summaries.grounding import evidence_of, ground

from . import Row
from .bench_validator import long_body, timed
from .corpus import large_body

__all__ = ["least", "run"]

_TIMES: Final = 5
_SECONDS: Final = 0.2
_MESSAGES: Final = 10_000
_RESULTS: Final = 10_000
_CHARS: Final = 1_000_000


def least(work: Callable[[], object], times: int = _TIMES) -> float:
    """The least time of *work*, the collector off, of so many runs; of more if they are short."""
    spent = [timed(work) for _ in range(times)]
    while sum(spent) < _SECONDS:
        spent.append(timed(work))
    return min(spent)


def run() -> list[Row]:
    """Measure."""
    return [*_compacted(), *_cleared(), *_read()]


# -- a whole compaction ------------------------------------------------------------------------------------------------


def _compacted() -> list[Row]:
    rows: list[Row] = []
    bodies: Mapping[str, Callable[[int], Any]] = {"short turns": large_body, "long turns": partial(long_body, "anthropic")}
    for name, make in bodies.items():
        reading = least(partial(json.loads, json.dumps(make(_MESSAGES), ensure_ascii=False)), 3 * _TIMES)
        once, more = (least(_compacting(make(times * _MESSAGES)), _TIMES if times == 1 else 2) for times in (1, 10))
        rows.append((f"{_MESSAGES:,} messages, {name} / json.loads", once / reading, "at most 30, better 15"))
        rows.append((f"ten times the messages, {name}", more / once, "at most 12"))
    return rows


def _compacting(body: Any) -> Callable[[], object]:
    conversation = cl.parse(body, dialect="anthropic")
    policy = cl.Policy(window_tokens=200_000)

    def compact() -> None:
        assert isinstance(cl.compact(conversation, policy, when="now"), cl.Compacted)

    return compact


# -- clearing ----------------------------------------------------------------------------------------------------------


def _cleared() -> list[Row]:
    rows: list[Row] = []
    for form in ("rewrite", "edit"):
        for name, batch in (("each in its message", 1), ("all in one message", 2 * _RESULTS)):
            once, twice = (least(_clearing(_results(size, batch), form), 3) for size in (_RESULTS, 2 * _RESULTS))
            rows.append((f"twice {_RESULTS:,} results, {name}, {form}", twice / once, "about 2"))
    return rows


def _results(count: int, batch: int) -> cl.Conversation:
    """A conversation with *count* results, at most *batch* of them in one message, and an end that is not cleared."""
    messages: list[Any] = [{"role": "user", "content": "read them all"}]
    for start in range(0, count, batch):
        places = range(start, min(start + batch, count))
        calls = [{"type": "tool_use", "id": f"c{at}", "name": "read", "input": {"path": f"src/{at}.py"}} for at in places]
        answers = [
            {"type": "tool_result", "tool_use_id": f"c{at}", "content": f"{at}: a line of this file\n" * 20} for at in places
        ]
        messages += [{"role": "assistant", "content": calls}, {"role": "user", "content": answers}]
    messages += [{"role": "assistant", "content": "All read."}, {"role": "user", "content": "go on"}]
    return cl.parse({"model": "claude-sonnet-4-5", "max_tokens": 100, "messages": messages}, dialect="anthropic")


def _clearing(conversation: cl.Conversation, form: str) -> Callable[[], object]:
    policy = cl.Policy(window_tokens=100_000, tail_tokens=100, clearing=Clearing(form=form))  # type: ignore[arg-type]  # of two

    def clear() -> cl.Outcome:
        return cl.compact(conversation, policy, when="now", rungs=("clear",), store=cl.MemoryStore())

    outcome = clear()
    assert isinstance(outcome, cl.Compacted)
    assert (outcome.edits is not None) == (form == "edit")
    return clear


# -- facts -------------------------------------------------------------------------------------------------------------


def _read() -> list[Row]:
    rows: list[Row] = []
    for name, line in _TEXTS.items():
        whole = _lines(line, 2 * _CHARS)
        found = {size: _facts(whole[:size]) for size in (_CHARS, 2 * _CHARS)}
        words = least(partial(re.findall, r"\w+", whole[:_CHARS]))
        rows.append((f"facts and grounding, {name} / findall", found[_CHARS] / words, "at most 15"))
        rows.append((f"  twice the text, {name}", found[2 * _CHARS] / found[_CHARS], "about 2"))
    return rows


_TEXTS: Final[Mapping[str, Callable[[random.Random], str]]] = {
    "log": lambda draw: (
        f"2026-11-02 12:00:{draw.randrange(60)} INFO worker.py:{draw.randrange(999)} job_{draw.random()} took 12 ms\n"
    ),
    "code": lambda draw: (
        f"def resolve_{draw.randrange(10**6)}(self, path: Path) -> None:\n    return self.entries[{draw.randrange(99)}]\n"
    ),
    "Russian": lambda draw: f"Проверил модуль {draw.randrange(10**5)}: миграция проходит, но индекс создаётся слишком долго.\n",
    "paths": lambda draw: (
        f"src/{draw.randrange(99)}/part_{draw.randrange(999)}/file_{draw.randrange(10**6)}.py:{draw.randrange(999)}\n"
    ),
    "hashes": lambda draw: f"{draw.getrandbits(256):064x}  lib/{draw.randrange(999)}.so\n",
    "changes": lambda draw: f"retries {draw.randrange(999)} -> {draw.randrange(999)}, timeout 30 -> {draw.randrange(999)} s\n",
    "errors": lambda draw: f"Error: job {draw.randrange(10**6)} failed\n  at run (worker.js:{draw.randrange(999)})\n",
}


def _lines(line: Callable[[random.Random], str], chars: int) -> str:
    draw = random.Random(7)  # noqa: S311 - sample text, not a secret
    text = ""
    while len(text) < chars:
        text += "".join(line(draw) for _ in range(1_000))
    return text[:chars]


def _facts(text: str) -> float:
    """The time of finding the facts of an output, and of judging a summary by it."""
    said = [Message("tool", (Result("c", text, wire("tool")),), wire("tool"), Origin.TOOL)]
    claims = "\n".join(f"- {line}" for line in text[:10_000].split("\n"))
    summary = f'## Goal\n{claims}\n- "no such words are here" stands in zz/no.py, and 987654321 was not found'
    return least(partial(find_anchors, said), 3) + least(lambda: ground(summary, evidence_of(said, (), "")), 3)
