r"""
What a secret looks like: the patterns by which `known_secrets` finds passwords, keys and tokens in a text.

What this is
    Two tables.  A row is a kind of secret, the words at one of which it begins
    to be looked for, and a pattern that is tried there.  Where the pattern has
    a group, that is the secret, and what stands before it says that it is one.

Rules it obeys
    * Linear in the text, whatever it holds.  A repeat is bounded, or takes all
      it can and gives nothing back, or ends its pattern; and what may be long
      is tried only where it begins.
    * What is no secret is left alone: digests, UUIDs, paths, base64 of
      pictures, names of variables, places to be filled in (``<token>``,
      ``${TOKEN}``, ``your-key``).
    * What only its name calls a secret has to look like one.  A word without a
      digit or a sign is a word, unless it stands in quotes behind ``password``
      or where nothing but a password can stand; so some are missed.

What is not here
    What becomes of what was found (`masking`, `redacting`).  Secrets that look
    like nothing: whoever knows their own passes a redactor that finds them.
    Secrets in another form: base64 of a file, a picture of a screen.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import Final

from .arguments import need

__all__ = ["KINDS", "known_secrets"]

KINDS: Final = ("api key", "password", "private key", "token")
"""What `known_secrets` calls what it finds."""

_SPELLED: Final = "|".join(
    (
        r"(?<=\\[abfnrtv0])|(?<=\\x[0-9A-Fa-f]{2})|(?<=\\u[0-9A-Fa-f]{4})|(?<=%[0-9A-Fa-f]{2})",
        *(rf"(?<=\[[0-9;]{{{length}}}m)" for length in range(12)),
    )
)
"""A character ends here that is spelled out, as text in JSON and in addresses has it; or a colour, as terminals have it."""
_FREE: Final = f"(?:(?<![A-Za-z0-9_-])|(?<=-----)|{_SPELLED})"
"""
No letter of a token stands before it, so a run of such letters is looked at once; but the line of a key may end there.

