"""What a trajectory in ATIF has to be: the rules ``T-``."""

from __future__ import annotations

from typing import Final

from ..rule import Rule

__all__ = ["TABLE"]

# fmt: off
TABLE: Final[tuple[Rule, ...]] = (
    Rule("T-STEP-01", "C11", "L2", "error", "D", None,
        "The steps of a trajectory are numbered 1, 2, 3 and so on; each has a message and is of the system, a user or the agent.",
        "",
        "ATIF RFC 0001, StepObject; NeMo Agent Toolkit nat.atif.trajectory (validate_step_ids); 6 real trajectories, all so",
        status=0),
    Rule("T-AGENT-01", "C6", "L2", "error", "D", None,
        "Only a step of the agent has calls, reasoning, metrics or a model's name, and no step of a user has an observation.",
        "",
        "ATIF RFC 0001, StepObject",
        status=0),
    Rule("T-REF-01", "C2", "L2", "error", "D", None,
        "The source_call_id of a result is null, absent, or the tool_call_id of a call in the same step.",
        "",
        "ATIF RFC 0001, ObservationResultSchema; 6 real trajectories, none names another step's",
        status=0),
    Rule("T-IMG-01", "C13", "L7", "error", "D", None,
        "A part is text, or an image that names a JPEG, PNG, GIF or WebP file by its path.",
        "",
        "ATIF RFC 0001, ContentPartSchema and ImageSourceSchema (from version 1.6)",
        status=0),
)
# fmt: on
