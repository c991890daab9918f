"""What a redaction makes of each kind of event."""

import json
from base64 import b64encode
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reel.base.strict_json import DEPTH, encode, parse_bounded
from reel.said.blocks import InvalidRecord
from reel.said.records import read_row
from reeld.core.redaction import Redacted, Redaction
from reeld.core.rows import row_from_blocks
from reeld.core.validation import MAX_VALUE, rows_from

SECRET = 's3cr"t\u00e9'
M = "[redacted now]"
WHOLE, TEXT = Redaction("now", b"k"), Redaction("now", b"k", [SECRET, "s3cr"])
# What is left of a text that is JSON.
GONE = encode({"redacted": M})
Block = dict[str, Any]


def made(redaction: Redaction, kind: str, content: str | None, data: Any = None, ref: str | None = None) -> Any:
    """Return the content, the data and the reference that are left, or ``None`` if nothing changes."""
    data_json = data if data is None or isinstance(data, str) else encode(data)
    found = redaction.event(kind, content, data_json, ref, "demo")
    if found is None:
        return None
    parsed = None if found.data_json is None else json.loads(found.data_json)
    return found.content, parsed, found.ref


def test_a_value_stays_one_that_can_be_added() -> None:
    """Its JSON stays JSON, and it stays within the limits of keys and values: a marker is longer than a word."""
    numbers, words = "[" * 11 + "12345" + "]" * 11, encode({"value": ["s3cr"] * (MAX_VALUE // len('"s3cr",'))})
    redaction = Redaction("now", b"k", ["s3cr", "12345"])
    values = [("k", encode({"value_json": numbers})), ("k" * 250 + "s3cr", encode({"value": 1})), ("k", words)]
    redacted = [redaction.event("state", *value, None, "demo") for value in values]

    for each in redacted:
        assert each is not None
        rows_from([{"kind": "state", "content": each.content, "data_json": each.data_json}])
        assert not any(word in f"{each.content} {each.data_json}" for word in ("12345", "s3cr"))


def test_as_deep_as_may_be() -> None:
    """JSON with as many levels as there may be, near the interpreter's limit, loses a text, or stays."""
    deep = {word: {"value_json": "[" * DEPTH + encode(word) + "]" * DEPTH} for word in ("s3cr", "other")}
    _, data, _ = made(TEXT, "state", "k", deep["s3cr"])

    assert "s3cr" not in data["value_json"]
    assert M in encode(parse_bounded(data["value_json"]))
    assert made(TEXT, "state", "k", deep["other"]) is None


@pytest.mark.parametrize(
    ("kind", "content", "data", "text", "whole"),
    [
        ("user", f"a {SECRET} b", None, (f"a {M} b", None), (M, None)),
        ("user", "plain", None, None, (M, None)),
        ("user", "", None, None, None),
        ("system", SECRET, None, (M, None), (M, None)),
        (
            "note",
            SECRET,
            {"n": 1, SECRET: [SECRET, True]},
            (M, {"n": 1, M: [M, True]}),
            (M, {"n": 1, SECRET: [M, True]}),
        ),
        ("note", None, {"n": 1}, None, None),
        ("note", SECRET, "not json s3cr", (M, None), (M, None)),
        ("note", "plain", "not json", None, (M, None)),
        ("state", SECRET, {"value": [SECRET, 1]}, (M, {"value": [M, 1]}), (SECRET, {"value": [M, 1]})),
        ("state", "s3cr", None, (M, None), None),
        ("state", "k", {"value_json": '["s3cr"]'}, ("k", {"value_json": f'["{M}"]'}), ("k", {"value_json": GONE})),
        ("mark", None, {"label": SECRET}, (None, {"label": None}), (None, {"label": None})),
        ("mark", None, {"label": None}, None, None),
        ("rewind", None, {"target": 1, "label": SECRET}, (None, {"target": 1}), (None, {"target": 1})),
        (
            "agent_killed",
            None,
            {"by": "s3cr", "reason": SECRET},
            (None, {"by": "s3cr", "reason": M}),
            (None, {"by": "s3cr", "reason": M}),
        ),
        ("clone", None, {"from": "s3cr", "at": 1}, None, None),
        (
            "changed",
            None,
            {"title": SECRET, "tags": {"k": SECRET}},
            (None, {"title": M, "tags": {"k": M}}),
            (None, {"title": M, "tags": {"k": M}}),
        ),
        ("changed", None, {"title": None}, None, None),
        ("created", None, {"name": "s3cr"}, (None, {"name": "redacted"}), (None, {"name": "redacted"})),
        ("created", None, {"name": "demo"}, None, None),
        ("usage", None, None, None, None),
        ("tool_result", None, "{", None, (M, None)),
        ("tool_result", None, encode({"output": SECRET}), (M, None), (M, None)),
    ],
)
def test_events(kind: str, content: str | None, data: Any, text: Any, whole: Any) -> None:
    """Texts give way to the marker; numbers, links and what has no content stay."""
    assert [text, whole] == [
        None if found is None else found[:2] for found in (made(each, kind, content, data) for each in (TEXT, WHOLE))
    ]


CALL = {"type": "tool_call", "id": "c1", "name": "run", "arguments": encode({"x": SECRET})}


@pytest.mark.parametrize(
    ("role", "block", "text", "whole"),
    [
        ("assistant", {"type": "text", "text": SECRET}, {"type": "text", "text": M}, {"type": "text", "text": M}),
        (
            "assistant",
            {"type": "text", "text": "x", "provider_metadata": {"a": SECRET}},
            {"type": "text", "text": "x"},
            {"type": "text", "text": M},
        ),
        (
            "assistant",
            {"type": "text", "text": "x", "provider_metadata": {"a": "b"}},
            None,
            {"type": "text", "text": M},
        ),
        (
            "assistant",
            {"type": "thinking", "text": SECRET, "signature": "s"},
            {"type": "thinking", "text": M},
            {"type": "thinking", "text": M},
        ),
        ("assistant", {"type": "thinking", "text": "x", "signature": "s"}, None, {"type": "thinking", "text": M}),
        ("assistant", {"type": "redacted_thinking", "data": "x"}, None, {"type": "text", "text": M}),
        (
            "assistant",
            {"type": "opaque", "provider": "p", "data_json": encode([SECRET])},
            {"type": "text", "text": M},
            {"type": "text", "text": M},
        ),
        ("assistant", {"type": "opaque", "provider": "p", "data_json": "[1]"}, None, {"type": "text", "text": M}),
        (
            "user",
            {"type": "media", "mime_type": "text/plain", "data_base64": b64encode(SECRET.encode()).decode()},
            {"type": "text", "text": M},
            {"type": "text", "text": M},
        ),
        ("user", {"type": "media", "mime_type": "text/plain", "data_base64": "a"}, None, {"type": "text", "text": M}),
        (
            "user",
            {"type": "media", "mime_type": "text/plain", "url": "http://s3cr"},
            {"type": "text", "text": M},
            {"type": "text", "text": M},
        ),
        ("user", {"type": "media", "mime_type": "text/plain", "url": "http://x"}, None, {"type": "text", "text": M}),
        ("assistant", CALL, {**CALL, "arguments": encode({"x": M})}, {**CALL, "arguments": encode({"redacted": M})}),
        ("assistant", {**CALL, "arguments": "{"}, None, {**CALL, "arguments": encode({"redacted": M})}),
        (
            "assistant",
            {**CALL, "arguments": "{s3cr"},
            {**CALL, "arguments": encode({"redacted": M})},
            {**CALL, "arguments": encode({"redacted": M})},
        ),
        (
            "assistant",
            {**CALL, "name": "s3cr", "arguments": "{}"},
            {**CALL, "name": "redacted", "arguments": "{}"},
            {**CALL, "name": "s3cr", "arguments": encode({"redacted": M})},
        ),
        (
            "tool",
            {"type": "tool_result", "tool_call_id": "c1", "content": [{"type": "text", "text": SECRET}]},
            {"type": "tool_result", "tool_call_id": "c1", "content": [{"type": "text", "text": M}], "is_error": False},
            {"type": "tool_result", "tool_call_id": "c1", "content": [{"type": "text", "text": M}], "is_error": False},
        ),
        (
            "tool",
            {"type": "tool_result", "tool_call_id": "c1", "content": "x"},
            None,
            {"type": "tool_result", "tool_call_id": "c1", "content": M, "is_error": False},
        ),
    ],
)
def test_blocks(role: str, block: Block, text: Block | None, whole: Block) -> None:
    """A block keeps its type, its ids and its place; what is signed or encoded becomes a text."""
    row = row_from_blocks(role, [{"type": "text", "text": "x"}, block] if role == "user" else [block], {})
    for redaction, expected in ((TEXT, text), (WHOLE, whole)):
        found = redaction.event(row.kind, row.content, row.data_json, None, "demo")
        if expected is None:
            assert found is None
            continue
        assert found is not None
        parts = read_row(row.kind, found.content, found.data_json)
        assert parts is not None
        assert expected == parts.content[-1]


def test_metadata_of_a_message() -> None:
    """Metadata goes as a whole if something of it is removed, and stays otherwise."""
    blocks = [{"type": "text", "text": "s3cr"}]
    row = row_from_blocks("assistant", blocks, {"a": "x"})
    kept = TEXT.event(row.kind, row.content, row.data_json, None, "demo")
    row = row_from_blocks("assistant", [{"type": "text", "text": "x"}], {"a": "s3cr"})
    gone = TEXT.event(row.kind, row.content, row.data_json, None, "demo")

    assert kept == Redacted(
        M, encode({"blocks": [{"type": "text", "text": M}], "provider_metadata": {"a": "x"}}), None, False
    )
    assert gone == Redacted("x", encode({"blocks": [{"type": "text", "text": "x"}]}), None, False)


def test_the_id_of_a_call() -> None:
    """A call and its result keep one id, which is another one if it had what is removed."""
    call = row_from_blocks("assistant", [{**CALL, "id": SECRET, "arguments": "{}"}], {})
    result = row_from_blocks("tool", [{"type": "tool_result", "tool_call_id": SECRET, "content": "x"}], {})
    found = [TEXT.event(row.kind, row.content, row.data_json, None, "demo") for row in (call, result)]
    assert found[0] is not None
    assert found[1] is not None
    one, other = (json.loads(each.data_json or "") for each in found if each is not None)
    ids = [one["tool_call_id"], other["blocks"][0]["tool_call_id"]]

    assert ids[0] == ids[1]
    assert ids[0].startswith("redacted_")
    assert found[0].is_restructured
    assert found[1].is_restructured


def test_a_call_of_an_older_form() -> None:
    """The thinking that was stored with a call goes if something of the call is removed."""
    old = {"tool_call_id": "c1", "tool_name": "run", "tool_args": "s3cr", "thinking": {"text": "hm"}}
    found = TEXT.event("tool_call", None, encode(old), None, "demo")

    assert found is not None
    assert json.loads(found.data_json or "") == {
        "tool_call_id": "c1",
        "name": "run",
        "arguments": encode({"redacted": M}),
    }


def test_numbers_and_references() -> None:
    """A number is removed if its digits are asked for, and so is a reference."""
    card = Redaction("now", b"k", ["4111"])
    assert (
        None,
        {"card": M, "x": 5, "y": False},
        None,
    ) == made(card, "note", None, {"card": 41112, "x": 5, "y": False})
    assert ("x", None, None) == made(card, "user", "x", None, "id-4111")
    assert made(card, "user", "x", None, "id") is None
    assert (M, None, "id") == made(WHOLE, "user", "x", None, "id")
    assert made(card, "assistant", "x", {"blocks": [{**CALL, "arguments": '{"n":41110}'}]}) is not None


@pytest.mark.parametrize(
    ("texts", "marker"),
    [(["now"], "[redacted]"), (["red"], "[removed]"), (["re"], "\u2588" * 3), (["[", "\u2588", "\u2592"], "")],
)
def test_markers(texts: list[str], marker: str) -> None:
    """The marker has nothing of what is removed."""
    redaction = Redaction("now", b"k", texts)
    assert marker == redaction.marker
    assert redaction.text(texts[0]) == marker


def test_many_matches_in_one_text() -> None:
    """Matches side by side become one marker; a text with very many becomes one as well."""
    redaction = Redaction("now", b"k", ["a", "ab"])
    assert "x[removed]x" == redaction.text("xaababx")
    assert redaction.text("ax" * 200) == redaction.marker


@settings(max_examples=30)
@given(st.text(min_size=1, max_size=5), st.lists(st.text(max_size=8), max_size=4))
def test_nothing_is_left(secret: str, around: list[str]) -> None:
    """No text, argument, id or reference has what was removed, and every message can be read."""
    redaction = Redaction("now", b"k", [secret])
    text = secret.join(["", *around])
    blocks = [{"type": "text", "text": text}, {**CALL, "arguments": encode({text: [text]})}]
    row = row_from_blocks("assistant", blocks, {"m": text})
    found = redaction.event(row.kind, row.content, row.data_json, None, "demo")
    assert found is not None or not around
    if found is not None:
        try:
            parts = read_row(row.kind, found.content, found.data_json)
        except InvalidRecord as error:
            raise AssertionError from error
        assert parts is not None
        assert secret not in str(parts.content[0]["text"])  # type: ignore[typeddict-item]


def test_some_places_of_a_record() -> None:
    """All that is in a place goes, and nothing else; a place that is not there is passed over."""
    data = {"mine": {"a": {"b": ["x", 1, {"c": "y"}]}, "d": "stays", "e": "z"}}
    paths = [("mine", "a", "b"), ("mine", "e"), ("mine", "f"), ("mine", "d", "g"), ("h", "i", "j")]
    left = {"mine": {"a": {"b": [M, 1, {"c": M}]}, "d": "stays", "e": M}}
    assert encode(left) == WHOLE.places(encode(data), paths)
    assert "{}" == WHOLE.places(None, paths)
