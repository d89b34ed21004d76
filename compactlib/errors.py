"""
What can go wrong, as data.

Every error that leaves a public function is a `CompactlibError`.  It carries
who is to blame (`Blame`), the rule that was broken if there is one, a hint
that names the likely mistake, and a short code that is stable across
versions, so that a program can branch on it and a person can search for it.

Violations of the message protocol are *not* errors: a conversation that a
provider would reject is an ordinary value here, and `compactlib.check`
returns what is wrong with it.  Outcomes of a compaction are not errors
either, see `compactlib.compact`.
"""

from __future__ import annotations

import enum
from typing import ClassVar, Final

__all__ = [
    "Blame",
    "CompactlibError",
    "LogError",
    "MediaRefusedError",
    "OverloadedError",
    "PolicyError",
    "PromptTooLongError",
    "StoreError",
    "SummariserError",
    "WireError",
    "CODES",
]


class Blame(enum.Enum):
    """Who has to change something so that the error goes away."""

    CALLER = "caller"
    """The program that called us passed something impossible."""
    PEER = "peer"
    """The data came from elsewhere (a file, a provider) and has the wrong shape."""
    HOST = "host"
    """The machine: a disk, a permission."""


class CompactlibError(Exception):
    """
    The root of all errors; never raised itself.

    Attributes:
        blame: who has to change something.
        code: short stable name of the kind of error.
        rule: the rule or law that was broken, or ``None``.
        hint: what the likely mistake is, or ``None``.
    """

    blame: ClassVar[Blame]
    code: ClassVar[str]
    rule: str | None
    hint: str | None

    def __init__(self, message: str, *, rule: str | None = None, hint: str | None = None) -> None:
        if type(self) is CompactlibError:
            raise TypeError("CompactlibError is abstract: raise one of its subclasses")
        super().__init__(message)
        self.message: Final = message
        self.rule = rule
        self.hint = hint

    def __str__(self) -> str:
        return self.message if self.hint is None else f"{self.message} ({self.hint})"


class WireError(CompactlibError, ValueError):
    """
    A body, file or line does not have the shape its dialect or format prescribes.

    Attributes:
        path: where, as a JSON path such as ``$.messages[3].content[0].id``.
    """

    blame = Blame.PEER
    code = "wire"

    def __init__(self, path: str, problem: str, *, hint: str | None = None) -> None:
        super().__init__(f"{path}: {problem}", hint=hint)
        self.path: Final = path
        self.problem: Final = problem


class PolicyError(CompactlibError, ValueError):
    """
    A policy asks for something impossible or contradictory.

    Attributes:
        field: the name of the policy field that has to change.
    """

    blame = Blame.CALLER
    code = "policy"

    def __init__(self, field: str, problem: str, *, rule: str | None = None, hint: str | None = None) -> None:
        super().__init__(f"{field}: {problem}", rule=rule, hint=hint)
        self.field: Final = field


class StoreError(CompactlibError, OSError):
    """A store could not keep or give back what was asked of it."""

    blame = Blame.HOST
    code = "store"


class LogError(CompactlibError, ValueError):
    """
    A session log cannot be read or continued.

    Attributes:
        line: the number of the offending line, counted from 1.
    """

    blame = Blame.PEER
    code = "log"

    def __init__(self, line: int, problem: str, *, hint: str | None = None) -> None:
        super().__init__(f"line {line}: {problem}", hint=hint)
        self.line: Final = line


class SummariserError(CompactlibError, RuntimeError):
    """
    A summariser did not give a summary.

    Like its subclasses it is raised by a summariser, to whoever asked it:
    `compactlib.compact` catches it, and the conversation stays as it was (law L6).
    """

    blame = Blame.PEER
    code = "summariser"


class PromptTooLongError(SummariserError):
    """
    A model refused a request because it is too long: a shorter one may do.

    A summariser that raises this, and not just any error, is asked again with less.

    Attributes:
        limit_tokens: how much the model takes, if it said so.
    """

    code = "prompt-too-long"

    def __init__(
        self, message: str, *, limit_tokens: int | None = None, rule: str | None = None, hint: str | None = "show it less"
    ) -> None:
        super().__init__(message, rule=rule, hint=hint)
        self.limit_tokens: Final = limit_tokens


class MediaRefusedError(SummariserError):
    """A model refused an image or another medium in a request: the text without it may do."""

    code = "media"

    def __init__(self, message: str, *, rule: str | None = None, hint: str | None = "show it no media") -> None:
        super().__init__(message, rule=rule, hint=hint)


class OverloadedError(SummariserError):
    """
    A provider has no capacity just now: the same request may do later (law L14).

    Attributes:
        retry_after_seconds: when, if it said so.
    """

    code = "overloaded"

    def __init__(
        self,
        message: str,
        *,
        retry_after_seconds: float | None = None,
        rule: str | None = None,
        hint: str | None = "try again later",
    ) -> None:
        super().__init__(message, rule=rule, hint=hint)
        self.retry_after_seconds: Final = retry_after_seconds


CODES: Final = {
    error.code: error
    for error in (
        WireError,
        PolicyError,
        StoreError,
        LogError,
        SummariserError,
        PromptTooLongError,
        MediaRefusedError,
        OverloadedError,
    )
}
"""Every kind of error by its stable code."""
