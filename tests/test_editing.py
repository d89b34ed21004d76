"""Asking a provider to hide what is old: what is asked for, and what the model sees then."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve

import compactlib as cl
from compactlib.errors import PolicyError, StoreError
from compactlib.model import Reasoning
from compactlib.options import Clearing
from compactlib.outcomes import Compacted, Unchanged
from compactlib.store import MemoryStore, fetch
from compactlib.summaries.extractive import Extractive
from compactlib.summaries.rendering import SummaryRequest
from compactlib.tokens import Memo
from compactlib.visible import CLEARED, effective

LOG = "line of a long log, number 7, all is well\n" * 60
POLICY = cl.Policy(window_tokens=16_000, reserve_tokens=4_000, clearing=Clearing(form="edit"))
TOOLS = "clear_tool_uses_20250919"
THINKING = "clear_thinking_20251015"


def nobody(request: SummaryRequest) -> str:
    raise AssertionError("no model is to be asked")


def body(steps: int, *, per_turn: int = 0, text: str = LOG, name: str = "read", **fields: Any) -> dict[str, Any]:
    """A request with that many steps; with *per_turn* each so many are a turn of their own, and the model thinks."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "go"}]
    for number in range(steps):
        if per_turn and number and number % per_turn == 0:
            messages += [{"role": "assistant", "content": "so far"}, {"role": "user", "content": "go on"}]
        call: list[Any] = [{"type": "tool_use", "id": f"c{number}", "name": name, "input": {"path": f"{number}.txt"}}]
        if per_turn:
            call.insert(0, {"type": "thinking", "thinking": f"I read {number}. " * 30, "signature": f"S{number}"})
        said = [{"type": "tool_result", "tool_use_id": f"c{number}", "content": f"{number} {text}"}]
        messages += [{"role": "assistant", "content": call}, {"role": "user", "content": said}]
    return {"max_tokens": 1, "messages": [*messages, {"role": "assistant", "content": "done"}], **fields}


def subject(steps: int = 24, **fields: Any) -> cl.Conversation:
    return cl.parse(body(steps, **fields), dialect="anthropic")


def compacted(conversation: cl.Conversation, policy: cl.Policy = POLICY, **more: Any) -> Compacted:
    outcome = cl.compact(conversation, policy, summarise=nobody, **more)
    assert isinstance(outcome, Compacted), outcome
    return outcome


def edits(outcome: Compacted) -> list[Any]:
    assert outcome.edits is not None
    return list(outcome.edits["edits"])


def seen(outcome: Compacted) -> cl.Conversation:
    assert outcome.edits is not None
    return effective(outcome.request)


def hidden(conversation: cl.Conversation) -> list[int]:
    """Which results are hidden, counted from the first."""
    results = [result for message in conversation.messages for result in message.results]
    return [number for number, result in enumerate(results) if result.text == CLEARED]


def test_no_message_changes_and_the_size_is_that_of_what_the_model_sees() -> None:
    """Law L18: the cached prefix stays, and nothing is said to have changed."""
    conversation = subject()
    outcome = compacted(conversation)

    assert outcome.conversation.messages is conversation.messages
    assert (outcome.first_changed, outcome.cut, outcome.reason) == (None, 0, "target-met")
    assert outcome.after_tokens == Memo().request(seen(outcome)) < outcome.before_tokens == Memo().request(conversation)
    assert outcome.betas == ("context-management-2025-06-27",)
    assert cl.check(outcome.request, mode="history") == ()
    assert outcome.undo() is conversation


def test_the_oldest_are_hidden_and_no_more_than_the_target_needs() -> None:
    """With one use less the target would not be reached."""
    outcome = compacted(subject())
    (edit,) = edits(outcome)
    keep = edit["keep"]["value"]
    less = {"edits": [{**edit, "keep": {"type": "tool_uses", "value": keep + 1}}]}

    assert edit == {
        "type": TOOLS,
        "trigger": {"type": "tool_uses", "value": keep},
        "keep": {"type": "tool_uses", "value": keep},
    }
    assert hidden(seen(outcome)) == list(range(24 - keep))
    target = outcome.report["sizes"]["target"]
    asked = outcome.conversation.with_setting("context_management", less)
    assert outcome.after_tokens <= target < Memo().request(effective(asked))


