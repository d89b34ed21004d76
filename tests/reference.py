"""
The reference model: the same answers as the engine, obvious and slow.

Everything here is written from the laws, quadratic or worse, over plain
lists, and shares no code with the engine.  It understands the small
conversations that `strategies` and `small` make, whose kinds are known by
construction, and never looks into a wire message.

*Pieces* are enough for where something may begin (`spans`, `cuts`, `choice`).
An `Item` is a piece with its size and its words, and `decide` says of a list
of them everything that is decided before a model is asked; `clearing` says
which old outputs go.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cached_property

from attrs import evolve, field, frozen

import compactlib as cl

Piece = tuple[str, str]
"""One message as (kind, detail): ``("calls", "a,b")``, ``("results", "a")``, ``("prompt", "")`` and so on."""


# --- Where something may begin ---------------------------------------------------------------------------------------


def spans(pieces: Sequence[Piece], *, runs_on: bool = False) -> list[tuple[int, int]]:
    """
    Each answered call as (message of the call, message of its result), found by looking back from the result.

    No result answers a call behind which a person spoke and the model went on, unless responses are runs of items
    (*runs_on*), where results may stand at any distance.
    """
    found = []
    taken: set[tuple[int, int]] = set()
    for at, (kind, detail) in enumerate(pieces):
        if kind != "results":
            continue
        for wanted in detail.split(","):
            went_on = talked_past = False  # going back: a model message was met; before it, a person's words
            for back in range(at - 1, -1, -1):
                what, names = pieces[back]
                if what == "prompt":
                    talked_past = went_on
                if what in MODEL:
                    if talked_past and not runs_on:
                        break
                    went_on = True
                    hit = [
                        ordinal
                        for ordinal, name in enumerate(names.split(","))
                        if what == "calls" and name == wanted and (back, ordinal) not in taken
                    ]
                    if hit:
                        taken.add((back, hit[0]))
                        found.append((back, at))
                        break
    return found


MODEL = ("calls", "text", "bridge")
"""What the model says; a bridge is what a client puts into its mouth between results and a picture."""


def closings(pieces: Sequence[Piece], *, runs_on: bool = False) -> list[tuple[int, int]]:
    """(start, stop) for all that belongs together: nothing may begin after *start*, up to and including *stop*."""
    found = spans(pieces, runs_on=runs_on)
    found += [(at - 2, at) for at in range(2, len(pieces)) if (pieces[at - 1][0], pieces[at][0]) == ("bridge", "attachment")]
    if runs_on:
        found += [(at - 1, at) for at in range(1, len(pieces)) if {pieces[at - 1][0], pieces[at][0]} <= set(MODEL)]
    return found


def openers(pieces: Sequence[Piece], *, runs_on: bool = False) -> list[int]:
    """Where a turn or a step begins."""
    crossing = closings(pieces, runs_on=runs_on)
    begins = [at for at, (kind, _) in enumerate(pieces) if kind == "prompt" or kind in MODEL]
    return [at for at in begins if not any(start < at <= stop for start, stop in crossing)]


def cuts(pieces: Sequence[Piece], *, runs_on: bool = False) -> tuple[list[int], list[int]]:
    """
    (turn cuts, step cuts): every index that no span crosses and that begins a turn or a step.

    Where neighbours of the model are one response (*runs_on*) only the first of them begins a step.
    """
    begins = openers(pieces, runs_on=runs_on)
    first = begins[0] if begins else len(pieces)
    turn = [at for at in begins if pieces[at][0] == "prompt" and at > first]
    step = [at for at in begins if pieces[at][0] != "prompt" and at >= max(first, 1)]
    return turn, step


def choice(
    pieces: Sequence[Piece], weights: Sequence[int], limit: int, *, step_cuts: bool = True, runs_on: bool = False
) -> tuple[int, str, int] | None:
    """(index, kind, tail tokens) by law L3, trying every cut."""
    turn, step = cuts(pieces, runs_on=runs_on)
    prompts = [at for at in openers(pieces, runs_on=runs_on) if pieces[at][0] == "prompt"]
    return choice_among(turn, step if step_cuts else [], prompts, weights, limit)


def choice_among(
    turn: Sequence[int], step: Sequence[int], prompts: Sequence[int], weights: Sequence[int], limit: int
) -> tuple[int, str, int] | None:
    """(index, kind, tail tokens) by law L3 among these cuts; *prompts* begin turns."""

    def tail(at: int, kind: str) -> int:
        before = [prompt for prompt in prompts if prompt < at]
        return sum(weights[at:]) + (weights[before[-1]] if kind == "step" and before else 0)

    def longest(cuts_of_kind: Sequence[int], kind: str) -> tuple[int, str, int] | None:
        best = None
        for at in cuts_of_kind:
            size = tail(at, kind)
            if size <= limit and (best is None or size > best[2]):
                best = (at, kind, size)
        return best

    by_turn = longest(turn, "turn")
    by_step = longest(step, "step")
    if by_turn is not None and by_turn[2] >= limit // 4:
        return by_turn
    if by_step is not None and (by_turn is None or by_step[2] > by_turn[2]):
        return by_step
    if by_turn is not None:
        return by_turn
    everything = [(tail(at, "turn"), at, "turn") for at in turn] + [(tail(at, "step"), at, "step") for at in step]
    if not everything:
        return None
    size, at, kind = min(everything)
    return at, kind, size


# --- Everything before a model is asked ------------------------------------------------------------------------------

Count = Callable[[str], int]

FRAME_TOKENS = 4
"""What a message costs besides its blocks."""
SUMMARY_TOKENS = 256
"""The smallest summary."""
NOTE = "<system-reminder>"
LIST = "[compactlib changed files v1: "


@frozen(kw_only=True)
class Item:
    """
    One message as it was made.

    Attributes:
        kind: ``system``, ``preamble``, ``prompt``, ``text``, ``calls``, ``bridge``, ``results``, ``attachment``,
            ``harness``, and of a head ``pins``, ``summary`` and ``reminder``.
        names: the ids of its calls, or of those that it answers.
        words: what it says, or of results what one of them says.
        beside: what stands beside results.
        pictures: how many pictures stand in a prompt.
        thinks: whether it begins with thinking.
        writes: the files that its calls write.
        held: the texts of pins; the earlier prompts that a summary quotes; the text of a reminder.
    """

    kind: str
    names: str = ""
    words: str = ""
    beside: str = ""
    pictures: int = 0
    thinks: bool = False
    writes: tuple[str, ...] = ()
    held: tuple[str, ...] = ()


@frozen(kw_only=True)
class Sizes:
    """The names and formulas of the chapter on the budget."""

    budget: int
    trigger: int
    target: int
    room: int
    summary: int
    extras: int
    tail: int
    tail_room: int
    min_gain: int


@frozen(kw_only=True)
class Decision:
    """
    What comes of a conversation before anybody is asked.

    Attributes:
        reason: ``""`` if a model is to be asked, else why not.
        sizes, cut, kind, tail_tokens, prompt: where the tail begins, and why there; *prompt* is kept before it.
        system, preamble: what of the input stands first in the head, by index.
        pins, quotes, reminders: texts in the head.
        pictures: how many of the last words' pictures are kept beside the quotations.
        replaced: what the summary stands for, by index.
        unkept: prompts that the summary before quoted and that have no room any more: they are shown, and replaced too.
        irreducible_tokens: the smallest result there could be.
    """

    reason: str = ""
    sizes: Sizes | None = None
    cut: int = 0
    kind: str = ""
    tail_tokens: int = 0
    prompt: int | None = None
    system: tuple[int, ...] = ()
    preamble: tuple[int, ...] = ()
    pins: tuple[str, ...] = ()
    quotes: tuple[str, ...] = ()
    pictures: int = 0
    reminders: tuple[str, ...] = ()
    replaced: tuple[int, ...] = ()
    unkept: tuple[str, ...] = ()
    irreducible_tokens: int = 0


def sizes(policy: cl.Policy, overhead: int, needed: int) -> Sizes:
    """W, R, B, T, M, G, S, X and K, one line each."""
    window = policy.window_tokens
    reserve = min(32_000, window // 4) if policy.reserve_tokens is None else policy.reserve_tokens
    budget = window - reserve
    if policy.trigger_tokens is None:
        trigger = (window if policy.trigger_of == "window" else budget) * (policy.trigger_percent or 75) // 100
        trigger = min(trigger, budget - min(budget // 8, 16_000))
    else:
        trigger = policy.trigger_tokens + (overhead if policy.trigger_of == "history" else 0)
        trigger = min(trigger, budget - 1)
    room = max(trigger - overhead, 0) * 3 // 5
    if policy.target_tokens is not None:
        room = min(max(policy.target_tokens - overhead, 0), max(trigger - overhead, 0))
    summary = min(max(room // 5, SUMMARY_TOKENS), room // 3, 16_000)
    extras = min(room // 10, 16_000)
    tail_room = room - summary - max(extras, needed)
    tail = min(max(budget // 5, 20_000), max(100_000, budget // 10)) if policy.tail_tokens is None else policy.tail_tokens
    return Sizes(
        budget=budget,
        trigger=trigger,
        target=overhead + room,
        room=room,
        summary=summary,
        extras=extras,
        tail=min(tail, tail_room),
        tail_room=tail_room,
        min_gain=budget // 20,
    )


@frozen(kw_only=True)
class Model:
    """
    One conversation, and what is to be done with it.

    Attributes:
        items: its messages.
        weights: the size of each.
        picture_tokens: what a picture costs.
        policy: what the caller decided.
        count: counts a text.
        around_tokens: what system text and tools outside the messages cost.
        when, pins, reminders: as `compactlib.compact` takes them; a pin is an item of one block.
        thinking: whether the provider was told that the model thinks; ``None`` if the messages alone are known.
        dialect: whose wire it is on.
    """

    items: tuple[Item, ...]
    weights: tuple[int, ...]
    picture_tokens: int = 0
    policy: cl.Policy
    count: Count = field(repr=False)
    around_tokens: int = 0
    when: str = "now"
    pins: tuple[int, ...] = ()
    reminders: tuple[str, ...] = ()
    thinking: bool | None = None
    dialect: str = "anthropic"

    @cached_property
    def pieces(self) -> list[Piece]:
        return [(item.kind, item.names) for item in self.items]

    @cached_property
    def crossing(self) -> list[tuple[int, int]]:
        return closings(self.pieces, runs_on=self.dialect == "openai-responses")

    @cached_property
    def begins(self) -> list[int]:
        return openers(self.pieces, runs_on=self.dialect == "openai-responses")

    @cached_property
    def prompts(self) -> list[int]:
        """Where turns begin."""
        return [at for at in self.begins if self.items[at].kind == "prompt"]

    def prompt_of(self, at: int) -> int | None:
        """The prompt of the turn in which *at* lies."""
        return max((prompt for prompt in self.prompts if prompt < at), default=None)

    @cached_property
    def cuts(self) -> tuple[list[int], list[int]]:
        """Laws L3 and L5: turn cuts and step cuts; where thinking is demanded, what stays of the current turn begins with it."""
        turn, step = cuts(self.pieces, runs_on=self.dialect == "openai-responses")
        current = self.prompts[-1] if self.prompts else self.begins[0] if self.begins else len(self.items)
        demanded = any(item.thinks for item in self.items[current:]) if self.thinking is None else self.thinking
        if demanded and self.dialect == "anthropic":
            step = [at for at in step if at < current or self.items[at].thinks]
        return turn, step if self.policy.step_cuts == "when-needed" else []

    def choose(self, limit: int) -> tuple[int, str, int] | None:
        """Law L3's choice: index, kind, tail tokens."""
        return choice_among(*self.cuts, self.prompts, self.weights, limit)

    @property
    def first_system(self) -> int:
        """How many system messages stand first; they are overhead."""
        count = 0
        while count < len(self.items) and self.items[count].kind == "system":
            count += 1
        return count

    @property
    def overhead_tokens(self) -> int:
        return self.around_tokens + sum(self.weights[: self.first_system])

    def of_kind(self, kind: str, stop: int | None = None) -> list[int]:
        return [at for at, item in enumerate(self.items[:stop]) if item.kind == kind]

    def a_message(self, *texts: str) -> int:
        """The size of a message of ours."""
        return FRAME_TOKENS + sum(map(self.count, texts))


