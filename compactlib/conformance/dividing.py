"""
Steps, turns, the frontier and the legal cuts, a second time.

What this is
    The division of a conversation as the checks see it, written from the laws
    over plain units.  It is obvious rather than fast: where the engine makes
    one clever pass, this looks back from each result and tries each cut.

Rules it obeys
    * Laws L2 to L5, word for word; see the functions.
    * Whether a person or a program wrote a user message cannot always be told
      from the wire.  Where nobody stated it and the text does not make it
      plain, the kind is ``None``, and whoever depends on it does not know.

What is not here
    What was done to the conversation (`evidence`).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Final

from attrs import frozen

from ..model import Json
from .record import Origin
from .units import Unit
from .wires import runs_on

__all__ = ["Cut", "Parts", "choose", "divide", "legal_cuts"]

_DOUBTFUL: Final = ("<", "[", "caveat:", "attached ", "tool result", "this session is being continued", "this is file ")
_BRIDGES: Final = frozenset(
    {
        "ok",
        ".",
        "understood.",
        "ok, i understand.",
        "i have processed the tool results.",
        "binary content received. proceeding with analysis.",
    }
)
"""What clients put into the model's mouth between results and a picture."""


@frozen
class Parts:
    """
    How a conversation divides.

    Attributes:
        kinds: what each unit is, ``None`` where nobody can tell.
        spans: (start, stop): nothing may begin after *start* up to and including *stop*.
        starts: where a turn or a step begins.
        steps: (start, stop), half-open.
        pending, dangling: units and ids of unanswered calls.
    """

    kinds: tuple[Origin | None, ...]
    spans: tuple[tuple[int, int], ...]
    starts: tuple[int, ...]
    steps: tuple[tuple[int, int], ...]
    pending: tuple[tuple[int, str], ...]
    dangling: tuple[tuple[int, str], ...]

    @property
    def is_clear(self) -> bool:
        """Whether every unit's kind is known."""
        return None not in self.kinds

    @property
    def current_turn(self) -> int:
        """The last prompt that begins a turn, else the first start."""
        prompts = [at for at in self.starts if self.kinds[at] == "prompt"]
        return prompts[-1] if prompts else self.starts[0] if self.starts else len(self.kinds)

    def prompt_of(self, at: int) -> int | None:
        """The prompt of the turn in which *at* lies."""
        return max((start for start in self.starts if start < at and self.kinds[start] == "prompt"), default=None)


def divide(units: Sequence[Unit], dialect: str) -> Parts:
    """Say what each unit is, and where turns and steps begin."""
    kinds = tuple(_kind(units, at) for at in range(len(units)))
    answered, unanswered = _pair(units, kinds, at_any_distance=runs_on(dialect))
    responses = tuple((at - 1, at) for at, unit in enumerate(units) if unit.runs_on)
    spans = answered + _attached(units, kinds) + _called_by(units) + responses
    inside = {at for start, stop in spans for at in range(start + 1, stop + 1)}
    starts = tuple(at for at, kind in enumerate(kinds) if kind in ("model", "prompt") and at not in inside)
    if starts and units[starts[0]].is_compaction:
        starts = starts[1:]  # the provider's own compaction object is of the head
    ends = (*starts[1:], len(units))
    steps = tuple((at, end) for at, end in zip(starts, ends, strict=False) if kinds[at] == "model")
    last = first = max((at for at, kind in enumerate(kinds) if kind == "model"), default=-1)
    while first > 0 and units[first].runs_on:
        first -= 1
    live = all(kinds[at] in ("attachment", "harness", "system") or _is_answer(units[at]) for at in range(last + 1, len(units)))
    pending = tuple(call for call in unanswered if live and first <= call[0] <= last)
    return Parts(kinds, spans, starts, steps, pending, tuple(call for call in unanswered if call not in pending))


def _is_answer(unit: Unit) -> bool:
    """Results, and beside them nothing that a person may have written."""
    return any(block.kind == "result" for block in unit.blocks) and not any(
        block.kind == "text" and not block.text.startswith("<system-reminder>") for block in unit.blocks
    )


def _kind(units: Sequence[Unit], at: int) -> Origin | None:
    """What a unit is: as stated, else as its role and its blocks prove."""
    unit = units[at]
    if unit.kind is not None:
        return unit.kind
    if unit.role == "system":
        return "system"
    if unit.role == "model":
        return "model"
    if any(block.kind == "result" for block in unit.blocks):
        return "result"
    if unit.role != "user":
        return None
    words = [block.text.strip().lower() for block in unit.blocks if block.kind == "text"]
    if not any(words) or any(word.startswith(_DOUBTFUL) for word in words):
        return None
    after_results = at > 0 and any(block.kind == "result" for block in units[at - 1].blocks)
    return None if after_results and unit.of_kind("media") else "prompt"


def _pair(
    units: Sequence[Unit], kinds: Sequence[Origin | None], *, at_any_distance: bool
) -> tuple[tuple[tuple[int, int], ...], tuple[tuple[int, str], ...]]:
    """
    (call, result) for each answered call, and the unanswered calls.

    A result answers the nearest earlier unanswered call with its id, but none
    behind which a person spoke and the model went on, unless results may stand
    *at_any_distance*.
    """
    open_calls = [(at, block.id) for at, unit in enumerate(units) for block in unit.blocks if block.kind == "call"]
    pairs = []
    for at, unit in enumerate(units):
        for result in unit.blocks:
            if result.kind != "result":
                continue
            gone_on = False
            for back in range(at - 1, -1, -1):
                if kinds[back] == "prompt" and gone_on and not at_any_distance:
                    break
                if kinds[back] != "model":
                    continue
                if (back, result.id) in open_calls:
                    open_calls.remove((back, result.id))
                    pairs.append((back, at))
                    break
                gone_on = True
    return tuple(pairs), tuple(open_calls)


