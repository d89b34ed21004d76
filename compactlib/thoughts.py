"""
Reasoning of closed turns: which of it may go, and what is left of its message.

What this is
    `old_thoughts` names the messages whose reasoning a policy lets go, oldest
    first; `without_reasoning` is such a message afterwards, and `thought_of`
    the bytes that a store keeps of what went.

Rules it obeys
    * Law L5.  Reasoning goes as whole blocks, never from the current turn, and
      only where the profile says that the provider takes a history without it.
    * Law L2.  No message goes: one that would be left with nothing to say keeps its
      reasoning.
    * Turns are counted as ``clear_thinking_20251015`` counts them, so that both
      forms of clearing speak of the same ones.

What is not here
    When it is done (`clearing`), and the edit that asks a provider for the same
    (`editing`).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection

from attrs import evolve

from .dialects import render_messages
from .model import Block, Call, Conversation, Media, Message, Reasoning, Text
from .outputs import json_of
from .protocol.profiles import Profile
from .turns import Division
from .visible import thinking_turns

__all__ = ["is_thought", "old_thoughts", "thought_of", "without_reasoning"]


def old_thoughts(
    conversation: Conversation, division: Division, profile: Profile, *, keep_turns: int, untouched: Collection[int] = ()
) -> list[int]:
    """
    The positions of the messages whose reasoning may go, oldest first.

    Args:
        conversation: the conversation.
        division: how it divides.
        profile: what its provider allows.
        keep_turns: how many of the newest turns that hold reasoning keep it.
        untouched: positions of messages that stay as they are.
    """
    if profile.old_reasoning == "nothing":
        return []
    messages = conversation.messages
    calling = _turns_with_calls(messages, division) if profile.old_reasoning == "calm-turns" else frozenset()
    starts = [turn.start for turn in division.turns]
    turns = thinking_turns(messages)
    return [
        at
        for turn in turns[: max(len(turns) - keep_turns, 0)]
        for at in turn
        if at < division.current_turn
        and at not in untouched
        and bisect_right(starts, at) not in calling
        and _says_more(messages[at])
    ]


def _turns_with_calls(messages: tuple[Message, ...], division: Division) -> frozenset[int]:
    """The numbers of the turns in which something was called; 0 is what stands before the first."""
    starts = [turn.start for turn in division.turns]
    return frozenset(
        bisect_right(starts, at)
        for at, message in enumerate(messages)
        if not isinstance(message.content, str) and any(isinstance(block, Call) for block in message.content)
    )


def _says_more(message: Message) -> bool:
    """Whether anything is left of a message without its reasoning."""
    return any(_says(block) for block in message.blocks)


def _says(block: Block) -> bool:
    return bool(block.text.strip()) if isinstance(block, Text) else not is_thought(block)


def is_thought(block: Block) -> bool:
    """Whether a block is reasoning, or a picture that the model thought in (Gemini)."""
    return isinstance(block, Reasoning) or (isinstance(block, Media) and block.wire.get("thought") is True)


def without_reasoning(message: Message) -> Message:
    """What is left of a message; on the wire, too, where reasoning is a key of its own."""
    went = {block.wire.tag for block in message.blocks if isinstance(block, Reasoning)}
    made = _with(message, [at for at, block in enumerate(message.blocks) if not is_thought(block)])
    if went.isdisjoint(made.wire.keys):
        return made
    return evolve(made, wire=evolve(made.wire, keys=tuple(key for key in made.wire.keys if key not in went)))


def thought_of(conversation: Conversation, message: Message) -> bytes:
    """The reasoning of a message as its dialect writes it: the message on the wire, with nothing else in it."""
    only = _with(message, [at for at, block in enumerate(message.blocks) if is_thought(block)])
    return json_of(render_messages(evolve(conversation, messages=(only,), fused=(0, 0), settled=0))[0])


def _with(message: Message, places: list[int]) -> Message:
    origin = message.origin
    if isinstance(origin, tuple):
        origin = tuple(origin[at] for at in places if at < len(origin))
    return evolve(message, content=tuple(message.blocks[at] for at in places), origin=origin)
