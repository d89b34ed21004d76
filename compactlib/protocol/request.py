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
from .context_edits import judge_edits, judge_items
from .profiles import Profile, route_of
from .rules import RULES
from .violation import Violation, quote

__all__ = ["cache_marks", "thinking_mode", "violations_around"]

_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_LONG_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{65,128}")
_ITEM_TOOL: Final = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_DECLARED_NAME: Final = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}")
_FORCED: Final = frozenset({"any", "tool"})


def violations_around(conversation: Conversation, profile: Profile) -> list[Violation]:
    """What is wrong with the request itself, its messages apart."""
    if conversation.envelope.fields is None:
        return []
    return [found for judge in _JUDGES.get(profile.dialect, ()) for found in judge(conversation, profile)]


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


def _edits(conversation: Conversation, profile: Profile) -> Iterator[Violation]:
    del profile
    return judge_edits(conversation, thinking_mode(conversation))


def _context_entries(conversation: Conversation, profile: Profile) -> Iterator[Violation]:
    del profile
    return judge_items(conversation)


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
    rule = _FUNCTION_NAME[profile.dialect]
    for place, tool in enumerate(conversation.tools):
        value = tool.value
        inner = value.get(str(value.get("type")), value.get("function")) if isinstance(value, dict) else None
        if isinstance(inner, dict) and "name" in inner and not _NAME.fullmatch(tool.name):
            message = f"function {place} is called {quote(tool.name)}"
            yield _found(rule, message, "1 to 64 of the characters a-z, A-Z, 0-9, _ and -")


def _prefix_at_provider(conversation: Conversation, profile: Profile) -> Iterator[Violation]:
    del profile
    for name in ("previous_response_id", "conversation"):
        if conversation.setting(name) is not None:
            yield _found("R-STORE-02", f"{name} is set, so what came before stands only at the provider", "all of it here")


def _item_tools(conversation: Conversation, profile: Profile) -> Iterator[Violation]:
    model = conversation.setting("model")
    route = profile.route if profile.route != "model" else route_of(model if isinstance(model, str) else "")
    case = None if route in ("own", None) else "compatible"
    for place, tool in enumerate(conversation.tools):
        value = tool.value
        if isinstance(value, dict) and value.get("type") == "function" and not _ITEM_TOOL.fullmatch(tool.name):
            message = f"function {place} is called {quote(tool.name)}"
            yield _found("R-NAME-01", message, "1 to 128 of the characters a-z, A-Z, 0-9, _ and -", case)


def _declared_names(conversation: Conversation, profile: Profile) -> Iterator[Violation]:
    del profile
    for place, tool in enumerate(conversation.tools):
        if isinstance(tool.value, dict) and "name" in tool.value and not _DECLARED_NAME.fullmatch(tool.name):
            message = f"function {place} is called {quote(tool.name)}"
            yield _found("G-NAME-02", message, "a letter or _, and up to 63 of the characters a-z, A-Z, 0-9, _, ., : and -")


def _converse_names(conversation: Conversation, profile: Profile) -> Iterator[Violation]:
    del profile
    for place, tool in enumerate(conversation.tools):
        if isinstance(tool.value, dict) and "toolSpec" in tool.value and not _NAME.fullmatch(tool.name):
            message = f"tool {place} is called {quote(tool.name)}"
            yield _found("B-NAME-01", message, "1 to 64 of the characters a-z, A-Z, 0-9, _ and -")


def _converse_system(conversation: Conversation, profile: Profile) -> Iterator[Violation]:
    del profile
    for place, block in enumerate(conversation.system):
        if isinstance(block, Text) and not block.text.strip():
            yield _found("B-BLANK-01", f"system block {place} is a blank text", "text, or no such block")


_FUNCTION_NAME: Final = {"mistral": "M-NAME-01", "openai-chat": "O-NAME-01"}

_JUDGES: Final[Mapping[str, tuple[Callable[[Conversation, Profile], Iterator[Violation]], ...]]] = {
    "anthropic": (_anthropic_names, _forced_tool, _edits, _system),
    "bedrock": (_converse_names, _converse_system),
    "gemini": (_declared_names,),
    "mistral": (_function_names,),
    "openai-chat": (_function_names,),
    "openai-responses": (_prefix_at_provider, _item_tools, _context_entries),
}
"""What judges the request around the messages, by dialect."""
