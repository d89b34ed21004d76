"""How conversations divide: kinds, steps, the frontier, and what is no boundary."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import compactlib as cl
from compactlib.model import Origin
from compactlib.recognition import is_harness, is_marker, is_placeholder
from compactlib.turns import Division, Kind, divide, origins

from . import reference
from .strategies import DIALECTS, broken, build, histories

PNG = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}}
URL = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}


def user(*content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content[0] if len(content) == 1 and isinstance(content[0], str) else list(content)}


def model(*content: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content[0] if len(content) == 1 and isinstance(content[0], str) else list(content)}


def call(name: str, tool: str = "read") -> dict[str, Any]:
    return {"type": "tool_use", "id": name, "name": tool, "input": {}}


def result(name: str, text: str = "ok") -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": name, "content": text}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def kinds_of(*messages: dict[str, Any], dialect: str = "anthropic") -> str:
    return " ".join(kind.value for kind in division_of(*messages, dialect=dialect).kinds)


def division_of(*messages: dict[str, Any], dialect: str = "anthropic") -> Division:
    return divide(cl.parse(list(messages), dialect=dialect))


def chat(*messages: tuple[str, Any]) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = []
    for role, detail in messages:
        if role == "calls":
            calls = [{"id": name, "type": "function", "function": {"name": "read", "arguments": "{}"}} for name in detail]
            made.append({"role": "assistant", "content": None, "tool_calls": calls})
        elif role == "tool":
            made.append({"role": "tool", "tool_call_id": detail[0], "content": detail[1]})
        else:
            made.append({"role": role, "content": detail})
    return made


EXPECTED_KIND = {
    "prompt": {Kind.PROMPT, Kind.PROMPT_TEXT},
    "text": {Kind.MODEL},
    "calls": {Kind.MODEL},
    "results": {Kind.RESULT},
    "attachment": {Kind.ATTACHMENT},
    "harness": {Kind.HARNESS},
}


@given(histories())
def test_drawn_messages_are_what_they_were_made_as(pieces: list[reference.Piece]) -> None:
    """Each kind is recognised, and turns and steps cover everything without gaps."""
    division = divide(cl.parse(build(pieces, "anthropic"), dialect="anthropic"))

    for piece, kind in zip(pieces, division.kinds, strict=True):
        assert kind in EXPECTED_KIND[piece[0]]
    assert [turn.start for turn in division.turns] == [at for at, kind in enumerate(division.kinds) if kind is Kind.PROMPT]
    covered = 0
    for turn in division.turns:
        assert turn.start == covered
        inside = turn.start + 1
        for step in turn.steps:
            assert step.start == inside
            inside = step.stop
        assert inside == turn.stop
        covered = turn.stop
    assert covered == len(pieces)


@given(st.one_of(histories(), broken()))
def test_no_step_begins_inside_a_span(pieces: list[reference.Piece]) -> None:
    """Law L2: where the reference model sees a call and its answer, no step begins between them."""
    division = divide(cl.parse(build(pieces, "anthropic"), dialect="anthropic"))
    starts = {step.start for step in division.steps} | {turn.start for turn in division.turns}

    for start, stop in reference.spans(pieces):
        assert not starts & set(range(start + 1, stop + 1))


@given(st.one_of(histories(), broken()))
def test_both_dialects_divide_alike(pieces: list[reference.Piece]) -> None:
    """One message for each result or all in one: prompts and steps are as many, and the frontier is the same size."""
    one, other = (divide(cl.parse(build(pieces, dialect), dialect=dialect)) for dialect in DIALECTS)

    assert len(one.turns) == len(other.turns)
    assert len(one.steps) == len(other.steps)
    assert len(one.pending) == len(other.pending)
    assert len(one.dangling) == len(other.dangling)


@pytest.mark.parametrize(
    ("last", "kind"),
    [
        (user(text("Attached image(s) from tool result:"), PNG), "attachment"),
        (user(text("Attached media from tool result:"), PNG), "attachment"),
        (user(PNG), "attachment"),
        (user(text(""), PNG, PNG, PNG), "attachment"),
        (user(text("what is wrong in this one?"), PNG), "prompt"),
        (user("never mind"), "prompt"),
        (user("[Request interrupted by user for tool use]"), "harness"),
        (user("<system-reminder>one</system-reminder>\n<system-reminder>two</system-reminder>"), "harness"),
        (user("<system-reminder>one</system-reminder> stop"), "prompt"),
        (user(text("<command-name>/x</command-name>"), text("and do it")), "prompt"),
        (user(" "), "harness"),
    ],
)
def test_a_user_message_after_results(last: dict[str, Any], kind: str) -> None:
    """Media without words, and texts of the client, begin no turn; one word of a person does."""
    assert kinds_of(user("look"), model(call("a", "screenshot")), user(result("a", "")), last) == f"prompt model result {kind}"


def test_an_image_alone_is_a_prompt_where_no_result_is_before_it() -> None:
    """A person may send a picture without a word."""
    assert kinds_of(user("hi"), model("yes?"), user(PNG)) == "prompt model prompt"


def test_an_unmarked_image_may_still_be_a_persons() -> None:
    """Recognition removes the boundary, not the protection (law L8)."""
    messages = (user("look"), model(call("a", "ls")), user(result("a", "listing")), user(PNG))

    assert division_of(*messages).kinds[-1] is Kind.ATTACHMENT
    assert division_of(*messages).last_person == 3


def test_a_linked_image_is_nobodys_words() -> None:
    """A result that says where its image is makes it certain."""
    messages = (user("look"), model(call("a", "ls")), user(result("a", "(see attached image)")), user(PNG))

    assert division_of(*messages).last_person == 0


def test_an_attachment_between_two_results_is_inside_the_step() -> None:
    """Agents write it and providers refuse it; no cut falls there while a call is open."""
    messages = chat(
        ("user", "q"), ("calls", ["a", "b"]), ("tool", ("a", "")), ("user", [URL]), ("tool", ("b", "ok")), ("assistant", "x")
    )

    assert [step.start for step in division_of(*messages, dialect="openai-chat").steps] == [1, 5]
    assert cl.legal_cuts(cl.parse(messages, dialect="openai-chat")).step == (1, 5)


def test_words_between_two_results_begin_no_turn_and_stay_words() -> None:
    """A person who types while tools run is heard, and tears nothing apart."""
    messages = chat(("user", "q"), ("calls", ["a", "b"]), ("tool", ("a", "ok")), ("user", "hurry"), ("tool", ("b", "ok")))
    division = division_of(*messages, dialect="openai-chat")

    assert division.kinds[3] is Kind.PROMPT_TEXT
    assert len(division.turns) == 1
    assert division.last_person == 3


def test_a_bridge_between_results_and_their_image_begins_no_step() -> None:
    """Some clients invent a model message there."""
    messages = (user("q"), model(call("a")), user(result("a", "")), model("OK"), user(PNG), model("I see"))

    assert [step.start for step in division_of(*messages).steps] == [1, 5]


def test_reused_ids_pair_by_position() -> None:
    """The same id in every turn: each result belongs to its own turn's call."""
    one = [user("a"), model(call("call_0")), user(result("call_0")), model("ok")]
    division = division_of(*one, *one, *one)

    assert division.dangling == ()
    assert [step.start for step in division.steps] == [1, 3, 5, 7, 9, 11]


