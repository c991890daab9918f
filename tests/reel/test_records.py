"""A stored row becomes a message, nothing, or an error that names its field."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reel.blocks import InvalidRecord
from reel.kinds import INERT, STATE
from reel.records import message_from_record, parse_data, read_row, system_text

ONE: dict[str, Any] = {"tool_call_id": "c1", "name": "grep", "arguments": '{"q": "é"}'}
TWO: dict[str, Any] = {"id": "c1", "type": "function", "function": {"name": "grep", "arguments": '{"q": "é"}'}}
THREE: dict[str, Any] = {"tool_call_id": "c1", "tool_name": "grep", "tool_args": '{"q": "é"}'}
CALL = {"type": "tool_call", "id": "c1", "name": "grep", "arguments": '{"q": "é"}'}
RESULT: dict[str, Any] = {"tool_call_id": "c1", "output": "found", "success": True}
THOUGHT = {"type": "thinking", "text": "hm"}
SIGNED = {"type": "thinking", "text": "hm", "signature": "s"}
REDACTED = {"type": "redacted_thinking", "data": "x"}
WITHOUT_MESSAGE: list[Any] = ["system", *sorted(STATE | INERT), "brand_new", "", None, 5, ["user"]]

readable = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"))
name_like = readable.filter(bool)
NULL_OR_OTHER: list[Any] = [None, 5, True, [], {}]
rows = pytest.mark.parametrize(("kind", "content"), [("user", "hi"), ("assistant", "hi"), ("tool_call", None)])


def short(value: Any) -> str:
    """Return a short name of a case."""
    return repr(value)[:30]


def content_of(kind: str, data: Any, content: str | None = "shown") -> Any:
    """Read the blocks of a row whose data is this value."""
    parts = read_row(kind, content, json.dumps(data))
    assert parts is not None
    return parts.content


def fault(kind: str, content: Any, data_json: Any) -> InvalidRecord:
    """Return the error that refuses a row."""
    with pytest.raises(InvalidRecord) as refused:
        read_row(kind, content, data_json)
    return refused.value


def without(data: dict[str, Any], field: str) -> dict[str, Any]:
    """Remove a field."""
    return {key: value for key, value in data.items() if key != field}


@pytest.mark.parametrize("kind", ["user", "assistant"])
def test_a_plain_row_is_one_text(kind: str) -> None:
    """A row without data is a message of one text block, with its position in the conversation."""
    record = {"seq": 7, "kind": kind, "content": "hi", "data_json": None, "time": 1_700_000_000_000}
    expected = {
        "role": kind,
        "content": [{"type": "text", "text": "hi"}],
        "provider_metadata": {},
        "seq": 7,
        "time": 1_700_000_000_000,
    }

    assert expected == message_from_record(record)


def test_a_record_with_data() -> None:
    """The data of a record is read like that of a row."""
    message = message_from_record({"kind": "tool_call", "data_json": json.dumps(ONE), "seq": 7})

    assert message is not None
    assert (message["role"], message["content"], message["seq"]) == ("assistant", [CALL], 7)


def test_what_a_record_lacks() -> None:
    """A record without a position has zeros for it, and unknown columns are ignored."""
    message = message_from_record({"kind": "user", "content": "", "client": "nvim"})

    assert message is not None
    assert (message["seq"], message["time"]) == (0, 0)
    assert message["content"] == [{"type": "text", "text": ""}]


@given(st.sampled_from(["user", "assistant"]), st.text())
def test_a_text_comes_back_as_it_is(kind: str, text: str) -> None:
    """A message has the text of its row, whatever the text is."""
    parts = read_row(kind, text, None)

    assert parts == (kind, [{"type": "text", "text": text}], {})


@pytest.mark.parametrize("kind", WITHOUT_MESSAGE)
@pytest.mark.parametrize("data_json", [None, "{", "{}", "[" * 100_000, 5], ids=short)
@pytest.mark.parametrize("content", [None, "text"])
def test_a_kind_without_a_message(kind: Any, content: Any, data_json: Any) -> None:
    """Prompts, metadata and unknown kinds are not messages, whatever their row contains."""
    assert message_from_record({"kind": kind, "content": content, "data_json": data_json}) is None


def test_a_record_without_a_kind() -> None:
    """A record without a kind is not a message."""
    assert message_from_record({}) is None


@pytest.mark.parametrize(("content", "expected"), [("be brief", "be brief"), (" ", " "), ("", None), (None, None)])
def test_what_a_system_row_sets(content: str | None, expected: str | None) -> None:
    """A system row sets the prompt, and an empty one removes it."""
    assert expected == system_text(content)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (ONE, [CALL]),
        ({**ONE, "thinking": {"text": "hm"}, "more": 1}, [CALL]),
        (TWO, [CALL]),
        (without(TWO, "type"), [CALL]),
        ({**TWO, "function": {**TWO["function"], "strict": True}}, [CALL]),
        (THREE, [CALL]),
        ({**THREE, "thinking": None, "redacted_thinking": None}, [CALL]),
        ({**THREE, "thinking": {"text": "hm"}}, [THOUGHT, CALL]),
        ({**THREE, "thinking": {"text": "hm", "signature": None}}, [THOUGHT, CALL]),
        ({**THREE, "thinking": {"text": "hm", "signature": "s"}}, [SIGNED, CALL]),
        ({**THREE, "redacted_thinking": {"data": "x"}}, [REDACTED, CALL]),
        ({**THREE, "redacted_thinking": {"data": "x"}, "thinking": {"text": "hm"}}, [THOUGHT, REDACTED, CALL]),
    ],
)
@pytest.mark.parametrize("content", [None, "grep(…)"])
def test_every_shape_of_a_call(data: dict[str, Any], expected: list[Any], content: str | None) -> None:
    """A call stored in any of the three shapes becomes the same block, after its thinking."""
    parts = read_row("tool_call", content, json.dumps(data))

    assert parts == ("assistant", expected, {})


@given(name_like, name_like, readable)
def test_a_call_comes_back_as_it_is(call_id: str, name: str, arguments: str) -> None:
    """The id, name and arguments are unchanged in all three shapes."""
    expected = [{"type": "tool_call", "id": call_id, "name": name, "arguments": arguments}]

    assert expected == content_of("tool_call", {"tool_call_id": call_id, "name": name, "arguments": arguments})
    assert expected == content_of("tool_call", {"id": call_id, "function": {"name": name, "arguments": arguments}})
    assert expected == content_of("tool_call", {"tool_call_id": call_id, "tool_name": name, "tool_args": arguments})


@pytest.mark.parametrize(
    ("data", "field"),
    [
        ({}, "tool_call_id"),
        *[(without(ONE, field), field) for field in ONE],
        (without(TWO, "id"), "id"),
        ({**TWO, "id": "", "tool_call_id": "c1"}, "id"),
        ({**TWO, "function": None}, "function"),
        ({**TWO, "function": "grep"}, "function"),
        ({**TWO, "function": {"arguments": "{}"}}, "function.name"),
        ({**TWO, "function": {"name": "grep"}}, "function.arguments"),
        ({**TWO, "function": {"name": "grep", "arguments": {}}}, "function.arguments"),
        *[(without(THREE, field), field) for field in THREE],
        ({**THREE, "thinking": "hm"}, "thinking"),
        ({**THREE, "thinking": {}}, "thinking.text"),
        ({**THREE, "thinking": {"text": None}}, "thinking.text"),
        ({**THREE, "thinking": {"text": "hm", "signature": 5}}, "thinking.signature"),
        ({**THREE, "redacted_thinking": []}, "redacted_thinking"),
        ({**THREE, "redacted_thinking": {}}, "redacted_thinking.data"),
        ({**THREE, "redacted_thinking": {"data": 5}}, "redacted_thinking.data"),
        *[({**ONE, field: value}, field) for field in ONE for value in NULL_OR_OTHER],
        *[({**THREE, field: value}, field) for field in THREE for value in NULL_OR_OTHER],
        *[({**ONE, field: value}, field) for field in ("tool_call_id", "name") for value in ("", "x" * 1025)],
        ({"blocks": [CALL]}, "tool_call_id"),
    ],
)
def test_a_call_that_is_none(data: dict[str, Any], field: str) -> None:
    """The error names a call's field that is missing or of the wrong type, in each shape."""
    assert fault("tool_call", "shown", json.dumps(data)).field == f"data_json.{field}"


