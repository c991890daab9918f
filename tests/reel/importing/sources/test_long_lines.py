"""Records that are too long for a message: what is left out of them, and what takes its place."""

import json
from typing import Any

import pytest

from reel.importing.sources.files import MAX_LINE, Line, parse_line
from reel.importing.sources.long_lines import parse_shortened
from reel.importing.steps import TOO_LONG, Counts, Source

_LIMIT = 1 << 20
# The data of an image, which has no space, and a text, which has some.
_DATA, _SMALL, _TEXT = "iVBORw0K" * 150_000, "iVBORw0K" * 10_000, "Said. " * 700_000


def shortened(record: Any, limit: int = _LIMIT) -> tuple[Any, str]:
    """Return a record without what makes it too long, and what the report says."""
    found = parse_shortened(json.dumps(record, ensure_ascii=False).encode(), limit)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        ({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": _DATA}}, "text"),
        ({"type": "image", "mimeType": "image/png", "data": _DATA}, "text"),
        ({"type": "image_url", "image_url": {"url": f"data:image/png;base64,{_DATA}"}}, "text"),
        ({"type": "input_image", "image_url": f"data:image/png;base64,{_DATA}"}, "input_text"),
        ({"inlineData": {"mimeType": "image/png", "data": _DATA}}, ""),
    ],
)
def test_an_image_that_is_too_long(block: Any, expected: str) -> None:
    """A text takes the place of its block, in the form of the API; the words around it stay."""
    record = {"message": {"content": [{"type": "text", "text": "Look"}, block, {"type": "text", "text": "There"}]}}

    (words, text, more), left_out = (found := shortened(record))[0]["message"]["content"], found[1]

    assert ("Look", "There") == (words["text"], more["text"])
    assert expected == text.get("type", "")
    assert "left out of the import, because its record is too long; 1,200," in text["text"]
    assert "without 1 image or file" == left_out


def test_the_largest_go_first() -> None:
    """No more is left out than need be; of two copies of an image, the one before the other stays."""
    images = [{"type": "image", "data": data} for data in (_SMALL, _DATA, _SMALL)]

    found, _ = shortened({"content": images})
    again, left_out = shortened({"content": [images[0], images[2]]}, limit=100_000)

    assert ["image", "text", "image"] == [block["type"] for block in found["content"]]
    assert ["image", "text"] == [block["type"] for block in again["content"]]
    assert "without 1 image or file" == left_out


def test_an_image_in_a_result() -> None:
    """What holds the block is not replaced: a result with its call, or a message with its role."""
    result = {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "image", "source": {"data": _DATA}}]}

    found, _ = shortened({"content": [result], "messages": [{"role": "user", "content": _DATA}]}, limit=10_000)

    assert ("c1", "text") == (found["content"][0]["tool_use_id"], found["content"][0]["content"][0]["type"])
    assert "user" == found["messages"][0]["role"]
    assert found["messages"][0]["content"].startswith("[data: left out")


@pytest.mark.parametrize("end", ["", "é" * 1_100_000, '\\"' * 550_000, "\x01 " * 310_000, "😀 " * 430_000])
def test_a_text_that_is_too_long(end: str) -> None:
    """It is cut, and says so; not within a character or an escape."""
    text = ". " + (end or _TEXT)
    for ascii_only in (True, False):
        data = json.dumps({"stdout": text, "exit": 0}, ensure_ascii=ascii_only).encode()

        found = parse_shortened(data, len(data) - 1)

        assert found is not None
        kept, _, rest = found[0]["stdout"].partition(" [… ")
        assert (True, 0) == (text.startswith(kept.rstrip("�")), found[0]["exit"])
        assert len(kept) > 100_000
        assert rest.endswith("bytes more were left out]")
        assert "1 text cut" == found[1]


@pytest.mark.parametrize("record", [{"x": ["word " * 1000] * 60}, {f"k{n}": n for n in range(20_000)}, [_DATA]])
def test_what_cannot_be_shortened(record: Any) -> None:
    """A record of many short texts is too long as it is; what is no record has no words."""
    assert parse_shortened(json.dumps(record).encode(), 100_000) is None


def test_a_long_line_of_a_file() -> None:
    """Its record is read, and the report says with its line what is missing; nothing of it is unknown."""
    record = json.dumps({"words": "Here.", "content": [{"type": "image", "data": "iVBORw0K" * (MAX_LINE // 8)}]})
    for data, found, unknown in ((record.encode(), ["Here."], {}), (b"", [], {TOO_LONG: 1})):
        counts = Counts()
        line = Line(7, 0, b"", len(record), complete=True, long=data)

        assert found == [one["words"] for one in parse_line(line, Source("/x", "t/x", 0, 0), counts)]
        assert (unknown, [7]) == (counts.unknown, [problem.line for problem in counts.problems])
