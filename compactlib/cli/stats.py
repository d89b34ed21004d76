"""
``compactlib stats``: what the tokens of a request go to, and what is wrong with that.
"""

from __future__ import annotations

from typing import Final

import click
from attrs import asdict

from ..budget import Policy, sizes
from ..planning import overhead_tokens
from ..tokens import Memo
from ..visible import effective
from .options import counter_of, family_option, file_argument, format_option, input_option, window_options
from .printing import Page, Piece, count, number, per_cent, print_json
from .reading import read_source, report_problems
from .shares import KINDS, segments, shares
from .usage import LARGE_TOKENS, LargeResult, ToolUse, advice, large_results, tool_uses

__all__ = ["stats"]

_MOST_LISTED: Final = 10


@click.command()
@file_argument
@window_options(required=False)
@input_option
@family_option
@format_option
def stats(
    file: str, window: int | None, reserve: int | None, input_format: str | None, family: str | None, output_format: str
) -> int:
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
    counter = counter_of(family)
    whole = conversation
    conversation = effective(whole, counter=counter)  # what the provider hides by itself is not paid for
    memo = Memo(counter)
    hidden = 0 if conversation is whole else memo.request(whole) - memo.request(conversation)
    found = shares(conversation, counter)
    total = sum(found.values())
    policy = None if window is None else Policy(window_tokens=window, reserve_tokens=reserve)
    known = None if policy is None else sizes(policy, overhead_tokens=overhead_tokens(conversation, Memo(counter)))
    rows = dict(found)
    over = 0
    if known is not None:
        rows |= {"output reserve": known.reserve, "free": max(known.budget - total, 0)}
        over = max(total - known.budget, 0)
    tools = tool_uses(conversation, counter)
    large = large_results(conversation, counter)
    warnings = advice(conversation, tools, total, known)
    if output_format == "json":
        print_json(
            {
                "window_tokens": window,
                "budget_tokens": None if known is None else known.budget,
                "total_tokens": total,
                "hidden_tokens": hidden,
                "over_tokens": None if known is None else over,
                "shares": rows,
                "tools": [asdict(tool) for tool in tools],
                "never_called": [tool.name for tool in tools if not tool.calls],
                "large_results": [asdict(result) for result in large],
                "warnings": [asdict(one) for one in warnings],
            }
        )
        return 0
    page = Page()
    what = f"{source.transcript.format}, {count(conversation.length, 'message')}"
    page.line((source.name, "bold"), f"  {what}, {number(total)} tokens")
    if hidden:
        page.line(f"  and {number(hidden)} tokens more are sent, which the provider hides by its own edits")
    page.line()
    _show_shares(page, rows, total, window, over)
    _show_tools(page, tools)
    _show_large(page, large)
    for one in warnings:
        page.line(("warning", "yellow"), f" {one.text}")
    return 0


def _show_shares(page: Page, rows: dict[str, int], total: int, window: int | None, over: int) -> None:
    """Shares of the request, or of the window; what is above the window is taken off, so that the column adds up to it."""
    whole = total if window is None else window
    if page.is_terminal:
        page.line("  ", page.bar(segments(rows), of=whole + over, columns=page.width - 4))
        page.line()
    table: list[list[Piece]] = [
        [page.entry(name, KINDS.get(name, "bright_black")), number(tokens), per_cent(tokens, whole)]
        for name, tokens in rows.items()
    ]
    if over:
        table.append([("over by", "bold red"), (number(-over), "bold red"), per_cent(-over, whole)])
    if window is not None:
        table.append([("window", "bold"), (number(window), "bold"), per_cent(window, window)])
    page.table(table, right=(1, 2))
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
        names = ", ".join(f"{tool.name} ({number(tool.tokens)})" for tool in idle)
        page.line(f"  never called, {number(sum(tool.tokens for tool in idle))} tokens a request: {names}")
        page.line()


def _show_large(page: Page, large: list[LargeResult]) -> None:
    if not large:
        return
    heads = ("message", "result of", "tokens", "later requests", "tokens carried")
    rows: list[list[Piece]] = [[(head, "dim") for head in heads]]
    for result in large[:_MOST_LISTED]:
        figures = (number(result.tokens), number(result.later_requests), number(result.carried_tokens))
        rows.append([str(result.index), result.tool or "an unknown call", *figures])
    page.table(rows, right=(0, 2, 3, 4))
    if len(large) > _MOST_LISTED:
        page.line(f"  and {len(large) - _MOST_LISTED} more results of {number(LARGE_TOKENS)} tokens or more")
    page.line()
