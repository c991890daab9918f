"""The functions for Lua: calls, and subscriptions that outlive the connection."""

import threading

from reel.sync.client import Client
from tests.daemon import Daemon
from tests.editors.nvim.driver import Nvim


def test_call_returns_a_result_or_raises_one_line(nvim: Nvim) -> None:
    """A call returns its result, with nil for null, or raises one line; it has a timeout."""
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


def test_a_push_during_a_call_in_lua(nvim: Nvim, client: Client) -> None:
    """A push that arrives during a call is handled then, and its handler may make a call."""
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


def test_subscriptions_survive_a_restart(nvim: Nvim, client: Client, daemon: Daemon) -> None:
    """Subscriptions to all agents, to some kinds and from a seq continue after a restart, until they are ended."""
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
    """The error of a handler is shown, and the next push is handled."""
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
