"""
What the summarisers that ask a model have in common.

What this is
    `Asking`, the base of those that use an official SDK, and what each is as
    well, `Synchronous` or `Asynchronous`; and what the command needs of the
    same kind (`need_seconds`, `need_transcript`, `well_formed`).

Rules it obeys
    * A summariser is checked when it is made, not when it is first asked: a
      missing package or key is the caller's to mend, and no failed summary.
    * Keys are the SDK's business: it finds them in its own variables and files.
      None is read, held or shown here, and its errors, which hold the request
      and with it the key, do not leave.
    * Law L6.  The limit that a provider is given is above what is asked for in
      words: a reply that is cut off at a limit is no summary, a longer one may
      be asked for again.

What is not here
    What a provider's errors mean (`failing`), and what is said to which (a
    module for each).  Repeating: the SDKs repeat by themselves what failed by
    overload or by the line.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar, Final

from ..arguments import LARGEST, need, need_whole, shown
from ..errors import PolicyError, SummariserError
from ..models import model_named
from ..summaries.acceptance import Summary
from ..summaries.rendering import SummaryRequest
from .failing import failure

__all__ = [
    "SPARE_TOKENS",
    "TIMEOUT_SECONDS",
    "Asking",
    "Asynchronous",
    "Synchronous",
    "figures",
    "need_seconds",
    "need_transcript",
    "well_formed",
]

TIMEOUT_SECONDS: Final = 300.0
"""How long a model may take."""

SPARE_TOKENS: Final = 4_096
"""What a model may write beyond what it is asked for; many think, and what they think counts."""

_LONGEST_SECONDS: Final = 86_400


class Asking:
    """
    A model behind an official SDK.

    Attributes:
        model: the model's name.
        client: the SDK's client.
    """

    _package: ClassVar[str]
    """The SDK's package, which is also the extra that installs it."""
    _client_class: ClassVar[str]
    _key_names: ClassVar[tuple[str, ...]]
    """Where a client holds what it identifies itself by."""
    _key_hint: ClassVar[str]

    def _create(self, request: SummaryRequest) -> Any:
        """What the client makes of a request: the provider's reply, or what is awaited for it."""
        raise NotImplementedError

    def _summary(self, reply: Any) -> Summary:
        """What the engine wants to know of a reply."""
        raise NotImplementedError

    def __init__(
        self,
        model: str,
        *,
        client: Any = None,
        base_url: str | None = None,
        timeout_seconds: float = TIMEOUT_SECONDS,
        spare_tokens: int = SPARE_TOKENS,
    ) -> None:
        """
        Make one.

        Args:
            model: the model's name.
            client: the SDK's client, if there is one already.
            base_url: where to ask, if not there where the SDK does by itself.
            timeout_seconds: how long one answer may take.
            spare_tokens: what the model may write beyond what it is asked for, its thinking included.

        Raises:
            PolicyError: an argument is not what it is declared to be, the SDK
                is not installed, or it finds no key.
        """
        need("model", model, str, "the name of a model")
        if not model.strip():
            raise PolicyError("model", "the name of a model, not an empty one")
        need_seconds("timeout_seconds", timeout_seconds)
        need_whole("spare_tokens", spare_tokens)
        if base_url is not None:
            need("base_url", base_url, str, "an address")
        if client is not None and base_url is not None:
            raise PolicyError("base_url", "given beside a client, which has its own")
        self._sdk: Final = _loaded(self._package)
        self.model: Final = model
        self.client: Final = self._made_client(base_url) if client is None else client
        self._timeout_seconds: Final = timeout_seconds
        self._spare_tokens: Final = spare_tokens

    def _made_client(self, base_url: str | None) -> Any:
        try:
            client = getattr(self._sdk, self._client_class)(base_url=base_url)
        except Exception as error:  # noqa: BLE001  # each SDK has its own error for a missing key or an address that is none
            told = shown(str(error).split("\n")[0])
            raise PolicyError("summariser", f"the SDK cannot be set up: {told}", hint=self._key_hint) from None
        if not any(getattr(client, name, None) for name in self._key_names):
            raise PolicyError("summariser", f"the SDK {self._package} finds no key", hint=self._key_hint)
        return client

    def _reply_limit(self, request: SummaryRequest) -> int:
        """
        How many tokens the model may write: a third more than it is asked for, and what is spare; not more than it can.

        A third, because the engine takes that much more than it asks for (`budget.Sizes.asked_tokens`).
        """
        wanted = max(request.max_tokens + (request.max_tokens + 2) // 3 + self._spare_tokens, 1)
        known = model_named(self.model)
        return wanted if known is None or known.output_tokens is None else min(wanted, known.output_tokens)

    @contextmanager
    def _failures(self) -> Iterator[None]:
        """Every error of the SDK becomes one of ours."""
        try:
            yield
        except self._sdk.APIError as error:
            raised = self._failed(error)
        else:
            return
        raise raised from None

    def _failed(self, error: Any) -> Exception:
        if isinstance(error, self._sdk.APITimeoutError):
            return TimeoutError(f"{self.model} took more than {self._timeout_seconds:g} s")
        if isinstance(error, self._sdk.APIConnectionError):
            return SummariserError("the provider cannot be reached")
        if not isinstance(error, self._sdk.APIStatusError):
            return SummariserError(f"the provider's answer cannot be read: {type(error).__name__}")
        body = error.body
        told = body.get("error", body) if isinstance(body, Mapping) else {}
        told = told if isinstance(told, Mapping) else {"message": told}
        details = told.get("details")
        kinds = (details.get("error_code") if isinstance(details, Mapping) else None, told.get("code"), told.get("type"))
        return failure(
            str(told.get("message") or (body if isinstance(body, str) else "")),
            status=error.status_code,
            kind=next((kind for kind in kinds if isinstance(kind, str)), ""),
            retry_after_seconds=_seconds(error.response.headers.get("retry-after")),
        )


class Synchronous(Asking):
    """One that is called."""

    def __call__(self, request: SummaryRequest) -> Summary:
        """
        The model's answer.

        Raises:
            SummariserError: there was none; its subclasses say what may help.
            TimeoutError: it took too long.
        """
        need_transcript(request)
        with self._failures():
            return self._summary(self._create(request))


class Asynchronous(Asking):
    """One that is awaited, for `compactlib.acompact`."""

    async def __call__(self, request: SummaryRequest) -> Summary:
        """The model's answer; it raises as `Synchronous` does."""
        need_transcript(request)
        with self._failures():
            return self._summary(await self._create(request))


def _loaded(package: str) -> Any:
    try:
        return importlib.import_module(package)
    except ImportError as error:
        hint = f"pip install 'compactlib[{package}]'"
        raise PolicyError("summariser", f"it needs the package {error.name or package!r}", hint=hint) from error


def _seconds(value: object) -> float | None:
    """A time to wait as a header says it; a date would need a clock, and says nothing."""
    text = value if isinstance(value, str) else ""
    return float(text) if text.isascii() and text.isdecimal() and len(text) < len(str(LARGEST)) else None


def need_transcript(request: SummaryRequest) -> None:
    """
    Refuse a request that shows no transcript, but is the agent's own with a question behind it.

    Who sent the question alone would be told of a conversation that it never saw.

    Raises:
        SummariserError: it is one; `compactlib.compact` then asks in the other form.
    """
    if request.form == "suffix":
        raise SummariserError("this summariser is shown transcripts; it does not send the agent's own request")


def need_seconds(name: str, value: object) -> None:
    """
    Refuse what is no time above zero and up to a day.

    Raises:
        PolicyError: it is none.
    """
    if not (type(value) in (int, float) and isinstance(value, int | float) and 0 < value <= _LONGEST_SECONDS):
        raise PolicyError(name, f"a number of seconds above zero and up to a day, not {shown(value)}")


def well_formed(text: str) -> str:
    """
    *text* without halves of surrogate pairs, which no UTF-8 can hold.

    >>> well_formed("a\\ud83d\\ude00 b\\ud800")
    'a😀 b\ufffd'
    """
    return text if text.isascii() else text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def figures(usage: Any) -> dict[str, Any] | None:
    """What a call cost in the provider's own shape, if it said anything of it."""
    dumped = getattr(usage, "model_dump", None)
    return dumped(exclude_none=True, warnings=False) if callable(dumped) else None
