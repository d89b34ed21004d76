"""By which signs a wire shape is known."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactlib.dialects import DIALECTS
from compactlib.transcripts.signs import body_in, dialect_of, is_message, messages_key_in

from .spellings import SPELLINGS, Call, Result
from .strategies import WIRES

KEYS = (
    "messages",
    "input",
    "contents",
    "body",
    "role",
    "content",
    "parts",
    "type",
    "text",
    "tools",
    "function",
    "model",
    "toolUse",
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=3),
    max_leaves=12,
)

TOLD_BY: list[tuple[Any, str]] = [
    ([{"role": "user", "content": "hi"}], "openai-chat"),
    ([{"role": "user", "content": [{"type": "text", "text": "hi", "cache_control": {}}]}], "anthropic"),
    ({"messages": [], "system": "s"}, "anthropic"),
    ({"messages": [], "model": "claude-3", "max_tokens": 9}, "anthropic"),
    ({"messages": [{"role": "system", "content": "s"}], "model": "claude-3", "max_tokens": 9}, "openai-chat"),
    ({"messages": [], "model": "anthropic/claude-3"}, "openai-chat"),
    ([{"role": "assistant", "content": [{"type": "thinking", "thinking": "t", "signature": "s"}]}], "anthropic"),
    ([{"role": "assistant", "content": [{"type": "thinking", "thinking": [{"type": "text", "text": "t"}]}]}], "mistral"),
    ({"messages": [], "model": "mistralai/mistral-large"}, "openai-chat"),
    ({"messages": [], "model": "mistral:latest"}, "openai-chat"),
    ({"messages": [], "model": "codestral-2508"}, "mistral"),
    ({"messages": [], "safe_prompt": True}, "mistral"),
    ({"messages": [], "toolConfig": {}}, "bedrock"),
    ([{"role": "user", "content": [{"toolResult": {}}]}], "bedrock"),
    ([{"role": "user", "content": [{"type": "input_text", "text": "hi"}]}], "openai-responses"),
    ([{"type": "reasoning", "summary": []}], "openai-responses"),
    ({"input": "hi", "model": "gpt-5"}, "openai-responses"),
    ({"contents": {}, "messages": []}, "openai-chat"),
    (None, "openai-chat"),
]


@pytest.mark.parametrize(("body", "dialect"), TOLD_BY, ids=[f"{place} {dialect}" for place, (_, dialect) in enumerate(TOLD_BY)])
def test_signs(body: Any, dialect: str) -> None:
    """What only one dialect has decides, and the model's name last of all."""
    assert dialect_of(body) == dialect


@pytest.mark.parametrize("name", WIRES)
def test_calls_and_results_tell_every_dialect(name: str) -> None:
    """A bare list of them is enough, but for Mistral's, which are OpenAI's."""
    spelling = SPELLINGS[name]
    call = Call(spelling.id("c1"), "read", {})
    messages = [spelling.user("hi"), *spelling.model("", [call]), *spelling.results([Result(call, "x")])]

    assert dialect_of(messages) == ("openai-chat" if name == "mistral" else name)
    assert all(map(is_message, messages))
    assert messages_key_in({spelling.key: messages}) == spelling.key


@given(JSON)
def test_any_value_has_some_dialect(value: Any) -> None:
    """Whatever it holds, nothing is raised."""
    assert dialect_of(value) in DIALECTS
    assert body_in(value) is None or isinstance(body_in(value), dict)
    assert not isinstance(value, dict) or is_message(value) in (True, False)