@pytest.mark.parametrize(
    ("said", "known", "form"),
    [
        ("prod-sonnet", "claude-sonnet-4-5", "edit"),
        ("prod-sonnet", "claude-3-7-sonnet", "rewrite"),
        ("prod-sonnet", "its-own-name", "rewrite"),
        ("claude-3-7-sonnet", "claude-sonnet-4-5", "rewrite"),
        ("claude-sonnet-4-5", "claude-3-7-sonnet", "edit"),
    ],
)
def test_alias_is_asked_for_by_the_name_that_is_known(said: str, known: str, form: str) -> None:
    """What the request says goes first, unless nothing is known of it, and of `Policy.model` something is."""
    outcome = compacted(subject(model=said), evolve(POLICY, model=known), store=MemoryStore(), rungs=("clear",))

    assert ("edit" if outcome.edits is not None else "rewrite") == form


def test_again_is_nothing_new() -> None:
    """Law L17."""
    outcome = compacted(subject())
    again = cl.compact(outcome.conversation, POLICY, summarise=nobody, when="now")

    assert isinstance(again, Unchanged)
    assert again.conversation is outcome.conversation


def test_a_request_that_asks_for_it_already_is_not_compacted_again() -> None:
    """What is hidden is not counted: with the edits in its body the next request rests below the trigger."""
    outcome = compacted(subject())
    asked = cl.parse(cl.render(outcome.request), dialect="anthropic")
    then = cl.compact(asked, POLICY, summarise=nobody)

    assert isinstance(then, Unchanged)
    assert (then.reason, then.before_tokens) == ("below-trigger", outcome.after_tokens)


def test_what_is_hidden_is_stored_where_there_is_a_store() -> None:
    """Law L10; without one nothing is lost, because the messages stay."""
    store = MemoryStore()
    outcome = compacted(subject(), store=store)
    kept = {fetch(store, part.ref or "").decode() for part in outcome.dropped}

    assert kept == {f"{number} {LOG}" for number in hidden(seen(outcome))}
    assert set(outcome.issued) == {part.ref for part in outcome.dropped}
    assert {part.ref for part in compacted(subject()).dropped} == {None}


def test_a_store_that_fails_changes_nothing() -> None:
    """Law L10."""

    class Full(MemoryStore):
        def put(self, data: bytes, name: str = "") -> str:
            raise StoreError("full")

    outcome = cl.compact(subject(), POLICY, summarise=nobody, store=Full())

    assert outcome.reason == "store-failed"


@pytest.mark.parametrize(
    ("conversation", "policy", "why"),
    [
        (subject(model="my-proxy"), POLICY, "'my-proxy' is not known to support clear_tool_uses_20250919"),
        (subject(model="claude-3-7-sonnet-latest"), POLICY, "is not known to support"),
        (
            cl.convert(subject(), dialect="openai-chat").conversation,
            POLICY,
            "the profile 'openai-chat' has no such edits",
        ),
        (
            subject(),
            cl.Policy(window_tokens=16_000, reserve_tokens=4_000, clearing=Clearing(form="edit"), max_body_bytes=30_000),
            "the body is too heavy",
        ),
    ],
)
def test_where_the_provider_cannot_be_asked_messages_are_rewritten(
    conversation: cl.Conversation, policy: cl.Policy, why: str
) -> None:
    """And the report says why; without a store that rung does not run."""
    outcome = cl.compact(conversation, policy, summarise=Extractive(), store=MemoryStore())
    assert isinstance(outcome, Compacted)

    assert outcome.edits is None
    assert outcome.first_changed is not None
    told: Any = outcome.report["edits"]
    assert told["form"] == "rewrite"
    assert why in told["why"]
    with pytest.raises(PolicyError, match="store"):
        cl.compact(conversation, policy, summarise=Extractive(), rungs=("clear",))


