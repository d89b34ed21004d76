"""
The two short loops around the engine: `compact` and `acompact`.

What this is
    `cascade` asks questions and is answered; these functions answer them by
    calling the caller's summariser.

Rules it obeys
    * Law L6.  Any `Exception` of the summariser is a failed reply, and the
      conversation comes back as it was.  What is no `Exception` (an interrupt,
      a cancelled task) passes through, and nothing has been changed either.
    * A `SummaryFailed` whose code is none of ours is an ``exception``, with the
      code in its words.
    * An argument that is not what it is declared to be is a `PolicyError`
      before anything is done.

What is not here
    Everything else: read `cascade` and `compaction`.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, TypeAlias, TypeVar

from .arguments import need, shown, told
from .asking import Reply
from .budget import Policy
from .cascade import cascade
from .compaction import Answer, Event
from .errors import PolicyError, PromptTooLongError, SummariserError
from .markers import Issued
from .model import Conversation, need_conversation
from .outcomes import AskSummary, Compacted, Outcome, Review, SummaryFailed, Vetoed
from .store import Store
from .summaries.acceptance import Code, Summary
from .summaries.extractive import Extractive
from .summaries.rendering import SummaryRequest
from .tasks import Pin, Reminder, Rung, Task, When
from .tokens.usage import Anchor

__all__ = [
    "AsyncReviewHook",
    "AsyncSummarise",
    "ReviewHook",
    "Summarise",
    "acompact",
    "adrive",
    "check_arguments",
    "compact",
    "drive",
]

Summarise: TypeAlias = Callable[[SummaryRequest], "str | Summary"]
"""Answers one request with the text of a summary; whatever it raises is a failed reply."""

AsyncSummarise: TypeAlias = Callable[[SummaryRequest], "Awaitable[str | Summary]"]
"""The same, awaited."""

ReviewHook: TypeAlias = Callable[[Compacted], "str | Vetoed | bool | None"]
"""Looks at an outcome before it takes effect."""

AsyncReviewHook: TypeAlias = Callable[[Compacted], "Awaitable[str | Vetoed | bool | None]"]
"""The same, awaited."""

_Made = TypeVar("_Made")
_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})
_CODES: Final = frozenset(code.value for code in Code)
"""What a failed reply may be called."""


def compact(
    conversation: Conversation,
    policy: Policy,
    *,
    summarise: Summarise | None = None,
    when: When = "auto",
    focus: str | None = None,
    pins: Sequence[Pin] = (),
    reminders: Sequence[Reminder] = (),
    store: Store | None = None,
    anchor: Anchor | None = None,
    issued: Issued | None = None,
    previous: str | None = None,
    digests: Mapping[str, str] = _NOTHING,
    rungs: Sequence[Rung] | None = None,
    review: ReviewHook | None = None,
    run: str = "",
) -> Outcome:
    """
    Make a conversation smaller, or say why not.

    With a store, old outputs of tools are cleared first, and fetched back by
    the references in `Compacted.issued`.  If that is not enough, everything
    before a cut is replaced by one summary; everything from the cut on stays as
    it is.  Whatever goes wrong, the outcome holds the conversation
    that was passed in (law L6).

    Args:
        conversation: what to compact.
        policy: the window, and what else the caller decides.
        summarise: answers a `SummaryRequest` with a text or a `Summary`; the
            extractive summariser, which needs no model, if left out.
        when: ``auto`` honours the trigger, ``now`` does not; ``overflow`` is
            for a request that the provider refused as too long.
        focus: what the summary is to pay attention to.
        pins: messages or blocks that stay verbatim, by their place on the wire.
        reminders: texts from live state to be put after the summary.
        store: where the bytes go that are cleared or replaced; nothing is
            cleared without.
        anchor: what the provider reported of an earlier request of this conversation (`tokens.Anchor`); the trigger goes
            by it and by the estimate of what came after, and where something is due, all that is counted is corrected
            in its proportion.  One from before the last compaction is passed over.
        issued: the references given out before, so that their stubs are known.
        previous: the body of the summary that is to be replaced, where the
            caller has a record of it; found in the head otherwise.
        digests: digests of turns that are over, as `digest` gives them; old
            turns collapse to them before a model is asked.
        rungs: some of ``clear``, ``collapse``, ``summarise`` and ``snip``; if
            left out, those for which there is what they need, and ``snip``
            only where the policy allows it on overflow.
        review: is shown the outcome before a summary takes effect; ``None``
            lets it pass, a text takes the place of the summary, ``False`` or
            `Vetoed` leaves everything as it was.
        run: a name for this run, for the report.

    Returns:
        `Compacted`, `Unchanged` or `Refused`; all say why.

    Raises:
        PolicyError: an argument names something that is not there, or is not
            what it is declared to be.
        TypeError: *summarise* or *review* is asynchronous; use `acompact`.
        WireError: a message that was made by hand holds what JSON cannot, or
            has a shape that its dialect has not.
    """
    for name, function in (("summarise", summarise), ("review", review)):
        if inspect.iscoroutinefunction(function):
            raise TypeError(f"{name} is a coroutine function: await acompact(...) instead")
    check_arguments(conversation, policy, summarise=summarise, review=review)
    task = Task(
        when=when,
        focus=focus,
        pins=pins,
        reminders=reminders,
        store=store,
        anchor=anchor,
        issued=issued,
        previous=previous,
        digests=digests,
        rungs=rungs,
        reviewed=review is not None,
        run=run,
    )
    return drive(cascade(conversation, policy, task), summarise or Extractive(), review)


def drive(engine: Generator[Event, Answer, _Made], summarise: Summarise, review: ReviewHook | None = None) -> _Made:
    """
    Answer what *engine* asks until it ends.

    Args:
        engine: `cascade`, `compaction` or `digesting`.
        summarise: answers requests.
        review: answers reviews.

    Returns:
        What the engine returns.
    """
    try:
        event = next(engine)
        while True:
            event = engine.send(
                _answered(summarise, event.request) if isinstance(event, AskSummary) else _reviewed(review, event.outcome)
            )
    except StopIteration as stop:
        made: _Made = stop.value
        return made


def check_arguments(conversation: object, policy: object, **functions: object) -> None:
    """
    Whether these arguments are what they are declared to be; `Task` looks at the others.

    Raises:
        PolicyError: one is not; of *functions* each may be left out.
    """
    need_conversation(conversation)
    need("policy", policy, Policy, "a Policy")
    for name, function in functions.items():
        if function is not None and not callable(function):
            raise PolicyError(name, f"something that can be called, not {shown(function)}")


def _answered(answer: Summarise, request: SummaryRequest) -> Reply:
    try:
        reply = answer(request)
    except Exception as error:  # noqa: BLE001 - law L6: whatever it raises is a failed reply
        return _failed(error)
    _refuse_awaitable("summarise", reply)
    return _known(reply)


def _refuse_awaitable(name: str, answer: object) -> None:
    """Nobody awaits it here, and it is no answer."""
    if inspect.isawaitable(answer):
        if inspect.iscoroutine(answer):
            answer.close()
        raise TypeError(f"{name} returned an awaitable: await acompact(...) instead")


def _reviewed(review: ReviewHook | None, outcome: Compacted) -> Review:
    """What the review says; one that raises lets nothing pass."""
    try:
        said = None if review is None else review(outcome)
    except Exception as error:  # noqa: BLE001 - whatever it raises is a veto
        return Vetoed(f"the review raised {told(error)}")
    _refuse_awaitable("review", said)
    return _review(said)


def _review(said: object) -> Review:
    """A review as the engine knows it; ``True`` lets pass, ``False`` does not."""
    if said is None or said is True:
        return None
    if isinstance(said, str | Vetoed):
        return said
    return Vetoed() if said is False else Vetoed(f"the review returned {type(said).__name__}")


def _known(reply: Reply) -> Reply:
    """The reply; a failure by a code that is none of ours is one by exception."""
    if not isinstance(reply, SummaryFailed):
        return reply
    if _is_code(reply.code):
        return reply
    return SummaryFailed("exception", f"{reply.code}: {reply.why}" if reply.why else f"{reply.code}")


def _is_code(code: object) -> bool:
    """Whether it is one of ours; it comes from foreign code and may be anything."""
    return isinstance(code, str) and code in _CODES


def _failed(error: Exception) -> SummaryFailed:
    code = "timeout" if isinstance(error, TimeoutError) else "exception"
    limit: int | None = None
    if isinstance(error, SummariserError) and _is_code(error.code):
        code = error.code
        limit = error.limit_tokens if isinstance(error, PromptTooLongError) else None
    return SummaryFailed(code, told(error), limit)


async def acompact(
    conversation: Conversation,
    policy: Policy,
    *,
    summarise: AsyncSummarise,
    when: When = "auto",
    focus: str | None = None,
    pins: Sequence[Pin] = (),
    reminders: Sequence[Reminder] = (),
    store: Store | None = None,
    anchor: Anchor | None = None,
    issued: Issued | None = None,
    previous: str | None = None,
    digests: Mapping[str, str] = _NOTHING,
    rungs: Sequence[Rung] | None = None,
    review: AsyncReviewHook | ReviewHook | None = None,
    run: str = "",
) -> Outcome:
    """`compact` for a summariser that is awaited; see there."""
    check_arguments(conversation, policy, summarise=summarise, review=review)
    task = Task(
        when=when,
        focus=focus,
        pins=pins,
        reminders=reminders,
        store=store,
        anchor=anchor,
        issued=issued,
        previous=previous,
        digests=digests,
        rungs=rungs,
        reviewed=review is not None,
        run=run,
    )
    return await adrive(cascade(conversation, policy, task), summarise, review)


async def adrive(
    engine: Generator[Event, Answer, _Made], summarise: AsyncSummarise, review: AsyncReviewHook | ReviewHook | None = None
) -> _Made:
    """`drive` for functions that are awaited; a review may be either."""
    try:
        event = next(engine)
        while True:
            answer: Answer
            if isinstance(event, AskSummary):
                try:
                    answer = _known(await summarise(event.request))
                except Exception as error:  # noqa: BLE001 - law L6: whatever it raises is a failed reply
                    answer = _failed(error)
            else:
                try:
                    said: Any = None if review is None else review(event.outcome)
                    answer = _review(await said if inspect.isawaitable(said) else said)
                except Exception as error:  # noqa: BLE001 - whatever it raises is a veto
                    answer = Vetoed(f"the review raised {told(error)}")
            event = engine.send(answer)
    except StopIteration as stop:
        made: _Made = stop.value
        return made
