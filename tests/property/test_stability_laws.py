"""
Laws L16, L17 and L19: the same again, nothing when there is nothing, and hands off the input.

Determinism is tested where it can fail: in processes with other hash seeds,
time zones, locales and working directories.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import compactlib as cl
from compactlib.dialects import messages_key, render
from compactlib.outcomes import Compacted, Unchanged

from ..scenarios import LARGE, Scenario, scenario, seeded
from ..spellings import SPELLINGS

ROOT = Path(__file__).parents[2]
PROGRAM = """
import hashlib, sys
sys.path.insert(0, sys.argv[1])
import compactlib as cl
from compactlib.conformance.running import observe
from tests.scenarios import scenario, seeded
whole = hashlib.sha256()
for number in range(60):
    made = scenario(seeded(f"determinism {number}"))
    record, outcome = observe(
        cl.compact, made.conversation, made.policy, summarise=made.summarise, when=made.when, pins=made.pins,
        reminders=made.reminders, repeat=False,
    )
    whole.update(record.digest.encode())
    whole.update(repr(sorted(outcome.report.items())).encode())
print(whole.hexdigest())
"""


def digest(folder: Path, **environment: str) -> str:
    """What another process makes of the same sixty compactions: outcomes, bytes, requests, reports."""
    inherited = {name: value for name, value in os.environ.items() if name in ("PATH", "LD_LIBRARY_PATH", "HOME", "VIRTUAL_ENV")}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(ROOT)],
        cwd=folder,
        env={**inherited, **environment},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr[-2_000:]
    return done.stdout.strip()


def test_another_process_gives_the_same_bytes(tmp_path: Path) -> None:
    """Law L16: other hash seed, time zone, locale, encoding, working directory."""
    first = digest(ROOT, PYTHONHASHSEED="1", TZ="Asia/Tokyo", LC_ALL="C", PYTHONUTF8="0")
    second = digest(tmp_path, PYTHONHASHSEED="77", TZ="America/Lima", LC_ALL="C.UTF-8", LANG="de_DE.UTF-8", PYTHONUTF8="1")

    assert first == second
    assert len(first) == 64


def compacted(made: Scenario) -> Compacted | None:
    outcome = cl.compact(
        made.conversation, made.policy, summarise=made.summarise, when=made.when, pins=made.pins, reminders=made.reminders
    )
    return outcome if isinstance(outcome, Compacted) else None


@pytest.mark.parametrize("dialect", SPELLINGS)
def test_a_result_is_known_again(dialect: str) -> None:
    """Nothing new, nothing done; and once it was on the wire it is still what it was."""
    count = 0
    for number in range(150):
        made = scenario(seeded(f"idle {dialect} {number}"), dialect=dialect, fault="")
        outcome = compacted(made)
        if outcome is not None:
            count += 1
            is_left_alone(outcome, made.policy)
            comes_back(outcome, SPELLINGS[dialect].dialect)

    assert count > 50


def is_left_alone(outcome: Compacted, policy: cl.Policy) -> None:
    """Law L17: the same object, whoever asks, and nobody is asked."""
    for when in ("auto", "now"):
        again = cl.compact(outcome.conversation, policy, summarise=pytest.fail, when=when)  # type: ignore[arg-type]  # one of two words

        assert isinstance(again, Unchanged)
        assert again.reason in ("nothing-new", "below-trigger")
        assert again.conversation is outcome.conversation
        assert again.before_tokens == again.after_tokens == outcome.after_tokens


def comes_back(outcome: Compacted, dialect: str) -> None:
    """Laws L17 and L20: after render and parse it has one summary, and renders to the same bytes."""
    body = render(outcome.conversation)
    back = cl.parse(body, dialect=dialect)
    origins = [message.origin for message in outcome.conversation.messages]

    assert render(back) == body
    assert [message.origin for message in back.messages if message.origin is cl.Origin.SUMMARY] == [cl.Origin.SUMMARY]
    for one, other in zip(origins, back.messages, strict=False):
        if one in (cl.Origin.SUMMARY, cl.Origin.PIN, cl.Origin.REMINDER):
            assert other.origin is one


@given(st.randoms(use_true_random=False))
@settings(max_examples=60, suppress_health_check=LARGE)
def test_what_is_passed_in_and_given_out_is_nobodys(random: Any) -> None:
    """Law L19: neither does the input change, nor does what was rendered from it when it is changed."""
    made = scenario(random)
    before = render(made.conversation)
    outcome = compacted(made)
    conversation = made.conversation if outcome is None else outcome.conversation
    first, second = render(conversation), render(conversation)
    key = messages_key(conversation.dialect)
    for message in first[key] if isinstance(first, dict) else first:
        message["role"] = "changed"
        for words in ("content", "parts"):
            if isinstance(message.get(words), list):
                message[words].clear()

    assert render(made.conversation) == before
    assert render(conversation) == second
