"""
Mistral's chat completions, message by message.

What this is
    The `Reader` of dialect ``mistral``: which events a message is, and every
    M-rule about what a message contains.

How it works
    *Runs.*  As in OpenAI's dialect a tool message is one result, and messages
    stand for themselves.  Beside that Mistral has a table of roles: which may
    follow which (M-ORDER-01).  A message that stands between calls and their
    results is found by the automaton, and reported where it stands.

    *Versions.*  Mistral publishes the validator that its servers grew out of,
    one for each version of its tokenizer.  A profile names the version, or 0
    for the service itself, which differs from all of them.  Up to version 5
    results are counted and not compared by id; a result of a wrong id then
    answers the oldest open call.

What is not here
    Names of declared tools (`request`), and the levels (`rules`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from ..model import Block, Call, Media, Message, Opaque, Origin, Result, Text
from .automaton import Breach, Event
from .profiles import MEDIA_MARKERS, Profile, takes_thinking
from .reader import NEXT, PLACE_BITS, Around, Mode, Reader, reads_like_harness
from .violation import Violation, quote

__all__ = ["MistralReader"]

_SYSTEM, _USER, _MODEL, _PROMPT, _NOTE = map(int, (Event.SYSTEM, Event.USER, Event.MODEL, Event.PROMPT, Event.NOTE))

_HUMAN: Final = Origin.HUMAN

_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_LONG_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{65,}")
_NAMES_KEPT: Final = 4096  # hostile input must not grow the memo without bound
_ID_CHARS: Final = 9
_NO_ID: Final = "null"  # what the published library writes where there is none
_FUNCTION_CALL: Final = 1 << 31  # the position of a call of the old kind
_MARKER_CHARS: Final = 64
_BESIDE: Final = frozenset({"reasoning_content", "reasoning"})  # thinking as other providers write it, beside the content

_COMPARES_IDS: Final = 11  # the first version that compares the ids of calls and results
_ANY_ID: Final = 13  # the first that takes ids of any length
_ANY_PART: Final = 15  # the first that takes pictures in tool messages

_PICTURES: Final = frozenset({"text", "image_url"})
_SOUNDS: Final = frozenset({"audio_url", "input_audio"})
_TEXT: Final = frozenset({"text"})
_THOUGHTS: Final = frozenset({"text", "thinking"})
_HEARD: Final = frozenset({"text", "input_audio"})

# version -> role -> the types of chunks that a message of it may hold
_CHUNKS: Final[Mapping[int, Mapping[str, frozenset[str]]]] = {
    0: {
        "user": _PICTURES | _SOUNDS | {"document_url", "file"},
        "model": _THOUGHTS | {"reference", "tool_reference"},
        "system": _THOUGHTS,
        "tool": _TEXT,
    },
    3: {"user": _PICTURES, "model": _TEXT, "system": _TEXT, "tool": _TEXT},
    5: {"user": _PICTURES | _SOUNDS, "model": _TEXT, "system": _THOUGHTS | _HEARD, "tool": _TEXT},
    11: {"user": _PICTURES | _SOUNDS, "model": _THOUGHTS, "system": _THOUGHTS | _HEARD, "tool": _TEXT},
    13: {"user": _PICTURES | _SOUNDS, "model": _THOUGHTS, "system": _THOUGHTS | _HEARD, "tool": _TEXT},
    15: {"user": _PICTURES | _SOUNDS, "model": _THOUGHTS, "system": _HEARD, "tool": _PICTURES | _SOUNDS},
}


class MistralReader(Reader):
    """Reads the messages of Mistral's chat completions."""

    def __init__(self, profile: Profile, around: Around) -> None:
        super().__init__(profile, around)
        version = profile.version
        self._case = "by-version" if version else None
        self._compares = not 0 < version < _COMPARES_IDS
        self._any_id = version >= _ANY_ID
        self._chunks = _CHUNKS[max(known for known in _CHUNKS if known <= max(version, 0))]
        thinks = takes_thinking(around.model)
        self._thinking_case = "" if version or thinks else "refused" if thinks is False else None
        self._names: set[str] = set()
        self._before = ""  # the role of the message before
        self._intruder = -1  # the message that stands between open calls and their results
        self._prefix = -1  # a message that is a prefix

    # -- messages --------------------------------------------------------------------------------------------------

    def read(self, messages: Iterable[Message]) -> None:
        """Read the next messages.  The one hot loop: what is common is judged here, what is odd where it is named."""
        machine, names = self.machine, self._names
        begin, see, call, result = machine.begin, machine.see, machine.call, machine.result
        at = machine.at
        before = self._before
        message = None
        for message in messages:
            at += NEXT
            role = message.role
            content = message.content
            if self._prefix >= 0:
                self._settle()
            if role == "tool":
                machine.at = at  # a result is a message of its own, without a frame
                block = content[0] if content else ""
                if isinstance(block, str):
                    continue  # a message made by hand, without its result
                if isinstance(block, Result):
                    key = block.call_id
                    wire = message.wire
                    if key in machine.waiting and wire.tag == "tool" and key:
                        breach = result(key)
                        if breach is not None:
                            self._result_breach(breach, key, before)
                    else:
                        self._odd_result(message, block, before)
                    if wire.rest:
                        self._tool_name(message)
                    if not isinstance(block.content, str):
                        self._tool_parts(message, block.content)
            elif role == "model":
                if begin(_MODEL, at) is not None:
                    self._went_on()
                if message.wire.rest and message.wire.get("prefix") is True:
                    self._prefix = at >> PLACE_BITS
                if isinstance(content, str):
                    if not content:
                        self._nothing(message)
                else:
                    place = 0
                    for block in content:
                        if not isinstance(block, Call):
                            continue
                        if block.wire.tag != "function":
                            place += self._other_call(block, place)
                            continue
                        key = block.id
                        breach = call(key, place)
                        if breach is not None:
                            self._call_breach(breach, block, f"/tool_calls/{place}")
                        if not (len(key) == _ID_CHARS and key.isalnum() and key.isascii()):
                            self._bad_id(block, f"/tool_calls/{place}")
                        if block.name not in names:
                            self._name(block.name, f"/tool_calls/{place}/function/name")
                        place += 1
                    self._said(message, content, place)
            elif role == "user":
                if machine.waiting and self._intruder < 0:
                    self._intruder = at >> PLACE_BITS
                begin(_USER, at)
                if before == "tool" and not machine.waiting:
                    self._after_tool()
                if isinstance(content, str):
                    origin = message.origin
                    if origin is None and machine.waiting and reads_like_harness(content):
                        origin = Origin.HARNESS
                    see(_PROMPT if origin is None or origin is _HUMAN else _NOTE)
                else:
                    see(_NOTE if self._is_note(message, content) else _PROMPT)
                    self._parts(message, content, "user")
            else:
                self._instructions(message, at, before)
            before = role
        self._before = before
        self.last = message or self.last

    # -- model messages --------------------------------------------------------------------------------------------

    def _went_on(self) -> None:
        """The model goes on while calls are open."""
        self.found += self._unanswered(self.machine.abandoned)
        self._intruder = -1

    def _settle(self) -> None:
        """A message comes behind a prefix."""
        words = f"message {self._prefix} is a prefix, and another message follows"
        rule = "M-PREFIX-01"
        self.found.append(self.violation(rule, self._prefix, "/prefix", words, "no prefix but the last", case=self._case))
        self._prefix = -1

    def _said(self, message: Message, content: tuple[Block, ...], calls: int) -> None:
        """Whether a message of blocks says something: with calls, or without."""
        form = message.wire.form
        said = form == "list" and len(content) > calls
        if form == "string":
            said = any(isinstance(block, Text) and block.text for block in content)
        if not said and not calls:
            self._nothing(message)
        elif said and calls and self.profile.version == 3:
            words = f"message {self.index} has both content and calls"
            self.report("M-EITHER-01", "/content", words, "one of them", case="both")
        if form == "list":
            self._parts(message, content, "model")

    def _nothing(self, message: Message) -> None:
        case = "newer" if self.profile.version > 3 else None
        path = "" if message.wire.form == "absent" else "/content"
        words = f"message {self.index} has neither content nor calls"
        self.report("M-EITHER-01", path, words, "content or calls, or no such message", case=case)

    def _other_call(self, block: Call, place: int) -> int:
        """A call that is no function's; gives how many places of ``tool_calls`` it takes."""
        tag = block.wire.tag
        if tag == "tool_use":
            return 0  # Anthropic's, among the chunks, where it is of an unknown type
        is_old = tag == "function_call"
        position = _FUNCTION_CALL if is_old else place
        path = self._call_path(position)
        breach = self.machine.call(block.id, position)
        if breach is not None:
            self._call_breach(breach, block, path)
        if not _is_short(block.id):
            self._bad_id(block, path)
        if block.name not in self._names:
            self._name(block.name, f"{path}/name" if is_old else f"{path}/{tag}/name")
        return 1

    def _call_breach(self, breach: Breach, block: Call, path: str) -> None:
        path += "/id" if "id" in block.wire.keys else ""
        words = f"the id {quote(block.id)} was used in this message already"
        self.breach(breach, path, words, "an id of its own for each call", ids=(block.id,))

    def _bad_id(self, block: Call | Result, path: str) -> None:
        """An id that is not nine letters and digits."""
        key = block.id if isinstance(block, Call) else block.call_id
        path += "/id" if isinstance(block, Call) and "id" in block.wire.keys else ""
        if not self._any_id:
            words = f"the id {quote(key)} is not {_ID_CHARS} of the characters a-z, A-Z and 0-9"
            self.report("M-ID-01", path, words, "such an id", ids=(key,))
        elif not key or key == _NO_ID:
            expected = f"an id that is neither empty nor {_NO_ID!r}"
            self.report("M-ID-01", path, f"the id {quote(key)} names nothing", expected, ids=(key,))

    def _name(self, name: str, path: str) -> None:
        if not _NAME.fullmatch(name):
            words = f"the name {quote(name)} is not 1 to 64 of a-z, A-Z, 0-9, _ and -"
            case = ("long-by-version" if self._case else "long") if _LONG_NAME.fullmatch(name) else None
            self.report("M-NAME-01", path, words, "such a name", case=case)
        elif len(self._names) < _NAMES_KEPT:
            self._names.add(name)

    # -- results ---------------------------------------------------------------------------------------------------

    def _odd_result(self, message: Message, block: Result, before: str) -> None:
        """A result that names no call, or none that is open; or of the old kind."""
        machine = self.machine
        wire = message.wire
        key = block.call_id
        if wire.tag != "tool":
            self.report("M-ROLE-01", "/role", f"the role is {quote(wire.tag)}", "tool")
        elif "tool_call_id" not in wire.keys or wire.get("tool_call_id", "") is None:
            expected = "the id of the call that it answers"
            self.report("M-TOOLID-01", "", "a tool message has no tool_call_id", expected)
        else:
            if not self._compares and machine.waiting and key not in machine.waiting and before in ("model", "tool"):
                if not _is_short(key):
                    self._bad_id(block, "/tool_call_id")
                words = f"the result for {quote(key)} answers no call of the assistant message before its run"
                self.report("M-PAIR-01", "/tool_call_id", words, "the id of its call", case="by-count", ids=(key,))
                key = machine.oldest() or key
            breach = machine.result(key)
            if breach is not None:
                self._result_breach(breach, key, before)
            return
        oldest = machine.oldest()  # so that what is missing is found once
        breach = machine.result(key if oldest is None else oldest)
        if breach is not None and oldest is not None:
            self._result_breach(breach, oldest, before)

    def _result_breach(self, breach: Breach, key: str, before: str) -> None:
        shown = quote(key)
        call = f"message {self.machine.place >> PLACE_BITS}"
        at, path, fix = self.index, "", None
        rule, case = self.profile.breaches[breach]
        if breach is Breach.BETWEEN or breach is Breach.SPLIT:
            if self._intruder < 0:
                return  # it was reported with the first result behind it
            at, self._intruder = self._intruder, -1
            words = f"message {at} stands between the calls of {call} and the result for {shown}"
            expected = "it behind the last result of the batch"
        elif before and before not in ("model", "tool"):
            rule, case, fix = "M-ORDER-01", None, "drop-orphan"
            words = f"a tool message, the result for {shown}, follows a {before} message"
            expected = "an assistant message with its call before it"
        elif breach is Breach.REPEAT:
            path, words, expected = "/tool_call_id", f"the call {shown} of {call} is answered twice", "one result for each call"
        elif breach is Breach.STRAY and not self.machine.waiting:
            rule, fix = "M-COUNT-01", "drop-orphan"
            words = f"the result for {shown} is one more than there are calls"
            expected = "as many results as calls"
        else:
            words = f"the result for {shown} answers no call of the assistant message before its run"
            expected = "its call there"
        self.found.append(self.violation(rule, at, path, words, expected, case=case, ids=(key,), fix=fix))

    def _tool_name(self, message: Message) -> None:
        name = message.wire.get("name")
        if isinstance(name, str) and name not in self._names:
            self._name(name, "/name")

    def _tool_parts(self, message: Message, body: tuple[Block, ...] | None) -> None:
        if body is None:
            self._no_content(message, "tool")
            return
        allowed = self._chunks["tool"]
        for position, part in enumerate(body):
            word = _type_of(part)
            if word not in allowed:
                rule = "M-CHUNK-01" if self.profile.version >= _ANY_PART else "M-IMG-01"
                words = f"a chunk {quote(word)} in a tool message"
                self.report(rule, f"/content/{position}", words, "text; media in a user message behind", case=self._case)

    # -- user messages and instructions ----------------------------------------------------------------------------

    def _after_tool(self) -> None:
        words = f"message {self.index}, a user's, follows directly on a tool message"
        self.report("M-ORDER-01", "/role", words, "an assistant message between", case="after-tool", fix="insert-bridge")

    def _parts(self, message: Message, content: tuple[Block, ...], role: str) -> None:
        """The chunks of a message that is not a tool's."""
        if not content and role != "model":
            self._no_content(message, role)
        allowed = self._chunks[role]
        position = -1
        for block in content:
            word = _type_of(block)
            if (isinstance(block, Call) and word != "tool_use") or word in _BESIDE:
                continue  # not in the content
            position += 1
            if word in allowed:
                if word == "thinking" and role == "model" and self._thinking_case != "":
                    words = "thinking goes back to a model that is not known to take it"
                    self.report("M-THINK-01", f"/content/{position}", words, "no thinking", case=self._thinking_case)
                continue
            side = "assistant" if role == "model" else role
            words = f"a chunk {quote(word)} in a message of role {side}"
            self.report("M-CHUNK-01", f"/content/{position}", words, f"one of {', '.join(sorted(allowed))}", case=self._case)

    def _no_content(self, message: Message, role: str) -> None:
        form = message.wire.form
        if form == "list":
            return
        path = "" if form == "absent" else "/content"
        words = f"the content of a {role} message is {'absent' if form == 'absent' else 'null'}"
        self.report("M-CONTENT-01", path, words, "a string, or a list of chunks", case=self._case)

    def _is_note(self, message: Message, content: tuple[Block, ...]) -> bool:
        """Whether a user message is not a person's: its origin says so, or it is media and nothing but a known marker."""
        origin = message.origin
        if origin is not None:
            return _HUMAN not in origin if isinstance(origin, tuple) else origin is not _HUMAN
        if not self.machine.waiting or not content:
            return False
        if all(isinstance(block, Text) and reads_like_harness(block.text) for block in content):
            return True
        if not any(isinstance(block, Media) for block in content):
            return False
        return all(isinstance(block, Media) or (isinstance(block, Text) and _is_marker(block.text)) for block in content)

    def _instructions(self, message: Message, at: int, before: str) -> None:
        """A system message, or one of a role that Mistral does not know."""
        machine = self.machine
        machine.begin(_SYSTEM, at)
        if message.role != "system":
            words = f"the role is {quote(message.wire.tag)}"
            self.report("M-ROLE-01", "/role", words, "system, user, assistant or tool")
        elif before in ("model", "tool"):
            side = "assistant" if before == "model" else "tool"
            words = f"message {self.index}, the system's, follows directly on a message of role {side}"
            self.report("M-ORDER-01", "/role", words, "a user message between", case="system", fix="insert-bridge")
        elif machine.waiting and self._intruder < 0:
            self._intruder = at >> PLACE_BITS
        if not isinstance(message.content, str) and message.role == "system":
            self._parts(message, message.content, "system")

    # -- the end ---------------------------------------------------------------------------------------------------

    def ending(self, mode: Mode) -> list[Violation]:
        """What it would break to end here.  Nothing changes."""
        found = self._sizes("M-SIZE-01")
        breach = self._end_breach(mode)
        index = self.index
        if breach is Breach.OPEN:
            found += self._unanswered(self.machine.open)
        if index < 0:
            found.append(self.violation("M-START-01", None, "", "there are no messages", "at least one"))
        elif breach is Breach.END and index == 0:
            words, expected = "the only message is the model's", "a user message"
            found.append(self.violation("M-START-01", index, "/role", words, expected))
        elif breach is Breach.END and self._prefix != index:
            words = f"message {index}, the last, is the model's and no prefix"
            found.append(self.violation("M-LAST-01", index, "/role", words, "a user or tool message at the end"))
        return found

    def _call_path(self, position: int) -> str:
        return "/function_call" if position == _FUNCTION_CALL else f"/tool_calls/{position}"


def _is_short(key: str) -> bool:
    return len(key) == _ID_CHARS and key.isalnum() and key.isascii()


def _type_of(block: Block) -> str:
    """The type word of a chunk."""
    return block.kind if isinstance(block, Opaque) else block.wire.tag


def _is_marker(text: str) -> bool:
    return len(text) <= _MARKER_CHARS and text.strip().lower() in MEDIA_MARKERS
