"""What survives word for word beside a summary: of what was cleared before, the way back; of our own markers, no facts."""

from __future__ import annotations

from typing import Any, Final

import pytest
from attrs import evolve

import compactlib as cl
from compactlib.options import Clearing
from compactlib.summaries.facts import find_anchors

PICTURE: Final = "data:image/png;base64," + "iVBORw0KGgo=" * 2_000
GOOD: Final = "## Goal\n(none)\n## Orders, constraints and preferences\n(none)\n## Done\n- it was shown\n## Next step\n- go on"


def shown(dialect: str) -> list[dict[str, Any]]:
    """A turn in which a tool produced a picture, which stands in a message of its own behind the result."""
    function = {"name": "shot", "arguments": "{}"}
    image = {"type": "image_url", "image_url": {"url": PICTURE}}
    return [
        {"role": "user", "content": "show it"},
        {"role": "assistant", "content": "", "tool_calls": [{"id": "call00001", "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": "call00001", "content": "(see attached image)"},
        *([{"role": "assistant", "content": "Understood."}] if dialect == "mistral" else []),
        {"role": "user", "content": [{"type": "text", "text": "Attached image(s) from tool result:"}, image]},
        {"role": "assistant", "content": "I see it."},
    ]


@pytest.mark.parametrize("dialect", ["openai-chat", "mistral"])
def test_a_picture_that_was_cleared_behind_a_result_is_not_lost_with_its_turn(dialect: str) -> None:
    """Law L10: the reference in its stub stands behind the summary that replaces it; and no line of a stub is a fact (L21)."""
    store = cl.MemoryStore()
    policy = cl.Policy(window_tokens=32_000, tail_tokens=20, schema="brief", clearing=Clearing(keep=0))
    subject = cl.parse(shown(dialect), dialect=dialect)
    first = cl.compact(subject, evolve(policy, window_tokens=4_000), when="now", store=store, rungs=["clear"])
    assert isinstance(first, cl.Compacted), first
    (ref,) = first.issued
    said = "go on " + "and on " * 4_000
    more = cl.parse([{"role": "user", "content": said}, {"role": "assistant", "content": "ok"}], dialect=dialect)
    grown = evolve(first.conversation, messages=(*first.conversation.messages, *more.messages, more.messages[0]))
    then = cl.compact(grown, policy, when="now", store=store, issued=first.issued, summarise=lambda _: GOOD, rungs=["summarise"])

    assert isinstance(then, cl.Compacted), then
    assert f"ref={ref}" in then.summary
    anchors = find_anchors(first.conversation.messages, issued=first.issued)
    assert [anchor.text for anchor in anchors if "chars" in anchor.text] == []


def grown(messages: list[dict[str, Any]], *, words: int = 6_000) -> cl.Conversation:
    """A conversation that goes on after *messages* until they are old."""
    long = {"role": "assistant", "content": "word " * words}
    return cl.parse(
        [*messages, {"role": "user", "content": "go on"}, long, {"role": "user", "content": "next"}], dialect="anthropic"
    )


def behind(summary: str, store: cl.MemoryStore) -> str:
    """The summary with what its index holds, and the index of the one before."""
    text, at = summary, 0
    while (at := text.find("- and more: ", at)) >= 0:
        text += "\n" + cl.fetch(store, text[at:].partition("ref=")[2][:64]).decode()
        at += 1
    return text


def test_what_was_shortened_or_put_away_is_not_lost_with_its_turn() -> None:
    """Law L10: the references of markers and pointers stand behind the summary like those of stubs; their lines are no facts."""
    store = cl.MemoryStore()
    policy = cl.Policy(window_tokens=16_000)
    stashed = cl.stash("order 4471", "pay by 30 November\n" * 9, store)
    log = "".join(f"line {number} of the log\n" for number in range(5_000))
    asked = [("stash", {"name": "order 4471"}, stashed.text), ("bash", {"command": "make build"}, log)]
    messages: list[dict[str, Any]] = [{"role": "user", "content": "build it"}]
    for place, (name, given, said) in enumerate(asked):
        messages.append({"role": "assistant", "content": [{"type": "tool_use", "id": f"c{place}", "name": name, "input": given}]})
        messages.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"c{place}", "content": said}]})
    last = cl.parse(messages, dialect="anthropic").messages
    admitted = cl.admit(last[4], policy, store, calls=last[3].calls)
    messages[4] = cl.render(evolve(cl.parse([], dialect="anthropic"), messages=(admitted.message,)))[0]
    issued = {**stashed.issued, **admitted.issued}
    (marked,) = admitted.issued

    made = cl.compact(
        grown(messages), policy, when="now", store=store, issued=issued, summarise=lambda _: GOOD, rungs=["summarise"]
    )

    assert isinstance(made, cl.Compacted), made
    told = behind(made.summary, store)
    assert f"stored order 4471: ref={stashed.ref}" in told
    assert f"result of bash make build: ref={marked}" in told
    assert "110000 chars" not in told
    assert "excerpt" not in told


