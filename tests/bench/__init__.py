"""
Benchmarks: ratios measured in one run, for a time says nothing on another machine.

Each module ``bench_*.py`` has a function ``run`` that returns rows of
(what was measured, figure, remark).  ``python -m tests.bench`` runs them all.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Final, TypeAlias

__all__ = ["ROUNDS", "Row", "median_ratio"]

Row: TypeAlias = tuple[str, float, str]
"""What was measured, the figure (a ratio, unless the remark says otherwise), and what it is to be."""

ROUNDS: Final = 5


def median_ratio(ours: Callable[[], float], theirs: Callable[[], float], *, rounds: int = ROUNDS) -> float:
    """
    The median of *rounds* ratios, each of two measurements made one right after the other.

    A machine that slows down for a while slows both sides of a pair.

    >>> median_ratio(lambda: 6.0, lambda: 4.0)
    1.5
    """
    return statistics.median(ours() / theirs() for _ in range(rounds))
