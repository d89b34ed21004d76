"""
Repair: a conversation that a provider refuses, made one that it takes.

What this is
    `repair` gives the conversation with every fault mended that can be mended
    safely, what was done, and what is left.

The fixes
    The names of `rules.FIXES`, and two for what no rule's own fix covers.

    =====================  ==========================================================
    ``drop-orphan``        a result without its call goes; so does a call that never
                           ran, because the stream echoed it or cut it off
    ``hoist-results``      a result is led to its call; words and pictures that stood
                           between go behind the batch
    ``synthesize-result``  a dangling call is answered: the outcome is unknown
    ``dedup-result``       of two results for one call the first stays
    ``move-words``         what the model said behind its calls goes before them
    ``merge-same-role``    neighbours of one side become one message, texts of a list one text
    ``insert-bridge``      a message is put where one has to stand: a user's before a
                           model's that stands first, a model's behind results alone
    ``rename-id``          a call and its result get a new id
    ``drop-empty``         a text or a message that holds nothing goes
    ``placeholder-text``   words stand for what may not be empty, or is too large
    ``strip-id``           an item's own id, which may be left out, is left out
    ``restore-seal``       sealed reasoning is as the model returned it, where the caller says how
    ``sentinel-seal``      a call without thought signature gets the one that stands for a lost one
    ``strip-seal``         thinking without signature leaves a closed turn
    ``wrap-arguments``     arguments, or a response, that are no JSON object are put into one
    ``move-image``         media leave a result that may not carry them
    ``append-user``        a user message behind a model's that may not stand last
    =====================  ==========================================================

Rules it obeys
    * Law L1.  What it gives is valid, or what is not is in `Repaired.left`.
    * Law L4.  Pending calls stay pending, unless the conversation is closed.
    * Law L5.  It never edits a model message of the current turn that holds
      reasoning, but to put back what the model returned.
    * Never a success is invented, and no person's word is lost.
    * Law L16.  It is deterministic, ids included, and repairing twice is
      repairing once.
    * What is valid comes back as the same object; so does every message that
      needs no fix.

How it works
    The validator says what is wrong, and nothing else is touched.  The passes
    run in the order that is safe: what one does never undoes what one before it
    did.  After each that did something the validator is asked again, because a
    fix can lay bare, or settle, another fault.  Each pass is linear, and few
    rounds suffice.

What is not here
    The passes themselves: `restoring` (what is sealed), `answering` (pairs), `renaming` (ids), `mending`
    (contents), `parting` (what may not stand together), `items` (the Responses
    API).  Nothing is ever declared, and no system text moved (law L26).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from attrs import evolve, frozen

from ..arguments import need
from ..model import Conversation, Json, Message, Origin, need_conversation
from ..turns import Kind, divide, origins
from .alternation import ALTERNATION, alternate
from .answering import answer_calls
from .automaton import Neighbours
from .binding import betas_for, dropping
from .draft import Draft, Fix, Piece, Slot, pieces_of, rebuilt, spoken
from .items import mend_items
from .mending import mend_blocks, move_images
from .parting import part
from .profiles import Profile, profile_named
from .renaming import rename_ids
from .restoring import restore
from .rules import RULES
from .violation import Violation

__all__ = ["CONTINUE", "Fix", "Left", "Repaired", "repair"]

CONTINUE: Final = "Continue."
"""What a user message says that is only there because one has to be."""

_ROUNDS: Final = 8
_WANTS_USER: Final = frozenset(
    {"A-END-01", "A-END-02", "A-EMPTY-04", "A-THINK-04", "B-END-01", "G-EMPTY-04", "G-END-01"}
    | {"L-USER-01", "M-LAST-01", "M-START-01", "O-EMPTY-01"}
)
_STARTS: Final = frozenset({"A-START-01", "B-START-01", "G-CALL-01"})
_NEIGHBOURS: Final = frozenset({"A-ALT-01", "B-ALT-01", "G-ALT-01"})


@frozen
class Left:
    """
    A fault that stays.

    Attributes:
        violation: the finding, in the repaired conversation.
        reason: why it was not mended, in one sentence.
    """

    violation: Violation
    reason: str


@frozen
class Repaired:
    """
    What came of a repair.

    Attributes:
        conversation: valid but for what is left; the input itself if nothing was done.
        fixes: what was done, in order.
        left: errors that no safe fix mends.
        thinking: what the request has to say of thinking from now on, because reasoning stands behind what was mended and
            the model refuses it otherwise (A-THINK-07): the value of ``thinking``, as in `Compacted`.
    """

    conversation: Conversation
    fixes: tuple[Fix, ...] = ()
    left: tuple[Left, ...] = ()
    thinking: Mapping[str, Json] | None = None

    @property
    def betas(self) -> tuple[str, ...]:
        """The beta headers that `thinking` needs."""
        return betas_for(self.thinking)


def repair(
    conversation: Conversation,
    *,
    close: bool = False,
    profile: Profile | str | None = None,
    original: Mapping[int, Json] | None = None,
) -> Repaired:
    """
    Mend what a provider would refuse, as far as that is safe.

    A conversation without violations of level error comes back as the same
    object; warnings are left alone.

    Args:
        conversation: the conversation.
        close: whether it is sent now.  Then pending calls are answered too, and
            a user message is appended where one has to stand last.  Otherwise
            it is repaired as a history, whose open calls may still be answered.
        profile: how the provider wants it, by name; by default the dialect's own.
        original: blocks of model messages as the provider returned them, by
            wire index, as `check` takes them.  What is sealed in a message and
            not as it was returned is put back from there; nothing else could
            be done about it (law L5).

    Raises:
        PolicyError: the profile is not known, or is another dialect's, or an
            argument is not what it is declared to be.

    >>> from compactlib.dialects import parse, render
    >>> body = [
    ...     {"role": "user", "content": "hi"},
    ...     {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "ls", "input": {}}]},
    ...     {"role": "user", "content": "go on"},
    ... ]
    >>> repaired = repair(parse(body, dialect="anthropic"))
    >>> [(fix.name, fix.index, fix.message) for fix in repaired.fixes]
    [('synthesize-result', 1, "answered 't1': the outcome is unknown")]
    >>> [block["type"] for block in render(repaired.conversation)[2]["content"]]
    ['tool_result', 'text']
    >>> again = repair(repaired.conversation)
    >>> again.conversation is repaired.conversation, again.fixes
    (True, ())
    """
    need_conversation(conversation)
    need("close", close, bool, "True or False")
    need("profile", profile, Profile | str | None, "the name of a profile")
    need("original", original, Mapping | None, "blocks by the index of their message")
    chosen = profile if isinstance(profile, Profile) else profile_named(profile or conversation.dialect)
    draft = Draft(conversation, chosen, "request" if close else "history", original or {})
    errors = draft.errors()
    if original:
        restore(draft, errors)
        if draft.fixes:
            draft.seal()
            errors = draft.errors()
    for _round in range(_ROUNDS):
        done = len(draft.fixes)
        draft.reseal()
        for mend in (answer_calls, _merge, _bridge, _alternate, _part, rename_ids, mend_blocks, mend_items, move_images, _append):
            before = len(draft.fixes)
            if errors:
                mend(draft, errors)
            if len(draft.fixes) > before:
                errors = draft.errors()
        if len(draft.fixes) == done:
            break
    left = tuple(Left(violation, _reason(draft, violation)) for violation in errors)
    return Repaired(draft.conversation, tuple(draft.fixes), left, dropping(conversation, draft.conversation))


# -- passes over whole messages ----------------------------------------------------------------------------------------


def _merge(draft: Draft, errors: tuple[Violation, ...]) -> None:
    """Make neighbours of one side one message, where the provider does not do so itself."""
    named = {one.index: one.rule for one in errors if one.rule in _NEIGHBOURS and one.index is not None}
    counts = draft.profile.neighbours is Neighbours.COUNTED  # then results may stand anywhere in their turn
    if named and not counts and _has_pending(draft):  # L4: results are still to come, and stand before all that is behind them
        live = max(at for at, (message, _source) in enumerate(draft.slots) if message.role == "model")
        named = {at: rule for at, rule in named.items() if at <= live}
    if not named:
        return
    out: list[Slot] = []
    joined: list[Piece] = []  # the pieces of the last message in `out`, once something was merged into it
    conversation = draft.conversation
    division = divide(conversation)
    before = len(conversation.messages) - len(draft.slots)  # a fused head is one slot
    kinds = division.kinds[before:]
    last = -1 if division.last_person is None else division.last_person - before
    for at, (message, source) in enumerate(draft.slots):
        behind = out[-1][0] if out else None
        may_join = behind is not None and behind.role == message.role and not any(map(draft.is_sealed, (behind, message)))
        if at in named and behind is not None and may_join:
            joined = joined or _told_pieces(behind, kinds[at - 1], is_last=at - 1 == last)
            joined += _told_pieces(message, kinds[at], is_last=at == last)
            draft.say("merge-same-role", named[at], source, "joined a message to the one before it, of the same side")
            continue
        if joined:
            out[-1] = _joined(out[-1], joined)
            joined = []
        out.append((message, source))
    if joined:
        out[-1] = _joined(out[-1], joined)
    draft.slots = out


def _has_pending(draft: Draft) -> bool:
    """Whether calls at the live end may still be answered."""
    if draft.mode == "request" or not any(message.calls for message, _source in draft.slots):
        return False
    return bool(divide(draft.conversation).pending)


def _told_pieces(message: Message, kind: Kind, *, is_last: bool) -> list[Piece]:
    """
    The pieces of a message, with the origins of an attachment or a reminder.

    They are told by the message as a whole, and could not be told from its
    pieces: what holds both would look like a prompt, and close its turn (L5).
    What may be a person's last words stays so, whatever they look like (L8).
    """
    if message.origin is not None or kind not in (Kind.ATTACHMENT, Kind.HARNESS):
        return pieces_of(message)
    if is_last:
        return [(block, Origin.UNKNOWN) for block in message.blocks]
    return list(zip(message.blocks, origins(message, kind), strict=True))


def _joined(slot: Slot, pieces: list[Piece]) -> Slot:
    message, source = slot
    return rebuilt(evolve(message, content=()), pieces), source


def _bridge(draft: Draft, errors: tuple[Violation, ...]) -> None:
    """Let a user message stand first."""
    rule = next((one.rule for one in errors if one.rule in _STARTS and one.index is not None), None)
    if rule is not None:
        at = next(at for at, (message, _source) in enumerate(draft.slots) if message.role == "model")
        draft.slots.insert(at, (spoken(draft.profile.dialect, CONTINUE), draft.slots[at][1]))
        draft.say("insert-bridge", rule, draft.slots[at][1], "put a user message before the model's, which stood first")


def _part(draft: Draft, errors: tuple[Violation, ...]) -> None:
    """Put apart what may not stand together."""
    part(draft, errors, prompt=CONTINUE)


def _alternate(draft: Draft, errors: tuple[Violation, ...]) -> None:
    """Let the sides take turns, where the provider wants it so."""
    alternate(draft, errors, prompt=CONTINUE)


def _append(draft: Draft, errors: tuple[Violation, ...]) -> None:
    """Let a user message stand last; only of what is sent now."""
    if draft.mode == "request":
        for one in errors:
            if one.rule in _WANTS_USER or (one.rule in _STARTS and one.index is None):
                source = draft.slots[-1][1] if draft.slots else None
                draft.slots.append((spoken(draft.profile.dialect, CONTINUE), source))
                draft.say("append-user", one.rule, source, "appended a user message")
                return


# -- what is left ------------------------------------------------------------------------------------------------------


def _reason(draft: Draft, violation: Violation) -> str:
    """Why nothing was done about it."""
    wants_user = violation.rule in _WANTS_USER or (violation.rule in _STARTS and violation.index is None)
    if wants_user and draft.mode == "history":
        return "a user message has to stand last, and none is appended unless the conversation is closed"
    if violation.index is None:
        return "it concerns the request, not a message"
    is_about_two = violation.rule in _NEIGHBOURS or violation.rule in ALTERNATION
    start = max(violation.index - is_about_two, 0)
    about = draft.slots[start : violation.index + 1]
    if any(draft.is_sealed(message) for message, _source in about):
        return "its message holds reasoning and belongs to the current turn, so law L5 forbids to edit it"
    names_pending = draft.profile.neighbours is not Neighbours.FREE  # where calls may wait, only those that dangle are named
    if RULES[violation.rule].core == "C1" and names_pending and draft.mode == "history" and about[-1][0].role == "model":
        return "the call is pending: no person has spoken since, so its result may still come"
    if violation.fix in ("insert-bridge", "move-image", "merge-same-role") and draft.mode == "history":
        return "results of pending calls are still to come, and stand before what is behind them"
    if RULES[violation.rule].fix is None:
        return "no safe fix is known for it"
    return "no safe fix applies here"
