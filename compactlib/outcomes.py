"""
What a compaction asks for and what it comes to.

What this is
    The values that leave the engine: what it asks (`AskSummary`, `AskReview`),
    the answers that are no summary (`SummaryFailed`, `Vetoed`), and the
    three outcomes (`Compacted`, `Unchanged`, `Refused`).

Rules it obeys
    * Law L6.  `Unchanged` and `Refused` hold the very conversation that was
      passed in.
    * Law L13.  An outcome above the target says what cannot be reduced, part
      by part, and by how much it is over.
    * Reasons come from a closed list (`REASONS`).
    * An outcome has no truth value: "did it work" has three answers.

What is not here
    The algorithm (`compaction`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NoReturn, TypeAlias

from attrs import field, frozen

from .dialects.reading import copy_json
from .holding import hold, with_betas
from .model import Conversation, Json, need_conversation
from .protocol.binding import with_thinking
from .summaries.rendering import SummaryRequest

__all__ = [
    "REASONS",
    "AskReview",
    "AskSummary",
    "Compacted",
    "Dropped",
    "Outcome",
    "Part",
    "Refused",
    "Review",
    "SummaryFailed",
    "Unchanged",
    "Vetoed",
]

REASONS: Final[Mapping[str, tuple[str, ...]]] = {
    "compacted": ("target-met", "above-target"),
    "unchanged": ("below-trigger", "auto-off", "nothing-new"),
    "refused": (
        "overhead-exceeds-threshold",
        "irreducible",
        "no-legal-cut",
        "no-digest",
        "prefix-at-provider",
        "internal-invalid",
        "store-failed",
        "summary-failed",
        "vetoed",
        "callback",
    ),
}
"""
Every reason, by outcome.

