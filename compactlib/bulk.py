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

from attrs import frozen

from .budget import Policy
from .dialects import render
from .dialects.reading import dumps
from .model import Conversation, Media, Result

__all__ = ["Bulk", "bulk_of"]


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

    def exceeds(self, policy: Policy) -> bool:
        """Whether it is more than the policy allows."""
        return (policy.max_body_bytes is not None and (self.body_bytes or 0) > policy.max_body_bytes) or (
            policy.max_media is not None and self.media > policy.max_media
        )


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


def _media_in(block: object) -> int:
    if isinstance(block, Result):
        return sum(isinstance(part, Media) for part in block.blocks)
    return int(isinstance(block, Media))
