"""What is remembered of renderings is bounded, and each rendering has one user at a time."""

import pytest

from reeld.core.conversation import Conversation
from reeld.core.recent import Recent
from reeld.formats.encoded_turns import Chunks
from reeld.formats.model import HistorySettings
from reeld.formats.render_state import RenderState
from reeld.serving.renderings import Asked, RenderCache, UnansweredRenderings

KEY = 1, "gemini"


def kept(size: int) -> RenderState:
    """Return a rendering of a size."""
    rendering = RenderState("gemini", None, HistorySettings(), Recent([]))
    rendering.turns.data = Chunks(bytes(size))
    return rendering


def test_a_popped_rendering_is_not_in_the_cache() -> None:
    """A popped rendering is no longer in the cache: two renders must not change it at once."""
    render_cache, rendering = RenderCache(), kept(10)
    render_cache.put((1, "gemini"), rendering, 0)

    assert render_cache.pop((1, "anthropic")) is None
    assert render_cache.pop((2, "gemini")) is None
    assert rendering is render_cache.pop((1, "gemini"))
    assert render_cache.pop((1, "gemini")) is None
    assert 0 == render_cache.size


def test_hits_and_misses() -> None:
    """What is found is counted, and what is not; to put something in is neither."""
    render_cache = RenderCache()
    render_cache.pop((1, "gemini"))
    render_cache.put((1, "gemini"), kept(10), 0)
    render_cache.put((1, "gemini"), kept(10), 0)
    render_cache.pop((1, "gemini"))

    assert (1, 1) == (render_cache.hits, render_cache.misses)


def test_the_least_recently_used_goes_first() -> None:
    """The bound is in bytes; a rendering that is put back counts as used, with its new size."""
    render_cache, first, second = RenderCache(100), kept(40), kept(40)
    render_cache.put((1, "gemini"), first, 0)
    render_cache.put((2, "gemini"), second, 0)
    again = render_cache.pop((1, "gemini"))
    assert again is first
    again.turns.data += bytes(10)
    render_cache.put((1, "gemini"), again, 0)
    render_cache.put((3, "gemini"), kept(20), 0)

    assert (None, 70) == (render_cache.pop((2, "gemini")), render_cache.size)
    assert first is render_cache.pop((1, "gemini"))


def test_what_is_larger_than_the_cache_is_not_kept() -> None:
    """A rendering above the bound is not kept, and is made again each time."""
    render_cache = RenderCache(100)
    render_cache.put((1, "gemini"), kept(50), 0)
    render_cache.put((2, "gemini"), kept(101), 0)

    assert 0 == render_cache.size


def test_an_empty_entry_is_not_kept() -> None:
    """Any number of them would fit."""
    render_cache = RenderCache()
    render_cache.put((1, "earlier"), Conversation(), 0)

    assert render_cache.take((1, "earlier")) is None


def test_the_last_rendering_of_a_key_is_kept() -> None:
    """Of two simultaneous renderings of one key the one that ends last is kept."""
    render_cache, last = RenderCache(), kept(20)
    render_cache.put((1, "gemini"), kept(10), 0)
    render_cache.put((1, "gemini"), last, 0)

    assert (20, last) == (render_cache.size, render_cache.pop((1, "gemini")))


@pytest.mark.parametrize(
    ("models", "asked"),
    [([], None), (["a"], "a"), (["a", "a"], "a"), (["a", "b"], None), (["a", None], None), ([None], None)],
)
def test_only_one_model_is_known(models: list[str | None], asked: str | None) -> None:
    """It is returned once; the next answer belongs to other renderings."""
    found = UnansweredRenderings()
    for model in models:
        found.note(KEY, Asked(model, "same"))
        found.note((2, "gemini"), Asked("other", "other"))
        found.note((1, "anthropic"), Asked("other", "other"))

    assert Asked(asked, "same" if models else None) == found.take(KEY)
    assert Asked() == found.take(KEY)


@pytest.mark.parametrize(
    ("bodies", "known"), [(["x"], "x"), (["x", "x"], "x"), (["x", "y"], None), (["x", "y", "x"], None)]
)
def test_only_one_body_is_known(bodies: list[str], known: str | None) -> None:
    """Of several it is unknown which one was answered (rule A8)."""
    found = UnansweredRenderings()
    for body in bodies:
        found.note(KEY, Asked("a", body))

    assert Asked("a", known) == found.take(KEY)


def test_the_oldest_renderings_are_forgotten() -> None:
    """A rendering that was never answered does not stay for ever."""
    found = UnansweredRenderings(room=2)
    for row in (1, 2, 1, 3):
        found.note((row, "gemini"), Asked("a"))

    assert ["a", None, "a"] == [found.take((row, "gemini")).model for row in (1, 2, 3)]
