"""
Calls and their results, brought back together.

What this is
    The pass of `repair` that puts pairs in order: it drops results that answer
    nothing, leads the others to their calls, and answers what was left open.

Rules it obeys
    * Law L2.  A call, the others of its batch and their results stand together.
    * Law L4.  A pending call is answered only when the conversation is closed.
    * Law L5.  Sealed model messages are moved around, never edited.
    * Never a success is invented.  A synthetic result is an error, and says
      that the outcome is not known, because a side effect may have happened.
    * A real result is worth more than an order: one that came late goes back
      to its call, and words or pictures that came between go behind it.

How it works
    Batch for batch (see `batches`) it writes the model messages; the results
    that stood in front already, where they stood; behind them those that were
    led back, and the synthetic ones; then the rest, in order.  A healthy batch
    is written as it was read, message for message the same objects.

What is not here
    Ids that are used twice (`renaming`), contents (`mending`).
"""

from __future__ import annotations

from typing import Final

from attrs import evolve

from ..model import Block, Call, Message, Origin, Reasoning, Result, Text, Wire, wire
from ..turns import divide
from .automaton import Breach, Neighbours
from .batches import Batch, OpenCall, is_words, read_batches
from .draft import Draft, Piece, Slot, pieces_of, rebuilt, with_key
from .items import answer_items
from .parts import unknown_response
from .profiles import Profile
from .rules import RULES
from .violation import Violation, quote_all

__all__ = ["UNKNOWN_OUTCOME", "answer_calls"]

UNKNOWN_OUTCOME: Final = (
    "No result was recorded for this call, so its outcome is unknown: "
    "it may have run in part or as a whole. Find out what it did before calling it again."
)
"""What a synthetic result says."""

_ORDER: Final = (Breach.ORDER, Breach.SPLIT, Breach.BETWEEN, Breach.LATE)
_PAIRS: Final = (Breach.OPEN, Breach.STRAY, Breach.DUPLICATE, Breach.REPEAT, *_ORDER)
_UNNAMED: Final = frozenset({"M-TOOLID-01", "O-TOOLMSG-01"})
_BESIDE: Final = frozenset({"B-ORDER-01"})  # a rule on the order in one message, beside that of the breach
_CUT_OFF: Final = frozenset({"max_tokens", "length", "aborted", "error", "model_context_window_exceeded"})


def answer_calls(draft: Draft, errors: tuple[Violation, ...]) -> None:
    """Put calls and results in order, if anything is wrong with them."""
    if draft.profile.neighbours is Neighbours.FREE:
        answer_items(draft, errors, unknown=UNKNOWN_OUTCOME)
        return
    named = (draft.profile.breaches.get(breach) for breach in _PAIRS)
    rules = {rule[0] for rule in named if rule is not None} | _UNNAMED | _BESIDE
    if any(violation.rule in rules for violation in errors):
        _Writer(draft, errors).write()


