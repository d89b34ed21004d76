"""
Small-scope exhaustion: every conversation up to seven messages over eight relations.

The automaton and a regular expression, written independently of it, agree on
each of the 2,396,744 words: which may be sent, and which may be kept.  Whatever
is wrong with the order of messages is wrong in some short conversation, so
this is as near to a proof as tests come.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from compactlib.dialects import parse
from compactlib.protocol.automaton import TABLE, Automaton, Breach, Event, Neighbours, State
from compactlib.protocol.profiles import PROFILES
from compactlib.protocol.rules import RULES
from compactlib.protocol.validator import Mode, Validator, Violation, check
from tests.words import AT_ONCE, LETTERS, build, grammar, legal_words, words

LENGTHS = {"anthropic": 7, "openai-chat": 7, "bedrock": 6, "gemini": 6, "mistral": 6, "openai-responses": 6}
"""How long the words are: seven for each kind of table that others are measured by, six elsewhere, because time is short."""
TOTALS = {6: 299_592, 7: 2_396_744}
LEGAL = {
    ("anthropic", "request"): 10_957,
    ("anthropic", "history"): 31_731,
    ("bedrock", "request"): 2_340,
    ("bedrock", "history"): 8_736,
    ("gemini", "request"): 10_710,
    ("gemini", "history"): 20_314,
    ("mistral", "request"): 2_354,
    ("mistral", "history"): 6_070,
    ("openai-chat", "request"): 12_149,
    ("openai-chat", "history"): 23_095,
    ("openai-responses", "request"): 8_818,
    ("openai-responses", "history"): 25_468,
}
"""How many words are legal."""
DIALECTS = sorted({dialect for dialect, _mode in LEGAL})
MODES: tuple[Mode, Mode] = ("request", "history")
NEVER_MET = {
    Neighbours.FREE: {State.FIRST, State.SPLIT},
    Neighbours.COUNTED: {State.PAST, State.SPLIT, State.WAITING},
    Neighbours.JOINED: {State.FIRST, State.PAST},
    Neighbours.SEPARATE: {State.SPLIT, State.FIRST, State.PAST},
}
"""The states that no word over these letters leads to, where neighbours are taken so."""
OPEN_STATES = {State.CALLING, State.WAITING, State.PARTIAL, State.SPLIT, State.ASIDE, State.AWAY, State.PAST}


class Walk:
    """The automaton, fed with letters: what `tests.words.build` does with ids, done with the automaton's events."""

    def __init__(self, dialect: str) -> None:
        self.profile = PROFILES[dialect]
        self.joined = self.profile.results == "user"
        self.counts = self.profile.neighbours is Neighbours.COUNTED
        self.is_free = self.profile.neighbours is Neighbours.FREE
        self.speaks = False  # whether the message before was the model's
        self.machine = Automaton(self.profile.neighbours, scope=self.profile.scope)
        self.unanswered: tuple[str, ...] = ()
        self.answered = ""
        self.results = 0
        self.length = 0
        self.is_broken = False

    def step(self, letter: str) -> Walk:
        """This walk, one letter further."""
        new = object.__new__(Walk)
        new.__dict__.update(self.__dict__)
        new.machine = self.machine.copy()
        new.length += 1
        for breach in new._moves(letter):
            new.is_broken = new.is_broken or new.is_error(breach)
            if breach is Breach.START and letter in "cd" and self.profile.dialect in AT_ONCE:
                new.is_broken = True  # who speaks first may not call
        return new

    def is_error(self, breach: Breach | None) -> bool:
        named = None if breach is None else self.profile.breaches.get(breach)
        if self.counts and breach is Breach.OPEN and not self.results and self.machine.state is not State.CALLING:
            return False  # no result at all is in order
        return named is not None and RULES[named[0]].level_in(named[1]) == "error"

    def may_end(self, event: Event) -> bool:
        breach = self.machine.end(event)
        may_end_so = breach is Breach.END and self.profile.prefill == "model"  # which no word names
        return not self.is_broken and (may_end_so or not self.is_error(breach))

    def _moves(self, letter: str) -> Iterator[Breach | None]:
        machine = self.machine
        at = self.length * 10
        goes_on, self.speaks = self.is_free and self.speaks, letter in "tcd"
        if letter in "tcd":
            machine.at = at
            if not goes_on:  # where messages are free, a frame is a whole response
                yield machine.begin(Event.MODEL, at)
            if letter == "t":
                yield machine.see(Event.WORDS)
            for place in range("tcd".index(letter)):
                key = f"call {at + place}"
                self.unanswered += (key,)
                yield machine.call(key, place)
            self.results = 0
            return
        if letter in "pi":
            yield machine.begin(Event.USER, at)
            yield machine.see(Event.PROMPT if letter == "p" else Event.NOTE)
            return
        key = "stray"
        if letter == "r" and self.answered:
            key = self.answered
        elif letter != "r" and self.unanswered:
            place = 0 if letter == "a" else -1
            key = self.answered = self.unanswered[place]
            self.unanswered = tuple(other for other in self.unanswered if other != key)
        if self.counts:
            key = next(iter(machine.waiting), "stray")
        self.results += 1
        if self.joined:
            yield machine.begin(Event.USER, at)
        machine.at = at
        yield machine.result(key)
        if letter == "n" and self.joined:
            yield machine.see(Event.PROMPT)


