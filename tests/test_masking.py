"""A text, or JSON, without its secrets: what the mark says, what stays as it was, and what a foreign redactor may do."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

import compactlib as cl
from compactlib.credentials import known_secrets
from compactlib.masking import Masked, mask, mask_json, need_redactor, write_mark
from compactlib.summaries.acceptance import harmless

KEY: Final = "sk-test-4f9a0c2277d1e8b35566"
MARK: Final = f"[redacted v1: api key, {len(KEY)} chars]"

PIECES: Final = (
    "password=", '"password": "', "hunter2", KEY, "API_KEY=", "://app:", "@db", "Bearer ", "-----BEGIN PRIVATE KEY-----\n",
    "A" * 64, " ", "\n", '"', "\\", ",", "[redacted v1: ", MARK, MARK[1:], MARK[:-1], "]", "é", "😀", "token: ", "1a", "İ",
    "curl -u app:", "cookie: sid=", "&key=", "password: |\n  ", "machine a.b login c password ",
)  # fmt: skip


def finding(pattern: str, kind: str = "mine") -> Callable[[str], Iterable[tuple[int, int, str]]]:
    """A redactor by a regular expression."""
    return lambda text: [(*found.span(), kind) for found in re.finditer(pattern, text) if found[0]]


# --- Texts -----------------------------------------------------------------------------------------------------------


def test_mark_says_kind_and_length() -> None:
    """And nothing of the secret."""
    assert mask(f"use {KEY} there") == Masked(f"use {MARK} there", (("api key", len(KEY)),))


def test_text_without_secrets_is_the_same_object() -> None:
    text = "nothing to see " * 9

    assert mask(text).text is text


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_twice_is_once(text: str) -> None:
    """Whatever stands there, marks and pieces of marks included; and no secret is left that can be found."""
    once = mask(text)

    assert mask(once.text) == Masked(once.text)
    assert not once.found or once.text != text


@given(st.text(alphabet="ab[]1 :,redactvchs", max_size=60), st.data())
def test_what_is_not_named_stays(text: str, data: st.DataObject) -> None:
    """Any spans in any order, overlapping or not: what is outside of all of them, and of marks that they cut, is unaltered."""
    places = st.integers(0, len(text))
    spans = [
        (min(pair), max(pair), "x") for pair in data.draw(st.lists(st.tuples(places, places), max_size=5)) if pair[0] != pair[1]
    ]
    masked = mask(text, lambda shown: spans if shown is text else [])
    inside = {at for start, stop, _ in spans for at in range(start, stop)}
    pieces = re.split(r"\[redacted v1: x, [0-9]+ chars\]", masked.text)

    assert "".join(pieces) == "".join(letter for at, letter in enumerate(text) if at not in inside)
    assert sum(chars for _, chars in masked.found) == len(inside)


def test_overlapping_secrets_are_one_of_the_kind_of_the_longest() -> None:
    spans = [(8, 12, "late"), (0, 3, "short"), (2, 9, "long"), (2, 9, "again")]

    assert mask("0123456789abcdef", lambda _: spans) == Masked("[redacted v1: long, 12 chars]cdef", (("long", 12),))


@pytest.mark.parametrize("redactor", [finding("[0-9]+"), finding("chars"), finding("."), finding("[a-z ]+"), finding(".*")])
def test_mark_is_not_redacted_again(redactor: Any) -> None:
    """By nobody's redactor."""
    once = mask("a12 b", redactor)

    assert mask(once.text, redactor) == Masked(once.text)


def test_secret_that_touches_a_mark_leaves_no_half_of_it() -> None:
    """The mark goes with it, whole."""
    made = mask(f"x{MARK}y", lambda text: [(0, 9, "line")])

    assert made == Masked(f"[redacted v1: line, {1 + len(MARK)} chars]y", (("line", 1 + len(MARK)),))


def test_forged_mark_is_a_text_like_any_other() -> None:
    """Law L25: nothing counts it, and nothing is believed of it."""
    forged = write_mark("password", 12)

    assert mask(f"it says {forged}") == Masked(f"it says {forged}")


