"""Where messages stand in a JSON document."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactlib.cli.places import fault_line, message_lines
from compactlib.dialects.reading import loads
from compactlib.errors import WireError

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


fields = st.dictionaries(st.sampled_from(["model", "tools", "a\nb"]), values)
broken = ("", " ", "{", "[", '{"messages"', '{"messages": [', '{"messages": [1, }', "nul", '"text"', "{}", "1", "[,]")


@given(messages=st.lists(values, max_size=5), around=fields, wrapped=st.booleans())
def test_lines_are_those_of_the_text(messages: list[Any], around: dict[str, Any], wrapped: bool) -> None:
    """In a pretty-printed body each message is found on the line where the printer began it."""
    body: dict[str, Any] = {**around, "messages": messages}
    document = json.dumps({"status": 200, "body": body} if wrapped else body, indent=2)
    rows = document.split("\n")
    found = message_lines(document)

    assert len(found) == len(messages)
    for line, message in zip(found, messages, strict=True):
        assert rows[line - 1].strip().startswith(json.dumps(message, indent=2).split("\n")[0].rstrip(","))


@pytest.mark.parametrize("document", broken)
def test_what_is_no_document_has_no_lines(document: str) -> None:
    """Nothing is raised; nothing is known."""
    assert message_lines(document) in ((), (1,))


def test_list_is_a_document() -> None:
    """A bare list of messages, and messages that share a line."""
    assert message_lines('[{"a": 1}, {"b": 2},\n\n{"c": "]"}]') == (1, 1, 3)


@given(st.text())
def test_any_text_is_survived(text: str) -> None:
    """Whatever it is, the answer is a tuple of lines that the text has."""
    assert all(1 <= line <= text.count("\n") + 1 for line in message_lines(text))


@pytest.mark.parametrize(
    ("document", "line"),
    [
        ('{"a": 1,\n"b": {"a": 2},\n"a": 3}', 3),
        ('{"a": 1,\n"\\u0061": 3}', 2),
        ('{"out": 1, "in": [\n{"a": ":\\"{", "b": [1, 2],\n"a": 3}], "out": 2}', 3),
        ('{"a": ["NaN is not",\nNaN]}', 2),
        ("[1,\n\n-Infinity]", 3),
        ("[\n" + "1" * 5000 + "]", 2),
        ("\n" + "[" * 300 + "]" * 300, 2),
    ],
)
def test_line_of_what_is_refused_without_a_place(document: str, line: int) -> None:
    """A key that occurs twice (the second), what is no number, what is too long or too deep."""
    with pytest.raises(WireError) as caught:
        loads(document)

    assert fault_line(document, caught.value.problem) == line


@given(
    st.text(alphabet='[]{}",:\\aN\n', max_size=40), st.sampled_from(["NaN is not a JSON number", "the key 'a' occurs twice", "x"])
)
def test_line_of_a_fault_is_one_of_the_text(document: str, problem: str) -> None:
    """In whatever is given; nothing is raised."""
    line = fault_line(document, problem)

    assert line is None or 1 <= line <= document.count("\n") + 1
