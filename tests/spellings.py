"""
How conversations are written on each wire: what all generators of tests share.

A `Spelling` writes prompts, the model's words and calls, results and pictures
as the messages of one dialect.  `SPELLINGS` has one for each, and two for
templates that know nothing but strings in turns; in the one without tools
results travel as a user's words.  They are written from the providers'
documents, not with `compactlib.dialects`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from attrs import frozen

__all__ = ["MARKER", "PNG", "SPELLINGS", "Call", "Message", "Result", "Spelling", "tools"]

Message = dict[str, Any]

PNG: Final = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
MARKER: Final = "Attached image(s) from tool result:"


@frozen
class Call:
    """A call to be made: id, tool, arguments."""

    id: str
    name: str
    arguments: dict[str, Any]


@frozen
class Result:
    """An answer to be given, perhaps as a list of blocks."""

    call: Call
    text: str
    in_blocks: bool = False


def tools(names: Sequence[str], words: str) -> list[Message]:
    """Functions as most dialects describe them; *words* make the first of them long."""
    schema = {"type": "object", "properties": {"path": {"type": "string"}}}
    return [
        {"name": name, "description": name + (words if at == 0 else ""), "parameters": schema} for at, name in enumerate(names)
    ]


class Spelling:
    """
    One wire shape.

    Attributes:
        dialect: what `compactlib.parse` calls it.
        profile: the profile it is for, where that is not the dialect's own.
        key: where the messages stand in a body.
        fuse: how a head is written.
        has_system: whether system messages stand among the others.
        words_beside: whether a message of results can hold words.
        user_after_results: whether a user message may stand behind results.
        alternates: whether a person's messages and the model's must take turns, and are strings.
        may_dangle: whether a call without a result is one fault and not several.
        results_are_text: whether results are words of a user.
    """

    dialect = ""
    profile: str | None = None
    key = "messages"
    fuse = "no"
    has_system = True
    words_beside = False
    user_after_results = True
    alternates = False
    may_dangle = True
    results_are_text = False

    def id(self, name: str) -> str:
        """A call's id in the language of the dialect."""
        return name

    def system(self, text: str) -> Message:
        return {"role": "system", "content": text}

    def user(self, text: str, *, picture: bool = False, in_blocks: bool = False) -> Message:
        """A user's words, perhaps with a picture."""
        raise NotImplementedError

    def model(self, words: str, calls: Sequence[Call] = (), *, thought: str = "", in_blocks: bool = False) -> list[Message]:
        """What the model thinks, says and calls; several messages where each is an item."""
        raise NotImplementedError

    def results(self, results: Sequence[Result], beside: str = "") -> list[Message]:
        """Results, and where the dialect can, words *beside* them."""
        raise NotImplementedError

    def body(self, messages: list[Message], *, system: str, words: str, thinking: bool) -> Message:
        """A whole request; the *words* make it heavy."""
        raise NotImplementedError


