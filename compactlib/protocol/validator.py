"""
The validator: what a provider would refuse, and why.

What this is
    `check` judges a whole conversation; `Validator` judges one as it grows,
    a message at a time.  Both give `Violation` values in order: the rule, the
    place, what stands there, what was expected, and the safe fix.

Rules it obeys
    * Law L1.  It shares no code with the engine whose output it judges: it
      pairs calls by itself and knows nothing of turns, cuts or summaries.
    * Feeding a message costs what the message is long, whether it is the
      tenth or the hundred-thousandth.  A full check is a fold of `feed`.
    * Two readings of validity.  A *request* is sent now.  A *history* is put
      aside and may end at a frontier: with open calls of the last model
      message, behind which stand only results of that batch, their
      attachments and harness messages (law L4).
    * Levels follow what providers were recorded to do; `rules` says where that
      was seen.

How it works
    A `Reader` of the dialect turns messages into the events of the automaton
    and judges their contents; `request` judges settings, tools and system.
    What only a later message can decide is found when that message comes, so a
    violation may concern an earlier message than the one being fed; what only
    the end can decide is what `finish` adds.

Adjusted against the written rules, and why
    * An id used again is an error inside one assistant message and a warning
      in a later one, of the same turn too: a recorded request was accepted.
    * Empty results and references to undeclared tools or advisors are errors
      though only clients' code speaks of them: nothing recorded contradicts it.
    * Forced tools are an error under adaptive thinking too: a recorded refusal.
    * A picture by file id in a result is a warning: refused and accepted, by a
      header that no body shows.
    * Arguments that are no JSON are an error of O-ARGS-01; empty arguments a
      warning, because clients read them as ``{}``.

What is not here
    Repairing (`protocol.repair`) and the wire shapes (`compactlib.dialects`).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, get_args

from ..arguments import need, need_one_of, need_whole, shown
from ..errors import PolicyError
from ..model import Conversation, Json, Message, Origin, need_conversation
from .profiles import Profile, profile_named
from .reader import Around, Mode, Reader
from .request import violations_around
from .violation import Violation, in_order

__all__ = ["Mode", "Validator", "Violation", "check"]

_NOTHING: Final[Mapping[int, Json]] = MappingProxyType({})


_READERS: Final[Mapping[str, tuple[str, str]]] = {
    "anthropic": ("anthropic", "AnthropicReader"),
    "atif": ("atif", "AtifReader"),
    "bedrock": ("bedrock", "BedrockReader"),
    "mcp-sampling": ("mcp_sampling", "McpSamplingReader"),
    "mistral": ("mistral", "MistralReader"),
    "openai-chat": ("openai_chat", "OpenAIChatReader"),
    "openai-responses": ("openai_responses", "OpenAIResponsesReader"),
    "gemini": ("gemini", "GeminiReader"),
}
"""The module and the class that read each dialect; loaded when it is asked for."""

_DEMANDING: Final[Mapping[str, tuple[str, str]]] = {"openai-chat": ("compatible", "CompatibleReader")}
"""The same for profiles that add rules to their dialect's (`Profile.demands`), where that takes a reader of its own."""


def _reader(dialect: str, *, is_demanding: bool = False) -> Callable[[Profile, Around], Reader]:
    known = (_DEMANDING.get(dialect) if is_demanding else None) or _READERS.get(dialect)
    if known is None:
        raise PolicyError("dialect", f"{shown(dialect)} can be read and written, and not yet be judged")
    module, name = known
    make: Callable[[Profile, Around], Reader] = getattr(importlib.import_module(f".{module}", __package__), name)
    return make


def _check_arguments(conversation: Any, mode: Any, profile: Any, original: Any, prompt_tokens: Any, window_tokens: Any) -> None:
    """Whether the arguments of a judge are what they are declared to be."""
    need_conversation(conversation)
    need_one_of("mode", mode, get_args(Mode))
    if profile is not None:
        need("profile", profile, Profile | str, "the name of a profile")
    need("original", original, Mapping, "blocks by the index of their message")
    for name, tokens in (("prompt_tokens", prompt_tokens), ("window_tokens", window_tokens)):
        if tokens is not None:
            need_whole(name, tokens)


