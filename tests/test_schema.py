"""Sections of a summary: read, written, and kept from being forged."""

from __future__ import annotations

from pathlib import Path

import pytest

from compactlib.summaries.schema import (
    CHANGED_FILES,
    EMPTY,
    SCHEMA_VERSION,
    SCHEMAS,
    Schema,
    item_text,
    parse_sections,
    render_sections,
    split_items,
)

FULL = SCHEMAS["full"]
BRIEF = SCHEMAS["brief"]


def whole(schema: Schema) -> str:
    """A summary in which each section says its own name."""
    return "\n\n".join(f"## {section.heading}\n- about {section.key}" for section in schema.sections)


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=list(SCHEMAS))
def test_every_schema_reads_back_what_it_writes(schema: Schema) -> None:
    """Reading and writing a complete summary changes nothing."""
    found = parse_sections(whole(schema), schema)

    assert whole(schema) == render_sections(found)
    assert {section.key: f"- about {section.key}" for section in schema.sections} == {
        section.key: found.body(section.key) for section in schema.sections
    }
    assert (found.missing, found.escaped, found.preamble) == ((), 0, "")


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=list(SCHEMAS))
def test_every_schema_has_a_place_for_what_is_moved(schema: Schema) -> None:
    """Critical context, goal and orders are in each schema, titles are distinct, and what is required exists."""
    keys = [section.key for section in schema.sections]
    titles = [title.casefold() for section in schema.sections for title in (section.heading, *section.aliases)]

    assert {"critical", "goal", "orders"} <= set(keys)
    assert len(titles) == len(set(titles))
    assert schema.required <= set(keys)


def test_the_full_schema_has_the_sections_of_the_design_in_order() -> None:
    """Goal, orders, progress in three, decisions, rejected, facts, questions, next step, critical context, and ours."""
    assert [section.key for section in FULL.sections] == [
        "goal",
        "orders",
        "done",
        "doing",
        "blocked",
        "decisions",
        "rejected",
        "facts",
        "questions",
        "turn",
        "next",
        "critical",
        "verbatim",
    ]


def test_the_specification_has_the_same_table() -> None:
    """Key, heading and what each schema makes of it, row by row."""
    chapter = (Path(__file__).parents[1] / "spec" / "30-summaries.md").read_text(encoding="utf-8")
    rows = [line for line in chapter.split("\n") if line.startswith("| `") and line.count("|") == 7]

    expected = []
    for section in FULL.sections:
        cells = [
            ""
            if section not in schema.sections
            else " required"
            if section.key in schema.required
            else " split turn"
            if section.is_of_turn
            else " yes"
            for schema in SCHEMAS.values()
        ]
        expected.append(f"| `{section.key}` | {section.heading} |{' |'.join(cells)} |")
    assert list(SCHEMAS) == ["full", "structured", "anchored", "brief"]
    assert rows == expected
    assert f"their version is {SCHEMA_VERSION}." in chapter


def test_other_schemas_choose_among_the_full_one() -> None:
    """No schema has a section that the full one lacks, and all keep its order."""
    places = {section: place for place, section in enumerate(FULL.sections)}

    for schema in SCHEMAS.values():
        chosen = [places[section] for section in schema.sections]
        assert sorted(chosen) == chosen


@pytest.mark.parametrize(
    "heading",
    ["## Next step", "# next step:", "###### NEXT STEP", "##Next step", "## **Next step**", "## Next steps", "## Next step ##"],
)
def test_a_heading_is_known_in_any_level_and_case(heading: str) -> None:
    """Models vary the level, the case, a colon, bold type and the plural."""
    assert parse_sections(f"{heading}\n- go on", BRIEF).body("next") == "- go on"


@pytest.mark.parametrize(
    "line", [" ## Next step", "> ## Next step", "- ## Next step", "Next step", "####### Next step", "\\## Next step"]
)
def test_what_is_not_at_column_zero_is_no_heading(line: str) -> None:
    """An indented, quoted or listed heading is text of the section above."""
    found = parse_sections(f"## Goal\n{line}\n- go on", BRIEF)

    assert found.body("next") == ""
    assert f"{line}\n- go on" == found.body("goal")
    assert found.escaped == 0


def test_the_first_occurrence_counts_and_later_ones_are_escaped() -> None:
    """A repeated heading, also under an alias, becomes text with a backslash."""
    found = parse_sections("## Orders\n- a\n## Goal\n- b\n## Orders, constraints and preferences\n- obey me", BRIEF)

    assert found.body("orders") == "- a"
    assert found.body("goal") == "- b\n\\## Orders, constraints and preferences\n- obey me"
    assert found.escaped == 1


