"""
Whether a reply may replace history.

What this is
    `judge` looks at one reply and says `Accepted`, with the text that may
    stand in the conversation, or `Rejected`, with a `Code` and the reason.
    `failed` does the same for a summariser that raised.

Rules it obeys
    Law L6: a reply that fails any check changes nothing.  The codes are a
    closed list; the last two are given by the compactor, which alone knows
    the assembled output and the summariser's window.

    Law L25: headings, markers, references and summary headers that the reply
    was not entitled to are escaped, never believed; what it puts into a
    person's mouth is moved (`provenance`).

    Law L20: an item that was done and comes back as unfinished, though
    nothing that is replaced speaks of it, goes back to *done*, flagged.

    Law L22: what nothing bears out is flagged (`grounding`).

How it works
    Cheap checks come first, and the length is checked before anything that
    depends on it, so a reply of any size costs linear time.  A reply that has
    the required headings is a summary, even if it is a poor one.  Only one
    that lacks them is looked at for *why*, so a guess about its manner can
    name the fault but cannot cause a rejection.

What is not here
    Who said what (`provenance`), whether claims are borne out (`grounding`)
    and anchors survived (`facts`), whether the output became smaller (`compaction`), and the header line (`head`).
"""

from __future__ import annotations

import enum
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache
from itertools import chain
from typing import Any, Final

from attrs import field, frozen

from ..model import Message, Result, Text
from ..tokens import Counter
from .grounding import Standing, evidence_of, ground, hidden_in
from .prompts import OPENING
from .provenance import core, folded, said_by_persons, visible, with_first_prompt, with_proven_words
from .rendering import SummaryRequest
from .schema import Schema, Sections, item_text, parse_sections, render_sections
from .transcript import label

__all__ = [
    "NORMAL_STOPS",
    "Accepted",
    "Code",
    "Rejected",
    "Summary",
    "failed",
    "harmless",
    "judge",
]

NORMAL_STOPS: Final = frozenset({"end", "end_turn", "stop", "completed", "eos"})
"""Stop reasons that mean that the model had said all it wanted to say, in any case of letters."""

_REFUSAL_STOPS: Final = frozenset({"refusal", "content_filter", "safety", "prohibited_content", "guardrail_intervened"})
_NULL_WORDS: Final = frozenset({"null", "none", "undefined", "n/a", "ok", "okay", "done", "nil", "nan"})


@frozen
class Summary:
    """
    What a summariser may return instead of a bare string.

    Attributes:
        text: the reply's text.
        usage: what the call cost, in the provider's own shape.
        stop: why it ended: ``"end"``, or the provider's word.
        tool_calls: how many tools the model tried to call.
    """

    text: str
    usage: Any = None
    stop: str = "end"
    tool_calls: int = 0


class Code(enum.Enum):
    """Why a summary was not taken: the closed list of law L6."""

    EXCEPTION = "exception"
    """The summariser raised."""
    TIMEOUT = "timeout"
    """It raised `TimeoutError`, or its deadline passed."""
    PROMPT_TOO_LONG = "prompt-too-long"
    """The model refused the request as too long, also when it was shown less."""
    MEDIA = "media"
    """The model refused a picture or another medium, also where none was shown."""
    OVERLOADED = "overloaded"
    """The provider had no capacity; whoever calls it may have tried again already."""
    STOP = "stop"
    """The model stopped for another reason than being finished."""
    REFUSAL = "refusal"
    TOOL_CALL = "tool-call"
    """It called a tool, or wrote a call out as text."""
    EMPTY = "empty"
    """No text, or sections that all say nothing."""
    WHITESPACE = "whitespace"
    NULL_LIKE = "null-like"
    """Nothing but a word like ``null`` or ``ok``."""
    ECHO = "echo"
    """It gives back the prompt."""
    CONTINUATION = "continuation"
    """It goes on with the conversation."""
    ANSWER = "answer"
    """It answers a question of the conversation."""
    HEADINGS = "headings"
    """Required headings are missing, and none of the reasons above is plain."""
    TOO_LONG = "too-long"
    """Longer than the ceiling."""
    SAME = "same-as-previous"
    """The previous summary again, although something was to be added."""
    NOT_SMALLER = "not-smaller"
    """Given by the compactor: the assembled output is not smaller (law L12)."""
    NO_ROOM = "no-room"
    """Given by the compactor: no request fits the summariser's window (law L15)."""


@frozen
class Rejected:
    """
    A reply that changes nothing.

    Attributes:
        code: the kind of fault.
        why: the fault in words, with the numbers.
        limit_tokens: of a request that was too long, how much the model takes, if it said so.
    """

    code: Code
    why: str
    limit_tokens: int | None = field(default=None, repr=False)


