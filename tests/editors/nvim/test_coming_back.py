"""What was lost and goes on: the connection, a command on its way, pushes that nobody read, the copy itself."""

import os
import signal

from reel.sync.client import Client
from tests.daemon import Daemon
from tests.editors.backup import backup
from tests.editors.nvim.driver import Nvim
from tests.editors.nvim.shown import opened, shows


def test_the_daemon_is_restarted(nvim: Nvim, client: Client, daemon: Daemon) -> None:
    """Open buffers say that the daemon is away, and go on by themselves, with all that they missed, once."""
    client.create("demo", system="be kind")
    client.add("demo", ["one", "two\nlines", "é"])
    shows(opened(nvim), client)
    for end in (daemon.end, daemon.kill):
        end()
        nvim.until("vim.fn.getline('$') == '*the daemon went away; waiting for it to come back*'")
        daemon.start()
        with daemon.client() as other:
            other.add("demo", ["missed"])
            other.mark("demo")
            other.add("demo", ["missed as well"])
            other.rewind("demo")
            shows(nvim, other)
    nvim.until("vim.fn.search('went away', 'nw') == 0")
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

    assert "not_running: the daemon went away before it answered ping; check whether it was applied" == nvim.lua(
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
    client.add("demo", ["one", "two\nlines", "é"])
    shows(opened(nvim), client)
    nvim.lua("require('reel.calls').on_push('reset', {agent = ...})", client.agent("demo").id)

    shows(nvim, client)
    assert ["## system", "", "be kind", ""] == nvim.lines()[:4]


def test_another_log(nvim: Nvim, client: Client, daemon: Daemon) -> None:
    """Where an older log is put in the place of the one that was known, the conversation is read again."""
    client.add("demo", "one", create=True)
    daemon.end()
    restore = backup(daemon)
    daemon.start()
    client.add("demo", "two")
    shows(opened(nvim), client)
    daemon.end()
    restore()
    daemon.start()
    nvim.shows("## user #2", "", "one", "")
    client.add("demo", "three")

    nvim.shows("## user #2", "", "one", "", "## user #3", "", "three", "")
    assert [] == nvim.notified()


def test_a_daemon_that_stops_just_then(nvim: Nvim, client: Client, daemon: Daemon) -> None:
    """Who would follow and is told that the daemon stops follows the next one."""
    client.create("demo")
    nvim.lua(
        """local link, inbox, notify = require 'reel.link', require 'reel.inbox', vim.rpcnotify
        vim.rpcnotify = function(channel, name, params)
          if params.method ~= 'subscribe' then return notify(channel, name, params) end
          vim.rpcnotify, told = notify, true
          local problem = {name = 'shutting_down', message = 'shutting_down: the daemon stops'}
          inbox.take(link.number, 'reply', {token = params.token, error = problem})
        end"""
    )
    opened(nvim)
    nvim.until("told")
    daemon.end()
    daemon.start()
    client.add("demo", "one")

    nvim.shows("## user #2", "", "one", "")
