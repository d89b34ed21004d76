"""What tools gave, in pieces, and pictures that a client sent behind a result."""

from __future__ import annotations

import json
from typing import Any

import pytest

import compactlib as cl
from compactlib.clearing import clear
from compactlib.model import Origin, Text
from compactlib.options import Clearing
from compactlib.outputs import answered, attachments, pieces_of
from compactlib.recognition import is_marker
from compactlib.store import MemoryStore, fetch
from compactlib.stubs import Stub, read_stub, write_stub
from compactlib.tokens import Memo
from compactlib.turns import Kind, divide

PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "iVBORw0KGgo" * 400}}
MARKER = {"type": "text", "text": "Attached image(s) from tool result:"}


def chat(*, marker: bool = True, bridge: bool = False, more: int = 0) -> cl.Conversation:
    """A screenshot that stands behind its result, and two more steps."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Look at it."}]
    for number in range(3):
        function = {"name": "screenshot", "arguments": json.dumps({"path": f"{number}.png"})}
        messages.append(
            {"role": "assistant", "content": None, "tool_calls": [{"id": f"c{number}", "type": "function", "function": function}]}
        )
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": "(see attached image)"})
        if number == 0:
            if bridge:
                messages.append({"role": "assistant", "content": "Understood."})
            messages += [{"role": "user", "content": [*([MARKER] if marker else []), PICTURE]}] * (1 + more)
    return cl.parse([*messages, {"role": "assistant", "content": "It is blue."}], dialect="openai-chat")


def attached(subject: cl.Conversation) -> dict[int, list[int]]:
    return dict(attachments(subject.messages, divide(subject).kinds, list(answered(subject.messages))))


def cleared(subject: cl.Conversation, store: MemoryStore, **options: Any) -> Any:
    memo = Memo()
    return clear(
        subject,
        divide(subject),
        memo,
        store,
        options=Clearing(keep=0, **options),
        before_tokens=memo.request(subject),
        target_tokens=0,
        tail_tokens=0,
        least_gain_tokens=0,
        issued={},
    )


@pytest.mark.parametrize("bridge", [False, True])
def test_an_attachment_belongs_to_the_last_result_before_it(bridge: bool) -> None:
    """A client's bridge may stand between, and there may be one message for each picture."""
    assert attached(chat(bridge=bridge)) == {0: [3 + bridge]}
    assert attached(chat(more=1)) == {0: [3, 4]}
    answer = next(answered(chat().messages))
    (words, picture) = pieces_of(answer, chat().messages, [3], {})

    assert (words.spot, words.what, words.text) == ((2, 0), "result", "(see attached image)")
    assert (picture.spot, picture.what, picture.text) == ((3, 1), "image", None)


@pytest.mark.parametrize("marker", [False, True])
@pytest.mark.parametrize("bridge", [False, True])
def test_its_picture_is_cleared_in_its_place_and_the_steps_stay(marker: bool, bridge: bool) -> None:
    """Also when the result is read from the wire again, where nobody tells what the message is."""
    subject, store = chat(marker=marker, bridge=bridge), MemoryStore()
    made = cleared(subject, store)
    at = 3 + bridge
    message = made.conversation.messages[at]

    assert [(unit.position, unit.what, unit.tool, unit.why) for unit in made.units] == [(at, "image", "screenshot", "media")]
    assert message.origin is Origin.ATTACHMENT
    assert [type(block) for block in message.blocks] == [Text] * (1 + marker)
    stub = read_stub(message.blocks[-1].text, issued=made.issued)
    assert stub is not None
    assert (stub.what, stub.source) == ("image", "0.png")
    assert json.loads(fetch(store, stub.ref)) == subject.messages[at].blocks[-1].source  # type: ignore[union-attr]  # it is the picture
    for one in (made.conversation, cl.parse(cl.render(made.conversation), dialect="openai-chat")):
        assert divide(one).steps == divide(subject).steps
        assert divide(one).kinds[at] is Kind.ATTACHMENT
        assert cl.check(one) == cl.check(subject)


@pytest.mark.parametrize("options", [{"exclude_tools": {"screenshot"}}, {"keep": 3}])
def test_it_stays_where_its_result_would(options: dict[str, Any]) -> None:
    """The tool is excluded, or the result is one of the newest."""
    memo, subject = Memo(), chat()
    made = clear(
        subject,
        divide(subject),
        memo,
        MemoryStore(),
        options=Clearing(**{"keep": 0, **options}),
        before_tokens=memo.request(subject),
        target_tokens=0,
        tail_tokens=0,
        least_gain_tokens=0,
        issued={},
    )

    assert made is None


def test_a_picture_that_may_be_a_persons_last_words_stays() -> None:
    """Law L8."""
    messages: Any = cl.render(chat(marker=False))
    subject = cl.parse([*messages[:4], {"role": "assistant", "content": "It is blue."}], dialect="openai-chat")
    assert divide(subject).kinds[3] is Kind.ATTACHMENT
    assert cl.parse(messages[:4], dialect="openai-chat").messages[3] == subject.messages[3]

    made = cleared(subject, MemoryStore())
    assert (made is None) == (divide(subject).last_person == 3)


def test_what_stands_for_a_picture_is_a_marker_and_what_stands_for_a_text_is_none() -> None:
    """It begins no turn; a person's word beside it does."""
    image = write_stub(Stub("image", "screenshot", "5f" * 32, 9, 0))

    assert is_marker(image)
    assert not is_marker(write_stub(Stub("result", "screenshot", "5f" * 32, 9, 0)))
    assert not is_marker(f"{image}\nplease")
    assert not is_marker(f"{image} please")