@pytest.mark.parametrize("kind", ["tool_result", "tool"])
@pytest.mark.parametrize("content", [None, "shown"])
@pytest.mark.parametrize(
    ("more", "is_error"),
    [
        ({}, False),
        ({"success": False}, True),
        ({"name": None, "summary": None}, False),
        ({"name": "grep", "summary": "1 line"}, False),
        ({"name": "", "anything": [1]}, False),
    ],
)
def test_a_row_of_a_tool_result(kind: str, content: str | None, more: dict[str, Any], is_error: bool) -> None:
    """A result has the output that the model saw, for both kinds, not the text for people."""
    expected = [{"type": "tool_result", "tool_call_id": "c1", "content": "found", "is_error": is_error}]

    assert ("tool", expected, {}) == read_row(kind, content, json.dumps({**RESULT, **more}))


@pytest.mark.parametrize("kind", ["tool_result", "tool"])
def test_a_result_that_does_not_say_that_it_succeeded(kind: str) -> None:
    """A result that does not say whether it succeeded is an error."""
    (block,) = content_of(kind, without(RESULT, "success"))

    assert block["is_error"] is True


@given(name_like, readable, st.booleans())
def test_a_result_comes_back_as_it_is(call_id: str, output: str, success: bool) -> None:
    """The id, output and success of a result are the tool's own."""
    expected = [{"type": "tool_result", "tool_call_id": call_id, "content": output, "is_error": not success}]

    assert expected == content_of("tool_result", {"tool_call_id": call_id, "output": output, "success": success})


