"""
compactlib: context compaction for tool-using LLM agents.

The names below are the public interface; everything else is private.  Modules
are loaded when a name of theirs is first used, so importing the package costs
little.  A vendored copy has those that live in the core: all but `load`.

What it is not: an agent framework, a model client, a vector memory, a proxy.
It never calls a model, a clock or the network by itself.
"""

from __future__ import annotations

import importlib
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what a type checker sees of the names below
    from .admission import Admitted, admit
    from .budget import Policy, due, sizes
    from .converting import Converted, Loss, convert
    from .credentials import known_secrets
    from .cuts import legal_cuts
    from .dialects import parse, render
    from .digesting import Digested, adigest, digest
    from .driving import acompact, compact
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
    from .model import Conversation, Message, Origin
    from .options import Admission, Clearing, Limit
    from .outcomes import AskReview, AskSummary, Compacted, Outcome, Refused, SummaryFailed, Unchanged, Vetoed
    from .preview import Preview, plan
    from .protocol.repair import Repaired, repair
    from .protocol.validator import Violation, check
    from .recalling import recall, reference, stash
    from .redacting import Redacted, RedactedMessage, redact, redact_message
    from .reminders import reminder
    from .standing import ProposedPin, propose_pins
    from .store import DirectoryStore, MemoryStore, fetch
    from .summaries.acceptance import Summary
    from .summaries.rendering import SummaryRequest
    from .tokens import Anchor, counter_for, estimate, read_usage
    from .transcripts import load
    from .truncation import Truncated, truncate
    from .turns import turns
    from .visible import effective

__version__ = "0.1.0"

_HOMES = {
    "Admission": "options",
    "Admitted": "admission",
    "Anchor": "tokens",
    "AskReview": "outcomes",
    "AskSummary": "outcomes",
    "Clearing": "options",
    "Compacted": "outcomes",
    "CompactlibError": "errors",
    "Conversation": "model",
    "Converted": "converting",
    "Digested": "digesting",
    "DirectoryStore": "store",
    "Limit": "options",
    "Log": "log",
    "LogError": "errors",
    "Logged": "log",
    "Loss": "converting",
    "MediaRefusedError": "errors",
    "MemoryStore": "store",
    "Message": "model",
    "Origin": "model",
    "Outcome": "outcomes",
    "OverloadedError": "errors",
    "Policy": "budget",
    "PolicyError": "errors",
    "Preview": "preview",
    "PromptTooLongError": "errors",
    "ProposedPin": "standing",
    "Redacted": "redacting",
    "RedactedMessage": "redacting",
    "Refused": "outcomes",
    "Repaired": "protocol.repair",
    "StoreError": "errors",
    "SummariserError": "errors",
    "Summary": "summaries.acceptance",
    "SummaryFailed": "outcomes",
    "SummaryRequest": "summaries.rendering",
    "Truncated": "truncation",
    "Unchanged": "outcomes",
    "Vetoed": "outcomes",
    "Violation": "protocol.validator",
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
    "Clearing",
    "Compacted",
    "CompactlibError",
    "Conversation",
    "Converted",
    "Digested",
    "DirectoryStore",
    "Limit",
    "Log",
    "LogError",
    "Logged",
    "Loss",
    "MediaRefusedError",
    "MemoryStore",
    "Message",
    "Origin",
    "Outcome",
    "OverloadedError",
    "Policy",
    "PolicyError",
    "Preview",
    "PromptTooLongError",
    "ProposedPin",
    "Redacted",
    "RedactedMessage",
    "Refused",
    "Repaired",
    "StoreError",
    "SummariserError",
    "Summary",
    "SummaryFailed",
    "SummaryRequest",
    "Truncated",
    "Unchanged",
    "Vetoed",
    "Violation",
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
