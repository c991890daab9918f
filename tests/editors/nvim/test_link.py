"""The connection of the plug-in: a daemon that comes and goes, slow lines, large messages, many calls."""

import json
import os
import re
import signal
import socket
import subprocess
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reel.blocking import Client
from tests.daemon import Daemon
from tests.editors.nvim.conftest import Launch
from tests.editors.nvim.driver import Nvim
from tests.editors.surroundings import Require
from tests.model import refusal

HEADING = re.compile(r"## (\w+) (\d+)")
TEXTS = ["one", "two\nlines", "é"]


def headings(client: Client, agent: str = "demo") -> list[list[Any]]:
    """Give role and seq of each message that there is."""
    return [[message["role"], message["seq"]] for message in client.iter_messages(agent)]


def texts(client: Client) -> list[str]:
    """Give the first text of each message of the demo."""
    blocks: list[Any] = [message["content"][0] for message in client.iter_messages("demo")]
    return [block["text"] for block in blocks]


def shown(nvim: Nvim) -> list[list[Any]]:
    """Give role and seq of each heading in the buffer."""
    return [[found[1], int(found[2])] for line in nvim.lines() if (found := HEADING.fullmatch(line))]


def shows(nvim: Nvim, client: Client, agent: str = "demo") -> None:
    """Wait until the buffer has all events, and hold its headings against the daemon's messages."""
    nvim.until("require('reel.conversation').current().copy.at == a[1]", client.agent(agent).head)
    nvim.until("not require('reel.conversation').current().copy.reading")
    nvim.until("not require('reel.conversation').current().stand")

    assert headings(client, agent) == shown(nvim)


def opened(nvim: Nvim, name: str = "demo") -> Nvim:
    """Open a conversation."""
    nvim.command(f"Reel open {name}")
    nvim.until("vim.fn.bufname() == a[1]", f"reel://{name}")
    return nvim


# --- coming and going


def test_it_starts_the_daemon(launch: Launch, prepared: Daemon) -> None:
    """Where no daemon runs, the first command starts one."""
    nvim = launch()
    nvim.command("Reel new demo")
    nvim.until("vim.fn.bufname() == 'reel://demo'")

    with prepared.client() as client:
        assert "demo" == client.agent("demo").name
    assert [] == nvim.notified()


def test_a_daemon_that_was_stopped(nvim: Nvim, client: Client, daemon: Daemon) -> None:
    """An open buffer does not start the daemon again, the next command does."""
    client.create("demo")
    shows(opened(nvim), client)
    daemon.end()
    nvim.until("vim.fn.getline('$') == '*not_running: the daemon closed the connection*'")
    nvim.lua("vim.wait(600)")  # it has looked again and again by then
    assert not Path(daemon.socket).exists()
    nvim.command("Reel send again")

    nvim.shows("## user 2", "", "again", "")


def test_a_done_that_fails(nvim: Nvim) -> None:
    """Who waits for a connection and fails keeps nobody else from it."""
    nvim.lua(
        """local connect = require('reel').connect
        connect(function() error('bad', 0) end)
        connect(function() up = true end)"""
    )
    nvim.until("up")

    assert ["bad"] == nvim.notified()


def test_it_cannot_start_one(launch: Launch, prepared: Daemon) -> None:
    """Who is missing is said in one line."""
    nvim = launch()
    nvim.lua("require('reel').setup{command = 'no-such-reel'}")
    nvim.command("Reel new demo")
    nvim.complains(
        f"not_running: nobody listens on {prepared.socket}, and no-such-reel is not on the path; see :checkhealth reel"
    )
    nvim.lua("require('reel').setup{command = 'reel'}")
    Path(prepared.database).write_text("no database at all, and long enough to be taken for one " * 100)
    nvim.command("Reel new demo")
    nvim.complains("not_running: reel start: ")

    nvim.command("checkhealth reel")
    assert "not_running: reel start: " in "\n".join(nvim.lines())
    assert "\n" not in "".join(nvim.notified())


def test_it_talks_to_nobody_elses(launch: Launch, prepared: Daemon, directory: Path) -> None:
    """A socket that is none, or not the user's own, is refused before a word is said."""
    nvim = launch()
    Path(prepared.socket).write_text("")
    nvim.command("Reel list")
    nvim.complains(f"not_running: {prepared.socket} is no socket")
    Path(prepared.socket).unlink()
    if os.getuid() == 0:
        with socket.socket(socket.AF_UNIX) as other:
            other.bind(prepared.socket)
            os.chown(prepared.socket, 12345, -1)
            nvim.command("Reel list")
            nvim.complains(f"not_running: {prepared.socket} belongs to another user (uid 12345)")
    (directory / "real").mkdir(mode=0o755)
    (directory / "link").symlink_to(directory / "real")
    fallback = "vim.loop.fs_lstat = function() return lstat(a) end"
    for name, line in (("link", "is no directory; remove it"), ("real", "is open to others; remove it")):
        nvim.lua(f"lstat, a = lstat or vim.loop.fs_lstat, ...; {fallback}", str(directory / name))
        assert line in nvim.lua(
            "return require('reel.address').problem(('/tmp/reel-%d/reel.sock'):format(vim.loop.getuid()))"
        )


