"""
The same story in six dialects, written down without any code of the library.

A *story* is what happened: who said what, what was called, what came out.  `tell`
writes it as a request body; `stories` draws them; `meaning` says what a
`Conversation` tells, however its dialect spells it.
"""

from __future__ import annotations

import json
from typing import Any, Final

from attrs import frozen
from hypothesis import strategies as st

import compactlib as cl
from compactlib.model import Call, Media, Result, Text

__all__ = ["PICTURE", "Asked", "Step", "Story", "Turn", "errors", "meaning", "renamed", "stories", "tell"]

PICTURE: Final = "iVBORw0KGgo="
SCHEMA: Final = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
IMAGES_IN_RESULTS: Final = frozenset({"anthropic", "openai-responses", "bedrock"})
ERRORS: Final = frozenset({"anthropic", "gemini", "bedrock"})


@frozen
class Asked:
    """A call and what came of it; ``None`` is no answer yet."""

    key: str
    name: str
    arguments: dict[str, Any]
    answer: str | None
    has_picture: bool = False
    is_error: bool = False


@frozen
class Step:
    """What the model said, and what it called."""

    words: str
    calls: tuple[Asked, ...]
    thought: str = ""


@frozen
class Turn:
    """A prompt, perhaps with a picture, and what came of it."""

    prompt: str
    has_picture: bool
    steps: tuple[Step, ...]


@frozen
class Story:
    """A conversation."""

    system: str
    turns: tuple[Turn, ...]
    choice: str = ""


# -- telling -----------------------------------------------------------------------------------------------------------


def tell(story: Story, dialect: str) -> dict[str, Any]:
    """The request body."""
    return _TELLERS[dialect](story)


def _steps(story: Story) -> list[tuple[str, Any]]:
    return [one for turn in story.turns for one in (("prompt", turn), *(("step", step) for step in turn.steps))]


def _anthropic(story: Story) -> dict[str, Any]:
    source = {"type": "base64", "media_type": "image/png", "data": PICTURE}
    picture = {"type": "image", "source": source}
    messages: list[Any] = []
    for kind, one in _steps(story):
        if kind == "prompt":
            content = [{"type": "text", "text": one.prompt}, picture] if one.has_picture else one.prompt
            messages.append({"role": "user", "content": content})
            continue
        thought = [{"type": "thinking", "thinking": one.thought, "signature": "c2ln"}] if one.thought else []
        words = [{"type": "text", "text": one.words}] if one.words else []
        calls = [{"type": "tool_use", "id": call.key, "name": call.name, "input": call.arguments} for call in one.calls]
        messages.append({"role": "assistant", "content": [*thought, *words, *calls]})
        results = []
        for call in one.calls:
            if call.answer is not None:
                parts = [{"type": "text", "text": call.answer}] if call.answer else []
                content = [*parts, picture] if call.has_picture and not call.is_error else call.answer
                error = {"is_error": True} if call.is_error else {}
                results.append({"type": "tool_result", "tool_use_id": call.key, "content": content, **error})
        if results:
            messages.append({"role": "user", "content": results})
    tools = [{"name": name, "description": f"does {name}", "input_schema": SCHEMA} for name in ("ls", "read-file")]
    choice = {"tool_choice": {"type": story.choice}} if story.choice else {}
    system = {"system": story.system} if story.system else {}
    return {"max_tokens": 100, **system, "messages": messages, "tools": tools, **choice}


def _chat(story: Story, *, is_mistral: bool = False) -> dict[str, Any]:
    picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PICTURE}"}}
    messages: list[Any] = [{"role": "system", "content": story.system}] if story.system else []
    for kind, one in _steps(story):
        if kind == "prompt":
            content = [{"type": "text", "text": one.prompt}, picture] if one.has_picture else one.prompt
            messages.append({"role": "user", "content": content})
            continue
        said: dict[str, Any] = {"role": "assistant", "content": one.words if one.words or is_mistral else None}
        if one.thought and not is_mistral:
            said["reasoning_content"] = one.thought
        if one.calls:
            said["tool_calls"] = [
                {"id": call.key, "type": "function", "function": {"name": call.name, "arguments": json.dumps(call.arguments)}}
                for call in one.calls
            ]
        messages.append(said)
        answered = [call for call in one.calls if call.answer is not None]
        messages += [{"role": "tool", "tool_call_id": call.key, "content": call.answer} for call in answered]
        shown = [call for call in answered if call.has_picture]
        if shown:
            marker = {"type": "text", "text": "Attached image(s) from tool result:"}
            messages.append({"role": "user", "content": [marker, *([picture] * len(shown))]})
    functions = [{"name": name, "description": f"does {name}", "parameters": SCHEMA} for name in ("ls", "read-file")]
    required = "any" if is_mistral else "required"
    choice = {"tool_choice": required if story.choice == "any" else story.choice} if story.choice else {}
    limit = "max_tokens" if is_mistral else "max_completion_tokens"
    return {"messages": messages, "tools": [{"type": "function", "function": one} for one in functions], **choice, limit: 100}


