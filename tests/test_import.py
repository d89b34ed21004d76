"""`import compactlib` is light, and stays light until more is asked for."""

from __future__ import annotations

import subprocess
import sys
from typing import Final

import pytest

import compactlib

HEAVY: Final = ("attr", "attrs", "cattrs", "click", "hypothesis", "json", "re", "regex", "rich", "typing")
WINGS: Final = ("cli", "conformance", "evaluation", "integrations", "summarisers", "transcripts")


def loaded_by(code: str) -> set[str]:
    """The modules that *code* loads in a fresh interpreter beyond those that it starts with."""
    script = f"import sys\nbefore = set(sys.modules)\n{code}\nprint(*sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_import_loads_one_module_of_ours() -> None:
    """The package itself, and none of its rooms."""
    ours = {name for name in loaded_by("import compactlib") if name.split(".")[0] == "compactlib"}

    assert ours == {"compactlib"}


def test_import_loads_nothing_heavy() -> None:
    """Neither attrs nor cattrs nor regex nor what the command needs."""
    loaded = loaded_by("import compactlib")

    assert {name for name in HEAVY if name in loaded} - loaded_by("import importlib, typing") == set()


@pytest.mark.parametrize("name", sorted(set(compactlib.__all__) - {"load"}))
def test_public_name_loads_no_wing(name: str) -> None:
    """Using a name of the core loads no wing, no cattrs and no regex."""
    loaded = loaded_by(f"import compactlib; compactlib.{name}")
    wings = {module for module in loaded if module.startswith(tuple(f"compactlib.{wing}" for wing in WINGS))}

    assert wings == set()
    assert loaded & {"cattrs", "regex", "click", "rich"} == set()


def test_compaction_loads_no_wing() -> None:
    """The main job, done whole, gets by with attrs, the standard library, and regex where it is installed."""
    loaded = loaded_by(
        "import compactlib as cl\n"
        "messages = [{'role': role, 'content': f'{role} {n} ' * 400} for n in range(40) for role in ('user', 'assistant')]\n"
        "conversation = cl.parse(messages, dialect='anthropic')\n"
        "assert isinstance(cl.compact(conversation, cl.Policy(window_tokens=32_000), when='now'), cl.Compacted)"
    )
    third_party = {name.split(".")[0] for name in loaded} - sys.stdlib_module_names - {"compactlib", "attr", "attrs", "regex"}

    assert third_party == set()
    assert {name for name in loaded if name.startswith(tuple(f"compactlib.{wing}" for wing in WINGS))} == set()


def test_directory_lists_the_public_names() -> None:
    """`dir` shows every public name and the version."""
    assert set(dir(compactlib)) == {*compactlib.__all__, "__version__"}


def test_unknown_name_is_an_attribute_error() -> None:
    """A name that is not there is refused as Python refuses it."""
    with pytest.raises(AttributeError, match="'compactlib' has no attribute 'compress'"):
        compactlib.compress  # type: ignore[attr-defined]  # noqa: B018  # a type checker refuses it too; being looked up is all
