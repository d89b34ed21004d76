"""
What differs between providers, as tables.

What this is
    One `Profile` for each way of being spoken to.  The automaton has the order
    of messages, `rules` has what is refused; a profile says which of the two
    applies where: how neighbours are taken, where results stand, which rule a
    breach of the core is, which limits hold.  Beside the profiles stand a few
    dated facts about models, because some rules hold for some models only.

Rules it obeys
    * Facts only, and each with a rule that names its source.  A model that is
      not known is never guessed at: the functions here answer ``None``.
    * A profile is chosen by name.  The profile of a dialect has its name, and
      is the provider's own service; others are named after what they are.

What is not here
    How a wire shape is read (`compactlib.dialects`), and the checks
    (`validator`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, Literal

from attrs import evolve, field, frozen

from ..errors import PolicyError
from .automaton import Breach, Neighbours

__all__ = [
    "HARNESS_NOTES",
    "HARNESS_TAGS",
    "MEDIA_MARKERS",
    "PROFILES",
    "Profile",
    "describe",
    "profile_named",
    "route_of",
    "sees_tool_images",
    "takes_prefill",
    "takes_system_role",
]


@frozen(kw_only=True)
class Profile:
    """
    How one provider, or one kind of route to it, wants to be spoken to.

    Attributes:
        name: what it is called.
        dialect: the wire shape, which is also the family of its rules.
        neighbours: whether neighbouring messages of one side are joined before they are judged.
        scope: within what a call's id may not be used twice; neighbours that are joined are one message.
        results: where results stand: blocks at the front of the ``user`` message, or ``tool`` messages of their own.
        fuse: how the user-role messages of a compacted head are written: as one message (``yes``), as one text (``text``), or
            each on its own (``no``).
        breaches: which rule, in which of its cases, a breach of the core is here; what is missing is allowed.
        opening: the rule on what a tool loop begins with while the model thinks, or ``None``.
        result_media: what a result may carry besides text.
        prefill: whether a request may end with the model's words: by what the ``model`` is, ``yes``, or ``no``.
        route: whose service it is: the provider's ``own``, a ``compatible`` one, a ``local`` server, or what the ``model``'s
            name tells.
        roles: the words for instructions that it knows, in any case.
        system_first: whether instructions stand at the beginning only.
        string_only: whether the model's content is a string and never a list.
        messages_key: the key of the messages in a body.
        marks_limit: how many cache marks a request may hold.
        media_limit: how many pictures and document pages.
        messages_limit: how many messages.
    """

    name: str
    dialect: str
    neighbours: Neighbours
    scope: Literal["turn", "message"]
    results: Literal["user", "tool"]
    fuse: Literal["yes", "text", "no"]
    breaches: Mapping[Breach, tuple[str, str | None]] = field(repr=False)
    opening: str | None = None
    result_media: frozenset[str] = frozenset()
    prefill: Literal["model", "yes", "no"] = "yes"
    route: Literal["own", "compatible", "local", "model"] = "own"
    roles: frozenset[str] = frozenset({"system"})
    system_first: bool = False
    string_only: bool = False
    messages_key: str = "messages"
    marks_limit: int | None = None
    media_limit: int | None = None
    messages_limit: int | None = None


_ANTHROPIC: Final = Profile(
    name="anthropic",
    dialect="anthropic",
    neighbours=Neighbours.JOINED,
    scope="message",
    results="user",
    fuse="yes",
    breaches={
        Breach.OPEN: ("A-PAIR-01", None),
        Breach.STRAY: ("A-PAIR-02", None),
        Breach.DUPLICATE: ("A-ID-01", None),
        Breach.REUSED: ("A-ID-01", "across-turns"),
        Breach.REPEAT: ("A-PAIR-05", None),
        Breach.ORDER: ("A-ORDER-01", None),
        Breach.SPLIT: ("A-PAIR-03", "adjacent"),
        Breach.BETWEEN: ("A-PAIR-04", None),
        Breach.LATE: ("A-PAIR-03", None),
        Breach.ROLE: ("A-ROLE-01", None),
        Breach.START: ("A-START-01", None),
        Breach.END: ("A-END-01", None),
        Breach.ADJACENT: ("A-ALT-01", None),
    },
    opening="A-THINK-01",
    result_media=frozenset({"image", "document"}),
    prefill="model",
    marks_limit=4,
    media_limit=100,
    messages_limit=100_000,
)

_OPENAI_CHAT: Final = Profile(
    name="openai-chat",
    dialect="openai-chat",
    neighbours=Neighbours.SEPARATE,
    scope="message",
    results="tool",
    fuse="no",
    breaches={
        Breach.OPEN: ("O-PAIR-01", None),
        Breach.STRAY: ("O-PAIR-02", None),
        Breach.DUPLICATE: ("O-PAIR-04", None),
        Breach.REUSED: ("O-PAIR-04", "across-steps"),
        Breach.REPEAT: ("O-PAIR-04", None),
        Breach.BETWEEN: ("O-PAIR-03", None),
        Breach.SPLIT: ("O-PAIR-03", None),
        Breach.LATE: ("O-PAIR-03", None),
    },
    route="model",
    roles=frozenset({"system", "developer"}),
)

_OPENAI_RESPONSES: Final = Profile(
    name="openai-responses",
    dialect="openai-responses",
    neighbours=Neighbours.SEPARATE,
    scope="message",
    results="tool",
    fuse="no",
    breaches={},
    route="own",
    roles=frozenset({"system", "developer"}),
    messages_key="input",
)

_GEMINI: Final = Profile(
    name="gemini",
    dialect="gemini",
    neighbours=Neighbours.JOINED,
    scope="message",
    results="user",
    fuse="yes",
    breaches={},
    messages_key="contents",
)

_BEDROCK: Final = Profile(
    name="bedrock",
    dialect="bedrock",
    neighbours=Neighbours.JOINED,
    scope="message",
    results="user",
    fuse="yes",
    breaches={},
)

_MISTRAL: Final = Profile(
    name="mistral",
    dialect="mistral",
    neighbours=Neighbours.SEPARATE,
    scope="message",
    results="tool",
    fuse="no",
    breaches={},
)

_STRICT: Final = {Breach.START: ("A-START-01", "strict"), Breach.ADJACENT: ("A-ALT-01", "strict")}

PROFILES: Final[Mapping[str, Profile]] = {
    profile.name: profile
    for profile in (
        _ANTHROPIC,
        evolve(_ANTHROPIC, name="anthropic-strict", breaches={**_ANTHROPIC.breaches, **_STRICT}),
        evolve(_ANTHROPIC, name="anthropic-no-prefill", prefill="no"),
        _OPENAI_CHAT,
        evolve(_OPENAI_CHAT, name="openai", route="own"),
        evolve(_OPENAI_CHAT, name="openai-compatible", route="compatible"),
        evolve(_OPENAI_CHAT, name="openai-local", route="local"),
        evolve(_OPENAI_CHAT, name="groq", route="compatible", string_only=True),
        evolve(_OPENAI_CHAT, name="no-developer-role", route="compatible", roles=frozenset({"system"})),
        evolve(_OPENAI_CHAT, name="no-system-role", roles=frozenset({"developer"})),
        evolve(_OPENAI_CHAT, name="system-first", route="compatible", system_first=True),
        _OPENAI_RESPONSES,
        _GEMINI,
        _BEDROCK,
        _MISTRAL,
    )
}
"""Every profile by its name; the profile of a dialect has the dialect's name."""


