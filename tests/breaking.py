"""
Ways in which a session file is broken at random, whatever its lines say.

Each kind of damage is a function of the lines of a file and a source of chance; `KINDS` names them all.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any, Final, TypeAlias

Damage: TypeAlias = Callable[[list[bytes], Random], list[bytes]]
"""From the lines of a file, without their newlines, to those of a broken one."""


def objects(lines: list[bytes]) -> list[dict[str, Any] | None]:
    """The object on each line; ``None`` where there is none."""
    return [_object(line) for line in lines]


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _dumps(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def _keys(value: dict[str, Any]) -> tuple[str, str]:
    """The keys of a line's id and of its parent's."""
    return ("uuid", "parentUuid") if "uuid" in value or "parentUuid" in value else ("id", "parentId")


def _linked(lines: list[bytes]) -> list[int]:
    """The lines that are part of the tree."""
    found = []
    for at, value in enumerate(objects(lines)):
        if value is not None and value.get("type") != "session" and isinstance(value.get(_keys(value)[0]), str):
            found.append(at)
    return found


def _holding(lines: list[bytes], *marks: bytes) -> list[int]:
    return [at for at, line in enumerate(lines) if any(mark in line for mark in marks)]


def _pick(places: list[int], chance: Random, count: int = 1) -> list[int]:
    return sorted(chance.sample(places, min(count, len(places))))


def _without(lines: list[bytes], places: list[int]) -> list[bytes]:
    gone = set(places)
    return [line for at, line in enumerate(lines) if at not in gone]


def _with(lines: list[bytes], at: int, **changed: Any) -> None:
    """Change keys of the object on a line."""
    value = _object(lines[at])
    assert value is not None
    lines[at] = _dumps({**value, **changed})


# -- lines that are not there, or not there alone ----------------------------------------------------------------------


def _removed(lines: list[bytes], chance: Random) -> list[bytes]:
    return _without(lines, _pick(list(range(len(lines))), chance))


def _thinned(lines: list[bytes], chance: Random) -> list[bytes]:
    return _without(lines, _pick(list(range(len(lines))), chance, 2 + chance.randrange(1 + len(lines) // 4)))


def _result_lost(lines: list[bytes], chance: Random) -> list[bytes]:
    return _without(lines, _pick(_holding(lines, b'"tool_result"', b'"toolResult"'), chance))


def _call_lost(lines: list[bytes], chance: Random) -> list[bytes]:
    return _without(lines, _pick(_holding(lines, b'"tool_use"', b'"toolCall"'), chance))


def _cut_off(lines: list[bytes], chance: Random) -> list[bytes]:
    return lines[: 1 + chance.randrange(len(lines))]


def _torn(lines: list[bytes], chance: Random) -> list[bytes]:
    at = chance.randrange(len(lines))
    return [*lines[:at], lines[at][: chance.randrange(len(lines[at]) + 1)]]


def _torn_and_continued(lines: list[bytes], chance: Random) -> list[bytes]:
    """The writer died in the middle of a line, and the next one appended to it."""
    at = chance.randrange(len(lines))
    torn = lines[at][: chance.randrange(len(lines[at]) + 1)]
    return [*lines[:at], torn + b"".join(lines[at + 1 : at + 2]), *lines[at + 2 :]]


def _twice(lines: list[bytes], chance: Random) -> list[bytes]:
    at = chance.randrange(len(lines))
    to = at + 1 + chance.randrange(len(lines) - at)
    return [*lines[:to], lines[at], *lines[to:]]


def _twice_renamed(lines: list[bytes], chance: Random) -> list[bytes]:
    """The same words under another id, right behind or far away."""
    places = _linked(lines)
    if not places:
        return lines
    at = chance.choice(places)
    copy = [lines[at]]
    value = _object(lines[at])
    assert value is not None
    key, parent = _keys(value)
    _with(copy, 0, **{key: f"{chance.getrandbits(32):08x}", parent: chance.choice([value.get(parent), value[key], None])})
    to = at + 1 if chance.random() < 0.5 else at + 1 + chance.randrange(len(lines) - at)
    return [*lines[:to], *copy, *lines[to:]]


# -- the order of lines ------------------------------------------------------------------------------------------------


def _swapped(lines: list[bytes], chance: Random) -> list[bytes]:
    made = list(lines)
    if len(made) > 1:
        at = chance.randrange(len(made) - 1)
        made[at : at + 2] = made[at + 1], made[at]
    return made


def _shuffled_here(lines: list[bytes], chance: Random) -> list[bytes]:
    """A few neighbours in another order."""
    at = chance.randrange(len(lines))
    part = lines[at : at + 2 + chance.randrange(6)]
    chance.shuffle(part)
    return [*lines[:at], *part, *lines[at + len(part) :]]


def _reply_shuffled(lines: list[bytes], chance: Random) -> list[bytes]:
    """The lines of one reply and of its results in another order."""
    calls = _holding(lines, b'"tool_use"', b'"toolCall"')
    if not calls:
        return lines
    start = stop = chance.choice(calls)
    while start > 0 and any(mark in lines[start - 1] for mark in (b'"assistant"', b'"tool_result"', b'"toolResult"')):
        start -= 1
    while stop < len(lines) and any(mark in lines[stop] for mark in (b'"assistant"', b'"tool_result"', b'"toolResult"')):
        stop += 1
    start, stop = max(start, stop - 8), stop
    part = lines[start:stop]
    chance.shuffle(part)
    return [*lines[:start], *part, *lines[stop:]]


def _shuffled(lines: list[bytes], chance: Random) -> list[bytes]:
    made = list(lines)
    chance.shuffle(made)
    return made


# -- the tree ----------------------------------------------------------------------------------------------------------


def _relinked(lines: list[bytes], chance: Random, count: int, how: str) -> list[bytes]:
    places = _pick(_linked(lines), chance, count)
    values = [value for at in places if (value := _object(lines[at])) is not None]
    if not values:
        return lines
    key, parent = _keys(values[0])
    parents = [value.get(parent) for value in values]
    names = [value[key] for value in values]
    told: list[Any]
    if how == "swap":
        told = [*parents[1:], *parents[:1]]
    elif how == "circle":
        told = [*names[1:], *names[:1]]
    elif how == "null":
        told = [None] * len(names)
    elif how == "lost":
        told = [f"lost-{chance.getrandbits(16):04x}" for _name in names]
    else:
        every = [value[key] for at in _linked(lines) if (value := _object(lines[at])) is not None and key in value]
        told = [chance.choice(every) for _name in names]
    made = list(lines)
    for at, name in zip(places, told, strict=True):
        _with(made, at, **{parent: name})
    return made


def _parents_swapped(lines: list[bytes], chance: Random) -> list[bytes]:
    return _relinked(lines, chance, 2, "swap")


def _parent_of_itself(lines: list[bytes], chance: Random) -> list[bytes]:
    return _relinked(lines, chance, 1, "circle")


def _circle(lines: list[bytes], chance: Random) -> list[bytes]:
    return _relinked(lines, chance, 2 + chance.randrange(3), "circle")


def _back_link(lines: list[bytes], chance: Random) -> list[bytes]:
    """A line hangs from one of its own descendants."""
    places = _linked(lines)
    if len(places) < 2:
        return lines
    at, below = _pick(places, chance, 2)
    one, other = _object(lines[at]), _object(lines[below])
    assert one is not None
    assert other is not None
    made = list(lines)
    _with(made, at, **{_keys(one)[1]: other[_keys(other)[0]]})
    return made


def _parent_null(lines: list[bytes], chance: Random) -> list[bytes]:
    return _relinked(lines, chance, 1, "null")


def _parent_lost(lines: list[bytes], chance: Random) -> list[bytes]:
    return _relinked(lines, chance, 1 + chance.randrange(3), "lost")


def _parent_random(lines: list[bytes], chance: Random) -> list[bytes]:
    return _relinked(lines, chance, 1 + chance.randrange(3), "random")


def _rewound(lines: list[bytes], chance: Random) -> list[bytes]:
    """The last line hangs from an early one, so that what stood between is a dead branch; a result may be the last."""
    places = _linked(lines)
    if len(places) < 3:
        return lines
    last = _object(lines[places[-1]])
    early = _object(lines[chance.choice(places[:-1])])
    assert last is not None
    assert early is not None
    made = list(lines[: places[-1] + 1])
    _with(made, places[-1], **{_keys(last)[1]: early[_keys(early)[0]]})
    return made


# -- bytes -------------------------------------------------------------------------------------------------------------


def _mixed_ends(lines: list[bytes], chance: Random) -> list[bytes]:
    return [line + b"\r" if line and chance.random() < 0.5 else line for line in lines]


def _marked(lines: list[bytes], chance: Random) -> list[bytes]:
    del chance
    return [b"\xef\xbb\xbf" + lines[0], *lines[1:]]


def _spaced(lines: list[bytes], chance: Random) -> list[bytes]:
    """Blank lines between the others, and blanks around them."""
    made = []
    for line in lines:
        made += [chance.choice([b"", b" ", b"\t", b"\r"])] * chance.choice([0, 0, 1])
        made.append(b" " + line + b" " if line and chance.random() < 0.2 else line)
    return made


def _masked(lines: list[bytes], chance: Random) -> list[bytes]:
    """A few bytes of a line under asterisks, as scripts that look for secrets leave them."""
    at = chance.randrange(len(lines))
    line = lines[at]
    start = chance.randrange(len(line) + 1)
    return [*lines[:at], line[:start] + b"\\***" + line[start + 4 :], *lines[at + 1 :]]


def _nul_run(lines: list[bytes], chance: Random) -> list[bytes]:
    at = chance.randrange(len(lines))
    return [*lines[:at], b"\0" * (1 + chance.randrange(20)) + lines[at], *lines[at + 1 :]]


def _bytes_flipped(lines: list[bytes], chance: Random) -> list[bytes]:
    """Up to three bytes of the file are others."""
    made = bytearray(b"\n".join(lines))
    for _byte in range(1 + chance.randrange(3)):
        made[chance.randrange(len(made))] = chance.randrange(256)
    return bytes(made).split(b"\n")


def _letters_broken(lines: list[bytes], chance: Random) -> list[bytes]:
    """Bytes that are no UTF-8, in the words of some lines."""
    made = []
    for line in lines:
        at = line.rfind(b'"text":"') if chance.random() < 0.3 else -1
        made.append(line if at < 0 else line[: at + 8] + b"\xe9\xff" + line[at + 8 :])
    return made


def _two_on_a_line(lines: list[bytes], chance: Random) -> list[bytes]:
    at = chance.randrange(len(lines))
    return [*lines[:at], b"".join(lines[at : at + 2]), *lines[at + 2 :]]


# -- what lines say ----------------------------------------------------------------------------------------------------


def _item_changed(
    lines: list[bytes], chance: Random, kinds: tuple[str, ...], change: Callable[[dict[str, Any]], Any]
) -> list[bytes]:
    """One item of a content changed; ``None`` takes it away."""
    found = []
    for at, value in enumerate(objects(lines)):
        message = value.get("message") if value is not None else None
        content = message.get("content") if isinstance(message, dict) else None
        if isinstance(message, dict) and message.get("role") in kinds:
            found.append((at, -1))
        for place, item in enumerate(content if isinstance(content, list) else ()):
            if isinstance(item, dict) and item.get("type") in kinds:
                found.append((at, place))
    if not found:
        return lines
    at, place = chance.choice(found)
    value = _object(lines[at])
    assert value is not None
    message = value["message"]
    if place < 0:
        told = change(message)
        message = {**message, "content": []} if told is None else told
    else:
        told = change(message["content"][place])
        items = [] if told is None else [told]
        message = {**message, "content": [*message["content"][:place], *items, *message["content"][place + 1 :]]}
    made = list(lines)
    _with(made, at, message=message)
    return made


_RESULTS: Final = ("tool_result", "toolResult")
_CALLS: Final = ("tool_use", "toolCall")


def _result_edited_away(lines: list[bytes], chance: Random) -> list[bytes]:
    return _item_changed(lines, chance, _RESULTS, lambda _item: None)


def _result_emptied(lines: list[bytes], chance: Random) -> list[bytes]:
    empty = chance.choice(["", [], None, [{"type": "text", "text": ""}]])
    return _item_changed(lines, chance, _RESULTS, lambda item: {**item, "content": empty})


def _result_misnamed(lines: list[bytes], chance: Random) -> list[bytes]:
    name = chance.choice(["wrong", "bad id", "", None, 7])
    key = {"tool_result": "tool_use_id", "toolResult": "toolCallId"}
    return _item_changed(lines, chance, _RESULTS, lambda item: {**item, key[str(item.get("type", item.get("role")))]: name})


def _call_edited_away(lines: list[bytes], chance: Random) -> list[bytes]:
    return _item_changed(lines, chance, _CALLS, lambda _item: None)


def _call_misnamed(lines: list[bytes], chance: Random) -> list[bytes]:
    name = chance.choice(["wrong", "bad id", "", None, 7])
    return _item_changed(lines, chance, _CALLS, lambda item: {**item, "id": name})


def _arguments_broken(lines: list[bytes], chance: Random) -> list[bytes]:
    told: Any = chance.choice([None, "{", [1], 3, {}])
    return _item_changed(
        lines, chance, _CALLS, lambda item: {**item, ("input" if item["type"] == "tool_use" else "arguments"): told}
    )


def _text_blanked(lines: list[bytes], chance: Random) -> list[bytes]:
    words = chance.choice(["", " ", "\n\n"])
    return _item_changed(lines, chance, ("text",), lambda item: {**item, "text": words})


def _seal_lost(lines: list[bytes], chance: Random) -> list[bytes]:
    return _item_changed(lines, chance, ("thinking",), lambda item: {**item, "signature": "", "thinkingSignature": ""})


def _several(lines: list[bytes], chance: Random) -> list[bytes]:
    """Two or three kinds of damage, one after the other."""
    kinds = [damage for name, damage in KINDS.items() if name != "several"]
    for damage in chance.sample(kinds, 2 + chance.randrange(2)):
        lines = damage(lines, chance) or lines
    return lines


KINDS: Final[dict[str, Damage]] = {
    "a line removed": _removed,
    "lines removed": _thinned,
    "a result removed": _result_lost,
    "a call removed": _call_lost,
    "the rest cut off": _cut_off,
    "torn at the end": _torn,
    "torn, then continued": _torn_and_continued,
    "a line twice": _twice,
    "a line twice, renamed": _twice_renamed,
    "neighbours swapped": _swapped,
    "neighbours shuffled": _shuffled_here,
    "a reply shuffled": _reply_shuffled,
    "all shuffled": _shuffled,
    "parents swapped": _parents_swapped,
    "its own parent": _parent_of_itself,
    "a circle": _circle,
    "a link back": _back_link,
    "a parent null": _parent_null,
    "parents lost": _parent_lost,
    "parents at random": _parent_random,
    "rewound": _rewound,
    "mixed line ends": _mixed_ends,
    "a byte order mark": _marked,
    "blank lines": _spaced,
    "a masked line": _masked,
    "NUL bytes": _nul_run,
    "bytes flipped": _bytes_flipped,
    "letters broken": _letters_broken,
    "two records on a line": _two_on_a_line,
    "a result edited away": _result_edited_away,
    "a result emptied": _result_emptied,
    "a result misnamed": _result_misnamed,
    "a call edited away": _call_edited_away,
    "a call misnamed": _call_misnamed,
    "arguments broken": _arguments_broken,
    "a text blanked": _text_blanked,
    "a seal lost": _seal_lost,
    "several": _several,
}


def broken(lines: list[bytes], kind: str, seed: int) -> bytes:
    """The file of these lines with one kind of damage, always the same for the same seed."""
    made = KINDS[kind](list(lines), Random(f"{kind} {seed}"))  # noqa: S311  # chance that can be repeated
    return b"\n".join(made)
