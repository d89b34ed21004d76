"""
What a provider's refusal means for whoever asked for a summary.

What this is
    `failure` turns a status and a message into the exception that a summariser
    raises.

Rules it obeys
    * "Prompt too long", overload, and a medium that is not taken are three
      events with three answers: ask with less, ask later, ask without it.
      Taken for one another, each is answered by what cannot help.
    * What a provider says is known by the published rules first
      (`protocol.rules.find`), and only then by the phrases of servers that
      have no rules of their own.
    * Nothing of a key is repeated.  What is said of one that was not accepted
      is left out whole, because some providers quote it.

How it works
    A medium is looked for before a size, because "image exceeds 5 MB" is both;
    a size before overload, because a request that is larger than a whole
    minute's allowance is refused with the status of one that comes too early.

What is not here
    Stop reasons of replies: those are judged with the reply (`summaries.acceptance`).
"""

from __future__ import annotations

import re
from typing import Final

from ..errors import MediaRefusedError, OverloadedError, PromptTooLongError, SummariserError
from ..protocol.rules import find
from ..text import escape

__all__ = ["failure"]

_READ_CHARS: Final = 4_000  # of what a provider says; the rest says the same
_SHOWN_CHARS: Final = 300

_MEDIA_KINDS: Final = ("image_dimensions_too_large", "invalid_image", "invalid_image_format", "image_parse_error")
_MEDIA_RULES: Final = ("A-IMG", "B-MEDIA", "G-IMG", "M-IMG", "O-IMG", "T-IMG")
_MEDIA_PHRASES: Final = (
    "image exceeds",
    "images exceed",
    "image dimensions",
    "could not process image",
    "could not process pdf",
    "invalid image",
    "unsupported image",
    "not support image",
    "image input",
    "images are not supported",
    "too much media",
    "document pages",
)

_SIZE_KINDS: Final = ("context_length_exceeded", "exceed_context_size_error", "request_too_large")
_SIZE_PHRASES: Final = (
    "prompt is too long",
    "prompt too long",
    "input is too long",
    "messages is too long",
    "maximum context length",
    "maximum prompt length",
    "context length exceeded",
    "context window",
    "context limit",
    "context size",
    "too many tokens",
    "input token count",
    "input length should be",
    "reduce the length of",
    "tokens must be reduced",
)
_CONTENT_TOO_LARGE: Final = 413

_OVERLOAD_KINDS: Final = ("overloaded_error", "rate_limit_error", "rate_limit_exceeded", "server_is_overloaded")
_OVERLOAD_STATUSES: Final = (429, 502, 503, 529)
_UNPAID_KINDS: Final = ("insufficient_quota", "billing_error", "billing_hard_limit_reached")
_TIMEOUT_STATUSES: Final = (408, 504, 524)
_KEY_STATUSES: Final = (401, 403)

_LIMITS: Final = (
    re.compile(r"(?<= )> ([0-9]{3,9})\b"),
    re.compile(r"\b([0-9]{3,9}) maximum\b"),
    re.compile(r"\b(?:maximum|available)[a-z ]{0,40}\(?([0-9]{3,9})\b"),
    re.compile(r"\blimit:? ([0-9]{3,9})\b"),
)
"""Where in a refusal the largest size stands that would have been taken."""

_KEY: Final = re.compile(r"\b(?:sk|pk|rk|gsk|xai|key)[-_][\w*.-]{6,}")


def failure(said: str, *, status: int | None = None, kind: str = "", retry_after_seconds: float | None = None) -> Exception:
    """
    The exception for what a provider answered.

    Args:
        said: the message, as the provider wrote it.
        status: the HTTP status, if there is one.
        kind: the provider's own name of the error, its ``type`` or ``code``.
        retry_after_seconds: when it may be asked again, if it said so.

    Returns:
        `PromptTooLongError`, `MediaRefusedError`, `OverloadedError`, `TimeoutError` or `SummariserError`.

    >>> too_long = failure("prompt is too long: 213462 tokens > 200000 maximum", status=400)
    >>> type(too_long).__name__, too_long.limit_tokens
    ('PromptTooLongError', 200000)
    >>> print(failure("Overloaded", status=529, kind="overloaded_error"))
    status 529: Overloaded (try again later)
    """
    read = said[:_READ_CHARS]
    plain = read.casefold()
    where = "" if status is None else f"status {status}: "
    shown = f"{where}{_quoted(read) or _quoted(kind) or 'nothing was said'}"
    if status in _KEY_STATUSES:
        return SummariserError(
            f"status {status}: the provider does not accept the key", hint="the SDK looks for one in its own places"
        )
    rules = [rule.id for rule in find(read)]
    if kind in _MEDIA_KINDS or any(rule.startswith(_MEDIA_RULES) for rule in rules) or _says(plain, _MEDIA_PHRASES):
        return MediaRefusedError(shown)
    is_size = status == _CONTENT_TOO_LARGE or kind in _SIZE_KINDS or any("-SIZE-" in rule for rule in rules)
    if is_size or _says(plain, _SIZE_PHRASES):
        return PromptTooLongError(shown, limit_tokens=_limit(plain))
    if kind in _UNPAID_KINDS:
        return SummariserError(shown, hint="the account may not ask for more")
    if kind in _OVERLOAD_KINDS or status in _OVERLOAD_STATUSES:
        return OverloadedError(shown, retry_after_seconds=retry_after_seconds)
    if status in _TIMEOUT_STATUSES:
        return TimeoutError(shown)
    return SummariserError(shown)


def _says(plain: str, phrases: tuple[str, ...]) -> bool:
    return any(phrase in plain for phrase in phrases)


def _limit(plain: str) -> int | None:
    """The size that would have been taken, if it stands there."""
    for pattern in _LIMITS:
        found = pattern.search(plain)
        if found is not None:
            return int(found[1])
    return None


def _quoted(said: str) -> str:
    """What was said, shortened, with nothing in it that acts on a terminal and nothing that looks like a key."""
    shown = escape(_KEY.sub("(a key)", " ".join(said.split())))
    return shown if len(shown) <= _SHOWN_CHARS else shown[:_SHOWN_CHARS] + "..."
