"""Ids are uuid7 in 32 hex digits, and names never have that form."""

import time
from uuid import RFC_4122, UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reel.base.ids import is_id, is_name, new_id


def test_a_new_id_is_a_uuid7() -> None:
    """The standard library reads an id as a UUID of version 7."""
    read = UUID(hex=new_id())

    assert 7 == read.version
    assert read.variant == RFC_4122


def test_a_new_id_has_its_own_form() -> None:
    """A new id has the form of an id."""
    assert is_id(new_id())


def test_the_time_comes_first() -> None:
    """The first 48 bits are the milliseconds since the epoch, so that ids sort by creation time."""
    before = time.time_ns() // 1_000_000
    made = int(new_id()[:12], 16)
    after = time.time_ns() // 1_000_000

    assert [before, made, after] == sorted([before, made, after])


def test_all_the_rest_is_chance() -> None:
    """All 74 bits besides time, version and variant are random."""
    ids = [int(new_id(), 16) for _ in range(256)]
    ever, always = 0, -1
    for made in ids:
        ever |= made
        always &= made

    free = (0xFFF << 64) | ((1 << 62) - 1)
    assert free == (ever & ~always) & ((1 << 80) - 1)


def test_ids_made_at_once_differ() -> None:
    """Many ids of the same instant are all different."""
    assert 10_000 == len({new_id() for _ in range(10_000)})


@pytest.mark.parametrize("text", ["0" * 32, "f" * 32, "F" * 32, "0123456789abcdef" * 2, "0123456789aBcDeF" * 2])
def test_the_form_of_an_id(text: str) -> None:
    """Any 32 hex digits have the form, in either case: no name looks like an id."""
    assert is_id(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "demo",
        "0" * 31,
        "0" * 33,
        "0" * 31 + "g",
        "0" * 31 + "G",
        "0" * 32 + "\n",
        "\n" + "0" * 32,
        " " + "0" * 31,
        "\u0660" * 32,
        str(UUID(int=0)),
    ],
)
def test_a_text_that_is_not_an_id(text: str) -> None:
    """A name, another length, another digit and a newline at the end do not have the form of an id."""
    assert not is_id(text)


@given(st.integers(0, 2**128 - 1))
def test_every_number_of_128_bits_is_an_id(number: int) -> None:
    """The form is the one in which the standard library shows a UUID's hex digits, or the same in upper case."""
    assert is_id(UUID(int=number).hex)
    assert is_id(UUID(int=number).hex.upper())


@pytest.mark.parametrize("text", ["a", "9", "demo", "a.b_c/d@e-f", "A" * 128, "f" * 31])
def test_what_may_be_a_name(text: str) -> None:
    """A name has 1 to 128 letters, digits and . _ / @ -, and begins with a letter or a digit."""
    assert is_name(text)


@pytest.mark.parametrize("text", ["", ".a", "-a", "a b", "é", "a\n", "A" * 129, "f" * 32])
def test_what_may_not_be_a_name(text: str) -> None:
    """Anything else is not a name, and neither is what has the form of an id."""
    assert not is_name(text)
