"""A session that was written back is the mended conversation, and otherwise the file that it was."""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compactlib.dialects import render_messages
from compactlib.errors import WireError
from compactlib.model import Conversation
from compactlib.protocol.repair import repair
from compactlib.transcripts import read
from compactlib.transcripts.rewriting import rewrite

from .breaking import KINDS, broken
from .sessions import FORMATS, Line, broken_sessions, holds_result, sessions, written

DATA = Path(__file__).parent / "data" / "transcripts"
CONTENT = {"content", "message", "parentUuid", "parentId", "firstKeptEntryId", "firstKeptEntryIndex"}
"""What may be another value on a line that stayed."""
SPEAKING = {"user", "assistant", "attachment", "message", "custom_message", "branch_summary", "compaction"}
"""The types of lines that may go."""


def mend(conversation: Conversation) -> Conversation:
    return repair(conversation).conversation


def rewritten(data: bytes) -> bytes:
    return rewrite(data, read(data), mend)


def said(conversation: Conversation) -> tuple[list[str], dict[str, list[str]]]:
    """The words in order, blank ones apart, and the results by call."""
    words: list[str] = []
    results: dict[str, list[str]] = {}
    for message in render_messages(conversation):
        content = message["content"]
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            if block["type"] == "tool_result":
                inner = block["content"]
                text = inner if isinstance(inner, str) else "\n".join(part.get("text", "picture") for part in inner or [])
                results.setdefault(block["tool_use_id"], []).append(f"{block.get('is_error')} {text}")
            elif block["type"] != "text" or block["text"].strip():
                words.append(f"{message['role']} {json.dumps(block, sort_keys=True)}")
    return words, results


def records(data: bytes) -> list[Line]:
    found = []
    for line in data.split(b"\n"):
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return found


def name_of(line: Line) -> str | None:
    return line.get("uuid", line.get("id"))


LINKS = {"parentUuid", "parentId"}


def but(line: Line, keys: set[str]) -> Line:
    return {key: value for key, value in line.items() if key not in keys}


def check_laws(data: bytes, *, links_may_change: bool = False) -> str:
    """All laws of a session that was written back; what became of it in a word."""
    transcript = read(data)
    repaired = repair(transcript.conversation)
    made = rewrite(data, transcript, mend)
    again = read(made)

    assert made == rewritten(data)
    if repaired.conversation is transcript.conversation:
        assert made is data
        return "nothing to do"
    assert said(again.conversation) == said(repaired.conversation)
    assert repair(again.conversation).conversation is again.conversation
    assert len(again.problems) <= len(transcript.problems)

    before, after = records(data), records(made)
    kept = {name_of(line): line for line in before if line.get("type") != "session"}
    names = set(map(name_of, after))
    relinked = 0
    for line in after:
        old = kept.get(name_of(line))
        if old is not None and name_of(line) is not None:
            assert but(line, CONTENT) == but(old, CONTENT)
            relinked += line != old and but(line, LINKS) == but(old, LINKS)
        parent = line.get("parentUuid", line.get("parentId"))
        assert parent is None or parent in names or parent not in kept
    assert all("message" in line or line in after for line in before if not LINKS & line.keys())
    assert all(names & {name_of(line)} for line in before if line["type"] not in SPEAKING)
    same = Counter(data.split(b"\n")) & Counter(made.split(b"\n"))
    changed = len(data.split(b"\n")) - same.total()
    assert changed - (relinked if links_may_change else 0) <= 4 * len(repaired.fixes)
    return "written"


@given(sessions())
def test_a_healthy_session_stays_the_file_it_is(lines: list[Line]) -> None:
    """Nothing to do gives the same bytes, the same object even."""
    data = written(lines)

    assert rewritten(data) is data


@settings(max_examples=150)
@given(broken_sessions())
def test_a_broken_session_is_written_back(data: bytes) -> None:
    """It reads as the repaired conversation, needs no more repair, and every other line is as it was."""
    check_laws(data)


