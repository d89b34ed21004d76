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
from typing import ClassVar, Final, Literal, TypeAlias

from attrs import frozen

from ..model import Conversation, Json, Message
from .automaton import EXPECTED, Automaton, Breach, Event
from .profiles import HARNESS_NOTES, HARNESS_TAGS, Profile
from .rules import RULES
from .violation import Violation, quote_all

__all__ = ["NEXT", "PLACE_BITS", "Around", "Mode", "Reader", "has_lone_surrogate", "reads_like_harness"]

Mode: TypeAlias = Literal["request", "history"]
"""``request``: it is sent now; ``history``: it is put aside and may end at a frontier (law L4)."""

_LONGEST_TAG: Final = 40
PLACE_BITS: Final = 32
"""A call's place is the wire index of its message, shifted by this, and its position there."""

NEXT: Final = 1 << PLACE_BITS
"""How much further the next message stands."""


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

    @property
    def excess_tokens(self) -> int:
        """By how much the prompt is larger than the window, as far as both are known."""
        if self.prompt_tokens is None or self.window_tokens is None:
            return 0
        return max(0, self.prompt_tokens - self.window_tokens)


class Reader(ABC):
    """
    Reads the messages of one dialect.

    Attributes:
        found: findings so far; whoever reads takes them out.
        profile: how the provider wants it.
        around: what stands around the messages.
        machine: the automaton.
        last: the message read last.
    """

    RESULTS_STAND: ClassVar[str] = "directly behind message {}, before anything else"
    """Where the results of a message's calls belong."""

    def __init__(self, profile: Profile, around: Around) -> None:
        self.found: list[Violation] = []
        self.profile: Final = profile
        self.around: Final = around
        self.machine: Final = Automaton(profile.neighbours, scope=profile.scope)
        self.machine.at = -NEXT  # so that the first message stands at 0
        self.last: Message | None = None

    @property
    def index(self) -> int:
        """The message being read, as the wire numbers it; -1 before the first."""
        return self.machine.at >> PLACE_BITS

    @abstractmethod
    def read(self, messages: Iterable[Message]) -> None:
        """Read the next messages, as the wire has them."""

    @abstractmethod
    def ending(self, mode: Mode) -> list[Violation]:
        """What it would break to end here.  Nothing changes."""

    @property
    def expected(self) -> str:
        """What may come now, in words."""
        words = EXPECTED[self.machine.state]
        waiting = [self._shown(key) for key, _place in self.machine.open]
        return f"{words}: {quote_all(waiting)}" if waiting else words

    # -- findings --------------------------------------------------------------------------------------------------

    def violation(
        self,
        rule: str,
        index: int | None,
        path: str,
        message: str,
        expected: str,
        *,
        case: str | None = None,
        ids: tuple[str, ...] = (),
        fix: str | None = None,
    ) -> Violation:
        """One finding; *path* is relative to its message, *fix* is the rule's own where none is given."""
        known = RULES[rule]
        pointer = "" if index is None else f"{self.around.root}/{index}{path}"
        return Violation(rule, known.law, known.level_in(case), index, pointer, message, expected, fix or known.fix, ids)

    def report(
        self,
        rule: str,
        path: str,
        message: str,
        expected: str,
        *,
        case: str | None = None,
        ids: tuple[str, ...] = (),
        fix: str | None = None,
    ) -> None:
        """A finding in the message being read."""
        self.found.append(self.violation(rule, self.index, path, message, expected, case=case, ids=ids, fix=fix))

    def breach(self, breach: Breach, path: str, message: str, expected: str, *, ids: tuple[str, ...] = ()) -> None:
        """A breach of the core in the message being read, if this profile has a rule for it."""
        named = self.profile.breaches.get(breach)
        if named is not None:
            rule, case = named
            self.report(rule, path, message, expected, case=case, ids=ids)

    def _unanswered(self, calls: Iterable[tuple[str, int]]) -> list[Violation]:
        """C1: one finding for each message some of whose calls, (id, place), have no result."""
        rule, usual = self.profile.breaches[Breach.OPEN]
        by_message: dict[int, list[tuple[str, int]]] = {}
        for key, place in calls:
            by_message.setdefault(place >> PLACE_BITS, []).append((key, place))
        found = []
        for index, group in by_message.items():
            ids = tuple(self._shown(key) for key, _place in group)
            what = "a result for" if len(ids) == 1 else "results for"
            message = f"message {index} calls {quote_all(ids)}, and no result answers"
            expected = f"{what} {quote_all(ids)} {self.RESULTS_STAND.format(index)}"
            path = self._call_path(group[0][1] & (NEXT - 1))
            found.append(self.violation(rule, index, path, message, expected, case=self._open_case(group) or usual, ids=ids))
        return found

    def _end_breach(self, mode: Mode) -> Breach | None:
        return self.machine.end(Event.REQUEST if mode == "request" else Event.HISTORY)

    def _sizes(self, rule: str) -> list[Violation]:
        """C15: the prompt fits the window."""
        around = self.around
        if not around.excess_tokens:
            return []
        return [
            self.violation(rule, None, "", f"the prompt has {around.prompt_tokens} tokens", f"at most {around.window_tokens}")
        ]

    # -- what dialects say differently -----------------------------------------------------------------------------

    @abstractmethod
    def _call_path(self, position: int) -> str:
        """The pointer of the call at *position* of a message, relative to the message."""

    def _open_case(self, calls: Sequence[tuple[str, int]]) -> str | None:
        """The case of C1 for these calls of one message, if it is a special one."""
        del calls
        return None

    def _shown(self, key: str) -> str:
        """The id that the wire has for the automaton's *key*."""
        return key


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


def reads_like_harness(text: str) -> bool:
    """
    Whether a user-role text behind open calls is the client's and not a person's, so that the calls still wait (law L4).

    >>> reads_like_harness("<system-reminder>3 todos</system-reminder>"), reads_like_harness("<b>stop</b>")
    (True, False)
    """
    words = text.strip()
    if words[:1] == "<":
        tag = words[1 : words.find(">", 1, _LONGEST_TAG)]
        return tag.lower() in HARNESS_TAGS and words.endswith(f"</{tag}>")
    return words[:_LONGEST_TAG].lower().startswith(HARNESS_NOTES)
