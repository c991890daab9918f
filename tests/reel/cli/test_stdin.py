"""What stdin has is told without reading any of it, and without waiting for long."""

import os
import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest

from reel.cli.stdin import EVENT, Content, event_stdin, peek

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


def test_a_pipe_with_data_has_something() -> None:
    """Data that waits is something, whether its writer is gone or not, and stays there."""
    with pipe() as (reader, writer):
        os.write(writer, b"diff")
        assert Content.SOMETHING is peek(reader, _TIMEOUT)
        os.close(writer)

        assert Content.SOMETHING is peek(reader, _TIMEOUT)
        assert b"diff" == os.read(reader, 100)


def test_a_pipe_without_a_writer_has_nothing() -> None:
    """A pipe whose writer is gone is at its end."""
    with pipe() as (reader, writer):
        os.close(writer)

        assert Content.NOTHING is peek(reader, _TIMEOUT)


def test_an_open_pipe_is_silent() -> None:
    """An open pipe without data says nothing yet, and is not waited for any longer."""
    with pipe() as (reader, _):
        assert Content.SILENT is peek(reader, _TIMEOUT)


def test_a_socket() -> None:
    """A socket is told apart in the same way; some programs start others on one."""
    ours, theirs = socket.socketpair()
    with closing(ours), closing(theirs):
        assert Content.SILENT is peek(ours.fileno(), _TIMEOUT)
        theirs.send(b"x")
        assert Content.SOMETHING is peek(ours.fileno(), _TIMEOUT)
        assert b"x" == ours.recv(100)
        theirs.shutdown(socket.SHUT_WR)

        assert Content.NOTHING is peek(ours.fileno(), _TIMEOUT)


def test_a_file(tmp_path: Path) -> None:
    """A file has something until it has been read to its end."""
    path = tmp_path / "file"
    path.write_bytes(b"text")
    with path.open("rb", buffering=0) as file:
        assert Content.SOMETHING is peek(file.fileno(), _TIMEOUT)
        assert b"text" == file.read()

        assert Content.NOTHING is peek(file.fileno(), _TIMEOUT)


def test_a_terminal_and_the_null_device_have_nothing() -> None:
    """Neither a terminal nor /dev/null brings a text by itself."""
    null = os.open(os.devnull, os.O_RDONLY)
    master, terminal = os.openpty()
    try:
        assert Content.NOTHING is peek(null, _TIMEOUT)
        assert Content.NOTHING is peek(terminal, _TIMEOUT)
    finally:
        for descriptor in (null, master, terminal):
            os.close(descriptor)


def test_what_cannot_be_read_has_nothing(tmp_path: Path) -> None:
    """A file that is open for writing only brings nothing."""
    with (tmp_path / "file").open("wb") as file:
        assert Content.NOTHING is peek(file.fileno(), _TIMEOUT)


def test_the_event_of_a_follower_is_not_a_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that runs for an event has it on stdin, which is no text; another stdin in it is one."""
    with event_stdin(b"{}\n") as (descriptor, name):
        monkeypatch.setenv(EVENT, name)
        assert Content.NOTHING is peek(descriptor, _TIMEOUT)
        with pipe() as (reader, writer):
            os.write(writer, b"diff")
            assert Content.SOMETHING is peek(reader, _TIMEOUT)

        assert b"{}\n" == os.read(descriptor, 100)
