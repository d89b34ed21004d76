"""
A conversation without its secrets: what is taken out, what stays and is told, and that nothing behind sees a secret.

Keys are planted wherever a dialect has words, and looked for wherever one could
come to light: in the store and its names, the output, the report, what the
summariser is asked, and what each command prints and writes.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest
from attrs import evolve

import compactlib as cl
from compactlib.cli import main
from compactlib.conformance.checks import judge
from compactlib.conformance.running import observe
from compactlib.credentials import KINDS
from compactlib.dialects import DIALECTS
from compactlib.model import Call, Json, Message, Opaque, Result, Text, Wire, wire
from compactlib.options import Admission, Limit
from compactlib.outcomes import Compacted
from compactlib.redacting import Found, Left, Redacted, redact, redact_message
from compactlib.summaries.rendering import SummaryRequest
from compactlib.transcripts import read_all

from .scenarios import scenario, seeded
from .spellings import SPELLINGS
from .test_cli import ACTING
from .test_cli import HOSTILE as SCREEN
from .test_digesting import long
from .test_rungs import BODY
from .test_turns import model, result, user

KEY: Final = "sk-test-4f9a0c2277d1e8b35566"
MARK: Final = f"[redacted v1: api key, {len(KEY)} chars]"
POLICY: Final = cl.Policy(window_tokens=32_000)

WHOLE: Final = os.environ.get("COMPACTLIB_WHOLE") == "1"
"""Whether ten times as many conversations are tried."""

PLANTED: Final = frozenset(
    {
        "command",
        "content",
        "file_path",
        "input",
        "instructions",
        "output",
        "path",
        "reasoning_content",
        "system",
        "text",
        "thinking",
    }
)
"""Keys, in any of the wires, whose value is words."""


def plant(value: Json, random: Random, key: str = "") -> Json:
    """The same body with keys in some of its words, arguments among them."""
    if isinstance(value, dict):
        return {name: plant(item, random, name) for name, item in value.items()}
    if isinstance(value, list):
        return [plant(item, random, key) for item in value]
    if not isinstance(value, str):
        return value
    if key == "arguments":
        try:
            return json.dumps(plant(json.loads(value), random), ensure_ascii=random.random() < 0.5)
        except ValueError:
            return value
    if key not in PLANTED or random.random() < 0.7:
        return value
    at = random.randint(0, len(value))
    return f"{value[:at]} {KEY} {value[at:]}"


def planted(dialect: str, number: int) -> cl.Conversation:
    """A conversation of the generator's, with keys in it."""
    conversation = scenario(seeded(f"{dialect} secrets {number}"), dialect=dialect).conversation
    body = plant(cl.render(conversation), seeded(f"{dialect} plants {number}"))
    return cl.parse(body, dialect=conversation.dialect)


def violations(conversation: cl.Conversation, mode: Any) -> Counter[Any]:
    return Counter((one.rule, one.index, one.level) for one in cl.check(conversation, mode=mode))


def messages_of(body: Any) -> list[dict[str, Any]]:
    """The messages of a body, or of a conversation as it is written."""
    body = cl.render(body) if isinstance(body, cl.Conversation) else body
    found: list[dict[str, Any]] = (
        body if isinstance(body, list) else next(v for k, v in body.items() if k in ("messages", "input", "contents"))
    )
    return found


def body_of(conversation: cl.Conversation) -> str:
    return json.dumps(cl.render(conversation))


