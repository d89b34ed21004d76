"""What a request for sampling in the Model Context Protocol has to be: the rules ``S-``."""

from __future__ import annotations

from typing import Final

from ..rule import Rule

__all__ = ["TABLE"]

# fmt: off
TABLE: Final[tuple[Rule, ...]] = (
    Rule("S-ONLY-01", "C6", "L2", "error", "D", "move-words",
        "A tool_result stands in a user message in which there are only tool_result blocks.",
        "Tool results mixed with other content",
        "MCP specification 2025-11-25, 'Sampling', Tool Result Messages and Error Handling",
        status=0),
    Rule("S-BAL-01", "C1", "L2", "error", "D", "synthesize-result",
        "The calls of an assistant message, and no others, are answered by the tool_result blocks of the user message behind it.",
        "Tool result missing in request",
        "MCP specification 2025-11-25, 'Sampling', Tool Use and Result Balance; its schema, ToolResultContent.toolUseId",
        (("same-id", "warning", "the schema calls an id unique, and the checks that were read compare sets of ids"),),
        status=0),
    Rule("S-TYPE-01", "C13", "L7", "error", "D", None,
        "Messages and results hold the roles, blocks and fields of the schema, and nothing else.",
        "",
        "MCP schema 2025-11-25, SamplingMessage, SamplingMessageContentBlock, CallToolResult, ContentBlock",
        (("string", "warning", "a string where blocks belong is taken by clients that pass it on to a model"),),
        status=0),
)
# fmt: on