def profile_named(name: str) -> Profile:
    """
    The profile called *name*.

    Raises:
        PolicyError: there is none.

    >>> profile_named("anthropic").fuse
    'yes'
    """
    try:
        return PROFILES[name]
    except KeyError:
        raise PolicyError("profile", f"none is called {name!r}; known are {', '.join(PROFILES)}") from None


# -- facts about models, as of 2026-11 ---------------------------------------------------------------------------------

_CLAUDE: Final = r"claude-(?:([0-9]+)(?:[.-]([0-9]{1,2}))?-)?([a-z]+)(?:-([0-9]{1,2})(?:[.-]([0-9]{1,2}))?)?(?![0-9.])"
_LAST_PREFILL: Final = (4, 5)
"""The last version of Claude that goes on with words put into its mouth (rule A-END-01)."""

_FIRST_PARTY: Final = ("gpt-", "o1", "o3", "o4", "chatgpt-", "codex-", "computer-use-", "ft:gpt-")
_OPEN_WEIGHTS: Final = "gpt-oss"  # served by everybody
_NO_TOOL_IMAGES: Final = ("gpt-3.5", "gpt-4-", "gpt-4o", "chatgpt-4o", "ft:gpt-4o", "ft:gpt-3.5", "o1")
_NO_SYSTEM_ROLE: Final = ("o1-mini", "o1-preview")


