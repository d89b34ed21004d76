"""
Clearing in the words of a provider: messages stay as they are, and the request says what is to be hidden.

What this is
    `form_of` says whether a provider can be asked, and `ask_to_hide` makes the
    edits: the value of ``context_management.edits``, with the betas that they
    need.

Rules it obeys
    * Law L7.  What must stay is not hidden: the protected tail, what no later
      model message has seen, the newest results.  A pin is spared by leaving
      out its tool, because single results cannot be named; so is what loads a
      tool, and what the request itself leaves out already.
    * Law L10.  With a store, what is hidden is stored too; without one nothing
      is lost either, because the caller's copy stays whole.
    * Law L18.  No message changes, and no more is hidden than the target needs.
      The provider's cache ends where hiding begins, as it ends at a stub, so
      it must be worth it.
    * Law L1.  The request with these edits breaks no rule that it did not
      break before (A-CTX-01 to 05); an edit that would is left out.
    * What the request asks for already, and is of another type, stays in its
      place; what hides as much by itself is not asked for again.

How it works
    The provider clears oldest first and can be told how many uses stay, from
    which size on, and which tools are spared.  So the smallest number of oldest
    uses is taken that reaches the target; the trigger is in uses, because then
    it does not depend on whose counter is right.  `visible` simulates the
    edits, and its sizes are those of the outcome.

    Whether the provider counts uses of its own tools is not documented.  So
    many are kept that nothing is hidden that must stay, whether it does or not.

    What cannot be said in this language: that a duplicate or what was read
    again since goes first, that one picture of a result goes alone, and that
    what failed stays.  `Hiding` counts by how much the two decisions differ.

What is not here
    What rewriting would do (`clearing`), whether edits are legal
    (`protocol.context_edits`), and how the same stays hidden when the
    conversation grows (`holding`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import Final, Literal

from attrs import frozen

from .clearing import ClearedUnit, clearable
from .deeds import deed, file_name
from .model import Block, Call, Conversation, Json, Message, Opaque, Reasoning, Result, Text
from .models import model_named, name_of
from .options import Clearing
from .outputs import Answer, answered, bytes_of, values_of
from .protocol.context_edits import BETAS, ClearToolUses, edits_in
from .protocol.profiles import Profile
from .protocol.request import thinking_mode
from .signals import looks_failed
from .store import Store, keep
from .summaries.transcript import argument_text
from .thoughts import thought_of
from .tokens import Memo, block_tokens
from .turns import Division
from .visible import CLEARED, Use, request_tokens, shown, thinking_turns, uses_of

__all__ = ["Hiding", "ask_to_hide", "form_of"]

_TOOLS: Final = "clear_tool_uses_20250919"
_THINKING: Final = "clear_thinking_20251015"
_SUMMARY: Final = "compact_20260112"
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


def form_of(
    conversation: Conversation, profile: Profile, options: Clearing, *, model: str | None = None
) -> tuple[Literal["rewrite", "edit"], str | None]:
    """
    In which form clearing is done, and why not in the one that was asked for.

    Args:
        conversation: the conversation; its messages are not read.
        profile: what its provider allows.
        options: what the caller decides.
        model: the model's name, where the request does not say it, or only by a name of the caller's own.

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
    name = name_of(conversation.setting("model"), model)
    known = model_named(name)
    if name and (known is None or _TOOLS not in known.edits):
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
    model: str | None = None,
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
        model: the model's name, as for `form_of`.

    Returns:
        What to ask for, or ``None`` where that would not be worth it.

    Raises:
        StoreError: something could not be stored.
        PolicyError: the counter misbehaves.
    """
    management = conversation.setting("context_management")
    listed = management.get("edits") if isinstance(management, dict) else None
    edits: list[Json] = list(listed) if isinstance(listed, list) else []
    wanted = before_tokens - target_tokens
    thinks = _THINKING in profile.edits and _thinks(conversation, model)
    thinking = _thinking_edit(conversation, division, memo, options, untouched, wanted_tokens=wanted) if thinks else None
    if thinking is not None:
        edits = [thinking, *(edit for edit in edits if _type_of(edit) != _THINKING)]
    answers = list(answered(conversation.messages))
    stop, allowed = clearable(
        conversation, division, memo, answers, options=options, tail_tokens=tail_tokens, untouched=untouched
    )
    uses = uses_of(conversation.messages, hosted=True)
    pinned = _tools(uses, lambda use: use.position in untouched or (use.answer is not None and use.answer[0] in untouched))
    after = request_tokens(conversation, memo, edits=edits_in(edits))
    if after > target_tokens:
        spared = options.exclude_tools | pinned | _tools(uses, _loads) | _spared_already(edits)
        others = [edit for edit in edits if _type_of(edit) != _TOOLS]
        seen = shown(conversation, counter=memo.counter, edits=edits_in(others))
        left = request_tokens(conversation, memo, edits=edits_in(others)) - target_tokens
        clearing = _tool_edit(seen, division, memo, options, spared, stop=stop, wanted_tokens=left)
        made = edits if clearing is None else _placed(edits, clearing)
        smaller = request_tokens(conversation, memo, edits=edits_in(made))
        if smaller < after:  # else an edit of the request itself hides as much
            edits, after = made, smaller
    saved = before_tokens - after
    if saved <= 0 or (saved < least_gain_tokens and after > target_tokens):
        return None
    final = shown(conversation, counter=memo.counter, edits=edits_in(edits))
    hidden = _hidden(conversation, memo, store, final, answers)
    return Hiding(
        edits={**(management if isinstance(management, dict) else {}), "edits": edits},
        betas=tuple(sorted({BETAS[kind] for edit in edits if (kind := _type_of(edit)) in BETAS})),
        units=tuple(hidden.units),
        after_tokens=after,
        issued=hidden.issued,
        failed=sum(
            (answer.position, answer.place) in hidden.results and (answer.result.is_error or looks_failed(answer.result.text))
            for answer in answers
        ),
        spared=sum(
            may and answer.call.name in pinned and answer.call.name not in options.exclude_tools
            for answer, may in zip(answers, allowed, strict=True)
        ),
    )


def _type_of(edit: Json) -> str:
    kind = edit.get("type") if isinstance(edit, dict) else None
    return kind if isinstance(kind, str) else ""


def _tools(uses: Iterable[Use], such: Callable[[Use], bool]) -> frozenset[str]:
    """The tools of such uses."""
    return frozenset(use.call.name for use in uses if such(use))


def _loads(use: Use) -> bool:
    """Whether its result loads a tool, which later calls may need."""
    blocks = () if use.answer is None else use.answer[2].blocks
    return any(isinstance(block, Opaque) and block.kind == "tool_reference" for block in blocks)


def _spared_already(edits: Iterable[Json]) -> frozenset[str]:
    """The tools whose results the request itself wants to stay."""
    return frozenset(name for edit in edits_in(list(edits)) if isinstance(edit, ClearToolUses) for name in edit.exclude_tools)


def _placed(edits: Sequence[Json], made: Json) -> list[Json]:
    """The edits with *made* in the place of the first of its type, else before the provider's own summary."""
    kinds = [_type_of(edit) for edit in edits]
    place = kinds.index(_TOOLS) if _TOOLS in kinds else kinds.index(_SUMMARY) if _SUMMARY in kinds else len(kinds)
    return [edit for edit in (*edits[:place], made, *edits[place:]) if edit is made or _type_of(edit) != _TOOLS]


