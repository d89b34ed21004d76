"""The specification: its grammar is strict, its examples hold, its claims are those of the code, its dumps are fresh."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from compactlib.conformance import spec
from compactlib.conformance.spec import Entry, Example, SpecError
from compactlib.protocol.rules import RULES

FOLDER = Path(__file__).parents[1] / "spec"
ENTRIES = spec.read_spec(FOLDER)
EXAMPLES = [pytest.param(entry, example, id=example.id) for entry in ENTRIES for example in entry.examples]
PROVIDERS = {
    "20-anthropic": "anthropic",
    "21-openai-chat": "openai-chat",
    "22-openai-responses": "openai-responses",
    "23-gemini": "gemini",
    "24-bedrock": "bedrock",
    "25-mistral": "mistral",
    "26-compatible": "openai-chat",
    "28-mcp-sampling": "mcp-sampling",
    "29-atif": "atif",
}
LETTERS = {"21-openai-chat": "O", "26-compatible": "DKLQVXW"}
"""The letters of a chapter's rules, where two chapters share a dialect."""
PROSE = sorted(path for path in FOLDER.glob("*.md") if path.name != "states.md")

CHAPTER = """\
# A chapter

Prose with a **term**, and a list:

- not a field

## X-ONE-01 · The first

- level: error
- case: odd = warning, seen once
- since: 0.1
- law: L2
- answer: no {n}
- answer: never
- sources: own

What must hold,
in one sentence.

> Why. It failed;
> twice.

```example good id=X-ONE-01.good-1
[]
```

```example bad id=X-ONE-01.bad-1 also=X-TWO-01,X-TWO-02
{"policy": {"tail_tokens": 12}, "before": ["prompt 5"], "after": []}
```

# Prose again

## X-TWO-01 · The second

- level: MUST
- since: 0.1
- until: 0.2
- replaced-by: X-ONE-01
- law: L26
- sources: own

It was withdrawn.

> Why. It was two rules.

```text
not executed
```
"""


def found(*pairs: tuple[str, str]) -> spec.Executor:
    """An executor that finds always the same."""
    return lambda _body: frozenset(pairs)


def entry_with(example: Example, level: str = "error") -> Entry:
    """An entry of a chapter that only the tests judge."""
    return Entry("X-ONE-01", "", "99-tests", {"level": (level,)}, "", "", (example,), 1)


