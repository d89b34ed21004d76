"""Arguments of the wrong kind: the documented errors leave the public functions, and no others."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any, Final

import pytest

import compactlib as cl


def long_conversation() -> cl.Conversation:
    """A conversation that has to be summarised to fit."""
    messages: list[dict[str, Any]] = []
    for turn in range(12):
        call = {"type": "tool_use", "id": f"c{turn}", "name": "bash", "input": {"command": f"migrate t{turn}"}}
        messages += [
            {"role": "user", "content": f"Migrate table t{turn}."},
            {"role": "assistant", "content": [call]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"c{turn}", "content": "row copied\n" * 400}]},
            {"role": "assistant", "content": f"Table t{turn} is done."},
        ]
    return cl.parse([*messages, {"role": "user", "content": "And?"}], dialect="anthropic")


CONVERSATION: Final = long_conversation()
POLICY: Final = cl.Policy(window_tokens=8000)

PROPER: Final[dict[str, dict[str, Any]]] = {
    "acompact": {"conversation": CONVERSATION, "policy": POLICY, "summarise": None, "when": "now"},
    "check": {"conversation": CONVERSATION},
    "compact": {"conversation": CONVERSATION, "policy": POLICY, "when": "now"},
    "parse": {"body": [{"role": "user", "content": "hi"}], "dialect": "anthropic"},
    "truncate": {"text": "long\n" * 99, "limit_chars": 300},
}
"""The functions that are held to it, and a call of each that is right."""


def raises(*_: object, **__: object) -> Any:
    """What a caller may pass where a function is due."""
    raise ZeroDivisionError("of the caller's")


ODD: Final = (
    None, 0, -1, 1.5, True, 10**30, float("nan"), "abc", "\ud800", b"x", (), [1], ["a"], [None], [[1]], {"a": 1}, {1: 2}, {-1: 1},
    {1}, object(), raises, lambda text: -1, lambda text: "a",
)  # fmt: skip
"""Values of every kind, most of them wrong wherever they are put."""

PLACES: Final = [(name, one) for name in PROPER for one in inspect.signature(getattr(cl, name)).parameters]


@pytest.mark.parametrize(("name", "argument"), PLACES)
def test_wrong_argument_is_a_documented_error(name: str, argument: str) -> None:
    """Whatever stands in its place, and the others right: an answer, or a `CompactlibError`."""
    function: Callable[..., Any] = getattr(cl, name)
    for odd in ODD:
        try:
            made = function(**{**PROPER[name], argument: odd})
            if inspect.iscoroutine(made):
                asyncio.run(made)
        except cl.CompactlibError as error:
            assert str(error)  # noqa: PT017  # the error is one of two right answers


@pytest.mark.parametrize(
    ("name", "argument", "odd"),
    [
        ("compact", "pins", "abc"),
        ("compact", "pins", [None]),
        ("compact", "reminders", [5]),
        ("compact", "rungs", 0),
        ("compact", "policy", None),
        ("compact", "conversation", []),
        ("compact", "summarise", 5),
        ("check", "prompt_tokens", "a"),
        ("check", "window_tokens", -1),
        ("check", "mode", "x"),
        ("check", "conversation", {}),
        ("parse", "origins", [1]),
        ("parse", "origins", {0: "human"}),
        ("truncate", "text", b"x"),
        ("truncate", "ref", b"x"),
        ("truncate", "issued", [1]),
    ],
)
def test_error_names_the_argument(name: str, argument: str, odd: Any) -> None:
    """A `PolicyError` whose field is the argument."""
    with pytest.raises(cl.PolicyError) as caught:
        getattr(cl, name)(**{**PROPER[name], argument: odd})

    assert caught.value.field == argument


@pytest.mark.parametrize("code", ["rate-limit", "", "exception", "\ud800", 5, None, [1]])
def test_failure_by_any_code_is_a_failed_reply(code: Any) -> None:
    """Law L6: the conversation comes back, and what failed is recorded; blocking and awaited alike."""

    async def answer(_: object) -> Any:
        return cl.SummaryFailed(code, "later")

    for outcome in (
        cl.compact(CONVERSATION, POLICY, summarise=lambda _: cl.SummaryFailed(code, "later"), when="now"),  # type: ignore[arg-type, return-value]  # what no type checker would let through
        asyncio.run(cl.acompact(CONVERSATION, POLICY, summarise=answer, when="now")),
    ):
        assert isinstance(outcome, cl.Refused)
        assert (outcome.reason, outcome.conversation is CONVERSATION) == ("summary-failed:exception", True)
        assert outcome.why == ("later" if code == "exception" else f"{code}: later")
        assert outcome.report["asked"][0]["verdict"] == "exception"


def test_counter_that_raises_is_named() -> None:
    """As everywhere else a counter is asked."""
    with pytest.raises(cl.PolicyError, match="counter: it raised ZeroDivisionError"):
        cl.truncate("long\n" * 99, limit_tokens=5, counter=raises)
