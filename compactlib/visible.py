"""
What the model sees of a conversation, after what its provider does to it.

What this is
    `effective`: the conversation as it reaches the model, when the provider
    has compacted it, clears old results or drops old thinking on its side.
    `shown`: the same message by message, in the places of the input.
    `request_tokens` and `sizes_seen`: how large that is; all counting and
    cutting goes by them.

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

    Edits are made in the order of the request.  ``compact_20260112`` and the
    ``compaction`` of Responses are not simulated: what the provider would write
    is not known before it has.

    Whether results are hidden depends on all that is sent, so what is hidden
    now may be seen again when something else goes.  `sizes_seen` is for
    choosing a cut, `hides_behind` says whether the sizes still hold after it.

What is not here
    Whether an edit is legal (`protocol.context_edits`); prefixes that stand
    only at the provider (``previous_response_id``); results of server tools,
    "last_compaction",
    which stay; dropping by ``truncation: auto``, whose choice is not stated.
"""

from __future__ import annotations

from collections import Counter as Bag
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from attrs import evolve, frozen

from .arguments import need
from .model import Block, Call, Conversation, Message, Opaque, Reasoning, Result, need_conversation
from .models import model_named
from .protocol.context_edits import ClearThinking, ClearToolUses, Edit, read_edits
from .tokens import Memo, block_tokens, estimate
from .tokens.counting import checked

__all__ = [
    "CLEARED",
    "Use",
    "effective",
    "hides_behind",
    "is_compaction",
    "request_tokens",
    "shown",
    "sizes_seen",
    "thinking_turns",
    "uses_of",
]

CLEARED: Final = "[cleared by clear_tool_uses_20250919]"
"""What stands for a cleared result; the provider's own words are not documented."""

Shown: TypeAlias = "list[Message | None]"
_INSTRUCTIONS: Final = frozenset({"system", "developer"})


def effective(
    conversation: Conversation, *, counter: Callable[[str], int] = estimate, edits: Sequence[Edit] | None = None
) -> Conversation:
    """
    The conversation as the model sees it.

    Args:
        conversation: what is sent.
        counter: counts the tokens of a text, for edits whose trigger is a size.
        edits: what the provider is asked for, in the place of what the request says.

    Returns:
        The same object if nothing is hidden.

    Raises:
        PolicyError: *conversation* is none, or *counter* is none or misbehaves, or *edits* are none.

    >>> from compactlib.dialects import parse, render
    >>> compacted = [{"type": "compaction", "content": "They fixed the build."}, {"type": "text", "text": "Done."}]
    >>> messages = [{"role": "user", "content": "fix it"}, {"role": "assistant", "content": compacted}]
    >>> [message["role"] for message in render(effective(parse(messages, dialect="anthropic")))]
    ['assistant']
    """
    need_conversation(conversation)
    if edits is not None:
        need("edits", edits, Sequence, "edits of the context")
        for edit in edits:
            need("edits", edit, Edit, "edits of the context")
    seen = shown(conversation, counter=checked(counter), edits=edits)
    messages = conversation.messages
    if len(seen) == len(messages) and all(new is old for new, old in zip(seen, messages, strict=True)):
        return conversation
    start, stop = conversation.fused
    before = sum(message is not None for message in seen[:start])
    inside = sum(message is not None for message in seen[start:stop])
    fused = (before, before + inside) if inside > 1 else (0, 0)
    return evolve(conversation, messages=tuple(filter(None, seen)), fused=fused, settled=0)


def shown(
    conversation: Conversation, *, counter: Callable[[str], int] = estimate, edits: Sequence[Edit] | None = None
) -> tuple[Message | None, ...]:
    """
    What the model sees of each message: itself, what is left of it, or ``None``.

    Raises:
        PolicyError: *counter* misbehaves.
    """
    seen: Shown = list(conversation.messages)
    _hide_compacted(seen, is_anthropic=conversation.dialect == "anthropic")
    if edits is None:
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


def request_tokens(conversation: Conversation, memo: Memo, *, edits: Sequence[Edit] | None = None) -> int:
    """
    The tokens of the whole request as the model sees it, overhead included.

    Raises:
        PolicyError: the counter misbehaves.
    """
    return memo.request(effective(conversation, counter=memo.counter, edits=edits))


def sizes_seen(conversation: Conversation, memo: Memo) -> list[int]:
    """
    The tokens of each message as the model sees it; of one that it does not see, 0.

    Raises:
        PolicyError: the counter misbehaves.
    """
    seen = shown(conversation, counter=memo.counter)
    if None not in seen:
        return memo.sizes(seen)  # type: ignore[arg-type]  # there is no None among them
    return [0 if message is None else memo.message(message) for message in seen]


def hides_behind(conversation: Conversation, position: int, memo: Memo) -> bool:
    """
    Whether what is hidden from *position* on stays hidden when everything before it has gone.

    What takes its place is not known yet, so only what stays decides: an edit
    that is sure to be made again.

    Raises:
        PolicyError: the counter misbehaves.
    """
    now = shown(conversation, counter=memo.counter)[position:]
    tail = evolve(conversation, messages=conversation.messages[position:], fused=(0, 0), settled=0)
    return memo.messages(list(filter(None, shown(tail, counter=memo.counter)))) <= memo.messages(list(filter(None, now)))


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


