"""``--original``: what the provider returned, for ``check`` and ``repair``."""

from __future__ import annotations

import json
from collections.abc import Callable
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


Damage = Callable[[list[dict[str, Any]]], None]


def reworded(blocks: list[dict[str, Any]]) -> None:
    blocks[0]["thinking"] = "Let me guess."


def resealed(blocks: list[dict[str, Any]]) -> None:
    blocks[0][next(key for key in blocks[0] if key.casefold().endswith("signature"))] = "Rm9y"


def lost(blocks: list[dict[str, Any]]) -> None:
    del blocks[0]


def claude_session() -> list[dict[str, Any]]:
    facts = {"isSidechain": False, "cwd": "/w", "sessionId": "s", "version": "2.0.5"}
    first, said, answer = deepcopy(BODY["messages"])
    return [
        {"parentUuid": None, **facts, "type": "user", "uuid": "u1", "message": first},
        {"parentUuid": "u1", **facts, "type": "assistant", "uuid": "a1", "message": {"id": "m", **said}},
        {"parentUuid": "a1", **facts, "type": "user", "uuid": "u2", "message": answer},
    ]


def pi_session() -> list[dict[str, Any]]:
    said = [
        {"type": "thinking", "thinking": "The log will tell.", "thinkingSignature": "EqQB"},
        {"type": "toolCall", "id": "toolu_read", "name": "read", "arguments": {"path": "build.log"}},
    ]
    answer = {"role": "toolResult", "toolCallId": "toolu_read", "toolName": "read", "content": [{"type": "text", "text": "ok"}]}
    messages = [
        {"role": "user", "content": "Why does the build fail?"},
        {"role": "assistant", "api": "anthropic-messages", "content": said},
        {**answer, "isError": False},
    ]
    entries = [
        {"type": "message", "id": f"m{at}", "parentId": f"m{at - 1}" if at else None, "message": message}
        for at, message in enumerate(messages)
    ]
    return [{"type": "session", "version": 3, "id": "s", "cwd": "/w"}, *entries]


@pytest.mark.parametrize("damage", [reworded, resealed, lost])
@pytest.mark.parametrize(("session", "line"), [(claude_session, 1), (pi_session, 2)])
def test_session_gets_back_what_the_model_returned(
    session: Callable[[], list[dict[str, Any]]], line: int, damage: Damage, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The copy of the session is the original, and every other line is as it was, to the byte."""
    old, new, out = (tmp_path / name for name in ("old.jsonl", "new.jsonl", "out.jsonl"))
    lines = session()
    old.write_text("".join(json.dumps(one) + "\n" for one in lines), "utf-8")
    damage(lines[line]["message"]["content"])
    new.write_text("".join(json.dumps(one) + "\n" for one in lines), "utf-8")

    assert main(["check", str(new), "--original", str(old)]) == 1
    assert main(["repair", str(new), "--original", str(old), "--out", str(out)]) == 0
    made, was = (path.read_text("utf-8").splitlines() for path in (out, old))
    assert json.loads(made.pop(line)) == json.loads(was.pop(line))
    assert made == was
    assert main(["check", str(out), "--original", str(old)]) == 0
    capsys.readouterr()


@pytest.mark.parametrize(
    ("content", "key", "seal"),
    [
        (
            {
                "contents": [
                    {"role": "user", "parts": [{"text": "Why?"}]},
                    {"role": "model", "parts": [{"functionCall": {"name": "read", "args": {}}, "thoughtSignature": "c2ln"}]},
                    {"role": "user", "parts": [{"functionResponse": {"name": "read", "response": {"output": "ok"}}}]},
                ]
            },
            "G-SIG-02",
            "c2ln",
        ),
        (
            {
                "model": "m",
                "store": False,
                "input": [
                    {"role": "user", "content": "Why?"},
                    {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"},
                    {"type": "function_call", "call_id": "c", "name": "read", "arguments": "{}"},
                    {"type": "function_call_output", "call_id": "c", "output": "ok"},
                ],
            },
            "R-ENC-01",
            "gAAA",
        ),
    ],
)
def test_other_providers_seals_are_put_back(
    content: Any, key: str, seal: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Thought signatures and encrypted content."""
    old, new, out = (tmp_path / name for name in ("old.json", "new.json", "out.json"))
    old.write_text(json.dumps(content), "utf-8")
    new.write_text(json.dumps(content).replace(seal, "Rm9y"), "utf-8")

    assert main(["check", str(new), "--original", str(old)]) == 1
    assert f"error {key}" in capsys.readouterr().out
    assert main(["repair", str(new), "--original", str(old), "--out", str(out)]) == 0
    assert json.loads(out.read_text("utf-8")) == content
    capsys.readouterr()


def test_original_may_be_in_another_format_of_the_dialect(
    altered: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A log of the session is an original of the body that was sent, and the body one of the session."""
    log, body = tmp_path / "log.jsonl", tmp_path / "body.json"
    log.write_text("".join(json.dumps(one) + "\n" for one in claude_session()), "utf-8")
    body.write_text(json.dumps(BODY["messages"]), "utf-8")

    assert main(["check", str(altered), "--original", str(log)]) == 1
    assert main(["check", str(altered), "--original", str(body)]) == 1
    assert main(["check", str(log), "--original", str(altered)]) == 1
    assert capsys.readouterr().out.count("error A-THINK-02") == 3


@pytest.mark.parametrize("command", ["check", "repair"])
@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"1": "thinking"}', "index 1: a list of blocks was expected"),
        ("[1, 2", "original.json"),
        ('{"9": []}', "holds no reply at a place where"),
        ('{"role": "assistant", "content": []}', 'is one answer, and does not say where it stands (write {"INDEX": [BLOCKS]})'),
        ('{"object": "response", "output": []}', "is one answer"),
        ('{"candidates": []}', "is one answer"),
        ('{"contents": [{"role": "user", "parts": [{"text": "Why?"}]}]}', "is of gemini, and "),
        ('[{"role": "user", "content": "Why?"}]', "holds no reply at a place where"),
        ("{}", "original.json"),
        ('{"1": [], "01": []}', "original.json"),
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


def test_original_that_nobody_compares_with_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Silence would be taken for "unaltered"."""
    path = tmp_path / "chat.json"
    path.write_text(json.dumps([{"role": "user", "content": "Why?"}, {"role": "assistant", "content": "So."}]), "utf-8")

    assert main(["check", str(path), "--original", str(path)]) == 2
    assert "nobody compares replies in openai-chat" in capsys.readouterr().err
