"""Which messages and records may be added, and how they are stored."""

import json
import re
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgpack import packb

from reel import text, tool_call, tool_result
from reel.base.errors import InvalidMessage, InvalidParams
from reel.base.strict_json import parse
from reel.base.values import Numeral
from reel.said.blocks import InvalidRecord
from reel.said.records import message_from_record, read_row
from reeld.core.events import Origin
from reeld.core.rows import Row, checked
from reeld.core.validation import Altered, Expected, read_element, rows_from


def _one(element: Any) -> Row:
    rows, _ = rows_from([element])
    return rows[0].row


def test_a_string_is_one_user_text() -> None:
    """A string in place of a list is one user message."""
    (checked,), altered = rows_from("hi")

    assert (Row("user", "hi", None), Altered()) == (checked.row, altered)


def test_an_empty_text_is_legal() -> None:
    """An empty text is accepted."""
    assert Row("user", "", None) == _one("")


@pytest.mark.parametrize(
    ("element", "expected"),
    [
        (text("assistant", "yes"), Row("assistant", "yes", None)),
        ({"role": "user", "content": "hi"}, Row("user", "hi", None)),
        ({"role": "system", "content": "be brief"}, Row("system", "be brief", None)),
        (
            tool_call("a", "ls", '{"d": 1}'),
            Row("tool_call", 'ls({"d": 1})', '{"tool_call_id":"a","name":"ls","arguments":"{\\"d\\": 1}"}'),
        ),
        (tool_result("a", "out"), Row("tool_result", None, '{"tool_call_id":"a","output":"out","success":true}')),
        (
            tool_result("a", "no", is_error=True),
            Row("tool_result", None, '{"tool_call_id":"a","output":"no","success":false}'),
        ),
    ],
)
def test_a_plain_message_stands_in_columns(element: Any, expected: Row) -> None:
    """A single text, call or plain result is stored without a list of blocks."""
    assert expected == _one(element)


@pytest.mark.parametrize("others", [[], [{"type": "text", "text": "x"}]], ids=["in-columns", "as-blocks"])
def test_arguments_as_a_map(others: list[Any]) -> None:
    """They are stored as the JSON text of the map, as if that had been given, whatever JSON has in it."""
    given = {"city": "Oslo", "äö": [1, 2.5, None, True, {"x": Numeral("1e400")}]}
    text = '{"city":"Oslo","äö":[1,2.5,null,true,{"x":1e400}]}'
    call = {"type": "tool_call", "id": "a", "name": "ls"}
    as_text, as_map = (
        _one({"role": "assistant", "content": [*others, {**call, "arguments": arguments}]})
        for arguments in (text, given)
    )

    assert as_text == as_map


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ([1], "expected JSON text, or a map, got a list"),
        (1, "expected JSON text, or a map, got an integer"),
        (None, "expected JSON text, or a map, got null"),
        ({"a": b"x"}, "raw bytes"),
        ({"a": float("nan")}, "a number that is not finite"),
        ({1: 2}, "which is not a clean string"),
    ],
)
def test_arguments_that_are_neither(arguments: Any, reason: str) -> None:
    """They are refused, with the field."""
    call = {"type": "tool_call", "id": "a", "name": "ls", "arguments": arguments}
    with pytest.raises(InvalidMessage, match=re.escape("messages[0].content[1].arguments: ")) as refused:
        rows_from([{"role": "assistant", "content": [{"type": "text", "text": ""}, call]}])

    assert reason in refused.value.message


def test_a_call_is_shown_in_200_characters() -> None:
    """The content column of a call is cut for people; what the model wrote is stored in full."""
    row = _one(tool_call("a", "ls", "x" * 500))

    assert ("ls(" + "x" * 197, 500) == (row.content, len(json.loads(row.data_json or "")["arguments"]))


