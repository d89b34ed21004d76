"""
The laws of counting, over generated texts, values and messages.

* Every text has a price: no text raises, none but the empty one is free, and the
  price is what the tables say, read off one byte after the other.
* A size is a sum: of the blocks and the frame, in whatever order and however
  often it is asked for; a memo, a tally and the shares agree with it.
* A counter that misbehaves ends in a `PolicyError`, wherever in the message it is asked.
* The JSON text of a value is JSON and means the value.
* A report of usage never makes a cache larger than the prompt it is part of.
"""

from __future__ import annotations

import json
from typing import Any, Final

import pytest
from attrs import evolve
from hypothesis import example, given, settings
from hypothesis import strategies as st

from compactlib.dialects import parse
from compactlib.errors import PolicyError
from compactlib.model import Block, Call, Media, Message, Opaque, Reasoning, Result, Text, Wire, wire
from compactlib.tokens import (
    FAMILIES,
    MESSAGE_TOKENS,
    Memo,
    Tally,
    block_tokens,
    counter_for,
    divide,
    estimate,
    message_tokens,
    read_usage,
)
from compactlib.tokens.estimator import AS_FIGURES, AS_WORDS, REBATE
from compactlib.tokens.jsontext import json_text

from ..strategies import DIALECTS, build, histories

ANY_TEXT: Final = st.text(st.characters(exclude_categories=()), max_size=600)
"""Lone surrogates included."""

CODE_LIKE: Final = st.lists(
    st.sampled_from(
        ["self.value", "0x7f3a", "12:30:59", "    ", "\n", "return", "QmFzZTY0", "jqx", '{"id": 7}', "ж", "字", "é", "——", "🙂"]
    ),
    max_size=200,
).map("".join)

JSON_VALUES: Final = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)

PLAIN_BLOCKS: Final[st.SearchStrategy[Block]] = st.one_of(
    st.builds(Text, st.text(max_size=30)),
    st.builds(Call, st.just("id"), st.text(max_size=9), JSON_VALUES | st.text(max_size=30), st.just(wire("tool_use"))),
    st.builds(Reasoning, st.text(max_size=30), st.none() | st.text(max_size=2_000), st.just(wire("thinking"))),
    st.builds(Opaque, st.just("odd"), JSON_VALUES),
    st.builds(
        Media,
        st.sampled_from(["image", "document", "audio", "video", "file", "odd"]),
        st.sampled_from(["", "text/plain", "image/png"]),
        st.none() | st.text(max_size=60),
        st.none() | st.just("https://example.org/x"),
        JSON_VALUES,
        st.sampled_from(["image", "image_url", "inlineData", "odd"]).map(wire),
    ),
)
BLOCKS: Final[st.SearchStrategy[Block]] = st.recursive(
    PLAIN_BLOCKS,
    lambda inner: st.builds(
        Result,
        st.just("id"),
        st.none() | st.text(max_size=30) | st.lists(inner, max_size=3).map(tuple),
        st.just(wire("tool_result")),
    ),
    max_leaves=6,
)
WIRES: Final = st.builds(
    Wire,
    st.just("user"),
    st.just(()),
    st.lists(st.tuples(st.sampled_from(["name", "cache_control", "note"]), JSON_VALUES), max_size=2).map(tuple),
)
MESSAGES: Final = st.builds(Message, st.just("user"), st.text(max_size=40) | st.lists(BLOCKS, max_size=5).map(tuple), WIRES)


