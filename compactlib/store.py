"""
Where the bytes go that a compaction removes: stores, by digest.

What this is
    `MemoryStore` and `DirectoryStore`, and the two functions through which the
    library uses a store, `keep` and `fetch`.

    A store is any object with ``put(data, name) -> reference`` and
    ``get(reference) -> data``.  The reference is the SHA-256 of the bytes, so
    a store needs no index, the same bytes are kept once, and damage shows.  An
    adapter for a database or a bucket is a dozen lines; ``spec/`` has one.

Rules it obeys
    * Law L10.  Storing comes before replacing, and what was stored comes back
      byte for byte or not at all: `fetch` computes the digest again, and so
      does `keep` before it believes an adapter.
    * Law L25.  A reference is 64 hexadecimal digits and nothing else, so none
      leads out of the store.  A name is for people and file tools; it is made
      harmless, and nothing is ever looked up by it.
    * Law L19.  Stores hold their own copy.
    * Whoever looks into the directory sees a whole object or none: each is
      written aside, synced, and renamed, so two writers cannot harm each other.

How it works
    *Directory.*  ``objects/ab/cdef...`` holds the bytes.  ``names/`` holds a
    second copy under a readable name, for an agent whose ordinary file tool
    opens files and knows nothing of references.  It is a copy and no link,
    because what a file tool can open it can also write to.  Files are opened
    relative to the handle of their folder, and links are not followed.

What is not here
    Which references a conversation issued (`markers`): a store alone must not
    be asked on the word of a transcript, because it may hold other sessions'
    secrets.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, Protocol

from .arguments import need, need_path, need_whole, shown
from .errors import PolicyError, StoreError

__all__ = [
    "DirectoryStore",
    "MemoryStore",
    "Store",
    "alias_of",
    "as_store_error",
    "fetch",
    "folder",
    "keep",
    "need_store",
    "open_ordinary",
    "reference_of",
]

_REFERENCE: Final = re.compile("[0-9a-f]{64}")
_NAME_CHARS: Final = 80
_SHORT_CHARS: Final = 8  # of a digest, where it only tells two files of one name apart
_NOFOLLOW: Final = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


class Store(Protocol):
    """Keeps bytes and gives them back by their digest."""

    def put(self, data: bytes, name: str = "") -> str:
        """
        Keep *data* and return its reference, the SHA-256 in hexadecimal digits.

        *name* is a wish for a readable name, where the store has such.
        """

    def get(self, reference: str) -> bytes:
        """The bytes that *reference* stands for."""


def need_store(store: object) -> None:
    """
    Refuse what has no ``put`` and no ``get``.

    Raises:
        PolicyError: it has not; the field is ``store``.
    """
    if not (callable(getattr(store, "put", None)) and callable(getattr(store, "get", None))):
        raise PolicyError("store", f"something with put and get, not {shown(store)}")


def reference_of(data: bytes) -> str:
    """
    The reference of *data*.

    >>> reference_of(b"")[:16]
    'e3b0c44298fc1c14'
    """
    return hashlib.sha256(data).hexdigest()


def keep(store: Store, data: bytes, *, name: str = "") -> str:
    """
    Put *data* into any store and return its reference (law L10: before anything is replaced).

    Raises:
        StoreError: the store failed, or returned something else than the reference.

    >>> store = MemoryStore()
    >>> fetch(store, keep(store, b"the whole log"))
    b'the whole log'
    """
    expected = reference_of(data)
    try:
        given = store.put(data, name)
    except StoreError:
        raise
    except Exception as error:  # an adapter's own errors are many, and all mean that nothing was stored
        raise StoreError(f"the store could not keep {len(data)} bytes: {type(error).__name__}", rule="L10") from error
    if given != expected:
        raise StoreError(f"the store returned {shown(given)} for bytes whose digest is {expected}", rule="L10")
    return expected


def fetch(store: Store, reference: str) -> bytes:
    """
    The bytes that *reference* stands for, whole and unaltered.

    Raises:
        StoreError: *reference* is none, nothing is stored under it, the store
            failed, or what it gave back is damaged.
        PolicyError: *store* is none.
    """
    need_store(store)
    _check(reference)
    try:
        given: object = store.get(reference)
        if not isinstance(given, bytes | bytearray | memoryview):  # of a number, `bytes` would make as many zeros
            raise StoreError(f"the store gave back {shown(given)} for {reference}, which is no bytes", rule="L10")
        data = bytes(given)
    except StoreError:
        raise
    except Exception as error:  # see `keep`
        raise StoreError(f"the store could not give back {reference}: {type(error).__name__}", rule="L10") from error
    if reference_of(data) != reference:
        raise StoreError(f"what is stored under {reference} is damaged: its digest differs", rule="L10")
    return data


def alias_of(store: Store, reference: str, name: str) -> str:
    """
    Where a file tool finds what is put under *name*, ``""`` in a store that has no such places.

    Raises:
        StoreError: the store has them, and failed to say.
    """
    alias = getattr(store, "alias", None)
    if not callable(alias):
        return ""
    try:
        return str(alias(reference, name))
    except StoreError:
        raise
    except Exception as error:  # see `keep`
        raise StoreError(f"the store could not say where {reference} stands: {type(error).__name__}") from error


def _check(reference: object) -> None:
    if not isinstance(reference, str) or _REFERENCE.fullmatch(reference) is None:
        raise StoreError(f"a reference is 64 lower-case hexadecimal digits, not {shown(reference)}", rule="L25")


def _check_quota(quota_bytes: int | None) -> None:
    if quota_bytes is not None:
        need_whole("quota_bytes", quota_bytes, least=1)


def _checked(data: object, name: object) -> bytes:
    """What is to be kept, as bytes of our own (law L19)."""
    need("data", data, bytes | bytearray | memoryview, "bytes")
    need("name", name, str, "a text")
    return bytes(data)  # type: ignore[call-overload,no-any-return]  # it is of one of these classes, see above


def _over_quota(length: int, used: int, quota_bytes: int) -> StoreError:
    return StoreError(
        f"{length} more bytes exceed the quota of {quota_bytes}: {used} are used",
        rule="L10",
        hint="raise the quota, or remove objects that no log refers to; a store never evicts by itself",
    )


class MemoryStore:
    """
    A store that lives as long as the process.

    Args:
        quota_bytes: how much it may hold; without limit if not given.

    Raises:
        PolicyError: the quota is no whole number above zero.
    """

    def __init__(self, *, quota_bytes: int | None = None) -> None:
        _check_quota(quota_bytes)
        self._quota_bytes: Final = quota_bytes
        self._objects: dict[str, bytes] = {}
        self._used_bytes = 0

    def put(self, data: bytes, name: str = "") -> str:
        """
        Keep *data*; the name is of no use here.

        Raises:
            StoreError: the quota is exceeded.
            PolicyError: *data* are no bytes, or *name* is no text.
        """
        data = _checked(data, name)
        reference = reference_of(data)
        if reference not in self._objects:
            if self._quota_bytes is not None and self._used_bytes + len(data) > self._quota_bytes:
                raise _over_quota(len(data), self._used_bytes, self._quota_bytes)
            self._objects[reference] = data
            self._used_bytes += len(data)
        return reference

    def get(self, reference: str) -> bytes:
        """
        The bytes that *reference* stands for.

        Raises:
            StoreError: *reference* is none, or nothing is stored under it.
        """
        _check(reference)
        try:
            return self._objects[reference]
        except KeyError:
            raise StoreError(f"nothing is stored under {reference}", rule="L10") from None


class DirectoryStore:
    """
    A store in a directory, which outlives the process and may be shared.

    Two processes may write at once.  Their quotas are their own: each may
    exceed it by what the other wrote since it last looked.

    Args:
        root: the directory; made, readable by its owner alone, if it is not there.
        quota_bytes: how much it may hold; without limit if not given.

    Raises:
        PolicyError: the root is no path, or the quota no whole number above zero.
        StoreError: the directory cannot be made.
    """

    def __init__(self, root: str | os.PathLike[str], *, quota_bytes: int | None = None) -> None:
        _check_quota(quota_bytes)
        need_path("root", root)
        self.root: Final = Path(root)
        if "\0" in str(root):
            raise StoreError("the name of a directory holds no zero byte")
        self._quota_bytes: Final = quota_bytes
        self._used_bytes: int | None = None  # not counted yet
        with as_store_error(f"make the directory {self.root}"):
            self.root.mkdir(mode=0o700, parents=True, exist_ok=True)

    def put(self, data: bytes, name: str = "") -> str:
        """
        Keep *data*, and where a *name* is wished for, a copy under it; see `alias`.

        Raises:
            StoreError: it cannot be written, or the quota is exceeded.
            PolicyError: *data* are no bytes, or *name* is no text.
        """
        data = _checked(data, name)
        reference = reference_of(data)
        with as_store_error(f"keep {reference}"):
            wanted = [("objects", reference[:2], reference[2:])]
            if name:
                wanted.append(("names", self._alias(reference, name), ""))
            places = [tuple(filter(None, place)) for place in wanted]
            absent = [place for place in places if self._read(*place) != data]  # or damaged
            self._charge(len(data) * len(absent))
            for place in absent:
                self._write(data, *place)
        return reference

    def get(self, reference: str) -> bytes:
        """
        The bytes that *reference* stands for.

        Raises:
            StoreError: there are none, they are damaged, or they cannot be read.
        """
        _check(reference)
        with as_store_error(f"read {reference}"):
            data = self._read("objects", reference[:2], reference[2:])
        if data is None:
            raise StoreError(f"nothing is stored under {reference}", rule="L10")
        if reference_of(data) != reference:
            raise StoreError(f"what is stored under {reference} is damaged: its digest differs", rule="L10")
        return data

    def alias(self, reference: str, name: str) -> Path:
        """
        Where the copy of *reference* stands that was put under *name*.

        A function of both alone, so that a stub says the same in every run
        (law L16).  No reference is ever resolved by it.

        Raises:
            StoreError: *reference* is none.
            PolicyError: *name* is no text.

        >>> import tempfile
        >>> store = DirectoryStore(tempfile.mkdtemp())
        >>> store.alias("3f" * 32, "../build log.txt").name
        'build-log.3f3f3f3f.txt'
        """
        _check(reference)
        need("name", name, str, "a text")
        return self.root / "names" / self._alias(reference, name)

    @staticmethod
    def _alias(reference: str, name: str) -> str:
        """A harmless file name: words of letters and digits joined by hyphens, a piece of the digest, the extension."""
        stem, dot, extension = name.replace("\\", "/").rpartition("/")[2].rpartition(".")
        if not dot or not re.fullmatch("[A-Za-z0-9]{1,8}", extension):
            stem, extension = name.replace("\\", "/").rpartition("/")[2], "txt"
        words = "-".join(re.findall(r"[^\W_]+", stem[: 4 * _NAME_CHARS]))[:_NAME_CHARS].strip("-")
        while len(words.encode("utf-8", "replace")) > 2 * _NAME_CHARS:  # file systems count bytes
            words = words[:-1]
        return f"{words or 'object'}.{reference[:_SHORT_CHARS]}.{extension.lower()}"

    # -- files -----------------------------------------------------------------------------------------------------

    def _read(self, *path: str) -> bytes | None:
        """The content of the file at *path* below the root, ``None`` if there is none."""
        *folders, name = path
        try:
            with folder(self.root, *folders) as handle, os.fdopen(open_ordinary(name, dir_fd=handle), "rb") as stream:
                return stream.read()
        except FileNotFoundError:
            return None

    def _write(self, data: bytes, *path: str) -> None:
        """Write aside, sync, rename, sync the folder."""
        *folders, name = path
        with folder(self.root, *folders, is_made=True) as handle:
            aside = f".{name[:_NAME_CHARS]}.{os.getpid()}.{os.urandom(4).hex()}"
            number = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NOFOLLOW, 0o600, dir_fd=handle)
            try:
                with os.fdopen(number, "wb") as stream:
                    stream.write(data)
                    stream.flush()
                    os.fsync(stream.fileno())
                os.replace(aside, name, src_dir_fd=handle, dst_dir_fd=handle)
            except BaseException:
                with suppress(OSError):
                    os.unlink(aside, dir_fd=handle)
                raise
            os.fsync(handle)

    def _charge(self, length: int) -> None:
        """Count *length* bytes towards the quota; what others wrote is looked up before anything is refused."""
        quota = self._quota_bytes
        if quota is None:
            return
        if self._used_bytes is None or self._used_bytes + length > quota:
            self._used_bytes = sum(
                file.stat().st_size for kind in ("objects", "names") for file in (self.root / kind).rglob("*") if file.is_file()
            )
        if self._used_bytes + length > quota:
            raise _over_quota(length, self._used_bytes, quota)
        self._used_bytes += length


def open_ordinary(path: str | Path, flags: int = os.O_RDONLY, *, dir_fd: int | None = None) -> int:
    """
    A handle of the file at *path*, which is its owner's alone if it is made; neither a link nor a device is opened.

    Raises:
        StoreError: it is no ordinary file.
        OSError: it cannot be opened.
    """
    try:
        number = os.open(path, flags | _NOFOLLOW | getattr(os, "O_NONBLOCK", 0), 0o600, dir_fd=dir_fd)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise StoreError(f"what stands at {path} is a link, and links are not followed") from error
        raise
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise StoreError(f"what stands at {path} is no ordinary file")
    return number


@contextmanager
def folder(root: Path, *names: str, is_made: bool = False) -> Iterator[int]:
    """A handle of a folder below *root*, opened, and if *is_made* made, step by step so that no link below it is followed."""
    handle = os.open(root, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
    try:
        for name in names:
            if is_made:
                with suppress(FileExistsError):
                    os.mkdir(name, 0o700, dir_fd=handle)
            inner = os.open(name, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _NOFOLLOW, dir_fd=handle)
            os.close(handle)
            handle = inner
        yield handle
    finally:
        os.close(handle)


@contextmanager
def as_store_error(what: str) -> Iterator[None]:
    """What the system says against doing *what*, as a `StoreError`."""
    try:
        yield
    except StoreError:
        raise
    except (OSError, ValueError) as error:  # a ValueError is of a name that the file system cannot spell
        raise StoreError(f"cannot {what}: {getattr(error, 'strerror', None) or error}", rule="L10") from error