def test_several_blocks_stay_together() -> None:
    """Thinking, text and parallel calls of one answer are one row, in order; its content is the readable part."""
    blocks = [
        {"type": "thinking", "text": "hm", "signature": "s"},
        {"type": "text", "text": "let me look"},
        {"type": "tool_call", "id": "a", "name": "ls", "arguments": "{}"},
    ]
    row = _one({"role": "assistant", "content": blocks})

    assert Row("assistant", "let me look\nls({})", json.dumps({"blocks": blocks}, separators=(",", ":"))) == row


def test_several_results_are_a_tool_result() -> None:
    """A tool message with several results is of kind tool_result, without content."""
    results = [{"type": "tool_result", "tool_call_id": i, "content": "out"} for i in "ab"]
    row = _one({"role": "tool", "content": results})

    assert ("tool_result", None) == row[:2]


@pytest.mark.parametrize("place", ["message", "block"])
def test_metadata_is_kept(place: str) -> None:
    """Metadata that a provider wants back is stored with the message or the block."""
    block: dict[str, Any] = {"type": "text", "text": "hi"}
    message: dict[str, Any] = {"role": "user", "content": [block]}
    (message if place == "message" else block)["provider_metadata"] = {"cache_control": "x"}
    read = message_from_record(_one(message)._asdict())

    assert read is not None
    assert {"cache_control": "x"} == (read if place == "message" else read["content"][0])["provider_metadata"]


def test_a_message_that_was_read_can_be_added_again() -> None:
    """A message as ``messages()`` returns it, with its seq and time, can be added again."""
    read = message_from_record({**_one(tool_call("a", "ls", "{}"))._asdict(), "seq": 7, "time": 8})

    assert _one(tool_call("a", "ls", "{}")) == _one(read)


@pytest.mark.parametrize(
    "record",
    [
        {"kind": "user", "content": "hi", "data_json": '{ "model" : "m" }'},
        {"kind": "tool_call", "data_json": '{"id":"a","type":"function","function":{"name":"n","arguments":""}}'},
        {"kind": "tool_result", "data_json": '{"tool_call_id":"a","output":""}'},
        {"kind": "usage", "data_json": '{"input":1}'},
        {"kind": "note"},
    ],
)
def test_a_record_is_taken_as_it_is(record: dict[str, Any]) -> None:
    """The columns of a record are stored byte for byte."""
    assert Row(record["kind"], record.get("content"), record.get("data_json")) == _one(record)


@pytest.mark.parametrize(
    ("element", "field"),
    [
        (7, "role"),
        ({"content": "hi"}, "role"),
        ({"role": "robot", "content": "hi"}, "role"),
        ({"role": "user"}, "content"),
        ({"role": "user", "content": []}, "content"),
        ({"role": "user", "content": "hi", "name": "bob"}, "name"),
        ({"role": "user", "content": [{"type": "thinking", "text": ""}]}, "content[0].type"),
        ({"role": "user", "content": [{"type": "text"}]}, "content[0].text"),
        ({"role": "user", "content": "hi", "provider_metadata": []}, "provider_metadata"),
        ({"role": "user", "content": "hi", "provider_metadata": {"a": b"x"}}, "provider_metadata"),
        ({"kind": "user"}, "content"),
        ({"kind": "user", "content": 7}, "content"),
        ({"kind": "system"}, "content"),
        ({"kind": "user", "content": "hi", "data_json": ""}, "data_json"),
        ({"kind": "user", "content": "hi", "data_json": "no"}, "data_json"),
        ({"kind": "user", "content": "hi", "data_json": "[" * 100_000}, "data_json"),
        ({"kind": "user", "content": "hi", "data_json": "{}", "extra": 1}, "extra"),
        ({"kind": "note", "data_json": "\udc80"}, "data_json"),
        ({"kind": "note", "data_json": "[]"}, "data_json"),
        ({"kind": "tool_call", "data_json": None}, "data_json"),
        ({"kind": "tool_call", "data_json": '{"tool_call_id":"a"}'}, "data_json.name"),
        ({"kind": "tool_call", "data_json": '{"tool_call_id":"","name":"n","arguments":""}'}, "data_json.tool_call_id"),
        ({"kind": "tool_result", "data_json": '{"tool_call_id":"a"}'}, "data_json.output"),
        ({"kind": "tool"}, "kind"),
        ({"kind": "fork"}, "kind"),
        ({"kind": "clear"}, "kind"),
        ({"kind": "agent_killed"}, "kind"),
        ({"kind": "gossip", "content": ""}, "kind"),
        ({"kind": None}, "kind"),
        ({"kind": "note", "if_seq": 1}, "if_seq"),
        ({"kind": "state", "content": "k", "if_seq": -1}, "if_seq"),
        ({"kind": "state", "content": "k", "if_seq": "1"}, "if_seq"),
        *(({"kind": "state", "content": key}, "content") for key in ("", "k" * 257, "k\0", None)),
        *(
            ({"kind": "state", "content": "k", "data_json": data}, "data_json")
            for data in ("5", "{}", '{"value":1,"x":2}', '{"value":NaN}', f'{{"value":"{"x" * (1 << 20)}"}}')
        ),
        *(
            ({"kind": "state", "content": "k", "data_json": data}, "data_json.value_json")
            for data in ('{"value_json":5}', '{"value_json":"["}', f'{{"value_json":"{"[" * 501}{"]" * 501}"}}')
        ),
    ],
)
def test_an_invalid_message_is_refused(element: Any, field: str) -> None:
    """The error names the message by its index and the field by its path."""
    with pytest.raises(InvalidMessage) as caught:
        rows_from(["fine", element])

    assert {"index": 1, "field": field} == caught.value.data


