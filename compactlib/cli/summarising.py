"""
The summariser on the command line.

What this is
    `summariser_options`, and `Metered`, the summariser that they come to
    together with what was asked of it.

    ============================ ==================================================
    ``extractive``               the text itself; no model is called
    ``command:PROGRAM ARGS``     a program that reads text and prints text
    ``command-json:PROGRAM ARGS`` the same in JSON
    ``anthropic:MODEL``          a model, by the SDK and the key that it finds
    ``openai:MODEL``             the same; with ``--base-url`` a compatible server
    ============================ ==================================================

Rules it obeys
    * What is run or asked is named on the command line and nowhere else: not
      in a project's file, which belongs to whoever wrote the repository, and
      not in a variable.
    * No key is an option, because a command line is seen by others.
    * An option that would have no effect is wrong usage.

What is not here
    The summarisers: `compactlib.summarisers`.
"""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

import click
from attrs import frozen

from ..driving import Summarise
from ..summaries.acceptance import Summary
from ..summaries.extractive import Extractive
from ..summaries.rendering import SummaryRequest
from ..tokens import Counter

__all__ = ["Asked", "Metered", "asked_given", "summariser_options"]

_Command = TypeVar("_Command", bound=Callable[..., Any])

_KEY: Final = "compactlib.summariser"  # in the context
_KINDS: Final = ("extractive", "command", "command-json", "anthropic", "openai")
_COMMANDS: Final = ("command", "command-json")
_MODELS: Final = ("anthropic", "openai")


@frozen
class Asked:
    """
    Who is asked for the summary.

    Attributes:
        name: as it is told; the program of a command without its arguments.
        summarise: whoever answers.
        is_model: whether a model or a program answers, and not the text itself.
    """

    name: str
    summarise: Summarise
    is_model: bool


class Metered:
    """A summariser, and what was asked of it."""

    def __init__(self, asked: Asked, counter: Counter) -> None:
        self.asked: Final = asked
        self.requests = self.read_tokens = self.written_tokens = 0
        self.usage: dict[str, int] = {}
        self._counter = counter

    def __call__(self, request: SummaryRequest) -> str | Summary:
        self.requests += 1
        self.read_tokens += self._counter(request.instructions) + self._counter(request.text)
        reply = self.asked.summarise(request)
        self.written_tokens += self._counter(reply.text if isinstance(reply, Summary) else reply)
        usage = reply.usage if isinstance(reply, Summary) else None
        for name, figure in usage.items() if isinstance(usage, Mapping) else ():
            if type(figure) is int:
                self.usage[str(name)] = self.usage.get(str(name), 0) + figure
        return reply


def _remember(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    if value not in (None, ()):
        ctx.meta.setdefault(_KEY, {})[param.name] = value


def _option(*names: str, **settings: Any) -> Callable[[_Command], _Command]:
    return click.option(*names, expose_value=False, callback=_remember, **settings)


_OPTIONS: Final = (
    _option(
        "--summariser",
        "summariser",
        metavar="WHO",
        help="extractive, command:'PROGRAM ARGS', command-json:'PROGRAM ARGS', anthropic:MODEL or openai:MODEL."
        "  [default: extractive]",
    ),
    _option("--base-url", "base_url", metavar="URL", help="Where the model is, if it is not where the SDK looks."),
    _option("--timeout", "timeout_seconds", type=float, metavar="SECONDS", help="How long one answer may take.  [default: 300]"),
    _option(
        "--pass-env", "pass_on", metavar="VARIABLE", multiple=True, help="A variable that the program sees; may be repeated."
    ),
)


def summariser_options(command: _Command) -> _Command:
    """``--summariser`` and what belongs to it."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def asked_given(*, counter: Counter) -> Asked:
    """
    Who is asked, by the options of the running command.

    Raises:
        click.UsageError: they name nobody, or contradict each other.
        PolicyError: the package or the key that is needed is not there.
    """
    context = click.get_current_context()
    given = dict(context.meta.get(_KEY, {}))
    who = given.pop("summariser", "extractive")
    kind, colon, rest = who.partition(":")
    if kind not in _KINDS or (kind == "extractive") == bool(colon) or (colon and not rest.strip()):
        raise click.UsageError(
            f"--summariser {who!r} is none of extractive, command:'PROGRAM ARGS', command-json:'PROGRAM ARGS', "
            "anthropic:MODEL and openai:MODEL",
            context,
        )
    for field, option, kinds in (
        ("base_url", "--base-url", _MODELS),
        ("timeout_seconds", "--timeout", (*_COMMANDS, *_MODELS)),
        ("pass_on", "--pass-env", _COMMANDS),
    ):
        if field in given and kind not in kinds:
            raise click.UsageError(f"{option} has no effect on --summariser {kind}", context)
    if kind == "extractive":
        return Asked(kind, Extractive(counter=counter), is_model=False)
    if kind in _COMMANDS:
        return _command(kind, rest, given, context)
    return _model(kind, rest.strip(), given)


def _command(kind: str, line: str, given: dict[str, Any], context: click.Context) -> Asked:
    from ..summarisers.command import PASSED_ON, CommandSummariser

    try:
        arguments = shlex.split(line)
    except ValueError as error:
        raise click.UsageError(f"--summariser {kind}:... cannot be taken apart: {error}", context) from error
    if not arguments or shutil.which(arguments[0]) is None:
        program = arguments[0] if arguments else ""
        raise click.UsageError(f"--summariser {kind}:... names the program {program!r}, and there is none", context)
    speaks: Any = "json" if kind == "command-json" else "text"
    passed = (*PASSED_ON, *given.pop("pass_on", ()))
    return Asked(f"{kind}:{arguments[0]}", CommandSummariser(arguments, speaks=speaks, pass_on=passed, **given), is_model=True)


def _model(kind: str, model: str, given: dict[str, Any]) -> Asked:
    from .. import summarisers

    made = summarisers.AnthropicSummariser if kind == "anthropic" else summarisers.OpenAISummariser
    return Asked(f"{kind}:{model}", made(model, **given), is_model=True)
