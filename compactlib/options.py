"""
What a caller decides about single rungs of the ladder, as data.

What this is
    `Limit` and `Admission`, how large a tool's output may enter a
    conversation, and `Clearing`, which old outputs leave it.  `Policy` holds
    one of each; the names are those that providers use for their own.  And
    `RUNGS`, the names of the rungs.

Rules it obeys
    * Every value that is accepted has an effect; every other value is a
      `PolicyError` that names the field.

What is not here
    What is done with them (`admission`, `clearing`), and the arithmetic of the
    window (`budget`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Literal, TypeAlias

from attrs import field, frozen

from .arguments import need, need_one_of, need_whole, shown
from .errors import PolicyError

__all__ = ["REPORT_TOKENS", "RUNGS", "Admission", "Clearing", "Limit", "Rung"]

Rung: TypeAlias = Literal["clear", "collapse", "summarise", "snip"]

RUNGS: Final[tuple[Rung, ...]] = ("clear", "collapse", "summarise", "snip")
"""The rungs of the ladder, in their order."""

REPORT_TOKENS: Final = 2_000
"""How long the report of a sub-agent may be unless the caller says otherwise."""

_REPORTERS: Final = ("Agent", "Task", "agent", "delegate", "delegate_task", "dispatch_agent", "subagent", "task")


def _whole(least: int) -> Callable[[Any, Any, Any], None]:
    def check(options: Any, attribute: Any, value: Any) -> None:
        del options
        if value is not None or attribute.default is not None:
            need_whole(attribute.name, value, least=least)

    return check


def _form(options: Any, attribute: Any, value: Any) -> None:
    del options
    need_one_of(attribute.name, value, ("rewrite", "edit"))


def _names(value: Any) -> Any:
    """A set of names; what is none is left to the validator."""
    return frozenset(value) if isinstance(value, list | tuple | set) and _all_text(value) else value


def _all_text(values: Iterable[Any]) -> bool:
    return all(isinstance(value, str) for value in values)


def _in_order(value: Any) -> str:
    """How a set of names is shown: the same in every process (law L16)."""
    return repr(sorted(value)) if isinstance(value, frozenset) else repr(value)


def _are_names(options: Any, attribute: Any, value: Any) -> None:
    del options
    if value.__class__ is bool and attribute.name == "clear_tool_inputs":
        return
    if not (isinstance(value, frozenset) and _all_text(value)):
        raise PolicyError(attribute.name, f"names of tools, not {shown(value)}")


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
        need_one_of("keep", self.keep, ("both", "head", "tail"))


def _is_limit(options: Any, attribute: Any, value: Any) -> None:
    del options
    need(attribute.name, value, Limit, "a Limit")


def _are_limits(options: Any, attribute: Any, value: Any) -> None:
    del options
    need(attribute.name, value, Mapping, "a Limit for each name of a tool")
    if not _all_text(value) or not all(isinstance(limit, Limit) for limit in value.values()):
        raise PolicyError(attribute.name, "a Limit for each name of a tool, and one is none")


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

    limit: Limit = field(default=Limit(), validator=_is_limit)
    tools: Mapping[str, Limit] = field(factory=dict, validator=_are_limits, hash=False)
    report_tools: frozenset[str] = field(default=_REPORTERS, converter=_names, validator=_are_names, repr=_in_order)
    report_tokens: int = field(default=REPORT_TOKENS, validator=_whole(1))
    batch_tokens: int | None = field(default=None, validator=_whole(1))

    def limit_of(self, tool: str) -> Limit:
        """
        The limit of one tool.

        Raises:
            PolicyError: *tool* is no text.

        >>> Admission(tools={"read": Limit(limit_lines=200)}).limit_of("read").limit_lines
        200
        >>> Admission().limit_of("Task").limit_tokens
        2000
        """
        need("tool", tool, str, "the name of a tool")
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
        thinking_keep_turns: how many of the newest turns that hold reasoning keep it; of older ones it goes, as whole blocks
            and where the provider allows it (law L5).  All keep it if not given.
        form: ``rewrite`` puts stubs into the messages; ``edit`` leaves them as they are and asks the provider to hide the
            same, where the provider can: the outcome has the ``edits``, and no message changes.

    Raises:
        PolicyError: on construction, for a value that is impossible.
    """

    trigger_tokens: int | None = field(default=None, validator=_whole(0))
    keep: int = field(default=3, validator=_whole(0))
    clear_at_least_tokens: int | None = field(default=None, validator=_whole(0))
    exclude_tools: frozenset[str] = field(default=(), converter=_names, validator=_are_names, repr=_in_order)
    clear_tool_inputs: bool | frozenset[str] = field(default=False, converter=_names, validator=_are_names, repr=_in_order)
    thinking_keep_turns: int | None = field(default=None, validator=_whole(1))
    form: Literal["rewrite", "edit"] = field(default="rewrite", validator=_form)
