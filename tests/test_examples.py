"""The bundled examples are what their script writes, and hold what the README promises of them."""

from __future__ import annotations

import base64
import json
import struct
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import pytest

from compactlib.model import Origin
from compactlib.transcripts import Transcript, load, read

EXAMPLES = Path(__file__).parents[1] / "spec" / "examples"
MARKER = "МАРКЕР: schema_version=42 rows=1283457 checksum=9f3a61c07be2d845"


@pytest.fixture(scope="module")
def migration() -> Transcript:
    return read(EXAMPLES / "migration.jsonl")


def blocks(transcript: Transcript, kind: str) -> list[dict[str, Any]]:
    contents = [message["content"] for message in transcript.messages if isinstance(message["content"], list)]
    return [block for content in contents for block in content if block["type"] == kind]


def test_the_script_writes_what_is_committed() -> None:
    """Bytes, on any machine."""
    done = subprocess.run(
        [sys.executable, "-B", str(EXAMPLES / "make.py"), "--check"], capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stderr) == (0, "")


def test_the_session_is_read_without_a_problem(migration: Transcript) -> None:
    """Dozens of steps, whole batches, and a prompt at the end that waits for its answer."""
    calls, results = blocks(migration, "tool_use"), blocks(migration, "tool_result")

    assert migration.problems == ()
    assert migration.title == "Schema 42: UUID keys for shipments"
    assert sum(message["role"] == "assistant" for message in migration.messages) == 61
    assert [block["id"] for block in calls] == [block["tool_use_id"] for block in results]
    assert max(len(message.calls) for message in migration.conversation.messages) == 8
    assert migration.origins[len(migration.messages) - 1] is Origin.HUMAN
    assert len(blocks(migration, "thinking")) == 7
    assert {tool.name for tool in migration.conversation.tools} > {"Bash", "Read", "Edit"}


def test_the_decisive_line_stands_once_at_the_end_of_a_long_output(migration: Transcript) -> None:
    """No other message repeats it, and more than 100,000 characters follow it."""
    texts = [json.dumps(message, ensure_ascii=False) for message in migration.messages]
    holders = [index for index, text in enumerate(texts) if "9f3a61c07be2d845" in text]
    output = next(block["content"] for block in blocks(migration, "tool_result") if MARKER in str(block["content"]))

    assert len(holders) == 1
    assert len(output.encode()) > 32 * 1024
    assert output.splitlines()[-1].startswith(MARKER)
    assert sum(map(len, texts[holders[0] + 1 :])) > 100_000


def test_its_pictures_are_pictures(migration: Transcript) -> None:
    """One from a person, one in a result: PNG files whose chunks add up."""
    inner = [
        part for block in blocks(migration, "tool_result") if isinstance(block["content"], list) for part in block["content"]
    ]
    pictures = [*blocks(migration, "image"), *inner]

    assert len(pictures) == 2
    for picture in pictures:
        data = base64.b64decode(picture["source"]["data"], validate=True)
        width, height = struct.unpack(">II", data[16:24])
        at = data.index(b"IDAT")
        (size,) = struct.unpack(">I", data[at - 4 : at])
        assert data.startswith(b"\x89PNG\r\n\x1a\n")
        assert len(zlib.decompress(data[at + 4 : at + 4 + size])) == height * (1 + 3 * width)


def test_the_session_speaks_two_languages(migration: Transcript) -> None:
    """Prompts in Russian, one in English, and a message typed while the model worked."""
    said = [str(migration.messages[index]["content"]) for index, origin in migration.origins.items() if origin is Origin.HUMAN]

    assert len(said) == 9
    assert [text[:16] for text in said if "Tomas here" in text] == ["Hi, Tomas here, "]
    assert "psql закрыла, извини, забыла. Продолжай." in said


def test_the_chat_is_a_body_of_the_other_dialect() -> None:
    """A system message, two turns with calls, a waiting prompt."""
    conversation = load(EXAMPLES / "chat.json")

    assert conversation.dialect == "openai-chat"
    assert len(conversation.messages) == 11
    assert [len(message.calls) for message in conversation.messages if message.calls] == [2, 1]
    assert conversation.messages[-1].role == "user"
