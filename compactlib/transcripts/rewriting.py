"""
A session file with its conversation mended, and every other line as it was.

What this is
    `rewrite` writes a changed conversation back into the log that it was read
    from: Claude Code's or pi's, in that program's own form.

Rules it obeys
    * A line that nothing happened to is the same line, byte for byte; of one
      that changed, only items of its content did, or the id it hangs from.
    * What is written reads as the changed conversation, and needs no more
      mending.  That is not believed but tried: it is read again before anybody
      gets it, and what reads otherwise is refused with its line.
    * A made-up result is a line of its own on the living branch; a line that
      goes hands its children to its parent.
    * Law L16.  No clock and no chance: the same file gives the same file.

How it works
    `lineage` says which block was which, and a block knows its line.  So a line
    keeps all of its blocks (nothing is done), some (its items are spliced) or
    none (it goes).  `placing` finds a place for what is new or has moved,
    `relinking` keeps the tree whole, `forms` writes lines, `splicing` changes
    bytes.  A line that was hidden by one that went, such as a copy of it, comes
    to light; then all is done once more, a few times at most.  Where the file
    would read otherwise, `straightening` links the whole branch anew; where a
    line holds two records and has to change, each gets a line of its own.

What is not here
    What is changed (`compactlib.protocol.repair`), and files on disk.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from enum import Enum, auto
from typing import Final, TypeAlias, assert_never

from ..dialects import render_messages
from ..dialects.reading import dumps
from ..dialects.shapes import keep
from ..errors import WireError
from ..model import Conversation, Json
from . import read
from .claude_messages import UNNAMED
from .drafts import Transcript
from .forms import FORMS, Held
from .lineage import Heir, descent, first_difference, is_same
from .lines import read_content
from .placing import Arrival, Change, arrivals
from .relinking import Node, Tree
from .splicing import Path, Record, parted, records_of, splice, splice_items
from .straightening import straighten

__all__ = ["rewrite"]

_ROUNDS: Final = 4
_UTF16: Final = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
_HINT: Final = "the session stays as it is; --format json prints the mended messages"


def rewrite(data: bytes, transcript: Transcript, mend: Callable[[Conversation], Conversation]) -> bytes:
    r"""
    The session with its conversation mended.

    Args:
        data: the file.
        transcript: what `compactlib.transcripts.read` made of it.
        mend: from a conversation to what it is to be; gives the same object
            back where there is nothing to do.

    Returns:
        The new file; *data* itself where there was nothing to do.

    Raises:
        WireError: the file is no log of a session that is written back, a line
            that would have to change cannot, or what would be written does not
            read as the mended conversation.

    >>> from compactlib.protocol.repair import repair
    >>> data = (
    ...     b'{"type":"user","uuid":"u1","parentUuid":null,"message":{"role":"user","content":"hi"}}\n'
    ...     b'{"type":"assistant","uuid":"a1","parentUuid":"u1","message":{"id":"m","role":"assistant",'
    ...     b'"content":[{"type":"tool_use","id":"t1","name":"ls","input":{}}]}}\n'
    ...     b'{"type":"user","uuid":"u2","parentUuid":"a1","message":{"role":"user","content":"go on"}}\n'
    ... )
    >>> lines = rewrite(data, read(data), lambda one: repair(one).conversation).splitlines()
    >>> lines[:2] == data.splitlines()[:2], [json.loads(line)["type"] for line in lines]
    (True, ['user', 'assistant', 'user', 'user'])
    >>> json.loads(lines[3])["parentUuid"] == json.loads(lines[2])["uuid"]
    True
    """
    target = mend(transcript.conversation)
    if target is transcript.conversation:
        return data
    if (encoding := _UTF16.get(data[:2])) is not None:
        log = _decoded(data, encoding).encode()
        return rewrite(log, read(log, format=transcript.format), mend).decode().encode(encoding)
    _refuse_others(data, transcript)
    refusals = []
    for log in _logs(data):
        told = transcript if log is data else read(log, format=transcript.format)
        after = target if log is data else mend(told.conversation)
        for way in _Way:
            try:
                return _written(log, told, mend, (target, after), way)
            except WireError as error:
                refusals.append(error)
    raise refusals[0]


def _decoded(data: bytes, encoding: str) -> str:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data[: error.start].decode(encoding, "replace").count("\n") + 1
        raise WireError(f"line {line}", "bytes that are no UTF-16, and could not be written as they were", hint=_HINT) from error


def _logs(data: bytes) -> Iterator[bytes]:
    """The file, and the file with each record on a line of its own."""
    yield data
    apart = parted(data)
    if apart != data:
        yield apart


def _written(
    data: bytes,
    transcript: Transcript,
    mend: Callable[[Conversation], Conversation],
    wanted: tuple[Conversation, Conversation],
    way: _Way,
) -> bytes:
    """The file that reads as the first of *wanted*; the second says the same in the blocks of *transcript*."""
    first = transcript
    target, after = wanted
    for _round in range(_ROUNDS):
        data = _Rewriter(data, transcript, after, way).write()
        if not data.strip():
            raise WireError("line 1", "nothing would be left of the session", hint=_HINT)
        transcript = read(data, format=transcript.format)
        after = mend(transcript.conversation)
        if after is transcript.conversation:
            if is_same(after, target):
                return data
            break
    raise _misread(first, target, after)


def _misread(first: Transcript, target: Conversation, after: Conversation) -> WireError:
    """The refusal of a file that would read as *after*: the line of the first block of *target* that is not there."""
    if not target.messages:
        line = next(iter(_lines_of(first)), 1)
        problem = "nothing would be left of the living branch, and a dead one would be read in its place"
        return WireError(f"line {line}", problem, hint=_HINT)
    message, place = first_difference(target, after)
    _old, new = descent(first.conversation, target)
    lines = _lines_of(first)
    line = lines[0] if lines else 1
    for heir in new:
        if not heir.is_new:
            line = lines[heir.ancestor]
        if (heir.message, heir.place) == (message, place):
            break
    problem = "wherever its lines stand and hang, the session would not read as the mended conversation from here on"
    return WireError(f"line {line}", problem, hint=_HINT)


def _lines_of(transcript: Transcript) -> list[int]:
    """The line of each block."""
    pairs = zip(transcript.conversation.messages, transcript.block_lines, strict=True)
    return [line for message, places in pairs if message.blocks for line in places]


def _refuse_others(data: bytes, transcript: Transcript) -> None:
    if transcript.format not in FORMS:
        raise WireError("$", f"{transcript.format} is no session that is written back")
    content = read_content(data)
    first = content.lines[0].value
    is_one_line = isinstance(first, dict) and "loglines" not in first and b"\n" not in data.strip()
    if content.is_document and not is_one_line:
        raise WireError("$", "an export in one document; only a log of one record a line is written back", hint=_HINT)


_Beside: TypeAlias = "defaultdict[int, tuple[list[Json], list[Json]]]"
"""What the model says that is new, by the old block that it stands before, or behind, on one line."""

_Leaf: TypeAlias = tuple[int, str | None]
"""The end of a branch: a line whose facts hold for one behind it, and the id that this hangs from."""


class _Way(Enum):
    """How lines that come and go are fitted in: with as few links as will do, or the whole branch anew; tried in this order."""

    IN_PLACE = auto()
    STRAIGHT = auto()


class _Rewriter:
    """Writes one file once."""

    def __init__(self, data: bytes, transcript: Transcript, after: Conversation, way: _Way) -> None:
        self.way: Final = way
        self.form: Final = FORMS[transcript.format]
        self.records: Final = records_of(data)
        before = transcript.conversation
        self._old_wire: Final = render_messages(before, keep)
        self._new_wire: Final = render_messages(after, keep)
        old, new = descent(before, after)
        lines: list[int] = []
        self.gone: Final[set[int]] = set()
        kept = {id(message) for message in after.messages}
        for message, places in zip(before.messages, transcript.block_lines, strict=True):
            if message.content or isinstance(message.content, str):
                lines += places
            elif id(message) not in kept:
                self.gone.update(places)
        self.on_line: Final[defaultdict[int, list[int]]] = defaultdict(list)  # line -> its old blocks
        for number, line in enumerate(lines):
            self.on_line[line].append(number)
        # a block that moved takes its line along if it is alone on it; else its line's items are put in another order
        moves = [heir.has_moved and len(self.on_line[lines[heir.ancestor]]) == 1 for heir in new]
        self.change: Final = Change(old, new, lines, moves, after)
        self.texts: Final[dict[int, str]] = {}  # what stands on a line now, where it is another text
        self._items: Final[dict[int, dict[str, Json]]] = {}  # line -> what stands on it, by its mark
        self.links: Final[dict[str, tuple[str | None, str | None]]] = {}  # id that went -> the ids before and behind it

    def write(self) -> bytes:
        """The new file."""
        self._revise_lines()
        tree = Tree(self._node(record) for record in self.records)
        if self.way is _Way.STRAIGHT:
            come, leaf = self._straightened(tree)
        elif self.way is _Way.IN_PLACE:
            come, leaf = self._fitted_in(tree)
        else:
            assert_never(self.way)
        moved = {self.change.line_of(one.heirs[0]) for one in come if not one.heirs[0].is_new}
        behind: defaultdict[int, list[Arrival]] = defaultdict(list)
        for one in come:
            behind[one.behind].append(one)
        self._relink(tree, sorted(self.gone | moved), sorted(one.behind for one in come))
        made = [self._arrived(one) for one in behind[0]]
        for record in self.records:
            if record.number not in self.gone and record.number not in moved:
                made.append(self._line(record))
            made += [self._arrived(one) for one in behind.get(record.number, ())]
        return b"\n".join(made if leaf is None else self._ended(made, tree, leaf))

    def _fitted_in(self, tree: Tree) -> tuple[list[Arrival], _Leaf | None]:
        """The lines that come or move, and the end of the branch if its last line went and another would be read now."""
        change = self.change
        moved = {change.line_of(heir) for heir, moves in zip(change.new, change.moves, strict=True) if moves}
        for line in sorted(self.gone | moved):
            self._take(tree, line)
        end = tree.lost_end() if self.gone and not moved else None
        leaf = None if end is None else (end.line, tree.instead_of(end))
        return list(arrivals(tree, change, lambda line, heirs: self._mint(tree, line, heirs))), leaf

    def _straightened(self, tree: Tree) -> tuple[list[Arrival], _Leaf | None]:
        """The lines that come or move where the whole branch is linked anew, and its end if another branch would be read."""
        for line in sorted(self.gone):
            self._take(tree, line)
        heads = {line for line in self.on_line if self.form.is_head(self.records[line - 1].value)}
        silent = {record.number for record in self.records if record.is_whole and self.form.is_silent(record.value)}
        made = straighten(tree, self.change, lambda line, heirs: self._mint(tree, line, heirs), heads, silent)
        if made.hidden is None:
            return made.arrivals, None
        leaf = made.hidden.beside, made.hidden.node.name
        return (made.arrivals, leaf) if self.form.has_end else (made.with_leaf_last(), None)

    def _take(self, tree: Tree, line: int) -> None:
        node = tree.nodes[line]
        if line in self.gone and node.name is not None:
            children = tree.children(node)
            self.links[node.name] = node.parent, children[-1].name if children else None
        tree.take(node)

    # -- what is on a line ---------------------------------------------------------------------------------------------

    def _was(self, number: int) -> dict[str, Json]:
        """An old block, as the wire has it."""
        ancestor = self.change.old[number]
        return _block(self._old_wire[ancestor.message], ancestor.place)

    def _is(self, heir: Heir) -> dict[str, Json]:
        """A new block, as the wire has it."""
        return _block(self._new_wire[heir.message], heir.place)

    def _revise_lines(self) -> None:
        stays: defaultdict[int, list[Heir]] = defaultdict(list)
        beside: _Beside = defaultdict(lambda: ([], []))
        first: list[Heir] = []  # what a reply now begins with; it goes on the line of what follows
        before: Heir | None = None
        for heir in self.change.new:
            if first and first[0].message != heir.message:
                break
            if not heir.is_new:
                stays[self.change.line_of(heir)].append(heir)
                before = heir
                if first:
                    beside[heir.ancestor][0].extend(self.form.made(self._is(one)) for one in first)
                    first = []
            elif self.change.is_reply(heir):
                if before is not None and before.message == heir.message:
                    beside[before.ancestor][1].append(self.form.made(self._is(heir)))
                else:
                    first.append(heir)
        if first:
            where = "$" if before is None else f"line {self.change.line_of(before)}"
            raise WireError(where, "a reply behind it would be new as a whole", hint=_HINT)
        for line, blocks in self.on_line.items():
            self._revise(line, blocks, stays[line], beside)

    def _revise(self, line: int, blocks: list[int], stays: list[Heir], beside: _Beside) -> None:
        """Change the items of a line as its blocks did, or let it go."""
        edited = [heir for heir in stays if self._is_edited(heir)]
        unnamed = [heir for heir in stays if self._name_of(heir).startswith(UNNAMED)]
        numbers = [heir.ancestor for heir in stays]
        if numbers == blocks and not edited and not unnamed and beside.keys().isdisjoint(numbers):
            return
        record = self.records[line - 1]
        held = self.form.held(record.value)
        if held is None:
            raise WireError(f"line {line}", "its words are made when it is read, and cannot be changed in the file", hint=_HINT)
        place = dict(zip(blocks, _places(held, [self._was(number) for number in blocks], line), strict=True))
        others = set(range(len(held.items))).difference(place.values())
        if not stays and not any(held.blocks[at] is not None for at in others):
            self.gone.add(line)
            return
        values = {}
        for heir in edited:
            at = place[heir.ancestor]
            values[at] = self.form.edited(held.items[at], self._was(heir.ancestor), self._is(heir))
        for heir in unnamed:  # the reader's names hold the line's number, which may be another one now
            at = place[heir.ancestor]
            block = held.blocks[at]
            if block is not None and not isinstance(block.get(_name_key(block)), str):
                item = values.get(at, held.items[at])
                values[at] = self.form.edited(item, block, {**block, _name_key(block): self._name_of(heir)})
        if not values and numbers == blocks and beside.keys().isdisjoint(numbers):
            return
        if held.is_list:
            kept = [place[number] for number in numbers]
            following = iter(sorted(kept) if numbers == sorted(numbers) else kept)
            staying = sorted(others.union(kept))
            order = [at if at in others else next(following) for at in staying]
            come = {place[number]: beside[number] for number in numbers if number in beside}
            self.texts[line] = splice_items(record.text, held.path, order, values, come)
        elif values:
            self.texts[line] = splice(record.text, {held.path: values[0]})

    def _name_of(self, heir: Heir) -> str:
        """The id of a call, or that of a result's call; else nothing."""
        block = self._is(heir)
        return str(block.get(_name_key(block), ""))

    def _is_edited(self, heir: Heir) -> bool:
        return heir.block is not self.change.old[heir.ancestor].block and self._was(heir.ancestor) != self._is(heir)

    # -- the tree ------------------------------------------------------------------------------------------------------

    def _node(self, record: Record) -> Node:
        try:
            value = record.value
        except WireError:  # a blank or a torn line hangs nowhere
            return Node(record.number, None, None)
        if value.get("type") in self.form.outside:
            return Node(record.number, None, None)
        name, parent = value.get(self.form.name_key), value.get(self.form.parent_key)
        return Node(
            record.number,
            name if isinstance(name, str) else None,
            parent if isinstance(parent, str) else None,
            is_loose=self.form.is_loose(value),
        )

    def _mint(self, tree: Tree, line: int, heirs: Sequence[Heir]) -> Node:
        """The node of a new line; in a file without ids it has none."""
        name = self.records[line - 1].value.get(self.form.name_key)
        if not isinstance(name, str):
            return Node(line, None, None, is_new=True)
        made = self.form.mint(tree.names(), name, *(dumps(self._is(heir)) for heir in heirs))
        return Node(line, made, None, is_new=True)

    def _relink(self, tree: Tree, went: Sequence[int], came: Sequence[int]) -> None:
        """Write what changed of links: to parents, to lines that went, and to lines by their number."""
        for record in self.records:
            node = tree.nodes[record.number]
            if record.number in self.gone:
                continue
            changed: dict[Path, Json] = {}
            if node.is_relinked:
                changed[self.form.parent_key,] = node.parent
            try:
                value = record.value
            except WireError:
                continue
            for keys, side in ((self.form.backward, 0), (self.form.forward, 1)):
                for key in keys:
                    named = value.get(key)
                    while isinstance(named, str) and named in self.links:
                        named = changed[key,] = self.links[named][side]
            number = value.get(self.form.number_key) if self.form.number_key else None
            if isinstance(number, int) and number > 0:
                shift = bisect_left(came, number + 1) - bisect_left(went, number + 1)
                if shift:
                    changed[self.form.number_key,] = number + shift
            if changed:
                self.texts[record.number] = splice(self.texts.get(record.number, record.text), changed)

    # -- bytes ---------------------------------------------------------------------------------------------------------

    def _line(self, record: Record) -> bytes:
        text = self.texts.get(record.number)
        return record.raw if text is None else record.with_text(text)

    def _arrived(self, one: Arrival) -> bytes:
        first = one.heirs[0]
        if not first.is_new:
            return self._line(self.records[self.change.line_of(first) - 1])
        beside = self.records[one.beside - 1]
        facts = beside.value
        if one.behind:  # it is not older than what it follows
            facts = {**facts, **{key: time for key, time in self.records[one.behind - 1].value.items() if key == "timestamp"}}
        link = {} if one.node.name is None else {self.form.parent_key: one.node.parent, self.form.name_key: one.node.name}
        blocks = [self._is(heir) for heir in one.heirs]
        if one.call is None:
            value = self.form.words(blocks, facts, link)
        else:
            value = self.form.result(blocks[0], self._call_item(one.call, one.beside), facts, link)
        return dumps(value).encode() + beside.ending

    def _ended(self, made: list[bytes], tree: Tree, leaf: _Leaf) -> list[bytes]:
        """The lines with one that says nothing behind them, so that a branch is the living one though another stands last."""
        record, parent = self.records[leaf[0] - 1], leaf[1]
        name = self.form.mint(tree.names(), str(parent), "end")
        value = self.form.end(record.value, {self.form.parent_key: parent, self.form.name_key: name})
        if value is None:
            return made
        line = dumps(value).encode() + record.ending
        return [*made[:-1], line, made[-1]] if made and not made[-1] else [*made, line]

    def _call_item(self, call: Heir, line: int) -> dict[str, Json]:
        """What stands on its line for a call."""
        was = self._was(call.ancestor)
        items = self._items.get(line)
        if items is None:
            held = self.form.held(self.records[line - 1].value)
            pairs = () if held is None else zip(held.items, held.blocks, strict=True)
            items = self._items[line] = {_mark(block): item for item, block in pairs if block is not None}
        found: dict[str, Json] = items.get(_mark(was), was)
        return found


