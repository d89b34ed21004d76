"""The table of the message protocol, and the automaton that walks it."""

from __future__ import annotations

from itertools import permutations

import pytest

from compactlib.protocol.automaton import EXPECTED, TABLE, Automaton, Breach, Event, Neighbours, State, describe

OPEN_STATES = {State.CALLING, State.WAITING, State.PARTIAL, State.SPLIT, State.ASIDE, State.AWAY, State.PAST}
FRAMES = (Event.SYSTEM, Event.USER, Event.MODEL)
ENDS = (Event.REQUEST, Event.HISTORY)
RESULTS = (Event.ANSWER, Event.LAST, Event.REPEAT, Event.LATE, Event.STRAY)


class Script:
    """An automaton that is told what happens in words, one message after another."""

    def __init__(self, neighbours: Neighbours, scope: str = "turn") -> None:
        self.run = Automaton(neighbours, scope="turn" if scope == "turn" else "message")
        self.at = 0

    def say(self, *words: str) -> list[str]:
        """Play messages such as ``u prompt``, ``m call:a call:b``, ``u a b`` or ``r a``; the names of the breaches."""
        found: list[Breach | None] = []
        for message in words:
            side, *contents = message.split()
            self.at += 100
            if side == "r":
                self.run.at = self.at
            else:
                found.append(self.run.begin({"u": Event.USER, "m": Event.MODEL, "s": Event.SYSTEM}[side], self.at))
            for place, content in enumerate(contents):
                if content.startswith("call:"):
                    found.append(self.run.call(content[5:], place))
                elif content in ("prompt", "note", "words"):
                    found.append(self.run.see(Event[content.upper()]))
                else:
                    found.append(self.run.result(content))
        return [breach.name for breach in found if breach is not None]


def joined(*words: str) -> list[str]:
    return Script(Neighbours.JOINED).say(*words)


def separate(*words: str) -> list[str]:
    return Script(Neighbours.SEPARATE, "message").say(*words)


def counted(*words: str) -> list[str]:
    return Script(Neighbours.COUNTED, "message").say(*words)


def free(*responses: str) -> list[str]:
    return Script(Neighbours.FREE, "message").say(*responses)


def states(neighbours: Neighbours) -> set[State]:
    """The states that a kind of dialect has: only where messages are free may the model go past its calls."""
    return set(State) - (set() if neighbours is Neighbours.FREE else {State.PAST})


def test_each_state_answers_each_frame_and_each_end() -> None:
    """A message of any side may begin anywhere, and a conversation may end anywhere."""
    for neighbours, table in TABLE.items():
        assert {(state, event) for state in states(neighbours) for event in (*FRAMES, *ENDS)} <= set(table)
        assert {state for state, _event in table} == states(neighbours)


def test_calls_are_open_in_seven_states() -> None:
    """A frame or a result never leads from open calls to a state without, unless it says so or answers the last."""
    for table in TABLE.values():
        for (state, event), (goal, breach) in table.items():
            if state in OPEN_STATES and goal not in OPEN_STATES:
                assert breach is Breach.OPEN or event is Event.LAST
            if state not in OPEN_STATES and goal in OPEN_STATES:
                assert event in (Event.CALL, Event.AGAIN, Event.REUSED)


def test_ends_change_nothing() -> None:
    """To ask what it would break to end here leads nowhere."""
    for neighbours, table in TABLE.items():
        for state in states(neighbours):
            for end in ENDS:
                assert table[state, end][0] is state


def test_a_request_forbids_more_than_a_history() -> None:
    """What breaks a history when it ends breaks a request too."""
    for neighbours, table in TABLE.items():
        for state in states(neighbours):
            if table[state, Event.HISTORY][1] is not None:
                assert table[state, Event.REQUEST][1] is Breach.OPEN


def test_results_that_answer_nothing_are_always_a_breach() -> None:
    """No cell lets a repeated, late or stray result, or a used id, pass in silence."""
    for table in TABLE.values():
        for (_state, event), (_goal, breach) in table.items():
            if event in (Event.REPEAT, Event.LATE, Event.STRAY, Event.AGAIN, Event.REUSED):
                assert breach is not None


def test_every_breach_occurs_where_neighbours_are_joined() -> None:
    """No breach is named in vain."""
    assert {breach for _goal, breach in TABLE[Neighbours.JOINED].values()} == {*Breach, None}