@pytest.mark.parametrize("kind", FORMATS)
@given(data=st.data())
def test_a_lost_result_costs_one_line_and_one_link(kind: str, data: st.DataObject) -> None:
    """The made-up result is the only new line; at most the line that followed is linked anew."""
    lines = data.draw(sessions().filter(lambda found: any(map(holds_result, found[:-1]))))
    at = data.draw(st.sampled_from([at for at, line in enumerate(lines[:-1]) if holds_result(line)]))
    if any(holds_result(line) or not line.get("message") for line in lines[at + 1 :]) and "prompt" not in json.dumps(
        lines[at + 1 :]
    ):
        return  # the call is at the live end, and may still be answered
    content = written(lines[:at] + lines[at + 1 :])
    old, new = content.split(b"\n"), rewritten(content).split(b"\n")

    if old != new:
        added = Counter(new) - Counter(old)
        lost = Counter(old) - Counter(new)
        assert len(new) == len(old) + 1
        assert added.total() - lost.total() == 1
        assert lost.total() <= 1
        assert any(b"No result was recorded for this call" in line for line in added)


def test_small_sessions_are_all_written_back() -> None:
    """Each line of each example session lost, written twice, or the last: none is refused."""
    outcomes: Counter[str] = Counter()
    for path in sorted(DATA.iterdir()):
        lines = path.read_bytes().split(b"\n")
        for at in range(len(lines)):
            for damaged in (lines[:at] + lines[at + 1 :], lines[: at + 1] + lines[at:], lines[:at]):
                data = b"\n".join(damaged)
                try:
                    read(data)
                except WireError:
                    continue
                outcomes[check_laws(data)] += 1

    assert outcomes["written"] > 20
    assert outcomes["nothing to do"] > 200


