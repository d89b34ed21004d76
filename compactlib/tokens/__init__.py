"""
How large things are: texts, blocks, messages, requests.

What this is
    The package for whoever counts.  Everything here is a function of its
    arguments; nothing is sent, read from disk, or remembered between calls but
    by a `Memo`.

    | module | what it is |
    | --- | --- |
    | `estimator` | the offline counter of texts, and one for each family of models |
    | `media` | pictures, documents, sound: by the providers' own rules |
    | `counting` | blocks, messages, requests; the memo and the running total |
    | `usage` | what a provider reported, and counting on from there |
    | `division` | the shares of a request, kind by kind |

Rules it obeys
    * Sizes are sums over blocks plus a constant for each message.
    * A counter is any ``Callable[[str], int]``; one that misbehaves ends in a
      `PolicyError`, never in another exception and never in a wrong sum.

What is not here
    What may be kept of it: `compactlib.budget`.
"""

from __future__ import annotations

from .counting import MESSAGE_TOKENS, Memo, Tally, block_tokens, message_tokens, tool_tokens
from .division import divide
from .estimator import FAMILIES, Counter, counter_for, estimate
from .media import MediaSize, media_size
from .usage import Anchor, AskCount, Corrected, Usage, read_usage

__all__ = [
    "FAMILIES",
    "MESSAGE_TOKENS",
    "Anchor",
    "AskCount",
    "Corrected",
    "Counter",
    "MediaSize",
    "Memo",
    "Tally",
    "Usage",
    "block_tokens",
    "counter_for",
    "divide",
    "estimate",
    "media_size",
    "message_tokens",
    "read_usage",
    "tool_tokens",
]
