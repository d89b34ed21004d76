"""
A conversation for another provider.

What this is
    `convert`, which writes a conversation in another dialect and names
    everything that did not come through.

Rules it obeys
    * What is valid stays valid: calls and results stand as the target wants
      them, ids are of its language, results carry what they may.
    * Law L16.  The same input gives the same output, ids included; and what is
      appended later changes nothing that was written before.
    * Nothing goes in silence: see `losses`.  There and back again gives the
      same conversation, but for what was named.
    * Law L1.  What is valid is so for the route that was named, too (`routes`,
      `templates`).
    * Law L19.  Nothing that was passed in is changed or shared.

How it works
    ``crossing`` reads messages into slots, free of any wire; ``batches`` brings
    calls and results together and gives them their ids; ``carriers`` moves
    media into results or out of them; ``writing`` writes the slots, ``around``
    what stands around them; ``routes`` sees to what one route demands beyond
    its dialect.  Each is linear.

What is not here
    Mending (`compactlib.repair`): what is broken is carried over as it can be.
"""

from __future__ import annotations

from attrs import evolve, frozen

from ..dialects import DIALECTS, messages_key, parse, render
from ..dialects.reading import dumps
from ..errors import PolicyError
from ..model import Call, Conversation, Json, Origin, Result, Text, need_conversation
from ..protocol.profiles import PROFILES, Profile, profile_named
from ..protocol.repair import CONTINUE, repair
from ..protocol.validator import check
from ..protocol.violation import quote
from .around import OUTSIDE, write_around, write_system
from .batches import arrange
from .carriers import fold, move
from .crossing import cross, words_of_system
from .losses import LOSSES, Loss, Losses
from .naming import ANY, IDS, NAMES, Names
from .routes import as_settled, fitted, named, takes
from .slots import Piece, Slot
from .templates import headed, in_turns, instructed, one_text, unpictured, worded
from .writing import Template, Writer, Written, writer_for

__all__ = ["LOSSES", "Converted", "Loss", "convert"]

_HEAD: tuple[Origin, ...] = (Origin.PIN, Origin.SUMMARY, Origin.REMINDER)
_USER_FIRST = frozenset({"gemini", "bedrock"})
_TEMPLATE_RULES = frozenset({"O-SYS-01", "V-ALT-01", "V-ALT-02", "V-SYS-01"})
"""What a conversion for a chat template sees to."""


@frozen
class Converted:
    """
    A conversation in another dialect.

    Attributes:
        body: what the other provider is sent, as the kind of thing that was
            parsed.  A list stays a list, unless instructions need a place
            beside the messages.
        losses: what did not come through as it was, in order.
        id_map: the call ids that changed, as (from, to).
        conversation: the same as a `Conversation`, so that it can be compacted.
    """

    body: Json
    losses: tuple[Loss, ...]
    id_map: tuple[tuple[str, str], ...]
    conversation: Conversation


def convert(conversation: Conversation, *, dialect: str, profile: Profile | str | None = None) -> Converted:
    """
    Write a conversation for another provider.

    Args:
        conversation: the conversation.
        dialect: whose wire shape it is to have, such as ``"gemini"``.
        profile: for which route, by name; by default the dialect's own.  What
            it demands beyond its dialect is seen to, each change a loss.  For a
            chat template (``strict-template`` and its kin) the sides take turns,
            and where it has no tools, calls and results become words.

    Raises:
        PolicyError: *conversation* is none, the profile is not known or is
            another dialect's, or nothing is written in this dialect.
        WireError: no dialect has this name, or that of the conversation; or
            something in it that was not read but made by hand is no JSON.

    >>> body = [
    ...     {"role": "user", "content": "list the files"},
    ...     {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1", "name": "ls", "input": {"path": "."}}]},
    ...     {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "a.py", "is_error": True}]},
    ... ]
    >>> converted = convert(parse(body, dialect="anthropic"), dialect="mistral")
    >>> [message["role"] for message in converted.body], converted.body[1]["tool_calls"][0]["function"]["arguments"]
    (['user', 'assistant', 'tool'], '{"path":"."}')
    >>> converted.id_map
    (('toolu_1', 'OUa6HgE5o'),)
    >>> [(loss.name, loss.pointer) for loss in converted.losses]
    [('error-flag', '/2/content/0')]
    """
    need_conversation(conversation)
    messages_key(dialect), messages_key(conversation.dialect)  # which raises if there is none
    target = _target(dialect, profile)
    if target.demands_turns:
        if dialect == conversation.dialect and not _has_no_form(conversation, target):
            return Converted(render(conversation), (), (), conversation)
        return _for_template(conversation, target)
    return _for_route(conversation, target) if dialect == conversation.dialect else _across(conversation, target)


