"""
Mistral's chat completions: wire shape <-> model.

Grammar (what is read; all else is a `WireError`): that of `openai_chat`, with

    message   = {"role": string, "content"?: string | [chunk*] | null, "prefix"?: boolean, ...}
    chunk     = {"type": "text", "text": string}
              | {"type": "thinking", "thinking": string | [chunk*], ...}
              | {"type": "image_url" | "document_url" | "audio_url", TYPE: string | object}
              | {"type": string, ...}

How it maps
    * A ``thinking`` chunk is a `Reasoning` where it stands among the others.
      It has no seal and goes back as it came.
    * ``document_url`` and ``audio_url`` are `Media` as ``image_url`` is;
      ``reference`` and every other chunk is `Opaque`.
    * ``prefix``, and a tool message's ``name``, are residue.

What is not here
    What is legal (`protocol`), ids of nine characters among it.
"""

from __future__ import annotations

from typing import Final

from ..model import Block, Json, Message, Reasoning
from .openai_chat import parse_part, parse_system, parse_tools, read_media, read_messages, render_message
from .shapes import ShapeError, Take, kind_of, shape_of

__all__ = ["NAME", "parse_messages", "parse_system", "parse_tools", "render_message"]

NAME: Final = "mistral"

_MEDIA: Final = {"document_url": "document", "audio_url": "audio"}
_TYPE: Final = frozenset({"type"})


def parse_messages(raw: list[Json], take: Take) -> list[Message]:
    """
    The messages of a body.

    Raises:
        WireError: with the path of the first wrong shape.
    """
    return read_messages(raw, take, _parse_chunk)


def _parse_chunk(raw: Json, take: Take) -> Block:
    kind = raw.get("type") if raw.__class__ is dict else None
    if kind == "thinking":
        return Reasoning(_thoughts(raw.get("thinking")), None, shape_of(raw, kind, _TYPE, take))
    if kind.__class__ is str and kind in _MEDIA:
        return read_media(raw, kind, _MEDIA[kind], take)
    return parse_part(raw, take)


def _thoughts(raw: Json) -> str:
    """The words of a thinking chunk; the chunk itself is residue."""
    if raw.__class__ is str:
        text: str = raw
        return text
    if raw.__class__ is not list:
        raise ShapeError(".thinking", f"thinking is a string or a list of chunks, not {kind_of(raw)}")
    texts = [chunk.get("text") for chunk in raw if chunk.__class__ is dict]
    return "\n".join(text for text in texts if text.__class__ is str)
