"""
What a reader hands back, and how it becomes a conversation.

What this is
    A `Draft` is wire messages of a dialect with what the format knows beside
    them; `finish` gives it to `compactlib.dialects.parse` and makes the public
    `Transcript` of it.

Rules it obeys
    * A session is read as far as it can be: a block of a shape that its dialect
      does not have is left out and reported with its line.  A request body is
      read whole or not at all, because whoever wrote it can mend it.

What is not here
    Formats: one module each.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from attrs import Factory, define, frozen

from ..dialects import messages_key, parse
from ..errors import WireError
from ..model import Conversation, Json, Origin
from .lines import Problem

__all__ = ["Draft", "Entry", "Slot", "Transcript", "finish"]


@frozen
class Entry:
    """
    One wire message.

    Attributes:
        lines: the line of each block of the content; one number where the content is a string or empty.
        origin: where it came from, if the format tells.
    """

    message: dict[str, Json]
    lines: tuple[int, ...]
    origin: Origin | None = None


@define
class Slot:
    """
    A message being written; a reply carries the results that stand directly behind it.

    Attributes:
        role: the wire's word.
        name: what ties the pieces of one message together, if anything does.
        text: the content, where it is one string.
    """

    role: str
    name: str | None = None
    origin: Origin | None = None
    text: str | None = None
    blocks: list[dict[str, Json]] = Factory(list)
    lines: list[int] = Factory(list)
    results: list[dict[str, Json]] = Factory(list)
    result_lines: list[int] = Factory(list)

    def add(self, block: dict[str, Json], line: int) -> None:
        self.blocks.append(block)
        self.lines.append(line)

    def answer(self, result: dict[str, Json], line: int) -> None:
        self.results.append(result)
        self.result_lines.append(line)

    def entries(self) -> Iterator[Entry]:
        content: Json = self.blocks if self.text is None else self.text
        yield Entry({"role": self.role, "content": content}, tuple(self.lines), self.origin)
        if self.results:
            yield Entry({"role": "user", "content": self.results}, tuple(self.result_lines))


@define
class Draft:
    """
    What one reader made of one conversation.

    Attributes:
        body: the request body around the messages (without them), if there was one.
        is_session: whether an unreadable block is left out rather than refused.
    """

    format: str
    dialect: str
    entries: list[Entry]
    problems: list[Problem] = Factory(list)
    title: str | None = None
    meta: dict[str, Json] = Factory(dict)
    body: dict[str, Json] | None = None
    is_session: bool = True


@frozen
class Transcript:
    """
    A file people have, as a conversation.

    Attributes:
        format: what the file was: ``claude-code``, ``pi`` or a dialect's name.
        dialect: the dialect of the messages.
        messages: the wire messages, as the model would be sent them.
        origins: where messages came from, by index, where the format tells.
        problems: what could not be read or was mended, by line.
        title: what the session is called, if it has a name.
        meta: facts beside the conversation.  ``session``, ``cwd``, ``model``,
            ``reported_tokens`` (the size of the last request and its answer as
            the provider counted them, ``None`` if that is out of date), and for
            sessions ``compactions``, ``cleared_results`` and ``left_out``
            (counts by kind of line).
        conversation: the same, parsed.
        lines: the line of the file on which each message begins, counted from
            1; empty where messages are not on lines of their own.
        block_lines: of a session the same for each block of each message; one
            number for a message that is one string, or has no block.
    """

    format: str
    dialect: str
    messages: list[dict[str, Json]]
    origins: Mapping[int, Origin]
    problems: tuple[Problem, ...]
    title: str | None
    meta: Mapping[str, Json]
    conversation: Conversation
    lines: tuple[int, ...] = ()
    block_lines: tuple[tuple[int, ...], ...] = ()


def finish(draft: Draft) -> Transcript:
    """
    Parse what a reader made.

    Raises:
        WireError: a request body has the wrong shape.
    """
    try:
        conversation = _parse(draft)
    except WireError:
        if not draft.is_session:
            raise
        draft.entries = _sifted(draft)
        conversation = _parse(draft)
    problems = sorted(draft.problems, key=lambda problem: problem.line)
    is_log = draft.is_session or any(entry.lines and entry.lines[0] > 1 for entry in draft.entries)
    return Transcript(
        draft.format,
        draft.dialect,
        [entry.message for entry in draft.entries],
        _origins(draft),
        tuple(problems),
        draft.title,
        draft.meta,
        conversation,
        tuple(_first_lines(draft.entries)) if is_log else (),
        tuple(entry.lines for entry in draft.entries) if draft.is_session else (),
    )


def _first_lines(entries: list[Entry]) -> Iterator[int]:
    """Where each message begins; one without content has no line of its own and takes the one before."""
    line = 1
    for entry in entries:
        line = entry.lines[0] if entry.lines else line
        yield line


def _parse(draft: Draft) -> Conversation:
    messages = [entry.message for entry in draft.entries]
    body: Json = messages
    if draft.body is not None:
        place = messages_key(draft.dialect)
        body = {key: messages if key == place else value for key, value in draft.body.items()}
    return parse(body, dialect=draft.dialect, origins=_origins(draft))


def _origins(draft: Draft) -> dict[int, Origin]:
    return {index: entry.origin for index, entry in enumerate(draft.entries) if entry.origin is not None}


def _sifted(draft: Draft) -> list[Entry]:
    """The entries without the blocks that the dialect cannot read."""
    kept: list[Entry] = []
    for entry in draft.entries:
        message = entry.message
        try:
            parse([message], dialect=draft.dialect)
        except WireError as error:
            content = message.get("content")
            if not isinstance(content, list):
                draft.problems.append(Problem(entry.lines[0], f"a message was left out: {_inner(error)}", is_unread=True))
                continue
            readable = [place for place, block in enumerate(content) if _is_readable(block, place, entry, draft)]
            if not readable:
                continue
            message = {**message, "content": [content[place] for place in readable]}
            entry = Entry(message, tuple(entry.lines[place] for place in readable), entry.origin)
        kept.append(entry)
    return kept


def _is_readable(block: Json, place: int, entry: Entry, draft: Draft) -> bool:
    try:
        parse([{**entry.message, "content": [block]}], dialect=draft.dialect)
    except WireError as error:
        draft.problems.append(Problem(entry.lines[place], f"a block was left out: {_inner(error)}", is_unread=True))
        return False
    return True


def _inner(error: WireError) -> str:
    """What is wrong, without the path of the one message that was tried."""
    where = error.path.removeprefix("$.messages[0]").removeprefix(".content[0]").lstrip(".")
    return f"{where}: {error.problem}" if where else error.problem
