"""Arguments of the wrong kind: the documented errors leave the public functions, and no others."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, get_origin

import attrs
import pytest

import compactlib as cl
from compactlib import tokens
from compactlib.model import Call, Opaque, Result, wire


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

STORE: Final = cl.MemoryStore()
REF: Final = STORE.put(b"one\ntwo\nthree\n")
OUTPUT: Final = cl.Message("tool", (Result("c1", "line of a log\n" * 9_999, wire("tool")),), wire("tool"))

ASKED: Final = cl.compact(CONVERSATION, attrs.evolve(POLICY, clearing=cl.Clearing(form="edit")), when="now", rungs=("clear",))

PROPER: Final[dict[str, dict[str, Any]]] = {
    "Admission.limit_of": {"self": cl.Admission(), "tool": "read"},
    "Anchor": {"reported_tokens": 1, "position": 0},
    "Anchor.covered": {"self": cl.Anchor(1, 0), "conversation": CONVERSATION},
    "Anchor.size": {"self": cl.Anchor(1, 0), "conversation": CONVERSATION, "memo": tokens.Memo()},
    "Compacted.edits_for": {"self": ASKED, "conversation": CONVERSATION},
    "Conversation": {"dialect": "anthropic", "messages": ()},
    "Conversation.position": {"self": CONVERSATION, "index": 1},
    "Conversation.setting": {"self": CONVERSATION, "name": "model"},
    "Conversation.with_setting": {"self": CONVERSATION, "name": "model", "value": "m"},
    "Conversation.wire_index": {"self": CONVERSATION, "position": 1},
    "DirectoryStore": {"root": "proper"},
    "DirectoryStore.alias": {"reference": REF, "name": "log"},
    "DirectoryStore.get": {"reference": REF},
    "DirectoryStore.put": {"data": b"x"},
    "Log": {"path": "proper.jsonl"},
    "Log.append": {"self": cl.Log("proper.jsonl"), "record": {"id": 1}},
    "LogError": {"line": 1, "problem": "no JSON"},
    "MediaRefusedError": {"message": "no pictures"},
    "MemoryStore": {},
    "MemoryStore.get": {"self": STORE, "reference": REF},
    "MemoryStore.put": {"self": STORE, "data": b"x"},
    "Message": {"role": "user", "content": "hi", "wire": wire("user")},
    "OverloadedError": {"message": "later"},
    "Policy": {"window_tokens": 8000},
    "Policy.for_model": {"name": "gpt-5", "window_tokens": 400_000, "reserve_tokens": 130_000, "counter": len},
    "Policy.named": {"name": "anchored", "window_tokens": 200_000, "tail_turns": 2},
    "PolicyError": {"field": "keep", "problem": "too many"},
    "PromptTooLongError": {"message": "too long"},
    "StoreError": {"message": "full"},
    "SummariserError": {"message": "no"},
    "Usage": {"dialect": "anthropic", "prompt_tokens": 1},
    "WireError": {"path": "$", "problem": "no list"},
    "acompact": {"conversation": CONVERSATION, "policy": POLICY, "summarise": None, "when": "now"},
    "adigest": {"conversation": CONVERSATION, "policy": POLICY, "summarise": None},
    "admit": {"message": OUTPUT, "policy": POLICY, "store": STORE},
    "check": {"conversation": CONVERSATION},
    "compact": {"conversation": CONVERSATION, "policy": POLICY, "when": "now"},
    "convert": {"conversation": CONVERSATION, "dialect": "gemini"},
    "counter_for": {"family": "openai"},
    "digest": {"conversation": CONVERSATION, "policy": POLICY},
    "due": {"policy": POLICY, "tokens": 5000, "overhead_tokens": 100},
    "effective": {"conversation": CONVERSATION},
    "estimate": {"text": "words"},
    "fetch": {"store": STORE, "reference": REF},
    "known_secrets": {"text": "password=hunter2"},
    "legal_cuts": {"conversation": CONVERSATION},
    "load": {"source": b'[{"role": "user", "content": "hi"}]'},
    "parse": {"body": [{"role": "user", "content": "hi"}], "dialect": "anthropic"},
    "plan": {"conversation": CONVERSATION, "policy": POLICY, "when": "now"},
    "propose_pins": {"conversation": CONVERSATION},
    "read_usage": {"dialect": "anthropic", "report": {"input_tokens": 1}},
    "recall": {"ref": REF, "store": STORE, "issued": {REF: (14, 3)}},
    "redact": {"conversation": CONVERSATION},
    "redact_message": {"message": OUTPUT},
    "reference": {"source": {"a": [1]}, "store": STORE},
    "reminder": {"name": "todos", "items": ["fix it"]},
    "render": {"conversation": CONVERSATION},
    "repair": {"conversation": CONVERSATION},
    "sizes": {"policy": POLICY, "overhead_tokens": 0},
    "stash": {"name": "order", "text": "pay", "store": STORE},
    "truncate": {"text": "long\n" * 99, "limit_chars": 300},
    "turns": {"conversation": CONVERSATION},
}
"""
Everything public that can be called, and a call of each that is right; what stands beside the named arguments is as by default.
A class of values that the library hands out has no row: it takes what it is given, and `Conversation` and `Message` do not.
"""

NOT_WALKED: Final = {
    "CompactlibError": "it is abstract, and says so by a TypeError",
    "Origin": "an enum, whose ValueError for a word that it does not have is documented",
    "Outcome": "a type",
    "Store": "a protocol",
}
COUNTERS: Final = {f"counter_for({family!r})": cl.counter_for(family) for family in ("anthropic", "generic")}

TYPE_ERRORS: Final = frozenset({"Conversation.position", "Conversation.wire_index"})
"""What a `TypeError` may leave, as the docstring says: a mistake in a program, where to look first would be felt."""


CALLED: Final = {("Policy.named", "name"): "policy"}
"""Where an error calls an argument by another name."""


def raises(*_: object, **__: object) -> Any:
    """What a caller may pass where a function is due."""
    raise ZeroDivisionError("of the caller's")


class Hostile:
    """A value that cannot even be shown."""

    __repr__ = raises


class Adapter:
    """A store that does what it likes."""

    def __init__(self, answer: Callable[..., Any]) -> None:
        self.put = self.get = self.alias = answer


HUGE: Final = 10**5000  # too long to be written in digits
ODD: Final[tuple[Any, ...]] = (
    None, 0, -1, 5, 1.5, True, 10**30, -(10**30), HUGE, -HUGE, Hostile(), float("nan"), float("inf"),
    "", "x", "abc", "\ud800", "a\0b", b"", b"x", (), [], [1], ["a"], [None], [[1]], [[]], (1, 2), ((1, 2),), [("a", "b")],
    {}, {"a": 1}, {1: 2}, {-1: 1}, {1: []}, {1: [{"type": []}]}, {1}, set(), frozenset({"a"}), range(3), object(), int,
    raises, lambda text: -1, lambda text: "a", lambda text: HUGE, lambda: 1,
    CONVERSATION, POLICY, OUTPUT, cl.Origin.HUMAN, STORE, Adapter(raises), Adapter(lambda *_: None), Adapter(lambda *_: HUGE),
    cl.Policy(window_tokens=8000, counter=raises), cl.Policy(window_tokens=8000, counter=lambda text: -1),
    cl.Policy(window_tokens=8000, counter=lambda text: HUGE), cl.Conversation("nobody's", CONVERSATION.messages),
    cl.Conversation("anthropic", (cl.Message("other", (), wire("")),) * 3, fused=(0, 3)),
    cl.Message("model", (Call("", "", HUGE, wire("")), Result("", None, wire("")), Opaque("", object())), wire("")),
)  # fmt: skip
"""Values of every kind, most of them wrong wherever they are put."""


def has_spelling(value: object) -> bool:
    """Whether it can be written down, as what an error is made of can."""
    try:
        f"{value}"  # to see whether it can be done
    except (ValueError, ZeroDivisionError):
        return False
    return True


def callables() -> dict[str, Callable[..., Any]]:
    """Everything public that can be called: functions, classes, and the public methods of these that take an argument."""
    found: dict[str, Callable[..., Any]] = {}
    for name in cl.__all__:
        value = getattr(cl, name)
        if name in NOT_WALKED or get_origin(value) is not None or not callable(value):
            continue
        found[name] = value.turns if inspect.ismodule(value) else value  # the module `turns` can be called
        for method, held in vars(value).items() if isinstance(value, type) else ():
            if not method.startswith("_") and callable(getattr(value, method)) and not isinstance(held, property):
                function = getattr(value, method)
                if [one for one in inspect.signature(function).parameters if one != "self"]:
                    found[f"{name}.{method}"] = function
    return found


CALLABLES: Final = callables()


def proper(name: str) -> dict[str, Any]:
    """The arguments of a call that is right."""
    known = PROPER.get(name)
    if known is None:
        assert attrs.has(CALLABLES[name])  # type: ignore[arg-type]  # what is no class has none
        required = [one for one in inspect.signature(CALLABLES[name]).parameters.values() if one.default is one.empty]
        return {one.name: None for one in required}
    if name.startswith("DirectoryStore."):
        return {"self": cl.DirectoryStore("proper"), **known}
    return known


def arguments(name: str) -> list[str]:
    """The names of what may be passed."""
    named = inspect.signature(CALLABLES[name]).parameters.values()
    return list(dict.fromkeys([*(one.name for one in named if one.kind is not one.VAR_KEYWORD), *PROPER.get(name, ())]))


PLACES: Final = [(name, one) for name in CALLABLES for one in arguments(name) if one != "self"]


@pytest.fixture(autouse=True)
def _apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a store by the name of ``x`` does no harm."""
    monkeypatch.chdir(tmp_path)
    cl.DirectoryStore("proper").put(b"one\ntwo\nthree\n")