@pytest.mark.parametrize(
    "element",
    [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": [{"type": "thinking", "text": "hm"}]},
        {"role": "user", "content": "a\0b"},
        {"kind": "usage", "data_json": '{"input":1}'},
    ],
)
def test_the_original_time_is_beside_the_row(element: dict[str, Any]) -> None:
    """A message or record with an original time is stored as without, and the time beside it."""
    ((plain, parts),), altered = rows_from([element])

    assert ([(plain._replace(origin=Origin(5)), parts)], altered) == rows_from([{**element, "sent": 5}])
    assert ([(plain, parts)], altered) == rows_from([{**element, "sent": None}])


@pytest.mark.parametrize("sent", [-1, 253_402_300_800_000, 1.5, "now", True, []])
def test_a_time_that_no_calendar_has_is_refused(sent: Any) -> None:
    """The time is an integer of milliseconds between the years 1970 and 9999."""
    with pytest.raises(InvalidMessage, match=r"messages\[0\].sent: expected milliseconds since 1970"):
        rows_from([{"role": "user", "content": "hi", "sent": sent}])


@pytest.mark.parametrize("ref", ["", "x" * 257, "ü" * 129, 7, "a\0"])
def test_a_reference_that_is_refused(ref: Any) -> None:
    """A reference is a text of 1 to 256 bytes."""
    with pytest.raises(InvalidMessage) as caught:
        rows_from([{"role": "user", "content": "hi", "ref": ref}])

    assert {"index": 0, "field": "ref"} == caught.value.data


def test_two_messages_with_one_reference_are_refused() -> None:
    """Each message has its own; the indexes of those that have one are told."""
    said, refs = {"role": "user", "content": "hi"}, dict[str, int]()
    rows_from(["hi", {**said, "ref": "a"}, {**said, "ref": "ü" * 128}], refs)
    assert {"a": 1, "ü" * 128: 2} == refs

    with pytest.raises(InvalidMessage, match=r"messages\[2\].ref: messages\[0\] has 'a' already"):
        rows_from([{**said, "ref": "a"}, "hi", {**said, "ref": "a"}])


