"""
Whether the claims of a summary are borne out by what it replaces.

What this is
    `ground` reads a summary claim by claim and sets a flag behind each that
    nothing bears out.  After a compaction the source is gone: this is the last
    moment at which anybody can check.

Rules it obeys
    * Law L22.  Each path, identifier, number of three digits or more, and
      quotation of four words or more must occur in what is replaced, in what
      is kept, or in the unflagged text of the previous summary; else
      `UNVERIFIED` stands directly behind it.  What is said to be a person's
      word must occur in a prompt.
    * A false *absence* is flagged: something called missing that stands there
      after all, or may stand in the part of an output that nobody was shown.
    * So is a false *method*: a tool or command by which something is said to
      have been found out, and which no call ran.
    * Flags are ours.  A claim that was flagged before keeps its flag unless
      something that is replaced now bears it out.
    * Nothing is rejected here.  A flagged claim may be true; the reader is told
      that nobody saw it.

How it works
    The evidence is read once, into the set of its tokens and the tails of its
    paths (`facts.Tokens`).  A claim that is not in it is searched for letter by
    letter, as often as is bounded; a claim beyond that bound counts as not
    borne out.  Spaces and case are folded, and digits are compared without what
    groups them; Unicode is not normalised, for the reason in `provenance`.

    It is one file, because each kind of claim is read by the same pass.

What is not here
    What has to survive (`facts`), and who may give orders (`provenance`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, cached_property
from itertools import filterfalse
from typing import Final

from attrs import frozen

from ..deeds import deed
from ..model import Call, Message, Origin, Result, Text
from .facts import Kind, Tokens, kind_of, named_in, place_of
from .provenance import FIRST_PROMPT, folded
from .transcript import argument_text, with_origins

__all__ = ["UNVERIFIED", "Evidence", "Grounded", "Standing", "evidence_of", "ground", "hidden_in", "unflagged"]

UNVERIFIED: Final = "[unverified]"
"""Stands behind a claim that nothing bears out."""

_FLAG: Final = re.compile(r" ?\[(?:unverified|contradicted: [^\]\n]{1,120}|not verified: [^\]\n]{1,80})\]")
_FORM: Final = re.compile(r"\[\\?(?:compactlib|truncated|cleared|collapsed|snipped|stored) [^\]\n]{1,400}\]|ref=\\?[0-9a-f]{64}")
"""Markers and references, ours or escaped: they are no claims."""

_GROUPED: Final = re.compile(r"(?<![\w.,])[0-9]{1,3}(?:[ \u00a0\u202f][0-9]{3})+(?![0-9])")
"""A number in groups of three, with a space between them."""

_CLAIMS: Final = frozenset({Kind.PATH, Kind.URL, Kind.IDENTIFIER, Kind.HASH, Kind.VERSION, Kind.SYMBOL, Kind.NUMBER, Kind.DATE})
_AROUND: Final = " \t\"'`()[]{}<>,;:!?.…«»„“”‘’*|"
_SEARCHED: Final = 200  # claims that are searched for letter by letter
_QUOTED_WORDS: Final = 4
_WORD: Final = re.compile(r"[\w./+-]+")
_COMMAND_CHARS: Final = 20_000  # of a call's arguments: who runs a longer script names its tools early
_SENTENCE_CHARS: Final = 2_000


class Standing:
    """
    Texts that bear claims out in every part of one compaction, read once for all of them.

    Attributes:
        kept: what stays in the conversation.
        said: what persons said besides.
    """

    def __init__(self, kept: Iterable[str] = (), said: Iterable[str] = ()) -> None:
        self.kept: Final = tuple(kept)
        self.said: Final = tuple(said)

    @cached_property
    def tokens(self) -> Tokens:
        """Their tokens."""
        return Tokens((*self.kept, *self.said))

    @cached_property
    def numbers(self) -> frozenset[str]:
        """Their numbers, by their digits."""
        return _numbers_of((*self.kept, *self.said))

    @cached_property
    def folded(self) -> str:
        """All of them, spaces and case folded."""
        return "\n".join(map(_fold, (*self.kept, *self.said)))

    @cached_property
    def said_folded(self) -> str:
        """What persons said, likewise."""
        return "\n".join(map(_fold, self.said))

    @cached_property
    def said_lines(self) -> str:
        """The same as `provenance` compares it."""
        return "\x00".join(map(folded, self.said))


@frozen
class Evidence:
    """
    What claims are held against.

    Attributes:
        texts: all that was said: (where it stands, the text).  Only outputs of tools have a place, such as ``message 12``;
            that somebody spoke of a thing does not mean that it is there.
        prompts: what persons said.
        standing: what bears claims out in every part.
        calls: the tools and commands that were really run, in lower case.
        hidden_chars: how much of tool output the summariser was not shown.
        lines: the unflagged lines of the previous summary; of one that is carried on, only an absence is judged anew.
    """

    texts: tuple[tuple[str, str], ...]
    prompts: tuple[str, ...]
    calls: frozenset[str]
    standing: Standing
    hidden_chars: int = 0
    lines: frozenset[str] = frozenset()


@frozen
class Grounded:
    """
    A summary with its flags.

    Attributes:
        text: the summary.
        unverified: how many claims nothing bears out.
        contradicted: how many absences are false.
        unseen: how many absences nobody could see.
        unrun: how many methods were never used.
    """

    text: str
    unverified: int = 0
    contradicted: int = 0
    unseen: int = 0
    unrun: int = 0


def evidence_of(
    replaced: Sequence[Message],
    standing: Standing | Iterable[str],
    previous: str,
    *,
    first: int = 0,
    hidden_chars: int = 0,
) -> Evidence:
    """
    The evidence for a summary of *replaced*.

    Args:
        replaced: the messages, each with its origins stated.
        standing: what bears claims out in every part, or just the texts that stay.
        previous: the body of the previous summary; only its unflagged claims count.
        first: index of the first of *replaced*.
        hidden_chars: how much of their output the summariser was not shown.
    """
    texts: list[tuple[str, str]] = []
    prompts: list[str] = []
    calls: set[str] = set()
    commands: list[str] = []
    for place, message in enumerate(replaced, first):
        for block, origin in with_origins(message):
            if isinstance(block, Text):
                texts.append(("", block.text))
                if origin in (Origin.HUMAN, Origin.UNKNOWN):
                    prompts.append(block.text)
            elif isinstance(block, Result):
                texts.append((f"message {place}", block.text))
            elif isinstance(block, Call):
                text = argument_text(block)
                texts.append(("", text))
                calls.add(block.name.lower())
                did = deed(block)
                if did.verb in ("ran", "looked") and did.objects:
                    commands.append(text[:_COMMAND_CHARS])
    record = unflagged(previous)
    texts.append(("", record))
    prompts += [record[start:stop] for start, stop in _quoted(record) if _is_persons(record, start)]
    calls.update(word.lower() for word in _command_words(record))
    calls.update(word.rpartition("/")[2].lower() for word in set(_WORD.findall("\n".join(commands))))
    stands = standing if isinstance(standing, Standing) else Standing(standing)
    return Evidence(tuple(texts), tuple(prompts), frozenset(calls), stands, hidden_chars, frozenset(record.split("\n")))


_SHOWN: Final = " characters shown\n"
_COUNTS: Final = re.compile(r"--- .*: ([0-9,]{1,20}) of ([0-9,]{1,20})", re.DOTALL)


def hidden_in(text: str) -> int:
    """
    How many characters of the conversation the *text* of a request leaves out; its own lines say so.

    >>> hidden_in('--- message 4 · tool "bash" answers: 2,000 of 31,000 characters shown\\n> ok')
    29000
    """
    text += "\n"
    hidden, at = 0, text.find(_SHOWN)
    while at >= 0:
        found = _COUNTS.fullmatch(text, text.rfind("\n", 0, at) + 1, at)
        if found is not None:
            shown, whole = (int(count.replace(",", "")) for count in found.groups())
            hidden += whole - shown
        at = text.find(_SHOWN, at + 1)
    return hidden


def unflagged(text: str) -> str:
    """A summary without the claims that were flagged: the word before each flag goes with it."""
    kept, at = [], 0
    for found in _FLAG.finditer(text):
        before = text[at : found.start()]
        quote = before[-1:]
        cut = before.rfind(" ") + 1
        if quote in ('"', "»", "”", "`"):
            opening = {"»": "«", "”": "“"}.get(quote, quote)
            cut = max(before.rfind(opening, 0, len(before) - 1), 0)
        kept.append(before[:cut])
        at = found.end()
    return "".join(kept) + text[at:]


# --- Grounding -------------------------------------------------------------------------------------------------------


def ground(text: str, evidence: Evidence) -> Grounded:
    """
    *text* with a flag behind each claim that *evidence* does not bear out (law L22).

    >>> from compactlib.model import wire
    >>> log = Message("tool", (Result("1", "ok\\nMARKER-77 stands in src/a.py", wire("tool")),), wire("tool"), Origin.TOOL)
    >>> ground("- MARKER-77 is in src/a.py and src/b.py", evidence_of([log], [], "")).text
    '- MARKER-77 is in src/a.py and src/b.py [unverified]'
    >>> ground('- "MARKER-77" was not found', evidence_of([log], [], "")).text
    '- "MARKER-77" was not found [contradicted: stands in message 0, line 2]'
    """
    judge = _Judge(evidence)
    out: list[str] = []
    quotes = quoting = False  # whether the one quotation that is ours was met, and goes on
    for line in _FLAG.sub("", text).split("\n"):
        quoting = quoting and line.startswith("> ")
        if line == FIRST_PROMPT and not quotes:
            quotes = quoting = True
        is_heading = line.startswith("## ")  # the schema's: others are escaped
        if quoting or is_heading or (line in evidence.lines and _absence().search(line) is None):
            out.append(line)
        else:
            out.append("".join(judge.sentence(part) for part in _sentences(line)))
    return Grounded("\n".join(out), judge.unverified, judge.contradicted, judge.unseen, judge.unrun)


@cache
def _stop() -> re.Pattern[str]:
    return re.compile(r"[.!?;…] +(?=[^a-z])")


def _sentences(line: str) -> Iterator[str]:
    """The sentences of a line, with what stands between them."""
    at = 0
    for found in [*_stop().finditer(line), None]:
        stop = len(line) if found is None else found.end()
        while stop - at > _SENTENCE_CHARS:  # whatever has no end is judged in pieces
            space = line.rfind(" ", at, at + _SENTENCE_CHARS)
            piece = space + 1 if space > at else at + _SENTENCE_CHARS
            yield line[at:piece]
            at = piece
        if at < stop:
            yield line[at:stop]
        at = stop


class _Judge:
    """Judges claims one after the other, and counts what it found."""

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence
        self.tokens = Tokens(text for _, text in evidence.texts)
        self.numbers: frozenset[str] | None = None
        self.searched = self.looked = 0
        self.stood: dict[tuple[str, bool], bool] = {}
        self.outputs: list[tuple[str, str]] | None = None
        self.folded: str | None = None
        self.said: str | None = None
        self.unverified = self.contradicted = self.unseen = self.unrun = 0

    def sentence(self, text: str) -> str:
        """A sentence with its flags."""
        body = text.rstrip()
        space = text[len(body) :]
        absence = _absence().search(body)
        if absence is not None:
            flag = self._absence(body, is_weak=absence["weak"] is not None)
            if flag:
                return f"{_before_stop(body, flag)}{space}"
        marks: list[tuple[int, str]] = [*self._quotations(body), *self._names(body)]
        out, at = [], 0
        for place, flag in sorted(marks):
            out += [body[at:place], " ", flag]
            at = place
        made = "".join(out) + body[at:]
        method = self._method(body)
        return (_before_stop(made, method) if method else made) + space

    # -- what is claimed -------------------------------------------------------------------------------------------

    def _names(self, text: str) -> Iterator[tuple[int, str]]:
        ours = [found.span() for found in _FORM.finditer(text)]
        ours += [found.span() for found in _GROUPED.finditer(text) if self._is_counted(found[0])]
        for found in re.finditer(r"\S+", text):
            if ours and any(start <= found.start() < stop for start, stop in ours):
                continue
            token = found[0]
            bare = token.strip(_AROUND)
            start = found.start() + token.find(bare)
            for kind, at, to in _named(bare):
                if kind in _CLAIMS and not self.occurs(bare[at:to], kind):
                    self.unverified += 1
                    stop = start + to
                    yield stop + len(_closing(text, stop)), UNVERIFIED

    def _quotations(self, text: str) -> Iterator[tuple[int, str]]:
        for start, stop in _quoted(text):
            words = text[start:stop]
            parts = words.split()
            is_persons = _is_persons(text, start)
            is_long = len(parts) >= _QUOTED_WORDS or (is_persons and parts and _saying().search(_before(text, start)) is not None)
            if not is_long or (text[start - 1] == "`" and parts[0] in _COMMANDS):
                continue  # a command is judged as a method
            if not (self._was_said(words) if is_persons else self._stands(words)):
                self.unverified += 1
                yield stop + 1, UNVERIFIED

    # -- what bears it out -----------------------------------------------------------------------------------------

    def occurs(self, claim: str, kind: Kind | None = None) -> bool:
        """Whether a name or number stands in the evidence, or is that of a tool that was called."""
        if claim.lower() in self.evidence.calls or claim in self.tokens:
            return True
        spellings = {claim, claim.rstrip("/"), claim.partition(":")[0] if kind is Kind.PATH else claim}
        if any(name in tokens for name in spellings for tokens in (self.tokens, self.evidence.standing.tokens)):
            return True
        return self._is_counted(claim) if kind is Kind.NUMBER else self._stands(claim, whole=False)

    def _is_counted(self, number: str) -> bool:
        """Whether a number stands in the evidence, however its digits are grouped."""
        if self.numbers is None:
            self.numbers = _numbers_of(text for _, text in self.evidence.texts)
        return _digits(number) in self.numbers or _digits(number) in self.evidence.standing.numbers

    def _stands(self, words: str, *, whole: bool = True) -> bool:
        """Whether *words* stand in the evidence; a name must not be part of a longer one."""
        if self.searched >= _SEARCHED:
            return False
        self.searched += 1
        known = self.stood.get((words, whole))
        if known is None:  # one name may be claimed line after line
            if self.folded is None:
                self.folded = "\n".join(_fold(text) for _, text in self.evidence.texts)
            wanted = _fold(words)
            places = (self.folded, self.evidence.standing.folded)
            known = any(wanted in place if whole else place_of(wanted, place) >= 0 for place in places)
            self.stood[words, whole] = known
        return known

    def _was_said(self, words: str) -> bool:
        if self.said is None:
            self.said = "\n".join(map(_fold, self.evidence.prompts))
        return _fold(words) in self.said or _fold(words) in self.evidence.standing.said_folded

    # -- absence and method ----------------------------------------------------------------------------------------

    def _absence(self, text: str, *, is_weak: bool) -> str:
        """The flag for a sentence that calls something absent, ``""`` if nothing speaks against it."""
        named = [text[start:stop] for start, stop in _quoted(text)]
        bare = [token.strip(_AROUND) for token in text.split()]
        named += [token[at:to] for token in bare for kind, at, to in _named(token) if kind in _CLAIMS]
        for name in named:
            place = self._place_of(name)
            if place:
                self.contradicted += 1
                return f"[contradicted: stands in {place}]"
        if self.evidence.hidden_chars and (named or not is_weak):
            self.unseen += 1
            return f"[not verified: {self.evidence.hidden_chars:,} characters were not shown]"
        return ""

    def _place_of(self, name: str) -> str:
        """Where an output of a tool holds *name*, whatever the case of its letters; ``""`` if none does."""
        wanted = name.lower()
        if len(name) < 3 or self.looked >= _SEARCHED:
            return ""
        self.looked += 1
        if self.outputs is None:
            self.outputs = [(place, text.lower()) for place, text in self.evidence.texts if place]
        for place, text in self.outputs:
            at = place_of(wanted, text)
            if at >= 0 and not _absence().search(text[at : at + len(name) + 80].partition("\n")[0]):
                return f"{place}, line {text.count(chr(10), 0, at) + 1}"
        return ""

    def _method(self, text: str) -> str:
        """The flag for a sentence that names a tool or command as its method, ``""`` if one was run."""
        for word in _command_words(text):
            if word.lower() not in self.evidence.calls:
                self.unrun += 1
                return "[not verified: no such call]"
        return ""


def _named(token: str) -> Iterator[tuple[Kind | None, int, int]]:
    """What a token names: itself, or the values inside it."""
    kind = kind_of(token)
    if kind is None and not token.isalnum():
        yield from named_in(token)
    else:
        yield kind, 0, len(token)


def _before_stop(text: str, flag: str) -> str:
    """*flag* set behind a sentence, before the mark that ends it."""
    body = text.rstrip(".!?;…")
    return f"{body} {flag}{text[len(body) :]}"


def _closing(text: str, at: int) -> str:
    """The closing mark that belongs to a name."""
    found = re.match(r"[\"'`)\]»”]{1,2}", text[at : at + 2])
    return found[0] if found else ""


def _fold(text: str) -> str:
    return " ".join(text.split()).casefold()


def _digits(text: str) -> str:
    return "".join(filter(str.isdigit, text))


def _numbers_of(texts: Iterable[str]) -> frozenset[str]:
    """The digits of the numbers in *texts*; of those with points, or in groups, as one and each part by itself."""
    found: set[str] = set()
    for text in texts:
        found.update(re.findall(r"[0-9][0-9.,_]*(?:[ \u00a0\u202f][0-9]{3}(?![0-9]))*", text))
    divided = list(filterfalse(str.isdigit, found))
    found.difference_update(divided)
    for one in divided:
        found.add(_digits(one))
        found.update(re.findall(r"[0-9]+", one))
    return frozenset(found)


@cache
def _quotes() -> re.Pattern[str]:
    return re.compile(r"\"([^\"\n]{2,400})\"|«([^»\n]{2,400})»|“([^”\n]{2,400})”|`([^`\n]{2,400})`")


def _quoted(text: str) -> Iterator[tuple[int, int]]:
    """Where quotations stand, without their marks."""
    for found in _quotes().finditer(text):
        yield found.start() + 1, found.end() - 1


def _before(text: str, start: int) -> str:
    """What stands directly before a quotation whose words begin at *start*."""
    return text[max(start - 61, 0) : start - 1]


def _is_persons(text: str, start: int) -> bool:
    """Whether a quotation is called a person's."""
    return _person().search(_before(text, start).rpartition("\n")[2]) is not None


