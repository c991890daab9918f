"""Files that a command reads, from a path or from stdin."""

import io
from pathlib import Path

import pytest

from reel.cli.line.arguments import UsageError
from reel.cli.line.files import name_of, open_input, read_json, read_text


def piped(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))


@pytest.mark.parametrize("path", [None, "-"])
def test_dash_or_no_file_is_stdin(monkeypatch: pytest.MonkeyPatch, path: str | None) -> None:
    """A dash means stdin, and so does no file at all."""
    piped(monkeypatch, b"a\xff")

    assert "a\ufffd" == read_text(path)
    assert "stdin" == name_of(path)


def test_terminal_is_refused_as_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal as stdin is refused."""
    monkeypatch.setattr("sys.stdin", type("Terminal", (io.StringIO,), {"isatty": lambda _: True})())

    with pytest.raises(UsageError, match=r"no FILE was named"), open_input(None):
        pass


def test_file_is_read_and_parsed(tmp_path: Path) -> None:
    """A file is read unchanged, and its JSON is parsed."""
    path = tmp_path / "f"
    path.write_text(' {"a": [1]}')

    assert ' {"a": [1]}' == read_text(str(path))
    assert {"a": [1]} == read_json(str(path))


@pytest.mark.parametrize(("text", "expected"), [(" \n", "is empty"), ("{", "is not valid JSON"), ("NaN", "NaN")])
def test_file_that_is_empty_or_not_json(tmp_path: Path, text: str, expected: str) -> None:
    """The error names the file."""
    path = tmp_path / "f"
    path.write_text(text)

    with pytest.raises(UsageError, match=expected):
        read_json(str(path))
