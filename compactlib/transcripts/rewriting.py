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
      gets it, and what reads otherwise is refused.
    * A made-up result is a line of its own on the living branch; a line that
      goes hands its children to its parent.
    * Law L16.  No clock and no chance: the same file gives the same file.

How it works
    `lineage` says which block was which, and a block knows its line.  So a line
    keeps all of its blocks (nothing is done), some (its items are spliced) or
    none (it goes).  `placing` finds a place for what is new or has moved,
    `relinking` keeps the tree whole, `forms` writes lines, `splicing` changes
    bytes.  A line that was hidden by one that went, such as a copy of it, comes
    to light; then all is done once more, a few times at most.

What is not here
    What is changed (`compactlib.protocol.repair`), and files on disk.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from typing import Final

from ..dialects import render_messages
from ..dialects.reading import dumps
from ..dialects.shapes import keep
from ..errors import WireError
from ..model import Conversation, Json
from . import read
from .drafts import Transcript
from .forms import FORMS, Held
from .lineage import Heir, descent, first_difference, is_same
from .lines import read_content
from .placing import Arrival, Change, arrivals
from .relinking import Node, Tree
from .splicing import Path, Record, records_of, splice, splice_items

__all__ = ["rewrite"]

_ROUNDS: Final = 4
_UTF16: Final = (b"\xff\xfe", b"\xfe\xff")
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
    first = transcript
    target = after = mend(transcript.conversation)
    if target is transcript.conversation:
        return data
    _refuse_others(data, transcript)
    for _round in range(_ROUNDS):
        data = _Rewriter(data, transcript, after).write()
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
    message, place = first_difference(target, after)
    _old, new = descent(first.conversation, target)
    lines = _lines_of(first)
    line = lines[0] if lines else 1
    for heir in new:
        if not heir.is_new:
            line = lines[heir.ancestor]
        if (heir.message, heir.place) == (message, place):
            break
    return WireError(f"line {line}", "written so, the session would not read as the mended conversation from here on", hint=_HINT)


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
    if data.startswith(_UTF16) or (content.is_document and not is_one_line):
        raise WireError("$", "only a log of one record a line, in UTF-8, is written back", hint=_HINT)


class _Rewriter:
    """Writes one file once."""

    def __init__(self, data: bytes, transcript: Transcript, after: Conversation) -> None:
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
        moved = {self.change.line_of(heir) for heir, moves in zip(self.change.new, self.change.moves, strict=True) if moves}
        comes = any(heir.is_new and not self.change.is_reply(heir) for heir in self.change.new)
        if not (self.gone or moved or comes):
            return b"\n".join(map(self._line, self.records))
        tree = Tree(self._node(record) for record in self.records)
        for line in sorted(self.gone | moved):
            node = tree.nodes[line]
            if line in self.gone and node.name is not None:
                children = tree.children(node)
                self.links[node.name] = node.parent, children[-1].name if children else None
            tree.take(node)
        end = tree.lost_end() if self.gone and not moved else None
        behind: defaultdict[int, list[Arrival]] = defaultdict(list)
        for arrival in arrivals(tree, self.change, lambda line, heirs: self._mint(tree, line, heirs)):
            behind[arrival.behind].append(arrival)
        self._relink(tree, sorted(self.gone | moved), sorted(at for at, come in behind.items() for _one in come))
        made = [self._arrived(one) for one in behind[0]]
        for record in self.records:
            if record.number not in self.gone and record.number not in moved:
                made.append(self._line(record))
            made += [self._arrived(one) for one in behind.get(record.number, ())]
        return b"\n".join(made if end is None else self._ended(made, tree, end))

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
        inside: defaultdict[int, list[Json]] = defaultdict(list)  # old block -> what the model says behind it on its line
        before: Heir | None = None
        for heir in self.change.new:
            if not heir.is_new:
                stays[self.change.line_of(heir)].append(heir)
                before = heir
            elif self.change.is_reply(heir):
                if before is None or before.message != heir.message:
                    where = "$" if before is None else f"line {self.change.line_of(before)}"
                    raise WireError(where, "a reply behind it would begin with a block that is new", hint=_HINT)
                inside[before.ancestor].append(self._is(heir))
        for line, blocks in self.on_line.items():
            self._revise(line, blocks, stays[line], inside)

    def _revise(self, line: int, blocks: list[int], stays: list[Heir], inside: dict[int, list[Json]]) -> None:
        """Change the items of a line as its blocks did, or let it go."""
        edited = [heir for heir in stays if self._is_edited(heir)]
        numbers = [heir.ancestor for heir in stays]
        if numbers == blocks and not edited and inside.keys().isdisjoint(numbers):
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
        if held.is_list:
            kept = [place[number] for number in numbers]
            following = iter(sorted(kept) if numbers == sorted(numbers) else kept)
            staying = sorted(others.union(kept))
            order = [at if at in others else next(following) for at in staying]
            behind = {place[number]: inside[number] for number in numbers if number in inside}
            self.texts[line] = splice_items(record.text, held.path, order, values, behind)
        elif values:
            self.texts[line] = splice(record.text, {held.path: values[0]})

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
            return Node(line, None, None)
        return Node(line, self.form.mint(tree.names(), name, *(dumps(self._is(heir)) for heir in heirs)), None)

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

    def _ended(self, made: list[bytes], tree: Tree, end: Node) -> list[bytes]:
        """The lines with one that says nothing behind them, so that the branch of a last line that went stays the living one."""
        record = self.records[end.line - 1]
        parent = tree.instead_of(end)
        name = self.form.mint(tree.names(), str(end.name), "end")
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
    key = {"tool_use": "id", "tool_result": "tool_use_id"}.get(kind)
    if key is None:
        return json.dumps(block, sort_keys=True)
    name = block.get(key)
    return f"{kind} {name}" if isinstance(name, str) else kind
