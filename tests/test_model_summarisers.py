"""Models as summarisers, by the official SDKs: what is sent, what is made of the answer, and of every refusal.

Nothing leaves this process: the SDKs get an HTTP client whose transport answers by itself.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import re
import subprocess
import sys
from collections.abc import Callable, Coroutine
from typing import Any, Final

import pytest
from attrs import evolve, field, frozen

import compactlib as cl
from compactlib.errors import MediaRefusedError, OverloadedError, PolicyError, PromptTooLongError, SummariserError
from compactlib.outcomes import Compacted, Refused
from compactlib.summaries.acceptance import Summary
from compactlib.summaries.rendering import SummaryRequest
from compactlib.summarisers.asking import SPARE_TOKENS

KEY: Final = "sk-test-0123456789abcdef"

REQUEST: Final = SummaryRequest(
    instructions="Write it down.",
    text="> hi \ud800 there",
    context="",
    max_tokens=900,
    part=1,
    parts=1,
    attempt=1,
    previous="",
    prompt_version="v1",
    messages=(),
)

GOOD: Final = "## Goal\n- ship it\n## Orders, constraints and preferences\n(none)\n## Done\n- looked\n## Next step\n- go on\n"


def anthropic_reply(text: str = GOOD, *, stop: str | None = "end_turn", **more: Any) -> dict[str, Any]:
    content = [{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": text}]
    usage = {"input_tokens": 1_000, "cache_read_input_tokens": 0, "output_tokens": 50}
    reply = {"id": "m", "type": "message", "role": "assistant", "model": "claude-x", "stop_sequence": None}
    return {**reply, "content": content, "stop_reason": stop, "usage": usage, **more}


def openai_reply(text: str | None = GOOD, *, stop: str | None = "stop", **message: Any) -> dict[str, Any]:
    choice = {"index": 0, "finish_reason": stop, "message": {"role": "assistant", "content": text, **message}}
    usage = {"prompt_tokens": 1_000, "completion_tokens": 50, "total_tokens": 1_050}
    return {"id": "c", "object": "chat.completion", "created": 1, "model": "gpt-x", "choices": [choice], "usage": usage}


@frozen
class Side:
    """One SDK, in one of its two manners."""

    package: str
    summariser: str
    client: str
    model: str
    reply: Callable[..., dict[str, Any]]
    error: Callable[[str, str], dict[str, Any]] = field(repr=False)
    is_async: bool = False

    @property
    def name(self) -> str:
        return self.summariser

    def made(self, handler: Callable[[Any], Any], **settings: Any) -> Any:
        """A summariser whose provider is *handler*; the SDK repeats nothing."""
        sdk = pytest.importorskip(self.package)
        plain = sdk.DefaultAsyncHttpxClient if self.is_async else sdk.DefaultHttpxClient
        [http] = [base for base in plain.__mro__ if base.__name__ in ("Client", "AsyncClient")]
        library = importlib.import_module(http.__module__.split(".")[0])  # httpx, or its successor
        http_client = plain(transport=library.MockTransport(handler))
        base_url = settings.pop("server", None)
        client = getattr(sdk, self.client)(api_key=KEY, http_client=http_client, max_retries=0, base_url=base_url)
        module = importlib.import_module(f"compactlib.summarisers.{self.package}")
        return getattr(module, self.summariser)(settings.pop("model", self.model), client=client, **settings)

    def answers(self, status: int, body: Any, headers: dict[str, str] | None = None) -> Callable[[Any], Any]:
        """A provider that always says the same, and the requests that it got."""

        def handler(request: Any) -> Any:
            seen.append(request)
            library = importlib.import_module(type(request).__module__.split(".")[0])
            if isinstance(body, str):
                return library.Response(status, text=body, headers=headers)
            return library.Response(status, json=body, headers=headers)

        seen: list[Any] = []
        handler.seen = seen  # type: ignore[attr-defined]  # a function has attributes
        return handler

    def ask(self, summarise: Any, request: SummaryRequest = REQUEST) -> Summary:
        answer: Any = summarise(request)
        if self.is_async:
            ready: Coroutine[Any, Any, Summary] = answer
            answer = asyncio.run(ready)
        assert isinstance(answer, Summary)
        return answer


def anthropic_error(kind: str, said: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": said}, "request_id": "req_1"}


def openai_error(kind: str, said: str) -> dict[str, Any]:
    return {"error": {"message": said, "type": "invalid_request_error", "param": None, "code": kind or None}}


_A: Final = Side("anthropic", "AnthropicSummariser", "Anthropic", "claude-sonnet-4-6", anthropic_reply, anthropic_error)
_O: Final = Side("openai", "OpenAISummariser", "OpenAI", "gpt-4.1", openai_reply, openai_error)
SIDES: Final = (
    _A,
    evolve(_A, summariser="AsyncAnthropicSummariser", client="AsyncAnthropic", is_async=True),
    _O,
    evolve(_O, summariser="AsyncOpenAISummariser", client="AsyncOpenAI", is_async=True),
)

sides: Final = pytest.mark.parametrize("side", SIDES, ids=lambda side: side.name)


def sent(handler: Any) -> dict[str, Any]:
    """The body of the one request that was sent."""
    [request] = handler.seen
    body: dict[str, Any] = json.loads(request.content)
    return body


# --- What is sent ----------------------------------------------------------------------------------------------------


@sides
def test_instructions_and_text_are_sent_and_nothing_that_can_be_called(side: Side) -> None:
    """Half a surrogate pair is shown as missing, because no JSON in UTF-8 can hold it."""
    handler = side.answers(200, side.reply())
    side.ask(side.made(handler))
    body = sent(handler)

    system = body["system"] if side.package == "anthropic" else body["messages"].pop(0)["content"]
    assert system == REQUEST.instructions
    assert body["messages"] == [{"role": "user", "content": "> hi \ufffd there"}]
    assert body["model"] == side.model
    assert not {"tools", "temperature", "stream", "functions"} & body.keys()


@sides
def test_the_limit_of_the_reply_is_above_what_is_asked_for_in_words(side: Side) -> None:
    """By a third, because so much is taken, and by what is spare; never more than the model can write."""
    limit = "max_tokens" if side.package == "anthropic" else "max_completion_tokens"
    handler = side.answers(200, side.reply())
    side.ask(side.made(handler))
    assert sent(handler)[limit] == 1_200 + SPARE_TOKENS

    handler = side.answers(200, side.reply())
    side.ask(side.made(handler, spare_tokens=10))
    assert sent(handler)[limit] == 1_210

    handler = side.answers(200, side.reply())
    side.ask(side.made(handler, spare_tokens=10**6))
    assert sent(handler)[limit] == (64_000 if side.package == "anthropic" else 32_768)


@pytest.mark.parametrize("server", ["http://localhost:11434/v1", "https://openrouter.ai/api/v1", "https://notopenai.com/v1"])
def test_other_servers_are_told_the_limit_by_the_older_name(server: str) -> None:
    """Some of them do not know the newer."""
    handler = _O.answers(200, _O.reply())
    _O.ask(_O.made(handler, server=server))

    assert sent(handler)["max_tokens"] == 1_200 + SPARE_TOKENS
    assert str(handler.seen[0].url) == f"{server}/chat/completions"  # type: ignore[attr-defined]  # see `answers`


# --- What is made of an answer ---------------------------------------------------------------------------------------


@sides
def test_an_answer_is_a_summary_with_what_it_cost(side: Side) -> None:
    """The text alone, without what was thought; the usage in the provider's own words."""
    summary = side.ask(side.made(side.answers(200, side.reply())))

    assert (summary.text, summary.tool_calls) == (GOOD, 0)
    assert summary.stop in ("end_turn", "stop")
    names = ("input_tokens", "output_tokens") if side.package == "anthropic" else ("prompt_tokens", "completion_tokens")
    assert [summary.usage[name] for name in names] == [1_000, 50]


