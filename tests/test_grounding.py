"""Grounding: what nothing bears out is flagged; so are a false absence and a method that was never used."""

from __future__ import annotations

import re
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from compactlib.model import Call, Message, Origin, Result, wire
from compactlib.summaries.grounding import UNVERIFIED, evidence_of, ground


def human(text: str) -> Message:
    return Message("user", text, wire("user"), Origin.HUMAN)


def ran(text: str, command: str = "cat big.log", name: str = "bash") -> tuple[Message, Message]:
    call = Call("c", name, {"command": command}, wire("tool_use"))
    return (
        Message("model", (call,), wire("assistant"), Origin.MODEL),
        Message("user", (Result("c", text, wire("tool_result")),), wire("user"), Origin.TOOL),
    )


SAID = (
    human("Please fix src/app.py, order 4471, and never push to the main branch."),
    *ran("total 1,234,567 bytes\n/home/u/src/deep/util.py ok\nreq-77f1 done\nhash a94a8fe5cc\n"),
)


def flagged(text: str, *messages: Message, previous: str = "", **more: Any) -> str:
    return ground(text, evidence_of(messages or SAID, [], previous, **more)).text


@pytest.mark.parametrize(
    "text",
    [
        "- fixed src/app.py",
        "- `src/deep/util.py` and util.py are fine",
        "- order 4471 (req-77f1)",
        "- 1234567 bytes; 1 234 567 bytes; 1 234 567",
        "- size=1234567, id:req-77f1, path=/home/u/src/deep/util.py, <b>done</b>",
        '- {"hash":"a94a8fe5cc","order":4471}',
        "- commit a94a8fe5cc",
        '- the user said "never push to the main branch"',
        '- "never  PUSH to the\nmain branch"'.replace("\n", " "),
        "- ordinary words, nothing else, 42 of them",
        "## Goal 9999",
    ],
)
def test_what_is_borne_out_has_no_flag(text: str) -> None:
    assert flagged(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("- wrote src/other.py today", "- wrote src/other.py [unverified] today"),
        ("- wrote `src/other.py`.", "- wrote `src/other.py` [unverified]."),
        ("- order 4472", "- order 4472 [unverified]"),
        ("- req-77f2, done", "- req-77f2 [unverified], done"),
        ("- hash=deadbeefcafe1 set", "- hash=deadbeefcafe1 [unverified] set"),
        ("- port=9999 (id:req-77f2)", "- port=9999 [unverified] (id:req-77f2) [unverified]"),
        ('- {"hash":"a94a8fe5cc","order":4472}', '- {"hash":"a94a8fe5cc","order":4472 [unverified]}'),
        ("- retries 4471→9999", "- retries 4471→9999 [unverified]"),
        ('- it says "everything is green now" there', '- it says "everything is green now" [unverified] there'),
        # a person's word must stand in a prompt, not in an output
        (
            '- the user wrote "total 1,234,567 bytes /home/u/src/deep/util.py ok"',
            '- the user wrote "total 1,234,567 bytes /home/u/src/deep/util.py ok" [unverified]',
        ),
    ],
)
def test_what_is_not_has_one_directly_behind_it(text: str, expected: str) -> None:
    assert flagged(text) == expected


def test_a_flag_is_inherited_until_something_bears_the_claim_out() -> None:
    """The flagged claim of the previous summary is no evidence for itself."""
    previous = "- wrote src/other.py [unverified] and src/kept.py"

    assert flagged("- wrote src/other.py", previous=previous) == "- wrote src/other.py [unverified]"
    assert flagged("- wrote src/kept.py", previous=previous) == "- wrote src/kept.py"
    assert flagged("- wrote src/other.py [unverified]", human("src/other.py"), previous=previous) == "- wrote src/other.py"


def test_kept_texts_bear_out_too() -> None:
    assert ground("- see docs/plan.md", evidence_of(SAID, ["the plan is in docs/plan.md"], "")).unverified == 0


