"""
Conversations as words over eight letters, and all the legal ones up to a length.

A letter is not a message but a *relation*: what a message is to those before
it.  So a word stands for every conversation of that shape, whatever its ids
and texts, and the words up to a length are all there is to say about order.

=====  ==================================================================
``p``  a prompt: the user's words
``t``  the model's words
``c``  the model makes one fresh call
``d``  the model makes two fresh calls
``a``  the result of the oldest call that has none yet; a stray if all have
``n``  the result of the newest such call, and where the dialect can, the
       user's words in the same message
``r``  a second result for the call answered last; a stray if there is none
``i``  a tool's picture, which travels as a user message
=====  ==================================================================

`legal_words` writes down the legal words from a grammar, without any
validator; `build` turns a word into messages.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import product
from typing import Any, Literal, Protocol, TypeAlias

__all__ = ["ARGUMENTS", "LETTERS", "MAKERS", "PICTURE", "Maker", "Mode", "build", "grammar", "legal_words", "words"]

LETTERS = "ptcdanri"
Mode: TypeAlias = Literal["request", "history"]
PICTURE = "iVBORw0KGgo="
ARGUMENTS = {"path": "a.txt"}


def words(max_length: int) -> Iterator[str]:
    """Every word of one letter and more, shorter ones first."""
    for length in range(1, max_length + 1):
        for letters in product(LETTERS, repeat=length):
            yield "".join(letters)


def grammar(dialect: str, max_length: int, mode: Mode = "request") -> re.Pattern[str]:
    """
    The language of legal words as a regular expression.

    A conversation is words and pictures in any order, and batches that are
    answered: calls, then one result for each.  A stored history may end in a
    batch that is not answered yet, with pictures behind what is.  Where
    neighbours are joined a batch may be any run of calls; that nests as
    brackets do, and as deep as half the word is long.  Words beside a result
    stand behind it, so there they may be only beside the last.
    """
    if dialect == "openai-chat":
        batch, frontier = "c[an]|d[an][an]", "c|d[an]?"
    else:
        inside = ""
        for _ in range(max_length // 2):
            inside = f"(?:c{inside}a|d{inside}aa)?"
        batch, frontier = f"c{inside}[an]|d{inside}a[an]", f"[cd]+{inside}|[cd]*d{inside}a"
    return re.compile(f"(?:[pti]|{batch})*(?:(?:{frontier})i*)?" if mode == "history" else f"(?:[pti]|{batch})+")


def legal_words(max_length: int, *, dialect: str = "anthropic", mode: Mode = "request") -> Iterator[str]:
    """
    Every legal word of one letter and more, each once, in no particular order.

    They are put together from their parts, so this is quick: ``tests`` compare
    it with the regular expression on all words.
    """
    whole: list[str] = ["p", "t", "i"]
    partly: set[str] = set()
    for length in range(1, max_length + 1):
        for run in map("".join, product("cd", repeat=length)):
            size = len(run) + run.count("d")
            if dialect == "openai-chat":
                if length > 1:
                    continue
                answers = ["".join(letters) for letters in product("an", repeat=size)]
            else:
                answers = ["a" * (size - 1) + last for last in "an"]
            whole += [run + answer for answer in answers if length + size <= max_length]
            partly.update(run + answer[:count] for answer in answers for count in range(size) if length + count <= max_length)
    heads = [""]
    while heads:
        head = heads.pop()
        if head:
            yield head
        heads += [head + part for part in whole if len(head) + len(part) <= max_length]
        if mode == "history":
            for tail in partly:
                yield from (head + tail + "i" * pictures for pictures in range(max_length - len(head) - len(tail) + 1))


def build(word: str, dialect: str = "anthropic") -> list[dict[str, Any]]:
    """The messages of *word* in *dialect*, ready for `compactlib.parse`; one message a letter."""
    maker = MAKERS[dialect]
    waiting: list[str] = []
    answered = ""
    made = 0
    messages = []
    for place, letter in enumerate(word):
        if letter in "cd":
            ids = [f"call_{made + n}" for n in range(2 if letter == "d" else 1)]
            made += len(ids)
            waiting += ids
            messages.append(maker.calls(ids))
        elif letter in "anr":
            key = f"stray_{place}"
            if letter == "r" and answered:
                key = answered
            elif letter != "r" and waiting:
                key = answered = waiting.pop(0 if letter == "a" else -1)
            messages.append(maker.result(key, f"output {place}", f"words {place}" if letter == "n" else ""))
        elif letter == "i":
            messages.append(maker.picture())
        else:
            messages.append(maker.words("user" if letter == "p" else "assistant", f"words {place}"))
    return messages


class Anthropic:
    """Messages of dialect anthropic."""

    def words(self, role: str, text: str) -> dict[str, Any]:
        return {"role": role, "content": text}

    def calls(self, ids: list[str]) -> dict[str, Any]:
        blocks = [{"type": "tool_use", "id": key, "name": "read", "input": ARGUMENTS} for key in ids]
        return {"role": "assistant", "content": blocks}

    def result(self, key: str, text: str, beside: str) -> dict[str, Any]:
        words = [{"type": "text", "text": beside}] if beside else []
        return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": key, "content": text}, *words]}

    def picture(self) -> dict[str, Any]:
        source = {"type": "base64", "media_type": "image/png", "data": PICTURE}
        return {"role": "user", "content": [{"type": "image", "source": source}]}


class OpenAIChat:
    """Messages of dialect openai-chat."""

    def words(self, role: str, text: str) -> dict[str, Any]:
        return {"role": role, "content": text}

    def calls(self, ids: list[str]) -> dict[str, Any]:
        arguments = json.dumps(ARGUMENTS)
        calls = [{"id": key, "type": "function", "function": {"name": "read", "arguments": arguments}} for key in ids]
        return {"role": "assistant", "content": None, "tool_calls": calls}

    def result(self, key: str, text: str, beside: str) -> dict[str, Any]:
        del beside  # a tool message holds no one's words
        return {"role": "tool", "tool_call_id": key, "content": text}

    def picture(self) -> dict[str, Any]:
        marker = {"type": "text", "text": "Attached image(s) from tool result:"}
        picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PICTURE}"}}
        return {"role": "user", "content": [marker, picture]}


class Maker(Protocol):
    """Writes the messages of one dialect."""

    def words(self, role: str, text: str) -> dict[str, Any]:
        """Words of ``user`` or ``assistant``."""

    def calls(self, ids: list[str]) -> dict[str, Any]:
        """The model calls, once for each id."""

    def result(self, key: str, text: str, beside: str) -> dict[str, Any]:
        """A result, and where the dialect can, words *beside* it."""

    def picture(self) -> dict[str, Any]:
        """A tool's picture, as a user message."""


MAKERS: dict[str, Maker] = {"anthropic": Anthropic(), "openai-chat": OpenAIChat()}
"""How a dialect's messages are written.  Whoever adds a dialect adds its line."""
