"""
Anchors: the facts that must survive word for word.

What this is
    `find_anchors` finds them in what is replaced, `missing` says which are
    nowhere in the output, and `write_appendix` writes those down, with the
    clause that gives them meaning, as far as there is room.

Rules it obeys
    * Law L21.  Each anchor of the replaced messages is in the output, in the
      appendix, or behind the appendix's one reference, and the outcome says
      which.  The order is that of the law, then newest first.
    * An entry is a slice of what was said.  A number never stands alone: the
      clause around it stands with it.
    * Every pattern is linear, and a *token*, the text between two spaces, is
      looked at only if it is short; so a hostile text costs its length.

How it works
    Most anchors (paths, names, hashes, versions, dates, numbers) are tokens.
    A text is divided at its spaces, each different token is classified once by
    the table of kinds, and what has no digit, no mark inside and no capital
    behind its first letter is not looked at.  The others are found by what
    stands in them: orders by the words of `cues`, error lines by `signals`,
    amounts by their unit, changed values by their arrow, diffs by their header,
    legal references by their sign.

    What survives is found by looking tokens up among those of the output.
    Only what would be written down is searched for, so the cost is bounded.

    Finding, looking up and writing down are one file, because what is written
    is the clause in which a fact was found.

What is not here
    Whether the claims of a summary are borne out (`grounding`).
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import filterfalse, islice
from types import MappingProxyType
from typing import Final

from attrs import field, frozen

from ..deeds import deed
from ..markers import Issued, read_marker
from ..model import Call, Message, Origin, Result, Text
from ..signals import choose_signals, find_signals, looks_failed
from ..stubs import read_stub
from ..text import ceiling, floor
from ..tokens import Counter
from .cues import cues, sentences
from .transcript import argument_text, calls_by_result, with_origins

__all__ = [
    "Anchor",
    "Appendix",
    "Kind",
    "Tokens",
    "as_item",
    "find_anchors",
    "kind_of",
    "missing",
    "named_in",
    "place_of",
    "write_appendix",
]


class Kind(enum.Enum):
    """What an anchor is; the order is that in which they are kept (law L21)."""

    ORDER = "order"
    LEGAL = "legal"
    ERROR = "error"
    DIFF = "diff"
    IDENTIFIER = "identifier"
    HASH = "hash"
    VERSION = "version"
    CHANGE = "change"
    PATH = "path"
    URL = "url"
    SYMBOL = "symbol"
    AMOUNT = "amount"
    DATE = "date"
    NUMBER = "number"


_RANKS: Final = {
    kind: rank
    for rank, kinds in enumerate(
        (
            (Kind.ORDER, Kind.LEGAL),
            (Kind.ERROR, Kind.DIFF),
            (Kind.IDENTIFIER, Kind.HASH, Kind.VERSION, Kind.CHANGE),
            (Kind.PATH, Kind.URL, Kind.SYMBOL),
            (Kind.AMOUNT, Kind.DATE, Kind.NUMBER),
        )
    )
    for kind in kinds
}

_TOKEN_CHARS: Final = 200  # a longer token is no name
_CLAUSES: Final = (160, 80, 48)  # characters of a clause: the first at which all facts fit, else the last
_ERRORS_A_TEXT: Final = 4
_OCCURRENCES: Final = 200  # of one name that are looked at
_ERROR_RANK: Final = 5  # of `signals`: verdicts, crashes, exit codes, errors
_ARROWS: Final = ("->", "→", "=>")
_FRAMES: Final = 2  # lines of a stack trace that stand below its error
_SEARCHED: Final = 400  # anchors that are looked for letter by letter; the others are looked up as tokens
_PARTS: Final = 16  # of a path or dotted name that are looked at from either side
_AROUND_CHARS: Final = 200  # of a long line, on either side of a fact: enough for the longest clause
_PIECE_CHARS: Final = 2_000  # a longer line is looked through in pieces
_RECENT: Final = 40  # clauses in which a later anchor is looked for before it gets a line of its own
_CARRIED: Final = 400
_MARKS: Final = " \t\"'`()[]{}<>,;:!?.…«»„“”‘’*|"


@frozen
class Anchor:
    """
    One fact.

    Attributes:
        kind: what it is.
        text: the fact, word for word.
        position: the message it was found in, its newest place.
        source: the line it stands in; of a long one, what stands around it, enough for a clause.
    """

    kind: Kind
    text: str
    position: int
    source: str

    def clause(self, limit_chars: int = _CLAUSES[0]) -> str:
        """
        The line around it, which gives it meaning: at most *limit_chars*, or itself; cut where that does no harm.

        >>> Anchor(Kind.NUMBER, "120", 0, "a\\nserver/config.ts: timeout 120 s\\nb").clause()
        'server/config.ts: timeout 120 s'
        """
        if "\n" in self.text or len(self.text) >= limit_chars:
            return self.text
        at = place_of(self.text, self.source)
        if at < 0:
            return self.text
        start = self.source.rfind("\n", 0, at) + 1
        stop = self.source.find("\n", at)
        stop = len(self.source) if stop < 0 else stop
        spare = limit_chars - len(self.text)
        if stop - start > limit_chars:
            start = ceiling(self.source, max(start, at - spare // 2))
            stop = floor(self.source, min(stop, at + len(self.text) + spare // 2))
        return self.source[start:stop].strip()


# --- Kinds -----------------------------------------------------------------------------------------------------------

_UNITS: Final = (
    r"%|‰|°[CF]?|₽|\$|€|£|¥|руб(?:лей|ля|ль)?\.?|коп\.?|тыс\.?|млн\.?|млрд\.?|USD|EUR|RUB|GBP|"
    r"(?:[KMGT]i?)?B|[КМГТ]Б|байт|kbps|Mbps|"
    r"ms|µs|ns|мс|сек\.?|мин\.?|s|sec|seconds?|min|minutes?|hours?|h|days?|дней|дня|день|"
    r"px|pt|mm|cm|km|kg|Hz|kHz|MHz|GHz|kW|tokens?|токен\w{0,3}|lines?|строк\w?|rows?|users?|req/s|rpm|шт\.?|кг|км"
)
_MONTHS: Final = (
    r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}|"
    r"(?:янв|фев|мар|апр|ма[йя]|июн|июл|авг|сен|окт|ноя|дек)[а-я]{0,6}"
)
_EXTENSIONS: Final = (
    "bat|c|cc|cfg|conf|cpp|cs|css|csv|db|env|go|gz|h|hpp|html?|ini|ipynb|java|jpe?g|js|json|jsonl|jsx|kt|lock|log|lua|md|mjs|pdf|"
    "php|png|proto|ps1|py|pyi|rb|rs|rst|scala|sh|sql|sqlite|svg|swift|tar|tex|tf|toml|ts|tsv|tsx|txt|vue|xlsx?|xml|ya?ml|zip"
)


@cache
def _token() -> re.Pattern[str]:
    """
    What a token may be; the first kind that fits the whole of it counts.

    Most tokens of code hold a character that only an address may hold: these are told at once.
    """
    return re.compile(
        r"(?P<URL>[a-z][a-z0-9+]{1,9}://\S+)"
        r"|(?=[\w.,@+~=:/#№>()-]*+\Z|[A-Za-z]:\\)(?:"
        r"(?P<HASH>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?=[0-9]*+[a-f])(?=[a-f]*+[0-9])[0-9a-f]{7,64})"
        r"|(?P<DATE>[0-9]{4}-[0-9]{2}-[0-9]{2}(?:T[0-9:.]+(?:Z|[+-][0-9:]+)?)?|[0-9]{1,2}(?P<point>[./])[0-9]{1,2}(?P=point)[0-9]{2,4})"
        r"|(?P<VERSION>v?[0-9]++\.[0-9]++\.[0-9]++[\w.+-]*|v[0-9]++(?:\.[0-9]++)*|[\w-]++(?:==|@|>=|~=)[0-9][\w.]*)"
        r"|(?P<NUMBER>[+-]?[0-9][0-9.,_]*[0-9](?:[eE][+-]?[0-9]+)?|0x[0-9a-fA-F]+)"
        rf"|(?P<PATH>[A-Za-z]:\\\S+|[\w.@+~-]*+(?:/[\w.@+~=-]*+)+(?::[0-9]+){{0,2}}|(?:[\w-]++\.)+(?:{_EXTENSIONS})(?::[0-9]+){{0,2}})"
        r"|(?P<IDENTIFIER>[A-Z][A-Z0-9]{0,9}-[0-9]+|[#№][0-9]+|(?=[A-Za-z_-]*+[0-9])(?=[0-9_-]*+[A-Za-z])[\w-]{5,})"
        r"|(?P<SYMBOL>\w++(?:\.\w++)*\(\)|[a-z0-9]++(?:_[a-z0-9]++)+|_\w+|[A-Z0-9]++(?:_[A-Z0-9]++)+"
        r"|[a-z]++[0-9]*+(?:[A-Z][a-z0-9]++)+|(?:[A-Z][a-z0-9]++){2,}|[A-Za-z_]\w++(?:(?:\.|::)[A-Za-z_]\w++)+))"
    )


def kind_of(token: str) -> Kind | None:
    """
    What a token is by itself, ``None`` for an ordinary word.

    >>> kind_of("src/app.py:12"), kind_of("a94a8fe5"), kind_of("4471"), kind_of("word"), kind_of("and/or")
    (<Kind.PATH: 'path'>, <Kind.HASH: 'hash'>, <Kind.NUMBER: 'number'>, None, None)
    """
    if (
        len(token) > _TOKEN_CHARS
        or len(token) < 2
        or (token.isalpha() and (token.islower() or token[1:].islower() or token.isupper()))
    ):
        return None
    found = _token().fullmatch(token)
    if found is None or found.lastgroup is None:
        return None
    kind = Kind[found.lastgroup]
    if kind is Kind.NUMBER and sum(map(str.isdigit, token)) < 3:
        return None
    if kind is Kind.PATH and (not any(map(str.isalnum, token)) or (token.count("/") == 1 and token.replace("/", "").isalpha())):
        return None if token[0] not in "/~." or not token.strip("/~.") else kind  # "and/or" is no path
    return kind


def named_in(token: str) -> Iterator[tuple[Kind, int, int]]:
    """
    What a token that is nothing by itself names inside: the values of ``key=value``, and of JSON without spaces.

    Symbols are left out, for code is made of them.

    >>> text = '"order":"AB-77","sum":1250,"file":src/a.py:3'
    >>> [text[start:stop] for _, start, stop in named_in(text)]
    ['AB-77', '1250', 'src/a.py:3']
    """
    for found in _inside().finditer(token):
        start, stop = found.start(), found.start() + len(found[0].rstrip("\\"))  # of an escaped quote
        spans = [(start, stop)]
        colon = token.find(":", start, stop)
        if colon >= 0:  # a key and its value; else a name and what is said of it
            spans += [(colon + 1, stop), (start, colon)]
        for low, high in spans:
            kind = kind_of(token[low:high])
            if kind is not None and kind is not Kind.SYMBOL:
                yield kind, low, high
                break


@cache
def _inside() -> re.Pattern[str]:
    """The pieces of a token that may be names: addresses, and what stands between marks."""
    between = r"[^\s\"'`()\[\]{}<>,;=|*«»„“”‘’→:]"
    return re.compile(rf"[a-z][a-z0-9+]{{1,9}}://[^\s\"'`<>()\[\]{{}}|,]+|(?!(?<=<)/){between}{{3,}}(?::{between}+)*")


@cache
def _change() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """A value that was changed, and what stands behind the arrow; a number is in both."""
    value = r"[\w.,%:/+-]{0,30}[0-9][\w.,%:/+-]{0,30}"
    return re.compile(value), re.compile(rf" ?{value}")


@cache
def _phrases(*, in_ascii: bool) -> tuple[tuple[Kind, tuple[str, ...], re.Pattern[str]], ...]:
    """
    Anchors of more than one token: kind, what must stand in a text for it to be searched, pattern.

    Each begins with a set of characters, by which the search skips all others.
    *in_ascii* leaves out what no text of ASCII holds.
    """
    number = r"[0-9]{0,14}+(?:[ \u00a0\u202f,][0-9]{3}(?![0-9]))*+(?:[.,][0-9]{1,15}+)?+"
    phrases: tuple[tuple[Kind, tuple[str, ...], re.Pattern[str]], ...] = (
        (Kind.AMOUNT, ("",), re.compile(rf"[0-9](?<![\w.,][0-9]){number}[ \u00a0\u202f]?+(?:{_UNITS})(?!\w)")),
        (Kind.AMOUNT, ("$", "€", "£", "¥", "₽"), re.compile(rf"[$€£¥₽] ?[0-9]{number}")),
        (
            Kind.DATE,
            (" 19", " 20"),
            re.compile(rf"[0-9](?<![\w.,][0-9])[0-9]? (?:{_MONTHS}),? (?:19|20)[0-9]{{2}}(?!\w)"),
        ),
        (Kind.DATE, (", 19", ", 20"), re.compile(r"[JFMASOND][a-z]{2,8} [0-9]{1,2}, (?:19|20)[0-9]{2}(?!\w)")),
        (Kind.LEGAL, ("§",), re.compile(r"§ ?[0-9][0-9.]{0,10}")),
        (Kind.LEGAL, ("ст.", "п."), re.compile(r"[сп](?<!\w[сп])(?:(?<=с)т|(?<=п))\. ?[0-9][0-9.]{0,10}")),
        (
            Kind.LEGAL,
            ("rticle ", "lause ", "татья ", "татьи ", "татье ", "ункт", "ГОСТ "),
            re.compile(r"[AaCcСсПпГ](?:rticle|lause|тать[яие]|ункт[а-я]{0,3}|ОСТ) [0-9][0-9.-]{0,12}"),
        ),
        (Kind.DIFF, ("diff --git ",), re.compile(r"diff --git [^\n]{1,200}")),
        (Kind.DIFF, ("\n@@ -",), re.compile(r"@@ -[0-9][^\n]{1,120}")),
    )
    if not in_ascii:
        return phrases
    return tuple((kind, held, pattern) for kind, hints, pattern in phrases if (held := tuple(filter(str.isascii, hints))))


# --- Finding ---------------------------------------------------------------------------------------------------------


def find_anchors(messages: Sequence[Message], *, first: int = 0, issued: Issued = MappingProxyType({})) -> list[Anchor]:
    """
    The anchors of *messages*, in the order in which they are to be kept: by rank, then newest first, each once.

    Args:
        messages: each with its origins stated.
        first: index of the first of them in its conversation.
        issued: the references given out before; the stubs that bear them state no facts.
    """
    ranked: list[list[Anchor]] = [[] for _ in range(max(_RANKS.values()) + 1)]
    seen = set(issued)  # the appendix leads to these by itself
    looked = _Looked()
    read: set[tuple[str, bool, bool]] = set()
    calls = calls_by_result(messages)
    for place in range(len(messages) - 1, -1, -1):
        for said in _texts(messages[place], calls, issued):
            if said in read:  # as where a file was read again
                continue
            read.add(said)
            text, is_person, may_fail = said
            for kind, fact, source in _facts(text, looked, is_person=is_person, may_fail=may_fail):
                if fact not in seen:
                    seen.add(fact)
                    ranked[_RANKS[kind]].append(Anchor(kind, fact, first + place, source))
    return [anchor for rank in ranked for anchor in rank]


def _texts(message: Message, calls: dict[int, Call], issued: Issued) -> Iterator[tuple[str, bool, bool]]:
    """The texts of a message, last first: (text, whether a person's, whether its error lines tell of an error)."""
    for block, origin in reversed(list(with_origins(message))):
        if isinstance(block, Text):
            # A stub in a message of its own stands for a picture that was behind results.
            if not issued or read_stub(block.text, issued=issued) is None:
                yield block.text, origin is Origin.HUMAN, False
        elif isinstance(block, Result):
            call = calls.get(id(block))
            text = _without_stubs(block, issued) if issued else block.text
            ran = call is not None and deed(call).verb == "ran"  # a file that speaks of errors is none
            yield text, False, ran or block.is_error or looks_failed(text)
        elif isinstance(block, Call):
            yield argument_text(block), False, False


def _without_stubs(result: Result, issued: Issued) -> str:
    """What a tool said, and nothing that stands for what was cleared."""
    said = (block.text for block in result.blocks if isinstance(block, Text))
    return "\n".join(_without_marker(text, issued) for text in said if read_stub(text, issued=issued) is None)


def _without_marker(text: str, issued: Issued) -> str:
    """An excerpt without the line that says what is missing; the lines behind it that are shown are facts like others."""
    marker = read_marker(text, issued=issued)
    return text if marker is None else f"{text[: marker.start]}\n{text[text.index(']', marker.start) + 1 :]}"


@frozen
class _Looked:
    """What was looked at before and holds nothing new: a file is read again, a log goes on."""

    lines: set[str] = field(factory=set)
    tokens: set[str] = field(factory=set)


def _facts(text: str, looked: _Looked, *, is_person: bool, may_fail: bool) -> Iterator[tuple[Kind, str, str]]:
    """
    The facts of a text, each with what stands around it.

    Args:
        text: a text of the conversation.
        looked: what was looked at before; this text is added.
        is_person: whether a person said it.
        may_fail: whether its error lines tell of an error.
    """
    if is_person:
        yield from _orders(text)
    if may_fail:
        yield from _errors(text)
    lines = list(filterfalse(looked.lines.__contains__, text.split("\n")))
    if not lines:
        return
    looked.lines.update(lines)
    tokens = looked.tokens
    text = "\n".join(["", *lines])
    yield from _longer(text)
    yield from _changes(text)
    for line in lines:
        for piece in (line,) if len(line) <= _PIECE_CHARS else _pieces().findall(line):
            for token in filterfalse(tokens.__contains__, piece.split()):
                tokens.add(token)
                bare = token.strip(_MARKS)
                kind = kind_of(bare)
                if kind is not None:
                    if not token.startswith("</"):  # the end of an element is no path
                        yield kind, bare, piece
                elif not bare.isalnum():
                    for kind, start, stop in named_in(bare):
                        name = bare[start:stop]
                        if name not in tokens:
                            tokens.add(name)
                            yield kind, name, piece if len(piece) <= _PIECE_CHARS else _around(bare, start, stop)


def _longer(text: str) -> Iterator[tuple[Kind, str, str]]:
    """The facts of more than one token in lines, each of which begins with its newline."""
    for kind, hints, pattern in _phrases(in_ascii=text.isascii()):
        if any(map(text.__contains__, hints)):
            for found in pattern.finditer(text):
                yield kind, found[0].rstrip(".,;:"), _around(text, *found.span())


def _around(text: str, start: int, stop: int) -> str:
    """The line of ``text[start:stop]``; of a long one, what stands within `_AROUND_CHARS` of it."""
    low, high = max(start - _AROUND_CHARS, 0), stop + _AROUND_CHARS
    begin = text.rfind("\n", low, start) + 1 or low
    end = text.find("\n", stop, high)
    return text[begin : high if end < 0 else end]


@cache
def _pieces() -> re.Pattern[str]:
    """A long line in pieces, none of which ends inside a token."""
    return re.compile(rf"[^\n]{{1,{_PIECE_CHARS}}}(?!\S)|\S+")


def _changes(text: str) -> Iterator[tuple[Kind, str, str]]:
    """Values that were changed: ``30 -> 120``."""
    for arrow in _ARROWS:
        at = text.find(arrow)
        while at >= 0:
            value, behind = _change()
            new = behind.match(text, at + len(arrow))
            if new is not None:
                before = text[max(at - 64, 0) : at].removesuffix(" ")
                words = before.split()
                if words and before.endswith(words[-1]) and value.fullmatch(words[-1]):
                    start = at - len(words[-1]) - (text[at - 1] == " ")
                    yield Kind.CHANGE, text[start : new.end()].rstrip(".,;:"), _around(text, start, new.end())
            at = text.find(arrow, at + len(arrow))


def _orders(text: str) -> Iterator[tuple[Kind, str, str]]:
    """The sentences of a person that say what must or must not be."""
    at = 0
    for sentence in sentences(text):
        at = text.find(sentence, at)
        if "order" in cues(sentence):
            yield Kind.ORDER, sentence, _around(text, at, at + len(sentence))


def _errors(text: str) -> Iterator[tuple[Kind, str, str]]:
    """The most notable lines of an output that failed, with the first lines of the trace below each."""
    signals = [signal for signal in find_signals(text) if signal[0] <= _ERROR_RANK]
    for _rank, start, stop in choose_signals(signals, count=_ERRORS_A_TEXT, room_chars=4_000):
        end = stop
        for _frame in range(_FRAMES):
            line_end = text.find("\n", end) + 1 or len(text)
            line = text[end:line_end]
            if not line.strip() or len(line) > _TOKEN_CHARS or not line.startswith((" ", "\t", "at ")):
                break
            end = line_end
        yield Kind.ERROR, text[start:end].strip("\n"), _around(text, start, end)


def place_of(name: str, text: str) -> int:
    """
    Where *name* stands in *text* and is no part of a longer name; -1 if nowhere.

    >>> place_of("120", "row 31205 ok, timeout 120 s"), place_of("AB-12", "XAB-1299")
    (22, -1)
    """
    at = text.find(name)
    for _ in range(_OCCURRENCES):
        if at < 0:
            return -1
        stop = at + len(name)
        before, behind = text[at - 1 : at] if at else "", text[stop : stop + 1]
        if not (_goes_on(before, name[0]) or _goes_on(name[-1], behind)):
            return at
        at = text.find(name, at + 1)
    return -1


def _goes_on(left: str, right: str) -> bool:
    """Whether a name goes on between two characters; scripts without spaces have no such boundary."""
    return bool(left and right) and (left.isalnum() or left == "_") and (right.isalnum() or right == "_") and left < "\u2e80"


# --- Surviving -------------------------------------------------------------------------------------------------------


class Tokens:
    """
    The tokens of some texts, to be looked up: as they stand, stripped, and each tail of a path or dotted name.

    >>> words = Tokens(["see `/home/u/src/app.py:12`, retry_limit=3"])
    >>> [name in words for name in ("src/app.py:12", "app.py", "retry_limit", "limit")]
    [True, True, True, False]
    """

    __slots__ = ("_known",)

    def __init__(self, texts: Iterable[str]) -> None:
        known: set[str] = set()
        for text in set(texts):
            known.update(text.split())
        marked = [token[: 4 * _TOKEN_CHARS] for token in known if not token.isalpha()]
        pieces = set(_divider().split(" ".join(marked)))
        known |= pieces
        bare = {piece.strip(_MARKS) for piece in pieces}
        known |= bare
        bare.update([name.partition(":")[0] for name in bare if ":" in name])
        known |= bare
        add = known.add
        for name in bare:
            if not name.isalnum():
                colon = name.find(":")  # what stands before it is a name of its own
                for divider in "/.\\":
                    at = name.find(divider)
                    for _ in range(_PARTS):
                        if at < 0:
                            break
                        add(name[at + 1 :])
                        if at > colon:
                            add(name[:at])
                        at = name.find(divider, at + 1)
        self._known = known

    def __contains__(self, token: str) -> bool:
        return token in self._known


@cache
def _divider() -> re.Pattern[str]:
    return re.compile(r"[ \"'`()\[\]{}<>,;=|*«»„“”‘’]+")


def missing(anchors: Iterable[Anchor], texts: Sequence[str]) -> list[Anchor]:
    """
    Those of *anchors* that stand in none of *texts*, in their order.

    Anchors of one token are looked up among the tokens; of the others, and of
    those that were not found so, the first few hundred are searched for.
    """
    tokens = Tokens(texts)
    whole = "\n".join(texts)
    found = []
    searched = 0
    for anchor in anchors:
        if anchor.text in tokens:
            continue
        if searched < _SEARCHED:
            searched += 1
            if place_of(anchor.text, whole) >= 0:
                continue
        found.append(anchor)
    return found


@frozen
class Appendix:
    """
    Anchors written down.

    Attributes:
        items: one line each, without the reference.
        written: how many anchors these stand for.
        left: those for which there was no room, in order.
    """

    items: tuple[str, ...]
    written: int
    left: tuple[Anchor, ...]


def write_appendix(
    anchors: Sequence[Anchor],
    *,
    limit_tokens: int,
    counter: Counter,
    carried: Iterable[str] = (),
    ways_back: Iterable[str] = (),
) -> Appendix:
    """
    As many of *anchors* as fit, each with its clause; then what the previous appendix had.

    Args:
        anchors: what is missing from the output, in order.
        limit_tokens: the largest appendix.
        counter: counts tokens.
        carried: items of the previous appendix, which rank after the new ones.
        ways_back: items that lead to what was cleared; they come first, in at most half the room.

    >>> from compactlib.tokens import estimate
    >>> facts = [Anchor(Kind.NUMBER, number, 0, "timeout 30 raised to 120 s") for number in ("120", "30")]
    >>> write_appendix(facts, limit_tokens=50, counter=estimate).items
    ('- number: timeout 30 raised to 120 s',)
    """
    first: dict[str, None] = {}
    taken = 0
    for item in dict.fromkeys(ways_back):
        taken += counter(item) + 1
        if taken > limit_tokens // 2:
            break
        first[item] = None
    spent = sum(counter(item) + 1 for item in first)
    for limit_chars in _CLAUSES:
        items, left = _entries(anchors, limit_chars, limit_tokens - spent, counter)
        if not left:
            break
    items = {**first, **items}
    used = sum(counter(item) + 1 for item in items)
    if not left:
        for item in islice(carried, _CARRIED):
            size = counter(item) + 1
            if used + size > limit_tokens:
                break
            if item not in items:
                used += size
                items[item] = None
    return Appendix(tuple(items), len(anchors) - len(left), tuple(left))


def _entries(
    anchors: Sequence[Anchor], limit_chars: int, limit_tokens: int, counter: Counter
) -> tuple[dict[str, None], Sequence[Anchor]]:
    """As many entries as fit, in order, and the anchors for which there was no room."""
    items: dict[str, None] = {}
    clauses: list[str] = []
    used = 0
    for at, anchor in enumerate(anchors):
        if any(anchor.text in shown for shown in clauses[-_RECENT:]):
            continue
        clause = anchor.clause(limit_chars)
        item = as_item(anchor.kind, clause)
        size = counter(item) + 1
        if used + size > limit_tokens:
            return items, anchors[at:]
        if item not in items:
            used += size
            items[item] = None
            clauses.append(clause)
    return items, ()


def as_item(kind: Kind, clause: str) -> str:
    """An anchor's clause as an item, on one line of ours: line breaks are shown, not made."""
    lines = " ⏎ ".join(part.strip() for part in clause.split("\n") if part.strip())
    return f"- {kind.value}: {lines}"