CALL: Final = {"type": "tool_use", "id": "t", "name": "read", "input": {}}
CALLS: Final = [{"id": "t", "type": "function", "function": {"name": "read", "arguments": "{}"}}] * 2

JUDGED: Final = [
    (_A, anthropic_reply(stop="max_tokens"), "stop"),
    (_A, anthropic_reply(stop="model_context_window_exceeded"), "stop"),
    (_A, anthropic_reply(stop="pause_turn"), "stop"),
    (_A, anthropic_reply(stop=None), "stop"),
    (_A, anthropic_reply(stop="refusal", content=[]), "refusal"),
    (_A, anthropic_reply(stop="tool_use", content=[CALL]), "tool-call"),
    (_A, anthropic_reply(content=[]), "empty"),
    (_A, anthropic_reply(" \n"), "whitespace"),
    (_O, openai_reply(stop="length"), "stop"),
    (_O, openai_reply(stop=None), "stop"),
    (_O, openai_reply(stop="content_filter"), "refusal"),
    (_O, openai_reply(None, refusal="I can't help with that."), "refusal"),
    (_O, openai_reply(GOOD, refusal="I can't help with that."), "refusal"),
    (_O, openai_reply(None, stop="tool_calls", tool_calls=CALLS), "tool-call"),
    (_O, openai_reply(None, stop="function_call", function_call={"name": "read", "arguments": "{}"}), "tool-call"),
    (_O, openai_reply(None), "empty"),
    (_O, {**openai_reply(), "choices": []}, "exception"),
    (_O, {**openai_reply(), "choices": None}, "exception"),
]


