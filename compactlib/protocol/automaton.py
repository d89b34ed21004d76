"""
The message protocol as an automaton: one table, a few registers.

What this is
    The part of a provider's rules that speaks of *order*: which message may
    follow which, which result answers which call, and what may end a request.
    Everything else (ids, empty texts, seals, sizes) is judged message by
    message in the readers.

Theory
    Write a conversation as a word.  Its letters are not messages but what
    happens: *frames* (a message of some side begins), *contents* (words, a
    call, a result) and the *end*.  Two things keep this language from being
    regular.  Calls carry ids, of which there are infinitely many, and a batch
    may hold any number of calls.  Neither needs a stack:

    * Ids are only ever compared for equality.  So a result is translated, by
      looking its id up in the registers, into one of six letters that say
      how it *stands* to the calls before it: it answers one of several open
      calls (`ANSWER`) or the last open one (`LAST`), it repeats an answer
      (`REPEAT`), it answers a call that the model has since talked past
      (`LATE`; where that is no fault, the last such call: `OVERDUE`), or
      nothing at all (`STRAY`).  A call is likewise new (`CALL`),
      used before in this turn (`AGAIN`) or in an earlier one (`REUSED`).
    * What matters about the batch is whether a call is open, not how many
      are; the number enters only in telling `ANSWER` from `LAST`.

    After this translation twelve states suffice, and the table below is the
    whole protocol: a register automaton whose control is finite.  With a
    bound on the number of open calls its language is regular, which is what
    the tests use: a regular expression, written independently, agrees with
    this table on every word up to a length.

    A cell never says "stop".  A move that a provider would refuse goes on to
    the most plausible state and names its *breach*, so that one fault gives
    one finding and the rest of the conversation is still judged.

The states, and the invariant
    Calls are open exactly in CALLING, WAITING, PARTIAL, SPLIT, ASIDE, AWAY and PAST.

    ===========  ==============================================================
    ``START``    nothing yet but system messages
    ``USER``     on the user's side, no call open
    ``MODEL``    in or after a model message without open calls
    ``CALLING``  in or after a model message with open calls
    ``WAITING``  on the user's side, calls open, no result yet
    ``PARTIAL``  some results came, calls are open
    ``SPLIT``    the same, and another user message has begun
    ``ASIDE``    calls are open, and a note (an attachment, a reminder) is behind them
    ``AWAY``     calls are open, and a person has spoken since: they dangle
    ``WHOLE``    every call of the batch is answered, nothing came since
    ``FIRST``    the model has spoken first, and has not called
    ``PAST``     in a model's response, calls of earlier ones are open: they dangle
    ===========  ==============================================================

What differs between dialects
    Some providers join neighbouring messages of one side before they judge
    them (Anthropic); to others each message stands for itself, results too,
    which need no user message around them (OpenAI Chat).  Others join
    neighbours, and then only count: a turn of the user's has as many results as
    the model's turn before it has calls, wherever they stand in it (Gemini).
    There `WHOLE` lasts as long as the user's turn, and a result too many is a
    repetition; and whether the model may speak first depends on whether it
    calls.  The cells in which this matters are written ``joined | separate |
    counted``.  To a last kind nothing need stand beside anything (OpenAI
    Responses): the model's frame is a whole response, nothing is ever late, and
    a call waits as long as it must.  Its cells that are not as ``separate``
    stand in a table of their own.  Which breach is which rule, and which is
    none, is the dialect's profile.

    It is long because the table, its theory and its reading belong side by side.

What is not here
    What a message contains (the readers), how bad a breach is (`rules`), and
    how a conversation is cut (`compactlib.turns`, which pairs calls by itself
    and shares nothing with this module).
"""

from __future__ import annotations

import enum
import re
from collections import deque
from collections.abc import Mapping
from functools import cache
from typing import Any, Final, Literal, TypeAlias

__all__ = ["EXPECTED", "TABLE", "Automaton", "Breach", "Event", "Neighbours", "State", "describe"]


class State(enum.Enum):
    """Where the conversation stands; see the module's table."""

    START = 0
    USER = 1
    MODEL = 2
    CALLING = 3
    WAITING = 4
    PARTIAL = 5
    SPLIT = 6
    ASIDE = 7
    AWAY = 8
    WHOLE = 9
    FIRST = 10
    PAST = 11


