"""Items in a client's own format come back as they were, and are readable as the messages that came with them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reel.base.errors import InvalidMessage, InvalidParams
from reel.base.strict_json import parse
from reel.said.item_forms import ITEM, canonical
from reeld.core.item_forms import is_own
from reeld.formats.items.own import own_rows
from reeld.formats.items.rows import _shown
from reeld.formats.items.writing import is_alone, write_items

MINE = "x-mine"

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=40)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(TEXTS, inside, max_size=3),
)


@given(
    st.lists(st.tuples(st.dictionaries(TEXTS, VALUES, max_size=4), st.lists(TEXTS, min_size=1, max_size=3)), max_size=4)
)
def test_any_item_comes_back(given: list[tuple[dict[str, Any], list[str]]]) -> None:
    """Whatever an item has, and whether or not its messages say it, it is deeply equal to what was added."""
    items = [{**item, "said": said} for item, said in given]
    said = [[{"role": "user", "content": text} for text in texts] for _, texts in given]
    rows = own_rows(MINE, items, said).rows
    written = list(write_items(MINE, [{**_shown(row), "seq": seq} for seq, row in enumerate(rows)], {}))

    assert list(map(canonical, items)) == [canonical(parse(item)) for found in written for item in found.items or ()]
    assert len(items) == len(written)


def test_the_texts_of_messages_are_stored_once() -> None:
    """What messages say is not in the form of their item again."""
    words = "words " * 1000
    item = {"deep": [{"words": words}]}
    (checked,) = own_rows(MINE, [item], [[{"role": "user", "content": words}]]).rows

    assert len(checked.row.data_json or "") < 200


def test_no_format_of_the_daemon_is_ones_own() -> None:
    """The names of formats and those of one's own differ by how they begin."""
    assert not any(map(is_own, ["openai-chat", "x", "X-mine", "x--", "x-a b", "x-" + "a" * 63]))
    assert is_own("x-pydantic-ai")


def test_a_message_of_somebody_else_is_left_to_the_client() -> None:
    """Only the client of a format can convert a message that was not added in it."""
    message = {"role": "user", "content": [{"type": "text", "text": "hi"}], "provider_metadata": {}, "seq": 7}

    assert [(message, None)] == [*write_items(MINE, [message], {})]


REFUSED: list[tuple[Any, str]] = [
    ([], "messages: expected for each of 1 items the list of its messages, got a list of 0"),
    ("hi", "messages: expected for each of 1 items the list of its messages, got a string"),
    ([[]], "messages[0]: expected a list of at least one message, got an empty one"),
    (["hi"], "messages[0]: expected a list of at least one message, got a string"),
    ([[{"role": "bard"}]], "messages[0][0].role: "),
    ([[{"role": "system", "content": "Be kind."}]], "messages[0][0].role: expected one of user, "),
    ([[{"role": "user", "content": "hi", "ref": "a"}]], "messages[0][0]: sent and ref are those of the"),
]


@pytest.mark.parametrize(("messages", "why"), REFUSED)
def test_messages_that_are_refused(messages: Any, why: str) -> None:
    """The error has the place of the item."""
    with pytest.raises((InvalidMessage, InvalidParams)) as refused:
        own_rows(MINE, [{}], messages)

    assert refused.value.message.startswith(why)


@pytest.mark.parametrize(
    ("kept", "expected"), [(None, True), ("x", True), ({"of": 1}, True), ({"of": 2}, False), ({"part": 1}, False)]
)
def test_a_message_that_is_an_item(kept: Any, expected: bool) -> None:
    """A message is an item by itself unless others belong to it, or it to others."""
    assert expected is is_alone({"provider_metadata": {ITEM: kept}})
