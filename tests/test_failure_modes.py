"""
What goes wrong around a compaction, one fact for each way.

Told elsewhere, because it is one module's alone: a store that fails before
anything was replaced (`test_cascade`, `test_clearing`, `test_admission`); an
unknown window (`test_models`); what a provider reported before the last
compaction (`test_rungs`); usage of two kinds, and cached tokens (`test_tokens`);
replies that are the previous summary, the prompt, or cut off (`test_acceptance`,
`test_faults`); the entrance (`test_admission`); a cut between a document and its
citation, or a loaded tool and its call (`test_cuts`).

Not concerned, because it belongs to the loop around a compaction, which is not
built: a conversation that changed meanwhile (`raced`), a request that the
provider then rejected, several boundaries in a log, undoing past one, a model
that calls a tool to compact, a crash between store, log and request, and a
switch of dialect in the middle.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from attrs import evolve

import compactlib as cl
from compactlib.errors import SummariserError
from compactlib.outcomes import Compacted, Refused, Vetoed
from compactlib.summaries.rendering import SummaryRequest

from .scenarios import seeded
from .test_digesting import long
from .test_rungs import BODY
from .test_turns import PNG, call, model, result, text, user

POLICY = cl.Policy(window_tokens=32_000)
SMALL = 6
"""Turns of a conversation that is compacted again and again."""


def answer(request: SummaryRequest) -> str:
    return BODY


def compacted(outcome: cl.Outcome) -> Compacted:
    assert isinstance(outcome, Compacted), outcome.reason
    return outcome


class WordlessError(Exception):
    """Cannot even say what it is."""

    def __str__(self) -> str:
        raise ValueError("no words")


def raises(error: Exception) -> Callable[..., Any]:
    def callback(*arguments: object) -> Any:
        raise error

    return callback


# --- Callbacks -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [WordlessError(), RuntimeError("x" * 10**6), RecursionError(), MemoryError()])
@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("summarise", "summary-failed:exception"),
        ("review", "vetoed"),
        ("reminders", "callback:reminders"),
        ("counter", "callback:counter"),
    ],
)
def test_callback_that_raises_leaves_everything(name: str, reason: str, error: Exception) -> None:
    """Law L6, whatever it raises, even what cannot be put into words; and the words stay few."""
    conversation = long(SMALL)
    options: dict[str, Any] = {"summarise": answer}
    policy = POLICY
    if name == "counter":
        policy = evolve(policy, counter=raises(error))
    else:
        options[name] = [raises(error)] if name == "reminders" else raises(error)
    outcome = cl.compact(conversation, policy, when="now", **options)

    assert isinstance(outcome, Refused)
    assert (outcome.reason, outcome.conversation is conversation) == (reason, True)
    assert len(outcome.why) < 1_000


def test_failure_by_a_code_of_no_kind_is_one_by_exception() -> None:
    """A code is compared with the known ones, and anything can stand in its place."""
    error = SummariserError("down")
    error.code = ["timeout"]  # type: ignore[misc, assignment]  # hostile on purpose

    assert cl.compact(long(SMALL), POLICY, when="now", summarise=raises(error)).reason == "summary-failed:exception"


@pytest.mark.parametrize("said", [-1, True, 0.5, None, "9", float("nan"), 10**400])
def test_counter_that_returns_nonsense_is_named(said: Any) -> None:
    """Every function that counts says so, and none goes on with it."""
    policy = evolve(POLICY, counter=lambda _: said)

    assert cl.compact(long(SMALL), policy, when="now", summarise=answer).reason == "callback:counter"
    assert cl.plan(long(SMALL), policy, when="now").reason == "callback:counter"
    with pytest.raises(cl.PolicyError, match="counter"):
        cl.digest(long(SMALL), evolve(policy, digest_every_turns=1))


DOINGS: dict[str, Callable[[cl.Policy], Any]] = {
    "compact": lambda policy: cl.compact(long(SMALL), policy, when="now", store=cl.MemoryStore()),
    "overflow": lambda policy: cl.compact(long(SMALL), policy, when="overflow"),
    "snip": lambda policy: cl.compact(long(SMALL), policy, when="now", rungs=["snip"]),
    "plan": lambda policy: cl.plan(long(SMALL), policy, when="now", store=True),
    "digest": lambda policy: cl.digest(long(3), evolve(policy, digest_every_turns=1)),
}


@pytest.mark.parametrize("doing", DOINGS)
def test_counter_may_fail_at_any_text(doing: str) -> None:
    """
    From each of the first and the last on, and from some between.

    A refusal, a failed reply or a `PolicyError`, and never anything else.
    """
    counted = 0
    failing = 0

    def counter(said: str) -> int:
        nonlocal counted
        counted += 1
        if 0 < failing <= counted:
            raise OSError("the tokenizer's file is gone")
        return len(said) // 4 + 1

    DOINGS[doing](evolve(POLICY, counter=counter))
    total = counted
    middle = seeded(doing).sample(range(1, total + 1), min(total, 20))
    for failing in sorted({*range(1, 20), *middle, *range(max(total - 20, 1), total + 1)}):  # noqa: B007 - the counter reads it
        counted = 0
        made: Any = None
        with suppress(cl.PolicyError):
            made = DOINGS[doing](evolve(POLICY, counter=counter))
        assert not isinstance(made, Compacted) or made.report["rungs"][-1]["outcome"] == "refused"


def test_counter_that_is_not_additive_is_met() -> None:
    """A join may count more than its parts or less; what is promised is said in sums, and kept."""
    counters: list[Callable[[str], int]] = [
        lambda said: len(said) // 3 + 7,  # dear beginnings
        lambda said: 0 if len(said) < 40 else len(said) // 4,
        lambda said: len(set(said.split())) + 1,
    ]
    for counter in counters:
        outcome = cl.compact(long(), evolve(POLICY, counter=counter), when="now")
        if isinstance(outcome, Compacted):
            assert outcome.after_tokens < outcome.before_tokens
            assert cl.check(outcome.conversation) == ()


@pytest.mark.parametrize("pins", [(), (50,)])
def test_half_a_character_in_quoted_words_is_no_new_fault(pins: tuple[int, ...]) -> None:
    """Law L1: the words are quoted as they are (law L8), and were refused where they stood, too."""
    turn = [{"role": "user", "content": "go on"}, {"role": "assistant", "content": "word " * 150}]
    messages = [*(dict(message) for message in turn * 40), {"role": "user", "content": "last"}]
    messages[50]["content"] = "half a \ud83d"

    outcome = cl.compact(cl.parse(messages, dialect="anthropic"), cl.Policy(window_tokens=8_000), when="now", pins=pins)

    assert "half a \ud83d" in compacted(outcome).conversation.messages[0].text + outcome.conversation.messages[1].text
    assert [one.rule for one in cl.check(outcome.conversation)] == ["A-JSON-01"]


def test_request_without_its_tools_is_compacted_all_the_same() -> None:
    """Law L1: what a whole request lacks (B-TOOLCFG-01) is named at another message when the first call is gone."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": [{"text": "go on"}]}]
    for turn in range(40):
        call = {"toolUse": {"toolUseId": f"t{turn}", "name": "bash", "input": {}}}
        result = {"toolResult": {"toolUseId": f"t{turn}", "content": [{"text": "word " * 150}]}}
        messages += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]

    outcome = cl.compact(cl.parse({"messages": messages}, dialect="bedrock"), cl.Policy(window_tokens=8_000), when="now")

    assert [one.rule for one in cl.check(compacted(outcome).conversation) if one.level == "error"] == ["B-TOOLCFG-01"]


