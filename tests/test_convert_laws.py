"""Laws of conversion, over drawn stories and over noise: valid stays valid, and there and back is where it began."""

from __future__ import annotations

import json
from itertools import permutations
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import compactlib as cl
from compactlib.converting import LOSSES
from compactlib.dialects import DIALECTS

from .dialect_laws import noise, spoil
from .tongues import errors, meaning, renamed, stories, tell

PAIRS: Final = list(permutations(DIALECTS, 2))

_WORDS: Final = (
    "user",
    "assistant",
    "model",
    "tool",
    "text",
    "image",
    "document",
    "tool_use",
    "tool_result",
    "function_call",
    "a",
    "",
)
_KEYS: Final = (
    "role", "content", "parts", "type", "text", "id", "tool_use_id", "call_id", "name", "input", "arguments", "source", "toolUse",
    "toolResult", "functionCall", "functionResponse", "tool_calls", "tool_call_id", "function", "output",
)  # fmt: skip


@settings(max_examples=20)
@pytest.mark.parametrize(("source", "target"), PAIRS)
@given(data=st.data())
def test_valid_stays_valid(source: str, target: str, data: st.DataObject) -> None:
    """What a provider would accept at rest, another accepts after a conversion."""
    conversation = cl.parse(tell(data.draw(stories(dialect=source)), source), dialect=source)
    assert errors(conversation) == []
    converted = cl.convert(conversation, dialect=target)

    assert errors(converted.conversation) == []
    assert {loss.name for loss in converted.losses} <= LOSSES.keys()


@settings(max_examples=20)
@pytest.mark.parametrize(("source", "target"), PAIRS)
@given(data=st.data())
def test_there_and_back_is_the_same_but_for_the_losses(source: str, target: str, data: st.DataObject) -> None:
    """A message that no loss is about says the same afterwards; if none is lost, the whole does."""
    story = data.draw(stories(dialect=source))
    before = cl.parse(tell(story, source), dialect=source)
    there = cl.convert(before, dialect=target)
    back = cl.convert(there.conversation, dialect=source)
    after = back.conversation
    ids = tuple((new, old) for old, new in there.id_map)
    found = renamed(meaning(after), tuple((new, dict(ids).get(old, old)) for old, new in back.id_map) + ids)
    wanted = renamed(meaning(before), ())
    lost = [loss for loss in (*there.losses, *back.losses) if loss.name != "setting"]

    if not lost or {loss.name for loss in lost} <= {"seal", "reasoning"}:
        assert found == wanted
        assert [(tool.name, tool.value) for tool in after.tools] == [(tool.name, tool.value) for tool in before.tools]
    else:
        names = {loss.name for loss in lost}
        assert names <= {"seal", "reasoning", "error-flag", "grouping", "order"}
        if "grouping" in names:
            assert _flat(found, names) == _flat(wanted, names)
        else:
            assert [_flat([one], names) for one in found] == [_flat([one], names) for one in wanted]


def _flat(messages: list[Any], names: set[str]) -> list[Any]:
    """What is said, without regard to messages; and without saying that a result is an error, where that is lost."""
    flat: list[Any] = []
    for side, said in messages:
        for block in said:
            kind, *rest = block
            if kind == "result" and "error-flag" in names:
                rest[1] = None
            flat.append((side, kind, *rest))
    return flat


@settings(max_examples=25)
@pytest.mark.parametrize("target", DIALECTS)
@given(data=st.data())
def test_conversion_is_deterministic_and_changes_nothing(target: str, data: st.DataObject) -> None:
    """Law L16, L19: the same twice, from objects and from text, and what was passed in is as it was."""
    source = data.draw(st.sampled_from([dialect for dialect in DIALECTS if dialect != target]))
    body = tell(data.draw(stories(dialect=source)), source)
    text = json.dumps(body)
    conversation = cl.parse(body, dialect=source)
    converted = cl.convert(conversation, dialect=target)
    spoil(converted.body)

    again = cl.convert(conversation, dialect=target)
    assert json.dumps(cl.render(conversation)) == text
    assert json.loads(cl.convert(cl.parse(text, dialect=source), dialect=target).body) == again.body
    assert cl.render(again.conversation) == again.body
    assert (converted.losses, converted.id_map) == (again.losses, again.id_map)


@settings(max_examples=25)
@pytest.mark.parametrize("source", DIALECTS)
@given(data=st.data())
def test_whatever_was_read_is_converted(source: str, data: st.DataObject) -> None:
    """No input raises, however broken, and the losses are of known names at known places."""
    field = {"gemini": "contents", "openai-responses": "input"}.get(source, "messages")
    anything = noise(_WORDS, _KEYS)
    around = dict.fromkeys(("system", "tool_choice", "max_tokens", "toolConfig", "generationConfig"), anything)
    tools = {"tools": st.lists(anything, max_size=2)}
    body = data.draw(st.fixed_dictionaries({field: st.lists(anything, max_size=4)}, optional={**around, **tools}))
    try:
        conversation = cl.parse(body, dialect=source)
    except cl.WireError:
        return
    for target in DIALECTS:
        converted = cl.convert(conversation, dialect=target)

        assert {loss.name for loss in converted.losses} <= LOSSES.keys()
        assert all(loss.index is None or loss.index < len(body[field]) for loss in converted.losses)
