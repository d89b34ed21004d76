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
from compactlib.model import Block, Media, Result

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
    "toolResult", "functionCall", "functionResponse", "tool_calls", "tool_call_id", "function", "output", "functionDeclarations",
    "parameters", "input_schema", "toolSpec", "inputSchema", "json", "tools",
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


@st.composite
def odd(draw: st.DrawFn, source: str) -> Any:
    """A story that a provider may accept and hardly anybody tells: odd arguments, roles and places of calls, bare lists."""
    body = json.loads(json.dumps(tell(draw(stories(dialect=source)), source)))
    messages = body[_FIELDS.get(source, "messages")]
    for _ in range(draw(st.integers(1, 3))):
        kind = draw(st.sampled_from(["arguments", "role", "call", "tools", "system"]))
        message = draw(st.sampled_from(messages)) if messages else {}
        if kind == "arguments":
            for one in _objects(message):
                for key in {"arguments", "input", "args"} & one.keys():
                    one[key] = draw(st.sampled_from(["zz", '{"a":NaN}', "[1]", "", "{}", None, {"a": 1}]))
        elif kind == "role":
            new = draw(st.sampled_from(["", "user", "model", "assistant", "system", "developer", "tool", "function"]))
            message.pop("role", None) if not new else message.update(role=new)
        elif kind == "call" and source in _CALLS:
            held = message.get("parts", message.get("content"))
            if isinstance(held, list):
                held.insert(draw(st.integers(0, len(held))), json.loads(json.dumps(_CALLS[source])))
        elif kind == "system" and source in ("openai-chat", "openai-responses", "mistral"):
            messages.insert(0, {"role": "system", "content": "be brief"})
        elif kind == "tools":
            for key in ("tools", "toolConfig", "tool_choice"):
                body.pop(key, None)
    return messages if draw(st.booleans()) else body


_FIELDS: Final = {"gemini": "contents", "openai-responses": "input"}
_CALLS: Final[dict[str, Any]] = {
    "openai-chat": {"type": "tool_use", "id": "abcdefghi", "name": "R", "input": {}},
    "mistral": {"type": "tool_use", "id": "abcdefghi", "name": "R", "input": {}},
    "gemini": {"functionCall": {"name": "R", "args": {}}},
}


def _objects(value: Any) -> list[dict[str, Any]]:
    inside = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    return [*([value] if isinstance(value, dict) else []), *(one for item in inside for one in _objects(item))]


@settings(max_examples=60)
@pytest.mark.parametrize("source", DIALECTS)
@given(data=st.data())
def test_odd_but_valid_stays_valid(source: str, data: st.DataObject) -> None:
    """The same of what is told oddly, as long as anything is said in it."""
    try:
        conversation = cl.parse(data.draw(odd(source)), dialect=source)
    except cl.WireError:
        return
    speaks = any(message.role not in ("system", "developer") for message in conversation.messages)
    if not speaks or errors(conversation):
        return
    for target in set(DIALECTS) - {source}:
        converted = cl.convert(conversation, dialect=target)

        assert (target, errors(converted.conversation)) == (target, [])


_PDF: Final = "data:application/pdf;base64,JVBERg=="
_MEDIA: Final[dict[str, list[Any]]] = {
    "openai-chat": [
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}},
        {"type": "image_url", "image_url": {"url": "data:image/tiff;base64,iVBORw0KGgo="}},
        {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
        {"type": "input_audio", "input_audio": {"data": "iVBORw0KGgo=", "format": "wav"}},
        {"type": "file", "file": {"file_id": "f1"}},
        {"type": "file", "file": {"file_data": _PDF, "filename": "a.pdf"}},
    ],
    "anthropic": [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}},
        {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}},
        {"type": "image", "source": {"type": "file", "file_id": "f"}},
        {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERg=="}},
        {"type": "document", "source": {"type": "file", "file_id": "f"}},
    ],
}
"""Media, some of which each target cannot hold."""


def _waiting(source: str, media: list[Any]) -> Any:
    """A batch of two calls of which one is answered, with these media of its own behind it."""
    if source == "anthropic":
        asked = [{"type": "tool_use", "id": key, "name": "ls", "input": {}} for key in "ab"]
        answer = {"type": "tool_result", "tool_use_id": "a", "content": "ok"}
        behind: list[Any] = [{"role": "user", "content": [answer, *media]}]
        return [{"role": "user", "content": "hi"}, {"role": "assistant", "content": asked}, *behind]
    asked = [{"id": key, "type": "function", "function": {"name": "ls", "arguments": "{}"}} for key in "ab"]
    behind = [{"role": "tool", "tool_call_id": "a", "content": "ok"}, *({"role": "user", "content": [one]} for one in media)]
    return [{"role": "user", "content": "hi"}, {"role": "assistant", "content": None, "tool_calls": asked}, *behind]