def _block(message: Json, place: int) -> dict[str, Json]:
    content = message["content"]
    found: dict[str, Json] = {"type": "text", "text": content} if isinstance(content, str) else content[place]
    return found


def _places(held: Held, blocks: Sequence[dict[str, Json]], line: int) -> list[int]:
    """Which item of a line each block was read from; equal ones in order."""
    waiting: defaultdict[str, deque[int]] = defaultdict(deque)
    for at, block in enumerate(held.blocks):
        if block is not None:
            waiting[_mark(block)].append(at)
    found = []
    for block in blocks:
        places = waiting.get(_mark(block)) or waiting.get(str(block.get("type")))  # the reader names the nameless
        if not places:
            raise WireError(f"line {line}", "one of its blocks was read otherwise than it stands there", hint=_HINT)
        found.append(places.popleft())
    return found


def _mark(block: dict[str, Json]) -> str:
    """What a block is known by: a call and a result by their ids, because the reader may have put another text into a result."""
    kind = str(block.get("type"))
    key = _name_key(block)
    if not key:
        return json.dumps(block, sort_keys=True)
    name = block.get(key)
    return f"{kind} {name}" if isinstance(name, str) else kind


def _name_key(block: dict[str, Json]) -> str:
    """Where a call or a result has the id of the call; ``""`` for other blocks."""
    return {"tool_use": "id", "tool_result": "tool_use_id"}.get(str(block.get("type")), "")