class Anthropic(Spelling):
    dialect = "anthropic"
    fuse = "yes"
    has_system = False
    words_beside = True

    def user(self, text: str, *, picture: bool = False, in_blocks: bool = False) -> Message:
        if not (picture or in_blocks):
            return {"role": "user", "content": text}
        image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
        return {"role": "user", "content": [{"type": "text", "text": text}, *([image] if picture else [])]}

    def model(self, words: str, calls: Sequence[Call] = (), *, thought: str = "", in_blocks: bool = False) -> list[Message]:
        if not (calls or thought or in_blocks):
            return [{"role": "assistant", "content": words}]
        blocks: list[Message] = []
        if thought:
            blocks.append({"type": "thinking", "thinking": thought, "signature": f"SIG{thought[:9]}"})
        if words:
            blocks.append({"type": "text", "text": words})
        blocks += [{"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments} for call in calls]
        return [{"role": "assistant", "content": blocks}]

    def results(self, results: Sequence[Result], beside: str = "") -> list[Message]:
        blocks: list[Message] = [
            {
                "type": "tool_result",
                "tool_use_id": result.call.id,
                "content": [{"type": "text", "text": result.text}] if result.in_blocks else result.text,
            }
            for result in results
        ]
        return [{"role": "user", "content": [*blocks, *([{"type": "text", "text": beside}] if beside else [])]}]

    def body(self, messages: list[Message], *, system: str, words: str, thinking: bool) -> Message:
        described = [
            {"name": one["name"], "description": one["name"], "input_schema": one["parameters"]} for one in tools(NAMES, "")
        ]
        body = {"model": "m", "messages": messages, "system": f"{system} {words}", "max_tokens": 1000, "tools": described}
        return {**body, "thinking": {"type": "enabled", "budget_tokens": 1024}} if thinking else body


class OpenAIChat(Spelling):
    dialect = "openai-chat"

    def user(self, text: str, *, picture: bool = False, in_blocks: bool = False) -> Message:
        if not (picture or in_blocks):
            return {"role": "user", "content": text}
        image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}
        return {"role": "user", "content": [{"type": "text", "text": text}, *([image] if picture else [])]}

    def model(self, words: str, calls: Sequence[Call] = (), *, thought: str = "", in_blocks: bool = False) -> list[Message]:
        del in_blocks
        made: Message = {"role": "assistant", "content": words or None}
        if calls:
            made["tool_calls"] = [self._call(call) for call in calls]
        return [self._thinking(made, thought) if thought else made]

    def _call(self, call: Call) -> Message:
        return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": json.dumps(call.arguments)}}

    def _thinking(self, made: Message, thought: str) -> Message:
        return {**made, "reasoning_content": thought}

    def results(self, results: Sequence[Result], beside: str = "") -> list[Message]:
        del beside
        return [{"role": "tool", "content": result.text, "tool_call_id": result.call.id} for result in results]

    def body(self, messages: list[Message], *, system: str, words: str, thinking: bool) -> Message:
        del system, thinking
        described = [{"type": "function", "function": function} for function in tools(NAMES, words)]
        return {"model": "m", "messages": messages, "tools": described}


class Mistral(OpenAIChat):
    dialect = "mistral"
    user_after_results = False

    def id(self, name: str) -> str:
        """Nine letters and digits."""
        return name.replace("_", "").rjust(9, "0")

    def _thinking(self, made: Message, thought: str) -> Message:
        chunk = {"type": "thinking", "thinking": [{"type": "text", "text": thought}]}
        words = [{"type": "text", "text": made["content"]}] if made["content"] else []
        return {**made, "content": [chunk, *words]}


class StrictTemplate(OpenAIChat):
    """Strings in turns, the person's and the model's; calls and results apart."""

    profile = "strict-template"
    fuse = "text"
    user_after_results = False
    alternates = True
    may_dangle = False  # the template does not see calls, and finds two prompts in a row

    def user(self, text: str, *, picture: bool = False, in_blocks: bool = False) -> Message:
        del picture, in_blocks
        return {"role": "user", "content": text}


class StrictTemplateNoTools(StrictTemplate):
    """The same without tools: what one said is a user's words."""

    profile = "strict-template-no-tools"
    may_dangle = True
    results_are_text = True

    def model(self, words: str, calls: Sequence[Call] = (), *, thought: str = "", in_blocks: bool = False) -> list[Message]:
        del in_blocks
        asked = [f'<call id="{call.id}">{call.name} {json.dumps(call.arguments)}</call>' for call in calls]
        return [{"role": "assistant", "content": "\n".join([*([words] if words else []), *asked]) or thought}]

    def results(self, results: Sequence[Result], beside: str = "") -> list[Message]:
        del beside
        return [{"role": "user", "content": "\n".join(f"{result.call.id}: {result.text}" for result in results)}]


class Responses(Spelling):
    dialect = "openai-responses"
    key = "input"

    def user(self, text: str, *, picture: bool = False, in_blocks: bool = False) -> Message:
        if not (picture or in_blocks):
            return {"role": "user", "content": text}
        image = {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}"}
        return {
            "type": "message",
            "role": "user",
            "content": [{"type": "input_text", "text": text}, *([image] if picture else [])],
        }

    def model(self, words: str, calls: Sequence[Call] = (), *, thought: str = "", in_blocks: bool = False) -> list[Message]:
        items: list[Message] = []
        if thought:
            summary = [{"type": "summary_text", "text": thought}]
            items.append({"type": "reasoning", "summary": summary, "encrypted_content": f"SEAL{thought[:9]}"})
        if words:
            content: Any = [{"type": "output_text", "text": words}] if in_blocks else words
            items.append(
                {"type": "message", "role": "assistant", "content": content}
                if in_blocks
                else {"role": "assistant", "content": content}
            )
        items += [
            {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": json.dumps(call.arguments)}
            for call in calls
        ]
        return items

    def results(self, results: Sequence[Result], beside: str = "") -> list[Message]:
        del beside
        return [
            {
                "type": "function_call_output",
                "call_id": result.call.id,
                "output": [{"type": "input_text", "text": result.text}] if result.in_blocks else result.text,
            }
            for result in results
        ]

    def body(self, messages: list[Message], *, system: str, words: str, thinking: bool) -> Message:
        described = [{"type": "function", **function} for function in tools(NAMES, words)]
        body = {"model": "m", "instructions": system, "input": messages, "tools": described, "store": False}
        return {**body, "include": ["reasoning.encrypted_content"]} if thinking else body


class Gemini(Spelling):
    dialect = "gemini"
    key = "contents"
    fuse = "yes"
    has_system = False
    words_beside = True

    def user(self, text: str, *, picture: bool = False, in_blocks: bool = False) -> Message:
        del in_blocks
        image = {"inlineData": {"mimeType": "image/png", "data": PNG}}
        return {"role": "user", "parts": [{"text": text}, *([image] if picture else [])]}

    def model(self, words: str, calls: Sequence[Call] = (), *, thought: str = "", in_blocks: bool = False) -> list[Message]:
        del in_blocks
        parts: list[Message] = [{"text": thought, "thought": True}] if thought else []
        if words:
            parts.append({"text": words})
        for at, call in enumerate(calls):
            made = {"name": call.name, "args": call.arguments}
            made |= {} if call.id.startswith("call_") else {"id": call.id}  # some clients give none
            seal = {"thoughtSignature": f"SIG{thought[:9]}"} if thought and at == 0 else {}
            parts.append({"functionCall": made, **seal})
        return [{"role": "model", "parts": parts}]

    def results(self, results: Sequence[Result], beside: str = "") -> list[Message]:
        parts: list[Message] = []
        for result in results:
            made = {"name": result.call.name, "response": {"output": result.text}}
            if result.in_blocks:
                made["response"] = {"output": result.text, "status": 0}
            if not result.call.id.startswith("call_"):
                made["id"] = result.call.id
            parts.append({"functionResponse": made})
        return [{"role": "user", "parts": [*parts, *([{"text": beside}] if beside else [])]}]

    def body(self, messages: list[Message], *, system: str, words: str, thinking: bool) -> Message:
        del thinking
        declared = [{"functionDeclarations": tools(NAMES, words)}]
        return {"systemInstruction": {"parts": [{"text": system}]}, "contents": messages, "tools": declared}


class Bedrock(Spelling):
    dialect = "bedrock"
    fuse = "yes"
    has_system = False
    words_beside = True

    def user(self, text: str, *, picture: bool = False, in_blocks: bool = False) -> Message:
        del in_blocks
        image = {"image": {"format": "png", "source": {"bytes": PNG}}}
        return {"role": "user", "content": [{"text": text}, *([image] if picture else [])]}

    def model(self, words: str, calls: Sequence[Call] = (), *, thought: str = "", in_blocks: bool = False) -> list[Message]:
        del in_blocks
        blocks: list[Message] = []
        if thought:
            blocks.append({"reasoningContent": {"reasoningText": {"text": thought, "signature": f"SIG{thought[:9]}"}}})
        if words:
            blocks.append({"text": words})
        blocks += [{"toolUse": {"toolUseId": call.id, "name": call.name, "input": call.arguments}} for call in calls]
        return [{"role": "assistant", "content": blocks}]

    def results(self, results: Sequence[Result], beside: str = "") -> list[Message]:
        blocks: list[Message] = [
            {
                "toolResult": {
                    "toolUseId": result.call.id,
                    "content": [{"json": {"said": result.text}}] if result.in_blocks else [{"text": result.text}],
                    "status": "success",
                }
            }
            for result in results
        ]
        return [{"role": "user", "content": [*blocks, *([{"text": beside}] if beside else [])]}]

    def body(self, messages: list[Message], *, system: str, words: str, thinking: bool) -> Message:
        del thinking
        specs = [
            {"toolSpec": {"name": one["name"], "description": one["description"], "inputSchema": {"json": one["parameters"]}}}
            for one in tools(NAMES, words)
        ]
        return {"modelId": "m", "system": [{"text": system}], "messages": messages, "toolConfig": {"tools": specs}}


NAMES: Final = ("read", "bash", "edit")

SPELLINGS: Final[dict[str, Spelling]] = {
    "anthropic": Anthropic(),
    "openai-chat": OpenAIChat(),
    "openai-responses": Responses(),
    "gemini": Gemini(),
    "bedrock": Bedrock(),
    "mistral": Mistral(),
    "strict-template": StrictTemplate(),
    "strict-template-no-tools": StrictTemplateNoTools(),
}
"""Every wire shape that compaction is tested on."""