def test_real_sessions_are_written_back(shared: Path) -> None:
    """Real files, as they are and with a result lost, written twice, or the rest cut off at it: none is refused."""
    outcomes: Counter[str] = Counter()
    for path in [*sorted((shared / "corpus" / "claude_code").iterdir()), *sorted((shared / "corpus" / "pi").iterdir())]:
        lines = path.read_bytes().split(b"\n")
        outcomes[check_laws(b"\n".join(lines))] += 1
        results = [at for at, line in enumerate(lines) if b'"tool_result"' in line or b'"toolResult"' in line]
        for at in results[: 1 if len(lines) > 500 else None : len(results) // 3 or 1]:
            for damaged in (lines[:at] + lines[at + 1 :], lines[: at + 1] + lines[at:], [*lines[:at], lines[at][:99]]):
                outcomes[check_laws(b"\n".join(damaged))] += 1

    assert outcomes["written"] >= 8
    assert outcomes["nothing to do"] >= 8


# -- one at a time -----------------------------------------------------------------------------------------------------


def jsonl(*lines: Any) -> bytes:
    return "\n".join(json.dumps(line, ensure_ascii=False) for line in lines).encode() + b"\n"


def user(name: str, parent: str | None, content: Any, **more: Any) -> Line:
    return {"type": "user", "uuid": name, "parentUuid": parent, "message": {"role": "user", "content": content}, **more}


def reply(name: str, parent: str | None, message: str, *blocks: Line) -> Line:
    said = {"id": message, "role": "assistant", "model": "m", "content": list(blocks)}
    return {"type": "assistant", "uuid": name, "parentUuid": parent, "message": said}


def call(name: str) -> Line:
    return {"type": "tool_use", "id": name, "name": "Bash", "input": {}}


def answer(name: str, content: Any = "ok", **more: Any) -> list[Line]:
    return [{"type": "tool_result", "tool_use_id": name, "content": content, **more}]


def text(words: str) -> Line:
    return {"type": "text", "text": words}


def chain(data: bytes) -> list[tuple[str, str | None]]:
    """Each line's id and its parent's, made-up ids shown as such."""
    names = [name_of(line) or "" for line in records(data)]
    shown: dict[Any, Any] = {name: name if len(name) < 5 else "new" for name in names}
    parents = [line.get("parentUuid", line.get("parentId")) for line in records(data)]
    return [(shown[name], shown.get(parent, parent)) for name, parent in zip(names, parents, strict=True)]


def test_a_made_up_result_is_written_as_the_program_writes_one() -> None:
    """Facts of the session from the line of the call, an error for the screen too, its place in the tree."""
    facts = {"isSidechain": False, "userType": "external", "cwd": "/w", "sessionId": "s", "version": "2.0.5", "gitBranch": "main"}
    lines = (
        user("u1", None, "go", **facts, timestamp="T1"),
        {**reply("a1", "u1", "m1", call("t1")), **facts, "timestamp": "T2", "requestId": "r"},
        user("u2", "a1", "and?", **facts, timestamp="T3"),
    )
    made = records(rewritten(jsonl(*lines)))[2]
    block = made["message"]["content"][0]

    assert list(made)[:1] == ["parentUuid"]
    assert {key: made[key] for key in facts} == facts
    assert "requestId" not in made
    assert (made["type"], made["parentUuid"], made["sourceToolAssistantUUID"], made["timestamp"]) == ("user", "a1", "a1", "T2")
    assert (block["type"], block["tool_use_id"], block["is_error"]) == ("tool_result", "t1", True)
    assert made["toolUseResult"] == f"Error: {block['content']}"
    assert len(made["uuid"]) == 36


def test_a_made_up_result_of_pi_has_the_calls_own_id() -> None:
    """pi writes ids that Anthropic would not take; the result has the one that its call has in the file."""
    lines = (
        {"type": "session", "version": 3, "id": "s"},
        {"type": "message", "id": "e1", "parentId": None, "timestamp": "T", "message": {"role": "user", "content": "go"}},
        {
            "type": "message",
            "id": "e2",
            "parentId": "e1",
            "timestamp": "T2",
            "message": {
                "role": "assistant",
                "api": "openai-responses",
                "timestamp": 7,
                "content": [{"type": "toolCall", "id": "call_1|fc_1", "name": "ls", "arguments": {}}],
            },
        },
        {"type": "message", "id": "e3", "parentId": "e2", "timestamp": "T", "message": {"role": "user", "content": "and?"}},
    )
    made = rewritten(jsonl(*lines))
    result = records(made)[3]

    assert chain(made)[1:] == [("e1", None), ("e2", "e1"), ("new", "e2"), ("e3", "new")]
    assert {key: result["message"][key] for key in ("role", "toolCallId", "toolName", "isError", "timestamp")} == {
        "role": "toolResult",
        "toolCallId": "call_1|fc_1",
        "toolName": "ls",
        "isError": True,
        "timestamp": 7,
    }


def test_in_a_fork_the_result_goes_where_the_next_turn_hangs() -> None:
    """Parallel calls: the first result hangs from its call, and the next turn from the last; the lost one gets between."""
    lines = (
        user("u1", None, "go"),
        reply("a1", "u1", "m1", call("t1")),
        reply("a2", "a1", "m1", call("t2")),
        user("r2", "a2", answer("t2")),
        {"type": "progress", "uuid": "p1", "parentUuid": "r2"},
        reply("a3", "p1", "m2", text("done")),
    )

    assert chain(rewritten(jsonl(*lines))) == [
        ("u1", None), ("a1", "u1"), ("a2", "a1"), ("r2", "a2"), ("new", "r2"), ("p1", "new"), ("a3", "p1"),
    ]  # fmt: skip


def test_a_lost_link_is_mended_with_the_lost_result() -> None:
    """What followed named a line that is gone; it now hangs from the one that stands for it."""
    lines = (user("u1", None, "go"), reply("a1", "u1", "m1", call("t1")), reply("a2", "lost", "m2", text("done")))

    assert chain(rewritten(jsonl(*lines))) == [("u1", None), ("a1", "u1"), ("new", "a1"), ("a2", "new")]


def test_a_line_that_goes_hands_on_what_named_it() -> None:
    """Its children and the title's leaf name the line before it."""
    lines = (
        {"type": "summary", "summary": "Title", "leafUuid": "r9"},
        user("u1", None, "go"),
        reply("a1", "u1", "m1", text("hm")),
        user("r9", "a1", answer("t9")),
        reply("a2", "r9", "m2", text("done")),
    )
    made = rewritten(jsonl(*lines))

    assert chain(made)[1:] == [("u1", None), ("a1", "u1"), ("a2", "a1")]
    assert records(made)[0]["leafUuid"] == "a1"


def test_words_behind_a_call_take_their_line_before_it() -> None:
    """A reply of one line a block: the line moves, whole; its neighbours are linked anew."""
    lines = (
        user("u1", None, "go"),
        reply("a1", "u1", "m1", call("t1")),
        reply("a2", "a1", "m1", text("I look.")),
        user("r1", "a2", answer("t1")),
    )
    made = rewritten(jsonl(*lines))

    assert chain(made) == [("u1", None), ("a2", "u1"), ("a1", "a2"), ("r1", "a1")]
    assert [block.get("text") or block.get("id") for block in read(made).messages[1]["content"]] == ["I look.", "t1"]


def test_words_behind_a_call_on_one_line_change_their_place_in_it() -> None:
    """A reply of one line: its items stand in another order, and nothing else is touched."""
    lines = (
        user("u1", None, "go"),
        reply("a1", "u1", "m1", call("t1"), text("I look.")),
        user("r1", "a1", answer("t1")),
    )
    old = jsonl(*lines)
    made = rewritten(old)

    assert made.split(b"\n")[::2] == old.split(b"\n")[::2]
    assert [block["type"] for block in records(made)[1]["message"]["content"]] == ["text", "tool_use"]
    assert len(made) == len(old)


def test_a_late_result_of_pi_moves_to_its_call() -> None:
    """The line is led back, and the chain with it."""
    lines = (
        {"type": "session", "version": 3, "id": "s"},
        entry("e1", None, {"role": "user", "content": "go"}),
        entry("e2", "e1", pi_reply({"type": "toolCall", "id": "t1", "name": "ls", "arguments": {}})),
        entry("e3", "e2", {"role": "user", "content": "and?"}),
        entry("e4", "e3", pi_reply({"type": "text", "text": "wait"})),
        entry("e5", "e4", {"role": "toolResult", "toolCallId": "t1", "toolName": "ls", "content": [], "isError": False}),
        entry("e6", "e5", {"role": "user", "content": "so?"}),
    )

    assert chain(rewritten(jsonl(*lines)))[1:] == [
        ("e1", None), ("e2", "e1"), ("e5", "e2"), ("e3", "e5"), ("e4", "e3"), ("e6", "e4"),
    ]  # fmt: skip


def entry(name: str, parent: str | None, message: Line) -> Line:
    return {"type": "message", "id": name, "parentId": parent, "message": message}


def pi_reply(*blocks: Line) -> Line:
    return {"role": "assistant", "api": "anthropic-messages", "content": list(blocks)}


def test_line_numbers_in_a_session_without_ids_are_kept_right() -> None:
    """Version 1 names the first kept entry of a compaction by its number; lines that come before it count."""
    lines = (
        {"type": "session", "id": "s"},
        {"type": "message", "message": {"role": "user", "content": "old"}},
        {"type": "message", "message": {"role": "assistant", "content": []}},
        {"type": "message", "message": {"role": "user", "content": "kept"}},
        {"type": "message", "message": pi_reply({"type": "toolCall", "id": "t1", "name": "ls", "arguments": {}})},
        {"type": "compaction", "summary": "S", "firstKeptEntryIndex": 3},
        {"type": "message", "message": {"role": "assistant", "content": []}},
        {"type": "message", "message": {"role": "user", "content": "new"}},
    )
    data = jsonl(*lines)
    made = rewritten(data)

    assert [line.get("firstKeptEntryIndex") for line in records(made)][6] == 3
    assert [message["content"] for message in read(made).messages][1] == "kept"
    assert check_laws(data) == "written"


def test_a_bridge_is_the_harness_s_line() -> None:
    """A user message that only has to be there is marked as nobody's words."""
    data = jsonl(reply("a1", None, "m1", text("hello")), user("u1", "a1", "go"))
    made = rewrite(data, read(data), lambda one: repair(one, profile="anthropic-strict").conversation)

    assert chain(made) == [("new", None), ("a1", "new"), ("u1", "a1")]
    assert records(made)[0]["isMeta"] is True
    assert read(made).origins[0].value == "harness"


def test_what_a_session_stores_apart_cannot_be_joined() -> None:
    """A strict route wants one message of two that stand on two lines: refused, and nothing is given."""
    data = jsonl(user("u1", None, "go"), user("u2", "u1", "on"))

    with pytest.raises(WireError, match="would not read as the mended conversation"):
        rewrite(data, read(data), lambda one: repair(one, profile="anthropic-strict").conversation)


UNSEALED = {"type": "thinking", "thinking": "hm"}


def test_a_block_leaves_a_line_of_several() -> None:
    """The other items of the line are as they were, to the byte."""
    line = (
        b'{"type":"assistant","uuid":"a1","parentUuid":"u1","message":{"id":"m","role":"assistant", "content":'
        b'[ {"type":"text","text":"a\\u00e9"} , {"type":"thinking","thinking":""} , '
        b'{"type":"tool_use","id":"t","name":"n","input":{"x":1.50}} ]}}'
    )
    data = jsonl(user("u1", None, "go")) + line + b"\n" + jsonl(user("r1", "a1", answer("t")), user("u2", "r1", "on"))

    assert rewritten(data).split(b"\n")[1] == line.replace(b'{"type":"thinking","thinking":""} , ', b"")


def test_a_copy_that_comes_to_light_goes_too() -> None:
    """A reply written twice: without its first line the second one would be read."""
    lines = (
        user("u1", None, "go"),
        reply("a1", "u1", "m1", UNSEALED),
        reply("a2", "a1", "m1", text("hello")),
        reply("b1", "a2", "m1", UNSEALED),
        reply("b2", "b1", "m1", text("hello")),
        user("u2", "b2", "and?"),
    )
    data = jsonl(*lines)

    assert check_laws(data) == "written"
    assert b"thinking" not in rewritten(data)


@pytest.mark.parametrize("ending", [b"\n", b"\r\n"])
def test_line_ends_are_those_of_the_file(ending: bytes) -> None:
    """Also a new line ends as its neighbours do, and a last line without an end has none."""
    lines = jsonl(user("u1", None, "go"), reply("a1", "u1", "m1", call("t1")), user("u2", "a1", "and?")).rstrip(b"\n")
    made = rewritten(lines.replace(b"\n", ending))

    assert made.count(b"\n") == made.count(ending) == 3
    assert not made.endswith(ending)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (
            json.dumps([user("u1", None, "go"), reply("a1", "u1", "m1", call("t1")), user("u2", "a1", "x")]).encode(),
            "an export in one document",
        ),
        (
            jsonl(user("u1", None, "~"), reply("a1", "u1", "m1", call("t1")), user("u2", "a1", "x"))
            .decode()
            .replace("~", "\ud800")
            .encode("utf-16", "surrogatepass"),
            "no UTF-16",
        ),
    ],
)
def test_what_cannot_be_written_back_is_refused(data: bytes, why: str) -> None:
    """With the reason, and what can be done instead."""
    with pytest.raises(WireError, match=why) as caught:
        rewritten(data)

    assert "--format json" in str(caught.value)


