"""Neovim recovers from a lost connection, lost replies, dropped pushes and a replaced log."""

import os
import signal

from reel.sync.client import Client
from tests.daemon import Daemon
from tests.editors.backup import backup
from tests.editors.nvim.driver import Nvim
from tests.editors.nvim.shown import opened, shows


def test_a_call_that_is_not_repeated(nvim: Nvim, client: Client, daemon: Daemon) -> None:
    """A call that only reads fails when the daemon goes away, and is not repeated."""
    client.create("demo")
    shows(opened(nvim), client)
    os.kill(daemon.process.pid, signal.SIGSTOP)
    nvim.lua("require('reel').call_async('ping', {}, function(problem) lost = problem.message end)")
    daemon.kill()
    nvim.until("lost")

    assert "not_running: the daemon went away before it answered ping" == nvim.lua("return lost")


def test_a_command_with_a_lost_reply_in_nvim(nvim: Nvim, client: Client, daemon: Daemon) -> None:
    """A command that was applied before the daemon was killed is not applied again."""
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


def test_a_stopped_nvim_catches_up(nvim: Nvim, client: Client) -> None:
    """A Neovim that was stopped has all messages in the end, and so has a subscription whose pushes were dropped."""
    client.create("demo")
    shows(opened(nvim), client)
    nvim.lua(
        """seqs = {}
        require('reel').subscribe({agent = 'demo', since = 0}, function(name, push)
          begun = begun or name == 'begin'
          if name == 'event' and push.message then table.insert(seqs, push.seq) end
        end)
        local inbox = require 'reel.inbox'
        local take = inbox.take
        inbox.take = function(link, name, ...)
          lagged = lagged or name == 'lagged'
          return take(link, name, ...)
        end"""
    )
    nvim.until("begun")  # what is said before it subscribed is read, and not pushed: none of it could be dropped
    os.kill(nvim.pid, signal.SIGSTOP)
    for number in range(30):
        client.add("demo", f"{number} {'x' * 300_000}")
    os.kill(nvim.pid, signal.SIGCONT)
    shows(nvim, client)
    nvim.until("#seqs == 30")

    assert nvim.lua("return lagged")
    assert list(range(2, 32)) == nvim.lua("return seqs")


def test_a_reset_of_another_subscription(nvim: Nvim, client: Client) -> None:
    """A subscription of a program to the same conversation is reset, and the buffer goes on."""
    client.add("demo", ["a secret", "b"], create=True)
    shows(opened(nvim), client)
    nvim.lua("require('reel').subscribe({agent = 'demo'}, function(name) reset = reset or name == 'reset' end)")
    nvim.lua("require('reel').call('ping')")
    client.redact("demo", text=["secret"])
    nvim.until("reset and vim.fn.search('secret', 'nw') == 0")
    client.add("demo", "c")

    shows(nvim, client)


def test_an_older_log_is_read_again_by_nvim(nvim: Nvim, client: Client, daemon: Daemon) -> None:
    """If the log is replaced by an older backup, the conversation is read again."""
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


def test_subscribing_while_the_daemon_stops(nvim: Nvim, client: Client, daemon: Daemon) -> None:
    """A subscription that is refused because the daemon stops is made on the next daemon."""
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
