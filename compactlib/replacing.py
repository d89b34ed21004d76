"""
What a summary stands for: the messages before the cut, and what stood for older ones.

What this is
    `replaced_by` gives the messages that a summariser is shown, `previous_record`
    the summary that is brought up to date and what stood behind it, and
    `opaque_in` the provider's own compaction object.

Rules it obeys
    * Law L15.  Each message is shown once; what stays verbatim elsewhere is not.
    * Law L20.  The previous summary is taken out of the history.
    * What a summary had quoted, and has no room any more, is shown in the place
      of the messages that it stands for (`no_longer_kept`).
    * A compaction object that nobody but the provider can read stays as it is.

What is not here
    Where the cut is, and what fits (`planning`).
"""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve, frozen

from .model import Block, Message, Opaque, Origin, Text, new_message, wire
from .summaries.head import DIGEST_NOTE, Earlier, read_earlier, read_summary
from .turns import Division, Kind, origins
from .visible import last_compaction

__all__ = ["CompactionObject", "no_longer_kept", "opaque_in", "previous_record", "replaced_by"]


@frozen
class CompactionObject:
    """Where a provider's compaction object stands: its message, its place among the blocks, and what is kept of it."""

    at: int
    place: int
    kept: tuple[Message]


def opaque_in(messages: tuple[Message, ...]) -> CompactionObject | None:
    """The last compaction object, if nobody but the provider can read it: it stays, verbatim."""
    at, place = last_compaction(messages)
    block = messages[at].content[place] if at >= 0 else None
    if not isinstance(block, Opaque) or isinstance(block.value.get("content"), str):
        return None
    message = messages[at]
    kept = message if len(message.content) == 1 else evolve(message, content=(block,), origin=None)
    return CompactionObject(at, place, (kept,))


def previous_record(
    messages: tuple[Message, ...], division: Division, cut: int, given: str | None
) -> tuple[str, tuple[Earlier, ...]]:
    """The body of the summary that is replaced, and the prompts and digests that stood behind it (law L20)."""
    body = given or ""
    earlier: tuple[Earlier, ...] = ()
    for at in range(min(cut, division.head_stop)):
        if division.kinds[at] is not Kind.SUMMARY:
            continue
        texts = [block.text for block in messages[at].blocks if isinstance(block, Text)]
        head = read_summary(texts[0]) if texts else None
        if head is not None:
            body = given or head.body
            earlier = tuple(entry for text in texts[1:] for entry in read_earlier(text))
            break
    if not body:
        for message in messages[:cut]:
            for block in message.blocks:
                if isinstance(block, Opaque) and block.kind == "compaction" and isinstance(block.value, dict):
                    said = block.value.get("content")
                    body = said if isinstance(said, str) else body
    return body, earlier


def replaced_by(
    messages: tuple[Message, ...],
    division: Division,
    cut: int,
    elsewhere: set[int | None],
    preamble: tuple[Message, ...],
    opaque: CompactionObject | None,
) -> dict[int, Message]:
    """What the summary stands for, by place, each message with its origins stated; not what stays verbatim *elsewhere*."""
    replaced = {}
    kept = set(map(id, preamble))
    start, place = (0, 0) if opaque is None else (opaque.at, opaque.place)
    for at in range(start, cut):
        kind = division.kinds[at]
        message = messages[at]
        if at in elsewhere or kind in (Kind.SYSTEM, Kind.PIN, Kind.REMINDER) or id(message) in kept:
            continue
        if kind is Kind.SUMMARY and at < division.head_stop and read_summary(message.text) is not None:
            continue
        content, where = message.content, origins(message, kind)
        first = place if at == start else 0
        if not isinstance(content, str) and content and (first or any(map(_is_object, content))):
            left = [n for n, block in enumerate(content) if n >= first and not _is_object(block)]
            if not left:
                continue
            if len(left) < len(content):
                content, where = tuple(content[n] for n in left), tuple(where[n] for n in left)
        replaced[at] = new_message(message.role, content, message.wire, where)
    return replaced


def _is_object(block: Block) -> bool:
    """Whether a block is a provider's compaction object, read or not."""
    return isinstance(block, Opaque) and block.kind == "compaction"


def no_longer_kept(before: Sequence[Earlier], earlier: Sequence[Block]) -> tuple[Message, ...]:
    """
    What stood behind the previous summary and is now replaced: digests behind their prompts, and prompts without room.

    Each is shown as a message, in the place of those that it stands for.
    """
    kept = {entry.text for block in earlier if isinstance(block, Text) for entry in read_earlier(block.text)}
    made: list[Message] = []
    said: list[tuple[Text, Origin]] = []
    for entry in before:
        if entry.kind == "prompt":
            said.append((Text(entry.text), Origin.HUMAN))
            continue
        said.append((Text(f"{DIGEST_NOTE}{entry.text}"), Origin.HARNESS))
        made.append(_shown(said))
        said = []
    said = [(text, origin) for text, origin in said if text.text not in kept]
    return (*made, _shown(said)) if said else tuple(made)


def _shown(said: Sequence[tuple[Text, Origin]]) -> Message:
    return Message("user", tuple(text for text, _ in said), wire("user"), tuple(origin for _, origin in said))
