"""
What tools gave: each result with its call, and the pieces that can be cleared by themselves.

What this is
    `answered` pairs results with calls, `attachments` finds the messages that
    hold what a result could not, and `pieces_of` takes both apart: a text, a
    picture, a document, each with the bytes that a store would keep.

Rules it obeys
    * One pass each; linear in the number of blocks.
    * What is a stub already is no piece (law L10: a stub leads to the whole, and a stub
      of a stub would lead to a stub).
    * What a provider reads as more than text (a loaded tool, a computer's
      screen) is no piece.

What is not here
    Which pieces are cleared (`clearing`).
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final

from attrs import frozen

from .arguments import told
from .deeds import Deed, deed
from .errors import WireError
from .markers import Issued
from .model import Block, Call, Json, Media, Message, Opaque, Result, Text
from .recognition import is_bridge
from .stubs import read_stub
from .turns import Kind

__all__ = [
    "Answer",
    "Piece",
    "answered",
    "attachments",
    "bytes_of",
    "is_one_answer",
    "json_of",
    "pieces_of",
    "values_of",
]

_BY_TEXT: Final = frozenset({"computer_call_output", "mcp_approval_response", "tool_search_output"})
"""Results that have a shape of their own and may not become a text."""

_ONE_ANSWER: Final = frozenset({"functionResponse", "function_response"})
"""Results that hold one answer beside their media, so that no stub can take the place of the media alone."""


@frozen
class Answer:
    """
    A result and the call that it answers.

    Attributes:
        position, place: the result's message, and its place among the blocks.
        call_position, call_place: the same of the call.
        call: the call.
        result: the result.
    """

    position: int
    place: int
    call_position: int
    call_place: int
    call: Call
    result: Result

    @cached_property
    def did(self) -> Deed:
        """What the call did; read once, however many pieces the result has."""
        return deed(self.call)


def answered(messages: Sequence[Message]) -> Iterator[Answer]:
    """
    Each client result with its call, in order; linear.

    A result answers the nearest earlier message that has an unanswered call
    with its id, and in it the first such call.
    """
    waiting: dict[str, list[tuple[int, deque[tuple[int, Call]]]]] = {}
    for position, message in enumerate(messages):
        content = message.content
        if isinstance(content, str):
            continue
        for place, block in enumerate(content):
            if isinstance(block, Call):
                if block.is_client:
                    stack = waiting.setdefault(block.id, [])
                    if not stack or stack[-1][0] != position:
                        stack.append((position, deque()))
                    stack[-1][1].append((place, block))
            elif isinstance(block, Result) and block.is_client and (stack := waiting.get(block.call_id, [])):
                at, calls = stack[-1]
                yield Answer(position, place, at, *calls.popleft(), block)
                if not calls:
                    stack.pop()


def attachments(messages: Sequence[Message], kinds: Sequence[Kind], answers: Sequence[Answer]) -> Mapping[int, list[int]]:
    """
    For the number of an answer the positions of the messages that hold its media, because its result could not.

    An attachment belongs to the last result of the run before it; a client's
    bridge may stand between.
    """
    last = {answer.position: number for number, answer in enumerate(answers)}
    found: dict[int, list[int]] = {}
    owner: int | None = None
    for position, kind in enumerate(kinds):
        if kind is Kind.RESULT:
            owner = last.get(position, owner)
        elif kind is Kind.ATTACHMENT:
            if owner is not None:
                found.setdefault(owner, []).append(position)
        elif kind is not Kind.HARNESS and not (kind is Kind.MODEL and is_bridge(messages[position])):
            owner = None
    return found


@frozen
class Piece:
    """
    One thing that can be cleared.

    Attributes:
        answer: the answer it belongs to.
        part: its place in the result's content, -1 where that is one text.
        data: what a store keeps of it.
        text: the same as text; ``None`` if it is none.
        what: ``result``, or what kind of media it is.
        at: where it stands if not in the result: the attached message, and its place among the blocks.
    """

    answer: Answer
    part: int
    data: bytes
    text: str | None
    what: str
    at: tuple[int, int] | None = None

    @property
    def spot(self) -> tuple[int, int]:
        """The message and the block in which it stands."""
        return self.at or (self.answer.position, self.answer.place)


def pieces_of(answer: Answer, messages: Sequence[Message], attached: Sequence[int], issued: Issued) -> list[Piece]:
    """What of a result, and of the messages *attached* to it, can be cleared by itself."""
    pieces = list(_in_result(answer, issued))
    for position in attached:
        for place, block in enumerate(messages[position].blocks):
            if isinstance(block, Media):
                pieces.append(Piece(answer, -1, json_of(block.source), None, block.kind, (position, place)))
    return pieces


def _in_result(answer: Answer, issued: Issued) -> Iterator[Piece]:
    content = answer.result.content
    if answer.result.wire.tag in _BY_TEXT:
        return
    if isinstance(content, str):
        if read_stub(content, issued=issued) is None:
            yield Piece(answer, -1, bytes_of(content), content, "result")
        return
    blocks = content or ()
    if is_one_answer(answer.result):
        yield Piece(answer, -1, values_of(blocks), None, "result")
        return
    for part, block in enumerate(blocks):
        if isinstance(block, Text):
            if read_stub(block.text, issued=issued) is None:
                yield Piece(answer, part, bytes_of(block.text), block.text, "result")
        elif isinstance(block, Media):
            yield Piece(answer, part, json_of(block.source), None, block.kind)
        elif isinstance(block, Opaque) and block.kind not in ("tool_reference", "search_result"):
            yield Piece(answer, part, json_of(block.value), None, "result")


def is_one_answer(result: Result) -> bool:
    """Whether a result of several blocks is cleared as a whole."""
    return result.wire.tag in _ONE_ANSWER and any(not isinstance(block, Text) for block in result.blocks)


def bytes_of(text: str) -> bytes:
    """A text as a store keeps it."""
    return text.encode("utf-8", "surrogatepass")


def values_of(blocks: Sequence[Block]) -> bytes:
    """Blocks of a result as a store keeps them where they are more than texts."""
    return json_of([getattr(block, "text", getattr(block, "source", getattr(block, "value", None))) for block in blocks])


def json_of(value: Json, *, is_sorted: bool = False) -> bytes:
    """
    A value as a store keeps it; with its keys sorted, to be compared.

    Raises:
        WireError: it was made by hand, and is no JSON value.
    """
    try:
        return bytes_of(json.dumps(value, ensure_ascii=False, sort_keys=is_sorted, separators=(",", ":")))
    except (RecursionError, TypeError, ValueError) as error:
        raise WireError("$", f"no JSON value: {told(error)}") from None