@cache
def _person() -> re.Pattern[str]:
    return re.compile(
        r"(?i)\b(?:user|person|human|customer|client|пользовател\w*|заказчик\w*|клиент\w*|человек\w*)\b[^.!?\"«“`]*$"
    )


@cache
def _saying() -> re.Pattern[str]:
    """A verb of saying directly before a quotation: then one word is a quotation too."""
    return re.compile(
        r"(?i)\b(?:sa(?:id|ys?)|ask(?:ed|s)|wrote|writes|answer(?:ed|s)|repl(?:ied|ies)|confirm(?:ed|s)|approv(?:ed|es)|agre(?:ed|es)|"
        r"told|typed|сказал\w*|попросил\w*|написал\w*|ответил\w*|подтвердил\w*|согласил\w*|одобрил\w*|велел\w*)"
        r"(?: (?:that|us|me|it|with|что))?[:,]? ?$"
    )


@cache
def _absence() -> re.Pattern[str]:
    """
    Words that call something absent; the *weak* do so only where it is named.

    Their first letters stand in front, which saves four fifths of the search.
    """
    return re.compile(
        r"(?i)(?=[acdfhilnuwон])\b(?:not found|no such|missing from|"
        r"(?:does|do|did)(?:n't| not) (?:exist|occur|appear|contain|show|find)|"
        r"(?:is|are|was|were)(?:n't| not) (?:there|present|found|in)|(?:is|are|was|were) (?:missing|absent)|absent|"
        r"(?:could|can)(?:n't| ?not) (?:find|locate)|(?:unable|failed) to (?:find|locate)|no longer (?:exists?|there)|"
        r"no (?:occurrences?|match|matches|trace)|nowhere|never (?:seen|found|occurs?|appears?|existed)|not seen|"
        r"отсутству\w*|не (?:найд|обнаруж|встре[чт])\w*|не наш(?:[её]л|л)\w*|не существует|не содержит\w*|нет в|не оказалось|"
        r"(?P<weak>(?:has|have|had|found|contains?|is|are|was|were) no|lacks?))\b"
    )