def _attached(units: Sequence[Unit], kinds: Sequence[Origin | None]) -> tuple[tuple[int, int], ...]:
    """(result, attachment): an attachment belongs to the results before it, a client's bridge between them included."""
    spans = []
    for at, kind in enumerate(kinds):
        if kind != "attachment":
            continue
        back = at - 1
        while back >= 0 and (kinds[back] in ("attachment", "harness") or _is_bridge(units[back])):
            back -= 1
        if back >= 0 and kinds[back] == "result":
            spans.append((back, at))
    return tuple(spans)


def _is_bridge(unit: Unit) -> bool:
    return unit.role == "model" and not unit.of_kind("call") and unit.text.strip().lower() in _BRIDGES


def _called_by(units: Sequence[Unit]) -> tuple[tuple[int, int], ...]:
    """(message of a server tool, message of a call that it made)."""
    servers = {block.id: at for at, unit in enumerate(units) for block in unit.blocks if block.kind == "other" and block.id}
    calls = [(at, block.caller) for at, unit in enumerate(units) for block in unit.blocks if block.caller]
    return tuple((servers[caller], at) for at, caller in calls if caller in servers and servers[caller] < at)


# --- Cuts ------------------------------------------------------------------------------------------------------------


_REFERRING: Final = ('"tool_reference"', '"document_index"', '"tool_addition"', '"tool_search_output"')
"""What makes a place hard to judge: something later may need it."""


@frozen
class Cut:
    """A place where the tail may begin, with the size of what is kept."""

    at: int
    kind: str
    prompt: int | None
    tokens: int


def legal_cuts(
    units: Sequence[Unit], parts: Parts, sizes: Sequence[int], body: Json, dialect: str, profile: str | None = None
) -> list[Cut] | None:
    """
    Every legal cut by law L3, or ``None`` where something makes them hard to tell: a tool loaded
    in the conversation, a citation by number, a message of unknown kind.
    """
    blocks = [block.raw for unit in units for block in unit.blocks]
    if not parts.is_clear or any(word in raw for raw in blocks for word in _REFERRING):
        return None
    compacted = max((at for at, unit in enumerate(units) if unit.of_kind("compaction")), default=-1)
    first = parts.starts[0] if parts.starts else len(units)
    sealed = dialect == "anthropic" and _wants_thinking(units, parts, body)
    doubling = _doubling(units) if profile == "strict-template" else ()
    stop = _instructions(units) if dialect == "anthropic" else len(units)
    behind = list(accumulate(reversed(sizes), initial=0))[::-1]
    cuts = []
    prompt = None
    for at in parts.starts:
        if at > stop:
            break
        if parts.kinds[at] == "prompt":
            if at > max(first, compacted):
                cuts.append(Cut(at, "turn", None, behind[at]))
            prompt = at
        elif at >= max(first, 1, compacted + 1) and at not in doubling:
            opens = bool(units[at].blocks) and units[at].blocks[0].kind == "reasoning"
            if opens or not sealed or at < parts.current_turn:
                cuts.append(Cut(at, "step", prompt, behind[at] + (0 if prompt is None else sizes[prompt])))
    return cuts


def _instructions(units: Sequence[Unit]) -> int:
    """Rule A-ROLE-02: the first instructions that stand in the middle, where alone they are taken: behind a cut, not before."""
    said = next((at for at, unit in enumerate(units) if unit.role != "system"), len(units))
    return next((at for at in range(said, len(units)) if units[at].role == "system"), len(units))


def _doubling(units: Sequence[Unit]) -> set[int]:
    """Rule V-ALT-02: where the head of a step cut, a user message, would stand before another whose turn it was."""
    found: set[int] = set()
    before, start = "", 0
    for at, unit in enumerate(units):
        if unit.role == "user" or (unit.role == "model" and not unit.of_kind("call")):
            if unit.role == "user" and before != "user":
                found.update(range(start, at + 1))
            before, start = unit.role, at + 1
    return found


def _wants_thinking(units: Sequence[Unit], parts: Parts, body: Json) -> bool:
    """Rule A-THINK-01: while the model thinks, what is kept of the current turn begins with thinking."""
    setting = body.get("thinking") if isinstance(body, dict) else None
    if isinstance(setting, dict):
        return setting.get("type") == "enabled"
    return not isinstance(body, dict) and any(unit.of_kind("reasoning") for unit in units[parts.current_turn :])


def choose(cuts: Sequence[Cut], *, limit_tokens: int, step_cuts: bool = True) -> Cut | None:
    """
    The cut that law L3 prescribes, by trying all.

    (1) among turn cuts whose tail fits, the longest tail; (2) if there is
    none, or its tail is below a quarter of the limit and a step cut gives a
    longer one that fits together with its prompt, that; (3) if nothing fits,
    the cut with the shortest tail.  Ties: the smaller index.
    """
    turns = [cut for cut in cuts if cut.kind == "turn"]
    steps = [cut for cut in cuts if cut.kind == "step" and step_cuts]
    turn = max((cut for cut in turns if cut.tokens <= limit_tokens), key=lambda cut: (cut.tokens, -cut.at), default=None)
    step = max((cut for cut in steps if cut.tokens <= limit_tokens), key=lambda cut: (cut.tokens, -cut.at), default=None)
    if turn is not None and (turn.tokens >= limit_tokens // 4 or step is None or step.tokens <= turn.tokens):
        return turn
    if step is not None:
        return step
    return min(turns + steps, key=lambda cut: (cut.tokens, cut.at), default=None)
