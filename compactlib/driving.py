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
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

from .budget import Policy
from .cascade import Rung, cascade
from .compaction import Reply
from .errors import PolicyError
from .markers import Issued
from .model import Conversation
from .outcomes import Outcome, SummaryFailed
from .planning import Pin, Reminder
from .store import Store
from .summaries.acceptance import Code, Summary
from .summaries.extractive import Extractive
from .summaries.rendering import SummaryRequest

__all__ = ["AsyncSummarise", "Summarise", "acompact", "compact"]

Summarise: TypeAlias = Callable[[SummaryRequest], "str | Summary"]
"""Answers one request with the text of a summary; whatever it raises is a failed reply."""

AsyncSummarise: TypeAlias = Callable[[SummaryRequest], "Awaitable[str | Summary]"]
"""The same, awaited."""

_CODES: Final = frozenset(code.value for code in Code)
"""What a failed reply may be called."""


def compact(
    conversation: Conversation,
    policy: Policy,
    *,
    summarise: Summarise | None = None,
    when: Literal["auto", "now"] = "auto",
    focus: str | None = None,
    pins: Sequence[Pin] = (),
    reminders: Sequence[Reminder] = (),
    store: Store | None = None,
    issued: Issued | None = None,
    previous: str | None = None,
    rungs: Sequence[Rung] | None = None,
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
        when: ``auto`` honours the trigger, ``now`` does not.
        focus: what the summary is to pay attention to.
        pins: messages or blocks that stay verbatim, by their place on the wire.
        reminders: texts from live state to be put after the summary.
        store: where the bytes go that are cleared; nothing is cleared without.
        issued: the references given out before, so that their stubs are known.
        previous: the body of the summary that is to be replaced, where the
            caller has a record of it; found in the head otherwise.
        rungs: ``clear``, ``summarise`` or both; both if there is a store.
        run: a name for this run, for the report.

    Returns:
        `Compacted`, `Unchanged` or `Refused`; all say why.

    Raises:
        PolicyError: an argument names something that is not there, or is not
            what it is declared to be.
        TypeError: *summarise* is asynchronous; use `acompact`.
    """
    if inspect.iscoroutinefunction(summarise):
        raise TypeError("summarise is a coroutine function: await acompact(...) instead")
    _check_arguments(conversation, policy, summarise, when, pins, reminders, issued, rungs, (focus, previous, run))
    answer: Summarise = summarise or Extractive(counter=policy.counter)
    engine = cascade(
        conversation,
        policy,
        when=when,
        focus=focus,
        pins=pins,
        reminders=reminders,
        store=store,
        issued=issued,
        previous=previous,
        rungs=rungs,
        run=run,
    )
    try:
        event = next(engine)
        while True:
            event = engine.send(_answered(answer, event.request))
    except StopIteration as stop:
        outcome: Outcome = stop.value
        return outcome


def _check_arguments(
    conversation: Any,
    policy: Any,
    summarise: Any,
    when: Any,
    pins: Any,
    reminders: Any,
    issued: Any,
    rungs: Any,
    texts: tuple[Any, Any, Any],
) -> None:
    """Whether the arguments are what they are declared to be; what they name is looked for where it is used."""
    if not isinstance(conversation, Conversation):
        raise PolicyError("conversation", f"a Conversation, as `parse` gives it, not {type(conversation).__name__}")
    if not isinstance(policy, Policy):
        raise PolicyError("policy", f"a Policy, not {type(policy).__name__}")
    if summarise is not None and not callable(summarise):
        raise PolicyError("summarise", f"something that can be called, not {type(summarise).__name__}")
    if when not in ("auto", "now"):
        raise PolicyError("when", f"'auto' or 'now', not {when!r:.80}")
    for name, value in (("pins", pins), ("reminders", reminders), ("rungs", () if rungs is None else rungs)):
        if isinstance(value, str | bytes | Mapping) or not isinstance(value, Collection):
            raise PolicyError(name, f"a sequence, not {type(value).__name__}")
    for pin in pins:
        if not all(type(one) is int for one in (pin if isinstance(pin, tuple) and len(pin) == 2 else (pin,))):
            raise PolicyError("pins", f"an index, or (index, block), not {pin!r:.80}")
    for reminder in reminders:
        if not isinstance(reminder, str) and not callable(reminder):
            raise PolicyError("reminders", f"a text, or what returns one, not {type(reminder).__name__}")
    if issued is not None and not isinstance(issued, Mapping):
        raise PolicyError("issued", f"references with their sizes, not {type(issued).__name__}")
    for name, text in zip(("focus", "previous", "run"), texts, strict=True):
        if text is not None and not isinstance(text, str):
            raise PolicyError(name, f"a text, not {type(text).__name__}")


def _answered(answer: Summarise, request: SummaryRequest) -> Reply:
    try:
        reply = answer(request)
    except Exception as error:  # noqa: BLE001 - law L6: whatever it raises is a failed reply
        return _failed(error)
    if inspect.isawaitable(reply):
        if inspect.iscoroutine(reply):
            reply.close()
        raise TypeError("summarise returned an awaitable: await acompact(...) instead")
    return _known(reply)


def _known(reply: Reply) -> Reply:
    """The reply; a failure by a code that is none of ours is one by exception."""
    if not isinstance(reply, SummaryFailed):
        return reply
    code: object = reply.code
    if isinstance(code, str) and code in _CODES:
        return reply
    return SummaryFailed("exception", f"{code}: {reply.why}" if reply.why else f"{code}")


def _failed(error: Exception) -> SummaryFailed:
    code = "timeout" if isinstance(error, TimeoutError) else "exception"
    return SummaryFailed(code, f"{type(error).__name__}: {error}")


async def acompact(
    conversation: Conversation,
    policy: Policy,
    *,
    summarise: AsyncSummarise,
    when: Literal["auto", "now"] = "auto",
    focus: str | None = None,
    pins: Sequence[Pin] = (),
    reminders: Sequence[Reminder] = (),
    store: Store | None = None,
    issued: Issued | None = None,
    previous: str | None = None,
    rungs: Sequence[Rung] | None = None,
    run: str = "",
) -> Outcome:
    """`compact` for a summariser that is awaited; see there."""
    _check_arguments(conversation, policy, summarise, when, pins, reminders, issued, rungs, (focus, previous, run))
    engine = cascade(
        conversation,
        policy,
        when=when,
        focus=focus,
        pins=pins,
        reminders=reminders,
        store=store,
        issued=issued,
        previous=previous,
        rungs=rungs,
        run=run,
    )
    try:
        event = next(engine)
        while True:
            reply: Reply
            try:
                reply = _known(await summarise(event.request))
            except Exception as error:  # noqa: BLE001 - law L6: whatever it raises is a failed reply
                reply = _failed(error)
            event = engine.send(reply)
    except StopIteration as stop:
        outcome: Outcome = stop.value
        return outcome