What is spelled out ends in letters; it begins with what no run holds, so a run is looked at once all the same.
"""
_RUN: Final = "[A-Za-z0-9_-]"
_PEM: Final = "(?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
_BETWEEN: Final = r"""(?:\\{1,4}[nrt]|[0-9]{1,6}(?:→|[\t:|])|[\s"',>|]|-(?!-)){0,40}+"""
"""Between the lines of a key: line ends, perhaps spelled out, quotes, signs of a diff, numbers of lines as tools show them."""
_HEADED: Final = r"(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset): [^\r\n\\]{1,200}+"
_ENDED: Final = rf"(?:(?:{_BETWEEN}[A-Za-z0-9+/=]{{0,76}}+){{0,3}}+{_BETWEEN}-----END {_PEM})?"

_IS: Final = r"""["'\\]{0,4}[ \t]{0,3}(?:=>|:=|[:=](?![:=]))[ \t]{0,3}"""
"""What stands between a name and its value: in source, settings, JSON (perhaps spelled out), headers, addresses."""
_FILLED: Final = (
    r"(?!(?i:your|my[_-]|some|example|sample|change|dummy|require|placeholder|redacted|none\b|null\b|true\b|false\b|x{3})"
    r"|\*{3}|\.{3}|[$%<{])"
)
"""Not a place that somebody has to fill in."""
_VALUE: Final = r"(?:[^\s\"'`,;()\[\]{}<>|&\\]|&(?![\w.-]{1,40}=))"
_SIGN: Final = "[0-9!@#%^*+?~]"
_CODE: Final = "[A-Za-z0-9_+/=~-]"
_QUOTED: Final = rf"{_IS}\\{{0,3}}[\"']{_FILLED}(?=[^\s\"'\\]{{0,48}}?{_SIGN})([^\s\"'\\]{{4,256}})[\"'\\]"
_WORD: Final = rf"{_FILLED}(?![/.~])(?={_VALUE}{{0,48}}?{_SIGN})({_VALUE}{{4,256}}+)(?!\()"
_LETTERS: Final = (
    rf"{_FILLED}(?![/.~])(?=[A-Za-z_+/=~%-]{{0,100}}[0-9])(?=[0-9_+/=~%-]{{0,100}}[A-Za-z])"
    rf"((?:{_CODE}|%[0-9A-Fa-f]{{2}}){{12,1024}}+)(?![(\[]|\.[A-Za-z])"
)
_UNQUOTED: Final = f"{_IS}{_WORD}"
_CODED: Final = rf"{_IS}(?:\\{{0,3}}[\"'])?{_LETTERS}"
_NEXT: Final = r"[ \t]{1,3}[\"']?(?!-)"
"""Between an option of a command and its value, which is no other option."""
_DIGIT: Final = "(?=[A-Za-z._~+/=-]{0,60}[0-9])"
_PWD: Final = f"(?:(?<![a-z])|{_SPELLED})pwd"
_PASSWORDS: Final = "password passwd passphrase pwd secret"
_SAID: Final = (
    r"(?!(?i:[a-z_-]{0,24}(?:auth|cred|[_-]key|field|hidden|input|invalid|login|option|pass|pwd|require|secret|string|text|token|unused|"
    r"user|value|word)[a-z_-]{0,24})(?![^\s\"'`,;&|()<>\[\]{}\\]))"
)
"""Not a word that says what belongs there, as documentation and schemas have it."""
_NO_DEED: Final = "".join(rf"(?<!{verb})(?<!{verb}[_-])" for verb in ("change", "forgot", "invalid", "reset", "show"))
"""Not the name of a page or of a message."""
_BREAK: Final = r"(?:\r?\n|\\{1,4}n)"
_GAP: Final = r"(?:\\{1,4}[nrt]|\s){1,40}+"
_PART: Final = r"[^\s\\]"
"""Lines end and words are divided by what may be spelled out."""
_HOST: Final = (
    rf"(?=[^\s.\\]{{1,63}}\.|localhost|{_PART}{{1,255}}+{_BREAK}|[\s\S]{{0,300}}?password{_GAP}{_PART}{{0,48}}?{_SIGN})"
    rf"{_PART}{{1,255}}+"
)
"""A host in a file of logins, and not in a sentence that happens to have the same words."""
_AS_USER: Final = (
    r"curl(?=[ \t\"'])(?:[^\s\"'\\]{1,99}+|\\(?:\r?\n)?|[ \t\"'](?!-u|--user[ =\"'])){0,120}+"
    r"[ \t\"']-(?:u|-user)[ \t\"',=]{0,4}"
)
"""A command up to whom it is to be: on one line or more, or in a list of arguments."""
_USER: Final = r"[^\s:/@$<>{}()\"'\\,]{1,64}"
_NO_PORT: Final = r"(?![0-9]{1,10}(?![^\s/\"',;)]))"
_QUERIED: Final = "(?=[A-Za-z%+/_=-]{0,40}[0-9])"
_COOKIE: Final = rf"cookie{_IS}[\"'\\\[]{{0,4}}"
_LONG: Final = r"(?=[a-z%._~+/|:-]{0,40}[0-9])[\w%.~+/|:-]{12}"
_CRUMB: Final = r"[^\s;,\"'\\<>(){}\[\]]"

# fmt: off
_MARKED: Final = (
    # PEM (RFC 7468) and OpenPGP (RFC 9580): to the last line; where that is missing, as far as lines of base64 go
    ("private key", "-----BEGIN",
     rf"-----BEGIN {_PEM}(?:{_BETWEEN}(?:{_HEADED}|[A-Za-z0-9+/=]{{16,}}+)){{1,2000}}+{_ENDED}"),
    # AWS, IAM identifiers: AKIA of a user, ASIA of a session, then base32
    ("api key", "AKIA ASIA", rf"(?:(?<![A-Za-z0-9])|{_SPELLED})A[KS]IA[A-Z2-7]{{16}}(?![A-Za-z0-9])"),
    # GitHub, formats of tokens
    ("token", "ghp_ gho_ ghu_ ghs_ ghr_", _FREE + r"gh[opusr]_[A-Za-z0-9]{36,}"),
    ("token", "github_pat_", _FREE + r"github_pat_[A-Za-z0-9_]{40,}"),
    # GitLab, prefixes of tokens
    ("token", "glpat- gldt- glrt- glptt- glcbt- glsoat-", f"{_FREE}gl(?:pat|dt|rt|ptt|cbt|soat)-{_RUN}{{20,}}"),
    # Slack, types of tokens and incoming webhooks
    ("token", "xox xapp-", f"{_FREE}x(?:ox[abeoprs]|app)-(?=[A-Za-z-]{{0,20}}[0-9]){_RUN}{{16,}}"),
    ("token", "hooks.slack.com/", r"hooks\.slack\.com/services/([A-Z0-9]{6,20}/[A-Z0-9]{6,20}/[A-Za-z0-9]{16,})"),
    # Stripe, keys and secrets of webhooks
    ("api key", "sk_live_ sk_test_ rk_live_ rk_test_", _FREE + r"[rs]k_(?:live|test)_[A-Za-z0-9]{16,}"),
    ("api key", "whsec_", _FREE + r"whsec_[A-Za-z0-9+/=]{32,}"),
    # Google, API keys, OAuth access tokens, client secrets
    ("api key", "AIza", f"{_FREE}AIza{_RUN}{{35,}}"),
    ("token", "ya29.", rf"{_FREE}ya29\.{_RUN}{{20,}}"),
    ("api key", "GOCSPX-", f"{_FREE}GOCSPX-{_RUN}{{20,}}"),
    # Anthropic (sk-ant-), OpenAI (sk-, sk-proj-, sk-svcacct-) and many who took the same prefix; the name of a style, which
    # may begin so too, has no digit, or is short
    ("api key", "sk-", f"{_FREE}sk-(?=[A-Za-z_-]{{0,60}}[0-9]){_RUN}{{20,}}"),
    # Groq, xAI, Hugging Face, npm, PyPI, DigitalOcean, SendGrid
    ("api key", "gsk_ xai- hf_", _FREE + r"(?:gsk_|xai-|hf_)[A-Za-z0-9]{32,}"),
    ("token", "npm_ pypi- dop_v1_", f"{_FREE}(?:npm_[A-Za-z0-9]{{36,}}|dop_v1_[a-f0-9]{{64,}}|pypi-{_RUN}{{50,}})"),
    # Docker Hub, Grafana, Shopify, HashiCorp Vault, Atlassian, and bots of Telegram, behind the number of the bot
    ("token", "dckr_pat_ glsa_ shpat_ hvs. ATATT3x",
     rf"{_FREE}(?:(?:dckr_pat_|hvs\.){_RUN}{{24,}}|(?:glsa_|shpat_)[A-Za-z0-9_]{{32,}}|ATATT3x{_RUN}{{32,}})"),
    ("token", ":AA", rf"(?<=[0-9]{{8}}):(AA{_RUN}{{33,}})"),
    ("api key", "SG.", rf"{_FREE}SG\.{_RUN}{{16,32}}\.{_RUN}{{32,}}"),
    # JSON Web Tokens, RFC 7515 and 7519: header and claims are objects, so both begin as {" does in base64
    ("token", "eyJ", rf"{_FREE}eyJ{_RUN}{{10,2000}}+\.eyJ{_RUN}{{10,}}+\.{_RUN}{{16,}}"),
    # settings of a shell: what only ends in the word counts in capitals alone, because tests pass, too
    ("password", "_PASS", rf"(?<=[A-Z0-9])_PASS{_IS}[\"']?(?={_VALUE}{{0,48}}?[a-z]){_WORD}"),
    # options of commands, whose value stands behind a blank
    ("password", "--pass --sec", f"--(?:pass(?:word|wd|phrase)|secret){_NEXT}{_WORD}"),
    ("token", "--tok --a --sec",
     f"--(?:(?:access-|auth-)?token|api-?key|secret-key){_NEXT}{_LETTERS}"),
    # basic authentication: an option alone, and neither a port nor a group of the same name
    ("password", "-u --user",
     rf"(?<![\w-])-(?:u|-user)[ \t\"',=]{{1,4}}(?![0-9]{{1,10}}:)({_USER}):(?!\1(?!\w)){_NO_PORT}{_SAID}{_WORD}"),
    # signatures of addresses: of Azure, of AWS and its like
    ("token", "?sig= &sig= ;sig= ?signature= &signature= Signature=",
     (rf"(?:[?&;]sig=(?=[\w%+/=-]{{40}})|[?&;]signature=|Signature=){_QUERIED}"
      r"((?:[A-Za-z0-9+/=_-]|%[0-9A-F]{2}){20,1024}+)(?![.(\[])")),
    # keys in addresses that are no name, path or phrase
    ("api key", "?key= &key= ;key=",
     (rf"[?&;]key={_QUERIED}((?=[\w-]{{0,40}}[A-Z])(?=[\w-]{{0,40}}[a-z])[\w-]{{20,256}}+|[A-Za-z0-9]{{24,256}}+)"
      r"(?![\w./(\[-])")),
    # addresses, RFC 3986 section 3.2.1
    ("password", "://", rf"://[^\s:/@\"'<>\\]{{0,128}}:{_FILLED}([^\s/@\"'<>\\{{}}\[\]]{{3,256}})@(?=[A-Za-z0-9\[])"),
)
"""What has a mark of its own."""

_NAMED: Final = (
    # HTTP, RFC 9110 section 11.6.2, with the schemes of RFC 6750 and RFC 7617
    ("token", "authorization",
     (rf"authorization{_IS}[\"'\\]{{0,4}}(?:basic {{1,3}}|(?:api-?key|bearer|bot|token) {{1,3}}{_DIGIT})"
      rf"{_FILLED}([A-Za-z0-9._~+/=-]{{8,}})")),
    ("token", "bearer", rf"bearer {{1,3}}{_DIGIT}([A-Za-z0-9._~+/=-]{{20,}})"),
    # cookies, RFC 6265: the value of one that is set; of those that are sent all, if one is long and has a digit
    ("token", "cookie", rf"(?<=set-){_COOKIE}[\w.-]{{1,64}}={_FILLED}(?={_LONG})({_CRUMB}{{12,4096}}+)(?![({{\[])"),
    ("token", "cookie",
     (rf"(?<!set-){_COOKIE}(?=[^\r\n\"'\\(){{}}<>\[\]]{{0,300}}?={_LONG})"
      rf"([\w.-]{{1,64}}={_CRUMB}{{0,4096}}+(?:; ?[\w.-]{{1,64}}={_CRUMB}{{0,4096}}+){{0,50}}+)(?![({{\[])")),
    # what curl is told, a password or a key alone, and the file that it reads (netrc)
    ("password", "curl", rf"{_AS_USER}{_USER}:{_FILLED}{_SAID}([^\s\"'`\\]{{3,256}}+)"),
    ("api key", "curl", rf"{_AS_USER}(?=[A-Za-z_-]{{0,60}}[0-9])([\w-]{{16,256}}+):(?![^\s\"'\\])"),
    ("password", "machine",
     (rf"machine{_GAP}{_HOST}{_GAP}login{_GAP}{_PART}{{1,128}}+{_GAP}(?:account{_GAP}{_PART}{{1,128}}+{_GAP})?"
      rf"password{_GAP}{_FILLED}{_SAID}([^\s\\\"']{{3,256}}+)")),
    # blocks of YAML whose lines are one word each
    ("password", "password passwd passphrase secret",
     (rf"(?:pass(?:word|wd|phrase)|secret)[\"']?:[ \t]{{1,3}}[|>][-+0-9]{{0,2}}{_BREAK}([ \t]{{1,40}}){_FILLED}{_SAID}"
      rf"({_PART}{{4,256}}+(?:{_BREAK}\1{_PART}{{1,256}}+){{0,20}}+)(?![ \t]{{1,3}}{_PART})")),
    # settings, source and JSON: in quotes, or up to where a value ends
    ("password", _PASSWORDS, rf"(?:pass(?:word|wd|phrase)|{_PWD}|secret){_QUOTED}"),
    ("password", _PASSWORDS, rf"(?:pass(?:word|wd|phrase)|{_PWD}|secret){_UNQUOTED}"),
    ("password", "password passphrase",
     rf"{_NO_DEED}pass(?:word|phrase){_IS}\\{{0,3}}[\"']{_FILLED}{_SAID}((?-i:[a-z])[a-z]{{4,31}})[\"'\\]"),
    ("api key", "api access account auth encryption private secret signing",
     rf"(?:api|access|account|auth|encryption|private|secret|signing)[_-]?key(?:_base)?{_CODED}"),
    # not the token of a next page, which is a place and no secret
    ("token", "token", rf"(?<!page)(?<!next)(?<!page[_-])(?<!next[_-])(?<!continuation)(?<!continuation[_-])token{_CODED}"),
)
"""What a name before it calls a secret, in any case."""
# fmt: on


_LEAST_CHARS: Final = 8  # nothing in the tables is shorter
_LOWER: Final = {letter: letter + 32 for letter in range(ord("A"), ord("Z") + 1)}


@functools.cache
def _by_word(*, in_any_case: bool) -> dict[str, list[tuple[str, re.Pattern[str]]]]:
    """The rows of a table that are tried at each word."""
    found: dict[str, list[tuple[str, re.Pattern[str]]]] = {}
    for kind, words, pattern in _NAMED if in_any_case else _MARKED:
        compiled = re.compile(pattern, re.IGNORECASE if in_any_case else 0)
        for word in words.split():
            found.setdefault(word, []).append((kind, compiled))
    return found


def known_secrets(text: str) -> Iterator[tuple[int, int, str]]:
    """
    The secrets in *text* that can be told by their looks: where each begins and ends, and its kind, one of `KINDS`.

    They come word by word of the tables, and one may be found twice.

    Raises:
        PolicyError: *text* is none.

    >>> text = "export API_KEY=sk-demo-0123456789abcdef01 URL=postgres://app:hunter2@db/main"
    >>> [(text[start:stop], kind) for start, stop, kind in known_secrets(text)][:2]
    [('sk-demo-0123456789abcdef01', 'api key'), ('hunter2', 'password')]
    >>> list(known_secrets("token count: 4096, sha256: " + "0123456789abcdef" * 4))
    []
    """
    need("text", text, str, "a text")
    return _found(text)


def _found(text: str) -> Iterator[tuple[int, int, str]]:
    if len(text) < _LEAST_CHARS:
        return
    lower = text.lower()
    if len(lower) != len(text):  # a letter whose other case is two
        lower = text.translate(_LOWER)
    for within, rows in ((text, _by_word(in_any_case=False)), (lower, _by_word(in_any_case=True))):
        for word in [word for word in rows if word in within]:  # in most texts there is none
            for kind, pattern in rows[word]:
                at = within.find(word)
                while at >= 0:
                    found = pattern.match(text, at)
                    if found is not None:
                        yield *found.span(pattern.groups), kind  # the group that is the secret; 0 is the whole
                    at = within.find(word, at + 1 if found is None else max(found.end(), at + 1))
