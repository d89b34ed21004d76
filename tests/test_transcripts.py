"""Files people have: what becomes of their lines, and what is said of those that cannot be read."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest

from compactlib.errors import PolicyError, WireError
from compactlib.model import Origin
from compactlib.transcripts import FORMATS, Transcript, load, read, read_all
from compactlib.transcripts.lines import read_content

DATA = Path(__file__).parent / "data" / "transcripts"
LINKS = re.compile(rb'"(?:uuid|parentUuid|id|parentId|firstKeptEntryId|headUuid|tailUuid)":"([^"]*)"')
CHAPTER = Path(__file__).parents[1] / "spec" / "40-transcripts.md"


def jsonl(*lines: Any) -> bytes:
    return "\n".join(json.dumps(line, ensure_ascii=False) for line in lines).encode() + b"\n"


def shapes(transcript: Transcript) -> list[str]:
    """Each message in a word: a person's or the harness's text, the kinds of blocks and the ids of calls and results."""
    made = []
    for message in transcript.messages:
        content = message["content"]
        if isinstance(content, str):
            made.append(f"{message['role'][0]}:{content}")
        else:
            names = [block.get("id") or block.get("tool_use_id") or block.get("text") or block["type"] for block in content]
            made.append(f"{message['role'][0]}:" + "+".join(names))
    return made


def named(transcript: Transcript) -> dict[int, Origin]:
    return dict(transcript.origins)


# -- Claude Code: a few lines at a time


def said(uuid: str, parent: str | None, text: str, **more: Any) -> dict[str, Any]:
    return {"type": "user", "uuid": uuid, "parentUuid": parent, "message": {"role": "user", "content": text}, **more}


def reply(uuid: str, parent: str | None, name: str, *blocks: dict[str, Any], **more: Any) -> dict[str, Any]:
    message = {"id": name, "role": "assistant", "model": "claude-x", "content": list(blocks)}
    return {"type": "assistant", "uuid": uuid, "parentUuid": parent, "message": message, **more}


def words(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def call(name: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": name, "name": "Bash", "input": {}}


def answer(uuid: str, parent: str | None, name: str, content: str = "ok", **more: Any) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": name, "content": content}
    return {"type": "user", "uuid": uuid, "parentUuid": parent, "message": {"role": "user", "content": [block]}, **more}


def boundary(uuid: str, **meta: Any) -> dict[str, Any]:
    return {"type": "system", "subtype": "compact_boundary", "uuid": uuid, "parentUuid": None, "compactMetadata": meta}


def summary(uuid: str, parent: str, text: str) -> dict[str, Any]:
    return said(uuid, parent, text, isCompactSummary=True)


class TestClaudeCodeFiles:
    def test_fragments_parallel_results_and_rewinds(self) -> None:
        """One reply of three lines is one message, both results follow it, and the abandoned branch is not there."""
        transcript = read(DATA / "claude_parallel.jsonl")

        assert shapes(transcript) == [
            "u:Compare the two price lists.",
            "a:thinking+toolu_A+toolu_B",
            "u:toolu_A+toolu_B",
            "a:Tea went from 4.20 to 4.80.",
            "u:And cocoa?",
            "a:No cocoa either.",
        ]
        assert transcript.problems == ()
        assert transcript.title == "Price lists"
        assert transcript.format == "claude-code"
        assert transcript.dialect == "anthropic"
        assert transcript.meta["reported_tokens"] == 9 + 21 + 170 + 10
        assert transcript.meta["cwd"] == "/home/mira/shop"
        assert transcript.meta["left_out"]["failed reply"] == 1

    def test_a_seal_without_words_comes_through(self) -> None:
        """An empty thinking block with a signature is reasoning, byte for byte."""
        block = load(DATA / "claude_parallel.jsonl").messages[1].blocks[0]

        assert (block.text, block.seal) == ("", "c2lnMQ==")  # type: ignore[union-attr]  # it is Reasoning, or this fails

    def test_results_are_those_of_the_request_not_of_the_screen(self) -> None:
        """Nothing of `toolUseResult` is read."""
        assert "numLines" not in json.dumps(read(DATA / "claude_parallel.jsonl").messages)

    def test_two_compactions(self) -> None:
        """The last summary comes first, the preserved messages follow, the older summary and what it replaced are gone."""
        transcript = read(DATA / "claude_compacted.jsonl")

        assert shapes(transcript) == [
            "u:Second summary: lexer done, grammar begun.",
            "u:Now the grammar.",
            "a:toolu_1",
            "u:toolu_1",
            "u:Go on.",
            "a:Grammar is ported.",
        ]
        assert named(transcript) == {0: Origin.SUMMARY, 1: Origin.HUMAN, 4: Origin.HUMAN}
        assert [problem.line for problem in transcript.problems] == [11]
        assert transcript.meta["compactions"] == 2
        assert transcript.meta["reported_tokens"] == 238

    def test_origins(self) -> None:
        """Only a person's words are human, wherever the client stored them."""
        transcript = read(DATA / "claude_harness.jsonl")
        by_origin: dict[Origin, list[str]] = {}
        for index, origin in transcript.origins.items():
            by_origin.setdefault(origin, []).append(shapes(transcript)[index])

        assert by_origin[Origin.HUMAN] == [
            "u:What does this picture show?+image",
            "u:use the second page",
            "u:<ide_opened_file>src/map.rs</ide_opened_file>+Thanks. <system-reminder> is a funny tag.",
        ]
        assert by_origin[Origin.ATTACHMENT] == ["u:document"]
        assert [text.split("\n")[0] for text in by_origin[Origin.UNKNOWN]] == ["u:<command-name>/review</command-name>"]
        assert len(by_origin[Origin.HARNESS]) == 9
        assert by_origin[Origin.HARNESS][5] == "u:/w/notes.md:\n# Notes\nticket 4711\n"

    def test_a_document_between_two_results_of_one_batch_follows_both(self) -> None:
        """The batch is whole, and what was written inside it comes next."""
        assert shapes(read(DATA / "claude_harness.jsonl"))[7:11] == [
            "a:toolu_1+toolu_2",
            "u:toolu_1+toolu_2",
            "u:document",
            "u:[Request interrupted by user for tool use]",
        ]

    def test_recorded_system_prompt_and_tools_are_the_overhead(self) -> None:
        """`prompt_snapshot` becomes the body around the messages, and a given title outranks a made one."""
        transcript = read(DATA / "claude_harness.jsonl")
        conversation = transcript.conversation

        assert [block.text for block in conversation.system] == ["You are a coding agent.", "Be terse."]  # type: ignore[union-attr]  # Text
        assert [tool.name for tool in conversation.tools] == ["Read"]
        assert transcript.title == "Map"

    def test_a_sub_agents_file_is_its_conversation(self) -> None:
        """Every line of it is marked as a side chain, and none is dropped."""
        transcript = read(DATA / "claude_subagent.jsonl")

        assert shapes(transcript) == ["u:Find every TODO.", "a:toolu_1", "u:toolu_1", "a:One, in main.c line 7."]
        assert named(transcript) == {0: Origin.HUMAN}

    @pytest.mark.parametrize("wrap", [lambda lines: {"loglines": lines}, lambda lines: lines], ids=["loglines", "list"])
    def test_an_export_as_one_document_is_the_same_session(self, wrap: Any) -> None:
        """The same lines in one object or one list."""
        source = DATA / "claude_parallel.jsonl"
        lines = [json.loads(line) for line in source.read_text("utf-8").splitlines()]

        assert read(json.dumps(wrap(lines)).encode()).messages == read(source).messages