def _thinking_edit(
    conversation: Conversation,
    division: Division,
    memo: Memo,
    options: Clearing,
    untouched: Set[int],
    *,
    wanted_tokens: int,
) -> dict[str, Json] | None:
    """
    The edit of old reasoning: of the fewest oldest turns that save *wanted_tokens*, and of none that must keep it (law L5).

    What hides as much by itself, the provider unasked or an edit of the request, leaves nothing to save.
    """
    if options.thinking_keep_turns is None:
        return None
    turns = thinking_turns(conversation.messages)
    seen = shown(conversation, counter=memo.counter)
    count = saved = 0
    for number, turn in enumerate(turns[: max(len(turns) - options.thinking_keep_turns, 0)], 1):
        if saved >= wanted_tokens or turn[-1] >= division.current_turn or not untouched.isdisjoint(turn):
            break
        gain = sum(
            block_tokens(block, memo.counter)
            for at in turn
            if (message := seen[at]) is not None
            for block in message.blocks
            if isinstance(block, Reasoning)
        )
        if gain:
            count, saved = number, saved + gain
    return {"type": _THINKING, "keep": {"type": "thinking_turns", "value": len(turns) - count}} if count else None


def _thinks(conversation: Conversation, model: str | None) -> bool:
    """Whether the model thinks, as far as can be seen, so that the edit is taken (A-CTX-01, A-CTX-03)."""
    mode = thinking_mode(conversation)
    known = model_named(name_of(conversation.setting("model"), model))
    if known is not None and _THINKING not in known.edits:
        return False
    return mode in ("enabled", "adaptive", "unknown") or (mode == "unsaid" and known is not None and known.thinks_unasked is True)


