"""
Whatever `parse` reads, `check` judges: no exception, an order, and places that exist.

In all six dialects; and what is judged is converted, and what the provider would hide of it is told.

A polyglot.  Under pytest it is a property test.  Run by itself it is a fuzz
target: with atheris installed, ``python fuzz/fuzz_validate.py`` explores by
coverage until it is stopped or finds a failure, which it prints.
"""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from compactlib.converting import convert
from compactlib.dialects import DIALECTS, messages_key, parse
from compactlib.errors import WireError
from compactlib.protocol.rules import RULES
from compactlib.protocol.validator import Validator, check
from compactlib.protocol.violation import Violation, in_order
from compactlib.visible import effective

IDS = st.sampled_from(["a", "b", "c", "srvtoolu_1", "", "x.y", "é", "\x00function_call 1", "i" * 41])
TEXTS = st.sampled_from(["", " ", "\u3000", "words", "cut \ud83d", "Attached image(s) from tool result:", "é"])
MARKS = st.sampled_from([{}, {}, {}, {"cache_control": {"type": "ephemeral"}}, {"cache_control": None}, {"_px": [9000, 10]}])
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-5, 5), TEXTS),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(["type", "text", "id", "x"]), inner, max_size=3)
    ),
    max_leaves=6,
)
SOURCES = st.sampled_from(
    [{"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}, {"type": "file", "file_id": "f"}, {}]
)


def objects(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Objects with these fields, some of which may be absent, and perhaps a cache mark."""
    return st.tuples(st.fixed_dictionaries({}, optional=fields), MARKS).map(lambda pair: {**pair[0], **pair[1]})


def typed(kind: str, **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Blocks of one type with all their fields."""
    return st.tuples(st.fixed_dictionaries({"type": st.just(kind), **fields}), MARKS).map(lambda pair: {**pair[0], **pair[1]})


PARTS = st.one_of(
    typed("text", text=TEXTS),
    typed("image", source=SOURCES),
    typed("tool_reference", tool_name=IDS),
    typed("document", source=SOURCES),
    typed("thing", text=JSON),
)
BLOCKS = st.one_of(
    PARTS,
    typed("tool_use", id=IDS, name=IDS, input=JSON),
    typed(
        "tool_result", tool_use_id=IDS, content=st.one_of(st.none(), TEXTS, st.lists(PARTS, max_size=3)), is_error=st.booleans()
    ),
    typed("server_tool_use", id=IDS, name=st.sampled_from(["web_search", "advisor"]), input=JSON),
    typed("web_search_tool_result", tool_use_id=IDS, content=JSON),
    typed("mcp_tool_use", id=IDS, name=IDS, input=JSON),
    typed("mcp_tool_result", tool_use_id=IDS, content=TEXTS),
    typed("thinking", thinking=TEXTS, signature=st.one_of(st.none(), TEXTS)),
    typed("redacted_thinking", data=TEXTS),
    typed("compaction", content=JSON, encrypted_content=st.none()),
    typed("fallback", to=JSON),
)
CALLS = st.one_of(
    objects(
        id=IDS,
        type=st.just("function"),
        function=objects(name=IDS, arguments=st.one_of(JSON, st.just("{}"), st.just('{"a": 1}'))),
    ),
    objects(id=IDS, type=st.just("custom"), custom=objects(name=IDS, input=TEXTS)),
    st.fixed_dictionaries({"id": IDS, "function": st.fixed_dictionaries({"name": IDS, "arguments": st.just("{}")})}),
)
CONTENTS = st.one_of(TEXTS, st.none(), st.lists(BLOCKS, max_size=4), st.lists(typed("image_url", image_url=JSON), max_size=2))
MESSAGES = {
    "anthropic": st.fixed_dictionaries(
        {
            "role": st.sampled_from(["user", "user", "assistant", "assistant", "system", "tool"]),
            "content": st.one_of(TEXTS, st.lists(BLOCKS, max_size=4)),
        }
    ),
    "openai-chat": st.one_of(
        st.fixed_dictionaries(
            {"role": st.sampled_from(["user", "assistant", "system", "developer", "robot"]), "content": CONTENTS},
            optional={
                "tool_calls": st.lists(CALLS, max_size=3),
                "function_call": objects(name=IDS, arguments=TEXTS),
                "reasoning": TEXTS,
            },
        ),
        objects(role=st.just("assistant"), content=CONTENTS, tool_calls=st.lists(CALLS, max_size=3)),
        st.fixed_dictionaries(
            {"role": st.sampled_from(["tool", "function"])}, optional={"content": CONTENTS, "tool_call_id": IDS, "name": IDS}
        ),
    ),
}
ITEM_KINDS = st.sampled_from(
    [
        "function_call",
        "custom_tool_call",
        "tool_search_call",
        "shell_call",
        "mcp_approval_request",
        "computer_call",
        "web_search_call",
    ]
)
OUTPUT_KINDS = st.sampled_from(
    ["function_call_output", "custom_tool_call_output", "tool_search_output", "shell_call_output", "computer_call_output"]
)
OTHER_KINDS = st.sampled_from(["item_reference", "compaction", "additional_tools", "mcp_list_tools", "text", "thing"])
ITEM_IDS = st.sampled_from(["fc_1", "msg_1", "rs_1", "rs_1", "a", "", "i" * 70, None])
ITEM_PARTS = st.one_of(
    st.fixed_dictionaries({"type": st.sampled_from(["input_text", "output_text", "text"]), "text": TEXTS}),
    st.fixed_dictionaries({"type": st.sampled_from(["input_image", "refusal", "thing"]), "image_url": JSON}),
)
SAYINGS = st.one_of(st.none(), TEXTS, st.lists(ITEM_PARTS, max_size=3))
MESSAGES["openai-responses"] = st.one_of(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["user", "assistant", "assistant", "developer", "tool"]), "content": SAYINGS},
        optional={"id": ITEM_IDS, "type": st.just("message")},
    ),
    st.fixed_dictionaries(
        {"type": ITEM_KINDS, "call_id": IDS, "name": IDS, "id": st.one_of(ITEM_IDS, IDS)},
        optional={"arguments": st.one_of(JSON, st.just("{}")), "execution": st.just("client"), "input": TEXTS, "action": JSON},
    ),
    st.fixed_dictionaries(
        {"type": OUTPUT_KINDS, "call_id": IDS}, optional={"output": st.one_of(JSON, SAYINGS), "id": ITEM_IDS, "tools": JSON}
    ),
    st.fixed_dictionaries({"type": st.just("reasoning")}, optional={"id": ITEM_IDS, "encrypted_content": TEXTS, "summary": JSON}),
    st.fixed_dictionaries(
        {"type": OTHER_KINDS, "id": ITEM_IDS}, optional={"role": st.just("developer"), "encrypted_content": JSON}
    ),
)
MESSAGES["mistral"] = MESSAGES["openai-chat"]
SIGNED: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    [{}, {}, {"thoughtSignature": "S"}, {"thoughtSignature": ""}, {"thought_signature": None}, {"x": 1}]
)
GEMINI_PARTS = st.tuples(
    st.one_of(
        st.fixed_dictionaries({"text": TEXTS}, optional={"thought": st.booleans()}),
        st.fixed_dictionaries(
            {
                "functionCall": st.fixed_dictionaries(
                    {"name": IDS}, optional={"id": IDS, "args": st.one_of(JSON, st.just({"a": 1}))}
                )
            }
        ),
        st.fixed_dictionaries(
            {
                "functionResponse": objects(
                    name=IDS, id=IDS, response=st.one_of(JSON, st.just({"output": "x"})), parts=st.lists(JSON, max_size=2)
                )
            }
        ),
        st.fixed_dictionaries({"inlineData": objects(mimeType=TEXTS, data=TEXTS)}),
        st.dictionaries(st.sampled_from(["thing", "executableCode", "video_metadata"]), JSON, max_size=2),
    ),
    SIGNED,
).map(lambda pair: {**pair[0], **pair[1]})
MESSAGES["gemini"] = st.fixed_dictionaries(
    {"parts": st.one_of(st.lists(GEMINI_PARTS, max_size=4), GEMINI_PARTS)},
    optional={"role": st.sampled_from(["user", "user", "model", "model", "function", "system", ""])},
)
BEDROCK_PARTS = st.one_of(
    st.fixed_dictionaries({"text": TEXTS}),
    st.fixed_dictionaries({"image": objects(format=TEXTS, source=JSON)}),
    st.fixed_dictionaries({"json": JSON}),
    st.fixed_dictionaries({"document": objects(format=st.just("pdf"), name=TEXTS, source=st.just({"bytes": "AA=="}))}),
)
BEDROCK_BLOCKS = st.one_of(
    BEDROCK_PARTS,
    st.fixed_dictionaries({"toolUse": st.fixed_dictionaries({"toolUseId": IDS, "name": IDS, "input": JSON})}),
    st.fixed_dictionaries(
        {
            "toolResult": st.fixed_dictionaries(
                {"toolUseId": IDS},
                optional={"content": st.lists(BEDROCK_PARTS, max_size=3), "status": st.sampled_from(["success", "error", "odd"])},
            )
        }
    ),
    st.fixed_dictionaries({"reasoningContent": st.one_of(JSON, objects(reasoningText=objects(text=TEXTS, signature=TEXTS)))}),
    st.fixed_dictionaries({"cachePoint": JSON}),
    st.fixed_dictionaries({"thing": JSON}),
)
MESSAGES["bedrock"] = st.fixed_dictionaries(
    {
        "role": st.sampled_from(["user", "user", "assistant", "assistant", "system"]),
        "content": st.lists(BEDROCK_BLOCKS, max_size=4),
    }
)
SETTINGS = st.fixed_dictionaries(
    {},
    optional={
        "model": st.sampled_from(["claude-opus-4-6", "claude-3-haiku", "gpt-4o", "gpt-5", "o1-mini", "qwen3:latest", "z/glm"]),
        "thinking": st.one_of(JSON, st.just({"type": "enabled"}), st.just({"type": "disabled"})),
        "tool_choice": st.one_of(JSON, st.just({"type": "any"})),
        "tools": st.lists(objects(name=IDS, type=TEXTS, function=JSON), max_size=3),
        "system": st.one_of(TEXTS, st.lists(PARTS, max_size=3)),
        "store": st.booleans(),
        "previous_response_id": st.one_of(st.none(), IDS),
        "context_management": st.one_of(
            JSON, st.fixed_dictionaries({"edits": st.lists(objects(type=TEXTS, keep=JSON), max_size=2)})
        ),
    },
)
BODIES = st.sampled_from(sorted(MESSAGES)).flatmap(
    lambda dialect: st.tuples(st.just(dialect), st.lists(MESSAGES[dialect], max_size=6), st.one_of(st.none(), SETTINGS))
)


