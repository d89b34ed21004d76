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
      looking its id up in the registers, into one of five letters that say
      how it *stands* to the calls before it: it answers one of several open
      calls (`ANSWER`) or the last open one (`LAST`), it repeats an answer
      (`REPEAT`), it answers a call that the model has since talked past
      (`LATE`), or nothing at all (`STRAY`).  A call is likewise new (`CALL`),
      used before in this turn (`AGAIN`) or in an earlier one (`REUSED`).
    * What matters about the batch is whether a call is open, not how many
      are; the number enters only in telling `ANSWER` from `LAST`.

    After this translation ten states suffice, and the table below is the
    whole protocol: a register automaton whose control is finite.  With a
    bound on the number of open calls its language is regular, which is what
    the tests use: a regular expression, written independently, agrees with
    this table on every word up to a length.

    A cell never says "stop".  A move that a provider would refuse goes on to
    the most plausible state and names its *breach*, so that one fault gives
    one finding and the rest of the conversation is still judged.

The states, and the invariant
    Calls are open exactly in CALLING, WAITING, PARTIAL, SPLIT, ASIDE and AWAY.

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
    ===========  ==============================================================

What differs between dialects
    Some providers join neighbouring messages of one side before they judge
    them (Anthropic); to others each message stands for itself, results too,
    which need no user message around them (OpenAI Chat).  The cells in which
    this matters are written ``joined | separate``.  Which breach is which
    rule, and which is none, is the dialect's profile.

What is not here
    What a message contains (the readers), how bad a breach is (`rules`), and
    how a conversation is cut (`compactlib.turns`, which pairs calls by itself
    and shares nothing with this module).
"""

from __future__ import annotations

import enum
from collections import deque
from collections.abc import Mapping
from functools import cache
from typing import Final, TypeAlias

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
    REPEAT = 11
    LATE = 12
    STRAY = 13
    # the end
    REQUEST = 14
    """The conversation is sent now."""
    HISTORY = 15
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


Cell: TypeAlias = tuple[State, Breach | None]
"""Where a move leads, and what it breaks."""

# One row per event, one column per state.  "." stays, "-" cannot happen, "!x" breaks x, "a | b" is joined | separate.
# fmt: off
_ROWS: Final = """
          START               USER           MODEL                     CALLING                       WAITING         PARTIAL         SPLIT           ASIDE            AWAY             WHOLE