def test_what_is_pinned_excluded_new_or_unseen_stays() -> None:
    """A single result cannot be named, so the tool of a pin is spared as a whole."""
    wire = body(24)
    for at in (3, 9):
        wire["messages"][at]["content"][0]["name"] = "notes"
    wire["messages"][7]["content"][0]["name"] = "secret"
    policy = cl.Policy(
        window_tokens=16_000, reserve_tokens=4_000, clearing=Clearing(form="edit", exclude_tools={"secret"}, keep=5)
    )
    outcome = compacted(cl.parse(wire, dialect="anthropic"), policy, pins=[4], when="now")
    (edit,) = edits(outcome)

    assert edit["exclude_tools"] == ["notes", "secret"]
    assert edit["keep"]["value"] >= 5
    assert not {1, 3, 4} & set(hidden(seen(outcome)))
    assert outcome.report["edits"]["spared"] == 1


def test_what_failed_is_hidden_too_and_counted() -> None:
    """The provider has no word for it."""
    wire = body(24)
    wire["messages"][4]["content"][0]["is_error"] = True
    outcome = compacted(cl.parse(wire, dialect="anthropic"))

    assert 1 in hidden(seen(outcome))
    assert outcome.report["edits"]["failed"] == 1


def test_old_thinking_goes_first_and_in_the_first_place() -> None:
    """Never that of the current turn (law L5)."""
    policy = cl.Policy(
        window_tokens=16_000, reserve_tokens=4_000, clearing=Clearing(form="edit", thinking_keep_turns=1, clear_tool_inputs=True)
    )
    conversation = subject(30, per_turn=5, thinking={"type": "adaptive"}, model="claude-opus-4-6")
    outcome = compacted(conversation, policy)
    first, second = edits(outcome)
    left = [at for at, message in enumerate(seen(outcome).messages) if any(isinstance(b, Reasoning) for b in message.blocks)]

    assert first == {"type": THINKING, "keep": {"type": "thinking_turns", "value": 1}}
    assert (second["type"], second["clear_tool_inputs"]) == (TOOLS, True)
    assert len(left) == 5
    assert left[0] > max(at for at, message in enumerate(conversation.messages) if message.text == "go on")
    assert {unit["what"] for unit in outcome.report["edits"]["hidden"]} == {
        "result",
        "arguments",
        "reasoning",
    }


@pytest.mark.parametrize("fields", [{"thinking": {"type": "disabled"}}, {"model": "claude-sonnet-4-5"}])
def test_thinking_that_is_off_is_not_cleared(fields: dict[str, Any]) -> None:
    """The edit would be refused (A-CTX-01)."""
    policy = cl.Policy(window_tokens=16_000, reserve_tokens=4_000, clearing=Clearing(form="edit", thinking_keep_turns=1))
    outcome = compacted(subject(30, per_turn=5, **fields), policy)

    assert [edit["type"] for edit in edits(outcome)] == [TOOLS]


def test_arguments_of_the_current_turn_stay() -> None:
    """Law L5: nothing says that they go in closed turns only, so they do not go at all."""
    policy = cl.Policy(window_tokens=16_000, reserve_tokens=4_000, clearing=Clearing(form="edit", clear_tool_inputs=True))

    assert "clear_tool_inputs" not in edits(compacted(subject(24), policy))[0]
    assert edits(compacted(subject(24, per_turn=4, thinking={"type": "adaptive"}), policy))[-1]["clear_tool_inputs"] is True


def test_edits_of_other_types_and_other_fields_stay() -> None:
    """The value takes the place of what the request said."""
    compact = {"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": 60_000}}
    old = {"type": TOOLS, "trigger": {"type": "tool_uses", "value": 500}}
    management = {"edits": [compact, old], "note": 1}
    outcome = compacted(subject(model="claude-opus-4-6", context_management=management))

    assert [edit["type"] for edit in edits(outcome)] == ["compact_20260112", TOOLS]
    assert (outcome.edits or {})["note"] == 1
    assert outcome.betas == ("compact-2026-01-12", "context-management-2025-06-27")


