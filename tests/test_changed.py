"""The one list of changed files: derived from calls, bounded, and carried on."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from compactlib.model import Call, Message, wire
from compactlib.summaries.changed import LIMIT_CHARS, changed_files, read_changed, write_changed


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
