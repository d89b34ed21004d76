"""
Makes the example session and the example chat of this folder.

    python spec/examples/make.py            # write migration.jsonl and chat.json
    python spec/examples/make.py --check    # exit status 1 if they are not what this would write

`project` holds the invented project, `desk` the tools and the log, `story` what is said and done.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from story import chat, session  # noqa: E402  # a script: its neighbours are found after the line above


def outputs() -> dict[str, str]:
    """The files by name."""
    return {
        "migration.jsonl": "".join(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n" for line in session()),
        "chat.json": json.dumps(chat(), ensure_ascii=False, indent=1) + "\n",
    }


def main(arguments: list[str]) -> int:
    stale = []
    for name, text in outputs().items():
        place = HERE / name
        if arguments != ["--check"]:
            place.write_text(text, "utf-8")
        elif not place.exists() or place.read_text("utf-8") != text:
            stale.append(name)
    for name in stale:
        sys.stderr.write(f"{name} is not what make.py writes\n")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
