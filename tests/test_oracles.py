"""
Judges that we did not write: Mistral's own validator, and the parameter validation of AWS.

They are installed with the extra ``oracles``; where they are absent the tests
are skipped.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactlib.dialects import parse, render
from compactlib.protocol.repair import repair
from compactlib.protocol.validator import check

from .strategies import build as build_pieces
from .strategies import histories
from .words import build, legal_words, words

Messages = list[dict[str, Any]]

# -- mistral-common ----------------------------------------------------------------------------------------------------

VERSIONS: Final = (3, 5, 11, 13, 15)
CONVERSATIONS: Final = 4_200
"""For each version; 21,000 in all."""
NINE: Final = tuple(f"call0000{n}" for n in range(4))
ODD_IDS: Final = ("call_1", "", "null", "toolu_01AbCdEf", "nine_char")
NAMES: Final = ("read",) * 60 + ("fs.read", "n" * 65)
CHUNKS: Final = (
    {"type": "text", "text": "words"},
    {"type": "text", "text": ""},
    {"type": "image_url", "image_url": "https://x.example/a.png"},
    {"type": "thinking", "thinking": "hm"},
    {"type": "audio_url", "audio_url": "https://x.example/a.mp3"},
)


class Draw:
    """Draws conversations: mostly legal ones, with a fault here and there."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)  # noqa: S311 - conversations, not secrets

    def rarely(self, percent: int = 3) -> bool:
        return self.random.randrange(100) < percent

    def conversation(self) -> Messages:
        messages: Messages = []
        for _ in range(self.random.randrange(1, 5)):
            messages += self.turn()
        if messages[-1]["role"] == "assistant" and not self.rarely(20):
            messages.append({"role": "user", "content": "words"})
        if self.rarely(25):
            messages.insert(0, {"role": "system", "content": self.content("system")})
        for _ in range(self.random.choice([0, 0, 0, 1, 1, 1, 2])):
            self.wound(messages)
        return messages

    def turn(self) -> Messages:
        made: Messages = [{"role": "user", "content": self.content("user")}]
        for _ in range(self.random.randrange(3)):
            made += self.step()
        if self.rarely(60):
            made.append({"role": "assistant", "content": self.content("assistant")})
        return made

    def step(self) -> Messages:
        ids = self.random.sample(NINE, self.random.randrange(1, 4))
        if self.rarely():
            ids[0] = self.random.choice(ODD_IDS)
        calls = [{"id": key, "type": "function", "function": {"name": self.name(), "arguments": "{}"}} for key in ids]
        message: dict[str, Any] = {"role": "assistant", "content": self.random.choice([None, ""]), "tool_calls": calls}
        if self.rarely(10):
            message["content"] = self.content("assistant")
        results: Messages = [{"role": "tool", "tool_call_id": key, "content": self.content("tool")} for key in ids]
        self.random.shuffle(results)
        for result in results:
            if self.rarely():
                result["name"] = self.name()
        return [message, *results]

    def name(self) -> str:
        return self.random.choice(NAMES)

    def content(self, role: str) -> Any:
        if self.rarely(3):
            return None if role == "assistant" else []
        if self.rarely(85):
            return "" if self.rarely() else "words"
        allowed = [chunk for chunk in CHUNKS if self.rarely(10) or chunk["type"] == "text"]
        return [dict(chunk) for chunk in self.random.choices(allowed, k=self.random.randrange(1, 3))]

    def wound(self, messages: Messages) -> None:
        at = self.random.randrange(len(messages))
        kind = self.random.randrange(9)
        message = messages[at]
        if kind == 0 and len(messages) > 1:
            del messages[at]
        elif kind == 1:
            messages.insert(at, dict(self.random.choice(messages)))
        elif kind == 2:
            messages.insert(at, {"role": "system", "content": "words"})
        elif kind == 3:
            del messages[:at]
        elif kind == 4 and message["role"] == "tool":
            message["tool_call_id"] = self.random.choice((*NINE, *ODD_IDS, None))
        elif kind == 5 and message["role"] == "assistant":
            message["prefix"] = self.random.choice([True, False])
        elif kind == 6 and len(messages) > 1:
            messages.insert(self.random.randrange(len(messages)), messages.pop(at))
        elif kind == 7 and message.get("tool_calls"):
            message["tool_calls"][0]["id"] = self.random.choice((*NINE, *ODD_IDS))
        else:
            messages.insert(at, {"role": "user", "content": "words"})


def oracle(version: int) -> Any:
    """Mistral's validator: from messages to whether it takes them."""
    validators = pytest.importorskip("mistral_common.protocol.instruct.validator", reason="mistral-common is not installed")
    from mistral_common.exceptions import MistralCommonException
    from mistral_common.protocol.instruct.request import ChatCompletionRequest

    judge = getattr(validators, f"MistralRequestValidatorV{version}")(mode=validators.ValidationMode.serving)

    def accepts(messages: Messages) -> bool:
        try:
            judge.validate_request(ChatCompletionRequest.model_validate({"model": "m", "messages": messages}))
        except (MistralCommonException, ValueError):  # pydantic's errors of shape are ValueErrors
            return False
        return True

    return accepts


