"""Small conversions that the readers share."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reel.base.ids import is_name
from reel.importing.values import (
    digest,
    id_in_name,
    list_in,
    map_in,
    milliseconds,
    name_of,
    origins_first,
    parse_record,
    ref_of,
    tags_of,
    text_in,
    title_of,
)

TEXTS = st.text(max_size=60)


@given(TEXTS, TEXTS)
def test_two_ids_never_become_one_name(one: str, other: str) -> None:
    """Whatever an id is, an agent can be called by it, and two ids give two names."""
    assert is_name(name_of("tool", one))
    assert (one == other) == (id_in_name(one) == id_in_name(other))


def test_names() -> None:
    """An id that can stand in a name does; another one is changed, and its hash says which it was."""
    assert "tool/a-1/b.2" == name_of("tool", "a-1", "b.2")
    assert f"tool/a-b-{digest('a/b')}" == name_of("tool", "a/b")
    assert f"tool/id-{digest('')}" == name_of("tool", "")
    assert f"{'x' * 31}-{digest('x' * 49)}" == id_in_name("x" * 49)


@pytest.mark.parametrize(
    ("expected", "given"),
    [
        (1_785_578_400_000, "2026-08-01T10:00:00Z"),
        (1_785_578_400_000, "2026-08-01T10:00:00"),
        (1_785_578_400_250, "2026-08-01T12:00:00.25+02:00"),
        (0, "1960-01-01T00:00:00Z"),
        (1_785_578_400_000, 1_785_578_400),
        (1_785_578_400_500, 1_785_578_400.5),
        (1_785_578_400_000, 1_785_578_400_000),
        (None, "yesterday"),
        (None, ""),
        (None, -1),
        (None, 10**18),
        (None, float("nan")),
        (None, True),
        (None, None),
    ],
)
def test_times(expected: int | None, given: object) -> None:
    """ISO 8601, in UTC if it names no zone, and numbers of seconds or milliseconds; anything else is unknown."""
    assert expected == milliseconds(given)


def test_fields_of_a_record() -> None:
    """A field of another type is as one that is missing, also in what is no map at all."""
    record = {"text": "a", "map": {"b": 1}, "list": [1]}

    assert ["a", "", "", ""] == [text_in(record, key) for key in ("text", "map", "x")] + [text_in([], "text")]
    assert [{"b": 1}, {}, {}] == [map_in(record, "map"), map_in(record, "list"), map_in(None, "map")]
    assert [[1], [], []] == [list_in(record, "list"), list_in(record, "text"), list_in("list", "list")]


@pytest.mark.parametrize(
    ("expected", "line"),
    [
        ({"a": 1}, b'{"a": 1}'),
        (None, b"[1]"),
        (None, b"7"),
        ({"a": "\ufffd"}, b'{"a": "\xff"}'),
        ({"a": "x\ufffdy"}, b'{"a": "x\\ud800y"}'),
        ({"a": "xy"}, b'{"a": "x\\u0000y"}'),
    ],
)
def test_lines(expected: object, line: bytes) -> None:
    """An object is a record, without what no message may have; no other value is."""
    found = parse_record(line)

    assert expected == found or (found is not None and "\x00" not in found["a"] and "y" in found["a"])


@pytest.mark.parametrize("line", [b"{", b"", b"{} {}", b"[" * 100_000])
def test_a_line_that_is_not_json(line: bytes) -> None:
    """It raises what the reader of the file reports."""
    with pytest.raises((ValueError, RecursionError)):
        parse_record(line)


def test_a_record_without_an_id() -> None:
    """It has one of its content, so that it is known again."""
    assert ref_of({"a": 1}) == ref_of({"a": 1}) != ref_of({"a": 2})
    assert ref_of({"a": 1}).startswith("record-")


def test_tags_and_titles() -> None:
    """What is unknown is left out, what is too long is cut, and a title is one line."""
    assert {"cwd": "/a"} == tags_of(cwd="/a", branch="")
    assert {"cwd": "x" * 1024, "odd": "a\ufffd"} == tags_of(cwd="x" * 2000, odd="a\0\udcff")
    assert "a b c" == title_of("  a\nb\t\0c ")
    assert 200 == len(title_of("x" * 5000))


@pytest.mark.parametrize(
    ("expected", "origins"),
    [
        (["a", "b", "c"], {"c": "b", "b": "a", "a": ""}),
        (["b", "a", "c"], {"b": "", "a": "gone", "c": "b"}),
        (["b", "a"], {"a": "b", "b": "a"}),
        (["a"], {"a": "a"}),
        ([], {}),
    ],
)
def test_origins_come_first(expected: list[str], origins: dict[str, str]) -> None:
    """A fork comes after its origin, and otherwise the order stays; a circle ends somewhere."""
    assert expected == origins_first(origins)


def test_a_title_is_not_cut_inside_a_key() -> None:
    """The part of a key that would be left is neither masked nor found later: a title ends before it."""
    key = "ghp_aB3dE5fG7hJ9kL2mN4pQ6rS8tU1vW3xY5zA7"
    words = "word " * 38

    assert words.strip() == title_of(f"{words}{key} and more")
    assert f"{words}more words" == title_of(f"{words}more words, and {key}")
    assert f"{key} {words}".strip()[:200].strip() == title_of(f"{key} {words}{words}")
