"""Neovim under load: slow connections, large messages, many calls, concurrent clients."""

import json
import subprocess
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reel.sync.client import Client
from tests.daemon import Daemon
from tests.editors.nvim.conftest import Launch
from tests.editors.nvim.driver import Nvim
from tests.editors.nvim.shown import headings, opened, shows
from tests.editors.surroundings import Require
from tests.editors.texts import texts
from tests.model import refusal
from tests.thoroughness import SHARED


def test_one_byte_at_a_time_in_nvim(launch: Launch, client: Client, dripping: str) -> None:
    """A message that arrives in single bytes is read whole."""
    client.create("demo", system="é" * 20)
    client.add("demo", ["one", "two\nlines", "é"])
    nvim = opened(launch(more={"REEL_SOCKET": dripping}))
    client.add("demo", "häppchen")
    nvim.command("Reel send stückwerk")
    nvim.until("vim.fn.search('^stückwerk$', 'nw') > 0")

    shows(nvim, client)
    assert [] == nvim.notified()


@pytest.mark.large
def test_three_megabytes_in_nvim(nvim: Nvim, client: Client) -> None:
    """Three megabytes are sent and received; a longer message is refused with the limit."""
    client.create("demo")
    opened(nvim)
    nvim.lua("require('reel').call('add', {'demo', (...):rep(300 * 1024)})", "0123456é\n")
    shows(nvim, client)
    assert 300 * 1024 + 4 == len(nvim.lines())
    assert ["0123456é\n" * (300 * 1024)] == texts(client)
    nvim.call("nvim_buf_delete", 0, {})
    shows(opened(nvim), client)
    nvim.command("enew")
    nvim.call("nvim_buf_set_lines", 0, 0, -1, False, ["x" * (17 << 20)])
    nvim.command("%Reel send")

    nvim.complains(f"the text has {17 << 20} bytes; a message may have {16 << 20}; send it in parts")


def test_a_long_conversation_that_changes_while_it_is_read(nvim: Nvim, client: Client) -> None:
    """A conversation of many pages is complete in the end, although it changes while it is read."""
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
    shows(nvim, client)


def test_two_hundred_calls_at_once(nvim: Nvim, client: Client) -> None:
    """Two hundred concurrent calls are applied in order."""
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


@settings(max_examples=25, suppress_health_check=SHARED)
@given(names=st.lists(st.sampled_from(sorted(ACTIONS)), max_size=20))
def test_any_commands_leave_the_buffer_equal_to_the_log(nvim: Nvim, client: Client, names: list[str]) -> None:
    """After any commands, the buffer has exactly the daemon's messages and prompt."""
    for agent in ("demo", "twin"):
        client.add(agent, "begin", create=True)
    opened(nvim)
    for name in names:
        assert refusal(partial(ACTIONS[name], client)) in {None, "no_such_mark", "nothing_to_undo"}
    page = client.messages("demo")
    expected = ["## system", "", page.system, ""] if page.system else []
    for line, text in zip(headings(client), texts(client), strict=True):
        expected += [line, "", text, ""]

    nvim.shows(*(expected or [""]))


def test_nvim_a_shell_and_python_see_one_order(nvim: Nvim, client: Client, daemon: Daemon, require: Require) -> None:
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
