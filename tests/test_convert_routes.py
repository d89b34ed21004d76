"""
Conversions for single routes: what a profile demands beyond its dialect is met, and each change is a named loss.

The continuous integration converts a sample that is the same each time;
``COMPACTLIB_WHOLE=1`` more of them.
"""

from __future__ import annotations

import os
from collections import Counter
from itertools import product
from typing import Any, Final

import pytest
from attrs import evolve

import compactlib as cl
from compactlib.conformance.checks import judge
from compactlib.conformance.running import observe
from compactlib.converting import LOSSES
from compactlib.converting.routes import takes
from compactlib.dialects import DIALECTS
from compactlib.model import Call, Conversation, Media, Message, Origin, Reasoning, wire
from compactlib.protocol.profiles import PROFILES, Profile
from compactlib.turns import divide

from .scenarios import Scenario, scenario, seeded
from .spellings import SPELLINGS

ROUTES: Final = [profile for profile in PROFILES.values() if profile.dialect in DIALECTS]
WHOLE: Final = os.environ.get("COMPACTLIB_WHOLE") == "1"
EACH: Final = 20 if WHOLE else 1
"""How many conversations are converted from each wire shape for each route."""
COMPACTED: Final = 1 if WHOLE else 9
"""Every so manieth of them is compacted, too."""


def is_of_tools(origin: Any) -> bool:
    """Whether it is stated of all of a message that tools made it, as words or beside results."""
    stated = {*origin} if isinstance(origin, tuple) else {origin}
    return Origin.TOOL in stated and stated <= {Origin.TOOL, Origin.ATTACHMENT}


def drawn(name: str, number: int) -> Scenario:
    """A conversation of a wire shape, with a summariser that does its work."""
    return scenario(seeded(f"routes {name} {number}"), dialect=name, fault="")


def refused(conversation: Conversation, route: Profile) -> list[str]:
    """What a route refuses; of words beside results in a batch that still waits it refuses whatever is done (law L4)."""
    found = [one.rule for one in cl.check(conversation, mode="history", profile=route) if one.level == "error"]
    return [] if found == ["B-COLOC-01"] and divide(conversation).pending else found


def test_every_route_takes_what_is_converted_for_it() -> None:
    """What is valid stays so for every profile, in memory and on the wire; ids stay apart, and losses are of known names."""
    held: Counter[str] = Counter()
    for (name, spelling), route, number in product(SPELLINGS.items(), ROUTES, range(EACH)):
        source = drawn(name, number + 100 * ROUTES.index(route)).conversation
        if not takes(source, PROFILES[spelling.profile or spelling.dialect]):
            held["broken"] += 1
            continue
        made = cl.convert(source, dialect=route.dialect, profile=route.name)
        news = [new for _old, new in made.id_map]

        about = (name, route.name, number)
        assert refused(made.conversation, route) == [], about
        assert refused(cl.parse(made.body, dialect=route.dialect), route) == [], about
        assert {loss.name for loss in made.losses} <= LOSSES.keys(), about
        assert len(set(news)) == len(news), about
        held["converted"] += 1
        held["by a route alone"] += not takes(cl.convert(source, dialect=route.dialect).conversation, route)

    assert held["converted"] + held["broken"] == len(SPELLINGS) * len(ROUTES) * EACH
    assert held["converted"] > 2 * held["broken"], held
    assert held["by a route alone"] > held["converted"] // 10, held


def test_what_was_converted_for_a_route_is_compacted() -> None:
    """Every law holds for the compaction of it, under the same profile."""
    held: Counter[str] = Counter()
    for place, (name, route) in enumerate(product(SPELLINGS, ROUTES)):
        if place % COMPACTED:
            continue
        made = drawn(name, place)
        converted = cl.convert(made.conversation, dialect=route.dialect, profile=route.name).conversation
        policy = evolve(made.policy, profile=route.name)
        origins = [converted.messages[converted.position(at)].origin for at in range(converted.length)]
        kinds: Any = ["result" if is_of_tools(origin) else None for origin in origins]
        told = "result" in kinds  # words that only their origin tells from a person's
        record, outcome = observe(
            cl.compact, converted, policy, when="now", repeat=False, kinds=kinds if told else None, kinds_told=told
        )

        about = (name, route.name, place)
        assert [str(one) for one in judge(record) if one.verdict == "broken"] == [], about
        assert outcome.reason != "internal-invalid", about  # a counter that does not count is among what is drawn
        held[type(outcome).__name__] += 1

    assert held["Compacted"] > held.total() // 3, held


# --- Single routes ---------------------------------------------------------------------------------------------------


def asked(key: str) -> dict[str, Any]:
    return {"id": key, "type": "function", "function": {"name": "ls", "arguments": "{}"}}