class Validator:
    """
    A conversation's judge, fed as the conversation grows.

    Args:
        around: the conversation whose settings, system and tools stand around
            the messages; its messages are not read.  A dialect's name will do
            where there is nothing around them.
        mode: what it means to end: ``request`` or ``history``.
        profile: how the provider wants it; by default the dialect's own.
        original: blocks of model messages as the provider returned them, by
            wire index, to find altered thinking (law L5).
        prompt_tokens, window_tokens: the prompt's size and the model's window,
            where known.

    Raises:
        PolicyError: the dialect or the profile is not known, they do not fit,
            or an argument is not what it is declared to be.

    >>> from compactlib.dialects import parse
    >>> body = [
    ...     {"role": "user", "content": "hi"},
    ...     {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "ls", "input": {}}]},
    ...     {"role": "user", "content": "go on"},
    ...     {"role": "assistant", "content": "fine"},
    ... ]
    >>> judge = Validator("anthropic")
    >>> [[found.rule for found in judge.feed(message)] for message in parse(body, dialect="anthropic").messages]
    [[], [], [], ['A-PAIR-01']]
    """

    __slots__ = ("_mode", "_reader", "profile")

    def __init__(
        self,
        around: Conversation | str,
        *,
        mode: Mode = "request",
        profile: Profile | str | None = None,
        original: Mapping[int, Json] = _NOTHING,
        prompt_tokens: int | None = None,
        window_tokens: int | None = None,
    ) -> None:
        conversation = Conversation(around, ()) if isinstance(around, str) else around
        _check_arguments(conversation, mode, profile, original, prompt_tokens, window_tokens)
        make = _reader(conversation.dialect)
        self.profile: Final = profile_named(profile or conversation.dialect) if not isinstance(profile, Profile) else profile
        if self.profile.dialect != conversation.dialect:
            raise PolicyError("profile", f"{self.profile.name!r} is for {self.profile.dialect}, not for {conversation.dialect}")
        if self.profile.demands:
            make = _reader(conversation.dialect, is_demanding=True)
        root = "" if conversation.envelope.fields is None else f"/{self.profile.messages_key}"
        self._mode: Final = mode
        self._reader: Final = make(self.profile, Around(conversation, original, prompt_tokens, window_tokens, root))

    @property
    def expected(self) -> str:
        """What may come now, in words."""
        return self._reader.expected

    def feed(self, message: Message, *fused: Message) -> tuple[Violation, ...]:
        """
        Read the next message, and tell what it shows to be wrong.

        Args:
            message: the message.
            fused: messages that continue it on the wire (see `Conversation.fused`).
        """
        reader = self._reader
        reader.read((_fuse((message, *fused)) if fused else message,))
        if not reader.found:
            return ()
        found = in_order(reader.found)
        reader.found.clear()
        return found

    def finish(self) -> tuple[Violation, ...]:
        """What it would break to end here.  Nothing changes: feeding may go on."""
        return in_order(self._reader.ending(self._mode))


def check(
    conversation: Conversation,
    *,
    mode: Mode = "request",
    profile: Profile | str | None = None,
    original: Mapping[int, Json] | None = None,
    prompt_tokens: int | None = None,
    window_tokens: int | None = None,
) -> tuple[Violation, ...]:
    """
    What is wrong with a conversation: all violations, in order.

    A conversation is valid iff none of them has level ``error``.  ``warning``
    means that some route, model or version refuses it; ``info`` is worth
    knowing.  Pointers lead into what `compactlib.parse` was given.  Nothing is
    repaired, and hostile input cannot make it raise or slow.

    Args:
        conversation: the conversation.
        mode: ``request``: it is sent now.  ``history``: it is put aside and may
            end with open calls at its live end (law L4).
        profile: how the provider wants it, by name; by default the dialect's own.
        original: blocks of model messages as the provider returned them, by
            wire index.  Only with them can altered thinking be found (A-THINK-02).
        prompt_tokens: how large the prompt is, if it was counted (A-SIZE-01).
        window_tokens: how large the model's window is.

    Raises:
        PolicyError: the profile is not known, or is another dialect's, or an
            argument is not what it is declared to be.

    >>> from compactlib.dialects import parse
    >>> calls = [{"type": "tool_use", "id": "t1", "name": "ls", "input": {}}]
    >>> body = {"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": calls}]}
    >>> (found,) = check(parse(body, dialect="anthropic"))
    >>> found.rule, found.pointer, found.fix
    ('A-PAIR-01', '/messages/1/content/0', 'synthesize-result')
    >>> print(found.message)
    message 1 calls 't1', and no result answers
    >>> check(parse(body, dialect="anthropic"), mode="history")
    ()
    """
    judge = Validator(
        conversation,
        mode=mode,
        profile=profile,
        original=_NOTHING if original is None else original,
        prompt_tokens=prompt_tokens,
        window_tokens=window_tokens,
    )
    reader = judge._reader
    messages = conversation.messages
    start, stop = conversation.fused
    if stop - start > 1:
        messages = (*messages[:start], _fuse(messages[start:stop]), *messages[stop:])
    reader.read(messages)
    found = reader.found + reader.ending(mode) + violations_around(conversation, judge.profile)
    return in_order(found) if found else ()


def _fuse(messages: tuple[Message, ...]) -> Message:
    """The one message that these are on the wire, each block with its own origin."""
    blocks = tuple(block for message in messages for block in message.blocks)
    origins: list[Origin] = []
    for message in messages:
        origin = message.origin
        origins += origin if isinstance(origin, tuple) else [origin or Origin.HUMAN] * len(message.blocks)
    return Message(messages[0].role, blocks, messages[0].wire, tuple(origins))
