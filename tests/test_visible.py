"""What the model sees after the provider's own compaction and edits."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

import compactlib as cl
from compactlib.dialects import parse, render
from compactlib.errors import PolicyError
from compactlib.model import Conversation
from compactlib.protocol.validator import check
from compactlib.tokens import Memo
from compactlib.visible import CLEARED, shown

from .strategies import build, histories

COMPACTION = {"type": "compaction", "content": "They read the log."}
EDIT = {"type": "clear_tool_uses_20250919", "trigger": {"type": "tool_uses", "value": 3}}
ON: dict[str, Any] = {"thinking": {"type": "enabled", "budget_tokens": 2_000}}
OPUS = "claude-opus-4-6"
OLD = "claude-sonnet-4-5-20250929"


def user(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def use(key: str, name: str = "read") -> dict[str, Any]:
    return {"type": "tool_use", "id": key, "name": name, "input": {"path": f"{key}.log"}}


def result(key: str, content: Any = "x" * 400) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": key, "content": content}


def thinking(words: str) -> dict[str, Any]:
    return {"type": "thinking", "thinking": words, "signature": "s" * 40}


def request(*messages: Any, edits: Any = (), **fields: Any) -> Conversation:
    managed = {"context_management": {"edits": list(edits)}} if edits else {}
    return parse({"model": OPUS, **fields, **managed, "messages": list(messages)}, dialect="anthropic")


def wire(conversation: Conversation) -> list[Any]:
    messages: list[Any] = render(conversation)["messages"]
    return messages


def loop(count: int, name: str = "read") -> list[dict[str, Any]]:
    """A prompt and so many steps."""
    messages = [user(text("go"))]
    for number in range(count):
        messages += [assistant(use(f"c{number}", name)), user(result(f"c{number}"))]
    return messages


class TestCompaction:
    def test_what_stands_before_the_last_block_is_hidden(self) -> None:
        """Messages, and blocks of its own message; what comes after stays the same object."""
        later = [user(text("and now?")), assistant(text("now this"))]
        sent = request(
            user(text("a")), assistant(COMPACTION, text("b")), user(text("c")), assistant(text("d"), COMPACTION), *later
        )
        seen = cl.effective(sent)

        assert wire(seen) == [assistant(COMPACTION), *later]
        assert seen.messages[1] is sent.messages[4]
        assert shown(sent)[:4] == (None, None, None, seen.messages[0])

    def test_a_failed_compaction_hides_nothing(self) -> None:
        """Its content is null; the conversation comes back as the same object."""
        sent = request(user(text("a")), assistant({"type": "compaction", "content": None}, text("b")))

        assert cl.effective(sent) is sent

    def test_an_item_of_responses_hides_what_was_said_and_not_the_instructions(self) -> None:
        """OpenAI's and xAI's item; items of the roles system and developer stay."""
        item = {"type": "compaction", "encrypted_content": "gAAA"}
        told = {"role": "developer", "content": "be brief"}
        search = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "x"}}
        items = [told, {"role": "user", "content": "hi"}, search, item, {"role": "user", "content": "go on"}]
        seen = cl.effective(parse(items, dialect="openai-responses"))

        assert render(seen) == [told, item, items[4]]

    def test_no_pair_is_torn(self) -> None:
        """A call before the block whose result is not: nothing is hidden, of client tools and of server tools."""
        server = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
        found = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
        client = request(user(text("hi")), assistant(use("a"), COMPACTION), user(result("a")))
        hosted = request(user(text("hi")), assistant(server, COMPACTION, found))
        dangling = request(user(text("hi")), assistant(use("a")), user(text("no")), assistant(COMPACTION, text("x")))

        assert cl.effective(dangling) is dangling
        assert cl.effective(client) is client
        assert cl.effective(hosted) is hosted

    def test_a_fused_head_that_is_hidden_is_fused_no_more(self) -> None:
        """Behind the block it keeps its place."""
        messages = (user(text("one")), user(text("two")), assistant(text("x")))
        before = evolve(request(*messages, assistant(COMPACTION, text("y"))), fused=(0, 2))
        behind = evolve(request(assistant(text("w")), assistant(COMPACTION), *messages), fused=(2, 4))

        assert cl.effective(before).fused == (0, 0)
        assert cl.effective(behind).fused == (1, 3)


class TestResults:
    def cleared(self, sent: Conversation) -> list[str]:
        """The ids of the results that are cleared."""
        return [one.call_id for message in cl.effective(sent).messages for one in message.results if one.text == CLEARED]

    def test_old_results_become_stubs_once_the_trigger_is_exceeded(self) -> None:
        """Three uses are not more than three; of five, the newest three stay."""
        assert cl.effective(request(*loop(3), edits=[EDIT])).messages[2].results[0].text == "x" * 400
        assert self.cleared(request(*loop(3), edits=[EDIT])) == []
        assert self.cleared(request(*loop(5), edits=[EDIT])) == ["c0", "c1"]
        assert self.cleared(request(*loop(5), edits=[{**EDIT, "keep": {"type": "tool_uses", "value": 0}}])) == [
            f"c{n}" for n in range(5)
        ]

    def test_a_trigger_in_tokens_is_measured_with_the_counter(self) -> None:
        """Whatever counts; a counter that misbehaves is the caller's mistake."""
        edit = {"type": "clear_tool_uses_20250919", "trigger": {"type": "input_tokens", "value": 2_000}}
        sent = request(*loop(5), edits=[edit])

        assert cl.effective(sent) is sent
        assert cl.effective(sent, counter=len) is not sent
        with pytest.raises(PolicyError, match="counter"):
            cl.effective(sent, counter=lambda _text: -1)

    def test_the_default_trigger_is_a_hundred_thousand_tokens(self) -> None:
        """An edit that names only its type."""
        edit = {"type": "clear_tool_uses_20250919"}
        small, large = loop(5), loop(5)
        large[2]["content"][0]["content"] = "word " * 120_000

        assert self.cleared(request(*small, edits=[edit])) == []
        assert self.cleared(request(*large, edits=[edit])) == ["c0", "c1"]

    def test_excluded_tools_and_short_results_stay(self) -> None:
        """What is no longer than the stub would not be hidden by it."""
        assert self.cleared(request(*loop(5, "memory"), edits=[{**EDIT, "exclude_tools": ["memory"]}])) == []
        short = loop(5)
        short[2]["content"][0]["content"] = "ok"
        assert self.cleared(request(*short, edits=[EDIT])) == ["c1"]

    def test_what_saves_too_little_is_not_done(self) -> None:
        """``clear_at_least`` is about all that would be cleared together."""
        edit = {**EDIT, "clear_at_least": {"type": "input_tokens", "value": 5_000}}

        assert self.cleared(request(*loop(5), edits=[edit])) == []
        edit["clear_at_least"] = {"type": "input_tokens", "value": 10}
        assert self.cleared(request(*loop(5), edits=[edit])) == ["c0", "c1"]

    @pytest.mark.parametrize(("inputs", "left"), [(True, [{}, {}]), (["read"], [{}, {}]), (["write"], [{"path": "c0.log"}] * 1)])
    def test_arguments_go_where_the_edit_says_so(self, inputs: Any, left: list[Any]) -> None:
        """Of all tools or of those named."""
        seen = cl.effective(request(*loop(5), edits=[{**EDIT, "clear_tool_inputs": inputs}]))

        assert [message.calls[0].arguments for message in seen.messages if message.calls][: len(left)] == left

    def test_an_edit_that_the_provider_refuses_does_nothing(self) -> None:
        """So does one in another dialect."""
        sent = request(*loop(5), edits=[{**EDIT, "trigger": 3}])

        assert cl.effective(sent) is sent


