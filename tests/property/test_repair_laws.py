"""
The laws of repair, over conversations with several faults at once and over every short word.

`broken_laws` checks one repair without any code of the passes:

* L1: what is left is exactly what the validator still calls an error; a valid
  conversation comes back as the same object; repairing twice is repairing once,
  in memory and on the wire, where all that was mended is written;
* L4: pending calls stay pending unless the conversation is closed;
* L5: sealed model messages of the current turn are the same objects, in order;
* L9: no success is invented, and what is new says so;
* L8: no word of a person, and none of the model's, is lost;
* L16: the same again gives the same, ids included, also in another process;
* L19: messages far from any fault are the same objects.
"""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from attrs import asdict
from hypothesis import given, settings
from hypothesis import strategies as st

from compactlib.dialects import parse, render
from compactlib.errors import WireError
from compactlib.model import Conversation, Message, Origin, Reasoning, Text
from compactlib.protocol import answering
from compactlib.protocol.answering import UNKNOWN_OUTCOME
from compactlib.protocol.draft import pieces_of
from compactlib.protocol.mending import NO_OUTPUT
from compactlib.protocol.repair import Repaired, repair
from compactlib.protocol.validator import Violation, check
from compactlib.turns import Kind, divide

from ..strategies import build, histories
from ..tongues import stories, tell
from ..words import build as spell
from ..words import conversations, words

WHOLE = os.environ.get("COMPACTLIB_WHOLE") == "1"
"""Whether words of five letters are repaired as well."""

Messages = list[dict[str, Any]]
PROFILES = {
    "anthropic": ("anthropic", "anthropic-strict", "anthropic-no-prefill"),
    "openai-chat": ("openai-chat", "openai-compatible", "groq"),
    "openai-responses": ("openai-responses", "responses-compatible", "responses-through-chat"),
    "gemini": ("gemini", "gemini-strict", "gemini-3"),
    "bedrock": ("bedrock", "bedrock-strict", "bedrock-results-alone"),
    "mistral": ("mistral", "mistral-v3", "mistral-v13"),
}

APPENDED_TO_NEVER = {"bedrock", "openai-responses"}
"""The dialects where no word that is sent, in the profile that it is sent in, ends as it may not."""

# -- the laws ----------------------------------------------------------------------------------------------------------


def errors(conversation: Conversation, *, close: bool, profile: str) -> list[Violation]:
    """What the provider would refuse."""
    return refused(everything(conversation, close=close, profile=profile))


def everything(conversation: Conversation, *, close: bool, profile: str) -> tuple[Violation, ...]:
    """All that is said of it."""
    mode: Any = "request" if close else "history"
    return check(conversation, mode=mode, profile=profile)


def refused(found: tuple[Violation, ...]) -> list[Violation]:
    return [one for one in found if one.level == "error"]


def is_written(made: Repaired, said_of_it: tuple[Violation, ...], *, close: bool, profile: str) -> bool:
    """Whether the next process is told the same of what it reads, and has nothing to do where nothing is left."""
    after = again(made.conversation)
    told = everything(after, close=close, profile=profile)
    if [(one.rule, one.level, one.pointer) for one in told] != [(one.rule, one.level, one.pointer) for one in said_of_it]:
        return False
    return bool(made.left) or not repair(after, close=close, profile=profile).fixes


def broken_laws(before: Conversation, made: Repaired, *, close: bool, profile: str) -> list[str]:
    """The laws that a repair breaks, in words."""
    after = made.conversation
    first = errors(before, close=close, profile=profile)
    found = everything(after, close=close, profile=profile)
    checks = {
        "L1: what is left is named": [one.violation for one in made.left] == refused(found),
        "L1: what is left has a reason": all(one.reason for one in made.left),
        "L1: what is valid is the same object": bool(first) or (after is before and not made.fixes),
        "L1: a fix is a change": (after is before) == (not made.fixes),
        "L1: twice is once": repair(after, close=close, profile=profile).conversation is after,
        "L1: what was mended is written": not made.fixes or is_written(made, found, close=close, profile=profile),
        "L4: the frontier is kept": close or keeps_frontier(before, after),
        "L5: sealed messages are untouched": holds_in_order(still_sealed(before, after), after.messages),
        "L8: no word is lost": not said(before.messages) - said(after.messages),
        "L9: no success is invented": all(map(is_known(before), results(after.messages))),
        "L19: the rest is the same": far_away(before, made, first) <= {id(message) for message in after.messages},
        "fixes are JSON": all(json.dumps(asdict(fix)) for fix in made.fixes),
        "fixes name messages": all(fix.index is None or fix.index < len(before.messages) for fix in made.fixes),
    }
    return [law for law, holds in checks.items() if not holds]


