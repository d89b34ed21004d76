"""
What a provider says that a request was, and counting on from there.

What this is
    `read_usage` reads the figures of a reply, `Anchor` ties a size to a place
    in the conversation, and `AskCount` asks for the size of a whole request
    where a provider has an endpoint that counts.

Rules it obeys
    * Usage is typed by dialect.  Anthropic and Bedrock report what came from
      the cache *beside* the input, everybody else reports it as a *part* of the
      input.  To read one for the other is wrong by the whole cache.
    * A reported size is believed before any estimate, and only up to where it
      was reported: what came later is estimated and added.
    * Two units are never mixed: where a report decides that something is due,
      what is cut and kept is counted in proportion to it (`Corrected`).
    * Nothing here sends or waits.

What is not here
    Whether a report is stale: the session decides by the id of the request.
    Money: the ledger.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from attrs import Attribute, field, frozen

from ..arguments import LARGEST, need, need_whole, shown
from ..errors import PolicyError, WireError
from ..model import Conversation, Json, need_conversation
from .counting import Memo
from .estimator import Counter

__all__ = ["Anchor", "AskCount", "Corrected", "Usage", "read_usage"]


_LARGEST_FIGURE: Final = LARGEST // 4
"""Of one figure in a report: some are added up."""


def _size(instance: object, attribute: Attribute[int], value: object) -> None:
    del instance
    need_whole(attribute.name, value)


def _text(instance: object, attribute: Attribute[str], value: object) -> None:
    del instance
    need(attribute.name, value, str, "a text")


def _conversation(instance: object, attribute: Attribute[Conversation], value: object) -> None:
    del instance, attribute
    need_conversation(value)


@frozen(kw_only=True)
class Usage:
    """
    What one request was, all figures in tokens.

    Attributes:
        dialect: whose report this was.
        prompt_tokens: the whole prompt, cached parts included: what the window has to hold.
        cached_tokens: the part of it that was read from the cache.
        written_tokens: the part of it that was written to the cache.
        answer_tokens: what the model wrote, its reasoning included.

    Raises:
        PolicyError: on construction, for a value that is impossible.
    """

    dialect: str = field(validator=_text)
    prompt_tokens: int = field(validator=_size)
    cached_tokens: int = field(default=0, validator=_size)
    written_tokens: int = field(default=0, validator=_size)
    answer_tokens: int = field(default=0, validator=_size)


@frozen(kw_only=True)
class _Report:
    """Where a dialect's figures stand, as paths of keys; several answers are added up."""

    prompt: str
    answer: tuple[str, ...]
    cached: tuple[str, ...] = ()
    written: str = ""
    is_apart: bool = False
    """Whether the cache's figures come on top of the prompt's."""


_CHAT: Final = _Report(
    prompt="prompt_tokens",
    answer=("completion_tokens",),
    cached=("prompt_tokens_details.cached_tokens", "prompt_cache_hit_tokens"),
)
_REPORTS: Final[Mapping[str, _Report]] = {
    "anthropic": _Report(
        prompt="input_tokens",
        answer=("output_tokens",),
        cached=("cache_read_input_tokens",),
        written="cache_creation_input_tokens",
        is_apart=True,
    ),
    "bedrock": _Report(
        prompt="inputTokens",
        answer=("outputTokens",),
        cached=("cacheReadInputTokens",),
        written="cacheWriteInputTokens",
        is_apart=True,
    ),
    "openai-chat": _CHAT,
    "mistral": _CHAT,
    "openai-responses": _Report(prompt="input_tokens", answer=("output_tokens",), cached=("input_tokens_details.cached_tokens",)),
    "gemini": _Report(
        prompt="promptTokenCount", answer=("candidatesTokenCount", "thoughtsTokenCount"), cached=("cachedContentTokenCount",)
    ),
}


