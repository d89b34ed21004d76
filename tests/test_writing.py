"""What ``--out`` may replace, what becomes of it, and what an error of it names."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from compactlib.cli import main
from compactlib.cli.writing import write_aside

BODY: Final = json.dumps([{"role": "user", "content": "hi"}, {"role": "assistant", "content": [{"type": "text", "text": "ho"}]}])

REPAIR: Final = ("repair", "--dialect", "anthropic")

COMMAND: Final = (sys.executable, "-m", "compactlib", *REPAIR)


@pytest.fixture
def body(tmp_path: Path) -> Path:
    """A list of messages in a file, alone in its directory."""
    path = tmp_path / "in" / "body.json"
    path.parent.mkdir()
    path.write_text(BODY, "utf-8")
    return path


@pytest.mark.parametrize("kind", ["fifo", "link to a fifo", "device", "link to a device", "directory", "loop"])
def test_what_is_no_ordinary_file_is_refused(kind: str, body: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Status 2 with its name, before anything is done; it is there as it was, and nothing is beside it."""
    out = tmp_path / "out"
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    if kind == "fifo":
        out = fifo
    elif kind == "device":
        out = Path(os.devnull)
    elif kind == "directory":
        out.mkdir()
    else:
        out.symlink_to({"link to a fifo": fifo, "link to a device": Path(os.devnull), "loop": out}[kind])
    before = out.lstat().st_ino

    assert main([*REPAIR, str(body), "--out", str(out)]) == 2
    assert str(out) in capsys.readouterr().err
    assert out.lstat().st_ino == before
    assert {path.name for path in tmp_path.iterdir()} <= {"in", "fifo", "out"}


@pytest.mark.parametrize("there", [True, False])
def test_link_stays_and_its_target_is_written(there: bool, body: Path, tmp_path: Path) -> None:
    """Also one that led nowhere; nothing is left beside either."""
    other = tmp_path / "other"
    other.mkdir()
    target, link = other / "target.json", tmp_path / "link.json"
    if there:
        target.write_text("old", "utf-8")
    link.symlink_to(target)

    assert main([*REPAIR, str(body), "--out", str(link)]) == 0
    assert link.is_symlink()
    assert json.loads(target.read_text("utf-8")) == json.loads(BODY)
    assert [path.name for path in other.iterdir()] == ["target.json"]


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o755])
def test_replaced_file_keeps_its_mode(mode: int, tmp_path: Path) -> None:
    """What only its owner could read stays so."""
    out = tmp_path / "out.json"
    out.write_text("old", "utf-8")
    out.chmod(mode)
    write_aside(out, "new")

    assert (stat.S_IMODE(out.stat().st_mode), out.read_text("utf-8")) == (mode, "new\n")


def test_new_file_follows_the_umask(tmp_path: Path) -> None:
    """As if a shell had made it."""
    before = os.umask(0o027)
    try:
        write_aside(tmp_path / "out.json", b"new")
    finally:
        os.umask(before)

    assert stat.S_IMODE((tmp_path / "out.json").stat().st_mode) == 0o640


@pytest.mark.parametrize("name", ["", "-", "a\0b"])
@pytest.mark.parametrize("command", [REPAIR, ("convert", "--to", "gemini"), ("compact", "--window", "16k")])
def test_name_that_names_nothing_is_wrong_usage(
    name: str, command: tuple[str, ...], body: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The option is named, and nothing is written where one is."""
    monkeypatch.chdir(body.parent)

    assert main([*command, "body.json", "--out", name]) == 2
    assert "--out" in capsys.readouterr().err
    assert [path.name for path in body.parent.iterdir()] == ["body.json"]


@pytest.mark.parametrize(
    "arguments", [("compact", "body.json", "--window", "16k", "--store", ""), ("vendor", "", "--as", "core")]
)
def test_empty_directory_is_not_the_one_one_is_in(
    arguments: tuple[str, ...], body: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An unset variable of a script writes nothing anywhere."""
    monkeypatch.chdir(body.parent)

    assert main(list(arguments)) == 2
    assert "the name is empty" in capsys.readouterr().err
    assert [path.name for path in body.parent.iterdir()] == ["body.json"]


def test_longest_name_is_written(tmp_path: Path) -> None:
    """The name aside is short, so that the name itself may be as long as any."""
    out = tmp_path / ("n" * 255)
    write_aside(out, "new")

    assert [path.name for path in tmp_path.iterdir()] == [out.name]


@pytest.mark.parametrize("name", ["n" * 256, "no/such/place.json", "in/body.json/x"])
def test_error_names_the_file_that_was_asked_for(
    name: str, body: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And no name that nobody has given."""
    out = tmp_path / name

    assert main([*REPAIR, str(body), "--out", str(out)]) == 2
    assert capsys.readouterr().err.startswith(f"compactlib: {out}: ")


def test_input_that_is_redirected_is_not_written_over(body: Path) -> None:
    """``repair - --out f < f``: status 2, and the file is as it was."""
    with body.open("rb") as given:
        done = subprocess.run([*COMMAND, "-", "--out", str(body)], stdin=given, capture_output=True, text=True)

    assert (done.returncode, "--out is the input itself" in done.stderr) == (2, True)
    assert body.read_text("utf-8") == BODY


def test_output_that_is_redirected_is_not_replaced(body: Path, tmp_path: Path) -> None:
    """``repair FILE --out f > f`` would lose what is printed."""
    out = tmp_path / "out"
    with out.open("wb") as given:
        done = subprocess.run([*COMMAND, str(body), "--out", str(out)], stdout=given, stderr=subprocess.PIPE, text=True)

    assert (done.returncode, "--out is standard output itself" in done.stderr) == (2, True)


def test_name_of_an_example_is_not_written_to(body: Path) -> None:
    """No command could read it again by that name."""
    done = subprocess.run([*COMMAND, str(body), "--out", "example:mine"], capture_output=True, text=True)

    assert (done.returncode, "./example:mine is a file" in done.stderr) == (2, True)
    assert not Path("example:mine").exists()


# -- the streams -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("rules >&-", "standard output is closed"),
        ("check example:migration --format json >&-", "standard output is closed"),
        ("check - <&-", "<stdin>: is closed; there is nothing to be read"),
        ("rules --error - <&-", "<stdin>: is closed; there is nothing to be read"),
        ("truncate --limit-chars 99 <&-", "<stdin>: is closed; there is nothing to be read"),
        ("check - 0>/dev/null", "<stdin>: cannot be read: Bad file descriptor"),
        ("rules >/dev/full", "standard output cannot be written: No space left on device"),
        ("rules >/dev/full --error 'prompt is too long: 3 tokens > 2 maximum'", "standard output cannot be written"),
    ],
)
def test_stream_that_is_not_there_is_one_line(command: str, said: str) -> None:
    """Status 2, no traceback, and no talk of a defect."""
    done = subprocess.run(["bash", "-c", f"{sys.executable} -m compactlib {command}"], capture_output=True, text=True)

    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith("compactlib: ")
    assert said in done.stderr


@pytest.mark.parametrize("where", [">&- 2>&-", "2>&-", "2>/dev/full"])
def test_nobody_to_be_told_is_no_traceback(where: str) -> None:
    """With standard error closed or full the status still says it."""
    done = subprocess.run(["bash", "-c", f"{sys.executable} -m compactlib check nowhere.json {where}"], capture_output=True)

    assert (done.returncode, done.stdout, done.stderr) == (2, b"", b"")