def again(conversation: Conversation) -> Conversation:
    """What the next process reads."""
    return parse(render(conversation), dialect=conversation.dialect)


def keeps_frontier(before: Conversation, after: Conversation) -> bool:
    """Whether no synthetic result is for a call that was pending, as far as its id, which it kept, tells which call that is."""
    if not any(message.role == "model" for message in before.messages):
        return True
    pending = Counter(before.messages[at].calls[ordinal].id for at, ordinal in divide(before).pending)
    called = Counter(call.id for message in after.messages for call in message.calls)
    first = Counter(call.id for message in before.messages for call in message.calls)
    made = Counter(one.call_id for message in after.messages for one in message.results if one.text == UNKNOWN_OUTCOME)
    known = {key: count for key, count in pending.items() if called[key] and first[key] == count}
    return all(not made[key] or called[key] - made[key] >= count for key, count in known.items())


def sealed(conversation: Conversation) -> list[Message]:
    """The model messages of the current turn that hold reasoning."""
    messages = conversation.messages
    if not any(message.role == "model" for message in messages):
        return []
    start = divide(conversation).current_turn
    return [
        one
        for at, one in enumerate(messages)
        if at >= start and any(isinstance(part, Reasoning) for part in one.blocks) and not is_alone(messages, at)
    ]


def is_alone(messages: tuple[Message, ...], at: int) -> bool:
    """Whether reasoning is an item of which its response has nothing else: then the step is gone, and it may go too."""
    following = next((message.role for message in messages[at + 1 :] if message.role != "tool"), "")
    return messages[at].wire.form == "item" and following != "model"


def still_sealed(before: Conversation, after: Conversation) -> list[Message]:
    """Those that are sealed before, but for those whose turn is closed now: a prompt stands behind them that did not before."""
    wanted = sealed(before)
    if not wanted:
        return []
    place = {id(message): at for at, message in enumerate(after.messages)}
    closed = max((at for at, kind in enumerate(divide(after).kinds) if kind is Kind.PROMPT), default=-1)
    at, still = -1, []
    for message in before.messages:
        at = place.get(id(message), at)  # what is gone stood behind the one before it
        if at >= closed and any(message is one for one in wanted):
            still.append(message)
    return still


def holds_in_order(wanted: list[Message], messages: tuple[Message, ...]) -> bool:
    """Whether all *wanted* are among *messages*, the same objects in the same order."""
    rest = iter(messages)
    return all(any(found is one for found in rest) for one in wanted)


def said(messages: tuple[Message, ...]) -> Counter[tuple[str, str]]:
    """All words that are not blank, by who said them."""
    return Counter(
        (message.role, block.text)
        for message in messages
        for block in message.blocks
        if isinstance(block, Text) and block.text.strip()
    )


def results(messages: tuple[Message, ...]) -> list[str]:
    """The text of every result."""
    return [result.text for message in messages for result in message.results]


def is_known(before: Conversation) -> Any:
    """Whether a result says what one of the input said, or that nothing is known."""
    known = {*results(before.messages), UNKNOWN_OUTCOME, NO_OUTPUT, "(the error was not recorded)"}
    return lambda text: text in known or text.endswith("(see attached image)")


def far_away(before: Conversation, made: Repaired, first: list[Violation]) -> set[int]:
    """The messages in no stretch, from the model's messages up to its next, that a fault or a fix speaks of."""
    stretches, number, last = [], 0, ""
    for message in before.messages:
        number += message.role == "model" != last
        last = message.role
        stretches.append(number)
    named = [one.index for one in first] + [fix.index for fix in made.fixes] + [one.violation.index for one in made.left]
    near = {stretches[index] for index in named if index is not None and index < len(stretches)}
    for fix in made.fixes:  # a message is joined to the one before it, between which everything may have gone
        if fix.name == "merge-same-role" and fix.index is not None:
            stretch = stretches[fix.index]
            while stretch in near:
                stretch -= 1
            near.add(stretch)
    return {id(message) for message, stretch in zip(before.messages, stretches, strict=True) if stretch not in near}


# -- conversations with wounds -----------------------------------------------------------------------------------------