def resolve(body: Any, pointer: str) -> Any:
    """What a JSON pointer leads to; `KeyError` or `IndexError` if nothing."""
    for step in pointer.split("/")[1:]:
        body = body[int(step)] if isinstance(body, list) else body[step]
    return body


def assert_judged(dialect: str, messages: list[Any], settings: dict[str, Any] | None) -> None:
    """Everything that holds of a judgement, whatever was judged."""
    body: Any = messages if settings is None else {**settings, messages_key(dialect): messages}
    try:
        conversation = parse(body, dialect=dialect)
    except WireError:
        return
    found = check(conversation)

    assert found == in_order(found)
    for violation in found:
        assert violation.level == RULES[violation.rule].level_in() or violation.rule in RULES
        assert violation.message.isprintable()
        assert len(violation.message) < 600
        assert (violation.index is None) == (violation.pointer == "")
        resolve(body, violation.pointer)
    # what only the end decides is the difference between the two readings
    history = check(conversation, mode="history")
    judge = Validator(conversation)
    fed: list[Violation] = [violation for message in conversation.messages for violation in judge.feed(message)]
    around = [violation for violation in found if violation.index is None and violation not in judge.finish()]

    assert in_order([*fed, *judge.finish(), *around]) == found
    assert set(history) - set(judge.finish()) <= set(found)
    assert len(effective(conversation).messages) <= len(conversation.messages)
    for target in DIALECTS:
        check(convert(conversation, dialect=target).conversation)


@given(BODIES)
def test_whatever_is_read_is_judged(drawn: tuple[str, list[Any], dict[str, Any] | None]) -> None:
    """Any body of the right shape is judged, in order, and each finding points to something that is there."""
    assert_judged(*drawn)


def main() -> None:
    """Fuzz until stopped."""
    from exploring import explore  # here, because it stands beside this file and in no package

    explore(__file__, "test_whatever_is_read_is_judged")


if __name__ == "__main__":
    main()
