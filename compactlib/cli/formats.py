"""
Findings as other programs read them.

What this is
    One function for each form: SARIF 2.1.0 for code scanning, JUnit's XML for
    test reports, and the annotations of GitHub's workflows.

Rules it obeys
    * Law L25.  Ids and names in a finding come from transcripts.  All text has
      passed `compactlib.text.escape`, and then the form's own escaping: a
      newline in an id cannot begin an annotation or an element, and a
      character that XML does not allow is written as its number.
    * What is not known is left out.  A finding without a line has its JSON
      pointer as a logical location.

What is not here
    The two forms that are compactlib's own (`check`), and writing to a file.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import quote

from .. import __version__
from ..model import Json
from ..protocol.rules import RULES, Level, Rule
from ..text import escape
from .findings import Finding
from .reading import UnreadError

__all__ = ["github", "junit", "sarif"]

_SARIF_LEVELS: Final[dict[Level, str]] = {"error": "error", "warning": "warning", "info": "note"}
_GITHUB_LEVELS: Final[dict[Level, str]] = {"error": "error", "warning": "warning", "info": "notice"}


# -- SARIF -------------------------------------------------------------------------------------------------------------


def sarif(findings: Iterable[Finding], unread: Sequence[UnreadError] = ()) -> Json:
    """A SARIF 2.1.0 log with one run; each rule that was broken is described in it once, what was not read as a notification."""
    findings = list(findings)
    broken = {one.violation.rule for one in findings}
    rules = [rule for rule in RULES.values() if rule.id in broken]
    places = {rule.id: at for at, rule in enumerate(rules)}
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {"name": "compactlib", "version": __version__, "rules": [_sarif_rule(rule) for rule in rules]}
                },
                "columnKind": "unicodeCodePoints",
                "results": [_sarif_result(one, places) for one in findings],
                **({"invocations": [_sarif_failure(unread)]} if unread else {}),
            }
        ],
    }


def _sarif_failure(unread: Sequence[UnreadError]) -> Json:
    return {"executionSuccessful": False, "toolExecutionNotifications": [_sarif_notification(one) for one in unread]}


def _sarif_rule(rule: Rule) -> Json:
    help_text = [rule.statement]
    if rule.error:
        status = f" with status {rule.status}" if rule.status else ""
        help_text.append(f"The provider answers{status}: {rule.error.partition(chr(10))[0]}")
    help_text.append(f"Safe fix: {rule.fix or 'none'}.")
    return {
        "id": rule.id,
        "shortDescription": {"text": rule.statement},
        "help": {"text": "\n".join(help_text)},
        "defaultConfiguration": {"level": _SARIF_LEVELS[rule.level]},
        "properties": {"tags": [rule.dialect, rule.law, rule.core]},
    }


def _sarif_notification(one: UnreadError) -> Json:
    location: dict[str, Json] = {"artifactLocation": {"uri": _uri(one.file)}}
    if one.line is not None:
        location["region"] = {"startLine": one.line}
    return {"level": "error", "message": {"text": escape(one.problem)}, "locations": [{"physicalLocation": location}]}


def _sarif_result(one: Finding, places: dict[str, int]) -> Json:
    violation = one.violation
    location: dict[str, Json] = {"physicalLocation": {"artifactLocation": {"uri": _uri(one.file)}}}
    if one.line is not None:
        location["physicalLocation"]["region"] = {"startLine": one.line, "startColumn": one.column or 1}
    if violation.pointer:
        location["logicalLocations"] = [{"fullyQualifiedName": escape(violation.pointer), "kind": "value"}]
    known = {"ruleIndex": places[violation.rule]} if violation.rule in places else {}
    told = f"{violation.rule}\n{violation.pointer}\n{violation.message}".encode("utf-8", "surrogatepass")
    return {
        "ruleId": violation.rule,
        **known,
        "level": _SARIF_LEVELS[violation.level],
        "message": {"text": f"{escape(violation.message)}; expected: {escape(violation.expected)}"},
        "locations": [location],
        "partialFingerprints": {"finding/v1": hashlib.sha256(told).hexdigest()[:32]},
        "properties": {"messageIndex": violation.index, "fix": violation.fix, "law": violation.law},
    }


def _uri(file: str) -> str:
    """A reference to the file: relative where its name is."""
    path = Path(file)
    if path.is_absolute():
        return quote(path.as_posix().encode("utf-8", "surrogateescape"), safe="/").join(("file://", ""))
    made = quote(path.as_posix().encode("utf-8", "surrogateescape"), safe="/")
    return f"./{made}" if ":" in made.partition("/")[0] else made


# -- JUnit -------------------------------------------------------------------------------------------------------------

_NOT_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_XML_NAMES: Final = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"}


def junit(
    findings: Iterable[Finding], files: Sequence[str], unread: Sequence[UnreadError] = (), *, failing: frozenset[Level]
) -> str:
    """
    A report with a suite for each file and a case for each finding; a file without any is one case that passed.

    Args:
        findings: of all files.
        files: those that were read.
        unread: those that were not, and single lines that were not; each is one case with an error.
        failing: the levels that count; other findings pass and say what they are.
    """
    by_file: dict[str, list[Finding]] = {file: [] for file in files}
    for one in findings:
        by_file[one.file].append(one)
    suites = [_suite(file, found, failing) for file, found in by_file.items()]
    suites += [_unread_suite(one) for one in unread]
    tests = sum(max(len(found), 1) for found in by_file.values()) + len(unread)
    failures = sum(one.violation.level in failing for found in by_file.values() for one in found)
    head = f'<testsuites name="compactlib" tests="{tests}" failures="{failures}" errors="{len(unread)}">'
    return "\n".join(['<?xml version="1.0" encoding="UTF-8"?>', head, *suites, "</testsuites>", ""])


def _suite(file: str, findings: list[Finding], failing: frozenset[Level]) -> str:
    name = _xml(file)
    failures = sum(one.violation.level in failing for one in findings)
    rows = [f'  <testsuite name="{name}" tests="{max(len(findings), 1)}" failures="{failures}" errors="0" skipped="0">']
    if not findings:
        rows.append(f'    <testcase name="compactlib" classname="{name}"/>')
    for one in findings:
        violation = one.violation
        where = f"line {one.line}" if one.line is not None else violation.pointer or "the request"
        text = _xml(f"{where}: {violation.message}; expected: {violation.expected}")
        case = _xml(f"{violation.rule} {violation.pointer}".rstrip())  # readers take cases of one name for one
        rows.append(f'    <testcase name="{case}" classname="{name}">')
        if violation.level in failing:
            rows.append(f'      <failure message="{_xml(violation.message)}" type="{violation.level}">{text}</failure>')
        else:
            rows.append(f"      <system-out>{violation.level}: {text}</system-out>")
        rows.append("    </testcase>")
    return "\n".join([*rows, "  </testsuite>"])


def _unread_suite(one: UnreadError) -> str:
    name, why = _xml(one.file), _xml(one.problem)
    where = "" if one.line is None else f"line {one.line}: "
    case = "compactlib" if one.line is None else f"unread line {one.line}"  # readers take cases of one name for one
    return (
        f'  <testsuite name="{name}" tests="1" failures="0" errors="1" skipped="0">\n'
        f'    <testcase name="{case}" classname="{name}">\n'
        f'      <error message="{why}" type="unread">{where}{why}</error>\n'
        "    </testcase>\n  </testsuite>"
    )


def _xml(text: str) -> str:
    """*text* as it may stand in an element or an attribute; characters that XML 1.0 does not have are shown by number."""
    shown = _NOT_XML.sub(lambda found: f"\\u{ord(found[0]):04x}", escape(text))
    return "".join(_XML_NAMES.get(char, char) for char in shown)


# -- GitHub ------------------------------------------------------------------------------------------------------------


def github(findings: Iterable[Finding], unread: Iterable[UnreadError] = ()) -> str:
    """One workflow command for each finding and each file or line that was not read, which GitHub shows beside the line."""
    return "".join([*map(_annotation, findings), *map(_unread_annotation, unread)])


def _unread_annotation(one: UnreadError) -> str:
    line = "" if one.line is None else f",line={one.line}"
    return f"::error title=compactlib,file={_property(one.file)}{line}::{_data(one.problem)}\n"


def _annotation(one: Finding) -> str:
    violation = one.violation
    properties = {"title": f"compactlib {violation.rule}", "file": one.file}
    if one.line is not None:
        properties |= {"line": str(one.line), "col": str(one.column or 1)}
    told = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    where = f" at {violation.pointer}" if violation.pointer else ""
    message = f"{violation.rule} {violation.message}{where}; expected: {violation.expected}"
    return f"::{_GITHUB_LEVELS[violation.level]} {told}::{_data(message)}\n"


def _data(text: str) -> str:
    return escape(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
