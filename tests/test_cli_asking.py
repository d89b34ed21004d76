"""``compactlib compact`` and ``explain`` under a policy that asks the provider: a person is told what to send."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

import compactlib as cl
from compactlib.cli import main
from compactlib.cli.policy import policy_for
from compactlib.protocol.binding import BINDING_BETA
from compactlib.tokens import Memo
from compactlib.transcripts import read
from compactlib.visible import effective

from .test_binding import BOUND, DROP, thoughtful

TOOLS = [{"name": "read", "input_schema": {"type": "object"}}]
BETA = "context-management-2025-06-27"
LOG = "line of a long log, all is well\n" * 60

Run = Callable[..., tuple[int, str]]


def request(**fields: Any) -> dict[str, Any]:
    """Sixty steps of one turn; the second result says that it failed."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "go"}]
    for number in range(60):
        call = {"type": "tool_use", "id": f"c{number}", "name": "read", "input": {"path": f"{number}.txt"}}
        said = {"type": "tool_result", "tool_use_id": f"c{number}", "content": f"{number} {LOG}", "is_error": number == 1}
        messages += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [said]}]
    messages.append({"role": "assistant", "content": "done"})
    return {"model": "claude-opus-4-6", "max_tokens": 1, "messages": messages, **fields}


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Runs a command on a body, under the policy ``server``, and gives back status and output."""

    def run_command(command: str, body: Any, *arguments: str | Path) -> tuple[int, str]:
        path = tmp_path / "in.json"
        path.write_text(json.dumps(body), "utf-8")
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b""), "utf-8"))
        given = ("--dialect", "anthropic", "--policy", "server", "--window", "40k", *map(str, arguments))
        status = main([command, str(path), *given])
        said = capsys.readouterr()
        assert said.err == ""
        return status, said.out

    return run_command


def test_compact_says_what_to_ask_for_and_writes_it(run: Run, tmp_path: Path) -> None:
    """The body, its betas too where it lists such; the sizes are those of what the model sees."""
    out = tmp_path / "out.json"
    status, said = run("compact", request(betas=["x-1"]), "--out", out)
    told = json.loads(run("compact", request(betas=["x-1"]), "--format", "json")[1])
    written = json.loads(out.read_text("utf-8"))

    assert (status, told["reason"]) == (0, "target-met")
    assert f"ask for  context_management = {json.dumps(told['ask_for']['context_management'], separators=(',', ':'))}" in said
    assert f"header   anthropic-beta: {BETA}" in said
    assert "1 of them say that something failed" in said
    assert f"whole request {told['before_tokens']:,}" in " ".join(said.split())
    assert said.count(f"{told['after_tokens']:,}") == 2  # in the first line, and in the sum of the table
    assert told["betas"] == [BETA]
    assert written == {**request(betas=["x-1", BETA]), **told["ask_for"]}
    assert Memo().request(effective(cl.parse(written, dialect="anthropic"))) == told["after_tokens"]
    assert told["messages"] == request()["messages"]


def test_a_list_has_no_place_for_it_and_the_person_is_told(run: Run, tmp_path: Path) -> None:
    """The list is written as it was."""
    out = tmp_path / "out.json"
    status, said = run("compact", request()["messages"], "--out", out)

    assert status == 0
    assert json.loads(out.read_text("utf-8")) == request()["messages"]
    assert "it is a list of messages, which has no place for what is to be asked for" in said


@pytest.mark.parametrize("clear", [(), ("--clear",)])
def test_explain_says_what_is_hidden_and_what_to_send(clear: tuple[str, ...], run: Run) -> None:
    """Message by message, with what the provider cannot be told."""
    status, said = run("explain", request(), *clear)
    told = json.loads(run("explain", request(), *clear, "--format", "json")[1])
    (step,) = [step for step in told["steps"] if step["name"] == "what is hidden"]

    assert status == 0
    assert step["laws"] == ["L5", "L7", "L10", "L18"]
    assert "message 2: result of read, oldest" in said
    assert "1 of them say that something failed" in said
    assert step["lines"][-2].startswith("the request has to ask for context_management = {")
    assert step["lines"][-1] == f"and to have the header anthropic-beta: {BETA}"
    assert "no message differs" in said
    assert "validator" not in said  # no message was made that it could have looked at


def test_where_the_provider_cannot_be_asked_both_say_why(run: Run, tmp_path: Path) -> None:
    """Then stubs are written."""
    body = request(model="my-proxy")
    why = "'my-proxy' is not known to support clear_tool_uses_20250919"

    assert f"the provider was not asked to hide them: {why}" in run("compact", body, "--store", tmp_path / "store")[1]
    assert f"the provider is not asked to hide them: {why}" in run("explain", body, "--clear")[1]
    assert json.loads(run("compact", body, "--store", tmp_path / "store", "--format", "json")[1])["ask_for"] == {}


def test_where_hiding_was_not_enough_both_say_that_it_was_tried(run: Run) -> None:
    """And what the summary behind it came to."""
    words = [{"role": "user", "content": "words that nobody hides " * 900}, {"role": "assistant", "content": "I see."}]
    body = request()
    body["messages"] = [*words * 6, *body["messages"]]

    for command in ("compact", "explain"):
        said = run(command, body)[1]
        assert "clear, by asking the provider: above-target, " in said
        assert "summarise: target-met, " in said
        assert "tried" in said
    assert "tried" not in run("compact", request())[1]


def test_what_was_asked_for_is_not_asked_for_again(run: Run, tmp_path: Path) -> None:
    """A body that asks already is as large as its model sees it."""
    out = tmp_path / "out.json"
    first = json.loads(run("compact", request(), "--out", out, "--format", "json")[1])
    second = json.loads(run("explain", json.loads(out.read_text("utf-8")), "--when", "auto", "--format", "json")[1])

    assert (second["outcome"], second["reason"]) == ("unchanged", "below-trigger")
    assert second["report"]["before_tokens"] == first["after_tokens"]


def test_a_refusal_asks_for_nothing(run: Run) -> None:
    """The keys are there all the same."""
    told = json.loads(run("compact", [{"role": "user", "content": "hi"}], "--format", "json")[1])

    assert (told["outcome"], told["ask_for"], told["betas"]) == ("refused", {}, [])


def test_thinking_that_the_model_would_refuse_is_told(run: Run, tmp_path: Path) -> None:
    """A list does not name its model, so an option does; what the request has to say is in the body where there is one."""
    body: Any = cl.render(thoughtful())
    said = run("compact", body["messages"], "--model", BOUND, "--out", tmp_path / "out.json")[1]
    explained = run("explain", body)[1]

    assert f"ask for  thinking = {json.dumps(DROP, separators=(',', ':'))}" in said
    assert f"header   anthropic-beta: {BINDING_BETA}" in said
    assert "it is a list of messages" in said
    assert "ask for" not in run("compact", body["messages"])[1]
    assert f"have to say thinking = {json.dumps(DROP, separators=(',', ':'))}" in explained


def test_bedrock_is_told_in_its_own_words(run: Run, tmp_path: Path) -> None:
    """There is no header, and the fields of the model have a place of their own."""
    out = tmp_path / "out.json"
    converted: Any = cl.render(cl.convert(thoughtful(tools=TOOLS), dialect="bedrock").conversation)
    thought = {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "EqQB"}}}
    for message in converted["messages"]:
        if message["role"] == "assistant":
            message["content"].insert(0, thought)
    said = run("compact", {**converted, "modelId": f"anthropic.{BOUND}"}, "--dialect", "bedrock", "--out", out)[1]
    fields = {"thinking": DROP, "anthropic_beta": [BINDING_BETA]}

    assert f"ask for  additionalModelRequestFields = {json.dumps(fields, separators=(',', ':'))}" in said
    assert "header" not in said
    assert json.loads(out.read_text("utf-8"))["additionalModelRequestFields"] == fields


def test_session_names_its_model() -> None:
    """Where neither its request nor an option does."""
    bare = read(json.dumps(cl.render(thoughtful(None))).encode(), format="anthropic")
    named = evolve(bare, meta={"model": BOUND})
    policy = cl.Policy(window_tokens=32_000)

    assert policy_for(named, policy).model == BOUND
    assert policy_for(named, evolve(policy, model="m")).model == "m"
    assert policy_for(evolve(named, conversation=thoughtful("n")), policy).model is None
    assert policy_for(evolve(named, meta={"model": " "}), policy) is policy_for(bare, policy) is policy


def test_repair_and_redaction_say_what_bound_reasoning_needs(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In words and for programs."""
    body = cl.render(thoughtful())
    broken = tmp_path / "broken.json"
    broken.write_text(json.dumps({**body, "messages": [*body["messages"][:2], *body["messages"][3:]]}), "utf-8")
    main(["repair", str(broken)])
    said = capsys.readouterr().out
    main(["repair", str(broken), "--format", "json"])
    told = json.loads(capsys.readouterr().out)
    secret = {**body, "system": "password=hunter2"}
    redacted = json.loads(run("compact", secret, "--redact", "--format", "json")[1])["redaction"]

    for words in (said, run("compact", secret, "--redact")[1]):
        assert (
            f"unless the request says thinking = {json.dumps(DROP, separators=(',', ':'))} and has the beta {BINDING_BETA}"
            in words
        )
    assert (told["thinking"], told["betas"]) == (redacted["thinking"], redacted["betas"]) == (DROP, [BINDING_BETA])
