"""
``--original``: what the provider returned, from a file of the caller's.

What this is
    `read_original` turns that file into blocks of model messages by their
    index on the wire, as `compactlib.check` and `compactlib.repair` take them.

Rules it obeys
    * The file is the conversation as it was before it was changed, in the same
      format, or an object of indices and blocks.  The former is enough for
      whoever has an older copy, or a log.
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
from .reading import Source, UnreadError, read_source, read_text

__all__ = ["original_option", "read_original"]

_INDEX: Final = re.compile("[0-9]{1,9}")

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
        UnreadError: it cannot be read, or is of another dialect.
    """
    if original is None:
        return None
    if original == "-":
        raise click.UsageError("--original is a file, and not standard input", click.get_current_context())
    value: Json = None
    with suppress(WireError):  # a session has a value for each line
        value = loads(read_text(original))
    if isinstance(value, dict) and value and all(map(_INDEX.fullmatch, value)):
        for index, blocks in value.items():
            if not isinstance(blocks, list):
                raise UnreadError(original, None, f"index {index}: a list of blocks was expected")
        return {int(index): blocks for index, blocks in value.items()}
    returned = read_source(original, source.transcript.format).transcript.conversation
    expected = source.transcript.dialect
    if returned.dialect != expected:
        raise UnreadError(original, None, f"is of {returned.dialect}, and {source.name} of {expected}")
    return _said(returned)


def _said(conversation: Conversation) -> dict[int, Json]:
    """What the model said in a conversation, by its place on the wire."""
    wire: list[Any] = render_messages(conversation)
    places = [conversation.wire_index(at) for at, message in enumerate(conversation.messages) if message.role == "model"]
    return {place: blocks for place in places if isinstance(blocks := _blocks(wire[place]), list)}


def _blocks(message: dict[str, Json]) -> Json:
    """The blocks of a message, its parts, or the item that it is."""
    return message.get("content", message.get("parts")) if "role" in message else [message]
