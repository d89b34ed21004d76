"""
Window arithmetic: from a policy to the sizes of one compaction.

What this is
    `Policy` holds what a caller decides; `Sizes` what follows from it for one
    conversation.  All numbers are integers, all in tokens, and all formulas
    stand in `sizes`.

Rules it obeys
    * For every window of 4,000 tokens or more::

          overhead + summary + max(extras, needed) + tail <= target < trigger < budget

      and with a fixed overhead no size falls when the window grows.
    * Nothing is sized for one window and used for another: shares have bounds,
      and the bounds move with the window where they must.
    * Every value a policy accepts has an effect; every other value is a
      `PolicyError` that names the field.

How it works
    The *budget* is what a request may hold: the window less the reserve for
    the answer.  Compaction starts above the *trigger*, three quarters of the
    budget.  It aims at the *target*: three fifths of what the overhead leaves
    of the trigger, so that a heavy system prompt does not squeeze out the
    conversation.  The rest divides that *room* between the summary, the extras
    (pins, preamble, reminders, retained prompts) and the tail.

What is not here
    Counting (`tokens`) and choosing (`cuts`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Literal

from attrs import field, frozen

from .arguments import need, need_one_of, need_whole, shown
from .errors import PolicyError
from .models import model_named
from .options import RUNGS, Admission, Clearing, Rung
from .protocol.profiles import profile_named
from .tokens import counter_for, estimate

__all__ = ["SMALLEST_SUMMARY_TOKENS", "Policy", "Sizes", "due", "sizes"]

SMALLEST_SUMMARY_TOKENS: Final = 256
"""Room that any summary needs; what is left without it cannot be reduced further."""

_HEADING_CHARS: Final = 64


def _positive(policy: Policy, attribute: Any, value: Any) -> None:
    del policy
    if value is not None or attribute.name == "window_tokens":
        need_whole(attribute.name, value, least=1)


def _percent(policy: Policy, attribute: Any, value: Any) -> None:
    del policy
    if value is not None:
        need_whole(attribute.name, value, least=1, most=100)


def _reserve(policy: Policy, attribute: Any, value: Any) -> None:
    if value is not None and (value.__class__ is not int or not 0 <= value < policy.window_tokens):
        window = policy.window_tokens
        raise PolicyError(attribute.name, f"0 to {window - 1} for a window of {window}, not {shown(value)}")


def _one_of(*choices: str) -> Callable[[Policy, Any, Any], None]:
    def check(policy: Policy, attribute: Any, value: Any) -> None:
        del policy
        need_one_of(attribute.name, value, choices)

    return check


def _callable(policy: Policy, attribute: Any, value: Any) -> None:
    del policy
    if not callable(value):
        raise PolicyError(attribute.name, f"something that can be called, not {shown(value)}")


def _boolean(policy: Policy, attribute: Any, value: Any) -> None:
    del policy
    need(attribute.name, value, bool, "True or False")


def _optional_text(policy: Policy, attribute: Any, value: Any) -> None:
    del policy
    if value is not None and not (isinstance(value, str) and value.strip()):
        raise PolicyError(attribute.name, f"the name of a language, not {shown(value)}")


def _optional_name(policy: Policy, attribute: Any, value: Any) -> None:
    del policy
    if value is not None and not (isinstance(value, str) and value.strip()):
        raise PolicyError(attribute.name, f"the name of a model, not {shown(value)}")


def _in_order(value: Any) -> Any:
    """Rungs in the order of the ladder; what is none is left to the validator."""
    named = isinstance(value, list | tuple | set | frozenset) and all(isinstance(rung, str) and rung in RUNGS for rung in value)
    return tuple(rung for rung in RUNGS if rung in value) if named else value


def _optional_rungs(policy: Policy, attribute: Any, value: Any) -> None:
    del policy
    if value is not None and not (isinstance(value, tuple) and value and all(rung in RUNGS for rung in value)):
        raise PolicyError(attribute.name, f"some of {', '.join(RUNGS)}, not {shown(value)}")


def _copied(value: Any) -> Any:
    """A mapping of our own (law L19); what is none is left to the validator."""
    return dict(value) if isinstance(value, Mapping) else value


def _listed(value: Any) -> Any:
    """A tuple of our own (law L19); what is no list is left to the validator."""
    return tuple(value) if isinstance(value, list | tuple) else value


def _texts(policy: Policy, attribute: Any, value: Any) -> None:
    del policy
    if not isinstance(value, tuple) or not all(isinstance(text, str) and text.strip() for text in value):
        raise PolicyError(attribute.name, f"texts in a list or a tuple, none of them blank, not {shown(value)}")
    if len(set(value)) < len(value):
        raise PolicyError(attribute.name, "texts, each once")


def _headings(policy: Policy, attribute: Any, value: Any) -> None:
    del policy
    if not isinstance(value, Mapping):
        raise PolicyError(attribute.name, f"headings by the keys of their sections, not {shown(value)}")
    for key, heading in value.items():
        is_line = isinstance(key, str) and isinstance(heading, str) and heading.isprintable() and heading == heading.strip("#:* ")
        if not is_line or not 0 < len(heading) <= _HEADING_CHARS or heading.casefold() == "changed files":
            raise PolicyError(attribute.name, f"one line of at most {_HEADING_CHARS} characters for each, not {shown(heading)}")


def _an(kind: type) -> Callable[[Policy, Any, Any], None]:
    def check(policy: Policy, attribute: Any, value: Any) -> None:
        del policy
        need(attribute.name, value, kind, f"an instance of {kind.__name__}")

    return check


def _optional_profile(policy: Policy, attribute: Any, value: Any) -> None:
    del policy, attribute
    if value is not None:
        profile_named(value)


@frozen(kw_only=True)
class Policy:
    """
    What the caller decides about compaction; a value, and a key where its counter can be one.

    Attributes:
        window_tokens: the model's window.
        reserve_tokens: room kept for the answer; a quarter of the window, at
            most 32,000, if not given.
        trigger_tokens: size above which compaction starts; three quarters of
            the budget if not given.
        trigger_percent: the same as a share, of what `trigger_of` says.
        trigger_of: what the trigger is a share or a number of: ``budget``,
            ``window`` (as rules of 80 per cent count), or ``history``, the
            messages alone.
        target_tokens: whole-request size it aims for; an upper bound, not a
            size to fill.
        tail_tokens: largest size of the part kept verbatim.
        tail_turns, tail_messages: how many turns or messages should be kept
            verbatim at least: they lengthen the tail as far as there is room,
            and never shorten it.
        step_cuts: whether a turn may be cut between its steps: ``when-needed``
            (one prompt followed by hundreds of steps is normal) or ``never``.
        retain_prompts: whether earlier prompts are quoted verbatim while they
            fit (law L8).
        list_changed_files: whether the files that calls wrote are listed behind
            the summary, in one reminder (law L23).
        auto: whether anything but ``when="now"`` may compact at all; off means off, on overflow too.
        rungs: which rungs of the ladder run; if not given, those for which a
            call brings what they need, and ``snip`` by `on_overflow` alone.  A
            call that names rungs itself goes before.
        digest_every_turns: after how many closed turns `digest` makes the
            digests that are due; none are made if not given.
        on_overflow: what is done when a provider said that the prompt is too
            long and nothing else helped: ``refuse``, or ``snip``, which drops
            the oldest turns with a marker.
        max_body_bytes, max_media: how many bytes a request body and how many
            pictures, documents and recordings it may have, where a provider
            limits them; more is due like a size above the trigger.
        pins: texts that stand verbatim in every compacted conversation, such as the orders of a session.  Blocks of the
            conversation itself are pinned by their places (``compact(pins=...)``).
        schema: the sections of the summary: ``full``, ``structured``,
            ``anchored`` or ``brief``.
        headings: what sections are called, by their keys, where that is not
            English: ``{"goal": "Цель"}``.
        language: in which language to summarise; the conversation's own if
            not given.
        summary_form: how a summariser is asked: ``serialised``, with a
            transcript of ours, or ``suffix``, with the agent's own request and
            the question behind it, which a provider may have in its cache.
        summariser_window_tokens: the window of the model that summarises, if
            it is another one.
        counter: counts the tokens of a text.
        admission: how large a tool's output may enter (see `admit`).
        clearing: which old outputs leave the conversation.
        model: the model's name, where the requests do not say it, or by a name that is not known.
        profile: how the provider wants the result, by name; the dialect's own
            way if not given.  It decides how the head is written, and the
            result is judged by it.

    Raises:
        PolicyError: on construction, for a value that is impossible or
            contradicts another.

    >>> Policy(window_tokens=200_000, reserve_tokens=200_000)
    Traceback (most recent call last):
        ...
    compactlib.errors.PolicyError: reserve_tokens: 0 to 199999 for a window of 200000, not 200000
    """

    window_tokens: int = field(validator=_positive)
    reserve_tokens: int | None = field(default=None, validator=_reserve)
    trigger_tokens: int | None = field(default=None, validator=_positive)
    trigger_percent: int | None = field(default=None, validator=_percent)
    trigger_of: Literal["budget", "window", "history"] = field(default="budget", validator=_one_of("budget", "window", "history"))
    target_tokens: int | None = field(default=None, validator=_positive)
    tail_tokens: int | None = field(default=None, validator=_positive)
    tail_turns: int | None = field(default=None, validator=_positive)
    tail_messages: int | None = field(default=None, validator=_positive)
    step_cuts: Literal["when-needed", "never"] = field(default="when-needed", validator=_one_of("when-needed", "never"))
    retain_prompts: bool = field(default=True, validator=_boolean)
    list_changed_files: bool = field(default=True, validator=_boolean)
    max_body_bytes: int | None = field(default=None, validator=_positive)
    max_media: int | None = field(default=None, validator=_positive)
    auto: bool = field(default=True, validator=_boolean)
    rungs: tuple[Rung, ...] | None = field(default=None, converter=_in_order, validator=_optional_rungs)
    digest_every_turns: int | None = field(default=None, validator=_positive)
    on_overflow: Literal["refuse", "snip"] = field(default="refuse", validator=_one_of("refuse", "snip"))
    schema: Literal["full", "structured", "anchored", "brief"] = field(
        default="full", validator=_one_of("full", "structured", "anchored", "brief")
    )
    pins: tuple[str, ...] = field(default=(), converter=_listed, validator=_texts)
    headings: Mapping[str, str] = field(factory=dict, converter=_copied, validator=_headings, hash=False)
    language: str | None = field(default=None, validator=_optional_text)
    summary_form: Literal["serialised", "suffix"] = field(default="serialised", validator=_one_of("serialised", "suffix"))
    summariser_window_tokens: int | None = field(default=None, validator=_positive)
    counter: Callable[[str], int] = field(default=estimate, validator=_callable)
    admission: Admission = field(default=Admission(), validator=_an(Admission))
    clearing: Clearing = field(default=Clearing(), validator=_an(Clearing))
    model: str | None = field(default=None, validator=_optional_name)
    profile: str | None = field(default=None, validator=_optional_profile)

    @classmethod
    def for_model(cls, name: str, **fields: Any) -> Policy:
        """
        The policy for a model by its name, as a request, a gateway or a cloud writes it.

        The window is that of the table in `compactlib.models`; the counter is
        that of the model's family.  Where the prompt alone is limited, the
        reserve is what the window has beyond that.  Whatever *fields* say goes
        before.

        Raises:
            PolicyError: the model is not known and *fields* do not hold
                ``window_tokens``, because a window is never guessed; or the
                fields contradict each other, or what is known of the model.

        >>> Policy.for_model("claude-sonnet-4-5-20250929").window_tokens, Policy.for_model("openai/gpt-5").reserve_tokens
        (200000, 128000)
        >>> Policy.for_model("my-own-model", window_tokens=64_000).window_tokens
        64000
        >>> Policy.for_model("my-own-model")
        Traceback (most recent call last):
            ...
        compactlib.errors.PolicyError: window_tokens: the window of 'my-own-model' is not known (pass window_tokens=...)
        """
        need("name", name, str, "the name of a model")
        model = model_named(name)
        if model is None:
            if fields.get("window_tokens") is None:
                raise PolicyError("window_tokens", f"the window of {name[:64]!r} is not known", hint="pass window_tokens=...")
            return cls(**{"model": name, **fields})
        known = {"window_tokens": model.window_tokens, "counter": counter_for(model.family), "model": name}
        chosen: dict[str, Any] = {**known, **fields}
        need_whole("window_tokens", chosen["window_tokens"], least=1)
        if model.input_tokens is not None:
            beyond = chosen["window_tokens"] - model.input_tokens
            reserve = chosen.get("reserve_tokens")
            if beyond > 0 and reserve is None:
                chosen["reserve_tokens"] = beyond
            elif isinstance(reserve, int) and reserve < beyond:
                limit = f"a prompt of {model.name} has at most {model.input_tokens} tokens"
                raise PolicyError("reserve_tokens", f"at least {beyond}, because {limit}, not {shown(reserve)}")
        return cls(**chosen)

    @classmethod
    def named(cls, name: str, **fields: Any) -> Policy:
        """
        The policy that stands under *name* in `compactlib.policies`; whatever *fields* say goes before.

        Raises:
            PolicyError: there is none of that name, or the fields contradict each other.

        >>> Policy.named("anchored", window_tokens=200_000).tail_turns
        2
        >>> Policy.named("leader", window_tokens=200_000)
        Traceback (most recent call last):
            ...
        compactlib.errors.PolicyError: policy: none is called 'leader' (did you mean ladder?)
        """
        from .policies import policy_fields  # here, because few who count tokens want a policy by its name

        return cls(**policy_fields(name, fields))

    def __attrs_post_init__(self) -> None:
        if self.trigger_tokens is not None and self.trigger_percent is not None:
            raise PolicyError("trigger_percent", "given beside trigger_tokens, which says the same in another way")
        if self.trigger_of == "history" and self.trigger_tokens is None:
            raise PolicyError("trigger_of", "the history has no size of its own to be a share of", hint="pass trigger_tokens=...")
        if self.trigger_of == "window" and self.trigger_tokens is not None:
            raise PolicyError("trigger_of", "a number of tokens is a number of tokens; 'window' is for trigger_percent")
        known = sizes(self, overhead_tokens=0)
        if self.trigger_tokens is not None and self.trigger_tokens >= known.budget:
            raise PolicyError("trigger_tokens", f"below the budget of {known.budget}, not {self.trigger_tokens}")
        if self.target_tokens is not None and self.target_tokens >= known.trigger:
            raise PolicyError("target_tokens", f"below the trigger of {known.trigger}, not {self.target_tokens}")
        if self.tail_tokens is not None and self.tail_tokens >= known.target:
            raise PolicyError("tail_tokens", f"below the target of {known.target}, not {self.tail_tokens}")


@frozen(kw_only=True)
class Sizes:
    """
    What follows from a policy for one conversation, in tokens.

    Attributes:
        window, reserve, budget: as in `Policy`; ``budget = window - reserve``.
        trigger: whole-request size above which compaction starts; it leaves
            room for one summary below the budget.
        clearing: whole-request size above which old outputs are cleared.
        overhead: system prompt and tool schemas.
        target: largest size of the whole request after compaction.
        room: what the target leaves for messages.
        summary: largest size of the summary.
        extras: allowance for pins, preamble, reminders and retained prompts.
        tail: largest size of the tail, the kept prompt of a step cut included;
            zero or less when pins and reminders leave nothing.
        tail_room: how large the tail could be if more of it were wished for.
        min_gain: what a compaction has to save to be worth a lost cache.
    """

    window: int
    reserve: int
    budget: int
    trigger: int
    clearing: int
    overhead: int
    target: int
    room: int
    summary: int
    extras: int
    tail: int
    tail_room: int
    min_gain: int

    @property
    def overhead_fits(self) -> bool:
        """Whether the overhead leaves enough below the trigger for any conversation."""
        return self.trigger - self.overhead >= self.budget // 16

    @property
    def asked_tokens(self) -> int:
        """How long a summary the summariser is asked for: less than what is accepted."""
        return self.summary - self.summary // 4


def sizes(policy: Policy, *, overhead_tokens: int, needed_tokens: int = 0) -> Sizes:
    """
    The sizes of one compaction.

    Args:
        policy: what the caller decided.
        overhead_tokens: what every request carries before the first message.
        needed_tokens: the real size of pins, preamble and reminders, which are
            kept even when they exceed the allowance.

    Raises:
        PolicyError: an argument is not what it is declared to be.

    >>> sizes(Policy(window_tokens=200_000, reserve_tokens=32_000), overhead_tokens=12_000).tail
    33600
    """
    need("policy", policy, Policy, "a Policy")
    need_whole("overhead_tokens", overhead_tokens)
    need_whole("needed_tokens", needed_tokens)
    window = policy.window_tokens
    reserve = min(32_000, window // 4) if policy.reserve_tokens is None else policy.reserve_tokens
    budget = window - reserve
    trigger = _trigger(policy, window, budget, overhead_tokens)
    below = max(trigger - overhead_tokens, 0)
    room = below * 3 // 5
    if policy.target_tokens is not None:
        room = min(max(policy.target_tokens - overhead_tokens, 0), below)
    summary = min(max(room // 5, SMALLEST_SUMMARY_TOKENS), room // 3, 16_000)
    extras = min(room // 10, 16_000)
    left = room - summary - max(extras, needed_tokens)
    wish = min(max(budget // 5, 20_000), max(100_000, budget // 10)) if policy.tail_tokens is None else policy.tail_tokens
    return Sizes(
        window=window,
        reserve=reserve,
        budget=budget,
        trigger=trigger,
        clearing=budget // 2 if policy.clearing.trigger_tokens is None else policy.clearing.trigger_tokens,
        overhead=overhead_tokens,
        target=overhead_tokens + room,
        room=room,
        summary=summary,
        extras=extras,
        tail=min(wish, left),
        tail_room=left,
        min_gain=budget // 20,
    )


def _trigger(policy: Policy, window: int, budget: int, overhead_tokens: int) -> int:
    """The whole-request size above which compaction starts; a summary still fits between it and the budget."""
    if policy.trigger_tokens is not None:
        wish = policy.trigger_tokens + (overhead_tokens if policy.trigger_of == "history" else 0)
    else:
        percent = 75 if policy.trigger_percent is None else policy.trigger_percent
        wish = (window if policy.trigger_of == "window" else budget) * percent // 100
    return min(wish, budget - 1 if policy.trigger_tokens is not None else budget - min(budget // 8, 16_000))


def due(policy: Policy, *, tokens: int, overhead_tokens: int) -> bool:
    """
    Whether a request of *tokens*, overhead included, is to be compacted before it is sent.

    Costs the same for every conversation: whoever keeps a running total
    (`tokens.Tally`) can ask before each request.

    Raises:
        PolicyError: an argument is not what it is declared to be.

    >>> policy = Policy(window_tokens=100_000, reserve_tokens=20_000, trigger_percent=80, trigger_of="window")
    >>> due(policy, tokens=70_000, overhead_tokens=5_000), due(policy, tokens=71_000, overhead_tokens=5_000)
    (False, True)
    """
    need_whole("tokens", tokens)
    return tokens > sizes(policy, overhead_tokens=overhead_tokens).trigger
