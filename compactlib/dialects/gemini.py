"""
Google's Gemini API (generateContent): wire shape <-> model.

Grammar (what is read; all else is a `WireError`)

    body     = {"contents": [content*], "systemInstruction"?: content, "tools"?: [tool*], ...}
    content  = {"role"?: string, "parts"?: [part*] | part | null, ...}
    part     = {DATA: value, "thoughtSignature"?: string, "thought"?: boolean, ...}
    call     = {"name"?: string, "id"?: string, "args"?: object, ...}       under functionCall
    response = {"name"?: string, "id"?: string, "response"?: object, "parts"?: [part*], ...}
    tool     = {"functionDeclarations": [{"name": string, ...}*]} | {DATA: value}

Every two-word key may be written ``likeThis`` or ``like_this``.

How it maps
    * A content is one message.  The role ``function`` is `tool`; a content
      without a role is a person's, as the API takes it.
    * ``functionCall`` is a `Call`, ``functionResponse`` a `Result`.  An id on
      the wire is optional: where there is none, the tool's name is the key of
      both, so that calls of one name pair with their responses in order.
    * A response that is one string under one key (``{"output": "..."}``) is
      that string; any other is its JSON spelled out.  Media beside it follow.
    * A text with ``thought: true`` is `Reasoning`, its signature the seal.  A
      signature on any other part is residue and never leaves its part.
    * What Google runs by itself (``executableCode``, ``toolCall`` and their
      results) is calls and results inside the model's content.
    * ``inlineData`` and ``fileData`` are `Media`.  Every other part is `Opaque`.

What is not here
    What is legal (`protocol`), counting calls and responses among it.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from typing import Final, TypeAlias

from ..errors import WireError
from ..model import (
    Block,
    Call,
    Json,
    Media,
    Message,
    Opaque,
    Reasoning,
    Result,
    Role,
    Text,
    Tool,
    Wire,
    new_call,
    new_message,
    new_result,
    new_text,
    new_wire,
    wire,
)  # fmt: skip
from .shapes import (
    ShapeError,
    Take,
    blocks_of,
    is_spelled,
    kind_of,
    objects_of,
    shape_of,
    shape_of_nested,
    spell,
    string,
    write,
    write_nested,
)

__all__ = ["NAME", "parse_messages", "parse_system", "parse_tools", "render_message"]

NAME: Final = "gemini"

_Reader: TypeAlias = Callable[[dict[str, Json], str, Json, Take], Block]
_ROLES: Final[dict[str, Role]] = {"": "user", "user": "user", "model": "model", "function": "tool"}
_MESSAGE_KEYS: Final = frozenset({"role", "parts"})
_SIGNATURES: Final = ("thoughtSignature", "thought_signature")
_CALLS: Final = {  # the wire's word for a call -> the key of its arguments, and the keys that the model has words for
    "functionCall": ("args", frozenset({"id", "name", "args"})),
    "function_call": ("args", frozenset({"id", "name", "args"})),
    "executableCode": ("code", frozenset({"id", "code"})),
    "executable_code": ("code", frozenset({"id", "code"})),
    "toolCall": ("args", frozenset({"id", "args"})),
    "tool_call": ("args", frozenset({"id", "args"})),
}
_RESULTS: Final = {  # the wire's word for a result -> the key of what came out
    "functionResponse": "response",
    "function_response": "response",
    "codeExecutionResult": "output",
    "code_execution_result": "output",
    "toolResponse": "response",
    "tool_response": "response",
}
_BY_ID: Final = {word: frozenset({"id", key, "parts"}) for word, key in _RESULTS.items()}
_BY_NAME: Final = {word: frozenset({"name", key, "parts"}) for word, key in _RESULTS.items()}
_MEDIA: Final = frozenset({"inlineData", "inline_data", "fileData", "file_data"})
_NOTHING: Final[frozenset[str]] = frozenset()
_KINDS: Final = {"image": "image", "audio": "audio", "video": "video", "application": "document", "text": "document"}
_TEXT: Final = wire("text", ("text",))
_STRING: Final = wire("string")
_NEUTRAL: Final = Text("").wire  # of words that were made here, not read
_MADE: Final = wire("user", ("role", "content"))  # of a message likewise


# Shapes of what nearly all contents, calls and responses are, without residue.  A key that tells two of them apart is looked
# up at once, where all keys would have to be gathered first.
_CONTENTS: Final = {
    word: (role, wire(word, ("role", "parts")), wire(word, ("parts", "role"))) for word, role in _ROLES.items() if word
}
"""The wire's word for a role -> the role, and the shape with the role first and with the parts first."""
_PLAIN_CALLS: Final[dict[tuple[str, ...], Wire]] = {
    keys: wire("functionCall", ("functionCall", *keys))
    for keys in (("name", "args"), ("args", "name"), *permutations(("id", "name", "args")))
}
"""The keys of a call -> its shape."""
_SIGNED_CALLS: Final = {
    keys: (("functionCall", "thoughtSignature", *keys), ("thoughtSignature", "functionCall", *keys)) for keys in _PLAIN_CALLS
}
"""The keys of a call -> those of a part with it, and a signature behind or before it."""
_PLAIN_RESPONSES: Final[dict[tuple[str, ...], dict[str, Wire]]] = {
    keys: {} for keys in (("name", "response"), ("response", "name"), *permutations(("id", "name", "response")))
}
"""The keys of a response -> by its name, which is residue where it has an id, its shape."""
_MEMBERS: Final[dict[str, Wire]] = {}
"""The one key of a response's object -> the shape of its words."""
_SHAPES_KEPT: Final = 1024  # hostile input must not grow the tables without bound


