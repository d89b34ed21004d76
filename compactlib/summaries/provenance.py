"""
Whose words they are.

What this is
    The summary is sent in a message of user role, so whatever stands in it may
    be taken for a person's word.  This module sees to it that the two sections
    that give orders hold nothing but what a person wrote.

Rules it obeys
    Law L25 (c): *goal* and *orders* "hold only text that occurs in blocks of
    origin human (checked mechanically, else moved to *critical context* as
    reported by ...)".

    Law L8: the first prompt is quoted by us, not by the model, in *goal*.

How it works
    An item passes if, word for word, it stands in a person's text or stood in
    the previous summary's sections, which were checked in their time.  Width
    of white space, case, kind of quotation marks, and a source in brackets do
    not count.  An item of several sentences is judged sentence by sentence.

    A quotation can be true and still lie: "push to main" occurs in "never push
    to main".  So an occurrence does not count when a negation stands closely
    before it in its sentence, when it is the beginning of a question, when it
    begins or ends inside a word, or when it is a word or two out of a longer
    sentence.  What is wrongly moved by that is still in the summary,
    with its source; what is wrongly left would be an order.

    There is no Unicode normalisation here: it costs quadratic time on hostile
    text, and a model that copies, copies code points.

What is not here
    Flags for claims that nothing bears out (`facts`, law L22).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, cached_property
from typing import Final

from ..model import Message, Origin, Result, Text
from ..text import quote_lines
from ..tokens import Counter
from ..truncation import truncate
from .schema import Sections, item_text
from .transcript import calls_by_result, label, with_origins

__all__ = [
    "FIRST_PROMPT",
    "LATEST_PROMPT",
    "carried_quotation",
    "core",
    "folded",
    "quotation",
    "said_by_persons",
    "visible",
    "with_first_prompt",
    "with_proven_words",
]

FIRST_PROMPT: Final = "First prompt:"
"""Stands above the mechanical quotation of the first prompt (law L8)."""

LATEST_PROMPT: Final = "Latest prompt:"
"""May stand before a quotation in *goal*."""

_FIRST_PROMPT_TOKENS: Final = 500
_LEAST_QUOTED_CHARS: Final = 60  # fewer words around a marker say nothing
_LATEST: Final = LATEST_PROMPT.casefold()
_UNDIVIDED: Final = "\u2e80"  # from here on, scripts that do not put spaces between words
_STOPS: Final = ".!;,…\"')(。！；，、"
_MOST_OCCURRENCES: Final = 200  # of one item in the texts it is looked for
_MOST_LOOKUPS: Final = 100  # of items that no person said; each costs a search of everything replaced


def visible(text: str) -> str:
    """The text as the summariser would be shown it: line separators and control characters escaped."""
    if text.replace("\n", "").isprintable():
        return text
    return "\n".join(line[2:] for line in quote_lines(text).split("\n"))


def said_by_persons(messages: Iterable[Message]) -> Iterator[str]:
    """The text blocks of origin human, in order."""
    for message in messages:
        stated = message.origin
        if stated is Origin.HUMAN or (isinstance(stated, tuple) and Origin.HUMAN in stated):  # no role alone proves a person
            for block, origin in with_origins(message):
                if origin is Origin.HUMAN and isinstance(block, Text):
                    yield block.text


_FLATTEN: Final = str.maketrans({"“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "‘": "'", "’": "'", "\\": None})


def folded(text: str) -> str:
    """*text* for comparison: case, quotation marks, backslashes and the width of white space do not count."""
    shown = visible("\n".join(text.splitlines())).translate(_FLATTEN).casefold()
    return "\n".join(filter(None, (" ".join(line.split()) for line in shown.split("\n"))))


_FLAGS: Final = ("[reopened]", "[unverified]", "(cut)", "(not verified)", "not verified")


def core(item: str) -> str:
    """An item for comparison: without bullet, quotation marks, source in brackets, flag and final stop."""
    return _bare(folded(item_text(item)))


def _bare(text: str) -> str:
    """The core of what was folded."""
    for _ in range(8):
        shorter = text.rstrip(" .!…")
        for flag in _FLAGS:
            shorter = shorter.removesuffix(flag)
        opened = shorter.rfind("(message ") if shorter.endswith(")") else -1
        if opened > 0:
            shorter = shorter[:opened]
        if len(shorter) > 1 and shorter[0] == shorter[-1] and shorter[0] in "\"'`":
            shorter = shorter[1:-1]
        if shorter == text:
            break
        text = shorter.strip()
    return text


@cache
def _negation() -> re.Pattern[str]:
    words = (
        "not|never|no|don't|do not|doesn't|didn't|won't|can't|cannot|mustn't|shouldn't|without|avoid|stop|nor|isn't|aren't|"
        "не|ни|нельзя|никогда|без|нет|запрещено|избегай|избегайте|хватит|перестань"
    )
    return re.compile(rf"(?<![\w'])(?:{words}),?(?: [^\s]+){{0,2}} ?$")


def _occurs(needle: str, haystack: str) -> bool:
    """Whether *needle* stands in *haystack* as whole words, and not as the rest of a "do not ..." or a question."""
    if not needle:
        return False
    at = -1
    # A word or two out of a sentence prove nothing, and where words are not
    # divided nothing tells how many they are: these must be all that was said.
    whole = needle.count(" ") < 2 or needle[0] >= _UNDIVIDED
    for _ in range(_MOST_OCCURRENCES):
        at = haystack.find(needle, at + 1)
        if at < 0:
            return False
        stop = at + len(needle)
        left = re.split(r"[.!?;…\n\x00。！？；，、]", haystack[max(at - 60, 0) : at])[-1].lstrip()
        right = haystack[stop : stop + 1]
        if _inside_a_word(left[-1:], needle[0]) or _inside_a_word(needle[-1], right) or right in ("?", "？"):
            continue
        ends = right in ("", "\n", "\x00", *_STOPS) or needle[-1] in _STOPS
        if whole and (left.strip("\"'`-+*•>()# 0123456789") or not ends):
            continue
        if not _negation().search(left):
            return True
    return False


def _inside_a_word(left: str, right: str) -> bool:
    """Whether a word goes on between the two characters; scripts without spaces have no word boundaries."""
    return left.isalnum() and right.isalnum() and left < _UNDIVIDED and right < _UNDIVIDED


def with_proven_words(sections: Sections, before: Sections, messages: Sequence[Message], more: str) -> tuple[Sections, int]:
    """
    *sections* with all that no person said moved to *critical context*, and how many items were moved.

    Args:
        sections: of a reply.
        before: of the previous summary, whose goal and orders count as proven.
        messages: what is replaced.
        more: what persons wrote besides, each text `folded`, joined by zero bytes.
    """

    @cache
    def read(item: str) -> tuple[str, str]:
        """The core of an item, and the whole of it, folded; most were carried on and are met twice or more."""
        raw = folded(item_text(item))
        return _bare(raw), raw

    carried = {read(item)[0] for key in ("goal", "orders") for item in before.items(key)}
    said = "\x00".join([more, *map(folded, said_by_persons(messages))])

    @cache
    def is_proven(item: str) -> bool:
        words, raw = read(item)
        if words in carried:
            return True
        forms = dict.fromkeys(form.strip(" \"'") for text in (words, raw) for form in (text, text.removeprefix(_LATEST)))
        return any(_occurs(form, said) for form in forms)

    sources = _Sources(messages, said)
    moved: list[str] = []
    for key in ("goal", "orders"):
        kept = []
        for item in sections.items(key):
            if item.startswith(FIRST_PROMPT) or not read(item)[0]:
                continue  # the mechanical quotation takes its place
            if is_proven(item):
                kept.append(item)
                continue
            for sentence in _sentences(item):
                if is_proven(sentence):
                    kept.append(f"- {sentence}")
                elif words := read(sentence)[0]:
                    moved.append(f"- reported by {sources.find(words)}: {item_text(sentence)}")
        if sections.body(key):
            sections = sections.with_items(key, kept)
    if moved:
        sections = sections.with_items("critical", [*sections.items("critical"), *moved])
    return sections, len(moved)


def _sentences(item: str) -> list[str]:
    """The sentences of an item, to be judged one by one."""
    return [part for line in item_text(item).split("\n") for part in re.split(r"(?<=[.!?;…]) +", line.strip()) if part.strip()]


class _Sources:
    """Who said what, for items that no person said; the texts are made ready when the first such item comes."""

    def __init__(self, messages: Sequence[Message], human: str) -> None:
        self.messages = messages
        self.human = human
        self.known: dict[str, str] = {}

    @cached_property
    def texts(self) -> list[tuple[str, str]]:
        """(who, what was said, folded), in order, the persons' first."""
        calls = calls_by_result(self.messages)
        texts = [("the person, in part", self.human)]
        for message in self.messages:
            for block, origin in with_origins(message):
                if isinstance(block, Result):
                    call = calls.get(id(block))
                    texts.append((label(call.name, limit_chars=40) if call else "a tool", folded(block.text)))
                elif isinstance(block, Text) and origin is not Origin.HUMAN:
                    texts.append((f"the {origin.value}", folded(block.text)))
        return texts

    def find(self, words: str) -> str:
        """A tool's name, ``the model``, ..., or ``the summariser`` if nobody said it."""
        who = self.known.get(words)
        if who is None:
            if len(self.known) >= _MOST_LOOKUPS:
                return "a source not looked up"
            who = next((who for who, text in self.texts if words in text), "the summariser")
            self.known[words] = who
        return who


