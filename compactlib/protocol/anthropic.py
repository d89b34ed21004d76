"""
The Anthropic Messages API, message by message.

What this is
    The `Reader` of dialect ``anthropic``: which events a message is, and the
    A-rules about what it contains.  Media, thinking and server tools have
    modules of their own.

How it works
    *Sides.*  ``user`` and ``assistant`` messages begin with a frame; blocks
    follow.  Neighbours are joined by the automaton, so that pairing, "results
    first" (A-PAIR-04) and "nothing after a call" (A-ORDER-01) hold for what
    the provider sees, wherever the client cut it into messages.

    *Prompt or note.*  A text in a user message is a person's unless its origin
    says otherwise, or it is one of the known marker texts beside media; media
    alone are an attachment.  Where the *provider* counts (the tool loop of
    A-THINK-01) any text of the user's ends the loop, whoever wrote it.

    *What waits.*  An empty assistant message is legal only as the last one, a
    thinking block may not be the last of an assistant turn, a server call may
    still be answered by the next neighbour: these are settled when the next
    message begins.

    It is long because one dialect is one reader: what it has seen so far is shared
    by all its rules.

What is not here
    Rules about settings, tools and system (`request`), and the levels
    (`rules`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import takewhile
from typing import Final

from ..model import Block, Call, Json, Media, Message, Opaque, Origin, Reasoning, Result, Text
from .automaton import Breach, Event, State
from .binding import is_bound
from .media import MediaRules
from .profiles import MEDIA_MARKERS, Profile, takes_prefill
from .reader import NEXT, PLACE_BITS, Around, Mode, Reader, has_lone_surrogate, reads_like_harness
from .request import cache_marks, thinking_mode
from .seals import Seals
from .server_tools import ServerTools
from .violation import Violation, quote

__all__ = ["AnthropicReader"]

_SYSTEM, _USER, _MODEL = map(int, (Event.SYSTEM, Event.USER, Event.MODEL))
_PROMPT, _NOTE, _WORDS = map(int, (Event.PROMPT, Event.NOTE, Event.WORDS))
_HUMAN: Final = Origin.HUMAN

_ID: Final = re.compile(r"[a-zA-Z0-9_-]+")
_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_NAME_CHARS: Final = 64
_NAMES_KEPT: Final = 4096  # hostile input must not grow the memo without bound
_MARKER_CHARS: Final = 64

_TOOL_CHANGES: Final = frozenset({"tool_addition", "tool_removal"})
_IN_RESULT: Final = frozenset({"search_result", "tool_reference"})
# Types that are known and do not belong into a result; what is in no table may be newer than this one.
_NOT_IN_RESULT: Final = frozenset(
    {"audio", "compaction", "container_upload", "fallback", "image_url", "input_audio", "input_file", "input_image"}
    | {"input_text", "mcp_tool_result", "mcp_tool_use", "output_text", "redacted_thinking", "server_tool_use", "thinking"}
    | {"tool_result", "tool_use", "video"}
)


class AnthropicReader(Reader):
    """Reads the messages of the Anthropic Messages API."""

    def __init__(self, profile: Profile, around: Around) -> None:
        super().__init__(profile, around)
        self._tools = around.tools
        self._names: set[str] = set()  # names that were found good
        asked = around.conversation
        self._seals = Seals(self, thinking_mode(asked), around.original, bound=is_bound(asked))
        self._servers = ServerTools(self)
        self._media = MediaRules(self)
        self._marks = cache_marks(around.conversation)
        self._pair_faults = 0
        self._waits = False  # whether something waits for the next message
        self._empty = -1  # an assistant message without content
        self._looked: tuple[Message | None, bool] = None, False  # whether that message holds media
        self._named: tuple[int, tuple[str, ...]] = -1, ()  # the last call that words stand behind, and those named with it

    def read(self, messages: Iterable[Message]) -> None:
        """Read the next messages.  The one hot loop: what is common is judged here, what is odd where it is named."""
        machine, seals, names = self.machine, self._seals, self._names
        begin, see, call, result = machine.begin, machine.see, machine.call, machine.result
        at = machine.at
        message = None
        for message in messages:
            at += NEXT
            role = message.role
            content = message.content
            if self._waits:
                self._settle(role)
            if role == "model":
                breach = begin(_MODEL, at)
                calling = False  # whether calls stand directly before
                if breach is not None:
                    self._begun(breach, role)
                    calling = bool(machine.waiting)
                if seals.fresh:
                    seals.begin(content)
                if isinstance(content, str):
                    self._model_text(content)
                    continue
                for place, block in enumerate(content):
                    if isinstance(block, Text):
                        text = block.text
                        # what begins with a visible ASCII character is neither empty nor blank
                        if not (text >= "!" and text.isascii()):
                            self._odd_text(text, f"/content/{place}", alone=len(content) == 1)
                        if block.wire.rest:
                            self._mark(block.wire.get("cache_control"), f"/content/{place}", text)
                    elif isinstance(block, Call) and block.wire.tag == "tool_use":
                        key = block.id
                        seals.looped = calling = True
                        breach = call(key, place)
                        if breach is not None:
                            self._call_breach(breach, key, place)
                        # an identifier in ASCII is a legal id; most are, and asking is cheap
                        if not (key.isidentifier() and key.isascii()):
                            self._check_id(key, f"/content/{place}/id")
                        if block.name not in names:
                            self._name(block.name, f"/content/{place}/name")
                        arguments = block.arguments
                        if arguments.__class__ is not dict:
                            self._odd_input(block, place)
                        else:
                            for value in arguments.values():
                                if value.__class__ is str:
                                    if not value.isascii():
                                        self._argument(value, place)
                                elif value.__class__ is dict or value.__class__ is list:
                                    self._argument(value, place)
                        if block.wire.rest:
                            self._mark(block.wire.get("cache_control"), f"/content/{place}")
                        continue
                    else:
                        self._model_block(block, place, len(content))
                    if calling:
                        calling = False  # once for each run of other blocks
                        see(_WORDS)
                        self._disorder(f"/content/{place}")
                if not content:
                    self._empty = self.index
                    self._waits = True
                if seals.compares:
                    seals.compare(message)
            elif role == "user":
                breach = begin(_USER, at)
                if breach is not None:
                    self._begun(breach, role)
                if isinstance(content, str):
                    seals.fresh = True
                    origin = message.origin
                    if origin is None and machine.waiting and reads_like_harness(content):
                        origin = Origin.HARNESS
                    see(_PROMPT if origin is None or origin is _HUMAN else _NOTE)
                    if seals.bound:
                        seals.note(_origin_of(message, 0))
                    if not (content >= "!" and content.isascii()):
                        self._odd_content(content)
                    continue
                for place, block in enumerate(content):
                    if isinstance(block, Result) and block.wire.tag == "tool_result":
                        breach = result(block.call_id)
                        if breach is not None:
                            self._result_breach(breach, block.call_id, place)
                        body = block.content
                        if not (isinstance(body, str) and body.isascii()):
                            self._result_body(block, body, place)
                        if block.wire.rest:
                            self._result_residue(block, place)
                    else:
                        self._user_block(message, block, place)
                if not content:
                    self.found.append(self._empty_message(self.index))
            else:
                self._other(message, at)
        self.last = message or self.last

    # -- frames ----------------------------------------------------------------------------------------------------

    def _begun(self, breach: Breach, role: str) -> None:
        if breach is Breach.OPEN:
            self._pair_faults += 1
            self.found += self._unanswered(self.machine.abandoned)
        elif breach is Breach.START:
            self.breach(breach, "/role", "the conversation begins with an assistant message", "a user message first")
        else:
            side = "assistant" if role == "model" else "user"
            expected = "one message, or one of the other side between"
            self.breach(breach, "/role", f"another {side} message follows directly on one", expected)

    def _settle(self, role: str) -> None:
        """Decide what waited for the next message, which is one of *role*."""
        goes_on = role == "model"
        if self._empty >= 0:
            self.found.append(self._empty_message(self._empty))
            self._empty = -1
        self._seals.settle(model_goes_on=goes_on)
        if not goes_on:
            self._servers.settle(in_flight=bool(self.machine.waiting))
        self._waits = bool(self._servers.waiting)

    def _empty_message(self, index: int) -> Violation:
        return self.violation("A-EMPTY-03", index, "/content", f"message {index} has no content", "content, or no such message")

    def _other(self, message: Message, at: int) -> None:
        """A message of a role that is neither the user's nor the model's."""
        word = quote(message.wire.tag)
        blocks = message.blocks
        case = None
        if message.role == "system":
            self.machine.begin(_SYSTEM, at)
            if self.machine.state is not State.START:
                kinds = {block.kind if isinstance(block, Opaque) else "" for block in blocks}
                case = "tool-addition" if kinds and kinds <= _TOOL_CHANGES else "mid-history"
        else:
            self.machine.begin(_USER, at)
            self.machine.see(_PROMPT)
        expected = "user or assistant; system text stands in the field system"
        self.report("A-ROLE-02", "/role", f"the role is {word}", expected, case=case)
        if isinstance(message.content, str):
            self._odd_content(message.content)
            return
        for place, block in enumerate(blocks):
            if isinstance(block, Text):
                self._text(block, place, alone=len(blocks) == 1)
            elif isinstance(block, Call | Result):
                self.breach(Breach.ROLE, f"/content/{place}", f"a call or a result in a message of role {word}", "none there")
            else:
                self._plain_block(block, place)

    # -- blocks of a model message ---------------------------------------------------------------------------------

    def _model_text(self, text: str) -> None:
        if self.machine.see(_WORDS) is not None:
            self._disorder("/content")
        if not text:
            self._empty = self.index
            self._waits = True
        elif not (text >= "!" and text.isascii()):
            self._odd_text(text, "/content", alone=True)

    def _model_block(self, block: Block, place: int, length: int) -> None:
        """Anything but a text or a client call."""
        if isinstance(block, Call):
            self._servers.call(block, place)
            self._waits = True
        elif isinstance(block, Result) and block.wire.tag == "tool_result":
            breach = self.machine.result(block.call_id)
            if breach is not None:
                self._result_breach(breach, block.call_id, place)
        elif isinstance(block, Result):
            self._servers.result(block, place)
        elif isinstance(block, Reasoning) and place == length - 1:
            self._seals.trail(place)
            self._waits = True
        elif isinstance(block, Opaque):
            self._seals.hide(block)
        self._plain_block(block, place)

    def _disorder(self, path: str) -> None:
        self._pair_faults += 1
        known, ids = self._named
        after = max(known, (self.index << PLACE_BITS) - 1)
        # waiting is in order of time: the calls of this message are its last, and each is named once
        mine = list(takewhile(lambda call: call[1] > after, reversed(self.machine.waiting.items())))
        if mine:
            known, ids = mine[0][1], tuple(key for key, _place in reversed(mine))
            self._named = known, ids
        elif known >> PLACE_BITS != self.index:
            ids = ()
        expected = "nothing but further tool_use blocks after the first; text and thinking before it"
        self.breach(Breach.ORDER, path, f"message {self.index} goes on after its calls", expected, ids=ids)

    # -- blocks of a user message ----------------------------------------------------------------------------------

    def _user_block(self, message: Message, block: Block, place: int) -> None:
        """Anything but a client call's result."""
        if isinstance(block, Text):
            self._seals.fresh = True
            self.machine.see(_PROMPT if self._is_spoken(message, place, block.text) else _NOTE)
            if self._seals.bound:
                self._seals.note(_origin_of(message, place))
            self._text(block, place, alone=len(message.content) == 1)
            return
        if isinstance(block, Result):
            self._servers.result(block, place)
        elif isinstance(block, Call):
            breach = self.machine.call(block.id, place)
            if breach is not None:
                self._call_breach(breach, block.id, place)
        else:
            self.machine.see(_PROMPT if message.origin is not None and _is_human(message, place) else _NOTE)
        self._plain_block(block, place)

    def _is_spoken(self, message: Message, place: int, text: str) -> bool:
        """Whether a text on the user's side is a person's: it is, unless something says that it is not."""
        if message.origin is not None:
            return _is_human(message, place)
        if self.machine.waiting and reads_like_harness(text):
            return False
        if not self.machine.waiting or len(text) > _MARKER_CHARS or text.strip().lower() not in MEDIA_MARKERS:
            return True
        if self._looked[0] is not message:  # once for a message, however many of its texts are markers
            self._looked = message, any(isinstance(block, Media) for block in message.blocks)
        return not self._looked[1]

    # -- calls and results -----------------------------------------------------------------------------------------

    def _call_breach(self, breach: Breach, key: str, place: int) -> None:
        path = f"/content/{place}"
        if breach is Breach.ROLE:
            self.breach(
                breach, path, f"the call {quote(key)} stands in a user message", "calls in assistant messages only", ids=(key,)
            )
        else:
            where = "in this message" if breach is Breach.DUPLICATE else "in an earlier one"
            words = f"the id {quote(key)} was used {where} already"
            self.breach(breach, path + "/id", words, "an id of its own for each call", ids=(key,))

    def _result_breach(self, breach: Breach, key: str, place: int) -> None:
        self._pair_faults += breach is not Breach.SPLIT
        path = f"/content/{place}"
        shown = quote(key)
        call = f"message {self.machine.place >> PLACE_BITS}"
        if breach is Breach.STRAY:
            words, expected = f"the result for {shown} answers no call of the assistant message before it", "its call there"
            self._check_id(key, path + "/tool_use_id")
        elif breach is Breach.REPEAT:
            words, expected = f"the call {shown} of {call} is answered twice", "one result for each call"
        elif breach is Breach.SPLIT:
            words, expected = f"the results for {call} stand in several user messages", "all of them in the one behind it"
        elif breach is Breach.BETWEEN:
            words, expected = (
                f"the result for {shown} of {call} stands behind other content",
                "results first, the rest behind them",
            )
        elif breach is Breach.LATE:
            words, expected = f"the result for {shown} comes after the model went on from {call}", f"it directly behind {call}"
        else:
            words, expected = f"the result for {shown} stands in an assistant message", "results in user messages only"
        self.breach(breach, path, words, expected, ids=(key,))

    def _check_id(self, key: str, path: str) -> None:
        if not _ID.fullmatch(key):
            words = f"the id {quote(key)} is not made of a-z, A-Z, 0-9, _ and -"
            self.report("A-ID-02", path, words, "one or more of these characters", ids=(key,))

    def _name(self, name: str, path: str) -> None:
        if not _NAME.fullmatch(name):
            words = f"the name {quote(name)} is not 1 to {_NAME_CHARS} of a-z, A-Z, 0-9, _ and -"
            self.report("A-NAME-01", path, words, "such a name")
        elif len(name) > _NAME_CHARS:
            words = f"the name {quote(name)} has {len(name)} characters"
            self.report("A-NAME-01", path, words, f"at most {_NAME_CHARS}", case="up-to-128")
        elif len(self._names) < _NAMES_KEPT:
            self._names.add(name)

    def _odd_input(self, block: Call, place: int) -> None:
        path = f"/content/{place}/input" if "input" in block.wire.keys else f"/content/{place}"
        words = f"the input of the call {quote(block.id)} is no object"
        self.report("A-INPUT-01", path, words, "a JSON object", ids=(block.id,))

    def _argument(self, value: Json, place: int) -> None:
        """Look for half a surrogate pair in an argument, without recursion."""
        rest: list[Json] = [value]
        looked: set[int] = set()  # what was made by hand may hold itself
        while rest:
            value = rest.pop()
            if value.__class__ is str:
                if has_lone_surrogate(value):
                    self._lone_surrogate(f"/content/{place}/input")
                    return
            elif (value.__class__ is dict or value.__class__ is list) and id(value) not in looked:
                looked.add(id(value))
                rest.extend(value)
                if value.__class__ is dict:
                    rest.extend(value.values())

    def _result_body(self, block: Result, body: str | tuple[Block, ...] | None, place: int) -> None:
        """The content of a result, unless it is plain ASCII."""
        if isinstance(body, str):
            if has_lone_surrogate(body):
                self._lone_surrogate(f"/content/{place}/content")
            return
        path = f"/content/{place}/content"
        if body:
            is_error = block.is_error
            for position, part in enumerate(body):
                self._result_part(part, f"{path}/{position}", is_error=is_error)
        elif body is not None:
            ids = (block.call_id,)
            self.report("A-EMPTY-05", path, "the result's content is an empty list", "a text, or no content", ids=ids)

    def _result_residue(self, block: Result, place: int) -> None:
        self._mark(block.wire.get("cache_control"), f"/content/{place}")
        if not block.content and block.is_error:
            ids = (block.call_id,)
            self.report(
                "A-EMPTY-06", f"/content/{place}/content", "a result says is_error and nothing else", "the error", ids=ids
            )

    def _result_part(self, part: Block, path: str, *, is_error: bool) -> None:
        if isinstance(part, Text):
            if not part.text:
                self.report("A-EMPTY-01", path, "an empty text in a result", "text, or no such block", case="in-result")
            elif has_lone_surrogate(part.text):
                self._lone_surrogate(path)
            self._mark(part.wire.get("cache_control"), path, part.text)
            return
        word = part.kind if isinstance(part, Opaque) else part.wire.tag
        if is_error:
            self.report("A-IMG-01", path, f"a block {quote(word)} in a result that is an error", "text only")
        elif isinstance(part, Opaque) and word not in _IN_RESULT:
            case = None if word in _NOT_IN_RESULT else "unknown-type"
            expected = "text, image, document, search_result or tool_reference"
            self.report("A-IMG-01", path, f"a block {quote(word)} in a result", expected, case=case)
        if isinstance(part, Media):
            self._media.add(part, path)
            self._mark(part.wire.get("cache_control"), path)
            if isinstance(part.source, dict) and part.source.get("type") == "file":
                self.report(
                    "A-SRC-01", path, "a picture or document by file id in a result", "base64, url or text, or the files beta"
                )
        elif isinstance(part, Opaque) and isinstance(part.value, dict):
            self._mark(part.value.get("cache_control"), path)
            name = part.value.get("tool_name")
            if word == "tool_reference" and isinstance(name, str) and self._tools is not None and name not in self._tools:
                self.report(
                    "A-TREF-01", path, f"the tool {quote(name)} is referred to, not declared", "its declaration among the tools"
                )

    # -- other blocks ----------------------------------------------------------------------------------------------

    def _plain_block(self, block: Block, place: int) -> None:
        """What holds for a block wherever it stands."""
        path = f"/content/{place}"
        if isinstance(block, Opaque):
            if isinstance(block.value, dict):
                self._mark(block.value.get("cache_control"), path)
                if block.kind == "compaction":
                    self._compaction(block.value, path)
            return
        if isinstance(block, Media):
            self._media.add(block, path)
        elif isinstance(block, Reasoning):
            self._seals.meet(block, path)
            if has_lone_surrogate(block.text):
                self._lone_surrogate(path)
        if block.wire.rest:
            self._mark(block.wire.get("cache_control"), path)

    def _compaction(self, value: dict[str, Json], path: str) -> None:
        content = value.get("content")
        if content is not None and not (isinstance(content, str) and content):
            self.report(
                "A-COMPACT-01", path + "/content", "a compaction block of empty or odd content", "its text as returned, or null"
            )
        if "encrypted_content" in value and value["encrypted_content"] is None:
            self.report("A-COMPACT-01", path + "/encrypted_content", "encrypted_content is null", "no such key")
        if self.index == 0 and (content or value.get("encrypted_content")):
            # what stood before it may be left out, the user message that began it all included
            self.found[:] = [one for one in self.found if one.rule != "A-START-01"]
        if self._pair_faults:
            words = f"calls and results before a compaction block do not pair ({self._pair_faults})"
            self.report("A-COMPACT-02", path, words, "nothing before it: that is ignored, and checked all the same")

    def _text(self, block: Text, place: int, *, alone: bool) -> None:
        text = block.text
        path = f"/content/{place}"
        if not (text >= "!" and text.isascii()):
            self._odd_text(text, path, alone=alone)
        if block.wire.rest:
            self._mark(block.wire.get("cache_control"), path, text)

    def _odd_content(self, text: str) -> None:
        """The one text of a message that is not the model's, if it is empty, blank, or not plain ASCII."""
        if text:
            self._odd_text(text, "/content", alone=True)
        else:
            self.found.append(self._empty_message(self.index))

    def _odd_text(self, text: str, path: str, *, alone: bool) -> None:
        """A text that is empty, blank, or not plain ASCII."""
        if not text:
            fix = "placeholder-text" if alone else "drop-empty"
            self.report("A-EMPTY-01", path, "an empty text block", "text, or no such block", fix=fix)
        elif text.isspace():
            case = None if alone else "not-alone"
            self.report("A-EMPTY-02", path, "a text of nothing but whitespace", "text, or no such block", case=case)
        elif has_lone_surrogate(text):
            self._lone_surrogate(path)

    def _lone_surrogate(self, path: str) -> None:
        self.report("A-JSON-01", path, "the text holds half of a surrogate pair", "whole characters: cut between code points")

    def _mark(self, mark: Json, path: str, text: str = "x") -> None:
        """The cache_control of the block at *path*; a null counts for nothing."""
        if mark is None:
            return
        path += "/cache_control"
        if not text:
            self.report("A-CACHE-02", path, "a cache mark on an empty text", "the mark on another block")
        self._marks += 1
        limit = self.profile.marks_limit
        if limit is not None and self._marks == limit + 1:
            self.report("A-CACHE-01", path, f"cache mark number {self._marks}", f"at most {limit} in tools, system and messages")

    # -- the end ---------------------------------------------------------------------------------------------------

    def ending(self, mode: Mode) -> list[Violation]:
        """What it would break to end here.  Nothing changes."""
        found = self._seals.ending(mode) + self._sizes("A-SIZE-01")
        breach = self._end_breach(mode)
        if breach is Breach.OPEN:
            found += self._unanswered(self.machine.open)
        elif breach is Breach.END:
            found += self._model_speaks_last()
        limit = self.profile.messages_limit
        if self.index < 0:
            found.append(self.violation("A-EMPTY-04", None, "", "there are no messages", "at least one"))
        elif limit is not None and self.index >= limit:
            found.append(self.violation("A-SIZE-02", None, "", f"there are {self.index + 1} messages", f"at most {limit}"))
        return found

    def _model_speaks_last(self) -> list[Violation]:
        found = []
        index = self.index
        prefill = {"yes": True, "no": False}.get(self.profile.prefill, takes_prefill(self.around.model))
        rule, usual = self.profile.breaches[Breach.END]
        if not prefill and not self._servers.waiting:  # a paused answer goes on by itself
            case = "unknown-model" if prefill is None else usual
            words = f"message {index}, the last, is the model's"
            found.append(self.violation(rule, index, "/role", words, "a user message at the end", case=case))
        block = self.last.blocks[-1] if self.last is not None and self.last.content else None
        if isinstance(block, Text) and block.text[-1:].isspace():
            words = f"message {index}, the last, ends in whitespace"
            found.append(self.violation("A-END-02", index, "/content", words, "no whitespace at its end"))
        return found

    def _call_path(self, position: int) -> str:
        return f"/content/{position}"


def _is_human(message: Message, place: int) -> bool:
    """Whether a block's stated origin is a person."""
    return _origin_of(message, place) is _HUMAN


def _origin_of(message: Message, place: int) -> Origin | None:
    """A block's stated origin."""
    origin = message.origin
    if isinstance(origin, tuple):
        return origin[place] if place < len(origin) else None
    return origin