def parse_messages(raw: list[Json], take: Take) -> list[Message]:
    """
    The contents of a body.

    Raises:
        WireError: with the path of the first wrong shape.
    """
    messages: list[Message] = []
    append = messages.append
    blocks: list[Block] | None = None  # those of the content being read
    try:
        for item in raw:
            blocks = None
            if item.__class__ is not dict:
                raise ShapeError("", f"a content is an object, not {kind_of(item)}")
            role, parts = item.get("role"), item.get("parts")
            if role.__class__ is not str or parts.__class__ is not list or len(item) != 2:
                append(_parse_odd_message(item, role, parts, take))
                continue
            blocks = []
            for part in parts:
                blocks.append(_parse_part(part, take))
            known = _CONTENTS.get(role)
            if known is None:
                append(Message(_ROLES.get(role, "other"), tuple(blocks), wire(role, tuple(item))))
                continue
            neutral, shape, parts_first = known
            for first in item:
                if first == "parts":
                    shape = parts_first
                break
            append(new_message(neutral, tuple(blocks), shape))
    except ShapeError as error:
        where = f"$.contents[{len(messages)}]" + (f".parts[{len(blocks)}]" if blocks is not None else "")
        raise WireError(where + error.path, error.problem) from None
    return messages


def _parse_odd_message(raw: dict[str, Json], role: Json, parts: Json, take: Take) -> Message:
    """A content that lacks something, holds something more, or has one part that is no list."""
    known, form = set(_MESSAGE_KEYS), ""
    if role is None:
        role = ""
        known.remove("role")
    elif role.__class__ is not str:
        raise ShapeError(".role", f"a role is a string, not {kind_of(role)}")
    blocks: tuple[Block, ...] = ()
    if parts.__class__ is list:
        blocks = _parse_parts(parts, take)
    elif parts.__class__ is dict:
        blocks, form = (_parse_part(parts, take),), "object"
    elif parts is None:
        known.remove("parts")
    else:
        raise ShapeError(".parts", f"parts is a list of parts, not {kind_of(parts)}")
    return Message(_ROLES.get(role, "other"), blocks, shape_of(raw, role, known, take, form))


