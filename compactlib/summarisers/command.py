"""
A summariser that is any command.

What this is
    `CommandSummariser` starts a program for each request, gives it the request
    on standard input, and takes what it prints for the summary.

Rules it obeys
    * No shell: the arguments are a vector, and nothing of a conversation is
      ever among them.
    * The program sees an environment of its own: the variables of an allow
      list, and those that the caller names.  A key that the caller has for
      something else is not handed to whatever is called here.
    * It may print so much and take so long.  Whatever ends it, its whole
      process group ends with it; nothing that it started stays behind.
    * An exit status other than zero, too much output, and output that is no
      text are failures, in words: half a summary is none (law L6).
    * What it says on standard error is shown in part and without anything that
      acts on a terminal (law L25).

How it works
    One loop over the three pipes, with a deadline.  The command is over when
    its first process is: what that leaves running is ended, and what was
    printed until then counts.  The first process is reaped last, so that its
    number cannot belong to another group when the group is ended.

What is not here
    Windows: it has no process groups to end.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Final, Literal

from ..arguments import need, need_one_of, need_path, need_whole
from ..dialects.reading import loads
from ..errors import PolicyError, SummariserError, WireError
from ..summaries.acceptance import Summary
from ..summaries.rendering import SummaryRequest
from ..text import escape
from .asking import TIMEOUT_SECONDS, need_seconds, need_transcript, well_formed

__all__ = ["PASSED_ON", "CommandSummariser"]

PASSED_ON: Final = ("HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "TERM", "TMPDIR", "TZ", "USER")
"""The variables of the environment that a command sees, if they are set."""

_LIMIT_BYTES: Final = 4 << 20
_CHUNK_BYTES: Final = 1 << 16
_COMPLAINT_BYTES: Final = 2_000  # of standard error are kept, its end
_COMPLAINT_CHARS: Final = 200  # of it are shown
_LOOK_SECONDS: Final = 0.05  # how often it is looked whether the command has ended while its pipes are open


class CommandSummariser:
    """
    Answers a `SummaryRequest` by what a command prints.

    Spoken as ``text``, the command reads the instructions, an empty line, and
    what is to be summarised, and prints the summary.  Spoken as ``json``, it
    reads one object (``instructions``, ``text``, ``max_tokens``, ``part``,
    ``parts``, ``attempt``, ``schema``, ``prompt_version``) and prints one:
    ``text``, and if it likes ``usage``, ``stop`` and ``tool_calls``, as in `Summary`.

    Does not: repeat a command that failed, or find out what it costs.

    Attributes:
        arguments: the program and its arguments.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        *,
        speaks: Literal["text", "json"] = "text",
        timeout_seconds: float = TIMEOUT_SECONDS,
        limit_bytes: int = _LIMIT_BYTES,
        pass_on: Iterable[str] = PASSED_ON,
        environment: Mapping[str, str] | None = None,
        directory: str | os.PathLike[str] | None = None,
    ) -> None:
        """
        Make one.

        Args:
            arguments: the program and its arguments.
            speaks: ``text`` or ``json``.
            timeout_seconds: how long it may take.
            limit_bytes: how much it may print.
            pass_on: the variables that it sees of this process's environment.
            environment: further variables that it sees.
            directory: where it is started; here, if left out.

        Raises:
            PolicyError: an argument is not what it is declared to be, or this
                is no POSIX system.
        """
        if os.name != "posix":
            raise PolicyError("summariser", "a command needs a POSIX system, whose process groups can be ended")
        if isinstance(arguments, str | bytes) or not arguments or not all(isinstance(one, str) for one in arguments):
            raise PolicyError("arguments", "a program and its arguments, each a text", hint="no shell takes them apart")
        if not arguments[0] or any("\0" in one for one in arguments):
            raise PolicyError("arguments", "the name of a program, and no zero byte anywhere")
        need_one_of("speaks", speaks, ("text", "json"))
        need_seconds("timeout_seconds", timeout_seconds)
        need_whole("limit_bytes", limit_bytes, least=1)
        if directory is not None:
            need_path("directory", directory)
        given = {} if environment is None else environment
        need("environment", given, Mapping, "texts by name")
        names = [pass_on] if isinstance(pass_on, str) else list(pass_on)
        for text in (*names, *given, *given.values()):
            need("environment", text, str, "texts")
        self.arguments: Final = tuple(arguments)
        self._is_json: Final = speaks == "json"
        self._timeout_seconds: Final = timeout_seconds
        self._limit_bytes: Final = limit_bytes
        self._environment: Final = {**{name: os.environ[name] for name in names if name in os.environ}, **given}
        self._directory: Final = None if directory is None else Path(directory)

    def __call__(self, request: SummaryRequest) -> Summary:
        """
        The summary that the command prints.

        Raises:
            TimeoutError: it took too long.
            SummariserError: it could not be started, ended with a status that
                is not zero, printed too much, or nothing that can be read.
        """
        need_transcript(request)
        printed = self._run(_as_json(request) if self._is_json else _as_text(request))
        try:
            text = printed.decode()
        except UnicodeDecodeError as error:
            raise SummariserError(f"{self._name} printed what is no UTF-8 at byte {error.start}") from None
        return self._read(text) if self._is_json else Summary(text)

    @property
    def _name(self) -> str:
        return f"the command {escape(Path(self.arguments[0]).name)}"

    def _read(self, text: str) -> Summary:
        try:
            reply: Any = loads(text)
        except WireError as error:
            raise SummariserError(f"{self._name} printed no JSON: {error}") from None
        if not isinstance(reply, dict) or not isinstance(reply.get("text"), str):
            raise SummariserError(f'{self._name} printed no object with a "text"')
        calls = reply.get("tool_calls", 0)
        if type(calls) is not int or calls < 0:
            raise SummariserError(f'{self._name} printed "tool_calls" that are no number')
        return Summary(reply["text"], usage=reply.get("usage"), stop=str(reply.get("stop", "end")), tool_calls=calls)

    def _run(self, given: bytes) -> bytes:
        try:
            process = subprocess.Popen(  # noqa: S603 - the caller names the program; no shell, and nothing of a conversation in it
                self.arguments,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=self._directory,
                env=self._environment,
                start_new_session=True,
                bufsize=0,
            )
        except (OSError, ValueError) as error:
            raise SummariserError(f"{self._name} cannot be started: {error}") from None
        deadline = time.monotonic() + self._timeout_seconds
        try:
            printed, complaint = self._exchange(process, given, deadline)
            while not _has_ended(process):  # its pipes are closed, and it goes on
                if time.monotonic() > deadline:
                    raise self._late()
                time.sleep(_LOOK_SECONDS / 5)
        finally:
            _end_group(process)
        if process.returncode:
            raise SummariserError(f"{self._name} ended with {_status(process.returncode)}{_last_words(complaint)}")
        return printed

    def _late(self) -> TimeoutError:
        return TimeoutError(f"{self._name} took more than {self._timeout_seconds:g} s")

    def _exchange(self, process: subprocess.Popen[bytes], given: bytes, deadline: float) -> tuple[bytes, bytes]:
        """Write what is given and read what is printed and complained, until the command has ended or its pipes are closed."""
        printed, complaint = bytearray(), bytearray()
        left = memoryview(given)
        with selectors.DefaultSelector() as waiting:
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream is not None:
                    os.set_blocking(stream.fileno(), False)
                    waiting.register(stream, selectors.EVENT_WRITE if stream is process.stdin else selectors.EVENT_READ, stream)
            ended = False
            while waiting.get_map():
                if time.monotonic() > deadline:
                    raise self._late()
                ready = [(key.data, key.events) for key, _ in waiting.select(0 if ended else _LOOK_SECONDS)]
                if not ready and ended:  # all that it wrote has been read
                    break
                ended = ended or (not ready and _has_ended(process))
                for stream, events in ready:
                    if events == selectors.EVENT_WRITE:
                        left = _write(stream, left)
                        goes_on = len(left) > 0
                    else:
                        goes_on = _read_some(stream, printed if stream is process.stdout else complaint)
                    if not goes_on:
                        waiting.unregister(stream)
                        stream.close()
                if len(printed) > self._limit_bytes:
                    raise SummariserError(f"{self._name} printed more than {self._limit_bytes:,} bytes")
                del complaint[:-_COMPLAINT_BYTES]
        return bytes(printed), bytes(complaint)


