"""
JSON as text: where its values stand, and which of them to leave out.

What this is
    The two functions by which an excerpt of JSON stays JSON: `find_containers`
    gives the places of all values of each large array and object, `run_to_omit`
    chooses a run of neighbours among them.

Rules it obeys
    * Byte-identical slices of complete values (law L11): what is not left out
      is not written anew, and a string is not cut.
    * Linear in the text, whatever its depth.

How it works
    `json.loads` says whether the text is JSON at all.  Then one pass over its
    tokens keeps a stack of open containers.  Small ones, in which no run could
    be long enough, are stepped over as one token, which makes the pass cost a
    few times what parsing costs.

What is not here
    The marker that takes the place of the run (`truncation`).
"""

from __future__ import annotations

import functools
import json
import re
from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["DEPTH_LIMIT", "Values", "find_containers", "run_to_omit"]

DEPTH_LIMIT: Final = 200
"""JSON with more levels is not taken for JSON, so that no answer depends on an interpreter's own limit (law L16)."""

Values: TypeAlias = list[tuple[int, int]]
"""The values of one array or object, in order, as ranges of the text; keys belong to none."""


def _refuse_constant(name: str) -> Any:
    raise ValueError(name)  # NaN and the infinities are not JSON


@functools.cache
def _pattern() -> re.Pattern[str]:
    """A token of valid JSON, or a container of at most three levels.  Possessive, so linear."""
    string = r'"(?:[^"\\]++|\\.)*+"'
    container = string
    for _ in range(3):
        container = rf"""[{{\[](?:[^][{{}}"]++|{string}|{container})*+[}}\]]"""
    return re.compile(rf"""{container}|{string}|[][{{}},:]|[^][{{}},:"\s]++""")


def _tokens(text: str, least_chars: int) -> Iterator[tuple[int, int]]:
    """The tokens of valid JSON as ranges; containers of few levels and less than *least_chars* are one."""
    token = _pattern().search(text)
    while token is not None:
        at, after = token.span()
        if after - at >= least_chars and text[at] in "[{":
            after = at + 1  # the bracket alone
        yield at, after
        token = _pattern().search(text, after)


def find_containers(text: str, *, least_chars: int = 0) -> list[Values]:
    """
    The arrays and objects of *text* that have values and take up at least *least_chars*; none if it is not JSON.

    Inner ones come before those that hold them.

    >>> text = '{"a": [1, "two"], "b": null}'
    >>> [[text[start:stop] for start, stop in values] for values in find_containers(text)]
    [['1', '"two"'], ['[1, "two"]', 'null']]
    """
    try:
        json.loads(text, parse_int=float, parse_constant=_refuse_constant)  # float: an int of 5,000 digits is an error
    except (ValueError, RecursionError):
        return []
    containers: list[Values] = []
    open_: list[tuple[int, bool, Values]] = []  # where each began, whether it is an object, its values so far
    is_key = False
    for at, after in _tokens(text, max(least_chars, 2)):
        char = text[at]
        if char in "[{" and after - at == 1:
            open_.append((at, char == "{", []))
            if len(open_) > DEPTH_LIMIT:
                return []
            is_key = char == "{"
        elif char in "]}":
            start, _, values = open_.pop()
            if values and after - start >= least_chars:
                containers.append(values)
            if open_:
                open_[-1][2].append((start, after))
        elif char in ",:":
            is_key = char == "," and open_[-1][1]
        elif open_ and not is_key:
            open_[-1][2].append((at, after))
    return containers


def run_to_omit(values: Values, *, head_stop: int, tail_start: int, end: int, room_chars: int) -> tuple[int, int] | None:
    """
    The run of *values* to leave out so that at most *room_chars* of the text's characters remain, as a range.

    What follows the run is served first and gets half of the room, as nearly
    as whole values allow; what precedes it gets the rest.

    Args:
        values: of one container.
        head_stop: the run begins here or before.
        tail_start: the run ends here or behind.
        end: size of the text.
        room_chars: what may remain.

    Returns:
        From the beginning of the first value left out to the end of the last
        one, or ``None`` if leaving out all of them is not enough.

    >>> run_to_omit([(1, 4), (6, 9), (11, 14), (16, 19)], head_stop=20, tail_start=0, end=20, room_chars=12)
    (6, 14)
    """
    starts = [start for start, _ in values if start <= head_stop]
    stops = [stop for _, stop in values if stop >= tail_start]
    if not starts or not stops or starts[0] + end - stops[-1] > room_chars:
        return None
    share = max(room_chars - room_chars // 2, room_chars - starts[-1])
    tail = next((stop for stop in stops if end - stop <= min(share, room_chars - starts[0])), stops[-1])
    head = max((start for start in starts if start < tail and start + end - tail <= room_chars), default=starts[0])
    tail = next((stop for stop in stops if stop > head and head + end - stop <= room_chars), tail)
    return head, tail
