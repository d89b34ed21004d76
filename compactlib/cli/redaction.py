"""
``--redact``: secrets taken out of what was read, before a command does anything with it.

Rules it obeys
    * Whatever is printed, written, stored or sent is made of the redacted
      conversation; the account says how many secrets went and how many stay.
    * A secret is never shown, and neither is a piece of it.

What is not here
    What a secret looks like (`compactlib.credentials`), and which may be taken
    out (`compactlib.redacting`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

import click
from attrs import asdict, evolve

from ..model import Json
from ..redacting import Redacted, redact
from .describing import asked_of_it, bound_to
from .printing import count
from .reading import Source

__all__ = ["account_of", "as_json", "redact_option", "redacted"]

redact_option: Final = click.option(
    "--redact", "redacts", is_flag=True, help="Take passwords, keys and tokens out first, and say how many."
)


def redacted(source: Source, *, redacts: bool) -> tuple[Source, Redacted | None]:
    """The source without its secrets and what became of them, if that was asked for."""
    if not redacts:
        return source, None
    found = redact(source.transcript.conversation)
    return evolve(source, transcript=evolve(source.transcript, conversation=found.conversation)), found


def account_of(found: Redacted) -> str:
    """
    What became of the secrets, in a line.

    >>> from compactlib.dialects import parse
    >>> account_of(redact(parse([{"role": "user", "content": "password=hunter2"}], dialect="openai-chat")))
    '1 secret redacted (1 password)'
    """
    said = f"{count(len(found.found), 'secret')} redacted{_listed(one.kind for one in found.found)}"
    if found.left:
        said += f", {len(found.left):,} left{_listed(one.why for one in found.left)}"
    return said if found.thinking is None else f"{said}; {bound_to(found)}"


def _listed(words: Iterable[str]) -> str:
    counts = sorted(Counter(words).items())
    return f" ({', '.join(f'{times:,} {word}' for word, times in counts)})" if counts else ""


def as_json(found: Redacted | None) -> dict[str, Json]:
    """The same for programs, under ``redaction``; nothing if it was not asked for."""
    if found is None:
        return {}
    told: dict[str, Json] = {"found": [asdict(one) for one in found.found], "left": [asdict(one) for one in found.left]}
    return {"redaction": {**told, **asked_of_it(found)}}