def test_callbacks_may_call_the_library() -> None:
    """The engine holds no state: a compaction inside a callback is another one, with the same result."""
    conversation = long()
    alone = cl.render(cl.compact(conversation, POLICY, when="now", summarise=answer).conversation)
    inside: list[Any] = []

    def again() -> Any:
        inside.append(cl.render(cl.compact(conversation, POLICY, when="now", summarise=answer).conversation))

    def summarise(request: SummaryRequest) -> str:
        again()
        return BODY

    def review(outcome: Compacted) -> None:
        again()

    def remind() -> str:
        again()
        return ""

    outcome = cl.compact(conversation, POLICY, when="now", summarise=summarise, review=review, reminders=[remind])

    assert cl.render(outcome.conversation) == alone
    assert inside == [alone] * 3


def test_callbacks_that_say_too_much_are_refused() -> None:
    """A reminder or an edited summary of ten megabytes, as a reply of that length."""
    conversation = long(SMALL)
    much = BODY + "\n- more" * 1_500_000
    by_reminder = cl.compact(conversation, POLICY, when="now", summarise=answer, reminders=[lambda: much])
    by_review = cl.compact(conversation, POLICY, when="now", summarise=answer, review=lambda _: much)
    by_reply = cl.compact(conversation, POLICY, when="now", summarise=lambda _: much)

    assert [one.reason for one in (by_reminder, by_review, by_reply)] == [
        "irreducible",
        "summary-failed:too-long",
        "summary-failed:too-long",
    ]
    assert all(one.conversation is conversation for one in (by_reminder, by_review, by_reply))


