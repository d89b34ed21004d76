"""``compactlib compact``: policies by name and by field, and summarisers that are commands or models."""

from __future__ import annotations

import importlib
import io
import json
import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
from attrs import evolve

import compactlib as cl
from compactlib.cli import main
from compactlib.cli import policy as policy_module
from compactlib.cli.summarising import Asked, Metered
from compactlib.policies import POLICIES
from compactlib.summaries.acceptance import Summary

FILE: Final = "example:migration"

GOOD: Final = (
    "## Goal\n- ship it\n## Orders, constraints and preferences\n(none)\n## Done\n- looked around\n## Next step\n- go on\n"
)

KEYS: Final = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_PROFILE", "OPENAI_API_KEY", "OPENAI_ADMIN_KEY")

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs ``compactlib compact`` on the example and gives back status, output and errors."""

    def run_command(*arguments: str | Path, file: str | Path = FILE, window: str = "32k") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b""), "utf-8"))
        status = main(["compact", str(file), "--window", window, *map(str, arguments)])
        said = capsys.readouterr()
        return status, said.out, said.err

    return run_command


@pytest.fixture
def program(tmp_path: Path) -> Callable[[str], str]:
    """Makes a command line of a small script."""

    def make(script: str) -> str:
        path = tmp_path / "a script.py"
        path.write_text(script, "utf-8")
        return shlex.join([sys.executable, str(path)])

    return make


@pytest.fixture
def policies(monkeypatch: pytest.MonkeyPatch) -> list[cl.Policy]:
    """The policies that compactions were run with."""
    seen: list[cl.Policy] = []
    module = importlib.import_module("compactlib.cli.compact")
    really = module.run_compaction

    def spy(conversation: Any, policy: cl.Policy, **more: Any) -> Any:
        seen.append(policy)
        return really(conversation, policy, **more)

    monkeypatch.setattr(module, "run_compaction", spy)
    return seen


# --- The policy ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", POLICIES)
def test_a_policy_is_had_by_its_name(name: str, run: Run, policies: list[cl.Policy]) -> None:
    status, out, err = run("--policy", name)
    [policy] = policies

    assert (status, err) == (0, "")
    assert "compacted" in out
    assert evolve(policy, model=None) == cl.Policy.named(name, window_tokens=32_000)


def test_the_window_of_a_model_is_known(capsys: pytest.CaptureFixture[str], policies: list[cl.Policy]) -> None:
    """What is given goes before it, and no window is guessed."""
    for model, options in (("claude-opus-5-5", ()), ("gpt-5", ()), ("gpt-5", ("--reserve", "150k"))):
        assert main(["compact", FILE, "--model", model, *options]) == 0
    assert main(["explain", FILE, "--model", "gpt-5", "--policy", "anchored"]) == 0
    assert [(policy.window_tokens, policy.reserve_tokens) for policy in policies] == [
        (1_000_000, None),
        (400_000, 128_000),
        (400_000, 150_000),
    ]
    capsys.readouterr()
    for given, said in (
        ((), "the size of the window is due: --window SIZE, or --model NAME"),
        (("--model", "mine"), "the window of 'mine' is not known: --window SIZE"),
        (("--model", "gpt-5", "--reserve", "9k"), "reserve_tokens: at least 128000"),
    ):
        assert main(["compact", FILE, *given]) == 2
        assert said in capsys.readouterr().err


def test_single_fields_go_before_those_of_the_name(run: Run, policies: list[cl.Policy]) -> None:
    options = (
        "--policy anchored --reserve 6k --trigger 90% --trigger-of budget --target 9k --tail 4k --tail-turns 1 --tail-messages 3 "
        "--step-cuts never --pin first --pin second --schema brief --language Russian --summariser-window 100k"
    )
    status, _, err = run(*options.split())
    [policy] = policies

    assert (status, err) == (0, "")
    assert evolve(policy, model=None) == cl.Policy(
        window_tokens=32_000,
        reserve_tokens=6_000,
        trigger_percent=90,
        trigger_of="budget",
        target_tokens=9_000,
        tail_tokens=4_000,
        tail_turns=1,
        tail_messages=3,
        step_cuts="never",
        pins=("first", "second"),
        schema="brief",
        language="Russian",
        summariser_window_tokens=100_000,
    )


def test_every_option_is_a_field_of_the_policy() -> None:
    """No option is without effect, and the command has no second list of defaults."""
    fields = {field.name for field in cl.Policy.__attrs_attrs__}
    command = importlib.import_module("compactlib.cli.compact").compact
    ours = {param.name: param for param in command.params if param.callback is policy_module._remember}

    assert set(ours) - {"policy", "trigger"} <= fields
    assert all(param.to_info_dict()["default"] is None for param in ours.values())


@pytest.mark.parametrize(("spelled", "field", "value"), [("20k", "trigger_tokens", 20_000), ("60%", "trigger_percent", 60)])
def test_a_trigger_is_a_size_or_a_share(spelled: str, field: str, value: int, run: Run, policies: list[cl.Policy]) -> None:
    assert run("--trigger", spelled)[0] == 0
    [policy] = policies
    assert getattr(policy, field) == value


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--policy ancored", "did you mean anchored?"),
        ("--policy nothing-like-it", "there are structured"),
        ("--trigger 80percent", "--trigger"),
        ("--trigger 1.5%", "no share"),
        ("--trigger 101%", "trigger_percent"),
        ("--trigger 31k", "below the budget"),
        ("--trigger-of history", "trigger_of"),
        ("--tail 30k", "tail_tokens"),
        ("--tail-turns 0", "tail_turns"),
        ("--tail-turns x", "--tail-turns"),
        ("--schema long", "--schema"),
        ("--language ''", "language"),
        ("--step-cuts sometimes", "--step-cuts"),
    ],
)
def test_a_policy_that_is_none_is_status_2(options: str, said: str, run: Run) -> None:
    """In the words of the policy or of the option, before the file is read."""
    status, out, err = run(*shlex.split(options), file="nowhere.json")

    assert (status, out) == (2, "")
    assert said in err
    assert "nowhere.json" not in err


def test_trim_asks_nobody_and_says_so(run: Run) -> None:
    status, out, _ = run("--policy", "trim")

    assert status == 0
    assert "no model was called, and no summary was asked for" in out
    assert "were dropped without a summary" in out


# --- A command as summariser -----------------------------------------------------------------------------------------


def test_a_command_writes_the_summary(run: Run, program: Callable[[str], str]) -> None:
    """Its words stand in the conversation, and the account names it, and not its arguments."""
    status, out, err = run("--summariser", f"command:{program(f'print({GOOD!r})')}")

    assert (status, err) == (0, "")
    assert "- looked around" in out
    assert f"command:{sys.executable}, " in " ".join(out.split())
    assert "no model was called" not in out
    assert "a script.py" not in out


def test_focus_reaches_the_command(run: Run, program: Callable[[str], str], tmp_path: Path) -> None:
    script = f"import sys; open({str(tmp_path / 'seen')!r}, 'w').write(sys.stdin.read()); print({GOOD!r})"
    run("--summariser", f"command:{program(script)}", "--focus", "the uuid columns")

    assert "the uuid columns" in (tmp_path / "seen").read_text("utf-8")


def test_a_command_may_speak_json_and_say_what_it_cost(run: Run, program: Callable[[str], str]) -> None:
    script = f"import json; print(json.dumps({{'text': {GOOD!r}, 'usage': {{'input_tokens': 1234, 'kind': 'x'}}}}))"
    status, out, _ = run("--summariser", f"command-json:{program(script)}")

    assert status == 0
    [requests, figure] = re.search(r"in (\d) requests?, .*; by its own account input_tokens ([0-9,]+)", out).groups()  # type: ignore[union-attr]  # or fail
    assert int(figure.replace(",", "")) == 1_234 * int(requests)


def test_a_command_that_fails_is_told_with_its_cost(run: Run, program: Callable[[str], str], tmp_path: Path) -> None:
    """Status 1, nothing written; a request that was refused is paid for all the same (law L24)."""
    out_file = tmp_path / "new.json"
    status, out, _ = run("--summariser", f"command:{program('import sys; sys.exit(7)')}", "--out", out_file)

    assert status == 1
    assert "summary-failed:exception" in out
    assert "ended with status 7" in out
    assert "1 request" in out
    assert not out_file.exists()


def test_the_name_stands_in_the_json(run: Run, program: Callable[[str], str]) -> None:
    for options, name in (
        ((), "extractive"),
        (("--summariser", f"command:{program(f'print({GOOD!r})')}"), f"command:{sys.executable}"),
    ):
        assert json.loads(run(*options, "--format", "json")[1])["summariser"] == name


def test_a_timeout_is_a_failed_summary(run: Run, program: Callable[[str], str]) -> None:
    status, out, _ = run("--summariser", f"command:{program('import time; time.sleep(60)')}", "--timeout", "0.5")

    assert status == 1
    assert "summary-failed:timeout" in out


def test_a_command_sees_only_the_variables_that_are_passed_on(
    run: Run, program: Callable[[str], str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("FIRST_KEY", "SECOND_KEY", "THIRD_KEY"):
        monkeypatch.setenv(name, "secret")
    script = f"import os; open({str(tmp_path / 'seen')!r}, 'w').write(' '.join(os.environ)); print({GOOD!r})"
    run("--summariser", f"command:{program(script)}", "--pass-env", "FIRST_KEY", "--pass-env", "SECOND_KEY")
    seen = (tmp_path / "seen").read_text("utf-8").split()

    assert [name for name in seen if name.endswith("_KEY")] == ["FIRST_KEY", "SECOND_KEY"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--summariser gpt", "none of extractive"),
        ("--summariser extractive:x", "none of extractive"),
        ("--summariser command", "none of extractive"),
        ("--summariser command:", "none of extractive"),
        ("--summariser 'openai: '", "none of extractive"),
        ("--summariser anthropic", "none of extractive"),
        ("--summariser 'command:\"open'", "cannot be taken apart"),
        ("--summariser command:no-such-program-here", "there is none"),
        ("--base-url http://x", "--base-url has no effect"),
        ("--timeout 5", "--timeout has no effect"),
        ("--pass-env A", "--pass-env has no effect"),
        ("--summariser command:cat --base-url http://x", "--base-url has no effect"),
        ("--summariser command:cat --timeout 0", "timeout_seconds"),
        ("--summariser command:cat --timeout soon", "--timeout"),
        ("--summariser openai:gpt-4.1 --pass-env A", "--pass-env has no effect"),
    ],
)
def test_a_summariser_that_is_none_is_status_2(options: str, said: str, run: Run) -> None:
    """Wrong usage in a clear line, before the file is read; an option without effect is wrong usage."""
    status, out, err = run(*shlex.split(options), file="nowhere.json")

    assert (status, out) == (2, "")
    assert said in err
    assert "nowhere.json" not in err


# --- A model as summariser -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["anthropic", "openai"])
def test_without_a_key_the_command_says_what_to_set(kind: str, run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Status 2: nothing could be run."""
    pytest.importorskip(kind)
    for name in KEYS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ANTHROPIC_CONFIG_DIR", str(tmp_path))
    status, out, err = run("--summariser", f"{kind}:some-model")

    assert (status, out) == (2, "")
    assert f"set {kind.upper()}_API_KEY" in err


