"""
Clearing in the words of a provider: messages stay as they are, and the request says what is to be hidden.

What this is
    `form_of` says whether a provider can be asked, and `ask_to_hide` makes the
    edits: the value of ``context_management.edits``, with the betas that they
    need.

Rules it obeys
    * Law L7.  What must stay is not hidden: the protected tail, what no later
      model message has seen, the newest results.  A pin is spared by leaving
      out its tool, because single results cannot be named.
    * Law L10.  With a store, what is hidden is stored too; without one nothing
      is lost either, because the caller's copy stays whole.
    * Law L18.  No message changes, so the cached prefix stays as sent.
    * Law L1.  The request with these edits breaks no rule that it did not
      break before (A-CTX-01 to 05); an edit that would is left out.
    * What the request asks for already, and is of another type, stays in its place.

How it works
    The provider clears oldest first and can be told how many uses stay, from
    which size on, and which tools are spared.  So the smallest number of oldest
    uses is taken that reaches the target; the trigger is in uses, because then
    it does not depend on whose counter is right.  `visible` simulates the
    edits, and its sizes are those of the outcome.

    What cannot be said in this language: that a duplicate or what was read
    again since goes first, that one picture of a result goes alone, and that
    what failed stays.  `Hiding` counts by how much the two decisions differ.

What is not here
    What rewriting would do (`clearing`), and whether edits are legal
    (`protocol.context_edits`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Final, Literal, TypeAlias

from attrs import frozen

from .clearing import ClearedUnit, clearable
from .deeds import file_name
from .model import Block, Call, Conversation, Json, Message, Reasoning, Result, Text
from .models import model_named
from .options import Clearing
from .outputs import Answer, answered, bytes_of, json_of
from .protocol.context_edits import BETAS, edits_in
from .protocol.profiles import Profile
from .protocol.request import thinking_mode
from .signals import looks_failed
from .store import Store, keep
from .summaries.transcript import argument_text
from .thoughts import thought_of
from .tokens import Memo
from .turns import Division
from .visible import Use, request_tokens, shown, thinking_turns, uses_of

__all__ = ["Hiding", "ask_to_hide", "form_of"]

_TOOLS: Final = "clear_tool_uses_20250919"
_THINKING: Final = "clear_thinking_20251015"
_WHY: Final = "oldest"


@frozen(kw_only=True)
class Hiding:
    """
    What a provider is asked to hide.

    Attributes:
        edits: the value of ``context_management`` in the body.
        betas: the beta headers that it needs.
        units: what is hidden, in order of position.
        after_tokens: size of the whole request, as the model sees it then.
        issued: the references that were given out, with the characters and newlines of what they stand for.
        failed: how many results are hidden that say that something failed, and that rewriting would have kept.
        spared: how many results stay because a pin's tool is spared as a whole.
    """

    edits: dict[str, Json]
    betas: tuple[str, ...]
    units: tuple[ClearedUnit, ...]
    after_tokens: int
    issued: Mapping[str, tuple[int, int]]
    failed: int
    spared: int


def form_of(conversation: Conversation, profile: Profile, options: Clearing) -> tuple[Literal["rewrite", "edit"], str | None]:
    """
    In which form clearing is done, and why not in the one that was asked for.

    >>> from compactlib.dialects import parse
    >>> from compactlib.protocol.profiles import profile_named
    >>> options = Clearing(form="edit")
    >>> form_of(parse([], dialect="anthropic"), profile_named("anthropic"), options)
    ('edit', None)
    >>> form_of(parse([], dialect="mistral"), profile_named("mistral"), options)
    ('rewrite', "the profile 'mistral' has no such edits")
    """
    if options.form == "rewrite":
        return "rewrite", None
    if _TOOLS not in profile.edits:
        return "rewrite", f"the profile {profile.name!r} has no such edits"
    name = conversation.setting("model")
    model = model_named(name) if isinstance(name, str) else None
    if isinstance(name, str) and name and (model is None or _TOOLS not in model.edits):
        return "rewrite", f"{name[:64]!r} is not known to support {_TOOLS}"
    return "edit", None


def ask_to_hide(
    conversation: Conversation,
    division: Division,
    memo: Memo,
    store: Store | None,
    *,
    profile: Profile,
    options: Clearing,
    before_tokens: int,
    target_tokens: int,
    tail_tokens: int,
    least_gain_tokens: int,
    untouched: Set[int] = frozenset(),
) -> Hiding | None:
    """
    Say which old results, and which old reasoning, the provider is to hide.

    Args:
        conversation: the conversation.
        division: how it divides.
        memo: counts its messages.
        store: where the bytes of what is hidden go as well, if there is one.
        profile: what the provider allows.
        options: what the caller decides.
        before_tokens: size of the whole request, as the model sees it.
        target_tokens: the size it aims for.
        tail_tokens: how much at the end is not touched.
        least_gain_tokens: what has to be saved, unless the target is reached.
        untouched: positions of messages that are not hidden, such as pins.

    Returns:
        What to ask for, or ``None`` where that would not be worth it.

    Raises:
        StoreError: something could not be stored.
        PolicyError: the counter misbehaves.
    """
    management = conversation.setting("context_management")
    listed = management.get("edits") if isinstance(management, dict) else None
    own: list[Json] = listed if isinstance(listed, list) else []
    others = [edit for edit in own if _type_of(edit) != _TOOLS]
    thinking = _thinking_edit(conversation, division, profile, options, untouched)
    if thinking is not None:
        others = [thinking, *(edit for edit in others if _type_of(edit) != _THINKING)]
    seen = shown(conversation, counter=memo.counter, edits=edits_in(others))
    left = request_tokens(conversation, memo, edits=edits_in(others)) - target_tokens
    answers = list(answered(conversation.messages))
    stop, allowed = clearable(
        conversation, division, memo, answers, options=options, tail_tokens=tail_tokens, untouched=untouched
    )
    uses = uses_of(seen)
    pinned = {use.call.name for use in uses if use.position in untouched or (use.answer and use.answer[0] in untouched)}
    spared = options.exclude_tools | pinned
    count = _leading(uses, stop, options.keep)
    inputs = options.clear_tool_inputs
    first = _fewest(uses[:count], spared, left, memo, inputs=inputs)
    if inputs and any(use.position >= division.current_turn for use in uses[:first]):
        inputs = False  # law L5: nothing says that arguments go in closed turns only
        first = _fewest(uses[:count], spared, left, memo, inputs=inputs)
    if first:
        least = options.clear_at_least_tokens or 0
        hidden = sum(use.hidden(inputs=inputs, counter=memo.counter)[0] for use in uses[:first] if use.call.name not in spared)
        others.append(_tool_edit(len(uses) - first, spared, least if least <= hidden else 0, inputs=inputs))
    else:
        others += [edit for edit in own if _type_of(edit) == _TOOLS]
    edits = edits_in(others)
    after = request_tokens(conversation, memo, edits=edits)
    saved = before_tokens - after
    if saved <= 0 or (saved < least_gain_tokens and after > target_tokens):
        return None
    final = shown(conversation, counter=memo.counter, edits=edits)
    units, issued = _hidden(conversation, memo, store, final, answers)
    failing = {
        (answer.position, answer.place) for answer in answers if answer.result.is_error or looks_failed(answer.result.text)
    }
    gone = {(use.answer[0], use.answer[1]) for use in uses[:first] if use.answer and use.call.name not in spared}
    return Hiding(
        edits={**(management if isinstance(management, dict) else {}), "edits": others},
        betas=tuple(sorted({BETAS[kind] for edit in others if (kind := _type_of(edit)) in BETAS})),
        units=units,
        after_tokens=after,
        issued=issued,
        failed=len(gone & failing),
        spared=sum(
            may and answer.call.name in pinned and answer.call.name not in options.exclude_tools
            for answer, may in zip(answers, allowed, strict=True)
        ),
    )


def _type_of(edit: Json) -> str:
    kind = edit.get("type") if isinstance(edit, dict) else None
    return kind if isinstance(kind, str) else ""


def _tool_edit(keep: int, spared: frozenset[str], least_tokens: int, *, inputs: bool | frozenset[str]) -> dict[str, Json]:
    edit: dict[str, Json] = {
        "type": _TOOLS,
        "trigger": {"type": "tool_uses", "value": keep},
        "keep": {"type": "tool_uses", "value": keep},
    }
    if least_tokens:
        edit["clear_at_least"] = {"type": "input_tokens", "value": least_tokens}
    if spared:
        edit["exclude_tools"] = sorted(spared)
    if inputs:
        edit["clear_tool_inputs"] = True if inputs is True else sorted(inputs)
    return edit


def _thinking_edit(
    conversation: Conversation, division: Division, profile: Profile, options: Clearing, untouched: Set[int]
) -> dict[str, Json] | None:
    """The edit of old reasoning: so many turns keep it that none loses it that must not (law L5)."""
    keep = options.thinking_keep_turns
    if keep is None or _THINKING not in profile.edits or not _thinks(conversation):
        return None
    turns = thinking_turns(conversation.messages)
    count = max(len(turns) - keep, 0)
    for number, turn in enumerate(turns[:count]):
        if turn[-1] >= division.current_turn or not untouched.isdisjoint(turn):
            count = number
            break
    return {"type": _THINKING, "keep": {"type": "thinking_turns", "value": len(turns) - count}} if count else None


def _thinks(conversation: Conversation) -> bool:
    """Whether the model thinks, as far as can be seen, so that the edit is taken (A-CTX-01, A-CTX-03)."""
    mode = thinking_mode(conversation)
    name = conversation.setting("model")
    model = model_named(name) if isinstance(name, str) else None
    if model is not None and _THINKING not in model.edits:
        return False
    return mode in ("enabled", "adaptive", "unknown") or (mode == "unsaid" and model is not None and model.thinks_unasked is True)


def _leading(uses: Sequence[Use], stop: int, keep: int) -> int:
    """How many of the first uses may be hidden: none of them stands in what is protected."""
    for number, use in enumerate(uses[: max(len(uses) - keep, 0)]):
        if (use.position if use.answer is None else use.answer[0]) >= stop:
            return number
    return max(len(uses) - keep, 0)


def _fewest(uses: Sequence[Use], spared: frozenset[str], wanted_tokens: int, memo: Memo, *, inputs: bool | frozenset[str]) -> int:
    """How many of the first uses have to be hidden to save *wanted_tokens*; if it cannot be reached, all that save something."""
    last = saved = 0
    for number, use in enumerate(uses, 1):
        if saved >= wanted_tokens:
            break
        gain = 0 if use.call.name in spared else use.hidden(inputs=inputs, counter=memo.counter)[0]
        if gain:
            last, saved = number, saved + gain
    return last


_Stored: TypeAlias = "dict[str, tuple[int, int]]"


def _hidden(
    conversation: Conversation, memo: Memo, store: Store | None, final: Sequence[Message | None], answers: Sequence[Answer]
) -> tuple[tuple[ClearedUnit, ...], _Stored]:
    """What is hidden in the end and was not before, each in the store if there is one."""
    issued: _Stored = {}

    def put(data: bytes, name: str) -> str:
        if store is None:
            return ""
        ref = keep(store, data, name=name)
        text = data.decode("utf-8", "surrogatepass")
        issued[ref] = (len(text), text.count("\n"))
        return ref

    units: list[ClearedUnit] = []
    calls = {(answer.position, answer.place): answer.call for answer in answers}
    before = shown(conversation, counter=memo.counter)
    for at, (whole, old, new) in enumerate(zip(conversation.messages, before, final, strict=True)):
        if old is None or new is old or new is whole:
            continue
        saved = memo.message(old) - (0 if new is None else memo.message(new))
        left = () if new is None else new.blocks
        if _thoughts_in(left) < _thoughts_in(old.blocks):
            ref = put(thought_of(conversation, whole), f"reasoning {at}.json")
            units.append(ClearedUnit(at, "", ref, "reasoning", saved, _WHY))
            saved = 0  # what a message saves is told once
        if new is None or len(left) not in (len(whole.blocks), len(whole.blocks) - _thoughts_in(whole.blocks)):
            continue
        spoken = whole.blocks if len(left) == len(whole.blocks) else [b for b in whole.blocks if not isinstance(b, Reasoning)]
        for place, (one, other) in enumerate(zip(spoken, left, strict=True)):
            if one is other or one == other:
                continue
            if isinstance(one, Result):
                call = calls.get((at, place))
                name = "" if call is None else call.name
                file = file_name(call, "txt") if call is not None else "result.txt"
                units.append(ClearedUnit(at, name, put(_data_of(one), file), "result", saved, _WHY))
            elif isinstance(one, Call):
                data = bytes_of(argument_text(one))
                units.append(ClearedUnit(at, one.name, put(data, f"{one.name} arguments.json"), "arguments", saved, _WHY))
            saved = 0
    return tuple(units), issued


def _thoughts_in(blocks: Sequence[Block]) -> int:
    return sum(isinstance(block, Reasoning) for block in blocks)


def _data_of(result: Result) -> bytes:
    """What a store keeps of a result: its text, or its blocks as JSON where they are more than texts."""
    content = result.content
    if content is None or isinstance(content, str) or all(isinstance(block, Text) for block in content):
        return bytes_of(result.text)
    return json_of([getattr(block, "text", getattr(block, "source", getattr(block, "value", None))) for block in content])
