"""The rules as a table: closed vocabularies, levels in cases, and the way back from an error message."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactlib.protocol.rules import DIALECTS, FIXES, RULES, Rule, find, message_index, rules_of

LEVELS = {"error", "warning", "info"}
SAME_WORDS = (
    {"A-PAIR-01", "A-PAIR-03", "A-PAIR-04", "A-ORDER-01"},
    {"A-PAIR-02", "A-COMPACT-02"},
    {"O-PAIR-01", "O-PAIR-03"},
    {"B-PAIR-01", "B-PAIR-02"},
    {"G-COUNT-01", "G-COUNT-02"},
    {"G-SIG-01", "G-BATCH-01"},
)
"""Rules that the provider reports in the same words."""


def ids(text: str) -> list[str]:
    """The ids of what `find` finds."""
    return [rule.id for rule in find(text)]


def filled(text: str) -> str:
    """A provider's text with something in each of its holes."""
    return re.sub(r"\{[a-z]+\}", lambda hole: "17" if hole[0] == "{n}" else "toolu_01AbC", text)


@pytest.mark.parametrize(
    ("dialect", "count"),
    [
        ("anthropic", 53),
        ("openai-chat", 27),
        ("mistral", 18),
        ("bedrock", 25),
        ("gemini", 23),
        ("openai-responses", 26),
        ("mcp-sampling", 3),
        ("atif", 4),
    ],
)
def test_every_rule_of_a_dialect_is_there(dialect: str, count: int) -> None:
    """Each rule is filed under its own id; the imitators of OpenAI Chat count with it."""
    assert len(rules_of(dialect)) == count


@pytest.mark.parametrize("rule", RULES.values(), ids=lambda rule: rule.id)
def test_every_field_of_a_rule_is_from_its_closed_vocabulary(rule: Rule) -> None:
    """Ids, core, law, level, evidence, fix, status and cases are what the specification allows."""
    assert re.fullmatch(rf"[{''.join(DIALECTS)}]-[A-Z]+-[0-9]{{2}}", rule.id)
    assert re.fullmatch(r"C([1-9]|1[0-6])", rule.core)
    assert re.fullmatch(r"L([1-9]|1[0-9]|2[0-6])", rule.law)
    assert rule.level in LEVELS
    assert rule.evidence in {"V", "D", "C", "K"}
    assert rule.fix is None or rule.fix in FIXES
    assert rule.status in {0, 400, 404, 422, 500}  # 0: what is not refused over HTTP
    assert rule.source
    cases = [case for case, _, _ in rule.variants]
    assert len(cases) == len(set(cases))
    for case, level, why in rule.variants:
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", case)
        assert level in LEVELS
        assert why


@pytest.mark.parametrize("rule", RULES.values(), ids=lambda rule: rule.id)
def test_a_statement_is_one_short_sentence(rule: Rule) -> None:
    """It ends in one full stop and fits on a line."""
    assert re.fullmatch(r"[A-Za-z][^\n]{10,129}\.", rule.statement)
    assert re.search(r"[.!?;] [A-Z]", rule.statement) is None


def test_hearsay_makes_no_error_and_words_that_were_read_are_there() -> None:
    """Grade K is a warning at most; grade V has the provider's own words."""
    assert [rule.id for rule in RULES.values() if rule.evidence == "K" and rule.level == "error"] == []
    assert [rule.id for rule in RULES.values() if rule.evidence == "V" and not rule.error] == []


def test_the_level_depends_on_the_case() -> None:
    """A named case has its own level; no case and an unknown case have the rule's."""
    rule = RULES["A-ROLE-02"]

    assert [rule.level_in(case) for case in (None, "mid-history", "tool-addition", "?")] == ["error", "warning", "info", "error"]


@pytest.mark.parametrize("rule", [rule for rule in RULES.values() if rule.error], ids=lambda rule: rule.id)
def test_the_providers_own_words_lead_back_to_the_rule(rule: Rule) -> None:
    """Each text finds its rule and no other, except rules that are reported in the same words."""
    expected = next((same for same in SAME_WORDS if rule.id in same), {rule.id})
    for text in rule.error.splitlines():
        if "number of tool_result blocks" in text:  # the older text, which only A-PAIR-04 has
            assert ids(filled(text)) == ["A-PAIR-04"]
        elif "insufficient tool messages" in text:  # DeepSeek's, which is met on many routes
            assert set(ids(filled(text))) == {"D-PAIR-01", "O-PAIR-01", "O-PAIR-03"}
        elif "bound to a different conversation" in text:  # it begins with the text of another rule
            assert ids(filled(text)) == ["A-THINK-07", "A-THINK-03"]
        else:
            assert expected == set(ids(filled(text)))


CUT_OFF = (
    'API Error: 400 {"type":"error","error":{"type":"invalid_request_error","message":"messages.2: `tool_use` ids were found '
    'without `tool_result` blocks immediately after: toolu_01A, toolu_02B. Each `tool_use` block must have a"}}'
)
OTHER_VENDOR = (
    '<400> InternalError: An assistant message with "tool_calls" must be followed by tool messages responding to each '
    '"tool_call_id". The following tool_call_ids did not have response messages: message[532].role'
)
ESCAPED = '{\\"message\\": \\"prompt is too long: 3333404 tokens\n   > 200000 maximum\\"}'
NEAR_TWIN = "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead."


