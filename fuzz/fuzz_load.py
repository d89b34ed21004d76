"""
Reading a file: no bytes make `compactlib.transcripts.read` fail other than with `WireError`.

What holds for every input, in every format:

1. It is read, or it is a `WireError` (nothing else escapes, not even `RecursionError`).
2. What is read renders back to exactly its wire messages, so the reader made shapes its dialect knows.
3. Problems name lines of the file, and reading again gives the same.
4. In a Claude Code session a result stands directly behind the message of its call, or no call before it has its id.

A polyglot: pytest runs the property with Hypothesis, ``python fuzz/fuzz_load.py``
runs the same one under atheris.
"""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from compactlib.dialects import messages_key, render
from compactlib.errors import WireError
from compactlib.transcripts import FORMATS, Transcript, read

# -- what files are made of: well-formed lines, the words of all formats in any order, and damage ----------------------

_IDS = st.sampled_from(["a", "b", "c", "d", "e"])
_CALLS = st.sampled_from(["t1", "t2", "t3"])
_LEAVES = st.none() | st.booleans() | st.integers(-2, 3) | st.floats(allow_nan=False) | st.text(max_size=4) | _IDS
_WORDS = st.sampled_from((
    "id", "uuid", "parentUuid", "parentId", "logicalParentUuid", "requestId", "toolCallId", "tool_use_id", "tool_call_id",
    "firstKeptEntryId", "firstKeptEntryIndex", "leafUuid", "text", "thinking", "signature", "name", "input", "arguments", "data",
    "source", "summary", "prompt", "rendered", "replacements", "toolUseId", "replacement", "compactedToolIds", "removedUuids",
    "systemPrompt", "tools", "usage", "model", "kind", "loglines", "messages", "body", "dialect", "tool_calls", "message",
    "content",
    "attachment", "compactMetadata", "microcompactMetadata", "preservedMessages", "preservedSegment", "origin", "snipMetadata",
    "role", "type",
))  # fmt: skip
_ANY = st.recursive(
    _LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_WORDS, inner, max_size=4), max_leaves=12
)