def _as_text(request: SummaryRequest) -> bytes:
    return well_formed(f"{request.instructions}\n\n{request.text}\n").encode()


def _as_json(request: SummaryRequest) -> bytes:
    names = ("instructions", "text", "max_tokens", "part", "parts", "attempt", "schema", "prompt_version")
    return (json.dumps({name: getattr(request, name) for name in names}) + "\n").encode("ascii")


def _write(stream: IO[bytes], left: memoryview) -> memoryview:
    """What is left to be written; nothing, if nobody reads on."""
    try:
        return left[os.write(stream.fileno(), left[:_CHUNK_BYTES]) :]
    except BlockingIOError:
        return left
    except BrokenPipeError:  # a command need not read all of it
        return left[:0]


def _read_some(stream: IO[bytes], into: bytearray) -> bool:
    """Read what is there; whether there may be more."""
    with suppress(BlockingIOError):
        some = os.read(stream.fileno(), _CHUNK_BYTES)
        into += some
        return bool(some)
    return True


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Whether the first process has ended; it is left unreaped, where the system can."""
    if not hasattr(os, "waitid"):
        return process.poll() is not None
    try:
        return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:  # whoever runs us wants no word of children, and the system has reaped it
        return True


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """End all that the command started, then reap its first process."""
    with suppress(ProcessLookupError, PermissionError):  # the group is empty; on macOS, of zombies
        os.killpg(process.pid, signal.SIGKILL)
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            with suppress(OSError):
                stream.close()
    process.wait()


def _status(code: int) -> str:
    if code > 0:
        return f"status {code}"
    try:
        return f"signal {signal.Signals(-code).name}"
    except ValueError:
        return f"signal {-code}"


def _last_words(complaint: bytes) -> str:
    """The last line of what it complained."""
    lines = complaint.decode(errors="replace").split("\n")
    last = next((line.strip() for line in reversed(lines) if line.strip()), "")
    return f": {escape(last[:_COMPLAINT_CHARS])}" if last else ""