# --- Every dialect ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", SPELLINGS)
def test_every_secret_is_taken_out_or_told(dialect: str) -> None:
    """
    Found and left make up what was planted, and only what was left can be seen.

    What comes out is the same conversation otherwise: it reads and divides
    alike, breaks no rule that it did not break, and comes back unchanged from
    being redacted again.
    """
    premises: Counter[str] = Counter()
    for number in range(80 if WHOLE else 8):
        before = planted(dialect, number)
        made = redact(before)
        after = made.conversation
        written = body_of(after)

        assert len(made.found) + len(made.left) == body_of(before).count(KEY)
        assert written.count(KEY) == len(made.left)
        assert written.count(MARK) >= len(made.found)
        assert {(one.kind, one.chars) for one in made.found} <= {("api key", len(KEY))}
        assert {(one.kind, one.chars) for one in made.left} <= {("api key", len(KEY))}
        again = redact(after)
        assert again == Redacted(after, (), made.left)
        assert again.conversation is after
        back = cl.parse(cl.render(after), dialect=after.dialect)
        assert cl.render(back) == cl.render(after)
        assert cl.turns(back) == cl.turns(before)
        for mode in ("history", "request"):
            assert not violations(back, mode) - violations(before, mode)
        current = next(reversed(cl.turns(before)), None)
        for position, (old, new) in enumerate(zip(before.messages, after.messages, strict=True)):
            index = before.wire_index(position)
            has_found = any(one.index == index for one in made.found)
            assert old is new or has_found
            assert old is new or not (old.role == "model" and current is not None and index >= current.start)
        premises.update(one.why for one in made.left)
        premises["found"] += len(made.found)
        premises["around"] += any(one.index is None for one in made.found)

    assert premises["found"] > 20
    assert premises["current turn"] > 0
    assert premises["around"] > 0 or dialect in ("openai-chat", "mistral", "strict-template", "strict-template-no-tools")


@pytest.mark.parametrize("dialect", SPELLINGS)
def test_what_is_appended_changes_only_what_was_open(dialect: str) -> None:
    """Law L18, as far as it can hold: what the model said is redacted once its turn is over, and all else stays as it was."""
    opened = 0
    for number in range(80 if WHOLE else 8):
        whole = planted(dialect, number)
        messages = messages_of(whole)
        count = seeded(f"{dialect} {number}").randint(1, len(messages))
        part = cl.parse(messages[:count], dialect=whole.dialect)
        start = next((turn.start for turn in reversed(cl.turns(part))), 0)
        if start not in {0, *(turn.start for turn in cl.turns(whole))}:
            continue  # a person's words between two results: they begin a turn until the second has come
        short = cl.render(redact(part).conversation)
        for index, (old, new) in enumerate(zip(short, messages_of(redact(whole).conversation), strict=False)):
            is_open = index >= start and part.messages[part.position(index)].role == "model"
            opened += is_open and old != new
            assert old == new or is_open

    assert opened


def test_nothing_is_found_in_real_conversations_that_hold_nothing(shared: Path) -> None:
    """Transcripts and requests of many agents, with their digests, ids, paths, diffs and pictures; each is the same object."""
    paths = sorted(path for path in (shared / "corpus").rglob("*.json*") if path.stat().st_size < 400_000)
    seen = 0
    for path in paths if WHOLE else paths[::2]:
        try:
            transcripts = read_all(path)
        except cl.WireError:
            continue
        for transcript in transcripts:
            seen += len(transcript.conversation.messages)
            assert redact(transcript.conversation).found == (), path.name

    assert seen > 1_000


# --- What is left ----------------------------------------------------------------------------------------------------


def of(body: Any, dialect: str = "anthropic") -> Redacted:
    return redact(cl.parse(body, dialect=dialect))


def test_nothing_found_is_the_same_object() -> None:
    conversation = cl.parse([user("hello"), model("hi")], dialect="anthropic")

    assert redact(conversation) == Redacted(conversation, (), ())
    assert redact(conversation).conversation is conversation


def test_what_the_model_said_goes_when_its_turn_is_over() -> None:
    """Law L5: until then not a letter of it is altered, arguments included."""
    asked = {"type": "tool_use", "id": "c1", "name": "bash", "input": {"command": f"login {KEY}"}}
    messages = [user(f"use {KEY}"), model(asked), user(result("c1", f"ok {KEY}"))]
    during = of(messages)
    after = of([*messages, model("done"), user("thanks")])

    assert during.left == (Left(1, "api key", len(KEY), "current turn"),)
    assert [one.index for one in during.found] == [0, 2]
    assert (after.left, [one.index for one in after.found]) == ((), [0, 1, 2])
    assert cl.render(after.conversation)[1]["content"][0]["input"] == {"command": f"login {MARK}"}


def test_reasoning_is_never_altered() -> None:
    """Sealed or not, in any turn."""
    thought = {"type": "thinking", "thinking": f"the key is {KEY}", "signature": "S"}
    made = of([user("go"), {"role": "assistant", "content": [thought, {"type": "text", "text": KEY}]}, user("on")])

    assert made.left == (Left(1, "api key", len(KEY), "reasoning"),)
    assert cl.render(made.conversation)[1]["content"] == [thought, {"type": "text", "text": MARK}]


