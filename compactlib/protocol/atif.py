"""
Trajectories in ATIF, step by step.

What this is
    The `Reader` of dialect ``atif``: the T-rules, as the format's own
    validators apply them to a file.

How it works
    Calls are answered in their own step, so nothing waits from one step to the
    next but the number of the step, and the automaton has nothing to do.

What is not here
    The fields around the steps, and files that a trajectory names.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from ..model import Block, Call, Media, Message, Opaque, Reasoning, Result, Text
from .profiles import Profile
from .reader import NEXT, Around, Mode, Reader
from .violation import Violation, quote

__all__ = ["AtifReader"]

_SOURCES: Final = "system, user or agent"
_OF_AGENTS: Final = ("reasoning_content", "reasoning_effort", "tool_calls", "metrics", "model_name")
_IMAGES: Final = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})


class AtifReader(Reader):
    """Reads the steps of a trajectory."""

    def __init__(self, profile: Profile, around: Around) -> None:
        super().__init__(profile, around)
        self._next = 1  # the number of the step that comes

    def read(self, messages: Iterable[Message]) -> None:
        """Read the next steps."""
        message = None
        for message in messages:
            self.machine.at += NEXT
            self._step(message)
            self._fields(message)
            self._blocks(message)
        self.last = message or self.last

    def _step(self, message: Message) -> None:
        """T-STEP-01: number, source, message."""
        shape = message.wire
        number = shape.get("step_id")
        if number.__class__ is not int:
            where, what = ("/step_id", "is no whole number") if "step_id" in shape.keys else ("", "is absent")
            self.report("T-STEP-01", where, f"the step_id of step {self.index} {what}", str(self._next))
            self._next += 1
        else:
            if number != self._next:
                self.report("T-STEP-01", "/step_id", f"step {self.index} has the step_id {number:.40g}", str(self._next))
            self._next = number + 1  # so that one missing step is one finding
        if message.role == "other":
            where = "/source" if "source" in shape.keys else ""
            self.report("T-STEP-01", where, f"the source of step {self.index} is {quote(shape.tag)}", _SOURCES)
        if shape.form in ("null", "absent"):
            where = "" if shape.form == "absent" else "/message"
            self.report(
                "T-STEP-01", where, f"the message of step {self.index} is {shape.form}", "a string, perhaps empty, or parts"
            )

    def _fields(self, message: Message) -> None:
        """T-AGENT-01: what only an agent's steps have, and that an observation is no user's."""
        if message.role == "model":
            return
        shape = message.wire
        rest = dict(shape.rest)
        for key in _OF_AGENTS:
            if key in shape.keys and (key not in rest or rest[key] is not None):
                words = f"step {self.index}, whose source is {quote(shape.tag)}, has {key}"
                self.report("T-AGENT-01", f"/{key}", words, "it in a step of the agent")
        if (
            message.role == "user"
            and "observation" in shape.keys
            and ("observation" not in rest or rest["observation"] is not None)
        ):
            words = f"step {self.index}, a user's, has an observation"
            self.report("T-AGENT-01", "/observation", words, "it in a step of the agent or of the system")

    def _blocks(self, message: Message) -> None:
        """T-REF-01 and T-IMG-01: what results name, and what parts there are."""
        if isinstance(message.content, str):
            return
        known = {block.id for block in message.content if isinstance(block, Call)}
        part = answer = 0
        for block in message.content:
            if isinstance(block, Result):
                path = f"/observation/results/{answer}"
                answer += 1
                if "source_call_id" in block.wire.keys and block.wire.get("source_call_id", "") is not None:
                    self._reference(block, known, f"{path}/source_call_id")
                if isinstance(block.content, tuple):
                    for at, inner in enumerate(block.content):
                        self._part(inner, f"{path}/content/{at}")
            elif not isinstance(block, Call | Reasoning):
                if message.wire.form == "list":
                    self._part(block, f"/message/{part}")
                part += 1

    def _reference(self, block: Result, known: set[str], path: str) -> None:
        if block.call_id not in known:
            words = f"the result names the call {quote(block.call_id)}, which step {self.index} does not have"
            self.report("T-REF-01", path, words, "null, or the tool_call_id of a call in this step", ids=(block.call_id,))

    def _part(self, block: Block, path: str) -> None:
        if isinstance(block, Text):
            return
        if isinstance(block, Media):
            source = block.source
            if block.mime not in _IMAGES:
                words = f"a picture has the media_type {quote(block.mime)}"
                self.report("T-IMG-01", f"{path}/source", words, "image/jpeg, image/png, image/gif or image/webp")
            if not block.url or block.url.startswith("data:") or (isinstance(source, dict) and "data" in source):
                words = "a picture has no path" if not block.url else "a picture stands in the trajectory itself"
                self.report("T-IMG-01", f"{path}/source", words, "the path of a file beside the trajectory")
            return
        kind = block.kind if isinstance(block, Opaque) else "odd"
        what = f"a part of type {quote(kind)}" + (" lacks what its type has" if kind in ("text", "image") else "")
        self.report("T-IMG-01", path, what, "text with its text, or image with its source")

    def ending(self, mode: Mode) -> list[Violation]:
        """Nothing: whatever stands there may be the end."""
        del mode
        return []

    def _call_path(self, position: int) -> str:
        return f"/tool_calls/{position}"