class TestClaudeCodeBranches:
    def test_inline_side_chains_are_another_conversation(self) -> None:
        """A sub-agent's lines inside a session are left out and counted."""
        transcript = read(
            jsonl(
                said("u1", None, "go"),
                reply("a1", "u1", "m1", call("t1")),
                said("x1", None, "sub task", isSidechain=True),
                reply("x2", "x1", "m9", words("sub answer"), isSidechain=True),
                answer("r1", "a1", "t1"),
                reply("a2", "r1", "m2", words("done")),
            )
        )

        assert shapes(transcript) == ["u:go", "a:t1", "u:t1", "a:done"]
        assert transcript.meta["left_out"] == {"sidechain": 2}

    def test_a_missing_parent_does_not_end_the_conversation(self) -> None:
        """The walk goes on at the line before and the line is named."""
        transcript = read(jsonl(said("u1", None, "go"), reply("a1", "scrubbed", "m1", words("done"))))

        assert shapes(transcript) == ["u:go", "a:done"]
        assert [str(problem) for problem in transcript.problems] == [
            "line 2: its parent 'scrubbed' is not in the file; joined to the line before"
        ]

    def test_the_first_line_of_a_slice_may_point_outside(self) -> None:
        """A file cut from a longer one has a root without a parent in it, and that is no problem."""
        assert read(jsonl(said("u1", "elsewhere", "go"))).problems == ()

    def test_a_circle_of_parents_ends(self) -> None:
        """Two lines that are each other's parent are both read, once."""
        transcript = read(jsonl(said("u1", "a1", "go"), reply("a1", "u1", "m1", words("done"))))

        assert shapes(transcript) == ["u:go", "a:done"]
        assert len(transcript.problems) == 1

    def test_a_line_that_is_its_own_parent_hangs_from_the_one_before(self) -> None:
        """Its link says nothing, so it is where it stands."""
        assert shapes(read(jsonl(said("u1", None, "go"), reply("a1", "a1", "m1", words("done"))))) == ["u:go", "a:done"]

    def test_nothing_of_an_abandoned_branch_is_fetched(self) -> None:
        """Its calls and results stay there together."""
        transcript = read(
            jsonl(
                said("u1", None, "go"),
                reply("a1", "u1", "m1", call("t1")),
                answer("r1", "a1", "t1"),
                reply("a2", "u1", "m2", call("t2")),
                answer("r2", "a2", "t2"),
            )
        )

        assert (shapes(transcript), transcript.problems) == (["u:go", "a:t2", "u:t2"], ())

    def test_a_reply_written_twice_counts_once(self) -> None:
        """The copy has another uuid and no parent; neither its text doubles nor is its past lost."""
        transcript = read(
            jsonl(
                said("u1", None, "go"),
                reply("a1", "u1", "m1", words("done")),
                reply("a1b", None, "m1", words("done")),
                said("u2", "a1b", "thanks"),
            )
        )

        assert shapes(transcript) == ["u:go", "a:done", "u:thanks"]
        assert transcript.meta["left_out"] == {"repeated block": 1}

    def test_a_line_written_twice_counts_once(self) -> None:
        """Ids are global; a resumed session repeats its past under the same ids and another session."""
        past = [said("u1", None, "go", sessionId="old"), reply("a1", "u1", "m1", words("done"), sessionId="old")]
        again = [{**line, "sessionId": "new"} for line in past]
        transcript = read(jsonl(*past, *again, said("u2", "a1", "more", sessionId="new")))

        assert shapes(transcript) == ["u:go", "a:done", "u:more"]
        assert transcript.meta["session"] == "new"

    def test_a_rewind_to_the_start(self) -> None:
        """A second first prompt starts over."""
        transcript = read(jsonl(said("u1", None, "one"), reply("a1", "u1", "m1", words("1")), said("u2", None, "two")))

        assert shapes(transcript) == ["u:two"]

    def test_siblings_without_a_chain_are_one_reply(self) -> None:
        """Fragments that hang side by side, each with its result, as in the newest files."""
        transcript = read(
            jsonl(
                said("u1", None, "go"),
                reply("a1", "u1", "m1", call("t1")),
                reply("a2", "u1", "m1", call("t2")),
                reply("a3", "u1", "m1", call("t3")),
                answer("r3", "a3", "t3", "three"),
                answer("r1", "a1", "t1", "one"),
                answer("r2", "a2", "t2", "two"),
                reply("a4", "r2", "m2", words("done")),
            )
        )

        assert shapes(transcript) == ["u:go", "a:t1+t2+t3", "u:t3+t1+t2", "a:done"]

    def test_a_result_of_the_abandoned_branch_answers_nothing_on_the_living_one(self) -> None:
        """Reused ids: a call on the living branch keeps its own result."""
        transcript = read(
            jsonl(
                said("u1", None, "go"),
                reply("a1", "u1", "m1", call("t1")),
                answer("r1", "a1", "t1", "dead"),
                said("u2", None, "again"),
                reply("a2", "u2", "m2", call("t1")),
                answer("r2", "a2", "t1", "alive"),
            )
        )

        assert transcript.messages[2]["content"][0]["content"] == "alive"


