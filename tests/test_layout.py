"""
The layout of a compacted conversation in every dialect, on the wire, for both kinds of cut.

``python -m tests.test_layout`` writes the layouts into the chapter anew.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

import compactlib as cl
from compactlib.dialects import messages_key, render_messages
from compactlib.errors import PolicyError
from compactlib.model import Conversation, Opaque, Origin, Reasoning
from compactlib.outcomes import Compacted, Refused
from compactlib.summaries.rendering import SummaryRequest

from .spellings import SPELLINGS, Call, Message, Result, Spelling

BODY = "## Goal\n(none)\n## Orders, constraints and preferences\n(none)\n## Done\n- looked\n## Next step\n- go on"
BEGIN = "<!-- written by: python -m tests.test_layout -->\n"
END = "<!-- end -->\n"
CHAPTER = Path(__file__).parents[1] / "spec" / "51-layout.md"


def by_words(text: str) -> int:
    return len(text.split())


def answer(request: SummaryRequest) -> str:
    del request
    return BODY


def never(request: SummaryRequest) -> str:
    raise AssertionError("asked")


def words(count: int) -> str:
    return " ".join(f"w{number}" for number in range(count))


def policy(spelling: Spelling, **more: Any) -> cl.Policy:
    options: dict[str, Any] = {"window_tokens": 4_000, "reserve_tokens": 0, "schema": "brief", "counter": by_words}
    return cl.Policy(profile=spelling.profile, **(options | more))


def step(spelling: Spelling, number: int, *, thought: str = "") -> list[Message]:
    call = Call(spelling.id(f"c{number}"), "read", {"path": "a.py"})
    return [*spelling.model("", [call], thought=thought), *spelling.results([Result(call, words(250))])]


def conversation(spelling: Spelling, *, turns: int, steps: int, thought: str = "") -> Conversation:
    """Turns of steps, each of a call, its result and, at the end of a turn, words."""
    messages: list[Any] = [spelling.system("be careful")] if spelling.has_system else []
    origins: dict[int, Origin] = {}
    for number in range(turns):
        messages.append(spelling.user(f"prompt {number}"))
        for one in range(steps):
            messages += step(spelling, number * steps + one, thought=thought)
            if spelling.results_are_text:
                origins[len(messages) - 1] = Origin.TOOL
        if turns > 1:
            messages += spelling.model(f"done {number}")
    return cl.parse(messages, dialect=spelling.dialect, origins=origins)


def compacted(outcome: cl.Outcome) -> Compacted:
    assert isinstance(outcome, Compacted), (outcome.reason, getattr(outcome, "why", ""))
    return outcome


def texts(value: Any) -> list[str]:
    """Every string under ``text`` or ``content``, in order."""
    if isinstance(value, list):
        return [text for item in value for text in texts(item)]
    if not isinstance(value, dict):
        return []
    found: list[str] = []
    for key, item in value.items():
        found += [item] if key in ("text", "content") and isinstance(item, str) else texts(item)
    return found


def spoken(text: str) -> str:
    """What a piece of the head is."""
    for start, name in (
        ("[compactlib summary", "S"),
        ("[compactlib earlier", "E"),
        ("pinned", "N"),
        ("live", "R"),
        ("prompt", "P"),
    ):
        if text.startswith(start):
            return name
    return "?"


EXPECTED = {
    "yes": ["u:N S E R P", "m"],
    "text": ["s", "u:N S E R P", "m"],
    "no": ["s", "u:N", "u:S E", "u:R", "u:P", "m"],
}
"""The head by how it is fused: one message, one text, or a message for each part."""


def shape(outcome: Compacted, spelling: Spelling) -> list[str]:
    """The messages of the result up to the model's first, each by its side and what is in it."""
    found = []
    for message in render_messages(outcome.conversation):
        role = message.get("role", "assistant")
        if role == "system":
            found.append("s")
            continue
        if role != "user":
            return [*found, "m"]
        said = texts(message)
        if spelling.fuse == "text":
            pieces = re.split(r"\n\n(?=\[compactlib|live|prompt)", said[0])
            found.append("u:" + " ".join(map(spoken, pieces)))
        else:
            found.append("u:" + " ".join(map(spoken, said)))
    return found


