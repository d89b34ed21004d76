"""
What every dialect's reader shares: the automaton, the places, the findings.

A *reader* is fed the messages of one dialect in order.  It turns them into the
automaton's events, judges what a message contains by itself, and keeps what
only a later message, or the end, can decide.  `Validator` is its public face.

Rules it obeys
    * Reading a message costs what the message is long, at any place in the
      conversation; nothing is read twice.
    * `ending` changes nothing: a conversation may be asked after each message
      what it would break to end here.
    * One fault is one finding, where that can be told.
    * This module, and all under `protocol`, pairs calls by itself and shares
      nothing with the engine whose work it judges (law L1).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal, TypeAlias

from attrs import frozen

from ..model import Conversation, Json, Message, Origin
from .automaton import EXPECTED, Automaton, Breach, Event
from .profiles import Profile
from .rules import RULES
from .violation import Violation, quote, quote_all

__all__ = ["Around", "Mode", "Reader", "has_lone_surrogate"]

Mode: TypeAlias = Literal["request", "history"]
"""``request``: it is sent now; ``history``: it is put aside and may end at a frontier (law L4)."""

PLACE_BITS: Final = 32
"""A place is the wire index of a message, shifted by this, and a position in the message."""

HUMAN: Final = Origin.HUMAN


@frozen
class Around:
    """
    What the request says around its messages, as far as rules depend on it.

    Attributes:
        conversation: settings, system and tools; its messages are not read.
        original: the blocks of model messages as the provider returned them, by wire index.
        prompt_tokens: how large the prompt is, where the caller has counted it.
        window_tokens: how large the model's window is.
        root: the JSON pointer of the messages.
    """

    conversation: Conversation
    original: Mapping[int, Json]
    prompt_tokens: int | None
    window_tokens: int | None
    root: str

    @property
    def model(self) -> str:
        """The model's name, or ``""``."""
        model = self.conversation.setting("model")
        return model if isinstance(model, str) else ""

    @property
    def tools(self) -> frozenset[str] | None:
        """The names of the declared tools; ``None`` if there is no body that could declare any."""
        if self.conversation.envelope.fields is None:
            return None
        return frozenset(tool.name for tool in self.conversation.tools)


class Reader(ABC):
    """
    Reads the messages of one dialect.

    Attributes:
        found: findings so far; whoever reads takes them out.
    """

    def __init__(self, profile: Profile, around: Around) -> None:
        self.found: list[Violation] = []
        self._profile = profile
        self._around = around
        self._machine = Automaton(profile.neighbours, scope=profile.scope)
        self._index = -1  # of the message being read, on the wire
        self._last: Message | None = None

    @abstractmethod
    def read(self, messages: Iterable[Message]) -> None:
        """Read the next messages, as the wire has them."""

    @abstractmethod
    def ending(self, mode: Mode) -> list[Violation]:
        """What it would break to end here.  Nothing changes."""

    @property
    def expected(self) -> str:
        """What may come now, in words."""
        words = EXPECTED[self._machine.state]
        waiting = [self._shown(key) for key, _place in self._machine.open]
        return f"{words}: {quote_all(waiting)}" if waiting else words

    # -- findings --------------------------------------------------------------------------------------------------

    def _violation(
        self,
        rule: str,
        case: str | None,
        index: int | None,
        path: str,
        message: str,
        expected: str,
        *,
        ids: tuple[str, ...] = (),
        fix: str | None = "rule's",
    ) -> Violation:
        """One finding; *path* is relative to its message."""
        known = RULES[rule]
        pointer = "" if index is None else f"{self._around.root}/{index}{path}"
        mend = known.fix if fix == "rule's" else fix
        return Violation(rule, known.law, known.level_in(case), index, pointer, message, expected, mend, ids)

    def _report(
        self,
        rule: str,
        case: str | None,
        path: str,
        message: str,
        expected: str,
        *,
        ids: tuple[str, ...] = (),
        fix: str | None = "rule's",
    ) -> None:
        """A finding in the message being read."""
        self.found.append(self._violation(rule, case, self._index, path, message, expected, ids=ids, fix=fix))

    def _breach(self, breach: Breach, path: str, message: str, expected: str, *, ids: tuple[str, ...] = ()) -> None:
        """A breach of the core in the message being read, if it is one in this profile."""
        named = self._profile.breaches.get(breach)
        if named is not None:
            rule, case = named
            self._report(rule, case, path, message, expected, ids=ids)

    def _unanswered(self, calls: Iterable[tuple[str, int]]) -> list[Violation]:
        """C1, one finding for each message whose calls (id, place) have no result."""
        named = self._profile.breaches.get(Breach.OPEN)
        if named is None:
            return []
        by_message: dict[int, list[tuple[str, int]]] = {}
        for key, place in calls:
            by_message.setdefault(place >> PLACE_BITS, []).append((key, place))
        found = []
        for index, group in by_message.items():
            rule, case = named
            ids = tuple(self._shown(key) for key, _place in group)
            found.append(
                self._violation(
                    rule,
                    self._open_case(group) or case,
                    index,
                    self._call_path(group[0][1]),
                    f"message {index} calls {quote_all(ids)}, and no result answers",
                    f"{_results_of(ids)} directly behind message {index}, before anything else",
                    ids=ids,
                )
            )
        return found

    def _end_breach(self, mode: Mode) -> Breach | None:
        return self._machine.end(Event.REQUEST if mode == "request" else Event.HISTORY)

    # -- what dialects say differently -----------------------------------------------------------------------------

    def _open_case(self, calls: Sequence[tuple[str, int]]) -> str | None:
        """The case of C1 for these calls of one message, if it is a special one."""
        del calls
        return None

    @abstractmethod
    def _call_path(self, place: int) -> str:
        """The pointer of the call at *place*, relative to its message."""

    def _shown(self, key: str) -> str:
        """The id that the wire has for the automaton's *key*."""
        return key


def _results_of(ids: Sequence[str]) -> str:
    return ("a result for " if len(ids) == 1 else "results for ") + quote_all(ids)


def has_lone_surrogate(text: str) -> bool:
    """
    Whether *text* holds half of a surrogate pair, and so cannot be sent as UTF-8.

    >>> has_lone_surrogate("cut \\ud83d"), has_lone_surrogate("whole \\U0001f600")
    (True, False)
    """
    if text.isascii():
        return False
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False


def place_words(place: int) -> str:
    """Which message a place is in, in words."""
    return f"message {place >> PLACE_BITS}"


_ = quote  # TEMP
