"""
Files people have -> conversations.

What this is
    `load` reads one file into a `Conversation`, `read` also says what was wrong
    with the file and what it tells besides, `read_all` reads a file of several
    conversations.  The format is told by the structure of the content.

    ================ ========================================================
    ``claude-code``  a Claude Code session or a sub-agent's file; Anthropic messages
    ``pi``           a pi session, any version; Anthropic messages
    a dialect's name a request body, a list of messages, one of either a line
    ================ ========================================================

Rules it obeys
    * What comes out is what the model would be sent next, not what the file
      holds: compacted history, abandoned branches and other agents' lines are
      not in it.
    * A broken file is read as far as it can be.  A torn last line, NUL bytes
      and a bad line in the middle are problems with a line number.
    * Nothing but `WireError` leaves these functions, for any bytes; and
      `PolicyError` for an argument that is none.

How it works
    `lines` (bytes to values) -> `sniffing` -> one reader for each format, which
    makes wire messages -> `compactlib.dialects.parse`.

What is not here
    Other agents' files: Codex, Gemini CLI and the like are recognised and named.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from ..arguments import need_path
from ..errors import WireError
from ..model import Conversation
from .claude_code import read_claude_code
from .drafts import Draft, Transcript, finish
from .lines import Content, Line, Problem, read_bytes, read_content
from .pi import read_pi
from .requests import grew, read_requests
from .sniffing import FORMATS, checked_format, sniff

__all__ = ["FORMATS", "Problem", "Transcript", "load", "read", "read_all"]


def load(source: str | os.PathLike[str] | bytes, *, format: str | None = None) -> Conversation:  # noqa: A002  # the public name
    """
    Read a file into a conversation.

    Args:
        source: a path, or the content itself as bytes.
        format: one of `FORMATS`; found out from the content when left out.

    Raises:
        WireError: the file cannot be read, is of no known format or of another
            than was named, or holds several conversations (see `read_all`).
        PolicyError: *source* is neither a path nor bytes, or *format* is none of `FORMATS`.

    >>> conversation = load(b'[{"role": "user", "content": "hi"}]')
    >>> conversation.dialect, conversation.messages[0].text
    ('openai-chat', 'hi')
    """
    return read(source, format=format).conversation


def read(source: str | os.PathLike[str] | bytes, *, format: str | None = None) -> Transcript:  # noqa: A002  # as in `load`
    """
    Read a file, and say what was wrong with it and what it tells besides.

    Raises:
        WireError, PolicyError: as for `load`.

    >>> torn = b'{"role": "user", "content": "hi"}\\n{"role": "assistant", "con'
    >>> transcript = read(torn)
    >>> [str(problem) for problem in transcript.problems]
    ['line 2: cut off in the middle of a record, as when the writer died; not read']
    """
    drafts = _drafts(source, format)
    if len(drafts) > 1 and not grew(drafts):
        raise WireError("$", f"the file holds {len(drafts)} conversations", hint="read_all gives each of them")
    last = drafts[-1]
    for draft in drafts[:-1]:
        last.problems.extend(draft.problems)
    return finish(last)


def read_all(source: str | os.PathLike[str] | bytes, *, format: str | None = None) -> tuple[Transcript, ...]:  # noqa: A002  # as in `load`
    """
    Read every conversation of a file of request bodies; a session file holds one.

    Raises:
        WireError, PolicyError: as for `load`.

    >>> len(read_all(b'{"messages": []}\\n{"messages": []}'))
    2
    """
    return tuple(finish(draft) for draft in _drafts(source, format))


def _drafts(source: str | os.PathLike[str] | bytes, asked: str | None) -> list[Draft]:
    asked = checked_format(asked)
    if not isinstance(source, bytes):
        need_path("source", source)
    content = read_content(read_bytes(source))
    kind = asked or sniff(content)
    if kind == "claude-code":
        drafts = [read_claude_code(_objects(content))]
    elif kind == "pi":
        drafts = [read_pi(_objects(content))]
    else:
        drafts = read_requests(content, asked)
    if asked is not None:
        _need_something(content, asked, drafts)
    drafts[0].problems.extend(content.problems)
    return drafts


def _need_something(content: Content, asked: str, drafts: Sequence[Draft]) -> None:
    """Refuse a file of another format than it was said to be, of which nothing was read."""
    if any(draft.entries or draft.body is not None for draft in drafts) or content.lines[0].value == []:
        return
    try:
        told = sniff(content)
    except WireError:
        told = ""
    if told != asked:
        names = {"": "", "request": "; by its content it is a request or a list of messages"}
        raise WireError("$", f"nothing in it is of format {asked}{names.get(told, f'; by its content it is {told}')}")


def _objects(content: Content) -> Sequence[Line]:
    """The objects of a session: its lines, or the items of a document that is an export of them."""
    value = content.lines[0].value
    if not content.is_document:
        return content.lines
    items = value.get("loglines") if isinstance(value, dict) else value
    if isinstance(items, list):
        return [Line(number, item) for number, item in enumerate(items, 1) if isinstance(item, dict)]
    if isinstance(value, dict):
        return content.lines
    raise WireError("$", "a session is made of objects")
