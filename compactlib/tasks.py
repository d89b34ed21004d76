"""
What a caller wants of one compaction, besides the policy.

What this is
    `Task` holds the arguments of `compact` as one value, so that the rungs
    hand on one thing and none of them can forget a part of it.

Rules it obeys
    * An argument that is not what it is declared to be is a `PolicyError` that
      names it, before anything is done.  What it names is looked for where it
      is used.

What is not here
    What is decided for every conversation (`budget.Policy`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from attrs import field, frozen

from .arguments import need, need_one_of, shown
from .errors import PolicyError
from .markers import Issued
from .options import RUNGS, Rung
from .store import Store, need_store
from .tokens.usage import Anchor

__all__ = ["RUNGS", "Pin", "Reminder", "Rung", "Task", "When"]

Pin: TypeAlias = int | tuple[int, int]
"""A message of the input by its index on the wire, or one block of it as (message, block)."""

Reminder: TypeAlias = str | Callable[[], str]
"""A text from live state, or what returns it."""

When: TypeAlias = Literal["auto", "now", "overflow"]
"""
Why it is done: ``auto``, if the trigger says so; ``now``, because a person asked; ``overflow``, because the provider
said that the prompt is too long.
"""


def _of_class(kind: type, what: str) -> Callable[[Any, Any, Any], None]:
    def check(task: Task, attribute: Any, value: Any) -> None:
        del task
        if value is not None:
            need(attribute.name, value, kind, what)

    return check


def _when(task: Task, attribute: Any, value: Any) -> None:
    del task
    need_one_of(attribute.name, value, ("auto", "now", "overflow"))


def _sequence(task: Task, attribute: Any, value: Any) -> None:
    del task
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Collection):
        raise PolicyError(attribute.name, f"a sequence, not {type(value).__name__}")


def _pins(task: Task, attribute: Any, value: Any) -> None:
    _sequence(task, attribute, value)
    for pin in value:
        if not all(type(one) is int for one in (pin if isinstance(pin, tuple) and len(pin) == 2 else (pin,))):
            raise PolicyError(attribute.name, f"an index, or (index, block), not {shown(pin)}")


def _reminders(task: Task, attribute: Any, value: Any) -> None:
    _sequence(task, attribute, value)
    for reminder in value:
        if not isinstance(reminder, str) and not callable(reminder):
            raise PolicyError(attribute.name, f"a text, or what returns one, not {type(reminder).__name__}")


def _store(task: Task, attribute: Any, value: Any) -> None:
    del task, attribute
    if value is not None:
        need_store(value)


def _rungs(task: Task, attribute: Any, value: Any) -> None:
    if value is None:
        return
    _sequence(task, attribute, value)
    if not value or any(rung not in RUNGS for rung in value):
        raise PolicyError(attribute.name, f"some of {', '.join(RUNGS)}, not {shown(value)}")


def _digests(task: Task, attribute: Any, value: Any) -> None:
    del task
    if not isinstance(value, Mapping) or not all(isinstance(text, str) for pair in value.items() for text in pair):
        raise PolicyError(attribute.name, f"digests by their turns, as `digest` gives them, not {type(value).__name__}")


@frozen(kw_only=True)
class Task:
    """
    One compaction as the caller wants it; see `compactlib.compact` for the fields.

    Attributes:
        reviewed: whether the engine asks for a review before a summary takes
            effect.
        is_stale: whether a rung before it changed what reasoning is bound to
            (A-THINK-07); the others are the arguments of `compact`.

    Raises:
        PolicyError: on construction, for an argument that is not what it is declared to be.

    >>> Task(pins=[0.5])
    Traceback (most recent call last):
        ...
    compactlib.errors.PolicyError: pins: an index, or (index, block), not 0.5
    """

    when: When = field(default="auto", validator=_when)
    focus: str | None = field(default=None, validator=_of_class(str, "a text"))
    pins: Sequence[Pin] = field(default=(), validator=_pins)
    reminders: Sequence[Reminder] = field(default=(), validator=_reminders)
    store: Store | None = field(default=None, validator=_store)
    anchor: Anchor | None = field(default=None, validator=_of_class(Anchor, "an Anchor"))
    issued: Issued | None = field(default=None, validator=_of_class(Mapping, "references with their sizes"))
    previous: str | None = field(default=None, validator=_of_class(str, "a text"))
    digests: Mapping[str, str] = field(factory=dict, validator=_digests, repr=False)
    rungs: Sequence[Rung] | None = field(default=None, validator=_rungs)
    reviewed: bool = field(default=False)
    is_stale: bool = field(default=False)
    run: str = field(default="", validator=_of_class(str, "a text"))