class TestClaudeCodeMessages:
    def test_a_persons_words_keep_fragments_apart(self) -> None:
        """A steering message inside a reply makes two messages of it, both with their results behind them."""
        transcript = read(
            jsonl(
                said("u1", None, "go"),
                reply("a1", "u1", "m1", words("first")),
                said("u2", "a1", "use tabs"),
                reply("a2", "u2", "m1", call("t1")),
                answer("r1", "a2", "t1"),
            )
        )

        assert shapes(transcript) == ["u:go", "a:first", "u:use tabs", "a:t1", "u:t1"]

    def test_another_reply_keeps_fragments_apart(self) -> None:
        """text(X), text(Y), call(X): three messages in the order of writing."""
        transcript = read(
            jsonl(
                said("u1", None, "go"),
                reply("a1", "u1", "X", words("x")),
                reply("a2", "a1", "Y", words("y")),
                reply("a3", "a2", "X", call("t1")),
                answer("r1", "a3", "t1"),
            )
        )

        assert shapes(transcript) == ["u:go", "a:x", "a:y", "a:t1", "u:t1"]

    def test_results_between_fragments_do_not_part_them(self) -> None:
        """Tools that start while the reply streams write their results between its lines."""
        transcript = read(
            jsonl(
                said("u1", None, "go"),
                reply("a1", "u1", "m1", call("t1")),
                answer("r1", "a1", "t1"),
                {"type": "system", "subtype": "informational", "uuid": "y1", "parentUuid": "r1"},
                reply("a2", "y1", "m1", call("t2")),
                answer("r2", "a2", "t2"),
            )
        )

        assert shapes(transcript) == ["u:go", "a:t1+t2", "u:t1+t2"]

    def test_words_after_an_answered_call_are_a_message_of_their_own(self) -> None:
        """Nothing but calls may follow a call (A-ORDER-01)."""
        transcript = read(
            jsonl(
                said("u1", None, "go"),
                reply("a1", "u1", "m1", call("t1")),
                answer("r1", "a1", "t1"),
                reply("a2", "r1", "m1", words("between")),
                reply("a3", "a2", "m1", call("t2")),
                answer("r2", "a3", "t2"),
            )
        )

        assert shapes(transcript) == ["u:go", "a:t1", "u:t1", "a:between+t2", "u:t2"]

    def test_a_second_result_is_not_sent(self) -> None:
        """The first one counts; a different second one is named."""
        same = read(jsonl(said("u", None, "go"), reply("a", "u", "m", call("t")), answer("r", "a", "t"), answer("s", "r", "t")))
        other = read(
            jsonl(said("u", None, "go"), reply("a", "u", "m", call("t")), answer("r", "a", "t"), answer("s", "r", "t", "no"))
        )

        assert (shapes(same), same.problems) == (["u:go", "a:t", "u:t"], ())
        assert shapes(other) == shapes(same)
        assert [problem.line for problem in other.problems] == [4]

    def test_reused_ids_pair_by_position(self) -> None:
        """Two calls with one id in two turns have each their own result."""
        transcript = read(
            jsonl(
                said("u1", None, "one"),
                reply("a1", "u1", "m1", call("call_0")),
                answer("r1", "a1", "call_0", "first"),
                said("u2", "r1", "two"),
                reply("a2", "u2", "m2", call("call_0")),
                answer("r2", "a2", "call_0", "second"),
            )
        )

        assert [
            message["content"][0].get("content") for message in transcript.messages if isinstance(message["content"], list)
        ] == [
            None,
            "first",
            None,
            "second",
        ]

    def test_a_result_answers_the_nearest_open_call(self) -> None:
        """An abandoned call with the same id does not take it."""
        transcript = read(
            jsonl(
                said("u1", None, "one"),
                reply("a1", "u1", "m1", call("call_0")),
                said("u2", "a1", "two"),
                reply("a2", "u2", "m2", call("call_0")),
                answer("r2", "a2", "call_0"),
            )
        )

        assert shapes(transcript) == ["u:one", "a:call_0", "u:two", "a:call_0", "u:call_0"]

    def test_a_result_without_call_stays_where_it_is(self) -> None:
        """A scrubbed call leaves an orphan, which `check` names; the reader invents nothing."""
        transcript = read(jsonl(said("u1", None, "go"), answer("r1", "u1", "gone")))

        assert shapes(transcript) == ["u:go", "u:gone"]

    def test_calls_and_results_without_ids_pair_in_order(self) -> None:
        """Redacted files have neither; the pair gets a name and is reported."""
        bare = reply("a1", "u1", "m1", {"type": "tool_use", "name": "Bash", "input": {}})
        result = {
            "type": "user",
            "uuid": "r1",
            "parentUuid": "a1",
            "message": {"content": [{"type": "tool_result", "content": "x"}]},
        }
        transcript = read(jsonl(said("u1", None, "go"), bare, result))

        assert shapes(transcript) == ["u:go", "a:unnamed_2_0", "u:unnamed_2_0"]
        assert [problem.line for problem in transcript.problems] == [2, 3]

    def test_cleared_and_stored_results_are_read_as_the_request_had_them(self) -> None:
        """The file keeps the originals; the model saw the substitutes."""
        transcript = read(
            jsonl(
                said("u1", None, "go"),
                reply("a1", "u1", "m1", call("t1"), call("t2"), call("t3")),
                answer("r1", "a1", "t1", "long 1"),
                answer("r2", "r1", "t2", "long 2"),
                answer("r3", "r2", "t3", "long 3"),
                {
                    "type": "system",
                    "subtype": "microcompact_boundary",
                    "uuid": "k1",
                    "parentUuid": "r3",
                    "microcompactMetadata": {"compactedToolIds": ["t1"]},
                },
                {
                    "type": "content-replacement",
                    "replacements": [{"kind": "tool-result", "toolUseId": "t2", "replacement": "stored"}],
                },
                reply("a2", "k1", "m2", words("done")),
            )
        )

        assert [block["content"] for block in transcript.messages[2]["content"]] == [
            "[Old tool result content cleared]",
            "stored",
            "long 3",
        ]
        assert transcript.meta["cleared_results"] == 1

    def test_an_unreadable_block_is_left_out_and_named(self) -> None:
        """The rest of its message is kept; a message of nothing else is not."""
        transcript = read(
            jsonl(
                said("u1", None, "go"),
                reply("a1", "u1", "m1", words("kept")),
                reply("a2", "a1", "m1", {"type": "text", "text": 7}),
                reply("a3", "a2", "m2", {"type": "thinking", "thinking": None}),
            )
        )

        assert shapes(transcript) == ["u:go", "a:kept"]
        assert [problem.line for problem in transcript.problems] == [3, 4]


