"""
Wire bodies as the checks read them.

What this is
    `read` turns the messages of a wire body into *units*: plain values with a
    role, blocks, and the exact bytes they stand for.  One unit is one message,
    but for a fused head, which is taken apart into its pins, its summary, its
    reminders and its prompt.

Rules it obeys
    * It shares no code with the engine, its dialects included: it reads the
      wire again, from the providers' documents and from the published form of
      a summary's header.
    * Cache marks are not content; everything else is, key order included.

What is not here
    What a unit is in its place (`dividing`).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from attrs import evolve, frozen

from ..model import Json
from .record import Origin

__all__ = ["Block", "Summary", "Unit", "canonical", "messages_of", "read", "read_summary"]

_MARK: Final = "cache_control"
_SORTED: Final = json.JSONEncoder(sort_keys=True).encode
_ORDERED: Final = json.JSONEncoder().encode
_ROLES: Final = {"assistant": "model", "function": "tool", "developer": "system"}
_MEDIA: Final = frozenset({"image", "document", "image_url", "input_audio", "file", "video_url"})
_HEADER: Final = re.compile(r"\[compactlib summary v1 chars=([0-9]{1,9}) sha256=([0-9a-f]{16})\]\n")
_LAYOUT: Final = re.compile(
    r"^Layout: pins=([0-9]{1,6}) earlier=([0-9]{1,6}) reminders=([0-9]{1,6}) under-way=(yes|no)\n\n", re.MULTILINE
)


@frozen
class Block:
    """
    One block.

    Attributes:
        kind: ``text``, ``media``, ``call``, ``result``, ``reasoning`` or ``other``.
        raw: the block as canonical JSON, cache marks apart.
        text: its words; of a result, those of its content; of a call, its arguments.
        id: of the call that it is or answers.
        caller: id of the server tool that made the call.
    """

    kind: str
    raw: str
    text: str = ""
    id: str = ""
    caller: str = ""


@frozen
class Unit:
    """
    One message, or one part of a fused head.

    Attributes:
        index: the wire's index.
        role: ``system``, ``user``, ``model`` or ``tool``.
        blocks: in order.
        raw: the message as JSON with its keys in their order, cache marks apart; ``""`` for a part of a head.
        kind: what it is, where that is stated or told by the head's layout.
    """

    index: int
    role: str
    blocks: tuple[Block, ...]
    raw: str
    kind: Origin | None = None

    @property
    def raws(self) -> tuple[str, ...]:
        """Its blocks as canonical JSON: a string and a list of one text are the same."""
        return tuple(block.raw for block in self.blocks)

    @property
    def text(self) -> str:
        """Its words: text blocks alone."""
        return "\n".join(block.text for block in self.blocks if block.kind == "text")

    def of_kind(self, kind: str) -> tuple[Block, ...]:
        """Its blocks of one kind."""
        return tuple(block for block in self.blocks if block.kind == kind)


@frozen
class Summary:
    """
    A summary with a true header.

    Attributes:
        body: its sections.
        pins, earlier, reminders: how many blocks before and after it belong to the head.
        under_way: whether it says that the request after it is already being worked on.
        rest: what stands behind it in the same text.
    """

    body: str
    pins: int
    earlier: int
    reminders: int
    under_way: bool
    rest: str


def read_summary(text: str) -> Summary | None:
    """The summary that *text* begins with, if its header, its length and its digest are right."""
    header = _HEADER.match(text)
    if header is None:
        return None
    whole = text[header.end() : header.end() + int(header[1])]
    digest = hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()
    layout = _LAYOUT.search(whole)
    if len(whole) != int(header[1]) or not digest.startswith(header[2]) or layout is None:
        return None
    pins, earlier, reminders = (int(layout[group]) for group in (1, 2, 3))
    rest = text[header.end() + len(whole) :]
    return Summary(whole[layout.end() :], pins, earlier, reminders, layout[4] == "yes", rest)


def messages_of(body: Json) -> list[Json]:
    """The messages of a request body, or of a list of them."""
    messages: list[Json] = body["messages"] if isinstance(body, dict) else body
    return messages


def canonical(value: Json, *, ordered: bool = False) -> str:
    """*value* as JSON without cache marks; keys sorted unless their order is to count."""
    write = _ORDERED if ordered else _SORTED
    text = write(value)
    return write(_unmarked(value)) if _MARK in text else text


def _unmarked(value: Json) -> Json:
    if isinstance(value, list):
        return [_unmarked(item) for item in value]
    if isinstance(value, dict):
        return {key: _unmarked(item) for key, item in value.items() if key != _MARK}
    return value


def read(body: Json, kinds: Sequence[Origin | None] | None = None) -> tuple[Unit, ...]:
    """
    The units of a body.

    Args:
        body: in either dialect; they are told apart block by block.
        kinds: what each message is, where that is known.

    >>> [unit.role for unit in read([{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}])]
    ['user', 'model']
    """
    units: list[Unit] = []
    for index, message in enumerate(messages_of(body)):
        role = _ROLES.get(message["role"], message["role"])
        kind = kinds[index] if kinds is not None and index < len(kinds) else None
        units.append(Unit(index, role, tuple(_blocks(message, role)), canonical(message, ordered=True), kind))
    return _with_head(units)


# --- Blocks ----------------------------------------------------------------------------------------------------------


def _blocks(message: dict[str, Any], role: str) -> Iterator[Block]:
    content = message.get("content")
    if role == "tool":
        key = message.get("tool_call_id") or ""
        yield Block("result", canonical({"answers": key, "content": content}), _words(content), key)
        return
    for key in ("reasoning_content", "reasoning"):
        if isinstance(message.get(key), str):
            yield Block("reasoning", canonical({key: message[key]}), message[key])
    if isinstance(content, str):
        yield Block("text", canonical({"type": "text", "text": content}), content)
    elif isinstance(content, list):
        yield from map(_block, content)
    for call in message.get("tool_calls") or ():
        yield Block("call", canonical(call), _arguments((call.get("function") or {}).get("arguments")), call.get("id") or "")
    if isinstance(message.get("function_call"), dict):
        yield Block("call", canonical(message["function_call"]), _arguments(message["function_call"].get("arguments")))


def _block(raw: dict[str, Any]) -> Block:
    kind = raw["type"]
    same = canonical(raw)
    if kind == "text":
        return Block("text", same, raw["text"])
    if kind == "tool_use":
        caller = raw.get("caller")
        made_by = caller.get("tool_id", "") if isinstance(caller, dict) else ""
        return Block("call", same, _arguments(raw.get("input")), raw["id"], made_by)
    if kind == "tool_result":
        return Block("result", same, _words(raw.get("content")), raw["tool_use_id"])
    if kind in ("thinking", "redacted_thinking"):
        return Block("reasoning", same, raw.get("thinking", ""))
    if kind in _MEDIA:
        return Block("media", same)
    return Block("other", same, id=raw["id"] if isinstance(raw.get("id"), str) else "")


def _arguments(value: Json) -> str:
    """The arguments of a call as text: the string that the model wrote, or JSON with its keys in their order."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _words(content: Json) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content or () if isinstance(part, dict) and part.get("type") == "text")