@pytest.mark.parametrize(
    ("data", "field"),
    [
        ({}, "tool_call_id"),
        (without(RESULT, "tool_call_id"), "tool_call_id"),
        (without(RESULT, "output"), "output"),
        *[({**RESULT, "tool_call_id": value}, "tool_call_id") for value in (None, 5, "", "x" * 1025)],
        *[({**RESULT, "output": value}, "output") for value in NULL_OR_OTHER],
        *[({**RESULT, "success": value}, "success") for value in (None, 0, 1, "true")],
        *[({**RESULT, field: value}, field) for field in ("name", "summary") for value in NULL_OR_OTHER[1:]],
    ],
)
@pytest.mark.parametrize("kind", ["tool_result", "tool"])
def test_a_result_that_is_none(kind: str, data: dict[str, Any], field: str) -> None:
    """The error names a result's field that is missing or of the wrong type."""
    assert fault(kind, None, json.dumps(data)).field == f"data_json.{field}"


@pytest.mark.parametrize("kind", ["user", "assistant"])
@pytest.mark.parametrize("data_json", [None, "{}", "[", '{"blocks": [{"type": "text", "text": "x"}]}'])
@pytest.mark.parametrize(("content", "got"), [(None, "null"), (5, "an integer"), (b"hi", "bytes")])
def test_a_row_without_a_text(kind: str, content: Any, got: str, data_json: str | None) -> None:
    """A row that needs a text and has none is not a message."""
    error = fault(kind, content, data_json)

    assert error.field == "content"
    assert error.reason.endswith(f"got {got}")


@pytest.mark.parametrize("kind", ["tool_call", "tool_result", "tool"])
def test_a_tool_row_without_data(kind: str) -> None:
    """A tool's row without data is not a message."""
    error = fault(kind, "shown", None)

    assert (error.field, error.reason) == ("data_json", "expected a JSON text, got null")


