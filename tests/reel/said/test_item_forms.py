"""The form of an item has what its messages do not say."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reel.base.strict_json import encode, parse
from reel.base.values import Numeral
from reel.said.item_forms import canonical, check_of, form_of, item_from, item_json_from, texts_of
from tests.reeld.formats.histories import Json, text, user

WORDS = "some words"
LONG = "A" * 100
ARGUMENTS = '{"b": 1.0, "a": []}'
TEXTS = [WORDS, LONG, ARGUMENTS, "[broken", "@ sign first"]
STRINGS = st.sampled_from([*TEXTS, "@0", "@@", "@", "@9", "@0j", "@1+x", f"data:,{LONG}", f"x{LONG}", "\ud800", ""])
LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | STRINGS
ITEMS = st.recursive(
    LEAVES | st.just(Numeral("1e400")) | st.just({"a": [], "b": 1.0}),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(STRINGS.filter(str.isascii), inside, max_size=3),
    max_leaves=8,
)


@given(item=ITEMS)
def test_every_item_is_what_its_form_says(item: Any) -> None:
    """An item is made again from its form and the texts, whatever is in it."""
    assert canonical(item_from(form_of(item, TEXTS), TEXTS)) == canonical(item)


@given(item=ITEMS, ascii_only=st.booleans())
def test_the_json_of_an_item_comes_from_that_of_its_form(item: Any, ascii_only: bool) -> None:
    """The JSON of an item is made of that of its form and the texts as the item would be."""
    form = form_of(item, TEXTS)
    made = item_json_from(encode(form, ascii_only=ascii_only), TEXTS, ascii_only=ascii_only)
    assert encode(item_from(form, TEXTS), ascii_only=ascii_only) == made


@pytest.mark.parametrize(
    ("value", "form"),
    [
        (WORDS, "@0"),
        (f"data:,{LONG}", "@1+data:,"),
        (parse('{"a": [], "b": 1.0}'), "@2j"),
        ({"a": [], "b": 1}, {"a": [], "b": 1}),
        ("@ sign", "@@ sign"),
        ("short", "short"),
        (f"data:{'B' * 40}{'A' * 40}", f"data:{'B' * 40}{'A' * 40}"),
        (f"words {LONG}", f"words {LONG}"),
    ],
)
def test_a_text_that_is_there_already_is_referred_to(value: Any, form: Any) -> None:
    """A text, the end of a text and a value are kept as references if they are longer than these."""
    assert {"x": form} == form_of({"x": value}, TEXTS)


def test_a_value_deep_inside_is_kept_as_it_is() -> None:
    """JSON in a text is looked for near the top of an item only."""
    value: Any = parse(ARGUMENTS)
    for _ in range(10):
        value = [value]
    assert item_from(form_of(value, TEXTS), []) == value


@pytest.mark.parametrize("form", ["@9", "@3j", "@", "@x", "@0jx", "@99999999"])
def test_a_reference_to_nothing_is_refused(form: str) -> None:
    """A form that somebody wrote by hand is not an item."""
    with pytest.raises(ValueError, match=r"refers to no text|Expecting|Invalid"):
        item_from([{"x": form}], TEXTS)
    with pytest.raises(ValueError, match=r"refers to no text|Expecting|Invalid"):
        item_json_from(encode([{"x": form}]), TEXTS)


def test_the_order_of_keys_changes_neither_texts_nor_checksum() -> None:
    """A client that does not keep the order of keys copies a message with its item."""
    one: Json = user({"type": "media", "mime_type": "image/png", "url": "https://example.org"})
    other = {"provider_metadata": {}, **one, "content": [dict(reversed(one["content"][0].items()))]}
    one["provider_metadata"] = {}
    assert texts_of([one]) == texts_of([other]) == ["image/png", "https://example.org"]
    assert check_of([one], {"a": 1}) == check_of([other], {"a": 1})


@pytest.mark.parametrize(
    "changed", [user(text("other")), user("text", name="x"), {**user("text"), "role": "assistant"}]
)
def test_the_checksum_is_of_everything_that_is_said(changed: Json) -> None:
    """A message that was changed has another checksum, but its item is no part of it."""
    changed.setdefault("provider_metadata", {})
    before = {**user("text"), "provider_metadata": {"item": {"format": "gemini"}}}
    assert check_of([before], 1) == check_of([{**before, "provider_metadata": {}}], 1)
    assert check_of([before], 1) != check_of([changed], 1)
    assert check_of([before], 1) != check_of([before], 2)
