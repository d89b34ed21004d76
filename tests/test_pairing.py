"""Calls and results pair by position, and what they hold together nothing divides."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from compactlib.model import Block, Call, Result, Text, Wire, wire
from compactlib.pairing import Pairing, PairingByPlace


def call(name: str, *, tag: str = "tool_use", caller: str | None = None) -> Call:
    shape = wire(tag) if caller is None else Wire(tag, (), (("caller", {"tool_id": caller}),))
    return Call(name, "read", {}, shape)


def result(name: str) -> Result:
    return Result(name, "ok", wire("tool_result"))


def read(*messages: tuple[str, str], pairing: Pairing | None = None) -> Pairing:
    """Messages as (kind, ids): ``calls``, ``results``, or a ``prompt``, which opens as model messages do."""
    pairing = pairing or Pairing()
    for position, (kind, ids) in enumerate(messages):
        if kind == "results":
            pairing.results(tuple(map(result, ids)))
            continue
        pairing.openers.append(position)
        if kind == "prompt":
            pairing.passed = pairing.is_open
        else:
            if pairing.passed:
                pairing.give_up()
            pairing.calls(position, tuple(map(call, ids)))
    return pairing


def test_a_result_answers_the_nearest_earlier_open_call_with_its_id() -> None:
    """Not the first one, and in one message the first of several."""
    pairing = read(("calls", "a"), ("calls", "aa"), ("results", "a"))

    assert sorted(pairing.unanswered()) == [(0, 0), (1, 1)]
    pairing.results((result("a"),))
    assert pairing.unanswered() == [(0, 0)]
    pairing.results((result("a"), result("a")))
    assert not pairing.is_open


def test_nothing_begins_between_a_call_and_its_result() -> None:
    """Whatever stood there is enclosed, and what comes behind may begin again."""
    pairing = read(("calls", "ab"), ("results", "a"), ("prompt", ""), ("results", "b"), ("calls", ""))

    assert (pairing.openers, pairing.enclosed) == ([0, 4], [2])


def test_a_call_that_a_person_talked_past_is_given_up() -> None:
    """As soon as the model goes on; a later result with its id answers nothing."""
    pairing = read(("calls", "a"), ("prompt", ""), ("calls", ""), ("results", "a"))

    assert (pairing.given_up, pairing.openers) == ([(0, 0)], [0, 1, 2])


def test_results_are_counted_and_what_is_none_is_not() -> None:
    """So that whoever asks knows whether there is anything besides."""
    server = Result("a", "ok", wire("web_search_tool_result"))

    assert Pairing().results((result("a"), Text("hi"), server, result("b"))) == 2


def test_calls_of_a_program_are_held_to_where_it_was_started() -> None:
    """The provider's program calls tools in later messages; its first call opened the step."""
    pairing = Pairing()
    for position, blocks in enumerate([(call("s", tag="server_tool_use"),), (call("a", caller="s"),), (call("b", caller="x"),)]):
        pairing.openers.append(position)
        pairing.calls(position, blocks)

    assert (pairing.openers, pairing.enclosed) == ([0, 2], [1])


def test_by_place_a_result_with_an_unknown_name_answers_the_first_open_call() -> None:
    """Of the model's latest message; where ids are the rule it answers nothing."""
    messages = (("calls", "ab"), ("results", "x"))

    assert read(*messages, pairing=PairingByPlace()).unanswered() == [(0, 1)]
    assert read(*messages, ("results", "xx"), pairing=PairingByPlace()).unanswered() == []
    assert read(*messages).unanswered() == [(0, 0), (0, 1)]
    assert read(("calls", "aa"), ("results", "x"), pairing=PairingByPlace()).unanswered() == [(0, 1)]


def test_by_place_only_the_turn_before_is_answered() -> None:
    """Behind a person's words too, and never a call of an earlier turn of the model's, whatever its name."""
    spoken = (("calls", "a"), ("prompt", ""), ("results", "x"))
    older = (("calls", "ab"), ("results", "b"), ("calls", "c"), ("results", "a"))

    assert read(*spoken, pairing=PairingByPlace()).unanswered() == []
    late = read(*older, pairing=PairingByPlace())
    assert (late.given_up, late.unanswered()) == ([(0, 0)], [])


def nearest(messages: list[tuple[str, str]]) -> tuple[list[int], list[tuple[int, int]]]:
    """The same by search: openers that no pair of call and result encloses, and the calls without a result."""
    calls: list[tuple[int, int, str]] = []
    lost: list[tuple[int, int]] = []
    openers: list[int] = []
    passed = False
    for position, (kind, ids) in enumerate(messages):
        if kind == "results":
            for name in ids:
                mine = [one for one in calls if one[2] == name]
                if mine:
                    latest = max(one[0] for one in mine)
                    chosen = min(one for one in mine if one[0] == latest)
                    calls.remove(chosen)
                    openers = [at for at in openers if at <= chosen[0]]
            continue
        openers.append(position)
        if kind == "prompt":
            passed = bool(calls)
            continue
        if passed:
            lost += [one[:2] for one in calls]
            calls, passed = [], False
        calls += [(position, ordinal, name) for ordinal, name in enumerate(ids)]
    return openers, sorted(lost + [one[:2] for one in calls])


MESSAGES: Any = st.lists(st.tuples(st.sampled_from(["calls", "results", "prompt"]), st.text("abc", max_size=3)), max_size=9)


@given(MESSAGES)
def test_pairing_is_what_a_search_finds(messages: list[tuple[str, str]]) -> None:
    """On all words over calls, results and prompts."""
    pairing = read(*messages)
    openers, unanswered = nearest(messages)

    assert pairing.openers == openers
    assert sorted(pairing.given_up + pairing.unanswered()) == unanswered
    assert sorted(pairing.openers + pairing.enclosed) == [at for at, (kind, _) in enumerate(messages) if kind != "results"]


def test_long_batches_cost_no_more_a_call() -> None:
    """Each opener is added once and taken away at most once: a batch of many messages ends with all of them enclosed."""
    blocks: tuple[Block, ...] = (call("a"),)
    pairing = Pairing()
    for position in range(5_000):
        pairing.openers.append(position)
        pairing.calls(position, blocks)
    for _ in range(5_000):
        pairing.results((result("a"),))

    assert (pairing.openers, len(pairing.enclosed), pairing.is_open) == ([0], 4_999, False)
