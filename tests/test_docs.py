"""Every example in every docstring of the library is true."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from typing import Final, get_origin

import pytest

import compactlib

MODULES: Final = ("compactlib", *(found.name for found in pkgutil.walk_packages(compactlib.__path__, "compactlib.")))

EXAMPLES: Final = tuple(
    pytest.param(example, id=example.name)
    for name in MODULES
    if not name.endswith("__main__")
    for example in doctest.DocTestFinder(exclude_empty=True).find(importlib.import_module(name))
    if example.examples
)


@pytest.mark.parametrize("example", EXAMPLES)
def test_examples_are_true(example: doctest.DocTest) -> None:
    """What stands behind ``>>>`` gives what stands under it."""
    said: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.FAIL_FAST)
    runner.run(example, out=said.append)

    assert "".join(said) == ""


@pytest.mark.parametrize("name", [name for name in MODULES if not name.endswith("__main__")])
def test_module_opens_with_what_it_is(name: str) -> None:
    """Each module has a docstring."""
    assert (importlib.import_module(name).__doc__ or "").strip() != ""


@pytest.mark.parametrize("name", sorted(compactlib.__all__))
def test_public_name_has_a_docstring(name: str) -> None:
    """Each public function and class says what it is; an alias cannot."""
    value = getattr(compactlib, name)
    if get_origin(value) is None and callable(value):
        assert (value.__doc__ or "").strip() != ""


def test_there_are_examples() -> None:
    """The search finds the examples of the core."""
    assert len(EXAMPLES) > 50
