"""
``--original``: what the provider returned, from a file of the caller's.

What this is
    `read_original` turns that file into blocks of model messages by their
    index on the wire, as `compactlib.check` and `compactlib.repair` take them.

Rules it obeys
    * The file is the conversation as it was before it was changed, or an
      object of indices and blocks.  The former is enough for whoever has an
      older copy, or a log; it may be in another format of the same dialect.
    * What would compare nothing is said and is status 2, because silence
      would be taken for "unaltered": a dialect whose provider is not known to
      compare, and a file that holds no reply at a place where FILE has one.
    * It is read as every other file is, with the same limits; what is wrong
      with it is said with its own name, and is status 2.

What is not here
    Whether an original is believed: `compactlib.protocol.restoring`.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any, Final

import click

from ..dialects import render_messages
from ..dialects.reading import loads
from ..errors import WireError
from ..model import Conversation, Json
from ..protocol.rules import RULES
from .reading import Source, UnreadError, read_source, read_text

__all__ = ["original_option", "read_original"]

_INDEX: Final = re.compile("0|[1-9][0-9]{0,8}")  # each index in one way, so that none stands twice
_COMPARED: Final = frozenset(rule.dialect for rule in RULES.values() if rule.fix == "restore-seal")
_ANSWERS: Final = (("role", "assistant", "model"), ("object", "response"), ("candidates",))
"""By what the answers of those providers are known."""

original_option: Final = click.option(
    "--original",
    metavar="FILE",
    help='What the provider returned: FILE as it was, or {"INDEX": [BLOCKS]}; altered reasoning is told by it.',
)


def read_original(original: str | None, source: Source) -> dict[int, Json] | None:
    """
    Blocks of model messages as they were returned, by their index on the wire of *source*.

    Args:
        original: the file that ``--original`` names, if it is given.
        source: what is looked at.

    Raises:
        click.UsageError: it is standard input.
        UnreadError: it cannot be read, is of another dialect, or there is nothing that it could be compared with.
    """
    if original is None:
        return None
    if original == "-":
        raise click.UsageError("--original is a file, and not standard input", click.get_current_context())
    conversation = source.transcript.conversation
    if conversation.dialect not in _COMPARED:
        raise UnreadError(original, None, f"tells nothing of {source.name}: nobody compares replies in {conversation.dialect}")
    value: Json = None
    with suppress(WireError):  # a session has a value for each line
        value = loads(read_text(original))
    if isinstance(value, dict) and value and all(map(_INDEX.fullmatch, value)):
        for index, blocks in value.items():
            if not isinstance(blocks, list):
                raise UnreadError(original, None, f"index {index}: a list of blocks was expected")
        returned = {int(index): blocks for index, blocks in value.items()}
    elif isinstance(value, dict) and any(_is_answer(value, *marks) for marks in _ANSWERS):
        raise UnreadError(original, None, "is one answer, and does not say where it stands", hint='write {"INDEX": [BLOCKS]}')
    else:
        returned = _said(_as_it_was(original, source))
    if returned.keys().isdisjoint(_replies(conversation)):
        raise UnreadError(original, None, f"holds no reply at a place where {source.name} has one")
    return returned


def _is_answer(value: dict[str, Json], key: str, *values: Json) -> bool:
    """Whether it is what a provider answers, by a key of it, and what stands there."""
    return key in value and (not values or value[key] in values)


def _as_it_was(original: str, source: Source) -> Conversation:
    """The conversation in the file that ``--original`` names, in the dialect of *source* where it could be in several."""
    expected = source.transcript.dialect
    found = read_source(original, None).transcript.conversation
    if found.dialect != expected:
        with suppress(WireError):
            return read_source(original, expected).transcript.conversation
        raise UnreadError(original, None, f"is of {found.dialect}, and {source.name} of {expected}")
    return found


def _said(conversation: Conversation) -> dict[int, Json]:
    """What the model said in a conversation, by its place on the wire."""
    wire: list[Any] = render_messages(conversation)
    return {place: blocks for place in _replies(conversation) if isinstance(blocks := _blocks(wire[place]), list)}


def _replies(conversation: Conversation) -> list[int]:
    """Where on the wire the model speaks."""
    return [conversation.wire_index(at) for at, message in enumerate(conversation.messages) if message.role == "model"]


def _blocks(message: dict[str, Json]) -> Json:
    """The blocks of a message, its parts, or the item that it is."""
    return message.get("content", message.get("parts")) if "role" in message else [message]
