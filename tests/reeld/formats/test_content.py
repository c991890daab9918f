"""Content as a text, and as parts."""

from typing import Any

import pytest

from reeld.formats.content import as_error, shortest, texts_of

WORDS = {"type": "text", "text": "Hi"}
MARKED = {**WORDS, "cache_control": {"type": "ephemeral"}}
PICTURE = {"type": "media", "mime_type": "image/png", "url": "https://x/y.png"}


@pytest.mark.parametrize(
    ("content", "parts"),
    [("", []), ("Hi", [WORDS]), ([MARKED], [MARKED]), ([WORDS, WORDS], [WORDS, WORDS]), ([PICTURE], [PICTURE])],
)
def test_the_shortest_form(content: Any, parts: list[Any]) -> None:
    """One plain text is a string, and so is nothing; whatever says more stays a list."""
    assert content == shortest(parts)


def test_the_texts_of_blocks() -> None:
    """They are lines; what is no text is not among them."""
    assert "Hi\nHi" == texts_of([WORDS, PICTURE, MARKED])


@pytest.mark.parametrize("text", ["Error: gone", "error 404", "ERRORS"])
def test_a_failure_that_says_so(text: str) -> None:
    """It is left as it is; any other begins with the word."""
    assert text == as_error(text)
    assert f"Error: no {text}" == as_error(f"no {text}")
