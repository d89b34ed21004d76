"""The imitators of OpenAI Chat: what each demands beyond it, and what live services took."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from compactlib.dialects import parse, render
from compactlib.protocol.profiles import PROFILES, thinks_unasked
from compactlib.protocol.repair import repair
from compactlib.protocol.rules import RULES
from compactlib.protocol.validator import Validator, Violation, check

HI = {"role": "user", "content": "hi"}
GO = {"role": "user", "content": "go on"}
YES = {"role": "assistant", "content": "yes"}
SYSTEM = {"role": "system", "content": "be brief"}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "ok"}
ON = {"thinking": {"type": "enabled"}}
DEMANDING = {name: profile for name, profile in PROFILES.items() if profile.demands and profile.dialect == "openai-chat"}


def call(**fields: Any) -> dict[str, Any]:
    calls = [{"id": "c1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}]
    return {"role": "assistant", "content": None, "tool_calls": calls, **fields}


def found(messages: Any, profile: str, **options: Any) -> list[tuple[str, str, str]]:
    """(rule, level, pointer) of each finding."""
    body = {"messages": messages, **options.pop("body", {})}
    conversation = parse(body, dialect="openai-chat")
    return [(one.rule, one.level, one.pointer) for one in check(conversation, profile=profile, **options)]


def errors(messages: Any, profile: str, **options: Any) -> list[str]:
    return [rule for rule, level, _pointer in found(messages, profile, **options) if level == "error"]


def test_every_demand_is_a_rule_of_the_imitators() -> None:
    """Each is in a book, and each of their rules but the breach of DeepSeek is demanded by some profile."""
    demanded = {rule for profile in DEMANDING.values() for rule in profile.demands}

    assert demanded | {"D-PAIR-01"} == {rule for rule in RULES if rule[0] in "DKLQVXW"}


class TestReasoning:
    def test_calls_without_reasoning_are_refused_while_the_model_thinks(self) -> None:
        """DeepSeek and Moonshot say so in their own words; thinking that is off demands nothing."""
        for profile, rule in (("deepseek", "D-REAS-01"), ("kimi", "K-REAS-01")):
            assert found([HI, call(), RESULT], profile, body=ON) == [(rule, "error", "/messages/1")]
            assert found([HI, call(reasoning_content="x"), RESULT], profile, body=ON) == []
            assert found([HI, call(reasoning_content=""), RESULT], profile, body=ON) == []
            assert found([HI, call(reasoning_content=None), RESULT], profile, body=ON) == [(rule, "error", "/messages/1")]
            assert found([HI, call(reasoning="x"), RESULT], profile, body=ON) == [(rule, "error", "/messages/1")]
            assert found([HI, call(), RESULT], profile, body={"thinking": {"type": "disabled"}}) == []
            assert found([HI, call(), RESULT], profile) == [(rule, "warning", "/messages/1")]
            assert found([HI, YES], profile, body=ON) == []

    def test_the_models_name_tells_whether_it_thinks(self) -> None:
        """Where the request does not say."""
        assert errors([HI, call(), RESULT], "deepseek", body={"model": "deepseek-v4-flash"}) == ["D-REAS-01"]
        assert found([HI, call(), RESULT], "deepseek", body={"model": "deepseek-chat"}) == []
        assert errors([HI, call(), RESULT], "kimi", body={"model": "kimi-k2-thinking-turbo"}) == ["K-REAS-01"]
        assert thinks_unasked("gpt-5") is None

    def test_a_closed_turn_may_have_lost_it_before_v4(self) -> None:
        """A user's message closes the turn: a warning for older models and unknown ones, an error for V4."""
        closed = [HI, call(), RESULT, YES, GO]

        assert found(closed, "deepseek", body={"model": "deepseek-reasoner"}) == [("D-REAS-01", "warning", "/messages/1")]
        assert found(closed, "deepseek", body=ON) == [("D-REAS-01", "warning", "/messages/1")]
        assert errors(closed, "deepseek", body={"model": "deepseek-v4-pro"}) == ["D-REAS-01"]
        assert errors(closed, "kimi", body=ON) == ["K-REAS-01"]

    def test_groq_refuses_the_key_even_without_a_value(self) -> None:
        """The key itself is unknown there; that of other services is not."""
        assert found([HI, {**YES, "reasoning_content": "x"}, GO], "groq") == [
            ("Q-REAS-01", "error", "/messages/1/reasoning_content")
        ]
        assert errors([HI, {**YES, "reasoning_content": None}, GO], "groq") == ["Q-REAS-01"]
        assert found([HI, {**YES, "reasoning": "x"}, GO], "groq") == []


