"""The head of a compacted conversation: written, and told from a person's words again."""

from __future__ import annotations

from itertools import cycle
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

import compactlib as cl
from compactlib.model import Origin, Text
from compactlib.protocol.profiles import PROFILES
from compactlib.summaries.head import Earlier, Layout, read_earlier, read_summary, user_message, write_earlier, write_summary

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
    kinds: cycle[Literal["prompt", "digest"]] = cycle(("prompt", "digest"))
    entries = tuple(Earlier(text, kind) for text, kind in zip(prompts, kinds, strict=False))
    assert read_earlier(write_earlier(entries)) == entries


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


TEXTS = st.text(alphabet="ab \n[é", max_size=12)


@given(
    st.lists(TEXTS, max_size=3),
    st.lists(TEXTS, max_size=2),
    st.lists(TEXTS, max_size=2),
    st.none() | TEXTS,
    st.none() | TEXTS,
    st.booleans(),
)
def test_a_head_that_is_one_text_is_taken_apart_again(
    pins: list[str], earlier: list[str], reminders: list[str], before: str | None, prompt: str | None, told: bool
) -> None:
    """By the lengths that the summary states, whatever the parts hold; without them by its own length; and written as it was."""
    lengths = tuple(map(len, (*pins, *earlier, *reminders))) if told else ()
    summary = write_summary("## Goal\nx\n", Layout(len(pins), len(earlier), len(reminders), joined_chars=lengths))
    parts = [*([] if before is None else [before]), *pins, summary, *earlier, *reminders, *([] if prompt is None else [prompt])]
    body = [{"role": "user", "content": "\n\n".join(parts)}, {"role": "assistant", "content": "ok"}]
    for dialect in ("openai-chat", "mistral", "anthropic", "openai-responses"):
        back = cl.parse(body, dialect=dialect)
        found = {
            origin: [block.text for message in back.messages if message.origin is origin for block in message.blocks]  # type: ignore[union-attr]  # texts
            for origin in (Origin.PIN, Origin.SUMMARY, Origin.REMINDER)
        }

        assert cl.render(back) == body
        assert found[Origin.SUMMARY][0] == summary
        if lengths:
            assert found == {Origin.PIN: pins, Origin.SUMMARY: [summary, *earlier], Origin.REMINDER: reminders}
            assert [message.text for message in back.messages if message.origin is None][:-1] == (
                [] if prompt is None else [prompt]
            )


def test_a_joined_head_that_somebody_changed_loses_nothing() -> None:
    """The summary is still found; what stands around it is words, as any others."""
    summary = write_summary("## Goal\nx\n", Layout(1, 0, 1, joined_chars=(3, 4)))
    body = [{"role": "user", "content": f"pin and more\n\n{summary}\n\nlive\n\nprompt"}]
    back = cl.parse(body, dialect="openai-chat")

    assert cl.render(back) == body
    assert [(message.origin, message.text) for message in back.messages] == [
        (Origin.HARNESS, "pin and more"),
        (Origin.SUMMARY, summary),
        (None, "live\n\nprompt"),
    ]


def test_looking_for_a_summary_costs_what_the_text_is_long() -> None:
    """A text of nothing but beginnings is looked at in a few places only."""
    start = "\n\n[compactlib summary v1 chars=999999 sha256=0123456789abcdef]\n"
    body = [{"role": "user", "content": start * 20_000}]

    assert cl.parse(body, dialect="openai-chat").messages[0].origin is None
