"""
What stands around the messages: instructions, tools, settings.

What this is
    `write_around`, which gives the fields of a body in the target's words.

Rules it obeys
    * Law L26.  Instructions and declarations cross whole or are a named loss.
    * What is not known to mean the same is left out and named; nothing is
      guessed.  The model's name is another provider's and always left out.

How it works
    Tables: where a setting stands in each dialect; how a tool is declared; how
    the choice among tools is spelled.

What is not here
    Instructions that stand among the messages: `crossing`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from attrs import frozen

from ..dialects.reading import copy_json
from ..model import Conversation, Json, Tool
from ..protocol.profiles import PROFILES
from ..protocol.violation import quote
from .crossing import is_shallow, without_halves
from .losses import Losses
from .naming import Names

__all__ = ["OUTSIDE", "write_around", "write_system"]

OUTSIDE: Final = frozenset({"anthropic", "gemini", "bedrock"})
"""The dialects in which instructions stand beside the messages and nowhere else."""

# setting -> where it stands in each dialect
_SETTINGS: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    "most tokens": {
        "anthropic": ("max_tokens",),
        "openai-chat": ("max_completion_tokens",),
        "openai-responses": ("max_output_tokens",),
        "mcp-sampling": ("maxTokens",),
        "gemini": ("generationConfig", "maxOutputTokens"),
        "bedrock": ("inferenceConfig", "maxTokens"),
        "mistral": ("max_tokens",),
    },
    "temperature": {
        "anthropic": ("temperature",),
        "openai-chat": ("temperature",),
        "openai-responses": ("temperature",),
        "mcp-sampling": ("temperature",),
        "gemini": ("generationConfig", "temperature"),
        "bedrock": ("inferenceConfig", "temperature"),
        "mistral": ("temperature",),
    },
    "top p": {
        "anthropic": ("top_p",),
        "openai-chat": ("top_p",),
        "openai-responses": ("top_p",),
        "gemini": ("generationConfig", "topP"),
        "bedrock": ("inferenceConfig", "topP"),
        "mistral": ("top_p",),
    },
    "top k": {"anthropic": ("top_k",), "gemini": ("generationConfig", "topK")},
    "stop": {
        "anthropic": ("stop_sequences",),
        "openai-chat": ("stop",),
        "mcp-sampling": ("stopSequences",),
        "gemini": ("generationConfig", "stopSequences"),
        "bedrock": ("inferenceConfig", "stopSequences"),
        "mistral": ("stop",),
    },
    "seed": {"openai-chat": ("seed",), "gemini": ("generationConfig", "seed"), "mistral": ("random_seed",)},
    "stream": {"anthropic": ("stream",), "openai-chat": ("stream",), "openai-responses": ("stream",), "mistral": ("stream",)},
}
_OLD_WORDS: Final = {("openai-chat", "max_tokens"): "max_completion_tokens"}
_ONES: Final = frozenset({"n", "candidateCount"})  # settings whose 1 says nothing
_HIGHEST_TEMPERATURE: Final = {"anthropic": 1.0, "bedrock": 1.0, "mistral": 1.5}
_GROUPS: Final = {"gemini": "generationConfig", "bedrock": "inferenceConfig"}
_SYSTEM: Final = {
    "anthropic": "system",
    "openai-responses": "instructions",
    "gemini": "systemInstruction",
    "bedrock": "system",
    "mcp-sampling": "systemPrompt",
}
_TOOLS: Final = frozenset({"tools", "tool_choice", "toolChoice", "toolConfig", "parallel_tool_calls"})
_OF_TOOLS: Final = frozenset({"tools", "tool_choice", "parallel_tool_calls", "functions", "function_call"})
_STRICT: Final = frozenset({"anthropic", "openai-chat", "openai-responses", "bedrock", "mistral"})
_ANYTHING: Final[Json] = {"type": "object", "properties": {}}
_PARALLEL_FLAG: Final = frozenset({"openai-chat", "openai-responses", "mistral"})


def _camel(key: object) -> str:
    """A key of Gemini's as the proto is spelled in JSON."""
    first, *rest = str(key).split("_")
    return first + "".join(word[:1].upper() + word[1:] for word in rest)