def decide(model: Model) -> Decision:
    """What is decided before a model is asked, in the order of the chapter on outcomes."""
    policy = model.policy
    overhead = model.overhead_tokens
    before = model.around_tokens + sum(model.weights)
    first = sizes(policy, overhead, 0)
    gain = first.min_gain if model.when == "auto" else 1
    if model.when == "auto" and before <= first.trigger:
        return Decision(reason="below-trigger")
    if model.when == "auto" and not policy.auto:
        return Decision(reason="auto-off")
    if first.trigger - overhead < first.budget // 16:
        return Decision(reason="overhead-exceeds-threshold")

    preamble = _preamble(model, first.extras)
    reminders = _reminders(model, first.extras)
    pins = _pins(model)
    needed = sum(model.a_message(text) for _, text in pins)
    too_many_pins = needed > first.room // 2
    needed += sum(model.weights[at] for at in preamble) + sum(map(model.a_message, reminders))

    found = _cut(model, overhead, needed)
    if found is None:
        return Decision(reason="no-legal-cut")
    if too_many_pins:
        return Decision(reason="irreducible")
    known, (cut, kind, tail_tokens), owed = found
    prompt = model.prompt_of(cut) if kind == "step" else None

    kept_pins = [text for at, text in pins if at < cut and at != prompt]
    system = model.of_kind("system", cut)
    head = owed + sum(model.weights[at] for at in (*system, *preamble)) + sum(map(model.a_message, reminders))
    head += model.a_message(*kept_pins) if kept_pins else 0
    smallest = model.choose(-1)
    irreducible = model.around_tokens + head + SUMMARY_TOKENS + (0 if smallest is None else smallest[2])
    summaries = model.of_kind("summary", cut)
    stays = {prompt, *preamble, *_wholly_pinned(model), *system, *summaries}
    stays |= {*model.of_kind("pins"), *model.of_kind("reminder")}
    replaced = [at for at in range(cut) if at not in stays]

    quotes, pictures = _quotes(model, known, cut, prompt, needed, owed)
    unkept = [text for at in summaries for text in model.items[at].held if text not in quotes]

    reason = ""
    if known.tail <= 0 or irreducible >= before - gain:
        reason = "irreducible"
    elif not replaced and not unkept:
        reason = "nothing-new" if summaries else "irreducible"
    elif model.around_tokens + head + SUMMARY_TOKENS + tail_tokens >= before - gain:
        reason = "irreducible"
    return Decision(
        reason=reason,
        sizes=known,
        cut=cut,
        kind=kind,
        tail_tokens=tail_tokens,
        prompt=prompt,
        system=tuple(system),
        preamble=tuple(preamble),
        pins=tuple(kept_pins),
        quotes=tuple(quotes),
        pictures=pictures,
        reminders=tuple(reminders),
        replaced=tuple(replaced),
        unkept=tuple(unkept),
        irreducible_tokens=irreducible,
    )


