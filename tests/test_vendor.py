"""The core, copied under another name: works alone, and says whether it was changed or is out of date."""

from __future__ import annotations

import ast
import hashlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

import compactlib
from compactlib.cli import main, vendor
from compactlib.cli.licence import LICENCE

ROOT: Final = Path(__file__).parent.parent

BLOCKED: Final = ("cattrs", "click", "compactlib", "hypothesis", "regex", "rich")

TRIAL: Final = """
import sys

before = {{name.split(".")[0] for name in sys.modules}}
for name in {blocked}:
    sys.modules[name] = None  # an import of it raises ImportError

import agent_core as cl

messages = []
for turn in range(20):
    messages.append({{"role": "user", "content": f"step {{turn}}: migrate table t{{turn}} to uuid keys"}})
    call = {{"type": "tool_use", "id": f"c{{turn}}", "name": "bash", "input": {{"command": f"migrate t{{turn}}"}}}}
    messages.append({{"role": "assistant", "content": [call]}})
    result = {{"type": "tool_result", "tool_use_id": f"c{{turn}}", "content": "row copied\\n" * 400 + f"t{{turn}}: 400 rows"}}
    messages.append({{"role": "user", "content": [result]}})
    messages.append({{"role": "assistant", "content": f"Table t{{turn}} is done."}})
messages.append({{"role": "user", "content": "And the tests?"}})
conversation = cl.parse({{"model": "m", "messages": messages}}, dialect="anthropic")
assert cl.check(conversation) == ()
outcome = cl.compact(conversation, cl.Policy(window_tokens=16_000), when="now")
assert isinstance(outcome, cl.Compacted), outcome
assert outcome.after_tokens < outcome.before_tokens
assert cl.check(outcome.conversation) == ()
assert cl.render(outcome.conversation)["messages"][-1] == messages[-1]
assert cl.truncate("long\\n" * 1000, limit_chars=500).truncated
print(*sorted({{name.split(".")[0] for name, module in sys.modules.items() if module}} - before - set(sys.stdlib_module_names)))
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the core as the package ``agent_core``."""
    return vendor.copy_core(tmp_path_factory.mktemp("agent") / "lib", name="agent_core")


def test_copy_compacts_without_anything_but_attrs(copy: Path) -> None:
    """In a fresh interpreter, with all else blocked and the original as well, the copy does the main job."""
    code = TRIAL.format(blocked=BLOCKED)
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], cwd=copy.parent, capture_output=True, text=True)

    assert done.stderr == ""
    assert set(done.stdout.split()) == {"agent_core", "attr", "attrs"}


