"""
Plain request bodies and lists of messages.

What this is
    The reader of what people save without an agent's help: one request body
    (``.json``), a list of messages, a message a line, or a body a line.

Rules it obeys
    * Lines that are messages are those of one conversation.  Lines that are
      request bodies are one conversation each.
    * Several bodies in one file are several conversations, unless each begins
      with all of the one before it: such a log of requests is one conversation
      that grew, and its last line is all of it.
    * What was recorded around a body (``{"dialect", "status", "body"}``) is not
      part of it; a ``dialect`` recorded there is believed.
    * A wrong shape is an error here, not a problem to be passed over: a body
      was written to be sent as it stands.

What is not here
    Telling dialects apart: `signs`.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from ..dialects import WIRES, messages_key
from ..errors import WireError
from ..model import Json
from .drafts import Draft, Entry
from .lines import Content, Line, Problem
from .signs import body_in, dialect_of, is_message

__all__ = ["grew", "read_requests"]


def read_requests(content: Content, dialect: str | None) -> list[Draft]:
    """Every conversation in the file; with *dialect* ``None`` each is looked at for its own."""
    if content.is_document:
        value = content.lines[0].value
        if isinstance(value, list) and value and all(body_in(item) is not None for item in value):
            return [_draft(body, _dialect(item, body, dialect), 1) for item in value if (body := body_in(item)) is not None]
        body = body_in(value)
        if body is None:
            body = value
        return [_draft(body, _dialect(value, body, dialect), 1)]
    bodies = [(line, body_in(line.value)) for line in content.lines]
    if any(body is not None for _, body in bodies):
        skipped = [Problem(line.number, "no request body; not read", is_unread=True) for line, body in bodies if body is None]
        drafts = [_draft(body, _dialect(line.value, body, dialect), line.number) for line, body in bodies if body is not None]
        drafts[0].problems.extend(skipped)
        return drafts
    return [_message_lines(content.lines, dialect)]


def grew(drafts: Sequence[Draft]) -> bool:
    """Whether each conversation begins with all messages of the one before it."""
    for before, after in itertools.pairwise(drafts):
        size = len(before.entries)
        if size > len(after.entries):
            return False
        if any(old.message != new.message for old, new in zip(before.entries, after.entries[:size], strict=True)):
            return False
    return True


def _dialect(value: Json, body: Json, asked: str | None) -> str:
    recorded = value.get("dialect") if isinstance(value, dict) and value is not body else None
    if asked is None and isinstance(recorded, str) and recorded in WIRES:
        return recorded
    return asked or dialect_of(body)


def _draft(body: Json, dialect: str, line: int) -> Draft:
    key = messages_key(dialect)
    messages = body.get(key) if isinstance(body, dict) else body
    if isinstance(messages, str) and isinstance(body, dict):  # OpenAI Responses: words alone stand for one message
        body = {**body, key: [{"role": "user", "content": messages}]}
        messages = body[key]
    if not isinstance(messages, list):
        raise WireError(f"$.{key}" if isinstance(body, dict) else "$", "there is no list of messages")
    entries = [Entry(message, (line,)) for message in messages]
    meta: dict[str, Json] = {"session": None, "cwd": None, "model": None, "reported_tokens": None}
    if isinstance(body, dict) and isinstance(body.get("model"), str):
        meta["model"] = body["model"]
    kept = body if isinstance(body, dict) else None
    return Draft(dialect, dialect, entries, meta=meta, body=kept, is_session=False)


def _message_lines(lines: Sequence[Line], dialect: str | None) -> Draft:
    said = [line for line in lines if is_message(line.value) or isinstance(line.value.get("role"), str)]
    messages = [line.value for line in said]
    draft = _draft(messages, dialect or dialect_of(messages), 1)
    draft.entries = [Entry(line.value, (line.number,)) for line in said]
    numbers = {line.number for line in said}
    others = [line.number for line in lines if line.number not in numbers]
    draft.problems = [Problem(number, "no message; not read", is_unread=True) for number in others]
    return draft
