"""Pages of messages."""

from hypothesis import given
from hypothesis import strategies as st

from reel.mcp.answers.answer import size
from reel.mcp.answers.page import Page
from reel.mcp.answers.rendering import Look, Piece, Rendering


def said(seq: int, length: int, *, may_shorten: bool = False) -> Rendering:
    """Return a message with a text of a length."""
    return Rendering(seq, [Piece(f"#{seq} user"), Piece("\n" + "ö" * length, may_shorten)], Look(str))


LENGTHS = st.lists(st.integers(0, 3000), max_size=8)


@given(LENGTHS, LENGTHS, st.none() | st.integers(0, 9000), st.integers(500, 9000))
def test_a_page_fits(before: list[int], after: list[int], target: int | None, room: int) -> None:
    """Whatever is taken, on either side of the message that was asked for, the page has no more than its room."""
    page = Page(room)
    if target is not None:
        page.take_target(said(100, target))
    for number, length in enumerate(before):
        page.take(said(99 - number, length, may_shorten=True), first=True)
    for number, length in enumerate(after):
        page.take(said(101 + number, length))

    assert size(page.text) <= room


def test_the_first_message_always_has_room() -> None:
    """A page has at least one message, so that who reads page after page gets to the end."""
    page = Page(500)

    assert page.take(said(1, 100_000))
    assert not page.take(said(2, 1000))
    assert (1, 1) == page.seqs


def test_order() -> None:
    """What is taken in front stands in front."""
    page = Page(1000)
    for seq in (3, 2):
        page.take(said(seq, 1), first=True)
    page.take(said(4, 1))

    assert "#2 user\nö\n\n#3 user\nö\n\n#4 user\nö" == page.text
    assert (2, 4) == page.seqs


def test_an_empty_page() -> None:
    """A page without a message says so."""
    assert (None, "") == (Page(500).seqs, Page(500).text)
