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
from .asking import Asking, figures, need_transcript, well_formed

__all__ = ["AnthropicSummariser", "AsyncAnthropicSummariser"]


class _Anthropic(Asking):
    """What both have in common."""

    _package = "anthropic"
    _key_names = ("api_key", "auth_token", "credentials")
    _key_hint = "set ANTHROPIC_API_KEY"

    def _arguments(self, request: SummaryRequest) -> dict[str, Any]:
        need_transcript(request)
        return {
            "model": self.model,
            "max_tokens": self._reply_limit(request),
            "system": well_formed(request.instructions),
            "messages": [{"role": "user", "content": well_formed(request.text)}],
            "timeout": self._timeout_seconds,
        }


class AnthropicSummariser(_Anthropic):
    """
    Answers a `SummaryRequest` by one of Anthropic's models.

    Does not: stream, or think unless the model does so unasked.

    Attributes:
        model: the model's name.
        client: the SDK's client.
    """

    _client_class = "Anthropic"

    def __call__(self, request: SummaryRequest) -> Summary:
        """
        The model's answer.

        Raises:
            SummariserError: there was none; its subclasses say what may help.
            TimeoutError: it took too long.
        """
        with self._failures():
            return _summary(self.client.messages.create(**self._arguments(request)))


class AsyncAnthropicSummariser(_Anthropic):
    """The same with the asynchronous client, for `compactlib.acompact`."""

    _client_class = "AsyncAnthropic"

    async def __call__(self, request: SummaryRequest) -> Summary:
        """
        The model's answer.

        Raises:
            SummariserError: there was none; its subclasses say what may help.
            TimeoutError: it took too long.
        """
        with self._failures():
            return _summary(await self.client.messages.create(**self._arguments(request)))


def _summary(message: Any) -> Summary:
    """What the engine wants to know of a reply."""
    blocks = message.content or []
    kinds = [str(getattr(block, "type", "")) for block in blocks]
    texts = [block.text for block, kind in zip(blocks, kinds, strict=True) if kind == "text"]
    return Summary(
        "".join(texts),
        usage=figures(message.usage),
        stop=str(message.stop_reason),
        tool_calls=sum(kind.endswith("tool_use") for kind in kinds),
    )
