"""
What a caller decides about single rungs of the ladder, as data.

What this is
    `Limit` and `Admission`, how large a tool's output may enter a
    conversation, and `Clearing`, which old outputs leave it.  `Policy` holds
    one of each; the names are those that providers use for their own.

Rules it obeys
    * Every value that is accepted has an effect; every other value is a
      `PolicyError` that names the field.

What is not here
    What is done with them (`admission`, `clearing`), and the arithmetic of the
    window (`budget`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Literal

from attrs import field, frozen

from .errors import PolicyError

__all__ = ["REPORT_TOKENS", "Admission", "Clearing", "Limit"]

REPORT_TOKENS: Final = 2_000
"""How long the report of a sub-agent may be unless the caller says otherwise."""

_REPORTERS: Final = ("Agent", "Task", "agent", "delegate", "delegate_task", "dispatch_agent", "subagent", "task")


def _whole(least: int) -> Callable[[Any, Any, Any], None]:
    def check(options: Any, attribute: Any, value: Any) -> None:
        del options
        if value is not None and (value.__class__ is not int or value < least):
            raise PolicyError(attribute.name, f"a whole number from {least} on, not {value!r}")

    return check


def _names(value: Any) -> Any:
    """A set of names; what is none is left to the validator."""
    return frozenset(value) if isinstance(value, list | tuple | set) else value


def _in_order(value: Any) -> str:
    """How a set of names is shown: the same in every process (law L16)."""
    return repr(sorted(value)) if isinstance(value, frozenset) else repr(value)


def _are_names(options: Any, attribute: Any, value: Any) -> None:
    del options
    if value.__class__ is bool and attribute.name == "clear_tool_inputs":
        return
    if not (isinstance(value, frozenset) and all(isinstance(name, str) for name in value)):
        raise PolicyError(attribute.name, f"names of tools, not {value!r}")


@frozen(kw_only=True)
class Limit:
    """
    How large one output may be.

    Attributes:
        limit_tokens: at most so many tokens.
        limit_lines: at most so many lines.
        keep: which end stays: ``both``, ``head`` or ``tail``.

    Raises:
        PolicyError: on construction, for a value that is impossible.
    """

    limit_tokens: int | None = field(default=None, validator=_whole(1))
    limit_lines: int | None = field(default=None, validator=_whole(1))
    keep: Literal["both", "head", "tail"] = "both"

    def __attrs_post_init__(self) -> None:
        if self.keep not in ("both", "head", "tail"):
            raise PolicyError("keep", f"one of 'both', 'head' and 'tail', not {self.keep!r}")


def _are_limits(options: Any, attribute: Any, value: Any) -> None:
    del options
    wanted = [value] if attribute.name == "limit" else list(value.values()) if isinstance(value, Mapping) else [None]
    if not all(isinstance(limit, Limit) for limit in wanted):
        raise PolicyError(attribute.name, f"of class Limit, not {value!r}")


@frozen(kw_only=True)
class Admission:
    """
    How large a tool's output may enter a conversation.

    Attributes:
        limit: for tools that are not named.  Without a number it is what the
            batch may have.
        tools: for single tools, by name.
        report_tools: the tools whose output is the report of a sub-agent.
        report_tokens: how long such a report may be.
        batch_tokens: how much the outputs of one batch may have together; half of what lies between trigger and budget if
            not given.

    Raises:
        PolicyError: on construction, for a value that is impossible.
    """

    limit: Limit = field(default=Limit(), validator=_are_limits)
    tools: Mapping[str, Limit] = field(factory=dict, validator=_are_limits)
    report_tools: frozenset[str] = field(default=_REPORTERS, converter=_names, validator=_are_names, repr=_in_order)
    report_tokens: int = field(default=REPORT_TOKENS, validator=_whole(1))
    batch_tokens: int | None = field(default=None, validator=_whole(1))

    def limit_of(self, tool: str) -> Limit:
        """
        The limit of one tool.

        >>> Admission(tools={"read": Limit(limit_lines=200)}).limit_of("read").limit_lines
        200
        >>> Admission().limit_of("Task").limit_tokens
        2000
        """
        known = self.tools.get(tool)
        if known is not None:
            return known
        return Limit(limit_tokens=self.report_tokens) if tool in self.report_tools else self.limit


@frozen(kw_only=True)
class Clearing:
    """
    Which old outputs leave a conversation.

    Attributes:
        trigger_tokens: whole-request size from which it is done; half the budget if not given.
        keep: how many of the newest results always stay.
        clear_at_least_tokens: what it has to save to be worth a lost cache; a twentieth of the budget if not given.
        exclude_tools: tools whose results always stay.
        clear_tool_inputs: whether the arguments of what is cleared are emptied too, in closed turns: of all tools, or of these.

    Raises:
        PolicyError: on construction, for a value that is impossible.
    """

    trigger_tokens: int | None = field(default=None, validator=_whole(0))
    keep: int = field(default=3, validator=_whole(0))
    clear_at_least_tokens: int | None = field(default=None, validator=_whole(0))
    exclude_tools: frozenset[str] = field(default=(), converter=_names, validator=_are_names, repr=_in_order)
    clear_tool_inputs: bool | frozenset[str] = field(default=False, converter=_names, validator=_are_names, repr=_in_order)
