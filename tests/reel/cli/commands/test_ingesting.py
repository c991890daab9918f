"""``reel ingest`` and ``reel load``: a provider's response, and a provider's request."""

import json
from pathlib import Path

import pytest

from tests.reel.cli.conftest import Reel
from tests.reel.streams.samples.openai_chat import CHAT

BODY = json.dumps(CHAT.body).encode()
REQUEST = b'{"messages": [{"role": "system", "content": "S"}, {"role": "user", "content": "Hi"}], "tools": []}'


def test_ingest_a_response(reel: Reel, name: str, tmp_path: Path) -> None:
    """A response comes from a file or from stdin, and is added with its usage."""
    path = tmp_path / "response.json"
    path.write_bytes(BODY)
    reel("new", name)

    assert (0, f"{name}: added #2 and its usage\n", "") == reel("ingest", name, "--format", "openai-chat", str(path))
    assert (0, f"{name}: added #4 and its usage\n", "") == reel("ingest", name, "--format", "openai-chat", stdin=BODY)
    assert (0, f"{name}: added #6 and its usage\n", "") == reel(
        "ingest", name, "-", "--format", "openai-chat", stdin=CHAT.data
    )


def test_ingest_restores_the_names_of_tools(reel: Reel, name: str, tmp_path: Path) -> None:
    """A tool that a render has renamed gets its own name back."""
    report = tmp_path / "report.json"
    report.write_text('{"prefix": {}, "names": {"time": "the time"}}')
    argv = ("ingest", name, "--create", "--format", "openai-chat", "--names", str(report))
    added = reel(*argv, "--json", stdin=BODY).documents[0]

    assert ["weather", "the time"] == [call["name"] for call in added["open_calls"]]


def test_load_a_request(reel: Reel, name: str) -> None:
    """The history of a request is added, and what is not part of it is listed on stderr."""
    ran = reel("load", name, "--create", "--format", "openai-chat", stdin=REQUEST)

    assert (0, f"{name}: added #2-#3\n") == ran[:2]
    assert "reel: note: dropped: tools is not part of the history" in ran.err
    assert "S" == reel("info", name, "--json").documents[0]["system"]


@pytest.mark.parametrize(
    ("command", "stdin", "status", "expected"),
    [
        ("ingest", b"", 2, "stdin is empty"),
        ("ingest", b"<html>", 1, "invalid_message: body: the answer has no content"),
        ("ingest", b'{"error": {"message": "No key"}}', 1, "the provider refused: No key"),
        ("load", b"{}", 1, "invalid_message: messages: is missing"),
    ],
)
def test_ingest_and_load_refuse_invalid_input(
    reel: Reel, name: str, command: str, stdin: bytes, status: int, expected: str
) -> None:
    """One line says why, and nothing is added."""
    reel("new", name)
    ran = reel(command, name, "--format", "openai-chat", stdin=stdin)

    assert (status, "") == ran[:2]
    assert expected in ran.err
    assert 1 == reel("info", name, "--json").documents[0]["head"]


def test_invalid_characters_of_a_response(reel: Reel, name: str) -> None:
    """Invalid characters are replaced, with a note."""
    body = BODY.replace(b"Let me", rb"Let \u0000 me")

    assert (
        "reel: note: 1 invalid character was replaced by U+FFFD\n"
        == reel("ingest", name, "--create", "--format", "openai-chat", stdin=body).err
    )