def _tool_edit(
    seen: Sequence[Message | None],
    division: Division,
    memo: Memo,
    options: Clearing,
    spared: frozenset[str],
    *,
    stop: int,
    wanted_tokens: int,
) -> dict[str, Json] | None:
    """The edit of old results: of the fewest oldest uses that save *wanted_tokens*; if it cannot be reached, of all that save."""
    everywhere = uses_of(seen, hosted=True)
    uses = [use for use in everywhere if use.call.is_client]
    least = len(everywhere) - _leading(everywhere, stop, options.keep)  # so many stay, whether the others count or not
    may_go = uses[: max(len(uses) - least, 0)]
    inputs = options.clear_tool_inputs
    first = _fewest(may_go, spared, wanted_tokens, memo, inputs=inputs)
    keep = len(uses) - first
    if inputs and any(use.position >= division.current_turn for use in everywhere[: max(len(everywhere) - keep, 0)]):
        inputs = False  # law L5: nothing says that arguments go in closed turns only
        first = _fewest(may_go, spared, wanted_tokens, memo, inputs=inputs)
        keep = len(uses) - first
    if not first:
        return None
    kept: Json = {"type": "tool_uses", "value": keep}
    edit: dict[str, Json] = {
        "type": _TOOLS,
        "trigger": kept if keep else {"type": "input_tokens", "value": 1},  # which is always exceeded
        "keep": kept,
    }
    saved = sum(use.hidden(inputs=inputs, counter=memo.counter)[0] for use in uses[:first] if use.call.name not in spared)
    if 0 < 2 * (options.clear_at_least_tokens or 0) <= saved:  # else it may be less by the provider's count, and nothing happens
        edit["clear_at_least"] = {"type": "input_tokens", "value": options.clear_at_least_tokens}
    if spared:
        edit["exclude_tools"] = sorted(spared)
    if inputs:
        edit["clear_tool_inputs"] = True if inputs is True else sorted(inputs)
    return edit


def _leading(uses: Sequence[Use], stop: int, keep: int) -> int:
    """How many of the first uses may be hidden: none in what is protected, and none of the newest *keep* results."""
    given = sorted((use.answer[:2], number) for number, use in enumerate(uses) if use.answer is not None and use.call.is_client)
    newest = min((number for _, number in given[-keep:]), default=0) if keep else len(uses)
    for number, use in enumerate(uses[:newest]):
        if (use.position if use.answer is None else use.answer[0]) >= stop:
            return number
    return newest


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


class _Hidden:
    """What is hidden in the end and was not before: as units, as references, and which results, by message and place."""

    def __init__(self) -> None:
        self.units: list[ClearedUnit] = []
        self.issued: dict[str, tuple[int, int]] = {}
        self.results: set[tuple[int, int]] = set()


def _hidden(
    conversation: Conversation, memo: Memo, store: Store | None, final: Sequence[Message | None], answers: Sequence[Answer]
) -> _Hidden:
    """What is hidden in the end and was not before, each in the store if there is one."""
    found = _Hidden()

    def note(position: int, tool: str, data: bytes, name: str, what: str, saved: int) -> None:
        ref = ""
        if store is not None:
            ref = keep(store, data, name=name)
            text = data.decode("utf-8", "surrogatepass")
            found.issued[ref] = (len(text), text.count("\n"))
        found.units.append(ClearedUnit(position, tool, ref, what, saved, _WHY))

    calls = {(answer.position, answer.place): answer.call for answer in answers}
    before = shown(conversation, counter=memo.counter)
    for at, (whole, old, new) in enumerate(zip(conversation.messages, before, final, strict=True)):
        if old is None or new is old or new is whole:
            continue
        saved = memo.message(old) - (0 if new is None else memo.message(new))
        spoken, left = old.blocks, () if new is None else new.blocks
        if _thoughts_in(left) < _thoughts_in(spoken):
            note(at, "", thought_of(conversation, whole), f"reasoning {at}.json", "reasoning", saved)
            saved = 0  # what a message saves is told once
            spoken = tuple(block for block in spoken if not isinstance(block, Reasoning))
        for place, (one, other) in enumerate(zip(spoken, left, strict=False)):
            if isinstance(one, Result) and isinstance(other, Result) and other.content == CLEARED != one.content:
                call = calls.get((at, place))
                name, file = ("", "result.txt") if call is None else (call.name, file_name(deed(call), "txt"))
                note(at, name, _data_of(one), file, "result", saved)
                found.results.add((at, place))
                saved = 0
            elif isinstance(one, Call) and isinstance(other, Call) and not other.arguments and one.arguments:
                note(at, one.name, bytes_of(argument_text(one)), f"{one.name} arguments.json", "arguments", saved)
                saved = 0
    return found


def _thoughts_in(blocks: Sequence[Block]) -> int:
    return sum(isinstance(block, Reasoning) for block in blocks)


def _data_of(result: Result) -> bytes:
    """What a store keeps of a result: its text, or its blocks as JSON where they are more than texts."""
    content = result.content
    if content is None or isinstance(content, str) or all(isinstance(block, Text) for block in content):
        return bytes_of(result.text)
    return values_of(content)
