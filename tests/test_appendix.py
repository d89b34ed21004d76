"""What survives word for word beside a summary: of what was cleared before, the way back; of our own markers, no facts."""

from __future__ import annotations

from typing import Any, Final

import pytest
from attrs import evolve

import compactlib as cl
from compactlib.options import Clearing
from compactlib.summaries.facts import find_anchors

PICTURE: Final = "data:image/png;base64," + "iVBORw0KGgo=" * 2_000
GOOD: Final = "## Goal\n(none)\n## Orders, constraints and preferences\n(none)\n## Done\n- it was shown\n## Next step\n- go on"


def shown(dialect: str) -> list[dict[str, Any]]:
    """A turn in which a tool produced a picture, which stands in a message of its own behind the result."""
    function = {"name": "shot", "arguments": "{}"}
    image = {"type": "image_url", "image_url": {"url": PICTURE}}
    return [
        {"role": "user", "content": "show it"},
        {"role": "assistant", "content": "", "tool_calls": [{"id": "call00001", "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": "call00001", "content": "(see attached image)"},
        *([{"role": "assistant", "content": "Understood."}] if dialect == "mistral" else []),
        {"role": "user", "content": [{"type": "text", "text": "Attached image(s) from tool result:"}, image]},
        {"role": "assistant", "content": "I see it."},
    ]


@pytest.mark.parametrize("dialect", ["openai-chat", "mistral"])
def test_a_picture_that_was_cleared_behind_a_result_is_not_lost_with_its_turn(dialect: str) -> None:
    """Law L10: the reference in its stub stands behind the summary that replaces it; and no line of a stub is a fact (L21)."""
    store = cl.MemoryStore()
    policy = cl.Policy(window_tokens=32_000, tail_tokens=20, schema="brief", clearing=Clearing(keep=0))
    subject = cl.parse(shown(dialect), dialect=dialect)
    first = cl.compact(subject, evolve(policy, window_tokens=4_000), when="now", store=store, rungs=["clear"])
    assert isinstance(first, cl.Compacted), first
    (ref,) = first.issued
    said = "go on " + "and on " * 4_000
    more = cl.parse([{"role": "user", "content": said}, {"role": "assistant", "content": "ok"}], dialect=dialect)
    grown = evolve(first.conversation, messages=(*first.conversation.messages, *more.messages, more.messages[0]))
    then = cl.compact(grown, policy, when="now", store=store, issued=first.issued, summarise=lambda _: GOOD, rungs=["summarise"])

    assert isinstance(then, cl.Compacted), then
    assert f"ref={ref}" in then.summary
    anchors = find_anchors(first.conversation.messages, issued=first.issued)
    assert [anchor.text for anchor in anchors if "chars" in anchor.text] == []
