"""
Messages in each provider's words.

What this is
    One writer a dialect: how it writes words, media, calls and results, and
    what one message of it holds.  `writer_for` gives it.

Rules it obeys
    * A slot is written as the target's own clients write it: a text alone as a
      string where the dialect has strings, results in the user message or as
      messages of their own.
    * What a writer has to bend is a named loss, as everywhere in this package.
    * A result that is the canonical spelling of a JSON object is that object
      where the dialect has values (Gemini, Bedrock), and comes back as the same
      text.

How it works
    `Beside` is the family in which results stand in user messages, `Apart` the
    one in which they are messages of their own.  A dialect fills in its words.

What is not here
    What stands around the messages: `around`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from ..dialects.reading import dumps, loads
from ..errors import WireError
from ..model import Block, Call, Json, Media, Origin, Result, Text
from ..protocol.profiles import Profile
from ..protocol.signatures import SENTINEL
from .crossing import is_shallow
from .losses import Losses
from .media import DOCUMENTS, address, words_of
from .slots import Piece, Slot, stated

__all__ = ["Template", "Writer", "Written", "writer_for"]

Written: TypeAlias = tuple[Json, "Origin | tuple[Origin, ...] | None"]
"""A message of the target, and the origin of what it was made from, as far as it was stated."""

_NO_WORDS: Final = "(document attached)"
_MARKER: Final = "Attached media from tool result:"
"""Words beside a tool's document, which nobody takes for a person's."""


class Writer:
    """
    Writes slots, one after the other.

    Attributes:
        losses: where what had to be bent is noted.
        instructing: the role of instructions among the messages.
    """

    def __init__(self, losses: Losses) -> None:
        self.losses: Final = losses
        self.instructing = "system"

    def role(self, slot: Slot) -> str:
        """The role of a slot that is not the model's."""
        return self.instructing if slot.side == "system" else "user"

    def write(self, slot: Slot) -> Iterator[Written]:
        """The messages that a slot is."""
        raise NotImplementedError

    def part(self, block: Block) -> Json:
        """Words or a medium, as one part of a content."""
        raise NotImplementedError

    def content(self, blocks: Sequence[Block]) -> Json:
        """Words and media as a content: a string where that is all there is."""
        if len(blocks) == 1 and isinstance(blocks[0], Text):
            return blocks[0].text
        return [self.part(block) for block in blocks]


def _blocks(pieces: Sequence[Piece]) -> list[Block]:
    return [block for block, _origin in pieces]


def _object_of(text: str) -> dict[str, Json] | None:
    """The JSON object of which *text* is the canonical spelling."""
    if not (text.startswith("{") and text.endswith("}")):
        return None
    try:
        value = loads(text)
    except WireError:
        return None
    return value if isinstance(value, dict) and is_shallow(value) and dumps(value) == text else None


# -- results beside words ----------------------------------------------------------------------------------------------


class _Anthropic(Writer):
    """Anthropic Messages."""

    def write(self, slot: Slot) -> Iterator[Written]:
        role = "assistant" if slot.side == "model" else "user"
        yield {"role": role, "content": self.content(_blocks(slot.pieces))}, stated(slot.pieces)

    def part(self, block: Block) -> Json:
        if isinstance(block, Call):
            return {"type": "tool_use", "id": block.id, "name": block.name, "input": block.arguments}
        if isinstance(block, Result):
            content = block.content if isinstance(block.content, str) else self.content(block.blocks)
            made = {"type": "tool_result", "tool_use_id": block.call_id, "content": content}
            return {**made, "is_error": True} if block.is_error else made
        if isinstance(block, Media):
            made = {"type": block.kind, "source": self._source(block)}
            return {**made, "title": block.source} if block.kind == "document" and block.source else made
        return {"type": "text", "text": _text(block)}

    @staticmethod
    def _source(media: Media) -> Json:
        if media.data is None:
            return {"type": "url", "url": media.url}
        if media.mime == "text/plain":
            return {"type": "text", "media_type": media.mime, "data": words_of(media)}
        return {"type": "base64", "media_type": media.mime, "data": media.data}