def parse_system(fields: dict[str, Json]) -> tuple[Block, ...]:
    """The system instruction: a content, of which only the parts count."""
    key = "systemInstruction" if fields.get("systemInstruction") is not None else "system_instruction"
    value = fields.get(key)
    if value is None:
        return ()
    if not isinstance(value, dict):
        raise WireError(f"$.{key}", f"{key} is an object, not {kind_of(value)}")
    parts = value.get("parts")
    if parts is None:
        return ()
    if isinstance(parts, dict):
        parts = [parts]
    if not isinstance(parts, list):
        raise WireError(f"$.{key}.parts", f"parts is a list of parts, not {kind_of(parts)}")
    return blocks_of(parts, f"$.{key}.parts", _parse_part)


def parse_tools(fields: dict[str, Json]) -> tuple[Tool, ...]:
    """The ``tools`` parameter; each function that one of them declares is a tool."""
    made = []
    for index, tool in enumerate(objects_of(fields.get("tools"), "$.tools")):
        key = "functionDeclarations" if tool.get("functionDeclarations") is not None else "function_declarations"
        if tool.get(key) is None:
            made.append(Tool("", tool))
        for function in objects_of(tool.get(key), f"$.tools[{index}].{key}"):
            name = function.get("name")
            made.append(Tool(name if isinstance(name, str) else "", function))
    return tuple(made)


def _parse_parts(raw: list[Json], take: Take) -> tuple[Block, ...]:
    made: list[Block] = []
    for place, part in enumerate(raw):
        try:
            made.append(_parse_part(part, take))
        except ShapeError as error:
            raise ShapeError(f".parts[{place}]{error.path}", error.problem) from None
    return tuple(made)


def _parse_part(raw: Json, take: Take) -> Block:
    if raw.__class__ is not dict:
        raise ShapeError("", f"a part is an object, not {kind_of(raw)}")
    text = raw.get("text")
    if text is not None:
        if text.__class__ is str and len(raw) == 1:  # as most parts are
            return new_text(text, _TEXT)
        return _parse_text(raw, text, take)
    value = raw.get("functionResponse")
    if value.__class__ is dict and len(raw) == 1:
        return _parse_plain_response(value) or _parse_within(_parse_result, raw, "functionResponse", value, take)
    value = raw.get("functionCall")
    if value.__class__ is dict and len(raw) <= 2:
        return _parse_plain_call(raw, value, take) or _parse_within(_parse_call, raw, "functionCall", value, take)
    for word, value in raw.items():
        read = _READERS.get(word)
        if read is not None and value is not None:
            break
    else:
        return _parse_thought(raw, "", take)
    if value.__class__ is not dict:
        raise ShapeError(f".{word}", f"{word} is an object, not {kind_of(value)}")
    return _parse_within(read, raw, word, value, take)


def _parse_within(read: _Reader, raw: dict[str, Json], word: str, value: dict[str, Json], take: Take) -> Block:
    """What *read* makes of the object under *word*; its errors have the path of the part."""
    try:
        return read(raw, word, value, take)
    except ShapeError as error:
        raise ShapeError(f".{word}{error.path}", error.problem) from None


def _parse_plain_call(raw: dict[str, Json], value: dict[str, Json], take: Take) -> Call | None:
    """A call with a name, arguments and perhaps an id, and perhaps a signature beside it; ``None`` if it is another kind."""
    name = value.get("name")
    call_id = value.get("id", name)
    if name.__class__ is not str or not name or call_id.__class__ is not str or not call_id:
        return None
    keys = tuple(value)
    shape = _PLAIN_CALLS.get(keys)
    if shape is None:
        return None
    if len(raw) == 2:
        seal = raw.get("thoughtSignature")
        if seal.__class__ is not str:
            return None
        behind, before = _SIGNED_CALLS[keys]
        for first in raw:
            shape = new_wire("functionCall", behind if first == "functionCall" else before, (("thoughtSignature", seal),), "2")
            break
    return new_call(call_id, name, take(value["args"]), shape)


