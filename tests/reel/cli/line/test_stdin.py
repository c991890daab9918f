"""Whether stdin has data is found out without reading it, and without waiting for long."""

import os
import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest

from reel.cli.line.stdin import EVENT, Content, event_stdin, peek

_TIMEOUT = 0.01


@contextmanager
def pipe() -> Iterator[tuple[int, int]]:
    """Make a pipe; its ends may be closed before the block ends."""
    ends = os.pipe()
    try:
        yield ends
    finally:
        for end in ends:
            close(end)


def close(descriptor: int) -> None:
    """Close a descriptor unless it is closed already."""
    with suppress(OSError):
        os.close(descriptor)


def test_pipe_with_data() -> None:
    """Data in a pipe is found, whether its writer has ended or not, and is not read."""
    with pipe() as (reader, writer):
        os.write(writer, b"diff")
        assert Content.SOMETHING is peek(reader, _TIMEOUT)
        os.close(writer)

        assert Content.SOMETHING is peek(reader, _TIMEOUT)
        assert b"diff" == os.read(reader, 100)


def test_pipe_without_a_writer() -> None:
    """A pipe whose writer has ended is empty."""
    with pipe() as (reader, writer):
        os.close(writer)

        assert Content.NOTHING is peek(reader, _TIMEOUT)


def test_open_pipe_without_data() -> None:
    """An open pipe without data is silent, and the wait has a limit."""
    with pipe() as (reader, _):
        assert Content.SILENT is peek(reader, _TIMEOUT)


def test_socket_as_stdin() -> None:
    """A socket is told apart in the same way; some programs start others with one."""
    ours, theirs = socket.socketpair()
    with closing(ours), closing(theirs):
        assert Content.SILENT is peek(ours.fileno(), _TIMEOUT)
        theirs.send(b"x")
        assert Content.SOMETHING is peek(ours.fileno(), _TIMEOUT)
        assert b"x" == ours.recv(100)
        theirs.shutdown(socket.SHUT_WR)

        assert Content.NOTHING is peek(ours.fileno(), _TIMEOUT)


def test_file_as_stdin(tmp_path: Path) -> None:
    """A file has data until it has been read to its end."""
    path = tmp_path / "file"
    path.write_bytes(b"text")
    with path.open("rb", buffering=0) as file:
        assert Content.SOMETHING is peek(file.fileno(), _TIMEOUT)
        assert b"text" == file.read()

        assert Content.NOTHING is peek(file.fileno(), _TIMEOUT)


def test_terminal_and_null_device_as_stdin() -> None:
    """A terminal and /dev/null have nothing."""
    null = os.open(os.devnull, os.O_RDONLY)
    master, terminal = os.openpty()
    try:
        assert Content.NOTHING is peek(null, _TIMEOUT)
        assert Content.NOTHING is peek(terminal, _TIMEOUT)
    finally:
        for descriptor in (null, master, terminal):
            os.close(descriptor)


def test_stdin_that_cannot_be_read(tmp_path: Path) -> None:
    """A file that is open only for writing has nothing."""
    with (tmp_path / "file").open("wb") as file:
        assert Content.NOTHING is peek(file.fileno(), _TIMEOUT)


def test_event_on_stdin_is_not_a_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """The event on the stdin of a command that runs for it is not a text; another stdin in it is one."""
    with event_stdin(b"{}\n") as (descriptor, name):
        monkeypatch.setenv(EVENT, name)
        assert Content.NOTHING is peek(descriptor, _TIMEOUT)
        with pipe() as (reader, writer):
            os.write(writer, b"diff")
            assert Content.SOMETHING is peek(reader, _TIMEOUT)

        assert b"{}\n" == os.read(descriptor, 100)