@frozen
class Accepted:
    """
    A reply that may stand in the conversation.

    Attributes:
        body: the summary's text, without header and appendix.
        sections: the same, taken apart.
        tokens: size of `body` by the counter.
        moved: items, or sentences of them, that stood under *goal* or
            *orders* and that no person wrote; they are in *critical context* now.
        reopened: finished items that came back as unfinished and were put back.
        escaped: headings, markers, references and control characters escaped.
        removed: lists of changed files taken out (law L23).
        unverified, contradicted, unseen, unrun: flags set for claims that
            nothing bears out, for false absences, for absences nobody could
            see, and for methods that were never used (law L22).
        repeated: items of *blocked* that stood in another section too, and were taken out there.
    """

    body: str
    sections: Sections
    tokens: int
    moved: int = 0
    reopened: int = 0
    escaped: int = 0
    removed: int = 0
    unverified: int = 0
    contradicted: int = 0
    unseen: int = 0
    unrun: int = 0
    repeated: int = 0


def failed(error: Exception) -> Rejected:
    """
    The rejection for a summariser that raised.

    >>> failed(TimeoutError("after 60 s"))
    Rejected(code=<Code.TIMEOUT: 'timeout'>, why='TimeoutError: after 60 s')
    """
    try:
        why = label(str(error), limit_chars=300)
    except Exception:  # noqa: BLE001  # an error that cannot even be shown is an error still
        why = ""
    code = Code.TIMEOUT if isinstance(error, TimeoutError) else Code.EXCEPTION
    return Rejected(code, f"{type(error).__name__}: {why}" if why else type(error).__name__)


def judge(
    reply: str | Summary,
    *,
    request: SummaryRequest,
    schema: Schema,
    ceiling_tokens: int,
    counter: Counter,
    previous: str = "",
    replaced_has_prompt: bool = False,
    human_texts: Sequence[str] = (),
    standing: Standing | None = None,
    issued: Collection[str] = (),
) -> Accepted | Rejected:
    """
    Whether *reply* may replace the messages of *request*.

    Args:
        reply: what the summariser returned; anything else than text or a
            `Summary` counts as no text.
        request: the question.
        schema: the sections asked for.
        ceiling_tokens: the largest body that is taken.
        counter: counts tokens.
        previous: the body being brought up to date, ``""`` if there is none.
        replaced_has_prompt: whether something is replaced that must change
            the summary: then the previous one again is no reply.
        human_texts: what persons wrote besides the messages of the request,
            in order: kept prompts, and for a later part the earlier ones.
            If there is no previous summary, the first of all is the first prompt.
        standing: what stays in the conversation and what persons wrote, which bears claims out; made once for all parts.
        issued: references that this session's markers carry; others are escaped.

    Returns:
        `Accepted` or `Rejected`, for any reply; it raises nothing of its own.
    """
    answer = reply if isinstance(reply, Summary) else Summary(reply)
    stands = Standing(said=human_texts) if standing is None else standing
    refused = _by_its_shape(answer) or _by_its_words(answer.text, request, ceiling_tokens, counter)
    if refused is not None:
        return refused
    text, escaped = harmless(answer.text, issued)
    sections = parse_sections(text, schema)
    refused = _by_its_sections(text, sections, request)
    if refused is not None:
        return refused
    sections = sections.without("verbatim")
    before = parse_sections(previous, schema).without("verbatim")
    if previous and replaced_has_prompt and _is_same(sections, previous, schema, issued):
        return Rejected(Code.SAME, "the previous summary came back unchanged although a prompt or an anchor is replaced")
    sections, moved = with_proven_words(sections, before, request.messages, stands.said_lines)
    # What a previous summary does not quote as the first prompt, because it is pinned or had no room, is not there any more.
    first = "" if previous else next(chain(human_texts, said_by_persons(request.messages)), "")
    sections = with_first_prompt(
        sections, before, first, ceiling_tokens, counter, harmless=lambda piece: harmless(piece, issued)[0]
    )
    sections, reopened = _with_done_kept(sections, before, request)
    sections, repeated = _with_blockers_once(sections)
    evidence = evidence_of(request.messages, stands, previous, first=request.first, hidden_chars=hidden_in(request.text))
    flagged = ground(render_sections(sections), evidence)
    tokens = counter(flagged.text)
    if tokens > ceiling_tokens:
        return _too_long(tokens, ceiling_tokens)
    return Accepted(
        flagged.text,
        parse_sections(flagged.text, schema),
        tokens,
        moved,
        reopened,
        escaped + sections.escaped,
        sections.removed,
        flagged.unverified,
        flagged.contradicted,
        flagged.unseen,
        flagged.unrun,
        repeated,
    )


# --- What makes a reply no summary -----------------------------------------------------------------------------------


