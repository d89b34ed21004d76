"""Clearing: what may go, in which order, and that all of it comes back."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

import compactlib as cl
from compactlib.clearing import Cleared, clear, protected_from
from compactlib.errors import StoreError
from compactlib.model import Block, Conversation, Media, Message, Reasoning, Result, Text
from compactlib.options import Clearing
from compactlib.outputs import answered
from compactlib.store import MemoryStore, fetch
from compactlib.stubs import NOTES, read_stub
from compactlib.tokens import Memo
from compactlib.turns import Kind, divide

from .scenarios import LARGE, scenario

LOG = "line of a long log, number 7, all is well\n" * 40
OTHER = "another line of another log, nothing to see\n" * 40


def call(key: str, name: str = "read", **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": key, "name": name, "input": arguments or {"path": f"{key}.txt"}}


def result(key: str, content: Any = LOG, **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": key, "content": content, **more}


def conversation(*steps: tuple[dict[str, Any], dict[str, Any]], prompt_before_last: bool = False) -> Conversation:
    """A prompt, then each call and its result, then the model's last word."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "go"}]
    for number, (one, answer) in enumerate(steps):
        if prompt_before_last and number == len(steps) - 1:
            messages += [{"role": "assistant", "content": "so far"}, {"role": "user", "content": "go on"}]
        messages += [{"role": "assistant", "content": [one]}, {"role": "user", "content": [answer]}]
    return cl.parse([*messages, {"role": "assistant", "content": "done"}], dialect="anthropic")


def cleared(
    subject: Conversation, *, target_tokens: int = 0, tail_tokens: int = 0, store: Any = None, keep: int = 0, **options: Any
) -> Cleared | None:
    memo = Memo()
    return clear(
        subject,
        divide(subject),
        memo,
        MemoryStore() if store is None else store,
        options=Clearing(keep=keep, **options),
        before_tokens=memo.request(subject),
        target_tokens=target_tokens,
        tail_tokens=tail_tokens,
        least_gain_tokens=0,
        issued={},
    )


def done(subject: Conversation, **options: Any) -> Cleared:
    made = cleared(subject, **options)
    assert made is not None
    return made


def gone(made: Cleared) -> list[tuple[str, str]]:
    """(what was cleared, why) in order of position: the source that the stub names."""
    found = []
    for answer in answered(made.conversation.messages):
        for block in answer.result.blocks:
            stub = read_stub(block.text, issued=made.issued) if isinstance(block, Text) else None
            if stub is not None:
                unit = next(unit for unit in made.units if unit.position == answer.position and unit.ref == stub.ref)
                found.append((stub.source, unit.why))
    return found


# -- which and in which order ------------------------------------------------------------------------------------------


def test_the_oldest_goes_first_and_only_until_the_target() -> None:
    subject = conversation(*((call(key), result(key, LOG + key)) for key in "abcd"))
    size = Memo().request(subject)

    assert gone(done(subject, target_tokens=size - 100)) == [("a.txt", "oldest")]
    assert gone(done(subject)) == [(f"{key}.txt", "oldest") for key in "abcd"]


def test_a_duplicate_goes_before_what_is_older_and_its_stub_names_the_copy() -> None:
    subject = conversation(
        (call("a"), result("a", OTHER)), (call("b"), result("b")), (call("c"), result("c", OTHER + "x")), (call("d"), result("d"))
    )
    made = done(subject, target_tokens=Memo().request(subject) - 100, keep=1)

    assert gone(made) == [("b.txt", "duplicate")]
    stub = read_stub(list(answered(made.conversation.messages))[1].result.text, issued=made.issued)
    assert stub is not None
    assert stub.note == NOTES[0]


@pytest.mark.parametrize(
    ("later", "note"),
    [
        (call("z", path="b.txt"), NOTES[1]),
        (call("z", "edit", path="b.txt", text="x"), NOTES[2]),
        (call("z", "grep", path="b.txt"), None),
        (call("z", path="c.txt"), None),
    ],
)
def test_what_was_asked_again_or_written_since_goes_before_what_is_older(later: dict[str, Any], note: str | None) -> None:
    subject = conversation(
        (call("a"), result("a", OTHER)),
        (call("b", path="b.txt"), result("b")),
        (later, result("z", "a few words")),
        (call("y"), result("y", "ok")),
    )
    made = done(subject, target_tokens=Memo().request(subject) - 100)

    assert gone(made) == [("a.txt", "oldest") if note is None else ("b.txt", "superseded")]


def test_a_part_read_again_whole_is_superseded_and_the_whole_by_a_part_is_not() -> None:
    part, whole = call("a", path="f", offset=10), call("b", path="f")
    again = conversation((part, result("a")), (whole, result("b", OTHER)), (call("c"), result("c", "ok")))
    cut = conversation((whole, result("b", OTHER)), (part, result("a")), (call("c"), result("c", "ok")))

    assert gone(done(again, keep=1)) == [("f", "superseded"), ("f", "oldest")]
    assert gone(done(cut, keep=1)) == [("f", "oldest"), ("f", "oldest")]


