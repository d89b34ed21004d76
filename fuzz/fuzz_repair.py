"""
Repair: no conversation makes it fail, and what holds, holds for every one.

What holds for every conversation that can be read, in all six dialects, closed or not:

1. Nothing escapes, and what is left is exactly what the validator still calls an error.
2. Repairing twice is repairing once; the same input gives the same output.
3. What needs no repair is the same object.
4. Whatever a result says was said before, or is that nothing is known.
5. Before and after, it is converted for another provider, and what the provider itself would hide is told.

A polyglot: pytest runs the property with Hypothesis, ``python fuzz/fuzz_repair.py``
runs the same one under atheris.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from compactlib.converting import convert
from compactlib.dialects import DIALECTS, messages_key, parse, render
from compactlib.errors import WireError
from compactlib.protocol.answering import UNKNOWN_OUTCOME
from compactlib.protocol.repair import repair
from compactlib.protocol.validator import check
from compactlib.visible import effective

# -- conversations from bytes: each byte is one thing that stands next --------------------------------------------------

_IDS = ("a", "b", "a.b", "", "srvtoolu_1", "x" * 70)
_WORDS = ("hi", "", " ", "\ud83d", "<system-reminder>x</system-reminder>", "Attached image(s) from tool result:")
_PICTURE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": ""}}
_PART = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}


def _block(number: int) -> dict[str, Any]:
    """A block of Anthropic's."""
    kind, rest = number % 12, number // 12
    key, words = _IDS[rest % len(_IDS)], _WORDS[rest % len(_WORDS)]
    return (
        {"type": "text", "text": words},
        {"type": "tool_use", "id": key, "name": "ls", "input": {"n": rest % 2}},
        {"type": "tool_result", "tool_use_id": key, "content": words},
        {"type": "tool_result", "tool_use_id": key, "content": [_PICTURE] * (rest % 2), "is_error": bool(rest % 3)},
        {"type": "thinking", "thinking": words, "signature": "S" * (rest % 2)},
        {"type": "server_tool_use", "id": key, "name": "web_search", "input": {}},
        {"type": "web_search_tool_result", "tool_use_id": key, "content": []},
        {"type": "mcp_tool_use", "id": key, "name": "m", "input": {}, "server_name": "s"},
        {"type": "tool_use", "id": key, "name": "ls", "input": words},
        {**_PICTURE, "_px": [9000, 1]} if rest % 2 else _PICTURE,
        {"type": "text", "text": words, "cache_control": {"type": "ephemeral"}},
        {"type": "tool_result", "tool_use_id": key, "content": [{"type": "tool_reference", "tool_name": words}]},
    )[kind]


def _anthropic(data: bytes) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    for number in data:
        if number >= 200 or not messages:
            role = ("user", "assistant", "user", "assistant", "system")[number % 5]
            messages.append({"role": role, "content": [] if number % 2 else _WORDS[number % len(_WORDS)]})
        elif isinstance(messages[-1]["content"], list):
            messages[-1]["content"].append(_block(number))
        else:
            messages.append({"role": "assistant" if number % 12 in (1, 4, 8) else "user", "content": [_block(number)]})
    return messages


def _openai(data: bytes) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    for number in data:
        kind, rest = number % 8, number // 8
        key, words = _IDS[rest % len(_IDS)], _WORDS[rest % len(_WORDS)]
        call = {"id": key, "type": "function", "function": {"name": "ls", "arguments": ("{}", "{", "", "[1]")[rest % 4]}}
        messages.append(
            (
                {"role": "user", "content": words},
                {"role": "assistant", "content": words if rest % 2 else None},
                {"role": "assistant", "content": None, "tool_calls": [call] * (rest % 3)},
                {"role": "tool", "tool_call_id": key, "content": words},
                {"role": "tool", "content": [_PART] if rest % 2 else None},
                {"role": "user", "content": [_PART] * (rest % 3)},
                {"role": "assistant", "content": words, "reasoning_content": "r", "tool_calls": [call]},
                {"role": ("system", "function", "developer")[rest % 3], "content": words},
            )[kind]
        )
    return messages


def _responses(data: bytes) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    for number in data:
        kind, rest = number % 12, number // 12
        key, words = _IDS[rest % len(_IDS)], _WORDS[rest % len(_WORDS)]
        item_id = ({}, {"id": "fc_1"}, {"id": ""})[rest % 3]
        items.append(
            (
                {"role": "user", "content": words},
                {"role": "assistant", "content": words, **item_id},
                {"type": "function_call", "call_id": key, "name": "ls", "arguments": ("{}", "{", "")[rest % 3], **item_id},
                {"type": "function_call_output", "call_id": key, "output": words},
                {"type": "function_call_output", "call_id": key, "output": {"a": words} if rest % 2 else None},
                {"type": "function_call_output", "call_id": key, "output": [{"type": "input_text", "text": words}] * (rest % 3)},
                {"type": "reasoning", "summary": [], "encrypted_content": "S", "id": "rs_1"},
                {"type": "reasoning", "summary": [], "id": f"rs_{rest}"},
                {"type": "custom_tool_call", "call_id": key, "name": "x y", "input": words},
                {"type": "compaction", "encrypted_content": "S" * (rest % 2)},
                {"type": "item_reference", "id": "rs_1"},
                {"role": ("developer", "tool", "assistant")[rest % 3], "content": [{"type": "input_text", "text": words}]},
            )[kind]
        )
    return items