def test_copy_names_what_is_there_and_nothing_else(copy: Path) -> None:
    """``from copy import *`` takes every public name that does not live in a wing, and what does is told apart from a slip."""
    there = sorted(name for name, home in compactlib._HOMES.items() if home.split(".")[0] not in vendor.WINGS)
    code = (
        "import agent_core; from agent_core import *; names = sorted(set(dir()) & set(agent_core._HOMES))\n"
        "assert dir(agent_core) == sorted([*agent_core.__all__, '__version__'])\n"
        "try: agent_core.load\n"
        "except AttributeError as error: assert 'lives in a wing' in str(error)\n"
        "print(*names)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=copy.parent, capture_output=True, text=True)

    assert done.stderr == ""
    assert done.stdout.split() == there
    assert set(compactlib.__all__) - set(there) == {"load"}


def imported(path: Path) -> Iterator[str]:
    """The top-level packages that a file imports, relative imports aside."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module.split(".")[0]


TYPED: Final = """
from collections.abc import Sequence

import agent_core as cl


class Agent:
    issued: dict[str, tuple[int, int]] = {}

    def __init__(self, store: cl.Store, summarise: cl.Summarise) -> None:
        self.store, self.summarise = store, summarise

    def shrink(self, messages: object, when: cl.When = "auto", pins: Sequence[cl.Pin] = ()) -> object:
        conversation, policy = cl.parse(messages, dialect="anthropic"), cl.Policy(window_tokens=200_000)
        outcome = cl.compact(
            conversation, policy, summarise=self.summarise, when=when, pins=pins, store=self.store, issued=self.issued
        )
        if isinstance(outcome, cl.Compacted):
            self.issued.update(outcome.issued)
            return cl.render(outcome.request)
        return messages


Agent(cl.MemoryStore(), lambda request: request.text)
Agent(cl.MemoryStore(), lambda request: 5)
cl.compactt
store: cl.Storee
"""


def test_copy_is_typed(copy: Path) -> None:
    """A strict type checker finds nothing in the copy nor in an agent that uses it, and everything that is wrong in that."""
    pytest.importorskip("mypy", reason="mypy is not installed")
    (copy.parent / "agent.py").write_text(TYPED, "utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "agent.py", "agent_core"]
    done = subprocess.run(command, cwd=copy.parent, capture_output=True, text=True)
    found = [line.split(": error: ")[0] for line in done.stdout.splitlines() if ": error: " in line]
    wrong = [number for number, line in enumerate(TYPED.splitlines(), 1) if line.endswith(("5)", "compactt", "Storee"))]

    assert list(dict.fromkeys(found)) == [f"agent.py:{number}" for number in wrong]


def test_copy_imports_nothing_but_attrs_and_the_standard_library(copy: Path) -> None:
    """By its own text: no import names anything else, nor the library it was copied from."""
    strangers = {name for path in copy.rglob("*.py") for name in imported(path)} - sys.stdlib_module_names

    assert strangers == {"attrs"}


def test_copy_asks_for_regex_by_name_at_most(copy: Path) -> None:
    """`text` alone asks for regex, and does without it."""
    asking = {path.name for path in copy.rglob("*.py") if 'import_module("regex")' in path.read_text("utf-8")}

    assert asking <= {"text.py"}


def test_copy_has_dialects_and_no_wings(copy: Path) -> None:
    """What is in it: the core, byte for byte."""
    rooms = {path.relative_to(copy).parts[0] for path in copy.rglob("*.py")}

    assert rooms & set(vendor.WINGS) == set()
    assert {"dialects", "protocol", "summaries", "compaction.py", "driving.py"} <= rooms
    assert (copy / "py.typed").is_file()
    for path in copy.rglob("*.py"):
        assert path.read_bytes() == (Path(compactlib.__file__).parent / path.relative_to(copy)).read_bytes()


def test_wings_are_what_is_not_vendored() -> None:
    """Every package of the library is a wing or in the copy."""
    packages = {path.parent.name for path in Path(compactlib.__file__).parent.glob("*/__init__.py")}
    vendored = {Path(name).parts[0] for name in vendor.core_files()}

    assert packages - set(vendor.WINGS) - vendored == set()


def test_licence_is_that_of_the_project(copy: Path) -> None:
    """The text in the package is the file's, so an installed package has it as well."""
    assert (ROOT / "LICENSE").read_text("utf-8") == LICENCE
    assert (copy / "LICENSE").read_text("utf-8") == LICENCE


def test_manifest_names_every_file(copy: Path) -> None:
    """Version and a digest of each file but its own."""
    manifest = json.loads((copy / vendor.MANIFEST).read_text("utf-8"))
    there = {path.relative_to(copy).as_posix() for path in copy.rglob("*") if path.is_file() and "__pycache__" not in path.parts}

    assert manifest["version"] == compactlib.__version__
    assert set(manifest["files"]) == there - {vendor.MANIFEST}
    assert {len(digest) for digest in manifest["files"].values()} == {64}


def test_installed_package_makes_the_same_copy(tmp_path: Path) -> None:
    """Laid out as in a wheel, without the checkout around it, the package copies itself with licence and digests."""
    site = tmp_path / "site-packages"
    package = Path(compactlib.__file__).parent
    for path in package.rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            target = site / "compactlib" / path.relative_to(package)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
    code = f"import sys; sys.path.insert(0, {str(site)!r}); from compactlib.cli import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", code, "vendor", str(tmp_path / "lib"), "--as", "core"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)

    assert (done.stderr, done.returncode) == ("", 0)
    assert (tmp_path / "lib" / "core" / "LICENSE").read_text("utf-8") == LICENCE
    copy = vendor.examine(tmp_path / "lib" / "core")
    assert (copy.is_untouched, copy.outdated) == (True, ())


# -- what became of a copy ---------------------------------------------------------------------------------------------


@pytest.fixture
def fresh(tmp_path: Path) -> Path:
    """A copy that a test may spoil."""
    return vendor.copy_core(tmp_path, name="core")


