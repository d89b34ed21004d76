"""The handed cases: a label and a rule for each conversation, and real reports reduced to a few messages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from compactlib.dialects import messages_key, parse
from compactlib.protocol.validator import Violation, check

DIALECTS = ("anthropic", "openai-chat")
WHY = {
    "orphan_result": {"A-PAIR-02", "O-PAIR-02"},
    "missing_result": {"A-PAIR-01", "O-PAIR-01"},
    "partial_results": {"A-PAIR-01", "O-PAIR-01"},
    "duplicate_call_id": {"A-ID-01", "O-PAIR-04"},
    "duplicate_result": {"A-PAIR-05", "O-PAIR-04"},
    "empty_call_id": {"A-ID-02", "O-ID-01"},
    "empty_content": {"A-EMPTY-03", "O-CONTENT-01"},
    "first_not_user": {"A-START-01"},
    "invalid_args_json": {"O-ARGS-01"},
    "last_not_user": {"A-END-01"},
    "thinking_modified": {"A-THINK-02"},
    "thinking_not_first": {"A-THINK-01"},
    "too_many_cache_breakpoints": {"A-CACHE-01"},
}
"""The rules that the reports' words for what is wrong can mean."""


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def judged(messages: Any, dialect: str, request: dict[str, Any] | None, profile: str | None = None) -> tuple[Violation, ...]:
    """The judgement of a case; what its request says beside the wire's own fields is handed over as facts."""
    facts = dict(request or {})
    original = {int(index): blocks for index, blocks in facts.pop("original", {}).items()}
    prompt, window = facts.pop("prompt_tokens", None), facts.pop("max_tokens_ctx", None)
    profile = facts.pop("profile", profile)
    body = messages if request is None else {**facts, messages_key(dialect): messages}
    conversation = parse(body, dialect=dialect)
    return check(conversation, profile=profile, original=original, prompt_tokens=prompt, window_tokens=window)


def errors(found: tuple[Violation, ...]) -> list[Violation]:
    return [violation for violation in found if violation.level == "error"]


def test_each_labelled_case_gets_its_answer_and_its_rule(shared: Path) -> None:
    """Valid means no error; invalid means an error, and the rule that the case names among the findings."""
    cases = [case for case in lines(shared / "cases" / "protocol.jsonl") if case["dialect"] in DIALECTS]
    wrong = []
    for case in cases:
        found = judged(case["messages"], case["dialect"], case.get("request"))
        named = case["rule"] in {violation.rule for violation in found}
        if bool(errors(found)) == case["valid"] or not (case["valid"] or named):
            wrong.append((case["id"], found))

    assert wrong == []
    assert len(cases) >= 87


def test_each_direct_report_is_found_where_it_is_and_named(shared: Path) -> None:
    """The first error stands at the message that the report names, is of the kind it names, and speaks of its ids."""
    reports = [
        report
        for report in lines(shared / "cases" / "reports.jsonl")
        if report["layer"] == "validate" and report["tier"] == "direct" and report["dialect"] in (*DIALECTS, "neutral")
    ]
    for report in reports:
        given, expected = report["input"], report["expected"]
        options = given.get("options", {})
        request: dict[str, Any] | None = {"thinking": {"type": "enabled"}} if options.get("thinking") else None
        if "original" in given:
            request = {**(request or {}), "original": given["original"]}
        dialect = report["dialect"] if report["dialect"] in DIALECTS else "anthropic"
        profile = "anthropic-no-prefill" if options.get("prefill") is False else None
        found = judged(given["messages"], dialect, request, profile)

        assert expected["valid"] == (not errors(found)), (report["n"], found)
        if not expected["valid"]:
            first = errors(found)[0]
            there = [violation for violation in errors(found) if violation.index == first.index]
            assert first.index == expected["first_bad_index"], report["n"]
            assert WHY[expected["why"]] & {violation.rule for violation in there}, (report["n"], there)
            assert set(expected.get("ids", [])) <= {key for violation in there for key in violation.call_ids}
        for why in expected.get("warnings", []):
            assert WHY[why] & {violation.rule for violation in found if violation.level == "warning"}, report["n"]
        if expected.get("invalid_when_dialect"):
            assert errors(judged(given["messages"], dialect, request, "anthropic-strict"))
    assert len(reports) >= 17
