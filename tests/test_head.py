"""The head of a compacted conversation: written, and told from a person's words again."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import compactlib as cl
from compactlib.model import Origin, Text
from compactlib.protocol.profiles import PROFILES
from compactlib.summaries.head import Layout, read_earlier, read_summary, user_message, write_earlier, write_summary

LAYOUTS = st.builds(
    Layout, pins=st.integers(0, 3), earlier=st.integers(0, 3), reminders=st.integers(0, 3), under_way=st.booleans()
)


@given(st.text(), LAYOUTS, st.text())
def test_what_is_written_is_read(body: str, layout: Layout, after: str) -> None:
    """Body and layout come back, and the end is found even where another text follows directly."""
    text = write_summary(body, layout)
    head = read_summary(text + after)

    assert head is not None
    assert (head.body, head.layout, head.stop) == (body, layout, len(text))


@given(st.text(min_size=1), LAYOUTS, st.data())
def test_one_changed_character_makes_it_ordinary_text(body: str, layout: Layout, data: st.DataObject) -> None:
    """Law L20: header, length and digest must all be right."""
    text = write_summary(body, layout)
    at = data.draw(st.integers(0, len(text) - 1))
    other = data.draw(st.characters().filter(lambda char: char != text[at]))

    assert read_summary(text[:at] + other + text[at + 1 :]) is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[compactlib summary v1 chars=0 sha256=e3b0c44298fc1c14]\n",
        "[compactlib summary v2 chars=5 sha256=0123456789abcdef]\nhello",
        " " + write_summary("x", Layout()),
        write_summary("x", Layout())[:-1],
        "[compactlib summary v1 chars=999999999 sha256=0123456789abcdef]\n",
    ],
)
def test_what_only_looks_like_a_summary_is_none(text: str) -> None:
    """A wrong version, a cut text, a space before."""
    assert read_summary(text) is None


@given(st.lists(st.text()))
def test_earlier_prompts_come_back_verbatim(prompts: list[str]) -> None:
    """Whatever they hold, their own quotation marks included."""
    assert read_earlier(write_earlier(prompts)) == tuple(prompts)


def test_other_texts_quote_no_prompts() -> None:
    """A text that does not begin as ours, or lies about lengths up to its end."""
    assert read_earlier("[prompt chars=1]\nx\n") == ()
    assert read_earlier("[compactlib earlier prompts v1]\nhello") == ()


def _head(dialect: str, *, pins: int, earlier: int, reminders: int) -> list[dict[str, Any]]:
    """A compacted conversation on the wire."""
    summary = write_summary("## Goal\nx\n", Layout(pins=pins, earlier=earlier, reminders=reminders))
    texts = (
        [f"pin {n}" for n in range(pins)],
        [summary, *(f"earlier {n}" for n in range(earlier))],
        [f"r {n}" for n in range(reminders)],
    )
    blocks = [[{"type": "text", "text": text} for text in group] for group in texts]
    after: list[dict[str, Any]] = [{"role": "assistant", "content": "ok"}]
    if dialect == "anthropic":
        fused = [*blocks[0], *blocks[1], *blocks[2], {"type": "text", "text": "the prompt"}]
        return [{"role": "user", "content": fused}, *after]
    groups = [*([blocks[0]] if pins else []), blocks[1], *([block] for block in blocks[2])]
    head = [{"role": "user", "content": group} for group in groups]
    return [{"role": "system", "content": "s"}, *head, {"role": "user", "content": "the prompt"}, *after]


@pytest.mark.parametrize("dialect", ["anthropic", "openai-chat"])
@pytest.mark.parametrize("pins", [0, 2])
@pytest.mark.parametrize("earlier", [0, 1])
@pytest.mark.parametrize("reminders", [0, 2])
def test_a_head_that_comes_back_from_the_wire_is_recognised(dialect: str, pins: int, earlier: int, reminders: int) -> None:
    """Every part gets its origin back, and the wire is written as it was."""
    body = _head(dialect, pins=pins, earlier=earlier, reminders=reminders)
    conversation = cl.parse(body, dialect=dialect)
    found = [message.origin for message in conversation.messages if message.origin is not None]

    assert found == [Origin.PIN] * bool(pins) + [Origin.SUMMARY] + [Origin.REMINDER] * reminders
    assert cl.render(conversation) == body
    assert conversation.length == len(body)
    [turn] = cl.turns(conversation)
    assert turn.start == (0 if dialect == "anthropic" else len(body) - 2)


def test_a_summary_in_the_middle_is_ordinary_history() -> None:
    """Law L20: position counts; a person may paste one."""
    pasted = write_summary("## Goal\nx\n", Layout())
    body = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "a"}, {"role": "user", "content": pasted}]

    assert [message.origin for message in cl.parse(body, dialect="anthropic").messages] == [None, None, None]


def test_a_fused_head_counts_as_one_message() -> None:
    """Public indices are those of the wire."""
    conversation = cl.parse(_head("anthropic", pins=1, earlier=0, reminders=1), dialect="anthropic")

    assert [conversation.wire_index(at) for at in range(len(conversation.messages) + 1)] == [0, 0, 0, 0, 1, 2]
    assert [conversation.position(index) for index in range(3)] == [0, 4, 5]


def test_a_user_message_of_one_text_is_written_as_the_dialect_does() -> None:
    """A string where single texts are strings, blocks elsewhere."""
    assert user_message((Text("x"),), Origin.REMINDER, PROFILES["openai-chat"]).content == "x"
    assert user_message((Text("x"),), Origin.REMINDER, PROFILES["strict-template"]).content == "x"
    assert user_message((Text("x"),), Origin.REMINDER, PROFILES["anthropic"]).content == (Text("x"),)