def by_the_tables(text: str) -> int:
    """What `estimate` says of a text that is read whole and with a look at neighbours: the obvious way, byte by byte."""
    words = {letter: row[0] for letters, row in AS_WORDS.values() for letter in letters}
    figures = {letter: row[0] for letters, row in AS_FIGURES.values() for letter in letters}
    data = text.encode("utf-8", "surrogatepass")
    as_words = 0
    before = ""
    for byte in data:
        sort = "small" if chr(byte) in "abcdefghijklmnopqrstuvwxyz" else "digit" if chr(byte) in "0123456789" else ""
        as_words += words[byte] - (REBATE[0] if sort and sort == before else 0)
        before = sort
    as_figures = sum(figures[byte] for byte in data)
    return -(-min(as_words, as_figures) // 100)


class TestTexts:
    """Every text has a price."""

    @given(ANY_TEXT | CODE_LIKE)
    @example("\ud800\udc00")
    @example("\x00" * 600)
    def test_no_text_is_refused_and_none_is_free(self, text: str) -> None:
        """By any family."""
        for family in FAMILIES:
            tokens = counter_for(family)(text)

            assert type(tokens) is int
            assert (tokens > 0) == (text != "")

    @given(st.text(st.characters(max_codepoint=127), min_size=513, max_size=1_024) | CODE_LIKE)
    def test_the_price_is_what_the_tables_say(self, text: str) -> None:
        """Checksums and long integers add up what a loop over the bytes adds up."""
        extra = len(text.encode("utf-8", "surrogatepass")) - len(text)
        text += "x" * (513 - len(text)) if len(text) < 513 else ""
        text = text[:1_024]
        if extra * 8 > len(text):
            return  # other scripts prevail: no look at neighbours

        assert estimate(text) == by_the_tables(text)

    @given(CODE_LIKE.filter(bool), st.integers(0, 30))
    def test_a_letter_more_never_costs_less(self, text: str, length: int) -> None:
        """Among short texts."""
        text = text[:480]

        assert estimate(text + "e" * length) >= estimate(text)

    @given(st.text(st.characters(exclude_categories=["Cs"]), min_size=20, max_size=60), st.integers(200, 2_000))
    @settings(max_examples=30)
    def test_a_text_over_and_over_costs_so_many_times(self, text: str, times: int) -> None:
        """Windows at a prime distance see every part of what repeats, and see it as often as it is there."""
        long = (text + "\n") * times
        whole = sum(estimate(long[start : start + 1_000]) for start in range(0, len(long), 1_000))

        assert whole * 0.8 <= estimate(long) <= whole * 1.25


class TestSums:
    """A size is a sum."""

    @given(MESSAGES)
    def test_a_message_is_its_blocks_and_a_frame(self, message: Message) -> None:
        """Residue is part of the frame."""
        bare = evolve(message, wire=wire("user"))

        assert message_tokens(bare, len) == MESSAGE_TOKENS + sum(block_tokens(block, len) for block in message.blocks)
        assert message_tokens(message, len) >= message_tokens(bare, len)

    @given(BLOCKS)
    def test_every_block_but_an_empty_one_costs_something(self, block: Block) -> None:
        """Empty are a text without words and plain reasoning without any."""
        empty = (isinstance(block, Text) and not block.text) or (
            isinstance(block, Reasoning) and not block.text and block.seal is None
        )

        assert (block_tokens(block, estimate) > 0) == (not empty)

    @given(st.lists(MESSAGES, max_size=6), st.randoms(use_true_random=False))
    def test_memo_and_tally_agree_with_the_sum(self, messages: list[Message], random: Any) -> None:
        """In whatever order and however often they are asked."""
        total = sum(message_tokens(message, len) for message in messages)
        memo, tally = Memo(len), Tally(len)
        asked = messages * 2
        random.shuffle(asked)
        for message in asked:
            assert memo.message(message) == message_tokens(message, len)
        for message in messages:
            tally.append(message)

        assert memo.messages(messages) == tally.tokens == total

    @given(st.sampled_from(DIALECTS).flatmap(lambda dialect: st.tuples(st.just(dialect), histories())))
    @settings(max_examples=30)
    def test_shares_add_up(self, drawn: tuple[str, list[tuple[str, str]]]) -> None:
        """Every token of a request is in exactly one share."""
        dialect, pieces = drawn
        conversation = parse(build(pieces, dialect), dialect=dialect)

        assert sum(divide(conversation, estimate).values()) == Memo().request(conversation)


class TestCounters:
    """Foreign code is kept at arm's length."""

    @given(
        MESSAGES, st.integers(0, 6), st.sampled_from([-1, 1.5, None, True, "3", ValueError(), RecursionError(), AssertionError()])
    )
    def test_whatever_it_does_ends_in_a_policy_error(self, message: Message, after: int, answer: Any) -> None:
        """At the first or at a later question; if it is never asked there is nothing to complain of."""
        asked = 0

        def counter(text: str) -> Any:
            nonlocal asked
            asked += 1
            if asked <= after:
                return len(text)
            if isinstance(answer, Exception):
                raise answer
            return answer

        size, error = None, None
        try:
            size = message_tokens(message, counter)
        except PolicyError as caught:
            error = caught

        if error is None:
            assert (size, asked <= after) == (message_tokens(message, len), True)
        else:
            assert (error.field, asked) == ("counter", after + 1)


class TestJsonText:
    """JSON text is JSON."""

    @given(JSON_VALUES)
    def test_it_means_the_value(self, value: Any) -> None:
        """Read back it is equal, and it is what the standard library writes."""
        assert json.loads(json_text(value)) == value
        assert json_text(value) == json.dumps(value, ensure_ascii=False)

    @given(JSON_VALUES, st.integers(1_000, 3_000))
    @settings(max_examples=20)
    def test_depth_changes_nothing(self, value: Any, levels: int) -> None:
        """Around the text of the inside stand the brackets."""
        deep = value
        for _ in range(levels):
            deep = [deep]

        assert json_text(deep) == "[" * levels + json_text(value) + "]" * levels


class TestUsage:
    """Reports of providers."""

    @given(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 10**6))
    def test_what_came_from_the_cache_is_part_of_the_prompt(self, fresh: int, read: int, written: int) -> None:
        """In the dialects that report it apart, too."""
        anthropic = read_usage(
            "anthropic", {"input_tokens": fresh, "cache_read_input_tokens": read, "cache_creation_input_tokens": written}
        )
        chat = read_usage("openai-chat", {"prompt_tokens": fresh + read, "prompt_tokens_details": {"cached_tokens": read}})

        assert anthropic.prompt_tokens == fresh + anthropic.cached_tokens + anthropic.written_tokens
        assert chat.prompt_tokens == fresh + chat.cached_tokens


@pytest.mark.parametrize("period", [2, 3, 5, 7, 8, 64, 65, 76, 77, 80, 100, 128])
def test_rows_of_a_table_do_not_fool_the_windows(period: int) -> None:
    """A text whose dear part stands in every so many characters is sampled as it is."""
    row = "$" + "e" * (period - 2) + "\n"
    text = row * (100_000 // period)
    parts = sum(estimate(text[start : start + 1_000]) for start in range(0, len(text), 1_000))

    assert parts * 0.9 < estimate(text) < parts * 1.1