def test_signed_call_keeps_its_arguments() -> None:
    """Gemini: the signature beside a call is of the call."""
    signed = {"functionCall": {"name": "sh", "args": {"c": KEY}}, "thoughtSignature": "S"}
    plain = {"functionCall": {"name": "sh", "args": {"c": KEY, "n": 1.5}}}
    answers = [{"functionResponse": {"name": "sh", "response": {"output": KEY, "n": 2}}}] * 2
    contents = [
        {"role": "user", "parts": [{"text": "go"}]},
        {"role": "model", "parts": [signed, plain, {"text": KEY, "thoughtSignature": "S"}]},
        {"role": "user", "parts": answers},
        {"role": "user", "parts": [{"text": "on"}]},
    ]
    made = of(contents, "gemini")
    written = cl.render(made.conversation)

    assert [one.why for one in made.left] == ["signed", "signed"]
    assert written[1]["parts"][0] == signed
    assert written[1]["parts"][1] == {"functionCall": {"name": "sh", "args": {"c": MARK, "n": 1.5}}}
    assert written[2]["parts"][0] == {"functionResponse": {"name": "sh", "response": {"output": MARK, "n": 2}}}


def test_what_the_provider_ran_stays() -> None:
    """A server tool's call and result are the provider's own record."""
    blocks = [
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": KEY}},
        {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [{"type": "web_search_result", "title": KEY}]},
        {"type": "container_upload", "file_id": KEY},
        {"type": "text", "text": "found", "citations": [{"cited_text": KEY}]},
    ]
    made = of([user("go"), {"role": "assistant", "content": blocks}, user("on")])

    assert [one.why for one in made.left] == ["provider", "provider", "unknown", "unknown"]
    assert (made.found, cl.render(made.conversation)[1]["content"]) == ((), blocks)


def test_ids_and_names_stay_and_are_told() -> None:
    """On both sides, so that a call finds its result, and the next request is taken."""
    call = {"type": "tool_use", "id": KEY, "name": KEY, "input": {}}
    messages = [user("go"), model(call), user({"type": "tool_result", "tool_use_id": KEY, "content": KEY}), user("on")]
    made = of({"messages": messages, "tools": [{"name": KEY, "input_schema": {}}]})

    assert [(one.index, one.why) for one in made.left] == [(None, "setting"), (1, "id"), (1, "id"), (2, "id")]
    assert cl.render(made.conversation)["messages"][2]["content"][0] == {**messages[2]["content"][0], "content": MARK}


@pytest.mark.parametrize("arguments", [{KEY: "a"}, {"password": 12345678}])
def test_keys_and_numbers_stay_and_are_told(arguments: dict[str, Any]) -> None:
    """Arguments stay what they were, whether the wire has them as an object or as a text."""
    call = {"id": "c1", "type": "function", "function": {"name": "sh", "arguments": json.dumps(arguments)}}
    chat = [
        user("go"),
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "ok"},
        user("on"),
    ]
    use = {"type": "tool_use", "id": "c1", "name": "sh", "input": arguments}
    given = {"type": "tool_result", "tool_use_id": "c1", "content": "ok"}

    for made in (
        of(chat, "openai-chat"),
        of([user("go"), {"role": "assistant", "content": [use]}, {"role": "user", "content": [given]}, user("on")]),
    ):
        assert ([one.why for one in made.left], made.found) == (["json"], ())


def test_settings_are_told_and_descriptions_redacted() -> None:
    """A server's credential has to be sent, or nothing works; what describes a tool does not need one."""
    body = {
        "model": "m",
        "system": [{"type": "text", "text": f"Use {KEY}.", "cache_control": {"type": "ephemeral"}}],
        "tools": [{"name": "t", "description": KEY, "input_schema": {"properties": {"a": {"description": KEY, "default": KEY}}}}],
        "mcp_servers": [{"url": "https://x", "authorization_token": KEY}],
        "messages": [user("hi")],
    }
    made = of(body)
    conversation = made.conversation
    written = cl.render(conversation)

    assert made.found == (Found(None, "api key", len(KEY)),) * 3
    assert made.left == (Left(None, "api key", len(KEY), "setting"),) * 2
    assert written["system"] == [{"type": "text", "text": f"Use {MARK}.", "cache_control": {"type": "ephemeral"}}]
    assert json.dumps(written["tools"]).count(KEY) == 1
    assert written["mcp_servers"] == body["mcp_servers"]
    again = cl.parse(written, dialect="anthropic")
    assert (conversation.system, conversation.tools) == (again.system, again.tools)