@pytest.mark.parametrize("kind", ["user", "assistant"])
@pytest.mark.parametrize(
    "data",
    [
        {},
        {"model": "m", "usage": {"in": 1}},
        {"provider_metadata": {"a": 1}},
        {"blocks": [5], "model": "m"},
        {"blocks": None, "provider_metadata": {}, "model": "m"},
        {"n": [2**53 - 1, -1.5, None, True]},
    ],
)
def test_foreign_data_is_metadata(kind: str, data: dict[str, Any]) -> None:
    """Data that is not in our own form is the provider's, even if it has a key ``blocks``."""
    assert (kind, [{"type": "text", "text": "hi"}], data) == read_row(kind, "hi", json.dumps(data))


LARGE = ["9007199254740992", "-9223372036854775809", "18446744073709551616", "1e400", "-1E+999", "7" * 5_000]


@pytest.mark.parametrize("number", LARGE)
def test_a_large_number_is_text_in_a_message(number: str) -> None:
    """In metadata of a message or a block, a number that some clients cannot hold becomes its digits."""
    metadata = f'{{"provider":"p","at":{{"ns":[1,{number}]}}}}'
    text = f'{{"type":"text","text":"x","provider_metadata":{metadata}}}'
    inside = f'{{"type":"tool_result","tool_call_id":"c","content":[{text}]}}'
    told = {"provider": "p", "at": {"ns": [1, number]}}
    foreign, blocks = read_row("user", "hi", metadata), read_row("tool_result", None, f'{{"blocks":[{inside}]}}')

    assert foreign is not None
    assert told == foreign.provider_metadata
    assert blocks is not None
    assert told == blocks.content[0]["content"][0]["provider_metadata"]  # type: ignore[index,typeddict-item]


@pytest.mark.parametrize("number", LARGE)
def test_a_large_number_beside_a_message(number: str) -> None:
    """A number outside the message may be of any size."""
    call = f'{{"tool_call_id":"c","name":"n","arguments":"{{}}","ns":{number}}}'

    assert read_row("tool_call", None, call) == read_row("tool_call", None, call.replace(number, "1"))


@pytest.mark.parametrize("metadata", [{}, {"provider_metadata": {"model": "m"}}, {"provider_metadata": None}])
@pytest.mark.parametrize(
    ("kind", "role", "blocks"),
    [
        ("user", "user", [{"type": "text", "text": "a"}, {"type": "media", "mime_type": "image/png", "url": "u"}]),
        ("assistant", "assistant", [SIGNED, {"type": "text", "text": "a"}, CALL, {**CALL, "id": "c2"}]),
        ("tool_result", "tool", [{"type": "tool_result", "tool_call_id": "c1", "content": "x", "is_error": False}]),
        ("tool", "tool", [{"type": "tool_result", "tool_call_id": "c1", "content": "x", "is_error": True}]),
    ],
)
def test_a_row_of_several_blocks(kind: str, role: str, blocks: list[Any], metadata: dict[str, Any]) -> None:
    """A message of several blocks is read as it was written, without its readable text."""
    expected = (role, blocks, metadata.get("provider_metadata") or {})

    assert expected == read_row(kind, "readable", json.dumps({"blocks": blocks, **metadata}))


