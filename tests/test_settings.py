"""Which rules are asked about: the command line, and what a project says."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactlib.cli import main
from compactlib.cli.selection import Selection
from compactlib.protocol.rules import RULES

ROOT: Final = Path(__file__).parent.parent

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command line and gives back status, output and errors."""

    def run_command(*arguments: str | Path) -> tuple[int, str, str]:
        status = main([str(argument) for argument in arguments])
        said = capsys.readouterr()
        return status, said.out, said.err

    return run_command


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A request with an open call (A-PAIR-01) and a blank text (A-EMPTY-02, a warning)."""
    path = tmp_path / "logs" / "one.json"
    path.parent.mkdir()
    call = {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "ls", "input": {}}]}
    blank = {"role": "user", "content": [{"type": "text", "text": " "}, {"type": "text", "text": "x"}]}
    path.write_text(json.dumps([blank, call, blank]), "utf-8")
    return path


def rules(run: Run, *arguments: str | Path) -> set[str]:
    """The rules that a check found broken, but for what is only worth knowing."""
    said = json.loads(run("check", *arguments, "--format", "json")[1])
    return {one["rule"] for one in said["violations"] if one["level"] != "info"}


def project(file: Path, text: str) -> None:
    (file.parent.parent / "pyproject.toml").write_text(text, "utf-8")


def test_rules_are_selected_and_ignored_by_prefix(file: Path, run: Run) -> None:
    """As ids or whole parts of them, in any case, several at once; the verdict is about what was asked."""
    assert rules(run, file) == {"A-PAIR-01", "A-EMPTY-02"}
    assert rules(run, file, "--select", "a-pair") == {"A-PAIR-01"}
    assert rules(run, file, "--select", "A", "--ignore", "A-PAIR-01,A-END") == {"A-EMPTY-02"}
    assert rules(run, file, "--select", "A-PAIR", "--select", "A-EMPTY") == {"A-PAIR-01", "A-EMPTY-02"}
    assert run("check", file, "--ignore", "A-PAIR")[0] == 0
    assert run("check", file, "--ignore", "A-PAIR", "--strict")[0] == 1
    assert run("check", file, "--select", "O")[0] == 0


@given(st.sampled_from(sorted(RULES)), st.integers(0, 3), st.integers(0, 3))
def test_the_longer_prefix_decides(rule_id: str, chosen: int, ignored: int) -> None:
    """Of two that are equal, the one that ignores; a rule that nothing selects is not asked about."""
    parts = rule_id.split("-")
    select, ignore = ("-".join(parts[:size]) or "ALL" for size in (chosen, ignored))

    assert Selection((select,), (ignore,)).covers(rule_id) == (min(chosen, len(parts)) > min(ignored, len(parts)))
    assert not Selection(("A-CACHE-01",), ()).covers("O-PAIR-01")


@pytest.mark.parametrize("name", ["A-PAIR-99", "A-PAI", "PAIR", "A-", "B?", "\x1b[2J"])
@pytest.mark.parametrize("option", ["--select", "--ignore"])
def test_an_unknown_rule_is_an_error_that_names_it(option: str, name: str, file: Path, run: Run) -> None:
    """Status 2, one line, nothing printed; a silent typo would switch a check off."""
    status, out, err = run("check", file, option, name)

    assert (status, out, err.count("\n")) == (2, "", 1)
    assert f"compactlib: {option}: no rule is called " in err
    assert "\x1b" not in err


def test_a_project_chooses(file: Path, run: Run) -> None:
    """From the nearest project file upwards that has the table; the command line wins, option by option."""
    project(file, '[tool.compactlib]\nselect = ["A"]\nignore = ["A-PAIR"]\n')

    assert rules(run, file) == {"A-EMPTY-02"}
    assert rules(run, file, "--ignore", "A-EMPTY") == {"A-PAIR-01"}
    assert rules(run, file, "--select", "A-PAIR") == {"A-PAIR-01"}
    nearer = file.parent / "pyproject.toml"
    nearer.write_text("[tool.other]\nselect = 1\n", "utf-8")
    assert rules(run, file) == {"A-EMPTY-02"}
    nearer.write_text("[tool.compactlib]\n", "utf-8")
    assert rules(run, file) == {"A-PAIR-01", "A-EMPTY-02"}


@pytest.mark.parametrize("pattern", ["logs/*.json", "one.json", "*.json", "logs/one.json"])
def test_a_project_ignores_by_file(pattern: str, file: Path, run: Run) -> None:
    """By the path from the project file, or by the name; other files are not touched."""
    project(file, f'[tool.compactlib.per-file-ignores]\n"{pattern}" = ["A-PAIR"]\n')
    other = file.parent.parent / "other.jsonl"
    other.write_text(file.read_text("utf-8"), "utf-8")

    assert rules(run, file) == {"A-EMPTY-02"}
    assert rules(run, other) == {"A-PAIR-01", "A-EMPTY-02"}


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('[tool.compactlib]\nselct = ["A"]', "tool.compactlib.selct: is no option"),
        ('[tool.compactlib]\ncommand = "rm -rf /"', "tool.compactlib.command: is no option"),
        ('[tool.compactlib]\nsummarise = "x"', "tool.compactlib.summarise: is no option"),
        ('[tool.compactlib]\nselect = "A"', "tool.compactlib.select: is no list of rules"),
        ("[tool.compactlib]\nignore = [1]", "tool.compactlib.ignore: is no list of rules"),
        ('[tool.compactlib]\nignore = ["A-PAIR-99"]', "tool.compactlib.ignore: no rule is called A-PAIR-99"),
        ("[tool]\ncompactlib = 3", "tool.compactlib: is no table"),
        ("[tool.compactlib]\nper-file-ignores = 3", "tool.compactlib.per-file-ignores: is no table"),
        ('[tool.compactlib.per-file-ignores]\n"*" = "A"', "tool.compactlib.per-file-ignores.*: is no list of rules"),
        ("[tool.compactlib", "is no TOML"),
        ("#" * (1 << 20) + "#", "is larger than"),
    ],
)
def test_what_a_project_cannot_ask_for_is_named(text: str, named: str, file: Path, run: Run) -> None:
    """Status 2, and the file and the key in one line."""
    project(file, text)
    status, out, err = run("check", file)

    assert (status, out, err.count("\n")) == (2, "", 1)
    assert named in err
    assert "pyproject.toml" in err


def test_standard_input_and_examples(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Standard input belongs to the directory one is in; an example belongs to no project."""
    (tmp_path / "pyproject.toml").write_text("[tool.compactlib]\nnonsense = 1\n", "utf-8")
    monkeypatch.chdir(tmp_path)

    assert run("check", "example:migration")[0] == 0
    status, _, err = run("check", "-")
    assert (status, "nonsense" in err) == (2, True)


def test_the_hook_runs(file: Path, run: Run) -> None:
    """The entry of the definition for pre-commit is a command that there is, and takes files."""
    lines = (ROOT / ".pre-commit-hooks.yaml").read_text("utf-8").splitlines()
    hook = {key.strip(" -"): value.strip() for key, _, value in (line.partition(":") for line in lines)}
    name, *arguments = shlex.split(hook["entry"])

    assert (name, hook["id"], hook["language"]) == ("compactlib", "compactlib-check", "python")
    assert run(*arguments, file)[0] == 1
    assert run(*arguments, ROOT / "spec" / "examples" / "migration.jsonl")[0] == 0
    other = file.with_name("package.json")
    other.write_text('{"name": "x", "version": "1"}', "utf-8")
    status, out, err = run(*arguments, other)
    assert (status, out, err) == (0, "nothing was checked\n", f"{other}: no conversation that is known; passed over\n")
    assert run("check", other)[0] == 2
    other.write_text('{"messages": [3]}', "utf-8")
    assert run(*arguments, other)[0] == 2
    assert hook["files"] == r"\.jsonl?$"