class TestReading:
    """The grammar of ``spec/README.md``."""

    def test_a_chapter_is_its_entries_in_order(self) -> None:
        """Prose is skipped, lines of a paragraph are joined, repeated fields are kept."""
        first, second = spec.read_chapter(CHAPTER, chapter="99-tests")

        assert first.id == "X-ONE-01"
        assert first.title == "The first"
        assert first.get("law") == "L2"
        assert first.get("fix") == ""
        assert first.fields["answer"] == ("no {n}", "never")
        assert first.statement == "What must hold, in one sentence."
        assert first.why == "It failed; twice."
        assert [example.id for example in first.examples] == ["X-ONE-01.good-1", "X-ONE-01.bad-1"]
        assert first.examples[1].also == ("X-TWO-01", "X-TWO-02")
        assert first.examples[1].body == {"policy": {"tail_tokens": 12}, "before": ["prompt 5"], "after": []}
        assert second.get("replaced-by") == "X-ONE-01"

    def test_a_tombstone_has_no_examples(self) -> None:
        """What is withdrawn is not executed."""
        assert spec.read_chapter(CHAPTER, chapter="99-tests")[1].examples == ()

    @pytest.mark.parametrize(
        ("old", "new", "line", "problem"),
        [
            ("- law: L2\n", "- law: L2\n- colour: red\n", 13, "no field is called 'colour'"),
            ("- law: L2\n", "- law:\n", 12, "'law', or it is empty"),
            ("- law: L2\n", "- law: L27\n", 12, "cannot be 'L27'"),
            ("- level: error\n", "- level: fatal\n", 9, "cannot be 'fatal'"),
            ("- case: odd = warning, seen once\n", "- case: odd\n", 10, "cannot be 'odd'"),
            ("- since: 0.1\n- law: L2\n", "- law: L2\n- since: 0.1\n", 12, "stands twice or too late"),
            ("- law: L2\n", "- law: L2\n- law: L2\n", 13, "stands twice or too late"),
            ("- sources: own\n\nWhat", "\nWhat", 7, "lacks the fields sources"),
            ("## X-ONE-01 · The first", "## X-ONE-01: The first", 7, "a heading reads 'ID · title'"),
            ("What must hold,", "What must hold.\nAnd more,", 17, "it is two rules"),
            ("in one sentence.", "in one sentence", 17, "it is two rules"),
            ("What must hold,", "What must hold.\n\nAnd more,", 7, "in this order"),
            ("> Why. It failed;\n> twice.\n", "", 7, "in this order"),
            ("> Why. It failed", "> It failed", 20, "begins with 'Why. '"),
            ("id=X-ONE-01.good-1", "id=X-ONE-01.good-0", 23, "a fence opens"),
            ("id=X-ONE-01.good-1", "id=X-ONE-02.good-1", 23, "a fence opens"),
            ("id=X-ONE-01.good-1", "id=X-ONE-01.bad-1", 23, "a fence opens"),
            ("```example good", "```json good", 23, "a fence opens"),
            ("[]\n```", "[\n```", 23, "not JSON"),
            ("not executed\n```\n", "not executed\n", 46, "never closed"),
        ],
    )
    def test_whatever_does_not_fit_is_an_error_with_its_line(self, old: str, new: str, line: int, problem: str) -> None:
        """Nothing is skipped and nothing is guessed."""
        assert CHAPTER.count(old) == 1

        with pytest.raises(SpecError) as caught:
            spec.read_chapter(CHAPTER.replace(old, new), chapter="99-tests")

        assert caught.value.line == line
        assert problem in str(caught.value)
        assert str(caught.value).startswith(f"99-tests:{line}: ")

    def test_an_id_is_given_once_over_all_chapters(self, tmp_path: Path) -> None:
        """Two chapters cannot both define a rule."""
        for name in ("30-one.md", "31-two.md"):
            (tmp_path / name).write_text(CHAPTER, "utf-8")

        with pytest.raises(SpecError, match="31-two:7: X-ONE-01 stands already in 30-one"):
            spec.read_spec(tmp_path)

    def test_repetitions_are_written_out_at_any_depth(self) -> None:
        """``repeat`` and ``of`` alone in an item of a list mean repetition; anywhere else they are data."""
        inner = {"content": [{"repeat": 3, "of": 1}]}
        data = {"repeat": 2, "of": 0, "more": 1}

        assert spec.expand({"messages": [{"repeat": 2, "of": inner}, data], "repeat": 1}) == {
            "messages": [{"content": [1, 1, 1]}, {"content": [1, 1, 1]}, data],
            "repeat": 1,
        }


class TestJudging:
    """What an example promises and what is found."""

    good = Example("X-ONE-01.good-1", "good", (), None, 1)
    bad = Example("X-ONE-01.bad-1", "bad", ("X-TWO-01",), None, 1)

    @pytest.mark.parametrize(
        ("example", "findings", "verdict"),
        [
            (good, [], ""),
            (good, [("X-ONE-01", "info")], ""),
            (good, [("X-TWO-01", "warning")], "X-ONE-01.good-1: found X-TWO-01, promised nothing"),
            (bad, [("X-ONE-01", "error"), ("X-TWO-01", "warning")], ""),
            (bad, [("X-ONE-01", "info"), ("X-TWO-01", "error"), ("X-SIX-01", "info")], ""),
            (bad, [], "X-ONE-01.bad-1: found nothing, promised X-ONE-01, X-TWO-01"),
            (bad, [("X-ONE-01", "error")], "X-ONE-01.bad-1: found X-ONE-01, promised X-ONE-01, X-TWO-01"),
            (
                bad,
                [("X-ONE-01", "error"), ("X-TWO-01", "error"), ("X-SIX-01", "warning")],
                "X-ONE-01.bad-1: found X-ONE-01, X-SIX-01, X-TWO-01, promised X-ONE-01, X-TWO-01",
            ),
        ],
    )
    def test_exactly_what_is_promised_is_found(
        self, monkeypatch: pytest.MonkeyPatch, example: Example, findings: list[tuple[str, str]], verdict: str
    ) -> None:
        """Infos are free for those who do not name them; errors and warnings are not."""
        monkeypatch.setitem(spec.EXECUTORS, "99-tests", found(*findings))

        assert spec.failure(entry_with(example), example) == verdict

    def test_a_chapter_without_executor_is_not_passed_over(self) -> None:
        """Unknown is never pass."""
        with pytest.raises(LookupError):
            spec.failure(entry_with(self.good), self.good)


