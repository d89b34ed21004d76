"""
Read the specification, run its examples, write its dumps.

What this is
    ``spec/`` is Markdown for people with a strict little grammar for programs.
    This module is the program's side: it reads a chapter into `Entry` values,
    executes their examples, and generates the files that tools of other
    languages read (``rules.json``, ``examples.json``) and the tables of the
    automaton (``states.md``).

Rules it obeys
    * Markdown is the source.  What is generated says by what, is committed,
      and is compared: ``python -m compactlib.conformance.spec --check``.
    * A chapter has no second meaning: an unknown field, a field out of order,
      an example without an id or with broken JSON is a `SpecError` that names
      file and line.  Nothing is skipped.
    * An example is executed as written.  ``good`` finds nothing of level error
      or warning; ``bad`` finds its rule and those named in ``also=``, no other.

How it works
    Chapters are the files ``NN-name.md`` from 10 on.  One pass over the lines
    of a chapter: a heading ``## ID · title`` opens an entry, then come fields,
    the statement, the quoted Why, and fenced examples.  How the body of an
    example is judged depends on the chapter, see `EXECUTORS`.

What is not here
    The rules themselves (`compactlib.protocol.rules` must say the same, which
    a test compares), and the suite that is run against other implementations.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from attrs import frozen

from ..errors import Blame, CompactlibError

__all__ = [
    "EXECUTORS",
    "FIELDS",
    "Entry",
    "Example",
    "Executor",
    "Found",
    "SpecError",
    "dumps",
    "expand",
    "failure",
    "read_chapter",
    "read_sources",
    "read_spec",
    "read_terms",
]

Found: TypeAlias = frozenset[tuple[str, str]]
"""What was found in an example: pairs of rule id and level."""

Executor: TypeAlias = Callable[[Any], Found]
"""Judges the JSON body of one example."""

FIELDS: Final = (
    "level", "case", "since", "until", "replaced-by", "law", "core", "requires", "check",
    "fix", "status", "evidence", "answer", "sources",
)  # fmt: skip
"""The fields of an entry in the order in which they stand; ``case`` and ``answer`` may repeat."""

_REPEATED: Final = frozenset({"case", "answer"})
_VALUES: Final = {
    "level": r"error|warning|info|MUST|SHOULD|MAY",
    "case": r"[a-z0-9-]+ = (error|warning|info), .+",
    "since": r"[0-9]+\.[0-9]+",
    "until": r"[0-9]+\.[0-9]+",
    "law": r"L([1-9]|1[0-9]|2[0-6])",
    "core": r"C([1-9]|1[0-6])",
    "status": r"[1-5][0-9][0-9]|none",
    "evidence": r"[VDCK]",
}
_REQUIRED: Final = frozenset({"level", "since", "law", "sources"})
_HOME: Final = Path(__file__).resolve().parents[2] / "spec"


class SpecError(CompactlibError, ValueError):
    """A chapter of the specification breaks the grammar of ``spec/README.md``."""

    blame = Blame.CALLER
    code = "spec"

    def __init__(self, place: str, line: int, problem: str) -> None:
        super().__init__(f"{place}:{line}: {problem}")
        self.line: Final = line


@frozen
class Example:
    """
    One executed example.

    Attributes:
        id: ``A-PAIR-01.good-1``: its rule, its kind, its number.
        also: what a bad example breaks besides its own rule.
        body: the JSON as written, see `expand`.
        line: where its fence opens, counted from 1.
    """

    id: str
    kind: Literal["good", "bad"]
    also: tuple[str, ...]
    body: Any
    line: int


@frozen
class Entry:
    """One rule as the specification has it; *fields* maps a name to its values, in order."""

    id: str
    title: str
    chapter: str
    fields: Mapping[str, tuple[str, ...]]
    statement: str
    why: str
    examples: tuple[Example, ...]
    line: int

    def get(self, name: str) -> str:
        """The value of a field that stands at most once, else ``""``."""
        return self.fields.get(name, ("",))[0]


# -- reading ---------------------------------------------------------------------------------------------------------


def read_spec(folder: Path = _HOME) -> tuple[Entry, ...]:
    """
    All entries of all chapters, in order.

    Raises:
        SpecError: if a chapter breaks the grammar, or an id is given twice.
    """
    entries: dict[str, Entry] = {}
    for path in sorted(folder.glob("[1-9][0-9]-*.md")):
        for entry in read_chapter(path.read_text("utf-8"), chapter=path.stem):
            if entry.id in entries:
                raise SpecError(path.stem, entry.line, f"{entry.id} stands already in {entries[entry.id].chapter}")
            entries[entry.id] = entry
    return tuple(entries.values())


def read_chapter(text: str, *, chapter: str) -> tuple[Entry, ...]:
    """
    The entries of one chapter; *chapter* is its name, such as ``"20-anthropic"``.

    A line ``# ...`` ends an entry; what follows it, up to the next entry, is prose.

    Raises:
        SpecError: with the line at fault.
    """
    entries: list[Entry] = []
    current: list[_Part] | None = None
    for part in _parts(text, chapter):
        if part.kind in ("title", "heading"):
            if current is not None:
                entries.append(_entry(current, chapter))
            current = [part] if part.kind == "heading" else None
        elif current is not None:
            current.append(part)
    if current is not None:
        entries.append(_entry(current, chapter))
    return tuple(entries)


def read_terms(folder: Path = _HOME) -> dict[str, str]:
    """The closed vocabulary: each term with the sentence that defines it."""
    lines = (folder / "00-terms.md").read_text("utf-8").splitlines()
    return {found[1]: found[2] for line in lines if (found := re.fullmatch(r"- \*\*([^*]+)\*\*: (.+)", line))}


def read_sources(folder: Path = _HOME) -> dict[str, dict[str, str]]:
    """What the rules rest on, by the id under which the field ``sources`` names it."""
    table: dict[str, dict[str, str]] = tomllib.loads((folder / "sources.toml").read_text("utf-8"))
    return table


_OPENERS: Final = (("```", "fence"), ("## ", "heading"), ("# ", "title"), ("- ", "field"), (">", "quote"))


@frozen
class _Part:
    kind: str
    line: int
    text: str


def _kind(line: str) -> str:
    for opener, kind in _OPENERS:
        if line.startswith(opener):
            return kind
    return "text" if line.strip() else "blank"


def _parts(text: str, place: str) -> Iterator[_Part]:
    """Cut a chapter into titles, headings, fields, fences, and paragraphs, quoted or not, whose lines a space joins."""
    lines = text.splitlines()
    at = 0
    while at < len(lines):
        start, kind = at, _kind(lines[at])
        at += 1
        if kind == "fence":
            while at < len(lines) and lines[at] != "```":
                at += 1
            if at == len(lines):
                raise SpecError(place, start + 1, "a fence is never closed")
            yield _Part(kind, start + 1, "\n".join([lines[start][3:], *lines[start + 1 : at]]))
            at += 1
        elif kind in ("text", "quote"):
            while at < len(lines) and _kind(lines[at]) == kind:
                at += 1
            yield _Part(kind, start + 1, " ".join(line.removeprefix(">").strip() for line in lines[start:at]))
        elif kind != "blank":
            yield _Part(kind, start + 1, lines[start].lstrip("#- "))


def _entry(parts: Sequence[_Part], chapter: str) -> Entry:
    """``entry = heading field+ text quote fence+``, nothing else and nothing twice."""

    def refuse(part: _Part, problem: str) -> SpecError:
        return SpecError(chapter, part.line, problem)

    head = parts[0]
    named = re.fullmatch(r"([A-Z][A-Z0-9]*(?:-[A-Z0-9]+)*) · (\S.*)", head.text)
    if named is None:
        raise refuse(head, f"a heading reads 'ID · title', not {head.text!r}")
    shape = " ".join(part.kind for part in parts[1:])
    fields = _fields([part for part in parts if part.kind == "field"], chapter)
    if missing := sorted(_REQUIRED - fields.keys()):
        raise refuse(head, f"{named[1]} lacks the fields {', '.join(missing)}")
    if not re.fullmatch(r"(field )+text quote( fence)+", shape):
        raise refuse(head, f"{named[1]} is not fields, one statement, one quoted Why, and examples, in this order")
    statement, why = (next(part for part in parts if part.kind == kind) for kind in ("text", "quote"))
    if not statement.text.endswith(".") or re.search(r"[.!?] [A-Z]", statement.text):
        raise refuse(statement, "a statement is one sentence; if it takes two, it is two rules")
    if not why.text.startswith("Why. "):
        raise refuse(why, "the quoted paragraph begins with 'Why. '")
    fences = [part for part in parts if part.kind == "fence"]
    examples = () if "until" in fields else tuple(_example(part, named[1], chapter) for part in fences)
    return Entry(named[1], named[2], chapter, fields, statement.text, why.text.removeprefix("Why. "), examples, head.line)


def _fields(parts: Sequence[_Part], chapter: str) -> dict[str, tuple[str, ...]]:
    fields: dict[str, tuple[str, ...]] = {}
    last = 0
    for part in parts:
        name, colon, value = (piece.strip() for piece in part.text.partition(":"))
        if not colon or not value or name not in FIELDS:
            raise SpecError(chapter, part.line, f"no field is called {name!r}, or it is empty; fields are {', '.join(FIELDS)}")
        place = FIELDS.index(name)
        if place < last or (name in fields and name not in _REPEATED):
            raise SpecError(chapter, part.line, f"the field {name!r} stands twice or too late; the order is {', '.join(FIELDS)}")
        if name in _VALUES and not re.fullmatch(_VALUES[name], value):
            raise SpecError(chapter, part.line, f"the field {name!r} cannot be {value!r}")
        last = place
        fields[name] = (*fields.get(name, ()), value)
    return fields


def _example(part: _Part, rule: str, chapter: str) -> Example:
    info, _, text = part.text.partition("\n")
    found = re.fullmatch(rf"example (good|bad) id=({re.escape(rule)}\.\1-[1-9][0-9]*)(?: also=(\S+))?", info)
    if found is None:
        raise SpecError(chapter, part.line, f"a fence opens 'example good|bad id={rule}.good-1 [also=ID,ID]', not {info!r}")
    try:
        body = json.loads(text)
    except ValueError as error:
        raise SpecError(chapter, part.line, f"the body is not JSON: {error}") from None
    also = tuple(found[3].split(",")) if found[3] else ()
    return Example(found[2], "good" if found[1] == "good" else "bad", also, body, part.line)


# -- running ---------------------------------------------------------------------------------------------------------


def expand(body: Any) -> Any:
    """
    The body of an example with its repetitions written out.

    Inside a list, ``{"repeat": N, "of": X}`` stands for N times X, and as a
    value, where X is text, for that text N times over; limits of a hundred
    pictures or ten million characters would not fit on a page otherwise.

    >>> expand([{"repeat": 2, "of": "tick"}, "tock"])
    ['tick', 'tick', 'tock']
    >>> expand({"text": {"repeat": 3, "of": "ha"}})
    {'text': 'hahaha'}
    """
    if isinstance(body, dict):
        if body.keys() == {"repeat", "of"} and isinstance(body["of"], str):
            return body["of"] * body["repeat"]
        return {key: expand(value) for key, value in body.items()}
    if not isinstance(body, list):
        return body
    items: list[Any] = []
    for item in body:
        repeated = isinstance(item, dict) and item.keys() == {"repeat", "of"}
        items.extend([expand(item["of"])] * item["repeat"] if repeated else [expand(item)])
    return items


def failure(entry: Entry, example: Example) -> str:
    """
    Why an example does not show what it promises, or ``""``.

    Findings of level info are not held against an example that does not name them.

    Raises:
        LookupError: if nobody has registered how examples of the chapter are judged.
    """
    promised = {entry.id, *example.also} if example.kind == "bad" else set()
    seen = {rule for rule, level in EXECUTORS[entry.chapter](expand(example.body)) if level != "info" or rule in promised}
    if seen == promised:
        return ""
    return f"{example.id}: found {', '.join(sorted(seen)) or 'nothing'}, promised {', '.join(sorted(promised)) or 'nothing'}"


_FACTS: Final = ("mode", "profile", "original", "prompt_tokens", "window_tokens")


def _request(dialect: str) -> Executor:
    """Judge a body as the provider of *dialect* would, with the facts that stand beside its fields."""

    def judge(body: Any) -> Found:
        from .. import check, parse

        facts: dict[str, Any] = {}
        if isinstance(body, dict):
            facts = {name: body[name] for name in _FACTS if name in body}
            body = {name: value for name, value in body.items() if name not in _FACTS}
        if "original" in facts:
            facts["original"] = {int(index): blocks for index, blocks in facts["original"].items()}
        return frozenset((found.rule, found.level) for found in check(parse(body, dialect=dialect), **facts))

    return judge


def _record(body: Any) -> Found:
    """Judge a record of a compaction, written short, by the laws."""
    from .shorthand import judge_example

    return judge_example(body)


EXECUTORS: Final[dict[str, Executor]] = {
    "10-laws": _record,
    "20-anthropic": _request("anthropic"),
    "21-openai-chat": _request("openai-chat"),
    "22-openai-responses": _request("openai-responses"),
    "23-gemini": _request("gemini"),
    "24-bedrock": _request("bedrock"),
    "25-mistral": _request("mistral"),
    "26-compatible": _request("openai-chat"),
    "28-mcp-sampling": _request("mcp-sampling"),
    "29-atif": _request("atif"),
}
"""How the examples of a chapter are judged.  Whoever adds a chapter adds its line."""


# -- dumping ---------------------------------------------------------------------------------------------------------

_MAKER: Final = "python -m compactlib.conformance.spec --write"


def dumps(folder: Path = _HOME) -> dict[str, str]:
    """The generated files of the specification: name -> text, a function of the chapters and the protocol's tables alone."""
    from ..protocol import automaton, profiles

    entries = read_spec(folder)
    return {
        "rules.json": _listing("rules", [_rule_row(entry) for entry in entries]),
        "examples.json": _listing("examples", [_example_row(entry, one) for entry in entries for one in entry.examples]),
        "states.md": (
            f"<!-- generated by: {_MAKER} -->\n\n# The protocol automaton\n\n{automaton.describe().strip()}\n"
            f"\n# What differs between dialects and routes\n\n{profiles.describe().strip()}\n"
        ),
    }


