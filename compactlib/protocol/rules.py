"""
The rules of the message protocol, as data.

What this is
    One `Rule` for each thing a provider refuses, or is known to accept against
    expectation.  The tables stand in `rulebooks`, a module for each dialect;
    the prose, the reasons and the executed examples are in ``spec/``, and a
    test keeps both in step, sentence for sentence.

Rules it obeys
    * Ids are permanent, and a withdrawn id is never given out again.  The
      letter tells whose rule it is: see `DIALECTS`.
    * A level says what happens: ``error`` the provider refuses the request,
      ``warning`` some route, model or version does, ``info`` it is accepted
      and worth knowing.  Recorded requests outrank reports, reports outrank
      documents: no rule calls an error what a live provider was seen to accept
      on the same route.
    * Evidence is graded: ``V`` the provider's words were read, ``D`` a document
      or an official type says so, ``C`` the code of a client relies on it,
      ``K`` hearsay, which makes a warning at most.

How it works
    What depends on the route or the shape stands in `Rule.variants`: the
    validator asks `Rule.level_in` with the name of the case it met.  `find`
    goes the other way, from a pasted error message to the rules that explain
    it.

What is not here
    Checking (`protocol.validator`), repairing (`protocol.repair`), and what
    differs between dialects without being right or wrong (`protocol.profiles`).

All sources were read in 2026-11.  *Recorded* means request and answer of a live
provider, kept by a public project as a test fixture; the project is named.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from itertools import chain, takewhile
from typing import Final

from .rule import DIALECTS, FIXES, Level, Rule
from .rulebooks import anthropic, atif, bedrock, compatible, gemini, mcp_sampling, mistral, openai_chat, openai_responses

__all__ = ["DIALECTS", "FIXES", "RULES", "Level", "Rule", "find", "message_index", "rules_of"]

_BOOKS: Final = (anthropic, openai_chat, openai_responses, gemini, bedrock, mistral, compatible, mcp_sampling, atif)

RULES: Final[Mapping[str, Rule]] = {rule.id: rule for rule in chain.from_iterable(book.TABLE for book in _BOOKS)}
"""Every rule by its id, in the order of the specification."""


def rules_of(dialect: str) -> tuple[Rule, ...]:
    """
    The rules of one dialect, in order.

    >>> rules_of("openai-chat")[0].id
    'O-PAIR-01'
    """
    return tuple(rule for rule in RULES.values() if rule.dialect == dialect)


# -- from an error message back to the rules ---------------------------------------------------------------------------
#
# A provider's text is cut at its holes ({n}, {id}) and at the ends of its sentences; the pieces are looked for in order
# in what was pasted, both freed from quotes and line breaks, because logs escape and wrap.  str.find is linear and the
# number of pieces is fixed, so the whole is linear in what was pasted.  Several rules share one text (a result that is
# missing, late, or behind other text is reported alike); then all of them are given.

_SHORTEST_PIECE_CHARS: Final = 10  # " tokens > ", but not "messages."
_ENOUGH_PERCENT: Final = 40  # of the characters that do not vary, so that a text cut in the middle is still known
_LEAST_START_CHARS: Final = 22  # of a text of which only the beginning was pasted
_ELLIPSES: Final = ("...", "\u2026", " ...", " \u2026")
_CLOSING: Final = " .,)]}"  # what may stand behind words that are cut off
_CLOSE_PERCENT: Final = 20  # texts that fit this much worse than the best are chance resemblances
_QUOTES: Final = str.maketrans("", "", "`'\"\\")


def find(error_text: str) -> tuple[Rule, ...]:
    """
    The rules that explain a provider's error message, best first; none if it is not known.

    Ids, numbers and indices in it do not matter, nor do JSON or a log line
    around it.  Where too little of a text was pasted, its beginning is enough.
    `message_index` says which message it speaks of.

    >>> [rule.id for rule in find('400 {"message": "prompt is too long: 250000 tokens > 200000 maximum"}')]
    ['A-SIZE-01']
    >>> [rule.id for rule in find("messages.0.content.1.tool_use.input: Input should be...")]
    ['A-INPUT-01']
    """
    pasted = _plain(error_text)
    fits = {
        rule.id: max(((_fit(_cut(line), pasted), len(line)) for line in rule.error.splitlines()), default=(0, 0))
        for rule in chain.from_iterable(book.TABLE for book in _BOOKS)
    }
    best_fit, _chars = max(fits.values())
    if best_fit < _ENOUGH_PERCENT:
        starts = {
            rule.id: max((_start(_cut(line), pasted) for line in rule.error.splitlines()), default=0) for rule in RULES.values()
        }
        best = max(_LEAST_START_CHARS, *starts.values())
        return tuple(rule for rule in RULES.values() if starts[rule.id] == best)
    least = max(_ENOUGH_PERCENT, best_fit - _CLOSE_PERCENT)
    found = (rule for rule in RULES.values() if fits[rule.id][0] >= least)
    return tuple(sorted(found, key=lambda rule: fits[rule.id], reverse=True))  # of two that fit alike, the longer says more


def message_index(error_text: str) -> int | None:
    """
    The index of the message that a provider's error message speaks of, if it names one.

    >>> message_index("Invalid 'messages[3].tool_calls[0].id': string too long."), message_index("messages: too few")
    (3, None)
    """
    import re  # here, because few who import the rules ever paste an error

    found = re.search(r"""\b(?:messages?|contents|input)(?:\.?\[|[./]| index |["'], ?)([0-9]{1,9})\b""", error_text)
    return None if found is None else int(found[1])


def _plain(text: str) -> str:
    return " ".join(text.translate(_QUOTES).casefold().split())


@cache
def _cut(template: str) -> tuple[str, ...]:
    """The pieces of a provider's text that do not vary and are long enough to mean something."""
    import re

    pieces = re.split(r"\{[a-z]+\}|(?<=\.) ", _plain(template))
    return tuple(piece.removeprefix(": ") for piece in pieces if len(piece) >= _SHORTEST_PIECE_CHARS)


def _fit(pieces: tuple[str, ...], pasted: str) -> int:
    """How much of the pieces stands in *pasted*, in order: per cent of their characters."""
    at = seen_chars = opening_chars = 0
    for piece in pieces:
        place = pasted.find(piece, at)
        if place >= 0:
            at = place + len(piece)
            opening_chars += len(piece)
            if not piece.endswith("["):  # within a path, which says nothing until it is known where it leads
                seen_chars += opening_chars
                opening_chars = 0
        else:
            opening_chars = 0
    return 100 * seen_chars // sum(map(len, pieces))


def _start(pieces: tuple[str, ...], pasted: str) -> int:
    """How much of the first piece that was pasted at all stands there, in characters; nothing if it goes on otherwise."""
    for piece in pieces:
        place = pasted.find(piece[:_LEAST_START_CHARS])
        if place >= 0:
            same = sum(takewhile(bool, (one == other for one, other in zip(piece, pasted[place:], strict=False))))
            rest = pasted[place + same :].lstrip("0123456789")
            is_whole = same == len(piece) and not piece.endswith("[")
            return same if is_whole or not rest.strip(_CLOSING) or rest.startswith(_ELLIPSES) else 0
    return 0