@pytest.mark.exhaustive
@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_automaton_and_the_grammar_agree_on_every_word(dialect: str) -> None:
    """Of all words up to that length the automaton accepts exactly those that the regular expression matches."""
    longest = LENGTHS[dialect]
    accepted: dict[str, set[str]] = {"request": set(), "history": set()}
    walks = [("", Walk(dialect))]
    seen = 0
    while walks:
        word, walk = walks.pop()
        if word:
            seen += 1
            accepted["request"].update([word] if walk.may_end(Event.REQUEST) else [])
            accepted["history"].update([word] if walk.may_end(Event.HISTORY) else [])
        if len(word) < longest:
            if walk.is_broken:  # a fault that was met is never taken back: no longer word is legal
                seen += sum(len(LETTERS) ** more for more in range(1, longest - len(word) + 1))
            else:
                walks += [(word + letter, walk.step(letter)) for letter in LETTERS]

    assert sum(len(LETTERS) ** length for length in range(1, longest + 1)) == seen == TOTALS[longest]
    matches = {mode: grammar(dialect, longest, mode).fullmatch for mode in MODES}
    expected: dict[str, set[str]] = {"request": set(), "history": set()}
    for word in words(longest):
        for mode, fullmatch in matches.items():
            if fullmatch(word):
                expected[mode].add(word)
    for mode in MODES:
        assert expected[mode] == accepted[mode]
        assert LEGAL[dialect, mode] == len(accepted[mode])
        assert accepted[mode] == set(legal_words(longest, dialect=dialect, mode=mode))


@pytest.mark.exhaustive
@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_automaton_walks_every_word_and_its_invariant_holds(dialect: str) -> None:
    """Also behind any faults, calls are open in exactly the seven states that say so; every word up to length five."""
    walks = [Walk(dialect)]
    met = set()
    while walks:
        walk = walks.pop()
        met.add(walk.machine.state)

        assert (walk.machine.state in OPEN_STATES) == bool(walk.machine.waiting)
        if walk.length < 5:
            walks += [walk.step(letter) for letter in LETTERS]
    assert met == set(State) - NEVER_MET[PROFILES[dialect].neighbours]


@pytest.mark.exhaustive
@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_validator_and_the_grammar_agree_on_real_messages(dialect: str) -> None:
    """
    On messages of the dialect `check` finds an error in exactly the words that the grammar refuses.

    All words up to length three, and every way to go on by one letter from a word up to length four that may be kept.
    """
    kept = legal_words(4, dialect=dialect, mode="history")
    matches = {mode: grammar(dialect, 5, mode).fullmatch for mode in MODES}
    for word in {*words(3), *(word + letter for word in kept for letter in LETTERS)}:
        conversation = parse(build(word, dialect), dialect=dialect)
        for mode in MODES:
            errors = [violation for violation in check(conversation, mode=mode) if violation.level == "error"]

            assert bool(matches[mode](word)) == (not errors), (word, errors)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_fold_of_feed_is_a_check(dialect: str) -> None:
    """Feeding one message after another finds what `check` finds, nothing twice, and `finish` in between changes nothing."""
    for word in words(4):
        conversation = parse(build(word, dialect), dialect=dialect)
        judge = Validator(conversation)
        found: list[Violation] = []
        for message in conversation.messages:
            found += judge.feed(message)
            judge.finish()
        found += judge.finish()

        assert sorted(check(conversation), key=repr) == sorted(found, key=repr)
        assert len({(one.rule, one.pointer, one.call_ids) for one in found}) == len(found)


def test_every_cell_of_the_table_is_reached_or_named_impossible() -> None:
    """The tables are total over what can happen: each state answers each frame and each end."""
    for neighbours in Neighbours:
        for state in set(State) - (set() if neighbours is Neighbours.FREE else {State.PAST}):
            for event in (Event.SYSTEM, Event.USER, Event.MODEL, Event.REQUEST, Event.HISTORY):
                assert (state, event) in TABLE[neighbours]