def last_compaction(messages: Sequence[Message | None]) -> tuple[int, int]:
    """The message and the place in it of the last compaction object; (-1, 0) if there is none."""
    at = len(messages)
    for message in reversed(messages):
        at -= 1
        if message is None or isinstance(message.content, str):
            continue
        for block in message.content:
            if isinstance(block, Opaque):  # as few are
                for place in range(len(message.content) - 1, -1, -1):
                    if is_compaction(message.content[place]):
                        return at, place
                break
    return -1, 0


def _hide_compacted(seen: Shown, *, is_anthropic: bool) -> None:
    """Hide what stands before the last compaction object, unless a call there is open."""
    at, place = last_compaction(seen)
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
    turns = thinking_turns(seen)
    for at in (at for turn in turns[: max(len(turns) - keep_turns, 0)] for at in turn):
        message = seen[at]
        if message is not None:
            seen[at] = _only(message, [n for n, block in enumerate(message.content) if not isinstance(block, Reasoning)])


def thinking_turns(messages: Sequence[Message | None]) -> list[list[int]]:
    """The messages with thinking of each turn that has any; a turn is what the model says until the user does not only answer."""
    turns: list[list[int]] = []
    is_new = True
    for at, message in enumerate(messages):
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
    return turns


# -- results -----------------------------------------------------------------------------------------------------------


@frozen
class Use:
    """
    A call that the client runs, and its result.

    Attributes:
        position, place: of the call: its message, and its place among the blocks.
        call: the call.
        answer: the same of its result, and the result; ``None`` while there is none.
    """

    position: int
    place: int
    call: Call
    answer: tuple[int, int, Result] | None = None

    def hidden(self, *, inputs: bool | frozenset[str], counter: Callable[[str], int]) -> tuple[int, list[_News]]:
        """
        What is saved by hiding it, in tokens, and what then stands where.

        Args:
            inputs: whether arguments go too: of all tools, or of these.
            counter: counts the tokens of a text.
        """
        news: list[_News] = []
        saved = 0
        if self.answer is not None:
            at, place, result = self.answer
            saved += _gain(news, at, place, result, evolve(result, content=CLEARED), counter)
        if self.call.name in inputs if isinstance(inputs, frozenset) else inputs:
            saved += _gain(news, self.position, self.place, self.call, evolve(self.call, arguments={}), counter)
        return saved, news


_News: TypeAlias = "tuple[int, int, Block]"


def _gain(news: list[_News], at: int, place: int, old: Block, new: Block, counter: Callable[[str], int]) -> int:
    """What is saved by *new* in the place of *old*; if it is anything, *new* is put among the news."""
    gain = block_tokens(old, counter) - block_tokens(new, counter)
    if gain <= 0:
        return 0
    news.append((at, place, new))
    return gain


def uses_of(messages: Sequence[Message | None], *, hosted: bool = False) -> list[Use]:
    """The uses of tools in the order of their calls, those of the provider's own tools too if *hosted*; linear."""
    uses: list[Use] = []
    waiting: dict[tuple[bool, str], list[int]] = {}  # the open calls by who runs them and id, newest last
    for at, message in enumerate(messages):
        if message is None or isinstance(message.content, str):
            continue
        for place, block in enumerate(message.content):
            if isinstance(block, Call) and (block.is_client or hosted):
                waiting.setdefault((block.is_client, block.id), []).append(len(uses))
                uses.append(Use(at, place, block))
            elif isinstance(block, Result) and waiting.get((block.is_client, block.call_id)):
                number = waiting[block.is_client, block.call_id].pop()
                uses[number] = evolve(uses[number], answer=(at, place, block))
    return uses


def _clear_results(seen: Shown, edit: ClearToolUses, conversation: Conversation, counter: Callable[[str], int]) -> None:
    """Make the edit, if it is due and worth it."""
    uses = uses_of(seen)
    if edit.unit == "tool_uses":
        if len(uses) <= edit.trigger:
            return
    else:
        memo = Memo(counter)
        if memo.overhead(conversation) + memo.messages([message for message in seen if message is not None]) <= edit.trigger:
            return
    changed: dict[int, dict[int, Block]] = {}
    saved = 0
    for use in uses[: max(len(uses) - edit.keep_tool_uses, 0)]:
        if use.call.name not in edit.exclude_tools:
            gain, news = use.hidden(inputs=edit.clear_inputs, counter=counter)
            saved += gain
            for at, place, new in news:
                changed.setdefault(at, {})[place] = new
    if saved < edit.clear_at_least_tokens:
        return
    for at, blocks in changed.items():
        message = seen[at]
        if message is not None:
            seen[at] = evolve(message, content=tuple(blocks.get(place, block) for place, block in enumerate(message.blocks)))