class TestClaudeCodeCompactions:
    def test_the_next_message_may_hang_from_the_preserved_tail(self) -> None:
        """The boundary is met by crossing its line, not only by walking into it."""
        transcript = read(
            jsonl(
                said("u0", None, "old"),
                reply("a0", "u0", "m0", words("kept reply")),
                boundary("b1", preservedSegment={"headUuid": "a0", "tailUuid": "a0", "anchorUuid": "s1"}),
                summary("s1", "b1", "S1"),
                reply("a1", "a0", "m1", words("later")),
                boundary("b2", preservedMessages={"anchorUuid": "s2", "uuids": ["a0", "a1"]}),
                summary("s2", "b2", "S2"),
                said("u2", "a1", "next"),
            )
        )

        assert shapes(transcript) == ["u:S2", "a:kept reply", "a:later", "u:next"]

    def test_a_segment_holds_parallel_results(self) -> None:
        """The walk from tail to head passes by a result; it is fetched like any other."""
        transcript = read(
            jsonl(
                said("u0", None, "old"),
                said("u1", "u0", "kept"),
                reply("a1", "u1", "m1", call("t1")),
                reply("a2", "a1", "m1", call("t2")),
                answer("r1", "a1", "t1"),
                answer("r2", "a2", "t2"),
                boundary("b1", preservedSegment={"headUuid": "u1", "tailUuid": "r2", "anchorUuid": "s1"}),
                summary("s1", "b1", "S1"),
                reply("a3", "s1", "m2", words("done")),
            )
        )

        assert shapes(transcript) == ["u:S1", "u:kept", "a:t1+t2", "u:t1+t2", "a:done"]

    def test_a_segment_that_is_not_in_the_file_is_named(self) -> None:
        """Nothing is resurrected in its place."""
        transcript = read(
            jsonl(
                said("u0", None, "old"),
                boundary("b1", preservedSegment={"headUuid": "gone", "tailUuid": "u0", "anchorUuid": "s1"}),
                summary("s1", "b1", "S1"),
            )
        )

        assert shapes(transcript) == ["u:S1"]
        assert [problem.line for problem in transcript.problems] == [2]

    def test_a_rewind_to_before_the_compaction_undoes_it(self) -> None:
        """The boundary is on the abandoned branch, and its summary with it."""
        transcript = read(
            jsonl(
                said("u1", None, "one"),
                reply("a1", "u1", "m1", words("1")),
                said("u2", "a1", "two"),
                boundary("b1"),
                summary("s1", "b1", "S1"),
                said("u3", "a1", "three"),
            )
        )

        assert shapes(transcript) == ["u:one", "a:1", "u:three"]

    @pytest.mark.parametrize("logical", ["a1", "not in the file"])
    def test_a_boundary_without_a_summary_replaces_nothing(self, logical: str) -> None:
        """Nothing would stand for what it replaced, so the history stays and the line is named."""
        line = {**boundary("b1"), "logicalParentUuid": logical}
        transcript = read(jsonl(said("u1", None, "one"), reply("a1", "u1", "m1", words("1")), line, said("u2", "b1", "two")))

        assert shapes(transcript) == ["u:one", "a:1", "u:two"]
        assert [problem.line for problem in transcript.problems] == [3]

    def test_preserved_messages_alone_make_a_boundary_count(self) -> None:
        """Also when the file ends with it."""
        line = boundary("b1", preservedMessages={"uuids": ["a1"]})
        transcript = read(jsonl(said("u1", None, "one"), reply("a1", "u1", "m1", words("1")), line))

        assert (shapes(transcript), transcript.problems) == (["a:1"], ())

    def test_a_summary_without_its_boundary_is_one(self) -> None:
        """The boundary line was lost; what the summary stands for does not come back."""
        transcript = read(jsonl(said("u1", None, "one"), summary("s1", "lost", "S1"), said("u2", "s1", "two")))

        assert shapes(transcript) == ["u:S1", "u:two"]

    def test_a_fragment_from_before_a_compaction_does_not_come_back(self) -> None:
        """A reply that a compaction cut in two goes on after it without its first half."""
        transcript = read(
            jsonl(
                said("u1", None, "one"),
                reply("a1", "u1", "m1", words("first half")),
                boundary("b1"),
                summary("s1", "b1", "S1"),
                reply("a2", "s1", "m1", words("second half")),
            )
        )

        assert shapes(transcript) == ["u:S1", "a:second half"]

    def test_usage_from_before_a_compaction_is_out_of_date(self) -> None:
        """A preserved reply still says how large the old request was."""
        old = reply("a0", "u0", "m0", words("kept"))
        old["message"]["usage"] = {"input_tokens": 190_000, "output_tokens": 5}
        lines = [said("u0", None, "old"), old, boundary("b1", preservedMessages={"uuids": ["a0"]}), summary("s1", "b1", "S1")]

        assert read(jsonl(*lines)).meta["reported_tokens"] is None
        assert read(jsonl(*lines[:2])).meta["reported_tokens"] == 190_005


