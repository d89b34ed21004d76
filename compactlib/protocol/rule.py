"""
One rule of the message protocol, as data.

What this is
    `Rule`: what must hold, how bad it is, what the provider says when it does
    not, where that was seen, and whether a repair is safe; and the closed
    vocabularies of its fields.

What is not here
    The rules themselves (`rulebooks`), and looking one up (`rules`).
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from attrs import frozen

__all__ = ["DIALECTS", "FIXES", "Level", "Rule"]

Level: TypeAlias = Literal["error", "warning", "info"]
"""How bad it is to break a rule."""

FIXES: Final = (
    "add-tool-declaration",
    "append-user",
    "dedup-result",
    "drop-empty",
    "drop-orphan",
    "hoist-results",
    "insert-bridge",
    "merge-same-role",
    "move-image",
    "move-words",
    "placeholder-text",
    "rename-id",
    "restore-seal",
    "sentinel-seal",
    "strip-id",
    "strip-seal",
    "synthesize-result",
    "wrap-arguments",
)
"""The closed set of safe repairs.  None of them edits a sealed model message of the current turn, but to restore it."""

DIALECTS: Final = {
    "A": "anthropic",
    "B": "bedrock",
    "D": "openai-chat",
    "G": "gemini",
    "K": "openai-chat",
    "L": "openai-chat",
    "M": "mistral",
    "O": "openai-chat",
    "Q": "openai-chat",
    "R": "openai-responses",
    "S": "mcp-sampling",
    "T": "atif",
    "V": "openai-chat",
    "W": "openai-chat",
    "X": "openai-chat",
}
"""Whose rule it is by the letter that its id begins with; some imitators of OpenAI Chat have letters of their own."""


@frozen
class Rule:
    """
    One rule of a provider.

    Attributes:
        id: permanent, such as ``A-PAIR-01``.
        core: the common rule it is an instance of, ``C1`` to ``C16``.
        law: the law of this library that it serves.
        level: how bad it is where no variant applies.
        evidence: how well it is known, see the module's rules.
        fix: the safe repair, one of `FIXES`, or ``None``.
        statement: what must hold, in one sentence.
        error: the provider's words, one text a line, ``{n}`` and its like
            standing for what varies; ``""`` where none was read.
        source: where it was seen.
        status: the HTTP status of the refusal; 0 where it is none of HTTP's.
        variants: (case, level, why) for each route or shape that differs.
    """

    id: str
    core: str
    law: str
    level: Level
    evidence: Literal["V", "D", "C", "K"]
    fix: str | None
    statement: str
    error: str
    source: str
    variants: tuple[tuple[str, Level, str], ...] = ()
    status: int = 400

    def level_in(self, case: str | None = None) -> Level:
        """
        The level in *case*; the rule's own where it has no such variant.

        >>> rule = Rule("A-X-01", "C5", "L2", "error", "K", None, "It holds.", "", "nobody", (("adjacent", "warning", "seen"),))
        >>> rule.level_in(), rule.level_in("adjacent")
        ('error', 'warning')
        """
        for name, level, _why in self.variants:
            if name == case:
                return level
        return self.level

    @property
    def dialect(self) -> str:
        """The dialect it belongs to."""
        return DIALECTS[self.id[0]]
