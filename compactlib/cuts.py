"""
Where the tail may begin, and where it does.

What this is
    `legal_cuts` lists every index at which a conversation may be cut;
    `choose` picks one by the exact rule of law L3.

Rules it obeys
    * Law L3.  A *turn cut* falls on a prompt that follows some history.  A
      *step cut* falls on the first message of a step, and the prompt of that
      turn is then kept.  Nothing else is a cut: not an attachment, a result, a
      bridge, a harness message, the inside of a step, a place before the last
      compaction object, nor the end.
    * Law L5.  Where the provider wants the kept part of the current turn to
      begin with thinking, a step that does not is no cut.
    * What stays must not refer to what goes: a tool declared by a dropped
      message, a document cited by its number.
    * Law L26.  Instructions among the messages stay, first of all; where the
      provider takes them in the middle and never first (A-ROLE-02), no cut
      falls behind them.
    * Law L1.  Where the sides take turns and calls do not count (V-ALT-02), the
      first message behind a step cut that counts is no user's, for the head
      before it is one.

How it works
    The tail of a cut is everything from it on, and after a step cut also the
    kept prompt.  The choice looks only at sizes:

    1. among turn cuts whose tail fits, the longest tail;
    2. if there is none, or it is below a quarter of what is allowed, the step
       cut with the longest fitting tail, if that is longer;
    3. if nothing fits, the cut with the shortest tail.

    Ties go to the smaller index.

What is not here
    Sizes (`budget`, `tokens`), and what stands in front of the tail
    (`compaction`).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Final, Literal

from attrs import frozen

from .model import Block, Call, Conversation, Media, Message, Opaque, Reasoning, Result, Text, need_conversation
from .protocol.profiles import Profile
from .turns import Division, divide
from .visible import is_compaction

__all__ = ["Choice", "Cuts", "choose", "find_cuts", "legal_cuts", "tail_tokens"]


_DECLARATIONS: Final = frozenset({"function", "custom", "namespace"})
"""Types of what a tool search of OpenAI finds: the declarations themselves."""


@frozen
class Cuts:
    """
    Legal cuts.

    Attributes:
        turn: indices of prompts.
        step: indices of first messages of steps.
    """

    turn: tuple[int, ...]
    step: tuple[int, ...]


@frozen
class Choice:
    """
    The cut that was chosen.

    Attributes:
        position: where the tail begins.
        kind: ``turn`` or ``step``.
        prompt: after a step cut, the position of the prompt that is kept, if its turn has one.
        tail_tokens: size of the tail, the kept prompt included.
        why: which of the three rules decided, in words.
    """

    position: int
    kind: Literal["turn", "step"]
    prompt: int | None
    tail_tokens: int
    why: str


def legal_cuts(conversation: Conversation) -> Cuts:
    """
    All legal cuts, in the indices of the wire.

    Both tuples are strictly increasing and disjoint; neither holds 0 or the
    length.

    Raises:
        PolicyError: *conversation* is none.

    >>> from compactlib.dialects import parse
    >>> legal_cuts(parse([
    ...     {"role": "user", "content": "one"},
    ...     {"role": "assistant", "content": "1"},
    ...     {"role": "user", "content": "two"},
    ...     {"role": "assistant", "content": "2"},
    ... ], dialect="anthropic"))
    Cuts(turn=(2,), step=(1, 3))
    """
    need_conversation(conversation)
    cuts = find_cuts(conversation, divide(conversation))
    at = conversation.wire_index
    return Cuts(tuple(map(at, cuts.turn)), tuple(map(at, cuts.step)))


def find_cuts(conversation: Conversation, division: Division, *, profile: Profile | None = None) -> Cuts:
    """All legal cuts, as positions in `Conversation.messages`, for a *profile* or the dialect; linear in the number of blocks."""
    messages = conversation.messages
    closed = _references(conversation)
    if conversation.dialect == "anthropic":
        for at in range(_instructed(messages), len(messages)):
            closed[at] = True
    first = max(division.head_stop, 1)
    turn = [part.start for part in division.turns if part.start > division.head_stop and not closed[part.start]]
    step = [part.start for part in division.steps if part.start >= first and not closed[part.start]]
    if _wants_thinking(conversation, division):
        step = [at for at in step if at < division.current_turn or _opens_with_thinking(messages[at].content)]
    if profile is not None and profile.demands_turns and profile.has_tools:
        breaks = _breaks_turns(messages)
        step = [at for at in step if not breaks[at]]
    return Cuts(tuple(turn), tuple(step))


def _instructed(messages: Sequence[Message]) -> int:
    """Where instructions stand for the first time that are not at the beginning; the length if they do not."""
    said = False
    for at, message in enumerate(messages):
        if message.role == "system" and said:
            return at
        said = said or message.role != "system"
    return len(messages)


def _breaks_turns(messages: Sequence[Message]) -> list[bool]:
    """
    For each position whether a user's message behind the head of a step cut there would be the second of that side in a row.

    It is the first that counts from there on, unless it was the second in a row before.
    """
    spoke = ""
    in_turn = []  # for each position whether a user speaks there whose turn it is
    for message in messages:
        is_user = message.role == "user"
        in_turn.append(is_user and spoke != "user")
        if is_user or (message.role == "model" and not _counts_not(message)):
            spoke = message.role
    breaks = False
    found = []
    for message, is_due in zip(reversed(messages), reversed(in_turn), strict=True):
        if message.role == "user" or (message.role == "model" and not _counts_not(message)):
            breaks = is_due
        found.append(breaks)
    found.reverse()
    return found


def _counts_not(message: Message) -> bool:
    """Whether a model's message is one with calls, were they an empty list; null means that it has none."""
    shape = message.wire
    return bool(message.calls) or ("tool_calls" in shape.keys and shape.get("tool_calls", []) is not None)


