"""What an import keeps whole, because a reader refuses it."""

from reel.providers.refusals import Refusals


def test_what_was_refused_since_the_last_look() -> None:
    """The types of what was refused are told once."""
    refusals = Refusals("anthropic")
    for found in ({"type": "text"}, {"type": "text"}, {"type": "image", "source": 1}):
        refusals.keep(found)

    assert [["image", "text", "text"], []] == [sorted(refusals.taken()), refusals.taken()]

    refusals.keep({"type": "thinking"})
    assert ["thinking"] == refusals.taken()