def test_everything_public_has_a_proper_call() -> None:
    """No function is forgotten, each row is of one, and each call is right."""
    made = {name for name in CALLABLES if attrs.has(CALLABLES[name])}  # type: ignore[arg-type]  # what is no class has none

    assert CALLABLES.keys() - made == PROPER.keys() - made
    for name, function in CALLABLES.items():
        if "summarise" not in proper(name):  # which nobody awaits
            function(**proper(name))


@pytest.mark.parametrize(("name", "argument"), PLACES)
def test_wrong_argument_is_a_documented_error(name: str, argument: str) -> None:
    """
    Whatever stands in its place, and the others right: an answer, or an error that is documented and names the argument.

    ``object()`` is wrong everywhere but where anything is welcome.
    """
    function = CALLABLES[name]
    is_error = isinstance(function, type) and issubclass(function, cl.CompactlibError)
    assert name not in TYPE_ERRORS or "TypeError: " in (function.__doc__ or "")
    for odd in ODD:
        if is_error and not has_spelling(odd):
            continue
        try:
            made = function(**{**proper(name), argument: odd})
            if inspect.iscoroutine(made):
                asyncio.run(made)
        except cl.CompactlibError as error:
            assert str(error)  # noqa: PT017  # the error is one of two right answers
            if type(odd) is object and isinstance(error, cl.PolicyError):
                assert error.field == CALLED.get((name, argument), argument)  # noqa: PT017  # as above
        except TypeError:
            if name not in TYPE_ERRORS:
                raise


