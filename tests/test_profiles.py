"""What differs between providers."""

from __future__ import annotations

import pytest

from compactlib.dialects import parse
from compactlib.errors import PolicyError
from compactlib.protocol import profiles
from compactlib.protocol.automaton import Breach
from compactlib.protocol.profiles import PROFILES, Profile, profile_named
from compactlib.protocol.rules import RULES
from compactlib.protocol.validator import check

KIN = (
    {"C3", "C4", "C5"},
    {"C2", "C4", "C5"},  # who counts results says "too many" of an orphan, a repetition and a late one
    {"C7", "C9"},  # who lets the sides take turns says with whom they begin
    {"C5", "C9"},  # who has a table of roles says the wrong role of what stands in a batch
)
"""Common rules that one rule of a provider may serve at once."""


@pytest.mark.parametrize("profile", PROFILES.values(), ids=list(PROFILES))
def test_every_profile_names_rules_that_exist(profile: Profile) -> None:
    """A breach is a rule of the profile's own dialect, and a case of it that the rule knows."""
    for breach, (rule, case) in profile.breaches.items():
        assert RULES[rule].dialect == profile.dialect
        assert case is None or case in {name for name, _level, _why in RULES[rule].variants}
        cores = {RULES[rule].core, breach.core}
        assert len(cores) == 1 or any(cores <= kin for kin in KIN) or rule == "S-BAL-01"  # which says both in one sentence


def test_each_dialect_has_a_profile_of_its_name() -> None:
    """The dialect's own profile is the provider's service."""
    for profile in PROFILES.values():
        assert PROFILES[profile.dialect].dialect == profile.dialect


def test_an_open_call_is_a_breach_everywhere() -> None:
    """No provider lets a call go unanswered, or a result answer nothing; a framework looks at calls, and a file at neither."""
    less = {"langgraph": {Breach.OPEN}, "atif": set[Breach]()}
    for profile in PROFILES.values():
        assert less.get(profile.name, {Breach.OPEN, Breach.STRAY}) <= set(profile.breaches)


def test_an_unknown_profile_is_named_with_the_known_ones() -> None:
    """The error says what could have been meant."""
    with pytest.raises(PolicyError, match=r"none is called 'claude'; known are anthropic, "):
        profile_named("claude")


@pytest.mark.parametrize(
    ("model", "prefill"),
    [
        ("claude-2.1", True),
        ("claude-3-haiku-20240307", True),
        ("claude-3-7-sonnet-latest", True),
        ("claude-sonnet-4-0", True),
        ("claude-sonnet-4-20250514", True),
        ("claude-haiku-4-5-20251001", True),
        ("us.anthropic.claude-opus-4-5-20251101-v1:0", True),
        ("anthropic/claude-sonnet-4.6", False),
        ("claude-opus-4-8", False),
        ("claude-sonnet-5", False),
        ("claude-opus-10-1", False),
        ("claude-fable-5", False),
        ("claude-sonnet-latest", None),
        ("", None),
        ("gpt-5", None),
    ],
)
def test_prefill_ends_with_version_4_5(model: str, prefill: bool | None) -> None:
    """Later models refuse words put into their mouth; what has no version is not guessed at."""
    assert profiles.takes_prefill(model) is prefill


@pytest.mark.parametrize(
    ("model", "route"),
    [
        ("gpt-4o-mini", "own"),
        ("o3-mini", "own"),
        ("ft:gpt-4o-mini:acme::x", "own"),
        ("openai/gpt-4o", "compatible"),
        ("deepseek-chat", "compatible"),
        ("google/gemini-2.0-flash-exp:free", "compatible"),
        ("qwen3:latest", "local"),
        ("gpt-oss:120b", "local"),
        ("gpt-oss-120b", "compatible"),
        ("", None),
    ],
)
def test_the_models_name_tells_the_route(model: str, route: str | None) -> None:
    """A name of OpenAI's own, a gateway's with a vendor, a local server's with a tag; open weights are everybody's."""
    assert profiles.route_of(model) == route


def test_strict_gateways_refuse_what_the_provider_takes() -> None:
    """The same conversation: a warning and a note for Anthropic, two errors for a strict gateway."""
    messages = [{"role": "assistant", "content": "a"}, {"role": "user", "content": "b"}, {"role": "user", "content": "c"}]
    conversation = parse(messages, dialect="anthropic")

    assert [(found.rule, found.level) for found in check(conversation)] == [("A-START-01", "warning"), ("A-ALT-01", "info")]
    strict = check(conversation, profile="anthropic-strict")
    assert [(found.rule, found.level) for found in strict] == [("A-START-01", "error"), ("A-ALT-01", "error")]


def test_the_description_has_a_row_for_each_profile() -> None:
    """The generated table is complete."""
    text = profiles.describe()

    for name in PROFILES:
        assert f"| {name} | " in text
    for breach in Breach:
        assert f"| {breach.name.lower()} | {breach.core} | " in text


_PNG = "iVBORw0KGgo="
_WITH_PICTURE = {
    "anthropic": [
        {"role": "user", "content": "look"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "look", "input": {}}]},
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "a",
                    "content": [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": _PNG}}],
                }
            ],
        },
    ],
    "bedrock": [
        {"role": "user", "content": [{"text": "look"}]},
        {"role": "assistant", "content": [{"toolUse": {"toolUseId": "a", "name": "look", "input": {}}}]},
        {
            "role": "user",
            "content": [{"toolResult": {"toolUseId": "a", "content": [{"image": {"format": "png", "source": {"bytes": _PNG}}}]}}],
        },
    ],
    "gemini": [
        {"role": "user", "parts": [{"text": "look"}]},
        {"role": "model", "parts": [{"functionCall": {"name": "look", "args": {}}, "thoughtSignature": "c2ln"}]},
        {
            "role": "user",
            "parts": [
                {
                    "functionResponse": {
                        "name": "look",
                        "response": {"output": "seen"},
                        "parts": [{"inlineData": {"mimeType": "image/png", "data": _PNG}}],
                    }
                }
            ],
        },
    ],
    "openai-responses": [
        {"role": "user", "content": "look"},
        {"type": "function_call", "call_id": "a", "name": "look", "arguments": "{}"},
        {
            "type": "function_call_output",
            "call_id": "a",
            "output": [{"type": "input_image", "image_url": f"data:image/png;base64,{_PNG}"}],
        },
    ],
}


@pytest.mark.parametrize("profile", [one for one in PROFILES.values() if one.dialect in _WITH_PICTURE], ids=lambda one: one.name)
def test_a_profile_says_whether_results_carry_pictures(profile: Profile) -> None:
    """A picture in a result is a finding where `result_media` has none, and there alone."""
    conversation = parse(_WITH_PICTURE[profile.dialect], dialect=profile.dialect)
    found = [one.rule for one in check(conversation, profile=profile) if RULES[one.rule].core == "C13" and one.level != "info"]

    assert bool(found) == ("image" not in profile.result_media)
