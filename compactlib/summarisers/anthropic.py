"""
Anthropic's models as summarisers, by the official SDK.

What this is
    `AnthropicSummariser`, and `AsyncAnthropicSummariser` for `acompact`.

Rules it obeys
    * One user message without tools: nothing can be called, and no tool block
      needs a declaration.
    * Refusals, stops at a limit and calls are told as they are, and judged by
      the engine (law L6).

What is not here
    Prompt caches: a serialised request shares no prefix with the conversation.
    The provider's own compaction.
"""

from __future__ import annotations

from typing import Any

from ..summaries.acceptance import Summary
from ..summaries.rendering import SummaryRequest
from .asking import Asking, Asynchronous, Synchronous, figures, well_formed

__all__ = ["AnthropicSummariser", "AsyncAnthropicSummariser"]


class _Anthropic(Asking):
    """What both have in common."""

    _package = "anthropic"
    _key_names = ("api_key", "auth_token", "credentials")
    _key_hint = "set ANTHROPIC_API_KEY"

    def _create(self, request: SummaryRequest) -> Any:
        return self.client.messages.create(
            model=self.model,
            max_tokens=self._reply_limit(request),
            system=well_formed(request.instructions),
            messages=[{"role": "user", "content": well_formed(request.text)}],
            timeout=self._timeout_seconds,
        )

    def _summary(self, reply: Any) -> Summary:
        blocks = reply.content or []
        kinds = [str(getattr(block, "type", "")) for block in blocks]
        texts = [block.text for block, kind in zip(blocks, kinds, strict=True) if kind == "text"]
        return Summary(
            "".join(texts),
            usage=figures(reply.usage),
            stop=str(reply.stop_reason),
            tool_calls=sum(kind.endswith("tool_use") for kind in kinds),
        )


class AnthropicSummariser(_Anthropic, Synchronous):
    """
    Answers a `SummaryRequest` by one of Anthropic's models.

    Does not: stream, or think unless the model does so unasked.

    Attributes:
        model: the model's name.
        client: the SDK's client.
    """

    _client_class = "Anthropic"


class AsyncAnthropicSummariser(_Anthropic, Asynchronous):
    """The same with the asynchronous client, for `compactlib.acompact`."""

    _client_class = "AsyncAnthropic"