CHAT: Final[list[dict[str, Any]]] = [
    {"role": "system", "content": "be brief"},
    {"role": "user", "content": "list them"},
    {
        "role": "assistant",
        "content": "I look.",
        "reasoning_content": "hm",
        "tool_calls": [asked("call00001"), asked("call00002")],
    },
    {"role": "tool", "tool_call_id": "call00001", "content": "a.py"},
    {"role": "tool", "tool_call_id": "call00002", "content": "b.py"},
    {"role": "system", "content": "and kind"},
    {"role": "user", "content": "both?"},
]


def converted(route: str, messages: list[dict[str, Any]] = CHAT, dialect: str = "openai-chat") -> cl.Converted:
    return cl.convert(cl.parse(messages, dialect=dialect), dialect=PROFILES[route].dialect, profile=route)


def names(made: cl.Converted) -> list[tuple[str, int | None]]:
    return [(loss.name, loss.index) for loss in made.losses]


def test_reasoning_goes_where_the_route_refuses_it() -> None:
    """Q-REAS-01, also that of the turn under way: it is another provider's."""
    made = converted("groq")

    assert not any(isinstance(block, Reasoning) for message in made.conversation.messages for block in message.blocks)
    assert names(made) == [("reasoning", 2)]


def test_instructions_are_called_and_placed_as_the_route_knows_them() -> None:
    """O-ROLE-01, O-SYS-01."""
    assert [one["role"] for one in converted("no-system-role").body[:2]] == ["developer", "user"]
    assert [one["role"] for one in converted("system-first").body[:3]] == ["system", "system", "user"]
    anthropic = {"system": "be brief", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 9}
    made = cl.convert(cl.parse(anthropic, dialect="anthropic"), dialect="openai-chat", profile="no-system-role")
    assert made.body["messages"][0] == {"role": "developer", "content": "be brief"}


def test_words_and_calls_are_apart_where_they_have_to_be() -> None:
    """M-EITHER-01 of old validators of Mistral."""
    made = converted("mistral-v3", [message for message in CHAT if message.get("content") != "and kind"])

    assert [("tool_calls" in one, bool(one.get("content"))) for one in made.body if one["role"] == "assistant"] == [
        (False, True),
        (True, False),
    ]
    assert ("grouping", 2) in names(made)


def test_results_are_alone_where_they_have_to_be() -> None:
    """B-COLOC-01: a word of the model's stands between."""
    answer = {"type": "tool_result", "tool_use_id": "a", "content": "a"}
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "list them"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "ls", "input": {}}]},
        {"role": "user", "content": [answer, {"type": "text", "text": "so?"}]},
    ]
    made = converted("bedrock-meta", messages, "anthropic")

    assert [message.role for message in made.conversation.messages] == ["user", "model", "user", "model", "user"]
    assert names(made) == [("added", 2)]


def test_neighbours_are_one_where_they_have_to_be() -> None:
    """A-ALT-01; a message of the same provider keeps its seals, and a sealed one that cannot be joined loses them by name."""
    said = {"role": "assistant", "content": "and more"}
    thought = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    sealed = {"role": "assistant", "content": [thought, {"type": "text", "text": "so"}]}
    first = {"role": "user", "content": "one"}
    closed = converted("anthropic-strict", [first, sealed, first, said, said, first], "anthropic")
    under_way = converted("anthropic-strict", [first, sealed, said], "anthropic")

    assert (len(closed.body), names(closed)) == (5, [("grouping", 4)])
    assert closed.body[1] == sealed
    assert names(under_way) == [("seal", 1), ("grouping", 2)]


def test_media_stay_in_results_where_the_route_takes_them() -> None:
    """Gemini 3 holds pictures in a result, which Gemini before it does not."""
    source = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}
    shown = [{"type": "text", "text": "see"}, {"type": "image", "source": source}]
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "look"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "shot", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": shown}]},
    ]
    there = {route: converted(route, messages, "anthropic").conversation for route in ("gemini", "gemini-3")}
    inside = {route: any(isinstance(part, Media) for part in one.messages[2].results[0].blocks) for route, one in there.items()}

    assert inside == {"gemini": False, "gemini-3": True}


def test_every_message_that_became_words_is_named() -> None:
    """Calls of one response, and results in messages of their own, are one message each afterwards: all of them are losses."""
    made = converted("strict-template-no-tools")

    assert [index for name, index in names(made) if name == "words"] == [2, 3, 4]
    assert ("grouping", None) in names(made)  # two texts of instructions are one


def test_texts_that_become_one_are_named() -> None:
    """Of a message, and of a result."""
    said = [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": said},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "ls", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": said}]},
        {"role": "assistant", "content": "done"},
    ]
    made = converted("strict-template", messages, "anthropic")

    assert (made.body[0]["content"], made.body[2]["content"]) == ("one\n\ntwo", "one\n\ntwo")
    assert names(made) == [("grouping", 0), ("grouping", 2)]