def test_one_that_does_not_answer(launch: Launch, prepared: Daemon) -> None:
    """Who listens and does not speak is given up."""
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(prepared.socket)
        silent.listen()
        nvim = launch()
        nvim.command("Reel list")

        nvim.complains(f"not_running: who listens on {prepared.socket} does not answer")


def test_another_protocol(nvim: Nvim) -> None:
    """A daemon that speaks another version says which."""
    nvim.lua(
        """local notify = vim.rpcnotify
        vim.rpcnotify = function(channel, name, params)
          if params.method == 'hello' then params.params.protocol = {min = 2, max = 3} end
          return notify(channel, name, params)
        end"""
    )
    nvim.command("Reel list")

    nvim.complains("protocol_mismatch: this reeld speaks protocol 1, the client 2 to 3")


def test_the_daemon_is_restarted(nvim: Nvim, client: Client, daemon: Daemon) -> None:
    """Open buffers say that the daemon is away, and go on by themselves, with all that they missed, once."""
    client.create("demo", system="be kind")
    client.add("demo", TEXTS)
    shows(opened(nvim), client)
    for end in (daemon.end, daemon.kill):
        end()
        nvim.until("vim.fn.getline('$') == '*not_running: the daemon closed the connection*'")
        daemon.start()
        with daemon.client() as other:
            other.add("demo", ["missed"])
            other.mark("demo")
            other.add("demo", ["missed as well"])
            other.rewind("demo")
            shows(nvim, other)
    nvim.until("vim.fn.search('not_running', 'nw') == 0")
    nvim.command("Reel send back")
    nvim.until("vim.fn.search('^back$', 'nw') > 0")

    assert [] == nvim.notified()


def test_a_command_on_its_way(nvim: Nvim, client: Client, daemon: Daemon) -> None:
    """What is sent to a daemon that is killed before it answers is done, and once."""
    client.create("demo")
    shows(opened(nvim), client)
    os.kill(daemon.process.pid, signal.SIGSTOP)
    nvim.command("Reel send important")
    nvim.lua("require('reel').call_async('ping', {}, function(problem) lost = problem.message end)")
    daemon.kill()
    nvim.until("lost")
    daemon.start()
    with daemon.client() as other:
        nvim.until("vim.fn.search('^important$', 'nw') > 0")
        assert 1 == other.agent("demo").messages

    assert "not_running: the daemon went away before it answered ping; see whether it was done" == nvim.lua(
        "return lost"
    )
    assert [] == nvim.notified()


def test_a_command_whose_answer_is_lost(nvim: Nvim, client: Client, daemon: Daemon) -> None:
    """What was done before the daemon was killed is not done again, although nobody heard of it."""
    client.create("demo")
    shows(opened(nvim), client)
    nvim.lua("inbox = require('reel.inbox'); take = inbox.take; inbox.take = function() end")
    nvim.command("Reel send important")
    while not client.messages("demo").messages:
        nvim.lua("vim.wait(10)")
    daemon.kill()
    nvim.lua("inbox.take = take")
    daemon.start()
    with daemon.client() as other:
        nvim.until("vim.fn.search('^important$', 'nw') > 0")
        nvim.lua("require('reel').call('ping')")  # whatever was repeated came before

        assert 1 == other.agent("demo").messages


def test_one_that_did_not_read(nvim: Nvim, client: Client) -> None:
    """An editor that was stopped for long has missed pushes, and ends with all messages all the same."""
    client.create("demo")
    shows(opened(nvim), client)
    nvim.lua(
        "require('reel.inbox').take = (function(take) return function(l, name, ...)"
        " if name == 'lagged' then lagged = true end return take(l, name, ...) end end)(require('reel.inbox').take)"
    )
    os.kill(nvim.pid, signal.SIGSTOP)
    for number in range(30):
        client.add("demo", f"{number} {'x' * 300_000}")
    os.kill(nvim.pid, signal.SIGCONT)
    shows(nvim, client)

    assert nvim.lua("return lagged")


