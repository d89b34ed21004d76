"""What a provider's refusal means: one kind of failure for each answer that can help."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactlib.errors import MediaRefusedError, OverloadedError, PromptTooLongError, SummariserError
from compactlib.protocol.rules import RULES
from compactlib.summarisers.failing import failure

TPM = "Request too large for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Requested 31538. "

TOO_LONG = [
    (400, "", "prompt is too long: 213462 tokens > 200000 maximum", 200_000),
    (400, "", "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length", 200_000),
    (
        400,
        "context_length_exceeded",
        "This model's maximum context length is 128000 tokens. However, you requested 150008",
        128_000,
    ),
    (400, "", "This endpoint's maximum context length is 65536 tokens. However, you requested about 70000 tokens", 65_536),
    (400, "", "Your input exceeds the context window of this model. Please adjust your input and try again.", None),
    (400, "", "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).", 1_048_575),
    (400, "", "Input is too long for requested model.", None),
    (400, "", "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length", 32_768),
    (400, "", "This model's maximum prompt length is 131072 but the request contains 537812 tokens.", 131_072),
    (400, "exceed_context_size_error", "request (2009 tokens) exceeds the available context size (512 tokens)", 512),
    (400, "", "The total length of all messages is too long.", None),
    (413, "request_too_large", "Request exceeds the maximum size", None),
    (413, "", "<html>413 Request Entity Too Large</html>", None),
    (429, "rate_limit_exceeded", TPM + "The input or output tokens must be reduced in order to run successfully.", 30_000),
]


@pytest.mark.parametrize(("status", "kind", "said", "limit"), TOO_LONG)
def test_a_prompt_that_is_too_long_is_known_with_the_size_that_would_do(
    status: int, kind: str, said: str, limit: int | None
) -> None:
    """Of every provider and several servers, whatever the status is."""
    error = failure(said, status=status, kind=kind)

    assert isinstance(error, PromptTooLongError)
    assert error.limit_tokens == limit
    assert error.hint


@pytest.mark.parametrize(
    "rule", [rule for rule in RULES.values() if "-SIZE-0" in rule.id and rule.error], ids=lambda rule: rule.id
)
def test_every_published_text_about_size_is_known(rule: object) -> None:
    """The texts of the rules themselves, whatever numbers stand in them."""
    for text in RULES[rule.id].error.splitlines():  # type: ignore[attr-defined]  # a rule
        assert isinstance(failure(text.replace("{n}", "70000").replace("{max}", "60000"), status=400), PromptTooLongError), text


@pytest.mark.parametrize(
    ("status", "kind", "said"),
    [
        (400, "", "messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 6000000 bytes > 5242880 bytes"),
        (400, "image_dimensions_too_large", "prompt is too long, in a manner of speaking"),
        (400, "", "Too much media: 0 document pages + 101 images > 100"),
        (400, "", "Could not process image"),
        (413, "", "image exceeds 5 MB maximum"),
    ],
)
def test_a_medium_is_known_before_a_size(status: int, kind: str, said: str) -> None:
    """An image that is too large is both, and less text would not help."""
    assert isinstance(failure(said, status=status, kind=kind), MediaRefusedError)


@pytest.mark.parametrize(
    ("status", "kind", "said"),
    [
        (529, "overloaded_error", "Overloaded"),
        (200, "overloaded_error", "Overloaded"),
        (429, "rate_limit_error", "This request would exceed your rate limit of 50,000 input tokens per minute"),
        (429, "", TPM.replace("Request too large", "Rate limit reached")),
        (503, "", "The model is currently overloaded. Please try again later."),
    ],
)
def test_overload_is_neither(status: int, kind: str, said: str) -> None:
    """The same request may do later."""
    error = failure(said, status=status, kind=kind, retry_after_seconds=7.0)

    assert isinstance(error, OverloadedError)
    assert error.retry_after_seconds == 7.0


@pytest.mark.parametrize("status", [408, 504, 524])
def test_a_gateway_that_waited_too_long_is_a_timeout(status: int) -> None:
    assert isinstance(failure("upstream request timeout", status=status), TimeoutError)


@pytest.mark.parametrize(
    ("status", "kind", "said"),
    [
        (400, "", "Your credit balance is too low"),
        (429, "insufficient_quota", "You exceeded your current quota, please check your plan"),
        (400, "", "max_tokens is too large: 30000. This model supports at most 16384 completion tokens"),
        (404, "not_found_error", "model: claude-nothing"),
        (500, "api_error", "Internal server error"),
        (400, "", ""),
    ],
)
def test_what_nothing_helps_against_is_a_failure_and_no_more(status: int, kind: str, said: str) -> None:
    """Neither less, nor later: among them a limit of the answer, which is not the prompt's."""
    error = failure(said, status=status, kind=kind)

    assert type(error) is SummariserError
    assert str(status) in str(error)


@pytest.mark.parametrize("status", [401, 403])
def test_what_is_said_of_a_key_is_not_repeated(status: int) -> None:
    error = failure("Incorrect API key provided: sk-proj-1234567890abcdef", status=status)

    assert "sk-" not in str(error)
    assert "key" in str(error)


def test_what_looks_like_a_key_is_not_repeated_anywhere() -> None:
    assert "abcdefghij" not in str(failure("the header held sk-ant-abcdefghij_klm", status=400))


@given(st.text(max_size=6_000), st.integers(0, 999) | st.none(), st.text(max_size=40))
def test_whatever_is_said_comes_to_one_short_line(said: str, status: int | None, kind: str) -> None:
    """Bounded, printable, and always one of the five."""
    error = failure(said, status=status, kind=kind)

    assert isinstance(error, SummariserError | TimeoutError)
    assert len(str(error)) < 450 + len(kind) * 10
    assert not any(letter in str(error) for letter in "\n\r\x1b\u202e\u2028")
