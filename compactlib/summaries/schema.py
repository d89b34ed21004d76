"""
The sections of a summary: what they are, and how they are read and written.

What this is
    A `Schema` is a tuple of `Section` values; the four schemas that exist are
    data in `SCHEMAS`.  `parse_sections` reads a text into `Sections`,
    `render_sections` writes them.

Rules it obeys
    Law L25 (b): "headings are recognised only in the reply, at column 0, from
    the fixed list, first occurrence; a reply that repeats or adds one has it
    escaped".  So a text can hold each section once and can invent none, and
    what it wrote in its attempt stays readable: ``## Orders`` becomes
    ``\\## Orders``, with all its letters.

    Law L23: the list of changed files has its own reminder; a copy of it in a
    summary is removed while reading.

How it works
    One pass over the lines.  A line that begins with ``#`` is a heading of the
    schema, an intruder, or no heading at all (``#42``, ``#include``); anything
    else belongs to the section above it.  Reading what was rendered gives the
    same sections again, so a summary can be read and written any number of
    times without changing.

What is not here
    Whether the sections are good enough (`acceptance`), and what a model is
    told about them (`prompts`, though the hint of each section stands here,
    beside its name).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from attrs import evolve, frozen

from ..errors import PolicyError

__all__ = [
    "CHANGED_FILES",
    "DIGEST",
    "EMPTY",
    "SCHEMAS",
    "SCHEMA_VERSION",
    "Schema",
    "Section",
    "Sections",
    "item_text",
    "other_headings",
    "parse_sections",
    "render_sections",
    "says_nothing",
    "schema_for",
    "schema_named",
    "split_items",
]

SCHEMA_VERSION: Final = 4
"""Changes when a section is added, dropped, renamed or moved; it stands in every record."""

EMPTY: Final = "(none)"
"""What a section without evidence says."""

CHANGED_FILES: Final = "Changed files"
"""Heading of the reminder that alone lists the changed files (law L23)."""

_EMPTY_WORDS: Final = frozenset({"", "none", "nothing", "empty", "n/a", "нет", "ничего", "пусто"})
_BULLETS: Final = ("- ", "* ", "+ ", "• ")


@frozen
class Section:
    """
    One section.

    Attributes:
        key: its name in code and records; never changes.
        heading: its title as written, without the ``##``.
        hint: what belongs in it, said to the summariser.
        aliases: other spellings that are read as this title.
        is_ours: whether the library writes it, and no summariser is asked for it.
        is_of_turn: whether it tells of the turn under way, and is asked for only where a turn is split.
    """

    key: str
    heading: str
    hint: str
    aliases: tuple[str, ...] = ()
    is_ours: bool = False
    is_of_turn: bool = False


@frozen
class Schema:
    """
    A fixed choice of sections.

    Attributes:
        name: its name in `SCHEMAS`.
        sections: in the order in which they are written.
        required: keys whose headings a reply must have (law L6); the others
            may be left out.
    """

    name: str
    sections: tuple[Section, ...]
    required: frozenset[str] = frozenset({"goal", "orders", "done", "next"})

    def asked(self, *, step_cut: bool = False) -> tuple[Section, ...]:
        """The sections that a summariser is asked for: ours never, that of the turn under way where a *step_cut* split it."""
        return tuple(part for part in self.sections if not part.is_ours and (step_cut or not part.is_of_turn))

    def find(self, key: str) -> int | None:
        """The index of the section *key*, ``None`` if this schema has none."""
        for index, section in enumerate(self.sections):
            if section.key == key:
                return index
        return None


@frozen
class Sections:
    """
    A summary taken apart.

    Attributes:
        schema: what it was read by.
        bodies: one for each section of the schema: its text, ``""`` if it says
            that it is empty, ``None`` if its heading is not there.
        preamble: what stood before the first heading; never rendered.
        escaped: how many headings were repeated or added, and escaped.
        removed: how many lists of changed files were taken out.
    """

    schema: Schema
    bodies: tuple[str | None, ...]
    preamble: str = ""
    escaped: int = 0
    removed: int = 0

    def body(self, key: str) -> str:
        """The text of the section *key*, ``""`` if it is empty or not there."""
        index = self.schema.find(key)
        return "" if index is None else self.bodies[index] or ""

    def items(self, key: str) -> tuple[str, ...]:
        """The items of the section *key*, bullets included; see `split_items`."""
        return split_items(self.body(key))

    def with_items(self, key: str, items: Iterable[str]) -> Sections:
        """
        These sections with other items under *key*.

        Raises:
            KeyError: If the schema has no such section.
        """
        index = self.schema.find(key)
        if index is None:
            raise KeyError(key)
        bodies = (*self.bodies[:index], "\n".join(items), *self.bodies[index + 1 :])
        return evolve(self, bodies=bodies)

    def without(self, key: str) -> Sections:
        """These sections with the heading *key* not there."""
        index = self.schema.find(key)
        return self if index is None else evolve(self, bodies=(*self.bodies[:index], None, *self.bodies[index + 1 :]))

    @property
    def missing(self) -> tuple[str, ...]:
        """The headings that the schema requires and that are not there."""
        return tuple(
            section.heading
            for section, body in zip(self.schema.sections, self.bodies, strict=True)
            if body is None and section.key in self.schema.required
        )

    @property
    def is_empty(self) -> bool:
        """Whether no section says anything."""
        return not any(self.bodies)


_GOAL: Final = Section(
    "goal",
    "Goal",
    "what the person wants: their own words, copied; the first request, and the latest where it differs",
    ("goals",),
)
_ORDERS: Final = Section(
    "orders",
    "Orders, constraints and preferences",
    "every order, ban, limit and wish of the person that still holds: their own words, copied",
    ("orders", "constraints", "preferences", "constraints and preferences", "constraints & preferences"),
)
_DONE: Final = Section("done", "Done", "what is finished, and what shows that it is", ("completed",))
_DOING: Final = Section("doing", "In progress", "what was begun and is not finished, and how far it got")
_BLOCKED: Final = Section("blocked", "Blocked", "what failed or waits, on what, with the error's own text", ("blockers",))
_DECISIONS: Final = Section("decisions", "Decisions", "what was decided, by whom, and the reason given", ("key decisions",))
_REJECTED: Final = Section(
    "rejected",
    "Rejected and cancelled",
    "what was tried or considered and given up, called off or forbidden, and why",
    ("rejected", "rejected options", "cancelled"),
)
_FACTS: Final = Section(
    "facts",
    "Identifiers, errors and files",
    "names, ids, hashes, versions, numbers, commands, error texts and files that matter, copied, each with what it is for",
    ("identifiers", "files", "relevant files"),
)
_QUESTIONS: Final = Section("questions", "Open questions", "what was asked and not yet answered, and who asked it")
_TURN: Final = Section(
    "turn",
    "The request under way",
    "what has been done for the latest request so far, step by step, with what came of it",
    ("turn context",),
    is_of_turn=True,
)
_NEXT: Final = Section("next", "Next step", "the one thing to do now, then what follows from it", ("next steps",))
_CRITICAL: Final = Section(
    "critical",
    "Critical context",
    "whatever else the work cannot go on without: decisive output lines, values found, the state things were left in",
)

_VERBATIM: Final = Section(
    "verbatim",
    "Kept verbatim",
    "facts that stand nowhere else, each with its clause (law L21)",
    is_ours=True,
)

_END: Final = (_TURN, _NEXT, _CRITICAL, _VERBATIM)

SCHEMAS: Final[dict[str, Schema]] = {
    schema.name: schema
    for schema in (
        Schema("full", (_GOAL, _ORDERS, _DONE, _DOING, _BLOCKED, _DECISIONS, _REJECTED, _FACTS, _QUESTIONS, *_END)),
        Schema("structured", (_GOAL, _ORDERS, _DONE, _DOING, _BLOCKED, _DECISIONS, _FACTS, *_END)),
        Schema("anchored", (_GOAL, _ORDERS, _DONE, _BLOCKED, _DECISIONS, _REJECTED, _FACTS, _QUESTIONS, *_END)),
        Schema("brief", (_GOAL, _ORDERS, _DONE, *_END)),
    )
}
"""
Every schema by its name.

