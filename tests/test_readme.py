"""The README keeps its promises."""

from __future__ import annotations

import doctest
import os
import re
import shlex
from pathlib import Path
from typing import Final

import pytest

import compactlib
from compactlib.cli import main, vendor

ROOT: Final = Path(__file__).parent.parent

README: Final = (ROOT / "README.md").read_text("utf-8")


def fences(language: str) -> list[str]:
    """The code of one language, block by block."""
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def test_example_is_true(monkeypatch: pytest.MonkeyPatch) -> None:
    """The example runs in a checkout and gives what stands there."""
    monkeypatch.chdir(ROOT)
    [code] = fences("python")
    example = doctest.DocTestParser().get_doctest(code, {}, "README", "README.md", 0)
    said: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.FAIL_FAST).run(example, out=said.append)

    assert "".join(said) == ""
    assert len(example.examples) >= 8


def test_example_fits_a_screen() -> None:
    """Twelve lines of input and output, or a few more, and it stands above the fold."""
    [code] = fences("python")

    assert len(code.splitlines()) <= 15
    assert README[: README.index("```python")].count("\n") < 8


def test_first_command_does_the_main_job(capsys: pytest.CaptureFixture[str]) -> None:
    """The first command of the README compacts, with nothing but what is installed, and the decisive line is still there."""
    install, command = fences("console")[0].split(" && ")
    name, *arguments = shlex.split(command)

    assert shlex.split(install) == ["pip", "install", ".[cli]"]
    assert name == "compactlib"
    assert main([*arguments, "--show"]) == 0
    assert "checksum=9f3a61c07be2d845" in capsys.readouterr().out


def test_ci_runs_the_test_command_of_the_readme() -> None:
    """Letter for letter, and `.ci/run` can be run."""
    command = fences("console")[1].strip().split(" && ")[-1]
    script = ROOT / ".ci" / "run"

    assert f"\ncheck {command}\n" in script.read_text("utf-8")
    assert os.access(script, os.X_OK)


def test_map_names_every_module() -> None:
    """Each module and package of the library is in the map, and nothing else."""
    rows = re.findall(r"^\| (`.*?) \|", README, re.MULTILINE)
    mapped = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    package = Path(compactlib.__file__).parent
    modules = {path.stem for path in package.glob("*.py")} | {path.parent.name for path in package.glob("*/__init__.py")}

    assert sorted(mapped) == sorted(modules - {"__init__"})
    assert set(mapped[-5:]) == modules & set(vendor.WINGS)


def test_links_lead_somewhere() -> None:
    """Every relative link is to a file of the project."""
    links = re.findall(r"\]\(([^)]+)\)", README)

    assert [link for link in links if not (ROOT / link).exists()] == []
    assert "shields.io" not in README


def test_commands_are_those_there_are() -> None:
    """The README names every command."""
    from compactlib.cli.commands import group

    assert {name for name in group.commands if f"`{name}" not in README and f"compactlib {name}" not in README} == set()
