"""
The algorithm: replace what is old by one summary, or leave everything as it is.

What this is
    `compaction` is a generator.  It yields `AskSummary` and is sent a reply,
    and ends with an `Outcome`.  It calls no model, clock or network, so the
    same code serves blocking and async callers, tests and the conformance
    suite (`driving` has the two short loops that everybody needs).

Rules it obeys
    * Law L1.  The result is checked by the validator, which shares no code
      with this module, before anybody sees it.
    * Laws L2, L3.  It drops everything before one legal cut, and the cut is
      chosen on sizes alone.
    * Law L6.  Until the last line nothing has happened: every failure returns
      the conversation that was passed in.
    * Law L7.  From the cut on, the messages of the result are the same objects.
    * Laws L12 to L14.  Nobody is asked when no answer could help; the result
      is measured as assembled, and is smaller by what makes it worth while.

How it works
    The result is, in every dialect and for both kinds of cut::

        system* preamble* pins? summary reminder* prompt? tail

    with the prompt in its slot after a step cut, and at the beginning of the
    tail after a turn cut.  So the last words before the kept steps are always
    a person's, and no user-role text stands after the first kept step, which
    several providers refuse.

    *plan* (sizes, cut, what stands in the head) -> *ask* (one request, or
    parts in order, each continuing the summary so far) -> *assemble* -> *verify*.

What is not here
    What a reply must be (`summaries.acceptance`), clearing and snipping, and
    the live loop.
"""

from __future__ import annotations

from collections import Counter as Multiset
from collections.abc import Generator, Iterator, Sequence
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias

from attrs import asdict, evolve

from .budget import Policy, Sizes, sizes
from .errors import PolicyError
from .markers import Issued
from .model import Call, Conversation, Json, Message, Origin, Result, Text
from .outcomes import REASONS, AskSummary, Compacted, Dropped, Outcome, Part, Refused, SummaryFailed, Unchanged, as_json
from .persons import person_words, says
from .planning import CannotPlanError, Pin, Plan, Reminder, bound_of, overhead_tokens, plan
from .protocol.rules import RULES
from .protocol.validator import check
from .stubs import read_stub
from .summaries.acceptance import Accepted, Code, Rejected, Summary, harmless, judge
from .summaries.facts import find_anchors, missing, write_appendix
from .summaries.grounding import Standing
from .summaries.head import Layout, user_message, write_summary
from .summaries.provenance import said_by_persons
from .summaries.rendering import SummaryRequest, again, continued, render_request
from .summaries.schema import SCHEMA_VERSION, SCHEMAS, Schema, Sections, parse_sections, render_sections
from .summaries.transcript import argument_text, label
from .text import segmenter
from .tokens import MESSAGE_TOKENS, Memo
from .truncation import truncate
from .turns import Kind
from .visible import effective

__all__ = ["Reply", "Run", "compaction", "seen_tokens"]

_MISPLACED: Final = frozenset({"C2", "C4", "C5"})
"""
Common rules that name one fault by what stands around it.

A result that came late, twice or out of order is a stray when its call went.
"""
_COUNTED: Final = "M-COUNT-01"
"""The same where results are counted: one too many."""
_LIMITS: Final = frozenset({"A-CACHE-01", "A-IMG-02"})
"""Limits of a whole request: too much before and less of it afterwards is one fault, wherever it is noticed."""
_MORE: Final = "- and more: "  # begins the line that counts the facts for which there was no room
_LEFT_OUT: Final = "facts were left out; the messages that were replaced hold them"
_WAY_BACK: Final = ": ref="  # stands in an item before the reference of something that was cleared
_LEAST_CONTEXT_CHARS: Final = 240  # a shorter excerpt is hardly more than its marker
_LEAST_SAID_TOKENS: Final = 32  # what a summary has to be able to say besides its headings

_NOTHING: Final[Issued] = MappingProxyType({})

Reply: TypeAlias = "str | Summary | SummaryFailed"
"""What the engine is sent for an `AskSummary`."""