class TestPi:
    def test_version_1(self) -> None:
        """No ids; aborted replies and calls without results are read as they are stored."""
        transcript = read(DATA / "pi_v1.jsonl")

        assert shapes(transcript) == [
            "u:Make the ship faster.",
            "a:Looking.+toolu_1+toolu_2",
            "u:toolu_1+toolu_2",
            "a:thinking+toolu_3",
            "a:",
            "u:Set it to 5, please.",
            "u:Ran `npm test`\n```\n2 failed\n```\n\nexit code 1",
            "u:toolu_9",
        ]
        assert named(transcript) == {0: Origin.HUMAN, 5: Origin.HUMAN, 6: Origin.HARNESS}
        assert transcript.meta["reported_tokens"] == 170
        assert transcript.meta["model"] == "claude-sonnet-4-5"

    def test_blocks_are_anthropics(self) -> None:
        """Pictures stay in their result, the signature seals the reasoning, nothing of `details` or `partialJson` is there."""
        messages = read(DATA / "pi_v1.jsonl").messages

        assert messages[2]["content"][0] == {"type": "tool_result", "tool_use_id": "toolu_1", "content": "speed = 3"}
        assert messages[2]["content"][1]["content"][1] == {
            "type": "image",
            "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="},
        }
        assert messages[3]["content"][0] == {"type": "thinking", "thinking": "3 is slow", "signature": "c2ln"}
        assert messages[7]["content"][0]["is_error"] is True
        assert "partialJson" not in json.dumps(messages)

    def test_version_3_with_compactions_and_a_branch(self) -> None:
        """The last complete compaction counts, the older one among the kept entries does not part call and result."""
        transcript = read(DATA / "pi_v3.jsonl")

        assert shapes(transcript) == [
            "u:<summary>\nS2\n</summary>",
            "a:a plan+call_1_fc_1",
            "u:call_1_fc_1",
            "u:<summary>\nA dead end was tried.\n</summary>",
            "u:Remember the feed.",
            "u:And now the feed.",
        ]
        assert {index for index, origin in transcript.origins.items() if origin is Origin.HUMAN} == {5}
        assert [problem.line for problem in transcript.problems] == [10]
        assert transcript.title == "Blog"
        assert transcript.meta["reported_tokens"] is None

    @pytest.mark.parametrize(("kept", "expected"), [(1, ["one", "two"]), (2, ["two"]), (99, [])])
    def test_version_1_counts_lines(self, kept: int, expected: list[str]) -> None:
        """`firstKeptEntryIndex` counts from the header, which is number 0."""
        users = [{"type": "message", "message": {"role": "user", "content": text}} for text in ("one", "two", "three")]
        compaction = {"type": "compaction", "summary": "S", "firstKeptEntryIndex": kept}
        transcript = read(jsonl({"type": "session", "id": "x", "cwd": "/"}, users[0], users[1], compaction, users[2]))

        assert shapes(transcript) == ["u:<summary>\nS\n</summary>", *(f"u:{text}" for text in expected), "u:three"]

    def test_a_first_kept_entry_that_is_not_there_keeps_nothing(self) -> None:
        """What stood before the compaction is gone."""
        transcript = read(
            jsonl(
                {"type": "session", "version": 3, "id": "x"},
                {"type": "message", "id": "e1", "parentId": None, "message": {"role": "user", "content": "one"}},
                {"type": "compaction", "id": "k1", "parentId": "e1", "summary": "S", "firstKeptEntryId": "nowhere"},
                {"type": "message", "id": "e2", "parentId": "k1", "message": {"role": "user", "content": "two"}},
            )
        )

        assert shapes(transcript) == ["u:<summary>\nS\n</summary>", "u:two"]

    def test_a_session_without_header_is_known_by_its_messages(self) -> None:
        """Scrubbers drop the first line too."""
        body = (DATA / "pi_v1.jsonl").read_bytes().split(b"\n", 1)[1]

        assert read(body).format == "pi"
        assert read(body).messages == read(DATA / "pi_v1.jsonl").messages

    def test_words_between_a_call_and_its_result_follow_the_result(self) -> None:
        """An extension that speaks at the wrong moment does not part a pair."""
        tool = {"role": "assistant", "content": [{"type": "toolCall", "id": "t1", "name": "ls", "arguments": {}}]}
        transcript = read(
            jsonl(
                {"type": "session", "version": 3, "id": "x"},
                {"type": "message", "message": tool},
                {"type": "custom_message", "content": "psst"},
                {
                    "type": "message",
                    "message": {"role": "toolResult", "toolCallId": "t1", "content": [{"type": "text", "text": "a"}]},
                },
            )
        )

        assert shapes(transcript) == ["a:t1", "u:t1", "u:psst"]


