"""
Compactions of conversations that were damaged, for chat templates and for every other wire shape.

A valid conversation loses, doubles, swaps and gains messages at random; then it
is compacted as it is, and again as `repair` leaves it.  Whatever comes out, no
law is broken, and no compaction ends as ``internal-invalid``: that would say
that its result broke a rule which its input kept, and where a result has no
layout the refusal is named for what it is.

The continuous integration runs a sample that is the same each time;
``COMPACTLIB_WHOLE=1`` more of them.
"""

from __future__ import annotations

import copy
import json
import os
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any, Final, TypeAlias

import pytest
from attrs import evolve

import compactlib as cl
from compactlib.dialects import messages_key
from compactlib.protocol.profiles import PROFILES
from compactlib.protocol.repair import repair

from ..scenarios import Scenario, scenario, seeded
from ..spellings import SPELLINGS, Message, Spelling

WHOLE: Final = os.environ.get("COMPACTLIB_WHOLE") == "1"
EXAMPLES: Final = (1_000, 1_000) if WHOLE else (12, 30)
"""In any dialect, and in those for templates."""
TEMPLATES: Final = ("strict-template", "strict-template-no-tools", "strict-template-no-system", "deepseek-reasoner")
"""The profiles whose sides take turns, each of which judges what was written for either template."""

Wound: TypeAlias = Callable[[Random, list[Message], int, Spelling], None]


# --- Wounds ----------------------------------------------------------------------------------------------------------


def lose(random: Random, messages: list[Message], at: int, spelling: Spelling) -> None:
    del messages[at]


def double(random: Random, messages: list[Message], at: int, spelling: Spelling) -> None:
    messages.insert(random.randint(0, len(messages)), copy.deepcopy(messages[at]))


def swap(random: Random, messages: list[Message], at: int, spelling: Spelling) -> None:
    one = messages.pop(at)
    messages.insert(random.randint(0, len(messages)), one)


def interrupt(random: Random, messages: list[Message], at: int, spelling: Spelling) -> None:
    messages[at:at] = [spelling.user("wait, will you")] if random.random() < 0.5 else spelling.model("well then")


def instruct(random: Random, messages: list[Message], at: int, spelling: Spelling) -> None:
    if spelling.has_system or spelling.dialect == "anthropic":
        messages.insert(at, {"role": "system", "content": "be careful now"})


def show(random: Random, messages: list[Message], at: int, spelling: Spelling) -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    said = [{"type": "text", "text": random.choice(("look", "Attached image(s) from tool result:"))}]
    chat = {"role": "user", "content": [*said, picture]}
    messages.insert(at, chat if spelling.dialect == "openai-chat" else spelling.user("look", picture=True, in_blocks=True))


def stray(random: Random, messages: list[Message], at: int, spelling: Spelling) -> None:
    if spelling.dialect in ("openai-chat", "mistral"):
        messages.insert(at, {"role": "tool", "tool_call_id": "nobody000", "content": "lost"})


def estrange(random: Random, messages: list[Message], at: int, spelling: Spelling) -> None:
    """A role that nobody knows, often at the beginning."""
    if spelling.dialect in ("openai-chat", "anthropic", "mistral"):
        messages.insert(random.choice((0, 0, at)), {"role": "narrator", "content": "meanwhile"})


def empty(random: Random, messages: list[Message], at: int, spelling: Spelling) -> None:
    if "content" in messages[at]:
        messages[at]["content"] = random.choice(("", " ", []))


def rename(random: Random, messages: list[Message], at: int, spelling: Spelling) -> None:
    new = random.choice(("c2", "c3", ""))
    messages[:] = json.loads(json.dumps(messages).replace('"c1"', json.dumps(new)))


WOUNDS: Final[tuple[Wound, ...]] = (
    lose, lose, double, swap, interrupt, interrupt, instruct, show, stray, estrange, empty, rename,
)  # fmt: skip


def damaged(random: Random, made: Scenario, spelling: Spelling) -> cl.Conversation:
    """The conversation of a scenario after up to four wounds."""
    body = json.loads(json.dumps(cl.render(made.conversation)))
    messages = body if isinstance(body, list) else body[messages_key(spelling.dialect)]
    for _ in range(random.randint(1, 4)):
        if messages:
            random.choice(WOUNDS)(random, messages, random.randrange(len(messages)), spelling)
    return cl.parse(body, dialect=spelling.dialect)


def errors(conversation: cl.Conversation, profile: str) -> list[str]:
    return [one.rule for one in cl.check(conversation, mode="history", profile=profile) if one.level == "error"]


# --- The laws --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SPELLINGS)
def test_no_compaction_of_a_damaged_conversation_is_invalid_inside(name: str) -> None:
    """As it is and repaired, now and when it is due, with a store and without: what was accepted is accepted afterwards."""
    held: Counter[str] = Counter()
    spelling = SPELLINGS[name]
    examples = EXAMPLES[spelling.alternates]
    for number in range(examples):
        random = seeded(f"damaged {name} {number}")
        made = scenario(random, dialect=name, fault="")
        try:
            subject = damaged(random, made, spelling)
        except cl.WireError:
            held["no conversation"] += 1
            continue
        profile = random.choice(TEMPLATES) if spelling.alternates else spelling.dialect
        policy = evolve(made.policy, profile=profile)
        options: dict[str, Any] = {"store": cl.MemoryStore()} if random.random() < 0.3 else {}
        options["reminders"] = ["<system-reminder>two jobs run</system-reminder>"] if random.random() < 0.2 else []
        mended = repair(subject, profile=profile).conversation
        for state, conversation in (("broken", subject), ("repaired", mended)):
            if state == "repaired" and mended is subject:
                continue
            outcome = cl.compact(conversation, policy, when=random.choice(("now", "now", "auto")), **options)
            before = errors(conversation, profile)

            about = f"Random('damaged {name} {number}') {state} {profile}"
            assert outcome.reason != "internal-invalid", f"{about}: {outcome.report['why']}"
            held[f"{state} {'bad' if before else 'good'}"] += 1
            if isinstance(outcome, cl.Compacted):
                held[f"compacted {'bad' if before else 'good'}"] += 1
                assert before or errors(outcome.conversation, profile) == [], about

    least = max(examples // 12, 1)
    wanted = ("broken bad", "repaired good", "compacted bad", "compacted good")
    assert {premise: held[premise] for premise in wanted if held[premise] < least} == {}, held


def test_profiles_of_templates_are_all_here() -> None:
    """A profile that demands turns and is not damaged here would be a hole."""
    turning = {name for name, profile in PROFILES.items() if profile.fuse == "text"}

    assert turning == set(TEMPLATES)
