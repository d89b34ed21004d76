"""
Records written short, as the examples of the specification have them.

What this is
    `expand_record` makes a `Record` of a few lines of JSON; `judge_example` is
    how the chapter of laws is executed.

Grammar
    ::

        message = kind [SP names] SP tokens *(SP option)     in a string, or an object with these keys
        kind    = prompt | model | result | attachment | harness | system | summary | pin | reminder
        names   = name *("," name)      of a model: its calls; of a result: the calls it answers
                / "#" label             no call: it tells messages of one kind apart
        option  = "seal=" text          of a model: it begins with thinking under this seal
                / "said=" text          of a result: words of a person stand beside it

    An object of a summary may have ``earlier``: prompts that are quoted in it.
    A message's text is its kind and names, unless an object gives a ``text``.
    So equal strings are equal messages, and a message under another name is
    another one.  Sizes are as stated; nothing is counted.

What is not here
    The meaning of the other keys: they are the fields of `Record`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from attrs import evolve

from ..model import Json
from .checks import judge
from .heads import EARLIER
from .record import Exchange, Limits, Record

__all__ = ["expand_message", "expand_record", "judge_example"]

_PIXEL: Final = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
_KINDS: Final = frozenset({"prompt", "model", "result", "attachment", "harness", "system", "summary", "pin", "reminder"})
_COPIED: Final = (
    "reason", "when", "cut", "kept_prompt", "over_by_tokens", "irreducible_tokens", "fits", "dangling", "facts_left",
    "same_object", "same_tail", "kinds_told", "mutated", "summary_tokens", "pinned_tokens", "rung", "first_changed", "paid",
    "stored", "edits", "report",
)  # fmt: skip


_SIZES: Final = (
    "budget", "trigger", "clearing", "target", "tail", "room", "summary", "min_gain", "clear_at_least", "summariser",
)  # fmt: skip


def _fields(message: str | Mapping[str, Any]) -> dict[str, Any]:
    """The parts of a message that was written short."""
    if not isinstance(message, str):
        return dict(message)
    kind, *rest = message.split(" ")
    fields: dict[str, Any] = {"kind": kind, "names": [] if rest[0].isdecimal() else rest.pop(0).split(",")}
    fields["tokens"] = int(rest[0])
    for option in rest[1:]:
        key, _, value = option.partition("=")
        fields[key] = value.replace("_", " ")
    return fields


def expand_message(message: str | Mapping[str, Any]) -> tuple[Json, str, int]:
    """
    A message on Anthropic's wire, its kind, and its size.

    >>> expand_message("result a 60")
    ({'role': 'user', 'content': [{'type': 'tool_result', 'tool_use_id': 'a', 'content': 'result a'}]}, 'result', 60)
    """
    fields = _fields(message)
    kind, names = fields["kind"], fields.get("names", [])
    if kind not in _KINDS:
        raise ValueError(f"no message is of the kind {kind!r}")
    words = fields.get("text", " ".join([kind, *names]))
    content: Json = words
    if kind == "model":
        seal = fields.get("seal")
        thought = [{"type": "thinking", "thinking": f"before {words}", "signature": seal}] if seal else []
        calls = [{"type": "tool_use", "id": name, "name": "read", "input": {}} for name in names if name[:1] != "#"]
        content = [*thought, {"type": "text", "text": words}, *calls]
    elif kind == "result":
        content = [{"type": "tool_result", "tool_use_id": name, "content": words} for name in names]
        content += [{"type": "text", "text": fields["said"]}] if "said" in fields else []
    elif kind == "attachment":
        image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": _PIXEL}}
        content = [{"type": "text", "text": words}, image]
    elif "earlier" in fields:
        quoted = "".join(f"[prompt chars={len(prompt)}]\n{prompt}\n" for prompt in fields["earlier"])
        content = [{"type": "text", "text": words}, {"type": "text", "text": EARLIER + quoted}]
    role = {"model": "assistant", "system": "system"}.get(kind, "user")
    return {"role": role, "content": content}, kind, fields.get("tokens", 0)


def expand_record(body: Mapping[str, Any]) -> Record:
    """
    The record that *body* describes.

    >>> record = expand_record({"before": ["prompt 5", "model 9", "prompt #2 3"], "after": ["summary 4", "prompt #2 3"]})
    >>> record.outcome, record.before_tokens, record.after_tokens
    ('compacted', 17, 7)
    """
    before, kinds, sizes = zip(*map(expand_message, body["before"]), strict=True)
    after, made_kinds, made_sizes = zip(*map(expand_message, body.get("after", body["before"])), strict=True)
    policy = body.get("policy", {})
    overhead = policy.get("overhead_tokens", 0)
    around = body.get("around", {})
    record: dict[str, Any] = {
        "dialect": "anthropic",
        "before": {**around["before"], "messages": list(before)} if around else list(before),
        "after": {**around["after"], "messages": list(after)} if around else list(after),
        "outcome": body.get("outcome", "unchanged" if before == after and "edits" not in body else "compacted"),
        "kinds": kinds,
        "made_kinds": made_kinds,
        "sizes": sizes,
        "before_tokens": overhead + sum(sizes),
        "after_tokens": body.get("after_tokens", overhead + sum(made_sizes)),
        "limits": Limits(
            **{name: policy.get(f"{name}_tokens") for name in _SIZES},
            newest_results=policy.get("newest_results"),
            step_cuts=policy.get("step_cuts") != "never",
        ),
        "pins": tuple((index, block) for index, block in body.get("pins", ())),
        "pinned_texts": tuple(body.get("pinned_texts", ())),
        "reminders": tuple(body.get("reminders", ())),
        "secrets": tuple(body.get("secrets", ())),
        "exchanges": tuple(Exchange(**exchange) for exchange in body["exchanges"]) if "exchanges" in body else None,
        "headings": tuple(body["headings"]) if "headings" in body else None,
        "known_headings": tuple(body["known_headings"]) if "known_headings" in body else None,
        "quoting_headings": tuple(body.get("quoting_headings", ())),
        "again": tuple(body["again"]) if "again" in body else None,
        "cleared": tuple(body.get("cleared", ())),
        "betas": tuple(body.get("betas", ())),
        "given": tuple(body.get("given", ())),
        "undone": [message for message, _, _ in map(expand_message, body["undone"])] if "undone" in body else None,
    }
    made = Record(**record, **{name: body[name] for name in _COPIED if name in body})
    return made if "repeated" not in body else _repeated(made, body["repeated"])


def _repeated(record: Record, body: Json) -> Record:
    """The same record with the digest of a second run whose output was *body*, or of the same one for ``"same"``."""
    if body == "same":
        return evolve(record, repeated=record.digest)
    messages = [message for message, _, _ in map(expand_message, body)]
    return evolve(record, repeated=evolve(record, after=messages).digest)


def judge_example(body: Mapping[str, Any]) -> frozenset[tuple[str, str]]:
    """The rules that the record *body* breaks, as (rule, level); what cannot be decided has the level ``info``."""
    found = judge(expand_record(body))
    return frozenset((finding.rule, "error" if finding.verdict == "broken" else "info") for finding in found)
