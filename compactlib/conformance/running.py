"""
Running a compactor and writing down what it did.

What this is
    `observe` runs anything with the signature of `compactlib.compact` and
    makes the record that the checks judge.

Rules it obeys
    * The compactor's word is taken for what it decided; what happened is read
      from the wire and measured here.
    * Input is parsed from bytes for each run, so runs share nothing that can
      be changed.

What is not here
    Compactors in other languages: they fill in a `Record` themselves.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, Final, Literal, TypeAlias

from attrs import evolve

from ..budget import Policy, sizes
from ..dialects import parse, render
from ..errors import PolicyError, StoreError
from ..model import Conversation, Json
from ..outcomes import Compacted, Outcome, Refused
from ..planning import overhead_tokens
from ..protocol.context_edits import edits_in
from ..store import Store, fetch
from ..summaries.acceptance import Summary
from ..summaries.extractive import Extractive
from ..summaries.rendering import SummaryRequest
from ..summaries.schema import schema_for
from ..tokens import Memo
from ..visible import request_tokens, sizes_seen
from .evidence import evidence
from .record import Exchange, Limits, Origin, Record

__all__ = ["Compact", "observe"]

Compact: TypeAlias = Callable[..., Outcome]
"""Called as `compactlib.compact` is."""

_QUOTING: Final = ("goal", "orders")


def observe(
    compact: Compact,
    conversation: Conversation,
    policy: Policy,
    *,
    summarise: Callable[[SummaryRequest], str | Summary] | None = None,
    when: Literal["auto", "now", "overflow"] = "auto",
    pins: Sequence[tuple[int, int]] = (),
    reminders: Sequence[str | Callable[[], str]] = (),
    secrets: Sequence[str] = (),
    kinds: Sequence[Origin | None] | None = None,
    kinds_told: bool = False,
    repeat: bool = True,
    **more: Any,
) -> tuple[Record, Outcome]:
    """
    Run *compact*, and the same once more if *repeat*, and compact its result again.

    Args:
        compact: the compactor.
        conversation: what it is to compact.
        policy: what it is to keep to.
        summarise: the summariser; the extractive one if left out.
        when, pins, reminders, more: handed on.
        secrets: what no message has, and nothing that is made of them may have.
        kinds: what the messages are, by index on the wire.
        kinds_told: whether *conversation* states them, so that the compactor knows.
        repeat: whether to run it twice (law L16).
    """
    answer = summarise or Extractive()
    schema = schema_for(policy.schema, policy.headings)
    before = _wire(conversation)
    log: list[Exchange] = []
    options: dict[str, Any] = {"when": when, "pins": pins, "reminders": reminders, **more}
    outcome = compact(conversation, policy, summarise=_logged(answer, log), **options)
    memo = _memo(policy)
    record = _record(outcome, conversation, policy, memo)
    least = record.limits.clear_at_least
    if least is None:
        least = record.limits.min_gain if when == "auto" else 1
    record = evolve(
        record,
        limits=evolve(record.limits, clear_at_least=least, trigger=_trigger(record.limits, more.get("rungs"))),
        before=before,
        when=when,
        kinds=None if kinds is None else tuple(kinds),
        kinds_told=kinds_told,
        pins=tuple(pins),
        pinned_texts=policy.pins,
        reminders=tuple(_texts(reminders)),
        secrets=tuple(secrets),
        exchanges=tuple(log),
        headings=tuple(section.heading for section in schema.sections if section.key in schema.required),
        known_headings=tuple(section.heading for section in schema.sections),
        quoting_headings=tuple(section.heading for section in schema.sections if section.key in _QUOTING),
        mutated=_wire(conversation) != before,
    )
    if memo is not None:
        # where outputs were cleared before something was cut off, the cut was chosen on other sizes than these
        sizes_known = not record.cleared or record.rung == "clear"
        record = evolve(
            record,
            sizes=tuple(_weights(outcome, conversation, memo)) if sizes_known else None,
            before_tokens=request_tokens(conversation, memo),
            exchanges=tuple(_measured(exchange, memo) for exchange in log),
        )
    if isinstance(outcome, Compacted):
        record = _with_result(record, outcome, conversation, memo)
        record = evolve(record, undone=_wire(outcome.undo()), stored=_stored(more.get("store"), outcome, record.after))
        record = evolve(record, again=_again(compact, outcome.conversation, policy, answer))
    if repeat:
        second: list[Exchange] = []
        fresh = _fresh(conversation, before)
        repeated = compact(fresh, policy, summarise=_logged(answer, second), **options)
        twin = evolve(_record(repeated, fresh, policy, memo), exchanges=tuple(second))
        record = evolve(record, repeated=twin.digest)
    return record, outcome


def _wire(conversation: Conversation) -> Json:
    """The body as a value, also where it was given as text."""
    body = render(conversation)
    return json.loads(body) if isinstance(body, str | bytes) else body


def _weights(outcome: Outcome, conversation: Conversation, memo: Memo) -> list[int]:
    """The sizes by which the compactor says that it cut: as the model sees the messages, or as they are sent."""
    cut = outcome.report.get("cut")
    return memo.sizes(conversation.messages) if cut and cut["weights"] == "sent" else sizes_seen(conversation, memo)


def _trigger(limits: Limits, rungs: Sequence[str] | None) -> int | None:
    """The trigger of the rungs that were asked for."""
    return limits.clearing if rungs is not None and list(rungs) == ["clear"] else limits.trigger


def _memo(policy: Policy) -> Memo | None:
    """What measures, or ``None`` if the policy's counter does not count."""
    try:
        Memo(policy.counter).counter("word")
    except PolicyError:
        return None
    return Memo(policy.counter)