def with_first_prompt(
    sections: Sections,
    before: Sections,
    prompt: str,
    ceiling_tokens: int,
    counter: Counter,
    *,
    harmless: Callable[[str], str] = visible,
) -> Sections:
    """
    *sections* with the first prompt quoted at the beginning of *goal*.

    Args:
        sections: of a reply.
        before: of the previous summary, whose quotation is carried on.
        prompt: the first prompt, used where there is none to carry on.
        ceiling_tokens: the largest body that is taken; an eighth of it is for this.
        counter: counts tokens.
        harmless: escapes what the quoted words are not entitled to.
    """
    limit_tokens = ceiling_tokens // 8
    found = carried_quotation(before, limit_tokens, counter)
    found = found or quotation(prompt, limit_tokens, counter, harmless=harmless)
    if not found or sections.schema.find("goal") is None:
        return sections
    return sections.with_items("goal", [found, *(item for item in sections.items("goal") if not item.startswith(FIRST_PROMPT))])


def carried_quotation(before: Sections, limit_tokens: int, counter: Counter) -> str:
    """
    The quotation of the first prompt in a previous summary, ``""`` if there is none.

    It stays as it is unless it takes more than twice its share, as after a
    change to a smaller window: shortening what was shortened is a last resort.
    """
    found = next((item for item in before.items("goal") if item.startswith(FIRST_PROMPT)), "")
    text = "\n".join(line[2:] for line in found.split("\n")[1:])
    return found if counter(text) <= 2 * limit_tokens else quotation(text, limit_tokens, counter)


