"""The form of an item is found in the row of its message, and taken out of it."""

from reel.base.strict_json import encode
from reeld.core.item_forms import MOST_COPIES, copies_in, later_copies_in, place_in, without_form
from reeld.core.rows import Row

FORM = {"item": {"format": "gemini", "check": "0", "form": {}}}
TEXT = {"type": "text", "text": "Hi"}


def data(**metadata: object) -> str:
    return encode({"blocks": [TEXT, TEXT], "provider_metadata": metadata})


def test_a_row_without_its_form() -> None:
    """Its blocks and all other metadata stay; a text alone is a plain row."""
    assert without_form("user", "Hi\nHi", data(**FORM, name="x")) == Row("user", "Hi\nHi", data(name="x"))
    assert without_form("user", "Hi", encode(FORM)) == Row("user", "Hi", None)


def test_a_row_that_has_no_form() -> None:
    """A plain text, a message without an item, a row that cannot be read, and a state event stay as they are."""
    rows = [("user", "Hi", None), ("user", "Hi", data(name="x")), ("user", "Hi", "{"), ("mark", None, "{}")]
    assert [None] * 4 == [without_form(*row) for row in rows]
    assert [0] * 4 == [place_in(*row) for row in rows]


def test_the_place_of_a_message_in_its_item() -> None:
    """What is no place is the first one: anybody can write metadata."""
    places = [place_in("user", "Hi", data(item=kept)) for kept in ({"part": 2}, {"part": -1}, {"part": "x"}, {}, 7)]
    assert [2, 0, 0, 0, 0] == places


def test_the_copies_of_a_message() -> None:
    """What is no seq is left out, and so is what there is too much of: anybody can write metadata."""
    kept = [{"copies": [7, 3]}, {"copies": [0, -1, True, "3", 2**63, 5]}, {"copies": 5}, {}, 7]
    assert [[7, 3], [5], [], [], []] == [copies_in("user", "Hi", data(item=each)) for each in kept]
    assert [] == copies_in("user", "Hi", None)
    assert MOST_COPIES == len(copies_in("user", "Hi", data(item={"copies": [5] * (MOST_COPIES + 1)})))


def test_of_what_a_record_is_a_copy() -> None:
    """It is said of all of a record, or of places in it; what is neither is left out: anybody can write records."""
    assert [((), [(2, 4), (7, 7)])] == later_copies_in('{"mine": {"copies_of": [[2, 4], [7, 7]]}}')
    assert [((), [(2, 4)]), ((), [(9, 9)])] == later_copies_in(
        '{"copies_of": [[2, 4]], "mine": {"copies_of": [[9, 9], [1], "3", [1, "2"], [true, 2]]}}'
    )
    places = '{"mine": {"values": {"a": "text"}, "copies_of": {"values": {"a": [[3, 3]]}, "b": [], "c": 5}}}'
    assert [(("mine", "values", "a"), [(3, 3)]), (("mine", "b"), [])] == later_copies_in(places)
    deep = '{"a":' * 20 + "[[1, 2]]" + "}" * 20
    for text in (
        None,
        "{",
        "[]",
        '{"copies_of": 5}',
        '{"mine": [{"copies_of": [[1, 2]]}]}',
        f'{{"copies_of": {deep}}}',
    ):
        assert [] == later_copies_in(text)