_SAID = st.sampled_from(
    ["hi", "", "<system-reminder>x</system-reminder>", "<command-name>/x</command-name><command-args>y</command-args>"]
)
_TEXT = st.builds(lambda text: {"type": "text", "text": text}, _SAID)
_CLAUDE_CALL = st.builds(lambda name: {"type": "tool_use", "id": name, "name": "ls", "input": {}}, _CALLS)
_CLAUDE_RESULT = st.builds(
    lambda name, held: {"type": "tool_result", "tool_use_id": name, "content": held}, _CALLS, _SAID | st.lists(_TEXT)
)
_PICTURE = st.just({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": ""}})
_THOUGHT = st.just({"type": "thinking", "thinking": "", "signature": "s"})


def _row(kind: str, **more: Any) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {"type": st.just(kind), "uuid": _IDS, "parentUuid": st.none() | _IDS, **more},
        optional={"isSidechain": st.booleans(), "isMeta": st.booleans(), "isCompactSummary": st.booleans()},
    )


def _message(role: str, content: st.SearchStrategy[Any], **more: Any) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({"role": st.just(role), "content": content, **more})


_CLAUDE = st.one_of(
    _row("user", message=_message("user", _SAID | st.lists(_TEXT | _CLAUDE_RESULT | _PICTURE, max_size=3))),
    _row("user", message=_message("user", st.lists(_CLAUDE_RESULT, min_size=1, max_size=2))),
    _row("assistant", message=_message("assistant", st.lists(_TEXT | _CLAUDE_CALL | _THOUGHT, max_size=2), id=_IDS)),
    _row("assistant", message=_message("assistant", st.lists(_CLAUDE_CALL, min_size=1, max_size=1), id=_IDS)),
    _row("system", subtype=st.just("compact_boundary"), compactMetadata=st.fixed_dictionaries({}, optional={
        "preservedMessages": st.fixed_dictionaries({"uuids": st.lists(_IDS, max_size=3)}),
        "preservedSegment": st.fixed_dictionaries({"headUuid": _IDS, "tailUuid": _IDS}),
    })),
    _row("system", microcompactMetadata=st.fixed_dictionaries({"compactedToolIds": st.lists(_CALLS, max_size=2)})),
    _row("attachment", attachment=st.fixed_dictionaries({"type": st.just("queued_command"), "prompt": _SAID})),
    _row("progress"),
)  # fmt: skip
_PI_CALL = st.builds(lambda name: {"type": "toolCall", "id": name, "name": "ls", "arguments": {}}, _CALLS)
_PI_PICTURE = st.just({"type": "image", "mimeType": "image/png", "data": ""})
_PI_MESSAGE = st.one_of(
    _message("user", _SAID | st.lists(_TEXT | _PI_PICTURE, max_size=2)),
    _message("assistant", st.lists(_TEXT | _PI_CALL | _THOUGHT, max_size=3)),
    _message("toolResult", st.lists(_TEXT | _PI_PICTURE, max_size=2), toolCallId=_CALLS),
    st.just({"role": "bashExecution", "command": "ls", "output": "x"}),
)
_PI = st.one_of(
    st.fixed_dictionaries(
        {"type": st.just("message"), "message": _PI_MESSAGE}, optional={"id": _IDS, "parentId": st.none() | _IDS}
    ),
    st.fixed_dictionaries(
        {"type": st.just("compaction"), "summary": st.none() | st.just("S")},
        optional={"id": _IDS, "parentId": _IDS, "firstKeptEntryId": _IDS, "firstKeptEntryIndex": st.integers(-1, 9)},
    ),
)
_BODIES = st.builds(
    lambda held: {"messages": held}, st.lists(_message("user", _SAID) | _message("assistant", st.lists(_TEXT)), max_size=3)
)
_OTHER_BODIES = st.one_of(
    st.builds(lambda held: {"contents": held}, st.lists(st.sampled_from((
        {"role": "user", "parts": [{"text": "hi"}]},
        {"role": "model", "parts": [{"functionCall": {"name": "ls", "args": {}}, "thoughtSignature": "S"}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "ls", "response": {"output": "x"}}}]},
    )), max_size=4)),
    st.builds(lambda held: {"input": held}, st.lists(st.sampled_from((
        {"role": "user", "content": "hi"},
        {"type": "function_call", "call_id": "t1", "name": "ls", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "t1", "output": "x"},
        {"type": "reasoning", "id": "rs_1", "summary": []},
    )), max_size=4) | _SAID),
    st.builds(lambda held, more: {"messages": held, **more}, st.lists(st.sampled_from((
        {"role": "user", "content": [{"text": "hi"}]},
        {"role": "assistant", "content": [{"toolUse": {"toolUseId": "t1", "name": "ls", "input": {}}}]},
        {"role": "user", "content": [{"toolResult": {"toolUseId": "t1", "content": [{"text": "x"}]}}]},
        {"role": "assistant", "tool_calls": [{"id": "t1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "t1", "content": "x"},
    )), max_size=4), st.sampled_from(({}, {"inferenceConfig": {}}, {"model": "mistral-large-latest"}, {"model": "gpt-5"}))),
)  # fmt: skip
_SPOILT = st.builds(lambda row, word, value: {**row, word: value}, _CLAUDE | _PI, _WORDS, _ANY)
_ENDS = st.sampled_from([b"\n"] * 8 + [b"\r\n", b"", b"\0\0\n", b"\xff\n", b"}\n"])


def _file(rows: st.SearchStrategy[Any]) -> st.SearchStrategy[bytes]:
    line = st.builds(lambda value, end: json.dumps(value).encode() + end, rows, _ENDS)
    return st.builds(
        lambda made, cut: b"".join(made)[: -cut or None], st.lists(line, max_size=10), st.sampled_from([0] * 5 + [1, 7, 40])
    )


_BYTES = st.one_of(
    _file(_CLAUDE),
    st.builds(lambda rest: b'{"type": "session", "version": 3}\n' + rest, _file(_PI)),
    _file(_BODIES),
    _file(_OTHER_BODIES),
    _file(_CLAUDE | _SPOILT),
    _file(_PI | _SPOILT),
    _file(_ANY),
    st.binary(max_size=60),
)


def _read(data: bytes, name: str | None) -> Transcript | None:
    try:
        return read(data, format=name)
    except WireError:
        return None


def holds(data: bytes) -> None:
    """The facts above, for one input."""
    last = data.count(b"\n") + 1
    for name in (None, *FORMATS):
        transcript = _read(data, name)
        again = _read(data, name)
        assert (transcript is None) == (again is None)
        if transcript is None or again is None:
            continue
        rendered = render(transcript.conversation)
        key = messages_key(transcript.conversation.dialect)
        said = rendered[key] if isinstance(rendered, dict) else rendered
        assert (said if isinstance(said, list) else transcript.messages) == transcript.messages == again.messages
        assert all(problem.line >= 1 for problem in transcript.problems)
        assert transcript.problems == again.problems
        if name in ("claude-code", "pi") and b"loglines" not in data and not data.lstrip().startswith(b"["):
            assert all(problem.line <= last for problem in transcript.problems)
        if transcript.format == "claude-code":
            assert_paired(transcript.messages)


def assert_paired(messages: list[dict[str, Any]]) -> None:
    """Fact 4."""
    called: set[str] = set()
    before: set[str] = set()
    for message in messages:
        held = message["content"] if isinstance(message["content"], list) else []
        answered = {block["tool_use_id"] for block in held if block["type"] == "tool_result"}
        assert answered <= before or not answered & called
        before = {block["id"] for block in held if block["type"] == "tool_use"}
        called |= before


@given(_BYTES)
def test_any_bytes_are_read_or_are_a_wire_error(data: bytes) -> None:
    """Whatever the file, one kind of error, and what is read is a shape of its dialect."""
    holds(data)


def main() -> None:
    """Fuzz until stopped."""
    from exploring import explore  # here, because it stands beside this file and in no package

    explore(__file__, "test_any_bytes_are_read_or_are_a_wire_error")


if __name__ == "__main__":
    main()