def _cut(model: Model, overhead: int, needed: int) -> tuple[Sizes, tuple[int, str, int], int] | None:
    """
    The sizes, the cut and what it owes: the room that a cut needs in the head depends on the cut.

    So the choice is made again with room for what the cut before needs, until it has enough; after sixteen rounds
    with room for all there is.
    """
    room = 0
    for rounds in range(1, 18):
        known = _with_wishes(model, sizes(model.policy, overhead, needed + room))
        found = model.choose(max(known.tail, 0))
        if found is None:
            return None
        prompt = model.prompt_of(found[0]) if found[1] == "step" else None
        owed = _owed(model, found[0], prompt)
        wanted = owed + _standing(model, found[0])
        if wanted <= room or known.tail <= 0 or rounds == 17:
            return known, found, owed
        room = wanted if rounds < 16 else _owed(model, len(model.items), None) + _standing(model, len(model.items))
    raise AssertionError("the last round returns")


def _with_wishes(model: Model, known: Sizes) -> Sizes:
    """`tail_turns` and `tail_messages` lengthen the tail as far as there is room."""
    policy, length = model.policy, len(model.items)
    wishes = []
    if policy.tail_turns is not None and model.prompts:
        wishes.append(model.prompts[max(len(model.prompts) - policy.tail_turns, 0)])
    if policy.tail_messages is not None:
        wishes.append(max(length - policy.tail_messages, 0))
    return evolve(known, tail=max([known.tail, *(min(sum(model.weights[at:]), known.tail_room) for at in wishes)]))


