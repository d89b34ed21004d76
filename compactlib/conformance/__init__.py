"""
The conformance suite: how anybody's validator or compactor is tested by the rules of ``spec/``.

This is a wing: it may import the core, and the core never imports it.  So far
it holds `spec`, the reader of the specification; nothing is loaded before it
is asked for by name.
"""

from __future__ import annotations

__all__: list[str] = []
