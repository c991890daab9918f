"""The parser accepts exactly the JSON of the RFC."""

import json
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reel.base.strict_json import DEPTH, encode, encode_each, parse, parse_answer, parse_bounded
from reel.base.values import Numeral

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)
indents = st.sampled_from([None, 0, 2, "\t"])


@pytest.mark.slow
@given(values, st.booleans(), indents)
def test_a_value_comes_back_as_it_is(value: Any, ensure_ascii: bool, indent: Any) -> None:
    """A value is read as it was written, with any layout."""
    assert value == parse(json.dumps(value, ensure_ascii=ensure_ascii, indent=indent))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("null", None),
        (" true\r\n", True),
        ("-0", 0),
        ("1E2", 100.0),
        ("9007199254740993", 9_007_199_254_740_993),
        (r'"\u00e9\n\/"', "é\n/"),
        (r'"\ud83d\ude00"', "\U0001f600"),
        (r'"\ud800\u0000"', "\ud800\x00"),
        ('{"a": 1, "a": [2]}', {"a": [2]}),
    ],
)
def test_a_json_text_is_parsed(text: str, expected: Any) -> None:
    """Any value may be at the top, with white space around it; the last of equal keys wins."""
    found = parse(text)

    assert expected == found
    assert type(expected) is type(found)


@pytest.mark.parametrize("constant", ["NaN", "Infinity", "-Infinity"])
@pytest.mark.parametrize("around", ["{}", " {} ", "[1, {}]", '{{"a": {}}}', '{{"a": [{{"b": [{}]}}]}}'])
def test_nan_and_infinity_are_not_json(constant: str, around: str) -> None:
    """NaN and infinities are refused by name, wherever they are."""
    with pytest.raises(ValueError, match=f"^{constant} is not a number in JSON$"):
        parse(around.format(constant))


@pytest.mark.parametrize("constant", ["NaN", "Infinity", "-Infinity"])
def test_nan_and_infinity_in_an_answer(constant: str) -> None:
    """A provider's NaN is a text, and the rest of its answer is strict JSON."""
    assert {"a": [constant, 1]} == parse_answer(f'{{"a": [{constant}, 1]}}')
    with pytest.raises(ValueError, match=r"."):
        parse_answer(f"[{constant},]")


@pytest.mark.parametrize("constant", ["NaN", "Infinity", "-Infinity"])
def test_a_string_may_say_anything(constant: str) -> None:
    """In quotes the same words are a text like any other, and may be a key."""
    assert {constant: [constant]} == parse(f'{{"{constant}": ["{constant}"]}}')


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "{", "}", "[1,]", '{"a": 1,}', "{'a': 1}", "{a: 1}", "{} {}", "[1 2]", "undefined", "nul", "None"),
        *("01", "+1", ".5", "5.", "0x1", "1_000", "nan", "inf", "+Infinity", "-NaN", "infinity", "Infinit"),
        *('"', '"a\x00"', '"a\n"', r'"\x41"', r'"\ud8"', "\ufeff{}", "\xa0{}", "// x\n{}"),
    ],
)
def test_a_text_that_is_not_json(text: str) -> None:
    """Extensions of other parsers are refused."""
    with pytest.raises(ValueError, match=r"."):
        parse(text)


@pytest.mark.parametrize("text", ["[" * 100_000, "[" * 100_000 + "]" * 100_000, '{"a":' * 100_000], ids=len)
def test_a_deep_text_is_refused_at_any_depth(text: str) -> None:
    """Nesting deeper than the parser's limit is refused, whether it is closed or not."""
    with pytest.raises(RecursionError):
        parse(text)


def test_what_anybody_means_is_not_too_deep() -> None:
    """Some hundred levels are read, far more than anybody needs."""
    found, levels = parse("[" * 500 + "]" * 500), 1
    while found:
        (found,) = found
        levels += 1

    assert 500 == levels


def test_as_deep_as_the_bound() -> None:
    """Brackets in a string do not count as levels, and adjacent lists do not add up."""
    deep = "[" * DEPTH + "]" * DEPTH

    assert json.loads(deep) == parse_bounded(deep)
    assert ["[{" * DEPTH + '"\\'] == parse_bounded(json.dumps(["[{" * DEPTH + '"\\']))
    assert [[]] * DEPTH == parse_bounded(json.dumps([[]] * DEPTH))


def test_deeper_than_the_bound() -> None:
    """A text over the depth limit is refused although the parser could read it."""
    with pytest.raises(RecursionError):
        parse_bounded('{"a":' * (DEPTH + 1) + "1" + "}" * (DEPTH + 1))


def test_encode_is_compact_and_not_escaped_to_ascii() -> None:
    """The text has no spaces between values and keeps every letter as it is."""
    assert '{"a":[1,"\u00fc"],"b":null}' == encode({"a": [1, "\u00fc"], "b": None})


def test_encode_refuses_a_number_that_is_not_finite() -> None:
    """Infinity has no JSON text, so it is refused."""
    with pytest.raises(ValueError, match="not JSON compliant"):
        encode({"a": float("inf")})


def test_encode_refuses_what_is_no_value_of_json() -> None:
    """The error for a Python object names its type."""
    with pytest.raises(TypeError, match="a set is not a value of JSON"):
        encode([parse("1e999"), {1}])


@pytest.mark.parametrize("ascii_only", [False, True])
@pytest.mark.parametrize("number", ["1e999", "-1E+0400", "9" * 641, "-" + "1" * 5000, "1" * 400 + ".5"])
def test_a_number_that_python_has_no_value_for(number: str, ascii_only: bool) -> None:
    """A large number is written as it was read, wherever it is; the same digits in a string stay a string."""
    text = f'{{"a":[{number},"{number}"],"b":{{"c":{number}}},"ü":1}}'
    value = parse(text)

    assert Numeral(number) == value["a"][0] == value["b"]["c"]
    assert number == str(value["a"][0])
    assert text.replace("ü", "\\u00fc") if ascii_only else text == encode(value, ascii_only=ascii_only)


def test_a_long_numeral_is_shown_in_short() -> None:
    """An error message shows at most forty digits of a number."""
    assert "9" * 40 + "…" == repr(parse("9" * 5000))
    assert "1e999" == repr(parse("1e999"))


@pytest.mark.parametrize(("size", "more"), [(1 << 16, 3), (10, 0)])
def test_a_long_text_lets_other_threads_go_on(size: int, more: int) -> None:
    """While a long text is parsed, a function is called for each object, where other threads get their turn."""
    calls = [_calls_of_parsing([{"a": "x" * size}] * count) for count in (4, 1)]

    assert more == calls[0] - calls[1]


def _calls_of_parsing(value: Any) -> int:
    text = encode(value)
    events: list[str] = []
    sys.setprofile(lambda _frame, event, _argument: events.append(event))
    try:
        parse(text)
    finally:
        sys.setprofile(None)
    return events.count("call")


@pytest.mark.parametrize("values", [[], [{"a": "ü"}, "b"], [{"a": "ü"}, {"b": parse("1e999")}]])
def test_each_of_some_values_is_encoded_with_a_comma(values: list[Any]) -> None:
    """So they are joined without a look at what they contain."""
    assert [f"{encode(value)},".encode() for value in values] == encode_each(values)
