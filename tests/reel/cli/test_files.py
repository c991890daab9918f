"""A file that a command reads may be stdin, and must hold something."""

import io
from pathlib import Path

import pytest

from reel.cli.arguments import UsageError
from reel.cli.files import name_of, open_input, read_json, read_text


def piped(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))


@pytest.mark.parametrize("path", [None, "-"])
def test_stdin(monkeypatch: pytest.MonkeyPatch, path: str | None) -> None:
    """It is meant by a dash, and where nothing is named."""
    piped(monkeypatch, b"a\xff")

    assert "a\ufffd" == read_text(path)
    assert "stdin" == name_of(path)


def test_a_terminal_is_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody types a response."""
    monkeypatch.setattr("sys.stdin", type("Terminal", (io.StringIO,), {"isatty": lambda _: True})())

    with pytest.raises(UsageError, match=r"no FILE was named"), open_input(None):
        pass


def test_a_file(tmp_path: Path) -> None:
    """It is read as it is; JSON in it is parsed."""
    path = tmp_path / "f"
    path.write_text(' {"a": [1]}')

    assert ' {"a": [1]}' == read_text(str(path))
    assert {"a": [1]} == read_json(str(path))


@pytest.mark.parametrize(("text", "expected"), [(" \n", "is empty"), ("{", "is not valid JSON"), ("NaN", "NaN")])
def test_a_file_that_is_none(tmp_path: Path, text: str, expected: str) -> None:
    """The error names it."""
    path = tmp_path / "f"
    path.write_text(text)

    with pytest.raises(UsageError, match=expected):
        read_json(str(path))
