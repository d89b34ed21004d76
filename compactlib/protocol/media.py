"""
The media of an Anthropic request: how many, how large, and where.

Rules A-IMG-01 to A-IMG-03 and A-SRC-01.  How large an image may be depends on
how many there are, so images that would be too large among many are remembered
until there are.  Sizes are read from the pictures themselves (`pixels`); what
cannot be read is no finding.
"""

from __future__ import annotations

from typing import Final

from ..model import Media
from .pixels import pixel_size
from .reader import Reader
from .violation import Violation

__all__ = ["MediaRules"]

_SIDE_PIXELS: Final = 8_000
_MANY_IMAGES: Final = 20
_MANY_SIDE_PIXELS: Final = 2_000


class MediaRules:
    """Counts the media that a reader meets, and reports through it."""

    __slots__ = ("_images", "_large", "_media", "_reader")

    def __init__(self, reader: Reader) -> None:
        self._reader: Final = reader
        self._media = 0
        self._images = 0
        self._large: list[tuple[int, str, tuple[int, int]]] = []  # too large among many images: (message, path, size)

    def add(self, block: Media, path: str) -> None:
        """A picture or a document at *path* of the message being read."""
        self._media += 1  # a document has at least one page
        limit = self._reader.profile.media_limit
        if limit is not None and self._media == limit + 1:
            self._reader.report("A-IMG-02", path, f"image or document number {self._media}", f"at most {limit}")
        if block.kind != "image":
            return
        self._images += 1
        if self._images == _MANY_IMAGES + 1:
            self._reader.found += [self._too_large(*entry) for entry in self._large]
        size = _size_of(block)
        if size is None or max(size) <= _MANY_SIDE_PIXELS:
            return
        entry = (self._reader.index, path, size)
        if max(size) > _SIDE_PIXELS or self._images > _MANY_IMAGES:
            self._reader.found.append(self._too_large(*entry))
        else:
            self._large.append(entry)

    def _too_large(self, index: int, path: str, size: tuple[int, int]) -> Violation:
        limit = _SIDE_PIXELS if max(size) > _SIDE_PIXELS else _MANY_SIDE_PIXELS
        among = "" if limit == _SIDE_PIXELS else f" among more than {_MANY_IMAGES} images"
        message = f"an image of {size[0]} x {size[1]} pixels{among}"
        return self._reader.violation("A-IMG-03", index, path, message, f"at most {limit} pixels a side")


def _size_of(block: Media) -> tuple[int, int] | None:
    """Width and height; under ``_px`` a linter's input states them without the picture."""
    stated = block.wire.get("_px") if block.wire.rest else None
    if isinstance(stated, list) and len(stated) == 2 and all(type(side) is int for side in stated):
        return stated[0], stated[1]
    return None if block.data is None else pixel_size(block.data)
