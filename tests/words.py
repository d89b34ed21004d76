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
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import chain, product
from typing import Any, Literal, Protocol, TypeAlias

__all__ = [
    "ARGUMENTS",
    "LETTERS",
    "MAKERS",
    "PICTURE",
    "Maker",
    "Mode",
    "build",
    "conversations",
    "grammar",
    "legal_words",
    "words",
]

LETTERS = "ptcdanri"
SEPARATE = frozenset({"mistral", "openai-chat"})
"""The dialects in which each message stands for itself and results are messages of their own."""
COUNTED = frozenset({"gemini"})
"""The dialects that count the results of a turn, and do not match them."""
FREE = frozenset({"openai-responses"})
"""The dialects in which a result may stand anywhere behind its call."""
AT_ONCE = frozenset({"bedrock"})
"""The dialects that join neighbours, but want all results of a batch in one message, and no calls in the first."""
USER_LAST = frozenset({"mistral"})
"""The dialects in which a request may not end with the model's words."""
Mode: TypeAlias = Literal["request", "history"]
PICTURE = "iVBORw0KGgo="
ARGUMENTS = {"path": "a.txt"}


def words(max_length: int) -> Iterator[str]:
    """Every word of one letter and more, shorter ones first."""
    for length in range(1, max_length + 1):
        for letters in product(LETTERS, repeat=length):
            yield "".join(letters)


def conversations(spelled: Iterable[str], dialect: str) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """
    Words with their messages, each conversation once, under the first word for it.

    Several words stand for the same where only one call is open, or none, and
    the dialect has no place for words beside a result.
    """
    known = set()
    for word in spelled:
        messages = build(word, dialect)
        text = json.dumps(messages)
        if text not in known:
            known.add(text)
            yield word, messages


