"""What is kept of renderings has a bound, and one user at a time."""

import pytest

from reeld.formats.render_state import RenderState
from reeld.serving.render_cache import RenderCache


def kept(size: int) -> RenderState:
    """Something of a size."""
    found = RenderState("gemini", None, 0)
    found.turns.data = bytearray(size)
    return found


def test_what_is_taken_is_not_there_any_more() -> None:
    """Two renderings at once do not share it: rendering changes it in place."""
    render_cache, thing = RenderCache(), kept(10)
    render_cache.put((1, "gemini"), thing)

    assert [None, None, thing, None] == [
        render_cache.pop(place) for place in ((1, "anthropic"), (2, "gemini"), (1, "gemini"), (1, "gemini"))
    ]
    assert 0 == render_cache.size


def test_what_was_not_used_for_longest_goes_first() -> None:
    """The bound is in bytes; what is put back counts as used, with the size that it has then."""
    render_cache, first, second = RenderCache(100), kept(40), kept(40)
    render_cache.put((1, "gemini"), first)
    render_cache.put((2, "gemini"), second)
    again = render_cache.pop((1, "gemini"))
    assert again is first
    again.turns.data += bytes(10)
    render_cache.put((1, "gemini"), again)
    render_cache.put((3, "gemini"), kept(20))

    assert (None, 70) == (render_cache.pop((2, "gemini")), render_cache.size)
    assert first is render_cache.pop((1, "gemini"))


def test_what_is_larger_than_the_shelf_is_not_kept() -> None:
    """It is rendered anew each time."""
    render_cache = RenderCache(100)
    render_cache.put((1, "gemini"), kept(50))
    render_cache.put((2, "gemini"), kept(101))

    assert 0 == render_cache.size


def test_a_place_has_one_thing() -> None:
    """Of two renderings at once the one that ends last is kept."""
    render_cache, last = RenderCache(), kept(20)
    render_cache.put((1, "gemini"), kept(10))
    render_cache.put((1, "gemini"), last)

    assert (20, last) == (render_cache.size, render_cache.pop((1, "gemini")))


async def test_work_is_done_and_its_errors_come_back() -> None:
    """What is done aside gives what it gives, or raises."""

    def fail() -> None:
        raise ValueError("no")

    render_cache = RenderCache()

    assert 3 == await render_cache.run_in_thread(lambda: 3)
    with pytest.raises(ValueError, match=r"^no$"):
        await render_cache.run_in_thread(fail)
