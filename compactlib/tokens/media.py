"""
What a picture, a document, a sound costs, by the rules that providers state.

What this is
    `media_size` gives the tokens of one media block and says whether they are
    known or a stated guess.

Rules it obeys
    * No media is free: what cannot be measured (an address, a file id, an
      unknown format) costs the constant of its kind and is flagged.
    * At most 64 KiB of a payload are decoded and nothing is decompressed, so a
      picture that claims to be enormous costs no time.

How it works
    *Pictures.*  The shape on the wire tells whose rule applies.  Anthropic:
    scaled down to 1,568 on the long side and to about 1.15 megapixels, then
    one token for each 750 pixels.  OpenAI: 85, and unless the detail is low,
    scaled to fit 2,048 by 2,048 and to 768 on the short side, 170 for each tile
    of 512.  Gemini: 258 for a small picture, else 258 for each tile of 768.
    For any other shape the dearest of the three.

    *Documents* hold text and the picture of each page.  Nobody can count pages
    without reading the file, so a page is taken for each 48 KiB, at 2,250
    tokens (Anthropic states 1,500 to 3,000).  A text document is counted as
    text.  *Sound* is taken to come at 16 KiB and 32 tokens a second, *video* at
    128 KiB and 263.

What is not here
    Limits on sides, number and bytes of media: `compactlib.protocol`.
"""

from __future__ import annotations

import binascii
from collections.abc import Callable, Mapping
from typing import Final

from attrs import frozen

from ..model import Media
from .estimator import Counter
from .jsontext import json_text

__all__ = ["MediaSize", "media_size", "pixel_size"]

_LARGEST_PICTURE_TOKENS: Final = 1_600
"""What a picture of unknown size costs: about the most that the rules of Anthropic and OpenAI ever charge."""

_PAGE_TOKENS: Final = 2_250
_KIB: Final = 1_024

_RATES: Final[Mapping[str, tuple[int, int]]] = {
    "document": (48 * _KIB, _PAGE_TOKENS),
    "file": (48 * _KIB, _PAGE_TOKENS),
    "audio": (16 * _KIB, 32),
    "video": (128 * _KIB, 263),
}
"""For each kind: bytes of a page or a second, and its tokens."""

_UNSEEN: Final[Mapping[str, int]] = {
    "image": _LARGEST_PICTURE_TOKENS,
    "document": 2 * _PAGE_TOKENS,
    "file": 2 * _PAGE_TOKENS,
    "audio": 60 * 32,
    "video": 60 * 263,
}
"""When not even bytes are there: a large picture, two pages, a minute."""


@frozen
class MediaSize:
    """
    The tokens of one media block.

    Attributes:
        tokens: never 0.
        is_known: measured by the provider's rule; else a stated guess.
    """

    tokens: int
    is_known: bool


