"""A command as a summariser: what it reads, what is taken of it, and that nothing of it stays behind."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from attrs import evolve

import compactlib as cl
from compactlib.errors import PolicyError, SummariserError
from compactlib.outcomes import Compacted, Refused
from compactlib.summaries.acceptance import Summary
from compactlib.summaries.rendering import SummaryRequest
from compactlib.summarisers import CommandSummariser
from compactlib.summarisers.command import PASSED_ON

REQUEST: Final = SummaryRequest(
    instructions="Write it down.",
    text="> hi \ud800 there 😀",
    context="",
    max_tokens=500,
    part=1,
    parts=1,
    attempt=1,
    previous="",
    prompt_version="v1",
    messages=(),
)

GOOD: Final = "## Goal\n- ship it\n## Orders, constraints and preferences\n(none)\n## Done\n- looked\n## Next step\n- go on\n"

Make = Callable[..., CommandSummariser]


@pytest.fixture
def python(tmp_path: Path) -> Make:
    """Makes a summariser of a small script."""

    def make(script: str, **settings: Any) -> CommandSummariser:
        path = tmp_path / "script.py"
        path.write_text(script, "utf-8")
        return CommandSummariser([sys.executable, str(path)], **settings)

    return make


def is_running(pid: int) -> bool:
    """Whether a process runs; one that has ended and is not reaped does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text("ascii", errors="replace").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


@pytest.fixture
def gone(tmp_path: Path) -> Iterator[Callable[[], bool]]:
    """Whether the process whose number a script wrote into ``pid`` has ended; it is ended afterwards in any case."""
    path = tmp_path / "pid"

    def has_ended() -> bool:
        for _ in range(200):
            if path.exists() and path.read_text("ascii") and not is_running(int(path.read_text("ascii"))):
                return True
            time.sleep(0.01)
        return False

    yield has_ended
    if path.exists() and path.read_text("ascii") and is_running(int(path.read_text("ascii"))):
        os.kill(int(path.read_text("ascii")), signal.SIGKILL)


# --- What is said and what is taken ----------------------------------------------------------------------------------


def test_text_is_read_and_text_is_taken(python: Make) -> None:
    """Instructions, an empty line, what is to be summarised; what cannot be written in UTF-8 is shown as missing."""
    reply = python("import sys; sys.stdout.write(sys.stdin.read())")(REQUEST)

    assert reply == Summary("Write it down.\n\n> hi \ufffd there 😀\n")


def test_json_is_read_and_json_is_taken(python: Make) -> None:
    """The request as one object, and everything that a `Summary` has."""
    script = """
import json, sys
asked = json.load(sys.stdin)
usage = {"input_tokens": len(asked["text"])}
print(json.dumps({"text": "|".join(sorted(asked)), "stop": "max_tokens", "tool_calls": 2, "usage": usage}))
"""
    reply = python(script, speaks="json")(REQUEST)

    assert reply.text == "attempt|instructions|max_tokens|part|parts|prompt_version|schema|text"
    assert (reply.stop, reply.tool_calls, reply.usage) == ("max_tokens", 2, {"input_tokens": len(REQUEST.text)})


@pytest.mark.parametrize(
    ("printed", "why"),
    [
        ("no json", "no JSON"),
        ('{"text": 5}', 'no object with a "text"'),
        ('["text"]', 'no object with a "text"'),
        ('{"text": "x", "tool_calls": "many"}', "no number"),
        ('{"text": "x", "text": "y"}', "no JSON"),
        ("[" * 100_000, "no JSON"),
    ],
)
def test_json_that_says_nothing_is_a_failure(python: Make, printed: str, why: str) -> None:
    with pytest.raises(SummariserError, match=why):
        python(f"print({printed!r})", speaks="json")(REQUEST)


def long_conversation() -> cl.Conversation:
    messages = [{"role": role, "content": f"{role} {n} " * 200} for n in range(40) for role in ("user", "assistant")]
    return cl.parse(messages, dialect="anthropic")