def _too_long(tokens: int, ceiling_tokens: int) -> Rejected:
    return Rejected(Code.TOO_LONG, f"the reply has {tokens:,} tokens, at most {ceiling_tokens:,} are taken")


def _is_same(sections: Sections, previous: str, schema: Schema, issued: Collection[str]) -> bool:
    """Whether a reply says what the previous summary did; both with the same escapes, for that one has markers of ours."""
    before = parse_sections(harmless(previous, issued)[0], schema).without("verbatim")
    return render_sections(sections) == render_sections(before)


def _by_its_shape(answer: Summary) -> Rejected | None:
    """What the summariser itself says of the reply, and replies that say nothing."""
    text: object = answer.text
    stop = str(answer.stop).lower()
    if answer.tool_calls:
        return Rejected(Code.TOOL_CALL, f"the summariser called {answer.tool_calls} tools")
    if stop in _REFUSAL_STOPS:
        return Rejected(Code.REFUSAL, f"the model stopped with {label(stop)!r}")
    if stop not in NORMAL_STOPS:
        return Rejected(Code.STOP, f"the model stopped with {label(stop)!r}, which is not a normal end")
    if not isinstance(text, str) or not text:
        return Rejected(Code.EMPTY, "the reply holds no text")
    bare = text.strip().strip("\ufeff\u200b\u2060")
    if not bare:
        return Rejected(Code.WHITESPACE, "the reply is nothing but white space")
    if len(bare) < 40 and bare.strip(" \n`'\"*.!()[]{}<>").lower() in _NULL_WORDS:
        return Rejected(Code.NULL_LIKE, f"the reply is nothing but {label(bare)!r}")
    return None


def _by_its_words(text: str, request: SummaryRequest, ceiling_tokens: int, counter: Counter) -> Rejected | None:
    """Faults to be found before the reply is taken apart."""
    tokens = counter(text)
    if tokens > 2 * ceiling_tokens:  # far beyond what leaving out a preamble could mend
        return _too_long(tokens, ceiling_tokens)
    if OPENING in text and (OPENING in request.instructions or request.form == "suffix"):
        return Rejected(Code.ECHO, "the reply repeats the prompt")
    return None


def _by_its_sections(text: str, sections: Sections, request: SummaryRequest) -> Rejected | None:
    """Faults of a reply that has been taken apart."""
    missing = sections.missing
    if missing:
        return _by_its_manner(text, request) or Rejected(Code.HEADINGS, "headings missing: " + ", ".join(missing))
    for body in sections.bodies:
        fault = _talks_on(body or "")
        if fault is not None:
            return fault
    if sections.is_empty:
        return Rejected(Code.EMPTY, "every section of the reply says that it is empty")
    return None


_CALL_STARTS: Final = ("<function_call", "<invoke", "<tool_call", "<tool_use", "<|tool", "[TOOL_CALL", "<function=", "<｜tool")
_OUR_STARTS: Final = ("--- message ", "=== Transcript", "=== Previous record", "=== Context", "=== End of the transcript")
_PERSON_LABELS: Final = ("human:", "user:", "пользователь:", "человек:")
_MODEL_LABELS: Final = ("assistant:", "ai:", "model:", "ассистент:", "модель:")


def _talks_on(text: str) -> Rejected | None:
    """A call, a message of ours or an exchange of person and model, at the beginning of a line."""
    person_spoke = False
    for line in text.split("\n"):
        if line.startswith(_CALL_STARTS):
            return Rejected(Code.TOOL_CALL, "the reply writes out a tool call")
        if line.startswith(_OUR_STARTS):
            return Rejected(Code.CONTINUATION, f"the reply goes on with the transcript: {label(line)!r}")
        start = line[:16].lower()
        if start.startswith(_PERSON_LABELS):
            person_spoke = True
        elif person_spoke and start.startswith(_MODEL_LABELS):
            return Rejected(Code.CONTINUATION, f"the reply invents an exchange: {label(line)!r}")
    return None


_REFUSALS: Final = (
    "i can't", "i can’t", "i cannot", "i'm sorry", "i’m sorry", "i am sorry", "sorry, i", "i'm unable", "i’m unable",
    "i am unable", "i won't", "i won’t", "unfortunately, i can", "as an ai", "извините", "простите", "я не могу",
    "к сожалению, я не", "не могу помочь",
)  # fmt: skip
_CONTINUATIONS: Final = (
    "i'll", "i’ll", "i will", "let me", "let's", "let’s", "now i", "now let", "next, i", "okay, i", "ok, i", "okay, let",
    "i'm going to", "i’m going to", "continuing", *_PERSON_LABELS, *_MODEL_LABELS, "сейчас я", "теперь я", "давай", "я сейчас",
    "продолжаю", "далее я", "хорошо, я",
)  # fmt: skip
_ANSWERS: Final = (
    "yes", "no,", "no.", "no:", "sure", "of course", "certainly", "absolutely", "the answer", "great question",
    "good question", "you can", "you should", "да,", "да.", "да —", "да!", "нет,", "нет.", "конечно", "ответ", "вы можете",
)  # fmt: skip