def test_dialects_differ_where_the_text_says_so() -> None:
    """Joining neighbours matters in these cells and in no other."""
    one, other = TABLE[Neighbours.JOINED], TABLE[Neighbours.SEPARATE]
    differing = {cell for cell in {*one, *other} if one.get(cell) != other.get(cell)}

    assert differing == {
        (State.WHOLE, Event.SYSTEM),
        (State.WHOLE, Event.USER),
        (State.CALLING, Event.MODEL),
        (State.CALLING, Event.WORDS),
        (State.CALLING, Event.ANSWER),
        (State.CALLING, Event.LAST),
        (State.MODEL, Event.REPEAT),
        (State.CALLING, Event.REPEAT),
        (State.MODEL, Event.LATE),
        (State.CALLING, Event.LATE),
        (State.START, Event.STRAY),
        (State.MODEL, Event.STRAY),
        (State.CALLING, Event.STRAY),
    }


def test_counting_differs_from_joining_where_the_text_says_so() -> None:
    """A turn of the user's that is answered in full stays so, and only a call may not stand first."""
    one, other = TABLE[Neighbours.JOINED], TABLE[Neighbours.COUNTED]

    assert {cell for cell in {*one, *other} if one.get(cell) != other.get(cell)} == {
        (State.START, Event.MODEL),
        (State.AWAY, Event.ANSWER),
        (State.WHOLE, Event.PROMPT),
        (State.WHOLE, Event.NOTE),
        (State.WHOLE, Event.LATE),
        (State.WHOLE, Event.STRAY),
    }


def test_freedom_is_that_calls_stay_open_and_nothing_is_late() -> None:
    """In every state where calls wait the model may go on, and no result is ever too late."""
    one, other = TABLE[Neighbours.SEPARATE], TABLE[Neighbours.FREE]
    differing = {cell for cell in {*one, *other} if one.get(cell) != other.get(cell)}
    waiting = OPEN_STATES - {State.PAST}

    assert {cell for cell in differing if State.PAST not in cell and Event.LATE not in cell} == {
        *((state, Event.MODEL) for state in waiting),
        (State.CALLING, Event.WORDS),
        (State.AWAY, Event.ANSWER),
        (State.AWAY, Event.OVERDUE),
        (State.MODEL, Event.REPEAT),
        (State.CALLING, Event.REPEAT),
    }
    assert Breach.OPEN not in {breach for (_state, event), (_goal, breach) in other.items() if event not in ENDS}


@pytest.mark.parametrize("neighbours", list(Neighbours))
def test_all_states_but_one_are_reached_without_a_breach(neighbours: Neighbours) -> None:
    """Every state is somewhere a legal conversation can be, at least for a while."""
    reached = {State.START}
    for _ in State:
        moves = TABLE[neighbours].items()
        reached |= {goal for (state, _event), (goal, breach) in moves if state in reached and breach is None}

    assert reached == set(State) - {State.PAST} - (set() if neighbours is Neighbours.COUNTED else {State.FIRST})


@pytest.mark.parametrize("neighbours", list(Neighbours))
def test_what_was_abandoned_is_told_once(neighbours: Neighbours) -> None:
    """When the next batch ends, there is nothing left to say of the one before."""
    script = Script(neighbours)
    script.say("u prompt", "m call:a", "u prompt", "m words")
    told = list(script.run.abandoned)
    script.say("m words", "m words")

    assert told == ([] if neighbours is Neighbours.FREE else [("a", 200)])
    assert script.run.abandoned == []


def test_each_state_says_what_may_come() -> None:
    """The words for what is expected are complete."""
    assert set(EXPECTED) == set(State)
    assert all(EXPECTED.values())


LEGAL = ["u prompt", "m words call:a call:b", "u a b prompt", "m words"]


def test_a_plain_conversation_breaks_nothing() -> None:
    """Prompt, calls, results with a prompt behind them, words."""
    assert joined(*LEGAL) == []


@pytest.mark.parametrize("order", list(permutations("abc")))
def test_results_come_in_any_order(order: tuple[str, ...]) -> None:
    """The results of a batch are a set, in both kinds of dialect."""
    assert joined("u prompt", "m call:a call:b call:c", "u " + " ".join(order)) == []
    assert separate("u prompt", "m call:a call:b call:c", *(f"r {key}" for key in order)) == []


