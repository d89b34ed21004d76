"""Shared fixtures: the handed corpus, Hypothesis profiles, and the order of the tests."""

from __future__ import annotations

import os
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
