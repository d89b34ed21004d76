"""
Digests of turns that are over, made while nothing presses.

What this is
    `digesting` asks, turn by turn, for a short text that says what followed
    the prompt, and `digest` and `adigest` drive it.  `compact(digests=...)`
    lets old turns collapse to them before a model is asked for a summary.

Rules it obeys
    * Law L6.  A digest is judged like a summary; one that is refused is not
      there, and the turn stays as it is.
    * Law L15.  A turn that is too long for the summariser is shown in parts.
    * Law L24.  Every request stands in `Digested.asked`, refused ones too.
    * The same turn is never digested twice: a digest is found by what its turn
      says (`collapsing.turn_key`).

How it works
    A digest may have a quarter of its turn, at least 64 tokens and at most
    1,000.  It has sections of its own, and no goal and no orders, because the
    prompt stays beside it word for word.

What is not here
    When a turn is over (the caller asks after it), and what becomes of digests
    (`collapsing`).
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from types import MappingProxyType
from typing import Final

from attrs import evolve, field, frozen

from .account import Account
from .asking import Question, ask
from .budget import Policy
from .collapsing import closed_turns, turn_key
from .compaction import Answer, Event
from .driving import AsyncSummarise, Summarise, adrive, check_arguments, drive
from .model import Conversation, Json, Message
from .persons import person_words
from .planning import CannotPlanError
from .replacing import previous_record
from .summaries.acceptance import Accepted, harmless
from .summaries.extractive import Extractive
from .summaries.grounding import Standing
from .summaries.schema import DIGEST, render_sections
from .tasks import Task
from .turns import Division, Kind, Turn, divide, origins

__all__ = ["Digested", "adigest", "digest", "digesting"]

_LEAST_TOKENS: Final = 64
_MOST_TOKENS: Final = 1_000
_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})


@frozen
class Digested:
    """
    What came of asking for digests.

    Attributes:
        digests: all there are now, the given ones that are still of use first.
        made: the names of the turns that got one.
        unused: the names of given digests whose turn is not there any more, and did not collapse to them: they were paid
            for, and serve nothing.
        failed: why a turn got none, by its first message on the wire.
        asked: every request with its verdict and its cost.
    """

    digests: Mapping[str, str] = field(repr=False)
    made: tuple[str, ...]
    unused: tuple[str, ...]
    failed: Mapping[int, str]
    asked: tuple[Mapping[str, Json], ...] = field(repr=False)


def digest(
    conversation: Conversation,
    policy: Policy,
    *,
    summarise: Summarise | None = None,
    digests: Mapping[str, str] = _NOTHING,
) -> Digested:
    """
    Make digests of the turns that are over and have none.

    Nothing is done until there are `Policy.digest_every_turns` of them, and
    nothing at all where that is not given.

    Args:
        conversation: whose turns.
        policy: how often, and how long a window the summariser has.
        summarise: answers a `SummaryRequest`; the extractive summariser, which
            needs no model, if left out.
        digests: those made before.

    Raises:
        PolicyError: an argument is not what it is declared to be, or the
            counter misbehaves.
        TypeError: *summarise* is asynchronous; use `adigest`.
        WireError: a message that was made by hand holds what JSON cannot.

    >>> from compactlib.dialects import parse
    >>> messages = [{"role": "user", "content": "Which port?"}, {"role": "assistant", "content": "It is 8443."}]
    >>> conversation = parse([*messages, {"role": "user", "content": "And the host?"}], dialect="anthropic")
    >>> [text] = digest(conversation, Policy(window_tokens=32_000, digest_every_turns=1)).digests.values()
    >>> "8443" in text
    True
    """
    task = _task(conversation, policy, digests, summarise)
    return drive(digesting(conversation, policy, task), summarise or Extractive())


async def adigest(
    conversation: Conversation,
    policy: Policy,
    *,
    summarise: AsyncSummarise,
    digests: Mapping[str, str] = _NOTHING,
) -> Digested:
    """`digest` for a summariser that is awaited; see there."""
    return await adrive(digesting(conversation, policy, _task(conversation, policy, digests, summarise)), summarise)


def _task(conversation: Conversation, policy: Policy, digests: Mapping[str, str], summarise: object) -> Task:
    check_arguments(conversation, policy, summarise=summarise)
    return Task(digests=digests)


def digesting(conversation: Conversation, policy: Policy, task: Task) -> Generator[Event, Answer, Digested]:
    """
    The engine behind `digest`.

    Yields:
        `AskSummary`: to be answered by the reply, or by `SummaryFailed`.

    Returns:
        What came of it.

    Raises:
        PolicyError: the counter misbehaves.
    """
    account = Account(conversation, policy, task)
    division = divide(conversation)
    messages = conversation.messages
    turns = {turn_key(messages[turn.start : turn.stop]): turn for turn in closed_turns(division)}
    known = {key: text for key, text in task.digests.items() if key in turns}
    _, earlier = previous_record(messages, division, division.head_stop, None)
    standing = {entry.text for entry in earlier if entry.kind == "digest"}  # turns collapsed to these
    unused = tuple(key for key, text in task.digests.items() if key not in turns and harmless(text, ())[0] not in standing)
    owed = {key: turn for key, turn in turns.items() if key not in known}
    made: list[str] = []
    failed: dict[int, str] = {}
    if policy.digest_every_turns is not None and len(owed) >= policy.digest_every_turns:
        for key, turn in owed.items():
            try:
                verdict = yield from ask(account, _question(account, division, turn))
            except CannotPlanError as error:
                failed[conversation.wire_index(turn.start)] = error.why
                continue
            if isinstance(verdict, Accepted):
                known[key] = _without_empty(verdict)
                made.append(key)
            else:
                failed[conversation.wire_index(turn.start)] = f"{verdict.code.value}: {verdict.why}"
    return Digested(known, tuple(made), unused, failed, tuple(account.asked))


def _without_empty(verdict: Accepted) -> str:
    """A digest without the headings under which nothing stands."""
    sections = verdict.sections
    return render_sections(evolve(sections, bodies=tuple(body or None for body in sections.bodies)))


def _question(account: Account, division: Division, turn: Turn) -> Question:
    """What is asked for one turn."""
    policy, messages = account.policy, account.conversation.messages
    shown: list[Message] = []
    for at in range(turn.start, turn.stop):
        message, kind = messages[at], division.kinds[at]
        shown.append(evolve(message, origin=tuple(origins(message, kind))))
    ceiling = min(max(account.memo.messages(shown) // 4, _LEAST_TOKENS), _MOST_TOKENS)
    words = person_words(messages[turn.start], Kind.PROMPT, verbatim=False)
    return Question(
        messages=tuple(shown),
        schema=DIGEST,
        ceiling_tokens=ceiling,
        max_tokens=ceiling * 3 // 4,
        window_tokens=policy.summariser_window_tokens or policy.window_tokens,
        persons=(words,),
        standing=Standing([], (words,)),
    )
