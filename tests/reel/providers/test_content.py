"""Content as a text or as parts, and media as URLs."""

from typing import Any

import pytest

from reel.providers.content import as_error, media_from, mime_of, shortest, standard_base64, texts_of, url_of
from reeld.formats.table import FORMATS
from tests.reeld.formats.histories import Json, user
from tests.reeld.formats.sending import sent

WORDS = {"type": "text", "text": "Hi"}
MARKED = {**WORDS, "cache_control": {"type": "ephemeral"}}
PICTURE = {"type": "media", "mime_type": "image/png", "url": "https://x/y.png"}


@pytest.mark.parametrize(
    ("content", "parts"),
    [("", []), ("Hi", [WORDS]), ([MARKED], [MARKED]), ([WORDS, WORDS], [WORDS, WORDS]), ([PICTURE], [PICTURE])],
)
def test_a_single_plain_text_is_a_string(content: Any, parts: list[Any]) -> None:
    """So is no part at all; anything else stays a list."""
    assert content == shortest(parts)


@pytest.mark.parametrize(
    ("data", "expected"),
    [("__79-w==", "//79+w=="), ("__79-w", "//79+w=="), ("//79+w==", "//79+w=="), ("%_", "%_"), ("A", "A")],
)
def test_bytes_in_the_alphabet_for_urls(data: str, expected: str) -> None:
    """They become standard base64; what is no base64 stays as it is."""
    assert expected == standard_base64(data)


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("gemini", {"contents": [{"parts": [{"inlineData": {"data": "__79-w==", "mimeType": "image/png"}}]}]}),
        (
            "gemini-interactions",
            {"input": [{"type": "image", "data": "__79-w==", "mime_type": "image/png"}]},
        ),
    ],
)
def test_a_picture_that_googles_sdk_wrote_goes_to_every_provider(name: str, body: Json) -> None:
    """No other API reads the alphabet for URLs."""
    found = FORMATS[name].read_request(body, None).messages

    for target in FORMATS:
        assert "//79+w==" in str(sent(target, found)[0]), target


def test_the_texts_of_blocks_are_lines() -> None:
    """Blocks that are not texts are skipped."""
    assert "Hi\nHi" == texts_of([WORDS, PICTURE, MARKED])


@pytest.mark.parametrize("text", ["Error: gone", "error 404", "ERRORS"])
def test_as_error_adds_a_prefix_once(text: str) -> None:
    """A text that already begins with "error" stays as it is."""
    assert text == as_error(text)
    assert f"Error: no {text}" == as_error(f"no {text}")


@pytest.mark.parametrize(
    ("url", "mime_type"),
    [
        ("data:image/png;base64,QUJD", "image/png"),
        ("https://example.org/a.png", "image/*"),
        ("data:text/plain,hello", "image/*"),
    ],
)
def test_the_url_of_a_media_block_is_the_given_one(url: str, mime_type: str) -> None:
    """Whatever the URL is, the block returns it."""
    block = media_from(url, "image/*")

    assert mime_type == block["mime_type"]
    assert url == url_of(block)


def test_a_data_url_becomes_bytes() -> None:
    """If it has no type, the block has the expected one."""
    assert {"type": "media", "mime_type": "image/*", "data_base64": "QUJD"} == media_from(
        "data:;charset=x;base64,QUJD", "image/*"
    )


@pytest.mark.parametrize("name", FORMATS)
def test_image_jpg_is_sent_as_image_jpeg(name: str) -> None:
    """No API accepts image/jpg, and many programs write it."""
    block = {"type": "media", "mime_type": "image/jpg", "data_base64": "AAAA"}
    body, report = sent(name, [user(block)])

    assert ("image/jpeg", "image/png") == (mime_of(block), mime_of({"mime_type": "image/png"}))
    assert "image/jpg" not in str(body)
    assert [] == report