def _standing(model: Model, cut: int) -> int:
    """System messages in the middle, before the cut: they stay."""
    return sum(model.weights[at] for at in model.of_kind("system", cut) if at >= model.first_system)


# what stands in the head


def _preamble(model: Model, allowance: int) -> list[int]:
    """What stands before the first prompt, in order, while it fits; of equal ones the last."""
    kept: list[int] = []
    found = model.of_kind("preamble")
    for at in found:
        if any(model.items[later].words == model.items[at].words for later in found if later > at):
            continue
        if sum(model.weights[one] for one in (*kept, at)) > allowance:
            break
        kept.append(at)
    return kept


def _pins(model: Model) -> list[tuple[int, str]]:
    """(index, text): pins of the head, then those named now, by their places."""
    held = [(at, text) for at in model.of_kind("pins") for text in model.items[at].held]
    named = []
    for at in sorted(model.pins):
        item = model.items[at]
        named.append((at, f"[pinned result of {item.names}]\n{item.words}" if item.kind == "results" else item.words))
    return held + named


def _wholly_pinned(model: Model) -> list[int]:
    """Named messages that are nothing but words: they need no other place."""
    return [at for at in model.pins if model.items[at].kind in ("prompt", "text") and not model.items[at].thinks]


def _reminders(model: Model, extras: int) -> list[str]:
    """The list of changed files (law L23), then what the caller gives."""
    files: list[str] = []
    more = 0
    if model.policy.list_changed_files:
        for path in (path for item in reversed(model.items) for path in reversed(item.writes)):
            files += [] if path in files else [path]
        for at in model.of_kind("reminder"):
            (text,) = model.items[at].held
            if text.startswith(LIST):
                lines = text.split("\n")[1:]
                last = re.fullmatch(r"\[([0-9]+) more\]", lines[-1])
                more = int(last[1]) if last else 0
                files += [path for path in (lines[:-1] if last else lines) if path not in files]
    written = _list_of(files, more, min(2_000, extras))
    return [*([written] if written else []), *model.reminders]


