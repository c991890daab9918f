"""The connection of Vim: slow bytes, long messages, many requests, lost replies."""

import json
import os
import select
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from reel.sync.client import Client
from tests.daemon import Daemon
from tests.editors.texts import texts
from tests.editors.vim.driver import PLUGIN, Start, Vim


def bodies(vim: Vim) -> list[str]:
    """Return the texts in the buffer, each of which is one line."""
    return vim.lines()[2::4] if len(vim.lines()) > 1 else []


@pytest.fixture
def losing(directory: Path, daemon: Daemon) -> Iterator[tuple[str, list[bytes]]]:
    """The path of a socket in front of the daemon, and a list of byte strings.

    A request that contains one of them loses its reply and the connection, once for each.
    """
    path, lost = str(directory / "p.sock"), list[bytes]()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        thread = threading.Thread(target=_serve, args=(listener, daemon.socket, lost))
        thread.start()
        yield path, lost
        listener.shutdown(socket.SHUT_RDWR)
        daemon.close()
        thread.join()


def _serve(listener: socket.socket, target: str, lost: list[bytes]) -> None:
    with suppress(OSError):
        while True:
            near, far = listener.accept()[0], socket.socket(socket.AF_UNIX)
            with near, far, suppress(ConnectionError):
                far.connect(target)
                _pass_on(near, far, lost)


def _pass_on(near: socket.socket, far: socket.socket, lost: list[bytes]) -> None:
    found = None
    while True:
        for end in select.select([near, far], [], [])[0]:
            data = end.recv(1 << 16)
            if not data or found is not None:
                return
            if end is near and (found := next((each for each in lost if each in data), None)) is not None:
                lost.remove(found)
            (far if end is near else near).sendall(data)


def test_one_byte_at_a_time_in_vim(start_vim: Start, client: Client, dripping: str) -> None:
    """A message that arrives in single bytes is read whole."""
    vim = start_vim(REEL_SOCKET=dripping)
    client.add("demo", "hé " * 50, create=True)
    vim.run("Reel open demo")
    vim.until(lambda: client.agent("demo").attached, 1)
    vim.run("Reel send two")
    client.add("demo", "three")
    vim.until(lambda: bodies(vim), ["hé " * 50, "two", "three"])


def test_a_pause_within_a_message(start_vim: Start, client: Client, halting: str) -> None:
    """A message that arrives with long pauses is read whole."""
    vim = start_vim(REEL_SOCKET=halting)
    client.add("demo", "hé " * 50, create=True)
    vim.run("Reel open demo")
    vim.until(lambda: client.agent("demo").attached, 1)
    client.add("demo", "three")
    vim.until(lambda: bodies(vim), ["hé " * 50, "three"])


