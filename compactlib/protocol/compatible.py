"""
What single imitators of OpenAI Chat demand beyond it.

What this is
    `CompatibleReader` reads the messages as OpenAI would, and beside that
    lets a *judge* look at them for each rule that the profile adds
    (`Profile.demands`): reasoning that has to come back (DeepSeek, Moonshot)
    or must not (Groq), a content in every message (xAI), roles that take turns
    (chat templates), a user message somewhere (Ollama), answers by id wherever
    they stand (LangGraph).

Rules it obeys
    * One fault is one finding.  Where a judge says in the provider's own words
      what the common reader would say too, the common reader is silent.
    * Reading a message costs what the message is long, for each judge.
    * A judge knows nothing of calls and results: those are the automaton's, but
      for LangGraph, which pairs them otherwise.

How it works
    A judge goes over the messages by itself and remembers a word or two.  What
    it cannot tell yet (whether a turn is closed, whether a user ever speaks) it
    says when that is decided, or at the end.  Profiles without demands are read
    by the plain reader and pay nothing for this.

What is not here
    The rules (`rulebooks.compatible`), who demands what (`profiles`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Final

from attrs import evolve

from ..model import Block, Call, Message, Reasoning, Result
from .automaton import Breach, Event
from .openai_chat import OpenAIChatReader
from .profiles import Profile, thinks_unasked
from .reader import PLACE_BITS, Around, Mode, Reader
from .request import thinking_mode
from .violation import Violation, quote_all

__all__ = ["CompatibleReader"]

_REASONING: Final = "reasoning_content"
_CONTENT: Final = "X-CONTENT-01"
_HISTORY: Final = "W-HIST-01"


class CompatibleReader(OpenAIChatReader):
    """Reads the messages of a route that adds rules of its own to OpenAI Chat."""

    def __init__(self, profile: Profile, around: Around) -> None:
        super().__init__(profile, around)
        self._wants_content = _CONTENT in profile.demands
        self._pairs_anywhere = _HISTORY in profile.demands
        judges = [_JUDGES[rule](self, rule) for rule in profile.demands]
        self._judges: Final = [judge for judge in judges if not judge.is_idle]

    def read(self, messages: Iterable[Message]) -> None:
        """Read the next messages: once as OpenAI would, and once for each judge."""
        messages = tuple(messages)
        first = self.index + 1
        super().read(messages)
        for judge in self._judges:
            judge.read(messages, first)

    def ending(self, mode: Mode) -> list[Violation]:
        """What it would break to end here.  Nothing changes."""
        found = super().ending(mode)
        for judge in self._judges:
            found += judge.ending(mode)
        return found

    def _no_content(self, form: str, case: str | None) -> None:
        if not self._wants_content:
            super()._no_content(form, case)

    def _result_parts(self, message: Message, body: tuple[Block, ...] | None) -> None:
        if body or not self._wants_content:
            super()._result_parts(message, body)

    def _call_breach(self, breach: Breach, block: Call, path: str) -> None:
        if not self._pairs_anywhere:
            super()._call_breach(breach, block, path)

    def _result_breach(self, breach: Breach, key: str, *, legacy: str | None = None) -> None:
        if not self._pairs_anywhere:
            super()._result_breach(breach, key, legacy=legacy)

    def _unanswered(self, calls: Iterable[tuple[str, int]]) -> list[Violation]:
        return [] if self._pairs_anywhere else super()._unanswered(calls)


class _Judge(ABC):
    """
    Looks at every message for one rule.

    Attributes:
        is_idle: what the request says around its messages leaves it nothing to look for.
    """

    def __init__(self, reader: Reader, rule: str) -> None:
        self._reader: Final = reader
        self._rule: Final = rule
        self.is_idle = False

    @abstractmethod
    def read(self, messages: tuple[Message, ...], first: int) -> None:
        """Look at the next messages, of which the first has the index *first*, and report what is wrong."""

    def ending(self, mode: Mode) -> list[Violation]:
        """What it would break to end here.  Nothing changes."""
        del mode
        return []

    def _report(self, index: int, path: str, message: str, expected: str, case: str | None = None) -> None:
        self._reader.found.append(self._reader.violation(self._rule, index, path, message, expected, case=case))


class _WantsReasoning(_Judge):
    """D-REAS-01, K-REAS-01: a message with calls carries its reasoning."""

    def __init__(self, reader: Reader, rule: str) -> None:
        super().__init__(reader, rule)
        model = reader.around.model
        said = thinking_mode(reader.around.conversation)
        thinks = said != "disabled" if said in ("enabled", "adaptive", "disabled") else thinks_unasked(model)
        self.is_idle = thinks is False
        self._case = "unsaid" if thinks is None else None
        # DeepSeek's V4 wants it back for good; what came before it lets go of it when the user speaks
        self._is_kept = rule != "D-REAS-01" or "v4" in model or "deepseek-flash" in model
        self._open: list[int] = []  # messages of the current turn that lack it

    def read(self, messages: tuple[Message, ...], first: int) -> None:
        """Messages with calls that lack it, and user messages, which close the turn."""
        for index, message in enumerate(messages, first):
            if message.role == "model":
                content = message.content
                if content.__class__ is str or not content or _is_reasoning(content[0]):
                    continue
                if _has_calls(message) and not any(map(_is_reasoning, content)):
                    if self._is_kept:
                        self._lacking(index, self._case)
                    else:
                        self._open.append(index)
            elif self._open and message.role == "user":
                for lacking in self._open:
                    self._lacking(lacking, "closed-turn")
                self._open = []

    def ending(self, mode: Mode) -> list[Violation]:
        """What the current turn lacks."""
        del mode
        kept = len(self._reader.found)
        for index in self._open:
            self._lacking(index, self._case)
        found = self._reader.found[kept:]
        del self._reader.found[kept:]
        return found

    def _lacking(self, index: int, case: str | None) -> None:
        words = f"message {index} has calls and no {_REASONING}"
        self._report(index, "", words, "the reasoning that the model returned with them", case)


class _RefusesReasoning(_Judge):
    """Q-REAS-01: no message carries reasoning."""

    def read(self, messages: tuple[Message, ...], first: int) -> None:
        """Model messages that carry it, were it null."""
        for index, message in enumerate(messages, first):
            if message.role == "model" and _REASONING in message.wire.keys:
                self._report(index, f"/{_REASONING}", f"message {index} has the key {_REASONING}", "no such key")


class _WantsContent(_Judge):
    """X-CONTENT-01: every message without calls has a content."""

    def read(self, messages: tuple[Message, ...], first: int) -> None:
        """Messages whose content is null, absent or an empty list."""
        for index, message in enumerate(messages, first):
            content: str | tuple[Block, ...] | None = message.content
            if content.__class__ is str:
                continue
            if message.role == "tool" and content and isinstance(content[0], Result):
                content = content[0].content
            if isinstance(content, str) or any(not isinstance(block, Call | Reasoning) for block in content or ()):
                continue
            form = message.wire.form
            if message.role == "model" and (form == "string" or message.wire.get("refusal") or _has_calls(message)):
                continue
            what = {"null": "is null", "absent": "is absent"}.get(form, "is an empty list")
            path = "" if form == "absent" else "/content"
            self._report(index, path, f"the content of message {index} {what}", "a string, or parts")


class _Turns(_Judge):
    """V-ALT-01, V-ALT-02: user and assistant take turns, and a user is first."""

    def __init__(self, reader: Reader, rule: str) -> None:
        super().__init__(reader, rule)
        self._apart = rule == "V-ALT-02"  # calls and results do not count
        self._last = ""  # the role that spoke last,
        self._spoke = -1  # and in which message

    def read(self, messages: tuple[Message, ...], first: int) -> None:
        """Messages that are not of the side whose turn it is."""
        for index, message in enumerate(messages, first):
            role = message.role
            if role == "tool":
                if not self._apart:
                    self._no_form(index)
                continue
            if role not in ("user", "model") or (role == "model" and self._apart and _has_calls(message)):
                continue
            if role == (self._last or "model"):
                self._out_of_turn(index, "the user" if role == "user" else "the assistant")
            self._last, self._spoke = role, index

    def _no_form(self, index: int) -> None:
        words = f"message {index} is a tool's, for which the template has no form"
        self._report(index, "/role", words, "no such message")
        self._reader.found[-1] = evolve(self._reader.found[-1], fix=None)  # joining would not help

    def _out_of_turn(self, index: int, side: str) -> None:
        if self._last:
            words = f"{side} speaks in message {self._spoke} and again in message {index}"
            self._report(index, "/role", words, "one message, or one of the other side between")
        else:
            self._report(index, "/role", f"{side} is the first to speak, in message {index}", "a user message first")


class _Neighbours(_Judge):
    """D-ALT-01: no two messages of one side next to each other."""

    def __init__(self, reader: Reader, rule: str) -> None:
        super().__init__(reader, rule)
        is_reasoner = reader.around.model.rpartition("/")[2] == "deepseek-reasoner"
        self.is_idle = not (is_reasoner or Breach.ADJACENT in reader.profile.breaches)
        self._last = ""

    def read(self, messages: tuple[Message, ...], first: int) -> None:
        """Messages of the side that spoke directly before."""
        for index, message in enumerate(messages, first):
            role = message.role
            if role == self._last and role in ("user", "model"):
                words = f"message {index} is the second {'user' if role == 'user' else 'assistant'} message in a row"
                self._report(index, "/role", words, "one message, or one of the other side between")
            self._last = role


class _NoInstructions(_Judge):
    """V-SYS-01: no system messages."""

    def read(self, messages: tuple[Message, ...], first: int) -> None:
        """Messages of instructions."""
        for index, message in enumerate(messages, first):
            if message.role in ("system", "developer"):
                words = f"message {index} has the role {message.wire.tag}, and the template has none for instructions"
                self._report(index, "/role", words, "the instructions at the beginning of the first user message")


class _WantsUser(_Judge):
    """L-USER-01: a user speaks somewhere."""

    def __init__(self, reader: Reader, rule: str) -> None:
        super().__init__(reader, rule)
        model = reader.around.model.lower()
        self._case = "other-template" if model and "qwen" not in model else None
        self._is_met = False

    def read(self, messages: tuple[Message, ...], first: int) -> None:
        """Any messages."""
        del first
        self._is_met = self._is_met or any(message.role == "user" for message in messages)

    def ending(self, mode: Mode) -> list[Violation]:
        """A request in which no user spoke; a history may still go on to one."""
        if mode == "history" or self._is_met or self._reader.index < 0:
            return []
        return [self._reader.violation(self._rule, None, "", "no message is a user's", "a user message", case=self._case)]


class _WantsAnswers(_Judge):
    """W-HIST-01: for each call there is a tool message with its id, wherever it stands; one serves all calls with that id."""

    def __init__(self, reader: Reader, rule: str) -> None:
        super().__init__(reader, rule)
        self._answered: set[str] = set()
        self._open: dict[str, list[tuple[int, int]]] = {}  # id -> the calls of that id, by message and place in it

    def read(self, messages: tuple[Message, ...], first: int) -> None:
        """Calls, and tool messages."""
        for index, message in enumerate(messages, first):
            content = message.content
            if message.role == "model":
                calls = [] if isinstance(content, str) else [one for one in content if isinstance(one, Call)]
                for place, call in enumerate(calls):
                    if call.wire.tag != "function_call" and call.id not in self._answered:
                        self._open.setdefault(call.id, []).append((index, place))
            elif message.role == "tool":
                for block in message.blocks:
                    if isinstance(block, Result):
                        self._answered.add(block.call_id)
                        self._open.pop(block.call_id, None)

    def ending(self, mode: Mode) -> list[Violation]:
        """Calls without an answer, message by message; those at the live end of a history may still get one."""
        machine = self._reader.machine
        waits = mode == "history" and machine.end(Event.HISTORY) is None
        pending = {place >> PLACE_BITS for _key, place in machine.open} if waits else ()
        by_message: dict[int, list[tuple[int, str]]] = {}
        for key, calls in self._open.items():
            for index, place in calls:
                if index not in pending:
                    by_message.setdefault(index, []).append((place, key))
        found = []
        for index, group in sorted(by_message.items()):
            ids = tuple(key for _place, key in sorted(group))
            words = f"message {index} calls {quote_all(ids)}, and no tool message answers"
            path = f"/tool_calls/{min(group)[0]}"
            expected = f"a tool message for {quote_all(ids)}"
            found.append(self._reader.violation(self._rule, index, path, words, expected, ids=ids))
        return found


_JUDGES: Final[Mapping[str, type[_Judge]]] = {
    "D-ALT-01": _Neighbours,
    "D-REAS-01": _WantsReasoning,
    "K-REAS-01": _WantsReasoning,
    "L-USER-01": _WantsUser,
    "Q-REAS-01": _RefusesReasoning,
    "V-ALT-01": _Turns,
    "V-ALT-02": _Turns,
    "V-SYS-01": _NoInstructions,
    "W-HIST-01": _WantsAnswers,
    "X-CONTENT-01": _WantsContent,
}
"""Who judges what a profile may demand."""


def _has_calls(message: Message) -> bool:
    """Whether a model message has ``tool_calls``, were they an empty list; null means that it has none."""
    shape = message.wire
    if "tool_calls" in shape.keys:
        return not shape.rest or shape.get("tool_calls", []) is not None
    return not isinstance(message.content, str) and any(isinstance(block, Call) for block in message.content)


def _is_reasoning(block: object) -> bool:
    """Whether it is reasoning under the key that such routes read."""
    return isinstance(block, Reasoning) and block.wire.tag == _REASONING
