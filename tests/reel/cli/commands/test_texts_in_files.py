"""Whether the content of a file has a text."""

import json

import pytest

from reel.cli.commands.shared.texts_in_files import TextsInFiles

_TEXT = 'Zürich "7"'


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (_TEXT, True),
        (json.dumps(_TEXT), True),
        (json.dumps(_TEXT, ensure_ascii=False), True),
        (json.dumps(json.dumps(_TEXT)), True),
        (json.dumps(json.dumps(_TEXT, ensure_ascii=False), ensure_ascii=False), True),
        (_TEXT[:-1], False),
        ("", False),
    ],
)
def test_a_text(content: str, *, expected: bool) -> None:
    """It is found as it is, in JSON, and in JSON in JSON, wherever the pieces of the content end."""
    data = f"before {content} after".encode()
    texts = TextsInFiles([_TEXT, "another"])
    for length in (1, 2, 5, len(data)):
        pieces = [data[start : start + length] for start in range(0, len(data), length)]

        assert expected == texts.are_in(pieces)