def test_a_reset(nvim: Nvim, client: Client) -> None:
    """After a reset all is read again."""
    client.create("demo", system="be kind")
    client.add("demo", TEXTS)
    shows(opened(nvim), client)
    nvim.lua("require('reel.calls').on_push('reset', {agent = ...})", client.agent("demo").id)

    shows(nvim, client)
    assert ["## system", "", "be kind", ""] == nvim.lines()[:4]


# --- slow, large, many


def test_one_byte_at_a_time(launch: Launch, client: Client, dripping: str) -> None:
    """A line that brings single bytes brings the same."""
    client.create("demo", system="é" * 20)
    client.add("demo", TEXTS)
    nvim = opened(launch(more={"REEL_SOCKET": dripping}))
    client.add("demo", "häppchen")
    nvim.command("Reel send stückwerk")
    nvim.until("vim.fn.search('^stückwerk$', 'nw') > 0")

    shows(nvim, client)
    assert [] == nvim.notified()


def test_ten_megabytes(nvim: Nvim, client: Client) -> None:
    """Ten megabytes go both ways; too much is refused with the figures."""
    client.create("demo")
    opened(nvim)
    nvim.lua("require('reel').call('add', {'demo', (...):rep(1024 * 1024)})", "0123456é\n")
    shows(nvim, client)
    assert 1024 * 1024 + 4 == len(nvim.lines())
    assert ["0123456é\n" * (1024 * 1024)] == texts(client)
    nvim.call("nvim_buf_delete", 0, {})
    shows(opened(nvim), client)
    nvim.command("enew")
    nvim.call("nvim_buf_set_lines", 0, 0, -1, False, ["x" * (17 << 20)])
    nvim.command("%Reel send")

    nvim.complains(f"too_large: send: {17 << 20} bytes; a message may have {16 << 20}")


def test_long_conversations_in_motion(nvim: Nvim, client: Client) -> None:
    """A conversation of many pages is whole in the end, also where it moves while it is read."""
    client.create("demo")
    for batch in range(5):
        client.add("demo", [f"{batch}.{number}" for number in range(500)])
    client.mark("demo")
    nvim.command("Reel open demo")
    nvim.lua("return 1")
    for _ in range(5):
        client.add("demo", ["a", "b"])
        client.rewind("demo")
        client.undo("demo")

    nvim.until("vim.fn.bufname() == 'reel://demo'")
    nvim.until("require('reel.conversation').current().begun")
    shows(nvim, client)


def test_pipelined(nvim: Nvim, client: Client) -> None:
    """Two hundred calls that are open at once take effect in their order."""
    client.create("demo")
    nvim.lua(
        """heads = {}
        for number = 1, 200 do
          require('reel').call_async('add', {'demo', 'n' .. number}, function(problem, reply)
            heads[#heads + 1] = problem and problem.message or reply.head
          end)
        end"""
    )
    nvim.until("#heads == 200")

    assert list(range(2, 202)) == nvim.lua("return heads")
    assert [f"n{number}" for number in range(1, 201)] == texts(client)


# --- the interface for Lua


def test_calls(nvim: Nvim) -> None:
    """A call gives its result, with nil for null, or raises one line; one that takes too long is given up."""
    call = "return {pcall(require('reel').call, ...)}"

    assert [True, {"pong": True}] == nvim.lua(call, "ping")
    ok, made = nvim.lua(call, "create", {"agent": "demo"})
    assert (ok, "demo") == (True, made["name"])
    assert "system" not in made
    assert [False, "not_found: no agent zed; make one with create, or add with create"] == nvim.lua(
        call, "agent", ["zed"]
    )
    assert [False, "timeout: no answer to wait within 10 ms"] == nvim.lua(call, "wait", ["demo", 99], 10)
    assert nvim.lua(call, "messages", ["demo", {"last": 1}])[0]


def test_a_push_during_a_call(nvim: Nvim, client: Client) -> None:
    """What is pushed while a call waits is handled then, and a handler may call in its turn."""
    client.create("demo")
    nvim.lua(
        """heard = {}
        stop = require('reel').subscribe({agent = 'demo'}, function(name, push)
          heard[#heard + 1] = name
          if name == 'event' then heard[#heard + 1] = require('reel').call('agent', {'demo'}).head end
        end)"""
    )
    nvim.until("heard[1] == 'begin'")
    adding = threading.Timer(0.1, client.add, ("demo", "x"))
    adding.start()
    reply = nvim.lua("return require('reel').call('wait', {'demo', 1})")
    adding.join()
    nvim.until("#heard == 3")

    assert 2 == reply["head"]
    assert ["begin", "event", 2] == nvim.lua("return heard")