def long_conversation() -> cl.Conversation:
    messages = [{"role": role, "content": f"{role} {n} " * 200} for n in range(40) for role in ("user", "assistant")]
    return cl.parse(messages, dialect="anthropic")


@pytest.mark.parametrize(("side", "reply", "code"), JUDGED)
def test_what_is_no_summary_is_refused_for_the_right_reason(side: Side, reply: dict[str, Any], code: str) -> None:
    """Law L6: the same conversation, and the reason is what the provider said, in the engine's words."""
    conversation = long_conversation()
    outcome = cl.compact(conversation, cl.Policy(window_tokens=16_000), summarise=side.made(side.answers(200, reply)), when="now")

    assert (outcome.reason, outcome.conversation is conversation) == (f"summary-failed:{code}", True)


@sides
def test_a_model_serves_a_compaction(side: Side) -> None:
    """In both manners; what it cost stands in the report (law L24)."""
    conversation, policy = long_conversation(), cl.Policy(window_tokens=16_000)
    summarise = side.made(side.answers(200, side.reply()))
    if side.is_async:
        outcome = asyncio.run(cl.acompact(conversation, policy, summarise=summarise, when="now"))
    else:
        outcome = cl.compact(conversation, policy, summarise=summarise, when="now")

    assert isinstance(outcome, Compacted)
    assert "- looked" in outcome.summary
    assert 1_000 in outcome.report["asked"][0]["usage"].values()


# --- What is made of a refusal ---------------------------------------------------------------------------------------

REFUSED: Final = [
    (_A, 400, "invalid_request_error", "prompt is too long: 213462 tokens > 200000 maximum", PromptTooLongError),
    (_A, 413, "request_too_large", "Request exceeds the maximum size", PromptTooLongError),
    (_A, 529, "overloaded_error", "Overloaded", OverloadedError),
    (_A, 429, "rate_limit_error", "This request would exceed your rate limit", OverloadedError),
    (_A, 400, "invalid_request_error", "Could not process image", MediaRefusedError),
    (_A, 504, "timeout_error", "took too long", TimeoutError),
    (_A, 500, "api_error", "Internal server error", SummariserError),
    (_A, 404, "not_found_error", "model: claude-x", SummariserError),
    (_O, 400, "context_length_exceeded", "This model's maximum context length is 128000 tokens.", PromptTooLongError),
    (_O, 429, "rate_limit_exceeded", "Rate limit reached for gpt-4.1", OverloadedError),
    (_O, 429, "insufficient_quota", "You exceeded your current quota", SummariserError),
    (_O, 503, "", "The engine is currently overloaded", OverloadedError),
    (_O, 400, "invalid_image", "You uploaded an unsupported image.", MediaRefusedError),
]


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize(("side", "status", "kind", "said", "expected"), REFUSED)
def test_a_refusal_is_the_failure_that_says_what_may_help(
    side: Side, status: int, kind: str, said: str, expected: type[Exception], is_async: bool
) -> None:
    """In both manners, with nothing of the SDK's own error behind it: that holds the request, and with it the key."""
    if is_async:
        side = evolve(side, summariser=f"Async{side.summariser}", client=f"Async{side.client}", is_async=True)
    handler = side.answers(status, side.error(kind, said), {"retry-after": "7"})
    with pytest.raises(expected) as caught:
        side.ask(side.made(handler))

    assert type(caught.value) is expected
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__
    if isinstance(caught.value, OverloadedError):
        assert caught.value.retry_after_seconds == 7.0
    if isinstance(caught.value, PromptTooLongError) and "200000" in said:
        assert caught.value.limit_tokens == 200_000


@sides
@pytest.mark.parametrize(
    "body", ["<html>Bad gateway</html>", "[]", '"odd"', '{"error": 5}', '{"error": {"message": 5, "code": 7}}', ""]
)
def test_a_refusal_of_any_shape_is_a_failure(side: Side, body: str) -> None:
    """Gateways say what they like."""
    with pytest.raises(SummariserError):
        side.ask(side.made(side.answers(400, body)))


@sides
def test_an_answer_that_is_none_is_a_failed_reply(side: Side) -> None:
    """Law L6: whatever a server sends with status 200, the conversation stays as it was."""
    conversation, policy = long_conversation(), cl.Policy(window_tokens=16_000)
    for body in ("<html>login</html>", "{}", "null", "[]", '{"content": [5], "choices": [5]}'):
        summarise = side.made(side.answers(200, body, {"content-type": "application/json"}))
        if side.is_async:
            outcome = asyncio.run(cl.acompact(conversation, policy, summarise=summarise, when="now"))
        else:
            outcome = cl.compact(conversation, policy, summarise=summarise, when="now")

        assert isinstance(outcome, Refused), body
        assert outcome.reason.startswith("summary-failed:")
        assert outcome.conversation is conversation