class Event(enum.IntEnum):
    """What happens next.  The number is the row's offset in the flat table."""

    # a message begins
    SYSTEM = 0
    USER = 1
    MODEL = 2
    # it contains
    PROMPT = 3
    """A person's words."""
    NOTE = 4
    """What stands on the user's side without being a person's: an attachment, a reminder."""
    WORDS = 5
    """Anything of the model's that is no client call."""
    CALL = 6
    AGAIN = 7
    REUSED = 8
    ANSWER = 9
    LAST = 10
    OVERDUE = 11
    """The last of the open calls that the conversation went past; those that remain are of the last response."""
    REPEAT = 12
    LATE = 13
    STRAY = 14
    # the end
    REQUEST = 15
    """The conversation is sent now."""
    HISTORY = 16
    """The conversation is put aside and may go on: open calls are pending (law L4)."""


class Breach(enum.Enum):
    """What a move breaks, with the common rule it belongs to."""

    OPEN = "C1", "a call is never answered"
    STRAY = "C2", "a result answers nothing"
    DUPLICATE = "C3", "an id is used twice in one scope"
    REUSED = "C3", "an id of an earlier scope is used again"
    REPEAT = "C4", "a call is answered twice"
    ORDER = "C5", "the model goes on after its calls"
    SPLIT = "C5", "a batch is answered in several messages"
    BETWEEN = "C5", "something stands between a call and its result"
    LATE = "C5", "a result comes after the model went on"
    ROLE = "C6", "a call or a result stands on the wrong side"
    START = "C7", "the model speaks first"
    END = "C8", "the model speaks last"
    ADJACENT = "C9", "two messages of one side follow each other"

    @property
    def core(self) -> str:
        """The common rule, ``C1`` to ``C9``."""
        return self.value[0]

    @property
    def words(self) -> str:
        """What it means."""
        return self.value[1]


class Neighbours(enum.Enum):
    """What the provider does with neighbouring messages of one side."""

    JOINED = "joined"
    SEPARATE = "separate"
    COUNTED = "counted"
    """They are joined, and results are not matched with calls but counted against them, turn for turn."""
    FREE = "free"
    """They need not be neighbours at all: a result may stand anywhere behind its call."""


Cell: TypeAlias = tuple[State, Breach | None]
"""Where a move leads, and what it breaks."""

# One row per event, one column per state, in three parts.
# "." stays, "-" cannot happen, "!x" breaks x; "a | b | c" is joined | separate | counted, and counted is as joined without a c.
# fmt: off
_ROWS: Final = """
          START                                 FIRST           USER           MODEL                    CALLING
SYSTEM    .                                     USER            .              USER                     ASIDE
USER      USER                                  USER            . !adjacent    USER                     WAITING
MODEL     MODEL !start | MODEL !start | FIRST   . !adjacent     MODEL          . !adjacent              . !adjacent | MODEL !open
PROMPT    -                                     -               .              -                        -
NOTE      -                                     -               .              -                        -
WORDS     -                                     .               -              .                        . !order | .
CALL      -                                     CALLING !start  CALLING !role  CALLING                  .
AGAIN     -                                     -               CALLING !role  CALLING !duplicate       . !duplicate
REUSED    -                                     -               CALLING !role  CALLING !reused          . !reused
ANSWER    -                                     -               -              -                        . !role | PARTIAL
LAST      -                                     -               -              -                        MODEL !role | WHOLE
REPEAT    -                                     -               . !repeat      . !role | -              . !role | -
LATE      -                                     -               . !late        . !role | USER !late     . !role | WAITING !late
STRAY     - | USER !stray                       . !role         . !stray       . !role | USER !stray    . !role | WAITING !stray
REQUEST   .                                     . !end          .              . !end                   . !open
HISTORY   .                                     .               .              .                        .

          WAITING          PARTIAL          SPLIT            ASIDE
SYSTEM    ASIDE            ASIDE            ASIDE            .
USER      . !adjacent      SPLIT            .                . !adjacent
MODEL     MODEL !open      MODEL !open      MODEL !open      MODEL !open
PROMPT    AWAY             AWAY             AWAY             AWAY
NOTE      ASIDE            ASIDE            ASIDE            .
WORDS     -                -                -                -
CALL      CALLING !role    CALLING !role    CALLING !role    CALLING !role
AGAIN     CALLING !role    CALLING !role    CALLING !role    CALLING !role
REUSED    CALLING !role    CALLING !role    CALLING !role    CALLING !role
ANSWER    PARTIAL          .                PARTIAL !split   PARTIAL !between
LAST      WHOLE            WHOLE            WHOLE !split     WHOLE !between
REPEAT    . !repeat        . !repeat        . !repeat        . !repeat
LATE      . !late          . !late          . !late          . !late
STRAY     . !stray         . !stray         . !stray         . !stray
REQUEST   . !open          . !open          . !open          . !open
HISTORY   .                .                .                .

          AWAY                                       WHOLE
SYSTEM    .                                          . | USER
USER      . !adjacent                                . !adjacent | USER | . !adjacent
MODEL     MODEL !open                                MODEL
PROMPT    .                                          USER | USER | .
NOTE      .                                          USER | USER | .
WORDS     -                                          -
CALL      CALLING !role                              CALLING !role
AGAIN     CALLING !role                              CALLING !role
REUSED    CALLING !role                              CALLING !role
ANSWER    PARTIAL !between | PARTIAL !between | .    -
LAST      WHOLE !between                             -
REPEAT    . !repeat                                  . !repeat
LATE      . !late                                    . !late | . !late | . !repeat
STRAY     . !stray                                   . !stray | . !stray | . !repeat
REQUEST   . !open                                    .
HISTORY   . !open                                    .
"""

