"""Findings for other programs: SARIF, JUnit's XML, GitHub's annotations."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactlib.cli.findings import Finding
from compactlib.cli.formats import github, junit, sarif
from compactlib.cli.reading import UnreadError
from compactlib.protocol.rules import Level
from compactlib.protocol.violation import Violation

Run = Callable[..., tuple[int, str, str]]

ERRORS: Final[frozenset[Level]] = frozenset({"error"})


CALL: Final = {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "ls", "input": {}}]}


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """A body with two open calls, one a line, and a blank text that is a warning."""
    path = tmp_path / "a b.json"
    blank = {"role": "user", "content": [{"type": "text", "text": " "}, {"type": "text", "text": "x"}]}
    messages = ",\n  ".join(json.dumps(message) for message in ({"role": "user", "content": "x"}, CALL, blank, CALL, blank))
    path.write_text('{"messages": [\n  ' + messages + "]}", "utf-8")
    return path


words = st.text(max_size=20) | st.sampled_from(["\"<&>'", "\x00\x1b[2J", "]]>", "\ud800\ufffe\uffff", "a\r\n::error::b", "%0A,:"])
findings = st.lists(
    st.builds(
        Finding,
        st.sampled_from(["a.json", "evil\n::x", "c:d,e%.json", '"<&'] ),
        st.none() | st.integers(1, 9),
        st.none() | st.integers(1, 9),
        st.builds(
            Violation,
            st.sampled_from(["A-PAIR-01", "O-PAIR-01", "X-NEW-99"]),
            st.just("L2"),
            st.sampled_from(["error", "warning", "info"]),
            st.none() | st.integers(0, 9),
            words,
            words,
            words,
            st.none() | st.just("drop-empty"),
        ),
    ),
    max_size=4,
)  # fmt: skip

# What an object of SARIF 2.1.0 may hold, and what it must (its schema has additionalProperties false); only those we write.
SARIF: Final[dict[str, tuple[set[str], set[str]]]] = {
    "log": ({"$schema", "version", "runs"}, {"version", "runs"}),
    "run": ({"tool", "columnKind", "results"}, {"tool"}),
    "driver": ({"name", "version", "rules"}, {"name"}),
    "rule": ({"id", "shortDescription", "help", "defaultConfiguration", "properties"}, {"id"}),
    "result": (
        {"ruleId", "ruleIndex", "level", "message", "locations", "partialFingerprints", "properties"},
        {"message"},
    ),
    "location": ({"physicalLocation", "logicalLocations"}, set()),
    "physical": ({"artifactLocation", "region"}, {"artifactLocation"}),
    "region": ({"startLine", "startColumn"}, set()),
    "logical": ({"fullyQualifiedName", "kind"}, set()),
}


def shaped(kind: str, value: dict[str, Any]) -> dict[str, Any]:
    allowed, required = SARIF[kind]
    assert required <= value.keys() <= allowed
    return value


@given(findings)
def test_sarif_has_the_shape_of_its_schema(found: list[Finding]) -> None:
    """Known keys only, indices of rules that are there, positive lines, references without illegal characters."""
    log = shaped("log", json.loads(json.dumps(sarif(found))))
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    driver = shaped("driver", shaped("run", run)["tool"]["driver"])
    rules = [shaped("rule", rule) for rule in driver["rules"]]
    assert len({rule["id"] for rule in rules}) == len(rules)
    assert all(rule["help"]["text"] and rule["defaultConfiguration"]["level"] in ("error", "warning", "note") for rule in rules)
    assert len(run["results"]) == len(found)
    for result, one in zip(run["results"], found, strict=True):
        shaped("result", result)
        assert result["level"] in ("error", "warning", "note")
        assert isinstance(result["message"]["text"], str)
        if "ruleIndex" in result:
            assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        (location,) = result["locations"]
        physical = shaped("physical", shaped("location", location)["physicalLocation"])
        assert re.fullmatch(r"[A-Za-z0-9._~%/:-]+", physical["artifactLocation"]["uri"])
        assert ("region" in physical) == (one.line is not None)
        if one.line is not None:
            assert shaped("region", physical["region"])["startLine"] == one.line
        for logical in location.get("logicalLocations", ()):
            shaped("logical", logical)


UNREAD: Final = (UnreadError("a b:\n.json", 3, "bad \x1b"), UnreadError("/x", None, "no file"))


@pytest.fixture(scope="module")
def judge() -> Any:
    """The log of SARIF 2.1.0 as a model that was generated from its published schema."""
    model = pytest.importorskip(
        "pydantic_sarif.model", reason="pydantic-sarif, models made from SARIF's schema, is not installed"
    )
    return model.StaticAnalysisResultsFormatSarifVersion210JsonSchema


@given(found=findings, unread=st.sampled_from([(), UNREAD[:1], UNREAD]))
def test_sarif_is_what_its_published_schema_says(judge: Any, found: list[Finding], unread: tuple[UnreadError, ...]) -> None:
    """The models refuse every key, word and number that it does not have."""
    log = json.loads(json.dumps(sarif(found, unread)))

    assert judge.model_validate(log).version.value == "2.1.0"
    with pytest.raises(ValueError, match="Extra inputs are not permitted"):
        judge.model_validate({**log, "runs": [{**log["runs"][0], "made up": 1}]})


@given(findings)
def test_junit_is_xml_whatever_stands_in_it(found: list[Finding]) -> None:
    """It parses; the counts are those of the elements; nothing of a finding becomes markup."""
    files = list(dict.fromkeys(["clean.json", *(one.file for one in found)]))
    root = ElementTree.fromstring(junit(found, files, failing=ERRORS).encode())  # noqa: S314  # it is our own

    assert [suite.tag for suite in root] == ["testsuite"] * len(files)
    assert int(root.get("failures", "")) == len(root.findall(".//failure")) == sum(f.violation.level == "error" for f in found)
    assert int(root.get("tests", "")) == len(root.findall(".//testcase"))
    assert {element.tag for element in root.iter()} <= {"testsuites", "testsuite", "testcase", "failure", "system-out"}
    for suite in root:
        assert int(suite.get("tests", "")) == len(suite.findall("testcase"))
        assert int(suite.get("failures", "")) == len(suite.findall(".//failure"))


JUNIT: Final = {
    "testsuites": {"name", "tests", "failures", "errors"},
    "testsuite": {"name", "tests", "failures", "errors", "skipped"},
    "testcase": {"name", "classname"},
    "failure": {"message", "type"},
    "error": {"message", "type"},
    "system-out": set(),
}
"""The attributes that we write; the schemas published by Jenkins (junit-4, junit-10) have all of them and demand no other."""


@given(findings, st.sampled_from([(), UNREAD[:1], UNREAD]))
def test_junit_has_the_attributes_of_its_schemas(found: list[Finding], unread: tuple[UnreadError, ...]) -> None:
    """Those and no others; cases of one file are told apart by where the rule is broken."""
    files = list(dict.fromkeys(one.file for one in found))
    root = ElementTree.fromstring(junit(found, files, unread, failing=ERRORS).encode())  # noqa: S314  # it is our own

    assert all(set(element.attrib) == JUNIT[element.tag] for element in root.iter())
    names = {(case.get("classname"), case.get("name")) for case in root.iter("testcase")}
    assert len(names) >= len({(one.file, one.violation.rule, one.violation.pointer) for one in found})


@given(findings)
def test_annotations_are_one_line_each(found: list[Finding]) -> None:
    """No text of a finding can begin another command, or another property."""
    lines = github(found).split("\n")

    assert lines.pop() == ""
    assert len(lines) == len(found)
    for line, one in zip(lines, found, strict=True):
        match = re.fullmatch(r"::(error|warning|notice) ([^:]*)::(.*)", line)
        assert match is not None
        names = [part.partition("=")[0] for part in match[2].split(",")]
        assert names == ["title", "file", *(["line", "col"] if one.line is not None else [])]
        assert not any(unicodedata.category(char) in ("Cc", "Zl", "Zp", "Cs") for char in line if char != "\t")


def test_each_form_names_place_rule_and_fault(broken: Path, run: Run) -> None:
    """Two errors and three warnings (an id is used twice), on the lines and columns where the messages begin."""
    status, out, _ = run("check", broken, "--output-format", "sarif")
    results = json.loads(out)["runs"][0]["results"]
    regions = [one["locations"][0]["physicalLocation"]["region"] for one in results]

    assert status == 1
    assert [one["ruleId"] for one in results if one["level"] == "error"] == ["A-PAIR-01", "A-PAIR-01"]
    assert {region["startLine"] for one, region in zip(results, regions, strict=True) if one["level"] == "error"} == {3, 5}
    assert {region["startColumn"] for region in regions} == {3}
    assert results[0]["locations"][0]["logicalLocations"][0]["fullyQualifiedName"].startswith("/messages/")
    assert results[0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].endswith("/a%20b.json")

    status, out, _ = run("check", broken, "--output-format", "github")
    assert status == 1
    assert f"file={broken},line=3,col=3::A-PAIR-01 message 1 calls 't'" in out
    assert "::warning title=compactlib A-EMPTY-02," in out

    status, out, _ = run("check", broken, "--output-format", "junit")
    root = ElementTree.fromstring(out)  # noqa: S314  # it is our own
    assert (status, root.get("failures")) == (1, "2")
    strict = run("check", broken, "--output-format", "junit", "--strict")[1]
    assert ElementTree.fromstring(strict).get("failures") == "5"  # noqa: S314  # it is our own


@pytest.mark.parametrize("form", ["sarif", "junit", "github"])
def test_hostile_text_is_never_acted_on(form: str, tmp_path: Path, run: Run) -> None:
    """Ids and the file's own name: no control character, and no markup or command of theirs."""
    evil = '\x1b[2J\u202e\n::error::<x/>\r]]>&"\x00'
    path = tmp_path / "e\n::warning::v,:%.json"
    call = {"role": "assistant", "content": [{"type": "tool_use", "id": evil, "name": evil, "input": {}}]}
    path.write_text(json.dumps([{"role": evil, "content": "x"}, call]), "utf-8")
    status, out, _ = run("check", path, "--output-format", form)

    assert status == 1
    assert not any(unicodedata.category(char) in ("Cc", "Cf", "Zl", "Zp", "Cs") for char in out if char != "\n")
    if form == "github":
        assert all(line.startswith(("::error title=", "::warning title=", "::notice title=")) for line in out.splitlines())
    elif form == "junit":
        assert ElementTree.fromstring(out).find(".//x") is None  # noqa: S314  # it is our own


