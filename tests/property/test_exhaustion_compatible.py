"""
Small-scope exhaustion for the routes whose roles take turns: every conversation up to six messages over eight relations.

The language of such a route is that of OpenAI Chat, narrowed by a condition on
who speaks.  It is written down here as a regular expression with a look ahead,
independently of the validator, and compared with it on real messages.  A fault
that a message shows is never taken back, so no longer word is legal and none
need be tried: the words left out that way are counted as refused.
"""

from __future__ import annotations

import re

import pytest

from compactlib.dialects import parse
from compactlib.protocol.validator import Mode, Validator, check
from tests.words import LETTERS, build, grammar, words

DIALECT = "openai-chat"
MAX_LENGTH = 6
TOTAL = sum(len(LETTERS) ** length for length in range(1, MAX_LENGTH + 1))
MODES: tuple[Mode, Mode] = ("request", "history")
SPEAKERS = {
    "strict-template": r"(?=[cdanr]*(?:[pi][cdanr]*t[cdanr]*)*(?:[pi][cdanr]*)?$)",
    "strict-template-no-tools": r"(?=(?:[pi][tcd])*[pi]?$)",
    "deepseek-reasoner": r"(?!.*(?:[pi][pi]|[tcd][tcd]))",
}
"""Who may speak when: calls and results apart; whoever; no two neighbours of one side."""
LEGAL = {
    ("strict-template", "request"): 442,
    ("strict-template", "history"): 962,
    ("strict-template-no-tools", "request"): 28,
    ("strict-template-no-tools", "history"): 68,
    ("deepseek-reasoner", "request"): 669,
    ("deepseek-reasoner", "history"): 1_317,
}
"""How many words are legal."""


def language(profile: str, mode: Mode) -> re.Pattern[str]:
    """The legal words of a route."""
    return re.compile(SPEAKERS[profile] + "(?:" + grammar(DIALECT, MAX_LENGTH, mode).pattern + ")")


@pytest.mark.parametrize("profile", SPEAKERS)
def test_the_validator_and_the_grammar_agree_on_every_word(profile: str) -> None:
    """Of all words up to length six `check` accepts exactly those that the regular expression matches."""
    accepted: dict[Mode, set[str]] = {mode: set() for mode in MODES}
    seen = 0
    ahead = list(LETTERS)
    while ahead:
        word = ahead.pop()
        seen += 1
        conversation = parse(build(word, DIALECT), dialect=DIALECT)
        for mode in MODES:
            if not any(one.level == "error" for one in check(conversation, mode=mode, profile=profile)):
                accepted[mode].add(word)
        if len(word) < MAX_LENGTH:
            judge = Validator(DIALECT, mode="history", profile=profile)
            shown = [one for message in conversation.messages for one in judge.feed(message)]
            if any(one.level == "error" for one in shown):
                seen += sum(len(LETTERS) ** more for more in range(1, MAX_LENGTH - len(word) + 1))
            else:
                ahead += [word + letter for letter in LETTERS]

    assert seen == TOTAL == 299_592
    for mode in MODES:
        matches = language(profile, mode).fullmatch
        expected = {word for word in words(MAX_LENGTH) if matches(word)}
        assert expected == accepted[mode]
        assert len(expected) == LEGAL[profile, mode]