# Where messages are free: what is not as where they are separate, which is written "=".
_FREE_ROWS: Final = """
         MODEL         CALLING          WAITING      PARTIAL      SPLIT        ASIDE        AWAY              PAST
SYSTEM   =             =                =            =            =            =            =                 AWAY
USER     =             =                =            =            =            =            =                 AWAY
MODEL    =             PAST !order      PAST !order  PAST !order  PAST !order  PAST !order  PAST !order       .
PROMPT   =             =                =            =            =            =            =                 -
NOTE     =             =                =            =            =            =            =                 -
WORDS    =             . !order         =            =            =            =            =                 .
CALL     =             =                =            =            =            =            =                 .
AGAIN    =             =                =            =            =            =            =                 . !duplicate
REUSED   =             =                =            =            =            =            =                 . !reused
ANSWER   =             =                =            =            =            =            . !between        AWAY
LAST     =             =                =            =            =            =            =                 WHOLE !between
OVERDUE  -             -                -            -            -            -            PARTIAL !between  PARTIAL !between
REPEAT   USER !repeat  WAITING !repeat  =            =            =            =            =                 AWAY !repeat
LATE     -             -                -            -            -            -            -                 -
STRAY    =             =                =            =            =            =            =                 AWAY !stray
REQUEST  =             =                =            =            =            =            =                 . !open
HISTORY  =             =                =            =            =            =            =                 . !open
"""
# fmt: on


def _read(rows: str) -> dict[Neighbours, dict[tuple[State, Event], Cell]]:
    """The table that the text draws."""
    tables: dict[Neighbours, dict[tuple[State, Event], Cell]] = {kind: {} for kind in Neighbours}
    for half in rows.strip("\n").split("\n\n"):
        header, *lines = half.splitlines()
        states = [State[name] for name in header.split()]
        for line in lines:
            word, *cells = re.split(r"\s{2,}", line.strip())
            for state, cell in zip(states, cells, strict=True):
                choices = cell.split(" | ")
                by_kind = (choices[0], choices[min(1, len(choices) - 1)], choices[2 if len(choices) > 2 else 0])
                for kind, choice in zip(Neighbours, by_kind, strict=False):  # FREE has a table of its own
                    target, _, breach = choice.partition(" !")
                    if target != "-":
                        goal = state if target == "." else State[target]
                        tables[kind][state, Event[word]] = goal, Breach[breach.upper()] if breach else None
    return tables


def _read_free(rows: str, separate: Mapping[tuple[State, Event], Cell]) -> dict[tuple[State, Event], Cell]:
    """The table of what is free, which the text draws as it differs from *separate*."""
    table = dict(separate)
    header, *lines = rows.strip("\n").splitlines()
    for line in lines:
        word, *cells = line.replace(" !", "!").split()
        for name, cell in zip(header.split(), cells, strict=True):
            target, _, breach = cell.partition("!")
            place = State[name], Event[word]
            if target == "-":
                table.pop(place, None)
            elif target != "=":
                table[place] = State[name if target == "." else target], Breach[breach.upper()] if breach else None
    return table