def test_review_that_has_to_be_awaited_is_refused() -> None:
    """As a summariser is; nothing is left behind that nobody awaits."""

    async def review(outcome: Compacted) -> bool:
        return True

    with pytest.raises(TypeError, match="review"):
        cl.compact(long(SMALL), POLICY, when="now", summarise=answer, review=review)  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(TypeError, match="review"):
        cl.compact(long(SMALL), POLICY, when="now", summarise=answer, review=lambda one: review(one))  # type: ignore[arg-type, return-value]  # likewise


# --- Stores ----------------------------------------------------------------------------------------------------------


class Failing(cl.MemoryStore):
    """Fails at one of its puts."""

    def __init__(self, at: int) -> None:
        super().__init__()
        self.left = at
        self.puts = 0

    def put(self, data: bytes, name: str = "") -> str:
        self.puts += 1
        self.left -= 1
        if self.left == 0:
            raise OSError(28, "No space left on device")
        return super().put(data, name)


@pytest.mark.parametrize("rungs", [None, ["clear"], ["summarise"], ["snip"], ["clear", "collapse", "summarise"]])
def test_store_may_fail_at_any_put(rungs: Any) -> None:
    """Law L10: nothing is replaced by that rung, whichever put it was; what the rungs before did stays and is fetched."""
    conversation = long()
    digests = cl.digest(conversation, evolve(POLICY, digest_every_turns=1)).digests
    options: dict[str, Any] = {"when": "now", "summarise": answer, "rungs": rungs, "digests": digests}
    whole = Failing(0)
    cl.compact(conversation, POLICY, store=whole, **options)
    seen: Counter[str] = Counter()
    for at in range(1, whole.puts + 1):
        store = Failing(at)
        outcome = cl.compact(conversation, POLICY, store=store, **options)
        seen[outcome.reason] += 1
        if isinstance(outcome, Refused):
            assert (outcome.reason, outcome.conversation is conversation) == ("store-failed", True)
        else:
            assert outcome.report["rungs"][-1]["reason"] == "store-failed"
            assert all(cl.fetch(store, one.ref) for one in compacted(outcome).dropped if one.ref)

    assert whole.puts
    assert seen["store-failed"]


