"""Snipping, overflow, reviews and previews: what the ladder does besides clearing and summarising."""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
import os
import struct
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

import compactlib as cl
from compactlib.conformance.checks import judge
from compactlib.conformance.running import observe
from compactlib.model import Text
from compactlib.outcomes import Compacted, Refused
from compactlib.summaries.rendering import SummaryRequest
from compactlib.tasks import RUNGS
from compactlib.tokens import Memo
from compactlib.tokens.usage import Anchor

from .test_digesting import long, nobody
from .test_handmade import BASES
from .test_turns import call, model, result, text, user

POLICY = cl.Policy(window_tokens=32_000)
WHOLE = os.environ.get("COMPACTLIB_WHOLE") == "1"
BODY = "## Goal\n- go on\n\n## Orders\n(none)\n\n## Done\n- tables\n\n## Next step\n- the rest"


def fails(request: SummaryRequest) -> str:
    raise RuntimeError(f"overloaded at part {request.part}")


def compacted(outcome: cl.Outcome) -> Compacted:
    assert isinstance(outcome, Compacted), outcome.reason
    return outcome


# --- What the rungs say together -------------------------------------------------------------------------------------


@pytest.mark.parametrize("window", [3_000, 5_000, 16_000])
@pytest.mark.parametrize("dialect", BASES)
def test_what_was_dropped_is_told_once(dialect: str, window: int) -> None:
    """By whichever rungs: as many tokens as the request became smaller by, and as the head has that was put there."""
    conversation = cl.convert(long(), dialect=dialect).conversation
    digests = cl.digest(conversation, evolve(POLICY, digest_every_turns=1)).digests
    theirs = set(map(id, conversation.messages))
    seen = set()
    for count in range(1, len(RUNGS) + 1):
        for rungs in itertools.combinations(RUNGS, count):
            store = cl.MemoryStore()
            policy = cl.Policy(window_tokens=window)
            outcome = compacted(cl.compact(conversation, policy, when="now", rungs=rungs, digests=digests, store=store))
            tail = len(conversation.messages) - conversation.position(outcome.cut) if outcome.cut else len(conversation.messages)
            memo, made = Memo(), outcome.conversation.messages[: len(outcome.conversation.messages) - tail]
            head = sum(memo.message(one) for one in made if id(one) not in theirs)
            seen.add(tuple(dict.fromkeys(one.rung for one in outcome.dropped)))

            assert sum(one.tokens for one in outcome.dropped) == outcome.before_tokens - outcome.after_tokens + head, rungs
            assert [one["rung"] for one in outcome.report["rungs"]] == list(rungs[: len(outcome.report["rungs"])])

    assert ("clear", "collapse", "summarise") in seen or window != 5_000


def test_requests_for_a_summary_that_failed_stand_in_the_report_of_the_snip() -> None:
    """Law L24: they were paid for, whatever was done without them."""
    outcome = compacted(cl.compact(long(), POLICY, when="now", rungs=["summarise", "snip"], summarise=fails))

    assert [(one["rung"], one["outcome"]) for one in outcome.report["rungs"]] == [("summarise", "refused"), ("snip", "compacted")]
    assert [one["verdict"] for one in outcome.report["asked"]] == ["exception"]


# --- Snip ------------------------------------------------------------------------------------------------------------


def test_snip_asks_nobody_and_says_what_went() -> None:
    """With a store the messages that went are in it, a line each, as they were on the wire."""
    store = cl.MemoryStore()
    outcome = compacted(cl.compact(long(), POLICY, when="now", rungs=["snip"], summarise=nobody, store=store))
    [gone] = outcome.dropped

    assert gone.rung == outcome.report["rung"] == "snip"
    assert f"of the {gone.stop} messages before this record, {gone.stop} were dropped without a summary" in outcome.summary
    assert cl.fetch(store, gone.ref or "").decode().count("\n") == gone.stop
    assert gone.ref in outcome.issued
    assert f"ref={gone.ref}" in outcome.summary


def test_no_more_is_snipped_than_has_to_be() -> None:
    """What goes is lost to the model; a summary may cut earlier."""
    policy = cl.Policy(window_tokens=200_000, tail_tokens=2_000, target_tokens=20_000)
    snipped = compacted(cl.compact(long(), policy, when="now", rungs=["snip"]))
    summarised = compacted(cl.compact(long(), policy, when="now", rungs=["summarise"]))

    assert snipped.cut < summarised.cut
    assert snipped.reason == "target-met"