class TestLists:
    def test_groq_wants_a_string_and_most_models_take_an_empty_list(self) -> None:
        """With parts it is refused; without, by one model of seven."""
        parts = [HI, call(content=[{"type": "text", "text": "x"}]), RESULT]
        empty = [HI, call(content=[]), RESULT]

        assert found(parts, "groq") == [("O-CONTENT-01", "error", "/messages/1/content")]
        assert found(empty, "groq", body={"model": "qwen/qwen3-32b"}) == [("O-CONTENT-01", "warning", "/messages/1/content")]
        assert errors(empty, "groq", body={"model": "qwen-qwq-32b"}) == ["O-CONTENT-01"]
        assert found(empty, "openai") == []


class TestContent:
    @pytest.mark.parametrize(
        ("message", "expected"),
        [
            ({"role": "assistant", "content": None}, [("X-CONTENT-01", "error", "/messages/1/content")]),
            ({"role": "assistant"}, [("X-CONTENT-01", "error", "/messages/1")]),
            ({"role": "assistant", "content": []}, [("X-CONTENT-01", "error", "/messages/1/content")]),
            ({"role": "user", "content": []}, [("X-CONTENT-01", "error", "/messages/1/content")]),
            ({"role": "system", "content": None}, [("X-CONTENT-01", "error", "/messages/1/content")]),
            ({"role": "assistant", "content": ""}, []),
            ({"role": "assistant", "content": None, "refusal": "no"}, []),
            ({"role": "user", "content": [{"type": "text", "text": "x"}]}, []),
        ],
    )
    def test_what_has_no_content_is_one_finding(self, message: Any, expected: Any) -> None:
        """In xAI's words, and not in OpenAI's as well."""
        assert found([HI, message], "xai") == expected

    def test_calls_may_stand_without_words(self) -> None:
        """It was accepted many times, and is reported once as refused.  A result may not be empty."""
        assert found([HI, call(), RESULT], "xai") == []
        assert found([HI, call(content=""), {**RESULT, "content": None}], "xai") == [
            ("X-CONTENT-01", "error", "/messages/2/content")
        ]


