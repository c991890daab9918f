"""Which texts of an event are searched."""

import json
import sqlite3
from contextlib import closing

import pytest

from reeld.search.entries import KINDS
from reeld.search.texts import IS_CONTENT, MAX_BLOCK, text_of


def blocks(*given: dict[str, object]) -> str:
    """Return the data of a message with these blocks."""
    return json.dumps({"blocks": given})


@pytest.mark.parametrize(
    ("kind", "content", "data_json", "expected"),
    [
        ("user", "hello", None, "hello"),
        ("system", "be brief", None, "be brief"),
        ("note", "by the way", '{"n": 1, "of": ["x"], "no": null}', "by the way\nn\n1\nof\nx\nno"),
        ("created", None, '{"name": "demo", "title": "Tapes"}', "Tapes\ndemo"),
        ("changed", None, '{"title": null}', ""),
        ("usage", "tokens", "{}", ""),
        ("assistant", "ok", '{"model": "m", "item": {"form": ["@0"]}}', "ok"),
        ("assistant", "ok", '{"blocks": 1, "other": 2}', "ok"),
        ("user", "", '{"\\u0062locks": [{"type": "text", "text": "written oddly"}]}', "written oddly"),
        ("user", "", '{"blocks": [{"type": "text", "text": "in a block"}]}', "in a block"),
        (
            "assistant",
            "",
            blocks({"type": "thinking", "text": "hm", "signature": "c2ln"}, {"type": "text", "text": "ok"}),
            "hm\nok",
        ),
        (
            "assistant",
            "",
            blocks({"type": "tool_call", "id": "1", "name": "sh", "arguments": '{"cmd": "a\\nb", "n": 2}'}),
            "sh\ncmd\na\nb\nn\n2",
        ),
        (
            "assistant",
            "",
            blocks({"type": "tool_call", "id": "1", "name": "sh", "arguments": "not \\ JSON"}),
            "sh\nnot \\ JSON",
        ),
        (
            "assistant",
            "",
            blocks(
                {"type": "tool_call", "id": "1", "name": "sh", "arguments": '{"cmd": "half \\ud83d", "\\u0000": 1}'}
            ),
            "sh\ncmd\nhalf \ufffd\n\ufffd\n1",
        ),
        ("note", "", r'{"half": "\ud83d"}', "half\n\ufffd"),
        (
            "tool_result",
            "",
            blocks({"type": "tool_result", "tool_call_id": "1", "content": [{"type": "text", "text": "out"}]}),
            "out",
        ),
        (
            "user",
            "",
            blocks({"type": "media", "mime_type": "image/png", "data_base64": "aaaa", "name": "cat.png"}),
            "cat.png",
        ),
        ("assistant", "", blocks({"type": "opaque", "provider": "p", "data_json": '"secret"'}), ""),
        ("user", "damaged", "not JSON", "damaged"),
    ],
)
def test_text(kind: str, content: str | None, data_json: str | None, expected: str) -> None:
    """What people and models wrote is searched; signatures, files and opaque data are not."""
    assert text_of(kind, content, data_json) == expected


def test_long_result() -> None:
    """Of a long text the beginning is searched."""
    assert len(text_of("user", "x" * (MAX_BLOCK + 1), None)) == MAX_BLOCK


def test_without_thinking() -> None:
    """What a model thought can be left out."""
    said = blocks({"type": "thinking", "text": "hm"}, {"type": "text", "text": "out"})

    assert "hm\nout" == text_of("assistant", "", said)
    assert "out" == text_of("assistant", "", said, thinking=False)


@pytest.mark.parametrize("kind", [*KINDS, "usage", "rewind"])
def test_what_is_its_content(kind: str) -> None:
    """SQL tells of which events the text is the content: of none that has data."""
    query = f"SELECT {IS_CONTENT} FROM (SELECT ? AS kind, ? AS data_json)"
    with closing(sqlite3.connect(":memory:")) as connection:
        (with_data,) = connection.execute(query, (kind, "{}")).fetchone()
        (without,) = connection.execute(query, (kind, None)).fetchone()

    assert (False, text_of(kind, "a tape", None) == "a tape") == (with_data, without)
