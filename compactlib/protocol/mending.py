"""
Contents that a provider refuses, mended block by block.

What this is
    The pass of `repair` that edits inside messages: what is empty goes or gets
    a placeholder, media leave results that may not carry them, seals without a
    signature leave closed turns, arguments that are no JSON are wrapped.

Rules it obeys
    * Only what the validator named is touched, where it named it.
    * Law L5.  Sealed messages of the current turn are passed over.
    * Nothing that somebody said is lost: what goes is empty, unreadable, or a
      picture that no request can hold, and a placeholder says what it was.
    * A placeholder is visible text, or the next check would refuse it.

How it works
    The findings are gathered by block.  A table leads from the rule to a
    *mender*, a function from a block to what stands in its place.  One block is
    mended for one rule at a time; `repair` comes by again for the next.

What is not here
    The order of messages (`answering`) and ids (`renaming`).
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from attrs import evolve

from ..model import Block, Call, Json, Media, Message, Opaque, Origin, Reasoning, Result, Text, Wire, wire
from .alternation import BETWEEN
from .answering import UNKNOWN_OUTCOME
from .batches import read_batches
from .draft import Draft, Piece, pieces_of, rebuilt, with_arguments, with_key, without_key
from .parts import RESPONSES, signed_call, without_parts, wrapped
from .violation import Violation

__all__ = ["IMAGE_MARKER", "NO_CONTENT", "NO_OUTPUT", "mend_blocks", "move_images"]

NO_CONTENT: Final = "(no content)"
NO_OUTPUT: Final = "(no output)"
IMAGE_MARKER: Final = "Attached image(s) from tool result:"
"""What stands before pictures that a result could not hold; clients write it, and `recognition` knows it."""

_SEE_DOCUMENT: Final = "(see attached document)"
_SEE_IMAGE: Final = "(see attached image)"
_NO_ERROR: Final = "(the error was not recorded)"
_UNPARSED: Final = "unparsed_arguments"
_DEEPEST: Final = 100  # levels of a value that was a string until now; with those around it less than is read

_Mender: TypeAlias = Callable[[Block, list[Violation], Draft], "list[Block] | None"]
"""From a block, and what was found in it, to what stands in its place; ``None`` if there is no safe way."""


# -- menders -----------------------------------------------------------------------------------------------------------


def _drop(block: Block, found: list[Violation], draft: Draft) -> list[Block]:
    del block, found, draft
    return []


def _empty_text(block: Block, found: list[Violation], draft: Draft) -> list[Block] | None:
    """Drop a text that is empty or blank; where that would leave the first message with nothing, fill it."""
    del draft
    if not isinstance(block, Text):
        return None
    is_needed = found[0].fix == "placeholder-text" and found[0].index == 0
    return [evolve(block, text=NO_CONTENT)] if is_needed else []


def _no_output(block: Block, found: list[Violation], draft: Draft) -> list[Block] | None:
    del draft
    if not isinstance(block, Result):
        return None
    if found[0].rule == "A-EMPTY-05":
        return [evolve(block, content=(Text(NO_OUTPUT),))]
    if found[0].rule == "B-EMPTY-02":
        return [evolve(block, content=(Text(_NO_ERROR if block.is_error else NO_OUTPUT),), wire=with_key(block.wire, "content"))]
    return [evolve(block, content=_NO_ERROR, wire=with_key(block.wire, "content"))]


def _marked_empty(block: Block, found: list[Violation], draft: Draft) -> list[Block] | None:
    """A-CACHE-02: an empty text with a cache mark, by itself or inside a result."""
    del found, draft
    if isinstance(block, Text) and not block.text:
        return []
    if not isinstance(block, Result) or not isinstance(block.content, tuple):
        return None
    kept = tuple(part for part in block.content if not isinstance(part, Text) or part.text)
    return [evolve(block, content=kept or (Text(NO_OUTPUT),))] if len(kept) < len(block.content) else None


def _reasoning(block: Block, found: list[Violation], draft: Draft) -> list[Block] | None:
    del found, draft
    return [] if isinstance(block, Reasoning) else None


def _unknown_references(block: Block, found: list[Violation], draft: Draft) -> list[Block] | None:
    """A-TREF-01: references to tools that are not declared."""
    del found
    if not isinstance(block, Result) or not isinstance(block.content, tuple):
        return None
    kept = tuple(part for part in block.content if _refers(part) is None or _refers(part) in draft.tools)
    return [evolve(block, content=kept or (Text(NO_OUTPUT),))]


def _refers(part: Block) -> str | None:
    """The tool that a part of a result refers to."""
    value = part.value if isinstance(part, Opaque) and part.kind == "tool_reference" else None
    name = value.get("tool_name") if isinstance(value, dict) else None
    return name if isinstance(name, str) else None


def _server_result(block: Block, found: list[Violation], draft: Draft) -> list[Block] | None:
    """A-MCP-01: a result without its call goes; a call without its result gets one, for it may have done something."""
    del found, draft
    if isinstance(block, Result):
        return []
    if not isinstance(block, Call):
        return None
    shape = Wire("mcp_tool_result", ("type", "tool_use_id", "content", "is_error"), (("is_error", True),))
    return [block, Result(block.id, (Text(UNKNOWN_OUTCOME),), shape)]


def _too_large(block: Block, found: list[Violation], draft: Draft) -> list[Block] | None:
    """A-IMG-03: a picture of more pixels than any request may hold."""
    del draft
    if isinstance(block, Media):
        return [Text(f"[left out: {found[0].message}; {found[0].expected}]")]
    if not isinstance(block, Result) or not isinstance(block.content, tuple):
        return None
    parts = list(block.content)
    for one in found:
        place = int(one.pointer.rsplit("/", 1)[-1])
        parts[place] = Text(f"[left out: {one.message}; {one.expected}]")
    return [evolve(block, content=tuple(parts))]


def _arguments(block: Block, found: list[Violation], draft: Draft) -> list[Block] | None:
    """Arguments that are no object, or no JSON: as an object that holds all of them."""
    del found
    if not isinstance(block, Call):
        return None
    value: Json = block.arguments
    if draft.profile.dialect in ("anthropic", "bedrock", "gemini"):
        return [with_arguments(block, _as_object(value), draft.profile.dialect)]
    whole = value if isinstance(value, dict) else {_UNPARSED: value}
    try:
        return [with_arguments(block, json.dumps(whole), draft.profile.dialect)]
    except (TypeError, ValueError, RecursionError):  # made by hand, of what is no JSON
        return None


def _as_object(value: Json) -> Json:
    """The object that a string spells, else an object that holds the value."""
    if value is None or value == "":
        return {}
    if isinstance(value, str):
        try:
            read = json.loads(value, parse_constant=_finite, parse_float=_finite)
        except (ValueError, RecursionError):
            read = None
        if isinstance(read, dict) and _is_shallow(read):
            return read
    return {_UNPARSED: value}


def _finite(spelling: str) -> float:
    number = float(spelling)
    if not math.isfinite(number):
        raise ValueError(f"{spelling} is no JSON")
    return number


def _is_shallow(value: Json) -> bool:
    """Whether it is not nested deeper than a body may be."""
    level = [value]
    for _depth in range(_DEEPEST):
        level = [
            item for one in level for item in (one.values() if isinstance(one, dict) else one) if isinstance(item, dict | list)
        ]
        if not level:
            return True
    return False


def _spelled_out(block: Block, found: list[Violation], draft: Draft) -> list[Block] | None:
    """B-JSON-01: what is no object goes as the text that spells it."""
    del draft
    if not isinstance(block, Result) or not isinstance(block.content, tuple):
        return None
    places = {int(one.pointer.split("/")[-2]) for one in found}
    parts = [Text(part.text) if place in places and isinstance(part, Text) else part for place, part in enumerate(block.content)]
    return [evolve(block, content=tuple(parts))]


def _introduced(block: Block, found: list[Violation], draft: Draft) -> list[Block] | None:
    """B-DOC-01: a text before a document that stands without one."""
    del found, draft
    return [Text(_SEE_DOCUMENT), block]


def _unsigned(block: Block, found: list[Violation], draft: Draft) -> list[Block] | None:
    """B-SIG-01: the words of the reasoning without the signature."""
    del found, draft
    return [evolve(block, seal=None, wire=without_key(block.wire, "signature"))] if isinstance(block, Reasoning) else None


def _response(block: Block, found: list[Violation], draft: Draft) -> list[Block] | None:
    del found, draft
    return [wrapped(block)] if isinstance(block, Result) else None


def _signed(block: Block, found: list[Violation], draft: Draft) -> list[Block] | None:
    del found, draft
    return [signed_call(block)] if isinstance(block, Call) else None


# rule -> (name of the fix, what was done, how)
_MENDERS: Final[Mapping[str, tuple[str, str, _Mender]]] = {
    "A-EMPTY-01": ("drop-empty", "removed an empty text", _empty_text),
    "A-EMPTY-02": ("drop-empty", "removed a blank text", _empty_text),
    "A-EMPTY-05": ("placeholder-text", "put a placeholder into an empty result", _no_output),
    "A-EMPTY-06": ("placeholder-text", "put a placeholder into an empty error", _no_output),
    "A-CACHE-02": ("drop-empty", "removed an empty text with a cache mark", _marked_empty),
    "A-THINK-03": ("strip-seal", "removed thinking without a signature", _reasoning),
    "A-THINK-06": ("strip-seal", "removed thinking that nothing follows", _reasoning),
    "A-SRV-01": ("drop-orphan", "removed a server call without a result", _drop),
    "A-SRV-02": ("drop-orphan", "removed a server tool's result without a call", _drop),
    "A-MCP-01": ("synthesize-result", "completed a pair of a call and its result", _server_result),
    "A-TREF-01": ("drop-orphan", "removed references to tools that are not declared", _unknown_references),
    "A-IMG-03": ("placeholder-text", "put a placeholder for a picture that is too large", _too_large),
    "A-INPUT-01": ("wrap-arguments", "put arguments that are no object into one", _arguments),
    "B-BLANK-01": ("drop-empty", "removed a blank text", _empty_text),
    "B-EMPTY-02": ("placeholder-text", "put a placeholder into an empty result", _no_output),
    "B-DOC-01": ("placeholder-text", "put a text before a document", _introduced),
    "B-INPUT-01": ("wrap-arguments", "put arguments that are no object into one", _arguments),
    "B-JSON-01": ("placeholder-text", "wrote json that is no object as a text", _spelled_out),
    "B-SIG-01": ("strip-seal", "removed a signature that the model does not take", _unsigned),
    "G-ARGS-01": ("wrap-arguments", "put arguments that are no object into one", _arguments),
    "G-BATCH-01": ("sentinel-seal", "put the signature that stands for a lost one on a call", _signed),
    "G-EMPTY-02": ("drop-empty", "removed a part without data", _drop),
    "G-EMPTY-03": ("drop-empty", "removed an empty text", _empty_text),
    "G-RESP-02": ("wrap-arguments", "put a response that is no object into one", _response),
    "G-SIG-01": ("sentinel-seal", "put the signature that stands for a lost one on a call", _signed),
    "M-THINK-01": ("strip-seal", "removed thinking that the model does not take", _reasoning),
    "O-ARGS-01": ("wrap-arguments", "put arguments that are no JSON into an object", _arguments),
}


_REASONING: Final = "reasoning_content"
_MARKS: Final = frozenset({"cache_control"})
"""What a text may lose with its part: nobody said it."""

_LACKING: Final = frozenset({"D-REAS-01", "K-REAS-01"})
_EMPTY: Final = frozenset(
    {"A-EMPTY-03", "B-EMPTY-01", "G-EMPTY-01", "M-CONTENT-01", "M-EITHER-01", "O-CONTENT-01", "O-TOOLMSG-01", "X-CONTENT-01"}
)
_WHOLE: Final = _LACKING | _EMPTY | {"O-CONTENT-02", "Q-REAS-01"}
"""What is mended in the message as a whole."""


# -- the pass ----------------------------------------------------------------------------------------------------------


def mend_blocks(draft: Draft, errors: tuple[Violation, ...]) -> None:
    """Mend the blocks and messages that *errors* name."""
    blocks: dict[int, dict[int, list[Violation]]] = {}
    calls: dict[int, list[int]] = {}  # for each message where its calls stand
    whole: dict[int, Violation] = {}
    for one in errors:
        if one.index is None or draft.is_sealed(draft.slots[one.index][0]):
            continue
        message = draft.slots[one.index][0]
        if one.rule in _MENDERS:
            if one.index not in calls:
                calls[one.index] = [at for at, block in enumerate(message.blocks) if isinstance(block, Call)]
            place = _place(message, calls[one.index], one)
            if place is not None:
                blocks.setdefault(one.index, {}).setdefault(place, []).append(one)
        elif one.rule in _WHOLE:
            whole.setdefault(one.index, one)
    gone = {at for at, found in blocks.items() if not _mend_message(draft, at, found)}
    gone |= {at for at, one in whole.items() if at not in blocks and not _mend_whole(draft, at, one)}
    if gone:
        draft.slots = [slot for at, slot in enumerate(draft.slots) if at not in gone]


def _place(message: Message, calls: list[int], found: Violation) -> int | None:
    """Which block of the message, whose calls stand at *calls*, a finding is about."""
    steps = found.pointer.split("/")
    for name in ("content", "tool_calls", "parts"):
        if name in steps:
            rest = steps[steps.index(name) + 1 :]
            place = int(rest[0]) if rest and rest[0].isdecimal() else 0
            if name == "tool_calls":
                return calls[place] if place < len(calls) else None
            return place if place < len(message.blocks) else None
    return None


def _mend_message(draft: Draft, at: int, found: dict[int, list[Violation]]) -> bool:
    """Mend these blocks of a message; tell whether anything of it is left."""
    message, source = draft.slots[at]
    pieces: list[Piece] = []
    for place, piece in enumerate(pieces_of(message)):
        about = found.get(place, [])
        block, origin = piece
        if not about:
            pieces.append(piece)
            continue
        rule = about[0].rule
        name, words, mender = _MENDERS[rule]
        made = mender(block, [one for one in about if one.rule == rule], draft)
        if made is None or made == [block]:
            pieces.append(piece)
            continue
        if mender is _empty_text and made:
            name, words = "placeholder-text", "put a placeholder for an empty text"
        ids = about[0].call_ids or ((block.id,) if isinstance(block, Call) else ())
        draft.say(name, rule, source, words, ids)
        pieces += [(one, origin) for one in made]
    draft.slots[at] = rebuilt(message, pieces), source
    return bool(pieces) or not message.blocks


def _mend_whole(draft: Draft, at: int, found: Violation) -> bool:
    """Mend a message that lacks its content; tell whether anything of it is left."""
    message, source = draft.slots[at]
    if found.rule == "O-CONTENT-02":
        draft.say("drop-empty", found.rule, source, "removed an empty list of calls")
        draft.slots[at] = evolve(message, wire=without_key(message.wire, "tool_calls")), source
        return True
    if found.rule in _LACKING:
        draft.say("placeholder-text", found.rule, source, f"gave it an empty {_REASONING}", (call.id for call in message.calls))
        thought = Reasoning("", None, wire(_REASONING))
        draft.slots[at] = _with_reasoning(message, thought), source
        return True
    if found.rule == "Q-REAS-01":
        draft.say("strip-seal", found.rule, source, f"removed {_REASONING}, which the route refuses")
        draft.slots[at] = _with_reasoning(message, None), source
        return True
    if message.role == "tool" and draft.profile.results == "tool":
        result = message.results[0] if message.results else None
        if result is None or result.content:
            return True
        draft.say("placeholder-text", found.rule, source, "put a placeholder into an empty result", (result.call_id,))
        shape = with_key(message.wire, "content")
        filled = evolve(result, content=NO_OUTPUT)
        draft.slots[at] = evolve(message, content=(filled,), wire=evolve(shape, form="string")), source
        return True
    if draft.profile.string_only and message.role == "model" and message.wire.form == "list":
        made = _as_string(message)
        if made is not message:
            draft.say(
                "merge-same-role",
                found.rule,
                source,
                "wrote the list of its texts as one text",
                (call.id for call in message.calls),
            )
            draft.slots[at] = made, source
            return True
    if any(not isinstance(block, Reasoning) and block != Text("") for block in message.blocks):
        return True
    draft.say("drop-empty", found.rule, source, "dropped a message without content")
    return False


def _as_string(message: Message) -> Message:
    """The message with its texts as one, and null for none; itself where that would lose a part or leave nothing said."""
    pieces = pieces_of(message)
    said = [piece for piece in pieces if not isinstance(piece[0], Reasoning | Call)]
    texts = [block for block, _origin in said if isinstance(block, Text) and _MARKS.issuperset(dict(block.wire.rest))]
    words = BETWEEN.join(text.text for text in texts if text.text)
    if len(texts) < len(said) or not (words or message.calls):
        return message
    kept: list[Piece] = [piece for piece in pieces if isinstance(piece[0], Reasoning)]
    kept += [(Text(words), said[0][1])] if words else []
    kept += [piece for piece in pieces if isinstance(piece[0], Call)]
    made = rebuilt(message, kept)
    shape = evolve(made.wire, form="string" if words else "null")
    return evolve(made, wire=shape) if len(kept) > 1 or not words else Message(made.role, words, shape, kept[0][1])


def _with_reasoning(message: Message, thought: Reasoning | None) -> Message:
    """The message with this reasoning under the key that such routes read, or with none."""
    pieces = [piece for piece in pieces_of(message) if not (isinstance(piece[0], Reasoning) and piece[0].wire.tag == _REASONING)]
    if thought is not None:
        pieces.insert(0, (thought, None))
    shape = without_key(message.wire, _REASONING) if thought is None else with_key(message.wire, _REASONING)
    return evolve(rebuilt(message, pieces), wire=shape)


# -- media -------------------------------------------------------------------------------------------------------------


_MEDIA_IN_BLOCKS: Final = frozenset({"A-IMG-01", "B-MEDIA-01", "G-IMG-01"})
_MEDIA_IN_MESSAGES: Final = frozenset({"M-IMG-01", "O-IMG-01"})


def move_images(draft: Draft, errors: tuple[Violation, ...]) -> None:
    """Lead media out of results that may not carry them, behind the results."""
    named: dict[int, tuple[str, set[int]]] = {}
    for one in errors:
        if one.rule in _MEDIA_IN_BLOCKS | _MEDIA_IN_MESSAGES and one.index is not None:
            place = _place(draft.slots[one.index][0], [], one) if one.rule in _MEDIA_IN_BLOCKS else 0
            if place is not None:
                named.setdefault(one.index, (one.rule, set()))[1].add(place)
    # L4: where results are still to come, nothing may stand behind those that are there
    if named and draft.mode == "history" and any(one.answer is None for one in read_batches(draft)[0][-1].calls):
        last = max(at for at, (message, _source) in enumerate(draft.slots) if message.role == "model")
        named = {at: found for at, found in named.items() if at < last}
    if not named:
        return
    slots = list(draft.slots)
    out = []
    waiting: list[Piece] = []  # media of the run of tool messages being read
    origin: int | None = None
    for at, (message, source) in enumerate(slots):
        if waiting and message.role != "tool":
            out.append((_carrier(waiting), origin))
            waiting = []
        rule, places = named.get(at, ("", set()))
        kept = draft.profile.result_media if rule == "B-MEDIA-01" else frozenset()
        made, media = _without_media(message, places, kept)
        if media:
            about = (block for place, block in enumerate(message.blocks) if place in places)
            ids = tuple(block.call_id for block in about if isinstance(block, Result))
            draft.say("move-image", rule, source, "moved media out of a result, behind the results", ids)
        if media and message.role == "tool" and draft.profile.results == "tool":
            waiting += media
            origin = source
        elif media:
            made = _behind_results(made, media)
        out.append((made, source))
    if waiting:
        out.append((_carrier(waiting), origin))
    draft.slots = out


def _without_media(message: Message, places: set[int], allowed: frozenset[str]) -> tuple[Message, list[Piece]]:
    """The message with no media in these results but of the *allowed* kinds, and the media."""
    media: list[Piece] = []
    pieces = pieces_of(message) if places else []
    for place in places:
        block, origin = pieces[place]
        if not isinstance(block, Result) or not isinstance(block.content, tuple):
            continue
        parts = block.content
        leaving = {at for at, part in enumerate(parts) if isinstance(part, Media) and part.kind not in allowed}
        found: list[Piece] = [(parts[at], Origin.ATTACHMENT) for at in sorted(leaving)]
        kept = tuple(part for at, part in enumerate(parts) if at not in leaving)
        if found:
            if not any(isinstance(part, Text) and part.text.strip() for part in kept):
                kept = (*kept, Text(_SEE_IMAGE))
            media += found
            made = evolve(block, content=kept)
            pieces[place] = without_parts(made) if block.wire.tag in RESPONSES else made, origin
    return (rebuilt(message, pieces), media) if media else (message, media)


def _carrier(media: list[Piece]) -> Message:
    """The user message that carries media."""
    blocks = tuple(block for block, _origin in media)
    return Message("user", (Text(IMAGE_MARKER), *blocks), wire("user", ("role", "content"), "list"), Origin.ATTACHMENT)


def _behind_results(message: Message, media: list[Piece]) -> Message:
    pieces = pieces_of(message)
    last = max(place for place, (block, _origin) in enumerate(pieces) if isinstance(block, Result))
    return rebuilt(message, [*pieces[: last + 1], *media, *pieces[last + 1 :]])
