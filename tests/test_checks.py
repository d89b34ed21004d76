"""The checks themselves: against the chapter of laws, against each other, and against themselves."""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import asdict, evolve
from hypothesis import given

import compactlib as cl
from compactlib.conformance import checks, spec
from compactlib.conformance.checks import CHECKS, judge
from compactlib.conformance.dividing import choose, divide, legal_cuts
from compactlib.conformance.findings import LAWS, Finding, broken
from compactlib.conformance.heads import earlier_prompts, excerpts, sections, shown
from compactlib.conformance.record import Exchange, Record
from compactlib.conformance.running import observe
from compactlib.conformance.shorthand import expand_message, expand_record, judge_example
from compactlib.conformance.units import read, read_summary
from compactlib.model import Json
from compactlib.protocol.rules import RULES
from compactlib.summaries.head import Layout, write_summary
from compactlib.truncation import truncate

from . import reference
from .spellings import SPELLINGS, Call, Result
from .strategies import WIRES, build, histories

HOME = Path(checks.__file__).parent
CHAPTER = spec.read_chapter((Path(__file__).parents[1] / "spec" / "10-laws.md").read_text("utf-8"), chapter="10-laws")
EXAMPLES = [pytest.param(entry, example, id=example.id) for entry in CHAPTER for example in entry.examples]


class TestChapter:
    """The chapter of laws says what the checks check."""

    @pytest.mark.parametrize(("entry", "example"), EXAMPLES)
    def test_the_example_holds(self, entry: spec.Entry, example: spec.Example) -> None:
        """A good one breaks nothing, a bad one exactly what it names."""
        found = {rule for rule, level in judge_example(example.body) if level == "error"}

        assert found == ({entry.id, *example.also} if example.kind == "bad" else set())

    def test_every_rule_is_an_entry_with_its_law(self) -> None:
        """The table of rules and the chapter are the same, in order."""
        assert {entry.id: entry.get("law") for entry in CHAPTER} == dict(LAWS)

    def test_every_entry_names_its_check(self) -> None:
        """By the name of the function."""
        assert {entry.id: entry.get("check") for entry in CHAPTER} == {rule: CHECKS[law].__name__ for rule, law in LAWS.items()}

    def test_every_check_names_its_rules(self) -> None:
        """In the first line of its docstring, so that a reader finds them."""
        for law, check in CHECKS.items():
            first = (check.__doc__ or "").splitlines()[0]
            assert [rule for rule, stated in LAWS.items() if stated == law and rule not in first] == []


class TestIndependence:
    """A checker that reuses the engine's code would agree with its bugs."""

    ENGINE = frozenset(
        {
            "budget",
            "compaction",
            "cuts",
            "driving",
            "editing",
            "holding",
            "outcomes",
            "planning",
            "recognition",
            "summaries",
            "text",
            "truncation",
            "turns",
            "visible",
        }
    )
    JUDGES = (
        "findings", "record", "units", "dividing", "evidence", "heads", "checks", "protocol_checks", "loss_checks",
        "marker_checks", "size_checks", "stability_checks", "honesty_checks", "fact_checks", "recovery_checks",
        "asking_checks", "hiding",
    )  # fmt: skip

    @pytest.mark.parametrize("name", JUDGES)
    def test_no_judge_imports_the_engine(self, name: str) -> None:
        """Not at the top, not inside a function."""
        tree = ast.parse((HOME / f"{name}.py").read_text("utf-8"))
        imported = {part for node in ast.walk(tree) for part in self._parts(node)}

        assert imported & self.ENGINE == set()

    @staticmethod
    def _parts(node: ast.AST) -> Iterator[str]:
        if isinstance(node, ast.ImportFrom):
            yield from (node.module or "").split(".")
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (part for alias in node.names for part in alias.name.split("."))

    @given(histories())
    def test_cuts_and_frontier_as_the_engine_sees_them(self, pieces: list[reference.Piece]) -> None:
        """Two independent readings of the wire give the same legal cuts, and the same pending calls."""
        for dialect in WIRES:
            body = build(pieces, dialect)
            conversation = cl.parse(body, dialect=dialect)
            kinds: list[Any] = [_kind(piece) for piece in pieces for _ in build([piece], dialect)]
            units = read(body, dialect, kinds)
            parts = divide(units, dialect)
            cuts = legal_cuts(units, parts, [1] * len(units), body, dialect)
            found = cl.legal_cuts(conversation)

            assert cuts is not None
            assert tuple(cut.at for cut in cuts if cut.kind == "turn") == found.turn
            assert tuple(cut.at for cut in cuts if cut.kind == "step") == found.step
            assert parts.dangling == ()