def test_kind_that_only_the_source_says_is_named() -> None:
    """Gemini tells a picture by its media type alone, and an address need not have any."""
    picture = {"type": "image", "source": {"type": "url", "url": "https://example.org/picture"}}
    named = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
    unsaid = converted("gemini", [{"role": "user", "content": [picture]}], "anthropic")
    told = converted("gemini", [{"role": "user", "content": [named]}])

    assert (names(unsaid), names(told)) == ([("field", 0)], [])


def test_pictures_that_a_model_thought_in_do_not_cross() -> None:
    """They are reasoning."""
    picture = {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}}
    parts = [{**picture, "thought": True}, {"text": "here"}, picture]
    made = converted("openai-chat", [{"role": "user", "parts": [{"text": "draw"}]}, {"role": "model", "parts": parts}], "gemini")

    assert [type(block).__name__ for block in made.conversation.messages[1].blocks] == ["Text", "Media"]
    assert names(made) == [("reasoning", 1)]


def test_an_address_where_bytes_are_wanted_crosses_as_one() -> None:
    """Some routes take it there; no provider could read it as bytes."""
    file = {"type": "file", "file": {"filename": "a.pdf", "file_data": "https://example.org/a.pdf"}}
    made = converted("gemini", [{"role": "user", "content": [file]}])

    assert made.body[0]["parts"] == [{"fileData": {"mimeType": "application/pdf", "fileUri": "https://example.org/a.pdf"}}]


def test_what_was_just_compacted_is_so_for_a_route_too() -> None:
    """Law L17: there is nothing new in it, also where messages had to be joined."""
    said = {"role": "assistant", "content": "word " * 900}
    messages = [{"role": "user", "content": "do it"}, *([said] * 6), {"role": "user", "content": "go on"}, said, said]
    policy = cl.Policy(window_tokens=8_000, tail_tokens=2_000)
    first = cl.compact(cl.parse(messages, dialect="anthropic"), policy, when="now")
    assert isinstance(first, cl.Compacted), first
    same = cl.convert(first.conversation, dialect="anthropic", profile="anthropic-strict")
    other = cl.convert(first.conversation, dialect="bedrock", profile="bedrock-strict")

    assert ("grouping" in {loss.name for loss in same.losses}, "grouping" in {loss.name for loss in other.losses}) == (True, True)
    assert cl.compact(same.conversation, policy, when="now").reason == "nothing-new"
    assert cl.compact(other.conversation, policy, when="now").reason == "nothing-new"


def test_what_is_broken_whatever_the_route_is_left() -> None:
    """A conversion is no repair: a stray result is as broken afterwards, and only then is nothing mended for the route."""
    stray = {"role": "tool", "tool_call_id": "nobody", "content": "lost"}
    conversation = cl.parse([CHAT[1], stray], dialect="openai-chat")

    assert cl.convert(conversation, dialect="openai-chat", profile="groq").conversation is conversation


# --- What was made by hand -------------------------------------------------------------------------------------------


NO_JSON: Final[dict[str, Any]] = {
    "a set": {"a": {1}},
    "an object": object(),
    "bytes": b"x",
    "no number": float("nan"),
    "a key": {1: 2},
    "a tuple": [()],
    "many digits": 10**5_000,
}


@pytest.mark.parametrize("arguments", NO_JSON.values(), ids=NO_JSON)
@pytest.mark.parametrize("route", [*DIALECTS, "strict-template-no-tools"])
def test_arguments_that_are_no_json_are_an_error_with_a_path(arguments: Any, route: str) -> None:
    """They can only have been made by hand; nothing else escapes."""
    call = Call("c1", "ls", arguments, wire("tool_use", ("type", "id", "name", "input")))
    asking = Message("model", (call,), wire("assistant", ("role", "content")))
    (prompt,) = cl.parse([{"role": "user", "content": "hi"}], dialect="anthropic").messages
    conversation = Conversation("anthropic", (prompt, asking))

    with pytest.raises(cl.WireError) as caught:
        cl.convert(conversation, dialect=PROFILES[route].dialect, profile=route)
    assert caught.value.path.startswith("$")


def test_a_value_inside_itself_is_no_json() -> None:
    """It would have no end."""
    circle: dict[str, Any] = {}
    circle["a"] = circle
    call = Call("c1", "ls", circle, wire("tool_use", ("type", "id", "name", "input")))
    conversation = Conversation("anthropic", (Message("model", (call,), wire("assistant", ("role", "content"))),))

    with pytest.raises(cl.WireError):
        cl.convert(conversation, dialect="mistral")
