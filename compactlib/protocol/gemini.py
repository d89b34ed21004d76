"""
Google's Gemini API, content by content.

What this is
    The `Reader` of dialect ``gemini``: which events a content is, and the
    G-rules about what its parts hold.  Thought signatures have a module of
    their own.

How it works
    *Turns.*  Neighbouring contents of one side are one turn, and the provider
    counts: as many responses as calls, wherever in the turn they stand
    (`Neighbours.COUNTED`).  So each response takes an open call of the turn
    before it: the one with its id; else, where one of the two has none, the
    oldest of its name; else the oldest, because clients name responses by ids
    of their own.  A response that takes a call whose id is another's is
    G-ID-01; one that finds no open call is too many, or an orphan.

    *No response at all.*  A user's turn that answers none of the calls before
    it was accepted by models up to 2.5, which is a case of G-COUNT-01.

    *Models.*  The model is named in the address of a request and not in its
    body, so it is mostly unknown here; a profile can say it.

What is not here
    Rules about tools (`request`), and the levels (`rules`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Final

from ..model import Block, Call, Media, Message, Opaque, Origin, Reasoning, Result, Text
from .automaton import Breach, Event, State
from .parts import response_name
from .profiles import MEDIA_MARKERS, Profile, gemini_version
from .reader import NEXT, PLACE_BITS, Around, Mode, Reader, reads_like_harness
from .signatures import LONE, SIGNATURES, Signatures
from .violation import Violation, quote

__all__ = ["GeminiReader"]

_USER, _MODEL, _PROMPT, _NOTE = map(int, (Event.USER, Event.MODEL, Event.PROMPT, Event.NOTE))
_HUMAN: Final = Origin.HUMAN

_MARKER_CHARS: Final = 64
_CLIENT_CALLS: Final = frozenset({"functionCall", "function_call"})
_CLIENT_RESULTS: Final = frozenset({"functionResponse", "function_response"})
_DATA: Final = frozenset({
    "text", "functionCall", "function_call", "functionResponse", "function_response", "inlineData", "inline_data",
    "fileData", "file_data", "executableCode", "executable_code", "codeExecutionResult", "code_execution_result",
    "toolCall", "tool_call", "toolResponse", "tool_response",
})  # fmt: skip
_BESIDE: Final = frozenset({
    "thought", *SIGNATURES, "videoMetadata", "video_metadata", "partMetadata", "part_metadata", "mediaResolution",
    "media_resolution",
})  # fmt: skip
"""The fields of a part that are no data."""
_LISTED_ROLES: Final = frozenset({"assistant", "context", "developer", "system"})
_NEW_ROLES: Final = (3, 5)
"""The first version that refuses the role ``function`` and lists more roles than two (rule G-ROLE-01)."""


class GeminiReader(Reader):
    """Reads the contents of the Gemini API."""

    RESULTS_STAND = "in the turn behind content {}"

    def __init__(self, profile: Profile, around: Around) -> None:
        super().__init__(profile, around)
        self._version = version = gemini_version(around.model or profile.model)
        self._counts_silence = version is not None and version >= (3, 0)
        self._vertex = "vertex" if profile.route == "vertex" else None
        self._signatures = Signatures(self, version)
        self._names: dict[str, str] = {}  # of the calls of the last model's turn, by their keys
        self._by_name: dict[str, deque[str]] | None = None  # the same, by name; made when it is needed
        self._answers = 0  # how many responses the turn behind it has so far
        self._in_model = False  # whether the last content was the model's
        self._is_silent = False  # whether the calls that are being reported got no response at all

    def read(self, messages: Iterable[Message]) -> None:
        """Read the next contents.  The one hot loop: what is common is judged here, what is odd where it is named."""
        machine, names, signatures = self.machine, self._names, self._signatures
        begin, call, result = machine.begin, machine.call, machine.result
        at = machine.at
        for message in messages:
            at += NEXT
            role = message.role
            content = message.content
            if isinstance(content, str):
                content = (Text(content),)
            start = LONE if message.wire.form == "object" and len(content) == 1 else 0
            if role == "model":
                breach = begin(_MODEL, at)
                if breach is not None:
                    self._begun(breach)
                if not self._in_model:
                    self._in_model = True
                    self._by_name = None
                    self._answers = 0
                    names.clear()
                for place, block in enumerate(content, start):
                    if isinstance(block, Call) and block.wire.tag in _CLIENT_CALLS:
                        key = block.id
                        rest = block.wire.rest
                        if rest and (len(rest) > 1 or rest[0][0] not in SIGNATURES):
                            self._residue(block, place)
                        if not names:
                            signatures.step(block, place)
                        names[key] = block.name
                        breach = call(key, place)
                        if breach is not None:
                            self._call_breach(breach, block, place)
                        arguments = block.arguments
                        if arguments.__class__ is not dict and arguments is not None:
                            self._odd_arguments(block, place)
                    elif isinstance(block, Text):
                        if not block.text or block.wire.rest:
                            self._odd_text(block, place)
                    else:
                        self._model_block(block, place)
                if not content:
                    self._empty(message)
                if signatures.compares:
                    signatures.compare(message, start)
                continue
            self._in_model = False
            breach = begin(_USER, at)
            if breach is not None:
                self._begun(breach)
            if role != "user" or not message.wire.tag:
                self._odd_role(message)
            for place, block in enumerate(content, start):
                if isinstance(block, Result) and block.wire.tag in _CLIENT_RESULTS:
                    key = block.call_id
                    shape = block.wire
                    rest = shape.rest
                    self._answers += 1
                    if rest:  # as where there is an id: then the name is residue
                        tag, inner = rest[-1]
                        is_named = tag == shape.tag and inner.get("name") == names.get(key)
                    else:
                        is_named = "name" in shape.keys
                    if is_named and key and key in machine.waiting:
                        breach = result(key)
                        if breach is not None:
                            self._result_breach(breach, block, place)
                    else:
                        self._answer(block, place)
                    body = block.content
                    if not isinstance(body, str):
                        for part in body or ():
                            if not isinstance(part, Text):
                                self._media_inside(block, place)
                                break
                            if part.wire.tag != "member":
                                self._odd_response(part, block, place)
                    if len(rest) > 1 or (rest and rest[0][0] != shape.tag):
                        self._residue(block, place)
                else:
                    self._user_block(message, block, place)
            if not content:
                self._empty(message)

    # -- turns -----------------------------------------------------------------------------------------------------

    def _begun(self, breach: Breach) -> None:
        if breach is Breach.OPEN:
            self._is_silent = not self._answers
            self.found += self._unanswered(self.machine.abandoned)
        else:
            self.breach(breach, "", "another content of the same side follows directly on one", "one content for each turn")

    def _empty(self, message: Message) -> None:
        path = "/parts" if "parts" in message.wire.keys else ""
        self.report("G-EMPTY-01", path, f"content {self.index} has no parts", "parts, or no such content")

    def _odd_role(self, message: Message) -> None:
        """A role that is not the user's, or no role."""
        word = message.wire.tag
        case: str | None = None
        if message.role == "tool":
            if self._version is None:
                case = "function-role"
            elif self._version < _NEW_ROLES:
                return
        elif message.role == "user":
            case = None if self._vertex else "missing"
        elif word in _LISTED_ROLES and self._version is not None and self._version >= _NEW_ROLES:
            case = "listed-role"
        words = f"the role is {quote(word)}" if word else "a content without a role"
        self.report("G-ROLE-01", "/role" if "role" in message.wire.keys else "", words, "user or model", case=case)

    # -- parts -----------------------------------------------------------------------------------------------------

    def _model_block(self, block: Block, place: int) -> None:
        """Anything in a content of the model's but a text or a client call."""
        if isinstance(block, Result) and block.wire.tag in _CLIENT_RESULTS:
            breach = self.machine.result(block.call_id)
            if breach is not None:
                self._result_breach(breach, block, place)
        self._plain_block(block, place)

    def _user_block(self, message: Message, block: Block, place: int) -> None:
        """Anything in a content of the user's but a response."""
        if isinstance(block, Call) and block.wire.tag in _CLIENT_CALLS:
            breach = self.machine.call(block.id, place)
            self._names[block.id] = block.name
            if breach is not None:
                self._call_breach(breach, block, place)
        elif isinstance(block, Text):
            if block.text:
                self._signatures.restart()
            self.machine.see(_PROMPT if self._is_spoken(message, block.text, place) else _NOTE)
            if not block.text or block.wire.rest:
                self._odd_text(block, place)
            return
        else:
            if not self._answers:
                self._signatures.restart()
            self.machine.see(_PROMPT if _is_human(message, place) else _NOTE)
        self._plain_block(block, place)

    def _is_spoken(self, message: Message, text: str, place: int) -> bool:
        """Whether a text on the user's side is a person's: it is, unless something says that it is not."""
        if message.origin is not None:
            return _is_human(message, place)
        if not self.machine.waiting:
            return True
        if reads_like_harness(text):
            return False
        if len(text) > _MARKER_CHARS or text.strip().lower() not in MEDIA_MARKERS:
            return True
        return not any(isinstance(part, Media) for part in message.blocks)

    def _plain_block(self, block: Block, place: int) -> None:
        """What holds for a part wherever it stands."""
        if isinstance(block, Opaque):
            fields = {key for key, value in block.value.items() if value is not None} if isinstance(block.value, dict) else set()
            unknown = sorted(fields - _BESIDE, key=str)
            words = f"a part with the unknown field {quote(unknown[0])}" if unknown else "a part without data"
            case = "unknown-field" if unknown else None
            self.report("G-EMPTY-02", _part(place), words, "one data field, such as text", case=case)
        elif isinstance(block, Reasoning):
            if not block.seal and "text" not in block.wire.keys:
                self.report("G-EMPTY-02", _part(place), "a part without data", "one data field, such as text")
        elif block.wire.rest:
            self._residue(block, place)

    def _residue(self, block: Block, place: int) -> None:
        """A part that has more fields than its data."""
        if isinstance(block, Opaque):
            return
        shape = block.wire
        for key, value in shape.rest:
            if key in _DATA and key != shape.tag and value is not None:
                words = f"a part has the data fields {shape.tag} and {key}"
                self.report("G-PART-01", _part(place), words, "a part for each")

    def _odd_text(self, block: Text, place: int) -> None:
        """A text that is empty, or has other fields beside it."""
        if block.wire.rest:
            self._residue(block, place)
        if not block.text and not any(block.wire.get(key) for key in SIGNATURES):
            path = _part(place) + "/text"
            self.report("G-EMPTY-03", path, "an empty text", "text, or no such part", case=self._vertex)

    # -- calls and responses ---------------------------------------------------------------------------------------

    def _call_breach(self, breach: Breach, block: Call, place: int) -> None:
        key = block.id
        if breach is Breach.START:
            words, expected = f"the call {quote(key)} stands in the first turn", "a content of the user's before it"
        else:
            words, expected = f"the call {quote(key)} stands in a content of the user's", "calls in the model's only"
        self.breach(breach, _part(place), words, expected, ids=(key,))

    def _odd_arguments(self, block: Call, place: int) -> None:
        path = f"{_part(place)}/{block.wire.tag}/args"
        words = f"the args of the call {quote(block.id)} are no object"
        self.report("G-ARGS-01", path, words, "a JSON object", ids=(block.id,))

    def _answer(self, block: Result, place: int) -> None:
        """A response that does not name an open call as the call is named, or has no name."""
        path = _part(place)
        key, name = block.call_id, response_name(block)
        if not name:
            ids = (key,) if key else ()
            field = f"{path}/{block.wire.tag}"
            self.report("G-NAME-01", field, "a response without a name", "the name of the function", ids=ids)
        waiting = self.machine.waiting
        target = key
        if waiting and not (key and key in waiting):
            target = self._open_call(key, name)
        called = self._names.get(target, "")
        breach = self.machine.result(target)
        if breach is not None:
            self._result_breach(breach, block, place)
            return
        if target != key and key != name and target != called:
            words = f"the response has the id {quote(key)}, and the call that it falls to {quote(target)}"
            self.report("G-ID-01", path, words, "the id of a call of the turn before", ids=(key,))
        if name and name != called:
            words = f"the response is called {quote(name)}, and its call {quote(called)}"
            self.report("G-NAME-01", path, words, "one name for both", case="other-name", ids=(key,))

    def _open_call(self, key: str, name: str) -> str:
        """The open call that a response with this id and name must mean: one of its name, else the oldest."""
        waiting = self.machine.waiting
        if name in waiting:  # of a call without id the name is the key
            return name
        if self._by_name is None:
            self._by_name = {}
            for other, called in self._names.items():
                self._by_name.setdefault(called, deque()).append(other)
        same = self._by_name.get(name, ())
        while same and same[0] not in waiting:
            same.popleft()
        return same[0] if same else self.machine.oldest() or key

    def _result_breach(self, breach: Breach, block: Result, place: int) -> None:
        key = block.call_id
        shown = quote(key)
        if breach is Breach.REPEAT:
            words, expected = f"the response {shown} is one more than there are calls", "one response for each call"
        elif breach is Breach.LATE:
            where = self.machine.place >> PLACE_BITS
            words, expected = f"the response {shown} comes after the model went on from content {where}", "it directly behind"
        elif breach is Breach.STRAY:
            words, expected = f"the response {shown} stands behind a turn without calls", "its call in the model's turn before it"
        else:
            words, expected = f"the response {shown} stands in a content of the model's", "responses in the user's only"
        self.breach(breach, _part(place), words, expected, ids=(key,))

    def _odd_response(self, part: Text, block: Result, place: int) -> None:
        """A response that is not one string under one key."""
        tag = part.wire.tag
        if tag == "string" or (tag == "json" and not isinstance(part.wire.get("json"), dict)):
            path = f"{_part(place)}/{block.wire.tag}/response"
            words = f"the response {quote(block.call_id)} is no object"
            self.report("G-RESP-02", path, words, "a JSON object", ids=(block.call_id,))

    def _media_inside(self, block: Result, place: int) -> None:
        version = self._version
        if version is not None and version >= (3, 0):
            return
        path = f"{_part(place)}/{block.wire.tag}/parts"
        words = f"the response {quote(block.call_id)} has parts"
        case = None if version is None else "older-model"
        self.report("G-IMG-01", path, words, "none before Gemini 3: media beside the responses", case=case, ids=(block.call_id,))

    # -- the end ---------------------------------------------------------------------------------------------------

    def ending(self, mode: Mode) -> list[Violation]:
        """What it would break to end here.  Nothing changes."""
        found = self._sizes("G-SIZE-01")
        state = self.machine.state
        breach = self._end_breach(mode)
        if breach is Breach.OPEN:
            self._is_silent = not self._answers and state is not State.CALLING
            found += self._unanswered(self.machine.open)
        elif breach is Breach.END:
            found += self._model_speaks_last()
        if mode == "request" or state not in (State.MODEL, State.FIRST):
            found += self._signatures.ending()
        if self.index < 0:
            found.append(self.violation("G-EMPTY-04", None, "", "there are no contents", "at least one"))
        return found

    def _model_speaks_last(self) -> list[Violation]:
        prefill = self.profile.prefill
        if prefill == "yes":
            return []
        version = self._version
        is_lax = prefill == "model" and (version is None or version[0] == 2)
        rule, usual = self.profile.breaches[Breach.END]
        words = f"content {self.index}, the last, is the model's"
        case = "prefill" if is_lax else usual
        return [self.violation(rule, self.index, "", words, "a content of the user's at the end", case=case)]

    def _open_case(self, calls: Sequence[tuple[str, int]]) -> str | None:
        del calls
        return "no-response" if self._is_silent and not self._counts_silence else None

    def _call_path(self, position: int) -> str:
        return _part(position)


def _part(place: int) -> str:
    """The pointer of a part, relative to its content."""
    return "/parts" if place >= LONE else f"/parts/{place}"


def _is_human(message: Message, place: int) -> bool:
    """Whether a part's stated origin is a person."""
    origin = message.origin
    place &= LONE - 1
    if isinstance(origin, tuple):
        return place < len(origin) and origin[place] is _HUMAN
    return origin is _HUMAN
