"""Stores: what was kept comes back byte for byte or not at all, and nothing leads out of them."""

from __future__ import annotations

import os
import stat
import string
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactlib.errors import PolicyError, StoreError
from compactlib.store import DirectoryStore, MemoryStore, Store, alias_of, fetch, keep, reference_of

DATA = b"line 1\r\nline 2\x00\xff"
REF = reference_of(DATA)


@pytest.fixture(params=["memory", "directory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    return MemoryStore() if request.param == "memory" else DirectoryStore(tmp_path / "store")


def object_file(root: Path, reference: str) -> Path:
    return root / "objects" / reference[:2] / reference[2:]


@given(st.binary(max_size=300))
def test_what_is_kept_comes_back(data: bytes) -> None:
    """Byte for byte, under its digest."""
    store = MemoryStore()

    assert fetch(store, keep(store, data)) == data


def test_both_stores_keep_give_back_and_keep_once(store: Store) -> None:
    """Putting twice is putting once."""
    assert [keep(store, DATA), keep(store, DATA, name="log")] == [REF, REF]
    assert fetch(store, REF) == DATA


def test_nothing_comes_from_nothing(store: Store) -> None:
    with pytest.raises(StoreError, match="nothing is stored"):
        fetch(store, reference_of(b"other"))


@pytest.mark.parametrize(
    "reference", ["", "abc", REF.upper(), "../" + REF[3:], REF + "0", "/etc/passwd", REF[:-1] + "\n", None, 7]
)
def test_what_is_no_reference_is_refused(store: Store, reference: Any) -> None:
    """Before anything is opened (law L25)."""
    with pytest.raises(StoreError, match="64 lower-case hexadecimal digits"):
        fetch(store, reference)
    with pytest.raises(StoreError, match="64 lower-case hexadecimal digits"):
        store.get(reference)


def test_a_store_has_its_own_copy() -> None:
    """Law L19."""
    data = bytearray(DATA)
    store = MemoryStore()
    reference = store.put(bytes(data))
    data[0] = 0

    assert fetch(store, reference) == DATA


# -- the directory -----------------------------------------------------------------------------------------------------


def test_damage_is_found_and_mended_by_the_next_put(tmp_path: Path) -> None:
    """A store that lost a bit says so, and takes the bytes again."""
    store = DirectoryStore(tmp_path)
    keep(store, DATA)
    object_file(tmp_path, REF).write_bytes(DATA[:-1])
    with pytest.raises(StoreError, match="damaged"):
        fetch(store, REF)

    keep(store, DATA)
    assert fetch(store, REF) == DATA


def test_files_are_their_owners_alone(tmp_path: Path) -> None:
    root = tmp_path / "deep" / "store"
    store = DirectoryStore(root)
    keep(store, DATA, name="log.txt")

    assert stat.S_IMODE(root.stat().st_mode) == 0o700
    modes = {stat.S_IMODE(path.stat().st_mode) for path in root.rglob("*") if path.is_file()}
    assert modes == {0o600}
    assert {stat.S_IMODE(path.stat().st_mode) for path in root.rglob("*") if path.is_dir()} == {0o700}


def test_links_are_not_followed(tmp_path: Path) -> None:
    """Neither an object nor a folder that was replaced by a link is opened."""
    secret = tmp_path / "secret"
    secret.write_bytes(DATA)
    store = DirectoryStore(tmp_path / "store")
    keep(store, DATA)
    file = object_file(store.root, REF)
    file.unlink()
    file.symlink_to(secret)
    with pytest.raises(StoreError):
        store.get(REF)

    outside = tmp_path / "outside"
    file.unlink()
    file.parent.rename(outside)
    (outside / REF[2:]).write_bytes(DATA)
    file.parent.symlink_to(outside, target_is_directory=True)
    with pytest.raises(StoreError):
        store.get(REF)


def test_a_write_that_fails_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No half object, no file aside, and the error is the store's."""
    store = DirectoryStore(tmp_path)

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StoreError, match="No space left"):
        keep(store, DATA)

    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def _write_many(root: Path) -> list[str]:
    store = DirectoryStore(root)
    return [keep(store, f"{number} ".encode() * 2_000, name="part") for number in range(40)]


def test_two_writers_do_not_harm_each_other(tmp_path: Path) -> None:
    """The same objects written by two processes at once are whole."""
    with ProcessPoolExecutor(2) as pool:
        first, second = pool.map(_write_many, [tmp_path, tmp_path])

    assert first == second
    store = DirectoryStore(tmp_path)
    assert [len(fetch(store, reference)) for reference in first] == [len(f"{number} ") * 2_000 for number in range(40)]
    assert sum(path.is_file() for path in tmp_path.rglob("*")) == 80


def test_the_copy_under_a_name_can_be_spoilt_without_harm(tmp_path: Path) -> None:
    """A file tool may write to it; the object stays, and the next put mends the copy."""
    store = DirectoryStore(tmp_path)
    keep(store, DATA, name="build log.txt")
    alias = store.alias(REF, "build log.txt")
    assert alias.read_bytes() == DATA
    alias.write_bytes(b"spoilt")

    assert fetch(store, REF) == DATA
    keep(store, DATA, name="build log.txt")
    assert alias.read_bytes() == DATA


@given(st.text(max_size=200) | st.text(alphabet="./\\ab\0\n-", max_size=40))
def test_a_name_is_made_harmless(name: str) -> None:
    """One file of the folder of names, with safe characters, whatever was wished for."""
    root = Path("/store")
    store = object.__new__(DirectoryStore)
    object.__setattr__(store, "root", root)
    alias = store.alias(REF, name)

    assert alias.parent == root / "names"
    assert len(alias.name.encode()) <= 200
    assert not alias.name.startswith(".")
    assert all(letter.isalnum() or letter in "-." for letter in alias.name)
    stem, digest, extension = alias.name.rsplit(".", 2)
    assert stem
    assert digest == REF[:8]
    assert set(extension) <= set(string.ascii_lowercase + string.digits)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("build-log-42.txt", "build-log-42"),
        ("order 4471", "order-4471"),
        ("../../etc/passwd", "passwd"),
        ("C:\\temp\\журнал.log", "журнал"),
        ("...", "object"),
    ],
)
def test_a_name_stays_readable(tmp_path: Path, name: str, expected: str) -> None:
    assert DirectoryStore(tmp_path).alias(REF, name).name.split(".")[0] == expected


