"""
Edits of the context that Anthropic makes on its side: what a request asks for, as values.

What this is
    `read_edits`, which takes the edits out of ``context_management.edits``,
    and `judge_edits`, which says what is wrong with them (A-CTX-01 to 04).

Rules it obeys
    * An edit that is wrong is reported and never acted upon: a value is made
      only of an edit whose every field has its shape.
    * Each finding about an edit names the beta header that the edit needs,
      because no body shows which headers it was sent with.
    * Defaults are the documented ones, and stand in the classes.

How it works
    One table leads from the type of an edit to its class, its beta and the
    shapes of its fields; another from the fields to the values.

What is not here
    What the edits do to a conversation (`compactlib.visible`), and the
    compaction blocks that the provider returns (`anthropic`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final, Literal, TypeAlias

from attrs import frozen

from ..model import Conversation, Json
from ..models import model_named
from .rules import RULES
from .violation import Violation, quote

__all__ = ["BETAS", "ClearThinking", "ClearToolUses", "Compact", "Edit", "judge_edits", "read_edits"]

LEAST_COMPACT_TOKENS: Final = 50_000


@frozen(kw_only=True)
class ClearToolUses:
    """
    ``clear_tool_uses_20250919``: old results become a placeholder.

    Attributes:
        trigger: at which size it starts, in ``unit``.
        unit: what is compared with it: ``input_tokens`` or ``tool_uses``.
        keep_tool_uses: how many of the newest uses stay.
        clear_at_least_tokens: what has to be saved, or nothing is cleared.
        exclude_tools: the tools whose results stay.
        clear_inputs: whether the arguments go too: of all tools, or of those named.
    """

    trigger: int = 100_000
    unit: Literal["input_tokens", "tool_uses"] = "input_tokens"
    keep_tool_uses: int = 3
    clear_at_least_tokens: int = 0
    exclude_tools: frozenset[str] = frozenset()
    clear_inputs: bool | frozenset[str] = False


@frozen(kw_only=True)
class ClearThinking:
    """
    ``clear_thinking_20251015``: thinking of old turns goes.

    Attributes:
        keep_turns: how many of the newest turns with thinking keep it; ``None``: all.
    """

    keep_turns: int | None = 1


@frozen(kw_only=True)
class Compact:
    """
    ``compact_20260112``: the provider summarises by itself and returns a compaction block.

    Attributes:
        trigger_tokens: at which size.
        instructions: what to summarise by, in place of the provider's own; ``None``: those.
        pauses: whether it stops when the summary is made.
    """

    trigger_tokens: int = 150_000
    instructions: str | None = None
    pauses: bool = False


Edit: TypeAlias = ClearToolUses | ClearThinking | Compact
"""One edit."""

_EDITING: Final = "context-management-2025-06-27"

BETAS: Final[Mapping[str, str]] = {
    "clear_tool_uses_20250919": _EDITING,
    "clear_thinking_20251015": _EDITING,
    "compact_20260112": "compact-2026-01-12",
}
"""The beta header that each type of edit needs."""


# -- shapes ------------------------------------------------------------------------------------------------------------

_Shape: TypeAlias = Callable[[Json], bool]


def _is_amount(*units: str, least: int = 0) -> _Shape:
    def fits(value: Json) -> bool:
        amount = value.get("value") if isinstance(value, dict) and value.get("type") in units else None
        return type(amount) is int and amount >= least

    return fits


def _or_null(shape: _Shape) -> _Shape:
    return lambda value: value is None or shape(value)


def _is_names(value: Json) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def _is_inputs(value: Json) -> bool:
    return isinstance(value, bool) or value is None or _is_names(value)


def _is_kept_thinking(value: Json) -> bool:
    return value in ("all", {"type": "all"}) or _is_amount("thinking_turns", least=1)(value)


_SHAPES: Final[Mapping[str, Mapping[str, _Shape]]] = {
    "clear_tool_uses_20250919": {
        "trigger": _is_amount("input_tokens", "tool_uses"),
        "keep": _is_amount("tool_uses"),
        "clear_at_least": _or_null(_is_amount("input_tokens")),
        "exclude_tools": _or_null(_is_names),
        "clear_tool_inputs": _is_inputs,
    },
    "clear_thinking_20251015": {"keep": _is_kept_thinking},
    "compact_20260112": {
        "trigger": _or_null(_is_amount("input_tokens", least=LEAST_COMPACT_TOKENS)),
        "instructions": _or_null(lambda value: isinstance(value, str)),
        "pause_after_compaction": lambda value: isinstance(value, bool),
    },
}
"""The fields of each type of edit, and what they have to be; none is required."""


def _odd_fields(edit: dict[str, Json], kind: str) -> list[str]:
    shapes = _SHAPES[kind]
    return [name for name, value in edit.items() if name != "type" and not (name in shapes and shapes[name](value))]


# -- values ------------------------------------------------------------------------------------------------------------


def read_edits(conversation: Conversation) -> tuple[Edit, ...]:
    """
    The edits that a request asks for, in its order; those that the provider would refuse are left out.

    >>> from compactlib.dialects import parse
    >>> edits = [{"type": "clear_tool_uses_20250919"}, {"type": "clear_thinking_20251015", "keep": 2}]
    >>> (edit,) = read_edits(parse({"context_management": {"edits": edits}, "messages": []}, dialect="anthropic"))
    >>> edit.trigger, edit.unit, edit.keep_tool_uses
    (100000, 'input_tokens', 3)
    """
    found: list[Edit] = []
    if conversation.dialect != "anthropic":
        return ()
    edits = _listed(conversation)
    for edit in edits if isinstance(edits, list) else ():
        kind = edit.get("type") if isinstance(edit, dict) else None
        if isinstance(kind, str) and kind in _SHAPES and not _odd_fields(edit, kind):
            found.append(_MAKERS[kind](edit))
    return tuple(found)


def _listed(conversation: Conversation) -> Json:
    management = conversation.setting("context_management")
    return management.get("edits") if isinstance(management, dict) else None


def _clear_tool_uses(edit: dict[str, Json]) -> Edit:
    usual = ClearToolUses()
    trigger = edit.get("trigger") or {"type": usual.unit, "value": usual.trigger}
    inputs = edit.get("clear_tool_inputs")
    return ClearToolUses(
        trigger=trigger["value"],
        unit=trigger["type"],
        keep_tool_uses=edit["keep"]["value"] if "keep" in edit else usual.keep_tool_uses,
        clear_at_least_tokens=(edit.get("clear_at_least") or {"value": 0})["value"],
        exclude_tools=frozenset(edit.get("exclude_tools") or ()),
        clear_inputs=frozenset(inputs) if isinstance(inputs, list) else inputs is True,
    )


def _clear_thinking(edit: dict[str, Json]) -> Edit:
    keep = edit.get("keep", {"value": ClearThinking().keep_turns})
    return ClearThinking(keep_turns=keep.get("value") if isinstance(keep, dict) else None)


def _compact(edit: dict[str, Json]) -> Edit:
    trigger = edit.get("trigger") or {"value": Compact().trigger_tokens}
    pauses = edit.get("pause_after_compaction") is True
    return Compact(trigger_tokens=trigger["value"], instructions=edit.get("instructions"), pauses=pauses)


_MAKERS: Final[Mapping[str, Callable[[dict[str, Json]], Edit]]] = {
    "clear_tool_uses_20250919": _clear_tool_uses,
    "clear_thinking_20251015": _clear_thinking,
    "compact_20260112": _compact,
}


# -- findings ----------------------------------------------------------------------------------------------------------


def judge_edits(conversation: Conversation, thinking: str) -> Iterator[Violation]:
    """
    What is wrong with the edits that a request asks for.

    Args:
        conversation: the conversation; its messages are not read.
        thinking: whether the model thinks, as `request.thinking_mode` says it.
    """
    edits = _listed(conversation)
    if edits is None:
        return
    if not isinstance(edits, list):
        yield _found("A-CTX-02", "context_management.edits is no list", "a list of edits")
        return
    name = conversation.setting("model")
    model = name if isinstance(name, str) else ""
    known = model_named(model)
    for place, edit in enumerate(edits):
        kind = edit.get("type") if isinstance(edit, dict) else None
        if not isinstance(kind, str):
            yield _found("A-CTX-02", f"context edit {place} has no type", "an object with a type")
            continue
        if kind not in _SHAPES:
            words = f"context edit {place} is of the unknown type {quote(kind)}"
            yield _found("A-CTX-02", words, f"one of {', '.join(_SHAPES)}", "unknown-edit")
            continue
        what = f"context edit {place} ({kind}, beta {BETAS[kind]})"
        for field in _odd_fields(edit, kind):
            yield _found("A-CTX-02", f"the field {quote(field)} of {what} is odd", "the fields of its type")
        thinks = thinking in ("enabled", "adaptive") or (thinking == "unsaid" and known is not None and known.thinks_unasked)
        if kind == "clear_thinking_20251015" and not thinks:
            yield _found("A-CTX-01", f"{what} clears thinking, and thinking is not on", "thinking enabled or adaptive")
        if model and (known is None or kind not in known.edits):
            yield _found("A-CTX-03", f"{quote(model)} is not known to support {what}", "a model that does, or no such edit")
        listed = _listed_betas(conversation)
        if listed is not None and BETAS[kind] not in listed:
            yield _found("A-CTX-04", f"the listed betas lack that of {what}", f"{BETAS[kind]} among them")


def _listed_betas(conversation: Conversation) -> list[str] | None:
    """The betas that stand in the body, as clients and Bedrock write them there; ``None`` if no field lists any."""
    for name in ("betas", "anthropic_beta"):
        value = conversation.setting(name)
        if isinstance(value, str):
            return [part.strip() for part in value.split(",")]
        if isinstance(value, list):
            return [part for part in value if isinstance(part, str)]
    return None


def _found(rule: str, message: str, expected: str, case: str | None = None) -> Violation:
    known = RULES[rule]
    return Violation(rule, known.law, known.level_in(case), None, "", message, expected, known.fix)
