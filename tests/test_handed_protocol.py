"""The handed cases: a label and a rule for each conversation, and real reports reduced to a few messages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from compactlib.dialects import messages_key, parse
from compactlib.protocol.validator import Violation, check

DIALECTS = ("anthropic", "bedrock", "gemini", "mistral", "openai-chat", "openai-responses")
OTHERS = ("atif", "mcp-sampling")
"""Wire shapes that no provider is sent."""
IMITATORS = {
    "deepseek": "deepseek",
    "groq": "groq",
    "kimi": "kimi",
    "langgraph": "langgraph",
    "ollama": "ollama",
    "template": "strict-template",
    "xai": "xai",
}
"""What the cases call a dialect and is a profile of openai-chat."""
PROFILES = {
    ("bedrock", "strict-alternation"): "bedrock-strict",
    ("bedrock", "tool-result-alone"): "bedrock-results-alone",
    ("gemini", "strict-alternation"): "gemini-strict",
}
"""What the cases call a profile, and we do not."""
WHY = {
    "orphan_result": {"A-PAIR-02", "O-PAIR-02"},
    "missing_result": {"A-PAIR-01", "O-PAIR-01"},
    "partial_results": {"A-PAIR-01", "O-PAIR-01"},
    "duplicate_call_id": {"A-ID-01", "O-PAIR-04"},
    "duplicate_result": {"A-PAIR-05", "O-PAIR-04"},
    "empty_call_id": {"A-ID-02", "O-ID-01"},
    "empty_content": {"A-EMPTY-03", "O-CONTENT-01"},
    "empty_text": {"B-BLANK-01"},
    "mixed_result_and_text": {"B-COLOC-01"},
    "first_not_user": {"A-START-01"},
    "field_too_large": {"R-SIZE-02"},
    "invalid_args_json": {"O-ARGS-01"},
    "item_reference_unresolvable": {"R-STORE-01"},
    "last_not_user": {"A-END-01"},
    "reasoning_without_follower": {"R-REAS-01"},
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
    if "original_signatures" in facts:
        original = _signed(messages, facts.pop("original_signatures"))
    if dialect == "openai-responses":
        original = _returned(messages, facts.pop("origin_pairs", {}), facts.pop("original_encrypted", {}))
    prompt, window = facts.pop("prompt_tokens", None), facts.pop("max_tokens_ctx", None)
    profile = facts.pop("profile", profile)
    profile = PROFILES.get((dialect, profile or ""), profile)
    if facts.pop("route", None) == "vertex":
        profile = "gemini-vertex"
    body = messages if request is None else {**facts, messages_key(dialect): messages}
    conversation = parse(body, dialect=dialect)
    return check(conversation, profile=profile, original=original, prompt_tokens=prompt, window_tokens=window)


def _signed(contents: list[Any], signatures: list[str]) -> dict[int, Any]:
    """The signed contents of a Gemini case, with the signatures that the model gave."""
    rest = iter(signatures)
    return {
        index: [{**part, "thoughtSignature": next(rest)} if "thoughtSignature" in part else part for part in content["parts"]]
        for index, content in enumerate(contents)
        if content["role"] == "model"
    }


def _returned(items: list[Any], pairs: dict[str, str], seals: dict[str, str]) -> dict[int, Any]:
    """The responses that the items of a case came from, as far as it says: what stood before an item, how it was sealed."""
    return {
        index: [{"type": "reasoning", "id": pairs.get(item["id"])}, {**item, "encrypted_content": seals.get(item["id"])}]
        for index, item in enumerate(items)
        if item.get("id") in {*pairs, *seals}
    }


def _sized(item: Any) -> Any:
    """A message of a report, with the large text that it stands for."""
    return {**item, "output": "x" * item["x_size"]} if "x_size" in item else item


def errors(found: tuple[Violation, ...]) -> list[Violation]:
    return [violation for violation in found if violation.level == "error"]


def labelled(shared: Path) -> list[dict[str, Any]]:
    """The labelled cases, all of them."""
    cases = lines(shared / "cases" / "protocol.jsonl")
    assert {case["dialect"] for case in cases} == {*DIALECTS, *OTHERS, *IMITATORS}
    return cases


def verdict(case: dict[str, Any]) -> tuple[bool, bool, tuple[Violation, ...]]:
    """Whether a labelled case has an error, whether its rule is among the findings, and the findings."""
    profile = IMITATORS.get(case["dialect"])
    # whether Bedrock's request declares tools is a fact about it, so its cases are requests, also where they say no more
    request = case.get("request", {} if case["dialect"] == "bedrock" else None)
    found = judged(case["messages"], "openai-chat" if profile else case["dialect"], request, profile)
    return bool(errors(found)), case["rule"] in {violation.rule for violation in found}, found


def reported(shared: Path) -> list[dict[str, Any]]:
    """The direct reports of what a validator has to find."""
    return [
        report
        for report in lines(shared / "cases" / "reports.jsonl")
        if report["layer"] == "validate" and report["tier"] == "direct" and report["dialect"] in (*DIALECTS, "neutral")
    ]


def misses(report: dict[str, Any]) -> list[str]:
    """Which expectations of a report do not hold."""
    given, expected = report["input"], report["expected"]
    options = given.get("options", {})
    request: dict[str, Any] | None = {"thinking": {"type": "enabled"}} if options.get("thinking") else None
    if "original" in given:
        request = {**(request or {}), "original": given["original"]}
    dialect = report["dialect"] if report["dialect"] in DIALECTS else "anthropic"
    profile = "anthropic-no-prefill" if options.get("prefill") is False else None
    if "store" in options:
        request = {"store": options["store"]}
    if options.get("forbid_mixed_result_text"):
        profile = "bedrock-results-alone"
    found = judged([*map(_sized, given.get("messages", given.get("input")))], dialect, request, profile)
    warned = {violation.rule for violation in found if violation.level == "warning"}
    checks = {"valid": expected["valid"] == (not errors(found))}
    if not expected["valid"] and errors(found):
        first = errors(found)[0]
        there = [violation for violation in errors(found) if violation.index == first.index]
        checks["first_bad_index"] = first.index == expected["first_bad_index"]
        checks["why"] = bool(WHY[expected["why"]] & {violation.rule for violation in there})
        checks["ids"] = set(expected.get("ids", [])) <= {key for violation in there for key in violation.call_ids}
    checks["warnings"] = all(WHY[why] & warned for why in expected.get("warnings", []))
    if expected.get("invalid_when_dialect"):
        checks["invalid_when_dialect"] = bool(errors(judged(given["messages"], dialect, request, "anthropic-strict")))
    return [name for name, holds in checks.items() if not holds]


def test_each_labelled_case_gets_its_answer_and_its_rule(shared: Path) -> None:
    """Valid means no error; invalid means an error, and the rule that the case names among the findings."""
    cases = labelled(shared)
    wrong = []
    for case in cases:
        refused, named, found = verdict(case)
        if refused == case["valid"] or not (case["valid"] or named):
            wrong.append((case["id"], found))

    assert wrong == []
    assert len(cases) >= 87


def test_each_direct_report_is_found_where_it_is_and_named(shared: Path) -> None:
    """The first error stands at the message that the report names, is of the kind it names, and speaks of its ids."""
    reports = reported(shared)

    assert {report["n"]: found for report in reports if (found := misses(report))} == {}
    assert len(reports) >= 17