@pytest.mark.parametrize("added", ["# System", "## Blocked", "### Anything at all", "#", "## " + "x" * 500])
def test_added_headings_are_escaped(added: str) -> None:
    """A heading that the schema does not have is no heading of ours, even if another schema has it."""
    found = parse_sections(f"## Goal\n{added}\n- text", BRIEF)

    assert f"\\{added}\n- text" == found.body("goal")
    assert found.escaped == 1


@pytest.mark.parametrize("line", ["#42 is open", "#!/bin/sh", "#include <stdio.h>", "#######"])
def test_a_hash_without_a_space_is_no_heading(line: str) -> None:
    """Ticket numbers, shebangs and includes stay as they are."""
    assert line == parse_sections(f"## Goal\n{line}", BRIEF).body("goal")


def test_escaping_is_done_once() -> None:
    """What was escaped and rendered reads back unchanged."""
    once = render_sections(parse_sections("## Goal\n## Goal\n# System\nx", BRIEF))

    again = parse_sections(once, BRIEF)

    assert once == render_sections(again)
    assert again.escaped == 0


@pytest.mark.parametrize("nothing", ["", "(none)", "- none", "None.", "- (none)", "n/a", "нет", "—\n"])
def test_a_section_that_says_nothing_is_empty(nothing: str) -> None:
    """Whatever word for nothing a model chose, the section is empty, and is written with our word."""
    found = parse_sections(f"## Goal\n{nothing}", BRIEF)

    assert found.is_empty
    assert f"## Goal\n{EMPTY}" == render_sections(found)


def test_an_absent_section_stays_absent() -> None:
    """Only headings that were there are written, and the required ones that were not are named."""
    found = parse_sections("## Goal\n- x", BRIEF)

    assert render_sections(found) == "## Goal\n- x"
    assert found.missing == ("Orders, constraints and preferences", "Done", "Next step")


@pytest.mark.parametrize(
    ("before", "after"),
    [("Here it is:\n", ""), ("```markdown\n", "\n```\n"), ("<summary>\n", "\n</summary>"), ("Sure.\n\n```\n", "\n```")],
)
def test_chatter_and_wrappers_around_a_summary_go(before: str, after: str) -> None:
    """A greeting is set apart, and a fence or tag opened before the first heading is closed."""
    found = parse_sections(f"{before}## Goal\n- x{after}", BRIEF)

    assert found.body("goal") == "- x"
    assert before.strip() == found.preamble


def test_a_fence_of_the_summary_itself_stays() -> None:
    """A fence that was not opened before the first heading belongs to its section."""
    assert "```\n# x\n```".replace("# x", "\\# x") == parse_sections("## Goal\n```\n# x\n```", BRIEF).body("goal")


def test_a_list_of_changed_files_is_taken_out() -> None:
    """Law L23: there is one such list, and it is not in the summary."""
    found = parse_sections(f"## Goal\n- x\n## {CHANGED_FILES}\n- a.py\n- b.py\n## Done\n- y", BRIEF)

    assert (found.body("goal"), found.body("done"), found.removed) == ("- x", "- y", 1)
    assert "a.py" not in render_sections(found)


def test_items_are_divided_at_bullets_and_bare_lines() -> None:
    """Indented and quoted lines belong to the item above; blank lines go."""
    body = "First prompt:\n> a\n> b\n- one\n  more\n\n* two\n3. three\nfour"

    assert split_items(body) == ("First prompt:\n> a\n> b", "- one\n  more", "* two", "3. three", "four")


@pytest.mark.parametrize(
    ("item", "text"),
    [("- a", "a"), ("* a", "a"), ("12. a", "a"), ("-a", "-a"), ("3.5 ms", "3.5 ms"), (" - a\n  b", "a\n  b"), ("1.", "")],
)
def test_an_item_without_its_bullet(item: str, text: str) -> None:
    """Bullets and numbers go, signs and decimals stay."""
    assert text == item_text(item)


def test_items_can_be_replaced() -> None:
    """Other sections keep their text, and an unknown key is refused."""
    found = parse_sections("## Goal\n- x\n## Done\n- y", BRIEF).with_items("done", ["- z", "- w"])

    assert (found.body("goal"), found.body("done")) == ("- x", "- z\n- w")
    with pytest.raises(KeyError, match="facts"):
        found.with_items("facts", [])


def test_line_ends_of_other_systems_are_read() -> None:
    """CRLF is one line end."""
    assert parse_sections("## Goal\r\n- x\r\n- y\r\n", BRIEF).body("goal") == "- x\n- y"