def test_trajectory_is_a_file_and_has_no_open_turn() -> None:
    """ATIF: nobody returned it and nobody checks it; calls and results stand in one step, and both are redacted."""
    asked = {"tool_call_id": "c1", "function_name": "sh", "arguments": {"c": f"login {KEY}"}}
    observed = {"results": [{"source_call_id": "c1", "content": f"ok {KEY}"}]}
    steps = [
        {"step_id": 1, "source": "user", "message": f"use {KEY}"},
        {"step_id": 2, "source": "agent", "message": KEY, "tool_calls": [asked], "observation": observed},
    ]
    made = of({"schema_version": "ATIF-v1.5", "steps": steps}, "atif")

    assert (len(made.found), made.left) == (4, ())
    assert json.loads(body_of(made.conversation).replace(MARK, KEY)) == {"schema_version": "ATIF-v1.5", "steps": steps}


def test_messages_between_programs_are_redacted_too() -> None:
    """MCP sampling, with its own words for instructions and results."""
    asked = {"type": "tool_use", "id": "c1", "name": "sh", "input": {"c": KEY}}
    answer = {"type": "tool_result", "toolUseId": "c1", "content": [{"type": "text", "text": KEY}]}
    messages = [
        {"role": "user", "content": {"type": "text", "text": KEY}},
        {"role": "assistant", "content": [asked]},
        {"role": "user", "content": [answer]},
        {"role": "user", "content": {"type": "text", "text": "on"}},
    ]
    made = of({"messages": messages, "systemPrompt": KEY, "maxTokens": 9}, "mcp-sampling")

    assert (len(made.found), made.left, KEY in body_of(made.conversation)) == (4, (), False)


def test_documents_of_plain_text_are_text_and_other_media_are_not() -> None:
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": KEY}}
    linked = {"type": "image", "source": {"type": "url", "url": "https://app:hunter2@x.example/a.png"}}
    text = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": f"use {KEY}"}}
    parts = {"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": KEY}]}, "context": KEY}
    made = of([{"role": "user", "content": [picture, linked, text, parts]}])
    first, second, third, fourth = cl.render(made.conversation)[0]["content"]

    assert (first, second) == (picture, linked)
    assert third["source"]["data"] == f"use {MARK}"
    assert fourth == {**parts, "source": {"type": "content", "content": [{"type": "text", "text": MARK}]}}
    assert made.left == (Left(0, "password", 7, "address"), Left(0, "api key", len(KEY), "unknown"))


def test_arguments_in_a_string_stay_what_the_model_wrote() -> None:
    """But for the secret: spaces, escapes, numbers; a broken string is a text."""
    written = '{ "cmd" : "caf\\u00e9 %s", "n": 1.50 , "password":"s3cret 4 me"}'
    for arguments in (written, "{broken %s"):
        asked = {"id": "c1", "type": "function", "function": {"name": "sh", "arguments": arguments.replace("%s", KEY)}}
        messages = [user("go"), {"role": "assistant", "content": None, "tool_calls": [asked]}]
        messages += [{"role": "tool", "tool_call_id": "c1", "content": "ok"}, user("on")]
        made = cl.render(of(messages, "openai-chat").conversation)[1]["tool_calls"][0]["function"]["arguments"]

        assert made == arguments.replace("%s", MARK).replace("s3cret 4 me", "[redacted v1: password, 11 chars]")


def test_values_made_by_hand_that_are_no_json_are_left_alone() -> None:
    """No error leaves but the documented ones."""
    odd = (object(), float("nan"), [KEY, float("nan")], {1: KEY}, 10**5_000)
    shape = Wire("tool_use", ("type", "id", "name", "input"), (("x", odd[0]),))
    for value in odd:
        blocks = (Call("c", "n", value, shape), Opaque("o", value), Text("t", Wire("json", (), (("json", value),))))
        conversation = cl.Conversation(
            "anthropic", (Message("model", blocks, wire("assistant")), Message("user", KEY, wire("user")))
        )

        assert redact(conversation).found[-1] == Found(1, "api key", len(KEY))


