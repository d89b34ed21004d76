"""A large conversation for the benchmarks: 100,000 messages, about 33 MB, made here and always the same."""

from __future__ import annotations

import json
import random
from typing import Any

__all__ = ["large_body", "sorted_keys"]

_LINES = (
    "def resolve(self, path: Path) -> Iterator[Entry]:\n    for entry in sorted(path.iterdir()):\n        yield Entry(entry)\n",
    "2026-11-29T20:14:03.112Z INFO  [worker-3] finished batch 4182 in 93 ms (queue 17, retries 0)\n",
    '{"id": 48213, "name": "orders", "columns": ["id", "customer", "total"], "rows": 10312}\n',
    "The tests pass now; the timeout was too short for the slow path, so I raised it to 120 seconds.\n",
    "Проверил: миграция проходит, но индекс по дате создаётся слишком долго, нужно отдельным шагом.\n",
    "--- a/server/config.ts\n+++ b/server/config.ts\n@@ -12,7 +12,7 @@\n-  timeout: 30,\n+  timeout: 120,\n",
)


def large_body(count: int, dialect: str = "anthropic", *, seed: int = 7) -> dict[str, Any]:
    """A request body of *count* messages: turns of a few steps, most of the text in results."""
    draw = random.Random(seed)  # noqa: S311 - sample text, not a secret
    messages: list[dict[str, Any]] = []
    number = 0
    while len(messages) < count:
        messages.append({"role": "user", "content": _text(draw, 2)})
        for _ in range(draw.randint(2, 9)):
            number += 1
            messages += _step(draw, f"toolu_{number:08d}", dialect)
        messages.append({"role": "assistant", "content": _text(draw, 2)})
    return {"model": "m", "max_tokens": 1_000, "messages": messages[:count]}


def _text(draw: random.Random, lines: int) -> str:
    return "".join(draw.choice(_LINES) for _ in range(draw.randint(1, lines)))


def _step(draw: random.Random, name: str, dialect: str) -> list[dict[str, Any]]:
    said, answer = _text(draw, 1), _text(draw, 6)
    arguments = {"path": f"src/{name}.py", "limit": draw.randint(1, 500)}
    if dialect == "anthropic":
        call = {"type": "tool_use", "id": name, "name": "read", "input": arguments}
        return [
            {"role": "assistant", "content": [{"type": "text", "text": said}, call]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": name, "content": answer}]},
        ]
    function = {"name": "read", "arguments": json.dumps(arguments)}
    return [
        {"role": "assistant", "content": said, "tool_calls": [{"id": name, "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": name, "content": answer},
    ]


def sorted_keys(body: Any) -> Any:
    """The same body with the keys of every object sorted, as recorded bodies have them."""
    return json.loads(json.dumps(body, sort_keys=True))