def test_it_serves_a_compaction(python: Make) -> None:
    """From the command line to the conversation, with the words of the command in it."""
    conversation = long_conversation()
    summarise = python(f"print({GOOD!r})")
    outcome = cl.compact(conversation, cl.Policy(window_tokens=16_000), summarise=summarise, when="now")

    assert isinstance(outcome, Compacted)
    assert "- looked" in outcome.summary


def test_what_it_fails_by_changes_nothing(python: Make) -> None:
    """Law L6, with the reason in words."""
    conversation = long_conversation()
    summarise = python("import sys; sys.exit('the disk is full')")
    outcome = cl.compact(conversation, cl.Policy(window_tokens=16_000), summarise=summarise, when="now")

    assert isinstance(outcome, Refused)
    assert (outcome.reason, outcome.conversation is conversation) == ("summary-failed:exception", True)
    assert "ended with status 1: the disk is full" in outcome.why


# --- How it may fail -------------------------------------------------------------------------------------------------


def test_an_exit_status_is_a_failure_whatever_was_printed(python: Make) -> None:
    """Half a summary is none; the last line of its complaint is shown, and does nothing to a terminal."""
    script = "import sys; print('## Goal'); print('first\\n\\x1b[2Jlast\\n', file=sys.stderr); sys.exit(3)"
    with pytest.raises(SummariserError) as caught:
        python(script)(REQUEST)

    assert str(caught.value).endswith(r"ended with status 3: \x1b[2Jlast")


def test_a_signal_is_named(python: Make) -> None:
    with pytest.raises(SummariserError, match="signal SIGTERM"):
        python("import os, signal; os.kill(os.getpid(), signal.SIGTERM)")(REQUEST)


def test_too_much_output_is_a_failure_and_no_wait(python: Make) -> None:
    """A command that never stops printing is ended at the limit."""
    with pytest.raises(SummariserError, match="more than 100,000 bytes"):
        python("while True: print('x' * 10_000)", limit_bytes=100_000)(REQUEST)


def test_complaints_without_end_are_read_and_forgotten(python: Make) -> None:
    """They fill no pipe, so they do not stop the command."""
    reply = python("import sys\nfor n in range(3_000): print('x' * 1_000, file=sys.stderr)\nprint('fine')")(REQUEST)

    assert reply.text == "fine\n"


def test_output_that_is_no_text_is_a_failure(python: Make) -> None:
    with pytest.raises(SummariserError, match="no UTF-8 at byte 2"):
        python(r"import sys; sys.stdout.buffer.write(b'ok\xff')")(REQUEST)


def test_a_command_need_not_read_what_it_is_given(python: Make) -> None:
    """A request larger than any pipe holds, and nobody reads it."""
    assert python("print('short')")(evolve(REQUEST, text="x" * 3_000_000)).text == "short\n"


def test_a_large_request_is_read_whole(python: Make) -> None:
    reply = python("import sys; print(len(sys.stdin.read()))")(evolve(REQUEST, text="x" * 3_000_000))

    assert int(reply.text) == 3_000_000 + len(REQUEST.instructions) + 3


def test_a_program_that_is_not_there_is_a_failure() -> None:
    with pytest.raises(SummariserError, match="cannot be started"):
        CommandSummariser(["/nowhere/at-all"])(REQUEST)


# --- That nothing stays behind ---------------------------------------------------------------------------------------

CHILD: Final = "import subprocess, sys, time\nchild = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
CHILD_NAMED: Final = CHILD + "open('pid', 'w').write(str(child.pid))\n"


def test_a_deadline_ends_the_whole_group(python: Make, tmp_path: Path, gone: Callable[[], bool]) -> None:
    """The command, and the child that it started."""
    with pytest.raises(TimeoutError, match="took more than 1 s"):
        python(CHILD_NAMED + "time.sleep(60)", timeout_seconds=1, directory=tmp_path)(REQUEST)

    assert gone()


def test_a_child_that_keeps_the_pipes_open_is_not_waited_for(python: Make, tmp_path: Path, gone: Callable[[], bool]) -> None:
    """The command is over when its first process is; what that printed counts."""
    reply = python(CHILD_NAMED + "print('done', flush=True)", timeout_seconds=30, directory=tmp_path)(REQUEST)

    assert reply.text == "done\n"
    assert gone()


