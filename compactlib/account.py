"""
What one run of a compaction remembers for its report.

What this is
    `Account`: the sizes before, the plan, what was asked, and the report that
    every outcome carries.

Rules it obeys
    * The report is JSON, and its keys are always the same.
    * Every request to a summariser stands in it, with what became of it, and
      with what the summariser said that it cost.

What is not here
    What is done (`compaction`, `cascade`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

from attrs import asdict

from .budget import Policy, Sizes, sizes
from .bulk import Bulk, bulk_of
from .model import Call, Conversation, Json, Message, Result, Text
from .outcomes import Part, Refused, Unchanged, as_json
from .planning import Plan, bound_of
from .protocol.binding import betas_for
from .summaries.acceptance import Accepted, Rejected, Summary
from .summaries.grounding import Standing
from .summaries.rendering import SummaryRequest
from .summaries.schema import SCHEMA_VERSION
from .summaries.transcript import argument_text
from .tasks import Task
from .text import segmenter
from .tokens import Corrected, Memo
from .tokens.usage import Usage

__all__ = ["Account"]


class Account:
    """What one run remembers for its report."""

    def __init__(self, conversation: Conversation, policy: Policy, task: Task) -> None:
        self.conversation = conversation
        self.policy = policy
        self.task = task
        self.issued: dict[str, tuple[int, int]] = {}  # the references that this run gave out
        self.memo = Memo(policy.counter)
        self.before_tokens = 0
        self.plan: Plan | None = None
        self.sizes: Sizes | None = None
        self.asked: list[dict[str, Json]] = []
        self.requests: list[SummaryRequest] = []
        self.why_form: str | None = None
        self.learned_tokens: int | None = None
        self._kept: list[str] | None = None
        self._standing: Standing | None = None

    @cached_property
    def bulk(self) -> Bulk | None:
        """What the conversation weighs as a request, if that is limited; measured once."""
        return bulk_of(self.conversation, self.policy)

    @property
    def is_heavy(self) -> bool:
        """Whether it weighs more than the policy allows."""
        return self.bulk is not None and self.bulk.exceeds(self.policy)

    def _bound(self, plan: Plan) -> str:
        """What decided how long the tail may be."""
        needed = plan.sizes.room - plan.sizes.summary - plan.sizes.tail_room
        plain = sizes(self.policy, overhead_tokens=plan.sizes.overhead, needed_tokens=needed).tail
        return bound_of(self.policy, plan.sizes, plain_tokens=plain)

    def standing(self, plan: Plan) -> Standing:
        """What bears claims out in every part; made once."""
        if self._standing is None:
            self._standing = Standing(self.kept_texts(plan), plan.persons)
        return self._standing

    def kept_texts(self, plan: Plan) -> list[str]:
        """What stays in the conversation besides the summary; read once."""
        if self._kept is None:
            tail = self.conversation.messages[plan.choice.position :]
            head = (*plan.preamble, *plan.pins, *plan.reminders, *plan.prompt)
            self._kept = [block.text for block in plan.earlier if isinstance(block, Text)]
            self._kept += [text for message in (*head, *tail) for text in _texts(message)]
        return self._kept

    def note_asked(self, request: SummaryRequest, reply: object, verdict: Accepted | Rejected) -> None:
        """Put one request, and what became of it, into the report (law L24)."""
        self.requests.append(request)
        self.asked.append(
            {
                "part": request.part,
                "parts": request.parts,
                "attempt": request.attempt,
                "prompt_version": request.prompt_version,
                "form": request.form,
                "verdict": "accepted" if isinstance(verdict, Accepted) else verdict.code.value,
                "usage": _figures(reply.usage) if isinstance(reply, Summary) else None,
            }
        )

    def report(self, outcome: str, reason: str, after_tokens: int, *, thinking: Json = None, **more: Json) -> dict[str, Json]:
        """The account of this run; its keys are always the same.  *thinking* is as `Compacted.thinking`."""
        plan, counter = self.plan, self.policy.counter
        at = self.conversation.wire_index
        return {
            "outcome": outcome,
            "reason": reason,
            "run": self.task.run,
            "when": self.task.when,
            "dialect": self.conversation.dialect,
            "profile": self.policy.profile or self.conversation.dialect,
            "before_tokens": self.before_tokens,
            "after_tokens": after_tokens,
            "corrected": {"reported_tokens": counter.reported_tokens, "counted_tokens": counter.counted_tokens}
            if isinstance(counter, Corrected)
            else None,
            "sizes": asdict(plan.sizes) if plan is not None else None if self.sizes is None else asdict(self.sizes),
            "cut": None
            if plan is None
            else {
                "index": at(plan.choice.position),
                "kind": plan.choice.kind,
                "kept_prompt": None if plan.choice.prompt is None else at(plan.choice.prompt),
                "tail_tokens": plan.choice.tail_tokens,
                "why": plan.choice.why,
                "weights": plan.weights,
                "bound": self._bound(plan),
            },
            "dangling": 0 if plan is None else sum(call[0] < plan.choice.position for call in plan.division.dangling),
            "pending": 0 if plan is None else len(plan.division.pending),
            "asked": self.asked,
            "why_form": self.why_form,
            "learned": None if self.learned_tokens is None else {"summariser_window_tokens": self.learned_tokens},
            "schema": {"name": self.policy.schema, "version": SCHEMA_VERSION},
            "segmentation": segmenter(),
            "irreducible": [] if plan is None else as_json(plan.irreducible),
            "rung": None,
            "rungs": [],
            "bulk": None,
            "dropped": [],
            "cleared": [],
            "edits": None,
            "thinking": None if thinking is None else {"thinking": thinking, "betas": [*betas_for(thinking)]},
            "summary": None,
            "head": None,
            **more,
        }

    def unchanged(self, reason: str) -> Unchanged:
        report = self.report("unchanged", reason, self.before_tokens)
        return Unchanged(conversation=self.conversation, reason=reason, before_tokens=self.before_tokens, report=report)

    def refused(self, reason: str, why: str, irreducible: tuple[Part, ...]) -> Refused:
        report = self.report("refused", reason, self.before_tokens, irreducible=as_json(irreducible), why=why)
        return Refused(
            conversation=self.conversation,
            reason=reason,
            why=why,
            before_tokens=self.before_tokens,
            report=report,
            irreducible=irreducible,
        )


def _figures(usage: object) -> dict[str, Json] | None:
    """What a summariser said that it cost, as far as it is figures."""
    if isinstance(usage, Usage):
        usage = asdict(usage)
    if not isinstance(usage, Mapping):
        return None
    return {key: value for key, value in usage.items() if isinstance(key, str) and type(value) in (int, str)}


def _texts(message: Message) -> Iterator[str]:
    """The words in a message: texts, what tools said, arguments."""
    for block in message.blocks:
        if isinstance(block, Text | Result):
            yield block.text
        elif isinstance(block, Call):
            yield argument_text(block)