def _mistral(story: Story) -> dict[str, Any]:
    return _chat(story, is_mistral=True)


def _responses(story: Story) -> dict[str, Any]:
    picture = {"type": "input_image", "image_url": f"data:image/png;base64,{PICTURE}"}
    items: list[Any] = []
    for kind, one in _steps(story):
        if kind == "prompt":
            content = [{"type": "input_text", "text": one.prompt}, picture] if one.has_picture else one.prompt
            items.append({"role": "user", "content": content})
            continue
        if one.thought:
            items.append({"type": "reasoning", "summary": [], "encrypted_content": "c2ln"})
        if one.words:
            items.append({"role": "assistant", "content": one.words})
        for call in one.calls:
            arguments = json.dumps(call.arguments)
            items.append({"type": "function_call", "call_id": call.key, "name": call.name, "arguments": arguments})
        for call in one.calls:
            if call.answer is not None:
                parts = [{"type": "input_text", "text": call.answer}] if call.answer else []
                output = [*parts, picture] if call.has_picture else call.answer
                items.append({"type": "function_call_output", "call_id": call.key, "output": output})
    functions = [{"name": name, "description": f"does {name}", "parameters": SCHEMA} for name in ("ls", "read-file")]
    choice = {"tool_choice": "required" if story.choice == "any" else story.choice} if story.choice else {}
    system = {"instructions": story.system} if story.system else {}
    tools = [{"type": "function", **one, "strict": False} for one in functions]
    return {**system, "input": items, "tools": tools, **choice, "max_output_tokens": 100}


def _gemini(story: Story) -> dict[str, Any]:
    picture = {"inlineData": {"mimeType": "image/png", "data": PICTURE}}
    contents: list[Any] = []
    for kind, one in _steps(story):
        if kind == "prompt":
            contents.append({"role": "user", "parts": [{"text": one.prompt}, *([picture] if one.has_picture else [])]})
            continue
        words = [{"text": one.words}] if one.words else []
        calls: list[Any] = [{"functionCall": {"id": call.key, "name": call.name, "args": call.arguments}} for call in one.calls]
        if calls:
            calls[0]["thoughtSignature"] = "c2ln" if one.thought else "skip_thought_signature_validator"
        contents.append({"role": "model", "parts": [*words, *calls]})
        answers = []
        for call in one.calls:
            if call.answer is not None:
                response = {"error" if call.is_error else "output": call.answer}
                answers.append({"functionResponse": {"id": call.key, "name": call.name, "response": response}})
        if answers:
            contents.append({"role": "user", "parts": answers})
    functions = [{"name": name, "description": f"does {name}", "parametersJsonSchema": SCHEMA} for name in ("ls", "read-file")]
    system = {"systemInstruction": {"parts": [{"text": story.system}]}} if story.system else {}
    choice = {"toolConfig": {"functionCallingConfig": {"mode": story.choice.upper()}}} if story.choice else {}
    limit = {"generationConfig": {"maxOutputTokens": 100}}
    return {**system, "contents": contents, "tools": [{"functionDeclarations": functions}], **choice, **limit}


def _bedrock(story: Story) -> dict[str, Any]:
    picture = {"image": {"format": "png", "source": {"bytes": PICTURE}}}
    messages: list[Any] = []
    for kind, one in _steps(story):
        if kind == "prompt":
            messages.append({"role": "user", "content": [{"text": one.prompt}, *([picture] if one.has_picture else [])]})
            continue
        sealed = {"reasoningContent": {"reasoningText": {"text": one.thought, "signature": "c2ln"}}}
        words = [{"text": one.words}] if one.words else []
        calls = [{"toolUse": {"toolUseId": call.key, "name": call.name, "input": call.arguments}} for call in one.calls]
        messages.append({"role": "assistant", "content": [*([sealed] if one.thought else []), *words, *calls]})
        results = []
        for call in one.calls:
            if call.answer is not None:
                content: list[Any] = [{"text": call.answer}] if call.answer else []
                content += [picture] if call.has_picture and not call.is_error else []
                status = {"status": "error"} if call.is_error else {}
                results.append({"toolResult": {"toolUseId": call.key, "content": content, **status}})
        if results:
            messages.append({"role": "user", "content": results})
    system = {"system": [{"text": story.system}]} if story.system else {}
    tools: list[Any] = [
        {"toolSpec": {"name": name, "description": f"does {name}", "inputSchema": {"json": SCHEMA}}}
        for name in ("ls", "read-file")
    ]
    config: dict[str, Any] = {"tools": tools}
    if story.choice in ("auto", "any"):
        config["toolChoice"] = {story.choice: {}}
    return {**system, "messages": messages, "toolConfig": config, "inferenceConfig": {"maxTokens": 100}}