def test_snip_keeps_the_summary_that_is_there() -> None:
    """Law L20: it stays, and there is one."""
    first = compacted(cl.compact(long(), POLICY, when="now", summarise=lambda _: BODY))
    grown = cl.parse([*cl.render(first.conversation), *cl.render(long())], dialect="anthropic")
    second = compacted(cl.compact(grown, POLICY, when="now", rungs=["snip"]))

    assert "- tables" in second.summary
    assert str(cl.render(second.conversation)).count("[compactlib summary v1") == 1


# --- Overflow --------------------------------------------------------------------------------------------------------


def test_overflow_with_a_failing_summariser_leaves_everything() -> None:
    """The default: a typed outcome, and the conversation as it was."""
    conversation = long()
    outcome = cl.compact(conversation, POLICY, when="overflow", summarise=fails)

    assert isinstance(outcome, Refused)
    assert outcome.conversation is conversation
    assert outcome.reason == "summary-failed:exception"


def test_overflow_may_snip_when_nothing_else_helped() -> None:
    """Only by the policy, with what failed in the report."""
    policy = evolve(POLICY, on_overflow="snip")
    outcome = compacted(cl.compact(long(), policy, when="overflow", summarise=fails))
    helped = compacted(cl.compact(long(), policy, when="overflow", summarise=lambda _: BODY))

    assert outcome.report["rung"] == "snip"
    assert helped.report["rung"] == "summarise"


def test_only_an_overflow_snips_by_policy() -> None:
    """By itself the ladder never drops anything without a summary."""
    outcome = cl.compact(long(), evolve(POLICY, on_overflow="snip"), when="now", summarise=fails)

    assert isinstance(outcome, Refused)


def test_size_that_was_refused_is_believed() -> None:
    """A request that should fit and was refused: the window is smaller than was thought."""
    conversation = long()
    policy = cl.Policy(window_tokens=1_000_000)
    outcome = compacted(cl.compact(conversation, policy, when="overflow", summarise=lambda _: BODY))
    again = compacted(cl.compact(outcome.conversation, policy, when="overflow", summarise=lambda _: BODY))

    assert outcome.after_tokens < outcome.before_tokens // 2
    assert again.after_tokens < outcome.after_tokens


# --- Review ----------------------------------------------------------------------------------------------------------


def test_review_sees_the_outcome_and_lets_it_pass() -> None:
    """``None`` and ``True`` change nothing."""
    seen: list[Compacted] = []
    plain = compacted(cl.compact(long(), POLICY, when="now", summarise=lambda _: BODY))
    reviewed = cl.compact(long(), POLICY, when="now", summarise=lambda _: BODY, review=seen.append)

    assert [one.summary for one in seen] == [plain.summary]
    assert cl.render(reviewed.conversation) == cl.render(plain.conversation)


@pytest.mark.parametrize("said", [False, cl.Vetoed("it lies"), 5])
def test_veto_leaves_everything_as_it_was(said: Any) -> None:
    """Law L6; and it says why."""
    conversation = long()
    outcome = cl.compact(conversation, POLICY, when="now", summarise=lambda _: BODY, review=lambda _: said)

    assert isinstance(outcome, Refused)
    assert outcome.conversation is conversation
    assert outcome.reason == "vetoed"
    assert outcome.why


def test_review_that_raises_lets_nothing_pass() -> None:
    """With its words."""

    def review(outcome: Compacted) -> None:
        raise KeyError(outcome.reason)

    outcome = cl.compact(long(), POLICY, when="now", summarise=lambda _: BODY, review=review)

    assert isinstance(outcome, Refused)
    assert "KeyError" in outcome.why


def test_edited_summary_takes_the_place_of_the_reply() -> None:
    """It is judged as a reply is."""
    edited = BODY.replace("- tables", "- all twenty tables")
    outcome = compacted(cl.compact(long(), POLICY, when="now", summarise=lambda _: BODY, review=lambda _: edited))
    broken = cl.compact(long(), POLICY, when="now", summarise=lambda _: BODY, review=lambda _: "Sure, here it is.")

    assert "- all twenty tables" in outcome.summary
    assert isinstance(broken, Refused)
    assert broken.reason.startswith("summary-failed:")
    assert "edited" in broken.why


def test_review_may_be_awaited() -> None:
    """A person may take their time."""

    async def answer(request: SummaryRequest) -> str:
        return BODY

    async def review(outcome: Compacted) -> bool:
        await asyncio.sleep(0)
        return False

    outcome = asyncio.run(cl.acompact(long(), POLICY, when="now", summarise=answer, review=review))

    assert outcome.reason == "vetoed"


# --- Preview ---------------------------------------------------------------------------------------------------------