# -- instructions ------------------------------------------------------------------------------------------------------


def write_system(dialect: str, words: list[str]) -> dict[str, Json]:
    """The field that holds instructions beside the messages."""
    if not words:
        return {}
    texts: Json
    if dialect == "gemini":
        texts = {"parts": [{"text": text} for text in words]}
    elif dialect == "bedrock":
        texts = [{"text": text} for text in words]
    elif len(words) == 1:
        texts = words[0]
    else:
        texts = [{"type": "text", "text": text} for text in words]
    return {_SYSTEM[dialect]: texts}


# -- tools -------------------------------------------------------------------------------------------------------------


@frozen
class _Declared:
    """A tool in neutral words."""

    name: str
    description: str | None
    schema: Json
    is_strict: bool


def write_around(
    conversation: Conversation, dialect: str, tools: Names, called: list[str], losses: Losses, *, has_tools: bool = True
) -> dict[str, Json]:
    """
    The fields of the target's body but for instructions and messages.

    Args:
        conversation: what is converted; it has a body.
        dialect: the target.
        tools: the names of tools in the target's language.
        called: the tools that calls in the messages name, in that language.
        losses: where what is left out is noted.
        has_tools: whether the target has a form for tools.
    """
    made: dict[str, Json] = {}
    if dialect == conversation.dialect:
        return _kept(conversation, losses, has_tools=has_tools)
    if not has_tools:
        for place, tool in enumerate(conversation.tools):
            pointer = _place_of_tool(conversation.dialect, place)
            losses.around("tool", pointer, f"the tool {quote(tool.name)} is not declared any more")
        _settings(conversation, dialect, made, losses)
        return made
    declared = list(_declared(conversation, losses))
    written = [_write_tool(one, dialect, tools.of(one.name), losses) for one in declared]
    if dialect == "bedrock" and called and not written:  # rule B-TOOLCFG-01
        for name in dict.fromkeys(called):
            written.append(_write_tool(_Declared(name, None, copy_json(_ANYTHING), is_strict=False), dialect, name, losses))
            losses.around("tool", "", f"the tool {quote(name)} was not declared, and is now: it takes anything")
    choice = _Choice(conversation, losses)
    if written:
        made.update(_wrapped(written, dialect))
        choice.write(dialect, tools, made)
    elif choice.kind not in ("", "auto", "none"):
        losses.around("setting", "/tool_choice", "there are no tools among which to choose")
    _settings(conversation, dialect, made, losses)
    return made


def _kept(conversation: Conversation, losses: Losses, *, has_tools: bool) -> dict[str, Json]:
    """The fields as they are, where source and target are one dialect; without tools if the target has no form for them."""
    made: dict[str, Json] = {}
    for key, value in conversation.envelope.fields or ():
        if key == PROFILES[conversation.dialect].messages_key:
            continue
        if has_tools or key not in _OF_TOOLS:
            made[key] = copy_json(value)
        elif value:
            name = "tool" if key in ("tools", "functions") else "setting"
            losses.around(name, f"/{key}", f"{quote(key)} was left out: the target has no tools")
    return made


def _declared(conversation: Conversation, losses: Losses) -> Iterator[_Declared]:
    dialect = conversation.dialect
    for place, tool in enumerate(conversation.tools):
        pointer = _place_of_tool(dialect, place)
        found = _read_tool(tool, dialect, pointer, losses)
        if found is None or not is_shallow(found.schema):
            word = tool.name or (tool.value.get("type") or next(iter(tool.value), "") if isinstance(tool.value, dict) else "")
            losses.around("tool", pointer, f"the tool {quote(str(word))} is not declared any more: only its provider has it")
        else:
            yield found


def _place_of_tool(dialect: str, place: int) -> str:
    if dialect == "gemini":
        return "/tools"  # several are declared in one object
    where = {"atif": "/agent/tool_definitions", "bedrock": "/toolConfig/tools"}.get(dialect, "/tools")
    return f"{where}/{place}"


