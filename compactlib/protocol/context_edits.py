"""
What a request asks its provider to do to the context: as values, and what is wrong with it.

What this is
    Two providers can be asked.  `read_edits` takes Anthropic's edits out of
    ``context_management.edits`` and OpenAI's entries out of the
    ``context_management`` of Responses; `edits_in` does so with a value that is
    not in a request yet.  `judge_edits` says what is wrong with Anthropic's
    (A-CTX-01 to 05), `judge_items` with OpenAI's (R-CTX-01, R-CTX-02).

Rules it obeys
    * An edit that is wrong is reported and never acted upon: a value is made
      only of an edit whose every field has its shape.
    * Each finding about an edit names the beta header that the edit needs,
      because no body shows which headers it was sent with.
    * What is of an unknown type may be newer than this list: a warning says so.
    * Defaults are the documented ones, and stand in the classes.

How it works
    One table leads from the type of an edit to its class, its beta and the
    shapes of its fields; another from the fields to the values.

    Anthropic's field ``compaction`` is no edit: the request is then for a
    summary and nothing else.  It has a beta and a list of models like an edit,
    and is judged beside them.

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

__all__ = [
    "BETAS",
    "BETA_FIELDS",
    "ClearThinking",
    "ClearToolUses",
    "Compact",
    "Edit",
    "edits_in",
    "judge_edits",
    "judge_items",
    "read_edits",
]

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
    ``compact_20260112``, and ``compaction`` of Responses: the provider summarises and returns a compaction object.

    Attributes:
        trigger_tokens: at which size; ``None``: it does not say (Responses).
        instructions: what to summarise by, in place of the provider's own; ``None``: those.
        pauses: whether it stops when the summary is made.
    """

    trigger_tokens: int | None = 150_000
    instructions: str | None = None
    pauses: bool = False


Edit: TypeAlias = ClearToolUses | ClearThinking | Compact
"""One edit."""

_EDITING: Final = "context-management-2025-06-27"

BETAS: Final[Mapping[str, str]] = {
    "clear_tool_uses_20250919": _EDITING,
    "clear_thinking_20251015": _EDITING,
    "compact_20260112": "compact-2026-01-12",
    "summarize": "compact-2026-09-04",
}
"""The beta header that each type of edit needs, and ``summarize``, the one type of the field ``compaction``."""


BETA_FIELDS: Final = ("betas", "anthropic_beta")
"""Where a body lists its betas, as clients and Bedrock write them there."""


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
    "summarize": {"instructions": _or_null(lambda value: isinstance(value, str))},
}
"""The fields of each type, and what they have to be; none is required."""

_EDITS: Final = tuple(kind for kind in _SHAPES if kind != "summarize")
_THRESHOLD: Final = _or_null(lambda value: type(value) is int and value > 0)


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
    if conversation.dialect == "openai-responses":
        listed = conversation.setting("context_management")
        entries = [entry for entry in listed if _is_compaction(entry)] if isinstance(listed, list) else []
        return tuple(Compact(trigger_tokens=entry.get("compact_threshold")) for entry in entries)
    return edits_in(_listed(conversation)) if conversation.dialect == "anthropic" else ()


def edits_in(listed: Json) -> tuple[Edit, ...]:
    """The edits in a list as ``context_management.edits`` holds it; those that the provider would refuse are left out."""
    found: list[Edit] = []
    for edit in listed if isinstance(listed, list) else ():
        kind = edit.get("type") if isinstance(edit, dict) else None
        if isinstance(kind, str) and kind in _EDITS and not _odd_fields(edit, kind):
            found.append(_MAKERS[kind](edit))
    return tuple(found)


