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
    same way, under keys of our own that no wire id can equal.

    *Routes.*  Many services speak this dialect and are laxer than OpenAI.  The
    profile says whose it is, or leaves it to the model's name; a request
    without a model is judged as OpenAI would.

What is not here
    Rules about settings and tools (`request`), and the levels (`rules`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any, Final

from ..model import Block, Call, Media, Message, Opaque, Result, Text
from .automaton import Breach, Event
from .profiles import MEDIA_MARKERS, Profile, is_first_party, sees_tool_images, takes_system_role
from .reader import HUMAN, PLACE_BITS, Around, Mode, Reader
from .violation import Violation, quote

__all__ = ["OpenAIChatReader"]

_SYSTEM, _USER, _TOOL, _MODEL = Event.SYSTEM, Event.USER, Event.TOOL, Event.MODEL
_PROMPT, _NOTE = Event.PROMPT, Event.NOTE

_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_NAMES_KEPT: Final = 4096  # hostile input must not grow the memo without bound
_ID_CHARS: Final = 40
_LONGEST_ID_CHARS: Final = 64
_LEGACY: Final = "\x00function_call "  # + the message's index: the key of a call that has no id
_JSON_SPACE: Final = " \t\n\r"


def _no_constant(word: str) -> float:
    raise ValueError(f"{word} is no JSON")


# float() takes numbers of any length in linear time, where int() refuses long ones
_SCAN: Final[Callable[[str, int], tuple[Any, int]]] = json.JSONDecoder(
    parse_int=float, parse_float=float, parse_constant=_no_constant
).scan_once


class OpenAIChatReader(Reader):
    """Reads the messages of OpenAI Chat Completions."""

    def __init__(self, profile: Profile, around: Around) -> None:
        super().__init__(profile, around)
        model = around.model
        own = {"own": True, "compatible": False}.get(profile.route, is_first_party(model))
        self._lax = None if own in (True, None) else "compatible"
        self._id_case = "openai" if self._lax is None else None
        images = sees_tool_images(model)
        self._image_case = "newer-model" if images else None if self._lax else "older-model"
        self._roles = profile.roles - (frozenset() if takes_system_role(model) else {"system"})
        self._names: set[str] = set()
        self._intruder = -1  # the message that stands between open calls and their results
        self._spoken = False  # whether a message other than instructions was read

    # -- messages --------------------------------------------------------------------------------------------------

    def read(self, message: Message, *, fused: bool = False) -> None:
        """Read the next message.  Nothing is ever fused here, so *fused* is not looked at."""
        del fused
        self._index += 1
        self._last = message
        role = message.role
        content = message.content
        if role == "model":
            self._spoken = True
            if self._machine.begin(_MODEL) is not None:
                self.found += self._unanswered(self._machine.abandoned)
                self._intruder = -1
            if content.__class__ is not str:
                self._model_blocks(message, content)
            elif "tool_calls" in message.wire.keys:
                self._empty_calls(message)
        elif role == "tool":
            self._spoken = True
            self._machine.begin(_TOOL)
            self._result(message, content)
        elif role == "user":
            self._spoken = True
            if self._machine.open_count and self._intruder < 0:
                self._intruder = self._index
            self._machine.begin(_USER)
            if content.__class__ is str:
                self._machine.see(_PROMPT if message.origin is None or message.origin is HUMAN else _NOTE)
            else:
                self._user_blocks(message, content)
        else:
            self._instructions(message)

    def _model_blocks(self, message: Message, content: tuple[Block, ...]) -> None:
        calls = parts = 0
        for block in content:
            if block.__class__ is Call:
                tag = block.wire.tag
                if tag == "function_call":
                    self._machine.call(f"{_LEGACY}{self._index}", self._index << PLACE_BITS)
                    self._check_call(block, "/function_call")
                elif tag == "tool_use":
                    self._call(block, parts, f"/content/{parts}")
                    parts += 1
                    continue
                else:
                    self._call(block, calls, "")
                calls += 1
            elif block.__class__ is not Text or message.wire.form == "list":
                parts += 1
        if calls:
            if self._profile.string_only and message.wire.form == "list":
                self._list_content()
            return
        form = message.wire.form
        if form in ("null", "absent") or not parts:
            if form != "string" and not message.wire.get("refusal"):
                self._no_content(form, lax=self._lax)
        elif self._profile.string_only and form == "list":
            self._list_content()
        if "tool_calls" in message.wire.keys:
            self._empty_calls(message)

    def _empty_calls(self, message: Message) -> None:
        if message.wire.get("tool_calls", []) is not None:  # null is padding, and means absent
            self._report("O-CONTENT-02", self._lax, "/tool_calls", "tool_calls is empty", "at least one call, or no such key")

    def _no_content(self, form: str, *, lax: str | None) -> None:
        what = {"null": "is null", "absent": "is absent", "list": "is an empty list"}.get(form, "is missing")
        self._report("O-CONTENT-01", lax, "/content", f"the content of message {self._index} {what}", "a string, or a list of parts")

    def _list_content(self) -> None:
        self._report("O-CONTENT-01", "string-only", "/content", "the content of an assistant message is a list", "a string")

    def _user_blocks(self, message: Message, content: tuple[Block, ...]) -> None:
        self._machine.see(_NOTE if self._is_note(message, content) else _PROMPT)
        if not content:
            self._no_content(message.wire.form, lax=None)

    def _is_note(self, message: Message, content: tuple[Block, ...]) -> bool:
        """Whether a user message is not a person's: its origin says so, or it is media and nothing but a known marker."""
        origin = message.origin
        if origin is not None:
            return HUMAN not in origin if isinstance(origin, tuple) else origin is not HUMAN
        if not self._machine.open_count or not any(isinstance(block, Media) for block in content):
            return False
        return all(isinstance(block, Media) or (isinstance(block, Text) and _is_marker(block.text)) for block in content)

    def _instructions(self, message: Message) -> None:
        """A system or developer message, or one of a role that nobody knows."""
        word = message.wire.tag
        if self._machine.open_count and self._intruder < 0:
            self._intruder = self._index
        self._machine.begin(_SYSTEM)
        if message.role == "other":
            self._report("O-ROLE-01", "unknown-role", "/role", f"the role is {quote(word)}", "a role of this dialect")
        elif word not in self._roles:
            self._report("O-ROLE-01", f"no-{word}-role", "/role", f"the model does not know the role {word}", " or ".join(sorted(self._roles)))
        if self._profile.system_first and self._spoken and message.role != "other":
            self._report("O-SYS-01", "system-first", "/role", f"a {word} message stands behind other messages", "it at the beginning")
        if message.content.__class__ is not str and not message.content:
            self._no_content(message.wire.form, lax=None)

    # -- calls -----------------------------------------------------------------------------------------------------

    def _call(self, block: Call, position: int, path: str) -> None:
        key = block.id
        breach = self._machine.call(key, (self._index << PLACE_BITS) + position)
        if breach is not None and key:
            self._call_breach(breach, key, path or f"/tool_calls/{position}")
        if not key or len(key) > _ID_CHARS:
            self._bad_id(key, (path or f"/tool_calls/{position}") + "/id")
        name = block.name
        arguments = block.arguments
        if name not in self._names or arguments.__class__ is not str:
            self._check_call(block, path or f"/tool_calls/{position}")
            return
        if block.wire.tag == "function":
            try:
                if _SCAN(arguments, 0)[1] == len(arguments):
                    return
            except (StopIteration, ValueError, RecursionError):
                pass
            self._check_arguments(arguments, key, f"/tool_calls/{position}/function/arguments")

    def _call_breach(self, breach: Breach, key: str, path: str) -> None:
        if breach is Breach.DUPLICATE:
            self._report(
                "O-PAIR-04", self._lax, path + "/id", f"the id {quote(key)} stands twice in message {self._index}", "an id of its own for each call", ids=(key,)
            )
        else:
            self._breach(breach, path + "/id", f"the id {quote(key)} was used in an earlier step", "an id of its own for each call", ids=(key,))

    def _bad_id(self, key: str, path: str) -> None:
        if not key:
            case, what = "empty", "a call without an id"
        else:
            case, what = ("over-64" if len(key) > _LONGEST_ID_CHARS else self._id_case), f"the id {quote(key)} has {len(key)} characters"
        self._report("O-ID-01", case, path, what, f"1 to {_ID_CHARS} characters", ids=(key,))

    def _check_call(self, block: Call, path: str) -> None:
        """Name and arguments of a call; *path* is that of the call."""
        tag = block.wire.tag
        inner = f"{path}/{tag}" if tag in ("function", "custom") else path
        if _NAME.fullmatch(block.name):
            if len(self._names) < _NAMES_KEPT:
                self._names.add(block.name)
        else:
            self._report("O-NAME-01", None, inner + "/name", f"the name {quote(block.name)} is not 1 to 64 of a-z, A-Z, 0-9, _ and -", "such a name")
        arguments = block.arguments
        if tag in ("function", "function_call"):
            if arguments.__class__ is not str:
                self._report("O-ARGS-01", None, inner + "/arguments", "the arguments are no string", "the JSON text of an object", ids=(block.id,))
            else:
                self._check_arguments(arguments, block.id, inner + "/arguments")

    def _check_arguments(self, text: str, key: str, path: str) -> None:
        if is_json(text):
            return
        case, what = ("not-json", "are no JSON") if text else ("empty", "are empty")
        self._report("O-ARGS-01", case, path, f"the arguments of the call {quote(key)} {what}", "the JSON text of an object", ids=(key,))

    # -- results ---------------------------------------------------------------------------------------------------

    def _result(self, message: Message, content: str | tuple[Block, ...]) -> None:
        block = content[0] if content else None
        if not isinstance(block, Result):
            return  # a message made by hand, without its result
        machine = self._machine
        key = block.call_id
        keys = message.wire.keys
        legacy = message.wire.tag == "function"
        if legacy:
            if not message.wire.get("name"):
                self._report("O-NAME-02", None, "", "a message of role function has no name", "the function's name")
            key = machine.oldest() or _LEGACY
        elif not key and ("tool_call_id" not in keys or message.wire.rest and message.wire.get("tool_call_id", "") is None):
            self._report("O-TOOLMSG-01", self._lax, "", "a tool message has no tool_call_id", "the id of the call that it answers")
            key = machine.oldest() or key
        breach = machine.result(key)
        if breach is not None:
            self._result_breach(breach, key, legacy)
        body = block.content
        if body.__class__ is not str:
            self._result_parts(message, body)

    def _result_breach(self, breach: Breach, key: str, legacy: bool) -> None:  # noqa: FBT001 - called in one place
        rule, case = self._profile.breaches[breach]
        shown = quote(self._shown(key))
        ids = (self._shown(key),)
        call = f"message {self._machine.place >> PLACE_BITS}"
        if legacy and breach is not Breach.REPEAT:
            case = "legacy"
        if breach is Breach.BETWEEN:
            at = self._intruder
            self._intruder = -1
            words = f"message {at} stands between the calls of {call} and the result for {shown}"
            self.found.append(self._violation(rule, case, at, "", words, "it behind the last result of the batch", ids=ids))
        elif breach is Breach.STRAY:
            self._report(rule, case, "", f"the result for {shown} answers no call of the assistant message before its run", "its call there", ids=ids)
        elif breach is Breach.REPEAT:
            self._report(rule, case, "/tool_call_id", f"the call {shown} of {call} is answered twice", "one result for each call", ids=ids)
        else:
            self._report(rule, case, "", f"the result for {shown} comes after the conversation went on from {call}", f"it directly behind {call}", ids=ids)

    def _result_parts(self, message: Message, body: tuple[Block, ...] | str | None) -> None:
        if body is None:
            what = "null" if message.wire.form == "null" else "absent"
            self._report("O-TOOLMSG-01", self._lax, "/content", f"the content of a tool message is {what}", "a string, or text parts")
            return
        if not body:
            self._no_content("list", lax=self._lax)
        for position, part in enumerate(body):
            if not isinstance(part, Text):
                word = part.kind if isinstance(part, Opaque | Media) else "odd"
                self._report(
                    "O-IMG-01", self._image_case, f"/content/{position}", f"a part {quote(word)} in a tool message", "text; pictures in a user message behind"
                )

    # -- the end ---------------------------------------------------------------------------------------------------

    def ending(self, mode: Mode) -> list[Violation]:
        """What it would break to end here.  Nothing changes."""
        found = []
        if self._end_breach(mode) is Breach.OPEN:
            found += self._unanswered(self._machine.open)
        if self._index < 0:
            found.append(self._violation("O-EMPTY-01", None, None, "", "there are no messages", "at least one"))
        around = self._around
        if around.prompt_tokens is not None and around.window_tokens is not None and around.prompt_tokens > around.window_tokens:
            message = f"the prompt has {around.prompt_tokens} tokens"
            found.append(self._violation("O-SIZE-01", None, None, "", message, f"at most {around.window_tokens}"))
        return found

    def _open_case(self, calls: Sequence[tuple[str, int]]) -> str | None:
        return "legacy" if all(key.startswith(_LEGACY) for key, _place in calls) else None

    def _call_path(self, place: int) -> str:
        return f"/tool_calls/{place & ((1 << PLACE_BITS) - 1)}"

    def _shown(self, key: str) -> str:
        return "" if key.startswith(_LEGACY) else key


def _is_marker(text: str) -> bool:
    return len(text) <= 64 and text.strip().lower() in MEDIA_MARKERS


def is_json(text: str) -> bool:
    """
    Whether *text* is one JSON value, as strict readers see it.

    >>> is_json('{"path": "a.txt"}'), is_json('{"path": "a.t'), is_json('{"n": NaN}'), is_json("")
    (True, False, False, False)
    """
    text = text.strip(_JSON_SPACE)
    try:
        return bool(text) and _SCAN(text, 0)[1] == len(text)
    except (StopIteration, ValueError, RecursionError):
        return False