@pytest.mark.parametrize(
    ("words", "breaches"),
    [
        (["m words"], ["START"]),
        (["u prompt", "u prompt"], ["ADJACENT"]),
        (["u prompt", "m words", "m words"], ["ADJACENT"]),
        (["u prompt", "m call:a", "m call:b", "u a b"], ["ADJACENT"]),
        (["u prompt", "m call:a", "u prompt", "m words"], ["OPEN"]),
        (["u prompt", "m call:a", "u prompt", "u a"], ["ADJACENT", "BETWEEN"]),
        (["u prompt", "m call:a", "u prompt a"], ["BETWEEN"]),
        (["u prompt", "m call:a call:b", "u a note b"], ["BETWEEN"]),
        (["u prompt", "m call:a call:b call:c", "u a note b c"], ["BETWEEN"]),
        (["u prompt", "m call:a call:b", "u a", "u b"], ["SPLIT"]),
        (["u prompt", "m call:a call:b", "u a", "m words", "u b"], ["OPEN", "LATE"]),
        (["u prompt", "m call:a", "m words", "u a"], ["ADJACENT", "ORDER"]),
        (["u prompt", "m call:a words call:b", "u a b"], ["ORDER"]),
        (["u prompt", "m call:a", "u a a"], ["REPEAT"]),
        (["u prompt", "m call:a", "u a", "u a"], ["ADJACENT", "REPEAT"]),
        (["u prompt", "m call:a", "u a prompt a"], ["REPEAT"]),
        (["u prompt", "m call:a", "u a", "m words", "u a"], ["STRAY"]),
        (["u x"], ["STRAY"]),
        (["u prompt", "m call:a", "u x a"], ["STRAY"]),
        (["u prompt", "m call:a a"], ["ROLE"]),
        (["u prompt", "m words x"], ["ROLE"]),
        (["u call:a", "u a"], ["ROLE"]),
        (["u prompt", "m call:a call:a", "u a a"], ["DUPLICATE"]),
        (["u prompt", "m call:a", "u a", "m call:a", "u a"], ["DUPLICATE"]),
        (["u prompt", "m call:a", "u a", "m words", "u prompt", "m call:a", "u a"], ["REUSED"]),
        (["u prompt", "m call:a", "s", "u a"], ["ADJACENT", "BETWEEN"]),
        (["u prompt", "m call:a", "u a", "s", "m words"], []),
    ],
)
def test_joined_neighbours_break(words: list[str], breaches: list[str]) -> None:
    """Each fault has its name where neighbours are joined."""
    assert joined(*words) == breaches


@pytest.mark.parametrize(
    ("words", "breaches"),
    [
        (["u prompt", "m call:a", "m call:b", "r b"], ["OPEN"]),
        (["u prompt", "m call:a", "m words", "r a"], ["OPEN", "LATE"]),
        (["u prompt", "m call:a call:b", "r a", "u note", "r b"], ["BETWEEN"]),
        (["u prompt", "m call:a", "u prompt", "r a"], ["BETWEEN"]),
        (["u prompt", "m call:a", "s", "r a"], ["BETWEEN"]),
        (["u prompt", "m call:a", "r a", "r a"], ["REPEAT"]),
        (["u prompt", "m call:a", "r a", "u prompt", "r a"], ["STRAY"]),
        (["u prompt", "m call:a", "r x", "r a"], ["STRAY"]),
        (["r x"], ["STRAY"]),
        (["u prompt", "m words", "r x"], ["STRAY"]),
        (["u prompt", "m call:a words call:b", "r a", "r b"], []),
        (["u prompt", "m call:a call:a", "r a", "r a"], ["DUPLICATE"]),
        (["u prompt", "m call:a", "r a", "m call:a", "r a"], ["REUSED"]),
    ],
)
def test_separate_messages_break(words: list[str], breaches: list[str]) -> None:
    """Each fault has its name where messages stand for themselves."""
    assert separate(*words) == breaches