TABLE: Final[Mapping[Neighbours, Mapping[tuple[State, Event], Cell]]] = {
    **(_tables := _read(_ROWS)),
    Neighbours.FREE: _read_free(_FREE_ROWS, _tables[Neighbours.SEPARATE]),
}
"""For each kind of dialect (state, event) -> (next state, breach).  What is not in it cannot happen."""

EXPECTED: Final[Mapping[State, str]] = {
    State.START: "a user message",
    State.USER: "a model message, or more of the user's",
    State.MODEL: "a user message",
    State.CALLING: "the results of the open calls, before anything else",
    State.WAITING: "the results of the open calls, before anything else",
    State.PARTIAL: "the results of the calls that are still open",
    State.SPLIT: "the results of the calls that are still open; they belong into the message before",
    State.ASIDE: "the results of the open calls; they belong before what stands there now",
    State.AWAY: "nothing: the open calls needed their results before the user went on",
    State.WHOLE: "a model message, or a user message",
    State.FIRST: "a user message",
    State.PAST: "the results of the open calls, which need not come at once",
}
"""What may come in each state, in words."""

# -- the table as the machine reads it ---------------------------------------------------------------------------------
#
# A state is its row: a list with, for each event, the next state's row and the breach, and behind them what the state is
# and whether a message that leads there ends the batch.  One step is then two look-ups in lists.

_Row: TypeAlias = list[Any]
_WHICH: Final = len(Event)
_ENDS_BATCH: Final = _WHICH + 1

# plain numbers, because adding and comparing members of an enum takes the slow way
_PROMPT, _CALL, _AGAIN, _REUSED = map(int, (Event.PROMPT, Event.CALL, Event.AGAIN, Event.REUSED))
_ANSWER, _LAST, _REPEAT, _LATE, _STRAY = map(int, (Event.ANSWER, Event.LAST, Event.REPEAT, Event.LATE, Event.STRAY))
_OVERDUE: Final = int(Event.OVERDUE)


@cache
def _first_row(neighbours: Neighbours) -> _Row:
    """The row of `State.START`, from which all others are reached."""
    rows: dict[State, _Row] = {state: [] for state in State}
    for state, row in rows.items():
        for event in Event:
            goal, breach = TABLE[neighbours].get((state, event), (state, None))
            row.append((rows[goal], breach))
        # A batch is over when the model goes on or, where messages stand for themselves, with any message but a result.
        ends_batch = state in (State.MODEL, State.PAST) or (state is State.USER and neighbours is Neighbours.SEPARATE)
        row += [state, ends_batch]
    return rows[State.START]