def test_what_failed_is_small_is_excluded_or_is_new_stays() -> None:
    subject = conversation(
        (call("a"), result("a", "Traceback (most recent call last):\n" + LOG)),
        (call("b"), result("b", LOG, is_error=True)),
        (call("c"), result("c", "short")),
        (call("d", "notes"), result("d", OTHER)),
        (call("e"), result("e", LOG + "e")),
        (call("f"), result("f", LOG + "f")),
    )

    assert gone(done(subject, keep=1, exclude_tools={"notes"})) == [("e.txt", "oldest")]


def test_what_no_model_message_has_seen_stays() -> None:
    """Nor does the newest batch go when nothing else is left to clear."""
    messages = [*cl.render(conversation((call("a"), result("a"))))[:-1]]
    fresh = cl.parse(messages, dialect="anthropic")

    assert cleared(fresh) is None


def test_a_picture_goes_alone_and_its_text_stays() -> None:
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo" + "A" * 400}}
    text = {"type": "text", "text": LOG}
    subject = conversation((call("a"), result("a", [text, picture])), (call("b"), result("b", "ok")))
    store = MemoryStore()
    made = done(subject, target_tokens=Memo().request(subject) - 1, store=store)
    [unit] = made.units

    assert (unit.what, unit.why) == ("image", "media")
    assert json.loads(fetch(store, unit.ref)) == picture["source"]
    blocks = cl.render(made.conversation)[2]["content"][0]["content"]
    assert blocks[0] == text
    assert blocks[1]["type"] == "text"


def test_arguments_are_emptied_whole_in_closed_turns_only() -> None:
    """Law L11: no marker stands in them; law L5: the current turn is not touched."""
    arguments = {"path": "a.txt", "text": "new text " * 50}
    subject = conversation(
        (call("a", "fetch", **arguments), result("a")),
        (call("b", "fetch", **arguments), result("b", OTHER)),
        prompt_before_last=True,
    )
    store = MemoryStore()
    made = done(subject, clear_tool_inputs=True, store=store)
    inputs = [answer.call.arguments for answer in answered(made.conversation.messages)]

    assert inputs == [{}, arguments]
    stub = read_stub(next(answered(made.conversation.messages)).result.text, issued=made.issued)
    assert stub is not None
    assert json.loads(fetch(store, stub.arguments_ref)) == arguments
    assert [unit.what for unit in made.units] == ["arguments", "result", "result"]


# -- when it is worth it -----------------------------------------------------------------------------------------------


def test_what_saves_too_little_is_not_done_unless_it_reaches_the_target() -> None:
    subject = conversation((call("a"), result("a")), (call("b"), result("b", "ok")))
    memo = Memo()
    size = memo.request(subject)
    put: list[bytes] = []

    class Watched(MemoryStore):
        def put(self, data: bytes, name: str = "") -> str:
            put.append(data)
            return super().put(data, name)

    given_ = {"options": Clearing(keep=0), "before_tokens": size, "tail_tokens": 0, "issued": {}}
    arguments = (subject, divide(subject), memo, Watched())
    assert clear(*arguments, target_tokens=10, least_gain_tokens=size, **given_) is None  # type: ignore[arg-type]  # one call, spelled once
    assert put == []
    assert clear(*arguments, target_tokens=size - 50, least_gain_tokens=size, **given_) is not None  # type: ignore[arg-type]  # see above


def test_a_store_that_fails_changes_nothing() -> None:
    """Law L10: all is stored before anything is replaced."""

    class Failing(MemoryStore):
        def put(self, data: bytes, name: str = "") -> str:
            raise StoreError("disk full")

    subject = conversation((call("a"), result("a")), (call("b"), result("b", OTHER)))
    before = cl.render(subject)
    with pytest.raises(StoreError, match="disk full"):
        cleared(subject, store=Failing())

    assert cl.render(subject) == before


def test_a_stub_is_never_cleared_again() -> None:
    subject = conversation(*((call(key), result(key, LOG + key)) for key in "abcd"))
    made = done(subject, keep=1)
    memo = Memo()
    again = clear(
        made.conversation,
        divide(made.conversation),
        memo,
        MemoryStore(),
        options=Clearing(keep=1),
        before_tokens=memo.request(made.conversation),
        target_tokens=0,
        tail_tokens=0,
        least_gain_tokens=0,
        issued=made.issued,
    )

    assert again is None


# -- laws --------------------------------------------------------------------------------------------------------------