# -- quota -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [lambda root: MemoryStore(quota_bytes=10), lambda root: DirectoryStore(root, quota_bytes=10)])
def test_a_quota_is_kept_and_named(tmp_path: Path, make: Callable[[Path], Store]) -> None:
    """What fits is kept, what does not is refused with the numbers, and nothing is evicted."""
    store = make(tmp_path)
    first = keep(store, b"12345678")
    with pytest.raises(StoreError, match="exceed the quota of 10: 8 are used"):
        keep(store, b"abc")

    assert keep(store, b"12345678") == first
    assert fetch(store, first) == b"12345678"
    assert fetch(store, keep(store, b"ab")) == b"ab"


def test_what_others_wrote_counts_before_a_refusal_and_what_they_removed_does_too(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path, quota_bytes=10)
    reference = keep(store, b"12345678")
    object_file(tmp_path, reference).unlink()

    assert fetch(store, keep(store, b"123456789")) == b"123456789"


@pytest.mark.parametrize("quota", [0, -1, 1.5, True, "9"])
def test_an_impossible_quota_is_refused(tmp_path: Path, quota: Any) -> None:
    with pytest.raises(PolicyError, match="quota_bytes"):
        MemoryStore(quota_bytes=quota)
    with pytest.raises(PolicyError, match="quota_bytes"):
        DirectoryStore(tmp_path, quota_bytes=quota)


# -- other people's stores ---------------------------------------------------------------------------------------------