def test_preview_shows_what_is_then_done() -> None:
    """The same cut, and the same messages go; the size lies in the range."""
    conversation = long()
    shown = cl.plan(conversation, POLICY, when="now")
    done = compacted(cl.compact(conversation, POLICY, when="now", summarise=lambda _: BODY))

    assert (shown.outcome, shown.cut, shown.kept_prompt) == ("compacted", done.cut, done.kept_prompt)
    assert shown.dropped == done.dropped
    assert shown.rungs == ("summarise",)
    assert shown.after_tokens[0] <= done.after_tokens <= shown.after_tokens[1]
    assert len(shown.requests) == 1


def test_preview_stores_nothing() -> None:
    """Though it shows what would be cleared."""
    store = cl.MemoryStore()
    shown = cl.plan(long(), POLICY, when="now", store=store)

    assert shown.rungs[0] == "clear"
    assert all(one.ref for one in shown.dropped)
    with pytest.raises(cl.StoreError):
        store.get(shown.dropped[0].ref or "")


def test_preview_of_nothing_says_why() -> None:
    """As the outcome would."""
    shown = cl.plan(long(1), POLICY)

    assert (shown.outcome, shown.reason, shown.rungs, shown.cut) == ("unchanged", "below-trigger", (), None)


# --- When it is due --------------------------------------------------------------------------------------------------


def test_what_a_provider_reported_decides_whether_it_is_due() -> None:
    """And what came after it is estimated."""
    conversation = long()
    messages = len(conversation.messages)
    large, small = Anchor(20_000, messages - 1), Anchor(1_000, messages - 1)

    assert cl.compact(conversation, cl.Policy(window_tokens=80_000)).reason == "below-trigger"
    assert isinstance(cl.compact(conversation, evolve(POLICY, trigger_tokens=15_000), anchor=large), Compacted)
    assert cl.compact(conversation, evolve(POLICY, trigger_tokens=15_000), anchor=small).reason == "below-trigger"


def half(text: str) -> int:
    """A counter that sees half of what there is."""
    return (len(text) + 1) // 2


@given(st.integers(1, 40), st.integers(0, 30))
def test_what_is_kept_is_counted_as_the_provider_counts(times: int, later: int) -> None:
    """Whoever counts by half, and is told so, cuts where one cuts who counts the whole (law L3)."""
    conversation = long()
    exact = evolve(POLICY, window_tokens=2_000 * times + 60_000, tail_tokens=300 * times, counter=len)
    position = len(conversation.messages) - later
    covered = evolve(conversation, messages=conversation.messages[:position])
    anchor = Anchor(Memo(len).request(covered), position)
    wanted = compacted(cl.compact(conversation, exact, when="now"))
    found = compacted(cl.compact(conversation, evolve(exact, counter=half), when="now", anchor=anchor))

    assert found.cut == wanted.cut
    assert abs(found.before_tokens - wanted.before_tokens) < wanted.before_tokens // 50
    assert found.report["corrected"] is not None


@pytest.mark.parametrize("reported", [3, 400, 900_000])
def test_report_that_no_counter_can_be_so_far_from_is_believed_in_nothing(reported: int) -> None:
    """It is of something else."""
    conversation = long()
    outcome = cl.compact(conversation, POLICY, when="now", anchor=Anchor(reported, conversation.length))

    assert outcome.report["corrected"] is None
    assert outcome.before_tokens == Memo().request(conversation)


