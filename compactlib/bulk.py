"""
How heavy a request is besides its tokens: bytes and media.

What this is
    `bulk_of` measures a conversation as it would be sent, and `Bulk.exceeds`
    says whether that is more than the policy allows.

Rules it obeys
    * It is measured only where the policy has a limit, because it costs as much
      as writing the request.

What is not here
    What is done about it (`cascade`: media go first, then the ladder).
"""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from .budget import Policy
from .dialects import render
from .dialects.reading import dumps
from .model import Conversation, Media, Result

__all__ = ["Bulk", "bulk_of", "lightest_tail"]


@frozen
class Bulk:
    """
    What a request weighs.

    Attributes:
        body_bytes: of its body as compact JSON in UTF-8, ``None`` where nobody limits it.
        media: pictures, documents and recordings in it.
    """

    body_bytes: int | None
    media: int

    def excess(self, policy: Policy) -> tuple[int, int]:
        """How many bytes and media there are beyond what the policy allows."""
        over_bytes = (self.body_bytes or 0) - policy.max_body_bytes if policy.max_body_bytes is not None else 0
        over_media = self.media - policy.max_media if policy.max_media is not None else 0
        return max(over_bytes, 0), max(over_media, 0)

    def exceeds(self, policy: Policy) -> bool:
        """Whether it is more than the policy allows."""
        return any(self.excess(policy))


def bulk_of(conversation: Conversation, policy: Policy) -> Bulk | None:
    """What *conversation* weighs as a request; ``None`` where the policy has no limit."""
    if policy.max_body_bytes is None and policy.max_media is None:
        return None
    media = sum(_media_in(block) for message in conversation.messages for block in message.blocks)
    if policy.max_body_bytes is None:
        return Bulk(None, media)
    body = render(conversation)
    text = body if isinstance(body, str | bytes) else dumps(body)
    return Bulk(len(text) if isinstance(text, bytes) else len(text.encode("utf-8", "surrogatepass")), media)


def lightest_tail(bulk: Bulk | None, conversation: Conversation, policy: Policy, weights: Sequence[int]) -> int | None:
    """
    How many tokens at the end of a request that is too heavy are light enough; ``None`` if it is not too heavy.

    Media are counted, bytes are taken to be spread as tokens are; half of what is allowed is left to what comes next.

    Args:
        bulk: what the request weighs, if that is limited.
        conversation: what it holds.
        policy: what it may weigh.
        weights: tokens of each message.
    """
    if bulk is None or not bulk.exceeds(policy):
        return None
    tokens = sum(weights)
    limit = tokens
    if policy.max_body_bytes is not None and bulk.body_bytes:
        limit = min(limit, tokens * policy.max_body_bytes // bulk.body_bytes // 2)
    if policy.max_media is not None:
        left, size = policy.max_media // 2, 0
        for message, weight in zip(reversed(conversation.messages), reversed(weights), strict=True):
            left -= sum(map(_media_in, message.blocks))
            if left < 0:
                break
            size += weight
        limit = min(limit, size)
    return limit


def _media_in(block: object) -> int:
    if isinstance(block, Result):
        return sum(isinstance(part, Media) for part in block.blocks)
    return int(isinstance(block, Media))
