"""
Pictures, documents and sounds, free of any provider's wire.

What this is
    `plain_media`, which reads what a dialect says about a medium into neutral
    terms, and `fit`, which tells whether another dialect can hold it.

Rules it obeys
    * Nothing is fetched and nothing is encoded anew: bytes cross as they are,
      addresses as they are.  A file that lies in one provider's own store has
      no address for another.
    * A document of plain text is text: its words cross, whatever the wire calls
      them.

How it works
    A neutral medium is a `Media` whose kind follows from its media type, whose
    ``data`` is base64, whose ``url`` is an address that everybody can reach,
    and whose ``source`` is its title or file name, if it has one.

What is not here
    Media that a result may not carry: `carriers`.  How a dialect writes a
    medium: `writing`.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Final

from attrs import evolve

from ..model import Json, Media, Wire, wire

__all__ = ["DOCUMENTS", "address", "fit", "plain_media", "words_of"]

_PLAIN: Final = wire("media")

DOCUMENTS: Final[Mapping[str, str]] = {
    "application/pdf": "pdf",
    "text/csv": "csv",
    "application/msword": "doc",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
    "application/vnd.ms-excel": "xls",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
    "text/html": "html",
    "text/plain": "txt",
    "text/markdown": "md",
}
"""Media types of documents, and what Bedrock calls them."""

_PICTURES: Final = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
_SOUNDS: Final = frozenset({"audio/wav", "audio/mp3", "audio/mpeg"})
_BY_FIRST_CHARS: Final = {
    "/9j/": "image/jpeg",
    "iVBOR": "image/png",
    "R0lGO": "image/gif",
    "UklGR": "image/webp",
    "JVBER": "application/pdf",
}
_SOUNDS_BY_FIRST_CHARS: Final = {"UklGR": "audio/wav", "SUQz": "audio/mp3", "//u": "audio/mp3", "//v": "audio/mp3"}
_SUFFIXES: Final = {
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "png": "image/png",
    "gif": "image/gif",
    "webp": "image/webp",
    "pdf": "application/pdf",
    "wav": "audio/wav",
    "mp3": "audio/mp3",
    "ogg": "audio/ogg",
    "mp4": "video/mp4",
    "webm": "video/webm",
}
_ADDRESSES: Final = ("https://", "http://")
_DATA, _URL = "data", "url"

# dialect -> kind -> in which ways a user message may hold it, and of which types as data; any where none are named
_HELD: Final[Mapping[str, Mapping[str, tuple[frozenset[str], frozenset[str]]]]] = {
    "anthropic": {
        "image": (frozenset({_DATA, _URL}), _PICTURES),
        "document": (frozenset({_DATA, _URL}), frozenset({"application/pdf", "text/plain"})),
    },
    "openai-chat": {
        "image": (frozenset({_DATA, _URL}), frozenset()),
        "audio": (frozenset({_DATA}), _SOUNDS),
        "document": (frozenset({_DATA}), frozenset()),
    },
    "openai-responses": {
        "image": (frozenset({_DATA, _URL}), frozenset()),
        "document": (frozenset({_DATA, _URL}), frozenset()),
    },
    "gemini": dict.fromkeys(("image", "audio", "video", "document"), (frozenset({_DATA, _URL}), frozenset())),
    "bedrock": {
        "image": (frozenset({_DATA}), _PICTURES),
        "document": (frozenset({_DATA}), frozenset(DOCUMENTS)),
        "video": (frozenset({_DATA}), frozenset()),
    },
    "mistral": {
        "image": (frozenset({_DATA, _URL}), frozenset()),
        "audio": (frozenset({_DATA, _URL}), frozenset()),
        "document": (frozenset({_DATA, _URL}), frozenset()),
    },
}


def plain_media(block: Media) -> Media | None:
    """
    The medium in neutral terms; ``None`` where nobody but its provider can reach it.

    >>> from compactlib.dialects import parse
    >>> part = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    >>> [message] = parse([{"role": "user", "content": [part]}], dialect="openai-chat").messages
    >>> picture = plain_media(message.blocks[0])
    >>> picture.kind, picture.mime, picture.data
    ('image', 'image/png', 'iVBORw0KGgo=')
    """
    source, data, url, mime = block.source, block.data, block.url, block.mime
    title = _title(block.wire, source)
    if isinstance(source, dict) and block.wire.tag == "document" and source.get("type") in ("text", "content"):
        words = data if source["type"] == "text" else _words(source.get("content"))
        if words is None:
            return None
        data, mime = base64.b64encode(words.encode("utf-8", "surrogatepass")).decode("ascii"), "text/plain"
    if data is not None and data.startswith(_ADDRESSES):  # some routes take an address where bytes are wanted
        data, url = None, data
    if data is not None and not mime:
        known = _SOUNDS_BY_FIRST_CHARS if block.kind == "audio" else _BY_FIRST_CHARS
        mime = next((one for start, one in known.items() if data.startswith(start)), "")
    if data is None:
        if url is None or not url.startswith(_ADDRESSES) or "generativelanguage.googleapis.com" in url:
            return None
        suffix = url.partition("?")[0].rpartition(".")[2].lower()
        mime = mime or _SUFFIXES.get(suffix, "")
    if mime == "audio/mpeg":
        mime = "audio/mp3"
    kind = mime.partition("/")[0] if mime else block.kind
    if kind not in ("image", "audio", "video"):
        kind = "document"
    return Media(kind, mime, data, url if data is None else None, title, _PLAIN)


def _title(shape: Wire, source: Json) -> str | None:
    for key in ("title", "name"):
        title = shape.get(key)
        if isinstance(title, str) and title:
            return title
    title = source.get("filename") if isinstance(source, dict) else None
    return title if isinstance(title, str) and title else None


def _words(content: Json) -> str | None:
    """The words of a document that is made of blocks, if it holds nothing else."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return None
    texts = [part.get("text") if isinstance(part, dict) and part.get("type") == "text" else None for part in content]
    return "\n".join(map(str, texts)) if None not in texts else None


def fit(media: Media, dialect: str) -> Media | None:
    """What *dialect* can hold of a neutral medium in a user message: itself, or ``None``."""
    held = _HELD[dialect].get(media.kind)
    way = _URL if media.data is None else _DATA
    if held is None or way not in held[0]:
        return None
    if way == _URL or not held[1] or media.mime in held[1]:
        if dialect == "anthropic" and media.mime == "text/plain":
            return None if words_of(media) is None else media
        return media
    if media.mime.startswith("text/") and "text/plain" in held[1] and words_of(media) is not None:
        return evolve(media, mime="text/plain")
    return None


def words_of(media: Media) -> str | None:
    """The words of a document of plain text; ``None`` if its bytes are none."""
    try:
        return base64.b64decode(media.data or "", validate=True).decode("utf-8")
    except (binascii.Error, ValueError):
        return None


def address(media: Media) -> str:
    """One address for a medium: its own, or one that holds its bytes."""
    if media.data is None:
        return media.url or ""
    return f"data:{media.mime or 'application/octet-stream'};base64,{media.data}"
