"""Blocks of a message that a history has."""

import json

from reel.importing.sources.blocks import by_role
from reel.providers.refusals import Refusals


def test_a_block_that_its_message_may_not_have_is_kept_whole() -> None:
    """It stays in its place, and is counted."""
    picture = {"type": "media", "mime_type": "image/png", "url": "https://example.com/a.png"}
    refusals = Refusals("tool")

    ((role, (first, second, third)),) = by_role(
        [{"type": "text", "text": "a"}, picture, {"type": "text", "text": "b"}], "system", refusals
    )

    assert ("system", "a", "b") == (role, first["text"], third["text"])
    assert ("opaque", picture) == (second["type"], json.loads(second["data_json"]))
    assert ["media"] == refusals.taken()