def grammar(dialect: str, max_length: int, mode: Mode = "request") -> re.Pattern[str]:
    """
    The language of legal words as a regular expression.

    A conversation is words and pictures in any order, and batches that are
    answered: calls, then one result for each.  A stored history may end in a
    batch that is not answered yet, with pictures behind what is.  Where
    neighbours are joined a batch may be any run of calls; that nests as
    brackets do, and as deep as half the word is long.  Words beside a result
    stand behind it, so there they may be only beside the last.  Where results
    are counted, see `_counted_grammar`; where they are free, `_free_grammar`;
    where they stand in one message, `_at_once_grammar`.
    """
    if dialect in AT_ONCE:
        return _at_once_grammar(mode)
    if dialect in COUNTED:
        return _counted_grammar(max_length, mode)
    if dialect in FREE:
        return _free_grammar(max_length, mode)
    if dialect in SEPARATE:
        batch, frontier = "c[an]|d[an][an]", "c|d[an]?"
    else:
        inside = ""
        for _ in range(max_length // 2):
            inside = f"(?:c{inside}a|d{inside}aa)?"
        batch, frontier = f"c{inside}[an]|d{inside}a[an]", f"[cd]+{inside}|[cd]*d{inside}a"
    if mode == "history":
        return re.compile(f"(?:[pti]|{batch})*(?:(?:{frontier})i*)?")
    last = "pi" if dialect in USER_LAST else "pti"
    return re.compile(f"(?:[pti]|{batch})*(?:[{last}]|{batch})")


def _at_once_grammar(mode: Mode) -> re.Pattern[str]:
    """
    The language where all results of a batch stand in one message.

    As each letter is a message with one result at most, a batch is one call,
    perhaps with more of the model's words behind it.  A stored history may end
    in more calls, and in one result of theirs.  The first message may not call.
    """
    legal = "(?![cd])(?:[pti]|ct*[an])+"
    return re.compile(legal if mode == "request" else f"{legal}(?:(?:[cd][cdt]*|(?:d|ct*[cd])[cdt]*a)i*)?")


def _counted_grammar(max_length: int, mode: Mode) -> re.Pattern[str]:
    """
    The language where neighbours of one side are one turn, and a turn has as many results as the one before it has calls.

    A turn without any result is in order too, but calls may not stand first,
    nor last in a request.  A stored history may end in calls, or in a turn that
    has some of the results and no person's words.
    """
    exactly = ["t*", "t*ct*"]  # runs of the model's messages with as many calls
    at_least = ["[tcd]*", "t*[cd][tcd]*"]
    for _ in range(max_length):
        for runs in (exactly, at_least):
            runs.append(f"t*(?:c{runs[-1]}|d{runs[-2]})")
    answered = [f"{exactly[count]}[pi]*(?:[anr][pi]*){{{count}}}" for count in range(1, max_length)]
    partly = [f"{at_least[count + 1]}i*(?:[ar]i*){{{count}}}" for count in range(1, max_length)]
    pairs = f"(?:[tcd]+[pi]+|{'|'.join(answered)})*"
    last = f"(?:[tcd]*|{'|'.join(partly)})" if mode == "history" else "t*"
    return re.compile(f"t*[pi]+{pairs}{last}|t+")


def _free_grammar(max_length: int, mode: Mode) -> re.Pattern[str]:
    """
    The language where a result may stand anywhere behind its call: the open calls are the level of a walk that ends at 0.

    A stored history may end above 0, if what is open was called in the last
    response, a run of the model's messages, behind which no person has spoken.
    Results take the oldest call or the newest, so that all calls of earlier
    responses are answered iff enough of them take the oldest.
    """
    deepest = max_length // 2 + 1

    @cache
    def level(up: int) -> str:
        """Walks from this level to it again, and never below."""
        if up >= deepest:
            return "[pti]*"
        return f"(?:[pti]|c{level(up + 1)}[an]|d{level(up + 2)}[an]{level(up + 1)}[an])*"

    def climb(by: int, up: int = 0) -> str:
        """Walks that end so much higher, and never go below where they begin."""
        if not by:
            return level(up)
        two = f"|d{climb(by - 2, up + 2)}" if by > 1 else ""
        return f"{level(up)}(?:c{climb(by - 1, up + 1)}|d{level(up + 1)}[an]{climb(by - 1, up + 1)}{two})"

    def response(calls: int) -> str:
        """Runs with at least so many calls."""
        return f"t*(?:c{response(calls - 1)}|d{response(calls - 2)})" if calls > 0 else "[tcd]*"

    def answers(count: int, oldest: int) -> str:
        """So many results, of which at least so many answer the oldest call."""
        if not oldest:
            return f"i*(?:[an]i*){{{count}}}"
        newest = f"|n{answers(count - 1, oldest)}" if count > oldest else ""
        return f"i*(?:a{answers(count - 1, oldest - 1)}{newest})"

    if mode == "request":
        return re.compile(level(0))
    frontiers = []
    for before in range(max_length // 2 + 1):
        counts = range(before, max_length - before)
        last = "|".join(response(count - before + 1) + answers(count, before) for count in counts)
        frontiers += [f"{climb(before)}(?<![tcd])(?:{last})"] if last else []
    return re.compile("|".join([level(0), *frontiers]))


def legal_words(max_length: int, *, dialect: str = "anthropic", mode: Mode = "request") -> Iterator[str]:
    """
    Every legal word of one letter and more, each once, in no particular order.

    They are put together from their parts, so this is quick: ``tests`` compare
    it with the regular expression on all words.
    """
    if dialect in COUNTED or dialect in FREE:
        yield from (_counted_words if dialect in COUNTED else _free_words)(max_length, mode)
        return
    if dialect in AT_ONCE:
        yield from _at_once_words(max_length, mode)
        return
    whole: list[str] = ["p", "t", "i"]
    partly: set[str] = set()
    for length in range(1, max_length + 1):
        for run in map("".join, product("cd", repeat=length)):
            size = len(run) + run.count("d")
            if dialect in SEPARATE:
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
        if head and not (mode == "request" and dialect in USER_LAST and head[-1] == "t"):
            yield head
        heads += [head + part for part in whole if len(head) + len(part) <= max_length]
        if mode == "history":
            for tail in partly:
                yield from (head + tail + "i" * pictures for pictures in range(max_length - len(head) - len(tail) + 1))


def _at_once_words(max_length: int, mode: Mode) -> Iterator[str]:
    """`legal_words` where results stand in one message: parts of one call, put behind each other, and an open end."""
    runs = [first + "".join(more) for length in range(max_length) for first in "cd" for more in product("cdt", repeat=length)]
    single = [run for run in runs if run.count("c") + 2 * run.count("d") == 1]
    whole = ["p", "t", "i", *(run + answer for run in single for answer in "an")]
    ends = [*runs, *(run + "a" for run in runs if run not in single)] if mode == "history" else []
    heads = ["p", "t", "i"]
    while heads:
        head = heads.pop()
        yield head
        heads += [head + part for part in whole if len(head + part) <= max_length]
        for end in ends:
            yield from (head + end + "i" * pictures for pictures in range(max_length - len(head + end) + 1))


def _counted_words(max_length: int, mode: Mode) -> Iterator[str]:
    """`legal_words` where results are counted: turns of the model's and of the user's by turns."""
    sides = {
        letters: [["".join(turn) for turn in product(letters, repeat=length)] for length in range(1, max_length + 1)]
        for letters in ("tcd", "panri")
    }
    models, users = (list(chain.from_iterable(sides[letters])) for letters in ("tcd", "panri"))
    pairs: list[list[str]] = [[] for _ in range(max_length + 1)]  # by length
    tails = {turn for turn in models if mode == "history" or set(turn) == {"t"}}
    for model in models:
        count = model.count("c") + 2 * model.count("d")
        for user in chain.from_iterable(sides["panri"][: max_length - len(model)]):
            results = sum(map(user.count, "anr"))
            if results in (0, count):
                pairs[len(model + user)].append(model + user)
            elif mode == "history" and results < count and not {"p", "n"} & set(user):
                tails.add(model + user)
    heads = [word for word in (*users, *chain.from_iterable(pairs)) if set(word) <= set("pit")]
    yield from (turn for turn in models if set(turn) == {"t"})
    while heads:
        head = heads.pop()
        yield head
        heads += [head + pair for pair in chain.from_iterable(pairs[: max_length - len(head) + 1])]
        if len(head) < max_length:
            yield from (head + tail for tail in tails if len(head) + len(tail) <= max_length)


def _free_words(max_length: int, mode: Mode) -> Iterator[str]:
    """`legal_words` where results are free: all walks over the open calls, each of which is of the last response or not."""
    walks: list[tuple[str, tuple[bool, ...]]] = [("", ())]
    while walks:
        word, waiting = walks.pop()
        if word and (not waiting or (mode == "history" and all(waiting))):
            yield word
        if len(word) == max_length:
            continue
        passed = (False,) * len(waiting)
        spoken = waiting if word[-1:] in ("t", "c", "d") else passed  # when the model speaks, its response goes on or begins
        walks += [(word + "p", passed), (word + "i", waiting), (word + "t", spoken)]
        walks += [(word + "c", (*spoken, True)), (word + "d", (*spoken, True, True))]
        if waiting:
            walks += [(word + "a", waiting[1:]), (word + "n", waiting[:-1])]


def build(word: str, dialect: str = "anthropic") -> list[dict[str, Any]]:
    """The messages of *word* in *dialect*, ready for `compactlib.parse`; one message a letter, but for calls that are items."""
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
            calls = maker.calls(ids)
            messages += calls if isinstance(calls, list) else [calls]
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


class Bedrock:
    """Messages of dialect bedrock."""

    def words(self, role: str, text: str) -> dict[str, Any]:
        return {"role": role, "content": [{"text": text}]}

    def calls(self, ids: list[str]) -> dict[str, Any]:
        blocks = [{"toolUse": {"toolUseId": key, "name": "read", "input": ARGUMENTS}} for key in ids]
        return {"role": "assistant", "content": blocks}

    def result(self, key: str, text: str, beside: str) -> dict[str, Any]:
        words = [{"text": beside}] if beside else []
        return {"role": "user", "content": [{"toolResult": {"toolUseId": key, "content": [{"text": text}]}}, *words]}

    def picture(self) -> dict[str, Any]:
        return {"role": "user", "content": [{"image": {"format": "png", "source": {"bytes": PICTURE}}}]}


class Mistral(OpenAIChat):
    """Messages of dialect mistral: ids have nine characters."""

    def calls(self, ids: list[str]) -> dict[str, Any]:
        return super().calls([self.short(key) for key in ids])

    def result(self, key: str, text: str, beside: str) -> dict[str, Any]:
        return super().result(self.short(key), text, beside)

    def short(self, key: str) -> str:
        return key.replace("_", "").rjust(9, "0")


class Gemini:
    """Contents of dialect gemini."""

    def words(self, role: str, text: str) -> dict[str, Any]:
        return {"role": "model" if role == "assistant" else role, "parts": [{"text": text}]}

    def calls(self, ids: list[str]) -> dict[str, Any]:
        return {"role": "model", "parts": [{"functionCall": {"id": key, "name": "read", "args": ARGUMENTS}} for key in ids]}

    def result(self, key: str, text: str, beside: str) -> dict[str, Any]:
        words = [{"text": beside}] if beside else []
        response = {"functionResponse": {"id": key, "name": "read", "response": {"output": text}}}
        return {"role": "user", "parts": [response, *words]}

    def picture(self) -> dict[str, Any]:
        picture = {"inlineData": {"mimeType": "image/png", "data": PICTURE}}
        return {"role": "user", "parts": [{"text": "Tool result image:"}, picture]}


class OpenAIResponses:
    """Items of dialect openai-responses: each call is one."""

    def words(self, role: str, text: str) -> dict[str, Any]:
        return {"role": role, "content": text}

    def calls(self, ids: list[str]) -> list[dict[str, Any]]:
        arguments = json.dumps(ARGUMENTS)
        return [{"type": "function_call", "call_id": key, "name": "read", "arguments": arguments} for key in ids]

    def result(self, key: str, text: str, beside: str) -> dict[str, Any]:
        del beside  # an output holds no one's words
        return {"type": "function_call_output", "call_id": key, "output": text}

    def picture(self) -> dict[str, Any]:
        marker = {"type": "input_text", "text": "Attached image(s) from tool result:"}
        return {"role": "user", "content": [marker, {"type": "input_image", "image_url": f"data:image/png;base64,{PICTURE}"}]}


class Maker(Protocol):
    """Writes the messages of one dialect."""

    def words(self, role: str, text: str) -> dict[str, Any]:
        """Words of ``user`` or ``assistant``."""

    def calls(self, ids: list[str]) -> dict[str, Any] | list[dict[str, Any]]:
        """The model calls, once for each id, in one message or in one each."""

    def result(self, key: str, text: str, beside: str) -> dict[str, Any]:
        """A result, and where the dialect can, words *beside* it."""

    def picture(self) -> dict[str, Any]:
        """A tool's picture, as a user message."""


MAKERS: dict[str, Maker] = {
    "anthropic": Anthropic(),
    "bedrock": Bedrock(),
    "gemini": Gemini(),
    "mistral": Mistral(),
    "openai-chat": OpenAIChat(),
    "openai-responses": OpenAIResponses(),
}
"""How a dialect's messages are written.  Whoever adds a dialect adds its line."""
