"""
The reference model: the same answers as the engine, obvious and slow.

Everything here is written from the laws, quadratic or worse, over plain
lists, and shares no code with the engine.  It understands the small
conversations that `strategies` makes, whose kinds are known by construction.
"""

from __future__ import annotations

from collections.abc import Sequence

Piece = tuple[str, str]
"""One message as (kind, detail): ``("calls", "a,b")``, ``("results", "a")``, ``("prompt", "")`` and so on."""


def spans(pieces: Sequence[Piece]) -> list[tuple[int, int]]:
    """Each answered call as (message of the call, message of its result), found by looking back from the result."""
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
                if what in ("calls", "text"):
                    if talked_past:
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


def cuts(pieces: Sequence[Piece], *, runs_on: bool = False) -> tuple[list[int], list[int]]:
    """
    (turn cuts, step cuts): every index that no span crosses and that begins a turn or a step.

    Where neighbours of the model are one response (*runs_on*) only the first of them begins a step.
    """
    crossing = spans(pieces)
    if runs_on:
        crossing += [(at - 1, at) for at in range(1, len(pieces)) if {pieces[at - 1][0], pieces[at][0]} <= {"calls", "text"}]

    def closed(at: int) -> bool:
        return any(start < at <= stop for start, stop in crossing)

    openers = [at for at, (kind, _) in enumerate(pieces) if kind in ("prompt", "calls", "text") and not closed(at)]
    first = openers[0] if openers else len(pieces)
    turn = [at for at in openers if pieces[at][0] == "prompt" and at > first]
    step = [at for at in openers if pieces[at][0] != "prompt" and at >= max(first, 1)]
    return turn, step


def choice(
    pieces: Sequence[Piece], weights: Sequence[int], limit: int, *, step_cuts: bool = True, runs_on: bool = False
) -> tuple[int, str, int] | None:
    """(index, kind, tail tokens) by law L3, trying every cut."""
    turn, step = cuts(pieces, runs_on=runs_on)
    crossing = spans(pieces)
    prompts = [
        at for at, (kind, _) in enumerate(pieces) if kind == "prompt" and not any(start < at <= stop for start, stop in crossing)
    ]

    def tail(at: int, kind: str) -> int:
        size = sum(weights[at:])
        if kind == "step":
            before = [prompt for prompt in prompts if prompt < at]
            size += weights[before[-1]] if before else 0
        return size

    def longest(cuts_of_kind: list[int], kind: str) -> tuple[int, str, int] | None:
        best = None
        for at in cuts_of_kind:
            size = tail(at, kind)
            if size <= limit and (best is None or size > best[2]):
                best = (at, kind, size)
        return best

    by_turn = longest(turn, "turn")
    by_step = longest(step, "step") if step_cuts else None
    if by_turn is not None and by_turn[2] >= limit // 4:
        return by_turn
    if by_step is not None and (by_turn is None or by_step[2] > by_turn[2]):
        return by_step
    if by_turn is not None:
        return by_turn
    everything = [(tail(at, "turn"), at, "turn") for at in turn]
    everything += [(tail(at, "step"), at, "step") for at in step] if step_cuts else []
    if not everything:
        return None
    size, at, kind = min(everything)
    return at, kind, size