class Adapter:
    """Somebody's own store, good or bad."""

    def __init__(self, given: str | Exception, back: bytes | Exception) -> None:
        self.given, self.back = given, back

    def put(self, data: bytes, name: str = "") -> str:
        if isinstance(self.given, Exception):
            raise self.given
        return self.given

    def get(self, reference: str) -> bytes:
        if isinstance(self.back, Exception):
            raise self.back
        return self.back


def test_an_adapter_is_not_believed() -> None:
    """A wrong reference, other bytes and any exception are a `StoreError`."""
    with pytest.raises(StoreError, match="returned 'mine'"):
        keep(Adapter("mine", b""), DATA)
    with pytest.raises(StoreError, match="could not keep 16 bytes: KeyError"):
        keep(Adapter(KeyError("bucket"), b""), DATA)
    with pytest.raises(StoreError, match="damaged"):
        fetch(Adapter(REF, b"other"), REF)
    with pytest.raises(StoreError, match="could not give back"):
        fetch(Adapter(REF, TimeoutError()), REF)


def test_what_is_no_failure_of_the_store_passes_through() -> None:
    """An interrupt is not an answer of the store."""

    class Interrupted(Adapter):
        def put(self, data: bytes, name: str = "") -> str:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        keep(Interrupted(REF, b""), DATA)


# -- the adapter of the specification ----------------------------------------------------------------------------------


def _adapter() -> Any:
    """The class that the chapter shows, made from its own text."""
    pytest.importorskip("fsspec", reason="the extra oracles is not installed")
    chapter = (Path(__file__).parent.parent / "spec" / "53-recoverable.md").read_text("utf-8")
    code = chapter.split("```python\n")[1].split("```")[0]
    names: dict[str, Any] = {}
    exec(code, names)  # noqa: S102 - our own text
    return names["FsspecStore"]


def test_the_adapter_of_the_chapter_is_a_store() -> None:
    """On a file system in memory."""
    store = _adapter()("memory://compactlib")

    assert fetch(store, keep(store, DATA)) == DATA
    with pytest.raises(StoreError, match="could not give back"):
        fetch(store, reference_of(b"other"))


def test_the_adapter_serves_an_object_store(monkeypatch: pytest.MonkeyPatch) -> None:
    """Against a server that speaks S3, started for this test."""
    adapter = _adapter()
    pytest.importorskip("s3fs", reason="the extra s3 is not installed")
    server = pytest.importorskip("moto.server", reason="the extra s3 is not installed").ThreadedMotoServer(port=0)
    for name, value in {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": "us-east-1"}.items():
        monkeypatch.setenv(name, value)
    server.start()
    try:
        host, port = server.get_host_and_port()
        options = {"client_kwargs": {"endpoint_url": f"http://{host}:{port}"}}
        store = adapter("s3://bucket/objects", **options)
        store.files.mkdir("bucket")
        reference = keep(store, DATA)

        assert fetch(store, reference) == DATA
        store.files.pipe_file(f"bucket/objects/{reference}", b"other bytes")
        store.files.invalidate_cache()
        with pytest.raises(StoreError, match="damaged"):
            fetch(store, reference)
    finally:
        server.stop()


def test_a_pipe_in_the_place_of_an_object_does_not_hang(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path)
    keep(store, DATA)
    object_file(tmp_path, REF).unlink()
    os.mkfifo(object_file(tmp_path, REF))
    with pytest.raises(StoreError, match="no ordinary file"):
        store.get(REF)


def test_a_quota_that_a_name_exceeds_leaves_nothing_stored(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path, quota_bytes=20)
    with pytest.raises(StoreError, match="quota"):
        keep(store, DATA, name="log")

    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_an_impossible_directory_is_the_stores_error() -> None:
    with pytest.raises(StoreError):
        DirectoryStore("a\0b")


def test_a_store_that_cannot_say_where_a_name_stands_fails_as_a_store() -> None:
    class Lost(MemoryStore):
        def alias(self, reference: str, name: str) -> str:
            raise RuntimeError("lost")

    with pytest.raises(StoreError, match="could not say where"):
        alias_of(Lost(), REF, "log")