def test_a_clean_file_is_clean_in_every_form(tmp_path: Path, run: Run) -> None:
    """Status 0, no result, one case that passed, no annotation."""
    path = tmp_path / "clean.json"
    path.write_text('[{"role": "user", "content": "hi"}]', "utf-8")

    assert run("check", path, "--output-format", "github") == (0, "", "")
    status, out, _ = run("check", path, "--output-format", "sarif")
    assert (status, json.loads(out)["runs"][0]["results"]) == (0, [])
    status, out, _ = run("check", path, "--output-format", "junit")
    assert (status, out.count("<testcase"), out.count("<failure")) == (0, 1, 0)


def test_a_line_is_said_where_it_is_known(tmp_path: Path, run: Run) -> None:
    """A message a line, a body a line: the line of the log.  The request itself has a pointer at most."""
    path = tmp_path / "log.jsonl"
    path.write_text(
        "\n".join(json.dumps(one) for one in ({"role": "user", "content": "x"}, CALL, {"role": "user", "content": "y"}))
    )
    assert ",line=2,col=1::A-PAIR-01" in run("check", path, "--output-format", "github")[1]

    body = {"messages": [{"role": "user", "content": "x"}]}
    path.write_text("\n".join(json.dumps(one) for one in (body, {"messages": [body["messages"][0], CALL], "system": "s"})))
    assert ",line=2,col=1::A-PAIR-01" in run("check", path, "--output-format", "github")[1]


def test_statistics_count_by_rule(broken: Path, run: Run) -> None:
    """Most first, with level and fix; JSON has the same."""
    status, out, _ = run("check", broken, "--statistics")
    rows = [line.split() for line in out.splitlines()[:-1]]
    counts = [int(row[0]) for row in rows]

    assert status == 1
    assert counts == sorted(counts, reverse=True)
    assert ["2", "A-PAIR-01", "error", "synthesize-result"] in [row[:4] for row in rows]
    said = json.loads(run("check", broken, "--statistics", "--output-format", "json")[1])
    assert said["valid"] is False
    assert {"rule": "A-PAIR-01", "level": "error", "count": 2, "fix": "synthesize-result"} in said["statistics"]
    assert [row["count"] for row in said["statistics"]] == counts
    assert run("check", broken, "--statistics", "--output-format", "sarif")[0] == 2
