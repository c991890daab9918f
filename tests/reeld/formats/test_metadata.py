"""A provider's own keys and blocks, kept and given back."""

from typing import Any

import pytest

from reel.blocks import check_json, check_map
from reeld.formats.json_values import dump, load_clean, load_sendable
from reeld.formats.metadata import opaque_block, preserve_keys, restore_keys

MARK = {"type": "ephemeral"}
NESTED = [{"type": "url_citation", "at": {"start": 1}}]


@pytest.mark.parametrize("value", [{"b": 1, "a": [1.5, None, True]}, "ä", "\x00", [], {"\ud800": "x"}])
def test_a_text_is_json_that_can_be_stored(value: Any) -> None:
    """Whatever a body held is a JSON text without anything that the wire refuses, its keys in their order."""
    assert check_json(dump(value)) is None


def test_a_lone_surrogate_stays_an_escape() -> None:
    """What cannot be written as UTF-8 stays as it was escaped, and reads as U+FFFD."""
    assert '"ä\\ud800"'.replace("ä", "\\u00e4") == dump("ä\ud800")
    assert "ä\ufffd" == load_clean(dump("ä\ud800"))


def test_plain_keys_keep_their_names() -> None:
    """A flat value is metadata as it is, a nested one is JSON text under its name; what says nothing is left out."""
    values = {"cache_control": MARK, "annotations": NESTED, "type": "text", "index": 0, "a": None, "b": [], "c": ""}
    kept = preserve_keys("openai", values, ("type",))

    assert {"provider": "openai", "cache_control": MARK, "index": 0, "annotations_json": dump(NESTED)} == kept[
        "provider_metadata"
    ]
    assert check_map(kept["provider_metadata"]) is None


def test_nothing_to_keep_is_nothing() -> None:
    """A block without keys of its own has no metadata."""
    assert {} == preserve_keys("openai", {"provider": "x", "refusal": None})


def test_kept_keys_go_back_to_their_provider() -> None:
    """Only what is asked for, and only to the provider that it came from."""
    metadata = preserve_keys("openai", {"mark": MARK, "annotations": NESTED})["provider_metadata"]

    assert {"annotations": NESTED, "mark": MARK} == restore_keys(metadata, "openai", ("annotations", "mark", "other"))
    assert {} == restore_keys(metadata, "gemini", ("mark",))
    assert {} == restore_keys(None, "openai", ("mark",))


@pytest.mark.parametrize("text", ["{", 5, None, "[" * 100_000])
def test_what_is_no_json_is_not_given_back(text: Any) -> None:
    """Anybody may have written metadata; what cannot be read is left out."""
    assert load_sendable(text) is None
    assert {} == restore_keys({"provider": "openai", "item_json": text}, "openai", ("item",))


def test_an_opaque_block() -> None:
    """A whole block of a provider's: its maker and its metadata only where there are any."""
    bare = {"type": "opaque", "provider": "openai", "data_json": '{"type":"x"}'}

    assert bare == opaque_block("openai", {"type": "x"})
    assert {**bare, "model": "m", "provider_metadata": {"provider": "openai", "format": "f"}} == opaque_block(
        "openai", {"type": "x"}, "m", format="f"
    )