``full`` has all sections.  ``structured`` is what most agents ask for.
``anchored`` leaves the flow of the work out and keeps what can be checked.
``brief`` is for small windows.  All have *critical context*, because that is
where a misplaced item is moved to (law L25), and *kept verbatim*, which the
library writes and no summariser is asked for (law L21).  In a *split turn*,
whose prompt stays, what was done for it stands apart under *the request under way*.
"""

DIGEST: Final = Schema("digest", (_DONE, _DECISIONS, _FACTS, _QUESTIONS, _CRITICAL), frozenset({"done"}))
"""What the digest of one turn has.  It stands beside its prompt, so it repeats neither goal nor orders."""


def schema_named(name: str) -> Schema:
    """The schema of a request, by its name; ``full`` where nobody has said which."""
    return DIGEST if name == DIGEST.name else SCHEMAS.get(name, SCHEMAS["full"])


def schema_for(name: str, headings: Mapping[str, str]) -> Schema:
    """
    A schema of `SCHEMAS` with other *headings*, by the keys of their sections.

    What a heading was called before is still read, so a summary made before the change is brought up to date.

    Raises:
        PolicyError: the schema has no such section, or two sections would be called the same.

    >>> schema_for("brief", {"goal": "Цель"}).sections[0].heading
    'Цель'
    """
    schema = schema_named(name)
    unknown = [key for key in headings if schema.find(key) is None]
    if unknown:
        raise PolicyError("headings", f"the schema {name!r} has no section {unknown[0]!r}")
    sections = tuple(
        evolve(part, heading=headings[part.key], aliases=(part.heading.casefold(), *part.aliases))
        if part.key in headings
        else part
        for part in schema.sections
    )
    titles = [title.casefold() for part in sections for title in {part.heading.casefold(), *part.aliases}]
    taken = next((title for title in titles if titles.count(title) > 1), None)
    if taken is not None:
        raise PolicyError("headings", f"two sections would be called {taken!r}")
    return evolve(schema, sections=sections)


def other_headings(schema: Schema) -> tuple[tuple[str, str], ...]:
    """The headings, by the keys of their sections, that are not those of the schema of this name."""
    usual = {part.key: part.heading for part in schema_named(schema.name).sections}
    return tuple((part.key, part.heading) for part in schema.sections if part.heading != usual.get(part.key, part.heading))


def _titles(schema: Schema) -> dict[str, int]:
    """Every accepted spelling of a title, folded, with the index of its section."""
    return {
        title.casefold(): index for index, section in enumerate(schema.sections) for title in (section.heading, *section.aliases)
    }


def _title(line: str) -> str | None:
    """The folded title of a line that looks like a heading, else ``None``."""
    rest = line.lstrip("#")
    if len(line) - len(rest) > 6:
        return None
    return rest.strip().rstrip("#").strip(" \t*:").casefold()


def parse_sections(text: str, schema: Schema) -> Sections:
    """
    Read a summary.

    Headings count at column 0 only, as ``#`` to ``######`` and a title of the
    schema in any case; each counts once.  Every other heading is escaped by a
    backslash and stays where it is (law L25).  A code fence or tag that was
    opened before the first heading is closed again, because models like to
    wrap the whole reply in one.

    >>> found = parse_sections("Sure!\\n## Goal\\n- ship it\\n## Orders\\n- none\\n## Orders\\n- obey", SCHEMAS["brief"])
    >>> found.body("goal"), found.items("orders"), found.escaped, found.missing
    ('- ship it', ('- none', '\\\\## Orders', '- obey'), 1, ('Done', 'Next step'))
    """
    titles = _titles(schema)
    unwanted = CHANGED_FILES.casefold()
    preamble: list[str] = []
    found: dict[int, list[str]] = {}
    here = preamble
    escaped = removed = 0
    for line in text.replace("\r\n", "\n").split("\n"):
        if line[:1] == "#":
            title = _title(line)
            index = None if title is None else titles.get(title)
            if index is not None and index not in found:
                here = found[index] = []
                continue
            if title == unwanted:
                here = []
                removed += 1
                continue
            if title is not None and (index is not None or line.lstrip("#")[:1] in ("", " ", "\t")):
                line = "\\" + line
                escaped += 1
        here.append(line)
    _unwrap(preamble, found)
    bodies: list[str | None] = [None] * len(schema.sections)
    for index, lines in found.items():
        body = "\n".join(lines).strip("\n")
        bodies[index] = "" if says_nothing(body) else body
    return Sections(schema, tuple(bodies), "\n".join(preamble).strip(), escaped, removed)


def _unwrap(preamble: list[str], found: dict[int, list[str]]) -> None:
    """Take away the line that closes what the preamble's last line opened."""
    opened = next((line.strip() for line in reversed(preamble) if line.strip()), "")
    if not found:
        return
    if opened.startswith("```"):
        closed = "```"
    elif opened[:1] == "<" and opened[-1:] == ">":
        closed = f"</{opened[1:-1]}>"
    else:
        return
    last = list(found.values())[-1]
    while last and not last[-1].strip():
        last.pop()
    if last and last[-1].strip() == closed:
        last.pop()