class _Bedrock(Writer):
    """Bedrock Converse."""

    def __init__(self, losses: Losses) -> None:
        super().__init__(losses)
        self._names: set[str] = set()

    def write(self, slot: Slot) -> Iterator[Written]:
        blocks = _blocks(slot.pieces)
        parts = [self.part(block) for block in blocks]
        origin = stated(slot.pieces)
        has_document = any(isinstance(block, Media) and block.kind == "document" for block in blocks)
        if has_document and not any(isinstance(block, Text) for block in blocks):  # rule B-DOC-01
            is_attached = all(known is Origin.ATTACHMENT for block, known in slot.pieces if isinstance(block, Media))
            parts.append({"text": _MARKER if is_attached else _NO_WORDS})
            origin = origin if isinstance(origin, Origin) else None
            self.losses.at("added", slot.position, "words were put beside a document, which may not stand alone")
        yield {"role": "assistant" if slot.side == "model" else "user", "content": parts}, origin

    def part(self, block: Block) -> Json:
        if isinstance(block, Call):
            return {"toolUse": {"toolUseId": block.id, "name": block.name, "input": block.arguments}}
        if isinstance(block, Result):
            made = {"toolUseId": block.call_id, "content": [self._inner(part) for part in block.blocks if part != Text("")]}
            return {"toolResult": {**made, "status": "error"} if block.is_error else made}
        if isinstance(block, Media):
            source = {"bytes": block.data}
            if block.kind == "document":
                style = DOCUMENTS.get(block.mime, "txt")
                return {"document": {"format": style, "name": self._name(block.source), "source": source}}
            return {block.kind: {"format": block.mime.partition("/")[2], "source": source}}
        return {"text": _text(block)}

    def _inner(self, part: Block) -> Json:
        value = _object_of(part.text) if isinstance(part, Text) else None
        return self.part(part) if value is None else {"json": value}

    def _name(self, title: Json) -> str:
        """A name of the characters that Bedrock allows; no two documents may have the same."""
        wanted = re.sub(r"\s+", " ", re.sub(r"[^a-zA-Z0-9\s\-()\[\]]", "-", str(title or "")))[:190].strip()
        name = wanted or _nth_document(len(self._names) + 1)
        number = len(self._names) + 1
        while name in self._names:
            number += 1
            name = f"{wanted} {number}".strip()
        self._names.add(name)
        return name


def _nth_document(number: int) -> str:
    return f"document-{number}"


class _Gemini(Writer):
    """Gemini's generateContent."""

    def __init__(self, losses: Losses) -> None:
        super().__init__(losses)
        self._names: dict[str, str] = {}  # id -> the name of the call that had it last
        self._position = 0

    def write(self, slot: Slot) -> Iterator[Written]:
        self._position = slot.position
        parts = [self.part(block) for block in _blocks(slot.pieces)]
        first = next((part for part in parts if "functionCall" in part), None)
        if first is not None:  # a call that Gemini did not make; only the first of a step is signed
            first["thoughtSignature"] = SENTINEL
        yield {"role": "model" if slot.side == "model" else "user", "parts": parts}, stated(slot.pieces)

    def part(self, block: Block) -> Json:
        if isinstance(block, Call):
            self._names[block.id] = block.name
            return {"functionCall": {"id": block.id, "name": block.name, "args": block.arguments}}
        if isinstance(block, Result):
            made = {"id": block.call_id, "name": self._names.get(block.call_id, block.call_id), "response": self._response(block)}
            media = [self.part(part) for part in block.blocks if isinstance(part, Media)]
            return {"functionResponse": {**made, "parts": media} if media else made}
        if isinstance(block, Media):
            kind = {"mimeType": block.mime} if block.mime else {}
            if not kind and block.kind != "document":
                self.losses.at("field", self._position, f"nothing says any more that a medium is of the kind {block.kind}")
            if block.data is None:
                return {"fileData": {**kind, "fileUri": block.url}}
            return {"inlineData": {**kind, "data": block.data}}
        return {"text": _text(block)}

    def _response(self, result: Result) -> Json:
        blocks = result.blocks
        texts = [part.text for part in blocks if isinstance(part, Text)]
        if len(texts) > 1:
            self.losses.at("grouping", self._position, "several texts of a result are one now")
        if any(isinstance(part, Media) for part in blocks[:-1]) and isinstance(blocks[-1], Text):
            self.losses.at("order", self._position, "the media of a result stand behind its words now")
        text = "\n".join(texts)
        value = _object_of(text) if not result.is_error else None
        if value is not None and not (len(value) == 1 and isinstance(next(iter(value.values())), str)):
            return value
        return {"error" if result.is_error else "output": text}


# -- results apart -----------------------------------------------------------------------------------------------------