def test_mark_survives_what_makes_a_summary_harmless() -> None:
    """It leads nowhere, so there is nothing to be afraid of."""
    assert harmless(f"the key is {MARK}", ()) == (f"the key is {MARK}", 0)


# --- JSON ------------------------------------------------------------------------------------------------------------

VALUES: Final = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.lists(st.sampled_from(PIECES), max_size=4).map("".join) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(("a", "password", 'q"\\', KEY, "é")), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


def shape(value: Any) -> Any:
    """The same without what strings say; keys stay."""
    if isinstance(value, dict):
        return {key: shape(item) for key, item in value.items()}
    if isinstance(value, list):
        return [shape(item) for item in value]
    return "" if isinstance(value, str) else value


def strings(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for item in value.values() for text in strings(item)]
    if isinstance(value, list):
        return [text for item in value for text in strings(item)]
    return [value] if isinstance(value, str) else []


@given(VALUES, st.booleans(), st.sampled_from([None, 1]))
def test_json_stays_the_same_but_for_its_secrets(value: Any, in_ascii: bool, indent: int | None) -> None:
    """Keys, numbers, order and layout; and twice is once."""
    text = json.dumps(value, ensure_ascii=in_ascii, indent=indent)
    masked = mask_json(text)
    made = json.loads(masked.text)

    assert shape(made) == shape(value)
    assert bool(masked.found) is (made != value)
    assert list(map(type, strings(made))) == list(map(type, strings(value)))
    assert not any(re.search(rf"(?<![\w-]){KEY}", one, re.ASCII) for one in strings(made))
    assert mask_json(masked.text) == Masked(masked.text, kept=masked.kept)
    assert masked.found or masked.text is text


def test_values_are_read_before_they_are_looked_at() -> None:
    """A secret with quotes and backslashes in it, known to the caller, is found behind its escapes."""
    known = 'a"b\\c\n\u00e9'
    masked = mask_json(json.dumps({"note": f"x {known} y"}), finding(re.escape(known)))

    assert masked.text == '{"note": "x [redacted v1: mine, 7 chars] y"}'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"password": "s3cret 4 me"}', '{"password": "[redacted v1: password, 11 chars]"}'),
        ('{"password": "hunter", "kind": "hunter"}', '{"password": "[redacted v1: password, 6 chars]", "kind": "hunter"}'),
        ('{"password": "string", "reset_password": "reset"}', None),
        ('{"password" : ["s3cret 4 me"]}', None),
        ('{"headers": {"Authorization": "Bearer ab1"}, "n": 1.50}', None),
        (
            '{"headers": {"Authorization": "Bearer abc123def"}, "n": 1.50}',
            '{"headers": {"Authorization": "Bearer [redacted v1: token, 9 chars]"}, "n": 1.50}',
        ),
        (f'{{"text": "{KEY} and more"}}', f'{{"text": "{MARK} and more"}}'),
        (f'["\\u00e9 {KEY}"]', f'["\\u00e9 {MARK}"]'),
        (f'{{"{KEY}": 1}}', None),
        (f'{{"a": {KEY}}}', f'{{"a": {MARK}}}'),
    ],
)
def test_value_is_known_by_its_name(text: str, expected: str | None) -> None:
    """A value that its name alone calls secret goes whole; what is no JSON is a text."""
    assert mask_json(text).text == (text if expected is None else expected)


def test_what_stands_beside_a_value_is_not_counted_to_it() -> None:
    """A redactor may find the name, the quotes, or all of them: what is replaced is the value or a part of it."""
    text = '{"name": "hunter"}'

    for pattern, expected in (('r"', '{"name": "hunte[redacted v1: mine, 1 chars]"}'), ('"$', text), (".*", None)):
        made = mask_json(text, finding(pattern)).text
        assert made == (expected or '{"name": "[redacted v1: mine, 6 chars]"}')


def test_only_the_values_of_some_names() -> None:
    text = json.dumps({"description": KEY, "default": KEY, "all": [KEY]})

    assert json.loads(mask_json(text, under={"description"}).text) == {"description": MARK, "default": KEY, "all": [KEY]}