@pytest.mark.parametrize("source", _MEDIA)
def test_media_that_cannot_cross_pass_no_pending_call_over(source: str) -> None:
    """Law L4: what stands for them is nobody's words, and calls that were pending are so in every dialect, there and back."""
    count = 0
    for media in ([one, *others] for one in _MEDIA[source] for others in ([], *([other] for other in _MEDIA[source]))):
        conversation = cl.parse(_waiting(source, media), dialect=source)
        assert errors(conversation) == []
        for target in set(DIALECTS) - {source}:
            there = cl.convert(conversation, dialect=target)
            back = cl.convert(there.conversation, dialect=source)
            read = cl.parse(there.body, dialect=target)  # origins are not on the wire
            assert (target, errors(there.conversation), errors(read), errors(back.conversation)) == (target, [], [], [])
            kept = json.dumps(there.body).count("left out") + sum(
                isinstance(block, Media) for message in read.messages for one in message.blocks for block in _all(one)
            )
            assert kept == len(media)
            count += 1
    assert count == {"openai-chat": 210, "anthropic": 150}[source]


def _all(block: Block) -> tuple[Block, ...]:
    return block.blocks if isinstance(block, Result) else (block,)


def test_instructions_of_a_bare_list_bring_open_declarations_along() -> None:
    """B-TOOLCFG-01: what becomes an object declares what it calls."""
    function = {"name": "R", "arguments": "{}"}
    messages = [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": "c", "content": "r"},
        {"role": "user", "content": "y"},
    ]
    converted = cl.convert(cl.parse(messages, dialect="openai-chat"), dialect="bedrock")

    assert [one["toolSpec"]["name"] for one in converted.body["toolConfig"]["tools"]] == ["R"]
    assert [loss.name for loss in converted.losses] == ["tool"]


@pytest.mark.parametrize("text", ["zz", '{"a":NaN}'])
def test_arguments_that_chat_would_refuse_are_put_into_an_object(text: str) -> None:
    """O-ARGS-01, named."""
    items = [{"role": "user", "content": "x"}, {"type": "function_call", "call_id": "c", "name": "R", "arguments": text}]
    converted = cl.convert(cl.parse(items, dialect="openai-responses"), dialect="openai-chat")

    function = converted.body[1]["tool_calls"][0]["function"]
    assert json.loads(function["arguments"]) == {"unparsed_arguments": text}
    assert [loss.name for loss in converted.losses] == ["arguments"]


def test_calls_and_results_on_the_wrong_side_change_sides() -> None:
    """G-ROLE-02 is a warning; elsewhere it is refused."""
    contents = [
        {"parts": [{"text": "x"}, {"functionCall": {"name": "R", "args": {}}}]},
        {"role": "model", "parts": [{"functionResponse": {"name": "R", "response": {"a": "b"}}}, {"text": "so"}]},
    ]
    converted = cl.convert(cl.parse(contents, dialect="gemini"), dialect="anthropic")

    kinds = [
        (one["role"], [part["type"] for part in one["content"]] if isinstance(one["content"], list) else "words")
        for one in converted.body
    ]
    assert kinds == [("user", "words"), ("assistant", ["text", "tool_use"]), ("user", ["tool_result"])]
    assert {loss.name for loss in converted.losses} >= {"role"}


@pytest.mark.parametrize(
    ("source", "body"),
    [
        ("gemini", {"contents": [], "tools": [{"functionDeclarations": [{"name": "R"}]}, {"functionDeclarations": None}]}),
        ("gemini", {"contents": [], "tools": [{"functionDeclarations": [{"name": "R", "parameters": 7}]}]}),
        ("bedrock", {"messages": [{"role": "user", "content": [{"toolResult": {"toolUseId": "b", "content": [{"type": {}}]}}]}]}),
    ],
)
def test_odd_declarations_and_kinds_raise_nothing(source: str, body: Any) -> None:
    conversation = cl.parse(body, dialect=source)
    cl.legal_cuts(conversation)

    for target in DIALECTS:
        cl.convert(conversation, dialect=target)


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
