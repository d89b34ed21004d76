"""Wrong compactors: the checks blame the law that each breaks, and no law that it keeps."""

from __future__ import annotations

from functools import cache

import pytest
from attrs import evolve

from compactlib.conformance import clearing_saboteurs
from compactlib.conformance.checks import CHECKS, judge
from compactlib.conformance.running import observe
from compactlib.conformance.saboteurs import SABOTEURS, Saboteur
from compactlib.model import Json
from compactlib.store import MemoryStore

from .scenarios import Scenario, scenario, seeded

CAUGHT = 3
"""How often each has to be caught."""
TRIES = 1_200
FAULTS = {
    "asks-anyway": "",
    "believes-an-empty-summary": "empty",
    "drops-on-failure": "raise",
    "honours-every-heading": "forge-section",
    "shows-the-first-500-characters": "plain",
    "strips-thinking": "",
    "takes-the-flags-away": "invent-path",
}
"""Saboteurs that have a chance only, or most often, with a certain summariser."""
STORED = ("stores-half", "clears-the-newest", "hides-without-storing", "shortens-old-thoughts", "forgets-old-thoughts")
"""Saboteurs that have a chance only with a store."""
CREDENTIAL = "hunter2-of-a-server"
"""What no message says: the credential in a request that saboteurs meet who quote what is none of theirs."""
QUOTING = frozenset({"quotes-the-settings"})
CLEARING = frozenset(saboteur.name for saboteur in clearing_saboteurs.CLEARING)
"""Saboteurs that clear, and ask a provider to: they meet requests to one that can be asked."""


@cache
def tried(number: int, fault: str | None) -> Scenario:
    """One of the scenarios that all of them meet, made once; who breaks law L19 gets his own, for he changes it."""
    return scenario(seeded(f"saboteurs {number}"), fault=fault)


@cache
def askable(number: int) -> Scenario:
    """A scenario of a provider that can be asked to hide things, by a model that is known to do so."""
    made = scenario(seeded(f"saboteurs {number}"), fault="", dialect="anthropic")
    return evolve(made, conversation=made.conversation.with_setting("model", "claude-opus-4-6"))


@cache
def secretive(number: int) -> Scenario:
    """A scenario with a credential in the settings of its request."""
    made = scenario(seeded(f"saboteurs {number}"), fault="", dialect="anthropic")
    servers: Json = [{"type": "url", "url": "https://x.example", "name": "x", "authorization_token": CREDENTIAL}]
    return evolve(made, conversation=made.conversation.with_setting("mcp_servers", servers))


@pytest.mark.parametrize("saboteur", SABOTEURS.values(), ids=SABOTEURS)
def test_the_law_it_breaks_is_blamed_and_no_other(saboteur: Saboteur) -> None:
    """Besides it only laws that cannot be kept while it is broken so."""
    caught = 0
    make = tried if saboteur.law != "L19" else tried.__wrapped__
    for number in range(TRIES):
        if saboteur.name in QUOTING:
            made = secretive(number)
        else:
            made = askable(number) if saboteur.name in CLEARING else make(number, FAULTS.get(saboteur.name))
        if made.features & {"bad-counter", "bad-reminder"}:
            continue
        record, _ = observe(
            saboteur.compact,
            made.conversation,
            made.policy,
            **made.given,
            secrets=[CREDENTIAL] * (saboteur.name in QUOTING),
            repeat=saboteur.law == "L16",
            store=MemoryStore() if saboteur.name in STORED else None,
        )
        found = [finding for finding in judge(record) if finding.verdict == "broken"]
        blamed = {finding.law: str(finding) for finding in found}

        assert saboteur.name not in QUOTING or {finding.rule for finding in found} <= {"REDACT-1"}
        assert not any(CREDENTIAL in str(finding) for finding in found)
        assert {law: why for law, why in blamed.items() if law != saboteur.law and law not in saboteur.also} == {}, number
        caught += saboteur.law in blamed
        if caught == CAUGHT:
            break

    assert caught == CAUGHT


def test_every_law_with_a_check_has_a_saboteur() -> None:
    """Otherwise nobody knows whether the check can fail."""
    assert {saboteur.law for saboteur in SABOTEURS.values()} == set(CHECKS)


def test_every_saboteur_says_what_it_does() -> None:
    """In one sentence that is its docstring; and what it excuses are laws with a check."""
    for saboteur in SABOTEURS.values():
        assert saboteur.compact.__doc__
        assert saboteur.also <= set(CHECKS) - {saboteur.law}


def test_an_orphan_is_the_only_excuse_for_broken_validity() -> None:
    """L1 may be blamed beside L2, L4 and L5 alone."""
    assert {saboteur.law for saboteur in SABOTEURS.values() if "L1" in saboteur.also} <= {"L2", "L4", "L5"}