def media_size(media: Media, counter: Counter) -> MediaSize:
    """
    What *media* costs; *counter* is asked only for the words of a text document.

    >>> from compactlib.model import wire
    >>> elsewhere = Media("image", "", None, "https://example.org/plan.png", None, wire("image"))
    >>> media_size(elsewhere, len)
    MediaSize(tokens=1600, is_known=False)
    """
    data = media.data
    if data is None:
        if isinstance(media.source, dict) and media.source.get("type") == "content":  # a document made of blocks
            return MediaSize(max(counter(json_text(media.source)), 1), is_known=True)
        return MediaSize(_UNSEEN.get(media.kind, _LARGEST_PICTURE_TOKENS), is_known=False)
    if media.kind == "image":
        size = pixel_size(data)
        if size is None or not all(size):
            return MediaSize(_LARGEST_PICTURE_TOKENS, is_known=False)
        return MediaSize(_picture_tokens(media, *size), is_known=True)
    if media.mime.startswith("text/"):
        return MediaSize(max(counter(_plain(media)), 1), is_known=True)
    unit_bytes, unit_tokens = _RATES.get(media.kind, _RATES["file"])
    size_bytes = len(data) * 3 // 4 - data[-2:].count("=")
    return MediaSize(max(-(-size_bytes // unit_bytes), 1) * unit_tokens, is_known=False)


def _plain(media: Media) -> str:
    """The words of a text document: as they stand (Anthropic's source of type ``text``), or out of base64."""
    data = media.data or ""
    if isinstance(media.source, dict) and media.source.get("type") == "text":
        return data
    try:
        return binascii.a2b_base64(data).decode("utf-8", "replace")
    except (binascii.Error, ValueError):
        return data


def _picture_tokens(media: Media, width: int, height: int) -> int:
    rule = _RULES.get(media.wire.tag)
    if rule is None:
        return max(_anthropic(width, height), _openai(width, height), _gemini(width, height))
    if rule is _openai and isinstance(media.source, dict) and media.source.get("detail") == "low":
        return _OPENAI_BASE_TOKENS
    return rule(width, height)


def _fitted(width: int, height: int, *, long: int = 0, short: int = 0) -> tuple[int, int]:
    """The sides scaled down, never up, so that the long one is at most *long* or the short one at most *short*."""
    measure, limit = (max(width, height), long) if long else (min(width, height), short)
    if measure <= limit:
        return width, height
    return max(width * limit // measure, 1), max(height * limit // measure, 1)


def _anthropic(width: int, height: int) -> int:
    width, height = _fitted(width, height, long=1_568)
    return min(max(-(-width * height // 750), 1), _LARGEST_PICTURE_TOKENS)


_OPENAI_BASE_TOKENS: Final = 85


def _openai(width: int, height: int) -> int:
    width, height = _fitted(*_fitted(width, height, long=2_048), short=768)
    return _OPENAI_BASE_TOKENS + 170 * -(-width // 512) * -(-height // 512)


def _gemini(width: int, height: int) -> int:
    if max(width, height) <= 384:
        return 258
    return 258 * min(-(-width // 768) * -(-height // 768), 64)


_RULES: Final[Mapping[str, Callable[[int, int], int]]] = {
    "image": _anthropic,
    "image_url": _openai,
    "input_image": _openai,
    "inlineData": _gemini,
    "inline_data": _gemini,
}
"""By the block's own word on the wire."""

_HEAD_CHARS: Final = 64 * _KIB // 3 * 4  # base64: four characters are three bytes
_JPEG_FRAMES: Final = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})  # start of frame; the three are tables


def pixel_size(data: str) -> tuple[int, int] | None:
    """
    Width and height of the PNG, GIF, JPEG or WebP picture whose base64 is *data*; ``None`` if its head does not say.

    >>> pixel_size("R0lGODlhQAHwAIAAAP///wAAACH5BAAAAAAALAAAAABAAfAAAAI=")
    (320, 240)
    """
    try:
        head = binascii.a2b_base64(data[:_HEAD_CHARS].encode("ascii") + b"==")  # the cut may want padding
    except (binascii.Error, UnicodeEncodeError):
        return None
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return _sides(head, 16, 20, 4, "big")
    if head.startswith(b"GIF8"):
        return _sides(head, 6, 8, 2, "little")
    if head.startswith(b"\xff\xd8"):
        return _jpeg(head)
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return _webp(head)
    return None


def _sides(head: bytes, width_at: int, height_at: int, length: int, order: str) -> tuple[int, int] | None:
    if len(head) < height_at + length:
        return None
    sides = (head[width_at : width_at + length], head[height_at : height_at + length])
    width, height = (int.from_bytes(side, "big" if order == "big" else "little") for side in sides)
    return width, height


def _jpeg(head: bytes) -> tuple[int, int] | None:
    """From segment to segment up to the start of frame; each step goes on by at least a byte."""
    at = 2
    while at + 9 <= len(head) and head[at] == 0xFF:
        marker = head[at + 1]
        if marker in _JPEG_FRAMES:
            height, width = (int.from_bytes(head[start : start + 2], "big") for start in (at + 5, at + 7))
            return width, height
        if marker == 0xFF:  # padding
            at += 1
        elif 0xD0 <= marker <= 0xD8:  # these have no length
            at += 2
        else:
            at += 2 + int.from_bytes(head[at + 2 : at + 4], "big")
    return None


def _webp(head: bytes) -> tuple[int, int] | None:
    form = head[12:16]
    if form == b"VP8 ":
        sides = _sides(head, 26, 28, 2, "little")
        return sides and (sides[0] & 0x3FFF, sides[1] & 0x3FFF)
    if form == b"VP8L" and len(head) >= 25:
        bits = int.from_bytes(head[21:25], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if form == b"VP8X":
        sides = _sides(head, 24, 27, 3, "little")
        return sides and (sides[0] + 1, sides[1] + 1)
    return None
