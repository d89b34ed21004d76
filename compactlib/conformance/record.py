"""
The record of one compaction, as a judge needs it.

What this is
    `Record`: what went in and what came out, on the wire, and whatever else is
    known of how it was done.  `running.observe` makes one of any compactor
    with the signature of `compactlib.compact`; the author of another one fills
    in what is known, and `shorthand.expand_record` makes one from a few lines
    of JSON.

Rules it obeys
    * Only wire bodies, texts and numbers: no value of the engine under test.
      What the compactor says of itself (outcome, reason, cut) stands beside
      what was measured by others.
    * What is not known is ``None``.  A check that needs it has no opinion.
    * A word that no check knows is a `PolicyError`: it would be judged by
      nothing, and unknown is never pass.

What is not here
    Judging (`checks`), and the append-only log of a live session.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias

from attrs import field, frozen

from ..arguments import need_one_of
from ..model import Json
from ..options import RUNGS
from ..protocol.profiles import profile_named
from .wires import DIALECTS

__all__ = ["Exchange", "Limits", "Origin", "Record"]

Origin: TypeAlias = Literal["prompt", "model", "result", "attachment", "harness", "system", "summary", "pin", "reminder"]
"""What a message is, where somebody said so."""


def _one_of(*words: str) -> Callable[[object, Any, Any], None]:
    """A validator: one of *words*; nothing at all, where that may be."""

    def check(record: object, attribute: Any, value: Any) -> None:
        del record
        if value is not None or attribute.default is not None:
            need_one_of(attribute.name, value, words)

    return check


def _profile(record: object, attribute: Any, value: Any) -> None:
    del record, attribute
    if value is not None:
        profile_named(value)


@frozen(kw_only=True)
class Exchange:
    """
    One question to the summariser, and its reply.

    Attributes:
        text: everything it was shown besides its instructions.
        instructions: its system text.
        previous: the summary it was asked to bring up to date, ``""`` if none.
        context: what it was shown of the part that stays, shortened perhaps.
        part, parts, attempt: counted from 1; a long transcript is shown in parts.
        tokens: size of text and instructions, measured.
        max_tokens: how long a reply was asked for.
        reply: the text of the reply, ``None`` if there was none.
        stop: why the reply ended; ``end`` and its like are normal.
        tool_calls: how many tools it called.
        error: what was raised instead of a reply.
        form: ``serialised``; or ``suffix``, where it was shown the conversation as sent, and `text` is the question alone.
    """

    text: str
    instructions: str = ""
    previous: str = ""
    context: str = ""
    part: int = 1
    parts: int = 1
    attempt: int = 1
    tokens: int | None = None
    max_tokens: int | None = None
    reply: str | None = None
    stop: str = "end"
    tool_calls: int = 0
    error: str | None = None
    form: str = "serialised"


@frozen(kw_only=True)
class Limits:
    """
    The sizes that a compaction had to keep to, in tokens; ``None`` where nobody said.

    Attributes:
        budget: what a request may hold.
        trigger: the size above which something is to be done.
        clearing: the size above which old outputs are to be cleared.
        target: the size to reach.
        tail: the largest tail, the kept prompt of a step cut included.
        room: what the target leaves for messages.
        summary: the largest summary.
        min_gain: what has to be saved at least.
        clear_at_least: what clearing has to save at least, unless it reaches the target.
        summariser: what a request to the summariser and its reply may be together.
        newest_results: how many of the newest results clearing has to spare; no size, but a number.
        step_cuts: whether a turn may be cut between its steps.
    """

    budget: int | None = None
    trigger: int | None = None
    clearing: int | None = None
    target: int | None = None
    tail: int | None = None
    room: int | None = None
    summary: int | None = None
    min_gain: int | None = None
    clear_at_least: int | None = None
    summariser: int | None = None
    newest_results: int | None = None
    step_cuts: bool = True


@frozen(kw_only=True, eq=False)
class Record:
    """
    One compaction.

    Attributes:
        dialect: of both bodies.
        profile: how the provider wants them, by name; the dialect's own way if ``None``.
        before, after: request bodies or lists of messages; the same if nothing was done.
        outcome: what the compactor says it did.
        reason: and why; ``""`` if it does not say.
        when: ``now`` if a person asked, ``overflow`` if a provider refused the size, ``auto`` if the trigger decides.
        limits: the sizes.
        cut, kept_prompt: the index where the tail begins, and that of the
            prompt kept before it, if the compactor says so.
        over_by_tokens, irreducible_tokens, fits: what it says about a result above the target.
        dangling: how many dangling calls it says it dropped.
        facts_left: how many facts it says it left out (law L21).
        first_changed: the first message of *before* at which it says that the request differs.
        report: its whole account, as JSON.
        given: the references that it says it gave out.
        cleared: the messages of *before* in which it says that it cleared outputs.
        edits: what the provider is to be asked to hide in the place of clearing; the messages are then as they were.
        betas: the beta headers that this needs.
        request: the output as it is to be sent, where the outcome says more than that of what the request has to say.
        paid: how many requests stand in its account.
        kinds, made_kinds: what the messages of *before* and *after* are, by index.
        kinds_told: whether the compactor was told the kinds, too.
        sizes: tokens of the messages of *before*, those of a fused head taken apart.
        before_tokens, after_tokens: whole requests, measured, not as claimed.
        summary_tokens: size of the summary's text, measured.
        pins: (message, block) of *before* that were to survive.
        pinned_texts: texts that were to stand among the pins, whoever said them.
        pinned_tokens: the size of all pins.
        reminders: texts that were to be put back.
        secrets: texts that no message has: they were taken out before anything was done, or stand around the messages alone.
        rung: what was done to the old messages: ``clear``, ``collapse``, ``summarise`` or ``snip``, the last where it was
            several; ``None`` if nobody says.
        digests: the digests of turns that the compactor was given.
        stored: what can be fetched, as text, by its reference; ``None`` if there is no store.
        undone: the body that undoing gives back.
        exchanges: with the summariser, in order.
        headings: of the sections that a reply has to have, if the compactor has such.
        known_headings: all that a summary may have.
        quoting_headings: of the sections in which only persons speak.
        same_object: whether an unchanged conversation came back as the same object.
        same_tail: whether the messages of the tail are the same objects.
        mutated: whether what was passed in was changed.
        repeated: `digest` of a second run of the same.
        again: outcome of compacting the result at once, and whether the same object came back.

    Raises:
        PolicyError: on construction, for a dialect, profile, outcome, rung or `when` that there is not.

    >>> Record(dialect="anthropic", before=[], after=[], outcome="done")
    Traceback (most recent call last):
        ...
    compactlib.errors.PolicyError: outcome: one of 'compacted', 'unchanged', 'refused', not 'done'
    """

    dialect: str = field(validator=_one_of(*DIALECTS))
    before: Json
    after: Json
    outcome: Literal["compacted", "unchanged", "refused"] = field(validator=_one_of("compacted", "unchanged", "refused"))
    reason: str = ""
    when: Literal["auto", "now", "overflow"] = field(default="auto", validator=_one_of("auto", "now", "overflow"))
    limits: Limits = Limits()
    cut: int | None = None
    kept_prompt: int | None = None
    over_by_tokens: int | None = None
    irreducible_tokens: int | None = None
    fits: bool | None = None
    dangling: int | None = None
    facts_left: int | None = None
    first_changed: int | None = None
    report: Json = None
    given: tuple[str, ...] = ()
    cleared: tuple[int, ...] = ()
    edits: Json = None
    betas: tuple[str, ...] = ()
    request: Json = None
    paid: int | None = None
    kinds: tuple[Origin | None, ...] | None = None
    made_kinds: tuple[Origin | None, ...] | None = None
    kinds_told: bool = True
    sizes: tuple[int, ...] | None = None
    before_tokens: int | None = None
    after_tokens: int | None = None
    summary_tokens: int | None = None
    pins: tuple[tuple[int, int], ...] = ()
    pinned_texts: tuple[str, ...] = ()
    pinned_tokens: int | None = None
    reminders: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    rung: str | None = field(default=None, validator=_one_of(*RUNGS))
    digests: tuple[str, ...] = ()
    stored: Mapping[str, str] | None = None
    undone: Json = None
    exchanges: tuple[Exchange, ...] | None = None
    headings: tuple[str, ...] | None = None
    known_headings: tuple[str, ...] | None = None
    quoting_headings: tuple[str, ...] = ()
    same_object: bool | None = None
    same_tail: bool | None = None
    mutated: bool | None = None
    repeated: str | None = None
    profile: str | None = field(default=None, validator=_profile)
    again: tuple[str, bool] | None = None

    @property
    def digest(self) -> str:
        """What law L16 compares: outcome, output, and every request."""
        asked = [(exchange.instructions, exchange.text, exchange.attempt) for exchange in self.exchanges or ()]
        said: list[Any] = [self.outcome, self.reason, self.cut, self.kept_prompt, self.after, asked]
        return hashlib.sha256(json.dumps(said, ensure_ascii=True).encode()).hexdigest()