def _contents(data: bytes, parts: str, model: str, part: Callable[[int], dict[str, Any]]) -> list[dict[str, Any]]:
    """Messages of parts: a byte begins one, or adds a part to the last."""
    messages: list[dict[str, Any]] = []
    for number in data:
        if number >= 200 or not messages:
            messages.append({"role": ("user", model, "user", model, "function")[number % 5], parts: []})
        else:
            messages[-1][parts].append(part(number))
    return messages


def _gemini_part(number: int) -> dict[str, Any]:
    kind, rest = number % 8, number // 8
    key, words = _IDS[rest % len(_IDS)], _WORDS[rest % len(_WORDS)]
    named = {"name": "ls"} if rest % 2 else {"id": key, "name": "ls"}
    inline = {"inlineData": {"mimeType": "image/png", "data": "AA=="}}
    return (
        {"text": words},
        {"functionCall": {**named, "args": {"n": rest % 2}}},
        {"functionCall": {**named, "args": words}, "thoughtSignature": "S" * (rest % 3)},
        {"functionResponse": {**named, "response": {"output": words}}},
        {"functionResponse": {"name": words, "response": words if rest % 2 else {}, "parts": [inline]}},
        {"text": words, "thought": True},
        inline,
        {"thing": words},
    )[kind]


def _bedrock_block(number: int) -> dict[str, Any]:
    kind, rest = number % 8, number // 8
    key, words = _IDS[rest % len(_IDS)], _WORDS[rest % len(_WORDS)]
    picture = {"image": {"format": "png", "source": {"bytes": "AA=="}}}
    return (
        {"text": words},
        {"toolUse": {"toolUseId": key, "name": "ls", "input": {"n": rest % 2} if rest % 3 else words}},
        {"toolResult": {"toolUseId": key, "content": [{"text": words}] * (rest % 3), "status": "success"}},
        {"toolResult": {"toolUseId": key, "content": [picture, {"json": {"a": words}}]}},
        {"reasoningContent": {"reasoningText": {"text": words, "signature": "S" * (rest % 2)}}},
        picture,
        {"document": {"format": "pdf", "name": words, "source": {"bytes": "AA=="}}},
        {"cachePoint": {"type": "default"}},
    )[kind]


def _gemini(data: bytes) -> list[dict[str, Any]]:
    return _contents(data, "parts", "model", _gemini_part)


def _bedrock(data: bytes) -> list[dict[str, Any]]:
    return _contents(data, "content", "assistant", _bedrock_block)


_READINGS: tuple[tuple[str, tuple[str, ...], Callable[[bytes], list[dict[str, Any]]]], ...] = (
    ("anthropic", ("anthropic", "anthropic-strict", "anthropic-no-prefill"), _anthropic),
    ("openai-chat", ("openai", "groq", "strict-template"), _openai),
    ("openai-responses", ("openai-responses", "responses-compatible", "responses-through-chat"), _responses),
    ("gemini", ("gemini", "gemini-3", "gemini-strict"), _gemini),
    ("bedrock", ("bedrock", "bedrock-anthropic", "bedrock-results-alone"), _bedrock),
    ("mistral", ("mistral", "mistral-v3", "mistral-v13"), _openai),
)
_MODELS = ("gpt-4o-mini", "claude-opus-4-6", "")


def holds(data: bytes) -> None:
    """The facts above, for one input: its first two bytes choose the reading, the profile, and where it is converted to."""
    first, second = (*data[:2], 0, 0)[:2]
    dialect, profiles, read = _READINGS[first % len(_READINGS)]
    close, profile = bool(second & 1), profiles[first // 6 % 3]
    model = {} if dialect in ("gemini", "bedrock") else {"model": _MODELS[first // 18 % 3]}
    body = {**model, **({"thinking": None} if dialect == "anthropic" else {}), messages_key(dialect): read(data[2:])}
    try:
        conversation = parse(body, dialect=dialect)
    except WireError:
        return
    made = repair(conversation, close=close, profile=profile)
    after = made.conversation
    found = [one for one in check(after, mode="request" if close else "history", profile=profile) if one.level == "error"]
    assert found == [one.violation for one in made.left]
    assert repair(after, close=close, profile=profile).conversation is after
    twin = repair(parse(body, dialect=dialect), close=close, profile=profile)
    assert (render(twin.conversation), twin.fixes) == (render(after), made.fixes)
    assert (after is conversation) == (not made.fixes)
    said = {result.text for message in conversation.messages for result in message.results}
    said |= {UNKNOWN_OUTCOME, "(no output)", "(the error was not recorded)"}
    new = {result.text for message in after.messages for result in message.results} - said
    assert all(text.endswith("(see attached image)") or "[left out: " in text for text in new)
    target = tuple(DIALECTS)[second // 2 % len(DIALECTS)]
    for one in (conversation, after):
        assert len(effective(one).messages) <= len(one.messages)
        check(convert(one, dialect=target).conversation)


@given(st.binary(max_size=26))
def test_any_conversation_is_repaired_or_what_is_left_is_named(data: bytes) -> None:
    """Whatever stands in it."""
    holds(data)


def main() -> None:
    """Fuzz until stopped."""
    from exploring import explore  # here, because it stands beside this file and in no package

    explore(__file__, "holds")


if __name__ == "__main__":
    main()
