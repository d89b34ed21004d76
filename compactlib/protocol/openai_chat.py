"""
OpenAI Chat Completions, and what imitates it, message by message.

What this is
    The `Reader` of dialect ``openai-chat``: which events a message is, and
    every O-rule that is about what a message contains.

How it works
    *Runs.*  A tool message is nothing but one result.  Messages stand for
    themselves: the results of a batch are the tool messages directly behind
    the calls, in any order, and whatever stands between is an intruder
    (O-PAIR-03), reported where it stands once a result comes behind it.

    *Results without an id.*  Some routes leave ``tool_call_id`` out; such a
    result answers the oldest open call, so that one fault gives one finding.
    ``function_call`` and role ``function`` have no ids at all and pair the
    same way, under keys of our own.

    *Routes.*  Many services speak this dialect and are laxer than OpenAI.  The
    profile says whose it is, or leaves it to the model's name; a request
    without a model is judged as OpenAI would.

What is not here
    Rules about settings and tools (`request`), and the levels (`rules`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from ..model import Block, Call, Media, Message, Opaque, Origin, Reasoning, Result, Text
from .automaton import Breach, Event, State
from .profiles import MEDIA_MARKERS, Profile, route_of, sees_tool_images, takes_empty_list, takes_system_role
from .reader import NEXT, PLACE_BITS, Around, Mode, Reader, reads_like_harness
from .violation import Violation, quote

__all__ = ["OpenAIChatReader"]

_SYSTEM, _USER, _MODEL, _PROMPT, _NOTE = map(int, (Event.SYSTEM, Event.USER, Event.MODEL, Event.PROMPT, Event.NOTE))

_HUMAN: Final = Origin.HUMAN

_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_NAMES_KEPT: Final = 4096  # hostile input must not grow the memo without bound
_ID_CHARS: Final = 40
_LONGEST_ID_CHARS: Final = 64
_LEGACY: Final = "\x00function_call "  # + the message's index: the key of a call that has no id
_PARTS: Final = 1 << 30  # positions from here on count the parts of the content
_FUNCTION_CALL: Final = 1 << 31  # the position of a call of the old kind
_MARKER_CHARS: Final = 64
_JSON_SPACE: Final = " \t\n\r"


def _no_constant(word: str) -> float:
    raise ValueError(f"{word} is no JSON")


# float() takes numbers of any length in linear time, where int() refuses long ones
_DECODER: Final = json.JSONDecoder(parse_int=float, parse_float=float, parse_constant=_no_constant)
SCAN: Final[Callable[[str, int], tuple[Any, int]]] = _DECODER.scan_once  # type: ignore[attr-defined]  # not in typeshed
"""From a text and a place to the JSON value there and its end; what it raises where there is none, `is_json` knows."""


class OpenAIChatReader(Reader):
    """Reads the messages of OpenAI Chat Completions."""

    def __init__(self, profile: Profile, around: Around) -> None:
        super().__init__(profile, around)
        model = around.model
        route = route_of(model) if profile.route == "model" else profile.route
        self._lax = None if route in ("own", None) else "compatible"
        self._pair_case = "local" if route == "local" else None
        self._id_case = "openai" if self._lax is None else None
        images = sees_tool_images(model)
        self._image_case = "newer-model" if images else None if self._lax else "older-model"
        self._roles = profile.roles - (frozenset() if takes_system_role(model) else {"system"})
        self._takes_empty_list = takes_empty_list(model)
        self._names: set[str] = set()
        self._intruder = -1  # the message that stands between open calls and their results

    # -- messages --------------------------------------------------------------------------------------------------

    def read(self, messages: Iterable[Message]) -> None:
        """Read the next messages.  The one hot loop: what is common is judged here, what is odd where it is named."""
        machine, names = self.machine, self._names
        begin, see, call, result = machine.begin, machine.see, machine.call, machine.result
        at = machine.at
        message = None
        for message in messages:
            at += NEXT
            role = message.role
            content = message.content
            if role == "tool":
                machine.at = at  # a result is a message of its own, without a frame
                block = content[0] if content else ""
                if isinstance(block, str):
                    continue  # a message made by hand, without its result
                if isinstance(block, Result):
                    if block.call_id and message.wire.tag == "tool":
                        breach = result(block.call_id)
                        if breach is not None:
                            self._result_breach(breach, block.call_id)
                    else:
                        self._result_without_id(message, block)
                    if not isinstance(block.content, str):
                        self._result_parts(message, block.content)
            elif role == "model":
                if begin(_MODEL, at) is not None:
                    self._went_on()
                if isinstance(content, str):
                    if "tool_calls" in message.wire.keys:
                        self._empty_calls(message)
                    continue
                place = 0
                for block in content:
                    if not isinstance(block, Call):
                        continue
                    if block.wire.tag != "function":
                        self._other_call(message, block, place)
                        place += block.wire.tag == "custom"
                        continue
                    key = block.id
                    breach = call(key, place)
                    if breach is not None:
                        self._call_breach(breach, block, f"/tool_calls/{place}")
                    if not 0 < len(key) <= _ID_CHARS:
                        self._bad_id(block, f"/tool_calls/{place}")
                    if block.name not in names:
                        self._name(block.name, f"/tool_calls/{place}/function/name")
                    arguments = block.arguments
                    try:
                        if SCAN(arguments, 0)[1] != len(arguments):
                            self._odd_arguments(block, f"/tool_calls/{place}/function/arguments")
                    except (StopIteration, TypeError, ValueError, RecursionError):
                        self._odd_arguments(block, f"/tool_calls/{place}/function/arguments")
                    place += 1
                if not place or self.profile.string_only:
                    self._no_calls(message, content)
            elif role == "user":
                if machine.waiting and self._intruder < 0:
                    self._intruder = at >> PLACE_BITS
                begin(_USER, at)
                if isinstance(content, str):
                    origin = message.origin
                    if origin is None and machine.waiting and reads_like_harness(content):
                        origin = Origin.HARNESS
                    see(_PROMPT if origin is None or origin is _HUMAN else _NOTE)
                else:
                    self._user_blocks(message, content)
            else:
                self._instructions(message, at)
        self.last = message or self.last

    # -- model messages --------------------------------------------------------------------------------------------

    def _went_on(self) -> None:
        """The model goes on while calls are open."""
        self.found += self._unanswered(self.machine.abandoned)
        self._intruder = -1

    def _no_calls(self, message: Message, content: tuple[Block, ...]) -> None:
        """What an assistant message must have where it has no calls."""
        form = message.wire.form
        if form == "list" and self.profile.string_only:
            is_taken = self._takes_empty_list and all(isinstance(block, Call | Reasoning) for block in content)
            case = "empty-list" if is_taken else "string-only"
            self.report("O-CONTENT-01", "/content", "the content of an assistant message is a list", "a string", case=case)
        if any(isinstance(block, Call) for block in content):
            return
        is_empty = all(isinstance(block, Reasoning) for block in content)
        if form in ("null", "absent", "list") and is_empty and not message.wire.get("refusal"):
            self._no_content(form, self._lax)
        if "tool_calls" in message.wire.keys:
            self._empty_calls(message)

    def _empty_calls(self, message: Message) -> None:
        if message.wire.get("tool_calls", []) is not None:  # null is padding, and means absent
            self.report("O-CONTENT-02", "/tool_calls", "tool_calls is empty", "at least one call, or no such key", case=self._lax)

    def _no_content(self, form: str, case: str | None) -> None:
        what = {"null": "is null", "absent": "is absent", "list": "is an empty list"}.get(form, "is missing")
        words = f"the content of message {self.index} {what}"
        self.report("O-CONTENT-01", "" if form == "absent" else "/content", words, "a string, or a list of parts", case=case)

    def _other_call(self, message: Message, block: Call, place: int) -> None:
        """A call that is no function's in ``tool_calls``: a custom tool's, the old kind, or Anthropic's among the parts."""
        tag = block.wire.tag
        key = block.id
        path = f"/tool_calls/{place}"
        if tag == "function_call":
            key, place, path = f"{_LEGACY}{self.index}", _FUNCTION_CALL, "/function_call"
        elif tag == "tool_use":
            parts = [part for part in message.blocks if not isinstance(part, Reasoning)]
            place = _PARTS + next(position for position, part in enumerate(parts) if part is block)
            path = self._call_path(place)
        breach = self.machine.call(key, place)
        if breach is not None:
            self._call_breach(breach, block, path)
        if not 0 < len(key) <= _ID_CHARS:
            self._bad_id(block, path)
        if block.name not in self._names:
            self._name(block.name, path + ("/custom/name" if tag == "custom" else "/name"))
        if tag == "function_call" and not (isinstance(block.arguments, str) and is_json(block.arguments)):
            self._odd_arguments(block, path + "/arguments")

    def _call_breach(self, breach: Breach, block: Call, path: str) -> None:
        key = block.id
        path += "/id" if "id" in _keys(block)[0] else ""
        rule, case = self.profile.breaches[breach]
        where = "in an earlier step"
        if breach is Breach.DUPLICATE:
            where, case = "in this message", self._lax
        words = f"the id {quote(key)} was used {where} already"
        self.report(rule, path, words, "an id of its own for each call", case=case, ids=(key,))

    def _bad_id(self, block: Call, path: str) -> None:
        key = block.id
        path += "/id" if "id" in _keys(block)[0] else ""
        words = f"the id {quote(key)} has {len(key)} characters" if key else "a call without an id"
        case = "empty" if not key else "over-64" if len(key) > _LONGEST_ID_CHARS else self._id_case
        self.report("O-ID-01", path, words, f"1 to {_ID_CHARS} characters", case=case, ids=(key,))

    def _name(self, name: str, path: str) -> None:
        if not _NAME.fullmatch(name):
            words = f"the name {quote(name)} is not 1 to 64 of a-z, A-Z, 0-9, _ and -"
            self.report("O-NAME-01", path, words, "such a name")
        elif len(self._names) < _NAMES_KEPT:
            self._names.add(name)

    def _odd_arguments(self, block: Call, path: str) -> None:
        """Arguments that are not one JSON value from the first character to the last."""
        arguments = block.arguments
        case: str | None = None
        if not isinstance(arguments, str):
            what = "are no string"
            if "arguments" not in _keys(block)[1]:
                path = path.removesuffix("/arguments")
        elif not arguments:
            case, what = "empty", "are empty"
        elif is_json(arguments):
            return  # space around it
        else:
            case, what = "not-json", "are no JSON"
        words = f"the arguments of the call {quote(block.id)} {what}"
        self.report("O-ARGS-01", path, words, "the JSON text of an object", case=case, ids=(block.id,))

    # -- results ---------------------------------------------------------------------------------------------------

    def _result_without_id(self, message: Message, block: Result) -> None:
        """It answers the oldest open call, so that what is missing is found once."""
        machine = self.machine
        wire = message.wire
        key = block.call_id
        legacy = wire.tag == "function"
        if legacy:
            key = machine.oldest() or _LEGACY
            if not wire.get("name"):
                self.report("O-NAME-02", "", "a message of role function has no name", "the function's name")
        elif "tool_call_id" not in wire.keys or wire.get("tool_call_id", "") is None:
            key = machine.oldest() or key
            expected = "the id of the call that it answers"
            self.report("O-TOOLMSG-01", "", "a tool message has no tool_call_id", expected, case=self._lax)
        breach = machine.result(key)
        if breach is not None:
            self._result_breach(breach, key, legacy="legacy" if legacy else None)

    def _result_breach(self, breach: Breach, key: str, *, legacy: str | None = None) -> None:
        shown = quote(self._shown(key))
        call = f"message {self.machine.place >> PLACE_BITS}"
        at, path = self.index, ""
        rule, case = self.profile.breaches[breach]
        if breach is Breach.REPEAT:
            path, words, expected = "/tool_call_id", f"the call {shown} of {call} is answered twice", "one result for each call"
        else:
            case = legacy or self._pair_case
            if breach is Breach.STRAY:
                words, expected = (
                    f"the result for {shown} answers no call of the assistant message before its run",
                    "its call there",
                )
            elif breach is Breach.BETWEEN and self._intruder >= 0:
                at, self._intruder = self._intruder, -1
                words = f"message {at} stands between the calls of {call} and the result for {shown}"
                expected = "it behind the last result of the batch"
            else:
                words, expected = (
                    f"the result for {shown} comes after the model went on from {call}",
                    f"it directly behind {call}",
                )
        self.found.append(self.violation(rule, at, path, words, expected, case=case, ids=(self._shown(key),)))

    def _result_parts(self, message: Message, body: tuple[Block, ...] | None) -> None:
        if body is None:
            words = f"the content of a tool message is {'null' if message.wire.form == 'null' else 'absent'}"
            path = "" if message.wire.form == "absent" else "/content"
            self.report("O-TOOLMSG-01", path, words, "a string, or text parts", case=self._lax)
            return
        if not body:
            self._no_content("list", self._lax)
        for position, part in enumerate(body):
            if not isinstance(part, Text):
                words = f"a part {quote(part.kind if isinstance(part, Opaque | Media) else 'odd')} in a tool message"
                expected = "text; pictures in a user message behind the run"
                self.report("O-IMG-01", f"/content/{position}", words, expected, case=self._image_case)

    # -- user messages and instructions ----------------------------------------------------------------------------

    def _user_blocks(self, message: Message, content: tuple[Block, ...]) -> None:
        self.machine.see(_NOTE if self._is_note(message, content) else _PROMPT)
        if not content:
            self._no_content(message.wire.form, None)

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

    def _instructions(self, message: Message, at: int) -> None:
        """A system or developer message, or one of a role that nobody knows."""
        word = message.wire.tag
        if self.machine.waiting and self._intruder < 0:
            self._intruder = at >> PLACE_BITS
        spoken = self.machine.state is not State.START
        self.machine.begin(_SYSTEM, at)
        if message.role == "other":
            self.report("O-ROLE-01", "/role", f"the role is {quote(word)}", "a role of this dialect", case="unknown-role")
        elif word not in self._roles:
            expected = " or ".join(sorted(self._roles))
            self.report("O-ROLE-01", "/role", f"the model does not know the role {word}", expected, case=f"no-{word}-role")
        if self.profile.system_first and spoken and message.role != "other":
            words = f"a {word} message stands behind other messages"
            self.report("O-SYS-01", "/role", words, "it at the beginning", case="system-first")
        if message.content == ():
            self._no_content(message.wire.form, None)

    # -- the end ---------------------------------------------------------------------------------------------------

    def ending(self, mode: Mode) -> list[Violation]:
        """What it would break to end here.  Nothing changes."""
        found = self._sizes("O-SIZE-01")
        if self._end_breach(mode) is Breach.OPEN:
            found += self._unanswered(self.machine.open)
        if self.index < 0:
            found.append(self.violation("O-EMPTY-01", None, "", "there are no messages", "at least one"))
        return found

    def _open_case(self, calls: Sequence[tuple[str, int]]) -> str | None:
        return "legacy" if all(place & (NEXT - 1) == _FUNCTION_CALL for _key, place in calls) else self._pair_case

    def _call_path(self, position: int) -> str:
        if position == _FUNCTION_CALL:
            return "/function_call"
        return f"/tool_calls/{position}" if position < _PARTS else f"/content/{position - _PARTS}"

    def _shown(self, key: str) -> str:
        return "" if key.startswith(_LEGACY) else key


def _keys(call: Call) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The keys of a call's object, and of the object inside it; the wire's form says how many are the first, if not one."""
    keys, tag = call.wire.keys, call.wire.tag
    count = call.wire.outside if call.wire.form.isdecimal() or tag in ("function", "custom") else 0
    return (keys[:count], keys[count:]) if tag != "tool_use" else (keys, ())


def _is_marker(text: str) -> bool:
    return len(text) <= _MARKER_CHARS and text.strip().lower() in MEDIA_MARKERS


def is_json(text: str) -> bool:
    """
    Whether *text* is one JSON value, as strict readers see it.

    >>> is_json('{"path": "a.txt"}'), is_json('{"path": "a.t'), is_json('{"n": NaN}'), is_json("")
    (True, False, False, False)
    """
    text = text.strip(_JSON_SPACE)
    try:
        return bool(text) and SCAN(text, 0)[1] == len(text)
    except (StopIteration, ValueError, RecursionError):
        return False