# --- The head --------------------------------------------------------------------------------------------------------


def _with_head(units: list[Unit]) -> tuple[Unit, ...]:
    """The same units with the head of an earlier compaction taken apart, if there is one."""
    for at, unit in enumerate(units):
        if unit.role == "system" or unit.kind in ("pin", "reminder", "summary"):
            continue
        if unit.role != "user":
            break
        for place, block in enumerate(unit.blocks):
            summary = read_summary(block.text) if block.kind == "text" else None
            if summary is None:
                continue
            if place == 0 and len(unit.blocks) == 1 + summary.earlier and not summary.rest:
                return _separate(units, at, summary)
            if summary.pins <= place:
                return (*units[:at], *_apart(unit, place, summary), *units[at + 1 :])
    return tuple(units)


def _separate(units: list[Unit], at: int, summary: Summary) -> tuple[Unit, ...]:
    """Each part of the head is its own message; a second summary among them is none the less one."""
    made = list(units)
    made[at] = evolve(units[at], kind="summary")
    if summary.pins and at and len(units[at - 1].blocks) == summary.pins:
        made[at - 1] = evolve(units[at - 1], kind="pin")
    for after in range(at + 1, len(units)):
        if units[after].role != "user":
            break
        if read_summary(units[after].blocks[0].text if units[after].blocks else "") is not None:
            made[after] = evolve(units[after], kind="summary")
        elif after <= at + summary.reminders:
            made[after] = evolve(units[after], kind="reminder")
    return tuple(made)


def _apart(unit: Unit, place: int, summary: Summary) -> Iterator[Unit]:
    """The parts of a head that is one message."""
    blocks = unit.blocks
    stop = place + 1 + summary.earlier
    rest = stop + summary.reminders
    parts: list[tuple[tuple[Block, ...], Origin | None]] = [
        (blocks[: place - summary.pins], "harness"),
        (blocks[place - summary.pins : place], "pin"),
        (blocks[place:stop], "summary"),
        *((blocks[after : after + 1], "reminder") for after in range(stop, rest)),
    ]
    second = read_summary(blocks[rest].text) if rest < len(blocks) else None
    if second is not None:
        parts.append((blocks[rest : rest + 1 + second.earlier], "summary"))
        rest += 1 + second.earlier
    parts.append((blocks[rest:], unit.kind or "prompt"))
    for part, kind in parts:
        if part:
            yield Unit(unit.index, unit.role, part, "", kind)