def _with_result(record: Record, outcome: Compacted, conversation: Conversation, memo: Memo | None) -> Record:
    """*record* with what was measured of the output."""
    if not record.cleared:
        record = evolve(record, same_tail=_same_tail(conversation, outcome.conversation, outcome.cut))
    if memo is None:
        return record
    parsed = parse(record.after, dialect=record.dialect)
    summary = evidence(record).summary
    return evolve(
        record,
        after_tokens=request_tokens(parsed, memo, edits=None if outcome.edits is None else edits_in(outcome.edits["edits"])),
        summary_tokens=memo.counter(summary) if summary else None,
    )


def _texts(reminders: Sequence[str | Callable[[], str]]) -> Iterator[str]:
    """The reminders as the compactor must have seen them; one that fails has no text."""
    for reminder in reminders:
        try:
            text = reminder if isinstance(reminder, str) else reminder()
        except Exception:  # noqa: BLE001, S112 - the compactor says what came of it
            continue
        if isinstance(text, str):
            yield text


def _fresh(conversation: Conversation, wire: Json) -> Conversation:
    """The same conversation made of other objects."""
    made = parse(json.loads(json.dumps(wire)), dialect=conversation.dialect)
    messages = tuple(
        evolve(message, origin=stated.origin) for message, stated in zip(made.messages, conversation.messages, strict=True)
    )
    return evolve(made, messages=messages, settled=conversation.settled, fused=conversation.fused)


def _logged(answer: Callable[[SummaryRequest], str | Summary], log: list[Exchange]) -> Callable[[SummaryRequest], str | Summary]:
    """*answer*, with every exchange written down."""

    def ask(request: SummaryRequest) -> str | Summary:
        asked = Exchange(
            text=request.text,
            instructions=request.instructions,
            previous=request.previous,
            context=request.context,
            max_tokens=request.max_tokens,
            part=request.part,
            parts=request.parts,
            attempt=request.attempt,
            form=request.form,
        )
        try:
            reply = answer(request)
        except Exception as error:
            log.append(evolve(asked, error=f"{type(error).__name__}: {error}"))
            raise
        whole = reply if isinstance(reply, Summary) else Summary(reply)
        log.append(evolve(asked, reply=whole.text, stop=whole.stop, tool_calls=whole.tool_calls))
        return reply

    return ask


def _believed(policy: Policy, outcome: Outcome) -> Policy:
    """The policy, with the window that a refusal of the provider's taught, if that is smaller; sizes are shares of it then."""
    window = (outcome.report.get("sizes") or {}).get("window", policy.window_tokens)
    if outcome.report["when"] != "overflow" or window >= policy.window_tokens:
        return policy
    shares: dict[str, Any] = dict.fromkeys(("reserve_tokens", "trigger_tokens", "target_tokens", "tail_tokens"))
    return evolve(policy, window_tokens=window, trigger_of="budget", **shares)


