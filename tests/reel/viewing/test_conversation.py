"""The page of a conversation, from values."""

from reel.exporting.story import Said
from reel.viewing.conversation import Piece, body, draft, head, new_articles, pieces_of, shortened
from reel.wire.pushes import DraftPush
from tests.reel.exporting.conversation import message, said
from tests.reel.viewing.test_html import ID, info

CALL = {"type": "tool_call", "id": "c1", "name": "look", "arguments": "{}"}
RESULT = {"type": "tool_result", "tool_call_id": "c1", "content": "a deck", "is_error": False}


def whole(part: object) -> str:
    """Return a part, in other words all of its texts."""
    return repr(part)


def test_what_is_short_stays_as_it_is() -> None:
    """Only texts that would slow down a browser are cut."""
    part = Said(message(2, "x" * 100_000), is_live=True)

    assert part == shortened(part)


def test_the_end_that_is_cut_off() -> None:
    """A text of a call, and of a result in a result, is cut, and its length is said."""
    call = {**CALL, "arguments": "y" * 100_003}
    result = {**RESULT, "content": [{"type": "text", "text": "z" * 100_004}]}
    shown = whole(shortened(Said(said(7, "assistant", call, result), is_live=True)))

    assert f"{'y' * 100_000}\\n… 3 more characters: reel show prints #7 whole" in shown
    assert f"{'z' * 100_000}\\n… 4 more characters: reel show prints #7 whole" in shown


def test_a_result_whose_call_is_before_the_piece() -> None:
    """It says which tool it is of: what stands before the piece is read for that, and not shown."""
    before = [Said(said(2, "assistant", CALL), is_live=True)]
    shown = "".join(Piece(3, 3, [*before], [Said(said(3, "tool", RESULT), is_live=True)]).html(9))

    assert shown.startswith('<div class="piece" data-first="3" data-last="3" data-head="9">\n')
    assert "look" in shown
    assert 'id="m3"' in shown
    assert 'id="m2"' not in shown


def test_what_comes_later_knows_what_came_before() -> None:
    """The pieces that are appended to an open page are laid out as one conversation."""
    articles = new_articles()
    call = pieces_of([Said(said(2, "assistant", CALL), is_live=True)], articles)
    result = pieces_of([Said(said(3, "tool", RESULT), is_live=True)], articles)

    assert 'id="m2"' in call
    assert "look" in result


def test_the_head_of_a_conversation() -> None:
    """The name stands beside the title, and whether it was killed; without a title the name is the title."""
    titled = "".join(head("/conversation", info("x")._replace(name="demo", title="Tapes", alive=False), None, None))
    plain = "".join(head("/conversation", info("x")._replace(name="demo", title=None), None, None))

    assert "<h1>Tapes</h1>" in titled
    assert all(fact in titled for fact in ("demo", "killed"))
    assert "<h1>demo</h1>" in plain
    assert "killed" not in plain
    assert "The conversation as it was" not in plain


def test_the_head_of_an_earlier_moment() -> None:
    """It says which moment is shown, and leads to the present one and to what differs."""
    shown = "".join(head("/branches", info("x")._replace(name="a&b"), 3, "Be brief."))

    assert "The conversation as it was at #3." in shown
    assert f'<a href="/branches?agent={ID}">as it is now</a>' in shown
    assert f'<a href="/differences?one=a%26b%403&amp;other=a%26b&amp;agent={ID}">what differs</a>' in shown
    assert "Be brief." in shown


def test_both_ends_of_what_is_loaded() -> None:
    """An end that is the conversation's own offers nothing to load."""

    def hidden(first: int, last: int) -> tuple[bool, bool]:
        shown = "".join(body(Piece(first, last, [], []), 9))
        return 'id="older" class="note" hidden' in shown, 'id="newer" class="note" hidden' in shown

    assert (True, True) == hidden(1, 9)
    assert (False, True) == hidden(2, 9)
    assert (True, False) == hidden(1, 8)


def test_drafts() -> None:
    """A draft says who writes, as rich text; a very long one is laid out as plain text, again and again."""
    named = draft(DraftPush(ID, 1, "so **far**", "vim"))
    long = draft(DraftPush(ID, 1, "**" + "x" * 20_000))

    assert "vim is writing" in named
    assert "so <strong>far</strong>" in named
    assert "Somebody is writing" in long
    assert f'<div class="plain">**{"x" * 20_000}</div>' in long