def test_a_session_in_which_nothing_was_said_stays_so() -> None:
    """Closed, it would need a message; there is no line that this could stand by."""
    data = jsonl({"type": "system", "uuid": "y1", "parentUuid": None})

    with pytest.raises(WireError, match="nothing was said in it"):
        rewrite(data, read(data), lambda one: repair(one, close=True).conversation)


def test_a_closed_session_gets_its_last_line() -> None:
    """A pending call is answered, and the new line stands last on the branch."""
    data = jsonl(
        user("u1", None, "go"), reply("a1", "u1", "m1", call("t1")), {"type": "system", "uuid": "y1", "parentUuid": "a1"}
    )
    made = rewrite(data, read(data), lambda one: repair(one, close=True).conversation)

    assert rewritten(data) is data
    assert chain(made) == [("u1", None), ("a1", "u1"), ("new", "a1"), ("y1", "new")]


def test_pictures_led_out_of_a_result_stand_on_a_line_of_their_own() -> None:
    """A failed result may hold no picture: what the result keeps stays on its line, the picture comes behind it."""
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
    lines = (
        user("u1", None, "go"),
        reply("a1", "u1", "m1", call("t1")),
        user("r1", "a1", answer("t1", [text("no"), picture], is_error=True), toolUseResult="Error: no"),
        reply("a2", "r1", "m2", text("hm")),
        user("u2", "a2", "on"),
    )
    data = jsonl(*lines)
    made = rewritten(data)

    assert check_laws(data) == "written"
    assert chain(made) == [("u1", None), ("a1", "u1"), ("r1", "a1"), ("new", "r1"), ("a2", "new"), ("u2", "a2")]
    assert records(made)[2]["message"]["content"][0]["content"] == [text("no")]
    assert records(made)[3]["message"]["content"][-1] == picture