def _parse_plain_response(value: dict[str, Json]) -> Result | None:
    """A response with a name, one string under one key, and perhaps an id; ``None`` if it is another kind."""
    name, answer = value.get("name"), value.get("response")
    call_id = value.get("id", name)
    if answer.__class__ is not dict or len(answer) != 1 or name.__class__ is not str or not name:
        return None
    [(key, words)] = answer.items()
    keys = tuple(value)
    known = _PLAIN_RESPONSES.get(keys)
    if known is None or words.__class__ is not str or key.__class__ is not str or call_id.__class__ is not str or not call_id:
        return None
    shape = known.get(name)
    if shape is None:
        rest = (("functionResponse", {"name": name}),) if len(keys) == 3 else ()
        shape = new_wire("functionResponse", ("functionResponse", *keys), rest)
        if len(known) < _SHAPES_KEPT:
            known[name] = shape
    return new_result(call_id, (new_text(words, _member(key)),), shape)


def _member(key: str) -> Wire:
    """The shape of words that stand under *key*."""
    shape = _MEMBERS.get(key)
    if shape is None:
        shape = wire("member", (key,))
        if len(_MEMBERS) < _SHAPES_KEPT:
            _MEMBERS[key] = shape
    return shape


def _parse_text(raw: dict[str, Json], text: Json, take: Take) -> Block:
    if text.__class__ is not str:
        raise ShapeError(".text", f"text is a string, not {kind_of(text)}")
    return _parse_thought(raw, "text", take) if raw.get("thought") is True else Text(text, shape_of(raw, "text", {"text"}, take))


def _parse_thought(raw: dict[str, Json], word: str, take: Take) -> Block:
    """A thought, or a signature that stands alone; a part with neither is opaque."""
    seal = next((key for key in _SIGNATURES if raw.get(key).__class__ is str), "")
    if not seal and raw.get("thought") is not True:
        value = take(raw)
        return Opaque(next(iter(value), ""), value)
    known = {key for key in (word, seal) if key}
    return Reasoning(raw.get(word, ""), raw[seal] if seal else None, shape_of(raw, "thought", known, take))


def _parse_media(raw: dict[str, Json], word: str, value: dict[str, Json], take: Take) -> Media:
    mime = value.get("mimeType", value.get("mime_type"))
    data, url = value.get("data"), value.get("fileUri", value.get("file_uri"))
    if not isinstance(mime, str):
        mime = ""
    return Media(
        _KINDS.get(mime.partition("/")[0], "file"),
        mime,
        data if isinstance(data, str) else None,
        url if isinstance(url, str) else None,
        take(value),
        shape_of(raw, word, {word}, take),
    )


def _named(value: dict[str, Json], key: str) -> str:
    """The string under *key*, empty where it is null or absent."""
    return "" if value.get(key) is None else string(value, key)


def _parse_call(raw: dict[str, Json], word: str, value: dict[str, Json], take: Take) -> Call:
    key, known = _CALLS[word]
    call_id, name = value.get("id"), value.get("name")
    if name.__class__ is not str or not name or (not call_id and "id" in value) or (call_id and call_id.__class__ is not str):
        call_id, name = _named(value, "id"), _named(value, "name")
        if "name" not in known:
            name = word  # what Google runs by itself has no name
        known -= {field for field in ("id", "name") if not value.get(field)}  # null or empty, they are residue
    return Call(call_id or name, name, take(value.get(key)), shape_of_nested(raw, word, _NOTHING, known, take))


def _parse_result(raw: dict[str, Json], word: str, value: dict[str, Json], take: Take) -> Result:
    key = _RESULTS[word]
    answer, media, call_id = value.get(key), value.get("parts"), value.get("id")
    known = _BY_ID[word]
    if call_id.__class__ is not str or not call_id:
        call_id, known = _named(value, "id") or _named(value, "name"), _BY_NAME[word]
    if None in value.values():
        known -= {key for key in known if value.get(key) is None}
    blocks: tuple[Block, ...] = () if answer is None else (_words_of(answer, take),)
    if media is not None:
        blocks += _parse_media_parts(media, take)
    return Result(call_id, blocks, shape_of_nested(raw, word, _NOTHING, known, take))


