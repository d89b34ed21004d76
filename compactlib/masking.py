r"""
Secrets in one text: each replaced by a mark that says what it was and how long.

What this is
    `mask` for any text, `mask_json` for text that is JSON and has to stay
    JSON, and the grammar of the mark.

Rules it obeys
    * A mark says the kind of the secret and its length.  Never a digest, by
      which a short secret could be guessed.
    * Twice is once: a text is looked at until nothing more is found, and what
      stands in a mark is nothing.
    * A mark is never read back.  It holds no reference and proves nothing, so
      there is nothing to believe, and one that somebody forged is a text like
      any other (law L25).  What was replaced is told by what is returned.
    * JSON stays the same JSON but for the strings that held a secret: keys,
      numbers, order and spelling are not touched.
    * A redactor of the caller's is foreign code: what it raises, or gives that
      makes no sense, is a `PolicyError`, and what it said is not repeated,
      because it may quote the secret.

Grammar, version 1
    ::

        [redacted v1: KIND, N chars]

    KIND is up to 32 small letters, digits, blanks and hyphens and begins with
    a letter, N a number of code points.

What is not here
    What a secret looks like (`credentials`), and where in a conversation one
    may be replaced (`redacting`).
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Container, Iterable, Iterator
from typing import Final, TypeAlias

from attrs import frozen

from .credentials import known_secrets
from .errors import PolicyError

__all__ = ["Masked", "Redactor", "mask", "mask_json", "need_redactor", "write_mark"]

Redactor: TypeAlias = Callable[[str], Iterable[tuple[int, int, str]]]
"""Finds the secrets in a text: where each begins and ends, and its kind.  In any order; they may overlap."""

_KIND: Final = "[a-z][a-z0-9 -]{0,31}"
_MARK: Final = re.compile(rf"\[redacted v1: {_KIND}, [0-9]{{1,9}} chars\]")
_OPENING: Final = "[redacted v1: "
_STRING: Final = re.compile(r'"(?:[^"\\]++|\\.)*+"(\s*+:\s*+)?', re.DOTALL)
"""A string in JSON; with the group, a key."""
_NUMBER: Final = re.compile(r"-?[0-9][0-9.eE+-]{3,60}")
"""A number that could be a secret: a shorter one is guessed at once."""
_WORD: Final = re.compile("[A-Za-z]+")
_A_NUMBER: Final = "12345678"  # stands for all of one name: of those that we know the name tells
_ROUNDS: Final = 8  # a redactor that finds something in whatever is left is not asked for ever
_NAMED_CHARS: Final = 1_000  # a value that its name alone calls secret is not longer


@frozen
class Masked:
    """
    A text without its secrets.

    Attributes:
        text: the text; the very one that was passed in if it held none.
        found: kind and characters of each secret, in order.
        kept: the same of what stays, because it is a key of JSON, or a number.
    """

    text: str
    found: tuple[tuple[str, int], ...] = ()
    kept: tuple[tuple[str, int], ...] = ()


def write_mark(kind: str, chars: int) -> str:
    """
    What stands in the place of a secret.

    >>> write_mark("api key", 51)
    '[redacted v1: api key, 51 chars]'
    """
    return f"{_OPENING}{kind}, {chars} chars]"


def need_redactor(redactor: Redactor | None) -> Redactor:
    """
    The redactor that was passed in, or the one that knows the common kinds.

    Raises:
        PolicyError: it is something that cannot be called.
    """
    if redactor is not None and not callable(redactor):
        raise PolicyError("redactor", f"something that finds secrets in a text, not a {type(redactor).__name__}")
    return known_secrets if redactor is None else redactor


def mask(text: str, redactor: Redactor = known_secrets) -> Masked:
    """
    *text* with a mark in the place of each secret.

    Secrets that overlap are one, of the kind of the longest.

    Raises:
        PolicyError: *redactor* failed, or did not give places in the text.

    >>> mask("login as app, password=hunter2, then go on").text
    'login as app, password=[redacted v1: password, 7 chars], then go on'
    >>> mask(mask("password=hunter2").text).found
    ()
    """
    return _settled(text, lambda text: [*_spans(text, redactor)])


def mask_json(text: str, redactor: Redactor = known_secrets, *, under: Container[str] | None = None) -> Masked:
    """
    The JSON *text* with a mark in the place of each secret in its strings; what is no JSON is a text like any other.

    A value is looked at alone, and once more with its name before it
    (``password: hunter2``): what then is a secret is one as a whole.  Keys and
    numbers are not touched; those that are secrets are told in `Masked.kept`.

    Args:
        text: what was written as JSON.
        redactor: finds the secrets.
        under: only the values of these keys; ``""`` is the key of what has none.

    Raises:
        PolicyError: as for `mask`.

    >>> mask_json('{"user": "app", "password": "s3cret 4 me"}').text
    '{"user": "app", "password": "[redacted v1: password, 11 chars]"}'
    """
    if not _is_json(text):
        return mask(text, redactor)
    pieces: list[str] = []
    found: list[tuple[str, int]] = []
    kept: list[tuple[str, int]] = []
    keys: dict[str, tuple[tuple[str, int], ...]] = {}
    numbers: dict[tuple[str, str], tuple[tuple[str, int], ...]] = {}
    at = 0
    key, key_stop = "", -1
    for literal in _STRING.finditer(text):
        start, stop = literal.span()
        if literal[1] is not None:
            key, key_stop = _read(text[start : literal.start(1)]), stop
            if key not in keys:  # most stand many times
                keys[key] = _replaced(key, [*_spans(key, redactor)]).found
            kept += keys[key]
            number = _NUMBER.match(text, stop)
            if number is not None and (under is None or key in under):
                told = key, _A_NUMBER if redactor is known_secrets else number[0]
                if told not in numbers:
                    numbers[told] = _replaced(told[1], _spans_named(told[1], key, redactor)).found
                kept += [(kind, len(number[0])) for kind, _ in numbers[told]]
            continue
        name = key if key_stop == start else ""
        if under is not None and name not in under:
            continue
        value = _read(literal[0])
        masked = _settled(value, functools.partial(_spans_named, name=name, redactor=redactor))
        if masked.found:
            pieces += (text[at:start], json.dumps(masked.text, ensure_ascii=literal[0].isascii() or "\\u" in literal[0]))
            found += masked.found
            at = stop
    return Masked("".join((*pieces, text[at:])) if found else text, tuple(found), tuple(kept))


def _is_json(text: str) -> bool:
    try:
        json.loads(text, parse_int=float)  # float: an int of 5,000 digits is an error
    except ValueError:
        return False
    except RecursionError:
        pass  # its strings are told from the rest all the same
    return True


def _read(literal: str) -> str:
    if "\\" not in literal:
        return literal[1:-1]
    try:
        text: str = json.loads(literal)
    except ValueError:  # of what was nested too deep to be judged
        return literal[1:-1]
    return text


def _spans_named(value: str, name: str, redactor: Redactor) -> list[tuple[int, int, str]]:
    """The spans of a value, looked at alone and behind its name."""
    spans = [*_spans(value, redactor)]
    if name and len(name) + len(value) <= _NAMED_CHARS:
        alone = {(start, stop) for start, stop, _ in spans}
        quote = '"' if _WORD.fullmatch(value) else ""  # of a mere word it counts that it stands in quotes
        before = len(name) + len(": ") + len(quote)
        for first, last, kind in _spans(f"{name}: {quote}{value}{quote}", redactor):
            start, stop = first - before, min(last - before, len(value))
            if 0 < stop > start and (start, stop) not in alone:
                spans.append((start, stop, kind) if start > 0 else (0, len(value), kind))
    return spans


# --- Spans -----------------------------------------------------------------------------------------------------------


def _settled(text: str, look: Callable[[str], list[tuple[int, int, str]]]) -> Masked:
    """The text once nothing more is found: what stood beside a secret may be known for one only now."""
    found: list[tuple[str, int]] = []
    for _ in range(_ROUNDS):
        masked = _replaced(text, look(text))
        if not masked.found:
            break
        text = masked.text
        found += masked.found
    return Masked(text, tuple(found))


def _replaced(text: str, spans: list[tuple[int, int, str]]) -> Masked:
    apart = _merged(text, spans) if spans else []
    if not apart:
        return Masked(text)
    pieces: list[str] = []
    at = 0
    for start, stop, kind in apart:
        pieces += (text[at:start], write_mark(kind, stop - start))
        at = stop
    return Masked("".join((*pieces, text[at:])), tuple((kind, stop - start) for start, stop, kind in apart))


def _spans(text: str, redactor: Redactor) -> Iterator[tuple[int, int, str]]:
    """What the redactor finds, looked at."""
    try:
        spans = redactor(text)
        if isinstance(spans, str | bytes):
            raise PolicyError("redactor", "it gives (start, stop, kind) for each secret, and gave a text")
        for span in spans:
            yield _checked(span, len(text))
    except PolicyError:
        raise
    except Exception as error:  # a caller's own errors are many, and what they say may hold the secret
        raise PolicyError("redactor", f"it failed, or did not give (start, stop, kind): {type(error).__name__}") from error


def _checked(span: object, length: int) -> tuple[int, int, str]:
    if not isinstance(span, tuple | list) or len(span) != 3:
        raise PolicyError("redactor", f"it gives (start, stop, kind) for each secret, and gave a {type(span).__name__}")
    start, stop, kind = span
    if type(start) is not int or type(stop) is not int or not 0 <= start < stop <= length:
        raise PolicyError("redactor", f"start and stop are places in a text of {length} characters, the first before the last")
    if type(kind) is not str or re.fullmatch(_KIND, kind) is None:
        raise PolicyError("redactor", "a kind is up to 32 small letters, digits, blanks and hyphens and begins with a letter")
    return start, stop, kind


def _merged(text: str, spans: list[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """
    The spans in order and apart: those that overlap are one, and so is one with a mark that it cuts.

    What lies within a mark is no secret.
    """
    marks = [(*found.span(), "") for found in _MARK.finditer(text)]
    merged: list[tuple[int, int, str, int]] = []  # the last is the length of the span that gave the kind
    for start, stop, kind in sorted([*spans, *marks], key=lambda span: (span[0], -span[1], span[2] != "")):
        chars = stop - start if kind else 0
        if not merged or start >= merged[-1][1]:
            merged.append((start, stop, kind, chars))
            continue
        first, last, known, most = merged[-1]
        if known or stop > last:
            merged[-1] = (first, max(last, stop), kind if chars > most else known, max(chars, most))
    return [(start, stop, kind) for start, stop, kind, _ in merged if kind]