def read_usage(dialect: str, report: Mapping[str, Json]) -> Usage:
    """
    Read the ``usage`` object of a reply.

    The same numbers mean different sizes:

    >>> read_usage("anthropic", {"input_tokens": 40, "cache_read_input_tokens": 9_000, "output_tokens": 7}).prompt_tokens
    9040
    >>> read_usage(
    ...     "openai-chat",
    ...     {"prompt_tokens": 9_040, "prompt_tokens_details": {"cached_tokens": 9_000}, "completion_tokens": 7},
    ... ).prompt_tokens
    9040

    Raises:
        PolicyError: there is no such dialect.
        WireError: a figure is missing that must be there, or is no whole number of at least 0.
    """
    need("dialect", dialect, str, "the name of a dialect")
    form = _REPORTS.get(dialect)
    if form is None:
        raise PolicyError("dialect", f"{shown(dialect)} is none of {', '.join(sorted(_REPORTS))}")
    if not isinstance(report, Mapping):
        raise WireError("$.usage", f"is to be an object, not {type(report).__name__}")
    prompt = _figure(report, form.prompt)
    if prompt is None:
        others = ", ".join(name for name, other in sorted(_REPORTS.items()) if _figure(report, other.prompt) is not None)
        raise WireError(f"$.usage.{form.prompt}", "is missing", hint=f"this looks like a report of {others}" if others else None)
    cached = next((found for found in (_figure(report, path) for path in form.cached) if found is not None), 0)
    written = _figure(report, form.written) or 0
    return Usage(
        dialect=dialect,
        prompt_tokens=prompt + cached + written if form.is_apart else prompt,
        cached_tokens=cached,
        written_tokens=written,
        answer_tokens=sum(_figure(report, path) or 0 for path in form.answer),
    )


def _figure(report: Mapping[str, Json], path: str) -> int | None:
    """The figure at *path*, ``None`` if it is absent or null."""
    value: Json = report
    for key in path.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    if value is None:
        return None
    if type(value) is not int or not 0 <= value <= _LARGEST_FIGURE:
        raise WireError(f"$.usage.{path}", f"is to be a whole number of at least 0, not {shown(value)}")
    return value


@frozen
class Anchor:
    """
    A reported size, and how far into the conversation it reaches.

    Attributes:
        reported_tokens: the request up to `position`, overhead included.
        position: how many messages it covers, as the wire counts them: the length of the list that was sent.

    >>> from compactlib.dialects import parse
    >>> sent = [{"role": "user", "content": "Run the tests."}, {"role": "assistant", "content": "They pass."}]
    >>> Anchor(1_200, 1).size(parse(sent, dialect="openai-chat"), Memo(len))
    1214
    """

    reported_tokens: int = field(validator=_size)
    position: int = field(validator=_size)

    def covered(self, conversation: Conversation) -> int | None:
        """
        How many of its messages the report tells of.

        ``None`` if it tells of another conversation: of more messages than there are, or of what has been compacted since.
        That can be seen only until the conversation is sent and parsed again, so drop the anchor after a compaction.

        Raises:
            PolicyError: *conversation* is none.
        """
        need_conversation(conversation)
        stop = conversation.position(self.position)
        return stop if conversation.settled <= stop <= len(conversation.messages) else None

    def size(self, conversation: Conversation, memo: Memo) -> int:
        """
        The tokens of the whole request: what was reported, and the estimate of what came after.

        Raises:
            PolicyError: the report tells of another conversation; or *conversation* or *memo* are none.
        """
        need("memo", memo, Memo, "a Memo")
        stop = self.covered(conversation)
        if stop is None:
            raise PolicyError("anchor", f"covers {self.position} messages of a conversation that is not this one, or no longer")
        return self.reported_tokens + memo.messages(conversation.messages[stop:])


@frozen
class Corrected:
    """
    A counter that agrees with a report: what *counter* says of a text, in the proportion of what was reported and counted.

    An estimate may be off by half in one script and by a third in another; a
    tail that is cut by it would be larger than the whole target.

    >>> Corrected(len, reported_tokens=30, counted_tokens=10)("four")
    12
    """

    counter: Counter
    reported_tokens: int
    counted_tokens: int

    def __call__(self, text: str) -> int:
        """The tokens of *text*, to the nearest whole one."""
        return (2 * self.counter(text) * self.reported_tokens + self.counted_tokens) // (2 * self.counted_tokens)


@frozen
class AskCount:
    """
    The question how large *conversation* is, for a provider's counting endpoint.

    Whoever holds the connection sends it and answers with `anchor`.  The answer
    corrects the estimates from then on; it never replaces the counter of texts,
    for a network cannot be asked at every cut.

    Raises:
        PolicyError: on construction, for what is no conversation; by `anchor`,
            for what is no size.
    """

    conversation: Conversation = field(validator=_conversation)

    def anchor(self, counted_tokens: int) -> Anchor:
        """The answer as an anchor at the end of the conversation."""
        return Anchor(counted_tokens, self.conversation.length)
