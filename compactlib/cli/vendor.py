"""
``compactlib vendor``: the core copied into somebody's agent, and what became of the copy.

What this is
    `copy_core` writes the package, `examine` compares a copy with its manifest
    and with the installed library.

Rules it obeys
    * The core is all of the package but the wings.  Its imports are relative,
      so a copy works under any name and the files are copied byte for byte.
    * A manifest says what was copied: version and a SHA-256 of each file.
    * Nothing foreign is overwritten: not a directory without a manifest of
      ours, not a copy that was changed.  A copy appears whole or not at all.

How it works
    The new copy is written beside its place and renamed into it.

What is not here
    Anything about imports: there is nothing to rewrite.
"""

from __future__ import annotations

import errno
import hashlib
import json
import keyword
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import click
from attrs import frozen

from .. import __version__
from ..dialects.reading import loads
from ..errors import PolicyError, WireError
from ..model import Json
from .licence import LICENCE
from .options import format_option
from .printing import Page, count, print_json
from .writing import OutPath

__all__ = ["MANIFEST", "WINGS", "Copy", "copy_core", "core_files", "examine", "vendor"]

WINGS: Final = ("__main__", "cli", "conformance", "evaluation", "integrations", "summarisers", "transcripts")
"""The parts of the package that are not the core."""

MANIFEST: Final = "VENDORED.json"
"""The name of the manifest in a copy."""

_LICENCE: Final = "LICENSE"
_PACKAGE: Final = Path(__file__).resolve().parents[1]
_LARGEST_BYTES: Final = 1 << 20


@frozen
class Copy:
    """
    What became of a copy.

    Attributes:
        path: where it is.
        version: the version it was made from.
        changed: files that are not what the manifest says.
        missing: files that are gone.
        added: files that the manifest does not name.
        outdated: files that differ between the manifest and the installed library.
    """

    path: Path
    version: str
    changed: tuple[str, ...]
    missing: tuple[str, ...]
    added: tuple[str, ...]
    outdated: tuple[str, ...]

    @property
    def is_untouched(self) -> bool:
        """Whether it is as it was written."""
        return not (self.changed or self.missing or self.added)


@click.command()
@click.argument("destination", metavar="DEST", type=OutPath(file_okay=False, path_type=Path))
@click.option("--as", "name", metavar="NAME", help="The name of the package: the copy will be DEST/NAME.")
@click.option("--check", "only_check", is_flag=True, help="Say whether the copy at (or in) DEST was changed or is out of date.")
@format_option
def vendor(destination: Path, name: str | None, only_check: bool, output_format: str) -> int:
    """
    Copy the core into DEST as the package NAME.

    The copy needs attrs and nothing else. An older copy that nobody has
    changed is replaced. With --check, exit status 1 says that a copy was
    changed or is out of date.
    """
    if only_check:
        copies = [examine(path) for path in _copies(destination, name)]
        if output_format == "json":
            print_json([_as_json(copy) for copy in copies])
        else:
            page = Page()
            for copy in copies:
                _show(page, copy)
        return 0 if all(copy.is_untouched and not copy.outdated for copy in copies) else 1
    if name is None:
        raise click.UsageError("a name is due: --as NAME", click.get_current_context())
    path = copy_core(destination, name=name)
    if output_format == "json":
        print_json(_as_json(examine(path)))
    else:
        size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
        Page().line((str(path), "bold"), f": compactlib {__version__}, {count(len(core_files()), 'file')}, {size // 1024:,} KiB")
    return 0


def core_files() -> dict[str, bytes]:
    """The files of the core, by their path in the package."""
    found = {}
    for path in sorted(_PACKAGE.rglob("*")):
        inside = path.relative_to(_PACKAGE)
        if inside.parts[0].removesuffix(".py") in WINGS or not (path.suffix == ".py" or path.name == "py.typed"):
            continue
        found[inside.as_posix()] = path.read_bytes()
    return found


