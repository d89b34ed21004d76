"""
Tools that the provider runs: pairs inside the model's own turn.

Rules A-SRV-01 to A-SRV-03, A-MCP-01 and A-ID-03.  ``server_tool_use`` and
``mcp_tool_use`` are answered in the same assistant turn.  Without an answer
they are legal in two places: beside a client call (in flight: the result comes
with the next answer) and at the very end (the answer was paused).
"""

from __future__ import annotations

import re
from typing import Final

from ..model import Call, Result
from .reader import Reader
from .violation import Violation, quote

__all__ = ["ServerTools"]

_ID: Final = re.compile(r"srvtoolu_[a-zA-Z0-9_]+")


class ServerTools:
    """
    The server calls that a reader meets.

    Attributes:
        waiting: calls of this turn without a result yet: id -> (message, position, call).
    """

    __slots__ = ("_advisor_missing", "_flying", "_reader", "waiting")

    def __init__(self, reader: Reader) -> None:
        self._reader: Final = reader
        self.waiting: dict[str, tuple[int, int, Call]] = {}
        self._flying: set[str] = set()
        tools = [tool.value for tool in reader.around.conversation.tools if isinstance(tool.value, dict)]
        declared = any(str(tool.get("type", "")).startswith("advisor") for tool in tools)
        self._advisor_missing: Final = reader.around.tools is not None and not declared

    def call(self, block: Call, place: int) -> None:
        """A server call at *place* of the message being read."""
        key = block.id
        path = f"/content/{place}"
        self.waiting[key] = self._reader.index, place, block
        if block.wire.tag != "server_tool_use":
            return
        if not _ID.fullmatch(key):
            words = f"the id {quote(key)} is no server tool's"
            self._reader.report("A-ID-03", path + "/id", words, "srvtoolu_ and letters or digits", ids=(key,))
        if block.name == "advisor" and self._advisor_missing:
            self._reader.report(
                "A-SRV-03", path, "a call of the advisor, which is not declared", "the advisor among the tools", ids=(key,)
            )

    def result(self, block: Result, place: int) -> None:
        """A server tool's result at *place* of the message being read."""
        key = block.call_id
        if self.waiting.pop(key, None) is None and key not in self._flying:
            rule = "A-MCP-01" if block.wire.tag == "mcp_tool_result" else "A-SRV-02"
            words = f"the {quote(block.wire.tag)} for {quote(key)} has no call before it"
            self._reader.report(rule, f"/content/{place}", words, "its call before it in the same message", ids=(key,))
        self._flying.discard(key)

    def settle(self, *, in_flight: bool) -> None:
        """The model's turn is over."""
        if in_flight:
            self._flying.update(self.waiting)
        else:
            self._reader.found += [self._unanswered(*entry) for entry in self.waiting.values()]
        self.waiting.clear()

    def _unanswered(self, index: int, place: int, block: Call) -> Violation:
        rule = "A-MCP-01" if block.wire.tag == "mcp_tool_use" else "A-SRV-01"
        words = f"the {block.wire.tag} {quote(block.id)} has no result in its message"
        expected = "its result behind it in the same assistant message"
        return self._reader.violation(rule, index, f"/content/{place}", words, expected, ids=(block.id,))