def _parse_media_parts(raw: Json, take: Take) -> tuple[Block, ...]:
    if raw.__class__ is not list:
        raise ShapeError(".parts", f"parts is a list of parts, not {kind_of(raw)}")
    made: list[Block] = []
    for place, part in enumerate(raw):
        try:
            made.append(_parse_nested(part, take))
        except ShapeError as error:
            raise ShapeError(f".parts[{place}]{error.path}", error.problem) from None
    return tuple(made)


def _parse_nested(raw: Json, take: Take) -> Block:
    """A part inside a response: media are understood, all else is opaque, so nesting ends here."""
    if raw.__class__ is not dict:
        raise ShapeError("", f"a part is an object, not {kind_of(raw)}")
    for word, value in raw.items():
        if word in _MEDIA and value.__class__ is dict:
            return _parse_media(raw, word, value, take)
    value = take(raw)
    return Opaque(next(iter(value), ""), value)


def _words_of(answer: Json, take: Take) -> Text:
    """What a tool said: the string, where that is all there is."""
    if answer.__class__ is str:
        return Text(answer, _STRING)
    if answer.__class__ is dict and len(answer) == 1:
        [(key, value)] = answer.items()
        if value.__class__ is str:
            return Text(value, _member(key))
    return spell(take(answer), "json")


_READERS: Final[dict[str, _Reader]] = {
    **dict.fromkeys(_CALLS, _parse_call),
    **dict.fromkeys(_RESULTS, _parse_result),
    **dict.fromkeys(_MEDIA, _parse_media),
}
"""What reads a part that is no text, by the key of its data."""


def render_message(message: Message, give: Take) -> dict[str, Json]:
    """One content of the body, in a fresh dict."""
    parts: Json = [_render_part(block, give) for block in message.blocks]
    if message.wire.form == "object" and len(parts) == 1:
        [parts] = parts
    fields = {"role": message.wire.tag, "parts": parts}
    if message.wire == _MADE:
        return fields
    written = write(message.wire, fields, give)
    if message.content:  # also where the first message of a fused head had no parts
        written["parts"] = parts
    return written


def _render_part(block: Block, give: Take) -> Json:
    if isinstance(block, Text):
        return {"text": block.text} if block.wire == _NEUTRAL else write(block.wire, {"text": block.text}, give)
    if isinstance(block, Call):
        inside = {"id": block.id, "name": block.name, _CALLS[block.wire.tag][0]: give(block.arguments)}
        return write_nested(block.wire, {}, inside, give)
    if isinstance(block, Result):
        key = _RESULTS[block.wire.tag]
        words = [part for part in block.blocks if isinstance(part, Text)]
        others = [_render_part(part, give) for part in block.blocks if not isinstance(part, Text)]
        inside = {"id": block.call_id, "name": block.call_id, key: _render_words(words, key, give), "parts": others}
        return write_nested(block.wire, {}, inside, give)
    if isinstance(block, Reasoning):
        fields: dict[str, Json] = dict.fromkeys(_SIGNATURES, block.seal)
        return write(block.wire, {"text": block.text, **fields}, give)
    if isinstance(block, Media):
        return write(block.wire, {block.wire.tag: give(block.source)}, give)
    return give(block.value)


def _render_words(words: list[Text], key: str, give: Take) -> Json:
    """What `_words_of` read, or what a tool said in the words that stand there now."""
    text = "\n".join(part.text for part in words)
    shape = words[0].wire if len(words) == 1 else _NEUTRAL
    if shape.tag == "json" and is_spelled(words[0]):
        return give(shape.get("json"))
    if shape == _STRING or key == "output":
        return text
    return {shape.keys[0] if shape.tag == "member" else "output": text}