def _references(conversation: Conversation) -> list[bool]:
    """For each position whether a cut there would leave something that refers to what went."""
    messages = conversation.messages
    length = len(messages)
    change = [0] * (length + 1)

    def close(start: int, stop: int) -> None:  # no cut after start, up to and including stop
        if start < stop:
            change[start + 1] += 1
            change[stop + 1] -= 1

    compacted = -1
    declared: dict[str, int] = {}
    first_document = last_citation = -1
    for position, message in enumerate(messages):
        content = message.content
        if isinstance(content, str):
            continue
        for block in content:
            if isinstance(block, Result):
                if isinstance(block.content, tuple):
                    for name in _tool_names(block.content):
                        declared.setdefault(name, position)
            elif isinstance(block, Text):
                if block.wire.rest and _cites_by_number(block):
                    last_citation = position
            elif isinstance(block, Call):
                pass  # most blocks are of these three kinds
            elif isinstance(block, Media):
                if block.kind == "document" and first_document < 0:
                    first_document = position
            elif isinstance(block, Opaque):
                if is_compaction(block):
                    compacted = position
                for name in _tool_names((block,)):
                    declared.setdefault(name, position)
    if compacted >= 0:
        close(-1, compacted)
    if declared:
        loaded = {tool.name for tool in conversation.tools if not _is_deferred(tool.value)}
        used = {call.name: position for position, message in enumerate(messages) for call in message.calls}
        for name, position in declared.items():
            if name not in loaded:
                close(position, used.get(name, position))
    if first_document >= 0:
        close(first_document, last_citation)
    return [depth > 0 for depth in accumulate(change[:length])] if any(change) else [False] * length


def _tool_names(blocks: Sequence[Block]) -> list[str]:
    """The tools that blocks make available from here on."""
    found = []
    stack = [block.value for block in blocks if isinstance(block, Opaque)]
    while stack:
        value = stack.pop()
        if isinstance(value, list):
            stack.extend(value)
        elif isinstance(value, dict):
            kind = value.get("type")
            if not isinstance(kind, str):
                continue
            if kind == "tool_reference" and isinstance(value.get("tool_name"), str):
                found.append(value["tool_name"])
            elif kind in ("tool_addition", "tool_search_tool_search_result"):
                stack.extend(value.values())
            elif kind in _DECLARATIONS and isinstance(value.get("name"), str):
                found.append(value["name"])
            if kind in ("tool_search_output", "namespace"):
                stack.append(value.get("tools"))
    return found


