"""What `known_secrets` finds, what it leaves alone, and that no text makes it slow."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import uuid
from collections.abc import Iterator
from functools import partial
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

import compactlib as cl
from compactlib.credentials import _MARKED, _NAMED, KINDS, known_secrets

from .counting import lines_run

A40: Final = "Zq3xV7bN1mK9pL5wR2tY8uI4oP6aS0dF3gH7jK1l"
HEX: Final = hashlib.sha256(b"a key").hexdigest()
LINE: Final = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"
CLAIMS: Final = "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0NTY3ODkwIn0." + "dozjgNryP4J3jVmNHl0w5N"


def pem(kind: str, between: str = "\n") -> str:
    """A private key as a file has it."""
    return between.join([f"-----BEGIN {kind}-----", LINE, LINE[:20] + "==", f"-----END {kind}-----"])


# (text, what of it is the secret, kind).  No secret stands here in one piece, so that nobody takes this file for a leak.
SECRETS: Final = (
    (pem("PRIVATE KEY"), pem("PRIVATE KEY"), "private key"),
    (pem("RSA PRIVATE KEY"), pem("RSA PRIVATE KEY"), "private key"),
    (pem("OPENSSH PRIVATE KEY", "\r\n"), pem("OPENSSH PRIVATE KEY", "\r\n"), "private key"),
    (json.dumps({"k": pem("EC PRIVATE KEY")}), pem("EC PRIVATE KEY", "\\n"), "private key"),
    (pem("PRIVATE KEY", "\n   12\t"), pem("PRIVATE KEY", "\n   12\t"), "private key"),
    (pem("PRIVATE KEY", "\n+"), pem("PRIVATE KEY", "\n+"), "private key"),
    (f"-----BEGIN PRIVATE KEY-----\n{LINE}\n[cut off]", f"-----BEGIN PRIVATE KEY-----\n{LINE}", "private key"),
    ("id AKIA" + "Q3" * 8 + ".", "AKIA" + "Q3" * 8, "api key"),
    ("ghp_" + A40, "ghp_" + A40, "token"),
    ("url=https://github_pat_" + A40 + "_1@x", "github_pat_" + A40 + "_1", "token"),
    ("glpat-" + A40[:20], "glpat-" + A40[:20], "token"),
    ("xoxb-" + "1234567890-" + A40, "xoxb-" + "1234567890-" + A40, "token"),
    ("https://hooks.slack.com/services/" + "T0ABCDEF/B0ABCDEF/" + A40, "T0ABCDEF/B0ABCDEF/" + A40, "token"),
    ("sk_live_" + A40[:24], "sk_live_" + A40[:24], "api key"),
    ("whsec_" + A40, "whsec_" + A40, "api key"),
    ("AIza" + A40[:35], "AIza" + A40[:35], "api key"),
    ("ya29." + A40, "ya29." + A40, "token"),
    ("GOCSPX-" + A40[:28], "GOCSPX-" + A40[:28], "api key"),
    ("sk-ant-" + "api03-" + A40, "sk-ant-" + "api03-" + A40, "api key"),
    ("sk-proj-" + A40 + "_x", "sk-proj-" + A40 + "_x", "api key"),
    ("(sk-" + A40 + ")", "sk-" + A40, "api key"),
    ("gsk_" + A40, "gsk_" + A40, "api key"),
    ("npm_" + A40, "npm_" + A40, "token"),
    ("SG." + A40[:22] + "." + A40, "SG." + A40[:22] + "." + A40, "api key"),
    ("got " + CLAIMS, CLAIMS, "token"),
    ("postgres://app:hunter2@db.example/main", "hunter2", "password"),
    ("redis://:hunter2@[::1]:6379", "hunter2", "password"),
    ("Authorization: Basic dXNlcjpwYXNz", "dXNlcjpwYXNz", "token"),
    ("-H 'authorization: Bearer abc123def456'", "abc123def456", "token"),
    (f"a bearer {A40}", A40, "token"),
    ("DB_PASSWORD=hunter2\n", "hunter2", "password"),
    ('"password": "hunter2",', "hunter2", "password"),
    (json.dumps(json.dumps({"password": "hunter2"})), "hunter2", "password"),
    ("client_secret='it~is'", "it~is", "password"),
    ("Pwd=s3cr3t;Server=x", "s3cr3t", "password"),
    ("password => 's3cr3t!'", "s3cr3t!", "password"),
    ("aws_secret_access_key = " + A40, A40, "api key"),
    ("X-Api-Key: abc123-def456-ghi", "abc123-def456-ghi", "api key"),
    ("secretAccessKey: '" + A40 + "'", A40, "api key"),
    ("refresh_token=" + A40, A40, "token"),
    ("dckr_pat_" + A40, "dckr_pat_" + A40, "token"),
    ("hvs." + A40, "hvs." + A40, "token"),
    ("ATATT3x" + A40, "ATATT3x" + A40, "token"),
    ("bot123456789:AA" + A40[:35], "AA" + A40[:35], "token"),
    ("DB_PASS=hunter2", "hunter2", "password"),
    ("mysql --password hunter2 db", "hunter2", "password"),
    (f"gh --token {A40} x", A40, "token"),
    (f"SECRET_KEY_BASE={A40}", A40, "api key"),
    (f"Authorization: Bot {A40}", A40, "token"),
    ("?access_token=" + A40 + "&x=1", A40, "token"),
    ("?access_token=abc%2F" + A40 + "%3D&x=1", "abc%2F" + A40 + "%3D", "token"),
    ("curl -s -X POST https://x.example -u admin:hunter -d @a", "hunter", "password"),
    ("curl --url https://x.example --user-agent x \\\n  --user 'admin:hunter'", "hunter", "password"),
    ('["curl", "-u", "admin:hunter", "https://x.example"]', "hunter", "password"),
    ("curl -u " + A40 + ": https://x.example", A40, "api key"),
    ("etcdctl -u root:s3cret get /a", "s3cret", "password"),
    ("machine x.example login app password hunter", "hunter", "password"),
    ("machine git\n\tlogin app\n\taccount a\n\tpassword hunter\n", "hunter", "password"),
    (json.dumps("machine git\n login app\n password hunter\n"), "hunter", "password"),
    ("machine git login app password hunter2", "hunter2", "password"),
    ("Set-Cookie: sid=" + A40 + "; Path=/; HttpOnly", A40, "token"),
    ("Cookie: theme=dark; sid=" + A40 + "; b=1", "theme=dark; sid=" + A40 + "; b=1", "token"),
    ("{'cookie': 'sid=" + A40 + "'}", "sid=" + A40, "token"),
    ("?sv=1&sig=" + A40 + "%2B%3D&se=2", A40 + "%2B%3D", "token"),
    ("&X-Amz-Signature=" + HEX + "&x=1", HEX, "token"),
    ("?key=" + A40 + "&x=1", A40, "api key"),
    ("a=b&amp;key=" + HEX[:32], HEX[:32], "api key"),
    ('password = "hunter"', "hunter", "password"),
    (json.dumps(json.dumps({"password": "hunter"})), "hunter", "password"),
    ("a:\n  password: |\n    hunter\n    again\n  user: b\n", "hunter\n    again", "password"),
    (json.dumps("client_secret: >-\n  hunter\nuser: b"), "hunter", "password"),
)

NO_SECRETS: Final = (
    HEX,
    f"sha256:{HEX}",
    f"commit {HEX[:40]}",
    str(uuid.UUID(hex=HEX[:32])),
    "src/secret/token/key/password.py",
    "/home/user1/.ssh/id_rsa",
    "key=value token count: 4096 max_tokens=4096",
    "password = os.environ['DB_PASSWORD_1']",
    "password: str = Field(min_length=8)",
    "def login(password, token2=None): pass",
    "token = get_token2(request)",
    "api_key=settings.API_KEY_2",
    "Authorization: Bearer <token1>",
    "Authorization: Bearer ${TOKEN1}",
    "API_KEY=your-api-key-1",
    "PASSWORD=$1",
    "password: ********",
    "password = 'change-me-1'",
    '"password": "string"',
    "if password == 'hunter2':",
    "nextPageToken: CAUQAAbcd1234567",
    "PWD=/srv/2",
    "private_key: /etc/ssl/key1.pem",
    "-----BEGIN PUBLIC KEY-----\n" + LINE + "\n-----END PUBLIC KEY-----",
    "a file that begins with -----BEGIN PRIVATE KEY----- is one",
    "sk-estimator-doc-link-fitted sk-1",
    "https://user@host:8080/path@x:y",
    "git@github.com:org/repo.git",
    "data:image/png;base64," + base64.b64encode(HEX.encode() * 40).decode(),
    "NUM_PASS=12345 first_pass=0.95x PASS: 12 of 12",
    "tool --password --verbose2 --token /run/secrets/token1 --api-key $KEY1 --secret your-secret-1",
    "at 12:AA0123",
    "[redacted v1: password, 7 chars]",
    "password=[redacted v1: password, 7 chars]",
    "curl -u user:password",
    "curl -u $USER:$PASS",
    'curl -u "${USER}:${PASS}"',
    "curl -u u:<password>",
    "curl -u user: https://x/1:2",
    "docker run -u 1000:1000 a",
    "chpst -u app1:app1 -- a",
    "tool -u host1:8080 -u http://a1:80/b2",
    'args: ["-u", "udp:8125"]',
    "machine learning for a login flow with a password reset",
    "a machine learning login flow password reset of 2024",
    "machine HOST login USER password PASSWORD",
    "machine a.b login x password $(cat /a1)",
    "machine a.b login %s password %s",
    "Cookie: theme=dark; lang=en",
    "Set-Cookie: sid=<value>; Path=/",
    "Set-Cookie: sid=; Max-Age=0",
    'document.cookie = "size=" + size12345678',
    'cookie = request.cookies.get("session1234567890")',
    "cookie: session.cookies1234567",
    'SESSION_COOKIE = "session_id_1234567"',
    "'/csrf-cookie': 'http://localhost:8000/a?b=1234567890123'",
    'cookie: SimpleCookie = SimpleCookie("a=1234567890123")',
    "key=lambda x: x",
    "sorted(a, key=len)",
    "?key=name",
    "?key=uploads/2024/11/30/picture0001.png",
    "?key=a-phrase-of-2024-with-many-words",
    "&key={key1}",
    "&key=%s",
    "&key=${nextKey1}",
    "const QString &key={}",
    "max(date)-8*3600*24&key==keyi",
    "&sig=${sign(token1)}",
    "time_signature=kwargs.get(1)",
    "Signature=signature1",
    '"&Signature=" + signature1',
    'password = input("...")',
    'password = "password"',
    'password: "text"',
    '"password": "required|min:8|confirmed"',
    "password: 'Contraseña'",
    'RESET_PASSWORD = "reset"',
    'resetPassword: "resetPassword"',
    'PASSWORD = "database.password"',
    'invalid_password = "sorry"',
    '"passwd": "accounts"',
    'mustChangePassword: "false"',
    'if password == "hunter":',
    'password: "Password is wrong"',
    "password: |\n  Your password\n",
    "password: >-\n  {{ lookup('a', 1) }}\n",
    "secret: |\n    import os\n    KEY = os.environ['A1']\n",
    "password: |\nuser: b1\n",
    "password: |\n  ${{ secrets.A1 }}\n",
    "password:\n  type: string\n",
)


def found(text: str) -> set[tuple[str, str]]:
    return {(text[start:stop], kind) for start, stop, kind in known_secrets(text)}


SPELLED: Final = (
    *(r"\n", r"\r\n", r"\\n", r"\t", r"\u00e9", r"\u001b[31m", r"\x1b[0m", r"\033[1;32m", "%3D"),
    *("\x1b[m", "\x1b[1m", "\x1b[38;5;200m", "\x1b[1;38;5;200m"),
)
"""What may stand before a secret: escapes of JSON, of addresses, of terminals."""
BEGUN: Final = (("ghp_" + A40, "token"), ("AKIA" + "Q3" * 8, "api key"), ("sk-" + A40, "api key"), (CLAIMS, "token"))


@pytest.mark.parametrize(("text", "secret", "kind"), SECRETS, ids=[text[:24] for text, _, _ in SECRETS])
def test_secret_is_found(text: str, secret: str, kind: str) -> None:
    """Alone, and amid other words; where rows speak of one secret, each of the same letters."""
    for around in (text, f"first\n{text}\nlast", f"é😀 {text} İ"):
        assert (secret, kind) in found(around)
        assert {one for one, _ in found(around)} == {secret}


@pytest.mark.parametrize("before", SPELLED)
@pytest.mark.parametrize(("secret", "kind"), BEGUN, ids=[secret[:6] for secret, _ in BEGUN])
def test_secret_behind_what_is_spelled_out_is_found(before: str, secret: str, kind: str) -> None:
    """Outputs are JSON or coloured more often than not, and then letters stand before a secret that are none of its own."""
    text = f"x{before}{secret}"

    assert (secret, kind) in [(text[start:stop], kind) for start, stop, kind in known_secrets(text)]


def test_each_row_has_an_example() -> None:
    """No pattern of the tables is dead."""
    texts = [text for text, _, _ in SECRETS]
    for kind, words, pattern in (*_MARKED, *_NAMED):
        compiled = re.compile(pattern, re.IGNORECASE if (kind, words, pattern) in _NAMED else 0)
        assert any(compiled.search(text) for text in texts), pattern
    assert {kind for kind, _, _ in (*_MARKED, *_NAMED)} == set(KINDS)


@pytest.mark.parametrize("text", NO_SECRETS)
def test_what_is_no_secret_is_left_alone(text: str) -> None:
    """As it stands, and as the value of a common name."""
    assert found(text) == set()
    assert found(f"checksum: {text}\n") == set()


@given(st.binary(min_size=1, max_size=300))
def test_digests_and_base64_are_no_secrets(data: bytes) -> None:
    """Whatever bytes they are of."""
    spelled = (hashlib.sha256(data).hexdigest(), hashlib.sha1(data).hexdigest(), str(uuid.uuid5(uuid.NAMESPACE_URL, data.hex())))  # noqa: S324 - a sample
    for text in (*spelled, base64.b64encode(data).decode(), data.hex()):
        assert found(text) == found(f"see {text} there") == set()


def test_what_is_no_text_is_refused() -> None:
    """At once, and not when the first is asked for."""
    with pytest.raises(cl.PolicyError, match="text: a text, not 5"):
        known_secrets(5)  # type: ignore[arg-type]  # that is the point


# --- Time ------------------------------------------------------------------------------------------------------------

_MOST: Final = 2_000


def repeats(parsed: Any, *, ways: int = 1, ends: bool = True) -> Iterator[tuple[int, bool]]:
    """For each repeat of a pattern that may give back: in how many ways, with those around it; whether it ends the pattern."""
    items = list(parsed)
    for at, (operation, value) in enumerate(items):
        name, is_last = str(operation), ends and at == len(items) - 1
        if name in ("MAX_REPEAT", "MIN_REPEAT"):
            yield ways * int(value[1]), is_last and len(value[2]) == 1 and str(value[2][0][0]) == "IN"
            yield from repeats(value[2], ways=ways * int(value[1]), ends=False)
        elif name == "POSSESSIVE_REPEAT":
            yield from repeats(value[2], ends=False)
        elif name == "SUBPATTERN":
            yield from repeats(value[-1], ways=ways, ends=is_last)
        elif name == "BRANCH":
            for branch in value[1]:
                yield from repeats(branch, ways=ways, ends=is_last)
        elif name in ("ASSERT", "ASSERT_NOT"):
            yield from repeats(value[1], ways=ways, ends=False)
        else:
            assert name in ("ANY", "AT", "GROUPREF", "IN", "LITERAL", "NOT_LITERAL"), name


PATTERNS: Final = [pattern for _, _, pattern in (*_MARKED, *_NAMED)]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_patterns_are_of_a_linear_form(pattern: str) -> None:
    """Each repeat gives nothing back, is bounded together with those around it, or is of one class and ends the pattern."""
    found = [*repeats(re._parser.parse(pattern))]  # type: ignore[attr-defined]  # what `re` itself reads patterns with

    assert all(ways <= _MOST or ends for ways, ends in found)


@pytest.mark.parametrize(
    ("pattern", "is_linear"),
    [("a+", False), ("[ab]+", True), ("[ab]+c", False), ("(?:[ab]{1,50}c){1,50}", False), ("(?:a+)*+b", False)],
)
def test_form_is_seen(pattern: str, is_linear: bool) -> None:
    """What the test before this one would let through, and what not."""
    found = [*repeats(re._parser.parse(pattern))]  # type: ignore[attr-defined]  # as above

    assert all(ways <= _MOST or ends for ways, ends in found) is is_linear


def _looked_through(text: str) -> None:
    list(known_secrets(text))


@pytest.mark.parametrize("text", [text for text, _, _ in SECRETS], ids=[text[:24] for text, _, _ in SECRETS])
def test_beginnings_of_secrets_cost_what_other_text_costs(text: str) -> None:
    """Each beginning of each example, over and over: twice as much takes about twice as many lines of Python."""
    for stop in {1, 3, len(text) // 2, len(text) - 1, len(text)}:
        first, second = (lines_run(partial(_looked_through, text[:stop] * (size // stop))) for size in (10_000, 20_000))
        assert second < 2.3 * first + 100


@pytest.mark.parametrize("text", [text for text, _, _ in SECRETS], ids=[text[:24] for text, _, _ in SECRETS])
def test_each_of_many_is_found(text: str) -> None:
    """In 100 KB, and in as much of every beginning; what C does in one line a quadratic pattern would do for minutes."""
    times = 100_000 // (len(text) + 1)
    for stop in (len(text) // 3, len(text) - 1):
        list(known_secrets(text[:stop] * (100_000 // stop)))

    assert len(list(known_secrets(f"{text}\n" * times))) == times * len(list(known_secrets(text)))
