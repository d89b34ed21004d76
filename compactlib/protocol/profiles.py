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

    It is long because it is a table, and a table is read side by side.

What is not here
    How a wire shape is read (`compactlib.dialects`), and the checks
    (`validator`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, Literal

from attrs import evolve, field, frozen

from ..arguments import shown
from ..errors import PolicyError
from .automaton import Breach, Neighbours

__all__ = [
    "BEDROCK_FAMILIES",
    "HARNESS_NOTES",
    "HARNESS_TAGS",
    "MEDIA_MARKERS",
    "PROFILES",
    "Profile",
    "answers_apart",
    "bedrock_family",
    "describe",
    "gemini_version",
    "profile_named",
    "route_of",
    "sees_tool_images",
    "takes_empty_list",
    "takes_prefill",
    "takes_system_role",
    "takes_thinking",
    "thinks_unasked",
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
        result_media: what a result may carry besides text: kinds of `Media`.
        prefill: whether a request may end with the model's words: by what the ``model`` is, ``yes``, or ``no``.
        route: whose service it is: the provider's ``own``, a ``compatible`` one, a ``local`` server, or what the ``model``'s
            name tells; Google's own has two doors, and the other is ``vertex``.
        roles: the words for instructions that it knows, in any case.
        system_first: whether instructions stand at the beginning only.
        demands: the rules of its own that it adds to those of its dialect.
        string_only: whether the model's content is a string and never a list.
        version: which version of the provider's published validator judges (Mistral); ``0`` is the service itself.
        messages_key: the key of the messages in a body.
        model: the model that is meant where the body names none (Gemini and Bedrock have its name in the address).
        is_sent: whether it is sent to a model, and so worth compacting; a file of steps is not.
        marks_limit: how many cache marks a request may hold.
        media_limit: how many pictures and document pages.
        messages_limit: how many messages.
        edits: what it hides of a context when a request asks for it, by the types of its edits; which models do is in `models`.
        old_reasoning: what may be left out of the reasoning of closed turns (law L5): whole ``blocks``, ``calm-turns``, those
            of turns in which nothing was called, or ``nothing``.
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
    route: Literal["own", "compatible", "local", "model", "vertex"] = "own"
    roles: frozenset[str] = frozenset({"system"})
    system_first: bool = False
    demands: tuple[str, ...] = ()
    string_only: bool = False
    version: int = 0
    messages_key: str = "messages"
    model: str = ""
    is_sent: bool = True
    marks_limit: int | None = None
    media_limit: int | None = None
    messages_limit: int | None = None
    edits: frozenset[str] = frozenset()
    old_reasoning: Literal["blocks", "calm-turns", "nothing"] = "blocks"

    @property
    def demands_turns(self) -> bool:
        """Whether it is for a chat template, in which the sides take turns (V-ALT-01, V-ALT-02)."""
        return not {"V-ALT-01", "V-ALT-02"}.isdisjoint(self.demands)

    @property
    def has_tools(self) -> bool:
        """Whether it has a form for calls and results; some chat templates have none (V-ALT-01)."""
        return "V-ALT-01" not in self.demands


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
    edits=frozenset({"clear_thinking_20251015", "clear_tool_uses_20250919"}),
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
    old_reasoning="calm-turns",  # what DeepSeek and Moonshot want back stands in turns with calls (D-REAS-01, K-REAS-01)
)

_OPENAI_RESPONSES: Final = Profile(
    name="openai-responses",
    dialect="openai-responses",
    neighbours=Neighbours.FREE,
    scope="message",
    results="tool",
    fuse="no",
    breaches={
        Breach.OPEN: ("R-PAIR-01", None),
        Breach.STRAY: ("R-PAIR-02", None),
        Breach.DUPLICATE: ("R-PAIR-04", None),
        Breach.REUSED: ("R-PAIR-04", None),
        Breach.REPEAT: ("R-PAIR-04", None),
        Breach.ORDER: ("R-PAIR-03", None),
        Breach.BETWEEN: ("R-PAIR-03", None),
    },
    result_media=frozenset({"image", "document", "file"}),
    route="model",
    roles=frozenset({"system", "developer"}),
    messages_key="input",
    old_reasoning="nothing",  # an item of its own, and its followers name it (R-REAS-02)
)

_THROUGH_CHAT: Final = {Breach.ORDER: ("R-PAIR-03", "strict"), Breach.BETWEEN: ("R-PAIR-03", "strict")}

_GEMINI: Final = Profile(
    name="gemini",
    dialect="gemini",
    neighbours=Neighbours.COUNTED,
    scope="message",
    results="user",
    fuse="yes",
    breaches={
        Breach.OPEN: ("G-COUNT-01", None),
        Breach.STRAY: ("G-RESP-01", None),
        Breach.REPEAT: ("G-COUNT-02", None),
        Breach.LATE: ("G-RESP-01", None),
        Breach.ROLE: ("G-ROLE-02", None),
        Breach.START: ("G-CALL-01", None),
        Breach.END: ("G-END-01", None),
        Breach.ADJACENT: ("G-ALT-01", None),
    },
    prefill="model",
    messages_key="contents",
)

_BEDROCK: Final = Profile(
    name="bedrock",
    dialect="bedrock",
    neighbours=Neighbours.JOINED,
    scope="message",
    results="user",
    fuse="yes",
    breaches={
        Breach.OPEN: ("B-PAIR-01", None),
        Breach.STRAY: ("B-PAIR-03", None),
        Breach.DUPLICATE: ("B-ID-01", None),
        Breach.REPEAT: ("B-PAIR-03", None),
        Breach.ORDER: ("B-ORDER-02", None),
        Breach.SPLIT: ("B-PAIR-02", None),
        Breach.BETWEEN: ("B-PAIR-02", None),
        Breach.LATE: ("B-PAIR-03", None),
        Breach.ROLE: ("B-ROLE-01", None),
        Breach.START: ("B-START-01", "unnamed"),
        Breach.END: ("B-END-01", None),
        Breach.ADJACENT: ("B-ALT-01", None),
    },
    result_media=frozenset({"image", "document"}),
    prefill="model",
)

_MISTRAL: Final = Profile(
    name="mistral",
    dialect="mistral",
    neighbours=Neighbours.SEPARATE,
    scope="message",
    results="tool",
    fuse="no",
    breaches={
        Breach.OPEN: ("M-COUNT-01", None),
        Breach.STRAY: ("M-PAIR-01", None),
        Breach.DUPLICATE: ("M-ID-02", None),
        Breach.REPEAT: ("M-PAIR-02", None),
        Breach.BETWEEN: ("M-ORDER-01", None),
        Breach.SPLIT: ("M-ORDER-01", None),
        Breach.LATE: ("M-PAIR-01", None),
        Breach.END: ("M-LAST-01", None),
    },
    prefill="no",
)
_BY_COUNT: Final = {**_MISTRAL.breaches, Breach.DUPLICATE: ("M-ID-02", "by-count")}

_DEEPSEEK: Final = evolve(
    _OPENAI_CHAT,
    name="deepseek",
    route="compatible",
    breaches={**_OPENAI_CHAT.breaches, Breach.OPEN: ("D-PAIR-01", None)},
    demands=("D-REAS-01", "D-ALT-01"),
)

_IN_TURN: Final = {**_DEEPSEEK.breaches, Breach.ADJACENT: ("D-ALT-01", None)}

# Local servers write the conversation into a chat template, and the template refuses what it has no form for.
_TEMPLATE: Final = evolve(
    _OPENAI_CHAT,
    name="strict-template",
    route="compatible",
    fuse="text",
    roles=frozenset({"system"}),
    system_first=True,
    breaches={**_OPENAI_CHAT.breaches, Breach.START: ("V-ALT-02", None), Breach.ADJACENT: ("V-ALT-02", None)},
    demands=("V-ALT-02",),
)
_NO_TOOLS: Final = {**_TEMPLATE.breaches, Breach.START: ("V-ALT-01", None), Breach.ADJACENT: ("V-ALT-01", None)}

# LangGraph looks through the history before it asks any provider, by ids alone; order is the provider's matter.
_LANGGRAPH: Final = evolve(
    _OPENAI_CHAT,
    name="langgraph",
    route="compatible",
    breaches={Breach.OPEN: ("W-HIST-01", None)},
    demands=("W-HIST-01",),
)

_MCP_SAMPLING: Final = Profile(
    name="mcp-sampling",
    dialect="mcp-sampling",
    neighbours=Neighbours.SEPARATE,
    scope="message",
    results="user",
    fuse="yes",
    breaches={
        Breach.OPEN: ("S-BAL-01", None),
        Breach.STRAY: ("S-BAL-01", None),
        Breach.REPEAT: ("S-BAL-01", "same-id"),
        Breach.SPLIT: ("S-BAL-01", None),
        Breach.BETWEEN: ("S-BAL-01", None),
        Breach.LATE: ("S-BAL-01", None),
        Breach.ROLE: ("S-BAL-01", None),
    },
    result_media=frozenset({"image", "audio"}),
)

# In a trajectory each step has its own results, so the order of messages has no rules.
_ATIF: Final = Profile(
    name="atif",
    dialect="atif",
    neighbours=Neighbours.SEPARATE,
    scope="message",
    results="user",
    fuse="no",
    breaches={},
    result_media=frozenset({"image"}),
    messages_key="steps",
    is_sent=False,
)

_STRICT: Final = {Breach.START: ("A-START-01", "strict"), Breach.ADJACENT: ("A-ALT-01", "strict")}

PROFILES: Final[Mapping[str, Profile]] = {
    profile.name: profile
    for profile in (
        _ANTHROPIC,
        evolve(_ANTHROPIC, name="anthropic-strict", breaches={**_ANTHROPIC.breaches, **_STRICT}),
        evolve(_ANTHROPIC, name="anthropic-no-prefill", prefill="no"),
        _OPENAI_CHAT,
        evolve(_OPENAI_CHAT, name="openai", route="own", old_reasoning="blocks"),
        evolve(_OPENAI_CHAT, name="openai-compatible", route="compatible"),
        evolve(_OPENAI_CHAT, name="openai-local", route="local"),
        evolve(
            _OPENAI_CHAT,
            name="groq",
            route="compatible",
            string_only=True,
            demands=("Q-REAS-01",),
            old_reasoning="blocks",
        ),
        evolve(_OPENAI_CHAT, name="no-developer-role", route="compatible", roles=frozenset({"system"})),
        evolve(_OPENAI_CHAT, name="no-system-role", roles=frozenset({"developer"})),
        evolve(_OPENAI_CHAT, name="system-first", route="compatible", system_first=True),
        _DEEPSEEK,
        evolve(_DEEPSEEK, name="deepseek-reasoner", fuse="text", breaches=_IN_TURN),
        evolve(_OPENAI_CHAT, name="kimi", route="compatible", demands=("K-REAS-01",)),
        evolve(_OPENAI_CHAT, name="xai", route="compatible", demands=("X-CONTENT-01",)),
        evolve(_OPENAI_CHAT, name="ollama", route="local", demands=("L-USER-01",)),
        _TEMPLATE,
        evolve(_TEMPLATE, name="strict-template-no-tools", breaches=_NO_TOOLS, demands=("V-ALT-01",)),
        evolve(_TEMPLATE, name="strict-template-no-system", breaches=_NO_TOOLS, demands=("V-ALT-01", "V-SYS-01")),
        _LANGGRAPH,
        _OPENAI_RESPONSES,
        evolve(_OPENAI_RESPONSES, name="responses-compatible", route="compatible"),
        evolve(
            _OPENAI_RESPONSES,
            name="responses-through-chat",
            route="compatible",
            breaches={**_OPENAI_RESPONSES.breaches, **_THROUGH_CHAT},
        ),
        _GEMINI,
        evolve(_GEMINI, name="gemini-2.5", model="gemini-2.5-pro"),
        evolve(_GEMINI, name="gemini-3", model="gemini-3-pro-preview", result_media=frozenset({"image", "document"})),
        evolve(_GEMINI, name="gemini-strict", breaches={**_GEMINI.breaches, Breach.ADJACENT: ("G-ALT-01", "strict")}),
        evolve(_GEMINI, name="gemini-vertex", route="vertex"),
        _BEDROCK,
        evolve(_BEDROCK, name="bedrock-anthropic", model="anthropic.claude"),
        evolve(_BEDROCK, name="bedrock-amazon", model="amazon.nova"),
        evolve(_BEDROCK, name="bedrock-meta", model="meta.llama"),
        evolve(_BEDROCK, name="bedrock-mistral", model="mistral.mistral"),
        evolve(_BEDROCK, name="bedrock-strict", breaches={**_BEDROCK.breaches, Breach.ADJACENT: ("B-ALT-01", "strict")}),
        evolve(_BEDROCK, name="bedrock-results-alone", demands=("B-COLOC-01",)),
        _MISTRAL,
        evolve(_MISTRAL, name="mistral-v3", version=3, breaches=_BY_COUNT),
        evolve(_MISTRAL, name="mistral-v5", version=5, breaches=_BY_COUNT),
        evolve(_MISTRAL, name="mistral-v11", version=11),
        evolve(_MISTRAL, name="mistral-v13", version=13),
        evolve(_MISTRAL, name="mistral-v15", version=15),
        _MCP_SAMPLING,
        _ATIF,
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
    except (KeyError, TypeError):
        raise PolicyError("profile", f"none is called {shown(name)}; known are {', '.join(PROFILES)}") from None


# -- facts about models, as of 2026-11 ---------------------------------------------------------------------------------

_CLAUDE: Final = r"claude-(?:([0-9]+)(?:[.-]([0-9]{1,2}))?-)?([a-z]+)(?:-([0-9]{1,2})(?:[.-]([0-9]{1,2}))?)?(?![0-9.])"
_LAST_PREFILL: Final = (4, 5)
"""The last version of Claude that goes on with words put into its mouth (rule A-END-01)."""

_GEMINI_NAME: Final = r"gemini-(?:live-)?([0-9]{1,2})(?:\.([0-9]{1,2}))?(?![0-9.])"
_FIRST_PARTY: Final = ("gpt-", "o1", "o3", "o4", "chatgpt-", "codex-", "computer-use-", "ft:gpt-")
_OPEN_WEIGHTS: Final = "gpt-oss"  # served by everybody
_NO_TOOL_IMAGES: Final = ("gpt-3.5", "gpt-4-", "gpt-4o", "chatgpt-4o", "ft:gpt-4o", "ft:gpt-3.5", "o1")
_NO_EMPTY_LIST: Final = ("qwen-qwq",)  # recorded once; six other models at Groq took it
_NO_SYSTEM_ROLE: Final = ("o1-mini", "o1-preview")
_APART_NOT: Final = ("deepseek-",)  # recorded once: calls with words between them were refused
_THINKS: Final = ("deepseek-reasoner", "deepseek-v4", "deepseek-flash", "kimi-k2-thinking")
_THINKS_NOT: Final = ("deepseek-chat", "kimi-k2-0", "kimi-k2-instruct", "kimi-k2-turbo", "moonshot-v1")
_THINKING: Final = ("magistral-", "mistral-small-latest")
_NO_THINKING: Final = ("ministral-3b-",)


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


def takes_empty_list(model: str) -> bool:
    """
    Whether the model called *model* takes an empty list as the content of a message with calls, where a list is refused.

    >>> takes_empty_list("qwen/qwen3-32b"), takes_empty_list("qwen-qwq-32b"), takes_empty_list("")
    (True, False, True)
    """
    return not model.rpartition("/")[2].startswith(_NO_EMPTY_LIST)


def takes_system_role(model: str) -> bool:
    """
    Whether *model* knows the role ``system`` (rule O-ROLE-01); the first reasoning models did not.

    >>> takes_system_role("o1-mini"), takes_system_role("o3-mini")
    (False, True)
    """
    return not model.startswith(_NO_SYSTEM_ROLE)


def answers_apart(model: str) -> bool | None:
    """
    Whether Responses' *model* takes an output that does not stand behind its call (rule R-PAIR-03); ``None`` if it is not known.

    >>> answers_apart("gpt-5-mini"), answers_apart("deepseek-v4-flash"), answers_apart("grok-4.3")
    (True, False, None)
    """
    return False if model.startswith(_APART_NOT) else True if route_of(model) == "own" else None


def takes_thinking(model: str) -> bool | None:
    """
    Whether Mistral's *model* takes thinking back (rule M-THINK-01); ``None`` if it is not known.

    >>> takes_thinking("magistral-medium-latest"), takes_thinking("ministral-3b-latest"), takes_thinking("mistral-large-latest")
    (True, False, None)
    """
    return True if model.startswith(_THINKING) else False if model.startswith(_NO_THINKING) else None


def thinks_unasked(model: str) -> bool | None:
    """
    Whether DeepSeek's or Moonshot's *model* thinks if the request does not say (D-REAS-01, K-REAS-01); ``None`` if not known.

    >>> thinks_unasked("deepseek/deepseek-v4-pro"), thinks_unasked("deepseek-chat"), thinks_unasked("kimi-k2.5")
    (True, False, None)
    """
    name = model.rpartition("/")[2].lower()
    return True if name.startswith(_THINKS) else False if name.startswith(_THINKS_NOT) else None


def gemini_version(model: str) -> tuple[int, int] | None:
    """
    The version of the Gemini called *model*, by which signatures, roles and prefill are judged; ``None`` if it is not known.

    >>> gemini_version("models/gemini-2.5-flash"), gemini_version("gemini-3-pro-preview"), gemini_version("gemini-flash-latest")
    ((2, 5), (3, 0), None)
    """
    found = re.search(_GEMINI_NAME, model)
    return None if found is None else (int(found[1]), int(found[2] or 0))


BEDROCK_FAMILIES: Final[Mapping[str, frozenset[str]]] = {
    "ai21": frozenset(),
    "amazon": frozenset({"s3"}),
    "anthropic": frozenset({"assistant-first", "signatures"}),
    "cohere": frozenset(),
    "deepseek": frozenset(),
    "google": frozenset(),
    "meta": frozenset({"results-alone"}),
    "minimax": frozenset(),
    "mistral": frozenset({"results-alone"}),
    "moonshot": frozenset(),
    "moonshotai": frozenset(),
    "nvidia": frozenset(),
    "openai": frozenset(),
    "qwen": frozenset({"assistant-first"}),
    "stability": frozenset(),
    "writer": frozenset(),
}
"""Whose models Bedrock serves, and what is known of them: which take what the others refuse, and which refuse what they take."""

_FAMILY: Final = re.compile(rf"(?:^|[./:])({'|'.join(BEDROCK_FAMILIES)})\.[a-z]")


def bedrock_family(model: str) -> str | None:
    """
    Who made the model that Bedrock knows as *model*, an id, a profile or an ARN; ``None`` if it does not say.

    >>> bedrock_family("us.anthropic.claude-sonnet-4-5-20250929-v1:0"), bedrock_family("amazon.nova-pro-v1:0")
    ('anthropic', 'amazon')
    >>> bedrock_family("arn:aws:bedrock:us-east-1:1:inference-profile/us.meta.llama4-v1:0"), bedrock_family("my-proxy")
    ('meta', None)
    """
    found = _FAMILY.search(model)
    return None if found is None else found[1]


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
    head = "profile | dialect | neighbours | ids unique in | results in | fuse | prefill | route | limits | edits | old reasoning"
    lines = [f"| {head} |", "| --- " * len(head.split("|")) + "|"]
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
            ", ".join(sorted(edit.rpartition("_")[0] for edit in profile.edits)) or "none",
            profile.old_reasoning,
        )
        lines.append("| " + " | ".join(cells) + " |")
    shown = [name for name, one in PROFILES.items() if one.dialect == name or one.breaches != PROFILES[one.dialect].breaches]
    lines += ["", "| breach | core | " + " | ".join(shown) + " |", "| --- " * (len(shown) + 2) + "|"]
    for breach in Breach:
        rules = [PROFILES[name].breaches.get(breach) for name in shown]
        words = ["allowed" if rule is None else rule[0] + (f" ({rule[1]})" if rule[1] else "") for rule in rules]
        lines.append("| " + " | ".join((breach.name.lower(), breach.core, *words)) + " |")
    return "\n".join([*lines, ""])