def _read_tool(tool: Tool, dialect: str, pointer: str, losses: Losses) -> _Declared | None:
    value: Json = tool.value
    if not isinstance(value, dict):  # only of a tool that was made by hand
        return None
    kind = value.get("type")
    key = "parameters"
    fields: Json = value
    if dialect == "anthropic":
        key = "input_schema"
        if kind not in (None, "custom") or key not in value:
            return None
    elif dialect == "mcp-sampling":
        key = "inputSchema"
    elif dialect == "atif" and not isinstance(value.get("function"), dict):
        pass
    elif dialect in ("openai-chat", "mistral", "atif"):
        fields = value.get("function")
        if kind not in (None, "function") or not isinstance(fields, dict):
            return None
    elif dialect == "openai-responses":
        if kind != "function":
            return None
    elif dialect == "bedrock":
        fields, key = value.get("toolSpec"), "inputSchema"
        if not isinstance(fields, dict):
            return None
    if not tool.name:
        return None
    schema = fields.get(key)
    known = {"type", "name", "description", "strict", key}
    if dialect == "bedrock":
        schema = schema.get("json") if isinstance(schema, dict) else None
    elif dialect == "gemini":
        for other in ("parametersJsonSchema", "parameters_json_schema"):
            schema = fields.get(other) or schema
            known.add(other)
        schema = _in_lower_case(schema) if is_shallow(schema) else schema
    for word, said in fields.items():
        if word not in known and said is not None and said is not False:
            loss = "cache-mark" if word == "cache_control" else "field"
            losses.around(loss, f"{pointer}/{word}", f"the field {quote(str(word))} of the tool {quote(tool.name)} was left out")
    if dialect != "anthropic" and isinstance(value.get("cache_control"), dict) and value is not fields:
        losses.around("cache-mark", pointer, f"the cache mark of the tool {quote(tool.name)} was left out")
    description = fields.get("description")
    said = (description if isinstance(description, str) else None, schema if isinstance(schema, dict) else _ANYTHING)
    whole = (without_halves(said[0]), without_halves(said[1]) if is_shallow(said[1]) else said[1])
    if whole[0] is not said[0] or whole[1] is not said[1]:
        losses.around("character", pointer, f"halves of characters in the tool {quote(tool.name)} were replaced")
    return _Declared(tool.name, whole[0], copy_json(whole[1]), is_strict=fields.get("strict") is True)


_TYPES: Final = frozenset({"STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"})
_BY_NAME: Final = frozenset({"properties", "$defs", "definitions", "patternProperties"})
_AS_THEY_ARE: Final = frozenset({"enum", "const", "default", "example", "examples", "required"})


