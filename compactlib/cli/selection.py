"""
Which rules are asked about: ``--select`` and ``--ignore``.

What this is
    `Selection`: ids and prefixes of ids that count, and those that do not.

Rules it obeys
    * A prefix is whole parts of an id (``A``, ``A-PAIR``, ``A-PAIR-01``), or
      ``ALL``.  One that no rule has is an error and no silence.
    * The longer prefix decides; of two that are equal, the one that ignores.

What is not here
    Where they are written besides the command line: `settings`.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Final

from attrs import frozen

from ..errors import PolicyError
from ..protocol.rules import RULES

__all__ = ["ALL", "Selection", "prefixes"]

ALL: Final = "ALL"
"""The prefix of every rule."""


@frozen
class Selection:
    """
    What is asked about; everything, where nothing is selected.

    >>> chosen = Selection(select=("A",), ignore=("A-PAIR",))
    >>> chosen.covers("A-PAIR-01"), chosen.covers("A-END-01"), chosen.covers("O-PAIR-01")
    (False, True, False)
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()

    def covers(self, rule_id: str) -> bool:
        """Whether a finding of this rule counts."""
        parts = rule_id.split("-")
        for size in range(len(parts), -1, -1):
            prefix = "-".join(parts[:size]) or ALL
            if prefix in self.ignore:
                return False
            if prefix in self.select:
                return True
        return not self.select


def prefixes(texts: Iterable[str], *, where: str) -> tuple[str, ...]:
    """
    The prefixes in *texts*, which may hold several, with commas between.

    Raises:
        PolicyError: one that no rule has; *where* is what has to change.

    >>> prefixes(["a-pair, O"], where="--select")
    ('A-PAIR', 'O')
    """
    found = tuple(name for text in texts for part in text.split(",") if (name := part.strip().upper()))
    for name in found:
        if name not in _known():
            near = difflib.get_close_matches(name[:40], sorted(_known()), n=3)
            hint = f"did you mean {', '.join(near)}?" if near else "compactlib rules lists them all"
            raise PolicyError(where, f"no rule is called {name}, or begins so", hint=hint)
    return found


def _known() -> frozenset[str]:
    """Every prefix that some rule has."""
    parts = [rule_id.split("-") for rule_id in RULES]
    return frozenset({ALL, *("-".join(one[: size + 1]) for one in parts for size in range(len(one)))})
