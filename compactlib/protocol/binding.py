"""
Reasoning that is bound to what stands before it.

What this is
    Newer models of Anthropic sign a thinking block together with system, tools
    and messages before it.  If one of those was changed since, the block and
    all later ones are refused, or dropped if the request says so (A-THINK-07).
    `is_bound` says whether a request meets that check, `dropping` what it has
    to say after a change, and `with_thinking` says it.

Rules it obeys
    * Law L5.  Reasoning is never altered to pass; the provider is asked to
      leave out what it does not take.
    * Which models check is data (`compactlib.models`).  A model that is not
      known is taken to be none of them: the setting is refused by those.

How it works
    Bedrock has the same models and the same check; there the setting stands
    among ``additionalModelRequestFields``, and the model under ``modelId``.

What is not here
    What is wrong with reasoning in its message (`seals`).
"""

from __future__ import annotations

from typing import Final

from ..model import Conversation, Json, Reasoning
from ..models import model_named, name_of

__all__ = ["BINDING_BETA", "betas_for", "dropping", "is_bound", "model_field", "with_model_field", "with_thinking"]

BINDING_BETA: Final = "thinking-binding-controls-2026-08-01"
"""The beta header that the setting needs."""

_PLACES: Final = {"anthropic": "model", "bedrock": "modelId"}
"""The dialects in which such reasoning is sent, and the setting that names the model."""

_FIELDS: Final = "additionalModelRequestFields"


def is_bound(conversation: Conversation, *, model: str | None = None) -> bool:
    """
    Whether a request is refused if something before its reasoning was changed.

    Args:
        conversation: the request; its messages are not read.
        model: the model's name, where the request does not say it, or only by a name of the caller's own (an inference
            profile, an alias of a gateway).

    >>> from compactlib.dialects import parse
    >>> body = {"model": "claude-fable-5-1", "messages": []}
    >>> dropped = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
    >>> is_bound(parse(body, dialect="anthropic")), is_bound(parse({**body, "thinking": dropped}, dialect="anthropic"))
    (True, False)
    """
    if conversation.dialect not in _PLACES:
        return False
    known = model_named(name_of(conversation.setting(_PLACES[conversation.dialect]), model))
    thinking = _thinking(conversation)
    binding = thinking.get("block_binding")
    dropped = isinstance(binding, dict) and binding.get("prefix_mismatch_behavior") == "drop_block"
    return known is not None and known.binds_reasoning and thinking.get("type") != "disabled" and not dropped


def dropping(before: Conversation, after: Conversation, *, model: str | None = None) -> dict[str, Json] | None:
    """
    The value of ``thinking`` by which the provider leaves out the reasoning that a change made stale.

    Args:
        before: the conversation in which the reasoning was made; messages that stay are the same objects.
        after: the changed one.
        model: the model's name, where the request does not say it.

    Returns:
        ``None`` if no reasoning stands behind what was changed, or nobody checks it.
    """
    if not is_bound(after, model=model):
        return None
    pairs = zip(before.messages, after.messages, strict=False)
    changed = next((at for at, (old, new) in enumerate(pairs) if old is not new), len(before.messages))
    if (before.system, before.tools) != (after.system, after.tools):
        changed = 0  # they stand before all
    if not any(isinstance(block, Reasoning) for message in after.messages[changed:] for block in message.blocks):
        return None
    said = _thinking(after)
    binding = said.get("block_binding")
    return {
        "type": "adaptive",  # what these models do where nothing is said
        **said,
        "block_binding": {**(binding if isinstance(binding, dict) else {}), "prefix_mismatch_behavior": "drop_block"},
    }


def with_thinking(conversation: Conversation, value: Json) -> Conversation:
    """The conversation with *value* as what its request says of thinking; itself if it has no body."""
    if conversation.dialect != "bedrock":
        return conversation.with_setting("thinking", value)
    return with_model_field(conversation, "thinking", value)


def model_field(conversation: Conversation, name: str) -> Json:
    """What a request of Bedrock's Converse hands to its model as it is, under *name*."""
    fields = conversation.setting(_FIELDS)
    return fields.get(name) if isinstance(fields, dict) else None


def with_model_field(conversation: Conversation, name: str, value: Json) -> Conversation:
    """The conversation with *value* there; itself if it has no body."""
    fields = conversation.setting(_FIELDS)
    return conversation.with_setting(_FIELDS, {**(fields if isinstance(fields, dict) else {}), name: value})


def betas_for(thinking: object) -> tuple[str, ...]:
    """The beta headers that a value of `dropping` needs."""
    return () if thinking is None else (BINDING_BETA,)


def _thinking(conversation: Conversation) -> dict[str, Json]:
    """What a request says of thinking."""
    said = conversation.setting("thinking")
    if conversation.dialect == "bedrock":
        said = model_field(conversation, "thinking")
    if said is False or isinstance(said, str):  # not as it is written, but it says what is meant
        return {"type": said or "disabled"}
    return said if isinstance(said, dict) else {}