@pytest.mark.parametrize(
    ("words", "breaches"),
    [
        (["m words"], []),
        (["m words", "m call:a", "u a"], ["ADJACENT", "START"]),
        (["m call:a call:b", "u a b"], ["START"]),
        (["u prompt", "m call:a", "u a prompt x"], ["REPEAT"]),
        (["u prompt", "m call:a", "u note a note", "u x"], ["BETWEEN", "ADJACENT", "REPEAT"]),
        (["u prompt", "m call:a", "u prompt", "m words", "u a"], ["OPEN", "LATE"]),
        (["u prompt", "m words", "u x"], ["STRAY"]),
        (["u prompt", "m call:a call:b", "u prompt a", "m words"], ["OPEN"]),
    ],
)
def test_counted_messages_break(words: list[str], breaches: list[str]) -> None:
    """Each fault has its name where results are counted; what is in order to such a provider, its profile leaves out."""
    assert counted(*words) == breaches


@pytest.mark.parametrize(
    ("responses", "breaches"),
    [
        (["u prompt", "m words call:a call:b", "r b", "r a", "m words"], []),
        (["u prompt", "m call:a words call:b", "r a", "r b"], ["ORDER"]),
        (["u prompt", "m call:a", "u note", "r a"], ["BETWEEN"]),
        (["u prompt", "m call:a", "s", "r a"], ["BETWEEN"]),
        (["u prompt", "m call:a", "u prompt", "r a"], ["BETWEEN"]),
        (["u prompt", "m call:a", "u prompt", "m call:b", "r a", "r b"], ["ORDER", "BETWEEN"]),
        (["u prompt", "m call:a", "u prompt", "m call:b", "r b", "r a"], ["ORDER", "BETWEEN"]),
        (["u prompt", "m call:a call:b", "r a", "m words", "r b"], ["ORDER", "BETWEEN"]),
        (["u prompt", "m call:a", "r a", "m call:b", "r a", "r b"], ["REPEAT"]),
        (["u prompt", "m call:a", "r a", "m words", "u prompt", "r a"], ["REPEAT"]),
        (["u prompt", "m call:a", "u note", "m words", "r x", "r a"], ["ORDER", "STRAY", "BETWEEN"]),
        (["r a", "m call:a"], ["STRAY"]),
        (["u prompt", "m call:a call:a", "r a", "r a"], ["DUPLICATE"]),
        (["u prompt", "m call:a", "r a", "m call:a", "r a"], ["REUSED"]),
        (["u prompt", "m call:a", "u prompt", "m words call:a", "r a", "r a"], ["ORDER", "REUSED", "BETWEEN"]),
    ],
)
def test_free_messages_break(responses: list[str], breaches: list[str]) -> None:
    """Each fault has its name where results may come at any time; what is none, the profile leaves out."""
    assert free(*responses) == breaches


@pytest.mark.parametrize(
    ("responses", "passed", "may_be_kept"),
    [
        (["u prompt", "m call:a call:b"], [], True),
        (["u prompt", "m call:a call:b", "r b"], [], True),
        (["u prompt", "m call:a call:b", "u note"], [], True),
        (["u prompt", "m call:a call:b", "u prompt"], ["a", "b"], False),
        (["u prompt", "m call:a call:b", "r a", "m call:c"], ["b"], False),
        (["u prompt", "m call:a call:b", "r a", "m call:c", "r b"], [], True),
        (["u prompt", "m call:a", "u prompt", "m call:b call:c", "r a"], [], True),
        (["u prompt", "m call:a", "u prompt", "m call:b call:c", "r b"], ["a"], False),
        (["u prompt", "m call:a", "u prompt", "m call:b", "r a", "u prompt"], ["b"], False),
        (["u prompt", "m call:a", "u prompt", "m call:b", "r b", "r a"], [], True),
        (["u prompt", "m call:a", "u prompt", "r a", "m call:b"], [], True),
        (["u prompt", "m call:a call:a", "u prompt", "m words", "r a"], ["a"], False),
    ],
)
def test_only_calls_of_the_last_response_may_be_kept_open(responses: list[str], passed: list[str], may_be_kept: bool) -> None:
    """Law L4: what a person or a later response went past dangles until its result comes, however late."""
    script = Script(Neighbours.FREE, "message")
    script.say(*responses)

    assert [key for key, _place in script.run.passed] == passed
    assert (script.run.end(Event.HISTORY) is None) == may_be_kept
    assert script.run.end(Event.REQUEST) is (Breach.OPEN if script.run.open else None)


def test_a_fault_is_one_breach_and_the_rest_is_judged() -> None:
    """After a fault the conversation goes on, and a sound rest breaks nothing."""
    assert joined("u prompt", "m call:x", "m words", "u x", *LEGAL[1:]) == ["ADJACENT", "ORDER"]


