"""
compactlib: context compaction for tool-using LLM agents.

The names below are the public interface, with the types that its functions
take and give; everything else in the core is private.  Modules are loaded when
a name of theirs is first used, so importing the package costs little.  A
vendored copy has those that live in the core: all but `load`.

What it is not: an agent framework, a model client, a vector memory, a proxy.
It never calls a model, a clock or the network by itself.
"""

from __future__ import annotations

import importlib
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what a type checker sees of the names below
    from .admission import Admitted, admit
    from .budget import Policy, Sizes, due, sizes
    from .converting import Converted, Loss, convert
    from .credentials import known_secrets
    from .cuts import Cuts, legal_cuts
    from .dialects import parse, render
    from .digesting import Digested, adigest, digest
    from .driving import AsyncReviewHook, AsyncSummarise, ReviewHook, Summarise, acompact, compact
    from .errors import (
        CompactlibError,
        LogError,
        MediaRefusedError,
        OverloadedError,
        PolicyError,
        PromptTooLongError,
        StoreError,
        SummariserError,
        WireError,
    )
    from .log import Log, Logged
    from .markers import Issued
    from .masking import Redactor
    from .model import Conversation, Message, Origin
    from .options import Admission, Clearing, Limit, Rung
    from .outcomes import AskReview, AskSummary, Compacted, Outcome, Refused, SummaryFailed, Unchanged, Vetoed
    from .preview import Preview, plan
    from .protocol.reader import Mode
    from .protocol.repair import Repaired, repair
    from .protocol.validator import Violation, check
    from .recalling import TOOLS, Page, Stashed, recall, reference, stash
    from .redacting import Redacted, RedactedMessage, redact, redact_message
    from .reminders import reminder
    from .standing import ProposedPin, propose_pins
    from .store import DirectoryStore, MemoryStore, Store, fetch
    from .summaries.acceptance import Summary
    from .summaries.rendering import SummaryRequest
    from .tasks import Pin, Reminder, When
    from .tokens import Anchor, Counter, Usage, counter_for, estimate, read_usage
    from .transcripts import load  # type: ignore[import-not-found,unused-ignore]  # a vendored copy has no such module
    from .truncation import Truncated, truncate
    from .turns import Turn, turns
    from .visible import effective

__version__ = "0.1.0"

_HOMES = {
    "Admission": "options",
    "Admitted": "admission",
    "Anchor": "tokens",
    "AskReview": "outcomes",
    "AskSummary": "outcomes",
    "AsyncReviewHook": "driving",
    "AsyncSummarise": "driving",
    "Clearing": "options",
    "Compacted": "outcomes",
    "CompactlibError": "errors",
    "Conversation": "model",
    "Converted": "converting",
    "Counter": "tokens",
    "Cuts": "cuts",
    "Digested": "digesting",
    "DirectoryStore": "store",
    "Issued": "markers",
    "Limit": "options",
    "Log": "log",
    "LogError": "errors",
    "Logged": "log",
    "Loss": "converting",
    "MediaRefusedError": "errors",
    "MemoryStore": "store",
    "Message": "model",
    "Mode": "protocol.reader",
    "Origin": "model",
    "Outcome": "outcomes",
    "OverloadedError": "errors",
    "Page": "recalling",
    "Pin": "tasks",
    "Policy": "budget",
    "PolicyError": "errors",
    "Preview": "preview",
    "PromptTooLongError": "errors",
    "ProposedPin": "standing",
    "Redacted": "redacting",
    "RedactedMessage": "redacting",
    "Redactor": "masking",
    "Refused": "outcomes",
    "Reminder": "tasks",
    "Repaired": "protocol.repair",
    "ReviewHook": "driving",
    "Rung": "options",
    "Sizes": "budget",
    "Stashed": "recalling",
    "Store": "store",
    "StoreError": "errors",
    "Summarise": "driving",
    "SummariserError": "errors",
    "Summary": "summaries.acceptance",
    "SummaryFailed": "outcomes",
    "SummaryRequest": "summaries.rendering",
    "TOOLS": "recalling",
    "Truncated": "truncation",
    "Turn": "turns",
    "Unchanged": "outcomes",
    "Usage": "tokens",
    "Vetoed": "outcomes",
    "Violation": "protocol.validator",
    "When": "tasks",
    "WireError": "errors",
    "acompact": "driving",
    "adigest": "digesting",
    "admit": "admission",
    "check": "protocol.validator",
    "compact": "driving",
    "convert": "converting",
    "counter_for": "tokens",
    "digest": "digesting",
    "due": "budget",
    "effective": "visible",
    "estimate": "tokens",
    "fetch": "store",
    "known_secrets": "credentials",
    "legal_cuts": "cuts",
    "load": "transcripts",
    "parse": "dialects",
    "plan": "preview",
    "propose_pins": "standing",
    "read_usage": "tokens",
    "recall": "recalling",
    "redact": "redacting",
    "redact_message": "redacting",
    "reference": "recalling",
    "reminder": "reminders",
    "render": "dialects",
    "repair": "protocol.repair",
    "sizes": "budget",
    "stash": "recalling",
    "truncate": "truncation",
    "turns": "turns",
}
"""Each public name and the module it lives in."""

