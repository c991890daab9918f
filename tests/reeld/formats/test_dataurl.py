"""URLs that carry media."""

import pytest

from reeld.formats.content import media_from, mime_of, url_of
from reeld.formats.table import FORMATS
from tests.reeld.formats.histories import user
from tests.reeld.formats.sending import sent


@pytest.mark.parametrize(
    ("url", "mime_type"),
    [
        ("data:image/png;base64,QUJD", "image/png"),
        ("https://example.org/a.png", "image/*"),
        ("data:text/plain,hello", "image/*"),
    ],
)
def test_a_url_comes_back(url: str, mime_type: str) -> None:
    """Whatever the URL is, the block gives it back."""
    block = media_from(url, "image/*")

    assert mime_type == block["mime_type"]
    assert url == url_of(block)


def test_bytes_stand_in_the_block() -> None:
    """The bytes of a data URL are the block's; a type that it lacks is the one that was expected."""
    assert {"type": "media", "mime_type": "image/*", "data_base64": "QUJD"} == media_from(
        "data:;charset=x;base64,QUJD", "image/*"
    )


@pytest.mark.parametrize("name", FORMATS)
def test_the_name_that_a_jpeg_has_not(name: str) -> None:
    """No API takes it, and many write it."""
    block = {"type": "media", "mime_type": "image/jpg", "data_base64": "AAAA"}
    body, report = sent(name, [user(block)])

    assert ("image/jpeg", "image/png") == (mime_of(block), mime_of({"mime_type": "image/png"}))
    assert "image/jpeg" in str(body)
    assert "image/jpg" not in str(body)
    assert [] == report
