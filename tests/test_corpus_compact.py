"""
Real conversations compact, at every window, or are refused with a reason.

Sessions of two agents and recorded request bodies, none of them written for
this library: some are broken as stored, some hold what no rule knows.
Whatever comes out is judged by the checks.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import compactlib as cl
from compactlib.conformance.checks import judge
from compactlib.conformance.record import Origin as Kind
from compactlib.conformance.running import observe
from compactlib.dialects import messages_key
from compactlib.model import Conversation, Origin

WINDOWS = (8_000, 16_000, 32_000, 64_000, 128_000, 200_000, 1_000_000)
LONG_MESSAGES = 100
"""A session of more messages has room for a cut at every window."""
SAMPLED = 8
"""Every eighth recorded request is tried at every window, and grown."""
FILES = {"claude_code": 6, "pi": 1, "anthropic_requests": 10, "openai_chat_requests": 10}
RECORDED = {
    "anthropic": 144,
    "anthropic-more": 172,
    "bedrock": 76,
    "bedrock-more": 25,
    "gemini": 149,
    "gemini-more": 129,
    "mistral": 20,
    "mistral-more": 50,
    "openai-chat": 126,
    "openai-chat-more": 493,
    "openai-responses": 147,
    "openai-responses-more": 177,
}
KINDS: dict[Origin, Kind] = {
    Origin.HUMAN: "prompt",
    Origin.MODEL: "model",
    Origin.TOOL: "result",
    Origin.ATTACHMENT: "attachment",
    Origin.HARNESS: "harness",
    Origin.SYSTEM: "system",
    Origin.SUMMARY: "harness",
}


def kinds_of(conversation: Conversation) -> tuple[Kind | None, ...]:
    """What the reader of the file knew; the rest the checks find out, or do not know."""
    return tuple(
        KINDS.get(message.origin) if isinstance(message.origin, Origin) and not message.results else None
        for message in conversation.messages
    )


def compacted(name: str, conversation: Conversation, windows: tuple[int, ...] = WINDOWS) -> Iterator[tuple[int, cl.Outcome]]:
    """The outcome at each window, judged."""
    for window in windows:
        policy = cl.Policy(window_tokens=window)
        record, outcome = observe(
            cl.compact, conversation, policy, when="now", kinds=kinds_of(conversation), kinds_told=True, repeat=False
        )
        findings = [str(finding) for finding in judge(record) if finding.verdict == "broken"]

        assert findings == [], (name, window)
        if isinstance(outcome, cl.Compacted):
            assert outcome.after_tokens < outcome.before_tokens
            assert (outcome.reason == "target-met") == (outcome.over_by_tokens == 0)
            assert outcome.reason == "target-met" or outcome.irreducible
        else:
            assert outcome.conversation is conversation
        yield window, outcome


@pytest.mark.parametrize("folder", FILES)
def test_files(shared: Path, folder: str) -> None:
    """Every file, at every window."""
    paths = sorted((shared / "corpus" / folder).iterdir())
    outcomes: Counter[str] = Counter()
    for path in paths:
        conversation = cl.load(path)
        for window, outcome in compacted(path.name, conversation):
            outcomes[outcome.reason] += 1
            is_session = folder in ("claude_code", "pi")
            if is_session and outcome.before_tokens > cl.sizes(cl.Policy(window_tokens=window), overhead_tokens=0).trigger:
                # one step that fills the window by itself cannot be cut, and that is said
                assert outcome.reason in ("target-met", "irreducible"), (path.name, window)
                if isinstance(outcome, cl.Refused):
                    assert outcome.irreducible_tokens > outcome.before_tokens * 9 // 10, (path.name, window)

    assert len(paths) == FILES[folder]
    assert sum(outcomes.values()) == len(paths) * len(WINDOWS)
    assert not {reason for reason in outcomes if reason.startswith(("summary-failed", "callback", "internal"))}


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_requests(shared: Path, name: str) -> None:
    """Bodies that live providers accepted or refused, at a window that is too small for most of them."""
    dialect = name.removesuffix("-more")
    lines = (shared / "corpus" / "recorded" / f"{name}.jsonl").read_text("utf-8").splitlines()
    for number, line in enumerate(lines):
        conversation = cl.parse(json.loads(line)["body"], dialect=dialect)
        windows = (4_096, *WINDOWS) if number % SAMPLED == 0 else (4_096, 1_000_000)
        for _, outcome in compacted(f"{name} {number}", conversation, windows):
            assert not outcome.reason.startswith(("callback", "internal"))

    assert len(lines) == RECORDED[name]


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_requests_repeated(shared: Path, name: str) -> None:
    """Most are short; the same turn over and over is long enough for a cut, and stays as valid as it was."""
    dialect = name.removesuffix("-more")
    lines = (shared / "corpus" / "recorded" / f"{name}.jsonl").read_text("utf-8").splitlines()[::SAMPLED]
    outcomes: Counter[str] = Counter()
    for number, line in enumerate(lines):
        body = json.loads(line)["body"]
        key = messages_key(dialect)
        if not isinstance(body.get(key), list):
            continue
        grown = {**body, key: body[key] * (1 + 24_000 // len(json.dumps(body[key])))}
        for _, outcome in compacted(f"{name} {number}", cl.parse(grown, dialect=dialect), (8_000,)):
            assert not outcome.reason.startswith(("callback", "internal"))
            outcomes[type(outcome).__name__] += 1

    assert outcomes["Compacted"] > sum(outcomes.values()) // 4