def _is_compaction(entry: Json) -> bool:
    """Whether an entry of Responses asks for a compaction as it has to be asked for."""
    return isinstance(entry, dict) and entry.get("type") == "compaction" and _THRESHOLD(entry.get("compact_threshold"))


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
    What is wrong with what a request asks Anthropic to do to the context.

    Args:
        conversation: the conversation; its messages are not read.
        thinking: whether the model thinks, as `request.thinking_mode` says it.
    """
    around = _Around(conversation, thinking)
    summary = conversation.setting("compaction")
    if summary is not None:
        yield from _judge_one(around, summary, "the field compaction", ("summarize",))
    edits = _listed(conversation)
    if edits is None:
        return
    if not isinstance(edits, list):
        yield _found("A-CTX-02", "context_management.edits is no list", "a list of edits")
        return
    for place, edit in enumerate(edits):
        yield from _judge_one(around, edit, f"context edit {place}", _EDITS)
        if place and isinstance(edit, dict) and edit.get("type") == "clear_thinking_20251015":
            what = f"context edit {place} (clear_thinking_20251015, beta {_EDITING})"
            yield _found("A-CTX-05", f"{what} stands behind another edit", "it in the first place")


class _Around:
    """What of a request every edit of it is judged by."""

    def __init__(self, conversation: Conversation, thinking: str) -> None:
        name = conversation.setting("model")
        self.model = name if isinstance(name, str) else ""
        self.known = model_named(self.model)
        unasked = thinking == "unsaid" and self.known is not None and self.known.thinks_unasked is True
        self.thinks = thinking in ("enabled", "adaptive") or unasked
        self.betas = _listed_betas(conversation)


def _judge_one(around: _Around, edit: Json, name: str, kinds: tuple[str, ...]) -> Iterator[Violation]:
    """What is wrong with one edit, or with the field that is judged like one."""
    kind = edit.get("type") if isinstance(edit, dict) else None
    if not isinstance(kind, str):
        yield _found("A-CTX-02", f"{name} has no type", "an object with a type")
        return
    if kind not in kinds:
        yield _found("A-CTX-02", f"{name} is of the unknown type {quote(kind)}", f"one of {', '.join(kinds)}", "unknown-edit")
        return
    what = f"{name} ({kind}, beta {BETAS[kind]})"
    for field in _odd_fields(edit, kind):
        yield _found("A-CTX-02", f"the field {quote(field)} of {what} is odd", "the fields of its type")
    if kind == "clear_thinking_20251015" and not around.thinks:
        yield _found("A-CTX-01", f"{what} clears thinking, and thinking is not on", "thinking enabled or adaptive")
    if around.model and (around.known is None or kind not in around.known.edits):
        yield _found("A-CTX-03", f"{quote(around.model)} is not known to support {what}", "a model that does, or no such edit")
    if around.betas is not None and BETAS[kind] not in around.betas:
        yield _found("A-CTX-04", f"the listed betas lack that of {what}", f"{BETAS[kind]} among them")


def judge_items(conversation: Conversation) -> Iterator[Violation]:
    """What is wrong with what a request asks OpenAI's Responses to do to the context."""
    entries = conversation.setting("context_management")
    if entries is not None and not isinstance(entries, list):
        yield _found("R-CTX-01", "context_management is no list", "a list of entries")
    for place, entry in enumerate(entries if isinstance(entries, list) else ()):
        kind = entry.get("type") if isinstance(entry, dict) else None
        if not isinstance(kind, str):
            yield _found("R-CTX-01", f"entry {place} of context_management has no type", "an object with a type")
        elif kind != "compaction":
            words = f"entry {place} of context_management is of the unknown type {quote(kind)}"
            yield _found("R-CTX-01", words, "compaction", "unknown-entry")
        elif not _is_compaction(entry):
            words = f"the compact_threshold of entry {place} of context_management is no number of tokens"
            yield _found("R-CTX-01", words, "a whole number above zero, or null")
    truncation = conversation.setting("truncation")
    if truncation is not None and truncation not in ("auto", "disabled"):
        case = "unknown-strategy" if isinstance(truncation, str) else None
        yield _found("R-CTX-02", f"truncation is {quote(str(truncation)[:64])}", "auto or disabled", case)


def _listed_betas(conversation: Conversation) -> list[str] | None:
    """The betas that stand in the body, as clients and Bedrock write them there; ``None`` if no field lists any."""
    for name in BETA_FIELDS:
        value = conversation.setting(name)
        if isinstance(value, str):
            return [part.strip() for part in value.split(",")]
        if isinstance(value, list):
            return [part for part in value if isinstance(part, str)]
    return None


def _found(rule: str, message: str, expected: str, case: str | None = None) -> Violation:
    known = RULES[rule]
    return Violation(rule, known.law, known.level_in(case), None, "", message, expected, known.fix)