@pytest.mark.parametrize(
    ("words", "request_breach", "history_breach"),
    [
        (["u prompt"], None, None),
        (["u prompt", "m words"], Breach.END, None),
        (["u prompt", "m call:a"], Breach.OPEN, None),
        (["u prompt", "m call:a call:b", "u a"], Breach.OPEN, None),
        (["u prompt", "m call:a call:b", "u a note"], Breach.OPEN, None),
        (["u prompt", "m call:a call:b", "u a prompt"], Breach.OPEN, Breach.OPEN),
        (["u prompt", "m call:a", "u prompt"], Breach.OPEN, Breach.OPEN),
        (["u prompt", "m call:a", "u prompt note"], Breach.OPEN, Breach.OPEN),
        (["u prompt", "m call:a", "s"], Breach.OPEN, None),
        (["u prompt", "m call:a", "u a"], None, None),
    ],
)
def test_a_history_may_end_at_a_frontier(words: list[str], request_breach: Breach | None, history_breach: Breach | None) -> None:
    """Law L4: open calls are pending until a person speaks; to be asked about it changes nothing."""
    script = Script(Neighbours.JOINED)
    script.say(*words)

    for _ in range(2):
        assert script.run.end(Event.REQUEST) is request_breach
        assert script.run.end(Event.HISTORY) is history_breach


def test_calls_with_one_id_are_answered_by_position() -> None:
    """Three calls, one id: each result takes the oldest, and a fourth is a repetition."""
    script = Script(Neighbours.JOINED)
    script.say("u prompt", "m call:a call:a call:a")
    assert script.run.open == [("a", 200), ("a", 201), ("a", 202)]

    for waiting in ([201, 202], [202], []):
        assert script.say("u a") in ([], ["SPLIT"])
        assert [place for _key, place in script.run.open] == waiting
    assert script.say("u a")[-1] == "REPEAT"
    assert script.run.place == 202


def test_a_late_result_knows_its_call_and_comes_once() -> None:
    """A call that was talked past is remembered, wherever its result comes, and answered once."""
    script = Script(Neighbours.SEPARATE, "message")
    script.say("u prompt", "m call:a", "m call:b", "r b", "m words", "u prompt")
    assert script.say("r a") == ["LATE"]
    assert script.run.place == 200
    assert script.say("r a") == ["STRAY"]
    assert script.run.place == -1


def test_a_result_without_id_means_the_oldest_open_call() -> None:
    """The oldest is found again after each answer, in any order, and is nothing when none is open."""
    script = Script(Neighbours.SEPARATE, "message")
    script.say("u prompt", "m call:a call:b call:c call:b")
    order = []
    while (key := script.run.oldest()) is not None:
        order.append(key)
        script.say(f"r {key}")

    assert order == ["a", "b", "c", "b"]


def test_a_copy_goes_its_own_way() -> None:
    """What happens to a copy does not show in the original, nor the other way round."""
    script = Script(Neighbours.JOINED)
    script.say("u prompt", "m call:a call:a call:b")
    twin = Script(Neighbours.JOINED)
    twin.run, twin.at = script.run.copy(), script.at
    before = script.run.open

    assert twin.say("u a a b", "m words") == []
    assert script.run.open == before
    assert script.say("m words") == ["ADJACENT", "ORDER"]
    assert twin.run.open == []


def test_ten_thousand_open_calls_are_answered_without_searching() -> None:
    """As many registers as calls, each looked up by its id."""
    script = Script(Neighbours.JOINED)
    keys = [f"call_{place}" for place in range(10_000)]

    assert script.say("u prompt", "m " + " ".join(f"call:{key}" for key in keys), "u " + " ".join(reversed(keys))) == []
    assert script.run.state is State.WHOLE


def test_the_description_draws_every_state_and_event() -> None:
    """The generated tables and the diagram speak of all there is."""
    text = describe()
    rows = [line for line in text.splitlines() if line.startswith("| ")]

    assert {f"| {event.name} " for event in Event} <= {row[: row.index(" |") + 1] for row in rows}
    assert all(f"{state.name}" in text.split("```mermaid")[1] for state in states(Neighbours.JOINED))
    assert "| PAST | MODEL |" in text
    assert describe() == text