``summary-failed`` and ``callback`` are followed by a colon and what failed, as
in ``summary-failed:empty`` and ``callback:counter``.
"""


@frozen
class AskSummary:
    """The engine wants a summary; answer with the reply, or with `SummaryFailed`."""

    request: SummaryRequest


@frozen
class SummaryFailed:
    """
    The summariser did not answer.

    Attributes:
        code: ``exception``, ``timeout``, ``overloaded``, ``prompt-too-long`` or ``media``.
        why: in words.
        limit_tokens: of a request that was too long, how much may be sent, if somebody said so.
    """

    code: str
    why: str = ""
    limit_tokens: int | None = None


@frozen
class AskReview:
    """
    The engine shows what it is about to return; answer with a `Review`.

    Attributes:
        outcome: what would be returned.
    """

    outcome: Compacted


@frozen
class Vetoed:
    """
    A review that does not let a summary pass.

    Attributes:
        why: in words.
    """

    why: str = ""


Review: TypeAlias = "str | Vetoed | None"
"""What comes of a review: the body of another summary, a veto, or ``None``: it may pass."""


@frozen
class Dropped:
    """
    What went: whole messages, or what a tool said in one.

    Attributes:
        start, stop: half-open range of the input's messages, as the wire numbers them.
        rung: which rung of the ladder took them.
        tokens: what they had cost, or by how much a message became smaller.
        ref: by which reference they can be fetched, if a store holds them.
    """

    start: int
    stop: int
    rung: str
    tokens: int
    ref: str | None = None


@frozen
class Part:
    """
    A part of a request that compaction cannot reduce.

    Attributes:
        name: what it is.
        tokens: its size.
        messages: the input's messages that cause it, as the wire numbers them.
    """

    name: str
    tokens: int
    messages: tuple[int, ...] = ()


def _no_truth(outcome: object) -> NoReturn:
    raise TypeError(f"an outcome is neither true nor false; look at its class, {type(outcome).__name__}, and its reason")


@frozen(kw_only=True)
class Compacted:
    """
    The conversation became smaller.

    Attributes:
        conversation: the new one.
        reason: ``target-met`` or ``above-target``.
        before_tokens, after_tokens: whole requests, overhead included, as the model sees them: what the provider hides is
            not counted.
        first_changed: the first message of the input at which the request differs; ``None`` where no message does.
        report: the whole account, as JSON.
        cut: where the tail begins in the input, as the wire numbers it; 0 where clearing was enough.
        kept_prompt: after a step cut, the input's prompt that was kept before the tail.
        dropped: what went.
        summary: the body of the summary, ``""`` where clearing was enough.
        issued: the references that were given out, with the characters and newlines of what they stand for.
        irreducible: what no compaction could take away, part by part.
        over_by_tokens: how far above the target, 0 if it was met.
        fits: whether the request is within the budget.
        edits: what the provider is to be asked to hide: the value of ``context_management`` in the body.  The messages are
            then as they were, and the sizes are those of the request with it.
        thinking: what the request has to say of thinking from now on, because reasoning stands behind what was changed and
            the model refuses it otherwise (A-THINK-07): the value of ``thinking``.
        betas: the beta headers that these need.
    """

    conversation: Conversation
    reason: str
    before_tokens: int
    after_tokens: int
    first_changed: int | None
    report: dict[str, Json]
    cut: int
    kept_prompt: int | None
    dropped: tuple[Dropped, ...]
    summary: str
    irreducible: tuple[Part, ...]
    over_by_tokens: int
    fits: bool
    issued: Mapping[str, tuple[int, int]] = field(factory=dict)
    edits: Mapping[str, Json] | None = None
    thinking: Mapping[str, Json] | None = None
    betas: tuple[str, ...] = ()
    before: Conversation = field(repr=False)

    @property
    def irreducible_tokens(self) -> int:
        """Size of the smallest request that compaction could reach."""
        return sum(part.tokens for part in self.irreducible)

    def edits_for(self, conversation: Conversation) -> dict[str, Json] | None:
        """
        What to ask for when the conversation has grown, so that the same stays hidden (law L18); ``None`` without `edits`.

        Args:
            conversation: this one, with more messages at its end.

        Raises:
            PolicyError: *conversation* is none.
        """
        need_conversation(conversation)
        return None if self.edits is None else hold(self.edits, self.conversation, conversation)

    @property
    def request(self) -> Conversation:
        """The conversation as it is to be sent: with `edits` and `thinking` in its body, if it has one."""
        made = with_betas(self.conversation, self.betas)
        if self.edits is not None:
            made = made.with_setting("context_management", copy_json(dict(self.edits)))
        return made if self.thinking is None else with_thinking(made, copy_json(dict(self.thinking)))

    def undo(self) -> Conversation:
        """The conversation that was passed in, the same object (law L10)."""
        return self.before

    __bool__ = _no_truth


@frozen(kw_only=True)
class Unchanged:
    """
    Nothing had to be done.

    Attributes:
        conversation: the one passed in.
        reason: ``below-trigger``, ``auto-off`` or ``nothing-new``.
        before_tokens: size of the whole request; `after_tokens` is the same.
        report: the whole account, as JSON.
    """

    conversation: Conversation
    reason: str
    before_tokens: int
    report: dict[str, Json]
    first_changed: None = None

    @property
    def after_tokens(self) -> int:
        """The same as `before_tokens`."""
        return self.before_tokens

    def undo(self) -> Conversation:
        """The conversation that was passed in."""
        return self.conversation

    __bool__ = _no_truth


@frozen(kw_only=True)
class Refused:
    """
    Something had to be done and could not be; nothing was changed.

    Attributes:
        conversation: the one passed in.
        reason: see `REASONS`.
        why: the same in a sentence.
        before_tokens: size of the whole request; `after_tokens` is the same.
        report: the whole account, as JSON.
        irreducible: what no compaction could take away, part by part.
    """

    conversation: Conversation
    reason: str
    why: str
    before_tokens: int
    report: dict[str, Json]
    irreducible: tuple[Part, ...] = ()
    first_changed: None = None

    @property
    def after_tokens(self) -> int:
        """The same as `before_tokens`."""
        return self.before_tokens

    @property
    def irreducible_tokens(self) -> int:
        """Size of the smallest request that compaction could reach."""
        return sum(part.tokens for part in self.irreducible)

    def undo(self) -> Conversation:
        """The conversation that was passed in."""
        return self.conversation

    __bool__ = _no_truth


Outcome: TypeAlias = Compacted | Unchanged | Refused
"""How a compaction ends."""


def as_json(parts: tuple[Part, ...]) -> list[Any]:
    """Irreducible parts for a report."""
    return [{"name": part.name, "tokens": part.tokens, "messages": list(part.messages)} for part in parts]