def _in_lower_case(schema: Json) -> Json:
    """A schema of Gemini's, whose types are words in capitals, in the words of JSON Schema."""
    if isinstance(schema, list):
        return [_in_lower_case(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    made: dict[str, Json] = {}
    for key, value in schema.items():
        if key == "type" and isinstance(value, str) and value in _TYPES:
            made[key] = value.lower()
        elif key in _BY_NAME and isinstance(value, dict):
            made[key] = {name: _in_lower_case(inner) for name, inner in value.items()}
        else:
            made[key] = value if key in _AS_THEY_ARE else _in_lower_case(value)
    return made


def _write_tool(tool: _Declared, dialect: str, name: str, losses: Losses) -> dict[str, Json]:
    said = {"name": name} | ({"description": tool.description} if tool.description is not None else {})
    strict = {"strict": True} if tool.is_strict and dialect in _STRICT else {}
    if tool.is_strict and not strict:
        losses.around("field", "/tools", f"the tool {quote(tool.name)} is not strict any more")
    if dialect == "anthropic":
        return {**said, "input_schema": tool.schema, **strict}
    if dialect == "gemini":
        return {**said, "parametersJsonSchema": tool.schema}
    if dialect == "bedrock":
        return {"toolSpec": {**said, "inputSchema": {"json": tool.schema}, **strict}}
    if dialect == "openai-responses":  # where a tool is strict unless it says no
        return {"type": "function", **said, "parameters": tool.schema, "strict": tool.is_strict}
    return {"type": "function", "function": {**said, "parameters": tool.schema, **strict}}


def _wrapped(tools: list[dict[str, Json]], dialect: str) -> dict[str, Json]:
    if dialect == "gemini":
        return {"tools": [{"functionDeclarations": tools}]}
    return {"toolConfig": {"tools": tools}} if dialect == "bedrock" else {"tools": tools}


# -- the choice among tools --------------------------------------------------------------------------------------------

_CHOICES: Final[Mapping[str, Mapping[str, Json]]] = {
    "anthropic": {"auto": {"type": "auto"}, "any": {"type": "any"}, "none": {"type": "none"}},
    "openai-chat": {"auto": "auto", "any": "required", "none": "none"},
    "openai-responses": {"auto": "auto", "any": "required", "none": "none"},
    "gemini": {"auto": {"mode": "AUTO"}, "any": {"mode": "ANY"}, "none": {"mode": "NONE"}},
    "bedrock": {"auto": {"auto": {}}, "any": {"any": {}}},
    "mistral": {"auto": "auto", "any": "any", "none": "none"},
}


class _Choice:
    """
    Whether and what the model has to call.

    Attributes:
        kind: ``auto``, ``any``, ``none``, ``tool``, or ``""`` where nothing is said.
        name: the tool, where it is one.
        is_parallel: whether several calls at once are allowed.
    """

    def __init__(self, conversation: Conversation, losses: Losses) -> None:
        self.losses: Final = losses
        self.kind = self.name = ""
        self.is_parallel = conversation.setting("parallel_tool_calls") is not False
        dialect = conversation.dialect
        value = conversation.setting("toolChoice" if dialect == "mcp-sampling" else "tool_choice")
        if dialect in ("gemini", "bedrock"):
            value = _choice_inside(conversation, losses)
        if value is None:
            return
        if isinstance(value, dict) and value.get("disable_parallel_tool_use") is True:
            self.is_parallel = False
        self._read(dialect, value)
        if not self.kind:
            losses.around("setting", "/tool_choice", "a choice among tools that only its provider has was left out")

    def _read(self, dialect: str, value: Json) -> None:
        if isinstance(value, str):
            self.kind = {"auto": "auto", "required": "any", "any": "any", "none": "none"}.get(value, "")
            return
        if not isinstance(value, dict):
            return
        kind = value.get("type")
        if dialect == "mcp-sampling":
            self.kind = {"auto": "auto", "required": "any", "none": "none"}.get(str(value.get("mode")), "")
            return
        if dialect == "anthropic":
            if kind in ("auto", "any", "none"):
                self.kind = str(kind)
                return
            name = value.get("name") if kind == "tool" else None
        elif dialect == "gemini":
            names = value.get("allowedFunctionNames", value.get("allowed_function_names"))
            name = names[0] if isinstance(names, list) and len(names) == 1 else None
            if not names:
                self.kind = {"AUTO": "auto", "ANY": "any", "NONE": "none"}.get(str(value.get("mode")), "")
        elif dialect == "bedrock":
            if "auto" in value or "any" in value:
                self.kind = "auto" if "auto" in value else "any"
                return
            tool = value.get("tool")
            name = tool.get("name") if isinstance(tool, dict) else None
        else:
            function = value if dialect == "openai-responses" else value.get("function")
            name = function.get("name") if kind == "function" and isinstance(function, dict) else None
        if isinstance(name, str) and name:
            self.kind, self.name = "tool", name

    def write(self, dialect: str, tools: Names, made: dict[str, Json]) -> None:
        """Put it into the body that is being made, where the tools are already."""
        choice = _CHOICES[dialect].get(self.kind)
        if self.kind == "tool":
            choice = _one_tool(dialect, tools.of(self.name))
        if self.kind and choice is None:
            self.losses.around("setting", "/tool_choice", f"{dialect} has no word for the choice {quote(self.kind)}")
        if not self.is_parallel:
            if dialect == "anthropic":
                choice = {**(choice or {"type": "auto"}), "disable_parallel_tool_use": True}
            elif dialect in _PARALLEL_FLAG:
                made["parallel_tool_calls"] = False
            else:
                self.losses.around("setting", "/parallel_tool_calls", "nothing forbids several calls at once any more")
        if choice is None:
            return
        if dialect == "gemini":
            made["toolConfig"] = {"functionCallingConfig": choice}
        elif dialect == "bedrock":
            made["toolConfig"]["toolChoice"] = choice
        else:
            made["tool_choice"] = choice


def _choice_inside(conversation: Conversation, losses: Losses) -> Json:
    """The choice among tools where it stands in a group of settings; what else is there is named."""
    config = conversation.setting("toolConfig") or conversation.setting("tool_config")
    if not isinstance(config, dict):
        return None
    choice = None
    for key, value in config.items():
        if _camel(key) in ("functionCallingConfig", "toolChoice"):
            choice = value
        elif key != "tools" and value:
            losses.around("setting", f"/toolConfig/{key}", f"the setting {quote(str(key))} was left out")
    return choice


def _one_tool(dialect: str, name: str) -> Json:
    if dialect == "anthropic":
        return {"type": "tool", "name": name}
    if dialect == "gemini":
        return {"mode": "ANY", "allowedFunctionNames": [name]}
    if dialect == "bedrock":
        return {"tool": {"name": name}}
    if dialect == "openai-responses":
        return {"type": "function", "name": name}
    return {"type": "function", "function": {"name": name}}


# -- settings ----------------------------------------------------------------------------------------------------------


def _settings(conversation: Conversation, dialect: str, made: dict[str, Json], losses: Losses) -> None:
    """Write what the target has a word for, and name the rest."""
    source = conversation.dialect
    words = {places[source]: setting for setting, places in _SETTINGS.items() if source in places}
    for path, pointer, value in _said(conversation):
        last = _OLD_WORDS.get((source, path[-1]), path[-1])
        setting = words.get((*path[:-1], last), "")
        place = _SETTINGS[setting].get(dialect) if setting else None
        if setting == "stop" and isinstance(value, str):
            value = [value]
        highest = _HIGHEST_TEMPERATURE.get(dialect) if setting == "temperature" else None
        is_too_high = highest is not None and not (isinstance(value, int | float) and value <= highest)
        if place is None or is_too_high or not _is_simple(value):
            losses.around("setting", pointer, f"the setting {quote(path[-1])} was left out")
        elif len(place) == 1:
            made[place[0]] = copy_json(value)
        else:
            made.setdefault(place[0], {})[place[1]] = copy_json(value)


def _said(conversation: Conversation) -> Iterator[tuple[tuple[str, ...], str, Json]]:
    """The settings of a body that say something, each with its path and its pointer; no instructions, no tools."""
    dialect = conversation.dialect
    group = _GROUPS.get(dialect)
    skipped = {PROFILES[dialect].messages_key, _SYSTEM.get(dialect), *_TOOLS}
    for name, value in conversation.envelope.fields or ():
        key = _camel(name) if dialect == "gemini" else name
        if key in skipped:
            continue
        if key == group and isinstance(value, dict):
            for inner, said in value.items():
                word = _camel(inner) if dialect == "gemini" else inner
                if _says(word, said):
                    yield (key, word), f"/{name}/{inner}", said
        elif _says(key, value):
            yield (key,), f"/{name}", value


def _is_simple(value: Json) -> bool:
    """Whether a value is one, or a list of such."""
    return not any(isinstance(item, list | dict) for item in (value if isinstance(value, list) else [value]))


def _says(key: str, value: Json) -> bool:
    """Whether a setting says anything that leaving it out would not."""
    if value is None or value is False or (key in _ONES and value == 1):
        return False
    return not isinstance(value, str | list | dict) or bool(value)