_TELLERS: Final = {
    "anthropic": _anthropic,
    "openai-chat": _chat,
    "openai-responses": _responses,
    "gemini": _gemini,
    "bedrock": _bedrock,
    "mistral": _mistral,
}


# -- drawing -----------------------------------------------------------------------------------------------------------

_WORDS: Final = st.sampled_from(
    ["fix the tests", "да, так и сделай", "ok\n\nthen", "{}", '{"a":1}', '{"output":"x"}', "(see attached image)", "[a]", "🦀"]
)
_ARGUMENTS: Final[st.SearchStrategy[dict[str, Any]]] = st.sampled_from(
    [{}, {"path": "a.py"}, {"path": "ж", "n": 1, "deep": {"list": [1, 2.5, None, True]}}, {"a": ""}]
)


@st.composite
def stories(draw: st.DrawFn, *, dialect: str) -> Story:
    """Valid stories of what *dialect* can tell."""
    number = 0
    turns = []
    length = draw(st.integers(1, 3))
    for turn in range(length):
        steps = []
        count = draw(st.integers(0, 3))
        for step in range(count):
            is_last = turn == length - 1 and step == count - 1
            calls = []
            for _ in range(draw(st.integers(0, 3))):
                calls.append(_call(draw, dialect, number))
                number += 1
            may_wait = is_last and draw(st.booleans())
            if may_wait:
                calls = [Asked(call.key, call.name, call.arguments, None) if draw(st.booleans()) else call for call in calls]
            words = draw(_WORDS) if draw(st.booleans()) or not calls else ""
            thought = draw(st.sampled_from(["", "", "hm"]))
            steps.append(Step(words, tuple(calls), thought))
        turns.append(Turn(draw(_WORDS), draw(st.booleans()), tuple(steps)))
    return Story(draw(st.sampled_from(["", "be brief"])), tuple(turns), draw(st.sampled_from(["", "auto", "any", "none"])))


def _call(draw: st.DrawFn, dialect: str, number: int) -> Asked:
    keys = {
        "openai-chat": [f"call_{number}", f"functions.ls:{number}", f"й {number}"],
        "openai-responses": [f"call_{number}", f"functions.ls:{number}" + "x" * 40],
        "bedrock": [f"tooluse_{number}", f"a.b:c-{number}" + "y" * 40],
        "mistral": [f"abcDE{number:04d}"],
    }
    key = draw(st.sampled_from(keys.get(dialect, [f"toolu_{number}", f"t-{number}"])))
    answer = draw(_WORDS | st.just(""))
    has_picture = dialect != "gemini" and draw(st.integers(0, 3)) == 0
    is_error = dialect in ERRORS and bool(answer) and draw(st.integers(0, 3)) == 0
    if has_picture and dialect not in IMAGES_IN_RESULTS:
        answer = (answer + "\n" if answer else "") + "(see attached image)"
    elif "(see attached image)" in answer:
        answer = "seen"
    return Asked(key, draw(st.sampled_from(["ls", "read-file"])), draw(_ARGUMENTS), answer, has_picture, is_error)


# -- understanding -----------------------------------------------------------------------------------------------------


def meaning(conversation: cl.Conversation) -> list[Any]:
    """What each message says: who, words, pictures, calls, results; not how it is spelled, and not what was thought."""
    found: list[Any] = [("system", [("words", block.text)]) for block in conversation.system if isinstance(block, Text)]
    for message in conversation.messages:
        said = [one for block in message.blocks if (one := _meant(block)) is not None]
        side = "system" if message.role == "developer" else message.role
        if said:
            found.append((side, said))
    return found


def _meant(block: Any) -> Any:
    if isinstance(block, Text):
        return ("words", block.text) if block.text else None
    if isinstance(block, Media):
        return (block.kind, block.mime, block.data)
    if isinstance(block, Call):
        arguments = block.arguments
        return ("call", block.id, block.name, json.loads(arguments) if isinstance(arguments, str) else arguments)
    if isinstance(block, Result):
        is_error = block.is_error or any(part.wire.keys == ("error",) for part in block.blocks if isinstance(part, Text))
        return ("result", block.call_id, is_error, [one for part in block.blocks if (one := _meant(part)) is not None])
    return None


# -- judging -----------------------------------------------------------------------------------------------------------


def errors(conversation: cl.Conversation) -> list[str]:
    """The rules of level error that a conversation at rest breaks."""
    return [found.rule for found in cl.check(conversation, mode="history") if found.level == "error"]


def renamed(body: Any, names: tuple[tuple[str, str], ...]) -> Any:
    """A JSON value with strings called otherwise."""
    table = dict(names)
    if isinstance(body, dict):
        return {key: renamed(value, names) for key, value in body.items()}
    if isinstance(body, list | tuple):
        return [renamed(value, names) for value in body]
    return table.get(body, body) if isinstance(body, str) else body
