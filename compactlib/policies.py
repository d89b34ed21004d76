"""
Policies by name: what known agents do, as data.

What this is
    The sources of this library disagree: on what the trigger is a share of, on
    whether old turns are summarised or dropped, on how many turns or messages
    are kept, on the sections of a summary.  `POLICIES` has one row for each
    answer that is common enough to have users, and `policy_fields` gives the
    fields of a row; `Policy.named` makes the policy.

Rules it obeys
    * A row is fields of `Policy` and nothing else: whatever a name can do, its
      fields can do, and every law holds under every name.
    * No row holds a number of tokens, because a size that is right for one
      window is wrong for another.  Sources that name one are followed in its
      share of the window that they had.
    * No row takes back what a source does wrong: none has a tail of nothing,
      an unlimited summary, or a summary that may be empty.

What is not here
    What the fields mean (`budget`, `options`).
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from attrs import frozen

from .arguments import need
from .errors import PolicyError
from .options import Clearing

__all__ = ["POLICIES", "NamedPolicy", "describe", "policy_fields"]


@frozen(kw_only=True)
class NamedPolicy:
    """
    One row.

    Attributes:
        name: by which it is asked for.
        fields: what differs from the defaults of `Policy`.
        why: when to take it, in one sentence.
        practice: whose practice it stands for.
    """

    name: str
    fields: Mapping[str, Any]
    why: str
    practice: str


_ROWS: Final = (
    NamedPolicy(
        name="structured",
        fields={"schema": "structured", "trigger_of": "budget", "trigger_percent": 100},
        why="The conversation stays whole as long as the reserve allows, and is then handed over under fixed headings.",
        practice="Pi, OpenCode and Cline: all but a reserve is used; goal, constraints, progress, decisions, next steps",
    ),
    NamedPolicy(
        name="anchored",
        fields={"schema": "anchored", "trigger_of": "window", "trigger_percent": 80, "tail_turns": 2},
        why="For work in which names, paths and decisions must outlive many compactions: one record is kept up to date "
        "beside the last two turns.",
        practice="Goose (80 % of the window), OpenCode and ADK (the last two turns), Gemini CLI (a state brought up to date)",
    ),
    NamedPolicy(
        name="ladder",
        fields={"schema": "full", "digest_every_turns": 1, "on_overflow": "snip"},
        why="For sessions of many hours: the cheapest and most reversible measure first, and a way out when nothing else helps.",
        practice="Hermes, Qwen Code and Gemini CLI: several tiers, old outputs before old turns",
    ),
    NamedPolicy(
        name="trim",
        fields={"rungs": ("snip",), "tail_messages": 40},
        why="Where no model may be asked and what is old does not matter: the oldest turns go, and a marker says so.",
        practice="sliding windows of LangChain, Strands (40 messages) and Semantic Kernel; the fallback of Roo Code",
    ),
    NamedPolicy(
        name="summarise-old",
        fields={"schema": "brief", "rungs": ("summarise",), "trigger_of": "window", "trigger_percent": 85, "tail_messages": 20},
        why="For chats with few tools: a short summary of what is old, and the newest twenty messages as they are.",
        practice="LangChain's summarising middleware (20 messages), Kimi CLI and Qwen Code (85 % of the window)",
    ),
    NamedPolicy(
        name="server",
        fields={"trigger_of": "window", "trigger_percent": 75, "clearing": Clearing(form="edit", clear_at_least_tokens=0)},
        why="What a provider can do is left to it: it is asked to hide results, early and by age, and where it has no such "
        "edits they are cleared here; the summary comes at three quarters of the window.",
        practice="Anthropic's context edits: all results but 3 go from 100,000, and history is summarised from 150,000, "
        "of a window of 200,000",
    ),
)

POLICIES: Final[Mapping[str, NamedPolicy]] = MappingProxyType({row.name: row for row in _ROWS})
"""Every named policy."""

_TRIGGERS: Final = ("trigger_tokens", "trigger_percent", "trigger_of")


def policy_fields(name: str, fields: Mapping[str, Any] = MappingProxyType({})) -> dict[str, Any]:
    """
    The fields of `Policy` that *name* stands for, with *fields* before them.

    The fields that say when compaction starts are one decision: whoever gives
    one of them gives all three.

    Raises:
        PolicyError: no policy has that name; those that are near are named.

    >>> policy_fields("anchored", {"schema": "full", "trigger_tokens": 90_000})
    {'schema': 'full', 'tail_turns': 2, 'trigger_tokens': 90000}
    """
    need("policy", name, str, "the name of a policy")
    row = POLICIES.get(name)
    if row is None:
        near = difflib.get_close_matches(name[:40].casefold(), POLICIES, n=3, cutoff=0.7)
        hint = f"did you mean {', '.join(near)}?" if near else f"there are {', '.join(POLICIES)}"
        raise PolicyError("policy", f"none is called {name[:60]!r}", hint=hint)
    own_trigger = any(field in fields for field in _TRIGGERS)
    return {**{field: value for field, value in row.fields.items() if not (own_trigger and field in _TRIGGERS)}, **fields}


def describe() -> str:
    """
    The named policies in Markdown, a row each.

    >>> describe().splitlines()[4][:45]
    '| `ladder` | `schema="full"`, `digest_every_t'
    """
    lines = ["| policy | fields | when to take it | whose practice |", "| --- " * 4 + "|"]
    for row in POLICIES.values():
        fields = ", ".join(f"`{field}={_shown(value)}`" for field, value in row.fields.items())
        lines.append(f"| `{row.name}` | {fields} | {row.why} | {row.practice} |")
    return "\n".join(lines)


def _shown(value: object) -> str:
    """A value as one would write it."""
    if isinstance(value, Clearing):
        plain = Clearing()
        names = ("form", "trigger_tokens", "keep", "clear_at_least_tokens")
        differing = [name for name in names if getattr(value, name) != getattr(plain, name)]
        return f"Clearing({', '.join(f'{name}={_shown(getattr(value, name))}' for name in differing)})"
    return repr(value).replace("'", '"')
