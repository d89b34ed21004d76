"""Anchors: each kind is found, in the order of the law, and what is not in the output is written down or left with a count."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactlib.model import Call, Message, Origin, Result, Text, wire
from compactlib.summaries.facts import Anchor, Kind, Tokens, find_anchors, kind_of, missing, named_in, write_appendix
from compactlib.tokens import estimate


def human(text: str) -> Message:
    return Message("user", text, wire("user"), Origin.HUMAN)


def tool(text: str, name: str = "bash") -> tuple[Message, Message]:
    call = Call("c", name, {"command": "make test"} if name == "bash" else {"path": "a.txt"}, wire("tool_use"))
    answer = Result("c", text, wire("tool_result"))
    return Message("model", (call,), wire("assistant"), Origin.MODEL), Message("user", (answer,), wire("user"), Origin.TOOL)


def found(*messages: Message) -> dict[str, Kind]:
    return {anchor.text: anchor.kind for anchor in find_anchors(messages)}


@pytest.mark.parametrize(
    ("text", "fact", "kind"),
    [
        ("Never push to main.", "Never push to main.", Kind.ORDER),
        ("Отвечай только по-русски.", "Отвечай только по-русски.", Kind.ORDER),
        ("see (src/app/main.py:12), please", "src/app/main.py:12", Kind.PATH),
        ("in C:\\temp\\a.log there", "C:\\temp\\a.log", Kind.PATH),
        ("edit config.yaml now", "config.yaml", Kind.PATH),
        ("~/.bashrc is read", "~/.bashrc", Kind.PATH),
        ("ticket PAY-1203 and", "PAY-1203", Kind.IDENTIFIER),
        ("issue #4471,", "#4471", Kind.IDENTIFIER),
        ("order ord_99x1 went", "ord_99x1", Kind.IDENTIFIER),
        ("заказ №4471", "№4471", Kind.IDENTIFIER),
        ("commit `a94a8fe5`", "a94a8fe5", Kind.HASH),
        ("id 3f2504e0-4f89-11d3-9a0c-0305e82c3301", "3f2504e0-4f89-11d3-9a0c-0305e82c3301", Kind.HASH),
        ("with attrs==23.2 installed", "attrs==23.2", Kind.VERSION),
        ("release 1.4.2-rc1", "1.4.2-rc1", Kind.VERSION),
        ("timeout 30 -> 120 s", "30 -> 120", Kind.CHANGE),
        ("цена 10→12", "10→12", Kind.CHANGE),
        ("at https://example.org/a?b=1.", "https://example.org/a?b=1", Kind.URL),
        ("in retry_limit", "retry_limit", Kind.SYMBOL),
        ("call parseBody there", "parseBody", Kind.SYMBOL),
        ("the class SummaryRequest does", "SummaryRequest", Kind.SYMBOL),
        ("os.path.join it", "os.path.join", Kind.SYMBOL),
        ("сумма 1 234,50 ₽ за", "1 234,50 ₽", Kind.AMOUNT),
        ("paid $1,200.00 then", "$1,200.00", Kind.AMOUNT),
        ("took 350 ms", "350 ms", Kind.AMOUNT),
        ("on 2026-11-30 at", "2026-11-30", Kind.DATE),
        ("30 ноября 2026 года", "30 ноября 2026", Kind.DATE),
        ("by November 30, 2026", "November 30, 2026", Kind.DATE),
        ("port 8080 is", "8080", Kind.NUMBER),
        ("по ст. 15.1 договора", "ст. 15.1", Kind.LEGAL),
        ("under § 12 of", "§ 12", Kind.LEGAL),
        ("diff --git a/x.py b/x.py", "diff --git a/x.py b/x.py", Kind.DIFF),
        # inside of a token that is nothing by itself
        ("checksum=9f3a61c07be2d845 ok", "9f3a61c07be2d845", Kind.HASH),
        ("commit:a94a8fe5 id:PAY-1203", "PAY-1203", Kind.IDENTIFIER),
        ("path=/srv/app.log", "/srv/app.log", Kind.PATH),
        ('[{"id":"ORD-77","at":"2026-11-30T10:00:00Z","sum":1250}]', "2026-11-30T10:00:00Z", Kind.DATE),
        ('[{"id":"ORD-77","sum":1250,"ok":true}]', "1250", Kind.NUMBER),
        ('{"url":"https://example.org/a","file":"src/a.py:3"}', "https://example.org/a", Kind.URL),
        ("<a>src/a.py</a>", "src/a.py", Kind.PATH),
    ],
)
def test_each_kind_is_found(text: str, fact: str, kind: Kind) -> None:
    assert found(human(text)).get(fact) is kind


@pytest.mark.parametrize(
    "word", ["word", "Word", "and/or", "e.g", "42", "its", "...", "--", "NASA", "привет", "I/O", "/", "x" * 500 + "1"]
)
def test_an_ordinary_word_is_no_anchor(word: str) -> None:
    assert kind_of(word) is None


@pytest.mark.parametrize(
    "text", ["<b>done</b>", "self.read(first_name)", '{"name":"Ann","ok":true}', "a=1;b=2", "10:20:30", "x" * 500]
)
def test_a_token_without_a_name_inside_names_nothing(text: str) -> None:
    """Marks of pages and symbols of code would bury the facts."""
    assert found(*tool(text)) == {}


def test_facts_of_one_long_line_keep_what_stands_around_them() -> None:
    """Law L21: a file of JSON without spaces is one token, and each entry is as short as any other."""
    text = json.dumps([{"id": f"ORD-{number}", "sum": 1_000 + number} for number in range(3_000)], separators=(",", ":"))

    anchors = find_anchors(tool(text))

    assert sum(anchor.kind is Kind.IDENTIFIER for anchor in anchors) == 3_000
    assert max(len(anchor.source) for anchor in anchors) < 500
    assert all(anchor.text in anchor.clause() for anchor in anchors)


def test_an_error_is_kept_with_the_first_lines_of_its_trace() -> None:
    log = "ok\nTraceback (most recent call last):\n  File a.py, line 3\n    boom()\n    more()\nValueError: no key\n"

    assert "Traceback (most recent call last):\n  File a.py, line 3\n    boom()" in found(*tool(log))


def test_a_file_that_speaks_of_errors_is_none() -> None:
    text = 'def fail():\n    raise ValueError("an error occurred")\n' * 3

    assert Kind.ERROR not in found(*tool(text, "read")).values()
    assert Kind.ERROR in found(*tool(text, "bash")).values()


def test_the_order_is_that_of_the_law_then_newest_first() -> None:
    messages = [human("port 8080. Never push to main."), human("a94a8fe5 in src/a.py"), human("b94a8fe5 and port 9090")]
    kinds = [(anchor.kind, anchor.text, anchor.position) for anchor in find_anchors(messages, first=10)]

    assert kinds == [
        (Kind.ORDER, "Never push to main.", 10),
        (Kind.HASH, "b94a8fe5", 12),
        (Kind.HASH, "a94a8fe5", 11),
        (Kind.PATH, "src/a.py", 11),
        (Kind.NUMBER, "9090", 12),
        (Kind.NUMBER, "8080", 10),
    ]


def test_what_stands_in_the_output_is_not_missing() -> None:
    anchors = find_anchors([human("a94a8fe5 in /home/u/src/a.py, 30 -> 120.\nNever push to main.\nport 8080")])
    left = missing(anchors, ["- never push; `/home/u/src/a.py:7` had 30 -> 120 (a94a8fe5)"])

    assert [anchor.text for anchor in left] == ["Never push to main.", "8080"]


def test_a_name_inside_another_is_no_survival() -> None:
    assert "app.py" in Tokens(["/srv/app.py"])
    assert "pp.py" not in Tokens(["/srv/app.py"])


def test_the_appendix_is_bounded_and_counts_what_it_left() -> None:
    anchors = [Anchor(Kind.NUMBER, str(1000 + n), n, f"the value number {1000 + n} of the long list") for n in range(200)]
    made = write_appendix(anchors, limit_tokens=200, counter=estimate)

    assert sum(estimate(item) + 1 for item in made.items) <= 200
    assert made.written == len(made.items) > 5
    assert [anchor.text for anchor in made.left] == [str(1000 + n) for n in range(made.written, 200)]


def test_one_clause_is_written_once_and_what_was_carried_comes_last() -> None:
    source = "server/config.ts: timeout 300 raised to 1200 s"
    anchors = [Anchor(Kind.PATH, "server/config.ts", 0, source), Anchor(Kind.NUMBER, "1200", 0, source)]
    made = write_appendix(anchors, limit_tokens=100, counter=estimate, carried=["- hash: old a94a8fe5", f"- path: {source}"])

    assert made.items == (f"- path: {source}", "- hash: old a94a8fe5")
    assert (made.written, made.left) == (2, ())


TEXTS = st.lists(
    st.sampled_from(
        ["src/a.py", "30 -> 120", "1 234,50 ₽", "\n", " ", "a94a8fe5", "§ 12", "->", "№7", "Never do it.", "\u2028", "x" * 300]
    )
    | st.text(max_size=8),
    max_size=30,
).map("".join)


@given(st.lists(TEXTS, max_size=4))
def test_an_anchor_is_a_slice_of_what_was_said_and_so_is_its_clause(texts: list[str]) -> None:
    """Law L9: nothing is invented; each is found once."""
    anchors = find_anchors([human(text) for text in texts])

    for anchor in anchors:
        assert anchor.text in anchor.source
        assert anchor.text in anchor.clause()
        assert anchor.clause() in anchor.source
        assert len(anchor.clause()) <= max(160, len(anchor.text))
    assert len({anchor.text for anchor in anchors}) == len(anchors)


@given(st.lists(TEXTS, max_size=4), st.lists(TEXTS, max_size=3), st.integers(0, 300))
def test_each_anchor_is_in_the_output_in_the_appendix_or_counted(replaced: list[str], kept: list[str], limit_tokens: int) -> None:
    """Law L21."""
    left = missing(find_anchors([human(text) for text in replaced]), kept)
    made = write_appendix(left, limit_tokens=limit_tokens, counter=estimate)
    shown = "\n".join(made.items).replace(" ⏎ ", "\n")

    assert made.written + len(made.left) == len(left)
    for anchor in left[: made.written]:
        assert all(part.strip() in shown for part in anchor.text.split("\n"))


@pytest.mark.parametrize(
    "piece", ["/a", "a.", "0 ", "§", "->", "1->", "ст. ", "@@ -", "a_", "aB", "0,000", "Never ", "$1", "…", "9 ноября "]
)
def test_a_hostile_text_costs_its_length(piece: str) -> None:
    """A quadratic pattern would take minutes here."""
    text = piece * (200_000 // len(piece))

    find_anchors([human(text)])
    kind_of(text)
    Tokens([text])


@pytest.mark.parametrize("between", [" ", "\n", " and "])
def test_the_clauses_of_many_facts_cost_the_length_of_their_text(between: str) -> None:
    """A search from the beginning of the text for each would take minutes here."""
    text = between.join(str(number) for number in range(1_000_000, 1_050_000))

    anchors = find_anchors([human(text)])

    assert len(anchors) == 50_000
    assert all(anchor.text in anchor.clause() for anchor in anchors)


def test_no_amount_ends_inside_a_number() -> None:
    """A group of three digits is one only if no fourth follows."""
    found = {anchor.text for anchor in find_anchors([human("from $567 1234 on")])}

    assert "$567" in found
    assert "$567 123" not in found


def test_arguments_are_searched_too() -> None:
    arguments: Any = {"file_path": "src/deep/b.py", "limit": 4471}
    call = Message("model", (Call("c", "edit", arguments, wire("tool_use")), Text("done")), wire("assistant"), Origin.MODEL)

    assert "src/deep/b.py" in found(call)
    assert found(call)["4471"] is Kind.NUMBER


@pytest.mark.parametrize(("fact", "text"), [("4430", "id=144305"), ("AB-12", "XAB-1299"), ("src/a.py", "lib/src/a.pyc")])
def test_part_of_a_longer_name_is_no_survival(fact: str, text: str) -> None:
    assert [anchor.text for anchor in missing([Anchor(Kind.NUMBER, fact, 0, fact)], [text])] == [fact]


def test_the_clause_is_that_of_the_fact_and_not_of_a_longer_one() -> None:
    assert Anchor(Kind.NUMBER, "120", 0, "row 31205 ok\ntimeout 120 s").clause() == "timeout 120 s"


@pytest.mark.parametrize(
    ("token", "name"),
    [
        ("sha256=9f3a61c07be2:latest", "9f3a61c07be2"),
        ("b=9f3a61c07be2\\", "9f3a61c07be2"),
        ("order:AB-77", "AB-77"),
        ("at=src/a.py:3", "src/a.py:3"),
    ],
)
def test_names_inside_a_token(token: str, name: str) -> None:
    """Behind a key, before a tag, and before the quote of JSON in JSON."""
    assert [token[start:stop] for _, start, stop in named_in(token)][-1:] == [name]


def test_end_of_an_element_is_no_path() -> None:
    assert found(*tool("<div>\n</div>\n /srv/app </body>", name="read")).keys() == {"a.txt", "/srv/app"}