# fmt: off
_COMMANDS: Final = frozenset({
    "ack", "ag", "awk", "bash", "bundle", "cargo", "cat", "cmake", "composer", "conda", "cp", "curl", "diff", "dig",
    "docker", "dotnet", "eslint", "find", "flake8", "gdb", "gh", "git", "go", "gradle", "grep", "head", "helm", "jest",
    "jq", "kubectl", "ls", "make", "maven", "md5sum", "mocha", "mvn", "mypy", "node", "npm", "npx", "nslookup", "objdump",
    "perl", "php", "pip", "ping", "pnpm", "poetry", "psql", "pylint", "pyright", "pytest", "python", "python3", "rg",
    "ripgrep", "rspec", "rsync", "ruby", "ruff", "rustc", "sed", "sha256sum", "sqlite3", "ssh", "strace", "tail", "tcpdump",
    "terraform", "tox", "tsc", "unittest", "uv", "valgrind", "vim", "vitest", "wc", "wget", "yarn", "zgrep",
})
# fmt: on
"""Programs that are named as the way in which something was found out."""


@cache
def _methods() -> re.Pattern[str]:
    """What stands before a method: ``ran grep``, ``with `pytest -q` ``, ``с помощью grep``; first letters as in `_absence`."""
    return re.compile(
        r"(?i)(?=[bceruvwвзкпсч])\b"
        r"(?:ran|run|running|re-?ran|using|used|via|with|by|executed|executing|checked with|verified (?:with|by)|"
        r"запустил\w*|запуск\w*|выполн\w*|с помощью|через|командой|прогнал\w*|проверено|провер\w*)"
        r"(?: the| a| команду| команды| команда| запуском)? ([`\"«“]?)([A-Za-z0-9_.+/-]{2,60})"
    )


def _command_words(text: str) -> Iterator[str]:
    """The programs that a text names as its methods."""
    for found in _methods().finditer(text):
        word = found[2].rpartition("/")[2].rstrip(".")
        if word.lower() in _COMMANDS:
            yield word
    for start, stop in _quoted(text):
        words = text[start:stop].split()
        if text[start - 1] == "`" and len(words) > 1 and words[0] in _COMMANDS:
            yield words[0]
