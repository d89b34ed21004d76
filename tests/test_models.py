"""Language models as data, and the names by which they are found."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactlib import Policy, sizes
from compactlib.errors import PolicyError
from compactlib.models import MODELS, LanguageModel, describe, model_named
from compactlib.protocol.context_edits import BETAS
from compactlib.tokens import FAMILIES, counter_for, estimate

COMPACTS = {"claude-mythos-preview", "claude-opus-4-7", "claude-opus-4-6", "claude-sonnet-4-6"}


@pytest.mark.parametrize("model", MODELS.values(), ids=list(MODELS))
def test_every_row_is_whole(model: LanguageModel) -> None:
    """A window, a family that counts, edits that exist, a source and a date; limits below the window."""
    assert model_named(model.name) is model
    assert model.family in FAMILIES
    assert model.edits <= BETAS.keys()
    assert model.source
    assert re.fullmatch(r"20[0-9]{2}-[0-9]{2}", model.read)
    assert 4_000 <= model.window_tokens <= 2_000_000
    for limit in (model.input_tokens, model.output_tokens):
        assert limit is None or 0 < limit < model.window_tokens


def test_models_that_compact_have_a_window_of_a_million() -> None:
    """The four that were the first to, and the two before them that do not."""
    assert all("compact_20260112" in MODELS[name].edits and MODELS[name].window_tokens == 1_000_000 for name in COMPACTS)
    for name in ("claude-sonnet-4-5", "claude-sonnet-4"):
        assert MODELS[name].window_tokens == 200_000
        assert "compact_20260112" not in MODELS[name].edits


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("claude-sonnet-4-5-20250929", "claude-sonnet-4-5"),
        ("claude-sonnet-4-5@20250929", "claude-sonnet-4-5"),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5"),
        ("anthropic.claude-opus-4-6-v1", "claude-opus-4-6"),
        ("arn:aws:bedrock:us-east-1::foundation-model/anthropic.claude-haiku-4-5-20251001-v1:0", "claude-haiku-4-5"),
        ("anthropic/claude-sonnet-4.6", "claude-sonnet-4-6"),
        (" Claude-Opus-4-7 ", "claude-opus-4-7"),
        ("claude-sonnet-4-0", "claude-sonnet-4"),
        ("claude-3-7-sonnet-latest", "claude-3-7-sonnet"),
        ("gpt-5-2025-08-07", "gpt-5"),
        ("openai/gpt-5.4", "gpt-5.4"),
        ("models/gemini-2.5-pro", "gemini-2.5-pro"),
        ("publishers/google/models/gemini-2.5-flash", "gemini-2.5-flash"),
        ("deepseek/deepseek-v4-pro", "deepseek-v4-pro"),
    ],
)
def test_a_model_is_found_by_every_name_it_has(name: str, row: str) -> None:
    """As providers, clouds and gateways write it."""
    found = model_named(name)

    assert found is not None
    assert found.name == row


STRANGERS = [
    "claude", "claude-sonnet", "claude-sonnet-latest", "claude-sonnet-4-5[1m]", "claude-opus-4-6-fast", "claude-opus-4-9",
    "gpt-5-mini", "gpt-5-turbo", "my-gpt-5", "ft:gpt-4o:acme::x", "openai/gpt-5:free", "mistral-large-latest",
]  # fmt: skip


@pytest.mark.parametrize("name", ["", "x" * 10_000, *STRANGERS])
def test_nothing_is_guessed(name: str) -> None:
    """Not from a family, a shorter name, or a name with a mark that changes what is served."""
    assert model_named(name) is None


def test_a_policy_is_made_for_a_model() -> None:
    """Its window, the counter of its family, and whatever the caller says."""
    policy = Policy.for_model("anthropic/claude-opus-4-6", reserve_tokens=64_000)

    assert (policy.window_tokens, policy.reserve_tokens, policy.counter) == (1_000_000, 64_000, counter_for("anthropic"))
    assert Policy.for_model("claude-sonnet-4-5", window_tokens=1_000_000).window_tokens == 1_000_000
    assert Policy.for_model("claude-sonnet-4-5", counter=estimate).counter is estimate


def test_the_reserve_covers_what_no_prompt_may_have() -> None:
    """Where the prompt alone is limited, so is the budget; less is a contradiction."""
    assert sizes(Policy.for_model("gpt-5"), overhead_tokens=0).budget == 272_000
    assert Policy.for_model("gpt-5", reserve_tokens=200_000).reserve_tokens == 200_000
    with pytest.raises(PolicyError, match=r"reserve_tokens: at least 128000, because a prompt of gpt-5 has at most 272000"):
        Policy.for_model("gpt-5", reserve_tokens=32_000)
    assert Policy.for_model("gpt-5", window_tokens=100_000).reserve_tokens is None


def test_an_unknown_model_asks_for_its_window() -> None:
    """With it the policy is made; without, the error names the field."""
    assert Policy.for_model("my-own-model", window_tokens=64_000, auto=False).auto is False
    with pytest.raises(
        PolicyError, match=r"window_tokens: the window of 'my-own-model' is not known \(pass window_tokens="
    ) as caught:
        Policy.for_model("my-own-model")
    assert caught.value.field == "window_tokens"
    with pytest.raises(PolicyError, match="name: the name of a model, not None"):
        Policy.for_model(None)  # type: ignore[arg-type]  # what a careless caller does


@given(st.text(max_size=300))
def test_any_text_may_be_a_name(name: str) -> None:
    """It is a row of the table or none."""
    found = model_named(name)

    assert found is None or found.name in MODELS


def test_the_description_has_a_row_for_each_model() -> None:
    """The table of the specification is complete."""
    assert [line.split(" | ")[0].removeprefix("| ") for line in describe().splitlines()[2:]] == list(MODELS)