@settings(suppress_health_check=LARGE, deadline=None, max_examples=150)
@given(
    st.randoms(use_true_random=False),
    st.integers(0, 3),
    st.booleans(),
    st.sampled_from([0.0, 0.5, 0.9]),
    st.sampled_from([0, 30]),
    st.sampled_from([None, 1, 2]),
)
def test_only_old_outputs_change_and_all_of_them_come_back(
    random: Random, keep: int, inputs: bool, share: float, tail_tokens: int, turns: int | None
) -> None:
    """Laws L1, L5, L7, L10, L12: on any conversation, whatever the options."""
    subject = scenario(random).conversation
    memo, store, division = Memo(len), MemoryStore(), divide(subject)
    size = memo.request(subject)
    made = clear(
        subject,
        division,
        memo,
        store,
        options=Clearing(keep=keep, clear_tool_inputs=inputs, thinking_keep_turns=turns),
        before_tokens=size,
        target_tokens=int(size * share),
        tail_tokens=tail_tokens,
        least_gain_tokens=0,
        issued={},
    )
    if made is None:
        return
    assert memo.request(made.conversation) == size - made.saved_tokens < size
    protected = protected_from(division, memo.sizes(subject.messages), tail_tokens=tail_tokens)
    for position, (old, new) in enumerate(zip(subject.messages, made.conversation.messages, strict=True)):
        if new is old:
            continue
        assert position < protected
        if old.role == "model":
            assert position < division.current_turn
            old = _thoughtless(old) if len(new.blocks) < len(old.blocks) else old
        assert evolve(new, content="", origin=None, wire=old.wire) == evolve(old, content="", origin=None)
        for before, after in zip(old.blocks, new.blocks, strict=True):
            if isinstance(before, Result) and isinstance(after, Result) and before is not after:
                _comes_back(before, after, made, store)
            elif isinstance(before, Media) and before is not after:
                _stands_for(before, after, made, store)
            elif before is not after:
                assert old.role == "model"
    parsed = cl.parse(cl.render(made.conversation), dialect=subject.dialect)
    for after_it in (made.conversation, parsed):
        kinds = divide(after_it).kinds
        assert [one is Kind.ATTACHMENT for one in kinds] == [one is Kind.ATTACHMENT for one in division.kinds]
        assert divide(after_it).steps == division.steps
    wrong = [(violation.rule, violation.index) for violation in cl.check(subject, mode="history")]
    assert set(wrong) >= {(violation.rule, violation.index) for violation in cl.check(made.conversation, mode="history")}


def _comes_back(before: Result, after: Result, made: Cleared, store: MemoryStore) -> None:
    """Each stub of *after* leads to the very bytes of the block of *before* whose place it has."""
    for old, new in zip(before.blocks, after.blocks, strict=True):
        if old is new or (isinstance(old, Text) and isinstance(new, Text) and old.text == new.text):
            continue
        _stands_for(old, new, made, store)


def _stands_for(old: Block, new: Block, made: Cleared, store: MemoryStore) -> None:
    """*new* is a stub, and leads to *old*."""
    assert isinstance(new, Text)
    stub = read_stub(new.text, issued=made.issued)
    assert stub is not None
    data = fetch(store, stub.ref)
    if isinstance(old, Text):
        assert data.decode("utf-8", "surrogatepass") == old.text
    elif isinstance(old, Media):
        assert json.loads(data) == old.source


def _thoughtless(message: Message) -> Message:
    return evolve(message, content=tuple(block for block in message.blocks if not isinstance(block, Reasoning)))


def test_what_failed_supersedes_nothing() -> None:
    """A write that was refused, a read that found nothing."""
    for later in (result("w", "Error: permission denied", is_error=True), result("w", "Error: no such file")):
        subject = conversation(
            (call("a"), result("a", OTHER)),
            (call("b", path="b.txt"), result("b")),
            (call("w", "edit" if later.get("is_error") else "read", path="b.txt"), later),
            (call("y"), result("y", "ok")),
        )
        assert gone(done(subject, target_tokens=Memo().request(subject) - 100)) == [("a.txt", "oldest")]


def test_a_stub_names_a_copy_only_where_it_still_stands() -> None:
    """Law L11."""
    subject = conversation((call("a"), result("a", OTHER)), (call("b"), result("b", OTHER)), (call("c"), result("c", "ok")))
    made = done(subject)

    assert [read_stub(answer.result.text, issued=made.issued) is not None for answer in answered(made.conversation.messages)] == [
        True,
        True,
        False,
    ]
    assert NOTES[0] not in "".join(answer.result.text for answer in answered(made.conversation.messages))


def test_clearing_all_results_of_one_message_counts_each_a_few_times() -> None:
    """A message with thousands of results is made anew, and counted, once: the work grows as the number of results does."""

    def counted_chars(results: int) -> int:
        counted: list[int] = []

        def counter(text: str) -> int:
            counted.append(len(text))
            return len(text)

        calls = [call(f"c{number}") for number in range(results)]
        answers = [result(f"c{number}", f"{number} {LOG}") for number in range(results)]
        messages = [
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": calls},
            {"role": "user", "content": answers},
            {"role": "assistant", "content": "done"},
            {"role": "user", "content": "go on"},
            {"role": "assistant", "content": "done"},
        ]
        subject = cl.parse(messages, dialect="anthropic")
        memo = Memo(counter)
        made = clear(
            subject,
            divide(subject),
            memo,
            MemoryStore(),
            options=Clearing(keep=0, clear_tool_inputs=True),
            before_tokens=memo.request(subject),
            target_tokens=0,
            tail_tokens=0,
            least_gain_tokens=0,
            issued={},
        )
        assert made is not None
        assert len(made.units) >= results
        assert made.saved_tokens == memo.request(subject) - memo.request(made.conversation)
        return sum(counted)

    assert counted_chars(80) < 3 * counted_chars(40)