@st.composite
def wounded(draw: st.DrawFn, dialect: str) -> Messages:
    """The wire messages of a legal conversation, with one to five wounds."""
    messages = build(draw(histories()), dialect, thinking=draw(st.booleans()))
    for _ in range(draw(st.integers(1, 5))):
        draw(st.sampled_from(WOUNDS))(draw, messages, dialect)
    return messages


def at_any(draw: st.DrawFn, messages: Messages) -> int:
    """An index of a message."""
    return draw(st.integers(0, len(messages) - 1))


def lose(draw: st.DrawFn, messages: Messages, dialect: str) -> None:
    if messages:
        messages.pop(at_any(draw, messages))


def double(draw: st.DrawFn, messages: Messages, dialect: str) -> None:
    if messages:
        messages.insert(at_any(draw, messages), copy.deepcopy(messages[at_any(draw, messages)]))


def swap(draw: st.DrawFn, messages: Messages, dialect: str) -> None:
    if messages:
        messages.insert(at_any(draw, messages), messages.pop(at_any(draw, messages)))


def interrupt(draw: st.DrawFn, messages: Messages, dialect: str) -> None:
    role = draw(st.sampled_from(["user", "assistant"]))
    messages.insert(draw(st.integers(0, len(messages))), {"role": role, "content": draw(st.sampled_from(["wait", "", " "]))})


def empty(draw: st.DrawFn, messages: Messages, dialect: str) -> None:
    if messages:
        message = messages[at_any(draw, messages)]
        if "content" in message and (message["role"] != "tool" or dialect == "openai-chat"):
            message["content"] = draw(st.sampled_from(["", [], "  "] + ([None] if dialect == "openai-responses" else [])))


def stray(draw: st.DrawFn, messages: Messages, dialect: str) -> None:
    result = {"type": "tool_result", "tool_use_id": "nobody", "content": "ok"}
    block: dict[str, Any] = {"role": "user", "content": [result, {"type": "text", "text": "and this"}]}
    tool = {"role": "tool", "tool_call_id": "nobody", "content": "ok"}
    output = {"type": "function_call_output", "call_id": "nobody", "output": "ok"}
    made = {"anthropic": block, "openai-chat": tool, "openai-responses": output}
    messages.insert(draw(st.integers(0, len(messages))), made[dialect])


def rename(draw: st.DrawFn, messages: Messages, dialect: str) -> None:
    """Let one id be another, everywhere: illegal, empty, or one that is in use."""
    new = draw(st.sampled_from(["functions.read:0", "", "c1", "x" * 70]))
    old = draw(st.sampled_from(["c1", "c2", "c3"]))
    text = json.dumps(messages).replace(f'"{old}"', json.dumps(new))
    messages[:] = json.loads(text)


def unseal(draw: st.DrawFn, messages: Messages, dialect: str) -> None:
    for block in blocks(messages, "thinking"):
        if draw(st.booleans()):
            block["signature"] = ""


def speak_late(draw: st.DrawFn, messages: Messages, dialect: str) -> None:
    """Words behind a call, in its message."""
    if dialect == "anthropic":
        for message in messages:
            held = message["content"]
            if isinstance(held, list) and any(block["type"] == "tool_use" for block in held) and draw(st.booleans()):
                held.append({"type": "text", "text": "and so it goes"})


def spoil_arguments(draw: st.DrawFn, messages: Messages, dialect: str) -> None:
    for block in blocks(messages, "tool_use"):
        if draw(st.booleans()):
            block["input"] = draw(st.sampled_from(["{", '{"a": 1}', None, [1]]))
    for message in messages:
        for call in message.get("tool_calls") or ():
            if draw(st.booleans()):
                call["function"]["arguments"] = draw(st.sampled_from(['{"a": ', "", "NaN"]))
        if message.get("type") == "function_call" and draw(st.booleans()):
            message["arguments"] = draw(st.sampled_from([{"a": 1}, [1], None, '{"a": ']))


def picture(draw: st.DrawFn, messages: Messages, dialect: str) -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
    for block in blocks(messages, "tool_result"):
        if draw(st.booleans()):
            block.update(is_error=True, content=[image])


def misname(draw: st.DrawFn, messages: Messages, dialect: str) -> None:
    """Ids of items: left out, doubled, or of another type."""
    if dialect == "openai-responses":
        for message in messages:
            if "role" not in message or message["role"] == "assistant":
                new = draw(st.sampled_from(["keep", "drop", "msg_1", "fc_1", "rs_1", "x" * 70]))
                message.pop("id", None) if new == "drop" else message.update({} if new == "keep" else {"id": new})