__all__ = [
    "Admission",
    "Admitted",
    "Anchor",
    "AskReview",
    "AskSummary",
    "AsyncReviewHook",
    "AsyncSummarise",
    "Clearing",
    "Compacted",
    "CompactlibError",
    "Conversation",
    "Converted",
    "Counter",
    "Cuts",
    "Digested",
    "DirectoryStore",
    "Issued",
    "Limit",
    "Log",
    "LogError",
    "Logged",
    "Loss",
    "MediaRefusedError",
    "MemoryStore",
    "Message",
    "Mode",
    "Origin",
    "Outcome",
    "OverloadedError",
    "Page",
    "Pin",
    "Policy",
    "PolicyError",
    "Preview",
    "PromptTooLongError",
    "ProposedPin",
    "Redacted",
    "RedactedMessage",
    "Redactor",
    "Refused",
    "Reminder",
    "Repaired",
    "ReviewHook",
    "Rung",
    "Sizes",
    "Stashed",
    "Store",
    "StoreError",
    "Summarise",
    "SummariserError",
    "Summary",
    "SummaryFailed",
    "SummaryRequest",
    "TOOLS",
    "Truncated",
    "Turn",
    "Unchanged",
    "Usage",
    "Vetoed",
    "Violation",
    "When",
    "WireError",
    "acompact",
    "adigest",
    "admit",
    "check",
    "compact",
    "convert",
    "counter_for",
    "digest",
    "due",
    "effective",
    "estimate",
    "fetch",
    "known_secrets",
    "legal_cuts",
    "load",
    "parse",
    "plan",
    "propose_pins",
    "read_usage",
    "recall",
    "redact",
    "redact_message",
    "reference",
    "reminder",
    "render",
    "repair",
    "sizes",
    "stash",
    "truncate",
    "turns",
]

if PathFinder.find_spec(f"{__name__}.transcripts", __path__) is None:  # a vendored copy, of which `import *` takes all
    globals()["__all__"] = [name for name in __all__ if name != "load"]  # type checkers see the names of the whole


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


if not TYPE_CHECKING:  # a type checker would take any name for one of ours

    def __getattr__(name: str) -> Any:
        home = _HOMES.get(name)
        if home is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        try:
            module = importlib.import_module(f".{home}", __name__)
        except ModuleNotFoundError as error:
            if error.name != f"{__name__}.{home}":
                raise
            raise AttributeError(f"{name} lives in a wing, and this copy of the library has none") from error
        value = module if home == name else getattr(module, name)  # the module `turns` can be called
        globals()[name] = value
        return value