@pytest.mark.parametrize(
    ("pasted", "expected"),
    [
        pytest.param(CUT_OFF, ["A-PAIR-01", "A-PAIR-03", "A-PAIR-04", "A-ORDER-01"], id="cut off in JSON"),
        pytest.param(OTHER_VENDOR, ["O-PAIR-01", "O-PAIR-03"], id="another vendor"),
        pytest.param(ESCAPED, ["A-SIZE-01"], id="escaped and wrapped"),
        pytest.param(NEAR_TWIN, ["O-EMPTY-01"], id="a near twin"),
        pytest.param("THE FINAL BLOCK IN AN ASSISTANT MESSAGE CANNOT BE THINKING.", ["A-THINK-06"], id="capitals"),
        pytest.param("Missing required parameter: 'tools[0].type'.", [], id="begins alike"),
        pytest.param("Missing required parameter: 'messages...", ["O-TOOLMSG-01"], id="cut off early"),
        pytest.param("Missing required parameter: 'messages[1].content[1].file.file_id'.", [], id="another path"),
        pytest.param("Overloaded", [], id="unknown"),
        pytest.param("", [], id="nothing"),
    ],
)
def test_an_error_is_found_as_people_paste_it(pasted: str, expected: list[str]) -> None:
    """Quotes, escapes, line breaks, case, ids and a missing end do not matter."""
    assert expected == ids(pasted)


def test_two_errors_in_one_log_are_both_found() -> None:
    """What is pasted may be a whole log."""
    log = "1: messages.3.content.0: Invalid `signature` in `thinking` block\n2: Too much media: 0 document pages + 102 images > 9"

    assert {"A-THINK-03", "A-IMG-02"} == set(ids(log))


@pytest.mark.parametrize(
    ("text", "index"),
    [
        ("messages.22: `tool_use` ids were found", 22),
        ("messages.5.content.1: blocks cannot be modified", 5),
        ("Invalid 'messages[3].tool_calls[0].id'", 3),
        ("param: messages.[4].role", 4),
        ("Duplicate value for 'tool_call_id' of call_0 in message[2]", 2),
        ("in the assistant message at message index 7", 7),
        ("* GenerateContentRequest.contents[2].parts[0].data: required oneof field 'data' must have one initialized field", 2),
        ("Invalid 'input[3].id': '__fake_id__'. Expected an ID that begins with 'fc'.", 3),
        ("param: input.0.content.0.type", 0),
        ("Your input exceeds the context window of this model.", None),
        ("messages: at least one message is required", None),
        ("3 messages were sent", None),
        ("messages.99999999999999999999", None),
    ],
)
def test_the_message_that_an_error_speaks_of_is_read_from_it(text: str, index: int | None) -> None:
    """Every provider's way to number a message is understood, and no other number is taken for one."""
    assert index == message_index(text)


@given(st.text(max_size=400))
def test_any_text_may_be_pasted(text: str) -> None:
    """Nothing escapes, and whatever is found is a rule."""
    assert set(find(text)) <= set(RULES.values())
    assert message_index(text) is None or "message" in text or "contents" in text or "input" in text


def test_a_megabyte_of_near_misses_is_nothing() -> None:
    """Beginnings of every text, repeated, find nothing that is not there."""
    openings = " ".join(rule.error[:9] for rule in RULES.values())

    assert ids(openings * (1_000_000 // len(openings))) == []


def test_the_handed_error_texts_find_their_rules(shared: Path) -> None:
    """Each error text of the worked cases leads to the rule that the case is about."""
    lost = []
    for line in (shared / "cases" / "protocol.jsonl").read_text("utf-8").splitlines():
        case = json.loads(line)
        text = case.get("error_text") or ""
        if (
            case["dialect"] in ("anthropic", "bedrock", "gemini", "mistral", "openai-chat", "openai-responses")
            and "not captured" not in text
            and text
        ):
            lost += [] if case["rule"] in ids(text) else [case["rule"]]

    assert lost == []


def test_the_recorded_refusals_of_histories_find_their_rules(shared: Path) -> None:
    """What live providers answered is recognised; what stays unknown speaks of schemas and services, not of histories."""
    found, unknown = set(), []
    for name in ("anthropic-more", "openai-chat", "openai-chat-more", "openai-responses", "openai-responses-more"):
        for line in (shared / "corpus" / "recorded" / f"{name}.jsonl").read_text("utf-8").splitlines():
            answer = json.loads(line)
            if answer["status"] == 400:
                rules = ids(json.dumps(answer["error"]))
                found |= set(rules)
                unknown += [] if rules else [json.dumps(answer["error"])]

    assert {"A-EMPTY-03", "A-END-01", "A-SIZE-01", "A-TC-01"} <= found
    assert {"O-PAIR-01", "O-PAIR-02", "O-CONTENT-01", "O-ROLE-01", "O-SIZE-01"} <= found
    assert [text for text in unknown if re.search(r"messages\W{0,2}[0-9]", text) and "file_id" not in text] == []