@pytest.mark.parametrize("kind", ["anthropic", "openai"])
def test_without_the_package_the_command_says_what_to_install(kind: str, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, kind, None)
    status, out, err = run("--summariser", f"{kind}:some-model")

    assert (status, out) == (2, "")
    assert f"pip install 'compactlib[{kind}]'" in err


@pytest.mark.parametrize(("kind", "name"), [("anthropic", "AnthropicSummariser"), ("openai", "OpenAISummariser")])
def test_a_model_is_asked_where_the_command_line_says(kind: str, name: str, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Model, address and time go to the summariser, whose words stand in the result; no network is used here."""
    made: list[tuple[str, dict[str, Any]]] = []

    class Fake:
        def __init__(self, model: str, **settings: Any) -> None:
            made.append((model, settings))

        def __call__(self, request: Any) -> Summary:
            return Summary(GOOD, usage={"output_tokens": 50}, stop="end_turn")

    wing = importlib.import_module("compactlib.summarisers")
    monkeypatch.setattr(wing, name, Fake, raising=False)
    status, out, _ = run(
        "--summariser", f"{kind}:vendor/some-model:free", "--base-url", "http://localhost:9/v1", "--timeout", "9"
    )

    assert status == 0
    assert made == [("vendor/some-model:free", {"base_url": "http://localhost:9/v1", "timeout_seconds": 9.0})]
    assert f"{kind}:vendor/some-model:free, " in out
    assert re.search(r"; by its own account output_tokens \d+", out)


def test_no_option_takes_a_key() -> None:
    """A command line is seen by others."""
    command = importlib.import_module("compactlib.cli.compact").compact
    options = [option for param in command.params for option in param.opts]

    assert not any(word in option for option in options for word in ("key", "token", "secret", "password"))


def test_what_is_metered_is_what_was_said() -> None:
    """Failed requests count as asked, and figures add up over parts; what is no figure is left out."""
    replies: list[Any] = [
        Summary("four", usage={"input": 3, "flag": True, "tier": "x"}),
        Summary("five", usage={"input": 4}),
        "six",
    ]

    def answer(request: Any) -> Any:
        if not replies:
            raise RuntimeError("out of order")
        return replies.pop(0)

    metered = Metered(Asked("x", answer, is_model=True), len)
    request: Any = type("Request", (), {"instructions": "ab", "text": "c"})()
    for _ in range(3):
        metered(request)
    with pytest.raises(RuntimeError):
        metered(request)

    assert (metered.requests, metered.read_tokens, metered.written_tokens, metered.usage) == (4, 12, 11, {"input": 7})


# --- Where a command may come from -----------------------------------------------------------------------------------


def test_nothing_in_a_project_is_ever_run(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A project's file belongs to whoever wrote the repository: it names no summariser, and ``check`` refuses one that does."""
    owned = tmp_path / "owned"
    command = f"command:touch {owned}"
    body = tmp_path / "body.json"
    messages = [{"role": role, "content": f"{role} {n} " * 400} for n in range(30) for role in ("user", "assistant")]
    body.write_text(json.dumps(messages), "utf-8")
    for key in ("summariser", "summarise", "compact"):
        value = f'"{command}"' if key != "compact" else f'{{ summariser = "{command}" }}'
        (tmp_path / "pyproject.toml").write_text(f"[tool.compactlib]\n{key} = {value}\n", "utf-8")
        monkeypatch.chdir(tmp_path)
        status, out, _ = run("--dialect", "anthropic", file="body.json", window="16k")

        assert (status, "extractive summariser" in out) == (0, True)
        assert main(["check", "body.json", "--dialect", "anthropic"]) == 2
        assert key in capsys.readouterr().err
    assert not owned.exists()


def test_no_variable_names_a_summariser(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor does the environment, by any name that a command line tool would look for."""
    owned = tmp_path / "owned"
    for name in ("COMPACTLIB_SUMMARISER", "COMPACTLIB_COMPACT_SUMMARISER", "SUMMARISER"):
        monkeypatch.setenv(name, f"command:touch {owned}")
    status, out, _ = run()

    assert (status, "extractive summariser" in out) == (0, True)
    assert not owned.exists()


def test_nothing_in_a_conversation_reaches_the_command_line_of_a_program(
    tmp_path: Path, run: Run, program: Callable[[str], str]
) -> None:
    """What looks like an option, or like a shell, is text on standard input."""
    owned = tmp_path / "owned"
    hostile = f"; touch {owned} $(touch {owned}) --summariser command:touch "
    messages = [{"role": role, "content": hostile * 100} for _ in range(30) for role in ("user", "assistant")]
    body = tmp_path / "body.json"
    body.write_text(json.dumps(messages), "utf-8")
    script = f"import sys; open({str(tmp_path / 'seen')!r}, 'w').write(repr(sys.argv[1:])); sys.stdin.read(); print({GOOD!r})"
    status, *_ = run("--summariser", f"command:{program(script)}", "--dialect", "anthropic", file=body, window="16k")

    assert status in (0, 1)
    assert (tmp_path / "seen").read_text("utf-8") == "[]"
    assert not owned.exists()


# --- Digests ---------------------------------------------------------------------------------------------------------


def test_ladder_collapses_old_turns_to_digests(run: Run) -> None:
    """Made once, by whoever summarises; what was paid for and not used is named, as text and as JSON (law L24)."""
    status, out, _ = run("--policy", "ladder", window="48k")
    digests = json.loads(run("--policy", "ladder", "--format", "json", window="48k")[1])["digests"]

    assert status == 0
    assert digests == {"made": [0, 18, 43, 65, 74, 80, 99, 109], "unused": [109], "failed": {}, "requests": 8}
    assert "8 digests made in 8 requests, 7 used" in out
    assert "paid for and not used: of the turns that begin with message 109" in out
    assert "99,094 tokens read in 8 requests" in out  # nobody was asked for a summary besides


def test_ladder_clears_first_and_then_collapses(run: Run, tmp_path: Path) -> None:
    """With a store; the summary is not needed."""
    status, out, _ = run("--policy", "ladder", "--store", tmp_path / "store", "--format", "json", window="48k")
    said = json.loads(out)

    assert status == 0
    assert {part["rung"] for part in said["report"]["dropped"]} == {"clear", "collapse"}
    assert (said["report"]["asked"], said["digests"]["unused"]) == ([], [109])


def test_digests_that_could_not_be_made_are_told(run: Run, program: Callable[[str], str]) -> None:
    """And their turns are summarised instead, or the conversation stays as it was (law L6)."""
    failing = program("import sys\nsys.exit('no more today')")
    status, out, _ = run("--policy", "ladder", "--summariser", f"command:{failing}", "--format", "json")
    digests = json.loads(out)["digests"]

    assert status == 1
    assert (digests["made"], digests["unused"], list(digests["failed"])) == (
        [],
        [],
        ["0", "18", "43", "65", "74", "80", "99", "109"],
    )
    out = run("--policy", "ladder", "--summariser", f"command:{failing}")[1]
    assert "none of the turn that begins with message 18: " in out


@pytest.mark.parametrize(("options", "window"), [("--store {}", "200k"), ("", "1500")])
def test_no_digest_is_paid_for_that_could_not_be_used(options: str, window: str, run: Run, tmp_path: Path) -> None:
    """Where clearing is enough, and where nothing can be done, nobody is asked."""
    arguments = ("--policy", "ladder", *options.format(tmp_path / "store").split())
    status, out, _ = run(*arguments, "--format", "json", window=window)

    assert json.loads(out)["digests"] == {"made": [], "unused": [], "failed": {}, "requests": 0}
    assert ("none made: clearing is enough" in run(*arguments, window=window)[1]) == (status == 0)


def test_other_policies_ask_for_no_digest(run: Run) -> None:
    """They cost."""
    assert json.loads(run("--format", "json")[1])["digests"] is None
    assert "digest" not in run()[1].partition("## Goal")[0]


def test_explain_shows_what_digests_were_made_of(capsys: pytest.CaptureFixture[str]) -> None:
    """The account is the one of ``compact``, and what was shown for them can be read."""
    assert main(["explain", FILE, "--window", "48k", "--policy", "ladder", "--shown"]) == 0
    said = capsys.readouterr().out

    assert "which old turns have digests  [L6, L24]\n   8 digests made in 8 requests, 7 used\n" in said
    assert said.count("\n--- shown for a digest, part ") == 8
    assert "\n--- shown, part " not in said
    assert "what stands for what went" in said