class TestThinking:
    TURNS = (
        user(text("one")), assistant(thinking("a"), use("a")), user(result("a")), assistant(thinking("b"), text("x")),
        user(text("two")), assistant(text("y")),
        user(text("three")), assistant(thinking("c"), text("z")),
        user(text("four")),
    )  # fmt: skip

    def kept(self, sent: Conversation) -> list[str]:
        """What is left of the thinking."""
        blocks = (block for message in wire(cl.effective(sent)) for block in message["content"])
        return [block["thinking"] for block in blocks if block["type"] == "thinking"]

    @pytest.mark.parametrize(
        ("keep", "left"),
        [
            ({"type": "thinking_turns", "value": 1}, ["c"]),
            ({"type": "thinking_turns", "value": 2}, ["a", "b", "c"]),
            ("all", ["a", "b", "c"]),
            ({"type": "all"}, ["a", "b", "c"]),
        ],
    )
    def test_the_newest_turns_with_thinking_keep_it(self, keep: Any, left: list[str]) -> None:
        """A turn is all steps up to the user's next words; turns without thinking do not count."""
        sent = request(*self.TURNS, edits=[{"type": "clear_thinking_20251015", "keep": keep}], **ON)

        assert self.kept(sent) == left

    def test_some_models_drop_old_thinking_unasked(self) -> None:
        """Those that are known to, while they think; an edit says otherwise."""
        everything = [{"type": "clear_thinking_20251015", "keep": "all"}]

        assert self.kept(request(*self.TURNS, **ON)) == ["a", "b", "c"]
        assert self.kept(request(*self.TURNS, **{**ON, "model": OLD})) == ["c"]
        assert self.kept(request(*self.TURNS, edits=everything, **{**ON, "model": OLD})) == ["a", "b", "c"]
        assert self.kept(request(*self.TURNS, model=OLD)) == ["a", "b", "c"]
        assert self.kept(request(*self.TURNS, **{**ON, "model": "my-proxy"})) == ["a", "b", "c"]