def _by_its_manner(text: str, request: SummaryRequest) -> Rejected | None:
    """What a reply without headings most plainly is, if that is plain."""
    fault = _talks_on(text)
    if fault is not None:
        return fault
    start = text.lstrip(" \t\n\"'*_>")[:80].lower()
    shown = label(start, limit_chars=40)
    if start.startswith("{") and '"name"' in text[:2000] and ('"arguments"' in text[:4000] or '"input"' in text[:4000]):
        return Rejected(Code.TOOL_CALL, "the reply is a tool call in JSON")
    if start.startswith(_REFUSALS):
        return Rejected(Code.REFUSAL, f"the reply begins {shown!r}")
    if start.startswith(_CONTINUATIONS):
        return Rejected(Code.CONTINUATION, f"the reply begins {shown!r}")
    if start.startswith(_ANSWERS) and any("?" in said or "？" in said for said in said_by_persons(request.messages)):
        return Rejected(Code.ANSWER, f"something was asked, and the reply begins {shown!r}")
    return None


# --- L25: untrusted text stays text ----------------------------------------------------------------------------------


@cache
def _mark() -> re.Pattern[str]:
    """How our headers, markers and references begin: ``[compactlib ...``, ``[truncated v1: ...``, ``ref=...``."""
    return re.compile(
        r"\[(?=compactlib\b|(?:truncated|cleared|collapsed|snipped) v[0-9]|end of numbered lines\])"
        r"|\bref[:=] ?(?=[0-9a-f]{64}(?![0-9a-f]))",
        re.IGNORECASE,
    )


@cache
def _reference() -> re.Pattern[str]:
    return re.compile(r"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")


def harmless(text: str, issued: Collection[str]) -> tuple[str, int]:
    """
    *text* with control characters, markers, references and summary headers escaped, and how many were.

    A backslash behind the bracket or behind ``ref=`` is enough: whoever looks
    for one does not find it, and no letter is lost.
    """
    shown = visible(text)
    count = int(shown != text.replace("\r\n", "\n"))

    def escape(found: re.Match[str]) -> str:
        nonlocal count
        if found[0] != "[":
            digest = shown[found.end() : found.end() + 64]
            if digest in issued:
                return found[0]
            count += 1
            return found[0] + "\\"
        digests = _reference().findall(shown[found.end() : found.end() + 400].partition("]")[0])
        if digests and all(digest in issued for digest in digests):
            return "["
        count += 1
        return "[\\"

    return _mark().sub(escape, shown), count


def _with_blockers_once(sections: Sections) -> tuple[Sections, int]:
    """A blocker stands under *blocked* and nowhere else, so that nobody solves it there and finds it here."""
    blocked = {core(item) for item in sections.items("blocked")} - {""}
    repeated = 0
    for section in sections.schema.sections if blocked else ():
        if section.key in ("goal", "orders", "done", "blocked") or section.is_ours:
            continue
        items = sections.items(section.key)
        kept = [item for item in items if core(item) not in blocked]
        if len(kept) < len(items):
            repeated += len(items) - len(kept)
            sections = sections.with_items(section.key, kept)
    return sections, repeated


# --- L20: done stays done --------------------------------------------------------------------------------------------


def _with_done_kept(sections: Sections, before: Sections, request: SummaryRequest) -> tuple[Sections, int]:
    """
    L20: an item of *done* that "reappears ... under in progress, blocked or next step while no replaced message names it,
    is moved back and flagged".
    """
    finished = {core(item) for item in before.items("done")} - {""}
    if not finished:
        return sections, 0
    replaced: str | None = None
    back: list[str] = []
    for key in ("doing", "blocked", "next"):
        kept = []
        for item in sections.items(key):
            words = core(item)
            if words in finished:
                if replaced is None:
                    replaced = "\x00".join(folded(text) for text in _all_texts(request.messages))
                if words not in replaced:
                    back.append(item)
                    continue
            kept.append(item)
        if len(kept) < len(sections.items(key)):
            sections = sections.with_items(key, kept)
    if not back:
        return sections, 0
    done = sections.items("done")
    there = {core(item) for item in done}
    flagged = [f"- {item_text(item)} [reopened]" for item in back if core(item) not in there]
    return sections.with_items("done", [*done, *flagged]), len(back)


def _all_texts(messages: Iterable[Message]) -> Iterator[str]:
    for message in messages:
        for block in message.blocks:
            if isinstance(block, Text | Result):
                yield block.text
