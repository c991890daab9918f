"""What is kept of renderings has a bound, and one user at a time."""

import pytest

from reeld.formats.render_state import RenderState
from reeld.serving.render_cache import Shelf


def kept(size: int) -> RenderState:
    """Something of a size."""
    found = RenderState("gemini", None, 0)
    found.roll.data = bytearray(size)
    return found


def test_what_is_taken_is_not_there_any_more() -> None:
    """Two renderings at once do not share it: rendering changes it in place."""
    shelf, thing = Shelf(), kept(10)
    shelf.put((1, "gemini"), thing)

    assert [None, None, thing, None] == [
        shelf.take(place) for place in ((1, "anthropic"), (2, "gemini"), (1, "gemini"), (1, "gemini"))
    ]
    assert 0 == shelf.size


def test_what_was_not_used_for_longest_goes_first() -> None:
    """The bound is in bytes; what is put back counts as used, with the size that it has then."""
    shelf, first, second = Shelf(100), kept(40), kept(40)
    shelf.put((1, "gemini"), first)
    shelf.put((2, "gemini"), second)
    again = shelf.take((1, "gemini"))
    assert again is first
    again.roll.data += bytes(10)
    shelf.put((1, "gemini"), again)
    shelf.put((3, "gemini"), kept(20))

    assert (None, 70) == (shelf.take((2, "gemini")), shelf.size)
    assert first is shelf.take((1, "gemini"))


def test_what_is_larger_than_the_shelf_is_not_kept() -> None:
    """It is rendered anew each time."""
    shelf = Shelf(100)
    shelf.put((1, "gemini"), kept(50))
    shelf.put((2, "gemini"), kept(101))

    assert 0 == shelf.size


def test_a_place_has_one_thing() -> None:
    """Of two renderings at once the one that ends last is kept."""
    shelf, last = Shelf(), kept(20)
    shelf.put((1, "gemini"), kept(10))
    shelf.put((1, "gemini"), last)

    assert (20, last) == (shelf.size, shelf.take((1, "gemini")))


async def test_work_is_done_and_its_errors_come_back() -> None:
    """What is done aside gives what it gives, or raises."""

    def fail() -> None:
        raise ValueError("no")

    shelf = Shelf()

    assert 3 == await shelf.work(lambda: 3)
    with pytest.raises(ValueError, match=r"^no$"):
        await shelf.work(fail)
