"""
Amazon Bedrock's Converse API, message by message.

What this is
    The `Reader` of dialect ``bedrock``: which events a message is, and every
    B-rule about what a message contains.

How it works
    *Sides.*  Messages hold blocks, as Anthropic's do, and neighbours of one
    side are joined before they are judged; only the results of a batch have to
    stand in one message (B-PAIR-02).

    *Families.*  Bedrock serves the models of many makers, and some rules hold
    for some of them only.  The body does not name the model: it stands in the
    address.  It is looked for under ``modelId`` (as AWS's libraries pass it)
    and ``model``, then in the profile; where it is not known, a rule that
    depends on it is judged as the recorded bodies without a name allow.

    *Server tools.*  A tool that Bedrock runs is called and answered within the
    assistant's turn; such pairs never meet the automaton.

What is not here
    System blocks and names of declared tools (`request`), and the levels
    (`rules`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from ..model import Block, Call, Media, Message, Opaque, Origin, Reasoning, Result, Text
from .automaton import Breach, Event
from .profiles import BEDROCK_FAMILIES, MEDIA_MARKERS, Profile, bedrock_family, takes_prefill
from .reader import NEXT, PLACE_BITS, Around, Mode, Reader, reads_like_harness
from .violation import Violation, quote

__all__ = ["BedrockReader"]

_SYSTEM, _USER, _MODEL = map(int, (Event.SYSTEM, Event.USER, Event.MODEL))
_PROMPT, _NOTE, _WORDS = map(int, (Event.PROMPT, Event.NOTE, Event.WORDS))
_HUMAN: Final = Origin.HUMAN

_ID: Final = re.compile(r"[a-zA-Z0-9_.:-]{1,64}")
_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_NAMES_KEPT: Final = 4096  # hostile input must not grow the memo without bound
_MARKER_CHARS: Final = 64

# Members that are known and do not belong into a result; what is in no table may be newer than this one.
_NOT_IN_RESULT: Final = frozenset(
    {"audio", "cachePoint", "citationsContent", "guardContent", "reasoningContent", "toolResult", "toolUse"}
)
_IN_RESULT: Final = frozenset({"searchResult"})
_RESULTS, _OTHERS = 1, 2  # what a user's turn holds, as bits


class BedrockReader(Reader):
    """Reads the messages of Amazon Bedrock's Converse API."""

    def __init__(self, profile: Profile, around: Around) -> None:
        super().__init__(profile, around)
        conversation = around.conversation
        named = conversation.setting("modelId")
        self._model = named if isinstance(named, str) and named else around.model or profile.model
        self._family = family = bedrock_family(self._model)
        traits = BEDROCK_FAMILIES.get(family or "", frozenset())
        self._alone = "results-alone" in traits or "B-COLOC-01" in profile.demands
        self._start_case = "anthropic" if "assistant-first" in traits else "unnamed" if family is None else None
        self._order_case = "anthropic" if family == "anthropic" else None
        self._takes_s3 = "s3" in traits
        self._takes_signatures = family is None or "signatures" in traits
        config = conversation.setting("toolConfig")
        self._undeclared = conversation.envelope.fields is not None and config is None
        self._names: set[str] = set()  # names that were found good
        self._servers: dict[str, tuple[int, int]] = {}  # calls of server tools without a result yet: id -> (message, position)
        self._spoke = -1  # the first message that holds something else than results while calls are open
        self._turn = 0  # what the user's turn holds
        self._looked = -1  # the message that was last looked through for media
        self._has_media = False

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
            if isinstance(content, str):
                content = message.blocks  # made by hand
            if role == "model":
                breach = begin(_MODEL, at)
                if breach is not None:
                    self._begun(breach, message)
                self._spoke = -1
                self._turn = 0
                calling = bool(machine.waiting)  # whether calls stand before
                for place, block in enumerate(content):
                    if isinstance(block, Text):
                        text = block.text
                        # what begins with a visible ASCII character is neither empty nor blank
                        if not (text >= "!" and text.isascii()):
                            self._odd_text(content, place)
                    elif isinstance(block, Call) and block.wire.tag == "toolUse":
                        key = block.id
                        calling = True
                        breach = call(key, place)
                        if breach is not None:
                            self._call_breach(breach, key, place)
                        # an identifier in ASCII is a legal id, and asking is cheap
                        if not (len(key) <= 64 and ((key.isidentifier() and key.isascii()) or _ID.fullmatch(key))):
                            self._bad_id(key, f"/content/{place}/toolUse/toolUseId")
                        if block.name not in names:
                            self._name(block.name, f"/content/{place}/toolUse/name")
                        if block.arguments.__class__ is not dict:
                            self._odd_input(block, place)
                        if self._undeclared:
                            self._no_config(f"/content/{place}")
                        continue
                    else:
                        self._model_block(block, place)
                        if isinstance(block, Call | Result):
                            continue
                    if calling:
                        calling = False  # once for each run of other blocks
                        if see(_WORDS) is not None:
                            self._disorder(place)
                if self._alone:
                    self._beside_calls(content)
            elif role == "user":
                if self._servers:
                    self._settle()
                breach = begin(_USER, at)
                if breach is not None:
                    self._begun(breach, message)
                document = -1
                for place, block in enumerate(content):
                    if isinstance(block, Result):
                        breach = result(block.call_id)
                        if breach is not None:
                            self._result_breach(breach, block.call_id, place)
                        body = block.content
                        if body and not isinstance(body, str):
                            for position, part in enumerate(body):
                                if not (isinstance(part, Text) and part.text >= "!" and part.wire.tag == "text"):
                                    self._result_part(part, f"/content/{place}/toolResult/content/{position}")
                        else:
                            self._no_body(block, place)
                        if self._undeclared:
                            self._no_config(f"/content/{place}")
                    elif isinstance(block, Text):
                        text = block.text
                        spoken = not machine.waiting or self._is_spoken(message, place, text)
                        see(_PROMPT if spoken else _NOTE)
                        if machine.waiting and self._spoke < 0:
                            self._spoke = at >> PLACE_BITS
                        if not (text >= "!" and text.isascii()):
                            self._odd_text(content, place)
                    else:
                        self._user_block(message, block, place)
                        if document < 0 and isinstance(block, Media) and block.kind == "document":
                            document = place
                if document >= 0 and not any(isinstance(block, Text) for block in content):
                    words = f"message {self.index} has a document and no text"
                    self.report("B-DOC-01", f"/content/{document}", words, "a text block beside the document")
                if self._alone:
                    self._beside_results(content)
            else:
                self._other(message, content, at)
            if not content:
                self.report("B-EMPTY-01", "/content", f"message {self.index} has no content", "content, or no such message")
        self.last = message or self.last

    # -- frames ----------------------------------------------------------------------------------------------------

    def _begun(self, breach: Breach, message: Message) -> None:
        if breach is Breach.OPEN:
            self.found += self._unanswered(self.machine.abandoned)
        elif breach is Breach.START:
            calls = any(isinstance(block, Call) for block in message.blocks)
            case = None if calls and self._start_case == "unnamed" else self._start_case
            words = "the conversation begins with an assistant message"
            self.report(self.profile.breaches[breach][0], "/role", words, "a user message first", case=case)
        else:
            side = "assistant" if message.role == "model" else "user"
            words = f"another {side} message follows directly on one"
            self.breach(breach, "/role", words, "one message, or one of the other side between")

    def _settle(self) -> None:
        """The model's turn is over, and calls of server tools have no result."""
        for key, (index, place) in self._servers.items():
            words = f"the call {quote(key)} of a server tool has no result in its message"
            expected = "its result behind it in the same assistant message"
            self.found.append(
                self.violation("B-PAIR-01", index, self._call_path(place), words, expected, case="server", ids=(key,))
            )
        self._servers.clear()

    def _other(self, message: Message, content: tuple[Block, ...], at: int) -> None:
        """A message of a role that is neither the user's nor the model's."""
        word = message.wire.tag
        is_system = message.role == "system"
        self.machine.begin(_SYSTEM if is_system else _USER, at)
        if not is_system:
            self.machine.see(_PROMPT)
        expected = "user or assistant; system text stands in the field system"
        self.report("B-ROLE-02", "/role", f"the role is {quote(word)}", expected, case="system" if is_system else None)
        for place, block in enumerate(content):
            if isinstance(block, Text):
                self._odd_text(content, place)
            elif isinstance(block, Call | Result):
                self._misplaced(f"/content/{place}", f"a call or a result stands in a message of role {quote(word)}")

    # -- blocks ----------------------------------------------------------------------------------------------------

    def _model_block(self, block: Block, place: int) -> None:
        """Anything of the model's but a text or a client call."""
        if isinstance(block, Call):
            self._servers[block.id] = self.index, place
        elif isinstance(block, Result):
            if self._servers.pop(block.call_id, None) is None:
                if block.is_client:
                    breach = self.machine.result(block.call_id)
                    if breach is not None:
                        self._result_breach(breach, block.call_id, place)
                else:
                    shown = quote(block.call_id)
                    words = f"the result of a server tool for {shown} has no call before it"
                    expected = "its call before it in the same message"
                    self.report("B-PAIR-03", f"/content/{place}", words, expected, ids=(block.call_id,))
        else:
            self._plain_block(block, place)
            return
        if self._undeclared:
            self._no_config(f"/content/{place}")

    def _user_block(self, message: Message, block: Block, place: int) -> None:
        """Anything of the user's but a text or a result."""
        if isinstance(block, Call):
            path = f"/content/{place}"
            if block.is_client:
                self.machine.call(block.id, place)
            self._misplaced(path, f"the call {quote(block.id)} stands in a user message", block.id)
            return
        if not (isinstance(block, Opaque) and block.kind == "cachePoint"):
            self.machine.see(_PROMPT if message.origin is not None and _is_human(message, place) else _NOTE)
            if self.machine.waiting and self._spoke < 0:
                self._spoke = self.index
        self._plain_block(block, place)

    def _plain_block(self, block: Block, place: int) -> None:
        """What holds for a block wherever it stands."""
        path = f"/content/{place}"
        if isinstance(block, Media):
            self._source(block, path)
        elif isinstance(block, Reasoning) and block.wire.tag == "reasoningText":
            if block.seal is None or self._takes_signatures:
                return
            path += "/reasoningContent/reasoningText/signature"
            words = f"reasoning with a signature goes to a model of {self._family}"
            self.report("B-SIG-01", path, words, "no signature, or a model of anthropic")

    def _source(self, block: Media, path: str) -> None:
        if not self._takes_s3 and isinstance(block.source, dict) and "s3Location" in block.source:
            words = f"the bytes of the {block.kind} are in S3"
            self.report("B-SRC-01", f"{path}/{block.kind}/source", words, "the bytes themselves", case=self._order_case)

    def _is_spoken(self, message: Message, place: int, text: str) -> bool:
        """Whether a text behind open calls is a person's: it is, unless something says that it is not."""
        if message.origin is not None:
            return _is_human(message, place)
        if reads_like_harness(text):
            return False
        if len(text) > _MARKER_CHARS or text.strip().lower() not in MEDIA_MARKERS:
            return True
        if self._looked != self.index:  # once for each message, however many such texts it has
            self._looked = self.index
            self._has_media = any(isinstance(block, Media) for block in message.blocks)
        return not self._has_media

    def _odd_text(self, content: tuple[Block, ...], place: int) -> None:
        """A text that is empty, blank, or not plain ASCII."""
        block = content[place]
        if isinstance(block, Text) and block.wire.tag == "text" and (not block.text or block.text.isspace()):
            beside = content[max(place - 1, 0) : place + 2]
            case = "beside-mark" if any(isinstance(one, Opaque) and one.kind == "cachePoint" for one in beside) else None
            fix = "placeholder-text" if len(content) == 1 else "drop-empty"
            words = "a text of nothing but whitespace" if block.text else "an empty text"
            self.report("B-BLANK-01", f"/content/{place}/text", words, "text, or no such block", case=case, fix=fix)

    # -- calls and results -----------------------------------------------------------------------------------------

    def _call_breach(self, breach: Breach, key: str, place: int) -> None:
        words = f"the id {quote(key)} was used in this message already"
        expected = "an id of its own for each call"
        self.breach(breach, f"/content/{place}/toolUse/toolUseId", words, expected, ids=(key,))

    def _misplaced(self, path: str, words: str, *ids: str) -> None:
        self.report("B-ROLE-01", path, words, "calls in assistant messages, results in user messages", ids=ids)

    def _disorder(self, place: int) -> None:
        rule, _case = self.profile.breaches[Breach.ORDER]
        words = f"message {self.index} goes on after its calls"
        expected = "nothing but further toolUse blocks after the first"
        self.report(rule, f"/content/{place}", words, expected, case=self._order_case)

    def _result_breach(self, breach: Breach, key: str, place: int) -> None:
        path = f"/content/{place}"
        shown = quote(key)
        call = f"message {self.machine.place >> PLACE_BITS}"
        if breach is Breach.STRAY:
            words, expected = f"the result for {shown} answers no call of the assistant message before it", "its call there"
        elif breach is Breach.REPEAT:
            words, expected = f"the call {shown} of {call} is answered twice", "one result for each call"
        elif breach is Breach.SPLIT:
            words, expected = f"the results for {call} stand in several user messages", "all of them in the one behind it"
        elif breach is Breach.BETWEEN:
            words = f"the result for {shown} of {call} stands behind other content"
            if self._spoke == self.index:
                expected = "results first, the rest behind them"
                self.report("B-ORDER-01", path, words, expected, case=self._order_case, ids=(key,))
                return
            expected = f"it in the one user message directly behind {call}"
        elif breach is Breach.LATE:
            words, expected = f"the result for {shown} comes after the model went on from {call}", f"it directly behind {call}"
        else:
            words, expected = f"the result for {shown} stands in an assistant message", "results in user messages only"
        self.breach(breach, path, words, expected, ids=(key,))

    def _no_config(self, path: str) -> None:
        self._undeclared = False  # once
        words = "the messages hold toolUse or toolResult, and the request has no toolConfig"
        self.report("B-TOOLCFG-01", path, words, "a toolConfig, or no such blocks")

    def _bad_id(self, key: str, path: str) -> None:
        words = f"the id {quote(key)} is not 1 to 64 of a-z, A-Z, 0-9, _, ., : and -"
        self.report("B-ID-02", path, words, "such an id", ids=(key,))

    def _name(self, name: str, path: str) -> None:
        if not _NAME.fullmatch(name):
            words = f"the name {quote(name)} is not 1 to 64 of a-z, A-Z, 0-9, _ and -"
            self.report("B-NAME-01", path, words, "such a name")
        elif len(self._names) < _NAMES_KEPT:
            self._names.add(name)

    def _odd_input(self, block: Call, place: int) -> None:
        path = f"/content/{place}/toolUse" + ("/input" if "input" in block.wire.keys else "")
        words = f"the input of the call {quote(block.id)} is no object"
        self.report("B-INPUT-01", path, words, "a JSON object", ids=(block.id,))

    def _no_body(self, block: Result, place: int) -> None:
        path = f"/content/{place}/toolResult"
        if block.content is None:
            self.report("B-EMPTY-02", path, "a result has no content", "a list, perhaps empty", ids=(block.call_id,))
        elif block.is_error and not block.content:
            words = "a result says that it is an error and nothing else"
            self.report("B-EMPTY-02", f"{path}/content", words, "the error", ids=(block.call_id,))

    def _result_part(self, part: Block, path: str) -> None:
        """A part of a result, unless it is plain text."""
        if isinstance(part, Text):
            tag = part.wire.tag
            if tag == "json":
                if part.wire.get(tag).__class__ is not dict:
                    self.report("B-JSON-01", f"{path}/json", "the json of a result is no object", "an object, or a text")
            elif tag != "text":
                self._not_in_result(tag, path)
            elif not part.text or part.text.isspace():
                self.report("B-BLANK-01", f"{path}/text", "a blank text in a result", "text", case="in-result")
            return
        word = part.kind if isinstance(part, Opaque | Media) else "odd"
        if isinstance(part, Media) and word not in ("video", "audio"):
            self._source(part, path)
        elif word not in _IN_RESULT:
            self._not_in_result(word, path)

    def _not_in_result(self, word: str, path: str) -> None:
        case = None if word in _NOT_IN_RESULT or word in ("video", "audio") else "unknown-type"
        expected = "text, json, image, document or searchResult"
        self.report("B-MEDIA-01", path, f"a block {quote(word)} in a result", expected, case=case)

    # -- what may stand beside calls and results -------------------------------------------------------------------

    def _beside_calls(self, content: tuple[Block, ...]) -> None:
        calls = sum(isinstance(block, Call) for block in content)
        if calls and any(not isinstance(block, Call | Result | Reasoning) for block in content):
            words = f"message {self.index} has words beside its calls"
            self.report("B-COLOC-01", "/content", words, "calls alone", case="calls", fix="move-words")

    def _beside_results(self, content: tuple[Block, ...]) -> None:
        before = self._turn
        for block in content:
            self._turn |= _RESULTS if isinstance(block, Result) else _OTHERS
        if self._turn == _RESULTS | _OTHERS != before:
            words = f"the user's turn that ends in message {self.index} has results and other content"
            self.report("B-COLOC-01", "/content", words, "results alone, the rest behind an assistant message")

    # -- the end ---------------------------------------------------------------------------------------------------

    def ending(self, mode: Mode) -> list[Violation]:
        """What it would break to end here.  Nothing changes."""
        found = self._sizes("B-SIZE-01")
        breach = self._end_breach(mode)
        if breach is Breach.OPEN:
            found += self._unanswered(self.machine.open)
        elif breach is Breach.END:
            found += self._model_speaks_last()
        if self.index < 0:
            rule, _case = self.profile.breaches[Breach.START]
            found.append(self.violation(rule, None, "", "there are no messages", "a user message", fix="append-user"))
        return found

    def _model_speaks_last(self) -> list[Violation]:
        index = self.index
        prefill = {"yes": True, "no": False}.get(self.profile.prefill, takes_prefill(self._model))
        if self.around.tools:
            prefill = False
        if prefill:
            return []
        rule, usual = self.profile.breaches[Breach.END]
        words = f"message {index}, the last, is the model's" + (", and tools are declared" if self.around.tools else "")
        case = "unknown-model" if prefill is None else usual
        return [self.violation(rule, index, "/role", words, "a user message at the end", case=case)]

    def _call_path(self, position: int) -> str:
        return f"/content/{position}/toolUse"


def _is_human(message: Message, place: int) -> bool:
    """Whether a block's stated origin is a person."""
    origin = message.origin
    if isinstance(origin, tuple):
        return place < len(origin) and origin[place] is _HUMAN
    return origin is _HUMAN