class Automaton:
    """
    The automaton at work: the control, and the registers beside it.

    A *place* says where a call stands: the place of its message plus its
    position there.  Places are numbers that grow along the conversation, and
    so serve as time.  The registers: the open calls; those that were talked
    past; for each id the place of its last call; where the batch and the turn
    began.  Every operation is O(1), but talking past a batch, which is linear
    in its open calls.  Where messages are free, what was talked past stays
    open, and it is counted how many calls that are.

    Args:
        neighbours: whether neighbouring messages are joined.
        scope: within what an id may not be used again: the ``turn`` (since a
            person last spoke) or the ``message``.

    Attributes:
        at: the place of the message being read.
        waiting: the open calls, id -> place.  To be read only.
        abandoned: the calls, (id, place), that the batch which ended last left open; `Breach.OPEN` speaks of them.
        place: where the call stands that the last result which broke something
            answers, -1 if there is none.

    >>> run = Automaton(Neighbours.JOINED)
    >>> run.begin(Event.USER, 0), run.see(Event.PROMPT), run.begin(Event.MODEL, 10), run.call("a", 0), run.call("b", 1)
    (None, None, None, None, None)
    >>> run.begin(Event.USER, 20), run.result("b"), run.state.name, run.waiting
    (None, None, 'PARTIAL', {'a': 10})
    >>> run.begin(Event.MODEL, 30).words, run.abandoned
    ('a call is never answered', [('a', 10)])
    """

    __slots__ = (
        "_batch_start", "_is_free", "_late", "_order", "_overdue", "_per_turn", "_row", "_seen", "_turn_start", "_twin_count",
        "_twins", "abandoned", "at", "place", "waiting",
    )  # fmt: skip

    def __init__(self, neighbours: Neighbours, *, scope: Literal["turn", "message"] = "turn") -> None:
        self._row = _first_row(neighbours)
        self._per_turn = scope == "turn"
        self._seen: dict[str, int] = {}
        self._late: dict[str, int] = {}
        self._twins: dict[str, deque[int]] = {}  # further open calls with an id that waits already
        self._order: deque[tuple[str, int]] | None = None  # open calls, oldest first; made when a result without an id comes
        self._batch_start = self._turn_start = 0
        self._is_free = neighbours is Neighbours.FREE
        self._overdue = self._twin_count = 0  # how many open calls were talked past, where they stay open; how many twins wait
        self.at = self.place = -1
        self.waiting: dict[str, int] = {}
        self.abandoned: list[tuple[str, int]] = []

    @property
    def state(self) -> State:
        """The control's state."""
        state: State = self._row[_WHICH]
        return state

    @property
    def open(self) -> list[tuple[str, int]]:
        """(id, place) of all open calls, in order."""
        found = list(self.waiting.items())
        found += [(key, place) for key, places in self._twins.items() for place in places]
        return sorted(found, key=_place_of) if self._twins else found

    @property
    def passed(self) -> list[tuple[str, int]]:
        """Those of them that were talked past, where they stay open: of earlier responses, or a person has spoken since."""
        last = max(self._batch_start, self._turn_start)
        return [call for call in self.open if call[1] < last] if self._overdue else []

    def begin(self, event: int, place: int) -> Breach | None:
        """A message begins at *place*: `Event.SYSTEM`, `USER` or `MODEL`."""
        breach: Breach | None
        self.at = place
        self._row, breach = self._row[event]
        if self._row[_ENDS_BATCH]:
            self._batch_start = place
            self._order = None
            if self.waiting:
                self._abandon()
            elif self.abandoned:  # what an earlier batch left open was said then
                self.abandoned = []
        return breach

    def see(self, event: int) -> Breach | None:
        """It contains `Event.PROMPT`, `NOTE` or `WORDS`."""
        breach: Breach | None
        if event == _PROMPT:
            self._turn_start = self.at
            if self._is_free and self.waiting:
                self._abandon()
        self._row, breach = self._row[event]
        return breach

    def call(self, key: str, position: int) -> Breach | None:
        """It contains a call, at *position*."""
        breach: Breach | None
        place = self.at + position
        if key in self._seen:
            event = self._call_again(key, place)
        else:
            self._seen[key] = self.waiting[key] = place
            event = _CALL
        self._row, breach = self._row[event]
        return breach

    def result(self, key: str) -> Breach | None:
        """It contains a result for the call *key*; if that breaks something, `place` says where the call stands."""
        breach: Breach | None
        place = self.waiting.pop(key, -1)
        if place < 0:
            event, place = self._odd_result(key)
        else:
            if self._twins:
                self._promote_twin(key)
            event = self._answer(place) if self._overdue else _ANSWER if self.waiting else _LAST
        self._row, breach = self._row[event]
        if breach is not None:
            self.place = place
        return breach

    def oldest(self) -> str | None:
        """The id of the oldest open call: what a result that names none must mean."""
        if self._order is None:
            self._order = deque(self.open)
        order = self._order
        while order and self.waiting.get(order[0][0]) != order[0][1]:
            order.popleft()
        return order[0][0] if order else None

    def end(self, event: int) -> Breach | None:
        """What it would break to end here, as `Event.REQUEST` or `Event.HISTORY`.  Nothing changes."""
        breach: Breach | None = self._row[event][1]
        return breach

    def copy(self) -> Automaton:
        """An automaton in the same state, which goes its own way from here."""
        twin = object.__new__(Automaton)
        for name in Automaton.__slots__:
            setattr(twin, name, getattr(self, name))
        twin.waiting, twin._late, twin._seen = self.waiting.copy(), self._late.copy(), self._seen.copy()
        twin._twins = {key: places.copy() for key, places in self._twins.items()}
        twin._order = None
        return twin

    def _call_again(self, key: str, place: int) -> int:
        """Which event a call is whose id was used before."""
        scope_start = self._turn_start if self._per_turn else self._batch_start
        event = _AGAIN if self._seen[key] >= scope_start else _REUSED
        self._seen[key] = place
        self._order = None
        if key in self.waiting:
            self._twins.setdefault(key, deque()).append(place)
            self._twin_count += 1
        else:
            self.waiting[key] = place
        return event

    def _odd_result(self, key: str) -> tuple[int, int]:
        """Which event a result is that answers no open call, and where its call stands."""
        place = self._seen.get(key, -1)
        if place >= (0 if self._is_free else self._batch_start):
            return _REPEAT, place
        place = self._late.pop(key, -1)
        return (_STRAY if place < 0 else _LATE), place

    def _answer(self, place: int) -> int:
        """Which event a result for the call at *place* is, while calls are open that were talked past."""
        if not self.waiting:
            self._overdue = 0
            return _LAST
        if place < max(self._batch_start, self._turn_start):
            self._overdue -= 1
        return _ANSWER if self._overdue else _OVERDUE

    def _promote_twin(self, key: str) -> None:
        """The next open call with this id waits now."""
        places = self._twins.get(key)
        if places is not None:
            self.waiting[key] = places.popleft()
            self._twin_count -= 1
            if not places:
                del self._twins[key]

    def _abandon(self) -> None:
        """The batch is over, and what is open was talked past."""
        if self._is_free:
            self._overdue = len(self.waiting) + self._twin_count
            return
        self.abandoned = self.open
        self._late.update(self.abandoned)
        self.waiting.clear()
        self._twins.clear()
        self._twin_count = 0


