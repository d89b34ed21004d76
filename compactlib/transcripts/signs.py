"""
By which signs the wire shape of a request is known.

What this is
    Where the messages of a body stand, what is a message at all, and
    `dialect_of`: which of the six dialects it is, or one of the two other wire
    shapes (a request of MCP's for sampling, a trajectory in ATIF).

Rules it obeys
    * What only one dialect has decides: the key of the messages first, then
      blocks, parts and calls, then fields and tool declarations, and last the
      model's name, where two dialects differ in nothing else.
    * A list of plain messages would be right in several dialects.  It is taken
      for ``openai-chat``: a history without one tool block reads the same
      everywhere, and that dialect has the fewest rules it could break.

How it works
    Tables of words, each word of one dialect only.

What is not here
    Formats of files (`sniffing`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeAlias

from ..model import Json

__all__ = ["body_in", "dialect_of", "is_message", "messages_key_in"]

_Object: TypeAlias = dict[str, Json]

_KEYS: Final = ("messages", "contents", "input")

_ITEMS: Final = frozenset({
    "apply_patch_call", "apply_patch_call_output", "code_interpreter_call", "compaction", "computer_call",
    "computer_call_output", "custom_tool_call", "custom_tool_call_output", "file_search_call", "function_call",
    "function_call_output", "image_generation_call", "item_reference", "local_shell_call", "local_shell_call_output",
    "mcp_approval_request", "mcp_approval_response", "mcp_call", "mcp_list_tools", "reasoning", "shell_call",
    "shell_call_output", "tool_search_call", "tool_search_output", "web_search_call",
})  # fmt: skip
"""Types of OpenAI Responses' items that are no messages."""

_PARTS: Final = {
    **dict.fromkeys(("input_file", "input_image", "input_text", "output_text"), "openai-responses"),
    **dict.fromkeys(
        ("container_upload", "document", "mcp_tool_use", "redacted_thinking", "server_tool_use", "tool_result", "tool_use"),
        "anthropic",
    ),
    **dict.fromkeys(("file", "image_url", "input_audio", "refusal", "video_url"), "openai-chat"),
    **dict.fromkeys(("audio_url", "document_url", "reference"), "mistral"),
}
"""Types of parts of a content, each of one dialect only; ``image_url`` and its like are of Mistral's, too."""

_MEMBERS: Final = frozenset({
    "audio", "cachePoint", "citationsContent", "document", "guardContent", "image", "json", "reasoningContent",
    "searchResult", "text", "toolResult", "toolUse", "video",
})  # fmt: skip
"""The only keys of Bedrock's blocks."""

_FIELDS: Final = {
    **dict.fromkeys(("additionalModelRequestFields", "guardrailConfig", "inferenceConfig", "modelId", "toolConfig"), "bedrock"),
    **dict.fromkeys(("anthropic_beta", "anthropic_version", "container", "stop_sequences", "system", "top_k"), "anthropic"),
}
_OPENAI_FIELDS: Final = frozenset({
    "frequency_penalty", "function_call", "functions", "logprobs", "max_completion_tokens", "modalities", "n",
    "parallel_tool_calls", "presence_penalty", "reasoning_effort", "response_format", "seed", "stop", "store", "stream_options",
})  # fmt: skip
_MISTRAL_FIELDS: Final = frozenset({"prompt_mode", "random_seed", "safe_prompt"})
_MISTRAL_MODELS: Final = (
    "codestral",
    "devstral",
    "magistral",
    "ministral",
    "mistral",
    "open-mistral",
    "open-mixtral",
    "pixtral",
    "voxtral",
)
_SAMPLING_FIELDS: Final = frozenset({"includeContext", "modelPreferences", "systemPrompt"})
_OPENAI_ROLES: Final = frozenset({"developer", "function", "tool"})


def messages_key_in(body: Json) -> str | None:
    """
    Under which key the messages of a request body stand; ``None`` if it is none.

    >>> messages_key_in({"contents": []}), messages_key_in({"model": "m", "input": "hi"}), messages_key_in({"text": "hi"})
    ('contents', 'input', None)
    """
    if not isinstance(body, dict):
        return None
    for key in _KEYS:
        if isinstance(body.get(key), list):
            return key
    if isinstance(body.get("steps"), list) and str(body.get("schema_version")).startswith("ATIF"):
        return "steps"
    return "input" if isinstance(body.get("input"), str) and "model" in body else None


def body_in(value: Json) -> _Object | None:
    """The request body in a value, bare or beside what was recorded about it."""
    if messages_key_in(value) is not None:
        found: _Object = value
        return found
    if not isinstance(value, dict):
        return None
    inner = value.get("params" if value.get("method") == "sampling/createMessage" else "body")
    return inner if messages_key_in(inner) is not None else None


