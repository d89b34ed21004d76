"""
Exploring by coverage: runs the property of a polyglot under atheris.

Only code that is imported while atheris looks on is seen by it, and a polyglot
has imported the library before it knows that it is to explore.  So the library
is forgotten, imported anew as a whole (its modules load each other when they
are asked for, which would be too late), and the polyglot once more with it.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from pathlib import Path

__all__ = ["explore"]

_LIBRARY = "compactlib"


def explore(path: str, name: str) -> None:
    """
    Fuzz until stopped, or until something fails.

    Args:
        path: the polyglot's ``__file__``.
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
    atheris.Setup(sys.argv, target)
    atheris.Fuzz()