class TestTurns:
    @pytest.mark.parametrize(
        ("messages", "expected"),
        [
            ([SYSTEM, HI, YES, GO], []),
            ([HI, call(), RESULT, YES, GO], []),
            ([HI, call(), RESULT, call(), RESULT, YES], []),
            ([HI, GO], [("V-ALT-02", "error", "/messages/1/role")]),
            ([HI, GO, YES, GO], [("V-ALT-02", "error", "/messages/1/role")]),
            ([HI, call(), RESULT, GO], [("V-ALT-02", "error", "/messages/3/role")]),
            ([HI, YES, call(), RESULT, YES], [("V-ALT-02", "error", "/messages/4/role")]),
            ([YES, HI], [("V-ALT-02", "error", "/messages/0/role")]),
            ([HI, YES, SYSTEM, GO], [("O-SYS-01", "error", "/messages/2/role")]),
            ([{**SYSTEM, "role": "developer"}, HI], [("O-ROLE-01", "error", "/messages/0/role")]),
            ([HI, {**YES, "tool_calls": None}, {**YES, "tool_calls": None}], [("V-ALT-02", "error", "/messages/2/role")]),
        ],
    )
    def test_a_template_with_tools_counts_all_but_calls_and_results(self, messages: Any, expected: Any) -> None:
        """Each fault is one finding, where the second of a side stands."""
        again = [one for one in found(messages, "strict-template") if one[1] == "error" and one[0] != "O-PAIR-04"]

        assert again == expected

    def test_a_template_without_tools_has_no_form_for_them(self) -> None:
        """A tool's message is refused wherever it stands, and no repair is claimed for it."""
        conversation = parse([HI, call(), RESULT], dialect="openai-chat")
        (one,) = [one for one in check(conversation, profile="strict-template-no-tools") if one.level == "error"]

        assert (one.rule, one.index, one.fix) == ("V-ALT-01", 2, None)
        assert errors([HI, YES, GO], "strict-template-no-tools") == []
        assert errors([SYSTEM, HI], "strict-template-no-system") == ["V-SYS-01"]

    def test_deepseek_reasoner_looks_at_neighbours_only(self) -> None:
        """Results between two messages of one side are between; the plain model does not mind."""
        profile = "deepseek-reasoner"

        assert found([HI, GO], profile) == [("D-ALT-01", "error", "/messages/1/role")]
        assert errors([HI, YES, YES], "deepseek", body={"model": "deepseek-reasoner"}) == ["D-ALT-01"]
        assert found([HI, call(reasoning_content="x"), RESULT, GO], profile) == []
        assert found([HI, GO], "deepseek", body={"model": "deepseek-chat"}) == []
        assert found([YES, HI], profile) == []


class TestOllama:
    def test_a_request_without_a_user_fails(self) -> None:
        """A history may still go on to one; another model's template may not look."""
        messages = [SYSTEM, call(), RESULT]

        assert found(messages, "ollama") == [("L-USER-01", "error", "")]
        assert found(messages, "ollama", mode="history") == []
        assert found(messages, "ollama", body={"model": "qwen3:latest"}) == [("L-USER-01", "error", "")]
        assert found(messages, "ollama", body={"model": "gpt-oss:120b"}) == [("L-USER-01", "warning", "")]
        assert [rule for rule, _level, _pointer in found([], "ollama")] == ["O-EMPTY-01"]
        assert RULES["L-USER-01"].status == 500


@pytest.mark.parametrize("profile", DEMANDING)
def test_a_fold_of_feed_is_a_check(profile: str) -> None:
    """Message by message the same is found, and what the end would break can be asked at any time."""
    odd = [{**YES, "reasoning_content": "x"}, {"role": "assistant", "content": None}]
    messages = [SYSTEM, HI, GO, call(), RESULT, YES, *odd, HI]
    conversation = parse({"messages": messages, "thinking": {"type": "enabled"}}, dialect="openai-chat")
    judge = Validator(conversation, profile=profile)
    seen: list[Violation] = []
    for message in conversation.messages:
        seen += judge.feed(message)
        judge.finish()
    seen += judge.finish()

    assert sorted(seen, key=repr) == sorted(check(conversation, profile=profile), key=repr)


@pytest.mark.parametrize(
    ("profile", "messages", "fixes"),
    [
        ("deepseek", [HI, call(), RESULT], ["placeholder-text"]),
        ("kimi", [HI, call(), RESULT, YES, GO], ["placeholder-text"]),
        ("groq", [HI, {**YES, "reasoning_content": "x"}, GO], ["strip-seal"]),
        ("xai", [HI, {"role": "assistant", "content": None}, GO], ["drop-empty"]),
        ("deepseek-reasoner", [HI, GO, YES, YES], ["merge-same-role", "merge-same-role"]),
        ("strict-template", [HI, call(), RESULT, GO], ["insert-bridge"]),
        ("strict-template", [YES, HI], ["insert-bridge"]),
        ("strict-template", [HI, YES, call(), RESULT, YES], ["merge-same-role"]),
        ("ollama", [SYSTEM, call(), RESULT], ["append-user"]),
    ],
)
def test_each_demand_can_be_met(profile: str, messages: Any, fixes: list[str]) -> None:
    """The repaired request has no error, and the fixes are those of the closed set."""
    conversation = parse({"messages": messages, **ON}, dialect="openai-chat")
    made = repair(conversation, close=True, profile=profile)

    assert ([fix.name for fix in made.fixes], made.left) == (fixes, ())
    assert errors(render(made.conversation)["messages"], profile, body=ON) == []