def _list_of(files: list[str], more: int, limit: int) -> str:
    """As many of the newest as fit below the heading, and how many do not."""
    heading = f"{LIST}{len(files) + more}]"
    shown = len(files)
    while shown and len("\n".join([heading, *files[:shown]])) + len("\n[999999999 more]") > limit:
        shown -= 1
    if not shown:
        return ""
    left = len(files) - shown + more
    return "\n".join([heading, *files[:shown], *([f"[{left} more]"] if left else [])])


# what persons said (law L8)


def _quotation(text: str) -> str:
    return f"[prompt chars={len(text)}]\n{text}\n"


def _last_words(model: Model) -> int | None:
    """The last message that could be a person's."""
    could = [at for at, item in enumerate(model.items) if item.kind in ("prompt", "harness", "preamble") or item.beside]
    return could[-1] if could else None


def _said(model: Model, cut: int, prompt: int | None) -> list[tuple[str, bool, int]]:
    """(text, whether it must be quoted, pictures beside it) of what persons said before the cut and stands nowhere else."""
    last = _last_words(model)
    said = []
    for at, item in enumerate(model.items[:cut]):
        if at == prompt or at in model.pins:
            continue
        if item.kind == "prompt":
            inside = any(start < at <= stop for start, stop in model.crossing)
            stubs = [] if at == last else ["[image not kept]"] * item.pictures
            said.append(("\n".join([item.words, *stubs]), inside or at == last, item.pictures if at == last else 0))
        elif item.beside and (at == last or not item.beside.startswith(NOTE)):
            said.append((item.beside, True, 0))
        elif item.kind in ("harness", "preamble") and at == last:
            said.append((item.words, True, 0))
    return said


def _owed(model: Model, cut: int, prompt: int | None) -> int:
    """The size of what must be quoted, whatever the room."""
    texts = [text for text, must, _ in _said(model, cut, prompt) if must]
    size = sum(model.count(_quotation(text)) for text in texts)
    last = _last_words(model)
    if last is not None and last < cut and last != prompt and last not in model.pins:
        size += model.items[last].pictures * model.picture_tokens
    return size + (model.count("[compactlib earlier prompts v1]\n") if texts else 0)


