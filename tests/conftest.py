"""Shared fixtures: the handed corpus, and Hypothesis profiles."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("ci", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True, print_blob=True)
settings.register_profile("dev", deadline=None, max_examples=50)
settings.load_profile("ci" if os.environ.get("CI") else "dev")


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with real transcripts, recorded requests and handed cases."""
    place = os.environ.get("COMPACTLIB_SHARED")
    if not place:
        pytest.skip("COMPACTLIB_SHARED is not set: real transcripts and recorded requests are not here")
    return Path(place)
