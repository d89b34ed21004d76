"""The blocking and the awaiting loop."""

from __future__ import annotations

import asyncio

import pytest

import compactlib as cl
from compactlib.summaries.rendering import SummaryRequest

from .test_compaction import BODY, POLICY, long_conversation


async def awaited(request: SummaryRequest) -> str:
    await asyncio.sleep(0)
    return BODY if request.part == 1 else ""


async def failing(request: SummaryRequest) -> str:
    raise TimeoutError("no answer")


def test_both_loops_come_to_the_same_outcome() -> None:
    """One engine, two drivers."""
    conversation = long_conversation()
    one = cl.compact(conversation, POLICY, summarise=lambda request: BODY)
    other = asyncio.run(cl.acompact(conversation, POLICY, summarise=awaited))

    assert (one.reason, one.after_tokens) == (other.reason, other.after_tokens)
    assert cl.render(one.conversation) == cl.render(other.conversation)


def test_an_awaited_failure_is_a_failed_reply() -> None:
    """With its own code for a deadline."""
    outcome = asyncio.run(cl.acompact(long_conversation(), POLICY, summarise=failing))

    assert outcome.reason == "summary-failed:timeout"


def test_a_coroutine_function_is_refused_by_the_blocking_loop() -> None:
    """Before anything is done, and for one that hides behind a plain function as well."""
    with pytest.raises(TypeError, match="acompact"):
        cl.compact(long_conversation(), POLICY, summarise=awaited)  # type: ignore[arg-type]  # the point of the test
    with pytest.raises(TypeError, match="acompact"):
        cl.compact(long_conversation(), POLICY, summarise=lambda request: awaited(request))  # type: ignore[arg-type, return-value]


def test_a_cancelled_task_is_cancelled() -> None:
    """`CancelledError` is no `Exception`: it passes through."""

    async def cancelled(request: SummaryRequest) -> str:
        raise asyncio.CancelledError

    async def run() -> None:
        with pytest.raises(asyncio.CancelledError):
            await cl.acompact(long_conversation(), POLICY, summarise=cancelled)

    asyncio.run(run())


def test_the_extractive_summariser_serves_when_none_is_given() -> None:
    """Offline, and the result is valid."""
    outcome = cl.compact(long_conversation(), POLICY)

    assert isinstance(outcome, cl.Compacted)
    assert [violation for violation in cl.check(outcome.conversation) if violation.level != "info"] == []