@pytest.mark.large
def test_three_megabytes_in_vim(vim: Vim, client: Client, directory: Path) -> None:
    """A line of three megabytes is sent whole, and shown in part."""
    long = '"é\\' * (3_000_000 // 4)
    client.create("demo")
    vim.run("Reel open demo")
    (directory / "long").write_text(long)
    vim.run("new", f"read {directory}/long", "2Reel send", "wincmd p")
    vim.until(lambda: vim.eval("getline(3)[-34:]"), '"é\\ … 2,200,848 more characters')

    assert [long] == texts(client)


def test_a_long_conversation_is_read_in_pages(vim: Vim, client: Client) -> None:
    """A long conversation is read in pages, on opening and after an undo."""
    client.add("demo", [f"{n} {'x' * 1000}" for n in range(1000)], create=True)
    expected = texts(client)
    vim.run("Reel open demo")
    vim.until(lambda: bodies(vim), expected)
    client.clear("demo")
    vim.until(vim.lines, [""])
    client.undo("demo")
    client.add("demo", "more")
    vim.until(lambda: bodies(vim), [*expected, "more"])


def test_two_hundred_requests_without_waiting(vim: Vim, client: Client, directory: Path) -> None:
    """Requests that are sent without waiting are applied in order, and each gets its own reply."""
    vim.run("Reel new demo")
    script = directory / "many.vim"
    script.write_text(f"""vim9script
import '{PLUGIN}/autoload/reel/link.vim'
g:heads = []
def Add(n: number)
  link.Send('add', {{agent: 'demo', messages: 'n' .. n}}, (reply) => {{
    g:heads->add([n, reply.result.head])
  }})
enddef
for n in range(200)
  Add(n)
endfor
""")
    vim.run(f"source {script}")
    vim.until(lambda: bodies(vim), [f"n{n}" for n in range(200)])

    assert [[n, n + 2] for n in range(200)] == sorted(vim.eval("g:heads"))
    assert 200 == len(texts(client))


def test_all_clients_see_one_order_while_vim_waits(vim: Vim, client: Client, daemon: Daemon) -> None:
    """While Vim waits for its own replies, others add messages, and all see one order."""
    vim.run("Reel new demo")

    def lines() -> None:
        with socket.socket(socket.AF_UNIX) as end:
            end.connect(daemon.socket)
            for n in range(100):
                request = {"id": n, "method": "add", "params": ["demo", f"line{n}"]}
                end.sendall(json.dumps(request).encode() + b"\n")
                end.recv(1 << 16)

    def python() -> None:
        with daemon.client() as other:
            for n in range(100):
                other.add("demo", f"python{n}")

    threads = [threading.Thread(target=each) for each in (lines, python)]
    for thread in threads:
        thread.start()
    for n in range(0, 100, 10):
        vim.run(f"for n in range({n}, {n + 9}) | execute 'Reel send vim' .. n | endfor")
    for thread in threads:
        thread.join()
    expected = texts(client)

    assert 300 == len(expected)
    vim.until(lambda: bodies(vim), expected)
    for who in ("vim", "line", "python"):
        assert [f"{who}{n}" for n in range(100)] == [said for said in expected if said.startswith(who)]
    assert [] == vim.said()


def test_a_buffer_closed_while_it_subscribes(vim: Vim, daemon: Daemon) -> None:
    """A buffer that is closed before the reply to `subscribe` leaves no subscription."""
    with daemon.client() as client:
        client.create("demo")
        vim.run("Reel open demo")
        vim.until(lambda: client.agent("demo").attached, 1)
    os.kill(vim.process.pid, signal.SIGSTOP)
    daemon.kill()
    daemon.start()
    # The call connects again, which has every buffer subscribe.
    closing = threading.Thread(target=vim.run, args=("Reel info", "bdelete"))
    closing.start()
    os.kill(vim.process.pid, signal.SIGCONT)
    closing.join()

    with daemon.client() as client:
        vim.until(lambda: client.agent("demo").attached, 0)


def test_a_command_with_a_lost_reply_in_vim(start_vim: Start, client: Client, losing: tuple[str, list[bytes]]) -> None:
    """A command whose reply is lost is repeated, and applied once."""
    path, lost = losing
    vim = start_vim(REEL_SOCKET=path)
    client.create("demo")
    vim.run("Reel open demo")
    lost.append(b'"add"')

    assert "demo: added #2" == vim.run("Reel send one")
    vim.shows("## user #2", "one")
    assert ["one"] == texts(client)


def test_a_read_with_a_lost_reply_in_vim(start_vim: Start, client: Client, losing: tuple[str, list[bytes]]) -> None:
    """A call that only reads is not repeated."""
    path, lost = losing
    vim = start_vim(REEL_SOCKET=path)
    client.create("demo")
    vim.run("Reel open demo")
    lost.append(b'"method":"facts"')

    assert "the daemon went away before it answered facts" == vim.run("Reel info")
    assert vim.run("Reel info").startswith("name         demo\n")


def test_changes_during_a_lost_connection(start_vim: Start, daemon: Daemon, directory: Path) -> None:
    """Changes by others during a lost connection appear after it, including the prompt."""
    path = directory / "link.sock"
    path.symlink_to(daemon.socket)
    vim = start_vim(REEL_SOCKET=str(path))
    with daemon.client() as client:
        client.add("demo", ["one", "two"], create=True)
        vim.run("Reel open demo")
        vim.shows("## user #2", "one", "## user #3", "two")
    path.unlink()
    daemon.end()
    with daemon.start().client() as client:
        client.undo("demo")
        client.add("demo", [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "three"}])
    path.symlink_to(daemon.socket)
    vim.shows("## system", "Be brief.", "## user #6", "three")


def test_a_stopped_vim_catches_up(vim: Vim, client: Client) -> None:
    """A Vim that was stopped while pushes were dropped ends with all messages."""
    vim.run("Reel new demo")
    vim.until(lambda: client.agent("demo").attached, 1)
    os.kill(vim.process.pid, signal.SIGSTOP)
    for n in range(40):
        client.add("demo", f"{n} {'x' * 100_000}")
    os.kill(vim.process.pid, signal.SIGCONT)
    vim.until(lambda: [body[:3] for body in bodies(vim)], [f"{n} x"[:3] for n in range(40)])

    assert [] == vim.said()
