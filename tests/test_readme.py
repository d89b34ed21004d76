"""The README keeps its promises."""

from __future__ import annotations

import doctest
import os
import re
import shlex
from collections.abc import Collection
from pathlib import Path
from typing import Any, Final

import pytest

import compactlib
from compactlib.cli import main, vendor

ROOT: Final = Path(__file__).parent.parent

README: Final = (ROOT / "README.md").read_text("utf-8")


def fences(language: str) -> list[str]:
    """The code of one language, block by block."""
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


PAGES: Final = tuple(
    page for page in (ROOT / "README.md", *sorted((ROOT / "spec").glob("*.md"))) if ">>> " in page.read_text("utf-8")
)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_of_a_page_are_true(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a checkout, and as `python -m doctest` reads a page, which knows no fences."""
    monkeypatch.chdir(ROOT)
    example = doctest.DocTestParser().get_doctest(page.read_text("utf-8"), {}, page.name, page.name, 0)
    said: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.FAIL_FAST).run(example, out=said.append)

    assert "".join(said) == ""
    assert len(example.examples) >= 8


def test_first_example_fits_a_screen() -> None:
    """Twelve lines of input and output, or a few more, and it stands above the fold."""
    code = fences("python")[0]

    assert len(code.splitlines()) <= 15
    assert README[: README.index("```python")].count("\n") < 8


def looped(refused: Collection[int]) -> tuple[list[int], dict[str, Any]]:
    """
    The loop of the README, where the provider says of some requests that they are too long, by their numbers.

    Returns how many messages each request had, and what the names stand for in the end.
    """
    names: dict[str, Any] = {}
    lengths: list[int] = []

    def client(body: Any, betas: set[str]) -> Any:
        lengths.append(len(body["messages"]))
        if len(lengths) in refused:
            raise compactlib.PromptTooLongError("prompt is too long")
        return names["answer"](body, betas)

    for example in doctest.DocTestParser().get_examples("\n".join(fences("python")[:2])):
        exec(compile(example.source, "README.md", "single"), names)  # noqa: S102 - the project's own page
        if example.source.startswith("def send"):
            names.update(answer=names["send"], send=client)
    return lengths, names


class TestLoop:
    """What a reader copies out of the README holds in a session that does not go smoothly."""

    @pytest.fixture(autouse=True)
    def _at_home(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(ROOT)

    def test_what_was_cleared_is_fetched(self) -> None:
        """By the reference in its stub, at the end of the session, and by no other."""
        _, names = looped(())
        stubs = re.findall(r"\[cleared v1: [^\]]*ref=([0-9a-f]{64})", str(names["body"]))

        assert len(stubs) > 40
        assert set(stubs) == set(names["issued"])
        assert all("incomplete type" in names["run"]("recall", {"ref": ref}) for ref in stubs)
        assert "no such reference" in names["run"]("recall", {"ref": "5f" * 32})

    def test_a_refusal_makes_the_next_try_shorter(self) -> None:
        """And the session goes on to its end, legal all the while."""
        refused = {30, 50}
        lengths, names = looped(refused)
        conversation = compactlib.parse(names["body"], dialect="anthropic")

        assert len(lengths) == 61 + len(refused)
        assert all(lengths[number] < lengths[number - 1] for number in refused)
        assert conversation.messages[-1].text == "All read."
        assert {found.level for found in compactlib.check(conversation, mode="history")} <= {"info"}

    def test_a_second_refusal_is_the_callers(self) -> None:
        """It is not tried for ever."""
        with pytest.raises(compactlib.PromptTooLongError):
            looped((30, 31))


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
