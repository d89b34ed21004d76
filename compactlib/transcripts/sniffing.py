"""
Which format a file is in, told by its structure and never by its name.

What this is
    `sniff` looks at the values of a file until one of them gives the format
    away; `dialect_of` tells the two request dialects apart.

Rules it obeys
    * The first telling value decides.  Lines that say nothing (a title, a
      snapshot, a broken line) are passed over, because real logs begin with
      them.
    * A format that is known and not read yet is named in the error: "not
      recognised" would send its owner looking for a fault in the file.
    * Where a list of plain messages would be right in either dialect, it is
      taken for ``openai-chat``: a history without one tool block reads the same
      in both, and that dialect has the fewer rules it could break.

How it works
    Two tables of signatures.  A signature is a predicate over one object.

What is not here
    Reading: one module for each format.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, TypeAlias

from ..errors import PolicyError, WireError
from ..model import Json
from .lines import Content

__all__ = ["FORMATS", "checked_format", "dialect_of", "sniff"]

FORMATS: Final = ("claude-code", "pi", "anthropic", "openai-chat")
"""What `compactlib.load` reads: two kinds of session, and request bodies or message lists in two dialects."""

_Object: TypeAlias = dict[str, Json]
_Signature: TypeAlias = Callable[[_Object], bool]

_CLAUDE_BOOKKEEPING: Final = frozenset({
    "agent-name", "ai-title", "custom-title", "file-history-snapshot", "last-prompt", "permission-mode", "pr-link",
    "queue-operation",
})  # fmt: skip
_PI_ROLES: Final = frozenset({"user", "assistant", "toolResult", "bashExecution", "custom", "hookMessage"})


def _is_claude_code(value: _Object) -> bool:
    if isinstance(value.get("loglines"), list):
        return True
    kind = value.get("type")
    if not isinstance(kind, str):
        return False
    if "parentUuid" in value or ("uuid" in value and "sessionId" in value):
        return True
    if kind in ("user", "assistant") and isinstance(value.get("message"), dict):
        return "payload" not in value
    return kind in _CLAUDE_BOOKKEEPING or (kind == "summary" and "leafUuid" in value)


def _is_pi(value: _Object) -> bool:
    kind = value.get("type")
    if kind == "session":
        return "payload" not in value and ("version" in value or "cwd" in value)
    message = value.get("message")
    return kind == "message" and isinstance(message, dict) and str(message.get("role")) in _PI_ROLES


def _is_body(value: _Object) -> bool:
    """A request body, or a line that holds one beside what was recorded about it."""
    body = value.get("body")
    return isinstance(value.get("messages"), list) or (isinstance(body, dict) and isinstance(body.get("messages"), list))


def _is_message(value: _Object) -> bool:
    return isinstance(value.get("role"), str) and ("content" in value or "tool_calls" in value) and "parts" not in value


_READ: Final[tuple[tuple[str, _Signature], ...]] = (
    ("claude-code", _is_claude_code),
    ("pi", _is_pi),
    ("request", _is_body),
    ("request", _is_message),
)

_KNOWN: Final[tuple[tuple[str, _Signature], ...]] = (
    ("a Codex rollout", lambda v: v.get("type") == "session_meta" or "record_type" in v),
    ("a Codex rollout", lambda v: {"id", "instructions", "git"} <= v.keys()),
    ("a Gemini CLI chat", lambda v: {"sessionId", "projectHash"} <= v.keys()),
    ("an ATIF trajectory", lambda v: str(v.get("schema_version", "")).startswith("ATIF")),
    ("a SWE-agent trajectory", lambda v: {"trajectory", "history"} <= v.keys()),
    ("a mini-swe-agent trajectory", lambda v: "trajectory_format" in v),
    ("a Cline session", lambda v: {"version", "agent", "sessionId", "messages"} <= v.keys()),
    ("a tau2-bench run", lambda v: {"simulations", "tasks"} <= v.keys()),
    ("a tau-bench run", lambda v: {"task_id", "traj"} <= v.keys()),
    ("a ShareGPT row", lambda v: isinstance(v.get("conversations"), list)),
    ("an Inspect log", lambda v: {"eval", "samples"} <= v.keys()),
    ("an OpenHands event log", lambda v: "source" in v and ("action" in v or "observation" in v or "kind" in v)),
    ("a Gemini request", lambda v: isinstance(v.get("contents"), list) or isinstance(v.get("parts"), list)),
    ("an OpenAI Responses request", lambda v: "input" in v and "model" in v),
)


def sniff(content: Content) -> str:
    """
    The format: ``claude-code``, ``pi`` or ``request``.

    Raises:
        WireError: it is none of these; if it is one that is known, its name is in the error.
    """
    for value in _objects(content):
        for name, is_signed in _KNOWN:
            if is_signed(value):
                raise WireError("$", f"this looks like {name}, which is not read yet", hint=f"read are {', '.join(FORMATS)}")
        for name, is_signed in _READ:
            if is_signed(value):
                return name
    raise WireError("$", "the format is not recognised", hint=f"read are {', '.join(FORMATS)}; name one with format=")


def checked_format(name: str | None) -> str | None:
    """
    *name*, if it is one of `FORMATS` or ``None``.

    Raises:
        PolicyError: it is something else.
    """
    if name is not None and name not in FORMATS:
        raise PolicyError("format", f"{name!r} is no format that is read", hint=f"one of {', '.join(FORMATS)}")
    return name


def _objects(content: Content) -> Iterable[_Object]:
    for line in content.lines:
        if isinstance(line.value, dict):
            yield line.value
        elif isinstance(line.value, list):
            yield from (item for item in line.value if isinstance(item, dict))


_ANTHROPIC_BLOCKS: Final = frozenset({
    "container_upload", "document", "mcp_tool_use", "redacted_thinking", "server_tool_use", "thinking", "tool_result", "tool_use",
})  # fmt: skip
_ANTHROPIC_FIELDS: Final = frozenset({"anthropic_beta", "anthropic_version", "container", "stop_sequences", "system", "top_k"})
_OPENAI_FIELDS: Final = frozenset({
    "frequency_penalty", "function_call", "functions", "logprobs", "max_completion_tokens", "modalities", "n",
    "parallel_tool_calls", "presence_penalty", "reasoning_effort", "response_format", "seed", "stop", "store", "stream_options",
})  # fmt: skip
_OPENAI_ROLES: Final = frozenset({"developer", "function", "tool"})
_OPENAI_PARTS: Final = frozenset({"document_url", "file", "image_url", "input_audio", "refusal", "video_url"})


def dialect_of(body: Json) -> str:
    """
    Whose wire shape a body or list of messages has: ``anthropic`` or ``openai-chat``.

    What only one of them has decides: blocks and calls first, then fields and
    tool declarations.  A routing service passes Claude's names, ``thinking``
    and ``cache_control`` through bodies of the other dialect, so these count
    only in a body with ``max_tokens``, which Anthropic requires, and without a
    system message.

    >>> dialect_of([{"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "ls", "input": {}}]}])
    'anthropic'
    >>> dialect_of([{"role": "user", "content": "hi"}])
    'openai-chat'
    """
    messages = body.get("messages") if isinstance(body, dict) else body
    has_system = has_cache_mark = False
    for message in messages if isinstance(messages, list) else ():
        if not isinstance(message, dict):
            continue
        role, content = str(message.get("role")), message.get("content")
        has_system = has_system or role == "system"
        if role in _OPENAI_ROLES or "tool_calls" in message or "function_call" in message:
            return "openai-chat"
        if role == "assistant" and content is None:
            return "openai-chat"
        for block in content if isinstance(content, list) else ():
            kind = block.get("type") if isinstance(block, dict) else None
            if not isinstance(kind, str):
                continue
            if kind in _ANTHROPIC_BLOCKS or (kind == "image" and "source" in block):
                return "anthropic"
            if kind in _OPENAI_PARTS:
                return "openai-chat"
            has_cache_mark = has_cache_mark or "cache_control" in block
    if not isinstance(body, dict):
        return "anthropic" if has_cache_mark and not has_system else "openai-chat"
    told = _told_by_fields(body)
    if told is not None:
        return told
    is_claude = has_cache_mark or "thinking" in body or "claude" in str(body.get("model", "")).lower()
    return "anthropic" if is_claude and "max_tokens" in body and not has_system else "openai-chat"


def _told_by_fields(body: _Object) -> str | None:
    if not _ANTHROPIC_FIELDS.isdisjoint(body):
        return "anthropic"
    tools = body.get("tools")
    for tool in tools if isinstance(tools, list) else ():
        if isinstance(tool, dict):
            if "input_schema" in tool:
                return "anthropic"
            if isinstance(tool.get("function"), dict):
                return "openai-chat"
    return "openai-chat" if not _OPENAI_FIELDS.isdisjoint(body) else None
