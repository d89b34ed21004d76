"""
What the model sees of a conversation, after what its provider does to it.

What this is
    `effective`: the conversation as it reaches the model, when the provider
    has compacted it, clears old results or drops old thinking on its side.
    `shown`: the same message by message, in the places of the input.

Rules it obeys
    * What is hidden is not counted, and what is counted is shown.
    * It is a view.  What is sent stays the whole conversation; nothing here is
      ever sent in its place (law L26, law L7).
    * Law L1.  Validity never gets worse.  Where a call before a compaction
      object has no result before it, the object hides nothing: the provider
      refuses that (A-COMPACT-02), and half a pair would be left.
    * Every edit only takes away, so that twice is once, and a conversation of
      which nothing is hidden comes back as the same object (law L17).

How it works, and what exactly is simulated
    *Compaction* (Anthropic's block with content, the item of OpenAI Responses
    and xAI).  Everything before the last one is hidden: messages, and blocks of
    its own message.  Items of the roles system and developer stay.  A block
    without content failed, and hides nothing.

    *Thinking* (``clear_thinking_20251015``).  A turn is what the model says
    until the user says anything but results.  Of the turns that hold thinking
    the newest ``keep`` keep it.  Without that edit, and while the model thinks,
    models that are known to drop the thinking of old turns keep one.

    *Results* (``clear_tool_uses_20250919``).  The edit is made if the request
    exceeds its trigger: in tokens, by our own counter, or in uses, which are
    the calls that the client runs.  All results but those of the newest
    ``keep`` uses and of ``exclude_tools`` become `CLEARED`, if they are longer
    than it; with ``clear_tool_inputs`` the arguments of these uses become
    ``{}``.  If that saves less than ``clear_at_least``, nothing is done.

    Edits are made in the order of the request.  ``compact_20260112`` is not
    simulated: what the provider would write is not known before it has.

What is not here
    Whether an edit is legal (`protocol.context_edits`); prefixes that stand
    only at the provider (``previous_response_id``); results of server tools,
    which stay; dropping by ``truncation: auto``, whose choice is not stated.
"""

from __future__ import annotations

from collections import Counter as Bag
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from attrs import evolve

from .model import Block, Call, Conversation, Message, Opaque, Reasoning, Result, need_conversation
from .models import model_named
from .protocol.context_edits import ClearThinking, ClearToolUses, read_edits
from .tokens import Memo, block_tokens, estimate
from .tokens.counting import checked

__all__ = ["CLEARED", "effective", "is_compaction", "shown"]

CLEARED: Final = "[cleared by clear_tool_uses_20250919]"
"""What stands for a cleared result; the provider's own words are not documented."""

Shown: TypeAlias = "list[Message | None]"
_INSTRUCTIONS: Final = frozenset({"system", "developer"})


def effective(conversation: Conversation, *, counter: Callable[[str], int] = estimate) -> Conversation:
    """
    The conversation as the model sees it.

    Args:
        conversation: what is sent.
        counter: counts the tokens of a text, for edits whose trigger is a size.

    Returns:
        The same object if nothing is hidden.

    Raises:
        PolicyError: *conversation* is none, or *counter* is none or misbehaves.

    >>> from compactlib.dialects import parse, render
    >>> compacted = [{"type": "compaction", "content": "They fixed the build."}, {"type": "text", "text": "Done."}]
    >>> messages = [{"role": "user", "content": "fix it"}, {"role": "assistant", "content": compacted}]
    >>> [message["role"] for message in render(effective(parse(messages, dialect="anthropic")))]
    ['assistant']
    """
    need_conversation(conversation)
    seen = shown(conversation, counter=checked(counter))
    messages = conversation.messages
    if len(seen) == len(messages) and all(new is old for new, old in zip(seen, messages, strict=True)):
        return conversation
    start, stop = conversation.fused
    before = sum(message is not None for message in seen[:start])
    inside = sum(message is not None for message in seen[start:stop])
    fused = (before, before + inside) if inside > 1 else (0, 0)
    return evolve(conversation, messages=tuple(filter(None, seen)), fused=fused, settled=0)


def shown(conversation: Conversation, *, counter: Callable[[str], int] = estimate) -> tuple[Message | None, ...]:
    """
    What the model sees of each message: itself, what is left of it, or ``None``.

    Raises:
        PolicyError: *counter* misbehaves.
    """
    seen: Shown = list(conversation.messages)
    _hide_compacted(seen, is_anthropic=conversation.dialect == "anthropic")
    edits = read_edits(conversation)
    if not any(isinstance(edit, ClearThinking) for edit in edits) and _drops_thinking(conversation):
        _clear_thinking(seen, 1)
    for edit in edits:
        if isinstance(edit, ClearThinking):
            if edit.keep_turns is not None:
                _clear_thinking(seen, edit.keep_turns)
        elif isinstance(edit, ClearToolUses):
            _clear_results(seen, edit, conversation, counter)
    return tuple(seen)


# -- compaction --------------------------------------------------------------------------------------------------------


def is_compaction(block: Block) -> bool:
    """
    Whether a block is a provider's compaction object that stands for all before it; one without content failed.

    >>> is_compaction(Opaque("compaction", {"type": "compaction", "content": None}))
    False
    """
    if not isinstance(block, Opaque) or block.kind != "compaction" or not isinstance(block.value, dict):
        return False
    return bool(block.value.get("content") or block.value.get("encrypted_content"))