def test_untouched_copy_passes(fresh: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Status 0, whether the copy is named or the directory that holds it."""
    assert main(["vendor", "--check", str(fresh)]) == 0
    assert main(["vendor", "--check", str(fresh.parent)]) == 0
    assert main(["vendor", "--check", str(fresh.parent), "--as", "core"]) == 0
    assert "untouched and up to date" in capsys.readouterr().out


def test_bytecode_is_no_change(fresh: Path) -> None:
    """What Python writes beside the files does not count."""
    (fresh / "__pycache__").mkdir()
    (fresh / "__pycache__" / "cuts.cpython-311.pyc").write_bytes(b"")

    assert vendor.examine(fresh).is_untouched


def test_changed_copy_is_named_file_by_file(fresh: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Status 1, and what was changed, removed and added."""
    (fresh / "cuts.py").write_text("# patched\n", "utf-8")
    (fresh / "budget.py").unlink()
    (fresh / "own.py").write_text("", "utf-8")

    assert main(["vendor", "--check", str(fresh)]) == 1
    out = capsys.readouterr().out
    assert "changed by hand  cuts.py" in out
    assert "missing  budget.py" in out
    assert "added  own.py" in out


def outdate(copy: Path) -> None:
    """Make a copy look as if an older version had written it."""
    older = b"# as it was\n"
    (copy / "cuts.py").write_bytes(older)
    manifest = json.loads((copy / vendor.MANIFEST).read_text("utf-8"))
    manifest["version"] = "0.0.1"
    manifest["files"]["cuts.py"] = hashlib.sha256(older).hexdigest()
    (copy / vendor.MANIFEST).write_text(json.dumps(manifest), "utf-8")


def test_outdated_copy_is_told_from_a_changed_one(fresh: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An older copy that nobody touched: status 1, both versions, and no word of a change."""
    outdate(fresh)

    assert main(["vendor", "--check", str(fresh)]) == 1
    out = capsys.readouterr().out
    assert "made from compactlib 0.0.1" in out
    assert "out of date" in out
    assert "changed" not in out


def test_outdated_copy_is_replaced(fresh: Path) -> None:
    """The same command brings it up to date and leaves nothing beside it."""
    outdate(fresh)

    assert main(["vendor", str(fresh.parent), "--as", "core"]) == 0
    assert vendor.examine(fresh).outdated == ()
    assert [path.name for path in fresh.parent.iterdir()] == ["core"]


def test_changed_copy_is_left_alone(fresh: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Somebody's change is not written over: status 2, and the file is named."""
    (fresh / "cuts.py").write_text("# patched\n", "utf-8")

    assert main(["vendor", str(fresh.parent), "--as", "core"]) == 2
    assert "cuts.py" in capsys.readouterr().err
    assert (fresh / "cuts.py").read_text("utf-8") == "# patched\n"


def test_foreign_directory_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A directory, a file or a link that this command did not make stays as it is."""
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "precious.py").write_text("x = 1\n", "utf-8")
    (tmp_path / "file").write_text("text", "utf-8")
    (tmp_path / "link").symlink_to(tmp_path / "theirs")

    for name in ("theirs", "file", "link"):
        assert main(["vendor", str(tmp_path), "--as", name]) == 2
        assert "left alone" in capsys.readouterr().err
    assert (tmp_path / "theirs" / "precious.py").read_text("utf-8") == "x = 1\n"


@pytest.mark.parametrize("name", ["", "../escape", "a.b", "class", "9lives", "a-b"])
def test_name_that_is_no_package_is_refused(tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Status 2, and nothing is written."""
    assert main(["vendor", str(tmp_path), "--as", name]) == 2
    assert "cannot be the name of a package" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["", "[]", '{"version": "1"}', '{"files": {}}', '{"version": 1, "files": {}}', "{" * 5000])
def test_broken_manifest_is_one_line(fresh: Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A manifest that is none: status 2, one line, no traceback."""
    (fresh / vendor.MANIFEST).write_text(text, "utf-8")

    assert main(["vendor", "--check", str(fresh)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_no_copy_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A directory without a copy in it is status 2, for it cannot be checked."""
    assert main(["vendor", "--check", str(tmp_path)]) == 2
    assert "no copy" in capsys.readouterr().err


def test_json_says_the_same(fresh: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``--format json`` lists the copies with all that was found."""
    (fresh / "cuts.py").write_text("", "utf-8")

    assert main(["vendor", "--check", str(fresh), "--format", "json"]) == 1
    [found] = json.loads(capsys.readouterr().out)
    assert (found["changed"], found["missing"], found["added"], found["outdated"]) == (["cuts.py"], [], [], [])
