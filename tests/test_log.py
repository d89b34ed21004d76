"""The log: what was appended is there, what a crash left spoils itself alone, and nothing that stands in it changes."""

from __future__ import annotations

import fcntl
import json
import os
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import compactlib as cl
from compactlib import log as module
from compactlib.dialects import reading
from compactlib.errors import PolicyError, StoreError, WireError
from compactlib.log import Log, Logged

Run = Callable[..., tuple[int, str, str]]

ROOT: Final = Path(__file__).parents[1]


def records(log: Log) -> list[Any]:
    return list(log.read().records.values())


def lines(found: tuple[cl.LogError, ...]) -> list[int]:
    return [error.line for error in found]


@pytest.fixture(autouse=True, scope="module")
def _unsynced() -> Iterator[None]:
    """Thousands of records are not waited for: no power fails here."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(os, "fsync", lambda _: None)
        yield


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return Log(tmp_path / "session.jsonl")


# -- records and crashes -----------------------------------------------------------------------------------------------

JSON: Final = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
RECORDS: Final = st.dictionaries(st.text().filter(lambda key: key != "preceding"), JSON, max_size=4)


@given(st.lists(RECORDS, max_size=4))
@settings(max_examples=40)
def test_what_was_appended_is_read(given: list[Any]) -> None:
    """In order, one a line, the chain whole."""
    with tempfile.TemporaryDirectory() as folder:
        log = Log(Path(folder, "log"))
        for record in given:
            log.append(record)

        assert log.read() == Logged(dict(enumerate(given, 1)))


@given(st.lists(RECORDS | st.integers(1, 200), max_size=6))
@settings(max_examples=50)
def test_crashes_spoil_nothing_but_what_was_being_written(events: list[Any]) -> None:
    """A record is appended; a number stands for one whose writer died so many bytes before its end."""
    whole: list[Any] = []
    with tempfile.TemporaryDirectory() as folder:
        log = Log(Path(folder, "log"))
        log.path.touch()
        for event in events:
            before = log.path.read_bytes()
            if isinstance(event, dict):
                log.append(event)
                whole.append(event)
            else:
                log.append({"torn": "é" * 40})
                os.truncate(log.path, max(len(before), log.path.stat().st_size - event))
                whole += [{"torn": "é" * 40}] * (event == 1)  # the newline alone is missing
            assert log.path.read_bytes().startswith(before)
            assert records(log) == whole
        log.append({"last": True})

        assert records(log) == [*whole, {"last": True}]
        assert log.read().broken == ()


@given(st.lists(RECORDS | st.binary(max_size=30) | st.just(b'{"preceding":"' + b"0" * 64 + b'"'), max_size=6))
@settings(max_examples=50)
def test_what_others_write_spoils_nothing_that_was_whole(events: list[Any]) -> None:
    """Whatever bytes come in between, forged seals too: they are read past, and records appended later are records."""
    whole: list[Any] = []
    with tempfile.TemporaryDirectory() as folder:
        log = Log(Path(folder, "log"))
        for event in events:
            if isinstance(event, dict):
                log.append({"ours": event})
                whole.append({"ours": event})
            else:
                with log.path.open("ab") as file:
                    file.write(event)

        assert [record for record in records(log) if isinstance(record.get("ours"), dict)] == whole


@pytest.mark.parametrize("gap", [b"", b"\0" * 7], ids=["cut", "zeros"])
def test_power_may_fail_at_every_byte(tmp_path: Path, gap: bytes) -> None:
    """Of a small file every beginning, alone and followed by zeros as some disks leave them: all whole records, and the next."""
    log = Log(tmp_path / "whole")
    given: list[Any] = [{"id": 1}, {"id": 2, "t": "aé漢😀"}, {}, {"id": 4, "inner": {"a": [1, {}]}}]
    ends = [0]  # behind the last brace of each
    for record in given:
        log.append(record)
        ends.append(log.path.stat().st_size - 1)
    data = log.path.read_bytes()
    for size in range(len(data) + 1):
        torn = Log(tmp_path / "torn")
        torn.path.write_bytes(data[:size] + gap)
        done = sum(end <= size for end in ends[1:])
        is_torn = size not in ends and not data[:size].endswith(b"\n")
        is_spoilt = bool(gap) and size in ends[1:]  # zeros on the line of a whole record
        torn.append({"next": size})
        read = torn.read()

        assert torn.path.read_bytes().startswith(data[:size] + gap)
        assert list(read.records.values()) == [*given[: done - is_spoilt], {"next": size}]
        assert len(read.damaged) == (is_torn or bool(gap))
        assert read.broken == ()


def test_a_line_of_every_kind_that_is_no_record_is_named(log: Log) -> None:
    """With what is wrong; a line of blanks is none, and what other programs wrote is a record like any other."""
    bad = [
        b'{"id":1', b"\xff", b"[1]", b"7", b'"text"', b"null", b'{"a":NaN}', b'{"a":1,"a":2}', b'{"id":1}{"id":2}', b"\0\0",
        b'{"a":' + b"[" * 100_000, b'{"a":' + b"[" * 200 + b"]" * 200 + b"}", b'{"a":' + b"9" * 5_000 + b"}",
    ]  # fmt: skip
    log.path.write_bytes(b"\n".join([b'{"id":1}\r', b" \t\r", *bad, b'{"id": 2, "preceding": "mine"}']))
    log.append({"id": 3})
    read = log.read()

    assert lines(read.damaged) == list(range(3, 3 + len(bad)))
    assert all(str(error).startswith(f"line {error.line}: ") for error in read.damaged)
    assert list(read.records.values()) == [{"id": 1}, {"id": 2, "preceding": "mine"}, {"id": 3}]
    assert read.broken == ()


def test_a_long_line_is_one_damaged_line(tmp_path: Path) -> None:
    """However often it is longer than a line may be; one that just fits is read, and more is not appended."""
    log = Log(tmp_path / "log", line_bytes=256)
    fits = b'{"a":"' + b"x" * 248 + b'"}'
    inside = b"x" * 257 + b'{"preceding":"' + b"0" * 64 + b'"' + b"x" * 900  # what looks like a seal, where a piece begins
    log.path.write_bytes(b"\n".join([fits, inside, fits.replace(b"x", b"xx", 1), fits]))
    log.append({"b": "y" * 163})
    read = log.read()

    assert (lines(read.damaged), list(read.records)) == ([2, 3], [1, 4, 5])
    assert read.broken == ()
    with pytest.raises(StoreError, match="a record of 257 bytes is too long"):
        log.append({"b": "y" * 170})
    assert log.read().records == read.records


# -- the chain ---------------------------------------------------------------------------------------------------------


def test_every_change_breaks_the_next_seal(log: Log) -> None:
    """Of records, foreign lines, damaged lines; one of a seal breaks it as well.  The last line is sealed by nothing."""
    log.path.write_bytes(b'{"id":1}\n{"id":2,"t\n')
    for number in range(3, 6):
        log.append({"id": number})
    data = log.path.read_bytes()
    last = data[:-1].rindex(b"\n") + 1
    for place in range(last):
        log.path.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        line = data.count(b"\n", 0, place) + 1
        read = log.read()
        if data[place : place + 1] == b"\n":
            assert read.broken or lines(read.damaged) == [2, 4]  # two records on one line are none
        else:
            assert lines(read.broken) in ([max(3, line + 1)], [line, line + 1])
    log.path.write_bytes(data.replace(b'{"id":1}\n', b""))
    assert lines(log.read().broken) == [2]
    assert str(log.read().broken[0]) == "line 2: what precedes is not what preceded when it was written"


def test_lines_that_go_or_change_places_are_found(log: Log) -> None:
    for number in range(5):
        log.append({"id": number})
    first, second, *rest = log.path.read_bytes().splitlines(keepends=True)
    log.path.write_bytes(b"".join([first, *rest]))
    assert lines(log.read().broken) == [2]
    log.append({"id": 5})
    assert lines(log.read().broken) == [2]
    log.path.write_bytes(b"".join([second, first, *rest]))
    assert lines(log.read().broken) == [1, 2, 3]


def test_what_is_long_is_sealed_like_what_is_short(log: Log) -> None:
    """The last seal is found behind more than one block, at a block's edge too, and the beginning of the file without any."""
    for size in (1, 65_535 - 87, 65_536 - 87, 65_537 - 87, 140_000):
        log.append({"a": "x" * size})
        log.append({"a": 1})
        with log.path.open("ab") as file:
            file.write(b'{"foreign":1}\n' * (size // 40))
    assert log.read().broken == ()

    inner = len('{"preceding":"","pad":""}}\n') + 64
    log.append({"a": {"preceding": "f" * 64, "pad": "x" * (65_536 - inner)}})  # no seal, though a block begins with it
    log.append({})
    assert log.read().broken == ()

    foreign = Log(log.path.with_name("foreign"))
    foreign.path.write_bytes(b'{"foreign":1}\n' * 20_000)
    foreign.append({})
    assert foreign.read().broken == ()


# -- files -------------------------------------------------------------------------------------------------------------


def test_the_file_is_its_owners_alone(log: Log) -> None:
    """One that is made; one that is there keeps its mode."""
    log.append({})
    assert stat.S_IMODE(log.path.stat().st_mode) == 0o600
    log.path.chmod(0o640)
    log.append({})
    assert stat.S_IMODE(log.path.stat().st_mode) == 0o640


def test_nothing_but_an_ordinary_file_is_opened(tmp_path: Path) -> None:
    """A link, one that leads nowhere, a folder, a pipe, a device, a folder that is not there, a name that cannot be."""
    (tmp_path / "real").write_text("{}\n", "utf-8")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (tmp_path / "dangling").symlink_to(tmp_path / "nothing")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for name in ("link", "dangling", "folder", "pipe", "/dev/null", "absent/log", "a\0b"):
        with pytest.raises(StoreError):
            Log(tmp_path / name).append({})
        if name not in ("absent/log", "a\0b"):
            with pytest.raises(StoreError):
                Log(tmp_path / name).read()
    with pytest.raises(StoreError, match="is a link, and links are not followed"):
        Log(tmp_path / "link").append({})
    assert (tmp_path / "real").read_text("utf-8") == "{}\n"
    assert not (tmp_path / "nothing").exists()
    assert Log(tmp_path / "absent" / "log").read() == Logged({})


@pytest.mark.parametrize(
    ("record", "error"),
    [
        ([1], PolicyError), ({"preceding": 1}, PolicyError), ({1: 2}, WireError), ({"a": float("nan")}, WireError),
        ({"a": (1,)}, WireError), ({"a": 10**4300}, WireError), ({"a": b"x"}, WireError),
    ],
)  # fmt: skip
def test_what_is_no_record_leaves_no_file(log: Log, record: Any, error: type[cl.CompactlibError]) -> None:
    with pytest.raises(error):
        log.append(record)
    assert not log.path.exists()


def test_what_is_appended_is_read_at_every_depth(log: Log) -> None:
    """A record is refused before it is written, or is read."""
    deep: Any = 1
    refused = 0
    for _ in range(203):
        deep = [deep]
        try:
            log.append({"a": deep})
        except WireError:
            refused += 1
    assert (len(log.read().records), refused, log.read().damaged) == (199, 4, ())


def test_what_is_appended_is_read_however_much_it_holds(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit of what is read is that of what is written."""
    monkeypatch.setattr(reading, "MAX_NODES", 100)
    with pytest.raises(WireError, match="more than 100 values"):
        log.append({"a": [0] * 200})
    assert not log.path.exists()


def test_who_comes_second_waits(log: Log) -> None:
    """A writer for a reader and a writer for a writer, until the lock is free."""
    log.append({"id": 1})
    for kind in (fcntl.LOCK_SH, fcntl.LOCK_EX):
        with log.path.open("rb") as other:
            fcntl.flock(other, kind)
            second = threading.Thread(target=log.append, args=({"id": 2},))
            second.start()
            second.join(0.1)
            assert second.is_alive()
            assert other.read().count(b"\n") == (1 if kind == fcntl.LOCK_SH else 2)
        second.join(30)
    assert records(log) == [{"id": 1}, {"id": 2}, {"id": 2}]


def test_a_record_is_one_write_and_synced_before_append_returns(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    write = os.write

    def noted(number: int, data: bytes) -> int:
        done.append("write")
        return write(number, data)

    monkeypatch.setattr(os, "write", noted)
    monkeypatch.setattr(os, "fsync", lambda _: done.append("sync"))
    log.append({"a": "x" * 1_000_000})
    log.append({})

    assert done == ["write", "sync", "sync", "write", "sync"]  # of a new file the folder, too


def test_a_disk_that_is_full_leaves_a_damaged_line(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says so, and the log goes on when there is room."""
    write = os.write
    log.append({"id": 1})
    with monkeypatch.context() as patched:
        patched.setattr(os, "write", lambda number, data: write(number, data[:50]))
        with pytest.raises(StoreError, match="took 50 of 88 bytes: the record is torn"):
            log.append({"id": 2})
    log.append({"id": 3})

    assert records(log) == [{"id": 1}, {"id": 3}]
    assert lines(log.read().damaged) == [2]


def test_without_locks_nothing_is_appended_and_all_is_read(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    log.append({"id": 1})
    monkeypatch.setattr(module, "fcntl", None)
    with pytest.raises(StoreError, match="this system has no locks"):
        log.append({"id": 2})

    assert records(log) == [{"id": 1}]


# -- real reports, each reduced to an input and an expectation ---------------------------------------------------------


@pytest.fixture
def report(shared: Path) -> Callable[[int], tuple[Any, Any]]:
    """Input and expectation of a handed case."""
    cases = map(json.loads, (shared / "cases" / "reports.jsonl").read_text("utf-8").splitlines())
    found = {case["n"]: (case["input"], case["expected"]) for case in cases if case["layer"] == "store"}
    return found.__getitem__


@pytest.mark.parametrize("number", [189, 190])
def test_the_next_append_comes_after_any_end(log: Log, number: int, report: Callable[[int], tuple[Any, Any]]) -> None:
    """A piece of a record, cut inside a letter, and a whole one without a newline."""
    given, expected = report(number)
    before = bytes.fromhex(given["file_bytes_hex"]) if "file_bytes_hex" in given else given["file_text"].encode()
    log.path.write_bytes(before)
    log.append(given["append"])

    assert [record["id"] for record in records(log)] == expected["record_ids"]
    assert log.path.read_bytes().startswith(before)
    assert lines(log.read().damaged) == [2] * (number == 189)


WRITER: Final = """
import sys, compactlib
log = compactlib.Log(sys.argv[1])
log.read()
print("ready", flush=True)
sys.stdin.read(1)
for number in range(int(sys.argv[3])):
    log.append({"id": [int(sys.argv[2]), number], "text": "x" * int(sys.argv[4])})
"""


def test_two_processes_append_at_once(log: Log, report: Callable[[int], tuple[Any, Any]]) -> None:
    """All records of both, each one's own in order, none torn, the chain whole."""
    given, expected = report(193)
    sizes = (str(given["records_each"]), str(given["record_chars"]))
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, log.path, str(writer), *sizes], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT
        )
        for writer in range(given["writers"])
    ]
    assert [process.stdout.readline() for process in writers if process.stdout] == [b"ready\n"] * given["writers"]
    for process in writers:
        assert process.stdin is not None
        process.stdin.write(b"!")  # now
        process.stdin.flush()
    for process in writers:
        process.communicate(timeout=60)
    assert [process.returncode for process in writers] == [0] * given["writers"]
    read = log.read()
    ids = [tuple(record["id"]) for record in read.records.values()]

    assert (len(ids), lines(read.damaged), read.broken) == (expected["records"], expected["bad_lines"], ())
    for writer in range(given["writers"]):
        assert [one for one in ids if one[0] == writer] == [(writer, number) for number in range(given["records_each"])]


@pytest.fixture
def session(tmp_path: Path) -> Path:
    """A request that is worth compacting, with a key in it."""
    messages: list[dict[str, Any]] = []
    for turn in range(24):
        messages.append({"role": "user", "content": f"Migrate table t{turn}; the api_key=sk-proj-4fQ9xT7bLw2ZpVn8RjKd."})
        messages.append({"role": "assistant", "content": f"Table t{turn} is done: " + "row copied, " * 300})
    path = tmp_path / "session.json"
    path.write_text(json.dumps({"model": "m", "messages": messages}), "utf-8")
    return path


def test_compact_appends_and_nothing_changes(log: Log, session: Path, run: Run, shared: Path, report: Any) -> None:
    """Two records, a compaction: the bytes before it are what they were."""
    given, expected = report(179)
    assert given["operations"] == ["append m1", "append m2", "compact"]
    log.append({"id": "m1"})
    log.append({"id": "m2"})
    before = log.path.read_bytes()
    status, _, err = run("compact", session, "--window", "16k", "--log", log.path)

    assert (status, err) == (0, "")
    assert log.path.read_bytes().startswith(before) is expected["prefix_bytes_unchanged"]
    assert [record.get("kind") for record in records(log)] == [None, None, "compaction"]


# -- what compact writes -----------------------------------------------------------------------------------------------


def test_a_compaction_is_undone_by_its_record(log: Log, session: Path, run: Run, tmp_path: Path) -> None:
    """And done again: what went and what came, with the account of it, and the same bytes each time (law L16)."""
    out = tmp_path / "out.json"
    status, said, _ = run("compact", session, "--window", "16k", "--log", log.path, "--out", out)
    old, new = (json.loads(path.read_text("utf-8"))["messages"] for path in (session, out))
    [record] = records(log)
    at, added, removed = record["index"], record["added"], record["removed"]

    assert status == 0
    assert f"logged: {log.path}" in said
    assert set(record) == {"kind", "version", "summariser", "report", "index", "removed", "added"}
    assert (record["kind"], record["version"], record["summariser"]) == ("compaction", cl.__version__, "extractive")
    assert new[:at] + removed + new[at + len(added) :] == old
    assert old[:at] + added + old[at + len(removed) :] == new
    assert record["report"]["outcome"] == "compacted"
    assert record["report"]["cut"]["index"]
    assert record["report"]["dropped"]
    again = log.path.with_name("again")
    run("compact", session, "--window", "16k", "--log", again)
    assert again.read_bytes() == log.path.read_bytes()


def test_clearing_is_in_the_record_with_its_references(log: Log, run: Run, tmp_path: Path) -> None:
    run("compact", "example:migration", "--window", "64k", "--store", tmp_path / "store", "--log", log.path)
    [record] = records(log)

    assert {part["rung"] for part in record["report"]["dropped"]} >= {"clear"}
    assert all(len(part["ref"]) == 64 for part in record["report"]["dropped"] if part["rung"] == "clear")
    assert len(record["removed"]) >= len(record["added"]) > 0


def test_a_refusal_is_logged_and_what_is_unchanged_is_not(log: Log, session: Path, run: Run, tmp_path: Path) -> None:
    """Law L17."""
    status = run("compact", session, "--window", "16k", "--tail", "200", "--log", log.path, "--summariser", "command:false")[0]
    [record] = records(log)
    assert (status, record["report"]["outcome"], record["removed"], record["added"]) == (1, "refused", [], [])

    out = tmp_path / "out.json"
    run("compact", "example:migration", "--window", "32k", "--out", out)
    status, said, _ = run("compact", out, "--window", "32k", "--log", log.path)
    assert (status, "unchanged" in said) == (1, True)
    assert len(records(log)) == 1


def test_the_log_never_sees_a_secret(log: Log, session: Path, run: Run) -> None:
    """What went is what was redacted."""
    run("compact", session, "--window", "16k", "--log", log.path, "--redact")

    assert b"4fQ9xT7bLw2ZpVn8RjKd" not in log.path.read_bytes()
    assert b"[redacted v1: " in log.path.read_bytes()


def test_a_log_that_is_something_else_is_refused(session: Path, run: Run, tmp_path: Path) -> None:
    """The input, the output, a link, a folder: status 2 before any work is done, and nothing is touched."""
    before = session.read_bytes()
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    for log, said in {
        session: "--log is the input itself",
        tmp_path / "out.json": "--log is --out itself",
        tmp_path / "link": "--log is a link",
        Path("/dev/null"): "/dev/null: is no ordinary file, and is not appended to",
        Path("example:new"): "./example:new is a file",
        tmp_path: "is a directory",
        tmp_path / "absent" / "log": "No such file or directory",
    }.items():
        status, out, err = run("compact", session, "--window", "16k", "--log", log, "--out", tmp_path / "out.json")
        assert (status, out) == (2, "")
        assert said in err
    assert session.read_bytes() == before
    assert not (tmp_path / "out.json").exists()