def copy_core(destination: Path, *, name: str) -> Path:
    """
    Write the core as the package *name* into the directory *destination*.

    Returns:
        The directory of the package.

    Raises:
        PolicyError: *name* cannot be the name of a package.
        OSError: there is something at that place that is no untouched copy
            (`FileExistsError`), or the disk says no.
    """
    if not name.isidentifier() or keyword.iskeyword(name):
        raise PolicyError("--as", f"{name!r} cannot be the name of a package")
    target = destination / name
    if target.is_symlink() or target.exists():
        _refuse_foreign(target)
    destination.mkdir(parents=True, exist_ok=True)
    files = core_files() | {_LICENCE: LICENCE.encode()}
    try:
        with tempfile.TemporaryDirectory(prefix=".", dir=destination) as aside:
            fresh, old = Path(aside, "new"), Path(aside, "old")
            for inside, content in files.items():
                path = fresh / inside
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
            manifest = {"package": "compactlib", "version": __version__, "files": _digests(files)}
            (fresh / MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n", "utf-8")
            if target.exists():
                target.rename(old)
            fresh.rename(target)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(target)) from error
    return target


def _refuse_foreign(target: Path) -> None:
    if target.is_symlink() or not (target / MANIFEST).is_file():
        raise FileExistsError(errno.EEXIST, "is no copy made by this command, and is left alone", str(target))
    copy = examine(target)
    if not copy.is_untouched:
        what = ", ".join((*copy.changed, *copy.missing, *copy.added)[:3])
        raise FileExistsError(errno.EEXIST, f"was changed since it was made ({what}), and is left alone", str(target))


def examine(path: Path) -> Copy:
    """
    Compare a copy with its manifest, and the manifest with the installed library.

    Raises:
        WireError: the manifest is none.
        OSError: it cannot be read.
    """
    manifest = _read_manifest(path / MANIFEST)
    recorded: Mapping[str, str] = manifest["files"]
    there = {
        file.relative_to(path).as_posix(): file
        for file in path.rglob("*")
        if file.is_file() and "__pycache__" not in file.parts and file != path / MANIFEST
    }
    current = _digests(core_files() | {_LICENCE: LICENCE.encode()})
    return Copy(
        path,
        manifest["version"],
        changed=tuple(name for name, digest in recorded.items() if name in there and _digest(there[name].read_bytes()) != digest),
        missing=tuple(name for name in recorded if name not in there),
        added=tuple(sorted(name for name in there if name not in recorded)),
        outdated=tuple(sorted(name for name in recorded.keys() | current.keys() if recorded.get(name) != current.get(name))),
    )


def _copies(destination: Path, name: str | None) -> list[Path]:
    """The copy at *destination*, or those in it."""
    place = destination if name is None else destination / name
    if (place / MANIFEST).is_file():
        return [place]
    inside = sorted(manifest.parent for manifest in place.glob(f"*/{MANIFEST}"))
    if not inside:
        raise FileNotFoundError(errno.ENOENT, f"no copy made by this command: there is no {MANIFEST}", str(place))
    return inside


def _read_manifest(path: Path) -> dict[str, Any]:
    if path.stat().st_size > _LARGEST_BYTES:
        raise WireError(str(path), "is no manifest: it is too large")
    manifest: Json = loads(path.read_bytes())
    files = manifest.get("files") if isinstance(manifest, dict) else None
    if not isinstance(files, dict) or not all(isinstance(digest, str) for digest in files.values()):
        raise WireError(str(path), "is no manifest: it names no files")
    if not isinstance(manifest.get("version"), str):
        raise WireError(str(path), "is no manifest: it names no version")
    return dict(manifest)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _digests(files: Mapping[str, bytes]) -> dict[str, str]:
    return {name: _digest(content) for name, content in sorted(files.items())}


def _show(page: Page, copy: Copy) -> None:
    page.line((str(copy.path), "bold"), f": made from compactlib {copy.version}")
    for what, names in (("changed by hand", copy.changed), ("missing", copy.missing), ("added", copy.added)):
        for name in names:
            page.line("  ", (what, "bold red"), f"  {name}")
    if copy.outdated:
        files = count(len(copy.outdated), "other file")
        page.line("  ", ("out of date", "yellow"), f"  compactlib {__version__} has {files}")
    elif copy.is_untouched:
        page.line("  ", ("untouched and up to date", "green"))


def _as_json(copy: Copy) -> Json:
    return {
        "path": str(copy.path),
        "version": copy.version,
        "installed": __version__,
        "changed": list(copy.changed),
        "missing": list(copy.missing),
        "added": list(copy.added),
        "outdated": list(copy.outdated),
    }