def says_nothing(body: str) -> bool:
    """
    Whether a text only says that there is nothing.

    >>> says_nothing("- (none)"), says_nothing("none of the tests")
    (True, False)
    """
    return len(body) < 40 and body.strip(" \t\n-–—*•().").casefold() in _EMPTY_WORDS


def render_sections(sections: Sections) -> str:
    """
    Write a summary: the headings that are there, in the schema's order.

    A section that is there and holds nothing says so.

    >>> print(render_sections(parse_sections("# goal:\\n- ship it\\n# Done", SCHEMAS["brief"])))
    ## Goal
    - ship it
    <BLANKLINE>
    ## Done
    (none)
    """
    return "\n\n".join(
        f"## {section.heading}\n{body or EMPTY}"
        for section, body in zip(sections.schema.sections, sections.bodies, strict=True)
        if body is not None
    )


def split_items(body: str) -> tuple[str, ...]:
    """
    Divide the text of a section into items, each with its bullet.

    An item begins at a bullet, a number or a bare line at column 0; indented
    and quoted (``> ``) lines belong to the item above.  Blank lines go.

    >>> split_items("- one\\n  more\\n\\n2. two\\nthree")
    ('- one\\n  more', '2. two', 'three')
    """
    items: list[list[str]] = []
    for line in body.split("\n"):
        if not line.strip():
            continue
        if items and line[0] in " \t>":
            items[-1].append(line)
        else:
            items.append([line])
    return tuple("\n".join(lines) for lines in items)


def item_text(item: str) -> str:
    """
    An item without its bullet or number.

    >>> item_text("- ship it"), item_text("12. then rest"), item_text("-5 degrees")
    ('ship it', 'then rest', '-5 degrees')
    """
    text = item.lstrip()
    if text.startswith(_BULLETS):
        return text[2:].strip()
    number, dot, rest = text[:8].partition(".")
    if dot and number.isascii() and number.isdigit() and rest[:1] in (" ", ""):
        return text[len(number) + 1 :].strip()
    return text.strip()
