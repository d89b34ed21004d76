"""
The six wire shapes as the checks read them.

What this is
    `read_messages` gives the messages of a body, in any dialect, as roles and
    plain `Block` values; a module for each dialect says how.

Rules it obeys
    * It shares no code with `compactlib.dialects`: it reads the wire again,
      from the providers' documents, and keeps only what the laws speak of.
    * One message in, one out, in order.
    * A value of a wrong shape raises whatever it raises: a check that fails
      that way does not know, and says so.

What is not here
    Heads of compacted conversations (`units`) and what follows from all this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

from ...model import Json
from . import anthropic, bedrock, gemini, openai_chat, openai_responses
from .block import Block, canonical

__all__ = ["DIALECTS", "Block", "canonical", "messages_of", "read_messages", "runs_on", "without_messages"]

_Reader: TypeAlias = Callable[[list[Json]], Iterable[tuple[str, list[Block]]]]

_READERS: Final[Mapping[str, tuple[str, _Reader]]] = MappingProxyType(
    {
        "anthropic": ("messages", anthropic.read),
        "openai-chat": ("messages", openai_chat.read),
        "openai-responses": ("input", openai_responses.read),
        "gemini": ("contents", gemini.read),
        "bedrock": ("messages", bedrock.read),
        "mistral": ("messages", openai_chat.read),
    }
)
"""Where the messages of a dialect stand, and what reads them."""

DIALECTS: Final = tuple(_READERS)
"""Those that are read."""


def messages_of(body: Json, dialect: str) -> list[Json]:
    """
    The messages of a request body, or of a list of them.

    >>> messages_of({"contents": [{"parts": [{"text": "hi"}]}]}, "gemini")
    [{'parts': [{'text': 'hi'}]}]
    """
    raw = body[_READERS[dialect][0]] if isinstance(body, dict) else body
    messages: list[Json] = [{"role": "user", "content": raw}] if isinstance(raw, str) else raw
    return messages


def without_messages(body: Json, dialect: str) -> Json:
    """What stands around the messages, in order."""
    return [(key, value) for key, value in body.items() if key != _READERS[dialect][0]] if isinstance(body, dict) else None


def read_messages(body: Json, dialect: str) -> list[tuple[str, list[Block]]]:
    """
    Role and blocks of each message.

    >>> [(role, [block.kind for block in blocks]) for role, blocks in read_messages([
    ...     {"role": "user", "content": [{"text": "hi"}]},
    ...     {"role": "assistant", "content": [{"toolUse": {"toolUseId": "a", "name": "ls", "input": {}}}]},
    ... ], "bedrock")]
    [('user', ['text']), ('model', ['call'])]
    """
    return list(_READERS[dialect][1](messages_of(body, dialect)))


def runs_on(dialect: str) -> bool:
    """Whether a response of the model may be several neighbouring messages there."""
    return dialect == "openai-responses"