def test_what_the_caller_wants_saved_at_least_is_asked_for() -> None:
    """Where so much is saved; else the edit would do nothing."""
    policy = cl.Policy(window_tokens=16_000, reserve_tokens=4_000, clearing=Clearing(form="edit", clear_at_least_tokens=1_000))
    outcome = compacted(subject(), policy)

    assert edits(outcome)[0]["clear_at_least"] == {"type": "input_tokens", "value": 1_000}
    assert hidden(seen(outcome))


def test_where_hiding_is_not_enough_the_summary_begins_with_the_input() -> None:
    """No edit is asked for that the summary has made needless."""
    messages = [{"role": "user", "content": "words that nobody can hide " * 300}, {"role": "assistant", "content": "I see."}]
    wire = body(16)
    wire["messages"] = [*messages * 6, *wire["messages"]]
    conversation = cl.parse(wire, dialect="anthropic")
    outcome = cl.compact(conversation, POLICY, summarise=Extractive())

    assert isinstance(outcome, Compacted)
    assert (outcome.report["rung"], outcome.edits, outcome.report["cleared"]) == ("summarise", None, [])
    assert outcome.undo() is conversation
    hidden_first, then = outcome.report["rungs"]
    assert (hidden_first["form"], hidden_first["reason"], then["rung"]) == ("edit", "above-target", "summarise")
    assert outcome.before_tokens > hidden_first["after_tokens"] > then["after_tokens"] == outcome.after_tokens


def test_a_summary_that_fails_leaves_what_was_asked_for() -> None:
    """Law L6: the rung before stays."""
    messages = [{"role": "user", "content": "words that nobody can hide " * 300}, {"role": "assistant", "content": "I see."}]
    wire = body(16)
    wire["messages"] = [*messages * 6, *wire["messages"]]
    outcome = cl.compact(cl.parse(wire, dialect="anthropic"), POLICY, summarise=lambda request: "")

    assert isinstance(outcome, Compacted)
    assert edits(outcome)
    assert [(one["rung"], one["form"], one["outcome"], one["reason"]) for one in outcome.report["rungs"]] == [
        ("clear", "edit", "compacted", "above-target"),
        ("summarise", None, "refused", "summary-failed:empty"),
    ]


SMALL = cl.Policy(window_tokens=16_000, reserve_tokens=4_000, tail_tokens=10, target_tokens=200, clearing=Clearing(form="edit"))
"""With hardly a tail, and a target that is never reached: what stays is what has to."""


def with_calls(steps: int, calls: list[str], answered: list[str]) -> cl.Conversation:
    """At the end a batch of calls, some of them answered."""
    wire = body(steps)
    batch = [{"type": "tool_use", "id": one, "name": "read", "input": {"path": one}} for one in calls]
    given = [{"type": "tool_result", "tool_use_id": one, "content": f"{one} {LOG}"} for one in answered]
    wire["messages"][-1:] = [{"role": "assistant", "content": batch}, *([{"role": "user", "content": given}] if given else [])]
    return cl.parse(wire, dialect="anthropic")


def test_calls_that_wait_are_none_of_the_newest_results() -> None:
    """Three results stay, as they would if stubs were written; a use without a result is no result."""
    conversation = with_calls(24, ["p", "q", "r", "s"], [])
    outcome = compacted(conversation, SMALL, when="now", rungs=("clear",))
    stubs = compacted(
        conversation, evolve(SMALL, clearing=Clearing()), when="now", rungs=("clear",), store=MemoryStore()
    ).conversation

    assert hidden(seen(outcome)) == list(range(21))
    assert [text.startswith("[cleared") for message in stubs.messages for text in [r.text for r in message.results]] == (
        [True] * 21 + [False] * 3
    )


