"""
The entrance: no single output may fill the window.

What this is
    `admit`, the first rung of the ladder.  A result that is too large is
    stored whole and enters the conversation by head and tail, before anybody
    has paid for it once.

Rules it obeys
    * Law L10.  The whole is stored before it is cut; if that fails, the
      message stays as it is and the error says so.
    * Law L11.  What is cut says how much is missing and where the whole is.
    * One batch has one limit: the results of ten calls made at once together
      take no more than one may.  Small ones stay whole, and what they leave is
      divided evenly among the others, down to 256 tokens for each, below which
      an excerpt is hardly more than its marker.
    * What a person or the model said is never touched, nor are media and
      arguments.

What is not here
    How a text is cut (`truncation`) and cleared later (`clearing`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from attrs import evolve, frozen

from .arguments import need, need_whole, shown
from .budget import Policy, sizes
from .deeds import deed, file_name
from .errors import PolicyError
from .model import Block, Call, Message, Result, Text
from .store import Store, keep, need_store
from .text import count_newlines
from .tokens.counting import checked
from .truncation import truncate

__all__ = ["Admitted", "Shortened", "admit"]

_LEAST_TOKENS: Final = 256  # less of an output than this says nothing


@frozen
class Shortened:
    """
    One text that was shortened.

    Attributes:
        call_id: of the call that it answers.
        tool: the tool's name, ``""`` if the call was not given.
        ref: the reference of the whole.
        original_chars: its length.
        omitted_chars: how much of it is not shown.
    """

    call_id: str
    tool: str
    ref: str
    original_chars: int
    omitted_chars: int


@frozen
class Admitted:
    """
    A message as it may enter.

    Attributes:
        message: the message; the very one that was passed in if nothing had to be cut.
        shortened: what was cut.
        issued: the references given out, with the characters and newlines of what they stand for.
        used_tokens: what this batch has used so far, to be passed on with its next message.
    """

    message: Message
    shortened: tuple[Shortened, ...]
    issued: dict[str, tuple[int, int]]
    used_tokens: int


def admit(message: Message, policy: Policy, store: Store, *, calls: Iterable[Call] = (), used_tokens: int = 0) -> Admitted:
    """
    Let a message in, its results cut to their limits.

    Args:
        message: the message; one without results comes back as it is.
        policy: its field ``admission`` has the limits.
        store: where the whole texts go.
        calls: the calls that the results answer, which tell the tools apart.
        used_tokens: what the messages of this batch before it have used.

    Raises:
        StoreError: a text could not be stored; nothing was cut.
        PolicyError: the counter misbehaves, a limit is too small for any
            excerpt, or an argument is not what it is declared to be.

    >>> from compactlib.model import wire
    >>> from compactlib.store import MemoryStore
    >>> log = "line of a log\\n" * 10_000
    >>> message = Message("tool", (Result("c1", log, wire("tool")),), wire("tool"))
    >>> admitted = admit(message, Policy(window_tokens=32_000), MemoryStore())
    >>> [(cut.original_chars, cut.omitted_chars > 100_000) for cut in admitted.shortened]
    [(140000, True)]
    """
    need("message", message, Message, "a Message")
    need("policy", policy, Policy, "a Policy")
    need_store(store)
    need_whole("used_tokens", used_tokens)
    by_id = _by_id(calls)
    results = message.results
    if not results:
        return Admitted(message, (), {}, used_tokens)
    options = policy.admission
    known = sizes(policy, overhead_tokens=0)
    batch = (known.budget - known.trigger) // 2 if options.batch_tokens is None else options.batch_tokens
    texts = [(result, part, text) for result in results for part, text in _texts(result)]
    counter = checked(policy.counter)
    weights = [counter(text) for _, _, text in texts]
    share = _share(weights, max(batch - used_tokens, _LEAST_TOKENS))
    changed: dict[int, dict[int, str]] = {}
    shortened: list[Shortened] = []
    issued: dict[str, tuple[int, int]] = {}
    used = 0
    for (result, part, text), weight in zip(texts, weights, strict=True):
        call = by_id.get(result.call_id)
        limit = options.limit_of(call.name if call else "")
        most = share if limit.limit_tokens is None else min(share, limit.limit_tokens)
        if weight <= most and (limit.limit_lines is None or count_newlines(text) <= limit.limit_lines):
            used += weight
            continue
        ref = keep(
            store, text.encode("utf-8", "surrogatepass"), name="output.txt" if call is None else file_name(deed(call), "txt")
        )
        cut = truncate(
            text,
            limit_tokens=most,
            limit_lines=limit.limit_lines,
            keep=limit.keep,
            counter=policy.counter,
            ref=ref,
            form="auto",
        )
        used += counter(cut.text)
        changed.setdefault(id(result), {})[part] = cut.text
        issued[ref] = (cut.original_chars, cut.original_lines)
        shortened.append(Shortened(result.call_id, call.name if call else "", ref, cut.original_chars, cut.omitted_chars))
    if not changed:
        return Admitted(message, (), {}, used_tokens + used)
    return Admitted(_with_texts(message, changed), tuple(shortened), issued, used_tokens + used)


def _by_id(calls: Iterable[Call]) -> dict[str, Call]:
    """The calls by their ids, the last one of each."""
    if not isinstance(calls, Iterable):
        raise PolicyError("calls", f"calls, not {shown(calls)}")
    found = {}
    for call in calls:
        need("calls", call, Call, "calls")
        found[call.id] = call
    return found


def _texts(result: Result) -> Iterable[tuple[int, str]]:
    """The texts of a result, each with its place; -1 is the one text that is all."""
    content = result.content
    if isinstance(content, str):
        yield -1, content
        return
    for part, block in enumerate(content or ()):
        if isinstance(block, Text):
            yield part, block.text


def _share(weights: list[int], limit: int) -> int:
    """The largest size of one text at which all together stay within *limit*: small ones leave room for the others."""
    left = limit
    for place, weight in enumerate(sorted(weights)):
        share = left // (len(weights) - place)
        if weight > share:
            return max(share, _LEAST_TOKENS)
        left -= weight
    return limit


def _with_texts(message: Message, changed: Mapping[int, Mapping[int, str]]) -> Message:
    blocks: list[Block] = []
    for block in message.blocks:
        parts = changed.get(id(block))
        if parts is None or not isinstance(block, Result):
            blocks.append(block)
        elif -1 in parts:
            blocks.append(evolve(block, content=parts[-1]))
        else:
            content = tuple(
                evolve(inner, text=parts[place]) if place in parts and isinstance(inner, Text) else inner
                for place, inner in enumerate(block.blocks)
            )
            blocks.append(evolve(block, content=content))
    return evolve(message, content=tuple(blocks))
