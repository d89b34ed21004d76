"""
Which format a file is in, told by its structure and never by its name.

What this is
    `sniff` looks at the values of a file until one of them gives the format
    away.

Rules it obeys
    * The first telling value decides.  Lines that say nothing (a title, a
      snapshot, a broken line) are passed over, because real logs begin with
      them.  In a damaged file a message alone decides nothing while a session's
      line follows: it may be the rest of one.
    * A format that is known and not read yet is named in the error: "not
      recognised" would send its owner looking for a fault in the file.

How it works
    Two tables of signatures.  A signature is a predicate over one object.

What is not here
    Reading (one module for each format), and telling dialects apart (`signs`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, TypeAlias

from ..arguments import shown
from ..dialects import WIRES
from ..errors import PolicyError, WireError
from ..model import Json
from .lines import Content
from .signs import body_in, is_message

__all__ = ["FORMATS", "checked_format", "sniff"]

FORMATS: Final = ("claude-code", "pi", *WIRES)
"""What `compactlib.load` reads: two kinds of session, and request bodies, message lists or trajectories in each wire shape."""

_Object: TypeAlias = dict[str, Json]
_Signature: TypeAlias = Callable[[_Object], bool]

_CLAUDE_BOOKKEEPING: Final = frozenset({
    "agent-name", "ai-title", "custom-title", "file-history-snapshot", "last-prompt", "permission-mode", "pr-link",
    "queue-operation",
})  # fmt: skip
_PI_ROLES: Final = frozenset({"user", "assistant", "toolResult", "bashExecution", "custom", "hookMessage"})


def _is_claude_code(value: _Object) -> bool:
    if isinstance(value.get("loglines"), list):
        return True
    kind = value.get("type")
    if not isinstance(kind, str):
        return False
    if "parentUuid" in value or ("uuid" in value and "sessionId" in value):
        return True
    if kind in ("user", "assistant") and isinstance(value.get("message"), dict):
        return "payload" not in value
    return kind in _CLAUDE_BOOKKEEPING or (kind == "summary" and "leafUuid" in value)


def _is_pi(value: _Object) -> bool:
    kind = value.get("type")
    if kind == "session":
        return "payload" not in value and ("version" in value or "cwd" in value)
    message = value.get("message")
    return kind == "message" and isinstance(message, dict) and str(message.get("role")) in _PI_ROLES


_READ: Final[tuple[tuple[str, _Signature], ...]] = (
    ("claude-code", _is_claude_code),
    ("pi", _is_pi),
    ("request", lambda value: body_in(value) is not None),
    ("request", is_message),
)

_KNOWN: Final[tuple[tuple[str, _Signature], ...]] = (
    ("a Codex rollout", lambda v: v.get("type") == "session_meta" or "record_type" in v),
    ("a Codex rollout", lambda v: {"id", "instructions", "git"} <= v.keys()),
    ("a Gemini CLI chat", lambda v: {"sessionId", "projectHash"} <= v.keys()),
    ("a SWE-agent trajectory", lambda v: {"trajectory", "history"} <= v.keys()),
    ("a mini-swe-agent trajectory", lambda v: "trajectory_format" in v),
    ("a Cline session", lambda v: {"version", "agent", "sessionId", "messages"} <= v.keys()),
    ("a tau2-bench run", lambda v: {"simulations", "tasks"} <= v.keys()),
    ("a tau-bench run", lambda v: {"task_id", "traj"} <= v.keys()),
    ("a ShareGPT row", lambda v: isinstance(v.get("conversations"), list)),
    ("an Inspect log", lambda v: {"eval", "samples"} <= v.keys()),
    ("an OpenHands event log", lambda v: "source" in v and ("action" in v or "observation" in v or "kind" in v)),
)


def sniff(content: Content) -> str:
    """
    The format: ``claude-code``, ``pi`` or ``request``.

    Raises:
        WireError: it is none of these; if it is one that is known, its name is in the error.
    """
    found = None
    for value in _objects(content):
        if found is None:
            for name, is_signed in _KNOWN:
                if is_signed(value):
                    raise WireError("$", f"this looks like {name}, which is not read yet", hint=f"read are {', '.join(FORMATS)}")
        told = next((name for name, is_signed in _READ if is_signed(value)), None)
        if told is not None and (told != "request" or not content.problems):
            return told
        found = found or told
    if found is not None:
        return found
    raise WireError("$", "the format is not recognised", hint=f"read are {', '.join(FORMATS)}; name one with format=")


def checked_format(name: str | None) -> str | None:
    """
    *name*, if it is one of `FORMATS` or ``None``.

    Raises:
        PolicyError: it is something else.
    """
    if name is not None and name not in FORMATS:
        raise PolicyError("format", f"{shown(name)} is no format that is read", hint=f"one of {', '.join(FORMATS)}")
    return name


def _objects(content: Content) -> Iterable[_Object]:
    for line in content.lines:
        if isinstance(line.value, dict):
            yield line.value
        elif isinstance(line.value, list):
            yield from (item for item in line.value if isinstance(item, dict))
