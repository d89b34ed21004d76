"""
The Anthropic Messages API, message by message.

What this is
    The `Reader` of dialect ``anthropic``: which events a message is, and every
    A-rule that is about what a message contains.

How it works
    *Sides.*  ``user`` and ``assistant`` messages begin with a frame; blocks
    follow.  Neighbours are joined by the automaton, so that pairing, "results
    first" (A-PAIR-04) and "nothing after a call" (A-ORDER-01) hold for what
    the provider sees, wherever the client cut it into messages.

    *Prompt or note.*  A text in a user message is a person's unless its origin
    says otherwise, or it is one of the known marker texts beside media; media
    alone are an attachment.  Where the *provider* counts (the tool loop of
    A-THINK-01) any text of the user's ends the loop, whoever wrote it.

    *Server tools.*  ``server_tool_use`` and ``mcp_tool_use`` are answered
    inside the model's own turn.  Without an answer they are legal in two
    places: beside a client call (in flight; the result comes with the next
    answer) and at the very end (the answer was paused).

    *What waits.*  An empty assistant message is legal only as the last one, a
    thinking block may not be the last of an assistant turn, a server call may
    still be answered by the next neighbour: these are settled when the next
    message begins.

What is not here
    Rules about settings, tools and system (`request`), and the levels
    (`rules`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from ..model import Block, Call, Json, Media, Message, Opaque, Reasoning, Result, Text
from .automaton import Breach, Event, State
from .pixels import pixel_size
from .profiles import MEDIA_MARKERS, Profile, takes_prefill
from .reader import HUMAN, PLACE_BITS, Around, Mode, Reader, has_lone_surrogate
from .request import cache_marks, thinking_mode
from .violation import Violation, quote

__all__ = ["AnthropicReader"]

_SYSTEM, _USER, _MODEL, _PROMPT, _NOTE, _WORDS = map(
    int, (Event.SYSTEM, Event.USER, Event.MODEL, Event.PROMPT, Event.NOTE, Event.WORDS)
)

_ID: Final = re.compile(r"[a-zA-Z0-9_-]+")
_SERVER_ID: Final = re.compile(r"srvtoolu_[a-zA-Z0-9_]+")
_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_NAME_CHARS: Final = 64
_NAMES_KEPT: Final = 4096  # hostile input must not grow the memo without bound

_SIDE_PIXELS: Final = 8_000
_MANY_IMAGES: Final = 20
_MANY_SIDE_PIXELS: Final = 2_000

_TOOL_CHANGES: Final = frozenset({"tool_addition", "tool_removal"})
_IN_RESULT: Final = frozenset({"search_result", "tool_reference"})
# Types that are known and do not belong into a result; what is in no table may be newer than this one.
_NOT_IN_RESULT: Final = frozenset(
    {"audio", "compaction", "container_upload", "fallback", "image_url", "input_audio", "input_file", "input_image", "input_text"}
    | {"mcp_tool_result", "mcp_tool_use", "output_text", "redacted_thinking", "server_tool_use", "thinking", "tool_result", "tool_use", "video"}
)
_SEALED: Final = frozenset({"thinking", "redacted_thinking"})


class AnthropicReader(Reader):
    """Reads the messages of the Anthropic Messages API."""

    def __init__(self, profile: Profile, around: Around) -> None:
        super().__init__(profile, around)
        self._thinking = thinking_mode(around.conversation)
        self._tools = around.tools
        self._original = around.original
        self._advisor_missing = self._tools is not None and not any(
            str(tool.value.get("type", "")).startswith("advisor") for tool in around.conversation.tools if isinstance(tool.value, dict)
        )
        self._names: set[str] = set()
        # the tool loop: model messages since the user last said something
        self._fresh = True
        self._first = -1  # its first model message,
        self._opens = False  # which begins with thinking
        self._looped = False  # and it has called a tool
        self._altered: list[Violation] = []  # sealed blocks of it that are not as they were returned
        # what waits for the next message
        self._waits = False
        self._empty = -1  # an assistant message without content
        self._trailing = -1  # position of a thinking block that ends the last assistant message
        self._server: dict[str, tuple[int, int, Call]] = {}  # server calls of this turn that have no result yet
        self._flying: set[str] = set()  # server calls that wait beside client calls
        # counts over the request
        self._marks = cache_marks(around.conversation)
        self._media = 0
        self._images = 0
        self._large: list[tuple[int, str, tuple[int, int]]] = []  # images too large among many
        self._pair_faults = 0

    # -- messages --------------------------------------------------------------------------------------------------

    def read(self, messages: Iterable[Message]) -> None:
        """Read the next messages.  The one hot loop: what is common is judged here, what is odd where it is named."""
        machine = self._machine
        begin, see, call, result = machine.begin, machine.see, machine.call, machine.result
        names = self._names
        for message in messages:
            role = message.role
            content = message.content
            self._index = index = self._index + 1
            if self._waits:
                self._settle(role == "model")
            self._last = message
            if role == "model":
                breach = begin(_MODEL)
                if breach is not None:
                    self._begun(breach, role)
                if self._fresh:
                    self._turn_begins(content)
                if isinstance(content, str):
                    self._model_text(content)
                    continue
                place = 0
                calling = breach is not None and machine.open_count > 0  # a neighbour's calls are open
                block: Block | None = None
                for block in content:
                    if isinstance(block, Text):
                        text = block.text
                        # what begins with a visible ASCII character is neither empty nor blank
                        if not (text >= "!" and text.isascii()):
                            self._odd_text(text, f"/content/{place}", alone=len(content) == 1)
                        if block.wire.rest:
                            self._mark(block.wire.get("cache_control"), place, text)
                    elif isinstance(block, Call) and block.wire.tag == "tool_use":
                        key = block.id
                        self._looped = calling = True
                        breach = call(key, (index << PLACE_BITS) + place)
                        if breach is not None:
                            self._call_breach(breach, block, place)
                        # an identifier in ASCII is a legal id; most are, and asking is cheap
                        if not (key.isidentifier() and key.isascii()):
                            self._check_id(key, f"/content/{place}/id")
                        if block.name not in names:
                            self._name(block.name, f"/content/{place}/name")
                        arguments = block.arguments
                        if arguments.__class__ is dict:
                            for value in arguments.values():
                                if value.__class__ is str:
                                    if not value.isascii():
                                        self._argument(value, place)
                                elif value.__class__ is dict or value.__class__ is list:
                                    self._argument(value, place)
                        else:
                            self._odd_input(key, place)
                        if block.wire.rest:
                            self._mark(block.wire.get("cache_control"), place, "x")
                        place += 1
                        continue
                    else:
                        self._model_block(block, place)
                    if calling:
                        calling = False  # once for each run of other blocks
                        see(_WORDS)
                        self._disorder(place)
                    place += 1
                if block is None:
                    self._empty = index
                    self._waits = True
                elif isinstance(block, Reasoning):
                    self._trailing = place - 1
                    self._waits = True
                if self._original:
                    self._compare(message)
            elif role == "user":
                breach = begin(_USER)
                if breach is not None:
                    self._begun(breach, role)
                if isinstance(content, str):
                    self._fresh = True
                    see(_PROMPT if message.origin is None or message.origin is HUMAN else _NOTE)
                    if not (content >= "!" and content.isascii()):
                        self._odd_content(content)
                    continue
                place = 0
                for block in content:
                    if isinstance(block, Result) and block.wire.tag == "tool_result":
                        breach = result(block.call_id)
                        if breach is not None:
                            self._result_breach(breach, block, place)
                        body = block.content
                        if not (isinstance(body, str) and body and body.isascii()):
                            self._result_body(block, body, place)
                        if block.wire.rest:
                            self._result_residue(block, place)
                    else:
                        self._user_block(message, block, place)
                    place += 1
                if not content:
                    self.found.append(self._empty_message(index))
            else:
                self._other(message)

    def _turn_begins(self, content: str | tuple[Block, ...]) -> None:
        """The first model message since the user last said something."""
        self._fresh = self._looped = False
        self._first = self._index
        self._opens = bool(content) and isinstance(content[0], Reasoning)
        self._altered = []

    def _model_text(self, text: str) -> None:
        if self._machine.see(_WORDS) is not None:
            self._disorder(-1)
        if not text:
            self._empty = self._index
            self._waits = True
        elif not (text >= "!" and text.isascii()):
            self._odd_text(text, "/content", alone=True)

    def _model_block(self, block: Block, place: int) -> None:
        if isinstance(block, Reasoning):
            self._reasoning(block, place)
        elif isinstance(block, Call):
            self._server_call(block, place)
        elif isinstance(block, Result):
            if block.wire.tag == "tool_result":
                breach = self._machine.result(block.call_id)
                if breach is not None:
                    self._result_breach(breach, block, place)
            else:
                self._server_result(block, place)
        else:
            self._plain_block(block, place)

    def _user_block(self, message: Message, block: Block, place: int) -> None:
        """Anything but a result in a user message."""
        if isinstance(block, Text):
            text = block.text
            self._fresh = True
            self._machine.see(_PROMPT if self._is_spoken(message, place, text) else _NOTE)
            if not (text >= "!" and text.isascii()):
                self._odd_text(text, f"/content/{place}", alone=len(message.content) == 1)
            if block.wire.rest:
                self._mark(block.wire.get("cache_control"), place, text)
        elif isinstance(block, Result):
            self._server_result(block, place)
        elif isinstance(block, Call):
            breach = self._machine.call(block.id, (self._index << PLACE_BITS) + place)
            if breach is not None:
                self._call_breach(breach, block, place)
        else:
            self._machine.see(_PROMPT if message.origin is not None and self._is_human(message, place) else _NOTE)
            if isinstance(block, Reasoning):
                self._reasoning(block, place)
            else:
                self._plain_block(block, place)

    def _other(self, message: Message) -> None:
        """A message of a role that is neither the user's nor the model's."""
        word = message.wire.tag
        blocks = message.blocks
        breach = self._machine.begin(_SYSTEM if message.role == "system" else _USER)
        if breach is not None:
            self._begun(breach, message.role)
        case = None
        if message.role != "system":
            self._machine.see(_PROMPT)
        elif self._machine.state is not State.START:
            kinds = {block.kind if isinstance(block, Opaque) else "" for block in blocks}
            case = "tool-addition" if kinds and kinds <= _TOOL_CHANGES else "mid-history"
        self._report("A-ROLE-02", case, "/role", f"the role is {quote(word)}", "user or assistant; system text stands in the field system")
        for place, block in enumerate(blocks):
            if isinstance(block, Call | Result):
                self._breach(Breach.ROLE, f"/content/{place}", f"a {block.wire.tag} in a message of role {quote(word)}", "no calls or results")
            elif isinstance(block, Text):
                if not block.text or block.text.isspace() or not block.text.isascii():
                    self._odd_text(block.text, f"/content/{place}", alone=len(blocks) == 1)
                self._mark(block.wire.get("cache_control"), place, block.text)
            elif isinstance(block, Media | Opaque):
                self._plain_block(block, place)

    def _is_human(self, message: Message, position: int) -> bool:
        origin = message.origin
        return origin is HUMAN or (isinstance(origin, tuple) and position < len(origin) and origin[position] is HUMAN)

    def _is_spoken(self, message: Message, position: int, text: str) -> bool:
        """Whether a text on the user's side is a person's: it is, unless something says that it is not."""
        if message.origin is not None:
            return self._is_human(message, position)
        if not self._machine.open_count or len(text) > 64 or text.strip().lower() not in MEDIA_MARKERS:
            return True
        return not any(isinstance(block, Media) for block in message.blocks)

    # -- frames ----------------------------------------------------------------------------------------------------

    def _begun(self, breach: Breach, role: str) -> None:
        if breach is Breach.OPEN:
            self._pair_faults += 1
            self.found += self._unanswered(self._machine.abandoned)
        elif breach is Breach.START:
            self._breach(breach, "/role", "the conversation begins with an assistant message", "a user message first")
        elif breach is Breach.ADJACENT:
            side = "assistant" if role == "model" else "user"
            self._breach(breach, "/role", f"another {side} message follows directly on one", "one message, or the other side's between")

    def _settle(self, model_goes_on: bool) -> None:  # noqa: FBT001 - called in one place
        """Decide what waited for the next message."""
        self._waits = False
        if self._empty >= 0:
            self.found.append(self._empty_message(self._empty))
            self._empty = -1
        if model_goes_on:
            self._waits = bool(self._server)
        else:
            if self._trailing >= 0:
                self.found.append(self._ends_in_thinking(self._index - 1))
            if self._machine.open_count:
                self._flying.update(self._server)
            else:
                self.found += [self._server_unanswered(*entry) for entry in self._server.values()]
            self._server.clear()
        self._trailing = -1

    def _empty_message(self, index: int) -> Violation:
        return self._violation("A-EMPTY-03", None, index, "/content", f"message {index} has no content", "content, or no such message")

    def _odd_content(self, text: str) -> None:
        """A user message whose one text is empty, blank, or not plain ASCII."""
        if text:
            self._odd_text(text, "/content", alone=True)
        else:
            self.found.append(self._empty_message(self._index))

    def _ends_in_thinking(self, index: int) -> Violation:
        path = f"/content/{self._trailing}"
        return self._violation("A-THINK-06", None, index, path, f"message {index} ends in thinking", "text or a call behind the thinking")

    def _disorder(self, place: int) -> None:
        self._pair_faults += 1
        self._breach(
            Breach.ORDER,
            f"/content/{place}" if place >= 0 else "/content",
            f"message {self._index} goes on after its calls",
            "nothing but further tool_use blocks after the first; text and thinking before it",
            ids=tuple(key for key, _place in self._machine.open),
        )

    # -- client calls and results ----------------------------------------------------------------------------------

    def _call_breach(self, breach: Breach, block: Call, place: int) -> None:
        path = f"/content/{place}"
        shown = quote(block.id)
        if breach is Breach.ROLE:
            self._breach(breach, path, f"the {block.wire.tag} {shown} stands in a user message", "calls in assistant messages only", ids=(block.id,))
        else:
            where = "in this turn" if breach is Breach.DUPLICATE else "in an earlier turn"
            self._breach(breach, path + "/id", f"the id {shown} was used {where} already", "an id of its own for each call", ids=(block.id,))

    def _check_id(self, key: str, path: str) -> None:
        if not _ID.fullmatch(key):
            self._report("A-ID-02", None, path, f"the id {quote(key)} is not made of a-z, A-Z, 0-9, _ and -", "such an id", ids=(key,))

    def _odd_input(self, key: str, place: int) -> None:
        path = f"/content/{place}/input"
        self._report("A-INPUT-01", None, path, f"the input of the call {quote(key)} is no object", "a JSON object", ids=(key,))

    def _name(self, name: str, path: str) -> None:
        if _NAME.fullmatch(name):
            if len(name) > _NAME_CHARS:
                self._report("A-NAME-01", "up-to-128", path, f"the name {quote(name)} has {len(name)} characters", "at most 64")
            elif len(self._names) < _NAMES_KEPT:
                self._names.add(name)
        else:
            self._report("A-NAME-01", None, path, f"the name {quote(name)} is not 1 to 64 of a-z, A-Z, 0-9, _ and -", "such a name")

    def _argument(self, value: Json, place: int) -> None:
        """Look for half a surrogate pair in an argument, without recursion."""
        rest: list[Json] = [value]
        while rest:
            value = rest.pop()
            if value.__class__ is str:
                if has_lone_surrogate(value):
                    self._lone_surrogate(f"/content/{place}/input")
                    return
            elif value.__class__ is dict:
                rest.extend(value.keys())
                rest.extend(value.values())
            elif value.__class__ is list:
                rest.extend(value)

    def _result_body(self, block: Result, body: str | tuple[Block, ...] | None, place: int) -> None:
        """The content of a result, unless it is plain ASCII."""
        if isinstance(body, str):
            if has_lone_surrogate(body):
                self._lone_surrogate(f"/content/{place}/content")
        elif body:
            self._result_blocks(block, body, place)
        elif body is not None:
            path = f"/content/{place}/content"
            self._report("A-EMPTY-05", None, path, "the result's content is an empty list", "a text, or no content", ids=(block.call_id,))

    def _result_residue(self, block: Result, place: int) -> None:
        self._mark(block.wire.get("cache_control"), place, "x")
        if not block.content and block.is_error:
            path = f"/content/{place}/content"
            self._report("A-EMPTY-06", None, path, "a result says is_error and nothing else", "the error", ids=(block.call_id,))

    def _result_breach(self, breach: Breach, block: Result, place: int) -> None:
        if breach is not Breach.SPLIT:
            self._pair_faults += 1
        key = block.call_id
        path = f"/content/{place}"
        shown = quote(key)
        call = f"message {self._machine.place >> PLACE_BITS}"
        if breach is Breach.STRAY:
            message, expected = f"the result for {shown} answers no call of the assistant message before it", "its call there"
            self._check_id(key, path + "/tool_use_id")
        elif breach is Breach.REPEAT:
            message, expected = f"the call {shown} of {call} is answered twice", "one result for each call"
        elif breach is Breach.SPLIT:
            message, expected = f"the results for {call} stand in several user messages", "all of them in the one behind it"
        elif breach is Breach.BETWEEN:
            message, expected = f"the result for {shown} of {call} stands behind other content", "results first, everything else behind them"
        elif breach is Breach.LATE:
            message, expected = f"the result for {shown} comes after the model went on from {call}", f"it directly behind {call}"
        else:
            message, expected = f"the result for {shown} stands in an assistant message", "results in user messages only"
        self._breach(breach, path, message, expected, ids=(key,))

    def _result_blocks(self, block: Result, content: tuple[Block, ...], place: int) -> None:
        is_error = bool(block.wire.rest) and block.is_error
        for position, part in enumerate(content):
            path = f"/content/{place}/content/{position}"
            if part.__class__ is Text:
                text = part.text
                if not text:
                    self._report("A-EMPTY-01", "in-result", path, "an empty text in a result", "text that is not empty, or no block")
                elif not text.isascii() and has_lone_surrogate(text):
                    self._lone_surrogate(path)
                if part.wire.rest:
                    self._mark(part.wire.get("cache_control"), place, text)
                continue
            word = part.kind if isinstance(part, Opaque) else part.wire.tag
            if is_error:
                self._report("A-IMG-01", None, path, f"a block {quote(word)} in a result that is an error", "text only")
            elif isinstance(part, Opaque) and word not in _IN_RESULT:
                case = None if word in _NOT_IN_RESULT else "unknown-type"
                self._report("A-IMG-01", case, path, f"a block {quote(word)} in a result", "text, image, document, search_result or tool_reference")
            if isinstance(part, Media):
                self._medium(part, path)
                if isinstance(part.source, dict) and part.source.get("type") == "file":
                    self._report("A-SRC-01", None, path, f"the {word} of a result is a file id", "base64, url or text, or the files beta")
                self._mark(part.wire.get("cache_control"), place, "x")
            elif isinstance(part, Opaque):
                self._mark_in(part.value, place)
                if word == "tool_reference":
                    self._tool_reference(part.value, path)

    def _tool_reference(self, value: Json, path: str) -> None:
        name = value.get("tool_name", value.get("name"))
        if self._tools is not None and isinstance(name, str) and name not in self._tools:
            self._report("A-TREF-01", None, path, f"the tool {quote(name)} is referred to and not declared", "its declaration among the tools")

    # -- server tools ----------------------------------------------------------------------------------------------

    def _server_call(self, block: Call, place: int) -> None:
        key = block.id
        self._server[key] = (self._index, place, block)
        self._waits = True
        path = f"/content/{place}"
        if block.wire.tag == "server_tool_use":
            if not _SERVER_ID.fullmatch(key):
                self._report("A-ID-03", None, path + "/id", f"the id {quote(key)} is no server tool's", "srvtoolu_ and letters or digits", ids=(key,))
            if block.name == "advisor" and self._advisor_missing:
                self._report("A-SRV-03", None, path, "a call of the advisor, which is not declared", "the advisor among the tools", ids=(key,))
        if block.wire.rest:
            self._mark(block.wire.get("cache_control"), place, "x")

    def _server_result(self, block: Result, place: int) -> None:
        key = block.call_id
        if self._server.pop(key, None) is None and key not in self._flying:
            rule = "A-MCP-01" if block.wire.tag == "mcp_tool_result" else "A-SRV-02"
            self._report(
                rule, None, f"/content/{place}", f"the {block.wire.tag} for {quote(key)} has no call before it", "its call in the same message", ids=(key,)
            )
        self._flying.discard(key)
        if block.wire.rest:
            self._mark(block.wire.get("cache_control"), place, "x")

    def _server_unanswered(self, index: int, place: int, block: Call) -> Violation:
        rule = "A-MCP-01" if block.wire.tag == "mcp_tool_use" else "A-SRV-01"
        return self._violation(
            rule,
            None,
            index,
            f"/content/{place}",
            f"the {block.wire.tag} {quote(block.id)} has no result in its message",
            "its result behind it in the same assistant message",
            ids=(block.id,),
        )

    # -- other blocks ----------------------------------------------------------------------------------------------

    def _reasoning(self, block: Reasoning, place: int) -> None:
        path = f"/content/{place}"
        if not block.seal:
            self._report("A-THINK-03", None, path, "a thinking block without its signature", "the block as the model returned it, or none")
        if block.wire.rest and block.wire.get("cache_control") is not None:
            self._report("A-CACHE-03", None, path + "/cache_control", "a cache mark on a thinking block", "the mark on another block")
            self._mark(block.wire.get("cache_control"), place, "x")
        if has_lone_surrogate(block.text):
            self._lone_surrogate(path)

    def _plain_block(self, block: Block, place: int) -> None:
        """Media, or a block the model has no word for."""
        path = f"/content/{place}"
        if isinstance(block, Media):
            self._medium(block, path)
            if block.wire.rest:
                self._mark(block.wire.get("cache_control"), place, "x")
        elif isinstance(block, Opaque):
            self._mark_in(block.value, place)
            if block.kind == "compaction":
                self._compaction(block.value, path)

    def _compaction(self, value: Json, path: str) -> None:
        content = value.get("content")
        if content is not None and not (isinstance(content, str) and content):
            self._report("A-COMPACT-01", None, path + "/content", "a compaction block with an empty or odd content", "its text as returned, or null")
        if "encrypted_content" in value and value["encrypted_content"] is None:
            self._report("A-COMPACT-01", None, path + "/encrypted_content", "encrypted_content is null", "no such key")
        if self._pair_faults:
            self._report(
                "A-COMPACT-02", None, path, f"{self._pair_faults} faults stand before a compaction block", "nothing before it: it is ignored, and checked"
            )

    def _medium(self, block: Media, path: str) -> None:
        self._media += 1
        limit = self._profile.media_limit
        if limit is not None and self._media == limit + 1:
            self._report("A-IMG-02", None, path, f"image or document number {self._media}", f"at most {limit}")
        if block.kind != "image":
            return
        self._images += 1
        if self._images == _MANY_IMAGES + 1:
            self.found += [self._too_large(*entry) for entry in self._large]
        size = self._size_of(block)
        if size is None or max(size) <= _MANY_SIDE_PIXELS:
            return
        entry = (self._index, path, size)
        if max(size) > _SIDE_PIXELS or self._images > _MANY_IMAGES:
            self.found.append(self._too_large(*entry))
        else:
            self._large.append(entry)

    def _size_of(self, block: Media) -> tuple[int, int] | None:
        """Width and height; ``_px`` is where a linter's input states them without the picture."""
        stated = block.wire.get("_px") if block.wire.rest else None
        if isinstance(stated, list) and len(stated) == 2 and all(isinstance(side, int) for side in stated):
            return stated[0], stated[1]
        return None if block.data is None else pixel_size(block.data)

    def _too_large(self, index: int, path: str, size: tuple[int, int]) -> Violation:
        limit = _SIDE_PIXELS if max(size) > _SIDE_PIXELS else _MANY_SIDE_PIXELS
        among = "" if limit == _SIDE_PIXELS else f" among more than {_MANY_IMAGES} images"
        message = f"an image of {size[0]} x {size[1]} pixels{among}"
        return self._violation("A-IMG-03", None, index, path, message, f"at most {limit} pixels a side")

    def _odd_text(self, text: str, path: str, *, alone: bool) -> None:
        """A text that is empty, blank, or not plain ASCII."""
        if not text:
            fix = "placeholder-text" if alone else "drop-empty"
            self._report("A-EMPTY-01", None, path, "an empty text block", "text that is not empty, or no block", fix=fix)
        elif text.isspace():
            self._report("A-EMPTY-02", None if alone else "not-alone", path, "a text of nothing but whitespace", "text, or no block")
        elif has_lone_surrogate(text):
            self._lone_surrogate(path)

    def _lone_surrogate(self, path: str) -> None:
        self._report("A-JSON-01", None, path, "the text holds half of a surrogate pair", "whole characters; a cut on code points")

    # -- cache marks -----------------------------------------------------------------------------------------------

    def _mark(self, mark: Json, place: int, text: str) -> None:
        if mark is None:
            return
        if not text:
            self._report("A-CACHE-02", None, f"/content/{place}/cache_control", "a cache mark on an empty text", "the mark on another block")
        self._marks += 1
        limit = self._profile.marks_limit
        if limit is not None and self._marks == limit + 1:
            self._report("A-CACHE-01", None, f"/content/{place}/cache_control", f"cache mark number {self._marks}", f"at most {limit}")

    def _mark_in(self, value: Json, place: int) -> None:
        if isinstance(value, dict):
            self._mark(value.get("cache_control"), place, "x")

    # -- sealed reasoning as it was returned -----------------------------------------------------------------------

    def _compare(self, message: Message) -> None:
        """L5: what is sealed stands as it was returned, or, in a closed turn, not at all."""
        original = self._original.get(self._index)
        if not isinstance(original, list):
            return
        mine, theirs = _sealed_of([_as_json(block) for block in message.blocks]), _sealed_of(original)
        if mine == theirs:
            return
        thinking, returned = ([entry[1:] for entry in blocks if entry[1] in _SEALED] for blocks in (mine, theirs))
        moved = [entry[1] for entry in mine] != [entry[1] for entry in theirs]
        rule, what = ("A-THINK-05", "fallback") if thinking == returned and moved else ("A-THINK-02", "thinking")
        self._altered.append(
            self._violation(
                rule,
                None,
                self._index,
                "/content",
                f"the {what} blocks of message {self._index} are not as the model returned them",
                "all of them, unaltered, at their places",
            )
        )

    # -- the end ---------------------------------------------------------------------------------------------------

    def ending(self, mode: Mode) -> list[Violation]:
        """What it would break to end here.  Nothing changes."""
        found = list(self._altered)
        breach = self._end_breach(mode)
        if breach is Breach.OPEN:
            found += self._unanswered(self._machine.open)
        elif breach is Breach.END:
            found += self._model_speaks_last()
        if self._trailing >= 0:
            found.append(self._ends_in_thinking(self._index))
        if self._thinking == "enabled":
            found += self._opening(mode)
        around = self._around
        limit = self._profile.messages_limit
        if self._index < 0:
            found.append(self._violation("A-EMPTY-04", None, None, "", "there are no messages", "at least one"))
        elif limit is not None and self._index >= limit:
            found.append(self._violation("A-SIZE-02", None, None, "", f"there are {self._index + 1} messages", f"at most {limit}"))
        if around.prompt_tokens is not None and around.window_tokens is not None and around.prompt_tokens > around.window_tokens:
            message = f"the prompt has {around.prompt_tokens} tokens"
            found.append(self._violation("A-SIZE-01", None, None, "", message, f"at most {around.window_tokens}"))
        return found

    def _model_speaks_last(self) -> list[Violation]:
        found = []
        index, last = self._index, self._last
        prefill = {"yes": True, "no": False}.get(self._profile.prefill, takes_prefill(self._around.model))
        named = self._profile.breaches.get(Breach.END)
        if named is not None and not prefill and not self._server:  # a paused answer goes on by itself
            case = "unknown-model" if prefill is None else named[1]
            found.append(
                self._violation(named[0], case, index, "/role", f"message {index}, the last, is the model's", "a user message at the end")
            )
        blocks = () if last is None else last.blocks
        if blocks and isinstance(blocks[-1], Text) and blocks[-1].text[-1:].isspace():
            found.append(
                self._violation("A-END-02", None, index, "/content", f"message {index}, the last, ends in whitespace", "no whitespace at its end")
            )
        if self._thinking in ("disabled", "unsaid") and any(isinstance(block, Reasoning) for block in blocks):
            case = None if self._thinking == "disabled" else "unsaid"
            found.append(
                self._violation("A-THINK-04", case, index, "/content", "the last message thinks, and thinking is off", "no thinking, or thinking on")
            )
        return found

    def _opening(self, mode: Mode) -> list[Violation]:
        """A-THINK-01: the tool loop at the end begins with thinking."""
        speaks_last = self._machine.state is State.MODEL
        rule = self._profile.opening
        if rule is None or self._fresh or self._opens or (mode == "history" if speaks_last else not self._looped):
            return []
        message = f"thinking is enabled, and message {self._first}, which begins this turn, does not begin with it"
        return [self._violation(rule, None, self._first, "/content/0", message, "a thinking or redacted_thinking block first")]

    def _call_path(self, place: int) -> str:
        return f"/content/{place & ((1 << PLACE_BITS) - 1)}"


def _as_json(block: Block) -> Json:
    """As much of a block as tells whether what is sealed was altered."""
    if isinstance(block, Reasoning):
        return {"type": block.wire.tag, "thinking": block.text, "signature": block.seal, "data": block.seal}
    return block.value if isinstance(block, Opaque) else {"type": "other"}


def _sealed_of(blocks: list[Json]) -> list[tuple[bool, str, str, str]]:
    """The sealed and fallback blocks in order: (something else stands before it, type, text, seal)."""
    found = []
    other = False
    for block in blocks:
        kind = block.get("type") if isinstance(block, dict) else None
        if kind in _SEALED and isinstance(block, dict):
            text = str(block.get("thinking", "")) if kind == "thinking" else ""
            seal = str(block.get("signature" if kind == "thinking" else "data"))
            found.append((other, str(kind), text, seal))
            other = False
        elif kind == "fallback":
            found.append((other, "fallback", "", ""))
            other = False
        else:
            other = True
    return found