def is_message(value: _Object) -> bool:
    """Whether an object is one message: of a role with something to say, or an item of OpenAI Responses."""
    if isinstance(value.get("role"), str):
        return "content" in value or "tool_calls" in value or "parts" in value
    return value.get("type") in _ITEMS if isinstance(value.get("type"), str) else False


def dialect_of(body: Json) -> str:
    """
    Whose wire shape a body or list of messages has.

    A routing service passes Claude's names, ``thinking`` and ``cache_control``
    through bodies of another dialect, so these count only in a body with
    ``max_tokens``, which Anthropic requires, and without a system message.

    >>> dialect_of([{"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "ls", "input": {}}]}])
    'anthropic'
    >>> dialect_of([{"role": "user", "content": "hi"}])
    'openai-chat'
    >>> dialect_of([{"role": "user", "parts": [{"text": "hi"}]}]), dialect_of([{"role": "user", "content": [{"text": "hi"}]}])
    ('gemini', 'bedrock')
    >>> dialect_of({"model": "gpt-5", "input": "hi"}), dialect_of({"model": "mistral-large-latest", "messages": []})
    ('openai-responses', 'mistral')
    """
    key = messages_key_in(body)
    if key is not None and key != "messages":
        return {"contents": "gemini", "input": "openai-responses", "steps": "atif"}[key]
    messages = body[key] if key is not None else body
    if _is_sampling(body, messages):
        return "mcp-sampling"
    told = next(filter(None, map(_told_by_message, _objects(messages))), None)
    if told is None and isinstance(body, dict):
        told = _told_by_fields(body)
    if told is None:
        told = "anthropic" if _is_claudes(body, messages) else "openai-chat"
    return "mistral" if told == "openai-chat" and isinstance(body, dict) and _is_mistrals(body) else told


def _told_by_message(message: _Object) -> str | None:
    role, content = str(message.get("role")), message.get("content")
    kind = message.get("type")
    if isinstance(kind, str) and kind in _ITEMS:
        return "openai-responses"
    if "parts" in message and content is None:
        return "gemini"
    if role in _OPENAI_ROLES or "tool_calls" in message or "function_call" in message:
        return _told_by_parts(content) if isinstance(content, list) and role != "tool" else "openai-chat"
    if role == "assistant" and content is None:
        return "openai-chat"
    return _told_by_parts(content)


def _told_by_parts(content: Json) -> str | None:
    for part in content if isinstance(content, list) else ():
        if not isinstance(part, dict):
            continue
        kind = part.get("type")
        if isinstance(kind, str):
            if kind == "image" and "source" in part:
                return "anthropic"
            if kind == "thinking":
                return "mistral" if isinstance(part.get("thinking"), list) else "anthropic"
            if kind in _PARTS:
                return _PARTS[kind]
        elif len(part) == 1 and not _MEMBERS.isdisjoint(part):
            return "bedrock"
    return None


def _told_by_fields(body: _Object) -> str | None:
    for field in body:
        if field in _FIELDS:
            return _FIELDS[field]
    for tool in _objects(body.get("tools")):
        if "input_schema" in tool:
            return "anthropic"
        if isinstance(tool.get("function"), dict):
            return "openai-chat"
    return "openai-chat" if not _OPENAI_FIELDS.isdisjoint(body) else None


def _is_sampling(body: Json, messages: Json) -> bool:
    """Whether it is a request of MCP's for sampling: its fields, a content that is one block, its word for the id of a result."""
    if isinstance(body, dict) and not _SAMPLING_FIELDS.isdisjoint(body):
        return True
    for message in _objects(messages):
        content = message.get("content")
        if isinstance(content, dict) and "role" in message:
            return isinstance(content.get("type"), str)
        for part in _objects(content):
            if part.get("type") == "tool_result":
                return "toolUseId" in part
            if part.get("type") in ("image", "audio") and "mimeType" in part:
                return True
    return False


def _is_claudes(body: Json, messages: Json) -> bool:
    """Whether it is Anthropic's, by signs that others pass through."""
    spoken = list(_objects(messages))
    if any(message.get("role") == "system" for message in spoken):
        return False
    is_marked = any("cache_control" in part for message in spoken for part in _objects(message.get("content")))
    if not isinstance(body, dict):
        return is_marked
    return "max_tokens" in body and (is_marked or "thinking" in body or "claude" in str(body.get("model", "")).lower())


def _is_mistrals(body: _Object) -> bool:
    """Whether it is Mistral's own: a router writes the vendor before a model's name, a local server a tag behind it."""
    model = body.get("model")
    is_named = isinstance(model, str) and model.startswith(_MISTRAL_MODELS) and "/" not in model and ":" not in model
    return is_named or not _MISTRAL_FIELDS.isdisjoint(body)


def _objects(values: Json) -> Iterator[_Object]:
    for value in values if isinstance(values, list) else ():
        if isinstance(value, dict):
            yield value
