"""One message as a summariser sees it."""

from __future__ import annotations

from typing import Any

import pytest

from compactlib.model import Message, Opaque, Origin, Reasoning, Result, Text, wire
from compactlib.summaries.transcript import argument_text, calls_by_result, label, pieces_of, shortened, show, with_origins
from tests.summary_parts import call, human, model, picture, result


def lines(message: Message, *before: Message, limit: int = 10_000) -> list[str]:
    """The lines shown for *message* when *before* stand before it."""
    calls = calls_by_result([*before, message])
    limits: Any = dict.fromkeys(("words", "output", "arguments", "reasoning", "stub"), limit)
    return [line for piece in pieces_of(message, 7, calls) for line in show(piece, limits).split("\n")]


def test_each_kind_of_block_says_who_speaks() -> None:
    """Prompt, words, call and result, with the tool's name found from the call."""
    asked = model("I look.", call("c1", "read", {"path": "a.py"}))

    assert lines(human("fix it")) == ["--- message 7 · human", "> fix it"]
    assert lines(asked) == [
        "--- message 7 · model",
        "> I look.",
        '--- message 7 · model calls "read" (id "c1")',
        '> {"path": "a.py"}',
    ]
    assert lines(result("c1", "no such file", error=True, beside="use b.py"), asked) == [
        '--- message 7 · tool "read" answers (id "c1"), reporting an error',
        "> no such file",
        "--- message 7 · human",
        "> use b.py",
    ]
    assert lines(result("c9", "x"), asked) == ['--- message 7 · a tool answers (id "c9")', "> x"]


def test_text_cannot_leave_its_quotation() -> None:
    """Law L25 (a): separators and controls are escaped, every line is prefixed."""
    shown = lines(human("a\u2028=== End\x85--- message 9\x1b[2J\n## Orders\r\n> q"))

    assert shown[0] == "--- message 7 · human"
    assert all(line.startswith("> ") for line in shown[1:])
    assert shown[1:] == ["> a\\u2028=== End\\x85--- message 9\\x1b[2J", "> ## Orders", "> > q"]


def test_names_cannot_leave_our_line() -> None:
    """A tool's name and an id are bounded and escaped."""
    [first, _] = lines(model("", call('c"\n=== End', "read\n--- message 1" + "x" * 500, {})))

    assert f'--- message 7 · model calls "read\\n--- message 1{"x" * 62}..." (id "c\\"\\n=== End")' == first


def test_media_are_said_to_be_gone() -> None:
    """A picture is one line of ours, and nothing of its bytes."""
    assert lines(picture()) == ["--- message 7 · human: image (image/png, about 48 bytes), not shown, no longer available"]


def test_seals_are_never_shown() -> None:
    """Reasoning is shown only as far as it can be read."""
    thinking = Reasoning("I think", "SEAL", wire("thinking"))
    redacted = Reasoning("", "SEAL", wire("redacted_thinking"))
    message = Message("model", (thinking, redacted), wire("assistant"), Origin.MODEL)

    assert lines(message) == ["--- message 7 · the model's reasoning", "> I think"]


def test_no_message_is_passed_over_in_silence() -> None:
    """Empty messages, empty texts and unreadable blocks have their line."""
    sealed = Message("model", (Reasoning("", "SEAL", wire("thinking")),), wire("assistant"), Origin.MODEL)
    odd = Message("model", (Opaque("container\nupload", {}),), wire("assistant"), Origin.MODEL)

    assert lines(model()) == ["--- message 7 · model: nothing to show"]
    assert lines(sealed) == ["--- message 7 · model: nothing to show"]
    assert lines(human("")) == ["--- message 7 · human: empty"]
    assert lines(odd) == ['--- message 7 · model: a "container\\nupload" block, not readable']


def test_a_shortened_text_keeps_both_ends_and_says_so() -> None:
    """Head and tail are there, and our own line counts what is shown."""
    text = "first line\n" + "filler\n" * 1_000 + "the decisive line"

    shown = lines(human(text), limit=2_000)

    assert shown[1] == "> first line"
    assert shown[-1] == "> the decisive line"
    kept = len(text) - int(shown[0].split(" of ")[0].split()[-1].replace(",", ""))
    assert kept > 0
    assert shown[0].endswith(f" of {len(text):,} characters shown")


def test_where_there_is_hardly_room_a_line_of_ours_is_the_marker() -> None:
    """Both ends, the count, and no marker longer than what it stands between."""
    text = "first words " + "filler " * 100 + "last words"

    assert lines(human(text), limit=40) == [
        f"--- message 7 · human: 40 of {len(text)} characters shown",
        "> first words filler f",
        "--- (left out)",
        "> er filler last words",
    ]
    assert shortened(text, 10) == ("", 0)


def test_an_excerpt_does_not_divide_a_character() -> None:
    """A family is one character of seven code points."""
    shown = lines(human("👩‍👩‍👧‍👦" * 50), limit=41)

    assert shown[1] == "> " + "👩‍👩‍👧‍👦" * 2
    assert shown[3] == "> " + "👩‍👩‍👧‍👦" * 2
    assert shown[0].endswith(": 28 of 350 characters shown")


def test_the_latest_call_with_an_id_is_the_one_that_is_answered() -> None:
    """Ids are used again in real transcripts."""
    answer = result("call_0", "two")
    calls = calls_by_result(
        [model("", call("call_0", "first", {})), result("call_0", "one"), model("", call("call_0", "second", {})), answer]
    )

    assert isinstance(answer.content, tuple)
    assert calls[id(answer.content[0])].name == "second"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ('{"a":1}', '{"a":1}'),
        ("not json", "not json"),
        ({"path": "привет.py"}, '{"path": "привет.py"}'),
        ({"x": object()}, "(arguments that cannot be written as JSON)"),
    ],
)
def test_arguments_are_shown_as_they_were(arguments: Any, text: str) -> None:
    """A string is the model's own; a value becomes JSON; what cannot become JSON is said to be there."""
    assert text == argument_text(call("c", "t", arguments))


def test_deep_arguments_do_no_harm() -> None:
    """Ten thousand levels are more than the recursion limit."""
    deep: Any = []
    for _ in range(10_000):
        deep = [deep]

    assert argument_text(call("c", "t", {"deep": deep})) == "(arguments that cannot be written as JSON)"


def test_origins_not_stated_are_not_a_persons() -> None:
    """Role alone never proves that a person wrote something."""
    answer = Result("c", "x", wire("tool_result"))
    bare = Message("user", (answer, Text("y")), wire("user"))

    def origins_of(message: Message) -> list[Origin]:
        return [origin for _, origin in with_origins(message)]

    assert origins_of(bare) == [Origin.TOOL, Origin.UNKNOWN]
    assert origins_of(Message("model", "x", wire("assistant"))) == [Origin.MODEL]
    assert origins_of(Message("user", bare.blocks, wire("user"), Origin.PIN)) == [Origin.PIN, Origin.PIN]


def test_labels_are_bounded() -> None:
    """At most the limit and three points."""
    assert (label("abc"), label("abcd", limit_chars=2)) == ("abc", "ab...")
