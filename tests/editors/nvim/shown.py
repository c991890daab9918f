"""Compares a buffer of Neovim with the daemon's conversation."""

import re
from typing import Any

from reel.sync.client import Client
from tests.editors.nvim.driver import Nvim

HEADING = re.compile(r"## (\w+) #(\d+)")


def heading(role: str, seq: int, text: str) -> list[str]:
    """Return the lines of a message with one text."""
    return [f"## {role} #{seq}", "", text, ""]


def headings(client: Client, agent: str = "demo") -> list[list[Any]]:
    """Return role and seq of each message."""
    return [[message["role"], message["seq"]] for message in client.iter_messages(agent)]


def shown(nvim: Nvim) -> list[list[Any]]:
    """Return role and seq of each heading in the buffer."""
    return [[found[1], int(found[2])] for line in nvim.lines() if (found := HEADING.fullmatch(line))]


def shows(nvim: Nvim, client: Client, agent: str = "demo") -> None:
    """Wait until the buffer has all events, and compare its headings with the daemon's messages."""
    nvim.until("require('reel.conversation').current().copy.at == a[1]", client.agent(agent).head)
    nvim.until("not require('reel.conversation').current().copy.reading")
    nvim.until("not require('reel.conversation').current().unchanged")

    assert headings(client, agent) == shown(nvim)


def opened(nvim: Nvim, name: str = "demo") -> Nvim:
    """Open a conversation, and return the Neovim."""
    nvim.command(f"Reel open {name}")
    nvim.until("vim.fn.bufname() == a[1]", f"reel://{name}")
    return nvim