@pytest.mark.parametrize(
    ("kind", "data", "field"),
    [
        ("user", {"blocks": None}, "blocks"),
        ("user", {"blocks": []}, "blocks"),
        ("user", {"blocks": ["x"]}, "blocks[0]"),
        ("user", {"blocks": [CALL]}, "blocks[0].type"),
        ("assistant", {"blocks": [CALL, {"type": "text"}]}, "blocks[1].text"),
        ("tool_result", {"blocks": [{"type": "text", "text": "x"}]}, "blocks[0].type"),
        ("tool", {"blocks": 5}, "blocks"),
        ("tool", {"blocks": [{"type": "tool_result", "tool_call_id": "c1"}]}, "blocks[0].content"),
        (
            "tool_result",
            {"blocks": [{"type": "tool_result", "tool_call_id": "c1", "content": "", "is_error": 0}]},
            "blocks[0].is_error",
        ),
        ("user", {"blocks": [{"type": "text", "text": "x"}], "provider_metadata": "m"}, "provider_metadata"),
        ("user", {"blocks": [{"type": "text", "text": "x"}], "provider_metadata": []}, "provider_metadata"),
    ],
)
def test_blocks_that_are_none(kind: str, data: dict[str, Any], field: str) -> None:
    """In our own form the path of an error names the wrong field."""
    assert fault(kind, "readable", json.dumps(data)).field == f"data_json.{field}"


@pytest.mark.parametrize("kind", ["tool_result", "tool"])
@pytest.mark.parametrize(
    ("said", "is_error"),
    [({}, False), ({"is_error": None}, False), ({"is_error": False}, False), ({"is_error": True}, True)],
)
def test_a_result_in_blocks_says_whether_it_failed(kind: str, said: dict[str, Any], is_error: bool) -> None:
    """In our own form a result succeeds unless it says otherwise, and its block always says which."""
    block = {"type": "tool_result", "tool_call_id": "c1", "content": "x"}
    failed = {**block, "is_error": True}
    first, second = content_of(kind, {"blocks": [{**block, **said}, failed]})

    assert {**block, "is_error": is_error} == first
    assert type(first["is_error"]) is bool
    assert failed == second


def test_a_tool_row_may_have_a_key_called_blocks() -> None:
    """Only data with exactly blocks and metadata is in our own form."""
    (block,) = content_of("tool_result", {**RESULT, "blocks": []})

    assert block["content"] == "found"


@rows
@pytest.mark.parametrize(
    ("data_json", "reason"),
    [
        ("", "not JSON"),
        (" ", "not JSON"),
        ("{", "not JSON"),
        ("{}{}", "not JSON"),
        ("{'a': 1}", "not JSON"),
        ('{"a": "\x00"}', "not JSON"),
        ('{"a": "\\ud8"}', "not JSON"),
        ("\ufeff{}", "not JSON"),
        ('{"a": NaN}', "NaN is not a number"),
        ('{"a": Infinity}', "Infinity is not a number"),
        ('{"a": [-Infinity]}', "-Infinity is not a number"),
        ("NaN", "NaN is not a number"),
        ("null", "expected a JSON object, got null"),
        ("true", "expected a JSON object, got a boolean"),
        ("5", "expected a JSON object, got an integer"),
        ("0.5", "expected a JSON object, got a number"),
        ("1e999", "expected a JSON object, got a number"),
        ('"{}"', "expected a JSON object, got a string"),
        ("[{}]", "expected a JSON object, got a list"),
        (5, "expected a JSON text, got an integer"),
        ({}, "expected a JSON text, got a map"),
        (b"{}", "expected a JSON text, got bytes"),
    ],
    ids=short,
)
def test_data_that_is_no_object(kind: str, content: str | None, data_json: Any, reason: str) -> None:
    """Data is refused if it is not JSON, not an object, or has values that some clients cannot read."""
    error = fault(kind, content, data_json)

    assert error.field == "data_json"
    assert reason in error.reason


@rows
@pytest.mark.parametrize("levels", [11, 200, 900, 5_000, 100_000])
@pytest.mark.parametrize("innermost", ["1", '"\\u0000"'])
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_data_that_is_too_deep(
    kind: str, content: str | None, levels: int, innermost: str, opening: str, closing: str
) -> None:
    """Data over ten levels is refused, however deep it is."""
    inner = levels - 1
    error = fault(kind, content, '{"a":' + opening * inner + innermost + closing * inner + "}")

    assert error.field == "data_json"
    assert "deep" in error.reason


