"""
What is wrong with a conversation, as a value.

A `Violation` names the rule, the place, what stands there, what was expected
instead, and the safe fix if there is one.  It is data, not an exception: a
conversation that a provider would reject is an ordinary value here.

Rules it obeys
    * Ids, names and types come from transcripts, and transcripts are hostile.
      They enter a message only through `quote`, which escapes what a terminal
      or a log would act on, and cuts what is long.
    * Violations are ordered by message, then by place, then by rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from attrs import frozen

from ..arguments import shown
from .rules import Level

__all__ = ["Violation", "in_order", "quote", "quote_all"]

_QUOTED_CHARS = 64
_QUOTED_IDS = 3


@frozen
class Violation:
    """
    One finding.

    Attributes:
        rule: the rule's id, such as ``A-PAIR-01``.
        law: the law of this library that the rule serves.
        level: ``error`` (the provider refuses it), ``warning`` (some route does), ``info``.
        index: the message, as the wire numbers it; ``None`` where the request itself is meant.
        pointer: JSON pointer to the place, into what `compactlib.parse` was given:
            ``/messages/3/content/0`` in a body, ``/3/content/0`` in a bare
            list; ``""`` where the request itself is meant.
        message: what is wrong, in one sentence.
        expected: what was expected instead.
        fix: the safe repair, one of `rules.FIXES`, or ``None``.
        call_ids: the ids of the calls it speaks of, as they are.
    """

    rule: str
    law: str
    level: Level
    index: int | None
    pointer: str
    message: str
    expected: str
    fix: str | None = None
    call_ids: tuple[str, ...] = ()


def quote(text: object) -> str:
    r"""
    *text* in quotes, escaped and cut to a bounded length; what is no text, in a body made by hand, as any message shows it.

    >>> print(quote("call\n\u202e1"), quote("x" * 100)[-6:])
    'call\n\u202e1' xx...'
    """
    if not isinstance(text, str):
        return shown(text)
    return repr(text if len(text) <= _QUOTED_CHARS else text[: _QUOTED_CHARS - 3] + "...")


def quote_all(ids: Sequence[str]) -> str:
    """
    Some ids, quoted, and how many more there are.

    >>> quote_all(["a"]), quote_all(["a", "b"]), quote_all(["a", "b", "c", "d", "e"])
    ("'a'", "'a' and 'b'", "'a', 'b', 'c' and 2 more")
    """
    quoted = [quote(key) for key in ids[:_QUOTED_IDS]]
    more = len(ids) - len(quoted)
    last = f"{more} more" if more else quoted.pop() if quoted else "no id"
    return f"{', '.join(quoted)} and {last}" if quoted else last


def in_order(violations: Iterable[Violation]) -> tuple[Violation, ...]:
    """Sorted by message, place and rule; what concerns the request itself comes first."""
    return tuple(sorted(violations, key=_place))


def _place(violation: Violation) -> tuple[int, list[tuple[int, str]], str]:
    index = -1 if violation.index is None else violation.index
    steps = [(int(step), "") if step.isdecimal() else (-1, step) for step in violation.pointer.split("/")]
    return index, steps, violation.rule