def test_a_command_that_closes_its_pipes_and_goes_on_has_a_deadline_too(python: Make) -> None:
    with pytest.raises(TimeoutError):
        python("import os, time\nfor n in (0, 1, 2): os.close(n)\ntime.sleep(60)", timeout_seconds=1)(REQUEST)


def test_an_interrupt_ends_it(python: Make, tmp_path: Path, gone: Callable[[], bool], monkeypatch: pytest.MonkeyPatch) -> None:
    """What is no failure passes through, and the group is ended all the same."""
    import compactlib.summarisers.command as module

    def interrupted(process: Any) -> bool:
        if (tmp_path / "pid").exists() and (tmp_path / "pid").read_text("ascii"):
            raise KeyboardInterrupt
        return False

    monkeypatch.setattr(module, "_has_ended", interrupted)
    with pytest.raises(KeyboardInterrupt):
        python(CHILD_NAMED + "time.sleep(60)", timeout_seconds=30, directory=tmp_path)(REQUEST)

    assert gone()


# --- What it sees ----------------------------------------------------------------------------------------------------


def environment_of(make: Make, **settings: Any) -> dict[str, str]:
    """What a command sees; the interpreter itself may add a variable for the encoding."""
    reply = make("import json, os; print(json.dumps(dict(os.environ)))", **settings)(REQUEST)
    seen: dict[str, str] = json.loads(reply.text)
    return seen


def test_it_sees_the_variables_of_the_list_and_no_other(python: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key for something else is not handed over."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("LANG", "C.UTF-8")
    seen = environment_of(python)

    assert seen.keys() <= set(PASSED_ON) | {"LC_CTYPE", "__CF_USER_TEXT_ENCODING"}
    assert (seen["LANG"], seen["PATH"]) == ("C.UTF-8", os.environ["PATH"])
    assert not any("KEY" in name or "TOKEN" in name or "SECRET" in name for name in PASSED_ON)


def test_variables_that_are_named_are_seen(python: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    seen = environment_of(python, pass_on=[*PASSED_ON, "OPENAI_API_KEY", "NOT_SET"], environment={"MODE": "brief"})

    assert (seen["OPENAI_API_KEY"], seen["MODE"], "NOT_SET" in seen) == ("sk-secret", "brief", False)


def test_no_shell_takes_the_arguments_apart(tmp_path: Path) -> None:
    """What would mean something to a shell is one argument like any other."""
    hostile = f"; touch {tmp_path}/owned; $(touch {tmp_path}/owned) `x` && | > *"
    reply = CommandSummariser([sys.executable, "-c", "import sys; print(sys.argv[1])", hostile])(REQUEST)

    assert reply.text == hostile + "\n"
    assert list(tmp_path.iterdir()) == []


def test_nothing_of_a_conversation_is_an_argument(python: Make) -> None:
    reply = python("import sys; print(sys.argv[1:])")(REQUEST)

    assert reply.text == "[]\n"


# --- What is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "settings", "field"),
    [
        ("rm -rf /", {}, "arguments"),
        ([], {}, "arguments"),
        ([""], {}, "arguments"),
        (["x", 5], {}, "arguments"),
        (["x\0y"], {}, "arguments"),
        (["x"], {"speaks": "yaml"}, "speaks"),
        (["x"], {"timeout_seconds": 0}, "timeout_seconds"),
        (["x"], {"timeout_seconds": float("nan")}, "timeout_seconds"),
        (["x"], {"timeout_seconds": True}, "timeout_seconds"),
        (["x"], {"limit_bytes": 0}, "limit_bytes"),
        (["x"], {"environment": {"A": 1}}, "environment"),
        (["x"], {"directory": 5}, "directory"),
    ],
)
def test_what_cannot_be_run_is_refused_before_anything_runs(arguments: Any, settings: dict[str, Any], field: str) -> None:
    with pytest.raises(PolicyError) as caught:
        CommandSummariser(arguments, **settings)

    assert caught.value.field == field