# --- Heads of compacted conversations --------------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", SPELLINGS)
def test_head_is_known_again_after_its_secrets_are_gone(dialect: str) -> None:
    """Law L20: the summary's digest and the lengths of what is quoted are those of what stands there now."""
    heads = 0
    for number in range(120 if WHOLE else 12):
        made = scenario(seeded(f"{dialect} heads {number}"), dialect=dialect)
        if made.features & {"bad-counter", "bad-reminder"}:
            continue
        outcome = cl.compact(
            _with_key(made.conversation),
            made.policy,
            when="now",
            summarise=lambda _: BODY.replace("- tables", f"- tables, with {KEY}"),
            pins=made.pins,
            reminders=made.reminders,
            rungs=["summarise"],
        )
        if not isinstance(outcome, Compacted) or KEY not in body_of(outcome.conversation):
            continue
        before = cl.parse(cl.render(outcome.conversation), dialect=made.conversation.dialect)
        after = redact(before)
        back = cl.parse(cl.render(after.conversation), dialect=made.conversation.dialect)
        heads += any(message.origin is cl.Origin.SUMMARY and KEY in str(message.content) for message in before.messages)

        assert [message.origin for message in back.messages] == [message.origin for message in before.messages]
        assert back.fused == before.fused
        assert [message.text for message in back.messages] == [message.text for message in after.conversation.messages]
        assert redact(back) == Redacted(back, (), after.left)

    assert heads


def _with_key(conversation: cl.Conversation) -> cl.Conversation:
    """The same with the key in every text of a user."""
    body = cl.render(conversation)
    for message in messages_of(body):
        content: Any = message.get("content", message.get("parts"))
        if message.get("role") == "user" and isinstance(content, str):
            message["content"] += f" {KEY}"
        elif message.get("role") == "user":
            for part in content:
                if isinstance(part.get("text"), str):
                    part["text"] += f" {KEY}"
    return cl.parse(body, dialect=conversation.dialect)


# --- Everything behind it --------------------------------------------------------------------------------------------


def _session() -> list[dict[str, Any]]:
    """Old prompts and outputs with the key in them, and none in the current turn."""
    messages: list[dict[str, Any]] = list(cl.render(long(8)))
    messages[0] = user(f"Migrate the first table with the key {KEY}.")
    messages[1]["content"][0]["input"] = {"command": f"login --token {KEY}", "path": f"{KEY}.txt"}
    messages[2] = user(result("c0_0", f"export API_KEY={KEY}\n{'row copied ' * 300}"))
    return messages


@pytest.mark.parametrize("rungs", [["summarise"], ["clear"], ["clear", "summarise"]])
def test_no_sink_sees_a_secret(tmp_path: Path, rungs: list[str]) -> None:
    """Store, names in it, what the summariser is asked, output, report, issued references, and what is undone."""
    asked: list[SummaryRequest] = []

    def summarise(request: SummaryRequest) -> str:
        asked.append(request)
        return BODY

    store = cl.DirectoryStore(tmp_path / "store")
    given = redact(cl.parse(_session(), dialect="anthropic")).conversation
    options = cl.Clearing(keep=0, trigger_tokens=1)
    policy = cl.Policy(window_tokens=16_000, clearing=options)
    outcome = cl.compact(given, policy, when="now", summarise=summarise, store=store, rungs=rungs)  # type: ignore[arg-type]  # names of rungs

    assert isinstance(outcome, Compacted), outcome.reason
    assert ("summarise" in rungs) >= bool(asked)
    files = [path for path in (tmp_path / "store").rglob("*") if path.is_file()]
    assert files
    said = [body_of(outcome.conversation), body_of(outcome.undo()), json.dumps(outcome.report), repr(outcome), *map(repr, asked)]
    assert not [one for one in said if KEY in one]
    assert not [path for path in files if KEY in str(path) or KEY.encode() in path.read_bytes()]
    assert any(MARK in one for one in said)
    assert any(MARK.encode() in path.read_bytes() for path in files)


