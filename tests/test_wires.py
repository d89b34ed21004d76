"""The checks' own readings of the six wires, against the library's: two readings of one body agree on what the laws speak of."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import compactlib as cl
from compactlib.conformance.units import read
from compactlib.conformance.wires import canonical, messages_of, read_messages, without_messages
from compactlib.model import Call, Conversation, Media, Message, Reasoning, Result, Text

from .spellings import SPELLINGS
from .strategies import WIRES, broken, build, histories

RECORDED = {
    "anthropic": 316,
    "bedrock": 101,
    "gemini": 278,
    "mistral": 70,
    "openai-chat": 619,
    "openai-responses": 324,
}
ROLES = {"developer": "system"}


def as_seen(message: Message) -> tuple[str, dict[str, Any]]:
    """What the library sees in a message, in the words of the checks."""
    found: Counter[str] = Counter()
    texts = []
    for block in message.blocks:
        if isinstance(block, Call) and block.is_client:
            found["call"] += 1
        elif isinstance(block, Result) and block.is_client:
            found["result"] += 1
        elif isinstance(block, Reasoning):
            found["reasoning"] += 1
        elif isinstance(block, Media):
            found["media"] += 1
        elif isinstance(block, Text):
            texts.append(block.text)
    return ROLES.get(message.role, message.role), {**found, "texts": texts}


def agree(conversation: Conversation, body: Any, dialect: str) -> None:
    """Role by role, block by block."""
    theirs = read_messages(body, dialect)

    assert len(theirs) == conversation.length
    for message, (role, blocks) in zip(conversation.messages, theirs, strict=True):
        found = Counter(block.kind for block in blocks if block.kind in ("call", "result", "reasoning", "media"))
        texts = [block.text for block in blocks if block.kind == "text"]
        assert as_seen(message) == (role, {**found, "texts": texts})


@pytest.mark.parametrize("name", SPELLINGS)
@given(pieces=st.one_of(histories(), broken()), thinking=st.booleans())
def test_two_readings_agree(name: str, pieces: list[tuple[str, str]], thinking: bool) -> None:
    """On generated conversations, legal and broken."""
    dialect = SPELLINGS[name].dialect
    body = build(pieces, name, thinking=thinking)

    agree(cl.parse(body, dialect=dialect), body, dialect)


@pytest.mark.parametrize("dialect", WIRES)
def test_two_readings_agree_on_recorded_bodies(shared: Path, dialect: str) -> None:
    """On all that live providers accepted or refused."""
    count = 0
    for name in (dialect, f"{dialect}-more"):
        for line in (shared / "corpus" / "recorded" / f"{name}.jsonl").read_text("utf-8").splitlines():
            body = json.loads(line)["body"]
            agree(cl.parse(body, dialect=dialect), body, dialect)
            count += 1

    assert count == RECORDED[dialect]


def test_a_response_that_names_no_call_answers_by_place() -> None:
    """Gemini: ids where there are some, else names in order, else places; calls of earlier turns never."""
    body = [
        {"role": "user", "parts": [{"text": "go"}]},
        {
            "role": "model",
            "parts": [{"functionCall": {"name": "read", "args": {}}}, {"functionCall": {"name": "read", "args": {}}}],
        },
        {"role": "user", "parts": [{"functionResponse": {"name": "call_77", "response": {}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "read", "response": {}}}]},
        {"role": "model", "parts": [{"text": "read"}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "read", "response": {}}}]},
    ]
    ids = [block.id for _, blocks in read_messages(body, "gemini") for block in blocks if block.kind == "result"]

    assert ids == ["read", "read", ""]


def test_cache_marks_are_no_content() -> None:
    """Neither a key nor a block of its own."""
    marked = [{"role": "user", "content": [{"text": "hi"}, {"cachePoint": {"type": "default"}}]}]
    [unit] = read(marked, "bedrock")

    assert [block.kind for block in unit.blocks] == ["text"]
    assert canonical(marked) == canonical([{"role": "user", "content": [{"text": "hi"}]}])


def test_a_response_is_a_run_of_items() -> None:
    """OpenAI Responses: the model's neighbours belong together, but for a compaction item."""
    items = [
        {"type": "compaction", "encrypted_content": "x"},
        {"type": "reasoning", "summary": []},
        {"type": "function_call", "call_id": "a", "name": "ls", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "a", "output": "b"},
        {"role": "assistant", "content": "done"},
    ]
    units = read(items, "openai-responses")

    assert [unit.runs_on for unit in units] == [False, False, True, False, False]
    assert [unit.is_compaction for unit in units] == [True, False, False, False, False]


def test_what_stands_around_the_messages() -> None:
    """Under the key of the dialect; a lone input is one message."""
    body = {"model": "m", "input": "hi", "store": False}

    assert without_messages(body, "openai-responses") == [("model", "m"), ("store", False)]
    assert messages_of(body, "openai-responses") == [{"role": "user", "content": "hi"}]