def test_a_call_and_its_result_are_renamed_where_they_stand() -> None:
    """Two lines change, in the id alone."""
    lines = (
        user("u1", None, "go"),
        reply("a1", "u1", "m1", call("bad id")),
        user("r1", "a1", answer("bad id")),
        reply("a2", "r1", "m2", text("done")),
    )
    data = jsonl(*lines)
    old, new = data.split(b"\n"), rewritten(data).split(b"\n")
    name = records(rewritten(data))[1]["message"]["content"][0]["id"]

    assert [one == other for one, other in zip(old, new, strict=True)] == [True, False, False, True, True]
    assert new[1] == old[1].replace(b"bad id", name.encode()).replace(
        json.dumps(call(name)).encode(), json.dumps(call(name), separators=(",", ":")).encode()
    )


def test_two_records_on_a_line_get_a_line_each_where_it_has_to_change() -> None:
    """The newline is all that the untouched one gains; a torn record before a whole one stays what it is."""
    one, other = json.dumps(reply("a1", "u1", "m1", UNSEALED)), json.dumps(reply("a2", "a1", "m1", text("hello")))
    for first, stays in ((one, []), (other[:90], [other[:90]])):
        data = jsonl(user("u1", None, "go")) + (first + one).encode() + b"\n" + jsonl(reply("a3", "a1", "m1", text("hello")))
        data += jsonl(user("u2", "a3", "x"))
        made = rewritten(data).decode().split("\n")

        assert made[1 : 1 + len(stays)] == stays
        assert [json.loads(line)["uuid"] for line in made if line and line not in stays] == ["u1", "a3", "u2"]
        assert check_laws(data) == "written"