def test_no_function_behind_it_sees_a_secret() -> None:
    """Whatever is made of a redacted conversation: what each public function gives back, and what it asks."""
    asked: list[SummaryRequest] = []

    def summarise(request: SummaryRequest) -> str:
        asked.append(request)
        return BODY

    given = redact(cl.parse(_session(), dialect="anthropic")).conversation
    many = evolve(POLICY, digest_every_turns=1)
    digested = cl.digest(given, many)
    made = [
        cl.compact(given, POLICY, when="now", summarise=summarise, pins=[0, 2], focus="tables"),
        cl.compact(given, evolve(POLICY, summary_form="suffix"), when="now", summarise=summarise),
        cl.compact(given, many, when="now", digests=digested.digests, rungs=["collapse"]),
        cl.compact(given, POLICY, when="now", rungs=["snip"]),
        cl.compact(given, evolve(POLICY, window_tokens=1_000), when="now"),
        cl.plan(given, POLICY, when="now"),
        cl.effective(given),
        cl.check(given, mode="history"),
        cl.propose_pins(given),
        cl.repair(given),
        cl.turns(given),
        *(cl.convert(given, dialect=dialect) for dialect in DIALECTS),
        digested,
    ]

    assert len(asked) > 1
    assert [type(one).__name__ for one in made[:5]] == ["Compacted"] * 4 + ["Refused"]
    assert not [one for one in (*made, *asked) if KEY in repr(one)]
    assert sum(MARK in repr(one) for one in made) > 8


@pytest.mark.parametrize("dialect", SPELLINGS)
def test_no_record_of_a_redacted_compaction_holds_a_secret(dialect: str) -> None:
    """Rule REDACT-1, over everything that was asked, made, stored and said; of a secret that was left it has no opinion."""
    premises: Counter[str] = Counter()
    for number in range(60 if WHOLE else 20):
        made = scenario(seeded(f"{dialect} records {number}"), dialect=dialect)
        if made.features & {"bad-counter", "bad-reminder"}:
            continue
        body = plant(cl.render(made.conversation), seeded(f"{dialect} in records {number}"))
        given = redact(cl.parse(body, dialect=made.conversation.dialect))
        record, outcome = observe(
            cl.compact, given.conversation, made.policy, **made.given, secrets=[KEY], repeat=False, store=cl.MemoryStore()
        )
        stays = any(one.index is not None for one in given.left)
        premises[type(outcome).__name__] += not stays

        verdicts = [finding.verdict for finding in judge(record) if finding.rule == "REDACT-1"]
        assert verdicts == ["unknown"] * stays

    assert premises["Compacted"]


def test_appendix_and_report_without_redaction_would_show_it() -> None:
    """So the test before this one can fail."""
    outcome = cl.compact(cl.parse(_session(), dialect="anthropic"), POLICY, when="now", summarise=lambda _: BODY)

    assert KEY in body_of(outcome.conversation)


def test_message_is_redacted_before_it_is_admitted() -> None:
    """Law L10: what is stored whole is the redacted text."""
    log = f"API_KEY={KEY}\n" + "line of a log\n" * 10_000
    made = redact_message(Message("tool", (Result("c1", log, wire("tool")),), wire("tool")))
    store = cl.MemoryStore()
    policy = cl.Policy(window_tokens=32_000, admission=Admission(limit=Limit(limit_tokens=500)))
    admitted = cl.admit(made.message, policy, store)
    (cut,) = admitted.shortened

    assert (made.found, made.left) == ((Found(0, "api key", len(KEY)),), ())
    assert cl.fetch(store, cut.ref).decode() == log.replace(KEY, MARK)
    assert KEY not in admitted.message.results[0].text


def test_message_of_the_model_is_of_the_current_turn() -> None:
    message = Message("model", f"use {KEY}", wire("assistant"))

    assert redact_message(message).message is message
    assert redact_message(message).left == (Left(0, "api key", len(KEY), "current turn"),)