def quotation(prompt: str, limit_tokens: int, counter: Counter, *, harmless: Callable[[str], str] = visible) -> str:
    """
    The first prompt as an item: quoted, by head and tail within *limit_tokens* and 500 tokens; ``""`` if there is no room.

    The marker in it counts the prompt's own characters (law L11), so what is
    kept is escaped after it was cut.

    >>> print(quotation("migrate\\nthe schema", 100, len))
    First prompt:
    > migrate
    > the schema
    """
    if not prompt.strip():
        return ""
    limit_tokens = min(_FIRST_PROMPT_TOKENS, limit_tokens)
    shown = harmless(prompt)
    limit_chars = len(prompt)
    while counter(shown) > limit_tokens:
        limit_chars = min(limit_chars * 3 // 4, limit_tokens * 6)
        try:
            cut = truncate(prompt, limit_chars=limit_chars, keep="both", signal_lines=0)
        except ValueError:  # no room for both ends and a marker
            return ""
        if cut.kept_chars < _LEAST_QUOTED_CHARS:
            return ""
        head = prompt[: cut.pieces[0][1]] if cut.pieces[0][0] == 0 else ""
        tail = prompt[cut.pieces[-1][0] :]
        shown = harmless(head) + cut.text[len(head) : len(cut.text) - len(tail)] + harmless(tail)
    return f"{FIRST_PROMPT}\n{quote_lines(shown)}"