def _record(outcome: Outcome, conversation: Conversation, policy: Policy, memo: Memo | None) -> Record:
    """What the compactor says."""
    limits = Limits(step_cuts=policy.step_cuts != "never")
    if memo is not None:
        policy = _believed(policy, outcome)
        known = sizes(policy, overhead_tokens=overhead_tokens(conversation, memo))
        limits = evolve(
            limits,
            budget=known.budget,
            trigger=known.trigger,
            target=known.target,
            room=known.room,
            summary=known.summary,
            min_gain=known.min_gain,
            clearing=known.clearing,
            clear_at_least=policy.clearing.clear_at_least_tokens,
            newest_results=policy.clearing.keep,
            summariser=policy.summariser_window_tokens or known.window,
            tail=(outcome.report.get("sizes") or {}).get("tail"),
        )
    record = Record(
        dialect=conversation.dialect,
        profile=policy.profile,
        before=None,
        after=_wire(outcome.conversation),
        outcome="compacted" if isinstance(outcome, Compacted) else "refused" if isinstance(outcome, Refused) else "unchanged",
        reason=outcome.reason,
        limits=limits,
        same_object=outcome.conversation is conversation,
        first_changed=outcome.first_changed,
        report=dict(outcome.report),
        paid=len(outcome.report.get("asked", ())),
    )
    if isinstance(outcome, Refused):
        return evolve(record, irreducible_tokens=outcome.irreducible_tokens or None)
    if isinstance(outcome, Compacted):
        return evolve(
            record,
            cut=outcome.cut,
            kept_prompt=outcome.kept_prompt,
            rung=outcome.report.get("rung"),
            given=tuple(sorted({*outcome.issued, *(one.ref for one in outcome.dropped if one.ref is not None)})),
            cleared=tuple(sorted({unit["position"] for unit in outcome.report.get("cleared", ())})),
            edits=None if outcome.edits is None else dict(outcome.edits),
            betas=outcome.betas,
            request=None if outcome.thinking is None else _wire(outcome.request),
            over_by_tokens=outcome.over_by_tokens,
            irreducible_tokens=outcome.irreducible_tokens or None,
            fits=outcome.fits,
            dangling=outcome.report.get("dangling"),
            facts_left=_facts_left(outcome),
            pinned_tokens=(outcome.report.get("head") or {}).get("pins"),
        )
    return record


def _measured(exchange: Exchange, memo: Memo) -> Exchange:
    return evolve(exchange, tokens=memo.counter(exchange.instructions) + memo.counter(exchange.text))


_REF: Final = re.compile(r"\bref=([0-9a-f]{64})\b")


def _stored(store: Store | None, outcome: Compacted, after: Json) -> dict[str, str] | None:
    """What can be fetched by the references that the output names or that were given out, and by those behind them."""
    if store is None:
        return None
    found: dict[str, str] = {}
    refs = [*_REF.findall(json.dumps(after)), *outcome.issued]
    while refs:
        ref = refs.pop()
        if ref in found:
            continue
        with suppress(StoreError):
            found[ref] = fetch(store, ref).decode("utf-8", "surrogatepass")
            refs += _REF.findall(found[ref])
    return found


def _facts_left(outcome: Compacted) -> int | None:
    """How many facts it says it left out, of this compaction and of those before."""
    anchors: Any = (outcome.report.get("summary") or {}).get("anchors")
    return None if anchors is None else anchors["left"] + anchors["earlier_left"]


def _same_tail(before: Conversation, after: Conversation, cut: int) -> bool:
    tail = before.messages[before.position(cut) :]
    return len(tail) <= len(after.messages) and all(
        one is other for one, other in zip(reversed(tail), reversed(after.messages), strict=False)
    )


def _again(compact: Compact, made: Conversation, policy: Policy, answer: Callable[..., Any]) -> tuple[str, bool]:
    second = compact(made, policy, summarise=answer, when="now")
    word = "compacted" if isinstance(second, Compacted) else "refused" if isinstance(second, Refused) else "unchanged"
    return word, second.conversation is made
