"""What Mistral accepts: the rules ``M-``."""

from __future__ import annotations

from typing import Final

from ..rule import Rule

__all__ = ["TABLE"]

# fmt: off
TABLE: Final[tuple[Rule, ...]] = (
)
# fmt: on
