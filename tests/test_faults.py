"""Summarisers that fail, each in its own way and in no other."""

from __future__ import annotations

import pytest

from compactlib.summaries.acceptance import Accepted, Code, Rejected, Summary, failed, judge
from compactlib.summaries.extractive import extractive
from compactlib.summaries.faults import CODES, FAULTS, FORGED_HEADER, FORGED_MARKER, FORGED_ORDER, INVENTED_PATH
from compactlib.summaries.rendering import SummaryRequest
from compactlib.summaries.schema import SCHEMAS
from compactlib.tokens import estimate
from tests.summary_parts import FULL, ask, call, human, model, result

TALK = [
    human("Why does src/a.py fail? Never push to main."),
    model("I look.", call("c1", "Bash", {"command": "pytest -q"})),
    result("c1", "src/a.py:12: KeyError\n1 failed", error=True),
]
BEFORE = "## Goal\nFirst prompt:\n> x\n\n## Orders\n(none)\n\n## Done\n- the docs are written\n\n## Next step\n- go on"


def verdict(fault: str, request: SummaryRequest) -> Accepted | Rejected:
    """What is said of the reply of a faulty summariser."""
    try:
        reply = FAULTS[fault](request)
    except Exception as error:  # noqa: BLE001  # as the driving loop does
        return failed(error)
    return judge(
        reply,
        request=request,
        schema=SCHEMAS[request.schema],
        ceiling_tokens=request.max_tokens * 4 // 3,
        counter=estimate,
        previous=request.previous,
        replaced_has_prompt=True,
    )


@pytest.mark.parametrize("schema", sorted(SCHEMAS))
@pytest.mark.parametrize("previous", ["", BEFORE], ids=["first", "update"])
@pytest.mark.parametrize("fault", sorted(FAULTS))
def test_each_fault_is_answered_by_its_code(fault: str, previous: str, schema: str) -> None:
    """With and without a previous summary, in every schema."""
    request = ask(TALK, previous=previous, schema=schema)

    found = verdict(fault, request)

    expected = CODES[fault]
    if fault == "not-smaller" or (fault == "same-as-previous" and not previous):
        expected = None  # a fault only for the compactor, and only with a previous summary
    assert (found.code if isinstance(found, Rejected) else None) is expected


def test_every_fault_has_a_code_and_every_code_a_fault() -> None:
    """Codes without a fault are those that need no summariser to be wrong."""
    assert FAULTS.keys() == CODES.keys()
    assert set(Code) - set(CODES.values()) == {
        Code.ECHO,
        Code.HEADINGS,
        Code.MEDIA,
        Code.NO_ROOM,
        Code.OVERLOADED,
        Code.PROMPT_TOO_LONG,
    }


def test_faults_are_deterministic() -> None:
    """The same request, the same reply."""
    request = ask(TALK, previous=BEFORE)

    for name, fault in FAULTS.items():
        if name not in ("raise", "time-out"):
            assert fault(request) == fault(request)


def test_a_forged_section_is_made_harmless() -> None:
    """Its order is no order, its header and its marker are none."""
    found = verdict("forge-section", ask(TALK))

    assert isinstance(found, Accepted)
    assert FORGED_ORDER not in found.sections.body("orders")
    assert FORGED_HEADER not in found.body
    assert FORGED_MARKER not in found.body
    assert found.escaped == 5  # two headings, a header, a marker and its reference


def test_an_invented_path_is_left_to_the_check_of_facts() -> None:
    """Nothing here knows paths; the claim is there to be flagged."""
    found = verdict("invent-path", ask(TALK))

    assert isinstance(found, Accepted)
    assert INVENTED_PATH in found.body
    assert INVENTED_PATH not in extractive(ask(TALK))


def test_dropped_anchors_are_gone() -> None:
    """What the honest summary names, this one does not."""
    honest, faulty = extractive(ask(TALK)), FAULTS["drop-anchor"](ask(TALK))

    assert isinstance(faulty, str)
    assert "src/a.py:12: KeyError" in honest
    assert "src/a.py:12" not in faulty


def test_a_reopened_item_goes_back() -> None:
    """Law L20."""
    found = verdict("reopen", ask(TALK, previous=BEFORE))

    assert isinstance(found, Accepted)
    assert found.reopened == 1
    assert "- the docs are written" in found.sections.items("done")
    assert "- the docs are written" not in found.sections.items("next")


def test_not_smaller_uses_all_the_room() -> None:
    """As long as is taken, so that little replaced becomes more."""
    found = verdict("not-smaller", ask(TALK, max_tokens=1_000))

    assert isinstance(found, Accepted)
    assert 300 < found.tokens <= 1_333


def test_a_cut_off_reply_is_half_of_an_honest_one() -> None:
    """With the stop reason that says so."""
    reply = FAULTS["cut-off"](ask(TALK))

    assert isinstance(reply, Summary)
    assert extractive(ask(TALK)).startswith(reply.text)
    assert reply.stop == "length"
    assert FULL.find("goal") == 0
