"""
``compactlib cuts``: where a conversation may be cut, and what would be kept.
"""

from __future__ import annotations

import click

from ..cuts import legal_cuts
from ..tokens import Memo
from .describing import glance
from .options import counter_of, family_option, file_argument, format_option, input_option
from .printing import Page, Piece, count, number, print_json
from .reading import read_source, report_problems

__all__ = ["cuts"]


@click.command()
@file_argument
@input_option
@family_option
@format_option
def cuts(file: str, input_format: str | None, family: str | None, output_format: str) -> int:
    """
    List the legal cuts of FILE.

    A turn cut falls on a prompt, a step cut between two steps of a turn, whose
    prompt is then kept. Exit status 1 says that there is none.
    """
    source = read_source(file, input_format)
    report_problems(source)
    conversation = source.transcript.conversation
    found = legal_cuts(conversation)
    if output_format == "json":
        print_json({"turn": list(found.turn), "step": list(found.step)})
        return 0 if found.turn or found.step else 1
    page = Page()
    memo = Memo(counter_of(family))
    left = sum(map(memo.message, conversation.messages))
    page.line((source.name, "bold"), f"  {count(conversation.length, 'message')}, {number(left)} tokens")
    page.line()
    kinds = dict.fromkeys(found.step, "step") | dict.fromkeys(found.turn, "turn")
    rows: list[list[Piece]] = [[("cut at", "dim"), ("kind", "dim"), ("tail tokens", "dim"), ("the tail begins with", "dim")]]
    for position, message in enumerate(conversation.messages):
        index = conversation.wire_index(position)
        kind = kinds.pop(index, None)
        if kind is not None:
            rows.append([str(index), (kind, "bold" if kind == "turn" else ""), number(left), glance(message)])
        left -= memo.message(message)
    if len(rows) == 1:
        page.line("  There is no legal cut: one step, or none, and no second prompt.")
        return 1
    page.table(rows, right=(0, 2))
    return 0