def test_bytes_that_are_no_utf_8_stay_on_a_line_that_changes() -> None:
    """The call beside them is renamed; they are as they were."""
    data = jsonl(
        user("u1", None, "go"), reply("a1", "u1", "m1", text("caf~"), call("bad id")), user("r1", "a1", answer("bad id"))
    )
    data = data.replace(b"caf~", b"caf\xe9")
    made = rewritten(data)

    assert b"caf\xe9" in made
    assert b"bad id" not in made
    assert check_laws(data) == "written"


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_a_session_in_utf_16_stays_one(encoding: str) -> None:
    """What a shell wrote is written back so."""
    log = jsonl(user("u1", None, "gö"), reply("a1", "u1", "m1", call("t1")), user("u2", "a1", "x")).decode()
    made = rewritten(("\ufeff" + log).encode(encoding))

    assert made.decode(encoding).encode() == b"\xef\xbb\xbf" + rewritten(log.encode())


def result_of(key: str) -> Line:
    return {"role": "toolResult", "toolCallId": key, "toolName": "ls", "content": [{"type": "text", "text": "r"}]}


SUMMARY: Line = {"type": "branch_summary", "id": "e4", "parentId": "e3", "summary": "s", "fromId": "x1"}


def test_what_hung_from_a_line_without_a_parent_does_not_join_a_dead_branch() -> None:
    lines = [entry("e3", "gone", result_of("t1")), entry("x1", "e3", {"role": "user", "content": "hi"}), SUMMARY]

    assert check_laws(written(lines)) == "written"


def test_the_branch_of_a_last_line_that_goes_stays_the_living_one() -> None:
    """A pi session gets a line that says nothing."""
    lines = [
        {"type": "session", "version": 3, "id": "s"},
        entry("e1", None, {"role": "user", "content": "hi"}),
        entry("e2", "e1", {"role": "user", "content": "another branch"}),
        entry("e3", "e1", result_of("t1")),
    ]
    data = written(lines)

    assert check_laws(data) == "written"
    last = records(rewritten(data))[-1]
    assert (last["type"], last["parentId"], last["customType"]) == ("custom", "e1", "compactlib")


CIRCLE: list[Line] = [
    {"type": "user", "uuid": "u", "parentUuid": None, "message": {"role": "user", "content": "x"}},
    {"type": "user", "uuid": "r", "parentUuid": "a", "message": {"role": "user", "content": answer("t")}},
    {"type": "assistant", "uuid": "a", "parentUuid": "r", "message": {"id": "m", "role": "assistant", "content": [call("t")]}},
    {"type": "user", "uuid": "v", "parentUuid": "a", "message": {"role": "user", "content": "y"}},
]


def test_a_circle_of_parents_is_opened() -> None:
    """A result before its call, and each the other's parent: the branch is linked anew, and nothing earlier is lost."""
    data = written(CIRCLE)

    assert check_laws(data) == "written"
    assert chain(rewritten(data)) == [("u", None), ("a", "u"), ("new", "a"), ("v", "new")]


def test_a_reply_whose_lines_were_shuffled_is_read_in_the_order_of_the_tree() -> None:
    """Nothing is wrong with it then, and no line changes.  Only a result that stands last may be the end of a branch."""
    lines = [
        user("u1", None, "go"),
        reply("a1", "u1", "m1", call("t1")),
        reply("a2", "a1", "m1", call("t2")),
        user("r1", "a1", answer("t1")),
        user("r2", "a2", answer("t2")),
        user("u2", "r2", "and?"),
    ]
    expected = said(read(written(lines)).conversation)
    for order in itertools.permutations(lines):
        data = written(list(order))
        assert rewritten(data) is data
        if order[-1]["uuid"] != "r1":
            assert said(read(data).conversation) == expected


