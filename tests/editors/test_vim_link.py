"""The plug-in for Vim where it is hard: bytes that dribble, long messages, a daemon that goes away."""

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

from reel.stop_marker import mark
from reel.sync.client import Client
from tests.daemon import Daemon
from tests.editors.backup import backup
from tests.editors.texts import texts
from tests.editors.vim_driver import PLUGIN, Start, Vim
from tests.planted import Planted

pytest_plugins = ["tests.editors.vim_fixtures"]


def bodies(vim: Vim) -> list[str]:
    """Give the texts that a buffer shows, where each is of one line."""
    return vim.lines()[2::4] if len(vim.lines()) > 1 else []


def test_one_byte_at_a_time(start_vim: Start, client: Client, dripping: str) -> None:
    """A message that comes in pieces is read as if it came in one."""
    vim = start_vim(REEL_SOCKET=dripping)
    client.add("demo", "hé " * 50, create=True)
    vim.run("Reel open demo")
    vim.until(lambda: client.agent("demo").attached, 1)
    vim.run("Reel send two")
    client.add("demo", "three")
    vim.until(lambda: bodies(vim), ["hé " * 50, "two", "three"])


def test_a_pause_within_a_message(start_vim: Start, client: Client, halting: str) -> None:
    """However long a message is on its way, it is waited for: nothing of it is dropped."""
    vim = start_vim(REEL_SOCKET=halting)
    client.add("demo", "hé " * 50, create=True)
    vim.run("Reel open demo")
    vim.until(lambda: client.agent("demo").attached, 1)
    client.add("demo", "three")
    vim.until(lambda: bodies(vim), ["hé " * 50, "three"])