def result(name: str, kind: str) -> Compacted:
    """A compaction with a pin, an earlier prompt and a reminder, by a cut of this *kind*."""
    spelling = SPELLINGS[name]
    made = conversation(spelling, turns=12, steps=1) if kind == "turn" else conversation(spelling, turns=1, steps=12)
    first = int(spelling.has_system)
    messages = render_messages(made)
    made = cl.parse(
        [*messages[:first], spelling.user("pinned"), *spelling.model("old"), *messages[first:]],
        dialect=spelling.dialect,
        origins={at + 2: Origin.TOOL for at, message in enumerate(made.messages) if message.origin is Origin.TOOL},
    )
    return compacted(
        cl.compact(made, policy(spelling), summarise=answer, when="now", pins=[(first, 0)], reminders=["live state"])
    )


@pytest.mark.parametrize("name", SPELLINGS)
@pytest.mark.parametrize("kind", ["turn", "step"])
def test_both_cuts_have_one_shape(name: str, kind: str) -> None:
    """Pins, summary with earlier prompts, reminders, prompt, then whole steps; and it is recognised when it comes back."""
    spelling = SPELLINGS[name]
    outcome = result(name, kind)
    expected = EXPECTED[spelling.fuse]
    if kind == "step":
        expected = [part.replace("S E", "S") for part in expected]
    back = cl.parse(cl.render(outcome.conversation), dialect=spelling.dialect)
    named = (Origin.PIN, Origin.SUMMARY, Origin.REMINDER)

    assert shape(outcome, spelling) == expected
    assert (outcome.kept_prompt is not None) == (kind == "step")
    assert [message.origin for message in back.messages if message.origin in named] == list(named)
    assert cl.render(back) == cl.render(outcome.conversation)
    assert [one for one in cl.check(back, mode="history", profile=spelling.profile) if one.level == "error"] == []


def drawn() -> str:
    """The heads of `result` after a turn cut, a message a line, each part by its letter."""
    lines = []
    for name, spelling in SPELLINGS.items():
        lines += ["", f"`{name}`:", "", "```json"]
        for message in render_messages(result(name, "turn").conversation):
            if message.get("role", "assistant") not in ("user", "system"):
                break
            lines.append(json.dumps(lettered(message, spelling.fuse)))
        lines.append("```")
    return "\n".join([*lines[1:], ""])


def lettered(value: Any, fuse: str) -> Any:
    """The same with each text as the letters of its parts."""
    if isinstance(value, list):
        return [lettered(item, fuse) for item in value]
    if isinstance(value, dict):
        return {key: item if key in ("role", "type") else lettered(item, fuse) for key, item in value.items()}
    if value == "be careful":
        return "system"
    pieces = re.split(r"\n\n(?=\[compactlib|live|prompt)", value) if fuse == "text" else [value]
    return "\n\n".join(map(spoken, pieces))


def in_chapter() -> tuple[str, str, str]:
    """What stands before, between and behind the marks."""
    before, mark, rest = CHAPTER.read_text("utf-8").partition(BEGIN)
    inside, end, after = rest.partition(END)
    return before + mark, inside, end + after


def test_the_chapter_shows_what_is_written() -> None:
    """Every dialect, byte for byte."""
    assert in_chapter()[1] == drawn()


def test_the_chapter_names_every_shape() -> None:
    """The table has a line for each, with how it is fused."""
    fused = {"yes": "one message", "text": "one text", "no": "a message for each part"}
    table = [line.split(" | ") for line in CHAPTER.read_text("utf-8").splitlines() if line.startswith("| ")]
    rows = {row[0].strip("| "): row[1] for row in table}

    assert {name: rows[name] for name in SPELLINGS} == {name: fused[spelling.fuse] for name, spelling in SPELLINGS.items()}