def test_subscriptions(nvim: Nvim, client: Client, daemon: Daemon) -> None:
    """All agents, some kinds, from a seq on, across a restart, until it is ended."""
    client.create("one")
    client.add("one", ["a", "b"])
    nvim.lua(
        """local reel = require 'reel'
        all, some, wrong = {}, {}, {}
        stop = reel.subscribe({}, function(name, push) if name == 'event' then table.insert(all, push.id) end end)
        reel.subscribe({agent = 'one', since = 0, kinds = {'user'}}, function(name, push)
          if name == 'event' then table.insert(some, push.seq) end
        end)
        reel.subscribe({agent = 'zed'}, function(name, push) table.insert(wrong, name .. ' ' .. push.name) end)"""
    )
    nvim.until("#some == 2 and #wrong == 1")
    client.create("two")
    nvim.until("#all == 1")
    daemon.end()
    daemon.start()
    with daemon.client() as other:
        other.add("one", ["c"])
        other.clear("two")
        nvim.until("#some == 3 and #all == 3")
        assert [[2, 3, 4], ["error not_found"]] == nvim.lua("return {some, wrong}")
        nvim.lua("stop()")
        other.add("one", ["d"])
        nvim.until("#some == 4")
        nvim.lua("require('reel').call('ping')")

    assert 3 == nvim.lua("return #all")


def test_a_handler_that_fails(nvim: Nvim, client: Client) -> None:
    """Its error is shown, and the next push is handled."""
    client.create("demo")
    nvim.lua(
        """count = 0
        require('reel').subscribe({agent = 'demo'}, function(name)
          count = count + 1
          error('bad: ' .. name, 0)
        end)"""
    )
    nvim.until("count == 1")
    client.add("demo", "x")
    nvim.until("count == 2")

    assert ["bad: begin", "bad: event"] == nvim.notified()


# --- many clients, one order

ACTIONS: dict[str, Callable[[Client], Any]] = {
    "add": lambda client: client.add("demo", ["a", "b"]),
    "answer": lambda client: client.add("demo", [{"role": "assistant", "content": "c"}]),
    "prompt": lambda client: client.add("demo", [{"role": "system", "content": str(client.agent("demo").head)}]),
    "mark": lambda client: client.mark("demo"),
    "rewind": lambda client: client.rewind("demo"),
    "undo": lambda client: client.undo("demo"),
    "redo": lambda client: client.redo("demo"),
    "clear": lambda client: client.clear("demo"),
    "restore": lambda client: client.restore("demo", client.agent("demo").head // 2),
    "into": lambda client: client.clone("twin", into="demo"),
    "twin": lambda client: client.add("twin", ["x", "y", "z"]),
}


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(names=st.lists(st.sampled_from(sorted(ACTIONS)), max_size=20))
def test_whatever_is_done(nvim: Nvim, client: Client, names: list[str]) -> None:
    """After any commands the buffer has the daemon's messages and prompt, no more and no less."""
    for agent in ("demo", "twin"):
        client.add(agent, "begin", create=True)
    opened(nvim)
    for name in names:
        assert refusal(partial(ACTIONS[name], client)) in {None, "no_such_mark", "nothing_to_undo"}
    shows(nvim, client)

    page = client.messages("demo")
    expected = ["## system", "", page.system, ""] if page.system else []
    for (role, seq), text in zip(headings(client), texts(client), strict=True):
        expected += [f"## {role} {seq}", "", text, ""]
    assert (expected or [""]) == nvim.lines()


def test_three_kinds_of_clients(nvim: Nvim, client: Client, daemon: Daemon, require: Require) -> None:
    """Neovim, a shell and Python write to one conversation at once, and all see one order."""
    require("nc")
    client.create("demo")
    opened(nvim)
    lines = b"".join(
        json.dumps({"id": number, "method": "add", "params": ["demo", f"sh {number}"]}).encode() + b"\n"
        for number in range(50)
    )
    command = ["nc", "-N", "-U", daemon.socket]
    shell = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    sending = threading.Thread(target=shell.communicate, args=(lines,))
    sending.start()
    nvim.lua("for n = 0, 49 do vim.cmd('Reel send nvim ' .. n) end")
    for number in range(50):
        client.add("demo", f"py {number}")
    sending.join()
    nvim.until("vim.fn.search('^nvim 49$', 'nw') > 0")
    shows(nvim, client)

    order = texts(client)
    assert order == nvim.lines()[2::4]
    for kind in ("sh", "nvim", "py"):
        assert [f"{kind} {n}" for n in range(50)] == [text for text in order if text.startswith(f"{kind} ")]
