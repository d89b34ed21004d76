"""
What public functions are given, looked at before anything is done with it.

What this is
    The few questions that most of them ask of an argument: is it of this
    class, is it a whole number, is it one of these words.

Rules it obeys
    * An argument that is not what it is declared to be is a `PolicyError` that
      names it, and never an error from somewhere inside.
    * To look costs one ``isinstance``, whatever the argument holds.
    * To say what is wrong is safe: a message is never longer for a long value,
      and nothing of the caller's is run to make it, but the words of an error
      that a callback raised (`told`), whose failure is no other error.

What is not here
    What an argument names (a message, a reference, a profile): that is looked
    for where it is used.
"""

from __future__ import annotations

import os
from types import UnionType
from typing import Final

from .errors import PolicyError

__all__ = ["LARGEST", "need", "need_one_of", "need_path", "need_whole", "shown", "told"]

LARGEST: Final = 2**53 - 1
"""The largest whole number that is accepted: sizes go into JSON, and beyond it not every reader of JSON is exact."""

_SHOWN_CHARS: Final = 60
_TOLD_CHARS: Final = 500


def shown(value: object) -> str:
    """
    A value as a message shows it: scalars themselves, shortened, and of anything else the class.

    >>> shown("abc"), shown(-1), shown(None), shown([1, 2]), shown(10**400)
    ("'abc'", '-1', 'None', 'list', 'a number of 1329 bits')
    """
    if type(value) is int:
        bits = value.bit_length()
        return repr(value) if bits <= 64 else f"a number of {bits} bits"
    if type(value) is str or type(value) is bytes:
        return repr(value) if len(value) <= _SHOWN_CHARS else f"{value[:_SHOWN_CHARS]!r}..."
    return repr(value) if value is None or type(value) in (bool, float) else type(value).__name__


def told(error: BaseException) -> str:
    """
    What foreign code raised, in words of bounded length; an error that cannot even say what it is is its class.

    >>> told(KeyError("port")), len(told(ValueError("x" * 10**6)))
    ("KeyError: 'port'", 515)
    """
    try:
        words = str(error)
    except Exception:  # noqa: BLE001 - its ``__str__`` is foreign code too
        words = ""
    if len(words) > _TOLD_CHARS:
        words = f"{words[:_TOLD_CHARS]}..."
    return f"{type(error).__name__}: {words}" if words else type(error).__name__


def need(name: str, value: object, kind: type | UnionType, wanted: str) -> None:
    """
    Refuse an argument that is not of *kind*, which is *wanted* in words.

    Raises:
        PolicyError: it is not; the field is *name*.

    >>> need("text", 5, str, "a text")
    Traceback (most recent call last):
        ...
    compactlib.errors.PolicyError: text: a text, not 5
    """
    if not isinstance(value, kind):
        raise PolicyError(name, f"{wanted}, not {shown(value)}")


def need_path(name: str, value: object) -> None:
    """
    Refuse what names no file or directory: what is neither text nor a path of text, and the empty text.

    Raises:
        PolicyError: it names none; the field is *name*.
    """
    path = os.fspath(value) if isinstance(value, os.PathLike) else value
    if not isinstance(path, str) or not path:
        raise PolicyError(name, f"a path, not {shown(value)}")


def need_whole(name: str, value: object, *, least: int = 0, most: int = LARGEST) -> None:
    """
    Refuse what is no whole number from *least* to *most*; a bool is none.

    Raises:
        PolicyError: it is none; the field is *name*.

    >>> need_whole("tokens", 0.5)
    Traceback (most recent call last):
        ...
    compactlib.errors.PolicyError: tokens: a whole number from 0 on, not 0.5
    """
    if type(value) is not int or not least <= value <= most:
        far = f"to {most}" if most < LARGEST or (type(value) is int and value > most) else "on"
        raise PolicyError(name, f"a whole number from {least} {far}, not {shown(value)}")


def need_one_of(name: str, value: object, words: tuple[str, ...]) -> None:
    """
    Refuse what is none of *words*.

    Raises:
        PolicyError: it is none; the field is *name*.

    >>> need_one_of("keep", "middle", ("both", "head", "tail"))
    Traceback (most recent call last):
        ...
    compactlib.errors.PolicyError: keep: one of 'both', 'head', 'tail', not 'middle'
    """
    if not (isinstance(value, str) and value in words):
        raise PolicyError(name, f"one of {', '.join(map(repr, words))}, not {shown(value)}")
