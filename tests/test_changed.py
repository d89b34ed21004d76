"""The one list of changed files: derived from calls, bounded, and carried on."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import compactlib as cl
from compactlib.model import Call, Message, wire
from compactlib.outcomes import Compacted
from compactlib.summaries.changed import LIMIT_CHARS, changed_files, read_changed, write_changed

from .words import MAKERS


def model(*calls: tuple[str, str]) -> Message:
    return Message("model", tuple(Call("c", name, {"path": path}, wire("tool_use")) for name, path in calls), wire("assistant"))


def test_only_what_was_written_is_listed_newest_first() -> None:
    messages = [model(("edit", "a.py"), ("read", "b.py")), model(("write_file", "c.py")), model(("edit", "a.py"))]

    assert changed_files(messages) == ("a.py", "c.py")


def test_a_patch_names_all_its_files() -> None:
    patch = "*** Begin Patch\n*** Update File: src/a.py\n@@\n*** Add File: src/b.py\n*** End Patch"
    call = Call("c", "apply_patch", {"input": patch}, wire("function"))

    assert set(changed_files([Message("model", (call,), wire("assistant"))])) == {"src/a.py", "src/b.py"}


@given(st.lists(st.text(min_size=1, max_size=120), max_size=60), st.integers(0, 5))
def test_the_list_is_bounded_one_line_a_file_and_reads_back(files: list[str], more: int) -> None:
    """Whatever the paths hold (law L25)."""
    text = write_changed(files, more=more)
    if not files:
        assert text == ""
        return
    assert len(text) <= LIMIT_CHARS
    read = read_changed(text)
    assert read is not None
    shown, left = read
    assert len(shown) + left - more <= len(set(files))
    assert write_changed(shown, more=left) == text


def test_another_text_is_no_list() -> None:
    assert read_changed("a.py\nb.py") is None
    assert read_changed("[compactlib changed files v1: 3]\na.py") is None
    assert read_changed("[compactlib changed files v1: 0]") is None


@pytest.mark.parametrize("dialect", list(MAKERS))
def test_one_list_is_carried_over_every_compaction(dialect: str) -> None:
    """Law L23: in every dialect one reminder, with the files of all compactions so far, and none in the summary."""
    maker = MAKERS[dialect]
    conversation = cl.parse([], dialect=dialect)
    policy = cl.Policy(window_tokens=16_000)
    for age in range(3):
        messages = cl.render(conversation)
        for number in range(12):
            key = f"c{age}{number:07}"
            calls = maker.calls([key])
            text = json.dumps(calls).replace('"name": "read"', '"name": "edit_file"').replace("a.txt", f"src/{age}/{number}.py")
            told = json.loads(text)
            messages += [maker.words("user", f"go on {'please ' * 200}"), *(told if isinstance(told, list) else [told])]
            messages += [maker.result(key, f"written {'indeed ' * 300}", ""), maker.words("assistant", "done")]
        outcome = cl.compact(cl.parse(messages, dialect=dialect), policy, when="now")
        assert isinstance(outcome, Compacted), outcome.reason
        conversation = outcome.conversation
        lists = [found for message in conversation.messages if (found := read_changed(message.text)) is not None]
        assert len(lists) == 1
        [(files, more)] = lists
        assert len(files) + more == 12 * (age + 1)
        assert files[0] == f"src/{age}/11.py"
        assert "compactlib changed files" not in outcome.summary


def test_it_can_be_switched_off() -> None:
    maker = MAKERS["anthropic"]
    messages = []
    for number in range(30):
        call = maker.calls([f"c{number}"])
        assert isinstance(call, dict)
        call["content"][0]["name"] = "edit_file"
        messages += [
            maker.words("user", "go on " * 200),
            call,
            maker.result(f"c{number}", "ok", ""),
            maker.words("assistant", "done"),
        ]
    policy = cl.Policy(window_tokens=16_000, list_changed_files=False)
    outcome = cl.compact(cl.parse(messages, dialect="anthropic"), policy, when="now")

    assert isinstance(outcome, Compacted)
    assert all(read_changed(message.text) is None for message in outcome.conversation.messages)