class _Chat(Writer):
    """OpenAI Chat Completions, and Mistral's dialect of it."""

    is_mistral = False

    def write(self, slot: Slot) -> Iterator[Written]:
        if slot.side == "model":
            yield self._model(_blocks(slot.pieces)), None
        elif slot.has_results:
            for block, origin in slot.pieces:
                if isinstance(block, Result):
                    content = block.content if isinstance(block.content, str) else self.content(block.blocks)
                    yield {"role": "tool", "tool_call_id": block.call_id, "content": content}, origin
        else:
            yield {"role": self.role(slot), "content": self.content(_blocks(slot.pieces))}, stated(slot.pieces)

    def _model(self, blocks: list[Block]) -> Json:
        calls = [block for block in blocks if isinstance(block, Call)]
        words = [block for block in blocks if not isinstance(block, Call)]
        made: dict[str, Json] = {"role": "assistant"}
        if words or not self.is_mistral:
            made["content"] = self.content(words) if words else None
        if calls:
            made["tool_calls"] = [
                {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
                for call in calls
            ]
        return made

    def part(self, block: Block) -> Json:
        if not isinstance(block, Media):
            return {"type": "text", "text": _text(block)}
        if block.kind == "image":
            return {"type": "image_url", "image_url": {"url": address(block)}}
        if block.kind == "audio":
            return {"type": "input_audio", "input_audio": {"data": block.data, "format": block.mime.partition("/")[2]}}
        name = block.source or f"document.{DOCUMENTS.get(block.mime, 'pdf')}"
        return {"type": "file", "file": {"filename": name, "file_data": address(block)}}


class Template(_Chat):
    """OpenAI Chat for a chat template, in which a message is one string where it holds nothing but words."""

    def write(self, slot: Slot) -> Iterator[Written]:
        for message, origin in super().write(slot):
            is_string = isinstance(message.get("content"), str)
            yield message, _one_origin(origin) if is_string and isinstance(origin, tuple) else origin

    def content(self, blocks: Sequence[Block]) -> Json:
        if all(isinstance(block, Text) for block in blocks):
            return "\n\n".join(map(_text, blocks))
        return super().content(blocks)


def _one_origin(origins: tuple[Origin, ...]) -> Origin:
    """The origin of one text that holds words of all these: a person's, if any are; else a tool's."""
    return next((one for one in (Origin.HUMAN, Origin.UNKNOWN, Origin.TOOL, Origin.ATTACHMENT) if one in origins), origins[0])


class _Mistral(_Chat):
    """Mistral's chat completions."""

    is_mistral = True

    def part(self, block: Block) -> Json:
        if isinstance(block, Media) and block.kind == "document":
            return {"type": "document_url", "document_url": address(block)}
        if isinstance(block, Media) and block.kind == "audio":
            return {"type": "input_audio", "input_audio": block.data if block.data is not None else block.url}
        return super().part(block)


class _Responses(Writer):
    """OpenAI Responses: items."""

    def __init__(self, losses: Losses) -> None:
        super().__init__(losses)
        self._is_model = False  # whether the item before is the model's

    def write(self, slot: Slot) -> Iterator[Written]:
        blocks = _blocks(slot.pieces)
        if slot.side == "model":
            yield from self._model(slot, blocks)
        elif slot.has_results:
            for block, origin in slot.pieces:
                if isinstance(block, Result):
                    output = block.content if isinstance(block.content, str) else self.content(block.blocks)
                    yield {"type": "function_call_output", "call_id": block.call_id, "output": output}, origin
        else:
            yield {"role": self.role(slot), "content": self.content(blocks)}, stated(slot.pieces)
        self._is_model = slot.side == "model"

    def _model(self, slot: Slot, blocks: list[Block]) -> Iterator[Written]:
        calls = [block for block in blocks if isinstance(block, Call)]
        words = [block for block in blocks if isinstance(block, Text)]
        if self._is_model and calls and not words:
            self.losses.at("grouping", slot.position, "its calls belong to the model's message before it now")
        if len(words) == 1:
            yield {"role": "assistant", "content": words[0].text}, None
        elif words:
            parts = [{"type": "output_text", "text": block.text} for block in words]
            yield {"type": "message", "role": "assistant", "content": parts}, None
        for call in calls:
            yield {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.arguments}, None

    def part(self, block: Block) -> Json:
        if not isinstance(block, Media):
            return {"type": "input_text", "text": _text(block)}
        if block.kind == "image":
            return {"type": "input_image", "image_url": address(block)}
        if block.data is None:
            return {"type": "input_file", "file_url": block.url}
        name = block.source or f"document.{DOCUMENTS.get(block.mime, 'pdf')}"
        return {"type": "input_file", "filename": name, "file_data": address(block)}


def _text(block: Block) -> str:
    return block.text if isinstance(block, Text) else ""


_WRITERS: Final[Mapping[str, Callable[[Losses], Writer]]] = {
    "anthropic": _Anthropic,
    "openai-chat": _Chat,
    "openai-responses": _Responses,
    "gemini": _Gemini,
    "bedrock": _Bedrock,
    "mistral": _Mistral,
}


def writer_for(target: Profile, losses: Losses) -> Writer:
    """The writer for a route."""
    writer = _WRITERS[target.dialect](losses)
    if "system" not in target.roles:
        writer.instructing = "developer"
    return writer