def shuffle_blocks(draw: st.DrawFn, messages: Messages, dialect: str) -> None:
    if messages:
        held = messages[at_any(draw, messages)].get("content")
        if isinstance(held, list):
            held[:] = draw(st.permutations(held))


def blocks(messages: Messages, kind: str) -> list[dict[str, Any]]:
    """The blocks of a kind."""
    return [
        block
        for message in messages
        if isinstance(message.get("content"), list)
        for block in message["content"]
        if block["type"] == kind
    ]


WOUNDS = [
    lose, lose, double, swap, swap, interrupt, empty, stray, rename, unseal, speak_late, spoil_arguments, picture, misname,
    shuffle_blocks,
]  # fmt: skip


# -- the tests ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", ["anthropic", "openai-chat", "openai-responses"])
def test_repair_of_several_faults_keeps_every_law(dialect: str) -> None:
    """Whatever is broken, in whichever profile, closed or not."""

    @given(wounded(dialect), st.booleans(), st.sampled_from(PROFILES[dialect]))
    def holds(messages: Messages, close: bool, profile: str) -> None:
        conversation = parse(messages, dialect=dialect)
        made = repair(conversation, close=close, profile=profile)

        assert broken_laws(conversation, made, close=close, profile=profile) == []

        twin = repair(parse(messages, dialect=dialect), close=close, profile=profile)
        assert (twin.fixes, twin.left, render(twin.conversation)) == (made.fixes, made.left, render(made.conversation))

    holds()


@st.composite
def gappy(draw: st.DrawFn, dialect: str) -> Messages:
    """The wire messages of a valid story, from whose objects, at any depth, keys were lost, or hold null or nonsense."""
    body = json.loads(json.dumps(tell(draw(stories(dialect=dialect)), dialect)))  # nothing of it is shared
    messages: Messages = body[{"gemini": "contents", "openai-responses": "input"}.get(dialect, "messages")]
    nonsense = st.sampled_from(["", [], {}, " ", "{", '{"a":NaN}', 1])
    for _ in range(draw(st.integers(1, 4))):
        found = [one for one in objects(messages) if one]
        one = draw(st.sampled_from(found)) if found else {"": None}
        key = draw(st.sampled_from(sorted(one)))
        if draw(st.booleans()):
            del one[key]
        else:
            one[key] = draw(st.none() | nonsense)
    return messages


def objects(value: Any) -> Iterator[dict[str, Any]]:
    """Every object in a JSON value."""
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    for item in value if isinstance(value, list) else ():
        yield from objects(item)


@settings(max_examples=150)
@pytest.mark.parametrize("dialect", list(PROFILES))
@given(data=st.data())
def test_what_was_not_there_is_written(dialect: str, data: st.DataObject) -> None:
    """L1: arguments, ids and contents that a repair makes up stand on the wire too."""
    messages = data.draw(gappy(dialect))
    close, profile = data.draw(st.booleans()), data.draw(st.sampled_from(PROFILES[dialect]))
    try:
        conversation = parse(messages, dialect=dialect)
    except WireError:
        return
    made = repair(conversation, close=close, profile=profile)

    assert is_written(made, everything(made.conversation, close=close, profile=profile), close=close, profile=profile)


