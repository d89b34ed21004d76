"""
Wrong compactors: the laws about facts, L21, L22 and L23.

Each function says in a sentence what it does wrong; see `sabotage` for how.
"""

from __future__ import annotations

import re
from typing import Any, Final

from attrs import evolve

from ..budget import Policy
from ..driving import compact
from ..model import Conversation, Origin
from ..outcomes import Compacted, Outcome
from ..summaries.changed import read_changed
from .sabotage import breaks, with_body

__all__ = ["FACTS"]


@breaks("L21")
def forgets_facts(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
    """The section of facts is left out, and nothing is said of those for which there was no room."""
    outcome = compact(conversation, policy, **options)
    if not isinstance(outcome, Compacted):
        return outcome
    silent = with_body(outcome, policy, lambda body: body.partition("\n\n## Kept verbatim")[0])
    told = {**outcome.report["summary"], "anchors": {**outcome.report["summary"]["anchors"], "left": 0}}
    return evolve(silent, report={**silent.report, "summary": told})


@breaks("L22", "L9")
def believes_the_summariser(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
    """What it says of files that nobody named bears no flag."""
    outcome = compact(conversation, policy, **options)
    if not isinstance(outcome, Compacted):
        return outcome
    heading = "## Next step\n"
    return with_body(outcome, policy, lambda body: body.replace(heading, f"{heading}- see src/never/was/there.py\n"))


@breaks("L22")
def takes_the_flags_away(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
    """A flagged claim looks like any other."""
    outcome = compact(conversation, policy, **options)
    if not isinstance(outcome, Compacted):
        return outcome
    return with_body(outcome, policy, lambda body: re.sub(r" \[unverified\]", "", body))


@breaks("L23", "L9")
def summarises_the_list_of_files(conversation: Conversation, policy: Policy, **options: Any) -> Outcome:
    """The list of changed files stands in the summary as well."""
    outcome = compact(conversation, policy, **options)
    if not isinstance(outcome, Compacted):
        return outcome
    texts = (message.text for message in outcome.conversation.messages if message.origin is Origin.REMINDER)
    text = next((text for text in texts if read_changed(text) is not None), None)
    return (
        outcome
        if text is None
        else with_body(outcome, policy, lambda body: body.replace("## Next step\n", f"## Next step\n{text}\n"))
    )


FACTS: Final = (forgets_facts, believes_the_summariser, takes_the_flags_away, summarises_the_list_of_files)
"""The saboteurs of these laws."""
