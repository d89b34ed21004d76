"""Reasoning that is bound to what stands before it: when a changed request has to say so, and how."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve

import compactlib as cl
from compactlib.holding import with_betas
from compactlib.options import Clearing
from compactlib.outcomes import Compacted
from compactlib.protocol.binding import BINDING_BETA, dropping, is_bound, with_thinking
from compactlib.protocol.validator import Validator

from .test_digesting import long
from .test_turns import user

BOUND = "claude-fable-5-1"
POLICY = cl.Policy(window_tokens=32_000)
DROP = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
THINKING = {"type": "thinking", "thinking": "hm", "signature": "EqQB"}


def thoughtful(name: str | None = BOUND, *, turns: int = 8, **settings: Any) -> cl.Conversation:
    """A long session in which every model message thinks; a bare list without the name of a model."""
    messages = [dict(message) for message in cl.render(long(turns))]
    for message in messages:
        if message["role"] == "assistant":
            content = message["content"]
            message["content"] = [THINKING, *(content if isinstance(content, list) else [{"type": "text", "text": content}])]
    body: Any = messages if name is None else {"model": name, "messages": messages, **settings}
    return cl.parse(body, dialect="anthropic")


def compacted(conversation: cl.Conversation, policy: cl.Policy = POLICY, **arguments: Any) -> Compacted:
    outcome = cl.compact(conversation, policy, when="now", **arguments)
    assert isinstance(outcome, Compacted), outcome
    return outcome


def warned(conversation: cl.Conversation) -> list[int | None]:
    return [found.index for found in cl.check(conversation) if found.rule == "A-THINK-07"]


def test_kept_thinking_is_asked_to_be_dropped() -> None:
    """The messages stay; the request says it, and then nothing is found in it."""
    outcome = compacted(thoughtful())

    assert outcome.thinking == DROP
    assert outcome.betas == (BINDING_BETA,)
    assert outcome.report["thinking"] == {"thinking": DROP, "betas": [BINDING_BETA]}
    assert outcome.conversation.setting("thinking") is None
    assert outcome.request.setting("thinking") == DROP
    assert outcome.request.messages == outcome.conversation.messages
    outcome.request.setting("thinking").clear()  # it is a copy
    assert outcome.thinking == DROP
    assert (warned(outcome.conversation), warned(outcome.request)) == ([1], [])


def test_body_that_lists_its_betas_lists_this_one() -> None:
    """Where it lists none it is a header, which the outcome names."""
    assert compacted(thoughtful(betas=["x-1"])).request.setting("betas") == ["x-1", BINDING_BETA]


def test_request_that_says_it_already_needs_nothing() -> None:
    """Compacted again and again."""
    outcome = compacted(cl.parse(cl.render(compacted(thoughtful()).request), dialect="anthropic"))

    assert (outcome.thinking, outcome.betas, outcome.report["thinking"]) == (None, (), None)
    assert outcome.request is outcome.conversation


@pytest.mark.parametrize("name", ["claude-opus-4-6", "my-own-model", None])
def test_other_models_are_asked_for_nothing(name: str | None) -> None:
    """They do not check it, and refuse the setting."""
    outcome = compacted(thoughtful(name))

    assert outcome.thinking is None
    assert warned(outcome.conversation) == []


def test_policy_names_the_model_of_bare_messages() -> None:
    """There is no body to write it into; the request of the caller has to say it."""
    outcome = compacted(thoughtful(None), cl.Policy.for_model(BOUND, window_tokens=32_000))

    assert (outcome.thinking, outcome.betas) == (DROP, (BINDING_BETA,))
    assert outcome.request is outcome.conversation


def test_model_of_the_request_goes_before_that_of_the_policy() -> None:
    assert compacted(thoughtful("claude-opus-4-6"), evolve(POLICY, model=BOUND)).thinking is None


@pytest.mark.parametrize("name", ["", "my-alias", "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc123"])
def test_policy_says_which_model_a_name_of_ones_own_means(name: str) -> None:
    assert compacted(thoughtful(name), evolve(POLICY, model=BOUND)).thinking == DROP


def test_without_thinking_behind_the_change_nothing_is_said() -> None:
    conversation = cl.parse({"model": BOUND, "messages": cl.render(long(8))}, dialect="anthropic")

    assert compacted(conversation).thinking is None


@pytest.mark.parametrize("said", [{"type": "disabled"}, DROP, "disabled", False])
def test_thinking_that_is_off_or_dropped_is_not_asked_for(said: dict[str, Any]) -> None:
    assert not is_bound(thoughtful(thinking=said))


def test_what_the_request_says_of_thinking_stays() -> None:
    said = {"type": "adaptive", "display": "summarized", "block_binding": {"prefix_mismatch_behavior": "error", "more": 1}}
    outcome = compacted(thoughtful(thinking=said))

    assert outcome.thinking == {**said, "block_binding": {"prefix_mismatch_behavior": "drop_block", "more": 1}}


def test_forced_call_is_no_fault_of_the_setting() -> None:
    """The model thinks where nothing is said, so the request breaks A-TC-01 with and without it."""
    tools = [{"name": "read", "input_schema": {"type": "object"}}]

    assert compacted(thoughtful(tools=tools, tool_choice={"type": "any"})).thinking == DROP


def test_cleared_results_are_a_change_too() -> None:
    """A stub stands where the model saw the text."""
    policy = evolve(POLICY, window_tokens=12_000, clearing=Clearing(keep=0), tail_tokens=200)
    outcome = compacted(thoughtful(), policy, store=cl.MemoryStore(), rungs=["clear"])

    assert outcome.report["rung"] == "clear"
    assert outcome.thinking == DROP


def test_repair_says_so_too() -> None:
    """As a compaction does, and only where something before reasoning was mended."""
    whole = thoughtful()
    messages = cl.render(whole)["messages"]
    lost = cl.parse({"model": BOUND, "messages": [*messages[:2], *messages[3:]]}, dialect="anthropic")
    behind = cl.parse({"model": BOUND, "messages": [*messages[:-1], {"role": "user", "content": ""}]}, dialect="anthropic")
    repaired = cl.repair(lost)

    assert repaired.fixes
    assert (repaired.thinking, repaired.betas) == (DROP, (BINDING_BETA,))
    assert repaired.conversation.setting("thinking") is None
    assert warned(with_thinking(repaired.conversation, repaired.thinking)) == []
    for other in (whole, behind, lost.with_setting("model", "claude-opus-4-6"), lost.with_setting("thinking", DROP)):
        assert (cl.repair(other).thinking, cl.repair(other).betas) == (None, ())
    assert cl.repair(behind).fixes


@pytest.mark.parametrize(
    ("where", "is_told"), [({"system": "password=hunter2"}, True), (0, True), (-2, True), (-1, False), ({"metadata": "x"}, False)]
)
def test_redaction_says_so_too(where: int | dict[str, Any], is_told: bool) -> None:
    """Of a message or of the instructions, which stand before all of them; not of what stands behind all reasoning."""
    body = cl.render(thoughtful())
    if isinstance(where, dict):
        body = {**body, **where}
    else:
        at = [place for place, message in enumerate(body["messages"]) if message["role"] == "user"][where]
        body["messages"][at] = user("Log in with password=hunter2, please.") if where else user("password=hunter2")
    redacted = cl.redact(cl.parse(body, dialect="anthropic"))

    assert bool(redacted.found) == (where != {"metadata": "x"})
    assert (redacted.thinking, redacted.betas) == ((DROP, (BINDING_BETA,)) if is_told else (None, ()))


def test_request_at_whose_end_is_asked_is_not_used_when_what_it_was_bound_to_was_cleared() -> None:
    """It has no place for the header, and without the setting the model refuses it."""
    asked: list[cl.SummaryRequest] = []

    def answer(request: cl.SummaryRequest) -> str:
        asked.append(request)
        return "x"

    policy = evolve(POLICY, clearing=Clearing(keep=0), tail_tokens=800, target_tokens=4_000, summary_form="suffix")
    for name, forms in ((BOUND, {"serialised"}), ("claude-opus-4-6", {"suffix", "serialised"})):
        asked.clear()
        compacted(thoughtful(name, turns=20), policy, store=cl.MemoryStore(), summarise=answer, rungs=["clear", "summarise"])
        assert {request.form for request in asked} == forms


def test_provider_that_hides_by_itself_needs_nothing() -> None:
    """The edit form changes no message."""
    policy = evolve(POLICY, window_tokens=12_000, clearing=Clearing(form="edit", keep=0), tail_tokens=200)
    outcome = compacted(thoughtful(), policy, rungs=["clear"])

    assert outcome.edits is not None
    assert outcome.thinking is None


def test_change_behind_all_thinking_is_none_before_it() -> None:
    before = thoughtful(turns=2)
    after = evolve(before, messages=(*before.messages, *cl.parse([user("more")], dialect="anthropic").messages))
    changed = evolve(before, messages=(*cl.parse([user("less")], dialect="anthropic").messages, *before.messages[1:]))

    assert dropping(before, after) is None
    assert dropping(before, changed) == DROP


def test_bedrock_says_it_among_the_fields_of_its_model() -> None:
    """Converse has no field of its own for it."""
    body = {
        "modelId": f"us.anthropic.{BOUND}-v1:0",
        "additionalModelRequestFields": {"top_k": 5},
        "messages": [{"role": "user", "content": [{"text": "hi"}]}],
    }
    conversation = cl.parse(body, dialect="bedrock")

    assert is_bound(conversation)
    made = with_thinking(conversation, DROP)
    assert made.setting("additionalModelRequestFields") == {"top_k": 5, "thinking": DROP}
    assert not is_bound(made)


@pytest.mark.parametrize(
    ("fields", "betas"),
    [({}, [BINDING_BETA]), ({"anthropic_beta": ["a"]}, ["a", BINDING_BETA]), ({"anthropic_beta": "a"}, f"a,{BINDING_BETA}")],
)
def test_bedrock_takes_no_header_so_its_body_lists_the_beta(fields: dict[str, Any], betas: Any) -> None:
    body = {"modelId": f"anthropic.{BOUND}", "additionalModelRequestFields": fields, "messages": []}
    conversation = cl.parse(body, dialect="bedrock")
    made = with_betas(conversation, [BINDING_BETA])

    assert made.setting("additionalModelRequestFields") == {**fields, "anthropic_beta": betas}
    assert with_betas(made, [BINDING_BETA]) is made
    assert with_betas(conversation, []) is conversation


@pytest.mark.parametrize(("listed", "expected"), [("", BINDING_BETA), ("a, b", f"a,b,{BINDING_BETA}"), ([], [BINDING_BETA])])
def test_empty_list_of_betas_holds_none(listed: Any, expected: Any) -> None:
    conversation = cl.parse({"betas": listed, "messages": []}, dialect="anthropic")

    assert with_betas(conversation, [BINDING_BETA]).setting("betas") == expected


def test_only_thinking_behind_a_summary_is_warned_of() -> None:
    """And once, because what holds for one block holds for those behind it."""
    assert warned(thoughtful()) == []
    assert len(warned(compacted(thoughtful()).conversation)) == 1


@pytest.mark.parametrize(("content", "indices"), [("They fixed the build.", []), (None, [3])])
def test_the_providers_own_summary_is_no_change(content: str | None, indices: list[int]) -> None:
    """What stands behind it was made behind it; a block without content failed, and stands for nothing."""
    head = [*cl.render(compacted(thoughtful()).conversation)["messages"]][:1]
    block = {"type": "compaction", "content": content}
    said = {"role": "assistant", "content": [THINKING, {"type": "text", "text": "on"}]}
    messages = [*head, {"role": "assistant", "content": [block, {"type": "text", "text": "x"}]}, user("go"), said, user("and?")]

    assert warned(cl.parse({"model": BOUND, "messages": messages}, dialect="anthropic")) == indices


def test_fed_messages_are_warned_of_as_well() -> None:
    conversation = compacted(thoughtful()).conversation
    judge = Validator(conversation)

    assert "A-THINK-07" in [found.rule for message in conversation.messages for found in judge.feed(message)]
