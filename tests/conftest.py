"""Shared fixtures: the handed corpus, the command, Hypothesis profiles, and the order of the tests."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("ci", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True, print_blob=True)
settings.register_profile("dev", deadline=None, max_examples=50)
settings.load_profile("ci" if os.environ.get("CI") else "dev")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The long ones first, so that at the end no worker waits for another; with ``-n`` and ``--dist load``."""
    items.sort(key=lambda item: item.get_closest_marker("exhaustive") is None)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with real transcripts, recorded requests and handed cases."""
    place = os.environ.get("COMPACTLIB_SHARED")
    if not place:
        pytest.skip("COMPACTLIB_SHARED is not set: real transcripts and recorded requests are not here")
    return Path(place)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, str, str]]:
    """Runs a command line and gives back status, output and errors."""
    from compactlib.cli import main  # here, because few tests need it

    def run_command(*arguments: str | Path, given: bytes = b"") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given), "utf-8"))
        status = main([str(argument) for argument in arguments])
        said = capsys.readouterr()
        return status, said.out, said.err

    return run_command