# -- the story this library began with ---------------------------------------------------------------------------------

LOG = "step ok, nothing to see here\n" * 1_100 + "MARKER_7F3A: done\n"


def test_tool_that_was_called_is_borne_out_by_its_call() -> None:
    """Its name stands in no text; one that was not called is flagged."""
    called = Message("model", (Call("c1", "read_file", {"path": "a.py"}, wire("tool_use")),), wire("assistant"))

    assert flagged("- read_file ended well", called) == "- read_file ended well"
    assert flagged("- list_files ended well", called) == "- list_files [unverified] ended well"


def test_an_absence_that_is_none_is_contradicted_with_its_place() -> None:
    """A log of 32 KB, whose last line is what was looked for."""
    messages = (human("Is MARKER_7F3A in big.log?"), *ran(LOG))
    place = "[contradicted: stands in message 2, line 1101]"

    assert flagged("- Маркер MARKER_7F3A отсутствует.", *messages) == f"- Маркер MARKER_7F3A отсутствует {place}."
    assert flagged('- "MARKER_7F3A" was not found in the log', *ran(LOG), first=1).endswith(place)


def test_an_absence_nobody_could_see_says_how_much_was_not_shown() -> None:
    text = flagged("- маркер отсутствует", *ran(LOG), hidden_chars=29_000)

    assert text == "- маркер отсутствует [not verified: 29,000 characters were not shown]"
    assert flagged("- маркер отсутствует", *ran(LOG)) == "- маркер отсутствует"


def test_what_a_tool_itself_called_missing_may_be_called_so() -> None:
    messages = ran("cat: notes.txt: No such file or directory\n")

    assert flagged("- notes.txt does not exist", *messages) == "- notes.txt does not exist"


@pytest.mark.parametrize(
    "text",
    ["- checked with `grep -n MARKER big.log`", "- verified by grep", "- проверено с помощью grep", "- ran pytest, all green"],
)
def test_a_method_that_was_never_used_is_flagged(text: str) -> None:
    assert flagged(text, *ran(LOG)) == f"{text} [not verified: no such call]"


@pytest.mark.parametrize(
    "text",
    ["- read it with cat", "- used bash", "- the person uses git", "- grep is a tool", "- make a list", "- via cat, via bash"],
)
def test_a_method_that_was_used_or_is_none_is_not(text: str) -> None:
    assert flagged(text, *ran(LOG)) == text


def test_an_earlier_summary_bears_a_method_out() -> None:
    assert flagged("- verified by grep", *SAID, previous="- ran grep over src") == "- verified by grep"


# -- laws --------------------------------------------------------------------------------------------------------------

PIECES = [
    "src/a.py",
    "src/b.py",
    "4471",
    '"one two three four"',
    "not found",
    " ",
    "\n",
    ". ",
    "`grep x y`",
    "ran grep",
    "## Goal",
    UNVERIFIED,
]
TEXTS = st.lists(st.sampled_from(PIECES) | st.text(max_size=6), max_size=20).map("".join)


def unflagged(text: str) -> str:
    """*text* without flags, each with the space before it."""
    return re.sub(r" ?\[(?:unverified|contradicted: [^\]\n]*|not verified: [^\]\n]*)\]", "", text)


@given(TEXTS, TEXTS)
def test_grounding_only_adds_flags_and_twice_is_once(reply: str, said: str) -> None:
    """Without flags the text is the reply without flags, letter for letter."""
    evidence = evidence_of([human(said)], [], "")
    once = ground(reply, evidence)

    assert ground(once.text, evidence).text == once.text
    assert unflagged(once.text) == unflagged(reply)