def test_a_head_with_a_picture_is_no_text() -> None:
    """Where heads are one text, a prompt with a picture makes the head a list of parts, and it is recognised all the same."""
    spelling = SPELLINGS["strict-template"]
    made = conversation(spelling, turns=1, steps=12)
    picture = SPELLINGS["openai-chat"].user("prompt 0", picture=True)
    made = cl.parse(
        [render_messages(made)[0], picture, *render_messages(made)[2:]],
        dialect="openai-chat",
        origins={at: Origin.TOOL for at, message in enumerate(made.messages) if message.origin is Origin.TOOL},
    )
    outcome = compacted(cl.compact(made, policy(spelling), summarise=answer, when="now"))
    head = render_messages(outcome.conversation)[1]
    back = cl.parse(cl.render(outcome.conversation), dialect="openai-chat")

    assert [part["type"] for part in head["content"]] == ["text", "text", "image_url"]
    assert [message.origin for message in back.messages[:3]] == [None, Origin.SUMMARY, None]
    assert cl.render(back) == cl.render(outcome.conversation)


def test_neighbours_that_somebody_joined_are_told_apart() -> None:
    """A proxy that merges a person's messages into one text loses nothing: summary and prompt are found in it."""
    spelling = SPELLINGS["openai-chat"]
    outcome = compacted(cl.compact(conversation(spelling, turns=12, steps=1), policy(spelling), summarise=answer, when="now"))
    messages = render_messages(outcome.conversation)
    users = [message for message in messages[1:4] if message["role"] == "user"]
    joined = "\n\n".join(text for message in users for text in texts(message))
    body = [messages[0], {"role": "user", "content": joined}, *messages[1 + len(users) :]]
    back = cl.parse(body, dialect="openai-chat")

    assert cl.render(back) == body
    assert [message.origin for message in back.messages[:3]] == [None, Origin.SUMMARY, None]
    assert back.messages[2].text.endswith(users[-1]["content"])


def test_a_head_of_a_summary_alone_is_one_text_too() -> None:
    """Nobody's prompt opens the turn: then summary and earlier prompts are all there is, and both are on the wire."""
    spelling = SPELLINGS["strict-template"]
    steps = [message for number in range(12) for message in step(spelling, number)]
    made = cl.parse([spelling.user("prompt 0"), *steps, spelling.user("prompt 1"), *steps], dialect="openai-chat")
    messages = (*made.messages[1 : 1 + len(steps)], *made.messages[2 + len(steps) :])
    quoted = evolve(made.messages[1 + len(steps)], origin=Origin.UNKNOWN)
    made = evolve(made, messages=(*messages[:4], quoted, *messages[4:]))
    outcome = compacted(cl.compact(made, policy(spelling), summarise=answer, when="now"))
    head = render_messages(outcome.conversation)[0]["content"]

    assert outcome.kept_prompt is None
    assert [spoken(piece) for piece in re.split(r"\n\n(?=\[compactlib)", head)] == ["S", "E"]


def test_a_profile_of_another_dialect_is_a_mistake() -> None:
    """And an unknown one is found when the policy is made."""
    with pytest.raises(PolicyError, match="is for openai-chat, not for gemini"):
        cl.compact(
            conversation(SPELLINGS["gemini"], turns=12, steps=1), cl.Policy(window_tokens=4_000, profile="openai"), when="now"
        )
    with pytest.raises(PolicyError, match="none is called"):
        cl.Policy(window_tokens=4_000, profile="no such route")