def _kind(piece: reference.Piece) -> str:
    return {"calls": "model", "text": "model", "results": "result"}.get(piece[0], piece[0])


class TestReading:
    """The checks read what the engine writes, by themselves."""

    def test_a_summary_is_known_by_its_header(self) -> None:
        """And by nothing less: one letter changed and it is a text like any other."""
        text = write_summary("## Goal\nShip.\n", Layout(pins=2, earlier=1, reminders=3, under_way=True))
        found = read_summary(text)

        assert found is not None
        assert (found.body, found.pins, found.earlier, found.reminders, found.under_way) == ("## Goal\nShip.\n", 2, 1, 3, True)
        assert read_summary(text.replace("Ship", "Sink")) is None
        assert read_summary(text[:-2]) is None
        assert read_summary("x" + text) is None

    def test_a_forged_digest_with_no_layout_is_no_summary(self) -> None:
        """Whoever can compute a digest still has to know the form."""
        text = "no layout"
        digest = hashlib.sha256(text.encode()).hexdigest()[:16]

        assert read_summary(f"[compactlib summary v1 chars={len(text)} sha256={digest}]\n{text}") is None

    def test_excerpts_of_the_engine_are_true(self) -> None:
        """With and without lines from the middle."""
        text = "".join(f"line {number} of many\n" for number in range(400)) + "Error: it broke\n" + "quiet\n" * 300 + "end"
        for keep in ("both", "head", "tail"):
            for signal_lines in (0, 4):
                short = truncate(text, limit_chars=900, keep=keep, signal_lines=signal_lines)
                (excerpt,) = excerpts(short.text)
                assert excerpt.is_true_of(text)
                assert not excerpt.is_true_of(text + "x")

    def test_quoted_lines_are_told_from_ours(self) -> None:
        """A quotation ends where the sign of quotation does."""
        assert shown("head\n> one\n> two\n--- ours\n> three") == ["one\ntwo", "three"]

    def test_sections_are_divided_at_column_0(self) -> None:
        """An indented or escaped heading is text."""
        assert sections("before\n## A\none\n \\## B\n##C\n# D") == [("", "before"), ("A", "one\n \\## B\n##C"), ("D", "")]

    def test_broken_quotations_of_prompts_are_none(self) -> None:
        """A length that does not fit makes the whole text something else."""
        assert earlier_prompts("[compactlib earlier prompts v1]\n[prompt chars=2]\nhi\n") == ["hi"]
        assert earlier_prompts("[compactlib earlier prompts v1]\n[prompt chars=9]\nhi\n") is None
        assert earlier_prompts("something else") is None


