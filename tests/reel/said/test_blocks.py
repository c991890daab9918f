"""One table says which block may be where and which fields it has; an error names the path of the wrong one."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reel.said.blocks import InvalidRecord, check_blocks, check_json, check_name, kind_of

MINIMAL: dict[str, dict[str, Any]] = {
    "text": {"type": "text", "text": ""},
    "thinking": {"type": "thinking", "text": "hm"},
    "redacted_thinking": {"type": "redacted_thinking", "data": "x"},
    "tool_call": {"type": "tool_call", "id": "c1", "name": "grep", "arguments": "{}"},
    "media": {"type": "media", "mime_type": "image/png", "url": "https://example.org/a.png"},
    "opaque": {"type": "opaque", "provider": "openai", "data_json": "{}"},
    "tool_result": {"type": "tool_result", "tool_call_id": "c1", "content": "", "is_error": False},
}
OPTIONAL: dict[str, dict[str, Any]] = {
    "text": {},
    "thinking": {"signature": "s", "provider": "anthropic", "model": "m"},
    "redacted_thinking": {"provider": "anthropic", "model": "m"},
    "tool_call": {},
    "media": {"name": "a.png"},
    "opaque": {"model": "m"},
    "tool_result": {},
}
HOLDERS = {
    "user": {"text", "media", "opaque"},
    "assistant": {"text", "thinking", "redacted_thinking", "tool_call", "media", "opaque"},
    "tool": {"tool_result"},
    "tool_result": {"text", "media", "opaque"},
    "system": {"text"},
}
HOLDER_OF = {"tool_result": "tool"}
# Fields whose text has a meaning to programs.
WORDS = [
    *[("tool_call", "id"), ("tool_call", "name"), ("tool_result", "tool_call_id"), ("thinking", "signature")],
    *[("thinking", "provider"), ("redacted_thinking", "data"), ("redacted_thinking", "model"), ("media", "mime_type")],
    *[("media", "url"), ("opaque", "provider"), ("opaque", "data_json"), ("opaque", "model")],
]
NAMES = [("tool_call", "id"), ("tool_call", "name"), ("tool_result", "tool_call_id")]
WRONG = [5, 1.5, True, ["x"], {"x": 1}, b"x"]
REQUIRED = [(name, field) for name, block in MINIMAL.items() for field in block if field != "type"]
# A result may omit whether it failed; media has one of two sources, which other tests cover.
NEEDED = [pair for pair in REQUIRED if pair not in (("tool_result", "is_error"), ("media", "url"))]

every_type = pytest.mark.parametrize("name", list(MINIMAL))


def fault(blocks: Any, holder: str = "assistant") -> InvalidRecord:
    """Return the error that refuses a list of blocks."""
    with pytest.raises(InvalidRecord) as refused:
        check_blocks(blocks, holder, "blocks")
    return refused.value


def fault_of(name: str, /, **fields: Any) -> InvalidRecord:
    """Return the error that refuses a block with these fields in a place where its type is allowed."""
    return fault([{**MINIMAL[name], **fields}], HOLDER_OF.get(name, "assistant"))


def accept(name: str, /, **fields: Any) -> None:
    """Check a block with these fields in a place where its type is allowed."""
    check_blocks([{**MINIMAL[name], **fields}], HOLDER_OF.get(name, "assistant"), "blocks")


@pytest.mark.parametrize(
    ("holder", "name"), [(holder, name) for holder, names in HOLDERS.items() for name in sorted(names)]
)
def test_a_block_stands_where_it_may(holder: str, name: str) -> None:
    """Every role accepts its own blocks."""
    check_blocks([MINIMAL[name], MINIMAL[name]], holder, "blocks")


@pytest.mark.parametrize(
    ("holder", "name"), [(holder, name) for holder, names in HOLDERS.items() for name in sorted(set(MINIMAL) - names)]
)
def test_a_block_stands_nowhere_else(holder: str, name: str) -> None:
    """A block of another role is refused by its type, and the error lists the allowed ones."""
    error = fault([MINIMAL[name]], holder)

    assert "blocks[0].type" == error.field
    assert all(allowed in error.reason for allowed in HOLDERS[holder])


@pytest.mark.parametrize("name", [None, "", "Text", "image", 5, ["text"], {}])
def test_an_unknown_type(name: Any) -> None:
    """A block of no known type is refused by its type."""
    error = fault([{"type": name, "text": "x"}])

    assert "blocks[0].type" == error.field
    assert repr(name) in error.reason


def test_a_block_without_a_type() -> None:
    """A map without a type is refused."""
    assert "blocks[0].type" == fault([{"text": "x"}]).field


@pytest.mark.parametrize(("blocks", "got"), [(None, "null"), ("text", "a string"), ({}, "a map"), ((), "tuple")])
def test_content_that_is_not_a_list(blocks: Any, got: str) -> None:
    """A value that is not a list of blocks is refused, and the error names its type."""
    error = fault(blocks)

    assert "blocks" == error.field
    assert error.reason.endswith(f"got {got}")


def test_content_without_a_block() -> None:
    """A message has at least one block, and the error says that an empty text is one."""
    assert "an empty text is one" in fault([]).reason


@pytest.mark.parametrize("block", [None, "text", ["text"], 5])
def test_a_block_that_is_no_map(block: Any) -> None:
    """The path names which of several blocks is wrong."""
    error = fault([MINIMAL["text"], block])

    assert "blocks[1]" == error.field
    assert kind_of(block) in error.reason


@pytest.mark.parametrize(("name", "field"), NEEDED)
def test_a_missing_field(name: str, field: str) -> None:
    """The error names each required field that is missing."""
    error = fault(
        [{key: value for key, value in MINIMAL[name].items() if key != field}], HOLDER_OF.get(name, "assistant")
    )

    assert (f"blocks[0].{field}", "is missing") == (error.field, error.reason)


@pytest.mark.parametrize(
    ("name", "field"), [*REQUIRED, *((name, field) for name, more in OPTIONAL.items() for field in more)]
)
def test_a_field_of_another_type(name: str, field: str) -> None:
    """The error names each field whose value has the wrong type."""
    for value in WRONG:
        if (field, type(value)) in (("is_error", bool), ("content", list)):
            continue
        error = fault_of(name, **{field: value})

        assert f"blocks[0].{field}" == error.field, value
        assert error.reason.endswith(f"got {kind_of(value)}"), value


@pytest.mark.parametrize(("name", "field"), [(name, field) for name, more in OPTIONAL.items() for field in more])
def test_an_optional_field(name: str, field: str) -> None:
    """An optional field may have its value, and null counts as absent."""
    accept(name, **{field: OPTIONAL[name][field]})
    accept(name, **{field: None})


@every_type
def test_an_unknown_field(name: str) -> None:
    """An unknown field is refused, and the error names the place for such data."""
    error = fault_of(name, cache_control={})

    assert "blocks[0].cache_control" == error.field
    assert error.reason.endswith(", provider_metadata")


@every_type
def test_metadata_stands_in_every_block(name: str) -> None:
    """Any block may carry data for its provider, up to ten levels deep."""
    metadata: dict[str, Any] = {"cache_control": {"type": "ephemeral"}, "n": [1, 2.5, None, True]}

    accept(name, provider_metadata=metadata)


@every_type
def test_metadata_that_is_null(name: str) -> None:
    """Null metadata counts as absent, as with any optional field."""
    accept(name, provider_metadata=None)


@pytest.mark.parametrize("said", [{}, {"is_error": None}, {"is_error": False}, {"is_error": True}])
def test_a_result_need_not_say_whether_it_failed(said: dict[str, Any]) -> None:
    """Whether a result is an error may be left out, or null."""
    check_blocks([{"type": "tool_result", "tool_call_id": "c1", "content": "x", **said}], "tool", "blocks")


@pytest.mark.parametrize(
    ("metadata", "reason"),
    [
        ("text", "expected a map, got a string"),
        ({"n": float("nan")}, "not finite"),
        ({"n": b"raw"}, "base64"),
        ({1: "n"}, "the key 1"),
        ({"a": [[[[[[[[[[1]]]]]]]]]]}, "nested too deep"),
    ],
)
def test_metadata_is_plain(metadata: Any, reason: str) -> None:
    """Metadata that some clients cannot read is refused, and the error says so."""
    for name in MINIMAL:
        error = fault_of(name, provider_metadata=metadata)

        assert "blocks[0].provider_metadata" == error.field, name
        assert reason in error.reason, name


@pytest.mark.parametrize(("name", "field"), WORDS)
@pytest.mark.parametrize("character", ["\x00", "\ud800"])
def test_nothing_is_mended_in_a_word(name: str, field: str, character: str) -> None:
    """A text that programs interpret is refused, not changed, if some wire cannot carry it."""
    error = fault_of(name, **{field: f"x{character}"})

    assert f"blocks[0].{field}" == error.field
    assert "NUL and lone surrogates" in error.reason


@pytest.mark.parametrize(
    ("name", "field"),
    [("text", "text"), ("thinking", "text"), ("tool_call", "arguments"), ("tool_result", "content"), ("media", "name")],
)
def test_free_text_is_for_others_to_mend(name: str, field: str) -> None:
    """Free text is accepted with any characters: it is cleaned on its way in."""
    accept(name, **{field: "\x00\ud800"})


@pytest.mark.parametrize(("name", "field"), NAMES)
@pytest.mark.parametrize("length", [0, 1025])
def test_a_name_of_no_good_length(name: str, field: str, length: int) -> None:
    """A tool's name and a call's id have 1 to 1,024 characters."""
    error = fault_of(name, **{field: "x" * length})

    assert f"blocks[0].{field}" == error.field
    assert "1 to 1024 characters" in error.reason


@pytest.mark.parametrize(("name", "field"), NAMES)
@pytest.mark.parametrize("length", [1, 1024])
def test_a_name_at_its_limit(name: str, field: str, length: int) -> None:
    """Both limits are inclusive, and count characters, not bytes."""
    accept(name, **{field: "é" * length})


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1, max_size=1024))
def test_any_clean_text_is_a_name(name: str) -> None:
    """We do not restrict which characters a provider uses in an id or a name."""
    assert check_name(name) is None


@pytest.mark.parametrize(
    "source",
    [
        {"url": "u"},
        {"data_base64": "AA=="},
        {"url": "u", "data_base64": None},
        {"url": None, "data_base64": "AA=="},
    ],
)
def test_media_with_one_source(source: dict[str, Any]) -> None:
    """Media is either in the block or at an address, and null stands for neither."""
    check_blocks([{"type": "media", "mime_type": "image/png", **source}], "user", "blocks")


@pytest.mark.parametrize(
    "source",
    [{}, {"url": None, "data_base64": None}, {"url": "u", "data_base64": "AA=="}, {"url": "", "data_base64": ""}],
)
def test_media_with_no_or_two_sources(source: dict[str, Any]) -> None:
    """Media with both sources, or with neither, is refused as a whole."""
    error = fault([{"type": "media", "mime_type": "image/png", **source}], "user")

    assert "blocks[0]" == error.field
    assert "either data_base64 or url" in error.reason


@pytest.mark.parametrize("name", ["text", "media", "opaque"])
def test_a_result_of_blocks(name: str) -> None:
    """The content of a result may be a list of texts, media and opaque blocks."""
    accept("tool_result", content=[MINIMAL["text"], MINIMAL[name]])


@pytest.mark.parametrize(
    ("content", "field"),
    [
        (None, "blocks[0].content"),
        ([], "blocks[0].content"),
        ([MINIMAL["text"], "text"], "blocks[0].content[1]"),
        ([MINIMAL["tool_call"]], "blocks[0].content[0].type"),
        ([MINIMAL["tool_result"]], "blocks[0].content[0].type"),
        ([{"type": "text", "text": None}], "blocks[0].content[0].text"),
    ],
)
def test_a_result_with_other_content(content: Any, field: str) -> None:
    """The path of an error leads into a result's blocks."""
    assert fault_of("tool_result", content=content).field == field


