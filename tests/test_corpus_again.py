"""
Real conversations through twenty compactions in a row.

Between two compactions the conversation goes over the wire and grows by its
own next stretch; when it has no more, it begins again, as a session does that
is asked the same once more.  Whatever comes out is judged by every law, each
time.  With a store, outputs are cleared first and summarised when that is not
enough; what was given out stays given out.

The continuous integration runs a sample that is the same each time: each file
at one of five windows, with a store or without, and some recorded requests.
``COMPACTLIB_WHOLE=1`` runs all of them at all five, in both ways.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path
from typing import Any, Final

import pytest

import compactlib as cl
from compactlib.conformance.checks import judge
from compactlib.conformance.running import observe
from compactlib.dialects import messages_key
from compactlib.model import Conversation
from compactlib.tokens import Memo

from .spellings import SPELLINGS

TIMES: Final = 20
WINDOWS: Final = (4_096, 8_000, 16_000, 32_000, 64_000)
FOLDERS: Final = ("claude_code", "pi", "anthropic_requests", "openai_chat_requests")
RECORDED: Final = ("anthropic", "bedrock", "gemini", "mistral", "openai-chat", "openai-responses")
SAMPLED: Final = 200
"""Every two hundredth recorded request, the first of each file among them."""
WHOLE: Final = os.environ.get("COMPACTLIB_WHOLE") == "1"


def stretches(conversation: Conversation, messages: list[Any], least_tokens: int) -> Iterator[list[Any]]:
    """
    The wire messages in runs of at least so many tokens, each beginning with a turn or a step.

    When there are no more, a person asks for the same once more, in words that were not there before.
    """
    division = cl.legal_cuts(conversation)
    starts = sorted({0, *division.turn, *division.step})
    memo = Memo(cl.estimate)
    weights = [memo.message(message) for message in conversation.messages]
    pieces = [(start, stop) for start, stop in zip(starts, [*starts[1:], len(messages)], strict=True)]
    run: list[Any] = []
    size = 0
    for time in count(1):
        for start, stop in pieces:
            run += messages[start:stop]
            size += sum(weights[start:stop])
            if size >= least_tokens:
                yield run
                run, size = [], 0
        run = [*run, SPELLINGS[conversation.dialect].user(f"Now do it for the {time}th time, with v{time}.0 of the plan.")]


def twenty(name: str, conversation: Conversation, window: int, store: cl.MemoryStore | None) -> Counter[str]:
    """The reasons of twenty compactions in a row, each judged, and the rungs that ran."""
    body = cl.render(conversation)
    body = json.loads(body) if isinstance(body, str | bytes) else body
    key = messages_key(conversation.dialect)
    is_list = isinstance(body, list)
    messages = body if is_list else body[key]
    reasons: Counter[str] = Counter()
    if not isinstance(messages, list) or sum(map(Memo(cl.estimate).message, conversation.messages)) < 1:
        return reasons
    source = stretches(conversation, messages, window // 4)
    policy = cl.Policy(window_tokens=window)
    current: list[Any] = []
    issued: dict[str, tuple[int, int]] = {}
    for number in range(TIMES):
        current = [*current, *next(source)]
        subject = cl.parse(current if is_list else {**body, key: current}, dialect=conversation.dialect)
        stored: dict[str, Any] = {} if store is None else {"store": store, "issued": issued}
        record, outcome = observe(cl.compact, subject, policy, when="now", repeat=False, **stored)
        findings = [str(finding) for finding in judge(record) if finding.verdict == "broken"]

        assert findings == [], (name, window, number)
        assert not outcome.reason.startswith(("callback", "internal"))
        reasons[outcome.reason] += 1
        if isinstance(outcome, cl.Compacted):
            made = record.after
            current = made if is_list else made[key]
            issued = {**issued, **outcome.issued}
            reasons["after clearing"] += bool(outcome.report["cleared"])
    return reasons


def chosen(number: int) -> Iterator[tuple[int, cl.MemoryStore | None]]:
    """The windows for one conversation, each with a store or without."""
    for window in WINDOWS if WHOLE else (WINDOWS[number % len(WINDOWS)],):
        if WHOLE or number % 2 == 0:
            yield window, cl.MemoryStore()
        if WHOLE or number % 2:
            yield window, None


@pytest.mark.parametrize("folder", FOLDERS)
def test_files(shared: Path, folder: str) -> None:
    """Sessions of two agents, and requests; some are broken as stored."""
    reasons: Counter[str] = Counter()
    for number, path in enumerate(sorted((shared / "corpus" / folder).iterdir())):
        for window, store in chosen(number):
            reasons += twenty(path.name, cl.load(path), window, store)

    cleared = reasons.pop("after clearing", 0)
    assert reasons["target-met"] > reasons.total() // 4, reasons
    assert cleared > 0 or folder != "claude_code"


@pytest.mark.parametrize("dialect", RECORDED)
def test_recorded_requests(shared: Path, dialect: str) -> None:
    """Bodies that live providers accepted or refused."""
    reasons: Counter[str] = Counter()
    for name in (dialect, f"{dialect}-more"):
        path = shared / "corpus" / "recorded" / f"{name}.jsonl"
        lines = path.read_text("utf-8").splitlines() if path.exists() else []
        for number, line in enumerate(lines[:: 1 if WHOLE else SAMPLED]):
            body = json.loads(line)["body"]
            for window, store in islice(chosen(number), 4):
                reasons += twenty(f"{name} {number}", cl.parse(body, dialect=dialect), window, store)

    assert reasons["target-met"] > 0, reasons