@pytest.mark.parametrize(
    ("dialect", "call", "path", "fix"),
    [
        ("anthropic", {"type": "tool_use", "id": "t2", "name": "Read"}, ("input",), "wrap-arguments"),
        ("bedrock", {"toolUse": {"toolUseId": "t2", "name": "Read"}}, ("toolUse", "input"), "wrap-arguments"),
        ("openai-chat", {"function": {"name": "Read"}}, ("function", "arguments"), "wrap-arguments"),
        ("openai-chat", {"function": {"name": "Read", "arguments": "{}"}}, ("id",), "rename-id"),
        ("openai-chat", {"id": None, "type": "function", "function": {"arguments": "{}", "name": "R"}}, ("id",), "rename-id"),
        ("mistral", {"function": {"name": "Read", "arguments": "{}"}}, ("id",), "rename-id"),
        ("gemini", {"function_call": {"name": "Read", "args": []}}, ("function_call", "args"), "wrap-arguments"),
    ],
)
def test_a_key_that_a_call_lacked_is_written(dialect: str, call: Any, path: tuple[str, ...], fix: str) -> None:
    asked = {"gemini": {"parts": [{"text": "x"}]}, "bedrock": {"content": [{"text": "x"}]}}.get(dialect, {"content": "x"})
    called = {"gemini": {"role": "model", "parts": [call]}}.get(dialect, {"role": "assistant", "content": [call]})
    if dialect in ("openai-chat", "mistral"):
        called = {"role": "assistant", "content": "", "tool_calls": [call]}
    made = repair(parse([{"role": "user", **asked}, called], dialect=dialect), close=True)
    written = render(made.conversation)[1]
    value = (written.get("tool_calls") or written.get("parts") or written["content"])[0]
    for key in path:
        value = value[key]

    assert fix in [one.name for one in made.fixes]
    assert value in ({}, "{}", {"unparsed_arguments": []}, '{"unparsed_arguments": null}') or path == ("id",)
    assert value is not None