@pytest.mark.parametrize("name", COUNTERS)
def test_counter_of_ours_counts_texts_alone(name: str) -> None:
    """Whoever was given one may ask it anything."""
    for odd in ODD:
        try:
            assert COUNTERS[name](odd) >= 0
        except cl.PolicyError as error:
            assert error.field == "text"  # noqa: PT017  # the error is one of two right answers
            assert not isinstance(odd, str)  # as above


USAGE: Final[dict[str, dict[str, Any]]] = {
    "AskCount": {"conversation": CONVERSATION},
    "Memo": {"counter": len},
    "Tally": {"counter": len, "overhead_tokens": 0},
    "Usage": {"dialect": "anthropic", "prompt_tokens": 1, "cached_tokens": 0, "written_tokens": 0, "answer_tokens": 0},
}


@pytest.mark.parametrize(("name", "argument"), [(name, one) for name in USAGE for one in USAGE[name]])
def test_what_counts_takes_sizes_and_counters_alone(name: str, argument: str) -> None:
    """The same of the values by which sizes are kept."""
    for odd in ODD:
        try:
            getattr(tokens, name)(**{**USAGE[name], argument: odd})
        except cl.PolicyError as error:
            assert str(error)  # noqa: PT017  # the error is one of two right answers


def test_one_text_is_not_several_roots(tmp_path: Path) -> None:
    """Law L25: by its letters it would name the root of all directories."""
    (tmp_path / "secret.txt").write_text("s", "utf-8")

    with pytest.raises(cl.PolicyError, match="roots: "):
        cl.reference(str(tmp_path / "secret.txt"), STORE, roots=str(tmp_path / "inside"))


@pytest.mark.parametrize(
    ("name", "argument", "odd"),
    [
        ("admit", "calls", [5]),
        ("admit", "message", "x"),
        ("admit", "policy", None),
        ("admit", "store", 5),
        ("convert", "conversation", []),
        ("counter_for", "family", [1]),
        ("due", "tokens", -1),
        ("effective", "counter", 5),
        ("estimate", "text", 5),
        ("legal_cuts", "conversation", None),
        ("load", "source", 5),
        ("recall", "issued", 5),
        ("recall", "store", None),
        ("reference", "fields", "a"),
        ("reference", "lines", [1]),
        ("reference", "roots", "/"),
        ("render", "conversation", {}),
        ("repair", "conversation", {}),
        ("repair", "close", 1),
        ("repair", "original", [1]),
        ("sizes", "overhead_tokens", 0.5),
        ("stash", "text", b"x"),
        ("turns", "conversation", 5),
        ("DirectoryStore", "root", 5),
        ("DirectoryStore", "root", ""),
        ("DirectoryStore", "quota_bytes", 0),
        ("MemoryStore", "quota_bytes", True),
        ("Policy", "window_tokens", None),
        ("Policy", "window_tokens", "x"),
        ("Policy", "profile", [1]),
        ("Admission", "tools", {1: cl.Limit()}),
        ("Admission", "report_tools", [[1]]),
        ("Clearing", "exclude_tools", [[1]]),
        ("Clearing", "keep", None),
        ("Limit", "keep", []),
        ("Message", "role", "assistant"),
        ("Message", "content", ["x"]),
        ("Conversation", "messages", [1]),
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
        CALLABLES[name](**{**proper(name), argument: odd})

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