def _quotes(model: Model, known: Sizes, cut: int, prompt: int | None, needed: int, owed: int) -> tuple[list[str], int]:
    """
    What is quoted: all that must be, and of the rest the newest that fit what is left of the extras.

    Where the whole is larger than its parts, it is tried again with that much less room, four times at most.
    """
    said = _said(model, cut, prompt)
    old = [text for at in model.of_kind("summary", cut) for text in model.items[at].held]
    everything = [*((text, False) for text in old), *((text, must) for text, must, _ in said)]
    pictures = sum(one for _, _, one in said)
    allowance = max(known.extras - needed - _standing(model, cut), owed)
    left = allowance - owed if model.policy.retain_prompts else -1
    for _ in range(4):
        quotes = _newest(model, everything, left)
        whole = "[compactlib earlier prompts v1]\n" + "".join(map(_quotation, quotes)) if quotes else ""
        over = model.count(whole) + pictures * model.picture_tokens - allowance
        if over <= 0 or left < 0:
            return quotes, pictures
        left -= over
    return _newest(model, everything, -1), pictures


def _newest(model: Model, everything: list[tuple[str, bool]], left: int) -> list[str]:
    """All that must be quoted, and of the rest the newest of which each fits what the ones behind it left."""
    quotes: list[str] = []
    fits = left >= 0
    for text, must in reversed(everything):
        cost = model.count(_quotation(text))
        fits = fits and (must or cost <= left)
        left -= cost if fits and not must else 0
        if must or fits:
            quotes.insert(0, text)
    return quotes


# --- Clearing --------------------------------------------------------------------------------------------------------


@frozen(kw_only=True)
class Output:
    """
    One result that could be cleared.

    Attributes:
        at: its message; that of its call is *call_at*.
        tool, path: what was called, and for what.
        text: what it said.
        tokens: the size of the text; *stub_tokens* that of a stub with the note that it would have.
        failed: whether it says that something failed.
    """

    at: int
    call_at: int
    tool: str
    path: str
    text: str
    tokens: int
    failed: bool = False


NOTES = ("an identical result stands below", "the same was asked again below", "the file was written below")


def clearing(
    outputs: Sequence[Output],
    *,
    weights: Sequence[int],
    steps: Sequence[tuple[int, int]],
    before_tokens: int,
    target_tokens: int,
    tail_tokens: int,
    least_tokens: int,
    keep: int,
    excluded: frozenset[str],
    untouched: frozenset[int],
    last_model: int,
    stub_tokens: Callable[[Output, str], int],
) -> list[tuple[int, str]]:
    """
    (number, why) of the outputs that are cleared, in the order in which they are; none if it is not worth it.

    Duplicates of a later one first, then what was asked again or written since, then the oldest; never the newest,
    what failed, what is pinned, what no later model message saw, and the tail, which begins with a step.
    """
    protected = len(weights)
    while protected and sum(weights[protected - 1 :]) <= tail_tokens:
        protected -= 1
    for start, stop in steps:
        if start < protected < stop:
            protected = start
    allowed = [
        number
        for number, one in enumerate(outputs)
        if number < len(outputs) - keep and one.at < min(protected, last_model) and one.tool not in excluded and not one.failed
        if not {one.at, one.call_at} & untouched
    ]
    duplicates = [number for number in allowed if any(later.text == outputs[number].text for later in outputs[number + 1 :])]
    superseded = {number: note for number in allowed if number not in duplicates and (note := _superseded(outputs, number))}
    rest = [number for number in allowed if number not in duplicates and number not in superseded]
    order = [*((number, "duplicate", NOTES[0]) for number in duplicates)]
    order += [(number, "superseded", note) for number, note in superseded.items()]
    order += [(number, "oldest", "") for number in rest]
    cleared: list[tuple[int, str]] = []
    saved = 0
    for number, why, note in order:
        if before_tokens - saved <= target_tokens:
            break
        one = outputs[number]
        gain = one.tokens - stub_tokens(one, note)
        if gain > 0 and len(one.text) >= 400:
            cleared.append((number, why))
            saved += gain
    return cleared if saved >= least_tokens or before_tokens - saved <= target_tokens else []


def _superseded(outputs: Sequence[Output], number: int) -> str:
    """Why an output is not the last word: the same was asked again, and gave an answer, or the file was written since."""
    one = outputs[number]
    later = [other for other in outputs[number + 1 :] if not other.failed]
    if one.tool == "edit":
        return ""
    if any((other.tool, other.path) == (one.tool, one.path) for other in later):
        return NOTES[1]
    if one.tool == "read" and any((other.tool, other.path) == ("edit", one.path) for other in later):
        return NOTES[2]
    return ""
