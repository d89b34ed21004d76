"""
compactlib: context compaction for tool-using LLM agents.

The names below are the public interface; everything else is private.  Modules
are loaded when a name of theirs is first used, so importing the package costs
little.

What it is not: an agent framework, a model client, a vector memory, a proxy.
It never calls a model, a clock or the network by itself.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "parse": "dialects",
    "render": "dialects",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{home}", __name__), name)
    globals()[name] = value
    return value