def takes_prefill(model: str) -> bool | None:
    """
    Whether the Claude called *model* accepts a request that ends with the model's words; ``None`` if it is not known.

    >>> takes_prefill("claude-sonnet-4-5-20250929"), takes_prefill("claude-opus-4-6"), takes_prefill("claude-fable-5")
    (True, False, False)
    >>> takes_prefill("claude-3-5-sonnet-latest"), takes_prefill("my-proxy")
    (True, None)
    """
    found = re.search(_CLAUDE, model)
    if found is None:
        return True if model.startswith(("claude-2", "claude-instant")) else None
    major, minor = (found[1], found[2]) if found[1] else (found[4], found[5])
    return None if major is None else (int(major), int(minor or 0)) <= _LAST_PREFILL


def route_of(model: str) -> Literal["own", "compatible", "local"] | None:
    """
    Whose service answers in OpenAI's dialect under the name *model*; ``None`` if there is no name.

    >>> route_of("gpt-5-mini"), route_of("openai/gpt-5-mini"), route_of("qwen3:latest"), route_of("")
    ('own', 'compatible', 'local', None)
    """
    if not model:
        return None
    if model.startswith(_FIRST_PARTY) and not model.startswith(_OPEN_WEIGHTS):
        return "own"
    return "local" if ":" in model and "/" not in model else "compatible"  # Ollama writes name:tag


def sees_tool_images(model: str) -> bool | None:
    """
    Whether OpenAI's *model* accepts a picture in a tool message (rule O-IMG-01); ``None`` if it is another's, or unnamed.

    >>> sees_tool_images("gpt-4o-mini"), sees_tool_images("gpt-4.1-nano"), sees_tool_images("grok-4")
    (False, True, None)
    """
    if route_of(model) != "own":
        return None
    return not (model == "gpt-4" or model.startswith(_NO_TOOL_IMAGES))


def takes_system_role(model: str) -> bool:
    """
    Whether *model* knows the role ``system`` (rule O-ROLE-01); the first reasoning models did not.

    >>> takes_system_role("o1-mini"), takes_system_role("o3-mini")
    (False, True)
    """
    return not model.startswith(_NO_SYSTEM_ROLE)


MEDIA_MARKERS: Final = frozenset(
    {
        "",
        "attached image(s) from tool result:",
        "attached media from tool result:",
        "tool result image:",
        "[image from tool result]",
    }
)
"""What clients write, in lower case, before media that a tool's result could not hold (O-IMG-01)."""


HARNESS_TAGS: Final = frozenset(
    {"system-reminder", "local-command-stdout", "local-command-stderr", "bash-stdout", "bash-stderr", "task-notification"}
)
"""Elements that clients put into user messages while calls are open; such a message leaves them pending (law L4)."""

HARNESS_NOTES: Final = ("[request interrupted by user", "[tool execution was interrupted")
"""Beginnings, in lower case, of notes that do the same."""


def describe() -> str:
    """
    The profiles in Markdown: one row a profile, and which rule each breach of the core is.

    >>> describe().splitlines()[2].split(" | ")[:3]
    ['| anthropic', 'anthropic', 'joined']
    """
    head = ("profile", "dialect", "neighbours", "ids unique in", "results in", "fuse", "prefill", "route", "limits")
    lines = ["| " + " | ".join(head) + " |", "| --- " * len(head) + "|"]
    for profile in PROFILES.values():
        limits = {"marks": profile.marks_limit, "media": profile.media_limit, "messages": profile.messages_limit}
        cells = (
            profile.name,
            profile.dialect,
            profile.neighbours.value,
            profile.scope,
            profile.results,
            profile.fuse,
            profile.prefill,
            profile.route,
            ", ".join(f"{limit} {what}" for what, limit in limits.items() if limit is not None) or "none",
        )
        lines.append("| " + " | ".join(cells) + " |")
    shown = [name for name, one in PROFILES.items() if one.dialect == name or one.breaches != PROFILES[one.dialect].breaches]
    lines += ["", "| breach | core | " + " | ".join(shown) + " |", "| --- " * (len(shown) + 2) + "|"]
    for breach in Breach:
        rules = [PROFILES[name].breaches.get(breach) for name in shown]
        words = ["allowed" if rule is None else rule[0] + (f" ({rule[1]})" if rule[1] else "") for rule in rules]
        lines.append("| " + " | ".join((breach.name.lower(), breach.core, *words)) + " |")
    return "\n".join([*lines, ""])