@pytest.mark.parametrize("window", [16_000, 32_000, 64_000])
@pytest.mark.parametrize("percent", [60, 130, 150, 220, 300])
def test_summary_that_nobody_counted_otherwise_keeps_to_its_room(window: int, percent: int) -> None:
    """The summariser counts as the engine does, in the provider's tokens."""
    conversation = long(80)
    anchor = Anchor(Memo().request(conversation) * percent // 100, conversation.length)
    policy = cl.Policy(window_tokens=window)

    assert compacted(cl.compact(conversation, policy, when="now", anchor=anchor)).report["corrected"] is not None
    assert cl.plan(conversation, policy, when="now", anchor=anchor).outcome == "compacted"


def test_what_an_edit_hides_by_now_is_not_counted() -> None:
    """The report was made before the last results came, and these hide as many older ones."""
    messages: list[Any] = [user("read them")]
    for number in range(30):
        messages += [model(call(f"c{number}")), user(result(f"c{number}", "a row of it\n" * 300))]
    edit = {
        "type": "clear_tool_uses_20250919",
        "trigger": {"type": "input_tokens", "value": 1},
        "keep": {"type": "tool_uses", "value": 3},
    }
    body = {"model": "claude-sonnet-4-5", "max_tokens": 9, "context_management": {"edits": [edit]}, "messages": messages}
    now, then = cl.parse(body, dialect="anthropic"), cl.parse({**body, "messages": messages[:-12]}, dialect="anthropic")
    anchor = Anchor(cl.compact(then, POLICY).before_tokens, then.length)
    size = cl.compact(now, POLICY).before_tokens

    outcome = cl.compact(now, evolve(POLICY, trigger_tokens=size + 500), anchor=anchor, rungs=("summarise",))
    assert anchor.size(now, Memo()) > size + 2_000
    assert (outcome.reason, abs(outcome.before_tokens - size) < size // 50) == ("below-trigger", True)


def test_report_from_before_the_last_compaction_is_passed_over() -> None:
    """Else one large report would compact again and again."""
    first = compacted(cl.compact(long(), POLICY, when="now", summarise=lambda _: BODY))
    stale = Anchor(29_000, long().length)
    early = Anchor(29_000, 1)

    for anchor in (stale, early):
        grown = evolve(first.conversation, messages=(*first.conversation.messages, *long(1).messages[1:]))
        assert cl.compact(grown, POLICY, anchor=anchor, summarise=nobody).reason == "below-trigger"


def test_switch_to_a_smaller_model_is_summarised_by_the_larger_one() -> None:
    """It can still read all of it at once."""
    asked: list[SummaryRequest] = []

    def answer(request: SummaryRequest) -> str:
        asked.append(request)
        return BODY

    small = cl.Policy(window_tokens=8_000)
    alone = compacted(cl.compact(long(), small, summarise=answer))
    parts = len(asked)
    asked.clear()
    helped = compacted(cl.compact(long(), evolve(small, summariser_window_tokens=200_000), summarise=answer))

    assert parts > len(asked) == 1
    assert helped.fits
    assert alone.fits


# --- Bytes and media -------------------------------------------------------------------------------------------------


LARGE_PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", 800, 600) + b"\x08\x06\0\0\0").decode()
"""The beginning of a picture of 800 by 600, which says its size."""


def pictures(count: int) -> cl.Conversation:
    """Steps whose results are pictures, small in tokens."""
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": LARGE_PNG}}
    messages: list[dict[str, Any]] = [user("Look at all of them.")]
    for number in range(count):
        answer = {"type": "tool_result", "tool_use_id": f"c{number}", "content": [text(f"picture {number}"), picture]}
        messages += [model(call(f"c{number}")), user(answer)]
    return cl.parse([*messages, model("Seen."), user("And?")], dialect="anthropic")


def test_too_many_media_are_cleared_oldest_first_though_they_are_few_tokens() -> None:
    """No more of them than have to go, and the words beside them stay."""
    conversation = pictures(20)
    policy = cl.Policy(window_tokens=1_000_000, max_media=8)
    outcome = compacted(cl.compact(conversation, policy, store=cl.MemoryStore(), summarise=nobody))
    wire = str(cl.render(outcome.conversation))

    assert outcome.report["bulk"] == {"body_bytes": None, "media": 8}
    assert [unit["what"] for unit in outcome.report["cleared"]] == ["image"] * 12
    assert all(f"picture {number}" in wire for number in range(20))
    assert outcome.fits


def test_too_many_bytes_are_due_like_too_many_tokens() -> None:
    """Clearing goes on until the body fits."""
    conversation = long()
    size = len(json.dumps(cl.render(conversation), separators=(",", ":")))
    policy = cl.Policy(window_tokens=1_000_000, max_body_bytes=size * 3 // 4)
    outcome = compacted(cl.compact(conversation, policy, store=cl.MemoryStore(), summarise=nobody))

    assert outcome.fits
    assert outcome.report["bulk"]["body_bytes"] <= size * 3 // 4
    assert cl.compact(conversation, evolve(policy, max_body_bytes=size)).reason == "below-trigger"


def test_media_that_nothing_may_clear_lead_to_a_summary() -> None:
    """Without a store the ladder goes on."""
    policy = cl.Policy(window_tokens=1_000_000, max_media=8, tail_tokens=4_000)
    outcome = cl.compact(pictures(60), policy, summarise=lambda _: BODY)

    assert isinstance(outcome, Compacted)
    assert outcome.report["rung"] == "summarise"


def test_first_prompt_that_is_pinned_is_not_taken_for_another() -> None:
    """Law L8: it stands in the head, and the next compaction quotes no later prompt in its name."""
    store = cl.MemoryStore()
    first = compacted(cl.compact(long(), POLICY, when="now", pins=[0], store=store))
    grown = cl.parse([*cl.render(first.conversation), *cl.render(long(60))[1:]], dialect="anthropic")
    then = compacted(cl.compact(grown, POLICY, when="now", store=store, issued=first.issued))

    assert "First prompt:" not in first.summary + then.summary
    assert "Latest prompt:" in then.summary


def test_steps_of_a_split_turn_are_summarised_under_their_own_heading() -> None:
    """Its prompt stays verbatim; what was done for older prompts is done."""
    old = cl.render(long(12))
    steps: list[Any] = [user("now migrate it")]
    for number in range(40):
        steps += [model(call(f"s{number}", "bash")), user(result(f"s{number}", f"{number} rows moved\n" + "a row\n" * 200))]
    steps[-2] = model(text("I moved the rows."), call("s39", "bash"))
    split = compacted(cl.compact(cl.parse([*old, *steps], dialect="anthropic"), POLICY, when="now"))
    assert split.kept_prompt == len(old)
    done, under_way = split.summary.split("## The request under way\n")
    assert "rows moved" not in done.partition("## Done")[2]
    assert "rows moved" in under_way or "a row" in under_way

    whole = cl.parse([*cl.render(split.conversation), model("All is moved."), user("thanks, and the docs?")], dialect="anthropic")
    over = compacted(cl.compact(whole, evolve(POLICY, tail_tokens=100, step_cuts="never"), when="now"))
    assert over.kept_prompt is None
    assert "## The request under way" not in over.summary


@pytest.mark.parametrize("place", [0, 1])
def test_pin_at_the_cut_of_a_collapse_outlives_the_summary_behind_it(place: int) -> None:
    """Law L8: where the head is one message with the prompt at the cut, its blocks stand further down."""
    messages: list[Any] = []
    for number in range(8):
        messages.append(user(text(f"Do thing {number}."), text(f"MARK{number} is to be kept.")))
        for step in range(3):
            name = f"t{number}-{step}"
            messages += [model(call(name)), user(result(name, f"row {number} {step} of it\n" * 150))]
        messages.append(model(f"Done {number}."))
    conversation = cl.parse(messages, dialect="anthropic")
    policy = cl.Policy(window_tokens=16_000, digest_every_turns=1)
    digests = dict(itertools.islice(cl.digest(conversation, policy).digests.items(), 3))

    for number in range(8):
        pins = [(8 * number, place)]
        outcome = compacted(
            cl.compact(conversation, policy, when="now", digests=digests, pins=pins, rungs=["collapse", "summarise"])
        )
        pinned = messages[8 * number]["content"][place]["text"]
        assert [one["rung"] for one in outcome.report["rungs"]] == ["collapse", "summarise"]
        assert [block.text for one in outcome.conversation.messages for block in one.blocks if isinstance(block, Text)].count(
            pinned
        ) == 1, number


@pytest.mark.parametrize("dialect", BASES)
def test_texts_that_the_policy_pins_stand_in_every_head_once(dialect: str) -> None:
    """Law L8: verbatim and in order, whatever is compacted and however often; beside what is pinned by its place."""
    orders = ("Never push to main.", "Отвечай только по-русски.")
    policy = cl.Policy(window_tokens=16_000, pins=list(orders))
    conversation = cl.convert(long(20), dialect=dialect).conversation
    prompt = next(block for one in conversation.messages for block in one.blocks if isinstance(block, Text)).text
    at = next(at for at, one in enumerate(conversation.messages) if prompt in one.text)
    for times in range(50 if WHOLE else 5):
        pins = [conversation.wire_index(at)] if not times else []
        record, made = observe(cl.compact, conversation, policy, when="now", repeat=False, pins=[(pin, 0) for pin in pins])
        outcome = compacted(made)
        broken = [str(finding) for finding in judge(record, laws=["L8", "L9"]) if finding.verdict == "broken"]
        texts = [block.text for one in outcome.conversation.messages for block in one.blocks if isinstance(block, Text)]
        pinned = [text for text in texts if text in (*orders, prompt)]

        assert broken == [], times
        assert pinned == [*orders, prompt], times
        body = cl.render(outcome.conversation)
        assert isinstance(body, list | dict)
        grown = cl.convert(long(20 + times % 3), dialect=dialect).conversation
        conversation = evolve(outcome.conversation, messages=(*outcome.conversation.messages, *grown.messages), settled=0)


@pytest.mark.parametrize("pins", ["one text", [""], ["a", "a"], [1], None])
def test_pins_of_a_policy_are_texts(pins: Any) -> None:
    with pytest.raises(cl.PolicyError, match="pins: texts"):
        cl.Policy(window_tokens=16_000, pins=pins)
