"""
The request types of the official SDKs: everything that is written passes them.

They are installed with the extra ``oracles``; where one is absent its tests are
skipped.  What an SDK declares lazily is read to its end, or nothing would be
judged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from random import Random
from typing import Any

import pytest

import compactlib as cl
from compactlib.dialects import messages_key
from compactlib.outcomes import Compacted

from .scenarios import scenario
from .words import build, legal_words

Judge = Callable[[Any], None]


def _read_all(value: Any) -> None:
    """Read what was declared as an iterable to its end, wherever it stands."""
    if isinstance(value, Mapping):
        for inner in value.values():
            _read_all(inner)
    elif isinstance(value, Iterable) and not isinstance(value, str | bytes):
        for inner in value:
            _read_all(inner)


def _typed(kind: Any) -> Judge:
    pydantic = pytest.importorskip("pydantic", reason="the extra oracles is not installed")
    adapter = pydantic.TypeAdapter(list[kind])

    def judge(messages: Any) -> None:
        _read_all(adapter.validate_python(messages))

    return judge


def _judge(dialect: str) -> Judge:
    """The SDK's judgement of a list of messages."""
    why = "the extra oracles is not installed"
    if dialect == "anthropic":
        return _typed(pytest.importorskip("anthropic.types", reason=why).MessageParam)
    if dialect == "openai-chat":
        return _typed(pytest.importorskip("openai.types.chat", reason=why).ChatCompletionMessageParam)
    if dialect == "openai-responses":
        return _typed(pytest.importorskip("openai.types.responses", reason=why).ResponseInputItemParam)
    return _typed(pytest.importorskip("google.genai.types", reason=why).Content)


DIALECTS = ("anthropic", "openai-chat", "openai-responses", "gemini")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_legal_words_pass(dialect: str) -> None:
    """Every legal word up to length four is written as the SDK would have it."""
    judge = _judge(dialect)
    count = 0
    for word in legal_words(4, dialect=dialect):
        judge(_messages(cl.parse(build(word, dialect), dialect=dialect)))
        count += 1

    assert count >= 100


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_passed_before_a_compaction_passes_after_it(dialect: str) -> None:
    """Heads, fused or not, pins and reminders among them."""
    judge = _judge(dialect)
    compacted = 0
    for seed in range(420):
        made = scenario(Random(seed), dialect=dialect)  # noqa: S311 - conversations, not secrets
        if not _passes(judge, _messages(made.conversation)):
            continue
        outcome = cl.compact(
            made.conversation,
            made.policy,
            summarise=made.summarise,
            when=made.when,
            pins=made.pins,
            reminders=made.reminders,
        )
        if isinstance(outcome, Compacted):
            judge(_messages(outcome.conversation))
            compacted += 1

    assert compacted >= 20


def _messages(conversation: cl.Conversation) -> Any:
    body = cl.render(conversation)
    messages = body[messages_key(conversation.dialect)] if isinstance(body, dict) else body
    for message in messages:
        for part in message.get("content") or () if conversation.dialect == "openai-responses" else ():
            if isinstance(part, dict) and part.get("type") == "input_image":
                part.setdefault("detail", "auto")  # the SDK demands what the service does not
    return messages


def _passes(judge: Judge, messages: Any) -> bool:
    try:
        judge(messages)
    except ValueError:  # pydantic's own is one
        return False
    return True
