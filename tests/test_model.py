"""Conversations as values: frozen, slotted, and with the meaning of their fields."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import attrs
import pytest

from compactlib import errors, model
from compactlib.model import (
    Call,
    Conversation,
    Envelope,
    Media,
    Message,
    Opaque,
    Reasoning,
    Result,
    Text,
    Tool,
    Wire,
    new_call,
    new_message,
    new_result,
    new_text,
    wire,
)

VALUES = (
    Wire("user"),
    Text("x"),
    Media("image", "", None, None, {}, wire("image")),
    Call("i", "n", {}, wire("tool_use")),
    Result("i", "r", wire("tool_result")),
    Reasoning("t", None, wire("thinking")),
    Opaque("k", {}),
    Message("user", "x", wire("user")),
    Tool("n", {}),
    Envelope(),
    Conversation("anthropic", ()),
)


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_values_are_frozen_and_slotted(value: Any) -> None:
    """Nothing can be set, nothing can be added, and equal values are equal."""
    first = attrs.fields(type(value))[0].name

    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        setattr(value, first, None)
    assert not hasattr(value, "__dict__")
    assert value == attrs.evolve(value)


MADE = (
    (new_text("x", wire("text")), Text("x", wire("text"))),
    (new_call("i", "n", "{}", wire("function")), Call("i", "n", "{}", wire("function"))),
    (new_result("i", "r", wire("tool_result")), Result("i", "r", wire("tool_result"))),
    (new_message("user", "x", wire("user")), Message("user", "x", wire("user"))),
)


@pytest.mark.parametrize(("made", "value"), MADE, ids=lambda value: type(value).__name__)
def test_what_is_made_faster_is_the_same(made: Any, value: Any) -> None:
    """Class, fields, equality, hash, words; frozen all the same; copied, stored and changed like any other."""
    first = attrs.fields(type(value))[0].name

    assert type(made) is type(value)
    assert attrs.fields_dict(type(made)).keys() == set(type(made).__slots__)
    assert (made, hash(made), repr(made)) == (value, hash(value), repr(value))
    assert copy.deepcopy(made) == pickle.loads(pickle.dumps(made)) == attrs.evolve(made) == value  # noqa: S301 - our own bytes
    assert attrs.evolve(made, **{first: "tool"}) == attrs.evolve(value, **{first: "tool"}) != value
    assert getattr(made, first) != "tool"
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        setattr(made, first, None)
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        delattr(made, first)


def test_shapes_without_residue_are_shared_and_the_table_is_bounded() -> None:
    """One object for one shape; hostile input with ever new keys does not grow the table for ever."""
    assert wire("user", ("role", "content")) is wire("user", ("role", "content"))
    for number in range(10_000):
        assert wire("user", (f"key{number}",)).keys == (f"key{number}",)
    assert len(model._WIRES) <= model._WIRES_LIMIT


def test_a_string_content_is_one_text_block_when_asked() -> None:
    """And it is not made before."""
    message = Message("user", "hello", wire("user"))

    assert message.blocks == (Text("hello"),)
    assert message.text == "hello"
    assert (message.calls, message.results) == ((), ())


def test_words_of_blocks_are_joined() -> None:
    """Of a message and of a result; media have none."""
    image = Media("image", "", "AA==", None, {}, wire("image"))
    result = Result("i", (Text("a"), image, Text("b")), wire("tool_result"))

    assert Message("user", (Text("x"), result, Text("y")), wire("user")).text == "x\ny"
    assert result.text == "a\nb"
    assert Result("i", None, wire("tool_result")).text == ""
    assert Result("i", None, wire("tool_result")).blocks == ()


def test_residue_is_found_by_key() -> None:
    """With a default for what is not there."""
    shape = Wire("text", ("type", "cache_control"), (("cache_control", {"type": "ephemeral"}),))

    assert shape.get("cache_control") == {"type": "ephemeral"}
    assert shape.get("citations", "none") == "none"


def test_settings_are_fields_of_the_body() -> None:
    """And a bare list has none."""
    body = Conversation("anthropic", (), envelope=Envelope("dict", (("model", "m"), ("messages", None))))

    assert (body.setting("model"), body.setting("thinking", 5)) == ("m", 5)
    assert Conversation("anthropic", ()).setting("model") is None


def test_errors_have_a_blame_a_code_and_a_place() -> None:
    """The root is never raised itself, and codes are unique."""
    with pytest.raises(TypeError, match="abstract"):
        errors.CompactlibError("x")
    assert len(errors.CODES) == len({error.code for error in errors.CODES.values()}) == 8
    found = errors.WireError("$.messages[0]", "wrong", hint="a typo")
    assert (found.path, found.problem, str(found)) == ("$.messages[0]", "wrong", "$.messages[0]: wrong (a typo)")
    assert errors.LogError(7, "torn").line == 7
    assert isinstance(errors.PolicyError("window_tokens", "no"), ValueError)
    assert isinstance(errors.StoreError("full"), OSError)
