"""Neovim without the plug-in: its own RPC client, and the documented lines for it."""

from contextlib import suppress

import pytest

from reel.sync.client import Client
from tests.daemon import Daemon
from tests.editors.documented import blocks
from tests.editors.nvim.conftest import Launch
from tests.editors.nvim.driver import Nvim, Refused
from tests.editors.nvim.shown import heading

CONNECT = """
reel = vim.fn.sockconnect('pipe', vim.env.REEL_SOCKET, {rpc = true})
local v = vim.version()
vim.rpcrequest(reel, 'hello', {
  client = {name = 'nvim', version = ('%d.%d.%d'):format(v.major, v.minor, v.patch)},
  notify = {'nvim_exec_lua', 'pushed(...)'},
})
"""

# A call that waits for the second add from now on. Each push of an add adds once more and waits for the one after that:
# so each call is answered while those inside of it are still open.
NESTED = """
local first = vim.rpcrequest(reel, 'agent', 'demo').head
local depth, deepest, heard = 0, 0, {}
function pushed(name, push)
  depth = depth + 1
  deepest = math.max(deepest, depth)
  if push.seq <= first + 3 then
    vim.rpcnotify(reel, 'add', 'demo', 'n')
  end
  if push.seq <= first + 2 then
    table.insert(heard, vim.rpcrequest(reel, 'wait', 'demo', push.seq + 1).head - first)
  end
  depth = depth - 1
end
local sub = vim.rpcrequest(reel, 'subscribe', 'demo').sub
vim.rpcnotify(reel, 'add', 'demo', 'n')
table.insert(heard, vim.rpcrequest(reel, 'wait', 'demo', first + 1).head - first)
vim.rpcrequest(reel, 'unsubscribe', sub)
return {deepest, heard}
"""


@pytest.fixture
def bare(launch: Launch, client: Client) -> Nvim:
    """A Neovim that is connected, without the plug-in."""
    client.create("demo")
    nvim = launch(plugin=False)
    nvim.lua(CONNECT)
    return nvim


def test_nested_calls(bare: Nvim) -> None:
    """Calls inside of calls, all open at the same time, have their answers, and the channel lives.

    An old Neovim that has not run for the 20 ms between two answers takes both at once, and closes the channel. On a
    busy machine that happens whatever the daemon does; so there are three tries.
    """
    for _ in range(2):
        with suppress(Refused):
            deepest, heard = bare.lua(NESTED)
            break
        bare.lua(CONNECT)
    else:
        deepest, heard = bare.lua(NESTED)

    assert deepest >= 3
    assert 3 == len(heard)
    assert all(2 <= head <= 4 for head in heard)
    assert {"pong": True} == bare.lua("return vim.rpcrequest(reel, 'ping')")


def test_an_error_reaches_neovims_rpc_client(bare: Nvim) -> None:
    """Neovim shows an error of the daemon as its own."""
    ok, text = bare.lua("return {pcall(vim.rpcrequest, reel, 'agent', 'zed')}")

    assert not ok
    assert "not_found: no agent zed" in text


def test_a_push_during_a_call_in_neovims_rpc_client(bare: Nvim, client: Client) -> None:
    """A push that arrives during a call is handled before the reply."""
    bare.lua("function pushed(name, push) heard = push.message.content[1].text end")
    bare.lua("vim.rpcrequest(reel, 'subscribe', 'demo')")
    heard = bare.lua("vim.rpcnotify(reel, 'add', 'demo', 'é'); vim.rpcrequest(reel, 'wait', 'demo', 1); return heard")

    assert heard in ("é", None)  # Neovim decides
    bare.until("heard == 'é'")
    assert 1 == client.agent("demo").messages


def test_the_documented_lines_for_neovim_without_the_plug_in(launch: Launch, daemon: Daemon) -> None:
    """The documented lines of Lua work as they are, without the plug-in: they show a conversation and what is added."""
    *_, code = blocks("Neovim", "lua")
    nvim = launch(plugin=False)
    nvim.lua(code)
    nvim.shows(*heading("user", 2, "What is a Merkle tree?"), "")
    with daemon.client() as client:
        client.add("demo", "And a Patricia tree?")

    nvim.shows(*heading("user", 2, "What is a Merkle tree?"), *heading("user", 3, "And a Patricia tree?"), "")
