"""``compactlib convert``: the file it writes, what it says, and its exit status."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from compactlib.cli import main

PLAIN: list[dict[str, Any]] = [
    {"role": "user", "content": "hi"},
    {"role": "assistant", "content": [{"type": "text", "text": "ok"}]},
]


def saved(path: Path, body: Any) -> str:
    file = path / "input.json"
    file.write_text(json.dumps(body), "utf-8")
    return str(file)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main(["convert", *arguments])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_what_loses_nothing_is_status_0(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The body stands in the file, and nothing else is there."""
    out = tmp_path / "out.json"
    status, said, _ = run(capsys, saved(tmp_path, PLAIN), "--dialect", "anthropic", "--to", "gemini", "--out", str(out))

    assert status == 0
    assert json.loads(out.read_text("utf-8")) == [
        {"role": "user", "parts": [{"text": "hi"}]},
        {"role": "model", "parts": [{"text": "ok"}]},
    ]
    assert "converted: anthropic to gemini, 2 messages, 0 losses" in said
    assert sorted(path.name for path in tmp_path.iterdir()) == ["input.json", "out.json"]


def test_route_is_heeded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A chat template whose sides take turns; a route of another dialect is an error of usage."""
    file = saved(tmp_path, [*PLAIN, {"role": "user", "content": "and"}, {"role": "user", "content": "now?"}])
    to = ("--to", "openai-chat", "--profile", "strict-template-no-tools")
    _, said, _ = run(capsys, file, "--dialect", "anthropic", *to, "--format", "json")
    status, _, wrong = run(capsys, file, "--dialect", "anthropic", "--to", "gemini", "--profile", "strict-template")

    assert [message["role"] for message in json.loads(said)["body"]] == ["user", "assistant", "user"]
    assert json.loads(said)["refused"] == []
    assert (status, "strict-template is none of gemini" in wrong) == (2, True)


def test_losses_are_listed_and_status_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By name, place and meaning; text of the conversation cannot act on the terminal (law L25)."""
    tools = [{"type": "web_search_20250305", "name": "web\x1b[31m"}]
    file = saved(tmp_path, {"model": "claude", "max_tokens": 1, "tools": tools, "messages": PLAIN})
    status, said, _ = run(capsys, file, "--to", "openai-chat")

    assert status == 1
    assert "tool /tools/0" in said
    assert "setting /model" in said
    assert "a setting of the request was left out" in said
    assert "\x1b" not in said
    assert "nothing was written" in said


def test_json_holds_everything(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Losses, renamed ids, what would be refused, and the body."""
    call = {"type": "tool_use", "id": "toolu_1", "name": "ls", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "a.py"}
    body = [PLAIN[0], {"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    status, said, _ = run(capsys, saved(tmp_path, body), "--to", "mistral", "--format", "json")
    value = json.loads(said)

    assert status == 0
    assert (value["dialect"], value["losses"], value["id_map"], value["refused"]) == (
        "mistral",
        [],
        [["toolu_1", "OUa6HgE5o"]],
        [],
    )
    assert [message["role"] for message in value["body"]] == ["user", "assistant", "tool"]


def test_what_would_be_refused_is_status_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What was wrong before and still is, is said: a conversation in which nobody says anything."""
    file = saved(tmp_path, [{"role": "user", "content": ""}])
    status, said, _ = run(capsys, file, "--dialect", "openai-chat", "--to", "anthropic")

    assert status == 1
    assert "refused A-EMPTY-04" in said


def test_the_input_is_never_written_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Wrong usage is status 2, and the file is as it was."""
    file = saved(tmp_path, PLAIN)
    status, _, said = run(capsys, file, "--to", "gemini", "--out", file)

    assert status == 2
    assert "--out is the input itself" in said
    assert json.loads(Path(file).read_text("utf-8")) == PLAIN
    assert run(capsys, file, "--to", "smoke-signals")[0] == 2
    assert run(capsys, str(tmp_path / "absent"), "--to", "gemini")[0] == 2