def test_redactor_of_the_caller_is_asked_about_every_text() -> None:
    asked: list[str] = []

    def redactor(text: str) -> list[tuple[int, int, str]]:
        asked.append(text)
        at = text.find("tables")
        return [] if at < 0 else [(at, at + len("tables"), "furniture")]

    conversation = cl.parse([user("move the tables"), model("ok"), user("thanks")], dialect="anthropic")
    made = redact(conversation, redactor=redactor)

    assert made.found == (Found(0, "furniture", 6),)
    assert asked[0] == "move the tables"
    assert cl.render(made.conversation)[0]["content"] == "move the [redacted v1: furniture, 6 chars]"


@pytest.mark.parametrize("function", [redact, redact_message])
def test_redactor_that_fails_is_an_error_that_names_it(function: Any) -> None:
    given = cl.parse([user(KEY)], dialect="anthropic")
    with pytest.raises(cl.PolicyError, match="redactor: ") as caught:
        function(given if function is redact else given.messages[0], redactor=lambda text: [(0, 999, "x")])

    assert KEY not in str(caught.value)


# --- The command -----------------------------------------------------------------------------------------------------

COMMANDS: Final = (
    ("compact", "--window", "16k", "--store", "{store}", "--out", "{out}"),
    ("compact", "--window", "16k", "--show"),
    ("compact", "--window", "16k", "--format", "json"),
    ("compact", "--window", "500k", "--format", "json"),
    ("explain", "--window", "16k", "--shown"),
    ("explain", "--window", "16k", "--clear", "--format", "json"),
    ("convert", "--to", "gemini", "--out", "{out}"),
    ("convert", "--to", "openai-responses", "--format", "json"),
)


def _run(command: tuple[str, ...], body: Any, folder: Path) -> None:
    (folder / "body.json").write_text(json.dumps(body), "utf-8")
    arguments = [one.format(store=folder / "store", out=folder / "out.json") for one in command[1:]]
    assert main([command[0], str(folder / "body.json"), *arguments, "--dialect", "anthropic"]) in (0, 1)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_no_command_prints_or_writes_a_secret(
    command: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With ``--redact``: in no file that it writes and in no line that it prints; and it says how many there were."""
    _run((*command, "--redact"), _session(), tmp_path)
    out, err = capsys.readouterr()
    files = [path for path in tmp_path.rglob("*") if path.is_file() and path.name != "body.json"]

    assert KEY not in out + err
    assert not [path for path in files if KEY in path.name or KEY.encode() in path.read_bytes()]
    assert files or "--out" not in command
    if "json" in command:
        told = json.loads(out)["redaction"]
        assert (len(told["found"]), told["left"]) == (4, [])
        assert told["found"][0] == {"index": 0, "kind": "api key", "chars": len(KEY)}
    else:
        assert "4 secrets redacted (4 api key)" in out


def test_without_the_option_nothing_is_redacted_and_nothing_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _run(("compact", "--window", "500k", "--format", "json"), _session(), tmp_path)
    told = json.loads(capsys.readouterr().out)

    assert "redaction" not in told
    assert KEY in json.dumps(told["messages"])


def test_what_stays_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And nothing of a transcript acts on the screen by way of it."""
    body = [user(f"{SCREEN} {KEY}"), model(f"use {KEY}")]
    _run(("explain", "--window", "8k", "--redact"), body, tmp_path)
    out, err = capsys.readouterr()

    assert "1 secret redacted (1 api key), 1 left (1 current turn)" in out
    assert set(out + err) & ACTING == set()


# --- The chapter -----------------------------------------------------------------------------------------------------

CHAPTER: Final = (Path(__file__).parent.parent / "spec" / "58-redaction.md").read_text("utf-8")


def test_what_the_chapter_calls_a_secret_is_one() -> None:
    """Every instance, and of the kind that it stands beside; and no other kind is known."""
    rows = re.findall(r"^\| (private key|api key|token|password) \| (.*) \|$", CHAPTER, re.MULTILINE)

    assert sorted(kind for kind, _ in rows) == sorted(KINDS)
    for kind, instances in rows:
        for instance in re.findall(r"`([^`]+)`", instances):
            assert {found for _, _, found in cl.known_secrets(instance)} == {kind}, instance


def test_reasons_of_the_chapter_are_those_there_are() -> None:
    """As the docstring of `Left` has them."""
    rows = re.findall(r"^\| `([a-z ]+)` \|", CHAPTER, re.MULTILINE)

    assert set(rows) == set(re.findall(r"``([a-z ]+)``", Left.__doc__ or ""))