def test_fact_that_only_the_summary_before_held_is_not_lost_with_it() -> None:
    """Law L21: no message is left that says it; it is carried behind the new summary, and a claim that was flagged is not."""
    store = cl.MemoryStore()
    policy = cl.Policy(window_tokens=16_000)
    said = [{"role": "user", "content": "build it"}, {"role": "assistant", "content": "the key is KEY-77158722"}]
    bodies = iter([f"{GOOD}\n- it is KEY-77158722, and AB-1234 too", GOOD])
    first = cl.compact(grown(said), policy, when="now", store=store, summarise=lambda _: next(bodies))
    assert isinstance(first, cl.Compacted), first
    assert "it is KEY-77158722, and AB-1234 [unverified] too" in first.summary
    further = grown(cl.render(first.conversation))

    then = cl.compact(further, policy, when="now", store=store, issued=first.issued, summarise=lambda _: next(bodies))

    assert isinstance(then, cl.Compacted), then
    assert "KEY-77158722" in behind(then.summary, store)
    assert "AB-1234" not in behind(then.summary, store)


@pytest.mark.parametrize("words", range(0, 140, 20))
def test_small_window_has_a_way_back(words: int) -> None:
    """Law L21: where no fact has room, one reference leads to all of them, as long as there is room for it."""
    facts = " ".join(f"ORD-{number}" for number in range(40))
    said = [{"role": "user", "content": "build it"}, {"role": "assistant", "content": facts}]
    body = GOOD.replace("- it was shown", "- " + "it was shown " * (words // 3))

    made = cl.compact(
        grown(said),
        cl.Policy(window_tokens=5_000),
        when="now",
        store=cl.MemoryStore(),
        summarise=lambda _: body,
        rungs=["summarise"],
    )

    assert isinstance(made, cl.Compacted), made
    assert "ref=" in made.summary


def test_changed_files_for_which_the_list_has_no_room_stand_behind_one_reference() -> None:
    """Law L23: all of them, over all compactions; without the issued table the older ones behind theirs."""
    store = cl.MemoryStore()
    policy = cl.Policy(window_tokens=32_000)

    def wrote(*numbers: int) -> list[dict[str, Any]]:
        calls = [
            {"type": "tool_use", "id": f"w{number}", "name": "write_file", "input": {"path": f"/srv/some/module_{number}.py"}}
            for number in numbers
        ]
        results = [{"type": "tool_result", "tool_use_id": call["id"], "content": "ok"} for call in calls]
        return [{"role": "user", "content": "go"}, {"role": "assistant", "content": calls}, {"role": "user", "content": results}]

    def compacted(messages: list[dict[str, Any]], issued: Any = None) -> tuple[cl.Compacted, list[str]]:
        made = cl.compact(
            grown([*messages, {"role": "assistant", "content": "done"}], words=12_000),
            policy,
            when="now",
            store=store,
            issued=issued,
            summarise=lambda _: GOOD,
            rungs=["summarise"],
        )
        assert isinstance(made, cl.Compacted), made
        return made, [line for line in behind(made.summary, store).splitlines() if " changed files: ref=" in line]

    first, [told] = compacted(wrote(*range(100)))
    further = [*cl.render(first.conversation), {"role": "assistant", "content": "ok"}, *wrote(*range(90, 190))]
    then, told_then = compacted(further, issued=first.issued)
    blind, told_blind = compacted(further)

    assert told.startswith("- 100 changed files: ")
    (ref,) = (line[-64:] for line in told_then if line.startswith("- 190 "))
    listed = cl.fetch(store, ref).decode().splitlines()
    assert sorted(listed) == sorted(f"/srv/some/module_{number}.py" for number in range(190))
    assert then.issued[ref][1] == 190
    assert any(told[-64:] in line for line in told_blind)
    assert not any(line.startswith("- 190 ") for line in told_blind)
    assert blind.reason == then.reason
