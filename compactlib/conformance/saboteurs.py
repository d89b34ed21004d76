"""
Compactors that are wrong on purpose, one thing each.

What this is
    `SABOTEURS`: for each law at least one compactor that breaks it.  The
    checks must blame that law and, besides it, only laws that cannot be kept
    while it is broken so (`Saboteur.also`).  They are the test of the checks,
    and examples of what goes wrong elsewhere.

Rules it obeys
    * Each is the library's own compactor with one thing changed, so that what
      is blamed is that thing.
    * Each has the signature of `compactlib.compact`.  Where it has no chance
      to do harm it does none.

What is not here
    Faults of summarisers: see `compactlib.summaries.faults`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from .asking_saboteurs import ASKING
from .clearing_saboteurs import CLEARING
from .fact_saboteurs import FACTS
from .honesty_saboteurs import HONESTY
from .loss_saboteurs import LOSS
from .protocol_saboteurs import PROTOCOL
from .sabotage import Saboteur
from .stability_saboteurs import STABILITY

__all__ = ["SABOTEURS", "Saboteur"]

SABOTEURS: Final[Mapping[str, Saboteur]] = MappingProxyType(
    {saboteur.name: saboteur for saboteur in (*PROTOCOL, *LOSS, *CLEARING, *STABILITY, *HONESTY, *FACTS, *ASKING)}
)
"""Every saboteur by its name."""
