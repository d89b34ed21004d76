"""
Real sessions and recorded requests load, and nothing of them is lost.

Each fact is counted here a second time, straight from the lines and by other
means than the readers use.
"""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from compactlib.dialects import render
from compactlib.model import Origin
from compactlib.transcripts import Transcript, read, read_all


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().split(b"\n") if line.strip()]


def blocks(messages: list[dict[str, Any]], kind: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """(index of the message, block) for each block of a kind."""
    for index, message in enumerate(messages):
        content = message["content"]
        for block in content if isinstance(content, list) else []:
            if block["type"] == kind:
                yield index, block


def stored(lines: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    """The blocks of a kind in the lines of the session's own agent, or of a sub-agent's file."""
    own = [line for line in lines if not line.get("isSidechain")]
    if not any(line["type"] in ("user", "assistant") for line in own):
        own = lines
    return [block for _, block in blocks([line["message"] for line in own if "message" in line], kind)]


def prompts(transcript: Transcript) -> int:
    return sum(origin is Origin.HUMAN for origin in transcript.origins.values())


CLAUDE_CODE = {
    # file: (messages, calls, results, prompts, calls at the live end)
    "d-kimuson-agent-test-hash-123.jsonl": (2, 0, 0, 1, 0),
    "jazzyalex-agent-a0ad4f44468bdf20d.jsonl": (3, 1, 1, 1, 0),
    "obra-long-conversation.jsonl": (143, 98, 98, 15, 0),
    "obra-short-conversation.jsonl": (2, 0, 0, 1, 0),
    "slopus-task_non_sdk.jsonl": (4, 1, 1, 1, 0),
    "slopus-task_sdk.jsonl": (6, 2, 1, 2, 1),
}


@pytest.mark.parametrize("name", CLAUDE_CODE)
def test_claude_code_session(shared: Path, name: str) -> None:
    """Every stored call and result of the agent is there once, in pairs, and so is every word a person typed."""
    path = shared / "corpus" / "claude_code" / name
    lines = lines_of(path)
    transcript = read(path)
    messages = transcript.messages
    calls, results = list(blocks(messages, "tool_use")), list(blocks(messages, "tool_result"))

    assert (len(messages), len(calls), len(results), prompts(transcript), len(calls) - len(results)) == CLAUDE_CODE[name]
    assert len(stored(lines, "tool_use")) == len(calls)
    assert Counter(json.dumps(block.get("content")) for block in stored(lines, "tool_result")) == Counter(
        json.dumps(block.get("content")) for _, block in results
    )
    for index, result in results:
        before = messages[index - 1]
        assert result["tool_use_id"] in [block["id"] for block in before["content"] if block["type"] == "tool_use"]
    for kind in ("thinking", "document", "image"):
        assert stored(lines, kind) == [block for _, block in blocks(messages, kind)]


def test_every_corpus_file_of_claude_code_is_in_the_table(shared: Path) -> None:
    """A file added to the corpus needs its line above."""
    assert {path.name for path in (shared / "corpus" / "claude_code").iterdir()} == set(CLAUDE_CODE)


def test_the_long_session_in_detail(shared: Path) -> None:
    """143 lines of the model are 71 replies, and less than half of the file ever goes to the model."""
    path = shared / "corpus" / "claude_code" / "obra-long-conversation.jsonl"
    lines = lines_of(path)
    transcript = read(path)
    replies = [line for line in lines if line["type"] == "assistant"]
    typed = [
        line["message"]["content"]
        for line in lines
        if line["type"] == "user" and isinstance(line["message"]["content"], str) and not line.get("isMeta")
    ]

    assert (len(replies), len({line["message"]["id"] for line in replies})) == (143, 71)
    assert sum(message["role"] == "assistant" for message in transcript.messages) == len(
        {line["message"]["id"] for line in replies}
    )
    assert typed == [
        transcript.messages[index]["content"] for index, origin in transcript.origins.items() if origin is Origin.HUMAN
    ]
    assert [
        transcript.messages[index]["content"][0]["type"]
        for index, origin in transcript.origins.items()
        if origin is Origin.ATTACHMENT
    ] == ["document"]
    usage = replies[-1]["message"]["usage"]
    assert transcript.meta["reported_tokens"] == sum(value for key, value in usage.items() if key.endswith("_tokens"))
    size = len(json.dumps(transcript.messages, ensure_ascii=False).encode())
    assert 0 < size / path.stat().st_size < 0.5


def test_single_lines(shared: Path) -> None:
    """Lines cut out of sessions load; what has no place in a conversation leaves it empty."""
    loaded = {path.name: len(read(path).messages) for path in sorted((shared / "corpus" / "claude_code_lines").iterdir())}

    assert loaded == {name: 0 if "queue_operation" in name else 1 for name in loaded}
    assert len(loaded) == 12


def test_pi_session(shared: Path) -> None:
    """1,019 lines: every entry is a message or belongs to a run of results; dangling calls and empty replies are as stored."""
    path = shared / "corpus" / "pi" / "badlogic-large-session.jsonl"
    stored_messages = [line["message"] for line in lines_of(path) if line["type"] == "message"]
    roles = Counter(message["role"] for message in stored_messages)
    runs = sum(
        message["role"] == "toolResult" and before["role"] != "toolResult"
        for before, message in itertools.pairwise(stored_messages)
    )
    transcript = read(path)
    messages = transcript.messages
    calls = [block["id"] for _, block in blocks(messages, "tool_use")]
    results = [block["tool_use_id"] for _, block in blocks(messages, "tool_result")]

    assert roles == {"user": 88, "assistant": 453, "toolResult": 373}
    assert len(messages) == 88 + 453 + runs == 907
    assert prompts(transcript) == 88
    assert (len(calls), len(results), len(set(calls) - set(results))) == (391, 373, 18)
    assert sum(message["content"] == [] for message in messages) == 14
    assert transcript.problems == ()
    for index, block in blocks(messages, "tool_result"):
        assert block["tool_use_id"] in [one.get("id") for one in messages[index - 1]["content"]]
    said = "\n".join(
        part["text"] for message in stored_messages if message["role"] == "toolResult" for part in message["content"]
    )
    assert said == "\n".join(block["content"] for _, block in blocks(messages, "tool_result"))


@pytest.mark.parametrize(("folder", "dialect"), [("anthropic_requests", "anthropic"), ("openai_chat_requests", "openai-chat")])
def test_request_bodies(shared: Path, folder: str, dialect: str) -> None:
    """The structure tells the dialect, and what was read is written back as it was."""
    paths = sorted((shared / "corpus" / folder).iterdir())

    assert len(paths) == 10
    for path in paths:
        transcript = read(path)
        assert transcript.dialect == (
            "mistral" if "mistral" in path.name else dialect
        )  # five of them were sent to Mistral itself
        assert render(transcript.conversation) == json.loads(path.read_bytes())


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("anthropic", 144),
        ("anthropic-more", 172),
        ("openai-chat", 126),
        ("openai-chat-more", 493),
        ("openai-responses", 147),
        ("openai-responses-more", 177),
        ("gemini", 149),
        ("gemini-more", 129),
        ("bedrock", 76),
        ("bedrock-more", 25),
        ("mistral", 20),
        ("mistral-more", 50),
    ],
)
def test_recorded_requests(shared: Path, name: str, count: int) -> None:
    """A body a line beside what was recorded about it: each is read, and told by its structure alone."""
    path = shared / "corpus" / "recorded" / f"{name}.jsonl"
    bodies = [line["body"] for line in lines_of(path)]
    dialect = name.removesuffix("-more")

    assert len(read_all(path)) == len(bodies) == count
    assert Counter(read(json.dumps(body).encode()).dialect for body in bodies) == {dialect: count}