@sides
@pytest.mark.parametrize(("name", "expected"), [("ReadTimeout", TimeoutError), ("ConnectError", SummariserError)])
def test_a_line_that_fails_is_a_timeout_or_a_failure(side: Side, name: str, expected: type[Exception]) -> None:
    def handler(request: Any) -> Any:
        library = importlib.import_module(type(request).__module__.split(".")[0])
        raise getattr(library, name)("no", request=request)

    with pytest.raises(expected) as caught:
        side.ask(side.made(handler))

    assert type(caught.value) is expected


@sides
def test_a_refused_prompt_is_told_to_the_engine_as_such(side: Side) -> None:
    """The engine knows the failure by its class, and nothing of the conversation is lost."""
    conversation, policy = long_conversation(), cl.Policy(window_tokens=16_000)
    summarise = side.made(side.answers(400, side.error("context_length_exceeded", "prompt is too long: 9 tokens > 8 maximum")))
    if side.is_async:
        outcome = asyncio.run(cl.acompact(conversation, policy, summarise=summarise, when="now"))
    else:
        outcome = cl.compact(conversation, policy, summarise=summarise, when="now")

    assert isinstance(outcome, Refused)
    assert outcome.reason in ("summary-failed:prompt-too-long", "summary-failed:exception")
    assert "too long" in outcome.why


# --- Keys ------------------------------------------------------------------------------------------------------------


@sides
@pytest.mark.parametrize("status", [400, 401, 403, 500])
def test_a_key_is_never_told(side: Side, status: int) -> None:
    """Not in an error, though the provider repeats it, nor in what an object shows of itself."""
    summarise = side.made(side.answers(status, side.error("authentication_error", f"Incorrect API key provided: {KEY}")))
    with pytest.raises(SummariserError) as caught:
        side.ask(summarise)

    assert KEY not in f"{caught.value} {caught.value!r} {summarise!r} {vars(caught.value)}"


VARIABLES: Final = (
    "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_PROFILE", "ANTHROPIC_IDENTITY_TOKEN", "ANTHROPIC_IDENTITY_TOKEN_FILE",
    "OPENAI_API_KEY", "OPENAI_ADMIN_KEY",
)  # fmt: skip


@sides
def test_without_a_key_none_is_made(side: Side, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    """That is said when it is made, with the variable to set, and not by a failed summary."""
    pytest.importorskip(side.package)
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ANTHROPIC_CONFIG_DIR", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    module = importlib.import_module(f"compactlib.summarisers.{side.package}")
    with pytest.raises(PolicyError, match=f"set {side.package.upper()}_API_KEY") as caught:
        getattr(module, side.summariser)(side.model)

    assert caught.value.field == "summariser"


@sides
def test_the_sdk_finds_its_key_by_itself(side: Side, monkeypatch: pytest.MonkeyPatch) -> None:
    """And the address is the caller's, if one is given."""
    pytest.importorskip(side.package)
    monkeypatch.setenv(f"{side.package.upper()}_API_KEY", KEY)
    module = importlib.import_module(f"compactlib.summarisers.{side.package}")
    summarise = getattr(module, side.summariser)(side.model, base_url="http://localhost:9/v1")

    assert summarise.client.api_key == KEY
    assert summarise.client.base_url.host == "localhost"


# --- What is refused -------------------------------------------------------------------------------------------------


@sides
@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({"model": ""}, "model"),
        ({"model": 5}, "model"),
        ({"timeout_seconds": 0}, "timeout_seconds"),
        ({"timeout_seconds": "1"}, "timeout_seconds"),
        ({"spare_tokens": -1}, "spare_tokens"),
        ({"base_url": "http://localhost"}, "base_url"),
        ({"base_url": 5}, "base_url"),
    ],
)
def test_settings_that_are_none_are_refused(side: Side, settings: dict[str, Any], name: str) -> None:
    with pytest.raises(PolicyError) as caught:
        side.made(side.answers(200, side.reply()), **settings)

    assert caught.value.field == name


@sides
def test_a_package_that_is_not_installed_is_named(side: Side, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the command that installs it."""
    module = importlib.import_module(f"compactlib.summarisers.{side.package}")
    monkeypatch.setitem(sys.modules, side.package, None)
    hint = re.escape(f"pip install 'compactlib[{side.package}]'")
    with pytest.raises(PolicyError, match=rf"it needs the package '{side.package}' \({hint}\)"):
        getattr(module, side.summariser)(side.model)


def test_the_wing_loads_nothing_until_it_is_asked() -> None:
    """No SDK for the names, and none for a command."""
    script = (
        "import sys, compactlib.summarisers as s\n"
        "s.CommandSummariser(['x']); s.AnthropicSummariser; s.OpenAISummariser\n"
        "print(sorted({'anthropic', 'openai', 'httpx', 'httpx2', 'pydantic'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n"