EDITS: st.SearchStrategy[list[dict[str, Any]]] = st.lists(
    st.one_of(
        st.fixed_dictionaries(
            {"type": st.just("clear_tool_uses_20250919")},
            optional={
                "trigger": st.sampled_from([{"type": "tool_uses", "value": 2}, {"type": "input_tokens", "value": 100}]),
                "keep": st.sampled_from([{"type": "tool_uses", "value": value} for value in (0, 1, 3)]),
                "clear_at_least": st.sampled_from([None, {"type": "input_tokens", "value": 30}]),
                "exclude_tools": st.sampled_from([["read"], ["other"]]),
                "clear_tool_inputs": st.sampled_from([True, False, ["read"]]),
            },
        ),
        st.fixed_dictionaries(
            {"type": st.just("clear_thinking_20251015")},
            optional={
                "keep": st.sampled_from(["all", {"type": "thinking_turns", "value": 1}, {"type": "thinking_turns", "value": 2}])
            },
        ),
        st.just({"type": "compact_20260112"}),
    ),
    max_size=3,
)


@st.composite
def sent_requests(draw: st.DrawFn) -> Conversation:
    """A legal conversation, perhaps with compaction blocks and edits, perhaps spoiled a little."""
    messages = build(draw(histories()), "anthropic", words="word " * draw(st.sampled_from([1, 40])), thinking=draw(st.booleans()))
    models = [message for message in messages if message["role"] == "assistant" and isinstance(message["content"], list)]
    for message in draw(st.lists(st.sampled_from(models), max_size=2)) if models else ():
        at = 0 if draw(st.booleans()) else draw(st.integers(0, len(message["content"])))
        message["content"].insert(at, {"type": "compaction", "content": draw(st.sampled_from(["what was", None]))})
    if draw(st.booleans()):
        messages.pop(draw(st.integers(0, len(messages) - 1)))
    mode = draw(st.sampled_from(["enabled", "adaptive", "disabled", None]))
    fields: dict[str, Any] = {"thinking": {"type": mode}} if mode else {}
    return request(*messages, edits=draw(EDITS), model=draw(st.sampled_from([OPUS, OLD])), **fields)


@given(sent_requests())
def test_seeing_twice_is_seeing_once(sent: Conversation) -> None:
    """What the model sees of what it sees is that; nothing that was passed in is changed."""
    before = render(sent)
    seen = cl.effective(sent)

    assert cl.effective(seen) is seen
    assert render(sent) == before


@given(sent_requests(), st.sampled_from(["request", "history"]))
def test_validity_never_gets_worse(sent: Conversation, mode: Any) -> None:
    """Law L1: no rule is broken more often in what is seen than in what is sent."""
    found = [Counter(one.rule for one in check(each, mode=mode) if one.level == "error") for each in (sent, cl.effective(sent))]

    assert found[1] - found[0] == Counter()


@given(sent_requests())
def test_what_is_hidden_is_not_counted(sent: Conversation) -> None:
    """The view is never larger, and is the sum of what is shown in each place."""
    memo = Memo()
    seen = cl.effective(sent)
    parts = [message for message in shown(sent) if message is not None]

    assert list(seen.messages) == parts
    assert memo.request(seen) == memo.overhead(sent) + memo.messages(parts)
    assert memo.request(seen) <= memo.request(sent)
    assert (seen is sent) == (memo.request(seen) == memo.request(sent))


@pytest.mark.parametrize("dialect", ["openai-chat", "gemini", "bedrock", "mistral"])
def test_other_dialects_are_seen_as_they_are_sent(dialect: str) -> None:
    """No provider of these edits on its side."""
    key = "contents" if dialect == "gemini" else "messages"
    body = {key: [], "context_management": {"edits": [EDIT]}}
    sent = parse(body, dialect=dialect)

    assert cl.effective(sent) is sent