def _hide_compacted(seen: Shown, *, is_anthropic: bool) -> None:
    """Hide what stands before the last compaction object, unless a call there is open."""
    at, place = _last_compaction(seen)
    message = seen[at] if at >= 0 else None
    if message is None:
        return
    contents = [one.content for one in seen[:at] if one is not None]
    if _leaves_open([*contents, message.content[:place]], hosted=is_anthropic):
        return
    for position in range(at):
        one = seen[position]
        if one is not None and (is_anthropic or one.role not in _INSTRUCTIONS):
            seen[position] = None
    seen[at] = _only(message, range(place, len(message.content)))


def _last_compaction(seen: Shown) -> tuple[int, int]:
    for at in range(len(seen) - 1, -1, -1):
        message = seen[at]
        if message is not None and not isinstance(message.content, str):
            for place in range(len(message.content) - 1, -1, -1):
                if is_compaction(message.content[place]):
                    return at, place
    return -1, 0


def _leaves_open(contents: Sequence[str | Sequence[Block]], *, hosted: bool) -> bool:
    """Whether these contents hold a call without a result behind it; of tools that the provider runs only if *hosted*."""
    open_calls: Bag[tuple[bool, str]] = Bag()
    for content in contents:
        for block in content if not isinstance(content, str) else ():
            if isinstance(block, Call) and (block.is_client or hosted):
                open_calls[block.is_client, block.id] += 1
            elif isinstance(block, Result) and open_calls[block.is_client, block.call_id]:
                open_calls[block.is_client, block.call_id] -= 1
    return any(open_calls.values())


def _only(message: Message, places: Sequence[int]) -> Message | None:
    """The message with these of its blocks; itself if they are all, ``None`` if there are none."""
    if len(places) == len(message.content):
        return message
    origin = message.origin
    if isinstance(origin, tuple):
        origin = tuple(origin[place] for place in places if place < len(origin))
    content = tuple(message.blocks[place] for place in places)
    return evolve(message, content=content, origin=origin) if content else None


# -- thinking ----------------------------------------------------------------------------------------------------------


def _drops_thinking(conversation: Conversation) -> bool:
    """Whether the provider drops the thinking of old turns unasked."""
    name, thinking = conversation.setting("model"), conversation.setting("thinking")
    if conversation.dialect != "anthropic" or not isinstance(name, str) or not isinstance(thinking, dict):
        return False
    model = model_named(name)
    return model is not None and model.keeps_reasoning is False and thinking.get("type") in ("enabled", "adaptive")


def _clear_thinking(seen: Shown, keep_turns: int) -> None:
    """Hide the thinking of all turns that hold some but the newest *keep_turns*."""
    turns: list[list[int]] = []  # the messages with thinking of each turn that has any
    is_new = True
    for at, message in enumerate(seen):
        if message is None:
            continue
        if message.role == "user":
            is_new = is_new or isinstance(message.content, str) or any(not isinstance(block, Result) for block in message.content)
        elif (
            not isinstance(message.content, str)
            and message.role == "model"
            and any(isinstance(block, Reasoning) for block in message.content)
        ):
            if is_new:
                turns.append([])
                is_new = False
            turns[-1].append(at)
    for at in (at for turn in turns[: max(len(turns) - keep_turns, 0)] for at in turn):
        message = seen[at]
        if message is not None:
            seen[at] = _only(message, [n for n, block in enumerate(message.content) if not isinstance(block, Reasoning)])


# -- results -----------------------------------------------------------------------------------------------------------


def _clear_results(seen: Shown, edit: ClearToolUses, conversation: Conversation, counter: Callable[[str], int]) -> None:
    """Make the edit, if it is due and worth it."""
    uses = _uses(seen)
    if edit.unit == "tool_uses":
        if len(uses) <= edit.trigger:
            return
    else:
        memo = Memo(counter)
        if memo.overhead(conversation) + memo.messages([message for message in seen if message is not None]) <= edit.trigger:
            return
    changed: dict[int, dict[int, Block]] = {}
    saved = 0
    for call_at, call_place, call, answer in uses[: max(len(uses) - edit.keep_tool_uses, 0)]:
        if call.name in edit.exclude_tools:
            continue
        news: list[tuple[int, int, Block, Block]] = []
        if answer is not None:
            at, place, result = answer
            news.append((at, place, result, evolve(result, content=CLEARED)))
        clears = edit.clear_inputs if isinstance(edit.clear_inputs, bool) else call.name in edit.clear_inputs
        if clears:
            news.append((call_at, call_place, call, evolve(call, arguments={})))
        for at, place, old, new in news:
            gain = block_tokens(old, counter) - block_tokens(new, counter)
            if gain > 0:
                saved += gain
                changed.setdefault(at, {})[place] = new
    if saved < edit.clear_at_least_tokens:
        return
    for at, blocks in changed.items():
        message = seen[at]
        if message is not None:
            seen[at] = evolve(message, content=tuple(blocks.get(place, block) for place, block in enumerate(message.blocks)))


_Use: TypeAlias = "tuple[int, int, Call, tuple[int, int, Result] | None]"


def _uses(seen: Shown) -> list[_Use]:
    """The client calls in order, (message, position, call), and where the result of each is."""
    uses: list[_Use] = []
    waiting: dict[str, list[int]] = {}  # the open calls by id, newest last
    for at, message in enumerate(seen):
        if message is None or isinstance(message.content, str):
            continue
        for place, block in enumerate(message.content):
            if isinstance(block, Call) and block.is_client:
                waiting.setdefault(block.id, []).append(len(uses))
                uses.append((at, place, block, None))
            elif isinstance(block, Result) and block.is_client and waiting.get(block.call_id):
                number = waiting[block.call_id].pop()
                uses[number] = (*uses[number][:3], (at, place, block))
    return uses