@pytest.mark.parametrize("opening", ["[", '{"a":', '{"\\u0000":'])
def test_data_that_opens_and_never_closes(opening: str) -> None:
    """Unclosed brackets are refused like any other data that is too deep."""
    assert fault("user", "hi", opening * 100_000).field == "data_json"


def test_ten_levels_are_allowed() -> None:
    """The limit of ten levels is inclusive and counts the outermost map."""
    text = '{"a":' * 10 + "1" + "}" * 10

    assert json.loads(text) == parse_data(text)


def test_json_inside_a_string_does_not_count() -> None:
    """Arguments are a text: the depth of the JSON in it does not matter."""
    arguments = "[" * 1_000 + "]" * 1_000
    (block,) = content_of("tool_call", {**ONE, "arguments": arguments})

    assert arguments == block["arguments"]


@pytest.mark.parametrize(
    ("escaped", "expected"),
    [
        (r"\u0000", "\ufffd"),
        (r"a\u0000b\u0000", "a\ufffdb\ufffd"),
        (r"\ud800", "\ufffd"),
        (r"\uDFFF x", "\ufffd x"),
        (r"\udc00\ud800", "\ufffd\ufffd"),
        (r"\ud83d\ude00", "\U0001f600"),
        (r"\u00e9", "é"),
        (r"\\u0000", r"\u0000"),
        (r"\\ud800", r"\ud800"),
    ],
)
class TestEscapes:
    """JSON can encode characters that a text may not contain; the row keeps them, and the message does not."""

    def test_an_escaped_nul_in_a_value(self, escaped: str, expected: str) -> None:
        """A value of foreign data is cleaned."""
        assert parse_data(f'{{"a": ["{escaped}"]}}') == {"a": [expected]}

    def test_an_escaped_nul_in_a_key(self, escaped: str, expected: str) -> None:
        """A key is cleaned as well, at every level."""
        assert parse_data(f'{{"a": {{"{escaped}": 1}}}}') == {"a": {expected: 1}}

    def test_an_escaped_nul_in_a_block(self, escaped: str, expected: str) -> None:
        """A text in a message of several blocks is cleaned."""
        parts = read_row("user", "hi", f'{{"blocks": [{{"type": "text", "text": "{escaped}"}}]}}')

        assert parts == ("user", [{"type": "text", "text": expected}], {})

    def test_an_escaped_nul_in_a_tool_row(self, escaped: str, expected: str) -> None:
        """A tool's output is cleaned, and so is the id of its call."""
        parts = read_row("tool", None, f'{{"tool_call_id": "{escaped}", "output": "{escaped}", "success": true}}')

        block = {"type": "tool_result", "tool_call_id": expected, "content": expected, "is_error": False}
        assert parts == ("tool", [block], {})


def test_the_last_of_two_equal_keys_wins() -> None:
    """A repeated key has its last value."""
    assert parse_data('{"a": 1, "a": 2}') == {"a": 2}


fields = st.sampled_from(
    [*ONE, *TWO, *THREE, *RESULT, "thinking", "redacted_thinking", "blocks", "provider_metadata", "text", "\x00\ud800"]
)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["", "c1", "text", "tool_call", "\x00"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(fields, inner, max_size=4),
)
any_kind = st.sampled_from(["user", "assistant", "tool_call", "tool_result", "tool"])


@given(any_kind, st.none() | st.text(), values.map(json.dumps) | st.text() | st.binary() | st.none())
def test_there_is_no_fourth_way(kind: str, content: str | None, data_json: Any) -> None:
    """Any row becomes a message of its role, or an error that names the field."""
    roles = {"user": "user", "assistant": "assistant", "tool_call": "assistant", "tool_result": "tool", "tool": "tool"}
    try:
        parts = read_row(kind, content, data_json)
    except InvalidRecord as error:
        outcome = error.field.partition(".")[0]
    else:
        outcome = parts.role if parts is not None else "nothing"

    assert outcome in {roles[kind], "content", "data_json"}