def _place_of(call: tuple[str, int]) -> int:
    return call[1]


# -- the table as people read it ---------------------------------------------------------------------------------------


def _cell_text(state: State, event: Event, neighbours: Neighbours) -> str:
    cell = TABLE[neighbours].get((state, event))
    if cell is None:
        return ""
    goal, breach = cell
    word = "·" if goal is state else goal.name
    return word if breach is None else f"{word} **{breach.core}** {breach.name.lower()}"


def describe() -> str:
    """
    The automaton in Markdown: breaches, table, the cells that differ, and a Mermaid diagram of the legal moves.

    >>> describe().splitlines()[0]
    '| breach | core | meaning |'
    """
    lines = ["| breach | core | meaning |", "| --- | --- | --- |"]
    lines += [f"| {breach.name.lower()} | {breach.core} | {breach.words} |" for breach in Breach]
    states = [state for state in State if (state, Event.REQUEST) in TABLE[Neighbours.JOINED]]
    lines += ["", "| event | " + " | ".join(state.name for state in states) + " |", "| --- |" + " --- |" * len(states)]
    for event in Event:
        cells = [_cell_text(state, event, Neighbours.JOINED) for state in states]
        lines.append(f"| {event.name} | " + " | ".join(cells) + " |")
    lines += ["", "| state | event | " + " | ".join(kind.value for kind in Neighbours) + " |"]
    lines += ["| --- " * (len(Neighbours) + 2) + "|"]
    for state in State:
        for event in Event:
            cells = [_cell_text(state, event, kind) for kind in Neighbours]
            if len(set(cells)) > 1:
                lines.append(f"| {state.name} | {event.name} | {' | '.join(cells)} |")
    lines += ["", "```mermaid", "stateDiagram-v2", "    [*] --> START"]
    moves: dict[tuple[State, State], list[str]] = {}
    for (state, event), (goal, breach) in TABLE[Neighbours.JOINED].items():
        if breach is None and goal is not state:
            moves.setdefault((state, goal), []).append(event.name)
    lines += [
        f"    {state.name} --> {goal.name}: {', '.join(names)}" for (state, goal), names in sorted(moves.items(), key=_by_name)
    ]
    lines += [f"    {state.name} --> [*]" for state in states if TABLE[Neighbours.JOINED][state, Event.REQUEST][1] is None]
    return "\n".join([*lines, "```", ""])


def _by_name(move: tuple[tuple[State, State], list[str]]) -> tuple[int, int]:
    (state, goal), _names = move
    return state.value, goal.value