def test_megabytes(vim: Vim, client: Client, directory: Path) -> None:
    """Ten megabytes are read, pushed and sent."""
    long = '"é\\' * (10_000_000 // 4)
    client.add("demo", long, create=True)
    vim.run("Reel open demo")
    vim.until(lambda: vim.eval("len(getline(3))"), 10_000_000)
    client.add("demo", long)
    vim.until(lambda: vim.eval("len(getline(7))"), 10_000_000)
    (directory / "long").write_text(long)
    vim.run("new", f"read {directory}/long", "2Reel send", "wincmd p")
    vim.until(lambda: vim.eval("len(getline(11))"), 10_000_000)

    assert [long] * 3 == texts(client)


def test_pages(vim: Vim, client: Client) -> None:
    """A long conversation comes in pages, when it is opened and when much is brought back at once."""
    client.add("demo", [f"{n} {'x' * 1000}" for n in range(1000)], create=True)
    expected = texts(client)
    vim.run("Reel open demo")
    vim.until(lambda: bodies(vim), expected)
    client.clear("demo")
    vim.until(vim.lines, [""])
    client.undo("demo")
    client.add("demo", "more")
    vim.until(lambda: bodies(vim), [*expected, "more"])


def test_requests_that_do_not_wait(vim: Vim, client: Client, directory: Path) -> None:
    """Two hundred adds that wait for no answer stand there in their order, and each has its own answer."""
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


def test_pushes_during_calls_that_wait(vim: Vim, client: Client, daemon: Daemon) -> None:
    """While Vim waits for its own answers others add, over another connection and as lines; all see one order."""
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


def test_a_daemon_that_is_restarted(vim: Vim, daemon: Daemon) -> None:
    """Under open buffers a daemon is killed and comes back; they miss nothing, and go on."""
    with daemon.client() as client:
        client.add("demo", "one", create=True)
        client.add("other", "eins", create=True)
        vim.run("Reel open other", "Reel open demo")
        vim.shows("## user #2", "one")
        vim.until(lambda: (client.agent("demo").attached, client.agent("other").attached), (1, 1))
    daemon.kill()
    vim.until(lambda: vim.said()[-1:], ["the daemon went away; waiting for it to come back"])
    with daemon.start().client() as client:
        vim.until(lambda: vim.said()[-1:], ["the daemon is back"])
        client.add("demo", "two")
        client.add("other", "zwei")
        vim.shows("## user #2", "one", "## user #3", "two")
        vim.run("Reel send three", "Reel send four")
        vim.shows("## user #2", "one", "## user #3", "two", "## user #4", "three", "## user #5", "four")
        vim.run("buffer reel://other")
        vim.shows("## user #2", "eins", "## user #3", "zwei")


def test_a_daemon_that_nobody_waits_for(vim: Vim, client: Client, daemon: Daemon) -> None:
    """It is looked for as long as a conversation is open, and no longer."""
    client.create("demo")
    vim.run("Reel open demo", "bdelete")
    daemon.kill()
    vim.until(lambda: vim.eval("reel#link#IsOpen()"), expected=False)

    assert (0, []) == (vim.eval("len(timer_info())"), vim.said())


def test_a_subscription_that_was_only_asked_for(vim: Vim, daemon: Daemon) -> None:
    """A buffer that is closed before the daemon answered leaves no subscription behind."""
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


@pytest.fixture
def losing(directory: Path, daemon: Daemon) -> Iterator[tuple[str, list[bytes]]]:
    """The path of a socket behind which the daemon is, and what must be in a request for its answer to be lost.

    The connection is lost with it, once; the next one is whole.
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
    found = False
    while True:
        for end in select.select([near, far], [], [])[0]:
            data = end.recv(1 << 16)
            if end is near and any(each in data for each in lost):
                found = True
                lost.clear()
            elif not data or found:
                return
            (far if end is near else near).sendall(data)


def test_a_call_whose_answer_is_lost(start_vim: Start, client: Client, losing: tuple[str, list[bytes]]) -> None:
    """What was done while the connection broke is asked for again, and is not done twice."""
    path, lost = losing
    vim = start_vim(REEL_SOCKET=path)
    client.create("demo")
    vim.run("Reel open demo")
    lost.append(b'"add"')

    assert "demo: added #2" == vim.run("Reel send one")
    vim.shows("## user #2", "one")
    assert ["one"] == texts(client)


def test_a_prompt_whose_reading_is_lost(start_vim: Start, client: Client, losing: tuple[str, list[bytes]]) -> None:
    """A prompt that was being read when the connection broke is read again."""
    path, lost = losing
    vim = start_vim(REEL_SOCKET=path)
    client.add("demo", "one", create=True)
    vim.run("Reel open demo")
    vim.until(lambda: client.agent("demo").attached, 1)
    vim.run("Reel info")  # the prompt has been read by now
    lost.append(b'"method":"agent"')
    client.add("demo", [{"role": "system", "content": "Be brief."}])
    vim.shows("## system", "Be brief.", "## user #2", "one")

    assert [] == lost


def test_what_happened_while_the_connection_was_lost(start_vim: Start, daemon: Daemon, directory: Path) -> None:
    """What others did meanwhile is there when the connection is, the prompt included."""
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


def test_a_daemon_that_stops_while_drafts_are_shown(vim: Vim, daemon: Daemon) -> None:
    """What somebody was writing ends with the connection."""
    with daemon.client() as client:
        client.add("demo", "one", create=True)
        vim.run("Reel open demo")
        vim.until(lambda: client.agent("demo").attached, 1)
        client.draft("demo", "two")
        vim.until(lambda: vim.lines()[-2], "two")
        daemon.end()
    daemon.start()
    vim.shows("## user #2", "one")


def test_another_log(vim: Vim, daemon: Daemon) -> None:
    """Where an older log is put in the place of the one that was known, the conversation is read again."""
    with daemon.client() as client:
        client.add("demo", "one", create=True)
        daemon.end()
        restore = backup(daemon)
    with daemon.start().client() as client:
        client.add("demo", "two")
        vim.run("Reel open demo")
        vim.shows("## user #2", "one", "## user #3", "two")
        daemon.end()
    restore()
    daemon.start()
    vim.shows("## user #2", "one")


def test_a_reader_that_lags(vim: Vim, client: Client) -> None:
    """A Vim that stood still for megabytes of pushes, some of which were dropped, has everything afterwards."""
    vim.run("Reel new demo")
    vim.until(lambda: client.agent("demo").attached, 1)
    os.kill(vim.process.pid, signal.SIGSTOP)
    for n in range(40):
        client.add("demo", f"{n} {'x' * 100_000}")
    os.kill(vim.process.pid, signal.SIGCONT)
    vim.until(lambda: [body[:3] for body in bodies(vim)], [f"{n} x"[:3] for n in range(40)])

    assert [] == vim.said()


# --- where there is no daemon


def test_a_daemon_is_started(start_vim: Start, prepared: Daemon) -> None:
    """The first command starts a daemon where none runs."""
    vim = start_vim()
    vim.run("Reel new demo", "Reel send one")
    vim.shows("## user #2", "one")

    with prepared.client() as client:
        assert ["one"] == texts(client)


def test_a_daemon_is_started_in_a_directory_of_others(
    start_vim: Start, prepared: Daemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the command nor the daemon runs a module of the directory that Vim was started in."""
    planted = Planted(tmp_path)
    monkeypatch.chdir(tmp_path)
    start_vim(PYTHONPATH=Planted.PYTHONPATH).run("Reel new demo")

    assert [] == planted.imported()
    assert Path(prepared.socket).is_socket()


def test_the_socket_of_the_settings(configured: Daemon, start_vim: Start) -> None:
    """Without a variable, the plug-in finds the daemon where reeld.toml says."""
    start_vim().run("Reel new demo")

    with configured.client() as client:
        assert "demo" == client.agent("demo").name


def test_a_daemon_that_was_stopped_on_purpose(start_vim: Start, prepared: Daemon) -> None:
    """A command does not start it, and says who can."""
    mark(prepared.socket)

    assert "reeld was stopped with `reel stop`; start it with `reel start`" in start_vim().run("Reel new demo")
    assert not Path(prepared.socket).exists()


def test_nothing_to_start(start_vim: Start, prepared: Daemon) -> None:
    """Where there is nothing to start, the remedy is said."""
    vim = start_vim(PATH="/usr/bin:/bin")

    assert (
        f"no daemon answers on {prepared.socket}, and there is no command reel to start one: "
        "pip install 'reeld[daemon]', or set g:reel_command"
    ) == vim.run("Reel list")
    assert f"no daemon answers on {prepared.socket}: Try '/bin/ls --help' " in vim.run(
        "let g:reel_command = '/bin/ls'", "Reel list"
    )


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file away")
def test_the_socket_of_somebody_else(start_vim: Start, daemon: Daemon) -> None:
    """Nobody is spoken to who listens on somebody else's socket."""
    os.chown(daemon.socket, 12345, -1)
    vim = start_vim()
    flaw = f"{daemon.socket} is not a socket of your own"

    assert f"{flaw}; remove it, or set $REEL_SOCKET to another" == vim.run("Reel list")


def test_a_directory_that_is_a_symlink(start_vim: Start, directory: Path) -> None:
    """Where the directory of last resort is a symlink, it is not followed."""
    (directory / "real").mkdir(mode=0o700)
    (directory / "link").symlink_to("real")
    script = directory / "flaw.vim"
    script.write_text(f"vim9script\nimport '{PLUGIN}/autoload/reel/socket.vim'\ng:Flaw = socket.DirectoryFlaw\n")
    vim = start_vim()
    vim.run(f"source {script}")

    assert "" == vim.eval(f"g:Flaw('{directory}/real')")
    remedy = "is not a directory that only you can enter; remove it, or set $REEL_SOCKET"
    assert f"not_running: {directory}/link {remedy}" == vim.eval(f"g:Flaw('{directory}/link')")
    (directory / "real").chmod(0o777)
    assert f"not_running: {directory}/real {remedy}" == vim.eval(f"g:Flaw('{directory}/real')")


@pytest.mark.parametrize(
    ("given", "runtime", "expected"),
    [
        ("/a/b", "/run/x", "/a/b"),
        ("", "/run/x", "/run/x/reel/reel.sock"),
        ("", "", f"/tmp/reel-{os.getuid()}/reel.sock"),
    ],
)
def test_path(start_vim: Start, directory: Path, given: str, runtime: str, expected: str) -> None:
    """The socket is where the daemon looks for its place."""
    script = directory / "path.vim"
    script.write_text(f"vim9script\nimport '{PLUGIN}/autoload/reel/socket.vim'\ng:path = socket.Path()\n")
    vim = start_vim(REEL_SOCKET=given, XDG_RUNTIME_DIR=runtime)
    vim.run(f"source {script}")

    assert expected == vim.eval("g:path")