def _across(conversation: Conversation, target: Profile) -> Converted:
    """A conversation in another dialect, or in its own without what only its provider reads."""
    dialect = target.dialect
    losses = Losses(conversation)
    ids, tools = Names(IDS[dialect]), Names(NAMES[dialect])
    slots = cross(conversation, dialect, losses)
    outside, slots = _system(conversation, slots, dialect, losses)
    slots = arrange(slots, conversation, ids, tools, losses)
    slots = move(fold(slots, conversation, target, losses), target, losses)
    slots = _joined_head(slots, conversation, dialect)
    slots = _begun(slots, dialect, losses)
    if dialect == "mistral":
        slots = _instructed(slots, losses)
    if target.system_first:
        slots = _system_first(slots, losses)
    called = [block.name for slot in slots for block, _origin in slot.pieces if isinstance(block, Call)]
    around = {}
    if conversation.envelope.fields is not None or outside:
        around = {**write_system(dialect, outside), **write_around(conversation, dialect, tools, called, losses)}
    if dialect == conversation.dialect and around.pop("thinking", None) is not None:
        losses.around("setting", "/thinking", "the setting 'thinking' was left out, because no reasoning crossed")
    return _written(conversation, target, slots, writer_for(target, losses), around, ids, tools, losses)


def _for_route(conversation: Conversation, target: Profile) -> Converted:
    """A conversation of the target's dialect: as it is, mended, or, where seals are in the way, without reasoning."""
    own = PROFILES[target.dialect]
    if target is own or takes(conversation, target) or not takes(conversation, own):
        return Converted(render(conversation), (), (), conversation)
    mended = repair(conversation, profile=target)
    if mended.left:
        return _across(conversation, target)
    losses = Losses(conversation)
    named(mended.fixes, [conversation.position(at) for at in range(conversation.length)], losses)
    made = as_settled(mended.conversation, conversation)
    return Converted(render(made), losses.sorted(), (), made)


def _target(dialect: str, profile: Profile | str | None) -> Profile:
    """The profile that is written for."""
    if dialect not in DIALECTS:
        raise PolicyError("dialect", f"{dialect} is read and judged, and nothing is written in it; one of {', '.join(DIALECTS)}")
    target = profile if isinstance(profile, Profile) else profile_named(profile or dialect)
    if target.dialect != dialect:
        raise PolicyError("profile", f"{target.name!r} is for {target.dialect}, not for {dialect}")
    return target


def _has_no_form(conversation: Conversation, target: Profile) -> bool:
    """Whether a conversation of the target's dialect holds what the target's template has no form for."""
    if not target.demands_turns:
        return False
    blocks = (block for message in conversation.messages for block in message.blocks)
    if not target.has_tools and any(isinstance(block, Call | Result) for block in blocks):
        return True
    found = check(conversation, mode="history", profile=target)
    return any(one.rule in _TEMPLATE_RULES and one.level == "error" for one in found)


def _for_template(conversation: Conversation, target: Profile) -> Converted:
    """A conversation for a server that writes it into a chat template."""
    dialect, has_tools = target.dialect, target.has_tools
    losses = Losses(conversation)
    ids, tools = Names(IDS[dialect]), Names(NAMES[dialect] if has_tools and dialect != conversation.dialect else ANY)
    slots = cross(conversation, dialect, losses, tells_errors=not has_tools)
    one_text(slots, conversation, losses)
    slots = [*(Slot("system", ((Text(text), None),), 0) for text in words_of_system(conversation, losses)), *slots]
    slots = arrange(slots, conversation, ids, tools, losses)
    if has_tools:
        slots = unpictured(slots, conversation, losses)
    slots = move(slots, target, losses)
    if not has_tools:
        slots = worded(slots, losses)
    slots = instructed(headed(slots, conversation), losses, has_role="V-SYS-01" not in target.demands)
    slots = in_turns(slots, conversation, losses, apart=has_tools)
    around = {}
    if conversation.envelope.fields is not None:
        around = write_around(conversation, dialect, tools, [], losses, has_tools=has_tools)
    return _written(conversation, target, slots, Template(losses), around, ids, tools, losses)


def _written(
    conversation: Conversation,
    target: Profile,
    slots: list[Slot],
    writer: Writer,
    around: dict[str, Json],
    ids: Names,
    tools: Names,
    losses: Losses,
) -> Converted:
    """What the slots are on the wire, with what stands around them, as the target takes it."""
    pairs = [(message, slot.position) for slot in slots for message in writer.write(slot)]
    written = [message for message, _position in pairs]
    body: Json = [message for message, _origin in written]
    if conversation.envelope.fields is not None or around:
        body = {messages_key(target.dialect): body, **around}
    for old, new in tools.changed:
        losses.around("name", "", f"the tool {quote(old)} is called {quote(new)} now, and the model will call it so")
    made = _conversation(body, written, conversation, target.dialect)
    fit = fitted(made, target, [position for _message, position in pairs], losses)
    if fit is made:
        return Converted(_of_kind(body, made.envelope.kind), losses.sorted(), ids.changed, made)
    return Converted(render(fit), losses.sorted(), ids.changed, fit)


