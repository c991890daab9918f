"""Compares a buffer of Neovim with the daemon's conversation."""

from reel.sync.client import Client
from tests.editors.nvim.driver import Nvim

_HEADINGS = (
    "vim.tbl_filter(function(line) return line:find '^## %l+ #%d+$' end, vim.api.nvim_buf_get_lines(0, 0, -1, false))"
)


def heading(role: str, seq: int, text: str) -> list[str]:
    """Return the lines of a message with one text."""
    return [f"## {role} #{seq}", "", text, ""]


def headings(client: Client, agent: str = "demo") -> list[str]:
    """Return the heading of each message."""
    return [f"## {message['role']} #{message['seq']}" for message in client.iter_messages(agent)]


def shows(nvim: Nvim, client: Client, agent: str = "demo") -> None:
    """Wait until the buffer has read everything, and has the headings of the daemon's messages."""
    nvim.until(
        f"not require('reel.conversation').current().reading and vim.deep_equal({_HEADINGS}, a)",
        *headings(client, agent),
    )


def opened(nvim: Nvim, name: str = "demo") -> Nvim:
    """Open a conversation, and return the Neovim."""
    nvim.command(f"Reel open {name}")
    nvim.until("vim.fn.bufname() == a[1]", f"reel://{name}")
    return nvim
