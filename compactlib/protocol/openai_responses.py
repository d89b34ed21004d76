"""
OpenAI's Responses API, item by item.

What this is
    The `Reader` of dialect ``openai-responses``: which events an item is, and
    the R-rules about what an item contains.

How it works
    *Responses.*  A run of the model's items (reasoning, words, calls) is one
    response, and one frame to the automaton.  An output is an event without a
    frame.  Nothing has to stand beside anything: a call waits for its output
    as long as it must, and only the end tells whether one is missing.

    *Kinds.*  A call of one kind is answered by an output of its own kind; the
    table `_ANSWERS` has the few that two kinds answer.  They pair by
    ``call_id`` alone, so that an output of the wrong kind is one finding.

    *What lies at the provider.*  With ``previous_response_id`` or
    ``conversation``, and behind an ``item_reference``, the call of an output
    may be where nobody here can see it: no error then.

    *What was returned.*  Facts about an item that no wire shows, what stood
    before it in its response and how its encrypted content read, can be told by
    ``original``: wire index -> the items of the response that it came from.

    It is long because one dialect is one reader: what it has seen so far is shared
    by all its rules.

What is not here
    Reasoning and what follows it (`followers`), rules about settings and tools
    (`request`), and the levels (`rules`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from attrs import evolve

from ..model import Block, Call, Json, Media, Message, Opaque, Origin, Reasoning, Result, Text
from .automaton import Breach, Event
from .followers import TEXT_CHARS, Followers
from .openai_chat import SCAN, is_json
from .profiles import MEDIA_MARKERS, Profile, answers_apart, route_of
from .reader import NEXT, PLACE_BITS, Around, Mode, Reader, reads_like_harness
from .violation import Violation, quote, quote_all

__all__ = ["OpenAIResponsesReader"]

_SYSTEM, _USER, _MODEL = map(int, (Event.SYSTEM, Event.USER, Event.MODEL))
_PROMPT, _NOTE, _WORDS = map(int, (Event.PROMPT, Event.NOTE, Event.WORDS))
_HUMAN: Final = Origin.HUMAN

_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_NAMES_KEPT: Final = 4096  # hostile input must not grow the memo without bound
_ID_CHARS: Final = 64
_COMPACTED_CHARS: Final = 20_971_520
_MARKER_CHARS: Final = 64

# What an id begins with, as far as a refusal was seen.
_PREFIXES: Final = {"function_call": "fc", "custom_tool_call": "ctc", "message": "msg", "reasoning": "rs"}

# The kinds of output that answer a call, where that is not the kind's own alone.
_ANSWERS: Final = {
    "local_shell_call": frozenset({"local_shell_call_output", "function_call_output"}),
    "tool_search_call": frozenset({"tool_search_output", "function_call_output"}),
    "mcp_approval_request": frozenset({"mcp_approval_response"}),
}

# Types of items that are known and are neither messages nor parts of a pair.
_KNOWN: Final = frozenset(
    {"additional_tools", "apply_patch_call", "code_interpreter_call", "compaction", "compaction_trigger", "computer_call"}
    | {"file_search_call", "image_generation_call", "item_reference", "mcp_call", "mcp_list_tools", "shell_call"}
    | {"tool_search_call", "tool_search_output", "web_search_call"}
)
# What was refused as an item, and what belongs elsewhere.
_NO_ITEM: Final = frozenset(
    {"context_compaction", "document", "file", "image", "image_url", "input_audio", "input_file", "input_image", "input_text"}
    | {"output_text", "redacted_thinking", "refusal", "summary_text", "text", "thinking", "tool_call", "tool_result", "tool_use"}
)
_TEXTS: Final = frozenset({"input_text", "output_text"})
_SAID: Final = frozenset({"output_text", "refusal"})
_GIVEN: Final = frozenset({"input_text", "input_image", "input_file", "input_audio"})
_CAME_OUT: Final = frozenset({"input_text", "input_image", "input_file"})
_ALIEN: Final = (_NO_ITEM - _SAID - _GIVEN) | {"reasoning_text", "summary_text"}  # known, and a part of no message
_OUTPUTS: Final = frozenset({"function_call_output", "custom_tool_call_output"})


class OpenAIResponsesReader(Reader):
    """Reads the items of the Responses API."""

    def __init__(self, profile: Profile, around: Around) -> None:
        super().__init__(profile, around)
        model = around.model
        setting = around.conversation.setting
        route = route_of(model) if profile.route == "model" else profile.route
        self._lax = None if route in ("own", None) else "compatible"
        self._apart_case = "strict" if answers_apart(model) is False else None
        self._stored = setting("previous_response_id") is not None or setting("conversation") is not None
        self._names: set[str] = set()
        self._ids: dict[str, int] = {}  # the place of the item that an id was met at first
        self._stores = setting("store") is not False
        self._thoughts = Followers(self, self._ids, lax=self._lax, stores=self._stores)
        self._kinds: dict[str, str] = {}  # the kinds of calls that are no functions, by call_id
        self._apart = -1  # where it was reported last that calls and outputs stand apart
        self._lone = False
        self._speaking = False  # whether the item before was the model's

    # -- items -----------------------------------------------------------------------------------------------------

    def read(self, messages: Iterable[Message]) -> None:
        """Read the next items.  The one hot loop: what is common is judged here, what is odd where it is named."""
        machine, names, kinds, thoughts, ids = self.machine, self._names, self._kinds, self._thoughts, self._ids
        compares = bool(self.around.original)
        begin, see, call, result = machine.begin, machine.see, machine.call, machine.result
        at = machine.at
        speaking = self._speaking
        message = None
        for message in messages:
            at += NEXT
            role = message.role
            content = message.content
            if role == "model":
                if speaking:
                    machine.at = at
                else:
                    speaking = True
                    if begin(_MODEL, at) is Breach.ORDER:
                        self._went_on()
                block = content[0] if content else ""
                if isinstance(block, Call) and block.wire.tag == "function_call":
                    thoughts.waiting = None
                    key = block.id
                    breach = call(key, 0)
                    if breach is not None:
                        self._call_breach(breach, block)
                    if not 0 < len(key) <= _ID_CHARS:
                        self._bad_call_id(key)
                    if block.name not in names:
                        self._name(block.name)
                    arguments = block.arguments
                    try:
                        if SCAN(arguments, 0)[1] != len(arguments):
                            self._odd_arguments(block)
                    except (StopIteration, TypeError, ValueError, RecursionError):
                        self._odd_arguments(block)
                    for field, value in block.wire.rest:
                        if field == "id":
                            if value.__class__ is str and value not in ids and value[:2] == "fc" and len(value) <= _ID_CHARS:
                                ids[value] = at
                            else:
                                self._item_id(value, "function_call")
                elif isinstance(content, str):
                    if machine.waiting:
                        self._words()
                    if thoughts.waiting is not None:
                        thoughts.follow(message)
                    if message.wire.rest or len(content) > TEXT_CHARS:
                        self._message(message)
                else:
                    self._model_item(message, block)
                if compares:
                    thoughts.compare(message)
            elif role == "tool":
                machine.at = at  # an output is an event without a frame
                speaking = False
                block = content[0] if content else ""
                if not isinstance(block, Result):
                    continue  # an item made by hand, without its output
                key = block.call_id
                breach = result(key)
                if breach is not None:
                    self._output_breach(breach, block)
                if (block.wire.tag != "function_call_output" or key in kinds) and breach is not Breach.STRAY:
                    self._odd_output(block)
                body = block.content
                if not isinstance(body, str):
                    self._output_parts(block, body)
                elif len(body) > TEXT_CHARS:
                    self._too_long("/output")
                for field, value in block.wire.rest:
                    if field == "id":
                        self._item_id(value, "")
            elif role == "user":
                speaking = False
                if thoughts.waiting is not None:
                    thoughts.end()
                begin(_USER, at)
                see(_NOTE if self._is_note(message) else _PROMPT)
                if not isinstance(content, str) or message.wire.rest or len(content) > TEXT_CHARS:
                    self._message(message)
            else:
                speaking = False
                self._instructions(message, at)
        self._speaking = speaking
        self.last = message or self.last

    # -- the model's items -----------------------------------------------------------------------------------------

    def _model_item(self, message: Message, block: Block | str) -> None:
        """Words, reasoning, a call of another kind, or an item that is kept whole."""
        if isinstance(block, Reasoning):
            if self.machine.waiting:
                self._words()
            self._item_id(block.wire.get("id"), "reasoning")
            self._thoughts.meet(block)
        elif isinstance(block, Call):
            self._thoughts.waiting = None
            self._other_call(block)
        elif isinstance(block, Opaque) and message.wire.form == "item":
            self._opaque(block)
        else:
            if self.machine.waiting:
                self._words()
            self._thoughts.follow(message)
            self._message(message)

    def _words(self) -> None:
        if self.machine.see(_WORDS) is not None:
            self._went_on()

    def _went_on(self) -> None:
        """The model goes on while calls are open."""
        newest = next(reversed(self.machine.waiting.values()))
        self._stand_apart(newest, f"the model goes on from the call of item {newest >> PLACE_BITS} before its output came")

    def _stand_apart(self, place: int, words: str) -> None:
        """R-PAIR-03, once for all calls that were made before the last report."""
        if place > self._apart:
            self._apart = self.machine.at
            rule, case = self.profile.breaches[Breach.BETWEEN]
            expected = "the outputs directly behind their calls"
            self.report(rule, "", words, expected, case=case or self._apart_case)

    def _call_breach(self, breach: Breach, block: Call) -> None:
        self._kinds.pop(block.id, None)
        rule, case = self.profile.breaches[breach]
        words = f"the call_id {quote(block.id)} was used for an earlier call"
        self.report(rule, "/call_id", words, "a call_id of its own for each call", case=case, ids=(block.id,), fix="rename-id")

    def _bad_call_id(self, key: str) -> None:
        words = f"the call_id {quote(key)} has {len(key)} characters" if key else "a call with an empty call_id"
        case = self._lax if key else "empty"
        self.report("R-ID-02", "/call_id", words, f"1 to {_ID_CHARS} characters", case=case, ids=(key,))

    def _name(self, name: str) -> None:
        if not _NAME.fullmatch(name):
            words = f"the name {quote(name)} is not 1 to 128 of a-z, A-Z, 0-9, _ and -"
            self.report("R-NAME-01", "/name", words, "such a name", case=self._lax)
        elif len(self._names) < _NAMES_KEPT:
            self._names.add(name)

    def _odd_arguments(self, block: Call) -> None:
        is_text = isinstance(block.arguments, str)
        if is_text and (not block.arguments or is_json(block.arguments)):
            return  # nothing, or space around it
        path = "/arguments" if "arguments" in block.wire.keys else ""
        words = f"the arguments of the call {quote(block.id)} are no {'JSON' if is_text else 'string'}"
        case = "not-json" if is_text else None
        self.report("R-ARGS-01", path, words, "the JSON text of an object", case=case, ids=(block.id,))

    def _other_call(self, block: Call) -> None:
        """A call that is no function's: another tool of the client's, or one that the provider ran."""
        kind = block.wire.tag
        if not block.is_client:
            self._words()
            self._item_id(block.id or None, kind)
            return
        is_approval = kind == "mcp_approval_request"
        breach = self.machine.call(block.id, 0)
        if breach is not None:
            self._call_breach(breach, block)
        self._kinds[block.id] = kind
        if not 0 < len(block.id) <= _ID_CHARS and not is_approval:
            self._bad_call_id(block.id)
        if "name" in block.wire.keys and not is_approval and block.name not in self._names:
            self._name(block.name)
        if kind == "tool_search_call" and isinstance(block.arguments, str):
            words = f"the arguments of the tool search {quote(block.id)} are a string"
            self.report("R-ARGS-01", "/arguments", words, "an object", ids=(block.id,))
        self._item_id(block.id if is_approval else block.wire.get("id"), kind)

    def _opaque(self, block: Opaque) -> None:
        """An item that the model has no word for."""
        kind, value = block.kind, block.value if isinstance(block.value, dict) else {}
        if kind == "item_reference":
            self._thoughts.waiting = None
            self._stored = True
            if not self._stores:
                self._thoughts.is_lost(f"an item is named by its id {quote(str(value.get('id')))} alone")
            return
        self._words()
        self._thoughts.waiting = None
        self._item_id(value.get("id"), kind)
        if kind == "compaction":
            self._compaction(value)
        else:
            self._known_type(kind)

    def _known_type(self, kind: str) -> None:
        if kind not in _KNOWN:
            case = "no-item" if kind in _NO_ITEM else None
            self.report("R-TYPE-01", "/type", f"the type of an item is {quote(kind)}", "a type of item that is known", case=case)

    def _compaction(self, value: Mapping[str, Json]) -> None:
        seal = value.get("encrypted_content")
        if not isinstance(seal, str) or not seal:
            path = "/encrypted_content" if "encrypted_content" in value else ""
            words = "a compaction item without its encrypted content"
            self.report("R-COMPACT-01", path, words, "the item as the provider returned it")
        elif len(seal) > TEXT_CHARS:
            self._thoughts.long_seal(seal, None if len(seal) > _COMPACTED_CHARS else "compaction")

    # -- ids of items ----------------------------------------------------------------------------------------------

    def _item_id(self, key: Json, kind: str) -> None:
        """An item's own id, which may be left out."""
        if not isinstance(key, str):
            return
        at, prefix = self.machine.at, _PREFIXES.get(kind, "")
        first = self._ids.setdefault(key, at)
        if first == at and len(key) <= _ID_CHARS and key.startswith(prefix):
            return
        if first != at:
            words = f"the id {quote(key)} is that of item {first >> PLACE_BITS} too"
            case = self._lax or (None if self._stores else "unstored")
            self.report("R-DUP-01", "/id", words, "each item once", case=case)
        if not key.startswith(prefix):
            words = f"the id {quote(key)} does not begin with {prefix!r}"
            self.report("R-ID-01", "/id", words, f"an id that begins with {prefix!r}, or none", case=self._lax)
        elif len(key) > _ID_CHARS:
            words = f"the id {quote(key)} has {len(key)} characters"
            self.report("R-ID-01", "/id", words, f"at most {_ID_CHARS}, or no id", case=self._lax)

    # -- outputs ---------------------------------------------------------------------------------------------------

    def _output_breach(self, breach: Breach, block: Result) -> None:
        key = block.call_id
        shown = quote(key)
        index = self.machine.place >> PLACE_BITS
        if breach is Breach.BETWEEN:
            self._stand_apart(self.machine.place, f"other items stand between the call {shown} of item {index} and its output")
            return
        rule, case = self.profile.breaches[breach]
        if breach is Breach.REPEAT:
            words, expected = f"the call {shown} of item {index} has two outputs", "one output for each call"
        else:
            words, expected = f"the output for {shown} has no call before it", "its call before it"
            case = "stored" if self._stored else case
        path = "/approval_request_id" if block.wire.tag == "mcp_approval_response" else "/call_id"
        self.report(rule, path, words, expected, case=case, ids=(key,))

    def _odd_output(self, block: Result) -> None:
        """An output, or a call, that is no function's: whether the one answers the other."""
        key, tag = block.call_id, block.wire.tag
        kind = self._kinds.get(key, "function_call")
        answers = _ANSWERS.get(kind) or {f"{kind}_output"}
        if tag not in answers:
            words = f"the {tag} answers {quote(key)}, which is a {kind}"
            self.report("R-PAIR-02", "/type", words, " or ".join(sorted(answers)), case="other-kind", ids=(key,), fix="rename-id")

    def _output_parts(self, block: Result, body: tuple[Block, ...] | None) -> None:
        """What came out of a tool, if it is not one string."""
        if block.wire.tag not in _OUTPUTS:
            return
        key = "/output" if "output" in block.wire.keys else ""
        if body is None or block.wire.form == "value":
            words = f"the output for {quote(block.call_id)} is neither a string nor a list of parts"
            self.report("R-OUT-01", key, words, "a string, or texts, pictures and files", case=self._lax)
            return
        for place, part in enumerate(body):
            if isinstance(part, Text) and len(part.text) > TEXT_CHARS:
                self._too_long(f"{key}/{place}/text")
            kind = _type_of(part, "input_text")
            if kind not in _CAME_OUT:
                case = self._lax or (None if kind in _NO_ITEM or kind in _ALIEN else "unknown-part")
                words = f"a part of type {quote(kind)} in an output"
                self.report("R-OUT-01", f"{key}/{place}/type", words, "input_text, input_image or input_file", case=case)

    # -- messages --------------------------------------------------------------------------------------------------

    def _message(self, message: Message) -> None:
        """What a message of any role contains."""
        wire, content = message.wire, message.content
        if wire.rest:
            self._item_id(wire.get("id"), "message")
        if isinstance(content, str):
            if len(content) > TEXT_CHARS:
                self._lone = wire.form == "lone"
                self._too_long("" if self._lone else "/content")
            return
        if not content and wire.form == "null":
            path = "/content" if "content" in wire.keys else ""
            self.report("R-CONTENT-01", path, f"the content of item {self.index} is missing", "a string, or a list of parts")
        allowed, own = (_SAID, "output_text") if message.role == "model" else (_GIVEN, "input_text")
        for place, block in enumerate(content):
            if isinstance(block, Text) and len(block.text) > TEXT_CHARS:
                self._too_long(f"/content/{place}/text")
            kind = _type_of(block, own)
            if kind not in allowed:
                self._odd_part(kind, f"/content/{place}", allowed)

    def _odd_part(self, kind: str, path: str, allowed: frozenset[str]) -> None:
        case: str | None = self._lax
        if kind not in _ALIEN and kind not in _GIVEN:
            case = case or ("output-in-input" if kind in _SAID else "unknown-part")
        whose = "an assistant message" if allowed is _SAID else "a message that the model did not write"
        words = f"a part of {whose} is of type {quote(kind)}"
        self.report("R-PART-01", f"{path}/type", words, " or ".join(sorted(allowed)), case=case)

    def _too_long(self, path: str) -> None:
        self.report("R-SIZE-02", path, "a text is too long", f"at most {TEXT_CHARS:,} characters", case=self._lax)

    def _is_note(self, message: Message) -> bool:
        """Whether a user message is not a person's: its origin says so, or calls wait and it is the client's or a tool's."""
        origin = message.origin
        if origin is not None:
            return _HUMAN not in origin if isinstance(origin, tuple) else origin is not _HUMAN
        if not self.machine.waiting:
            return False
        blocks = message.blocks
        if blocks and all(isinstance(block, Text) and reads_like_harness(block.text) for block in blocks):
            return True
        if not any(isinstance(block, Media) for block in blocks):
            return False
        return all(isinstance(block, Media) or (isinstance(block, Text) and _is_marker(block.text)) for block in blocks)

    def _instructions(self, message: Message, at: int) -> None:
        """A system or developer message, an item of such a role, or a message of a role that nobody knows."""
        block = message.content[0] if message.content else ""
        self.machine.begin(_SYSTEM, at)
        if isinstance(block, Opaque) and message.wire.form == "item":
            self._known_type(block.kind)
            return
        self._thoughts.end()
        if message.role == "other":
            words = f"the role is {quote(message.wire.tag)}"
            self.report("R-ROLE-01", "/role", words, "user, assistant, system or developer")
        self._message(message)

    # -- the end ---------------------------------------------------------------------------------------------------

    def ending(self, mode: Mode) -> list[Violation]:
        """What it would break to end here.  Nothing changes."""
        found = self._sizes("R-SIZE-01")
        if self._end_breach(mode) is Breach.OPEN:
            found += self._unanswered(self.machine.open if mode == "request" else self.machine.passed)
        found += self._thoughts.ending()
        if self.index < 0 and not self._stored:
            found.append(self.violation("R-EMPTY-01", None, "", "there are no items", "at least one"))
        return found

    def _unanswered(self, calls: Iterable[tuple[str, int]]) -> list[Violation]:
        """C1: one finding for each call without an output."""
        rule, usual = self.profile.breaches[Breach.OPEN]
        found = []
        for key, place in calls:
            index = place >> PLACE_BITS
            words = f"item {index} calls {quote(key)}, and no output answers"
            case = "approval" if self._kinds.get(key) == "mcp_approval_request" else usual
            found.append(
                self.violation(rule, index, "", words, f"an output for {quote(key)} behind item {index}", case=case, ids=(key,))
            )
        return found

    @property
    def expected(self) -> str:
        """What may come now, in words."""
        waiting = [key for key, _place in self.machine.open]
        return f"anything, and before it is sent the outputs of {quote_all(waiting)}" if waiting else "anything but an output"

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
        """One finding; where the input is one string, the string is the place."""
        found = super().violation(rule, index, path, message, expected, case=case, ids=ids, fix=fix)
        return evolve(found, pointer=self.around.root) if self._lone else found

    def _call_path(self, position: int) -> str:
        del position
        return ""


def _type_of(part: Block, own: str) -> str:
    """What the wire calls a part; words that were made here have no type yet, and get the *own* one of where they stand."""
    if isinstance(part, Opaque):
        return part.kind
    word = part.wire.tag
    if isinstance(part, Text) and word not in _TEXTS:
        stated = part.wire.get("type")  # it was read so
        return stated if isinstance(stated, str) else own
    return word


def _is_marker(text: str) -> bool:
    return len(text) <= _MARKER_CHARS and text.strip().lower() in MEDIA_MARKERS
