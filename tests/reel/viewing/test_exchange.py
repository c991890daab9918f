"""What a browser asks for, and the simple pages that answer it."""

import pytest

from reel.viewing.exchange import Request, as_seq, html_response, message_page


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", 0),
        ("12", 12),
        ("9" * 15, 10**15 - 1),
        ("9" * 16, None),
        ("", None),
        ("-1", None),
        ("1.5", None),
        (" 1", None),
        ("1_0", None),
        ("٣", None),
        ("²", None),
    ],
)
def test_seqs(text: str, expected: int | None) -> None:
    """A seq is written in at most fifteen ASCII digits; anything else is none, and nothing is raised."""
    assert expected == as_seq(text)
    assert expected == Request("GET", "/", {"at": text}, {}).number("at")


def test_a_parameter_that_is_missing() -> None:
    """It is no number."""
    assert Request("GET", "/", {"at": "1"}, {}).number("around") is None


def test_half_a_character() -> None:
    """What UTF-8 cannot express is replaced, so that the rest of the page arrives."""
    assert b"a?b" == html_response("a\ud83db").body


def test_a_message() -> None:
    """A page with one message says what happened and what to do, and no text in it is an element."""
    page = message_page("<b>", "x & y", "<meta>")

    assert "<title>&lt;b&gt;</title>" in page
    assert "<h1>&lt;b&gt;</h1>\n<p>x &amp; y</p>" in page
    assert "<meta><title>" in page