def test_values_and_what_is_expected_of_them() -> None:
    """The key of a value is the content of its row; what is expected of the one before is not stored."""
    expected: list[Expected] = []
    one = {"kind": "state", "content": "k", "data_json": '{"value":[1.0]}', "if_seq": 7}
    deep = {"kind": "state", "content": "l", "data_json": '{"value_json":"[[]]"}'}
    rows, _ = rows_from(["fine", one, deep, {"kind": "state", "content": "m"}], None, expected)

    assert [("k", one["data_json"]), ("l", deep["data_json"]), ("m", None)] == [
        (row.content, row.data_json) for row, _ in rows[1:]
    ]
    assert [Expected("k", 7, 1)] == expected
    assert 1 == len(rows_from([one])[0])


@pytest.mark.parametrize("messages", [None, [], {}, {"role": "user", "content": "hi"}, 7])
def test_a_list_is_wanted(messages: Any) -> None:
    """A map or ``None`` in place of the list of messages is refused."""
    with pytest.raises(InvalidParams, match="list"):
        rows_from(messages)


@pytest.mark.parametrize(
    "element",
    [
        "a\0b\udc80",
        {"role": "user", "content": "a\0b\udc80"},
        {"kind": "user", "content": "a\0b\udc80"},
        {"role": "assistant", "content": [{"type": "thinking", "text": "a\0b\udc80"}]},
        {"role": "tool", "content": [{"type": "tool_result", "tool_call_id": "a", "content": "a\0b\udc80"}]},
        {"role": "user", "content": "", "provider_metadata": {"note": "a\0b\udc80"}},
    ],
)
def test_free_text_is_repaired_and_counted(element: Any) -> None:
    """Characters that a text cannot have are replaced, and the reply counts them."""
    ((row, _),), altered = rows_from([element])

    assert Altered(replaced=2) == altered
    assert "a�b�" in (row.content or "") + (row.data_json or "")


LARGE = ["9007199254740992", "1e400", "7" * 5_000]


@pytest.mark.parametrize("number", LARGE)
@pytest.mark.parametrize(("kind", "count"), [("user", 2), ("usage", 0), ("system", 0)])
def test_data_of_a_record_has_numbers_of_any_size(kind: str, count: int, number: str) -> None:
    """Data is kept byte for byte; the numbers in it that become metadata of a message are counted."""
    data = f'{{ "at": {number}, "l": [{number}, 1.50] }}'
    ((row, _),), altered = rows_from([{"kind": kind, "content": "hi", "data_json": data}])

    assert (Row(kind, "hi", data), Altered(numbers_as_text=count)) == (row, altered)


@pytest.mark.parametrize("number", LARGE)
def test_metadata_of_a_message_has_numbers_of_any_size(number: str) -> None:
    """A number in the metadata of a message or a block is stored as it was given."""
    metadata = parse(f'{{"at":{number}}}')
    block = {"type": "text", "text": "hi", "provider_metadata": metadata}
    ((row, _),), altered = rows_from([{"role": "user", "content": [block], "provider_metadata": metadata}])

    assert row.data_json is not None
    assert 2 == row.data_json.count(f'"at":{number}}}') == altered.numbers_as_text


@pytest.mark.parametrize("field", ["id", "name"])
def test_ids_and_tool_names_are_not_repaired(field: str) -> None:
    """An id or a tool's name with NUL in it is refused: a repaired one would be another name."""
    call = {"type": "tool_call", "id": "a", "name": "n", "arguments": "", field: "a\0"}

    with pytest.raises(InvalidMessage, match=field):
        rows_from([{"role": "assistant", "content": [call]}])


@pytest.mark.slow
@given(st.lists(st.text(), min_size=1, max_size=5))
def test_texts_come_back(texts: list[str]) -> None:
    """A message of valid texts is read as it was added."""
    clean = [text.replace("\0", "") for text in texts]
    row = _one({"role": "user", "content": [{"type": "text", "text": text} for text in clean]})
    read = message_from_record(row._asdict())

    assert read is not None
    assert clean == [block["text"] for block in read["content"] if block["type"] == "text"]