@pytest.mark.parametrize("dialect", ["anthropic", "bedrock"])
def test_results_that_are_led_back_are_looked_at_once(dialect: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cost is linear: one message holds the results of every batch, and is not taken apart for each."""
    count = 40
    calls: Messages = []
    for at in range(count):
        block: Any = {"type": "tool_use", "id": f"t{at}", "name": "R", "input": {}}
        if dialect == "bedrock":
            block = {"toolUse": {"toolUseId": f"t{at}", "name": "R", "input": {}}}
        calls += [
            {"role": "user", "content": [{"text": "x"} if dialect == "bedrock" else {"type": "text", "text": "x"}]},
            {"role": "assistant", "content": [block]},
        ]
    results: list[Any] = [{"type": "tool_result", "tool_use_id": f"t{at}", "content": "r"} for at in range(count)]
    if dialect == "bedrock":
        results = [{"toolResult": {"toolUseId": f"t{at}", "content": [{"text": "r"}]}} for at in range(count)]
    taken = []

    def counted(message: Message) -> Any:
        taken.append(len(message.blocks))
        return pieces_of(message)

    monkeypatch.setattr(answering, "pieces_of", counted)
    made = repair(parse([*calls, {"role": "user", "content": results}], dialect=dialect))

    assert [fix.name for fix in made.fixes].count("hoist-results") == count - 1
    assert sum(taken) <= 6 * count


def test_each_call_that_words_stand_behind_is_named_once() -> None:
    """A-ORDER-01: the findings of a message are as large as the message."""
    content = [
        part
        for at in range(40)
        for part in ({"type": "tool_use", "id": f"t{at}", "name": "R", "input": {}}, {"type": "text", "text": "w"})
    ]
    found = check(parse([{"role": "user", "content": "x"}, {"role": "assistant", "content": content}], dialect="anthropic"))
    behind = [one.call_ids for one in found if one.rule == "A-ORDER-01"]

    assert behind == [(f"t{at}",) for at in range(40)]


@pytest.mark.parametrize("dialect", ["anthropic", "openai-chat", "openai-responses"])
def test_valid_history_comes_back_as_the_same_object(dialect: str) -> None:
    """With pending calls at its end or without."""

    @given(histories(), st.booleans())
    def holds(pieces: list[Any], thinking: bool) -> None:
        conversation = parse(build(pieces, dialect, thinking=thinking), dialect=dialect)
        made = repair(conversation)

        if not errors(conversation, close=False, profile=dialect):
            assert (made.conversation is conversation, made.fixes, made.left) == (True, (), ())

    holds()


def repair_words(longest: int, dialect: str) -> tuple[int, Counter[str], list[tuple[str, list[str]]]]:
    """Repair every word: how many conversations they are, which fixes were needed, and which broke a law."""
    count = 0
    fixes: Counter[str] = Counter()
    wrong = []
    for word, messages in conversations(words(longest), dialect):
        conversation = parse(messages, dialect=dialect)
        close = bool(count % 2)
        profile = PROFILES[dialect][count % 3]
        made = repair(conversation, close=close, profile=profile)
        broken = broken_laws(conversation, made, close=close, profile=profile)
        # of a word of strays nothing remains, and only what is sent now gets a message; neighbours behind
        # pending calls are not joined, because the results to come stand before them (law L4)
        waits = not close and bool(divide(made.conversation).pending)
        left = [one.violation.rule for one in made.left if close or made.conversation.messages]
        broken += [rule for rule in left if not (waits and rule in ("A-ALT-01", "B-ALT-01", "B-COLOC-01", "R-PAIR-03"))]
        if broken:
            wrong.append((word, broken))
        fixes.update(fix.name for fix in made.fixes)
        count += 1
    return count, fixes, wrong


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("dialect", "longest", "different"),
    [
        *(
            [("anthropic", 5, 26_267), ("openai-chat", 5, 16_545)]
            if WHOLE
            else [("anthropic", 4, 3_380), ("openai-chat", 4, 2_248)]
        ),
        ("openai-responses", 4, 2_028),
        ("gemini", 4, 3_380),
        ("bedrock", 4, 3_380),
        ("mistral", 4, 2_248),
    ],
)
def test_every_word_is_repaired(dialect: str, longest: int, different: int) -> None:
    """Nothing but an emptied history is left of all words up to that length, which stand for so many different conversations."""
    count, fixes, wrong = repair_words(longest, dialect)

    assert (count, wrong) == (different, [])
    wanted = {"synthesize-result", "drop-orphan", "dedup-result"} | (set() if dialect in APPENDED_TO_NEVER else {"append-user"})
    assert fixes.keys() >= wanted | ({"merge-same-role", "insert-bridge"} if dialect in ("anthropic", "bedrock") else set())


_PROGRAM = """
import json, sys
from attrs import asdict
from compactlib.dialects import parse, render
from compactlib.protocol.repair import repair
for dialect, messages in json.load(sys.stdin):
    made = repair(parse(messages, dialect=dialect), close=True)
    print(json.dumps([render(made.conversation), [asdict(fix) for fix in made.fixes]]))
"""


def test_two_processes_repair_alike() -> None:
    """L16: whatever the hash seed and the time zone, ids included."""
    call = {"type": "tool_use", "id": "functions.read:0", "name": "read", "input": {}}
    given_to_both = [
        [
            "anthropic",
            [{"role": "assistant", "content": [call, call, {**call, "input": {"a": 1}}]}, {"role": "user", "content": "x"}],
        ],
        ["openai-chat", spell("pdcrat", "openai-chat")],
    ]
    runs = [
        subprocess.run(
            [sys.executable, "-c", _PROGRAM],
            input=json.dumps(given_to_both),
            env={**os.environ, "PYTHONHASHSEED": seed, "TZ": zone},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed, zone in (("1", "UTC"), ("2", "Asia/Tokyo"))
    ]

    assert runs[0] == runs[1]
    assert "rename-id" in runs[0]


def test_appended_messages_do_not_change_new_ids() -> None:
    """L16, L18: the id that a call got stays when the conversation grows."""
    call = {"type": "tool_use", "id": "a.b", "name": "read", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "a.b", "content": "ok"}
    step: Messages = [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    ids = []
    for count in (1, 2, 5):
        made = repair(parse([{"role": "user", "content": "hi"}, *(step * count)], dialect="anthropic"))
        ids.append([one.id for message in made.conversation.messages for one in message.calls])

    assert ids[2][:2] == ids[1]
    assert ids[1][:1] == ids[0]
    assert len(set(ids[2])) == 5


def test_the_laws_are_seen_when_they_are_broken() -> None:
    """Each check finds a repair that is wrong in its way."""
    messages: Messages = [
        {"role": "user", "content": "look"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "ls", "input": {}}]},
        {"role": "user", "content": "go on"},
    ]
    before = parse(messages, dialect="anthropic")
    good = repair(before)

    def seen(after: Messages, fixes: Any = good.fixes) -> list[str]:
        made = Repaired(parse(after, dialect="anthropic"), fixes, ())
        return broken_laws(before, made, close=False, profile="anthropic")

    result = {"type": "tool_result", "tool_use_id": "a", "content": "a.py"}
    assert broken_laws(before, good, close=False, profile="anthropic") == []
    assert seen(messages)[0] == "L1: what is left is named"
    assert "L9: no success is invented" in seen(
        [*messages[:2], {"role": "user", "content": [result, {"type": "text", "text": "go on"}]}]
    )
    assert "L8: no word is lost" in seen(messages[:1])
    assert "L19: the rest is the same" in seen([{"role": "user", "content": "look"}, *messages[1:]])
    assert good.conversation.messages[1] is before.messages[1]
    assert good.conversation.messages[2].origin in (None, Origin.HUMAN)