def test_secret_in_a_key_stays_and_is_told() -> None:
    """Without its key a value is not found any more."""
    text = json.dumps({KEY: {"a": [KEY], KEY: 1}})

    assert mask_json(text) == Masked(text.replace(f'["{KEY}"]', f'["{MARK}"]'), *[(("api key", len(KEY)),) * n for n in (1, 2)])


def test_number_that_its_name_calls_secret_stays_and_is_told() -> None:
    """As a text it would be redacted, and a number it has to stay."""
    text = '{"password": 12345678, "user": 12345678, "limits": {"password": -1}}'

    assert mask_json(text) == Masked(text, kept=(("password", 8),))
    assert mask_json(text, under={"user"}) == Masked(text)
    assert mask_json('{"a": 4444, "b": 5555}', finding("4444")) == Masked('{"a": 4444, "b": 5555}', kept=(("mine", 4),))


@pytest.mark.parametrize("name", ["token", "api_key", "password", "Authorization"])
@pytest.mark.parametrize("value", ["\u0130x12345678901234", "\nx12345678901234", "\ud800x12345678901234", '"x12345678901234"'])
def test_json_that_is_looked_at_as_a_text_stays_json(name: str, value: str) -> None:
    """What a tool gave is a text, and whoever reads it wants the JSON that it was; no escape of it is cut."""
    for sign in ("=", ": ", "=>"):
        json.loads(mask(json.dumps({"out": f"{name}{sign}{value}"})).text)


def test_json_that_is_too_deep_to_be_judged_stays_what_it_is() -> None:
    """Its strings are found all the same."""
    text = "[" * 100_000 + f'"{KEY}"' + "]" * 100_000

    assert mask_json(text).text == text.replace(KEY, MARK)


# --- Redactors of callers --------------------------------------------------------------------------------------------


class LeakyError(Exception):
    """What a caller's redactor may raise: it quotes what it was reading."""


def _leak(text: str) -> Any:
    raise LeakyError(text)


def _late(text: str) -> Any:
    yield 0, 1, "x"
    raise LeakyError(text)


@pytest.mark.parametrize(
    "redactor",
    [
        _leak, _late, lambda _: None, lambda _: 5, lambda text: text, lambda text: [text], lambda _: [(1,)], lambda _: [(0, 1)],
        lambda _: [(0, 1, "x", 1)], lambda _: [(1, 0, "x")], lambda _: [(0, 0, "x")], lambda _: [(-1, 1, "x")],
        lambda text: [(0, len(text) + 1, "x")], lambda _: [(0.0, 1, "x")], lambda _: [(False, True, "x")], lambda _: [(0, 1, 5)],
        lambda _: [(0, 1, "")], lambda text: [(0, 1, text)], lambda _: [(0, 1, "x" * 33)], lambda _: [(0, 1, "a]b")],
        lambda _: [("0", "1", "x")], lambda: 5,
    ],
)  # fmt: skip
def test_redactor_that_fails_is_a_policy_error(redactor: Any) -> None:
    """Which names it, and never says what it was reading."""
    with pytest.raises(cl.PolicyError) as caught:
        mask(f"a {KEY.upper()} b", redactor)

    assert caught.value.field == "redactor"
    assert KEY.upper() not in str(caught.value)


def test_redactor_that_stops_everything_stops_everything() -> None:
    """What is no `Exception` passes through."""

    def stop(_: str) -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        mask("text", stop)


def test_redactor_may_build_on_the_known_ones() -> None:
    """As the documentation says."""
    mine = finding("ACME-[0-9]+", "licence")
    masked = mask(f"{KEY} ACME-77", lambda text: [*known_secrets(text), *mine(text)])

    assert masked.found == (("api key", len(KEY)), ("licence", 7))


def test_what_cannot_be_called_is_no_redactor() -> None:
    with pytest.raises(cl.PolicyError, match="redactor: "):
        need_redactor(5)  # type: ignore[arg-type]  # that is the point
    assert need_redactor(None) is known_secrets
