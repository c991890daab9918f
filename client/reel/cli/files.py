"""Files that a command reads: a path, or stdin."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

from reel.cli.arguments import UsageError

STDIN = "-"


@contextmanager
def open_input(path: str | None) -> Iterator[BinaryIO]:
    """Open a file for as long as the block lasts; ``-`` or none is stdin.

    Raises:
        UsageError: it is stdin, and that is a terminal: nobody meant to type this.
    """
    if path is not None and path != STDIN:
        with open(path, "rb") as file:  # noqa: PTH123 - pathlib costs 4 ms
            yield file
        return
    if sys.stdin.isatty():
        raise UsageError("no FILE is named, and stdin is a terminal; name one, or pipe it in")
    yield sys.stdin.buffer


def read_text(path: str | None) -> str:
    """Read a text; what is no UTF-8 becomes U+FFFD.

    Raises:
        UsageError: there is none.
    """
    with open_input(path) as file:
        text = file.read().decode(errors="replace")
    if not text.strip():
        raise UsageError(f"there is nothing in {name_of(path)}")
    return text


def read_json(path: str) -> Any:
    """Read a JSON text.

    Raises:
        UsageError: it is none.
    """
    from reel.strict_json import parse  # noqa: PLC0415 - a command that reads no JSON pays nothing

    try:
        return parse(read_text(path))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{name_of(path)} is no JSON: {error}") from None


def name_of(path: str | None) -> str:
    """Give what to call a file."""
    return "stdin" if path is None or path == STDIN else path


def keep_text(text: str, suffix: str) -> str:
    """Write a text into a file of its own; give its path."""
    from tempfile import NamedTemporaryFile  # noqa: PLC0415 - only if something goes wrong

    with NamedTemporaryFile("w", prefix="reel-", suffix=suffix, delete=False, encoding="utf-8") as file:
        file.write(text)
    return file.name