@pytest.mark.parametrize("content", [None, "x"])
def test_only_a_result_has_content(content: Any) -> None:
    """Only a result has content; in another block it is an unknown field."""
    assert "blocks[0].content" == fault_of("text", content=content).field


@pytest.mark.parametrize(
    "text", ["{}", "[]", "null", '"NaN"', "5", "1e999", ' {"a": [1, 2]} ', '{"a":"\\u0000"}', "[" * 500 + "]" * 500]
)
def test_json_is_any_json(text: str) -> None:
    """A provider's block is kept as JSON text, whatever it is made of."""
    assert check_json(text) is None


@pytest.mark.parametrize("text", ["", "{", "{'a': 1}", "undefined", "{} {}", "\ufeff{}"])
def test_an_opaque_block_that_is_not_json(text: str) -> None:
    """A text that is not JSON is refused before it is stored."""
    problem = check_json(text)

    assert problem is not None
    assert problem.startswith("not JSON: ")


@pytest.mark.parametrize("constant", ["NaN", "Infinity", "-Infinity"])
@pytest.mark.parametrize("around", ["{}", "[1, {}]", '{{"a": [{}]}}'])
def test_an_opaque_block_with_nan_or_infinity(constant: str, around: str) -> None:
    """JSON that only some parsers accept is refused, since another client could not read it."""
    assert f"not JSON: {constant} is not a number in JSON" == check_json(around.format(constant))


@pytest.mark.parametrize("text", ["[" * 100_000, "[" * 100_000 + "]" * 100_000, '{"a":' * 100_000], ids=len)
def test_json_that_is_too_deep(text: str) -> None:
    """Nesting deeper than the parser's limit is refused like any other error, whether it is closed or not."""
    assert "nested too deep to be parsed" == check_json(text)
    assert "blocks[0].data_json" == fault_of("opaque", data_json=text).field


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, "null"),
        (True, "a boolean"),
        (5, "an integer"),
        (5.0, "a number"),
        ("", "a string"),
        ([], "a list"),
        ({}, "a map"),
        (b"", "bytes"),
        ((), "tuple"),
    ],
)
def test_types_have_the_wires_names(value: Any, expected: str) -> None:
    """Errors speak of maps and nulls, since a user may not know Python."""
    assert expected == kind_of(value)


def test_what_a_fault_says() -> None:
    """An error has the field and the reason apart, and prints both."""
    error = InvalidRecord("data_json.name", "is missing")

    assert ("data_json.name", "is missing", "data_json.name: is missing") == (error.field, error.reason, str(error))
    assert isinstance(error, ValueError)
