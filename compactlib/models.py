"""
Language models as data: windows, limits, and what their providers do to a history.

What this is
    One row for each model whose figures a public source states, with the
    source and the month in which it was read, and `model_named`, which finds a
    row by whatever name a request, a gateway or a cloud uses.

Rules it obeys
    * A figure stands here only if a source says so; what none says is
      ``None``.  Where sources differ, the smaller figure stands; a size from
      which on the price is another is no limit.
    * A model that is not here is not guessed at, not from its family and not
      from a shorter name: a window that is wrong is worse than a question.

How a name is resolved
    In this order, each step once, on the name in lower case:

    1. what stands before the last ``/`` goes (``anthropic/``, ``models/``,
       ``publishers/google/models/``), and so does a region and a maker before
       a dot, as Bedrock writes them (``us.anthropic.``, ``deepseek.``);
    2. a version of the deployment goes: ``-v1:0``, ``-v1``, ``:0``, ``@20250929``;
    3. ``-latest`` goes, and so does a date: ``-20250929``, ``-2025-08-07``;
    4. for Claude a dot between digits is a dash (``claude-sonnet-4.6``), and
       ``-0`` behind the only digit goes (``claude-sonnet-4-0``).

    What is left has to be the name of a row, letter for letter.  Marks that
    change what is served (``[1m]``, ``:free``, ``-fast``) are no part of these
    steps: such a name is not known.

What is not here
    Which rules hold for which models only: `protocol.profiles`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from attrs import frozen

__all__ = ["MODELS", "LanguageModel", "describe", "model_named", "name_of"]

_CLEARING: Final = frozenset({"clear_thinking_20251015", "clear_tool_uses_20250919"})
_SUMMARISING: Final = _CLEARING | {"summarize"}  # when asked, by a request for nothing else
_COMPACTING: Final = _SUMMARISING | {"compact_20260112"}


@frozen(kw_only=True)
class LanguageModel:
    """
    What is known of one model.

    Attributes:
        name: the name it has here.
        family: whose vocabulary it counts in, as `compactlib.tokens` names it.
        window_tokens: what prompt and answer may have together.
        input_tokens: what the prompt alone may have, where that is less.
        output_tokens: what the answer may have at most.
        keeps_reasoning: whether reasoning of closed turns stays in the context
            and is counted, where no edit says otherwise.
        thinks_unasked: whether it thinks where the request does not say.
        binds_reasoning: whether its provider may refuse reasoning if anything that stands before it was changed
            (A-THINK-07).
        edits: the edits of the context that its provider makes when asked to; ``summarize`` is asked for by the field
            ``compaction``.
        source: where the figures stand.
        read: the month in which they were read.
    """

    name: str
    family: str
    window_tokens: int
    input_tokens: int | None = None
    output_tokens: int | None = None
    keeps_reasoning: bool | None = None
    thinks_unasked: bool | None = None
    binds_reasoning: bool = False
    edits: frozenset[str] = frozenset()
    source: str
    read: str = "2026-11"


_CLAUDE: Final = "Claude documentation"  # models overview, context windows, context editing, compaction
_MODELS_DEV: Final = "models.dev"
_M: Final = 1_000_000

# fmt: off
_ROWS: Final = (
    # -- Anthropic: window, output; whether reasoning of closed turns is kept, is there unasked, is bound; edits -------
    *(
        LanguageModel(name=name, family="anthropic", window_tokens=window, output_tokens=output, keeps_reasoning=keeps,
                      thinks_unasked=thinks, binds_reasoning=binds, edits=edits, source=_CLAUDE)
        for name, window, output, keeps, thinks, binds, edits in (
            ("claude-fable-5-1",       _M,      128_000, True,  True,  True,  _SUMMARISING),
            ("claude-fable-5",         _M,      128_000, None,  True,  False, _SUMMARISING),
            ("claude-mythos-preview",  _M,      None,    True,  None,  False, _COMPACTING),
            ("claude-opus-5-5",        _M,      128_000, True,  True,  True,  _COMPACTING),
            ("claude-opus-5",          _M,      128_000, True,  True,  False, _SUMMARISING),
            ("claude-opus-4-8",        _M,      128_000, True,  False, False, _SUMMARISING),
            ("claude-opus-4-7",        _M,      128_000, True,  False, False, _COMPACTING),
            ("claude-opus-4-6",        _M,      128_000, True,  False, False, _COMPACTING),
            ("claude-opus-4-5",        200_000,  64_000, True,  False, False, _CLEARING),
            ("claude-opus-4-1",        200_000,  32_000, False, False, False, _CLEARING),
            ("claude-opus-4",          200_000,  32_000, False, False, False, _CLEARING),
            ("claude-sonnet-5-5",      _M,      128_000, True,  True,  True,  _SUMMARISING),
            ("claude-sonnet-5",        _M,      128_000, True,  None,  False, _SUMMARISING),
            ("claude-sonnet-4-6",      _M,       64_000, True,  False, False, _COMPACTING),
            ("claude-sonnet-4-5",      200_000,  64_000, False, False, False, _CLEARING),
            ("claude-sonnet-4",        200_000,  64_000, False, False, False, _CLEARING),
            ("claude-haiku-5-5",       _M,      128_000, True,  True,  True,  _SUMMARISING),
            ("claude-haiku-4-5",       200_000,  64_000, False, False, False, _CLEARING),
            ("claude-3-7-sonnet",      200_000,  64_000, False, False, False, frozenset()),
        )
    ),
    # -- others: family, window, prompt alone, output, source ----------------------------------------------------------
    *(
        LanguageModel(name=name, family=family, window_tokens=window, input_tokens=prompt, output_tokens=output, source=source)
        for name, family, window, prompt, output, source in (
            ("gpt-5.5",                "openai",   1_050_000, None,    128_000, "docs.oxen.ai"),
            ("gpt-5.4",                "openai",   1_050_000, 922_000, 128_000, "OpenRouter"),
            ("gpt-5.2",                "openai",     400_000, None,    128_000, "Vercel AI Gateway"),
            ("gpt-5.1",                "openai",     400_000, None,    128_000, "fastgpt-plugin PR#297"),
            ("gpt-5",                  "openai",     400_000, 272_000, 128_000, _MODELS_DEV),
            ("gpt-4.1",                "openai",   1_047_576, None,     32_768, _MODELS_DEV),
            ("gpt-4o",                 "openai",     128_000, None,     16_384, _MODELS_DEV),
            ("gemini-3.1-pro-preview", "gemini",   1_048_576, None,     65_536, _MODELS_DEV),
            ("gemini-3-flash-preview", "gemini",   1_048_576, None,     65_536, "Google Cloud documentation: Gemini 3 Flash"),
            ("gemini-2.5-pro",         "gemini",   1_048_576, None,     65_536, _MODELS_DEV),
            ("gemini-2.5-flash",       "gemini",   1_048_576, None,     65_536, _MODELS_DEV),
            ("gemini-2.0-flash",       "gemini",   1_048_576, None,      8_192, "Gemini API documentation: Gemini 2.0 Flash"),
            ("mistral-large-2512",     "mistral",    262_144, None,       None, _MODELS_DEV),
            ("mistral-small-2506",     "mistral",    128_000, None,       None, _MODELS_DEV),
            ("devstral-2512",          "mistral",    262_144, None,       None, _MODELS_DEV),
            ("deepseek-v4-pro",        "deepseek", 1_000_000, None,    384_000, "DeepSeek documentation: models and prices"),
            ("deepseek-flash",         "deepseek", 1_000_000, None,    384_000, "DeepSeek documentation: models and prices"),
            ("deepseek-v4-flash",      "deepseek", 1_000_000, None,    384_000, "DeepSeek documentation: models and prices"),
            ("deepseek-chat",          "deepseek", 1_000_000, None,      8_192, _MODELS_DEV),
            ("kimi-k2.5",              "generic",    262_144, None,       None, _MODELS_DEV),
            ("kimi-k2-thinking",       "generic",    262_144, None,       None, _MODELS_DEV),
            ("grok-4.3",               "generic",  1_000_000, None,       None, "Vercel AI Gateway"),
            ("grok-4-fast",            "generic",  2_000_000, None,       None, "OpenRouter"),
            ("grok-4",                 "generic",    256_000, None,       None, "OpenRouter; models.dev"),
        )
    ),
)
# fmt: on

MODELS: Final[Mapping[str, LanguageModel]] = {model.name: model for model in _ROWS}
"""Every model by the name it has here."""

_MAKERS: Final = "anthropic|deepseek|google|mistral|moonshot|moonshotai|openai|xai"
_REGION: Final = re.compile(rf"(?:[a-z]{{2,6}}(?:-gov)?\.)?(?:{_MAKERS})\.")
_DEPLOYMENT: Final = re.compile(r"(?:-v[0-9]+(?::[0-9]+)?|:[0-9]+|@[a-z0-9]+)$")
_DATE: Final = re.compile(r"-(?:latest|20[0-9]{6}|20[0-9]{2}-[0-9]{2}-[0-9]{2})$")
_LONGEST_NAME_CHARS: Final = 256


def model_named(name: str) -> LanguageModel | None:
    """
    The model that *name* means, by the rule of this module; ``None`` if it is not known.

    >>> names = ("us.anthropic.claude-opus-4-6-v1:0", "anthropic/claude-sonnet-4.6", "gpt-5-2025-08-07")
    >>> [model_named(name).name for name in names]
    ['claude-opus-4-6', 'claude-sonnet-4-6', 'gpt-5']
    >>> model_named("claude-sonnet-4-5[1m]"), model_named("claude-sonnet-latest"), model_named("my-proxy")
    (None, None, None)
    """
    if len(name) > _LONGEST_NAME_CHARS:
        return None
    plain = name.strip().lower().rpartition("/")[2]
    plain = _REGION.sub("", plain, count=1) if _REGION.match(plain) else plain
    plain = _DEPLOYMENT.sub("", plain)
    plain = _DATE.sub("", plain)
    if plain.startswith("claude-"):
        plain = re.sub(r"(?<=[0-9])\.(?=[0-9])", "-", plain)
        plain = re.sub(r"(?<=[a-z]-)([0-9])-0$", r"\1", plain)
    return MODELS.get(plain)


def describe() -> str:
    """
    The models in Markdown, a row each.

    >>> describe().splitlines()[2][:39]
    '| claude-fable-5-1 | 1,000,000 |  | 128'
    """
    head = ("model", "window", "prompt at most", "answer at most", "reasoning of closed turns", "bound", "edits", "source")
    lines = ["| " + " | ".join(head) + " |", "| --- " * len(head) + "|"]
    for model in MODELS.values():
        reasoning = {True: "kept", False: "dropped", None: ""}[model.keeps_reasoning]
        cells = (
            model.name,
            f"{model.window_tokens:,}",
            "" if model.input_tokens is None else f"{model.input_tokens:,}",
            "" if model.output_tokens is None else f"{model.output_tokens:,}",
            reasoning,
            "yes" if model.binds_reasoning else "",
            ", ".join(sorted(edit.rpartition("_")[0] or edit for edit in model.edits)),
            f"{model.source}, {model.read}",
        )
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def name_of(said: object, other: str | None) -> str:
    """
    Which of two names of a model to go by: what a request says, unless nothing is known of it, and of *other* something is.

    >>> name_of("my-proxy", "claude-opus-5"), name_of("my-proxy", "its-model"), name_of(None, "its-model"), name_of(None, None)
    ('claude-opus-5', 'my-proxy', 'its-model', '')
    """
    name = said if isinstance(said, str) else ""
    return other if other and (not name or (model_named(name) is None and model_named(other) is not None)) else name