def _is_deferred(declaration: object) -> bool:
    return isinstance(declaration, dict) and declaration.get("defer_loading") is True


def _cites_by_number(block: Text) -> bool:
    citations = block.wire.get("citations")
    return isinstance(citations, list) and any(isinstance(item, dict) and "document_index" in item for item in citations)


def _wants_thinking(conversation: Conversation, division: Division) -> bool:
    """Whether the kept part of the current turn must begin with thinking (rule A-THINK-01)."""
    if conversation.dialect != "anthropic":
        return False
    setting = conversation.setting("thinking")
    if isinstance(setting, dict):
        return setting.get("type") == "enabled"
    return conversation.envelope.fields is None and any(
        isinstance(block, Reasoning)
        for message in conversation.messages[division.current_turn :]
        if not isinstance(message.content, str)
        for block in message.content
    )


def _opens_with_thinking(content: object) -> bool:
    return isinstance(content, tuple) and bool(content) and isinstance(content[0], Reasoning)


def tail_tokens(weights: Sequence[int]) -> list[int]:
    """For each position the tokens from it to the end; one longer than *weights*, ending in 0."""
    sums = list(accumulate(reversed(weights), initial=0))
    sums.reverse()
    return sums


def choose(
    division: Division,
    cuts: Cuts,
    weights: Sequence[int],
    *,
    limit_tokens: int,
    step_cuts: Literal["when-needed", "never"] = "when-needed",
) -> Choice | None:
    """
    Choose where the tail begins (law L3).

    Args:
        division: how the conversation divides.
        cuts: its legal cuts, as positions.
        weights: tokens of each message.
        limit_tokens: largest size of the tail.
        step_cuts: whether a turn may be cut.

    Returns:
        The choice, or ``None`` if there is no legal cut.
    """
    tails = tail_tokens(weights)
    turn = _first_fitting([(tails[at], at) for at in cuts.turn], limit_tokens)
    if turn is not None and turn[0] >= limit_tokens // 4:
        return Choice(turn[1], "turn", None, turn[0], "the longest tail that begins with a prompt and fits")
    prompts = _prompts_of(division, cuts.step) if step_cuts == "when-needed" else []
    steps = [(tails[at] + (0 if prompt is None else weights[prompt]), at) for at, prompt in prompts]
    kept = dict(prompts)
    step = _first_fitting(steps, limit_tokens)
    if step is not None and (turn is None or step[0] > turn[0]):
        reason = "no tail that begins with a prompt fits" if turn is None else "such a tail would be too short"
        return Choice(step[1], "step", kept[step[1]], step[0], f"{reason}; the longest tail that begins with a step")
    if turn is not None:
        return Choice(turn[1], "turn", None, turn[0], "the longest tail that begins with a prompt and fits")
    smallest = min([(tails[at], at) for at in cuts.turn] + steps, default=None)
    if smallest is None:
        return None
    tokens, at = smallest
    is_step = at in kept
    return Choice(at, "step" if is_step else "turn", kept.get(at), tokens, "nothing fits; the shortest tail there is")


def _first_fitting(candidates: list[tuple[int, int]], limit_tokens: int) -> tuple[int, int] | None:
    """The largest candidate within the limit; of equal ones the first."""
    fitting = [candidate for candidate in candidates if candidate[0] <= limit_tokens]
    return max(fitting, key=lambda candidate: candidate[0], default=None)


def _prompts_of(division: Division, steps: tuple[int, ...]) -> list[tuple[int, int | None]]:
    """Each step cut with the prompt of its turn."""
    prompts: list[tuple[int, int | None]] = []
    turns = iter(division.turns)
    turn = next(turns, None)
    prompt: int | None = None
    for at in steps:
        while turn is not None and turn.start < at:
            prompt = turn.start
            turn = next(turns, None)
        prompts.append((at, prompt))
    return prompts
