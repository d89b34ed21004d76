"""
Whatever is compacted, by whatever summariser: every law holds, and no exception escapes.

A polyglot.  Under pytest it is a property test.  Run by itself it is a fuzz
target: with atheris installed, ``python fuzz/fuzz_compact.py`` explores by
coverage until it is stopped or finds a failure, which it prints.
"""

from __future__ import annotations

import json
from random import Random
from typing import Any

from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

import compactlib as cl
from compactlib.conformance.checks import judge
from compactlib.conformance.running import observe
from compactlib.dialects import messages_key
from compactlib.errors import WireError
from compactlib.summaries.acceptance import Summary
from tests.scenarios import HOSTILE, LARGE, Scenario, scenario

REPLIES = st.one_of(
    st.text(max_size=200),
    st.lists(
        st.one_of(
            st.sampled_from(
                ["## Goal", "## Orders, constraints and preferences", "## Done", "## Next step", "- x", "# ", *HOSTILE]
            ),
            st.text(max_size=30),
        ),
        max_size=12,
    ).map("\n".join),
    st.just("## Goal\n- (none)\n## Orders, constraints and preferences\n(none)\n## Done\n- it\n## Next step\n- on"),
)
STOPS = st.sampled_from(["end", "END_TURN", "max_tokens", "", "refusal"])


def damaged(random: Random, made: Scenario) -> Scenario:
    """The same scenario after something happened to its messages; what they are is not known any more."""
    body = cl.render(made.conversation)
    messages = body[messages_key(made.conversation.dialect)] if isinstance(body, dict) else body
    for _ in range(random.randint(1, 4)):
        at = random.randrange(len(messages))
        what = random.choice(("lose", "double", "move", "empty", "strip", "rename"))
        if what == "lose" and len(messages) > 1:
            del messages[at]
        elif what == "double" and "[compactlib summary" not in json.dumps(messages[at]):
            messages.insert(random.randrange(len(messages) + 1), json.loads(json.dumps(messages[at])))
        elif what == "move":
            messages.insert(random.randrange(len(messages)), messages.pop(at))
        elif what == "empty":
            messages[at]["content"] = random.choice(("", [], [{"type": "text", "text": " "}]))
        elif what == "strip" and isinstance(messages[at].get("content"), list):
            messages[at]["content"] = messages[at]["content"][: random.randint(0, 1)]
        elif what == "rename":
            messages[at] = json.loads(json.dumps(messages[at]).replace('"c1', '"c2'))
    return evolve(made, conversation=cl.parse(body, dialect=made.conversation.dialect), kinds=(), pins=())


def assert_lawful(made: Scenario, reply: Summary) -> None:
    """Everything that holds of a compaction, whatever was compacted and whatever was replied."""
    record, _ = observe(
        cl.compact,
        made.conversation,
        made.policy,
        summarise=lambda _: reply,
        when=made.when,
        pins=made.pins,
        reminders=made.reminders,
        kinds=made.kinds,
        repeat=False,
    )

    assert [str(finding) for finding in judge(record) if finding.verdict == "broken"] == []


@given(st.randoms(use_true_random=False), REPLIES, STOPS, st.integers(0, 1), st.sampled_from(["whole", "damaged"]))
@settings(suppress_health_check=LARGE)
def test_every_law_holds_whatever_is_replied(random: Any, text: str, stop: str, tool_calls: int, state: str) -> None:
    """Conversations that a compaction can do something about, whole and damaged, and replies that no model would give."""
    made = scenario(random, fault="")
    try:
        made = damaged(random, made) if state == "damaged" else made
    except WireError:
        return  # what cannot be read is not compacted
    assert_lawful(made, Summary(text, stop=stop, tool_calls=tool_calls))


def main() -> None:
    """Fuzz until stopped."""
    from exploring import explore  # here, because it stands beside this file and in no package

    explore(__file__, "test_every_law_holds_whatever_is_replied")


if __name__ == "__main__":
    main()
