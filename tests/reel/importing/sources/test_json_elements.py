"""Reading a large JSON array element by element."""

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reel.importing.sources.json_elements import Elements


def parsed(data: bytes, limit: int = 1 << 20) -> list[Any]:
    """Return the elements that are objects with the key ``title``; of others an ellipsis."""
    elements = Elements(io.BytesIO(data), ["title"], limit)
    found: list[Any] = []
    damaged = False
    while (element := elements.next(damaged=damaged)) is not None:
        assert data[element.offset :].startswith(element.data[:50])
        try:
            value = json.loads(element.data) if element.complete else ...
        except ValueError:
            value = ...
        damaged = type(value) is not dict or "title" not in value
        found.append(... if damaged else value)
    return found


_TEXTS = st.text(max_size=6)
_VALUES = st.recursive(
    st.none() | st.integers() | _TEXTS,
    lambda inside: st.lists(inside, max_size=2) | st.dictionaries(_TEXTS, inside, max_size=2),
    max_leaves=5,
)
_ELEMENTS = st.lists(st.fixed_dictionaries({"title": _TEXTS, "x": _VALUES}), max_size=4)


@pytest.mark.slow
@given(_ELEMENTS, st.sampled_from([None, 2]), st.booleans())
def test_any_array(values: list[Any], indent: int | None, ascii_only: bool) -> None:
    """Whatever the elements are, they are found."""
    assert parsed(json.dumps(values, indent=indent, ensure_ascii=ascii_only).encode()) == values


def test_no_array() -> None:
    """An object that is not in an array is the only element; another value has no elements."""
    assert [{"title": "a"}] == parsed(b'\xef\xbb\xbf {"title": "a"} ')
    assert parsed(b"12") == parsed(b"") == parsed(b"[]") == []


def test_larger_than_a_chunk() -> None:
    """An element that is read in several pieces is one."""
    values = [{"title": "\\" * 600_001, "x": ["]"] * 3}] * 2

    assert parsed(json.dumps(values).encode(), 8 << 20) == values


def test_longer_than_the_limit() -> None:
    """An element that is too long is left out, and what follows is read."""
    values = [{"title": "a"}, {"title": "b", "x": "y" * 3_000_000}, {"title": "c"}]

    assert parsed(json.dumps(values).encode(), 1 << 20) == [values[0], ..., values[2]]


@pytest.mark.parametrize(
    "damage",
    [
        (b'"b"', b'"b '),
        (b"]}, {", b"]x, {"),
        (b'"b"', b"{b}"),
        (b'["k"]', b'["k"}'),
        (b"[", b"x"),
        (b'{"title": "b"', b'[ title": "b"'),
    ],
)
def test_damaged_elements(damage: tuple[bytes, bytes]) -> None:
    """An element whose quotes or brackets are damaged takes no other one with it."""
    values = [{"title": "a"}, {"title": "b", "x": ["k"]}, {"title": "c"}, {"title": "d"}]

    found = parsed(json.dumps(values).encode().replace(*damage, 1))

    assert [value for value in values if value in found][-2:] == values[-2:]
    assert values[0] in found


def test_hopeless_damage() -> None:
    """Where nothing is readable any more, the search for an element ends."""
    assert len(parsed(b'[{"title": "a"}' + b', {"title": 1}, {"title": "' * 5000, 1 << 10)) < 5000