class TestChapters:
    """The chapters themselves."""

    @pytest.mark.parametrize(("entry", "example"), EXAMPLES)
    def test_the_example_holds(self, entry: Entry, example: Example) -> None:
        """Good ones break nothing, bad ones break exactly what they name."""
        assert spec.failure(entry, example) == ""

    @pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.id)
    def test_every_entry_shows_both_sides(self, entry: Entry) -> None:
        """At least one good and one bad example, numbered from 1."""
        for kind in ("good", "bad"):
            numbers = [int(example.id.rpartition("-")[2]) for example in entry.examples if example.kind == kind]
            assert numbers == list(range(1, len(numbers) + 1))
            assert "until" in entry.fields or numbers

    def test_every_named_rule_exists(self) -> None:
        """``also=`` and ``replaced-by`` name entries."""
        known = {entry.id for entry in ENTRIES}

        assert {other for entry in ENTRIES for example in entry.examples for other in example.also} <= known
        assert {entry.get("replaced-by") for entry in ENTRIES if entry.get("replaced-by")} <= known

    @pytest.mark.parametrize("chapter", PROVIDERS)
    def test_the_code_says_the_same(self, chapter: str) -> None:
        """The table of rules and a provider's chapter agree field by field, in the same families."""
        written = {
            entry.id: (
                entry.statement,
                entry.get("level"),
                entry.get("law"),
                entry.get("core"),
                entry.get("fix"),
                entry.get("status"),
                entry.get("evidence"),
                entry.fields.get("answer", ()),
                entry.fields.get("case", ()),
            )
            for entry in ENTRIES
            if entry.chapter == chapter
        }
        coded = {
            rule.id: (
                rule.statement,
                rule.level,
                rule.law,
                rule.core,
                rule.fix or "none",
                str(rule.status or "none"),
                rule.evidence,
                tuple(rule.error.splitlines()),
                tuple(f"{case} = {level}, {why}" for case, level, why in rule.variants),
            )
            for rule in RULES.values()
            if rule.dialect == PROVIDERS[chapter] and rule.id[0] in LETTERS.get(chapter, rule.id[0])
        }

        assert coded == written
        assert list(coded) == list(written)

    def test_sources_are_known_dated_short_and_used(self) -> None:
        """Each source is in ``sources.toml`` with its date, a quote has 25 words at most, and none is idle."""
        sources = spec.read_sources(FOLDER)
        named = {source for entry in ENTRIES for source in entry.get("sources").split(", ")} - {"own"}

        assert set(sources) == named
        for source in sources.values():
            assert source.keys() - {"quote"} == {"provider", "reference", "read"}
            assert re.fullmatch(r"20[0-9]{2}-(0[1-9]|1[0-2])", source["read"])
            assert len(source.get("quote", "").split()) <= 25

    def test_a_rule_of_our_own_argues(self) -> None:
        """Without a source the Why must carry the rule: it is longer than a remark."""
        assert [entry.id for entry in ENTRIES if entry.get("sources") == "own" and len(entry.why.split()) < 8] == []