class TestVerdicts:
    """Unknown is never pass, and a failure of a check is not one of the compactor."""

    record = Record(dialect="anthropic", before=[], after=[], outcome="compacted")

    def test_what_nobody_measured_is_unknown(self) -> None:
        """Each check that needs more than both bodies says so."""
        record = expand_record({"before": ["prompt 5", "model 40", "prompt #2 3"], "after": ["summary 4", "prompt #2 3"]})
        bare = evolve(record, before_tokens=None, kinds=None)
        found = [finding for finding in judge(bare) if finding.verdict == "unknown"]
        undecided = {finding.rule for finding in found}

        assert undecided == {"FAIL-2", "BACK-3", "SIZE-1", "SIZE-2", "WINDOW-1", "SAME-1", "NOOP-2", "INPUT-1"}
        named = {field for finding in found for field in re.findall(r"[\w.]+", finding.message.rpartition("(")[2])}
        assert named == {
            "exchanges", "undone", "before_tokens", "after_tokens", "limits.target", "repeated", "again", "mutated"
        }  # fmt: skip

    def test_a_message_of_unknown_kind_makes_the_cut_unknown(self) -> None:
        """A picture behind results may be the tool's or the person's."""
        picture = expand_message("attachment 3")[0]
        picture = {**picture, "content": picture["content"][1:]}
        messages: list[Json] = [expand_message(text)[0] for text in ("prompt 5", "model a 40", "result a 6")]
        record = evolve(self.record, before=[*messages, picture], after=[{"role": "user", "content": "so far"}, picture], cut=3)

        assert [(finding.rule, finding.verdict) for finding in judge(record, laws=["L3"])] == [("CUT-1", "unknown")]

    def test_a_check_that_fails_is_unknown(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """It has not passed anything."""

        def fails(record: Record) -> Iterator[Finding]:
            raise KeyError("a")

        monkeypatch.setattr(checks, "CHECKS", {"L2": fails})

        assert judge(self.record, laws=["L2"]) == (Finding("STEP-1", "unknown", "the check failed: KeyError: 'a'"),)

    @pytest.mark.parametrize("field", ["dialect", "profile", "outcome", "when", "rung"])
    def test_a_word_that_no_check_knows_is_refused(self, field: str) -> None:
        """Nothing would judge it, and unknown is never pass."""
        with pytest.raises(cl.PolicyError) as refused:
            Record(**{**asdict(self.record, recurse=False), field: "klingon"})

        assert refused.value.field == field

    def test_a_finding_says_all_in_one_line(self) -> None:
        """Law, rule, verdict, and what was seen."""
        (finding,) = broken("STEP-1", "a result is gone")

        assert str(finding) == "L2 STEP-1 broken: a result is gone"

    def test_an_unreadable_output_breaks_validity(self) -> None:
        """It is not passed over."""
        prompt = {"role": "user", "content": "a"}
        record = evolve(self.record, before=[prompt], after=[prompt, {"role": "user"}])

        assert "VALID-1" in {finding.rule for finding in judge(record, laws=["L1"])}

    @pytest.mark.parametrize("dialect", [name for name in SPELLINGS if SPELLINGS[name].dialect == name])
    def test_a_result_that_lost_its_call_is_named_by_its_rule(self, dialect: str) -> None:
        """Whoever keeps the last messages, wherever they begin, is told a rule that can be looked up."""
        spelling = SPELLINGS[dialect]
        said = [spelling.user("go")]
        for call in (Call("c1", "read", {}), Call("c2", "bash", {})):
            said += [*spelling.model("", [call]), *spelling.results([Result(call, "done")])]
        found = [
            finding.message.partition(" breaks ")[2].partition(",")[0]
            for start in range(1, len(said))
            for finding in judge(
                Record(dialect=dialect, before=said, after=said[start:], outcome="compacted", reason="", cut=start), laws=["L1"]
            )
            if finding.rule == "VALID-1"
        ]

        assert found
        assert set(found) <= RULES.keys()

    def test_the_tail_of_nothing_is_no_cut(self) -> None:
        """Whether the compactor says where it cut or not."""
        record = expand_record({"before": ["prompt 5", "model 40"], "after": ["summary 4"]})

        assert [finding.rule for finding in judge(record, laws=["L3"])] == ["CUT-1"]


class TestChoosing:
    """Law L3's rule by trying all, on its own."""

    def test_the_order_of_preference(self) -> None:
        """Turn, then step, then the shortest; of equals the first."""
        short = ("prompt 5", "model 40", "prompt #2 3", "model #2 9", "model #3 9", "prompt #3 2")
        body = list(map(expand_message, short))
        units = read([message for message, _, _ in body], "anthropic", [kind for _, kind, _ in body])  # type: ignore[misc]  # kinds are words here
        sizes = [size for _, _, size in body]
        cuts = legal_cuts(units, divide(units, "anthropic"), sizes, [], "anthropic")
        assert cuts is not None

        found = {limit: choose(cuts, limit_tokens=limit) for limit in (100, 23, 20, 14, 9, 1)}

        assert {limit: cut and (cut.at, cut.kind) for limit, cut in found.items()} == {
            100: (1, "step"),
            23: (2, "turn"),
            20: (4, "step"),
            14: (4, "step"),
            9: (5, "turn"),
            1: (5, "turn"),
        }
        assert choose([], limit_tokens=9) is None


def test_an_honest_compaction_is_not_blamed() -> None:
    """The whole way: engine, wire, record, checks."""
    body = [{"role": "user", "content": "please " + "do this " * 40}]
    for number in range(30):
        body += [{"role": "assistant", "content": f"answer {number} " * 40}, {"role": "user", "content": f"next {number} " * 30}]
    conversation = cl.parse(body, dialect="openai-chat")
    record, outcome = observe(cl.compact, conversation, cl.Policy(window_tokens=5_000, schema="brief"))

    assert isinstance(outcome, cl.Compacted)
    assert judge(record) == ()


def test_a_record_that_differs_has_another_digest() -> None:
    """Outcome, output and requests count; what was measured does not."""
    record = TestVerdicts.record

    assert evolve(record, before_tokens=7).digest == record.digest
    for change in ({"reason": "x"}, {"after": [1]}, {"exchanges": (Exchange(text="x"),)}, {"cut": 1}):
        assert evolve(record, **change).digest != record.digest
