"""
How large a picture is, read from the head of its file.

Providers refuse pictures by their sides (rule A-IMG-03), so the validator has
to know them.  Only the first 64 KiB are decoded, whatever is claimed to follow,
and nothing is decompressed.  PNG, GIF, JPEG and WebP are known; anything else,
and anything broken, is ``None``: unknown is never a finding.
"""

from __future__ import annotations

import binascii
from typing import Final

__all__ = ["pixel_size"]

_HEAD_CHARS: Final = 4 * (65_536 // 3)  # base64: four characters are three bytes
_SIZE_MARKERS: Final = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}  # JPEG start of frame; the three are tables


def pixel_size(data: str) -> tuple[int, int] | None:
    """
    Width and height of the picture whose base64 is *data*, in pixels.

    >>> import base64, struct
    >>> head = bytes([137]) + b"PNG\\r\\n" + bytes([26, 10]) + struct.pack(">I4sII", 13, b"IHDR", 2400, 1080)
    >>> pixel_size(base64.b64encode(head).decode())
    (2400, 1080)
    >>> pixel_size("no picture") is None
    True
    """
    try:
        head = binascii.a2b_base64(data[:_HEAD_CHARS].encode("ascii") + b"==")  # a cut may need padding
    except (binascii.Error, UnicodeEncodeError):
        return None
    if head[:8] == b"\x89PNG\r\n\x1a\n":
        return _pair(head[16:20], head[20:24], "big")
    if head[:4] == b"GIF8":
        return _pair(head[6:8], head[8:10], "little")
    if head[:2] == b"\xff\xd8":
        return _jpeg(head)
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return _webp(head)
    return None


def _pair(width: bytes, height: bytes, order: str) -> tuple[int, int] | None:
    if not height:
        return None
    wide, high = (int.from_bytes(side, "big" if order == "big" else "little") for side in (width, height))
    return wide, high


def _jpeg(head: bytes) -> tuple[int, int] | None:
    """Walk the segments up to the start of frame.  Each step goes at least two bytes on."""
    at = 2
    while at + 9 <= len(head) and head[at] == 0xFF:
        marker = head[at + 1]
        if marker in _SIZE_MARKERS:
            return _pair(head[at + 7 : at + 9], head[at + 5 : at + 7], "big")
        length = 0 if marker == 0xFF or 0xD0 <= marker <= 0xD8 else int.from_bytes(head[at + 2 : at + 4], "big")
        at += 1 if marker == 0xFF else 2 + length
    return None


def _webp(head: bytes) -> tuple[int, int] | None:
    kind = head[12:16]
    if kind == b"VP8 " and len(head) >= 30:
        wide, high = (int.from_bytes(head[at : at + 2], "little") & 0x3FFF for at in (26, 28))
        return wide, high
    if kind == b"VP8L" and len(head) >= 25:
        bits = int.from_bytes(head[21:25], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if kind == b"VP8X" and len(head) >= 30:
        return int.from_bytes(head[24:27], "little") + 1, int.from_bytes(head[27:30], "little") + 1
    return None
