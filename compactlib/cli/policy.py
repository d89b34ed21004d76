"""
The policy on the command line.

What this is
    `policy_options`, one option for each field that a person would set for one
    file, `policy_given`, the policy that they come to, and `policy_for`, the
    same with the model that a session names.

Rules it obeys
    * A name gives fields and single options go before them, as in
      `Policy.named`; what contradicts itself is refused by the policy's own
      words.
    * A window is never guessed: it is given, or known of the model that is
      named.
    * Nothing of it is read from a project's file.

How it works
    Each option puts its value into the context of the command, so a command
    takes all of them without naming one.

What is not here
    What the fields mean: `compactlib.budget`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

import click
from attrs import evolve

from ..budget import Policy
from ..models import model_named
from ..policies import POLICIES
from ..summaries.schema import SCHEMAS
from ..tokens import Counter
from ..transcripts.drafts import Transcript
from .options import size

__all__ = ["policy_for", "policy_given", "policy_options"]

_Command = TypeVar("_Command", bound=Callable[..., Any])

_KEY: Final = "compactlib.policy"  # in the context
_NAME: Final = "policy"


def _trigger(text: str) -> tuple[str, int]:
    """A size, or a share: the field that it is, and its value."""
    share = text.strip().removesuffix("%")
    if share == text.strip():
        return "trigger_tokens", size(text)
    if not (share.isascii() and share.isdecimal() and len(share) <= 3):
        raise click.BadParameter(f"{text!r} is no share; write 75% or a size")
    return "trigger_percent", int(share)


def _remember(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    if value is None:
        return
    field, given = value if isinstance(value, tuple) else (str(param.name), value)
    ctx.meta.setdefault(_KEY, {})[field] = given


def _remember_all(ctx: click.Context, param: click.Parameter, value: tuple[Any, ...]) -> None:
    if value:
        ctx.meta.setdefault(_KEY, {})[str(param.name)] = value


def _option(*names: str, **settings: Any) -> Callable[[_Command], _Command]:
    return click.option(*names, expose_value=False, callback=_remember, **settings)


_OPTIONS: Final = (
    _option("--policy", _NAME, metavar="NAME", help=f"One of {', '.join(POLICIES)}; the options below go before it."),
    _option("--model", "model", metavar="NAME", help="The model that is asked, where FILE does not say it."),
    _option(
        "--window", "window_tokens", type=size, help="The model's window: 32k, 200k, 1M.  [default: what is known of --model]"
    ),
    _option("--reserve", "reserve_tokens", type=size, help="Room for the answer.  [default: a quarter, at most 32k]"),
    _option("--trigger", "trigger", type=_trigger, metavar="SIZE|N%", help="From which size on it is due.  [default: 75%]"),
    _option("--trigger-of", "trigger_of", type=click.Choice(["budget", "window", "history"]), help="What the trigger is of."),
    _option("--target", "target_tokens", type=size, help="What the whole request is to have at most."),
    _option("--tail", "tail_tokens", type=size, help="How much is kept verbatim at most."),
    _option("--tail-turns", "tail_turns", type=int, help="How many turns should be kept."),
    _option("--tail-messages", "tail_messages", type=int, help="How many messages should be kept."),
    _option("--step-cuts", "step_cuts", type=click.Choice(["when-needed", "never"]), help="Whether a turn may be cut."),
    click.option(
        "--pin",
        "pins",
        metavar="TEXT",
        multiple=True,
        expose_value=False,
        callback=_remember_all,
        help="A text that stays verbatim; may be repeated.",
    ),
    _option("--schema", "schema", type=click.Choice(sorted(SCHEMAS)), help="The sections of the summary."),
    _option("--language", "language", metavar="NAME", help="The language of the summary.  [default: the conversation's]"),
    _option("--summariser-window", "summariser_window_tokens", type=size, help="The window of the model that summarises."),
)


def policy_options(command: _Command) -> _Command:
    """``--policy``, ``--window`` and the other fields of a policy."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def policy_given(*, counter: Counter, profile: str | None) -> Policy:
    """
    The policy that the options of the running command come to.

    Raises:
        click.UsageError: no window is given, and none is known of the model.
        PolicyError: there is none of that name, or the options contradict each other.
    """
    given = dict(click.get_current_context().meta.get(_KEY, {}))
    name = given.pop(_NAME, None)
    if "window_tokens" not in given:
        given |= _sizes_of_model(given)
    fields = {**given, "counter": counter, "profile": profile}
    return Policy(**fields) if name is None else Policy.named(name, **fields)


def _sizes_of_model(given: Mapping[str, Any]) -> dict[str, int | None]:
    """The window of the model that is named, and the reserve where its prompt is limited (`Policy.for_model`)."""
    model = given.get("model")
    if model is None:
        raise click.UsageError("the size of the window is due: --window SIZE, or --model NAME", click.get_current_context())
    if model_named(model) is None:
        raise click.UsageError(f"the window of {model[:64]!r} is not known: --window SIZE", click.get_current_context())
    reserve = given.get("reserve_tokens")
    known = Policy.for_model(model, **({} if reserve is None else {"reserve_tokens": reserve}))
    return {"window_tokens": known.window_tokens, "reserve_tokens": known.reserve_tokens}


def policy_for(transcript: Transcript, policy: Policy) -> Policy:
    """The policy, with the model that a session names where neither its request nor the options do."""
    model = transcript.meta.get("model")
    is_said = policy.model is not None or isinstance(transcript.conversation.setting("model"), str)
    return policy if is_said or not isinstance(model, str) or not model.strip() else evolve(policy, model=model)