def test_the_newest_results_are_the_last_ones_given() -> None:
    """A batch may be answered in any order, and the provider counts calls."""
    wire = cl.render(with_calls(24, ["p", "q", "r"], ["r", "q", "p"]))
    wire = {"messages": [*wire["messages"], {"role": "assistant", "content": "done"}], "max_tokens": 1}
    policy = evolve(SMALL, clearing=Clearing(form="edit", keep=1))
    outcome = compacted(cl.parse(wire, dialect="anthropic"), policy, when="now", rungs=("clear",))

    assert hidden(seen(outcome)) == list(range(24))  # p was called first and answered last: all three stay


def test_all_may_be_hidden_where_nothing_has_to_stay() -> None:
    """A trigger of no uses might be refused, so it is one of tokens, which every request exceeds."""
    wire = body(6)
    wire["messages"] += [{"role": "user", "content": "and?"}, {"role": "assistant", "content": "fine"}]
    policy = evolve(SMALL, clearing=Clearing(form="edit", keep=0))
    outcome = compacted(cl.parse(wire, dialect="anthropic"), policy, when="now", rungs=("clear",))

    assert edits(outcome)[0]["trigger"] == {"type": "input_tokens", "value": 1}
    assert hidden(seen(outcome)) == list(range(6))


def test_no_thinking_comes_back_that_the_provider_dropped_unasked() -> None:
    """A model that keeps one turn by itself is not told to keep three."""
    policy = evolve(POLICY, clearing=Clearing(form="edit", thinking_keep_turns=3))
    thinking = {"type": "enabled", "budget_tokens": 1_024}
    conversation = subject(30, per_turn=5, thinking=thinking, model="claude-sonnet-4-5")
    outcome = compacted(conversation, policy, rungs=("clear",))

    assert [edit["type"] for edit in edits(outcome)] == [TOOLS]
    own = {"edits": [{"type": THINKING, "keep": {"type": "thinking_turns", "value": 1}}]}
    conversation = subject(30, per_turn=5, thinking=thinking, model="claude-opus-4-6", context_management=own)
    assert edits(compacted(conversation, policy, rungs=("clear",)))[:-1] == own["edits"]


def test_no_more_thinking_is_hidden_than_the_target_needs() -> None:
    """As when stubs are written: the fewest oldest turns that reach it."""
    policy = evolve(POLICY, clearing=Clearing(form="edit", thinking_keep_turns=1))
    conversation = subject(30, per_turn=3, text="short", thinking={"type": "adaptive"}, model="claude-opus-4-6")
    before = Memo().request(conversation)
    outcome = compacted(conversation, evolve(policy, target_tokens=before - 900), when="now", rungs=("clear",))
    (edit,) = edits(outcome)
    keep = edit["keep"]["value"]
    less = {"edits": [{**edit, "keep": {"type": "thinking_turns", "value": keep + 1}}]}
    asked = outcome.conversation.with_setting("context_management", less)

    assert 1 < keep < 9
    assert outcome.after_tokens <= before - 900 < Memo().request(effective(asked))


def test_only_what_is_hidden_now_is_told_and_stored() -> None:
    """What the request hid already is neither news nor saved."""
    own = {"edits": [{"type": TOOLS, "trigger": {"type": "tool_uses", "value": 1}, "keep": {"type": "tool_uses", "value": 20}}]}
    outcome = compacted(subject(40, context_management=own), when="now", rungs=("clear",), store=MemoryStore())
    told = outcome.report["edits"]["hidden"]

    assert [unit["position"] for unit in told] == list(range(42, 72, 2))
    assert sum(unit["saved_tokens"] for unit in told) == outcome.before_tokens - outcome.after_tokens
    assert len(outcome.issued) == len(told)


def test_tools_that_the_request_spares_are_spared() -> None:
    """Its own list is kept: somebody wanted them to stay."""
    wire = body(24)
    for at in (1, 3, 5):
        wire["messages"][at]["content"][0]["name"] = "memory"
    own = {"edits": [{"type": TOOLS, "trigger": {"type": "tool_uses", "value": 90}, "exclude_tools": ["memory"]}]}
    outcome = compacted(cl.parse({**wire, "context_management": own}, dialect="anthropic"))

    assert edits(outcome)[0]["exclude_tools"] == ["memory"]
    assert hidden(seen(outcome))[0] == 3


