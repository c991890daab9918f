"""Changing one table in a text of TOML."""

import pytest

from reel.mcp.wiring.json_text import NotChangeable
from reel.mcp.wiring.toml_text import parse, with_table, without_table

PATH = ("mcp_servers", "reel")
VALUES = {"command": "/bin/reel", "args": ["mcp"], "env": {"REEL_SOCKET": "/s"}}
COMMENTED = """\
model = "m" # mine

[mcp_servers.other]
command = "x" # keep

[tui]
theme = "dark"
"""


@pytest.mark.parametrize("text", ["", COMMENTED, 'a = "1"', "# only a comment\n"])
def test_there_and_back(text: str) -> None:
    """A table is added at the end, once, and taken back without a trace."""
    added = with_table(text, PATH, VALUES)

    assert added.startswith(text)
    assert VALUES == parse(added)["mcp_servers"]["reel"]
    assert added == with_table(added, PATH, VALUES)
    assert text.rstrip() == without_table(added, PATH).rstrip()


def test_what_somebody_added() -> None:
    """Of a table that is there, only what differs is replaced."""
    text = '[mcp_servers.reel]\ncommand = "/old/reel" # old\nargs = ["mcp"]\nstartup_timeout_sec = 5\n\n[tui]\na = 1\n'
    found = with_table(text, PATH, {"command": "/new/reel", "args": ["mcp"]})

    assert text.replace('command = "/old/reel" # old', 'command = "/new/reel"') == found
    assert "[tui]\na = 1\n" == without_table(found, PATH)


def test_tables_in_it() -> None:
    """The tables in it go with it."""
    text = 'a = 1\n\n[mcp_servers."reel"]\ncommand = "x"\n\n[mcp_servers.reel.env]\nA = "b"\n'

    assert "a = 1\n" == without_table(text, PATH)


@pytest.mark.parametrize("text", ["[", 'mcp_servers = { reel = { command = "x" } }', "mcp_servers = 5"])
def test_what_cannot_be_changed(text: str) -> None:
    """A text that is no TOML, or has the table in another form, is refused."""
    with pytest.raises(NotChangeable):
        with_table(text, PATH, VALUES)


LOOKS_LIKE = 'x = """\n[mcp_servers.reel]\n[mcp_servers.reel.env]\n"""\ny = [\n  ["z"],\n]\n'


def test_what_looks_like_a_table() -> None:
    """A line in a text of several lines, or in a list, is no header of a table."""
    added = with_table(f"[mcp_servers.other]\n{LOOKS_LIKE}", PATH, VALUES)
    changed = with_table(f"{LOOKS_LIKE}\n[mcp_servers.reel]\nmore = [\n  [1],\n]\ncommand = 'x'\n", PATH, VALUES)

    assert f"[mcp_servers.other]\n{LOOKS_LIKE}" == without_table(added, PATH)
    assert {**VALUES, "more": [[1]]} == parse(changed)["mcp_servers"]["reel"]
    assert changed.startswith(LOOKS_LIKE)
    assert LOOKS_LIKE == without_table(changed, PATH)


def test_words_for_another_form() -> None:
    """A text that is TOML is not said to be none."""
    with pytest.raises(NotChangeable, match=r"^mcp_servers\.reel cannot be a table of its own in it"):
        with_table('mcp_servers = { other = { command = "x" } }', PATH, VALUES)
