"""
Real models as summarisers.

What this is
    Callables for ``compact(..., summarise=...)``, each from `SummaryRequest`
    to `Summary`.

    ============================ ====================================================
    `CommandSummariser`          any command, over its standard input and output
    `AnthropicSummariser`        Anthropic's models, by its SDK (extra ``anthropic``)
    `AsyncAnthropicSummariser`   the same, for ``acompact``
    `OpenAISummariser`           OpenAI's models and compatible servers, by its SDK
                                 (extra ``openai``)
    `AsyncOpenAISummariser`      the same, for ``acompact``
    ============================ ====================================================

Rules it obeys
    * A wing: the core does not know it, and a vendored copy has none.  Nothing
      is imported before it is asked for, and no SDK before one is made.
    * What goes wrong is an exception that says what may help: ask with less
      (`PromptTooLongError`), without media (`MediaRefusedError`), or later
      (`OverloadedError`).  `compact` catches it and changes nothing (law L6).

What is not here
    The summariser that asks no model: `compactlib.summaries.extractive`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:  # what a type checker sees of the names below
    from .anthropic import AnthropicSummariser, AsyncAnthropicSummariser
    from .command import CommandSummariser
    from .openai import AsyncOpenAISummariser, OpenAISummariser

__all__ = [
    "AnthropicSummariser",
    "AsyncAnthropicSummariser",
    "AsyncOpenAISummariser",
    "CommandSummariser",
    "OpenAISummariser",
]

_HOMES: Final = {
    "AnthropicSummariser": "anthropic",
    "AsyncAnthropicSummariser": "anthropic",
    "AsyncOpenAISummariser": "openai",
    "CommandSummariser": "command",
    "OpenAISummariser": "openai",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{home}", __name__), name)
    globals()[name] = value
    return value
