"""
The conformance suite: how anybody's validator or compactor is tested by the rules of ``spec/``.

This is a wing: it may import the core, and the core never imports it.  It holds
`spec`, the reader of the specification; `checks`, one for each law, over the
`record` of one compaction; `running`, which makes such records; and
`saboteurs`, compactors that break one law each.  Nothing is loaded before it is
asked for by name.
"""

from __future__ import annotations

__all__: list[str] = []
