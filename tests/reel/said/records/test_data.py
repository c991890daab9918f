"""The JSON of a row must be an object of at most ten levels, and is cleaned of characters that no text may contain."""

import json
from itertools import product
from typing import Any

import pytest

from reel.said.records import parse_data, read_row
from tests.reel.said.records.rows import ONE, ROWS, content_of, fault, rows, short


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
def test_data_that_is_no_object(data_json: Any, reason: str) -> None:
    """Data is refused if it is not JSON, not an object, or has values that some clients cannot read."""
    for kind, content in ROWS:
        error = fault(kind, content, data_json)

        assert "data_json" == error.field, kind
        assert reason in error.reason, kind


@rows
@pytest.mark.parametrize("levels", [11, 200, 900, 5_000, 100_000])
def test_data_that_is_too_deep(kind: str, content: str | None, levels: int) -> None:
    """Data over ten levels is refused, however deep it is."""
    inner = levels - 1
    for innermost, (opening, closing) in product(["1", '"\\u0000"'], [("[", "]"), ('{"a":', "}")]):
        error = fault(kind, content, '{"a":' + opening * inner + innermost + closing * inner + "}")

        assert "data_json" == error.field, (opening, innermost)
        assert "deep" in error.reason, (opening, innermost)


@pytest.mark.parametrize("opening", ["[", '{"a":', '{"\\u0000":'])
def test_data_that_opens_and_never_closes(opening: str) -> None:
    """Unclosed brackets are refused like any other data that is too deep."""
    assert "data_json" == fault("user", "hi", opening * 100_000).field


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
        assert {"a": [expected]} == parse_data(f'{{"a": ["{escaped}"]}}')

    def test_an_escaped_nul_in_a_key(self, escaped: str, expected: str) -> None:
        """A key is cleaned as well, at every level."""
        assert {"a": {expected: 1}} == parse_data(f'{{"a": {{"{escaped}": 1}}}}')

    def test_an_escaped_nul_in_a_block(self, escaped: str, expected: str) -> None:
        """A text in a message of several blocks is cleaned."""
        parts = read_row("user", "hi", f'{{"blocks": [{{"type": "text", "text": "{escaped}"}}]}}')

        assert ("user", [{"type": "text", "text": expected}], {}) == parts

    def test_an_escaped_nul_in_a_tool_row(self, escaped: str, expected: str) -> None:
        """A tool's output is cleaned, and so is the id of its call."""
        parts = read_row("tool", None, f'{{"tool_call_id": "{escaped}", "output": "{escaped}", "success": true}}')

        block = {"type": "tool_result", "tool_call_id": expected, "content": expected, "is_error": False}
        assert ("tool", [block], {}) == parts


def test_the_last_of_two_equal_keys_wins() -> None:
    """A repeated key has its last value."""
    assert {"a": 2} == parse_data('{"a": 1, "a": 2}')
