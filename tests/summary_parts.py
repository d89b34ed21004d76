"""Builders for conversations whose origins are stated, as the compactor hands them to a summariser."""

from __future__ import annotations

from collections.abc import Sequence

from compactlib.model import Call, Json, Media, Message, Origin, Result, Text, wire
from compactlib.summaries.rendering import SummaryRequest, render_request
from compactlib.summaries.schema import SCHEMAS
from compactlib.tokens import estimate

FULL = SCHEMAS["full"]


def human(text: str) -> Message:
    """A prompt."""
    return Message("user", text, wire("user"), Origin.HUMAN)


def model(text: str = "", *calls: Call) -> Message:
    """A model message: words, then calls."""
    words = (Text(text),) if text else ()
    return Message("model", (*words, *calls), wire("assistant"), Origin.MODEL)


def call(id: str, name: str, arguments: Json) -> Call:  # noqa: A002  # the wire's word
    """A client tool call."""
    return Call(id, name, arguments, wire("tool_use"))


def result(id: str, text: str, *, error: bool = False, beside: str = "") -> Message:  # noqa: A002  # the wire's word
    """A user message with one result, perhaps with a person's words beside it."""
    shape = wire("tool_result")
    if error:
        shape = type(shape)("tool_result", ("type", "is_error"), (("is_error", True),))
    words = (Text(beside),) if beside else ()
    origins = (Origin.TOOL, *(Origin.HUMAN for _ in words))
    return Message("user", (Result(id, text, shape), *words), wire("user"), origins)


def picture() -> Message:
    """A prompt that is one picture."""
    return Message("user", (Media("image", "image/png", "iVBORw0K" * 8, None, {}, wire("image")),), wire("user"), Origin.HUMAN)


def ask(
    messages: Sequence[Message],
    *,
    previous: str = "",
    max_tokens: int = 2_000,
    budget_tokens: int = 60_000,
    schema: str = "full",
    context: str = "",
    under_way: int | None = None,
) -> SummaryRequest:
    """The only request that shows *messages*."""
    [request] = render_request(
        messages,
        schema=SCHEMAS[schema],
        max_tokens=max_tokens,
        budget_tokens=budget_tokens,
        counter=estimate,
        previous=previous,
        context=context,
        under_way=under_way,
    )
    return request