SYSTEM    .                   .              USER                      ASIDE                         ASIDE           ASIDE           ASIDE           .                .                . | USER
USER      USER                . !adjacent    USER                      WAITING                       . !adjacent     SPLIT           .               . !adjacent      . !adjacent      . !adjacent | USER
MODEL     MODEL !start        MODEL          . !adjacent               . !adjacent | MODEL !open     MODEL !open     MODEL !open     MODEL !open     MODEL !open      MODEL !open      MODEL
PROMPT    -                   .              -                         -                             AWAY            AWAY            AWAY            AWAY             .                USER
NOTE      -                   .              -                         -                             ASIDE           ASIDE           ASIDE           .                .                USER
WORDS     -                   -              .                         . !order | .                  -               -               -               -                -                -
CALL      -                   CALLING !role  CALLING                   .                             CALLING !role   CALLING !role   CALLING !role   CALLING !role    CALLING !role    CALLING !role
AGAIN     -                   CALLING !role  CALLING !duplicate        . !duplicate                  CALLING !role   CALLING !role   CALLING !role   CALLING !role    CALLING !role    CALLING !role
REUSED    -                   CALLING !role  CALLING !reused           . !reused                     CALLING !role   CALLING !role   CALLING !role   CALLING !role    CALLING !role    CALLING !role
ANSWER    -                   -              -                         . !role | PARTIAL             PARTIAL         .               PARTIAL !split  PARTIAL !between PARTIAL !between -
LAST      -                   -              -                         MODEL !role | WHOLE           WHOLE           WHOLE           WHOLE !split    WHOLE !between   WHOLE !between   -
REPEAT    -                   . !repeat      . !role | -               . !role | -                   . !repeat       . !repeat       . !repeat       . !repeat        . !repeat        . !repeat
LATE      -                   . !late        . !role | USER !late      . !role | WAITING !late       . !late         . !late         . !late         . !late          . !late          . !late
STRAY     - | USER !stray     . !stray       . !role | USER !stray     . !role | WAITING !stray      . !stray        . !stray        . !stray        . !stray         . !stray         . !stray
REQUEST   .                   .              . !end                    . !open                       . !open         . !open         . !open         . !open          . !open          .
HISTORY   .                   .              .                         .                             .               .               .               .                . !open          .
"""
# fmt: on


def _read(rows: str) -> dict[Neighbours, dict[tuple[State, Event], Cell]]:
    """The table that the text draws."""
    header, *lines = rows.strip("\n").splitlines()
    states = [State[name] for name in header.split()]
    tables: dict[Neighbours, dict[tuple[State, Event], Cell]] = {kind: {} for kind in Neighbours}
    for line in lines:
        word, *pieces = line.split()
        cells: list[list[str]] = []
        for before, piece in zip([word, *pieces], pieces, strict=False):
            if piece.startswith("!"):
                cells[-1][-1] += piece
            elif before == "|":
                cells[-1].append(piece)
            elif piece != "|":
                cells.append([piece])
        for state, cell in zip(states, cells, strict=True):
            for kind, text in zip(Neighbours, (cell[0], cell[-1]), strict=True):
                target, _, breach = text.partition("!")
                if target != "-":
                    goal = state if target == "." else State[target]
                    tables[kind][state, Event[word]] = (goal, Breach[breach.upper()] if breach else None)
    return tables


TABLE: Final[Mapping[Neighbours, Mapping[tuple[State, Event], Cell]]] = _read(_ROWS)
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
}
"""What may come in each state, in words."""

# -- the table as the machine reads it: flat tuples, states as offsets --------------------------------------------------

_WIDTH: Final = len(Event)
_STATES: Final = tuple(State)
# plain numbers: adding an enum's member takes the slow way
_PROMPT, _CALL, _AGAIN, _REUSED = map(int, (Event.PROMPT, Event.CALL, Event.AGAIN, Event.REUSED))
_ANSWER, _LAST, _REPEAT, _LATE, _STRAY = map(int, (Event.ANSWER, Event.LAST, Event.REPEAT, Event.LATE, Event.STRAY))


_Effect: TypeAlias = tuple[bool, Breach | None]
"""What a cell does besides moving on: whether the batch is over, and what is broken."""


@cache
def _flat(neighbours: Neighbours) -> tuple[tuple[int, ...], tuple[_Effect | None, ...]]:
    """For each cell the next offset, and its effect if it has one."""
    table = TABLE[neighbours]
    goals: list[int] = []
    effects: list[_Effect | None] = []
    for state in State:
        for event in Event:
            goal, breach = table.get((state, event), (state, None))
            # A batch is over when the model goes on, or, where messages stand for themselves, with any other message.
            closes = (event is Event.MODEL and goal is State.MODEL) or (
                event in (Event.SYSTEM, Event.USER) and state is State.WHOLE and goal is State.USER
            )
            goals.append(goal.value * _WIDTH)
            effects.append((closes, breach) if closes or breach is not None else None)
    return tuple(goals), tuple(effects)


class Automaton:
    """
    The automaton at work: the control, and the registers beside it.

    Registers: the calls of the current batch with their *places* (any number
    that the caller chooses, not negative), the calls that were talked past,
    and for each id the scope it was last used in.  Every operation is O(1) but
    closing a batch, which is linear in it.

    Args:
        neighbours: whether neighbouring messages are joined.
        scope: within what an id may not be used again: the ``turn`` (since a
            person last spoke) or the ``message``.

    >>> run = Automaton(Neighbours.JOINED)
    >>> run.begin(Event.USER), run.see(Event.PROMPT), run.begin(Event.MODEL), run.call("a", 7), run.call("b", 8)
    (None, None, None, None, None)
    >>> run.begin(Event.USER), run.result("b"), run.state.name, run.open
    (None, None, 'PARTIAL', [('a', 7)])
    >>> run.begin(Event.MODEL).words, run.abandoned
    ('a call is never answered', [('a', 7)])
    """

    __slots__ = (
        "_batch", "_cell", "_effects", "_goals", "_late", "_order", "_per_turn", "_scope", "_seen", "_twins",
        "abandoned", "open_count", "place",
    )  # fmt: skip

    def __init__(self, neighbours: Neighbours, *, scope: str = "turn") -> None:
        self._goals, self._effects = _flat(neighbours)
        self._cell = 0  # the state, as an offset into the flat table
        self._batch: dict[str, int] = {}  # id -> place of the call; ~place once it is answered
        self._twins: dict[str, deque[int]] = {}  # further open calls with an id that is open already
        self._order: tuple[deque[str], int] | None = None  # open ids, oldest first, and how large the batch was then
        self._late: dict[str, int] = {}  # calls that were talked past
        self._seen: dict[str, int] = {}  # id -> scope of its last use
        self._scope = 0
        self._per_turn = scope == "turn"
        self.open_count = 0
        """How many calls are open."""
        self.abandoned: list[tuple[str, int]] = []
        """(id, place) of the calls that the last `Breach.OPEN` speaks of."""
        self.place = -1
        """Where the call of the last result stands, -1 if there is none."""

    @property
    def state(self) -> State:
        """The control's state."""
        return _STATES[self._cell // _WIDTH]

    @property
    def open(self) -> list[tuple[str, int]]:
        """(id, place) of the open calls, in order."""
        found = [(key, place) for key, place in self._batch.items() if place >= 0]
        found += [(key, place) for key, places in self._twins.items() for place in places]
        return sorted(found, key=lambda pair: pair[1]) if self._twins else found

    def begin(self, event: int) -> Breach | None:
        """A message begins: `Event.SYSTEM`, `USER` or `MODEL`."""
        cell = self._cell + event
        self._cell = self._goals[cell]
        effect = self._effects[cell]
        if effect is None:
            return None
        closes, breach = effect
        if closes:
            self._close()
        return breach

    def see(self, event: int) -> Breach | None:
        """It contains `Event.PROMPT`, `NOTE` or `WORDS`."""
        if event == _PROMPT and self._per_turn:
            self._scope += 1
        cell = self._cell + event
        self._cell = self._goals[cell]
        effect = self._effects[cell]
        return None if effect is None else effect[1]

    def call(self, key: str, place: int) -> Breach | None:
        """It contains a call, which stands at *place*."""
        last = self._seen.get(key)
        self._seen[key] = scope = self._scope
        self.open_count += 1
        if last is None:
            self._batch[key] = place
            event = _CALL
        else:
            event = _AGAIN if last == scope else _REUSED
            if self._batch.get(key, -1) < 0:
                self._batch[key] = place
            else:
                self._twins.setdefault(key, deque()).append(place)
                self._order = None
        cell = self._cell + event
        self._cell = self._goals[cell]
        effect = self._effects[cell]
        return None if effect is None else effect[1]

    def result(self, key: str) -> Breach | None:
        """It contains a result for the call *key*; `place` then says where that stands."""
        place = self._batch.get(key)
        if place is None:
            place = self._late.pop(key, -1)
            event = _STRAY if place < 0 else _LATE
        elif place < 0:
            place = ~place
            event = _REPEAT
        else:
            self._batch[key] = self._twin(key) if self._twins else ~place
            self.open_count = count = self.open_count - 1
            event = _ANSWER if count else _LAST
        self.place = place
        cell = self._cell + event
        self._cell = self._goals[cell]
        effect = self._effects[cell]
        return None if effect is None else effect[1]

    def oldest(self) -> str | None:
        """The id of the oldest open call: what a result that names none must mean."""
        if self._order is None or self._order[1] != len(self._batch):
            self._order = deque(key for key, _place in self.open), len(self._batch)
        order = self._order[0]
        while order and self._batch[order[0]] < 0:
            order.popleft()
        return order[0] if order else None

    def end(self, event: int) -> Breach | None:
        """What it would break to end here, as `Event.REQUEST` or `Event.HISTORY`.  Nothing changes."""
        effect = self._effects[self._cell + event]
        return None if effect is None else effect[1]

    def copy(self) -> Automaton:
        """An automaton in the same state, which goes its own way from here."""
        twin = object.__new__(Automaton)
        for name in Automaton.__slots__:
            setattr(twin, name, getattr(self, name))
        twin._batch, twin._late, twin._seen = self._batch.copy(), self._late.copy(), self._seen.copy()
        twin._twins = {key: places.copy() for key, places in self._twins.items()}
        twin._order = None
        return twin

    def _twin(self, key: str) -> int:
        """The next open call with this id, or the mark that there is none."""
        places = self._twins.get(key)
        if places is None:
            return ~self._batch[key]
        place = places.popleft()
        if not places:
            del self._twins[key]
        return place

    def _close(self) -> None:
        """The batch is over: what is open was talked past."""
        if not self._per_turn:
            self._scope += 1
        if self.open_count:
            self.abandoned = self.open
            self._late.update(self.abandoned)
            self.open_count = 0
        if self._batch:
            self._batch.clear()
            self._twins.clear()
            self._order = None


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
    lines += ["", "| event | " + " | ".join(state.name for state in State) + " |", "| --- |" + " --- |" * len(State)]
    for event in Event:
        cells = [_cell_text(state, event, Neighbours.JOINED) for state in State]
        lines.append(f"| {event.name} | " + " | ".join(cells) + " |")
    lines += ["", "| state | event | joined | separate |", "| --- | --- | --- | --- |"]
    for state in State:
        for event in Event:
            joined, separate = (_cell_text(state, event, kind) for kind in Neighbours)
            if joined != separate:
                lines.append(f"| {state.name} | {event.name} | {joined} | {separate} |")
    lines += ["", "```mermaid", "stateDiagram-v2", "    [*] --> START"]
    moves: dict[tuple[State, State], list[str]] = {}
    for (state, event), (goal, breach) in TABLE[Neighbours.JOINED].items():
        if breach is None and goal is not state:
            moves.setdefault((state, goal), []).append(event.name)
    lines += [
        f"    {state.name} --> {goal.name}: {', '.join(names)}" for (state, goal), names in sorted(moves.items(), key=_by_name)
    ]
    lines += [f"    {state.name} --> [*]" for state in State if TABLE[Neighbours.JOINED][state, Event.REQUEST][1] is None]
    return "\n".join([*lines, "```", ""])


def _by_name(move: tuple[tuple[State, State], list[str]]) -> tuple[int, int]:
    (state, goal), _names = move
    return state.value, goal.value
