"""
What is asked of a provider, in a request: now, and when the conversation has grown.

What this is
    `hold` says which edits of the context to ask for later, so that what is
    hidden stays the same; `with_betas` lists the headers in a request.

Rules it obeys
    * Laws L7, L18.  An edit says how much stays, counted from the end.  Sent
      unchanged with each request it hides one more result for each that came:
      the cache is lost each time, and in the end what must stay is hidden.
    * A-CTX-04.  Where a body lists its betas, those of what it asks for are among them.

What is not here
    Which edits are made (`editing`), and what the model sees then (`visible`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .model import Call, Conversation, Json
from .protocol.binding import model_field, with_model_field
from .protocol.context_edits import BETA_FIELDS
from .visible import thinking_turns

__all__ = ["hold", "with_betas"]


def with_betas(conversation: Conversation, betas: Sequence[str]) -> Conversation:
    """
    The conversation with *betas* among those that the body of its request lists; itself if it lists none.

    Bedrock's Converse takes no header, so there they are listed in any case: among the fields of the model.

    >>> from compactlib.dialects import parse, render
    >>> render(with_betas(parse({"betas": ["a"], "messages": []}, dialect="anthropic"), ["b", "a"]))
    {'betas': ['a', 'b'], 'messages': []}
    """
    for name in BETA_FIELDS:
        known = conversation.setting(name)
        if isinstance(known, list | str) and (listed := _listed(known, betas)) != known:
            conversation = conversation.with_setting(name, listed)
    if conversation.dialect == "bedrock" and betas:
        known = model_field(conversation, "anthropic_beta")
        listed = _listed(known if isinstance(known, list | str) else [], betas)
        if listed != known:
            conversation = with_model_field(conversation, "anthropic_beta", listed)
    return conversation


def _listed(known: list[Json] | str, betas: Sequence[str]) -> Json:
    """A list of betas, or one that is written with commas, with those of *betas* that it lacks; itself if it lacks none."""
    listed = known if isinstance(known, list) else [part.strip() for part in known.split(",") if part.strip()]
    lacking = [beta for beta in betas if beta not in listed]
    if not lacking:
        return known
    both = [*listed, *lacking]
    return both if isinstance(known, list) else ",".join(map(str, both))


def hold(management: Mapping[str, Json], earlier: Conversation, later: Conversation) -> dict[str, Json]:
    """
    What to ask for when the conversation has grown, so that the same is hidden as before, and nothing more (laws L7, L18).

    Uses of the provider's own tools are counted with the others, because whether
    it counts them is not documented: so less may be hidden, but never more.
    Edits that the request had of its own stay as they are.

    Args:
        management: what was asked for, in *earlier*.
        earlier: the conversation for which it was made.
        later: the same with more messages at its end.

    >>> from compactlib.dialects import parse
    >>> use = {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "ls", "input": {}}]}
    >>> uses = {"type": "tool_uses", "value": 5}
    >>> asked = {"edits": [{"type": "clear_tool_uses_20250919", "trigger": uses, "keep": uses}]}
    >>> hold(asked, parse([], dialect="anthropic"), parse([use], dialect="anthropic"))["edits"][0]["keep"]
    {'type': 'tool_uses', 'value': 6}
    """
    came = {
        "tool_uses": _count_of_uses(later) - _count_of_uses(earlier),
        "thinking_turns": len(thinking_turns(later.messages)) - len(thinking_turns(earlier.messages)),
    }
    own = _edits_of(earlier.setting("context_management"))
    made: list[Json] = [
        {name: _raised(value, came) for name, value in edit.items()} if isinstance(edit, dict) and edit not in own else edit
        for edit in _edits_of(management)
    ]
    return {**management, "edits": made}


def _edits_of(management: Json) -> list[Json]:
    edits = management.get("edits") if isinstance(management, Mapping) else None
    return edits if isinstance(edits, list) else []


def _raised(amount: Json, came: Mapping[str, int]) -> Json:
    """An amount that is counted from the end, larger by what came; any other value as it is."""
    if not isinstance(amount, dict) or type(amount.get("value")) is not int:
        return amount
    return {**amount, "value": amount["value"] + max(came.get(str(amount.get("type")), 0), 0)}


def _count_of_uses(conversation: Conversation) -> int:
    return sum(isinstance(block, Call) for message in conversation.messages for block in message.blocks)