class _Writer:
    """Writes the batches of a draft anew."""

    def __init__(self, draft: Draft, errors: tuple[Violation, ...]) -> None:
        self.draft = draft
        self.slots = draft.slots
        self.batches, self.found = read_batches(draft)
        self.unnamed = {one.index: one.rule for one in errors if one.rule in _UNNAMED and not one.pointer.endswith("/content")}
        rules = {one.rule for one in errors}
        breaches = draft.profile.breaches
        self.orders = Breach.ORDER in breaches and self._rule(Breach.ORDER) in rules
        split = breaches.get(Breach.SPLIT)
        self.joins_results = split is not None and RULES[split[0]].level_in(split[1]) == "error"
        self.counts = draft.profile.neighbours is Neighbours.COUNTED
        self.flagged = {one.index for one in errors if one.rule == self._rule(Breach.OPEN)}
        self.pending = self._pending()
        self.pieces: dict[int, list[Piece]] = {}
        self.out: list[Slot] = []

    def _pending(self) -> set[tuple[int, int]]:
        """L4: the open calls at the live end, (message, position); none in a request, which ends now."""
        last = self.batches[-1]
        if self.draft.mode == "request" or not last.models:
            return set()
        division = divide(self.draft.conversation)
        # positions and indices differ by the fused head, behind which every call stands
        shift = len(self.draft.conversation.messages) - len(self.slots)
        pending = {(at - shift, ordinal) for at, ordinal in division.pending}
        ordinals: dict[int, int] = {}
        kept = set()
        for one in last.calls:
            ordinal = ordinals[one.at] = ordinals.get(one.at, -1) + 1
            if one.at not in self.flagged or (one.at, ordinal) in pending:
                kept.add((one.at, one.place))
        return kept

    def write(self) -> None:
        """Write all batches, and say what was done."""
        joins = self.draft.profile.results == "user"
        for number, batch in enumerate(self.batches):
            dropped = self._write_models(batch)
            missing = [
                one
                for one in batch.calls
                if one.answer is None
                and (one.at, one.place) not in self.pending
                and (one.at, one.place) not in dropped
                # who only counts takes a batch without any result, too
                and (one.at in self.flagged or not self.counts)
            ]
            made = self._synthesise(missing)
            if joins:
                self._write_user(batch, number, made)
            else:
                self._write_tool(batch, number, made)
        self.draft.slots = self.out

    # -- model messages ------------------------------------------------------------------------------------------------

    def _write_models(self, batch: Batch) -> set[tuple[int, int]]:
        """The model messages; gives the calls that are not in them any more."""
        dropped: set[tuple[int, int]] = set()
        by_message: dict[int, list[OpenCall]] = {}
        for one in batch.calls:
            by_message.setdefault(one.at, []).append(one)
        for at in batch.models:
            message, source = self.slots[at]
            if not self.draft.is_sealed(message):
                places = self._drop_unspoken(message, source, by_message.get(at, []))
                if places:
                    dropped |= {(at, place) for place in places}
                    pieces = [piece for place, piece in enumerate(pieces_of(message)) if place not in places]
                    if all(isinstance(block, Reasoning) for block, _origin in pieces):
                        continue
                    message = rebuilt(message, pieces)
                if self.orders:
                    message = self._words_first(message, source)
            self.out.append((message, source))
        return dropped

    def _drop_unspoken(self, message: Message, source: int | None, calls: list[OpenCall]) -> set[int]:
        """
        The positions of open calls that never ran: echoes of another call of the message, and one that was cut off.

        A stream that is added up wrongly repeats its calls, id, arguments and
        all; a reply that hit its limit ends in a call that was never whole.
        """
        first: dict[str, Call] = {}
        echoes, cut = [], []
        stop = message.wire.get("stop_reason", message.wire.get("stopReason"))
        for one in calls:
            twin = first.setdefault(one.call.id, one.call)
            if one.answer is not None or (one.at, one.place) in self.pending:
                continue
            is_twin = twin is not one.call and not self.counts  # where ids are optional, one name twice is no echo
            if is_twin and (twin.name, twin.arguments) == (one.call.name, one.call.arguments):
                echoes.append(one)
            elif isinstance(stop, str) and stop in _CUT_OFF and one.place == len(message.content) - 1:
                cut.append(one)
        if echoes:
            words = _said("dropped echoes of {} in the same message", echoes)
            self.draft.say("drop-orphan", self._rule(Breach.DUPLICATE), source, *words)
        if cut:
            words = _said("dropped {}, which was cut off with its message and never ran", cut)
            self.draft.say("drop-orphan", self._rule(Breach.OPEN), source, *words)
        return {one.place for one in (*echoes, *cut)}

    def _words_first(self, message: Message, source: int | None) -> Message:
        """A-ORDER-01: nothing of the model's stands behind its calls."""
        pieces = pieces_of(message)
        ordered = sorted(pieces, key=lambda piece: not is_words(piece[0]))
        made = rebuilt(message, ordered)
        if made is not message:
            words = "moved what stood behind the calls in front of them"
            self.draft.say("move-words", self._rule(Breach.ORDER), source, words, (call.id for call in message.calls))
        return made

    def _synthesise(self, missing: list[OpenCall]) -> list[tuple[Result, int | None]]:
        """Results that say that nothing is known, and for which message."""
        made: list[tuple[Result, int | None]] = []
        by_message: dict[int, list[OpenCall]] = {}
        for one in missing:
            if one.call.wire.tag == "function_call":
                continue  # the old kind has no id, and no refusal of it is known
            by_message.setdefault(one.at, []).append(one)
            made.append((_unknown(one.call, self.draft.profile), self.slots[one.at][1]))
        for at, group in by_message.items():
            words = _said("answered {}: the outcome is unknown", group)
            self.draft.say("synthesize-result", self._rule(Breach.OPEN), self.slots[at][1], *words)
        return made

    # -- results as blocks of the user's message -----------------------------------------------------------------------

    def _write_user(self, batch: Batch, number: int, made: list[tuple[Result, int | None]]) -> None:
        written: list[tuple[list[Piece], Message, int | None]] = []
        target, room = -1, 0  # the message whose front takes what comes, and how many results stand there
        in_front = True
        kept: set[tuple[int, int]] = set()
        for at in batch.rest:
            message, source = self.slots[at]
            in_front = in_front and message.role == "user"
            pieces: list[Piece] = []
            leading = 0
            for place, piece in enumerate(pieces_of(message)):
                due = self.found.get((at, place))
                if due is None:
                    in_front = False
                elif isinstance(due, str):
                    self._say_dropped(due, piece[0], source)
                    continue
                elif due.batch != number or not (in_front or self.counts):
                    continue  # it goes to its call
                else:
                    leading += 1
                    kept.add((at, place))
                pieces.append(piece)
            if leading:
                target, room = len(written), leading
                in_front = in_front and not self.joins_results
            written.append((pieces, message, source))
        moved = self._led_back(batch, kept)
        extra = [*(self._piece(at, place) for at, place in moved), *((result, Origin.TOOL) for result, _source in made)]
        if extra:
            if target < 0:
                if not written or written[0][1].role != "user":
                    source = self.slots[batch.models[-1]][1] if batch.models else None
                    written.insert(0, ([], Message("user", (), wire("user", ("role", "content"))), source))
                target = 0
            written[target][0][room:room] = extra
        for pieces, message, source in written:
            if pieces or not message.content:
                self.out.append((rebuilt(message, pieces), source))

    def _piece(self, at: int, place: int) -> Piece:
        """A piece that is led elsewhere; one message can hold results of every batch, so its pieces are kept."""
        if at not in self.pieces:
            self.pieces[at] = pieces_of(self.slots[at][0])
        return self.pieces[at][place]

    # -- results as messages -------------------------------------------------------------------------------------------

    def _write_tool(self, batch: Batch, number: int, made: list[tuple[Result, int | None]]) -> None:
        front: list[Slot] = []
        behind: list[Slot] = []
        kept: set[tuple[int, int]] = set()
        for at in batch.rest:
            message, source = self.slots[at]
            due = self.found.get((at, 0))
            if due is None:
                behind.append((message, source))
            elif isinstance(due, str):
                self._say_dropped(due, message.blocks[0], source)
            elif due.batch == number and not behind:
                kept.add((at, 0))
                front.append((self._named(at, due), source))
        for at, place in self._led_back(batch, kept):
            due = self.found[at, place]
            message, source = self.slots[at]
            front.append((message if isinstance(due, str) else self._named(at, due), source))
        for result, source in made:
            shape = wire("tool", ("role", "tool_call_id", "content"), "string")
            front.append((Message("tool", (result,), shape, Origin.TOOL), source))
        self.out += [*front, *behind]

    def _named(self, at: int, call: OpenCall) -> Message:
        """A tool message that says which call it answers."""
        message, source = self.slots[at]
        if at not in self.unnamed:
            return message
        result, *more = message.results
        self.draft.say("rename-id", self.unnamed[at], source, *_said("said that the result answers {}", [call]))
        return evolve(message, content=(evolve(result, call_id=call.call.id), *more), wire=with_key(message.wire, "tool_call_id"))

    # -- both ----------------------------------------------------------------------------------------------------------

    def _led_back(self, batch: Batch, kept: set[tuple[int, int]]) -> list[tuple[int, int]]:
        """Where the results stand that have to be led to this batch."""
        moved: dict[tuple[int, int], OpenCall] = {}
        inside = set(batch.models)
        for one in batch.calls:
            if one.answer is not None and one.answer not in kept and one.answer[0] not in inside:
                moved[one.answer] = one
        places = sorted(moved)
        if places:
            late = any(at > (batch.rest or batch.models)[-1] for at, _place in places)
            rule = self._rule(Breach.LATE if late else Breach.BETWEEN)
            calls = [moved[place] for place in places]
            source = self.slots[batch.models[-1]][1]
            self.draft.say("hoist-results", rule, source, *_said("led the results of {} to their calls", calls))
        return places

    def _say_dropped(self, fix: str, block: Block, source: int | None) -> None:
        key = block.call_id if isinstance(block, Result) else ""
        breach, what = (Breach.STRAY, "answers no call") if fix == "drop-orphan" else (Breach.REPEAT, "is not the first")
        self.draft.say(fix, self._rule(breach), source, f"dropped a result for {quote_all([key])}, which {what}", (key,))

    def _rule(self, breach: Breach) -> str:
        breaches = self.draft.profile.breaches
        return breaches.get(breach, breaches[Breach.OPEN])[0]  # what is no breach is done for the sake of pairs


def _said(words: str, calls: list[OpenCall]) -> tuple[str, tuple[str, ...]]:
    """The sentence about these calls, and their ids, as `Draft.say` takes them."""
    ids = tuple(one.call.id for one in calls)
    return words.format(quote_all(ids)), ids


def _unknown(call: Call, profile: Profile) -> Result:
    """A result that says that nothing is known, as a block or as a message's content."""
    key = call.id
    if profile.dialect == "gemini":
        return unknown_response(call, UNKNOWN_OUTCOME)
    if profile.results == "tool":
        return Result(key, UNKNOWN_OUTCOME, wire("tool"))
    if profile.dialect == "mcp-sampling":
        shape = Wire("tool_result", ("type", "toolUseId", "content", "isError"), (("isError", True),), "error")
        return Result(key, (Text(UNKNOWN_OUTCOME),), shape)
    if profile.dialect == "bedrock":
        shape = wire("toolResult", ("toolUseId", "content", "status"), "error")
        return Result(key, (Text(UNKNOWN_OUTCOME, wire("text", ("text",))),), shape)
    shape = Wire("tool_result", ("type", "tool_use_id", "content", "is_error"), (("is_error", True),))
    return Result(key, UNKNOWN_OUTCOME, shape)
