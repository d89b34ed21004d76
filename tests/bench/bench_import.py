"""
How long ``import compactlib`` takes, as a ratio to ``import attrs``.

Each import is timed inside a fresh interpreter, which leaves out its start, and
the two take turns.  The second row is what a program pays that goes on to
parse, check and compact.
"""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from typing import Final

from . import Row, median_ratio

_TIMED: Final = "import time; start = time.perf_counter(); {code}; print(time.perf_counter() - start)"
_STARTS: Final = 9  # interpreters for one measurement, of which the quickest counts
_USED: Final = "import compactlib as cl; cl.parse; cl.check; cl.compact; cl.Policy"


def _seconds(code: str) -> float:
    command = [sys.executable, "-c", _TIMED.format(code=code)]
    return min(float(subprocess.run(command, capture_output=True, check=True).stdout) for _ in range(_STARTS))


def run() -> list[Row]:
    """Measure."""
    attrs = partial(_seconds, "import attrs")
    return [
        ("compactlib / attrs", median_ratio(partial(_seconds, "import compactlib"), attrs), "bar 2.5, aim 1.5"),
        ("compactlib with parse, check, compact / attrs", median_ratio(partial(_seconds, _USED), attrs), "reported"),
    ]