def compaction(
    conversation: Conversation,
    policy: Policy,
    *,
    when: Literal["auto", "now"] = "auto",
    focus: str | None = None,
    pins: Sequence[Pin] = (),
    reminders: Sequence[Reminder] = (),
    issued: Issued | None = None,
    previous: str | None = None,
    run: str = "",
) -> Generator[AskSummary, Reply, Outcome]:
    """
    Compact one conversation; see `compactlib.compact` for the arguments.

    Yields:
        `AskSummary`: to be answered by the reply (`str` or `Summary`), or by
        `SummaryFailed`.

    Returns:
        The outcome.

    Raises:
        PolicyError: an argument names something that is not there.
    """
    engine = Run(conversation, policy, when, run, issued or {})
    try:
        memo = engine.memo
        engine.before_tokens = before = memo.request(conversation)
        known = sizes(policy, overhead_tokens=overhead_tokens(conversation, memo))
        if when == "auto" and seen_tokens(conversation, memo, before) <= known.trigger:
            return engine.unchanged("below-trigger")
        if when == "auto" and not policy.auto:
            return engine.unchanged("auto-off")
        if conversation.settled and conversation.settled == len(conversation.messages):
            return engine.unchanged("nothing-new")
        least_gain = 1 if when == "now" else known.min_gain
        engine.plan = made = plan(
            conversation, policy, memo, before, least_gain=least_gain, pins=pins, reminders=reminders, previous=previous
        )
        accepted = yield from _ask(engine, made, focus)
        if isinstance(accepted, Rejected):
            return engine.refused(f"summary-failed:{accepted.code.value}", accepted.why, made.irreducible)
        return _finish(engine, made, accepted, least_gain)
    except CannotPlanError as refusal:
        if refusal.reason in REASONS["unchanged"]:
            return engine.unchanged(refusal.reason)
        return engine.refused(refusal.reason, refusal.why, refusal.irreducible)
    except PolicyError as error:
        if error.field not in ("counter", "reminders"):
            raise
        return engine.refused(f"callback:{error.field}", str(error), ())


def seen_tokens(conversation: Conversation, memo: Memo, whole_tokens: int) -> int:
    """The size of what the model sees of a request of *whole_tokens*, after the provider's own edits."""
    seen = effective(conversation, counter=memo.counter)
    return whole_tokens if seen is conversation else memo.request(seen)


