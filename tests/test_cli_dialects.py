"""The commands on a body of each dialect, which is told by its structure or by ``--dialect``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from compactlib.cli import main

from .spellings import SPELLINGS, Call, Result


@pytest.fixture(params=SPELLINGS)
def file(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, str]:
    """A valid body in a file, and the name of its spelling."""
    spelling = SPELLINGS[request.param]
    messages: list[Any] = []
    for number in range(24):
        call = Call(spelling.id(f"c{number}"), "read", {"path": "a.py"})
        messages += [spelling.user(f"do this {number}"), *spelling.model("I look", [call])]
        messages += spelling.results([Result(call, "a line of output\n" * 90)])
        messages += spelling.model(f"done {number}")
    body = spelling.body([*messages, spelling.user("and the rest?")], system="Be careful.", words="", thinking=False)
    if spelling.dialect == "mistral":
        body["model"] = "mistral-large-latest"
    path = tmp_path / "body.json"
    path.write_text(json.dumps(body), "utf-8")
    return path, request.param


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, Any]:
    """Status and output of a command that prints JSON."""
    status = main([*arguments, "--format", "json"])
    return status, json.loads(capsys.readouterr().out)


def test_each_command_reads_each_dialect(file: tuple[Path, str], capsys: pytest.CaptureFixture[str]) -> None:
    """Its dialect told by the structure: checked, measured, cut, compacted and written, and valid again."""
    path, name = file
    spelling = SPELLINGS[name]
    out = path.with_name("out.json")
    profile = ["--profile", spelling.profile] if spelling.profile else []

    assert said(capsys, "check", str(path), *profile)[0] == 0
    status, stats = said(capsys, "stats", str(path))
    assert (status, stats["total_tokens"] > 8_000) == (0, True)
    status, cuts = said(capsys, "cuts", str(path))
    assert (status, bool(cuts["turn"] and cuts["step"])) == (0, True)
    status, outcome = said(capsys, "compact", str(path), "--window", "8k", "--out", str(out), *profile)
    assert (status, outcome["report"]["dialect"]) == (0, spelling.dialect)
    assert json.loads(out.read_text("utf-8"))[spelling.key] == outcome["messages"]
    assert said(capsys, "check", str(out), *profile)[0] == 0


def test_a_dialect_can_be_named(file: tuple[Path, str], capsys: pytest.CaptureFixture[str]) -> None:
    """A bare list of plain messages is told by nothing; whoever knows says so."""
    path, name = file
    spelling = SPELLINGS[name]
    path.write_text(json.dumps([spelling.user("hi"), *spelling.model("ho"), spelling.user("go on")]), "utf-8")

    assert said(capsys, "check", str(path), "--dialect", spelling.dialect) == (0, {"valid": True, "violations": [], "unread": []})


def test_lines_of_items_are_one_conversation(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """OpenAI Responses, an item a line; calls and outputs have no role."""
    items: list[Any] = [
        {"role": "user", "content": "list"},
        {"type": "function_call", "call_id": "a", "name": "ls", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "a", "output": "b"},
    ]
    path = tmp_path / "items.jsonl"
    path.write_text("".join(json.dumps(item) + "\n" for item in items), "utf-8")

    assert said(capsys, "check", str(path)) == (0, {"valid": True, "violations": [], "unread": []})