@pytest.mark.parametrize(
    "element",
    [
        "hi",
        {"role": "assistant", "content": [{"type": "thinking", "text": "hm"}, {"type": "text", "text": "hi"}]},
        tool_call("a", "ls", "{}"),
        tool_result("a", "out"),
        {"kind": "assistant", "content": "hi", "data_json": '{"model":"m"}'},
        {"kind": "assistant", "content": "hi", "data_json": '{"at":18446744073709551616}'},
        {"role": "system", "content": "be brief"},
        {"kind": "note", "content": "hi"},
    ],
)
def test_the_parts_are_read_from_the_row(element: Any) -> None:
    """The parts of a message are those that its stored row has."""
    ((row, parts),), _ = rows_from([element])

    assert parts == (None if row.data_json is None else read_row(*row[:3]))


_WORDS = st.text(max_size=6)
_IDS = st.text(st.characters(min_codepoint=33, max_codepoint=1000), min_size=1, max_size=4)
_PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | _WORDS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_IDS, inner, max_size=2),
    max_leaves=6,
)
_METADATA = st.fixed_dictionaries(
    {}, optional={"provider_metadata": st.none() | st.dictionaries(_IDS, _PLAIN, max_size=2)}
)


def _block(kind: str, **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    own = st.fixed_dictionaries({"type": st.just(kind), **fields})
    return st.builds(lambda block, more, back: _ordered({**block, **more}, back), own, _METADATA, st.booleans())


def _ordered(block: dict[str, Any], back: bool) -> dict[str, Any]:
    return dict(reversed(block.items())) if back else block


_TEXT_BLOCK = _block("text", text=_WORDS)
_CALL_BLOCK = _block("tool_call", id=_IDS, name=_IDS, arguments=_WORDS)
_THINKING_BLOCK = _block("thinking", text=_WORDS, signature=st.none() | _IDS)
_RESULT_BLOCK = _block(
    "tool_result",
    content=_WORDS | st.lists(_TEXT_BLOCK, min_size=1, max_size=2),
    tool_call_id=_IDS,
    is_error=st.none() | st.booleans(),
)
_MESSAGES = st.builds(
    lambda message, more: {**message, **more},
    st.one_of(
        st.fixed_dictionaries({"role": st.just("user"), "content": st.lists(_TEXT_BLOCK, min_size=1, max_size=2)}),
        st.fixed_dictionaries(
            {
                "role": st.just("assistant"),
                "content": st.lists(_TEXT_BLOCK | _CALL_BLOCK | _THINKING_BLOCK, min_size=1, max_size=3),
            }
        ),
        st.fixed_dictionaries({"role": st.just("tool"), "content": st.lists(_RESULT_BLOCK, min_size=1, max_size=2)}),
        st.fixed_dictionaries({"role": st.just("system"), "content": _WORDS}),
    ),
    _METADATA,
)


@example({"role": "assistant", "content": [{"arguments": "{}", "name": "n", "id": "i", "type": "tool_call"}]})
@example({"role": "tool", "content": [{"is_error": None, "content": "x", "tool_call_id": "i", "type": "tool_result"}]})
@example({"role": "tool", "content": [{"content": "x", "tool_call_id": "i", "type": "tool_result"}] * 2})
@given(_MESSAGES)
def test_what_is_kept_of_a_message_is_what_its_row_says(message: dict[str, Any]) -> None:
    """Also in the order of its fields: the message is packed from what was given, and later from the row."""
    made, _, _ = read_element(message)
    read = checked(made.row)

    assert read == made
    assert packb(read.parts) == packb(made.parts)


def test_what_is_too_deep_for_a_row_is_refused() -> None:
    """Metadata may have ten levels, of which three are those of the message that they are in."""
    deep: Any = "x"
    for _ in range(8):
        deep = [deep]
    message = {"role": "user", "content": [{"type": "text", "text": "x", "provider_metadata": {"deep": deep}}]}
    with pytest.raises(InvalidRecord, match="data_json"):
        read_element(message)
