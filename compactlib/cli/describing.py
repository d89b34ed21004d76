"""
Messages in words, one line each or whole, and the rungs of a compaction.

What this is
    `glance` says in a few words what a message holds, `spelled_out` says all
    of it.  `tried` says what the rungs came to, `bound_to` what a request has
    to say because its messages were changed.

Rules it obeys
    * Both only choose words; escaping is done where they are printed.
    * Seals and the bytes of media are never shown, only that they are there.

What is not here
    What a summariser is shown: `compactlib.summaries.rendering`.
"""

from __future__ import annotations

import json
from typing import assert_never

from ..dialects.reading import dumps
from ..model import Block, Call, Json, Media, Message, Opaque, Reasoning, Result, Text
from ..outcomes import Outcome
from ..protocol.repair import Repaired
from ..redacting import Redacted
from .printing import number, shortened

__all__ = ["asked_of_it", "bound_to", "glance", "spelled_out", "tried"]

_GLANCE_CHARS = 60
_ROLES = {"model": "model", "user": "user", "tool": "tool", "system": "system", "developer": "developer", "other": "other"}


def glance(message: Message) -> str:
    """What a message holds, in one line."""
    pieces = [_briefly(block) for block in message.blocks[:3]]
    more = len(message.blocks) - len(pieces)
    return f"{_ROLES[message.role]}: {'; '.join(pieces) or 'nothing'}{f'; and {more} more' if more else ''}"


def _briefly(block: Block) -> str:
    match block:
        case Text():
            return shortened(block.text, _GLANCE_CHARS)
        case Call():
            return f"{block.name}({shortened(_arguments(block.arguments), _GLANCE_CHARS // 2)})"
        case Result():
            return f"{'error' if block.is_error else 'result'}: {shortened(block.text, _GLANCE_CHARS) or _kinds(block)}"
        case Reasoning():
            return "reasoning"
        case Media():
            return f"[{block.kind}]"
        case Opaque():
            return f"[{block.kind}]"
        case _:
            assert_never(block)


def spelled_out(block: Block) -> str:
    """A block, whole."""
    match block:
        case Text():
            return block.text
        case Call():
            return f"call {block.name} {_arguments(block.arguments)}"
        case Result():
            mark = "error" if block.is_error else "result"
            return f"{mark} of {block.call_id}\n" + "\n".join(map(spelled_out, block.blocks))
        case Reasoning():
            return f"reasoning\n{block.text}" if block.text else "sealed reasoning"
        case Media():
            return f"[{block.kind} {block.mime}]"
        case Opaque():
            return f"[{block.kind}]"
        case _:
            assert_never(block)


def tried(outcome: Outcome) -> list[str]:
    """What each rung came to, a line each; nothing where only one of them ran."""
    rungs: Json = outcome.report["rungs"]
    return [
        f"{one['rung']}{', by asking the provider' if one['form'] == 'edit' else ''}: {one['reason']}"
        + (f", {number(one['after_tokens'])} tokens" if one["outcome"] == "compacted" else "")
        for one in (rungs if len(rungs) > 1 else ())
    ]


def bound_to(made: Repaired | Redacted) -> str:
    """What a request has to say because of what was changed before its reasoning, in words."""
    return (
        "the model refuses reasoning behind what was changed, unless the request says "
        f"thinking = {dumps(dict(made.thinking or {}))} and has the beta {','.join(made.betas)} (A-THINK-07)"
    )


def asked_of_it(made: Repaired | Redacted) -> dict[str, Json]:
    """The same for programs."""
    return {"thinking": None if made.thinking is None else dict(made.thinking), "betas": list(made.betas)}


def _arguments(arguments: Json) -> str:
    """Arguments as one string; most calls have one argument that tells everything, so names of a lone one are left out."""
    if isinstance(arguments, str):
        return arguments
    if isinstance(arguments, dict) and len(arguments) == 1:
        (only,) = arguments.values()
        if isinstance(only, str):
            return only
    return json.dumps(arguments, ensure_ascii=False)


def _kinds(result: Result) -> str:
    kinds = sorted({_briefly(block) for block in result.blocks if not isinstance(block, Text | Result)})
    return " ".join(kinds) or "empty"
