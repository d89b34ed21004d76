"""
Digests on the command line: made once, before a compaction, and accounted for.

What this is
    `Digests`, what came of asking for them and what became of them, told as
    lines and as JSON.

Rules it obeys
    * Law L24.  Each one was paid for, so one that stands for nothing in the
      outcome is named, by the message that its turn begins with.
    * Nobody is asked where the policy wants none, nor where none could be used:
      where clearing is enough, and where nothing would be done.

What is not here
    How a digest is made and judged: `compactlib.digesting`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from attrs import field, frozen

from ..budget import Policy
from ..collapsing import closed_turns, turn_key
from ..digesting import digest
from ..driving import Summarise
from ..model import Conversation, Json
from ..outcomes import Compacted, Outcome
from ..preview import plan
from ..tasks import When
from ..turns import divide
from .printing import count, shortened

__all__ = ["Digests", "digests_made"]

_NONE: Final[Mapping[str, str]] = {}
_SHOWN: Final = 12
_WHY_CHARS: Final = 80


@frozen
class Digests:
    """
    The digests of one conversation.

    Attributes:
        texts: by the names of their turns, as `compactlib.compact` takes them.
        stops: the turns that have one, from the message it begins with to the one behind it, as the wire numbers them.
        failed: why a turn got none, by the message it begins with.
        requests: how often somebody was asked.
        is_wanted: whether the policy wants digests at all.
        why_none: why nobody was asked though it does.
    """

    texts: Mapping[str, str] = field(default=_NONE, repr=False)
    stops: Mapping[int, int] = field(factory=dict)
    failed: Mapping[int, str] = field(factory=dict)
    requests: int = 0
    is_wanted: bool = False
    why_none: str = ""

    def unused(self, outcome: Outcome) -> tuple[int, ...]:
        """The turns whose digest stands for nothing in the outcome, by the message that they begin with."""
        dropped = outcome.dropped if isinstance(outcome, Compacted) else ()
        reached = max((part.stop for part in dropped if part.rung == "collapse"), default=0)
        return tuple(start for start, stop in self.stops.items() if stop > reached)

    def lines(self, outcome: Outcome) -> list[str]:
        """The account, as one would say it."""
        if not self.is_wanted:
            return []
        if self.why_none:
            return [f"none made: {self.why_none}"]
        unused = self.unused(outcome)
        made, used = count(len(self.stops), "digest"), len(self.stops) - len(unused)
        lines = [f"{made} made in {count(self.requests, 'request')}, {used} used"]
        if unused:
            lines.append(f"paid for and not used: of the turns that begin with {_some(unused)}")
        failures = list(self.failed.items())
        lines += [f"none of the turn that begins with message {start}: {_short(why)}" for start, why in failures[:_SHOWN]]
        return [*lines, f"and of {count(len(failures) - _SHOWN, 'more turn')}"] if len(failures) > _SHOWN else lines

    def as_json(self, outcome: Outcome) -> Json:
        """The same; ``None`` where no digests are wanted."""
        if not self.is_wanted:
            return None
        unused = self.unused(outcome)
        return {
            "made": list(self.stops),
            "unused": list(unused),
            "failed": {str(start): why for start, why in self.failed.items()},
            "requests": self.requests,
        }


def digests_made(
    conversation: Conversation, policy: Policy, summarise: Summarise, *, when: When = "now", has_store: bool
) -> Digests:
    """
    Ask for a digest of each turn that is over, if the policy wants any and a compaction could use one.

    Args:
        conversation, policy, when: as for the compaction.
        summarise: whoever answers.
        has_store: whether old outputs will be cleared first.

    Raises:
        PolicyError: as `compactlib.compact`.
    """
    if policy.digest_every_turns is None:
        return Digests()
    if not closed_turns(divide(conversation)):
        return Digests(is_wanted=True, why_none="no turn is over")
    expected = plan(conversation, policy, when=when, store=has_store)
    if "summarise" not in expected.rungs and not expected.reason.startswith("summary-failed"):  # another may do better
        why = "clearing is enough" if expected.rungs else "the conversation stays as it is"
        return Digests(is_wanted=True, why_none=why)
    made = digest(conversation, policy, summarise=summarise)
    at = conversation.wire_index
    stops = {
        at(turn.start): at(turn.stop)
        for turn in closed_turns(divide(conversation))
        if turn_key(conversation.messages[turn.start : turn.stop]) in made.digests
    }
    return Digests(made.digests, stops, made.failed, len(made.asked), is_wanted=True)


def _short(why: str) -> str:
    return shortened(why, _WHY_CHARS)


def _some(places: tuple[int, ...]) -> str:
    """Some messages, named by their numbers."""
    more = f" and {len(places) - _SHOWN} more" if len(places) > _SHOWN else ""
    return f"message{'' if len(places) == 1 else 's'} {', '.join(map(str, places[:_SHOWN]))}{more}"
