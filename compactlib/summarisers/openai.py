"""
OpenAI's models, and all servers that speak as they do, as summarisers by the official SDK.

What this is
    `OpenAISummariser`, and `AsyncOpenAISummariser` for `acompact`.

Rules it obeys
    * Chat Completions, because that is what compatible servers have.  One
      system and one user message, and no parameter that some of them do not
      know: of two names for the limit of the reply, OpenAI itself wants the
      newer, and others know the older.
    * A refusal that stands beside the text, with a normal end, is a refusal.
    * Stops at a limit and calls are told as they are, and judged by the engine
      (law L6).

What is not here
    The Responses API and its compaction of the history at the provider.
"""

from __future__ import annotations

from typing import Any

from ..errors import SummariserError
from ..summaries.acceptance import Summary
from ..summaries.rendering import SummaryRequest
from .asking import Asking, Asynchronous, Synchronous, figures, well_formed

__all__ = ["AsyncOpenAISummariser", "OpenAISummariser"]


class _OpenAI(Asking):
    """What both have in common."""

    _package = "openai"
    _key_names = ("api_key", "workload_identity")
    _key_hint = "set OPENAI_API_KEY; a server that wants none takes any"

    def _create(self, request: SummaryRequest) -> Any:
        host = str(getattr(getattr(self.client, "base_url", ""), "host", ""))
        is_its_own = host == "openai.com" or host.endswith((".openai.com", ".openai.azure.com"))
        limit = {"max_completion_tokens" if is_its_own else "max_tokens": self._reply_limit(request)}
        return self.client.chat.completions.create(
            model=self.model,
            messages=[
                {"role": "system", "content": well_formed(request.instructions)},
                {"role": "user", "content": well_formed(request.text)},
            ],
            timeout=self._timeout_seconds,
            **limit,
        )

    def _summary(self, reply: Any) -> Summary:
        choices = getattr(reply, "choices", None)
        if not choices or choices[0].message is None:
            raise SummariserError("the provider's answer holds no choice")
        [choice, *_] = choices
        message = choice.message
        calls = len(message.tool_calls or ()) + (message.function_call is not None)
        stop = "refusal" if message.refusal else str(choice.finish_reason)
        return Summary(message.content or "", usage=figures(reply.usage), stop=stop, tool_calls=calls)


class OpenAISummariser(_OpenAI, Synchronous):
    """
    Answers a `SummaryRequest` by a model of OpenAI's or of a compatible server.

    Does not: stream, or say how much the model is to think.

    Attributes:
        model: the model's name.
        client: the SDK's client.
    """

    _client_class = "OpenAI"


class AsyncOpenAISummariser(_OpenAI, Asynchronous):
    """The same with the asynchronous client, for `compactlib.acompact`."""

    _client_class = "AsyncOpenAI"
