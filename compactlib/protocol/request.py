"""
The request around the messages: settings, tools, system.

What this is
    The rules that can be judged without reading a message.  They concern the
    request as a whole, so their violations have no index and no pointer; the
    message says which setting is meant.

What is not here
    Rules that need both a setting and a message (the readers).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from ..model import Conversation, Json, Opaque, Reasoning, Text
from .profiles import Profile
from .rules import RULES
from .violation import Violation, quote

__all__ = ["cache_marks", "thinking_mode", "violations_around"]

_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_LONG_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{65,128}")
_FORCED: Final = frozenset({"any", "tool"})
_COMPACT_LEAST_TOKENS: Final = 50_000


def violations_around(conversation: Conversation, profile: Profile) -> list[Violation]:
    """What is wrong with the request itself, its messages apart."""
    if conversation.envelope.fields is None:
        return []
    judges = {"anthropic": (_anthropic_names, _forced_tool, _edits, _system), "openai-chat": (_function_names,)}
    return [found for judge in judges.get(profile.dialect, ()) for found in judge(conversation, profile)]


def thinking_mode(conversation: Conversation) -> str:
    """``enabled``, ``adaptive``, ``disabled``; ``unsaid`` in a body without the setting, ``unknown`` without a body."""
    if conversation.envelope.fields is None:
        return "unknown"
    thinking = conversation.setting("thinking")
    kind = thinking.get("type") if isinstance(thinking, dict) else thinking
    if kind is True:
        return "enabled"
    return kind if isinstance(kind, str) else "unsaid"


def cache_marks(conversation: Conversation) -> int:
    """How many cache marks stand in the tools and the system blocks."""
    tools = sum(1 for tool in conversation.tools if isinstance(tool.value, dict) and tool.value.get("cache_control") is not None)
    system = 0
    for block in conversation.system:
        value = block.value if isinstance(block, Opaque) else None
        mark = (
            value.get("cache_control")
            if isinstance(value, dict)
            else None
            if isinstance(block, Opaque)
            else block.wire.get("cache_control")
        )
        system += mark is not None
    return tools + system


def _found(rule: str, message: str, expected: str, case: str | None = None) -> Violation:
    known = RULES[rule]
    return Violation(rule, known.law, known.level_in(case), None, "", message, expected, known.fix)


def _anthropic_names(conversation: Conversation, profile: Profile) -> Iterator[Violation]:
    del profile
    for place, tool in enumerate(conversation.tools):
        if _NAME.fullmatch(tool.name):
            continue
        message = f"tool {place} is called {quote(tool.name)}"
        case = "up-to-128" if _LONG_NAME.fullmatch(tool.name) else None
        if tool.name or not _is_nameless(tool.value):
            yield _found("A-NAME-01", message, "1 to 64 of the characters a-z, A-Z, 0-9, _ and -", case)


def _is_nameless(value: Json) -> bool:
    """Whether a declaration is of a kind that has no name (an MCP toolset)."""
    return isinstance(value, dict) and "name" not in value


def _forced_tool(conversation: Conversation, profile: Profile) -> Iterator[Violation]:
    del profile
    choice = conversation.setting("tool_choice")
    kind = choice.get("type") if isinstance(choice, dict) else choice
    thinking = thinking_mode(conversation)
    if thinking in ("enabled", "adaptive") and isinstance(kind, str) and kind in _FORCED:
        yield _found(
            "A-TC-01", f"tool_choice is {kind} while thinking is {thinking}", "tool_choice auto or none, or thinking off"
        )


# What a field of a context edit has to be.
_Shape = Callable[[Json], bool]


def _is_amount(*units: str) -> _Shape:
    def fits(value: Json) -> bool:
        return isinstance(value, dict) and value.get("type") in units and type(value.get("value")) is int and value["value"] >= 0

    return fits


def _is_names(value: Json) -> bool:
    return value is None or (isinstance(value, list) and all(isinstance(name, str) for name in value))


def _is_inputs(value: Json) -> bool:
    return isinstance(value, bool) or _is_names(value)


def _is_keep_thinking(value: Json) -> bool:
    return value in ("all", {"type": "all"}) or _is_amount("thinking_turns")(value)


def _is_compact_trigger(value: Json) -> bool:
    return value is None or (_is_amount("input_tokens")(value) and value["value"] >= _COMPACT_LEAST_TOKENS)


def _is_text(value: Json) -> bool:
    return value is None or isinstance(value, str)


def _is_flag(value: Json) -> bool:
    return isinstance(value, bool)


_EDITS: Final[Mapping[str, Mapping[str, _Shape]]] = {
    "clear_tool_uses_20250919": {
        "trigger": _is_amount("input_tokens", "tool_uses"),
        "keep": _is_amount("tool_uses"),
        "clear_at_least": lambda value: value is None or _is_amount("input_tokens")(value),
        "exclude_tools": _is_names,
        "clear_tool_inputs": _is_inputs,
    },
    "clear_thinking_20251015": {"keep": _is_keep_thinking},
    "compact_20260112": {"trigger": _is_compact_trigger, "instructions": _is_text, "pause_after_compaction": _is_flag},
}


def _edits(conversation: Conversation, profile: Profile) -> Iterator[Violation]:
    del profile
    management = conversation.setting("context_management")
    edits = management.get("edits") if isinstance(management, dict) else None
    if edits is None:
        return
    if not isinstance(edits, list):
        yield _found("A-CTX-02", "context_management.edits is no list", "a list of edits")
        return
    for place, edit in enumerate(edits):
        kind = edit.get("type") if isinstance(edit, dict) else None
        if not isinstance(kind, str):
            yield _found("A-CTX-02", f"context edit {place} has no type", "an object with a type")
            continue
        fields = _EDITS.get(kind)
        if fields is None:
            yield _found(
                "A-CTX-02",
                f"context edit {place} is of the unknown type {quote(kind)}",
                f"one of {', '.join(_EDITS)}",
                "unknown-edit",
            )
            continue
        for name, value in edit.items():
            if name != "type" and not (name in fields and fields[name](value)):
                yield _found(
                    "A-CTX-02", f"the field {quote(name)} of context edit {place} ({kind}) is odd", "the fields of its type"
                )
        if kind == "clear_thinking_20251015" and thinking_mode(conversation) not in ("enabled", "adaptive"):
            yield _found(
                "A-CTX-01", f"context edit {place} clears thinking, and thinking is not on", "thinking enabled or adaptive"
            )


def _system(conversation: Conversation, profile: Profile) -> Iterator[Violation]:
    blocks = conversation.system
    if isinstance(conversation.setting("system"), list):
        for place, block in enumerate(blocks):
            if isinstance(block, Text) and not block.text:
                yield _found("A-EMPTY-01", f"system block {place} is an empty text", "text that is not empty, or no block")
                if block.wire.get("cache_control") is not None:
                    yield _found(
                        "A-CACHE-02", f"a cache mark on system block {place}, which is empty", "the mark on another block"
                    )
            elif isinstance(block, Reasoning) and block.wire.get("cache_control") is not None:
                yield _found(
                    "A-CACHE-03", f"a cache mark on system block {place}, which is thinking", "the mark on another block"
                )
    marks = cache_marks(conversation)
    if profile.marks_limit is not None and marks > profile.marks_limit:
        yield _found("A-CACHE-01", f"{marks} cache marks in tools and system", f"at most {profile.marks_limit}")


def _function_names(conversation: Conversation, profile: Profile) -> Iterator[Violation]:
    del profile
    for place, tool in enumerate(conversation.tools):
        value = tool.value
        inner = value.get(str(value.get("type")), value.get("function")) if isinstance(value, dict) else None
        if isinstance(inner, dict) and "name" in inner and not _NAME.fullmatch(tool.name):
            yield _found(
                "O-NAME-01", f"function {place} is called {quote(tool.name)}", "1 to 64 of the characters a-z, A-Z, 0-9, _ and -"
            )