class TestRequests:
    def test_a_body_keeps_what_stands_around_its_messages(self) -> None:
        """The envelope is the body's own."""
        body = {"model": "m", "max_tokens": 9, "system": "s", "messages": [{"role": "user", "content": "hi"}]}
        conversation = load(json.dumps(body).encode())

        assert (conversation.dialect, conversation.setting("max_tokens")) == ("anthropic", 9)

    def test_a_message_a_line_is_one_conversation(self) -> None:
        """And a list of them as one document is the same one."""
        messages = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]

        assert read(jsonl(*messages)).messages == read(json.dumps(messages, indent=1).encode()).messages == messages

    def test_a_recorded_line_is_its_body(self) -> None:
        """What was recorded beside it is not part of it, and a recorded dialect is believed."""
        transcript = read(
            jsonl({"dialect": "anthropic", "status": 200, "body": {"messages": [{"role": "user", "content": "a"}]}})
        )

        assert (transcript.dialect, transcript.messages) == ("anthropic", [{"role": "user", "content": "a"}])

    def test_a_log_of_requests_is_its_last_line(self) -> None:
        """Each body begins with the one before it: one conversation that grew."""
        first = [{"role": "user", "content": "a"}]
        second = [*first, {"role": "assistant", "content": "b"}, {"role": "user", "content": "c"}]

        assert read(jsonl({"messages": first}, {"messages": second})).messages == second

    def test_several_conversations_are_counted(self) -> None:
        """One of them cannot be asked for by accident; `read_all` gives each."""
        lines = jsonl(*({"messages": [{"role": "user", "content": text}]} for text in "abc"))

        with pytest.raises(WireError, match="3 conversations"):
            load(lines)
        with pytest.raises(WireError, match="2 conversations"):
            load(jsonl({"messages": [{"role": "user", "content": "a"}] * 2}, {"messages": [{"role": "user", "content": "a"}]}))
        assert [one.messages[0]["content"] for one in read_all(lines)] == ["a", "b", "c"]

    @pytest.mark.parametrize(
        ("body", "dialect"),
        [
            ([{"role": "user", "content": "hi"}], "openai-chat"),
            ([{"role": "system", "content": "s"}, {"role": "user", "content": "hi"}], "openai-chat"),
            ([{"role": "assistant", "content": None}], "openai-chat"),
            ([{"role": "tool", "tool_call_id": "c", "content": "r"}], "openai-chat"),
            ([{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "u"}}]}], "openai-chat"),
            ([{"role": "user", "content": [{"type": "text", "text": "t", "cache_control": {"type": "ephemeral"}}]}], "anthropic"),
            ([{"role": "user", "content": [{"type": "image", "source": {"type": "url", "url": "u"}}]}], "anthropic"),
            ([{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t"}]}], "anthropic"),
            ({"model": "claude-x", "max_tokens": 1, "messages": [{"role": "user", "content": "hi"}]}, "anthropic"),
            ({"model": "claude-x", "messages": [{"role": "user", "content": "hi"}]}, "openai-chat"),
            ({"model": "claude-x", "max_tokens": 1, "messages": [{"role": "assistant", "content": None}]}, "openai-chat"),
            ({"model": "claude-x", "max_tokens": 1, "messages": [{"role": "system", "content": "s"}]}, "openai-chat"),
            ({"tools": [{"name": "t", "input_schema": {}}], "messages": [{"role": "user", "content": "hi"}]}, "anthropic"),
            ({"tools": [{"type": "function", "function": {"name": "t"}}], "messages": []}, "openai-chat"),
            ({"stop_sequences": ["x"], "messages": []}, "anthropic"),
            ({"thinking": {"type": "enabled"}, "stream_options": {}, "messages": []}, "openai-chat"),
        ],
    )
    def test_dialects_are_told_by_structure(self, body: Any, dialect: str) -> None:
        """Blocks and calls first, then fields, then the model; plain words are openai-chat."""
        assert read(json.dumps(body).encode()).dialect == dialect

    def test_a_named_format_is_not_looked_for(self) -> None:
        """`format` decides where the structure does not."""
        assert read(b'[{"role": "user", "content": "hi"}]', format="anthropic").dialect == "anthropic"

    @pytest.mark.parametrize("name", FORMATS)
    def test_a_wrong_format_is_refused_in_one_line(self, name: str) -> None:
        """Of a session nothing is read as a list of messages, nor the other way, and the error says what it is."""
        session = jsonl(said("u1", None, "go"), reply("a1", "u1", "m1", words("done")))
        if name == "claude-code":
            assert len(read(session, format=name).messages) == 2
        else:
            with pytest.raises(WireError, match=f"nothing in it is of format {name}; by its content it is claude-code"):
                load(session, format=name)
        if name in ("claude-code", "pi"):
            with pytest.raises(WireError, match="by its content it is a request or a list of messages"):
                load(b'{"role": "user", "content": "hi"}\n{"role": "assistant", "content": "ho"}', format=name)

    def test_lines_of_no_format_are_refused(self) -> None:
        """Whatever format is named; an empty list is a conversation of no messages."""
        with pytest.raises(WireError, match=r"nothing in it is of format gemini$"):
            load(b'{"kind": 1}\n{"kind": 2}', format="gemini")
        assert load(b"[]", format="gemini").length == 0

    def test_a_wrong_shape_is_an_error_with_its_path(self) -> None:
        """A body is read whole or not at all."""
        with pytest.raises(WireError) as caught:
            load(b'{"messages": [{"role": "user", "content": 7}]}')
        assert caught.value.path == "$.messages[0].content"

    @pytest.mark.parametrize("body", [b"7", b'{"a": 1}', b'"text"'])
    def test_a_named_format_needs_messages(self, body: bytes) -> None:
        """Naming a dialect does not make a conversation of anything."""
        with pytest.raises(WireError):
            load(body, format="anthropic")


class TestBrokenFiles:
    LINES = (said("u1", None, "go"), reply("a1", "u1", "m1", words("один")), said("u2", "a1", "more"))

    def whole(self) -> bytes:
        return jsonl(*self.LINES)

    def test_a_torn_last_line(self) -> None:
        """The rest is read; the line is named."""
        transcript = read(self.whole()[:-9])

        assert shapes(transcript) == ["u:go", "a:один"]
        assert [str(problem) for problem in transcript.problems] == [
            "line 3: cut off in the middle of a record, as when the writer died; not read"
        ]

    def test_a_line_torn_inside_a_letter(self) -> None:
        """One problem, not two."""
        data = jsonl(*self.LINES[:2])
        transcript = read(data[: data.rindex("н".encode()) + 1])

        assert [problem.line for problem in transcript.problems] == [2]

    def test_a_nul_tail(self) -> None:
        """The bytes are counted and left out, also where a record follows them."""
        transcript = read(self.whole() + b"\0" * 512)
        filled = read(jsonl(self.LINES[0]) + b"\0" * 16 + jsonl(*self.LINES[1:]))

        assert len(transcript.messages) == len(filled.messages) == 3
        assert [str(problem) for problem in transcript.problems] == ["line 4: 512 NUL bytes, as after a loss of power; left out"]
        assert [problem.line for problem in filled.problems] == [2]

    def test_a_bad_line_in_the_middle(self) -> None:
        """Its neighbours are joined."""
        first, second, third = self.whole().splitlines()
        transcript = read(b"\n".join([first, second[:-4] + b"\\* }", third]))

        assert shapes(transcript) == ["u:go", "u:more"]
        assert [problem.line for problem in transcript.problems] == [2, 3]

    def test_a_record_appended_to_a_torn_one(self) -> None:
        """The writer died and the next one went on in the same line."""
        first, second, third = self.whole().splitlines()
        transcript = read(b"\n".join([first, second[:30] + second, third]))

        assert shapes(transcript) == ["u:go", "a:один", "u:more"]
        assert [str(problem) for problem in transcript.problems] == [
            "line 2: a torn record of 30 bytes before a whole one; the whole one read"
        ]

    def test_two_records_on_one_line(self) -> None:
        """Both are read."""
        first, second, third = self.whole().splitlines()

        assert len(read(b"\n".join([first, second + third])).messages) == 3

    def test_bytes_that_are_no_utf_8(self) -> None:
        """A replacement character stands for them, and the line is named."""
        transcript = read(self.whole().replace("один".encode(), b"od\xffn"))

        assert shapes(transcript)[1] == "a:od\ufffdn"
        assert [problem.line for problem in transcript.problems] == [2]

    @pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
    def test_byte_order_marks(self, encoding: str) -> None:
        """Shells add them, and some write UTF-16."""
        assert read(self.whole().decode().encode(encoding)).messages == read(self.whole()).messages

    def test_line_separators_inside_strings_end_no_line(self) -> None:
        """U+2028, U+0085 and form feeds stand unescaped in JSON."""
        text = "a\u2028b\u0085c\u2029d"

        assert shapes(read(jsonl(said("u1", None, text), said("u2", "u1", "x")))) == [f"u:{text}", "u:x"]

    def test_crlf_and_blank_lines(self) -> None:
        """Line numbers count them."""
        transcript = read(self.whole().replace(b"\n", b"\r\n\r\n") + b"{")

        assert len(transcript.messages) == 3
        assert [problem.line for problem in transcript.problems] == [7]

    def test_lines_that_are_no_objects(self) -> None:
        """They are named and passed over."""
        assert [problem.line for problem in read(self.whole() + b"7\n[1]\n").problems] == [4, 5]

    @pytest.mark.parametrize(
        "data",
        [
            b"",
            b" \n",
            b"\0\0",
            b"plain words",
            b"{",
            b"[1, 2",
            b"7",
            b"[]",
            b"{}",
            b"null",
            b'{"a": NaN}',
            b"[" * 5000,
            b'{"a":' * 5000,
        ],
    )
    def test_what_is_no_transcript_is_a_wire_error(self, data: bytes) -> None:
        """One kind of error, for whatever it is."""
        with pytest.raises(WireError):
            load(data)

    @pytest.mark.parametrize("name", FORMATS)
    @pytest.mark.parametrize(
        "data", [b"7", b"[[1]]", b'{"messages": {}}', b'[{"type": []}]', b'{"type": {}, "uuid": 1}\n{"role": []}']
    )
    def test_a_named_format_over_anything(self, data: bytes, name: str) -> None:
        """It is read or it is a `WireError`."""
        try:
            read(data, format=name)
        except WireError as error:
            assert error.problem  # noqa: PT017  # either outcome is right; another exception is not

    def test_an_unreadable_file_is_a_wire_error_with_its_name(self, tmp_path: Path) -> None:
        """Absent files, folders and impossible names."""
        for place, shown in ((tmp_path / "absent", str(tmp_path / "absent")), (tmp_path, str(tmp_path)), ("a\0b", repr("a\0b"))):
            with pytest.raises(WireError) as caught:
                load(place)
            assert caught.value.path == shown

    def test_content_given_as_a_name_is_explained(self) -> None:
        """The usual mistake, and the error says so."""
        with pytest.raises(WireError, match="content is passed as bytes"):
            load('[{"role": "user", "content": "hi"}]')

    def test_an_unknown_format_is_the_callers_mistake(self) -> None:
        """And the error lists the known ones."""
        with pytest.raises(PolicyError, match="claude-code, pi, anthropic, openai-chat, openai-responses"):
            load(b"[]", format="codex")

    @pytest.mark.parametrize(
        ("line", "name"),
        [
            ({"timestamp": "t", "type": "session_meta", "payload": {}}, "Codex"),
            ({"id": "x", "timestamp": "t", "instructions": None, "git": {}}, "Codex"),
            ({"sessionId": "s", "projectHash": "h", "messages": []}, "Gemini CLI"),
            ({"conversations": [{"from": "human", "value": "x"}]}, "ShareGPT"),
            ({"trajectory": [], "history": [], "info": {}}, "SWE-agent"),
        ],
    )
    def test_other_agents_files_are_named(self, line: dict[str, Any], name: str) -> None:
        """Not "unknown": the file is well, the reader is missing."""
        with pytest.raises(WireError, match=name):
            load(jsonl(line))

    def test_a_broken_document_is_reported_at_its_fault(self) -> None:
        """A pretty-printed body is no log, and its error has line and column."""
        with pytest.raises(WireError, match="line 3, column 1"):
            load(b'{\n "messages": [\n}')


# -- damage at every byte


def spoken(transcript: Transcript) -> Counter[tuple[int, str]]:
    """The blocks of a session, each with its line."""
    made: Counter[tuple[int, str]] = Counter()
    for message, lines in zip(transcript.messages, transcript.block_lines, strict=True):
        content = message["content"]
        for block, line in zip(content if isinstance(content, list) else [content], lines, strict=bool(content)):
            made[line, json.dumps(block, sort_keys=True)] += 1
    return made


@pytest.mark.parametrize("name", ["claude_subagent.jsonl", "pi_v1.jsonl", "pi_v3.jsonl"])
def test_a_session_cut_at_any_byte_is_what_its_whole_lines_say(name: str) -> None:
    """And a word about the rest, wherever there is one."""
    data = (DATA / name).read_bytes()
    count = 0
    for cut in range(len(data)):
        whole = data[: data.rfind(b"\n", 0, cut) + 1]
        torn = data[len(whole) : cut]
        if not whole or data[cut : cut + 1] == b"\n":  # no line before it, or a whole one that lacks its end
            continue
        transcript = read(data[:cut])
        assert transcript.messages == read(whole).messages
        assert not torn or transcript.problems[-1].line == whole.count(b"\n") + 1
        count += 1

    assert count > len(data) // 2


@pytest.mark.parametrize("name", sorted(path.name for path in DATA.iterdir()))
def test_other_bytes_cost_no_other_line_without_a_word(name: str) -> None:
    """What another line said is there; or a problem, or what was left out, tells that something is not."""
    data = (DATA / name).read_bytes()
    healthy = read(data)
    expected = spoken(healthy)
    known = Counter(problem.text for problem in healthy.problems) + Counter(healthy.meta["left_out"])
    links = [found.span(1) for found in LINKS.finditer(data)]
    lost = 0
    for seed in range(400):
        chance = Random(f"{name} {seed}")  # noqa: S311  # chance that can be repeated
        at = chance.randrange(len(data))
        other = chance.choice([bytes([chance.randrange(256)]), bytes([data[at] ^ 1 << chance.randrange(8)]), b'"', b"}", b"0"])
        if b"\n" in (data[at : at + 1], other) or any(start <= at < stop for start, stop in links):
            continue  # lines would have other numbers, and one short id may become another one of the file
        try:
            transcript = read(data[:at] + other + data[at + 1 :])
        except WireError:
            continue
        found = spoken(transcript)
        hit = data.count(b"\n", 0, at) + 1
        if any(found[block] < times for block, times in expected.items() if block[0] != hit):
            lost += 1
            told = Counter(problem.text for problem in transcript.problems) + Counter(transcript.meta["left_out"])
            assert told - known, (seed, at, other)

    assert lost < 60


def test_a_torn_first_line_does_not_make_a_session_a_request() -> None:
    """The message inside it is a message, but the lines that follow are a session's."""
    lines = jsonl(said("u1", None, "go"), said("u2", "u1", "on")).split(b"\n")
    torn = lines[0].replace(b'"on"', b"")[:-1]

    assert read(torn + b"\n" + lines[1]).format == "claude-code"
    assert read(torn).format == "openai-chat"


class TestSigns:
    """What is lost beside the damaged line is named."""

    def test_a_summary_without_its_compaction(self) -> None:
        lines = (said("u1", None, "old"), said("s1", "b1", "Summary", isCompactSummary=True), said("u2", "s1", "new"))
        problems = read(jsonl(*lines)).problems

        assert any("what that preserved is not known" in problem.text for problem in problems)

    def test_a_sub_agents_file_with_one_line_that_lacks_its_mark(self) -> None:
        """All lines name one agent, so it is that agent's file."""
        marks = {"agentId": "a", "isSidechain": True}
        lines = (said("u1", None, "task", **marks), reply("a1", "u1", "m1", words("done"), agentId="a"))

        assert shapes(read(jsonl(*lines))) == ["u:task", "a:done"]

    def test_a_result_beside_the_branch_without_its_call(self) -> None:
        """It hung from its call, which is on the branch and lost its name."""
        lines = (
            said("u1", None, "go"),
            reply("a1", "u1", "m1", words("t1 was here")),
            reply("a2", "a1", "m1", call("t2")),
            answer("r1", "a1", "t1"),
            answer("r2", "a2", "t2"),
        )
        transcript = read(jsonl(*lines))

        assert [str(problem) for problem in transcript.problems] == [
            "line 4: a result beside the branch, and its call is not on it; left out"
        ]
        assert transcript.meta["left_out"] == {"another branch": 1}

    def test_another_line_with_the_same_uuid(self) -> None:
        transcript = read(jsonl(said("u1", None, "go"), said("u1", None, "stop")))

        assert shapes(transcript) == ["u:go"]
        assert len(transcript.problems) == 1

    def test_an_entry_of_pi_written_twice_is_one(self) -> None:
        """Also where the copy stands last: the branch ends where it ended."""
        lines = [
            {"type": "session", "version": 3, "id": "s"},
            {"type": "message", "id": "e1", "parentId": None, "message": {"role": "user", "content": "go"}},
            {"type": "message", "id": "e2", "parentId": "e1", "message": {"role": "user", "content": "on"}},
        ]
        transcript = read(jsonl(*lines, lines[1]))

        assert shapes(transcript) == ["u:go", "u:on"]
        assert transcript.meta["left_out"] == {"repeated entry": 1}


def test_reading_is_linear_in_broken_lines() -> None:
    """A line of a thousand record starts is tried from eight of them."""
    line = b'{"type":' * 1000 + b"\n"

    assert len(read_content(jsonl({"a": 1}) + line).problems) == 1


def test_the_chapter_names_the_formats_and_nothing_else() -> None:
    """`spec/40-transcripts.md` lists what is read, in the words of the code."""
    text = CHAPTER.read_text("utf-8")

    assert all(f"`{name}`" in text for name in FORMATS)
    assert "\n## " not in text
