"""Files that a command reads, by a path or from stdin, and texts that it saves for later."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from reel.base.light_typing import TYPE_CHECKING
from reel.cli.line.arguments import UsageError

if TYPE_CHECKING:
    from typing import Any, BinaryIO

STDIN = "-"


@contextmanager
def open_input(path: str | None) -> Iterator[BinaryIO]:
    """Open a file for the duration of the block; ``-`` or ``None`` is stdin.

    Raises:
        UsageError: the file is stdin and stdin is a terminal, where nobody wants to type it.
    """
    if path is not None and path != STDIN:
        with open(path, "rb") as file:
            yield file
        return
    if sys.stdin.isatty():
        raise UsageError("no FILE was named, and stdin is a terminal; name a file, or pipe one in")
    yield sys.stdin.buffer


def read_stdin() -> str | None:
    """Return the text on stdin without its last newline, as a shell's ``$(…)`` does; ``None`` if it is empty.

    Bytes that are not UTF-8 become lone surrogates, so that they are counted when they are replaced.
    """
    said = sys.stdin.buffer.read().decode(errors="surrogateescape")
    return said.removesuffix("\n").removesuffix("\r") if said else None


def read_text(path: str | None, *, errors: str = "replace") -> str:
    """Return the text of a file.

    Args:
        path: the path; ``-`` or ``None`` is stdin.
        errors: what becomes of bytes that are not UTF-8; by default U+FFFD.

    Raises:
        UsageError: the file is empty or blank.
    """
    with open_input(path) as file:
        text = file.read().decode(errors=errors)
    if not text.strip():
        raise UsageError(f"{name_of(path)} is empty")
    return text


def read_json(path: str) -> Any:
    """Return the value of a JSON file.

    Raises:
        UsageError: it is not valid JSON.
    """
    from reel.base.strict_json import parse  # noqa: PLC0415 - only some commands read JSON

    try:
        return parse(read_text(path))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{name_of(path)} is not valid JSON: {error}") from None


def name_of(path: str | None) -> str:
    """Return what to call a file in a message."""
    return "stdin" if path is None or path == STDIN else path


def keep_text(text: str, suffix: str) -> str:
    """Save a text that could not be added in a new file, and return its path.

    It is beside the database, because the directory for temporary files is emptied when the machine starts.
    """
    from tempfile import NamedTemporaryFile  # noqa: PLC0415 - only if something goes wrong

    from reel.daemon.address import state_directory  # noqa: PLC0415 - as above

    directory: str | None = f"{state_directory()}/kept"
    try:
        os.makedirs(f"{directory}", mode=0o700, exist_ok=True)
    except OSError:
        directory = None
    with NamedTemporaryFile("wb", prefix="reel-", suffix=suffix, dir=directory, delete=False) as file:
        file.write(text.encode(errors="surrogateescape"))
    return file.name
