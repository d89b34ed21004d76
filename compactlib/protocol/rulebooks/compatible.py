"""What single imitators of OpenAI Chat demand beyond it,
each under its own letter: ``D-``, ``K-``, ``L-``, ``Q-``, ``V-``, ``X-``."""

from __future__ import annotations

from typing import Final

from ..rule import Rule

__all__ = ["TABLE"]

# fmt: off
TABLE: Final[tuple[Rule, ...]] = (
)
# fmt: on