def _rule_row(entry: Entry) -> dict[str, Any]:
    return {
        "id": entry.id,
        "title": entry.title,
        "chapter": entry.chapter,
        **{name: list(values) if name in _REPEATED else values[0] for name, values in entry.fields.items()},
        "statement": entry.statement,
        "why": entry.why,
        "examples": [example.id for example in entry.examples],
    }


def _example_row(entry: Entry, example: Example) -> dict[str, Any]:
    return {
        "id": example.id,
        "rule": entry.id,
        "chapter": entry.chapter,
        "kind": example.kind,
        "also": list(example.also),
        "body": example.body,
    }


def _listing(name: str, items: Sequence[Any]) -> str:
    """JSON with one item a line, so that a change of one rule is a change of one line."""
    lines = ",\n".join(json.dumps(item) for item in items)
    return f'{{"generated by": "{_MAKER}",\n"{name}": [\n{lines}\n]}}\n'


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the generated files, or compare them: exit status 1 says that one differs, 2 that a chapter is broken."""
    parser = argparse.ArgumentParser(prog="python -m compactlib.conformance.spec", description="The generated files of spec/.")
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--write", action="store_true", help="write the generated files")
    action.add_argument("--check", action="store_true", help="compare them with what the chapters say now")
    parser.add_argument("--folder", type=Path, default=_HOME, help="where the specification is")
    chosen = parser.parse_args(arguments)
    try:
        texts = dumps(chosen.folder)
    except SpecError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    stale = []
    for name, text in texts.items():
        path = chosen.folder / name
        if path.exists() and path.read_text("utf-8") == text:
            continue
        stale.append(name)
        if chosen.write:
            path.write_text(text, "utf-8")
    for name in stale:
        sys.stdout.write(f"{'written' if chosen.write else 'out of date'}: {name}\n")
    return 1 if stale and chosen.check else 0


if __name__ == "__main__":
    raise SystemExit(main())
