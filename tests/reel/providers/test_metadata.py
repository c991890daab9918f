"""A provider's own keys and blocks, kept and restored."""

from typing import Any

import pytest

from reel.providers.json_values import dump, load_clean, load_sendable
from reel.providers.metadata import opaque_block, preserve_keys, restore_keys
from reel.said.blocks import check_json, check_map

MARK = {"type": "ephemeral"}
NESTED = [{"type": "url_citation", "at": {"start": 1}}]


@pytest.mark.parametrize("value", [{"b": 1, "a": [1.5, None, True]}, "ä", "\x00", [], {"\ud800": "x"}])
def test_any_value_is_dumped_to_text_that_can_be_stored(value: Any) -> None:
    """The text is JSON that the wire accepts, with the keys in their order."""
    assert check_json(dump(value)) is None


def test_a_lone_surrogate_is_dumped_as_an_escape() -> None:
    """It is read again as U+FFFD."""
    assert '"ä\\ud800"'.replace("ä", "\\u00e4") == dump("ä\ud800")
    assert "ä\ufffd" == load_clean(dump("ä\ud800"))


def test_plain_keys_are_kept_under_their_names() -> None:
    """A nested value is kept as JSON text; empty ones are left out."""
    values = {"cache_control": MARK, "annotations": NESTED, "type": "text", "index": 0, "a": None, "b": [], "c": ""}
    kept = preserve_keys("openai", values, ("type",))

    assert {"provider": "openai", "cache_control": MARK, "index": 0, "annotations_json": dump(NESTED)} == kept[
        "provider_metadata"
    ]
    assert check_map(kept["provider_metadata"]) is None


def test_half_a_character_in_a_name() -> None:
    """It is replaced, as in a value: an answer that was paid for is not refused because of it."""
    kept = preserve_keys("openai", {"\ud800": 1, "a\x00b": MARK, "b\udfff": NESTED})

    assert {"provider": "openai", "\ufffd": 1, "a\ufffdb": MARK, "b\ufffd_json": dump(NESTED)} == kept[
        "provider_metadata"
    ]


def test_a_block_without_own_keys_has_no_metadata() -> None:
    """Nothing is added to it."""
    assert {} == preserve_keys("openai", {"provider": "x", "refusal": None})


def test_kept_keys_are_restored_for_their_provider_only() -> None:
    """Only those that are asked for."""
    metadata = preserve_keys("openai", {"mark": MARK, "annotations": NESTED})["provider_metadata"]

    assert {"annotations": NESTED, "mark": MARK} == restore_keys(metadata, "openai", ("annotations", "mark", "other"))
    assert {} == restore_keys(metadata, "gemini", ("mark",))
    assert {} == restore_keys(None, "openai", ("mark",))


@pytest.mark.parametrize("text", ["{", 5, None, "[" * 100_000])
def test_metadata_that_are_no_json_are_not_restored(text: Any) -> None:
    """Anybody may write metadata; what cannot be read is left out."""
    assert load_sendable(text) is None
    assert {} == restore_keys({"provider": "openai", "item_json": text}, "openai", ("item",))


def test_an_opaque_block_has_its_model_and_metadata_if_given() -> None:
    """Otherwise it has only the provider and the object."""
    bare = {"type": "opaque", "provider": "openai", "data_json": '{"type":"x"}'}

    assert bare == opaque_block("openai", {"type": "x"})
    assert {**bare, "model": "m", "provider_metadata": {"provider": "openai", "format": "f"}} == opaque_block(
        "openai", {"type": "x"}, "m", format="f"
    )
