"""
Exploring by coverage: runs the property of a polyglot under atheris.

Only code that is imported while atheris looks on is seen by it, and a polyglot
has imported the library before it knows that it is to explore.  So the library
is forgotten, imported anew as a whole (its modules load each other when they
are asked for, which would be too late), and the polyglot once more with it.

A property that draws much from its bytes rejects what is short, and an
explorer that begins with nothing would be busy with that for minutes.  So it
begins with noise of some lengths, if no corpus is named.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
import tempfile
from pathlib import Path
from random import Random
from typing import Final

__all__ = ["explore"]

_LIBRARY: Final = "compactlib"
_SEEDS_BYTES: Final = tuple(2**power * 3 for power in range(1, 11))


def explore(path: str, name: str) -> None:
    """
    Fuzz until stopped, or until something fails.

    Args:
        path: the polyglot's ``__file__``; atheris takes its options from the command line.
        name: the function in it that takes bytes, or a property made by Hypothesis.
    """
    import atheris  # type: ignore[import-untyped,import-not-found,unused-ignore]  # an optional tool, perhaps absent

    for known in [known for known in sys.modules if known.partition(".")[0] == _LIBRARY]:
        del sys.modules[known]
    with atheris.instrument_imports(include=[_LIBRARY]):
        library = importlib.import_module(_LIBRARY)
        for found in pkgutil.walk_packages(library.__path__, f"{_LIBRARY}."):
            if not found.name.startswith((f"{_LIBRARY}.cli", f"{_LIBRARY}.conformance")):
                importlib.import_module(found.name)
    function = getattr(importlib.import_module(Path(path).stem), name)
    target = function.hypothesis.fuzz_one_input if hasattr(function, "hypothesis") else function
    is_named = any(not argument.startswith("-") for argument in sys.argv[1:])
    atheris.Setup(sys.argv if is_named else [*sys.argv, _seeded()], target)
    atheris.Fuzz()


def _seeded() -> str:
    """A corpus to begin with, the same in every run; what is found is added to it, and it stays when atheris ends the process."""
    folder = tempfile.mkdtemp(prefix="compactlib-fuzz-")
    noise = Random(0)  # noqa: S311 - inputs, not secrets
    for size in _SEEDS_BYTES:
        (Path(folder) / str(size)).write_bytes(noise.randbytes(size))
    return folder
