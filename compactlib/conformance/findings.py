"""
What a check says.

A check looks at one record and answers with findings.  No finding means that
the law was kept as far as the record shows.  A check that cannot decide says
``unknown``, which is neither a pass nor a failure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final, Literal

from attrs import frozen

__all__ = ["LAWS", "Finding", "broken", "unknown"]

LAWS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "VALID-1": "L1",
        "VALID-2": "L1",
        "STEP-1": "L2",
        "CUT-1": "L3",
        "CUT-2": "L3",
        "CUT-3": "L3",
        "LIVE-1": "L4",
        "LIVE-2": "L4",
        "SEAL-1": "L5",
        "SEAL-2": "L5",
        "FAIL-1": "L6",
        "FAIL-2": "L6",
        "FAIL-3": "L6",
        "TAIL-1": "L7",
        "TAIL-2": "L7",
        "TAIL-3": "L7",
        "PROMPT-1": "L8",
        "PROMPT-2": "L8",
        "PROMPT-3": "L8",
        "PIN-1": "L8",
        "PIN-2": "L8",
        "PIN-3": "L8",
        "NEW-1": "L9",
        "NEW-2": "L9",
        "BACK-1": "L10",
        "BACK-2": "L10",
        "BACK-3": "L10",
        "BACK-4": "L10",
        "REDACT-1": "L10",
        "MARK-1": "L11",
        "MARK-2": "L11",
        "SIZE-1": "L12",
        "SIZE-2": "L13",
        "SIZE-3": "L13",
        "ASK-1": "L14",
        "ASK-2": "L14",
        "ASK-3": "L14",
        "WINDOW-1": "L15",
        "WINDOW-2": "L15",
        "SAME-1": "L16",
        "NOOP-1": "L17",
        "NOOP-2": "L17",
        "PREFIX-1": "L18",
        "PREFIX-2": "L18",
        "INPUT-1": "L19",
        "ONE-1": "L20",
        "ONE-2": "L20",
        "ONE-3": "L20",
        "FACT-1": "L21",
        "CLAIM-1": "L22",
        "FILES-1": "L23",
        "PAID-1": "L24",
        "TEXT-1": "L25",
        "TEXT-2": "L25",
        "TEXT-3": "L25",
        "SYSTEM-1": "L26",
        "SYSTEM-2": "L26",
    }
)
"""Each rule of the chapter of laws, and the law it states."""


@frozen
class Finding:
    """
    One thing that a check has to say.

    Attributes:
        rule: the rule of the specification, such as ``STEP-1``.
        verdict: ``broken``, or ``unknown`` where the record does not tell.
        message: what was seen, in one sentence; of what is unknown, with the fields of the record that would tell.
    """

    rule: str
    verdict: Literal["broken", "unknown"]
    message: str

    @property
    def law(self) -> str:
        """The law that the rule states, such as ``L2``."""
        return LAWS[self.rule]

    def __str__(self) -> str:
        return f"{self.law} {self.rule} {self.verdict}: {self.message}"


def broken(rule: str, message: str) -> Iterator[Finding]:
    """The finding that *rule* is broken."""
    yield Finding(rule, "broken", message)


def unknown(rule: str, message: str, *fields: str) -> Iterator[Finding]:
    """The finding that nobody can tell whether *rule* is kept; *fields* of the record would."""
    yield Finding(rule, "unknown", f"{message} ({', '.join(fields)})" if fields else message)