class Run:
    """What one run remembers for its report."""

    def __init__(self, conversation: Conversation, policy: Policy, when: str, run: str, issued: Issued = _NOTHING) -> None:
        self.issued = issued
        self.conversation = conversation
        self.policy = policy
        self.when = when
        self.run = run
        self.memo = Memo(policy.counter)
        self.before_tokens = 0
        self.plan: Plan | None = None
        self.sizes: Sizes | None = None
        self.asked: list[dict[str, Json]] = []
        self._kept: list[str] | None = None
        self._standing: Standing | None = None

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

    def report(self, outcome: str, reason: str, after_tokens: int, **more: Json) -> dict[str, Json]:
        """The account of this run; its keys are always the same."""
        plan = self.plan
        at = self.conversation.wire_index
        return {
            "outcome": outcome,
            "reason": reason,
            "run": self.run,
            "when": self.when,
            "dialect": self.conversation.dialect,
            "profile": self.policy.profile or self.conversation.dialect,
            "before_tokens": self.before_tokens,
            "after_tokens": after_tokens,
            "sizes": asdict(plan.sizes) if plan is not None else None if self.sizes is None else asdict(self.sizes),
            "cut": None
            if plan is None
            else {
                "index": at(plan.choice.position),
                "kind": plan.choice.kind,
                "kept_prompt": None if plan.choice.prompt is None else at(plan.choice.prompt),
                "tail_tokens": plan.choice.tail_tokens,
                "why": plan.choice.why,
                "bound": self._bound(plan),
            },
            "dangling": 0 if plan is None else sum(call[0] < plan.choice.position for call in plan.division.dangling),
            "pending": 0 if plan is None else len(plan.division.pending),
            "asked": self.asked,
            "schema": {"name": self.policy.schema, "version": SCHEMA_VERSION},
            "segmentation": segmenter(),
            "irreducible": [] if plan is None else as_json(plan.irreducible),
            "dropped": [],
            "cleared": [],
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


# --- Ask -------------------------------------------------------------------------------------------------------------


def _ask(engine: Run, plan: Plan, focus: str | None) -> Generator[AskSummary, Reply, Accepted | Rejected]:
    """Ask for the summary, part by part; one part may be asked for again when its reply was too long."""
    policy, counter = engine.policy, engine.memo.counter
    schema = SCHEMAS[policy.schema]
    ceiling = plan.sizes.summary - counter(write_summary("", _layout(plan)))
    least = counter(_bare_headings(schema)) + _LEAST_SAID_TOKENS
    if ceiling < least:
        why = f"a summary may have {ceiling} tokens, and its headings with a few words take {least}"
        raise CannotPlanError("irreducible", why, plan.irreducible)
    window = policy.summariser_window_tokens or plan.sizes.window
    kept = [message.text for message in plan.pins]
    kept += [person_words(message, Kind.PROMPT, verbatim=False) for message in plan.prompt]
    requests = render_request(
        plan.replaced,
        schema=schema,
        max_tokens=min(plan.sizes.asked_tokens, ceiling * 3 // 4),  # what is asked for leaves room for what is added
        budget_tokens=window,
        counter=counter,
        previous=plan.previous,
        context=_context(kept, window // 8 * 3),
        focus=focus,
        language=policy.language,
        step_cut=bool(plan.prompt),
        first=0,
    )
    if not requests:
        why = f"not even a shortened transcript fits the summariser's window of {window}"
        raise CannotPlanError(f"summary-failed:{Code.NO_ROOM.value}", why, plan.irreducible)
    running = plan.previous
    verdict: Accepted | Rejected | None = None
    asked_again = False
    for planned in requests:
        request: SummaryRequest | None = planned
        if planned.part > 1:
            request = continued(planned, running, budget_tokens=window, counter=counter)
        while request is not None:
            reply = yield AskSummary(request)
            verdict = _judge(engine, plan, request, reply, ceiling, running)
            engine.asked.append(
                {
                    "part": request.part,
                    "parts": request.parts,
                    "attempt": request.attempt,
                    "prompt_version": request.prompt_version,
                    "verdict": "accepted" if isinstance(verdict, Accepted) else verdict.code.value,
                }
            )
            if isinstance(verdict, Accepted):
                running = verdict.body
                break
            if verdict.code is not Code.TOO_LONG or asked_again:
                return verdict
            asked_again = True
            request = again(request, verdict.why)
        if request is None:
            why = f"the running summary leaves no room in the summariser's window of {window}"
            raise CannotPlanError(f"summary-failed:{Code.NO_ROOM.value}", why, plan.irreducible)
    if verdict is None:
        raise CannotPlanError("irreducible", "there is nothing to show to a summariser", plan.irreducible)
    return verdict


def _context(texts: Sequence[str], limit_chars: int) -> str:
    """What stays and helps understanding, each text shortened by itself to an equal share (law L11)."""
    share = limit_chars // max(len(texts), 1) - 2
    shown = [truncate(text, limit_chars=share).text for text in texts if share >= _LEAST_CONTEXT_CHARS]
    return "\n\n".join(shown)


def _bare_headings(schema: Schema) -> str:
    """The shortest text that has the headings a reply must have."""
    return render_sections(Sections(schema, tuple("" if part.key in schema.required else None for part in schema.sections)))


def _judge(engine: Run, plan: Plan, request: SummaryRequest, reply: Reply, ceiling: int, running: str) -> Accepted | Rejected:
    if isinstance(reply, SummaryFailed):
        return Rejected(Code(reply.code), reply.why)
    return judge(
        reply,
        request=request,
        schema=SCHEMAS[engine.policy.schema],
        ceiling_tokens=ceiling,
        counter=engine.memo.counter,
        previous=running,
        replaced_has_prompt=any(said_by_persons(request.messages)),
        human_texts=plan.persons,
        standing=engine.standing(plan),
    )


# --- Assemble and verify ---------------------------------------------------------------------------------------------


def _finish(engine: Run, plan: Plan, accepted: Accepted, least_gain: int) -> Outcome:
    conversation, memo = engine.conversation, engine.memo
    body, anchors = _with_anchors(engine, plan, accepted, least_gain)
    made = _assemble(conversation, plan, body)
    after = memo.request(made)
    if engine.before_tokens - after < least_gain:
        why = f"the result has {after} tokens, the input {engine.before_tokens}; at least {least_gain} have to be saved"
        return engine.refused("summary-failed:not-smaller", why, plan.irreducible)
    wrong = _new_violations(conversation, made, plan)
    if wrong:
        return engine.refused("internal-invalid", "; ".join(wrong[:5]), plan.irreducible)
    at = conversation.wire_index
    cut = plan.choice.position
    dropped = _dropped(conversation, made, cut, memo)
    over = max(after - plan.sizes.target, 0)
    reason = "above-target" if over else "target-met"
    report = engine.report(
        "compacted",
        reason,
        after,
        dropped=[asdict(part) for part in dropped],
        summary={
            "tokens": memo.counter(body),
            "moved": accepted.moved,
            "reopened": accepted.reopened,
            "escaped": accepted.escaped,
            "unverified": accepted.unverified,
            "contradicted": accepted.contradicted,
            "unseen": accepted.unseen,
            "unrun": accepted.unrun,
            "anchors": anchors,
            "replaced_messages": len(plan.replaced),
            "had_previous": bool(plan.previous),
        },
        head={
            "system": sum(map(memo.message, plan.system)),
            "preamble": sum(map(memo.message, plan.preamble)),
            "pins": sum(map(memo.message, plan.pins)),
            "earlier_prompts": sum(memo.counter(block.text) for block in plan.earlier if isinstance(block, Text)),
            "reminders": sum(map(memo.message, plan.reminders)),
            "prompt": sum(map(memo.message, plan.prompt)),
        },
    )
    return Compacted(
        conversation=made,
        reason=reason,
        before_tokens=engine.before_tokens,
        after_tokens=after,
        first_changed=_first_changed(conversation, made),
        report=report,
        cut=at(cut),
        kept_prompt=None if plan.choice.prompt is None else at(plan.choice.prompt),
        dropped=dropped,
        summary=body,
        irreducible=plan.irreducible,
        over_by_tokens=over,
        fits=after <= plan.sizes.budget,
        before=conversation,
    )


def _with_anchors(engine: Run, plan: Plan, accepted: Accepted, least_gain: int) -> tuple[str, dict[str, int]]:
    """
    The summary with the section of facts that stand nowhere else in the output (law L21), and how many there are.

    The section gives way where the result would not be smaller with it.
    """
    memo = engine.memo
    found = find_anchors(plan.replaced)
    absent = missing(found, [accepted.body, *engine.kept_texts(plan)])
    before = parse_sections(plan.previous, accepted.sections.schema)
    carried = [item for item in before.items("verbatim") if not item.startswith(_MORE)]
    ways_back = [*_references(plan.replaced, engine.issued), *(item for item in carried if _WAY_BACK in item)]
    bare = _assemble(engine.conversation, plan, accepted.body)
    spare = engine.before_tokens - memo.request(bare) - least_gain
    room = plan.sizes.summary - MESSAGE_TOKENS - memo.counter(write_summary(accepted.body, _layout(plan)))
    frame = memo.counter(f"\n## Kept verbatim\n- {_MORE}{len(absent)} {_LEFT_OUT}\n") + 1
    limit = min(plan.sizes.summary // 4, spare, room) - frame
    for eighths in (8, 7, 6, 4, 0):  # the parts of a text may count less than the whole
        made = write_appendix(
            absent, limit_tokens=limit * eighths // 8, counter=memo.counter, carried=carried, ways_back=ways_back
        )
        items = [harmless(item, engine.issued)[0] for item in made.items]  # L25: what was said does not speak for us
        if made.left and limit * eighths > 0:
            items.append(f"{_MORE}{len(made.left)} {_LEFT_OUT}")
        body = render_sections(accepted.sections.with_items("verbatim", items)) if items else accepted.body
        if memo.counter(write_summary(body, _layout(plan))) + MESSAGE_TOKENS <= plan.sizes.summary:
            break
    counts = {"found": len(found), "in_output": len(found) - len(absent), "written": made.written, "left": len(made.left)}
    return body, counts


def _references(messages: Sequence[Message], issued: Issued) -> list[str]:
    """L10: what was cleared before and is now replaced can still be fetched; one line for each stub, the newest first."""
    stubs = [
        stub
        for message in reversed(messages)
        for result in message.results
        for block in result.blocks
        if isinstance(block, Text) and (stub := read_stub(block.text, issued=issued)) is not None
    ]
    return [f"- {stub.what} of {label(stub.tool)} {label(stub.source)}".rstrip() + f"{_WAY_BACK}{stub.ref}" for stub in stubs]


def _texts(message: Message) -> Iterator[str]:
    """The words in a message: texts, what tools said, arguments."""
    for block in message.blocks:
        if isinstance(block, Text | Result):
            yield block.text
        elif isinstance(block, Call):
            yield argument_text(block)


def _layout(plan: Plan) -> Layout:
    """What stands around the summary."""
    pins = [block for message in plan.pins for block in message.blocks]
    reminders = [block for message in plan.reminders for block in message.blocks]
    joined = [*pins, *plan.earlier, *reminders] if plan.profile.fuse == "text" else []
    return Layout(
        pins=len(pins),
        earlier=len(plan.earlier),
        reminders=len(reminders),
        under_way=bool(plan.prompt),
        joined_chars=tuple(len(block.text) if isinstance(block, Text) else 0 for block in joined),
    )


def _assemble(conversation: Conversation, plan: Plan, body: str) -> Conversation:
    fuse = plan.profile.fuse
    summary = user_message((Text(write_summary(body, _layout(plan))), *plan.earlier), Origin.SUMMARY, plan.profile)
    head = (*plan.preamble, *plan.pins, summary, *plan.reminders)
    tail = conversation.messages[plan.choice.position :]
    before = (*plan.opaque, *plan.system)
    messages = (*before, *head, *plan.prompt, *tail)
    fused = (0, 0)
    if fuse != "no":
        stop = len(before) + len(head)
        stop += stop < len(messages) and (bool(plan.prompt) or (plan.choice.kind == "turn" and says(tail[0])))
        fused = (len(before), stop)
    return evolve(conversation, messages=messages, fused=fused, settled=len(messages))


def _new_violations(before: Conversation, after: Conversation, plan: Plan) -> list[str]:
    """Violations of the result that the same rule did not have in the same message of the input (law L1)."""
    mode: Literal["request", "history"] = "history" if plan.division.pending else "request"
    found = [violation for violation in check(after, mode=mode, profile=plan.profile) if violation.level != "info"]
    if not found:
        return []
    known = Multiset(
        (_fault(violation.rule), None if violation.rule in _LIMITS else violation.index)
        for violation in check(before, mode=mode, profile=plan.profile)
        if violation.level != "info"
    )
    came_from = {id(message): before.wire_index(at) for at, message in enumerate(before.messages)}
    wrong = []
    for violation in found:
        sources: set[int | None] = {None}
        if violation.index is not None and violation.rule not in _LIMITS:
            first = after.position(violation.index)
            last = after.position(violation.index + 1)
            sources = {came_from.get(id(message)) for message in after.messages[first:last]}
        rule = _fault(violation.rule)
        match = next(((rule, source) for source in sources if known[rule, source] > 0), None)
        if match is None:
            wrong.append(f"{violation.rule} at message {violation.index}: {violation.message}")
        else:
            known[match] -= 1
    return wrong


def _fault(rule: str) -> str:
    """What is wrong where *rule* is broken, under one name for the rules that name one fault."""
    known = RULES.get(rule)
    return "misplaced" if rule == _COUNTED or (known is not None and known.core in _MISPLACED) else rule


def _dropped(before: Conversation, after: Conversation, cut: int, memo: Memo) -> tuple[Dropped, ...]:
    """Which messages went, as ranges of the wire's indices."""
    kept = {id(message) for message in after.messages}
    runs: list[Dropped] = []
    for position, message in enumerate(before.messages[:cut]):
        if id(message) in kept:
            continue
        index = before.wire_index(position)
        tokens = memo.message(message)
        if runs and index in (runs[-1].stop - 1, runs[-1].stop):
            runs[-1] = evolve(runs[-1], stop=index + 1, tokens=runs[-1].tokens + tokens)
        else:
            runs.append(Dropped(index, index + 1, "summarise", tokens))
    return tuple(runs)


def _first_changed(before: Conversation, after: Conversation) -> int:
    """The least message of the input at which the rendered blocks differ (law L18)."""

    def blocks(conversation: Conversation) -> list[tuple[int, Any]]:
        return [
            (conversation.wire_index(at), (message.role, block.text if isinstance(block, Text) else block))
            for at, message in enumerate(conversation.messages)
            for block in message.blocks
        ]

    ours = blocks(before)
    theirs = blocks(after)
    for (index, one), (_, other) in zip(ours, theirs, strict=False):
        if one != other:
            return index
    return ours[min(len(ours), len(theirs)) - 1][0]