def test_joined_texts_are_one_text() -> None:
    """Neighbours become one string with an empty line between; what is no text makes it a list of parts."""
    picture = {"type": "image_url", "image_url": {"url": "https://e.x/a.png"}}
    plain = repair(parse([HI, GO, YES], dialect="openai-chat"), profile="strict-template")
    mixed = repair(parse([HI, {"role": "user", "content": [picture]}], dialect="openai-chat"), profile="strict-template")

    assert render(plain.conversation)[0] == {"role": "user", "content": "hi\n\ngo on"}
    assert render(mixed.conversation) == [{"role": "user", "content": [{"type": "text", "text": "hi"}, picture]}]


def test_calls_join_the_words_before_them() -> None:
    """The model's words and its calls in two messages become one message with both."""
    made = repair(parse([HI, YES, call(), RESULT, YES], dialect="openai-chat"), profile="strict-template")

    assert render(made.conversation)[1] == {**call(), "content": "yes"}


def test_sealed_reasoning_of_the_current_turn_stays_on_groq() -> None:
    """Law L5: what the model thinks now is not edited away; the finding is left with its reason."""
    made = repair(parse([HI, call(reasoning_content="x"), RESULT], dialect="openai-chat"), profile="groq")

    assert [one.violation.rule for one in made.left] == ["Q-REAS-01"]
    assert "law L5" in made.left[0].reason


@pytest.mark.parametrize(
    ("provider", "profile", "least"),
    [("deepseek", "deepseek", 22), ("groq", "groq", 36), ("ollama", "ollama", 30)],
)
def test_what_a_live_service_accepted_is_no_error_in_its_profile(shared: Path, provider: str, profile: str, least: int) -> None:
    """Recorded requests to the service itself."""
    accepted = 0
    for name in ("openai-chat", "openai-chat-more"):
        for line in (shared / "corpus" / "recorded" / f"{name}.jsonl").read_text("utf-8").splitlines():
            entry = json.loads(line)
            if entry["provider"] == provider and entry["status"] == 200:
                accepted += 1
                wrong = check(parse(entry["body"], dialect="openai-chat"), profile=profile)

                assert [one for one in wrong if one.level == "error"] == []
    assert accepted >= least


def test_what_was_sent_to_xai_and_moonshot_models_is_no_error(shared: Path) -> None:
    """By the model's name, through whichever gateway."""
    seen = {"grok": 0, "kimi-k2.5": 0}
    for name in ("openai-chat", "openai-chat-more"):
        for line in (shared / "corpus" / "recorded" / f"{name}.jsonl").read_text("utf-8").splitlines():
            entry = json.loads(line)
            for word, profile in (("grok", "xai"), ("kimi-k2.5", "kimi")):
                if entry["status"] == 200 and word in str(entry["body"].get("model")):
                    seen[word] += 1
                    wrong = check(parse(entry["body"], dialect="openai-chat"), profile=profile)

                    assert [one for one in wrong if one.level == "error"] == []
    assert (seen["grok"] >= 20, seen["kimi-k2.5"] >= 3) == (True, True)


def test_joined_messages_keep_their_reasoning_where_one_of_them_has_null() -> None:
    """What is written is the reasoning, not the other's null."""
    said = [{**YES, "reasoning_content": "r"}, call(reasoning_content=None), RESULT, GO]
    made = repair(parse([HI, *said, YES, GO], dialect="openai-chat"), profile="deepseek-reasoner", close=True)
    thoughts = [message["reasoning_content"] for message in render(made.conversation) if "reasoning_content" in message]

    assert "r" in thoughts
    assert not [one for one in check(made.conversation, profile="deepseek-reasoner") if one.level == "error"]