class TestVocabulary:
    """One word for one thing."""

    terms = spec.read_terms(FOLDER)

    def test_every_bold_word_is_defined(self) -> None:
        """What is bold in the prose of any chapter is a term, singular or plural."""
        bold = {
            (path.name, word)
            for path in PROSE
            if path.name != "CHANGES.md"
            for word in re.findall(r"\*\*([^*\n]+)\*\*", re.sub(r"```.*?```", "", path.read_text("utf-8"), flags=re.DOTALL))
        }
        openers = ("ID", "Statement", "Why", "In a provider's chapter", "In the chapter of laws")
        known = {*self.terms, *(f"{term}s" for term in self.terms)}

        assert {(name, word) for name, word in bold if word not in known} == {("README.md", word) for word in openers}

    def test_every_definition_is_used(self) -> None:
        """A term that nothing else in the specification speaks of is not needed."""
        prose = [line for path in PROSE for line in path.read_text("utf-8").splitlines()]
        unused = [
            term
            for term in self.terms
            if not any(re.search(rf"\b{term}(s|es|d|ed)?\b", line, re.IGNORECASE) for line in prose if f"**{term}**:" not in line)
        ]

        assert unused == []

    def test_a_definition_is_one_sentence(self) -> None:
        """It ends in its only full stop."""
        assert [term for term, sentence in self.terms.items() if not re.fullmatch(r"[^.]+\.", sentence)] == []


class TestReadme:
    """The description of the format."""

    readme = (FOLDER / "README.md").read_text("utf-8")

    def test_every_field_is_described(self) -> None:
        """The table names the fields that the reader knows, in its order."""
        table = self.readme.partition("| field |")[2].partition("\n\n")[0]
        cells = re.findall(r"^\| (`[a-z-]+`(?:, `[a-z-]+`)*) \|", table, re.MULTILINE)
        described = [name for cell in cells for name in re.findall(r"`([a-z-]+)`", cell)]

        assert sorted(described) == sorted(spec.FIELDS)

    def test_links_lead_somewhere(self) -> None:
        """Files that are linked exist."""
        for path in PROSE:
            for target in re.findall(r"\]\(([^)#:]+)\)", path.read_text("utf-8")):
                assert (FOLDER / target).exists()


class TestDumps:
    """The generated files."""

    def test_the_committed_dumps_are_fresh(self) -> None:
        """They are what the chapters and the automaton say now."""
        assert spec.main(["--check"]) == 0

    def test_the_dumps_are_the_chapters_as_json(self) -> None:
        """A reader in any language finds every entry and every example in them."""
        texts = spec.dumps(FOLDER)
        rules = json.loads(texts["rules.json"])["rules"]
        examples = json.loads(texts["examples.json"])["examples"]

        assert [row["id"] for row in rules] == [entry.id for entry in ENTRIES]
        assert [row["statement"] for row in rules] == [entry.statement for entry in ENTRIES]
        assert [(row["id"], row["body"]) for row in examples] == [
            (example.id, example.body) for entry in ENTRIES for example in entry.examples
        ]
        assert all("conformance.spec" in text.partition("\n")[0] for text in texts.values())

    def test_a_stale_dump_is_named_and_rewritten(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """``--check`` fails until ``--write`` has run, and then neither finds anything to do."""
        (tmp_path / "30-one.md").write_text(CHAPTER, "utf-8")
        here = ["--folder", str(tmp_path)]

        assert spec.main(["--check", *here]) == 1
        assert "out of date: rules.json" in capsys.readouterr().out
        assert spec.main(["--write", *here]) == 0
        assert "written: rules.json" in capsys.readouterr().out
        assert spec.main(["--check", *here]) == 0
        assert capsys.readouterr().out == ""

    def test_a_broken_chapter_cannot_be_dumped(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """Exit status 2, with file and line."""
        (tmp_path / "30-one.md").write_text("## nonsense\n", "utf-8")

        assert spec.main(["--check", "--folder", str(tmp_path)]) == 2
        assert capsys.readouterr().err.startswith("30-one:1: ")
