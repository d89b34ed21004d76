"""The command: what it says, what it writes, and how it ends."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

import compactlib as cl
from compactlib.cli.findings import answer_of
from compactlib.cli.options import size
from compactlib.protocol.profiles import PROFILES
from compactlib.protocol.rules import RULES
from compactlib.protocol.validator import Violation

HOSTILE: Final = "\x1b]0;owned\x07\x1b[2J\u202egnp.exe\u2066\x9b31m\x7f\r\b\u2028\x00"
"""What a terminal, or who reads in it, would be misled by."""

CONTROLS: Final = (*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A))

ACTING: Final = frozenset(map(chr, CONTROLS)) - {"\n", "\t"}

Run = Callable[..., tuple[int, str, str]]


def call(identity: str, command: str = "pytest -q") -> dict[str, Any]:
    """A model message with one call."""
    return {"role": "assistant", "content": [{"type": "tool_use", "id": identity, "name": "bash", "input": {"command": command}}]}


def answer(identity: str, text: str) -> dict[str, Any]:
    """Its result."""
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": identity, "content": text}]}


def conversation(turns: int = 12, *, words: str = "row copied\n") -> list[dict[str, Any]]:
    """A valid Anthropic conversation of that many turns, 4 messages and some 1,000 tokens each, and one more prompt."""
    messages: list[dict[str, Any]] = []
    for turn in range(turns):
        messages += [
            {"role": "user", "content": f"Migrate table t{turn}. Never drop a column."},
            call(f"c{turn}", f"migrate t{turn}"),
            answer(f"c{turn}", words * 400 + f"t{turn}: 400 rows"),
            {"role": "assistant", "content": f"Table t{turn} is done."},
        ]
    return [*messages, {"role": "user", "content": "And the tests?"}]


TOOLS: Final = [
    {"name": "bash", "description": "Run a command in a shell and return what it prints.", "input_schema": {"type": "object"}},
    {"name": "shell", "description": "Run a command in the shell and return what it prints.", "input_schema": {"type": "object"}},
    {"name": "paint", "description": "Draw a picture " * 200, "input_schema": {"type": "object"}},
]


@pytest.fixture
def body(tmp_path: Path) -> Path:
    """A request body in a file, with tools and ``max_tokens``."""
    path = tmp_path / "body.json"
    path.write_text(json.dumps({"model": "m", "max_tokens": 9000, "tools": TOOLS, "messages": conversation()}, indent=1), "utf-8")
    return path


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """A list of messages, one a line, whose call on line 2 is never answered; the last line is torn."""
    lines = [{"role": "user", "content": "hi"}, call("c1"), *({"role": "user", "content": text} for text in ("go on", "now"))]
    path = tmp_path / "broken.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines) + '{"role": "us', "utf-8")
    return path


# --- compact ---------------------------------------------------------------------------------------------------------


def test_compact_reports_before_and_after(body: Path, run: Run) -> None:
    """Sizes by kind, where it was cut and why, what went, what it cost, and the summary."""
    status, out, err = run("compact", body, "--window", "16k")

    assert (status, err) == (0, "")
    for said in ("compacted", "before", "after", "results", "cut at message", "dropped", "no model was called", "## Goal"):
        assert said in out
    assert "nothing was written" in out


def test_compact_json_is_the_contract(body: Path, run: Run) -> None:
    """Exactly these keys; the messages are those that may be sent, and the tail is as it was."""
    status, out, _ = run("compact", body, "--window", "16k", "--format", "json")
    said = json.loads(out)

    assert status == 0
    assert set(said) == {
        "summariser", "outcome", "reason", "before_tokens", "after_tokens", "cut", "digests", "ask_for", "betas",
        "messages", "report",
    }  # fmt: skip
    assert (said["outcome"], said["reason"]) == ("compacted", "target-met")
    assert said["after_tokens"] < said["before_tokens"]
    assert said["messages"][1:] == conversation()[said["cut"] + 1 :]
    assert cl.check(cl.parse(said["messages"], dialect="anthropic")) == ()


def test_compact_writes_the_body_in_its_dialect(body: Path, tmp_path: Path, run: Run) -> None:
    """``--out`` holds the whole request body, and nothing else is left beside it; the input stays as it was."""
    before = body.read_bytes()
    out = tmp_path / "small.json"
    status, said, _ = run("compact", body, "--window", "16k", "--out", out)
    written = json.loads(out.read_text("utf-8"))

    assert status == 0
    assert f"written: {out}" in said
    assert {key: written[key] for key in ("model", "max_tokens", "tools")} == {"model": "m", "max_tokens": 9000, "tools": TOOLS}
    assert len(written["messages"]) < 49
    assert body.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["body.json", "small.json"]


def test_compacted_file_is_read_again(body: Path, tmp_path: Path, run: Run) -> None:
    """What was written is a conversation like any other, with one summary, and there is nothing new to compact."""
    out = tmp_path / "small.json"
    run("compact", body, "--window", "16k", "--out", out)

    assert run("check", out)[0] == 0
    assert out.read_text("utf-8").count("[compactlib summary v1") == 1


def test_compact_never_writes_over_its_input(body: Path, run: Run) -> None:
    """``--out`` with the input's own name, spelled as may be, is status 2."""
    before = body.read_bytes()
    status, _, err = run("compact", body, "--window", "16k", "--out", body.parent / "." / "body.json")

    assert status == 2
    assert "--out is the input itself" in err
    assert body.read_bytes() == before


