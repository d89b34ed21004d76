"""The entrance: what is too large is cut and stored, and a batch has one limit."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import compactlib as cl
from compactlib.admission import admit
from compactlib.errors import StoreError
from compactlib.markers import read_marker
from compactlib.model import Call, Media, Message, Result, Text, wire
from compactlib.options import Admission, Limit
from compactlib.store import MemoryStore, fetch

LINE = "a line of a log that says nothing of note\n"


def results(*contents: Any) -> Message:
    blocks = tuple(Result(f"c{number}", content, wire("tool_result")) for number, content in enumerate(contents))
    return Message("user", blocks, wire("user"))


def calls(*names: str) -> list[Call]:
    return [Call(f"c{number}", name, {"path": f"logs/{name}.log"}, wire("tool_use")) for number, name in enumerate(names)]


def policy(**options: Any) -> cl.Policy:
    return cl.Policy(window_tokens=64_000, counter=len, admission=Admission(**options))


def test_what_fits_is_the_same_object() -> None:
    message = results(LINE, "short")
    made = admit(message, policy(batch_tokens=1_000), MemoryStore())

    assert made.message is message
    assert (made.shortened, made.issued, made.used_tokens) == ((), {}, len(LINE) + 5)


def test_a_message_without_results_is_never_touched() -> None:
    message = Message("user", LINE * 10_000, wire("user"))

    assert admit(message, policy(batch_tokens=200), MemoryStore()).message is message


@given(st.lists(st.integers(0, 3_000), min_size=1, max_size=8), st.integers(0, 2_000))
def test_a_batch_stays_within_its_limit_and_small_results_stay_whole(sizes: list[int], used: int) -> None:
    """As far as the least excerpt of each lets it; what is cut comes back byte for byte (laws L10, L11)."""
    texts = [("x" * 60 + "\n") * (size // 61) for size in sizes]
    message, store = results(*texts), MemoryStore()
    made = admit(message, policy(batch_tokens=4_000), store, used_tokens=used)

    limit = max(4_000 - used, 256)
    shown = [result.text for result in made.message.results]
    assert made.used_tokens == used + sum(map(len, shown))
    assert sum(map(len, shown)) <= max(limit, 256 * len(texts))
    cut = {one.call_id: one for one in made.shortened}
    for result, text in zip(made.message.results, texts, strict=True):
        if result.call_id not in cut:
            assert result.text == text
            continue
        one = cut[result.call_id]
        assert fetch(store, one.ref).decode() == text
        marker = read_marker(result.text, issued=made.issued)
        assert marker is not None
        assert marker.omitted_chars == one.omitted_chars
        assert all(len(other) <= len(result.text) + 256 for other in shown if other not in texts) or len(text) > limit // len(
            texts
        )


def test_each_tool_has_its_own_limit_and_a_report_has_two_thousand_tokens() -> None:
    options = {"tools": {"bash": Limit(limit_lines=10, keep="tail")}, "batch_tokens": 100_000}
    message = results(LINE * 300, LINE * 300, LINE * 300)
    made = admit(message, policy(**options), MemoryStore(), calls=calls("bash", "Task", "read"))
    bash, report, read = (result.text for result in made.message.results)

    assert bash.endswith(LINE * 9)
    assert bash.count("\n") <= 10
    assert len(report) <= 2_000
    assert read == LINE * 300
    assert [one.tool for one in made.shortened] == ["bash", "Task"]


def test_media_stay_beside_a_text_that_is_cut() -> None:
    picture = Media("image", "image/png", "iVBORw0KGgo=", None, {"type": "base64"}, wire("image"))
    message = results((Text(LINE * 200), picture))
    made = admit(message, policy(batch_tokens=500), MemoryStore())
    text, media = made.message.results[0].blocks

    assert media is picture
    assert isinstance(text, Text)
    assert len(text.text) <= 500


def test_a_store_that_fails_lets_nothing_be_cut() -> None:
    class Failing(MemoryStore):
        def put(self, data: bytes, name: str = "") -> str:
            raise StoreError("disk full")

    with pytest.raises(StoreError, match="disk full"):
        admit(results(LINE * 200), policy(batch_tokens=500), Failing())


def test_the_next_message_of_a_batch_gets_what_is_left() -> None:
    """Where each result is a message of its own."""
    first = admit(results(LINE * 200), policy(batch_tokens=3_000), MemoryStore())
    second = admit(results(LINE * 200), policy(batch_tokens=3_000), MemoryStore(), used_tokens=first.used_tokens)

    assert first.used_tokens <= 3_000
    assert second.used_tokens - first.used_tokens <= 256 + 3_000 - first.used_tokens