@pytest.mark.parametrize("given", [10**12, "text", None, [0, 1], object()])
def test_store_that_gives_back_no_bytes_has_lost_them(given: Any) -> None:
    """Of a number as many zeros would be made."""

    class Odd:
        def put(self, data: bytes, name: str = "") -> str:
            return ""

        def get(self, reference: str) -> Any:
            return given

    with pytest.raises(cl.StoreError, match="no bytes"):
        cl.fetch(Odd(), "0" * 64)


# --- When it is due --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rungs", [None, ["clear"], ["summarise"], ["snip"]])
def test_off_means_off_on_overflow_too(rungs: Any) -> None:
    """And that is said; who asks for it by name gets it."""
    off = evolve(POLICY, auto=False, on_overflow="snip")
    store = cl.MemoryStore()

    assert cl.compact(long(), off, when="overflow", summarise=answer, store=store, rungs=rungs).reason == "auto-off"
    assert isinstance(cl.compact(long(), off, when="now", summarise=answer, store=store, rungs=rungs), Compacted)


def test_vetoed_compaction_may_be_tried_again() -> None:
    """Nothing remembers the veto but the caller."""
    conversation = long()
    refused = cl.compact(conversation, POLICY, when="now", summarise=answer, review=lambda _: Vetoed("not now"))

    assert refused.reason == "vetoed"
    compacted(cl.compact(refused.conversation, POLICY, when="now", summarise=answer))


# --- Conversations ---------------------------------------------------------------------------------------------------


def work(turns: int) -> list[dict[str, Any]]:
    """Messages of turns that are over."""
    return list(cl.render(long(turns)))[:-1]


@pytest.mark.parametrize(
    "end",
    [
        [user("The last words.")],
        [user("First."), user("The last words.")],
        [user(PNG)],
        [user(PNG), user("The last words.")],
        [user("The last words."), model(call("p"))],
        [user(text("The last words."), PNG), model(call("p")), user(result("p", "x " * 400))],
    ],
    ids=["prompt", "two prompts", "media alone", "media and prompt", "pending call", "under way"],
)
def test_last_words_stay_whatever_they_are(end: list[dict[str, Any]]) -> None:
    """Law L8: between a prompt and its first answer, two of them in a row, media alone, or with a call open."""
    conversation = cl.parse([*work(12), *end], dialect="anthropic")
    outcome = compacted(cl.compact(conversation, POLICY, when="now", summarise=answer))
    made = cl.render(outcome.conversation)

    assert made[-len(end) :] == end
    assert outcome.conversation.messages[-len(end) :] == conversation.messages[-len(end) :]


def test_media_of_unknown_size_are_flagged_and_never_nothing() -> None:
    """A file by its id or address: its kind's constant, and the flag."""
    sources: list[dict[str, Any]] = [{"type": "file", "file_id": "f"}, {"type": "url", "url": "https://example.org/a.png"}]
    for source in sources:
        media = cl.parse([user({"type": "image", "source": source})], dialect="anthropic").messages[0].blocks[0]
        size = cl.tokens.media_size(media, len)  # type: ignore[arg-type]  # it is one

        assert size.tokens > 1_000
        assert not size.is_known


@pytest.mark.parametrize("before", [0, 2])
@pytest.mark.parametrize("results", [1, 8])
def test_one_step_larger_than_the_window_is_named(results: int, before: int) -> None:
    """What stands before it is compacted, if that helps; the outcome says which messages are too large, and by how much."""
    calls = [call(f"c{number}") for number in range(results)]
    answers = [result(f"c{number}", "row copied\n" * (60_000 // results)) for number in range(results)]
    conversation = cl.parse([*work(before), user("go"), model(*calls), user(*answers)], dialect="anthropic")
    outcome = cl.compact(conversation, POLICY, when="now", summarise=answer)

    assert not isinstance(outcome, cl.Unchanged)
    assert conversation.length - 1 in {index for part in outcome.irreducible for index in part.messages}
    if before:
        assert compacted(outcome).over_by_tokens > 100_000
        assert not compacted(outcome).fits
    else:
        assert outcome.reason == "irreducible"