def test_failed_write_changes_nothing(body: Path, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the disk says no, the former content is there and no half of the new one."""

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    out = tmp_path / "small.json"
    out.write_text("old", "utf-8")
    monkeypatch.setattr(os, "fsync", full)
    status, _, err = run("compact", body, "--window", "16k", "--out", out)

    assert (status, err) == (2, f"compactlib: {out}: No space left on device\n")
    assert out.read_text("utf-8") == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["body.json", "small.json"]


def test_refusal_is_status_1_and_says_why(tmp_path: Path, run: Run) -> None:
    """A conversation too small to gain anything: in words, with the parts that have to stay; nothing is written."""
    path = tmp_path / "small.json"
    path.write_text(json.dumps(conversation(1)), "utf-8")
    out = tmp_path / "out.json"
    status, said, _ = run("compact", path, "--window", "16k", "--out", out, "--input-format", "anthropic")

    assert status == 1
    assert "refused" in said
    assert not out.exists()

    status, said, _ = run("compact", path, "--window", "16k", "--format", "json", "--dialect", "anthropic")
    refused = json.loads(said)

    assert (status, refused["outcome"], refused["cut"]) == (1, "refused", None)
    assert refused["messages"] == conversation(1)
    assert refused["before_tokens"] == refused["after_tokens"]


def test_show_prints_the_new_conversation_whole(body: Path, run: Run) -> None:
    """With ``--show`` every kept message is there to be read, or searched."""
    _, out, _ = run("compact", body, "--window", "16k", "--show")

    assert "--- message 0: user, summary" in out
    assert "t11: 400 rows" in out


def test_focus_reaches_the_summariser(body: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """``--focus`` is in the instructions that a summariser is given."""
    from compactlib.summaries.extractive import Extractive
    from compactlib.summaries.rendering import SummaryRequest

    seen: list[str] = []
    really = Extractive.__call__

    def spy(self: Extractive, request: SummaryRequest) -> str:
        seen.append(request.instructions + request.text)
        return really(self, request)

    monkeypatch.setattr(Extractive, "__call__", spy)
    run("compact", body, "--window", "16k", "--focus", "the uuid columns")

    assert any("the uuid columns" in text for text in seen)


@pytest.mark.parametrize(("spelled", "tokens"), [("32k", 32_000), ("1M", 1_000_000), ("32_000", 32_000), ("1.5K", 1_500)])
def test_sizes_as_people_write_them(spelled: str, tokens: int) -> None:
    """``k`` is a thousand and ``M`` a million."""
    assert size(spelled) == tokens


@pytest.mark.parametrize("spelled", ["", "k", "-1", "32kb", "1e6", "0.0001k", "3_2", "9" * 400, "٣٢", "32 k"])
def test_what_is_no_size_is_wrong_usage(spelled: str, body: Path, run: Run) -> None:
    """Status 2, and the value is in the message."""
    status, out, err = run("compact", body, "--window", spelled)

    assert (status, out) == (2, "")
    assert "--window" in err


def test_impossible_reserve_is_status_2(body: Path, run: Run) -> None:
    """The policy's own words, in one line."""
    status, _, err = run("compact", body, "--window", "8k", "--reserve", "9k")

    assert status == 2
    assert err.startswith("compactlib: reserve_tokens")


# --- check -----------------------------------------------------------------------------------------------------------


def test_check_of_a_valid_body_is_status_0(body: Path, run: Run) -> None:
    """One line says what was checked, and how it was read."""
    assert run("check", body) == (0, "valid: 49 messages (anthropic, as a request)\n", "")


def test_check_speaks_like_a_linter(broken: Path, run: Run) -> None:
    """File, line, level, rule, message; beneath what was expected, the provider's words, and the fix."""
    status, out, err = run("check", broken)

    assert status == 1
    assert out.splitlines()[0].startswith(f"{broken}:")
    assert ": error A-PAIR-01 message 1 calls 'c1'" in out
    assert "expected  " in out
    assert "provider  messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: c1." in out
    assert "fix       synthesize-result" in out
    assert "1 error, 1 info: 4 messages" in out.splitlines()[-1]
    assert err == f"{broken}:5: cut off in the middle of a record, as when the writer died; not read\n"


def test_check_names_the_line_of_a_message_in_a_document(tmp_path: Path, run: Run) -> None:
    """In a pretty-printed body the line is where the message begins."""
    path = tmp_path / "body.json"
    path.write_text('{\n "messages": [\n  {"role": "user",\n   "content": "hi"},\n  ' + json.dumps(call("c1")) + "]}", "utf-8")
    _, out, _ = run("check", path)

    assert f"{path}:5: error A-PAIR-01" in out


def test_check_json_is_the_contract(broken: Path, run: Run) -> None:
    """Validity and the violations, each with rule, law, index, pointer, message and fix."""
    status, out, _ = run("check", broken, "--format", "json")
    said = json.loads(out)
    found, _ = said["violations"]

    assert (status, set(said), said["valid"]) == (1, {"valid", "violations", "unread"}, False)
    assert {key: found[key] for key in ("rule", "index", "pointer", "fix")} == {
        "rule": "A-PAIR-01",
        "index": 1,
        "pointer": "/1/content/0",
        "fix": "synthesize-result",
    }
    assert {"law", "message"} < set(found)


def test_history_may_end_with_open_calls(tmp_path: Path, run: Run) -> None:
    """The same messages are no request that could be sent now."""
    path = tmp_path / "open.json"
    path.write_text(json.dumps([{"role": "user", "content": "hi"}, call("c1")]), "utf-8")

    assert run("check", path, "--mode", "history")[0] == 0
    assert run("check", path, "--mode", "request")[0] == 1


def test_warnings_count_when_asked_to(tmp_path: Path, run: Run) -> None:
    """A warning is shown and forgiven; with ``--strict`` it is not."""
    path = tmp_path / "warned.json"
    first = {"role": "user", "content": "go"}
    again = {"role": "user", "content": "on"}
    path.write_text(json.dumps([first, call("c"), answer("c", "1"), again, call("c"), answer("c", "2")]), "utf-8")
    status, out, _ = run("check", path)

    assert (status, "warning" in out) == (0, True)
    assert run("check", path, "--strict")[0] == 1


def test_several_files_are_checked_together(body: Path, broken: Path, run: Run) -> None:
    """One verdict over all of them, findings by file."""
    status, out, _ = run("check", body, broken)

    assert status == 1
    assert "1 error, 1 info: 53 messages" in out


def test_profile_of_another_dialect_is_wrong_usage(body: Path, run: Run) -> None:
    """A route of one dialect says nothing about another's body."""
    status, _, err = run("check", body, "--profile", "groq")

    assert status == 2
    assert "groq" in err


@pytest.fixture
def unreadable(tmp_path: Path) -> dict[str, tuple[int | None, str]]:
    """Files that cannot be read, with the line and the words of what is said."""
    path = tmp_path / "bad"
    path.mkdir()
    contents = {
        "binary.json": (b'[\n{"role":\n\xff', 3, "not UTF-8"),
        "nan.json": (b'[{"role": "user",\n"content": NaN}]', 2, "NaN is not a JSON number"),
        "twice.json": (b'[{"role": "user",\n"content": "a",\n"role": "user"}]', 3, "the key 'role' occurs twice"),
        "torn.json": (b'[\n{"role": "user"', 2, "not JSON"),
        "shape.json": (b'{"messages": [{"role": "user", "content": 1}]}', None, "$.messages[0].content: "),
        "empty.json": (b"", None, "the file is empty"),
    }
    for name, (content, _line, _said) in contents.items():
        (path / name).write_bytes(content)
    there = {str(path / name): (line, said) for name, (_content, line, said) in contents.items()}
    return {**there, str(path / "missing.json"): (None, "No such file"), str(path): (None, "Is a directory")}


def test_unreadable_files_are_named_and_the_others_judged(
    unreadable: dict[str, tuple[int | None, str]], body: Path, broken: Path, run: Run
) -> None:
    """One line on standard error for each, with its name and its line; status 2, which wins over findings."""
    status, out, err = run("check", *unreadable, broken, body)
    lines = err.splitlines()

    assert status == 2
    assert "error A-PAIR-01" in out
    assert out.endswith(f"53 messages (anthropic, as a request); 1 line and {len(unreadable)} files could not be read\n")
    for (file, (line, said)), told in zip(unreadable.items(), lines, strict=False):
        assert told.startswith(f"compactlib: {file}: " if line is None else f"compactlib: {file}:{line}: ")
        assert said in told
    assert lines[len(unreadable) :] == run("check", broken)[2].splitlines()
    assert run("check", *unreadable, body)[0] == 2


def test_unreadable_files_are_in_every_form(unreadable: dict[str, tuple[int | None, str]], broken: Path, run: Run) -> None:
    """Beside the findings of the others: never a verdict that passes over them."""
    said = {form: run("check", *unreadable, broken, "--format", form) for form in ("json", "sarif", "junit", "github")}
    listed = json.loads(said["json"][1])
    places = {**{file: line for file, (line, _) in unreadable.items()}, str(broken): 5}
    (invocation,) = json.loads(said["sarif"][1])["runs"][0]["invocations"]

    assert {status for status, _, _ in said.values()} == {2}
    assert (listed["valid"], len(listed["violations"])) == (False, 2)
    assert {one["file"]: one["line"] for one in listed["unread"]} == places
    assert invocation["executionSuccessful"] is False
    assert len(invocation["toolExecutionNotifications"]) == len(places)
    assert said["junit"][1].count("<error ") == len(places)
    assert f' errors="{len(places)}">' in said["junit"][1]
    assert said["github"][1].count("::error title=compactlib,file=") == len(places)
    assert json.loads(run("check", *unreadable, "--format", "json")[1])["valid"] is False


def test_line_that_cannot_be_read_counts_in_every_form(tmp_path: Path, run: Run) -> None:
    """The rest is judged, and is not called valid: a broken line does not pass."""
    path = tmp_path / "mixed.jsonl"
    path.write_text('{"role": "user", "content": "hi"}\nno JSON\n[1]\n{"kind": "note"}\n', "utf-8")
    asked = ("check", path, "--dialect", "anthropic")
    said = {form: run(*asked, "--format", form) for form in ("text", "json", "sarif", "junit", "github")}
    listed = json.loads(said["json"][1])
    notified = json.loads(said["sarif"][1])["runs"][0]["invocations"][0]["toolExecutionNotifications"]

    assert {status for status, _, _ in said.values()} == {1}
    assert (listed["valid"], listed["violations"]) == (False, [])
    assert sorted((one["file"], one["line"]) for one in listed["unread"]) == [(str(path), line) for line in (2, 3, 4)]
    assert said["text"][1] == "incomplete: 1 message (anthropic, as a request); 3 lines could not be read\n"
    assert f"{path}:2: not JSON at column 1: Expecting value; not read\n" in said["text"][2]
    assert len(notified) == 3
    assert said["junit"][1].count('<testcase name="unread line') == 3
    assert said["github"][1].count("::error title=compactlib,file=") == 3
    assert run(*asked, "--statistics", "--format", "json")[0] == 1


def test_line_that_was_mended_does_not_count(tmp_path: Path, run: Run) -> None:
    """What was put in its place is said, and everything was read."""
    path = tmp_path / "mended.jsonl"
    path.write_bytes(b'{"role": "user", "content": "hi \xff"}\n')
    status, out, err = run("check", path, "--dialect", "anthropic", "--format", "json")

    assert (status, json.loads(out)["unread"]) == (0, [])
    assert "U+FFFD" in err


def test_torn_record_of_a_session_does_not_count(session: Path, broken: Path, run: Run) -> None:
    """Its agent reads past it, and it may still be written; that of a list of messages is a message that is missing."""
    status, out, err = run("check", session, "--ignore", "ALL", "--format", "json")

    assert (status, json.loads(out)["unread"], "cut off in the middle" in err) == (0, [], True)
    assert run("check", broken, "--ignore", "ALL")[0] == 1
    for path in (session, broken):
        whole = path.read_text("utf-8").splitlines()[0]
        path.write_text(path.read_text("utf-8") + whole.replace("hi", "ho") + "\n", "utf-8")  # the next writer goes on
    assert [run("check", path, "--ignore", "ALL")[0] for path in (session, broken)] == [0, 1]
    assert "a torn record of" in run("check", session)[2]


@pytest.mark.parametrize(
    "command",
    [
        ("repair",),
        ("convert", "--to", "gemini"),
        ("compact", "--window", "16k"),
        ("explain", "--window", "16k"),
        ("cuts",),
        ("stats",),
    ],
)
def test_every_command_names_what_it_cannot_read(
    command: tuple[str, ...], unreadable: dict[str, tuple[int | None, str]], run: Run
) -> None:
    """And its line, where that is known."""
    for file, (line, said) in unreadable.items():
        status, out, err = run(command[0], file, *command[1:])

        assert (status, out, err.count("\n")) == (2, "", 1)
        assert err.startswith(f"compactlib: {file}: " if line is None else f"compactlib: {file}:{line}: ")
        assert said in err


def test_missing_file_is_not_passed_over(tmp_path: Path, run: Run) -> None:
    """``--skip-others`` is about files of other kinds; what cannot be read is of none."""
    (tmp_path / "notes.md").write_text("# Notes", "utf-8")

    assert run("check", "--skip-others", tmp_path / "notes.md")[0] == 0
    assert run("check", "--skip-others", tmp_path / "nowhere.json")[0] == 2


def test_words_of_the_provider_have_no_holes() -> None:
    """What varies and is not known is shown as an ellipsis; ids are text, whatever they look like."""
    for rule in RULES.values():
        for ids in ((), ("a{k}b",)):
            said = answer_of(Violation(rule.id, "L1", "error", 3, "/messages/3/content/1", "", "", None, ids))

            assert re.findall(r"\{[a-z]+\}", said.replace("a{k}b", "")) == []


@pytest.mark.parametrize(
    ("rule", "pointer", "said"),
    [
        ("A-ID-02", "/messages/3/content/2/tool_use_id", "messages.3.content.2.tool_result.tool_use_id: "),
        ("A-ID-02", "/3/content/2/id", "messages.3.content.2.tool_use.id: "),
        ("O-ID-01", "/messages/3/tool_call_id", "Invalid 'messages[3].tool_call_id': "),
        ("O-ID-01", "/messages/3/tool_calls/1/id", "Invalid 'messages[3].tool_calls[1].id': "),
        ("A-SRC-01", "/3/content/2/content/4/source", "messages.3.content.2.tool_result.content.4.image.source: "),
        (
            "A-ALT-01",
            "/messages/3",
            'messages: roles must alternate between "user" and "assistant", but found multiple "..." roles',
        ),
        ("R-SIZE-02", "/input/3/output", "Invalid 'input[3].output': "),
    ],
)
def test_words_of_the_provider_fit_the_place(rule: str, pointer: str, said: str) -> None:
    """Of several texts the one that speaks of it, with its numbers."""
    assert answer_of(Violation(rule, "L1", "error", 3, pointer, "", "")).startswith(said)


def test_a_second_id_is_not_the_first(run: Run) -> None:
    """Where the provider names two ids and one is known, the other is left open."""
    told = Violation("R-REAS-02", "L1", "error", 3, "/input/3", "", "", None, ("fc_1",))

    assert answer_of(told) == "Item 'fc_1' of type '...' was provided without its required 'reasoning' item: '...'."


def test_output_costs_as_much_for_each_finding(tmp_path: Path, run: Run) -> None:
    """Counted in calls of functions: twice the findings cost at most twice, and one finding some hundred."""
    path = tmp_path / "many.json"
    counts = []
    for findings in (200, 400):
        messages = [message for turn in range(findings) for message in ({"role": "user", "content": "go"}, call(f"c{turn}"))]
        path.write_text(json.dumps(messages), "utf-8")
        run("check", path)  # what is loaded the first time
        calls = 0

        def counted(_frame: object, event: str, _given: object) -> None:
            nonlocal calls
            calls += event == "call"

        before = sys.getprofile()
        sys.setprofile(counted)
        try:
            run("check", path)
        finally:
            sys.setprofile(before)
        counts.append(calls)

    assert counts[1] - counts[0] < 200 * 250
    assert counts[1] < 2.1 * counts[0]


@pytest.mark.parametrize("command", [("check",), ("repair",), ("compact", "--window", "16k"), ("explain", "--window", "16k")])
def test_profiles_are_told(command: tuple[str, ...], body: Path, run: Run) -> None:
    """The help says where they are listed; a wrong one is answered with the nearest, another dialect's with those of this one."""
    listed = json.loads(run("rules", "--profiles", "--format", "json")[1])

    assert sorted(name for names in listed.values() for name in names) == sorted(PROFILES)
    assert run("rules", "--profiles")[1].count("\n") == len(PROFILES)
    assert "compactlib rules --profiles" in " ".join(run(command[0], "--help")[1].split())
    assert max(map(len, run(command[0], "--help")[1].splitlines())) <= 100
    status, _, err = run(command[0], body, *command[1:], "--profile", "grok")
    assert (status, "did you mean groq" in err, "compactlib rules --profiles" in err) == (2, True, True)
    status, _, err = run(command[0], body, *command[1:], "--profile", "bedrock")
    assert (status, f"anthropic, which has {', '.join(listed['anthropic'])}" in err) == (2, True)


@pytest.mark.parametrize(
    "arguments",
    [
        ("truncate", "--limit-chars", "99", "--raw", "--format", "json"),
        ("expand", "0" * 64, "--store", ".", "--raw", "--format", "json"),
        ("expand", "0" * 64, "--store", ".", "--raw", "--lines", "1-2"),
        ("rules", "A-PAIR-01", "--error", "x"),
        ("rules", "A-PAIR-01", "--profiles"),
        ("rules", "--dialect", "gemini", "--error", "x"),
    ],
)
def test_contradictory_options_are_wrong_usage(arguments: tuple[str, ...], run: Run) -> None:
    """One of the two would be passed over in silence."""
    status, out, err = run(*arguments)

    assert (status, out) == (2, "")
    assert "Usage: " in err


def test_the_package_is_the_command() -> None:
    """``python -m compactlib``, as ``python -m compactlib.cli``."""
    said = [
        subprocess.run([sys.executable, "-m", name, "rules"], capture_output=True) for name in ("compactlib", "compactlib.cli")
    ]

    assert (said[0].returncode, said[0].stdout) == (0, said[1].stdout)


# --- repair of sessions ----------------------------------------------------------------------------------------------


@pytest.fixture
def session(tmp_path: Path) -> Path:
    """A Claude Code session whose call was never answered; its last line is torn."""
    facts = {"isSidechain": False, "cwd": "/w", "sessionId": "s", "version": "2.0.5"}
    lines = (
        {"parentUuid": None, **facts, "type": "user", "uuid": "u1", "message": {"role": "user", "content": "go"}},
        {"parentUuid": "u1", **facts, "type": "assistant", "uuid": "a1", "message": {"id": "m", **call("c1")}},
        {"parentUuid": "a1", **facts, "type": "user", "uuid": "u2", "message": {"role": "user", "content": "and?"}},
    )
    path = tmp_path / "session.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines) + '{"parentUuid":"u2","ty', "utf-8")
    return path


def test_a_session_is_repaired_as_a_session(session: Path, tmp_path: Path, run: Run) -> None:
    """``--out`` writes the file back: one line more, one linked anew, all others as they were; the input stays."""
    before = session.read_bytes()
    out = tmp_path / "fixed.jsonl"
    status, said, _ = run("repair", session, "--diff", "--out", out)
    old, new = before.split(b"\n"), out.read_bytes().split(b"\n")

    assert status == 0
    assert f"written: {out}, a claude-code session" in said
    assert (new[:2], new[4:]) == (old[:2], old[3:])
    assert json.loads(new[3]) == {**json.loads(old[2]), "parentUuid": json.loads(new[2])["uuid"]}
    assert [line[0] for line in said.splitlines() if line[0] in "+-" and line[:3] not in ("+++", "---")] == ["-", "+", "+"]
    assert session.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fixed.jsonl", "session.jsonl"]
    assert run("check", out)[0] == 0


def test_a_repaired_session_needs_no_repair(session: Path, tmp_path: Path, run: Run) -> None:
    """The second time the same bytes are written."""
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    run("repair", session, "--out", first)
    status, said, _ = run("repair", first, "--out", second)

    assert (status, "nothing to repair" in said) == (0, True)
    assert first.read_bytes() == second.read_bytes()


def test_a_session_that_cannot_be_written_back_is_refused(session: Path, tmp_path: Path, run: Run) -> None:
    """An export in one document: status 2, one line with the reason, nothing written; the messages are there as JSON."""
    lines = session.read_text("utf-8").splitlines()[:3]
    session.write_text(json.dumps({"loglines": [json.loads(line) for line in lines]}), "utf-8")
    out = tmp_path / "fixed.jsonl"
    status, said, err = run("repair", session, "--out", out)

    assert (status, said, err.count("\n"), out.exists()) == (2, "", 1, False)
    assert "only a log of one record a line is written back" in err
    assert len(json.loads(run("repair", session, "--format", "json")[1])["messages"]) == 3


# --- cuts, stats, truncate, rules ------------------------------------------------------------------------------------


def test_cuts_are_those_of_the_library(body: Path, run: Run) -> None:
    """The JSON is `legal_cuts`, the text has a row for each."""
    status, out, _ = run("cuts", body, "--format", "json")
    cuts = cl.legal_cuts(cl.load(body))

    assert (status, json.loads(out)) == (0, {"turn": list(cuts.turn), "step": list(cuts.step)})
    assert run("cuts", body)[1].count("\n") == len(cuts.turn) + len(cuts.step) + 3


def test_no_cut_is_status_1(run: Run) -> None:
    """One message cannot be cut."""
    status, out, _ = run("cuts", "-", given=b'[{"role": "user", "content": "hi"}]')

    assert status == 1
    assert "There is no legal cut" in out


def test_stats_divide_the_window(body: Path, run: Run) -> None:
    """Every share is named; shares, reserve and what is free make up the window."""
    status, out, _ = run("stats", body, "--window", "64k", "--format", "json")
    said = json.loads(out)

    assert status == 0
    assert sum(said["shares"].values()) == said["window_tokens"] == 64_000
    assert {"tools", "prompts", "model text", "calls", "results", "output reserve", "free"} <= set(said["shares"])
    assert said["total_tokens"] == cl.compact(cl.load(body), cl.Policy(window_tokens=64_000)).before_tokens


@pytest.mark.parametrize("window", [16_000, 20_000, 64_000])
def test_stats_add_up_to_the_window(window: int, body: Path, run: Run) -> None:
    """The column is the window and 100 %, also where the request is larger: by how much is taken off."""
    said = json.loads(run("stats", body, "--window", str(window), "--format", "json")[1])
    out = run("stats", body, "--window", str(window))[1].split("\n\n")[1]
    column = [int(found.replace(",", "")) for found in re.findall(r"(-?[\d,]+)  +[<-]? ?[\d.]+ %", out)]
    over = max(said["total_tokens"] - said["budget_tokens"], 0)

    assert sum(column[:-1]) == column[-1] == window
    assert said["over_tokens"] == over == sum(said["shares"].values()) - window
    assert ("over by" in out) == bool(over)
    assert "window" in out.splitlines()[-1]
    assert "100.0 %" in out.splitlines()[-1]


def test_stats_list_tools_with_their_calls(body: Path, run: Run) -> None:
    """Each tool's size, the calls made to it, and those that were never called."""
    said = json.loads(run("stats", body, "--format", "json")[1])

    assert {tool["name"]: tool["calls"] for tool in said["tools"]} == {"paint": 0, "bash": 12, "shell": 0}
    assert said["never_called"] == ["paint", "shell"]
    assert "never called" in run("stats", body)[1]


def test_stats_say_what_was_carried(body: Path, run: Run) -> None:
    """A large result is paid for with every later request."""
    result, *_ = json.loads(run("stats", body, "--format", "json")[1])["large_results"]

    assert (result["index"], result["tool"], result["later_requests"]) == (2, "bash", 23)
    assert result["carried_tokens"] == result["tokens"] * 23


def test_stats_warn(body: Path, run: Run) -> None:
    """Overhead above a tenth of the budget, a reserve below ``max_tokens``, two tools that say the same."""
    said = json.loads(run("stats", body, "--window", "9k", "--reserve", "4k", "--format", "json")[1])
    out = run("stats", body, "--window", "1M")[1]

    assert [one["code"] for one in said["warnings"]] == ["over-budget", "overhead", "reserve", "near-duplicate-tools"]
    assert out.count("warning") == 1
    assert "the tools bash and shell share" in out


def test_truncate_is_the_library_s(run: Run) -> None:
    """Standard input by default; the text of `compactlib.truncate`, and its numbers as JSON."""
    log = "".join(f"line {n}\n" for n in range(1000)) + "FAILED at the end\n"
    short = cl.truncate(log, limit_lines=20, keep="tail")
    status, out, _ = run("truncate", "--limit-lines", "20", "--keep", "tail", given=log.encode())

    assert (status, out) == (0, short.text)
    said = json.loads(run("truncate", "-", "--limit-lines", "20", "--keep", "tail", "--format", "json", given=log.encode())[1])
    assert (said["text"], said["omitted_chars"], said["omitted_lines"]) == (short.text, short.omitted_chars, short.omitted_lines)


def test_truncate_without_a_limit_is_wrong_usage(run: Run) -> None:
    """A limit is due."""
    assert run("truncate", given=b"text")[0] == 2


def test_truncate_raw_is_byte_for_byte(tmp_path: Path) -> None:
    """For a pipe: what is kept is the original's own bytes."""
    log = b"\x1b[31mred\x1b[0m\r\n\xff\xfe \xed\xa0\x80 \xc3" * 3
    command = [sys.executable, "-m", "compactlib.cli", "truncate", "--limit-chars", "10k"]

    assert subprocess.run([*command, "--raw"], input=log, capture_output=True, check=True).stdout == log
    assert b"\x1b" not in subprocess.run(command, input=log, capture_output=True, check=True).stdout


def test_rules_are_listed_and_explained(run: Run) -> None:
    """All of them on a line each; one with its statement, the provider's words, and the fix."""
    status, out, _ = run("rules")

    assert (status, out.count("\n")) == (0, len(json.loads(run("rules", "--format", "json")[1])))
    status, out, _ = run("rules", "a-pair-01")
    assert status == 0
    assert "Each `tool_use` block must have a corresponding `tool_result` block" in out
    assert "safe fix  synthesize-result" in out


def test_rules_are_listed_by_what_they_begin_with_and_by_dialect(run: Run) -> None:
    """One line each; a rule that the dialect does not have is no rule of it, and that is status 1."""
    listed = [line.split()[0] for line in run("rules", "a-pair")[1].splitlines()]
    of_gemini = json.loads(run("rules", "--dialect", "gemini", "--format", "json")[1])

    assert listed == [rule for rule in RULES if rule.startswith("A-PAIR-")]
    assert [rule["id"] for rule in of_gemini] == [rule.id for rule in RULES.values() if rule.dialect == "gemini"]
    assert run("rules", "G-SIG", "--dialect", "gemini")[1].startswith("  G-SIG-01")
    assert run("rules", "A-PAIR", "--dialect", "gemini")[0] == 1


def test_unknown_rule_is_status_2_with_a_guess(run: Run) -> None:
    """The nearest ids are named."""
    status, _, err = run("rules", "A-PAIR-1")

    assert status == 2
    assert "did you mean A-PAIR-01" in err


def test_rules_explain_a_provider_s_error(run: Run) -> None:
    """Pasted or piped; status 1 for an error that nobody knows."""
    pasted = '400 {"message": "messages.3: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1."}'
    status, out, _ = run("rules", "--error", pasted)

    assert status == 0
    assert "It speaks of message 3" in out
    assert "A-PAIR-01" in out
    assert run("rules", "--error", "-", given=pasted.encode())[:2] == (0, out)
    assert run("rules", "--error", "the printer is on fire")[0] == 1
    assert "compactlib repair FILE does what is safe: synthesize-result." in out
    found = json.loads(run("rules", "--error", pasted, "--format", "json")[1])
    assert (found[0]["index"], found[0]["fix"]) == (3, "synthesize-result")


@pytest.mark.parametrize(
    ("text", "index"),
    [
        ("messages.22: tool_use ids were found...", 22),
        ("messages.3.content.0: unexpected `tool_use_id` found in `tool_result` blocks: t", 3),
        ("Invalid 'input[3].call_id': string too long.", 3),
        ("* GenerateContentRequest.contents[4].parts: contents.parts must not be empty.", 4),
        ("Malformed input request: #/messages/5/content/1: extraneous key [toolResult] is not permitted, please reformat", 5),
        ('{"loc": ["body", "messages", 7, "assistant"]}', 7),
        ("messages: at least one message is required", None),
    ],
)
def test_the_message_is_found_in_the_words_of_each_provider(text: str, index: int | None, run: Run) -> None:
    """Dots, brackets, a JSON pointer, a list of keys; also where no rule is known."""
    assert (f"It speaks of message {index}," in run("rules", "--error", text)[1]) == (index is not None)


# --- every command ---------------------------------------------------------------------------------------------------

FILED: Final = (
    ("check",),
    ("check", "--statistics"),
    ("repair", "--diff"),
    ("compact", "--window", "16k"),
    ("compact", "--window", "16k", "--show"),
    ("cuts",),
    ("stats", "--window", "16k"),
)


@pytest.mark.parametrize("command", FILED)
@pytest.mark.parametrize("output", ["text", "json"])
def test_hostile_text_is_never_acted_on(command: tuple[str, ...], output: str, tmp_path: Path, run: Run) -> None:
    """Whatever stands in a transcript or its name: no terminal escape, control character or bidi control is printed."""
    path = tmp_path / "ev\x1b[31mil\n\u202e.json"
    tools = [{"name": f"bash{HOSTILE}", "description": HOSTILE, "input_schema": {}}]
    messages = conversation(words=f"{HOSTILE} row\n")
    messages[1]["content"][0]["name"] = f"bash{HOSTILE}"
    messages.append({"role": f"x{HOSTILE}" if command[0] == "check" else "user", "content": HOSTILE})
    messages.append(call(f"id{HOSTILE}", HOSTILE))
    path.write_text(json.dumps({"messages": messages, "tools": tools}), "utf-8")
    _, out, err = run(*command, path, "--format", output, "--input-format", "anthropic")

    assert set(out + err) & ACTING == set()
    if output == "json":
        json.loads(out)


def test_hostile_arguments_are_never_acted_on(run: Run) -> None:
    """Nor is what stands on the command line itself."""
    text = HOSTILE.rstrip("\0")
    for arguments in (("rules", text), ("check", text), ("compact", "x", "--window", text), (text,)):
        status, out, err = run(*arguments)

        assert status == 2
        assert set(out + err) & ACTING == set()


@pytest.mark.parametrize("command", FILED)
@pytest.mark.parametrize(
    "given",
    [
        b"",
        b"\0\0\0",
        b"\xff\xfe\x00",
        b"not json",
        b"[" * 100_000,
        b'{"messages": null}',
        b'{"messages": [1, 2]}',
        b"1" * 5_000,
        b'[{"role": "user", "content": NaN}]',
        b'{"a": 1, "a": 2}',
        b'{"type": "session_meta"}',
    ],
    ids=lambda given: given[:12].decode("latin-1"),
)
def test_what_cannot_be_read_is_one_line(command: tuple[str, ...], given: bytes, run: Run) -> None:
    """Status 2, nothing on standard output, one line on standard error, and no traceback."""
    status, out, err = run(*command, "-", given=given)

    assert (status, out) == (2, "")
    assert err.count("\n") == 1
    assert err.startswith("compactlib: ")


@pytest.mark.parametrize("command", FILED)
def test_missing_file_is_one_line(command: tuple[str, ...], tmp_path: Path, run: Run) -> None:
    """Status 2, with the file's name; so is a directory."""
    for path in (tmp_path / "nowhere.jsonl", tmp_path):
        status, out, err = run(*command, path)

        assert (status, out, err.count("\n")) == (2, "", 1)
        assert str(path) in err


@pytest.mark.parametrize("command", FILED)
@pytest.mark.parametrize("messages", [[], [{"role": "user", "content": []}], [{"role": "user", "content": ""}]])
def test_degenerate_conversations_are_answered(command: tuple[str, ...], messages: list[Any], run: Run) -> None:
    """Nothing, nothing said, nobody asking: status 0 or 1, never a failure."""
    assert run(*command, "-", "--input-format", "anthropic", given=json.dumps({"messages": messages}).encode())[0] in (0, 1)


@pytest.mark.parametrize("arguments", [(), ("--help",), ("compact", "--help"), ("--version",)])
def test_help_is_there(arguments: tuple[str, ...], run: Run) -> None:
    """Without a command the help is shown, and the status says that nothing was run."""
    status, out, err = run(*arguments)

    assert status == (0 if arguments else 2)
    assert "compactlib" in out + err


@pytest.mark.parametrize("arguments", [("fly",), ("compact",), ("compact", "x"), ("check", "--mode", "x", "x"), ("rules", "-z")])
def test_wrong_usage_is_status_2(arguments: tuple[str, ...], run: Run) -> None:
    """Unknown commands, options and choices, and missing arguments."""
    status, out, err = run(*arguments)

    assert (status, out) == (2, "")
    assert "compactlib: " in err


def test_unknown_example_names_those_there_are(run: Run) -> None:
    """An example that is not there, or a way out of the folder of examples, is status 2."""
    for name in ("nothing", "../README", "../../etc/passwd"):
        status, _, err = run("check", f"example:{name}")

        assert status == 2
        assert "example:migration" in err


@pytest.mark.parametrize("command", FILED)
def test_real_files_are_answered(command: tuple[str, ...], shared: Path, run: Run) -> None:
    """Every file of the corpus, read or not: an answer or a reason, never a defect."""
    files = [path for path in sorted((shared / "corpus").rglob("*")) if path.is_file() and path.stat().st_size < 500_000]
    defects = [path.name for path in files if "defect" in run(*command, path)[2]]

    assert len(files) > 50
    assert defects == []


def test_bundled_example_is_compacted_and_keeps_what_matters(run: Run) -> None:
    """The first command anybody runs: the decisive last line of the long output is still to be read."""
    status, out, err = run("compact", "example:migration", "--window", "32k", "--show")

    assert (status, err) == (0, "")
    assert "checksum=9f3a61c07be2d845" in out


def test_interrupt_is_130(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a shell reports it, without a traceback."""
    from compactlib.cli import check

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(check, "read_sources", interrupted)

    assert run("check", "x") == (130, "", "")


def test_defect_is_one_line(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """What must not happen is called what it is, with its place, and no traceback."""
    from compactlib.cli import check

    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("at\x1b night")

    monkeypatch.setattr(check, "read_sources", broken)
    status, out, err = run("check", "x")

    assert (status, out) == (2, "")
    assert err.startswith("compactlib: a defect of compactlib at test_cli.py:")
    assert err.endswith("ZeroDivisionError: at\\x1b night\n")


def test_reader_that_goes_away_is_no_failure(body: Path) -> None:
    """``compactlib ... | head`` ends quietly."""
    command = f"{sys.executable} -m compactlib.cli compact {body} --window 16k --show | head -1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"})

    assert done.stderr == ""
    assert done.returncode in (0, 141)


@pytest.mark.parametrize("missing", ["click", "rich"])
def test_missing_extra_is_said(missing: str) -> None:
    """Without click or rich the command says how to get them, in one line, with status 2."""
    code = f"import sys; sys.modules[{missing!r}] = None; from compactlib.cli import main; sys.exit(main(['rules']))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"compactlib: the command needs the package '{missing}': pip install 'compactlib[cli]'\n"


def test_poor_terminal_is_no_failure(body: Path) -> None:
    """Where the output cannot carry a letter its number is printed instead."""
    command = [sys.executable, "-m", "compactlib.cli", "compact", str(body), "--window", "16k"]
    poor = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = subprocess.run(command, capture_output=True, text=True, env=poor)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.isascii()


def test_bars_are_drawn_for_a_terminal_only(body: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a terminal there is a bar and there are colours; without, neither."""
    plain = run("compact", body, "--window", "16k")[1]
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    coloured = run("compact", body, "--window", "16k")[1]

    assert ("█" in plain, "\x1b" in plain) == (False, False)
    assert ("█" in coloured, "\x1b[" in coloured) == (True, True)
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[3" not in run("compact", body, "--window", "16k")[1]


# -- expand ------------------------------------------------------------------------------------------------------------


def test_what_was_cleared_is_shown_again(run: Run, tmp_path: Path) -> None:
    """By the reference that the account names, whole, in pages, by lines, and as bytes."""
    store = tmp_path / "store"
    status, said, _ = run("compact", "example:migration", "--window", "200k", "--store", store, "--format", "json")
    assert status == 0
    cleared = [part for part in json.loads(said)["report"]["dropped"] if part["rung"] == "clear"]
    ref = max(cleared, key=lambda part: part["tokens"])["ref"]
    whole = (store / "objects" / ref[:2] / ref[2:]).read_bytes().decode()

    status, said, _ = run("expand", f"ref={ref}", "--store", store, "--lines", "2-3")
    assert status == 0
    assert said.splitlines()[1:3] == whole.split("\n")[1:3]
    assert json.loads(run("expand", ref, "--store", store, "--format", "json")[1])["chars"] == len(whole)
    assert run("expand", ref, "--store", store, "--lines", "900000-900001")[0] == 1
    assert [run("expand", odd, "--store", store)[0] for odd in ("0" * 64, "nothing")] == [2, 2]


# -- explain -----------------------------------------------------------------------------------------------------------


def test_a_compaction_is_explained_step_by_step(run: Run) -> None:
    """The numbers are those of the outcome, and each step names its laws."""
    status, said, _ = run("explain", "example:migration", "--window", "32k", "--format", "json")
    found = json.loads(said)
    compacted = json.loads(run("compact", "example:migration", "--window", "32k", "--format", "json")[1])

    assert status == 0
    assert found["report"] == compacted["report"]
    assert found["steps"][0]["name"] == "how it divides"
    assert all(step["laws"] and step["lines"] for step in found["steps"])
    text = run("explain", "example:migration", "--window", "32k", "--shown")[1]
    assert f"{compacted['before_tokens']:,} -> {compacted['after_tokens']:,} tokens" in text
    assert "--- shown, part 1 of" in text


def test_a_refusal_is_explained_too(run: Run) -> None:
    """Why nobody was asked, and that nothing changed."""
    status, said, _ = run("explain", "-", "--window", "8k", "--when", "auto", given=b'[{"role": "user", "content": "hi"}]')

    assert status == 1
    assert "below-trigger" in said
    assert "the same object" in said