def differs(messages: Messages, version: int) -> str:
    """Why Mistral's validator may judge otherwise than the rules; ``""`` where it may not.  `spec/25-mistral.md` has each."""
    first = messages[0]
    if first["role"] == "tool" or first.get("tool_calls"):
        return "the first message is not counted"
    if version == 5 and any(one["role"] == "system" for one in messages) and "audio_url" in str(messages):
        return "sound and a system message together"
    return ""


def agree_otherwise(messages: Messages, version: int, accepts: Callable[[Messages], bool]) -> bool:
    """Whether the verdicts are the same once the reason of the difference is taken away, so that it hides no other."""
    if messages[0]["role"] in ("tool", "assistant"):
        messages = [{"role": "user", "content": "words"}, *messages]
    if version == 5:
        messages = [message for message in messages if message["role"] != "system"]
    found = check(parse(messages, dialect="mistral"), profile=f"mistral-v{version}")
    return accepts(messages) != any(one.level == "error" for one in found)


@pytest.mark.parametrize("version", VERSIONS)
def test_mistrals_own_validator_gives_the_same_verdict(version: int) -> None:
    """On each of 4,200 conversations, but for the differences that the specification explains."""
    accepts = oracle(version)
    draw = Draw(version)
    verdicts: Counter[bool] = Counter()
    explained: Counter[str] = Counter()
    wrong = []
    for _ in range(CONVERSATIONS):
        messages = draw.conversation()
        found = check(parse(messages, dialect="mistral"), profile=f"mistral-v{version}")
        errors = [one for one in found if one.level == "error"]
        verdict = accepts(messages)
        verdicts[verdict] += 1
        if verdict == bool(errors):
            why = differs(messages, version)
            explained[why] += 1
            if not why or not agree_otherwise(messages, version, accepts):
                wrong.append((messages, verdict, [(one.rule, one.message) for one in errors]))

    assert wrong == []
    assert min(verdicts.values()) > CONVERSATIONS // 4, verdicts
    assert sum(explained.values()) < CONVERSATIONS // 25, explained


# -- botocore ----------------------------------------------------------------------------------------------------------


def converse() -> Callable[[Any], str]:
    """Amazon's own check of a Converse request before it is sent: from a body or messages to what is wrong, if anything is."""
    session = pytest.importorskip("botocore.session", reason="botocore is not installed")
    from botocore.validate import ParamValidator

    shape = session.get_session().get_service_model("bedrock-runtime").operation_model("Converse").input_shape

    def wrong(body: Any) -> str:
        request = body if isinstance(body, dict) else {"messages": body}
        report: str = ParamValidator().validate({"modelId": "m", **request}, shape).generate_report()
        return report

    return wrong


def test_what_is_written_for_bedrock_passes_amazons_check() -> None:
    """Every legal word of up to five letters, as it is read and written back."""
    wrong = converse()
    count = 0
    for word in legal_words(5, dialect="bedrock", mode="history"):
        count += 1
        assert wrong(render(parse(build(word, "bedrock"), dialect="bedrock"))) == "", word
    assert count == 2_061


def test_generated_conversations_pass_amazons_check() -> None:
    """With thoughts, pictures and batches in any split."""
    wrong = converse()

    @given(histories(), st.booleans())
    def holds(pieces: list[Any], thinking: bool) -> None:
        body = render(parse(build_pieces(pieces, "bedrock", thinking=thinking), dialect="bedrock"))

        assert wrong(body) == ""

    holds()


def test_repaired_conversations_pass_amazons_check() -> None:
    """Whatever is put in by a repair is of the right shape; every word of up to three letters."""
    wrong = converse()
    for word in words(3):
        made = repair(parse(build(word, "bedrock"), dialect="bedrock"), close=True)

        assert wrong(render(made.conversation)) == "", word


def test_recorded_requests_pass_amazons_check(shared: Path) -> None:
    """As they were recorded, and as they are written back."""
    wrong = converse()
    count = 0
    for name in ("bedrock", "bedrock-more"):
        for line in (shared / "corpus" / "recorded" / f"{name}.jsonl").read_text("utf-8").splitlines():
            body = json.loads(line)["body"]
            count += 1

            assert wrong(body) == wrong(render(parse(body, dialect="bedrock"))) == ""
    assert count == 101


def test_amazons_check_knows_shapes_and_no_order() -> None:
    """It would find a wrong shape, and does not find what the rules find."""
    wrong = converse()
    result = {"toolResult": {"toolUseId": "x", "content": [{"text": "ok"}]}}

    assert "Unknown parameter" in wrong([{"role": "user", "content": [{"words": "hi"}]}])
    assert "Missing required parameter" in wrong([{"role": "user", "content": [{"toolResult": {"toolUseId": "x"}}]}])
    assert wrong([{"role": "user", "content": [result]}]) == ""
    assert [one.rule for one in check(parse([{"role": "user", "content": [result]}], dialect="bedrock"))] == ["B-PAIR-03"]