def test_a_dangling_call_with_a_reused_id_takes_no_later_answer() -> None:
    """The result goes to the nearest call with its id."""
    division = division_of(user("a"), model(call("x")), user("b"), model(call("x")), user(result("x")), model("ok"))

    assert division.dangling == ((1, 0),)
    assert [turn.start for turn in division.turns] == [0, 2]


def test_two_calls_with_one_id_in_one_message_are_answered_in_order() -> None:
    """The first answer leaves the second call open."""
    division = division_of(user("a"), model(call("x"), call("x")), user(result("x")))

    assert division.pending == ((1, 1),)


@pytest.mark.parametrize(
    ("messages", "pending", "dangling"),
    [
        ([user("q"), model(call("a"), call("b"))], [(1, 0), (1, 1)], []),
        ([user("q"), model(call("a"), call("b")), user(result("b"))], [(1, 0)], []),
        ([user("q"), model(call("a")), user("<system-reminder>x</system-reminder>")], [(1, 0)], []),
        ([user("q"), model(call("a")), user("well?")], [], [(1, 0)]),
        ([user("q"), model(call("a"), call("b")), user(result("a"), text("stop"))], [], [(1, 1)]),
        ([user("q"), model(call("a")), model("x")], [], [(1, 0)]),
        ([user("q"), model(call("a")), user("n"), model(call("b"))], [(3, 0)], [(1, 0)]),
    ],
)
def test_the_frontier(messages: Any, pending: Any, dangling: Any) -> None:
    """Law L4: pending only at the live end; everything else unanswered dangles."""
    division = division_of(*messages)

    assert (list(division.pending), list(division.dangling)) == (pending, dangling)


def test_server_tools_are_no_client_calls() -> None:
    """They are answered inside the model's message and leave nothing open."""
    server = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}

    assert division_of(user("q"), model(server), user("n")).dangling == ()


def test_a_call_made_by_a_program_of_the_provider_stays_with_it() -> None:
    """A call whose caller is a server call of an earlier message belongs to the same step."""
    server = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "code_execution", "input": {}}
    called = {**call("a"), "caller": {"type": "code_execution_20250825", "tool_id": "srvtoolu_1"}}
    called_again = {**call("b"), "caller": {"type": "code_execution_20250825", "tool_id": "srvtoolu_1"}}
    messages = (user("q"), model(server, called), user(result("a")), model(called_again), user(result("b")), model("done"))

    assert [step.start for step in division_of(*messages).steps] == [1, 5]


