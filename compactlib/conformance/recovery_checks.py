"""
The check of law L10: what was removed can be had again, and a secret that was taken out before is nowhere.

A store is known by what can be fetched from it (`Record.stored`).  Whatever
the output says can be fetched is looked up there, and compared with what stood
in the input.  A secret is looked for in all that was made and said.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from typing import Final

from ..model import Json
from .evidence import Evidence, evidence, paired
from .findings import Finding, broken, unknown
from .heads import Stub, behind, references, stubs
from .hiding import may_hide
from .record import Record
from .units import Block
from .wires import messages_of, read_messages
from .wires.block import canonical

__all__ = ["recoverable"]


def recoverable(record: Record) -> Iterator[Finding]:
    """BACK-1, BACK-2, BACK-4: references lead to what went, whole; BACK-3: undo undoes; REDACT-1: a secret is nowhere."""
    yield from _secrets(record)
    if record.outcome != "compacted":
        return
    seen = evidence(record)
    yield from _cleared(record, seen)
    yield from _references(record, seen)
    yield from _hidden(record, seen)
    if record.undone is None:
        yield from unknown("BACK-3", "nobody tried to undo it", "undone")
    elif json.dumps(record.undone) != json.dumps(record.before):
        yield from broken("BACK-3", "undoing does not give back what was passed in")


def _cleared(record: Record, seen: Evidence) -> Iterator[Finding]:
    """What a stub stands for is stored, as it was."""
    stored = record.stored or {}
    emptied = {stub.arguments_ref for at in seen.cleared for block in seen.after[at].blocks for stub in stubs(block.text)}
    for at, back in seen.cleared.items():
        index = seen.before[back].index
        for old, new in paired(seen.before[back], seen.after[at]):
            if new is None:
                if not any(old.raw in _raws(_read(text), record.dialect) for text in stored.values() if text[:1] == "{"):
                    yield from broken("BACK-1", f"nothing leads to the reasoning of message {index}")
                continue
            if old.raw == new.raw:
                continue
            if old.kind == "call":
                if not any(_is_value(stored.get(ref, ""), old) for ref in emptied):
                    yield from broken("BACK-1", f"nothing leads to the arguments of {old.id} in message {index}")
                continue
            made = stubs(new.text)
            for stub in made:
                yield from _stub(stub, stored, old, index)
            whole = _put_back(new.text, made, stored)
            if all(stub.what == "result" for stub in made) and old.text not in (whole, "") and not _is_value(whole, old):
                yield from broken("BACK-1", f"what message {index} said and what its stubs lead to differ")


def _stub(stub: Stub, stored: Mapping[str, str], old: Block, index: int) -> Iterator[Finding]:
    text = stored.get(stub.ref)
    if text is None:
        yield from broken("BACK-1", f"nothing is stored behind the stub in message {index}")
    elif text not in old.text and not _is_value(text, old):
        yield from broken("BACK-1", f"what is stored behind the stub in message {index} never stood there")
    elif (len(text), text.count("\n")) != (stub.chars, stub.lines):
        yield from broken("BACK-1", f"the stub in message {index} speaks of {stub.chars} characters, and {len(text)} are stored")


def _put_back(text: str, made: list[Stub], stored: Mapping[str, str]) -> str:
    for stub in made:
        text = text.replace(stub.text, stored.get(stub.ref, ""), 1)
    return text


def _is_value(text: str, block: Block) -> bool:
    """Whether *text* is JSON of a value in *block*, or of its arguments."""
    if text == block.text:
        return True
    try:
        wanted = json.loads(text)
        stack: list[Json] = [json.loads(block.raw)]
        if block.kind == "call":
            stack.append(json.loads(block.text))
    except ValueError:
        return False
    while stack:
        value = stack.pop()
        if value == wanted or (isinstance(wanted, dict) and _is_part(wanted, value)):
            return True
        stack.extend(value.values() if isinstance(value, dict) else value if isinstance(value, list) else ())
    # several parts; words of one that is a value on the wire (Gemini) are the text that spells it
    return isinstance(wanted, list) and all(
        _is_value(json.dumps(one), block) or (isinstance(one, str) and _is_value(one, block)) for one in wanted
    )


def _is_part(wanted: Mapping[str, Json], value: Json) -> bool:
    """Whether *value* is an object that holds all of *wanted*: where a picture stands among other fields."""
    return bool(wanted) and isinstance(value, dict) and all(key in value and value[key] == one for key, one in wanted.items())


def _hidden(record: Record, seen: Evidence) -> Iterator[Finding]:
    """What the provider was asked to hide is stored, if there is a store; what is short is hardly longer without it."""
    if record.stored is None:
        return
    texts = [text for ref, text in record.stored.items() if ref in record.given]
    for hidden in may_hide(record):
        block = hidden.block
        if not hidden.is_new or len(block.text) < _WORTH_CHARS or block.text in texts:
            continue
        if hidden.what == "reasoning":
            is_there = any(block.raw in _raws(_read(text), record.dialect) for text in texts if text[:1] == "{")
        else:
            is_there = any(_is_value(text, block) for text in texts)
        if not is_there:
            index = seen.before[hidden.at].index
            yield from broken("BACK-4", f"{hidden.what} of message {index} may be hidden, and no reference leads to it")


_WORTH_CHARS: Final = 400

# --- Messages --------------------------------------------------------------------------------------------------------


def _references(record: Record, seen: Evidence) -> Iterator[Finding]:
    """The references in the summary, and what of the messages that went stands behind them."""
    if record.stored is None or record.rung == "clear":
        return
    own = "\n".join(line for line in seen.body.split("\n") if not line.startswith("> "))  # the rest is quoted
    refs = references(own)
    for ref in refs:
        if ref not in record.stored:
            yield from broken("BACK-1", f"the summary names {ref[:12]}, behind which nothing is stored")
    texts = behind([*refs, *record.given], record.stored)
    values = [value for text in texts for line in text.split("\n") if line[:1] == "{" and (value := _read(line)) is not None]
    lines = set(map(canonical, values))
    raws = {raw for value in values for raw in _raws(value, record.dialect)} if record.cleared else ()
    messages = messages_of(record.before, record.dialect)
    for at in range(seen.cut):
        unit = seen.before[at]
        if at in seen.kept or not unit.raw or unit.kind in ("summary", "pin", "reminder") or unit.is_compaction:
            continue
        if unit.index in record.cleared:
            held = [block for block in unit.blocks if block.kind == "result" and block.raw not in raws]
            is_there = all(any(block.text in text or _is_value(text, block) for text in texts) for block in held)
        else:
            is_there = canonical(messages[unit.index]) in lines
        if not is_there:
            yield from broken("BACK-2", f"message {unit.index} went, and no reference leads to it")
            return


# --- Secrets ---------------------------------------------------------------------------------------------------------


def _secrets(record: Record) -> Iterator[Finding]:
    """A secret stands in nothing that was made or said; nobody can tell of one that was passed in, or that a reply added."""
    made = {
        "a message": [messages_of(body, record.dialect) for body in (record.after, record.request) if body is not None],
        "the report": [record.reason, record.report, record.edits],
        "the store": [*(record.stored or {}).items()],
    }
    asked = [(one.instructions, one.text, one.previous, one.context) for one in record.exchanges or ()]
    passed = [messages_of(record.before, record.dialect), record.reminders, record.pinned_texts, record.digests]
    for number, secret in enumerate(record.secrets, 1):
        spelled = _spellings(secret)
        if _holds(passed, spelled):
            yield from unknown("REDACT-1", f"secret {number} was passed in, so it may be anywhere")
        elif _holds(asked, spelled):
            yield from broken("REDACT-1", f"the summariser was shown secret {number}")
        elif not _holds([one.reply for one in record.exchanges or ()], spelled):
            for sink, values in made.items():
                if _holds(values, spelled):
                    yield from broken("REDACT-1", f"secret {number} stands in {sink}")


def _spellings(secret: str) -> set[str]:
    """A text as it is, as JSON has it, and as JSON in JSON."""
    found = {secret}
    for _ in range(2):
        found |= {json.dumps(one, ensure_ascii=in_ascii)[1:-1] for one in found for in_ascii in (False, True)}
    return found


def _holds(value: object, spelled: Collection[str]) -> bool:
    """Whether one of these stands in a text or a key of *value*."""
    stack = [value]
    while stack:
        one = stack.pop()
        if isinstance(one, str):
            if any(text in one for text in spelled):
                return True
        elif isinstance(one, Mapping):
            stack += [*one, *one.values()]
        elif isinstance(one, list | tuple):
            stack += one
    return False


def _raws(value: Json, dialect: str) -> Iterator[str]:
    """The blocks of a value, if it is a message."""
    with suppress(Exception):  # it may be anything that was stored
        yield from (block.raw for _, blocks in read_messages([value], dialect) for block in blocks)


def _read(line: str) -> Json:
    try:
        return json.loads(line)
    except ValueError:
        return None