def test_a_dead_branch_behind_the_last_line_that_goes_is_not_read() -> None:
    """Claude Code knows no line that says nothing and ends a branch: the last line that stays is put last."""
    lines = [
        user("u1", None, "go"),
        reply("a1", "u1", "m1", text("done")),
        user("x1", "u1", "another way"),
        user("r1", "a1", answer("t9")),
    ]
    data = written(lines)

    assert check_laws(data) == "written"
    assert chain(rewritten(data)) == [("u1", None), ("x1", "u1"), ("a1", "u1")]


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        (
            [user("u1", None, "dead"), {"type": "system", "uuid": "y1", "parentUuid": None}, user("r1", "y1", answer("t9"))],
            "line 3: nothing would be left of the living branch, and a dead one",
        ),
        ([user("r1", None, answer("t9"))], "line 1: nothing would be left of the session"),
        (
            [
                user("u1", None, "go"),
                reply("x1", "u1", "m1", text("a dead branch")),
                {"type": "attachment", "uuid": "n1", "parentUuid": "n1", "attachment": {"type": "queued_command"}},
                user("r1", "u1", answer("t9")),
            ],
            "line 1: wherever its lines stand and hang",
        ),
    ],
)
def test_what_cannot_be_written_back_is_refused_by_its_line(lines: list[Line], why: str) -> None:
    """No file would read as the mended conversation, and the error says where and why."""
    with pytest.raises(WireError, match=f"^{why}"):
        rewritten(written(lines))


# -- every kind of damage ----------------------------------------------------------------------------------------------


def outcomes_of(files: dict[str, list[bytes]], seeds: int) -> tuple[Counter[str], dict[str, list[str]]]:
    """What became of each file under each kind of damage, all laws checked; and what was refused, by the reason."""
    counts: Counter[str] = Counter()
    refused: dict[str, list[str]] = {}
    for kind, (name, lines), seed in itertools.product(KINDS, files.items(), range(seeds)):
        data = broken(lines, kind, seed)
        try:
            read(data)
        except WireError:
            counts["unreadable"] += 1
            continue
        try:
            counts[check_laws(data, links_may_change=True)] += 1
        except WireError as error:
            counts["refused"] += 1
            refused.setdefault(str(error), []).append(f"{name}, {kind} {seed}")
    return counts, refused


def test_nearly_every_damage_to_a_small_session_is_repaired() -> None:
    """What is refused has nothing left to say."""
    files = {path.name: path.read_bytes().rstrip(b"\n").split(b"\n") for path in sorted(DATA.iterdir())}
    counts, refused = outcomes_of(files, 4)

    assert counts.total() == len(files) * len(KINDS) * 4
    assert counts["written"] > 250
    assert len(refused) <= 2
    assert all(re.match(r"line \d+: nothing would be left", reason) for reason in refused), refused


@settings(max_examples=150)
@given(sessions(words=("Hello.", "Well.")), st.sampled_from(sorted(KINDS)), st.integers(0, 2**16))
def test_damage_is_repaired_or_refused_with_its_line(lines: list[Line], kind: str, seed: int) -> None:
    """No other error, and whatever is written obeys all laws."""
    data = broken(written(lines, ends=False).split(b"\n"), kind, seed)
    refusal = ""
    try:
        check_laws(data, links_may_change=True)
    except WireError as error:
        refusal = str(error)

    assert re.match(r"(line \d+|\$): |$", refusal)


def test_damaged_real_sessions_are_repaired(shared: Path) -> None:
    """Pieces of recorded sessions under every kind of damage."""
    files = {}
    for path in [*sorted((shared / "corpus" / "claude_code").iterdir()), *sorted((shared / "corpus" / "pi").iterdir())]:
        lines = path.read_bytes().rstrip(b"\n").split(b"\n")
        for at in range(0, len(lines), 150):
            files[f"{path.name} {at}"] = lines[at : at + 40]
    counts, refused = outcomes_of(files, 1)

    assert counts["written"] > 150
    assert counts["refused"] <= counts["written"] // 100, refused