def test_what_stands_before_the_first_prompt_is_preamble() -> None:
    """Environment and instruction files are neither turns nor history."""
    messages = chat(
        ("system", "s"), ("user", "<environment_context>x</environment_context>"), ("user", "go"), ("assistant", "ok")
    )
    division = division_of(*messages, dialect="openai-chat")

    assert [kind.value for kind in division.kinds] == ["system", "preamble", "prompt", "model"]
    assert division.head_stop == 2


def test_origins_are_resolved_block_by_block() -> None:
    """A mixed message holds a tool's answer, a person's words and a reminder."""
    conversation = cl.parse(
        [user("q"), model(call("a")), user(result("a"), text("use uuid keys"), text("<system-reminder>x</system-reminder>"))],
        dialect="anthropic",
    )
    found = origins(conversation.messages[2], divide(conversation).kinds[2])

    assert found == (Origin.TOOL, Origin.HUMAN, Origin.HARNESS)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("", True),
        ("<system-reminder></system-reminder>", True),
        ("<SYSTEM-REMINDER>x</SYSTEM-REMINDER>", True),
        ("<system-reminder>x", False),
        ("<system-reminderx>y</system-reminderx>", False),
        ("<b>bold</b>", False),
        ("<", False),
        ("Caveat: The messages below were generated by the user while running local commands. DO NOT", True),
        ("Caveats apply", False),
    ],
)
def test_harness_texts(words: str, expected: bool) -> None:
    """Only what is nothing else."""
    assert is_harness(words) is expected


def test_markers_and_placeholders() -> None:
    """Exact texts, any case, and nothing that a person would add."""
    assert is_marker("Attached image(s) from tool result:")
    assert not is_marker("Attached image(s) from tool result: why is it blue?")
    assert is_placeholder("(see attached image)")
    assert not is_placeholder("see the image")


def test_many_attachments_after_many_results_cost_linear_time() -> None:
    """Ten thousand of each: no pass looks at a run again for each of its attachments."""
    count = 10_000
    messages = [user("q"), model(*(call(f"c{n}") for n in range(count)))]
    messages += [user(result(f"c{n}", "")) for n in range(count)]
    messages += [user(PNG) for _ in range(count)]

    assert len(division_of(*messages).steps) == 1


def test_the_module_can_be_called() -> None:
    """`compactlib.turns` is the public function even when the module was imported before."""
    conversation = cl.parse([user("a"), model("b"), user("c")], dialect="anthropic")

    assert [(turn.start, turn.stop) for turn in cl.turns(conversation)] == [(0, 2), (2, 3)]


def test_blocks_that_nobody_knows_are_of_unknown_origin() -> None:
    """No boundary, and kept as if a person had written them (law L8)."""
    division = division_of(user("q"), model("a"), user({"type": "container_upload", "file_id": "f"}))

    assert division.kinds[-1] is Kind.OTHER
    assert division.last_person == 2


def test_a_response_of_several_items_is_one_step() -> None:
    """OpenAI Responses writes reasoning, words and calls as messages of their own; no cut falls between them (law L2)."""

    def item(kind: str, **fields: Any) -> dict[str, Any]:
        return {"type": kind, **fields}

    def function(name: str) -> dict[str, Any]:
        return item("function_call", call_id=name, name="f", arguments="{}")

    def output(name: str) -> dict[str, Any]:
        return item("function_call_output", call_id=name, output="x")

    thought = item("reasoning", id="rs_1", summary=[], encrypted_content="E")
    asked, said = (item("message", role=role, content="x") for role in ("user", "assistant"))
    first = [asked, thought, function("a"), function("b"), output("a"), output("b"), thought, said]
    conversation = cl.parse([*first, asked, said, thought, function("c"), output("c"), said], dialect="openai-responses")
    division = divide(conversation)

    assert [(step.start, step.stop) for step in division.steps] == [(1, 6), (6, 8), (9, 13), (13, 14)]
    assert (cl.legal_cuts(conversation).turn, cl.legal_cuts(conversation).step) == ((8,), (1, 6, 9, 13))
    live = divide(cl.parse([asked, thought, function("a"), function("b"), output("b")], dialect="openai-responses"))
    assert (live.pending, live.dangling) == (((2, 0),), ())


def test_an_empty_message_is_nobodys_words() -> None:
    """The last message that says something is the one that is protected (law L8)."""
    assert division_of(user("q"), model("a"), user("<system-reminder>x</system-reminder>"), user(" ")).last_person == 2
