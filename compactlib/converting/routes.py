"""
What one route refuses and its dialect's own service takes, seen to after a conversion.

What this is
    `fitted`, which mends a converted conversation for the profile that it is
    for, and names each fix as a loss of the input; and `takes`, whether a
    profile takes a conversation as it is.

Rules it obeys
    * Law L1.  What is valid stays valid for the route that was named.
    * It is no repair.  What is broken in its dialect is broken whatever the
      route, and is left alone.
    * Law L16, by `repair`: the same input gives the same output.

How it works
    A profile that is not its dialect's own adds demands: neighbours of one side
    are one message, results stand alone, words and calls are apart.  `repair`
    knows the safe way to meet each of them.

What is not here
    Chat templates, which want more than a repair can give (`templates`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from attrs import evolve

from ..model import Conversation
from ..protocol.profiles import PROFILES, Profile
from ..protocol.repair import Fix, repair
from ..protocol.validator import check
from .losses import Losses

__all__ = ["as_settled", "fitted", "named", "takes"]

_LOSS_OF: Final[Mapping[str, str]] = {
    "append-user": "added",
    "dedup-result": "orphan",
    "drop-empty": "empty",
    "drop-orphan": "orphan",
    "hoist-results": "order",
    "insert-bridge": "added",
    "merge-same-role": "grouping",
    "move-image": "grouping",
    "move-words": "grouping",
    "placeholder-text": "added",
    "rename-id": "field",
    "sentinel-seal": "added",
    "strip-id": "field",
    "strip-seal": "reasoning",
    "synthesize-result": "unanswered",
    "wrap-arguments": "arguments",
}
"""What a fix is called as a loss."""


def takes(conversation: Conversation, profile: Profile) -> bool:
    """Whether a route refuses nothing of a stored conversation."""
    return not any(one.level == "error" for one in check(conversation, mode="history", profile=profile))


def fitted(made: Conversation, target: Profile, places: Sequence[int], losses: Losses) -> Conversation:
    """
    The conversation as *target* takes it; itself if nothing is to be done, or if its dialect's own service would refuse it.

    Args:
        made: what was converted, without a fused head of several messages but at the places that the wire has.
        target: the route.
        places: for each message of its wire the position in the input that it comes from.
        losses: where each fix is noted.
    """
    own = PROFILES[target.dialect]
    if target is own or takes(made, target) or not takes(made, own):
        return made
    mended = repair(made, profile=target)
    named(mended.fixes, places, losses)
    return as_settled(mended.conversation, made)


def as_settled(mended: Conversation, before: Conversation) -> Conversation:
    """The conversation with nothing new to compact in it, where there was nothing new before (law L17)."""
    is_settled = before.settled and before.settled == len(before.messages)
    return evolve(mended, settled=len(mended.messages)) if is_settled else mended


def named(fixes: Sequence[Fix], places: Sequence[int], losses: Losses) -> None:
    """Note fixes as losses of the input."""
    for fix in fixes:
        if fix.index is None or fix.index >= len(places):
            losses.around(_LOSS_OF[fix.name], "", fix.message)
        else:
            losses.at(_LOSS_OF[fix.name], places[fix.index], fix.message)