class TestResponses:
    """OpenAI Responses: items."""

    spelling = SPELLINGS["openai-responses"]

    @pytest.mark.parametrize("field", ["previous_response_id", "conversation"])
    def test_history_at_the_provider_is_refused(self, field: str) -> None:
        """Before anybody is asked: what would be summarised is not there."""
        items = render_messages(conversation(self.spelling, turns=12, steps=1))
        body = {"model": "m", "input": items, field: "resp_1"}
        outcome = cl.compact(cl.parse(body, dialect="openai-responses"), policy(self.spelling), summarise=never, when="now")

        assert isinstance(outcome, Refused)
        assert outcome.reason == "prefix-at-provider"
        assert cl.render(outcome.conversation) == body
        without = cl.parse({**body, field: None}, dialect="openai-responses")
        assert isinstance(cl.compact(without, policy(self.spelling), summarise=answer, when="now"), Compacted)

    def test_a_cut_falls_between_responses_only(self) -> None:
        """Reasoning stays with the items it led to, however they lie."""
        made = conversation(self.spelling, turns=1, steps=12, thought="hm")
        outcome = compacted(cl.compact(made, policy(self.spelling), summarise=answer, when="now"))

        assert all(render_messages(made)[cut]["type"] == "reasoning" for cut in cl.legal_cuts(made).step)
        assert isinstance(made.messages[outcome.cut].blocks[0], Reasoning)

    def test_an_output_may_come_late(self) -> None:
        """Behind a person's words and the model's: no cut parts it from its call, and those words are inside the step."""
        call = {"type": "function_call", "call_id": "a", "name": "ls", "arguments": "{}"}
        output = {"type": "function_call_output", "call_id": "a", "output": "x"}
        said = [{"role": "user", "content": "meanwhile"}, {"role": "assistant", "content": "ok"}]
        items = [{"role": "user", "content": "go"}, call, *said, output, {"role": "assistant", "content": "end"}]
        cuts = cl.legal_cuts(cl.parse(items, dialect="openai-responses"))

        assert (cuts.turn, cuts.step) == ((), (1, 5))

    def test_what_is_made_has_no_id(self) -> None:
        """Ids are the provider's to give."""
        outcome = compacted(
            cl.compact(conversation(self.spelling, turns=12, steps=1), policy(self.spelling), summarise=answer, when="now")
        )
        head = render_messages(outcome.conversation)[1:3]

        assert [set(item) for item in head] == [{"role", "content"}] * 2

    def test_a_compaction_item_comes_first(self) -> None:
        """Nobody can read it, so it stays, before the developer's words; what stood before it goes; the next time as well."""
        compaction = {"type": "compaction", "encrypted_content": "sealed"}
        messages = render_messages(conversation(self.spelling, turns=12, steps=1))
        items = [{"role": "developer", "content": "rules"}, {"role": "user", "content": "before"}, compaction, *messages[1:]]
        outcome = compacted(
            cl.compact(cl.parse(items, dialect="openai-responses"), policy(self.spelling), summarise=answer, when="now")
        )
        made = render_messages(outcome.conversation)

        assert made[:2] == [compaction, {"role": "developer", "content": "rules"}]
        assert spoken(texts(made[2])[0]) == "S"
        assert {"role": "user", "content": "before"} not in made  # it is quoted, as far as there is room for earlier prompts
        again = cl.parse([*made, *messages[1:]], dialect="openai-responses")
        assert [message.origin for message in again.messages[:4]] == [None, None, Origin.SUMMARY, None]
        second = compacted(cl.compact(again, policy(self.spelling), summarise=answer_more, when="now"))
        assert render_messages(second.conversation)[:2] == made[:2]
        assert [message.origin for message in second.conversation.messages].count(Origin.SUMMARY) == 1

    def test_a_tool_that_was_found_keeps_its_search(self) -> None:
        """A call in the tail whose tool was loaded before the cut would be unknown."""
        found = [
            {"type": "tool_search_call", "call_id": "s", "arguments": {}, "execution": "client"},
            {
                "type": "tool_search_output",
                "call_id": "s",
                "tools": [{"type": "function", "name": "rare"}],
                "execution": "client",
            },
        ]
        call = [
            {"type": "function_call", "call_id": "r", "name": "rare", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "r", "output": "x"},
        ]
        said = [{"role": "assistant", "content": "ok"}, {"role": "user", "content": "more"}]
        items = [{"role": "user", "content": "go"}, *found, *said, *call, *said, {"role": "assistant", "content": "end"}]
        cuts = cl.legal_cuts(cl.parse(items, dialect="openai-responses"))

        assert (cuts.turn, cuts.step) == ((8,), (1, 7, 9))


