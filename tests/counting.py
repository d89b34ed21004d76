"""What work costs, counted and not timed: in lines of Python, so what C does in one line is not seen."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

__all__ = ["lines_run"]


def lines_run(work: Callable[[], object]) -> int:
    """How many lines of Python it takes."""
    lines = 0

    def trace(_frame: Any, event: str, _given: Any) -> Any:
        nonlocal lines
        lines += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return lines
