"""
``python -m tests.bench [NAME...]``: run the benchmarks and print one table.

NAME is that of a module without ``bench_``; all of them are run by default.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

from . import Row


def names() -> tuple[str, ...]:
    """The benchmarks there are."""
    return tuple(path.stem.removeprefix("bench_") for path in sorted(Path(__file__).parent.glob("bench_*.py")))


def main(arguments: list[str]) -> int:
    """Run them; status 2 says that a name is not known."""
    unknown = [name for name in arguments if name not in names()]
    if unknown:
        print(f"no benchmark is called {', '.join(unknown)}; there is {', '.join(names())}", file=sys.stderr)
        return 2
    print(f"{'figure':>9}  {'what':<60}  remark")
    for name in arguments or names():
        rows: list[Row] = importlib.import_module(f"{__package__}.bench_{name}").run()
        for what, figure, remark in rows:
            print(f"{figure:9.3f}  {f'{name}: {what}':<60}  {remark}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
