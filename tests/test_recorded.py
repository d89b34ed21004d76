"""Recorded requests, and what live providers said to them: the nearest thing to a provider that there is offline."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from compactlib.dialects import parse
from compactlib.protocol.validator import check

REFUSALS = {
    "all messages must have non-empty content": "A-EMPTY-03",
    "does not support assistant message prefill": "A-END-01",
    "Thinking may not be enabled when tool_choice forces tool use": "A-TC-01",
    "does not support 'system' with this model": "O-ROLE-01",
    "must be followed by tool messages responding": "O-PAIR-01",
    "must be a response to a preceeding message with 'tool_calls'": "O-PAIR-02",
    "was provided without its required following item": "R-REAS-01",
    "No tool output found for tool call": "R-PAIR-03",
    "Supported values are: 'assistant', 'system', 'developer', and 'user'": "R-ROLE-01",
}
"""What providers answered, where it concerns the conversation, and the rule that explains it."""


def recorded(shared: Path, dialect: str) -> Iterator[dict[str, Any]]:
    for name in (dialect, f"{dialect}-more"):
        for line in (shared / "corpus" / "recorded" / f"{name}.jsonl").read_text(encoding="utf-8").splitlines():
            yield json.loads(line)


@pytest.mark.parametrize(
    ("dialect", "least"),
    [("anthropic", 300), ("openai-chat", 580), ("mistral", 63), ("bedrock", 96), ("gemini", 273), ("openai-responses", 313)],
)
def test_what_a_provider_accepted_is_no_error(shared: Path, dialect: str, least: int) -> None:
    """No accepted request has an error."""
    accepted = [entry for entry in recorded(shared, dialect) if entry["status"] == 200]
    wrong = []
    for entry in accepted:
        wrong += [
            (entry["provider"], entry["body"].get("model"), violation)
            for violation in check(parse(entry["body"], dialect=dialect))
            if violation.level == "error"
        ]

    assert wrong == []
    assert len(accepted) >= least


@pytest.mark.parametrize(("dialect", "least"), [("anthropic", 5), ("openai-chat", 5), ("openai-responses", 3)])
def test_what_a_provider_refused_is_explained(shared: Path, dialect: str, least: int) -> None:
    """Each refusal that concerns the conversation is an error of the rule that stands for its words."""
    explained = 0
    for entry in recorded(shared, dialect):
        answer = json.dumps(entry.get("error"))
        for words, rule in REFUSALS.items():
            if entry["status"] != 200 and words in answer:
                found = {
                    violation.rule for violation in check(parse(entry["body"], dialect=dialect)) if violation.level == "error"
                }
                explained += 1

                assert rule in found, (entry["path"] if "path" in entry else entry["cassette"], found)
    assert explained >= least


@pytest.mark.parametrize("dialect", ["anthropic", "openai-chat", "openai-responses"])
def test_request_bodies_of_real_programs_are_valid(shared: Path, dialect: str) -> None:
    """Bodies that programs sent and providers took have no error."""
    paths = sorted((shared / "corpus" / f"{dialect.replace('-', '_')}_requests").glob("*.json"))
    wrong = {
        path.name: found
        for path in paths
        if (
            found := [
                v for v in check(parse(json.loads(path.read_text(encoding="utf-8")), dialect=dialect)) if v.level == "error"
            ]
        )
    }

    assert wrong == {}
    assert len(paths) == 10