def _of_kind(body: Json, kind: str) -> Json:
    if kind == "str":
        return dumps(body)
    return dumps(body).encode("utf-8") if kind == "bytes" else body


def _conversation(body: Json, written: list[Written], source: Conversation, dialect: str) -> Conversation:
    """What was written, read; with the origins that were stated, for the wire has no place for them."""
    made = parse(body, dialect=dialect)
    kind = source.envelope.kind
    if kind in ("str", "bytes"):
        made = evolve(made, envelope=evolve(made.envelope, kind=kind))
    messages = list(made.messages)
    inside = range(*made.fused)
    for index, (_message, origin) in enumerate(written):
        position = made.position(index)
        if origin is None or position in inside:
            continue
        message = messages[position]
        if not isinstance(origin, tuple) or len(origin) == len(message.blocks):
            messages[position] = evolve(message, origin=origin)
    settled = len(messages) if source.settled and source.settled == len(source.messages) else 0
    return evolve(made, messages=tuple(messages), settled=settled)


# -- who speaks where ----------------------------------------------------------------------------------------------------


def _system(conversation: Conversation, slots: list[Slot], dialect: str, losses: Losses) -> tuple[list[str], list[Slot]]:
    """The instructions that stand beside the messages, and the slots without them."""
    words = words_of_system(conversation, losses)
    if dialect == "openai-responses" and len(words) == 1:
        return words, slots
    if dialect not in OUTSIDE:
        return [], [*(Slot("system", ((Text(text), None),), 0) for text in words), *slots]
    kept = []
    for slot in slots:
        if slot.side != "system":
            kept.append(slot)
            continue
        words += [block.text for block, _origin in slot.pieces if isinstance(block, Text)]
        if kept:
            losses.at("order", slot.position, "instructions from among the messages stand beside them now")
    return words, kept


def _system_first(slots: list[Slot], losses: Losses) -> list[Slot]:
    """The slots with all instructions before the others (rule O-SYS-01)."""
    told = [slot for slot in slots if slot.side == "system"]
    behind = next((at for at, slot in enumerate(slots) if slot.side != "system"), len(slots))
    for slot in slots[behind:]:
        if slot.side == "system":
            losses.at("order", slot.position, "instructions from among the messages stand before them now")
    return [*told, *(slot for slot in slots if slot.side != "system")]


def _joined_head(slots: list[Slot], conversation: Conversation, dialect: str) -> list[Slot]:
    """Where the target writes the head of a compacted conversation as one message, the slots of the head as one."""
    messages = conversation.messages
    if PROFILES[dialect].fuse != "yes":
        return slots
    start = next((at for at, slot in enumerate(slots) if messages[slot.position].origin in _HEAD), None)
    if start is None:
        return slots
    stop = start + 1
    while stop < len(slots) and messages[slots[stop].position].origin in _HEAD:
        stop += 1
    if stop < len(slots) and slots[stop].side == "user" and not slots[stop].has_results:
        stop += 1
    pieces: list[Piece] = [piece for slot in slots[start:stop] for piece in slot.pieces]
    return [*slots[:start], evolve(slots[start], pieces=tuple(pieces)), *slots[stop:]]


def _begun(slots: list[Slot], dialect: str, losses: Losses) -> list[Slot]:
    """The slots with a user's first, where the target demands that."""
    if dialect not in _USER_FIRST or not slots or slots[0].side != "model":
        return slots
    losses.at("added", slots[0].position, "a user message stands before the model's, which stood first")
    return [Slot("user", ((Text(CONTINUE), Origin.HARNESS),), slots[0].position), *slots]


def _instructed(slots: list[Slot], losses: Losses) -> list[Slot]:
    """The slots with instructions only at the beginning and behind a user's words (rule M-ORDER-01)."""
    out: list[Slot] = []
    behind: dict[int, list[Slot]] = {}  # how many slots stand before -> instructions that belong there
    place = 0  # behind the last user's words
    for slot in slots:
        last = out[-1] if out else None
        if slot.side == "system" and last is not None and (last.side == "model" or last.has_results):
            behind.setdefault(place, []).append(slot)
            losses.at("order", slot.position, "instructions stand behind the last words of a user now")
            continue
        out.append(slot)
        if slot.side == "system" or (slot.side == "user" and not slot.has_results):
            place = len(out)
    if not behind:
        return out
    return [one for at in range(len(out) + 1) for one in (*behind.get(at, ()), *out[at : at + 1])]