@pytest.mark.parametrize("piece", ['"', "«a", "`x ", "a/b ", "4471 ", "not found ", "ran grep ", "[unverified] ", ". A", "user "])
def test_a_hostile_reply_costs_its_length(piece: str) -> None:
    reply = piece * (100_000 // len(piece))
    ground(reply, evidence_of(SAID, [], reply))
    ground("- src/x.py", evidence_of([human(reply)], [], ""))


def test_no_part_of_a_reply_is_out_of_reach() -> None:
    """A sentence without end, a quoted line, a line that begins with a number sign."""
    invented = "never/was/there.py"
    for text in (f"- {'so it goes and ' * 300}{invented} in it", f"> {invented}", f"#1 {invented}"):
        assert f"{invented} {UNVERIFIED}" in flagged(text)


def test_part_of_a_longer_name_bears_nothing_out() -> None:
    assert flagged("- AB-12 is done", human("xAB-123 is done")) == "- AB-12 [unverified] is done"


@pytest.mark.parametrize(
    "text",
    [
        "- MARKER_7F3A was never seen",
        "- marker_7f3a was not found",
        "- There is no `MARKER_7F3A` in the log",
        "- could not find MARKER_7F3A",
        "- grep found no MARKER_7F3A",
        "- the log lacks (has no) MARKER_7F3A",
        "- не нашли MARKER_7F3A",
    ],
)
def test_an_absence_is_contradicted_in_other_words_and_letters(text: str) -> None:
    assert flagged(text, *ran(LOG)).endswith("[contradicted: stands in message 1, line 1101]")


def test_a_weak_word_of_absence_speaks_of_what_is_named_alone() -> None:
    """Nobody has to look into an output to know that there is no hurry."""
    assert flagged("- there is no hurry", *ran(LOG), hidden_chars=900) == "- there is no hurry"
    assert flagged("- there is no `MARKER_0000`", *ran(LOG), hidden_chars=900).endswith(
        "[not verified: 900 characters were not shown]"
    )


def test_the_two_hundredth_absence_is_still_looked_up_beside_many_claims() -> None:
    claims = "\n".join(f"- made/up/{number}.py" for number in range(300))

    assert flagged(f'{claims}\n- "MARKER_7F3A" is absent', *ran(LOG)).endswith("line 1101]")


def test_the_quotation_of_the_first_prompt_is_ours_and_whole() -> None:
    """No flag stands in it (law L11); what a model quotes elsewhere has no such right."""
    text = "## Goal\nFirst prompt:\n> see made/up.py\n> [truncated v1: omitted 1 of 9 chars]\n- see made/up.py"

    assert flagged(text) == text + f" {UNVERIFIED}"
    assert flagged(f"{text}\n## Done\nFirst prompt:\n> see made/up.py").endswith(UNVERIFIED)


def test_what_a_person_is_said_to_have_said_is_a_quotation_however_short() -> None:
    """One word behind a verb of saying; elsewhere a word in quotation marks is a name."""
    assert flagged('- User said: "yep"') == '- User said: "yep" [unverified]'
    assert flagged("- пользователь ответил «да»") == "- пользователь ответил «да» [unverified]"
    assert flagged('- the user asked: "main branch"') == '- the user asked: "main branch"'
    assert flagged('- the user table "orders" is empty') == '- the user table "orders" is empty'


def test_a_persons_words_that_the_summary_before_quoted_bear_themselves_out() -> None:
    """Unless they were flagged there."""
    claim = '- User asked: "keep every CSV file here"'

    assert flagged(claim, previous=f"## Critical context\n{claim}") == claim
    assert flagged(claim, previous=f"## Critical context\n{claim} {UNVERIFIED}").endswith(UNVERIFIED)


@given(TEXTS, TEXTS, TEXTS)
def test_line_that_is_carried_on_is_flagged_as_if_it_were_new(said: str, before: str, more: str) -> None:
    """That most of a summary is not judged again changes nothing but the time that it takes."""
    previous = ground(before, evidence_of([human(said)], [], "")).text
    evidence = evidence_of([human(more)], [], previous)

    for reply in (before, previous, f"{more}\n{before}", f"{previous}\n{more}"):
        assert ground(reply, evidence) == ground(reply, evolve(evidence, lines=frozenset()))
