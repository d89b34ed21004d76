"""``--original``: what the provider returned, for ``check`` and ``repair``."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from compactlib.cli import main

BODY: dict[str, Any] = {
    "model": "m",
    "max_tokens": 4_000,
    "thinking": {"type": "enabled", "budget_tokens": 2_048},
    "messages": [
        {"role": "user", "content": "Why does the build fail?"},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "The log will tell.", "signature": "EqQB"},
                {"type": "tool_use", "id": "toolu_read", "name": "read", "input": {"path": "build.log"}},
            ],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_read", "content": "ok"}]},
    ],
}


@pytest.fixture
def altered(tmp_path: Path) -> Path:
    """A body whose thinking somebody rewrote."""
    body = deepcopy(BODY)
    body["messages"][1]["content"][0]["thinking"] = "Let me guess."
    path = tmp_path / "altered.json"
    path.write_text(json.dumps(body), "utf-8")
    return path


@pytest.fixture(params=["body", "blocks"])
def original(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """What was returned, in both of its forms."""
    path = tmp_path / "original.json"
    value = BODY if request.param == "body" else {"1": BODY["messages"][1]["content"]}
    path.write_text(json.dumps(value), "utf-8")
    return path


def test_altered_reasoning_is_found_by_what_was_returned(
    altered: Path, original: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing in the request alone tells."""
    assert main(["check", str(altered)]) == 0
    assert main(["check", str(altered), "--original", str(original)]) == 1
    assert "error A-THINK-02" in capsys.readouterr().out


def test_altered_reasoning_is_put_back(altered: Path, original: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Law L5: what is written is what was returned, byte for byte."""
    out = tmp_path / "out.json"

    assert main(["repair", str(altered), "--original", str(original), "--out", str(out)]) == 0
    assert "restore-seal" in capsys.readouterr().out
    assert json.loads(out.read_text("utf-8")) == BODY


def test_session_that_cannot_take_it_back_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The copy of the session is the original; the mended messages are there as JSON, and no file is written."""
    facts = {"isSidechain": False, "cwd": "/w", "sessionId": "s", "version": "2.0.5"}
    first, said, answer = BODY["messages"]
    lines: list[dict[str, Any]] = [
        {"parentUuid": None, **facts, "type": "user", "uuid": "u1", "message": first},
        {"parentUuid": "u1", **facts, "type": "assistant", "uuid": "a1", "message": {"id": "m", **said}},
        {"parentUuid": "a1", **facts, "type": "user", "uuid": "u2", "message": answer},
    ]
    before = "".join(json.dumps(line) + "\n" for line in lines)
    old, new, out = (tmp_path / name for name in ("old.jsonl", "new.jsonl", "out.jsonl"))
    old.write_text(before, "utf-8")
    new.write_text(before.replace("The log will tell.", "Let me guess."), "utf-8")

    assert main(["check", str(new), "--original", str(old)]) == 1
    assert main(["repair", str(new), "--original", str(old), "--out", str(out)]) == 2
    assert not out.exists()
    capsys.readouterr()
    assert main(["repair", str(new), "--original", str(old), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["messages"][1]["content"] == said["content"]


@pytest.mark.parametrize("command", ["check", "repair"])
@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"1": "thinking"}', "index 1: a list of blocks was expected"),
        ("[1, 2", "original.json"),
        ("{}", "original.json"),
        (None, "original.json"),
    ],
)
def test_original_that_is_none_is_status_2(
    command: str, content: str | None, said: str, altered: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In one line, with its name."""
    path = tmp_path / "original.json"
    if content is not None:
        path.write_text(content, "utf-8")

    assert main([command, str(altered), "--original", str(path)]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert "Traceback" not in err


@pytest.mark.parametrize("arguments", [("--original", "-"), ("{}", "--original", "{}")])
def test_original_is_one_file_for_one(arguments: tuple[str, ...], altered: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Standard input is none, and indices are of one FILE."""
    assert main(["check", str(altered), *(one.format(altered) for one in arguments)]) == 2
    assert "--original" in capsys.readouterr().err