def answer_more(request: SummaryRequest) -> str:
    assert request.previous
    return BODY.replace("- looked", "- looked\n- and more")


class TestAnthropic:
    """Compaction blocks stand in the model's messages there."""

    def test_of_a_message_only_the_compaction_block_stays(self) -> None:
        """What the model said behind it is summarised like other words, and its calls do not lose their results."""
        block = {"type": "compaction", "content": None, "encrypted_content": "sealed"}
        spelling = SPELLINGS["anthropic"]
        messages = render_messages(conversation(spelling, turns=12, steps=1))
        said = [{"type": "text", "text": "as I said"}, {"type": "tool_use", "id": "t", "name": "read", "input": {}}]
        result = {"type": "tool_result", "tool_use_id": "t", "content": "x"}
        body = [
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": [block, *said]},
            {"role": "user", "content": [result]},
            *messages,
        ]
        shown: list[str] = []

        def listen(request: SummaryRequest) -> str:
            shown.append(request.text)
            return BODY

        outcome = compacted(cl.compact(cl.parse(body, dialect="anthropic"), policy(spelling), summarise=listen, when="now"))

        assert outcome.conversation.messages[0].blocks == (Opaque("compaction", block),)
        assert "as I said" in shown[0]


class TestBedrock:
    """Tools stay, cache marks go with what they marked."""

    spelling = SPELLINGS["bedrock"]

    def test_tools_and_marks(self) -> None:
        messages = render_messages(conversation(self.spelling, turns=12, steps=1))
        mark = {"cachePoint": {"type": "default"}}
        messages[0]["content"].append(mark)
        messages[-1]["content"].append(mark)
        body = self.spelling.body(messages, system="s", words="", thinking=False)
        outcome = compacted(
            cl.compact(cl.parse(body, dialect="bedrock"), policy(self.spelling), summarise=answer, when="now", pins=[0])
        )
        made = cl.render(outcome.conversation)

        assert made["toolConfig"] == body["toolConfig"]
        assert json.dumps(made["messages"]).count("cachePoint") == 1
        assert made["messages"][-1]["content"][-1] == mark


class TestGemini:
    """Parts are never merged, and what is signed stays as it is."""

    spelling = SPELLINGS["gemini"]

    def test_signed_parts_stay(self) -> None:
        made = conversation(self.spelling, turns=1, steps=12, thought="hm")
        outcome = compacted(cl.compact(made, policy(self.spelling), summarise=answer, when="now"))
        tail = render_messages(outcome.conversation)[1:]

        assert tail == render_messages(made)[outcome.cut :]
        assert all("thoughtSignature" in content["parts"][-1] for content in tail if content["role"] == "model")


@pytest.mark.parametrize("name", [name for name, spelling in SPELLINGS.items() if not spelling.alternates])
def test_a_preamble_without_words_is_not_kept(name: str) -> None:
    """It would be an empty block of the head, and it is nobody's."""
    spelling = SPELLINGS[name]
    messages = render_messages(conversation(spelling, turns=12, steps=1))
    at = int(spelling.has_system)
    body = [*messages[:at], spelling.user("  "), *messages[at:]]
    outcome = compacted(cl.compact(cl.parse(body, dialect=spelling.dialect), policy(spelling), summarise=answer, when="now"))

    assert "  " not in texts(render_messages(outcome.conversation))


def test_the_key_of_the_messages_is_the_dialects() -> None:
    """As the generators of these tests believe."""
    assert {messages_key(spelling.dialect) == spelling.key for spelling in SPELLINGS.values()} == {True}


if __name__ == "__main__":
    head, _, foot = in_chapter()
    CHAPTER.write_text(head + drawn() + foot, "utf-8")