def test_what_loads_a_tool_is_not_hidden() -> None:
    """A later call needs what it brought."""
    wire = body(24)
    wire["messages"][1]["content"][0]["name"] = "find_tools"
    wire["messages"][2]["content"][0]["content"] = [{"type": "tool_reference", "tool_name": "read"}]
    outcome = compacted(cl.parse(wire, dialect="anthropic"))

    assert edits(outcome)[0]["exclude_tools"] == ["find_tools"]


def test_enough_stays_whether_the_provider_counts_its_own_tools_or_not() -> None:
    """That is not documented, so both readings have to spare what must stay."""
    wire = body(12)
    searches: list[dict[str, Any]] = []
    for name in ("s1", "s2", "s3", "s4"):
        searches.append({"type": "server_tool_use", "id": name, "name": "web_search", "input": {"query": name}})
        searches.append({"type": "web_search_tool_result", "tool_use_id": name, "content": []})
    wire["messages"].insert(-3, {"role": "assistant", "content": [*searches, {"type": "text", "text": "found"}]})
    wire["messages"].insert(-3, {"role": "user", "content": "good"})
    outcome = compacted(cl.parse(wire, dialect="anthropic"), SMALL, when="now", rungs=("clear",))
    keep = edits(outcome)[0]["keep"]["value"]

    assert keep == 3 + 4
    assert hidden(seen(outcome)) == list(range(12 - keep))


def test_an_edit_of_results_stands_before_the_summary_of_the_provider() -> None:
    """What is hidden need not be summarised."""
    compact = {"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": 60_000}}
    outcome = compacted(subject(model="claude-opus-4-6", context_management={"edits": [compact]}))

    assert [edit["type"] for edit in edits(outcome)] == [TOOLS, "compact_20260112"]


def test_where_the_request_names_no_model_the_policy_does() -> None:
    """Whether it can be asked, and whether it thinks, depends on it."""
    policy = evolve(POLICY, clearing=Clearing(form="edit", thinking_keep_turns=1))
    outcome = cl.compact(subject(), evolve(policy, model="claude-3-7-sonnet"), store=MemoryStore(), rungs=("clear",))

    assert isinstance(outcome, Compacted)
    assert outcome.report["edits"]["why"] == "'claude-3-7-sonnet' is not known to support clear_tool_uses_20250919"
    asked = compacted(subject(30, per_turn=5), evolve(policy, model="claude-opus-5"), rungs=("clear",))
    assert [edit["type"] for edit in edits(asked)] == [THINKING, TOOLS]


def test_what_is_hardly_saved_is_no_condition_for_the_provider() -> None:
    """By its own count it may be less, and then it would hide nothing at all."""
    policy = evolve(POLICY, clearing=Clearing(form="edit", clear_at_least_tokens=8_000))
    outcome = compacted(subject(), policy)

    assert 8_000 < outcome.before_tokens - outcome.after_tokens < 16_000
    assert "clear_at_least" not in edits(outcome)[0]


def test_what_the_request_hides_already_is_not_given_up() -> None:
    """Its own edit of results keeps fewer than the policy would: it stays, and old thinking goes besides."""
    own = {"type": TOOLS, "trigger": {"type": "tool_uses", "value": 1}, "keep": {"type": "tool_uses", "value": 1}}
    policy = evolve(SMALL, clearing=Clearing(form="edit", thinking_keep_turns=1))
    conversation = subject(
        30, per_turn=5, thinking={"type": "adaptive"}, model="claude-opus-4-6", context_management={"edits": [own]}
    )
    outcome = compacted(conversation, policy, when="now", rungs=("clear",))

    assert edits(outcome) == [{"type": THINKING, "keep": {"type": "thinking_turns", "value": 1}}, own]
    assert outcome.after_tokens < outcome.before_tokens
