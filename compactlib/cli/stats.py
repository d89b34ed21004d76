"""
``compactlib stats``: what the tokens of a request go to, and what is wrong with that.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

import click
from attrs import asdict, frozen

from ..budget import Policy, sizes
from ..model import Call, Conversation, Result
from ..tokens import Memo
from .likeness import near_duplicates
from .options import file_argument, format_option, input_option, window_options
from .printing import Page, Piece, count, number, per_cent, print_json
from .reading import read_source, report_problems
from .shares import KINDS, result_tokens, segments, shares, tool_tokens

__all__ = ["stats"]

_LARGE_TOKENS: Final = 1_000
"""From which size on a result is called large."""

_MOST_LISTED: Final = 10
_OUTPUT_LIMITS: Final = ("max_tokens", "max_completion_tokens")
_OVERHEAD_PERCENT: Final = 10
"""Above which share of the budget the overhead is warned about."""


@frozen
class ToolUse:
    """A declared tool: its size, which every request pays, and how often it was called."""

    name: str
    tokens: int
    calls: int


@frozen
class LargeResult:
    """
    A result that requests carry along.

    Attributes:
        index: its message.
        tool: the tool that gave it.
        tokens: its size.
        later_requests: how many requests were made with it in them.
        carried_tokens: the product: what it has cost so far.
    """

    index: int
    tool: str
    tokens: int
    later_requests: int
    carried_tokens: int


@frozen
class Advice:
    """Something that is worth changing: a stable code, and a sentence."""

    code: str
    text: str


@click.command()
@file_argument
@window_options(required=False)
@input_option
@format_option
def stats(file: str, window: int | None, reserve: int | None, input_format: str | None, output_format: str) -> int:
    """
    Say what the tokens of FILE go to.

    Lists each kind of content, each tool with the calls made to it, and the
    large results with what carrying them along has cost. With --window also
    what is left.
    """
    source = read_source(file, input_format)
    report_problems(source)
    conversation = source.transcript.conversation
    if reserve is not None and window is None:
        raise click.UsageError("--reserve says little without --window", click.get_current_context())
    memo = Memo()
    found = shares(conversation, memo)
    total = sum(found.values())
    policy = None if window is None else Policy(window_tokens=window, reserve_tokens=reserve)
    known = None if policy is None else sizes(policy, overhead_tokens=memo.overhead(conversation))
    rows = dict(found)
    if known is not None:
        rows |= {"output reserve": known.reserve, "free": max(known.budget - total, 0)}
    tools = _tools(conversation, memo)
    large = _large_results(conversation, memo)
    advice = _advice(conversation, tools, None if known is None else (known.budget, known.reserve, memo.overhead(conversation)))
    if known is not None and total > known.budget:
        advice.insert(0, Advice("over-budget", f"the request is {number(total - known.budget)} tokens above the budget of {number(known.budget)}"))
    if output_format == "json":
        print_json(
            {
                "window_tokens": window,
                "budget_tokens": None if known is None else known.budget,
                "total_tokens": total,
                "shares": rows,
                "tools": [asdict(tool) for tool in tools],
                "never_called": [tool.name for tool in tools if not tool.calls],
                "large_results": [asdict(result) for result in large],
                "warnings": [asdict(one) for one in advice],
            }
        )
        return 0
    page = Page()
    page.line((source.name, "bold"), f"  {source.transcript.format}, {count(conversation.length, 'message')}, {number(total)} tokens")
    page.line()
    _show_shares(page, rows, total if window is None else max(window, total), window)
    _show_tools(page, tools)
    _show_large(page, conversation, large)
    for one in advice:
        page.line(("warning", "yellow"), f" {one.text}")
    return 0


# --- What is found ---------------------------------------------------------------------------------------------------


def _calls(conversation: Conversation) -> Counter[str]:
    return Counter(block.name for message in conversation.messages for block in message.blocks if isinstance(block, Call))


def _tools(conversation: Conversation, memo: Memo) -> list[ToolUse]:
    """The declared tools, the largest first."""
    calls = _calls(conversation)
    sized = zip(conversation.tools, tool_tokens(conversation, memo), strict=True)
    return sorted((ToolUse(tool.name, tokens, calls[tool.name]) for tool, tokens in sized), key=lambda tool: (-tool.tokens, tool.name))


def _large_results(conversation: Conversation, memo: Memo) -> list[LargeResult]:
    """The large results, those that were carried furthest first."""
    left = sum(message.role == "model" for message in conversation.messages)
    names: dict[str, str] = {}
    found = []
    for position, message in enumerate(conversation.messages):
        left -= message.role == "model"
        for block in message.blocks:
            if isinstance(block, Call):
                names[block.id] = block.name
            elif isinstance(block, Result):
                tokens = result_tokens(message, block, memo)
                if tokens >= _LARGE_TOKENS:
                    tool = names.get(block.call_id, "")
                    found.append(LargeResult(conversation.wire_index(position), tool, tokens, left, tokens * left))
    return sorted(found, key=lambda result: (-result.carried_tokens, -result.tokens, result.index))


def _advice(conversation: Conversation, tools: list[ToolUse], known: tuple[int, int, int] | None) -> list[Advice]:
    """What is worth changing; *known* is budget, reserve and overhead."""
    found = []
    if known is not None:
        budget, reserve, overhead = known
        if overhead * 100 > budget * _OVERHEAD_PERCENT:
            share = f"system prompt and tools take {per_cent(overhead, budget)} of the budget of {number(budget)} tokens"
            found.append(Advice("overhead", f"{share}; every request pays for them"))
        asked = max((value for value in map(conversation.setting, _OUTPUT_LIMITS) if type(value) is int), default=0)
        if reserve < asked:
            found.append(Advice("reserve", f"the reserve of {number(reserve)} is below the {number(asked)} tokens that the request allows the answer"))
    sizes_by_name = {tool.name: tool.tokens for tool in tools}
    for pair in near_duplicates(conversation.tools):
        cost = number(min(sizes_by_name[pair.one], sizes_by_name[pair.other]))
        text = f"the tools {pair.one} and {pair.other} share {pair.percent} % of their words; doing without one saves {cost} tokens a request"
        found.append(Advice("near-duplicate-tools", text))
    return found


# --- How it is shown -------------------------------------------------------------------------------------------------


def _show_shares(page: Page, rows: dict[str, int], whole: int, window: int | None) -> None:
    if page.is_terminal:
        page.line("  ", page.bar(segments(rows), of=whole, columns=page.width - 4))
        page.line()
    table: list[list[Piece]] = []
    for name, tokens in rows.items():
        mark: Piece = ("■", KINDS.get(name, "bright_black")) if page.is_terminal else ""
        table.append([mark, name, number(tokens), per_cent(tokens, whole)])
    if window is not None:
        table.append(["", ("window", "bold"), (number(window), "bold"), ""])
    page.table(table, right=(2, 3))
    page.line()


def _show_tools(page: Page, tools: list[ToolUse]) -> None:
    called = [tool for tool in tools if tool.calls]
    idle = [tool for tool in tools if not tool.calls]
    if called:
        rows: list[list[Piece]] = [[("tool", "dim"), ("tokens", "dim"), ("calls", "dim")]]
        rows += [[tool.name, number(tool.tokens), number(tool.calls)] for tool in called]
        page.table(rows, right=(1, 2))
        page.line()
    if idle:
        tokens = number(sum(tool.tokens for tool in idle))
        page.line(f"  never called, {tokens} tokens a request: ", ", ".join(f"{tool.name} ({number(tool.tokens)})" for tool in idle))
        page.line()


def _show_large(page: Page, conversation: Conversation, large: list[LargeResult]) -> None:
    if not large:
        return
    heads = ("message", "result of", "tokens", "later requests", "tokens carried")
    rows: list[list[Piece]] = [[(head, "dim") for head in heads]]
    for result in large[:_MOST_LISTED]:
        figures = (number(result.tokens), number(result.later_requests), number(result.carried_tokens))
        rows.append([str(result.index), result.tool or "an unknown call", *figures])
    page.table(rows, right=(0, 2, 3, 4))
    if len(large) > _MOST_LISTED:
        page.line(f"  and {len(large) - _MOST_LISTED} more results of {number(_LARGE_TOKENS)} tokens or more")
    page.line()
