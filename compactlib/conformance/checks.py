"""
The checks: one for each law, over the record of one compaction.

What this is
    `CHECKS` maps a law to the function that judges it; `judge` runs them all.
    They judge anybody's compactor: what they need is what went in, what came
    out, and what the summariser was shown and said.

Rules it obeys
    * The checks share no code with the engine.  They read the wire again
      (`units`), divide conversations again (`dividing`), and read a summary's
      published form again (`heads`).  Of the library they use the validator,
      which is nobody's friend, and for it the reader of the dialect.
    * A check is obvious rather than fast.
    * Unknown is never pass.  A check that cannot decide says so, and so does
      `judge` of a check that fails.

How it works
    `evidence` works out once what a record shows, and `hiding` what a provider
    was asked to hide; each check asks them.

    ===================  =====================================================
    `protocol_checks`    L1 to L5 and L26
    `loss_checks`        L6 to L9
    `marker_checks`      L11
    `recovery_checks`    L10
    `size_checks`        L12, L13
    `asking_checks`      L14, L15, L24
    `stability_checks`   L16 to L19
    `honesty_checks`     L20, L25
    `fact_checks`        L21 to L23
    ===================  =====================================================

    What these laws say of a live loop (that useless compactions suspend
    themselves, that appending alters no earlier byte, what a turn costs) cannot
    be seen in one record.

What is not here
    Making records (`running`, `shorthand`) and compactors that break the laws
    on purpose (`saboteurs`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

from .asking_checks import asks_no_more, fits_window, pays_for_all
from .fact_checks import claims_flagged, facts_survive, one_list_of_files
from .findings import LAWS, Finding
from .honesty_checks import one_summary, text_stays_text
from .loss_checks import nothing_invented, prompts_kept, tail_verbatim, untouched
from .marker_checks import markers_true
from .protocol_checks import boundaries, frontier, seals, system_untouched, validity, whole_steps
from .record import Record
from .recovery_checks import recoverable
from .size_checks import smaller, target_or_reason
from .stability_checks import deterministic, idle, input_untouched, prefix_kept

__all__ = ["CHECKS", "Check", "Finding", "judge"]

Check: TypeAlias = Callable[[Record], Iterable[Finding]]
"""Judges one law on one record."""

CHECKS: Final[Mapping[str, Check]] = MappingProxyType(
    {
        "L1": validity,
        "L2": whole_steps,
        "L3": boundaries,
        "L4": frontier,
        "L5": seals,
        "L6": untouched,
        "L7": tail_verbatim,
        "L8": prompts_kept,
        "L9": nothing_invented,
        "L10": recoverable,
        "L11": markers_true,
        "L12": smaller,
        "L13": target_or_reason,
        "L14": asks_no_more,
        "L15": fits_window,
        "L16": deterministic,
        "L17": idle,
        "L18": prefix_kept,
        "L19": input_untouched,
        "L20": one_summary,
        "L21": facts_survive,
        "L22": claims_flagged,
        "L23": one_list_of_files,
        "L24": pays_for_all,
        "L25": text_stays_text,
        "L26": system_untouched,
    }
)
"""The check of each law."""


def judge(record: Record, *, laws: Iterable[str] = tuple(CHECKS)) -> tuple[Finding, ...]:
    """
    All findings about one record, in the order of the laws.

    Args:
        record: of one compaction.
        laws: those to be judged.

    >>> record = Record(dialect="anthropic", before=[], after=[], outcome="refused", reason="no reason at all")
    >>> [str(finding) for finding in judge(record, laws=["L6"])]
    ["L6 FAIL-3 broken: 'no reason at all' is no reason for refused"]
    """
    found: list[Finding] = []
    for law in laws:
        try:
            found.extend(CHECKS[law](record))
        except Exception as error:  # noqa: BLE001 - a check that fails has not passed anything
            rule = next(rule for rule, stated in LAWS.items() if stated == law)
            found.append(Finding(rule, "unknown", f"the check failed: {type(error).__name__}: {error}"))
    return tuple(found)
